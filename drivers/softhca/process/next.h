/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the libc function whose name this library overrides. */
#ifndef SOFTHCA_NEXT_H
#define SOFTHCA_NEXT_H

#include <dlfcn.h>

#define NEXT(name)                                                                                 \
	({                                                                                         \
		static __typeof__(&name) found;                                                    \
		__typeof__(&name) f = __atomic_load_n(&found, __ATOMIC_RELAXED);                   \
		if (f == NULL) {                                                                   \
			f = (__typeof__(&name))dlsym(RTLD_NEXT, #name);                            \
			__atomic_store_n(&found, f, __ATOMIC_RELAXED);                             \
		}                                                                                  \
		f;                                                                                 \
	})

#endif
