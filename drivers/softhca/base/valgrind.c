/* SPDX-License-Identifier: BSD-3-Clause */
/* Detects valgrind by the library that it preloads into every program. */
#include "valgrind.h"

#include <stdlib.h>
#include <string.h>

static bool found;

/* This is a constructor, because the program may change its environment later. */
static void __attribute__((constructor)) look(void)
{
	const char *preload = getenv("LD_PRELOAD");

	found = preload != NULL && strstr(preload, "vgpreload_core") != NULL;
}

bool
in_valgrind(void)
{
	return found;
}
