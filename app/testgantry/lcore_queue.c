/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates the queue of an lcore: lcore_queue.h. */
#include "lcore_queue.h"

#include <errno.h>

#include "report.h"

int
lcore_queue_create(struct gantry *g, unsigned int lcore_id, bool is_inline,
	const struct gantry_worker_conf *conf, struct gantry_worker **worker,
	struct gantry_queue **q)
{
	int rc;

	if (is_inline)
		return gantry_queue_create(g, &conf->queue, q);
	rc = gantry_worker_create(g, lcore_id, conf, worker);
	if (rc == 0)
		*q = gantry_worker_queue(*worker);
	return rc;
}

bool
lcore_cannot_wait(int rc)
{
	if (rc != -ENOTSUP)
		return false;
	error_print("this CPU cannot wait for a write to memory (on x86: WAITPKG): use "
		    "--idle sleep or --idle spin");
	return true;
}
