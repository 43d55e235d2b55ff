/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Probes. Each probe has an assumption about adapters, and an experiment that tests this assumption
 * on a device.
 *
 * doc/softhca-assumptions.md, "What is assumed" and "What is confirmed", lists the same identities
 * in the same sentences; check_probes.py compares. A probe runs in a process of its own, which
 * opens the device. It uses one new PD, QPs of one port that are connected to each other, and only
 * commands that an unprivileged user may send. All objects of the probe end with its process.
 */
#ifndef PROBE_H
#define PROBE_H

#include <stdbool.h>

enum probe_result {
	PROBE_CANNOT, /* the assumption cannot be tested on this device */
	PROBE_AS_ASSUMED,
	PROBE_OTHERWISE
};

#define PROBE_SEEN_MAX 256

struct probe_answer {
	enum probe_result result;
	/* what was observed, or why the assumption cannot be tested on this device */
	char seen[PROBE_SEEN_MAX];
};

/*
 * One assumption. `matters`: what in Gantry or in a user's program depends on the assumption. If
 * `ask` is NULL, there is no probe, for the reason in `not_asked`.
 */
struct probe {
	const char *id, *assumed, *matters;
	void (*ask)(struct probe_answer *answer);
	const char *not_asked;
};

/* The assumptions of one subject; the last element has no id. */
extern const struct probe probe_keys[], probe_connections[], probe_receives[], probe_cqs[],
	probe_signatures[], probe_encryption[], probe_raw[], probe_device_memory[], probe_wqs[],
	probe_vendors[], probe_control[], probe_functions[];

/* Stores an answer: whether the device is as assumed, and the observation. */
void probe_saw(struct probe_answer *answer, bool as_assumed, const char *seen, ...)
	__attribute__((format(printf, 3, 4)));

/* Stores an answer: the device or this user lacks what the probe needs. */
void probe_cannot(struct probe_answer *answer, const char *why, ...)
	__attribute__((format(printf, 2, 3)));

#endif
