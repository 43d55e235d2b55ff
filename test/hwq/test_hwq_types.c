/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Types of QPs. hwq must refuse to create the QPs that libmlx5 refuses to create, with the same
 * errno. Also tested: the states of each type, and batches that are started for another type.
 *
 * usage: test_hwq_types [SEED]
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "hwq_emu.h"
#include "hwq_wr.h"

#define N_TYPES 6
#define N_CASES 3000
/* the operations that ibv_create_qp_ex(3) of rdma-core 44 supports */
#define OPS_ALL  ((1ull << 11) - 1)
#define MLX5_ALL ((1ull << 5) - 1)

static struct hwq_dev *dev;
static struct hwq_domain *domain;
static struct hwq_cq *cq;
static uint64_t rnd;

static uint64_t
draw(uint64_t n)
{
	return check_random(&rnd) % n;
}

/* ------------------------------------------------------------------ creation */

/*
 * Operations that each type supports, from the table of ibv_wr_post(3) and from libmlx5's source.
 */
static const uint64_t legal[N_TYPES] = {
	[HWQ_QP_RC] = OPS_ALL & ~IBV_QP_EX_WITH_TSO,
	[HWQ_QP_UC] = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
		      IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
		      IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_LOCAL_INV |
		      IBV_QP_EX_WITH_BIND_MW,
	[HWQ_QP_UD] = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM,
	[HWQ_QP_XRC_SEND] = OPS_ALL & ~IBV_QP_EX_WITH_TSO,
	[HWQ_QP_DCI] = OPS_ALL & ~IBV_QP_EX_WITH_TSO,
	[HWQ_QP_RAW_PACKET] = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_TSO,
};

static void
draw_conf(struct hwq_qp_conf *conf)
{
	*conf = (struct hwq_qp_conf){.type = (enum hwq_qp_type)draw(N_TYPES),
		.sq_wr = 2 + (uint32_t)draw(20),
		.max_sge = 1 + (uint32_t)draw(12),
		.max_inline = (uint32_t)draw(200)};
	conf->send_ops = (check_random(&rnd) & legal[conf->type]) | IBV_QP_EX_WITH_SEND;
	conf->qkey = EMU_QKEY;
	switch (draw(12)) {
	case 0: /* one bit, known or unknown; flush is an unknown bit */
		conf->send_ops |= 1ull << draw(64);
		break;
	case 1:
		conf->mlx5_ops =
			check_random(&rnd) & MLX5_ALL & ~(uint64_t)MLX5DV_QP_EX_WITH_MEMCPY;
		break;
	case 2:
		conf->mlx5_ops = 1ull << (5 + draw(59));
		break;
	case 3:
		conf->mmo = true;
		break;
	case 4:
		conf->max_sge = 100;
		break;
	case 5:
		conf->max_inline = 4000;
		break;
	case 6:
		if (conf->type == HWQ_QP_DCI) {
			conf->dci_streams = true;
			conf->log_dci_streams = (uint8_t)draw(32);
			conf->log_dci_errored = (uint8_t)draw(32);
		}
		break;
	case 7:
		if (conf->type == HWQ_QP_RAW_PACKET)
			conf->max_tso_header = (uint16_t)draw(300);
		break;
	default:
		break;
	}
}

static void
check_same(const struct hwq_qp_conf *conf, int theirs, int ours)
{
	CHECK(theirs == -ours,
		"type %d send_ops 0x%llx mlx5_ops 0x%llx mmo %d sge %u inline %u tso %u streams "
		"%u/%u: libmlx5 %d, hwq %d",
		(int)conf->type, (unsigned long long)conf->send_ops,
		(unsigned long long)conf->mlx5_ops, conf->mmo, conf->max_sge, conf->max_inline,
		conf->max_tso_header, conf->log_dci_streams, conf->log_dci_errored, theirs, ours);
}

static void
same_refusals(struct ibv_cq *stock_cq)
{
	unsigned int made[N_TYPES] = {0}, refused[N_TYPES] = {0}, i;

	for (i = 0; i < N_CASES; i++) {
		struct hwq_qp_conf conf;
		struct ibv_qp_cap cap;
		struct hwq_qp *ours = NULL;
		struct ibv_qp *theirs;
		int ret;

		draw_conf(&conf);
		theirs = stock_create_qp(dev, &conf, stock_cq, &cap);
		ret = theirs == NULL ? errno : 0;
		check_same(&conf, ret, hwq_qp_create(domain, cq, &conf, &ours));
		if (ours != NULL)
			CHECK_EQ(hwq_qp_destroy(ours), 0, "destroy");
		if (theirs != NULL)
			CHECK_EQ(ibv_destroy_qp(theirs), 0, "stock destroy");
		if (ret == 0)
			made[conf.type]++;
		else
			refused[conf.type]++;
	}
	for (i = 0; i < N_TYPES; i++) {
		printf("  type %u: %u made, %u refused\n", i, made[i], refused[i]);
		CHECK(made[i] > 0 && refused[i] > 0, "type %u", i);
	}
}

/*
 * Configurations that hwq refuses, although libmlx5 accepts them or sets no errno: see doc/hwq.md.
 */
static void
own_refusals(void)
{
	struct hwq_qp_conf conf = {.type = HWQ_QP_UD, .sq_wr = 4, .max_tso_header = 64};
	struct hwq_qp *qp;
	unsigned int type, logged;

	CHECK_EQ(hwq_qp_create(domain, cq, &conf, &qp), -EINVAL, "TSO headers on UD");
	conf = (struct hwq_qp_conf){.type = HWQ_QP_UD, .sq_wr = 4, .send_ops = IBV_QP_EX_WITH_TSO};
	CHECK_EQ(hwq_qp_create(domain, cq, &conf, &qp), -EOPNOTSUPP, "TSO on UD");
	conf = (struct hwq_qp_conf){.sq_wr = 4, .dci_streams = true};
	CHECK_EQ(hwq_qp_create(domain, cq, &conf, &qp), -EINVAL, "streams of an RC QP");
	conf = (struct hwq_qp_conf){.type = HWQ_QP_XRC_SEND, .sq_wr = 4, .rq_wr = 4};
	CHECK_EQ(hwq_qp_create(domain, cq, &conf, &qp), -EINVAL, "receives of XRC_SEND");
	conf.type = HWQ_QP_DCI;
	CHECK_EQ(hwq_qp_create(domain, cq, &conf, &qp), -EINVAL, "receives of a DCI");
	for (type = HWQ_QP_RC + 1; type < N_TYPES; type++) {
		conf = (struct hwq_qp_conf){.type = (enum hwq_qp_type)type,
			.sq_wr = 4,
			.sig_pipelining = true};
		logged = emu_log_lines;
		CHECK_EQ(hwq_qp_create(domain, cq, &conf, &qp), -EOPNOTSUPP,
			"signature pipelining");
		CHECK_EQ(emu_log_lines, logged + 1, "lines that say why");
	}
	conf = (struct hwq_qp_conf){.type = (enum hwq_qp_type)N_TYPES, .sq_wr = 4};
	CHECK_EQ(hwq_qp_create(domain, cq, &conf, &qp), -EOPNOTSUPP, "no type");
	CHECK_EQ(hwq_qp_cqe_needed(&conf), 0, "CQEs of no type");
	CHECK_EQ(cq->reserved, 0, "CQEs reserved for what was refused");
}

/* ------------------------------------------------------------------ states */

static int
ready(struct hwq_qp *qp, bool has_peer)
{
	struct hwq_addr addr;

	hwq_qp_addr(qp, &addr);
	return has_peer ? hwq_qp_connect(qp, &addr) : hwq_qp_ready(qp);
}

static int
post_nop(struct hwq_qp *qp, enum hwq_qp_type start)
{
	static void (*const starts[N_TYPES])(struct hwq_wr *, struct hwq_sq *) = {hwq_wr_start,
		hwq_wr_start, hwq_wr_start_ud, hwq_wr_start_xrc, hwq_wr_start_dc, hwq_wr_start_raw};
	struct hwq_wr wr;

	starts[start](&wr, &qp->sq);
	wr.wr_id = 77;
	wr.wr_flags = HWQ_WQE_SIGNALED;
	hwq_wr_nop(&wr);
	return hwq_wr_complete(&wr);
}

static void
one_life(enum hwq_qp_type type)
{
	struct hwq_qp_conf conf = {.type = type, .sq_wr = 8, .qkey = EMU_QKEY};
	bool has_peer = type == HWQ_QP_RC || type == HWQ_QP_UC || type == HWQ_QP_XRC_SEND;
	enum hwq_qp_type other;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct hwq_qp *qp;
	uint64_t id = 0;
	unsigned int round;

	CHECK_EQ(hwq_qp_create(domain, cq, &conf, &qp), 0, "create");
	if (type == HWQ_QP_UD) {
		CHECK_EQ(ibv_query_qp(qp->qp, &attr, IBV_QP_QKEY, &init), 0, "query");
		CHECK_EQ(attr.qkey, EMU_QKEY, "qkey");
	}
	for (round = 0; round < 3; round++) {
		CHECK_EQ(hwq_qp_state(qp), IBV_QPS_INIT, "at first");
		CHECK_EQ(post_nop(qp, type), -EINVAL, "a batch before RTS");
		CHECK_EQ(ready(qp, !has_peer), -EINVAL, "the way of the other types");
		CHECK_EQ(ready(qp, has_peer), 0, "to RTS");
		CHECK_EQ(hwq_qp_state(qp), IBV_QPS_RTS, "then");
		for (other = 0; other < N_TYPES; other++) {
			bool fits = other == type || (other + type == 1 && other <= 1 && type <= 1);
			uint16_t pi = qp->sq.pi;

			CHECK_EQ(post_nop(qp, other), fits ? 0 : -EINVAL, "a start by type");
			CHECK_EQ(qp->sq.pi, (uint16_t)(pi + fits), "producer index");
			emu_pump();
			CHECK_EQ(hwq_wr_poll(&qp->sq, &id, 1), fits, "completions");
		}
		CHECK_EQ(id, 77, "wr_id");
		if (round == 1)
			CHECK_EQ(hwq_qp_fail(qp), 0, "to ERR");
		CHECK_EQ(hwq_qp_reset(qp), 0, "reset");
	}
	CHECK_EQ(hwq_qp_destroy(qp), 0, "destroy");
}

static void
lives(void)
{
	enum hwq_qp_type type;

	for (type = 0; type < N_TYPES; type++)
		one_life(type);
}

/* ----------------------------------------------------------------- connections */

/* Compares the attributes that ibv_query_qp(3) reports for a connected QP with the address. */
static void
check_connected(struct hwq_qp *qp, const struct hwq_addr *own, const struct hwq_addr *to,
	enum ibv_mtu mtu, uint8_t rd_atomic)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;

	CHECK_EQ(ibv_query_qp(qp->qp, &a, IBV_QP_STATE, &init), 0, "query");
	CHECK_EQ(a.qp_state, IBV_QPS_RTS, "state");
	CHECK_EQ(a.dest_qp_num, be32toh(to->qpn), "destination QP");
	CHECK_EQ(a.rq_psn, be32toh(to->psn), "PSN to receive");
	CHECK_EQ(a.sq_psn, be32toh(own->psn), "PSN to send");
	CHECK_EQ(a.path_mtu, mtu, "MTU");
	CHECK_EQ(a.max_rd_atomic, rd_atomic, "reads it asks for");
	CHECK_EQ(a.max_dest_rd_atomic, 16, "reads it serves");
	CHECK_EQ(a.port_num, 1, "port");
	CHECK_EQ(a.qp_access_flags & IBV_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_WRITE, "rights");
	CHECK_EQ(a.qp_access_flags & IBV_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_READ, "rights");
	/*
	 * The default values, which most programs use: 67 ms, 7 retries, and 0.64 ms
	 * (ibv_modify_qp(3)).
	 */
	CHECK_EQ(a.timeout, 14, "timeout");
	CHECK_EQ(a.retry_cnt, 7, "retries");
	CHECK_EQ(a.rnr_retry, 7, "RNR retries");
	CHECK_EQ(a.min_rnr_timer, 12, "RNR timer");
	CHECK_EQ(a.ah_attr.is_global, 1, "global");
	CHECK_EQ(a.ah_attr.port_num, 1, "port of the path");
	CHECK_EQ(a.ah_attr.grh.sgid_index, dev->port.gid_index, "GID index");
	CHECK_EQ(a.ah_attr.grh.hop_limit, 64, "hop limit");
	check_bytes(&a.ah_attr.grh.dgid, to->gid, 16, "GID");
}

/* For MTU and reads, the smaller of both ends' values must be used. */
static void
connections(void)
{
	/* mtu: MTU of the path, 0: none. to_mtu, to_reads: values in the peer's address. */
	static const struct {
		uint8_t mtu, to_mtu, to_reads, used, reads;
	} ends[] = {
		{0, IBV_MTU_4096, 16, IBV_MTU_4096, 16},
		{0, IBV_MTU_1024, 3, IBV_MTU_1024, 3},
		{IBV_MTU_2048, IBV_MTU_1024, 16, IBV_MTU_1024, 16},
		{IBV_MTU_2048, IBV_MTU_4096, 16, IBV_MTU_2048, 16},
	};
	const uint8_t active_mtu = dev->port.active_mtu;
	struct hwq_qp_conf conf = {.sq_wr = 4};
	struct hwq_addr own, to;
	struct hwq_qp *a, *b;

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		conf.path.mtu = ends[i].mtu;
		if (hwq_qp_create(domain, cq, &conf, &a) != 0 ||
			hwq_qp_create(domain, cq, &conf, &b) != 0)
			EMU_DIE("QPs");
		hwq_qp_addr(a, &own);
		hwq_qp_addr(b, &to);
		CHECK_EQ(be32toh(own.qpn), a->qp->qp_num, "own number");
		CHECK_EQ(own.mtu, ends[i].mtu != 0 ? ends[i].mtu : IBV_MTU_4096, "own MTU");
		CHECK_EQ(own.max_rd_atomic, 16, "own reads");
		to.mtu = ends[i].to_mtu;
		to.max_rd_atomic = ends[i].to_reads;
		CHECK_EQ(hwq_qp_connect(a, &to), 0, "connect");
		check_connected(a, &own, &to, ends[i].used, ends[i].reads);
		CHECK_EQ(hwq_qp_destroy(a), 0, "destroy");
		CHECK_EQ(hwq_qp_destroy(b), 0, "destroy");
	}
	/*
	 * A path with a larger MTU than the port must be refused. The test makes the port's MTU
	 * smaller in hwq's struct.
	 */
	dev->port.active_mtu = IBV_MTU_1024;
	conf.path.mtu = IBV_MTU_2048;
	CHECK_EQ(hwq_qp_create(domain, cq, &conf, &a), -EINVAL, "MTU 2048 on a port of 1024");
	conf.path.mtu = IBV_MTU_1024;
	CHECK_EQ(hwq_qp_create(domain, cq, &conf, &a), 0, "MTU 1024");
	CHECK_EQ(hwq_qp_destroy(a), 0, "destroy");
	dev->port.active_mtu = active_mtu;
}

static unsigned int n_asked;

static bool
suits_nobody(const struct hwq_dev_caps *caps)
{
	n_asked++;
	return false;
}

static bool
suits_with_cqes(const struct hwq_dev_caps *caps)
{
	n_asked++;
	return caps->max_cqe != 0;
}

/*
 * hwq_dev_open_if() must call suits() for each device that opens. Out-pointers are written on
 * success only.
 */
static void
devices_that_suit(void)
{
	struct hwq_dev *other = NULL;

	CHECK_EQ(hwq_dev_open_if(NULL, suits_nobody, &other), -EOPNOTSUPP, "nobody suits");
	CHECK_EQ(hwq_dev_open_if("mlx5_0", suits_nobody, &other), -EOPNOTSUPP, "by its name");
	CHECK_EQ(n_asked, 2, "each was asked once");
	CHECK_EQ(hwq_dev_open_if("mlx5_77", suits_with_cqes, &other), -ENODEV, "no such device");
	CHECK(other == NULL && n_asked == 2, "nothing was opened");
	CHECK_EQ(hwq_dev_open_if(NULL, suits_with_cqes, &other), 0, "one suits");
	CHECK_EQ(n_asked, 3, "it was asked");
	CHECK_EQ(hwq_dev_close(other), 0, "closing");
}

static unsigned int
openings(const char *name)
{
	struct hwq_dev *other = NULL;
	int ret = hwq_dev_open(name, &other);
	unsigned int of_first = ret == 0 && strcmp(hwq_dev_name(other), "mlx5_0") == 0;

	CHECK(ret == 0 ? other != NULL : ret == -ENODEV && other == NULL, "%s", name);
	if (ret == 0)
		CHECK_EQ(hwq_dev_close(other), 0, "closing");
	return of_first;
}

/*
 * hwq must find the adapter by its PCI address, which is the last part of the path that realpath(3)
 * returns for the adapter's folder in sysfs.
 */
static void
devices_by_address(void)
{
	char *folder = realpath("/sys/class/infiniband/mlx5_0/device", NULL);
	char text[64], *address, *at;

	CHECK(folder != NULL, "the folder of the PCI function");
	address = strrchr(folder, '/') + 1;
	printf("mlx5_0 is at %s\n", address);
	CHECK_EQ(openings(address), 1, "the address");
	for (at = strcpy(text, address); *at != '\0'; at++)
		*at = toupper((unsigned char)*at);
	CHECK_EQ(openings(text), 1, "in capitals");
	snprintf(text, sizeof(text), "0000%s", address);
	CHECK_EQ(openings(text), 1, "with zeros in front");
	/* An address without a domain is in domain 0, and the adapter is in another domain. */
	CHECK_EQ(openings(address + strlen("ca00:")), 0, "without the domain");
	snprintf(text, sizeof(text), "%s0", address);
	CHECK_EQ(openings(text), 0, "a longer function");
	snprintf(text, sizeof(text), "%s", address);
	text[strlen(text) - 1] ^= 1;
	CHECK_EQ(openings(text), 0, "another function");
	CHECK_EQ(openings("03:00"), 0, "no function");
	CHECK_EQ(openings(""), 0, "no name");
	free(folder);
}

/* hwq writes no signatures of WQEs, so it must refuse to create queues with them. */
static void
signed_wqes(void)
{
	const struct hwq_qp_conf conf = {.sq_wr = 4};
	struct hwq_qp *qp = NULL;

	setenv("MLX5_QP_SIGNATURE", "1", 1);
	CHECK_EQ(hwq_qp_create(domain, cq, &conf, &qp), -EOPNOTSUPP, "signed WQEs");
	CHECK(qp == NULL, "out-pointer");
	unsetenv("MLX5_QP_SIGNATURE");
	CHECK_EQ(hwq_qp_create(domain, cq, &conf, &qp), 0, "without the variable");
	CHECK_EQ(hwq_qp_destroy(qp), 0, "destroying");
}

int
main(int argc, char **argv)
{
	struct ibv_cq *stock_cq;

	emu_setting(argv, "SOFTHCA_THREADS", "0");
	rnd = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	printf("seed %llu\n", (unsigned long long)rnd);
	dev = emu_open();
	hwq_log_set(emu_count_log);
	stock_cq = ibv_create_cq(dev->ctx, 64, NULL, NULL, 0);
	if (stock_cq == NULL || hwq_domain_create(dev, &domain) != 0 ||
		hwq_cq_create(domain, 4096, &cq) != 0)
		EMU_DIE("domain and CQs");
	RUN("hwq refuses what libmlx5 refuses, with its errno", same_refusals(stock_cq));
	RUN("attributes that do not fit the type are refused", own_refusals());
	RUN("a queue pair whose WQEs would be signed is refused", signed_wqes());
	RUN("a device that does not suit is refused", devices_that_suit());
	RUN("a device is found by its PCI address", devices_by_address());
	RUN("each type goes to RTS, to ERR and back", lives());
	RUN("a connection has the peer's address, and the smaller of both ends' limits",
		connections());
	CHECK_EQ(hwq_cq_destroy(cq), 0, "CQ");
	CHECK_EQ(hwq_domain_destroy(domain), 0, "domain");
	CHECK_EQ(ibv_destroy_cq(stock_cq), 0, "stock CQ");
	CHECK_EQ(hwq_dev_close(dev), 0, "device");
	return check_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
