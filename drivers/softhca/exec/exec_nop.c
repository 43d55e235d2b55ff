/* SPDX-License-Identifier: BSD-3-Clause */
/* NOP does nothing. Programs fill the end of a send queue with NOPs. */
#include "opcode.h"

unsigned int
exec_nop(struct run *run, const struct wqe *wqe)
{
	(void)run;
	(void)wqe;
	return SYN_OK;
}
