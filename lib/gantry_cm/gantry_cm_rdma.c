/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls librdmacm, and converts its errors. */
#include "gantry_cm_rdma.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "gantry_cm_log.h"
#include "gantry_queues.h"

#define THIS_MACHINE "127.0.0.1"

uint64_t
gantry_cm_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int
gantry_cm_check_process(int creator)
{
	if (creator == getpid())
		return 0;
	LOG(ERR,
		"this process is a child of process %d, which has created the connection: connect "
		"after fork(2)",
		creator);
	return -ECHILD;
}

int
gantry_cm_failed(const char *call)
{
	const int error = errno != 0 ? errno : EIO;

	LOG(ERR, "%s failed: %s", call, strerror(error));
	return -error;
}

/* As gantry_cm_failed(), for calls that are the first to need rdma_cm. */
static int
first_failed(const char *call)
{
	if (errno != ENODEV && errno != ENOENT)
		return gantry_cm_failed(call);
	LOG(ERR,
		"%s failed: %s: this machine has no rdma_cm, or no RDMA device: load the kernel "
		"module rdma_ucm",
		call, strerror(errno));
	return -ENODEV;
}

/* ------------------------------------------------------------------ events */

int
gantry_cm_channel_create(struct rdma_event_channel **channel)
{
	struct rdma_event_channel *c;
	int flags;

	errno = 0;
	c = rdma_create_event_channel();
	if (c == NULL)
		return first_failed("rdma_create_event_channel(3)");
	flags = fcntl(c->fd, F_GETFL);
	if (flags < 0 || fcntl(c->fd, F_SETFL, flags | O_NONBLOCK) < 0) {
		flags = gantry_cm_failed("fcntl(2) of an event channel");
		rdma_destroy_event_channel(c);
		return flags;
	}
	*channel = c;
	return 0;
}

int
gantry_cm_event_take(struct rdma_event_channel *channel, struct gantry_cm_event *e)
{
	struct rdma_cm_event *event;
	const void *data;

	errno = 0;
	if (rdma_get_cm_event(channel, &event) != 0)
		return errno == EAGAIN || errno == EINTR ? 0
							 : gantry_cm_failed("rdma_get_cm_event(3)");
	*e = (struct gantry_cm_event){.type = event->event,
		.status = event->status,
		.id = event->id};
	data = event->param.conn.private_data;
	if (data != NULL)
		e->len = event->param.conn.private_data_len;
	memcpy(e->data, data != NULL ? data : "", e->len);
	rdma_ack_cm_event(event);
	return 1;
}

bool
gantry_cm_event_wait(const struct rdma_event_channel *channel, int timeout_ms)
{
	struct pollfd in = {.fd = channel->fd, .events = POLLIN};

	return poll(&in, 1, timeout_ms) >= 0 || errno != EINTR;
}

/* ------------------------------------------------------------------ addresses and paths */

/* Returns true if the port is a number above 65535, of which getaddrinfo(3) takes the low bits. */
static bool
is_too_large(const char *port)
{
	char *end;
	const unsigned long number = strtoul(port, &end, 10);

	return isdigit(port[0]) && *end == '\0' && number > UINT16_MAX;
}

int
gantry_cm_address_find(const char *host, const char *port, bool passive, struct sockaddr_storage *a)
{
	const struct rdma_addrinfo hints = {
		.ai_flags = RAI_NOROUTE | (passive ? RAI_PASSIVE : 0),
		.ai_port_space = RDMA_PS_TCP,
		.ai_qp_type = IBV_QPT_RC,
	};
	struct rdma_addrinfo *found;
	int rc;

	if (is_too_large(port)) {
		LOG(ERR, "there is no port %s: give one of at most %u", port, UINT16_MAX);
		return -EADDRNOTAVAIL;
	}
	if (!passive && host == NULL)
		host = THIS_MACHINE;
	errno = 0;
	rc = rdma_getaddrinfo(host, port, &hints, &found);
	if (rc == -1 && errno != 0)
		return first_failed("rdma_getaddrinfo(3)");
	if (rc != 0) {
		LOG(ERR, "there is no address %s, port %s: %s",
			host != NULL ? host : "of this machine", port, gai_strerror(rc));
		return -EADDRNOTAVAIL;
	}
	*a = (struct sockaddr_storage){0};
	if (passive)
		memcpy(a, found->ai_src_addr, found->ai_src_len);
	else
		memcpy(a, found->ai_dst_addr, found->ai_dst_len);
	rdma_freeaddrinfo(found);
	return 0;
}

const char *
gantry_cm_device_of(const struct rdma_cm_id *id)
{
	return ibv_get_device_name(id->verbs->device);
}

int
gantry_cm_device_check(const struct rdma_cm_id *id, const struct gantry_queue *q)
{
	struct gantry_queue_info info;

	gantry_queue_info_get(q, &info);
	if (strcmp(gantry_cm_device_of(id), info.device) == 0)
		return 0;
	LOG(ERR,
		"the address belongs to the device %s, and the queue's engine has %s: name %s in "
		"gantry_conf::device, or use an address of %s",
		gantry_cm_device_of(id), info.device, gantry_cm_device_of(id), info.device);
	return -EXDEV;
}

/* Returns the index of the identifier's own GID as RoCE v2, or -1. */
static int
find_gid(const struct rdma_cm_id *id, size_t gid_tbl_len)
{
	const union ibv_gid *own = &id->route.addr.addr.ibaddr.sgid;
	struct ibv_gid_entry *entries;
	struct ibv_device_attr device;
	int index = -1;
	ssize_t n;

	/* The call fails if there is no room for the tables of all ports. */
	if (ibv_query_device(id->verbs, &device) != 0)
		return -1;
	gid_tbl_len *= device.phys_port_cnt;
	entries = calloc(gid_tbl_len, sizeof(*entries));
	if (entries == NULL)
		return -1;
	n = ibv_query_gid_table(id->verbs, entries, gid_tbl_len, 0);
	for (ssize_t i = 0; index < 0 && i < n; i++)
		if (entries[i].port_num == id->port_num &&
			entries[i].gid_type == IBV_GID_TYPE_ROCE_V2 &&
			memcmp(&entries[i].gid, own, sizeof(*own)) == 0)
			index = entries[i].gid_index;
	free(entries);
	return index;
}

void
gantry_cm_path_fill(const struct rdma_cm_id *id, struct gantry_path *path)
{
	struct ibv_port_attr port;
	int index;

	if (path->port == 0)
		path->port = id->port_num;
	if (path->port != id->port_num || (path->mask & GANTRY_PATH_GID_INDEX) != 0 ||
		ibv_query_port(id->verbs, id->port_num, &port) != 0 ||
		port.link_layer != IBV_LINK_LAYER_ETHERNET)
		return;
	index = find_gid(id, port.gid_tbl_len);
	/* Otherwise the peer uses the engine's GID: the address has no RoCE v2 GID of its own. */
	if (index < 0)
		return;
	path->mask |= GANTRY_PATH_GID_INDEX;
	path->gid_index = index;
}

struct rdma_conn_param
gantry_cm_param(uint32_t qp_num, const uint8_t *data, size_t len)
{
	return (struct rdma_conn_param){
		.private_data = data,
		.private_data_len = len,
		.responder_resources = RDMA_MAX_RESP_RES,
		.initiator_depth = RDMA_MAX_INIT_DEPTH,
		.retry_count = 7,
		.rnr_retry_count = 7,
		.qp_num = qp_num,
	};
}
