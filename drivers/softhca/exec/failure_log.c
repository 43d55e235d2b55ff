/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Logs which check a work request failed. The vendor syndrome does not identify the check, because
 * several checks have the same vendor syndrome.
 */
#include <stdatomic.h>
#include <stdio.h>

#include "failure.h"
#include "log.h"
#include "qp.h"

#define NAME(check) [VEN_##check - VEN_CHECKS]

static const char *const names[VEN_END - VEN_CHECKS] = {
	NAME(WQE_INDEX) = "the WQE has a wrong index",
	NAME(WQE_QPN) = "the WQE names another queue pair",
	NAME(WQE_DS) = "the WQE's size is wrong",
	NAME(WQE_OPCODE) = "the adapter does not have the opcode",
	NAME(DOORBELL) = "the doorbell differs from the WQE",
	NAME(BLUEFLAME) = "the BlueFlame copy differs from the WQE",
	NAME(SEGMENT) = "a segment is malformed",
	NAME(LENGTH) = "the memory is too short, or the message too long",
	NAME(MMO_OFF) = "the adapter has no DMA MMO",
	NAME(KEY_INDEX) = "no key has this number",
	NAME(KEY_VARIANT) = "the lowest 8 bits of the key are not the current ones",
	NAME(KEY_FREE) = "the key is invalidated, or not configured yet",
	NAME(KEY_PD) = "the key belongs to another protection domain",
	NAME(KEY_ACCESS) = "the key does not grant this access",
	NAME(KEY_BOUNDS) = "the key does not cover all bytes",
	NAME(QP_ACCESS) = "the peer's queue pair does not accept requests of this kind",
	NAME(ALIGNMENT) = "the address of an atomic is not a multiple of 8",
	NAME(RNR) = "the peer had posted no receive when the retries ended",
	NAME(NO_PEER) = "no peer had answered when the retries ended",
	NAME(PEER_RECEIVE) = "the peer's receive failed",
	NAME(XRC_SRQ) = "the peer's domain has no shared receive queue of this number",
	NAME(QP_TYPE) = "queue pairs of this type do not have the opcode",
	NAME(KEY_DEPTH) = "too many indirect keys lie between the message and memory",
	NAME(KEY_WINDOW) = "a memory window must not be used here",
	NAME(KEY_PIECES) = "the memory consists of too many pieces",
	NAME(UMR_KIND) = "this work request cannot configure a key of this kind",
	NAME(UMR_FIELDS) = "fields of the work request are unknown, or contradict each other",
	NAME(UMR_ROOM) = "the key has no room for this layout",
	NAME(SIG_PSV) = "the PSV does not exist, or belongs to another protection domain",
	NAME(SIG_BLOCK) = "the data are not a whole number of the signature's blocks",
	NAME(UMR_BOUND) = "the window is bound already, or to another queue pair",
	NAME(CRYPTO) =
		"the key cannot encrypt here: it is not configured to, or lies inside another key",
	NAME(KEY_PAGE) = "a page of the memory is not mapped, or is read-only",
	NAME(DEK) =
		"the DEK does not exist, has another keytag, or is in another protection domain",
	NAME(KEY_ALIAS) = "the key is an alias: its owner has ended the key, the key is not pinned "
			  "memory, or an alias must not be used here",
	NAME(CRYPTO_UNIT) = "offset or length of the data do not fit the data units of encryption",
};

_Static_assert(VEN_END - VEN_CHECKS <= 64, "a check is a bit of a word");

void
failure_log(const struct failure *f, uint8_t vendor)
{
	static _Atomic uint64_t told[2];
	const unsigned int check = (unsigned int)f->why - VEN_CHECKS;
	const uint64_t bit = UINT64_C(1) << check;
	char what[32] = "a receive";

	if ((atomic_load_explicit(&told[f->receives], memory_order_relaxed) & bit) != 0 ||
		(atomic_fetch_or(&told[f->receives], bit) & bit) != 0)
		return;
	if (!f->receives)
		snprintf(what, sizeof(what), "opcode 0x%02x", f->opcode);
	softhca_log(
		"mlx5_%u: QP 0x%x: %s fails, syndrome 0x%02x, vendor syndrome 0x%02x: %s. Later "
		"failures of this check are not logged",
		f->qp->dev->index, f->qp->number, what, f->syndrome, vendor, names[check]);
}
