/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Trace points of control events, for DPDK's trace library (EAL's option --trace=gantry.*). They
 * trace how objects are created, changed and destroyed. The path of descriptors has no trace point.
 * A trace point that is not enabled costs a load and a comparison.
 */
#ifndef GANTRY_TRACE_H
#define GANTRY_TRACE_H

#include <stdint.h>

/*
 * Without this macro DPDK leaves trace points out, because trace points are not in DPDK's stable
 * ABI yet. The macro has to be defined before the first header of DPDK.
 */
#ifndef ALLOW_EXPERIMENTAL_API
#define ALLOW_EXPERIMENTAL_API
#endif
#include <rte_trace_point.h>

/*
 * In all trace points, `engine` and `queue` are numbers as in telemetry, and `ret` is 0 or the
 * negative errno that the call returned.
 */

RTE_TRACE_POINT(gantry_trace_engine_create,
		RTE_TRACE_POINT_ARGS(uint32_t engine, const char *device),
		rte_trace_point_emit_u32(engine);
		rte_trace_point_emit_string(device);)

RTE_TRACE_POINT(gantry_trace_engine_destroy, RTE_TRACE_POINT_ARGS(uint32_t engine),
		rte_trace_point_emit_u32(engine);)

RTE_TRACE_POINT(gantry_trace_queue_create,
		RTE_TRACE_POINT_ARGS(uint32_t engine, uint32_t queue, uint32_t depth),
		rte_trace_point_emit_u32(engine);
		rte_trace_point_emit_u32(queue); rte_trace_point_emit_u32(depth);)

RTE_TRACE_POINT(gantry_trace_queue_destroy, RTE_TRACE_POINT_ARGS(uint32_t queue, int ret),
		rte_trace_point_emit_u32(queue);
		rte_trace_point_emit_int(ret);)

RTE_TRACE_POINT(gantry_trace_worker_start, RTE_TRACE_POINT_ARGS(uint32_t queue, uint32_t lcore),
		rte_trace_point_emit_u32(queue);
		rte_trace_point_emit_u32(lcore);)

RTE_TRACE_POINT(gantry_trace_worker_stop, RTE_TRACE_POINT_ARGS(uint32_t queue, uint32_t lcore),
		rte_trace_point_emit_u32(queue);
		rte_trace_point_emit_u32(lcore);)

/* transport: enum gantry_transport. */
RTE_TRACE_POINT(gantry_trace_peer_open,
		RTE_TRACE_POINT_ARGS(uint32_t queue, uint16_t peer, uint8_t transport),
		rte_trace_point_emit_u32(queue);
		rte_trace_point_emit_u16(peer); rte_trace_point_emit_u8(transport);)

RTE_TRACE_POINT(gantry_trace_peer_connect,
		RTE_TRACE_POINT_ARGS(uint32_t queue, uint16_t peer, int ret),
		rte_trace_point_emit_u32(queue);
		rte_trace_point_emit_u16(peer); rte_trace_point_emit_int(ret);)

RTE_TRACE_POINT(gantry_trace_peer_close,
		RTE_TRACE_POINT_ARGS(uint32_t queue, uint16_t peer, int ret),
		rte_trace_point_emit_u32(queue);
		rte_trace_point_emit_u16(peer); rte_trace_point_emit_int(ret);)

/*
 * The state of a connection has changed. conn is the index in gantry_queue::conn: 1 for the queue's
 * connection to itself, 2 for the DC initiator, 3 for local transactions, 4 and more for peers.
 * state: enum gantry_conn_state.
 */
RTE_TRACE_POINT(gantry_trace_conn_state,
		RTE_TRACE_POINT_ARGS(uint32_t queue, uint32_t conn, uint8_t state),
		rte_trace_point_emit_u32(queue);
		rte_trace_point_emit_u32(conn); rte_trace_point_emit_u8(state);)

/* A connection has failed. status: enum gantry_status. */
RTE_TRACE_POINT(gantry_trace_conn_failure,
		RTE_TRACE_POINT_ARGS(uint32_t queue, uint32_t conn, uint8_t status,
			uint8_t syndrome),
		rte_trace_point_emit_u32(queue);
		rte_trace_point_emit_u32(conn); rte_trace_point_emit_u8(status);
		rte_trace_point_emit_u8(syndrome);)

/* The send queue of a connection for transactions stands still after a wrong signature. */
RTE_TRACE_POINT(gantry_trace_txn_stop, RTE_TRACE_POINT_ARGS(uint32_t queue, uint32_t conn),
		rte_trace_point_emit_u32(queue);
		rte_trace_point_emit_u32(conn);)

RTE_TRACE_POINT(gantry_trace_mem_register,
		RTE_TRACE_POINT_ARGS(uint32_t engine, const void *addr, uint64_t len,
			uint32_t flags, int ret),
		rte_trace_point_emit_u32(engine);
		rte_trace_point_emit_ptr(addr); rte_trace_point_emit_u64(len);
		rte_trace_point_emit_u32(flags); rte_trace_point_emit_int(ret);)

RTE_TRACE_POINT(gantry_trace_mem_unregister, RTE_TRACE_POINT_ARGS(uint32_t engine, int ret),
		rte_trace_point_emit_u32(engine);
		rte_trace_point_emit_int(ret);)

#endif
