/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Guards and tags of transactions. Every kind of signature with every block size is generated,
 * checked, removed, passed on and converted. This is done in both directions, with signatures
 * between the blocks and in their own buffer. Each single wrong bit must be reported if the profile
 * checks this bit, and must not be reported otherwise. The test computes the right bytes itself
 * (txn/reference.h).
 */
#include <errno.h>

#include <rte_cycles.h>
#include <rte_eal.h>

#include "gantry_env.h"
#include "txn/model.h"

#define N_JOBS   32
#define MAX_DATA (4 * 4160)
#define AREA_LEN (2 * 4 * 4160)

static const uint32_t blocks[] = {512, 520, 4048, 4096, 4160};

/* A transaction with its memory. */
struct job {
	struct gantry_txn txn;
	struct gantry_sge data;
	struct gantry_txn_part part[4];
	struct model model;
	uint64_t data_len;
	uint8_t *local,
		*remote; /* AREA_LEN bytes each; separate signatures are in the second half */
	uint8_t in[AREA_LEN], out[AREA_LEN];
};

static struct gantry *g;
static struct gantry_queue *q;
static struct gantry_mem *mem;
static uint16_t peer_a, peer_b; /* peer_a takes transactions */
static uint16_t peer;           /* peer to which the jobs go */
static struct job jobs[N_JOBS];
static unsigned int n_jobs;

/* Checks a completed job. */
typedef void judge_fn(struct job *j, enum gantry_status status);

/* ------------------------------------------------------------------ jobs */

static bool
is_dif(enum gantry_sig_kind kind)
{
	return kind == GANTRY_SIG_T10DIF_CRC || kind == GANTRY_SIG_T10DIF_CSUM;
}

static uint8_t *
pi_of(struct job *j)
{
	return j->local + AREA_LEN / 2;
}

/*
 * Copies the bytes of memory's domain to `to`. They are in one buffer, or in a data buffer and a
 * signature buffer.
 */
static void
gather(struct job *j, uint8_t *to)
{
	const struct ref_sig *sig = &j->model.mem;
	uint32_t len = ref_len(sig->kind);
	uint64_t i;

	if (j->txn.pi.len == 0) {
		memcpy(to, j->local, model_len(sig, j->data_len));
		return;
	}
	for (i = 0; i < j->data_len / sig->block; i++) {
		memcpy(to + i * (sig->block + len), j->local + i * sig->block, sig->block);
		memcpy(to + i * (sig->block + len) + sig->block, pi_of(j) + i * len, len);
	}
}

static void
scatter(struct job *j, const uint8_t *from)
{
	const struct ref_sig *sig = &j->model.mem;
	uint32_t len = ref_len(sig->kind);
	uint64_t i;

	if (j->txn.pi.len == 0) {
		memcpy(j->local, from, model_len(sig, j->data_len));
		return;
	}
	for (i = 0; i < j->data_len / sig->block; i++) {
		memcpy(j->local + i * sig->block, from + i * (sig->block + len), sig->block);
		memcpy(pi_of(j) + i * len, from + i * (sig->block + len) + sig->block, len);
	}
}

/* Draws tags for a domain. */
static struct gantry_txn_tags
tags(const struct gantry_sig_domain *d, uint32_t ref, uint16_t app, bool ones)
{
	if (d->kind == GANTRY_SIG_NONE)
		return (struct gantry_txn_tags){0};
	if (!is_dif(d->kind))
		return (struct gantry_txn_tags){.seed_ones = ones};
	return (struct gantry_txn_tags){.ref_tag = ref, .app_tag = app, .seed_ones = ones};
}

/*
 * Returns a job whose data length is `n` steps of the profile. Its incoming bytes are correct; `in`
 * has a copy of these bytes.
 */
static struct job *
job_begin(const struct gantry_profile_conf *conf, uint16_t profile, enum gantry_op op, uint32_t n,
	bool own_pi, unsigned int parts)
{
	static uint8_t plain[MAX_DATA];
	struct job *j = &jobs[n_jobs++];
	unsigned int i;

	CHECK(n_jobs <= N_JOBS);
	j->data_len = (uint64_t)n * model_step(conf);
	CHECK(j->data_len <= MAX_DATA);
	j->txn = (struct gantry_txn){.profile = profile,
		.op = op,
		.n_data = 1,
		.data = &j->data,
		.n_parts = parts,
		.part = parts != 0 ? j->part : NULL,
		.mem = tags(&conf->mem, 0xfffffffe, 0x1234, n % 2),
		.wire = tags(&conf->wire, 0xfffffffe, 0x1234, n % 2)};
	model_init(&j->model, conf, &j->txn);
	j->data = (struct gantry_sge){(uintptr_t)j->local,
		own_pi ? j->data_len : model_len(&j->model.mem, j->data_len)};
	if (own_pi)
		j->txn.pi = (struct gantry_sge){(uintptr_t)pi_of(j),
			j->data_len / j->model.mem.block * ref_len(j->model.mem.kind)};
	for (i = 0; i < parts; i++) {
		uint64_t len = model_len(&j->model.wire, j->data_len / parts);

		j->part[i] = (struct gantry_txn_part){.addr = (uintptr_t)j->remote + i * len,
			.len = len,
			.remote_key = peer == GANTRY_PEER_OWN ? 0 : gantry_mem_remote_key(mem)};
	}
	env_fill(plain, j->data_len, (uintptr_t)j ^ n_jobs);
	model_lay(model_in(&j->model), plain, j->data_len, j->in);
	return j;
}

/* Gives the two domains different tags. */
static void
job_retag(struct job *j, const struct gantry_profile_conf *conf)
{
	uint8_t plain[MAX_DATA];
	uint64_t i;

	j->txn.wire = tags(&conf->wire, 7, 0xabcd, !j->txn.wire.seed_ones);
	for (i = 0; i < j->data_len / model_in(&j->model)->block; i++)
		memcpy(plain + i * model_in(&j->model)->block,
			j->in + i * ref_unit(model_in(&j->model)), model_in(&j->model)->block);
	model_init(&j->model, conf, &j->txn);
	model_lay(model_in(&j->model), plain, j->data_len, j->in);
}

/* Executes all jobs, and calls judge() for each job. */
static void
jobs_run(judge_fn *judge)
{
	struct gantry_desc desc[N_JOBS];
	struct gantry_comp comp[N_JOBS];
	unsigned int i;

	for (i = 0; i < n_jobs; i++) {
		struct job *j = &jobs[i];

		memset(j->local, ENV_UNTOUCHED, AREA_LEN);
		memset(j->remote, ENV_UNTOUCHED, AREA_LEN);
		if (j->model.reads)
			memcpy(j->remote, j->in, model_len(&j->model.wire, j->data_len));
		else
			scatter(j, j->in);
		desc[i] = (struct gantry_desc){.op = GANTRY_OP_TXN,
			.peer = peer,
			.cookie = i,
			.src = (uintptr_t)&j->txn,
			.len = j->data_len};
	}
	env_do(q, desc, comp, n_jobs);
	for (i = 0; i < n_jobs; i++) {
		CHECK_EQ(comp[i].cookie, i);
		judge(&jobs[i], comp[i].status);
	}
	n_jobs = 0;
}

static void
show(const struct job *j)
{
	fprintf(stderr,
		"%s, memory: kind %d, blocks of %u; wire: kind %d, blocks of %u; %llu bytes, %u parts%s\n",
		j->model.reads ? "READ" : "WRITE", j->model.mem.kind, j->model.mem.block,
		j->model.wire.kind, j->model.wire.block, (unsigned long long)j->data_len,
		j->txn.n_parts, j->txn.pi.len != 0 ? ", signatures apart" : "");
}

/* Checks that the status, the details and the bytes are those of the model. */
static void
judge(struct job *j, enum gantry_status status)
{
	const struct gantry_sig_error want = model_run(&j->model, j->in, j->data_len, j->out);
	const struct gantry_sig_error *got = &j->txn.error;
	static uint8_t found[AREA_LEN];

	if (status != (want.part != 0 ? GANTRY_SIG_ERROR : GANTRY_OK) || got->part != want.part ||
		got->on_wire != want.on_wire || got->block != want.block ||
		got->expected != want.expected || got->actual != want.actual) {
		show(j);
		CHECK(false,
			"%s, part %u on %s in block %u, expected 0x%llx, actual 0x%llx; it must be part %u "
			"on %s in block %u, expected 0x%llx, actual 0x%llx",
			gantry_status_name(status), got->part, got->on_wire ? "wire" : "memory",
			got->block, (unsigned long long)got->expected,
			(unsigned long long)got->actual, want.part,
			want.on_wire ? "wire" : "memory", want.block,
			(unsigned long long)want.expected, (unsigned long long)want.actual);
	}
	if (j->txn.n_parts == 0)
		return;
	if (j->model.reads) {
		gather(j, found);
	} else {
		memcpy(found, j->remote, model_len(&j->model.wire, j->data_len));
		CHECK_EQ(j->remote[model_len(&j->model.wire, j->data_len)], ENV_UNTOUCHED);
	}
	if (memcmp(found, j->out, model_len(model_out(&j->model), j->data_len)) != 0) {
		uint32_t i = 0;

		while (found[i] == j->out[i])
			i++;
		show(j);
		CHECK(false, "byte %u is 0x%02x, not 0x%02x", i, found[i], j->out[i]);
	}
}

/* ------------------------------------------------------------------ profiles */

/* True if the device supports such signatures. */
static bool
has(enum gantry_sig_kind kind)
{
	struct gantry_info info;

	gantry_info_get(g, &info);
	return kind == GANTRY_SIG_NONE || (info.sig_kinds >> kind & 1) != 0;
}

static struct gantry_sig_domain
domain(enum gantry_sig_kind kind, uint32_t block)
{
	return (struct gantry_sig_domain){.kind = kind,
		.block_size = kind != GANTRY_SIG_NONE ? block : 0,
		.flags = is_dif(kind) ? GANTRY_SIG_REF_REMAP : 0};
}

static uint16_t
profile(const struct gantry_profile_conf *conf)
{
	uint16_t id = 0;

	CHECK_EQ(gantry_profile_create(g, conf, &id), 0);
	CHECK(id != 0);
	return id;
}

/* ------------------------------------------------------------------ all kinds, all sizes */

/*
 * Transfers in both directions, in one part and in several, with signatures between the blocks and
 * in a buffer of their own.
 */
static void
pass(const struct gantry_profile_conf *conf)
{
	uint16_t id = profile(conf);
	unsigned int reads, own_pi, n;

	for (reads = 0; reads < 2; reads++)
		for (own_pi = 0; own_pi < (conf->mem.kind != GANTRY_SIG_NONE ? 2 : 1); own_pi++)
			for (n = 1; n <= 4 && n * model_step(conf) <= MAX_DATA; n++) {
				const enum gantry_op op = reads ? GANTRY_OP_READ : GANTRY_OP_WRITE;

				job_begin(conf, id, op, n, own_pi, 1 + (n == 4));
				job_retag(job_begin(conf, id, op, n, own_pi, 1), conf);
			}
	jobs_run(judge);
	CHECK_EQ(gantry_profile_destroy(g, id), 0);
}

static void
all_kinds(void)
{
	struct gantry_profile_conf conf = {.check = GANTRY_SIG_ALL};
	unsigned int a, b, i;

	for (i = 0; i < RTE_DIM(blocks); i++)
		for (a = 0; a < GANTRY_SIG_KIND_MAX; a++)
			for (b = a == 0; b < GANTRY_SIG_KIND_MAX; b++) {
				if (!has(a) || !has(b))
					continue;
				conf.mem = domain(a, blocks[i]);
				conf.wire = domain(b, blocks[i]);
				pass(&conf);
			}
}

static void
every_kind_and_size_goes_through_in_this_process(void)
{
	peer = GANTRY_PEER_OWN;
	all_kinds();
}

static void
every_kind_and_size_goes_through_to_a_peer(void)
{
	peer = peer_a;
	all_kinds();
}

/*
 * The two domains have blocks of different sizes: status, details and bytes must be those of the
 * model.
 */
static void
block_sizes_differ_between_the_domains(void)
{
	static const uint16_t sizes[][2] = {{512, 4096}, {4096, 512}, {520, 4160}, {4160, 520}};
	struct gantry_profile_conf conf = {.check = GANTRY_SIG_ALL};
	unsigned int i, a;

	for (peer = GANTRY_PEER_OWN, i = 0; i < RTE_DIM(sizes); i++)
		for (a = 1; a < GANTRY_SIG_KIND_MAX; a++) {
			unsigned int b = 1 + (a + i) % (GANTRY_SIG_KIND_MAX - 1);

			if (!has(a) || !has(b))
				continue;
			conf.mem = domain(a, sizes[i][0]);
			conf.wire = domain(b, sizes[i][1]);
			pass(&conf);
		}
}

/* ------------------------------------------------------------------ single bits */

/*
 * Returns the part of a signature that is wrong if a bit in this byte of a unit (block and
 * signature) is wrong.
 */
static unsigned int
part_of(enum gantry_sig_kind kind, uint32_t block, uint32_t byte)
{
	if (byte < block + 2 || !is_dif(kind))
		return GANTRY_SIG_GUARD;
	return byte < block + 4 ? GANTRY_SIG_APP_TAG : GANTRY_SIG_REF_TAG;
}

static unsigned int flips;

static void
flip(const struct gantry_profile_conf *conf, uint16_t id, bool reads, uint32_t bit)
{
	const struct gantry_sig_domain *in = reads ? &conf->wire : &conf->mem;
	struct job *j =
		job_begin(conf, id, reads ? GANTRY_OP_READ : GANTRY_OP_WRITE, 2, false, reads);
	const uint32_t unit = ref_unit(model_in(&j->model));
	struct gantry_sig_error error;

	j->in[unit + bit / 8] ^= 1u << bit % 8;
	/* Checks that the model finds the error that the standards promise. */
	error = model_run(&j->model, j->in, j->data_len, j->out);
	CHECK_EQ(error.part, part_of(in->kind, in->block_size, bit / 8) & conf->check);
	CHECK_EQ(error.block, error.part != 0);
	flips++;
	if (n_jobs == N_JOBS)
		jobs_run(judge);
}

/*
 * Flips single bits, one in each job: every `stride`-th bit of a block's data, and all bits of its
 * signature.
 */
static void
flip_all(struct gantry_profile_conf *conf, bool reads, uint32_t stride)
{
	const struct gantry_sig_domain *in = reads ? &conf->wire : &conf->mem;
	const uint32_t data = in->block_size * 8;
	uint32_t all = data +
		       (in->kind == GANTRY_SIG_CRC32 || in->kind == GANTRY_SIG_CRC32C ? 32 : 64),
		 bit;
	uint16_t id = profile(conf);

	for (bit = 0; bit < all; bit += bit + stride < data ? stride : bit < data ? data - bit : 1)
		flip(conf, id, reads, bit);
	if (n_jobs != 0)
		jobs_run(judge);
	CHECK_EQ(gantry_profile_destroy(g, id), 0);
}

/* With sanitizers fewer bits are tested, because the same code runs for all bits. */
#ifdef GANTRY_ALLOC_LIBC
#define STRIDE 97
#else
#define STRIDE 1
#endif

static void
each_wrong_bit_is_found(void)
{
	struct gantry_profile_conf conf;
	unsigned int kind, reads, i;

	peer = GANTRY_PEER_OWN;
	for (i = 0; i < RTE_DIM(blocks); i++)
		for (kind = 1; kind < GANTRY_SIG_KIND_MAX; kind++)
			for (reads = 0; has(kind) && reads < 2; reads++) {
				conf = (struct gantry_profile_conf){.check = GANTRY_SIG_ALL};
				*(reads ? &conf.wire : &conf.mem) = domain(kind, blocks[i]);
				flip_all(&conf, reads, i == 0 ? STRIDE : STRIDE * 151);
			}
}

static void
what_is_not_checked_is_not_found(void)
{
	struct gantry_profile_conf conf;
	unsigned int kind, reads, check;

	peer = GANTRY_PEER_OWN;
	for (check = 0; check <= GANTRY_SIG_ALL; check++)
		for (kind = 1; kind < GANTRY_SIG_KIND_MAX; kind++)
			for (reads = 0; has(kind) && reads < 2; reads++) {
				conf = (struct gantry_profile_conf){.check = check};
				*(reads ? &conf.wire : &conf.mem) = domain(kind, 512);
				flip_all(&conf, reads, 1021);
			}
}

/*
 * Both domains have signatures: an error in incoming bytes must be reported, and wrong bytes that
 * are passed on must stay wrong.
 */
static void
wrong_bits_are_passed_on_as_the_copy_mask_says(void)
{
	struct gantry_profile_conf conf;
	unsigned int copy, kind, reads;

	peer = GANTRY_PEER_OWN;
	for (copy = 0; copy <= GANTRY_SIG_ALL + 1; copy++)
		for (kind = 1; kind < GANTRY_SIG_KIND_MAX; kind++)
			for (reads = 0; has(kind) && reads < 2; reads++) {
				uint32_t bit;
				uint16_t id;

				conf = (struct
					gantry_profile_conf){.check = copy & GANTRY_SIG_ALL
									      ? 0
									      : GANTRY_SIG_ALL,
					.copy = copy & GANTRY_SIG_ALL,
					.copy_is_set = copy <= GANTRY_SIG_ALL};
				conf.mem = conf.wire = domain(kind, 512);
				id = profile(&conf);
				for (bit = 512 * 8 - 3; bit < 512 * 8 + 32; bit += 5) {
					struct job *j = job_begin(&conf, id,
						reads ? GANTRY_OP_READ : GANTRY_OP_WRITE, 2,
						kind % 2, 1);

					j->in[bit / 8] ^= 1u << bit % 8;
				}
				jobs_run(judge);
				CHECK_EQ(gantry_profile_destroy(g, id), 0);
			}
}

/* A CRC must find each burst of wrong bits that is not longer than the CRC. */
static void
bursts_are_found(void)
{
	struct gantry_profile_conf conf;
	unsigned int kind, n;
	uint64_t random = 1;

	peer = GANTRY_PEER_OWN;
	for (kind = 1; kind < GANTRY_SIG_KIND_MAX; kind++) {
		uint16_t id;

		if (kind == GANTRY_SIG_T10DIF_CSUM || !has(kind))
			continue;
		conf = (struct gantry_profile_conf){.check = GANTRY_SIG_ALL,
			.mem = domain(kind, 4096)};
		id = profile(&conf);
		for (n = 0; n < 4 * N_JOBS; n++) {
			struct job *j = job_begin(&conf, id, GANTRY_OP_WRITE, 2, n % 2, 0);
			uint64_t at = check_random(&random) % (4096 * 8 - 16);
			uint16_t burst = check_random(&random) | 1;
			unsigned int i;

			for (i = 0; i < 16; i++)
				j->in[(at + i) / 8] ^= (burst >> i & 1) << (at + i) % 8;
			CHECK_EQ(model_run(&j->model, j->in, j->data_len, j->out).part,
				GANTRY_SIG_GUARD);
			if (n_jobs == N_JOBS)
				jobs_run(judge);
		}
		CHECK_EQ(gantry_profile_destroy(g, id), 0);
	}
}

/* ------------------------------------------------------------------ escapes, tags, details */

/*
 * A block with an escape must not be checked, whatever is wrong in it. The blocks beside it must be
 * checked.
 */
static void
escape(uint32_t flags, uint16_t app, uint32_t ref, bool is_checked)
{
	struct gantry_profile_conf conf = {.check = GANTRY_SIG_ALL};
	unsigned int reads, wrong;
	uint16_t id;

	for (reads = 0; reads < 2; reads++) {
		conf.mem =
			reads ? (struct gantry_sig_domain){0} : domain(GANTRY_SIG_T10DIF_CRC, 512);
		conf.wire =
			reads ? domain(GANTRY_SIG_T10DIF_CRC, 512) : (struct gantry_sig_domain){0};
		(reads ? &conf.wire : &conf.mem)->flags |= flags;
		id = profile(&conf);
		for (wrong = 0; wrong < 3; wrong++) {
			struct job *j = job_begin(&conf, id,
				reads ? GANTRY_OP_READ : GANTRY_OP_WRITE, 3, false, 1);
			uint8_t *tags = j->in + 520 + 512 + 2;

			tags[0] = app >> 8;
			tags[1] = (uint8_t)app;
			tags[2] = ref >> 24;
			tags[3] = (uint8_t)(ref >> 16);
			tags[4] = (uint8_t)(ref >> 8);
			tags[5] = (uint8_t)ref;
			j->in[520 + wrong * 511 / 2] ^= 1; /* data, data, and the guard */
			CHECK_EQ(model_run(&j->model, j->in, j->data_len, j->out).part,
				is_checked ? GANTRY_SIG_GUARD : 0);
			job_begin(&conf, id, reads ? GANTRY_OP_READ : GANTRY_OP_WRITE, 3, false, 1)
				->in[wrong] ^= 1;
		}
		jobs_run(judge);
		CHECK_EQ(gantry_profile_destroy(g, id), 0);
	}
}

static void
escape_values_are_as_the_flags_say(void)
{
	peer = GANTRY_PEER_OWN;
	escape(0, 0xffff, UINT32_MAX, true);
	escape(GANTRY_SIG_APP_ESCAPE, 0xffff, 5, false);
	escape(GANTRY_SIG_APP_ESCAPE, 0xfffe, UINT32_MAX, true);
	escape(GANTRY_SIG_APP_REF_ESCAPE, 0xffff, UINT32_MAX, false);
	escape(GANTRY_SIG_APP_REF_ESCAPE, 0xffff, UINT32_MAX - 1, true);
	escape(GANTRY_SIG_APP_REF_ESCAPE, 0x7fff, UINT32_MAX, true);
}

/*
 * Transactions with several parts, on both connections: the first wrong block of the transaction
 * must be reported.
 */
static void
the_first_wrong_block_is_named(void)
{
	struct gantry_profile_conf conf = {.check = GANTRY_SIG_ALL};
	unsigned int reads, first, second, where;
	uint16_t id;

	for (where = 0; where < 2; where++)
		for (reads = 0; reads < 2; reads++) {
			peer = where == 0 ? GANTRY_PEER_OWN : peer_a;
			conf.mem = reads ? (struct gantry_sig_domain){0}
					 : domain(GANTRY_SIG_T10DIF_CSUM, 512);
			conf.wire = reads ? domain(GANTRY_SIG_T10DIF_CSUM, 512)
					  : (struct gantry_sig_domain){0};
			id = profile(&conf);
			for (first = 0; first < 4; first++)
				for (second = first; second < 4; second++) {
					struct job *j = job_begin(&conf, id,
						reads ? GANTRY_OP_READ : GANTRY_OP_WRITE, 4, false,
						4);

					/*
					 * If two blocks are wrong, the earlier block is reported.
					 */
					j->in[first * 520 + 519] ^= 1;
					j->in[second * 520 + (first == second ? 518 : 100)] ^= 1;
				}
			jobs_run(judge);
			CHECK_EQ(gantry_profile_destroy(g, id), 0);
		}
}

/*
 * Without REF_REMAP all blocks have one reference tag. Between equal domains, either both count or
 * neither does.
 */
static void
a_reference_tag_counts_only_if_the_profile_says_so(void)
{
	struct gantry_profile_conf conf = {.check = GANTRY_SIG_ALL};
	unsigned int counts, reads, parts, like;

	for (like = 0; like < 2; like++)
		for (counts = 0; counts < 4; counts++) {
			uint16_t id;

			peer = counts % 2 == 0 ? GANTRY_PEER_OWN : peer_a;
			conf.mem = domain(GANTRY_SIG_T10DIF_CRC, like ? 520 : 4160);
			conf.wire = domain(GANTRY_SIG_T10DIF_CSUM, 520);
			conf.mem.flags = counts & 1 ? GANTRY_SIG_REF_REMAP : 0;
			conf.wire.flags = counts & 2 ? GANTRY_SIG_REF_REMAP : 0;
			if (like && conf.mem.flags != conf.wire.flags) {
				CHECK_EQ(gantry_profile_create(g, &conf, &id), -EINVAL);
				continue;
			}
			id = profile(&conf);
			for (reads = 0; reads < 2; reads++)
				for (parts = 1; parts <= 4; parts *= 2)
					job_begin(&conf, id,
						reads ? GANTRY_OP_READ : GANTRY_OP_WRITE, 4, false,
						parts);
			jobs_run(judge);
			CHECK_EQ(gantry_profile_destroy(g, id), 0);
		}
}

int
main(int argc, char **argv)
{
	static const struct check_case cases[] = {
		{"every kind and size goes through in this process",
			every_kind_and_size_goes_through_in_this_process},
		{"every kind and size goes through to a peer",
			every_kind_and_size_goes_through_to_a_peer},
		{"block sizes differ between the domains", block_sizes_differ_between_the_domains},
		{"each wrong bit is found", each_wrong_bit_is_found},
		{"errors in unchecked bytes are not found", what_is_not_checked_is_not_found},
		{"wrong bits are passed on as the copy mask says",
			wrong_bits_are_passed_on_as_the_copy_mask_says},
		{"bursts of wrong bits are found", bursts_are_found},
		{"escape values work as the flags say", escape_values_are_as_the_flags_say},
		{"the first wrong block is named", the_first_wrong_block_is_named},
		{"a reference tag counts only if the profile says so",
			a_reference_tag_counts_only_if_the_profile_says_so},
	};
	const struct gantry_queue_conf conf = {.depth = 64, .transactions = 16};
	const struct gantry_peer_conf to = {.txn = GANTRY_TXN_WAIT};
	struct gantry_addr a, b;
	uint8_t *area;
	unsigned int i;

	env_init(0);
	CHECK_EQ(gantry_create(NULL, &g), 0);
	env_need(g, ENV_SIGNATURES);
	CHECK_EQ(gantry_queue_create(g, &conf, &q), 0);
	area = env_mem(g, RTE_ALIGN(N_JOBS * 2 * AREA_LEN, 4096), ENV_REMOTE, &mem);
	for (i = 0; i < N_JOBS; i++) {
		jobs[i].local = area + 2 * i * AREA_LEN;
		jobs[i].remote = jobs[i].local + AREA_LEN;
	}
	CHECK_EQ(gantry_peer_open(q, &to, &peer_a, &a), 0);
	CHECK_EQ(gantry_peer_open(q, NULL, &peer_b, &b), 0);
	CHECK_EQ(gantry_peer_connect(q, peer_a, &b), 0);
	CHECK_EQ(gantry_peer_connect(q, peer_b, &a), 0);
	env_run(cases, RTE_DIM(cases), argc, argv);
	printf("%u single bits\n", flips);
	CHECK_EQ(gantry_peer_close(q, peer_a), 0);
	CHECK_EQ(gantry_peer_close(q, peer_b), 0);
	env_queue_done(q);
	return env_done(g, &mem, 1);
}
