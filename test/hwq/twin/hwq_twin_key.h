/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Twins of keys and DEKs: one of libmlx5's, one of hwq's; signature attributes, as drawn; and
 * completions made by hand that tell both keys of the same wrong signature.
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
	uint32_t mem_psv, wire_psv; /* of libmlx5's key; 0: not learnt yet */
};

struct dek {
	struct mlx5dv_dek *theirs;
	struct hwq_dek *ours;
	struct hwq_dek_pool *pool;
	uint32_t their_id; /* 0: not learnt yet */
};

/* ours in a pool of its own, of the pair's domain. Their tags may be changed. */
void key_create(struct twin_pair *p, struct key *k, enum key_kind kind, uint16_t entries);
void key_destroy(struct key *k);
void dek_create(struct twin_pair *p, struct dek *d);
void dek_destroy(struct dek *d);

struct domain {
	struct mlx5dv_sig_block_domain d;
	struct mlx5dv_sig_t10dif dif;
	struct mlx5dv_sig_crc crc;
};

/* Attributes of a sig_block setter; attr points to the others. */
struct sig {
	struct domain mem, wire;
	struct mlx5dv_sig_block_attr attr;
};

/* One or both domains, alike in half of all draws. Not valid at times, where that is asked for. */
void draw_sig(struct sig *s, bool invalid);

/* ---- wrong signatures: into a CQ that no queue uses, so that libmlx5 alone reads it; hwq decodes
 * the same bytes. Only the key's number differs. */

struct sig_cq {
	struct ibv_cq *cq;
	struct mlx5dv_cq view;
	uint32_t ci;
};

void sig_cq_open(struct sig_cq *s);
void sig_cq_close(struct sig_cq *s);
/* Any values, and mostly a syndrome, type and domain that are known. */
void sig_draw_cqe(uint8_t cqe[64]);
/* Both hear of it. */
void sig_tell(struct sig_cq *s, const uint8_t cqe[64], const struct key *k,
	const struct hwq_domain *domain);
/* Both say the same of their keys. True: and that there is an error. */
bool sig_check_both(const struct key *k);

#endif
