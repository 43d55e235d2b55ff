/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Probes: each assumption about cards, as a row with the experiment that asks a device about it.
 *
 * doc/softhca-assumptions.md, "What is assumed" and "What is confirmed", lists the same identities
 * in the same sentences; check_probes.py compares. A probe runs in a process of its own, which
 * opens the device. It uses one PD of its own, QPs of one port that are connected to each other,
 * and no command that an unprivileged user may not send. Whatever it leaves ends with its process.
 */
#ifndef PROBE_H
#define PROBE_H

#include <stdbool.h>

enum probe_result {
	PROBE_CANNOT, /* it cannot be asked here */
	PROBE_AS_ASSUMED,
	PROBE_OTHERWISE
};

#define PROBE_SEEN_MAX 256

struct probe_answer {
	enum probe_result result;
	char seen[PROBE_SEEN_MAX]; /* what was seen, or why it cannot be asked */
};

/*
 * One assumption. `matters` says what in Gantry or in a user's program depends on it, where a
 * device does otherwise. ask NULL: it is not asked, for the reason in not_asked.
 */
struct probe {
	const char *id, *assumed, *matters;
	void (*ask)(struct probe_answer *answer);
	const char *not_asked;
};

/* The assumptions of one subject; the last row has no id. */
extern const struct probe probe_keys[], probe_connections[], probe_receives[], probe_cqs[],
	probe_signatures[], probe_encryption[], probe_raw[], probe_device_memory[], probe_wqs[],
	probe_vendors[], probe_control[];

/* Answers with what was seen. */
void probe_saw(struct probe_answer *answer, bool as_assumed, const char *seen, ...)
	__attribute__((format(printf, 3, 4)));

/* Answers that the device or this user lacks what the probe needs. */
void probe_cannot(struct probe_answer *answer, const char *why, ...)
	__attribute__((format(printf, 2, 3)));

#endif
