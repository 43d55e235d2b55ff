/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fuzzer of the records that processes exchange (drivers/softhca/wire/include/record.h). The
 * program plays other processes: it claims blocks of QP numbers, connects to the adapter, and
 * accepts the adapter's connections. It sends requests that are valid, nearly valid or malformed,
 * breaks messages off, and gives answers that do not fit. What must be true:
 *
 * - memory that no key grants does not change, and its bytes are in no record (fuzz.h);
 * - a record that breaks a rule closes its connection;
 * - the adapter comes to rest, and its own queue pairs still exchange messages;
 * - the memory of gathered messages and the number of connections are bounded;
 * - when all connections are closed, nothing is left of their messages.
 *
 * usage: fuzz_wire [STEPS [SEED]]     usertools/fuzz.sh has the long form
 */
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lanes.h"
#include "softhca.h"
#include "wire_adapter.h"

#include "fuzz_wqe.h"

#define WORLD_STEPS 300 /* number of steps until all objects are created again */
#define MAX_TURNS   20000
/* In one turn an adapter executes at most 64 records, and a few more if a connection ends. */
#define ALIVE_TURNS   256
#define IDLE_TURNS    320 /* the adapter looks for records only in some turns: lane.c */
#define MAX_TURN_WORK 300
#define MAX_LINKS     24
/* number of connections that the program opens at once: more than an adapter accepts */
#define MAX_CROWD 4200
#define N_BLOCKS  2 /* number of blocks that the program claims */
#define DC_KEY    UINT64_C(0x1122334455667788)
#define QKEY      7
#define ALIVE_LEN 64

/* A connection to the adapter, on which the program sends requests. */
struct asking {
	int fd;
	bool is_deaf; /* the program does not read the answers on this connection */
	uint32_t id;
	/*
	 * bytes of the message under way that were sent; the head of its first record is in `last`
	 */
	uint64_t sent;
	struct record_request last; /* last.head.total is 0 if no message is under way */
};

/* A connection of the adapter, on which the program gives answers. */
struct serving {
	int fd;
	struct record_request last;
	/* is_deaf: the program does not read the requests on this connection */
	bool has_request, is_deaf;
};

static struct fuzz_world w;
static struct asking asking[MAX_LINKS];
static struct serving serving[MAX_LINKS];
static unsigned int n_asking, n_serving;
static uint32_t block[N_BLOCKS];
static int name[N_BLOCKS];
static uint8_t record[2 * RECORD_MAX];
/*
 * Counts of what has happened. If some of these events never happen, the fuzzer has not tested
 * them, and fails.
 */
static unsigned long n_requests, n_good, n_refused, n_broken, n_answered, n_asked;

/* ---- the adapter */

static struct wire *
wire(void)
{
	return fuzz_dev.lanes->wire;
}

static void
run_adapter(void)
{
	for (unsigned int turns = 0; turns < IDLE_TURNS || softhca_pump() != 0; turns++) {
		/* A lane that found no record for long looks at the sockets only in some turns. */
		if (turns < IDLE_TURNS)
			(void)softhca_pump();
		if (turns > MAX_TURNS)
			FUZZ_DIE("the adapter does not come to rest");
	}
	if (wire()->gathered > FUZZ_WIRE_BYTES)
		FUZZ_DIE("%llu bytes are gathered", (unsigned long long)wire()->gathered);
}

static void
check_bytes_sent(const uint8_t *p, size_t len)
{
	if (fuzz_has_secret(p, len))
		FUZZ_DIE("a record has bytes of memory that no key grants");
}

/* ---- the adapter's own work */

static void
put_wqe(unsigned int queue, const struct fuzz_wqe *wqe)
{
	struct fuzz_queue *q = &w.queue[queue];
	const unsigned int bb = (wqe->posted_ds + 3) / 4;
	struct mlx5_wqe_ctrl_seg ctrl;
	uint64_t bell;

	for (unsigned int i = 16; i < bb * 64; i++)
		q->sq[(q->pi * 64u + i) & (q->sq_bb * 64 - 1)] =
			i < wqe->posted_ds * 16 ? wqe->bytes[i] : 0x44;
	mlx5dv_set_ctrl_seg(&ctrl, q->pi, wqe->opcode, wqe->opmod, softhca_qp_number(q->qp),
		MLX5_WQE_CTRL_CQ_UPDATE, (uint8_t)wqe->ds, 0, htobe32(wqe->imm));
	memcpy(q->sq + (q->pi & (q->sq_bb - 1)) * 64, &ctrl, sizeof(ctrl));
	memcpy(&bell, &ctrl, sizeof(bell));
	q->pi = (uint16_t)(q->pi + bb);
	atomic_store(&q->db[MLX5_SND_DBR], htobe32(q->pi));
	memcpy(w.page[q->uar] + 0x800 + 0x100 * rnd(2), &bell, sizeof(bell));
}

static bool
has_room(unsigned int queue)
{
	const struct fuzz_queue *q = &w.queue[queue];
	uint32_t hw_bb;

	world_state(q, &hw_bb);
	return q->sq_bb != 0 && (uint16_t)(q->pi - (uint16_t)hw_bb) + 16u <= q->sq_bb;
}

/* A message of a whole region, or of a key with a signature or encryption. */
static void
make_long(struct fuzz_wqe *wqe)
{
	static const uint8_t opcodes[] = {MLX5_OPCODE_SEND, MLX5_OPCODE_RDMA_WRITE,
		MLX5_OPCODE_RDMA_READ};
	const struct fuzz_region *r = &w.rw[rnd(N_RW)];
	struct mlx5_wqe_raddr_seg *raddr;
	uint32_t key = softhca_mkey_key(r->mkey), len = (uint32_t)(r->size - rnd(r->size / 2));
	uint64_t va = r->va;

	if (one_in(3)) {
		key = softhca_mkey_key(w.indirect[N_INDIRECT - 4 + rnd(4)]);
		va = 0;
		len &= ~4095u;
	}
	memset(wqe, 0, sizeof(*wqe));
	wqe->ds = 1;
	wqe->opcode = opcodes[rnd(sizeof(opcodes))];
	if (wqe->opcode != MLX5_OPCODE_SEND) {
		raddr = (void *)wqe_more(wqe, 1);
		raddr->raddr = htobe64(rnd_word());
		raddr->rkey = htobe32((uint32_t)rnd_word());
	}
	mlx5dv_set_data_seg((void *)wqe_more(wqe, 1), len, key, va);
	wqe->posted_ds = wqe->ds;
}

/* Posts to a queue whose peer is the program. */
static void
post_send(void)
{
	static const uint8_t queues[] = {Q_RC_SRQ, Q_RC_SRQ, Q_RC_SRQ, Q_UC, Q_UD, Q_XRC_SEND,
		Q_DCI};
	const unsigned int queue = queues[rnd(sizeof(queues))];
	struct fuzz_wqe wqe;

	if (!has_room(queue))
		return;
	if (queue <= Q_UC && one_in(2) && (queue == Q_RC_SRQ || one_in(2)))
		make_long(&wqe);
	else
		wqe_make(&w, queue, &wqe);
	if (wqe.posted_ds == wqe.ds && !wqe.must_fail)
		put_wqe(queue, &wqe);
}

static void
post_receives(void)
{
	wqe_be_tame(!one_in(w.calm ? 40 : 3));
	for (unsigned int i = 0; i < N_QUEUES; i++) {
		struct fuzz_queue *q = &w.queue[i];

		if (q->rq_n == 0 || one_in(2))
			continue;
		for (uint32_t at = 0; at < q->rq_stride; at += 16)
			wqe_some_data(&w, q->rq + (q->rq_pi & (q->rq_n - 1)) * q->rq_stride + at);
		q->rq_pi++;
		atomic_store(&q->db[MLX5_RCV_DBR], htobe32(q->rq_pi));
	}
	for (unsigned int i = 0; i < N_SRQS; i++) {
		struct fuzz_srq *s = &w.srq[i];
		uint8_t *wqe = s->buf + (s->pi & (s->n - 1)) * s->stride;

		for (uint32_t at = 16; at < s->stride; at += 16)
			wqe_some_data(&w, wqe + at);
		/* Most receives have room for a long message. */
		if (!one_in(4)) {
			const struct fuzz_region *r = &w.rw[rnd(N_RW)];

			mlx5dv_set_data_seg((struct mlx5_wqe_data_seg *)(void *)(wqe + 16),
				(uint32_t)r->size, softhca_mkey_key(r->mkey), r->va);
		}
		s->pi++;
		atomic_store(&s->db[0], htobe32(s->pi));
	}
}

/*
 * Takes queues that have left RTS back to RTS, and sometimes other queues, too. Drops their
 * completions.
 */
static void
tidy(void)
{
	for (unsigned int i = 0; i < N_CQS; i++) {
		struct softhca_cq_attr attr;
		uint32_t pi, ci;

		softhca_cq_query(w.cq[i].cq, &attr, &pi, &ci);
		atomic_store(&w.cq[i].db[0], htobe32(pi & 0xffffff));
	}
	for (unsigned int i = 0; i < N_QUEUES; i++) {
		const struct softhca_qp_attr attr = {.state = IBV_QPS_ERR};
		uint32_t hw_bb;
		const unsigned int state = world_state(&w.queue[i], &hw_bb);

		if (i == Q_DCT ? state != IBV_QPS_RTR : state != IBV_QPS_RTS) {
			if (!one_in(3))
				world_connect(&w, i);
		} else if (one_in(40)) {
			world_connect(&w, i);
		} else if (i != Q_DCT && one_in(60)) {
			FUZZ_MUST(softhca_qp_modify(w.queue[i].qp, &attr, IBV_QP_STATE));
		}
	}
}

/*
 * Two QPs of the adapter exchange a message. Returns false if the message has not arrived: then a
 * late record of another process may have written to the same memory, or stopped a QP.
 */
static bool
message_arrives(void)
{
	struct fuzz_wqe wqe = {.opcode = MLX5_OPCODE_RDMA_WRITE};
	const struct fuzz_region *r = &w.rw[0];
	struct mlx5_wqe_raddr_seg *raddr;
	uint32_t hw_bb;

	world_connect(&w, Q_RC_A);
	world_connect(&w, Q_RC_B);
	tidy();
	if (world_state(&w.queue[Q_RC_A], &hw_bb) != IBV_QPS_RTS ||
		world_state(&w.queue[Q_RC_B], &hw_bb) != IBV_QPS_RTS)
		return true;
	wqe.ds = 1;
	raddr = (void *)wqe_more(&wqe, 1);
	raddr->raddr = htobe64(r->va);
	raddr->rkey = htobe32(softhca_mkey_key(r->mkey));
	mlx5dv_set_data_seg((void *)wqe_more(&wqe, 1), ALIVE_LEN, softhca_mkey_key(r->mkey),
		r->va + ALIVE_LEN);
	wqe.posted_ds = wqe.ds;
	memset((void *)(uintptr_t)(r->va + ALIVE_LEN), 0x77, ALIVE_LEN);
	memset((void *)(uintptr_t)r->va, 0, ALIVE_LEN);
	put_wqe(Q_RC_A, &wqe);
	/* A page that has not rung for long is looked at once in several busy turns: lane.c. */
	for (unsigned int turns = 0; turns < ALIVE_TURNS; turns++)
		(void)softhca_pump();
	return memcmp((void *)(uintptr_t)r->va, (void *)(uintptr_t)(r->va + ALIVE_LEN),
		       ALIVE_LEN) == 0;
}

static void
check_alive(void)
{
	for (int i = 0; i < 3; i++)
		if (message_arrives())
			return;
	FUZZ_DIE("%u turns do not run a WQE of the adapter's own queues", ALIVE_TURNS);
}

/* ---- requests */

static uint32_t
own_number(unsigned int queue)
{
	return block[queue % N_BLOCKS] << 12 | (queue + 1);
}

static void
some_path(struct record_request *r, unsigned int queue)
{
	r->flags = RECORD_ETHERNET;
	memcpy(r->dgid, fuzz_dev.port[0].gid[0], sizeof(r->dgid));
	if (queue == Q_UD || queue == Q_DCT) {
		r->flags |= one_in(4) ? 0 : RECORD_HAS_GRH | (one_in(2) ? RECORD_IS_V2 : 0);
		memcpy(r->sgid, fuzz_dev.port[0].gid[0], sizeof(r->sgid));
		if (one_in(4))
			memset(r->sgid, 0, 10), memset(r->sgid + 10, 0xff, 2);
		r->sl = (uint8_t)rnd(16);
		r->flow = (uint32_t)rnd(1 << 20);
		r->hop_limit = r->tclass = (uint8_t)rnd(256);
	}
	r->flags |= one_in(2) ? RECORD_SOLICITED : 0;
	r->flags |= one_in(8) ? RECORD_AGAIN : 0;
}

static uint8_t
some_opcode(unsigned int queue)
{
	static const uint8_t opcodes[] = {MLX5_OPCODE_SEND, MLX5_OPCODE_SEND, MLX5_OPCODE_SEND_IMM,
		MLX5_OPCODE_RDMA_WRITE, MLX5_OPCODE_RDMA_WRITE, MLX5_OPCODE_RDMA_WRITE_IMM,
		MLX5_OPCODE_RDMA_READ, MLX5_OPCODE_RDMA_READ, MLX5_OPCODE_SEND_INVAL,
		MLX5_OPCODE_ATOMIC_CS, MLX5_OPCODE_ATOMIC_FA};

	return opcodes[rnd(queue == Q_UD ? 3 : queue == Q_UC ? 6 : sizeof(opcodes))];
}

static uint64_t
some_total(unsigned int queue)
{
	if (queue == Q_UD)
		return rnd(4097);
	switch (rnd(8)) {
	case 0:
		return RECORD_DATA - 2 + rnd(5);
	case 1:
	case 2:
		return rnd(FUZZ_RW_LEN);
	case 3:
		return one_in(8) ? RECORD_MAX_MESSAGE - rnd(2) : rnd(3 * FUZZ_RW_LEN);
	case 4:
		return rnd(RECORD_DATA);
	default:
		return rnd(300);
	}
}

/* Draws a request that a queue pair may send. */
static void
some_request(struct asking *a, struct record_request *r)
{
	static const uint8_t queues[] = {Q_RC_A, Q_RC_SRQ, Q_RC_SRQ, Q_UC, Q_UD, Q_XRC_RECV,
		Q_XRC_RECV, Q_DCT, Q_DCT};
	const unsigned int queue = queues[rnd(sizeof(queues))];

	memset(r, 0, sizeof(*r));
	r->type = queue == Q_XRC_RECV ? SOFTHCA_QP_XRC_SEND
		  : queue == Q_DCT    ? SOFTHCA_QP_DCI
				      : (uint16_t)w.queue[queue].type;
	r->opcode = some_opcode(queue);
	r->head = (struct record){.magic = RECORD_MAGIC,
		.kind = RECORD_REQUEST,
		.qpn = own_number(queue),
		.id = ++a->id,
		.total = some_total(queue)};
	if (r->opcode == MLX5_OPCODE_ATOMIC_CS || r->opcode == MLX5_OPCODE_ATOMIC_FA)
		r->head.total = 0;
	r->dest_qpn = softhca_qp_number(w.queue[queue].qp);
	r->srqn = softhca_srq_number(w.srq[one_in(8) ? 0 : 1].srq);
	r->qkey = QKEY;
	r->dc_key = one_in(30) ? rnd_word() : DC_KEY;
	wqe_be_tame(!one_in(w.calm ? 40 : 3));
	r->rkey = wqe_some_key(&w);
	r->va = wqe_some_va(&w, r->rkey);
	/* A long message mostly begins at the start of its key. */
	for (unsigned int i = 0; i < N_RW; i++)
		if (r->head.total > 1000 && r->rkey == softhca_mkey_key(w.rw[i].mkey) && !one_in(4))
			r->va = w.rw[i].va;
	if (r->head.total > 1000 && !one_in(8) && r->rkey != softhca_mkey_key(w.ro.mkey)) {
		for (unsigned int i = N_INDIRECT - 4; i < N_INDIRECT; i++)
			if (r->rkey == softhca_mkey_key(w.indirect[i])) {
				r->va = 0;
				r->head.total &= ~UINT64_C(4095);
			}
	}
	r->imm = r->opcode == MLX5_OPCODE_SEND_INVAL ? wqe_some_key(&w) : (uint32_t)rnd_word();
	r->swap_add = rnd_word();
	r->compare = rnd_word();
	some_path(r, queue);
}

static void
end_asking(struct asking *a)
{
	close(a->fd);
	*a = asking[--n_asking];
}

/* Sends bytes of `record`. Returns false if the adapter has closed the connection. */
static bool
send_bytes(struct asking *a, size_t len)
{
	if (send(a->fd, record, len, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 || errno == EAGAIN)
		return true;
	if (errno != EPIPE && errno != ECONNRESET && errno != EMSGSIZE && errno != ENOBUFS)
		FUZZ_DIE("send: %s", strerror(errno));
	return errno == EMSGSIZE || errno == ENOBUFS;
}

static bool
has_data(const struct record_request *r)
{
	return r->opcode != MLX5_OPCODE_RDMA_READ && r->head.total != 0;
}

/* Puts a request into `record`. Returns its length. */
static size_t
put_request(struct asking *a, const struct record_request *r)
{
	uint64_t len = has_data(r) ? r->head.total : 0;

	if (len > RECORD_DATA || (len > 1 && one_in(16)))
		len = one_in(4)           ? 1 + rnd(len < RECORD_DATA ? len : RECORD_DATA)
		      : len < RECORD_DATA ? len
					  : RECORD_DATA;
	memcpy(record, r, sizeof(*r));
	memset(record + sizeof(*r), 0x66, len);
	a->last = *r;
	a->sent = len;
	if (len == (has_data(r) ? r->head.total : 0))
		a->last.head.total = 0;
	n_requests++;
	return sizeof(*r) + len;
}

/* Puts the next part of the message under way into `record`. Returns its length. */
static size_t
put_more(struct asking *a)
{
	struct record head = a->last.head;
	uint64_t len = head.total - a->sent;

	if (len > RECORD_DATA)
		len = one_in(4) ? 1 + rnd(RECORD_DATA) : RECORD_DATA;
	head.kind = RECORD_MORE;
	head.off = a->sent;
	memcpy(record, &head, sizeof(head));
	memset(record + sizeof(head), 0x66, len);
	a->sent += len;
	if (a->sent == head.total)
		a->last.head.total = 0;
	return sizeof(head) + len;
}

static bool
send_good(struct asking *a)
{
	struct record_request r;

	if (a->last.head.total != 0 && !one_in(20))
		return send_bytes(a, put_more(a));
	some_request(a, &r);
	return send_bytes(a, put_request(a, &r));
}

/* Sends a record with one or more wrong fields, which may still be valid. */
static bool
send_odd(struct asking *a)
{
	struct record_request r;
	size_t len, head;

	if (a->last.head.total != 0 && one_in(2)) {
		len = put_more(a);
		head = sizeof(struct record);
	} else {
		some_request(a, &r);
		len = put_request(a, &r);
		head = sizeof(r);
	}
	for (unsigned int n = 1 + (unsigned int)rnd(3); n != 0; n--)
		mutate_field(record, one_in(3) ? sizeof(struct record) : head);
	if (one_in(8))
		len = rnd(len + 1);
	a->last.head.total = 0;
	return send_bytes(a, len);
}

/* ---- records that break a rule */

enum rule {
	R_MAGIC,
	R_VERSION,
	R_KIND_0,
	R_KIND,
	R_ANSWER,
	R_SHORT,
	R_SHORT_REQUEST,
	R_HEAD_ZERO,
	R_QPN,
	R_ID,
	R_TOTAL,
	R_OFF,
	R_DEST,
	R_FLAGS,
	R_ZERO,
	R_ZEROS,
	R_SL,
	R_FLOW,
	R_BLOCK_0,
	R_NOT_HELD,
	R_MORE,
	R_OPCODE,
	R_TYPE,
	R_TYPE_OPCODE,
	R_TOO_MUCH,
	R_NO_DATA,
	R_ATOMIC,
	R_READ,
	R_DATAGRAM,
	N_RULES
};

static void
break_path(struct record_request *r, enum rule rule)
{
	static const uint16_t types[] = {0, SOFTHCA_QP_RAW, SOFTHCA_QP_XRC_RECV, SOFTHCA_QP_DCT, 5,
		0xffff};

	if (rule == R_DEST)
		r->dest_qpn |= 1u << (24 + rnd(8));
	else if (rule == R_FLAGS)
		r->flags |= 1 << 7;
	else if (rule == R_ZERO)
		r->zero = (uint8_t)(1 + rnd(255));
	else if (rule == R_ZEROS)
		r->zeros[rnd(2)] = (uint8_t)(1 + rnd(255));
	else if (rule == R_SL)
		r->sl = (uint8_t)(16 + rnd(240));
	else if (rule == R_FLOW)
		r->flow |= 1u << (20 + rnd(12));
	else if (rule == R_OPCODE)
		r->opcode = one_in(2) ? MLX5_OPCODE_UMR : MLX5_OPCODE_NOP;
	else if (rule == R_TYPE)
		r->type = types[rnd(sizeof(types) / sizeof(types[0]))];
	else if (rule == R_TYPE_OPCODE)
		r->type = SOFTHCA_QP_UD, r->opcode = MLX5_OPCODE_RDMA_WRITE;
}

static void
break_head(struct record *h, enum rule rule)
{
	static const uint8_t kinds[] = {4, 5, 255};

	if (rule == R_MAGIC)
		h->magic ^= 1u << (8 + rnd(24));
	else if (rule == R_VERSION)
		h->magic ^= 1u << rnd(8);
	else if (rule == R_KIND_0)
		h->kind = 0;
	else if (rule == R_KIND)
		h->kind = kinds[rnd(sizeof(kinds))];
	else if (rule == R_ANSWER)
		h->kind = RECORD_ANSWER;
	else if (rule == R_HEAD_ZERO)
		h->zero[rnd(3)] = (uint8_t)(1 + rnd(255));
	else if (rule == R_QPN)
		h->qpn |= 1u << (24 + rnd(8));
	else if (rule == R_ID)
		h->id = 0;
	else if (rule == R_TOTAL)
		h->total = RECORD_MAX_MESSAGE + 1 + rnd(5);
	else if (rule == R_OFF)
		h->off = 1 + rnd(100);
	else if (rule == R_BLOCK_0)
		h->qpn = (uint32_t)rnd(4096);
	else if (rule == R_NOT_HELD)
		h->qpn = 0xfff000 | (uint32_t)rnd(4096);
	else if (rule == R_MORE)
		h->kind = RECORD_MORE;
}

/* Puts a record into `record` that the adapter must refuse. Returns its length. */
static size_t
put_wrong(struct asking *a, enum rule rule)
{
	struct record_request r;
	size_t data = 8;

	do
		some_request(a, &r);
	while (r.type == SOFTHCA_QP_UD);
	r.opcode = MLX5_OPCODE_SEND;
	r.head.total = 8;
	break_head(&r.head, rule);
	break_path(&r, rule);
	if (rule == R_TOO_MUCH)
		r.head.total = 7;
	if (rule == R_NO_DATA || rule == R_SHORT || rule == R_SHORT_REQUEST)
		data = 0;
	if (rule == R_ATOMIC)
		r.opcode = MLX5_OPCODE_ATOMIC_FA;
	if (rule == R_READ)
		r.opcode = MLX5_OPCODE_RDMA_READ;
	if (rule == R_DATAGRAM)
		r.type = SOFTHCA_QP_UD, r.head.total = 4097, data = 4097;
	memcpy(record, &r, sizeof(r));
	memset(record + sizeof(r), 0x66, data);
	if (rule == R_SHORT)
		return 1 + rnd(sizeof(r.head) - 1);
	if (rule == R_SHORT_REQUEST)
		return sizeof(r.head) + rnd(sizeof(r) - sizeof(r.head));
	return sizeof(r) + data;
}

static int
connect_to(unsigned int queue)
{
	int fd, err = names_connect(softhca_qp_number(w.queue[queue].qp), &fd);

	if (err == -EAGAIN || err == -EMFILE)
		return -1;
	FUZZ_MUST(err);
	return fd;
}

/* True if the adapter has closed the connection. Answers before this are dropped. */
static bool
is_closed(int fd)
{
	ssize_t len;

	do
		len = recv(fd, record, sizeof(record), MSG_DONTWAIT);
	while (len > 0);
	return len == 0 || errno == ECONNRESET;
}

/* Begins a message of several records, and goes on with a record that does not continue it. */
static void
break_more(struct asking *a)
{
	struct record_request r;
	struct record *head = (void *)record;
	size_t len;

	some_request(a, &r);
	r.type = SOFTHCA_QP_RC;
	r.opcode = MLX5_OPCODE_SEND;
	r.head.total = 1000;
	memcpy(record, &r, sizeof(r));
	(void)send_bytes(a, sizeof(r) + 100);
	a->last = r;
	a->sent = 100;
	len = put_more(a);
	switch (rnd(5)) {
	case 0:
		head->off += 1;
		break;
	case 1:
		head->id ^= 1;
		break;
	case 2:
		head->total += 1;
		break;
	case 3:
		len = sizeof(*head);
		break;
	default:
		len += 1;
	}
	(void)send_bytes(a, len);
}

static void
break_rule(void)
{
	const enum rule rule = (enum rule)rnd(N_RULES + 2);
	struct asking a = {.fd = connect_to(Q_RC_SRQ)};

	if (a.fd < 0)
		return;
	if (rule >= N_RULES)
		break_more(&a);
	else
		(void)send_bytes(&a, put_wrong(&a, rule));
	run_adapter();
	if (!is_closed(a.fd))
		FUZZ_DIE("a record that breaks rule %d does not close its connection", (int)rule);
	close(a.fd);
	n_broken++;
}

/* ---- the program asks */

static void
read_answers(struct asking *a)
{
	const struct record_answer *answer = (void *)record;
	ssize_t len;

	while ((len = recv(a->fd, record, sizeof(record), MSG_DONTWAIT)) > 0) {
		if ((size_t)len < sizeof(*answer) || answer->head.kind != RECORD_ANSWER ||
			answer->head.magic != RECORD_MAGIC)
			FUZZ_DIE("a malformed answer");
		check_bytes_sent(record, (size_t)len);
		n_good += answer->result == 0;
		n_refused += answer->result != 0;
	}
}

static void
ask(void)
{
	struct asking *a;
	bool is_open = true;

	if (n_asking < MAX_LINKS && one_in(n_asking + 1)) {
		static const uint8_t queues[] = {Q_RC_SRQ, Q_UD, Q_DCT};
		int fd = connect_to(queues[rnd(sizeof(queues))]);

		if (fd >= 0)
			asking[n_asking++] = (struct asking){.fd = fd, .is_deaf = one_in(12)};
	}
	if (n_asking == 0)
		return;
	a = &asking[rnd(n_asking)];
	if (one_in(50)) {
		end_asking(a);
		return;
	}
	for (unsigned int n = 1 + (unsigned int)rnd(8); n != 0 && is_open; n--)
		is_open = one_in(w.calm ? 60 : 10) ? send_odd(a) : send_good(a);
	if (one_in(2))
		run_adapter();
	if (!a->is_deaf)
		read_answers(a);
	if (!is_open)
		end_asking(a);
}

/* ---- the program serves */

static void
accept_all(void)
{
	int fd;

	for (unsigned int i = 0; i < N_BLOCKS; i++)
		while ((fd = accept4(name[i], NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
			if (n_serving == MAX_LINKS) {
				close(serving[0].fd);
				serving[0] = serving[--n_serving];
			}
			serving[n_serving++] = (struct serving){.fd = fd, .is_deaf = one_in(8)};
		}
}

/* Reads requests of the adapter. Returns false if the connection is closed. */
static bool
take_requests(struct serving *s)
{
	const struct record *head = (void *)record;
	ssize_t len;

	while ((len = recv(s->fd, record, sizeof(record), MSG_DONTWAIT)) > 0) {
		if ((size_t)len < sizeof(*head) || (size_t)len > RECORD_MAX ||
			head->magic != RECORD_MAGIC ||
			(head->kind != RECORD_REQUEST && head->kind != RECORD_MORE))
			FUZZ_DIE("the adapter sent a malformed record");
		check_bytes_sent(record, (size_t)len);
		n_asked++;
		if (head->kind == RECORD_REQUEST) {
			memcpy(&s->last, record, sizeof(s->last));
			s->has_request = true;
		}
		if (one_in(3))
			break;
	}
	return len > 0 || errno == EAGAIN;
}

static void
some_answer(const struct serving *s, struct record_answer *a, uint64_t *len)
{
	static const uint16_t results[] = {0, 0, 0, 0, 0x12, 0x13, 0x14, 0x100, 0x101, 0x102, 1,
		0x103, 0x104, 0xffff};
	const bool is_read = s->last.opcode == MLX5_OPCODE_RDMA_READ;

	memset(a, 0, sizeof(*a));
	a->head = s->last.head;
	a->head.kind = RECORD_ANSWER;
	a->result = results[rnd(sizeof(results) / sizeof(results[0]))];
	a->vendor = (uint16_t)(one_in(16) ? rnd_word() : 0);
	a->rnr_timer = (uint8_t)rnd(32);
	a->ns = one_in(8) ? rnd_word() : rnd(3000);
	a->old = rnd_word();
	a->last = 1;
	*len = is_read && a->result == 0 ? a->head.total : 0;
	if (*len > RECORD_DATA) {
		*len = RECORD_DATA;
		a->last = 0;
	}
}

static void
answer(struct serving *s)
{
	struct record_answer a;
	uint64_t len;

	some_answer(s, &a, &len);
	if (one_in(w.calm ? 30 : 6))
		mutate_field((uint8_t *)&a, sizeof(a));
	if (one_in(w.calm ? 60 : 12))
		len = rnd(RECORD_DATA);
	memcpy(record, &a, sizeof(a));
	memset(record + sizeof(a), 0x99, len);
	for (unsigned int n = one_in(16) ? 2 : 1; n != 0; n--)
		(void)send(s->fd, record, sizeof(a) + len, MSG_DONTWAIT | MSG_NOSIGNAL);
	/* Sends the further answers to a long read. */
	while (a.last == 0 && a.result == 0 && !one_in(20)) {
		a.head.off += len;
		len = a.head.total - a.head.off;
		a.last = len <= RECORD_DATA;
		len = a.last ? len : RECORD_DATA;
		memcpy(record, &a, sizeof(a));
		if (len > RECORD_DATA ||
			send(s->fd, record, sizeof(a) + len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			break;
		if (one_in(2))
			run_adapter();
	}
	n_answered++;
}

static void
serve(void)
{
	accept_all();
	for (unsigned int i = 0; i < n_serving;) {
		struct serving *s = &serving[i];

		if (s->is_deaf && !one_in(20)) {
			i++;
			continue;
		}
		if (!take_requests(s) || one_in(100)) {
			close(s->fd);
			*s = serving[--n_serving];
			continue;
		}
		if (s->has_request && !one_in(16))
			answer(s);
		if (one_in(4))
			s->has_request = false;
		i++;
	}
}

/* ---- too many connections */

static void
come_in_a_crowd(void)
{
	static int fds[MAX_CROWD];
	unsigned int n = 0, want = one_in(3) ? MAX_CROWD : 200;

	for (; n < want && (fds[n] = connect_to(Q_RC_SRQ)) >= 0; n++) {
		struct asking a = {.fd = fds[n]};

		for (unsigned int left = n < 200 ? (unsigned int)rnd(8) : 0; left != 0; left--)
			(void)send_good(&a);
		if (n % 1000 == 999)
			run_adapter();
	}
	if (softhca_pump() > MAX_TURN_WORK)
		FUZZ_DIE("other processes take a whole turn");
	run_adapter();
	check_alive();
	if (wire()->n_served > 4096)
		FUZZ_DIE("an adapter has %u connections", wire()->n_served);
	while (n != 0)
		close(fds[--n]);
	run_adapter();
}

/*
 * The adapter must continue to work when connections wait to be accepted, and its process has no
 * free file descriptor.
 */
static void
use_up_descriptors(void)
{
	struct rlimit old, none;
	int fds[4], top = dup(name[0]);

	for (unsigned int i = 0; i < 4; i++)
		fds[i] = connect_to(Q_RC_SRQ);
	FUZZ_MUST(getrlimit(RLIMIT_NOFILE, &old) != 0);
	none = old;
	none.rlim_cur = 0;
	FUZZ_MUST(setrlimit(RLIMIT_NOFILE, &none) != 0);
	run_adapter();
	check_alive();
	FUZZ_MUST(setrlimit(RLIMIT_NOFILE, &old) != 0);
	run_adapter();
	for (unsigned int i = 0; i < 4; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	close(top);
}

/* ---- all of it */

static void
open_world(void)
{
	uint32_t peers[N_QUEUES] = {0};

	for (unsigned int i = Q_RC_SRQ; i < Q_RAW; i++)
		peers[i] = own_number(i);
	world_create(&w, one_in(2), peers);
}

static void
close_world(void)
{
	while (n_asking != 0)
		end_asking(&asking[0]);
	while (n_serving != 0)
		close(serving[--n_serving].fd);
	accept_all();
	while (n_serving != 0)
		close(serving[--n_serving].fd);
	run_adapter();
	if (wire()->gathered != 0)
		FUZZ_DIE("gathered bytes of closed connections are kept");
	if (wire()->n_served != 0)
		FUZZ_DIE("closed connections are kept");
	world_destroy(&w);
	if (atomic_load(&wire()->asking) != 0)
		FUZZ_DIE("messages of destroyed queue pairs are kept");
}

static void
step(void)
{
	struct fuzz_wqe wqe;
	uint64_t len;

	switch (rnd(10)) {
	case 0:
		break_rule();
		break;
	case 1:
	case 2:
		post_send();
		break;
	case 3:
		if (has_room(Q_RC_A) && one_in(2)) {
			(void)wqe_long_key(&w, &wqe, &len);
			put_wqe(Q_RC_A, &wqe);
		}
		break;
	case 4:
	case 5:
		serve();
		break;
	default:
		ask();
	}
	if (one_in(2))
		post_receives();
	if (one_in(16))
		world_pass(rnd(one_in(8) ? UINT64_C(4000000000) : 2000000));
	if (one_in(700))
		come_in_a_crowd();
	if (one_in(300))
		use_up_descriptors();
	if (one_in(2))
		run_adapter();
	if (one_in(10))
		check_alive();
	tidy();
	fuzz_check_guards();
	fuzz_check_regions(&w);
}

static void
raise_limit(void)
{
	struct rlimit limit;

	FUZZ_MUST(getrlimit(RLIMIT_NOFILE, &limit) != 0);
	limit.rlim_cur = limit.rlim_max;
	FUZZ_MUST(setrlimit(RLIMIT_NOFILE, &limit) != 0);
}

int
main(int argc, char **argv)
{
	const unsigned long steps = argc > 1 ? strtoul(argv[1], NULL, 0) : 10000;

	fuzz_fix_addresses(argv);
	/* In a network namespace of its own, the program meets no other processes. */
	(void)unshare(CLONE_NEWNET);
	fuzz_begin(argc > 2 ? strtoull(argv[2], NULL, 0) : 1, 600);
	raise_limit();
	world_init(SOFTHCA_WIRE_ON);
	for (unsigned int i = 0; i < N_BLOCKS; i++)
		FUZZ_MUST(names_claim(&block[i], &name[i]));
	for (unsigned long n = 0; n < steps; n++) {
		if (n % WORLD_STEPS == 0)
			open_world();
		step();
		if (n % WORLD_STEPS == WORLD_STEPS - 1 || n == steps - 1)
			close_world();
	}
	world_fini();
	for (unsigned int i = 0; i < N_BLOCKS; i++)
		close(name[i]);
	printf("%lu requests: %lu good answers, %lu refusals; %lu records of the adapter, %lu answers; "
	       "%lu broken rules\n",
		n_requests, n_good, n_refused, n_asked, n_answered, n_broken);
	return steps >= 1000 && (n_good == 0 || n_refused == 0 || n_answered == 0) ? EXIT_FAILURE
										   : EXIT_SUCCESS;
}
