/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records: how a message to a queue pair of another process looks on a connection (wire_adapter.h).
 *
 *     asking process                                        serving process
 *        | RECORD_REQUEST | data |        -------------->     checks the message, or executes it
 *        | RECORD_MORE    | data | ...    -------------->     only if the data need several records
 *        <--------------   | RECORD_ANSWER | data | ...       the result, and the data of a read
 *
 * A record is one datagram of a SOCK_SEQPACKET socket, of at most RECORD_MAX bytes. Its numbers are
 * in the host's byte order, because both processes run on one host. The records of a message follow
 * each other: no record of another message of the same direction is between them.
 */
#ifndef SOFTHCA_RECORD_H
#define SOFTHCA_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#define RECORD_MAX 65536u
/* Changes with each change of these structs. */
#define RECORD_MAGIC 0x73684302u
/* most bytes of a message: a WQE moves at most 2 GiB */
#define RECORD_MAX_MESSAGE (UINT64_C(1) << 31)

enum record_kind {
	RECORD_REQUEST = 1, /* struct record_request, and the first data of the message */
	RECORD_MORE,        /* struct record, and the next data */
	RECORD_ANSWER       /* struct record_answer, and data of a read */
};

/* The head of each record. */
struct record {
	uint32_t magic;
	uint8_t kind; /* enum record_kind */
	uint8_t zero[3];
	uint32_t qpn;   /* number of the asking QP */
	uint32_t id;    /* number of the message, different for successive messages of a QP */
	uint64_t off;   /* position of the record's data in the message's data */
	uint64_t total; /* bytes of the message's data; for a read: bytes to read */
};

/* Flags of a request. */
enum {
	RECORD_SOLICITED = 1 << 0,
	RECORD_DELAYED = 1 << 1,
	RECORD_AGAIN = 1 << 2,
	RECORD_HAS_GRH = 1 << 3,
	RECORD_IS_V2 = 1 << 4,
	RECORD_ETHERNET = 1 << 5, /* the sender's link layer */
	RECORD_LOOPBACK = 1 << 6, /* the path needs no addresses */
	RECORD_FLAGS = (1 << 7) - 1
};

/* The fields have the names and meanings of those in struct message (exec/message.h). */
struct record_request {
	struct record head;
	uint32_t dest_qpn, srqn, qkey, rkey, imm;
	uint16_t type; /* enum softhca_qp_type of the asking QP */
	uint8_t opcode, flags;
	uint64_t va, swap_add, compare, dc_key;
	uint8_t dgid[16], sgid[16], dmac[6];
	uint16_t dlid, slid;
	uint8_t sl, tclass, hop_limit, zero;
	uint32_t flow;
	uint8_t zeros[2];
};

struct record_answer {
	struct record head;
	uint16_t result;   /* SYN_OK, a syndrome, or enum message_result */
	uint16_t vendor;   /* enum wire_vendor */
	uint8_t rnr_timer; /* for MESSAGE_RNR */
	uint8_t last;      /* 1: the last answer to the message */
	uint8_t zero[2];
	uint64_t ns;  /* for MESSAGE_LATER: send the message again after this time */
	uint64_t old; /* for an atomic: the old value */
};

/* Room for the data of a request and of an answer. */
#define RECORD_DATA (RECORD_MAX - 256u)

_Static_assert(sizeof(struct record) == 32, "no padding");
_Static_assert(sizeof(struct record_request) <= 256 && sizeof(struct record_answer) <= 256,
	"RECORD_DATA bytes fit beside each head");

/* Names a message of an adapter: the QP and the id. Never 0. */
static inline uint64_t
record_name(const struct record *head)
{
	return (uint64_t)head->qpn << 32 | head->id;
}

#endif
