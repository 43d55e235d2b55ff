/* SPDX-License-Identifier: BSD-3-Clause */
/* Netlink requests, acknowledgements, errors and dumps: netlink(7). */
#include "netlink.h"

#include <errno.h>
#include <string.h>

#include "nl_message.h"
#include "nldev.h"

/* The maximum of bytes of a request that an error repeats, if the datagram has room. */
#define REQUEST_MAX 1024

static const struct nldev_command *const commands[RDMA_NLDEV_NUM_OPS] = {
	[RDMA_NLDEV_CMD_GET] = &nldev_get,
	[RDMA_NLDEV_CMD_PORT_GET] = &nldev_port_get,
	[RDMA_NLDEV_CMD_GET_CHARDEV] = &nldev_get_chardev,
	[RDMA_NLDEV_CMD_SYS_GET] = &nldev_sys_get,
	[RDMA_NLDEV_CMD_STAT_GET] = &nldev_stat_get,
	[RDMA_NLDEV_CMD_STAT_GET_STATUS] = &nldev_stat_get_status,
	[RDMA_NLDEV_CMD_RES_GET] = &nldev_res_get,
	[RDMA_NLDEV_CMD_RES_PD_GET] = &nldev_res_pd_get,
	[RDMA_NLDEV_CMD_RES_CQ_GET] = &nldev_res_cq_get,
	[RDMA_NLDEV_CMD_RES_QP_GET] = &nldev_res_qp_get,
	[RDMA_NLDEV_CMD_RES_CM_ID_GET] = &nldev_res_cm_id_get,
	[RDMA_NLDEV_CMD_RES_MR_GET] = &nldev_res_mr_get,
	[RDMA_NLDEV_CMD_RES_CTX_GET] = &nldev_res_ctx_get,
	[RDMA_NLDEV_CMD_RES_SRQ_GET] = &nldev_res_srq_get,
};

/* ---------------------------------------------------------------- single answers */

static bool
post(struct netlink_peer *peer, const struct datagram *d)
{
	return peer->queue(peer, d->bytes, d->len);
}

/* Sends NLMSG_ERROR: an error, or an acknowledgement if error is 0. */
static void
send_error(struct netlink_peer *peer, const struct nlmsghdr *request, int error)
{
	const bool whole = error != 0 && !peer->cap_ack && request->nlmsg_len <= REQUEST_MAX;
	const struct reply reply = {.type = NLMSG_ERROR,
		.flags = whole ? 0 : NLM_F_CAPPED,
		.seq = request->nlmsg_seq,
		.port = peer->port};
	const size_t len = whole ? request->nlmsg_len : sizeof(*request);
	struct datagram d = {0};
	const size_t begin = message_begin(&d, &reply);

	put_bytes(&d, &error, sizeof(error));
	put_bytes(&d, request, len);
	message_end(&d, begin);
	(void)post(peer, &d);
}

static int
answer_one(struct netlink_peer *peer, const struct nlmsghdr *request,
	const struct nldev_command *command, const struct attributes *attrs)
{
	const struct reply reply = {.type = request->nlmsg_type,
		.seq = request->nlmsg_seq,
		.port = peer->port};
	struct datagram d = {0};
	const size_t begin = message_begin(&d, &reply);
	int rc = command->get(peer, command, attrs, &d);

	if (rc == 0 && d.full)
		rc = -EMSGSIZE;
	if (rc != 0)
		return rc;
	message_end(&d, begin);
	return post(peer, &d) ? 0 : -ENOBUFS;
}

/* ---------------------------------------------------------------- dumps */

static bool
send_done(struct netlink_peer *peer, const struct reply *dump)
{
	const struct reply reply = {.type = NLMSG_DONE,
		.flags = dump->flags,
		.seq = dump->seq,
		.port = dump->port};
	struct datagram d = {0};
	const size_t begin = message_begin(&d, &reply);

	put_bytes(&d, &peer->result, sizeof(peer->result));
	message_end(&d, begin);
	return post(peer, &d);
}

/*
 * Queues one datagram of the dump. Returns false if the socket is full, or if the dump has ended.
 */
static bool
dump_step(struct netlink_peer *peer)
{
	const struct reply reply = {.type = peer->type,
		.flags = NLM_F_MULTI,
		.seq = peer->seq,
		.port = peer->port};
	struct datagram d = {0};
	uint32_t next = peer->next;

	if (!peer->dumped) {
		peer->result = peer->dump->dump(peer, &reply, &d, &next);
		peer->dumped = peer->result != 0 || d.len == 0;
	}
	if (peer->dumped) {
		if (send_done(peer, &reply))
			peer->dump = NULL;
		return false;
	}
	if (!post(peer, &d))
		return false;
	peer->next = next;
	return true;
}

void
netlink_continue(struct netlink_peer *peer)
{
	while (peer->dump != NULL && dump_step(peer))
		;
}

static int
dump_start(struct netlink_peer *peer, const struct nlmsghdr *request,
	const struct nldev_command *command, const struct attributes *attrs)
{
	if (peer->dump != NULL)
		return -EBUSY;
	peer->dump = command;
	peer->type = request->nlmsg_type;
	peer->seq = request->nlmsg_seq;
	peer->dev_index = attribute_u32(attrs, RDMA_NLDEV_ATTR_DEV_INDEX);
	peer->port_index = attribute_u32(attrs, RDMA_NLDEV_ATTR_PORT_INDEX);
	peer->next = 0;
	peer->dumped = false;
	peer->result = 0;
	netlink_continue(peer);
	return 0;
}

/* ---------------------------------------------------------------- requests */

/*
 * Answers a request. Sets *dumped to true if the end of a dump serves as the acknowledgement.
 * Returns 0, -EINVAL if the command does not exist or is malformed, or -EOPNOTSUPP if only the
 * kernel has the command.
 */
static int
answer(struct netlink_peer *peer, const struct nlmsghdr *request, bool *dumped)
{
	const unsigned int client = RDMA_NL_GET_CLIENT(request->nlmsg_type);
	const unsigned int op = RDMA_NL_GET_OP(request->nlmsg_type);
	const struct nldev_command *command;
	struct attributes attrs;
	int rc;

	if (client == RDMA_NL_IWCM || client == RDMA_NL_LS)
		return -EOPNOTSUPP;
	if (client != RDMA_NL_NLDEV || op == RDMA_NLDEV_CMD_UNSPEC || op >= RDMA_NLDEV_NUM_OPS)
		return -EINVAL;
	command = commands[op];
	if (command == NULL)
		return -EOPNOTSUPP;
	rc = attributes_parse(request, &attrs);
	if (rc != 0)
		return rc;
	if ((request->nlmsg_flags & NLM_F_DUMP) == 0)
		return command->get != NULL ? answer_one(peer, request, command, &attrs) : -EINVAL;
	if (command->dump == NULL)
		return -EINVAL;
	*dumped = true;
	return dump_start(peer, request, command, &attrs);
}

void
netlink_request(struct netlink_peer *peer, const void *datagram, size_t len)
{
	const uint8_t *p = datagram;

	while (len >= sizeof(struct nlmsghdr)) {
		const struct nlmsghdr *request = (const struct nlmsghdr *)p;
		const bool asks = (request->nlmsg_flags & NLM_F_REQUEST) != 0 &&
				  request->nlmsg_type >= NLMSG_MIN_TYPE;
		bool dumped = false;
		size_t step;
		int rc;

		if (request->nlmsg_len < sizeof(*request) || request->nlmsg_len > len)
			return;
		rc = asks ? answer(peer, request, &dumped) : 0;
		if (rc != 0 || (!dumped && (request->nlmsg_flags & NLM_F_ACK) != 0))
			send_error(peer, request, rc);
		step = NLMSG_ALIGN(request->nlmsg_len);
		if (step > len)
			step = len;
		p += step;
		len -= step;
	}
}
