/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands to /dev/infiniband/rdma_cm by write(2), as librdmacm sends them: uapi
 * rdma/rdma_user_cm.h. Events have the numbers of rdma_cma.h, which is not needed.
 */
#ifndef SOFTHCA_CM_CALLS_H
#define SOFTHCA_CM_CALLS_H

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <rdma/rdma_user_cm.h>

#include "check.h"

#define CM_DEVICE "/dev/infiniband/rdma_cm"

enum {
	ADDR_RESOLVED,
	ADDR_ERROR,
	ROUTE_RESOLVED,
	CONNECT_REQUEST = 4,
	CONNECT_RESPONSE,
	CONNECT_ERROR,
	UNREACHABLE,
	REJECTED,
	ESTABLISHED,
	DISCONNECTED,
	TIMEWAIT_EXIT = 15,
	USER = 18
};

/* Sends a command whose struct is `in`. Returns 0 or -errno. */
static inline int
cm_send(int fd, uint32_t cmd, const void *in, size_t in_len, size_t out_len)
{
	struct {
		struct rdma_ucm_cmd_hdr head;
		uint8_t in[512];
	} m = {.head = {.cmd = cmd, .in = (uint16_t)in_len, .out = (uint16_t)out_len}};
	const size_t len = sizeof(m.head) + in_len;
	ssize_t n;

	memcpy(m.in, in, in_len);
	n = write(fd, &m, len);
	if (n < 0)
		return -errno;
	CHECK_EQ(n, (ssize_t)len);
	return 0;
}

#define CM(fd, cmd, in, out_len) cm_send(fd, RDMA_USER_CM_CMD_##cmd, &(in), sizeof(in), out_len)

static inline int
cm_open_file(int flags)
{
	int fd = open(CM_DEVICE, O_RDWR | O_CLOEXEC | flags);

	CHECK(fd >= 0);
	return fd;
}

static inline uint32_t
cm_create(int fd, uint64_t uid, uint16_t ps)
{
	struct rdma_ucm_create_id_resp resp = {.id = UINT32_MAX};
	const struct rdma_ucm_create_id in = {.uid = uid, .response = (uintptr_t)&resp, .ps = ps};

	CHECK_EQ(CM(fd, CREATE_ID, in, sizeof(resp)), 0);
	return resp.id;
}

/* Returns the count of events, or -errno. */
static inline int
cm_destroy(int fd, uint32_t id)
{
	struct rdma_ucm_destroy_id_resp resp = {0};
	const struct rdma_ucm_destroy_id in = {.response = (uintptr_t)&resp, .id = id};
	int err = CM(fd, DESTROY_ID, in, sizeof(resp));

	return err != 0 ? err : (int)resp.events_reported;
}

/* An address from a text, IPv4 or IPv6. NULL: no address. */
static inline struct sockaddr_in6
cm_addr(const char *text, uint16_t port)
{
	struct sockaddr_in6 a = {0};
	struct sockaddr_in ipv4 = {.sin_family = AF_INET, .sin_port = htons(port)};

	if (text == NULL)
		return a;
	if (inet_pton(AF_INET, text, &ipv4.sin_addr) == 1) {
		memcpy(&a, &ipv4, sizeof(ipv4));
		return a;
	}
	a.sin6_family = AF_INET6;
	a.sin6_port = htons(port);
	CHECK_EQ(inet_pton(AF_INET6, text, &a.sin6_addr), 1);
	return a;
}

static inline int
cm_bind(int fd, uint32_t id, const char *text, uint16_t port)
{
	const struct rdma_ucm_bind_ip in = {.addr = cm_addr(text, port), .id = id};

	return CM(fd, BIND_IP, in, 0);
}

static inline int
cm_listen(int fd, uint32_t id, uint32_t backlog)
{
	const struct rdma_ucm_listen in = {.id = id, .backlog = backlog};

	return CM(fd, LISTEN, in, 0);
}

static inline int
cm_resolve(int fd, uint32_t id, const char *src, const char *dst, uint16_t port)
{
	const struct rdma_ucm_resolve_ip in = {.src_addr = cm_addr(src, 0),
		.dst_addr = cm_addr(dst, port),
		.id = id,
		.timeout_ms = 2000};

	return CM(fd, RESOLVE_IP, in, 0);
}

static inline int
cm_route(int fd, uint32_t id)
{
	const struct rdma_ucm_resolve_route in = {.id = id, .timeout_ms = 2000};

	return CM(fd, RESOLVE_ROUTE, in, 0);
}

static inline int
cm_query(int fd, uint32_t id, struct rdma_ucm_query_route_resp *resp)
{
	const struct rdma_ucm_query in = {.response = (uintptr_t)resp, .id = id};

	return CM(fd, QUERY_ROUTE, in, sizeof(*resp));
}

static inline uint16_t
cm_port_of(int fd, uint32_t id)
{
	struct rdma_ucm_query_route_resp resp;

	CHECK_EQ(cm_query(fd, id, &resp), 0);
	return ntohs(resp.src_addr.sin6_port);
}

/* Parameters with some value in each field, and `len` bytes of private data. */
static inline struct rdma_ucm_conn_param
cm_param(uint32_t qpn, uint8_t len)
{
	struct rdma_ucm_conn_param p = {.qp_num = qpn,
		.private_data_len = len,
		.srq = 1,
		.responder_resources = 3,
		.initiator_depth = 5,
		.flow_control = 1,
		.retry_count = 6,
		.rnr_retry_count = 4,
		.valid = 1};

	for (unsigned int i = 0; i < len; i++)
		p.private_data[i] = (uint8_t)(i + 1);
	return p;
}

static inline int
cm_connect(int fd, uint32_t id, struct rdma_ucm_conn_param param)
{
	const struct rdma_ucm_connect in = {.conn_param = param,
		.id = id,
		.ece = {.vendor_id = 0x15b3, .attr_mod = 7}};

	return CM(fd, CONNECT, in, 0);
}

static inline int
cm_accept(int fd, uint32_t id, uint64_t uid, struct rdma_ucm_conn_param param)
{
	const struct rdma_ucm_accept in = {.uid = uid,
		.conn_param = param,
		.id = id,
		.ece = {.vendor_id = 0x15b3, .attr_mod = 9}};

	return CM(fd, ACCEPT, in, 0);
}

/* The asking end is ready: librdmacm sends ACCEPT without parameters. */
static inline int
cm_ready(int fd, uint32_t id)
{
	const struct rdma_ucm_conn_param none = {0};

	return cm_accept(fd, id, 0, none);
}

static inline int
cm_reject(int fd, uint32_t id, uint8_t reason, uint8_t len)
{
	struct rdma_ucm_reject in = {.id = id, .private_data_len = len, .reason = reason};

	memset(in.private_data, 0x5a, len);
	return CM(fd, REJECT, in, 0);
}

static inline int
cm_disconnect(int fd, uint32_t id)
{
	const struct rdma_ucm_disconnect in = {.id = id};

	return CM(fd, DISCONNECT, in, 0);
}

static inline int
cm_attr(int fd, uint32_t id, uint32_t state, struct ib_uverbs_qp_attr *attr)
{
	const struct rdma_ucm_init_qp_attr in = {.response = (uintptr_t)attr,
		.id = id,
		.qp_state = state};

	return CM(fd, INIT_QP_ATTR, in, sizeof(*attr));
}

static inline int
cm_option(int fd, uint32_t id, uint32_t level, uint32_t name, const void *value, uint32_t len)
{
	const struct rdma_ucm_set_option in = {.optval = (uintptr_t)value,
		.id = id,
		.level = level,
		.optname = name,
		.optlen = len};

	return CM(fd, SET_OPTION, in, 0);
}

static inline int
cm_get(int fd, struct rdma_ucm_event_resp *e)
{
	const struct rdma_ucm_get_event in = {.response = (uintptr_t)e};

	return CM(fd, GET_EVENT, in, sizeof(*e));
}

/* True if an event waits in the file. */
static inline bool
cm_is_readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

/* Waits for the next event, which must be of this kind. */
static inline struct rdma_ucm_event_resp
cm_expect(int fd, uint32_t event)
{
	struct rdma_ucm_event_resp e = {0};
	struct pollfd p = {.fd = fd, .events = POLLIN};

	CHECK_EQ(poll(&p, 1, CHECK_PATIENCE_MS), 1, "an event waits");
	CHECK_EQ(cm_get(fd, &e), 0);
	CHECK_EQ(e.event, event, "kind of the event");
	return e;
}

/* Creates a listener on an ephemeral port of the address. Returns the port. */
static inline uint16_t
cm_listen_at(int fd, uint64_t uid, uint16_t ps, const char *text, uint32_t backlog, uint32_t *id)
{
	*id = cm_create(fd, uid, ps);
	CHECK_EQ(cm_bind(fd, *id, text, 0), 0);
	CHECK_EQ(cm_listen(fd, *id, backlog), 0);
	return cm_port_of(fd, *id);
}

/* Creates an id that is ready to connect. */
static inline uint32_t
cm_resolved(int fd, uint64_t uid, uint16_t ps, const char *dst, uint16_t port)
{
	const uint32_t id = cm_create(fd, uid, ps);

	CHECK_EQ(cm_resolve(fd, id, NULL, dst, port), 0);
	CHECK_EQ(cm_expect(fd, ADDR_RESOLVED).id, id);
	CHECK_EQ(cm_route(fd, id), 0);
	CHECK_EQ(cm_expect(fd, ROUTE_RESOLVED).id, id);
	return id;
}

/* Returns the number of entries of a folder, for example of this process's descriptors. */
static inline unsigned int
cm_count_entries(const char *path)
{
	DIR *d = opendir(path);
	unsigned int n = 0;

	CHECK(d != NULL);
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n;
}

#endif
