/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends frames on a raw packet QP, which test_softhca_raw.py reads from the capture file: frames of
 * one SEND each, and TSO requests that the adapter cuts into frames. The payload's bytes are 0, 1,
 * 2, and so on.
 *
 *   raw_sender send|tso HEADER(hex) PAYLOAD_LEN MSS CSUM(0|1) COUNT
 *   raw_sender rdma       connects reliable queue pairs instead, twice, and sends no frame
 *
 * Prints the status of the last work completion. With PAIR_ON_DEMAND=1, the memory is on demand.
 * With RAW_SENDER_GONE=1, it also cannot be accessed when the request runs.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "softhca_pair.h"

#define MAX_PAYLOAD (512 * 1024)

static unsigned int
read_hex(const char *text, uint8_t *out, unsigned int max)
{
	unsigned int n = 0, byte;

	while (n < max && sscanf(text + 2 * n, "%2x", &byte) == 1)
		out[n++] = (uint8_t)byte;
	return n;
}

static struct ibv_qp *
make_raw_qp(struct ibv_context *ctx, struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr_ex init = {.qp_type = IBV_QPT_RAW_PACKET,
		.send_cq = cq,
		.recv_cq = cq,
		.pd = pd,
		.cap = {.max_send_wr = 16, .max_send_sge = 2, .max_recv_wr = 1, .max_recv_sge = 1},
		.max_tso_header = 256,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_MAX_TSO_HEADER};
	const struct ibv_qp_attr attr = {.port_num = 1};
	struct ibv_qp *qp = ibv_create_qp_ex(ctx, &init);

	if (qp == NULL && errno == EPERM) {
		printf("skipped: raw packets take CAP_NET_RAW\n");
		exit(CHECK_SKIP);
	}
	CHECK(qp != NULL);
	CHECK_EQ(qp_take(qp, K_RAW, attr, IBV_QPS_INIT, IBV_QPS_RTS), 0);
	return qp;
}

/*
 * Corrects the place of the data segments in a WQE. If a TSO header crosses the end of the ring,
 * libmlx5 44 leaves 32 bytes between the header and the data segments, and DS does not count these
 * bytes. The adapter does not run until it is pumped, so the WQE can still be corrected here.
 */
static void
mend_wrapped_header(const struct mlx5dv_qp *dv, uint32_t posted, const struct ibv_send_wr *wr)
{
	enum {
		INLINE_AT = 16 + 14,
		GAP = 32
	};
	size_t ring = (size_t)dv->sq.wqe_cnt * 64, at = posted * 64 % ring + INLINE_AT;
	uint8_t *start = dv->sq.buf;

	if (wr->opcode != IBV_WR_TSO || at + wr->tso.hdr_sz <= ring)
		return;
	CHECK(pair_is_pumped());
	start += (at + wr->tso.hdr_sz - ring + 15) / 16 * 16;
	memmove(start, start + GAP, (size_t)wr->num_sge * 16);
}

static int
send_one(struct ibv_qp *qp, struct ibv_cq *cq, struct ibv_send_wr *wr)
{
	struct mlx5dv_qp dv = {0};
	struct mlx5dv_obj obj = {.qp = {.in = qp, .out = &dv}};
	struct ibv_send_wr *bad;
	uint32_t posted;
	struct ibv_wc wc;

	CHECK_EQ(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP), 0);
	posted = be32toh(dv.dbrec[MLX5_SND_DBR]);
	CHECK_EQ(ibv_post_send(qp, wr, &bad), 0);
	mend_wrapped_header(&dv, posted, wr);
	while (ibv_poll_cq(cq, 1, &wc) == 0)
		pair_run();
	if (wc.status == IBV_WC_SUCCESS)
		CHECK_EQ(wc.opcode, wr->opcode == IBV_WR_TSO ? IBV_WC_TSO : IBV_WC_SEND);
	return wc.status;
}

/* Expects that this process has no descriptor of the file. */
static void
expect_closed(const char *path)
{
	for (int fd = 0; fd < 64; fd++) {
		char link[32], to[256] = "";

		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		if (readlink(link, to, sizeof(to) - 1) > 0)
			CHECK(strcmp(to, path) != 0);
	}
}

/*
 * From now on no file of this process can grow beyond `len` bytes: writing more bytes is an error.
 */
static void
limit_files(rlim_t len)
{
	CHECK(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &(struct rlimit){len, len}), 0);
}

static int
connect_pairs(void)
{
	for (unsigned int i = 0; i < 2; i++) {
		struct pair p;

		pair_init(&p, NULL);
		pair_fini(&p);
	}
	return 0;
}

int
main(int argc, char **argv)
{
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	uint8_t header[256], *buf;
	unsigned int header_len, len;
	struct ibv_sge sge[2];
	struct ibv_send_wr wr = {.sg_list = sge, .num_sge = 2, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_mr *mr;
	int status = -1;

	if (argc == 2 && strcmp(argv[1], "rdma") == 0)
		return connect_pairs();
	CHECK_EQ(argc, 7);
	ctx = pair_open(0);
	pd = ibv_alloc_pd(ctx);
	cq = ibv_create_cq(ctx, 64, NULL, NULL, 0);
	buf = aligned_alloc(4096, MAX_PAYLOAD);
	qp = make_raw_qp(ctx, pd, cq);
	header_len = read_hex(argv[2], header, sizeof(header));
	len = (unsigned int)atoi(argv[3]);
	CHECK(buf != NULL && len <= MAX_PAYLOAD - sizeof(header));
	if (atoi(argv[5]) != 0)
		wr.send_flags |= IBV_SEND_IP_CSUM;
	mr = ibv_reg_mr(pd, buf, MAX_PAYLOAD, IBV_ACCESS_LOCAL_WRITE | pair_on_demand());
	CHECK(mr != NULL);
	memcpy(buf, header, header_len);
	for (unsigned int i = 0; i < len; i++)
		buf[header_len + i] = (uint8_t)i;
	/* The payload is in two segments, and the first has an odd length. */
	sge[0] = (struct ibv_sge){(uintptr_t)buf, len / 3, mr->lkey};
	if (strcmp(argv[1], "tso") == 0) {
		wr.opcode = IBV_WR_TSO;
		wr.tso.hdr = header;
		wr.tso.hdr_sz = (uint16_t)header_len;
		wr.tso.mss = (uint16_t)atoi(argv[4]);
		sge[0].addr += header_len;
	} else {
		wr.opcode = IBV_WR_SEND;
		sge[0].length += header_len;
	}
	sge[1] = (struct ibv_sge){sge[0].addr + sge[0].length, len - len / 3, mr->lkey};
	if (getenv("RAW_SENDER_GONE") != NULL)
		CHECK_EQ(mprotect(buf, MAX_PAYLOAD, PROT_NONE), 0);
	if (getenv("RAW_SENDER_FILE_LIMIT") != NULL)
		limit_files((rlim_t)atoi(getenv("RAW_SENDER_FILE_LIMIT")));
	for (int i = 0; i < atoi(argv[6]); i++)
		status = send_one(qp, cq, &wr);
	CHECK_EQ(mprotect(buf, MAX_PAYLOAD, PROT_READ | PROT_WRITE), 0);
	printf("%s\n", ibv_wc_status_str(status));
	if (getenv("RAW_SENDER_CLOSES") != NULL)
		expect_closed(getenv("RAW_SENDER_CLOSES"));
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_destroy_cq(cq), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
	free(buf);
	return 0;
}
