/* SPDX-License-Identifier: BSD-3-Clause */
/* Gives the trace points their names: gantry.*. */
#define ALLOW_EXPERIMENTAL_API /* needed for trace points, see gantry_trace.h */
#include <rte_trace_point_register.h>

#include "gantry_trace.h"

RTE_TRACE_POINT_REGISTER(gantry_trace_engine_create, gantry.engine.create)
RTE_TRACE_POINT_REGISTER(gantry_trace_engine_destroy, gantry.engine.destroy)
RTE_TRACE_POINT_REGISTER(gantry_trace_queue_create, gantry.queue.create)
RTE_TRACE_POINT_REGISTER(gantry_trace_queue_destroy, gantry.queue.destroy)
RTE_TRACE_POINT_REGISTER(gantry_trace_worker_start, gantry.worker.start)
RTE_TRACE_POINT_REGISTER(gantry_trace_worker_stop, gantry.worker.stop)
RTE_TRACE_POINT_REGISTER(gantry_trace_peer_open, gantry.peer.open)
RTE_TRACE_POINT_REGISTER(gantry_trace_peer_connect, gantry.peer.connect)
RTE_TRACE_POINT_REGISTER(gantry_trace_peer_close, gantry.peer.close)
RTE_TRACE_POINT_REGISTER(gantry_trace_conn_state, gantry.conn.state)
RTE_TRACE_POINT_REGISTER(gantry_trace_conn_failure, gantry.conn.failure)
RTE_TRACE_POINT_REGISTER(gantry_trace_txn_stop, gantry.txn.stop)
RTE_TRACE_POINT_REGISTER(gantry_trace_mem_register, gantry.mem.register)
RTE_TRACE_POINT_REGISTER(gantry_trace_mem_unregister, gantry.mem.unregister)
