/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion channels and async events of the emulated adapter, with traffic between two RC QPs of
 * this process: which events are delivered, which stay unread, and which are removed with their
 * object.
 *
 * ibv_destroy_cq() and ibv_destroy_qp() wait until the program has acknowledged as many events as
 * the kernel reports to have been read (ibv_ack_cq_events(3)). With a wrong number they wait for
 * ever, so an alarm is set.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "softhca.h"
#include "check.h"
#include "qp_ready.h"

struct pair {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *send_cq, *recv_cq; /* CQs that use the channel */
	struct ibv_qp *client, *server;
	struct ibv_mr *mr;
	char buf[4096];
};

static void
connect_to(struct ibv_qp *qp, uint32_t dest)
{
	struct ibv_qp_attr attr = {
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = dest,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 1,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 1,
		.ah_attr = {.is_global = 1,
			.port_num = 1,
			.grh = {.sgid_index = 1, .hop_limit = 1}},
	};

	CHECK_EQ(ibv_query_gid(qp->context, 1, 1, &attr.ah_attr.grh.dgid), 0);
	CHECK_EQ(qp_take(qp, K_RC, attr, IBV_QPS_INIT, IBV_QPS_RTS), 0);
}

static void
set_nonblocking(int fd)
{
	CHECK_EQ(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), 0);
}

static void
open_pair(struct pair *p)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1},
		.sq_sig_all = 1,
	};

	CHECK(list != NULL && list[0] != NULL);
	p->ctx = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	CHECK(p->ctx != NULL);
	p->pd = ibv_alloc_pd(p->ctx);
	p->channel = ibv_create_comp_channel(p->ctx);
	p->send_cq = ibv_create_cq(p->ctx, 32, "send", p->channel, 0);
	p->recv_cq = ibv_create_cq(p->ctx, 32, "receive", p->channel, 0);
	CHECK(p->send_cq != NULL && p->recv_cq != NULL);
	init.send_cq = p->send_cq;
	init.recv_cq = p->recv_cq;
	p->client = ibv_create_qp(p->pd, &init);
	p->server = ibv_create_qp(p->pd, &init);
	CHECK(p->client != NULL && p->server != NULL);
	p->mr = ibv_reg_mr(p->pd, p->buf, sizeof(p->buf), IBV_ACCESS_LOCAL_WRITE);
	CHECK(p->mr != NULL);
	connect_to(p->client, p->server->qp_num);
	connect_to(p->server, p->client->qp_num);
	set_nonblocking(p->channel->fd);
	set_nonblocking(p->ctx->async_fd);
}

/* Destroys what is left when the QPs and the send CQ are gone. */
static void
close_rest(struct pair *p)
{
	CHECK_EQ(ibv_destroy_cq(p->recv_cq), 0);
	CHECK_EQ(ibv_destroy_comp_channel(p->channel), 0);
	CHECK_EQ(ibv_dereg_mr(p->mr), 0);
	CHECK_EQ(ibv_dealloc_pd(p->pd), 0);
	CHECK_EQ(ibv_close_device(p->ctx), 0);
}

static void
close_pair(struct pair *p)
{
	CHECK_EQ(ibv_destroy_qp(p->client), 0);
	CHECK_EQ(ibv_destroy_qp(p->server), 0);
	if (p->send_cq != NULL)
		CHECK_EQ(ibv_destroy_cq(p->send_cq), 0);
	close_rest(p);
}

static void
poll_one(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int n;

	do {
		(void)softhca_pump(); /* needed with SOFTHCA_THREADS=0 */
		n = ibv_poll_cq(cq, 1, &wc);
	} while (n == 0);
	CHECK_EQ(n, 1);
	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
}

/* Posts one SEND, which completes on both sides. */
static void
send_one(struct pair *p)
{
	struct ibv_sge sge = {.addr = (uintptr_t)p->buf, .length = 64, .lkey = p->mr->lkey};
	struct ibv_sge sink = {.addr = (uintptr_t)p->buf + 2048, .length = 64, .lkey = p->mr->lkey};
	struct ibv_send_wr send = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
	struct ibv_recv_wr recv = {.sg_list = &sink, .num_sge = 1}, *bad_recv;

	CHECK_EQ(ibv_post_recv(p->server, &recv, &bad_recv), 0);
	CHECK_EQ(ibv_post_send(p->client, &send, &bad), 0);
	poll_one(p->send_cq);
	poll_one(p->recv_cq);
}

/* config/tsan.supp has the names of acknowledge() and acknowledge_async(). */
static void
acknowledge(struct ibv_cq *cq, unsigned int n)
{
	ibv_ack_cq_events(cq, n);
}

static void
acknowledge_async(struct ibv_async_event *event)
{
	ibv_ack_async_event(event);
}

/* Waits up to timeout_ms for the next event. Returns the event's CQ, or NULL. */
static struct ibv_cq *
next_event(struct pair *p, int timeout_ms)
{
	struct pollfd fd = {.fd = p->channel->fd, .events = POLLIN};
	struct ibv_cq *cq;
	void *context;

	if (poll(&fd, 1, timeout_ms) == 0) {
		CHECK(ibv_get_cq_event(p->channel, &cq, &context) == -1 && errno == EAGAIN);
		return NULL;
	}
	CHECK_EQ(ibv_get_cq_event(p->channel, &cq, &context), 0);
	CHECK(context == cq->cq_context);
	return cq;
}

static void
case_one_event_per_arm(void)
{
	struct pair p;

	open_pair(&p);
	send_one(&p);
	CHECK(next_event(&p, 20) == NULL); /* no CQ is armed */
	CHECK_EQ(ibv_req_notify_cq(p.recv_cq, 0), 0);
	send_one(&p);
	CHECK(next_event(&p, 5000) == p.recv_cq);
	send_one(&p);
	CHECK(next_event(&p, 20) == NULL); /* one arming gives one event */
	acknowledge(p.recv_cq, 1);
	close_pair(&p);
}

static void
case_unread(void)
{
	struct pair p;

	open_pair(&p);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(ibv_req_notify_cq(p.recv_cq, 0), 0);
		send_one(&p);
	}
	CHECK(next_event(&p, 5000) == p.recv_cq);
	acknowledge(p.recv_cq, 1);
	/* closing the pair would wait for ever if the adapter counted unread events as read */
	close_pair(&p);
}

static void
case_others_stay(void)
{
	struct pair p;

	open_pair(&p);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(ibv_req_notify_cq(p.send_cq, 0), 0);
		CHECK_EQ(ibv_req_notify_cq(p.recv_cq, 0), 0);
		send_one(&p);
	}
	CHECK_EQ(ibv_destroy_qp(p.client), 0);
	CHECK_EQ(ibv_destroy_qp(p.server), 0);
	CHECK_EQ(ibv_destroy_cq(p.send_cq), 0);
	CHECK(next_event(&p, 5000) == p.recv_cq);
	CHECK(next_event(&p, 5000) == p.recv_cq);
	CHECK(next_event(&p, 20) == NULL);
	acknowledge(p.recv_cq, 2);
	close_rest(&p);
}

/* As case_others_stay(), with more events than the adapter sets aside at first, in their order. */
static void
case_many_others_stay(void)
{
	enum {
		MANY = 150
	};
	struct pair p;

	open_pair(&p);
	for (int i = 0; i < MANY; i++) {
		CHECK_EQ(ibv_req_notify_cq(i % 3 == 0 ? p.send_cq : p.recv_cq, 0), 0);
		send_one(&p);
	}
	CHECK_EQ(ibv_destroy_qp(p.client), 0);
	CHECK_EQ(ibv_destroy_qp(p.server), 0);
	CHECK_EQ(ibv_destroy_cq(p.send_cq), 0);
	for (int i = 0; i < MANY - MANY / 3; i++)
		CHECK(next_event(&p, CHECK_PATIENCE_MS) == p.recv_cq, "event %d", i);
	CHECK(next_event(&p, 0) == NULL);
	acknowledge(p.recv_cq, MANY - MANY / 3);
	close_rest(&p);
}

/*
 * A lane may run a WQE before it sees that the CQ was armed, and the program may then poll the
 * completion and arm the CQ again. Each arming still gives an event. The wrong order is rare.
 */
static void
case_arm_seen_late(void)
{
	struct pair p;

	open_pair(&p);
	for (int i = 0; i < 4000; i++) {
		for (int j = 0; j < 2; j++) {
			CHECK_EQ(ibv_req_notify_cq(p.recv_cq, 0), 0);
			send_one(&p);
		}
		CHECK(next_event(&p, 5000) == p.recv_cq);
		CHECK(next_event(&p, 5000) == p.recv_cq);
		acknowledge(p.recv_cq, 2);
	}
	close_pair(&p);
}

/*
 * The file descriptor of a channel is duplicated to another number, and must still get the events:
 * the adapter identifies the file by its inode.
 */
static void
case_moved(void)
{
	struct pair p;
	int moved;

	open_pair(&p);
	CHECK_EQ(ibv_req_notify_cq(p.recv_cq, 0), 0);
	send_one(&p);
	moved = fcntl(p.channel->fd, F_DUPFD_CLOEXEC, 100);
	CHECK(moved >= 100);
	close(p.channel->fd);
	p.channel->fd = moved;
	close_pair(&p);
}

/* Takes the QP to SQD, and waits until it is drained: then the event SQ_DRAINED can be read. */
static void
drain(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1};
	struct ibv_qp_init_attr init;

	CHECK_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
	do {
		(void)softhca_pump();
		CHECK_EQ(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
	} while (attr.sq_draining);
}

/* Waits for the next async event, and acknowledges it. */
static struct ibv_async_event
next_async(struct pair *p)
{
	struct pollfd fd = {.fd = p->ctx->async_fd, .events = POLLIN};
	struct ibv_async_event event;

	CHECK_EQ(poll(&fd, 1, CHECK_PATIENCE_MS), 1);
	CHECK_EQ(ibv_get_async_event(p->ctx, &event), 0);
	acknowledge_async(&event);
	return event;
}

static void
case_async_read(void)
{
	struct ibv_async_event event;
	struct pair p;

	open_pair(&p);
	drain(p.client);
	event = next_async(&p);
	CHECK_EQ(event.event_type, IBV_EVENT_SQ_DRAINED);
	CHECK(event.element.qp == p.client);
	close_pair(&p);
}

/* As in the kernel, the list of async events has no limit: all events must be read, in order. */
static void
case_async_many(void)
{
	struct ibv_async_event event;
	bool of_client[100];
	uint64_t seed = 1;
	struct pair p;

	open_pair(&p);
	for (size_t i = 0; i < 100; i++) {
		struct ibv_qp_attr back = {.qp_state = IBV_QPS_RTS};
		struct ibv_qp *qp;

		of_client[i] = check_random(&seed) % 2 != 0;
		qp = of_client[i] ? p.client : p.server;
		drain(qp);
		CHECK_EQ(ibv_modify_qp(qp, &back, IBV_QP_STATE), 0);
	}
	for (size_t i = 0; i < 100; i++) {
		event = next_async(&p);
		CHECK_EQ(event.event_type, IBV_EVENT_SQ_DRAINED);
		CHECK(event.element.qp == (of_client[i] ? p.client : p.server), "event %zu", i);
	}
	CHECK(ibv_get_async_event(p.ctx, &event) == -1 && errno == EAGAIN);
	close_pair(&p);
}

static void
case_async_unread(void)
{
	struct ibv_async_event event;
	struct pair p;

	open_pair(&p);
	/* Two events of other objects stay in the list, in order. */
	CHECK_EQ(softhca_fault("port_down"), 0);
	CHECK_EQ(softhca_fault("port_up"), 0);
	while (softhca_pump() != 0)
		;
	drain(p.client);
	CHECK_EQ(ibv_destroy_qp(p.client), 0);
	CHECK_EQ(next_async(&p).event_type, IBV_EVENT_PORT_ERR);
	CHECK_EQ(next_async(&p).event_type, IBV_EVENT_PORT_ACTIVE);
	CHECK(ibv_get_async_event(p.ctx, &event) == -1 && errno == EAGAIN);
	CHECK_EQ(ibv_destroy_qp(p.server), 0);
	CHECK_EQ(ibv_destroy_cq(p.send_cq), 0);
	close_rest(&p);
}

/* Each open context of the adapter must get the event of the port. */
static void
case_async_of_all(void)
{
	struct pair pairs[3];

	for (size_t i = 0; i < 3; i++)
		open_pair(&pairs[i]);
	CHECK_EQ(softhca_fault("port_down"), 0);
	CHECK_EQ(softhca_fault("port_up"), 0);
	while (softhca_pump() != 0)
		;
	for (size_t i = 0; i < 3; i++) {
		CHECK_EQ(next_async(&pairs[i]).event_type, IBV_EVENT_PORT_ERR);
		CHECK_EQ(next_async(&pairs[i]).event_type, IBV_EVENT_PORT_ACTIVE);
		close_pair(&pairs[i]);
	}
}

/* Redirects the program's standard error to a file. */
static int
log_begin(int *saved)
{
	int log = memfd_create("log", MFD_CLOEXEC);

	*saved = dup(STDERR_FILENO);
	CHECK(log >= 0 && *saved >= 0 && dup2(log, STDERR_FILENO) == STDERR_FILENO);
	return log;
}

/* Restores the standard error. Returns true if the file has this text. */
static bool
log_end(int log, int saved, const char *text)
{
	static char got[65536];
	ssize_t n = pread(log, got, sizeof(got) - 1, 0);

	CHECK(n >= 0 && dup2(saved, STDERR_FILENO) == STDERR_FILENO);
	got[n] = '\0';
	close(saved);
	close(log);
	return strstr(got, text) != NULL;
}

/*
 * As many events as the file holds must be kept, in order. Further events are lost, and the log
 * must report this.
 */
static void
case_async_too_many(void)
{
	enum {
		MANY = 20000
	};
	struct ibv_async_event event;
	unsigned int read = 0;
	int saved, log;
	struct pair p;

	open_pair(&p);
	log = log_begin(&saved);
	for (unsigned int i = 0; i < MANY; i++) {
		CHECK_EQ(softhca_fault(i % 2 == 0 ? "port_down" : "port_up"), 0);
		(void)softhca_pump();
	}
	CHECK(log_end(log, saved, "an event is lost: the program leaves too many events unread"));
	while (ibv_get_async_event(p.ctx, &event) == 0) {
		if (read < 100)
			CHECK_EQ(event.event_type,
				read % 2 == 0 ? IBV_EVENT_PORT_ERR : IBV_EVENT_PORT_ACTIVE);
		ibv_ack_async_event(&event);
		read++;
	}
	CHECK(errno == EAGAIN && read >= 100 && read < MANY);
	softhca_faults_clear();
	close_pair(&p);
}

/* ---- no descriptor is free */

#define FEW_FDS 128
#define MOVED   100 /* a number that no other descriptor of this program has */

/* Opens descriptors until none is free. Returns the limit from before. */
static struct rlimit
fill(int fds[FEW_FDS], unsigned int *n)
{
	struct rlimit was, few;

	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &was), 0);
	few = was;
	few.rlim_cur = FEW_FDS;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
	for (*n = 0; *n < FEW_FDS; ++*n) {
		fds[*n] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (fds[*n] < 0)
			break;
	}
	CHECK_EQ(errno, EMFILE);
	return was;
}

static void
empty(const struct rlimit *was, const int fds[FEW_FDS], unsigned int n)
{
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, was), 0);
	while (n > 0)
		close(fds[--n]);
}

/*
 * Objects with unread events are destroyed. Without a right number of read events, libibverbs waits
 * for ever.
 */
static void
destroy_when_full(bool moved)
{
	int fds[FEW_FDS];
	unsigned int n;
	struct rlimit was;
	struct pair p;

	open_pair(&p);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(ibv_req_notify_cq(p.send_cq, 0), 0);
		CHECK_EQ(ibv_req_notify_cq(p.recv_cq, 0), 0);
		send_one(&p);
	}
	if (moved) {
		const int to = fcntl(p.channel->fd, F_DUPFD_CLOEXEC, MOVED);

		CHECK(to >= MOVED);
		close(p.channel->fd);
		p.channel->fd = to;
	}
	drain(p.client);
	was = fill(fds, &n);
	CHECK_EQ(ibv_destroy_qp(p.client), 0);
	CHECK_EQ(ibv_destroy_qp(p.server), 0);
	CHECK_EQ(ibv_destroy_cq(p.send_cq), 0);
	empty(&was, fds, n);
	CHECK(next_event(&p, CHECK_PATIENCE_MS) == p.recv_cq);
	CHECK(next_event(&p, CHECK_PATIENCE_MS) == p.recv_cq);
	CHECK(next_event(&p, 0) == NULL);
	acknowledge(p.recv_cq, 2);
	close_rest(&p);
}

static void
case_full(void)
{
	destroy_when_full(false);
}

static void
case_full_moved(void)
{
	destroy_when_full(true);
}

/* ---- the program has given its channel away */

/* Leaves the channel in a socket that nobody reads, and destroys the CQ. */
static void __attribute__((noreturn)) give_channel_away(int log)
{
	char byte = 0, control[CMSG_SPACE(sizeof(int))] = "";
	struct iovec iov = {&byte, 1};
	struct msghdr msg = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control)};
	struct cmsghdr *head = CMSG_FIRSTHDR(&msg);
	struct pair p;
	int to[2];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	open_pair(&p);
	CHECK_EQ(ibv_req_notify_cq(p.send_cq, 0), 0);
	send_one(&p);
	CHECK_EQ(ibv_destroy_qp(p.client), 0);
	CHECK_EQ(ibv_destroy_qp(p.server), 0);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, to), 0);
	*head = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
	memcpy(CMSG_DATA(head), &p.channel->fd, sizeof(int));
	CHECK_EQ(sendmsg(to[0], &msg, 0), 1);
	close(p.channel->fd);
	CHECK(dup2(log, STDERR_FILENO) == STDERR_FILENO);
	(void)ibv_destroy_cq(p.send_cq); /* waits for ever */
	_exit(1);
}

/* No descriptor of the process leads to the unread event, so a line must say why the call waits. */
__attribute__((unused)) static void
case_given_away(void)
{
	const int log = memfd_create("log", MFD_CLOEXEC);
	const pid_t child = fork();
	char text[4096] = "";

	CHECK(log >= 0 && child >= 0);
	if (child == 0)
		give_channel_away(log);
	for (unsigned int ms = 0; strstr(text, "cannot be removed") == NULL; ms++) {
		CHECK(ms < CHECK_PATIENCE_MS, "%s", text);
		usleep(1000);
		CHECK(pread(log, text, sizeof(text) - 1, 0) >= 0);
	}
	CHECK_EQ(kill(child, SIGKILL), 0);
	CHECK_EQ(waitpid(child, NULL, 0), child);
	close(log);
}

static const struct check_case cases[] = {
	{"events that are not read are lost in the end, and a line says so", case_async_too_many},
	{"an armed CQ sends one event", case_one_event_per_arm},
	{"destroying a CQ drops its unread events, and does not wait for them", case_unread},
	{"unread events of other CQs stay", case_others_stay},
	{"unread events of other CQs stay, however many", case_many_others_stay},
	{"an arming that the adapter sees late gives its event", case_arm_seen_late},
	{"a channel's descriptor may get another number", case_moved},
	{"destroying drops unread events when no file descriptor is free", case_full},
	{"so it does if the channel's descriptor has another number", case_full_moved},
#ifndef __SANITIZE_THREAD__ /* TSan allows no new thread in the child of a process with threads */
	{"a line says that a channel with unread events was given away", case_given_away},
#endif
	{"an async event names its QP", case_async_read},
	{"a hundred unread async events come in their order", case_async_many},
	{"destroying a QP drops only its own unread async events", case_async_unread},
	{"every context gets the event of a port", case_async_of_all},
};

int
main(int argc, char **argv)
{
	if (!softhca_active()) {
		printf("skipped: this machine has an mlx5 device\n");
		return CHECK_SKIP;
	}
	alarm(4 * CHECK_PATIENCE_MS / 1000);
	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
