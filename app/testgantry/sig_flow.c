/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * --mode sig: stores blocks of files, corrupts some blocks, fetches all blocks, and judges the
 * responses.
 *
 * A round has as many blocks as fit into SIG_ROUND_LEN. Each round makes these steps, first with
 * pipelining, then without:
 *
 *     store corrupted blocks   if they have signatures on the wire: the device checks them
 *     store right blocks       the device generates the signatures on the target's disk
 *     corrupt some of them     on the disk
 *     fetch all blocks         the device checks the signatures, and generates those on the wire
 *
 * With --encrypt, the device encrypts stored blocks and decrypts fetched blocks. Each mode of each
 * round has its own key: see sig_keys.h.
 *
 * Plans say which blocks are corrupted. The judge compares each response with the plan. For a good
 * response it compares each block with the file's bytes, and with the signatures and the ciphertext
 * that the CPU computes.
 *
 * If the target is in another process, that process corrupts and checks the disk, and has the key:
 * see pair_sig.h. The judge gets what the target has found.
 *
 * While the lcores store and fetch, the main lcore compares and judges the previous phase, and
 * reads the files of the next round in small parts.
 */
#include "sig_flow.h"

#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <rte_common.h>

#include "job.h"
#include "pages_map.h"
#include "pair_partner.h"
#include "pair_state.h"
#include "report.h"
#include "sig_damage.h"
#include "sig_ends.h"
#include "sig_guard.h"
#include "sig_keys.h"
#include "sig_phase.h"
#include "sig_round.h"
#include "sig_table.h"

#define LOOK_MS 1 /* milliseconds between two checks of a phase's progress */
/* Bytes of the next round that the main lcore reads, or computes, between two checks. */
#define PIECE_LEN (256u << 10)

struct sig {
	const struct options *opt;
	const struct file_set *set;
	struct sig_ends *ends;
	/* NULL: the target is in this process, too */
	struct pair *pair;
	struct talk *talk;
	struct damage_plan plan[N_PLACES];
	/* results of each request, for the present and the previous phase */
	struct sig_result *result[2];
	struct sig_sum sum;
	struct sig_reader reader;
	struct sig_round rounds[2];
	/* the present round, and the next round, which is being read */
	struct sig_round *round, *next;
	size_t disk_len; /* bytes of each round's disk */
	/* Fields for the progress. */
	uint64_t bytes_done; /* bytes of files in rounds that have ended */
	size_t files_done;
	uint32_t phases_done; /* number of finished phases of the present round */
	bool new_key;         /* the next phase begins a mode, whose blocks have a new key */
	/*
	 * The previous phase, which has ended but is not judged yet, and the plan of its
	 * corruptions; last_plan is NULL if there is no such phase.
	 */
	struct sig_phase last;
	const struct damage_plan *last_plan;
	/*
	 * The time of the run, and the times that one CPU needs for passes over the same bytes.
	 */
	uint64_t ns;
	struct sig_passes passes;
};

static int
check_encrypt(const struct options *o)
{
	if (o->encrypt == ENCRYPT_DATA && o->guard != GANTRY_SIG_NONE &&
		o->wire != GANTRY_SIG_NONE) {
		error_print(
			"--encrypt data: signatures on the disk are of the ciphertext, so the wire "
			"cannot have signatures too: use --wire none, --guard none or --encrypt all");
		return -1;
	}
	if (o->encrypt == ENCRYPT_ALL && o->block_size + sig_len(o->guard) != 520) {
		error_print(
			"--encrypt all: a block with its signature is one data unit, whose length cannot be %u "
			"bytes, but can be 520: use --block 512 and --guard crc64, crc or csum",
			o->block_size + sig_len(o->guard));
		return -1;
	}
	if (o->encrypt == ENCRYPT_ALL && o->guard != GANTRY_SIG_CRC64_XP10 && o->corrupt != 0) {
		error_print(
			"--encrypt all: corrupted ciphertext decrypts to random bytes, and a guard of 16 "
			"bits misses one block of 65536 of them: use --guard crc64, or --corrupt 0");
		return -1;
	}
	return 0;
}

int
sig_check(const struct options *o)
{
	if (o->chunk_len % o->block_size != 0 || o->chunk_len > GANTRY_TXN_MAX_LEN) {
		error_print(
			"--chunk: %" PRIu64
			" bytes are refused: with --mode sig, give whole blocks of %u bytes (--block), "
			"at most %" PRIu64 " bytes",
			o->chunk_len, o->block_size, GANTRY_TXN_MAX_LEN);
		return -1;
	}
	if (o->guard == GANTRY_SIG_NONE && o->wire == GANTRY_SIG_NONE &&
		o->encrypt == ENCRYPT_NONE) {
		error_print(
			"--guard none, --wire none: the device would check nothing: give one of them a "
			"kind of signature, or add --encrypt data");
		return -1;
	}
	if (o->depth > GANTRY_MAX_TXNS) {
		error_print("--depth: %u is refused: with --mode sig, give at most %u", o->depth,
			GANTRY_MAX_TXNS);
		return -1;
	}
	return check_encrypt(o);
}

/* ------------------------------------------------------------------ received blocks */

/* Memory at which the blocks of a phase arrive, and the expected blocks. */
struct arrival {
	uint8_t *blocks;
	const uint8_t *expected;
	uint32_t len; /* bytes of a block with its signature */
};

static struct arrival
arrival_of(const struct sig *s, bool store)
{
	if (store)
		return (struct arrival){ends_disk(s->ends), s->round->disk, s->plan[DISK].len};
	return (struct arrival){ends_fetched(s->ends), s->round->source, s->plan[WIRE].len};
}

/*
 * Makes each block that will arrive differ from the expected bytes, so that equal bytes from an
 * earlier phase cannot hide an error.
 */
static void
poison(const struct sig *s, const struct sig_phase *p)
{
	const struct arrival a = arrival_of(s, p->store);
	const uint32_t last = s->opt->block_size - 1;
	size_t at;

	if (p->store && s->talk != NULL)
		return; /* the target's process does this: wipe() in pair_target.c */
	for (uint32_t i = 0; i < p->n_blocks; i++) {
		at = (size_t)i * a.len;
		a.blocks[at] = ~a.expected[at];
		a.blocks[at + last] = ~a.expected[at + last];
	}
}

/*
 * Finds the blocks of request i. Returns the number of the first block in the phase. *n: number of
 * blocks.
 */
static uint32_t
blocks_of(const struct sig *s, const struct sig_phase *p, uint32_t i, uint32_t *n)
{
	const uint32_t per_request = s->opt->chunk_len / s->opt->block_size;

	*n = RTE_MIN(per_request, p->n_blocks - i * per_request);
	return i * per_request;
}

/* Compares the blocks of the next request of an ended phase with the expected bytes. */
static void
compare_next(const struct sig *s, struct sig_phase *p)
{
	const struct arrival a = arrival_of(s, p->store);
	uint32_t i = p->n_compared++, n;
	size_t at = (size_t)blocks_of(s, p, i, &n) * a.len;

	if (p->store && s->talk != NULL)
		return; /* the target's process compares the blocks on its disk */
	p->result[i].right = memcmp(a.blocks + at, a.expected + at, (size_t)n * a.len) == 0;
}

/* ------------------------------------------------------------------ results and damage */

static bool
has_damage(const struct damage_plan *plan, uint32_t first, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (damage_has(plan, first + i))
			return true;
	return false;
}

/* Returns true if the target's completion agrees with the response, and names a corrupted block. */
static bool
names_damage(const struct damage_plan *plan, const struct sig_phase *p, const struct sig_result *r,
	uint32_t first, uint32_t n)
{
	return r->status == GANTRY_SIG_ERROR && r->error.part != 0 &&
	       r->error.on_wire == p->store && r->error.block < n &&
	       damage_has(plan, first + r->error.block);
}

/* Judges the response to request number i, and counts it in *t. */
static void
judge(const struct sig *s, struct tally *t, const struct sig_phase *p,
	const struct damage_plan *plan, uint32_t i)
{
	const struct sig_result *r = &p->result[i];
	struct found *found = &t->found[p->store ? WIRE : DISK];
	uint32_t n, first = p->first_block + blocks_of(s, p, i, &n);

	if (has_damage(plan, first, n)) {
		found->corrupted++;
		if (!r->good && names_damage(plan, p, r, first, n))
			found->detected++;
		else
			found->missed++;
	} else if (!r->good || r->status != GANTRY_OK)
		t->false_alarms++;
	else if (!r->right)
		t->wrong++;
}

/* Judges all requests of a phase. Returns 0, or -1 with the error printed. */
static int
judge_all(const struct sig *s, struct tally *t, const struct sig_phase *p,
	const struct damage_plan *plan)
{
	const enum kind good = p->store ? STORE_GOOD : FETCH_GOOD, bad = good + 1;
	int rc = 0;

	for (uint32_t i = 0; i < p->n_requests && rc == 0; i++) {
		judge(s, t, p, plan, i);
		rc = sum_add(&t->samples[p->result[i].good ? good : bad], p->result[i].ns);
	}
	return rc;
}

/* Compares the remaining blocks of the previous phase, and judges it. */
static int
end_last(struct sig *s)
{
	const struct damage_plan *plan = s->last_plan;

	if (plan == NULL)
		return 0;
	while (s->last.n_compared < s->last.n_requests)
		compare_next(s, &s->last);
	s->last_plan = NULL;
	return judge_all(s, &s->sum.tally[s->last.mode], &s->last, plan);
}

/* ------------------------------------------------------------------ rounds */

/*
 * Returns the number of phases in a round: store and fetch; with signatures on the wire, also one
 * that stores corrupted blocks.
 */
static uint32_t
phases_of_round(const struct sig *s)
{
	uint32_t modes = 0;

	for (int m = GANTRY_TXN_PIPELINED; m <= GANTRY_TXN_WAIT; m++)
		modes += ends_have(s->ends, m);
	return modes * (s->opt->wire != GANTRY_SIG_NONE ? 3 : 2);
}

/*
 * Returns the processed bytes of files. The present round counts in proportion to its finished
 * phases. share: finished share of the present phase.
 */
static uint64_t
bytes_done(const struct sig *s, double share)
{
	return s->bytes_done +
	       (s->round->bytes - s->bytes_done) * ((s->phases_done + share) / phases_of_round(s));
}

static void
show_progress(const struct sig *s, const struct sig_phase *p, uint32_t answered)
{
	progress_show(&(struct progress){
		.verb = "stored and fetched",
		.bytes_moved = bytes_done(s, (double)answered / p->n_requests),
		.bytes_total = s->set->bytes,
		.files_verified = s->files_done,
		.files_total = s->set->n,
	});
}

/*
 * Returns true if a round is read and its expected disk is computed. The expected disk is not
 * computed here in two cases: with encryption, because the disk differs in each mode; and if the
 * disk is in another process.
 */
static bool
is_ready(const struct sig *s, const struct sig_round *round)
{
	return round->is_read && (s->opt->encrypt != ENCRYPT_NONE || s->talk != NULL ||
					 round->n_expected == round->n_blocks);
}

/*
 * For a round that is not ready: reads more of its blocks, or computes more of its expected disk.
 */
static int
do_piece(struct sig *s, struct sig_round *round)
{
	if (!round->is_read)
		return round_read(&s->reader, round, PIECE_LEN);
	return round_expect(s->opt, round, NULL, PIECE_LEN / s->opt->block_size);
}

/* Reads and computes what remains of a round. */
static int
make_ready(struct sig *s, struct sig_round *round)
{
	int rc = 0;

	while (rc == 0 && !is_ready(s, round))
		rc = do_piece(s, round);
	return rc;
}

/* The work of the main lcore while a phase runs. */
static int
work_meanwhile(struct sig *s, struct sig_phase *p)
{
	uint32_t answered;
	int rc = 0;

	if (!p->store && p->key != NULL)
		rc = keys_renew(s->ends);
	while (rc == 0 && ends_busy(s->ends, &answered)) {
		show_progress(s, p, answered);
		if (s->talk != NULL && partner_look(s->talk) != 0) {
			ends_give_up(s->ends);
			return -1;
		}
		/* Yield before each part of the work: the target's lcore may need this CPU. */
		sched_yield();
		if (s->last_plan != NULL && s->last.n_compared < s->last.n_requests)
			compare_next(s, &s->last);
		else if (!is_ready(s, s->next))
			rc = do_piece(s, s->next);
		else
			ends_nap(s->ends, LOOK_MS * 1000);
	}
	return rc != 0 ? rc : end_last(s);
}

/* Reads the target's counters, or prepares the target in another process. */
static int
begin_phase(struct sig *s, const struct sig_phase *p, const struct damage_plan *plan,
	struct gantry_stats *before)
{
	if (s->talk != NULL)
		return partner_begin(s->talk, p, p->store && plan->percent != 0, s->new_key);
	ends_stats(s->ends, before);
	return 0;
}

/*
 * Reads the target's counters. If the phase has succeeded (rc is 0), also takes what the target in
 * another process has found. Returns rc, 0 or -1.
 */
static int
end_phase(struct sig *s, struct sig_phase *p, int rc, struct gantry_stats *now)
{
	s->new_key = false;
	if (s->talk == NULL)
		ends_stats(s->ends, now);
	else if (rc == 0)
		rc = partner_end(s->talk, p, p->source, s->opt->block_size, s->plan[WIRE].len, now);
	return rc;
}

/*
 * Stores or fetches the blocks of the round. The blocks that the device reads are corrupted
 * already, as planned. The responses are judged in the next phase, or by end_last(). Until then,
 * the arrived and the expected bytes must not change.
 */
static int
do_phase(struct sig *s, struct sig_phase *p, bool store, const struct damage_plan *plan)
{
	struct tally *t = &s->sum.tally[p->mode];
	struct gantry_stats before = {0}, now = {0};
	int rc;

	p->store = store;
	p->result = s->result[s->phases_done % 2];
	poison(s, p);
	rc = begin_phase(s, p, plan, &before);
	if (rc != 0)
		return rc;
	ends_begin(s->ends, p);
	rc = work_meanwhile(s, p);
	if (ends_end(s->ends) != 0)
		rc = -1;
	rc = end_phase(s, p, rc, &now);
	t->ns += p->ns;
	t->opened += now.txn_opened - before.txn_opened;
	t->done += now.txn_done - before.txn_done;
	t->stops += now.txn_stops - before.txn_stops;
	t->cancelled += now.txn_cancelled - before.txn_cancelled;
	if (rc != 0)
		return rc;
	s->phases_done++;
	s->last = *p;
	s->last_plan = plan;
	return 0;
}

/* Stores, corrupts and fetches the blocks of the round. */
static int
do_mode(struct sig *s, struct sig_phase *p)
{
	static const struct damage_plan nothing;
	uint8_t *source = s->round->source, *disk = s->round->disk;
	int rc = 0;

	s->new_key = true;
	s->sum.n_keys += s->opt->encrypt != ENCRYPT_NONE;
	if (s->opt->encrypt != ENCRYPT_NONE && s->talk == NULL) {
		p->key = keys_take(s->ends);
		s->round->n_expected = 0;
		rc = round_expect(s->opt, s->round, p->key, UINT32_MAX);
	}
	if (rc == 0 && s->opt->wire != GANTRY_SIG_NONE) {
		/*
		 * Compare the fetched blocks with the source now, because the next store writes the
		 * disk again.
		 */
		rc = end_last(s);
		damage_apply(&s->plan[WIRE], p->first_block, p->n_blocks, source);
		if (rc == 0)
			rc = do_phase(s, p, true, &s->plan[WIRE]);
		damage_apply(&s->plan[WIRE], p->first_block, p->n_blocks, source);
		if (rc == 0)
			rc = end_last(s);
	}
	if (rc != 0 || do_phase(s, p, true, &nothing) != 0)
		return -1;
	/*
	 * The disk is compared with the expected disk only in the next phase. Both get the same
	 * corruptions, so equal blocks stay equal.
	 */
	if (s->talk == NULL)
		damage_apply(&s->plan[DISK], p->first_block, p->n_blocks, ends_disk(s->ends));
	damage_apply(&s->plan[DISK], p->first_block, p->n_blocks, disk);
	rc = do_phase(s, p, false, &s->plan[DISK]);
	damage_apply(&s->plan[DISK], p->first_block, p->n_blocks, disk);
	return rc;
}

static int
do_round(struct sig *s)
{
	const struct sig_round *round = s->round;
	struct sig_phase phase = {
		.n_blocks = round->n_blocks,
		.first_block = round->first_block,
		.source = round->source,
	};

	for (phase.mode = GANTRY_TXN_PIPELINED; phase.mode <= GANTRY_TXN_WAIT; phase.mode++)
		if (ends_have(s->ends, phase.mode) && do_mode(s, &phase) != 0)
			return -1;
	if (end_last(s) != 0)
		return -1;
	for (uint32_t i = 0; i < round->n_blocks; i++)
		for (int place = 0; place < N_PLACES; place++)
			s->sum.corrupted[place] +=
				damage_has(&s->plan[place], round->first_block + i);
	s->sum.n_blocks += round->n_blocks;
	s->phases_done = 0;
	s->bytes_done = round->bytes;
	s->files_done = round->files;
	return 0;
}

/*
 * All rounds except the last are full. So the number of each round's first block is a multiple of
 * the number of blocks in a full round.
 */
static int
do_rounds(struct sig *s)
{
	struct sig_round *done;
	uint64_t begin;
	int rc;

	begin = now_ns();
	rc = make_ready(s, s->round);
	while (rc == 0 && s->round->n_blocks > 0) {
		round_reset(s->next);
		rc = do_round(s);
		if (rc == 0)
			rc = make_ready(s, s->next);
		s->ns += now_ns() - begin;
		if (rc != 0)
			return rc;
		round_measure(s->opt, s->round, ends_fetched(s->ends), &s->passes);
		begin = now_ns();
		done = s->round;
		s->round = s->next;
		s->next = done;
	}
	return rc;
}

/* ------------------------------------------------------------------ the end */

/*
 * Prints the time of the run, and the shortest time in which one CPU could process the same bytes.
 */
static void
print_time(const struct sig *s)
{
	const uint32_t n = phases_of_round(s);
	const double copy = n * s->passes.copy / 1e9, crc = n * s->passes.crc / 1e9;
	const double compare = n * s->passes.compare / 1e9, took = s->ns / 1e9;

	printf("in %.3f s, %.1f times what memcpy (%.3f s), a CRC of each signature's block (%.3f s) "
	       "and memcmp (%.3f s) take on one CPU for %u stores and fetches%s\n",
		took, took / (copy + crc + compare), copy, crc, compare, n,
		s->opt->encrypt != ENCRYPT_NONE ? ", without encryption" : "");
}

/*
 * Prints the results. stopped: a signal stopped the run. Returns 0, or -1 with the error printed.
 */
static int
conclude(const struct sig *s, bool stopped)
{
	bool have_pipelining = ends_have(s->ends, GANTRY_TXN_PIPELINED);
	uint64_t corrupted = 0, missed = 0, false_alarms = 0, wrong = 0;

	for (int m = GANTRY_TXN_PIPELINED; m <= GANTRY_TXN_WAIT; m++) {
		const struct tally *t = &s->sum.tally[m];

		corrupted += t->found[DISK].corrupted + t->found[WIRE].corrupted;
		missed += t->found[DISK].missed + t->found[WIRE].missed;
		false_alarms += t->false_alarms;
		wrong += t->wrong;
	}
	if (!have_pipelining)
		printf("this device has no signature pipelining\n");
	if (missed != 0 || false_alarms != 0 || wrong != 0) {
		error_print("%" PRIu64 " corruptions were missed, %" PRIu64
			    " alarms were false, %" PRIu64 " good responses had wrong bytes",
			missed, false_alarms, wrong);
		return -1;
	}
	if (stopped)
		return 0;
	if (s->sum.n_blocks == 0) {
		printf("nothing was stored: the files are empty");
		files_end_line(s->set);
		return 0;
	}
	printf("%zu file%s, %.1f MB, stored and fetched %s: %s, and no alarm was false", s->set->n,
		s->set->n == 1 ? "" : "s", s->reader.bytes / 1e6,
		have_pipelining ? "twice" : "once",
		corrupted != 0 ? "every corruption was detected, every other byte is equal"
			       : "no block was corrupted, every byte is equal");
	files_end_line(s->set);
	if (s->opt->encrypt != ENCRYPT_NONE)
		printf("each block on the disk had the ciphertext that OpenSSL %s\n",
			s->talk != NULL ? "decrypts, as the other process has found" : "computes");
	print_time(s);
	return 0;
}

/* Opens everything. Returns 0, or -1 with the error printed. */
static int
open_all(struct sig *s)
{
	const uint32_t n_blocks = SIG_ROUND_LEN / s->opt->block_size;

	for (size_t i = 0; i < RTE_DIM(s->result); i++)
		s->result[i] = calloc(n_blocks, sizeof(*s->result[i]));
	s->disk_len = (size_t)n_blocks * s->plan[DISK].len;
	for (size_t i = 0; i < RTE_DIM(s->rounds); i++) {
		s->rounds[i].disk = pages_map(s->disk_len);
		if (s->result[i] == NULL || s->rounds[i].disk == NULL) {
			error_print("out of memory");
			return -1;
		}
	}
	if (ends_open(s->opt, s->talk != NULL ? ENDS_INITIATOR : ENDS_BOTH, &s->ends) != 0 ||
		(s->talk != NULL && partner_connect(s->talk, s->ends) != 0))
		return -1;
	for (size_t i = 0; i < RTE_DIM(s->rounds); i++)
		s->rounds[i].source = ends_source(s->ends, i);
	s->round = &s->rounds[0];
	s->next = &s->rounds[1];
	return 0;
}

static void
free_all(struct sig *s)
{
	sum_free(&s->sum);
	for (size_t i = 0; i < RTE_DIM(s->rounds); i++)
		if (s->rounds[i].disk != NULL)
			munmap(s->rounds[i].disk, s->disk_len);
	for (size_t i = 0; i < RTE_DIM(s->result); i++)
		free(s->result[i]);
}

/* Runs all rounds. Returns 0, -1 or JOB_STOPPED. */
static int
run(struct sig *s)
{
	int rc = do_rounds(s);
	const bool stopped = rc != 0 && stop_signal != 0;
	uint64_t done = 0;

	progress_end();
	if (stopped) {
		done = bytes_done(s, 0);
		job_say_stopping();
	}
	if (rc == 0 || (stopped && s->reader.bytes != 0)) {
		sum_print(s->opt, &s->sum);
		rc = conclude(s, stopped);
	}
	fflush(stdout);
	if (rc == 0 && !stopped && s->talk != NULL)
		rc = partner_done(s->talk);
	if (s->pair != NULL && (rc != 0 || stopped))
		pair_fail(s->pair);
	if (ends_close(s->ends) != 0)
		rc = -1;
	if (stopped)
		rc = job_say_stopped("%.1f of %.1f MB were stored, fetched and compared",
			done / 1e6, s->set->bytes / 1e6);
	return rc;
}

int
sig_run(const struct options *o, const struct file_set *set, struct pair *pair)
{
	struct sig s = {
		.opt = o,
		.set = set,
		.pair = pair,
		.talk = pair != NULL ? pair->talk : NULL,
		.plan = {[DISK] = damage_plan_of(o, DISK), [WIRE] = damage_plan_of(o, WIRE)},
		.reader = {.opt = o, .set = set},
	};
	int rc = open_all(&s);

	if (rc == 0) {
		ends_say(s.ends);
		rc = run(&s);
	} else if (s.ends != NULL) {
		ends_close(s.ends);
	}
	free_all(&s);
	return rc;
}
