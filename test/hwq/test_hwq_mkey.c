/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pools of keys. The firmware commands that create keys equal those of libmlx5, byte for byte. No
 * object is left when a command or an allocation fails. A pool returns each key once.
 */
#include "hwq_mkey.h"
#include "hwq_trace.h"

/* ------------------------------------------------------------------ what libmlx5 sends */

static struct hwq_dev *dev;
static struct hwq_domain *domain;
static const struct {
	unsigned int ours;
	uint32_t theirs;
} flag_pairs[] = {
	{HWQ_MKEY_SIG, MLX5DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE},
	{HWQ_MKEY_CRYPTO, MLX5DV_MKEY_INIT_ATTR_FLAGS_CRYPTO},
	{HWQ_MKEY_UPDATE_VARIANT, MLX5DV_MKEY_INIT_ATTR_FLAGS_UPDATE_TAG},
	{HWQ_MKEY_REMOTE_INV, MLX5DV_MKEY_INIT_ATTR_FLAGS_REMOTE_INVALIDATE},
};

static struct mlx5dv_mkey *
stock_key(unsigned int flags, uint16_t *max_entries)
{
	struct mlx5dv_mkey_init_attr attr = {.pd = dev->pd,
		.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT,
		.max_entries = *max_entries};
	struct mlx5dv_mkey *made;

	for (unsigned int i = 0; i < 4; i++)
		if (flags & flag_pairs[i].ours)
			attr.create_flags |= flag_pairs[i].theirs;
	errno = 0;
	made = mlx5dv_create_mkey(&attr);
	*max_entries = attr.max_entries;
	return made;
}

static int
our_pool(unsigned int n, unsigned int flags, uint16_t max_entries, struct hwq_mkey_pool **pool)
{
	struct hwq_mkey_conf conf = {.n = n, .flags = flags, .max_entries = max_entries};

	return hwq_mkey_pool_create(domain, &conf, pool);
}

static void
same_commands_of(unsigned int flags, uint16_t entries)
{
	uint8_t theirs[CMDS_MAX][CMD_MAX];
	uint16_t lens[CMDS_MAX], max_entries = entries;
	unsigned int n_theirs, skip;
	struct hwq_mkey_pool *pool;
	struct mlx5dv_mkey *stock;
	int ret;

	trace_start();
	stock = stock_key(flags, &max_entries);
	n_theirs = trace.n_made;
	memcpy(theirs, trace.cmd, sizeof(theirs));
	memcpy(lens, trace.len, sizeof(lens));
	ret = stock == NULL ? errno : 0;
	if (stock != NULL)
		CHECK_EQ(mlx5dv_destroy_mkey(stock), 0, "libmlx5's key");
	trace_start();
	CHECK_EQ(our_pool(1, flags, entries, &pool), -ret, "a pool of one");
	if (ret != 0)
		return;
	/*
	 * One more key is created and destroyed, to find out whether the adapter allows
	 * UPDATE_VARIANT.
	 */
	skip = flags & HWQ_MKEY_UPDATE_VARIANT ? 1 : 0;
	CHECK_EQ(trace.n_made, n_theirs + skip, "commands");
	CHECK_EQ(trace.n_destroyed, skip, "destructions");
	for (unsigned int i = 0; i < n_theirs; i++) {
		CHECK_EQ(trace.len[i + skip], lens[i], "length of a command");
		check_bytes(trace.cmd[i + skip], theirs[i], lens[i], "a command");
	}
	CHECK_EQ(pool->keys[0].max_entries, max_entries, "entries");
	CHECK_EQ(hwq_mkey_pool_destroy(pool), 0, "destroy");
	CHECK_EQ(trace.n_made, trace.n_destroyed, "objects left");
}

static void
same_commands(void)
{
	static const uint16_t entries[] = {1, 3, 4, 5, 52, 1000, 65532};

	for (unsigned int flags = 0; flags < 16; flags++)
		for (unsigned int i = 0; i < 7; i++)
			same_commands_of(flags, entries[i]);
}

/* A refused command must give the same errno as with libmlx5. */
static void
same_errnos(void)
{
	struct hwq_mkey_pool *pool;
	uint16_t one = 1;
	int theirs;

	for (unsigned int status = 1; status < 256; status++) {
		trace_start();
		trace.refuse_at = 1, trace.refuse_errno = EREMOTEIO, trace.status = (uint8_t)status;
		CHECK(stock_key(0, &one) == NULL, "refused");
		theirs = errno;
		trace.refuse_at = 1;
		CHECK_EQ(our_pool(1, 0, 1, &pool), -theirs, "errno of a status");
	}
}

/* ------------------------------------------------------------------ pools */

static void
each_key_once(void)
{
	static const unsigned int N = 100;
	struct hwq_mkey *key[100], *again;
	struct hwq_mkey_pool *pool, *other;
	unsigned int i, j;

	trace_start();
	CHECK_EQ(our_pool(N, HWQ_MKEY_SIG, 5, &pool), 0, "a pool");
	CHECK_EQ(our_pool(3, HWQ_MKEY_UPDATE_VARIANT, 1, &other), 0, "another");
	for (i = 0; i < N; i++) {
		key[i] = hwq_mkey_get(pool);
		CHECK(key[i] != NULL && key[i]->max_entries == 8 && key[i]->lkey != 0 &&
				key[i]->lkey == key[i]->rkey && (key[i]->lkey & 0xff) == 0,
			"key %u", i);
		for (j = 0; j < i; j++)
			CHECK(key[i]->lkey != key[j]->lkey &&
					key[i]->sig->mem_psv.index != key[j]->sig->mem_psv.index &&
					key[i]->sig->mem_psv.index != key[j]->sig->wire_psv.index,
				"key %u is key %u", i, j);
		CHECK(key[i]->sig->err_count == 1 && key[i]->sig->err_count_updated &&
				!key[i]->sig->err_exists &&
				key[i]->sig->block.state == HWQ_BSF_INIT &&
				key[i]->sig->mem_psv.index != key[i]->sig->wire_psv.index,
			"signature context of key %u", i);
		CHECK(hwq_mkey_find(domain, key[i]->lkey | 0x5a) == key[i], "key %u is not found",
			i);
	}
	CHECK(hwq_mkey_get(pool) == NULL, "a key too many");
	CHECK_EQ(hwq_mkey_pool_destroy(pool), -EBUSY, "no key has been given back");
	CHECK(hwq_mkey_put(key[7]) && !hwq_mkey_put(key[7]), "given back twice");
	CHECK(hwq_mkey_put(key[3]), "given back");
	CHECK_EQ(hwq_mkey_pool_destroy(pool), -EBUSY, "most keys are not given back");
	again = hwq_mkey_get(pool);
	CHECK(again == key[3], "the key given back last is not given out first");
	hwq_mkey_put(again);
	for (i = 0; i < N; i++)
		CHECK(hwq_mkey_put(key[i]) == (i != 3 && i != 7), "key %u", i);
	again = hwq_mkey_get(other);
	CHECK(hwq_mkey_find(domain, again->rkey) == again, "a key of the other pool");
	CHECK(hwq_mkey_find(domain, 0xffffff00) == NULL, "a key number that does not exist");
	CHECK_EQ(hwq_domain_destroy(domain), -EBUSY, "a domain that has pools");
	CHECK_EQ(hwq_mkey_pool_destroy(pool), 0, "destroy");
	CHECK(hwq_mkey_find(domain, again->rkey) == again, "without the first pool");
	hwq_mkey_put(again);
	CHECK_EQ(hwq_mkey_pool_destroy(other), 0, "destroy");
	CHECK(hwq_mkey_find(domain, 0x100) == NULL, "without pools");
	CHECK_EQ(trace.n_made, trace.n_destroyed, "objects left");
}

static void
adopted(void)
{
	struct mlx5dv_mkey dv = {.lkey = 0x1200, .rkey = 0x1200};
	struct hwq_mkey mkey;

	memset(&mkey, 0xff, sizeof(mkey));
	hwq_mkey_adopt(&mkey, &dv, 8, HWQ_MKEY_SIG | HWQ_MKEY_UPDATE_VARIANT);
	CHECK(mkey.lkey == 0x1200 && mkey.rkey == 0x1200 && mkey.max_entries == 8, "names");
	CHECK(mkey.flags == HWQ_MKEY_UPDATE_VARIANT && mkey.sig == NULL && mkey.crypto == NULL,
		"an adopted key is for layouts only");
	CHECK(!hwq_mkey_put(&mkey), "an adopted key has no pool");
}

static void
bad_configurations(void)
{
	struct hwq_mkey_pool *pool;

	CHECK_EQ(our_pool(0, 0, 1, &pool), -EINVAL, "no keys");
	CHECK_EQ(our_pool(1, 0, 0, &pool), -EINVAL, "no entries");
	CHECK_EQ(our_pool(1, 0, 65533, &pool), -EINVAL, "more entries than 16 bits can say");
	CHECK_EQ(our_pool(1, 1u << 4, 1, &pool), -EINVAL, "an unknown flag");
}

/* ------------------------------------------------------------------ failures */

#define N_KEYS 3

static void
every_refusal_of(unsigned int flags)
{
	static const int errnos[] = {ENOMEM, EPERM, ENOTRECOVERABLE};
	struct hwq_mkey_pool *pool;
	unsigned int n, i, tries;

	trace_start();
	CHECK_EQ(our_pool(N_KEYS, flags, 4, &pool), 0, "without a refusal");
	n = trace.n_made;
	CHECK_EQ(hwq_mkey_pool_destroy(pool), 0, "destroy");
	/* One more key is created, to find out whether the adapter allows UPDATE_VARIANT. */
	tries = flags & HWQ_MKEY_UPDATE_VARIANT ? 1 : 0;
	CHECK_EQ(n, (flags & HWQ_MKEY_SIG ? 3 : 1) * N_KEYS + tries, "commands");
	for (i = 1; i <= n; i++) {
		trace_start();
		trace.refuse_at = i, trace.refuse_errno = errnos[i % 3];
		CHECK_EQ(our_pool(N_KEYS, flags, 4, &pool), -errnos[i % 3], "the command's errno");
		CHECK(trace.n_made == i - 1 && trace.n_made == trace.n_destroyed,
			"command %u refused: %u made, %u destroyed", i, trace.n_made,
			trace.n_destroyed);
	}
	for (i = tries + 1; i <= n; i++) {
		trace_start();
		CHECK_EQ(our_pool(N_KEYS, flags, 4, &pool), 0, "a pool");
		trace.destroys = true, trace.refuse_at = i, trace.refuse_errno = EPERM;
		CHECK_EQ(hwq_mkey_pool_destroy(pool), -EPERM, "a destruction's errno");
		CHECK_EQ(trace.n_destroyed, i - 1, "destroyed");
		CHECK_EQ(hwq_mkey_pool_destroy(pool), 0, "a second try");
		CHECK_EQ(trace.n_made, trace.n_destroyed, "objects left");
	}
}

static void
every_refusal(void)
{
	struct hwq_mkey_pool *pool;

	every_refusal_of(0);
	every_refusal_of(HWQ_MKEY_UPDATE_VARIANT | HWQ_MKEY_REMOTE_INV);
	fail_pdn = true;
	CHECK_EQ(our_pool(1, 0, 4, &pool), -EPERM, "no number of the PD");
	fail_pdn = false;
	if (dev->caps.sig_block_prot != 0)
		every_refusal_of(HWQ_MKEY_SIG);
	if (dev->caps.crypto_engines != 0)
		every_refusal_of(HWQ_MKEY_SIG | HWQ_MKEY_CRYPTO);
}

static void
every_allocation(void)
{
	unsigned int flags = (dev->caps.sig_block_prot != 0 ? HWQ_MKEY_SIG : 0) |
			     (dev->caps.crypto_engines != 0 ? HWQ_MKEY_CRYPTO : 0);
	struct hwq_mkey_pool *pool;
	unsigned int n, i;

	n_callocs = fail_calloc_at = 0;
	CHECK_EQ(our_pool(N_KEYS, flags, 4, &pool), 0, "a pool");
	n = n_callocs;
	CHECK_EQ(hwq_mkey_pool_destroy(pool), 0, "destroy");
	CHECK(n >= 3, "%u allocations", n);
	for (i = 1; i <= n; i++) {
		trace_start();
		n_callocs = 0, fail_calloc_at = i;
		CHECK_EQ(our_pool(N_KEYS, flags, 4, &pool), -ENOMEM, "no memory");
		CHECK_EQ(trace.n_made, trace.n_destroyed, "objects left");
	}
	fail_calloc_at = 0;
}

int
main(int argc, char **argv)
{
	(void)argc;
	emu_setting(argv, "SOFTHCA_THREADS", "0");
	dev = emu_open();
	hwq_log_set(emu_count_log);
	CHECK_EQ(hwq_domain_create(dev, &domain), 0, "domain");
	RUN("a key is made by libmlx5's commands", same_commands());
	RUN("a refused command gives the error that libmlx5 gives", same_errnos());
	RUN("a pool gives out each key once, and takes it back once", each_key_once());
	RUN("a caller's own key can be laid out", adopted());
	RUN("keys with impossible attributes are refused", bad_configurations());
	RUN("a refused command leaves no object", every_refusal());
	RUN("a failed allocation leaves no object", every_allocation());
	CHECK(emu_log_lines > 0, "no log line");
	CHECK_EQ(hwq_domain_destroy(domain), 0, "domain");
	CHECK_EQ(hwq_dev_close(dev), 0, "close");
	return check_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
