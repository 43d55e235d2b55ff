/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Firmware commands, which programs send through DEVX: the layout of a command, and the tables in
 * which a class of objects lists its commands. Fields are bit offsets: bits.h.
 */
#ifndef SOFTHCA_DEVX_H
#define SOFTHCA_DEVX_H

#include <stdint.h>

#include "bits.h"
#include "call.h"
#include "devx_refuse.h"

/*
 * A command begins with opcode and modifier. An answer begins with status, syndrome and a number.
 */
enum {
	DEVX_HEADER = 16,   /* bytes */
	DEVX_OPCODE = 0,    /* 16 bits */
	DEVX_OP_MOD = 0x30, /* 16 bits */
	/* 24 bits: the object's number, in commands on it and in the answer to its creation. */
	DEVX_NUMBER = 0x48,
	DEVX_OUT_CREATE = 32, /* bytes of the longest answer to a creation */
	DEVX_OUT_MAX = 528    /* bytes of the longest answer to other commands */
};

struct uverbs_call;

/* General objects: one opcode creates objects of all types. */
enum {
	DEVX_CREATE_GENERAL = 0xa00,
	DEVX_MODIFY_GENERAL = 0xa01,
	DEVX_QUERY_GENERAL = 0xa02,
	DEVX_OBJ_TYPE = 0x30,      /* 16 bits */
	DEVX_OBJ_ID = 0x40,        /* 32 bits, in commands and in answers */
	DEVX_LOG_OBJ_RANGE = 0x63, /* 5 bits */
	DEVX_OBJ_AT = 0x80         /* first bit of the object's own fields */
};

/*
 * A command that creates an object. On success the handler sets *obj, and fills in the answer,
 * which was all zeros. It returns as devx_refuse.h says.
 */
struct devx_create {
	uint16_t opcode;
	uint16_t in_len; /* bytes; a command may be longer */
	int (*handler)(struct uverbs_call *call, const uint8_t *in, uint8_t *out,
		struct object **obj);
	uint16_t obj_type; /* of DEVX_CREATE_GENERAL */
};

/* Bytes of the command that creates an object: at least in_len of its row. */
size_t devx_create_len(struct uverbs_call *call);

enum devx_verb {
	DEVX_MODIFIES,
	DEVX_QUERIES,
	DEVX_GENERAL /* on the adapter, without an object, by the DEVX method OTHER */
};

/* A command on an object of this class, by the DEVX method MODIFY or QUERY; or DEVX_GENERAL. */
struct devx_command {
	enum devx_verb verb;
	const struct object_class *cls; /* NULL: DEVX_GENERAL */
	uint16_t opcode;
	uint16_t in_len;  /* bytes; a command may be longer */
	uint16_t out_len; /* bytes of the answer */
	int (*handler)(struct uverbs_call *call, struct object *obj, const uint8_t *in,
		uint8_t *out);
};

/* Members of a class's row. */
#define CLASS_CREATES(table)  .creates = (table), .n_creates = ARRAY_SIZE(table)
#define CLASS_COMMANDS(table) .commands = (table), .n_commands = ARRAY_SIZE(table)

#endif
