/* SPDX-License-Identifier: BSD-3-Clause */
/* What the state machine sends, and when it looks at an id again. */
#include "out.h"

#include <string.h>

#include "clock.h"
#include "dev.h"
#include "loop.h"

/* A request is sent as often as the kernel sends it: CMA_MAX_CM_RETRIES of cma.c, and once more. */
#define TRIES 16

/* Time of TIMEWAIT: the kernel waits for the timeout of the queue pair (4.096 us * 2^18). */
#define TIMEWAIT_MS 1024

static const struct cm_carrier *carrier;

void
machine_init(const struct cm_carrier *c)
{
	carrier = c;
}

const struct cm_carrier *
out_carrier(void)
{
	return carrier;
}

struct cm_message
out_begin(const struct cm_id *id, enum cm_kind kind)
{
	struct cm_message m = {.kind = (uint8_t)kind,
		.from = id->comm,
		.to = id->remote_comm,
		.ps = id->ps,
		.qpn = id->qpn,
		.psn = id->psn,
		.lid = id->place.lid,
		.tos = id->tos};

	memcpy(m.gid, id->place.gid, sizeof(m.gid));
	return m;
}

bool
out_private(struct cm_message *m, const uint8_t *data, uint8_t len)
{
	if (len > cm_private_max(m->kind))
		return false;
	if (len != 0)
		memcpy(m->private_data, data, len);
	m->private_len = len;
	return true;
}

void
out_send(struct cm_id *id, enum cm_kind kind)
{
	const struct cm_message m = out_begin(id, kind);

	(void)carrier->send(id, &m);
}

void
out_reject(struct cm_id *id, enum cm_reason reason)
{
	struct cm_message m = out_begin(id, CM_REJ);

	m.reason = reason;
	(void)carrier->send(id, &m);
}

uint64_t
out_patience_ms(const struct cm_id *id)
{
	return id->place.dev->cfg->cm_retry_ms;
}

uint64_t
out_interval_ms(const struct cm_id *id)
{
	return out_patience_ms(id) / TRIES + 1;
}

void
out_wait(struct cm_id *id, uint64_t ms)
{
	id->due = ms != 0 ? device_clock() + ms * 1000000 : 0;
	if (ms != 0)
		loop_due(id->due);
}

void
out_end(struct cm_id *id)
{
	id->conn = CONN_NONE;
	out_wait(id, 0);
	carrier->leave(id);
}

void
out_timewait(struct cm_id *id)
{
	id->conn = CONN_TIMEWAIT;
	out_wait(id, TIMEWAIT_MS);
	carrier->leave(id);
}
