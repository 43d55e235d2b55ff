/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes a signal, and gives what is not the adapter's to the handler that was there before. */
#include "sigchain.h"

#include <errno.h>

static struct {
	sigchain_fn *mend;
	struct sigaction before;
} taken[NSIG];

static void
pass_on(int sig, siginfo_t *info, void *context)
{
	const struct sigaction *before = &taken[sig].before;

	if ((before->sa_flags & SA_SIGINFO) != 0) {
		before->sa_sigaction(sig, info, context);
		return;
	}
	if (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN) {
		before->sa_handler(sig);
		return;
	}
	/* The instruction faults again, or the signal that was sent comes again: it ends the process. */
	sigaction(sig, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	if (info->si_code <= 0)
		raise(sig);
}

static void
on_signal(int sig, siginfo_t *info, void *context)
{
	const int error = errno;

	if (!taken[sig].mend(info, context))
		pass_on(sig, info, context);
	errno = error;
}

void
sigchain_take(int sig, sigchain_fn *mend)
{
	struct sigaction ours;

	if (sigaction(sig, NULL, &taken[sig].before) != 0)
		return;
	taken[sig].mend = mend;
	ours = taken[sig].before;
	ours.sa_flags = (ours.sa_flags & SA_NODEFER) | SA_SIGINFO | SA_ONSTACK | SA_RESTART;
	ours.sa_sigaction = on_signal;
	sigaction(sig, &ours, NULL);
}
