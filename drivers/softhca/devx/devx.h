/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Firmware commands that come through DEVX: their fields, and how commands on objects are found.
 *
 * Fields are given by bit offset and width: big endian, bit 0 is the first sent.
 */
#ifndef SOFTHCA_DEVX_H
#define SOFTHCA_DEVX_H

#include <stddef.h>
#include <stdint.h>

#include "object.h"

/* width <= 32, and the field does not cross a 32-bit word: none of the tables here has such. */
static inline uint32_t
devx_get(const uint8_t *buf, uint32_t bit, uint32_t width)
{
	const uint8_t *p = buf + bit / 32 * 4;
	uint32_t word = (uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
	uint32_t shift = 32 - bit % 32 - width;

	return word >> shift & (uint32_t)(((uint64_t)1 << width) - 1);
}

static inline uint64_t
devx_get64(const uint8_t *buf, uint32_t bit)
{
	return (uint64_t)devx_get(buf, bit, 32) << 32 | devx_get(buf, bit + 32, 32);
}

static inline void
devx_set(uint8_t *buf, uint32_t bit, uint32_t width, uint32_t value)
{
	uint8_t *p = buf + bit / 32 * 4;
	uint32_t shift = 32 - bit % 32 - width;
	uint32_t mask = (uint32_t)(((uint64_t)1 << width) - 1) << shift;
	uint32_t word = (uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];

	word = (word & ~mask) | (value << shift & mask);
	p[0] = word >> 24;
	p[1] = word >> 16;
	p[2] = word >> 8;
	p[3] = word;
}

/* What a refused command's answer begins with: the firmware's status, 8 bits. */
enum devx_status {
	DEVX_BAD_OP = 0x02,
	DEVX_BAD_PARAM = 0x03,
	DEVX_BAD_RES = 0x05, /* a number names nothing, or not what it should */
	DEVX_BUSY = 0x06,
	DEVX_NO_RES = 0x0f,
	DEVX_BAD_QP_STATE = 0x10,
	DEVX_BAD_INP_LEN = 0x50,
	DEVX_BAD_OUTP_LEN = 0x51
};

/*
 * A handler's answer: 0, -errno as from the kernel, or this: what the firmware would refuse. The
 * command then fails with EREMOTEIO, status and syndrome in its answer. A card's syndromes are not
 * public: here the syndrome is the bit offset of the field that is wrong, plus DEVX_FIELD.
 */
#define DEVX_FIELD                    0x10000
#define DEVX_REFUSE(status, bit)      ((int)(status) << 20 | DEVX_FIELD | (int)(bit))
#define DEVX_REFUSED_STATUS(refusal)  ((uint32_t)(refusal) >> 20)
#define DEVX_REFUSED_SYNDROM(refusal) ((uint32_t)(refusal)&0xfffff)

/* -errno of the other half as the firmware would put it. */
int devx_refuse_errno(int err, uint32_t bit);

/* Of every command: opcode, then the modifier. Of every answer: status, syndrome, then a number. */
enum {
	DEVX_HEADER = 16,   /* bytes */
	DEVX_OPCODE = 0,    /* 16 bits */
	DEVX_OP_MOD = 0x30, /* 16 bits */
	DEVX_NUMBER =
		0x48, /* 24 bits: of the object, in commands on it and in answers to creation */
	DEVX_OUT_CREATE = 32, /* bytes: of the longest answer to a creation */
	DEVX_OUT_MAX = 512 /* bytes */
};

struct uverbs_call;

/* A command that makes an object: *obj is set on success alone; out is zeros. */
struct devx_create {
	uint16_t opcode;
	uint16_t in_len; /* bytes, at least */
	int (*run)(struct uverbs_call *call, const uint8_t *in, uint8_t *out, struct object **obj);
	uint16_t obj_type; /* of DEVX_CREATE_GENERAL */
};

/* General objects: one opcode for all kinds. */
enum {
	DEVX_CREATE_GENERAL = 0xa00,
	DEVX_MODIFY_GENERAL = 0xa01,
	DEVX_QUERY_GENERAL = 0xa02,
	DEVX_OBJ_TYPE = 0x30,      /* 16 bits */
	DEVX_OBJ_ID = 0x40,        /* 32 bits, in commands and in answers */
	DEVX_LOG_OBJ_RANGE = 0x63, /* 5 bits */
	DEVX_OBJ_AT = 0x80         /* where the object's own fields begin */
};

/* A command on an object of that type, by MODIFY or by QUERY. */
struct devx_command {
	enum object_type type;
	uint16_t opcode;
	uint16_t in_len, out_len;
	int (*run)(struct uverbs_call *call, struct object *obj, const uint8_t *in, uint8_t *out);
};

/* Tables of commands, each ending in opcode 0: add one to the lists in devx.c. */
extern const struct devx_create devx_queue_creates[], devx_key_creates[], devx_qpn_creates[],
	devx_dek_creates[];
extern const struct devx_command devx_queue_modifies[], devx_queue_queries[];
extern const struct devx_command devx_qp_modifies[], devx_qp_queries[];
extern const struct devx_command devx_dek_modifies[], devx_dek_queries[];

#endif
