/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses the carrier of a copy: the policy of a queue, in the form that the queue's owner uses. */
#ifndef GANTRY_POLICY_H
#define GANTRY_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "gantry.h"

#define GANTRY_DESC_BY_ANY (GANTRY_DESC_BY_CPU | GANTRY_DESC_BY_MMO | GANTRY_DESC_BY_RDMA)

struct gantry_choice {
	/*
	 * The enum gantry_carrier of all copies without flags. GANTRY_CARRIER_MAX: the rules of the
	 * policy choose.
	 */
	uint8_t all;
	uint8_t usual; /* constant: the carrier in gantry_info::copy_path */
	/*
	 * Number of descriptors in flight. If the policy has rules, each call that issues
	 * descriptors sets it.
	 */
	uint32_t in_flight;
	struct gantry_policy policy; /* the policy that was set */
};

/* Checks a policy, which may be NULL. Returns 0, or logs why and returns -EINVAL or -EOPNOTSUPP. */
int gantry_policy_check(const struct gantry_info *info, const struct gantry_policy *policy);

/* Sets a checked policy, which may be NULL. Owner thread. */
void gantry_choice_set(struct gantry_choice *c, const struct gantry_policy *policy);

/* Returns the carrier that the rules give to a copy of len bytes without flags. */
static inline enum gantry_carrier
gantry_choice_by_rules(const struct gantry_choice *c, uint64_t len)
{
	const struct gantry_policy_rule *rule = c->policy.rule, *end = rule + c->policy.n;
	enum gantry_carrier carrier = GANTRY_CARRIER_USUAL;

	for (; rule != end; rule++) {
		if (len <= rule->max_len && c->in_flight <= rule->max_in_flight) {
			carrier = rule->carrier;
			break;
		}
	}
	return carrier == GANTRY_CARRIER_USUAL ? c->usual : carrier;
}

/*
 * Returns the carrier that a descriptor asks for, or GANTRY_CARRIER_MAX if the descriptor asks for
 * more than one.
 */
static inline enum gantry_carrier
gantry_choice_of(const struct gantry_choice *c, const struct gantry_desc *d)
{
	switch (d->flags & GANTRY_DESC_BY_ANY) {
	case 0:
		return gantry_choice_by_rules(c, d->len);
	case GANTRY_DESC_BY_CPU:
		return GANTRY_CARRIER_CPU;
	case GANTRY_DESC_BY_MMO:
		return GANTRY_CARRIER_MMO;
	case GANTRY_DESC_BY_RDMA:
		return GANTRY_CARRIER_RDMA;
	default:
		return GANTRY_CARRIER_MAX;
	}
}

#endif
