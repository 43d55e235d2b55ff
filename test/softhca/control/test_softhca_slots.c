/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The slots of the table of objects that RDMA netlink shows: they do not run out by repetition, and
 * an object without a slot is only not shown. This program tests only the code of the table, so
 * that it can fill the table within milliseconds.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "resource.h"

#define SLOTS 131072 /* resource.c */

static unsigned int
count(uint32_t dev, enum resource_type type)
{
	unsigned int n = 0;

	for (uint32_t at = 0; resource_next(dev, type, &at) != NULL;)
		n++;
	return n;
}

static struct resource *
make(uint32_t dev, enum resource_type type)
{
	struct resource *r = resource_take(dev, type);

	resource_show(r, type);
	return r;
}

/* As many objects come and go as there are slots, and once more. */
static void
case_repetition(void)
{
	struct resource *stays = make(0, RESOURCE_PD);

	CHECK(stays != NULL, "the first object has no slot");
	for (unsigned int i = 0; i < 2 * SLOTS; i++) {
		struct resource *r = make(i % 2, RESOURCE_PD);

		CHECK(r != NULL && r != stays, "object %u", i);
		resource_give(r);
	}
	CHECK_EQ(count(0, RESOURCE_PD), 1, "PDs of the adapter");
	CHECK_EQ(count(1, RESOURCE_PD), 0, "PDs of the other adapter");
	resource_give(stays);
	CHECK_EQ(count(0, RESOURCE_PD), 0, "PDs in the end");
}

/* All slots are in use: one more object is not shown. A slot that is given back is used again. */
static void
case_full(void)
{
	static struct resource *all[SLOTS];

	for (unsigned int i = 0; i < SLOTS; i++) {
		all[i] = make(i % 2, i % 3 == 0 ? RESOURCE_CQ : RESOURCE_MR);
		CHECK(all[i] != NULL, "object %u", i);
	}
	for (unsigned int i = 0; i < 3; i++)
		CHECK(make(0, RESOURCE_CQ) == NULL, "an object has a slot that another one has");
	CHECK_EQ(count(0, RESOURCE_CQ) + count(1, RESOURCE_CQ), (SLOTS + 2) / 3, "CQs");
	CHECK_EQ(count(0, RESOURCE_MR) + count(1, RESOURCE_MR), SLOTS - (SLOTS + 2) / 3, "MRs");
	resource_give(all[SLOTS / 2]);
	all[SLOTS / 2] = make(0, RESOURCE_QP);
	CHECK(all[SLOTS / 2] != NULL, "the free slot is not found");
	CHECK_EQ(count(0, RESOURCE_QP), 1, "QPs");
	for (unsigned int i = 0; i < SLOTS; i++)
		resource_give(all[i]);
	CHECK_EQ(count(0, RESOURCE_MR) + count(1, RESOURCE_CQ), 0, "objects in the end");
}

int
main(void)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", memfd_create("resources", MFD_CLOEXEC));
	resources_create(path);
	RUN("slots are used again, however many objects there were", case_repetition());
	RUN("in a full table a new object is not shown", case_full());
	return check_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
