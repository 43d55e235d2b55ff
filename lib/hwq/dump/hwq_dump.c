/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes WQEs and CQEs as text. A table lists the segments of each opcode. */
#include "hwq_dump.h"

#include <string.h>

#include "hwq_dump_addr.h"
#include "hwq_dump_key.h"
#include "hwq_dump_text.h"
#include "hwq_qp.h"
#include "hwq_srq.h"
#include "hwq_wire.h"

enum segment {
	SEG_NONE,
	SEG_RADDR,
	SEG_MMO,
	SEG_DATA, /* data segments or inline data, up to the WQE's end */
	SEG_SRC,
	SEG_DST,
	SEG_UMR, /* all parts of a UMR, up to the WQE's end: see hwq_dump_key.c */
	SEG_PSV,
	SEG_ATOMIC,
};

struct opcode_info {
	uint8_t opcode;
	const char *name;
	enum segment segs[4]; /* the segments that follow the control segment */
};

static const struct opcode_info opcodes[] = {
	{MLX5_OPCODE_NOP, "NOP", {SEG_NONE}},
	{MLX5_OPCODE_RDMA_WRITE, "RDMA_WRITE", {SEG_RADDR, SEG_DATA}},
	{MLX5_OPCODE_RDMA_READ, "RDMA_READ", {SEG_RADDR, SEG_DATA}},
	{MLX5_OPCODE_RDMA_WRITE_IMM, "RDMA_WRITE_IMM", {SEG_RADDR, SEG_DATA}},
	{MLX5_OPCODE_SEND, "SEND", {SEG_DATA}},
	{MLX5_OPCODE_SEND_IMM, "SEND_IMM", {SEG_DATA}},
	{MLX5_OPCODE_SEND_INVAL, "SEND_INVAL", {SEG_DATA}},
	{MLX5_OPCODE_TSO, "TSO", {SEG_DATA}},
	{MLX5_OPCODE_ATOMIC_CS, "ATOMIC_CS", {SEG_RADDR, SEG_ATOMIC, SEG_DATA}},
	{MLX5_OPCODE_ATOMIC_FA, "ATOMIC_FA", {SEG_RADDR, SEG_ATOMIC, SEG_DATA}},
	{MLX5_OPCODE_UMR, "UMR", {SEG_UMR}},
	{MLX5_OPCODE_SET_PSV, "SET_PSV", {SEG_PSV}},
	{MLX5_OPCODE_MMO, "MMO", {SEG_MMO, SEG_SRC, SEG_DST}},
};

static const char *const cqe_opcodes[16] = {
	[MLX5_CQE_REQ] = "REQ",
	[MLX5_CQE_RESP_WR_IMM] = "RESP_WR_IMM",
	[MLX5_CQE_RESP_SEND] = "RESP_SEND",
	[MLX5_CQE_RESP_SEND_IMM] = "RESP_SEND_IMM",
	[MLX5_CQE_RESP_SEND_INV] = "RESP_SEND_INV",
	[MLX5_CQE_RESIZE_CQ] = "RESIZE_CQ",
	[MLX5_CQE_NO_PACKET] = "NO_PACKET",
	[MLX5_CQE_SIG_ERR] = "SIG_ERR",
	[MLX5_CQE_REQ_ERR] = "REQ_ERR",
	[MLX5_CQE_RESP_ERR] = "RESP_ERR",
	[MLX5_CQE_INVALID] = "INVALID",
};

static struct text
text_start(char *at, size_t room)
{
	if (room != 0)
		at[0] = '\0';
	return (struct text){.at = at, .room = room};
}

static const struct opcode_info *
opcode_find(uint8_t opcode)
{
	size_t i;

	for (i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++) {
		if (opcodes[i].opcode == opcode)
			return &opcodes[i];
	}
	return NULL;
}

/* ------------------------------------------------------------------ WQEs */

static void
dump_raddr(struct text *t, const uint8_t *at)
{
	struct mlx5_wqe_raddr_seg seg;

	memcpy(&seg, at, sizeof(seg));
	hwq_text_add(t, "  raddr addr 0x%016llx rkey 0x%08x\n",
		(unsigned long long)be64toh(seg.raddr), be32toh(seg.rkey));
}

static void
dump_mmo(struct text *t, const uint8_t *at)
{
	struct hwq_wire_mmo_seg seg;

	memcpy(&seg, at, sizeof(seg));
	hwq_text_add(t, "  mmo control 0x%08x opaque addr 0x%016llx lkey 0x%08x\n",
		be32toh(seg.control), (unsigned long long)be64toh(seg.addr), be32toh(seg.lkey));
}

static void
dump_data(struct text *t, const char *name, const uint8_t *at)
{
	struct mlx5_wqe_data_seg seg;

	memcpy(&seg, at, sizeof(seg));
	hwq_text_add(t, "  %s addr 0x%016llx len %u lkey 0x%08x\n", name,
		(unsigned long long)be64toh(seg.addr), be32toh(seg.byte_count), be32toh(seg.lkey));
}

/* Returns the DS units of the inline segment, at least one. Bytes beyond left are not read. */
static size_t
dump_inline(struct text *t, const uint8_t *at, size_t left)
{
	size_t i, len;
	__be32 word;

	memcpy(&word, at, sizeof(word));
	len = be32toh(word) & ~MLX5_INLINE_SEG;
	hwq_text_add(t, "  inline len %zu:", len);
	for (i = 0; i < len && i < left - sizeof(word); i++)
		hwq_text_add(t, " %02x", at[sizeof(word) + i]);
	hwq_text_add(t, "%s\n", i < len ? " ..." : "");
	return (len + sizeof(word) + HWQ_DS_LEN - 1) / HWQ_DS_LEN;
}

/*
 * Writes one segment. If the table has no segment, writes one DS in hex. Returns the number of DS
 * units that were written.
 */
static size_t
dump_segment(struct text *t, enum segment seg, const uint8_t *at, size_t left)
{
	switch (seg) {
	case SEG_RADDR:
		dump_raddr(t, at);
		return 1;
	case SEG_MMO:
		dump_mmo(t, at);
		return 1;
	case SEG_SRC:
		dump_data(t, "src", at);
		return 1;
	case SEG_DST:
		dump_data(t, "dst", at);
		return 1;
	case SEG_UMR:
		return hwq_dump_umr(t, at, left);
	case SEG_ATOMIC:
		hwq_dump_atomic(t, at);
		return 1;
	case SEG_PSV:
		hwq_dump_set_psv(t, at);
		return 1;
	case SEG_DATA:
		if (at[0] & 0x80)
			return dump_inline(t, at, left);
		dump_data(t, "data", at);
		return 1;
	default:
		hwq_dump_hex(t, at);
		return 1;
	}
}

static void
dump_ctrl(struct text *t, const struct mlx5_wqe_ctrl_seg *ctrl, const struct opcode_info *info)
{
	uint32_t word = be32toh(ctrl->opmod_idx_opcode);
	uint32_t qpn_ds = be32toh(ctrl->qpn_ds);

	hwq_text_add(t, "WQE 0x%04x qpn 0x%06x ", (word >> 8) & 0xffff, qpn_ds >> 8);
	if (info != NULL)
		hwq_text_add(t, "%s", info->name);
	else
		hwq_text_add(t, "opcode 0x%02x", word & 0xff);
	hwq_text_add(t, " opmod 0x%02x ds %u imm 0x%08x%s%s%s%s", word >> 24, qpn_ds & HWQ_DS_MAX,
		be32toh(ctrl->imm), ctrl->fm_ce_se & MLX5_WQE_CTRL_CQ_UPDATE ? " SIGNALED" : "",
		ctrl->fm_ce_se & MLX5_WQE_CTRL_SOLICITED ? " SOLICITED" : "",
		ctrl->fm_ce_se & MLX5_WQE_CTRL_FENCE ? " FENCE" : "",
		ctrl->fm_ce_se & MLX5_WQE_CTRL_INITIATOR_SMALL_FENCE ? " SMALL_FENCE" : "");
	if (ctrl->dci_stream_channel_id != 0)
		hwq_text_add(t, " stream %u", be16toh(ctrl->dci_stream_channel_id));
	hwq_text_add(t, "\n");
}

/*
 * Writes the segments that a transport puts before the segments of an operation. Returns the number
 * of DS units that were written.
 */
static size_t
dump_transport(struct text *t, enum hwq_transport transport, enum segment first, const uint8_t *at,
	size_t left)
{
	if (left < HWQ_DS_LEN || (first != SEG_RADDR && first != SEG_DATA))
		return 0;
	switch (transport) {
	case HWQ_TRANSPORT_UD:
	case HWQ_TRANSPORT_DC:
		return hwq_dump_av(t, at, left, transport == HWQ_TRANSPORT_DC);
	case HWQ_TRANSPORT_XRC:
		hwq_dump_xrc(t, at);
		return 1;
	case HWQ_TRANSPORT_ETH:
		return hwq_dump_eth(t, at, left);
	default:
		return 0;
	}
}

size_t
hwq_dump_wqe(const void *wqe, size_t wqe_len, char *out, size_t out_len)
{
	return hwq_dump_wqe_as(HWQ_TRANSPORT_NONE, wqe, wqe_len, out, out_len);
}

size_t
hwq_dump_wqe_as(enum hwq_transport transport, const void *wqe, size_t wqe_len, char *out,
	size_t out_len)
{
	struct text t = text_start(out, out_len);
	const struct opcode_info *info;
	struct mlx5_wqe_ctrl_seg ctrl;
	size_t at, end, n = 0;

	if (wqe_len < sizeof(ctrl)) {
		hwq_text_add(&t, "no WQE: %zu bytes\n", wqe_len);
		return t.len;
	}
	memcpy(&ctrl, wqe, sizeof(ctrl));
	info = opcode_find(be32toh(ctrl.opmod_idx_opcode) & 0xff);
	dump_ctrl(&t, &ctrl, info);
	end = (be32toh(ctrl.qpn_ds) & HWQ_DS_MAX) * HWQ_DS_LEN;
	if (end > wqe_len)
		end = wqe_len / HWQ_DS_LEN * HWQ_DS_LEN;
	at = sizeof(ctrl);
	if (end > at)
		at += HWQ_DS_LEN * dump_transport(&t, transport,
					   info != NULL ? info->segs[0] : SEG_NONE,
					   (const uint8_t *)wqe + at, end - at);
	while (at < end) {
		enum segment seg = info != NULL && n < 4 ? info->segs[n] : SEG_NONE;

		at += HWQ_DS_LEN * dump_segment(&t, seg, (const uint8_t *)wqe + at, end - at);
		/* Data segments may repeat up to the WQE's end, so n does not advance past them. */
		if (seg != SEG_DATA)
			n++;
	}
	return t.len;
}

size_t
hwq_dump_sq_wqe(const struct hwq_sq *sq, uint16_t wqe_counter, char *out, size_t out_len)
{
	size_t left = hwq_sq_tail_bb(sq, wqe_counter) * (size_t)HWQ_BB_LEN;

	return hwq_dump_wqe_as((enum hwq_transport)sq->wr.transport, hwq_sq_at(sq, wqe_counter),
		left, out, out_len);
}

/* ------------------------------------------------------------------ CQEs */

size_t
hwq_dump_record(const struct hwq_cqe *cqe, char *out, size_t out_len)
{
	struct text t = text_start(out, out_len);
	const struct opcode_info *info = opcode_find(cqe->wqe_opcode);
	const char *kind = cqe->opcode < 16 ? cqe_opcodes[cqe->opcode] : NULL;

	hwq_text_add(&t, "CQE qpn 0x%06x WQE 0x%04x ", cqe->qpn, cqe->wqe_counter);
	if (kind != NULL)
		hwq_text_add(&t, "%s", kind);
	else
		hwq_text_add(&t, "opcode 0x%x", cqe->opcode);
	if (cqe->opcode == MLX5_CQE_REQ || cqe->opcode == MLX5_CQE_REQ_ERR)
		hwq_text_add(&t, " of %s (0x%02x)", info != NULL ? info->name : "unknown opcode",
			cqe->wqe_opcode);
	if (cqe->opcode == MLX5_CQE_SIG_ERR)
		hwq_dump_sig_err(&t, &cqe->sig);
	else if (cqe->opcode == MLX5_CQE_REQ_ERR || cqe->opcode == MLX5_CQE_RESP_ERR)
		hwq_text_add(&t, ": %s (syndrome 0x%02x vendor 0x%02x hw 0x%02x)",
			hwq_syndrome_str(cqe->syndrome), cqe->syndrome, cqe->vendor_err,
			cqe->hw_syndrome);
	else if (cqe->opcode >= MLX5_CQE_RESP_WR_IMM && cqe->opcode <= MLX5_CQE_RESP_SEND_INV)
		hwq_dump_recv(&t, cqe);
	else
		hwq_text_add(&t, " byte_cnt %u imm 0x%08x", cqe->byte_cnt, be32toh(cqe->imm_inval));
	hwq_text_add(&t, "\n");
	return t.len;
}

size_t
hwq_dump_cqe(const void *cqe, char *out, size_t out_len)
{
	struct mlx5_cqe64 copy;
	struct hwq_cqe rec;

	memcpy(&copy, cqe, sizeof(copy));
	hwq_cqe_decode(&copy, &rec);
	return hwq_dump_record(&rec, out, out_len);
}

/* ------------------------------------------------------------------ failed work */

static void
dump_recv_list(struct text *t, const uint8_t *at, unsigned int n)
{
	unsigned int i;
	__be32 lkey;

	for (i = 0; i < n; i++, at += HWQ_DS_LEN) {
		memcpy(&lkey, at + offsetof(struct mlx5_wqe_data_seg, lkey), sizeof(lkey));
		if (be32toh(lkey) == MLX5_INVALID_LKEY)
			break;
		dump_data(t, "receive into", at);
	}
}

size_t
hwq_dump_completion(const struct hwq_cqe *cqe, const struct hwq_qp *qp, char *out, size_t out_len)
{
	size_t len = hwq_dump_record(cqe, out, out_len), at = len < out_len ? len : out_len;
	struct text t = text_start(out + at, out_len - at);

	if (cqe->opcode == MLX5_CQE_REQ || cqe->opcode == MLX5_CQE_REQ_ERR)
		return len + (qp->sq.buf == NULL ? 0
						 : hwq_dump_sq_wqe(&qp->sq, cqe->wqe_counter,
							   out + at, out_len - at));
	if (cqe->opcode == MLX5_CQE_SIG_ERR)
		return len;
	if (qp->srq != NULL)
		dump_recv_list(&t,
			(const uint8_t *)(hwq_srq_entry(qp->srq, cqe->wqe_counter & qp->srq->mask) +
					  1),
			qp->srq->max_sge);
	else if (qp->rq.buf != NULL)
		dump_recv_list(&t,
			qp->rq.buf + (size_t)(cqe->wqe_counter & qp->rq.mask) * qp->rq.stride,
			qp->rq.max_sge);
	return len + t.len;
}
