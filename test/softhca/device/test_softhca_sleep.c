/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data half without a program: a doorbell that is stored just before the adapter protects its
 * page is not lost. The test replaces the function that protects pages with a function that first
 * stores a doorbell.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "check.h"
#include "dev.h"
#include "devices.h"
#include "hca.h"
#include "lanes.h"
#include "mappings.h"
#include "uffd.h"
#include "wire.h"

#define PAGE 4096

static struct softhca_config cfg = {.threads = 1, .ports = 1, .bf_reg_size = 512};
static struct softhca_dev dev = {.cfg = &cfg};
static uint8_t *program, *device; /* two mappings of one UAR page */
static atomic_uint rings_left, closed;

bool __real_mappings_close(struct softhca_lanes *lanes);
bool __wrap_mappings_close(struct softhca_lanes *lanes);

static _Atomic uint64_t *
bell(uint8_t *page)
{
	return (_Atomic uint64_t *)(void *)(page + UAR_CQ_DOORBELL);
}

bool
__wrap_mappings_close(struct softhca_lanes *lanes)
{
	bool all;

	if (atomic_load(&rings_left) != 0) {
		/*
		 * Stores by the device's mapping, which is never protected. This emulates a store
		 * of the program to a page that is not protected yet.
		 */
		atomic_store(bell(device), 1);
		atomic_fetch_sub(&rings_left, 1);
	}
	all = __real_mappings_close(lanes);
	if (all)
		atomic_fetch_add(&closed, 1);
	return all;
}

static bool
comes(atomic_uint *counter, unsigned int from)
{
	for (unsigned int ms = 0; ms < CHECK_PATIENCE_MS; ms++) {
		if (atomic_load(counter) > from)
			return true;
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	return false;
}

static bool
is_taken(void)
{
	for (unsigned int ms = 0; ms < CHECK_PATIENCE_MS; ms++) {
		if (atomic_load(bell(device)) == 0)
			return true;
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	return false;
}

static void
case_last_moment(void)
{
	for (unsigned int i = 0; i < 20; i++) {
		const unsigned int before = atomic_load(&closed);

		atomic_store(&rings_left, 1);
		atomic_store(bell(program), 1); /* wakes the adapter, which then goes to sleep */
		CHECK(comes(&closed, before));
		CHECK(is_taken());
	}
}

int
main(void)
{
	const int memfd = memfd_create("uar", 0), uffd = uffd_open();
	struct softhca_uar *uar;

	if (uffd < 0) {
		printf("skipped: userfaultfd(2) does not protect shared memory here\n");
		return CHECK_SKIP;
	}
	close(uffd);
	CHECK_EQ(ftruncate(memfd, PAGE), 0);
	program = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	device = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	CHECK(program != MAP_FAILED && device != MAP_FAILED);
	softhca_devices_set(&dev, 1);
	CHECK_EQ(softhca_lanes_init(&dev), 0);
	CHECK_EQ(softhca_uar_create(&dev, device, 1, SOFTHCA_UAR_BF, &uar), 0);
	softhca_watch_uar(uar, program);
	RUN("a doorbell just before its page is protected is not lost", case_last_moment());
	softhca_unwatch(device);
	CHECK_EQ(softhca_uar_destroy(uar), 0);
	softhca_lanes_fini(&dev);
	return check_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
