/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands about a connection. */
#include <errno.h>
#include <stdatomic.h>

#include "copy.h"
#include "log.h"
#include "machine.h"
#include "notice.h"
#include "qp_attr.h"
#include "ucma.h"

#define MAX_BACKLOG 1024 /* default of the kernel: net.rdma_ucm.max_backlog */
#define QPS_ERR     6    /* the last state of enum ibv_qp_state */

/* Asynchronous events for NOTIFY: enum ibv_event_type. */
#define EVENT_COMM_EST 4

int
ucma_listen(struct ucma_call *call)
{
	const struct rdma_ucm_listen *in = &call->in.listen;
	uint32_t backlog = in->backlog;
	struct cm_id *id;
	int err = ucma_id(call, in->id, &id);

	if (backlog == 0 || backlog > MAX_BACKLOG)
		backlog = MAX_BACKLOG;
	return err != 0 ? err : machine_listen(id, backlog);
}

int
ucma_connect(struct ucma_call *call)
{
	const struct rdma_ucm_connect *in = &call->in.connect;
	struct cm_id *id;
	int err;

	if (in->conn_param.valid == 0)
		return -EINVAL;
	err = ucma_id_at_port(call, in->id, &id);
	return err != 0 ? err : machine_connect(id, &in->conn_param, &in->ece);
}

int
ucma_accept(struct ucma_call *call)
{
	const struct rdma_ucm_accept *in = &call->in.accept;
	const bool has_param = in->conn_param.valid != 0;
	struct cm_id *id;
	int err = ucma_id_at_port(call, in->id, &id);

	if (err != 0)
		return err;
	err = machine_accept(id, has_param ? &in->conn_param : NULL, &in->ece);
	if (err == 0 && has_param)
		id->uid = in->uid;
	return err;
}

int
ucma_reject(struct ucma_call *call)
{
	const struct rdma_ucm_reject *in = &call->in.reject;
	const uint8_t reason = in->reason != 0 ? in->reason : CM_REASON_CONSUMER;
	struct cm_id *id;
	int err;

	if (reason != CM_REASON_CONSUMER && reason != CM_REASON_VENDOR_OPTION)
		return -EINVAL;
	err = ucma_id_at_port(call, in->id, &id);
	return err != 0 ? err : machine_reject(id, reason, in->private_data, in->private_data_len);
}

int
ucma_disconnect(struct ucma_call *call)
{
	struct cm_id *id;
	int err = ucma_id_at_port(call, call->in.disconnect.id, &id);

	return err != 0 ? err : machine_disconnect(id);
}

int
ucma_init_qp_attr(struct ucma_call *call)
{
	const struct rdma_ucm_init_qp_attr *in = &call->in.init_qp_attr;
	struct ib_uverbs_qp_attr resp;
	struct cm_id *id;
	int err;

	if (in->qp_state > QPS_ERR)
		return -EINVAL;
	err = ucma_id_at_port(call, in->id, &id);
	if (err == 0)
		err = qp_attr(id, in->qp_state, &resp);
	return err != 0 ? err : copy_out(in->response, &resp, sizeof(resp));
}

int
ucma_notify(struct ucma_call *call)
{
	const struct rdma_ucm_notify *in = &call->in.notify;
	struct cm_id *id;
	int err = ucma_id_at_port(call, in->id, &id);

	if (err != 0)
		return err;
	return in->event == EVENT_COMM_EST ? machine_established(id) : -EINVAL;
}

int
ucma_write_cm_event(struct ucma_call *call)
{
	const struct ucma_write_cm_event *in = &call->in.write_cm_event;
	struct cm_id *id;
	int err;

	if (in->event != EVENT_USER && in->event != EVENT_INTERNAL)
		return -EINVAL;
	err = ucma_id(call, in->id, &id);
	return err != 0 ? err : notice_own(id, in->event, in->status, in->arg);
}

int
ucma_no_multicast(struct ucma_call *call)
{
	static atomic_bool said;

	(void)call;
	if (!atomic_exchange(&said, true))
		softhca_log("rdma_cm: multicast groups are not emulated: rdma_join_multicast(3) "
			    "fails with EOPNOTSUPP");
	return -EOPNOTSUPP;
}
