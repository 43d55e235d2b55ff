/* SPDX-License-Identifier: BSD-3-Clause */
/* NOP: completes, and is how a send queue's tail is filled. */
#include "exec.h"

unsigned int
exec_nop(struct run *run, const struct wqe *wqe)
{
	(void)run;
	(void)wqe;
	return SYN_OK;
}
