/* SPDX-License-Identifier: BSD-3-Clause */
/* Refuses the calls of a child of fork(2). */
#include "gantry_process.h"

#include <errno.h>
#include <unistd.h>

#include "gantry_log.h"

int
gantry_process_check(pid_t creator)
{
	if (creator == getpid())
		return 0;
	LOG(ERR,
		"this process is a child of process %d, which has created the engine: create one "
		"after fork(2)",
		(int)creator);
	return -ECHILD;
}
