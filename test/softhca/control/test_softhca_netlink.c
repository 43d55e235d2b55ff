/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RDMA netlink: sockets, answers, errors.
 *
 * Expected values: netlink(7), and the answers of verbs about the same adapter. Types of
 * attributes: uapi rdma/rdma_netlink.h. The attributes that an answer must have: the kernel's
 * drivers/infiniband/core/nldev.c.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <endian.h>
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <infiniband/verbs.h>

#include "softhca_nl.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

#define INDEX RDMA_NLDEV_ATTR_DEV_INDEX
#define PORT  RDMA_NLDEV_ATTR_PORT_INDEX

static struct ibv_device **devices;
static int n_devices;

/* ---- what is answered */

static void
expect_device(const struct nlmsghdr *got, int i)
{
	struct ibv_context *ctx = ibv_open_device(devices[i]);
	struct ibv_device_attr attr;
	struct ibv_port_attr port;

	CHECK(ctx != NULL);
	CHECK_EQ(ibv_query_device(ctx, &attr), 0);
	CHECK_EQ(ibv_query_port(ctx, 1, &port), 0);
	CHECK_EQ(got->nlmsg_type, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET));
	CHECK_EQ(nl_number(nl_attr(got, INDEX), 4), ibv_get_device_index(devices[i]));
	CHECK(strcmp(nl_text(nl_attr(got, RDMA_NLDEV_ATTR_DEV_NAME)),
		      ibv_get_device_name(devices[i])) == 0);
	CHECK_EQ(nl_number(nl_attr(got, PORT), 4), attr.phys_port_cnt);
	CHECK_EQ(nl_number(nl_attr(got, RDMA_NLDEV_ATTR_CAP_FLAGS), 8) & UINT32_MAX,
		attr.device_cap_flags);
	CHECK(strcmp(nl_text(nl_attr(got, RDMA_NLDEV_ATTR_FW_VERSION)), attr.fw_ver) == 0);
	CHECK_EQ(nl_number(nl_attr(got, RDMA_NLDEV_ATTR_NODE_GUID), 8), be64toh(attr.node_guid));
	CHECK_EQ(nl_number(nl_attr(got, RDMA_NLDEV_ATTR_SYS_IMAGE_GUID), 8),
		be64toh(attr.sys_image_guid));
	CHECK_EQ(nl_number(nl_attr(got, RDMA_NLDEV_ATTR_DEV_NODE_TYPE), 1), 1); /* "1: CA" */
	CHECK_EQ(nl_number(nl_attr(got, RDMA_NLDEV_ATTR_DEV_DIM), 1), 0);
	CHECK(strcmp(nl_text(nl_attr(got, RDMA_NLDEV_ATTR_DEV_PROTOCOL)),
		      port.link_layer == IBV_LINK_LAYER_ETHERNET ? "roce" : "ib") == 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

static void
expect_done(const struct nlmsghdr *got, uint32_t seq, int want)
{
	int result;

	CHECK(got != NULL);
	CHECK_EQ(got->nlmsg_type, NLMSG_DONE);
	CHECK_EQ(got->nlmsg_flags & NLM_F_MULTI, NLM_F_MULTI);
	CHECK_EQ(got->nlmsg_seq, seq);
	CHECK_EQ(got->nlmsg_len, NLMSG_HDRLEN + sizeof(result));
	memcpy(&result, (const uint8_t *)got + NLMSG_HDRLEN, sizeof(result));
	CHECK_EQ(result, want);
}

/* Returns the next message of a dump, which may be in the next datagram. */
static const struct nlmsghdr *
next_of_dump(int fd, struct nl_answer *a)
{
	if (a->at == a->len)
		CHECK(nl_recv(fd, a));
	return nl_next(a);
}

static void
case_devices(void)
{
	struct nl_answer a = {.len = 0};
	struct nl_request r;
	int fd = nl_open();

	nl_begin(&r, RDMA_NLDEV_CMD_GET, NLM_F_DUMP, 17);
	nl_send(fd, &r);
	for (int i = 0; i < n_devices; i++) {
		const struct nlmsghdr *got = next_of_dump(fd, &a);

		CHECK_EQ(got->nlmsg_flags, NLM_F_MULTI);
		CHECK_EQ(got->nlmsg_seq, 17);
		expect_device(got, i);
	}
	expect_done(next_of_dump(fd, &a), 17, 0);
	CHECK(!nl_recv(fd, &a));
	for (int i = 0; i < n_devices; i++) {
		const struct nlmsghdr *got;

		nl_begin(&r, RDMA_NLDEV_CMD_GET, 0, 100 + i);
		nl_add_u32(&r, INDEX, i);
		got = nl_ask(fd, &r, &a);
		CHECK_EQ(got->nlmsg_flags, 0);
		expect_device(got, i);
	}
	close(fd);
}

static void
expect_port(const struct nlmsghdr *got, struct ibv_context *ctx, int i, uint32_t port)
{
	struct ibv_port_attr attr;
	union ibv_gid gid;

	CHECK_EQ(ibv_query_port(ctx, port, &attr), 0);
	CHECK_EQ(ibv_query_gid(ctx, port, 0, &gid), 0);
	CHECK_EQ(nl_number(nl_attr(got, INDEX), 4), i);
	CHECK(strcmp(nl_text(nl_attr(got, RDMA_NLDEV_ATTR_DEV_NAME)),
		      ibv_get_device_name(devices[i])) == 0);
	CHECK_EQ(nl_number(nl_attr(got, PORT), 4), port);
	CHECK_EQ(nl_number(nl_attr(got, RDMA_NLDEV_ATTR_PORT_STATE), 1), attr.state);
	CHECK_EQ(nl_number(nl_attr(got, RDMA_NLDEV_ATTR_PORT_PHYS_STATE), 1), attr.phys_state);
	/* The kernel reports attributes of the subnet only on InfiniBand. */
	if (attr.link_layer == IBV_LINK_LAYER_ETHERNET) {
		CHECK(nl_attr(got, RDMA_NLDEV_ATTR_LID) == NULL);
		CHECK(nl_attr(got, RDMA_NLDEV_ATTR_CAP_FLAGS) == NULL);
		return;
	}
	CHECK_EQ(nl_number(nl_attr(got, RDMA_NLDEV_ATTR_CAP_FLAGS), 8),
		attr.port_cap_flags | (uint64_t)attr.port_cap_flags2 << 32);
	CHECK_EQ(nl_number(nl_attr(got, RDMA_NLDEV_ATTR_SUBNET_PREFIX), 8),
		be64toh(gid.global.subnet_prefix));
	CHECK_EQ(nl_number(nl_attr(got, RDMA_NLDEV_ATTR_LID), 4), attr.lid);
	CHECK_EQ(nl_number(nl_attr(got, RDMA_NLDEV_ATTR_SM_LID), 4), attr.sm_lid);
	CHECK_EQ(nl_number(nl_attr(got, RDMA_NLDEV_ATTR_LMC), 1), attr.lmc);
}

static void
expect_ports(int fd, int i)
{
	struct ibv_context *ctx = ibv_open_device(devices[i]);
	struct ibv_device_attr attr;
	struct nl_answer a = {.len = 0};
	struct nl_request r;

	CHECK(ctx != NULL);
	CHECK_EQ(ibv_query_device(ctx, &attr), 0);
	nl_begin(&r, RDMA_NLDEV_CMD_PORT_GET, NLM_F_DUMP, 5);
	nl_add_u32(&r, INDEX, i);
	nl_send(fd, &r);
	for (uint32_t port = 1; port <= attr.phys_port_cnt; port++)
		expect_port(next_of_dump(fd, &a), ctx, i, port);
	expect_done(next_of_dump(fd, &a), 5, 0);
	for (uint32_t port = 1; port <= attr.phys_port_cnt; port++) {
		nl_begin(&r, RDMA_NLDEV_CMD_PORT_GET, 0, 6);
		nl_add_u32(&r, INDEX, i);
		nl_add_u32(&r, PORT, port);
		expect_port(nl_ask(fd, &r, &a), ctx, i, port);
	}
	nl_begin(&r, RDMA_NLDEV_CMD_PORT_GET, 0, 7);
	nl_add_u32(&r, INDEX, i);
	nl_add_u32(&r, PORT, attr.phys_port_cnt + 1);
	CHECK_EQ(nl_error(fd, &r), EINVAL);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

static void
case_ports(void)
{
	int fd = nl_open();

	for (int i = 0; i < n_devices; i++)
		expect_ports(fd, i);
	close(fd);
}

/*
 * The answer must have the number of the character device. libibverbs splits this number as
 * huge_encode_dev() of the kernel composes it.
 */
static void
case_chardevs(void)
{
	int fd = nl_open();

	for (int i = 0; i < n_devices; i++) {
		const struct nlmsghdr *got;
		struct nl_answer a;
		struct nl_request r;
		char path[96];
		struct stat st;
		uint64_t dev;

		nl_begin(&r, RDMA_NLDEV_CMD_GET_CHARDEV, 0, 9);
		nl_add_u32(&r, INDEX, i);
		nl_add(&r, RDMA_NLDEV_ATTR_CHARDEV_TYPE, "uverbs", 7);
		got = nl_ask(fd, &r, &a);
		CHECK(strcmp(nl_text(nl_attr(got, RDMA_NLDEV_ATTR_CHARDEV_NAME)),
			      devices[i]->dev_name) == 0);
		snprintf(path, sizeof(path), "/dev/infiniband/%s", devices[i]->dev_name);
		CHECK_EQ(stat(path, &st), 0);
		dev = nl_number(nl_attr(got, RDMA_NLDEV_ATTR_CHARDEV), 8);
		CHECK_EQ((dev & 0xfff00) >> 8, major(st.st_rdev));
		CHECK_EQ((dev & 0xff) | (dev >> 12 & 0xfff00), minor(st.st_rdev));
		CHECK_EQ(nl_number(nl_attr(got, RDMA_NLDEV_ATTR_CHARDEV_ABI), 8), 1);
		CHECK_EQ(nl_number(nl_attr(got, RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID), 4),
			RDMA_DRIVER_MLX5);
		nl_begin(&r, RDMA_NLDEV_CMD_GET_CHARDEV, 0, 9);
		nl_add_u32(&r, INDEX, i);
		nl_add(&r, RDMA_NLDEV_ATTR_CHARDEV_TYPE, "umad", 5);
		CHECK_EQ(nl_error(fd, &r), EOPNOTSUPP);
	}
	close(fd);
}

static void
case_system(void)
{
	const struct nlmsghdr *got;
	struct nl_answer a;
	struct nl_request r;
	int fd = nl_open();

	nl_begin(&r, RDMA_NLDEV_CMD_SYS_GET, 0, 3);
	got = nl_ask(fd, &r, &a);
	CHECK_EQ(nl_number(nl_attr(got, RDMA_NLDEV_SYS_ATTR_NETNS_MODE), 1), 1);
	CHECK_EQ(nl_number(nl_attr(got, RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK), 1), 1);
	close(fd);
}

/*
 * libibverbs must find the adapters by netlink. A device that it found in sysfs would have no
 * index.
 */
static void
case_libibverbs(void)
{
	for (int i = 0; i < n_devices; i++)
		CHECK_EQ(ibv_get_device_index(devices[i]), i);
	CHECK_EQ(ibv_fork_init(), 0);
	CHECK_EQ(ibv_is_fork_initialized(), IBV_FORK_UNNEEDED);
}

/* ---- what is refused */

static void
case_commands(void)
{
	/* Commands that the kernel has and the adapter does not have: EOPNOTSUPP. */
	static const uint16_t missing[] = {RDMA_NLDEV_CMD_SET, RDMA_NLDEV_CMD_NEWLINK,
		RDMA_NLDEV_CMD_DELLINK, RDMA_NLDEV_CMD_SYS_SET, RDMA_NLDEV_CMD_STAT_SET,
		RDMA_NLDEV_CMD_STAT_DEL, RDMA_NLDEV_CMD_RES_QP_GET_RAW};
	struct nlmsghdr *header;
	struct nl_answer a;
	struct nl_request r;
	int fd = nl_open();

	for (size_t i = 0; i < N(missing); i++) {
		nl_begin(&r, missing[i], 0, i);
		nl_add_u32(&r, INDEX, 0);
		CHECK_EQ(nl_error(fd, &r), EOPNOTSUPP);
	}
	nl_begin(&r, RDMA_NLDEV_NUM_OPS, 0, 1);
	CHECK_EQ(nl_error(fd, &r), EINVAL);
	nl_begin(&r, 1023, NLM_F_DUMP, 1);
	CHECK_EQ(nl_error(fd, &r), EINVAL);
	nl_begin(&r, RDMA_NLDEV_CMD_UNSPEC, 0, 1);
	CHECK_EQ(nl_error(fd, &r), EINVAL);
	header = (struct nlmsghdr *)r.bytes;
	header->nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_LS, 0);
	CHECK_EQ(nl_error(fd, &r), EOPNOTSUPP);
	header->nlmsg_type = RDMA_NL_GET_TYPE(63, 1);
	CHECK_EQ(nl_error(fd, &r), EINVAL);
	header->nlmsg_type = RDMA_NL_GET_TYPE(1, 1);
	CHECK_EQ(nl_error(fd, &r), EINVAL);
	/* SYS_GET allows no dump. A dump of PORT_GET needs the index of an adapter. */
	nl_begin(&r, RDMA_NLDEV_CMD_SYS_GET, NLM_F_DUMP, 1);
	CHECK_EQ(nl_error(fd, &r), EINVAL);
	nl_begin(&r, RDMA_NLDEV_CMD_PORT_GET, NLM_F_DUMP, 4);
	expect_done(nl_ask(fd, &r, &a), 4, -EINVAL);
	/*
	 * Messages that are no request and control messages of netlink get no answer; with
	 * NLM_F_ACK they are acknowledged.
	 */
	nl_begin(&r, RDMA_NLDEV_CMD_GET, 0, 1);
	header->nlmsg_flags = 0;
	nl_send(fd, &r);
	CHECK(!nl_recv(fd, &a));
	header->nlmsg_flags = NLM_F_ACK;
	CHECK_EQ(nl_error(fd, &r), 0);
	header->nlmsg_flags = NLM_F_REQUEST;
	header->nlmsg_type = NLMSG_NOOP;
	nl_send(fd, &r);
	CHECK(!nl_recv(fd, &a));
	close(fd);
}

static void
case_malformed(void)
{
	static const struct {
		uint16_t len, type;
		uint32_t more; /* number of bytes after the attribute's header */
		bool good;
	} attrs[] = {
		{8, INDEX, 4, true},
		{3, INDEX, 4, false}, /* the attribute's length is shorter than its header */
		{0, INDEX, 4, false},
		{7, INDEX, 4, false}, /* the attribute is too short for its type */
		{9, INDEX, 4, false}, /* the attribute ends beyond the message */
		/* the attribute is longer than its type: only the first bytes are used */
		{12, INDEX, 8, true},
		{8, INDEX, 5, false}, /* one byte follows the last attribute */
		{65535, 0, 4, false},
		{8, INDEX | NLA_F_NESTED, 4, true},
	};
	struct nlmsghdr *header;
	struct nl_answer a;
	struct nl_request r;
	int fd = nl_open();

	header = (struct nlmsghdr *)r.bytes;
	for (size_t i = 0; i < N(attrs); i++) {
		const struct nlattr attr = {.nla_len = attrs[i].len, .nla_type = attrs[i].type};

		nl_begin(&r, RDMA_NLDEV_CMD_GET, 0, i);
		memcpy(r.bytes + r.len, &attr, sizeof(attr));
		r.len += sizeof(attr) + attrs[i].more;
		header->nlmsg_len = r.len;
		if (attrs[i].good)
			CHECK_EQ(nl_ask(fd, &r, &a)->nlmsg_type,
				RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET));
		else
			CHECK_EQ(nl_error(fd, &r), EINVAL);
	}
	/*
	 * Refused: a request that names no adapter, a request that names an adapter that does not
	 * exist, a request without the needed text, and text without a terminating zero.
	 */
	nl_begin(&r, RDMA_NLDEV_CMD_GET, 0, 1);
	CHECK_EQ(nl_error(fd, &r), EINVAL);
	nl_add_u32(&r, INDEX, n_devices);
	CHECK_EQ(nl_error(fd, &r), EINVAL);
	nl_begin(&r, RDMA_NLDEV_CMD_GET_CHARDEV, 0, 1);
	nl_add_u32(&r, INDEX, 0);
	CHECK_EQ(nl_error(fd, &r), EINVAL);
	nl_add(&r, RDMA_NLDEV_ATTR_CHARDEV_TYPE, "uverbs", 6);
	CHECK_EQ(nl_error(fd, &r), EINVAL);
	/* Unknown attributes are ignored. */
	nl_begin(&r, RDMA_NLDEV_CMD_GET, 0, 1);
	nl_add_u32(&r, 0x3fff, 1);
	nl_add_u32(&r, INDEX, 0);
	nl_add_u32(&r, RDMA_NLDEV_ATTR_MAX, 1);
	expect_device(nl_ask(fd, &r, &a), 0);
	/* A message of a wrong length ends the datagram: messages after it are ignored. */
	header->nlmsg_len = r.len + 1;
	nl_send(fd, &r);
	header->nlmsg_len = NLMSG_HDRLEN - 1;
	nl_send(fd, &r);
	r.len = NLMSG_HDRLEN - 1;
	nl_send(fd, &r);
	CHECK(!nl_recv(fd, &a));
	close(fd);
}

/*
 * Several requests in one datagram, acknowledgements, and the bytes of the request that an error
 * contains: all must have netlink's form.
 */
static void
case_acknowledgements(void)
{
	const int on = 1;
	struct nl_request r, two;
	const struct nlmsghdr *got;
	struct nl_answer a;
	int fd = nl_open(), error;

	nl_begin(&r, RDMA_NLDEV_CMD_SYS_GET, NLM_F_ACK, 7);
	two = r;
	memcpy(two.bytes + two.len, r.bytes, r.len);
	two.len += r.len;
	nl_send(fd, &two);
	for (int i = 0; i < 2; i++) {
		CHECK(nl_recv(fd, &a));
		CHECK_EQ(nl_next(&a)->nlmsg_type,
			RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_SYS_GET));
		CHECK(nl_recv(fd, &a));
		got = nl_next(&a);
		CHECK_EQ(got->nlmsg_type, NLMSG_ERROR);
		CHECK_EQ(got->nlmsg_len, NLMSG_HDRLEN + sizeof(struct nlmsgerr));
		CHECK_EQ(*(const int *)((const uint8_t *)got + NLMSG_HDRLEN), 0);
	}
	CHECK(!nl_recv(fd, &a));
	/* A request after a refused one is answered, too. */
	nl_begin(&two, RDMA_NLDEV_CMD_SET, 0, 6);
	memcpy(two.bytes + two.len, r.bytes, r.len);
	two.len += r.len;
	nl_send(fd, &two);
	CHECK(nl_recv(fd, &a));
	got = nl_next(&a);
	CHECK_EQ(got->nlmsg_type, NLMSG_ERROR);
	CHECK_EQ(got->nlmsg_seq, 6);
	CHECK(nl_recv(fd, &a));
	CHECK_EQ(nl_next(&a)->nlmsg_seq, 7);
	CHECK(nl_recv(fd, &a));
	CHECK_EQ(nl_next(&a)->nlmsg_type, NLMSG_ERROR);
	CHECK(!nl_recv(fd, &a));
	/* The end of a dump is at the same time its acknowledgement. */
	nl_begin(&r, RDMA_NLDEV_CMD_PORT_GET, NLM_F_ACK | NLM_F_DUMP, 8);
	expect_done(nl_ask(fd, &r, &a), 8, -EINVAL);
	CHECK(!nl_recv(fd, &a));
	/* An error contains the whole request, unless NETLINK_CAP_ACK is on. */
	nl_begin(&r, RDMA_NLDEV_CMD_SET, NLM_F_ACK, 9);
	nl_add_u32(&r, INDEX, 0);
	nl_add(&r, RDMA_NLDEV_ATTR_DEV_NAME, "other", 6);
	got = nl_ask(fd, &r, &a);
	CHECK_EQ(got->nlmsg_len, NLMSG_HDRLEN + sizeof(error) + r.len);
	CHECK(memcmp((const uint8_t *)got + NLMSG_HDRLEN + sizeof(error), r.bytes, r.len) == 0);
	CHECK_EQ(setsockopt(fd, 270 /* SOL_NETLINK */, NETLINK_CAP_ACK, &on, sizeof(on)), 0);
	got = nl_ask(fd, &r, &a);
	CHECK_EQ(got->nlmsg_len, NLMSG_HDRLEN + sizeof(struct nlmsgerr));
	CHECK_EQ(got->nlmsg_flags, NLM_F_CAPPED);
	CHECK(!nl_recv(fd, &a));
	close(fd);
}

/* ---- sockets */

static uint32_t
port_of(int fd)
{
	union {
		struct sockaddr_nl nl;
		struct sockaddr_storage any; /* longer than a netlink address */
	} addr = {.nl = {.nl_groups = 5}};
	socklen_t len = sizeof(addr);

	CHECK_EQ(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
	CHECK_EQ(len, sizeof(addr.nl));
	CHECK_EQ(addr.nl.nl_family, AF_NETLINK);
	CHECK_EQ(addr.nl.nl_groups, 0);
	return addr.nl.nl_pid;
}

static void
case_addresses(void)
{
	struct sockaddr_nl nl = {.nl_family = AF_NETLINK, .nl_pid = 4000000000u};
	const struct sockaddr_un other = {.sun_family = AF_UNIX};
	int one = nl_open(), two = nl_open(), own;
	struct nl_answer a;
	struct nl_request r;

	CHECK_EQ(port_of(one), getpid());
	CHECK(port_of(two) != port_of(one) && port_of(two) > INT32_MAX);
	own = socket(AF_NETLINK, SOCK_DGRAM, NETLINK_RDMA);
	CHECK(own >= 0);
	CHECK_EQ(port_of(own), 0);
	nl.nl_pid = port_of(two);
	CHECK_EQ(bind(own, (struct sockaddr *)&nl, sizeof(nl)), -1);
	CHECK_EQ(errno, EADDRINUSE);
	nl.nl_pid = 4000000000u;
	CHECK_EQ(bind(own, (struct sockaddr *)&nl, sizeof(nl)), 0);
	CHECK_EQ(port_of(own), 4000000000u);
	CHECK_EQ(bind(own, (struct sockaddr *)&nl, sizeof(nl)), 0);
	nl.nl_pid = 1;
	CHECK_EQ(bind(own, (struct sockaddr *)&nl, sizeof(nl)), -1);
	CHECK_EQ(errno, EINVAL);
	CHECK_EQ(bind(one, (const struct sockaddr *)&other, sizeof(other)), -1);
	CHECK_EQ(errno, EINVAL);
	CHECK_EQ(bind(one, (struct sockaddr *)&nl, sizeof(nl) - 1), -1);
	CHECK_EQ(errno, EINVAL);
	nl_begin(&r, RDMA_NLDEV_CMD_SYS_GET, 0, 1);
	CHECK_EQ(nl_ask(own, &r, &a)->nlmsg_pid, 4000000000u);
	close(own);
	/* A message can be sent only to the kernel. A send without bind() assigns a port number. */
	own = socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA);
	CHECK_EQ(sendto(own, r.bytes, r.len, 0, (struct sockaddr *)&nl, sizeof(nl)), -1);
	CHECK_EQ(errno, ECONNREFUSED);
	CHECK_EQ(connect(own, (struct sockaddr *)&nl, sizeof(nl)), -1);
	CHECK_EQ(errno, ECONNREFUSED);
	nl.nl_pid = 0;
	CHECK_EQ(connect(own, (struct sockaddr *)&nl, sizeof(nl)), 0);
	CHECK_EQ(sendto(own, r.bytes, r.len, 0, (struct sockaddr *)&nl, sizeof(nl)), r.len);
	CHECK(port_of(own) != 0);
	close(own);
	close(one);
	close(two);
	CHECK_EQ(socket(AF_NETLINK, SOCK_STREAM, NETLINK_RDMA), -1);
	CHECK_EQ(errno, ESOCKTNOSUPPORT);
}

/*
 * Reads as libnl and libmnl do: with the sender's address, and after asking for the length of the
 * message.
 */
static void
case_receiving(void)
{
	struct sockaddr_nl from = {.nl_pid = 9};
	socklen_t from_len = sizeof(from);
	struct nl_answer a;
	struct iovec iov = {.iov_base = a.bytes, .iov_len = sizeof(a.bytes)};
	struct msghdr msg = {.msg_name = &from,
		.msg_namelen = sizeof(from),
		.msg_iov = &iov,
		.msg_iovlen = 1};
	int fd = nl_open();
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	struct nl_request r;
	ssize_t n;

	CHECK_EQ(poll(&ready, 1, 0), 0);
	nl_begin(&r, RDMA_NLDEV_CMD_SYS_GET, 0, 1);
	iov.iov_base = r.bytes;
	iov.iov_len = r.len;
	msg.msg_namelen = 0;
	CHECK_EQ(sendmsg(fd, &msg, 0), r.len);
	CHECK_EQ(poll(&ready, 1, 0), 1);
	n = recv(fd, NULL, 0, MSG_PEEK | MSG_TRUNC);
	CHECK(n >= NLMSG_HDRLEN);
	iov.iov_base = a.bytes;
	iov.iov_len = sizeof(a.bytes);
	msg.msg_namelen = sizeof(from);
	CHECK_EQ(recvmsg(fd, &msg, MSG_PEEK), n);
	CHECK_EQ(msg.msg_namelen, sizeof(from));
	CHECK_EQ(from.nl_family, AF_NETLINK);
	CHECK_EQ(from.nl_pid, 0);
	CHECK_EQ(((struct nlmsghdr *)a.bytes)->nlmsg_len, n);
	iov.iov_len = 4;
	CHECK_EQ(recvmsg(fd, &msg, MSG_PEEK), 4);
	CHECK_EQ(msg.msg_flags & MSG_TRUNC, MSG_TRUNC);
	from.nl_family = 0;
	CHECK_EQ(recvfrom(fd, a.bytes, sizeof(a.bytes), 0, (struct sockaddr *)&from, &from_len), n);
	CHECK_EQ(from_len, sizeof(from));
	CHECK_EQ(from.nl_family, AF_NETLINK);
	CHECK_EQ(recv(fd, a.bytes, sizeof(a.bytes), MSG_DONTWAIT), -1);
	CHECK_EQ(errno, EAGAIN);
	close(fd);
}

static void
case_options(void)
{
	const struct {
		int option, value, error;
	} options[] = {
		{NETLINK_EXT_ACK, 1, 0},
		{NETLINK_GET_STRICT_CHK, 1, 0},
		{NETLINK_ADD_MEMBERSHIP, 4, 0},
		{NETLINK_DROP_MEMBERSHIP, 4, 0},
		{NETLINK_ADD_MEMBERSHIP, 0, EINVAL},
		{NETLINK_ADD_MEMBERSHIP, 33, EINVAL},
		{99, 1, ENOPROTOOPT},
	};
	int fd = nl_open(), len = 65536;

	for (size_t i = 0; i < N(options); i++) {
		int rc = setsockopt(fd, 270, options[i].option, &options[i].value, sizeof(int));

		CHECK_EQ(rc == 0 ? 0 : errno, options[i].error);
	}
	CHECK_EQ(setsockopt(fd, 270, NETLINK_EXT_ACK, &len, 2), -1);
	CHECK_EQ(errno, EINVAL);
	CHECK_EQ(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &len, sizeof(len)), 0);
	close(fd);
}

/*
 * A socket must work as long as one file descriptor of it is open: in a duplicate, and in a child.
 * Many sockets are opened and closed one after the other, and must leave nothing behind.
 */
static void
case_lifetime(void)
{
	unsigned int fds = check_count_fds();
	struct nl_answer a;
	struct nl_request r;
	int fd = nl_open(), copy = dup(fd), status;
	uint32_t port = port_of(fd);
	pid_t child;

	close(fd);
	CHECK_EQ(port_of(copy), port);
	nl_begin(&r, RDMA_NLDEV_CMD_SYS_GET, 0, 1);
	CHECK_EQ(nl_ask(copy, &r, &a)->nlmsg_pid, port);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		CHECK_EQ(nl_ask(copy, &r, &a)->nlmsg_pid, port);
		CHECK_EQ(nl_ask(nl_open(), &r, &a)->nlmsg_seq, 1);
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	for (int i = 0; i < 300; i++)
		close(nl_open());
	CHECK_EQ(nl_ask(copy, &r, &a)->nlmsg_pid, port);
	close(copy);
	CHECK_EQ(check_count_fds(), fds);
	fd = nl_open();
	CHECK_EQ(port_of(fd), getpid());
	close(fd);
}

/* ---- other sockets */

static void *
wait_for_data(void *arg)
{
	char byte;

	(void)recv(*(int *)arg, &byte, 1, 0);
	return NULL;
}

/*
 * Calls on other sockets behave as those of libc; a thread that waits in such a call can be
 * cancelled.
 */
static void
case_other_sockets(void)
{
	struct sockaddr_in here = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)},
			   from = {0};
	socklen_t len = sizeof(here), from_len = sizeof(from);
	int one = 1, netlink = nl_open(), pair[2];
	int a = socket(AF_INET, SOCK_DGRAM, 0), b = socket(AF_INET, SOCK_DGRAM, 0);
	char text[8] = "";
	struct iovec iov = {.iov_base = text, .iov_len = sizeof(text)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	pthread_t thread;
	void *result;

	CHECK(a >= 0 && b >= 0);
	CHECK_EQ(bind(a, (struct sockaddr *)&here, sizeof(here)), 0);
	CHECK_EQ(getsockname(a, (struct sockaddr *)&here, &len), 0);
	CHECK_EQ(len, sizeof(here));
	CHECK(here.sin_port != 0);
	CHECK_EQ(setsockopt(b, SOL_SOCKET, SO_BROADCAST, &one, sizeof(one)), 0);
	CHECK_EQ(sendto(b, "abc", 4, 0, (struct sockaddr *)&here, sizeof(here)), 4);
	CHECK_EQ(recvfrom(a, text, sizeof(text), 0, (struct sockaddr *)&from, &from_len), 4);
	CHECK_EQ(from.sin_family, AF_INET);
	CHECK_EQ(from_len, sizeof(from));
	CHECK(strcmp(text, "abc") == 0);
	CHECK_EQ(connect(b, (struct sockaddr *)&here, sizeof(here)), 0);
	CHECK_EQ(send(b, "defg", 5, 0), 5);
	CHECK_EQ(recvmsg(a, &msg, 0), 5);
	CHECK(strcmp(text, "defg") == 0);
	iov.iov_len = 2;
	CHECK_EQ(sendmsg(b, &msg, 0), 2);
	CHECK_EQ(recv(a, text, sizeof(text), 0), 2);
	CHECK_EQ(send(-1, text, 1, 0), -1);
	CHECK_EQ(errno, EBADF);
	CHECK_EQ(send(STDIN_FILENO, text, 1, MSG_DONTWAIT), -1);
	close(netlink);
	/*
	 * The calls also behave so after the last netlink socket was closed, and with a new netlink
	 * socket.
	 */
	CHECK_EQ(send(b, "hi", 3, 0), 3);
	CHECK_EQ(recv(a, text, sizeof(text), 0), 3);
	netlink = nl_open();
	CHECK_EQ(port_of(netlink), getpid());
	close(netlink);
	close(a);
	close(b);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), 0);
	CHECK_EQ(pthread_create(&thread, NULL, wait_for_data, &pair[0]), 0);
	CHECK_EQ(pthread_cancel(thread), 0);
	CHECK_EQ(pthread_join(thread, &result), 0);
	CHECK(result == PTHREAD_CANCELED);
	close(pair[0]);
	close(pair[1]);
}

static const struct check_case cases[] = {
	{"libibverbs finds the adapters by netlink", case_libibverbs},
	{"adapters are shown as verbs show them", case_devices},
	{"ports are shown as verbs show them", case_ports},
	{"the character device has its number", case_chardevs},
	{"rdma system is answered", case_system},
	{"what is not emulated is refused", case_commands},
	{"malformed requests are refused", case_malformed},
	{"acknowledgements and errors have netlink's form", case_acknowledgements},
	{"a socket has netlink's addresses", case_addresses},
	{"answers are read as libraries read them", case_receiving},
	{"a socket has netlink's options", case_options},
	{"a socket lives as long as a descriptor of it", case_lifetime},
	{"other sockets go to the kernel", case_other_sockets},
};

int
main(int argc, char **argv)
{
	devices = ibv_get_device_list(&n_devices);
	CHECK(devices != NULL && n_devices > 0);
	return check_main(cases, N(cases), argc, argv);
}
