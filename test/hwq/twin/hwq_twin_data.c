/* SPDX-License-Identifier: BSD-3-Clause */
/* Data setters of the twins: arguments are drawn once, and used in both libraries. */
#include "hwq_twin.h"

#define INLINE_DATA 4096

const char *const twin_data_setters[] = {"sge", "sge_list", "inline", "inline_list", NULL};
const char *const twin_memory_setters[] = {"sge", "sge_list", NULL};
const char *const twin_no_setter[] = {"-", NULL};

static uint8_t inline_data[INLINE_DATA];

/* Draws any length, often a limit. */
static uint32_t
wild_len(void)
{
	static const uint32_t edge[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 64, 4096};

	return twin_draw(3) == 0 ? edge[twin_draw(7)] : (uint32_t)twin_random();
}

void
twin_draw_sge(const struct twin_pair *p, struct ibv_sge *sge)
{
	if (p->wild) {
		sge->addr = twin_random();
		sge->lkey = (uint32_t)twin_random();
		sge->length = wild_len();
		return;
	}
	sge->length = twin_draw(4) == 0 ? 0 : (uint32_t)twin_draw(2048);
	sge->addr = (uintptr_t)twin_mem + twin_draw(TWIN_MEM_LEN / 2 - 2048);
	sge->lkey = twin_mr.lkey;
}

static void
draw_inline(const struct twin_pair *p, enum twin_setter setter, struct twin_data *d)
{
	/*
	 * DS has six bits, so its largest value is 63. libmlx5 would build a WQE of DS 64, which
	 * hwq refuses (doc/hwq.md).
	 */
	uint32_t max = p->twin.qp->sq.max_inline;
	unsigned int i;
	size_t left;

	if (inline_data[0] == 0)
		for (i = 0; i < INLINE_DATA; i++)
			inline_data[i] = (uint8_t)(twin_random() | 1);
	d->len = twin_draw(6) == 0 ? max : twin_draw(max + 1);
	if (p->wild && twin_draw(200) == 0)
		d->len = p->stock.max_inline + 1 + twin_draw(100);
	d->bytes = inline_data + twin_draw(INLINE_DATA - d->len);
	if (setter == TWIN_INLINE)
		return;
	d->n = 1 + (unsigned int)twin_draw(TWIN_MAX_BUF);
	for (i = 0, left = d->len; i < d->n; i++) {
		size_t len = i + 1 == d->n ? left : twin_draw(left + 1);

		d->buf[i].addr = (void *)(uintptr_t)(d->bytes + (d->len - left));
		d->buf[i].length = len;
		left -= len;
	}
}

void
twin_draw_data(const struct twin_pair *p, enum twin_setter setter, struct twin_data *d)
{
	unsigned int i;

	if (setter == TWIN_INLINE || setter == TWIN_INLINE_LIST) {
		draw_inline(p, setter, d);
		return;
	}
	d->n = setter == TWIN_SGE ? 1 : (unsigned int)twin_draw(p->conf.max_sge + 1);
	if (p->wild && setter == TWIN_SGE_LIST && twin_draw(200) == 0)
		d->n = p->conf.max_sge + 1;
	for (i = 0; i < d->n; i++)
		twin_draw_sge(p, &d->sge[i]);
}

void
twin_stock_data(struct twin_pair *p, enum twin_setter setter, const struct twin_data *d)
{
	struct ibv_qp_ex *ex = p->stock.ex;

	switch (setter) {
	case TWIN_SGE:
		ibv_wr_set_sge(ex, d->sge[0].lkey, d->sge[0].addr, d->sge[0].length);
		break;
	case TWIN_SGE_LIST:
		ibv_wr_set_sge_list(ex, d->n, d->sge);
		break;
	case TWIN_INLINE:
		ibv_wr_set_inline_data(ex, (void *)(uintptr_t)d->bytes, d->len);
		break;
	default:
		ibv_wr_set_inline_data_list(ex, d->n, d->buf);
		break;
	}
}

void
twin_hwq_lists(const struct twin_data *d, struct hwq_sge *sge, struct hwq_buf *buf)
{
	unsigned int i;

	for (i = 0; i < d->n && i < TWIN_MAX_SGE + 2; i++)
		sge[i] = (struct hwq_sge){d->sge[i].addr, d->sge[i].length, d->sge[i].lkey};
	for (i = 0; i < d->n && i < TWIN_MAX_BUF; i++)
		buf[i] = (struct hwq_buf){d->buf[i].addr, d->buf[i].length};
}
