/* SPDX-License-Identifier: BSD-3-Clause */
/* Crypto logins. */
#ifndef SOFTHCA_DEVX_LOGIN_H
#define SOFTHCA_DEVX_LOGIN_H

#include <stdbool.h>

struct softhca_ctx;

/* True if the context has logged in. The caller holds the context's lock. */
bool login_is_there(struct softhca_ctx *ctx);

#endif
