/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data half's own objects, and who may touch which part of them.
 *
 *   lanes -> UAR pages -> the QPs and CQs that name the page
 *        \-> tables: key index -> key, QP number -> QP   (read without locks)
 *
 *  - Who holds a UAR's lock owns the send side of all its QPs: the send queue index, its waits.
 *    Lanes only try that lock; control calls wait for it. So a queue is never run twice at once.
 *  - A QP's receive side (receive index, state, flush) is under qp->recv.
 *  - A shared receive queue is under srq->lock.
 *  - A CQ's producer side is under cq->lock.
 *  - Order: UAR, then one receive side, then one SRQ, then one CQ, then event.c. At most one of each
 *    is held.
 *  - An object found in a table lives until the lane leaves its turn: who destroys it takes it out
 *    of the table first and then waits in softhca_quiesce().
 */
#ifndef SOFTHCA_DATA_H
#define SOFTHCA_DATA_H

#include <sched.h>
#include <time.h>

#include "dev.h"
#include "hca.h"
#include "sig.h"
#include "wire.h"

#define CACHE_LINE 64

/* ---- spin locks that give the core away: the holder may be waiting for it */

struct spin {
	atomic_uint held;
};

void spin_lock_slow(struct spin *lock);

static inline bool
spin_trylock(struct spin *lock)
{
	return atomic_exchange_explicit(&lock->held, 1, memory_order_acquire) == 0;
}

static inline void
spin_lock(struct spin *lock)
{
	if (!spin_trylock(lock))
		spin_lock_slow(lock);
}

static inline void
spin_unlock(struct spin *lock)
{
	atomic_store_explicit(&lock->held, 0, memory_order_release);
}

/* ---- tables of 24-bit numbers */

#define TABLE_LEAF_LOG 12
#define TABLE_LEAF     (1u << TABLE_LEAF_LOG)
#define TABLE_TOP      (1u << (24 - TABLE_LEAF_LOG))
#define TABLE_FIRST    0x40u /* lower numbers are never given out: QP0, QP1, special keys */

struct table {
	_Atomic(void *) *_Atomic top[TABLE_TOP];
	pthread_mutex_t lock; /* of put and remove */
	uint32_t base, next, window, used;
};

void table_init(struct table *t);
void table_fini(struct table *t);
/* Gives the object a number, not lately used, and publishes it. -ENOMEM. */
int table_put(struct table *t, void *obj, uint32_t *number);
/* n numbers in a row, from a multiple of n. -ENOSPC, -ENOMEM. */
int table_put_range(struct table *t, void *obj, uint32_t n, uint32_t *first);
void table_set(struct table *t, uint32_t number, void *obj);
void table_remove(struct table *t, uint32_t number);
/* For lanes: without the lock. False: the number does not name `old` any more. */
bool table_replace(struct table *t, uint32_t number, void *old, void *obj);

static inline void *
table_get(struct table *t, uint32_t number)
{
	_Atomic(void *) *leaf = atomic_load_explicit(&t->top[(number & 0xffffff) >> TABLE_LEAF_LOG],
		memory_order_acquire);

	if (leaf == NULL)
		return NULL;
	return atomic_load_explicit(&leaf[number & (TABLE_LEAF - 1)], memory_order_acquire);
}

/* None of the TABLE_LEAF numbers around this one has ever been given out. */
static inline bool
table_leaf_is_absent(struct table *t, uint32_t number)
{
	return atomic_load_explicit(&t->top[number >> TABLE_LEAF_LOG], memory_order_relaxed) ==
	       NULL;
}

/* ---- keys */

enum key_layout {
	KEY_PLAIN, /* one piece of memory, from addr on */
	KEY_LIST,  /* entries one after the other, each in another key */
	KEY_REPEAT /* the same, again and again, each entry further by its stride */
};

/* A KLM: a part of what a key names, as the address in another key. */
struct key_entry {
	uint64_t start; /* bytes of the layout before it */
	uint64_t va;
	uint32_t number, len, stride;
};

/*
 * What a lane sees of a key; never changed once published, but for `freed`. A work request that
 * configures a key publishes another: see umr.c.
 */
struct key {
	uint64_t plain; /* key_plain_tag() of a region that no work request changes; else 0 */
	uint32_t pdn, access;
	uint64_t addr, iova, len;
	uint8_t variant;
	bool rinval;
	atomic_bool freed; /* invalidated: exists, and grants nothing */
	enum softhca_mkey_kind kind;
	enum key_layout layout;
	uint32_t qpn; /* the one QP that may be reached through it, or KEY_ANY_QP */
	struct softhca_mkey *mkey;
	struct key *next;   /* in a list of those that were replaced */
	uint64_t block_len; /* KEY_REPEAT: bytes of one round */
	uint32_t n_entries, repeat;
	bool sig_on, sig_expected; /* sig_expected: number of the next error, modulo 2 */
	struct key_sig sig;
	struct key_entry entry[];
};

static inline uint64_t
key_plain_tag(uint32_t pdn, uint8_t variant)
{
	return (uint64_t)pdn << 32 | 1u << 8 | variant;
}

/* Where in the key a range is. False: not within. */
static inline bool
key_covers(const struct key *key, uint64_t va, uint64_t len, uint64_t *off)
{
	/* Below the key's start the difference is huge: one comparison serves both ends. */
	*off = va - key->iova;
	return *off <= key->len && len <= key->len - *off;
}

#define KEY_ANY_QP    0xffffffu
#define KEY_MAX_DEPTH 4 /* indirect keys on the way to memory */

/* The running state of a signature: created by command, set by work request. */
struct softhca_psv {
	struct softhca_dev *dev;
	uint32_t number, pdn;
	_Atomic uint64_t transient;
};

/* A data encryption key: created by command, named by the BSFs of keys of the same PD. */
struct softhca_dek {
	struct softhca_dev *dev;
	uint32_t number;
	struct spin lock; /* of the key's bytes; a leaf */
	enum softhca_dek_state state;
	struct softhca_dek_attr attr;
};

struct softhca_mkey {
	struct softhca_dev *dev;
	uint32_t index, max_entries;
	struct spin lock;     /* of those that configure it; a leaf */
	bool bsf;             /* has room for a signature, or for encryption */
	bool crypto;          /* data that go through it are encrypted */
	atomic_bool sig_told; /* sig_expected of the key when an error was told last */
	struct key *key;
};

/* Takes the rights of a key away, as a SEND with invalidate to QP `qpn` asks. */
bool key_invalidate(struct softhca_lanes *lanes, uint32_t number, uint32_t pdn, uint32_t qpn);
/* The key that a number names in a PD, or NULL. */
struct key *key_find(struct softhca_lanes *lanes, uint32_t number, uint32_t pdn,
	enum wire_vendor *why);
/* A copy with room for n entries and none in use, for umr.c to change and publish; NULL. */
struct key *key_copy(const struct key *key, uint32_t n_entries);

extern char key_sink[1];
#define SINK ((void *)key_sink)

/* Verbs' access bits (ibv_reg_mr(3)). */
enum access {
	ACC_LOCAL_WRITE = 1,
	ACC_REMOTE_WRITE = 2,
	ACC_REMOTE_READ = 4,
	ACC_REMOTE_ATOMIC = 8,
	ACC_MW_BIND = 16,
	ACC_ON_DEMAND = 64,
	ACC_REMOTE = ACC_REMOTE_WRITE | ACC_REMOTE_READ | ACC_REMOTE_ATOMIC
};

/* ---- memory lists */

#define SG_MAX 64 /* a power of two */

struct sg_piece {
	void *p;
	uint64_t len;
};

struct sg {
	uint64_t len;
	unsigned int n;
	uint32_t odp; /* not 0: some of it is on demand, and touched by odp.c alone */
	struct sg_piece v[SG_MAX];
	struct sg_piece *big; /* where all pieces are, with n > SG_MAX; the run's memory */
};

static inline const struct sg_piece *
sg_pieces(const struct sg *sg)
{
	return sg->n > SG_MAX ? sg->big : sg->v;
}

static inline void
sg_clear(struct sg *sg)
{
	sg->n = 0;
	sg->odp = 0;
	sg->len = 0;
}

static inline void
sg_set(struct sg *sg, void *p, uint64_t len)
{
	sg->v[0].p = p;
	sg->v[0].len = len;
	sg->n = 1;
	sg->odp = 0;
	sg->len = len;
}

/* The program's own memory: it may be one buffer, overlapping itself. */
static inline void
piece_copy(void *dst, const void *src, uint64_t len)
{
	if (dst == SINK)
		return;
	if (src == SINK)
		memset(dst, 0, len);
	else
		memmove(dst, src, len);
}

void sg_copy_pieces(const struct sg *dst, const struct sg *src);

/* Moves src->len bytes straight from source pieces to destination pieces; dst->len >= src->len. */
static inline void
sg_copy(const struct sg *dst, const struct sg *src)
{
	if (dst->n == 1 && src->n == 1)
		piece_copy(dst->v[0].p, src->v[0].p, src->len);
	else
		sg_copy_pieces(dst, src);
}

/* ---- completion queues */

#define CQ_ARM_PARK 0xffffffffu /* bits 31:30 of an arm word are zero: no program writes this */

enum cq_arm {
	ARM_NONE,
	ARM_SOLICITED,
	ARM_ANY
};

struct softhca_cq {
	struct spin lock;
	uint32_t pi, ci_seen;   /* free running; the record holds 24 bits of the consumer's */
	uint32_t solicited_end; /* pi after the last solicited or failed completion */
	uint32_t n, log_n, mask, stride;
	uint8_t *buf; /* of the first 64-byte CQE; with 128-byte entries in their second half */
	_Atomic uint32_t *dbrec;
	enum cq_arm arm;
	bool ignore_overrun, pad;
	atomic_bool failed;
	/* Moderation, cq_modify.c: completions to an event, ns; how many wait, and until when (0: no). */
	uint32_t event_count, event_waiting;
	uint64_t event_period, event_due;
	void *event;
	struct softhca_dev *dev;
	struct softhca_uar *uar;
	uint32_t number;
	atomic_uint users;
} __attribute__((aligned(CACHE_LINE)));

struct cqe {
	enum wire_cqe_opcode opcode;
	bool solicited;
	uint32_t uidx, imm, byte_cnt, opcode_qpn, wqe_counter;
	uint32_t flags_rqpn, slid; /* where the transport says who sent */
	enum wire_syndrome syndrome;
	enum wire_vendor vendor;
	uint64_t timestamp;
	const struct cqe_sig_err *sig_err; /* of CQE_SIG_ERR, else NULL */
};

struct cqe_sig_err {
	struct sig_error error;
	bool memory;
	uint32_t key;
};

static inline bool
cq_has_failed(const struct softhca_cq *cq)
{
	return atomic_load_explicit(&cq->failed, memory_order_relaxed);
}

/* Adds a completion; on overrun the CQ fails (ibv_create_cq(3)). cq->lock held. */
void cq_push(struct softhca_cq *cq, const struct cqe *cqe);
/* The CQ is of no more use: an event says so, and its QPs fail. cq->lock held. */
void cq_fail(struct softhca_cq *cq);
/* An arm doorbell rang on this CQ's page. */
bool cq_take_arm(struct softhca_cq *cq);
/* cq->lock held: sends the event that was armed for; n more completions for it: is it due? */
void cq_notify(struct softhca_cq *cq);
bool cq_event_is_due(struct softhca_cq *cq, uint32_t n);
/* Sends an event whose time has come. True where one still waits for its time. */
bool cq_event_timer(struct softhca_cq *cq, uint64_t now);

/* ---- shared receive queues */

struct softhca_srq {
	struct spin lock;
	uint16_t head;  /* index of the next WQE to use */
	uint16_t taken; /* free running, as the record counts */
	uint32_t n, log_stride, limit;
	uint8_t *buf;
	_Atomic uint32_t *dbrec;
	bool failed; /* its list was broken: holds nothing any more */
	uint32_t number, pdn, xrcdn, uidx;
	struct softhca_cq *cq; /* XRC, else NULL */
	struct softhca_dev *dev;
	void *event;
	atomic_uint users;
} __attribute__((aligned(CACHE_LINE)));

/* ---- queue pairs */

enum qp_state {
	QP_RESET,
	QP_INIT,
	QP_RTR,
	QP_RTS,
	QP_SQD,
	QP_SQE,
	QP_ERR
}; /* as verbs count: enum ibv_qp_state */

enum wait_kind {
	WAIT_NONE,
	WAIT_RNR,
	WAIT_PEER,
	WAIT_TIME /* a late fault, or the timing model */
};

#define TIMING_MARKS 8

/* timing.c: when the queue's doorbells were seen, and until when it is busy; device time. */
struct qp_timing {
	struct {
		uint64_t at;
		uint16_t end;
	} marks[TIMING_MARKS];
	unsigned int n;
	uint64_t free;
};

struct softhca_qp {
	/* Send side: of who holds uar->lock. */
	uint8_t *sq;
	uint32_t sq_bb, sq_mask; /* WQEBBs, and bytes - 1 */
	uint16_t sq_ci;          /* next WQEBB to run */
	uint16_t announced;      /* first WQEBB that no doorbell has announced */
	bool rang;               /* a doorbell named this QP in this turn */
	bool bad_bf; /* the BlueFlame copy of WQE bad_bf_idx was not what the SQ holds */
	uint16_t bad_bf_idx;
	enum wire_vendor bad_bf_why;
	bool mute; /* a fault: the WQE at the head runs, and its completion is lost */
	bool receive_struck; /* a fault has had its turn at the receive of the WQE at the head */
	enum wait_kind wait;
	uint32_t wait_left; /* retries left; of RNR, 7 is for ever */
	uint64_t wait_until;

	_Atomic uint32_t *dbrec;
	struct softhca_cq *send_cq, *recv_cq;
	struct softhca_uar *uar;
	struct softhca_dev *dev;
	uint32_t number, pdn, uidx;

	/* Receive side. state changes under both this lock and, but for errors, the UAR's. */
	struct spin recv __attribute__((aligned(CACHE_LINE)));
	atomic_uint state;
	uint8_t *rq;
	uint32_t rq_n, rq_log_stride;
	_Atomic uint16_t rq_ci;

	struct softhca_qp_attr attr;
	enum softhca_qp_type type;
	struct softhca_srq *srq;
	uint32_t xrcdn;
	uint64_t dc_key;
	/* DCI with streams, of who holds uar->lock: a bit for each stream in error. */
	uint8_t *stream_errors;
	uint32_t n_errored, max_errored;
	bool draining;
	bool established; /* of the receive side: the first message in RTR has been told */
	void *event;
	struct qp_timing timing; /* of who holds uar->lock */
} __attribute__((aligned(CACHE_LINE)));

static inline enum qp_state
qp_state(const struct softhca_qp *qp)
{
	return atomic_load_explicit(&qp->state, memory_order_acquire);
}

/* Receive side held: the QP into error; its receive queue is flushed, its send queue will be. */
struct run;
void qp_fail_receive_side(struct run *run, struct softhca_qp *qp);
/* The same, told by an event: the queue or its CQ cannot be used any more. */
void qp_fatal_receive_side(struct run *run, struct softhca_qp *qp);
/*
 * Inside a turn: the QPs of a CQ that failed, which have no page and so no visits (DCTs), into
 * error. False: no CQ did.
 */
bool qps_fail_with_their_cqs(struct softhca_lanes *lanes);

/* ---- UAR pages */

#define BF_MAX_WORDS 32 /* of 8 bytes in one BlueFlame buffer */

/* One BlueFlame buffer, as the device remembers it: see doorbell.c. */
struct bf_buf {
	uint32_t offset;
	bool verified; /* was empty after the last doorbell in its twin had been taken */
	bool shadow_known;
	uint32_t shadow_words;
	uint64_t shadow[BF_MAX_WORDS];
};

#define UAR_BELLS 5 /* words of a page that ring: four buffers, and the CQ doorbell */

struct softhca_uar {
	/* What a lane looks at in passing lies in one cache line. */
	struct spin lock;
	uint8_t *page;
	uint16_t bells[UAR_BELLS]; /* offsets of the words that ring */
	atomic_bool timed;         /* an event of one of its CQs may wait for its time */
	atomic_bool attention;     /* look at every queue of this page, doorbell or not */
	atomic_bool again; /* some queue waits for time, for receives, or for its next share */
	atomic_uint quiet; /* turns since it last rang: see lane.c */
	struct softhca_dev *dev;
	uint32_t page_id;
	uint32_t bf_len; /* bytes of one buffer; 0: 8-byte doorbells only */
	unsigned int n_bufs;
	struct bf_buf buf[4]; /* twins side by side */
	unsigned int n_qps, n_cqs, max_qps, max_cqs;
	struct softhca_qp **qps;
	struct softhca_cq **cqs;
	struct softhca_wq *wqs; /* of its CQs */
} __attribute__((aligned(CACHE_LINE)));

/* Takes what rang: marks QPs, moves their announced index. Returns doorbells taken. lock held. */
unsigned int doorbells_take(struct softhca_uar *uar, bool *arm);
void doorbells_init(struct softhca_uar *uar);
/* Waits for the lock: no lane runs this page's queues until uar_unlock(). For control calls. */
void uar_lock(struct softhca_uar *uar);
void uar_unlock(struct softhca_uar *uar);
/* Takes what rings on the page, so that none of it is taken for a later queue's. lock held. */
void uar_discard_doorbells(struct softhca_uar *uar);
int uar_attach_qp(struct softhca_uar *uar, struct softhca_qp *qp);
void uar_detach_qp(struct softhca_uar *uar, struct softhca_qp *qp);
int uar_attach_cq(struct softhca_uar *uar, struct softhca_cq *cq);
void uar_detach_cq(struct softhca_uar *uar, struct softhca_cq *cq);

/* wq.c: flushes those in error. lock held. Returns true where one wants to be visited again. */
bool uar_visit_wqs(struct run *run, struct softhca_uar *uar);

/* Every queue of the page is looked at in the next turn. */
void uar_call_attention(struct softhca_uar *uar);

/* ---- lanes */

#define LANE_SLOTS (SOFTHCA_MAX_THREADS + 64) /* threads of the device; then of softhca_pump() */

struct uar_set;
struct clock_set;

struct lane_slot {
	atomic_uint epoch; /* odd while a turn runs: the rest is of the lane whose turn it is */
	unsigned int busy_turns, cursor;
	uint64_t looked_at;    /* device time */
	struct graves *graves; /* retire.c */
} __attribute__((aligned(CACHE_LINE)));

struct softhca_lanes {
	struct softhca_dev *dev;
	struct table keys, qps, cqs, srqs, psvs, deks;
	struct lane_slot slots[LANE_SLOTS];
	struct uar_set *_Atomic uars;
	atomic_bool look; /* some page calls for attention: look at all of them */
	atomic_bool odp;  /* there are, or were, keys on demand */
	struct spin odp_lock; /* then: of atomics; a leaf */
	atomic_bool cq_failed; /* and QPs without a page may have to be put in error */
	struct clock_set *_Atomic clocks;
	pthread_mutex_t uar_lock;   /* of changes to these sets */
	_Atomic uint64_t port_free; /* timing.c: when the wire is, device time */
	atomic_bool stop;
	unsigned int n_threads;
	pthread_t threads[SOFTHCA_MAX_THREADS];
};

/* clock.c: the running clock that programs have mapped. Inside a turn only. */
void clocks_tick(struct softhca_lanes *lanes);

/* Every page of the adapter is looked at in the next turn. Inside a turn only. */
void lanes_call_attention(struct softhca_dev *dev);
/* For control calls that look into tables: what they find stays until they leave. */
struct lane_slot *lanes_enter(struct softhca_lanes *lanes);
void lanes_leave(struct lane_slot *slot);

static inline struct softhca_lanes *
dev_lanes(struct softhca_dev *dev)
{
	return __atomic_load_n(&dev->lanes, __ATOMIC_ACQUIRE);
}

/* ---- one visit to one send queue */

struct run {
	struct softhca_lanes *lanes;
	struct sig_after *after; /* what the data that move will have to go through: keysig.c */
	bool sig_drain;          /* a signature was wrong: the send queue stops after this WQE */
	bool receive_mute;       /* a fault: the receive's completion is lost */
	bool receiving;          /* keys are those of the peer's receive */
	struct spill *spill;     /* memory of the WQE that runs: run_alloc() */
	struct softhca_qp *qp;
	struct softhca_qp *peer; /* its receive side is held, or NULL */
	/* Where the message's receive comes from: the peer's SRQ, or the XRC one that it names. */
	struct softhca_srq *peer_srq;
	struct softhca_srq *srq; /* held, or NULL */
	struct softhca_cq *cq;   /* held, or NULL */
	uint64_t now;            /* device time, 0 until first asked for */
	unsigned int work;       /* WQEs executed or flushed */
	enum wire_vendor vendor; /* of the failure being reported */
	uint32_t byte_cnt;       /* of the WQE that ran */
};

/* Memory for as long as the WQE runs, or NULL. */
void *run_alloc(struct run *run, size_t len);
void run_free_spill(struct run *run);

/*
 * retire.c: keys that a lane replaced, which other lanes may still look at. Room first, so that the
 * replacement cannot fail for want of it: false is no memory.
 */
bool retire_reserve(void);
void retire_key(struct key *key);
void retire_fini(struct lane_slot *slot);
/* lane.c: the slot of the turn that this thread is in. */
struct lane_slot *lane_slot_current(void);

/*
 * Adds the memory behind [va, va+len) of a key to the list. SOFTHCA_DUMP_FILL_KEY gives SINK:
 * reads as zeros, swallows writes (ibv_alloc_null_mr(3)). False: run->vendor has the
 * rule that forbids it. need: IBV_ACCESS_* bits, 0 for a local read; with a remote right in it the
 * request is that of run->peer's peer. The pieces stay valid while the WQE runs.
 */
static inline bool key_gather(struct run *run, struct softhca_lanes *lanes, uint32_t number,
	uint32_t pdn, uint32_t need, uint64_t va, uint64_t len, struct sg *sg);
/* The same rules one by one, for every kind of key. */
bool key_gather_any(struct run *run, struct softhca_lanes *lanes, uint32_t number, uint32_t pdn,
	uint32_t need, uint64_t va, uint64_t len, struct sg *sg);
/* keywalk.c: the same for a key that is no plain region. */
bool key_walk(struct run *run, struct softhca_lanes *lanes, const struct key *key, uint32_t need,
	uint64_t va, uint64_t len, struct sg *sg);
/* Makes room for one piece more. False: too many of them, or no memory. */
bool sg_grow(struct run *run, struct sg *sg);

static inline bool
sg_push(struct run *run, struct sg *sg, void *p, uint64_t len)
{
	struct sg_piece *v = sg->v;

	if (sg->n >= SG_MAX) {
		if (!sg_grow(run, sg))
			return false;
		v = sg->big;
	}
	v[sg->n].p = p;
	v[sg->n].len = len;
	sg->n++;
	sg->len += len;
	return true;
}

static inline bool
key_gather(struct run *run, struct softhca_lanes *lanes, uint32_t number, uint32_t pdn,
	uint32_t need, uint64_t va, uint64_t len, struct sg *sg)
{
	const struct key *key = table_get(&lanes->keys, number >> 8);
	uint64_t off;

	/* Nearly always it is this. */
	if (__builtin_expect(key != NULL && key->plain == key_plain_tag(pdn, (uint8_t)number) &&
				     (key->access & need) == need && key_covers(key, va, len, &off),
		    1))
		return sg_push(run, sg, (void *)(uintptr_t)(key->addr + off), len);
	return key_gather_any(run, lanes, number, pdn, need, va, len, sg);
}

/* How a copy ended: memory on demand may not be there. What lies before the page has moved. */
enum sg_end {
	SG_MOVED,
	SG_NO_SRC,
	SG_NO_DST
};

/* odp.c: sg_copy() where a list is on demand. Otherwise than SG_MOVED, run->vendor says why. */
enum sg_end odp_move(struct run *run, const struct sg *dst, const struct sg *src);
/* The list becomes a copy of what it names. False: it is not there, or no memory. */
bool odp_fetch(struct run *run, struct sg *sg);
/* 8 bytes on demand; a store is given what was loaded. lanes->odp_lock makes the two one. */
bool odp_load(struct run *run, const void *p, uint64_t *value);
bool odp_store(void *p, uint64_t old, uint64_t value);
/* Returns when every lane knows that there are keys on demand. */
void odp_begin(struct softhca_dev *dev);

static inline enum sg_end
run_move(struct run *run, const struct sg *dst, const struct sg *src)
{
	if (__builtin_expect((dst->odp | src->odp) != 0, 0))
		return odp_move(run, dst, src);
	sg_copy(dst, src);
	return SG_MOVED;
}

/* keysig.c: what becomes of data that went to a key with a signature. */
enum sg_end run_after_copy(struct run *run, uint64_t len);

/* The data of a work request: moved, and then what their keys ask for. */
static inline enum sg_end __attribute__((warn_unused_result))
run_copy(struct run *run, const struct sg *dst, const struct sg *src)
{
	enum sg_end end = run_move(run, dst, src);

	if (end == SG_MOVED && run->after != NULL)
		return run_after_copy(run, src->len);
	return end;
}

/* keysig.c: key_walk() for a key with a signature. off is of the key, both are checked here. */
bool sig_walk(struct run *run, struct softhca_lanes *lanes, const struct key *key, uint32_t need,
	uint64_t off, uint64_t len, struct sg *sg);
bool layout_gather(struct run *run, struct softhca_lanes *lanes, const struct key *key,
	uint32_t need, uint64_t off, uint64_t len, struct sg *sg);

struct wqe {
	const uint8_t *seg0; /* the control segment */
	const struct opcode *op; /* the row of its opcode */
	uint32_t opcode, opmod, ds, bb;
	uint32_t first; /* where the operation's own segments begin, behind control and address */
	uint32_t imm;   /* as host number of the big-endian word */
	enum wire_ce ce;
	bool solicited;
};

/* What CQEs are stamped with: ns of CLOCK_MONOTONIC, a core clock of 1 GHz (hca_core_clock). */
static inline uint64_t
device_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline uint64_t
run_now(struct run *run)
{
	if (run->now == 0)
		run->now = device_clock();
	return run->now;
}

/* The CQ, held; another that was held is let go. */
static inline void
run_hold_cq(struct run *run, struct softhca_cq *cq)
{
	if (run->cq == cq)
		return;
	if (run->cq != NULL)
		spin_unlock(&run->cq->lock);
	spin_lock(&cq->lock);
	run->cq = cq;
}

static inline void
run_drop_cq(struct run *run)
{
	if (run->cq == NULL)
		return;
	spin_unlock(&run->cq->lock);
	run->cq = NULL;
}

static inline void
run_drop_peer(struct run *run)
{
	if (run->srq != NULL)
		spin_unlock(&run->srq->lock);
	run->srq = NULL;
	run->peer_srq = NULL;
	if (run->peer == NULL)
		return;
	spin_unlock(&run->peer->recv);
	run->peer = NULL;
}

static inline void
run_hold_srq(struct run *run, struct softhca_srq *srq)
{
	if (run->srq == srq)
		return;
	run_drop_cq(run);
	if (run->srq != NULL)
		spin_unlock(&run->srq->lock);
	spin_lock(&srq->lock);
	run->srq = srq;
}

/* ---- transports: transport.c */

static inline bool
qp_is_unreliable(const struct softhca_qp *qp)
{
	return qp->type == SOFTHCA_QP_UC || qp->type == SOFTHCA_QP_UD;
}

struct wqe;
/* 16-byte units of address between the control segment and the operation's own, if it goes to a peer. */
unsigned int qp_address_units(enum softhca_qp_type type);
/*
 * The responder that the WQE goes to, with its receive side held, in run->peer. SYN_OK, or
 * EXEC_WAIT_PEER: absent, or not ready; or the syndrome of its refusal.
 */
unsigned int run_hold_peer(struct run *run, const struct wqe *wqe);
/* A UD message, whose payload is src, to whom its address names. It arrives, or does not. */
struct sg;
/* SYN_OK, whether somebody receives it or not; SYN_LOC_PROT. */
unsigned int ud_deliver(struct run *run, const struct wqe *wqe, const struct sg *src);
/* The PD by which the responder judges a request: of the XRC SRQ that it names, or of the peer. */
uint32_t responder_pdn(const struct run *run);
/* The streams of a DCI: true where that of the WQE is in error; one more is; -EINVAL. */
bool stream_is_failed(const struct softhca_qp *qp, const struct wqe *wqe);
/* Returns true where the QP goes on with other streams. */
bool stream_fail(struct softhca_qp *qp, const struct wqe *wqe);

/* A transition of the type's state table, or NULL: qp_states.c. */
struct transition {
	uint32_t need, may; /* attribute masks; need == 0: there is no such transition */
};
#define TRANSITION_ALLOWED (1u << 29) /* exists, even if it needs no attribute */
const struct transition *qp_transition(enum softhca_qp_type type, unsigned int from,
	unsigned int to);
/* The QP went into error: told to those who share an SRQ (IBV_EVENT_QP_LAST_WQE_REACHED). */
void qp_tell_last_wqe(struct softhca_qp *qp);

/* Lets a CQ go before bytes are moved for long: others complete to it meanwhile. */
#define RUN_LONG_COPY 32768

/* sq.c: one visit. UAR held. Returns true where the queue wants to be visited again. */
bool sq_visit(struct run *run);
/* UAR held: completes everything posted as flushed. */
void sq_flush(struct run *run);

/* rq.c: receive side held. */
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

/* srq.c: SRQ held. */
bool srq_has_work(struct softhca_srq *srq);
enum wire_syndrome srq_peek(struct run *run, struct softhca_srq *srq, uint64_t need,
	struct recv_wqe *recv);
/* Uses up the oldest WQE, and returns its index. */
uint16_t srq_take(struct softhca_srq *srq);

/* ---- breaches of the queue protocol by the program */

void violation(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
