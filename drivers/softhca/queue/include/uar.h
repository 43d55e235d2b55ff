/* SPDX-License-Identifier: BSD-3-Clause */
/* A UAR page, and how it gets the attention of lanes. */
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

#define BF_MAX_WORDS 32 /* words of 8 bytes in a BlueFlame buffer */

/* What the device remembers of a BlueFlame buffer: doorbell.c. */
struct bf_buf {
	uint32_t offset;
	bool verified; /* the buffer was empty after the last ring of its twin had been taken */
	bool shadow_known;
	uint32_t shadow_words;
	uint64_t shadow[BF_MAX_WORDS];
};

/* Words of a page that can ring: four buffers, the CQ doorbell, and the doorbell of `no_record`. */
#define UAR_BELLS 6

/*
 * The holder of `lock` owns the send side of the page's QPs, and the page's WQs. Lanes only try to
 * take the lock; control calls wait for it in uar_lock(). So two threads never run one send queue
 * at the same time.
 */
struct softhca_uar {
	/* The fields that a lane reads of a silent page are in one cache line. */
	struct spin lock;
	uint8_t *page;
	_Atomic uint16_t
		bells[UAR_BELLS]; /* offsets of the words that ring; an offset may be there twice */
	atomic_bool timed;        /* an event of one of its CQs may wait for its time */
	atomic_bool attention;    /* visit all queues of this page, even without a doorbell */
	/* a store to the page woke the adapter, and no doorbell was seen since */
	atomic_bool awaited;
	atomic_bool again; /* a queue waits: for time, a receive, or its next share */
	atomic_uint quiet; /* turns since the page last rang: see lane.c */
	struct softhca_dev *dev;
	uint32_t page_id;
	uint32_t bf_len; /* bytes of one buffer; 0: 8-byte doorbells only */
	unsigned int n_bufs;
	struct bf_buf buf[4]; /* twins are neighbours */
	unsigned int n_qps, n_cqs, max_qps, max_cqs;
	struct softhca_qp **qps;
	struct softhca_qp *no_record; /* the QP (of qps) without a doorbell record; or NULL */
	struct softhca_cq **cqs;
	struct softhca_wq *wqs; /* work queues whose CQs are on this page */
	struct order *order;    /* for the setting `reorder`; or NULL: exec/order.c allocates it */
} __attribute__((aligned(CACHE_LINE)));

/* The 8-byte word at an offset of the page. */
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

/* Waits for the lock: no lane runs the page's queues until uar_unlock(). For control calls. */
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

/* Makes the next turn visit all queues of the page. */
static inline void
uar_call_attention(struct softhca_uar *uar)
{
	atomic_store_explicit(&uar->attention, true, memory_order_release);
	atomic_store(&uar->dev->lanes->look, true);
	lanes_wake(uar->dev->lanes);
}

#endif
