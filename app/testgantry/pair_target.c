/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Prepares each phase, lets the lcore answer the initiator's requests, and checks the disk.
 */
#include "pair_target.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "pair_sig.h"
#include "report.h"
#include "sig_damage.h"
#include "sig_disk.h"
#include "sig_ends.h"
#include "sig_keys.h"
#include "sig_phase.h"

#define LOOK_US 1000 /* microseconds between two checks of the socket */

struct target_flow {
	struct pair *pair;
	struct talk *talk;
	const struct options *opt;
	struct sig_ends *ends;
	struct sig_result *result; /* [requests of a phase] */
	const struct sig_key *key;
	uint64_t n_blocks,
		n_wrong;  /* stored blocks that were checked; requests with wrong blocks */
	uint64_t refused; /* transactions with a wrong signature */
};

/* ------------------------------------------------------------------ connections */

static int
connect_modes(struct target_flow *f)
{
	struct pair_mode mine, theirs;
	struct talk_frame frame;
	int have;

	for (enum gantry_txn_mode mode = GANTRY_TXN_PIPELINED; mode <= GANTRY_TXN_WAIT; mode++) {
		mine = (struct pair_mode){0};
		have = ends_open_peer(f->ends, mode, &mine.addr);
		mine.have = have;
		if (have < 0 || talk_say(f->talk, TALK_MODE, &mine, sizeof(mine)) != 0 ||
			talk_wait(f->talk, TALK_MODE, sizeof(theirs), &frame) != 0)
			return -1;
		memcpy(&theirs, frame.data, sizeof(theirs));
		if (have != 0 && ends_connect_peer(f->ends, mode, &theirs.addr) != 0)
			return -1;
	}
	return 0;
}

/* ------------------------------------------------------------------ a phase */

static int
check_phase(const struct target_flow *f, const struct pair_phase *phase)
{
	const uint32_t most = SIG_ROUND_LEN / f->opt->block_size;

	if (phase->mode >= GANTRY_TXN_PIPELINED && phase->mode <= GANTRY_TXN_WAIT &&
		ends_have(f->ends, phase->mode) && phase->n_blocks != 0 &&
		phase->n_blocks <= most && phase->first_block % most == 0)
		return 0;
	error_print("the other process begins a phase of %u blocks from block %u on, in mode %u, "
		    "which is not possible",
		phase->n_blocks, phase->first_block, phase->mode);
	return -1;
}

/*
 * Makes each block on the disk differ from all blocks that were stored before, so that equal bytes
 * from an earlier phase cannot hide an error.
 */
static void
wipe(const struct target_flow *f, uint32_t n_blocks, uint32_t len)
{
	uint8_t *disk = ends_disk(f->ends);
	const uint32_t last = f->opt->block_size - 1;

	for (uint32_t i = 0; i < n_blocks; i++) {
		disk[(size_t)i * len] = ~disk[(size_t)i * len];
		disk[(size_t)i * len + last] = ~disk[(size_t)i * len + last];
	}
}

/* Renews the key, and corrupts or wipes the disk. */
static int
prepare(struct target_flow *f, const struct pair_phase *phase)
{
	const struct damage_plan plan = damage_plan_of(f->opt, DISK);

	if (phase->new_key && f->opt->encrypt != ENCRYPT_NONE) {
		if (f->key != NULL && keys_renew(f->ends) != 0)
			return -1;
		f->key = keys_take(f->ends);
	}
	if (phase->store)
		wipe(f, phase->n_blocks, plan.len);
	else
		damage_apply(&plan, phase->first_block, phase->n_blocks, ends_disk(f->ends));
	return 0;
}

/* Serves requests until the initiator has all responses. */
static int
serve(struct target_flow *f, struct sig_phase *p, struct pair_plain *plain)
{
	struct talk_frame frame;
	uint32_t answered;
	int n = 0, rc;

	ends_begin(f->ends, p);
	rc = talk_say(f->talk, TALK_READY, NULL, 0);
	while (rc == 0 && n == 0 && ends_busy(f->ends, &answered)) {
		n = talk_look(f->talk, &frame);
		if (n == 0)
			ends_nap(f->ends, LOOK_US);
	}
	if (n == 1 && talk_check(&frame, TALK_PHASE_DONE, sizeof(*plain)) == 0)
		memcpy(plain, frame.data, sizeof(*plain));
	else
		rc = -1;
	if (rc == 0)
		ends_all_answered(f->ends);
	else
		ends_give_up(f->ends);
	return ends_end(f->ends) == 0 ? rc : -1;
}

/*
 * Checks the blocks of each request with a good response. If the initiator sent no corrupted
 * blocks, also compares the digest of all data with the initiator's digest.
 */
static int
check_disk(struct target_flow *f, const struct sig_phase *p, bool damaged,
	const struct pair_plain *plain)
{
	const struct sig_disk disk = {ends_disk(f->ends), p->first_block, p->n_blocks, p->key};
	const uint32_t per_request = f->opt->chunk_len / f->opt->block_size;
	struct digest digest = {0};
	uint8_t found[DIGEST_LEN];
	bool same;
	uint32_t n;

	for (uint32_t i = 0; i < p->n_requests; i++) {
		n = RTE_MIN(per_request, p->n_blocks - i * per_request);
		if (sig_disk_check(f->opt, &disk, i * per_request, n, &p->result[i].right,
			    &digest) != 0)
			return -1;
	}
	if (digest_finish(&digest, found) != 0)
		return -1;
	same = damaged || memcmp(found, plain->digest, DIGEST_LEN) == 0;
	for (uint32_t i = 0; i < p->n_requests; i++) {
		p->result[i].right &= same;
		f->n_wrong += p->result[i].status == GANTRY_OK && !p->result[i].right;
	}
	if (!damaged)
		f->n_blocks += p->n_blocks;
	return 0;
}

static int
say_results(struct target_flow *f, const struct sig_phase *p, const struct gantry_stats *before)
{
	struct pair_result results[PAIR_RESULTS];
	struct pair_judged judged;
	struct gantry_stats now;
	uint32_t n;

	for (uint32_t first = 0; first < p->n_requests; first += n) {
		n = RTE_MIN(p->n_requests - first, PAIR_RESULTS);
		for (uint32_t i = 0; i < n; i++) {
			const struct sig_result *r = &p->result[first + i];

			results[i] = (struct pair_result){r->status, r->error.part,
				r->error.on_wire, r->right, r->error.block};
			f->refused += r->status == GANTRY_SIG_ERROR;
		}
		if (talk_say(f->talk, TALK_RESULTS, results, n * sizeof(*results)) != 0)
			return -1;
	}
	ends_stats(f->ends, &now);
	judged = (struct pair_judged){
		.opened = now.txn_opened - before->txn_opened,
		.done = now.txn_done - before->txn_done,
		.stops = now.txn_stops - before->txn_stops,
		.cancelled = now.txn_cancelled - before->txn_cancelled,
	};
	return talk_say(f->talk, TALK_JUDGED, &judged, sizeof(judged));
}

static int
do_phase(struct target_flow *f, const struct pair_phase *phase)
{
	struct gantry_stats before;
	struct pair_plain plain;
	struct sig_phase p = {
		.mode = phase->mode,
		.store = phase->store != 0,
		.n_blocks = phase->n_blocks,
		.first_block = phase->first_block,
		.result = f->result,
	};

	if (check_phase(f, phase) != 0 || prepare(f, phase) != 0)
		return -1;
	p.key = f->key;
	ends_stats(f->ends, &before);
	if (serve(f, &p, &plain) != 0)
		return -1;
	if (p.store && check_disk(f, &p, phase->damaged != 0, &plain) != 0)
		return -1;
	return say_results(f, &p, &before);
}

/* ------------------------------------------------------------------ the run */

static int
run(struct target_flow *f)
{
	struct pair_phase phase;
	struct talk_frame frame;

	if (connect_modes(f) != 0)
		return -1;
	ends_say(f->ends);
	while (talk_wait_any(f->talk, &frame) == 0) {
		if (frame.type == TALK_DONE)
			return talk_say(f->talk, TALK_DONE, NULL, 0);
		if (talk_check(&frame, TALK_PHASE, sizeof(phase)) != 0)
			return -1;
		memcpy(&phase, frame.data, sizeof(phase));
		if (do_phase(f, &phase) != 0)
			return -1;
	}
	return -1;
}

static int
conclude(const struct target_flow *f)
{
	if (f->n_wrong != 0) {
		error_print("%" PRIu64 " good transactions have left wrong blocks on the disk",
			f->n_wrong);
		return -1;
	}
	printf("%" PRIu64
	       " blocks of the other process were stored: every signature on the disk is "
	       "right%s, and every byte is equal; %" PRIu64 " transactions with a wrong signature "
	       "were refused\n",
		f->n_blocks,
		f->opt->encrypt != ENCRYPT_NONE ? ", OpenSSL decrypts every block" : "",
		f->refused);
	return 0;
}

int
pair_target(struct pair *p)
{
	struct target_flow f = {
		.pair = p,
		.talk = p->talk,
		.opt = p->opt,
		.result = calloc(SIG_ROUND_LEN / p->opt->block_size, sizeof(*f.result)),
	};
	int rc = -1;

	if (f.result == NULL)
		error_print("out of memory");
	else if (ends_open(p->opt, ENDS_TARGET, &f.ends) == 0)
		rc = run(&f);
	if (rc == 0)
		rc = conclude(&f);
	else
		pair_fail(p);
	if (f.ends != NULL && ends_close(f.ends) != 0)
		rc = -1;
	free(f.result);
	return rc;
}
