/* SPDX-License-Identifier: BSD-3-Clause */
/* How verbs calls report an error, turned into -errno. Callers set errno to 0 before the call. */
#ifndef HWQ_VERBS_ERRNO_H
#define HWQ_VERBS_ERRNO_H

#include <errno.h>

/* Of a call that sets errno. Some forget to: that is -EIO. */
static inline int
err_from_errno(void)
{
	return errno != 0 ? -errno : -EIO;
}

/* Of a call that returns an errno value, or -1 and sets errno. */
static inline int
err_from_ret(int ret)
{
	if (ret == 0)
		return 0;
	return ret > 0 ? -ret : err_from_errno();
}

#endif
