/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lines on stderr about peers that do not exist: when such a line is written, and that it is
 * written only once. Each case runs in its own process.
 */
#include <arpa/inet.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>

#include "raw_ioctl.h"
#include "softhca_node.h"

#define N(a)       (sizeof(a) / sizeof((a)[0]))
#define NO_PROCESS "no process has"
#define NOT_HERE   "this process does not have. The setting wire is off"
#define NO_ADDRESS "no adapter of this process has"
#define DESTROYED  "which this process has destroyed"
#define NOBODY     0x000041u /* no adapter uses this number, because the first numbers are random */

static bool
is_ethernet(void)
{
	const char *layer = getenv("SOFTHCA_LINK_LAYER");

	return layer == NULL || strcmp(layer, "ethernet") == 0;
}

static bool
wire_is_on(void)
{
	const char *wire = getenv("SOFTHCA_WIRE");

	return wire == NULL || strcmp(wire, "off") != 0;
}

static unsigned int
lines_with(const char *words, const char *text)
{
	unsigned int lines = 0;

	while ((text = strstr(text, words)) != NULL) {
		lines++;
		text++;
	}
	return lines;
}

/*
 * Runs a case in a child, and checks the number of lines about numbers that nobody has, about
 * addresses that no adapter has, and about destroyed peers.
 */
static void
expect_lines(void (*run)(struct node *n), unsigned int numbers, unsigned int addresses,
	unsigned int destroyed)
{
	int err = memfd_create("stderr", 0), status;
	char text[8192] = "";
	pid_t child = fork();

	CHECK(err >= 0 && child >= 0);
	if (child == 0) {
		struct node n;

		CHECK_EQ(dup2(err, STDERR_FILENO), STDERR_FILENO);
		n = node_open(255);
		run(&n);
		_exit(check_failures == 0 ? 0 : 1);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(pread(err, text, sizeof(text) - 1, 0) >= 0);
	CHECK(status == 0, "%s", text);
	CHECK(lines_with(wire_is_on() ? NO_PROCESS : NOT_HERE, text) == numbers, "%s", text);
	CHECK(lines_with(wire_is_on() ? NOT_HERE : NO_PROCESS, text) == 0, "%s", text);
	CHECK(lines_with(NO_ADDRESS, text) == addresses, "%s", text);
	CHECK(lines_with(DESTROYED, text) == destroyed, "%s", text);
	close(err);
}

/* ---- connections */

static void
connect_to(struct node *n, enum kind kind, uint32_t dest)
{
	struct ibv_qp *qp = node_qp(n, kind);

	node_ready(n, qp, kind, dest != 0 ? dest : qp->qp_num, IBV_QPS_RTS);
}

static void
connect_to_itself(struct node *n)
{
	connect_to(n, K_RC, 0);
	connect_to(n, K_UC, 0);
}

static void
connect_to_others(struct node *n)
{
	struct node other = node_open(255);

	connect_to(n, K_RC, node_qp(&other, K_RC)->qp_num);
	connect_to(n, K_UC, node_qp(&other, K_UC)->qp_num);
	connect_to(n, K_XRC_SEND, node_qp(&other, K_XRC_RECV)->qp_num);
	connect_to(n, K_UD, NOBODY); /* a UD QP has no peer, so this logs no line */
}

static void
connect_rc(struct node *n)
{
	connect_to(n, K_RC, NOBODY);
	connect_to(n, K_RC, NOBODY);
	connect_to(n, K_UC, NOBODY);
}

static void
connect_uc(struct node *n)
{
	connect_to(n, K_UC, NOBODY);
}

static void
connect_xrc(struct node *n)
{
	connect_to(n, K_XRC_SEND, NOBODY);
}

/* Returns the number of a queue pair that this process has destroyed. */
static uint32_t
destroyed(struct node *n, enum kind kind)
{
	struct ibv_qp *qp = node_qp(n, kind);
	uint32_t number = qp->qp_num;

	CHECK_EQ(ibv_destroy_qp(qp), 0);
	return number;
}

static void
connect_to_destroyed(struct node *n)
{
	struct node other = node_open(255);

	connect_to(n, K_RC, destroyed(n, K_RC));
	connect_to(n, K_UC, destroyed(&other, K_UC));
}

/* The next number of the same block is free, and was never used. */
static void
connect_to_the_next(struct node *n)
{
	struct ibv_qp *qp = node_qp(n, K_RC);

	node_ready(n, qp, K_RC, (qp->qp_num & ~0xfffu) | ((qp->qp_num + 1) & 0xfff), IBV_QPS_RTS);
}

/* A queue pair of this process has this number, but no port of the process has the address. */
static void
connect_to_address(struct node *n)
{
	struct ibv_qp *qp = node_qp(n, K_RC);
	struct ibv_qp_attr attr = node_attr(n, qp->qp_num);

	node_ready(n, qp, K_RC, qp->qp_num, IBV_QPS_INIT);
	attr.qp_state = IBV_QPS_RTR;
	attr.ah_attr.grh.dgid.raw[15] ^= 0x40;
	attr.ah_attr.dlid ^= 0x40;
	CHECK_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE | qp_need(K_RC, IBV_QPS_RTR)), 0);
}

/* A refused call makes no connection, so it must log no line. */
static void
connect_wrongly(struct node *n)
{
	struct ibv_qp *qp = node_qp(n, K_RC);
	struct ibv_qp_attr attr = node_attr(n, NOBODY);

	attr.qp_state = IBV_QPS_RTR;
	CHECK(ibv_modify_qp(qp, &attr, IBV_QP_STATE | qp_need(K_RC, IBV_QPS_RTR)) != 0);
}

static void
case_connections(void)
{
	expect_lines(connect_to_itself, 0, 0, 0);
	expect_lines(connect_to_others, 0, 0, 0);
	expect_lines(connect_wrongly, 0, 0, 0);
	expect_lines(connect_rc, 1, 0, 0);
	expect_lines(connect_uc, 1, 0, 0);
	expect_lines(connect_xrc, 1, 0, 0);
	expect_lines(connect_to_address, 0, 1, 0);
	expect_lines(connect_to_the_next, 1, 0, 0);
	expect_lines(connect_to_destroyed, 0, 0, 1);
}

/* ---- address handles */

static struct ibv_ah *
handle_for(struct node *n, const char *gid)
{
	struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1, .grh = {.hop_limit = 3}};

	CHECK_EQ(inet_pton(AF_INET6, gid, &attr.grh.dgid), 1);
	return ibv_create_ah(n->pd, &attr);
}

static void
handles_of_own(struct node *n)
{
	for (int i = 0; i < 4; i++) {
		struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1, .grh = {.sgid_index = i}};

		CHECK_EQ(ibv_query_gid(n->ctx, 1, i, &attr.grh.dgid), 0);
		CHECK(ibv_create_ah(n->pd, &attr) != NULL);
	}
}

static void
handles_of_groups(struct node *n)
{
	(void)handle_for(n, "ff12::1234");
	(void)handle_for(n, "::ffff:224.0.0.1");
}

static void
handle_of_link_local(struct node *n)
{
	CHECK(handle_for(n, "fe80::2:c9ff:fe01:203") != NULL);
	CHECK(handle_for(n, "fe80::2:c9ff:fe01:204") != NULL);
}

static void
handle_of_ipv4(struct node *n)
{
	CHECK(handle_for(n, "::ffff:192.0.2.1") == NULL);
	CHECK_EQ(errno, ENETUNREACH);
}

/*
 * Creates an address handle by a raw call to the kernel, because on InfiniBand libmlx5 creates
 * address handles without a call.
 */
static void
make_for_lid(struct node *n, uint16_t lid)
{
	struct raw_ioctl c = raw_start(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
	struct ib_uverbs_create_ah req = {.pd_handle = n->pd->handle,
		.attr = {.port_num = 1, .dlid = lid}};
	struct ib_uverbs_create_ah_resp resp;

	raw_u32(&c, UVERBS_ATTR_WRITE_CMD, IB_USER_VERBS_CMD_CREATE_AH);
	raw_attr(&c, UVERBS_ATTR_CORE_IN, sizeof(req), (uintptr_t)&req);
	raw_out(&c, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
	CHECK_EQ(raw_run(n->ctx->cmd_fd, &c), 0);
}

/* IBTA volume 1: multicast LIDs are 0xc000 and above. */
static void
handles_of_group_lids(struct node *n)
{
	make_for_lid(n, 0xc000);
	make_for_lid(n, 0xfffe);
}

static void
handles_of_lids(struct node *n)
{
	make_for_lid(n, 0xbfff);
	make_for_lid(n, 0xbfff);
}

static void
case_address_handles(void)
{
	if (!is_ethernet()) {
		expect_lines(handles_of_group_lids, 0, 0, 0);
		expect_lines(handles_of_lids, 0, 1, 0);
		return;
	}
	expect_lines(handles_of_own, 0, 0, 0);
	expect_lines(handles_of_groups, 0, 0, 0);
	expect_lines(handle_of_link_local, 0, 1, 0);
	expect_lines(handle_of_ipv4, 0, 1, 0);
}

/* ---- messages */

/* Sends as ibv_ud_pingpong(1) sends to another process whose adapter has the same addresses. */
static void
send_ud(struct node *n, struct node_to *to, uint32_t qpn)
{
	struct ibv_qp *qp = node_qp(n, K_UD);

	node_ready(n, qp, K_UD, 0, IBV_QPS_RTS);
	to->qpn = qpn != 0 ? qpn : qp->qp_num;
	for (int i = 0; i < 3; i++) {
		node_send(n, qp, K_UD, to, false);
		CHECK_EQ(node_wait(n->scq).status, IBV_WC_SUCCESS);
	}
}

static struct node_to
own_address(struct node *n)
{
	struct ibv_qp_attr attr = node_attr(n, 0);
	struct node_to to = {.ah = ibv_create_ah(n->pd, &attr.ah_attr)};

	CHECK(to.ah != NULL);
	return to;
}

static void
send_to_itself(struct node *n)
{
	struct node_to to = own_address(n);

	send_ud(n, &to, 0);
}

static void
send_to_a_group(struct node *n)
{
	struct node_to to = own_address(n);

	send_ud(n, &to, 0xffffff);
}

static void
send_to_nobody(struct node *n)
{
	struct node_to to = own_address(n);

	send_ud(n, &to, NOBODY);
	send_ud(n, &to, NOBODY + 1);
}

static void
send_to_destroyed(struct node *n)
{
	struct node_to to = own_address(n);

	send_ud(n, &to, destroyed(n, K_UD));
	send_ud(n, &to, destroyed(n, K_UD));
}

static void
send_dc(struct node *n)
{
	struct node_to to = own_address(n);
	struct ibv_qp *qp = node_qp(n, K_DCI);

	to.qpn = NOBODY;
	node_ready(n, qp, K_DCI, 0, IBV_QPS_RTS);
	node_send(n, qp, K_DCI, &to, false);
	CHECK_EQ(node_wait(n->scq).status, IBV_WC_RETRY_EXC_ERR);
}

static void
case_messages(void)
{
	expect_lines(send_to_itself, 0, 0, 0);
	expect_lines(send_to_a_group, 0, 0, 0);
	expect_lines(send_to_nobody, 1, 0, 0);
	expect_lines(send_dc, 1, 0, 0);
	expect_lines(send_to_destroyed, 0, 0, 1);
}

/* ---- another process */

static uint32_t others_number;

static void
connect_to_other_process(struct node *n)
{
	connect_to(n, K_RC, others_number);
	connect_to(n, K_UC, others_number);
	connect_to(n, K_XRC_SEND, others_number);
}

static void
send_to_other_process(struct node *n)
{
	struct node_to to = own_address(n);

	send_ud(n, &to, others_number);
}

/*
 * With the setting wire, no line may be logged while another process has the number. A line must be
 * logged after this process was killed.
 */
static void
case_other_process(void)
{
	int from_child[2], status;
	pid_t child;

	CHECK_EQ(pipe(from_child), 0);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		struct node n = node_open(255);
		struct ibv_qp *qp = node_qp(&n, K_UD);

		node_ready(&n, qp, K_UD, 0, IBV_QPS_RTS);
		CHECK_EQ(write(from_child[1], &qp->qp_num, sizeof(qp->qp_num)), sizeof(qp->qp_num));
		pause();
		_exit(1);
	}
	CHECK_EQ(read(from_child[0], &others_number, sizeof(others_number)), sizeof(others_number));
	expect_lines(connect_to_other_process, !wire_is_on(), 0, 0);
	expect_lines(send_to_other_process, !wire_is_on(), 0, 0);
	CHECK_EQ(kill(child, SIGKILL), 0);
	CHECK_EQ(waitpid(child, &status, 0), child);
	expect_lines(connect_to_other_process, 1, 0, 0);
	expect_lines(send_to_other_process, 1, 0, 0);
	close(from_child[0]);
	close(from_child[1]);
}

/*
 * Claims a block of numbers, as a process with the setting wire does. Returns a number of it. The
 * block depends on the pid: when this process closes *fd, a test that runs beside it must not claim
 * the same block at once.
 */
static uint32_t
claim_by_hand(int *fd)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	uint32_t block = (uint32_t)getpid() * 37 % 2048;
	int len;

	*fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	CHECK(*fd >= 0);
	do {
		CHECK(++block < 4095);
		len = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "softhca/qpn/%u",
			block);
		len += (int)offsetof(struct sockaddr_un, sun_path) + 1;
	} while (bind(*fd, (struct sockaddr *)&name, (socklen_t)len) != 0);
	CHECK_EQ(listen(*fd, 1), 0);
	return block << 12;
}

/* The line must depend on the setting wire of this process, not on that of the other process. */
static void
case_other_settings(void)
{
	int fd;

	others_number = claim_by_hand(&fd);
	expect_lines(connect_to_other_process, !wire_is_on(), 0, 0);
	close(fd);
	expect_lines(connect_to_other_process, 1, 0, 0);
}

static const struct check_case cases[] = {
	{"a connection to a queue pair that does not exist, or to a destroyed one, is logged once",
		case_connections},
	{"an address handle that no adapter has is logged once", case_address_handles},
	{"a message for a queue pair that does not exist, or for a destroyed one, is logged once",
		case_messages},
	{"nothing is logged about a queue pair of another process, until it dies",
		case_other_process},
	{"with the setting wire off, a line is logged although another process has the number",
		case_other_settings},
};

int
main(int argc, char **argv)
{
	return check_main(cases, N(cases), argc, argv);
}
