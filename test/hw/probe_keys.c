/* SPDX-License-Identifier: BSD-3-Clause */
/* Assumptions about keys: re-registration, rights, keys inside keys, invalidation. */
#include "probe_work.h"

/* ---- re-registration */

#define PAGE  4096
#define RANGE (2 * PAGE)
/* a length for which a key that was created for RANGE has too few entries */
#define BEYOND (8 * PAGE)
#define PLAIN  (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ)

/*
 * Registers RANGE bytes with the access rights `from`, and re-registers them as `flags` say: with
 * the access rights `to`, in another PD, or for `len` bytes at another address. Stores the answer
 * whether the region keeps its keys. If the device cannot re-register, stores this answer and
 * returns false.
 */
static bool
rereg(struct probe_answer *a, int flags, int from, int to, size_t len, bool *kept)
{
	struct ibv_context *ctx = pair_open(0);
	struct ibv_pd *pd = ibv_alloc_pd(ctx), *other = ibv_alloc_pd(ctx);
	uint8_t *buf = aligned_alloc(PAGE, RANGE), *moved = aligned_alloc(PAGE, BEYOND);
	struct ibv_mr *mr;
	uint32_t lkey, rkey;
	int rc;

	CHECK(pd != NULL && other != NULL && buf != NULL && moved != NULL);
	mr = ibv_reg_mr(pd, buf, RANGE, from);
	CHECK(mr != NULL);
	lkey = mr->lkey;
	rkey = mr->rkey;
	rc = ibv_rereg_mr(mr, flags, other, moved, len,
		(flags & IBV_REREG_MR_CHANGE_ACCESS) != 0 ? to : 0);
	*kept = lkey == mr->lkey && rkey == mr->rkey;
	if (rc != 0)
		probe_cannot(a, "the device does not re-register: %s", strerror(errno));
	return rc == 0;
}

static const char *
kept_text(bool kept)
{
	return kept ? "the same key" : "a new key";
}

static void
rereg_rights(struct probe_answer *a)
{
	bool remote, atomic, windows;

	if (rereg(a, IBV_REREG_MR_CHANGE_ACCESS, PLAIN, IBV_ACCESS_LOCAL_WRITE, 0, &remote) &&
		rereg(a, IBV_REREG_MR_CHANGE_ACCESS, PLAIN, PLAIN | IBV_ACCESS_REMOTE_ATOMIC, 0,
			&atomic) &&
		rereg(a, IBV_REREG_MR_CHANGE_ACCESS, PLAIN, PLAIN | IBV_ACCESS_MW_BIND, 0,
			&windows))
		probe_saw(a, remote && atomic && !windows,
			"another right to read: %s, to do atomics: %s, to bind windows: %s",
			kept_text(remote), kept_text(atomic), kept_text(windows));
}

static void
key_again(struct probe_answer *a)
{
	struct ibv_context *ctx = pair_open(0);
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	uint8_t *buf = aligned_alloc(PAGE, RANGE);
	struct ibv_mr *mr;
	uint32_t key;

	CHECK(pd != NULL && buf != NULL);
	mr = ibv_reg_mr(pd, buf, RANGE, PLAIN);
	CHECK(mr != NULL);
	key = mr->lkey;
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	mr = ibv_reg_mr(pd, buf, RANGE, PLAIN);
	CHECK(mr != NULL);
	probe_saw(a, mr->lkey == key, "%s", kept_text(mr->lkey == key));
}

static void
rereg_pd(struct probe_answer *a)
{
	bool kept;

	if (rereg(a, IBV_REREG_MR_CHANGE_PD, PLAIN, PLAIN, 0, &kept))
		probe_saw(a, kept, "%s", kept_text(kept));
}

static void
rereg_range(struct probe_answer *a)
{
	bool same, more;

	if (rereg(a, IBV_REREG_MR_CHANGE_TRANSLATION, PLAIN, PLAIN, RANGE, &same) &&
		rereg(a, IBV_REREG_MR_CHANGE_TRANSLATION, PLAIN, PLAIN, BEYOND, &more))
		probe_saw(a, same && !more, "as many pages: %s, more: %s", kept_text(same),
			kept_text(more));
}

/* ---- rights */

/* Posts a SEND that invalidates the key of a region, which is not allowed. */
static void
send_refused_invalidate(struct pair *p)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = {.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND_WITH_INV,
		.send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;

	pair_init(p, NULL);
	sge = (struct ibv_sge){(uintptr_t)p->client.buf, PROBE_LEN, p->client.mr->lkey};
	wr.invalidate_rkey = p->server.mr->rkey;
	pair_post_recv(&p->server, 0, 0, PROBE_LEN);
	pair_publish(&p->client);
	CHECK_EQ(ibv_post_send(p->client.qp, &wr, &bad), 0);
}

static void
send_inv_sender(struct probe_answer *a)
{
	struct pair p;

	send_refused_invalidate(&p);
	probe_saw_status(a, pair_wait(&p.client).status, IBV_WC_REM_OP_ERR);
}

static void
send_inv_receiver(struct probe_answer *a)
{
	struct pair p;

	send_refused_invalidate(&p);
	probe_saw_status(a, pair_wait(&p.server).status, IBV_WC_REM_INV_REQ_ERR);
}

/* Posts a write that the server's QP or key does not allow. */
static void
refused_write(struct probe_answer *a, const struct pair_opts *opts, enum ibv_wc_status assumed)
{
	struct pair p;

	pair_init(&p, opts);
	probe_saw_status(a, probe_write(&p, p.server.mr->rkey, (uintptr_t)p.server.buf), assumed);
}

static void
rights_of_qp(struct probe_answer *a)
{
	refused_write(a, &(struct pair_opts){.qp_access = PAIR_NONE}, IBV_WC_REM_INV_REQ_ERR);
}

static void
rights_of_key(struct probe_answer *a)
{
	refused_write(a, &(struct pair_opts){.access = IBV_ACCESS_LOCAL_WRITE},
		IBV_WC_REM_ACCESS_ERR);
}

/* ---- keys inside keys */

static struct mlx5dv_mkey *
indirect_key(struct ibv_pd *pd)
{
	struct mlx5dv_mkey_init_attr attr = {.pd = pd,
		.max_entries = 4,
		.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT};
	struct mlx5dv_mkey *mkey = mlx5dv_create_mkey(&attr);

	CHECK(mkey != NULL);
	return mkey;
}

/* Configures the end's key to cover a region of its memory. The key's addresses begin with 0. */
static enum ibv_wc_status
lay_key(struct pair_end *e, struct mlx5dv_mkey *mkey, const struct ibv_mr *mr)
{
	struct ibv_sge sge = {(uintptr_t)e->buf, PAIR_BUF, mr->lkey};

	pair_publish(e);
	ibv_wr_start(e->qpx);
	e->qpx->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	mlx5dv_wr_mr_list(e->dvx, mkey, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, 1, &sge);
	CHECK_EQ(ibv_wr_complete(e->qpx), 0);
	return pair_wait(e).status;
}

/*
 * The client writes through a key over the server's memory. First the region has all access rights,
 * and the write must succeed. Then the region has only these access rights.
 */
static enum ibv_wc_status
write_through_key(int access)
{
	struct mlx5dv_mkey *mkey;
	struct ibv_mr *mr;
	struct pair p;

	pair_init(&p, &(struct pair_opts){.keys = true});
	mkey = indirect_key(p.pd);
	CHECK_EQ(lay_key(&p.server, mkey, p.server.mr), IBV_WC_SUCCESS);
	CHECK_EQ(probe_write(&p, mkey->rkey, 0), IBV_WC_SUCCESS);
	mr = ibv_reg_mr(p.pd, p.server.buf, PAIR_BUF, access);
	CHECK(mr != NULL);
	mkey = indirect_key(p.pd);
	CHECK_EQ(lay_key(&p.server, mkey, mr), IBV_WC_SUCCESS);
	return probe_write(&p, mkey->rkey, 0);
}

static void
inner_key_write(struct probe_answer *a)
{
	enum ibv_wc_status status = write_through_key(IBV_ACCESS_REMOTE_READ);

	probe_saw(a, status != IBV_WC_SUCCESS, "%s", ibv_wc_status_str(status));
}

static void
inner_key_remote(struct probe_answer *a)
{
	probe_saw_status(a, write_through_key(IBV_ACCESS_LOCAL_WRITE), IBV_WC_SUCCESS);
}

/*
 * The client writes through `rkey`. Then the region that the key covers is deregistered, and the
 * client writes again.
 */
static void
dereg_and_write(struct probe_answer *a, struct pair *p, uint32_t rkey, uint64_t to)
{
	enum ibv_wc_status status;
	int rc;

	CHECK_EQ(probe_write(p, rkey, to), IBV_WC_SUCCESS);
	rc = ibv_dereg_mr(p->server.mr);
	if (rc != 0) {
		probe_saw(a, false, "the region cannot be deregistered: %s", strerror(rc));
		return;
	}
	status = probe_write(p, rkey, to);
	probe_saw(a, status != IBV_WC_SUCCESS, "%s", ibv_wc_status_str(status));
}

static void
dereg_under_key(struct probe_answer *a)
{
	struct pair p;
	struct mlx5dv_mkey *mkey;

	pair_init(&p, &(struct pair_opts){.keys = true});
	mkey = indirect_key(p.pd);
	CHECK_EQ(lay_key(&p.server, mkey, p.server.mr), IBV_WC_SUCCESS);
	dereg_and_write(a, &p, mkey->rkey, 0);
}

static void
dereg_under_window(struct probe_answer *a)
{
	struct pair p;
	struct ibv_mw_bind_info info;
	struct ibv_mw *mw;
	uint32_t rkey;

	pair_init(&p, &(struct pair_opts){.keys = true, .access = PAIR_ALL | IBV_ACCESS_MW_BIND});
	mw = ibv_alloc_mw(p.pd, IBV_MW_TYPE_2);
	CHECK(mw != NULL);
	rkey = ibv_inc_rkey(mw->rkey);
	info = (struct ibv_mw_bind_info){.mr = p.server.mr,
		.addr = (uintptr_t)p.server.buf,
		.length = PAIR_BUF,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
	pair_publish(&p.server);
	ibv_wr_start(p.server.qpx);
	p.server.qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_bind_mw(p.server.qpx, mw, rkey, &info);
	CHECK_EQ(ibv_wr_complete(p.server.qpx), 0);
	CHECK_EQ(pair_wait(&p.server).status, IBV_WC_SUCCESS);
	dereg_and_write(a, &p, rkey, (uintptr_t)p.server.buf);
}

static void
umr_refused(struct probe_answer *a)
{
	struct pair p;
	struct ibv_pd *other;

	pair_init(&p, &(struct pair_opts){.keys = true});
	other = ibv_alloc_pd(p.ctx);
	CHECK(other != NULL);
	probe_saw_status(a, lay_key(&p.client, indirect_key(other), p.client.mr),
		IBV_WC_MW_BIND_ERR);
}

const struct probe probe_keys[] = {
	{"rereg-rights",
		"A region keeps its key if it is re-registered with a changed right to read, to "
		"write or to do atomics. If other rights change, the region gets a new key.",
		"Gantry re-registers no memory; a program that calls ibv_rereg_mr(3) must read the keys anew.",
		rereg_rights},
	{"rereg-pd", "A region that is re-registered to another PD keeps its key.",
		"Gantry re-registers no memory; a program that moves a region to another PD must read the keys anew.",
		rereg_pd},
	{"rereg-range",
		"A region that is re-registered to another range of addresses keeps its key if the "
		"key has room for the new pages. A key has room for the old number of pages, "
		"rounded up to a power of two, and for at least four pages. If the room is too "
		"small, the region gets a new key.",
		"Gantry re-registers no memory; a program that moves a region to another range must read the keys anew.",
		rereg_range},
	{"mr-key-again",
		"A new region gets the key of the region that was deregistered last, among those "
		"whose keys have room for as many pages.",
		"Gantry removes memory when no descriptor uses it; a program that keeps a key of deregistered memory reaches other memory by it, or none.",
		key_again},
	{"invalidation-no-wait",
		"An invalidation, local or remote, does not wait for a copy that has begun.",
		"A program waits for its work before it takes the memory's key away, as Gantry does: then it does not depend on this.",
		NULL, "a program cannot see when a copy passed the check."},
	{"send-inv-sender",
		"A refused SEND with invalidate completes with a remote operation error at its "
		"sender.",
		"A refused GANTRY_OP_SEND_INV ends with another status than GANTRY_REMOTE_ERROR.",
		send_inv_sender},
	{"send-inv-receiver",
		"The receive of a refused SEND with invalidate completes with a remote invalid "
		"request error.",
		"Gantry hands out another syndrome for such a receive; a program must judge by "
		"the status.",
		send_inv_receiver},
	{"rights-of-qp",
		"A request that the access flags of the peer's QP do not allow is refused as an "
		"invalid request.",
		"Gantry's queue pairs allow all access, and its keys limit it; a program that limits a queue pair's access sees another status.",
		rights_of_qp},
	{"rights-of-key",
		"A request that the peer's key does not allow is refused with a remote access "
		"error.",
		"A descriptor that a peer's key refuses ends with another status than GANTRY_REMOTE_ACCESS.",
		rights_of_key},
	{"inner-key-write",
		"Data can be written through an indirect key only if each key inside it allows "
		"local writes.",
		"Gantry itself refuses to write to memory that is registered as read-only. Of a "
		"program that relies on inner keys for this, the device may carry out writes that "
		"softhca refuses, or refuse others.",
		inner_key_write},
	{"inner-key-remote", "A key inside an indirect key needs no remote right.",
		"Memory that peers reach by a transaction's key must be registered for remote access too, or the transaction fails.",
		inner_key_remote},
	{"dereg-under-key",
		"A region may be deregistered while an indirect key refers to it, and that key "
		"then reaches no memory.",
		"Removing memory that a layout or a transaction used may be refused by the device: gantry_mem_unregister() returns its errno.",
		dereg_under_key},
	{"dereg-under-window",
		"A region may be deregistered while a memory window is bound to it, and that "
		"window then reaches no memory.",
		"Gantry binds no memory windows; a program must end a window before it removes the region.",
		dereg_under_window},
	{"dereg-after-work",
		"A deregistration takes effect when the work requests whose doorbells rang before "
		"the call have run. It does not wait for work requests that themselves wait, nor "
		"for work requests far behind the head of a queue.",
		"A program that removes memory before the last work on it has completed may see a protection error.",
		NULL, "a card has already run that work."},
	{"umr-refused",
		"A UMR that is refused because of its key completes with IBV_WC_MW_BIND_ERR.",
		"Gantry gives GANTRY_LOCAL_ERROR for any such failure; a program that looks for IBV_WC_MW_BIND_ERR finds another status.",
		umr_refused},
	{NULL},
};
