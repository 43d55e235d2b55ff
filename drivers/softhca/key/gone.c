/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Registered memory that the program has unmapped, or whose file the program has truncated: when a
 * lane (a device thread) accesses such memory, an empty page is mapped there.
 *
 * A card has the pages of a region pinned. It continues to use these pages when the program unmaps
 * them, and the program does not see the data that the card writes. Programs with a cache of
 * registrations rely on this: UCX deregisters a region some time after munmap(2). Here the access
 * of a lane would fault, so a signal handler maps an empty page at the address.
 *
 * The handler passes all other faults to the previous handler: faults of other threads, faults
 * outside of regions, and faults of mapped pages that forbid the access. If a program later
 * installs its own handler of SIGSEGV or SIGBUS, no more empty pages are mapped. Everything else
 * works as before. Empty pages stay mapped: a later mapping at a fixed address replaces them, and
 * for other mappings the kernel chooses other addresses.
 */
#include "gone.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "devices.h"
#include "key.h"
#include "log.h"
#include "raw.h"
#include "sigchain.h"

static uintptr_t page_len;

static bool
key_has(const struct key *key, uintptr_t at)
{
	return key != NULL && key->kind == SOFTHCA_MKEY_MR && at - key->addr < key->len;
}

static bool
table_has(struct table *keys, uintptr_t at)
{
	for (uint32_t number = 0; number < TABLE_TOP * TABLE_LEAF; number++) {
		if (number % TABLE_LEAF == 0 && table_leaf_is_absent(keys, number))
			number += TABLE_LEAF - 1;
		else if (key_has(table_get(keys, number), at))
			return true;
	}
	return false;
}

/*
 * True if the address is in a region of any adapter: a message may move data from one adapter to
 * another.
 */
static bool
is_registered(uintptr_t at)
{
	unsigned int n;
	struct softhca_dev *devs = softhca_devices(&n);

	for (unsigned int i = 0; i < n; i++) {
		struct softhca_lanes *lanes = dev_lanes(&devs[i]);

		if (lanes != NULL && table_has(&lanes->keys, at))
			return true;
	}
	return false;
}

/*
 * Maps an empty page at the address. Returns true if a page is mapped there now.
 * MAP_FIXED_NOREPLACE keeps a page that another thread maps at the same moment.
 */
static bool
put_page(uintptr_t at, int how)
{
	void *page = (void *)(at & ~(page_len - 1));

	return raw_mmap(page, page_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | how,
		       -1, 0) != MAP_FAILED ||
	       errno == EEXIST;
}

static void
say_once(uintptr_t at, const char *what)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&said))
		softhca_log("the memory at %#llx is registered, and the program has %s: the "
			    "adapter's writes there are lost, and its reads give zeros",
			(unsigned long long)at, what);
}

static bool
mend(const siginfo_t *info, int how, const char *what)
{
	const uintptr_t at = (uintptr_t)info->si_addr;

	if (!turn_is_running() || !is_registered(at) || !put_page(at, how))
		return false;
	say_once(at, what);
	return true;
}

static bool
mend_unmapped(const siginfo_t *info, void *context)
{
	(void)context;
	return info->si_code == SEGV_MAPERR && mend(info, MAP_FIXED_NOREPLACE, "unmapped it");
}

/* For SIGBUS: the mapping exists, but its file has no page at this offset. */
static bool
mend_shortened(const siginfo_t *info, void *context)
{
	(void)context;
	return info->si_code == BUS_ADRERR && mend(info, MAP_FIXED, "made its file shorter");
}

static void
watch(void)
{
	page_len = (uintptr_t)sysconf(_SC_PAGESIZE);
	sigchain_take(SIGSEGV, mend_unmapped);
	sigchain_take(SIGBUS, mend_shortened);
}

void
gone_watch(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, watch);
}
