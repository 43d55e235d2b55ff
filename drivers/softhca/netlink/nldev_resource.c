/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers about objects that programs hold: rdma-resource(8). */
#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>

#include "capability.h"
#include "nldev.h"
#include "resource.h"

/* A kind of resource. The kernel's table for this is fill_entries[] in nldev.c. */
struct nldev_resource {
	enum resource_type type;
	/*
	 * Attributes: of the list of resources, of one resource in it, and of the id in a request.
	 */
	uint16_t table, entry, id;
	bool per_port; /* a request may have a port */
	void (*put)(struct datagram *d, uint32_t dev, const struct resource *r);
};

/*
 * The names in the summary (RDMA_NLDEV_CMD_RES_GET), in the order in which the kernel sends them.
 */
static const struct {
	enum resource_type type;
	const char *name;
} kinds[] = {
	{RESOURCE_PD, "pd"},
	{RESOURCE_CQ, "cq"},
	{RESOURCE_QP, "qp"},
	{RESOURCE_CM_ID, "cm_id"},
	{RESOURCE_MR, "mr"},
	{RESOURCE_CTX, "ctx"},
	{RESOURCE_SRQ, "srq"},
};

/* ---------------------------------------------------------------- the summary */

static uint64_t
count(uint32_t dev, enum resource_type type)
{
	uint64_t n = 0;

	for (uint32_t at = 0; resource_next(dev, type, &at) != NULL;)
		n++;
	return n;
}

static void
put_summary(struct datagram *d, const struct softhca_dev *dev)
{
	size_t table;

	nldev_put_handle(d, dev);
	table = nest_begin(d, RDMA_NLDEV_ATTR_RES_SUMMARY);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const size_t entry = nest_begin(d, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY);

		put_string(d, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME, kinds[i].name);
		put_u64(d, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR,
			count(dev->index, kinds[i].type));
		nest_end(d, entry);
	}
	nest_end(d, table);
}

static int
get_summary(const struct netlink_peer *peer, const struct nldev_command *command,
	const struct attributes *attrs, struct datagram *d)
{
	const struct softhca_dev *dev = nldev_find(attribute_u32(attrs, RDMA_NLDEV_ATTR_DEV_INDEX));

	if (dev == NULL)
		return -EINVAL;
	put_summary(d, dev);
	return 0;
}

static int
dump_summary(const struct netlink_peer *peer, const struct reply *reply, struct datagram *d,
	uint32_t *next)
{
	for (const struct softhca_dev *dev; (dev = nldev_find(*next)) != NULL; ++*next) {
		const size_t begin = message_begin(d, reply);

		put_summary(d, dev);
		if (d->full) {
			message_cancel(d, begin);
			break;
		}
		message_end(d, begin);
	}
	return 0;
}

const struct nldev_command nldev_res_get = {get_summary, dump_summary, NULL};

/* ---------------------------------------------------------------- one of a kind */

static void
put_id(struct datagram *d, uint16_t type, const _Atomic uint32_t *id)
{
	if (resource_get(id) != RESOURCE_NO_ID)
		put_u32(d, type, resource_get(id));
}

static void
put_pid(struct datagram *d, const struct resource *r)
{
	put_u32(d, RDMA_NLDEV_ATTR_RES_PID, resource_get(&r->pid));
}

static void
put_pd(struct datagram *d, uint32_t dev, const struct resource *r)
{
	put_u64(d, RDMA_NLDEV_ATTR_RES_USECNT, resource_get(&r->users));
	put_id(d, RDMA_NLDEV_ATTR_RES_PDN, &r->id);
	put_id(d, RDMA_NLDEV_ATTR_RES_CTXN, &r->ctx);
	put_pid(d, r);
}

static void
put_cq(struct datagram *d, uint32_t dev, const struct resource *r)
{
	put_u32(d, RDMA_NLDEV_ATTR_RES_CQE, resource_get(&r->cqe));
	put_u64(d, RDMA_NLDEV_ATTR_RES_USECNT, resource_get(&r->users));
	put_u8(d, RDMA_NLDEV_ATTR_DEV_DIM, 0);
	put_id(d, RDMA_NLDEV_ATTR_RES_CQN, &r->id);
	put_id(d, RDMA_NLDEV_ATTR_RES_CTXN, &r->ctx);
	put_pid(d, r);
}

enum {
	QPT_RC = 2,
	QPT_UC = 3,
	QPT_XRC_SEND = 9,
	QPT_XRC_RECV = 10,
	MIG_MIGRATED = 0
}; /* enum ibv_qp_type, enum ibv_mig_state */

static void
put_qp(struct datagram *d, uint32_t dev, const struct resource *r)
{
	const uint32_t type = resource_get(&r->kind);
	const bool connected = type == QPT_RC || type == QPT_UC;

	if (resource_get(&r->qp.port) != 0)
		put_u32(d, RDMA_NLDEV_ATTR_PORT_INDEX, resource_get(&r->qp.port));
	put_u32(d, RDMA_NLDEV_ATTR_RES_LQPN, resource_get(&r->qp.number));
	put_id(d, RDMA_NLDEV_ATTR_RES_PDN, &r->pd);
	put_pid(d, r);
	if (connected) {
		put_u32(d, RDMA_NLDEV_ATTR_RES_RQPN, resource_get(&r->qp.dest_qpn));
		put_u32(d, RDMA_NLDEV_ATTR_RES_RQ_PSN, resource_get(&r->qp.rq_psn));
	}
	put_u32(d, RDMA_NLDEV_ATTR_RES_SQ_PSN, resource_get(&r->qp.sq_psn));
	if (connected || type == QPT_XRC_SEND || type == QPT_XRC_RECV)
		put_u8(d, RDMA_NLDEV_ATTR_RES_PATH_MIG_STATE, MIG_MIGRATED);
	put_u8(d, RDMA_NLDEV_ATTR_RES_TYPE, (uint8_t)type);
	put_u8(d, RDMA_NLDEV_ATTR_RES_STATE, (uint8_t)resource_get(&r->qp.state));
}

/*
 * Writes a memory region. Only the administrator sees its key: with the key a process can access
 * the memory.
 */
static void
put_mr(struct datagram *d, uint32_t dev, const struct resource *r)
{
	if (has_capability(CAP_NET_ADMIN)) {
		put_u32(d, RDMA_NLDEV_ATTR_RES_RKEY, resource_get(&r->key));
		put_u32(d, RDMA_NLDEV_ATTR_RES_LKEY, resource_get(&r->key));
	}
	put_u64(d, RDMA_NLDEV_ATTR_RES_MRLEN, atomic_load_explicit(&r->len, memory_order_relaxed));
	put_id(d, RDMA_NLDEV_ATTR_RES_MRN, &r->id);
	put_id(d, RDMA_NLDEV_ATTR_RES_PDN, &r->pd);
	put_pid(d, r);
}

static void
put_ctx(struct datagram *d, uint32_t dev, const struct resource *r)
{
	put_id(d, RDMA_NLDEV_ATTR_RES_CTXN, &r->id);
	put_pid(d, r);
}

/* ---------------------------------------------------------------- SRQs, and their QPs */

/* Writes a range of QPs with consecutive numbers, from `first` to `last`. */
static void
put_range(struct datagram *d, uint32_t first, uint32_t last)
{
	const size_t entry = nest_begin(d, RDMA_NLDEV_ATTR_RES_QP_ENTRY);

	if (first == last) {
		put_u32(d, RDMA_NLDEV_ATTR_RES_LQPN, first);
	} else {
		put_u32(d, RDMA_NLDEV_ATTR_MIN_RANGE, first);
		put_u32(d, RDMA_NLDEV_ATTR_MAX_RANGE, last);
	}
	nest_end(d, entry);
}

/* Returns the lowest number of a QP that uses the SRQ, from `from` on, or 0 if there is none. */
static uint32_t
next_qp(uint32_t dev, uint32_t srq, uint32_t from)
{
	const struct resource *r;
	uint32_t least = 0;

	for (uint32_t at = 0; (r = resource_next(dev, RESOURCE_QP, &at)) != NULL;) {
		const uint32_t number = resource_get(&r->qp.number);

		if (resource_get(&r->srq) == srq && number >= from &&
			(least == 0 || number < least))
			least = number;
	}
	return least;
}

/* Writes QPs until the datagram is full. */
static void
put_srq_qps(struct datagram *d, uint32_t dev, uint32_t srq)
{
	const size_t table = nest_begin(d, RDMA_NLDEV_ATTR_RES_QP);
	uint32_t first = next_qp(dev, srq, 1);

	while (first != 0 && d->len < sizeof(d->bytes) / 2) {
		uint32_t last = first, next;

		while ((next = next_qp(dev, srq, last + 1)) == last + 1)
			last = next;
		put_range(d, first, last);
		first = next;
	}
	nest_end(d, table);
}

static void
put_srq(struct datagram *d, uint32_t dev, const struct resource *r)
{
	put_id(d, RDMA_NLDEV_ATTR_RES_SRQN, &r->id);
	put_u8(d, RDMA_NLDEV_ATTR_RES_TYPE, (uint8_t)resource_get(&r->kind));
	put_id(d, RDMA_NLDEV_ATTR_RES_PDN, &r->pd);
	put_id(d, RDMA_NLDEV_ATTR_RES_CQN, &r->cq);
	put_srq_qps(d, dev, resource_get(&r->id));
	put_pid(d, r);
}

/* Writes an address. The kernel sends a struct sockaddr_storage, however short the address is. */
static void
put_address(struct datagram *d, uint16_t type, const _Atomic uint32_t words[7])
{
	uint32_t address[32] = {0};

	for (unsigned int i = 0; i < 7; i++)
		address[i] = resource_get(&words[i]);
	if (address[0] != 0)
		put_data(d, type, address, sizeof(address));
}

static void
put_cm_id(struct datagram *d, uint32_t dev, const struct resource *r)
{
	if (resource_get(&r->cm_id.port) != 0)
		put_u32(d, RDMA_NLDEV_ATTR_PORT_INDEX, resource_get(&r->cm_id.port));
	if (resource_get(&r->cm_id.qpn) != 0) {
		put_u32(d, RDMA_NLDEV_ATTR_RES_LQPN, resource_get(&r->cm_id.qpn));
		put_u8(d, RDMA_NLDEV_ATTR_RES_TYPE, (uint8_t)resource_get(&r->kind));
	}
	put_u32(d, RDMA_NLDEV_ATTR_RES_PS, resource_get(&r->cm_id.ps));
	put_u8(d, RDMA_NLDEV_ATTR_RES_STATE, (uint8_t)resource_get(&r->cm_id.state));
	put_address(d, RDMA_NLDEV_ATTR_RES_SRC_ADDR, r->cm_id.src);
	put_address(d, RDMA_NLDEV_ATTR_RES_DST_ADDR, r->cm_id.dst);
	put_id(d, RDMA_NLDEV_ATTR_RES_CM_IDN, &r->id);
	put_pid(d, r);
}

/* ---------------------------------------------------------------- requests for a kind */

/* Returns the port in a request, 0 if the request has no port, or -EINVAL. */
static int64_t
port_of(const struct softhca_dev *dev, int64_t port)
{
	if (port < 0)
		return 0;
	return port >= 1 && port <= dev->cfg->ports ? port : -EINVAL;
}

static bool
is_at_port(const struct nldev_resource *kind, const struct resource *r, int64_t port)
{
	const _Atomic uint32_t *at = kind->type == RESOURCE_QP ? &r->qp.port : &r->cm_id.port;

	return !kind->per_port || port == 0 || resource_get(at) == port;
}

/* Finds a QP by its number, or an object of any other kind by its id. */
static const struct resource *
find(const struct nldev_resource *kind, uint32_t dev, int64_t id)
{
	const struct resource *r;

	for (uint32_t at = 0; (r = resource_next(dev, kind->type, &at)) != NULL;)
		if (resource_get(kind->type == RESOURCE_QP ? &r->qp.number : &r->id) == id)
			return r;
	return NULL;
}

static int
get(const struct netlink_peer *peer, const struct nldev_command *command,
	const struct attributes *attrs, struct datagram *d)
{
	const struct nldev_resource *kind = command->resource;
	const struct softhca_dev *dev = nldev_find(attribute_u32(attrs, RDMA_NLDEV_ATTR_DEV_INDEX));
	const int64_t id = attribute_u32(attrs, kind->id);
	const struct resource *r;
	int64_t port;

	if (dev == NULL || id < 0)
		return -EINVAL;
	port = port_of(dev, attribute_u32(attrs, RDMA_NLDEV_ATTR_PORT_INDEX));
	if (port < 0 || (port != 0) != kind->per_port)
		return -EINVAL;
	r = find(kind, dev->index, id);
	if (r == NULL)
		return -ENOENT;
	if (!is_at_port(kind, r, port))
		return -EAGAIN;
	nldev_put_handle(d, dev);
	kind->put(d, dev->index, r);
	return 0;
}

/* Writes one entry. Returns false if the datagram has no room for the entry. */
static bool
put_entry(struct datagram *d, const struct nldev_resource *kind, uint32_t dev,
	const struct resource *r)
{
	const size_t entry = nest_begin(d, kind->entry);

	kind->put(d, dev, r);
	nest_end(d, entry);
	if (!d->full)
		return true;
	message_cancel(d, entry);
	return false;
}

static int
dump(const struct netlink_peer *peer, const struct reply *reply, struct datagram *d, uint32_t *next)
{
	const struct nldev_resource *kind = peer->dump->resource;
	const struct softhca_dev *dev = nldev_find(peer->dev_index);
	const struct resource *r;
	size_t message, table;
	bool any = false;
	int64_t port;
	uint32_t at;

	if (dev == NULL)
		return -EINVAL;
	port = port_of(dev, peer->port_index);
	if (port < 0)
		return (int)port;
	message = message_begin(d, reply);
	nldev_put_handle(d, dev);
	table = nest_begin(d, kind->table);
	for (at = *next; (r = resource_next(dev->index, kind->type, &at)) != NULL; *next = at) {
		if (!is_at_port(kind, r, port))
			continue;
		if (!put_entry(d, kind, dev->index, r))
			break;
		any = true;
	}
	nest_end(d, table);
	message_end(d, message);
	if (!any)
		message_cancel(d, message);
	return 0;
}

#define KIND(name, ...)                                                                            \
	static const struct nldev_resource name##_kind = {__VA_ARGS__};                            \
	const struct nldev_command nldev_res_##name##_get = {get, dump, &name##_kind}

KIND(pd, RESOURCE_PD, RDMA_NLDEV_ATTR_RES_PD, RDMA_NLDEV_ATTR_RES_PD_ENTRY, RDMA_NLDEV_ATTR_RES_PDN,
	false, put_pd);
KIND(cq, RESOURCE_CQ, RDMA_NLDEV_ATTR_RES_CQ, RDMA_NLDEV_ATTR_RES_CQ_ENTRY, RDMA_NLDEV_ATTR_RES_CQN,
	false, put_cq);
KIND(qp, RESOURCE_QP, RDMA_NLDEV_ATTR_RES_QP, RDMA_NLDEV_ATTR_RES_QP_ENTRY,
	RDMA_NLDEV_ATTR_RES_LQPN, true, put_qp);
KIND(cm_id, RESOURCE_CM_ID, RDMA_NLDEV_ATTR_RES_CM_ID, RDMA_NLDEV_ATTR_RES_CM_ID_ENTRY,
	RDMA_NLDEV_ATTR_RES_CM_IDN, true, put_cm_id);
KIND(mr, RESOURCE_MR, RDMA_NLDEV_ATTR_RES_MR, RDMA_NLDEV_ATTR_RES_MR_ENTRY, RDMA_NLDEV_ATTR_RES_MRN,
	false, put_mr);
KIND(ctx, RESOURCE_CTX, RDMA_NLDEV_ATTR_RES_CTX, RDMA_NLDEV_ATTR_RES_CTX_ENTRY,
	RDMA_NLDEV_ATTR_RES_CTXN, false, put_ctx);
KIND(srq, RESOURCE_SRQ, RDMA_NLDEV_ATTR_RES_SRQ, RDMA_NLDEV_ATTR_RES_SRQ_ENTRY,
	RDMA_NLDEV_ATTR_RES_SRQN, false, put_srq);
