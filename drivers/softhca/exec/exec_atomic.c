/* SPDX-License-Identifier: BSD-3-Clause */
/* The requester of compare-and-swap and fetch-and-add. Both return the old value. */
#include "requester.h"

#define ATOMIC_LEN 8

unsigned int
exec_atomic(struct run *run, const struct wqe *wqe)
{
	const uint8_t *operands = wqe_seg(run, wqe, wqe->first + 1);
	struct answer answer;
	struct message m;
	struct sg dst, src;
	unsigned int syn = wqe_gather(run, wqe, &dst);

	if (syn != SYN_OK)
		return syn;
	if (dst.len != ATOMIC_LEN)
		return requester_refuse(run, VEN_LENGTH, SYN_LOC_LEN);
	message_init(&m, run, wqe);
	message_memory(&m, run, wqe);
	m.swap_add = get_be64(operands + ATOMIC_SWAP_ADD);
	m.compare = get_be64(operands + ATOMIC_COMPARE);
	syn = requester_ask(run, &m, NULL, &answer);
	if (syn != SYN_OK)
		return syn;
	sg_set(&src, &answer.old, sizeof(answer.old));
	run->byte_cnt = ATOMIC_LEN;
	return key_use_move(&run->use, &dst, &src) == SG_MOVED ? SYN_OK : SYN_LOC_PROT;
}
