/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands of RDMA_NL_NLDEV. Each command has a row in a table. */
#ifndef SOFTHCA_NLDEV_H
#define SOFTHCA_NLDEV_H

#include "dev.h"
#include "nl_message.h"

struct nldev_resource;

struct nldev_command {
	/*
	 * Answers a request about one object with one message. NULL: the command has no such
	 * answer.
	 */
	int (*get)(const struct netlink_peer *peer, const struct nldev_command *command,
		const struct attributes *attrs, struct datagram *d);
	/*
	 * Adds the next messages of a dump to an empty datagram, and advances *next. If all items
	 * were sent, adds no message. Returns 0, or -errno, which ends the dump.
	 */
	int (*dump)(const struct netlink_peer *peer, const struct reply *reply, struct datagram *d,
		uint32_t *next);
	/* only for commands about one kind of resource; otherwise NULL */
	const struct nldev_resource *resource;
};

/* nldev_device.c: devices, ports, character devices, the system. */
extern const struct nldev_command nldev_get, nldev_port_get, nldev_get_chardev, nldev_sys_get;
/* nldev_resource.c: objects that programs hold. */
extern const struct nldev_command nldev_res_get, nldev_res_pd_get, nldev_res_cq_get,
	nldev_res_qp_get, nldev_res_cm_id_get, nldev_res_mr_get, nldev_res_ctx_get,
	nldev_res_srq_get;

/* nldev_counter.c: counters. */
extern const struct nldev_command nldev_stat_get, nldev_stat_get_status;

/* Returns the adapter with this index, or NULL. */
struct softhca_dev *nldev_find(int64_t dev_index);
/* Writes the index and the name of an adapter. Most answers begin with them. */
void nldev_put_handle(struct datagram *d, const struct softhca_dev *dev);

#endif
