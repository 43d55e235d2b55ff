/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loaded in front of a test program (ld.so(8), LD_PRELOAD), it hides the folder of DPDK's drivers from EAL, which
 * loads all of them otherwise. The engine uses none but those that this library is linked to. A sanitizer takes long to
 * load them, and one of them has libibverbs read all mappings of the process at each registration (ibv_fork_init(3)),
 * which are many with a sanitizer, and which valgrind reads slowly. All other tests run with the drivers.
 */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include <rte_build_config.h>

/* EAL is built for large files. The build hides what does not say that others see it. */
__attribute__((visibility("default"))) int
stat64(const char *path, struct stat64 *st)
{
	int (*next)(const char *, struct stat64 *) =
		(int (*)(const char *, struct stat64 *))dlsym(RTLD_NEXT, "stat64");

	if (strcmp(path, RTE_EAL_PMD_PATH) == 0) {
		errno = ENOENT;
		return -1;
	}
	return next(path, st);
}
