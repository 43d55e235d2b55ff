/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Control calls that fail on demand, seen through stock libibverbs and libmlx5. Each call fails
 * once with the errno that the fault gives, and then succeeds. Faults are armed by calls and by the
 * control file.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "raw_ioctl.h"
#include "softhca_faults.h"

/* The objects that the calls use. Each function that creates an object stores it here. */
static struct {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_mw *mw;
	struct ibv_dm *dm;
	struct ibv_mr *dm_mr;
	struct ibv_xrcd *xrcd;
	struct ibv_ah *ah;
	struct ibv_wq *wq;
	struct ibv_rwq_ind_table *table;
	struct mlx5dv_mkey *mkey;
	struct mlx5dv_devx_umem *umem;
	struct mlx5dv_devx_uar *uar;
	struct mlx5dv_devx_obj *obj;
	uint8_t mem[4096] __attribute__((aligned(4096)));
} t;

/* Returns 0, or the errno of a call that returned NULL. */
static int
made(const void *obj)
{
	return obj != NULL ? 0 : errno;
}

static int
create_cq(void)
{
	t.cq = ibv_create_cq(t.ctx, 4, NULL, NULL, 0);
	return made(t.cq);
}

static int
resize_cq(void)
{
	return ibv_resize_cq(t.cq, 16);
}

static int
modify_cq(void)
{
	return ibv_modify_cq(t.cq, &(struct ibv_modify_cq_attr){.attr_mask = IBV_CQ_ATTR_MODERATE,
					   .moderate = {2, 5}});
}

static int
destroy_cq(void)
{
	return ibv_destroy_cq(t.cq);
}

static int
create_srq(void)
{
	t.srq = ibv_create_srq(t.pd, &(struct ibv_srq_init_attr){.attr = {8, 1, 0}});
	return made(t.srq);
}

static int
modify_srq(void)
{
	return ibv_modify_srq(t.srq, &(struct ibv_srq_attr){.srq_limit = 0}, IBV_SRQ_LIMIT);
}

static int
query_srq(void)
{
	struct ibv_srq_attr attr;

	return ibv_query_srq(t.srq, &attr);
}

static int
destroy_srq(void)
{
	return ibv_destroy_srq(t.srq);
}

static int
alloc_mw(void)
{
	t.mw = ibv_alloc_mw(t.pd, IBV_MW_TYPE_1);
	return made(t.mw);
}

static int
dealloc_mw(void)
{
	return ibv_dealloc_mw(t.mw);
}

static int
alloc_dm(void)
{
	t.dm = ibv_alloc_dm(t.ctx, &(struct ibv_alloc_dm_attr){.length = 4096});
	return made(t.dm);
}

static int
reg_dm_mr(void)
{
	t.dm_mr =
		ibv_reg_dm_mr(t.pd, t.dm, 0, 4096, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE);
	return made(t.dm_mr);
}

static int
dereg_mr(void)
{
	return ibv_dereg_mr(t.dm_mr);
}

static int
free_dm(void)
{
	return ibv_free_dm(t.dm);
}

static int
open_xrcd(void)
{
	t.xrcd = ibv_open_xrcd(t.ctx,
		&(struct ibv_xrcd_init_attr){.comp_mask = IBV_XRCD_INIT_ATTR_FD |
							  IBV_XRCD_INIT_ATTR_OFLAGS,
			.fd = -1,
			.oflags = O_CREAT});
	return made(t.xrcd);
}

static int
close_xrcd(void)
{
	return ibv_close_xrcd(t.xrcd);
}

static int
create_ah(void)
{
	struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1, .grh = {.hop_limit = 1}};

	CHECK_EQ(ibv_query_gid(t.ctx, 1, 1, &attr.grh.dgid), 0);
	attr.grh.sgid_index = 1;
	t.ah = ibv_create_ah(t.pd, &attr);
	return made(t.ah);
}

static int
destroy_ah(void)
{
	return ibv_destroy_ah(t.ah);
}

static int
create_wq(void)
{
	t.wq = ibv_create_wq(t.ctx, &(struct ibv_wq_init_attr){.wq_type = IBV_WQT_RQ,
					    .max_wr = 4,
					    .max_sge = 1,
					    .pd = t.pd,
					    .cq = t.cq});
	return made(t.wq);
}

static int
modify_wq(void)
{
	return ibv_modify_wq(t.wq,
		&(struct ibv_wq_attr){.attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY});
}

static int
destroy_wq(void)
{
	return ibv_destroy_wq(t.wq);
}

static int
create_table(void)
{
	t.table = ibv_create_rwq_ind_table(t.ctx,
		&(struct ibv_rwq_ind_table_init_attr){.ind_tbl = &t.wq});
	return made(t.table);
}

static int
destroy_table(void)
{
	return ibv_destroy_rwq_ind_table(t.table);
}

static int
query_device(void)
{
	struct ibv_device_attr_ex attr;

	return ibv_query_device_ex(t.ctx, NULL, &attr);
}

static int
create_comp_channel(void)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(t.ctx);
	int rc = made(channel);

	if (channel != NULL)
		CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	return rc;
}

/* ---- mlx5's own calls */

/* An indirect key with a signature has two PSVs. */
static int
create_mkey(void)
{
	t.mkey = mlx5dv_create_mkey(&(struct mlx5dv_mkey_init_attr){.pd = t.pd,
		.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT |
				MLX5DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE,
		.max_entries = 4});
	return made(t.mkey);
}

static int
destroy_mkey(void)
{
	return mlx5dv_destroy_mkey(t.mkey);
}

static int
reg_umem(void)
{
	t.umem = mlx5dv_devx_umem_reg(t.ctx, t.mem, sizeof(t.mem), IBV_ACCESS_LOCAL_WRITE);
	return made(t.umem);
}

static int
dereg_umem(void)
{
	return mlx5dv_devx_umem_dereg(t.umem) == 0 ? 0 : errno;
}

static int
alloc_uar(void)
{
	t.uar = mlx5dv_devx_alloc_uar(t.ctx,
		/* a page of type BF, because libmlx5 keeps pages of type NC */
		MLX5DV_UAR_ALLOC_TYPE_BF);
	return made(t.uar);
}

/* Sends CREATE_CQ, whose fields are set at the bit offsets of the programming manual. */
static int
devx_create_cq(void)
{
	uint8_t in[272] = {0x04}, out[16] = {0};
	uint32_t umem = htobe32(t.umem->umem_id), page = htobe32(t.uar->page_id), eqn;

	CHECK_EQ(mlx5dv_devx_query_eqn(t.ctx, 0, &eqn), 0);
	in[16] = 0x02; /* the doorbell record is in user memory */
	memcpy(in + 20, &umem, 4);
	memcpy(in + 28, &page, 4);
	in[28] = 4; /* log2 of the number of CQEs */
	in[39] = (uint8_t)eqn;
	in[78] = 0x08; /* offset of the doorbell record: 2048 */
	memcpy(in + 88, &umem, 4);
	in[92] = 0x80;
	t.obj = mlx5dv_devx_obj_create(t.ctx, in, sizeof(in), out, sizeof(out));
	return made(t.obj);
}

static int
devx_destroy(void)
{
	return mlx5dv_devx_obj_destroy(t.obj) == 0 ? 0 : errno;
}

static int
query_hca_cap(void)
{
	uint8_t in[16] = {0x01}, out[16 + 4096];

	return mlx5dv_devx_general_cmd(t.ctx, in, sizeof(in), out, sizeof(out)) == 0 ? 0 : errno;
}

/*
 * In this order, the objects that a call names exist when the call is made. Calls that destroy
 * objects come last.
 */
static const struct {
	const char *line;
	int error;
	int (*call)(void);
} rows[] = {
	{"refuse call=query_device errno=5", EIO, query_device},
	{"refuse call=create_comp_channel errno=24", EMFILE, create_comp_channel},
	{"refuse call=create_cq errno=12", ENOMEM, create_cq},
	{"refuse call=resize_cq errno=28", ENOSPC, resize_cq},
	{"refuse call=modify_cq errno=5", EIO, modify_cq},
	{"refuse call=create_wq errno=28", ENOSPC, create_wq},
	{"refuse call=modify_wq errno=22", EINVAL, modify_wq},
	{"refuse call=create_rwq_ind_table errno=12", ENOMEM, create_table},
	{"refuse call=destroy_rwq_ind_table errno=16", EBUSY, destroy_table},
	{"refuse call=destroy_wq errno=16", EBUSY, destroy_wq},
	{"refuse call=create_srq errno=12", ENOMEM, create_srq},
	{"refuse call=modify_srq errno=22", EINVAL, modify_srq},
	{"refuse call=query_srq errno=5", EIO, query_srq},
	{"refuse call=destroy_srq errno=16", EBUSY, destroy_srq},
	{"refuse call=alloc_mw errno=12", ENOMEM, alloc_mw},
	{"refuse call=dealloc_mw errno=16", EBUSY, dealloc_mw},
	{"refuse call=alloc_dm errno=28", ENOSPC, alloc_dm},
	{"refuse call=reg_dm_mr errno=12", ENOMEM, reg_dm_mr},
	{"refuse call=dereg_mr errno=16", EBUSY, dereg_mr},
	{"refuse call=free_dm errno=16", EBUSY, free_dm},
	{"refuse call=open_xrcd errno=12", ENOMEM, open_xrcd},
	{"refuse call=close_xrcd errno=16", EBUSY, close_xrcd},
	{"refuse call=create_ah errno=110", ETIMEDOUT, create_ah},
	{"refuse call=destroy_ah errno=16", EBUSY, destroy_ah},
	{"refuse call=destroy_cq errno=16", EBUSY, destroy_cq},
	{"refuse call=devx errno=5", EIO, query_hca_cap},
	{"refuse call=devx opcode=0x100 errno=121", EREMOTEIO, query_hca_cap},
	{"refuse call=reg_umem errno=14", EFAULT, reg_umem},
	{"refuse call=alloc_uar errno=28", ENOSPC, alloc_uar},
	{"refuse call=devx_create opcode=0x400 errno=121", EREMOTEIO, devx_create_cq},
	{"refuse call=devx_destroy errno=16", EBUSY, devx_destroy},
	{"refuse call=devx_create_cq errno=12", ENOMEM, devx_create_cq},
	{"refuse call=devx_destroy errno=5", EIO, devx_destroy},
	{"refuse call=dereg_umem errno=16", EBUSY, dereg_umem},
	{"refuse call=create_mkey errno=28", ENOSPC, create_mkey},
	{"refuse call=devx_destroy errno=16", EBUSY, destroy_mkey},
};

static void
begin(void)
{
	t.ctx = pair_open(0);
	t.pd = ibv_alloc_pd(t.ctx);
	CHECK(t.pd != NULL);
}

/* config/tsan.supp has the name of this function. */
static void
free_uar(struct mlx5dv_devx_uar *uar)
{
	mlx5dv_devx_free_uar(uar);
}

static void
end(void)
{
	CHECK_EQ(softhca_faults_left(), 0);
	free_uar(t.uar);
	CHECK_EQ(ibv_dealloc_pd(t.pd), 0);
	CHECK_EQ(ibv_close_device(t.ctx), 0);
}

static void
refuse_each(bool by_file)
{
	begin();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int rc;

		if (by_file)
			faults_write(rows[i].line);
		else
			fault(rows[i].line);
		errno = 0;
		rc = rows[i].call();
		if (rc != rows[i].error)
			fprintf(stderr, "%s: %d\n", rows[i].line, rc);
		CHECK_EQ(rc, rows[i].error);
		CHECK_EQ(softhca_faults_left(), 0);
		errno = 0;
		rc = rows[i].call();
		if (rc != 0)
			fprintf(stderr, "after %s: %d\n", rows[i].line, rc);
		CHECK_EQ(rc, 0);
	}
	faults_write("");
	end();
}

static void
case_from_code(void)
{
	refuse_each(false);
}

static void
case_from_file(void)
{
	refuse_each(true);
}

/*
 * The fault must refuse the third PSV, and must not count other objects. A key has two PSVs, and
 * another command creates the key itself. So the first PSV of the second key is the third PSV.
 */
static void
case_psv(void)
{
	begin();
	CHECK_EQ(alloc_uar(), 0);
	fault("refuse call=create_psv errno=12 op=3");
	CHECK_EQ(create_mkey(), 0);
	CHECK_EQ(softhca_faults_left(), 1);
	CHECK_EQ(destroy_mkey(), 0);
	CHECK_EQ(create_mkey(), ENOMEM);
	CHECK_EQ(create_mkey(), 0);
	CHECK_EQ(destroy_mkey(), 0);
	end();
}

static void
case_other_opcode(void)
{
	begin();
	CHECK_EQ(alloc_uar(), 0);
	CHECK_EQ(reg_umem(), 0);
	fault("refuse call=devx_create opcode=0x500 errno=12");
	CHECK_EQ(devx_create_cq(), 0);
	CHECK_EQ(softhca_faults_left(), 1);
	softhca_faults_clear();
	CHECK_EQ(devx_destroy(), 0);
	CHECK_EQ(dereg_umem(), 0);
	CHECK_EQ(softhca_fault("refuse call=alloc_pd opcode=0x200 errno=12"), -EINVAL);
	CHECK_EQ(softhca_fault("refuse call=create_mkey opcode=0x600 errno=12"), -EINVAL);
	end();
}

/* With a failed adapter, it must be possible to destroy objects, and creating objects must fail. */
static void
case_dead(void)
{
	begin();
	CHECK_EQ(alloc_uar(), 0);
	CHECK_EQ(create_srq(), 0);
	CHECK_EQ(alloc_mw(), 0);
	CHECK_EQ(reg_umem(), 0);
	fault("device_fatal");
	CHECK_EQ(create_mkey(), EIO);
	CHECK_EQ(open_xrcd(), EIO);
	CHECK_EQ(destroy_srq(), 0);
	CHECK_EQ(dealloc_mw(), 0);
	CHECK_EQ(dereg_umem(), 0);
	end();
	softhca_faults_clear();
}

/*
 * ---- all other calls that a fault can refuse. Without the fault they may succeed or fail, but not
 * with EXDEV, the errno of the fault.
 */

static struct ibv_mr *mr;
static struct ibv_qp *qp;
static struct mlx5dv_devx_obj *counters;

static int
alloc_pd(void)
{
	struct ibv_pd *pd = ibv_alloc_pd(t.ctx);
	int rc = made(pd);

	if (pd != NULL)
		rc = ibv_dealloc_pd(pd);
	if (pd != NULL && rc != 0)
		CHECK_EQ(ibv_dealloc_pd(pd), 0);
	return rc;
}

static int
reg_mr(void)
{
	struct ibv_mr *made_mr = ibv_reg_mr(t.pd, t.mem, sizeof(t.mem), 0);

	return made_mr != NULL ? ibv_dereg_mr(made_mr) : errno;
}

static int
rereg_mr(void)
{
	return ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0) == 0 ? 0 : errno;
}

static int
advise_mr(void)
{
	struct ibv_sge sge = {(uintptr_t)t.mem, 64, mr->lkey};

	return ibv_advise_mr(t.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1);
}

static int
create_qp(void)
{
	struct ibv_qp_init_attr init = {.send_cq = t.cq,
		.recv_cq = t.cq,
		.qp_type = IBV_QPT_RC,
		.cap = {1, 1, 1, 1, 0}};
	struct ibv_qp *made_qp = ibv_create_qp(t.pd, &init);
	int rc = made(made_qp);

	if (made_qp != NULL)
		rc = ibv_destroy_qp(made_qp);
	if (made_qp != NULL && rc != 0)
		CHECK_EQ(ibv_destroy_qp(made_qp), 0);
	return rc;
}

static int
modify_qp(void)
{
	return ibv_modify_qp(qp, &(struct ibv_qp_attr){.qp_state = IBV_QPS_RESET}, IBV_QP_STATE);
}

static int
query_qp(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return ibv_query_qp(qp, &attr, IBV_QP_STATE, &init);
}

static int
query_eqn(void)
{
	uint32_t eqn;

	return mlx5dv_devx_query_eqn(t.ctx, 0, &eqn) == 0 ? 0 : errno;
}

/*
 * Frees a page by a raw call: libmlx5 keeps pages for reuse, and hides the result of freeing a
 * page.
 */
static int
free_uar_by_hand(void)
{
	static uint32_t handle;
	static bool is_there;
	struct raw_ioctl c = raw_start(MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC);
	struct raw_ioctl end = raw_start(MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_DESTROY);
	uint64_t offset;
	uint32_t len, id;
	int rc;

	if (!is_there) {
		raw_handle(&c, MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE, 0);
		raw_u64(&c, MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC);
		raw_out(&c, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, &offset, sizeof(offset));
		raw_out(&c, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, &len, sizeof(len));
		raw_out(&c, MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, &id, sizeof(id));
		CHECK_EQ(raw_run(t.ctx->cmd_fd, &c), 0);
		handle = (uint32_t)c.attrs[0].data;
	}
	raw_handle(&end, MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE, handle);
	rc = raw_run(t.ctx->cmd_fd, &end);
	is_there = rc != 0;
	return rc;
}

/*
 * A set of queue counters: ALLOC_Q_COUNTER, QUERY_Q_COUNTER; and MODIFY_TIS, which is not a command
 * for such an object.
 */
static int
devx_query(void)
{
	uint8_t in[32] = {0x07, 0x73}, out[256] = {0};

	return mlx5dv_devx_obj_query(counters, in, sizeof(in), out, sizeof(out)) == 0 ? 0 : errno;
}

static int
devx_modify(void)
{
	uint8_t in[192] = {0x09, 0x13}, out[16] = {0};

	return mlx5dv_devx_obj_modify(counters, in, sizeof(in), out, sizeof(out)) == 0 ? 0 : errno;
}

static int
devx_create_qp(void)
{
	uint8_t in[272] = {0x05}, out[16] = {0};

	return made(mlx5dv_devx_obj_create(t.ctx, in, sizeof(in), out, sizeof(out)));
}

static void
case_other_names(void)
{
	static const struct {
		const char *name;
		int (*call)(void);
	} named[] = {
		{"alloc_pd", alloc_pd},
		{"dealloc_pd", alloc_pd},
		{"reg_mr", reg_mr},
		{"rereg_mr", rereg_mr},
		{"advise_mr", advise_mr},
		{"create_qp", create_qp},
		{"modify_qp", modify_qp},
		{"query_qp", query_qp},
		{"destroy_qp", create_qp},
		{"query_eqn", query_eqn},
		{"free_uar", free_uar_by_hand},
		{"devx_query", devx_query},
		{"devx_query opcode=0x773", devx_query},
		{"devx_modify", devx_modify},
		{"devx_modify opcode=0x913", devx_modify},
		{"devx_create_qp", devx_create_qp},
	};
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC, .cap = {1, 1, 1, 1, 0}};
	uint8_t in[16] = {0x07, 0x71}, out[16] = {0};
	char line[80];

	begin();
	CHECK_EQ(alloc_uar(), 0);
	CHECK_EQ(create_cq(), 0);
	init.send_cq = init.recv_cq = t.cq;
	qp = ibv_create_qp(t.pd, &init);
	mr = ibv_reg_mr(t.pd, t.mem, sizeof(t.mem), 0);
	counters = mlx5dv_devx_obj_create(t.ctx, in, sizeof(in), out, sizeof(out));
	CHECK(qp != NULL && mr != NULL && counters != NULL);
	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
		snprintf(line, sizeof(line), "refuse call=%s errno=%d", named[i].name, EXDEV);
		fault(line);
		CHECK_EQ(named[i].call(), EXDEV, named[i].name);
		CHECK_EQ(softhca_faults_left(), 0);
		CHECK(named[i].call() != EXDEV, "%s", named[i].name);
	}
	CHECK_EQ(mlx5dv_devx_obj_destroy(counters), 0);
	CHECK_EQ(ibv_dereg_mr(mr) | ibv_destroy_qp(qp) | destroy_cq(), 0);
	end();
}

static atomic_bool asking;

static void *
ask(void *arg)
{
	while (atomic_load(&asking))
		softhca_faults_left();
	return NULL;
}

/*
 * A control call must read the control file, although the other thread holds the lock of the list
 * of faults nearly all the time.
 */
static void
case_contended(void)
{
	pthread_t other;

	atomic_store(&asking, true);
	CHECK_EQ(pthread_create(&other, NULL, ask, NULL), 0);
	begin();
	CHECK_EQ(alloc_uar(), 0);
	for (int i = 0; i < 200; i++) {
		faults_write("refuse call=alloc_pd errno=12\n");
		errno = 0;
		CHECK(ibv_alloc_pd(t.ctx) == NULL);
		CHECK_EQ(errno, ENOMEM);
		faults_write("");
		CHECK_EQ(ibv_dealloc_pd(ibv_alloc_pd(t.ctx)), 0);
	}
	end();
	atomic_store(&asking, false);
	CHECK_EQ(pthread_join(other, NULL), 0);
}

/*
 * A child of fork() must be able to use the faults. If the child waits for a lock that nobody will
 * release, its alarm kills it.
 */
static void
case_forked(void)
{
	pthread_t other;

	atomic_store(&asking, true);
	CHECK_EQ(pthread_create(&other, NULL, ask, NULL), 0);
	for (int i = 0; i < 100; i++) {
		pid_t child = fork();
		int status = -1;

		if (child == 0) {
			alarm(CHECK_PATIENCE_MS / 1000);
			softhca_faults_left();
			_exit(0);
		}
		CHECK(child > 0);
		CHECK_EQ(waitpid(child, &status, 0), child);
		CHECK_EQ(status, 0);
	}
	atomic_store(&asking, false);
	CHECK_EQ(pthread_join(other, NULL), 0);
}

static const struct check_case cases[] = {
	{"calls are refused from code", case_from_code},
	{"calls are refused by the control file", case_from_file},
	{"the third PSV is refused, whatever is created in between", case_psv},
	{"a firmware command of another opcode is not refused", case_other_opcode},
	{"each other name means its call", case_other_names},
	{"a dead adapter's objects can be destroyed", case_dead},
	{"a call reads the control file while another thread uses the faults", case_contended},
	{"a child of fork() can use the faults, whoever used them in its parent", case_forked},
};

int
main(int argc, char **argv)
{
	return faults_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
