/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rules of gantry_desc.h. If a descriptor breaks several rules, it may get the status of any of
 * these rules.
 */
#include <endian.h>
#include <string.h>

#include <infiniband/mlx5dv.h>

#include "model.h"

/* Columns of the table in gantry_desc.h, and rules in the text beside the table. */
enum {
	SRC = 1 << 0,
	DST = 1 << 1,
	LEN = 1 << 2,
	PEER = 1 << 3,
	KEY = 1 << 4,
	IMM = 1 << 5,
	ARG0 = 1 << 6,
	ARG1 = 1 << 7,
	LOCAL_SRC = SRC | 1 << 8,
	LOCAL_DST = DST | 1 << 9,
	EMPTY = 1 << 10,   /* len may be 0 */
	MESSAGE = 1 << 11, /* uses a receive, so it may be solicited */
	LAYOUT = 1 << 12,  /* a layout may describe a local side */
	COPIES = 1 << 13,  /* a copy: source and destination must not overlap */
	CARRIED = 1 << 14, /* a flag may name the carrier */
	REMOTE = LEN | PEER | KEY,
	SENDS = LOCAL_SRC | LEN | PEER | EMPTY | MESSAGE | LAYOUT,
	ATOMICS = DST | REMOTE | ARG0,
};

/*
 * The largest number of blocks of a layout, counted in all rounds, if each block may be in its own
 * region.
 */
#define LIST_MAX 52

/* If a descriptor breaks none of these rules, the memory that it names is known. */
#define SHAPE                                                                                      \
	(MODEL_BIT(GANTRY_BAD_FIELD) | MODEL_BIT(GANTRY_BAD_LENGTH) |                              \
		MODEL_BIT(GANTRY_BAD_ADDRESS) | MODEL_BIT(GANTRY_BAD_LAYOUT))

static const uint32_t uses[GANTRY_OP_MAX] = {
	[GANTRY_OP_COPY] = LOCAL_SRC | LOCAL_DST | LEN | COPIES | CARRIED,
	[GANTRY_OP_WRITE] = LOCAL_SRC | DST | REMOTE | LAYOUT,
	[GANTRY_OP_READ] = SRC | LOCAL_DST | REMOTE | LAYOUT,
	[GANTRY_OP_COPY_SG] = SRC | DST | LEN | ARG0 | COPIES | CARRIED,
	[GANTRY_OP_FILL] = LOCAL_DST | LEN | ARG0 | CARRIED,
	[GANTRY_OP_GATHER] = LOCAL_SRC | LOCAL_DST | LEN | LAYOUT | COPIES,
	[GANTRY_OP_SCATTER] = LOCAL_SRC | LOCAL_DST | LEN | LAYOUT | COPIES,
	[GANTRY_OP_WRITE_IMM] = LOCAL_SRC | DST | REMOTE | IMM | EMPTY | MESSAGE | LAYOUT,
	[GANTRY_OP_SEND] = SENDS,
	[GANTRY_OP_SEND_IMM] = SENDS | IMM,
	[GANTRY_OP_SEND_INV] = SENDS | IMM,
	[GANTRY_OP_COMPARE_SWAP] = ATOMICS | ARG1,
	[GANTRY_OP_FETCH_ADD] = ATOMICS,
	[GANTRY_OP_RAW] = SRC | LEN | PEER,
	[GANTRY_OP_TXN] = SRC | LEN | PEER, /* always refused: these queues have no transactions */
};

bool
model_takes_receive(uint8_t op)
{
	return op < GANTRY_OP_MAX && (uses[op] & MESSAGE) != 0;
}

bool
model_is_to_peer(const struct gantry_desc *d)
{
	return d->op < GANTRY_OP_MAX && (uses[d->op] & PEER) != 0 &&
	       !((d->op == GANTRY_OP_RAW || d->op == GANTRY_OP_TXN) && d->peer == GANTRY_PEER_OWN);
}

static bool
covers(const struct model_region *r, uint64_t addr, uint64_t len)
{
	return addr >= r->addr && len <= r->len && addr - r->addr <= r->len - len;
}

#define PAGE UINT64_C(4096)

/* gantry.h: "Memory without a gap gets one key." */
static bool
covered_by_eal(const struct model *m, uint64_t addr, uint64_t len)
{
	const uint64_t first = addr - m->eal_addr, end = MODEL_EAL_PAGES * PAGE;
	uint64_t page;

	if (m->eal_addr == 0 || first >= end || len > end - first)
		return false;
	for (page = first / PAGE; page * PAGE < first + len; page++)
		if (!m->eal_page[page])
			return false;
	return true;
}

uint32_t
model_local(const struct model *m, uint64_t addr, uint64_t len, bool write)
{
	unsigned int i;

	for (i = 0; i < MODEL_REGIONS; i++)
		if (m->region[i].there && covers(&m->region[i], addr, len))
			return write && m->region[i].read_only ? MODEL_BIT(GANTRY_READ_ONLY) : 0;
	return covered_by_eal(m, addr, len) ? 0 : MODEL_BIT(GANTRY_NOT_REGISTERED);
}

const struct model_region *
model_remote(const struct model *m, uint32_t key)
{
	unsigned int i;

	for (i = 0; i < MODEL_REGIONS; i++)
		if (m->region[i].remote && m->region[i].remote_key == key)
			return &m->region[i];
	return NULL;
}

static bool
key_is_valid(const struct model *m, uint32_t rkey)
{
	unsigned int i;

	for (i = 0; i < MODEL_KEYS; i++)
		if (m->keys->rkey[i] == rkey)
			return m->keys->valid[i];
	return false;
}

bool
model_remote_ok(const struct model *m, const struct gantry_desc *d)
{
	const struct model_region *r = model_remote(m, d->remote_key);
	uint64_t addr = d->op == GANTRY_OP_READ ? d->src : d->dst;

	if (d->op == GANTRY_OP_SEND_INV)
		return key_is_valid(m, d->imm);
	if (d->op >= GANTRY_OP_MAX || (uses[d->op] & KEY) == 0 || d->len == 0)
		return true;
	return r != NULL && r->there && addr >= r->remote_addr &&
	       covers(r, r->addr + (addr - r->remote_addr), d->len);
}

static bool
is_atomic(uint8_t op)
{
	return op == GANTRY_OP_COMPARE_SWAP || op == GANTRY_OP_FETCH_ADD;
}

#define BY_ANY (GANTRY_DESC_BY_CPU | GANTRY_DESC_BY_MMO | GANTRY_DESC_BY_RDMA)

static bool
is_device(const struct model *m, uint64_t addr, uint64_t len)
{
	return m->region[MODEL_DEVICE].there && covers(&m->region[MODEL_DEVICE], addr, len);
}

static bool
list_names_device(const struct model *m, uint64_t list, uint32_t n)
{
	const struct gantry_sge *sge = (const struct gantry_sge *)list;
	uint32_t i;

	for (i = 0; n <= GANTRY_SGE_MAX && i < n; i++)
		if (sge[i].len != 0 && is_device(m, sge[i].addr, sge[i].len))
			return true;
	return false;
}

/* True for a copy of device memory. */
static bool
names_device(const struct model *m, const struct gantry_desc *d)
{
	if (d->op == GANTRY_OP_COPY_SG)
		return list_names_device(m, d->src, (uint32_t)d->arg[0]) ||
		       list_names_device(m, d->dst, d->arg[0] >> 32);
	return is_device(m, d->src, d->len) || is_device(m, d->dst, d->len);
}

/* Returns the flags of the carriers that can copy host memory. */
static uint32_t
host_carriers(const struct model *m)
{
	uint32_t possible = 0;

	if ((m->carriers & 1u << GANTRY_CARRIER_CPU) != 0)
		possible |= GANTRY_DESC_BY_CPU;
	if ((m->carriers & 1u << GANTRY_CARRIER_MMO) != 0)
		possible |= GANTRY_DESC_BY_MMO;
	if ((m->carriers & 1u << GANTRY_CARRIER_RDMA) != 0)
		possible |= GANTRY_DESC_BY_RDMA;
	return possible;
}

/* Checks that a descriptor names at most one carrier, and that this carrier can copy its memory. */
static void
check_carrier(const struct model *m, const struct gantry_desc *d, struct model_verdict *v)
{
	uint32_t possible = names_device(m, d) ? GANTRY_DESC_BY_RDMA : host_carriers(m);
	uint32_t by = d->flags & BY_ANY;

	if ((by & ~possible) != 0 || (by & (by - 1)) != 0)
		v->broken |= MODEL_BIT(GANTRY_BAD_CARRIER);
}

/* Checks that fields that the operation does not use are zero. */
static void
check_fields(const struct gantry_desc *d, uint32_t use, struct model_verdict *v)
{
	uint16_t flags = GANTRY_DESC_FENCE | ((use & MESSAGE) != 0 ? GANTRY_DESC_SOLICITED : 0) |
			 ((use & CARRIED) != 0 ? BY_ANY : 0);
	bool wrong = d->zero != 0 || (d->flags & ~flags) != 0;

	if ((use & EMPTY) != 0 && d->len == 0) {
		use &= ~(SRC | DST | KEY);
		/* The header does not say whether an empty message may have a layout. */
		if (d->layout != 0)
			v->maybe |= MODEL_BIT(GANTRY_BAD_FIELD) | MODEL_BIT(GANTRY_BAD_LAYOUT);
	}
	wrong |= ((use & SRC) == 0 && d->src != 0) || ((use & DST) == 0 && d->dst != 0);
	wrong |= ((use & LEN) == 0 && d->len != 0) || ((use & PEER) == 0 && d->peer != 0);
	wrong |= ((use & KEY) == 0 && d->remote_key != 0) || ((use & IMM) == 0 && d->imm != 0);
	wrong |= ((use & ARG0) == 0 && d->arg[0] != 0) || ((use & ARG1) == 0 && d->arg[1] != 0);
	wrong |= (use & LAYOUT) == 0 && d->layout != 0;
	if (wrong)
		v->broken |= MODEL_BIT(GANTRY_BAD_FIELD);
}

static void
check_len(const struct model *m, const struct gantry_desc *d, uint32_t use, struct model_verdict *v)
{
	bool wrong = d->len == 0 && (use & EMPTY) == 0;

	wrong |= ((use & SRC) != 0 && d->src + d->len < d->src) ||
		 ((use & DST) != 0 && d->dst + d->len < d->dst);
	wrong |= is_atomic(d->op) && d->len != 8;
	wrong |= d->op >= GANTRY_OP_SEND && d->op <= GANTRY_OP_SEND_INV && d->len > m->max_msg_len;
	if (wrong)
		v->broken |= MODEL_BIT(GANTRY_BAD_LENGTH);
}

/* The addresses of a list's entries are checked by check_list(). */
static void
check_addr(const struct gantry_desc *d, struct model_verdict *v)
{
	if ((d->op == GANTRY_OP_RAW && d->src == 0) || (is_atomic(d->op) && d->dst % 8 != 0))
		v->broken |= MODEL_BIT(GANTRY_BAD_ADDRESS);
}

static bool
overlap(const struct model_range *a, unsigned int n_a, const struct model_range *b,
	unsigned int n_b)
{
	unsigned int i, k;

	for (i = 0; i < n_a; i++)
		for (k = 0; k < n_b; k++)
			if (a[i].addr < b[k].addr + b[k].len && b[k].addr < a[i].addr + a[i].len)
				return true;
	return false;
}

/* Checks that source and destination of a copy do not overlap. */
static void
check_overlap(const struct model *m, const struct gantry_desc *d, struct model_verdict *v)
{
	struct model_range src[MODEL_PIECES], dst[MODEL_PIECES];
	unsigned int n_src = model_pieces(m, d, false, src), n_dst = model_pieces(m, d, true, dst);
	struct gantry_desc whole = *d;

	if (overlap(src, n_src, dst, n_dst)) {
		v->broken |= MODEL_BIT(GANTRY_OVERLAP);
		return;
	}
	if (d->layout == 0)
		return;
	/* The header does not say whether blocks beyond len count. */
	whole.len = model_layout_find(m, d->layout)->len;
	if (d->op == GANTRY_OP_GATHER)
		n_src = model_pieces(m, &whole, false, src);
	else
		n_dst = model_pieces(m, &whole, true, dst);
	if (d->op == GANTRY_OP_GATHER)
		dst[0].len = d->len;
	else
		src[0].len = d->len;
	if (overlap(src, n_src, dst, n_dst))
		v->maybe |= MODEL_BIT(GANTRY_OVERLAP);
}

/* Checks one of the two lists of a COPY_SG. */
static void
check_list(const struct model *m, const struct gantry_desc *d, bool to, struct model_verdict *v)
{
	const struct gantry_sge *sge = (const struct gantry_sge *)(to ? d->dst : d->src);
	uint32_t n = to ? d->arg[0] >> 32 : (uint32_t)d->arg[0], i;
	uint64_t sum = 0;

	if (sge == NULL || (uintptr_t)sge % 8 != 0)
		v->broken |= MODEL_BIT(GANTRY_BAD_ADDRESS);
	if (n == 0 || n > GANTRY_SGE_MAX)
		v->broken |= MODEL_BIT(GANTRY_BAD_LENGTH);
	if (sge == NULL || (uintptr_t)sge % 8 != 0 || n > GANTRY_SGE_MAX)
		return;
	for (i = 0; i < n; i++) {
		sum += sge[i].len;
		if (sge[i].len != 0)
			v->broken |= model_local(m, sge[i].addr, sge[i].len, to);
	}
	if (sum != d->len)
		v->broken |= MODEL_BIT(GANTRY_BAD_LENGTH);
}

/*
 * Checks the side that a layout describes. All memory of the layout must be registered: each block
 * in one region, and in long layouts each block with all its rounds in one region.
 */
static void
check_layout(const struct model *m, const struct gantry_desc *d, struct model_verdict *v)
{
	const struct model_layout *l = model_layout_find(m, d->layout);
	bool to = d->op == GANTRY_OP_SCATTER || d->op == GANTRY_OP_READ;
	uint64_t base = to ? d->dst : d->src;
	uint32_t round, i;

	if (l == NULL || !l->there) {
		v->broken |= MODEL_BIT(GANTRY_BAD_LAYOUT);
		return;
	}
	if (d->len > l->len)
		v->broken |= MODEL_BIT(GANTRY_BAD_LENGTH);
	for (i = 0; i < l->n; i++) {
		const struct gantry_block *b = &l->block[i];
		const uint64_t stride = b->len + b->skip;
		bool at_once = l->n * l->rounds > LIST_MAX;

		for (round = 0; round < (at_once ? 1 : l->rounds); round++)
			v->broken |= model_local(m, base + b->offset + round * stride,
				b->len + (at_once ? (l->rounds - 1) * stride : 0), to);
	}
}

/* Checks the memory of this process that the descriptor names. */
static void
check_memory(const struct model *m, const struct gantry_desc *d, uint32_t use,
	struct model_verdict *v)
{
	bool has_layout = d->layout != 0 || d->op == GANTRY_OP_GATHER || d->op == GANTRY_OP_SCATTER;
	bool layout_is_dst = d->op == GANTRY_OP_SCATTER || d->op == GANTRY_OP_READ;

	if (d->len == 0)
		return;
	if (has_layout && (use & LAYOUT) != 0)
		check_layout(m, d, v);
	if ((use & LOCAL_SRC) == LOCAL_SRC && !(has_layout && !layout_is_dst))
		v->broken |= model_local(m, d->src, d->len, false);
	if ((use & LOCAL_DST) == LOCAL_DST && !(has_layout && layout_is_dst))
		v->broken |= model_local(m, d->dst, d->len, true);
}

static void
check_peer(const struct model *m, const struct gantry_desc *d, struct model_verdict *v)
{
	if (d->peer >= MODEL_PEERS || !m->peer[d->peer].open || !m->peer[d->peer].connected ||
		m->peer[d->peer].down)
		v->broken |= MODEL_BIT(GANTRY_BAD_PEER);
}

/* gantry_desc.h: "Of RAW: len is not 16 times DS". If src is not 0, it is the address of a WQE. */
static void
check_raw(const struct gantry_desc *d, struct model_verdict *v)
{
	struct mlx5_wqe_ctrl_seg ctrl;

	if (d->src == 0)
		return;
	memcpy(&ctrl, (const void *)d->src, sizeof(ctrl));
	if (d->len < 16 || d->len > 1008 || d->len != 16 * (be32toh(ctrl.qpn_ds) & 0x3f))
		v->broken |= MODEL_BIT(GANTRY_BAD_LENGTH);
}

struct model_verdict
model_refusals(const struct model *m, const struct gantry_desc *d)
{
	struct model_verdict v = {0};
	uint32_t use;

	if (d->op == 0 || d->op >= GANTRY_OP_TXN) {
		v.broken = MODEL_BIT(GANTRY_BAD_OP);
		return v;
	}
	use = uses[d->op];
	check_fields(d, use, &v);
	if ((use & LEN) != 0) {
		check_len(m, d, use, &v);
		check_addr(d, &v);
	}
	if ((use & CARRIED) != 0)
		check_carrier(m, d, &v);
	if (model_is_to_peer(d))
		check_peer(m, d, &v);
	if (d->op == GANTRY_OP_RAW) {
		check_raw(d, &v);
		return v;
	}
	if (d->op == GANTRY_OP_COPY_SG) {
		check_list(m, d, false, &v);
		check_list(m, d, true, &v);
	}
	check_memory(m, d, use, &v);
	v.named = (v.broken & SHAPE) == 0;
	if ((use & COPIES) != 0 && d->len != 0 && v.named)
		check_overlap(m, d, &v);
	return v;
}

void
model_name_carrier(const struct model *m, struct gantry_desc *d, uint64_t i)
{
	static const struct {
		enum gantry_carrier carrier;
		uint16_t flag;
	} by[MODEL_CARRIERS] = {{GANTRY_CARRIER_CPU, GANTRY_DESC_BY_CPU},
		{GANTRY_CARRIER_MMO, GANTRY_DESC_BY_MMO},
		{GANTRY_CARRIER_RDMA, GANTRY_DESC_BY_RDMA}};

	if (d->op != GANTRY_OP_COPY && d->op != GANTRY_OP_COPY_SG && d->op != GANTRY_OP_FILL)
		return;
	if (i < MODEL_CARRIERS && (m->carriers & 1u << by[i].carrier) != 0)
		d->flags |= by[i].flag;
}
