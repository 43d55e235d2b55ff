/* SPDX-License-Identifier: BSD-3-Clause */
/* Has tables of the short names for telemetry. */
#include "gantry_names.h"

#include <rte_common.h>

#include "gantry.h"
#include "gantry_conn.h"

static const char *const op_name[GANTRY_OP_MAX] = {
	[0] = "none",
	[GANTRY_OP_NOP] = "nop",
	[GANTRY_OP_COPY] = "copy",
	[GANTRY_OP_WRITE] = "write",
	[GANTRY_OP_READ] = "read",
	[GANTRY_OP_COPY_SG] = "copy_sg",
	[GANTRY_OP_FILL] = "fill",
	[GANTRY_OP_GATHER] = "gather",
	[GANTRY_OP_SCATTER] = "scatter",
	[GANTRY_OP_WRITE_IMM] = "write_imm",
	[GANTRY_OP_SEND] = "send",
	[GANTRY_OP_SEND_IMM] = "send_imm",
	[GANTRY_OP_SEND_INV] = "send_inv",
	[GANTRY_OP_COMPARE_SWAP] = "compare_swap",
	[GANTRY_OP_FETCH_ADD] = "fetch_add",
	[GANTRY_OP_RAW] = "raw",
	[GANTRY_OP_TXN] = "txn",
};

static const char *const status_name[GANTRY_STATUS_MAX] = {
	[GANTRY_OK] = "ok",
	[GANTRY_BAD_OP] = "bad_op",
	[GANTRY_BAD_FIELD] = "bad_field",
	[GANTRY_BAD_CARRIER] = "bad_carrier",
	[GANTRY_BAD_LAYOUT] = "bad_layout",
	[GANTRY_BAD_PROFILE] = "bad_profile",
	[GANTRY_BAD_DEK] = "bad_dek",
	[GANTRY_BAD_LENGTH] = "bad_length",
	[GANTRY_BAD_ADDRESS] = "bad_address",
	[GANTRY_OVERLAP] = "overlap",
	[GANTRY_NOT_REGISTERED] = "not_registered",
	[GANTRY_NO_RESOURCES] = "no_resources",
	[GANTRY_READ_ONLY] = "read_only",
	[GANTRY_BAD_PEER] = "bad_peer",
	[GANTRY_SIG_ERROR] = "sig_error",
	[GANTRY_LOCAL_ERROR] = "local_error",
	[GANTRY_REMOTE_ACCESS] = "remote_access",
	[GANTRY_REMOTE_ERROR] = "remote_error",
	[GANTRY_UNREACHABLE] = "unreachable",
	[GANTRY_CANCELLED] = "cancelled",
	[GANTRY_FLUSHED] = "flushed",
	[GANTRY_TIMED_OUT] = "timed_out",
	[GANTRY_QP_EVENT] = "qp_event",
	[GANTRY_DEVICE_LOST] = "device_lost",
};

static const char *const conn_state_name[] = {
	[GANTRY_CONN_CLOSED] = "closed",
	[GANTRY_CONN_OPEN] = "open",
	[GANTRY_CONN_READY] = "ready",
	[GANTRY_CONN_TXN] = "transactions",
	[GANTRY_CONN_TARGET] = "target",
	[GANTRY_CONN_FAILING] = "failing",
	[GANTRY_CONN_DRAINING] = "draining",
	[GANTRY_CONN_BROKEN] = "broken",
	[GANTRY_CONN_DOWN] = "down",
	[GANTRY_CONN_CLOSING] = "closing",
};

static const char *const transport_name[] = {
	[GANTRY_TRANSPORT_RC] = "rc",
	[GANTRY_TRANSPORT_DC] = "dc",
	[GANTRY_TRANSPORT_DC_TARGET] = "dc_target",
};

static const char *const carrier_name[GANTRY_CARRIER_MAX] = {
	[GANTRY_CARRIER_USUAL] = "usual",
	[GANTRY_CARRIER_CPU] = "cpu",
	[GANTRY_CARRIER_MMO] = "mmo",
	[GANTRY_CARRIER_RDMA] = "rdma",
};

static const char *
name_of(const char *const *table, unsigned int n, unsigned int i)
{
	return i < n && table[i] != NULL ? table[i] : "unknown";
}

const char *
gantry_name_op(unsigned int op)
{
	return name_of(op_name, RTE_DIM(op_name), op);
}

const char *
gantry_name_status(unsigned int status)
{
	return name_of(status_name, RTE_DIM(status_name), status);
}

const char *
gantry_name_conn_state(unsigned int state)
{
	return name_of(conn_state_name, RTE_DIM(conn_state_name), state);
}

const char *
gantry_name_transport(unsigned int transport)
{
	return name_of(transport_name, RTE_DIM(transport_name), transport);
}

const char *
gantry_name_carrier(unsigned int carrier)
{
	return name_of(carrier_name, RTE_DIM(carrier_name), carrier);
}
