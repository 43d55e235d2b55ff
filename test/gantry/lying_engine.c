/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A library that is preloaded into testgantry, and makes the engine report a wrong result for one
 * descriptor. testgantry must notice this. LIE_AT is the number of the descriptor, counted over all
 * descriptors that are enqueued or dequeued, or over all transactions that are submitted.
 *
 *   LIE=skip    it is not executed, and completes with success
 *   LIE=short   its last byte is not moved
 *   LIE=long    one byte too many is moved
 *   LIE=wrong   its bytes come from one byte behind its source
 *   LIE=status  it completes with GANTRY_REMOTE_ACCESS
 *   LIE=order   it completes with the cookie of another descriptor
 *   LIE=lost    its completion never comes
 *   LIE=blind   no signature is checked
 *   LIE=alarm   the first reference tag that a transaction generates is wrong
 *   LIE=shift   a transaction's bytes come from one byte behind their place
 *   LIE=plain   a profile does not encrypt
 *   LIE=tweak   all transactions encrypt and decrypt with other tweaks than they should
 *   LIE=hole    the file system says that there are no data before byte LIE_AT
 *   LIE=full    every second call finds the rings full: this is allowed, and must do no harm
 *
 * LIE=none reports nothing wrong. With STORED=FILE, whatever LIE is, the file gets a line for each
 * DEK that is added, retired, or used by a transaction that reads: "add ID KEY", "retire ID",
 * "stored ID TWEAK BYTES". The line "stored" is written when the transaction has completed with
 * success. When the engine is destroyed, the program's memory is searched for each key; the file
 * gets a line "left ID COUNT". All fields except the IDs of DEKs are hexadecimal.
 *
 * With NOTED=FILE, whatever LIE is, the file gets a line for each region, each worker's queue, each
 * connection and each descriptor that is enqueued: "region LEN", "queue UNORDERED", "peer TRANSPORT
 * MAX_INLINE", "desc OP FLAGS ARG0"; and for each completion that is dequeued: "done COOKIE". A
 * connection has a second line, "end QUEUE", with the queue's number in the process. A descriptor
 * with a layout has a second line, "base ADDRESS".
 *
 * With WORKERS=FILE, whatever LIE is, the file gets a line for each worker that is created: "worker
 * DEPTH RING BURST IDLE"; and a line when the engine is destroyed: "most HANDED OUT OPEN SUM".
 * HANDED is the largest number of descriptors enqueued by one call, OUT the largest number in
 * flight, OPEN the largest number of transactions in flight, and SUM the number of all descriptors
 * enqueued.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gantry.h"

typedef unsigned int enqueue_fn(struct gantry_worker *, const struct gantry_desc *, unsigned int);
typedef int profile_fn(struct gantry *, const struct gantry_profile_conf *, uint16_t *);
typedef unsigned int submit_fn(struct gantry_queue *, const struct gantry_desc *, unsigned int);
typedef unsigned int poll_fn(struct gantry_queue *, struct gantry_comp *, unsigned int);
typedef int add_fn(struct gantry *, const struct gantry_dek_conf *, uint32_t *);
typedef int retire_fn(struct gantry *, uint32_t, uint32_t);
typedef int destroy_fn(struct gantry *);
typedef int create_fn(struct gantry *, unsigned int, const struct gantry_worker_conf *,
	struct gantry_worker **);
typedef int register_fn(struct gantry *, void *, size_t, unsigned int, struct gantry_mem **);
typedef int open_fn(struct gantry_queue *, const struct gantry_peer_conf *, uint16_t *,
	struct gantry_addr *);
typedef unsigned int dequeue_fn(struct gantry_worker *, struct gantry_comp *, unsigned int);

static const char *lie = "";
static uint64_t lie_at;
static FILE *stored;  /* file that STORED names; NULL if STORED is not set */
static FILE *workers; /* file that WORKERS names; NULL if WORKERS is not set */
static FILE *noted;   /* file that NOTED names; NULL if NOTED is not set */
static unsigned int most_handed, most_out, n_out, most_open, n_open, sum;
static pthread_mutex_t stored_lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void
read_environment(void)
{
	if (getenv("LIE") != NULL)
		lie = getenv("LIE");
	if (getenv("LIE_AT") != NULL)
		lie_at = strtoull(getenv("LIE_AT"), NULL, 10);
	if (getenv("STORED") != NULL)
		stored = fopen(getenv("STORED"), "w");
	if (getenv("WORKERS") != NULL)
		workers = fopen(getenv("WORKERS"), "w");
	if (getenv("NOTED") != NULL)
		noted = fopen(getenv("NOTED"), "w");
}

/* ------------------------------------------------------------------ lines of the files */

/* Writes a line that ends with no, one or two byte strings. */
static void
note(const char *what, uint32_t id, const void *a, uint64_t a_len, const void *b, uint64_t b_len)
{
	uint64_t i;

	if (stored == NULL)
		return;
	pthread_mutex_lock(&stored_lock);
	fprintf(stored, "%s %" PRIu32 " ", what, id);
	for (i = 0; i < a_len; i++)
		fprintf(stored, "%02x", ((const uint8_t *)a)[i]);
	fputc(' ', stored);
	for (i = 0; i < b_len; i++)
		fprintf(stored, "%02x", ((const uint8_t *)b)[i]);
	fputc('\n', stored);
	fflush(stored);
	pthread_mutex_unlock(&stored_lock);
}

/*
 * ------------------------------------------------------------------ keys that are still in memory
 */

/* DEKs' keys are stored XORed with MASK, so that the search does not find this copy. */
#define MASK     0xa5
#define MAX_KEYS 16
/* length of a search pattern: the first bytes of each of a DEK's two AES keys */
#define PIECE 16

static struct {
	uint32_t id;
	uint8_t masked[2][PIECE];
} added[MAX_KEYS];
static unsigned int n_added;

static void
remember(uint32_t id, const struct gantry_dek_conf *conf)
{
	const uint8_t *key = conf->key;

	if (n_added == MAX_KEYS)
		return;
	added[n_added].id = id;
	for (uint32_t i = 0; i < PIECE; i++) {
		added[n_added].masked[0][i] = key[i] ^ MASK;
		added[n_added].masked[1][i] = key[conf->len / 2 + i] ^ MASK;
	}
	n_added++;
}

static unsigned int
count(const uint8_t *bytes, size_t len, const uint8_t masked[PIECE])
{
	const uint8_t *at = bytes, *end = bytes + len;
	unsigned int found = 0, i;

	for (; (at = memchr(at, masked[0] ^ MASK, end - at)) != NULL; at++) {
		for (i = 0; i < PIECE && at + i < end && at[i] == (masked[i] ^ MASK); i++)
			;
		found += i == PIECE;
	}
	return found;
}

/*
 * Searches all writable memory of the program for the keys, except ASan's shadow memory, which is
 * terabytes long.
 */
static void
search(uint8_t left[MAX_KEYS])
{
	/* one block and PIECE - 1 bytes: a key may cross the end of a block */
	static uint8_t bytes[(1 << 20) + PIECE - 1];
	const size_t step = sizeof(bytes) - (PIECE - 1);
	FILE *maps = fopen("/proc/self/maps", "re");
	int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	unsigned long from, to;
	char line[512], rights[5];

	if (maps == NULL || mem < 0)
		abort();
	while (fgets(line, sizeof(line), maps) != NULL) {
		if (sscanf(line, "%lx-%lx %4s", &from, &to, rights) != 3 || rights[1] != 'w' ||
			to - from > 1ul << 36)
			continue;
		for (; from < to; from += step) {
			size_t len = to - from < sizeof(bytes) ? to - from : sizeof(bytes);
			ssize_t got = pread(mem, bytes, len, (off_t)from);

			for (unsigned int i = 0; got > 0 && i < n_added; i++)
				left[i] += count(bytes, got, added[i].masked[0]) +
					   count(bytes, got, added[i].masked[1]);
			memset(bytes, 0, sizeof(bytes)); /* the search also reads this buffer */
		}
	}
	fclose(maps);
	close(mem);
}

GANTRY_API int
gantry_destroy(struct gantry *g)
{
	destroy_fn *next = (destroy_fn *)dlsym(RTLD_NEXT, "gantry_destroy");
	uint8_t left[MAX_KEYS] = {0};
	int ret = next(g);

	if (ret == 0 && workers != NULL) {
		fprintf(workers, "most %u %u %u %u\n", most_handed, most_out, most_open, sum);
		fflush(workers);
	}
	if (ret != 0 || stored == NULL)
		return ret;
	search(left);
	for (unsigned int i = 0; i < n_added; i++)
		note("left", added[i].id, &left[i], 1, NULL, 0);
	return 0;
}

GANTRY_API int
gantry_worker_create(struct gantry *g, unsigned int lcore_id, const struct gantry_worker_conf *conf,
	struct gantry_worker **w)
{
	create_fn *next = (create_fn *)dlsym(RTLD_NEXT, "gantry_worker_create");

	if (workers != NULL)
		fprintf(workers, "worker %u %u %u %u\n", conf->queue.depth, conf->ring_size,
			conf->burst, conf->idle);
	if (noted != NULL)
		fprintf(noted, "queue %d\n", conf->queue.unordered);
	return next(g, lcore_id, conf, w);
}

/* ------------------------------------------------------------------ regions and connections */

GANTRY_API int
gantry_mem_register(struct gantry *g, void *addr, size_t len, unsigned int flags,
	struct gantry_mem **mem)
{
	register_fn *next = (register_fn *)dlsym(RTLD_NEXT, "gantry_mem_register");

	if (noted != NULL)
		fprintf(noted, "region %zu\n", len);
	return next(g, addr, len, flags, mem);
}

/* conf may be NULL. */
static void
note_end(const struct gantry_queue *q, const struct gantry_peer_conf *conf)
{
	struct gantry_queue_info info;

	gantry_queue_info_get(q, &info);
	fprintf(noted, "peer %d %u\nend %" PRIu32 "\n", conf != NULL ? (int)conf->transport : 0,
		conf != NULL ? conf->max_inline : 0u, info.number);
}

GANTRY_API int
gantry_peer_open(struct gantry_queue *q, const struct gantry_peer_conf *conf, uint16_t *peer,
	struct gantry_addr *addr)
{
	open_fn *next = (open_fn *)dlsym(RTLD_NEXT, "gantry_peer_open");

	if (noted != NULL)
		note_end(q, conf);
	return next(q, conf, peer, addr);
}

/* ------------------------------------------------------------------ DEKs and what is stored */

GANTRY_API int
gantry_dek_add(struct gantry *g, const struct gantry_dek_conf *conf, uint32_t *id)
{
	add_fn *next = (add_fn *)dlsym(RTLD_NEXT, "gantry_dek_add");
	int ret = next(g, conf, id);

	if (ret == 0) {
		note("add", *id, conf->key, conf->len, NULL, 0);
		remember(*id, conf);
	}
	return ret;
}

GANTRY_API int
gantry_dek_retire(struct gantry *g, uint32_t id, uint32_t timeout_ms)
{
	retire_fn *next = (retire_fn *)dlsym(RTLD_NEXT, "gantry_dek_retire");
	int ret = next(g, id, timeout_ms);

	if (ret == 0)
		note("retire", id, NULL, 0, NULL, 0);
	return ret;
}

/* Transactions that are open, by their cookies. */
static const struct gantry_txn *open_txn[GANTRY_MAX_TXNS];

GANTRY_API unsigned int
gantry_poll(struct gantry_queue *q, struct gantry_comp *comp, unsigned int n)
{
	poll_fn *next = (poll_fn *)dlsym(RTLD_NEXT, "gantry_poll");
	const struct gantry_txn *t;
	unsigned int got = next(q, comp, n), i;

	for (i = 0; i < got; i++) {
		if (comp[i].op != GANTRY_OP_TXN)
			continue;
		n_open--;
		t = open_txn[comp[i].cookie];
		if (comp[i].status == GANTRY_OK && t->op == GANTRY_OP_READ)
			note("stored", t->crypto.dek, t->crypto.tweak, sizeof(t->crypto.tweak),
				(const void *)(uintptr_t)t->data->addr, t->data->len);
	}
	return got;
}

/* ------------------------------------------------------------------ lies */

static void
twist(struct gantry_desc *d)
{
	if (strcmp(lie, "skip") == 0)
		*d = (struct gantry_desc){.op = GANTRY_OP_NOP, .cookie = d->cookie};
	else if (strcmp(lie, "short") == 0)
		d->len--;
	else if (strcmp(lie, "long") == 0)
		d->len++;
	else if (strcmp(lie, "wrong") == 0)
		d->src++;
}

/*
 * Weak: a preloaded function still overrides the function in libc, and tools do not take this
 * function for the definition of the standard function.
 */
GANTRY_API __attribute__((weak)) off_t
lseek(int fd, off_t offset, int whence)
{
	if (strcmp(lie, "hole") == 0 && whence == SEEK_DATA && (uint64_t)offset < lie_at)
		offset = (off_t)lie_at;
	return syscall(SYS_lseek, fd, offset, whence);
}

static void
note_desc(const struct gantry_desc *d)
{
	fprintf(noted, "desc %u %u %" PRIu64 "\n", d->op, d->flags, d->arg[0]);
	if (d->layout != 0)
		fprintf(noted, "base %" PRIu64 "\n", d->op == GANTRY_OP_GATHER ? d->src : d->dst);
}

GANTRY_API unsigned int
gantry_enqueue_burst(struct gantry_worker *w, const struct gantry_desc *desc, unsigned int n)
{
	enqueue_fn *next = (enqueue_fn *)dlsym(RTLD_NEXT, "gantry_enqueue_burst");
	static uint64_t n_enqueued, n_calls;
	struct gantry_desc twisted;
	unsigned int taken = 0;

	if (strcmp(lie, "full") == 0 && n_calls++ % 2 == 0)
		return n > 1 ? next(w, desc, n / 2) : 0;
	most_handed = n > most_handed ? n : most_handed;
	for (; taken < n; taken++) {
		twisted = desc[taken];
		if (n_enqueued == lie_at)
			twist(&twisted);
		if (next(w, &twisted, 1) == 0)
			break;
		n_enqueued++;
		if (noted != NULL)
			note_desc(&twisted);
	}
	n_out += taken;
	sum += taken;
	most_out = n_out > most_out ? n_out : most_out;
	return taken;
}

GANTRY_API unsigned int
gantry_dequeue_burst(struct gantry_worker *w, struct gantry_comp *comp, unsigned int n)
{
	dequeue_fn *next = (dequeue_fn *)dlsym(RTLD_NEXT, "gantry_dequeue_burst");
	static uint64_t n_dequeued;

	if (n == 0 || next(w, comp, 1) == 0)
		return 0;
	n_out--;
	if (noted != NULL)
		fprintf(noted, "done %" PRIu64 "\n", comp->cookie);
	if (n_dequeued++ != lie_at)
		return 1;
	if (strcmp(lie, "status") == 0)
		comp->status = GANTRY_REMOTE_ACCESS;
	if (strcmp(lie, "order") == 0)
		comp->cookie++;
	return strcmp(lie, "lost") != 0;
}

GANTRY_API int
gantry_profile_create(struct gantry *g, const struct gantry_profile_conf *conf, uint16_t *id)
{
	profile_fn *next = (profile_fn *)dlsym(RTLD_NEXT, "gantry_profile_create");
	struct gantry_profile_conf twisted = *conf;

	if (strcmp(lie, "blind") == 0)
		twisted.check = 0;
	if (strcmp(lie, "plain") == 0)
		memset(&twisted.crypto, 0, sizeof(twisted.crypto));
	return next(g, &twisted, id);
}

static void
twist_transaction(const struct gantry_desc *d)
{
	struct gantry_txn *txn = (struct gantry_txn *)(uintptr_t)d->src;

	if (strcmp(lie, "alarm") == 0)
		txn->mem.ref_tag++;
	else if (strcmp(lie, "shift") == 0)
		((struct gantry_txn_part *)(uintptr_t)txn->part)->addr++;
}

/* Several threads submit descriptors, but only one of them submits transactions. */
GANTRY_API unsigned int
gantry_submit(struct gantry_queue *q, const struct gantry_desc *desc, unsigned int n)
{
	submit_fn *next = (submit_fn *)dlsym(RTLD_NEXT, "gantry_submit");
	static uint64_t n_transactions;
	unsigned int taken;

	if (n > 0 && desc->op == GANTRY_OP_TXN) {
		open_txn[desc->cookie] = (const struct gantry_txn *)(uintptr_t)desc->src;
		if (strcmp(lie, "tweak") == 0)
			((struct gantry_txn *)(uintptr_t)desc->src)->crypto.tweak[15] ^= 1;
		else if (n_transactions++ == lie_at)
			twist_transaction(desc);
	}
	taken = next(q, desc, n);
	if (taken > 0 && desc->op == GANTRY_OP_TXN) {
		n_open += taken;
		most_open = n_open > most_open ? n_open : most_open;
	}
	return taken;
}
