/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Prepares the target in another process for each phase, and receives its results.
 */
#include "pair_partner.h"

#include <string.h>

#include <rte_common.h>

#include "pair_sig.h"
#include "report.h"

int
partner_connect(struct talk *t, struct sig_ends *ends)
{
	struct pair_mode mine, theirs;
	struct talk_frame f;

	for (enum gantry_txn_mode mode = GANTRY_TXN_PIPELINED; mode <= GANTRY_TXN_WAIT; mode++) {
		mine = (struct pair_mode){.have = 1};
		if (ends_open_peer(ends, mode, &mine.addr) < 0 ||
			talk_say(t, TALK_MODE, &mine, sizeof(mine)) != 0 ||
			talk_wait(t, TALK_MODE, sizeof(theirs), &f) != 0)
			return -1;
		memcpy(&theirs, f.data, sizeof(theirs));
		if (theirs.have != 0 && ends_connect_peer(ends, mode, &theirs.addr) != 0)
			return -1;
	}
	return 0;
}

int
partner_begin(struct talk *t, const struct sig_phase *p, bool damaged, bool new_key)
{
	const struct pair_phase phase = {
		.mode = p->mode,
		.store = p->store,
		.damaged = damaged,
		.new_key = new_key,
		.first_block = p->first_block,
		.n_blocks = p->n_blocks,
	};
	struct talk_frame f;

	if (talk_say(t, TALK_PHASE, &phase, sizeof(phase)) != 0)
		return -1;
	return talk_wait(t, TALK_READY, 0, &f);
}

int
partner_look(struct talk *t)
{
	struct talk_frame f;
	int n = talk_look(t, &f);

	return n == 1 ? talk_check(&f, TALK_PING, 0) : n;
}

/* Takes the results of all requests. */
static int
take_results(struct talk *t, struct sig_phase *p)
{
	struct pair_result results[PAIR_RESULTS];
	struct talk_frame f;
	uint32_t n;

	for (uint32_t first = 0; first < p->n_requests; first += n) {
		n = RTE_MIN(p->n_requests - first, PAIR_RESULTS);
		if (talk_wait(t, TALK_RESULTS, n * sizeof(*results), &f) != 0)
			return -1;
		memcpy(results, f.data, n * sizeof(*results));
		for (uint32_t i = 0; i < n; i++) {
			struct sig_result *r = &p->result[first + i];

			r->status = results[i].status;
			r->error = (struct gantry_sig_error){
				.part = results[i].part,
				.on_wire = results[i].on_wire != 0,
				.block = results[i].block,
			};
			if (p->store)
				r->right = results[i].right != 0;
		}
	}
	return 0;
}

int
partner_end(struct talk *t, struct sig_phase *p, const uint8_t *blocks, uint32_t block_size,
	uint32_t stride, struct gantry_stats *stats)
{
	struct digest digest = {0};
	struct pair_judged judged;
	struct pair_plain plain;
	struct talk_frame f;

	for (uint32_t i = 0; i < p->n_blocks; i++)
		if (digest_add(&digest, blocks + (size_t)i * stride, block_size) != 0)
			return -1;
	if (digest_finish(&digest, plain.digest) != 0 ||
		talk_say(t, TALK_PHASE_DONE, &plain, sizeof(plain)) != 0 ||
		take_results(t, p) != 0 || talk_wait(t, TALK_JUDGED, sizeof(judged), &f) != 0)
		return -1;
	memcpy(&judged, f.data, sizeof(judged));
	stats->txn_opened = judged.opened;
	stats->txn_done = judged.done;
	stats->txn_stops = judged.stops;
	stats->txn_cancelled = judged.cancelled;
	return 0;
}

int
partner_done(struct talk *t)
{
	struct talk_frame f;

	if (talk_say(t, TALK_DONE, NULL, 0) != 0)
		return -1;
	return talk_wait(t, TALK_DONE, 0, &f);
}
