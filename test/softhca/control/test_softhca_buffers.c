/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory of queues from each source that stock libmlx5 offers: the caller's allocators
 * (ibv_alloc_parent_domain(3)), huge pages and contiguous pages (libmlx5's *_ALLOC_TYPE), and
 * regions of huge pages. Messages on a QP that is connected to itself show that queues in this
 * memory work.
 */
#include <sys/mman.h>

#include "softhca_pair.h"

#define HUGE  (2u << 20)
#define ARENA (1u << 20)
#define MSG   256
#define DEPTH 16

enum answer {
	GIVE,
	USE_DEFAULT,
	GIVE_NONE
};

/* Indices: MLX5DV_RES_TYPE_QP and so on, without the driver's number in the upper bits. */
#define N_TYPES 6
#define TYPE(t) ((uint32_t)(MLX5DV_RES_TYPE_##t))

struct arena {
	uint8_t *base;
	size_t used;
	enum answer answer[N_TYPES];
	unsigned int asked[N_TYPES], freed[N_TYPES];
};

static void *
arena_alloc(struct ibv_pd *pd, void *context, size_t size, size_t alignment, uint64_t type)
{
	struct arena *a = context;
	uint32_t t = (uint32_t)type;

	CHECK(t < N_TYPES);
	a->asked[t]++;
	if (a->answer[t] != GIVE)
		return a->answer[t] == USE_DEFAULT ? IBV_ALLOCATOR_USE_DEFAULT : NULL;
	a->used = (a->used + alignment - 1) / alignment * alignment;
	CHECK(a->used + size <= ARENA);
	a->used += size;
	return a->base + a->used - size;
}

static void
arena_free(struct ibv_pd *pd, void *context, void *p, uint64_t type)
{
	struct arena *a = context;

	CHECK((uint8_t *)p >= a->base && (uint8_t *)p < a->base + ARENA);
	a->freed[(uint32_t)type]++;
}

static bool
is_inside(const struct arena *a, const void *p)
{
	return (const uint8_t *)p >= a->base && (const uint8_t *)p < a->base + ARENA;
}

/*
 * A QP of the parent domain, connected to itself, with or without an SRQ. NULL if the QP could not
 * be created.
 */
struct loop {
	struct pair p;
	struct ibv_pd *pd; /* the parent domain, or p.pd without one */
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	uint8_t *buf;
};

static bool
loop_make_queues(struct loop *l, bool srq)
{
	struct ibv_cq_init_attr_ex cq = {.cqe = 2 * DEPTH,
		.wc_flags = IBV_WC_STANDARD_FLAGS,
		.comp_mask = l->pd != l->p.pd ? IBV_CQ_INIT_ATTR_MASK_PD : 0,
		.parent_domain = l->pd};
	struct ibv_srq_init_attr s = {.attr = {.max_wr = DEPTH, .max_sge = 1}};
	struct ibv_qp_init_attr qp = {.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = DEPTH,
			.max_recv_wr = DEPTH,
			.max_send_sge = 1,
			.max_recv_sge = 1}};
	struct pair_end *e = &l->p.client;

	e->cqx = ibv_create_cq_ex(l->p.ctx, &cq);
	if (e->cqx == NULL)
		return false;
	e->cq = qp.send_cq = qp.recv_cq = ibv_cq_ex_to_cq(e->cqx);
	if (srq) {
		l->srq = qp.srq = ibv_create_srq(l->pd, &s);
		if (l->srq == NULL)
			return false;
	}
	e->qp = ibv_create_qp(l->pd, &qp);
	return e->qp != NULL;
}

static void
loop_drop_queues(struct loop *l)
{
	struct pair_end *e = &l->p.client;

	if (e->qp != NULL)
		CHECK_EQ(ibv_destroy_qp(e->qp), 0);
	if (l->srq != NULL)
		CHECK_EQ(ibv_destroy_srq(l->srq), 0);
	if (e->cq != NULL)
		CHECK_EQ(ibv_destroy_cq(e->cq), 0);
}

static void
loop_open(struct loop *l, struct arena *a)
{
	struct ibv_parent_domain_init_attr attr = {.comp_mask =
							   IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
							   IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
		.alloc = arena_alloc,
		.free = arena_free,
		.pd_context = a};

	memset(l, 0, sizeof(*l));
	l->p.ctx = pair_open(0);
	l->p.pd = attr.pd = ibv_alloc_pd(l->p.ctx);
	CHECK(l->p.pd != NULL);
	l->pd = l->p.pd;
	if (a == NULL)
		return;
	a->base = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(a->base != MAP_FAILED);
	l->pd = ibv_alloc_parent_domain(l->p.ctx, &attr);
	CHECK(l->pd != NULL);
}

static void
loop_close(struct loop *l, struct arena *a)
{
	loop_drop_queues(l);
	if (a != NULL) {
		CHECK_EQ(ibv_dealloc_pd(l->pd), 0);
		CHECK_EQ(munmap(a->base, ARENA), 0);
	}
	CHECK_EQ(ibv_dealloc_pd(l->p.pd), 0);
	CHECK_EQ(ibv_close_device(l->p.ctx), 0);
}

static void
post_one(struct loop *l, struct ibv_mr *mr, uint32_t n)
{
	uint8_t *buf = mr->addr;
	struct ibv_sge to = {(uintptr_t)buf + MSG, MSG, mr->lkey},
		       from = {(uintptr_t)buf, MSG, mr->lkey};
	struct ibv_recv_wr recv = {.wr_id = n, .sg_list = &to, .num_sge = 1}, *bad_recv;
	struct ibv_send_wr send = {.wr_id = n,
				   .sg_list = &from,
				   .num_sge = 1,
				   .opcode = IBV_WR_SEND,
				   .send_flags = IBV_SEND_SIGNALED},
			   *bad;

	memset(buf, (int)(n + 1) & 0xff, MSG);
	pair_publish(&l->p.client);
	if (l->srq != NULL)
		CHECK_EQ(ibv_post_srq_recv(l->srq, &recv, &bad_recv), 0);
	else
		CHECK_EQ(ibv_post_recv(l->p.client.qp, &recv, &bad_recv), 0);
	CHECK_EQ(ibv_post_send(l->p.client.qp, &send, &bad), 0);
}

/* Sends enough messages for several laps of each queue. */
static void
loop_runs(struct loop *l, void *buf, int access)
{
	struct ibv_mr *mr = ibv_reg_mr(l->p.pd, buf, 2 * MSG, IBV_ACCESS_LOCAL_WRITE | access);

	CHECK(mr != NULL);
	pair_find_queues(&l->p.client);
	pair_connect(&l->p, &l->p.client, l->p.client.qp->qp_num);
	for (uint32_t n = 0; n < 5 * DEPTH; n++) {
		post_one(l, mr, n);
		for (int k = 0; k < 2; k++) {
			struct ibv_wc wc = pair_wait(&l->p.client);

			CHECK_EQ(wc.status, IBV_WC_SUCCESS);
			CHECK_EQ(wc.wr_id, n);
		}
		CHECK(memcmp(buf, (uint8_t *)buf + MSG, MSG) == 0);
	}
	CHECK_EQ(ibv_dereg_mr(mr), 0);
}

/* ---- the caller's allocators */

static uint8_t data[2 * MSG] __attribute__((aligned(4096)));

static void
case_allocators(void)
{
	for (int srq = 0; srq < 2; srq++) {
		struct arena a = {0};
		struct loop l;
		struct mlx5dv_qp qp = {0};
		struct mlx5dv_cq cq = {0};
		struct mlx5dv_obj obj;

		loop_open(&l, &a);
		CHECK(loop_make_queues(&l, srq != 0));
		obj = (struct mlx5dv_obj){.qp = {l.p.client.qp, &qp}, .cq = {l.p.client.cq, &cq}};
		CHECK_EQ(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ), 0);
		CHECK(is_inside(&a, qp.sq.buf) && is_inside(&a, qp.dbrec));
		CHECK(is_inside(&a, cq.buf) && is_inside(&a, cq.dbrec));
		CHECK_EQ(a.asked[TYPE(QP)], 1);
		CHECK_EQ(a.asked[TYPE(CQ)], 1);
		CHECK_EQ(a.asked[TYPE(SRQ)], srq);
		CHECK_EQ(a.asked[TYPE(DBR)], 2 + srq);
		loop_runs(&l, data, 0);
		loop_drop_queues(&l);
		l.p.client.qp = NULL;
		l.p.client.cq = NULL;
		l.srq = NULL;
		for (int t = 0; t < N_TYPES; t++)
			CHECK_EQ(a.freed[t], a.asked[t]);
		loop_close(&l, &a);
	}
}

static void
case_use_default(void)
{
	for (uint32_t keep = 0; keep < N_TYPES; keep++) {
		struct arena a = {0};
		struct loop l;

		/*
		 * The caller allocates memory of type `keep`, and libmlx5 all other memory. If
		 * `keep` is 0, libmlx5 allocates all memory.
		 */
		for (uint32_t t = 0; t < N_TYPES; t++)
			a.answer[t] = keep != 0 && t == keep ? GIVE : USE_DEFAULT;
		loop_open(&l, &a);
		CHECK(loop_make_queues(&l, true));
		loop_runs(&l, data, 0);
		loop_drop_queues(&l);
		l.p.client.qp = NULL;
		l.p.client.cq = NULL;
		l.srq = NULL;
		for (uint32_t t = 0; t < N_TYPES; t++)
			CHECK_EQ(a.freed[t], keep != 0 && t == keep ? a.asked[t] : 0);
		loop_close(&l, &a);
	}
}

static void
case_none(void)
{
	static const uint32_t types[] = {TYPE(QP), TYPE(CQ), TYPE(SRQ), TYPE(DBR)};

	for (int i = 0; i < 4; i++) {
		struct arena a = {0};
		struct loop l;

		a.answer[types[i]] = GIVE_NONE;
		loop_open(&l, &a);
		CHECK(!loop_make_queues(&l, true));
		CHECK(a.asked[types[i]] != 0);
		loop_close(&l, &a);
	}
}

/* ---- huge pages */

static void *
huge_page(void)
{
	void *p = mmap(NULL, HUGE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/*
 * Creates the queues with these settings, and sends messages. Returns false if the queues cannot be
 * created.
 */
static bool
with_settings(const char *type, bool srq)
{
	static const char *const names[] = {"MLX_QP_ALLOC_TYPE", "MLX_CQ_ALLOC_TYPE",
		"MLX_SRQ_ALLOC_TYPE"};
	struct loop l;
	bool made;

	for (int i = 0; i < 3; i++)
		CHECK_EQ(setenv(names[i], type, 1), 0);
	loop_open(&l, NULL);
	made = loop_make_queues(&l, srq);
	if (made)
		loop_runs(&l, data, 0);
	loop_close(&l, NULL);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(unsetenv(names[i]), 0);
	return made;
}

static void
case_huge_queues(void)
{
	void *page = huge_page();

	/*
	 * Without free huge pages, libmlx5 must fail if only huge pages are allowed. Otherwise it
	 * must use other memory.
	 */
	if (page != NULL)
		CHECK_EQ(munmap(page, HUGE), 0);
	else
		CHECK(!with_settings("HUGE", false));
	/* mlx5_ib of the kernel has no contiguous pages, so these settings must fail. */
	CHECK(!with_settings("CONTIG", false));
	for (int srq = 0; srq < 2; srq++) {
		if (page != NULL)
			CHECK(with_settings("HUGE", srq != 0));
		CHECK(with_settings("ANON", srq != 0));
		CHECK(with_settings("PREFER_HUGE", srq != 0));
		CHECK(with_settings("PREFER_CONTIG", srq != 0));
		CHECK(with_settings("ALL", srq != 0));
	}
}

static void
case_huge_regions(void)
{
	void *page = huge_page();
	struct loop l;

	loop_open(&l, NULL);
	CHECK(loop_make_queues(&l, false));
	loop_runs(&l, data, IBV_ACCESS_HUGETLB);
	loop_close(&l, NULL);
	for (int odp = 0; odp < 2 && page != NULL; odp++) {
		loop_open(&l, NULL);
		CHECK(loop_make_queues(&l, false));
		loop_runs(&l, page, IBV_ACCESS_HUGETLB | (odp != 0 ? IBV_ACCESS_ON_DEMAND : 0));
		loop_close(&l, NULL);
	}
	if (page != NULL)
		CHECK_EQ(munmap(page, HUGE), 0);
	else
		printf("(no huge page on this machine) ");
}

int
main(int argc, char **argv)
{
	static const struct check_case cases[] = {
		{"queues and their records are in memory of the caller's allocator",
			case_allocators},
		{"memory that the caller's allocator does not provide comes from libmlx5",
			case_use_default},
		{"a queue without memory is not created", case_none},
		{"queues can be in huge pages if there are any, and never in contiguous pages",
			case_huge_queues},
		{"regions can be in huge pages", case_huge_regions},
	};

	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
