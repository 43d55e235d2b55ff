/* SPDX-License-Identifier: BSD-3-Clause */
/* Looking up a state table of queue pairs. */
#ifndef SOFTHCA_QP_STATES_H
#define SOFTHCA_QP_STATES_H

#include <stdint.h>

#include "hca.h"

struct transition {
	uint32_t need, may; /* attribute masks; need == 0: there is no such transition */
};
#define TRANSITION_ALLOWED (1u << 29) /* exists, even if it needs no attribute */

/* A transition of the type's state table, or NULL. */
const struct transition *qp_transition(enum softhca_qp_type type, unsigned int from,
	unsigned int to);

#endif
