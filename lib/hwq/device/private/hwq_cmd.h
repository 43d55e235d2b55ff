/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fields of firmware commands, as bit positions. Position 0 is the highest bit of the first byte.
 *
 * Offsets and numbers are those that libmlx5 44 sends (rdma-core, providers/mlx5/mlx5_ifc.h);
 * test_hwq_mkey compares hwq's commands with those of libmlx5.
 */
#ifndef HWQ_CMD_H
#define HWQ_CMD_H

#include <stdint.h>

/* The first fields of every command and of its answer. */
#define CMD_OPCODE       0x00 /* 16 bits */
#define CMD_OUT_STATUS   0x00 /* 8 bits */
#define CMD_OUT_SYNDROME 0x20 /* 32 bits */
#define CMD_OUT_NUMBER   0x48 /* 24 bits: number of the new object */

/* QUERY_HCA_CAP: the general capabilities. */
#define CMD_QUERY_HCA_CAP 0x100
#define CMD_OP_MOD        0x30 /* 16 bits */
#define QUERY_CAP_CURRENT 1    /* the current values, not the largest possible ones */
#define QUERY_CAP_2       0x20 /* the second general page: op_mod is this << 1 */
#define QUERY_CAP_HAS_2   (0x80 + 0x20)
#define QUERY_CAP_VHCA_ID (0x80 + 0x30) /* 16 bits */
#define QUERY_CAP_DCT     (0x80 + 0x21a)
/* In the second page: bits of what functions of the card may use of each other. */
#define QUERY_CAP_2_CROSS               (0x80 + 0xe0)  /* 32 bits */
#define QUERY_CAP_2_ALLOWED             (0x80 + 0x120) /* the low 32 bits of 64 */
#define CROSS_LOCAL_MKEY_TO_REMOTE_MKEY 0x100
#define ALLOWED_MKEY                    0x4
#define QUERY_CAP_IN_LEN                16
#define QUERY_CAP_OUT_LEN               (16 + 0x1000)

/* General objects: DEKs and logins. The fields of the object follow these fields. */
#define CMD_CREATE_GENERAL 0xa00
#define CMD_QUERY_GENERAL  0xa02
#define GENERAL_TYPE       0x30 /* 16 bits */
#define GENERAL_ID         0x40 /* 32 bits: in the answer of CREATE, in queries and their answers */
/* fields of the object, which follow those of the command and of the answer */
#define GENERAL_OBJ 0x80

/*
 * Writes the low `width` bits of value, at most 32, into a command. These bits of the command must
 * be 0.
 */
static inline void
hwq_cmd_put(uint8_t *cmd, unsigned int bit, unsigned int width, uint32_t value)
{
	for (; width != 0; bit++) {
		width--;
		if (value >> width & 1)
			cmd[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
	}
}

static inline uint32_t
hwq_cmd_get(const uint8_t *cmd, unsigned int bit, unsigned int width)
{
	uint32_t value = 0;

	for (; width != 0; width--, bit++)
		value = value << 1 | (cmd[bit / 8] >> (7 - bit % 8) & 1);
	return value;
}

#endif
