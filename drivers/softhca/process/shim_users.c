/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The libc calls that change the effective user of the process. Peers learn the user of a listening
 * socket from the kernel, which notes the user in listen(2) (SO_PEERCRED, unix(7)). So after such a
 * call the adapters and the connection manager call listen(2) again on their sockets.
 */
#include "shim_users.h"

#include <unistd.h>

#include "cm.h"
#include "contexts.h"
#include "next.h"
#include "softhca.h"

/*
 * The process whose sockets they are; 0: this process has no adapters. A child of vfork(2) has the
 * memory of its parent, but must not give its own user to its parent's sockets.
 */
static pid_t owner;

void
users_init(void)
{
	owner = getpid();
}

/* rc: the result of the call. Returns rc. */
static int
changed(int rc)
{
	if (rc != 0 || getpid() != owner)
		return rc;
	contexts_user_changed();
	cm_user_changed();
	return rc;
}

SOFTHCA_API int
setuid(uid_t user)
{
	return changed(NEXT(setuid)(user));
}

SOFTHCA_API int
seteuid(uid_t effective)
{
	return changed(NEXT(seteuid)(effective));
}

SOFTHCA_API int
setreuid(uid_t real, uid_t effective)
{
	return changed(NEXT(setreuid)(real, effective));
}

SOFTHCA_API int
setresuid(uid_t real, uid_t effective, uid_t saved)
{
	return changed(NEXT(setresuid)(real, effective, saved));
}
