/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads OpenSSL's libcrypto. */
#include "libcrypto.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#include "log.h"

#define FILE_NAME_OF(major) "libcrypto.so." #major
#define FILE_NAME(major)    FILE_NAME_OF(major)
#define LIBCRYPTO_FILE      FILE_NAME(OPENSSL_VERSION_MAJOR)

static struct libcrypto loaded;
static bool is_loaded;

static bool
find_calls(void *file)
{
#define LIBCRYPTO_FIND(name) (loaded.name = (__typeof__(loaded.name))dlsym(file, #name)) != NULL &&
	return LIBCRYPTO_CALLS(LIBCRYPTO_FIND) true;
#undef LIBCRYPTO_FIND
}

static void
load(void)
{
	void *file = dlopen(LIBCRYPTO_FILE, RTLD_NOW | RTLD_LOCAL);

	if (file == NULL || !find_calls(file)) {
		softhca_log("encryption needs OpenSSL, which cannot be loaded: %s", dlerror());
		return;
	}
	/* Device threads may still encrypt at exit, so OpenSSL must not clean up then. */
	loaded.OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT | OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
	loaded.ctx = loaded.OSSL_LIB_CTX_new();
	is_loaded = loaded.ctx != NULL;
	if (!is_loaded)
		softhca_log("encryption needs OpenSSL, which is out of memory");
}

const struct libcrypto *
libcrypto_load(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load);
	return is_loaded ? &loaded : NULL;
}
