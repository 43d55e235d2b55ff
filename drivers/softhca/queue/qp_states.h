/* SPDX-License-Identifier: BSD-3-Clause */
/* The state tables of queue pairs. */
#ifndef SOFTHCA_QP_STATES_H
#define SOFTHCA_QP_STATES_H

#include <stdint.h>

#include "hca.h"

struct transition {
	uint32_t need, may; /* attribute masks; need == 0: the transition does not exist */
};
#define TRANSITION_ALLOWED (1u << 29) /* the transition exists, even if it needs no attribute */

/* Returns the transition in the table of the QP's type, or NULL if it does not exist. */
const struct transition *qp_transition(enum softhca_qp_type type, unsigned int from,
	unsigned int to);

#endif
