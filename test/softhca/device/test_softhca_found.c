/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors of the emulated adapter that the fuzzers found, with one case for each. */
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "softhca_rig.h"

/* A QP that was connected to itself locked its receive side twice, and never returned. */
static void
case_self_overposted(void)
{
	struct rig r;
	struct rig_wqe w = rig_wqe(MLX5_OPCODE_SEND, MLX5_WQE_CTRL_CQ_UPDATE);
	const struct mlx5_cqe64 *cqe;

	rig_init(&r, &(struct rig_opts){.no_connect = true});
	rig_connect(&r.a, r.a.qpn, 7, 1);
	rig_sge(&w, (uintptr_t)r.a.buf, r.a.key, 64);
	atomic_store(&r.a.qp_db[MLX5_RCV_DBR], htobe32(r.a.rq_n + 1));
	rig_post(&r.a, &w);
	rig_run(&r);
	CHECK_EQ(r.a.qp_event.async[IBV_EVENT_QP_FATAL], 1, "fatal events");
	cqe = rig_poll(&r.a);
	CHECK(cqe != NULL && rig_err(cqe)->syndrome == MLX5_CQE_SYNDROME_WR_FLUSH_ERR,
		"the send was not flushed");
	rig_fini(&r);
}

int
main(void)
{
	alarm(CHECK_PATIENCE_MS / 1000); /* kills the test if the call hangs */
	RUN("a queue pair connected to itself, with more receives than it holds, fails and stops",
		case_self_overposted());
	return check_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
