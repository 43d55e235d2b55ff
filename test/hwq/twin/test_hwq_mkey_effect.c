/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The effect of signing keys, configured through stock libmlx5 and through hwq. One script of
 * configurations, transfers and damage runs on libmlx5 and on hwq, one after the other. Both must
 * move equal bytes, end the work requests with equal status, and find the same signature errors.
 * Some transfers are posted while the previous configuration is still running: with
 * SOFTHCA_REORDER, only the fence of such a transfer makes it wait.
 *
 * usage: test_hwq_mkey_effect [SCRIPTS [SEED]]
 */
#include "hwq_twin_key.h"

#include "hwq_wr_mkey.h"

#define N_ACTS     10
#define MAX_PIECES 3
#define MAX_BLOCKS 4
#define PIECE_ROOM 20480u /* bytes of a piece: enough for MAX_BLOCKS blocks with their signatures */
#define REMOTE_AT  (128u * 1024)
#define ACCESS     15u

enum act_kind {
	CONFIGURE,
	WRITE_OUT,    /* the data come out of the key, which is the local key */
	READ_IN,      /* the data go into the key, which is the local key */
	REMOTE_WRITE, /* the data go into the key, which is the remote key */
	REMOTE_READ,
	DAMAGE
};

struct act {
	enum act_kind kind;
	bool layout, sign, reset, pattern;
	bool joined; /* the next act is posted before this act has completed */
	struct sig sig;
	uint64_t at;
	uint32_t len;
	uint8_t flip;
};

struct script {
	unsigned int n;
	/* size and number of blocks in memory, from the first configuration */
	uint32_t block, n_blocks;
	uint32_t sig_len, wire_len; /* bytes of a signature in memory and on the wire */
	struct act acts[N_ACTS];
};

/* The result of one act. */
struct outcome {
	int complete, status, vendor, check;
	struct mlx5dv_mkey_err err;
};

static const uint32_t block_len[] = {512, 520, 4048, 4096, 4160};

static struct {
	unsigned long scripts, moved, failed, checked, by_type[4];
} seen;

static struct twin_pair pair;
static struct key key;

/* ------------------------------------------------------------------ scripts */

static uint32_t
signature_len(const struct mlx5dv_sig_block_domain *d)
{
	if (d == NULL)
		return 0;
	if (d->sig_type == MLX5DV_SIG_TYPE_T10DIF)
		return 8;
	return d->sig.crc->type == MLX5DV_SIG_CRC_TYPE_CRC64_XP10 ? 8 : 4;
}

static void
draw_configure(struct act *a, bool first)
{
	a->kind = CONFIGURE;
	a->layout = first || twin_one_in(3);
	a->sign = first || twin_one_in(3);
	a->reset = !a->sign && twin_one_in(4);
	a->pattern = twin_one_in(4);
	draw_sig(&a->sig, false);
	/*
	 * In most scripts all tags and guards are checked, and the blocks of both domains are
	 * equal.
	 */
	if (!twin_one_in(4))
		a->sig.attr.check_mask = 0xff;
	if (!twin_one_in(8))
		a->sig.wire.d.block_size = a->sig.mem.d.block_size;
	if (twin_one_in(6))
		a->sig.attr.flags = MLX5DV_SIG_BLOCK_ATTR_FLAG_COPY_MASK;
}

/* Moves whole blocks in most acts. The length counts the bytes on the wire. */
static void
draw_move(const struct script *s, const struct act *conf, struct act *a)
{
	uint32_t unit = s->block + signature_len(conf->sig.attr.wire);
	uint32_t first = (uint32_t)twin_draw(s->n_blocks);

	a->at = (uint64_t)first * unit;
	a->len = (uint32_t)(1 + twin_draw(s->n_blocks - first)) * unit;
	if (twin_one_in(40))
		a->len += (uint32_t)twin_draw(600);
}

/* Returns the address of byte `at` of a key with a list: see layout(). */
static uint64_t
place(const struct script *s, uint64_t at)
{
	uint64_t cut = s->n_blocks * (s->block + s->sig_len) / 3 + 1;

	if (at < cut)
		return at;
	return at < 2 * cut ? PIECE_ROOM + 7 + at - cut : 2 * PIECE_ROOM + at - 2 * cut;
}

/* Damages a byte of data or of a signature, in the key's memory or in the peer's memory. */
static void
draw_damage(const struct script *s, struct act *a)
{
	bool wire = twin_one_in(2);
	uint32_t sig_len = wire ? s->wire_len : s->sig_len, at = s->block;

	a->kind = DAMAGE;
	a->flip = (uint8_t)(1 + twin_draw(255));
	if (sig_len == 0 || twin_one_in(3))
		at = (uint32_t)twin_draw(s->block);
	else
		at += (uint32_t)twin_draw(sig_len);
	a->at = twin_draw(s->n_blocks) * (s->block + sig_len) + at;
	a->at = wire ? REMOTE_AT + a->at : place(s, a->at);
}

static bool
is_move(const struct act *a)
{
	return a->kind != CONFIGURE && a->kind != DAMAGE;
}

static void
draw_script(struct script *s)
{
	const struct act *conf = &s->acts[0];
	unsigned int i;

	memset(s, 0, sizeof(*s));
	s->n = 4 + (unsigned int)twin_draw(N_ACTS - 3);
	draw_configure(&s->acts[0], true);
	s->block = block_len[s->acts[0].sig.mem.d.block_size];
	s->n_blocks = 1 + (uint32_t)twin_draw(MAX_BLOCKS);
	s->sig_len = signature_len(conf->sig.attr.mem);
	s->wire_len = signature_len(conf->sig.attr.wire);
	/*
	 * acts[1] is the first transfer: it generates the signatures that the later transfers
	 * check.
	 */
	s->acts[1] = (struct act){.kind = s->sig_len != 0 ? READ_IN : WRITE_OUT,
		.len = s->n_blocks * (s->block + s->wire_len)};
	for (i = 2; i < s->n; i++) {
		struct act *a = &s->acts[i];

		if (twin_one_in(4)) {
			draw_configure(a, false);
			/*
			 * The key keeps its layout, because the layout matches the blocks of the
			 * first configuration only.
			 */
			a->layout = false;
		} else if (twin_one_in(3)) {
			draw_damage(s, a);
		} else {
			a->kind = (enum act_kind)(WRITE_OUT + twin_draw(4));
			draw_move(s, conf, a);
		}
	}
	for (i = 0; i + 1 < s->n; i++)
		s->acts[i].joined =
			s->acts[i].kind == CONFIGURE && is_move(&s->acts[i + 1]) && twin_one_in(2);
}

/* The key's layout has MAX_PIECES pieces; or it has blocks, and separately their signatures. */
static unsigned int
layout(const struct script *s, struct ibv_sge *sge, struct mlx5dv_mr_interleaved *data)
{
	uint32_t len = s->n_blocks * (s->block + s->sig_len), cut = len / 3 + 1;
	uintptr_t base = (uintptr_t)twin_mem;

	sge[0] = (struct ibv_sge){base, cut, twin_mr.lkey};
	sge[1] = (struct ibv_sge){base + PIECE_ROOM + 7, cut, twin_mr.lkey};
	sge[2] = (struct ibv_sge){base + 2 * PIECE_ROOM, len - 2 * cut, twin_mr.lkey};
	data[0] = (struct mlx5dv_mr_interleaved){base, s->block, 16, twin_mr.lkey};
	data[1] =
		(struct mlx5dv_mr_interleaved){base + 2 * PIECE_ROOM, s->sig_len, 3, twin_mr.lkey};
	return s->sig_len != 0 ? 2 : 1;
}

/* ------------------------------------------------------------------ each library's side */

static void
stock_configure(const struct script *s, const struct act *a)
{
	struct mlx5dv_mkey_conf_attr conf = {
		.conf_flags = a->reset ? MLX5DV_MKEY_CONF_FLAG_RESET_SIG_ATTR : 0};
	struct mlx5dv_mr_interleaved data[2];
	struct ibv_sge sge[MAX_PIECES];
	unsigned int n_data = layout(s, sge, data);
	struct mlx5dv_qp_ex *dv = pair.stock.dv;

	mlx5dv_wr_mkey_configure(dv, key.theirs, (uint8_t)(1 + a->layout + a->sign), &conf);
	mlx5dv_wr_set_mkey_access_flags(dv, ACCESS);
	if (a->sign)
		mlx5dv_wr_set_mkey_sig_block(dv, &a->sig.attr);
	if (a->layout && a->pattern)
		mlx5dv_wr_set_mkey_layout_interleaved(dv, s->n_blocks, (uint16_t)n_data, data);
	else if (a->layout)
		mlx5dv_wr_set_mkey_layout_list(dv, MAX_PIECES, sge);
}

static void
hwq_configure(struct hwq_wr *wr, const struct script *s, const struct act *a)
{
	struct mlx5dv_mkey_conf_attr conf = {
		.conf_flags = a->reset ? MLX5DV_MKEY_CONF_FLAG_RESET_SIG_ATTR : 0};
	struct mlx5dv_mr_interleaved data[2];
	struct ibv_sge sge[MAX_PIECES];
	struct hwq_sge list[MAX_PIECES];
	unsigned int n_data = layout(s, sge, data), i;

	for (i = 0; i < MAX_PIECES; i++)
		list[i] = (struct hwq_sge){sge[i].addr, sge[i].length, sge[i].lkey};
	hwq_wr_mkey_configure(wr, key.ours, (uint8_t)(1 + a->layout + a->sign), &conf);
	hwq_wr_set_mkey_access_flags(wr, ACCESS);
	if (a->sign)
		hwq_wr_set_mkey_sig_block(wr, &a->sig.attr);
	if (a->layout && a->pattern)
		hwq_wr_set_mkey_layout_interleaved(wr, s->n_blocks, (uint16_t)n_data, data);
	else if (a->layout)
		hwq_wr_set_mkey_layout_list(wr, MAX_PIECES, list);
}

static int
stock_post(const struct script *s, const struct act *a)
{
	struct ibv_qp_ex *ex = pair.stock.ex;
	uint64_t far = (uintptr_t)twin_mem + REMOTE_AT;
	bool remote = a->kind == REMOTE_WRITE || a->kind == REMOTE_READ;

	ibv_wr_start(ex);
	ex->wr_id = 1;
	ex->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	if (a->kind == CONFIGURE) {
		stock_configure(s, a);
		return ibv_wr_complete(ex);
	}
	if (a->kind == WRITE_OUT || a->kind == REMOTE_WRITE)
		ibv_wr_rdma_write(ex, remote ? key.theirs->rkey : twin_mr.rkey,
			remote ? a->at : far);
	else
		ibv_wr_rdma_read(ex, remote ? key.theirs->rkey : twin_mr.rkey,
			remote ? a->at : far);
	ibv_wr_set_sge(ex, remote ? twin_mr.lkey : key.theirs->lkey, remote ? far : a->at, a->len);
	return ibv_wr_complete(ex);
}

static int
hwq_post(const struct script *s, const struct act *a)
{
	uint64_t far = (uintptr_t)twin_mem + REMOTE_AT;
	bool remote = a->kind == REMOTE_WRITE || a->kind == REMOTE_READ;
	struct hwq_wr wr;

	hwq_wr_start(&wr, &pair.twin.qp->sq);
	wr.wr_id = 1;
	wr.wr_flags = HWQ_WQE_SIGNALED | HWQ_WQE_INLINE;
	if (a->kind == CONFIGURE) {
		hwq_configure(&wr, s, a);
		return -hwq_wr_complete(&wr);
	}
	if (a->kind == WRITE_OUT || a->kind == REMOTE_WRITE)
		hwq_wr_rdma_write(&wr, remote ? key.ours->rkey : twin_mr.rkey,
			remote ? a->at : far);
	else
		hwq_wr_rdma_read(&wr, remote ? key.ours->rkey : twin_mr.rkey, remote ? a->at : far);
	hwq_wr_set_sge(&wr, remote ? twin_mr.lkey : key.ours->lkey, remote ? far : a->at, a->len);
	return -hwq_wr_complete(&wr);
}

/* The first completion is the result. All further completions are of flushed WQEs. */
static void
stock_wait(struct outcome *o)
{
	struct ibv_wc wc;

	emu_pump();
	if (ibv_poll_cq(pair.stock.cq, 1, &wc) != 1) {
		/*
		 * The adapter wrote only a signature error CQE, which libmlx5 does not return as a
		 * completion. So poll again.
		 */
		if (ibv_poll_cq(pair.stock.cq, 1, &wc) != 1)
			EMU_DIE("libmlx5's work did not complete");
	}
	o->status = (int)wc.status;
	o->vendor = wc.status != IBV_WC_SUCCESS ? (int)wc.vendor_err : 0;
}

static void
hwq_wait(struct outcome *o)
{
	struct hwq_cqe rec;

	emu_pump();
	do {
		if (hwq_cq_poll(pair.twin.cq, &rec, 1) != 1)
			EMU_DIE("hwq's work did not complete");
		if (rec.opcode == MLX5_CQE_SIG_ERR)
			CHECK_EQ(hwq_mkey_note_err(pair.twin.domain, &rec), 0, "noting an error");
	} while (rec.opcode == MLX5_CQE_SIG_ERR);
	o->status = twin_status(rec.syndrome);
	o->vendor = rec.vendor_err;
	hwq_sq_complete(&pair.twin.qp->sq, rec.wqe_counter);
}

/* Posts n acts, then waits for the posted work requests. */
static void
moves(const struct script *s, const struct act *a, unsigned int n, bool ours, struct outcome *o)
{
	bool failed = false;
	unsigned int i;

	for (i = 0; i < n; i++)
		o[i].complete = ours ? hwq_post(s, &a[i]) : stock_post(s, &a[i]);
	for (i = 0; i < n; i++) {
		if (o[i].complete != 0)
			continue;
		if (ours)
			hwq_wait(&o[i]);
		else
			stock_wait(&o[i]);
		failed |= o[i].status != 0;
	}
	if (failed && ours)
		twin_hwq_restart(&pair);
	else if (failed)
		twin_stock_restart(&pair);
	o = &o[n - 1];
	o->check =
		ours ? -hwq_mkey_check(key.ours, &o->err) : mlx5dv_mkey_check(key.theirs, &o->err);
}

/* Runs the script through hwq (ours) or through libmlx5. */
static void
acts(const struct script *s, bool ours, struct outcome *o)
{
	unsigned int i, n;

	memset(o, 0, N_ACTS * sizeof(*o));
	for (i = 0; i < s->n; i += n) {
		const struct act *a = &s->acts[i];

		n = a->joined ? 2 : 1;
		if (a->kind == DAMAGE)
			twin_mem[a->at] ^= a->flip;
		else
			moves(s, a, n, ours, &o[i]);
	}
}

/* ------------------------------------------------------------------ comparing them */

static void
note(const struct outcome *o)
{
	seen.failed += o->status != 0;
	if (o->check == 0 && o->err.err_type != MLX5DV_MKEY_NO_ERR)
		seen.by_type[o->err.err_type & 3]++;
	seen.checked++;
}

static bool
same(const struct script *s, unsigned int i, const struct outcome *t, const struct outcome *u)
{
	note(u);
	CHECK(t->complete == u->complete, "act %u: libmlx5 completes with %d, hwq with %d", i,
		t->complete, u->complete);
	CHECK(t->status == u->status && t->vendor == u->vendor,
		"act %u, kind %d: libmlx5's status %d vendor 0x%x, hwq's %d 0x%x", i,
		s->acts[i].kind, t->status, t->vendor, u->status, u->vendor);
	CHECK(t->check == u->check && memcmp(&t->err, &u->err, sizeof(t->err)) == 0,
		"act %u, kind %d: libmlx5's key says %d, %d; hwq's %d, %d", i, s->acts[i].kind,
		t->check, t->err.err_type, u->check, u->err.err_type);
	return check_failures == 0;
}

static void
run_script(const uint8_t *before, uint8_t *after)
{
	static struct outcome theirs[N_ACTS], ours[N_ACTS];
	static struct script s;
	unsigned int i;

	draw_script(&s);
	memcpy(twin_mem, before, TWIN_MEM_LEN);
	acts(&s, false, theirs);
	memcpy(after, twin_mem, TWIN_MEM_LEN);
	memcpy(twin_mem, before, TWIN_MEM_LEN);
	acts(&s, true, ours);
	for (i = 0; i < s.n && same(&s, i, &theirs[i], &ours[i]); i++)
		;
	CHECK(memcmp(after, twin_mem, TWIN_MEM_LEN) == 0, "hwq's key moved other bytes");
	seen.moved += memcmp(before, after, TWIN_MEM_LEN) != 0;
	seen.scripts++;
}

/* ------------------------------------------------------------------ encryption */

#define CRYPT_LEN 1024

static struct key crypt_key;
static struct dek crypt_dek;

/* Configures the key over the first bytes of the memory, and writes them out through it. */
static void
stock_encrypt(const struct mlx5dv_crypto_attr *attr, struct outcome *o)
{
	struct mlx5dv_mkey_conf_attr conf = {0};
	struct ibv_qp_ex *ex = pair.stock.ex;
	struct ibv_sge sge = {(uintptr_t)twin_mem, CRYPT_LEN, twin_mr.lkey};

	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_INLINE;
	mlx5dv_wr_mkey_configure(pair.stock.dv, crypt_key.theirs, 3, &conf);
	mlx5dv_wr_set_mkey_access_flags(pair.stock.dv, ACCESS);
	mlx5dv_wr_set_mkey_layout_list(pair.stock.dv, 1, &sge);
	mlx5dv_wr_set_mkey_crypto(pair.stock.dv, attr);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(ex, twin_mr.rkey, (uintptr_t)twin_mem + REMOTE_AT);
	ibv_wr_set_sge(ex, crypt_key.theirs->lkey, 0, CRYPT_LEN);
	CHECK_EQ(ibv_wr_complete(ex), 0, "libmlx5's crypto setter");
	stock_wait(o);
}

static void
hwq_encrypt(const struct hwq_crypto_attr *attr, struct outcome *o)
{
	struct mlx5dv_mkey_conf_attr conf = {0};
	struct hwq_sge sge = {(uintptr_t)twin_mem, CRYPT_LEN, twin_mr.lkey};
	struct hwq_wr wr;

	hwq_wr_start(&wr, &pair.twin.qp->sq);
	wr.wr_flags = HWQ_WQE_INLINE;
	hwq_wr_mkey_configure(&wr, crypt_key.ours, 3, &conf);
	hwq_wr_set_mkey_access_flags(&wr, ACCESS);
	hwq_wr_set_mkey_layout_list(&wr, 1, &sge);
	hwq_wr_set_mkey_crypto(&wr, attr);
	wr.wr_flags = HWQ_WQE_SIGNALED;
	hwq_wr_rdma_write(&wr, twin_mr.rkey, (uintptr_t)twin_mem + REMOTE_AT);
	hwq_wr_set_sge(&wr, crypt_key.ours->lkey, 0, CRYPT_LEN);
	CHECK_EQ(hwq_wr_complete(&wr), 0, "the crypto setter");
	hwq_wait(o);
}

/* Equal bytes must pass through both keys, and these bytes must differ from the bytes in memory. */
static void
encrypted_alike(uint8_t *seen_by_peer)
{
	struct mlx5dv_crypto_attr theirs = {.dek = crypt_dek.theirs};
	struct hwq_crypto_attr ours = {.dek = crypt_dek.ours->id};
	uint8_t *far = twin_mem + REMOTE_AT;
	struct outcome t = {0}, u = {0};
	unsigned int i;

	theirs.data_unit_size = ours.data_unit_size =
		twin_one_in(2) ? MLX5DV_BLOCK_SIZE_512 : MLX5DV_BLOCK_SIZE_4048;
	theirs.encrypt_on_tx = ours.encrypt_on_tx = twin_one_in(2);
	theirs.signature_crypto_order = ours.signature_crypto_order =
		twin_one_in(2) ? MLX5DV_SIGNATURE_CRYPTO_ORDER_SIGNATURE_BEFORE_CRYPTO_ON_TX
			       : MLX5DV_SIGNATURE_CRYPTO_ORDER_SIGNATURE_AFTER_CRYPTO_ON_TX;
	for (i = 0; i < sizeof(theirs.initial_tweak); i++)
		theirs.initial_tweak[i] = ours.initial_tweak[i] = (char)twin_random();
	memset(far, 0x33, CRYPT_LEN);
	stock_encrypt(&theirs, &t);
	memcpy(seen_by_peer, far, CRYPT_LEN);
	memset(far, 0x33, CRYPT_LEN);
	hwq_encrypt(&ours, &u);
	CHECK(t.status == 0 && u.status == 0, "encryption: libmlx5's status %d, hwq's %d", t.status,
		u.status);
	CHECK(memcmp(far, seen_by_peer, CRYPT_LEN) == 0, "hwq's key encrypts otherwise");
	CHECK(memcmp(far, twin_mem, 16) != 0, "the key moved the bytes as they are");
}

static void
encryption(void)
{
	uint8_t seen_by_peer[CRYPT_LEN];
	unsigned int i;

	key_create(&pair, &crypt_key, KEY_CRYPT, 4);
	dek_create(&pair, &crypt_dek);
	for (i = 0; i < 32; i++)
		encrypted_alike(seen_by_peer);
	dek_destroy(&crypt_dek);
	key_destroy(&crypt_key);
}

int
main(int argc, char **argv)
{
	static uint8_t before[TWIN_MEM_LEN], after[TWIN_MEM_LEN];

	if (getenv("SOFTHCA_CRYPTO") == NULL) {
		setenv("SOFTHCA_THREADS", "0", 1);
		emu_setting(argv, "SOFTHCA_CRYPTO", "plaintext");
	}
	twin_begin(argc, argv, 2000);
	pair = (struct twin_pair){.name = "signing",
		.conf = {.sq_wr = 16,
			.max_sge = 1,
			.max_inline = 316,
			.send_ops = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ |
				    IBV_QP_EX_WITH_LOCAL_INV,
			.mlx5_ops = MLX5DV_QP_EX_WITH_MKEY_CONFIGURE}};
	twin_open(&pair, 1, false);
	memcpy(before, twin_mem, TWIN_MEM_LEN);
	key_create(&pair, &key, KEY_SIGN, 8);
	while (check_failures == 0 && seen.scripts < twin_cases) {
		run_script(before, after);
		if (twin_one_in(8)) {
			key_destroy(&key);
			key_create(&pair, &key, KEY_SIGN, 8);
		}
	}
	key_destroy(&key);
	encryption();
	twin_close(&pair, 1);
	printf("  %lu scripts, of which %lu moved bytes; %lu acts, %lu failed; wrong guards %lu, "
	       "reference tags %lu, application tags %lu\n",
		seen.scripts, seen.moved, seen.checked, seen.failed,
		seen.by_type[MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD],
		seen.by_type[MLX5DV_MKEY_SIG_BLOCK_BAD_REFTAG],
		seen.by_type[MLX5DV_MKEY_SIG_BLOCK_BAD_APPTAG]);
	CHECK(check_failures != 0 || (seen.moved != 0 && seen.failed != 0 &&
					     seen.by_type[MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD] != 0 &&
					     seen.by_type[MLX5DV_MKEY_SIG_BLOCK_BAD_REFTAG] != 0 &&
					     seen.by_type[MLX5DV_MKEY_SIG_BLOCK_BAD_APPTAG] != 0),
		"a case that must come up did not");
	CHECK_EQ(hwq_mr_deregister(&twin_mr), 0, "deregister");
	CHECK_EQ(hwq_dev_close(twin_dev), 0, "close");
	return check_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
