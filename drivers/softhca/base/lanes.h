/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the data half keeps for one adapter. The comment of each member names the folder that uses
 * it.
 */
#ifndef SOFTHCA_LANES_H
#define SOFTHCA_LANES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "dev.h"
#include "pages.h"
#include "spin.h"
#include "table.h"
#include "turns.h"

struct softhca_mkey;

#define LANES_KEPT 64 /* one list for each power of two of pages */

struct softhca_lanes {
	struct softhca_dev *dev;
	struct table keys, psvs, deks; /* key/ */
	struct softhca_mkey
		*kept[LANES_KEPT]; /* key/kept.c: keys that are not in use, the newest first */
	pthread_mutex_t kept_lock;
	struct table qps, cqs, srqs;        /* queue/ */
	struct lane_slot slots[LANE_SLOTS]; /* turns.c */
	struct page_set *_Atomic uars;      /* queue/: struct softhca_uar; marked: it rang lately */
	struct page_set *_Atomic clocks;    /* lane/: clock pages */
	/* protects uars and clocks against concurrent changes */
	pthread_mutex_t sets_lock;
	atomic_bool look; /* queue/: some UAR page needs attention */
	/* queue/: a CQ has failed, so QPs without a UAR page may have to fail */
	atomic_bool cq_failed;
	atomic_bool odp;            /* key/: the adapter has or had keys on demand */
	struct spin odp_lock;       /* key/: with odp, held by atomic operations; a leaf */
	_Atomic uint64_t port_free; /* fault/timing.c: device time at which the port is free */
	atomic_uint asleep, wakes;  /* wake.h */
	_Atomic int call_fd;        /* wake.h: an eventfd that lanes_wake() writes too; -1: none */
	/* lane/: an epoll of call_fd and of accesses to closed pages; -1: none */
	_Atomic int sleep_fd;
	atomic_uint n_watched; /* lane/: pages of uars and clocks whose use wakes a sleeper */
	atomic_bool stop;      /* lane/ */
	unsigned int n_threads;
	pthread_t threads[SOFTHCA_MAX_THREADS];
};

/* NULL: the adapter has not been opened yet, or fork() abandoned its lanes. */
static inline struct softhca_lanes *
dev_lanes(struct softhca_dev *dev)
{
	return __atomic_load_n(&dev->lanes, __ATOMIC_ACQUIRE);
}

#endif
