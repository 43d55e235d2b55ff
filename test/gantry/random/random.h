/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The random test: engine and model side by side.
 *
 *   test_gantry_random.c   lives of an engine, each of many rounds; the command line
 *        |
 *   world.c                memory, layouts and workers come and go
 *   eal.c                  memory of EAL grows and shrinks
 *   keys.c                 keys that peers may invalidate
 *   fault.c                faults of the adapter, and the statuses that they allow
 *   link.c                 connections come and go
 *   recv.c                 receives of connections, and their messages
 *   dc.c                   DC peers and targets, whose messages come in any order
 *        |
 *   side.c                 one queue: descriptors go in, completions are judged, the model follows
 *        |
 *   draw.c                 draws descriptors
 *   model_*.c              what the headers say
 *
 *   replay.c               time and events, where one thread does everything
 *
 * A round ends when everything has come back. Then memory and counters are compared with the model.
 *
 * The model follows in the order of submission. The engine may run descriptors in any order, so one is
 * fenced if it conflicts with another one in flight.
 */
#ifndef RANDOM_H
#define RANDOM_H

#include <rte_common.h>

#include "gantry_env.h"
#include "model.h"

#define WINDOW     256  /* descriptors of one queue in flight */
#define HISTORY    2048 /* descriptors that are kept, to tell of them */
#define RECV_LEN   192  /* bytes of each receive */
#define RECV_SLOTS 64
#define RECV_DEPTH 24
#define SIDE_ENDS  6
#define DEVICE_LEN (16384 - 512) /* of device memory, in pages of its own */

struct side;

/* One descriptor from when it is drawn until the model has followed it. */
struct record {
	struct gantry_desc desc;
	struct gantry_sge sge[16]; /* lists: 8 sources, 8 destinations */
	struct gantry_sge put[16]; /* the same as they are submitted */
	uint32_t raw[16];          /* a WQE */
	uint32_t refusals;         /* statuses of rules that it broke at some time of its flight */
	bool may_run;              /* at some time of its flight it broke none */
	bool is_refused_there;     /* the peer will refuse it */
	bool is_lost_there; /* the memory that it reaches there has gone since it was drawn */
	bool is_message;    /* it takes a receive */
	bool cancelled, done;
	uint8_t status;
	uint64_t result;
	uint64_t put_tsc; /* when it was submitted */
	struct model_range read, wrote;
	struct end *end; /* NULL: the queue's connection to itself, or none */
};

/* A message that was sent, or perhaps sent. */
struct message {
	bool sure;
	uint8_t op;
	uint32_t imm;
	uint64_t len;
	struct model_byte bytes[RECV_LEN];
};

/* A receive. */
struct receive {
	uint64_t cookie;
	uint32_t refusals;
	uint8_t *at;
	bool out; /* of a target: it has not come back */
};

struct target;

/* One end of a connection between two queues, or of a queue to itself. */
struct end {
	struct side *side;
	struct link *link;
	struct end *other;
	struct target *target; /* of a DC peer: whom it reaches */
	uint16_t peer;
	bool open, connected;
	bool failed; /* a descriptor of it failed in the hardware */
	/* Receives: posted to the engine, completed, and compared with their messages. */
	uint64_t posted, came, matched;
	struct receive recv[RECV_SLOTS];
	struct gantry_recv_comp comp[RECV_SLOTS];
	uint8_t *memory;
	uint64_t arrived[RECV_SLOTS]; /* receives with a message, by number */
	uint64_t n_arrived, n_taken;
	/* What this end has sent. */
	uint64_t
		credits; /* receives at the other end that no message is drawn for: *end_credits() */
	uint64_t n_sent, n_heard;
	struct message sent[2 * WINDOW];
};

struct link {
	struct end end[2];
	bool hurt; /* something failed on it, or will */
};

/* One queue and its model. */
struct side {
	const char *name;
	struct gantry_worker *w; /* NULL: inline */
	bool stopped;
	struct gantry_queue *q;
	bool unordered;
	uint32_t n; /* its number */
	uint64_t rng;
	struct model model;
	struct gantry_mem *mem[MODEL_REGIONS];
	bool going[MODEL_REGIONS]; /* the region is being unregistered */
	struct end *end[SIDE_ENDS];
	unsigned int n_ends;
	/* Numbers of descriptors: drawn, submitted, completed, and followed by the model. */
	uint64_t made, put, got, settled;
	struct record record[HISTORY];
	uint64_t by_status[GANTRY_STATUS_MAX], bytes;
	uint64_t recv_posted, recv_done, recv_refused;
	/* A DC descriptor failed when so many had been submitted: those behind it may be flushed. */
	uint64_t dc_failed;
	uint64_t digest;
};

/* Statuses that faults of this round allow. */
struct hazards {
	uint32_t own, peer;
	uint32_t dc; /* for DC peers alone */
	bool stops;  /* a queue's connection to itself may stop, and is set up again */
	bool recv;   /* receives may fail */
	bool lost;   /* completions of receives may be lost */
	bool late;   /* messages may arrive when their descriptor has come back */
	bool refuse; /* calls may be refused */
	bool fatal;  /* the device fails */
	bool eal;    /* memory of EAL is perhaps not registered */
};

/* Memory that peers reach, memory that comes and goes, memory that is only read, and device memory. */
enum {
	HOME,
	GUEST,
	READ_ONLY,
	DEVICE = MODEL_DEVICE,
};

#define MAX_SIDES 4

/* With threads, deadlines are long. */
#define DEADLINE_MS        3000
#define DEADLINE_PUMPED_MS 40

struct random_run {
	struct gantry *g;
	const char *device; /* its name; NULL: the emulated adapter, which has faults */
	bool pumped;
	bool empty; /* most descriptors are messages without data */
	uint64_t seed, rng;
	struct side side[MAX_SIDES];
	unsigned int n_sides;
	struct link link[2 * MAX_SIDES];
	unsigned int n_links;
	struct target *target;              /* one of each side */
	struct link dc_link[2 * MAX_SIDES]; /* their first ends are the DC peers */
	struct model_layout layout[MODEL_LAYOUTS];
	struct model_range recv_range; /* memory of all receives */
	struct gantry_mem *recv_mem, *eal;
	struct hazards hazards;
	char armed[24][64]; /* the faults of this round */
	unsigned int n_armed;
	uint64_t by_op_ok[GANTRY_OP_MAX], by_status[GANTRY_STATUS_MAX]; /* of all lives */
	uint64_t messages, cancelled, refused_calls, faults, lives, rounds;
	uint64_t late; /* descriptors that timed out in rounds without a fault */
};

extern struct random_run run;

/* A random number below n, for decisions about the whole run. */
uint64_t chance(uint64_t n);

/* ------------------------------------------------------------------ draw.c */

/* Draws a descriptor for s. Fills all of *r but cookie, fence and verdict. */
void draw(struct side *s, struct record *r);

/* ------------------------------------------------------------------ side.c */

/* Prints what went wrong, the seed, and the last operations of the queue, and ends the program. */
__attribute__((cold, noreturn, format(printf, 3, 4))) void side_fail(const struct side *s,
	const struct record *r, const char *format, ...);

/* Draws n descriptors, as far as the window has room. */
void side_draw(struct side *s, unsigned int n);
/* Submits what is drawn, as far as the queue has room. */
void side_put(struct side *s);
/* Takes completions, at most n, and judges them. */
void side_take(struct side *s, unsigned int n);
/* Something that descriptors name has changed: those in flight may be judged by either. */
void side_changed(struct side *s);
/* Cancels one of those in flight. */
void side_cancel(struct side *s);
/* Everything has come back: the counters must be as in the model. */
void side_judge_counters(struct side *s);
/* And so must the memory, which the device no longer writes. */
void side_judge_bytes(struct side *s);

/* ------------------------------------------------------------------ link.c */

void link_init(struct link *l, struct side *a, struct side *b);
/* Opens and connects it. A call that is refused is tried again later. */
void link_open(struct link *l);
/* Closes it. What is not possible yet is done by another call. */
void link_close(struct link *l);
/* Closes and opens it, if nothing is in flight there; else the engine must refuse. */
void link_change(struct link *l);
/* The end of that side with that number, or NULL. */
struct end *side_end(struct side *s, uint16_t peer);
/* True: the call was carried out. Only where faults refuse calls may it not be. */
bool carried_out(int ret, const char *call);
/* What is known of the end's number has changed. */
void end_tell(struct end *e);
/* True: a descriptor in flight names a peer that is not open. */
bool side_names_no_end(const struct side *s);
/* The side has descriptors in flight to this end; sure: the engine cannot think otherwise. */
bool end_in_flight(const struct end *e, bool sure);
/* Closes one end. False: try again later. */
bool end_close(struct end *e);

/* ------------------------------------------------------------------ recv.c */

/* Posts receives. */
void end_post(struct end *e);
/* Posts one receive of a side. False: there is no room for it yet. */
bool side_post(struct side *s, uint16_t peer, const struct gantry_recv *recv);
/* A receive for that place: mostly a good one; some break a rule. */
void draw_receive(struct side *s, uint8_t *at, struct gantry_recv *recv, struct receive *r);
/* Takes and judges completions of receives. */
void side_take_receives(struct side *s);
/* What the receives belong to is closed, so all of them come back. A worker that is stopped gives back those
 * in its ring. */
void side_take_until(struct side *s, const uint64_t *came, const uint64_t *posted);
/* The model followed a descriptor that takes a receive: it was, or was perhaps, or not carried out. */
void end_sent(struct end *e, const struct record *r, bool ran, bool sure);
/* A message as the model sends it. */
void message_of(struct side *s, const struct record *r, bool sure, struct message *m);
/* How many receives there are for messages of this end. */
uint64_t *end_credits(struct end *e);

/* ------------------------------------------------------------------ dc.c */

/* Around the life of an engine. */
void dc_init(void);
/* Opens what is not open. A call that is refused is tried again later. */
void dc_open(void);
/* Closes all, or what is hurt. What is not possible yet is done by another call. */
void dc_close(bool all);
void dc_free(void);
/* True: nothing is hurt. */
bool dc_is_whole(void);
/* Posts receives for the side's target. */
void dc_post(struct side *s);
/* A DC peer or a target comes or goes. */
void dc_change(void);
/* Judges a completion if it is of a target's receive. */
bool dc_judge_receive(struct side *s, const struct gantry_recv_comp *c);
/* A receive in a worker's ring was taken back. False: it is of no target. */
bool dc_take_back(struct side *s, uint64_t cookie);
void dc_sent(struct end *e, const struct record *r, bool sure);
uint64_t *dc_credits(struct target *t);
/* True: that number of the side is a target's. */
bool dc_is_open(const struct side *s, uint16_t peer);
/* The statuses that a descriptor to a DC peer may have, besides refusals. */
uint32_t dc_allowed(const struct side *s, const struct record *r);
/* A descriptor will be, or was, refused by the target, or failed. */
void dc_will_fail(struct end *e, const struct record *r);
void dc_failed(struct side *s);
/* Everything has come back: messages and receives must be pairs. */
void dc_judge(void);

/* ------------------------------------------------------------------ eal.c */

/* Where pages of EAL are in an arena: behind memory of none. */
#define EAL_AT (UINT64_C(244) << 10)

/* Around the life of an engine, when arenas are there. */
void eal_open(void);
void eal_close(void);
/* A page comes or goes. */
void eal_change(struct side *s);
/* The pages that are there are registered again, as the engine may have been refused that. */
void eal_mend(void);
/* An address in these pages, of which some may not be there. False: len is too long. */
bool eal_pick(struct side *s, uint64_t len, uint64_t *addr);
/* True: it names such memory, and calls were refused: perhaps it is not registered. */
bool eal_is_unsure(const struct side *s, const struct record *r);

/* ------------------------------------------------------------------ keys.c */

/* Around the life of an engine, when sides and memory are there. */
void keys_open(void);
void keys_close(void);
/* All keys are valid again. Nothing is in flight, and no fault is armed. */
void keys_mend(void);
/* A key that no descriptor in flight names: mostly valid. 0: there is none. */
uint32_t keys_pick(struct side *s);
/* A SEND_INV was drawn; it was, or was perhaps, or not carried out. */
void keys_draw(const struct record *r);
void keys_use(const struct record *r, bool ran);

/* ------------------------------------------------------------------ fault.c */

/* Arms a fault. plain: one whose effect depends on neither time nor events. */
void fault_arm(bool plain);
/* The device will fail: the round is the last one of its life. */
void fault_lose_device(void);
/* A deadline has passed without a fault: a thread of the adapter waited for a CPU so long. */
void fault_deadline_passed(void);
/* The round is over, and what its faults did is mended. */
void fault_clear(void);

/* ------------------------------------------------------------------ replay.c */

/* Around the life of an engine. */
void replay_begin(void);
void replay_end(void);
/* A turn of a pumped run: time goes by, and the engine knows of all events. */
void replay_turn(void);
/* Around a call that waits for a time. */
void replay_call_waits(bool waits);

/* ------------------------------------------------------------------ world.c */

void world_open(void);
void world_close(void);
/* Something comes or goes. */
void world_change(void);
/* Goes on with what could not be done before. */
void world_retry(void);
/* All that was lost is there again, for the next round. */
void world_mend(void);

#endif
