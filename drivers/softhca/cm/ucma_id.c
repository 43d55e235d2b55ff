/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands about an id: creating, addresses, options, moving to another file, destroying. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include <rdma/ib_user_sa.h>

#include "caps.h"
#include "copy.h"
#include "dev.h"
#include "machine.h"
#include "path.h"
#include "show.h"
#include "ucma.h"

int
ucma_create_id(struct ucma_call *call)
{
	const struct rdma_ucm_create_id *in = &call->in.create_id;
	struct rdma_ucm_create_id_resp resp;
	struct cm_id *id;

	/*
	 * Without RDMA_PS_IB, librdmacm uses the commands with IP addresses (librdmacm/cma.c,
	 * ucma_set_af_ib_support). RDMA_PS_IPOIB is for multicast.
	 */
	if (in->ps != RDMA_PS_TCP && in->ps != RDMA_PS_UDP)
		return -EINVAL;
	id = id_create(call->file, in->uid, in->ps);
	if (id == NULL)
		return -ENOMEM;
	resp.id = id->handle;
	if (copy_out(in->response, &resp, sizeof(resp)) == 0)
		return 0;
	machine_destroy(id, call->fd);
	return -EFAULT;
}

int
ucma_destroy_id(struct ucma_call *call)
{
	const struct rdma_ucm_destroy_id *in = &call->in.destroy_id;
	struct rdma_ucm_destroy_id_resp resp;
	struct cm_id *id;
	int err = ucma_id(call, in->id, &id);

	if (err != 0)
		return err;
	resp.events_reported = id->events_reported;
	machine_destroy(id, call->fd);
	return copy_out(in->response, &resp, sizeof(resp));
}

/* ---------------------------------------------------------------- another file */

static int
file_at(int fd, struct cm_file **file)
{
	bool dead;

	if (fcntl(fd, F_GETFD) < 0)
		return -ENOENT;
	*file = file_of(fd, &dead);
	return *file != NULL ? 0 : -EINVAL;
}

/* Moves the id's events, and the new connections that they name, to the file. */
static void
move_events(struct cm_id *id, int from_fd, struct cm_file *to)
{
	struct cm_event *next, *e = file_take(id->file, from_fd, id);

	for (; e != NULL; e = next) {
		next = e->next;
		if (e->conn != NULL)
			e->conn->file = to;
		file_post(to, e);
	}
}

int
ucma_migrate_id(struct ucma_call *call)
{
	const struct rdma_ucm_migrate_id *in = &call->in.migrate_id;
	struct ucma_call old = {.fd = (int)in->fd};
	struct rdma_ucm_migrate_resp resp;
	struct cm_id *id;
	int err = file_at(old.fd, &old.file);

	if (err == 0)
		err = ucma_id(&old, in->id, &id);
	if (err != 0)
		return err;
	if (call->file != old.file)
		move_events(id, old.fd, call->file);
	id->file = call->file;
	resp.events_reported = id->events_reported;
	return copy_out(in->response, &resp, sizeof(resp));
}

/* ---------------------------------------------------------------- addresses */

int
ucma_bind_ip(struct ucma_call *call)
{
	const struct rdma_ucm_bind_ip *in = &call->in.bind_ip;
	struct cm_id *id;
	int err;

	if (address_len(&in->addr) == 0)
		return -EINVAL;
	err = ucma_id(call, in->id, &id);
	return err != 0 ? err : machine_bind(id, &in->addr);
}

int
ucma_resolve_ip(struct ucma_call *call)
{
	const struct rdma_ucm_resolve_ip *in = &call->in.resolve_ip;
	struct cm_id *id;
	int err;

	if ((in->src_addr.sin6_family != 0 && address_len(&in->src_addr) == 0) ||
		address_len(&in->dst_addr) == 0)
		return -EINVAL;
	err = ucma_id(call, in->id, &id);
	return err != 0 ? err : machine_resolve(id, &in->src_addr, &in->dst_addr);
}

int
ucma_resolve_route(struct ucma_call *call)
{
	const struct rdma_ucm_resolve_route *in = &call->in.resolve_route;
	struct cm_id *id;
	int err = ucma_id_at_port(call, in->id, &id);

	return err != 0 ? err : machine_resolve_route(id, in->timeout_ms);
}

int
ucma_query_route(struct ucma_call *call)
{
	const struct rdma_ucm_query *in = &call->in.query_route;
	struct rdma_ucm_query_route_resp resp = {0};
	struct cm_id *id;
	int err = ucma_id(call, in->id, &id);

	if (err != 0)
		return err;
	memcpy(&resp.src_addr, &id->src, address_len(&id->src));
	memcpy(&resp.dst_addr, &id->dst, address_len(&id->dst));
	if (id->place.dev != NULL) {
		resp.node_guid = htobe64(caps_node_guid(id->place.dev));
		resp.ibdev_index = id->place.dev->index;
		resp.port_num = id->place.port;
		resp.num_paths = id->has_path ? 1 : 0;
		path_record(id, &resp.ib_route[0]);
	}
	return copy_out(in->response, &resp,
		call->out_len < sizeof(resp) ? call->out_len : sizeof(resp));
}

/* ---------------------------------------------------------------- options */

/* Reads the value of an option that has this length. */
static int
value(const struct rdma_ucm_set_option *in, void *to, uint32_t len)
{
	return in->optlen == len ? copy_in(to, in->optval, len) : -EINVAL;
}

static int
set_tos(struct cm_id *id, const struct rdma_ucm_set_option *in)
{
	return value(in, &id->tos, sizeof(id->tos));
}

static int
set_reuse(struct cm_id *id, const struct rdma_ucm_set_option *in)
{
	int on, err = value(in, &on, sizeof(on));

	if (err != 0)
		return err;
	if (id->state != STATE_IDLE && (on == 0 || id->state == STATE_LISTEN))
		return -EINVAL;
	id->reuse = on != 0;
	return 0;
}

static int
set_afonly(struct cm_id *id, const struct rdma_ucm_set_option *in)
{
	int on, err = value(in, &on, sizeof(on));

	if (err != 0)
		return err;
	if (id->state != STATE_IDLE && id->state != STATE_ADDR_BOUND)
		return -EINVAL;
	id->afonly = on != 0;
	id->afonly_set = true;
	return 0;
}

static int
set_timeout(struct cm_id *id, const struct rdma_ucm_set_option *in)
{
	uint8_t timeout;
	int err = value(in, &timeout, sizeof(timeout));

	if (err != 0)
		return err;
	if (id_is_ud(id))
		return -EINVAL;
	id->timeout = timeout & 0x1f; /* five bits of a queue pair */
	id->has_timeout = true;
	return 0;
}

/* Flags of a path: ib_user_sa.h. */
#define WHOLE_PATH (IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL)

/* Positions in an SA path record: IBTA volume 1, section 15.2.5.16. */
enum {
	RECORD_DGID = 8,
	RECORD_SGID = 24
};

/* Takes a path that the program knows, if it leads from the id's GID to its partner's. */
static int
set_path(struct cm_id *id, const struct rdma_ucm_set_option *in)
{
	struct ib_path_rec_data path;

	if (in->optlen == 0 || id->place.dev == NULL)
		return -EINVAL;
	for (uint32_t at = 0; in->optlen - at >= sizeof(path); at += sizeof(path)) {
		const uint8_t *record = (const uint8_t *)path.path_rec;

		if (copy_in(&path, in->optval + at, sizeof(path)) != 0)
			return -EFAULT;
		if (path.flags != WHOLE_PATH)
			continue;
		if (memcmp(record + RECORD_DGID, id->remote_gid, 16) != 0 ||
			memcmp(record + RECORD_SGID, id->place.gid, 16) != 0)
			return -EINVAL;
		return machine_resolve_route(id, 1);
	}
	return -EINVAL;
}

static const struct option {
	uint32_t level, name;
	int (*set)(struct cm_id *id, const struct rdma_ucm_set_option *in);
} options[] = {
	{RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, set_tos},
	{RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, set_reuse},
	{RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, set_afonly},
	{RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, set_timeout},
	{RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, set_path},
};

/* The kernel copies the value before it looks at the option, so EFAULT comes first. */
#define MAX_OPTLEN (4u << 20)

int
ucma_set_option(struct ucma_call *call)
{
	const struct rdma_ucm_set_option *in = &call->in.set_option;
	struct cm_id *id;
	char byte;
	int err;

	if (in->optlen > MAX_OPTLEN)
		return -EINVAL;
	err = ucma_id(call, in->id, &id);
	if (err == 0 && in->optlen != 0)
		err = copy_in(&byte, in->optval, 1);
	if (err != 0)
		return err;
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (options[i].level == in->level && options[i].name == in->optname)
			return options[i].set(id, in);
	return -ENOSYS;
}
