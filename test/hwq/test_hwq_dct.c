/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DC targets of hwq: DCIs reach them by number and key, they have the settings of their path, and
 * they are refused and destroyed as hwq_dct.h says. Also address handles for a queue pair's path.
 */
#include "hwq_dct.h"
#include "hwq_emu.h"
#include "hwq_wr.h"
#include "hwq_wr_addr.h"

#define LEN    4096
#define KEY    UINT64_C(0x0123456789abcdef)
#define N_RECV 4

static struct hwq_dev *dev;
static uint8_t src[LEN] __attribute__((aligned(4096))), dst[LEN] __attribute__((aligned(4096)));
static struct hwq_mr src_mr, dst_mr;

/* A DCI, and the objects that targets need. */
struct ends {
	struct twin dci;
	struct hwq_cq *cq;
	struct hwq_srq *srq;
};

static void
ends_open(struct ends *e, const struct hwq_path *path)
{
	struct hwq_qp_conf conf = {.type = HWQ_QP_DCI, .sq_wr = 8};
	struct hwq_srq_conf srq = {.n_wr = N_RECV};

	if (path != NULL)
		conf.path = *path;
	twin_create(dev, &conf, &e->dci);
	twin_ready(&e->dci, HWQ_QP_DCI);
	if (hwq_srq_create(dev, &srq, &e->srq) != 0 ||
		hwq_cq_create(e->dci.domain, 2 * hwq_srq_size(e->srq), &e->cq) != 0)
		EMU_DIE("an SRQ and its CQ");
}

static void
ends_close(struct ends *e)
{
	CHECK_EQ(hwq_srq_destroy(e->srq), 0, "SRQ");
	CHECK_EQ(hwq_cq_destroy(e->cq), 0, "CQ of receives");
	CHECK_EQ(hwq_qp_destroy(e->dci.qp), 0, "DCI");
	CHECK_EQ(hwq_cq_destroy(e->dci.cq), 0, "CQ of the DCI");
	CHECK_EQ(hwq_domain_destroy(e->dci.domain), 0, "domain");
}

static struct hwq_dct *
target(struct ends *e, uint64_t key, const struct hwq_path *path)
{
	struct hwq_dct_conf conf = {.srq = e->srq, .key = key};
	struct hwq_dct *dct;

	if (path != NULL)
		conf.path = *path;
	if (hwq_dct_create(e->dci.domain, e->cq, &conf, &dct) != 0)
		EMU_DIE("a DC target");
	return dct;
}

static void
post_receive(struct ends *e, uint64_t wr_id)
{
	struct hwq_sge sge = {(uintptr_t)dst + LEN / 2, 512, dst_mr.lkey};

	CHECK_EQ(hwq_srq_post_list(e->srq, wr_id, &sge, 1), 0, "a receive");
	hwq_srq_ring(e->srq);
}

/* Posts a SEND, or an RDMA write of 64 bytes, to a target. Returns the syndrome. */
static int
post(struct ends *e, bool send, const struct hwq_dct *dct, uint64_t key)
{
	struct hwq_addr addr;
	struct hwq_cqe rec;
	struct hwq_ah ah;
	struct hwq_wr wr;

	hwq_dct_addr(dct, &addr);
	CHECK_EQ(hwq_ah_create_from(e->dci.qp, &addr, &ah), 0, "address handle");
	hwq_wr_start_dc(&wr, &e->dci.qp->sq);
	wr.wr_flags = HWQ_WQE_SIGNALED;
	if (send)
		hwq_wr_send(&wr);
	else
		hwq_wr_rdma_write(&wr, dst_mr.rkey, (uintptr_t)dst);
	hwq_wr_set_sge(&wr, src_mr.lkey, (uintptr_t)src, 64);
	hwq_wr_set_dc_addr(&wr, &ah, be32toh(addr.qpn), key);
	CHECK_EQ(hwq_wr_complete(&wr), 0, "posting");
	CHECK_EQ(hwq_ah_destroy(&ah), 0, "address handle");
	if (!emu_wait(e->dci.cq, &rec))
		EMU_DIE("no completion");
	hwq_sq_complete(&e->dci.qp->sq, rec.wqe_counter);
	return rec.syndrome;
}

/* One DCI must reach each of two targets by its number and its key. */
static void
targets_are_reached_by_number_and_key(void)
{
	struct hwq_dct *a, *b;
	struct hwq_cqe rec[2];
	uint64_t ids[2];
	struct ends e;

	ends_open(&e, NULL);
	a = target(&e, KEY, NULL);
	b = target(&e, KEY + 1, NULL);
	CHECK(a->dctn != 0 && a->dctn != b->dctn, "numbers 0x%x and 0x%x", a->dctn, b->dctn);
	memset(dst, 0, LEN);
	CHECK_EQ(post(&e, false, a, KEY), 0, "write to the first");
	check_bytes(dst, src, 64, "what was written");
	CHECK_EQ(dst[64], 0, "behind it");
	post_receive(&e, 5);
	post_receive(&e, 6);
	CHECK_EQ(post(&e, true, b, KEY + 1), 0, "message to the second");
	CHECK_EQ(post(&e, true, a, KEY), 0, "message to the first");
	CHECK_EQ(hwq_srq_poll(e.srq, e.cq, rec, ids, 2), 2, "messages");
	CHECK_EQ(rec[0].qpn, b->dctn, "who received");
	CHECK_EQ(rec[1].qpn, a->dctn, "who received");
	CHECK_EQ(ids[0], 5, "first entry");
	CHECK_EQ(ids[1], 6, "second entry");
	CHECK_EQ(rec[0].byte_cnt, 64, "length");
	check_bytes(dst + LEN / 2, src, 64, "message");
	/*
	 * A request with a wrong key gets no answer, so it fails after its retries (ibv_poll_cq(3),
	 * IBV_WC_RETRY_EXC_ERR).
	 */
	CHECK_EQ(post(&e, false, b, KEY), MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR, "wrong key");
	CHECK_EQ(hwq_qp_reset(e.dci.qp), 0, "reset");
	CHECK_EQ(hwq_qp_ready(e.dci.qp), 0, "ready");
	CHECK_EQ(post(&e, false, b, KEY + 1), 0, "right key again");
	CHECK_EQ(hwq_dct_destroy(a), 0, "destroy");
	CHECK_EQ(hwq_dct_destroy(b), 0, "destroy");
	ends_close(&e);
}

/*
 * When a target is destroyed, its unread completions must be dropped from the CQ, and their SRQ
 * entries must become free.
 */
static void
a_targets_completions_end_with_it(void)
{
	struct hwq_dct *a, *b;
	struct hwq_cqe rec;
	struct ends e;
	uint64_t id;
	unsigned int i;

	ends_open(&e, NULL);
	a = target(&e, KEY, NULL);
	b = target(&e, KEY, NULL);
	post_receive(&e, 1);
	post_receive(&e, 2);
	CHECK_EQ(post(&e, true, a, KEY), 0, "message");
	CHECK_EQ(post(&e, true, b, KEY), 0, "message");
	CHECK_EQ(hwq_srq_destroy(e.srq), -EBUSY, "an SRQ with targets");
	CHECK_EQ(hwq_dct_destroy(a), 0, "destroy");
	CHECK_EQ(hwq_srq_poll(e.srq, e.cq, &rec, &id, 1), 1, "the other's message");
	CHECK_EQ(id, 2, "the other's entry");
	CHECK_EQ(rec.qpn, b->dctn, "the other's number");
	for (i = 0; i < hwq_srq_size(e.srq); i++)
		post_receive(&e, i);
	CHECK_EQ(hwq_dct_destroy(b), 0, "destroy");
	CHECK_EQ(e.cq->reserved, 0, "room in the CQ");
	ends_close(&e);
}

/*
 * A target and an address handle must have the values of hwq_path.h, as ibv_query_qp(3) and
 * libmlx5's address handle show them.
 */
static void
a_path_is_the_targets_and_the_handles(void)
{
	const struct hwq_path path = {.mask = HWQ_PATH_GID_INDEX,
		.port = 1,
		.gid_index = 0,
		.traffic_class = 0x68,
		.mtu = 2};
	struct ibv_ah_attr attr = {.is_global = 1,
		.port_num = 1,
		.grh = {.sgid_index = 0, .hop_limit = 64, .traffic_class = 0x68}};
	struct hwq_path bad = path;
	struct hwq_ah by_verbs, by_hwq;
	struct hwq_addr addr;
	struct hwq_dct *dct;
	struct ibv_ah *ah;
	struct ends e;

	ends_open(&e, &path);
	dct = target(&e, KEY, &path);
	hwq_dct_addr(dct, &addr);
	CHECK_EQ(addr.version, HWQ_ADDR_VERSION, "version");
	CHECK_EQ(addr.mtu, IBV_MTU_512, "MTU");
	CHECK_EQ(be32toh(addr.qpn), dct->qp->qp_num, "number");
	memcpy(attr.grh.dgid.raw, addr.gid, 16);
	ah = ibv_create_ah(dev->pd, &attr);
	if (ah == NULL)
		EMU_DIE("a stock address handle: %s", strerror(errno));
	CHECK_EQ(hwq_ah_from_verbs(ah, &by_verbs), 0, "from a verbs handle");
	CHECK_EQ(hwq_ah_create_from(e.dci.qp, &addr, &by_hwq), 0, "of the path");
	/* Without a flow label, libmlx5 draws a random UDP source port. */
	by_hwq.av.rlid = by_verbs.av.rlid;
	check_bytes(&by_hwq.av, &by_verbs.av, sizeof(by_hwq.av), "address vector");
	CHECK_EQ(hwq_ah_destroy(&by_hwq), 0, "handle");
	CHECK_EQ(hwq_ah_create_on(dev, &path, &addr, &by_hwq), 0, "without a queue pair");
	by_hwq.av.rlid = by_verbs.av.rlid;
	check_bytes(&by_hwq.av, &by_verbs.av, sizeof(by_hwq.av), "address vector of the path");
	CHECK_EQ(hwq_ah_destroy(&by_hwq), 0, "handle");
	bad.port = 9;
	CHECK_EQ(hwq_ah_create_on(dev, &bad, &addr, &by_hwq), -EINVAL, "no such port");
	CHECK_EQ(ibv_destroy_ah(ah), 0, "verbs handle");
	CHECK_EQ(hwq_dct_destroy(dct), 0, "destroy");
	ends_close(&e);
}

/*
 * The device must have the attributes of the target's path, or, for a path of zeros, the defaults
 * of hwq_path.h.
 */
static void
a_target_has_what_its_path_says(void)
{
	const struct hwq_path paths[2] = {{0}, {.mask = HWQ_PATH_MIN_RNR_TIMER,
						       .mtu = IBV_MTU_1024,
						       .min_rnr_timer = 20,
						       .traffic_class = 0x88}};
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;
	struct hwq_dct *dct;
	struct ends e;
	unsigned int i;

	ends_open(&e, NULL);
	for (i = 0; i < 2; i++) {
		dct = target(&e, KEY, &paths[i]);
		CHECK_EQ(ibv_query_qp(dct->qp, &a,
				 IBV_QP_STATE | IBV_QP_PATH_MTU | IBV_QP_MIN_RNR_TIMER | IBV_QP_AV |
					 IBV_QP_PORT,
				 &init),
			0, "query");
		CHECK_EQ(a.qp_state, IBV_QPS_RTR, "state");
		CHECK_EQ(a.path_mtu, i == 0 ? IBV_MTU_4096 : IBV_MTU_1024, "MTU");
		CHECK_EQ(a.min_rnr_timer, i == 0 ? 12 : 20, "RNR timer");
		CHECK_EQ(a.ah_attr.grh.traffic_class, i == 0 ? 0 : 0x88, "traffic class");
		CHECK_EQ(a.ah_attr.grh.sgid_index, dev->port.gid_index, "GID index");
		CHECK_EQ(hwq_dct_destroy(dct), 0, "target");
	}
	ends_close(&e);
}

static void
what_is_not_possible_is_refused(void)
{
	struct hwq_dct_conf conf = {.key = KEY};
	struct hwq_dct *dct = NULL;
	struct hwq_cq *tiny;
	struct ends e;
	unsigned int nth;
	char line[60];

	ends_open(&e, NULL);
	CHECK_EQ(hwq_dct_create(e.dci.domain, e.cq, &conf, &dct), -EINVAL, "no SRQ");
	conf.srq = e.srq;
	if (hwq_cq_create(e.dci.domain, 2, &tiny) != 0)
		EMU_DIE("a small CQ");
	CHECK_EQ(hwq_dct_create(e.dci.domain, tiny, &conf, &dct), -ENOSPC, "small CQ");
	CHECK_EQ(hwq_cq_destroy(tiny), 0, "small CQ");
	conf.path.port = 9;
	CHECK_EQ(hwq_dct_create(e.dci.domain, e.cq, &conf, &dct), -EINVAL, "no such port");
	conf.path.port = 0;
	CHECK_EQ(softhca_fault("refuse call=create_qp errno=12"), 0, "fault");
	CHECK_EQ(hwq_dct_create(e.dci.domain, e.cq, &conf, &dct), -ENOMEM, "create_qp");
	for (nth = 1; nth <= 2; nth++) {
		snprintf(line, sizeof(line), "refuse call=modify_qp errno=12 op=%u", nth);
		CHECK_EQ(softhca_fault(line), 0, "fault");
		CHECK_EQ(hwq_dct_create(e.dci.domain, e.cq, &conf, &dct), -ENOMEM, "modify_qp");
		CHECK_EQ(softhca_faults_left(), 0, "faults");
	}
	CHECK(dct == NULL, "an out-pointer was written");
	/*
	 * Several targets cannot be set up, and the device refuses to destroy them. All of them are
	 * destroyed before their SRQ.
	 */
	for (nth = 0; nth < 3; nth++) {
		CHECK_EQ(softhca_fault("refuse call=modify_qp errno=12"), 0, "fault");
		CHECK_EQ(softhca_fault("refuse call=destroy_qp errno=16 times=9"), 0, "fault");
		CHECK_EQ(hwq_dct_create(e.dci.domain, e.cq, &conf, &dct), -ENOMEM, "modify_qp");
		softhca_faults_clear();
	}
	CHECK_EQ(hwq_srq_destroy(e.srq), 0, "SRQ");
	if (hwq_srq_create(dev, &(struct hwq_srq_conf){.n_wr = N_RECV}, &e.srq) != 0)
		EMU_DIE("another SRQ");
	dct = target(&e, KEY, NULL);
	CHECK_EQ(softhca_fault("refuse call=destroy_qp errno=16"), 0, "fault");
	CHECK_EQ(hwq_dct_destroy(dct), -EBUSY, "refused");
	CHECK_EQ(hwq_dct_destroy(dct), 0, "again");
	ends_close(&e);
}

int
main(int argc, char **argv)
{
	unsigned int i;

	(void)argc;
	emu_setting(argv, "SOFTHCA_THREADS", "0");
	dev = emu_open();
	for (i = 0; i < LEN; i++)
		src[i] = (uint8_t)(i * 7 + 3);
	if (hwq_mr_register(dev, src, LEN, IBV_ACCESS_LOCAL_WRITE, &src_mr) != 0 ||
		hwq_mr_register(dev, dst, LEN, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
			&dst_mr) != 0)
		EMU_DIE("registering");
	RUN("targets are reached by number and key", targets_are_reached_by_number_and_key());
	RUN("a target's completions end with it", a_targets_completions_end_with_it());
	RUN("target and address handle have the settings of a path",
		a_path_is_the_targets_and_the_handles());
	RUN("a target has the settings of its path", a_target_has_what_its_path_says());
	RUN("impossible targets are refused", what_is_not_possible_is_refused());
	CHECK_EQ(hwq_mr_deregister(&src_mr), 0, "memory");
	CHECK_EQ(hwq_mr_deregister(&dst_mr), 0, "memory");
	CHECK_EQ(hwq_dev_close(dev), 0, "device");
	return check_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
