/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The effects of descriptors on memory, byte by byte. A byte of the model is a set of possible
 * values.
 */
#include <assert.h>
#include <string.h>

#include "model.h"

static struct model_byte
byte_of(uint8_t value)
{
	return (struct model_byte){.n = 1, .value = {value}};
}

static bool
may_be(struct model_byte b, uint8_t value)
{
	unsigned int i;

	for (i = 0; i < b.n; i++)
		if (b.value[i] == value)
			return true;
	return b.n == 0;
}

/*
 * Returns the union of two sets of values. A union with more than three values becomes "any value".
 */
static struct model_byte
either(struct model_byte a, struct model_byte b)
{
	unsigned int i;

	if (a.n == 0 || b.n == 0)
		return (struct model_byte){0};
	for (i = 0; i < b.n; i++) {
		if (may_be(a, b.value[i]))
			continue;
		if (a.n == sizeof(a.value))
			return (struct model_byte){0};
		a.value[a.n++] = b.value[i];
	}
	return a;
}

static struct model_byte *
byte_at(const struct model *m, uint64_t addr, uint64_t len)
{
	uint64_t at = addr - (uintptr_t)m->mem;

	assert(at <= m->len && len <= m->len - at);
	return &m->byte[at];
}

/* Sets the values of `len` bytes of memory at the offset `at` of the arena. */
static void
adopt(struct model *m, uint64_t at, const uint8_t *mem, uint64_t len)
{
	uint64_t i;

	for (i = 0; i < len; i++)
		m->byte[at + i] = byte_of(mem[i]);
}

/* The offset of device memory in the arena. */
static uint64_t
device_at(const struct model *m)
{
	return m->region[MODEL_DEVICE].addr - (uintptr_t)m->mem;
}

void
model_adopt(struct model *m)
{
	adopt(m, 0, m->mem, m->host_len);
	if (m->device != NULL)
		adopt(m, device_at(m), m->device, m->region[MODEL_DEVICE].len);
}

void
model_new_device(struct model *m, const uint8_t *at)
{
	uint64_t i;

	m->device = at;
	for (i = 0; i < m->region[MODEL_DEVICE].len; i++)
		m->byte[device_at(m) + i] = byte_of(0);
}

uint8_t
model_now(const struct model *m, uint64_t at)
{
	return at < m->host_len ? m->mem[at] : m->device[at - device_at(m)];
}

void
model_read(const struct model *m, const struct gantry_desc *d, struct model_byte *bytes)
{
	struct model_range piece[MODEL_PIECES];
	unsigned int n = model_pieces(m, d, false, piece), i;
	uint64_t k;

	if (d->op == GANTRY_OP_FILL)
		for (k = 0; k < d->len; k++)
			bytes[k] = byte_of(((const uint8_t *)&d->arg[0])[k % 8]);
	for (i = 0; i < n; i++) {
		memcpy(bytes, byte_at(m, piece[i].addr, piece[i].len),
			piece[i].len * sizeof(*bytes));
		bytes += piece[i].len;
	}
}

/* Returns the value of the word after an atomic, if its value was `old` before. */
static uint64_t
after_atomic(const struct gantry_desc *d, uint64_t old)
{
	if (d->op == GANTRY_OP_FETCH_ADD)
		return old + d->arg[0];
	return old == d->arg[0] ? d->arg[1] : old;
}

/* Returns true and the old value, if it is known. */
static bool
known_word(const struct model_byte *word, uint64_t *old)
{
	unsigned int i;

	for (i = 0; i < sizeof(*old); i++) {
		if (word[i].n != 1)
			return false;
		((uint8_t *)old)[i] = word[i].value[0];
	}
	return true;
}

bool
model_word(const struct model *m, const struct gantry_desc *d, uint64_t *old)
{
	struct model_byte word[sizeof(*old)];

	model_read(m, d, word);
	return known_word(word, old);
}

/* bytes: on entry the word before the atomic, on return the word after it. */
static bool
write_atomic(const struct gantry_desc *d, struct model_byte *bytes, bool sure, uint64_t result)
{
	uint64_t old = result, new, at;
	unsigned int i;

	if (sure && !model_bytes_are((const uint8_t *)&result, bytes, sizeof(result), &at))
		return false;
	if (!sure && !known_word(bytes, &old)) {
		memset(bytes, 0, sizeof(old) * sizeof(*bytes));
		return true;
	}
	new = after_atomic(d, old);
	for (i = 0; i < sizeof(new); i++)
		bytes[i] = byte_of(((const uint8_t *)&new)[i]);
	return true;
}

bool
model_write(struct model *m, const struct gantry_desc *d, bool sure, uint64_t result)
{
	static struct model_byte buffer[MODEL_LEN_MAX];
	struct model_byte *bytes = buffer;
	struct model_range piece[MODEL_PIECES];
	unsigned int n = model_pieces(m, d, true, piece), i;
	uint64_t k;

	if (n == 0)
		return true;
	assert(d->len <= MODEL_LEN_MAX);
	model_read(m, d, bytes);
	if ((d->op == GANTRY_OP_COMPARE_SWAP || d->op == GANTRY_OP_FETCH_ADD) &&
		!write_atomic(d, bytes, sure, result))
		return false;
	for (i = 0; i < n; i++) {
		struct model_byte *to = byte_at(m, piece[i].addr, piece[i].len);

		for (k = 0; k < piece[i].len; k++)
			to[k] = sure ? bytes[k] : either(to[k], bytes[k]);
		bytes += piece[i].len;
	}
	return true;
}

bool
model_bytes_are(const uint8_t *mem, const struct model_byte *bytes, uint64_t len, uint64_t *at)
{
	uint64_t i;

	for (i = 0; i < len; i++) {
		/* Nearly all bytes have one value. */
		if (bytes[i].n == 1 ? bytes[i].value[0] == mem[i] : may_be(bytes[i], mem[i]))
			continue;
		*at = i;
		return false;
	}
	return true;
}

/* Gives each byte of the model that may have several values its value in memory. */
static void
narrow(struct model *m, uint64_t at, const uint8_t *mem, uint64_t len)
{
	uint64_t i;

	for (i = 0; i < len; i++)
		if (m->byte[at + i].n != 1)
			m->byte[at + i] = byte_of(mem[i]);
}

bool
model_judge(struct model *m, uint64_t *at)
{
	if (!model_bytes_are(m->mem, m->byte, m->host_len, at))
		return false;
	if (m->device != NULL && !model_bytes_are(m->device, &m->byte[device_at(m)],
					 m->region[MODEL_DEVICE].len, at)) {
		*at += device_at(m);
		return false;
	}
	narrow(m, 0, m->mem, m->host_len);
	if (m->device != NULL)
		narrow(m, device_at(m), m->device, m->region[MODEL_DEVICE].len);
	return true;
}
