/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Moves a file set: reads chunks into the feeds, writes completed chunks to the outputs, verifies
 * the outputs and publishes them.
 *
 * Each thread takes a task under the lock, runs the task without the lock, and ends the task under
 * the lock. A task is a few chunks to read or to write, or a part of a file to verify. A thread
 * prefers writing completed chunks to reading new chunks. It verifies only if it can neither write
 * nor read.
 *
 * Files are read in order, one after the other. At most OPEN_MAX_FILES files are open. Of these
 * files, at most one is being read; the earlier files are read completely, but not yet written,
 * verified and published.
 *
 *     published ...| verifying ... | ... | reading ...| not opened yet
 *
 * Opening and publishing are done under the lock.
 */
#include "mover.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <rte_common.h>

#include "lcores.h"
#include "output.h"
#include "report.h"

/* files that are open at the same time; each has two file descriptors */
#define OPEN_MAX_FILES 64
#define TASK_LEN       (32u << 20) /* bytes that one task reads; a chunk may be longer */
#define PIECE_LEN      (1u << 20)  /* bytes that one task verifies */
#define MIN_THREADS    2
#define MAX_THREADS    4
#define NAP_MIN_US     20 /* shortest pause of a thread that finds no task */
#define NAP_MAX_US     500

struct mover {
	const struct options *opt;
	struct file_set *set;
	struct feed *feeds;
	size_t n_feeds;
	pthread_t thread[MAX_THREADS];
	unsigned int n_threads;

	pthread_mutex_t lock; /* protects the fields below, the set, and the feeds' counters */
	bool stop;
	bool failed;
	char *error; /* the first error; NULL if there was no memory for its text */
	/* index of the feed from which a thread takes the next task; the feeds take turns */
	size_t next_feed;
	/* number of files that have been opened, counted from the first file of the set */
	size_t n_opened;
	/* number of files whose parts all have a task, counted from the first file of the set */
	size_t n_handed_out;
	/* number of files that are published, counted from the first file of the set */
	size_t n_oldest;
	size_t n_published;
	size_t n_skipped; /* number of published files that were skipped */
	uint64_t bytes_moved;
	uint64_t bytes_in_holes;
	uint64_t last_completion_ns;
};

enum task_kind {
	TASK_NONE,
	TASK_READ,
	TASK_WRITE,
	TASK_VERIFY,
};

struct task {
	enum task_kind kind;
	/* For a task that reads or writes. */
	struct feed *feed;
	uint64_t first; /* number of the first chunk */
	uint32_t n;     /* number of chunks */
	/* For a task that verifies. */
	struct file *file;
	uint64_t offset;
	uint64_t len;
};

/* ------------------------------------------------------------------ taking a task */

/*
 * Finds the file to read from. *file is NULL if all files are read, or if too many files are open.
 * Returns 0 or -1.
 */
static int
file_to_read(struct mover *m, struct file **file)
{
	struct file *last = m->n_opened > 0 ? &m->set->file[m->n_opened - 1] : NULL;

	if (last != NULL)
		m->bytes_in_holes += output_pass_hole(last);
	while (last == NULL || last->read == last->size) {
		*file = NULL;
		if (m->n_opened == m->set->n || m->n_opened - m->n_oldest == OPEN_MAX_FILES)
			return 0;
		last = &m->set->file[m->n_opened++];
		if (output_open(m->set, last) != 0)
			return -1;
		m->bytes_in_holes += output_pass_hole(last);
	}
	*file = last;
	return 0;
}

/* Takes a burst of chunks to read, if the feed has room for it. Returns 0 or -1. */
static int
take_read(struct mover *m, struct feed *feed, struct task *t)
{
	uint32_t burst = RTE_MIN(m->opt->burst, feed->depth);
	uint64_t len = 0;
	struct chunk c;

	if (feed_room(feed) < burst)
		return 0;
	*t = (struct task){.feed = feed, .first = feed->filled};
	while (t->n < burst && len < TASK_LEN) {
		if (file_to_read(m, &c.file) != 0)
			return -1;
		if (c.file == NULL)
			break;
		c.offset = c.file->read;
		c.len = RTE_MIN(m->opt->chunk_len, c.file->data_end - c.offset);
		c.file->read += c.len;
		len += c.len;
		feed_reserve(feed, &c);
		t->n++;
	}
	if (t->n > 0)
		t->kind = TASK_READ;
	return 0;
}

/* Takes completed chunks to write. Returns 0 or -1. */
static int
take_write(struct mover *m, struct feed *feed, struct task *t)
{
	int n = feed_collect(feed, &m->bytes_moved);

	if (n != 0) /* n is -1 if a completion has an error */
		m->last_completion_ns = now_ns();
	if (n < 0)
		return -1;
	*t = (struct task){.feed = feed};
	t->n = feed_take_moved(feed, m->opt->burst, &t->first);
	if (t->n > 0)
		t->kind = TASK_WRITE;
	return 0;
}

/*
 * Takes a part to verify: the next part of the oldest written file that still has parts without a
 * task.
 */
static void
take_verify(struct mover *m, struct task *t)
{
	struct file *file = &m->set->file[m->n_handed_out];

	*t = (struct task){0};
	if (m->n_handed_out == m->n_opened || file->written != file->size)
		return;
	*t = (struct task){
		.kind = TASK_VERIFY,
		.file = file,
		.offset = file->verifying,
		.len = RTE_MIN((uint64_t)PIECE_LEN, file->size - file->verifying),
	};
	file->verifying += t->len;
	if (file->verifying == file->size)
		m->n_handed_out++;
}

/* Takes a task. Returns 0 on success and if there is no task; -1 on an error. */
static int
take(struct mover *m, struct task *t)
{
	int (*const of_feed[])(struct mover *, struct feed *, struct task *) = {take_write,
		take_read};
	struct feed *feed;

	*t = (struct task){0};
	for (size_t kind = 0; kind < RTE_DIM(of_feed); kind++) {
		for (size_t i = 0; i < m->n_feeds && t->kind == TASK_NONE; i++) {
			feed = &m->feeds[(m->next_feed + i) % m->n_feeds];
			if (of_feed[kind](m, feed, t) != 0)
				return -1;
		}
	}
	if (t->kind == TASK_NONE)
		take_verify(m, t);
	else
		m->next_feed++;
	return 0;
}

/* ------------------------------------------------------------------ running a task */

static int
read_chunks(const struct task *t)
{
	for (uint64_t i = t->first; i < t->first + t->n; i++) {
		const struct chunk *c = feed_chunk(t->feed, i);

		if (output_read(c->file, feed_source(t->feed, i), c->len, c->offset) != 0)
			return -1;
		feed_prepare(t->feed, i);
	}
	return 0;
}

static int
write_chunks(const struct task *t)
{
	for (uint64_t i = t->first; i < t->first + t->n; i++) {
		const struct chunk *c = feed_chunk(t->feed, i);

		if (output_write(c->file, feed_destination(t->feed, i), c->len, c->offset) != 0)
			return -1;
	}
	return 0;
}

/* Runs a task, without the lock. */
static int
carry_out(const struct task *t)
{
	switch (t->kind) {
	case TASK_READ:
		return read_chunks(t);
	case TASK_WRITE:
		return write_chunks(t);
	case TASK_VERIFY:
		return output_verify(t->file, t->offset, t->len);
	default:
		return 0;
	}
}

/* ------------------------------------------------------------------ giving a task back */

/*
 * Publishes the file if all its parts are verified. The last part may be verified before an earlier
 * part.
 */
static int
end_piece(struct mover *m, const struct task *t)
{
	struct file *file = t->file;

	file->verified += t->len;
	if (file->verified != file->size)
		return 0;
	if (output_publish(file) != 0)
		return -1;
	m->n_published++;
	m->n_skipped += file->skipped;
	while (m->n_oldest < m->n_handed_out && m->set->file[m->n_oldest].temp == NULL)
		m->n_oldest++;
	return 0;
}

static int
give_back(struct mover *m, const struct task *t)
{
	switch (t->kind) {
	case TASK_READ:
		feed_read(t->feed, t->first, t->n);
		return 0;
	case TASK_WRITE:
		for (uint64_t i = t->first; i < t->first + t->n; i++)
			feed_chunk(t->feed, i)->file->written += feed_chunk(t->feed, i)->len;
		feed_written(t->feed, t->first, t->n);
		return 0;
	case TASK_VERIFY:
		return end_piece(m, t);
	default:
		return 0;
	}
}

/* ------------------------------------------------------------------ threads */

static bool
has_ended(const struct mover *m)
{
	return m->stop || m->failed || m->n_published == m->set->n;
}

/*
 * Stops the mover with an error. The text is allocated, or NULL. The caller has locked the mover.
 */
static void
fail(struct mover *m, char *error)
{
	if (m->failed) {
		free(error);
		return;
	}
	m->failed = true;
	m->error = error;
}

static void *
run(void *arg)
{
	struct mover *m = arg;
	unsigned int nap_us = NAP_MIN_US;
	char *error = NULL;
	struct task t;
	int rc = 0;

	error_keep(&error);
	pthread_mutex_lock(&m->lock);
	while (!has_ended(m)) {
		/* Send chunks that did not fit into a worker's ring before. */
		for (size_t i = 0; i < m->n_feeds; i++)
			feed_send(&m->feeds[i]);
		rc = take(m, &t);
		if (rc != 0)
			break;
		pthread_mutex_unlock(&m->lock);
		if (t.kind == TASK_NONE)
			usleep(nap_us);
		nap_us = t.kind == TASK_NONE ? RTE_MIN(2 * nap_us, NAP_MAX_US) : NAP_MIN_US;
		rc = carry_out(&t);
		pthread_mutex_lock(&m->lock);
		if (rc == 0)
			rc = give_back(m, &t);
		if (rc != 0)
			break;
	}
	if (rc != 0)
		fail(m, error);
	pthread_mutex_unlock(&m->lock);
	return NULL;
}

static void
start_threads(struct mover *m)
{
	/*
	 * EAL binds the main lcore's thread to one CPU, and new threads would inherit this CPU set.
	 */
	const cpu_set_t *cpus = lcores_cpus();
	unsigned int n = RTE_MIN(RTE_MAX(CPU_COUNT(cpus), MIN_THREADS), MAX_THREADS);
	sigset_t all, old;

	/* Only the main lcore handles signals. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	while (m->n_threads < n && pthread_create(&m->thread[m->n_threads], NULL, run, m) == 0) {
		if (CPU_COUNT(cpus) > 0)
			pthread_setaffinity_np(m->thread[m->n_threads], sizeof(*cpus), cpus);
		m->n_threads++;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* ------------------------------------------------------------------ for the main lcore */

int
mover_create(const struct options *o, struct file_set *set, struct feed *feeds, size_t n_feeds,
	struct mover **mover)
{
	struct mover *m = calloc(1, sizeof(*m));

	if (m == NULL) {
		error_print("out of memory");
		return -1;
	}
	m->opt = o;
	m->set = set;
	m->feeds = feeds;
	m->n_feeds = n_feeds;
	m->last_completion_ns = now_ns();
	pthread_mutex_init(&m->lock, NULL);
	start_threads(m);
	if (m->n_threads == 0) {
		error_print("cannot start threads that read and write files: see ulimit -u");
		mover_destroy(m);
		return -1;
	}
	*mover = m;
	return 0;
}

enum mover_state
mover_look(struct mover *m, struct mover_progress *p)
{
	enum mover_state state = MOVER_BUSY;

	pthread_mutex_lock(&m->lock);
	*p = (struct mover_progress){
		.bytes_moved = m->bytes_moved,
		.bytes_in_holes = m->bytes_in_holes,
		.files_verified = m->n_published - m->n_skipped,
		.last_completion_ns = m->last_completion_ns,
	};
	for (size_t i = 0; i < m->n_feeds; i++)
		p->in_flight += m->feeds[i].filled - m->feeds[i].done;
	if (m->failed)
		state = MOVER_FAILED;
	else if (m->n_published == m->set->n)
		state = MOVER_DONE;
	pthread_mutex_unlock(&m->lock);
	return state;
}

const char *
mover_error(const struct mover *m)
{
	return m->error != NULL ? m->error : "out of memory";
}

void
mover_stop(struct mover *m)
{
	pthread_mutex_lock(&m->lock);
	m->stop = true;
	pthread_mutex_unlock(&m->lock);
	while (m->n_threads > 0)
		pthread_join(m->thread[--m->n_threads], NULL);
}

void
mover_destroy(struct mover *m)
{
	pthread_mutex_destroy(&m->lock);
	free(m->error);
	free(m);
}
