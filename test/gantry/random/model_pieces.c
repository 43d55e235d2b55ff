/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory that a descriptor names: a range, a list, or a layout. */
#include "model.h"

const struct model_layout *
model_layout_find(const struct model *m, uint16_t id)
{
	const struct model_layout *found = NULL;
	unsigned int i;

	for (i = 0; i < MODEL_LAYOUTS; i++)
		if (m->layout[i].id == id && (found == NULL || m->layout[i].there))
			found = &m->layout[i];
	return found;
}

static unsigned int
list_pieces(const struct gantry_desc *d, bool to, struct model_range *piece)
{
	const struct gantry_sge *sge = (const struct gantry_sge *)(to ? d->dst : d->src);
	uint32_t n = to ? d->arg[0] >> 32 : (uint32_t)d->arg[0], i;
	unsigned int k = 0;

	for (i = 0; i < n; i++)
		if (sge[i].len != 0)
			piece[k++] = (struct model_range){sge[i].addr, sge[i].len};
	return k;
}

static unsigned int
layout_pieces(const struct model_layout *l, uint64_t base, uint64_t len, struct model_range *piece)
{
	unsigned int k = 0;
	uint32_t round, i;

	for (round = 0; round < l->rounds; round++) {
		for (i = 0; i < l->n && len != 0; i++) {
			const struct gantry_block *b = &l->block[i];
			uint64_t part = b->len < len ? b->len : len;

			piece[k++] =
				(struct model_range){base + b->offset + round * (b->len + b->skip),
					part};
			len -= part;
		}
	}
	return k;
}

/* True if the layout describes this side (source or destination) of the descriptor. */
static bool
is_layout_side(const struct gantry_desc *d, bool to)
{
	return d->layout != 0 && to == (d->op == GANTRY_OP_SCATTER || d->op == GANTRY_OP_READ);
}

/* The difference between the address that peers use and the address in the arena. */
static uint64_t
remote_offset(const struct model *m, uint32_t key)
{
	const struct model_region *r = model_remote(m, key);

	return r == NULL ? 0 : r->addr - r->remote_addr;
}

unsigned int
model_pieces(const struct model *m, const struct gantry_desc *d, bool to, struct model_range *piece)
{
	bool is_send = d->op >= GANTRY_OP_SEND && d->op <= GANTRY_OP_SEND_INV;
	bool is_atomic = d->op == GANTRY_OP_COMPARE_SWAP || d->op == GANTRY_OP_FETCH_ADD;

	if (d->len == 0 || d->op == GANTRY_OP_NOP || d->op == GANTRY_OP_RAW)
		return 0;
	if (to ? is_send : d->op == GANTRY_OP_FILL)
		return 0;
	if (d->op == GANTRY_OP_COPY_SG)
		return list_pieces(d, to, piece);
	if (is_layout_side(d, to))
		return layout_pieces(model_layout_find(m, d->layout), to ? d->dst : d->src, d->len,
			piece);
	piece[0] = (struct model_range){to || is_atomic ? d->dst : d->src, d->len};
	if (d->remote_key != 0 && (is_atomic || to == (d->op != GANTRY_OP_READ)))
		piece[0].addr += remote_offset(m, d->remote_key);
	return 1;
}

struct model_range
model_span(const struct model *m, const struct gantry_desc *d, bool to)
{
	struct model_range piece[MODEL_PIECES];
	unsigned int n = model_pieces(m, d, to, piece), i;
	uint64_t first = UINT64_MAX, end = 0;

	for (i = 0; i < n; i++) {
		if (piece[i].addr < first)
			first = piece[i].addr;
		if (piece[i].addr + piece[i].len > end)
			end = piece[i].addr + piece[i].len;
	}
	return n == 0 ? (struct model_range){0, 0} : (struct model_range){first, end - first};
}
