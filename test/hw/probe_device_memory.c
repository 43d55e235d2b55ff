/* SPDX-License-Identifier: BSD-3-Clause */
/* Assumptions about device memory and operations on it. */
#include "probe_work.h"

#define DM_BYTES 4096

static struct ibv_dm *
dm_alloc(struct ibv_context *ctx)
{
	return ibv_alloc_dm(ctx, &(struct ibv_alloc_dm_attr){.length = DM_BYTES});
}

/*
 * Allocates, fills and frees memory, and allocates it again, to see whether it still has its old
 * contents.
 */
static void
dm_zeroed(struct probe_answer *a)
{
	struct ibv_context *ctx = pair_open(0);
	uint8_t bytes[DM_BYTES];
	struct ibv_dm *dm = dm_alloc(ctx);
	unsigned int other = 0;

	if (dm == NULL) {
		probe_cannot(a, "the device gives no device memory: %s", strerror(errno));
		return;
	}
	memset(bytes, 0xa5, sizeof(bytes));
	CHECK_EQ(ibv_memcpy_to_dm(dm, 0, bytes, sizeof(bytes)), 0);
	CHECK_EQ(ibv_free_dm(dm), 0);
	dm = dm_alloc(ctx);
	CHECK(dm != NULL);
	CHECK_EQ(ibv_memcpy_from_dm(bytes, dm, 0, sizeof(bytes)), 0);
	for (size_t i = 0; i < sizeof(bytes); i++)
		other += bytes[i] != 0;
	probe_saw(a, other == 0, "%u bytes of %u are not 0", other, DM_BYTES);
}

static const char stops[] = "an access that a card does not know may stop the machine.";

const struct probe probe_device_memory[] = {
	{"dm-zeroed", "Device memory is zeroed when it is allocated.",
		"A program must write device memory before it reads it, or it reads what was there before.",
		dm_zeroed},
	{"dm-pages", "Device memory is allocated by whole pages.",
		"More or fewer allocations of device memory fit than on softhca.", NULL,
		"the probe would take all of it from other programs."},
	{"memic-load", "A load from an address of increments is refused.",
		"Only a program that reads such an address sees a difference; Gantry reads none.",
		NULL, stops},
	{"memic-store", "A store to an address of test-and-set is refused.",
		"Only a program that writes to such an address sees a difference; Gantry writes "
		"to none.",
		NULL, stops},
	{"memic-test-and-set", "A test-and-set of more than one byte is refused.",
		"Only a program that makes such an access sees a difference; Gantry makes none.",
		NULL, stops},
	{"memic-increment", "An increment may have 2 or 4 bytes.",
		"Only a program that makes such an access sees a difference; Gantry makes none.",
		NULL, stops},
	{NULL},
};
