/* SPDX-License-Identifier: BSD-3-Clause */
/* The port spaces. */
#include "ports.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "blocks.h"
#include "loop.h"
#include "port_name.h"
#include "raw.h"

#define PRIVILEGED_END 1024 /* ip(7) */

struct cm_port {
	struct cm_port *next;
	uint16_t ps, number;
	struct cm_id *owners;
	/*
	 * The socket with the port's name; -1: all owners only ask, or a process that shares the
	 * port has the name.
	 */
	int fd;
	int shared_fd; /* has the mark that the port may be shared; -1: it may not */
	uint32_t slot;
	bool listens;
};

static struct cm_port *ports;
static ports_connected_fn *on_connected;

void
ports_init(ports_connected_fn *connected)
{
	on_connected = connected;
}

static struct cm_port *
find(uint16_t ps, uint16_t number)
{
	struct cm_port *port = ports;

	while (port != NULL && (port->ps != ps || port->number != number))
		port = port->next;
	return port;
}

static struct cm_port *
make(uint16_t ps, uint16_t number)
{
	struct cm_port *port = calloc(1, sizeof(*port));

	if (port == NULL)
		return NULL;
	port->ps = ps;
	port->number = number;
	port->fd = port->shared_fd = -1;
	port->next = ports;
	ports = port;
	return port;
}

static void
drop(struct cm_port *port)
{
	struct cm_port **link = &ports;

	while (*link != port)
		link = &(*link)->next;
	*link = port->next;
	if (port->listens)
		loop_remove(port->slot);
	if (port->fd >= 0)
		raw_close(port->fd);
	if (port->shared_fd >= 0)
		raw_close(port->shared_fd);
	blocks_give(port->ps, port->number);
	free(port);
}

static void
own(struct cm_port *port, struct cm_id *id)
{
	id->port = port;
	id->next_of_port = port->owners;
	port->owners = id;
	address_set_port(&id->src, port->number);
}

/* ---------------------------------------------------------------- conflicts */

/* Why a process cannot have a number that another process has. */
static int
taken(const struct cm_id *id)
{
	return address_is_any(&id->src) ? -EADDRNOTAVAIL : -EADDRINUSE;
}

/* Returns 0 if the id may have the port beside its owners: cma_check_port() of the kernel. */
static int
check_owners(const struct cm_port *port, const struct cm_id *id, bool reuse)
{
	for (const struct cm_id *other = port->owners; other != NULL; other = other->next_of_port) {
		if (other == id || (reuse && other->reuse))
			continue;
		if (id->afonly && other->afonly && id->src.sin6_family != other->src.sin6_family)
			continue;
		if (address_is_any(&id->src) || address_is_any(&other->src))
			return -EADDRNOTAVAIL;
		if (address_is_same(&id->src, &other->src))
			return -EADDRINUSE;
	}
	return 0;
}

static bool
may_bind_privileged(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	return syscall(SYS_capget, &head, data) == 0 &&
	       (data[0].effective & 1u << CAP_NET_BIND_SERVICE) != 0;
}

/* True if the owners of the port in another process share it. */
static bool
is_shared(uint16_t ps, uint16_t number)
{
	int fd, err = port_name_claim(ps, NAME_SHARED, number, &fd);

	if (err == 0)
		raw_close(fd);
	return err == -EADDRINUSE;
}

/* ---------------------------------------------------------------- bind */

/* Lets ids of other processes have the port, if the id shares it. */
static void
mark(struct cm_port *port, const struct cm_id *id)
{
	if (id->reuse)
		(void)port_name_claim(port->ps, NAME_SHARED, port->number, &port->shared_fd);
}

/* Claims the port's name for an id that asked for this number. */
static int
claim(struct cm_port *port, const struct cm_id *id)
{
	int err = port_name_claim(port->ps, NAME_PORT, port->number, &port->fd);

	if (err == 0)
		mark(port, id);
	if (err != -EADDRINUSE)
		return err;
	return id->reuse && is_shared(port->ps, port->number) ? 0 : taken(id);
}

static int
bind_number(struct cm_id *id, uint16_t number)
{
	struct cm_port *port = find(id->ps, number);
	int err;

	if (port != NULL) {
		err = check_owners(port, id, id->reuse);
	} else {
		port = make(id->ps, number);
		err = port == NULL ? -ENOMEM : claim(port, id);
		if (err != 0 && port != NULL)
			drop(port);
	}
	if (err == 0)
		own(port, id);
	return err;
}

/* For blocks_take(): claims the name of a number for an id that may listen. */
static bool
claim_name(uint16_t ps, uint16_t number, void *fd)
{
	return find(ps, number) == NULL && port_name_claim(ps, NAME_PORT, number, fd) == 0;
}

/* For blocks_take(): true if no process has the number for an id that may listen. */
static bool
is_free(uint16_t ps, uint16_t number, void *fd)
{
	const bool is = claim_name(ps, number, fd);

	if (is)
		raw_close(*(int *)fd);
	return is;
}

static int
bind_any_number(struct cm_id *id, bool asks)
{
	struct cm_port *port;
	uint16_t number;
	int fd = -1, err = blocks_take(id->ps, asks ? is_free : claim_name, &fd, &number);

	if (err != 0)
		return err;
	port = make(id->ps, number);
	if (port == NULL) {
		if (!asks)
			raw_close(fd);
		blocks_give(id->ps, number);
		return -ENOMEM;
	}
	if (!asks) {
		port->fd = fd;
		mark(port, id);
	}
	own(port, id);
	return 0;
}

int
port_bind(struct cm_id *id, bool asks)
{
	const uint16_t number = address_port(&id->src);
	int err;

	if (number == 0)
		return bind_any_number(id, asks);
	if (number < PRIVILEGED_END && !may_bind_privileged())
		return -EACCES;
	err = bind_number(id, number);
	if (err == -EADDRINUSE || err == -EADDRNOTAVAIL) {
		file_reap();
		err = bind_number(id, number);
	}
	return err;
}

/* ---------------------------------------------------------------- listen */

/* The function of loop.h for a port's socket. */
static void
connected(void *arg, uint32_t events)
{
	const struct cm_port *port = arg;

	(void)events;
	on_connected(port->fd);
}

int
port_listen(struct cm_id *id)
{
	struct cm_port *port = id->port;
	int err = id->reuse ? check_owners(port, id, false) : 0;

	if (err == 0 && port->fd < 0)
		err = port_name_claim(port->ps, NAME_PORT, port->number, &port->fd);
	if (err != 0)
		return err == -EADDRINUSE ? taken(id) : err;
	if (port->listens)
		return 0;
	if (listen(port->fd, SOMAXCONN) != 0)
		return -errno;
	err = loop_add(port->fd, EPOLLIN, connected, port, &port->slot);
	port->listens = err == 0;
	return err;
}

void
port_leave(struct cm_id *id)
{
	struct cm_port *port = id->port;
	struct cm_id **link;

	if (port == NULL)
		return;
	for (link = &port->owners; *link != id; link = &(*link)->next_of_port)
		;
	*link = id->next_of_port;
	id->port = NULL;
	if (port->owners == NULL)
		drop(port);
}

/* Returns 2 if the id listens at this very address, 1 for a wildcard that covers it, or 0. */
static int
listens_at(const struct cm_id *id, const struct sockaddr_in6 *dst)
{
	if (id->state != STATE_LISTEN)
		return 0;
	if (!address_is_any(&id->src))
		return address_is_same(&id->src, dst) ? 2 : 0;
	return !id->afonly || id->src.sin6_family == dst->sin6_family ? 1 : 0;
}

struct cm_id *
port_listener(uint16_t ps, const struct sockaddr_in6 *dst)
{
	const struct cm_port *port = find(ps, address_port(dst));
	struct cm_id *best = NULL;
	int how = 0;

	for (struct cm_id *id = port != NULL ? port->owners : NULL; id != NULL;
		id = id->next_of_port)
		if (listens_at(id, dst) > how) {
			how = listens_at(id, dst);
			best = id;
		}
	return best;
}

/* The kernel notes the user of a listening socket in listen(2), also if the socket listens. */
void
ports_user_changed(void)
{
	for (const struct cm_port *port = ports; port != NULL; port = port->next)
		if (port->listens)
			(void)listen(port->fd, SOMAXCONN);
}

void
ports_fork_child(void)
{
	for (struct cm_port *port = ports; port != NULL; port = port->next) {
		if (port->fd >= 0)
			raw_close(port->fd);
		if (port->shared_fd >= 0)
			raw_close(port->shared_fd);
	}
	ports = NULL;
	blocks_fork_child();
}
