/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The signature of a transaction: a CRC over all data of the transaction. The CRC follows the last
 * byte, in the memory domain or in the wire domain. The BSF has 32 bytes and no block size, as SPDK
 * writes it for CRC32C.
 *
 *   key 1  | data |        first
 *   key 2  | data |
 *   key 3  | data | CRC |  last
 *
 * The PSV keeps the CRC's register after each message, in the upper half of the PSV's transient
 * signature. A request may move only the data. Then a later request moves the CRC, at the offset
 * after the data. Lengths count bytes on the wire, as in signatures of blocks. The CRC has the same
 * byte order as in signatures of blocks: sig.c.
 */
#include "keytxn.h"

#include "keywalk.h"
#include "psv.h"
#include "rare.h"

static bool
refuse(struct key_use *use, enum wire_vendor why)
{
	use->vendor = why;
	return false;
}

/* ---- the running CRC */

/* Returns the CRC's register before this request's data. */
static uint32_t
register_before(const struct key_use *use, const struct sig_after *a, const struct sig_txn *t,
	const struct softhca_psv *psv)
{
	if (t->first && a->first == 0 && a->data != 0)
		return t->ones ? UINT32_MAX : 0;
	return (uint32_t)(psv_transient(use, psv) >> 32);
}

/* Adds data to the running CRC, and writes the CRC over the data up to here. */
static void
run_crc(struct key_use *use, const struct sig_after *a, const struct sig_txn *t,
	struct softhca_psv *psv, struct psv_passed *passed, const uint8_t *data, uint64_t len,
	uint8_t crc[SIG_CRC_LEN])
{
	uint32_t value;

	if (psv == NULL)
		return;
	value = sig_crc(t->type, register_before(use, a, t, psv), data, len);
	psv_pass(use, passed, psv, (uint64_t)value << 32);
	sig_crc_write(value, crc);
}

/* ---- incoming data */

enum sg_end
txn_after(struct key_use *use, struct sig_after *a, uint64_t wire)
{
	uint64_t data = wire < a->data ? wire : a->data;
	uint8_t crc[SIG_CRC_LEN], memory_crc[SIG_CRC_LEN];
	struct sig_error error = {0};
	uint64_t memory = data;
	enum sg_end end;
	struct sg from;

	run_crc(use, a, &a->sig.wire_txn, a->wire_psv, &a->wire_passed, a->wire, data, crc);
	run_crc(use, a, &a->sig.mem_txn, a->mem_psv, &a->mem_passed, a->wire, data, memory_crc);
	if (data == a->data && wire == a->wire_len && a->wire_len - a->data == SIG_CRC_LEN)
		sig_crc_check(a->sig.wire_txn.type, a->sig.check_mask, a->wire + data, crc,
			a->first + data, &error);
	memcpy(a->bytes, a->wire, data);
	if (data == a->data && a->memory_len > data) {
		memcpy(a->bytes + data, memory_crc, SIG_CRC_LEN);
		memory += SIG_CRC_LEN;
	}
	sg_set(&from, a->bytes, memory);
	end = memory != 0 ? sg_move(use, &a->memory, &from) : SG_MOVED;
	if (error.found)
		sig_tell(use, a, false, &error);
	return end;
}

/* ---- outgoing data */

static bool
txn_out(struct key_use *use, struct sig_after *a, struct sg *sg)
{
	uint8_t crc[SIG_CRC_LEN] = {0}, memory_crc[SIG_CRC_LEN];
	struct sig_error error = {0};
	struct sg to;

	if (!sig_alloc(use, a))
		return false;
	sg_set(&to, a->bytes, a->memory_len);
	if (a->memory_len != 0 && sg_move(use, &to, &a->memory) != SG_MOVED)
		return false;
	run_crc(use, a, &a->sig.wire_txn, a->wire_psv, &a->wire_passed, a->bytes, a->data, crc);
	run_crc(use, a, &a->sig.mem_txn, a->mem_psv, &a->mem_passed, a->bytes, a->data, memory_crc);
	if (a->memory_len > a->data)
		sig_crc_check(a->sig.mem_txn.type, a->sig.check_mask, a->bytes + a->data,
			memory_crc, a->first + a->data, &error);
	if (error.found)
		sig_tell(use, a, true, &error);
	memcpy(a->wire, a->bytes, a->data);
	memcpy(a->wire + a->data, crc + a->crc_from, a->wire_len - a->data);
	return sg_push(use, sg, a->wire, a->wire_len);
}

/* ---- the range of a request */

static bool
find_psvs(struct softhca_lanes *lanes, struct sig_after *a, uint32_t pdn)
{
	const struct sig_txn *mem = &a->sig.mem_txn, *wire = &a->sig.wire_txn;

	a->mem_psv = mem->type != SIG_NONE ? psv_find(lanes, mem->psv, pdn) : NULL;
	a->wire_psv = wire->type != SIG_NONE ? psv_find(lanes, wire->psv, pdn) : NULL;
	return (mem->type == SIG_NONE) == (a->mem_psv == NULL) &&
	       (wire->type == SIG_NONE) == (a->wire_psv == NULL);
}

/*
 * Splits [off, off+len) on the wire into data and CRC. In memory, the request that moves the last
 * data also moves the CRC.
 */
static bool
measure(struct sig_after *a, uint64_t off, uint64_t len)
{
	const uint64_t end = a->sig.txn_len;
	uint64_t crc_len = 0;

	a->crc_from = 0;
	if (off > end + SIG_CRC_LEN || len > end + SIG_CRC_LEN - off)
		return false;
	a->first = off < end ? off : end;
	a->data = off + len < end ? off + len - a->first : end - a->first;
	if (off + len > end) {
		a->crc_from = off > end ? (uint32_t)(off - end) : 0;
		crc_len = off + len - end - a->crc_from;
	}
	if (crc_len != 0 && !a->sig.wire_txn.last)
		return false;
	a->wire_len = a->data + crc_len;
	a->memory_len = a->data;
	if (a->sig.mem_txn.last && a->data != 0 && a->first + a->data == end)
		a->memory_len += SIG_CRC_LEN;
	return true;
}

bool
txn_walk(struct key_use *use, struct softhca_lanes *lanes, struct sig_after *a, uint32_t need,
	uint64_t off, uint64_t len, struct sg *sg)
{
	const uint32_t writes = ACC_LOCAL_WRITE | ACC_REMOTE_WRITE;

	if (!find_psvs(lanes, a, a->key->pdn))
		return refuse(use, VEN_SIG_PSV);
	if (!measure(a, off, len))
		return refuse(use, VEN_KEY_BOUNDS);
	sg_clear(&a->memory);
	if (a->memory_len != 0 &&
		!layout_gather(use, lanes, a->key, need & writes ? ACC_LOCAL_WRITE : 0, a->first,
			a->memory_len, &a->memory))
		return false;
	return need & writes ? sig_defer(use, a, sg) : txn_out(use, a, sg);
}
