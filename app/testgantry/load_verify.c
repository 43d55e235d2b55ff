/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Verifies one operation after the other, as many places at a time as may be in flight.
 */
#include "load_verify.h"

#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "job.h"
#include "report.h"

/* Descriptors that are verified together: all of one operation, and each in another place. */
struct batch {
	const struct load_op *op;
	uint32_t *desc; /* [depth]: their numbers */
	uint32_t n;
};

static void
poison(const struct load_lane *l, uint32_t i)
{
	uint64_t len;
	uint8_t *to;

	for (uint64_t at = 0; at < lane_len(l, i); at += len) {
		to = lane_to(l, i, at, &len);
		memset(to, LOAD_POISON, len);
	}
	to = lane_to(l, i, 0, &len);
	to[len] = LOAD_POISON;
}

/* len: of the operation. */
static int
report_byte(const struct batch *b, uint64_t len, uint64_t at, uint8_t is, uint8_t should)
{
	error_print("a %s of %" PRIu64 " bytes is wrong: byte %" PRIu64
		    " is 0x%02x and should be 0x%02x",
		b->op->name, len, at, is, should);
	return -1;
}

/* Of descriptor i. */
static int
compare(const struct load_lane *l, const struct batch *b, uint32_t i)
{
	const uint64_t all = lane_len(l, i);
	const uint8_t *from, *to;
	uint64_t len, from_len, k;

	for (uint64_t at = 0; at < all; at += len) {
		from = lane_from(l, i, at, &from_len);
		to = lane_to(l, i, at, &len);
		len = RTE_MIN(len, from_len);
		if (memcmp(from, to, len) == 0)
			continue;
		for (k = 0; from[k] == to[k]; k++)
			;
		return report_byte(b, all, at + k, to[k], from[k]);
	}
	to = lane_to(l, i, 0, &len);
	if (to[len] == LOAD_POISON)
		return 0;
	return report_byte(b, all, all, to[len], LOAD_POISON);
}

/* Hands the batch over, and waits for it. */
static int
carry_out(struct load_lane *l, const struct batch *b)
{
	struct gantry_comp comp;
	uint32_t put = 0, got = 0;

	while (got < b->n) {
		if (put < b->n) {
			uint32_t n = lane_submit(l, b->desc[put], 1);

			put += n;
			l->put += n;
		}
		if (lane_poll(l, &comp, 1) == 0) {
			sched_yield(); /* whoever is waited for may need this CPU */
			continue;
		}
		l->got++;
		if (comp.status == GANTRY_OK && comp.cookie == b->desc[got++])
			continue;
		error_print("a %s failed while it was verified: %s", b->op->name,
			gantry_status_name(comp.status));
		return -1;
	}
	return 0;
}

static int
verify_batch(struct load_lane *l, struct batch *b, uint64_t *verified)
{
	for (uint32_t k = 0; k < b->n; k++)
		poison(l, b->desc[k]);
	if (carry_out(l, b) != 0)
		return -1;
	for (uint32_t k = 0; k < b->n; k++)
		if (compare(l, b, b->desc[k]) != 0)
			return -1;
	*verified += b->n;
	b->n = 0;
	return stop_signal == 0 ? 0 : JOB_STOPPED;
}

/* Each place comes once among the first n_places descriptors. */
static int
verify_op(struct load_lane *l, struct batch *b, uint64_t *verified)
{
	int rc;

	for (uint32_t i = 0; i < l->n_places; i++) {
		if (&load_ops[l->op[i]] != b->op)
			continue;
		b->desc[b->n++] = i;
		if (b->n < l->depth)
			continue;
		rc = verify_batch(l, b, verified);
		if (rc != 0)
			return rc;
	}
	return verify_batch(l, b, verified);
}

int
load_verify(struct load_lane *l, uint64_t *verified)
{
	struct batch b = {.desc = calloc(l->depth, sizeof(b.desc[0]))};
	int rc = 0;

	if (b.desc == NULL) {
		error_print("out of memory");
		return -1;
	}
	for (b.op = load_ops; rc == 0 && b.op < load_ops + LOAD_OPS; b.op++)
		rc = verify_op(l, &b, verified);
	free(b.desc);
	return rc;
}
