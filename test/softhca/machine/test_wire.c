/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages between two processes in rare situations: keys, queue pairs and processes that end while
 * a message is under way, receives that are missing, peers that are silent or absent.
 *
 * Each case runs in two processes, called "here" and "there", which execute this program again.
 * Each process has a large registered area, and a QP that is connected to the other process's QP.
 *
 * usage: test_wire [WORDS]     runs the cases whose sentences have these words
 */
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "no_userfaultfd.h"
#include "softhca_node.h"

#define AREA       (16u << 20) /* bytes: more than an adapter moves in a few turns */
#define FILL       0x5a
#define NOBODY_UID 65534

#define VENDOR_NAK_ACCESS 0x88 /* a card reports this for a refused access */

/* The data that each process sends to the other process about itself. */
struct told {
	uint32_t qpn, datagrams, srqn, rkey;
	uint64_t area;
};

struct end {
	const struct two *two;
	struct node n;
	struct ibv_qp *qp, *datagrams;
	uint8_t *area;
	struct ibv_mr *mr;
	struct told other;
	int sock;    /* to the other process */
	pid_t there; /* the process "there"; 0: this process is "there" */
	int log;     /* for "here": file with the lines that both processes write to stderr */
};

enum when {
	ALWAYS,
	/* the processes run their adapters themselves, so they can stop midway through a message */
	PUMPED,
	THREADED /* the adapters run while their processes wait */
};

/* A case. Settings are "NAME=VALUE" of the environment. */
struct two {
	const char *sentence;
	void (*here)(struct end *e), (*there)(struct end *e);
	enum when when;
	enum kind kind; /* of the QP there; K_RC if it is 0 */
	bool srq;       /* the QP here takes its receives from an SRQ */
	uint8_t timeout, retry_cnt, rnr_retry, rnr_timer; /* 0: as node_attr() has them */
	uint8_t gid; /* index of the GID to which QPs are connected; 0: that of node_attr() */
	const char *set_here[3], *set_there[3];
	void (*begin_there)(void);
	bool as_root;     /* the processes change their user */
	const char *line; /* a line that one of the processes writes */
	bool waits;       /* the case mostly waits, so the cases after it run at the same time */
};

/* ---- the two processes */

static void
tell(const struct end *e)
{
	CHECK(send(e->sock, "", 1, MSG_NOSIGNAL) == 1);
}

/* Waits for the other process, and runs the adapter meanwhile. */
static void
hear(const struct end *e)
{
	const uint64_t end = pair_now_ms() + PAIR_PATIENCE_MS;
	char byte;

	while (recv(e->sock, &byte, 1, MSG_DONTWAIT) != 1) {
		CHECK(pair_now_ms() < end);
		pair_run();
	}
}

/* As hear(), but the adapter does not run if it is pumped. */
static void
hear_only(const struct end *e)
{
	char byte;

	CHECK(recv(e->sock, &byte, 1, 0) == 1);
}

static void
stop_there(const struct end *e)
{
	int status;

	CHECK_EQ(kill(e->there, SIGSTOP), 0);
	CHECK_EQ(waitpid(e->there, &status, WUNTRACED), e->there);
}

static void
go_on_there(const struct end *e)
{
	CHECK_EQ(kill(e->there, SIGCONT), 0);
}

static void
kill_there(struct end *e)
{
	int status;

	CHECK_EQ(kill(e->there, SIGKILL), 0);
	CHECK_EQ(waitpid(e->there, &status, 0), e->there);
	e->there = -1;
}

/* Lets the adapter run for a while. */
static void
run_for(unsigned int ms)
{
	const uint64_t end = pair_now_ms() + ms;

	while (pair_now_ms() < end)
		pair_run();
}

static void
await_byte(struct end *e, size_t i)
{
	const uint64_t end = pair_now_ms() + PAIR_PATIENCE_MS;

	while (*(volatile uint8_t *)&e->area[i] != FILL) {
		CHECK(pair_now_ms() < end);
		/* Runs only one turn, so that the message does not end. */
		if (pair_is_pumped())
			(void)softhca_pump();
	}
}

static void
await_fill(struct end *e)
{
	await_byte(e, 0);
}

static size_t
filled(const struct end *e)
{
	size_t n = 0;

	for (size_t i = 0; i < AREA; i++)
		n += e->area[i] == FILL;
	return n;
}

/* ---- queue pairs and work */

static void
connect_qp(struct end *e, struct ibv_qp *qp, enum kind kind, uint32_t dest)
{
	struct ibv_qp_attr attr = node_attr(&e->n, dest);
	const struct two *t = e->two;

	if (t->gid != 0)
		CHECK_EQ(ibv_query_gid(e->n.ctx, 1, t->gid, &attr.ah_attr.grh.dgid), 0);
	attr.timeout = t->timeout != 0 ? t->timeout : 20;
	attr.retry_cnt = t->retry_cnt != 0 ? t->retry_cnt : 7;
	attr.rnr_retry = t->rnr_retry != 0 ? t->rnr_retry : 7;
	attr.min_rnr_timer = t->rnr_timer != 0 ? t->rnr_timer : 1;
	CHECK_EQ(qp_take(qp, kind, attr, IBV_QPS_INIT, IBV_QPS_RTS), 0);
}

static void
open_end(struct end *e)
{
	const bool is_here = e->there != 0;
	struct told own = {0};
	enum kind kind = e->two->kind;

	e->n = node_open(255);
	if (is_here && kind != K_RC)
		kind = node_partner(kind);
	e->qp = e->two->srq && is_here && kind == K_RC ? node_srq_qp(&e->n, e->n.srq)
						       : node_qp(&e->n, kind);
	e->datagrams = node_qp(&e->n, K_UD);
	e->area = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(e->area != MAP_FAILED);
	e->mr = ibv_reg_mr(e->n.pd, e->area, AREA, PAIR_ALL);
	CHECK(e->mr != NULL);
	if (kind == K_DCT)
		connect_qp(e, e->qp, kind, 0);
	own = (struct told){e->qp->qp_num, e->datagrams->qp_num, e->n.xrc_srqn, e->mr->rkey,
		(uintptr_t)e->area};
	CHECK(send(e->sock, &own, sizeof(own), 0) == sizeof(own));
	CHECK(recv(e->sock, &e->other, sizeof(e->other), MSG_WAITALL) == sizeof(e->other));
	if (kind != K_DCT)
		connect_qp(e, e->qp, kind, e->other.qpn);
	connect_qp(e, e->datagrams, K_UD, 0);
	tell(e);
	hear(e);
	/*
	 * When the other process has told this, it has left hear(), where it may run its adapter
	 * longer than it waits. Otherwise that adapter might receive messages of the case.
	 */
	tell(e);
	hear_only(e);
}

static void
post(struct end *e, enum ibv_wr_opcode opcode, uint32_t len, uint64_t to, uint32_t rkey)
{
	struct ibv_sge sge = {(uintptr_t)e->area, len, e->mr->lkey};
	struct ibv_send_wr wr = {.wr_id = 7,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {to, rkey},
		.qp_type.xrc.remote_srqn = e->other.srqn};
	struct ibv_send_wr *bad;

	pair_publish_to(e->qp, NULL);
	CHECK_EQ(ibv_post_send(e->qp, &wr, &bad), 0);
}

static void
post_there(struct end *e, enum ibv_wr_opcode opcode, uint32_t len)
{
	post(e, opcode, len, e->other.area, e->other.rkey);
}

static void
receive(struct end *e, struct ibv_qp *qp, struct ibv_srq *srq, uint32_t len, uint64_t id)
{
	node_recv_to(qp, srq, (struct ibv_sge){(uintptr_t)e->area, len, e->mr->lkey}, id);
}

static enum ibv_wc_status
sent(struct end *e)
{
	return node_wait(e->n.scq).status;
}

/* For a process "there" that has nothing else to do: runs its adapter. */
static void
only_runs(struct end *e)
{
}

static void
sends_all(struct end *e)
{
	memset(e->area, FILL, AREA);
	post_there(e, IBV_WR_SEND, AREA);
	(void)sent(e);
}

/* ---- keys */

static void
case_refused(struct end *e)
{
	struct ibv_wc wc;

	post(e, IBV_WR_RDMA_WRITE, 64, e->other.area, e->other.rkey ^ 0x100);
	wc = node_wait(e->n.scq);
	CHECK_EQ(wc.status, IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(wc.vendor_err, VENDOR_NAK_ACCESS);
}

static void
writes_all(struct end *e)
{
	enum ibv_wc_status status;

	memset(e->area, FILL, AREA);
	post_there(e, IBV_WR_RDMA_WRITE, AREA);
	status = sent(e);
	CHECK(status == IBV_WC_REM_ACCESS_ERR || (status == IBV_WC_SUCCESS && !pair_is_pumped()),
		"status %u", status);
	tell(e);
}

static void
case_key_of_write(struct end *e)
{
	size_t before;

	await_fill(e);
	CHECK_EQ(ibv_dereg_mr(e->mr), 0);
	before = filled(e);
	CHECK(before < AREA || !pair_is_pumped(), "the write ended before");
	hear(e);
	CHECK_EQ(filled(e), before, "bytes that have arrived");
}

static void
takes_key_back(struct end *e)
{
	memset(e->area, FILL, AREA);
	tell(e);
	hear(e);
	CHECK_EQ(ibv_dereg_mr(e->mr), 0);
	memset(e->area, 0xee, AREA);
	tell(e);
}

static void
case_key_of_read(struct end *e)
{
	enum ibv_wc_status status;

	hear(e);
	post_there(e, IBV_WR_RDMA_READ, AREA);
	await_fill(e);
	tell(e);
	hear_only(e);
	status = sent(e);
	CHECK(status == IBV_WC_REM_ACCESS_ERR || (status == IBV_WC_SUCCESS && !pair_is_pumped()),
		"status %u", status);
	CHECK(memchr(e->area, 0xee, AREA) == NULL, "bytes of memory without key have come");
}

/* ---- keys with signatures: their messages are gathered, up to the setting wire_message */

#define BLOCK      512u
#define SIGNATURE  4u
#define N_BLOCKS   512u /* a message of 256 KiB */
#define MESSAGE_OF "SOFTHCA_WIRE_MESSAGE="

/* Returns a QP that is connected to itself and can configure keys. */
static struct ibv_qp *
key_qp(struct end *e)
{
	struct ibv_qp_init_attr_ex init = {.qp_type = IBV_QPT_RC,
		.send_cq = e->n.scq,
		.recv_cq = e->n.rcq,
		.cap = {.max_send_wr = 4, .max_send_sge = 1, .max_inline_data = 512},
		.pd = e->n.pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE};
	struct mlx5dv_qp_init_attr dv = {.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS,
		.send_ops_flags = MLX5DV_QP_EX_WITH_MKEY_CONFIGURE};
	struct ibv_qp *qp = mlx5dv_create_qp(e->n.ctx, &init, &dv);

	CHECK(qp != NULL);
	connect_qp(e, qp, K_RC, qp->qp_num);
	return qp;
}

/* Returns a key for N_BLOCKS blocks of the area. In memory, a CRC32 follows each block. */
static struct mlx5dv_mkey *
signed_key(struct end *e)
{
	struct mlx5dv_mkey_init_attr init = {.pd = e->n.pd,
		.max_entries = 4,
		.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT |
				MLX5DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE};
	const struct mlx5dv_sig_crc crc = {MLX5DV_SIG_CRC_TYPE_CRC32, UINT32_MAX};
	const struct mlx5dv_sig_block_domain memory = {.sig_type = MLX5DV_SIG_TYPE_CRC,
		.block_size = MLX5DV_BLOCK_SIZE_512,
		.sig.crc = &crc};
	const struct mlx5dv_sig_block_attr sig = {.mem = &memory};
	struct ibv_sge all = {(uintptr_t)e->area, N_BLOCKS * (BLOCK + SIGNATURE), e->mr->lkey};
	struct ibv_qp_ex *qpx = ibv_qp_to_qp_ex(key_qp(e));
	struct mlx5dv_qp_ex *dvx = mlx5dv_qp_ex_from_ibv_qp_ex(qpx);
	struct mlx5dv_mkey *key = mlx5dv_create_mkey(&init);
	struct mlx5dv_mkey_conf_attr conf = {0};

	CHECK(key != NULL);
	pair_publish_to(&qpx->qp_base, NULL);
	ibv_wr_start(qpx);
	qpx->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	mlx5dv_wr_mkey_configure(dvx, key, 3, &conf);
	mlx5dv_wr_set_mkey_access_flags(dvx, PAIR_ALL);
	mlx5dv_wr_set_mkey_layout_list(dvx, 1, &all);
	mlx5dv_wr_set_mkey_sig_block(dvx, &sig);
	CHECK_EQ(ibv_wr_complete(qpx), 0);
	CHECK_EQ(sent(e), IBV_WC_SUCCESS);
	return key;
}

static void
has_signed_key(struct end *e)
{
	const uint32_t rkey = signed_key(e)->rkey;

	CHECK(send(e->sock, &rkey, sizeof(rkey), 0) == sizeof(rkey));
}

static void
write_blocks(struct end *e, enum ibv_wc_status status)
{
	uint32_t rkey;

	CHECK(recv(e->sock, &rkey, sizeof(rkey), MSG_WAITALL) == sizeof(rkey));
	post(e, IBV_WR_RDMA_WRITE, N_BLOCKS * BLOCK, 0, rkey);
	CHECK_EQ(sent(e), status);
}

static void
case_gathered(struct end *e)
{
	write_blocks(e, IBV_WC_SUCCESS);
}

/* Another adapter of the process there, whose messages come on a connection of its own. */
static void
writes_blocks_twice(struct end *e)
{
	struct end second = *e;
	struct node *n = &second.n;
	uint32_t rkey, number;

	n->ctx = pair_open(1);
	n->pd = ibv_alloc_pd(n->ctx);
	n->scq = ibv_create_cq(n->ctx, 16, NULL, NULL, 0);
	n->rcq = n->scq;
	CHECK(n->pd != NULL && n->scq != NULL);
	second.qp = node_qp(n, K_RC);
	second.mr = ibv_reg_mr(n->pd, e->area, AREA, PAIR_ALL);
	CHECK(second.mr != NULL);
	number = second.qp->qp_num;
	CHECK(send(e->sock, &number, sizeof(number), 0) == sizeof(number));
	CHECK(recv(e->sock, &number, sizeof(number), MSG_WAITALL) == sizeof(number));
	connect_qp(e, second.qp, K_RC, number); /* the peer has the addresses of adapter 0 */
	CHECK(recv(e->sock, &rkey, sizeof(rkey), MSG_WAITALL) == sizeof(rkey));
	for (unsigned int i = 0; i < 4; i++) {
		post(e, IBV_WR_RDMA_WRITE, N_BLOCKS * BLOCK, 0, rkey);
		post(&second, IBV_WR_RDMA_WRITE, N_BLOCKS * BLOCK, 0, rkey);
	}
	for (unsigned int i = 0; i < 4; i++) {
		CHECK_EQ(sent(e), IBV_WC_SUCCESS);
		CHECK_EQ(sent(&second), IBV_WC_SUCCESS);
	}
}

static void
case_two_gathered(struct end *e)
{
	struct ibv_qp *second = node_qp(&e->n, K_RC);
	uint32_t number;

	CHECK(recv(e->sock, &number, sizeof(number), MSG_WAITALL) == sizeof(number));
	connect_qp(e, second, K_RC, number);
	number = second->qp_num;
	CHECK(send(e->sock, &number, sizeof(number), 0) == sizeof(number));
	has_signed_key(e);
}

static void
case_too_long_there(struct end *e)
{
	write_blocks(e, IBV_WC_REM_OP_ERR);
}

static void
case_too_long_here(struct end *e)
{
	struct ibv_sge sge = {0, N_BLOCKS * BLOCK, signed_key(e)->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {e->other.area, e->other.rkey}};
	struct ibv_send_wr *bad;

	pair_publish_to(e->qp, NULL);
	CHECK_EQ(ibv_post_send(e->qp, &wr, &bad), 0);
	CHECK_EQ(sent(e), IBV_WC_LOC_LEN_ERR);
}

/* ---- queue pairs that leave their state */

/* The QP is reset while a SEND arrives. Its sender sends the whole SEND again. */
static void
case_reset(struct end *e)
{
	struct ibv_wc wc;

	receive(e, e->qp, NULL, AREA, 1);
	await_fill(e);
	CHECK_EQ(node_move(e->qp, IBV_QPS_RESET), 0);
	memset(e->area, 0, AREA);
	connect_qp(e, e->qp, K_RC, e->other.qpn);
	receive(e, e->qp, NULL, AREA, 2);
	wc = node_wait(e->n.rcq);
	CHECK_EQ(wc.wr_id, 2);
	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	CHECK_EQ(filled(e), AREA, "bytes of the SEND");
}

static void
sees_it_fail(struct end *e)
{
	memset(e->area, FILL, AREA);
	post_there(e, IBV_WR_SEND, AREA);
	CHECK_EQ(sent(e), IBV_WC_RETRY_EXC_ERR);
	tell(e);
}

static void
case_error(struct end *e)
{
	struct ibv_wc wc;
	size_t before;

	receive(e, e->qp, NULL, AREA, 1);
	await_fill(e);
	CHECK_EQ(node_move(e->qp, IBV_QPS_ERR), 0);
	wc = node_wait(e->n.rcq);
	CHECK_EQ(wc.wr_id, 1);
	CHECK_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
	before = filled(e);
	CHECK(before < AREA);
	hear(e);
	CHECK_EQ(filled(e), before, "bytes that have arrived");
}

static void
case_destroyed(struct end *e)
{
	size_t before;

	receive(e, e->qp, NULL, AREA, 1);
	await_fill(e);
	CHECK_EQ(ibv_destroy_qp(e->qp), 0);
	before = filled(e);
	CHECK(before < AREA);
	hear(e);
	CHECK_EQ(filled(e), before, "bytes that have arrived");
}

/*
 * The sender dies midway. The receive of its message must be flushed with the QP. All other
 * receives of the SRQ must still work.
 */
static void
case_sender_dies(struct end *e)
{
	struct ibv_qp *own = node_srq_qp(&e->n, e->n.srq);
	struct ibv_wc wc;

	connect_qp(e, own, K_RC, own->qp_num);
	receive(e, NULL, e->n.srq, AREA, 1);
	receive(e, NULL, e->n.srq, 64, 2);
	await_fill(e);
	kill_there(e);
	run_for(20);
	node_send(&e->n, own, K_RC, NULL, false);
	wc = node_wait(e->n.rcq);
	CHECK_EQ(wc.wr_id, 2);
	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	node_expect_none(e->n.rcq);
	CHECK_EQ(node_move(e->qp, IBV_QPS_ERR), 0);
	wc = node_wait(e->n.rcq);
	CHECK_EQ(wc.wr_id, 1);
	CHECK_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
	CHECK_EQ(wc.qp_num, e->qp->qp_num);
	node_expect_none(e->n.rcq);
}

static void
case_xrc_sender_dies(struct end *e)
{
	struct ibv_wc wc;

	receive(e, NULL, e->n.xrc_srq, AREA, 1);
	await_fill(e);
	kill_there(e);
	run_for(20);
	node_expect_none(e->n.rcq);
	CHECK_EQ(node_move(e->qp, IBV_QPS_ERR), 0);
	wc = node_wait(e->n.rcq);
	CHECK_EQ(wc.wr_id, 1);
	CHECK_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
}

/* As case_xrc_sender_dies(), but the SRQ is destroyed, so its receive must not complete. */
static void
case_xrc_srq_goes(struct end *e)
{
	receive(e, NULL, e->n.xrc_srq, AREA, 1);
	await_fill(e);
	kill_there(e);
	run_for(20);
	CHECK_EQ(ibv_destroy_srq(e->n.xrc_srq), 0);
	CHECK_EQ(node_move(e->qp, IBV_QPS_ERR), 0);
	node_expect_none(e->n.rcq);
}

/* The answer to a READ comes after the QP was reset. It must be dropped. */
static void
case_late_answer(struct end *e)
{
	hear(e);
	stop_there(e);
	post_there(e, IBV_WR_RDMA_READ, 64);
	run_for(20);
	CHECK_EQ(node_move(e->qp, IBV_QPS_RESET), 0);
	connect_qp(e, e->qp, K_RC, e->other.qpn);
	post(e, IBV_WR_RDMA_READ, 64, e->other.area + 64, e->other.rkey);
	go_on_there(e);
	CHECK_EQ(sent(e), IBV_WC_SUCCESS);
	CHECK_EQ(e->area[0], 0x22, "the first byte of the second read");
	node_expect_none(e->n.scq);
}

static void
has_two_parts(struct end *e)
{
	memset(e->area, 0x11, 64);
	memset(e->area + 64, 0x22, 64);
	tell(e);
}

/*
 * The QP of the process "here" is destroyed before the answer to its READ comes. No byte of the
 * answer may arrive.
 */
static void
case_destroyed_here(struct end *e)
{
	hear(e);
	stop_there(e);
	post_there(e, IBV_WR_RDMA_READ, 64);
	run_for(20);
	CHECK_EQ(ibv_destroy_qp(e->qp), 0);
	go_on_there(e);
	run_for(20);
	CHECK_EQ(e->area[0], 0, "a byte of a read of a destroyed QP");
}

/* A queue in SQD must be drained only when the answer to its message has come. */
static void
case_drain(struct end *e)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1};
	struct ibv_async_event event;
	struct ibv_wc wc;

	hear(e);
	stop_there(e);
	post_there(e, IBV_WR_RDMA_READ, 64);
	run_for(20);
	CHECK_EQ(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
	post(e, IBV_WR_RDMA_READ, 64, e->other.area + 64, e->other.rkey);
	CHECK_EQ(node_event(&e->n, &event, 30), -1);
	go_on_there(e);
	CHECK_EQ(sent(e), IBV_WC_SUCCESS);
	CHECK_EQ(node_event(&e->n, &event, PAIR_PATIENCE_MS), IBV_EVENT_SQ_DRAINED);
	CHECK_EQ(e->area[0], 0x11);
	CHECK(!node_try_wait(e->n.scq, &wc, 20), "a WQE runs in SQD");
	CHECK_EQ(node_move(e->qp, IBV_QPS_RTS), 0);
	CHECK_EQ(sent(e), IBV_WC_SUCCESS);
	CHECK_EQ(e->area[0], 0x22);
}

/* If a QP moves to error, its message must be flushed, although the answer has not come. */
static void
case_flush(struct end *e)
{
	hear(e);
	stop_there(e);
	post_there(e, IBV_WR_RDMA_READ, 64);
	run_for(20);
	CHECK_EQ(node_move(e->qp, IBV_QPS_ERR), 0);
	CHECK_EQ(sent(e), IBV_WC_WR_FLUSH_ERR);
	go_on_there(e);
	run_for(20);
	CHECK_EQ(e->area[0], 0, "a byte of a read that was flushed");
}

/* ---- receives and peers that are missing */

static void
case_rnr(struct end *e)
{
	const uint64_t before = pair_now_ms();

	post_there(e, IBV_WR_SEND, 64);
	CHECK_EQ(sent(e), IBV_WC_RNR_RETRY_EXC_ERR);
	/* Two retries, each after the timer of 10.24 ms (ibv_modify_qp(3)). */
	CHECK(pair_now_ms() - before >= 20);
}

static void
case_rnr_for_ever(struct end *e)
{
	struct ibv_wc wc;

	post_there(e, IBV_WR_SEND, 64);
	CHECK(!node_try_wait(e->n.scq, &wc, 60));
	tell(e);
	CHECK_EQ(sent(e), IBV_WC_SUCCESS);
}

static void
receives_late(struct end *e)
{
	hear(e);
	receive(e, e->qp, NULL, 64, 1);
	CHECK_EQ(node_wait(e->n.rcq).wr_id, 1);
}

#define TAKEN 20 /* number of receives that another message takes */

static void
writes_with_imm(struct end *e)
{
	for (int i = 0; i < TAKEN; i++) {
		hear(e);
		memset(e->area, FILL, AREA / 8);
		post_there(e, IBV_WR_RDMA_WRITE_WITH_IMM, AREA / 8);
		CHECK_EQ(sent(e), IBV_WC_SUCCESS);
	}
}

/*
 * Another message takes the receive while the data come. The sender sends all again after the RNR
 * timer of this QP, which is 10 us. The longest RNR timer, whose code is 0, is 655.36 ms.
 */
static void
case_receive_is_taken(struct end *e)
{
	struct ibv_qp *own = node_srq_qp(&e->n, e->n.srq);
	const uint64_t before = pair_now_ms();

	connect_qp(e, own, K_RC, own->qp_num);
	for (uint64_t i = 0; i < TAKEN; i++) {
		memset(e->area, 0, AREA / 8);
		receive(e, NULL, e->n.srq, 64, 2 * i);
		tell(e);
		await_fill(e);
		node_send(&e->n, own, K_RC, NULL, false);
		CHECK_EQ(node_wait(e->n.rcq).wr_id, 2 * i);
		CHECK_EQ(sent(e), IBV_WC_SUCCESS);
		await_byte(e, AREA / 8 - 1);
		receive(e, NULL, e->n.srq, 64, 2 * i + 1);
		CHECK_EQ(node_wait(e->n.rcq).wr_id, 2 * i + 1);
	}
	CHECK(pair_now_ms() - before < TAKEN * 655);
}

static void
case_nobody(struct end *e)
{
	uint64_t before;

	kill_there(e);
	before = pair_now_ms();
	post_there(e, IBV_WR_SEND, 64);
	CHECK_EQ(sent(e), IBV_WC_RETRY_EXC_ERR);
	/* 4.096 us * 2^14, twice */
	CHECK(pair_now_ms() - before >= 134);
}

#define MANY 40 /* more messages than an adapter reads in a turn */

/* Sends datagrams. The other process must not run its adapter. */
static void
send_datagrams(struct end *e, int n)
{
	struct ibv_ah_attr path = node_attr(&e->n, 0).ah_attr;
	struct node_to to = {ibv_create_ah(e->n.pd, &path), e->other.datagrams, 0};

	CHECK(to.ah != NULL);
	for (int i = 0; i < n; i++) {
		node_send(&e->n, e->datagrams, K_UD, &to, false);
		CHECK_EQ(sent(e), IBV_WC_SUCCESS);
	}
	tell(e);
	hear_only(e);
}

/* Sends a WRITE and MANY datagrams. The other process must not run its adapter. */
static void
sends_many(struct end *e)
{
	memset(e->area, FILL, 64);
	post_there(e, IBV_WR_RDMA_WRITE, 64);
	send_datagrams(e, MANY);
}

static void
sends_datagrams(struct end *e)
{
	hear_only(e);
	send_datagrams(e, 3);
}

/*
 * The process there ends before this process has seen that it holds its numbers. Its datagrams
 * still arrive.
 */
static void
case_never_seen(struct end *e)
{
	for (uint64_t i = 0; i < 3; i++)
		receive(e, e->datagrams, NULL, 256, i);
	tell(e);
	hear_only(e);
	kill_there(e);
	for (uint64_t i = 0; i < 3; i++)
		CHECK_EQ(node_wait(e->n.rcq).wr_id, i);
}

/* The process there ends with messages that it has not read, after it has answered the WRITE. */
static void
case_answered(struct end *e)
{
	sends_many(e);
	kill_there(e);
	CHECK_EQ(sent(e), IBV_WC_SUCCESS);
}

static void
answers_first(struct end *e)
{
	hear_only(e);
	await_fill(e);
	tell(e);
	hear_only(e);
}

/* The process there ends with an answer that it has not read. Its datagrams still arrive. */
static void
case_sent_before(struct end *e)
{
	hear_only(e);
	await_fill(e);
	for (uint64_t i = 0; i < 16; i++)
		receive(e, e->datagrams, NULL, 256, i);
	kill_there(e);
	for (uint64_t i = 0; i < 16; i++)
		CHECK_EQ(node_wait(e->n.rcq).wr_id, i);
}

/* This QP cannot reach the QP number of the other process. */
static void
case_not_reached(struct end *e)
{
	post_there(e, IBV_WR_RDMA_WRITE, 64);
	CHECK_EQ(sent(e), IBV_WC_RETRY_EXC_ERR);
}

static void
case_reached(struct end *e)
{
	post_there(e, IBV_WR_RDMA_WRITE, 64);
	CHECK_EQ(sent(e), IBV_WC_SUCCESS);
}

static void
becomes_nobody(void)
{
	CHECK_EQ(setgid(NOBODY_UID), 0);
	CHECK_EQ(setuid(NOBODY_UID), 0);
}

/* A process that changes its user gets no signal of its parent's death any more: prctl(2). */
static void
drop(void)
{
	becomes_nobody();
	CHECK_EQ(prctl(PR_SET_PDEATHSIG, SIGKILL), 0);
}

/* Both processes have had their numbers as root, and then have the same other user. */
static void
case_both_drop(struct end *e)
{
	drop();
	hear(e);
	tell(e);
	case_reached(e);
}

static void
drops_too(struct end *e)
{
	drop();
	tell(e);
	hear(e);
	case_reached(e);
}

static void
drops_alone(struct end *e)
{
	drop();
	tell(e);
	hear(e);
	case_not_reached(e);
	tell(e);
}

/* The process there is no longer root. Neither process reaches the other. */
static void
case_one_drops(struct end *e)
{
	hear(e);
	case_not_reached(e);
	tell(e);
	hear(e);
}

/* A fault in the process "there" applies to messages that arrive. */
static void
case_fault(struct end *e)
{
	hear(e);
	memset(e->area, FILL, 64);
	post_there(e, IBV_WR_RDMA_WRITE, 64);
	CHECK_EQ(sent(e), IBV_WC_RETRY_EXC_ERR);
	tell(e);
}

static void
port_goes_down(struct end *e)
{
	CHECK_EQ(softhca_fault("port_down"), 0);
	tell(e);
	hear(e);
	CHECK_EQ(e->area[0], 0, "a byte that came through a port that is down");
}

static void
device_dies(struct end *e)
{
	struct ibv_async_event event;

	CHECK_EQ(softhca_fault("device_fatal"), 0);
	CHECK_EQ(node_event(&e->n, &event, PAIR_PATIENCE_MS), IBV_EVENT_DEVICE_FATAL);
	tell(e);
	hear(e);
	CHECK_EQ(e->area[0], 0, "a byte that a dead device has written");
}

static uint64_t
discards(const struct end *e)
{
	unsigned long long n = 0;
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/counters/port_xmit_discards",
		ibv_get_device_name(e->n.ctx->device));
	f = fopen(path, "r");
	CHECK(f != NULL, "%s", path);
	CHECK_EQ(fscanf(f, "%llu", &n), 1);
	fclose(f);
	return n;
}

/*
 * Sends unreliable messages until the connection is full. After that, a message waits for 100 ms,
 * and is lost. to: the destination of datagrams; NULL for UC.
 */
static void
fill_connection(struct end *e, const struct node_to *to)
{
	uint64_t before;

	do {
		before = pair_now_ms();
		if (to == NULL)
			post_there(e, IBV_WR_RDMA_WRITE, 64);
		else
			node_send(&e->n, e->datagrams, K_UD, to, false);
		CHECK_EQ(sent(e), IBV_WC_SUCCESS);
	} while (discards(e) == 0);
	CHECK(pair_now_ms() - before >= 100);
	CHECK_EQ(discards(e), 1);
}

static void
case_stopped_uc(struct end *e)
{
	hear(e);
	stop_there(e);
	fill_connection(e, NULL);
	go_on_there(e);
}

static void
tells(struct end *e)
{
	tell(e);
}

static void
case_stopped(struct end *e)
{
	struct ibv_ah_attr path = node_attr(&e->n, 0).ah_attr;
	struct node_to to = {ibv_create_ah(e->n.pd, &path), e->other.datagrams, 0};
	struct ibv_wc wc;

	CHECK(to.ah != NULL);
	hear(e);
	stop_there(e);
	post_there(e, IBV_WR_SEND, 64);
	CHECK(!node_try_wait(e->n.scq, &wc, 4000), "a message to a stopped process ends");
	fill_connection(e, &to);
	go_on_there(e);
	CHECK_EQ(sent(e), IBV_WC_SUCCESS);
}

static void
receives(struct end *e)
{
	receive(e, e->qp, NULL, 64, 1);
	tell(e);
	CHECK_EQ(node_wait(e->n.rcq).wr_id, 1);
}

/* ---- streams of DC */

static void
serves_dc(struct end *e)
{
	struct ibv_qp *dct = node_qp(&e->n, K_DCT);
	uint32_t number;

	connect_qp(e, dct, K_DCT, 0);
	number = dct->qp_num;
	CHECK(send(e->sock, &number, sizeof(number), 0) == sizeof(number));
	hear(e);
	CHECK_EQ(e->area[0], FILL);
}

static enum ibv_wc_status
stream_write(struct end *e, struct ibv_qp *dci, const struct node_to *to, uint16_t stream,
	uint32_t rkey)
{
	struct ibv_mr mr = {.rkey = rkey};
	struct node other = {.buf = (uint8_t *)(uintptr_t)e->other.area, .mr = &mr};

	return node_stream_write(&e->n, dci, to, &other, 0, stream, false);
}

static void
case_streams(struct end *e)
{
	struct ibv_qp *dci = node_stream_dci(&e->n, 1);
	struct ibv_ah_attr path = node_attr(&e->n, 0).ah_attr;
	struct node_to to = {ibv_create_ah(e->n.pd, &path), 0, 0};

	CHECK(to.ah != NULL);
	CHECK(recv(e->sock, &to.qpn, sizeof(to.qpn), MSG_WAITALL) == sizeof(to.qpn));
	connect_qp(e, dci, K_DCI, 0);
	memset(e->n.buf, FILL, 64);
	CHECK_EQ(stream_write(e, dci, &to, 1, e->other.rkey ^ 0x100), IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(stream_write(e, dci, &to, 1, e->other.rkey), IBV_WC_WR_FLUSH_ERR);
	CHECK_EQ(stream_write(e, dci, &to, 2, e->other.rkey), IBV_WC_SUCCESS);
	tell(e);
}

/* ---- sleep */

/* The number of context switches of the adapter's threads. */
static unsigned long long
switches(void)
{
	unsigned long long sum = 0, n;
	char path[64], line[128];
	DIR *dir = opendir("/proc/self/task");
	struct dirent *task;
	bool ours = false;
	FILE *f;

	CHECK(dir != NULL);
	while ((task = readdir(dir)) != NULL) {
		snprintf(path, sizeof(path), "/proc/self/task/%.20s/status", task->d_name);
		f = task->d_name[0] != '.' ? fopen(path, "r") : NULL;
		while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
			if (strncmp(line, "Name:", 5) == 0)
				ours = strstr(line, "softhca") != NULL;
			if (ours && sscanf(line, "voluntary_ctxt_switches: %llu", &n) == 1)
				sum += n;
		}
		if (f != NULL)
			fclose(f);
	}
	closedir(dir);
	return sum;
}

/* Waits until the adapter's threads have not run for `ms` milliseconds. */
static void
await_sleep(unsigned int ms)
{
	const uint64_t end = pair_now_ms() + PAIR_PATIENCE_MS;
	unsigned long long before;

	do {
		CHECK(pair_now_ms() < end, "the adapter does not sleep");
		before = switches();
		usleep(ms * 1000);
	} while (switches() != before);
}

static void
case_idle(struct end *e)
{
	post_there(e, IBV_WR_RDMA_WRITE, 64);
	CHECK_EQ(sent(e), IBV_WC_SUCCESS);
	await_sleep(1000);
	tell(e);
	hear_only(e);
	/* The adapter of the process "there" sleeps. */
	post_there(e, IBV_WR_RDMA_WRITE, 64);
	CHECK_EQ(sent(e), IBV_WC_SUCCESS);
}

static void
sleeps(struct end *e)
{
	hear_only(e);
	await_sleep(100);
	tell(e);
}

/* Without userfaultfd(2), messages must still wake the adapter. */
static void
case_naps(struct end *e)
{
	usleep(700000); /* the adapter looks less often at an idle connection */
	for (unsigned int i = 0; i < 20; i++) {
		usleep(5000);
		post_there(e, IBV_WR_RDMA_WRITE, 64);
		CHECK_EQ(sent(e), IBV_WC_SUCCESS);
	}
}

/* ---- all cases */

#define GID_IPV4  3 /* index of the GID for RoCE v2 over IPv4 */
#define OTHER_GID "SOFTHCA_GID_IPV4=198.51.100.99"

static const struct two cases[] = {
	{"a refused message names its failed check", case_refused, only_runs},
	{"no byte of a WRITE arrives after its key is deregistered", case_key_of_write, writes_all},
	{"no byte of a READ comes after its key is deregistered", case_key_of_read, takes_key_back},
	{"a key with a signature takes as many bytes as wire_message", case_gathered,
		has_signed_key, .set_there = {MESSAGE_OF "262144"}},
	{"messages beyond wire_bytes wait", case_two_gathered, writes_blocks_twice,
		.set_here = {MESSAGE_OF "262144", "SOFTHCA_WIRE_BYTES=262144"},
		.set_there = {"SOFTHCA_DEVICES=2"}},
	{"a message longer than wire_message there is refused", case_too_long_there, has_signed_key,
		.set_there = {MESSAGE_OF "262143"}, .line = "wire_message allows 262143"},
	{"a message longer than wire_message here is refused", case_too_long_here, only_runs,
		.set_here = {MESSAGE_OF "262143"}, .line = "wire_message allows 262143"},
	{"a SEND to a QP that is reset arrives as a whole", case_reset, sends_all, PUMPED},
	{"no byte of a SEND arrives at a QP in error", case_error, sees_it_fail, PUMPED,
		.timeout = 8, .retry_cnt = 1},
	{"no byte of a SEND arrives at a destroyed QP", case_destroyed, sees_it_fail, PUMPED,
		.timeout = 8, .retry_cnt = 1},
	{"the receive of a dead sender is flushed with its QP", case_sender_dies, sends_all, PUMPED,
		.srq = true},
	{"XRC: the receive of a dead sender is flushed with its QP", case_xrc_sender_dies,
		sends_all, PUMPED, .kind = K_XRC_SEND},
	{"XRC: an SRQ is destroyed that has the receive of a dead sender", case_xrc_srq_goes,
		sends_all, PUMPED, .kind = K_XRC_SEND},
	{"an answer that comes after a reset is dropped", case_late_answer, has_two_parts},
	{"an answer to a QP that is destroyed is dropped", case_destroyed_here, has_two_parts},
	{"a queue drains when the answer has come", case_drain, has_two_parts},
	{"a message under way is flushed", case_flush, has_two_parts},
	{"a SEND without receive fails after its retries", case_rnr, only_runs, .rnr_retry = 2,
		.rnr_timer = 20},
	{"a SEND waits for its receive for ever", case_rnr_for_ever, receives_late},
	{"a WRITE with immediate data waits if its receive is taken", case_receive_is_taken,
		writes_with_imm, PUMPED, .srq = true},
	{"a message to nobody fails after its retries", case_nobody, only_runs, .timeout = 14,
		.retry_cnt = 1, .set_here = {"SOFTHCA_RETRY_MAX_MS=0"}},
	{"the answer of a process that then ends is taken", case_answered, answers_first, PUMPED,
		.timeout = 8, .retry_cnt = 1},
	{"messages that a process sent before it ends arrive", case_sent_before, sends_many,
		PUMPED},
	{"messages of a process that ended before its number was looked up arrive", case_never_seen,
		sends_datagrams, PUMPED},
	{"a port of another link layer is not reached", case_not_reached, only_runs, .timeout = 8,
		.retry_cnt = 1, .set_there = {"SOFTHCA_LINK_LAYER=infiniband"}},
	{"a port with another GID is not reached", case_not_reached, only_runs, .timeout = 8,
		.retry_cnt = 1, .gid = GID_IPV4, .set_there = {OTHER_GID}},
	{"a process of another user is refused", case_not_reached, only_runs, .timeout = 8,
		.retry_cnt = 1, .begin_there = becomes_nobody, .line = "wire_users = 1"},
	{"a process of another user is allowed by wire_users", case_reached, only_runs,
		.begin_there = becomes_nobody, .set_here = {"SOFTHCA_WIRE_USERS=1"},
		.set_there = {"SOFTHCA_WIRE_USERS=1"}},
	{"processes that change to one user after they have numbers reach each other",
		case_both_drop, drops_too, .timeout = 8, .retry_cnt = 1, .as_root = true},
	{"a process that has changed to another user is refused", case_one_drops, drops_alone,
		.timeout = 8, .retry_cnt = 1, .as_root = true, .line = "wire_users = 1"},
	{"nothing comes through a port that is down", case_fault, port_goes_down, .timeout = 8,
		.retry_cnt = 1},
	{"nothing comes to a device that is dead", case_fault, device_dies, .timeout = 8,
		.retry_cnt = 1},
	{"a message to a stopped process waits", case_stopped, receives, THREADED,
		.line = "lives, but does not run", .waits = true},
	{"UC: a message to a stopped process is lost after a time", case_stopped_uc, tells,
		.kind = K_UC},
	{"DC: an error stops only its stream", case_streams, serves_dc},
	{"an idle connection wakes nobody, and a message wakes", case_idle, sleeps, THREADED,
		.waits = true},
	{"a message wakes an adapter without userfaultfd", case_naps, only_runs, THREADED,
		.begin_there = refuse_traps, .waits = true},
};

/* A side of a case is executed as: test_wire SIDE CASE SOCKET PROCESS-THERE */
enum {
	ARG_SIDE = 1,
	ARG_CASE,
	ARG_SOCKET,
	ARG_THERE,
	N_ARGS
};

static void __attribute__((noreturn))
execute(const char *side, const struct two *two, int sock, pid_t there, const char *const set[3])
{
	char number[3][16];

	for (unsigned int i = 0; i < 3 && set[i] != NULL; i++)
		CHECK_EQ(putenv((char *)(uintptr_t)set[i]), 0);
	snprintf(number[0], sizeof(number[0]), "%d", (int)(two - cases));
	snprintf(number[1], sizeof(number[1]), "%d", sock);
	snprintf(number[2], sizeof(number[2]), "%d", (int)there);
	execl("/proc/self/exe", "test_wire", side, number[0], number[1], number[2], NULL);
	_exit(127);
}

static void
be_there(struct end *e)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (e->two->begin_there != NULL)
		e->two->begin_there();
	open_end(e);
	e->two->there(e);
	tell(e);
	hear(e);
}

/* If the process "there" was killed, it takes no part in the end of the case. */
static void
be_here(struct end *e)
{
	int status;

	open_end(e);
	e->two->here(e);
	if (e->there == -1)
		return;
	hear(e);
	tell(e);
	while (waitpid(e->there, &status, WNOHANG) == 0)
		pair_run();
	CHECK_EQ(status, 0, "the result of the process there");
}

static void
be_a_side(char **argv)
{
	struct end e = {.two = &cases[atoi(argv[ARG_CASE])],
		.sock = atoi(argv[ARG_SOCKET]),
		.there = atoi(argv[ARG_THERE])};

	if (e.there != 0)
		be_here(&e);
	else
		be_there(&e);
	_exit(check_failures == 0 ? 0 : 1);
}

static void
begin_case(const struct two *two, int log)
{
	int socks[2];
	pid_t there;

	CHECK_EQ(dup2(log, STDERR_FILENO), STDERR_FILENO);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, socks), 0);
	there = fork();
	CHECK(there >= 0);
	close(socks[there != 0]);
	if (there == 0)
		execute("there", two, socks[1], 0, two->set_there);
	execute("here", two, socks[0], there, two->set_here);
}

/* A case whose processes run. */
struct running {
	const struct two *two;
	int log;
	pid_t here;
};

static struct running
start_case(const struct two *two)
{
	struct running r = {two, memfd_create("stderr", 0), 0};

	CHECK(r.log >= 0);
	fflush(NULL);
	r.here = fork();
	CHECK(r.here >= 0);
	if (r.here == 0)
		begin_case(two, r.log);
	return r;
}

static void
end_case(const struct running *r)
{
	static char text[65536];
	int status;
	ssize_t n;

	CHECK_EQ(waitpid(r->here, &status, 0), r->here);
	n = pread(r->log, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	if (status != 0 || (r->two->line != NULL && strstr(text, r->two->line) == NULL))
		check_failed(__FILE__, __LINE__, "the case succeeds", " status 0x%x: %s", status,
			text);
	close(r->log);
}

static bool
runs(const struct two *two)
{
	if ((two->begin_there == becomes_nobody || two->as_root) && geteuid() != 0)
		return false;
	return two->when == ALWAYS || (two->when == PUMPED) == pair_is_pumped();
}

int
main(int argc, char **argv)
{
	static struct running waiting[sizeof(cases) / sizeof(cases[0])];
	unsigned int ran = 0, n_waiting = 0;
	struct running r;

	if (argc == N_ARGS)
		be_a_side(argv);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (!runs(&cases[i]) || (argc > 1 && strstr(cases[i].sentence, argv[1]) == NULL))
			continue;
		ran++;
		r = start_case(&cases[i]);
		if (r.two->waits)
			waiting[n_waiting++] = r;
		else
			RUN(r.two->sentence, end_case(&r));
	}
	for (unsigned int i = 0; i < n_waiting; i++)
		RUN(waiting[i].two->sentence, end_case(&waiting[i]));
	return ran != 0 && check_failures == 0 ? 0 : 1;
}
