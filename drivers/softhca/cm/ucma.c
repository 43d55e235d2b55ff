/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of the commands of /dev/infiniband/rdma_cm. */
#include "ucma.h"

#include <errno.h>

#define END_OF(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))
#define ROW(run, in, out)                                                                          \
	{                                                                                          \
		run, sizeof(struct in), out, 0                                                     \
	}
#define ERROR(e)                                                                                   \
	{                                                                                          \
		.error = e                                                                         \
	}

static const struct ucma_command commands[UCMA_N_COMMANDS] = {
	[RDMA_USER_CM_CMD_CREATE_ID] =
		ROW(ucma_create_id, rdma_ucm_create_id, sizeof(struct rdma_ucm_create_id_resp)),
	[RDMA_USER_CM_CMD_DESTROY_ID] =
		ROW(ucma_destroy_id, rdma_ucm_destroy_id, sizeof(struct rdma_ucm_destroy_id_resp)),
	[RDMA_USER_CM_CMD_BIND_IP] = {ucma_bind_ip, END_OF(struct rdma_ucm_bind_ip, id)},
	[RDMA_USER_CM_CMD_RESOLVE_IP] = ROW(ucma_resolve_ip, rdma_ucm_resolve_ip, 0),
	[RDMA_USER_CM_CMD_RESOLVE_ROUTE] = ROW(ucma_resolve_route, rdma_ucm_resolve_route, 0),
	[RDMA_USER_CM_CMD_QUERY_ROUTE] = ROW(ucma_query_route, rdma_ucm_query,
		offsetof(struct rdma_ucm_query_route_resp, ibdev_index)),
	/* Older programs have no ECE. */
	[RDMA_USER_CM_CMD_CONNECT] = {ucma_connect, END_OF(struct rdma_ucm_connect, reserved)},
	[RDMA_USER_CM_CMD_LISTEN] = ROW(ucma_listen, rdma_ucm_listen, 0),
	[RDMA_USER_CM_CMD_ACCEPT] = {ucma_accept, END_OF(struct rdma_ucm_accept, reserved)},
	[RDMA_USER_CM_CMD_REJECT] = ROW(ucma_reject, rdma_ucm_reject, 0),
	[RDMA_USER_CM_CMD_DISCONNECT] = ROW(ucma_disconnect, rdma_ucm_disconnect, 0),
	[RDMA_USER_CM_CMD_INIT_QP_ATTR] =
		ROW(ucma_init_qp_attr, rdma_ucm_init_qp_attr, sizeof(struct ib_uverbs_qp_attr)),
	/* cm.c runs it, because it may wait. */
	[RDMA_USER_CM_CMD_GET_EVENT] =
		ROW(NULL, rdma_ucm_get_event, offsetof(struct rdma_ucm_event_resp, reserved)),
	[RDMA_USER_CM_CMD_GET_OPTION] = ERROR(-ENOSYS), /* as from the kernel */
	[RDMA_USER_CM_CMD_SET_OPTION] = ROW(ucma_set_option, rdma_ucm_set_option, 0),
	[RDMA_USER_CM_CMD_NOTIFY] = ROW(ucma_notify, rdma_ucm_notify, 0),
	[RDMA_USER_CM_CMD_MIGRATE_ID] =
		ROW(ucma_migrate_id, rdma_ucm_migrate_id, sizeof(struct rdma_ucm_migrate_resp)),
	[UCMA_WRITE_CM_EVENT] = ROW(ucma_write_cm_event, ucma_write_cm_event, 0),
	[RDMA_USER_CM_CMD_JOIN_IP_MCAST] = {ucma_no_multicast},
	[RDMA_USER_CM_CMD_LEAVE_MCAST] = {ucma_no_multicast},
	[RDMA_USER_CM_CMD_JOIN_MCAST] = {ucma_no_multicast},
	/* librdmacm sends these only if it can create ids in RDMA_PS_IB. */
	[RDMA_USER_CM_CMD_QUERY] = ERROR(-EOPNOTSUPP),
	[RDMA_USER_CM_CMD_BIND] = ERROR(-EOPNOTSUPP),
	[RDMA_USER_CM_CMD_RESOLVE_ADDR] = ERROR(-EOPNOTSUPP),
	[UCMA_RESOLVE_IB_SERVICE] = ERROR(-EOPNOTSUPP),
};

const struct ucma_command *
ucma_find(uint32_t number)
{
	return number < UCMA_N_COMMANDS ? &commands[number] : NULL;
}
