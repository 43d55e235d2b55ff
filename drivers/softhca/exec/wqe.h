/* SPDX-License-Identifier: BSD-3-Clause */
/* A work request in a send queue: fetching it, checking it, and the memory that it names. */
#ifndef SOFTHCA_WQE_H
#define SOFTHCA_WQE_H

#include "opcode.h"
#include "qp.h"
#include "run.h"
#include "sg.h"

struct wqe {
	const uint8_t *seg0;     /* the control segment */
	const struct opcode *op; /* the row of its opcode */
	uint32_t opcode, opmod, ds, bb;
	uint32_t first; /* 16-byte unit of the first segment behind control segment and address */
	uint32_t imm;   /* host byte order */
	enum wire_ce ce;
	bool solicited;
};

/* 16-byte units of address behind the control segment, of an opcode that is not local. */
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
wqe_head(const struct softhca_qp *qp)
{
	return qp->sq + (((uint32_t)qp->sq_ci * WQEBB) & qp->sq_mask);
}

/* The opcode of the WQE at the head of the queue. */
static inline uint32_t
wqe_opcode(const struct softhca_qp *qp)
{
	return get_be32(wqe_head(qp) + CTRL_OPMOD_IDX_OPCODE) & 0xff;
}

/*
 * The WQE at the head of the queue, whatever it says. op: the row of its opcode; NULL for a WQE that
 * does not run, whose segments nobody reads.
 */
static inline struct wqe
wqe_fetch(const struct softhca_qp *qp, const struct opcode *op)
{
	struct wqe wqe = {.seg0 = wqe_head(qp), .op = op, .first = 1};
	uint32_t opmod_idx_opcode = get_be32(wqe.seg0 + CTRL_OPMOD_IDX_OPCODE);
	uint8_t fm_ce_se = wqe.seg0[CTRL_FM_CE_SE];

	wqe.opcode = opmod_idx_opcode & 0xff;
	wqe.opmod = opmod_idx_opcode >> 24;
	wqe.ds = wqe.seg0[CTRL_QPN_DS + 3] & 0x3f;
	wqe.bb = wqe.ds == 0 ? 1 : (wqe.ds + 3) / 4;
	if (op != NULL && qp->type != SOFTHCA_QP_RC && !op->local)
		wqe.first += wqe_address_units(qp->type);
	wqe.imm = get_be32(wqe.seg0 + CTRL_IMM);
	wqe.ce = (fm_ce_se >> 2) & 3;
	wqe.solicited = (fm_ce_se & 2) != 0;
	return wqe;
}

/* What every WQE must say of itself; VEN_NONE: it does. posted: WQEBBs from it to the record. */
static inline enum wire_vendor
wqe_check(const struct softhca_qp *qp, const struct wqe *wqe, uint16_t posted)
{
	uint32_t op = get_be32(wqe->seg0 + CTRL_OPMOD_IDX_OPCODE);
	uint32_t qpn = get_be32(wqe->seg0 + CTRL_QPN_DS) >> 8;

	if (((op >> 8) & 0xffff) != qp->sq_ci)
		return VEN_WQE_INDEX;
	if (qpn != qp->number)
		return VEN_WQE_QPN;
	if (wqe->ds == 0 || wqe->bb > posted)
		return VEN_WQE_DS;
	if (qp->bad_bf && qp->bad_bf_idx == qp->sq_ci)
		return qp->bad_bf_why;
	return VEN_NONE;
}

/* Logs what wqe_check() found. */
void wqe_report(const struct softhca_qp *qp, const struct wqe *wqe, enum wire_vendor why,
	uint16_t posted);

/* A 16-byte unit of the WQE. Units may run past the end of the send queue, to its start. */
static inline const uint8_t *
wqe_seg(const struct run *run, const struct wqe *wqe, unsigned int ds)
{
	uint32_t off = (uint32_t)(wqe->seg0 - run->qp->sq) + ds * WQE_SEG;

	return run->qp->sq + (off & run->qp->sq_mask);
}

/* The unit at which the WQE's data segments begin, where its opcode has any. */
static inline unsigned int
wqe_data_unit(const struct wqe *wqe)
{
	return wqe->op->head_ds + wqe->first - 1;
}

/* 16-byte units of a raw packet's Ethernet segment, whose inline header has len bytes. */
static inline unsigned int
wqe_eth_units(unsigned int len)
{
	return len > ETH_INLINE_FIRST ? 1 + (len - ETH_INLINE_FIRST + WQE_SEG - 1) / WQE_SEG : 1;
}

/*
 * The local memory that data segments from unit `first` on name, as the opcode wants to use it, and
 * inline data where it reads. SYN_LOC_PROT, SYN_LOC_LEN, SYN_QP_OP with run->use.vendor set.
 */
unsigned int wqe_gather_at(struct run *run, const struct wqe *wqe, unsigned int first,
	struct sg *sg);

static inline unsigned int
wqe_gather(struct run *run, const struct wqe *wqe, struct sg *sg)
{
	return wqe_gather_at(run, wqe, wqe_data_unit(wqe), sg);
}

/* The length that a data segment's field says: 0 is 2 GiB. */
static inline uint64_t
wqe_data_len(const uint8_t *seg)
{
	uint32_t len = get_be32(seg + DATA_LEN);

	return len == 0 ? DATA_LEN_ZERO_IS : len;
}

#endif
