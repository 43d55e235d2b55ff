/* SPDX-License-Identifier: BSD-3-Clause */
/* Running one WQE: what every kind of operation needs, and the table of opcodes. */
#ifndef SOFTHCA_EXEC_H
#define SOFTHCA_EXEC_H

#include "data.h"
#include "opcode.h"

/* What became of a WQE: a syndrome (SYN_OK: done), or that it must be tried again. */
enum exec_result {
	EXEC_WAIT_RNR = 0x100,
	EXEC_WAIT_PEER = 0x101,
	EXEC_WAIT_TIME = 0x102 /* until qp->wait_until, which is set */
};

exec_fn exec_nop, exec_ud_send, exec_raw_send, exec_tso, exec_send, exec_write, exec_read,
	exec_atomic, exec_mmo, exec_umr, exec_set_psv;

static inline const uint8_t *
wqe_seg(const struct run *run, const struct wqe *wqe, unsigned int ds)
{
	uint32_t off = (uint32_t)(wqe->seg0 - run->qp->sq) + ds * WQE_SEG;

	return run->qp->sq + (off & run->qp->sq_mask);
}

/* The 16-byte unit at which the WQE's data segments begin, where its opcode has any. */
static inline unsigned int
wqe_data_unit(const struct wqe *wqe)
{
	return wqe->op->head_ds + wqe->first - 1;
}

/*
 * The local memory that data segments from unit `first` on name, as the opcode wants to use it, and
 * inline data where it reads. SYN_LOC_PROT, SYN_LOC_LEN, SYN_QP_OP with run->vendor set.
 */
unsigned int exec_gather_at(struct run *run, const struct wqe *wqe, unsigned int first,
	struct sg *sg);

static inline unsigned int
exec_gather(struct run *run, const struct wqe *wqe, struct sg *sg)
{
	return exec_gather_at(run, wqe, wqe_data_unit(wqe), sg);
}

/*
 * The responder's rules for a request to its memory. SYN_OK: *out is it. Otherwise the responder is
 * in error already, and the syndrome is the requester's.
 */
unsigned int responder_gather(struct run *run, uint32_t access, const uint8_t *raddr, uint64_t len,
	struct sg *out);
/* Told here: memory that a request reaches may not be used so. The requester's syndrome. */
unsigned int responder_refuse_memory(struct run *run);
unsigned int responder_may_read(struct run *run);

/* rq.c: the responder's QP into error. Its receive side is let go. */
void responder_fail_receive(struct run *run, struct softhca_qp *qp, enum wire_syndrome syndrome);
void responder_fail(struct run *run, struct softhca_qp *qp, enum wire_syndrome nak);

/*
 * rq.c: faults on demand at a message's receive. SYN_OK: it may arrive; EXEC_WAIT_TIME: later; or the
 * syndrome of the receive, which is for the caller to fail.
 */
unsigned int responder_strike(struct run *run, struct softhca_qp *qp);

/* exec_send.c: a message's end at the responder: the receive WQE that SEND and immediate use up. */
unsigned int responder_receive(struct run *run, const struct wqe *wqe, const struct sg *src,
	uint32_t byte_cnt);

#endif
