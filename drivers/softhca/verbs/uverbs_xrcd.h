/* SPDX-License-Identifier: BSD-3-Clause */
/* XRC domains: ibv_open_xrcd(3). */
#ifndef SOFTHCA_UVERBS_XRCD_H
#define SOFTHCA_UVERBS_XRCD_H

#include "object.h"

struct object_xrcd {
	struct object obj;
	struct xrc_domain *domain;
};

/* Returns the number by which QPs and SRQs refer to the domain. */
uint32_t xrcd_number(const struct object_xrcd *xrcd);

#endif
