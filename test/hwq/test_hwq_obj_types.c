/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A caller's own QPs that hwq uses, of types that need another receiver: messages of XRC_SEND and
 * DCI arrive at an SRQ of stock verbs, and frames of RAW_PACKET are in the capture file. Also
 * tested: memcpy.
 */
#include <fcntl.h>

#include "hwq_ah.h"
#include "hwq_own.h"
#include "hwq_wr.h"

#define HALF       16384u
#define N_MESSAGES 200u /* several laps of the ring */
#define MAX_LEN    400u
#define MAX_INLINE 64u
#define DC_KEY     0x1122334455667788ull

static struct hwq_dev *dev;
static uint8_t mem[2 * HALF] __attribute__((aligned(4096)));
static struct ibv_mr *mr;
static uint64_t rnd = 5;

/* ------------------------------------------------------------------ a QP of the caller's */

static struct ibv_qp *
send_only_qp(enum how how, enum ibv_qp_type type, bool may_memcpy, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr_ex attr = {.qp_type = type,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {.max_send_wr = 16, .max_send_sge = 2, .max_inline_data = MAX_INLINE},
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = dev->pd,
		.send_ops_flags = IBV_QP_EX_WITH_SEND};
	struct mlx5dv_qp_init_attr dv = {.comp_mask = type == IBV_QPT_DRIVER
							      ? MLX5DV_QP_INIT_ATTR_MASK_DC
							      : 0,
		.dc_init_attr = {.dc_type = MLX5DV_DCTYPE_DCI}};

	if (may_memcpy) {
		dv.comp_mask |= MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS;
		dv.send_ops_flags = MLX5DV_QP_EX_WITH_MEMCPY;
	}
	return own_create_qp(how, dev->ctx, &attr, &dv);
}

static void
make(struct taken *t, enum how how, enum ibv_qp_type type, bool may_memcpy)
{
	memset(t, 0, sizeof(*t));
	t->ibcq = ibv_create_cq(dev->ctx, 255, NULL, NULL, 0);
	if (t->ibcq == NULL)
		EMU_DIE("a CQ");
	t->ibqp = send_only_qp(how, type, may_memcpy, t->ibcq);
	CHECK_EQ(hwq_obj_cq(t->ibcq, &t->cq), 0, "taking a CQ");
}

/* Takes over a QP, and moves it to RTS; a type with a peer is connected to the QP `peer`. */
static void
take(struct taken *t, struct hwq_obj_qp obj, uint32_t peer)
{
	obj.qp = t->ibqp;
	obj.send_cq = t->cq;
	obj.max_sge = 2;
	obj.max_inline = MAX_INLINE;
	CHECK_EQ(hwq_obj_qp(&obj, &t->qp), 0, "taking a QP");
	if (t->qp == NULL)
		EMU_DIE("no QP");
	stock_to_init(dev, t->ibqp);
	stock_connect(dev, t->ibqp, peer);
	CHECK_EQ(hwq_obj_qp_sync(t->qp), IBV_QPS_RTS, "state");
}

static void
one_completion(struct taken *t, uint64_t want)
{
	uint64_t id = 0;

	emu_pump();
	CHECK_EQ(hwq_wr_poll(&t->qp->sq, &id, 1), 1, "completions");
	CHECK_EQ(id, want, "wr_id");
}

/* Sets the data of a work request, at offset `at` of mem: inline, or in one or two pieces. */
static void
set_data(struct hwq_wr *wr, unsigned int i, uint32_t at, uint32_t len)
{
	const struct hwq_sge sge[2] = {{(uintptr_t)mem + at, len / 3, mr->lkey},
		{(uintptr_t)mem + at + len / 3, len - len / 3, mr->lkey}};

	if (len <= MAX_INLINE && i % 2 == 0)
		hwq_wr_set_inline_data(wr, mem + at, len);
	else if (i % 3 == 0)
		hwq_wr_set_sge_list(wr, 2, sge);
	else
		hwq_wr_set_sge(wr, mr->lkey, (uintptr_t)mem + at, len);
}

static uint32_t
draw_len(void)
{
	uint64_t max = check_random(&rnd) % 2 == 0 ? MAX_INLINE : MAX_LEN;

	return 1 + (uint32_t)(check_random(&rnd) % max);
}

/* ------------------------------------------------------------------ receivers, by stock verbs */

struct receiver {
	struct ibv_xrcd *xrcd;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_qp *qp; /* an XRC_RECV QP or a DCT */
	uint32_t srqn;
};

static void
receiver_open(struct receiver *r, bool xrc)
{
	struct ibv_xrcd_init_attr domain = {.fd = -1,
		.oflags = O_CREAT,
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS};
	struct ibv_srq_init_attr_ex srq = {.attr = {.max_wr = 16, .max_sge = 1},
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_BASIC,
		.pd = dev->pd};

	memset(r, 0, sizeof(*r));
	r->cq = ibv_create_cq(dev->ctx, 64, NULL, NULL, 0);
	if (xrc) {
		r->xrcd = ibv_open_xrcd(dev->ctx, &domain);
		srq.comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
		srq.srq_type = IBV_SRQT_XRC;
		srq.xrcd = r->xrcd;
		srq.cq = r->cq;
	}
	r->srq = ibv_create_srq_ex(dev->ctx, &srq);
	if (r->srq == NULL || (xrc && ibv_get_srq_num(r->srq, &r->srqn) != 0))
		EMU_DIE("an SRQ: %s", strerror(errno));
}

static void
xrc_target(struct receiver *r)
{
	struct ibv_qp_init_attr_ex attr = {.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
		.xrcd = r->xrcd};

	r->qp = ibv_create_qp_ex(dev->ctx, &attr);
	if (r->qp == NULL)
		EMU_DIE("an XRC target: %s", strerror(errno));
	stock_to_init(dev, r->qp);
}

/* A DCT stays in RTR. It gets its number in this state. */
static void
dc_target(struct receiver *r)
{
	struct ibv_qp_init_attr_ex attr = {.qp_type = IBV_QPT_DRIVER,
		.send_cq = r->cq,
		.recv_cq = r->cq,
		.srq = r->srq,
		.pd = dev->pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD};
	struct mlx5dv_qp_init_attr dv = {.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC,
		.dc_init_attr = {.dc_type = MLX5DV_DCTYPE_DCT, .dct_access_key = DC_KEY}};

	r->qp = mlx5dv_create_qp(dev->ctx, &attr, &dv);
	if (r->qp == NULL)
		EMU_DIE("a DCT: %s", strerror(errno));
	stock_take(dev, r->qp, K_DCT, 0, IBV_QPS_INIT, IBV_QPS_RTR);
}

static void
receiver_close(struct receiver *r)
{
	if (ibv_destroy_qp(r->qp) != 0 || ibv_destroy_srq(r->srq) != 0 ||
		ibv_destroy_cq(r->cq) != 0 || (r->xrcd != NULL && ibv_close_xrcd(r->xrcd) != 0))
		EMU_DIE("destroying a receiver");
}

static void
post_receive(struct receiver *r, uint64_t wr_id)
{
	struct ibv_sge sge = {(uintptr_t)mem + HALF, MAX_LEN, mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1}, *bad;

	memset(mem + HALF, 0, MAX_LEN);
	CHECK_EQ(ibv_post_srq_recv(r->srq, &wr, &bad), 0, "posting a receive");
}

static void
arrived(struct receiver *r, uint64_t wr_id, const uint8_t *want, uint32_t len)
{
	struct ibv_wc wc = {0};

	CHECK_EQ(ibv_poll_cq(r->cq, 1, &wc), 1, "receives");
	CHECK(wc.status == IBV_WC_SUCCESS && wc.wr_id == wr_id && wc.byte_len == len,
		"status %d, wr_id %u, %u bytes; sent were %u", wc.status, (unsigned int)wc.wr_id,
		wc.byte_len, len);
	check_bytes(mem + HALF, want, len, "what was received");
}

/* While hwq has the SRQ, its CQ must have reserved room for the SRQ's receives. */
static void
xrc_srq(void)
{
	struct hwq_srq *srq, *second = NULL;
	struct receiver r;
	struct hwq_cq *cq;
	unsigned int i;

	receiver_open(&r, true);
	xrc_target(&r);
	CHECK_EQ(hwq_obj_cq(r.cq, &cq), 0, "CQ");
	/*
	 * The CQ has entries for the receives of only four such SRQs. The loop takes and releases
	 * nine, so it fails if a release leaves entries reserved.
	 */
	for (i = 0; i < 9; i++) {
		CHECK_EQ(hwq_obj_srq(r.srq, cq, &srq), 0, "SRQ");
		CHECK(srq->xrc_cq == cq && srq->srqn == r.srqn, "SRQ 0x%06x", srq->srqn);
		CHECK_EQ(cq->reserved, hwq_srq_size(srq), "CQEs reserved");
		CHECK_EQ(hwq_obj_cq_release(cq), -EBUSY, "the SRQ is on it");
		cq->reserved = cq->n_cqe - hwq_srq_size(srq) + 1;
		CHECK_EQ(hwq_obj_srq(r.srq, cq, &second), -ENOSPC, "no room");
		CHECK(second == NULL, "an out-pointer was written");
		cq->reserved = hwq_srq_size(srq);
		CHECK_EQ(hwq_obj_srq_release(srq), 0, "giving the SRQ back");
		CHECK_EQ(cq->reserved, 0, "CQEs reserved");
	}
	CHECK_EQ(hwq_obj_cq_release(cq), 0, "giving the CQ back");
	receiver_close(&r);
}

/* ------------------------------------------------------------------ the types */

static void
xrc(void)
{
	unsigned int how, i;

	for (how = 0; how < N_HOWS; how++) {
		struct receiver r;
		struct taken t;

		receiver_open(&r, true);
		xrc_target(&r);
		make(&t, how, IBV_QPT_XRC_SEND, false);
		take(&t, (struct hwq_obj_qp){0}, r.qp->qp_num);
		stock_connect(dev, r.qp, t.ibqp->qp_num);
		for (i = 0; i < N_MESSAGES && check_failures == 0; i++) {
			uint32_t len = draw_len(), at = i * 7;
			struct hwq_wr wr;

			post_receive(&r, 900 + i);
			hwq_wr_start_xrc(&wr, &t.qp->sq);
			wr.wr_id = i;
			wr.wr_flags = HWQ_WQE_SIGNALED;
			hwq_wr_send(&wr);
			hwq_wr_set_xrc_srqn(&wr, r.srqn);
			set_data(&wr, i, at, len);
			CHECK_EQ(hwq_wr_complete(&wr), 0, "posting");
			one_completion(&t, i);
			arrived(&r, 900 + i, mem + at, len);
		}
		taken_release(&t);
		receiver_close(&r);
	}
}

static void
dc(void)
{
	struct ibv_ah_attr attr = {.is_global = 1,
		.port_num = dev->port.port,
		.grh = {.sgid_index = dev->port.gid_index, .hop_limit = 64}};
	struct ibv_ah *ibah;
	struct receiver r;
	struct hwq_ah ah;
	struct taken t;
	unsigned int i;

	memcpy(attr.grh.dgid.raw, dev->port.gid, 16);
	ibah = ibv_create_ah(dev->pd, &attr);
	if (ibah == NULL)
		EMU_DIE("an address handle: %s", strerror(errno));
	CHECK_EQ(hwq_ah_from_verbs(ibah, &ah), 0, "taking an address handle");
	receiver_open(&r, false);
	dc_target(&r);
	make(&t, BY_MLX5DV_CREATE_QP, IBV_QPT_DRIVER, false);
	take(&t, (struct hwq_obj_qp){0}, 0);
	for (i = 0; i < N_MESSAGES && check_failures == 0; i++) {
		uint32_t len = draw_len(), at = i * 7;
		struct hwq_wr wr;

		post_receive(&r, 900 + i);
		hwq_wr_start_dc(&wr, &t.qp->sq);
		wr.wr_id = i;
		wr.wr_flags = HWQ_WQE_SIGNALED;
		hwq_wr_send(&wr);
		hwq_wr_set_dc_addr(&wr, &ah, r.qp->qp_num, DC_KEY);
		set_data(&wr, i, at, len);
		CHECK_EQ(hwq_wr_complete(&wr), 0, "posting");
		one_completion(&t, i);
		arrived(&r, 900 + i, mem + at, len);
	}
	taken_release(&t);
	receiver_close(&r);
	CHECK_EQ(ibv_destroy_ah(ibah), 0, "address handle");
}

/* Compares the next frame of the capture file. A pcap header of 16 bytes precedes each frame. */
static void
captured(int fd, const uint8_t *want, uint32_t len)
{
	uint8_t frame[16 + MAX_LEN + 64];
	ssize_t got = read(fd, frame, sizeof(frame));

	CHECK_EQ(got, 16 + len, "bytes captured");
	if (got == 16 + (ssize_t)len)
		check_bytes(frame + 16, want, len, "a frame");
}

static void
frames(const char *path)
{
	unsigned int how, i;
	int fd = -1;

	for (how = BY_CREATE_QP_EX; how < N_HOWS; how++) {
		struct taken t;

		make(&t, how, IBV_QPT_RAW_PACKET, false);
		take(&t, (struct hwq_obj_qp){.ip_csum = true}, 0);
		for (i = 0; i < N_MESSAGES && check_failures == 0; i++) {
			/* A frame has at least 60 bytes, the shortest length on Ethernet. */
			uint32_t len = 60 + draw_len() % (MAX_LEN - 60), at = i * 7;
			struct hwq_wr wr;

			hwq_wr_start_raw(&wr, &t.qp->sq);
			wr.wr_id = i;
			/* The frames contain no IP packet, so the device writes no checksum. */
			wr.wr_flags = HWQ_WQE_SIGNALED | (i % 4 == 1 ? HWQ_WQE_IP_CSUM : 0);
			hwq_wr_send(&wr);
			set_data(&wr, i, at, len);
			CHECK_EQ(hwq_wr_complete(&wr), 0, "posting");
			one_completion(&t, i);
			if (fd < 0) {
				/* The adapter created the file for the first frame. */
				fd = open(path, O_RDONLY | O_CLOEXEC);
				if (fd < 0 || lseek(fd, 24, SEEK_SET) != 24)
					EMU_DIE("%s: %s", path, strerror(errno));
			}
			captured(fd, mem + at, len);
		}
		taken_release(&t);
	}
	close(fd);
	unlink(path);
}

static void
copies(void)
{
	static uint8_t opaque[64] __attribute__((aligned(64)));
	struct ibv_mr *opaque_mr =
		ibv_reg_mr(dev->pd, opaque, sizeof(opaque), IBV_ACCESS_LOCAL_WRITE);
	const struct hwq_obj_qp obj = {.mmo_addr = (uintptr_t)opaque,
		.mmo_lkey = opaque_mr->lkey,
		.max_memcpy_len = hwq_dev_caps(dev)->max_memcpy_len};
	unsigned int i;
	struct taken t;
	struct hwq_wr wr;

	make(&t, BY_MLX5DV_CREATE_QP, IBV_QPT_RC, true);
	take(&t, obj, t.ibqp->qp_num);
	for (i = 0; i < N_MESSAGES && check_failures == 0; i++) {
		uint32_t len = 1 + (uint32_t)(check_random(&rnd) % 8000), at = i * 7;

		memset(mem + HALF, 0, HALF);
		hwq_wr_start(&wr, &t.qp->sq);
		wr.wr_id = i;
		wr.wr_flags = HWQ_WQE_SIGNALED;
		hwq_wr_memcpy(&wr, mr->lkey, (uintptr_t)mem + HALF, mr->lkey, (uintptr_t)mem + at,
			len);
		CHECK_EQ(hwq_wr_complete(&wr), 0, "posting");
		one_completion(&t, i);
		check_bytes(mem + HALF, mem + at, len, "what was copied");
		CHECK_EQ(mem[HALF + len], 0, "the byte behind");
	}
	taken_release(&t);
	/* Without mmo in its configuration, the QP has no memcpy. */
	make(&t, BY_MLX5DV_CREATE_QP, IBV_QPT_RC, true);
	take(&t, (struct hwq_obj_qp){0}, t.ibqp->qp_num);
	hwq_wr_start(&wr, &t.qp->sq);
	hwq_wr_memcpy(&wr, mr->lkey, (uintptr_t)mem + HALF, mr->lkey, (uintptr_t)mem, 1);
	CHECK_EQ(hwq_wr_complete(&wr), -EINVAL, "a memcpy");
	taken_release(&t);
	CHECK_EQ(ibv_dereg_mr(opaque_mr), 0, "deregister");
}

/* ------------------------------------------------------------------ refusals */

static char last_line[256];

static void
keep_line(const char *text)
{
	snprintf(last_line, sizeof(last_line), "%s", text);
}

/*
 * Without hwq_obj_qp.ip_csum, which tells hwq that the port computes checksums, a frame with a
 * checksum must be refused.
 */
static void
checksums_unless_told(void)
{
	struct hwq_wr wr;
	struct taken t;

	make(&t, BY_CREATE_QP_EX, IBV_QPT_RAW_PACKET, false);
	take(&t, (struct hwq_obj_qp){0}, 0);
	hwq_wr_start_raw(&wr, &t.qp->sq);
	wr.wr_flags = HWQ_WQE_IP_CSUM;
	hwq_wr_send(&wr);
	hwq_wr_set_sge(&wr, mr->lkey, (uintptr_t)mem, 60);
	CHECK_EQ(hwq_wr_complete(&wr), -EINVAL, "a checksum");
	taken_release(&t);
}

/*
 * Only libmlx5's builders show how many bytes of a frame must be inline, and this QP has no
 * builders. So hwq must refuse it.
 */
static void
raw_without_builders(void)
{
	struct hwq_obj_qp obj = {.max_sge = 2, .max_inline = MAX_INLINE};
	struct taken t;

	make(&t, BY_CREATE_QP, IBV_QPT_RAW_PACKET, false);
	obj.qp = t.ibqp;
	obj.send_cq = t.cq;
	hwq_log_set(keep_line);
	CHECK_EQ(hwq_obj_qp(&obj, &t.qp), -EOPNOTSUPP, "taking it");
	hwq_log_set(NULL);
	CHECK(strstr(last_line, "ibv_create_qp_ex(3)") != NULL, "it says: %s", last_line);
	CHECK(t.qp == NULL, "out-pointer");
	taken_release(&t);
}

/* A DCT has no queues, so hwq must refuse it. */
static void
dc_target_is_refused(void)
{
	struct hwq_obj_qp obj = {.max_sge = 2};
	struct receiver r;
	struct hwq_qp *none = NULL;

	receiver_open(&r, false);
	dc_target(&r);
	obj.qp = r.qp;
	hwq_log_set(keep_line);
	CHECK_EQ(hwq_obj_qp(&obj, &none), -EOPNOTSUPP, "taking it");
	hwq_log_set(NULL);
	CHECK(none == NULL, "out-pointer");
	receiver_close(&r);
}

int
main(int argc, char **argv)
{
	unsigned int i;
	char path[64];

	(void)argc;
	snprintf(path, sizeof(path), "%s/hwq_obj_types.%d.pcap", P_tmpdir, (int)getpid());
	setenv("SOFTHCA_THREADS", "0", 1);
	emu_setting(argv, "SOFTHCA_CAPTURE", path);
	dev = emu_open();
	for (i = 0; i < HALF; i++)
		mem[i] = (uint8_t)(i * 7 + i / 256 + 1);
	mr = ibv_reg_mr(dev->pd, mem, sizeof(mem), IBV_ACCESS_LOCAL_WRITE);
	if (mr == NULL)
		EMU_DIE("registering");
	RUN("an XRC SRQ has its room in its CQ", xrc_srq());
	RUN("messages of an XRC_SEND QP arrive at the SRQ", xrc());
	RUN("messages of a DCI arrive at the DCT's SRQ", dc());
	RUN("frames of a RAW_PACKET QP are in the capture file", frames(path));
	RUN("a memcpy copies its bytes, and no other bytes", copies());
	RUN("checksums are refused unless the port computes them", checksums_unless_told());
	RUN("a RAW_PACKET QP without libmlx5's builders is refused", raw_without_builders());
	RUN("a DCT is refused", dc_target_is_refused());
	if (ibv_dereg_mr(mr) != 0 || hwq_dev_close(dev) != 0)
		EMU_DIE("closing");
	return check_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
