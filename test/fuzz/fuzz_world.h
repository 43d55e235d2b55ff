/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The adapter's data half with queues of every type, in guarded memory. The control half is
 * missing: queues and keys are created by the calls of hca.h.
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
/* 16-byte units of layout that an indirect key has room for; a window has room for 4 */
#define FUZZ_UNITS  24
#define FUZZ_RW_LEN 32768u
/* bytes before and after a region in its memory that are not registered */
#define FUZZ_MARGIN 256u

enum {
	N_UARS = 4,
	N_CQS = 4,
	N_SRQS = 2,
	N_RW = 3,       /* the last region is on demand */
	N_INDIRECT = 8, /* the last four keys have room for a signature */
	N_CRYPTO = 2,   /* of these, the last two encrypt */
	N_WINDOWS = 3,
	N_PSVS = 3,
	N_DEKS = 3 /* the first PSV and the first DEK are of another PD */
};

/*
 * Two RC QPs connected to each other, one RC QP connected to itself with an SRQ, and one of every
 * other type. Senders come before responders.
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
	size_t len;        /* length of mem */
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
	bool must_fail[64]; /* by the WQEBB that a WQE starts at */
};

struct fuzz_srq {
	struct softhca_srq *srq;
	uint8_t *buf;
	_Atomic uint32_t *db;
	uint32_t n, stride;
	uint16_t pi, last; /* last: index of the entry that was posted last */
};

struct fuzz_cq {
	struct softhca_cq *cq;
	uint8_t *buf;
	_Atomic uint32_t *db;
	uint32_t n, len, seen; /* seen: producer index up to which completions were checked */
};

struct fuzz_world {
	bool calm; /* most work is valid, so that queues run long before they fail */
	uint8_t *page[N_UARS];
	struct softhca_uar *uar[N_UARS];
	struct fuzz_cq cq[N_CQS];
	struct fuzz_srq srq[N_SRQS]; /* the second one is an XRC SRQ */
	struct fuzz_queue queue[N_QUEUES];
	struct fuzz_region rw[N_RW], ro, other;
	uint8_t *none; /* memory that no key covers */
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

void world_init(void);
void world_fini(void);
/* Creates queues of every type in RTS, and keys that have no layout yet. */
void world_create(struct fuzz_world *w, bool calm);
void world_destroy(struct fuzz_world *w);
/* Takes a queue from any state to RTS. A DCT is destroyed and created anew. */
void world_connect(struct fuzz_world *w, unsigned int queue);
unsigned int world_state(const struct fuzz_queue *q, uint32_t *hw_bb);

#endif
