/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each work request of a burst is checked separately. The adapter remembers the regions of the
 * latest look-ups. If one work request may use such a region and the next work request may not, the
 * second must be refused.
 *
 * A burst is two work requests that are executed in one turn. The first is correct, and the second
 * has one error.
 */
#include "check.h"
#include "devices.h"
#include "softhca_rig.h"

#define SIGNAL MLX5_WQE_CTRL_CQ_UPDATE
#define LEN    64

/* The rig and the regions of a burst. */
struct burst {
	struct rig r;
	struct softhca_mkey *mkey;
	uint32_t key; /* key of a part of one end's buffer, with few access rights */
};

static uint32_t
add_key(struct burst *t, const struct rig_end *e, uint32_t pdn, uint32_t access)
{
	const struct softhca_mkey_attr attr = {.pdn = pdn,
		.access = access,
		.addr = rig_va(e->buf),
		.iova = rig_va(e->buf),
		.len = RIG_BUF / 2};
	unsigned int n;

	CHECK_EQ(softhca_mkey_create(softhca_devices(&n), &attr, &t->mkey), 0, "a region");
	t->key = softhca_mkey_key(t->mkey);
	return t->key;
}

static void
end(struct burst *t)
{
	if (t->mkey != NULL)
		CHECK_EQ(softhca_mkey_destroy(t->mkey), 0, "the region's end");
	rig_fini(&t->r);
}

static struct rig_wqe
rdma(uint8_t opcode, const void *remote, uint32_t rkey, const void *local, uint32_t lkey)
{
	struct rig_wqe w = rig_wqe(opcode, SIGNAL);

	rig_raddr(&w, rig_va(remote), rkey);
	rig_sge(&w, rig_va(local), lkey, LEN);
	return w;
}

static struct rig_wqe
copy(const void *opaque, uint32_t opaque_key, const void *src, uint32_t src_key, const void *dst,
	uint32_t dst_key)
{
	struct rig_wqe w = rig_wqe(MLX5_OPCODE_MMO, SIGNAL);

	w.opmod = 1; /* opcode modifier: DMA */
	rig_sge(&w, rig_va(opaque), opaque_key, 0);
	rig_sge(&w, rig_va(src), src_key, LEN);
	rig_sge(&w, rig_va(dst), dst_key, LEN);
	return w;
}

static void
expect_cqe(struct rig_end *e, uint8_t syndrome, const char *what)
{
	const struct mlx5_cqe64 *cqe = rig_poll(e);

	CHECK(cqe != NULL, "%s: no completion", what);
	if (cqe == NULL)
		return;
	CHECK_EQ(cqe->op_own >> 4, syndrome == 0 ? MLX5_CQE_REQ : MLX5_CQE_REQ_ERR, what);
	if (syndrome != 0)
		CHECK_EQ(rig_err(cqe)->syndrome, syndrome, what);
}

/* Both work requests are executed in one turn. */
static void
expect(struct burst *t, struct rig_wqe good, struct rig_wqe bad, uint8_t syndrome, const char *what)
{
	uint16_t last;

	rig_put(&t->r.a, &good);
	last = rig_put(&t->r.a, &bad);
	rig_record(&t->r.a);
	rig_bell(&t->r.a, last);
	rig_run(&t->r);
	expect_cqe(&t->r.a, 0, what);
	expect_cqe(&t->r.a, syndrome, what);
	end(t);
}

static void
begin(struct burst *t)
{
	t->mkey = NULL;
	rig_init(&t->r, NULL);
}

#define REMOTE    MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR
#define REMOTE_OP MLX5_CQE_SYNDROME_REMOTE_OP_ERR
#define LOCAL     MLX5_CQE_SYNDROME_LOCAL_PROT_ERR

static void
case_responder(void)
{
	const uint8_t write = MLX5_OPCODE_RDMA_WRITE, read = MLX5_OPCODE_RDMA_READ;
	struct burst t;
	struct rig_end *a = &t.r.a, *b = &t.r.b;

	begin(&t);
	expect(&t, rdma(write, b->buf, b->key, a->buf, a->key),
		rdma(write, b->buf + RIG_BUF - LEN + 1, b->key, a->buf, a->key), REMOTE,
		"a write behind the region");
	begin(&t);
	expect(&t, rdma(write, b->buf, b->key, a->buf, a->key),
		rdma(write, b->buf - 1, b->key, a->buf, a->key), REMOTE,
		"a write before the region");
	begin(&t);
	expect(&t, rdma(write, b->buf, b->key, a->buf, a->key),
		rdma(write, b->buf, b->key ^ 1, a->buf, a->key), REMOTE,
		"another variant of the key");
	begin(&t);
	add_key(&t, b, RIG_PDN, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	expect(&t, rdma(write, b->buf, t.key, a->buf, a->key),
		rdma(read, b->buf, t.key, a->buf, a->key), REMOTE, "a read of what may be written");
	begin(&t);
	add_key(&t, b, RIG_PDN, IBV_ACCESS_REMOTE_READ);
	expect(&t, rdma(read, b->buf, t.key, a->buf, a->key),
		rdma(write, b->buf, t.key, a->buf, a->key), REMOTE, "a write to what may be read");
}

static void
case_requester(void)
{
	const uint8_t write = MLX5_OPCODE_RDMA_WRITE, read = MLX5_OPCODE_RDMA_READ;
	struct burst t;
	struct rig_end *a = &t.r.a, *b = &t.r.b;

	begin(&t);
	expect(&t, rdma(write, b->buf, b->key, a->buf, a->key),
		rdma(write, b->buf, b->key, a->buf + RIG_BUF - LEN + 1, a->key), LOCAL,
		"a source behind the region");
	begin(&t);
	expect(&t, rdma(read, b->buf, b->key, a->buf, a->key),
		rdma(read, b->buf, b->key, a->buf, a->key ^ 1), LOCAL,
		"another variant of the key");
	begin(&t);
	add_key(&t, a, RIG_PDN, 0);
	expect(&t, rdma(write, b->buf, b->key, a->buf, t.key),
		rdma(read, b->buf, b->key, a->buf, t.key), LOCAL, "a read into what may be read");
}

/*
 * Sends two correct messages, for which b posts two receives. The first receive names b's memory
 * correctly. The second has the memory, key and length that the caller gives, and must fail with
 * this syndrome.
 */
static void
expect_receive(struct burst *t, const void *at, uint32_t key, uint32_t len, uint8_t syndrome,
	const char *what)
{
	struct rig_end *a = &t->r.a, *b = &t->r.b;
	struct rig_wqe w = rig_wqe(MLX5_OPCODE_SEND, SIGNAL);

	rig_sge(&w, rig_va(a->buf), a->key, LEN);
	rig_recv(b, rig_va(b->buf), b->key, LEN);
	rig_recv(b, rig_va(at), key, len);
	expect(t, w, w, syndrome, what);
}

static void
case_receive(void)
{
	struct burst t;
	struct rig_end *b = &t.r.b;

	begin(&t);
	expect_receive(&t, b->buf + RIG_BUF - LEN + 1, b->key, LEN, REMOTE_OP,
		"a receive behind the region");
	begin(&t);
	expect_receive(&t, b->buf, b->key ^ 1, LEN, REMOTE_OP, "another variant of the key");
	begin(&t);
	add_key(&t, b, RIG_PDN, IBV_ACCESS_REMOTE_READ);
	expect_receive(&t, b->buf, t.key, LEN, REMOTE_OP, "a receive into what may be read");
	begin(&t);
	expect_receive(&t, b->buf, b->key, LEN - 1, MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR,
		"a receive that is too short");
}

static void
case_memcpy(void)
{
	struct burst t;
	struct rig_end *a = &t.r.a;
	uint8_t *end_of_a, *dst;

	begin(&t);
	end_of_a = a->buf + RIG_BUF;
	dst = a->buf + 4096;
	expect(&t, copy(a->buf, a->key, a->buf, a->key, dst, a->key),
		copy(end_of_a - 63, a->key, a->buf, a->key, dst, a->key), LOCAL,
		"an opaque buffer of 63 bytes");
	begin(&t);
	end_of_a = a->buf + RIG_BUF;
	expect(&t, copy(a->buf, a->key, a->buf, a->key, end_of_a - LEN, a->key),
		copy(a->buf, a->key, end_of_a - LEN + 1, a->key, a->buf, a->key), LOCAL,
		"a source behind the region");
	begin(&t);
	end_of_a = a->buf + RIG_BUF;
	expect(&t, copy(a->buf, a->key, a->buf, a->key, end_of_a - LEN, a->key),
		copy(a->buf, a->key, a->buf, a->key, end_of_a - LEN + 1, a->key), LOCAL,
		"a destination behind the region");
	begin(&t);
	dst = a->buf + 4096;
	add_key(&t, a, RIG_PDN, 0);
	expect(&t, copy(a->buf, a->key, a->buf, t.key, dst, a->key),
		copy(a->buf, a->key, dst, t.key, a->buf, t.key), LOCAL,
		"a copy into what may be read");
	begin(&t);
	add_key(&t, a, RIG_PDN, 0);
	expect(&t, copy(a->buf, a->key, a->buf, t.key, a->buf + 4096, a->key),
		copy(a->buf, t.key, a->buf, t.key, a->buf + 4096, a->key), LOCAL,
		"an opaque buffer that may be read");
}

/*
 * Two queues share one UAR page and are served in one visit, but belong to two PDs: the check of
 * one queue's key must not count for the other queue.
 */
static void
case_two_pds(void)
{
	const uint8_t write = MLX5_OPCODE_RDMA_WRITE;
	struct rig r;
	struct rig_wqe w;

	rig_init(&r, &(struct rig_opts){.shared_uar = true, .pdn_b = RIG_PDN + 1});
	w = rdma(write, r.b.buf, r.b.key, r.a.buf, r.a.key);
	rig_put(&r.a, &w);
	rig_record(&r.a);
	w = rdma(write, r.a.buf, r.a.key, r.a.buf + LEN, r.a.key);
	rig_put(&r.b, &w);
	rig_record(&r.b);
	rig_bell(&r.a, 0);
	rig_run(&r);
	expect_cqe(&r.a, 0, "with the key of its own PD");
	expect_cqe(&r.b, LOCAL, "with the key of the other PD");
	rig_fini(&r);
}

/*
 * Between two writes to a region, the region gets other memory: the second write must go to the new
 * memory. Then the region is destroyed: the third write must be refused.
 */
static void
case_changed(void)
{
	struct burst t;
	struct rig_end *a = &t.r.a, *b = &t.r.b;
	struct rig_wqe w;
	struct softhca_mkey_attr attr = {.pdn = RIG_PDN,
		.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
		.len = RIG_BUF / 2};

	begin(&t);
	attr.iova = rig_va(b->buf);
	attr.addr = attr.iova + RIG_BUF / 2;
	add_key(&t, b, RIG_PDN, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	memset(a->buf, 0x5a, LEN);
	w = rdma(MLX5_OPCODE_RDMA_WRITE, b->buf, t.key, a->buf, a->key);
	rig_post(a, &w);
	rig_run(&t.r);
	expect_cqe(a, 0, "a write");
	CHECK_EQ(b->buf[0], 0x5a, "what it wrote");
	CHECK_EQ(softhca_mkey_modify(t.mkey, &attr), 0, "other memory");
	memset(a->buf, 0x66, LEN);
	rig_post(a, &w);
	rig_run(&t.r);
	expect_cqe(a, 0, "a write to the other memory");
	CHECK_EQ(b->buf[0], 0x5a, "the memory before");
	CHECK_EQ(b->buf[RIG_BUF / 2], 0x66, "the other memory");
	CHECK_EQ(softhca_mkey_destroy(t.mkey), 0, "its end");
	t.mkey = NULL;
	rig_post(a, &w);
	rig_run(&t.r);
	expect_cqe(a, REMOTE, "a write to a region that was destroyed");
	end(&t);
}

int
main(void)
{
	RUN("rights that one message had are checked again for the next one", case_responder());
	RUN("rights that one work request had are checked again for the next one",
		case_requester());
	RUN("rights that one receive had are checked again for the next one", case_receive());
	RUN("rights that one memcpy had are checked again for the next one", case_memcpy());
	RUN("a queue cannot use a region of another PD", case_two_pds());
	RUN("a region that was changed is looked up again", case_changed());
	return check_failures != 0;
}
