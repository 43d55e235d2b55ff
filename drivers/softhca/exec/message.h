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
 * responder_ask() is the only function of the responder that an executor of a requester uses. The
 * payload is a list of pieces of the requester's memory: the responder copies from these pieces, or
 * into them, once. All other fields of a message are numbers, as a packet carries them; `op` and
 * `sgid` point into tables.
 *
 * Locks: the responder takes the receive side of the message's QP, then perhaps an SRQ. The
 * responder keeps both locks for the next message, until a message is for another QP or
 * responder_release() is called.
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

/* The path between the ports. It is set only for UD and DC, whose WQEs have an address vector. */
struct message_path {
	uint8_t dgid[16], dmac[6];
	uint16_t dlid;
	uint16_t slid; /* LID of the sender's port */
	uint8_t sl;
	bool has_grh; /* the packet has a global header, with the fields below */
	bool is_v2;   /* true: sgid is a GID of RoCE v2; false: of RoCE v1 or InfiniBand */
	const uint8_t *sgid;
	uint32_t flow;
	uint8_t tclass, hop_limit;
};

struct message {
	const struct opcode *op;

	/* Fields about the sender. */
	enum softhca_qp_type type;
	uint32_t qpn;

	/* Fields about the addressee. */
	uint32_t dest_qpn;        /* number of the QP, or of the DCT for DC */
	uint32_t srqn;            /* number of the SRQ, for XRC */
	uint32_t qkey;            /* only for UD */
	uint64_t dc_key;          /* only for DC */
	struct message_path path; /* only for UD and DC */

	/* Fields of the request. */
	uint64_t va; /* address in the responder's memory, for writes, reads and atomics */
	uint32_t rkey;
	uint32_t imm; /* immediate data, or the key to invalidate; host byte order */
	bool solicited;
	/* A fault has delayed this message. No other fault is applied to it. */
	bool delayed;
	bool again;                 /* the message was sent before and got no answer */
	uint64_t swap_add, compare; /* operands of an atomic */
	/* source of the data; for a read: destination; for an atomic: NULL */
	const struct sg *payload;
};

/* Results of responder_ask() that are not syndromes. */
enum message_result {
	MESSAGE_RNR = 0x100,     /* no receive is posted; answer.rnr_timer is set */
	MESSAGE_NO_PEER = 0x101, /* no peer answers, or the peer is not ready yet */
	MESSAGE_LATER = 0x102,   /* the message is delayed: send it again at answer.until */
	/* the message is under way to another process: run the WQE again when qp->wait allows */
	MESSAGE_UNDER_WAY = 0x103,
	MESSAGE_ELSEWHERE = 0x104 /* inside the responder: no QP of this process has the number */
};

struct answer {
	enum wire_vendor vendor; /* the failed check, if the result is not SYN_OK */
	uint8_t rnr_timer;       /* the responder's min_rnr_timer, encoded as in ibv_modify_qp(3) */
	uint64_t until;          /* device time for MESSAGE_LATER */
	uint64_t old;            /* old value, for an atomic */
};

/*
 * Makes the responder execute a message. Returns SYN_OK, or enum message_result, or the syndrome
 * with which the requester completes. The syndrome is SYN_LOC_PROT if the memory of the payload is
 * missing. The caller holds the lock of the requester's UAR page, and no receive side except that
 * of run->responder.
 */
unsigned int responder_ask(struct run *run, const struct message *m, struct answer *answer);

/* Sets the fields of the answer to a message whose result is not SYN_OK. */
void responder_explain(const struct run *run, unsigned int result, struct answer *answer);

/* A part of a SEND whose data come in several records of another process. */
struct send_part {
	uint64_t sender;     /* the connection: struct served */
	uint64_t off, total; /* position of the part in the SEND's data, and bytes of all data */
};

/*
 * As respond_send(), for a part: m->payload has only the data of this part. The receive completes
 * with the last part. The message's QP is held: responder_find().
 */
unsigned int respond_send_part(struct run *run, const struct message *m,
	const struct send_part *part, struct answer *answer);

/*
 * Releases the locks that the responder holds. Call it before the visit takes another receive side,
 * and at the end of the visit.
 */
void responder_release(struct run *run);

#endif
