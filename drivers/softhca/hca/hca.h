/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The objects of the emulated adapter, and the calls between its two halves.
 *
 *   libibverbs + libmlx5                              memory of the process
 *        | ioctl                                       |  queues, doorbell records
 *   process/ -> verbs/ devx/    (control half)         |
 *        | create, modify, query, destroy              |
 *   lane/ -> exec/ -> queue/ key/   (data half)  <-----+--- UAR pages (shared mapping)
 *        | completions, async events
 *   event.c -> sockets that the program polls
 *
 * Threads and locks:
 *  - Control calls come from any thread of the program. The calls on one context run one at a time.
 *  - The data half runs in lanes. A lane is a device thread, or a thread inside softhca_pump().
 *    A lane never waits for a control call. A control call that removes a key, a QP or a UAR
 *    unpublishes it first, and then waits in softhca_quiesce() (turns.h) until no lane sees it.
 *  - Lock order: a UAR page (the send side of its QPs), one QP's receive side, one SRQ, one CQ,
 *    then event.c. At most one lock of each kind is held. The locks of keys, and of atomics on
 *    demand, are leaves: their holder takes no other lock and waits for no lane.
 */
#ifndef SOFTHCA_HCA_H
#define SOFTHCA_HCA_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOFTHCA_HIDDEN __attribute__((visibility("hidden")))

struct softhca_dev; /* one adapter; lives as long as the process */
struct softhca_ctx; /* one open character device */
struct softhca_uar;
struct softhca_pd;
struct softhca_mkey;
struct softhca_cq;
struct softhca_srq;
struct softhca_qp;

/* ---------------------------------------------------------------- UAR pages (uar_queues.c) */

enum softhca_uar_type {
	SOFTHCA_UAR_BF,
	SOFTHCA_UAR_NC
};

/*
 * Adds a UAR page, which lanes then visit. `page` is the device's own mapping of its 4 KiB.
 * -ENOMEM. Destroy: -EBUSY while a QP or CQ names the page; -ENOMEM.
 */
int softhca_uar_create(struct softhca_dev *dev, void *page, uint32_t page_id,
	enum softhca_uar_type type, struct softhca_uar **out);
int softhca_uar_destroy(struct softhca_uar *uar);

/* ---------------------------------------------------------------- keys (mkey.c) */

enum softhca_mkey_kind {
	SOFTHCA_MKEY_MR,       /* plain memory */
	SOFTHCA_MKEY_INDIRECT, /* a layout over other keys, set at creation or by work requests */
	SOFTHCA_MKEY_WINDOW_1, /* a memory window of type 1 or 2: an indirect key over one region */
	SOFTHCA_MKEY_WINDOW_2
};

/* A part of an indirect key's layout: a range of another key. */
struct softhca_mkey_part {
	uint64_t va;
	uint32_t key, len;
};

/* Access flags have the numbers of verbs (IBV_ACCESS_*, uapi ib_user_ioctl_verbs.h). */
struct softhca_mkey_attr {
	uint32_t pdn;
	uint32_t access;
	uint64_t addr; /* of the memory in this process */
	uint64_t iova; /* the address of its first byte in work requests */
	uint64_t len;  /* bytes */
	/*
	 * Not 0: when the region ends, its key is kept for the next region with the same room. In
	 * pages, a power of two. 0: the key ends with the region.
	 */
	uint64_t room;
	bool rinval; /* a peer's SEND with invalidate may revoke the key's rights */
	enum softhca_mkey_kind kind;
	bool bsf;    /* an indirect key that can have a signature or encryption */
	bool crypto; /* the key can be configured to encrypt the data that pass through it */
	/* `variant` is the lowest byte of the key; else the adapter chooses that byte */
	bool has_variant;
	uint8_t variant;
	bool free;  /* an indirect key has no rights until a work request configures it */
	bool fixed; /* no work request may configure it */
	const struct softhca_mkey_part *parts; /* the layout of n_parts parts, read at creation */
	uint32_t n_parts;
	uint32_t max_entries; /* 16-byte units of layout for which an indirect key has room */
};

/*
 * The key of ibv_alloc_null_mr(3): reads give zeros, writes are dropped. It is in no table, and
 * valid in every PD.
 */
#define SOFTHCA_DUMP_FILL_KEY 0x200u

int softhca_mkey_create(struct softhca_dev *dev, const struct softhca_mkey_attr *attr,
	struct softhca_mkey **out);
/* Replaces the attributes: REREG_MR changes a region and keeps its key. */
int softhca_mkey_modify(struct softhca_mkey *mkey, const struct softhca_mkey_attr *attr);
/*
 * After this, windows and indirect keys over this key reach no memory, until another region gets
 * the same key.
 */
int softhca_mkey_destroy(struct softhca_mkey *mkey);
uint32_t softhca_mkey_key(const struct softhca_mkey *mkey);

/* The arguments of ibv_advise_mr(3), for one range of a key on demand (odp.c). */
struct softhca_advice {
	uint32_t key;
	uint64_t va, len;
	bool write, fault; /* write: for writing; fault: bring missing pages in */
	bool flush;        /* the call reports errors */
};

/*
 * -ENOENT: the key does not exist, or is not on demand; -EINVAL: the key is no region; -EPERM: the
 * key belongs to another PD, or is read-only. With flush also -EFAULT: the range is not within the
 * region, or not mapped.
 */
int softhca_mkey_advise(struct softhca_dev *dev, uint32_t pdn, const struct softhca_advice *a);
/*
 * False if the setting `odp` is 0, or if a sandbox forbids the system calls that keys on demand
 * need.
 */
bool softhca_odp_is_possible(const struct softhca_dev *dev);

/* The running state of a signature. BSFs of keys in the same PD name it. */
struct softhca_psv;
int softhca_psv_create(struct softhca_dev *dev, uint32_t pdn, struct softhca_psv **out);
int softhca_psv_destroy(struct softhca_psv *psv);
uint32_t softhca_psv_number(const struct softhca_psv *psv);

/* ---------------------------------------------------------------- encryption keys (dek.c) */

#define SOFTHCA_DEK_KEY_LEN    128
#define SOFTHCA_DEK_OPAQUE_LEN 8

struct softhca_dek_attr {
	uint32_t pdn;
	bool key_256;                     /* two keys of 256 bits each, else of 128 bits each */
	bool has_keytag;                  /* the key's bytes end in a keytag */
	uint8_t key[SOFTHCA_DEK_KEY_LEN]; /* plaintext, in the layout of mlx5dv_dek_create(3) */
	uint8_t opaque[SOFTHCA_DEK_OPAQUE_LEN]; /* bytes of the program, not interpreted */
};

/* Creates a DEK. -EINVAL: its two AES keys are equal. -EOPNOTSUPP: OpenSSL is missing. */
struct softhca_dek;
int softhca_dek_create(struct softhca_dev *dev, const struct softhca_dek_attr *attr,
	struct softhca_dek **out);
/* The attributes, without the key itself. */
void softhca_dek_query(const struct softhca_dek *dek, struct softhca_dek_attr *attr);
/*
 * Replaces the key by one of the same size and, if the old key had a keytag, with a keytag. Errors
 * as of softhca_dek_create().
 */
int softhca_dek_rekey(struct softhca_dek *dek, const uint8_t key[SOFTHCA_DEK_KEY_LEN]);
int softhca_dek_destroy(struct softhca_dek *dek);
uint32_t softhca_dek_number(const struct softhca_dek *dek);

#define SOFTHCA_WRAP_MORE 8 /* bytes that wrapping adds */

/*
 * Unwraps `len` bytes by AES key wrap (RFC 3394). The result is SOFTHCA_WRAP_MORE bytes shorter;
 * `out` must have room for `len`. kek_hex: as in the setting. -EINVAL: the bytes were not wrapped
 * with this KEK; -EOPNOTSUPP: OpenSSL is missing.
 */
int softhca_unwrap(const char *kek_hex, const uint8_t *in, size_t len, uint8_t *out);

/* ---------------------------------------------------------------- completion queues (cq.c) */

struct softhca_cq_attr {
	void *buf;               /* in the program: n_cqe entries of cqe_len bytes */
	_Atomic uint32_t *dbrec; /* [0] consumer index, [1] arm word; big endian */
	uint32_t n_cqe;          /* a power of two */
	uint32_t cqe_len;        /* 64 or 128 bytes */
	bool ignore_overrun;
	bool pad;                              /* entries of 128 bytes: zeros fill the first 64 */
	bool compress;                         /* completions that differ little share an entry */
	struct softhca_uar *uar;               /* where arm doorbells arrive */
	void *event;                           /* passed to softhca_event_cq_*() */
	uint32_t event_count, event_period_us; /* only for query: softhca_cq_moderate() sets them */
};

int softhca_cq_create(struct softhca_dev *dev, const struct softhca_cq_attr *attr,
	struct softhca_cq **out);
int softhca_cq_destroy(struct softhca_cq *cq); /* -EBUSY while a QP uses it */
uint32_t softhca_cq_number(const struct softhca_cq *cq);
/*
 * Gives the CQ another buffer. Call softhca_settle() first. The last entry of the old buffer tells
 * the program of the resize. -EINVAL: the size is wrong, the new buffer is too small for the
 * completions in the CQ, or there is no room for that last entry.
 */
int softhca_cq_resize(struct softhca_cq *cq, void *buf, uint32_t n_cqe, uint32_t cqe_len);
/* An event is sent at the count-th completion, or after the period. 0 and 0: at each completion. */
void softhca_cq_moderate(struct softhca_cq *cq, uint32_t count, uint32_t period_us);
void softhca_cq_query(struct softhca_cq *cq, struct softhca_cq_attr *attr, uint32_t *pi,
	uint32_t *ci);

/* ---------------------------------------------------------------- queue pairs (qp_control.c) */

/* The numbers of verbs (enum ibv_qp_type). There DCI and DCT share one number. */
enum softhca_qp_type {
	SOFTHCA_QP_RC = 2,
	SOFTHCA_QP_UC = 3,
	SOFTHCA_QP_UD = 4,
	SOFTHCA_QP_RAW = 8,
	SOFTHCA_QP_XRC_SEND = 9,
	SOFTHCA_QP_XRC_RECV = 10,
	SOFTHCA_QP_DCI = 0x100,
	SOFTHCA_QP_DCT = 0x101
};

/* The state of a QP that queries show. The device keeps it up to date. */
struct softhca_qp_shown {
	_Atomic uint32_t number, state, port; /* 0: it has no number or port yet */
	_Atomic uint32_t dest_qpn, rq_psn, sq_psn;
};

struct softhca_qp_init {
	enum softhca_qp_type type;
	uint32_t pdn;
	struct softhca_cq *send_cq, *recv_cq; /* not NULL if there is a UAR page */
	struct softhca_srq *srq; /* NULL: the QP has a receive queue of its own, or none */
	struct softhca_uar *uar; /* NULL: no send queue (XRC_RECV, DCT, or by firmware command) */
	void *buf;               /* receive WQEs, then send WQEs */
	void *sq_buf;            /* RAW: the send WQEs; else NULL: they are in buf */
	_Atomic uint32_t *dbrec; /* [0] receive counter, [1] send counter; big endian */
	bool no_send_record;     /* only doorbells tell the send counter: see doorbell.c */
	bool dbrec_is_fixed;     /* dbrec is in read-only memory */
	uint32_t sq_bb;          /* send WQEBBs of 64 bytes, a power of two, or 0 */
	uint32_t rq_wqe;         /* receive WQEs, a power of two, or 0 */
	uint32_t log_rq_stride;  /* log2 of the bytes of one receive WQE */
	uint32_t uidx;           /* the name of this QP in CQEs */
	bool sig_all;
	bool mmo;        /* DMA MMO is allowed from the start; else a modify may allow it */
	uint32_t xrcdn;  /* XRC_RECV: its XRC domain */
	uint64_t dc_key; /* DCT: the key that a sender must give */
	/* DCI: an error stops one stream, until 2^log_errored streams are in error */
	bool streams;
	uint8_t log_errored;
	void *event;                    /* passed to softhca_event_qp_async() */
	struct softhca_qp_shown *shown; /* NULL: no query shows this QP */
};

/*
 * Mask bits that verbs lack: firmware commands set these attributes. RTS2RTS sets udp_sport in
 * state RTS; INIT2INIT sets mmo and drain_sigerr in state INIT.
 */
#define SOFTHCA_QP_UDP_SPORT    (1u << 28) /* udp_sport is given */
#define SOFTHCA_QP_MMO          (1u << 30) /* mmo is given */
#define SOFTHCA_QP_DRAIN_SIGERR (1u << 31) /* drain_sigerr is given */

/* Fields are named as in struct ib_uverbs_modify_qp, uapi ib_user_verbs.h. */
struct softhca_qp_attr {
	uint32_t state, cur_state, path_mtu;
	uint32_t qkey, rq_psn, sq_psn, dest_qpn, access;
	uint16_t pkey_index;
	uint8_t en_sqd_notify, sq_draining;
	uint32_t dc_key_violations; /* query of a DCT: requests with a wrong DC key */
	uint8_t max_rd_atomic, max_dest_rd_atomic, min_rnr_timer, port, timeout, retry_cnt,
		rnr_retry;
	uint8_t is_global, sgid_index, hop_limit, traffic_class, sl;
	uint16_t dlid;
	uint16_t udp_sport; /* RoCE v2 */
	uint8_t dgid[16];
	uint8_t dmac[6];
	bool mmo; /* firmware QP context: DMA MMO is allowed (INIT2INIT) */
	/* firmware QP context: the path leads back to this port, without addresses */
	bool loopback;
	bool drain_sigerr;
};

int softhca_qp_create(struct softhca_dev *dev, const struct softhca_qp_init *init,
	struct softhca_qp **out);
/*
 * Sets the attributes of the mask: IBV_QP_* of ibv_modify_qp(3) (qp_mask.h) and the bits above.
 * Without IBV_QP_STATE the state is kept. -EINVAL: the state table lacks this transition, or does
 * not allow this mask for it, or a value is out of range.
 */
int softhca_qp_modify(struct softhca_qp *qp, const struct softhca_qp_attr *attr, uint32_t mask);
/*
 * The mask that the transition from the present state to `state` needs. 0: there is no such
 * transition.
 */
uint32_t softhca_qp_needs(const struct softhca_qp *qp, uint32_t state);
void softhca_qp_query(struct softhca_qp *qp, struct softhca_qp_attr *attr,
	uint32_t *hw_sq_bb /* next WQEBB the device would run, 16 bits */);
int softhca_qp_destroy(struct softhca_qp *qp);
/*
 * Called when an address was made to which QPs may send. If no adapter of this process has the
 * address, a line on stderr says so once (elsewhere.c). dgid counts on Ethernet, dlid on
 * InfiniBand.
 */
void softhca_note_address(const struct softhca_dev *dev, const uint8_t dgid[16], uint16_t dlid);
uint32_t softhca_qp_number(const struct softhca_qp *qp); /* of a DCT: 0 until it is in RTR */
/* True if a queue pair of the adapter has this number. */
bool softhca_qpn_exists(struct softhca_dev *dev, uint32_t number);
/* Reserves n consecutive QP numbers; the first is a multiple of n. -ENOSPC, -ENOMEM. */
int softhca_qpn_reserve(struct softhca_dev *dev, uint32_t n, uint32_t *first);
void softhca_qpn_release(struct softhca_dev *dev, uint32_t n, uint32_t first);
/*
 * Takes a stream of a DCI out of the error state (mlx5dv_dci_stream_id_reset(3)). -EINVAL: the
 * stream is in no error.
 */
int softhca_qp_reset_stream(struct softhca_qp *qp, uint16_t stream);

/* ---------------------------------------------------------------- shared receive queues (srq.c) */

struct softhca_srq_attr {
	uint32_t pdn;
	void *buf;               /* WQEs; index 0 is the first */
	_Atomic uint32_t *dbrec; /* number of posted WQEs; big endian, 16 bits */
	uint32_t n_wqe;          /* a power of two */
	uint32_t log_stride;     /* log2 of the bytes of one WQE */
	/* WQEs follow each other in memory; else each one names the next */
	bool cyclic;
	bool bare;             /* cyclic: WQEs have no segment that names the next WQE */
	struct softhca_cq *cq; /* for its completions (XRC, XRQ); NULL: the CQ of the QP */
	uint32_t xrcdn;        /* XRC: its XRC domain */
	uint32_t uidx;         /* with a CQ: the name of this SRQ in CQEs */
	void *event;           /* passed to softhca_event_qp_async() */
};

int softhca_srq_create(struct softhca_dev *dev, const struct softhca_srq_attr *attr,
	struct softhca_srq **out);
/*
 * Arms the limit event (ibv_modify_srq(3)). limit 0: disarms it. -EINVAL: the limit exceeds the
 * queue's size.
 */
int softhca_srq_arm(struct softhca_srq *srq, uint32_t limit);
uint32_t softhca_srq_limit(struct softhca_srq *srq); /* 0: not armed */
int softhca_srq_destroy(struct softhca_srq *srq);    /* -EBUSY while a QP uses it */
uint32_t softhca_srq_number(const struct softhca_srq *srq);

/* ---------------------------------------------------------------- work queues (wq.c) */

/* The numbers of verbs (enum ibv_wq_state). */
enum softhca_wq_state {
	SOFTHCA_WQ_RESET,
	SOFTHCA_WQ_RDY,
	SOFTHCA_WQ_ERR
};

struct softhca_wq_attr {
	_Atomic uint32_t *dbrec; /* number of posted WQEs; big endian, 16 bits */
	uint32_t n_wqe;          /* a power of two */
	uint32_t uidx;           /* the name of this WQ in CQEs */
	struct softhca_cq *cq;   /* for its completions */
	void *event;             /* passed to softhca_event_qp_async() */
};

struct softhca_wq;
int softhca_wq_create(struct softhca_dev *dev, const struct softhca_wq_attr *attr,
	struct softhca_wq **out);
void softhca_wq_destroy(struct softhca_wq *wq);
uint32_t softhca_wq_number(const struct softhca_wq *wq);
enum softhca_wq_state softhca_wq_state(struct softhca_wq *wq);
/* -EINVAL: the queue is not in state `from`, or `to` cannot follow `from`. */
int softhca_wq_modify(struct softhca_wq *wq, enum softhca_wq_state from, enum softhca_wq_state to);

/* ---------------------------------------------------------------- lanes (threads.c) */

/* starts the device threads, if the setting `threads` is not 0 */
int softhca_lanes_init(struct softhca_dev *dev);
void softhca_lanes_fini(struct softhca_dev *dev);
/*
 * Runs all work whose doorbell rang before the call, as a card has done when it sees a command. Not
 * inside a turn.
 */
void softhca_settle(struct softhca_dev *dev);
/*
 * As softhca_settle(), but visits each queue that rang only once: for use where queues may go on
 * ringing for long. Not inside a turn.
 */
void softhca_catch_up(struct softhca_dev *dev);

/* ---------------------------------------------------------------- sleeping (watch.c) */

/*
 * Tells the adapter where the program has mapped a UAR page or a clock page: the use of such a page
 * wakes sleeping device threads. If one page of an adapter cannot be watched, its threads sleep
 * only briefly. Does nothing without device threads.
 */
void softhca_watch_uar(struct softhca_uar *uar, void *at);
void softhca_watch_clock(struct softhca_dev *dev, void *page, void *at);
/* Call before a UAR page or a clock page is freed: ends the watch of all its mappings. */
void softhca_unwatch(const void *page);
/* Call when the program has moved len bytes of its memory: mremap(2). */
void softhca_watch_moved(void *from, void *to, size_t len);
/* Call around fork(2). In the child nothing is watched. */
void softhca_watch_fork_prepare(void);
void softhca_watch_fork_parent(void);
void softhca_watch_fork_child(void);

/* ---------------------------------------------------------------- the clock page (clock_page.c) */

/*
 * Writes the device's clock into the first 8 bytes of a page, until the page is removed. -ENOMEM.
 */
int softhca_clock_add(struct softhca_dev *dev, void *page);
int softhca_clock_remove(struct softhca_dev *dev, void *page);

/* ---------------------------------------------------------------- events (event.c) */

/* Async events have the numbers of verbs (IBV_EVENT_*). Called with QP or CQ locks held. */
void softhca_event_cq_comp(void *event);
void softhca_event_cq_async(void *event, uint32_t type);
void softhca_event_qp_async(void *event, uint32_t type);
/* A request had another key than the DCT. Only DEVX has this event. */
void softhca_event_dct_key(void *event);

#endif
