/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Draws keys, addresses and lengths for work requests: valid values, values at the limit of a
 * range, and random values.
 */
#include "fuzz_wqe.h"

/* If true, most drawn values are valid, so that the work request is executed. */
static bool tame;

void
wqe_be_tame(bool on)
{
	tame = on;
}

uint32_t
wqe_some_key(const struct fuzz_world *w)
{
	if (tame && !one_in(16))
		return softhca_mkey_key(
			one_in(4) ? w->indirect[rnd(N_INDIRECT)] : w->rw[rnd(N_RW)].mkey);
	switch (rnd(24)) {
	case 0:
		return softhca_mkey_key(w->ro.mkey);
	case 1:
		return softhca_mkey_key(w->other.mkey);
	case 2:
		return softhca_mkey_key(w->window[rnd(N_WINDOWS)]);
	case 3:
		return softhca_mkey_key(w->rw[0].mkey) ^ 1u << rnd(32);
	case 4:
		return one_in(2) ? 0x100 : SOFTHCA_DUMP_FILL_KEY;
	case 5:
		return (uint32_t)rnd_word();
	case 6:
	case 7:
	case 8:
	case 9:
	case 10:
	case 11:
	case 12:
	case 13:
		return softhca_mkey_key(w->indirect[rnd(N_INDIRECT)]);
	default:
		return softhca_mkey_key(w->rw[rnd(N_RW)].mkey);
	}
}

static uint64_t
near_edge(uint64_t va, uint64_t size)
{
	switch (rnd(4)) {
	case 0:
		return va - rnd(80);
	case 1:
		return va + size - rnd(80);
	case 2:
		return va + size + rnd(80);
	default:
		return va + rnd(64);
	}
}

uint64_t
wqe_some_va(const struct fuzz_world *w, uint32_t key)
{
	const struct fuzz_region *r = &w->rw[rnd(N_RW)];

	for (unsigned int i = 0; i < N_RW; i++)
		if (key == softhca_mkey_key(w->rw[i].mkey))
			r = &w->rw[i];
	if (key == softhca_mkey_key(w->ro.mkey))
		r = &w->ro;
	if (key == softhca_mkey_key(w->other.mkey))
		r = &w->other;
	/* In this fuzzer most indirect keys begin at address 0. */
	for (unsigned int i = 0; i < N_INDIRECT; i++)
		if (key == softhca_mkey_key(w->indirect[i]) && !one_in(8))
			return one_in(2) ? 0 : rnd(4096);
	if (tame && !one_in(16))
		return (r->va + rnd(r->size / 2)) & ~UINT64_C(7);
	switch (rnd(12)) {
	case 0:
		return rnd_word();
	case 1:
		return (uintptr_t)w->none + rnd(FUZZ_PAGE);
	case 2:
	case 3:
		return near_edge(r->va, r->size);
	default:
		return (r->va + rnd(r->size)) & (one_in(2) ? ~UINT64_C(7) : ~UINT64_C(0));
	}
}

uint32_t
wqe_some_len(void)
{
	if (tame && !one_in(16))
		return 1 + (uint32_t)rnd(300);
	switch (rnd(16)) {
	case 0:
		return (uint32_t)rnd_word();
	case 1:
		return FUZZ_RW_LEN - (uint32_t)rnd(3) + (uint32_t)rnd(3);
	case 2:
		return (uint32_t)rnd(FUZZ_RW_LEN);
	case 3:
		return 512u << rnd(4);
	default:
		return 1 + (uint32_t)rnd(300);
	}
}

void
wqe_some_data(const struct fuzz_world *w, uint8_t seg[16])
{
	uint32_t key = wqe_some_key(w), len = wqe_some_len();
	uint64_t va = wqe_some_va(w, key);

	/* A message must begin with a data unit, and its length must be a multiple of 16 bytes. */
	for (unsigned int i = N_INDIRECT - N_CRYPTO; i < N_INDIRECT; i++)
		if (key == softhca_mkey_key(w->indirect[i]) && !one_in(8)) {
			va = 0;
			len = (len + 15) & ~15u;
		}
	mlx5dv_set_data_seg((struct mlx5_wqe_data_seg *)(void *)seg, len, key, va);
}
