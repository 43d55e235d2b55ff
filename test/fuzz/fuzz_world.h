/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The adapter's data half with queues of every type, in guarded memory. There is no control half:
 * queues and keys are created by the functions of hca.h.
 */
#ifndef FUZZ_WORLD_H
#define FUZZ_WORLD_H

#include <string.h>

#include <infiniband/mlx5dv.h>

#include "dev.h"
#include "hca.h"

#include "fuzz.h"

#define FUZZ_PDN       5
#define FUZZ_OTHER_PDN 6
/* Number of 16-byte units of layout that an indirect key can have; a window can have 4. */
#define FUZZ_UNITS 24
#ifndef FUZZ_RW_LEN
#define FUZZ_RW_LEN 32768u
#endif
/* Number of bytes of a region's memory before and after the region, which are not registered. */
#define FUZZ_MARGIN 256u

/* The settings wire_message and wire_bytes. */
#define FUZZ_WIRE_MESSAGE (192u << 10)
#define FUZZ_WIRE_BYTES   (320u << 10)

enum {
	N_UARS = 4,
	N_CQS = 4,
	N_SRQS = 2,
	N_RW = 3,       /* the last region is on demand */
	N_INDIRECT = 8, /* the last four keys can have a signature */
	N_CRYPTO = 2,   /* the last two of these keys encrypt */
	N_WINDOWS = 3,
	N_PSVS = 3,
	N_DEKS = 3 /* the first PSV and the first DEK belong to another PD */
};

/*
 * Two RC QPs connected to each other, one RC QP connected to itself and with an SRQ, and one QP of
 * every other type. Senders come before responders.
 */
enum {
	Q_RC_A,
	Q_RC_B,
	Q_RC_SRQ,
	Q_UC,
	Q_UD,
	Q_XRC_SEND,
	Q_XRC_RECV,
	Q_DCI,
	Q_DCT,
	Q_RAW,
	N_QUEUES
};

struct fuzz_region {
	uint8_t *mem;
	size_t len;        /* length of mem in bytes */
	uint64_t va, size; /* the registered part of mem */
	struct softhca_mkey *mkey;
};

struct fuzz_queue {
	enum softhca_qp_type type;
	struct softhca_qp *qp;
	unsigned int uar;
	uint8_t *sq, *rq;
	_Atomic uint32_t *db;
	uint32_t sq_bb, rq_n, rq_stride;
	uint16_t pi, rq_pi;
	bool must_fail[64]; /* indexed by the WQEBB in which a WQE starts */
};

struct fuzz_srq {
	struct softhca_srq *srq;
	uint8_t *buf;
	_Atomic uint32_t *db;
	uint32_t n, stride;
	uint16_t pi, last; /* last: index of the entry that was last posted */
};

struct fuzz_cq {
	struct softhca_cq *cq;
	uint8_t *buf;
	_Atomic uint32_t *db;
	uint32_t n, len, seen; /* seen: index up to which completions were checked */
};

struct fuzz_world {
	/* Number of the peer of each queue, if another process is the peer; otherwise 0. */
	uint32_t peer[N_QUEUES];
	bool calm; /* most work requests are valid, so that queues fail late */
	uint8_t *page[N_UARS];
	struct softhca_uar *uar[N_UARS];
	struct fuzz_cq cq[N_CQS];
	struct fuzz_srq srq[N_SRQS]; /* the second SRQ is an XRC SRQ */
	struct fuzz_queue queue[N_QUEUES];
	struct fuzz_region rw[N_RW], ro, other;
	uint8_t *none; /* memory for which there is no key */
	struct softhca_mkey *indirect[N_INDIRECT], *window[N_WINDOWS];
	struct softhca_psv *psv[N_PSVS];
	struct softhca_dek *dek[N_DEKS];
};

/* Ends the program with a message if the call does not return 0. */
#define FUZZ_MUST(err)                                                                             \
	do {                                                                                       \
		int err_ = (err);                                                                  \
		if (err_ != 0)                                                                     \
			FUZZ_DIE("%s: %s", #err, strerror(-err_));                                 \
	} while (0)

extern struct softhca_dev fuzz_dev;
extern unsigned long fuzz_frames; /* number of frames that raw queues sent */

/* wire: whether messages reach other processes. */
void world_init(enum softhca_wire wire);
void world_fini(void);
/* Moves the clock forward. */
void world_pass(uint64_t ns);
/*
 * Creates queues of every type in RTS, and indirect keys that have no layout yet. peers: w->peer,
 * or NULL if all peers are in the world.
 */
void world_create(struct fuzz_world *w, bool calm, const uint32_t *peers);
void world_destroy(struct fuzz_world *w);
/* Ends the fuzzer if bytes around the regions have changed. */
void fuzz_check_regions(const struct fuzz_world *w);
/* Takes a queue from any state to RTS. A DCT is destroyed and created again. */
void world_connect(struct fuzz_world *w, unsigned int queue);
unsigned int world_state(const struct fuzz_queue *q, uint32_t *hw_bb);

#endif
