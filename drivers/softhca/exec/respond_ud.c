/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The responder of UD: writes a network header and the payload into a receive. The sender gets no
 * report of a failure.
 */
#include "grh.h"
#include "move.h"
#include "responder_fail.h"
#include "responder_receive.h"
#include "rq_complete.h"

/*
 * The type of the packet's headers, in bits 27:24 of a completion's flags_rqpn on Ethernet (Linux,
 * include/linux/mlx5/cq.h, MLX5_CQE_ROCE_L3_HEADER_TYPE_*; UCX, uct_ib_mlx5_cqe_roce_gid_len()).
 */
enum packet_type {
	PACKET_GRH = 0, /* RoCE v1 */
	PACKET_IPV6 = 1,
	PACKET_IPV4 = 2,
	PACKET_UDP = 8 /* bit added to PACKET_IPV6 or PACKET_IPV4 for RoCE v2 */
};

#define GRH_PRESENT 1

static uint32_t
packet_type(const struct message_path *path)
{
	if (!path->is_v2)
		return PACKET_GRH;
	return PACKET_UDP | (grh_is_ipv4(path) ? PACKET_IPV4 : PACKET_IPV6);
}

/*
 * The word of a completion that describes the sender: bits 29:28 kind of header, 27:24 service
 * level or packet type, 23:0 QP number.
 */
static uint32_t
sender(const struct run *run, const struct message *m)
{
	const struct message_path *path = &m->path;
	bool ethernet = run->responder.qp->dev->cfg->link_layer == SOFTHCA_LINK_ETHERNET;

	return (path->has_grh ? (uint32_t)GRH_PRESENT << 28 : 0) |
	       (ethernet ? packet_type(path) : path->sl) << 24 | m->qpn;
}

/*
 * Joins the header and the payload to one list. Returns false if the list would have too many
 * pieces.
 */
static bool
join(struct run *run, uint8_t *header, const struct sg *payload, struct sg *whole)
{
	sg_set(whole, header, GRH_LEN);
	whole->rare = payload->rare;
	for (unsigned int i = 0; i < payload->n; i++)
		if (!sg_push(&run->use, whole, sg_pieces(payload)[i].p, sg_pieces(payload)[i].len))
			return false;
	return true;
}

unsigned int
respond_datagram(struct run *run, const struct message *m, struct answer *answer)
{
	const bool has_imm = m->op->recv == CQE_RESP_SEND_IMM;
	const uint64_t len = GRH_LEN + m->payload->len;
	const struct cqe cqe = {.opcode = (enum wire_cqe_opcode)m->op->recv,
		.solicited = m->solicited,
		.imm = has_imm ? m->imm : 0,
		.byte_cnt = (uint32_t)len,
		.slid = m->path.slid,
		.flags_rqpn = sender(run, m)};
	uint8_t header[GRH_LEN];
	struct sg to, whole;
	unsigned int result = responder_peek(run, m, len, &to, answer);

	if (result != SYN_OK)
		return result;
	grh_write(header, &m->path, m->payload->len, has_imm);
	if (!join(run, header, m->payload, &whole))
		return SYN_REM_OP;
	switch (key_use_move(&run->use, &to, &whole)) {
	case SG_NO_SRC:
		return SYN_LOC_PROT;
	case SG_NO_DST:
		responder_fail_receive(run, SYN_LOC_PROT);
		return SYN_REM_OP;
	default:
		rq_complete(run, run->responder.qp, &cqe);
		return SYN_OK;
	}
}
