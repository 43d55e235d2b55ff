/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Control calls on memory on demand, through stock libibverbs and libmlx5: capabilities,
 * registration, re-registration, and advice with the errors of ibv_advise_mr(3). mincore(2) shows
 * whether pages are in memory.
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "odp_area.h"

#define ON_DEMAND IBV_ACCESS_ON_DEMAND

struct open {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
};

static struct open
open_it(void)
{
	struct open o = {.ctx = pair_open(0)};

	o.pd = ibv_alloc_pd(o.ctx);
	CHECK(o.pd != NULL);
	return o;
}

static void
close_it(struct open *o)
{
	CHECK_EQ(ibv_dealloc_pd(o->pd), 0);
	CHECK_EQ(ibv_close_device(o->ctx), 0);
}

static uint32_t
dc_odp_caps(struct ibv_context *ctx)
{
	struct mlx5dv_context dv = {.comp_mask = MLX5DV_CONTEXT_MASK_DC_ODP_CAPS};

	CHECK_EQ(mlx5dv_query_device(ctx, &dv), 0);
	CHECK((dv.comp_mask & MLX5DV_CONTEXT_MASK_DC_ODP_CAPS) != 0);
	return dv.dc_odp_caps;
}

static void
case_capabilities(void)
{
	const uint32_t rdma = IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC;
	const uint32_t shared = rdma | IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_SRQ_RECV;
	struct ibv_device_attr_ex attr;
	struct open o = open_it();

	CHECK_EQ(ibv_query_device_ex(o.ctx, NULL, &attr), 0);
	CHECK_EQ(attr.odp_caps.general_caps, IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT);
	CHECK_EQ(attr.odp_caps.per_transport_caps.rc_odp_caps, shared | IBV_ODP_SUPPORT_RECV);
	CHECK_EQ(attr.odp_caps.per_transport_caps.uc_odp_caps,
		IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE);
	CHECK_EQ(attr.odp_caps.per_transport_caps.ud_odp_caps,
		IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_SRQ_RECV);
	CHECK_EQ(attr.xrc_odp_caps, shared);
	CHECK_EQ(dc_odp_caps(o.ctx), shared);
	close_it(&o);
}

/* ---- registering */

static void
case_registering(void)
{
	struct open o = open_it();
	struct area a;
	struct ibv_mr *mr;

	area_init(&a, o.pd, PAIR_ALL);
	/* Without IBV_ACCESS_ON_DEMAND, the memory must exist. */
	CHECK(ibv_reg_mr(o.pd, a.at, PAGE, IBV_ACCESS_LOCAL_WRITE) == NULL && errno == EFAULT);
	/* All other rules are the same as for every region. */
	CHECK(ibv_reg_mr(o.pd, a.at, PAGE, ON_DEMAND | IBV_ACCESS_REMOTE_WRITE) == NULL &&
		errno == EINVAL);
	CHECK(ibv_reg_mr(o.pd, a.at, 0, ON_DEMAND) == NULL && errno == EINVAL);
	CHECK(ibv_reg_mr(o.pd, a.at, SIZE_MAX, ON_DEMAND) == NULL && errno == EINVAL);
	mr = ibv_reg_mr(o.pd, a.at, AREA_LEN, ON_DEMAND | IBV_ACCESS_HUGETLB);
	CHECK(mr != NULL);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	/* The implicit region must be on demand, and must have the program's own addresses. */
	CHECK(ibv_reg_mr(o.pd, NULL, SIZE_MAX, IBV_ACCESS_LOCAL_WRITE) == NULL);
	CHECK(ibv_reg_mr_iova(o.pd, NULL, SIZE_MAX, PAGE, ON_DEMAND) == NULL && errno == EINVAL);
	mr = ibv_reg_mr(o.pd, NULL, SIZE_MAX, PAIR_ALL | ON_DEMAND);
	CHECK(mr != NULL);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	area_map(&a, 0, AREA_PAGES, PROT_READ);
	area_fini(&a);
	close_it(&o);
}

/* Writes 8 bytes from a region. Returns the status of the completion. */
static enum ibv_wc_status
write_from(struct pair *p, const struct ibv_mr *mr, uint8_t *at)
{
	struct ibv_qp_ex *x = p->client.qpx;
	struct ibv_wc wc;

	pair_publish(&p->client);
	ibv_wr_start(x);
	x->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(x, p->server.mr->rkey, (uintptr_t)p->server.buf);
	ibv_wr_set_sge(x, mr->lkey, (uintptr_t)at, 8);
	CHECK_EQ(ibv_wr_complete(x), 0);
	wc = pair_wait(&p->client);
	return wc.status;
}

static void
case_registering_again(void)
{
	struct ibv_mr *all;
	struct area a;
	struct pair p;

	pair_init(&p, NULL);
	area_init(&a, p.pd, PAIR_ALL);
	/*
	 * The region on demand becomes a plain region: its memory must exist, and is then pinned.
	 */
	CHECK(ibv_rereg_mr(a.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, PAIR_ALL) != 0 &&
		errno == EFAULT);
	area_map(&a, 0, AREA_PAGES, PROT_READ | PROT_WRITE);
	a.at[0] = 0x61;
	CHECK_EQ(ibv_rereg_mr(a.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, PAIR_ALL), 0);
	CHECK_EQ(write_from(&p, a.mr, a.at), IBV_WC_SUCCESS);
	CHECK_EQ(p.server.buf[0], 0x61);
	CHECK_EQ(ibv_rereg_mr(a.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			 PAIR_ALL | ON_DEMAND),
		0);
	/* The implicit region, which has all memory, becomes a region of one area. */
	all = ibv_reg_mr(p.pd, NULL, SIZE_MAX, PAIR_ALL | ON_DEMAND);
	CHECK(all != NULL);
	memset(p.client.buf, 0x62, 8);
	CHECK_EQ(write_from(&p, all, p.client.buf), IBV_WC_SUCCESS);
	CHECK_EQ(p.server.buf[0], 0x62);
	CHECK_EQ(ibv_rereg_mr(all, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, a.at, AREA_LEN, 0), 0);
	CHECK_EQ(write_from(&p, all, a.at), IBV_WC_SUCCESS);
	CHECK_EQ(p.server.buf[0], 0x61);
	CHECK_EQ(write_from(&p, all, p.client.buf), IBV_WC_LOC_PROT_ERR);
	CHECK_EQ(ibv_dereg_mr(all), 0);
	CHECK_EQ(pair_modify(&p.client, IBV_QPS_RESET), 0);
	pair_connect(&p, &p.client, p.server.qp->qp_num);
	CHECK_EQ(mprotect(a.at, AREA_LEN, PROT_NONE), 0);
	CHECK_EQ(write_from(&p, a.mr, a.at), IBV_WC_LOC_PROT_ERR);
	area_fini(&a);
	pair_fini(&p);
}

/* ---- advice */

static int
advise(struct ibv_pd *pd, uint32_t advice, uint32_t flags, uint32_t key, void *at, uint32_t len)
{
	struct ibv_sge sge = {(uintptr_t)at, len, key};

	return ibv_advise_mr(pd, (enum ibv_advise_mr_advice)advice, flags, &sge, 1);
}

#define FETCH          IBV_ADVISE_MR_ADVICE_PREFETCH
#define FETCH_WRITE    IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE
#define FETCH_NO_FAULT IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT
#define FLUSH          IBV_ADVISE_MR_FLAG_FLUSH

static unsigned int
resident(const struct area *a)
{
	unsigned char vec[AREA_PAGES];
	unsigned int n = 0;

	CHECK_EQ(mincore(a->at, AREA_LEN, vec), 0);
	for (unsigned int i = 0; i < AREA_PAGES; i++)
		n += vec[i] & 1;
	return n;
}

static void
case_advice(void)
{
	struct open o = open_it();
	struct area a;

	area_init(&a, o.pd, IBV_ACCESS_LOCAL_WRITE);
	area_map(&a, 0, AREA_PAGES, PROT_READ | PROT_WRITE);
	CHECK_EQ(advise(o.pd, FETCH_NO_FAULT, FLUSH, a.mr->lkey, a.at, AREA_LEN), 0);
	CHECK_EQ(resident(&a), 0);
	/* A range from the last byte of a page to the first byte of a later page. */
	CHECK_EQ(advise(o.pd, FETCH_WRITE, FLUSH, a.mr->lkey, a.at + PAGE - 1, PAGE + 2), 0);
	CHECK_EQ(resident(&a), 3);
	CHECK_EQ(advise(o.pd, FETCH, FLUSH, a.mr->lkey, a.at + 8 * PAGE, 2 * PAGE), 0);
	CHECK_EQ(resident(&a), 5);
	CHECK_EQ(advise(o.pd, FETCH, 0, a.mr->lkey, a.at, AREA_LEN), 0);
	CHECK_EQ(resident(&a), AREA_PAGES);
	/* Advice must not change the memory's content. */
	memset(a.at, 0x5a, AREA_LEN);
	CHECK_EQ(advise(o.pd, FETCH_WRITE, FLUSH, a.mr->lkey, a.at, AREA_LEN), 0);
	for (unsigned int i = 0; i < AREA_LEN; i++)
		CHECK_EQ(a.at[i], 0x5a);
	area_fini(&a);
	close_it(&o);
}

static void
case_advice_on_memory(void)
{
	struct open o = open_it();
	struct area a;

	area_init(&a, o.pd, IBV_ACCESS_LOCAL_WRITE);
	/* With FLUSH, the call waits, and must fail if the memory is missing. */
	CHECK_EQ(advise(o.pd, FETCH, FLUSH, a.mr->lkey, a.at, PAGE), EFAULT);
	CHECK_EQ(advise(o.pd, FETCH_WRITE, FLUSH, a.mr->lkey, a.at, PAGE), EFAULT);
	CHECK_EQ(advise(o.pd, FETCH, 0, a.mr->lkey, a.at, PAGE), 0);
	CHECK_EQ(advise(o.pd, FETCH_NO_FAULT, FLUSH, a.mr->lkey, a.at, PAGE), 0);
	area_map(&a, 0, AREA_PAGES, PROT_READ);
	CHECK_EQ(advise(o.pd, FETCH, FLUSH, a.mr->lkey, a.at, PAGE), 0);
	CHECK_EQ(advise(o.pd, FETCH_WRITE, FLUSH, a.mr->lkey, a.at, PAGE), EFAULT);
	CHECK_EQ(mprotect(a.at + 5 * PAGE, PAGE, PROT_NONE), 0);
	CHECK_EQ(advise(o.pd, FETCH, FLUSH, a.mr->lkey, a.at, 5 * PAGE), 0);
	CHECK_EQ(advise(o.pd, FETCH, FLUSH, a.mr->lkey, a.at, 5 * PAGE + 1), EFAULT);
	/* Ranges at the start and the end of the region. */
	CHECK_EQ(advise(o.pd, FETCH, FLUSH, a.mr->lkey, a.at + 15 * PAGE, PAGE), 0);
	CHECK_EQ(advise(o.pd, FETCH, FLUSH, a.mr->lkey, a.at + 15 * PAGE, PAGE + 1), EFAULT);
	CHECK_EQ(advise(o.pd, FETCH, FLUSH, a.mr->lkey, a.at - 1, 2), EFAULT);
	area_fini(&a);
	close_it(&o);
}

static void
case_advice_on_keys(void)
{
	struct open o = open_it();
	struct ibv_pd *other = ibv_alloc_pd(o.ctx);
	struct mlx5dv_mkey_init_attr attr = {.pd = o.pd,
		.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT,
		.max_entries = 4};
	struct mlx5dv_mkey *list = mlx5dv_create_mkey(&attr);
	struct ibv_mw *mw = ibv_alloc_mw(o.pd, IBV_MW_TYPE_2);
	static uint8_t buf[2 * PAGE];
	struct ibv_mr *plain = ibv_reg_mr(o.pd, buf, PAGE, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_mr *fixed = ibv_reg_mr(o.pd, buf, PAGE, ON_DEMAND);
	struct ibv_sge two[2];

	CHECK(other != NULL && list != NULL && mw != NULL && plain != NULL && fixed != NULL);
	/* An address after the region is outside the key, whether memory is mapped there or not. */
	CHECK_EQ(advise(o.pd, FETCH, FLUSH, fixed->lkey, buf, PAGE + 1), EFAULT);
	CHECK_EQ(advise(o.pd, FETCH, FLUSH, fixed->lkey, buf + PAGE, 1), EFAULT);
	for (uint32_t flags = 0; flags <= FLUSH; flags += FLUSH) {
		CHECK_EQ(advise(o.pd, FETCH, flags, fixed->lkey, buf, PAGE), 0);
		CHECK_EQ(advise(o.pd, FETCH, flags, fixed->lkey ^ 1, buf, PAGE), ENOENT);
		CHECK_EQ(advise(o.pd, FETCH, flags, fixed->lkey ^ 0x80000000, buf, PAGE), ENOENT);
		CHECK_EQ(advise(o.pd, FETCH, flags, plain->lkey, buf, PAGE), ENOENT);
		CHECK_EQ(advise(o.pd, FETCH, flags, mw->rkey, buf, PAGE), EINVAL);
		CHECK_EQ(advise(o.pd, FETCH, flags, list->lkey, buf, PAGE), EINVAL);
		CHECK_EQ(advise(other, FETCH, flags, fixed->lkey, buf, PAGE), EPERM);
		CHECK_EQ(advise(o.pd, FETCH_WRITE, flags, fixed->lkey, buf, PAGE), EPERM);
	}
	CHECK_EQ(advise(o.pd, FETCH, 2, fixed->lkey, buf, PAGE), EINVAL);
	CHECK_EQ(advise(o.pd, FETCH_NO_FAULT + 1, 0, fixed->lkey, buf, PAGE), EOPNOTSUPP);
	/* Each of several pieces must be checked. */
	two[0] = (struct ibv_sge){(uintptr_t)buf, PAGE, fixed->lkey};
	two[1] = (struct ibv_sge){(uintptr_t)buf, PAGE, plain->lkey};
	CHECK_EQ(ibv_advise_mr(o.pd, FETCH, 0, two, 2), ENOENT);
	CHECK_EQ(ibv_dereg_mr(fixed), 0);
	CHECK_EQ(ibv_dereg_mr(plain), 0);
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
	CHECK_EQ(mlx5dv_destroy_mkey(list), 0);
	CHECK_EQ(ibv_dealloc_pd(other), 0);
	close_it(&o);
}

/* ---- in a sandbox that forbids the needed system calls */

static void
forbid(unsigned int call)
{
	struct sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					     offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	const struct sock_fprog prog = {sizeof(code) / sizeof(code[0]), code};

	CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog), 0);
}

/* In the sandbox, existing keys must allow no access, and new keys cannot be created. */
static void
in_sandbox(unsigned int call)
{
	struct ibv_device_attr_ex attr;
	struct pair p;
	struct ibv_mr *mr;

	pair_init(&p, NULL);
	mr = ibv_reg_mr(p.pd, p.client.buf, PAGE, PAIR_ALL | ON_DEMAND);
	CHECK(mr != NULL);
	forbid(call);
	/* Device threads were started outside the sandbox, so they can still access the memory. */
	CHECK_EQ(write_from(&p, mr, p.client.buf) != IBV_WC_SUCCESS, pair_is_pumped());
	CHECK_EQ(ibv_query_device_ex(p.ctx, NULL, &attr), 0);
	CHECK_EQ(attr.odp_caps.general_caps, 0);
	CHECK_EQ(attr.odp_caps.per_transport_caps.rc_odp_caps, 0);
	CHECK_EQ(attr.xrc_odp_caps, 0);
	CHECK_EQ(dc_odp_caps(p.ctx), 0);
	CHECK(ibv_reg_mr(p.pd, p.client.buf, PAGE, ON_DEMAND) == NULL && errno == EOPNOTSUPP);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	pair_fini(&p);
}

static void
case_sandbox(void)
{
	static const unsigned int calls[] = {__NR_process_vm_readv, __NR_process_vm_writev};

#ifdef __SANITIZE_THREAD__
	/* TSan's runtime starts no threads in the child of a program that has threads. */
	if (!pair_is_pumped())
		return;
#endif
	for (int i = 0; i < 2; i++) {
		int status;
		pid_t child = fork();

		CHECK(child >= 0);
		if (child == 0) {
			in_sandbox(calls[i]);
			_exit(0);
		}
		CHECK(waitpid(child, &status, 0) == child);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
}

int
main(int argc, char **argv)
{
	static const struct check_case cases[] = {
		{"each transport reports its features on demand", case_capabilities},
		{"memory on demand need not exist to be registered", case_registering},
		{"a region is changed to one on demand, and back", case_registering_again},
		{"advice brings pages into memory", case_advice},
		{"advice on memory that is missing fails for callers that wait",
			case_advice_on_memory},
		{"advice on a key that is not on demand is refused", case_advice_on_keys},
		{"in a sandbox the adapter does not offer memory on demand", case_sandbox},
	};

	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
