/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A completion with an error must have the vendor syndrome that real adapters report, and a line on
 * stderr must name the failed check, once for each check. test_softhca_vendors.c tests all checks
 * with hand-made WQEs, but does not test the line.
 */
#include <sys/mman.h>
#include <sys/wait.h>

#include "softhca_pair.h"

#define LEN  64
#define LATE .timeout = 8, .retry_cnt = 1 /* the retries end soon: after 4.096 us * 2^8 for each */

/* A failure: the work request of the client, with these fields instead of the correct ones. */
struct failure {
	const char *check; /* text of the line about the check */
	uint8_t vendor;    /* sources: doc/softhca-reference.md, "Vendor syndromes" */
	enum ibv_wc_status status;
	enum ibv_wr_opcode opcode;
	enum {
		GOOD,
		NO_LKEY,
		BEYOND,
		SINK,
		NO_RKEY,
		NO_PEER,
		NO_RECEIVE,
		QP_RIGHT,
		UMR
	} wrong;
};

static const struct failure failures[] = {
	{"no key has this number", 0x52, IBV_WC_LOC_PROT_ERR, IBV_WR_RDMA_WRITE, NO_LKEY},
	{"the key does not cover all bytes", 0x53, IBV_WC_LOC_PROT_ERR, IBV_WR_RDMA_WRITE, BEYOND},
	{"the key does not grant this access", 0x33, IBV_WC_LOC_PROT_ERR, IBV_WR_RDMA_READ, SINK},
	{"the peer's queue pair does not accept requests of this kind", 0x8a,
		IBV_WC_REM_INV_REQ_ERR, IBV_WR_RDMA_WRITE, QP_RIGHT},
	{"the lowest 8 bits of the key are not the current ones", 0x88, IBV_WC_REM_ACCESS_ERR,
		IBV_WR_RDMA_WRITE, NO_RKEY},
	{"no peer had answered when the retries ended", 0x81, IBV_WC_RETRY_EXC_ERR,
		IBV_WR_RDMA_WRITE, NO_PEER},
	{"the peer had posted no receive when the retries ended", 0x87, IBV_WC_RNR_RETRY_EXC_ERR,
		IBV_WR_SEND, NO_RECEIVE},
	{"the key belongs to another protection domain", 0x78, IBV_WC_MW_BIND_ERR, IBV_WR_SEND,
		UMR},
};

/* Posts a UMR for a key of another PD. */
static void
post_umr(struct pair *p)
{
	struct pair_end *e = &p->client;
	struct ibv_sge sge = {(uintptr_t)e->buf, LEN, e->mr->lkey};
	struct mlx5dv_mkey_init_attr attr = {.pd = ibv_alloc_pd(p->ctx),
		.max_entries = 4,
		.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT};
	struct mlx5dv_mkey *mkey = mlx5dv_create_mkey(&attr);

	CHECK(mkey != NULL);
	pair_publish(e);
	ibv_wr_start(e->qpx);
	e->qpx->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	mlx5dv_wr_mr_list(e->dvx, mkey, IBV_ACCESS_LOCAL_WRITE, 1, &sge);
	CHECK_EQ(ibv_wr_complete(e->qpx), 0);
}

static void
post(struct pair *p, const struct failure *f)
{
	struct pair_end *e = &p->client;
	struct ibv_sge sge = {(uintptr_t)e->buf, LEN, e->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
		.num_sge = 1,
		.opcode = f->opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {.remote_addr = (uintptr_t)p->server.buf, .rkey = p->server.mr->rkey}};
	struct ibv_send_wr *bad;
	struct ibv_mr *mr;

	if (f->wrong == NO_LKEY)
		sge.lkey = 0xffff00;
	if (f->wrong == SINK) {
		mr = ibv_reg_mr(p->pd, e->buf, LEN, 0);
		CHECK(mr != NULL);
		sge.lkey = mr->lkey;
	}
	if (f->wrong == BEYOND)
		sge.addr += PAIR_BUF - LEN + 1;
	if (f->wrong == NO_RKEY)
		wr.wr.rdma.rkey ^= 1;
	if (f->wrong == NO_PEER)
		CHECK_EQ(pair_modify(&p->server, IBV_QPS_ERR), 0);
	pair_publish(e);
	CHECK_EQ(ibv_post_send(e->qp, &wr, &bad), 0);
}

static void
fail(const struct failure *f)
{
	struct ibv_wc wc;
	struct pair p;

	pair_init(&p, &(struct pair_opts){.keys = true,
			      LATE,
			      .rnr_retry = 1,
			      .qp_access = f->wrong == QP_RIGHT ? PAIR_NONE : 0});
	if (f->wrong == UMR)
		post_umr(&p);
	else
		post(&p, f);
	wc = pair_wait(&p.client);
	CHECK_EQ(wc.status, f->status, f->check);
	CHECK_EQ(wc.vendor_err, f->vendor, f->check);
}

/* Causes each failure twice; the second must not be logged. */
static void
case_failures(void)
{
	int err = memfd_create("stderr", 0), status;
	static char text[16384], line[256];
	pid_t child = fork();

	CHECK(err >= 0 && child >= 0);
	if (child == 0) {
		CHECK_EQ(dup2(err, STDERR_FILENO), STDERR_FILENO);
		for (size_t i = 0; i < 2 * (sizeof(failures) / sizeof(failures[0])); i++)
			fail(&failures[i / 2]);
		_exit(check_failures == 0 ? 0 : 1);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(pread(err, text, sizeof(text) - 1, 0) >= 0);
	CHECK(status == 0, "%s", text);
	for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
		const char *first;

		snprintf(line, sizeof(line), "vendor syndrome 0x%02x: %s", failures[i].vendor,
			failures[i].check);
		first = strstr(text, line);
		CHECK(first != NULL, "no \"%s\" in:\n%s", line, text);
		CHECK(first == NULL || strstr(first + 1, line) == NULL, "twice: %s", line);
	}
}

int
main(int argc, char **argv)
{
	static const struct check_case cases[] = {
		{"a failure has a card's vendor syndrome, and its check is named once",
			case_failures},
	};

	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
