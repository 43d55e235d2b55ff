/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses of ids: binding, resolving, listening. */
#include <errno.h>
#include <string.h>

#include "machine.h"
#include "notice.h"
#include "ports.h"
#include "show.h"

/* Puts the id at the port of its address. A wildcard address stands for no port. */
static int
attach(struct cm_id *id)
{
	int err = address_is_any(&id->src) ? 0 : address_place(&id->src, &id->place);

	if (err == 0 && id->place.dev != NULL)
		show_take(id);
	return err;
}

static int
bind_id(struct cm_id *id, const struct sockaddr_in6 *addr, bool asks)
{
	int err;

	if (id->state != STATE_IDLE)
		return -EINVAL;
	id->src = *addr;
	if (!id->afonly_set)
		id->afonly = addr->sin6_family == AF_INET;
	err = attach(id);
	if (err == 0)
		err = port_bind(id, asks);
	if (err != 0) {
		memset(&id->src, 0, sizeof(id->src));
		memset(&id->place, 0, sizeof(id->place));
		return err;
	}
	id->state = STATE_ADDR_BOUND;
	show_state(id);
	return 0;
}

int
machine_bind(struct cm_id *id, const struct sockaddr_in6 *addr)
{
	return bind_id(id, addr, false);
}

/* Binds an id that resolves an address before it was bound. */
static int
bind_to_resolve(struct cm_id *id, const struct sockaddr_in6 *src, sa_family_t family)
{
	struct sockaddr_in6 any;

	address_any(&any, family);
	return bind_id(id, src->sin6_family != 0 ? src : &any, true);
}

/* Chooses the source address of an id that is bound to a wildcard address. */
static void
choose_source(struct cm_id *id, const struct cm_place *dst)
{
	const uint16_t number = address_port(&id->src);

	if (!address_is_any(&id->src))
		return;
	id->src = id->dst;
	address_set_port(&id->src, number);
	if (address_is_any(&id->dst))
		address_loopback(&id->src, id->dst.sin6_family);
	id->place = *dst;
	show_take(id);
}

int
machine_resolve(struct cm_id *id, const struct sockaddr_in6 *src, const struct sockaddr_in6 *dst)
{
	struct sockaddr_in6 to = *dst;
	struct cm_place place;
	int err = 0;

	if (id->state == STATE_IDLE)
		err = bind_to_resolve(id, src, dst->sin6_family);
	if (err == 0 && (id->state != STATE_ADDR_BOUND || id->src.sin6_family != dst->sin6_family))
		err = -EINVAL;
	if (err != 0)
		return err;
	id->dst = *dst;
	if (address_is_any(&to))
		address_loopback(&to, to.sin6_family);
	if (address_place(&to, &place) != 0) {
		notice(id, EVENT_ADDR_ERROR, -EHOSTUNREACH, NULL);
		return 0;
	}
	choose_source(id, &place);
	memcpy(id->remote_gid, place.gid, sizeof(id->remote_gid));
	id->remote_lid = place.lid;
	id->state = STATE_ADDR_RESOLVED;
	show_state(id);
	notice(id, EVENT_ADDR_RESOLVED, 0, NULL);
	return 0;
}

int
machine_resolve_route(struct cm_id *id, uint32_t timeout_ms)
{
	if (timeout_ms == 0 || id->state != STATE_ADDR_RESOLVED)
		return -EINVAL;
	id->has_path = true;
	id->state = STATE_ROUTE_RESOLVED;
	show_state(id);
	notice(id, EVENT_ROUTE_RESOLVED, 0, NULL);
	return 0;
}

int
machine_listen(struct cm_id *id, uint32_t backlog)
{
	struct sockaddr_in6 any;
	int err = 0;

	if (id->state == STATE_IDLE) {
		address_any(&any, AF_INET);
		err = machine_bind(id, &any);
	}
	if (err == 0 && id->state != STATE_ADDR_BOUND)
		err = -EINVAL;
	if (err == 0)
		err = port_listen(id);
	if (err != 0)
		return err;
	id->backlog = backlog;
	id->state = STATE_LISTEN;
	show_state(id);
	return 0;
}
