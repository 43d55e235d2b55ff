/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hides the folder of DPDK's drivers from EAL, which otherwise loads all of them. It is loaded into
 * a test program by LD_PRELOAD (ld.so(8)). The engine needs only the drivers that this library is
 * linked to. With a sanitizer, loading all drivers takes long. Also, one of them makes libibverbs
 * read all mappings of the process at each registration (ibv_fork_init(3)); a sanitizer makes many
 * mappings, and valgrind reads them slowly. All other tests run with the drivers.
 */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include <rte_build_config.h>

/*
 * Replaces stat64(), the 64-bit form of stat(2), because EAL is built with large-file support. The
 * attribute is needed because the build hides functions by default.
 */
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
