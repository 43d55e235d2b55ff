/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults on demand, seen through stock libibverbs. */
#include <fcntl.h>

#include "softhca_faults.h"

static struct pair p;

static void
write_one(uint64_t id)
{
	faults_post(&p, id, IBV_WR_RDMA_WRITE);
}

static void
expect(uint64_t id, enum ibv_wc_status status)
{
	faults_expect(&p.client, id, status);
}

static enum ibv_qp_state
client_state(void)
{
	return pair_state(p.client.qp);
}

static enum ibv_port_state
port_state(void)
{
	struct ibv_port_attr attr;

	CHECK_EQ(ibv_query_port(p.ctx, 1, &attr), 0);
	return attr.state;
}

static void
begin(void)
{
	/* The retries end after 4.096 us * 2^8 * 2. */
	pair_init(&p, &(struct pair_opts){.timeout = 8, .retry_cnt = 1});
}

static void
end(void)
{
	CHECK_EQ(softhca_faults_left(), 0);
	softhca_faults_clear();
	pair_fini(&p);
}

/*
 * Any operation must be able to complete with any syndrome of mlx5dv.h. libmlx5 must return the
 * status for this syndrome (ibv_poll_cq(3)).
 */
static void
case_syndromes(void)
{
	static const struct {
		unsigned int syndrome;
		enum ibv_wc_status status;
	} known[] = {
		{MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR, IBV_WC_LOC_LEN_ERR},
		{MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR, IBV_WC_LOC_QP_OP_ERR},
		{MLX5_CQE_SYNDROME_LOCAL_PROT_ERR, IBV_WC_LOC_PROT_ERR},
		{MLX5_CQE_SYNDROME_MW_BIND_ERR, IBV_WC_MW_BIND_ERR},
		{MLX5_CQE_SYNDROME_BAD_RESP_ERR, IBV_WC_BAD_RESP_ERR},
		{MLX5_CQE_SYNDROME_LOCAL_ACCESS_ERR, IBV_WC_LOC_ACCESS_ERR},
		{MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR, IBV_WC_REM_INV_REQ_ERR},
		{MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR},
		{MLX5_CQE_SYNDROME_REMOTE_OP_ERR, IBV_WC_REM_OP_ERR},
		{MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR, IBV_WC_RETRY_EXC_ERR},
		{MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR, IBV_WC_RNR_RETRY_EXC_ERR},
		{MLX5_CQE_SYNDROME_REMOTE_ABORTED_ERR, IBV_WC_REM_ABORT_ERR},
		{0x77, IBV_WC_GENERAL_ERR},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		char line[80];
		struct ibv_wc wc;

		begin();
		snprintf(line, sizeof(line), "complete syndrome=0x%x vendor=0x9%zx op=3 qp=%u",
			known[i].syndrome, i, p.client.qp->qp_num);
		fault(line);
		memset(p.server.buf, 0, 64);
		for (uint64_t id = 1; id <= 4; id++)
			write_one(id);
		expect(1, IBV_WC_SUCCESS);
		expect(2, IBV_WC_SUCCESS);
		wc = pair_wait(&p.client);
		CHECK_EQ(wc.wr_id, 3);
		CHECK_EQ(wc.status, known[i].status);
		CHECK_EQ(wc.vendor_err, 0x90 + i);
		expect(4, IBV_WC_WR_FLUSH_ERR);
		CHECK_EQ(client_state(), IBV_QPS_ERR);
		end();
	}
}

/*
 * On a QP without streams, the syndrome 0x05 ("flushed") must move the QP to error, as any other
 * syndrome does.
 */
static void
case_flushed_behind_nobody(void)
{
	begin();
	fault("complete syndrome=0x05");
	write_one(1);
	write_one(2);
	expect(1, IBV_WC_WR_FLUSH_ERR);
	expect(2, IBV_WC_WR_FLUSH_ERR);
	CHECK_EQ(client_state(), IBV_QPS_ERR);
	end();
}

static void
case_failed_does_not_run(void)
{
	begin();
	fault("complete syndrome=0x13");
	memset(p.client.buf, 0xab, 64);
	write_one(1);
	expect(1, IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(p.server.buf[0], 0);
	end();
}

static void
case_other_qp(void)
{
	char line[80];

	begin();
	snprintf(line, sizeof(line), "complete syndrome=4 qp=%u", p.server.qp->qp_num);
	fault(line);
	write_one(1);
	expect(1, IBV_WC_SUCCESS);
	CHECK_EQ(softhca_faults_left(), 1);
	softhca_faults_clear();
	end();
}

/*
 * Two adapters, and a fault of one adapter: the fault must not apply to operations on the other
 * adapter, and must not count them. A fault without `device` belongs to mlx5_0.
 */
static void
case_other_adapter(void)
{
	static const struct {
		const char *line;
		/*
		 * Status of the operation to which the fault applies; IBV_WC_SUCCESS: it may
		 * complete late.
		 */
		enum ibv_wc_status status;
		int event; /* event of the adapter to which the fault applies; 0: none */
	} kinds[] = {
		{"complete syndrome=0x13", IBV_WC_REM_ACCESS_ERR, 0},
		{"late ms=1", IBV_WC_SUCCESS, 0},
		{"qp_fatal", IBV_WC_WR_FLUSH_ERR, IBV_EVENT_QP_FATAL},
		{"recv_complete syndrome=0x4", IBV_WC_REM_OP_ERR, 0},
		{"recv_late ms=1", IBV_WC_SUCCESS, 0},
		{"port_down", IBV_WC_RETRY_EXC_ERR, IBV_EVENT_PORT_ERR},
	};
	struct ibv_pd *pd;
	struct pair two[2];
	char line[80];

	for (unsigned int i = 0; i < 2 * sizeof(kinds) / sizeof(kinds[0]); i++) {
		const unsigned int hit = i % 2, spared = !hit, k = i / 2;

		for (unsigned int d = 0; d < 2; d++)
			pair_init(&two[d],
				&(struct pair_opts){.timeout = 8, .retry_cnt = 1, .device = d});
		snprintf(line, sizeof(line), "%s op=2%s", kinds[k].line,
			hit == 1 ? " device=1" : "");
		fault(line);
		for (uint64_t id = 1; id <= 3; id++) {
			pair_post_recv(&two[spared].server, id, 0, 64);
			faults_post(&two[spared], id, IBV_WR_SEND);
			faults_expect(&two[spared].client, id, IBV_WC_SUCCESS);
		}
		CHECK_EQ(softhca_faults_left(), 1);
		pair_post_recv(&two[hit].server, 1, 0, 64);
		pair_post_recv(&two[hit].server, 2, 0, 64);
		faults_post(&two[hit], 1, IBV_WR_SEND);
		faults_expect(&two[hit].client, 1, IBV_WC_SUCCESS);
		CHECK_EQ(softhca_faults_left(), 1);
		faults_post(&two[hit], 2, IBV_WR_SEND);
		faults_expect(&two[hit].client, 2, kinds[k].status);
		CHECK_EQ(softhca_faults_left(), 0);
		if (kinds[k].event != 0)
			CHECK_EQ(pair_async(&two[hit], PAIR_PATIENCE_MS), kinds[k].event);
		CHECK_EQ(pair_async(&two[spared], 0), -1);
		softhca_faults_clear();
		/* A fault that applies to a control call. */
		snprintf(line, sizeof(line), "refuse call=alloc_pd errno=28%s",
			hit == 1 ? " device=1" : "");
		fault(line);
		pd = ibv_alloc_pd(two[spared].ctx);
		CHECK(pd != NULL);
		CHECK_EQ(ibv_dealloc_pd(pd), 0);
		errno = 0;
		CHECK(ibv_alloc_pd(two[hit].ctx) == NULL);
		CHECK_EQ(errno, ENOSPC);
		for (unsigned int d = 0; d < 2; d++)
			pair_fini(&two[d]);
	}
	CHECK_EQ(softhca_faults_left(), 0);
}

/* One adapter fails; the other adapter continues. */
static void
case_one_dies(void)
{
	struct pair two[2];

	for (unsigned int hit = 0; hit < 2; hit++) {
		for (unsigned int d = 0; d < 2; d++)
			pair_init(&two[d], &(struct pair_opts){.device = d});
		fault(hit == 0 ? "device_fatal" : "device_fatal device=1");
		CHECK_EQ(pair_async(&two[hit], PAIR_PATIENCE_MS), IBV_EVENT_DEVICE_FATAL);
		faults_post(&two[hit], 1, IBV_WR_RDMA_WRITE);
		pair_expect_none(&two[hit].client);
		CHECK(ibv_alloc_pd(two[hit].ctx) == NULL);
		faults_post(&two[!hit], 1, IBV_WR_RDMA_WRITE);
		faults_expect(&two[!hit].client, 1, IBV_WC_SUCCESS);
		CHECK_EQ(pair_async(&two[!hit], 0), -1);
		for (unsigned int d = 0; d < 2; d++)
			pair_fini(&two[d]);
		softhca_faults_clear();
	}
}

static enum ibv_port_state
state_of(struct pair *pair, uint8_t port)
{
	struct ibv_port_attr attr;

	CHECK_EQ(ibv_query_port(pair->ctx, port, &attr), 0);
	return attr.state;
}

/*
 * Two adapters with four ports: first one port is down, then two ports, of which one comes up
 * again. A port that is down must affect only its own QPs. Peers are on ports 1.
 */
static void
case_other_port(void)
{
	struct pair two[2];
	char line[80];

	for (unsigned int d = 0; d < 2; d++)
		pair_init(&two[d], &(struct pair_opts){.timeout = 8, .retry_cnt = 1, .device = d});
	for (unsigned int hit = 0; hit < 4; hit++) {
		const unsigned int device = hit / 2, port = 1 + hit % 2;

		snprintf(line, sizeof(line), "port_down device=%u port=%u", device, port);
		fault(line);
		CHECK_EQ(pair_async(&two[device], PAIR_PATIENCE_MS), IBV_EVENT_PORT_ERR);
		for (unsigned int look = 0; look < 4; look++)
			CHECK_EQ(state_of(&two[look / 2], (uint8_t)(1 + look % 2)),
				look == hit ? IBV_PORT_DOWN : IBV_PORT_ACTIVE);
		for (unsigned int d = 0; d < 2; d++) {
			if (d == device && port == 1)
				continue;
			faults_post(&two[d], 1, IBV_WR_RDMA_WRITE);
			faults_expect(&two[d].client, 1, IBV_WC_SUCCESS);
		}
		/*
		 * The other port of the adapter goes down and comes up, which must not affect the
		 * peers.
		 */
		snprintf(line, sizeof(line), "port_down device=%u port=%u", device, 3 - port);
		fault(line);
		CHECK_EQ(pair_async(&two[device], PAIR_PATIENCE_MS), IBV_EVENT_PORT_ERR);
		snprintf(line, sizeof(line), "port_up device=%u port=%u", device, 3 - port);
		fault(line);
		CHECK_EQ(pair_async(&two[device], PAIR_PATIENCE_MS), IBV_EVENT_PORT_ACTIVE);
		CHECK_EQ(state_of(&two[device], (uint8_t)port), IBV_PORT_DOWN);
		CHECK_EQ(state_of(&two[device], (uint8_t)(3 - port)), IBV_PORT_ACTIVE);
		snprintf(line, sizeof(line), "port_up device=%u port=%u", device, port);
		fault(line);
		CHECK_EQ(pair_async(&two[device], PAIR_PATIENCE_MS), IBV_EVENT_PORT_ACTIVE);
		CHECK_EQ(pair_async(&two[!device], 0), -1);
	}
	for (unsigned int d = 0; d < 2; d++)
		pair_fini(&two[d]);
}

/*
 * Each port must come up after the time that its fault names. Without a time, the port must stay
 * down.
 */
static void
case_each_up_in_time(void)
{
	struct pair two[2];

	for (unsigned int d = 0; d < 2; d++)
		pair_init(&two[d], &(struct pair_opts){.device = d});
	fault("port_down device=0 port=1");
	fault("port_down device=0 port=2 ms=20");
	fault("port_down device=1 port=1 ms=40");
	fault("port_down device=1 port=2 ms=30");
	for (unsigned int d = 0; d < 2; d++) {
		unsigned int downs = 0, ups = 0;

		while (downs + ups < 3 + d) {
			int event = pair_async(&two[d], PAIR_PATIENCE_MS);

			CHECK(event == IBV_EVENT_PORT_ERR || event == IBV_EVENT_PORT_ACTIVE);
			downs += event == IBV_EVENT_PORT_ERR;
			ups += event == IBV_EVENT_PORT_ACTIVE;
		}
		CHECK(downs == 2 && ups == 1 + d);
	}
	for (unsigned int look = 0; look < 4; look++)
		CHECK_EQ(state_of(&two[look / 2], (uint8_t)(1 + look % 2)),
			look == 0 ? IBV_PORT_DOWN : IBV_PORT_ACTIVE);
	CHECK_EQ(pair_async(&two[0], 60), -1);
	softhca_faults_clear();
	for (unsigned int d = 0; d < 2; d++)
		pair_fini(&two[d]);
}

/* Only one fault may apply to an operation: the first matching fault in the list. */
static void
case_first_of_two(void)
{
	begin();
	fault("drop times=2");
	fault("complete syndrome=0x13");
	write_one(1);
	write_one(2);
	pair_expect_none(&p.client);
	CHECK_EQ(softhca_faults_left(), 1);
	write_one(3);
	expect(3, IBV_WC_REM_ACCESS_ERR);
	end();
}

/*
 * A fault has two conditions: it names a QP, and it applies to several operations in a row from the
 * third on. It must count only operations of this QP.
 */
static void
case_times_of_one_qp(void)
{
	struct pair other;
	char line[80];

	begin();
	pair_init(&other, NULL);
	snprintf(line, sizeof(line), "drop op=3 times=2 qp=%u", p.client.qp->qp_num);
	fault(line);
	for (uint64_t id = 1; id <= 6; id++) {
		faults_post(&other, id, IBV_WR_RDMA_WRITE);
		faults_expect(&other.client, id, IBV_WC_SUCCESS);
		write_one(id);
		if (id == 3 || id == 4)
			pair_expect_none(&p.client);
		else
			expect(id, IBV_WC_SUCCESS);
		CHECK_EQ(softhca_faults_left(), id < 4);
	}
	pair_fini(&other);
	end();
}

static void
case_drop(void)
{
	begin();
	fault("drop op=2 times=2");
	memset(p.client.buf, 0x33, 64);
	for (uint64_t id = 1; id <= 4; id++)
		write_one(id);
	expect(1, IBV_WC_SUCCESS);
	expect(4, IBV_WC_SUCCESS);
	pair_expect_none(&p.client);
	CHECK_EQ(p.server.buf[63], 0x33); /* the write was executed */
	end();
}

static void
case_late(void)
{
	begin();
	fault("late ms=60 op=2"); /* test_softhca_waits tests the exact delay */
	write_one(1);
	write_one(2);
	write_one(3);
	expect(1, IBV_WC_SUCCESS);
	expect(2, IBV_WC_SUCCESS);
	expect(3, IBV_WC_SUCCESS);
	end();
}

static void
case_qp_fatal(void)
{
	begin();
	fault("qp_fatal op=2");
	write_one(1);
	expect(1, IBV_WC_SUCCESS);
	memset(p.client.buf, 0xab, 64);
	write_one(2);
	expect(2, IBV_WC_WR_FLUSH_ERR);
	CHECK_EQ(p.server.buf[0], 0); /* the operation was not executed */
	CHECK_EQ(pair_async(&p, PAIR_PATIENCE_MS), IBV_EVENT_QP_FATAL);
	CHECK_EQ(client_state(), IBV_QPS_ERR);
	end();
}

static void
case_cq_overrun(void)
{
	unsigned int events[32] = {0};
	struct ibv_qp *other;

	begin();
	/* A second QP that uses the same CQ, only for receives. */
	other = ibv_create_qp(p.pd, &(struct ibv_qp_init_attr){.send_cq = p.server.cq,
					    .recv_cq = p.client.cq,
					    .qp_type = IBV_QPT_UD,
					    .cap = {1, 1, 1, 1, 0}});
	CHECK(other != NULL);
	CHECK_EQ(qp_take(other, K_UD, (struct ibv_qp_attr){.port_num = 1}, IBV_QPS_INIT,
			 IBV_QPS_RTS),
		0);
	fault("cq_overrun op=2");
	write_one(1);
	expect(1, IBV_WC_SUCCESS);
	memset(p.client.buf, 0xab, 64);
	write_one(2);
	for (int i = 0; i < 3; i++)
		events[pair_async(&p, PAIR_PATIENCE_MS)]++;
	CHECK_EQ(events[IBV_EVENT_CQ_ERR], 1);
	CHECK_EQ(events[IBV_EVENT_QP_FATAL], 2);
	CHECK_EQ(client_state(), IBV_QPS_ERR);
	CHECK_EQ(pair_state(other), IBV_QPS_ERR);
	CHECK_EQ(pair_state(p.server.qp), IBV_QPS_RTS);
	CHECK_EQ(p.server.buf[0], 0); /* the operation was not executed */
	pair_expect_none(&p.client);
	CHECK_EQ(ibv_destroy_qp(other), 0);
	end();
}

static void
case_sq_drained(void)
{
	begin();
	fault("sq_drained op=2");
	write_one(1);
	write_one(2);
	expect(1, IBV_WC_SUCCESS);
	CHECK_EQ(pair_async(&p, PAIR_PATIENCE_MS), IBV_EVENT_SQ_DRAINED);
	CHECK_EQ(client_state(), IBV_QPS_SQD);
	pair_expect_none(&p.client);
	CHECK_EQ(pair_modify(&p.client, IBV_QPS_RTS), 0);
	expect(2, IBV_WC_SUCCESS);
	end();
}

static void
case_port(void)
{
	begin();
	CHECK_EQ(port_state(), IBV_PORT_ACTIVE);
	fault("port_down");
	CHECK_EQ(pair_async(&p, PAIR_PATIENCE_MS), IBV_EVENT_PORT_ERR);
	CHECK_EQ(port_state(), IBV_PORT_DOWN);
	fault("port_up");
	CHECK_EQ(pair_async(&p, PAIR_PATIENCE_MS), IBV_EVENT_PORT_ACTIVE);
	CHECK_EQ(port_state(), IBV_PORT_ACTIVE);
	write_one(1);
	expect(1, IBV_WC_SUCCESS);
	/* The port is down for longer than the time of all retries. */
	fault("port_down op=2");
	write_one(2);
	write_one(3);
	expect(2, IBV_WC_SUCCESS);
	expect(3, IBV_WC_RETRY_EXC_ERR);
	CHECK_EQ(pair_async(&p, PAIR_PATIENCE_MS), IBV_EVENT_PORT_ERR);
	fault("port_up");
	CHECK_EQ(pair_async(&p, PAIR_PATIENCE_MS), IBV_EVENT_PORT_ACTIVE);
	end();
}

/*
 * Operations inside the adapter need no link: while the port is down, it must be possible to bind a
 * memory window.
 */
static void
case_port_down_umr(void)
{
	struct ibv_mw_bind bind = {.wr_id = 1, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_mw *mw;

	pair_init(&p, &(struct pair_opts){.timeout = 8,
			      .retry_cnt = 1,
			      .access = PAIR_ALL | IBV_ACCESS_MW_BIND});
	mw = ibv_alloc_mw(p.pd, IBV_MW_TYPE_1);
	CHECK(mw != NULL);
	bind.bind_info = (struct ibv_mw_bind_info){p.client.mr, (uintptr_t)p.client.buf, 4096,
		IBV_ACCESS_REMOTE_READ};
	fault("port_down");
	CHECK_EQ(pair_async(&p, PAIR_PATIENCE_MS), IBV_EVENT_PORT_ERR);
	pair_publish(&p.client);
	CHECK_EQ(ibv_bind_mw(p.client.qp, mw, &bind), 0);
	expect(1, IBV_WC_SUCCESS);
	write_one(2);
	expect(2, IBV_WC_RETRY_EXC_ERR);
	fault("port_up");
	CHECK_EQ(pair_async(&p, PAIR_PATIENCE_MS), IBV_EVENT_PORT_ACTIVE);
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
	end();
}

static void
case_port_blinks(void)
{
	pair_init(&p, &(struct pair_opts){.timeout = 20}); /* 4 s for each retry */
	fault("port_down ms=30 op=1");
	write_one(1);
	CHECK_EQ(pair_async(&p, PAIR_PATIENCE_MS), IBV_EVENT_PORT_ERR);
	CHECK_EQ(pair_async(&p, PAIR_PATIENCE_MS), IBV_EVENT_PORT_ACTIVE);
	expect(1, IBV_WC_SUCCESS);
	end();
}

static void
case_device_fatal(void)
{
	begin();
	fault("device_fatal op=2");
	write_one(1);
	write_one(2);
	expect(1, IBV_WC_SUCCESS);
	CHECK_EQ(pair_async(&p, PAIR_PATIENCE_MS), IBV_EVENT_DEVICE_FATAL);
	pair_expect_none(&p.client);
	errno = 0;
	CHECK(ibv_alloc_pd(p.ctx) == NULL);
	CHECK_EQ(errno, EIO);
	/* The objects of the failed adapter can be destroyed. */
	pair_fini(&p);
	softhca_faults_clear();
	begin();
	write_one(1);
	expect(1, IBV_WC_SUCCESS);
	end();
}

static void
case_refused(void)
{
	struct ibv_mr *mr;
	struct ibv_pd *pd;

	begin();
	fault("refuse call=alloc_pd errno=12 op=2");
	fault("refuse call=reg_mr errno=11");
	pd = ibv_alloc_pd(p.ctx);
	CHECK(pd != NULL);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	errno = 0;
	CHECK(ibv_alloc_pd(p.ctx) == NULL);
	CHECK_EQ(errno, ENOMEM);
	errno = 0;
	CHECK(ibv_reg_mr(p.pd, p.client.buf, 64, 0) == NULL);
	CHECK_EQ(errno, EAGAIN);
	mr = ibv_reg_mr(p.pd, p.client.buf, 64, 0);
	CHECK(mr != NULL);
	fault("refuse call=dereg_mr errno=16");
	CHECK_EQ(ibv_dereg_mr(mr), EBUSY);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	fault("refuse call=modify_qp errno=22");
	CHECK_EQ(pair_modify(&p.client, IBV_QPS_ERR), EINVAL);
	fault("refuse call=create_cq errno=28");
	errno = 0;
	CHECK(ibv_create_cq(p.ctx, 4, NULL, NULL, 0) == NULL);
	CHECK_EQ(errno, ENOSPC);
	fault("refuse call=alloc_pd errno=12 op=2 times=2");
	for (unsigned int i = 1; i <= 4; i++) {
		pd = ibv_alloc_pd(p.ctx);
		CHECK_EQ(pd != NULL, i == 1 || i == 4);
		if (pd != NULL)
			CHECK_EQ(ibv_dealloc_pd(pd), 0);
	}
	/*
	 * Only the first fault in the list may be applied to a call, and not also the second fault.
	 */
	fault("refuse call=alloc_pd errno=12 times=2");
	fault("refuse call=alloc_pd errno=13 times=2");
	for (unsigned int i = 0; i < 4; i++) {
		CHECK_EQ(softhca_faults_left(), i < 2 ? 2 : 1);
		CHECK(ibv_alloc_pd(p.ctx) == NULL);
		CHECK_EQ(errno, i < 2 ? ENOMEM : EACCES);
	}
	CHECK_EQ(softhca_faults_left(), 0);
	/* This fault counts control calls, and work requests are not control calls. */
	fault("refuse call=alloc_pd errno=13");
	fault("drop op=1000");
	pd = ibv_alloc_pd(p.ctx);
	CHECK(pd == NULL && errno == EACCES);
	fault("refuse call=alloc_pd errno=13");
	write_one(5);
	expect(5, IBV_WC_SUCCESS);
	CHECK(ibv_alloc_pd(p.ctx) == NULL);
	CHECK_EQ(errno, EACCES);
	softhca_faults_clear();
	fault("refuse call=destroy_qp errno=16");
	CHECK_EQ(ibv_destroy_qp(p.client.qp), EBUSY);
	end();
}

/* ---- malformed lines, and the control file */

static int saved_stderr = -1;
static char captured[4096];

static void
capture_begin(void)
{
	FILE *f = tmpfile();

	CHECK(f != NULL);
	fflush(stderr);
	saved_stderr = dup(2);
	CHECK(dup2(fileno(f), 2) == 2);
	fclose(f);
}

static void
capture_end(void)
{
	ssize_t n = pread(2, captured, sizeof(captured) - 1, 0);

	CHECK(n >= 0);
	captured[n] = '\0';
	CHECK(dup2(saved_stderr, 2) == 2);
	close(saved_stderr);
}

static void
case_malformed(void)
{
	static const struct {
		const char *line, *says;
	} bad[] = {
		{"explode", "no fault \"explode\"; there are: complete drop"},
		{"complete", "incomplete; it is: complete syndrome=1..255"},
		{"complete syndrome=256", "syndrome=256: not a number from 1 to 255"},
		{"complete syndrome=4x", "syndrome=4x: not a number"},
		{"complete syndrome=-4", "syndrome=-4: not a number"},
		{"complete syndrome", "\"syndrome\" is not NAME=VALUE"},
		{"drop op=0", "op=0: not a number from 1"},
		{"drop ms=4", "\"ms\" is not a part of: drop"},
		{"late", "incomplete; it is: late ms=N"},
		{"refuse call=fly errno=1", "no call \"fly\"; there are: alloc_pd"},
		{"refuse call=reg_mr", "incomplete; it is: refuse"},
		{"port_down port=3", "port=3: not a number from 1 to 2"},
		/* meson.build starts this program with two adapters. */
		{"drop device=2", "device=2: there is no mlx5_2: the setting devices is 2"},
		{"device_fatal device=8", "device=8: not a number from 0 to 7"},
	};
	int comment, empty;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int rc;

		capture_begin();
		rc = softhca_fault(bad[i].line);
		capture_end();
		CHECK_EQ(rc, -EINVAL);
		if (strstr(captured, bad[i].says) == NULL)
			fprintf(stderr, "%s: %s", bad[i].line, captured);
		CHECK(strstr(captured, bad[i].says) != NULL);
		CHECK(strstr(captured, bad[i].line) != NULL);
	}
	capture_begin();
	comment = softhca_fault("  # nothing");
	empty = softhca_fault("");
	capture_end();
	CHECK_EQ(comment, 0);
	CHECK_EQ(empty, 0);
	CHECK(captured[0] == '\0');
	CHECK_EQ(softhca_faults_left(), 0);
}

/*
 * softhca.h: clearing the faults must bring the ports and the device back, and must remove events
 * that were not delivered.
 */
static void
case_clear(void)
{
	struct ibv_pd *pd;

	begin();
	fault("port_down");
	CHECK_EQ(port_state(), IBV_PORT_DOWN);
	softhca_faults_clear();
	CHECK_EQ(port_state(), IBV_PORT_ACTIVE);
	/*
	 * A device thread may already have reported that the port is down. The port comes up again
	 * without an event.
	 */
	if (pair_is_pumped())
		CHECK_EQ(pair_async(&p, 0), -1);
	while (pair_async(&p, 20) == IBV_EVENT_PORT_ERR)
		;
	CHECK_EQ(pair_async(&p, 0), -1);
	fault("device_fatal");
	CHECK(ibv_alloc_pd(p.ctx) == NULL);
	softhca_faults_clear();
	pd = ibv_alloc_pd(p.ctx);
	CHECK(pd != NULL);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	write_one(1);
	expect(1, IBV_WC_SUCCESS);
	end();
}

/*
 * Values outside their range must be refused. The ranges are those of doc/softhca-faults.md and
 * of the text of the error.
 */
static void
case_ranges(void)
{
	static const struct {
		const char *line, *key;
		unsigned long long min, max;
	} ranges[] = {
		{"complete op=9", "syndrome", 1, 255},
		{"complete op=9 syndrome=4", "vendor", 0, 255},
		{"recv_complete op=9", "syndrome", 1, 255},
		{"recv_complete op=9 syndrome=4", "vendor", 0, 255},
		{"late op=9", "ms", 1, 3600000},
		{"recv_late op=9", "ms", 1, 3600000},
		{"drop", "op", 1, 0xffffffffffffffff},
		{"drop op=9", "times", 1, 0xffffffffffffffff},
		{"drop op=9", "qp", 1, 0xffffff},
		{"drop op=9", "device", 0, 1}, /* exceeds the two devices of this process */
		{"port_down op=9", "port", 1, 2},
		{"port_down op=9", "ms", 1, 3600000},
		{"refuse op=9 call=reg_mr", "errno", 1, 133},
		{"refuse op=9 errno=5 call=devx_query", "opcode", 1, 0xffff},
	};
	char line[128];

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		const unsigned long long min = ranges[i].min, max = ranges[i].max;
		/*
		 * min - 1 is left out if min is 0, and max + 1 is left out if max is the largest
		 * number.
		 */
		const unsigned long long values[] = {min, max, min == 0 ? 1 : min - 1,
			max + 1 == 0 ? 1 : max + 1};

		for (size_t j = 0; j < 4; j++) {
			bool good = values[j] >= min && values[j] <= max;
			int rc;

			snprintf(line, sizeof(line), "%s %s=%llu", ranges[i].line, ranges[i].key,
				values[j]);
			rc = softhca_fault(line);
			if (rc != (good ? 0 : -EINVAL))
				fprintf(stderr, "%s\n", line);
			CHECK_EQ(rc, good ? 0 : -EINVAL);
			CHECK_EQ(softhca_faults_left(), good);
			softhca_faults_clear();
		}
	}
}

/* A line of more than 255 bytes must be refused, and so must a 65th armed fault. */
static void
case_many(void)
{
	char line[300];

	memset(line, ' ', sizeof(line));
	memcpy(line, "drop op=9", 9);
	line[255] = '\0';
	CHECK_EQ(softhca_fault(line), 0);
	line[255] = ' ';
	line[256] = '\0';
	CHECK_EQ(softhca_fault(line), -EINVAL);
	for (int i = 1; i < 64; i++)
		CHECK_EQ(softhca_fault("drop op=9"), 0);
	CHECK_EQ(softhca_faults_left(), 64);
	CHECK_EQ(softhca_fault("drop op=9"), -ENOSPC);
	CHECK_EQ(softhca_faults_left(), 64);
	softhca_faults_clear();
	CHECK_EQ(softhca_faults_left(), 0);
}

enum {
	OP = 1,
	TIMES = 2,
	QP = 4,
	SYNDROME = 8,
	VENDOR = 16,
	MS = 32,
	PORT = 64,
	DEVICE = 128,
	ERRNO = 256,
	CALL = 512,
	OF_OP = OP | TIMES | QP | DEVICE
};
static const char *const parts[] = {" op=9", " times=1", " qp=1", " syndrome=4", " vendor=4",
	" ms=1", " port=1", " device=0", " errno=5", " call=reg_mr"};
/*
 * For each kind of fault, from the grammar in doc/softhca-faults.md: the allowed parts and the
 * required parts.
 */
static const struct {
	const char *name;
	unsigned int may, must;
} kinds[] = {
	{"complete", OF_OP | SYNDROME | VENDOR, SYNDROME},
	{"drop", OF_OP, 0},
	{"late", OF_OP | MS, MS},
	{"recv_complete", OF_OP | SYNDROME | VENDOR, SYNDROME},
	{"recv_drop", OF_OP, 0},
	{"recv_late", OF_OP | MS, MS},
	{"qp_fatal", OF_OP, 0},
	{"cq_overrun", OF_OP, 0},
	{"sq_drained", OF_OP, 0},
	{"port_down", OP | QP | MS | PORT | DEVICE, 0},
	{"port_up", PORT | DEVICE, 0},
	{"device_fatal", OP | QP | DEVICE, 0},
	{"refuse", CALL | ERRNO | OP | TIMES | DEVICE, CALL | ERRNO},
};

/* Each kind of fault allows certain parts. Other parts are refused. */
static void
case_parts(void)
{
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		for (unsigned int part = 0; part < 10; part++) {
			const unsigned int must = kinds[k].must | (kinds[k].may & OP),
					   bit = 1u << part;
			char line[128], *end = line;

			end += sprintf(end, "%s", kinds[k].name);
			for (unsigned int i = 0; i < 10; i++)
				if (((must | bit) & 1u << i) != 0)
					end += sprintf(end, "%s", parts[i]);
			if (softhca_fault(line) != ((kinds[k].may & bit) != 0 ? 0 : -EINVAL))
				CHECK(!"a part of a fault");
			softhca_faults_clear();
			/* Without one of the required parts. */
			end = line + sprintf(line, "%s op=9", kinds[k].name);
			for (unsigned int i = 1; i < 10; i++)
				if ((kinds[k].must & ~bit & 1u << i) != 0)
					end += sprintf(end, "%s", parts[i]);
			if ((kinds[k].must & bit) != 0)
				CHECK_EQ(softhca_fault(line), -EINVAL);
		}
	}
}

/*
 * The text of an error must show the form of the line, and must name each part that the line may
 * have.
 */
static void
case_parts_are_named(void)
{
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		char line[128];

		snprintf(line, sizeof(line), "%s colour=3", kinds[k].name);
		capture_begin();
		(void)softhca_fault(line);
		capture_end();
		for (unsigned int part = 0; part < 10; part++) {
			/* In " op=9", the name of the part is before '='. */
			const int len = (int)strcspn(parts[part], "=");
			char bare[16], in_brackets[20];

			snprintf(bare, sizeof(bare), "%.*s=", len, parts[part]);
			snprintf(in_brackets, sizeof(in_brackets), " [%s", bare + 1);
			CHECK_EQ(strstr(captured, bare) != NULL ||
					 strstr(captured, in_brackets) != NULL,
				(kinds[k].may >> part & 1) != 0, kinds[k].name);
		}
	}
}

static void
case_file(void)
{
	begin();
	faults_write("# two\ncomplete syndrome=0x13 op=2 # the second\n\ndrop\n");
	faults_await(2);
	write_one(1);
	pair_expect_none(&p.client);
	write_one(2);
	expect(2, IBV_WC_REM_ACCESS_ERR);
	/* The fault applies at once: a control call reads the file itself. */
	faults_write("refuse call=alloc_pd errno=12\n");
	errno = 0;
	CHECK(ibv_alloc_pd(p.ctx) == NULL);
	CHECK_EQ(errno, ENOMEM);
	/* Faults that were removed from the file are disarmed. */
	faults_write("drop op=100\nlate ms=1 op=100\n");
	faults_await(2);
	faults_write("");
	faults_await(0);
	end();
}

/*
 * A control file that is overwritten in place must be read again. Such a file keeps its inode, and
 * may keep its length and the second of its last change. The pause is longer than a kernel tick,
 * which is the resolution of the file's modification time.
 */
static void
case_file_in_its_place(void)
{
	static const char *const texts[] = {"drop op=9\n#########\n", "drop op=9\ndrop op=8\n"};

	CHECK_EQ(strlen(texts[0]), strlen(texts[1]));
	begin();
	for (unsigned int i = 0; i < 10; i++) {
		int fd = open(fault_file, O_WRONLY | O_TRUNC);

		CHECK(fd >= 0);
		CHECK_EQ(write(fd, texts[i % 2], strlen(texts[i % 2])),
			(ssize_t)strlen(texts[i % 2]));
		close(fd);
		faults_await(1 + i % 2);
		usleep(20000);
	}
	faults_write("");
	faults_await(0);
	end();
}

static void
case_file_counts_anew(void)
{
	begin();
	faults_write("complete syndrome=0x13 op=2\n");
	faults_await(1);
	write_one(1);
	expect(1, IBV_WC_SUCCESS);
	faults_write("late ms=1 op=100\ncomplete syndrome=0x13 op=2\n");
	faults_await(2);
	write_one(2);
	expect(2, IBV_WC_SUCCESS);
	write_one(3);
	expect(3, IBV_WC_REM_ACCESS_ERR);
	faults_write("");
	faults_await(0);
	end();
}

/*
 * Faults armed by softhca_fault() must stay armed when faults of the file are armed and disarmed.
 * If the file is removed, its faults must be disarmed.
 */
static void
case_file_alone(void)
{
	begin();
	fault("drop op=100");
	faults_write("late ms=1 op=100\nqp_fatal op=100\n");
	faults_await(3);
	faults_write("late ms=1 op=100\n");
	faults_await(2);
	CHECK_EQ(unlink(fault_file), 0);
	faults_await(1);
	faults_write("late ms=1 op=100\n");
	faults_await(2);
	faults_write("");
	faults_await(1);
	softhca_faults_clear();
	end();
}

static void
case_malformed_file(void)
{
	char where[300];

	begin();
	faults_write("drop op=100\n");
	faults_await(1);
	capture_begin();
	faults_write("drop op=100\n\nlate ms=soon\n");
	faults_await(0);
	capture_end();
	snprintf(where, sizeof(where), "%s:3: ms=soon: not a number", fault_file);
	CHECK(strstr(captured, where) != NULL);
	end();
}

/* Runs with SOFTHCA_LOG_FAULTS, which main() sets. */
static void
case_log(void)
{
	char line[100];

	begin();
	CHECK_EQ(softhca_fault("  complete syndrome=0x13\top=2  # the second\n"), 0);
	CHECK_EQ(softhca_fault("refuse call=alloc_pd errno=12"), 0);
	capture_begin();
	write_one(1);
	expect(1, IBV_WC_SUCCESS);
	capture_end();
	/* the fault has counted only the first operation */
	CHECK(strstr(captured, "strikes") == NULL);
	capture_begin();
	write_one(2);
	expect(2, IBV_WC_REM_ACCESS_ERR);
	CHECK(ibv_alloc_pd(p.ctx) == NULL);
	CHECK_EQ(softhca_fault("port_down ms=1"), 0);
	capture_end();
	snprintf(line, sizeof(line),
		"mlx5_0: the fault \"complete syndrome=0x13\top=2\" strikes an operation of QP 0x%x\n",
		p.client.qp->qp_num);
	CHECK(strstr(captured, line) != NULL);
	CHECK(strstr(captured, "mlx5_0: the fault \"refuse call=alloc_pd errno=12\" strikes\n"));
	CHECK(strstr(captured, "mlx5_0: the fault \"port_down ms=1\" strikes\n"));
	end();
	begin();
	pair_post_recv(&p.server, 1, 0, 64);
	fault("recv_drop");
	capture_begin();
	faults_post(&p, 1, IBV_WR_SEND);
	expect(1, IBV_WC_SUCCESS);
	capture_end();
	snprintf(line, sizeof(line),
		"mlx5_0: the fault \"recv_drop\" strikes a receive of QP 0x%x\n",
		p.server.qp->qp_num);
	CHECK(strstr(captured, line) != NULL);
	end();
}

static const struct check_case cases[] = {
	{"if asked for, each fault that acts is logged", case_log},
	{"any operation can complete with any syndrome", case_syndromes},
	{"an operation can be flushed although none before it failed", case_flushed_behind_nobody},
	{"an operation that is made to fail moves nothing", case_failed_does_not_run},
	{"a fault of one queue pair does not affect the others", case_other_qp},
	{"a fault of one adapter does not affect the others", case_other_adapter},
	{"one adapter dies, and the others continue to work", case_one_dies},
	{"a fault of one port does not affect the others", case_other_port},
	{"each port comes up after its own time", case_each_up_in_time},
	{"a fault of one queue pair counts only its operations, and can act on several in a row",
		case_times_of_one_qp},
	{"the first of two faults acts on an operation", case_first_of_two},
	{"work whose completion is dropped is executed", case_drop},
	{"a late completion delays those after it", case_late},
	{"a queue pair fails fatally", case_qp_fatal},
	{"a completion queue overruns", case_cq_overrun},
	{"a send queue stops (SQD), and can be restarted", case_sq_drained},
	{"a port goes down and up", case_port},
	{"a UMR needs no link", case_port_down_umr},
	{"a port that is down for a moment only causes retries", case_port_blinks},
	{"the device dies, and its objects can be destroyed", case_device_fatal},
	{"control calls are refused with any errno", case_refused},
	{"a malformed line is named in an error", case_malformed},
	{"clearing the faults brings ports and the device back", case_clear},
	{"each value of a fault has its range", case_ranges},
	{"each fault has its own parts", case_parts},
	{"an error of a fault names all its parts", case_parts_are_named},
	{"lines and their number are limited", case_many},
	{"the control file is read again when it changes", case_file},
	{"a control file that is written again in its place is read again", case_file_in_its_place},
	{"a fault that stays in the control file counts from the beginning again",
		case_file_counts_anew},
	{"a change of the control file leaves the program's own faults armed", case_file_alone},
	{"a malformed line of the file is named by its number", case_malformed_file},
};

int
main(int argc, char **argv)
{
	setenv("SOFTHCA_LOG_FAULTS", "1",
		1); /* read when the library is loaded: faults_main() executes the program again */
	return faults_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
