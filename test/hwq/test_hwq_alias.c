/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys that functions of a card share. mlx5_0 and mlx5_1 are functions of one card. The commands
 * equal those of UCX (src/uct/ib/mlx5/dv/ib_mlx5dv_md.c) field by field; bytes move through an
 * alias; no object is left when a command or an allocation fails.
 */
#include "hwq_alias.h"
#include "hwq_domain.h"
#include "hwq_index.h"
#include "hwq_mkey.h"
#include "hwq_trace.h"

#include "devx_bits.h"

#define LEN   (64u << 10)
#define SHIFT 1234u /* the exported range begins and ends inside a page */

static struct hwq_dev *owner, *importer;
static uint8_t *memory, *local;
static const uint8_t secret[HWQ_ACCESS_KEY_LEN] = "32 bytes, which are no secret.";
static char log_text[4096];

static void
keep_log(const char *text)
{
	emu_log_lines++;
	snprintf(log_text, sizeof(log_text), "%s", text);
}

/* The kind of key that the setting cross_vhca lets a device export. */
static enum hwq_export_kind
kind_of_setting(void)
{
	const char *cross = getenv("SOFTHCA_CROSS_VHCA");

	if (cross == NULL || strcmp(cross, "any") == 0)
		return HWQ_EXPORT_KSM;
	return strcmp(cross, "direct") == 0 ? HWQ_EXPORT_DIRECT : HWQ_EXPORT_NONE;
}

static uint32_t
pdn_of(struct hwq_dev *dev)
{
	struct mlx5dv_pd view = {0};
	struct mlx5dv_obj obj = {.pd = {.in = dev->pd, .out = &view}};

	CHECK_EQ(mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD), 0);
	return view.pdn;
}

static void
put64(uint8_t *cmd, unsigned int bit, uint64_t value)
{
	devx_put(cmd, bit, 32, (uint32_t)(value >> 32));
	devx_put(cmd, bit + 32, 32, (uint32_t)value);
}

static void
expect_command(const char *what, const uint8_t *got, size_t got_len, const uint8_t *want,
	size_t len)
{
	CHECK_EQ(got_len, len, what);
	for (size_t i = 0; i < len; i++)
		CHECK(got[i] == want[i], "%s: byte 0x%zx is 0x%x, not 0x%x", what, i, got[i],
			want[i]);
}

/* ------------------------------------------------------------------ the commands */

/*
 * UCX's KSM over a registration: uct_ib_mlx5_devx_reg_ksm_data_contig(), _reg_ksm_data_addr() and
 * _reg_ksm(). It gives importers every right; here the rights are the caller's.
 */
static size_t
ucx_ksm(const struct hwq_mr *mr, uint8_t *in)
{
	const uint64_t max = UINT64_C(1) << 31, addr = (uintptr_t)mr->addr;
	const uint64_t ksm_addr = addr / max * max, ksm_len = mr->len + addr - ksm_addr;
	const uint32_t list_size = (uint32_t)((ksm_len + 4096 + max - 1) / max);

	devx_put(in, 0x00, 16, 0x200);
	devx_put(in, 0x80 + 0x16, 2, 3);   /* access_mode_1_0 = KSM */
	devx_put(in, 0x80 + 0x12, 4, 0xf); /* rw, rr, lw, lr */
	devx_put(in, 0x80 + 0x68, 24, pdn_of(mr->dev));
	devx_put(in, 0x80 + 0x1a0, 32, list_size);
	devx_put(in, 0x80 + 0x1db, 5, 31);
	devx_put(in, 0x80 + 0x20, 24, 0xffffff);
	put64(in, 0x80 + 0x80, ksm_addr);
	put64(in, 0x80 + 0xc0, ksm_len);
	devx_put(in, 0x300, 32, list_size);
	for (uint32_t i = 0; i < list_size; i++) {
		devx_put(in, 0x880 + i * 0x80 + 0x20, 32, mr->lkey);
		put64(in, 0x880 + i * 0x80 + 0x40, ksm_addr + i * max);
		/* UCX also writes byte_count, which a KSM does not have. */
	}
	return 0x880 / 8 + list_size * 16;
}

static void
case_commands(void)
{
	const unsigned int all =
		HWQ_ACCESS_LOCAL_WRITE | HWQ_ACCESS_REMOTE_WRITE | HWQ_ACCESS_REMOTE_READ;
	struct hwq_alias_attr attr = {.vhca_id = owner->caps.vhca_id};
	uint8_t ksm[CMD_MAX] = {0}, allow[64] = {0}, create[80] = {0};
	struct hwq_export exported;
	struct hwq_alias alias;
	struct hwq_mr mr;
	size_t len;

	if (kind_of_setting() != HWQ_EXPORT_KSM)
		return;
	CHECK_EQ(hwq_mr_register(owner, memory + SHIFT, LEN - 2 * SHIFT, all, &mr), 0);
	trace_start();
	CHECK_EQ(hwq_export_init(&mr, HWQ_EXPORT_KSM, all, &exported), 0);
	CHECK_EQ(trace.n_made, 1);
	len = ucx_ksm(&mr, ksm);
	expect_command("CREATE_MKEY", trace.cmd[0], trace.len[0], ksm, len);

	/* uct_ib_mlx5_devx_allow_xgvmi_access() */
	devx_put(allow, 0x00, 16, 0xb16);
	devx_put(allow, 0x90, 16, 0xff01);
	devx_put(allow, 0xa0, 32, exported.key >> 8);
	memcpy(allow + 0x100 / 8, secret, sizeof(secret));
	CHECK_EQ(hwq_export_allow(&exported, secret), 0);
	expect_command("ALLOW_OTHER_VHCA_ACCESS", trace.general, trace.general_len, allow,
		sizeof(allow));

	/* uct_ib_mlx5_devx_mem_attach() */
	devx_put(create, 0x00, 16, 0xa00);
	devx_put(create, 0x30, 16, 0xff01);
	devx_put(create, 0x60, 1, 1);
	devx_put(create, 0x80, 16, owner->caps.vhca_id);
	devx_put(create, 0xa0, 32, exported.key >> 8);
	memcpy(create + 0x100 / 8, secret, sizeof(secret));
	devx_put(create, 0x200, 32, pdn_of(importer));
	attr.key = exported.key;
	memcpy(attr.access_key, secret, sizeof(secret));
	CHECK_EQ(hwq_alias_init(importer, &attr, &alias), 0);
	CHECK_EQ(trace.n_made, 2);
	expect_command("CREATE_GENERAL_OBJECT", trace.cmd[1], trace.len[1], create, sizeof(create));
	CHECK_EQ(alias.key, alias.id << 8);
	trace.on = false;
	CHECK_EQ(hwq_alias_fini(&alias), 0);
	CHECK_EQ(hwq_export_fini(&exported), 0);
	CHECK_EQ(hwq_mr_deregister(&mr), 0);
}

/* ------------------------------------------------------------------ bytes */

static void
case_kind(void)
{
	enum hwq_export_kind kind;

	CHECK_EQ(hwq_export_kind(owner, &kind), 0);
	CHECK_EQ(kind, kind_of_setting());
	CHECK_EQ(owner->caps.cross_vhca, kind != HWQ_EXPORT_NONE);
	CHECK(owner->caps.vhca_id != importer->caps.vhca_id);
	CHECK(owner->caps.sys_image_guid == importer->caps.sys_image_guid);
}

/* Copies by DMA MMO. Returns the syndrome. */
static unsigned int
copy(struct twin *t, uint32_t dst_key, const void *dst, uint32_t src_key, const void *src,
	uint32_t len)
{
	struct hwq_cqe rec = {0};

	CHECK(hwq_wqe_memcpy(&t->qp->sq, dst_key, (uintptr_t)dst, src_key, (uintptr_t)src, len,
		      HWQ_WQE_SIGNALED) != 0);
	hwq_sq_ring(&t->qp->sq);
	if (!emu_wait(t->cq, &rec))
		EMU_DIE("no completion");
	if (rec.syndrome == 0)
		hwq_sq_complete(&t->qp->sq, rec.wqe_counter);
	return rec.syndrome;
}

/*
 * UCX's WQE for one copy (rc_mlx5.inl, uct_rc_mlx5_txqp_dptr_post_iov()): a control
 * segment with opcode modifier 1, 16 bytes with the opaque memory, a gather and a scatter segment.
 * Only the opaque memory, which is the queue's own, is not compared. An alias looks like any key.
 */
static void
case_wqe(void)
{
	const struct hwq_qp_conf conf = {.type = HWQ_QP_RC, .sq_wr = 16, .mmo = true};
	uint8_t want[64] = {0};
	const uint8_t *got;
	struct twin t;
	uint32_t index;

	twin_create(importer, &conf, &t);
	index = t.qp->sq.pi;
	CHECK(hwq_wqe_memcpy(&t.qp->sq, 0x11223300, 0x5566778899aabbcc, 0x44556600,
		      0x0102030405060708, 0x1234, HWQ_WQE_SIGNALED) != 0);
	got = t.qp->sq.buf + (index & t.qp->sq.mask) * 64;
	devx_put(want, 0x00, 8, 1); /* opmod: MLX5_OPC_MOD_MMO_DMA */
	devx_put(want, 0x08, 16, index);
	devx_put(want, 0x18, 8, 0x2f); /* MLX5_OPCODE_MMO */
	devx_put(want, 0x20, 24, t.qp->qp->qp_num);
	devx_put(want, 0x38, 8, 4); /* ds */
	devx_put(want, 0x58, 8, 8); /* MLX5_WQE_CTRL_CQ_UPDATE */
	devx_put(want, 0x100, 32, 0x1234);
	devx_put(want, 0x120, 32, 0x44556600);
	put64(want, 0x140, 0x0102030405060708);
	devx_put(want, 0x180, 32, 0x1234);
	devx_put(want, 0x1a0, 32, 0x11223300);
	put64(want, 0x1c0, 0x5566778899aabbcc);
	for (size_t i = 0; i < 64; i++)
		CHECK((i >= 0x14 && i < 0x20) || got[i] == want[i], "byte 0x%zx is 0x%x, not 0x%x",
			i, got[i], want[i]);
	twin_destroy(&t);
}

static void
check_alias_bytes(enum hwq_export_kind kind, size_t shift, size_t len)
{
	const struct hwq_qp_conf conf = {.type = HWQ_QP_RC, .sq_wr = 16, .mmo = true};
	struct hwq_alias_attr attr = {.vhca_id = owner->caps.vhca_id};
	uint8_t *theirs = memory + shift, before[64];
	struct hwq_mr mr, own;
	struct hwq_export exported;
	struct hwq_alias alias;
	struct twin t;
	unsigned int status = 7;

	CHECK_EQ(hwq_mr_register(owner, theirs, len, HWQ_ACCESS_LOCAL_WRITE, &mr), 0);
	CHECK_EQ(hwq_mr_register(importer, local, LEN, HWQ_ACCESS_LOCAL_WRITE, &own), 0);
	CHECK_EQ(hwq_export_init(&mr, kind, HWQ_ACCESS_LOCAL_WRITE, &exported), 0);
	CHECK_EQ(hwq_export_allow(&exported, secret), 0);
	attr.key = exported.key;
	memcpy(attr.access_key, secret, sizeof(secret));
	CHECK_EQ(hwq_alias_init(importer, &attr, &alias), 0);
	CHECK_EQ(hwq_alias_query(&alias, &status), 0);
	CHECK_EQ(status, 0);
	twin_create(importer, &conf, &t);
	twin_connect_self(&t);
	for (size_t i = 0; i < LEN; i++)
		memory[i] = (uint8_t)(i * 7 + i / 251);
	memset(local, 0, LEN);
	CHECK_EQ(copy(&t, own.lkey, local, alias.key, theirs, (uint32_t)len), 0);
	CHECK(memcmp(local, theirs, len) == 0);
	memset(local, 0x5a, LEN);
	CHECK_EQ(copy(&t, alias.key, theirs + len - 100, own.lkey, local, 100), 0);
	for (size_t i = 1; i <= 100; i++)
		CHECK_EQ(theirs[len - i], 0x5a);
	/* A byte beyond the end, and a byte before the start. */
	memcpy(before, theirs + len, sizeof(before));
	CHECK_EQ(copy(&t, alias.key, theirs + len - 10, own.lkey, local, 11), 4);
	CHECK(memcmp(before, theirs + len, sizeof(before)) == 0);
	twin_destroy(&t);
	twin_create(importer, &conf, &t);
	twin_connect_self(&t);
	CHECK_EQ(copy(&t, own.lkey, local, alias.key, theirs - 1, 10), 4);
	twin_destroy(&t);
	/* The owner ends its key: the alias reaches nothing. */
	CHECK_EQ(hwq_export_fini(&exported), 0);
	CHECK_EQ(hwq_mr_deregister(&mr), 0);
	twin_create(importer, &conf, &t);
	twin_connect_self(&t);
	CHECK_EQ(copy(&t, own.lkey, local, alias.key, theirs, 10), 4);
	CHECK_EQ(hwq_alias_query(&alias, &status), 0);
	CHECK(status != 0);
	twin_destroy(&t);
	CHECK_EQ(hwq_alias_fini(&alias), 0);
	CHECK_EQ(hwq_mr_deregister(&own), 0);
}

static void
case_bytes(void)
{
	const enum hwq_export_kind best = kind_of_setting();

	for (enum hwq_export_kind kind = HWQ_EXPORT_DIRECT; kind <= best; kind++) {
		check_alias_bytes(kind, SHIFT, LEN - 2 * SHIFT);
		check_alias_bytes(kind, 4096, 8192);
		check_alias_bytes(kind, SHIFT, 200);
	}
}

/* ------------------------------------------------------------------ refusals */

static void
case_refused(void)
{
	struct hwq_alias_attr attr = {.vhca_id = owner->caps.vhca_id, .key = 0x4200};
	struct hwq_export exported;
	struct hwq_alias alias;
	struct hwq_mr mr;

	CHECK_EQ(hwq_mr_register(owner, memory, LEN, 0, &mr), 0);
	CHECK_EQ(hwq_export_init(&mr, HWQ_EXPORT_NONE, 0, &exported), -EINVAL);
	CHECK_EQ(hwq_export_init(&mr, HWQ_EXPORT_DIRECT, HWQ_ACCESS_REMOTE_ATOMIC, &exported),
		-EINVAL);
	if (kind_of_setting() == HWQ_EXPORT_NONE) {
		CHECK_EQ(hwq_export_init(&mr, HWQ_EXPORT_KSM, 0, &exported), -EOPNOTSUPP);
		CHECK_EQ(hwq_alias_init(importer, &attr, &alias), -EOPNOTSUPP);
	} else {
		CHECK_EQ(hwq_alias_init(importer, &attr, &alias), -EINVAL);
		CHECK(strstr(log_text, "access key is wrong") != NULL, "%s", log_text);
	}
	if (kind_of_setting() == HWQ_EXPORT_DIRECT) {
		/* A KSM can be made; the device does not allow it. ConnectX-7 has this syndrome. */
		CHECK_EQ(hwq_export_init(&mr, HWQ_EXPORT_KSM, 0, &exported), 0);
		CHECK_EQ(hwq_export_allow(&exported, secret), -EINVAL);
		CHECK(strstr(log_text, "0x172df6") != NULL, "%s", log_text);
		CHECK_EQ(hwq_export_fini(&exported), 0);
	}
	CHECK_EQ(hwq_mr_deregister(&mr), 0);
}

/* Each command and each allocation fails once. Nothing is left. */
static void
case_failures(void)
{
	const enum hwq_export_kind kind = kind_of_setting();
	struct hwq_alias_attr attr = {.vhca_id = owner->caps.vhca_id};
	struct hwq_export exported;
	struct hwq_alias alias;
	struct hwq_mr mr;
	uint32_t refs;

	if (kind == HWQ_EXPORT_NONE)
		return;
	CHECK_EQ(hwq_mr_register(owner, memory, LEN, 0, &mr), 0);
	refs = hwq_count_get(&owner->refs);
	fail_pdn = true;
	CHECK_EQ(hwq_export_init(&mr, kind, 0, &exported), -EPERM);
	fail_pdn = false;
	if (kind == HWQ_EXPORT_KSM) {
		n_callocs = 0;
		fail_calloc_at = 1;
		CHECK_EQ(hwq_export_init(&mr, kind, 0, &exported), -ENOMEM);
		fail_calloc_at = 0;
	}
	trace_start();
	trace.refuse_at = 1;
	trace.refuse_errno = EREMOTEIO;
	trace.status = 0x0f; /* NO_RES */
	CHECK_EQ(hwq_export_init(&mr, kind, 0, &exported), -EAGAIN);
	CHECK_EQ(hwq_count_get(&owner->refs), refs);
	trace_start();
	CHECK_EQ(hwq_export_init(&mr, kind, 0, &exported), 0);
	CHECK_EQ(hwq_export_allow(&exported, secret), 0);
	attr.key = exported.key;
	memcpy(attr.access_key, secret, sizeof(secret));
	fail_pdn = true;
	CHECK_EQ(hwq_alias_init(importer, &attr, &alias), -EPERM);
	fail_pdn = false;
	CHECK_EQ(hwq_alias_init(importer, &attr, &alias), 0);
	/* A destroy that is refused leaves the object; the second try succeeds. */
	trace_start();
	trace.destroys = true;
	trace.refuse_at = 1;
	trace.refuse_errno = EBUSY;
	CHECK_EQ(hwq_alias_fini(&alias), -EBUSY);
	CHECK_EQ(hwq_alias_fini(&alias), 0);
	trace_start();
	trace.destroys = true;
	trace.refuse_at = 1;
	trace.refuse_errno = EBUSY;
	CHECK_EQ(hwq_export_fini(&exported), -EBUSY);
	CHECK_EQ(hwq_export_fini(&exported), 0);
	trace.on = false;
	CHECK_EQ(hwq_count_get(&owner->refs), refs);
	CHECK_EQ(hwq_mr_deregister(&mr), 0);
}

/*
 * The adapter gives the next index to each new key. That index is retired before the key is made:
 * neither a registration nor a key by a command uses it.
 */
static void
case_index_is_not_used_again(void)
{
	const struct hwq_mkey_conf conf = {.n = 1, .max_entries = 4};
	struct hwq_mkey_pool *pool;
	struct hwq_domain *domain;
	struct hwq_export exported;
	struct hwq_mkey *mkey;
	struct hwq_mr mr, second;
	uint32_t before;

	if (kind_of_setting() == HWQ_EXPORT_NONE)
		return;
	CHECK_EQ(hwq_mr_register(owner, memory, LEN, 0, &mr), 0);
	CHECK_EQ(hwq_domain_create(owner, &domain), 0);
	CHECK_EQ(hwq_export_init(&mr, kind_of_setting(), 0, &exported), 0);
	before = exported.key;
	CHECK_EQ(hwq_export_fini(&exported), 0);
	CHECK(hwq_index_is_retired(owner, before));
	CHECK(!hwq_index_is_retired(importer, before));
	/* The next three indexes, too: as if they had been exported. */
	for (unsigned int i = 1; i <= 3; i++)
		hwq_index_retire(owner, before + i * 0x100);
	CHECK_EQ(hwq_export_init(&mr, kind_of_setting(), 0, &exported), 0);
	CHECK_EQ(exported.key, before + 4 * 0x100);
	hwq_index_retire(owner, exported.key + 0x100);
	/* This length needs a new key, not one that an earlier registration had. */
	CHECK_EQ(hwq_mr_register(owner, memory, 5 * 4096, 0, &second), 0);
	CHECK(!hwq_index_is_retired(owner, second.lkey));
	CHECK_EQ(second.lkey >> 8, (exported.key >> 8) + 2);
	hwq_index_retire(owner, second.lkey + 0x100);
	CHECK_EQ(hwq_mkey_pool_create(domain, &conf, &pool), 0);
	mkey = hwq_mkey_get(pool);
	CHECK_EQ(mkey->lkey >> 8, (second.lkey >> 8) + 2);
	CHECK(hwq_mkey_put(mkey));
	/* If the device gives only such indexes, the call fails and leaves nothing. */
	for (unsigned int i = 1; i <= HWQ_INDEX_TRIES; i++)
		hwq_index_retire(owner, mkey->lkey + i * 0x100);
	CHECK_EQ(hwq_mkey_pool_destroy(pool), 0);
	CHECK_EQ(hwq_mkey_pool_create(domain, &conf, &pool), -EAGAIN);
	CHECK_EQ(hwq_mkey_pool_create(domain, &conf, &pool), 0);
	CHECK_EQ(hwq_mkey_pool_destroy(pool), 0);
	CHECK_EQ(hwq_domain_destroy(domain), 0);
	CHECK_EQ(hwq_mr_deregister(&second), 0);
	CHECK_EQ(hwq_export_fini(&exported), 0);
	CHECK_EQ(hwq_mr_deregister(&mr), 0);
}

static const struct check_case cases[] = {
	{"an index that was exported is not used again", case_index_is_not_used_again},
	{"the device's kind of keys is found out", case_kind},
	{"the commands equal those of UCX", case_commands},
	{"the WQE of a copy equals that of UCX", case_wqe},
	{"bytes move through an alias, and none beside it", case_bytes},
	{"refusals have an errno and a line", case_refused},
	{"each command fails once, and nothing is left", case_failures},
};

int
main(int argc, char **argv)
{
	int ret;

	hwq_log_set(keep_log);
	if (hwq_dev_open("mlx5_0", &owner) != 0 || hwq_dev_open("mlx5_1", &importer) != 0)
		EMU_DIE("opening the devices");
	memory = aligned_alloc(4096, LEN);
	local = aligned_alloc(4096, LEN);
	memset(memory, 0, LEN);
	memset(local, 0, LEN);
	ret = check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
	CHECK_EQ(hwq_dev_close(owner), 0);
	CHECK_EQ(hwq_dev_close(importer), 0);
	free(memory);
	free(local);
	return ret != 0 || check_failures != 0;
}
