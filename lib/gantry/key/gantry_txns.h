/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transactions of a queue: open ones, their keys, and the connections that carry them.
 *
 *   gantry_queue::txns
 *     |- gantry_txn_open[n]    one for each transaction that may be open; each has a key
 *     `- scratch               where checks that move nothing let their data go
 *   gantry_conn::txns
 *     `- gantry_txn_line       the connection's open transactions in their order, and whether it is stopped
 *
 * An open transaction is a slot of its connection's stream that is issued and not settled. `where` of the slot has an
 * index that is never done, until the transaction settles: so whatever ends it, one place completes it and gives back
 * what it has. gantry_txn_state.h has its states.
 */
#ifndef GANTRY_TXNS_H
#define GANTRY_TXNS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <hwq_mkey.h>
#include <hwq_mr.h>
#include <hwq_qp.h>

#include "gantry.h"
#include "gantry_counter.h"
#include "gantry_profile.h"

struct gantry_conn;
struct gantry_region_view;
struct hwq_dev;
struct hwq_domain;

/*
 * WQEBBs of a send queue, so that the longest transaction always has room in an empty one. It has at most 41: 7 of its UMR,
 * 2 SET_PSVs, 16 transfers and 16 of its response. If it encrypts, its UMR has 8, and it has one transfer.
 */
#define GANTRY_TXN_LEAST_BB UINT32_C(128)

/* Profiles that a queue keeps copies of. */
#define GANTRY_TXN_PROFILES 8

/* A response, as a WQE has it. Up to gantry_conn::max_inline bytes, the CPU copies it into the WQE. */
struct gantry_txn_reply {
	uint64_t addr; /* as the device knows it; of inline data, as the CPU does */
	uint32_t len;  /* 0: none */
	uint32_t lkey; /* not used if inline */
};

/* One transaction, open or free. */
struct gantry_txn_open {
	TAILQ_ENTRY(gantry_txn_open) next;      /* in gantry_txn_line::open */
	SLIST_ENTRY(gantry_txn_open) next_free; /* in gantry_txns::free */
	/* Of each key alone, so that it can be made anew; NULL: no key. The second one encrypts. */
	struct hwq_mkey_pool *pool[2];
	struct hwq_mkey *key[2];
	struct hwq_mkey *mkey; /* that of the last transaction */
	uint8_t unfit;         /* why mkey cannot sign as it is: GANTRY_TXN_KEY_*; 0: it can */

	/* While it is open. */
	uint8_t state;  /* enum gantry_txn_state */
	uint8_t status; /* enum gantry_status: from GANTRY_TXN_TO_ANSWER on */
	uint8_t syndrome, vendor_syndrome;
	bool has_answer; /* its good response is posted */
	struct gantry_txn *txn;
	struct gantry_conn *c;
	uint64_t seq;        /* its slot in c->stream */
	uint64_t last;       /* gantry_conn::posted before its last WQE */
	uint64_t version;    /* of the table of regions that its keys are from */
	uint64_t first_move; /* gantry_conn::posted before its first transfer; each has one WQEBB */
	uint32_t
		wrong_move; /* the transfer with the wrong signature; if not is_sure, it or a later one */
	bool is_sure;
	struct gantry_profile_domain mem, wire;
	struct gantry_txn_reply good, bad;
};

/* gantry_txn_open::unfit */
#define GANTRY_TXN_KEY_DOUBTFUL 1u /* a CQE that told of mkey may be lost: it is to be made anew */
#define GANTRY_TXN_KEY_ENCRYPTS 2u /* mkey is the key that encrypts */

TAILQ_HEAD(gantry_txn_list, gantry_txn_open);

/* Whether a connection's send queue runs. */
enum gantry_txn_stop {
	GANTRY_TXN_RUNS = 0,
	GANTRY_TXN_STOPPING, /* a signature was wrong, so the event that it stands still is to come */
	GANTRY_TXN_STOPPED,  /* the event has come */
	GANTRY_TXN_RESUMING, /* all is done that must be done while it stands still */
};

/* What a connection for transactions has besides. */
struct gantry_txn_line {
	struct gantry_txn_list open; /* in the order of their slots */
	/* It has a wrong signature, and the next CQE, at index next_ci, will tell if wrong_move is sure; NULL: none has. */
	struct gantry_txn_open *wrong;
	uint32_t next_ci;
	uint8_t mode;       /* enum gantry_txn_mode */
	uint8_t stop;       /* enum gantry_txn_stop */
	uint8_t tries;      /* how often a step of the stop was refused */
	uint64_t retry_tsc; /* when it is tried again */
};

struct gantry_txn_counts {
	gantry_counter opened;
	gantry_counter done; /* settled, whatever the status */
	gantry_counter stops;
	gantry_counter cancelled; /* good responses */
};

/* In gantry_txn_cached::mark: the profile encrypts. */
#define GANTRY_TXN_CACHED_CRYPTO (UINT32_C(1) << 31)

/* A copy of a profile. */
struct gantry_txn_cached {
	uint32_t mark;   /* its id, and 1, and GANTRY_TXN_CACHED_CRYPTO; 0: none */
	uint64_t serial; /* which its cell has as long as the profile is there */
	const struct gantry_shelf_cell *cell;
	struct gantry_profile p;
};

struct gantry_txns {
	/* Constant: what they have of the queue. */
	struct hwq_dev *dev;
	struct hwq_domain *domain;
	int socket;
	bool encrypts; /* each has a key that encrypts, too */

	uint32_t n; /* transactions that may be open; 0: the queue has none */
	/* Of the table of regions: no transaction is open that was opened before this version. */
	_Atomic uint64_t passed;
	struct gantry_txn_open *open; /* NULL: not made */
	SLIST_HEAD(, gantry_txn_open)
	free;               /* the key that was used last is in the device's caches */
	uint32_t n_stopped; /* connections whose send queue does not run: gantry_txn_stop.h */
	struct gantry_txn_counts counts;
	struct hwq_qp_conf own_conf; /* of the connection for local transactions */
	struct hwq_addr own_addr;    /* it is connected to this address */
	void *scratch;
	struct hwq_mr scratch_mr;
	struct gantry_txn_cached cache[GANTRY_TXN_PROFILES];
};

/*
 * Makes n transactions with their keys, and the scratch memory; what they have of the queue is set. 0 or a negative errno:
 * the log says why, and gantry_txns_fini() ends what there is.
 */
int gantry_txns_init(struct gantry_txns *all, uint32_t n);
/* Ends them. 0; or what the device said: call again. No transaction is open. Control thread. */
int gantry_txns_fini(struct gantry_txns *all);

/* WQEBBs of the send queue of a connection for transactions. depth: gantry_peer_conf::depth. */
uint32_t gantry_txns_sq_wr(const struct gantry_txns *all, uint32_t depth);

/* A line for a connection. 0 or -ENOMEM. gantry_conn_close() frees it. */
int gantry_txn_line_create(uint8_t mode, int socket, struct gantry_txn_line **line);

/* Gives a free transaction a key that is fit: one that encrypts, or one that does not. False: it could not be made. */
bool gantry_txn_fit_key(struct gantry_txns *all, struct gantry_txn_open *t, bool encrypts);

/* True: an open transaction has keys from a version of the table of regions before this one. Owner thread. */
bool gantry_txns_are_older(const struct gantry_txns *all, uint64_t version);

/* Lets others know if no open transaction is from before `version`, which the call of the owner has taken. */
void gantry_txns_note_passed(struct gantry_txns *all, uint64_t version);

/*
 * True: no transaction is open that the queue, whose view this is, opened in a call which began before `version` was published. Any thread,
 * behind the gantry_region_barrier() that follows the publication.
 */
bool gantry_txns_have_passed(const struct gantry_txns *all, const struct gantry_region_view *view,
	uint64_t version);

#endif
