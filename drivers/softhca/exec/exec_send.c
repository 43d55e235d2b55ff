/* SPDX-License-Identifier: BSD-3-Clause */
/* The requester of SEND, SEND with immediate and SEND with invalidate. */
#include "requester.h"

#define UD_MAX_MESSAGE 4096 /* the port's MTU */

unsigned int
exec_send(struct run *run, const struct wqe *wqe)
{
	struct answer answer;
	struct message m;
	struct sg src;
	unsigned int syn;

	if (run->qp->type == SOFTHCA_QP_RAW)
		return exec_raw_send(run, wqe);
	syn = wqe_gather(run, wqe, &src);
	if (syn != SYN_OK)
		return syn;
	if (run->qp->type == SOFTHCA_QP_UD && src.len > UD_MAX_MESSAGE)
		return requester_refuse(run, VEN_LENGTH, SYN_LOC_LEN);
	message_init(&m, run, wqe);
	return requester_ask(run, &m, &src, &answer);
}
