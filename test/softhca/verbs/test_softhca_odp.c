/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work requests on memory that is registered on demand (ibv_reg_mr(3), IBV_ACCESS_ON_DEMAND),
 * through stock libibverbs and libmlx5. The memory is mapped, unmapped, moved or read-only, and is
 * used in each operand of a request. Errors must be statuses of ibv_poll_cq(3), and the program
 * must continue.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "odp_area.h"

enum op {
	OP_SEND,
	OP_WRITE,
	OP_READ,
	OP_FETCH_ADD,
	OP_COMPARE_SWAP,
	OP_MEMCPY
};

/*
 * An address of a request: `near` is in the client's memory; `far` is in the server's memory, or is
 * the destination of a memcpy.
 */
struct spot {
	uint32_t key;
	uint64_t va;
};

static struct spot
spot_of(const struct ibv_mr *mr, uint32_t at)
{
	return (struct spot){mr->lkey, (uintptr_t)mr->addr + at};
}

static void
post(struct pair *p, enum op op, struct spot near, struct spot far, uint32_t len)
{
	struct ibv_qp_ex *x = p->client.qpx;

	pair_publish(&p->client);
	ibv_wr_start(x);
	x->wr_id = 9;
	x->wr_flags = IBV_SEND_SIGNALED;
	if (op == OP_SEND)
		ibv_wr_send(x);
	else if (op == OP_WRITE)
		ibv_wr_rdma_write(x, far.key, far.va);
	else if (op == OP_READ)
		ibv_wr_rdma_read(x, far.key, far.va);
	else if (op == OP_FETCH_ADD)
		ibv_wr_atomic_fetch_add(x, far.key, far.va, 5);
	else if (op == OP_COMPARE_SWAP)
		ibv_wr_atomic_cmp_swp(x, far.key, far.va, 5, 6);
	else
		mlx5dv_wr_memcpy(p->client.dvx, far.key, far.va, near.key, near.va, len);
	if (op != OP_MEMCPY)
		ibv_wr_set_sge(x, near.key, near.va, len);
	CHECK_EQ(ibv_wr_complete(x), 0);
}

static uint32_t
len_of(enum op op)
{
	return op == OP_FETCH_ADD || op == OP_COMPARE_SWAP ? 8 : 3 * PAGE;
}

static struct ibv_wc
run(struct pair *p, enum op op, struct spot near, struct spot far)
{
	post(p, op, near, far, len_of(op));
	return pair_wait(&p->client);
}

static uint8_t
pattern(uint32_t i)
{
	return (uint8_t)(i * 5 + i / 256 * 3 + 1);
}

static void
paint(uint8_t *p, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		p[i] = pattern(i);
}

static void
expect_painted(const uint8_t *p, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		CHECK_EQ(p[i], pattern(i));
}

/* ---- memory that exists */

static void
serves(enum op op, bool near_is_odp)
{
	struct pair p;
	struct area a;
	uint32_t len = len_of(op);
	bool to_near = op != OP_WRITE && op != OP_MEMCPY;
	uint8_t *near_p, *far_p;

	pair_init(&p, NULL);
	area_init(&a, p.pd, PAIR_ALL);
	area_map(&a, 0, AREA_PAGES, PROT_READ | PROT_WRITE);
	near_p = near_is_odp ? a.at : p.client.buf;
	far_p = near_is_odp ? p.server.buf : a.at;
	memset(near_p, 0, len);
	memset(far_p, 0, len);
	paint(to_near ? far_p : near_p, len);
	CHECK_EQ(run(&p, op, spot_of(near_is_odp ? a.mr : p.client.mr, 0),
			 spot_of(near_is_odp ? p.server.mr : a.mr, 0))
			 .status,
		IBV_WC_SUCCESS);
	if (op == OP_FETCH_ADD) {
		uint64_t before, after;

		memcpy(&before, near_p, 8);
		memcpy(&after, far_p, 8);
		CHECK_EQ(after, before + 5);
	}
	expect_painted(near_p, len);
	if (op != OP_FETCH_ADD)
		expect_painted(far_p, len);
	area_fini(&a);
	pair_fini(&p);
}

static void
case_comes_later(void)
{
	for (enum op op = OP_WRITE; op <= OP_MEMCPY; op++) {
		serves(op, true);
		serves(op, false);
	}
}

/*
 * Both ends of a message are on demand, have more than one piece, and are longer than a bounce
 * buffer. All bytes must arrive.
 */
static void
case_send_and_receive(void)
{
	const uint32_t len = 6 * PAGE + 77;
	struct pair p;
	struct area a, b;
	struct ibv_sge to[2];
	struct ibv_recv_wr wr = {.sg_list = to, .num_sge = 2}, *bad;

	pair_init(&p, NULL);
	area_init(&a, p.pd, 0);
	area_map(&a, 0, AREA_PAGES, PROT_READ | PROT_WRITE);
	area_init(&b, p.pd, IBV_ACCESS_LOCAL_WRITE);
	area_map(&b, 0, AREA_PAGES, PROT_READ | PROT_WRITE);
	paint(a.at + 100, len);
	to[0] = (struct ibv_sge){(uintptr_t)b.at + 5, 1000, b.mr->lkey};
	to[1] = (struct ibv_sge){(uintptr_t)b.at + 1005, len - 1000, b.mr->lkey};
	CHECK_EQ(ibv_post_recv(p.server.qp, &wr, &bad), 0);
	post(&p, OP_SEND, spot_of(a.mr, 100), (struct spot){0}, len);
	CHECK_EQ(pair_wait(&p.client).status, IBV_WC_SUCCESS);
	CHECK_EQ(pair_wait(&p.server).byte_len, len);
	expect_painted(b.at + 5, len);
	CHECK_EQ(b.at[4], 0);
	CHECK_EQ(b.at[5 + len], 0);
	area_fini(&a);
	area_fini(&b);
	pair_fini(&p);
}

static void
case_moves(void)
{
	struct pair p;
	struct area a;
	uint8_t *other;

	pair_init(&p, NULL);
	area_init(&a, p.pd, PAIR_ALL);
	area_map(&a, 0, AREA_PAGES, PROT_READ | PROT_WRITE);
	memset(a.at, 0x33, AREA_LEN);
	CHECK_EQ(run(&p, OP_WRITE, spot_of(a.mr, 0), spot_of(p.server.mr, 0)).status,
		IBV_WC_SUCCESS);
	CHECK_EQ(p.server.buf[0], 0x33);
	/*
	 * Other pages are mapped at these addresses: from now on requests must use their content.
	 */
	other = mmap(NULL, AREA_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(other != MAP_FAILED);
	paint(other, AREA_LEN);
	CHECK(mremap(other, AREA_LEN, AREA_LEN, MREMAP_MAYMOVE | MREMAP_FIXED, a.at) == a.at);
	CHECK_EQ(run(&p, OP_WRITE, spot_of(a.mr, 0), spot_of(p.server.mr, 0)).status,
		IBV_WC_SUCCESS);
	expect_painted(p.server.buf, 3 * PAGE);
	area_fini(&a);
	pair_fini(&p);
}

/* ---- memory that is missing or read-only */

/*
 * Checks that the request fails because of its memory, not because of its key: the vendor syndrome
 * is that of a page that the IOMMU refused to a ConnectX-6 (linux-rdma list).
 */
static void
expect_no_page(const struct ibv_wc *wc, enum ibv_wc_status status)
{
	CHECK_EQ(wc->status, status);
	/*
	 * With this vendor syndrome libmlx5 would post the receive again, as after a page fault of
	 * a real adapter.
	 */
	CHECK(wc->vendor_err != MLX5_CQE_VENDOR_SYNDROME_ODP_PFAULT);
	/* The initiator of a remote request is only told that the access was refused. */
	CHECK_EQ(wc->vendor_err, status == IBV_WC_REM_ACCESS_ERR ? 0x88
				 : status == IBV_WC_REM_OP_ERR   ? 0x89
								 : 0x56);
}

static void
expect_state(struct pair_end *e, enum ibv_qp_state state)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	CHECK_EQ(ibv_query_qp(e->qp, &attr, IBV_QP_STATE, &init), 0);
	CHECK_EQ(attr.qp_state, state);
}

/*
 * The memory has the protection `prot`, or is unmapped if `prot` is 0. With `hole`, one page in the
 * middle of the request is unmapped.
 */
static void
fails(enum op op, bool near_is_odp, int prot, bool hole)
{
	enum ibv_wc_status status =
		near_is_odp || op == OP_MEMCPY ? IBV_WC_LOC_PROT_ERR : IBV_WC_REM_ACCESS_ERR;
	struct pair p;
	struct area a;
	struct ibv_wc wc;

	pair_init(&p, NULL);
	area_init(&a, p.pd, PAIR_ALL);
	if (prot != 0)
		area_map(&a, 0, AREA_PAGES, prot);
	if (hole)
		area_unmap(&a, 1, 1);
	memset(p.client.buf, 0x44, PAIR_BUF);
	memset(p.server.buf, 0x44, PAIR_BUF);
	wc = run(&p, op, spot_of(near_is_odp ? a.mr : p.client.mr, 0),
		spot_of(near_is_odp ? p.server.mr : a.mr, 0));
	expect_no_page(&wc, status);
	expect_state(&p.client, IBV_QPS_ERR);
	expect_state(&p.server, status == IBV_WC_REM_ACCESS_ERR ? IBV_QPS_ERR : IBV_QPS_RTS);
	CHECK_EQ(pair_async(&p, status == IBV_WC_REM_ACCESS_ERR ? PAIR_PATIENCE_MS : 1),
		status == IBV_WC_REM_ACCESS_ERR ? IBV_EVENT_QP_ACCESS_ERR : -1);
	/* No byte after the missing page may have moved. */
	for (uint32_t i = hole ? PAGE : 0; i < PAIR_BUF && prot != PROT_READ; i++)
		CHECK(p.client.buf[i] == 0x44 && (op == OP_FETCH_ADD || p.server.buf[i] == 0x44));
	area_fini(&a);
	pair_fini(&p);
}

static void
case_gone(void)
{
	for (enum op op = OP_WRITE; op <= OP_MEMCPY; op++) {
		fails(op, true, 0, false);
		fails(op, false, 0, false);
		if (len_of(op) <= PAGE)
			continue;
		fails(op, true, PROT_READ | PROT_WRITE, true);
		fails(op, false, PROT_READ | PROT_WRITE, true);
	}
	fails(OP_WRITE, true, PROT_NONE, false);
}

static void
case_read_only(void)
{
	fails(OP_WRITE, false, PROT_READ, false);
	fails(OP_READ, true, PROT_READ, false);
	fails(OP_FETCH_ADD, true, PROT_READ, false);
	fails(OP_FETCH_ADD, false, PROT_READ, false);
	/*
	 * The comparison fails, so the operation would write no value, but it needs the right to
	 * write.
	 */
	fails(OP_COMPARE_SWAP, false, PROT_READ, false);
	fails(OP_MEMCPY, false, PROT_READ, false);
}

static void
case_read_only_is_read(void)
{
	struct pair p;
	struct area a;

	pair_init(&p, NULL);
	area_init(&a, p.pd, PAIR_ALL);
	area_map(&a, 0, AREA_PAGES, PROT_READ | PROT_WRITE);
	paint(a.at, AREA_LEN);
	CHECK_EQ(mprotect(a.at, AREA_LEN, PROT_READ), 0);
	CHECK_EQ(run(&p, OP_WRITE, spot_of(a.mr, 0), spot_of(p.server.mr, 0)).status,
		IBV_WC_SUCCESS);
	CHECK_EQ(run(&p, OP_READ, spot_of(p.client.mr, 0), spot_of(a.mr, 0)).status,
		IBV_WC_SUCCESS);
	expect_painted(p.server.buf, 3 * PAGE);
	expect_painted(p.client.buf, 3 * PAGE);
	area_fini(&a);
	pair_fini(&p);
}

/*
 * A request accesses pages beyond the end of a file, where an access of the program itself gets
 * SIGBUS: the request must fail, and the program must not get the signal.
 */
static void
case_behind_a_files_end(void)
{
	struct pair p;
	struct area a;
	struct ibv_wc wc;
	int fd = memfd_create("odp", 0);

	CHECK(fd >= 0 && ftruncate(fd, AREA_LEN) == 0);
	pair_init(&p, NULL);
	area_init(&a, p.pd, PAIR_ALL);
	CHECK(mmap(a.at, AREA_LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == a.at);
	CHECK_EQ(run(&p, OP_READ, spot_of(a.mr, 0), spot_of(p.server.mr, 0)).status,
		IBV_WC_SUCCESS);
	CHECK_EQ(ftruncate(fd, PAGE), 0);
	wc = run(&p, OP_READ, spot_of(a.mr, 0), spot_of(p.server.mr, 0));
	expect_no_page(&wc, IBV_WC_LOC_PROT_ERR);
	close(fd);
	area_fini(&a);
	pair_fini(&p);
}

static void
message_fails(bool source, int prot)
{
	struct pair p;
	struct area a;
	struct ibv_wc wc;
	struct ibv_sge to = {.length = 3 * PAGE};
	struct ibv_recv_wr wr = {.wr_id = 4, .sg_list = &to, .num_sge = 1}, *bad;

	pair_init(&p, NULL);
	area_init(&a, p.pd, PAIR_ALL);
	if (prot != 0)
		area_map(&a, 0, AREA_PAGES, prot);
	to.addr = source ? (uintptr_t)p.server.buf : (uintptr_t)a.at;
	to.lkey = source ? p.server.mr->lkey : a.mr->lkey;
	CHECK_EQ(ibv_post_recv(p.server.qp, &wr, &bad), 0);
	wc = run(&p, OP_SEND, spot_of(source ? a.mr : p.client.mr, 0), (struct spot){0});
	if (source) {
		expect_no_page(&wc, IBV_WC_LOC_PROT_ERR);
		pair_expect_none(&p.server);
		expect_state(&p.server, IBV_QPS_RTS);
	} else {
		CHECK_EQ(wc.status, IBV_WC_REM_OP_ERR);
		wc = pair_wait(&p.server);
		CHECK_EQ(wc.wr_id, 4);
		expect_no_page(&wc, IBV_WC_LOC_PROT_ERR);
		expect_state(&p.server, IBV_QPS_ERR);
	}
	area_fini(&a);
	pair_fini(&p);
}

static void
case_messages(void)
{
	message_fails(true, 0);
	message_fails(false, 0);
	message_fails(false, PROT_READ);
}

/* ---- keys over keys on demand */

static void
through_a_list(bool is_there)
{
	struct pair p;
	struct area a;
	struct mlx5dv_mkey_init_attr attr = {.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT,
		.max_entries = 4};
	struct mlx5dv_mkey *mkey;
	struct ibv_sge v[2];
	struct ibv_wc wc;

	pair_init(&p, &(struct pair_opts){.keys = true});
	area_init(&a, p.pd, PAIR_ALL);
	attr.pd = p.pd;
	mkey = mlx5dv_create_mkey(&attr);
	CHECK(mkey != NULL);
	if (is_there)
		area_map(&a, 0, AREA_PAGES, PROT_READ | PROT_WRITE);
	v[0] = (struct ibv_sge){(uintptr_t)p.server.buf, PAGE, p.server.mr->lkey};
	v[1] = (struct ibv_sge){(uintptr_t)a.at, 2 * PAGE, a.mr->lkey};
	pair_publish(&p.server);
	ibv_wr_start(p.server.qpx);
	p.server.qpx->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	mlx5dv_wr_mr_list(p.server.dvx, mkey, PAIR_ALL, 2, v);
	CHECK_EQ(ibv_wr_complete(p.server.qpx), 0);
	CHECK_EQ(pair_wait(&p.server).status, IBV_WC_SUCCESS);
	paint(p.client.buf, 3 * PAGE);
	wc = run(&p, OP_WRITE, spot_of(p.client.mr, 0), (struct spot){mkey->rkey, 0});
	if (is_there) {
		CHECK_EQ(wc.status, IBV_WC_SUCCESS);
		expect_painted(p.server.buf, PAGE);
		CHECK(memcmp(a.at, p.client.buf + PAGE, 2 * PAGE) == 0);
	} else {
		expect_no_page(&wc, IBV_WC_REM_ACCESS_ERR);
	}
	CHECK_EQ(mlx5dv_destroy_mkey(mkey), 0);
	area_fini(&a);
	pair_fini(&p);
}

static void
case_indirect(void)
{
	through_a_list(true);
	through_a_list(false);
}

/* The implicit region has all memory at its own addresses. Unmapped memory must be refused. */
static void
case_implicit(void)
{
	struct pair p;
	struct ibv_mr *all;
	struct ibv_wc wc;
	uint8_t *late;

	pair_init(&p, NULL);
	all = ibv_reg_mr(p.pd, NULL, SIZE_MAX, PAIR_ALL | IBV_ACCESS_ON_DEMAND);
	CHECK(all != NULL);
	late = mmap(NULL, AREA_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(late != MAP_FAILED);
	paint(late, AREA_LEN);
	CHECK_EQ(run(&p, OP_WRITE, (struct spot){all->lkey, (uintptr_t)late},
			 (struct spot){all->rkey, (uintptr_t)p.server.buf})
			 .status,
		IBV_WC_SUCCESS);
	expect_painted(p.server.buf, 3 * PAGE);
	wc = run(&p, OP_WRITE, (struct spot){all->lkey, UINT64_C(0xffff888000000000)},
		spot_of(p.server.mr, 0));
	expect_no_page(&wc, IBV_WC_LOC_PROT_ERR);
	CHECK_EQ(ibv_dereg_mr(all), 0);
	CHECK_EQ(munmap(late, AREA_LEN), 0);
	pair_fini(&p);
}

/* ---- concurrent changes */

#define BURST  32
#define BURSTS 400

struct adder {
	struct pair p;
	struct spot word;
	pthread_t thread;
};

static void *
add_fives(void *arg)
{
	struct adder *a = arg;

	for (int n = 0; n < BURSTS; n++) {
		for (int k = 0; k < BURST; k++)
			post(&a->p, OP_FETCH_ADD, spot_of(a->p.client.mr, 8), a->word, 8);
		for (int k = 0; k < BURST; k++)
			CHECK_EQ(pair_wait(&a->p.client).status, IBV_WC_SUCCESS);
	}
	return NULL;
}

/*
 * The adapter is opened twice, and each context has a key to the same word. Two threads add to this
 * word by atomics: no addition may be lost. While a thread waits, it pumps the adapter.
 */
static void
case_atomics_of_two_keys(void)
{
	static uint64_t word[PAGE / 8] __attribute__((aligned(PAGE)));
	struct adder a[2];
	struct ibv_mr *mr[2];

	word[0] = 0;
	for (int i = 0; i < 2; i++) {
		pair_init(&a[i].p, &(struct pair_opts){.own_uar = true});
		mr[i] = ibv_reg_mr(a[i].p.pd, word, PAGE,
			PAIR_ALL | (i == 0 ? IBV_ACCESS_ON_DEMAND : 0));
		CHECK(mr[i] != NULL);
		a[i].word = spot_of(mr[i], 0);
	}
	for (int i = 0; i < 2; i++)
		CHECK_EQ(pthread_create(&a[i].thread, NULL, add_fives, &a[i]), 0);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(pthread_join(a[i].thread, NULL), 0);
		CHECK_EQ(ibv_dereg_mr(mr[i]), 0);
		pair_fini(&a[i].p);
	}
	CHECK_EQ(word[0], UINT64_C(2) * BURSTS * BURST * 5);
}

static atomic_bool stop;

/*
 * Alternately maps new pages and pages that cannot be accessed. The addresses stay in use, so the
 * kernel places no other mapping there.
 */
static void *
come_and_go(void *arg)
{
	struct area *a = arg;

	for (unsigned int n = 0; !atomic_load(&stop); n++)
		CHECK(mmap(a->at, AREA_LEN, n % 2 == 0 ? PROT_READ | PROT_WRITE : PROT_NONE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == a->at);
	return NULL;
}

/*
 * The program unmaps the memory while a request uses it. The request must succeed or fail, and the
 * program must continue.
 */
static void
case_race(void)
{
	struct pair p;
	struct area a;
	pthread_t thread;
	unsigned int n[2] = {0, 0};
	uint64_t end = pair_now_ms() + CHECK_PATIENCE_MS;

	pair_init(&p, NULL);
	area_init(&a, p.pd, PAIR_ALL);
	area_map(&a, 0, AREA_PAGES, PROT_NONE);
	atomic_store(&stop, false);
	CHECK_EQ(pthread_create(&thread, NULL, come_and_go, &a), 0);
	/*
	 * Success and failure must both occur, also if a busy machine runs the other thread late.
	 */
	while ((n[0] < 100 || n[1] < 100) && pair_now_ms() < end) {
		enum op op = n[0] % 2 != 0 ? OP_WRITE : OP_READ;
		struct ibv_wc wc = run(&p, op, spot_of(a.mr, 0), spot_of(p.server.mr, 0));

		n[wc.status != IBV_WC_SUCCESS]++;
		if (wc.status == IBV_WC_SUCCESS)
			continue;
		expect_no_page(&wc, IBV_WC_LOC_PROT_ERR);
		CHECK_EQ(pair_modify(&p.client, IBV_QPS_RESET), 0);
		pair_connect(&p, &p.client, p.server.qp->qp_num);
	}
	atomic_store(&stop, true);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK(n[0] >= 100 && n[1] >= 100);
	area_fini(&a);
	pair_fini(&p);
}

int
main(int argc, char **argv)
{
	static const struct check_case cases[] = {
		{"memory that is mapped after its registration can be used by every operation",
			case_comes_later},
		{"a message goes from memory on demand to memory on demand", case_send_and_receive},
		{"pages that move are found", case_moves},
		{"a request that reaches unmapped memory fails", case_gone},
		{"memory that may only be read is not written", case_read_only},
		{"memory that may only be read is read", case_read_only_is_read},
		{"a page beyond the end of its file fails the request", case_behind_a_files_end},
		{"a message without memory fails at the end whose memory is missing",
			case_messages},
		{"a key over keys on demand finds the current memory", case_indirect},
		{"the implicit region is all mapped memory, and nothing else", case_implicit},
		{"atomics through two keys, one of them on demand, lose nothing",
			case_atomics_of_two_keys},
		{"memory that comes and goes under requests ends no process", case_race},
	};

	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
