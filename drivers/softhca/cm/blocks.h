/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ephemeral numbers of ports. A process takes them from blocks that it has claimed (port_name.h),
 * so an asking end needs no socket of its own. A block stays with the process until it ends. The
 * functions need the lock of loop.h.
 */
#ifndef SOFTHCA_CM_BLOCKS_H
#define SOFTHCA_CM_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Takes a number for which `fits` returns true. Returns 0, -EADDRNOTAVAIL if no number is left, or
 * another -errno.
 */
int blocks_take(uint16_t ps, bool (*fits)(uint16_t ps, uint16_t number, void *arg), void *arg,
	uint16_t *number);
/* Gives a number back. A number that is in no block of this process is ignored. */
void blocks_give(uint16_t ps, uint16_t number);
/* In a child of fork(2): gives up the parent's blocks. */
void blocks_fork_child(void);

#endif
