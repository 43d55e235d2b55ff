/* SPDX-License-Identifier: BSD-3-Clause */
/* The queue of an lcore: in a worker, or driven by the lcore itself (inline). */
#ifndef TESTGANTRY_LCORE_QUEUE_H
#define TESTGANTRY_LCORE_QUEUE_H

#include <stdbool.h>

#include <gantry.h>

/**
 * Creates a worker on the lcore and sets *q to its queue. If is_inline, creates only a queue, by
 * conf->queue. @return 0 or a negative errno
 */
int lcore_queue_create(struct gantry *g, unsigned int lcore_id, bool is_inline,
	const struct gantry_worker_conf *conf, struct gantry_worker **worker,
	struct gantry_queue **q);

/** Prints an error if rc says that the CPU lacks what --idle asks for. @return true if so */
bool lcore_cannot_wait(int rc);

#endif
