/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Probes: each row has an assumption about cards, and the experiment that tests it on a device.
 *
 * doc/softhca-assumptions.md, "What is assumed" and "What is confirmed", lists the same identities
 * in the same sentences; check_probes.py compares. A probe runs in its own process, which opens the
 * device. It uses one new PD, QPs of one port that are connected to each other, and only commands
 * that an unprivileged user may send. All its objects end with its process.
 */
#ifndef PROBE_H
#define PROBE_H

#include <stdbool.h>

enum probe_result {
	PROBE_CANNOT, /* this device cannot be asked */
	PROBE_AS_ASSUMED,
	PROBE_OTHERWISE
};

#define PROBE_SEEN_MAX 256

struct probe_answer {
	enum probe_result result;
	char seen[PROBE_SEEN_MAX]; /* what was observed, or why the device cannot be asked */
};

/*
 * One assumption. `matters`: what in Gantry or in a user's program depends on it, if a device
 * differs. ask NULL: no probe, for the reason in not_asked.
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

/* Answers with the observation. */
void probe_saw(struct probe_answer *answer, bool as_assumed, const char *seen, ...)
	__attribute__((format(printf, 3, 4)));

/* Answers that the device or this user lacks what the probe needs. */
void probe_cannot(struct probe_answer *answer, const char *why, ...)
	__attribute__((format(printf, 2, 3)));

#endif
