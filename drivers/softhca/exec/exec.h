/* SPDX-License-Identifier: BSD-3-Clause */
/* Running one WQE: what every kind of operation needs, and the table of opcodes. */
#ifndef SOFTHCA_EXEC_H
#define SOFTHCA_EXEC_H

#include "gather.h"
#include "opcode.h"
#include "run.h"
#include "wire.h"

struct wqe {
	const uint8_t *seg0; /* the control segment */
	const struct opcode *op; /* the row of its opcode */
	uint32_t opcode, opmod, ds, bb;
	uint32_t first; /* where the operation's own segments begin, behind control and address */
	uint32_t imm;   /* as host number of the big-endian word */
	enum wire_ce ce;
	bool solicited;
};

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
 * inline data where it reads. SYN_LOC_PROT, SYN_LOC_LEN, SYN_QP_OP with run->use.vendor set.
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

/* What a work request's data go through on their way: see key_use_move(). */
static inline enum sg_end __attribute__((warn_unused_result))
run_copy(struct run *run, const struct sg *dst, const struct sg *src)
{
	return key_use_move(&run->use, dst, src);
}

/* ---- transports: transport.c */

/* 16-byte units of address between the control segment and the operation's own, if it goes to a peer. */
unsigned int qp_address_units(enum softhca_qp_type type);
/*
 * The responder that the WQE goes to, with its receive side held, in run->peer. SYN_OK, or
 * EXEC_WAIT_PEER: absent, or not ready; or the syndrome of its refusal.
 */
unsigned int run_hold_peer(struct run *run, const struct wqe *wqe);
/* A UD message, whose payload is src, to whom its address names. It arrives, or does not. */
/* SYN_OK, whether somebody receives it or not; SYN_LOC_PROT. */
unsigned int ud_deliver(struct run *run, const struct wqe *wqe, const struct sg *src);
/* The PD by which the responder judges a request: of the XRC SRQ that it names, or of the peer. */
uint32_t responder_pdn(const struct run *run);
/* The streams of a DCI: true where that of the WQE is in error; one more is; -EINVAL. */
bool stream_is_failed(const struct softhca_qp *qp, const struct wqe *wqe);
/* Returns true where the QP goes on with other streams. */
bool stream_fail(struct softhca_qp *qp, const struct wqe *wqe);

/* UAR held: completes everything posted as flushed. */
void sq_flush(struct run *run);

/* ---- receive queues: rq.c; the receive side is held */

struct recv_wqe {
	uint16_t index;
	struct sg sg;
};
bool rq_has_work(const struct softhca_qp *qp);
/* There is a receive. A record that counts more of them than the queue holds is the QP's end. */
bool rq_is_ready(struct run *run, struct softhca_qp *qp);
void rq_flush(struct run *run, struct softhca_qp *qp);
/* The oldest receive WQE's memory. SYN_RNR: there is none; SYN_LOC_PROT: it may not be written. */
enum wire_syndrome rq_peek(struct run *run, struct softhca_qp *qp, uint64_t need,
	struct recv_wqe *recv);
void rq_complete(struct run *run, struct softhca_qp *qp, const struct cqe *cqe);
/* Segments of a receive WQE, until they hold `need` bytes. */
enum wire_syndrome rq_scatter(struct run *run, uint32_t pdn, struct softhca_dev *dev,
	const uint8_t *seg, unsigned int n, uint64_t need, struct sg *sg);
/* The QP into error; its receive queue is flushed, its send queue will be. */
void qp_fail_receive_side(struct run *run, struct softhca_qp *qp);
/* qp_fail_receive_side(), told by an event: the queue or its CQ cannot be used any more. */
void qp_fatal_receive_side(struct run *run, struct softhca_qp *qp);

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
