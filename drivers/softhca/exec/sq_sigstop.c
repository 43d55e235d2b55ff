/* SPDX-License-Identifier: BSD-3-Clause */
/* Stops a send queue after a wrong signature, before a WQE that a seed chooses. */
#include "sq_sigstop.h"

#include "chance.h"
#include "sq_complete.h"
#include "uar.h"

#define PLACES 4 /* the chance that the queue stops before a WQE is 1 in PLACES */

void
sigstop_begin(struct run *run)
{
	if (run->lanes->dev->cfg->sig_stop != 0)
		run->qp->stopping = true;
	else
		sq_stop(run);
}

static bool
stops_here(struct run *run)
{
	struct softhca_qp *qp = run->qp;

	if (qp->chance == 0)
		qp->chance = chance_first(run->lanes->dev->cfg->sig_stop, qp->uar->page_id);
	return chance_draw(&qp->chance, PLACES) == 0;
}

bool
sigstop_before(struct run *run, const struct wqe *wqe)
{
	if (!wqe_is_fenced(wqe) && !stops_here(run))
		return false;
	sq_stop(run);
	return true;
}
