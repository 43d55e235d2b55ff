/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Firmware commands, which programs send by DEVX: the layout of a command, and the tables in which
 * a class of objects lists its commands. Fields are given as bit offsets: bits.h.
 */
#ifndef SOFTHCA_DEVX_H
#define SOFTHCA_DEVX_H

#include <stdint.h>

#include "bits.h"
#include "call.h"
#include "devx_refuse.h"

/*
 * A command begins with opcode and modifier. An answer begins with status, syndrome and an object
 * number.
 */
enum {
	DEVX_HEADER = 16,   /* bytes */
	DEVX_OPCODE = 0,    /* 16 bits */
	DEVX_OP_MOD = 0x30, /* 16 bits */
	/*
	 * 24 bits: the object's number, in commands on an object and in the answer to its creation.
	 */
	DEVX_NUMBER = 0x48,
	DEVX_OUT_CREATE = 80, /* bytes of the longest answer to a creation */
	DEVX_OUT_MAX = 528    /* bytes of the longest answer to any other command */
};

struct uverbs_call;

/* General objects: a single opcode creates objects of several types. */
enum {
	DEVX_CREATE_GENERAL = 0xa00,
	DEVX_MODIFY_GENERAL = 0xa01,
	DEVX_QUERY_GENERAL = 0xa02,
	DEVX_OBJ_TYPE = 0x30,      /* 16 bits */
	DEVX_OBJ_ID = 0x40,        /* 32 bits, in commands and in answers */
	DEVX_LOG_OBJ_RANGE = 0x63, /* 5 bits */
	DEVX_OBJ_AT = 0x80         /* first bit of the fields that only this type of object has */
};

/*
 * A command that creates an object. If the handler succeeds, it sets *obj and writes the answer,
 * which is zeroed before. The handler returns a value as in devx_refuse.h.
 */
struct devx_create {
	uint16_t opcode;
	uint16_t in_len; /* minimum of bytes of the command */
	int (*handler)(struct uverbs_call *call, const uint8_t *in, uint8_t *out,
		struct object **obj);
	uint16_t obj_type; /* object type, for DEVX_CREATE_GENERAL */
};

/*
 * Returns the length of the command that creates an object. It is at least in_len of the command's
 * struct devx_create.
 */
size_t devx_create_len(struct uverbs_call *call);

enum devx_verb {
	DEVX_MODIFIES,
	DEVX_QUERIES,
	DEVX_GENERAL /* on the adapter, without an object, by the DEVX method OTHER */
};

/*
 * A command on an object of this class, by the DEVX method MODIFY or QUERY, or a command of kind
 * DEVX_GENERAL.
 */
struct devx_command {
	enum devx_verb verb;
	const struct object_class *cls; /* class of the object; NULL for DEVX_GENERAL */
	uint16_t opcode;
	uint16_t in_len;  /* minimum of bytes of the command */
	uint16_t out_len; /* bytes of the answer */
	int (*handler)(struct uverbs_call *call, struct object *obj, const uint8_t *in,
		uint8_t *out);
};

/* Initializers for the members of struct object_class that list firmware commands. */
#define CLASS_CREATES(table)  .creates = (table), .n_creates = ARRAY_SIZE(table)
#define CLASS_COMMANDS(table) .commands = (table), .n_commands = ARRAY_SIZE(table)

#endif
