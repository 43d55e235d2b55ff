/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections by /dev/infiniband/rdma_cm, within a process and between processes: which events
 * come, in which order, and with which values. Expected values: rdma_cma.h and the manual pages of
 * librdmacm (rdma_get_cm_event(3)), IBTA volume 1, chapter 12, for sizes of private data and
 * reasons, ibv_modify_qp(3) for masks.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#include <infiniband/verbs.h>

#include "softhca_cm.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))
#define TCP  RDMA_PS_TCP
#define UDP  RDMA_PS_UDP

#define LISTENER 0x11
#define CLIENT   0x22
#define SERVER   0x33

#define NOBODY     65534
#define CLIENT_QPN 0x001234u
#define SERVER_QPN 0x005678u

/* An asking end and an answering end, each with a file of its own. */
struct two {
	int client_fd, server_fd;
	uint32_t listener, client, server;
	uint16_t port;
};

static void
two_open(struct two *t, uint16_t ps, uint32_t backlog)
{
	*t = (struct two){.client_fd = cm_open_file(O_NONBLOCK),
		.server_fd = cm_open_file(O_NONBLOCK)};
	t->port = cm_listen_at(t->server_fd, LISTENER, ps, "127.0.0.1", backlog, &t->listener);
	t->client = cm_resolved(t->client_fd, CLIENT, ps, "127.0.0.1", t->port);
}

static void
two_close(const struct two *t)
{
	close(t->client_fd);
	close(t->server_fd);
}

/* Lets the client ask, and takes the request. */
static struct rdma_ucm_event_resp
two_ask(struct two *t)
{
	struct rdma_ucm_event_resp e;

	CHECK_EQ(cm_connect(t->client_fd, t->client, cm_param(CLIENT_QPN, 10)), 0);
	e = cm_expect(t->server_fd, CONNECT_REQUEST);
	CHECK_EQ(e.uid, LISTENER);
	t->server = e.id;
	return e;
}

static void
two_connect(struct two *t)
{
	(void)two_ask(t);
	CHECK_EQ(cm_accept(t->server_fd, t->server, SERVER, cm_param(SERVER_QPN, 0)), 0);
	CHECK_EQ(cm_expect(t->client_fd, CONNECT_RESPONSE).id, t->client);
	CHECK_EQ(cm_ready(t->client_fd, t->client), 0);
	CHECK_EQ(cm_expect(t->server_fd, ESTABLISHED).uid, SERVER);
}

/* The private data are those of cm_param(), in `room` bytes. */
static void
check_private(const uint8_t *data, uint8_t got_len, unsigned int len, unsigned int room)
{
	CHECK_EQ(got_len, room, "bytes of private data");
	for (unsigned int i = 0; i < room; i++)
		CHECK_EQ(data[i], i < len ? i + 1 : 0, "private data");
}

/* ---- a connection */

static void
check_attr(int fd, uint32_t id, uint32_t peer_qpn, const struct rdma_ucm_conn_param *depths,
	uint32_t *rq_psn, uint32_t *sq_psn)
{
	struct ib_uverbs_qp_attr attr;

	CHECK_EQ(cm_attr(fd, id, IBV_QPS_INIT, &attr), 0);
	CHECK_EQ(attr.qp_attr_mask,
		IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	CHECK_EQ(attr.qp_access_flags,
		IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	CHECK_EQ(attr.port_num, 1);
	CHECK_EQ(cm_attr(fd, id, IBV_QPS_RTR, &attr), 0);
	CHECK_EQ(attr.qp_attr_mask, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					    IBV_QP_MIN_RNR_TIMER);
	CHECK_EQ(attr.dest_qp_num, peer_qpn);
	CHECK_EQ(attr.path_mtu, IBV_MTU_4096);
	CHECK_EQ(attr.max_dest_rd_atomic, depths->responder_resources);
	CHECK_EQ(attr.ah_attr.is_global, 1);
	CHECK_EQ(attr.ah_attr.grh.sgid_index, 3);
	*rq_psn = attr.rq_psn;
	CHECK_EQ(cm_attr(fd, id, IBV_QPS_RTS, &attr), 0);
	CHECK_EQ(attr.qp_attr_mask, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
					    IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					    IBV_QP_MAX_QP_RD_ATOMIC);
	CHECK_EQ(attr.max_rd_atomic, depths->initiator_depth);
	CHECK_EQ(attr.retry_cnt, 6);
	CHECK_EQ(attr.rnr_retry, 4);
	*sq_psn = attr.sq_psn;
	CHECK_EQ(cm_attr(fd, id, IBV_QPS_SQD, &attr), -EINVAL);
	CHECK_EQ(cm_attr(fd, id, IBV_QPS_ERR + 1, &attr), -EINVAL);
}

static void
case_connection(void)
{
	uint32_t client_rq, client_sq, server_rq, server_sq;
	const struct rdma_ucm_conn_param *conn;
	struct rdma_ucm_query_route_resp route;
	struct ib_uverbs_qp_attr attr;
	struct rdma_ucm_event_resp e;
	struct two t;

	two_open(&t, TCP, 5);
	CHECK_EQ(cm_attr(t.client_fd, t.client, IBV_QPS_INIT, &attr), 0);
	CHECK_EQ(attr.qp_access_flags, 0, "without connection");
	e = two_ask(&t);
	/* What one end can answer at once is what the other end may ask at once. */
	conn = &e.param.conn;
	CHECK_EQ(conn->qp_num, CLIENT_QPN);
	CHECK_EQ(conn->responder_resources, 5);
	CHECK_EQ(conn->initiator_depth, 3);
	CHECK_EQ(conn->retry_count, 6);
	CHECK_EQ(conn->rnr_retry_count, 4);
	CHECK(conn->srq == 1 && conn->flow_control == 1);
	check_private(conn->private_data, conn->private_data_len, 10, 56);
	CHECK(e.ece.vendor_id == 0x15b3 && e.ece.attr_mod == 7);
	CHECK_EQ(cm_query(t.server_fd, t.server, &route), 0);
	CHECK_EQ(route.num_paths, 1);
	CHECK_EQ(ntohs(route.src_addr.sin6_port), t.port);
	CHECK_EQ(ntohs(route.dst_addr.sin6_port), cm_port_of(t.client_fd, t.client));
	CHECK_EQ(cm_attr(t.client_fd, t.client, IBV_QPS_RTR, &attr), -EINVAL, "no answer yet");
	check_attr(t.server_fd, t.server, CLIENT_QPN, conn, &server_rq, &server_sq);
	CHECK_EQ(cm_accept(t.server_fd, t.server, SERVER, cm_param(SERVER_QPN, 196)), 0);
	e = cm_expect(t.client_fd, CONNECT_RESPONSE);
	CHECK(e.uid == CLIENT && e.status == 0 && conn->qp_num == SERVER_QPN);
	CHECK_EQ(conn->responder_resources, 5);
	CHECK_EQ(conn->initiator_depth, 3);
	check_private(conn->private_data, conn->private_data_len, 196, 196);
	CHECK(e.ece.vendor_id == 0x15b3 && e.ece.attr_mod == 9);
	check_attr(t.client_fd, t.client, SERVER_QPN, conn, &client_rq, &client_sq);
	CHECK(client_rq == server_sq && client_sq == server_rq && client_rq != client_sq);
	CHECK(!cm_is_readable(t.server_fd));
	CHECK_EQ(cm_ready(t.client_fd, t.client), 0);
	e = cm_expect(t.server_fd, ESTABLISHED);
	CHECK(e.uid == SERVER && e.id == t.server && e.status == 0);
	CHECK_EQ(cm_ready(t.client_fd, t.client), -EINVAL, "ready twice");
	CHECK_EQ(cm_connect(t.client_fd, t.client, cm_param(1, 0)), -EINVAL);
	two_close(&t);
}

static void
case_disconnect(void)
{
	struct two t;

	two_open(&t, TCP, 5);
	two_connect(&t);
	CHECK_EQ(cm_disconnect(t.client_fd, t.client), 0);
	CHECK_EQ(cm_expect(t.server_fd, DISCONNECTED).id, t.server);
	CHECK(!cm_is_readable(t.client_fd));
	CHECK_EQ(cm_disconnect(t.server_fd, t.server), 0);
	CHECK_EQ(cm_expect(t.client_fd, DISCONNECTED).id, t.client);
	CHECK_EQ(cm_expect(t.client_fd, TIMEWAIT_EXIT).id, t.client);
	CHECK_EQ(cm_expect(t.server_fd, TIMEWAIT_EXIT).id, t.server);
	CHECK_EQ(cm_disconnect(t.client_fd, t.client), 0, "as the kernel, without effect");
	/* The request counts for the listener; the new id has three events. */
	CHECK_EQ(cm_destroy(t.server_fd, t.server), 3);
	CHECK_EQ(cm_destroy(t.server_fd, t.listener), 1);
	CHECK_EQ(cm_destroy(t.client_fd, t.client), 5);
	two_close(&t);
}

/* An end that closes its file, or destroys its id, disconnects the other. */
static void
case_ends_without_disconnect(void)
{
	struct two t;

	two_open(&t, TCP, 5);
	two_connect(&t);
	CHECK_EQ(cm_destroy(t.client_fd, t.client), 3);
	CHECK_EQ(cm_expect(t.server_fd, DISCONNECTED).status, 0);
	CHECK_EQ(cm_destroy(t.server_fd, t.server), 2);
	t.client = cm_resolved(t.client_fd, CLIENT, TCP, "127.0.0.1", t.port);
	two_connect(&t);
	close(t.server_fd);
	CHECK_EQ(cm_expect(t.client_fd, DISCONNECTED).status, 0);
	close(t.client_fd);
}

static void
case_established_by_program(void)
{
	struct rdma_ucm_notify in = {.event = IBV_EVENT_COMM_EST};
	struct two t;

	two_open(&t, TCP, 5);
	(void)two_ask(&t);
	in.id = t.server;
	CHECK_EQ(CM(t.server_fd, NOTIFY, in, 0), -EINVAL, "not accepted yet");
	CHECK_EQ(cm_accept(t.server_fd, t.server, SERVER, cm_param(SERVER_QPN, 0)), 0);
	CHECK_EQ(CM(t.server_fd, NOTIFY, in, 0), 0);
	CHECK_EQ(cm_expect(t.server_fd, ESTABLISHED).id, t.server);
	CHECK_EQ(CM(t.server_fd, NOTIFY, in, 0), -EISCONN);
	in.event = IBV_EVENT_SQ_DRAINED;
	CHECK_EQ(CM(t.server_fd, NOTIFY, in, 0), -EINVAL);
	/* The RTU that comes later is no second event. */
	CHECK_EQ(cm_expect(t.client_fd, CONNECT_RESPONSE).id, t.client);
	CHECK_EQ(cm_ready(t.client_fd, t.client), 0);
	CHECK_EQ(cm_disconnect(t.client_fd, t.client), 0);
	CHECK_EQ(cm_expect(t.server_fd, DISCONNECTED).id, t.server);
	two_close(&t);
}

/* ---- UD */

static void
case_ud(void)
{
	struct rdma_ucm_query_route_resp route;
	const struct rdma_ucm_ud_param *ud;
	struct ib_uverbs_qp_attr attr;
	struct rdma_ucm_event_resp e;
	struct two t;

	two_open(&t, UDP, 5);
	CHECK_EQ(cm_attr(t.client_fd, t.client, IBV_QPS_INIT, &attr), 0);
	CHECK_EQ(attr.qp_attr_mask, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	CHECK_EQ(attr.qkey, 0x01234567, "RDMA_UDP_QKEY");
	CHECK_EQ(cm_connect(t.client_fd, t.client, cm_param(0, 181)), -EINVAL);
	CHECK_EQ(cm_connect(t.client_fd, t.client, cm_param(0, 180)), 0);
	e = cm_expect(t.server_fd, CONNECT_REQUEST);
	ud = &e.param.ud;
	check_private(ud->private_data, ud->private_data_len, 180, 180);
	CHECK_EQ(cm_query(t.server_fd, e.id, &route), 0);
	CHECK_EQ(route.num_paths, 0, "as from the kernel");
	CHECK_EQ(cm_accept(t.server_fd, e.id, SERVER, cm_param(SERVER_QPN, 136)), 0);
	e = cm_expect(t.client_fd, ESTABLISHED);
	check_private(ud->private_data, ud->private_data_len, 136, 136);
	CHECK_EQ(ud->qp_num, SERVER_QPN);
	CHECK_EQ(ud->qkey, 0x01234567);
	CHECK_EQ(ud->ah_attr.port_num, 1);
	CHECK_EQ(ud->ah_attr.is_global, 1);
	CHECK_EQ(ud->ah_attr.grh.sgid_index, 3);
	two_close(&t);
}

static void
case_ud_refused(void)
{
	struct rdma_ucm_event_resp e;
	struct two t;

	two_open(&t, UDP, 5);
	CHECK_EQ(cm_connect(t.client_fd, t.client, cm_param(0, 0)), 0);
	e = cm_expect(t.server_fd, CONNECT_REQUEST);
	CHECK_EQ(cm_accept(t.server_fd, e.id, SERVER, cm_param(SERVER_QPN, 137)), -EINVAL);
	/* As in the kernel, the failed accept rejects: IB_SIDR_REJECT. */
	CHECK_EQ(cm_expect(t.client_fd, UNREACHABLE).status, 2);
	t.client = cm_resolved(t.client_fd, CLIENT, UDP, "127.0.0.1", t.port);
	CHECK_EQ(cm_connect(t.client_fd, t.client, cm_param(0, 0)), 0);
	e = cm_expect(t.server_fd, CONNECT_REQUEST);
	CHECK_EQ(cm_reject(t.server_fd, e.id, 0, 3), 0);
	e = cm_expect(t.client_fd, UNREACHABLE);
	CHECK_EQ(e.status, 2);
	CHECK_EQ(e.param.ud.private_data[2], 0x5a);
	/* Nobody listens: IB_SIDR_UNSUPPORTED. */
	CHECK_EQ(cm_destroy(t.server_fd, t.listener), 2);
	t.client = cm_resolved(t.client_fd, CLIENT, UDP, "127.0.0.1", t.port);
	CHECK_EQ(cm_connect(t.client_fd, t.client, cm_param(0, 0)), 0);
	CHECK_EQ(cm_expect(t.client_fd, UNREACHABLE).status, 1);
	two_close(&t);
}

/* ---- refusals */

static void
case_private_limits(void)
{
	struct two t;

	two_open(&t, TCP, 5);
	CHECK_EQ(cm_connect(t.client_fd, t.client, cm_param(CLIENT_QPN, 57)), -EINVAL);
	CHECK_EQ(cm_connect(t.client_fd, t.client, cm_param(CLIENT_QPN, 56)), 0);
	t.server = cm_expect(t.server_fd, CONNECT_REQUEST).id;
	CHECK_EQ(cm_reject(t.server_fd, t.server, 0, 149), -EINVAL);
	CHECK_EQ(cm_accept(t.server_fd, t.server, SERVER, cm_param(SERVER_QPN, 197)), -EINVAL);
	/* As in the kernel, the failed accept rejects. */
	CHECK_EQ(cm_expect(t.client_fd, REJECTED).status, 28);
	CHECK_EQ(cm_accept(t.server_fd, t.server, SERVER, cm_param(SERVER_QPN, 0)), -EINVAL);
	two_close(&t);
}

static void
case_reject(void)
{
	struct rdma_ucm_event_resp e;
	struct two t;

	two_open(&t, TCP, 5);
	(void)two_ask(&t);
	CHECK_EQ(cm_reject(t.server_fd, t.server, 7, 0), -EINVAL, "a reason for the kernel only");
	CHECK_EQ(cm_reject(t.server_fd, t.server, 0, 148), 0);
	CHECK_EQ(cm_reject(t.server_fd, t.server, 0, 0), -EINVAL, "rejected twice");
	e = cm_expect(t.client_fd, REJECTED);
	CHECK_EQ(e.status, 28, "IB_CM_REJ_CONSUMER_DEFINED");
	CHECK_EQ(e.param.conn.private_data_len, 148);
	CHECK_EQ(e.param.conn.private_data[147], 0x5a);
	t.client = cm_resolved(t.client_fd, CLIENT, TCP, "127.0.0.1", t.port);
	(void)two_ask(&t);
	CHECK_EQ(cm_reject(t.server_fd, t.server, 35, 0), 0);
	CHECK_EQ(cm_expect(t.client_fd, REJECTED).status, 35, "vendor option");
	/* The asking end rejects the answer. */
	t.client = cm_resolved(t.client_fd, CLIENT, TCP, "127.0.0.1", t.port);
	(void)two_ask(&t);
	CHECK_EQ(cm_accept(t.server_fd, t.server, SERVER, cm_param(SERVER_QPN, 0)), 0);
	CHECK_EQ(cm_expect(t.client_fd, CONNECT_RESPONSE).id, t.client);
	CHECK_EQ(cm_reject(t.client_fd, t.client, 0, 0), 0);
	CHECK_EQ(cm_expect(t.server_fd, REJECTED).status, 28);
	/* Nobody listens: IB_CM_REJ_INVALID_SERVICE_ID. */
	CHECK_EQ(cm_destroy(t.server_fd, t.listener), 3);
	t.client = cm_resolved(t.client_fd, CLIENT, TCP, "127.0.0.1", t.port);
	CHECK_EQ(cm_connect(t.client_fd, t.client, cm_param(CLIENT_QPN, 0)), 0);
	CHECK_EQ(cm_expect(t.client_fd, REJECTED).status, 8);
	two_close(&t);
}

/* The port has a listener, but not for this address. */
static void
case_other_address(void)
{
	struct two t;

	two_open(&t, TCP, 5);
	t.client = cm_resolved(t.client_fd, CLIENT, TCP, "127.0.0.2", t.port);
	CHECK_EQ(cm_connect(t.client_fd, t.client, cm_param(CLIENT_QPN, 0)), 0);
	CHECK_EQ(cm_expect(t.client_fd, REJECTED).status, 8);
	two_close(&t);
}

static void
case_request_withdrawn(void)
{
	struct two t;

	/* The asking end gives up before the accept, which then fails. There is no event. */
	two_open(&t, TCP, 5);
	(void)two_ask(&t);
	CHECK_EQ(cm_destroy(t.client_fd, t.client), 2);
	while (cm_accept(t.server_fd, t.server, SERVER, cm_param(SERVER_QPN, 0)) == 0) {
		/* The accept was faster, so the answer is refused. */
		CHECK_EQ(cm_expect(t.server_fd, REJECTED).id, t.server);
		t.client = cm_resolved(t.client_fd, CLIENT, TCP, "127.0.0.1", t.port);
		(void)two_ask(&t);
		CHECK_EQ(cm_destroy(t.client_fd, t.client), 2);
	}
	CHECK(!cm_is_readable(t.server_fd));
	/* A listener ends with requests that nobody has seen. */
	t.client = cm_resolved(t.client_fd, CLIENT, TCP, "127.0.0.1", t.port);
	CHECK_EQ(cm_connect(t.client_fd, t.client, cm_param(CLIENT_QPN, 0)), 0);
	while (!cm_is_readable(t.server_fd))
		usleep(100);
	CHECK(cm_destroy(t.server_fd, t.listener) >= 1);
	CHECK(!cm_is_readable(t.server_fd));
	CHECK_EQ(cm_expect(t.client_fd, REJECTED).status, 28);
	two_close(&t);
}

static void
case_backlog(void)
{
	struct rdma_ucm_event_resp e;
	uint32_t more;
	struct two t;

	two_open(&t, TCP, 1);
	CHECK_EQ(cm_connect(t.client_fd, t.client, cm_param(CLIENT_QPN, 0)), 0);
	while (!cm_is_readable(t.server_fd))
		usleep(100);
	/* The backlog is full: no answer. */
	more = cm_resolved(t.client_fd, 0x99, TCP, "127.0.0.1", t.port);
	CHECK_EQ(cm_connect(t.client_fd, more, cm_param(0x77, 0)), 0);
	e = cm_expect(t.client_fd, UNREACHABLE);
	CHECK(e.uid == 0x99 && (int)e.status == -ETIMEDOUT);
	/*
	 * When the program has taken the first request, a further one that is sent again finds
	 * room. A slow machine may need more tries.
	 */
	do {
		more = cm_resolved(t.client_fd, 0x99, TCP, "127.0.0.1", t.port);
		CHECK_EQ(cm_connect(t.client_fd, more, cm_param(0x77, 0)), 0);
		if (t.server == 0)
			t.server = cm_expect(t.server_fd, CONNECT_REQUEST).id;
		while (!cm_is_readable(t.server_fd) && !cm_is_readable(t.client_fd))
			usleep(100);
		if (cm_is_readable(t.client_fd))
			(void)cm_get(t.client_fd, &e);
	} while (!cm_is_readable(t.server_fd));
	e = cm_expect(t.server_fd, CONNECT_REQUEST);
	CHECK_EQ(e.param.conn.qp_num, 0x77);
	two_close(&t);
}

/* Takes one event of a file, and waits for it. arg: the file's descriptor. */
static void *
take_one(void *arg)
{
	struct rdma_ucm_event_resp e;

	CHECK_EQ(cm_get((int)(intptr_t)arg, &e), 0);
	CHECK_EQ(e.event, CONNECT_REQUEST);
	return NULL;
}

/* Two threads wait at one file, and two events come at once: each thread takes one of them. */
static void
case_two_threads_wait(void)
{
	struct two t = {.client_fd = cm_open_file(O_NONBLOCK), .server_fd = cm_open_file(0)};

	t.port = cm_listen_at(t.server_fd, LISTENER, TCP, "127.0.0.1", 100, &t.listener);
	for (unsigned int round = 0; round < 20; round++) {
		pthread_t thread[2];
		struct timespec limit;
		uint32_t client[2];

		for (unsigned int i = 0; i < 2; i++)
			client[i] = cm_resolved(t.client_fd, CLIENT, TCP, "127.0.0.1", t.port);
		for (unsigned int i = 0; i < 2; i++)
			CHECK_EQ(pthread_create(&thread[i], NULL, take_one,
					 (void *)(intptr_t)t.server_fd),
				0);
		usleep(10000);
		for (unsigned int i = 0; i < 2; i++)
			CHECK_EQ(cm_connect(t.client_fd, client[i], cm_param(CLIENT_QPN + i, 0)),
				0);
		clock_gettime(CLOCK_REALTIME, &limit);
		limit.tv_sec += CHECK_PATIENCE_MS / 1000;
		for (unsigned int i = 0; i < 2; i++)
			CHECK_EQ(pthread_timedjoin_np(thread[i], NULL, &limit), 0);
	}
	two_close(&t);
}

/* ---- other files */

static void
case_migrate(void)
{
	struct rdma_ucm_migrate_resp resp = {0};
	struct rdma_ucm_migrate_id in = {.response = (uintptr_t)&resp};
	const int to = cm_open_file(O_NONBLOCK);
	struct two t;

	two_open(&t, TCP, 5);
	(void)two_ask(&t);
	/* A second request waits while the listener moves. */
	in.id = t.client;
	t.client = cm_resolved(t.client_fd, CLIENT, TCP, "127.0.0.1", t.port);
	CHECK_EQ(cm_connect(t.client_fd, t.client, cm_param(CLIENT_QPN, 0)), 0);
	while (!cm_is_readable(t.server_fd))
		usleep(100);
	in.fd = (uint32_t)t.client_fd;
	CHECK_EQ(CM(to, MIGRATE_ID, in, sizeof(resp)), 0);
	CHECK_EQ(resp.events_reported, 2);
	in.id = t.listener;
	CHECK_EQ(CM(to, MIGRATE_ID, in, sizeof(resp)), -EINVAL, "an id of another file");
	in.fd = 9999;
	CHECK_EQ(CM(to, MIGRATE_ID, in, sizeof(resp)), -ENOENT, "no file");
	in.fd = 2;
	CHECK_EQ(CM(to, MIGRATE_ID, in, sizeof(resp)), -EINVAL, "a file of another kind");
	in.fd = (uint32_t)t.server_fd;
	CHECK_EQ(CM(to, MIGRATE_ID, in, sizeof(resp)), 0);
	CHECK_EQ(resp.events_reported, 1);
	CHECK(!cm_is_readable(t.server_fd));
	/* The listener's event and the new id are in the new file. */
	t.server = cm_expect(to, CONNECT_REQUEST).id;
	CHECK_EQ(cm_accept(t.server_fd, t.server, SERVER, cm_param(1, 0)), -EINVAL);
	CHECK_EQ(cm_accept(to, t.server, SERVER, cm_param(SERVER_QPN, 0)), 0);
	CHECK_EQ(cm_destroy(to, t.listener), 2);
	close(to);
	two_close(&t);
}

/* The names of the files that are open, without those of the device's thread. */
static void
case_files_of_a_child(void)
{
	const struct timespec for_ever = {.tv_sec = 3600};
	struct two t;
	pid_t pid;

	/* A child has the parent's descriptors, but keeps none of its connections. */
	two_open(&t, TCP, 5);
	two_connect(&t);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		nanosleep(&for_ever, NULL);
		_exit(0);
	}
	close(t.client_fd);
	CHECK_EQ(cm_expect(t.server_fd, DISCONNECTED).id, t.server);
	kill(pid, SIGKILL);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	close(t.server_fd);
}

/* ---- other processes */

struct peer {
	pid_t pid;
	int pipe[2]; /* the child tells its port */
};

/* What the other process does after it listens. */
enum role {
	LISTEN_ONLY,
	TAKE_REQUEST,
	ACCEPT,
	ACCEPT_AS_NOBODY
};

static void
serve(const struct peer *peer, enum role role, uint16_t ps)
{
	const int fd = cm_open_file(0);
	uint32_t listener, id = 0;
	uint16_t port;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	port = cm_listen_at(fd, LISTENER, ps, "127.0.0.1", 5, &listener);
	if (role == ACCEPT_AS_NOBODY)
		CHECK(setgid(NOBODY) == 0 && setuid(NOBODY) == 0 &&
			prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
	CHECK_EQ(write(peer->pipe[1], &port, sizeof(port)), sizeof(port));
	if (role != LISTEN_ONLY)
		id = cm_expect(fd, CONNECT_REQUEST).id;
	if (role == TAKE_REQUEST)
		CHECK_EQ(write(peer->pipe[1], &port, sizeof(port)), sizeof(port));
	if (role == ACCEPT || role == ACCEPT_AS_NOBODY)
		CHECK_EQ(cm_accept(fd, id, SERVER, cm_param(SERVER_QPN, 0)), 0);
	for (;;)
		pause();
}

static uint16_t
told(const struct peer *peer)
{
	uint16_t port;

	CHECK_EQ(read(peer->pipe[0], &port, sizeof(port)), sizeof(port));
	return port;
}

static uint16_t
start(struct peer *peer, enum role role, uint16_t ps)
{
	CHECK_EQ(pipe(peer->pipe), 0);
	peer->pid = fork();
	CHECK(peer->pid >= 0);
	if (peer->pid == 0)
		serve(peer, role, ps);
	return told(peer);
}

static void
end(const struct peer *peer)
{
	kill(peer->pid, SIGKILL);
	CHECK_EQ(waitpid(peer->pid, NULL, 0), peer->pid);
	close(peer->pipe[0]);
	close(peer->pipe[1]);
}

__attribute__((unused)) static void
case_listener_dies(void)
{
	const int fd = cm_open_file(O_NONBLOCK);
	struct peer peer;
	uint16_t port;
	uint32_t id;

	/* After the connection. */
	port = start(&peer, ACCEPT, TCP);
	id = cm_resolved(fd, CLIENT, TCP, "127.0.0.1", port);
	CHECK_EQ(cm_connect(fd, id, cm_param(CLIENT_QPN, 0)), 0);
	CHECK_EQ(cm_expect(fd, CONNECT_RESPONSE).param.conn.qp_num, SERVER_QPN);
	CHECK_EQ(cm_ready(fd, id), 0);
	end(&peer);
	CHECK_EQ(cm_expect(fd, DISCONNECTED).id, id);
	CHECK_EQ(cm_disconnect(fd, id), 0);
	CHECK_EQ(cm_expect(fd, TIMEWAIT_EXIT).id, id);
	/* Its name is free. */
	id = cm_resolved(fd, CLIENT, TCP, "127.0.0.1", port);
	CHECK_EQ(cm_connect(fd, id, cm_param(CLIENT_QPN, 0)), 0);
	CHECK_EQ(cm_expect(fd, REJECTED).status, 8);
	/* After the request: the kernel's clean-up rejects it. */
	port = start(&peer, TAKE_REQUEST, TCP);
	id = cm_resolved(fd, CLIENT, TCP, "127.0.0.1", port);
	CHECK_EQ(cm_connect(fd, id, cm_param(CLIENT_QPN, 0)), 0);
	CHECK_EQ(told(&peer), port);
	end(&peer);
	CHECK_EQ(cm_expect(fd, REJECTED).status, 28);
	/* Before the answer of a UD listener. */
	port = start(&peer, TAKE_REQUEST, UDP);
	id = cm_resolved(fd, CLIENT, UDP, "127.0.0.1", port);
	CHECK_EQ(cm_connect(fd, id, cm_param(0, 0)), 0);
	CHECK_EQ(told(&peer), port);
	end(&peer);
	CHECK_EQ(cm_expect(fd, UNREACHABLE).status, 1);
	close(fd);
}

/* A listener that does not run does not answer. */
__attribute__((unused)) static void
case_listener_stops(void)
{
	const int fd = cm_open_file(O_NONBLOCK);
	struct peer peer;
	const uint16_t port = start(&peer, LISTEN_ONLY, TCP);
	const uint32_t id = cm_resolved(fd, CLIENT, TCP, "127.0.0.1", port);

	kill(peer.pid, SIGSTOP);
	CHECK_EQ(cm_connect(fd, id, cm_param(CLIENT_QPN, 0)), 0);
	CHECK_EQ((int)cm_expect(fd, UNREACHABLE).status, -ETIMEDOUT);
	end(&peer);
	close(fd);
}

__attribute__((unused)) static void
case_client_dies(void)
{
	const int fd = cm_open_file(O_NONBLOCK);
	struct rdma_ucm_event_resp e;
	uint32_t listener;
	const uint16_t port = cm_listen_at(fd, LISTENER, TCP, "127.0.0.1", 5, &listener);
	const pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		const int own = cm_open_file(0);
		const uint32_t id = cm_resolved(own, CLIENT, TCP, "127.0.0.1", port);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		CHECK_EQ(cm_connect(own, id, cm_param(CLIENT_QPN, 0)), 0);
		(void)cm_expect(own, CONNECT_RESPONSE);
		CHECK_EQ(cm_ready(own, id), 0);
		for (;;)
			pause();
	}
	e = cm_expect(fd, CONNECT_REQUEST);
	CHECK_EQ(cm_accept(fd, e.id, SERVER, cm_param(SERVER_QPN, 0)), 0);
	CHECK_EQ(cm_expect(fd, ESTABLISHED).uid, SERVER);
	kill(pid, SIGKILL);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	CHECK_EQ(cm_expect(fd, DISCONNECTED).uid, SERVER);
	close(fd);
}

/* A process of another user is refused at both ends: the setting wire_users. */
__attribute__((unused)) static void
case_other_user(void)
{
	const int fd = cm_open_file(O_NONBLOCK);
	uint32_t listener;
	const uint16_t port = cm_listen_at(fd, LISTENER, TCP, "127.0.0.1", 5, &listener);
	pid_t pid;
	int status;

	if (geteuid() != 0) {
		printf("not as root: no other user ");
		close(fd);
		return;
	}
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		int own;
		uint32_t id;

		CHECK(setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
		own = cm_open_file(0);
		id = cm_resolved(own, CLIENT, TCP, "127.0.0.1", port);
		CHECK_EQ(cm_connect(own, id, cm_param(CLIENT_QPN, 0)), 0);
		CHECK_EQ((int)cm_expect(own, UNREACHABLE).status, -EACCES);
		fflush(NULL);
		_exit(check_failures != 0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	CHECK(!cm_is_readable(fd));
	close(fd);
}

static void
connect_raw(int s, uint16_t port)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int n = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "softhca/cm/tcp/%u", port);

	CHECK_EQ(connect(s, (const struct sockaddr *)&name,
			 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)),
		0);
}

/* Connects to a listener as another user. The listener must accept. */
static void
connect_as_nobody(uint16_t port)
{
	const pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (pid == 0) {
		int own;
		uint32_t id;

		CHECK(setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
		own = cm_open_file(0);
		id = cm_resolved(own, CLIENT, TCP, "127.0.0.1", port);
		CHECK_EQ(cm_connect(own, id, cm_param(CLIENT_QPN, 0)), 0);
		CHECK_EQ(cm_expect(own, CONNECT_RESPONSE).param.conn.qp_num, SERVER_QPN);
		fflush(NULL);
		_exit(check_failures != 0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

/* A server listens as root, and then has the user of its clients. */
__attribute__((unused)) static void
case_listener_drops(void)
{
	struct peer peer;

	if (geteuid() != 0) {
		printf("not as root: no other user ");
		return;
	}
	connect_as_nobody(start(&peer, ACCEPT_AS_NOBODY, TCP));
	end(&peer);
}

/* What is no record closes its connection, and nothing else. */
static void
case_garbage(void)
{
	const int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	char text[400] = "no record";
	struct two t;

	two_open(&t, TCP, 5);
	connect_raw(s, t.port);
	CHECK_EQ(send(s, text, sizeof(text), MSG_NOSIGNAL), (ssize_t)sizeof(text));
	CHECK_EQ(recv(s, text, sizeof(text), 0), 0, "the connection ends");
	close(s);
	two_connect(&t);
	two_close(&t);
}

/* ---- too few descriptors */

#define FEW_FDS 64

static void
limit(rlim_t fds)
{
	struct rlimit r;

	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &r), 0);
	r.rlim_cur = fds;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &r), 0);
}

static void
fill(void)
{
	while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
		;
	CHECK_EQ(errno, EMFILE);
}

static unsigned int
count_fds(void)
{
	unsigned int n = 0;

	for (int fd = 0; fd < 2 * FEW_FDS; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static bool
ends(int s, int wait_ms)
{
	struct pollfd p = {.fd = s, .events = POLLIN};
	char byte;

	return poll(&p, 1, wait_ms) == 1 && recv(s, &byte, 1, 0) == 0;
}

/* Waits until the process has n descriptors, less those of s[0] and s[1] that have ended. */
static void
await_fds(unsigned int n, const int s[2])
{
	unsigned int ms = 0;

	while (count_fds() != n - (s != NULL ? ends(s[0], 0) + ends(s[1], 0) : 0)) {
		CHECK(ms++ < CHECK_PATIENCE_MS, "%u descriptors", count_fds());
		usleep(1000);
	}
}

/*
 * A connection that comes when no descriptor is free is closed by means of a reserved descriptor.
 * The reserve is lost here in the same way as when another thread takes the descriptor while the
 * adapter has given it up: a lower limit makes its number unusable.
 */
static void
few_descriptors(void)
{
	const int fd = cm_open_file(O_NONBLOCK);
	uint32_t listener;
	const uint16_t port = cm_listen_at(fd, LISTENER, TCP, "127.0.0.1", 5, &listener);
	int s[4];

	limit(FEW_FDS);
	for (unsigned int i = 0; i < N(s); i++) {
		s[i] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
		CHECK(s[i] >= 0);
	}
	fill();
	connect_raw(s[0], port);
	CHECK(ends(s[0], CHECK_PATIENCE_MS), "the reserve is there");
	limit(1);
	connect_raw(s[1], port);
	await_fds(FEW_FDS - 1, NULL); /* the reserve is lost */
	/*
	 * Descriptors are free again. So the connections are accepted, and a reserve is made. A
	 * connection is closed instead if the adapter has not noticed yet.
	 */
	limit(FEW_FDS + 8);
	connect_raw(s[2], port);
	await_fds(FEW_FDS + 2, &s[1]);
	fill();
	connect_raw(s[3], port);
	CHECK(ends(s[3], CHECK_PATIENCE_MS), "the reserve is there again");
}

__attribute__((unused)) static void
case_few_descriptors(void)
{
	const pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		few_descriptors();
		fflush(NULL);
		_exit(check_failures != 0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

int
main(int argc, char **argv)
{
	static const struct check_case cases[] = {
		{"a connection has the values of both programs", case_connection},
		{"a connection ends at both ends", case_disconnect},
		{"an end that vanishes disconnects the other", case_ends_without_disconnect},
		{"the program says that the connection works", case_established_by_program},
		{"UD queue pairs find each other", case_ud},
		{"UD queue pairs are refused", case_ud_refused},
		{"private data have the kernel's limits", case_private_limits},
		{"a rejection has its reason", case_reject},
		{"a listener takes requests for its address only", case_other_address},
		{"a request is withdrawn", case_request_withdrawn},
		{"a full backlog does not answer", case_backlog},
		{"two threads that wait take one event each", case_two_threads_wait},
		{"an id moves to another file with its events", case_migrate},
		{"a child of fork(2) keeps no connection open", case_files_of_a_child},
		{"what is no record closes its connection", case_garbage},
#ifndef __SANITIZE_THREAD__ /* TSan allows no new thread in the child of a process with threads */
		{"a listening process dies", case_listener_dies},
		{"a listening process stops", case_listener_stops},
		{"an asking process dies", case_client_dies},
		{"another user's process is refused", case_other_user},
		{"a listening process changes to the user of its clients", case_listener_drops},
		{"a connection ends when no descriptor is free, also after the reserve was lost",
			case_few_descriptors},
#endif
	};

	return check_main(cases, N(cases), argc, argv);
}
