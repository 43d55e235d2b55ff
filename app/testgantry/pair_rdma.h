/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * --rdma-cm: two processes meet by rdma_cm instead of by a socket.
 *
 * libgantry_cm connects a peer of a queue that the main lcore owns. The bytes of the stream are
 * SENDs over this peer. The queue has an engine of its own, so that the stream exists before the
 * engine of the mode, and ends after it.
 *
 * A SEND for which the other process has posted no receive waits in the adapter. So the stream is
 * full, as a socket is, if the other process does not read.
 */
#ifndef TESTGANTRY_PAIR_RDMA_H
#define TESTGANTRY_PAIR_RDMA_H

#include "options.h"
#include "pair_stream.h"

/**
 * Checks the address of --listen or --connect, before EAL starts. Returns 0, or -1 with the error
 * printed.
 */
int rdma_check(const struct options *o);

/**
 * Meets the other process: listens, or connects. Tries again for o->give_up seconds while no
 * process listens. Only the main lcore calls this function, and those of the stream. Returns the
 * stream. Returns NULL with the error printed, or if a signal has come.
 */
struct stream *rdma_meet(const struct options *o);

#endif
