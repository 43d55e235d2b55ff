/* SPDX-License-Identifier: BSD-3-Clause */
/* A UAR page, and how a page asks a lane to visit its queues. */
#ifndef SOFTHCA_UAR_H
#define SOFTHCA_UAR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "hca.h"
#include "lanes.h"
#include "spin.h"
#include "wake.h"

struct order;
struct softhca_wq;

#define BF_MAX_WORDS 32 /* maximum of 8-byte words in a BlueFlame buffer */

/* What the device remembers about a BlueFlame buffer: doorbell.c. */
struct bf_buf {
	uint32_t offset;
	bool verified; /* the buffer was empty after the last ring of its twin was taken */
	bool shadow_known;
	uint32_t shadow_words;
	uint64_t shadow[BF_MAX_WORDS];
};

/*
 * The number of words of a page that a program rings: four buffers, the CQ doorbell, and the
 * doorbell of `no_record`.
 */
#define UAR_BELLS 6

/*
 * The holder of `lock` owns the send side of the page's QPs, and the page's WQs. Lanes only try to
 * take the lock, and leave out the page if they do not get it. Control calls wait for the lock in
 * uar_lock(). So two threads never run one send queue at the same time.
 */
struct softhca_uar {
	/* The first cache line has all fields that a lane reads if the page does not ring. */
	struct spin lock;
	uint8_t *page;
	_Atomic uint16_t
		/* offsets of the words that ring; two entries may have the same offset */
		bells[UAR_BELLS];
	atomic_bool timed;     /* an event of a CQ of this page may wait for its time */
	atomic_bool attention; /* visit all queues of this page, even without a doorbell */
	/* A store to the page has woken the adapter, and no doorbell was seen since. */
	atomic_bool awaited;
	/* a lane has taken the CQ doorbell, and now reads the arm words of the page's CQs */
	atomic_bool arming;
	/* a queue asks for another visit: it waits for a time or a receive, or has more WQEs */
	atomic_bool again;
	atomic_uint quiet; /* number of turns since the page last rang: see lane.c */
	struct softhca_dev *dev;
	uint32_t page_id;
	uint32_t bf_len; /* bytes of one buffer; 0: the page has only 8-byte doorbells */
	unsigned int n_bufs;
	struct bf_buf buf[4]; /* twins are adjacent entries */
	unsigned int n_qps, n_cqs, max_qps, max_cqs;
	struct softhca_qp **qps;
	struct softhca_qp *no_record; /* QP (one of qps) without a doorbell record, or NULL */
	struct softhca_cq **cqs;
	struct softhca_wq *wqs; /* list of the work queues whose CQs are on this page */
	struct order *order;    /* for the setting `reorder`, allocated by exec/order.c; or NULL */
} __attribute__((aligned(CACHE_LINE)));

/* Returns the 8-byte word at an offset of the page. */
static inline _Atomic uint64_t *
uar_word(const struct softhca_uar *uar, uint32_t offset)
{
	return (_Atomic uint64_t *)(void *)(uar->page + offset);
}

static inline uint32_t
uar_bell(struct softhca_uar *uar, unsigned int i)
{
	return atomic_load_explicit(&uar->bells[i], memory_order_relaxed);
}

/* For control calls: waits for the lock. Until uar_unlock(), no lane runs the page's queues. */
static inline void
uar_lock(struct softhca_uar *uar)
{
	spin_lock(&uar->lock);
}

static inline void
uar_unlock(struct softhca_uar *uar)
{
	spin_unlock(&uar->lock);
}

/* Makes the next turn of a lane (turns.h) visit all queues of the page. */
static inline void
uar_call_attention(struct softhca_uar *uar)
{
	atomic_store_explicit(&uar->attention, true, memory_order_release);
	atomic_store(&uar->dev->lanes->look, true);
	lanes_wake(uar->dev->lanes);
}

#endif
