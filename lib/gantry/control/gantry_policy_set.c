/* SPDX-License-Identifier: BSD-3-Clause */
/* The policy of a queue: gantry_policy_set(), gantry_policy_get(). */
#include "gantry_engine.h"
#include "gantry_policy.h"
#include "gantry_process.h"
#include "gantry_queue.h"
#include "gantry_worker.h"

struct step {
	struct gantry_queue *q;
	const struct gantry_policy *policy;
};

/* Runs on the thread of the queue's owner. */
static int
step_set(void *arg)
{
	const struct step *step = arg;

	gantry_choice_set(&step->q->choice, step->policy);
	gantry_queue_note_usual(step->q);
	return 0;
}

int
gantry_policy_set(struct gantry_queue *q, const struct gantry_policy *policy)
{
	struct step step = {q, policy};
	int ret = gantry_process_check(q->g->pid);

	if (ret == 0)
		ret = gantry_policy_check(&q->g->info, policy);
	if (ret != 0)
		return ret;
	return q->worker != NULL ? gantry_worker_call(q->worker, step_set, &step) : step_set(&step);
}

void
gantry_policy_get(const struct gantry_queue *q, struct gantry_policy *policy)
{
	/*
	 * Only the thread that may set the policy may call this function, so no other thread writes
	 * the policy meanwhile.
	 */
	*policy = q->choice.policy;
}
