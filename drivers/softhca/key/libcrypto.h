/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * OpenSSL's libcrypto. It is loaded when the first encryption key is made, so a program that does
 * not encrypt does not load it. Its functions are called through addresses from dlsym(3), so that a
 * program may use another OpenSSL.
 */
#ifndef SOFTHCA_LIBCRYPTO_H
#define SOFTHCA_LIBCRYPTO_H

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>

#define LIBCRYPTO_CALLS(X)                                                                         \
	X(OPENSSL_init_crypto)                                                                     \
	X(OSSL_LIB_CTX_new)                                                                        \
	X(ERR_set_mark)                                                                            \
	X(ERR_pop_to_mark)                                                                         \
	X(EVP_CIPHER_fetch)                                                                        \
	X(EVP_CIPHER_free)                                                                         \
	X(EVP_CIPHER_CTX_new)                                                                      \
	X(EVP_CIPHER_CTX_copy)                                                                     \
	X(EVP_CIPHER_CTX_free)                                                                     \
	X(EVP_CIPHER_CTX_set_flags)                                                                \
	X(EVP_CipherInit_ex)                                                                       \
	X(EVP_CipherUpdate)

struct libcrypto {
#define LIBCRYPTO_MEMBER(name) __typeof__(name) *name;
	LIBCRYPTO_CALLS(LIBCRYPTO_MEMBER)
#undef LIBCRYPTO_MEMBER
	/*
	 * Softhca's own context of OpenSSL: the program's configuration of OpenSSL and its cleanup
	 * at exit do not affect it.
	 */
	OSSL_LIB_CTX *ctx;
};

/* Returns NULL if libcrypto cannot be loaded; this was logged. Any thread may call it. */
const struct libcrypto *libcrypto_load(void);

#endif
