/* SPDX-License-Identifier: BSD-3-Clause */
/* Assumptions about vendor syndromes that are in no report about a real adapter. */
#include "probe_work.h"

#define OPCODE_UNKNOWN 0x3f
#define WQE_LEN        64

static void
saw_vendor(struct probe_answer *a, const struct ibv_wc *wc, enum ibv_wc_status status,
	unsigned int vendor)
{
	probe_saw(a, wc->status == status && wc->vendor_err == vendor, "0x%02x, %s", wc->vendor_err,
		ibv_wc_status_str(wc->status));
}

/*
 * The client sends PROBE_LEN bytes to a receive of `room` bytes. Returns the completion of the
 * receive.
 */
static struct ibv_wc
receive(struct pair *p, uint32_t room, enum ibv_wr_opcode opcode)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = {.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;

	pair_init(p, NULL);
	sge = (struct ibv_sge){(uintptr_t)p->client.buf, PROBE_LEN, p->client.mr->lkey};
	wr.invalidate_rkey = p->server.mr->rkey;
	pair_post_recv(&p->server, 0, 0, room);
	pair_publish(&p->client);
	CHECK_EQ(ibv_post_send(p->client.qp, &wr, &bad), 0);
	return pair_wait(&p->server);
}

static void
short_receive(struct probe_answer *a)
{
	struct pair p;
	struct ibv_wc wc = receive(&p, PROBE_LEN / 2, IBV_WR_SEND);

	saw_vendor(a, &wc, IBV_WC_LOC_LEN_ERR, 0x2c);
}

static void
invalidate(struct probe_answer *a)
{
	struct pair p;
	struct ibv_wc wc = receive(&p, PROBE_LEN, IBV_WR_SEND_WITH_INV);

	saw_vendor(a, &wc, IBV_WC_REM_INV_REQ_ERR, 0xcb);
}

static void
opcode(struct probe_answer *a)
{
	uint8_t wqe[WQE_LEN] __attribute__((aligned(WQE_LEN))) = {0};
	struct mlx5_wqe_ctrl_seg *ctrl = (void *)wqe;
	struct ibv_wc wc;
	struct pair p;

	pair_init(&p, &(struct pair_opts){.keys = true});
	/* Only the opcode: libmlx5 adds the WQE index. */
	ctrl->opmod_idx_opcode = htobe32(OPCODE_UNKNOWN);
	ctrl->qpn_ds = htobe32(p.client.qp->qp_num << 8 | 1);
	ctrl->fm_ce_se = MLX5_WQE_CTRL_CQ_UPDATE;
	pair_publish(&p.client);
	ibv_wr_start(p.client.qpx);
	p.client.qpx->wr_flags = IBV_SEND_SIGNALED;
	mlx5dv_wr_raw_wqe(p.client.dvx, wqe);
	CHECK_EQ(ibv_wr_complete(p.client.qpx), 0);
	wc = pair_wait(&p.client);
	saw_vendor(a, &wc, IBV_WC_LOC_QP_OP_ERR, 0x71);
}

const struct probe probe_vendors[] = {
	{"vendor-short-receive", "A receive that is too short has the vendor syndrome 0x2c.",
		"Vendor syndromes are for people who read logs; a program must judge by the status.",
		short_receive},
	{"vendor-invalidate",
		"The receive of a refused SEND with invalidate has the vendor syndrome 0xcb.",
		"Vendor syndromes are for people who read logs; a program must judge by the status.",
		invalidate},
	{"vendor-opcode",
		"A WQE whose opcode the device does not know fails with the vendor syndrome 0x71.",
		"Vendor syndromes are for people who read logs; a program must judge by the status.",
		opcode},
	{"vendor-others",
		"The vendor syndromes 0x69, 0x34, 0x55, 0x35, 0x59, 0x5a, 0x57 and 0x37 are those "
		"of libdpcp's list.",
		"Vendor syndromes are for people who read logs; a program must judge by the status.",
		NULL,
		"errors with these syndromes need messages of more than 1 GiB, or work requests "
		"that libmlx5 does not post."},
	{NULL},
};
