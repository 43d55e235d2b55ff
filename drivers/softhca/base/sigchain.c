/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chains signal handlers: if a fault does not concern the adapter, the previous handler gets the
 * signal.
 */
#include "sigchain.h"

#include <errno.h>
#include <pthread.h>

#define N_PLACES 2

/*
 * The handlers that were set for a signal. The newest handler is called first and may pass the
 * signal to the older handler.
 */
static struct place {
	sigchain_fn *mend;
	struct sigaction before;
} taken[NSIG][N_PLACES];

static void
pass_on(int sig, const struct sigaction *before, siginfo_t *info, void *context)
{
	if ((before->sa_flags & SA_SIGINFO) != 0) {
		before->sa_sigaction(sig, info, context);
		return;
	}
	if (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN) {
		before->sa_handler(sig);
		return;
	}
	/*
	 * No handler is left, so the signal gets its default action, which ends the process. This
	 * happens when the thread returns to the faulting instruction, or when the signal is raised
	 * again below.
	 */
	sigaction(sig, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	if (info->si_code <= 0)
		raise(sig);
}

static void
on_signal(int sig, const struct place *place, siginfo_t *info, void *context)
{
	const int error = errno;

	if (!place->mend(info, context))
		pass_on(sig, &place->before, info, context);
	errno = error;
}

static void
on_first(int sig, siginfo_t *info, void *context)
{
	on_signal(sig, &taken[sig][0], info, context);
}

static void
on_second(int sig, siginfo_t *info, void *context)
{
	on_signal(sig, &taken[sig][1], info, context);
}

void
sigchain_take(int sig, sigchain_fn *mend)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct sigaction ours;
	struct place *place;

	pthread_mutex_lock(&lock);
	place = &taken[sig][taken[sig][0].mend != NULL];
	if (sigaction(sig, NULL, &place->before) == 0) {
		place->mend = mend;
		ours = place->before;
		ours.sa_flags = (ours.sa_flags & SA_NODEFER) | SA_SIGINFO | SA_ONSTACK | SA_RESTART;
		ours.sa_sigaction = place == &taken[sig][0] ? on_first : on_second;
		sigaction(sig, &ours, NULL);
	}
	pthread_mutex_unlock(&lock);
}
