/* SPDX-License-Identifier: BSD-3-Clause */
/* The rules of transactions: is what a descriptor names right, and what does the hardware need to know of it. */
#ifndef GANTRY_TXN_CHECK_H
#define GANTRY_TXN_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include <hwq_sig_image.h>

#include "gantry_txns.h"

/* One transfer. */
struct gantry_txn_move {
	uint64_t addr;   /* remote */
	uint32_t offset; /* of its first byte in the key: bytes of data */
	uint32_t len;    /* bytes of data */
	uint32_t rkey;
};

/* A transaction that was checked. */
struct gantry_txn_plan {
	struct gantry_txn *txn;
	const struct gantry_profile *profile;
	const struct hwq_sig_image *image; /* the one of the profile that fits */
	uint32_t n_sge;                    /* 0: the layout is a pattern */
	uint32_t rounds;                   /* of the pattern: data and signature of a block */
	uint32_t n_moves;
	bool read; /* data come from the wire */
	struct gantry_txn_reply good, bad;
	struct hwq_sge sge[GANTRY_TXN_MAX_DATA];
	struct mlx5dv_mr_interleaved pattern[2];
	struct gantry_txn_move move[GANTRY_TXN_MAX_PARTS];
};

/*
 * Checks a descriptor whose fields are those of a transaction, and which connection c is to carry, or none
 * (GANTRY_CONN_NONE). GANTRY_OK: *plan is what to post to it, now or when it works again; else the status that refuses it.
 */
enum gantry_status gantry_txn_check(struct gantry_queue *q, const struct gantry_conn *c,
	const struct gantry_desc *d, struct gantry_txn_plan *plan);

#endif
