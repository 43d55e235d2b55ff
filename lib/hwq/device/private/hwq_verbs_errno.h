/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts the errors of verbs calls to -errno. Callers set errno to 0 before the call. */
#ifndef HWQ_VERBS_ERRNO_H
#define HWQ_VERBS_ERRNO_H

#include <errno.h>

/* Returns the error of a call that sets errno. If the call has not set errno, returns -EIO. */
static inline int
err_from_errno(void)
{
	return errno != 0 ? -errno : -EIO;
}

/* Returns the error of a call that returns an errno value, or returns -1 and sets errno. */
static inline int
err_from_ret(int ret)
{
	if (ret == 0)
		return 0;
	return ret > 0 ? -ret : err_from_errno();
}

#endif
