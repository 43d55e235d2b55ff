/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CQs of the emulated adapter, through stock libibverbs and libmlx5: resizing while WQEs are
 * executed, moderated events, compressed completions, and clocks. Other programs test polling.
 */
#include "softhca_pair.h"

static void
post_send(struct pair *p, uint64_t id)
{
	struct ibv_sge sge = {(uintptr_t)p->client.buf, 8, p->client.mr->lkey};
	struct ibv_send_wr wr = {.wr_id = id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {(uintptr_t)p->server.buf, p->server.mr->rkey}};
	struct ibv_send_wr *bad;

	pair_publish(&p->client);
	CHECK_EQ(ibv_post_send(p->client.qp, &wr, &bad), 0);
}

/* Posts n writes, and waits until all writes have completed. No completion is polled. */
static void
complete(struct pair *p, uint64_t first, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		post_send(p, first + i);
	/*
	 * A resize of the CQ waits for the writes, but not for their events. So let the adapter run
	 * until it has sent the events.
	 */
	for (unsigned int i = 0; i < 10; i++)
		pair_run();
}

static void
expect(struct ibv_cq *cq, uint64_t first, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		uint64_t end = pair_now_ms() + CHECK_PATIENCE_MS;
		struct ibv_wc wc;
		int got;

		while ((got = ibv_poll_cq(cq, 1, &wc)) == 0 && pair_now_ms() < end)
			pair_run();
		CHECK_EQ(got, 1);
		CHECK_EQ(wc.status, IBV_WC_SUCCESS);
		CHECK_EQ(wc.wr_id, first + i);
	}
}

/*
 * Completions from before and after a resize must come in order, after a resize to a larger CQ and
 * to a smaller CQ.
 */
static void
resize_keeps_all(struct pair *p)
{
	static const int sizes[] = {100, 9, 1000, 7, 30, 4000, 15};
	uint64_t id = 65500; /* number of the next work request */

	for (unsigned int round = 0; round < 200; round++) {
		unsigned int before = round % 7, after = round % 4;

		complete(p, id, before);
		CHECK_EQ(ibv_resize_cq(p->client.cq, sizes[round % 7]), 0);
		CHECK(p->client.cq->cqe >= sizes[round % 7]);
		for (unsigned int i = 0; i < after; i++)
			post_send(p, id + before + i);
		expect(p->client.cq, id, before + after);
		id += before + after;
	}
}

static void
case_resize(void)
{
	struct pair p;

	pair_init(&p, &(struct pair_opts){.cqe = 20});
	resize_keeps_all(&p);
	pair_fini(&p);
}

static void
case_resize_128(void)
{
	struct pair p;

	CHECK_EQ(setenv("MLX5_CQE_SIZE", "128", 1), 0);
	pair_init(&p, &(struct pair_opts){.cqe = 20});
	CHECK_EQ(unsetenv("MLX5_CQE_SIZE"), 0);
	CHECK_EQ(p.client.cqe_len, 128);
	resize_keeps_all(&p);
	pair_fini(&p);
}

/* Each refused ibv_resize_cq(3) fails with EINVAL and changes nothing. */
static void
case_resize_refused(void)
{
	struct pair p;

	pair_init(&p, &(struct pair_opts){.cqe = 15});
	complete(&p, 1, 5);
	CHECK_EQ(ibv_resize_cq(p.client.cq, 3), EINVAL);
	CHECK_EQ(ibv_resize_cq(p.client.cq, 7), 0);
	expect(p.client.cq, 1, 5);
	/* A full CQ has no free entry for the CQE that marks the end of the old buffer. */
	complete(&p, 6, 8);
	CHECK_EQ(ibv_resize_cq(p.client.cq, 100), EINVAL);
	expect(p.client.cq, 6, 8);
	CHECK_EQ(ibv_resize_cq(p.client.cq, 100), 0);
	complete(&p, 14, 50);
	expect(p.client.cq, 14, 50);
	CHECK_EQ(ibv_resize_cq(p.client.cq, 5000000), EINVAL);
	complete(&p, 64, 1);
	expect(p.client.cq, 64, 1);
	pair_fini(&p);
}

/* ---- compressed completions */

/*
 * Reads the CQ of one end of a connection as Linux's mlx5 driver does
 * (mlx5e_decompress_cqes_start()): a title, whose byte count is the number of completions, and mini
 * CQEs, eight in each entry. Each completion is returned as a separate entry.
 */
struct reader {
	struct pair_end *e;
	uint32_t ci;
	unsigned int titles, singles; /* numbers of titles and of uncompressed CQEs */
};

struct mini {
	/*
	 * from the mini CQE of a request; 0 for a receive, whose mini CQE has half of a hash here
	 */
	uint16_t wqe_counter;
	uint8_t wqe_opcode, zero;
	uint32_t byte_cnt;
};

static struct mlx5_cqe64 *
entry(const struct reader *r, uint32_t index)
{
	const struct pair_end *e = r->e;
	uint8_t *p = e->cqes + (size_t)(index & (e->n_cqe - 1)) * e->cqe_len;

	return (struct mlx5_cqe64 *)(void *)(p + e->cqe_len - 64);
}

static bool
is_there(const struct reader *r)
{
	const struct mlx5_cqe64 *cqe = entry(r, r->ci);
	uint8_t op_own = __atomic_load_n(&cqe->op_own, __ATOMIC_ACQUIRE);

	PAIR_ACQUIRE((uint8_t *)(uintptr_t)&cqe->op_own);
	return op_own >> 4 != MLX5_CQE_INVALID &&
	       (op_own & MLX5_CQE_OWNER_MASK) == ((r->ci & r->e->n_cqe) != 0);
}

/*
 * Marks n entries as invalid after the test has read them. An owner bit cannot show that an entry
 * is old, because the adapter writes no owner bit to most entries of compressed completions.
 */
static void
consume(struct reader *r, uint32_t n)
{
	struct mlx5dv_cq dv = {0};
	struct mlx5dv_obj obj = {.cq = {r->e->cq, &dv}};

	for (uint32_t i = 0; i < n; i++)
		entry(r, r->ci + i)->op_own = MLX5_CQE_INVALID << 4;
	r->ci += n;
	CHECK_EQ(mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ), 0);
	__atomic_store_n((uint32_t *)dv.dbrec, htobe32(r->ci & 0xffffff), __ATOMIC_RELEASE);
}

static void
unzip(const struct reader *r, const struct mlx5_cqe64 *title, uint32_t i, struct mlx5_cqe64 *out)
{
	uint32_t at = i < 8 ? 1 : i / 8 * 8;
	struct mini mini;

	memcpy(&mini, (uint8_t *)entry(r, r->ci + at) + i % 8 * 8, 8);
	*out = *title;
	out->byte_cnt = mini.byte_cnt;
	if (title->op_own >> 4 == MLX5_CQE_REQ) {
		out->wqe_counter = mini.wqe_counter;
		out->sop_drop_qpn &= htobe32(0xffffff);
		out->sop_drop_qpn |= htobe32((uint32_t)mini.wqe_opcode << 24);
	} else {
		CHECK_EQ(mini.wqe_counter | mini.wqe_opcode | mini.zero, 0);
		out->wqe_counter = htobe16((uint16_t)(be16toh(title->wqe_counter) + i));
	}
}

static void
read_cqes(struct reader *r, struct mlx5_cqe64 *out, unsigned int want)
{
	uint64_t end = pair_now_ms() + CHECK_PATIENCE_MS;
	unsigned int n = 0;

	while (n < want) {
		struct mlx5_cqe64 *cqe = entry(r, r->ci);
		uint32_t of_title = 1;

		if (!is_there(r)) {
			CHECK(pair_now_ms() < end);
			pair_run();
			continue;
		}
		if ((cqe->op_own >> 2 & 3) == 3) {
			struct mlx5_cqe64 title = *cqe;

			of_title = be32toh(title.byte_cnt);
			CHECK(of_title >= 2 && n + of_title <= want);
			for (uint32_t i = 0; i < of_title; i++)
				unzip(r, &title, i, &out[n + i]);
			r->titles++;
		} else {
			out[n] = *cqe;
			r->singles++;
		}
		n += of_title;
		consume(r, of_title);
	}
}

struct burst {
	struct ibv_sge sge[80];
	struct ibv_send_wr wr[80];
};

/* Sends n messages of 1, 2, 3, ... bytes. Only the last message is signalled. */
static void
make_burst(const struct pair *p, unsigned int n, enum ibv_wr_opcode op, struct burst *b)
{
	struct ibv_send_wr *wr = b->wr;
	struct ibv_sge *sge = b->sge;

	for (unsigned int i = 0; i < n; i++) {
		sge[i] = (struct ibv_sge){(uintptr_t)p->client.buf, i + 1, p->client.mr->lkey};
		wr[i] = (struct ibv_send_wr){.sg_list = &sge[i],
			.num_sge = 1,
			.opcode = op,
			.next = i + 1 < n ? &wr[i + 1] : NULL,
			.imm_data = htobe32(op == IBV_WR_SEND_WITH_IMM ? i : 0),
			.send_flags = i + 1 == n || op == IBV_WR_RDMA_WRITE ? IBV_SEND_SIGNALED : 0,
			.wr.rdma = {(uintptr_t)p->server.buf, p->server.mr->rkey}};
	}
	if (op == IBV_WR_RDMA_WRITE)
		wr[n - 1].opcode = IBV_WR_RDMA_READ;
}

static void
post_burst(struct pair *p, struct burst *b)
{
	struct ibv_send_wr *bad;

	pair_publish(&p->client);
	CHECK_EQ(ibv_post_send(p->client.qp, b->wr, &bad), 0);
}

static void
send_burst(struct pair *p, unsigned int n, enum ibv_wr_opcode op)
{
	struct burst b;

	make_burst(p, n, op, &b);
	post_burst(p, &b);
}

/*
 * Sends bursts until the CQ was filled several times. The adapter compresses the completions of
 * each burst. The QPs have WQEs for all work requests, because libmlx5 polls no completion.
 */
static void
zip_receives(uint8_t format, bool padded)
{
	static const unsigned int sizes[] = {2, 3, 8, 9, 1, 16, 64, 70, 5, 65};
	struct mlx5_cqe64 got[80];
	struct reader r = {0}, c = {0};
	struct pair p;
	uint16_t first = 0;

	pair_init(&p, &(struct pair_opts){.cqe = 127,
			      .compress = format,
			      .padded = padded,
			      .max_send_wr = 600,
			      .max_recv_wr = 600});
	r.e = &p.server;
	c.e = &p.client;
	for (unsigned int round = 0; round < 20; round++) {
		unsigned int n = sizes[round % 10];

		for (unsigned int i = 0; i < n; i++)
			pair_post_recv(&p.server, i, 0, 4096);
		r.titles = r.singles = 0;
		send_burst(&p, n, IBV_WR_SEND);
		read_cqes(&r, got, n);
		for (unsigned int i = 0; i < n; i++) {
			CHECK_EQ(got[i].op_own >> 4, MLX5_CQE_RESP_SEND);
			CHECK_EQ(be32toh(got[i].byte_cnt), i + 1);
			CHECK_EQ(be16toh(got[i].wqe_counter), (uint16_t)(first + i));
			CHECK_EQ(be32toh(got[i].sop_drop_qpn) & 0xffffff, p.server.qp->qp_num);
		}
		/*
		 * One doorbell announces one burst. The adapter must write one title for each 64
		 * completions, and must not compress a single completion.
		 */
		CHECK_EQ(r.titles + r.singles, (n + 63) / 64);
		CHECK_EQ(r.singles, n % 64 == 1);
		first = (uint16_t)(first + n);
		read_cqes(&c, got, 1);
	}
	pair_fini(&p);
}

/*
 * The completions of a burst are compressed together. Messages of another process come one by one,
 * so the adapter compresses few of them.
 */
static bool
has_bursts(void)
{
	return !pair_is_loop();
}

static void
case_zip(void)
{
	if (!has_bursts())
		return;
	zip_receives(MLX5DV_CQE_RES_FORMAT_HASH, false);
	zip_receives(MLX5DV_CQE_RES_FORMAT_CSUM, true);
	zip_receives(MLX5DV_CQE_RES_FORMAT_CSUM_STRIDX, false);
}

/*
 * Completions that a mini CQE cannot describe are not compressed: completions with different
 * immediates or opcodes, events, errors. Completions of requests are compressed.
 */
static void
case_zip_not(void)
{
	struct mlx5_cqe64 got[8];
	struct reader r = {0}, c = {0};
	struct burst b;
	struct pair p;

	if (!has_bursts())
		return;
	pair_init(&p, &(struct pair_opts){.compress = MLX5DV_CQE_RES_FORMAT_HASH});
	r.e = &p.server;
	c.e = &p.client;
	for (unsigned int i = 0; i < 3; i++)
		pair_post_recv(&p.server, i, 0, 4096);
	send_burst(&p, 3, IBV_WR_SEND_WITH_IMM);
	read_cqes(&r, got, 3);
	CHECK_EQ(r.singles, 3);
	for (unsigned int i = 0; i < 3; i++) {
		CHECK_EQ(got[i].op_own >> 4, MLX5_CQE_RESP_SEND_IMM);
		CHECK_EQ(be32toh(got[i].imm_inval_pkey), i);
	}
	read_cqes(&c, got, 1);
	/* Two completions differ in the opcode only. */
	for (unsigned int i = 0; i < 4; i++)
		pair_post_recv(&p.server, i, 0, 4096);
	r.singles = 0;
	make_burst(&p, 4, IBV_WR_SEND_WITH_IMM, &b);
	for (unsigned int i = 0; i < 4; i++)
		b.wr[i].imm_data = 0;
	b.wr[1].opcode = b.wr[3].opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	post_burst(&p, &b);
	read_cqes(&r, got, 4);
	CHECK_EQ(r.singles, 4);
	for (unsigned int i = 0; i < 4; i++)
		CHECK_EQ(got[i].op_own >> 4,
			i % 2 == 0 ? MLX5_CQE_RESP_SEND_IMM : MLX5_CQE_RESP_WR_IMM);
	read_cqes(&c, got, 1);
	/* The third message asks for an event. */
	for (unsigned int i = 0; i < 5; i++)
		pair_post_recv(&p.server, i, 0, 4096);
	r.titles = r.singles = 0;
	make_burst(&p, 5, IBV_WR_SEND, &b);
	b.wr[2].send_flags |= IBV_SEND_SOLICITED;
	post_burst(&p, &b);
	read_cqes(&r, got, 5);
	CHECK_EQ(r.titles, 2);
	CHECK_EQ(r.singles, 1);
	for (unsigned int i = 0; i < 5; i++)
		CHECK_EQ(got[i].op_own >> 1 & 1, i == 2);
	read_cqes(&c, got, 1);
	/* Several writes, and one read at the end. */
	c.titles = c.singles = 0;
	send_burst(&p, 5, IBV_WR_RDMA_WRITE);
	read_cqes(&c, got, 5);
	CHECK_EQ(c.titles, 1);
	CHECK_EQ(c.singles, 0);
	for (unsigned int i = 0; i < 5; i++) {
		CHECK_EQ(got[i].op_own >> 4, MLX5_CQE_REQ);
		CHECK_EQ(be16toh(got[i].wqe_counter), 3 + 4 + 5 + i);
		CHECK_EQ(be32toh(got[i].sop_drop_qpn) >> 24,
			i < 4 ? MLX5_OPCODE_RDMA_WRITE : MLX5_OPCODE_RDMA_READ);
		CHECK_EQ(be32toh(got[i].byte_cnt), i < 4 ? 0 : 5);
	}
	/*
	 * One receive is too short: its own completion, the completions before it, and flushed
	 * completions are not lost.
	 */
	for (unsigned int i = 0; i < 6; i++)
		pair_post_recv(&p.server, i, 0, 2);
	r.titles = r.singles = 0;
	send_burst(&p, 3, IBV_WR_SEND);
	read_cqes(&r, got, 6);
	CHECK_EQ(r.titles, 1);
	CHECK_EQ(r.singles, 4);
	CHECK_EQ(be32toh(got[1].byte_cnt), 2);
	for (unsigned int i = 2; i < 6; i++)
		CHECK_EQ(got[i].op_own >> 4, MLX5_CQE_RESP_ERR);
	pair_fini(&p);
}

/*
 * A burst has datagrams of RoCE v1 and v2. A title describes packets of one type only, so datagrams
 * of different types must not be compressed together.
 */
static void
case_zip_datagrams(void)
{
	/* The packet types MLX5_CQE_ROCE_L3_HEADER_TYPE_* of Linux, include/linux/mlx5/cq.h. */
	static const struct {
		uint8_t gid, packet;
	} kinds[] = {{0, 0}, {3, 0xa}};
	struct mlx5_cqe64 got[6];
	struct reader r = {0};
	struct ibv_qp *from, *to;
	struct ibv_ah *ah[2];
	struct burst b;
	struct pair p;

	if (!has_bursts())
		return;
	pair_init(&p, &(struct pair_opts){.compress = MLX5DV_CQE_RES_FORMAT_HASH});
	r.e = &p.server;
	from = pair_datagram_qp(&p, NULL);
	to = pair_datagram_qp(&p, NULL);
	make_burst(&p, 6, IBV_WR_SEND, &b);
	for (unsigned int k = 0; k < 2; k++)
		ah[k] = pair_own_ah(&p, kinds[k].gid);
	for (unsigned int i = 0; i < 6; i++) {
		struct ibv_sge sge = {(uintptr_t)p.server.buf + i * 256, 256, p.server.mr->lkey};
		struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;

		CHECK_EQ(ibv_post_recv(to, &wr, &bad), 0);
		pair_make_datagram(&b.wr[i], ah[i / 3], to);
	}
	CHECK_EQ(ibv_post_send(from, b.wr, &(struct ibv_send_wr *){NULL}), 0);
	read_cqes(&r, got, 6);
	CHECK_EQ(r.titles, 2);
	CHECK_EQ(r.singles, 0);
	for (unsigned int i = 0; i < 6; i++) {
		CHECK_EQ(be32toh(got[i].flags_rqpn) >> 24 & 0xf, kinds[i / 3].packet);
		CHECK_EQ(be32toh(got[i].flags_rqpn) & 0xffffff, from->qp_num);
		CHECK_EQ(be32toh(got[i].byte_cnt), 40 + i + 1);
	}
	for (unsigned int k = 0; k < 2; k++)
		CHECK_EQ(ibv_destroy_ah(ah[k]), 0);
	CHECK_EQ(ibv_destroy_qp(from), 0);
	CHECK_EQ(ibv_destroy_qp(to), 0);
	pair_fini(&p);
}

static void
post_srq_recvs(const struct pair *p, struct ibv_srq *srq, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		struct ibv_sge sge = {(uintptr_t)p->server.buf + i * 256, 256, p->server.mr->lkey};
		struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;

		CHECK_EQ(ibv_post_srq_recv(srq, &wr, &bad), 0);
	}
}

/*
 * A mini CQE does not name its WQE: the program counts from the title's WQE on, so only completions
 * of consecutive WQEs may have a common title. libmlx5 gives an SRQ of 3 receives 4 WQEs. After WQE
 * 3 it uses WQE 0, whose completion must have a new title.
 */
static void
case_zip_shared(void)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 3, .max_sge = 1}};
	struct mlx5_cqe64 got[3];
	struct reader r = {0};
	struct ibv_qp *from, *to;
	struct ibv_send_wr *bad;
	struct ibv_srq *srq;
	struct ibv_ah *ah;
	struct burst b;
	struct pair p;

	if (!has_bursts())
		return;
	pair_init(&p, &(struct pair_opts){.compress = MLX5DV_CQE_RES_FORMAT_HASH});
	srq = ibv_create_srq(p.pd, &init);
	CHECK(srq != NULL);
	from = pair_datagram_qp(&p, NULL);
	to = pair_datagram_qp(&p, srq);
	ah = pair_own_ah(&p, 0);
	/* WQEs 0, 1, 2: libmlx5 polls uncompressed completions, and frees the WQEs. */
	post_srq_recvs(&p, srq, 3);
	make_burst(&p, 1, IBV_WR_SEND, &b);
	pair_make_datagram(&b.wr[0], ah, to);
	for (unsigned int i = 0; i < 3; i++) {
		CHECK_EQ(ibv_post_send(from, b.wr, &bad), 0);
		CHECK_EQ(pair_wait(&p.server).status, IBV_WC_SUCCESS);
	}
	/* The next WQEs are 3, 0 and 1. */
	post_srq_recvs(&p, srq, 3);
	make_burst(&p, 3, IBV_WR_SEND, &b);
	for (unsigned int i = 0; i < 3; i++)
		pair_make_datagram(&b.wr[i], ah, to);
	CHECK_EQ(ibv_post_send(from, b.wr, &bad), 0);
	r.e = &p.server;
	r.ci = 3;
	read_cqes(&r, got, 3);
	CHECK_EQ(r.singles, 1);
	CHECK_EQ(r.titles, 1);
	for (unsigned int i = 0; i < 3; i++)
		CHECK_EQ(be16toh(got[i].wqe_counter), (3 + i) % 4);
	CHECK_EQ(ibv_destroy_ah(ah), 0);
	CHECK_EQ(ibv_destroy_qp(from), 0);
	CHECK_EQ(ibv_destroy_qp(to), 0);
	CHECK_EQ(ibv_destroy_srq(srq), 0);
	pair_fini(&p);
}

/*
 * Checks the first half of an entry of 128 bytes: all zeros if the CQ has padding, otherwise
 * unchanged.
 */
static void
check_half(bool padded)
{
	struct pair_opts opts = {.cqe = 7, .padded = padded};
	struct pair p;

	CHECK_EQ(setenv("MLX5_CQE_SIZE", "128", 1), 0);
	pair_init(&p, &opts);
	CHECK_EQ(unsetenv("MLX5_CQE_SIZE"), 0);
	CHECK_EQ(p.client.cqe_len, 128);
	for (unsigned int i = 0; i < p.client.n_cqe; i++)
		memset(p.client.cqes + (size_t)i * 128, 0xa5, 64);
	complete(&p, 1, 3);
	expect(p.client.cq, 1, 3);
	for (unsigned int i = 0; i < p.client.n_cqe * 128; i++)
		if (i % 128 < 64)
			CHECK_EQ(p.client.cqes[i], padded && i / 128 < 3 ? 0 : 0xa5);
	pair_fini(&p);
}

static void
case_padding(void)
{
	check_half(true);
	check_half(false);
}

/* ---------------------------------------------------------------- moderation */

static bool
has_event(struct pair *p, unsigned int ms)
{
	struct pollfd fd = {.fd = p->client.channel->fd, .events = POLLIN};
	uint64_t end = pair_now_ms() + ms;
	struct ibv_cq *cq;
	void *context;

	do {
		pair_run();
		if (poll(&fd, 1, 0) == 1) {
			CHECK_EQ(ibv_get_cq_event(p->client.channel, &cq, &context), 0);
			CHECK(cq == p->client.cq);
			ibv_ack_cq_events(cq, 1);
			return true;
		}
	} while (pair_now_ms() < end);
	return false;
}

static int
moderate(struct pair *p, uint16_t count, uint16_t period)
{
	struct ibv_modify_cq_attr attr = {.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = {count, period}};

	return ibv_modify_cq(p->client.cq, &attr);
}

static void
case_moderate_count(void)
{
	struct pair p;

	pair_init(&p, NULL);
	CHECK_EQ(moderate(&p, 4, 0), 0);
	CHECK_EQ(ibv_req_notify_cq(p.client.cq, 0), 0);
	complete(&p, 0, 3);
	CHECK(!has_event(&p, 20));
	complete(&p, 3, 1);
	CHECK(has_event(&p, CHECK_PATIENCE_MS));
	expect(p.client.cq, 0, 4);
	/* Each arming starts a new count, which includes earlier completions. */
	complete(&p, 4, 2);
	CHECK_EQ(ibv_req_notify_cq(p.client.cq, 0), 0);
	CHECK(!has_event(&p, 20));
	complete(&p, 6, 2);
	CHECK(has_event(&p, CHECK_PATIENCE_MS));
	expect(p.client.cq, 4, 4);
	/*
	 * Without moderation, each completion raises an event. An event that was delayed is raised
	 * at once.
	 */
	CHECK_EQ(ibv_req_notify_cq(p.client.cq, 0), 0);
	complete(&p, 8, 1);
	CHECK(!has_event(&p, 20));
	CHECK_EQ(moderate(&p, 0, 0), 0);
	CHECK(has_event(&p, CHECK_PATIENCE_MS));
	expect(p.client.cq, 8, 1);
	CHECK_EQ(ibv_req_notify_cq(p.client.cq, 0), 0);
	complete(&p, 9, 1);
	CHECK(has_event(&p, CHECK_PATIENCE_MS));
	expect(p.client.cq, 9, 1);
	pair_fini(&p);
}

static uint64_t
now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void
case_moderate_period(void)
{
	const uint64_t period_us = 4000;
	struct pair p;
	uint64_t start;

	pair_init(&p, NULL);
	CHECK_EQ(moderate(&p, 1000, (uint16_t)period_us), 0);
	CHECK_EQ(ibv_req_notify_cq(p.client.cq, 0), 0);
	pair_run();
	start = now_ns(CLOCK_MONOTONIC);
	post_send(&p, 1);
	CHECK(has_event(&p, CHECK_PATIENCE_MS));
	expect(p.client.cq, 1, 1);
	/* The next event is raised at least one period after this event. */
	CHECK_EQ(ibv_req_notify_cq(p.client.cq, 0), 0);
	post_send(&p, 2);
	CHECK(has_event(&p, CHECK_PATIENCE_MS));
	CHECK(now_ns(CLOCK_MONOTONIC) - start >= period_us * 1000);
	expect(p.client.cq, 2, 1);
	CHECK_EQ(moderate(&p, 1, 0x1000), EINVAL);
	pair_fini(&p);
}

/* ---------------------------------------------------------------- events, in any sequence */

/*
 * What ibv_req_notify_cq(3), ibv_modify_cq(3) and ibv_resize_cq(3) promise about the events of one
 * CQ. Completions that the program has not polled count when the CQ is armed. A moderated event
 * comes with the count-th completion since the CQ was armed.
 */
struct event_model {
	bool solicited[1024]; /* of each completion that was made */
	unsigned int made, polled;
	bool armed, solicited_only;
	unsigned int waiting, count;
};

/* Counts completions for the armed event. Returns true if the event is due. */
static bool
model_counts(struct event_model *m, unsigned int n)
{
	m->waiting += n;
	if (n == 0 || m->waiting < m->count)
		return false;
	m->armed = false;
	m->waiting = 0;
	return true;
}

static bool
model_arms(struct event_model *m, bool solicited_only)
{
	unsigned int end = m->made;

	while (solicited_only && end > m->polled && !m->solicited[end - 1])
		end--;
	m->armed = true;
	m->solicited_only = solicited_only;
	m->waiting = 0;
	return model_counts(m, end - m->polled);
}

static bool
model_completes(struct event_model *m, bool solicited)
{
	m->solicited[m->made++] = solicited;
	return m->armed && (solicited || !m->solicited_only) && model_counts(m, 1);
}

/* An event that waits for its count is sent when the moderation changes. */
static bool
model_moderates(struct event_model *m, unsigned int count)
{
	const bool waits = m->armed && m->waiting != 0;

	m->count = count < 2 ? 1 : count;
	if (waits) {
		m->armed = false;
		m->waiting = 0;
	}
	return waits;
}

static void
send_to_server(struct pair *p, bool solicited)
{
	struct ibv_sge sge = {(uintptr_t)p->client.buf, 8, p->client.mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED | (solicited ? IBV_SEND_SOLICITED : 0)};
	struct ibv_send_wr *bad;

	pair_post_recv(&p->server, 0, 0, 64);
	pair_publish(&p->client);
	CHECK_EQ(ibv_post_send(p->client.qp, &wr, &bad), 0);
	CHECK_EQ(pair_wait(&p->client).status, IBV_WC_SUCCESS);
}

static bool
take_server_event(struct pair *p)
{
	struct pollfd fd = {.fd = p->server.channel->fd, .events = POLLIN};
	struct ibv_cq *cq;
	void *context;

	pair_run();
	if (poll(&fd, 1, 0) != 1)
		return false;
	CHECK_EQ(ibv_get_cq_event(p->server.channel, &cq, &context), 0);
	ibv_ack_cq_events(cq, 1);
	return true;
}

/* Does one step, drawn at random. Returns true if the model expects an event. */
static bool
step_of_events(struct pair *p, struct event_model *m, uint64_t *seed)
{
	static const int sizes[] = {30, 64, 200, 17};
	const struct ibv_modify_cq_attr count = {.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = {(uint16_t)(check_random(seed) % 5), 0}};
	const unsigned int unseen = m->made - m->polled;
	const bool solicited = check_random(seed) % 2 != 0;
	/* With a count, which completions count as solicited is not documented. */
	const bool may_solicited = m->count == 1;
	struct ibv_wc wc;

	switch (check_random(seed) % 10) {
	case 0:
		CHECK_EQ(ibv_resize_cq(p->server.cq, sizes[check_random(seed) % 4]), 0);
		return false;
	case 1:
		if (m->solicited_only && m->armed)
			return false;
		CHECK_EQ(ibv_modify_cq(p->server.cq, (struct ibv_modify_cq_attr *)&count), 0);
		return model_moderates(m, count.moderate.cq_count);
	case 2:
	case 3:
	case 4:
		CHECK_EQ(ibv_req_notify_cq(p->server.cq, solicited && may_solicited), 0);
		return model_arms(m, solicited && may_solicited);
	case 5:
	case 6:
		for (unsigned int left = unseen == 0 ? 0 : check_random(seed) % (unseen + 1);
			left != 0; left--, m->polled++)
			CHECK_EQ(ibv_poll_cq(p->server.cq, 1, &wc), 1);
		return false;
	default:
		if (unseen == 12 || m->made == 1024)
			return false;
		send_to_server(p, solicited);
		return model_completes(m, solicited);
	}
}

/*
 * Random sequences of arming, completing, polling, resizing and moderating. Only a pumped adapter
 * shows at once that there is no event.
 */
static void
case_event_sequences(void)
{
	if (!pair_is_pumped())
		return;
	for (uint64_t first = 1; first <= 4; first++) {
		struct event_model m = {.count = 1};
		uint64_t seed = first;
		struct pair p;

		pair_init(&p, &(struct pair_opts){.cqe = 100});
		for (unsigned int i = 0; i < 600; i++) {
			const bool want = step_of_events(&p, &m, &seed);

			CHECK(take_server_event(&p) == want, "seed %u, step %u: %san event",
				(unsigned int)first, i, want ? "" : "not ");
		}
		pair_fini(&p);
	}
}

/* ---------------------------------------------------------------- clocks */

static uint64_t
raw_clock(struct ibv_context *ctx)
{
	struct ibv_values_ex values = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};

	CHECK_EQ(ibv_query_rt_values_ex(ctx, &values), 0);
	CHECK_EQ(values.comp_mask, IBV_VALUES_MASK_RAW_CLOCK);
	return (uint64_t)values.raw_clock.tv_nsec;
}

/* Waits until the clock advances, which happens when the adapter runs next. */
static uint64_t
later_clock(struct ibv_context *ctx, uint64_t last)
{
	uint64_t end = pair_now_ms() + CHECK_PATIENCE_MS, clock;

	while ((clock = raw_clock(ctx)) <= last) {
		CHECK(clock == last && pair_now_ms() < end);
		pair_run();
	}
	return clock;
}

/*
 * The value of the adapter's clock must be between the values of the system's clock before and
 * after the query.
 */
static void
case_clock(void)
{
	uint64_t before = now_ns(CLOCK_MONOTONIC), clock, last = 0;
	struct ibv_context *ctx = pair_open(0), *other = pair_open(0);

	for (unsigned int i = 0; i < 50; i++) {
		clock = later_clock(ctx, last);
		CHECK(clock >= before && clock <= now_ns(CLOCK_MONOTONIC));
		last = clock;
	}
	CHECK(raw_clock(other) >= before);
	/* When one context is closed, the clocks of other contexts continue. */
	CHECK_EQ(ibv_close_device(other), 0);
	other = pair_open(0);
	later_clock(ctx, last);
	later_clock(other, last);
	CHECK_EQ(ibv_close_device(other), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/*
 * Completions must have the timestamps of both clocks. libmlx5 converts the device's clock to
 * nanoseconds with a mapped page (mlx5dv_get_clock_info(3)).
 */
static void
case_timestamps(void)
{
	struct pair p;
	struct ibv_cq_ex *cq;
	uint64_t before[2], after[2];

	pair_init(&p, &(struct pair_opts){.extended = true});
	cq = p.client.cqx;
	before[0] = now_ns(CLOCK_MONOTONIC);
	before[1] = now_ns(CLOCK_REALTIME);
	post_send(&p, 1);
	for (uint64_t end = pair_now_ms() + CHECK_PATIENCE_MS;
		ibv_start_poll(cq, &(struct ibv_poll_cq_attr){0}) == ENOENT;) {
		CHECK(pair_now_ms() < end);
		pair_run();
	}
	after[0] = now_ns(CLOCK_MONOTONIC);
	after[1] = now_ns(CLOCK_REALTIME);
	CHECK_EQ(cq->wr_id, 1);
	CHECK_EQ(cq->status, IBV_WC_SUCCESS);
	CHECK(ibv_wc_read_completion_ts(cq) >= before[0] &&
		ibv_wc_read_completion_ts(cq) <= after[0]);
	/*
	 * libmlx5 read the clock page when it opened the context. Since then the two clocks have
	 * diverged only a little.
	 */
	CHECK(ibv_wc_read_completion_wallclock_ns(cq) + 10000000 >= before[1] &&
		ibv_wc_read_completion_wallclock_ns(cq) <= after[1] + 10000000);
	ibv_end_poll(cq);
	pair_fini(&p);
}

static const struct check_case cases[] = {
	{"a CQ's size changes and no completion is lost", case_resize},
	{"a CQ's size also changes with entries of 128 bytes", case_resize_128},
	{"an invalid size is refused and changes nothing", case_resize_refused},
	{"both halves of padded entries are written", case_padding},
	{"bursts of completions are compressed", case_zip},
	{"only completions that fit into mini CQEs are compressed", case_zip_not},
	{"datagrams are compressed only with datagrams of the same kind of packet",
		case_zip_datagrams},
	{"receives of a shared queue are compressed as far as their WQEs follow each other",
		case_zip_shared},
	{"a moderated event comes with the last completion of the count", case_moderate_count},
	{"a moderated event comes when its period has passed", case_moderate_period},
	{"events follow any sequence of arming, completing, polling, resizing and moderating",
		case_event_sequences},
	{"the adapter's clock runs in every context", case_clock},
	{"completions are stamped with both clocks", case_timestamps},
};

int
main(int argc, char **argv)
{
	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
