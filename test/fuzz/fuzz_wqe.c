/* SPDX-License-Identifier: BSD-3-Clause */
/* Draws work requests that are nearly valid: see fuzz_wqe.h. */
#include "fuzz_wqe.h"

#include <string.h>

#define MAX_DS 63 /* largest value of the field DS in the control segment */

#define DC_KEY UINT64_C(0x1122334455667788)

void
wqe_claims(struct fuzz_wqe *q, unsigned int units)
{
	/* After a wrong length, the device may interpret later segments differently. */
	if (!q->lied && units > q->claimed_ds)
		q->claimed_ds = units;
}

uint8_t *
wqe_more(struct fuzz_wqe *q, unsigned int n)
{
	uint8_t *p;

	if (q->ds + n > MAX_DS) {
		q->ds = MAX_DS - n;
		q->full = true;
	}
	p = q->bytes + (size_t)16 * q->ds;
	q->ds += n;
	memset(p, 0, (size_t)16 * n);
	return p;
}

/* ---- segments */

static void
put_data(const struct fuzz_world *w, struct fuzz_wqe *q)
{
	wqe_some_data(w, wqe_more(q, 1));
}

/* Adds inline data, whose length field is sometimes greater than the space for the data. */
static void
put_inline(const struct fuzz_world *w, struct fuzz_wqe *q)
{
	unsigned int room = (MAX_DS - q->ds) * 16, len = (unsigned int)rnd(one_in(4) ? 800 : 60);
	struct mlx5_wqe_inl_data_seg *seg;
	unsigned int at;
	bool lies;

	if (len + 4 > room)
		len = room > 4 ? room - 4 : 0;
	seg = (void *)wqe_more(q, (len + 4 + 15) / 16);
	at = q->ds - (len + 4 + 15) / 16;
	memset(seg + 1, 0x33, len);
	lies = one_in(w->calm ? 60 : 8);
	if (lies)
		len += 1 + (uint32_t)rnd(one_in(2) ? 40 : 30000);
	seg->byte_count = htobe32(len | MLX5_INLINE_SEG);
	wqe_claims(q, at + (len + 4 + 15) / 16);
	q->lied |= lies;
}

/* Adds a long data segment in one region, from the region's start or up to its end. */
static void
put_big_data(const struct fuzz_world *w, struct fuzz_wqe *q)
{
	const struct fuzz_region *r = &w->rw[rnd(N_RW)];
	uint32_t len = 1 + (uint32_t)rnd(r->size);

	mlx5dv_set_data_seg((struct mlx5_wqe_data_seg *)(void *)wqe_more(q, 1), len,
		softhca_mkey_key(r->mkey), one_in(2) ? r->va : r->va + r->size - len);
}

static void
put_payload(const struct fuzz_world *w, struct fuzz_wqe *q)
{
	for (unsigned int n = (unsigned int)rnd(one_in(8) ? 60 : 4); n != 0; n--) {
		if (one_in(4))
			put_inline(w, q);
		else if (one_in(8))
			put_big_data(w, q);
		else
			put_data(w, q);
	}
}

static void
put_raddr(const struct fuzz_world *w, struct fuzz_wqe *q)
{
	struct mlx5_wqe_raddr_seg *seg = (void *)wqe_more(q, 1);
	uint32_t key = wqe_some_key(w);

	seg->raddr = htobe64(wqe_some_va(w, key));
	seg->rkey = htobe32(key);
}

static void
put_av(const struct fuzz_world *w, struct fuzz_wqe *q, unsigned int queue)
{
	static const uint8_t gid[16] = {0xfe, 0x80, [8] = 2, 0, 0, 0xff, 0xfe, 0, 0, 1};
	struct mlx5_wqe_av *av = (void *)wqe_more(q, 3);
	bool dc = queue == Q_DCI;

	if (dc)
		av->key.dc_key = htobe64(DC_KEY);
	else
		av->key.qkey.qkey = htobe32(7);
	if (w->peer[queue] != 0 && !one_in(4))
		av->dqp_dct = htobe32(w->peer[queue] | 1u << 31);
	else
		av->dqp_dct = htobe32(softhca_qp_number(w->queue[dc ? Q_DCT : Q_UD].qp) | 1u << 31);
	av->grh_gid_fl = htobe32(1u << 30);
	memcpy(av->rgid, gid, sizeof(gid));
}

static void
put_xrc(const struct fuzz_world *w, struct fuzz_wqe *q)
{
	uint32_t number = htobe32(softhca_srq_number(w->srq[1].srq));

	memcpy(wqe_more(q, 1), &number, 4);
}

static void
put_address(const struct fuzz_world *w, struct fuzz_wqe *q, unsigned int queue)
{
	if (queue == Q_UD || queue == Q_DCI)
		put_av(w, q, queue);
	else if (queue == Q_XRC_SEND)
		put_xrc(w, q);
}

/* ---- raw Ethernet */

/* Writes the headers that TSO needs: Ethernet, IPv4 or IPv6, and TCP. */
static unsigned int
some_header(uint8_t *p)
{
	bool v6 = one_in(2);
	unsigned int ip = v6 ? 40 : 20, tcp = 14 + ip;

	memset(p, 0, tcp + 20);
	p[12] = v6 ? 0x86 : 0x08;
	p[13] = v6 ? 0xdd : 0x00;
	p[14] = v6 ? 0x60 : 0x45;
	p[14 + (v6 ? 6 : 9)] = one_in(8) ? 17 : 6;
	p[tcp + 12] = 5 << 4;
	p[tcp + 13] = (uint8_t)rnd(256);
	if (one_in(4))
		mutate_field_be(p, tcp + 20);
	return tcp + 20;
}

static void
put_eth(const struct fuzz_world *w, struct fuzz_wqe *q, bool tso)
{
	uint8_t header[128];
	unsigned int len = some_header(header), put, at;
	struct mlx5_wqe_eth_seg *seg;
	bool lies;

	if (!tso && one_in(2))
		len = (unsigned int)rnd(len);
	put = len > 2 ? len - 2 : 0;
	seg = (void *)wqe_more(q, 1 + (put + 15) / 16);
	at = q->ds - (put + 15) / 16;
	seg->cs_flags = (uint8_t)rnd(256);
	seg->mss = tso ? htobe16((uint16_t)(one_in(4) ? rnd(65536) : 1 + rnd(2000))) : 0;
	memcpy(seg->inline_hdr_start, header, len);
	lies = one_in(w->calm ? 60 : 8);
	if (lies)
		len += 1 + (unsigned int)rnd(one_in(2) ? 200 : 60000);
	seg->inline_hdr_sz = htobe16((uint16_t)len);
	if (len > 2)
		wqe_claims(q, at + (len - 2 + 15) / 16);
	q->lied |= lies;
}

/* ---- whole work requests */

static void
make_mmo(const struct fuzz_world *w, struct fuzz_wqe *q)
{
	uint8_t *seg = wqe_more(q, 1);

	wqe_some_data(w, seg);
	if (!one_in(8)) /* a valid opaque segment */
		mlx5dv_set_data_seg((void *)seg, 0, softhca_mkey_key(w->rw[0].mkey), w->rw[0].va);
	seg = wqe_more(q, 2);
	wqe_some_data(w, seg);
	wqe_some_data(w, seg + 16);
	if (!one_in(8))
		memcpy(seg + 16, seg, 4);
	q->opmod = one_in(16) ? (uint8_t)rnd(4) : 1;
}

static void
make_atomic(const struct fuzz_world *w, struct fuzz_wqe *q)
{
	uint32_t key = wqe_some_key(w), len = 8;
	uint64_t va = wqe_some_va(w, key);

	put_raddr(w, q);
	rnd_bytes(wqe_more(q, 1), 16);
	if (one_in(4)) { /* the last bytes of a region: fewer or more bytes than an atomic has */
		len = 1 + (uint32_t)rnd(12);
		key = softhca_mkey_key(w->rw[0].mkey);
		va = w->rw[0].va + w->rw[0].size - len;
	}
	mlx5dv_set_data_seg((void *)wqe_more(q, 1), len, key, va);
}

static void
make_of_opcode(const struct fuzz_world *w, unsigned int queue, struct fuzz_wqe *q)
{
	switch (q->opcode) {
	case MLX5_OPCODE_UMR:
		wqe_umr(w, q, softhca_qp_number(w->queue[queue].qp));
		return;
	case MLX5_OPCODE_SET_PSV:
		wqe_set_psv(w, q);
		return;
	case MLX5_OPCODE_MMO:
		make_mmo(w, q);
		return;
	case MLX5_OPCODE_NOP:
		return;
	default:
		break;
	}
	put_address(w, q, queue);
	if (queue == Q_RAW)
		put_eth(w, q, q->opcode == MLX5_OPCODE_TSO);
	if (q->opcode == MLX5_OPCODE_ATOMIC_CS || q->opcode == MLX5_OPCODE_ATOMIC_FA) {
		make_atomic(w, q);
		return;
	}
	if (q->opcode == MLX5_OPCODE_RDMA_WRITE || q->opcode == MLX5_OPCODE_RDMA_WRITE_IMM ||
		q->opcode == MLX5_OPCODE_RDMA_READ)
		put_raddr(w, q);
	put_payload(w, q);
}

static uint8_t
some_opcode(unsigned int queue)
{
	static const uint8_t connected[] = {MLX5_OPCODE_SEND, MLX5_OPCODE_SEND_IMM,
		MLX5_OPCODE_SEND_INVAL, MLX5_OPCODE_RDMA_WRITE, MLX5_OPCODE_RDMA_WRITE,
		MLX5_OPCODE_RDMA_WRITE_IMM, MLX5_OPCODE_RDMA_READ, MLX5_OPCODE_RDMA_READ,
		MLX5_OPCODE_ATOMIC_CS, MLX5_OPCODE_ATOMIC_FA, MLX5_OPCODE_UMR, MLX5_OPCODE_UMR,
		MLX5_OPCODE_UMR, MLX5_OPCODE_SET_PSV, MLX5_OPCODE_MMO, MLX5_OPCODE_NOP};
	static const uint8_t datagram[] = {MLX5_OPCODE_SEND, MLX5_OPCODE_SEND_IMM};
	static const uint8_t raw[] = {MLX5_OPCODE_SEND, MLX5_OPCODE_TSO};

	if (one_in(100))
		return (uint8_t)rnd(256);
	if (queue == Q_UD)
		return datagram[rnd(sizeof(datagram))];
	if (queue == Q_RAW)
		return raw[rnd(sizeof(raw))];
	return connected[rnd(sizeof(connected))];
}

/*
 * DS in the control segment is greater than the posted WQE, so the device reads the following bytes
 * of the ring as part of the WQE.
 */
static void
post_short(struct fuzz_wqe *q)
{
	struct mlx5_wqe_inl_data_seg *seg;
	unsigned int units;

	if (q->ds > 4 || (q->opcode != MLX5_OPCODE_RDMA_WRITE && q->opcode != MLX5_OPCODE_SEND))
		return;
	units = 5 + (unsigned int)rnd(MAX_DS - 4 - q->ds); /* at least one more WQEBB */
	seg = (void *)wqe_more(q, units);
	q->posted_ds = q->ds - units + 1;
	seg->byte_count = htobe32((units * 16 - 4) | MLX5_INLINE_SEG);
	q->must_fail = true;
}

void
wqe_make(const struct fuzz_world *w, unsigned int queue, struct fuzz_wqe *q)
{
	bool tame = !one_in(w->calm ? 40 : 3);

	memset(q, 0, sizeof(*q));
	q->ds = 1;
	wqe_be_tame(tame);
	q->opcode = some_opcode(queue);
	if (q->opcode == MLX5_OPCODE_SEND_INVAL)
		q->imm = wqe_some_key(w);
	else
		q->imm = (uint32_t)rnd_word();
	make_of_opcode(w, queue, q);
	q->posted_ds = q->ds;
	q->must_fail = !q->full && q->claimed_ds > q->ds;
	if (one_in(!tame ? 3 : w->calm ? 60 : 16)) {
		for (unsigned int n = 1 + (unsigned int)rnd(3); n != 0; n--)
			mutate_field_be(q->bytes + 16, (size_t)16 * (q->ds - 1));
		q->must_fail = false;
	} else if (one_in(w->calm ? 100 : 12)) {
		post_short(q);
	}
}
