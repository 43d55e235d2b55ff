/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of the program's mappings, and how they are opened and closed. */
#include "mappings.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clock.h"
#include "clock_page.h"
#include "fork_lock.h"
#include "uar.h"
#include "uffd.h"
#include "wake.h"

/* ns: time for which a page stays open, unless the adapter sees its doorbell earlier */
#define OPEN_NS 1000000

struct entry {
	struct mapping m;
	bool open;
	uint64_t until; /* device time */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int uffd = -1;
static struct entry *list;
static unsigned int n_list, max_list;

/* ---- the list; the caller holds its lock */

static bool
page_is_listed(const void *page)
{
	for (unsigned int i = 0; i < n_list; i++)
		if (list[i].m.page == page)
			return true;
	return false;
}

static struct entry *
find(const void *at)
{
	for (unsigned int i = 0; i < n_list; i++)
		if (list[i].m.at == at)
			return &list[i];
	return NULL;
}

static void
forget(struct entry *e)
{
	const struct mapping m = e->m;

	*e = list[--n_list];
	if (page_is_listed(m.page))
		return;
	atomic_fetch_sub(&m.lanes->n_watched, 1);
	lanes_wake(m.lanes); /* the mapping has no trap, so no access would wake the adapter */
}

static bool
make_room(void)
{
	unsigned int max = max_list == 0 ? 16 : 2 * max_list;
	struct entry *grown;

	if (n_list < max_list)
		return true;
	grown = realloc(list, max * sizeof(*list));
	if (grown == NULL)
		return false;
	list = grown;
	max_list = max;
	return true;
}

static void
give_up(void)
{
	while (n_list != 0) {
		uffd_untrap(uffd, list[n_list - 1].m.at);
		forget(&list[n_list - 1]);
	}
	close(uffd);
	uffd = -1;
}

/*
 * Adds a mapping to the list, if its page can be trapped. Otherwise the mapping is not listed, and
 * its adapter does not rely on traps.
 */
static void
add(const struct mapping *m)
{
	struct entry *old = find(m->at);
	bool known;

	if (old != NULL)
		forget(old);
	known = page_is_listed(m->page);
	if (uffd < 0 || !make_room() ||
		uffd_trap(uffd, m->at, m->uar != NULL ? TRAP_STORES : TRAP_LOADS) != 0)
		return;
	list[n_list++] = (struct entry){.m = *m, .open = true};
	if (!known)
		atomic_fetch_add(&m->lanes->n_watched, 1);
	lanes_wake(m->lanes); /* the adapter closes this mapping before it sleeps */
}

/* ---- opening and closing; the caller holds the lock */

static bool
is_awaited(const struct entry *e, uint64_t now)
{
	if (!e->open || now >= e->until)
		return false;
	return e->m.uar == NULL || atomic_load_explicit(&e->m.uar->awaited, memory_order_relaxed);
}

/*
 * Removes the page from all page tables by punching a hole, and then fills the hole with a page
 * that has the clock. If a thread uses the page between these steps, it finds no page, so it is
 * trapped as well.
 */
static int
close_clock(void *page)
{
	if (madvise(page, TRAP_PAGE, MADV_REMOVE) != 0) {
		/* The page may be locked by mlockall(2). */
		munlock(page, TRAP_PAGE);
		if (madvise(page, TRAP_PAGE, MADV_REMOVE) != 0)
			return -errno;
	}
	clock_tick(page);
	return 0;
}

static int
close_entry(struct entry *e)
{
	int rc = e->m.uar != NULL ? uffd_protect(uffd, e->m.at) : close_clock(e->m.page);

	if (rc == 0)
		e->open = false;
	return rc;
}

static void
open_entry(struct entry *e)
{
	int rc;

	e->open = true;
	e->until = device_clock() + OPEN_NS;
	if (e->m.uar != NULL)
		atomic_store_explicit(&e->m.uar->awaited, true, memory_order_relaxed);
	else
		clock_tick(e->m.page);
	rc = e->m.uar != NULL ? uffd_unprotect(uffd, e->m.at) : uffd_map(uffd, e->m.at);
	lanes_wake(e->m.lanes);
	if (rc == -ENOENT)
		forget(e);
	else if (rc != 0)
		give_up();
}

/* ---- */

void
mappings_begin(int fd)
{
	fork_lock(&lock);
	uffd = fd;
	fork_unlock(&lock);
}

void
mappings_add(const struct mapping *m)
{
	fork_lock(&lock);
	add(m);
	fork_unlock(&lock);
}

void
mappings_drop(const void *page)
{
	fork_lock(&lock);
	for (unsigned int i = 0; i < n_list;) {
		if (list[i].m.page != page) {
			i++;
			continue;
		}
		uffd_untrap(uffd, list[i].m.at);
		forget(&list[i]);
	}
	fork_unlock(&lock);
}

/*
 * The kernel ends the traps of moved memory. If the kernel merges the moved mapping with its new
 * neighbours, the traps of the neighbours also end. So all pages of the list are trapped again.
 */
void
mappings_move(void *from, void *to, unsigned long len)
{
	bool moved = false;
	unsigned int n;

	fork_lock(&lock);
	for (unsigned int i = 0; i < n_list; i++) {
		uintptr_t off = (uintptr_t)list[i].m.at - (uintptr_t)from;

		if (off < len) {
			list[i].m.at = (char *)to + off;
			moved = true;
		}
	}
	/* Removes the first entry of the list, and adds it again at the end. */
	for (n = moved ? n_list : 0; n != 0; n--) {
		const struct mapping m = list[0].m;

		memmove(list, list + 1, (n_list - 1) * sizeof(*list));
		list[n_list - 1].m = m;
		forget(&list[n_list - 1]);
		add(&m);
	}
	fork_unlock(&lock);
}

bool
mappings_close(struct softhca_lanes *lanes)
{
	uint64_t now = device_clock();
	bool all = true;

	fork_lock(&lock);
	for (unsigned int i = 0; i < n_list && all; i++)
		all = list[i].m.lanes != lanes || !is_awaited(&list[i], now);
	for (unsigned int i = 0; i < n_list && all;) {
		struct entry *e = &list[i];
		int rc = e->m.lanes == lanes && e->open ? close_entry(e) : 0;

		if (rc == -ENOENT) {
			forget(e); /* the program has unmapped the page */
			continue;
		}
		if (rc != 0) {
			give_up();
			all = false;
		}
		i++;
	}
	fork_unlock(&lock);
	return all;
}

bool
mappings_open_all(void)
{
	bool failed = false, trapping;
	struct entry *e;
	void *at;

	fork_lock(&lock);
	while (uffd >= 0 && (at = uffd_next(uffd, &failed)) != NULL) {
		e = find(at);
		if (e != NULL)
			open_entry(e);
		else
			/* the page is no longer listed; the waiting threads continue */
			uffd_untrap(uffd, at);
	}
	if (uffd >= 0 && failed)
		give_up();
	trapping = uffd >= 0;
	fork_unlock(&lock);
	return trapping;
}

/* ---- fork(2) */

void
mappings_fork_prepare(void)
{
	fork_lock(&lock);
}

void
mappings_fork_parent(void)
{
	fork_unlock(&lock);
}

/* The descriptor belongs to the parent's memory. The parent's adapters are abandoned, too. */
void
mappings_fork_child(void)
{
	if (uffd >= 0)
		close(uffd);
	uffd = -1;
	n_list = 0;
	fork_unlock(&lock);
}
