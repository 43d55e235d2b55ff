/* SPDX-License-Identifier: BSD-3-Clause */
/* Sleeping and waking by futex(2). */
#include "wake.h"

#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "devices.h"
#include "raw.h"

void
lanes_sleep(struct softhca_lanes *lanes, unsigned int wakes)
{
	syscall(SYS_futex, &lanes->wakes, FUTEX_WAIT_PRIVATE, wakes, NULL, NULL, 0);
}

void
lanes_wake_sleepers(struct softhca_lanes *lanes)
{
	const int call_fd = atomic_load(&lanes->call_fd);
	const uint64_t one = 1;

	atomic_fetch_add(&lanes->wakes, 1);
	if (call_fd >= 0) {
		/*
		 * write(2) fails if the counter is at its maximum: then call_fd is already
		 * readable.
		 */
		ssize_t written = raw_write(call_fd, &one, sizeof(one));

		(void)written;
	}
	syscall(SYS_futex, &lanes->wakes, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

void
lanes_wake_all(void)
{
	unsigned int n;
	struct softhca_dev *devs = softhca_devices(&n);

	for (unsigned int i = 0; i < n; i++)
		if (dev_lanes(&devs[i]) != NULL)
			lanes_wake(dev_lanes(&devs[i]));
}
