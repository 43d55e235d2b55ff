/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transactions of a queue: open transactions, their keys, and the connections that carry them.
 *
 *   gantry_queue::txns
 *     |- gantry_txn_open[n]    one for each transaction that may be open; each has a key
 *     `- scratch               the destination of data that are only checked
 *   gantry_conn::txns
 *     `- gantry_txn_line       the connection's open transactions, and whether it is stopped
 *
 * An open transaction is a slot of its connection's stream that is issued and not settled. Until
 * the transaction is settled, `where` of the slot has an index that is never done. So the same code
 * completes every transaction and gives back its objects, whatever ended the transaction.
 * gantry_txn_state.h has the states.
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
 * The smallest send queue, in WQEBBs. If it is empty, it has free WQEBBs for the longest
 * transaction, which has 41 WQEBBs: 7 of its UMR, 2 SET_PSVs, 16 transfers, and 16 of its response.
 * With encryption a transaction has one transfer, and its UMR has 8 WQEBBs.
 */
#define GANTRY_TXN_LEAST_BB UINT32_C(128)

/* The most profiles of which a queue keeps copies. */
#define GANTRY_TXN_PROFILES 8

/*
 * A response in the form that its WQE needs. A response of at most gantry_conn::max_inline bytes is
 * copied into the WQE by the CPU.
 */
struct gantry_txn_reply {
	uint64_t addr; /* address for the device; for inline data, the address for the CPU */
	uint32_t len;  /* bytes of the response; 0: there is no response */
	uint32_t lkey; /* not used for inline data */
};

/* A transaction, which is open or free. */
struct gantry_txn_open {
	TAILQ_ENTRY(gantry_txn_open) next;      /* neighbours in the list gantry_txn_line::open */
	SLIST_ENTRY(gantry_txn_open) next_free; /* next element of the list gantry_txns::free */
	/*
	 * Each key has a pool of its own, so that one key can be destroyed and created again. NULL
	 * if there is no key. The second key encrypts.
	 */
	struct hwq_mkey_pool *pool[2];
	struct hwq_mkey *key[2];
	struct hwq_mkey *mkey; /* key of the last transaction */

	/*
	 * Valid while the transaction is open. gantry_txn_begin() writes the first 8 bytes at once.
	 */
	uint8_t state;  /* enum gantry_txn_state */
	uint8_t status; /* enum gantry_status; valid from GANTRY_TXN_TO_ANSWER on */
	uint8_t syndrome, vendor_syndrome;
	/*
	 * Index of the transfer with the wrong signature. If is_sure is false, the wrong signature
	 * may be in a later transfer.
	 */
	uint16_t wrong_move;
	bool is_sure;
	bool has_answer; /* the good response is posted */
	/* Reasons why mkey cannot be used as it is: GANTRY_TXN_KEY_*; 0: it can be used. */
	uint8_t unfit;
	struct gantry_txn *txn;
	struct gantry_conn *c;
	uint64_t seq;     /* sequence number of the slot in c->stream */
	uint64_t last;    /* value of gantry_conn::posted before the last WQE */
	uint64_t version; /* version of the table of regions that gave the regions' keys */
	/* Value of gantry_conn::posted before the first transfer. Each transfer has one WQEBB. */
	uint64_t first_move;
	struct gantry_profile_domain mem, wire;
	struct gantry_txn_reply good, bad; /* `good` is valid until it is posted. */
};

/* Bits of gantry_txn_open::unfit. */
#define GANTRY_TXN_KEY_DOUBTFUL 1u /* a CQE about mkey may be lost: create mkey again */
#define GANTRY_TXN_KEY_ENCRYPTS 2u /* mkey is the key that encrypts */

TAILQ_HEAD(gantry_txn_list, gantry_txn_open);

/* Tells whether the send queue of a connection runs. */
enum gantry_txn_stop {
	GANTRY_TXN_RUNS = 0,
	/* A signature was wrong. The event that the send queue stands still has not come yet. */
	GANTRY_TXN_STOPPING,
	GANTRY_TXN_STOPPED,  /* the event has come */
	GANTRY_TXN_RESUMING, /* steps 1 to 3 of gantry_txn_stop.h are done */
};

/* The fields of a connection that transactions need. */
struct gantry_txn_line {
	struct gantry_txn_list open; /* open transactions, in the order of their slots */
	/*
	 * A transaction with a wrong signature, or NULL. The next CQE, at index next_ci, tells
	 * whether wrong_move of this transaction is sure.
	 */
	struct gantry_txn_open *wrong;
	uint32_t next_ci;
	uint8_t mode;       /* enum gantry_txn_mode */
	uint8_t stop;       /* enum gantry_txn_stop */
	uint8_t tries;      /* how often the device refused a step of the stop */
	uint64_t retry_tsc; /* time stamp at which the step is tried again */
};

struct gantry_txn_counts {
	gantry_counter opened;
	gantry_counter done; /* transactions that are settled, with any status */
	gantry_counter stops;
	gantry_counter cancelled; /* good responses that were cancelled */
};

/* A copy of a profile. */
struct gantry_txn_cached {
	uint32_t mark; /* id of the profile, plus 1; 0: there is no copy */
	/*
	 * The length of the data of the last transaction, and the lengths of these data in memory
	 * and on the wire. `len` is 0 if nothing was computed yet.
	 */
	uint32_t len, mem_len, wire_len;
	/* Serial number of the profile: its cell has this number as long as the profile exists. */
	uint64_t serial;
	const struct gantry_shelf_cell *cell;
	struct gantry_profile p;
};

struct gantry_txns {
	/* Constant pointers to parts of the queue. */
	struct hwq_dev *dev;
	struct hwq_domain *domain;
	int socket;
	bool encrypts; /* each transaction also has a second key, which encrypts */

	uint32_t n; /* number of transactions that may be open; 0: the queue has no transactions */
	/* A version of the table of regions. No open transaction was opened before this version. */
	_Atomic uint64_t passed;
	struct gantry_txn_open *open; /* the transactions; NULL: not created */
	/*
	 * The free transactions, as a stack: the key that was used last is likely to be in the
	 * device's caches.
	 */
	SLIST_HEAD(, gantry_txn_open) free;
	uint32_t n_stopped; /* connections whose send queue does not run (gantry_txn_stop.h) */
	struct gantry_txn_counts counts;
	struct hwq_qp_conf own_conf; /* configuration of the connection for local transactions */
	struct hwq_addr own_addr;    /* address of this connection, which is connected to itself */
	void *scratch;
	struct hwq_mr scratch_mr;
	struct gantry_txn_cached cache[GANTRY_TXN_PROFILES];
};

/*
 * Creates n transactions with their keys, and the scratch memory. The caller has set the pointers
 * to parts of the queue. Returns 0, or logs why and returns a negative errno. After an error,
 * gantry_txns_fini() destroys the objects that exist.
 */
int gantry_txns_init(struct gantry_txns *all, uint32_t n);
/*
 * Destroys the transactions. The caller knows that none is open. Returns 0 or the device's error.
 * After an error, call this function again. Control thread.
 */
int gantry_txns_fini(struct gantry_txns *all);

/*
 * Returns the WQEBBs of the send queue of a connection for transactions. depth:
 * gantry_peer_conf::depth.
 */
uint32_t gantry_txns_sq_wr(const struct gantry_txns *all, uint32_t depth);

/* Creates the line of a connection. gantry_conn_close() frees it. Returns 0 or -ENOMEM. */
int gantry_txn_line_create(uint8_t mode, int socket, struct gantry_txn_line **line);

/*
 * Gives a free transaction a key that can be used, with encryption or without it. Returns false if
 * no key could be created.
 */
bool gantry_txn_fit_key(struct gantry_txns *all, struct gantry_txn_open *t, bool encrypts);

/*
 * Returns true if an open transaction has keys from a version of the table of regions before
 * `version`. Owner thread.
 */
bool gantry_txns_are_older(const struct gantry_txns *all, uint64_t version);

/*
 * If no open transaction has keys from a version before `version`: sets `passed` to `version`, so
 * that other threads see it. `version` is the version of the table of regions that the owner's call
 * has taken.
 */
void gantry_txns_note_passed(struct gantry_txns *all, uint64_t version);

/*
 * Returns true if the queue to which view belongs has no open transaction that a call before the
 * publication of `version` has opened. Any thread; the caller has called gantry_region_barrier()
 * after the publication.
 */
bool gantry_txns_have_passed(const struct gantry_txns *all, const struct gantry_region_view *view,
	uint64_t version);

#endif
