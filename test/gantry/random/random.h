/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The random test: engine and model side by side.
 *
 *   test_gantry_random.c   engines, each of which lives for many rounds; the command line
 *        |
 *   world.c                memory, layouts and workers come and go
 *   eal.c                  memory of EAL grows and shrinks
 *   keys.c                 keys that peers may invalidate
 *   fault.c                faults of the adapter, and the statuses that they allow
 *   link.c                 connections come and go
 *   recv.c                 receives of connections, and their messages
 *   dc.c                   DC peers and targets, whose messages come in any order
 *        |
 *   side.c                 one queue: submits descriptors, judges completions, updates the model
 *        |
 *   draw.c                 draws descriptors
 *   model_*.c              the model: the rules of the headers
 *
 *   replay.c               time and events, if one thread does everything
 *
 * A round ends when all descriptors and receives have completed. Then memory and counters are
 * compared with the model.
 *
 * The model executes descriptors in the order of submission. The engine may execute them in any
 * order. So a descriptor that conflicts with a descriptor in flight is fenced.
 */
#ifndef RANDOM_H
#define RANDOM_H

#include <rte_common.h>

#include "gantry_env.h"
#include "model.h"

#define WINDOW     256  /* largest number of descriptors in flight on one queue */
#define HISTORY    2048 /* number of the latest descriptors that are kept */
#define RECV_LEN   192  /* length of a receive */
#define RECV_SLOTS 64
#define RECV_DEPTH 24
#define SIDE_ENDS  6
#define DEVICE_LEN (16384 - 512) /* length of device memory, which is in pages of its own */

struct side;

/* A descriptor, from the time when it is drawn until the model has processed it. */
struct record {
	struct gantry_desc desc;
	struct gantry_sge sge[16]; /* lists: 8 sources, 8 destinations */
	struct gantry_sge put[16]; /* the same lists with true addresses, as they are submitted */
	uint32_t raw[16];          /* a WQE */
	/* Statuses of rules that the descriptor broke at some time while it was in flight. */
	uint32_t refusals;
	/* the descriptor broke no rule at some time while it was in flight */
	bool may_run;
	bool is_refused_there; /* the peer will refuse the descriptor */
	/*
	 * The memory that the descriptor names at the peer was removed after the descriptor was
	 * drawn.
	 */
	bool is_lost_there;
	bool is_message; /* the descriptor uses a receive */
	bool cancelled, done;
	bool counted; /* gantry_poll_good() has counted it, so its completion is not known */
	uint8_t status;
	uint64_t result;
	uint64_t put_tsc; /* time when the descriptor was submitted */
	struct model_range read, wrote;
	/* NULL if the descriptor uses the queue's connection to itself, or no connection */
	struct end *end;
};

/* A message that was sent, or was perhaps sent. */
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
	bool out; /* for a receive of a target: true until it completes */
};

struct target;

/* One end of a connection between two queues, or of a queue to itself. */
struct end {
	struct side *side;
	struct link *link;
	struct end *other;
	struct target *target; /* of a DC peer: the target that it reaches */
	uint16_t peer;
	bool open, connected;
	bool failed; /* a descriptor to this end's peer failed in hardware */
	/*
	 * Counts of receives: posted to the engine, completed, and compared with their messages.
	 */
	uint64_t posted, came, matched;
	struct receive recv[RECV_SLOTS];
	struct gantry_recv_comp comp[RECV_SLOTS];
	uint8_t *memory;
	uint64_t arrived[RECV_SLOTS]; /* numbers of the receives that got a message */
	uint64_t n_arrived, n_taken;
	/* Messages that this end has sent. */
	uint64_t
		/* Receives of the other end for which no message is drawn yet: *end_credits(). */
		credits;
	uint64_t n_sent, n_heard;
	struct message sent[2 * WINDOW];
};

struct link {
	struct end end[2];
	bool hurt; /* something on this connection failed, or will fail */
};

/* One queue and its model. */
struct side {
	const char *name;
	struct gantry_worker *w; /* NULL if the queue is inline */
	bool stopped;
	struct gantry_queue *q;
	bool unordered;
	uint32_t n; /* index of this side */
	uint64_t rng;
	struct model model;
	struct gantry_mem *mem[MODEL_REGIONS];
	bool going[MODEL_REGIONS]; /* true while the region is being unregistered */
	struct end *end[SIDE_ENDS];
	unsigned int n_ends;
	/* Counts of descriptors: drawn, submitted, completed, and processed by the model. */
	uint64_t made, put, got, settled;
	struct record record[HISTORY];
	uint64_t by_status[GANTRY_STATUS_MAX], bytes;
	/*
	 * NOPs that the control thread has submitted while the worker was stopped: how many there
	 * were, and how many of them are in flight.
	 */
	uint64_t own_nops, own_nops_out, made_before;
	/*
	 * Copies that succeeded, by the carrier that they named or needed; [GANTRY_CARRIER_USUAL]:
	 * any carrier. Copies that failed, which were perhaps handed to a carrier. Descriptors with
	 * a layout: those that succeeded, and all.
	 */
	uint64_t carried[GANTRY_CARRIER_MAX], perhaps_carried, laid_out, perhaps_laid_out;
	uint64_t recv_posted, recv_done, recv_refused;
	/*
	 * The count `put` when a DC descriptor failed last. Descriptors that were submitted before
	 * may be flushed.
	 */
	uint64_t dc_failed;
	uint64_t digest;
};

/* Statuses and effects that the faults of this round allow. */
struct hazards {
	uint32_t own, peer;
	uint32_t dc; /* statuses that are allowed only for descriptors to DC peers */
	bool stops;  /* a queue's connection to itself may fail and be set up again */
	bool recv;   /* receives may fail */
	bool lost;   /* completions of receives may be lost */
	bool late;   /* messages may arrive after their descriptor has completed */
	bool refuse; /* calls may be refused */
	bool fatal;  /* the device may fail */
	bool eal;    /* EAL's memory may be unregistered */
};

/*
 * Indices of regions: memory that peers reach, memory that is registered and removed, memory that
 * is only read, and device memory.
 */
enum {
	HOME,
	GUEST,
	READ_ONLY,
	DEVICE = MODEL_DEVICE,
};

#define MAX_SIDES 4

/* Deadlines are long where the adapter has threads, because a thread may wait for a CPU. */
#define DEADLINE_MS        3000
#define DEADLINE_PUMPED_MS 40

struct random_run {
	struct gantry *g;
	/* name of the device; NULL for the emulated adapter, which has faults */
	const char *device;
	bool pumped;
	bool empty; /* most descriptors of this run are messages without data */
	uint64_t seed, rng;
	struct side side[MAX_SIDES];
	unsigned int n_sides;
	struct link link[2 * MAX_SIDES];
	unsigned int n_links;
	struct target *target;              /* array with one target for each side */
	struct link dc_link[2 * MAX_SIDES]; /* links whose first ends are the DC peers */
	struct model_layout layout[MODEL_LAYOUTS];
	struct model_range recv_range; /* memory of all receives */
	struct gantry_mem *recv_mem, *eal;
	struct hazards hazards;
	char armed[24][64]; /* the faults of this round */
	unsigned int n_armed;
	/* counts of all lives of the engine */
	uint64_t by_op_ok[GANTRY_OP_MAX], by_status[GANTRY_STATUS_MAX];
	uint64_t messages, cancelled, refused_calls, faults, lives, rounds;
	uint64_t late; /* number of descriptors that timed out in rounds without a fault */
};

extern struct random_run run;

/* A random number below n, for decisions that concern the whole run. */
uint64_t chance(uint64_t n);

/* ------------------------------------------------------------------ draw.c */

/* Draws a descriptor for s. Fills *r except for cookie, fence and verdict. */
void draw(struct side *s, struct record *r);

/* ------------------------------------------------------------------ side.c */

/* Prints the failure, the seed and the last operations of the queue, then ends the program. */
__attribute__((cold, noreturn, format(printf, 3, 4))) void side_fail(const struct side *s,
	const struct record *r, const char *format, ...);

/* Draws up to n descriptors, but never more than WINDOW that the model has not processed yet. */
void side_draw(struct side *s, unsigned int n);
/* Submits the drawn descriptors, as far as the queue accepts them. */
void side_put(struct side *s);
/* Takes at most n completions and checks them. */
void side_take(struct side *s, unsigned int n);
/*
 * Call this when memory or a layout that descriptors name has changed. For descriptors in flight,
 * both the old and the new state are allowed.
 */
void side_changed(struct side *s);
/*
 * Submits a NOP to the queue of a stopped worker, which the control thread owns. Takes its
 * completion or, with `late`, leaves it to the worker.
 */
void side_use_stopped(struct side *s, bool late);
/* Cancels one of the descriptors in flight. */
void side_cancel(struct side *s);
/* Call it when nothing is in flight. Checks that the counters have the values of the model. */
void side_judge_counters(struct side *s);
/* Call it when nothing is in flight. Checks that the memory has the values of the model. */
void side_judge_bytes(struct side *s);

/* ------------------------------------------------------------------ link.c */

void link_init(struct link *l, struct side *a, struct side *b);
/* Opens and connects the link. A call that is refused is made again later. */
void link_open(struct link *l);
/* Closes the link. A step that is not possible yet is done by a later call. */
void link_close(struct link *l);
/*
 * Closes and opens the link. If descriptors are in flight on it, the engine must refuse to close
 * it.
 */
void link_change(struct link *l);
/* Returns the end of side s that has this peer number, or NULL. */
struct end *side_end(struct side *s, uint16_t peer);
/* Returns true if the call succeeded. The call may fail only if faults refuse calls. */
bool carried_out(int ret, const char *call);
/*
 * Call it when the end was opened, connected or closed: the model learns the state of the end's
 * peer number.
 */
void end_tell(struct end *e);
/* True if a descriptor in flight names a peer that is not open. */
bool side_names_no_end(const struct side *s);
/*
 * True if the side has descriptors in flight to this end; with `sure`, only descriptors that the
 * engine must know to be in flight.
 */
bool end_in_flight(const struct end *e, bool sure);
/* Closes one end. Returns false if the caller must try again later. */
bool end_close(struct end *e);

/* ------------------------------------------------------------------ recv.c */

/* Posts receives. */
void end_post(struct end *e);
/* Posts one receive of a side. Returns false if the receive queue or ring is full. */
bool side_post(struct side *s, uint16_t peer, const struct gantry_recv *recv);
/* Draws a receive for the memory at `at`. Most receives are correct, some break a rule. */
void draw_receive(struct side *s, uint8_t *at, struct gantry_recv *recv, struct receive *r);
/* Takes completions of receives and checks them. */
void side_take_receives(struct side *s);
/*
 * Takes completions of receives until *came is equal to *posted: a closed connection or target
 * completes all its receives. Receives in the ring of a stopped worker are taken back.
 */
void side_take_until(struct side *s, const uint64_t *came, const uint64_t *posted);
/*
 * Call it when the model has processed a descriptor that uses a receive. The descriptor was,
 * perhaps was, or was not executed.
 */
void end_sent(struct end *e, const struct record *r, bool ran, bool sure);
/* Stores the message that the descriptor sends according to the model. */
void message_of(struct side *s, const struct record *r, bool sure, struct message *m);
/* Returns the counter of receives that are left for messages of this end. */
uint64_t *end_credits(struct end *e);

/* ------------------------------------------------------------------ dc.c */

/* Called at the beginning and the end of an engine's life. */
void dc_init(void);
/* Opens all targets and DC peers that are not open. A call that is refused is made again later. */
void dc_open(void);
/*
 * Closes all targets and DC peers or, without `all`, those that are `hurt`. A step that is not
 * possible yet is done by a later call.
 */
void dc_close(bool all);
void dc_free(void);
/* True if no target and no DC peer is `hurt`. */
bool dc_is_whole(void);
/* Posts receives for the side's target. */
void dc_post(struct side *s);
/* Opens or closes a DC peer or a target. */
void dc_change(void);
/* If the completion is that of a target's receive, checks it and returns true. */
bool dc_judge_receive(struct side *s, const struct gantry_recv_comp *c);
/*
 * Call it when a receive in a worker's ring was taken back. Returns false if it belongs to no
 * target.
 */
bool dc_take_back(struct side *s, uint64_t cookie);
void dc_sent(struct end *e, const struct record *r, bool sure);
uint64_t *dc_credits(struct target *t);
/* True if this peer number of the side is the number of a target. */
bool dc_is_open(const struct side *s, uint16_t peer);
/* The statuses that a descriptor to a DC peer may have, in addition to those of refusals. */
uint32_t dc_allowed(const struct side *s, const struct record *r);
/*
 * dc_will_fail(): call it when the target refuses a descriptor, or will refuse it. dc_failed():
 * call it when a descriptor to a DC peer has failed.
 */
void dc_will_fail(struct end *e, const struct record *r);
void dc_failed(struct side *s);
/* Call it when nothing is in flight. Checks that messages and receives can be paired. */
void dc_judge(void);

/* ------------------------------------------------------------------ eal.c */

/* The offset of EAL's pages in an arena, which come after memory that is in no region. */
#define EAL_AT (UINT64_C(244) << 10)

/* Called at the beginning and the end of an engine's life, while arenas exist. */
void eal_open(void);
void eal_close(void);
/* Adds or removes a page of EAL. */
void eal_change(struct side *s);
/*
 * Registers the existing pages of EAL again, because the device may have refused their
 * registration.
 */
void eal_mend(void);
/*
 * Picks an address in EAL's pages, some of which may not exist. Returns false if len is too long.
 */
bool eal_pick(struct side *s, uint64_t len, uint64_t *addr);
/*
 * True if the descriptor names EAL's memory and calls were refused, so that this memory may not be
 * registered.
 */
bool eal_is_unsure(const struct side *s, const struct record *r);

/* ------------------------------------------------------------------ keys.c */

/* Called at the beginning and the end of an engine's life, while sides and memory exist. */
void keys_open(void);
void keys_close(void);
/* Makes all keys valid again, when nothing is in flight and no fault is armed. */
void keys_mend(void);
/*
 * Returns a key that no descriptor in flight names, mostly a valid key. Returns 0 if there is no
 * such key.
 */
uint32_t keys_pick(struct side *s);
/*
 * Call keys_draw() when a SEND_INV was drawn, and keys_use() when it was, perhaps was, or was not
 * executed.
 */
void keys_draw(const struct record *r);
void keys_use(const struct record *r, bool ran);

/* ------------------------------------------------------------------ fault.c */

/* Arms a fault. With `plain`, a fault whose effect depends neither on time nor on events. */
void fault_arm(bool plain);
/* Makes the device fail: this round is the last one of the engine's life. */
void fault_lose_device(void);
/*
 * Call it when a deadline has passed without a fault, because a thread of the adapter waited long
 * for a CPU.
 */
void fault_deadline_passed(void);
/* Clears the faults of a round that is over, and repairs their effects. */
void fault_clear(void);

/* ------------------------------------------------------------------ replay.c */

/* Called at the beginning and the end of an engine's life. */
void replay_begin(void);
void replay_end(void);
/*
 * Call it before the calls of the engine in each step of the run. With SOFTHCA_THREADS=0, it
 * advances the time.
 */
void replay_turn(void);
/* As env_pump(). Then waits until the engine has received all events. */
void replay_pump(void);
/* Call it with true before a call that waits for a time, and with false afterwards. */
void replay_call_waits(bool waits);

/* ------------------------------------------------------------------ world.c */

void world_open(void);
void world_close(void);
/* Registers, removes, opens or closes something. */
void world_change(void);
/* Continues the steps that were not possible before. */
void world_retry(void);
/* Restores all memory and objects that were lost, for the next round. */
void world_mend(void);

#endif
