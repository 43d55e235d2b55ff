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
 *  - Any thread of the program makes control calls. The calls on one context run one at a time.
 *  - The data half runs in lanes. A lane is a device thread, or a thread inside softhca_pump().
 *    It works in turns (turns.h): in a turn it visits UAR pages, and runs WQEs of their queues. A
 *    lane never waits for a control call. A control call that removes a key, a QP or a UAR page
 *    first unpublishes this object, and then waits in softhca_quiesce() until no lane sees it.
 *  - Lock order: a UAR page (the send side of its QPs), one QP's receive side, one SRQ, one CQ,
 *    then event.c. At most one lock of each kind is held. While a thread holds the lock of a key,
 *    or the lock for atomics on demand, it takes no other lock and does not wait for a lane.
 */
#ifndef SOFTHCA_HCA_H
#define SOFTHCA_HCA_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOFTHCA_HIDDEN __attribute__((visibility("hidden")))

struct softhca_dev; /* an adapter; exists as long as the process */
struct softhca_ctx; /* an open character device */
struct softhca_uar;
struct softhca_pd;
struct softhca_mkey;
struct alias_target; /* key.h */
struct softhca_cq;
struct softhca_srq;
struct softhca_qp;

/* ---------------------------------------------------------------- UAR pages (uar_queues.c) */

enum softhca_uar_type {
	SOFTHCA_UAR_BF,
	SOFTHCA_UAR_NC
};

/*
 * Adds a UAR page; from then on the adapter's threads (lanes) look for doorbells on it. `page` is
 * the device's own mapping of the page's 4 KiB. softhca_uar_create() returns 0 or -ENOMEM.
 * softhca_uar_destroy() returns 0, -EBUSY while a QP or CQ uses the page, or -ENOMEM.
 */
int softhca_uar_create(struct softhca_dev *dev, void *page, uint32_t page_id,
	enum softhca_uar_type type, struct softhca_uar **out);
int softhca_uar_destroy(struct softhca_uar *uar);

/* ---------------------------------------------------------------- keys (mkey.c) */

enum softhca_mkey_kind {
	SOFTHCA_MKEY_MR, /* plain memory */
	/* a layout over other keys, which the creation or a work request sets */
	SOFTHCA_MKEY_INDIRECT,
	/* a memory window of type 1 or 2; its layout is a part of one region */
	SOFTHCA_MKEY_WINDOW_1,
	SOFTHCA_MKEY_WINDOW_2,
	SOFTHCA_MKEY_ALIAS /* stands for a key of another function of the card */
};

/* A part of an indirect key's layout: a range of the memory of another key. */
struct softhca_mkey_part {
	uint64_t va;
	uint32_t key, len;
};

/* Access flags have the numbers of verbs (IBV_ACCESS_*, uapi ib_user_ioctl_verbs.h). */
struct softhca_mkey_attr {
	uint32_t pdn;
	uint32_t access;
	uint64_t addr; /* address of the memory in this process */
	uint64_t iova; /* address of the first byte in work requests */
	uint64_t len;  /* bytes */
	/*
	 * Maximum of pages of a region with this key, a power of two. When the region ends, its key
	 * is kept for the next region with the same `room`. 0: the key is destroyed together with
	 * the region.
	 */
	uint64_t room;
	bool rinval; /* a peer may revoke the key's rights by a SEND with invalidate */
	enum softhca_mkey_kind kind;
	bool bsf;    /* the indirect key can have a signature or encryption */
	bool crypto; /* a work request can make the key encrypt the data that pass through it */
	/* True: `variant` is the lowest byte of the key. False: the adapter chooses that byte. */
	bool has_variant;
	uint8_t variant;
	bool free;  /* the indirect key has no rights until a work request configures it */
	bool fixed; /* no work request may configure the key */
	/* layout of n_parts parts, which is read only at creation */
	const struct softhca_mkey_part *parts;
	uint32_t n_parts;
	uint32_t max_entries; /* maximum length of the indirect key's layout, in 16-byte units */
	const struct alias_target *target; /* for an alias: read only at creation */
};

/*
 * The key of ibv_alloc_null_mr(3): reads give zeros, writes are dropped. The key is in no table,
 * and is valid in every PD.
 */
#define SOFTHCA_DUMP_FILL_KEY 0x200u

int softhca_mkey_create(struct softhca_dev *dev, const struct softhca_mkey_attr *attr,
	struct softhca_mkey **out);
/* For REREG_MR: replaces the attributes of a region. The region keeps its key. */
int softhca_mkey_modify(struct softhca_mkey *mkey, const struct softhca_mkey_attr *attr);
/*
 * Destroys the key. After this, windows and indirect keys over the key reach no memory, until
 * another region gets the same key.
 */
int softhca_mkey_destroy(struct softhca_mkey *mkey);
uint32_t softhca_mkey_key(const struct softhca_mkey *mkey);

/* ---------------------------------------------------------------- aliases of keys (alias.c) */

#define SOFTHCA_ACCESS_KEY_LEN 32

/*
 * Allows the functions of the card to create aliases of the key, if they know the access key. A
 * second call replaces the access key; aliases that exist are not affected. Assumed:
 * allow-again.
 */
void softhca_mkey_allow(struct softhca_mkey *mkey, const uint8_t key[SOFTHCA_ACCESS_KEY_LEN]);

struct softhca_alias_attr {
	uint32_t pdn;     /* the PD of the alias */
	uint32_t vhca_id; /* the function that owns the key */
	uint32_t index;   /* the key's number without its variant */
	uint8_t key[SOFTHCA_ACCESS_KEY_LEN];
};

enum softhca_alias_refusal {
	SOFTHCA_ALIAS_NO_VHCA = 1, /* the card has no such function */
	SOFTHCA_ALIAS_NO_KEY,   /* the function has no such key, or did not allow aliases of it */
	SOFTHCA_ALIAS_WRONG_KEY /* another access key was given when the key was allowed */
};

/*
 * Creates an alias of a key of a function of the same card. Its variant is 0. Assumed:
 * alias-variant.
 * Returns 0, -ENOMEM, or an enum softhca_alias_refusal. The owner may destroy its key while aliases
 * exist: when softhca_mkey_destroy() has returned, an alias reaches no memory. It also does not
 * reach a later key with the same number. Assumed: alias-outlives, alias-index-again,
 * alias-owner-closes, alias-own-function.
 */
int softhca_alias_create(struct softhca_dev *dev, const struct softhca_alias_attr *attr,
	struct softhca_mkey **out);
/* True if the owner's key still exists. */
bool softhca_alias_is_whole(const struct softhca_mkey *alias);

/* The arguments of ibv_advise_mr(3), for one range of a key on demand (odp.c). */
struct softhca_advice {
	uint32_t key;
	uint64_t va, len;
	bool write, fault; /* write: for writing; fault: load missing pages */
	bool flush;        /* the call reports errors of the range */
};

/*
 * Returns 0; -ENOENT if the key does not exist or is not on demand; -EINVAL if the key is not that
 * of a region; or -EPERM if the key belongs to another PD or is read-only. With `flush` also
 * returns -EFAULT if the range is not within the region or is not mapped.
 */
int softhca_mkey_advise(struct softhca_dev *dev, uint32_t pdn, const struct softhca_advice *a);
/*
 * False if the setting `odp` is 0, or if a sandbox forbids the system calls that memory on demand
 * needs.
 */
bool softhca_odp_is_possible(const struct softhca_dev *dev);

/*
 * A PSV: the running state of a signature. The BSFs of keys in the same PD refer to a PSV by its
 * number.
 */
struct softhca_psv;
int softhca_psv_create(struct softhca_dev *dev, uint32_t pdn, struct softhca_psv **out);
int softhca_psv_destroy(struct softhca_psv *psv);
uint32_t softhca_psv_number(const struct softhca_psv *psv);

/* ---------------------------------------------------------------- encryption keys (dek.c) */

#define SOFTHCA_DEK_KEY_LEN    128
#define SOFTHCA_DEK_OPAQUE_LEN 8

struct softhca_dek_attr {
	uint32_t pdn;
	/* true: two AES keys of 256 bits each; false: of 128 bits each */
	bool key_256;
	bool has_keytag;                  /* a keytag is at the end of the key's bytes */
	uint8_t key[SOFTHCA_DEK_KEY_LEN]; /* plaintext, in the layout of mlx5dv_dek_create(3) */
	/* bytes that the program sets; the adapter does not interpret them */
	uint8_t opaque[SOFTHCA_DEK_OPAQUE_LEN];
};

/*
 * Creates a DEK. Returns 0, -EINVAL if the DEK's two AES keys are equal, -EOPNOTSUPP if OpenSSL is
 * missing, or -ENOMEM.
 */
struct softhca_dek;
int softhca_dek_create(struct softhca_dev *dev, const struct softhca_dek_attr *attr,
	struct softhca_dek **out);
/* Returns the attributes without the bytes of the key. */
void softhca_dek_query(const struct softhca_dek *dek, struct softhca_dek_attr *attr);
/*
 * Replaces the key by a key of the same size. The new key has a keytag if the old key had a keytag.
 * Returns the errors of softhca_dek_create().
 */
int softhca_dek_rekey(struct softhca_dek *dek, const uint8_t key[SOFTHCA_DEK_KEY_LEN]);
int softhca_dek_destroy(struct softhca_dek *dek);
uint32_t softhca_dek_number(const struct softhca_dek *dek);

#define SOFTHCA_WRAP_MORE 8 /* number of bytes that wrapping adds */

/*
 * Unwraps `len` bytes by AES key wrap (RFC 3394). The result is SOFTHCA_WRAP_MORE bytes shorter,
 * but `out` must have room for `len` bytes. kek_hex: the KEK in hexadecimal digits, as in the
 * setting. Returns 0, -EINVAL if the bytes were not wrapped with this KEK, or -EOPNOTSUPP if
 * OpenSSL is missing.
 */
int softhca_unwrap(const char *kek_hex, const uint8_t *in, size_t len, uint8_t *out);

/* ---------------------------------------------------------------- completion queues (cq.c) */

struct softhca_cq_attr {
	void *buf;               /* in the program's memory: n_cqe entries of cqe_len bytes */
	_Atomic uint32_t *dbrec; /* doorbell record: [0] consumer index, [1] arm word; big endian */
	uint32_t n_cqe;          /* number of entries, a power of two */
	uint32_t cqe_len;        /* bytes of an entry: 64 or 128 */
	bool ignore_overrun;
	/* the first 64 bytes of an entry of 128 bytes are zeros */
	bool pad;
	bool compress;                         /* completions that differ little share an entry */
	struct softhca_uar *uar;               /* UAR page with the arm doorbell */
	void *event;                           /* passed to softhca_event_cq_*() */
	uint32_t event_count, event_period_us; /* only for query: softhca_cq_moderate() sets them */
};

int softhca_cq_create(struct softhca_dev *dev, const struct softhca_cq_attr *attr,
	struct softhca_cq **out);
int softhca_cq_destroy(struct softhca_cq *cq); /* returns 0, or -EBUSY while a QP uses the CQ */
uint32_t softhca_cq_number(const struct softhca_cq *cq);
/*
 * Replaces the buffer of the CQ. Call softhca_settle() first. The last entry of the old buffer
 * announces the resize to the program. Returns 0, or -EINVAL if the size is wrong, if the new
 * buffer is too small for the completions in the CQ, or if the old buffer has no free entry for its
 * last entry.
 */
int softhca_cq_resize(struct softhca_cq *cq, void *buf, uint32_t n_cqe, uint32_t cqe_len);
/*
 * Sets the moderation: an event is sent at the count-th completion, or after the period. If both
 * are 0, each completion sends an event.
 */
void softhca_cq_moderate(struct softhca_cq *cq, uint32_t count, uint32_t period_us);
void softhca_cq_query(struct softhca_cq *cq, struct softhca_cq_attr *attr, uint32_t *pi,
	uint32_t *ci);

/* ---------------------------------------------------------------- queue pairs (qp_control.c) */

/*
 * The types, with the numbers of verbs (enum ibv_qp_type). Verbs have one number for both DCI and
 * DCT.
 */
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

/* The state of a QP for queries by rdma(8). The device keeps it up to date. */
struct softhca_qp_shown {
	_Atomic uint32_t number, state, port; /* number and port are 0 until the QP has them */
	_Atomic uint32_t dest_qpn, rq_psn, sq_psn;
};

struct softhca_qp_init {
	enum softhca_qp_type type;
	uint32_t pdn;
	struct softhca_cq *send_cq, *recv_cq; /* not NULL if there is a UAR page */
	struct softhca_srq *srq; /* NULL: the QP has its own receive queue, or no receive queue */
	/* NULL: the QP has no send queue (XRC_RECV, DCT, or a QP made by a firmware command) */
	struct softhca_uar *uar;
	void *buf; /* receive WQEs, followed by send WQEs */
	/* for RAW: the send WQEs; otherwise NULL, because they are in buf */
	void *sq_buf;
	/* doorbell record: [0] receive counter, [1] send counter; big endian */
	_Atomic uint32_t *dbrec;
	/* the device learns the send counter only from doorbells: see doorbell.c */
	bool no_send_record;
	bool dbrec_is_fixed;    /* dbrec is in read-only memory */
	uint32_t sq_bb;         /* number of send WQEBBs of 64 bytes, a power of two, or 0 */
	uint32_t rq_wqe;        /* number of receive WQEs, a power of two, or 0 */
	uint32_t log_rq_stride; /* log2 of the bytes of a receive WQE */
	uint32_t uidx;          /* number by which CQEs identify this QP */
	bool sig_all;
	bool mmo;        /* DMA MMO is allowed from the start; otherwise a modify may allow it */
	uint32_t xrcdn;  /* for XRC_RECV: number of the XRC domain */
	uint64_t dc_key; /* for a DCT: key that a sender's message must have */
	/* For a DCI: an error stops only its stream, until 2^log_errored streams are in error. */
	bool streams;
	uint8_t log_errored;
	void *event;                    /* passed to softhca_event_qp_async() */
	struct softhca_qp_shown *shown; /* NULL: queries by rdma(8) do not show this QP */
};

/*
 * Mask bits for attributes that verbs do not have; firmware commands set them. RTS2RTS sets
 * udp_sport in state RTS; INIT2INIT sets mmo and drain_sigerr in state INIT.
 */
#define SOFTHCA_QP_UDP_SPORT    (1u << 28) /* the attributes have udp_sport */
#define SOFTHCA_QP_MMO          (1u << 30) /* the attributes have mmo */
#define SOFTHCA_QP_DRAIN_SIGERR (1u << 31) /* the attributes have drain_sigerr */

/* The fields have the names of those in struct ib_uverbs_modify_qp, uapi ib_user_verbs.h. */
struct softhca_qp_attr {
	uint32_t state, cur_state, path_mtu;
	uint32_t qkey, rq_psn, sq_psn, dest_qpn, access;
	uint16_t pkey_index;
	uint8_t en_sqd_notify, sq_draining;
	/* only from a query of a DCT: number of requests with a wrong DC key */
	uint32_t dc_key_violations;
	uint8_t max_rd_atomic, max_dest_rd_atomic, min_rnr_timer, port, timeout, retry_cnt,
		rnr_retry;
	uint8_t is_global, sgid_index, hop_limit, traffic_class, sl;
	uint16_t dlid;
	uint16_t udp_sport; /* only for RoCE v2 */
	uint8_t dgid[16];
	uint8_t dmac[6];
	bool mmo; /* from the firmware's QP context: DMA MMO is allowed (INIT2INIT) */
	/*
	 * From the firmware's QP context: the path leads back to this port and needs no addresses.
	 */
	bool loopback;
	bool drain_sigerr;
};

int softhca_qp_create(struct softhca_dev *dev, const struct softhca_qp_init *init,
	struct softhca_qp **out);
/*
 * Sets the attributes of the mask: IBV_QP_* of ibv_modify_qp(3) (qp_mask.h) and the bits above.
 * Without IBV_QP_STATE the state does not change. Returns 0, or -EINVAL if the state table lacks
 * this transition or does not allow this mask for it, or if a value is out of range.
 */
int softhca_qp_modify(struct softhca_qp *qp, const struct softhca_qp_attr *attr, uint32_t mask);
/*
 * Returns the mask that the transition from the present state to `state` needs, or 0 if there is no
 * such transition.
 */
uint32_t softhca_qp_needs(const struct softhca_qp *qp, uint32_t state);
void softhca_qp_query(struct softhca_qp *qp, struct softhca_qp_attr *attr,
	uint32_t *hw_sq_bb /* next WQEBB that the device would run, 16 bits */);
int softhca_qp_destroy(struct softhca_qp *qp);
/*
 * Called when an address was set to which QPs may send. If no adapter of this process has the
 * address, a line is logged once on stderr (elsewhere.c). On Ethernet the address is dgid, on
 * InfiniBand dlid.
 */
void softhca_note_address(const struct softhca_dev *dev, const uint8_t dgid[16], uint16_t dlid);
uint32_t softhca_qp_number(const struct softhca_qp *qp); /* for a DCT: 0 until it is in RTR */
/* True if a queue pair of the adapter has this number. */
bool softhca_qpn_exists(struct softhca_dev *dev, uint32_t number);
/*
 * Reserves n consecutive QP numbers, of which the first is a multiple of n. Returns 0, -ENOSPC or
 * -ENOMEM.
 */
int softhca_qpn_reserve(struct softhca_dev *dev, uint32_t n, uint32_t *first);
void softhca_qpn_release(struct softhca_dev *dev, uint32_t n, uint32_t first);
/*
 * Moves a stream of a DCI out of the error state (mlx5dv_dci_stream_id_reset(3)). Returns 0, or
 * -EINVAL if the stream is not in error.
 */
int softhca_qp_reset_stream(struct softhca_qp *qp, uint16_t stream);

/* ---------------------------------------------------------------- shared receive queues (srq.c) */

struct softhca_srq_attr {
	uint32_t pdn;
	void *buf;               /* WQEs; the list starts at index 0 */
	_Atomic uint32_t *dbrec; /* doorbell record: number of posted WQEs; big endian, 16 bits */
	uint32_t n_wqe;          /* number of WQEs, a power of two */
	uint32_t log_stride;     /* log2 of the bytes of a WQE */
	/* True: WQEs follow each other in memory. False: each WQE has the index of the next WQE. */
	bool cyclic;
	/* for a cyclic queue: WQEs have no first segment with the index of the next WQE */
	bool bare;
	/* for the SRQ's completions (XRC, XRQ); NULL: they use the CQ of the QP */
	struct softhca_cq *cq;
	uint32_t xrcdn; /* for XRC: number of the XRC domain */
	uint32_t uidx;  /* if the SRQ has a CQ: number by which CQEs identify this SRQ */
	void *event;    /* passed to softhca_event_qp_async() */
};

int softhca_srq_create(struct softhca_dev *dev, const struct softhca_srq_attr *attr,
	struct softhca_srq **out);
/*
 * Arms the limit event (ibv_modify_srq(3)). A limit of 0 disarms it. Returns 0, or -EINVAL if the
 * limit exceeds the queue's size.
 */
int softhca_srq_arm(struct softhca_srq *srq, uint32_t limit);
uint32_t softhca_srq_limit(struct softhca_srq *srq); /* returns 0 if it is not armed */
int softhca_srq_destroy(struct softhca_srq *srq);    /* returns 0, or -EBUSY while a QP uses it */
uint32_t softhca_srq_number(const struct softhca_srq *srq);

/* ---------------------------------------------------------------- work queues (wq.c) */

/* The states, with the numbers of verbs (enum ibv_wq_state). */
enum softhca_wq_state {
	SOFTHCA_WQ_RESET,
	SOFTHCA_WQ_RDY,
	SOFTHCA_WQ_ERR
};

struct softhca_wq_attr {
	_Atomic uint32_t *dbrec; /* doorbell record: number of posted WQEs; big endian, 16 bits */
	uint32_t n_wqe;          /* number of WQEs, a power of two */
	uint32_t uidx;           /* number by which CQEs identify this WQ */
	struct softhca_cq *cq;   /* CQ for the completions of this WQ */
	void *event;             /* passed to softhca_event_qp_async() */
};

struct softhca_wq;
int softhca_wq_create(struct softhca_dev *dev, const struct softhca_wq_attr *attr,
	struct softhca_wq **out);
void softhca_wq_destroy(struct softhca_wq *wq);
uint32_t softhca_wq_number(const struct softhca_wq *wq);
enum softhca_wq_state softhca_wq_state(struct softhca_wq *wq);
/*
 * Returns 0, or -EINVAL if the queue is not in state `from`, or if the state `to` cannot follow it.
 */
int softhca_wq_modify(struct softhca_wq *wq, enum softhca_wq_state from, enum softhca_wq_state to);

/* ---------------------------------------------------------------- lanes (threads.c) */

/* Starts the device threads, if the setting `threads` is not 0. */
int softhca_lanes_init(struct softhca_dev *dev);
void softhca_lanes_fini(struct softhca_dev *dev);
/*
 * Call this after the effective user of the process has changed, while no other thread calls
 * softhca_lanes_init() or softhca_lanes_fini(). Other processes then see the new user.
 */
void softhca_lanes_user_changed(struct softhca_dev *dev);
/*
 * Runs all work whose doorbell rang before the call. Control calls need this, because a card has
 * run such work when it sees a firmware command. Do not call this inside a turn (turns.h).
 */
void softhca_settle(struct softhca_dev *dev);
/*
 * As softhca_settle(), but visits only once each queue that rang. Use it where programs may
 * continue to ring for a long time. Do not call this inside a turn.
 */
void softhca_catch_up(struct softhca_dev *dev);

/* ---------------------------------------------------------------- sleeping (watch.c) */

/*
 * Tells the adapter where the program has mapped a UAR page or a clock page. From then on, an
 * access to such a page wakes sleeping device threads. If one page of an adapter cannot be watched,
 * the adapter's threads sleep only for a short time. Does nothing without device threads.
 */
void softhca_watch_uar(struct softhca_uar *uar, void *at);
void softhca_watch_clock(struct softhca_dev *dev, void *page, void *at);
/*
 * Call this before a UAR page or a clock page is freed: ends the watch of all mappings of the page.
 */
void softhca_unwatch(const void *page);
/* Call this when the program has moved len bytes of its memory by mremap(2). */
void softhca_watch_moved(void *from, void *to, size_t len);
/*
 * Call these around fork(2). In the child no page is watched, and the names of the QP numbers are
 * closed.
 */
void softhca_watch_fork_prepare(void);
void softhca_watch_fork_parent(void);
void softhca_watch_fork_child(void);

/* ---------------------------------------------------------------- the clock page (clock_page.c) */

/*
 * Makes the device write its clock into the first 8 bytes of a page, until the page is removed.
 * Returns 0 or -ENOMEM.
 */
int softhca_clock_add(struct softhca_dev *dev, void *page);
int softhca_clock_remove(struct softhca_dev *dev, void *page);

/* ---------------------------------------------------------------- events (event.c) */

/*
 * The types of async events are the numbers of verbs (IBV_EVENT_*). The callers may hold locks of
 * QPs or CQs.
 */
void softhca_event_cq_comp(void *event);
void softhca_event_cq_async(void *event, uint32_t type);
void softhca_event_qp_async(void *event, uint32_t type);
/* Sends the event that a request had another access key than the DCT. Only DevX has this event. */
void softhca_event_dct_key(void *event);

#endif
