/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pools of keys and of DEKs: the firmware commands that create them are libmlx5's, byte for byte;
 * nothing is left when a command or an allocation fails; and a pool gives out each key once.
 *
 * The program defines ioctl(2), so that libmlx5's calls to the adapter pass here. It records the
 * DEVX commands, and can refuse any of them with any errno or status. hwq is linked statically,
 * with its calloc(3) and one of its verbs calls wrapped (ld(1), --wrap).
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <sys/ioctl.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl.h>

#include "hwq_dek.h"
#include "hwq_emu.h"
#include "hwq_mkey.h"

#define CMD_MAX  512
#define CMDS_MAX 16

/* -------------------------------------------------------------- between libmlx5 and the adapter */

static struct {
	bool on; /* count and record commands */
	unsigned int n, n_made, n_destroyed;
	uint8_t cmd[CMDS_MAX][CMD_MAX];
	uint16_t len[CMDS_MAX];
	/* number of the creation (or destruction, if destroys is set) to refuse; 0: none */
	unsigned int refuse_at;
	bool destroys;
	int refuse_errno;
	uint8_t status; /* status in the answer, with EREMOTEIO */
} trace;

static const struct ib_uverbs_attr *
attr_find(const struct ib_uverbs_ioctl_hdr *hdr, uint16_t id)
{
	for (unsigned int i = 0; i < hdr->num_attrs; i++)
		if (hdr->attrs[i].attr_id == id)
			return &hdr->attrs[i];
	EMU_DIE("a DEVX call without attribute 0x%x", id);
}

static void
record(const struct ib_uverbs_ioctl_hdr *hdr)
{
	const struct ib_uverbs_attr *in = attr_find(hdr, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN);
	unsigned int at = trace.n_made % CMDS_MAX;

	if (in->len > CMD_MAX)
		EMU_DIE("a command of %u bytes", in->len);
	trace.len[at] = in->len;
	memcpy(trace.cmd[at],
		in->len <= 8 ? (const void *)&in->data : (const void *)(uintptr_t)in->data,
		in->len);
}

/* Returns true if the command is refused, and sets errno. */
static bool
refused(const struct ib_uverbs_ioctl_hdr *hdr, bool destroys)
{
	const struct ib_uverbs_attr *out;

	if (trace.destroys != destroys || trace.refuse_at == 0)
		return false;
	if ((destroys ? trace.n_destroyed : trace.n_made) + 1 != trace.refuse_at)
		return false;
	trace.refuse_at = 0;
	errno = trace.refuse_errno;
	if (errno != EREMOTEIO)
		return true;
	out = attr_find(hdr, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT);
	*(uint8_t *)(uintptr_t)out->data = trace.status;
	return true;
}

static int
pass(int fd, unsigned long request, void *arg)
{
	static int (*next)(int, unsigned long, ...);

	if (next == NULL)
		next = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
	return next(fd, request, arg);
}

__attribute__((visibility("default"))) int
ioctl(int fd, unsigned long request, ...)
{
	struct ib_uverbs_ioctl_hdr *hdr;
	bool makes, destroys;
	va_list ap;
	int ret;

	va_start(ap, request);
	hdr = va_arg(ap, void *);
	va_end(ap);
	if (!trace.on || request != RDMA_VERBS_IOCTL || hdr->object_id != MLX5_IB_OBJECT_DEVX_OBJ)
		return pass(fd, request, hdr);
	makes = hdr->method_id == MLX5_IB_METHOD_DEVX_OBJ_CREATE;
	destroys = hdr->method_id == MLX5_IB_METHOD_DEVX_OBJ_DESTROY;
	if ((makes || destroys) && refused(hdr, destroys))
		return -1;
	if (makes)
		record(hdr);
	ret = pass(fd, request, hdr);
	if (ret == 0) {
		trace.n_made += makes;
		trace.n_destroyed += destroys;
	}
	return ret;
}

static void
trace_start(void)
{
	memset(&trace, 0, sizeof(trace));
	trace.on = true;
}

/* Number of the allocation that fails; 0: none. */
static unsigned int n_callocs, fail_calloc_at;

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

/* Visible: the linker also uses it for the sanitizers' libraries. */
__attribute__((visibility("default"))) void *
__wrap_calloc(size_t n, size_t size)
{
	return ++n_callocs == fail_calloc_at ? NULL : __real_calloc(n, size);
}

/* Fails the call that asks for the PD's number, which no command contains. */
static bool fail_pdn;

int __real_hwq_verbs_pdn(struct ibv_pd *pd, uint32_t *pdn);
int __wrap_hwq_verbs_pdn(struct ibv_pd *pd, uint32_t *pdn);

int
__wrap_hwq_verbs_pdn(struct ibv_pd *pd, uint32_t *pdn)
{
	return fail_pdn ? -EPERM : __real_hwq_verbs_pdn(pd, pdn);
}

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
	/* One more key is created and destroyed, to see whether the adapter allows UPDATE_VARIANT. */
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

/* The errno of a refused command is the one that libmlx5 makes of it. */
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

/* ------------------------------------------------------------------ DEKs */

#define N_DEKS 5

static bool
has_crypto(void)
{
	return dev->caps.crypto_engines != 0;
}

static void
draw_dek(uint64_t *rnd, struct hwq_dek_conf *conf)
{
	memset(conf, 0, sizeof(*conf));
	conf->key_size =
		check_random(rnd) % 2 ? MLX5DV_CRYPTO_KEY_SIZE_128 : MLX5DV_CRYPTO_KEY_SIZE_256;
	conf->has_keytag = check_random(rnd) % 2;
	for (size_t i = 0; i < sizeof(conf->opaque); i++)
		conf->opaque[i] = (char)check_random(rnd);
	for (size_t i = 0; i < sizeof(conf->key); i++)
		conf->key[i] = (char)check_random(rnd);
}

static struct mlx5dv_dek *
stock_dek(const struct hwq_dek_conf *conf)
{
	struct mlx5dv_dek_init_attr attr = {.key_size = conf->key_size,
		.has_keytag = conf->has_keytag,
		.key_purpose = MLX5DV_CRYPTO_KEY_PURPOSE_AES_XTS,
		.pd = dev->pd,
		.comp_mask = MLX5DV_DEK_INIT_ATTR_CRYPTO_LOGIN};

	memcpy(attr.opaque, conf->opaque, sizeof(attr.opaque));
	memcpy(attr.key, conf->key, sizeof(attr.key));
	errno = 0;
	return mlx5dv_dek_create(dev->ctx, &attr);
}

static void
same_dek_commands(void)
{
	uint8_t theirs[CMD_MAX];
	struct hwq_dek_pool *pool;
	struct hwq_dek_conf conf;
	struct mlx5dv_dek *stock;
	uint64_t rnd = 1;
	int ret;

	for (unsigned int i = 0; i < 64; i++) {
		draw_dek(&rnd, &conf);
		trace_start();
		stock = stock_dek(&conf);
		ret = stock == NULL ? errno : 0;
		CHECK_EQ(ret, has_crypto() ? 0 : EOPNOTSUPP, "libmlx5's DEK");
		memcpy(theirs, trace.cmd[0], sizeof(theirs));
		CHECK_EQ(hwq_dek_pool_create(domain, 1, &conf, &pool), -ret, "a pool of one");
		if (ret != 0)
			continue;
		CHECK_EQ(trace.n_made, 2, "commands");
		CHECK_EQ(trace.len[1], trace.len[0], "length of a command");
		check_bytes(trace.cmd[1], theirs, trace.len[0], "a command");
		CHECK_EQ(mlx5dv_dek_destroy(stock), 0, "libmlx5's DEK");
		CHECK_EQ(hwq_dek_pool_destroy(pool), 0, "destroy");
		CHECK_EQ(trace.n_made, trace.n_destroyed, "objects left");
	}
}

static void
deks_have_users(void)
{
	struct hwq_dek_conf conf[N_DEKS];
	struct hwq_dek_pool *pool;
	struct hwq_dek *dek, *other;
	uint64_t rnd = 2;

	for (unsigned int i = 0; i < N_DEKS; i++)
		draw_dek(&rnd, &conf[i]);
	CHECK_EQ(hwq_dek_pool_create(domain, 0, conf, &pool), -EINVAL, "none");
	if (!has_crypto())
		return;
	conf[3].wrapped = true;
	CHECK_EQ(hwq_dek_pool_create(domain, N_DEKS, conf, &pool), -EINVAL, "wrapped");
	conf[3].wrapped = false;
	conf[1].key_size = (enum mlx5dv_crypto_key_size)7;
	CHECK_EQ(hwq_dek_pool_create(domain, N_DEKS, conf, &pool), -EINVAL,
		"a size that keys do not have");
	conf[1].key_size = MLX5DV_CRYPTO_KEY_SIZE_128;
	CHECK_EQ(hwq_dek_pool_create(domain, N_DEKS, conf, &pool), 0, "a pool");
	dek = hwq_dek_get(pool, 4);
	other = hwq_dek_get(pool, 0);
	CHECK(dek != NULL && other != NULL && dek->id != other->id, "ids");
	CHECK(hwq_dek_get(pool, 4) == dek && hwq_dek_get(pool, N_DEKS) == NULL, "by number");
	CHECK(hwq_dek_put(other) && !hwq_dek_put(other) && hwq_dek_put(dek), "back");
	CHECK_EQ(hwq_dek_pool_destroy(pool), -EBUSY, "one DEK is not given back");
	CHECK_EQ(hwq_domain_destroy(domain), -EBUSY, "a domain that has pools");
	CHECK(hwq_dek_put(dek) && !hwq_dek_put(dek), "back");
	CHECK_EQ(hwq_dek_pool_destroy(pool), 0, "destroy");
}

static void
every_dek_refusal(void)
{
	struct hwq_dek_conf conf[N_DEKS];
	struct hwq_dek_pool *pool;
	uint64_t rnd = 3;
	unsigned int i;

	for (i = 0; i < N_DEKS; i++)
		draw_dek(&rnd, &conf[i]);
	for (i = 1; has_crypto() && i <= N_DEKS; i++) {
		trace_start();
		trace.refuse_at = i, trace.refuse_errno = ENOTRECOVERABLE;
		CHECK_EQ(hwq_dek_pool_create(domain, N_DEKS, conf, &pool), -ENOTRECOVERABLE,
			"the command's errno");
		CHECK(trace.n_made == i - 1 && trace.n_made == trace.n_destroyed, "objects left");
		trace_start();
		CHECK_EQ(hwq_dek_pool_create(domain, N_DEKS, conf, &pool), 0, "a pool");
		trace.destroys = true, trace.refuse_at = i, trace.refuse_errno = EPERM;
		CHECK_EQ(hwq_dek_pool_destroy(pool), -EPERM, "a destruction's errno");
		CHECK_EQ(hwq_dek_pool_destroy(pool), 0, "a second try");
		CHECK_EQ(trace.n_made, trace.n_destroyed, "objects left");
	}
	n_callocs = 0, fail_calloc_at = 1;
	CHECK_EQ(hwq_dek_pool_create(domain, N_DEKS, conf, &pool),
		has_crypto() ? -ENOMEM : -EOPNOTSUPP, "no memory");
	fail_calloc_at = 0;
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
	/* One more key is created, to see whether the adapter allows UPDATE_VARIANT. */
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
	const struct hwq_dek_conf conf = {.key_size = MLX5DV_CRYPTO_KEY_SIZE_128};
	struct hwq_dek_pool *dek_pool;
	struct hwq_mkey_pool *pool;

	every_refusal_of(0);
	every_refusal_of(HWQ_MKEY_UPDATE_VARIANT | HWQ_MKEY_REMOTE_INV);
	fail_pdn = true;
	CHECK_EQ(our_pool(1, 0, 4, &pool), -EPERM, "no number of the PD");
	CHECK_EQ(hwq_dek_pool_create(domain, 1, &conf, &dek_pool),
		dev->caps.crypto_engines != 0 ? -EPERM : -EOPNOTSUPP, "no number of the PD");
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
	RUN("a refused command is the error that libmlx5 makes of it", same_errnos());
	RUN("a pool gives each key once, and takes it back once", each_key_once());
	RUN("a caller's own key is for layouts", adopted());
	RUN("keys with impossible attributes are refused", bad_configurations());
	RUN("a refused command leaves nothing behind", every_refusal());
	RUN("an allocation that fails leaves nothing behind", every_allocation());
	RUN("a DEK is made by libmlx5's command", same_dek_commands());
	RUN("DEKs are given out by number, as often as they are needed", deks_have_users());
	RUN("a DEK that is refused leaves nothing behind", every_dek_refusal());
	CHECK(emu_log_lines > 0, "no log line");
	CHECK_EQ(hwq_domain_destroy(domain), 0, "domain");
	CHECK_EQ(hwq_dev_close(dev), 0, "close");
	return check_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
