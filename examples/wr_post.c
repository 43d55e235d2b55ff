/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A program posts to its own verbs objects by lib/hwq. The functions hwq_wr_*() are inline; apart
 * from that, they are like those of ibv_wr_post(3).
 *
 *     ibv_open_device, ibv_alloc_pd, ibv_reg_mr, ibv_create_cq, ibv_create_qp, ibv_modify_qp
 *     hwq_obj_cq, hwq_obj_qp, hwq_obj_qp_sync       hwq has the data path from here on
 *         hwq_wr_start, builders and setters, hwq_wr_complete       one doorbell for all
 *         hwq_wr_poll                                               wr_ids of good completions
 *     hwq_obj_qp_release, hwq_obj_cq_release, ibv_destroy_qp, ...
 *
 * The queue pair is connected to itself: four RDMA writes copy a page in four pieces.
 *
 * usage: wr_post
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <infiniband/verbs.h>

#include <hwq_obj.h>
#include <hwq_wr.h>

#define PAGE_LEN 4096
#define N_PIECES 4
#define LEN      (PAGE_LEN / N_PIECES)
#define PORT     1

static uint8_t memory[2][PAGE_LEN] __attribute__((aligned(PAGE_LEN)));

struct objects {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *ibcq;
	struct ibv_qp *ibqp;
	struct hwq_cq *cq;
	struct hwq_qp *qp;
};

/** Reports which call failed. @return 1, for main(). */
static int
failed(const char *call, int error)
{
	fprintf(stderr, "wr_post: %s failed: %s\n", call, strerror(error));
	return 1;
}

/**
 * Opens the first device, and makes a queue pair with memory. @return 0, or 1 with the error
 * printed.
 */
static int
objects_create(struct objects *o)
{
	struct ibv_qp_init_attr attr = {
		.cap = {.max_send_wr = 64, .max_send_sge = 1},
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_device **list = ibv_get_device_list(NULL);

	if (list != NULL && list[0] != NULL)
		o->ctx = ibv_open_device(list[0]);
	if (list != NULL)
		ibv_free_device_list(list);
	if (o->ctx == NULL)
		return failed("ibv_open_device", ENODEV);
	o->pd = ibv_alloc_pd(o->ctx);
	if (o->pd == NULL)
		return failed("ibv_alloc_pd", errno);
	o->mr = ibv_reg_mr(o->pd, memory, sizeof(memory),
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (o->mr == NULL)
		return failed("ibv_reg_mr", errno);
	/*
	 * One entry for each WQEBB of the send ring, because a flush after an error makes a CQE for
	 * every WQE.
	 */
	o->ibcq = ibv_create_cq(o->ctx, 256, NULL, NULL, 0);
	if (o->ibcq == NULL)
		return failed("ibv_create_cq", errno);
	attr.send_cq = attr.recv_cq = o->ibcq;
	o->ibqp = ibv_create_qp(o->pd, &attr);
	return o->ibqp == NULL ? failed("ibv_create_qp", errno) : 0;
}

/** Connects the queue pair to itself. @return 0, or an errno. */
static int
connect_to_itself(struct objects *o)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
		.port_num = PORT,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
	union ibv_gid gid;
	struct ibv_port_attr port;
	int ret;

	ret = ibv_modify_qp(o->ibqp, &attr,
		IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	if (ret == 0)
		ret = ibv_query_gid(o->ctx, PORT, 0, &gid) != 0 ||
				      ibv_query_port(o->ctx, PORT, &port) != 0
			      ? errno
			      : 0;
	if (ret != 0)
		return ret;
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = o->ibqp->qp_num,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = {.port_num = PORT,
			.dlid = port.lid,
			.is_global = 1,
			.grh = {.dgid = gid, .hop_limit = 1}},
	};
	ret = ibv_modify_qp(o->ibqp, &attr,
		IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	if (ret != 0)
		return ret;
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 1,
	};
	return ibv_modify_qp(o->ibqp, &attr,
		IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

/** Lets hwq take over the objects, which are new. @return 0, or a negative errno. */
static int
take_over(struct objects *o)
{
	struct hwq_obj_qp obj = {.qp = o->ibqp, .max_sge = 1};
	int ret = hwq_obj_cq(o->ibcq, &o->cq);

	if (ret != 0)
		return ret;
	obj.send_cq = obj.recv_cq = o->cq;
	ret = hwq_obj_qp(&obj, &o->qp);
	if (ret != 0)
		return ret;
	/* Before this call, hwq does not know the state that ibv_modify_qp(3) has set. */
	ret = hwq_obj_qp_sync(o->qp);
	return ret == IBV_QPS_RTS ? 0 : ret < 0 ? ret : -EINVAL;
}

/**
 * Posts the pieces in one batch. Only the last piece is signalled. @return 0, or a negative errno:
 * then nothing is posted.
 */
static int
post(struct objects *o)
{
	struct hwq_wr wr;
	unsigned int i;

	hwq_wr_start(&wr, &o->qp->sq);
	for (i = 0; i < N_PIECES; i++) {
		wr.wr_id = i;
		wr.wr_flags = i == N_PIECES - 1 ? HWQ_WQE_SIGNALED : 0;
		hwq_wr_rdma_write(&wr, o->mr->rkey, (uintptr_t)memory[1] + i * LEN);
		hwq_wr_set_sge(&wr, o->mr->lkey, (uintptr_t)memory[0] + i * LEN, LEN);
	}
	return hwq_wr_complete(&wr);
}

static int
copy_page(struct objects *o)
{
	struct hwq_cqe cqe;
	uint64_t wr_id;
	int ret;

	memset(memory[0], 0x5a, PAGE_LEN);
	ret = post(o);
	if (ret != 0)
		return failed("hwq_wr_complete", -ret);
	while (hwq_wr_poll(&o->qp->sq, &wr_id, 1) == 0)
		/*
		 * hwq_wr_poll() returned 0. So the next CQE is of a failed WQE, or a good CQE has
		 * just come.
		 */
		if (hwq_cq_peek(o->cq, &cqe) && cqe.syndrome != HWQ_SYNDROME_NONE) {
			fprintf(stderr, "wr_post: request %" PRIu64 " failed, syndrome 0x%02x\n",
				hwq_sq_wr_id(&o->qp->sq, cqe.wqe_counter), cqe.syndrome);
			return 1;
		}
	if (wr_id != N_PIECES - 1 || memcmp(memory[0], memory[1], PAGE_LEN) != 0) {
		fprintf(stderr, "wr_post: the destination differs from the source\n");
		return 1;
	}
	printf("wr_post: %d writes by one doorbell, %d bytes verified\n", N_PIECES, PAGE_LEN);
	return 0;
}

/** Destroys the objects that exist. */
static void
objects_destroy(struct objects *o)
{
	if (o->qp != NULL)
		hwq_obj_qp_release(o->qp);
	if (o->ibqp != NULL)
		ibv_destroy_qp(o->ibqp);
	if (o->cq != NULL)
		hwq_obj_cq_release(o->cq);
	if (o->ibcq != NULL)
		ibv_destroy_cq(o->ibcq);
	if (o->mr != NULL)
		ibv_dereg_mr(o->mr);
	if (o->pd != NULL)
		ibv_dealloc_pd(o->pd);
	if (o->ctx != NULL)
		ibv_close_device(o->ctx);
}

int
main(void)
{
	struct objects o = {0};
	int ret = objects_create(&o);

	if (ret == 0 && (ret = connect_to_itself(&o)) != 0)
		ret = failed("ibv_modify_qp", ret);
	else if (ret == 0 && (ret = take_over(&o)) != 0)
		ret = failed("taking the objects over", -ret);
	if (ret == 0)
		ret = copy_page(&o);
	objects_destroy(&o);
	return ret;
}
