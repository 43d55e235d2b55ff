/* SPDX-License-Identifier: BSD-3-Clause */
/* The locks that fork(2) takes. */
#include "fork_lock.h"

_Thread_local bool fork_lock_has_all;
