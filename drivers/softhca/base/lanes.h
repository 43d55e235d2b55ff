/* SPDX-License-Identifier: BSD-3-Clause */
/* What the data half keeps for one adapter. Each member names its owner among the folders above. */
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

#define LANES_KEPT 64 /* powers of two of pages */

struct softhca_lanes {
	struct softhca_dev *dev;
	struct table keys, psvs, deks; /* key/ */
	struct softhca_mkey
		*kept[LANES_KEPT]; /* key/kept.c: keys that are not in use, the last one first */
	pthread_mutex_t kept_lock;
	struct table qps, cqs, srqs;        /* queue/ */
	struct lane_slot slots[LANE_SLOTS]; /* turns.c */
	struct page_set *_Atomic uars;      /* queue/: struct softhca_uar; marked: it rang lately */
	struct page_set *_Atomic clocks;    /* lane/: clock pages */
	pthread_mutex_t sets_lock;          /* of changes to these sets */
	atomic_bool look;                   /* queue/: some UAR page calls for attention */
	atomic_bool cq_failed;      /* queue/: QPs without a page may have to fail with a CQ */
	atomic_bool odp;            /* key/: there are, or were, keys on demand */
	struct spin odp_lock;       /* key/: then, of atomic operations; a leaf */
	_Atomic uint64_t port_free; /* fault/timing.c: when the port is free; device time */
	atomic_uint asleep, wakes;  /* wake.h */
	_Atomic int call_fd;        /* wake.h: an eventfd that wakes too; -1: none */
	_Atomic int sleep_fd;       /* lane/: an epoll of call_fd and of uses of closed pages; -1 */
	atomic_uint n_watched;      /* lane/: of uars and clocks, pages whose use wakes a sleeper */
	atomic_bool stop;           /* lane/ */
	unsigned int n_threads;
	pthread_t threads[SOFTHCA_MAX_THREADS];
};

/* NULL: the adapter has not been opened yet, or was abandoned by fork(). */
static inline struct softhca_lanes *
dev_lanes(struct softhca_dev *dev)
{
	return __atomic_load_n(&dev->lanes, __ATOMIC_ACQUIRE);
}

#endif
