/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds out why a registration failed. The errno of ibv_reg_mr(3) does not tell: an exceeded
 * RLIMIT_MEMLOCK is ENOMEM as a lack of memory is, and with ibv_fork_init(3) in effect, which other
 * libraries may have called, memory that is not mapped is ENOMEM too, from madvise(2).
 */
#include "hwq_mr_why.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include <linux/capability.h>

#include "hwq_dev.h"
#include "hwq_log.h"
#include "hwq_mr.h"

#define WRITES (HWQ_ACCESS_LOCAL_WRITE | HWQ_ACCESS_REMOTE_WRITE | HWQ_ACCESS_REMOTE_ATOMIC)

/* ------------------------------------------------------------------ the mappings */

/* What is wrong with the first page of a range that cannot be registered. */
struct bad_page {
	uint64_t addr;
	int err; /* EFAULT: not mapped; EACCES: mapped, but it may not be read, or written; 0: none */
};

/* Walks over the process's mappings, which proc(5) lists in the order of their addresses. */
static struct bad_page
find_bad_page(uint64_t addr, uint64_t end, bool writes)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	struct bad_page bad = {.addr = addr};
	uint64_t from, to;
	char right[5], line[512];

	if (maps == NULL)
		return bad;
	while (bad.addr < end && bad.err == 0 && fgets(line, sizeof(line), maps) != NULL) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &from, &to, right) != 3 ||
			to <= bad.addr)
			continue;
		if (from > bad.addr)
			bad.err = EFAULT;
		else if (right[0] != 'r' || (writes && right[1] != 'w'))
			bad.err = EACCES;
		else
			bad.addr = to;
	}
	if (bad.addr < end && bad.err == 0)
		bad.err = EFAULT;
	fclose(maps);
	return bad;
}

/* ------------------------------------------------------------------ the limit of locked memory */

/* A number of /proc/self/status; 0 if there is no such line. */
static uint64_t
status_value(const char *name, const char *format)
{
	FILE *status = fopen("/proc/self/status", "re");
	uint64_t value = 0;
	char line[256];

	if (status == NULL)
		return 0;
	while (fgets(line, sizeof(line), status) != NULL)
		if (strncmp(line, name, strlen(name)) == 0)
			(void)sscanf(line + strlen(name), format, &value);
	fclose(status);
	return value;
}

/* True: with len bytes more, the process locks more memory than it may. *limit: what it may. */
static bool
exceeds_memlock(size_t len, uint64_t *limit, uint64_t *locked)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_MEMLOCK, &lim) != 0 || lim.rlim_cur == RLIM_INFINITY)
		return false;
	if ((status_value("CapEff:", " %" SCNx64) & UINT64_C(1) << CAP_IPC_LOCK) != 0)
		return false;
	*limit = lim.rlim_cur;
	*locked = (status_value("VmLck:", " %" SCNu64) + status_value("VmPin:", " %" SCNu64)) << 10;
	return *locked + len > *limit;
}

/* ------------------------------------------------------------------ the answer */

int
hwq_mr_why(const struct hwq_dev *dev, const void *addr, size_t len, unsigned int access, int ret)
{
	uint64_t first = (uintptr_t)addr, limit, locked;
	struct bad_page bad = find_bad_page(first, first + len, (access & WRITES) != 0);
	const char *name = hwq_dev_name(dev);

	if (bad.err == EFAULT) {
		hwq_log("%s: registering %zu bytes at %p: address 0x%" PRIx64
			" is not mapped; map the "
			"memory first, and keep it mapped until the registration has ended",
			name, len, addr, bad.addr);
		return -EFAULT;
	}
	if (bad.err == EACCES) {
		hwq_log("%s: registering %zu bytes at %p: the mapping at 0x%" PRIx64
			" does not allow "
			"it; register memory that is mapped without PROT_WRITE as read-only, and give "
			"other memory the rights (mprotect)",
			name, len, addr, bad.addr);
		return -EACCES;
	}
	if ((ret == -ENOMEM || ret == -EPERM || ret == -EAGAIN) &&
		exceeds_memlock(len, &limit, &locked)) {
		hwq_log("%s: registering %zu bytes at %p: RLIMIT_MEMLOCK allows %" PRIu64
			" bytes, of which %" PRIu64 " are locked; raise it (ulimit -l, "
			"LimitMEMLOCK= of systemd), or grant CAP_IPC_LOCK",
			name, len, addr, limit, locked);
		return -EPERM;
	}
	if (ret == -EIO)
		hwq_log("%s: registering %zu bytes at %p: the IOMMU cannot map it for the device, or "
			"the device has failed; the kernel's log (dmesg) says which",
			name, len, addr);
	else if (ret == -ENOMEM)
		hwq_log("%s: registering %zu bytes at %p: no memory, or the device has no key left; "
			"register fewer and larger regions",
			name, len, addr);
	else
		hwq_log("%s: registering %zu bytes at %p: %s", name, len, addr, strerror(-ret));
	return ret;
}
