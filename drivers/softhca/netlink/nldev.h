/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands of RDMA_NL_NLDEV. Each has a row of a table. */
#ifndef SOFTHCA_NLDEV_H
#define SOFTHCA_NLDEV_H

#include "dev.h"
#include "nl_message.h"

struct nldev_resource;

struct nldev_command {
	/* Answers a request about one object with one message. NULL: there is no such answer. */
	int (*get)(const struct netlink_peer *peer, const struct nldev_command *command,
		const struct attributes *attrs, struct datagram *d);
	/*
	 * Adds the next messages of a dump to an empty datagram, and advances *next. If nothing is
	 * left, it adds nothing. -errno ends the dump.
	 */
	int (*dump)(const struct netlink_peer *peer, const struct reply *reply, struct datagram *d,
		uint32_t *next);
	const struct nldev_resource *resource; /* only commands about one kind of resource */
};

/* devices, ports, character devices, the system: nldev_device.c */
extern const struct nldev_command nldev_get, nldev_port_get, nldev_get_chardev, nldev_sys_get;
/* objects that programs hold: nldev_resource.c */
extern const struct nldev_command nldev_res_get, nldev_res_pd_get, nldev_res_cq_get,
	nldev_res_qp_get, nldev_res_cm_id_get, nldev_res_mr_get, nldev_res_ctx_get,
	nldev_res_srq_get;

/* counters: nldev_counter.c */
extern const struct nldev_command nldev_stat_get, nldev_stat_get_status;

/* The adapter with this index, or NULL. */
struct softhca_dev *nldev_find(int64_t dev_index);
/* Writes an adapter's index and name, with which most answers begin. */
void nldev_put_handle(struct datagram *d, const struct softhca_dev *dev);

#endif
