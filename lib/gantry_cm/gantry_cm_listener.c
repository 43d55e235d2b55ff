/* SPDX-License-Identifier: BSD-3-Clause */
/* Listens, takes requests, and rejects them. */
#include "gantry_cm_listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gantry_cm_rdma.h"

#define BACKLOG 128

/* ------------------------------------------------------------------ listening */

static int
check_conf(const struct gantry_cm_listen_conf *conf)
{
	static const uint64_t zeros[sizeof(conf->reserved) / sizeof(uint64_t)];

	if (conf->zero == 0 && memcmp(conf->reserved, zeros, sizeof(zeros)) == 0)
		return 0;
	LOG(ERR, "gantry_cm_listen_conf::zero or ::reserved is not 0: begin with a struct of "
		 "zeros, or use headers and library of one version");
	return -EINVAL;
}

/* Returns true if the address stands for all addresses of the machine. */
static bool
is_any(const struct sockaddr_storage *a)
{
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)a;

	if (a->ss_family == AF_INET6)
		return IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr);
	return ((const struct sockaddr_in *)a)->sin_addr.s_addr == htonl(INADDR_ANY);
}

/* Logs why the address cannot be used. Returns the negative errno. */
static int
refuse_address(const struct sockaddr_storage *a)
{
	const struct gantry_cm_text text = gantry_cm_text_of((const struct sockaddr *)a);

	/*
	 * For a port that is in use, rdma_bind_addr(3) also fails with EADDRNOTAVAIL: if one of the
	 * two addresses stands for all addresses (cma_check_port() of Linux's rdma_cm).
	 */
	switch (errno == EADDRNOTAVAIL && is_any(a) ? EADDRINUSE : errno) {
	case EADDRINUSE:
		LOG(ERR, "cannot listen at %s: another program does: use another port", text.text);
		return -EADDRINUSE;
	case ENODEV:
	case EADDRNOTAVAIL:
	case ENETUNREACH:
	case EHOSTUNREACH:
		LOG(ERR,
			"cannot listen at %s: the address belongs to no RDMA device of this "
			"machine, or another program listens at this port of all addresses: use an "
			"address of a network interface of the device, or another port",
			text.text);
		return -EADDRNOTAVAIL;
	default:
		LOG(ERR, "cannot listen at %s", text.text);
		return gantry_cm_failed("rdma_bind_addr(3)");
	}
}

/*
 * Creates an identifier that listens at the address. quiet: a refused address is not logged.
 * Returns 0 or a negative errno.
 */
static int
listen_at(struct gantry_cm_listener *l, struct sockaddr_storage *a, int backlog, bool quiet)
{
	int rc;

	errno = 0;
	if (rdma_create_id(l->channel, &l->id, NULL, RDMA_PS_TCP) != 0)
		return gantry_cm_failed("rdma_create_id(3)");
	if (rdma_bind_addr(l->id, (struct sockaddr *)a) == 0 && rdma_listen(l->id, backlog) == 0)
		return 0;
	rc = quiet ? -errno : refuse_address(a);
	rdma_destroy_id(l->id);
	l->id = NULL;
	return rc;
}

/*
 * Listens at all addresses: those of IPv6, which include those of IPv4, or of IPv4 alone if this
 * machine has no IPv6.
 */
static int
listen_everywhere(struct gantry_cm_listener *l, const char *port, int backlog)
{
	struct sockaddr_storage a;
	struct sockaddr_in6 *any = (struct sockaddr_in6 *)&a;
	int rc = gantry_cm_address_find(NULL, port, true, &a);
	in_port_t number;

	if (rc != 0)
		return rc;
	/* sin_port and sin6_port have the same offset. */
	number = any->sin6_port;
	a = (struct sockaddr_storage){0};
	any->sin6_family = AF_INET6;
	any->sin6_port = number;
	rc = listen_at(l, &a, backlog, true);
	if (rc == 0)
		return 0;
	a = (struct sockaddr_storage){0};
	((struct sockaddr_in *)&a)->sin_family = AF_INET;
	((struct sockaddr_in *)&a)->sin_port = number;
	return listen_at(l, &a, backlog, false);
}

static int
open_listener(struct gantry_cm_listener *l, const char *host, const char *port, int backlog)
{
	struct sockaddr_storage a;
	int rc = gantry_cm_channel_create(&l->channel);

	if (rc != 0)
		return rc;
	if (host == NULL)
		return listen_everywhere(l, port, backlog);
	rc = gantry_cm_address_find(host, port, true, &a);
	return rc != 0 ? rc : listen_at(l, &a, backlog, false);
}

static void
free_listener(struct gantry_cm_listener *l)
{
	if (l->id != NULL)
		rdma_destroy_id(l->id);
	if (l->channel != NULL)
		rdma_destroy_event_channel(l->channel);
	free(l);
}

int
gantry_cm_listen(const char *host, const char *port, const struct gantry_cm_listen_conf *conf,
	struct gantry_cm_listener **l)
{
	static const struct gantry_cm_listen_conf defaults;
	struct gantry_cm_listener *new;
	int rc;

	if (conf == NULL)
		conf = &defaults;
	if (port == NULL) {
		LOG(ERR, "gantry_cm_listen(): port is NULL: give a port, or \"0\" for a free one");
		return -EINVAL;
	}
	rc = check_conf(conf);
	if (rc != 0)
		return rc;
	new = calloc(1, sizeof(*new));
	if (new == NULL) {
		LOG(ERR, "there is no memory for a listener");
		return -ENOMEM;
	}
	new->creator = getpid();
	rc = open_listener(new, host, port, conf->backlog != 0 ? (int)conf->backlog : BACKLOG);
	if (rc != 0) {
		free_listener(new);
		return rc;
	}
	*l = new;
	return 0;
}

uint16_t
gantry_cm_listener_port(const struct gantry_cm_listener *l)
{
	return ntohs(rdma_get_src_port(l->id));
}

int
gantry_cm_listener_fd(const struct gantry_cm_listener *l)
{
	return l->channel->fd;
}

int
gantry_cm_listener_close(struct gantry_cm_listener *l)
{
	int rc = gantry_cm_check_process(l->creator);

	if (rc != 0)
		return rc;
	if (l->n_requests != 0) {
		LOG(ERR,
			"gantry_cm_listener_close(): %u requests are not answered: accept or "
			"reject them first",
			l->n_requests);
		return -EBUSY;
	}
	free_listener(l);
	return 0;
}

/* ------------------------------------------------------------------ requests */

/* Rejects an identifier, and destroys it. */
static void
reject(struct rdma_cm_id *id, const char *reason)
{
	uint8_t bytes[GANTRY_CM_REJ_LEN];

	gantry_cm_reject_pack(reason, bytes);
	/* Fails if the other end has given up, and then there is nobody to tell. */
	rdma_reject(id, bytes, sizeof(bytes));
	rdma_destroy_id(id);
}

/* Makes a request of an event. Returns 0 or a negative errno. */
static int
take_request(struct gantry_cm_listener *l, const struct gantry_cm_event *e,
	struct gantry_cm_request **r)
{
	struct gantry_cm_request *new = calloc(1, sizeof(*new));
	struct gantry_cm_text from = gantry_cm_text_of(rdma_get_peer_addr(e->id));

	if (new == NULL) {
		LOG(ERR, "there is no memory for a request of %s", from.text);
		reject(e->id, "the listening process has no memory");
		return -ENOMEM;
	}
	if (gantry_cm_request_unpack(e->data, e->len, &new->theirs) != 0) {
		LOG(ERR,
			"a request of %s is rejected: it does not come from libgantry_cm, or from "
			"another version: run the same release of Gantry in both processes",
			from.text);
		reject(e->id, "the listening process uses libgantry_cm of another version");
		free(new);
		return -EAGAIN;
	}
	new->listener = l;
	new->id = e->id;
	new->from = from;
	l->n_requests++;
	*r = new;
	return 0;
}

/* Takes a request if one is there. Returns 0, -EAGAIN, or another negative errno. */
static int
look(struct gantry_cm_listener *l, struct gantry_cm_request **r)
{
	struct gantry_cm_event e;
	int rc = -EAGAIN;

	while (rc == -EAGAIN && (rc = gantry_cm_event_take(l->channel, &e)) == 1) {
		rc = -EAGAIN;
		if (e.type == RDMA_CM_EVENT_CONNECT_REQUEST)
			rc = take_request(l, &e, r);
		else if (e.type == RDMA_CM_EVENT_DEVICE_REMOVAL) {
			LOG(ERR, "the device at whose address this process listens was removed");
			rc = -ENODEV;
		}
	}
	return rc;
}

int
gantry_cm_request_get(struct gantry_cm_listener *l, int timeout_ms, struct gantry_cm_request **r)
{
	const uint64_t end = gantry_cm_now_ms() + (timeout_ms > 0 ? timeout_ms : 0);
	struct gantry_cm_request *found = NULL;
	int rc = gantry_cm_check_process(l->creator);
	uint64_t now;

	if (rc != 0)
		return rc;
	for (;;) {
		rc = look(l, &found);
		if (rc < 0 && rc != -EAGAIN)
			return rc;
		if (found != NULL) {
			*r = found;
			return 0;
		}
		now = gantry_cm_now_ms();
		if (timeout_ms >= 0 && now >= end)
			return -EAGAIN;
		if (!gantry_cm_event_wait(l->channel, timeout_ms < 0 ? -1 : (int)(end - now)))
			return -EAGAIN;
	}
}

void
gantry_cm_request_info_get(const struct gantry_cm_request *r, struct gantry_cm_request_info *info)
{
	const struct rdma_addr *a = &r->id->route.addr;

	*info = (struct gantry_cm_request_info){
		.from = a->dst_storage,
		.to = a->src_storage,
		.device = gantry_cm_device_of(r->id),
		.data_len = r->theirs.len,
	};
	memcpy(info->data, r->theirs.data, r->theirs.len);
}

void
gantry_cm_request_free(struct gantry_cm_request *r)
{
	r->listener->n_requests--;
	free(r);
}

int
gantry_cm_reject(struct gantry_cm_request *r, const char *reason)
{
	int rc = gantry_cm_check_process(r->listener->creator);

	if (rc != 0)
		return rc;
	reject(r->id, reason);
	if (r->channel != NULL)
		rdma_destroy_event_channel(r->channel);
	gantry_cm_request_free(r);
	return 0;
}
