/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A work request of a send queue: fetches and checks the WQE, and finds the memory of its data
 * segments.
 */
#ifndef SOFTHCA_WQE_H
#define SOFTHCA_WQE_H

#include "opcode_table.h"
#include "qp.h"
#include "run.h"
#include "sg.h"

struct wqe {
	const uint8_t *seg0;     /* control segment */
	const struct opcode *op; /* row of the WQE's opcode */
	uint64_t id; /* the first 8 bytes: opmod, index, opcode, QP number, length in units */
	uint32_t ds;
	uint32_t first; /* first 16-byte unit after the control segment and the address */
};

_Static_assert(DATA_INLINE == 1u << 31, "the sign of a length");
_Static_assert(CTRL_OPMOD_IDX_OPCODE == 0 && CTRL_QPN_DS == 4, "these words are wqe.id");

static inline uint32_t
wqe_opmod(const struct wqe *wqe)
{
	return (uint32_t)(wqe->id >> 56);
}

static inline uint32_t
wqe_index(const struct wqe *wqe)
{
	return wqe->id >> 40 & 0xffff;
}

static inline uint32_t
wqe_opcode(const struct wqe *wqe)
{
	return wqe->id >> 32 & 0xff;
}

static inline uint32_t
wqe_qpn(const struct wqe *wqe)
{
	return wqe->id >> 8 & 0xffffff;
}

/* The number of WQEBBs of the WQE. A WQE of length 0 counts as one WQEBB. */
static inline uint32_t
wqe_bb(const struct wqe *wqe)
{
	return wqe->ds == 0 ? 1 : (wqe->ds + 3) / 4;
}

/* The immediate data or the key to invalidate, in host byte order. */
static inline uint32_t
wqe_imm(const struct wqe *wqe)
{
	return get_be32(wqe->seg0 + CTRL_IMM);
}

static inline enum wire_ce
wqe_ce(const struct wqe *wqe)
{
	return wqe->seg0[CTRL_FM_CE_SE] >> 2 & 3;
}

/* The fence of the WQE. A value that the PRM reserves counts as the strongest fence. */
static inline enum wire_fence
wqe_fence(const struct wqe *wqe)
{
	const unsigned int fm = wqe->seg0[CTRL_FM_CE_SE] >> 5;

	return fm <= FM_SMALL_AND_FENCE ? (enum wire_fence)fm : FM_STRONG;
}

/*
 * True if the WQE waits for round trips (IBV_SEND_FENCE). The small fence waits only for local
 * operations, so it does not count.
 */
static inline bool
wqe_is_fenced(const struct wqe *wqe)
{
	return wqe_fence(wqe) >= FM_FENCE;
}

static inline bool
wqe_solicited(const struct wqe *wqe)
{
	return (wqe->seg0[CTRL_FM_CE_SE] & 2) != 0;
}

/*
 * The number of 16-byte units of the address after the control segment, for an opcode that is not
 * local.
 */
static inline unsigned int
wqe_address_units(enum softhca_qp_type type)
{
	switch (type) {
	case SOFTHCA_QP_UD:
	case SOFTHCA_QP_DCI:
		return AV_UNITS;
	case SOFTHCA_QP_XRC_SEND:
		return XRC_UNITS;
	default:
		return 0;
	}
}

static inline const uint8_t *
wqe_place(const struct softhca_qp *qp, uint16_t idx)
{
	return qp->sq + (((uint32_t)idx * WQEBB) & qp->sq_mask);
}

/* Fetches the WQE at a WQEBB, without any check. */
static inline struct wqe
wqe_fetch_at(const struct softhca_qp *qp, uint16_t idx)
{
	const uint8_t *seg0 = wqe_place(qp, idx);
	const uint64_t id = get_be64(seg0);
	struct wqe wqe = {.seg0 = seg0,
		.id = id,
		.op = &opcodes[id >> 32 & 0xff],
		.ds = id & 0x3f,
		.first = 1};

	if (qp->type != SOFTHCA_QP_RC && !wqe.op->local)
		wqe.first += wqe_address_units(qp->type);
	return wqe;
}

/* Fetches the WQE at the head of the queue. */
static inline struct wqe
wqe_fetch(const struct softhca_qp *qp)
{
	return wqe_fetch_at(qp, qp->sq_ci);
}

/* True if the WQE has this index and the number of its QP. */
static inline bool
wqe_is_at(const struct softhca_qp *qp, const struct wqe *wqe, uint16_t idx)
{
	const uint64_t id = (uint64_t)idx << 40 | (uint64_t)qp->number << 8;

	return ((wqe->id ^ id) & UINT64_C(0x00ffff00ffffff00)) == 0;
}

/*
 * Makes the checks that every WQE must pass. Returns VEN_NONE if the WQE passed. posted: the number
 * of WQEBBs from the WQE to the counter in the doorbell record.
 */
static inline enum wire_vendor
wqe_check_at(const struct softhca_qp *qp, const struct wqe *wqe, uint16_t idx, uint16_t posted)
{
	if (!wqe_is_at(qp, wqe, idx))
		return wqe_index(wqe) != idx ? VEN_WQE_INDEX : VEN_WQE_QPN;
	if (wqe->ds == 0 || wqe_bb(wqe) > posted)
		return VEN_WQE_DS;
	if (qp->bad_bf && qp->bad_bf_idx == idx)
		return qp->bad_bf_why;
	return VEN_NONE;
}

/* As wqe_check_at(), for the WQE at the head. */
static inline enum wire_vendor
wqe_check(const struct softhca_qp *qp, const struct wqe *wqe, uint16_t posted)
{
	return wqe_check_at(qp, wqe, qp->sq_ci, posted);
}

/* Logs the failed check that wqe_check() returned. */
void wqe_report(const struct softhca_qp *qp, const struct wqe *wqe, enum wire_vendor why,
	uint16_t posted);

/* Returns a 16-byte unit of the WQE. The units may wrap to the start of the send queue. */
static inline const uint8_t *
wqe_seg(const struct run *run, const struct wqe *wqe, unsigned int ds)
{
	uint32_t off = (uint32_t)(wqe->seg0 - run->qp->sq) + ds * WQE_SEG;

	return run->qp->sq + (off & run->qp->sq_mask);
}

/* The index of the first unit of data segments, if the opcode has data segments. */
static inline unsigned int
wqe_data_unit(const struct wqe *wqe)
{
	return wqe->op->head_ds + wqe->first - 1;
}

/*
 * The number of 16-byte units of a raw packet's Ethernet segment. len: bytes of its inline header.
 */
static inline unsigned int
wqe_eth_units(unsigned int len)
{
	return len > ETH_INLINE_FIRST ? 1 + (len - ETH_INLINE_FIRST + WQE_SEG - 1) / WQE_SEG : 1;
}

/*
 * Gathers the local memory of the data segments from unit `first` on, also of inline data, with the
 * access that the opcode needs. Returns SYN_OK, or sets run->use.vendor and returns SYN_LOC_PROT,
 * SYN_LOC_LEN or SYN_QP_OP.
 */
unsigned int wqe_gather_at(struct run *run, const struct wqe *wqe, unsigned int first,
	struct sg *sg);

/* The length in a data segment. The encoded value 0 means 2 GiB. */
static inline uint64_t
wqe_data_len(const uint8_t *seg)
{
	uint32_t len = get_be32(seg + DATA_LEN);

	return len == 0 ? DATA_LEN_ZERO_IS : len;
}

/*
 * As wqe_gather_at(), for all data segments. Fast path: the WQE has one segment, which lies in the
 * region that was found last.
 */
static inline unsigned int
wqe_gather(struct run *run, const struct wqe *wqe, struct sg *sg)
{
	const unsigned int first = wqe_data_unit(wqe);
	const uint32_t need = wqe->op->access;
	const uint8_t *seg;
	int32_t len;
	void *p;

	/*
	 * If the WQE has no data segment, the next WQE may begin at this unit, and the program may
	 * be writing that WQE.
	 */
	if (__builtin_expect(wqe->ds != first + 1, 0))
		return wqe_gather_at(run, wqe, first, sg);
	seg = wqe_seg(run, wqe, first);
	len = (int32_t)get_be32(seg + DATA_LEN);
	/* A segment of inline data has a negative length here. */
	if (__builtin_expect(len <= 0, 0))
		return wqe_gather_at(run, wqe, first, sg);
	p = key_seen_memory(&run->seen[need], get_be32(seg + DATA_LKEY), run->qp->pdn, need,
		get_be64(seg + DATA_VA), (uint32_t)len);
	if (__builtin_expect(p == NULL, 0))
		return wqe_gather_at(run, wqe, first, sg);
	sg_set(sg, p, (uint32_t)len);
	return SYN_OK;
}

#endif
