/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Assumptions about keys that functions of a card share. The owner is the device that is asked. The
 * importer is another function of its card, if this machine has one; otherwise it is the same
 * function.
 */
#include "probe_work.h"
#include "softhca_alias.h"

#define RIGHTS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)
#define TRIES  70000 /* keys that are made until an index must have come again */

static const uint8_t secret[ALIAS_SECRET] = "bytes that only this probe uses";

/* An owner with an allowed key over its server's buffer, and an importer with an alias of it. */
struct sharing {
	struct pair owner, importer;
	struct alias_owned own;
	struct mlx5dv_devx_obj *alias;
	uint32_t vhca, key;
	bool ksm, two; /* two: the importer is another function */
	struct alias_answer answer;
};

/* Returns the name of another function of the same card, or NULL. */
static const char *
other_function(struct ibv_context *ctx)
{
	static char name[IBV_SYSFS_NAME_MAX];
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_device_attr mine, its;

	CHECK(list != NULL);
	CHECK_EQ(ibv_query_device(ctx, &mine), 0);
	for (struct ibv_device **d = list; *d != NULL; d++) {
		struct ibv_context *other;
		bool same;

		if (strcmp(ibv_get_device_name(*d), ibv_get_device_name(ctx->device)) == 0 ||
			!mlx5dv_is_supported(*d))
			continue;
		other = ibv_open_device(*d);
		if (other == NULL)
			continue;
		same = ibv_query_device(other, &its) == 0 &&
		       its.sys_image_guid == mine.sys_image_guid;
		(void)ibv_close_device(other);
		if (same) {
			snprintf(name, sizeof(name), "%s", ibv_get_device_name(*d));
			ibv_free_device_list(list);
			return name;
		}
	}
	ibv_free_device_list(list);
	return NULL;
}

/* True if the function says that it shares keys. Otherwise stores that the probe cannot ask. */
static bool
shares(struct probe_answer *a, struct ibv_context *ctx)
{
	uint8_t in[16] = {0}, out[16 + 0x100] = {0};

	devx_put(in, 0, 16, 0x100);
	devx_put(in, 0x30, 16, 0x20 << 1 | 1);
	if (mlx5dv_devx_general_cmd(ctx, in, sizeof(in), out, sizeof(out)) != 0) {
		probe_cannot(a, "this user may not send firmware commands");
		return false;
	}
	if ((devx_get(out + 16, 0xe0, 32) & 0x100) != 0 && (devx_get(out + 16, 0x120, 32) & 4) != 0)
		return true;
	probe_cannot(a, "functions of this card do not share keys");
	return false;
}

/* Opens both sides. Returns false after it has stored that the probe cannot ask. */
static bool
open_both(struct probe_answer *a, struct sharing *s)
{
	const char *other, *asked = pair_device_name;

	memset(s, 0, sizeof(*s));
	pair_init(&s->owner, NULL);
	if (!shares(a, s->owner.ctx))
		return false;
	s->vhca = alias_vhca(s->owner.ctx);
	other = other_function(s->owner.ctx);
	s->two = other != NULL;
	if (s->two)
		pair_device_name = other;
	pair_init(&s->importer, NULL);
	pair_device_name = asked;
	return true;
}

/* Makes a key with these rights and allows it: a KSM, or else a key over user memory. */
static bool
own_key(struct probe_answer *a, struct sharing *s, unsigned int rights)
{
	void *buf = s->owner.server.buf;

	alias_own_ksm(s->owner.pd, buf, PAIR_BUF, rights, &s->own);
	s->ksm = alias_allow(s->owner.ctx, s->own.key >> 8, secret, &s->answer) == 0;
	if (s->ksm)
		return true;
	alias_disown(&s->own);
	alias_own_direct(s->owner.pd, buf, PAIR_BUF, rights, &s->own);
	if (alias_allow(s->owner.ctx, s->own.key >> 8, secret, &s->answer) == 0)
		return true;
	probe_cannot(a, "no key can be allowed: status %u, syndrome 0x%x", s->answer.status,
		s->answer.syndrome);
	return false;
}

static bool
import_key(struct sharing *s)
{
	s->alias = alias_make(s->importer.pd, s->vhca, s->own.key, secret, &s->key, &s->answer);
	return s->alias != NULL;
}

static bool
share(struct probe_answer *a, struct sharing *s, unsigned int rights)
{
	if (!open_both(a, s) || !own_key(a, s, rights))
		return false;
	if (import_key(s))
		return true;
	probe_cannot(a, "no alias on %s: status %u, syndrome 0x%x",
		s->two ? "another function" : "the own function", s->answer.status,
		s->answer.syndrome);
	return false;
}

/* The importer posts an RDMA operation, whose local key is lkey. Returns its status. */
static enum ibv_wc_status
rdma(struct pair *p, enum ibv_wr_opcode op, uint32_t lkey, const void *local, uint32_t rkey,
	const void *remote)
{
	struct ibv_sge sge = {(uintptr_t)local, PROBE_LEN, lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
		.num_sge = 1,
		.opcode = op,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {.remote_addr = (uintptr_t)remote, .rkey = rkey}};
	struct ibv_send_wr *bad;

	pair_publish(&p->client);
	CHECK_EQ(ibv_post_send(p->client.qp, &wr, &bad), 0);
	return pair_wait(&p->client).status;
}

/* The importer reads the owner's memory by a key: by a write from it to own memory. */
static enum ibv_wc_status
use(struct sharing *s, uint32_t key)
{
	return rdma(&s->importer, IBV_WR_RDMA_WRITE, key, s->owner.server.buf,
		s->importer.server.mr->rkey, s->importer.server.buf);
}

static void
again(struct pair *p)
{
	CHECK_EQ(pair_modify(&p->client, IBV_QPS_RESET), 0);
	CHECK_EQ(pair_modify(&p->server, IBV_QPS_RESET), 0);
	pair_connect(p, &p->client, p->server.qp->qp_num);
	pair_connect(p, &p->server, p->client.qp->qp_num);
}

static const char *
where(const struct sharing *s)
{
	return s->two ? "on two functions" : "on one function";
}

/* ---- use */

static void
own_function(struct probe_answer *a)
{
	struct sharing s;

	if (!open_both(a, &s) || !own_key(a, &s, RIGHTS))
		return;
	s.alias = alias_make(s.owner.pd, s.vhca, s.own.key, secret, &s.key, &s.answer);
	probe_saw(a, s.alias != NULL, "%s, status %u, syndrome 0x%x",
		s.alias != NULL ? "an alias" : "no alias", s.answer.status, s.answer.syndrome);
}

static void
alias_keys(struct probe_answer *a)
{
	struct sharing s;
	enum ibv_wc_status local, into, remote;
	bool bytes;

	if (!share(a, &s, RIGHTS))
		return;
	memset(s.owner.server.buf, 0x5a, PROBE_LEN);
	local = use(&s, s.key);
	bytes = memcmp(s.owner.server.buf, s.importer.server.buf, PROBE_LEN) == 0;
	into = rdma(&s.importer, IBV_WR_RDMA_READ, s.key, s.owner.server.buf,
		s.importer.server.mr->rkey, s.importer.server.buf + PROBE_LEN);
	bytes &= s.owner.server.buf[0] == 0;
	remote = rdma(&s.importer, IBV_WR_RDMA_READ, s.importer.client.mr->lkey,
		s.importer.client.buf, s.key, s.owner.server.buf);
	probe_saw(a, local == 0 && into == 0 && remote == 0 && bytes,
		"%s: local key of a write: %s, of a read: %s, remote key: %s%s", where(&s),
		ibv_wc_status_str(local), ibv_wc_status_str(into), ibv_wc_status_str(remote),
		bytes ? "" : ", with other bytes");
}

static void
alias_variant(struct probe_answer *a)
{
	struct sharing s;
	enum ibv_wc_status zero, owners;

	if (!share(a, &s, RIGHTS))
		return;
	zero = use(&s, s.key);
	if (zero != IBV_WC_SUCCESS)
		again(&s.importer);
	owners = use(&s, s.key | KEY_VARIANT);
	probe_saw(a, zero == IBV_WC_SUCCESS, "0: %s, the owner's: %s", ibv_wc_status_str(zero),
		ibv_wc_status_str(owners));
}

/* Without a right to write, reads succeed and writes fail. */
static void
alias_rights(struct probe_answer *a)
{
	struct sharing s;
	enum ibv_wc_status reads, writes;

	if (!share(a, &s, 0))
		return;
	reads = use(&s, s.key);
	if (reads != IBV_WC_SUCCESS)
		again(&s.importer);
	writes = rdma(&s.importer, IBV_WR_RDMA_READ, s.key, s.owner.server.buf,
		s.importer.server.mr->rkey, s.importer.server.buf);
	probe_saw(a, reads == IBV_WC_SUCCESS && writes == IBV_WC_LOC_PROT_ERR,
		"a key without rights: reading: %s, writing: %s", ibv_wc_status_str(reads),
		ibv_wc_status_str(writes));
}

static void
alias_odp(struct probe_answer *a)
{
	struct sharing s;
	struct key_command c;
	struct key_part part;
	struct ibv_mr *mr;
	enum ibv_wc_status got;
	uint8_t *buf = aligned_alloc(4096, PAIR_BUF);

	if (!open_both(a, &s))
		return;
	mr = ibv_reg_mr(s.owner.pd, buf, PAIR_BUF, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
	if (mr == NULL) {
		probe_cannot(a, "the device has no memory on demand");
		return;
	}
	memset(buf, 1, PAIR_BUF);
	c = key_command(s.owner.pd, KEY_KSM, RIGHTS, (uintptr_t)buf, PAIR_BUF);
	part = (struct key_part){.va = (uintptr_t)buf, .key = mr->lkey};
	key_lay_out(&c, &part, 1, 16);
	s.own.obj = key_try(s.owner.ctx, &c, &s.own.key);
	if (s.own.obj == NULL || alias_allow(s.owner.ctx, s.own.key >> 8, secret, &s.answer) != 0 ||
		!import_key(&s)) {
		probe_saw(a, true, "the key or the alias is refused");
		return;
	}
	got = rdma(&s.importer, IBV_WR_RDMA_WRITE, s.key, buf, s.importer.server.mr->rkey,
		s.importer.server.buf);
	probe_saw_status(a, got, IBV_WC_LOC_PROT_ERR);
}

static void
alias_in_layout(struct probe_answer *a)
{
	struct sharing s;
	struct key_part part;
	struct key_command c;
	uint32_t key;

	if (!share(a, &s, RIGHTS))
		return;
	part = (struct key_part){(uintptr_t)s.owner.server.buf, s.key, PAIR_BUF};
	c = key_command(s.importer.pd, KEY_KLM, RIGHTS, (uintptr_t)s.owner.server.buf, PAIR_BUF);
	key_lay_out(&c, &part, 1, 0);
	if (key_try(s.importer.ctx, &c, &key) == NULL)
		probe_saw(a, true, "the layout is refused, syndrome 0x%x", c.syndrome);
	else
		probe_saw_status(a, use(&s, key), IBV_WC_LOC_PROT_ERR);
}

/* ---- refusals */

static void
alias_refused(struct probe_answer *a)
{
	static const uint8_t wrong[ALIAS_SECRET] = {1};
	struct alias_owned never;
	struct sharing s;
	bool made[3];
	uint32_t key, syndrome[3];

	if (!open_both(a, &s) || !own_key(a, &s, RIGHTS))
		return;
	alias_own_direct(s.owner.pd, s.owner.client.buf, PAIR_BUF, 0, &never);
	made[0] = alias_make(s.importer.pd, s.vhca, s.own.key, wrong, &key, &s.answer) != NULL;
	syndrome[0] = s.answer.syndrome;
	made[1] = alias_make(s.importer.pd, 0x3fff, s.own.key, secret, &key, &s.answer) != NULL;
	syndrome[1] = s.answer.syndrome;
	made[2] = alias_make(s.importer.pd, s.vhca, never.key, secret, &key, &s.answer) != NULL;
	syndrome[2] = s.answer.syndrome;
	probe_saw(a, !made[0] && !made[1] && !made[2],
		"wrong access key: %s 0x%x, no such function: %s 0x%x, not allowed: %s 0x%x",
		made[0] ? "made" : "refused", syndrome[0], made[1] ? "made" : "refused",
		syndrome[1], made[2] ? "made" : "refused", syndrome[2]);
}

static void
allow_again(struct probe_answer *a)
{
	static const uint8_t second[ALIAS_SECRET] = {2};
	struct mlx5dv_devx_obj *old, *now;
	struct sharing s;
	enum ibv_wc_status first;
	uint32_t key;

	if (!share(a, &s, RIGHTS))
		return;
	if (alias_allow(s.owner.ctx, s.own.key >> 8, second, &s.answer) != 0) {
		probe_saw(a, false, "the second ALLOW is refused, syndrome 0x%x",
			s.answer.syndrome);
		return;
	}
	first = use(&s, s.key);
	old = alias_make(s.importer.pd, s.vhca, s.own.key, secret, &key, &s.answer);
	now = alias_make(s.importer.pd, s.vhca, s.own.key, second, &key, &s.answer);
	probe_saw(a, first == IBV_WC_SUCCESS && old == NULL && now != NULL,
		"the first alias: %s, by the old access key: %s, by the new one: %s",
		ibv_wc_status_str(first), old != NULL ? "made" : "refused",
		now != NULL ? "made" : "refused");
}

static void
alias_of_alias(struct probe_answer *a)
{
	struct sharing s;
	int rc;

	if (!share(a, &s, RIGHTS))
		return;
	rc = alias_allow(s.importer.ctx, s.key >> 8, secret, &s.answer);
	probe_saw(a, rc != 0, "%s, status %u, syndrome 0x%x", rc != 0 ? "refused" : "allowed",
		s.answer.status, s.answer.syndrome);
}

static void
alias_of_region(struct probe_answer *a)
{
	struct sharing s;
	int rc;

	if (!open_both(a, &s))
		return;
	rc = alias_allow(s.owner.ctx, s.owner.client.mr->lkey >> 8, secret, &s.answer);
	probe_saw(a, rc != 0, "%s, status %u, syndrome 0x%x", rc != 0 ? "refused" : "allowed",
		s.answer.status, s.answer.syndrome);
}

static void
alias_of_signature(struct probe_answer *a)
{
	struct mlx5dv_mkey_init_attr attr = {.create_flags =
						     MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT |
						     MLX5DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE,
		.max_entries = 1};
	struct mlx5dv_mkey *mkey;
	struct sharing s;
	int rc;

	if (!open_both(a, &s))
		return;
	attr.pd = s.owner.pd;
	mkey = mlx5dv_create_mkey(&attr);
	if (mkey == NULL) {
		probe_cannot(a, "the device has no keys for signatures");
		return;
	}
	rc = alias_allow(s.owner.ctx, mkey->lkey >> 8, secret, &s.answer);
	probe_saw(a, rc != 0, "%s, status %u, syndrome 0x%x", rc != 0 ? "refused" : "allowed",
		s.answer.status, s.answer.syndrome);
}

/* ---- the end */

static void
alias_outlives(struct probe_answer *a)
{
	struct sharing s;
	enum ibv_wc_status before, after;

	if (!share(a, &s, RIGHTS))
		return;
	before = use(&s, s.key);
	if (mlx5dv_devx_obj_destroy(s.own.obj) != 0) {
		probe_saw(a, false, "the key cannot be destroyed: %s", strerror(errno));
		return;
	}
	after = use(&s, s.key);
	probe_saw(a, before == IBV_WC_SUCCESS && after == IBV_WC_LOC_PROT_ERR,
		"before: %s, after: %s", ibv_wc_status_str(before), ibv_wc_status_str(after));
}

static void
alias_status_later(struct probe_answer *a)
{
	struct sharing s;
	uint32_t before, after;

	if (!share(a, &s, RIGHTS))
		return;
	before = alias_status(s.alias, s.key);
	alias_end_key(&s.own);
	after = alias_status(s.alias, s.key);
	probe_saw(a, before == 0 && after != 0, "before: %u, after: %u", before, after);
}

static void
alias_index_again(struct probe_answer *a)
{
	struct key_command c;
	struct sharing s;
	uint32_t index, key;

	if (!open_both(a, &s))
		return;
	/* Keys over user memory are made by one command each, with the same memory. */
	alias_own_direct(s.owner.pd, s.owner.server.buf, PAIR_BUF, RIGHTS, &s.own);
	if (alias_allow(s.owner.ctx, s.own.key >> 8, secret, &s.answer) != 0 || !import_key(&s)) {
		probe_cannot(a, "a key over user memory cannot be shared, syndrome 0x%x",
			s.answer.syndrome);
		return;
	}
	index = s.own.key >> 8;
	c = key_command(s.owner.pd, KEY_PAGES, RIGHTS, (uintptr_t)s.owner.server.buf, PAIR_BUF);
	devx_put(c.bytes, 0x320, 32, s.own.umem->umem_id);
	key = ~0u;
	for (unsigned int tries = 0; tries < TRIES && key >> 8 != index; tries++) {
		alias_end_key(&s.own);
		s.own.obj = key_make(s.owner.ctx, &c, &key);
	}
	if (key >> 8 != index) {
		probe_cannot(a, "the index did not come again within %u keys", TRIES);
		return;
	}
	(void)alias_allow(s.owner.ctx, index, secret, &s.answer);
	probe_saw_status(a, use(&s, s.key), IBV_WC_LOC_PROT_ERR);
}

static void
alias_owner_closes(struct probe_answer *a)
{
	struct sharing s;
	struct ibv_context *ctx;
	struct alias_owned own;
	struct ibv_pd *pd;

	if (!open_both(a, &s))
		return;
	ctx = pair_open(0);
	pd = ibv_alloc_pd(ctx);
	CHECK(pd != NULL);
	alias_own_direct(pd, s.owner.server.buf, PAIR_BUF, RIGHTS, &own);
	if (alias_allow(ctx, own.key >> 8, secret, &s.answer) != 0) {
		alias_disown(&own);
		alias_own_ksm(pd, s.owner.server.buf, PAIR_BUF, RIGHTS, &own);
		CHECK_EQ(alias_allow(ctx, own.key >> 8, secret, &s.answer), 0);
	}
	s.own = own;
	if (!import_key(&s) || use(&s, s.key) != IBV_WC_SUCCESS) {
		probe_cannot(a, "no alias, syndrome 0x%x", s.answer.syndrome);
		return;
	}
	CHECK_EQ(ibv_close_device(ctx), 0);
	/* The emulated adapter ends a closed context when the next one is opened. */
	CHECK_EQ(ibv_close_device(pair_open(0)), 0);
	probe_saw_status(a, use(&s, s.key), IBV_WC_LOC_PROT_ERR);
}

const struct probe probe_functions[] = {
	{"alias-own-function", "A function can make an alias of its own key.",
		"Without a second function, the other probes of this group cannot ask.",
		own_function},
	{"alias-keys",
		"An alias can be a local key of RDMA, and a remote key on the importer's own "
		"queue pairs.",
		"Imported memory cannot be used by WRITE, READ and SEND, and not by copies where RDMA carries them.",
		alias_keys},
	{"alias-variant", "The variant of an alias is 0, whatever the variant of the owner's key.",
		"Every use of imported memory fails: lib/hwq uses the variant 0, as UCX does.",
		alias_variant},
	{"alias-rights",
		"An alias has the rights of the owner's key: to read by a local key needs no "
		"right, and to write needs the right of local writes.",
		"An importer with a record for reading may write, or copies to imported memory fail.",
		alias_rights},
	{"alias-odp", "An alias does not reach memory on demand.",
		"Gantry exports no memory on demand; a program that does this with lib/hwq sees more.",
		alias_odp},
	{"alias-in-layout", "An alias in the layout of an indirect key is refused.",
		"Gantry refuses layouts over imported memory by itself; if a card can do it, they become possible.",
		alias_in_layout},
	{"alias-refused",
		"The command that makes an alias is refused if the access key is wrong, if the "
		"owner's function does not exist, or if the owner has not allowed the key.",
		"Copies fail instead of gantry_mem_import(), or memory is open to others.",
		alias_refused},
	{"allow-again",
		"A second permission for a key replaces the access key, and earlier aliases stay "
		"valid.",
		"Gantry makes a key for each export, and allows it once.", allow_again},
	{"alias-of-alias", "An alias cannot be allowed.",
		"Gantry refuses to export imported memory by itself.", alias_of_alias},
	{"alias-of-region", "A key of ibv_reg_mr(3) cannot be allowed.",
		"Gantry makes a key over such a key; if a card allows it, one key would be enough.",
		alias_of_region},
	{"alias-of-signature", "A key for signatures cannot be allowed.",
		"Gantry exports no keys for signatures; a program that does it by lib/hwq may be refused.",
		alias_of_signature},
	{"alias-outlives",
		"The owner may destroy a key while an alias of it exists. Work requests by the "
		"alias then fail with a local protection error.",
		"The owner cannot unregister memory while importers exist, or importers see another status than GANTRY_LOCAL_ERROR.",
		alias_outlives},
	{"alias-status",
		"A query of an alias reports a status other than 0 when the owner's key was "
		"destroyed.",
		"Only hwq_alias_query() depends on it; the engine does not ask.",
		alias_status_later},
	{"alias-index-again", "An alias does not reach a later key with the same index.",
		"An importer reaches memory that its owner never exported to it.",
		alias_index_again},
	{"alias-owner-closes",
		"When the owner's context is closed, an alias of its key reaches no memory.",
		"Importers read and write memory of a process that has ended.", alias_owner_closes},
	{NULL},
};
