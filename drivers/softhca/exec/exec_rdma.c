/* SPDX-License-Identifier: BSD-3-Clause */
/* The requester of RDMA writes, with or without immediate data, and of RDMA reads. */
#include "requester.h"

unsigned int
exec_write(struct run *run, const struct wqe *wqe)
{
	struct answer answer;
	struct message m;
	struct sg src;
	unsigned int syn = wqe_gather(run, wqe, &src);

	if (syn != SYN_OK)
		return syn;
	message_init(&m, run, wqe);
	message_memory(&m, run, wqe);
	return requester_ask(run, &m, &src, &answer);
}

unsigned int
exec_read(struct run *run, const struct wqe *wqe)
{
	struct answer answer;
	struct message m;
	struct sg dst;
	unsigned int syn = wqe_gather(run, wqe, &dst);

	if (syn != SYN_OK)
		return syn;
	message_init(&m, run, wqe);
	message_memory(&m, run, wqe);
	syn = requester_ask(run, &m, &dst, &answer);
	if (syn == SYN_OK)
		run->byte_cnt = (uint32_t)dst.len;
	return syn;
}
