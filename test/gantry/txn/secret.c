/* SPDX-License-Identifier: BSD-3-Clause */
/* DEKs, which are added and retired, and the bytes of encrypted transactions. */
#include <errno.h>
#include <rte_common.h>

#include "play.h"

/* ------------------------------------------------------------------ DEKs */

static void
come(struct dek *d)
{
	uint8_t key[XTS_MAX_KEY + 16];
	struct gantry_dek_conf conf = {.key = key};

	d->xts = (struct xts){.key_len = chance(2) ? 64 : 32};
	env_fill(d->xts.key, d->xts.key_len, ++play.deks);
	conf.len = xts_import(&d->xts, NULL, key);
	CHECK_EQ(gantry_dek_add(play.g, &conf, &d->id), 0);
}

static void
go(struct dek *d, uint32_t timeout_ms)
{
	int ret = gantry_dek_retire(play.g, d->id, timeout_ms);

	CHECK(ret == 0 || (ret == -ETIMEDOUT && timeout_ms == 0), "gantry_dek_retire: %d", ret);
	d->going = ret != 0;
	if (ret == 0)
		d->id = 0;
}

static void
begin_to_go(struct dek *d)
{
	unsigned int i;

	for (i = 0; i < N_SLOTS; i++)
		if (play.slot[i].busy && play.slot[i].encrypts &&
			play.slot[i].txn.crypto.dek == d->id)
			play.slot[i].may |= 1u << GANTRY_BAD_DEK;
	go(d, 0);
	play.deks_kept += d->going;
}

void
secret_change(void)
{
	struct dek *d;
	unsigned int i;

	if (!play.crypto)
		return;
	for (i = 0; i < N_DEKS; i++)
		if (play.dek[i].going)
			go(&play.dek[i], 0);
	d = &play.dek[chance(N_DEKS)];
	if (d->id == 0)
		come(d);
	else if (!d->going && chance(6) == 0)
		begin_to_go(d);
}

void
secret_mend(void)
{
	unsigned int i;

	for (i = 0; play.crypto && i < N_DEKS; i++) {
		if (play.dek[i].going)
			go(&play.dek[i], 10000);
		if (play.dek[i].id == 0)
			come(&play.dek[i]);
	}
}

void
secret_open(void)
{
	secret_mend();
}

/* DEKs that still exist are removed when the engine is destroyed. */
void
secret_close(void)
{
	unsigned int i;

	for (i = 0; i < N_DEKS; i++)
		play.dek[i].id = play.dek[i].going = 0;
}

/* ------------------------------------------------------------------ bytes */

struct gantry_crypto
secret_crypto(const struct gantry_profile_conf *conf)
{
	static const uint16_t units[] = {512, 520, 4048, 4096, 4160};
	struct gantry_profile_conf c = *conf;
	const struct gantry_sig_domain *d, *other;
	unsigned int tries = 0;

	do {
		/* Data units and blocks may have no common multiple that is short enough. */
		if (++tries > 20)
			return conf->crypto;
		c.crypto.domain = chance(2) ? GANTRY_ENCRYPTED_MEM : GANTRY_ENCRYPTED_WIRE;
		d = c.crypto.domain == GANTRY_ENCRYPTED_MEM ? &c.mem : &c.wire;
		other = d == &c.mem ? &c.wire : &c.mem;
		c.crypto.sig_over_ciphertext =
			d->kind != GANTRY_SIG_NONE && other->kind == GANTRY_SIG_NONE && chance(2);
		c.crypto.unit_size = units[chance(RTE_DIM(units))];
	} while (model_step(&c) > MAX_DATA);
	return c.crypto;
}

void
secret_draw(struct slot *s, const struct gantry_crypto *crypto)
{
	const struct dek *d = &play.dek[chance(N_DEKS)];
	unsigned int i;

	s->encrypts = crypto->domain != GANTRY_ENCRYPTED_NONE;
	s->crypto = *crypto;
	if (!s->encrypts)
		return;
	s->xts = d->xts;
	for (i = 0; i < sizeof(s->xts.tweak); i++)
		s->xts.tweak[i] = chance(3) == 0 ? 0xff : chance(256);
	s->txn.crypto.dek = d->id;
	memcpy(s->txn.crypto.tweak, s->xts.tweak, sizeof(s->xts.tweak));
	if (d->id == 0 || d->going)
		s->must = GANTRY_BAD_DEK;
}

bool
secret_comes_encrypted(const struct slot *s)
{
	return s->crypto.domain == (s->model.reads ? GANTRY_ENCRYPTED_WIRE : GANTRY_ENCRYPTED_MEM);
}

static void
pass(const struct slot *s, bool encrypt, uint8_t *bytes, uint64_t len)
{
	xts_pass(&s->xts, encrypt, s->crypto.unit_size, bytes, bytes, len);
}

void
secret_lay(struct slot *s, uint8_t *data)
{
	const struct ref_sig *in = model_in(&s->model);
	const bool encrypt = s->encrypts && secret_comes_encrypted(s),
		   over = s->crypto.sig_over_ciphertext;

	if (encrypt && over)
		pass(s, true, data, s->data_len);
	model_lay(in, data, s->data_len, s->came);
	if (encrypt && !over)
		pass(s, true, s->came, model_len(in, s->data_len));
}

struct gantry_sig_error
secret_run(struct slot *s)
{
	static uint8_t in[MAX_LIN];
	const bool comes = secret_comes_encrypted(s);
	/*
	 * A signature over the ciphertext is checked before the data are decrypted, and computed
	 * after they are encrypted.
	 */
	const bool first = comes != s->crypto.sig_over_ciphertext;
	struct gantry_sig_error error;

	memcpy(in, s->came, sizeof(in));
	if (s->encrypts && first)
		pass(s, !comes, in, model_len(model_in(&s->model), s->data_len));
	error = model_run(&s->model, in, s->data_len, s->arrives);
	if (s->encrypts && !first)
		pass(s, !comes, s->arrives, model_len(model_out(&s->model), s->data_len));
	return error;
}
