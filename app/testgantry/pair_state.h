/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The state of this process while it works with another process.
 */
#ifndef TESTGANTRY_PAIR_STATE_H
#define TESTGANTRY_PAIR_STATE_H

#include <stdbool.h>

#include "job.h"
#include "pair_talk.h"

/** An error of an lcore, which has printed the reason. */
#define PAIR_UNSAID "an lcore has failed, as its own line says"

/** Two processes, seen from this process. */
struct pair {
	struct app *app;
	const struct options *opt;
	bool connects; /**< this process has the files, or is the initiator */
	struct gantry *engine;
	struct talk *talk;
	char *error; /**< the first error, which is printed and sent at the end */
};

/**
 * Called after a failure. If the other process has ended, this may be the cause. So waits a moment
 * for the reason that the other process sends; this reason then becomes the error.
 */
void pair_ask_reason(struct pair *p);

/** Sends the reason why this process ends. Call this before connections are closed. */
void pair_fail(struct pair *p);

#endif
