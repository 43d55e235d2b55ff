/* SPDX-License-Identifier: BSD-3-Clause */
/* Queries the capabilities of a thread. */
#include "capability.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

bool
has_capability(unsigned int capability)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	return syscall(SYS_capget, &header, data) == 0 &&
	       (data[CAP_TO_INDEX(capability)].effective & CAP_TO_MASK(capability)) != 0;
}
