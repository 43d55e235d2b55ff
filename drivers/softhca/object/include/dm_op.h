/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations on device memory by a load or a store (mlx5dv_dm_map_op_addr(3)): there is an address
 * for each operation and byte. rdma-core's tests/test_mlx5_dm_ops.py has the numbers of the
 * operations.
 *
 *   the program loads from the address, or stores to it  ->  SIGBUS, because no memory is behind it
 *     ->  the handler executes the operation, and the instruction's effect on registers
 *
 * An increment adds the stored number of 1, 2, 4 or 8 bytes to the memory. ConnectX-7 takes both
 * numbers as big-endian; later cards take the host's order (nvidia-net/device-memory-operations,
 * README). Test-and-set is a load of one byte: it returns the old value of the byte and then sets
 * the byte to another value (the setting memic_test_and_set).
 */
#ifndef SOFTHCA_DM_OP_H
#define SOFTHCA_DM_OP_H

#include <stdint.h>

enum dm_op {
	DM_INCREMENT,
	DM_TEST_AND_SET
};

/* The operand sizes of an operation, as in the capability: bit n means 2^n bytes. */
#define DM_INCREMENT_SIZES    0xf
#define DM_TEST_AND_SET_SIZES 0x1

/* Returns one bit for each operation that works in this process. */
uint32_t dm_ops(void);
/* Call this before the program gets an operation's address. Returns 0 or -EOPNOTSUPP. */
int dm_op_begin(uint32_t op);

#endif
