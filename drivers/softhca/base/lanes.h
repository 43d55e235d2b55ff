/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of the data half for one adapter. The comment of each member names the folder or file
 * that uses the member.
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
struct wire;

/* number of entries of `kept`: a list of keys for each power of two of pages */
#define LANES_KEPT 64

struct softhca_lanes {
	struct softhca_dev *dev;
	struct table keys, psvs, deks; /* key/ */
	struct softhca_mkey
		*kept[LANES_KEPT]; /* key/kept.c: keys that are not in use, newest first */
	pthread_mutex_t kept_lock;
	struct table qps, cqs, srqs;        /* queue/ */
	struct wire *wire;                  /* wire/: NULL if no message goes to another process */
	struct lane_slot slots[LANE_SLOTS]; /* turns.c */
	/*
	 * queue/: UAR pages (struct softhca_uar); the mark of a page is 1 if the page had a
	 * doorbell lately
	 */
	struct page_set *_Atomic uars;
	struct page_set *_Atomic clocks; /* lane/: clock pages */
	/* Protects uars and clocks against concurrent changes. */
	pthread_mutex_t sets_lock;
	/* queue/: `attention` of a UAR page may be set, so the next turn looks at all pages */
	atomic_bool look;
	/* queue/: QPs without a UAR page may have to fail, or have receives to flush */
	atomic_bool pageless;
	atomic_bool odp; /* key/: a key on demand exists, or has existed, in this adapter */
	/* key/: held by atomic operations on memory on demand; no other lock is taken under it */
	struct spin odp_lock;
	_Atomic uint64_t port_free; /* fault/timing.c: device time at which the port is free */
	atomic_uint asleep, wakes;  /* wake.h: number of sleeping threads, number of wakes */
	/* wake.h: an eventfd to which lanes_wake() also writes, or -1 */
	_Atomic int call_fd;
	/* lane/: an epoll for call_fd and for accesses to closed pages, or -1. */
	_Atomic int sleep_fd;
	/* lane/: number of pages of uars and clocks whose use wakes a sleeping thread */
	atomic_uint n_watched;
	atomic_bool stop; /* lane/: device threads must end */
	unsigned int n_threads;
	pthread_t threads[SOFTHCA_MAX_THREADS];
};

/*
 * Returns the lanes, or NULL if the adapter has not been opened yet or fork() abandoned its lanes.
 */
static inline struct softhca_lanes *
dev_lanes(struct softhca_dev *dev)
{
	return __atomic_load_n(&dev->lanes, __ATOMIC_ACQUIRE);
}

#endif
