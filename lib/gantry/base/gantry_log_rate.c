/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts the lines that are written in a second, and the lines that are left out. */
#include "gantry_log_rate.h"

#include <inttypes.h>

#include <rte_branch_prediction.h>
#include <rte_cycles.h>

/*
 * The limit of gantry_log_rate_others(), in lines a second. One failing call of the control thread
 * writes fewer lines.
 */
#define OTHERS_A_SECOND 32

void
gantry_log_rate_end(struct gantry_log_rate *r)
{
	if (r->n_left_out != 0)
		LOG(NOTICE, "lines about %s that were left out: %" PRIu64, r->about, r->n_left_out);
	r->n_left_out = 0;
}

__rte_cold bool
gantry_log_rate_take(struct gantry_log_rate *r)
{
	uint64_t now = rte_get_tsc_cycles();

	if (now >= r->end_tsc) {
		gantry_log_rate_end(r);
		r->end_tsc = now + rte_get_tsc_hz();
		r->n = 0;
	}
	if (r->n == r->max) {
		r->n_left_out++;
		return false;
	}
	r->n++;
	return true;
}

const char *
gantry_log_rate_note(const struct gantry_log_rate *r)
{
	return r->n == r->max ? "; no more this second" : "";
}

struct gantry_log_rate *
gantry_log_rate_others(void)
{
	static __thread struct gantry_log_rate rate = {
		.about = "other failures",
		.max = OTHERS_A_SECOND,
	};

	return &rate;
}
