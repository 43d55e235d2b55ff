/* SPDX-License-Identifier: BSD-3-Clause */
/* Running one WQE: what every kind of operation needs, and the table of opcodes. */
#ifndef SOFTHCA_EXEC_H
#define SOFTHCA_EXEC_H

#include "data.h"

/* What became of a WQE: a syndrome (SYN_OK: done), or that it must be tried again. */
enum exec_result {
	EXEC_WAIT_RNR = 0x100,
	EXEC_WAIT_PEER = 0x101,
	EXEC_WAIT_TIME = 0x102 /* until qp->wait_until, which is set */
};

typedef unsigned int exec_fn(struct run *run, const struct wqe *wqe);

/* What the device knows of an opcode. */
struct opcode_fact {
	exec_fn *exec; /* NULL: not an opcode of this device */
	uint8_t min_ds;
	enum wire_cqe_opcode recv; /* completion at the peer, where the operation uses a receive */
};

extern const struct opcode_fact opcode_facts[64];

exec_fn exec_nop, exec_ud_send, exec_raw_send, exec_tso, exec_send, exec_write, exec_read,
	exec_atomic, exec_mmo, exec_umr, exec_set_psv;

static inline const uint8_t *
wqe_seg(const struct run *run, const struct wqe *wqe, unsigned int ds)
{
	uint32_t off = (uint32_t)(wqe->seg0 - run->qp->sq) + ds * WQE_SEG;

	return run->qp->sq + (off & run->qp->sq_mask);
}

/*
 * The local memory that data segments `first`.. name, and inline data where `need` is 0 (they are
 * read). SYN_LOC_PROT, SYN_LOC_LEN, SYN_QP_OP with run->vendor set.
 */
unsigned int exec_gather(struct run *run, const struct wqe *wqe, unsigned int first, uint32_t need,
	struct sg *sg);

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
