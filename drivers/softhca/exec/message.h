/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The message that a requester sends to a responder, and the answer that comes back.
 *
 *        requester                                              responder
 *   sq*.c    visits a send queue                            responder.c        takes the message
 *   wqe.c    fetches a WQE, gathers its memory              responder_find.c   finds its QP
 *   exec_*.c one file for each kind of opcode               respond_*.c        one for each kind:
 *      |                                                    responder_memory.c  judges the key
 *      |                                                    responder_receive.c finds the receive
 *      |                                                         ^
 *      +---- struct message ------ responder_ask() --------------+
 *      <---- result, struct answer ------------------------------+
 *
 * opcode_table.c says for each opcode which exec_*.c and respond_*.c functions run it. An opcode
 * that stays inside the adapter has no responder.
 *
 * A requester knows the responder only by this call. The payload is a list of pieces of the
 * requester's memory: the responder copies from it, or into it, once. All else in a message is
 * numbers, as a packet could carry them; `op` and `sgid` point into tables.
 *
 * Locks: during a call the responder takes the receive side of the QP that it finds, then perhaps
 * an SRQ. It keeps them for the next message, until it finds another QP or responder_release() is
 * called.
 */
#ifndef SOFTHCA_MESSAGE_H
#define SOFTHCA_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "hca.h"
#include "opcode.h"
#include "wire.h"

struct run;
struct sg;

/* From port to port: of transports whose WQEs hold an address vector, UD and DC. */
struct message_path {
	uint8_t dgid[16], dmac[6];
	uint16_t dlid;
	uint16_t slid; /* of the sender's port */
	uint8_t sl;
	bool has_grh; /* the packet has a global header: the fields below say what is in it */
	bool is_v2;   /* sgid is of RoCE v2; else of RoCE v1 or InfiniBand */
	const uint8_t *sgid;
	uint32_t flow;
	uint8_t tclass, hop_limit;
};

struct message {
	const struct opcode *op;

	/* Who asks. */
	enum softhca_qp_type type;
	uint32_t qpn;

	/* Who shall answer. */
	uint32_t dest_qpn;        /* the QP; of DC the DCT */
	uint32_t srqn;            /* XRC: the receive queue */
	uint32_t qkey;            /* UD */
	uint64_t dc_key;          /* DC */
	struct message_path path; /* UD, DC */

	/* What is asked. */
	uint64_t va; /* the responder's memory: writes, reads, atomics */
	uint32_t rkey;
	uint32_t imm; /* immediate data, or the key to invalidate; host byte order */
	bool solicited;
	bool delayed;               /* a fault has delayed it already: no other fault meets it */
	bool again;                 /* nobody answered it before */
	uint64_t swap_add, compare; /* operands of an atomic */
	const struct sg *payload;   /* source; of a read the destination; of an atomic NULL */
};

/* Results of responder_ask() that are no syndrome. */
enum message_result {
	MESSAGE_RNR = 0x100,     /* no receive is posted: answer.rnr_timer */
	MESSAGE_NO_PEER = 0x101, /* nobody answers, or not yet */
	MESSAGE_LATER = 0x102    /* the message is delayed: try it again at answer.until */
};

struct answer {
	enum wire_vendor vendor; /* of a result other than SYN_OK */
	uint8_t rnr_timer;       /* the responder's, as ibv_modify_qp(3) encodes min_rnr_timer */
	uint64_t until;          /* device time */
	uint64_t old;            /* atomics: the value before */
};

/*
 * Has the responder do what a message asks. Returns SYN_OK; the syndrome that the requester
 * completes with, SYN_LOC_PROT where the payload's own memory is missing; or enum message_result.
 * The requester's UAR is held. The only receive side that may be held is run->responder's.
 */
unsigned int responder_ask(struct run *run, const struct message *m, struct answer *answer);

/*
 * Lets go what the responder holds. Called before anybody else takes a receive side in this visit,
 * and at the end of the visit.
 */
void responder_release(struct run *run);

#endif
