/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The counters in /sys of each port, for the process that owns the adapter and for its child.
 *
 * Expected values: a message has ceil(length / MTU) packets; sizes of headers are those of the
 * InfiniBand architecture (volume 1, chapter 9.2) and of RoCE v2 (its annex A17). Names and units:
 * the kernel's Documentation/ABI/stable/sysfs-class-infiniband, and "IBTA" PortCountersExtended:
 * octets divided by 4.
 */
#include <sys/wait.h>

#include "softhca_node.h"

/* The adapter and port whose counters are checked. */
static unsigned int on_adapter = 0, on_port = 1;

enum {
	ETHERNET = 14,
	IPV4 = 20,
	IPV6 = 40,
	UDP = 8,
	BTH = 12,
	ICRC = 4,
	RETH = 16,
	AETH = 4,
	IMM = 4,
	ATOMIC_ETH = 28,
	ATOMIC_ACK = 8
};

static const char *const names[] = {"counters/port_xmit_data", "counters/port_rcv_data",
	"counters/port_xmit_packets", "counters/port_rcv_packets", "counters/unicast_xmit_packets",
	"counters/unicast_rcv_packets", "counters/multicast_rcv_packets", "counters/link_downed",
	"counters/symbol_error", "hw_counters/rx_write_requests", "hw_counters/rx_read_requests",
	"hw_counters/rx_atomic_requests", "hw_counters/out_of_buffer",
	"hw_counters/rnr_nak_retry_err", "hw_counters/local_ack_timeout_err",
	"hw_counters/resp_local_length_error", "hw_counters/resp_cqe_error",
	"hw_counters/resp_cqe_flush_error", "hw_counters/req_cqe_error",
	"hw_counters/req_cqe_flush_error", "hw_counters/req_remote_invalid_request",
	"hw_counters/req_remote_access_errors", "hw_counters/resp_remote_access_errors",
	"hw_counters/duplicate_request"};
#define N (sizeof(names) / sizeof(names[0]))

static uint64_t before[N];

static uint64_t
value_of(const char *name)
{
	unsigned long long value;
	char path[200], end;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/infiniband/mlx5_%u/ports/%u/%s", on_adapter,
		on_port, name);
	f = fopen(path, "re");
	CHECK(f != NULL, "%s", path);
	CHECK_EQ(fscanf(f, "%llu%c", &value, &end), 2, name);
	CHECK_EQ(end, '\n', name);
	CHECK_EQ(fgetc(f), EOF, name);
	fclose(f);
	return value;
}

static void
note_all(void)
{
	pair_run();
	for (size_t i = 0; i < N; i++)
		before[i] = value_of(names[i]);
}

static uint64_t
grown(const char *name)
{
	for (size_t i = 0; i < N; i++)
		if (strcmp(names[i], name) == 0)
			return value_of(name) - before[i];
	CHECK(false, "%s", name);
	return 0;
}

/*
 * Waits for the value. A thread of the adapter updates the counters when its visit ends, a moment
 * after the completion.
 */
static void
expect(const char *name, uint64_t n)
{
	const uint64_t end = pair_now_ms() + CHECK_PATIENCE_MS;

	while (grown(name) != n && pair_now_ms() < end)
		pair_run();
	CHECK_EQ(grown(name), n, name);
}

/* Expects that all counters that are not in the list have not changed. */
static void
expect_only(const char *const *changed, size_t n)
{
	for (size_t i = 0; i < N; i++) {
		bool named = false;

		for (size_t c = 0; c < n; c++)
			named |= strcmp(names[i], changed[c]) == 0;
		if (!named)
			CHECK_EQ(grown(names[i]), 0, names[i]);
	}
}

#define EXPECT_ONLY(...)                                                                           \
	expect_only((const char *const[]){__VA_ARGS__},                                            \
		sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))
#define TRAFFIC                                                                                    \
	"counters/port_xmit_data", "counters/port_rcv_data", "counters/port_xmit_packets",         \
		"counters/port_rcv_packets", "counters/unicast_xmit_packets",                      \
		"counters/unicast_rcv_packets"

static void
post(struct pair_end *from, const struct pair_end *to, enum ibv_wr_opcode opcode, uint32_t len)
{
	struct ibv_sge s = {(uintptr_t)from->buf, len, from->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &s,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)to->buf;
		wr.wr.atomic.rkey = to->mr->rkey;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)to->buf;
		wr.wr.rdma.rkey = to->mr->rkey;
	}
	pair_publish(from);
	CHECK_EQ(ibv_post_send(from->qp, &wr, &bad), 0);
}

/*
 * Returns the number of bytes of headers and trailers in each packet of this pair: those up to the
 * end of the BTH, and those after the payload.
 */
static uint32_t
packet_headers(const struct pair *p)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	CHECK_EQ(ibv_query_qp(p->client.qp, &attr, IBV_QP_AV, &init), 0);
	CHECK(attr.ah_attr.is_global);
	/* The cases are indices in the table of GIDs: ibv_devinfo -v. */
	switch (attr.ah_attr.grh.sgid_index) {
	case 0:
		return ETHERNET + 40 + BTH + ICRC;
	case 1:
		return ETHERNET + IPV6 + UDP + BTH + ICRC;
	default:
		return ETHERNET + IPV4 + UDP + BTH + ICRC;
	}
}

static uint32_t
mtu_of(const struct pair *p)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	CHECK_EQ(ibv_query_qp(p->client.qp, &attr, IBV_QP_PATH_MTU, &init), 0);
	return 128U << attr.path_mtu;
}

static void
case_carried(void)
{
	static const struct {
		enum ibv_wr_opcode opcode;
		uint32_t len, request, answer; /* request, answer: bytes of headers after the BTH */
		/* the data move from the responder to the requester */
		bool back;
		const char *requests;
	} messages[] = {
		{IBV_WR_RDMA_WRITE, 10000, RETH, AETH, false, "hw_counters/rx_write_requests"},
		{IBV_WR_RDMA_WRITE, 0, RETH, AETH, false, "hw_counters/rx_write_requests"},
		/* With an MTU of 1024: one packet, and two packets. */
		{IBV_WR_RDMA_WRITE, 1024, RETH, AETH, false, "hw_counters/rx_write_requests"},
		{IBV_WR_RDMA_WRITE, 1025, RETH, AETH, false, "hw_counters/rx_write_requests"},
		{IBV_WR_RDMA_WRITE_WITH_IMM, 64, RETH + IMM, AETH, false,
			"hw_counters/rx_write_requests"},
		{IBV_WR_SEND, 4096, 0, AETH, false, NULL},
		{IBV_WR_SEND_WITH_IMM, 4100, IMM, AETH, false, NULL},
		{IBV_WR_RDMA_READ, 10000, RETH, AETH, true, "hw_counters/rx_read_requests"},
		{IBV_WR_ATOMIC_FETCH_AND_ADD, 8, ATOMIC_ETH, AETH, true,
			"hw_counters/rx_atomic_requests"},
	};
	uint64_t all = 0;
	struct pair p;

	pair_init(&p, NULL);
	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
		const uint32_t len = messages[i].len, mtu = mtu_of(&p);
		const uint32_t packets = len == 0 ? 1 : (len + mtu - 1) / mtu;
		const uint32_t there = messages[i].back ? 1 : packets;
		const uint32_t back = messages[i].back ? packets : 1;
		uint64_t octets_there = there * packet_headers(&p) + messages[i].request;
		uint64_t octets_back = back * packet_headers(&p) + messages[i].answer;
		uint64_t words;

		*(messages[i].back ? &octets_back : &octets_there) += len;
		words = octets_there / 4 + octets_back / 4;
		pair_post_recv(&p.server, 1, 20000, 20000);
		note_all();
		post(&p.client, &p.server, messages[i].opcode, len);
		CHECK_EQ(pair_wait(&p.client).status, IBV_WC_SUCCESS);
		/* Both ends are at this port, so it counts both directions. */
		expect("counters/port_xmit_packets", there + back);
		expect("counters/port_rcv_packets", there + back);
		expect("counters/unicast_xmit_packets", there + back);
		expect("counters/unicast_rcv_packets", there + back);
		expect("counters/port_xmit_data", words);
		expect("counters/port_rcv_data", words);
		if (messages[i].requests != NULL)
			expect(messages[i].requests, 1);
		EXPECT_ONLY(TRAFFIC, messages[i].requests != NULL ? messages[i].requests : "");
		all += there + back;
	}
	/* Many messages of all kinds in one visit, while the other end also sends. */
	for (unsigned int i = 0; i < 3; i++)
		pair_post_recv(&p.server, 2 + i, 20000, 20000);
	note_all();
	post(&p.server, &p.client, IBV_WR_RDMA_READ, 10000);
	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++)
		post(&p.client, &p.server, messages[i].opcode, messages[i].len);
	for (unsigned int i = 0; i < 50; i++)
		post(&p.client, &p.server, IBV_WR_RDMA_WRITE, 1);
	for (size_t i = 0; i < 50 + sizeof(messages) / sizeof(messages[0]); i++)
		CHECK_EQ(pair_wait(&p.client).status, IBV_WC_SUCCESS);
	CHECK_EQ(pair_wait(&p.server).status, IBV_WC_SUCCESS);
	expect("counters/port_xmit_packets", 100 + all + 1 + (10000 + mtu_of(&p) - 1) / mtu_of(&p));
	expect("hw_counters/rx_write_requests", 55);
	expect("hw_counters/rx_read_requests", 2);
	expect("hw_counters/rx_atomic_requests", 1);
	pair_fini(&p);
}

/* Connects one end by the GID with this index: RoCE v1, v2 over IPv6, or v2 over IPv4. */
static void
connect_by(struct pair *p, struct pair_end *e, uint32_t dest, uint8_t gid)
{
	struct ibv_qp_attr attr = {.port_num = 1,
		.qp_access_flags = PAIR_ALL,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = dest,
		.max_dest_rd_atomic = 1,
		.max_rd_atomic = 1,
		.min_rnr_timer = 1,
		.timeout = 14,
		.retry_cnt = 7,
		.ah_attr = {.is_global = 1,
			.port_num = 1,
			.grh = {.sgid_index = gid, .hop_limit = 1}}};

	CHECK_EQ(ibv_query_gid(p->ctx, 1, gid, &attr.ah_attr.grh.dgid), 0);
	CHECK_EQ(qp_take(e->qp, K_RC, attr, IBV_QPS_INIT, IBV_QPS_RTS), 0);
}

/* The headers of each kind of GID count. */
static void
case_kinds_of_packets(void)
{
	for (uint8_t gid = 0; gid < 4; gid++) {
		uint32_t headers;
		struct pair p;

		pair_init(&p, &(struct pair_opts){.no_connect = true});
		connect_by(&p, &p.client, p.server.qp->qp_num, gid);
		connect_by(&p, &p.server, p.client.qp->qp_num, gid);
		headers = gid == 2 ? ETHERNET + 40 + BTH + ICRC : packet_headers(&p);
		note_all();
		post(&p.client, &p.server, IBV_WR_RDMA_WRITE, 400);
		CHECK_EQ(pair_wait(&p.client).status, IBV_WC_SUCCESS);
		expect("counters/port_xmit_data",
			(headers + RETH + 400) / 4 + (headers + AETH) / 4);
		pair_fini(&p);
	}
}

static void
case_access_errors(void)
{
	struct pair p;

	pair_init(&p, NULL);
	note_all();
	p.server.mr->rkey ^= 0x100;
	post(&p.client, &p.server, IBV_WR_RDMA_WRITE, 8);
	post(&p.client, &p.server, IBV_WR_RDMA_WRITE, 8);
	p.server.mr->rkey ^= 0x100;
	CHECK_EQ(pair_wait(&p.client).status, IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(pair_wait(&p.client).status, IBV_WC_WR_FLUSH_ERR);
	expect("hw_counters/req_remote_access_errors", 1);
	expect("hw_counters/resp_remote_access_errors", 1);
	expect("hw_counters/req_cqe_error", 2);
	expect("hw_counters/req_cqe_flush_error", 1);
	EXPECT_ONLY("hw_counters/req_remote_access_errors", "hw_counters/resp_remote_access_errors",
		"hw_counters/req_cqe_error", "hw_counters/req_cqe_flush_error");
	pair_fini(&p);
}

static void
receive_error_of_srq(void)
{
	struct node a = node_open(15), b = node_open(15);
	struct ibv_qp *from = node_qp(&a, K_RC), *to = node_srq_qp(&b, b.srq);

	node_connect(K_RC, &a, from, &b, to);
	node_recv_to(to, b.srq, (struct ibv_sge){(uintptr_t)b.buf, 8, b.mr->lkey}, 1);
	note_all();
	/* A message of 64 bytes. */
	node_send(&a, from, K_RC, NULL, false);
	CHECK_EQ(node_wait(a.scq).status, IBV_WC_REM_INV_REQ_ERR);
	expect("hw_counters/resp_local_length_error", 1);
	expect("hw_counters/resp_cqe_error", 1);
	expect("hw_counters/resp_cqe_flush_error", 0);
	node_close_ends(&a, from, &b, to);
}

static void
case_receive_errors(void)
{
	const struct pair_opts no_retry = {.rnr_retry = 1, .min_rnr_timer = 1};
	struct pair p;

	/*
	 * The message is longer than its receive: the sender must be told that its request was
	 * invalid.
	 */
	pair_init(&p, NULL);
	pair_post_recv(&p.server, 1, 0, 100);
	pair_post_recv(&p.server, 2, 0, 100);
	note_all();
	post(&p.client, &p.server, IBV_WR_SEND, 101);
	CHECK_EQ(pair_wait(&p.client).status, IBV_WC_REM_INV_REQ_ERR);
	expect("hw_counters/resp_local_length_error", 1);
	expect("hw_counters/resp_cqe_error", 2);
	expect("hw_counters/resp_cqe_flush_error", 1);
	expect("hw_counters/req_remote_invalid_request", 1);
	expect("hw_counters/req_cqe_error", 1);
	EXPECT_ONLY("hw_counters/resp_local_length_error", "hw_counters/resp_cqe_error",
		"hw_counters/resp_cqe_flush_error", "hw_counters/req_remote_invalid_request",
		"hw_counters/req_cqe_error");
	pair_fini(&p);
	/*
	 * The same error on a QP with an SRQ: this QP has no receives of its own that could be
	 * flushed.
	 */
	receive_error_of_srq();
	/* No receive is posted: there is one try, and one retry. */
	pair_init(&p, &no_retry);
	note_all();
	post(&p.client, &p.server, IBV_WR_SEND, 8);
	CHECK_EQ(pair_wait(&p.client).status, IBV_WC_RNR_RETRY_EXC_ERR);
	expect("hw_counters/out_of_buffer", 2);
	expect("hw_counters/rnr_nak_retry_err", 2);
	expect("hw_counters/req_cqe_error", 1);
	EXPECT_ONLY("hw_counters/out_of_buffer", "hw_counters/rnr_nak_retry_err",
		"hw_counters/req_cqe_error");
	pair_fini(&p);
}

/*
 * An unreliable message without a receive must be lost at the receiver, and its sender is not told.
 */
static void
case_unreliable(void)
{
	struct node a = node_open(15), b = node_open(15);
	struct ibv_qp *from = node_qp(&a, K_UC), *to = node_qp(&b, K_UC);

	node_connect(K_UC, &a, from, &b, to);
	note_all();
	node_send(&a, from, K_UC, NULL, false);
	CHECK_EQ(node_wait(a.scq).status, IBV_WC_SUCCESS);
	expect("hw_counters/out_of_buffer", 1);
	EXPECT_ONLY("hw_counters/out_of_buffer", TRAFFIC);
	node_close_ends(&a, from, &b, to);
}

/* Sends a frame of 30 bytes. */
static void
send_short_frame(struct node *n, struct ibv_qp *qp)
{
	struct ibv_sge sge = {(uintptr_t)n->buf, 30, n->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;

	pair_publish_to(qp, NULL);
	CHECK_EQ(ibv_post_send(qp, &wr, &bad), 0);
	CHECK_EQ(node_wait(n->scq).status, IBV_WC_SUCCESS);
}

/* A frame of a raw packet QP must be counted as sent, and as nothing else: it arrives nowhere. */
static void
case_frames(void)
{
	struct node n = node_open(15);
	struct ibv_qp *qp;

	if (node_may(&n, K_RAW)) {
		qp = node_qp(&n, K_RAW);
		node_ready(&n, qp, K_RAW, 0, IBV_QPS_RTS);
		note_all();
		node_send(&n, qp, K_RAW, NULL, false);
		CHECK_EQ(node_wait(n.scq).status, IBV_WC_SUCCESS);
		expect("counters/port_xmit_packets", 1);
		expect("counters/unicast_xmit_packets", 1);
		expect("counters/port_xmit_data", 64 / 4);
		EXPECT_ONLY("counters/port_xmit_packets", "counters/unicast_xmit_packets",
			"counters/port_xmit_data");
		/* It is padded to 60 bytes (IEEE 802.3), which are on the wire. */
		note_all();
		send_short_frame(&n, qp);
		expect("counters/port_xmit_data", 60 / 4);
		CHECK_EQ(ibv_destroy_qp(qp), 0);
	}
	node_close(&n);
}

static void
case_nobody_answers(void)
{
	const struct pair_opts opts = {.timeout = 1, .retry_cnt = 1};
	struct pair p;

	pair_init(&p, &opts);
	CHECK_EQ(ibv_modify_qp(p.server.qp, &(struct ibv_qp_attr){.qp_state = IBV_QPS_RESET},
			 IBV_QP_STATE),
		0);
	note_all();
	post(&p.client, &p.server, IBV_WR_RDMA_WRITE, 8);
	CHECK_EQ(pair_wait(&p.client).status, IBV_WC_RETRY_EXC_ERR);
	expect("hw_counters/local_ack_timeout_err", 1);
	expect("hw_counters/req_cqe_error", 1);
	EXPECT_ONLY("hw_counters/local_ack_timeout_err", "hw_counters/req_cqe_error");
	pair_fini(&p);
}

static void
case_link(void)
{
	struct pair p;

	pair_init(&p, NULL);
	note_all();
	CHECK_EQ(softhca_fault("port_down"), 0);
	expect("counters/link_downed", 1);
	CHECK_EQ(softhca_fault("port_up"), 0);
	softhca_faults_clear();
	EXPECT_ONLY("counters/link_downed");
	pair_fini(&p);
}

/*
 * The port must go down once, also if several faults make it go down, and no other port may go
 * down.
 */
static void
case_links(void)
{
	uint64_t downs[2][3];
	struct pair p[2];
	char line[80];

	for (unsigned int i = 0; i < 2; i++)
		pair_init(&p[i], &(struct pair_opts){.device = i});
	for (unsigned int hit = 0; hit < 4; hit++) {
		for (on_adapter = 0; on_adapter < 2; on_adapter++)
			for (on_port = 1; on_port <= 2; on_port++)
				downs[on_adapter][on_port] = value_of("counters/link_downed");
		snprintf(line, sizeof(line), "port_down device=%u port=%u", hit / 2, 1 + hit % 2);
		CHECK_EQ(softhca_fault(line), 0);
		CHECK_EQ(softhca_fault(line), 0);
		for (on_adapter = 0; on_adapter < 2; on_adapter++)
			for (on_port = 1; on_port <= 2; on_port++)
				CHECK_EQ(value_of("counters/link_downed") -
						 downs[on_adapter][on_port],
					on_adapter == hit / 2 && on_port == 1 + hit % 2);
		on_adapter = 0;
		on_port = 1;
		snprintf(line, sizeof(line), "port_up device=%u port=%u", hit / 2, 1 + hit % 2);
		CHECK_EQ(softhca_fault(line), 0);
	}
	softhca_faults_clear();
	for (unsigned int i = 0; i < 2; i++)
		pair_fini(&p[i]);
}

static uint64_t
sum_at(unsigned int adapter, unsigned int port)
{
	uint64_t sum = 0;

	on_adapter = adapter;
	on_port = port;
	for (size_t i = 0; i < N; i++)
		sum += value_of(names[i]);
	return sum;
}

/* The data of an adapter must be counted only at its own port. */
static void
case_whose_data(void)
{
	struct pair p[2];

	for (unsigned int i = 0; i < 2; i++)
		pair_init(&p[i], &(struct pair_opts){.device = i});
	for (unsigned int busy = 0; busy < 2; busy++) {
		for (unsigned int look = 0; look < 4; look++) {
			const unsigned int adapter = look / 2, port = 1 + look % 2;
			const uint64_t sum = sum_at(adapter, port);

			on_adapter = busy;
			on_port = 1;
			note_all();
			post(&p[busy].client, &p[busy].server, IBV_WR_RDMA_WRITE, 8);
			CHECK_EQ(pair_wait(&p[busy].client).status, IBV_WC_SUCCESS);
			expect("counters/port_xmit_packets", 2);
			expect("hw_counters/rx_write_requests", 1);
			EXPECT_ONLY("hw_counters/rx_write_requests", TRAFFIC);
			CHECK_EQ(sum_at(adapter, port) != sum, adapter == busy && port == 1);
		}
	}
	on_adapter = 0;
	on_port = 1;
	for (unsigned int i = 0; i < 2; i++)
		pair_fini(&p[i]);
}

/* ---------------------------------------------------------------- each end at its own port */

/* The port at which one end of a connection is. */
struct place {
	unsigned int adapter, port;
};

/*
 * Moves a QP from RESET to RTS. It is at port `port` of its adapter, and its peer at port
 * `peer_port` of another adapter.
 */
static void
connect_at(struct pair *p, struct pair_end *e, unsigned int port, struct pair *peer,
	unsigned int peer_port, uint32_t dest)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
		.port_num = (uint8_t)port,
		.qp_access_flags = PAIR_ALL,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = dest,
		.max_dest_rd_atomic = 1,
		.max_rd_atomic = 1,
		.min_rnr_timer = 1,
		.timeout = 1,
		.retry_cnt = 1,
		.rnr_retry = 1,
		.ah_attr = {.is_global = 1, .port_num = (uint8_t)port, .grh = {.hop_limit = 1}}};
	struct ibv_port_attr at;

	CHECK_EQ(ibv_query_port(peer->ctx, (uint8_t)peer_port, &at), 0);
	attr.ah_attr.dlid = at.lid;
	CHECK_EQ(ibv_query_gid(peer->ctx, (uint8_t)peer_port, 0, &attr.ah_attr.grh.dgid), 0);
	CHECK_EQ(ibv_modify_qp(e->qp, &attr,
			 IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
		0);
	attr.qp_state = IBV_QPS_RTR;
	CHECK_EQ(ibv_modify_qp(e->qp, &attr,
			 IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				 IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
		0);
	attr.qp_state = IBV_QPS_RTS;
	CHECK_EQ(ibv_modify_qp(e->qp, &attr,
			 IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				 IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
		0);
}

#define MAX_COUNTS 5

/* A request between two ports, and the counters of each port that it changes. */
static const struct {
	enum ibv_wr_opcode opcode;
	/* recv_len: bytes of two receives that are posted; 0: no receive is posted */
	uint32_t len, recv_len;
	bool bad_key, absent; /* absent: the responder is in RESET */
	enum ibv_wc_status status;
	struct {
		const char *name;
		unsigned int requester, responder;
	} counts[MAX_COUNTS];
} requests[] = {
	/* A request of one packet, and the acknowledgement of this request. */
	{IBV_WR_RDMA_WRITE, 8, 0, false, false, IBV_WC_SUCCESS,
		{{"counters/port_xmit_packets", 1, 1}, {"counters/port_rcv_packets", 1, 1},
			{"hw_counters/rx_write_requests", 0, 1}}},
	{IBV_WR_RDMA_READ, 3000, 0, false, false, IBV_WC_SUCCESS,
		{{"counters/port_xmit_packets", 1, 3}, {"counters/port_rcv_packets", 3, 1},
			{"hw_counters/rx_read_requests", 0, 1}}},
	{IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 0, false, false, IBV_WC_SUCCESS,
		{{"counters/port_xmit_packets", 1, 1}, {"counters/port_rcv_packets", 1, 1},
			{"hw_counters/rx_atomic_requests", 0, 1}}},
	{IBV_WR_SEND, 3000, 3000, false, false, IBV_WC_SUCCESS,
		{{"counters/port_xmit_packets", 3, 1}, {"counters/port_rcv_packets", 1, 3}}},
	{IBV_WR_RDMA_WRITE, 8, 0, true, false, IBV_WC_REM_ACCESS_ERR,
		{{"hw_counters/req_remote_access_errors", 1, 0},
			{"hw_counters/req_cqe_error", 1, 0},
			{"hw_counters/resp_remote_access_errors", 0, 1}}},
	{IBV_WR_SEND, 101, 100, false, false, IBV_WC_REM_INV_REQ_ERR,
		{{"hw_counters/req_remote_invalid_request", 1, 0},
			{"hw_counters/req_cqe_error", 1, 0},
			{"hw_counters/resp_local_length_error", 0, 1},
			{"hw_counters/resp_cqe_error", 0, 2},
			{"hw_counters/resp_cqe_flush_error", 0, 1}}},
	/* One try and one retry. */
	{IBV_WR_SEND, 8, 0, false, false, IBV_WC_RNR_RETRY_EXC_ERR,
		{{"hw_counters/rnr_nak_retry_err", 2, 0}, {"hw_counters/out_of_buffer", 0, 2},
			{"hw_counters/req_cqe_error", 1, 0}}},
	{IBV_WR_RDMA_WRITE, 8, 0, false, true, IBV_WC_RETRY_EXC_ERR,
		{{"hw_counters/local_ack_timeout_err", 1, 0}, {"hw_counters/req_cqe_error", 1, 0}}},
};

static bool
is_here(struct place place)
{
	return on_adapter == place.adapter && on_port == place.port;
}

/*
 * Stores the counters that the request changes at the port under test. With `check`, checks how
 * these counters have changed since then.
 */
static void
look(unsigned int request, struct place from, struct place to, bool check)
{
	static uint64_t noted[2][3][MAX_COUNTS];

	for (size_t i = 0; i < MAX_COUNTS && requests[request].counts[i].name != NULL; i++) {
		const char *name = requests[request].counts[i].name;
		const uint64_t end = pair_now_ms() + CHECK_PATIENCE_MS;
		uint64_t *was = &noted[on_adapter][on_port][i], want = *was;

		if (is_here(from))
			want += requests[request].counts[i].requester;
		else if (is_here(to))
			want += requests[request].counts[i].responder;
		while (check && value_of(name) != want && pair_now_ms() < end)
			pair_run();
		CHECK(!check || value_of(name) == want,
			"request %u: mlx5_%u/%u: %s: %llu instead of %llu", request, on_adapter,
			on_port, name, (unsigned long long)value_of(name),
			(unsigned long long)want);
		*was = value_of(name);
	}
}

static void
look_at_all(unsigned int request, struct place from, struct place to, bool check)
{
	for (on_adapter = 0; on_adapter < 2; on_adapter++)
		for (on_port = 1; on_port <= 2; on_port++)
			look(request, from, to, check);
	on_adapter = 0;
	on_port = 1;
}

static void
request_between(unsigned int request, struct place from, struct place to)
{
	const uint32_t recv_len = requests[request].recv_len;
	struct pair p[2];

	for (unsigned int i = 0; i < 2; i++)
		pair_init(&p[i], &(struct pair_opts){.device = i, .no_connect = true});
	connect_at(&p[from.adapter], &p[from.adapter].client, from.port, &p[to.adapter], to.port,
		p[to.adapter].server.qp->qp_num);
	if (!requests[request].absent)
		connect_at(&p[to.adapter], &p[to.adapter].server, to.port, &p[from.adapter],
			from.port, p[from.adapter].client.qp->qp_num);
	for (uint64_t id = 0; id < 2 && recv_len != 0; id++)
		pair_post_recv(&p[to.adapter].server, id, 0, recv_len);
	pair_run();
	look_at_all(request, from, to, false);
	p[to.adapter].server.mr->rkey ^= requests[request].bad_key ? 0x100 : 0;
	post(&p[from.adapter].client, &p[to.adapter].server, requests[request].opcode,
		requests[request].len);
	p[to.adapter].server.mr->rkey ^= requests[request].bad_key ? 0x100 : 0;
	CHECK_EQ(pair_wait(&p[from.adapter].client).status, requests[request].status);
	look_at_all(request, from, to, true);
	for (unsigned int i = 0; i < 2; i++)
		pair_fini(&p[i]);
}

static struct ibv_qp *
datagram_qp_at(const struct pair *p, uint8_t port)
{
	struct ibv_qp_init_attr init = {.send_cq = p->client.cq,
		.recv_cq = p->server.cq,
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_UD};
	const struct ibv_qp_attr attr = {.port_num = port, .qkey = PAIR_QKEY};
	struct ibv_qp *qp = ibv_create_qp(p->pd, &init);

	CHECK(qp != NULL);
	CHECK_EQ(qp_take(qp, K_UD, attr, IBV_QPS_INIT, IBV_QPS_RTS), 0);
	return qp;
}

/* Sends a datagram from port 1 to the GID of port 2 with this index. */
static void
send_datagram(const struct pair *p, struct ibv_qp *from, const struct ibv_qp *to, uint8_t gid)
{
	struct ibv_ah_attr attr = {.is_global = 1,
		.port_num = 1,
		.grh = {.sgid_index = gid, .hop_limit = 1}};
	struct ibv_sge sge = {(uintptr_t)p->client.buf, 8, p->client.mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;
	struct ibv_ah *ah;

	CHECK_EQ(ibv_query_gid(p->ctx, 2, gid, &attr.grh.dgid), 0);
	ah = ibv_create_ah(p->pd, &attr);
	CHECK(ah != NULL, "GID %u of port 2", gid);
	pair_make_datagram(&wr, ah, to);
	pair_publish_to(from, NULL);
	CHECK_EQ(ibv_post_send(from, &wr, &bad), 0);
	CHECK_EQ(ibv_destroy_ah(ah), 0);
}

/* A datagram to any GID of the adapter's other port arrives there, and counts there. */
static void
case_other_port(void)
{
	struct ibv_qp *from, *to;
	struct pair p;

	pair_init(&p, &(struct pair_opts){.no_connect = true});
	from = datagram_qp_at(&p, 1);
	to = datagram_qp_at(&p, 2);
	for (uint8_t gid = 0; gid < 4; gid++) {
		struct ibv_sge sge = {(uintptr_t)p.server.buf, 64, p.server.mr->lkey};
		struct ibv_recv_wr recv = {.sg_list = &sge, .num_sge = 1}, *bad;

		pair_publish_to(to, NULL);
		CHECK_EQ(ibv_post_recv(to, &recv, &bad), 0);
		on_port = 2;
		note_all();
		send_datagram(&p, from, to, gid);
		CHECK_EQ(pair_wait(&p.client).status, IBV_WC_SUCCESS);
		CHECK_EQ(pair_wait(&p.server).status, IBV_WC_SUCCESS);
		expect("counters/port_rcv_packets", 1);
		expect("counters/port_xmit_packets", 0);
		on_port = 1;
	}
	CHECK_EQ(ibv_destroy_qp(from), 0);
	CHECK_EQ(ibv_destroy_qp(to), 0);
	pair_fini(&p);
}

static void
case_each_end(void)
{
	static const struct place places[][2] = {{{0, 1}, {0, 2}}, {{0, 2}, {0, 1}},
		{{0, 2}, {1, 1}}, {{1, 2}, {0, 2}}};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		for (unsigned int r = 0; r < sizeof(requests) / sizeof(requests[0]); r++)
			request_between(r, places[i][0], places[i][1]);
}

/*
 * A child must see the counters of its parent, and must have its own counters after it opens a
 * device.
 */
static void
case_child(void)
{
	struct pair p;
	uint64_t sent;
	int status;
	pid_t pid;

	pair_init(&p, NULL);
	note_all();
	post(&p.client, &p.server, IBV_WR_RDMA_WRITE, 8);
	CHECK_EQ(pair_wait(&p.client).status, IBV_WC_SUCCESS);
	expect("counters/port_xmit_packets", 2);
	sent = value_of("counters/port_xmit_packets");
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		struct pair own;

		CHECK_EQ(value_of("counters/port_xmit_packets"), sent);
		pair_init(&own, NULL);
		CHECK_EQ(value_of("counters/port_xmit_packets"), 0);
		note_all();
		post(&own.client, &own.server, IBV_WR_RDMA_WRITE, 8);
		CHECK_EQ(pair_wait(&own.client).status, IBV_WC_SUCCESS);
		expect("counters/port_xmit_packets", 2);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	CHECK_EQ(value_of("counters/port_xmit_packets"), sent);
	pair_fini(&p);
}

static const struct check_case cases[] = {
	{"data and packets of each operation are counted", case_carried},
	{"refused requests are counted at both ends", case_access_errors},
	{"the headers of each kind of packet are counted", case_kinds_of_packets},
	{"receives that are short or missing are counted", case_receive_errors},
	{"a lost unreliable message is counted only where it is lost", case_unreliable},
	{"frames are counted", case_frames},
	{"requests without an answer are counted", case_nobody_answers},
	{"a link that goes down is counted", case_link},
	{"a link that is down does not go down again, and no other link does", case_links},
	{"each port counts its own data", case_whose_data},
	{"the requester's port and the responder's port each count their own", case_each_end},
	{"a datagram to the other port arrives, and counts there", case_other_port},
	{"a child of fork reads its parent's counters until it opens a device", case_child},
};

int
main(int argc, char **argv)
{
	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
