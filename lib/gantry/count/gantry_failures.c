/* SPDX-License-Identifier: BSD-3-Clause */
/* The ring of an engine's last failures. */
#include "gantry_failures.h"

#include <time.h>

#include <rte_common.h>

void
gantry_failures_init(struct gantry_failures *f)
{
	pthread_mutex_init(&f->lock, NULL);
}

void
gantry_failures_fini(struct gantry_failures *f)
{
	pthread_mutex_destroy(&f->lock);
}

static struct gantry_failure *
place(struct gantry_failures *f, uint64_t number)
{
	return &f->kept[number % GANTRY_FAILURES_KEPT];
}

static bool
are_alike(const struct gantry_failure *a, const struct gantry_failure *b)
{
	return a->queue == b->queue && a->conn == b->conn && a->status == b->status &&
	       a->op == b->op && a->syndrome == b->syndrome &&
	       a->vendor_syndrome == b->vendor_syndrome;
}

__rte_cold void
gantry_failures_note(struct gantry_failures *f, const struct gantry_failure *e)
{
	struct timespec now;
	struct gantry_failure *p;
	uint64_t times = 0;

	clock_gettime(CLOCK_REALTIME, &now);
	pthread_mutex_lock(&f->lock);
	if (f->n != 0 && are_alike(place(f, f->n - 1), e))
		times = place(f, --f->n)->times;
	p = place(f, f->n++);
	*p = *e;
	p->times = times + 1;
	p->time_ns = (uint64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	pthread_mutex_unlock(&f->lock);
}

uint64_t
gantry_failures_count(struct gantry_failures *f)
{
	uint64_t n;

	pthread_mutex_lock(&f->lock);
	n = f->n;
	pthread_mutex_unlock(&f->lock);
	return n;
}

bool
gantry_failures_get(struct gantry_failures *f, uint64_t number, struct gantry_failure *e)
{
	bool is_kept;

	pthread_mutex_lock(&f->lock);
	is_kept = number < f->n && f->n - number <= GANTRY_FAILURES_KEPT;
	if (is_kept)
		*e = *place(f, number);
	pthread_mutex_unlock(&f->lock);
	return is_kept;
}
