/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * --mode sig: stores blocks of files, corrupts some, fetches all, and judges the answers.
 *
 * A round is as many blocks as fit SIG_ROUND_LEN. In each round, with pipelining and then without:
 *
 *     store corrupted blocks   if they have signatures on the wire: the device checks them
 *     store right blocks       the device generates the signatures on the target's disk
 *     corrupt some of them     on the disk
 *     fetch all blocks         the device checks the signatures, and generates those on the wire
 *
 * With --encrypt, the device encrypts what is stored and decrypts what is fetched. Each mode of each round has a key of its
 * own: sig_keys.h.
 *
 * Plans say what is corrupted, so the judge knows: it judges each response by them, and each block of a good one by
 * the file's bytes, and by the signatures and the ciphertext that the CPU computes.
 *
 * Files are read, and answers judged, while no request is in flight.
 */
#include "sig_flow.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>

#include "job.h"
#include "quote.h"
#include "report.h"
#include "sig_damage.h"
#include "sig_ends.h"
#include "sig_guard.h"
#include "sig_keys.h"
#include "sig_phase.h"
#include "sig_xts.h"

/* How long requests of one kind took. */
struct samples {
	uint64_t *ns;
	size_t n, capacity;
};

/* What a row of the table of latencies is about. */
enum kind {
	STORE_GOOD,
	STORE_BAD,
	FETCH_GOOD,
	FETCH_BAD,
	N_KINDS,
};

/* Where blocks have signatures. */
enum place {
	DISK,
	WIRE,
	N_PLACES,
};

/* What came of transactions with corrupted blocks. */
struct found {
	uint64_t corrupted; /* transactions */
	uint64_t detected;  /* of them with the bad response, whose error names such a block */
	uint64_t missed;    /* the others */
};

/* What came of one mode. */
struct tally {
	struct samples samples[N_KINDS];
	struct found found[N_PLACES];
	uint64_t ns;           /* of all phases */
	uint64_t false_alarms; /* bad responses to transactions without a corrupted block */
	uint64_t wrong;        /* good responses with blocks or signatures that are wrong */
	uint64_t opened, done, stops, cancelled; /* as in struct gantry_stats */
};

struct sig {
	const struct options *opt;
	const struct file_set *set;
	struct sig_ends *ends;
	struct damage_plan plan[N_PLACES];
	struct sig_result *result; /* of each request of a phase */
	uint8_t *disk;             /* what must be on the target's disk: the round's right blocks */
	struct tally tally[GANTRY_TXN_WAIT + 1]; /* by enum gantry_txn_mode */
	/* The next byte to read. */
	size_t file;
	uint64_t offset;
	uint64_t bytes;    /* of files, read so far */
	uint64_t n_blocks; /* read so far */
	uint64_t n_keys;   /* that blocks were encrypted with */
	/* How far it is. */
	uint64_t bytes_done; /* of files, in rounds that have ended */
	size_t files_done;
	uint32_t phases_done;         /* of the present round */
	uint64_t corrupted[N_PLACES]; /* of them */
};

static int
check_encrypt(const struct options *o)
{
	if (o->encrypt == ENCRYPT_DATA && o->guard != GANTRY_SIG_NONE &&
		o->wire != GANTRY_SIG_NONE) {
		error_print(
			"--encrypt data: if the disk has signatures, which are over the ciphertext, the "
			"wire has none: use --wire none, --guard none or --encrypt all");
		return -1;
	}
	if (o->encrypt == ENCRYPT_ALL && o->block_size + sig_len(o->guard) != 520) {
		error_print(
			"--encrypt all: a block with its signature is a data unit, which cannot have %u "
			"bytes, but 520: use --block 512 and --guard crc64, crc or csum",
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
			"--guard none, --wire none: nothing would be checked: give one of them a "
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

/* ------------------------------------------------------------------ files */

/* Reads the rest of the present file, or what there is room for. Bytes, or -1. */
static int64_t
read_file(struct sig *s, uint8_t *to, size_t room)
{
	const struct file *f = &s->set->file[s->file];
	int fd = open(f->input, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : 1;
	size_t len = 0;

	while (n > 0 && len < room) {
		n = pread(fd, to + len, room - len, s->offset + len);
		if (n > 0)
			len += n;
	}
	if (n < 0)
		error_print("cannot read %s: %s", quote_name(f->input), strerror(errno));
	if (fd >= 0)
		close(fd);
	s->offset += len;
	if (n == 0) {
		s->file++;
		s->offset = 0;
	}
	return n < 0 ? -1 : (int64_t)len;
}

/* Fills the source with the next blocks. The end of a file's last block is zeros. Blocks, or -1. */
static int64_t
read_round(struct sig *s)
{
	uint8_t *source = ends_source(s->ends);
	size_t at = 0, end;
	int64_t len;

	while (s->file < s->set->n && at < SIG_ROUND_LEN) {
		len = read_file(s, source + at, SIG_ROUND_LEN - at);
		if (len < 0)
			return -1;
		s->bytes += len;
		end = RTE_ALIGN_CEIL(at + len, s->opt->block_size);
		memset(source + at + len, 0, end - at - len);
		at = end;
	}
	return at / s->opt->block_size;
}

/* Gives the blocks the signatures that the wire has, from the last block to the first, as they move up. */
static void
sign_round(const struct sig *s, uint32_t n_blocks)
{
	uint32_t len = s->opt->block_size;
	uint8_t *source = ends_source(s->ends), *to;

	for (uint32_t i = n_blocks; i-- > 0;) {
		to = source + (size_t)i * s->plan[WIRE].len;
		memmove(to, source + (size_t)i * len, len);
		sig_write(s->opt->wire, to, len, s->n_blocks + i, to + len);
	}
}

/* Computes what must be on the target's disk when the source's blocks are stored. -1: the error is printed. */
static int
expect_disk(struct sig *s, const struct sig_phase *p)
{
	const uint32_t data_len = s->opt->block_size, len = s->plan[DISK].len;
	const uint8_t *source = ends_source(s->ends);
	uint8_t *block;

	for (uint32_t i = 0; i < p->n_blocks; i++)
		memcpy(s->disk + (size_t)i * len, source + (size_t)i * s->plan[WIRE].len, data_len);
	if (s->opt->encrypt == ENCRYPT_DATA && xts_encrypt(p->key->bytes, p->first_block, s->disk,
						       p->n_blocks, data_len, len) != 0)
		return -1;
	for (uint32_t i = 0; i < p->n_blocks; i++) {
		block = s->disk + (size_t)i * len;
		sig_write(s->opt->guard, block, data_len, p->first_block + i, block + data_len);
	}
	return s->opt->encrypt != ENCRYPT_ALL
		       ? 0
		       : xts_encrypt(p->key->bytes, p->first_block, s->disk, p->n_blocks, len, len);
}

/* Where the blocks of a phase arrive, and what must arrive there. */
struct arrival {
	uint8_t *blocks;
	const uint8_t *expected;
	uint32_t len; /* bytes of a block with its signature */
};

static struct arrival
arrival_of(const struct sig *s, bool store)
{
	if (store)
		return (struct arrival){ends_disk(s->ends), s->disk, s->plan[DISK].len};
	return (struct arrival){ends_fetched(s->ends), ends_source(s->ends), s->plan[WIRE].len};
}

/* Makes each block that is to arrive differ from what is expected, so that earlier bytes hide nothing. */
static void
poison(const struct sig *s, const struct sig_phase *p)
{
	const struct arrival a = arrival_of(s, p->store);
	const uint32_t last = s->opt->block_size - 1;
	size_t at;

	for (uint32_t i = 0; i < p->n_blocks; i++) {
		at = (size_t)i * a.len;
		a.blocks[at] = ~a.expected[at];
		a.blocks[at + last] = ~a.expected[at + last];
	}
}

/* ------------------------------------------------------------------ the judge */

static int
add_sample(struct samples *samples, uint64_t ns)
{
	uint64_t *grown;

	if (samples->n == samples->capacity) {
		samples->capacity = samples->capacity != 0 ? 2 * samples->capacity : 4096;
		grown = realloc(samples->ns, samples->capacity * sizeof(*grown));
		if (grown == NULL) {
			error_print("out of memory for latencies");
			return -1;
		}
		samples->ns = grown;
	}
	samples->ns[samples->n++] = ns;
	return 0;
}

static bool
has_damage(const struct damage_plan *plan, uint32_t first, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (damage_has(plan, first + i))
			return true;
	return false;
}

/* The target's completion says what the response says, and names a block that is corrupted. */
static bool
names_damage(const struct damage_plan *plan, const struct sig_phase *p, const struct sig_result *r,
	uint32_t first, uint32_t n)
{
	return r->status == GANTRY_SIG_ERROR && r->error.part != 0 &&
	       r->error.on_wire == p->store && r->error.block < n &&
	       damage_has(plan, first + r->error.block);
}

/* n blocks that arrived, the first of which is number `at` of the phase, are what is expected. */
static bool
are_right(const struct sig *s, const struct sig_phase *p, uint32_t at, uint32_t n)
{
	const struct arrival a = arrival_of(s, p->store);
	const size_t begin = (size_t)at * a.len;

	return memcmp(a.blocks + begin, a.expected + begin, (size_t)n * a.len) == 0;
}

/* Judges request number i. */
static void
judge(const struct sig *s, struct tally *t, const struct sig_phase *p,
	const struct damage_plan *plan, uint32_t i)
{
	const uint32_t per_request = s->opt->chunk_len / s->opt->block_size;
	const uint32_t at = i * per_request, n = RTE_MIN(per_request, p->n_blocks - at);
	const struct sig_result *r = &p->result[i];
	struct found *found = &t->found[p->store ? WIRE : DISK];

	if (has_damage(plan, p->first_block + at, n)) {
		found->corrupted++;
		if (!r->good && names_damage(plan, p, r, p->first_block + at, n))
			found->detected++;
		else
			found->missed++;
	} else if (!r->good || r->status != GANTRY_OK)
		t->false_alarms++;
	else if (!are_right(s, p, at, n))
		t->wrong++;
}

/* ------------------------------------------------------------------ rounds */

/* A round's phases: blocks are stored and fetched, and, with signatures on the wire, stored with corruptions before. */
static uint32_t
phases_of_round(const struct sig *s)
{
	uint32_t modes = 0;

	for (int m = GANTRY_TXN_PIPELINED; m <= GANTRY_TXN_WAIT; m++)
		modes += ends_have(s->ends, m);
	return modes * (s->opt->wire != GANTRY_SIG_NONE ? 3 : 2);
}

/* Bytes of files, of the present round by the share of its phases that are done. share: of the present phase. */
static uint64_t
bytes_done(const struct sig *s, double share)
{
	return s->bytes_done +
	       (s->bytes - s->bytes_done) * ((s->phases_done + share) / phases_of_round(s));
}

/* Shows how far it is until the phase is done. */
static void
show_progress(const struct sig *s, const struct sig_phase *p)
{
	uint32_t answered;

	while (ends_busy(s->ends, &answered)) {
		progress_show(&(struct progress){
			.verb = "stored and fetched",
			.bytes_moved = bytes_done(s, (double)answered / p->n_requests),
			.bytes_total = s->set->bytes,
			.files_verified = s->files_done,
			.files_total = s->set->n,
		});
		usleep(JOB_LOOK_MS * 1000);
	}
}

/* Stores or fetches the blocks of the round, and judges the answers. The plan has corrupted what the device reads. */
static int
do_phase(struct sig *s, struct sig_phase *p, bool store, const struct damage_plan *plan)
{
	struct tally *t = &s->tally[p->mode];
	const enum kind good = store ? STORE_GOOD : FETCH_GOOD, bad = good + 1;
	struct gantry_stats before, now;
	int rc = 0;

	p->store = store;
	poison(s, p);
	ends_stats(s->ends, &before);
	ends_begin(s->ends, p);
	if (!store && p->key != NULL)
		rc = keys_renew(s->ends);
	show_progress(s, p);
	if (ends_end(s->ends) != 0)
		rc = -1;
	ends_stats(s->ends, &now);
	t->ns += p->ns;
	t->opened += now.txn_opened - before.txn_opened;
	t->done += now.txn_done - before.txn_done;
	t->stops += now.txn_stops - before.txn_stops;
	t->cancelled += now.txn_cancelled - before.txn_cancelled;
	for (uint32_t i = 0; i < p->n_requests && rc == 0; i++) {
		judge(s, t, p, plan, i);
		rc = add_sample(&t->samples[p->result[i].good ? good : bad], p->result[i].ns);
	}
	s->phases_done += rc == 0;
	return rc;
}

/* Stores, corrupts and fetches the blocks of the round. */
static int
do_mode(struct sig *s, struct sig_phase *p)
{
	static const struct damage_plan nothing;
	uint8_t *source = ends_source(s->ends);
	int rc;

	if (s->opt->encrypt != ENCRYPT_NONE) {
		p->key = keys_take(s->ends);
		s->n_keys++;
	}
	rc = expect_disk(s, p);
	if (rc == 0 && s->opt->wire != GANTRY_SIG_NONE) {
		damage_apply(&s->plan[WIRE], p->first_block, p->n_blocks, source);
		rc = do_phase(s, p, true, &s->plan[WIRE]);
		damage_apply(&s->plan[WIRE], p->first_block, p->n_blocks, source);
	}
	if (rc != 0 || do_phase(s, p, true, &nothing) != 0)
		return -1;
	damage_apply(&s->plan[DISK], p->first_block, p->n_blocks, ends_disk(s->ends));
	return do_phase(s, p, false, &s->plan[DISK]);
}

static int
do_round(struct sig *s, uint32_t n_blocks)
{
	struct sig_phase phase = {
		.n_blocks = n_blocks,
		.first_block = s->n_blocks,
		.result = s->result,
	};

	sign_round(s, n_blocks);
	for (phase.mode = GANTRY_TXN_PIPELINED; phase.mode <= GANTRY_TXN_WAIT; phase.mode++)
		if (ends_have(s->ends, phase.mode) && do_mode(s, &phase) != 0)
			return -1;
	for (uint32_t i = 0; i < n_blocks; i++, s->n_blocks++)
		for (int place = 0; place < N_PLACES; place++)
			s->corrupted[place] += damage_has(&s->plan[place], s->n_blocks);
	s->phases_done = 0;
	s->bytes_done = s->bytes;
	s->files_done = s->file;
	return 0;
}

/* Only the last round is not full: the first block of each is a multiple of a full one. */
static int
do_rounds(struct sig *s)
{
	int64_t n;

	while ((n = read_round(s)) > 0)
		if (do_round(s, n) != 0)
			return -1;
	return n;
}

/* ------------------------------------------------------------------ the table */

static int
by_ns(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void
print_counts(const struct sig *s, const char *name, size_t offset)
{
	printf("  %-34s", name);
	for (int m = GANTRY_TXN_PIPELINED; m <= GANTRY_TXN_WAIT; m++)
		printf(" %14" PRIu64, *(const uint64_t *)((const char *)&s->tally[m] + offset));
	putchar('\n');
}

static void
print_latencies(const struct sig *s, enum kind kind, const char *name)
{
	static const struct {
		const char *name;
		unsigned int percent;
	} rows[] = {{"median, us", 50}, {"99 %, us", 99}};
	const struct samples *samples;

	print_counts(s, name, offsetof(struct tally, samples[kind].n));
	for (size_t i = 0; i < RTE_DIM(rows); i++) {
		printf("    %-32s", rows[i].name);
		for (int m = GANTRY_TXN_PIPELINED; m <= GANTRY_TXN_WAIT; m++) {
			samples = &s->tally[m].samples[kind];
			if (samples->n == 0)
				printf(" %14s", "-");
			else
				printf(" %14.1f",
					samples->ns[samples->n * rows[i].percent / 100] / 1e3);
		}
		putchar('\n');
	}
}

static void
print_found(const struct sig *s, enum place place, const char *name)
{
	size_t at = offsetof(struct tally, found) + place * sizeof(struct found);
	char row[3][40];

	snprintf(row[0], sizeof(row[0]), "corrupted %s", name);
	snprintf(row[1], sizeof(row[1]), "  detected %s", name);
	snprintf(row[2], sizeof(row[2]), "  missed %s", name);
	print_counts(s, row[0], at + offsetof(struct found, corrupted));
	print_counts(s, row[1], at + offsetof(struct found, detected));
	print_counts(s, row[2], at + offsetof(struct found, missed));
}

static void
print_rates(const struct sig *s)
{
	const struct tally *t;
	uint64_t n;

	printf("  %-34s", "transactions a second");
	for (int m = GANTRY_TXN_PIPELINED; m <= GANTRY_TXN_WAIT; m++) {
		t = &s->tally[m];
		n = 0;
		for (int kind = 0; kind < N_KINDS; kind++)
			n += t->samples[kind].n;
		printf(" %14.0f", t->ns != 0 ? n * 1e9 / t->ns : 0);
	}
	putchar('\n');
}

static void
print_table(struct sig *s)
{
	for (int m = GANTRY_TXN_PIPELINED; m <= GANTRY_TXN_WAIT; m++)
		for (int kind = 0; kind < N_KINDS; kind++)
			if (s->tally[m].samples[kind].n != 0)
				qsort(s->tally[m].samples[kind].ns, s->tally[m].samples[kind].n,
					sizeof(uint64_t), by_ns);
	printf("%" PRIu64 " blocks of %u bytes; on the disk: %s, %" PRIu64
	       " corrupted; on the wire: %s, %" PRIu64 " corrupted (seed %u)\n"
	       "up to %" PRIu64 " blocks in a transaction, %u transactions in flight\n",
		s->n_blocks, s->opt->block_size, options_kind_name(s->opt->guard),
		s->corrupted[DISK], options_kind_name(s->opt->wire), s->corrupted[WIRE],
		s->opt->seed, s->opt->chunk_len / s->opt->block_size, s->opt->depth);
	if (s->opt->encrypt != ENCRYPT_NONE)
		printf("encrypted on the disk by AES-256-XTS: %s; keys, one after the other: %" PRIu64
		       "\n",
			s->opt->encrypt == ENCRYPT_DATA ? "data" : "data with their signatures",
			s->n_keys);
	printf("  %-34s %14s %14s\n", "", "pipelined", "waiting");
	print_latencies(s, STORE_GOOD, "stored, good response");
	print_latencies(s, STORE_BAD, "stored, bad response");
	print_latencies(s, FETCH_GOOD, "fetched, good response");
	print_latencies(s, FETCH_BAD, "fetched, bad response");
	print_rates(s);
	print_counts(s, "transactions opened", offsetof(struct tally, opened));
	print_counts(s, "  done", offsetof(struct tally, done));
	print_counts(s, "stops of the send queue", offsetof(struct tally, stops));
	print_counts(s, "good responses cancelled", offsetof(struct tally, cancelled));
	print_found(s, DISK, "on the disk");
	print_found(s, WIRE, "on the wire");
	print_counts(s, "false alarms", offsetof(struct tally, false_alarms));
	print_counts(s, "good response, wrong bytes", offsetof(struct tally, wrong));
}

/* stopped: by a signal. 0, or -1 with the error printed. */
static int
conclude(const struct sig *s, bool stopped)
{
	bool have_pipelining = ends_have(s->ends, GANTRY_TXN_PIPELINED);
	uint64_t corrupted = 0, missed = 0, false_alarms = 0, wrong = 0;

	for (int m = GANTRY_TXN_PIPELINED; m <= GANTRY_TXN_WAIT; m++) {
		corrupted += s->tally[m].found[DISK].corrupted + s->tally[m].found[WIRE].corrupted;
		missed += s->tally[m].found[DISK].missed + s->tally[m].found[WIRE].missed;
		false_alarms += s->tally[m].false_alarms;
		wrong += s->tally[m].wrong;
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
	if (s->n_blocks == 0) {
		printf("nothing was stored: the files are empty");
		files_end_line(s->set);
		return 0;
	}
	printf("%zu file%s, %.1f MB, stored and fetched %s: %s, and no alarm was false", s->set->n,
		s->set->n == 1 ? "" : "s", s->bytes / 1e6, have_pipelining ? "twice" : "once",
		corrupted != 0 ? "every corruption was detected, every other byte is equal"
			       : "no block was corrupted, every byte is equal");
	files_end_line(s->set);
	if (s->opt->encrypt != ENCRYPT_NONE)
		printf("each block on the disk had the ciphertext that OpenSSL computes\n");
	return 0;
}

static struct damage_plan
plan_of(const struct options *o, enum gantry_sig_kind kind, uint64_t seed)
{
	return (struct damage_plan){
		.seed = seed,
		.percent = kind != GANTRY_SIG_NONE ? o->corrupt : 0,
		.len = o->block_size + sig_len(kind),
		.sig_len = sig_len(kind),
		.burst = kind == GANTRY_SIG_T10DIF_CSUM ? 1 : 16,
	};
}

int
sig_run(const struct options *o, const struct file_set *set)
{
	struct sig s = {
		.opt = o,
		.set = set,
		.plan = {[DISK] = plan_of(o, o->guard, o->seed),
			/* --seed has 32 bits: this is none that it could name. */
			[WIRE] = plan_of(o, o->wire, o->seed + (UINT64_C(1) << 32))},
		.result = calloc(SIG_ROUND_LEN / o->block_size, sizeof(*s.result)),
		.disk = malloc((size_t)SIG_ROUND_LEN / o->block_size *
			       (o->block_size + sig_len(o->guard))),
	};
	uint64_t done = 0;
	bool stopped;
	int rc = -1;

	if (s.result == NULL || s.disk == NULL) {
		error_print("out of memory");
		goto out;
	}
	if (ends_open(o, &s.ends) != 0)
		goto out;
	ends_say(s.ends);
	rc = do_rounds(&s);
	progress_end();
	stopped = rc != 0 && stop_signal != 0;
	if (stopped) {
		done = bytes_done(&s, 0);
		job_say_stopping();
	}
	if (rc == 0 || (stopped && s.bytes != 0)) {
		print_table(&s);
		rc = conclude(&s, stopped);
	}
	fflush(stdout);
	if (ends_close(s.ends) != 0)
		rc = -1;
	if (stopped)
		rc = job_say_stopped("%.1f of %.1f MB were stored, fetched and compared",
			done / 1e6, set->bytes / 1e6);
out:
	for (int m = GANTRY_TXN_PIPELINED; m <= GANTRY_TXN_WAIT; m++)
		for (int kind = 0; kind < N_KINDS; kind++)
			free(s.tally[m].samples[kind].ns);
	free(s.disk);
	free(s.result);
	return rc;
}
