/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Block signatures: computes guards and tags, and converts data block by block.
 *
 * The signature of a block follows the block's data. T10-DIF: guard, application tag, reference
 * tag, big endian (SBC-3). CRC32 and CRC32C: 4 bytes; CRC64: 8 bytes. Only the byte order of CRC32C
 * is public: SPDK's accel module reads it as a little endian number. The same order is assumed for
 * CRC32 and CRC64.
 */
#include "sig.h"

#include <pthread.h>
#include <string.h>

#include <isa-l/crc.h>

#include "wire.h"

/* ---- guards */

/*
 * The polynomial of CRC64 with reversed bits, because the lowest bit of a byte is processed first.
 */
#define CRC64_POLYNOMIAL UINT64_C(0x9a6c9329ac4bc9b5)
/* bytes that crc64_run() processes in one step */
#define CRC64_STRIDE 16

/* crc64_tables[k][b]: the register after byte b and k zero bytes, from register 0. */
static uint64_t crc64_tables[CRC64_STRIDE][256];

static void
crc64_fill_tables(void)
{
	uint64_t(*t)[256] = crc64_tables;

	for (uint32_t b = 0; b < 256; b++) {
		uint64_t value = b;

		for (int bit = 0; bit < 8; bit++)
			value = value >> 1 ^ (value & 1 ? CRC64_POLYNOMIAL : 0);
		t[0][b] = value;
	}
	for (uint32_t k = 1; k < CRC64_STRIDE; k++)
		for (uint32_t b = 0; b < 256; b++)
			t[k][b] = t[k - 1][b] >> 8 ^ t[0][t[k - 1][b] & 0xff];
}

/*
 * Returns the contribution of eight bytes to the register, if `behind` more bytes follow in this
 * step.
 */
static inline __attribute__((always_inline)) uint64_t
crc64_step(int behind, uint64_t bytes)
{
	uint64_t value = 0;

#pragma GCC unroll 8
	for (int i = 0; i < 8; i++)
		value ^= crc64_tables[behind + 7 - i][bytes >> 8 * i & 0xff];
	return value;
}

static uint64_t
crc64_run(uint64_t value, const uint8_t *p, uint64_t len)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	uint64_t a, b;

	pthread_once(&once, crc64_fill_tables);
	for (; len >= CRC64_STRIDE; p += CRC64_STRIDE, len -= CRC64_STRIDE) {
		memcpy(&a, p, sizeof(a));
		memcpy(&b, p + sizeof(a), sizeof(b));
		value = crc64_step(8, le64toh(a) ^ value) ^ crc64_step(0, le64toh(b));
	}
	for (; len > 0; p++, len--)
		value = value >> 8 ^ crc64_tables[0][(value ^ *p) & 0xff];
	return value;
}

/*
 * The checksum of RFC 1071, over 16-bit words in network order. It is computed over 32-bit words in
 * the host's order: then only the two bytes of the result must be swapped. seed: its two bytes are
 * equal. len: a multiple of 4, as all lengths of blocks are.
 */
static uint16_t
guard_checksum(const uint8_t *p, uint32_t len, uint16_t seed)
{
	uint64_t sum = seed;
	uint32_t word;

	for (uint32_t i = 0; i < len; i += sizeof(word)) {
		memcpy(&word, p + i, sizeof(word));
		sum += word;
	}
	while (sum >> 16 != 0)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~be16toh((uint16_t)sum);
}

/* ISA-L's CRC32C has a length of type int, so longer data are split into pieces of this length. */
#define CRC32C_PIECE (UINT64_C(1) << 30)

static uint32_t
crc32c_run(uint32_t crc, const uint8_t *p, uint64_t len)
{
	for (; len > CRC32C_PIECE; p += CRC32C_PIECE, len -= CRC32C_PIECE)
		crc = crc32_iscsi((uint8_t *)(uintptr_t)p, (int)CRC32C_PIECE, crc);
	return crc32_iscsi((uint8_t *)(uintptr_t)p, (int)len, crc);
}

/*
 * The CRC processes the least significant bit first, with a reversed polynomial. The guard is the
 * inverted register. crc32_gzip_refl() inverts its argument and its result; crc32_iscsi() inverts
 * neither.
 */
uint32_t
sig_crc(enum sig_type type, uint32_t crc, const uint8_t *p, uint64_t len)
{
	return type == SIG_CRC32C ? crc32c_run(crc, p, len) : ~crc32_gzip_refl(~crc, p, len);
}

/* Writes the guard as a little endian number. Confirmed: sig-crc32c. Assumed: sig-crc32. */
void
sig_crc_write(uint32_t crc, uint8_t out[SIG_CRC_LEN])
{
	crc = htole32(~crc);
	memcpy(out, &crc, sizeof(crc));
}

/*
 * CRC64_XP10 is assumed to be CRC-64/NVME (doc/softhca-assumptions.md): the polynomial
 * ad93d23594c93659 with reversed bits. The guard is the inverted register. ISA-L has this
 * polynomial since version 2.31 (crc64_rocksoft_refl()), but Debian 12 has version 2.30, so the
 * code is here. Assumed: sig-crc64.
 */
static uint64_t
guard_crc64(const uint8_t *p, uint32_t len, uint64_t crc)
{
	return ~crc64_run(crc, p, len);
}

/* ---- BSF */

enum bsf {
	BSF_SIZE_SBS = 0, /* bits 7:6 size, bit 4 both domains have the same structure */
	BSF_CHECK_MASK = 1,
	BSF_WIRE = 2, /* copy mask if both domains have the same structure; otherwise block size */
	BSF_MEM = 3,
	BSF_RAW_LEN = 4,
	BSF_WIRE_FORMAT_PSV = 8,
	BSF_MEM_FORMAT_PSV = 12,
	BSF_TXN_FLAGS = 16, /* 32 bits; the low bits are the length of a prologue */
	BSF_EPILOGUE = 20,
	BSF_WIRE_TXN_PSV = 24,
	BSF_MEM_TXN_PSV = 28,
	BSF_WIRE_DIF = 32,
	BSF_MEM_DIF = 48,
	BSF_SHORT = 1, /* 32 bytes, without T10-DIF */
	BSF_WITH_INLINE = 2,
	BSF_AND_CRYPTO = 3, /* as BSF_WITH_INLINE; a BSF for encryption follows */
	TXN_MEM_LAST = 1 << 24,
	TXN_MEM_FIRST = 1 << 25,
	TXN_WIRE_LAST = 1 << 28,
	TXN_WIRE_FIRST = 1 << 29,
	TXN_FLAGS = TXN_MEM_LAST | TXN_MEM_FIRST | TXN_WIRE_LAST | TXN_WIRE_FIRST,
	BSF_SAME = 0x10,
	FORMAT_CRC32 = 0x20,
	FORMAT_CRC32C = 0x40,
	FORMAT_CRC64 = 0x50,
	FORMAT_SEED_0 = 0x01,
	DIF_VALID = 0, /* bit 15 of 16 bits */
	DIF_APP_TAG = 2,
	DIF_GUARD = 8,
	DIF_SEED = 9, /* bit 3: the seed is all ones */
	DIF_FLAGS = 13,
	DIF_GUARD_CRC = 1,
	DIF_GUARD_CHECKSUM = 2,
	DIF_REF_INCREMENTS = 0x40,
	DIF_APP_ESCAPE = 1,
	DIF_APP_REF_ESCAPE = 2
};

static uint32_t
block_of(uint8_t selector)
{
	static const uint16_t blocks[] = {0, 512, 520, 4096, 4160, 0, 4048};

	return selector < sizeof(blocks) / sizeof(blocks[0]) ? blocks[selector] : 0;
}

/* Decodes the T10-DIF part of a BSF. Its reference tag is not read. Assumed: sig-tag-bsf. */
static bool
decode_dif(const uint8_t *dif, struct sig_domain *d)
{
	d->type = SIG_T10DIF;
	d->app_tag = (uint16_t)get_be16(dif + DIF_APP_TAG);
	d->checksum = dif[DIF_GUARD] == DIF_GUARD_CHECKSUM;
	d->ones = (dif[DIF_SEED] & 8) != 0;
	d->ref_increments = (dif[DIF_FLAGS] & DIF_REF_INCREMENTS) != 0;
	d->app_escape = (dif[DIF_FLAGS] & DIF_APP_ESCAPE) != 0;
	d->app_ref_escape = (dif[DIF_FLAGS] & DIF_APP_REF_ESCAPE) != 0;
	return (get_be16(dif + DIF_VALID) & 0x8000) != 0 &&
	       (dif[DIF_GUARD] == DIF_GUARD_CRC || d->checksum);
}

static bool
decode_crc(uint8_t format, enum sig_type *type, bool *ones)
{
	*ones = (format & FORMAT_SEED_0) == 0;
	switch (format & 0xf0) {
	case FORMAT_CRC32:
		*type = SIG_CRC32;
		return true;
	case FORMAT_CRC32C:
		*type = SIG_CRC32C;
		return true;
	case FORMAT_CRC64:
		*type = SIG_CRC64;
		return true;
	default:
		return false;
	}
}

/* Decodes one domain. dif: the T10-DIF part of the BSF, or NULL if the BSF has no such part. */
static bool
decode_domain(const uint8_t *bsf, uint32_t format_psv, const uint8_t *dif, uint8_t selector,
	struct sig_domain *d)
{
	uint8_t format = (uint8_t)(format_psv >> 24);

	memset(d, 0, sizeof(*d));
	if (format_psv == 0)
		return true;
	d->psv = format_psv & 0xffffff;
	d->block = block_of(selector);
	if (d->block == 0)
		return false;
	if (format == 0)
		return dif != NULL && decode_dif(dif, d);
	return decode_crc(format, &d->type, &d->ones);
}

static void
decode_txn(uint32_t format_psv, bool first, bool last, struct sig_txn *t, bool *good)
{
	*t = (struct sig_txn){.psv = format_psv & 0xffffff, .first = first, .last = last};
	if (format_psv == 0)
		return;
	/* The CRC of a transaction always has SIG_CRC_LEN bytes. */
	if (!decode_crc((uint8_t)(format_psv >> 24), &t->type, &t->ones) || t->type == SIG_CRC64)
		*good = false;
}

/*
 * Decodes the signatures of a transaction. A BSF with such signatures has no signatures of blocks.
 */
static bool
decode_whole(const uint8_t *bsf, struct key_sig *sig)
{
	uint32_t flags = get_be32(bsf + BSF_TXN_FLAGS);
	bool good = (flags & ~(uint32_t)TXN_FLAGS) == 0 && get_be32(bsf + BSF_EPILOGUE) == 0 &&
		    bsf[BSF_WIRE] == 0 && bsf[BSF_MEM] == 0 &&
		    get_be32(bsf + BSF_WIRE_FORMAT_PSV) == 0 &&
		    get_be32(bsf + BSF_MEM_FORMAT_PSV) == 0;

	sig->txn_len = get_be32(bsf + BSF_RAW_LEN);
	decode_txn(get_be32(bsf + BSF_WIRE_TXN_PSV), (flags & TXN_WIRE_FIRST) != 0,
		(flags & TXN_WIRE_LAST) != 0, &sig->wire_txn, &good);
	decode_txn(get_be32(bsf + BSF_MEM_TXN_PSV), (flags & TXN_MEM_FIRST) != 0,
		(flags & TXN_MEM_LAST) != 0, &sig->mem_txn, &good);
	return good && sig->txn_len != 0;
}

bool
sig_decode(const uint8_t bsf[SIG_BSF_LEN], bool with_crypto, struct key_sig *sig)
{
	bool same = (bsf[BSF_SIZE_SBS] & BSF_SAME) != 0;
	uint8_t size = bsf[BSF_SIZE_SBS] >> 6;
	bool dif = size == (with_crypto ? BSF_AND_CRYPTO : BSF_WITH_INLINE);
	bool txn = (get_be32(bsf + BSF_WIRE_TXN_PSV) | get_be32(bsf + BSF_MEM_TXN_PSV)) != 0;

	memset(sig, 0, sizeof(*sig));
	sig->check_mask = bsf[BSF_CHECK_MASK];
	if (!dif && (with_crypto || size != BSF_SHORT))
		return false;
	if (txn)
		return !dif && !same && decode_whole(bsf, sig);
	sig->copy_mask = same ? bsf[BSF_WIRE] : 0;
	return decode_domain(bsf, get_be32(bsf + BSF_MEM_FORMAT_PSV),
		       dif ? bsf + BSF_MEM_DIF : NULL, bsf[BSF_MEM], &sig->mem) &&
	       decode_domain(bsf, get_be32(bsf + BSF_WIRE_FORMAT_PSV),
		       dif ? bsf + BSF_WIRE_DIF : NULL, same ? bsf[BSF_MEM] : bsf[BSF_WIRE],
		       &sig->wire);
}

/* ---- lengths */

uint32_t
sig_len(const struct sig_domain *domain)
{
	static const uint8_t lens[] =
		{[SIG_T10DIF] = 8, [SIG_CRC32] = 4, [SIG_CRC32C] = 4, [SIG_CRC64] = 8};

	return domain->type == SIG_NONE ? 0 : lens[domain->type];
}

bool
sig_stretch(const struct sig_domain *domain, uint64_t data, uint64_t *out)
{
	*out = data;
	if (domain->type == SIG_NONE)
		return true;
	*out += data / domain->block * sig_len(domain);
	return data % domain->block == 0;
}

bool
sig_shrink(const struct sig_domain *domain, uint64_t with, uint64_t *out)
{
	uint32_t unit = domain->block + sig_len(domain);

	*out = with;
	if (domain->type == SIG_NONE)
		return true;
	*out = (with + sig_len(domain)) / unit * domain->block;
	return with % unit == 0 || with % unit == domain->block;
}

/* ---- signatures */

#define SYNDROME_REF   (1u << 11)
#define SYNDROME_APP   (1u << 12)
#define SYNDROME_GUARD (1u << 13)

/* Writes the signature of block `n`. ref: the reference tag of block 0. */
static void
sign(const struct sig_domain *d, const uint8_t *data, uint32_t ref, uint64_t n, uint8_t *sig)
{
	if (d->type == SIG_T10DIF) {
		uint16_t seed = d->ones ? 0xffff : 0;

		put_be16(sig, d->checksum ? guard_checksum(data, d->block, seed)
					  : crc16_t10dif(seed, data, d->block));
		put_be16(sig + 2, d->app_tag);
		put_be32(sig + 4, ref + (d->ref_increments ? (uint32_t)n : 0));
		return;
	}
	if (d->type == SIG_CRC64) {
		uint64_t crc = htole64(guard_crc64(data, d->block, d->ones ? UINT64_MAX : 0));

		memcpy(sig, &crc, sizeof(crc));
		return;
	}
	sig_crc_write(sig_crc(d->type, d->ones ? UINT32_MAX : 0, data, d->block), sig);
}

/* True if the mask includes the byte of the signature, by the table in the manual page. */
static bool
mask_has(const struct sig_domain *d, uint8_t mask, uint32_t byte)
{
	uint32_t bit = d->type == SIG_T10DIF ? 7 - byte : d->type == SIG_CRC64 ? byte : 4 + byte;

	return (mask >> bit & 1) != 0;
}

static bool
differs(const struct sig_domain *d, uint8_t mask, const uint8_t *a, const uint8_t *b, uint32_t from,
	uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		if (mask_has(d, mask, i) && a[i] != b[i])
			return true;
	return false;
}

/*
 * Returns the signature as the 64-bit number in a SIG_ERR completion: T10-DIF and CRC64 fill the
 * number, and a CRC of 4 bytes is in its upper half.
 */
static uint64_t
as_number(const struct sig_domain *d, const uint8_t *sig)
{
	uint64_t crc64;
	uint32_t crc;

	if (d->type == SIG_T10DIF)
		return get_be64(sig);
	if (d->type == SIG_CRC64) {
		memcpy(&crc64, sig, sizeof(crc64));
		return le64toh(crc64);
	}
	memcpy(&crc, sig, sizeof(crc));
	return (uint64_t)le32toh(crc) << 32;
}

static bool
escapes(const struct sig_domain *d, const uint8_t *sig)
{
	/* Only T10-DIF has values that switch the check off. */
	if (d->type != SIG_T10DIF || get_be16(sig + 2) != 0xffff)
		return false;
	return d->app_escape || (d->app_ref_escape && get_be32(sig + 4) == UINT32_MAX);
}

/*
 * Finds the first wrong field. The order is guard, application tag, reference tag:
 * mlx5dv_mkey_check(3).
 */
static void
check(const struct sig_domain *d, uint8_t mask, const uint8_t *found, const uint8_t *right,
	uint64_t offset, struct sig_error *error)
{
	uint16_t syndrome = 0;

	if (error->found || escapes(d, found))
		return;
	if (differs(d, mask, found, right, 0, d->type == SIG_T10DIF ? 2 : sig_len(d)))
		syndrome = SYNDROME_GUARD;
	else if (d->type == SIG_T10DIF && differs(d, mask, found, right, 2, 4))
		syndrome = SYNDROME_APP;
	else if (d->type == SIG_T10DIF && differs(d, mask, found, right, 4, 8))
		syndrome = SYNDROME_REF;
	if (syndrome == 0)
		return;
	error->found = true;
	error->syndrome = syndrome;
	error->offset = offset;
	error->expected = as_number(d, found);
	error->actual = as_number(d, right);
}

void
sig_crc_check(enum sig_type type, uint8_t mask, const uint8_t found[SIG_CRC_LEN],
	const uint8_t right[SIG_CRC_LEN], uint64_t offset, struct sig_error *error)
{
	const struct sig_domain d = {.type = type};
	uint8_t a[SIG_MAX_LEN] = {0}, b[SIG_MAX_LEN] = {0};

	memcpy(a, found, SIG_CRC_LEN);
	memcpy(b, right, SIG_CRC_LEN);
	check(&d, mask, a, b, offset, error);
}

/* ---- conversion */

/*
 * Checks the signature of block i, whose data start at `data`. Does nothing if the signature was
 * left out. Assumed: sig-err-offset.
 */
static void
check_block(const struct sig_side *in, uint8_t mask, uint64_t i, const uint8_t *data,
	struct sig_error *error)
{
	const struct sig_domain *d = in->domain;
	const uint32_t unit = d->block + sig_len(d);
	uint8_t right[SIG_MAX_LEN];

	if ((i + 1) * unit > in->len)
		return;
	sign(d, data, in->ref, i, right);
	check(d, mask, in->bytes + i * unit + d->block, right, i * unit, error);
}

/* Removes the signatures: only the data are written to `to`. */
static void
strip(const struct sig_side *in, uint8_t mask, uint8_t *to, uint64_t data, struct sig_error *error)
{
	const uint32_t block = in->domain->block, unit = block + sig_len(in->domain);

	/* The copy of the block is checked: it is in the cache, and no other thread writes it. */
	for (uint64_t i = 0; i < data / block; i++) {
		memcpy(to + i * block, in->bytes + i * unit, block);
		check_block(in, mask, i, to + i * block, error);
	}
}

/*
 * Copies the blocks of `from` to out->bytes, and adds a signature after each. `from` may be the end
 * of out->bytes, because no store reaches a block that is not copied yet.
 */
static void
insert(const struct sig_side *out, const uint8_t *from, uint64_t data)
{
	const struct sig_domain *d = out->domain;
	const uint32_t unit = d->block + sig_len(d);
	uint8_t *to = out->bytes;

	for (uint64_t i = 0; i < data / d->block; i++, to += unit) {
		memmove(to, from + i * d->block, d->block);
		sign(d, to, out->ref, i, to + d->block);
	}
}

/* Replaces the signatures. The blocks have the same size in both domains. */
static void
replace(const struct sig_side *in, uint8_t mask, const struct sig_side *out, uint64_t data,
	struct sig_error *error)
{
	const uint32_t block = in->domain->block, unit = block + sig_len(in->domain);
	uint8_t *to = out->bytes;

	for (uint64_t i = 0; i < data / block; i++, to += block + sig_len(out->domain)) {
		memcpy(to, in->bytes + i * unit, block);
		check_block(in, mask, i, to, error);
		sign(out->domain, to, out->ref, i, to + block);
	}
}

/* For domains with the same structure: the bytes in the copy mask keep their incoming value. */
static void
copy_masked(const struct sig_domain *d, uint8_t mask, const struct sig_side *in, uint8_t *to)
{
	uint32_t unit = d->block + sig_len(d);

	for (uint64_t at = d->block; at + sig_len(d) <= in->len; at += unit)
		for (uint32_t b = 0; b < sig_len(d); b++)
			if (mask_has(d, mask, b))
				to[at + b] = in->bytes[at + b];
}

void
sig_convert(const struct key_sig *sig, const struct sig_side *in, const struct sig_side *out,
	uint64_t data, struct sig_error *error)
{
	const struct sig_domain *i = in->domain, *o = out->domain;

	if (i->type == SIG_NONE && o->type == SIG_NONE) {
		memcpy(out->bytes, in->bytes, data);
	} else if (o->type == SIG_NONE) {
		strip(in, sig->check_mask, out->bytes, data, error);
	} else if (i->type == SIG_NONE) {
		insert(out, in->bytes, data);
	} else if (i->block == o->block) {
		replace(in, sig->check_mask, out, data, error);
		if (i->type == o->type)
			copy_masked(o, sig->copy_mask, in, out->bytes);
	} else {
		uint8_t *bare = out->bytes + data / o->block * sig_len(o);

		strip(in, sig->check_mask, bare, data, error);
		insert(out, bare, data);
	}
}
