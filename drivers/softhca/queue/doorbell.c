/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads doorbells and BlueFlame copies from a UAR page, and compares them with the send queue.
 *
 * A UAR page has two BlueFlame registers of two buffers each. A driver writes the first 8 bytes of
 * the last posted WQE to a buffer (a doorbell), or copies the whole WQE to the buffer (BlueFlame).
 * For its next ring the driver uses the twin, the other buffer of the register. Here the page is
 * memory. The device clears the first word when it takes a ring: no WQE starts with 8 zero bytes,
 * because its DS is not 0.
 *
 * Memory can lose doorbells: a second doorbell overwrites a first doorbell that was not taken yet.
 * So on a page that several queues share, a doorbell makes each of these queues run up to its
 * doorbell record. A queue that is alone on its page runs exactly the announced WQEs: a later
 * announcement includes an earlier one.
 *
 * Checking BlueFlame. The first word does not show whether a ring was a doorbell or a BlueFlame
 * copy. So the other words of a buffer hold a poison pattern, which the device restores when it
 * takes a ring. A word that still is poison has not been written: the ring was a doorbell, or the
 * copy is not complete. A word that is not poison belongs
 *
 *   (a) to the copy that the first word announced: the word must equal the WQE in the send queue;
 *   (b) to the copy that was taken before, whose writer was slow: the word equals that WQE, which
 *       is in the buffer's shadow;
 *   (c) to a copy whose first word was overwritten by a later doorbell in the same buffer, before
 *       the device took either ring: that copy is unknown.
 *
 * Only a word of case (a) can be a mismatch, so case (c) must be excluded. Drivers alternate
 * between the twins: between two rings of one buffer there is a ring of the other. `verified` means
 * that the buffer was seen empty after the last ring of its twin was taken. If the buffer then
 * rings, and its twin is empty after that ring is taken, the buffer rang exactly once, and its
 * words belong to case (a) or (b). Otherwise its words are not checked.
 *
 * The writer may not have finished, so a wrong word is read again for a bounded time. If the buffer
 * or its twin rings again meanwhile, the check ends without a result.
 *
 * Queues without a doorbell record. Their doorbell is a separate word of the page (UAR_NO_RECORD).
 * Only this doorbell tells how many WQEs are posted: up to the end of the WQE whose first 8 bytes
 * the doorbell holds, or, if its DS is 0, up to its index. If two such queues shared a page, the
 * doorbell of one queue could overwrite that of the other, and no record would repeat the lost
 * doorbell. So a page has at most one such queue.
 */
#include "doorbell.h"

#include <endian.h>
#include <string.h>

#include "qp.h"
#include "violation.h"
#include "wire.h"

#define POISON       0x9d5cf1a3b7e84c62ull
#define RECHECKS_MAX 2000

/* Indices in the array `bells` of the page. The four buffers have indices 0 to 3. */
enum {
	BELL_CQ = 4,
	BELL_NO_RECORD = 5
};

static _Atomic uint64_t *
buf_word(struct softhca_uar *uar, const struct bf_buf *buf, unsigned int i)
{
	return uar_word(uar, buf->offset + 8 * i);
}

static void
buf_init(struct softhca_uar *uar, struct bf_buf *buf, uint32_t offset)
{
	buf->offset = offset;
	buf->verified = true;
	buf->shadow_known = true;
	atomic_store_explicit(buf_word(uar, buf, 0), 0, memory_order_relaxed);
	for (unsigned int i = 1; i < uar->bf_len / 8; i++)
		atomic_store_explicit(buf_word(uar, buf, i), POISON, memory_order_relaxed);
}

void
doorbells_init(struct softhca_uar *uar)
{
	uint32_t spacing = UAR_BF_SPACING, len = uar->bf_len;

	/*
	 * On an uncached page, and without BlueFlame, drivers do not alternate: all rings are in
	 * the first buffer.
	 */
	if (len != 0)
		spacing = 2 * len;
	for (unsigned int i = 0; i < 4; i++)
		buf_init(uar, &uar->buf[i],
			UAR_BF_BASE + i / 2 * spacing + i % 2 * (len != 0 ? len : 0x100));
	uar->n_bufs = 4;
	for (unsigned int i = 0; i < uar->n_bufs; i++)
		uar->bells[i] = (uint16_t)uar->buf[i].offset;
	uar->bells[BELL_CQ] = UAR_CQ_DOORBELL;
	uar->bells[BELL_NO_RECORD] = UAR_CQ_DOORBELL;
	atomic_store_explicit(uar_word(uar, UAR_CQ_DOORBELL), 0, memory_order_relaxed);
}

void
doorbells_set_no_record(struct softhca_uar *uar, struct softhca_qp *qp)
{
	uar->no_record = qp;
	atomic_store_explicit(uar_word(uar, UAR_NO_RECORD), 0, memory_order_relaxed);
	atomic_store_explicit(&uar->bells[BELL_NO_RECORD],
		qp != NULL ? UAR_NO_RECORD : UAR_CQ_DOORBELL, memory_order_relaxed);
}

/* Returns word i of the WQE at a WQEBB index. The send queue is a ring, so the WQE may wrap. */
static uint64_t
sq_word(const struct softhca_qp *qp, uint16_t idx, unsigned int i)
{
	uint64_t v;

	memcpy(&v, qp->sq + (((uint32_t)idx * WQEBB + 8 * i) & qp->sq_mask), sizeof(v));
	return v;
}

static bool
word_fits(struct softhca_uar *uar, const struct bf_buf *buf, const struct softhca_qp *qp,
	uint16_t idx, unsigned int i)
{
	uint64_t v = atomic_load_explicit(buf_word(uar, buf, i), memory_order_acquire);

	if (v == POISON || v == sq_word(qp, idx, i))
		return true;
	return i < buf->shadow_words && v == buf->shadow[i];
}

struct ring {
	uint64_t word; /* the first 8 bytes of the WQE, as the program wrote them */
	uint32_t qpn, ds;
	uint16_t idx, end;
	bool once; /* the buffer has rung exactly once since it was known to be empty */
};

/*
 * The number of 8-byte words in the BlueFlame copy of a WQE. A copy has whole WQEBBs. Returns 0 if
 * the WQE is too long for the buffer.
 */
static unsigned int
bf_words(const struct softhca_uar *uar, uint32_t ds)
{
	uint32_t bytes = (ds * WQE_SEG + WQEBB - 1) / WQEBB * WQEBB;

	return bytes <= uar->bf_len ? bytes / 8 : 0;
}

static bool
rings_again(struct softhca_uar *uar, const struct bf_buf *buf, const struct bf_buf *twin)
{
	return atomic_load_explicit(buf_word(uar, buf, 0), memory_order_relaxed) != 0 ||
	       atomic_load_explicit(buf_word(uar, twin, 0), memory_order_relaxed) != 0;
}

/*
 * True if a word of the copy is wrong: the word is not poison, equals neither this WQE nor the WQE
 * copied before, and is still wrong after a bounded time.
 */
static bool
bf_differs(struct softhca_uar *uar, const struct bf_buf *buf, const struct bf_buf *twin,
	const struct softhca_qp *qp, uint16_t idx, uint32_t ds)
{
	unsigned int words = bf_words(uar, ds), i = 1, tries = 0;

	while (i < words && tries < RECHECKS_MAX) {
		if (word_fits(uar, buf, qp, idx, i)) {
			i++;
			continue;
		}
		if (rings_again(uar, buf, twin))
			return false;
		tries++;
	}
	return i < words && !rings_again(uar, buf, twin);
}

/*
 * Restores the poison in the words of the buffer that were written, and remembers the WQE whose
 * copy may still arrive.
 *
 * Words that may have been written: those of this copy, or, if the writer of the copy before was
 * slow, those of that copy; all words, if the buffer may have rung more than once. The search does
 * not end at a poison word, because the first words of a late copy may have been cleared before.
 */
static void
bf_clear(struct softhca_uar *uar, struct bf_buf *buf, const struct softhca_qp *qp,
	const struct ring *r)
{
	unsigned int now = bf_words(uar, r->ds), words = uar->bf_len / 8;

	if (qp != NULL && r->once && buf->shadow_known)
		words = now > buf->shadow_words ? now : buf->shadow_words;
	buf->shadow_known = qp != NULL;
	buf->shadow_words = qp != NULL ? now : 0;
	for (unsigned int i = 1; i < buf->shadow_words; i++)
		buf->shadow[i] = sq_word(qp, r->idx, i);
	for (unsigned int i = 1; i < words; i++)
		if (atomic_load_explicit(buf_word(uar, buf, i), memory_order_relaxed) != POISON)
			atomic_store_explicit(buf_word(uar, buf, i), POISON, memory_order_relaxed);
}

static struct softhca_qp *
uar_find_qp(struct softhca_uar *uar, uint32_t number)
{
	for (unsigned int i = 0; i < uar->n_qps; i++)
		if (uar->qps[i]->number == number)
			return uar->qps[i];
	if (uar->n_qps == 0) /* the doorbell is of a queue that has been destroyed */
		return NULL;
	violation("doorbell on UAR page 0x%x names QP 0x%x, which has no queue there", uar->page_id,
		number);
	return NULL;
}

/* Notes that the doorbell of a WQE was wrong. The WQE fails when it becomes the head. */
static void
qp_distrust(struct softhca_qp *qp, uint16_t idx, enum wire_vendor why)
{
	if (qp->bad_bf)
		return;
	qp->bad_bf = true;
	qp->bad_bf_idx = idx;
	qp->bad_bf_why = why;
}

static struct ring
ring_decode(uint64_t word, bool once)
{
	uint8_t p[8];
	struct ring r = {.word = word, .once = once};

	memcpy(p, &word, sizeof(p));
	r.idx = (uint16_t)(get_be32(p + CTRL_OPMOD_IDX_OPCODE) >> 8);
	r.qpn = get_be32(p + CTRL_QPN_DS) >> 8;
	r.ds = p[CTRL_QPN_DS + 3] & 0x3f;
	r.end = (uint16_t)(r.idx + (r.ds + 3) / 4);
	return r;
}

/*
 * True if the WQE has become a NOP since its doorbell and is otherwise unchanged. A program may
 * cancel posted WQEs while the queue is stopped: mlx5dv_qp_cancel_posted_send_wrs(3).
 */
static bool
is_cancelled(const struct softhca_qp *qp, uint64_t rang, uint64_t now)
{
	/* mask for opmod, index and opcode: keeps only the index */
	const uint32_t kept = 0x00ffff00;
	uint8_t was[8], is[8];

	if (!qp->stood_still)
		return false;
	memcpy(was, &rang, sizeof(was));
	memcpy(is, &now, sizeof(is));
	return get_be32(is + CTRL_QPN_DS) == get_be32(was + CTRL_QPN_DS) &&
	       get_be32(is + CTRL_OPMOD_IDX_OPCODE) ==
		       (get_be32(was + CTRL_OPMOD_IDX_OPCODE) & kept);
}

/*
 * Compares the word that rang with the first word of its WQE, which is posted and has not run.
 * Returns false if the words after the first word must not be compared.
 */
static bool
ring_is_of_wqe(struct softhca_qp *qp, const struct ring *r)
{
	uint64_t now;

	/* The queue is stopped, so the program may be cancelling this WQE now. */
	if (qp_state(qp) == QP_SQD)
		return false;
	now = sq_word(qp, r->idx, 0);
	if (r->word == now)
		return true;
	if (is_cancelled(qp, r->word, now))
		return false;
	violation("QP 0x%x: the doorbell differs from WQE 0x%x", qp->number, r->idx);
	qp_distrust(qp, r->idx, VEN_DOORBELL);
	return false;
}

/*
 * Compares the word that rang and the BlueFlame copy with the WQE, which is posted and has not run.
 */
static void
ring_check(struct softhca_uar *uar, struct bf_buf *buf, const struct bf_buf *twin,
	struct softhca_qp *qp, const struct ring *r)
{
	if (!ring_is_of_wqe(qp, r))
		return;
	if (!r->once || !buf->shadow_known)
		return;
	if (bf_differs(uar, buf, twin, qp, r->idx, r->ds)) {
		violation("QP 0x%x: the BlueFlame copy differs from WQE 0x%x", qp->number, r->idx);
		qp_distrust(qp, r->idx, VEN_BLUEFLAME);
	}
}

/*
 * Moves qp->announced to the end of this WQE. Returns true if this WQE is posted and has not run.
 */
static bool
ring_announce(struct softhca_qp *qp, const struct ring *r)
{
	uint16_t pi = (uint16_t)be32toh(atomic_load_explicit(qp->send_rec, memory_order_acquire));
	uint16_t posted = (uint16_t)(pi - qp->sq_ci);
	uint16_t ahead = (uint16_t)(r->end - qp->sq_ci);
	uint16_t announced = (uint16_t)(qp->announced - qp->sq_ci);

	qp->rang = true;
	if (ahead == 0 || ahead > qp->sq_bb)
		return false; /* the WQE has run */
	if (ahead > posted) {
		violation("QP 0x%x: a doorbell announces WQEBBs up to 0x%x, the doorbell record "
			  "only 0x%x",
			qp->number, r->end, pi);
		qp->announced = pi;
		return false;
	}
	if (ahead > announced || announced > posted)
		qp->announced = r->end;
	return (uint16_t)(r->idx - qp->sq_ci) < posted;
}

static void
ring_take(struct softhca_uar *uar, struct bf_buf *buf, const struct bf_buf *twin, uint64_t word,
	bool once)
{
	struct ring r = ring_decode(word, once);
	struct softhca_qp *qp = uar_find_qp(uar, r.qpn);
	bool known = false;

	/*
	 * No QP has the number in the doorbell. The page has only one QP: run it, so that the check
	 * of its next WQE reports the wrong number.
	 */
	if (qp == NULL && uar->n_qps == 1)
		uar->qps[0]->rang = true;
	if (qp != NULL && qp == uar->no_record)
		violation("QP 0x%x without a doorbell record was rung at 0x%x of its UAR page, not "
			  "at 0x%x",
			qp->number, buf->offset, UAR_NO_RECORD);
	else if (qp != NULL)
		known = ring_announce(qp, &r);
	if (known)
		ring_check(uar, buf, twin, qp, &r);
	if (uar->bf_len != 0)
		bf_clear(uar, buf, known ? qp : NULL, &r);
}

/* Takes a ring of a buffer. The comment at the top of this file explains `verified`. */
static unsigned int
buf_take(struct softhca_uar *uar, struct bf_buf *buf, struct bf_buf *twin)
{
	bool once, twin_rings;
	uint64_t word;

	if (atomic_load_explicit(buf_word(uar, buf, 0), memory_order_relaxed) == 0)
		return 0;
	word = atomic_exchange_explicit(buf_word(uar, buf, 0), 0, memory_order_acq_rel);
	twin_rings = atomic_load_explicit(buf_word(uar, twin, 0), memory_order_acquire) != 0;
	once = buf->verified && !twin_rings;
	buf->verified = true;
	twin->verified = !twin_rings;
	ring_take(uar, buf, twin, word, once);
	return 1;
}

/*
 * Moves the send counter of a queue without a doorbell record, and returns true if the counter has
 * moved. If the counter is beyond the queue's size, the next visit moves the QP to error.
 */
static bool
no_record_announce(struct softhca_qp *qp, const struct ring *r)
{
	uint16_t pi = (uint16_t)be32toh(atomic_load_explicit(qp->send_rec, memory_order_relaxed));
	uint16_t posted = (uint16_t)(pi - qp->sq_ci);
	uint16_t ahead = (uint16_t)(r->end - qp->sq_ci);
	uint16_t behind = (uint16_t)(qp->sq_ci - r->end);

	qp->rang = true;
	if (ahead <= posted || (ahead > qp->sq_bb && behind <= qp->sq_bb))
		return false; /* the doorbell arrived late */
	atomic_store_explicit(qp->send_rec, htobe32(r->end), memory_order_relaxed);
	qp->announced = r->end;
	return ahead <= qp->sq_bb;
}

static unsigned int
no_record_take(struct softhca_uar *uar)
{
	_Atomic uint64_t *bell = uar_word(uar, UAR_NO_RECORD);
	struct softhca_qp *qp = uar->no_record;
	struct ring r;

	if (atomic_load_explicit(bell, memory_order_relaxed) == 0)
		return 0;
	r = ring_decode(atomic_exchange_explicit(bell, 0, memory_order_acq_rel), false);
	if (r.qpn != qp->number) {
		violation("doorbell at 0x%x of UAR page 0x%x names QP 0x%x, and only QP 0x%x may "
			  "ring there",
			UAR_NO_RECORD, uar->page_id, r.qpn, qp->number);
		return 1;
	}
	if (no_record_announce(qp, &r) && r.ds != 0)
		ring_is_of_wqe(qp, &r);
	return 1;
}

unsigned int
doorbells_take(struct softhca_uar *uar, bool *arm)
{
	_Atomic uint64_t *cq_bell = uar_word(uar, UAR_CQ_DOORBELL);
	unsigned int taken = 0;

	for (unsigned int i = 0; i < uar->n_bufs; i++)
		taken += buf_take(uar, &uar->buf[i], &uar->buf[i ^ 1]);
	if (uar->no_record != NULL)
		taken += no_record_take(uar);
	if (atomic_load_explicit(cq_bell, memory_order_relaxed) != 0) {
		*arm = true;
		/* It is set before the doorbell is cleared: cq_take_due_arm() reads both. */
		atomic_store_explicit(&uar->arming, true, memory_order_relaxed);
		(void)atomic_exchange_explicit(cq_bell, 0, memory_order_acq_rel);
	}
	return taken;
}
