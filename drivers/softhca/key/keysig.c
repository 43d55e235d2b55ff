/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys with a signature: data that go through one are converted between its memory and its wire
 * domain, in a buffer of their own; PSVs; and the completion that tells of a wrong signature.
 *
 * On the local side a length counts data without signatures; a remote request's counts what is on
 * the wire (mlx5dv_wr_set_mkey_sig_block(3) shows both; that it is so is assumed). Tags count from
 * the key's first byte, whole blocks at a time.
 */
#include <errno.h>
#include <stdlib.h>

#include "exec.h"

/* ---- PSVs */

int
softhca_psv_create(struct softhca_dev *dev, uint32_t pdn, struct softhca_psv **out)
{
	struct softhca_psv *psv = calloc(1, sizeof(*psv));
	int err;

	if (psv == NULL)
		return -ENOMEM;
	psv->dev = dev;
	psv->pdn = pdn;
	err = table_put(&dev->lanes->psvs, psv, &psv->number);
	if (err != 0) {
		free(psv);
		return err;
	}
	*out = psv;
	return 0;
}

int
softhca_psv_destroy(struct softhca_psv *psv)
{
	table_remove(&psv->dev->lanes->psvs, psv->number);
	softhca_quiesce(psv->dev);
	free(psv);
	return 0;
}

uint32_t
softhca_psv_number(const struct softhca_psv *psv)
{
	return psv->number;
}

static struct softhca_psv *
psv_find(struct run *run, struct softhca_lanes *lanes, uint32_t number, uint32_t pdn)
{
	struct softhca_psv *psv = table_get(&lanes->psvs, number);

	run->vendor = VEN_SIG_PSV;
	return psv != NULL && psv->pdn == pdn ? psv : NULL;
}

unsigned int
exec_set_psv(struct run *run, const struct wqe *wqe)
{
	const uint8_t *seg = wqe_seg(run, wqe, PSV_UNIT);
	struct softhca_psv *psv =
		psv_find(run, run->lanes, get_be32(seg + PSV_INDEX) & 0xffffff, run->qp->pdn);

	if (psv == NULL)
		return SYN_LOC_PROT;
	atomic_store_explicit(&psv->transient, get_be64(seg + PSV_TRANSIENT), memory_order_relaxed);
	return SYN_OK;
}

/* ---- errors */

/*
 * One error is told, then none until the program has configured the key anew and said that it knows:
 * libmlx5 counts the errors from 1 on, and gives the count's lowest bit with the configuration.
 * It goes to the CQ of the work that used the key: which one a card takes is not public.
 */
static void
tell_error(struct run *run, const struct key *key, bool peer, bool memory,
	const struct sig_error *error)
{
	struct softhca_mkey *mkey = key->mkey;
	bool seen = !key->sig_expected;
	struct softhca_qp *qp = peer ? run->peer : run->qp;
	const struct cqe_sig_err sig_err = {.error = *error,
		.memory = memory,
		.key = mkey->index << 8 | key->variant};
	const struct cqe cqe = {.opcode = CQE_SIG_ERR,
		.opcode_qpn = qp->number,
		.timestamp = run_now(run),
		.sig_err = &sig_err};

	if (!peer && qp->attr.drain_sigerr)
		run->sig_drain = true;
	if (!atomic_compare_exchange_strong(&mkey->sig_told, &seen, key->sig_expected))
		return;
	run_hold_cq(run, peer ? qp->recv_cq : qp->send_cq);
	cq_push(run->cq, &cqe);
}

/* ---- data that come in: converted once they are there */

struct sig_after {
	struct sig_after *next;
	const struct key *key;
	struct key_sig sig;
	struct sg memory;
	uint64_t at; /* where in the list that data fill the buffer is */
	uint64_t first, data;
	uint64_t wire_len, memory_len;
	uint8_t *wire, *bytes;
	bool remote, peer; /* the request is a peer's; the key is one of the peer */
};

static bool
has_signature(const struct key_sig *sig, struct run *run, struct softhca_lanes *lanes, uint32_t pdn)
{
	return (sig->mem.type == SIG_NONE || psv_find(run, lanes, sig->mem.psv, pdn) != NULL) &&
	       (sig->wire.type == SIG_NONE || psv_find(run, lanes, sig->wire.psv, pdn) != NULL);
}

static bool
sig_in(struct run *run, struct sig_after *a, struct sg *sg)
{
	a->wire = run_alloc(run, a->wire_len);
	a->bytes = run_alloc(run, a->memory_len);
	if (a->wire == NULL || a->bytes == NULL)
		return false;
	a->at = sg->len;
	a->next = run->after;
	run->after = a;
	return sg_push(run, sg, a->wire, a->wire_len);
}

static enum sg_end
after_copy(struct run *run, struct sig_after *a, uint64_t moved)
{
	struct sig_error error = {0};
	struct sg from;
	uint64_t wire = moved > a->at ? moved - a->at : 0, data, memory;
	enum sg_end end;

	if (wire > a->wire_len)
		wire = a->wire_len;
	/* A message that ends inside a block leaves that block alone. */
	if (!sig_shrink(&a->sig.wire, wire, &data) && data == 0)
		return SG_MOVED;
	if (!sig_stretch(&a->sig.mem, data, &memory)) {
		data -= data % a->sig.mem.block;
		sig_stretch(&a->sig.mem, data, &memory);
	}
	sig_convert(&a->sig, &a->sig.wire, &a->sig.mem, a->wire, a->bytes, a->first, data, &error);
	sg_set(&from, a->bytes, memory);
	end = run_move(run, &a->memory, &from);
	if (error.found)
		tell_error(run, a->key, a->peer, false, &error);
	return end;
}

enum sg_end
run_after_copy(struct run *run, uint64_t len)
{
	enum sg_end end = SG_MOVED;

	while (run->after != NULL && end == SG_MOVED) {
		struct sig_after *a = run->after;

		run->after = a->next;
		end = after_copy(run, a, len);
	}
	return end;
}

/* ---- data that go out: converted at once */

static bool
sig_out(struct run *run, struct sig_after *a, struct sg *sg)
{
	struct sig_error error = {0};
	struct sg to;

	a->wire = run_alloc(run, a->wire_len);
	a->bytes = run_alloc(run, a->memory_len);
	if (a->wire == NULL || a->bytes == NULL)
		return false;
	sg_set(&to, a->bytes, a->memory_len);
	if (run_move(run, &to, &a->memory) != SG_MOVED)
		return false;
	sig_convert(&a->sig, &a->sig.mem, &a->sig.wire, a->bytes, a->wire, a->first, a->data,
		&error);
	if (error.found)
		tell_error(run, a->key, a->peer, true, &error);
	return sg_push(run, sg, a->wire, a->wire_len);
}

/* What the request's offset and length are in data, in memory and on the wire. */
static bool
sig_measure(struct sig_after *a, uint64_t off, uint64_t len, uint64_t *memory_off)
{
	uint64_t first = off, data = len;

	if (a->remote &&
		(!sig_shrink(&a->sig.wire, off, &first) || !sig_shrink(&a->sig.wire, len, &data)))
		return false;
	a->first = first;
	a->data = data;
	/* The length is that of a segment: 2 GiB at most. The offset is anything. */
	return first <= UINT64_MAX / 2 && sig_stretch(&a->sig.mem, first, memory_off) &&
	       sig_stretch(&a->sig.mem, data, &a->memory_len) &&
	       sig_stretch(&a->sig.wire, first, &first) &&
	       sig_stretch(&a->sig.wire, data, &a->wire_len);
}

bool
sig_walk(struct run *run, struct softhca_lanes *lanes, const struct key *key, uint32_t need,
	uint64_t off, uint64_t len, struct sg *sg)
{
	const uint32_t writes = ACC_LOCAL_WRITE | ACC_REMOTE_WRITE;
	struct sig_after *a = run_alloc(run, sizeof(*a));
	uint64_t memory_off;

	run->vendor = VEN_KEY_ACCESS;
	if (a == NULL || (need & ACC_REMOTE_ATOMIC) != 0)
		return false;
	a->key = key;
	a->sig = key->sig;
	a->remote = (need & ACC_REMOTE) != 0;
	a->peer = a->remote || run->receiving;
	if (!has_signature(&a->sig, run, lanes, key->pdn))
		return false;
	run->vendor = VEN_SIG_BLOCK;
	if (!sig_measure(a, off, len, &memory_off))
		return false;
	sg_clear(&a->memory);
	if (!layout_gather(run, lanes, key, need & writes ? ACC_LOCAL_WRITE : 0, memory_off,
		    a->memory_len, &a->memory))
		return false;
	return need & writes ? sig_in(run, a, sg) : sig_out(run, a, sg);
}
