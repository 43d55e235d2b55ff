/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The message that a requester sends to a responder, and the answer.
 *
 *       requester                                             responder
 *   sq*.c    visits a send queue                     responder.c         takes the message
 *   wqe.c    fetches a WQE, gathers its memory       responder_find.c    finds its QP
 *   exec_*.c one file for each kind of opcode        respond_*.c         one for each kind:
 *      |                                             responder_memory.c  checks the key
 *      |                                             responder_receive.c finds the receive
 *      |                                                         ^
 *      +---- struct message ------ responder_ask() --------------+
 *      <---- result, struct answer ------------------------------+
 *
 * opcode_table.c has the functions of exec_*.c and respond_*.c for each opcode. An opcode that
 * stays inside the adapter has no responder.
 *
 * A requester only knows this call of the responder. The payload is a list of pieces of the
 * requester's memory: the responder copies from these pieces, or into them, once. All other fields
 * of a message are numbers, as a packet carries them; `op` and `sgid` point into tables.
 *
 * Locks: the responder takes the receive side of the message's QP, then perhaps an SRQ. It keeps
 * both for the next message, until a message is for another QP or responder_release() is called.
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

/* The path between ports. Only for UD and DC, whose WQEs have an address vector. */
struct message_path {
	uint8_t dgid[16], dmac[6];
	uint16_t dlid;
	uint16_t slid; /* LID of the sender's port */
	uint8_t sl;
	bool has_grh; /* the packet has a global header, with the fields below */
	bool is_v2;   /* sgid is a GID of RoCE v2; else of RoCE v1 or InfiniBand */
	const uint8_t *sgid;
	uint32_t flow;
	uint8_t tclass, hop_limit;
};

struct message {
	const struct opcode *op;

	/* The sender. */
	enum softhca_qp_type type;
	uint32_t qpn;

	/* The addressee. */
	uint32_t dest_qpn;        /* the QP's number; DC: the DCT's */
	uint32_t srqn;            /* XRC: the SRQ's number */
	uint32_t qkey;            /* UD */
	uint64_t dc_key;          /* DC */
	struct message_path path; /* UD, DC */

	/* The request. */
	uint64_t va; /* of the responder's memory: writes, reads, atomics */
	uint32_t rkey;
	uint32_t imm; /* immediate data, or the key to invalidate; host byte order */
	bool solicited;
	/* a fault has delayed the message: no further fault strikes it */
	bool delayed;
	bool again;                 /* the message was sent before, and got no answer */
	uint64_t swap_add, compare; /* operands of an atomic */
	const struct sg *payload;   /* source; of a read: destination; of an atomic: NULL */
};

/* Results of responder_ask() besides syndromes. */
enum message_result {
	MESSAGE_RNR = 0x100,     /* no receive is posted; answer.rnr_timer is set */
	MESSAGE_NO_PEER = 0x101, /* no peer answers, or not yet */
	MESSAGE_LATER = 0x102    /* the message is delayed: send it again at answer.until */
};

struct answer {
	enum wire_vendor vendor; /* if the result is not SYN_OK */
	uint8_t rnr_timer;       /* the responder's min_rnr_timer, encoded as in ibv_modify_qp(3) */
	uint64_t until;          /* device time */
	uint64_t old;            /* atomics: the old value */
};

/*
 * Has the responder execute a message. Returns SYN_OK, the syndrome with which the requester
 * completes (SYN_LOC_PROT if the memory of the payload is missing), or enum message_result. The
 * caller holds the requester's UAR; of receive sides, only that of run->responder may be held.
 */
unsigned int responder_ask(struct run *run, const struct message *m, struct answer *answer);

/*
 * Releases what the responder holds. Call before another part of this visit takes a receive side,
 * and at the end of the visit.
 */
void responder_release(struct run *run);

#endif
