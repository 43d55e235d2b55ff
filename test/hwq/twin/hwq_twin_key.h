/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Twins of keys and DEKs: one object of libmlx5, one of hwq. Also drawn signature attributes, and
 * CQEs written by the test that report one signature error for both keys.
 */
#ifndef HWQ_TWIN_KEY_H
#define HWQ_TWIN_KEY_H

#include "hwq_twin.h"

#include "hwq_dek.h"
#include "hwq_mkey_check.h"

enum key_kind {
	KEY_PLAIN,
	KEY_SIGN,
	KEY_CRYPT,
	KEY_BOTH,
	KEY_KINDS
};

struct key {
	struct mlx5dv_mkey *theirs;
	struct hwq_mkey *ours;
	struct hwq_mkey_pool *pool;
	uint32_t mem_psv, wire_psv; /* indexes of the PSVs of libmlx5's key; 0: not known yet */
};

struct dek {
	struct mlx5dv_dek *theirs;
	struct hwq_dek *ours;
	struct hwq_dek_pool *pool;
	uint32_t their_id; /* number of libmlx5's object; 0: not known yet */
};

/*
 * hwq's key is in a separate pool, in the pair's domain. The pool allows changes of the key's
 * variant (low byte).
 */
void key_create(struct twin_pair *p, struct key *k, enum key_kind kind, uint16_t entries);
void key_destroy(struct key *k);
void dek_create(struct twin_pair *p, struct dek *d);
void dek_destroy(struct dek *d);

struct domain {
	struct mlx5dv_sig_block_domain d;
	struct mlx5dv_sig_t10dif dif;
	struct mlx5dv_sig_crc crc;
};

/* Attributes of a sig_block setter. attr points to the fields before it. */
struct sig {
	struct domain mem, wire;
	struct mlx5dv_sig_block_attr attr;
};

/*
 * Draws one or both domains, which are equal in half of all draws. With `invalid`, they are
 * sometimes invalid.
 */
void draw_sig(struct sig *s, bool invalid);

/* Makes the domain point to its own copy of T10-DIF or CRC, after the domain was copied. */
void point_domain(struct domain *d);

/*
 * ---- signature errors: the CQE is written into a CQ that no queue uses, so only libmlx5 reads it;
 * hwq decodes the same bytes. Only the key's number differs.
 */

struct sig_cq {
	struct ibv_cq *cq;
	struct mlx5dv_cq view;
	uint32_t ci;
};

void sig_cq_open(struct sig_cq *s);
void sig_cq_close(struct sig_cq *s);
/* Draws a CQE with any values; syndrome, type and domain are mostly known values. */
void sig_draw_cqe(uint8_t cqe[64]);
/* Reports the error to both libraries. */
void sig_tell(struct sig_cq *s, const uint8_t cqe[64], const struct key *k,
	const struct hwq_domain *domain);
/* Checks that both libraries report the same for their keys. Returns true if there is an error. */
bool sig_check_both(const struct key *k);

#endif
