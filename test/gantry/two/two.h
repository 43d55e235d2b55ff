/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The random test of two processes.
 *
 *   test_gantry_two.c   the driver: a process that starts two parties, stops and kills them
 *        |
 *   party.c             a party: a process with an engine, whose queues are connected to the queues
 *        |              of the other party
 *   messages.c          messages of a party, and receives for the messages of the other party
 *        |
 *   flow.c              one queue: submits descriptors, judges completions, updates the model
 *        |
 *   deal.c              draws descriptors
 *   ../random/model_*.c the model: the rules of the headers
 *
 * The driver and the parties share memory, for the test's own use:
 * - the board, for the commands of the driver, and for addresses and keys of the parties,
 * - an arena for each queue.
 *
 * The arena of a queue has three parts: HOME, which the queue's own engine has registered; FAR,
 * which the other party's engine has registered for peers; and POOL, whose bytes never change. Only
 * descriptors of this queue write to the arena. So the party of the queue knows what each byte must
 * be, also the bytes that the other party's adapter has written.
 */
#ifndef TWO_H
#define TWO_H

#include <stdatomic.h>

#include <rte_common.h>

#include "gantry_env.h"
#include "random/model.h"

#define QUEUES       2 /* of each party; queue 1 is unordered */
#define LINKS        3 /* of each queue with the same queue of the other party: two RC, one DC */
#define DC_LINK      2
#define HALF_LEN     (1u << 20) /* length of HOME, and of FAR */
#define POOL_LEN     (256u << 10)
#define ARENA_LEN    (2 * HALF_LEN + POOL_LEN)
#define RECV_LEN     (160u << 10)
#define RECV_DEPTH   16
#define MESSAGES_MAX 4096 /* most messages that a link carries in one direction in a round */
#define WINDOW       100  /* largest number of descriptors in flight on one queue */
#define HISTORY      256  /* number of descriptors that a queue keeps, for the text of a failure */

/*
 * The retries of a connection: a request without an answer is sent again after 4.096 us << 10,
 * which is 4.2 ms.
 */
#define RETRY_TIMEOUT 10
#define RETRIES       2
/* The time after which an absent peer is unreachable: all attempts, each with the same time. */
#define RETRIES_NS ((UINT64_C(4096) << RETRY_TIMEOUT) * (RETRIES + 1))

/* Parts of an arena: indices of the model's regions. */
enum {
	HOME,
	FAR,
	POOL
};

/* A message. Its sender writes this struct before it sends the message. */
struct sent {
	uint8_t op;
	atomic_bool ok;        /* the sender's descriptor completed with GANTRY_OK */
	atomic_bool heard;     /* a receive completed with GANTRY_OK */
	uint32_t imm, at, len; /* at: offset in the POOL of the sender's arena */
};

/* The messages of a link in one direction in a round. */
struct way {
	atomic_uint n_sent, n_heard;
	struct sent sent[MESSAGES_MAX];
};

/* A link. Element n of each array belongs to party n. */
struct link {
	struct gantry_addr addr[2]; /* of the DC link: the address of a target */
	/* The party has drawn a descriptor that the other party refuses. */
	atomic_bool hurt[2];
	struct way way[2]; /* messages that the party sends */
};

/* Memory that a party has registered for the other party. */
struct far {
	uint32_t key;
	uint64_t addr;
};

/* What the driver and the parties share. */
struct board {
	uint64_t seed; /* random seed of the present round */
	uint32_t goal; /* number of descriptors of each queue in a round */
	/*
	 * Commands from the driver process to the parties. round: the number of the present round.
	 * ends: true when the parties must end.
	 */
	atomic_uint round;
	atomic_bool ends;
	/*
	 * 0: both parties live. 1: one party is being killed. 2: the killed party does not exist
	 * any more. 3: the other party has closed its connections.
	 */
	atomic_uint dead;
	atomic_ullong killed_ns; /* time just before the party was killed */
	atomic_uint finished[2]; /* the last round that the party has finished */
	atomic_uint step[2];     /* the last step at which the parties met */
	/* number of descriptors of the party that completed in this round */
	atomic_uint settled[2];
	struct far far[2][QUEUES]; /* [party][queue]: the memory that the party has registered */
	struct link link[QUEUES][LINKS];
	/* counts over all rounds, which the driver prints */
	atomic_ullong by_status[GANTRY_STATUS_MAX], by_op[GANTRY_OP_MAX], bytes, heard;
	atomic_ullong longest_ns; /* the longest time from a kill to the last completion */
};

/* A descriptor, from the time when it is drawn until the model has processed it. */
struct record {
	struct gantry_desc desc;
	struct gantry_sge sge[16]; /* lists: 8 sources, 8 destinations */
	struct model_range read, wrote;
	int link;          /* the descriptor's link, or -1 */
	struct sent *sent; /* the message; NULL if the descriptor sends no message */
	bool refused_there, after_death, done;
	uint64_t put_ns; /* the time when it was submitted */
	uint8_t status;
	uint64_t result;
};

struct party;

/* One end of a link. */
struct end {
	uint16_t peer; /* the peer to which descriptors are sent */
	/*
	 * the peer to which receives are posted: a target on the DC link, otherwise equal to `peer`
	 */
	uint16_t target;
	bool failed; /* a descriptor failed */
	uint64_t posted, came;
	uint8_t *memory; /* memory of the receives */
	bool is_posted[RECV_DEPTH];
};

/* One queue and its model. */
struct flow {
	struct party *party;
	unsigned int i;
	struct gantry_queue *q;
	struct model model;
	struct gantry_mem *home, *pool, *far; /* far: the part FAR of the other party's arena */
	struct end end[LINKS];
	uint64_t rng, made, put, got, settled, goal;
	/*
	 * number of descriptors that had been submitted when a descriptor to a DC peer failed last
	 */
	uint64_t dc_failed;
	struct record record[HISTORY];
};

struct party {
	unsigned int n; /* 0 or 1 */
	struct board *board;
	uint8_t *arena[2][QUEUES];
	struct gantry *g;
	struct gantry_mem *recv_mem;
	uint8_t *recv;
	struct model_layout layout[MODEL_LAYOUTS];
	struct flow flow[QUEUES];
	bool open, connected; /* the ends of all links */
	unsigned int round;
	unsigned int fds; /* smallest number of open files after the other party died */
	size_t heap;      /* smallest number of bytes of malloc(3) after the other party died */
	void (*yield)(struct party *p);
};

/* Prints the failure and the last operations of the queue, then ends the program. */
__attribute__((cold, noreturn, format(printf, 2, 3))) void flow_fail(const struct flow *f,
	const char *format, ...);

uint64_t now_ns(void);

/* ------------------------------------------------------------------ deal.c */

/* Draws a descriptor. Fills desc, sge, link, sent and refused_there of the record. */
void deal(struct flow *f, struct record *r);

/* ------------------------------------------------------------------ flow.c */

/* Draws up to n descriptors, as far as the window and the goal permit. */
void flow_draw(struct flow *f, unsigned int n);
/* Submits the drawn descriptors, as far as the queue accepts them; takes and judges completions. */
void flow_turn(struct flow *f);
/* Call it when nothing is in flight: each byte of the arena must have a value of the model. */
void flow_judge(struct flow *f);

/* ------------------------------------------------------------------ messages.c */

struct link *link_of(const struct flow *f, unsigned int i);
bool link_is_hurt(const struct flow *f, unsigned int i);
/* Stores the struct of a message, before the message is sent. Returns NULL if there is no room. */
struct sent *message_note(struct flow *f, unsigned int link, const struct gantry_desc *d);
/* Posts as many receives as possible; without `all`, perhaps fewer. */
void receives_post(struct flow *f, bool all);
/* Takes completions of receives and judges them. */
void receives_take(struct flow *f);
/*
 * True if each message to this queue whose descriptor completed with GANTRY_OK has been received.
 */
bool receives_are_there(const struct flow *f);
/* Call it when neither party has a descriptor in flight. Begins the next round. */
void messages_forget(struct flow *f);

/* ------------------------------------------------------------------ party.c */

/* Runs a party until the driver ends it. EAL is initialised. */
void party_run(struct party *p);

#endif
