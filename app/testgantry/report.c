/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Prints errors, the progress line and the table per lcore.
 */
#include "report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define TTY_PERIOD_NS  (NSEC_PER_S / 10)
#define PIPE_PERIOD_NS NSEC_PER_S

uint64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NSEC_PER_S + t.tv_nsec;
}

/* ------------------------------------------------------------------ errors */

static void
error_vbegin(const char *format, va_list args)
{
	progress_end();
	fflush(stdout); /* keeps the order of lines if stdout and stderr are one file */
	fputs("testgantry: ", stderr);
	vfprintf(stderr, format, args);
}

void
error_begin(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	error_vbegin(format, args);
	va_end(args);
}

static _Thread_local char **kept;

char **
error_keep(char **text)
{
	char **before = kept;

	kept = text;
	return before;
}

void
error_print(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (kept == NULL) {
		error_vbegin(format, args);
		fputc('\n', stderr);
	} else if (*kept == NULL && vasprintf(kept, format, args) < 0) {
		*kept = NULL;
	}
	va_end(args);
}

/* ------------------------------------------------------------------ progress */

static struct {
	uint64_t next_ns; /* time at which the next line is due */
	uint64_t last_ns;
	uint64_t last_done; /* bytes or operations at the last line */
	/*
	 * true: the terminal's last line is a progress line. Before any thread prints an error
	 * message, it ends this line.
	 */
	atomic_bool line_open;
} shown;

/*
 * Returns true if a progress line is due. *rate: bytes or operations per nanosecond since the last
 * line. done: bytes or operations.
 */
static bool
progress_is_due(uint64_t done, double *rate)
{
	const uint64_t period = isatty(STDOUT_FILENO) == 1 ? TTY_PERIOD_NS : PIPE_PERIOD_NS;
	uint64_t now = now_ns();

	if (shown.next_ns == 0) { /* the first call only starts the clock */
		shown.last_ns = now;
		shown.next_ns = now + period;
		shown.last_done = done;
		return false;
	}
	if (now < shown.next_ns)
		return false;
	*rate = done >= shown.last_done
			? (double)(done - shown.last_done) / (double)(now - shown.last_ns)
			: 0;
	shown.last_ns = now;
	shown.last_done = done;
	shown.next_ns = now + period;
	return true;
}

static void __attribute__((format(printf, 1, 2))) print_line(const char *format, ...)
{
	bool tty = isatty(STDOUT_FILENO) == 1;
	va_list args;

	va_start(args, format);
	fputs(tty ? "\r" : "", stdout);
	vprintf(format, args);
	fputs(tty ? "\033[K" : "\n", stdout);
	va_end(args);
	fflush(stdout);
	shown.line_open = tty;
}

void
progress_show(const struct progress *p)
{
	double rate;

	if (progress_is_due(p->bytes_moved, &rate))
		print_line("%s %.1f of %.1f MB, %.2f GB/s; verified %zu of %zu files", p->verb,
			p->bytes_moved / 1e6, p->bytes_total / 1e6, rate, p->files_verified,
			p->files_total);
}

void
progress_count(uint64_t ops)
{
	double rate;

	if (progress_is_due(ops, &rate))
		print_line("%" PRIu64 " operations, %.4f million/s", ops, rate * 1e3);
}

void
progress_reset(void)
{
	shown.next_ns = 0;
	shown.last_done = 0;
}

void
progress_print_moved(const struct progress *p)
{
	printf("%zu file%s, %.1f MB, ", p->files_verified, p->files_verified == 1 ? "" : "s",
		p->bytes_moved / 1e6);
	if (p->bytes_in_holes != 0)
		printf("and %.1f MB of holes, ", p->bytes_in_holes / 1e6);
}

void
progress_end(void)
{
	if (atomic_exchange(&shown.line_open, false)) {
		putchar('\n');
		fflush(stdout);
	}
}

/* ------------------------------------------------------------------ table */

int
report_reset(struct report *r, size_t n_rows)
{
	report_free(r);
	r->rows = calloc(n_rows, sizeof(*r->rows));
	if (r->rows == NULL) {
		error_print("out of memory for %zu rows of statistics", n_rows);
		return -1;
	}
	r->n_rows = n_rows;
	r->base_ns = now_ns();
	r->end_ns = r->base_ns;
	progress_reset();
	return 0;
}

void
report_clear(struct report *r)
{
	for (size_t i = 0; i < r->n_rows; i++) {
		r->rows[i].base = r->rows[i].now;
		r->rows[i].base_sleeps = r->rows[i].sleeps;
	}
	r->base_ns = now_ns();
	r->end_ns = r->base_ns;
}

void
report_free(struct report *r)
{
	free(r->rows);
	*r = (struct report){0};
}

static struct gantry_stats
stats_minus(const struct gantry_stats *a, const struct gantry_stats *b)
{
	struct gantry_stats d = {
		.submitted = a->submitted - b->submitted,
		.completed = a->completed - b->completed,
		.bytes = a->bytes - b->bytes,
		.doorbells = a->doorbells - b->doorbells,
		.wqes = a->wqes - b->wqes,
		.cqes = a->cqes - b->cqes,
		.recoveries = a->recoveries - b->recoveries,
	};

	for (int i = 0; i < GANTRY_CARRIER_MAX; i++)
		d.copies[i] = a->copies[i] - b->copies[i];
	for (int i = 0; i < GANTRY_STATUS_MAX; i++)
		d.by_status[i] = a->by_status[i] - b->by_status[i];
	return d;
}

static void
stats_add(struct gantry_stats *sum, const struct gantry_stats *s)
{
	sum->submitted += s->submitted;
	sum->completed += s->completed;
	sum->bytes += s->bytes;
	sum->doorbells += s->doorbells;
	sum->wqes += s->wqes;
	sum->cqes += s->cqes;
	sum->recoveries += s->recoveries;
	for (int i = 0; i < GANTRY_CARRIER_MAX; i++)
		sum->copies[i] += s->copies[i];
	for (int i = 0; i < GANTRY_STATUS_MAX; i++)
		sum->by_status[i] += s->by_status[i];
}

static uint64_t
stats_errors(const struct gantry_stats *s)
{
	uint64_t n = 0;

	for (int i = GANTRY_OK + 1; i < GANTRY_STATUS_MAX; i++)
		n += s->by_status[i];
	return n;
}

static double
ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

static void
print_row(FILE *f, const char *name, const struct gantry_stats *s, double ns)
{
	double n = s->completed;

	fprintf(f, "%6s %12" PRIu64 " %15" PRIu64 " %9.4f %8.3f %13.3f %9.3f %9.3f %8" PRIu64 "\n",
		name, s->completed, s->bytes, ratio(n * 1e3, ns), ratio(s->bytes, ns),
		ratio(s->doorbells, n), ratio(s->wqes, n), ratio(s->cqes, n), stats_errors(s));
}

static void
print_errors(FILE *f, const char *name, const struct gantry_stats *s)
{
	for (int i = GANTRY_OK + 1; i < GANTRY_STATUS_MAX; i++)
		if (s->by_status[i] != 0)
			fprintf(f, "lcore %s: %" PRIu64 " x %s\n", name, s->by_status[i],
				gantry_status_name(i));
	if (s->recoveries != 0)
		fprintf(f, "lcore %s: connection set up again %" PRIu64 " times\n", name,
			s->recoveries);
}

static void
print_copies(FILE *f, const struct gantry_stats *s)
{
	const uint64_t *n = s->copies;

	if (n[GANTRY_CARRIER_CPU] + n[GANTRY_CARRIER_MMO] + n[GANTRY_CARRIER_RDMA] == 0)
		return;
	fprintf(f, "copies: %" PRIu64 " by the CPU, %" PRIu64 " by DMA MMO, %" PRIu64 " by RDMA\n",
		n[GANTRY_CARRIER_CPU], n[GANTRY_CARRIER_MMO], n[GANTRY_CARRIER_RDMA]);
}

static void
print_sleeps(FILE *f, const struct report *r)
{
	uint64_t n = 0;

	for (size_t i = 0; i < r->n_rows; i++)
		n += r->rows[i].sleeps - r->rows[i].base_sleeps;
	fprintf(f, "the workers slept %" PRIu64 " times\n", n);
}

void
report_print(FILE *f, const struct report *r)
{
	double ns = r->end_ns - r->base_ns;
	struct gantry_stats sum = {0};
	struct gantry_stats s;
	char name[16];

	fprintf(f, "%6s %12s %15s %9s %8s %13s %9s %9s %8s\n", "lcore", "descriptors", "bytes",
		"Mops/s", "GB/s", "doorbell/desc", "WQE/desc", "CQE/desc", "errors");
	for (size_t i = 0; i < r->n_rows; i++) {
		snprintf(name, sizeof(name), "%u", r->rows[i].lcore_id);
		s = stats_minus(&r->rows[i].now, &r->rows[i].base);
		print_row(f, name, &s, ns);
		stats_add(&sum, &s);
	}
	print_row(f, "total", &sum, ns);
	print_copies(f, &sum);
	print_sleeps(f, r);
	for (size_t i = 0; i < r->n_rows; i++) {
		snprintf(name, sizeof(name), "%u", r->rows[i].lcore_id);
		s = stats_minus(&r->rows[i].now, &r->rows[i].base);
		print_errors(f, name, &s);
	}
	fflush(f);
}
