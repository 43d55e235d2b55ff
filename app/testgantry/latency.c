/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Measures the time from the submission to the completion of single copies, with a pause before
 * each copy.
 */
#include "latency.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_lcore.h>

#include "device.h"
#include "job.h"
#include "lcores.h"
#include "report.h"

#define LEN      64
#define PAUSE_US 500                   /* longer than an lcore polls before it sleeps */
#define GIVE_UP  UINT64_C(60000000000) /* ns until an unfinished copy counts as an error */

struct wake {
	const struct options *opt;
	struct gantry *engine;
	struct gantry_mem *mem;
	uint8_t *buf; /* buffer with the source and the destination */
	uint64_t *ns; /* time of each copy */
};

static int
compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Makes one copy and checks its bytes. Writes the copy's time to *ns. Returns 0 or -1. */
static int
copy_once(struct wake *w, struct gantry_worker *worker, uint8_t seed, uint64_t *ns)
{
	const struct gantry_desc desc = {
		.op = GANTRY_OP_COPY,
		.src = (uintptr_t)w->buf,
		.dst = (uintptr_t)w->buf + LEN,
		.len = LEN,
	};
	uint64_t begin = now_ns();
	struct gantry_comp comp;

	memset(w->buf, seed, LEN);
	if (gantry_enqueue_burst(worker, &desc, 1) != 1) {
		error_print("the worker's ring is full although no descriptor is in it");
		return -1;
	}
	while (gantry_dequeue_burst(worker, &comp, 1) == 0) {
		if (now_ns() - begin > GIVE_UP) {
			error_print("a copy did not come back in 60 s");
			return -1;
		}
		sched_yield(); /* the worker may share this CPU */
	}
	*ns = now_ns() - begin;
	if (comp.status != GANTRY_OK) {
		error_print("a copy failed: %s", gantry_status_name(comp.status));
		return -1;
	}
	if (memcmp(w->buf, w->buf + LEN, LEN) == 0)
		return 0;
	error_print("a copy moved wrong bytes");
	return -1;
}

/* Returns 0, -1 or JOB_STOPPED. */
static int
copy_all(struct wake *w, struct gantry_worker *worker)
{
	for (uint32_t i = 0; i < w->opt->wake_up && stop_signal == 0; i++) {
		usleep(PAUSE_US);
		if (copy_once(w, worker, i, &w->ns[i]) != 0)
			return -1;
	}
	return stop_signal == 0 ? 0 : JOB_STOPPED;
}

static void
print_row(const struct wake *w, const char *name)
{
	uint32_t n = w->opt->wake_up;

	qsort(w->ns, n, sizeof(w->ns[0]), compare);
	printf("  %-8s %9.1f us %9.1f us %9.1f us\n", name, w->ns[n / 2] / 1e3,
		w->ns[(uint64_t)n * 99 / 100] / 1e3, w->ns[n - 1] / 1e3);
	fflush(stdout);
}

/* Measures one idle mode, with a new worker. Returns 0, -1 or JOB_STOPPED. */
static int
measure(struct wake *w, enum gantry_idle idle)
{
	const struct gantry_worker_conf conf = {.idle = idle};
	struct gantry_worker *worker;
	int rc = gantry_worker_create(w->engine, rte_get_next_lcore(-1, 1, 0), &conf, &worker);

	if (rc == -ENOTSUP) {
		printf("  %-8s this CPU cannot wait for a write to memory (on x86: WAITPKG)\n",
			options_idle_name(idle));
		return 0;
	}
	if (rc == 0)
		rc = gantry_worker_start(worker);
	if (rc != 0) {
		error_print("cannot start a worker: %s", strerror(-rc));
		return -1;
	}
	rc = copy_all(w, worker);
	gantry_worker_stop(worker);
	if (rc == 0)
		print_row(w, options_idle_name(idle));
	else if (rc == JOB_STOPPED)
		job_say_stopped("the measurement is not complete");
	/*
	 * After an error, descriptors may still be in the rings. They are abandoned, and
	 * gantry_destroy() reports them.
	 */
	return gantry_worker_destroy(worker) == 0 ? rc : -1;
}

static int
set_up(struct wake *w)
{
	const struct gantry_conf conf = {.copy_path = w->opt->copy_path};
	int rc;

	if (rte_lcore_count() < 2) {
		error_print("too few lcores: EAL has 1, but a main and a worker lcore are needed: "
			    "give %s before '--'",
			lcores_option(2));
		return -1;
	}
	w->ns = calloc(w->opt->wake_up, sizeof(w->ns[0]));
	w->buf = aligned_alloc(LEN, 2 * LEN);
	if (w->ns == NULL || w->buf == NULL) {
		error_print("out of memory");
		return -1;
	}
	if (device_open(w->opt, conf, &w->engine) != 0)
		return -1;
	rc = gantry_mem_register(w->engine, w->buf, 2 * LEN, 0, &w->mem);
	if (rc == 0)
		return 0;
	error_print("cannot register memory: %s; the log lines above say more", strerror(-rc));
	return -1;
}

static int
measure_all(struct wake *w)
{
	int rc = 0;

	printf("Time from submitting one copy of %u bytes to its completion, after %u us without "
	       "work;\n%u copies for each row. The difference to spin is the time of waking.\n"
	       "  idle        median          99%%      longest\n",
		LEN, PAUSE_US, w->opt->wake_up);
	fflush(stdout);
	for (int idle = GANTRY_IDLE_SPIN; rc == 0 && idle <= GANTRY_IDLE_MONITOR; idle++)
		rc = measure(w, idle);
	return rc;
}

int
latency_run(const struct options *o)
{
	struct wake w = {.opt = o};
	int rc = set_up(&w);

	if (rc == 0)
		rc = measure_all(&w);
	if (w.mem != NULL)
		gantry_mem_unregister(w.mem, 1000);
	if (w.engine != NULL && gantry_destroy(w.engine) != 0)
		rc = -1;
	free(w.buf);
	free(w.ns);
	return rc;
}
