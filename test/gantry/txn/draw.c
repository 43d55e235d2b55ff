/* SPDX-License-Identifier: BSD-3-Clause */
/* Draws transactions: profiles, buffers, bytes, and damage to the bytes. */
#include <rte_common.h>

#include "play.h"

/* ------------------------------------------------------------------ profiles */

static bool
is_dif(enum gantry_sig_kind kind)
{
	return kind == GANTRY_SIG_T10DIF_CRC || kind == GANTRY_SIG_T10DIF_CSUM;
}

static struct gantry_sig_domain
draw_domain(uint32_t block)
{
	struct gantry_sig_domain d = {.block_size = block};

	do
		d.kind = 1 + chance(GANTRY_SIG_KIND_MAX - 1);
	while ((play.kinds >> d.kind & 1) == 0);
	if (is_dif(d.kind)) {
		d.flags = chance(3) != 0 ? GANTRY_SIG_REF_REMAP : 0;
		d.flags |= (uint32_t[]){0, 0, GANTRY_SIG_APP_ESCAPE,
			GANTRY_SIG_APP_REF_ESCAPE}[chance(4)];
	}
	return d;
}

static void
draw_profile(struct profile *p)
{
	/* Block sizes whose least common multiple is short enough. */
	static const uint16_t others[][2] = {{512, 4096}, {4096, 512}, {520, 4160}, {4160, 520},
		{512, 520}};
	static const uint16_t blocks[] = {512, 520, 4048, 4096, 4160};
	const uint8_t whole = GANTRY_SIG_ALL;
	uint32_t a = blocks[chance(RTE_DIM(blocks))], b = a;
	struct gantry_profile_conf c = {.check = chance(4) == 0 ? chance(whole + 1) : whole};

	if (chance(8) == 0) {
		const uint16_t *pair = others[chance(RTE_DIM(others))];

		a = pair[0];
		b = pair[1];
	}
	switch (chance(play.crypto ? 5 : 4)) {
	case 4: /* a profile that encrypts, without signatures */
		break;
	case 0:
		c.mem = draw_domain(a);
		break;
	case 1:
		c.wire = draw_domain(a);
		break;
	case 2:
		c.mem = draw_domain(a);
		c.wire = draw_domain(b);
		/*
		 * If both domains have equal kinds and block sizes, the reference tags count in
		 * both or in neither.
		 */
		if (a == b && is_dif(c.mem.kind) && is_dif(c.wire.kind) &&
			((c.mem.flags ^ c.wire.flags) & GANTRY_SIG_REF_REMAP) != 0)
			c.wire.flags ^= GANTRY_SIG_REF_REMAP;
		break;
	default:
		c.mem = c.wire = draw_domain(a);
		c.copy_is_set = chance(2);
		c.copy = c.copy_is_set ? chance(whole + 1) : 0;
		break;
	}
	if ((play.crypto && chance(2)) ||
		(c.mem.kind == GANTRY_SIG_NONE && c.wire.kind == GANTRY_SIG_NONE))
		c.crypto = secret_crypto(&c);
	p->conf = c;
	CHECK_EQ(gantry_profile_create(play.g, &p->conf, &p->id), 0);
	CHECK(p->id != 0);
}

void
draw_profiles(void)
{
	unsigned int i;

	for (i = 0; i < N_PROFILES; i++)
		if (play.profile[i].id == 0)
			draw_profile(&play.profile[i]);
}

/*
 * Destroys a profile while transactions name it: transactions that are not yet in hardware are
 * refused.
 */
void
draw_change_profile(void)
{
	struct profile *p = &play.profile[chance(N_PROFILES)];
	unsigned int i;

	if (p->id == 0)
		return;
	for (i = 0; i < N_SLOTS; i++)
		if (play.slot[i].busy && play.slot[i].txn.profile == p->id)
			play.slot[i].may |= 1u << GANTRY_BAD_PROFILE;
	CHECK_EQ(gantry_profile_destroy(play.g, p->id), 0);
	p->id = 0;
}

/* ------------------------------------------------------------------ addresses */

static void
side_clear(struct side *s)
{
	s->n = 0;
	s->used = chance(MAX_GAP);
}

/* Appends an extent after the previous one. */
static uint32_t
side_place(struct side *s, uint32_t len)
{
	uint32_t at = s->used;

	CHECK(s->used + len + MAX_GAP <= AREA_LEN);
	s->used += len;
	return at;
}

static void
side_gap(struct side *s)
{
	s->used += chance(3) == 0 ? chance(MAX_GAP) : 0;
}

static void
side_extent(struct side *s, uint32_t at, uint32_t len)
{
	CHECK(s->n < MAX_EXTENTS);
	s->extent[s->n].at = at;
	s->extent[s->n].len = len;
	s->n++;
}

/* Divides `total` bytes into pieces of any length. Returns the number of pieces. */
static unsigned int
draw_data(struct slot *s, uint32_t total)
{
	unsigned int n = chance(2) ? 1 : 1 + chance(MAX_PIECES), i;

	for (i = 0; i < n && total != 0; i++) {
		uint32_t len = i + 1 == n || total == 1 ? total : 1 + chance(total);
		uint32_t at = side_place(&s->local, len);

		s->data[i] = (struct gantry_sge){(uintptr_t)s->local.area + at, len};
		side_extent(&s->local, at, len);
		side_gap(&s->local);
		total -= len;
	}
	return i;
}

/* Puts the signatures of memory into a buffer of their own, before or after the data. */
static void
draw_pi(struct slot *s, uint32_t data)
{
	const struct ref_sig *sig = &s->model.mem;
	uint32_t n = data / sig->block, len = ref_len(sig->kind), i, at, pi;
	bool first = chance(2);

	pi = first ? side_place(&s->local, n * len) : 0;
	side_gap(&s->local);
	at = side_place(&s->local, data);
	side_gap(&s->local);
	pi = first ? pi : side_place(&s->local, n * len);
	s->data[0] = (struct gantry_sge){(uintptr_t)s->local.area + at, data};
	s->txn.pi = (struct gantry_sge){(uintptr_t)s->local.area + pi, n * len};
	for (i = 0; i < n; i++) {
		side_extent(&s->local, at + i * sig->block, sig->block);
		side_extent(&s->local, pi + i * len, len);
	}
}

/*
 * Draws parts. Each part has whole blocks of both domains. A transaction that encrypts has one
 * part. Returns the number of parts.
 */
static unsigned int
draw_parts(struct slot *s, uint32_t data, uint32_t step)
{
	unsigned int n = s->encrypts || chance(3) != 0 ? 1 : 1 + chance(MAX_PIECES), i;

	for (i = 0; i < n && data != 0; i++) {
		uint32_t part = i + 1 == n ? data : step * (1 + chance(data / step));
		uint32_t len = model_len(&s->model.wire, part), at = side_place(&s->remote, len);

		s->part[i] = (struct gantry_txn_part){
			.addr = (uintptr_t)s->remote.area + at,
			.len = len,
			.remote_key = s->link != NULL ? gantry_mem_remote_key(play.remote) : 0,
		};
		side_extent(&s->remote, at, len);
		side_gap(&s->remote);
		data -= part;
	}
	return i;
}

/*
 * Sets the expected content of the side's memory. `bytes`: the bytes of the source; NULL if the
 * side is the destination.
 */
static void
side_put(struct side *s, const uint8_t *bytes)
{
	memset(s->image, UNTOUCHED, s->used + MAX_GAP);
	if (bytes != NULL)
		side_overlay(s, bytes);
}

static void
side_end(struct side *s)
{
	memcpy(s->area, s->image, s->used + MAX_GAP);
}

/* ------------------------------------------------------------------ tags, bytes, damage */

/* Draws tags. `like` are the tags of the other domain: often both are equal. */
static struct gantry_txn_tags
draw_tags(const struct gantry_sig_domain *d, const struct gantry_txn_tags *like)
{
	struct gantry_txn_tags t = {0};

	if (d->kind == GANTRY_SIG_NONE)
		return t;
	t.seed_ones = chance(2) ? like->seed_ones : chance(2);
	if (!is_dif(d->kind))
		return t;
	t.app_tag = chance(2) ? like->app_tag : chance(8) == 0 ? 0xffff : chance(1 << 16);
	t.ref_tag = chance(2)        ? like->ref_tag
		    : chance(8) == 0 ? UINT32_MAX - chance(4)
				     : chance(UINT64_C(1) << 32);
	return t;
}

/* Returns one of the incoming signatures, or the block of that signature. */
static uint8_t *
any_unit(struct slot *s)
{
	const struct ref_sig *in = model_in(&s->model);

	return s->came + chance(s->data_len / in->block) * ref_unit(in);
}

/* Damages the incoming bytes. The model decides whether the damage must be reported. */
static void
draw_damage(struct slot *s)
{
	const struct ref_sig *in = model_in(&s->model);
	uint64_t len = model_len(in, s->data_len), bits, at;
	uint8_t *unit = any_unit(s), *sig = unit + in->block;

	switch (chance(in->kind == REF_NONE ? 2 : 7)) {
	case 0: /* one bit is wrong */
		s->came[chance(len)] ^= 1u << chance(8);
		break;
	case 1: /* a burst of up to 16 bits is wrong */
		at = chance(len * 8 - 15);
		for (bits = 1 + chance(1 << 16); bits != 0; bits >>= 1, at++)
			s->came[at / 8] ^= (bits & 1) << at % 8;
		break;
	case 2: /* one bit of a signature is wrong */
		sig[chance(ref_len(in->kind))] ^= 1u << chance(8);
		break;
	case 3: /* a block has the correct signature of other bytes */
		env_fill(sig, ref_len(in->kind), chance(1000));
		break;
	case 4: /* two blocks are wrong */
		sig[0] ^= 1u << chance(8);
		any_unit(s)[chance(in->block)] ^= 1u << chance(8);
		break;
	case 5: /* a block has an escape: not checked, if the profile allows escapes */
		memset(sig + ref_len(in->kind) / 4, 0xff,
			chance(2) ? ref_len(in->kind) / 4 : ref_len(in->kind) / 4 * 3);
		unit[chance(in->block)] ^= 1u << chance(8);
		break;
	default: /* the last bit of the incoming bytes is wrong */
		s->came[len - 1] ^= 1;
	}
}

static void
draw_bytes(struct slot *s, bool force_right)
{
	static uint8_t plain[MAX_DATA];

	env_fill(plain, s->data_len, s->number);
	if (chance(16) == 0)
		memset(plain, 0, s->data_len);
	secret_lay(s, plain);
	if (!force_right && chance(3) == 0)
		draw_damage(s);
	s->error = secret_run(s);
}

/* ------------------------------------------------------------------ responses */

static struct gantry_txn_response
draw_response(struct slot *s, struct message *own, bool good)
{
	bool registered = chance(2);
	uint32_t len = 16 + chance((registered ? sizeof(*own) : s->link->max_inline) - 15), at;

	*own = (struct message){.number = s->number, .good = good};
	env_fill(own->more, sizeof(own->more), s->number);
	if (!registered)
		return (struct gantry_txn_response){.addr = (uintptr_t)own, .len = len};
	at = side_place(&s->local, len);
	memset(s->local.image + at + len, UNTOUCHED, MAX_GAP);
	memcpy(s->local.image + at, own, len);
	return (struct gantry_txn_response){.addr = (uintptr_t)s->local.area + at, .len = len};
}

static void
draw_responses(struct slot *s)
{
	if (s->link == NULL)
		return;
	if (chance(8) != 0)
		s->txn.good = draw_response(s, &s->good, true);
	if (chance(4) != 0)
		s->txn.bad = draw_response(s, &s->bad, false);
}

/* ------------------------------------------------------------------ a whole descriptor */

/* Makes a transaction that the engine must refuse. */
static void
draw_mistake(struct slot *s, struct gantry_desc *d)
{
	switch (chance(8)) {
	case 7:
		if (!s->encrypts)
			break;
		s->txn.crypto.dek ^= 1u << chance(32);
		s->must = GANTRY_BAD_DEK;
		break;
	case 0:
		s->txn.profile = GANTRY_MAX_PROFILES + chance(2) * 1000;
		s->must = GANTRY_BAD_PROFILE;
		break;
	case 1:
		s->data[0].addr = (uintptr_t)s; /* memory that is not registered */
		s->must = GANTRY_NOT_REGISTERED;
		break;
	case 2:
		d->len += s->model.mem.block;
		s->must = GANTRY_BAD_LENGTH;
		break;
	case 3:
		d->arg[1] = 1;
		s->must = GANTRY_BAD_FIELD;
		break;
	case 4:
		s->txn.zero[chance(3)] = 1;
		s->must = GANTRY_BAD_FIELD;
		break;
	case 5: /* a tag of a domain that has no tags */
		if (s->model.mem.kind != REF_NONE && s->model.wire.kind != REF_NONE)
			s->txn.wire.zero = 1;
		else
			(s->model.mem.kind == REF_NONE ? &s->txn.mem : &s->txn.wire)->ref_tag = 1;
		s->must = GANTRY_BAD_FIELD;
		break;
	default:
		d->src += 4;
		s->must = GANTRY_BAD_ADDRESS;
	}
}

static uint32_t
draw_steps(uint32_t step)
{
	int most = (int)(MAX_DATA / step);

	return step * (1 + chance(chance(16) == 0 ? most : RTE_MIN(most, 4)));
}

static void
draw_txn(struct slot *s, const struct profile *p, struct gantry_desc *d, bool force_right)
{
	const uint32_t step = model_step(&p->conf), data = draw_steps(step);
	bool pi = p->conf.mem.kind != GANTRY_SIG_NONE && chance(3) == 0;

	s->txn = (struct gantry_txn){
		.profile = p->id,
		.op = chance(2) ? GANTRY_OP_WRITE : GANTRY_OP_READ,
		.data = s->data,
		.part = s->part,
	};
	s->txn.mem = draw_tags(&p->conf.mem, &s->txn.wire);
	s->txn.wire = draw_tags(&p->conf.wire, &s->txn.mem);
	model_init(&s->model, &p->conf, &s->txn);
	secret_draw(s, &p->conf.crypto);
	s->data_len = data;
	s->txn.n_data = 1;
	if (pi)
		draw_pi(s, data);
	else
		s->txn.n_data = draw_data(s, model_len(&s->model.mem, data));
	/* A transaction that only checks has no destination. */
	if (s->link == NULL && !s->model.reads && s->model.mem.kind != REF_NONE && chance(4) == 0)
		s->txn.part = NULL;
	else
		s->txn.n_parts = draw_parts(s, data, step);
	draw_bytes(s, force_right);
	side_put(&s->local, s->model.reads ? NULL : s->came);
	side_put(&s->remote, s->model.reads ? s->came : NULL);
	draw_responses(s);
	d->op = GANTRY_OP_TXN;
	d->peer = s->link != NULL ? s->link->target : GANTRY_PEER_OWN;
	d->src = (uintptr_t)&s->txn;
	d->len = data;
	if (!force_right && s->must == 0 && chance(40) == 0)
		draw_mistake(s, d);
}

/* Draws a copy. It must not delay transactions, and transactions must not delay it. */
static void
draw_copy(struct slot *s, struct gantry_desc *d)
{
	uint32_t len = 1 + chance(2000);

	s->is_copy = true;
	s->data_len = len;
	env_fill(s->came, len, s->number);
	memcpy(s->arrives, s->came, len);
	side_extent(&s->local, side_place(&s->local, len), len);
	side_extent(&s->remote, side_place(&s->remote, len), len);
	side_put(&s->local, s->came);
	side_put(&s->remote, NULL);
	d->op = GANTRY_OP_COPY;
	d->src = (uintptr_t)s->local.area + s->local.extent[0].at;
	d->dst = (uintptr_t)s->remote.area + s->remote.extent[0].at;
	d->len = len;
}

bool
draw_slot(struct link *link, bool force_right)
{
	struct gantry_desc d = {.cookie = play.made + 1};
	const struct profile *p = &play.profile[chance(N_PROFILES)];
	struct slot *s = NULL;
	unsigned int i;

	for (i = 0; i < N_SLOTS && s == NULL; i++)
		if (!play.slot[i].busy)
			s = &play.slot[i];
	if (s == NULL || p->id == 0)
		return false;
	s->busy = true;
	s->completed = s->cancelled = s->absent = s->is_copy = s->encrypts = false;
	s->link = link;
	s->number = ++play.made;
	s->may = s->must = 0;
	s->n_good = s->n_bad = 0;
	s->error = (struct gantry_sig_error){0};
	side_clear(&s->local);
	side_clear(&s->remote);
	if (link == NULL && chance(2))
		draw_copy(s, &d);
	else
		draw_txn(s, p, &d, force_right);
	side_end(&s->local);
	side_end(&s->remote);
	memory_note_absent(s);
	if (play.lost && s->must == 0)
		s->must = GANTRY_DEVICE_LOST;
	d.flags = chance(10) == 0 ? GANTRY_DESC_FENCE : 0;
	s->before = s->txn;
	play.wait[play.n_wait++] = d;
	return true;
}
