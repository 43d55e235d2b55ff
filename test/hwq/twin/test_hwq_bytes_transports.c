/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UD, XRC_SEND, DCI and raw packet QPs: work posted through stock libmlx5 and through hwq must
 * write equal bytes to the send queue, or return the same error (hwq_twin.h). Address setters are
 * called before and after the data setter.
 *
 * usage: test_hwq_bytes_transports [CASES [SEED]]
 */
#include "hwq_ah.h"
#include "hwq_twin_post.h"
#include "hwq_wqe_dc.h"

#define UD  (1u << HWQ_QP_UD)
#define XRC (1u << HWQ_QP_XRC_SEND)
#define DCI (1u << HWQ_QP_DCI)
#define RAW (1u << HWQ_QP_RAW_PACKET)

#define OPS_SEND IBV_QP_EX_WITH_SEND
#define OPS_UD   (OPS_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)
#define OPS_RDMA                                                                                   \
	(OPS_UD | IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_RDMA_WRITE |                       \
		IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ)
#define OPS_ATOMIC (IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)
#define OPS_INV    IBV_QP_EX_WITH_LOCAL_INV

#define N_AHS   8
#define MAX_TSO 200

/* One address, as libmlx5's handle and as hwq's handle. */
static struct {
	struct ibv_ah *stock;
	struct hwq_ah hwq;
} ahs[N_AHS];

/* The arguments of a builder and its setters. */
struct own {
	struct twin_args args;
	struct twin_data data;
	unsigned int ah;
	uint32_t number; /* QPN, DCT number or SRQ number */
	uint32_t qkey;
	uint64_t dc_key;
	uint16_t stream;
	/* Arguments of a TSO request. */
	uint16_t hdr_len, mss;
	uint8_t hdr[2 * MAX_TSO];
};

/* ------------------------------------------------------------------ sets of setters */

static const char *const ud_setters[] = {"sge ud_addr", "sge_list ud_addr", "inline ud_addr",
	"inline_list ud_addr", "ud_addr sge", "ud_addr sge_list", "ud_addr inline",
	"ud_addr inline_list", NULL};
static const char *const xrc_setters[] = {"sge srqn", "sge_list srqn", "inline srqn",
	"inline_list srqn", "srqn sge", "srqn sge_list", "srqn inline", "srqn inline_list", NULL};
static const char *const xrc_memory_setters[] = {"sge srqn", "sge_list srqn", "srqn sge",
	"srqn sge_list", NULL};
static const char *const dc_setters[] = {"sge dc_addr", "sge_list dc_addr", "inline dc_addr",
	"inline_list dc_addr", "dc_addr sge", "dc_addr sge_list", "dc_addr inline",
	"dc_addr inline_list", "sge dc_stream", "sge_list dc_stream", "inline dc_stream",
	"inline_list dc_stream", "dc_stream sge", "dc_stream sge_list", "dc_stream inline",
	"dc_stream inline_list", NULL};
static const char *const dc_memory_setters[] = {"sge dc_addr", "sge_list dc_addr", "dc_addr sge",
	"dc_addr sge_list", "sge dc_stream", "sge_list dc_stream", "dc_stream sge",
	"dc_stream sge_list", NULL};

/*
 * The meaning of w->setter: the data setter, whether the address setter is called first, and
 * whether there is a stream.
 */
struct chosen {
	enum twin_setter data;
	bool address_first, stream;
};

static struct chosen
chosen(const struct twin_work *w)
{
	unsigned int n = w->builder->code >= TWIN_READ ? 2 : TWIN_DATA_SETTERS;

	return (struct chosen){w->setter % n, w->setter / n % 2 != 0, w->setter / n / 2 != 0};
}

static void
draw(struct twin_pair *p, struct twin_work *w)
{
	struct own *o = TWIN_OWN(w, struct own);

	twin_draw_args(p, &o->args);
	twin_draw_data(p, chosen(w).data, &o->data);
	if ((w->builder->code == TWIN_CMP_SWP || w->builder->code == TWIN_FETCH_ADD) &&
		twin_one_in(2))
		o->data.sge[0].length = sizeof(uint64_t);
	o->ah = (unsigned int)twin_draw(N_AHS);
	o->number = (uint32_t)twin_draw(1u << 24);
	o->qkey = (uint32_t)twin_random();
	o->dc_key = twin_random();
	o->stream = (uint16_t)twin_random();
}

static void
stock_address(struct twin_pair *p, const struct own *o, bool stream)
{
	struct ibv_ah *ah = ahs[o->ah].stock;

	switch (p->conf.type) {
	case HWQ_QP_UD:
		ibv_wr_set_ud_addr(p->stock.ex, ah, o->number, o->qkey);
		break;
	case HWQ_QP_XRC_SEND:
		ibv_wr_set_xrc_srqn(p->stock.ex, o->number);
		break;
	default:
		if (stream)
			mlx5dv_wr_set_dc_addr_stream(p->stock.dv, ah, o->number, o->dc_key,
				o->stream);
		else
			mlx5dv_wr_set_dc_addr(p->stock.dv, ah, o->number, o->dc_key);
		break;
	}
}

static void
stock(struct twin_pair *p, const struct twin_work *w)
{
	const struct own *o = TWIN_OWN(w, const struct own);
	struct chosen c = chosen(w);

	twin_stock_op(p, w->builder->code, &o->args);
	if (c.address_first)
		stock_address(p, o, c.stream);
	twin_stock_data(p, c.data, &o->data);
	if (!c.address_first)
		stock_address(p, o, c.stream);
}

static HWQ_INLINE void
hwq_address(struct hwq_wr *wr, const struct own *o, bool stream, enum hwq_qp_type type)
{
	const struct hwq_ah *ah = &ahs[o->ah].hwq;

	if (type == HWQ_QP_UD)
		hwq_wr_set_ud_addr(wr, ah, o->number, o->qkey);
	else if (type == HWQ_QP_XRC_SEND)
		hwq_wr_set_xrc_srqn(wr, o->number);
	else if (stream)
		hwq_wr_set_dc_addr_stream(wr, ah, o->number, o->dc_key, o->stream);
	else
		hwq_wr_set_dc_addr(wr, ah, o->number, o->dc_key);
}

static HWQ_INLINE void
hwq_setters(struct hwq_wr *wr, const struct twin_work *w, enum hwq_qp_type type)
{
	const struct own *o = TWIN_OWN(w, const struct own);
	struct chosen c = chosen(w);

	if (c.address_first)
		hwq_address(wr, o, c.stream, type);
	twin_hwq_data(wr, c.data, &o->data);
	if (!c.address_first)
		hwq_address(wr, o, c.stream, type);
}

/* ------------------------------------------------------------------ by hwq_wqe_dc.h */

static uint8_t
dc_opcode(enum twin_code code)
{
	switch (code) {
	case TWIN_SEND:
		return MLX5_OPCODE_SEND;
	case TWIN_SEND_IMM:
		return MLX5_OPCODE_SEND_IMM;
	case TWIN_SEND_INV:
		return MLX5_OPCODE_SEND_INVAL;
	case TWIN_WRITE:
		return MLX5_OPCODE_RDMA_WRITE;
	case TWIN_WRITE_IMM:
		return MLX5_OPCODE_RDMA_WRITE_IMM;
	default:
		return MLX5_OPCODE_RDMA_READ;
	}
}

static __be32
dc_imm(enum twin_code code, const struct own *o)
{
	switch (code) {
	case TWIN_SEND_IMM:
	case TWIN_WRITE_IMM:
		return o->args.imm;
	case TWIN_SEND_INV:
		return htobe32(o->args.imm);
	default:
		return 0;
	}
}

/* The old value of an atomic is 8 bytes long. */
static int
dc_atomic(struct hwq_sq *sq, const struct hwq_dc_dest *dest, const struct own *o, bool compare,
	unsigned int flags)
{
	const struct ibv_sge *sge = &o->data.sge[0];
	const struct twin_args *a = &o->args;

	if (sge->length != 8)
		return TWIN_HAS_NOT;
	if (compare)
		return hwq_wqe_dc_atomic_cmp_swp(sq, dest, a->rkey, a->raddr, sge->lkey, sge->addr,
			a->operand[0], a->operand[1], flags);
	return hwq_wqe_dc_atomic_fetch_add(sq, dest, a->rkey, a->raddr, sge->lkey, sge->addr,
		a->operand[0], flags);
}

/* hwq_wqe_dc.h has no such builder for lists and streams. */
static int
direct(struct twin_pair *p, const struct twin_work *w)
{
	const struct own *o = TWIN_OWN(w, const struct own);
	const struct ibv_sge *sge = &o->data.sge[0];
	enum twin_code code = w->builder->code;
	unsigned int flags = twin_hwq_flags(w->flags);
	struct hwq_sq *sq = &p->twin.qp->sq;
	struct chosen c = chosen(w);
	struct hwq_dc_dest dest;

	if (p->conf.type != HWQ_QP_DCI || c.stream || (c.data != TWIN_SGE && c.data != TWIN_INLINE))
		return TWIN_HAS_NOT;
	hwq_dc_dest_set(&dest, &ahs[o->ah].hwq, o->number, o->dc_key);
	if (c.data == TWIN_INLINE)
		return hwq_wqe_dc_inline(sq, &dest, dc_opcode(code), o->args.rkey, o->args.raddr,
			o->data.bytes, o->data.len, flags, dc_imm(code, o));
	if (code == TWIN_CMP_SWP || code == TWIN_FETCH_ADD)
		return dc_atomic(sq, &dest, o, code == TWIN_CMP_SWP, flags);
	return hwq_wqe_dc_one(sq, &dest, dc_opcode(code), o->args.rkey, o->args.raddr, sge->lkey,
		sge->addr, sge->length, flags, dc_imm(code, o));
}

/* ------------------------------------------------------------------ raw packets */

enum frame_code {
	FRAME,
	TSO
};

/*
 * If the first bytes of a frame must be inline, both libraries read them. So the data are real
 * memory of about that length. A piece of exactly that length is not drawn, because libmlx5 44
 * sends it twice (doc/hwq.md).
 */
static void
draw_header_data(struct twin_pair *p, struct twin_work *w)
{
	struct twin_data *d = &TWIN_OWN(w, struct own)->data;
	uint32_t header = p->twin.qp->sq.wr.eth_inline;
	unsigned int i;

	for (i = 0; i < d->n && w->setter <= TWIN_SGE_LIST; i++) {
		d->sge[i].addr = (uintptr_t)twin_mem + twin_draw(TWIN_MEM_LEN - 4096);
		d->sge[i].length = twin_draw(3) == 0 ? (uint32_t)twin_draw(4096)
						     : (uint32_t)twin_draw(2 * header);
	}
	if (w->setter == TWIN_SGE && d->sge[0].length == header)
		d->sge[0].length++;
	if (w->setter == TWIN_INLINE && d->len == header)
		d->len++;
}

static void
draw_frame(struct twin_pair *p, struct twin_work *w)
{
	twin_draw_data(p, w->setter, &TWIN_OWN(w, struct own)->data);
	if (p->twin.qp->sq.wr.eth_inline != 0)
		draw_header_data(p, w);
}

static void
stock_frame(struct twin_pair *p, const struct twin_work *w)
{
	ibv_wr_send(p->stock.ex);
	twin_stock_data(p, w->setter, &TWIN_OWN(w, const struct own)->data);
}

/*
 * The 16-byte units before the data of a TSO WQE, and the position in libmlx5's ring at which they
 * end.
 */
static unsigned int
tso_head_ds(unsigned int hdr_len)
{
	return 2 + (hdr_len - 2 + 15) / 16;
}

static size_t
ring_len(const struct twin_pair *p)
{
	return (size_t)p->stock.view.sq.wqe_cnt * 64;
}

/*
 * Headers that end exactly at the ring's end are not drawn, because libmlx5 44 then writes data
 * beyond the ring. A batch of such a pair has one work request, so that the start of the request is
 * known.
 */
static void
draw_tso(struct twin_pair *p, struct twin_work *w)
{
	struct own *o = TWIN_OWN(w, struct own);
	size_t at = p->stock.at * 64 % ring_len(p);
	unsigned int i;

	twin_draw_data(p, w->setter, &o->data);
	do
		o->hdr_len = (uint16_t)(14 + twin_draw(p->conf.max_tso_header - 13));
	while (at + tso_head_ds(o->hdr_len) * 16 == ring_len(p));
	if (twin_draw(100) == 0)
		o->hdr_len = twin_draw(2) == 0 ? (uint16_t)twin_draw(14)
					       : (uint16_t)(p->conf.max_tso_header + 1);
	o->mss = (uint16_t)twin_random();
	for (i = 0; i < o->hdr_len; i++)
		o->hdr[i] = (uint8_t)twin_random();
}

static void
stock_tso(struct twin_pair *p, const struct twin_work *w)
{
	const struct own *o = TWIN_OWN(w, const struct own);

	ibv_wr_send_tso(p->stock.ex, (void *)(uintptr_t)o->hdr, o->hdr_len, o->mss);
	/*
	 * After an error, libmlx5's data setters write to the end of the previous work request, so
	 * they are not called.
	 */
	if (o->hdr_len >= 14 && o->hdr_len <= p->conf.max_tso_header)
		twin_stock_data(p, w->setter, &o->data);
}

static HWQ_INLINE void
hwq_frame(struct hwq_wr *wr, const struct twin_work *w)
{
	const struct own *o = TWIN_OWN(w, const struct own);

	if (w->builder->code == TSO)
		hwq_wr_send_tso(wr, o->hdr, o->hdr_len, o->mss);
	else
		hwq_wr_send(wr);
	twin_hwq_data(wr, w->setter, &o->data);
}

static unsigned long mended;

/*
 * If headers cross the end of the ring, libmlx5 44 leaves 32 bytes between headers and data, which
 * DS does not count (doc/hwq.md).
 */
static void
names_tso(struct twin_pair *p, const struct twin_work *w, unsigned int nth, uint8_t *theirs,
	uint8_t *ours)
{
	const struct own *o = TWIN_OWN(w, const struct own);
	unsigned int ds = theirs[7] & 63, i;
	size_t at = (p->stock.at - (ds + 3) / 4) * 64 % ring_len(p);
	const uint8_t *ring = p->stock.view.sq.buf;

	(void)nth, (void)ours;
	if (at + 30 + o->hdr_len <= ring_len(p))
		return;
	mended++;
	for (i = tso_head_ds(o->hdr_len); i < ds; i++)
		memcpy(theirs + i * 16, ring + (at + (i + 2) * 16) % ring_len(p), 16);
}

/* ------------------------------------------------------------------ posting it through hwq */

static HWQ_INLINE void
twin_hwq_own(struct hwq_wr *wr, const struct twin_work *w, enum hwq_qp_type type)
{
	const struct own *o = TWIN_OWN(w, const struct own);

	if (type == HWQ_QP_RAW_PACKET) {
		hwq_frame(wr, w);
		return;
	}
	twin_hwq_op(wr, w->builder->code, &o->args);
	hwq_setters(wr, w, type);
}

static int
post(struct twin_pair *p, const struct twin_work *w, unsigned int n, bool abort)
{
	switch (p->conf.type) {
	case HWQ_QP_UD:
		return twin_batch(p, w, n, abort, HWQ_QP_UD);
	case HWQ_QP_XRC_SEND:
		return twin_batch(p, w, n, abort, HWQ_QP_XRC_SEND);
	case HWQ_QP_DCI:
		return twin_batch(p, w, n, abort, HWQ_QP_DCI);
	default:
		return twin_batch(p, w, n, abort, HWQ_QP_RAW_PACKET);
	}
}

/* ------------------------------------------------------------------ builders and queues */

#define BUILDER(prefix, x, x_types, x_code, x_ops, x_setters)                                      \
	static const struct twin_builder prefix##_##x = {.name = #x,                               \
		.types = x_types,                                                                  \
		.code = x_code,                                                                    \
		.send_ops = x_ops,                                                                 \
		.setters = x_setters,                                                              \
		.flags = TWIN_RDMA_FLAGS,                                                          \
		.draw = draw,                                                                      \
		.stock = stock,                                                                    \
		.direct = direct}

BUILDER(ud, send, UD, TWIN_SEND, OPS_SEND, ud_setters);
BUILDER(ud, send_imm, UD, TWIN_SEND_IMM, IBV_QP_EX_WITH_SEND_WITH_IMM, ud_setters);

/* The builders of XRC and DCI differ only in their setters. */
#define REMOTE_BUILDERS(prefix, type)                                                              \
	BUILDER(prefix, send, type, TWIN_SEND, OPS_SEND, prefix##_setters);                        \
	BUILDER(prefix, send_imm, type, TWIN_SEND_IMM, IBV_QP_EX_WITH_SEND_WITH_IMM,               \
		prefix##_setters);                                                                 \
	BUILDER(prefix, send_inv, type, TWIN_SEND_INV, IBV_QP_EX_WITH_SEND_WITH_INV,               \
		prefix##_setters);                                                                 \
	BUILDER(prefix, rdma_write, type, TWIN_WRITE, IBV_QP_EX_WITH_RDMA_WRITE,                   \
		prefix##_setters);                                                                 \
	BUILDER(prefix, rdma_write_imm, type, TWIN_WRITE_IMM, IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM,  \
		prefix##_setters);                                                                 \
	BUILDER(prefix, rdma_read, type, TWIN_READ, IBV_QP_EX_WITH_RDMA_READ,                      \
		prefix##_memory_setters);                                                          \
	BUILDER(prefix, atomic_cmp_swp, type, TWIN_CMP_SWP, IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP,     \
		prefix##_memory_setters);                                                          \
	BUILDER(prefix, atomic_fetch_add, type, TWIN_FETCH_ADD,                                    \
		IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD, prefix##_memory_setters);                     \
	static const struct twin_builder *const prefix##_builders[] = {&twin_nop, &twin_raw_wqe,   \
		&twin_local_inv, &prefix##_send, &prefix##_send_imm, &prefix##_send_inv,           \
		&prefix##_rdma_write, &prefix##_rdma_write_imm, &prefix##_rdma_read,               \
		&prefix##_atomic_cmp_swp, &prefix##_atomic_fetch_add,                              \
		type == DCI ? &twin_memcpy : NULL, NULL}

REMOTE_BUILDERS(xrc, XRC);
REMOTE_BUILDERS(dc, DCI);

static const struct twin_builder raw_send = {.name = "send",
	.types = RAW,
	.send_ops = OPS_SEND,
	.setters = twin_data_setters,
	.flags = TWIN_RDMA_FLAGS | IBV_SEND_IP_CSUM,
	.draw = draw_frame,
	.stock = stock_frame};
static const struct twin_builder raw_send_tso = {.name = "send_tso",
	.types = RAW,
	.code = TSO,
	.send_ops = IBV_QP_EX_WITH_TSO,
	.setters = twin_data_setters,
	.flags = TWIN_RDMA_FLAGS | IBV_SEND_IP_CSUM,
	.draw = draw_tso,
	.stock = stock_tso,
	.names = names_tso};

static const struct twin_builder *const ud_builders[] = {&twin_nop, &twin_raw_wqe, &ud_send,
	&ud_send_imm, NULL};
static const struct twin_builder *const raw_builders[] = {&twin_nop, &twin_raw_wqe, &raw_send,
	&raw_send_tso, NULL};

static struct twin_pair pairs[] = {
	{.name = "UD",
		.builders = ud_builders,
		.conf = {.type = HWQ_QP_UD,
			.sq_wr = 32,
			.max_sge = 4,
			.max_inline = 100,
			.qkey = EMU_QKEY,
			.send_ops = OPS_UD}},
	{.name = "UD, long, sq_sig_all",
		.builders = ud_builders,
		.conf = {.type = HWQ_QP_UD,
			.sq_wr = 16,
			.max_sge = 20,
			.max_inline = 700,
			.sq_sig_all = true,
			.send_ops = OPS_UD}},
	{.name = "XRC",
		.builders = xrc_builders,
		.conf = {.type = HWQ_QP_XRC_SEND,
			.sq_wr = 16,
			.max_sge = 13,
			.max_inline = 300,
			.send_ops = OPS_RDMA | OPS_ATOMIC}},
	{.name = "XRC, local_inv",
		.builders = xrc_builders,
		.conf = {.type = HWQ_QP_XRC_SEND,
			.sq_wr = 16,
			.max_sge = 3,
			.max_inline = 40,
			.sq_sig_all = true,
			.send_ops = OPS_RDMA | OPS_ATOMIC | OPS_INV}},
	{.name = "DCI",
		.builders = dc_builders,
		.conf = {.type = HWQ_QP_DCI,
			.sq_wr = 16,
			.max_sge = 6,
			.max_inline = 200,
			.mmo = true,
			.send_ops = OPS_RDMA | OPS_ATOMIC}},
	{.name = "DCI, streams, local_inv",
		.builders = dc_builders,
		.conf = {.type = HWQ_QP_DCI,
			.sq_wr = 16,
			.max_sge = 2,
			.max_inline = 30,
			.mmo = true,
			.sq_sig_all = true,
			.dci_streams = true,
			.log_dci_streams = 2,
			.log_dci_errored = 1,
			.send_ops = OPS_RDMA | OPS_ATOMIC | OPS_INV}},
	{.name = "raw packet",
		.builders = raw_builders,
		.conf = {.type = HWQ_QP_RAW_PACKET,
			.sq_wr = 16,
			.max_sge = 8,
			.max_inline = 200,
			.send_ops = OPS_SEND}},
	{.name = "raw packet, TSO",
		.builders = raw_builders,
		.batch_max = 1,
		.conf = {.type = HWQ_QP_RAW_PACKET,
			.sq_wr = 16,
			.max_sge = 4,
			.max_inline = 100,
			.sq_sig_all = true,
			.max_tso_header = MAX_TSO,
			.send_ops = OPS_SEND | IBV_QP_EX_WITH_TSO}},
};

#define N_PAIRS (sizeof(pairs) / sizeof(pairs[0]))

/* ------------------------------------------------------------------ addresses */

/* libmlx5's own address handle must equal hwq_ah_create() with the same attributes. */
static void
addresses_are_the_same(void)
{
	struct hwq_addr remote = {.version = HWQ_ADDR_VERSION,
		.link_layer = twin_dev->port.link_layer,
		.mtu = IBV_MTU_1024,
		.has_gid = twin_dev->port.has_gid,
		.lid = htobe16(twin_dev->port.lid)};
	struct ibv_ah_attr attr = {/* hwq uses a GRH only if the address needs it. */
		.is_global = twin_dev->port.link_layer == IBV_LINK_LAYER_ETHERNET,
		.port_num = twin_dev->port.port,
		.dlid = twin_dev->port.lid,
		.grh = {.sgid_index = twin_dev->port.gid_index, .hop_limit = 64}};
	struct hwq_ah by_verbs, by_hwq;
	struct ibv_ah *ah;

	memcpy(remote.gid, twin_dev->port.gid, 16);
	memcpy(attr.grh.dgid.raw, twin_dev->port.gid, 16);
	ah = ibv_create_ah(twin_dev->pd, &attr);
	if (ah == NULL)
		EMU_DIE("a stock address handle: %s", strerror(errno));
	CHECK_EQ(hwq_ah_from_verbs(ah, &by_verbs), 0, "from a verbs handle");
	CHECK_EQ(hwq_ah_create(twin_dev, &remote, &by_hwq), 0, "from a peer's address");
	/*
	 * On Ethernet, without a flow label, libmlx5 draws a random UDP source port of 0xc000 or
	 * above.
	 */
	CHECK(twin_dev->port.link_layer != IBV_LINK_LAYER_ETHERNET ||
			be16toh(by_hwq.av.rlid) >= 0xc000,
		"UDP source port 0x%x", be16toh(by_hwq.av.rlid));
	by_hwq.av.rlid = by_verbs.av.rlid;
	check_bytes(&by_hwq.av, &by_verbs.av, sizeof(by_hwq.av), "address vector");
	CHECK_EQ(hwq_ah_destroy(&by_hwq), 0, "destroy");
	CHECK_EQ(hwq_ah_destroy(&by_verbs), 0, "destroying an address that has no verbs handle");
	CHECK_EQ(ibv_destroy_ah(ah), 0, "the verbs handle");
	remote.version = 0;
	CHECK_EQ(hwq_ah_create(twin_dev, &remote, &by_hwq), -EINVAL, "no address");
	remote.version = HWQ_ADDR_VERSION;
	remote.link_layer = twin_dev->port.link_layer == IBV_LINK_LAYER_INFINIBAND
				    ? IBV_LINK_LAYER_ETHERNET
				    : IBV_LINK_LAYER_INFINIBAND;
	CHECK_EQ(hwq_ah_create(twin_dev, &remote, &by_hwq), -EPROTONOSUPPORT, "another fabric");
}

static void
open_addresses(void)
{
	unsigned int i;

	for (i = 0; i < N_AHS; i++) {
		struct ibv_ah_attr attr = {.is_global = 1,
			.port_num = twin_dev->port.port,
			.dlid = twin_dev->port.lid,
			.sl = (uint8_t)twin_draw(8),
			.grh = {.sgid_index = (uint8_t)twin_draw(2),
				.hop_limit = (uint8_t)twin_draw(256),
				.traffic_class = (uint8_t)twin_draw(256),
				.flow_label = (uint32_t)twin_draw(1u << 20)}};

		memcpy(attr.grh.dgid.raw, twin_dev->port.gid, 16);
		ahs[i].stock = ibv_create_ah(twin_dev->pd, &attr);
		if (ahs[i].stock == NULL)
			EMU_DIE("a stock address handle: %s", strerror(errno));
		CHECK_EQ(hwq_ah_from_verbs(ahs[i].stock, &ahs[i].hwq), 0, "from a verbs handle");
	}
}

static void
close_addresses(void)
{
	unsigned int i;

	for (i = 0; i < N_AHS; i++)
		CHECK_EQ(ibv_destroy_ah(ahs[i].stock), 0, "destroying an address handle");
}

int
main(int argc, char **argv)
{
	twin_begin(argc, argv, 20000);
	RUN("an address handle of a peer is libmlx5's", addresses_are_the_same());
	open_addresses();
	RUN("drawn work has libmlx5's bytes and errors", twin_wild(pairs, N_PAIRS, post));
	close_addresses();
	CHECK(twin_device != NULL ||
			(twin_totals.split > 0 && twin_totals.fills > 0 &&
				twin_totals.small_fences > 0 && twin_totals.direct > 0 &&
				(mended > 0 || twin_cases < 1000)),
		"a case that must come up did not");
	return twin_end(pairs, N_PAIRS);
}
