/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of opcodes. */
#include "opcode_table.h"

#include "key.h"

#define RELIABLE                                                                                   \
	(QP_TYPE_BIT(SOFTHCA_QP_RC) | QP_TYPE_BIT(SOFTHCA_QP_XRC_SEND) |                           \
		QP_TYPE_BIT(SOFTHCA_QP_DCI))
#define CONNECTED (RELIABLE | QP_TYPE_BIT(SOFTHCA_QP_UC))
#define MESSAGES  (CONNECTED | QP_TYPE_BIT(SOFTHCA_QP_UD))
#define RAW       QP_TYPE_BIT(SOFTHCA_QP_RAW)

_Static_assert(QP_TYPE_BIT(SOFTHCA_QP_DCI) == 1 && QP_TYPE_BIT(SOFTHCA_QP_DCT) == 2 &&
		       SOFTHCA_QP_RC > 1 && SOFTHCA_QP_XRC_RECV < 16,
	"every QP type has a bit of its own");

/* The operations of each transport: InfiniBand, volume 1, chapter 9.2. */
const struct opcode opcodes[UINT8_MAX + 1] = {
	[OPC_NOP] = {.exec = exec_nop, .qp_types = MESSAGES | RAW, .head_ds = 1, .local = true},
	[OPC_SEND_INV] = {.number = OPC_SEND_INV,
		.exec = exec_send,
		.respond = respond_send,
		.qp_types = RELIABLE,
		.head_ds = 1,
		.kind = MESSAGE_SEND_MORE,
		.recv = CQE_RESP_SEND_INV},
	[OPC_WRITE] = {.number = OPC_WRITE,
		.exec = exec_write,
		.respond = respond_write,
		.qp_types = CONNECTED,
		.head_ds = 2,
		.kind = MESSAGE_WRITE,
		.remote_access = ACC_REMOTE_WRITE},
	[OPC_WRITE_IMM] = {.number = OPC_WRITE_IMM,
		.exec = exec_write,
		.respond = respond_write,
		.qp_types = CONNECTED,
		.head_ds = 2,
		.kind = MESSAGE_WRITE_IMM,
		.remote_access = ACC_REMOTE_WRITE,
		.recv = CQE_RESP_WRITE_IMM},
	[OPC_SEND] = {.number = OPC_SEND,
		.exec = exec_send,
		.respond = respond_send,
		.qp_types = MESSAGES | RAW,
		.head_ds = 1,
		.kind = MESSAGE_SEND,
		.recv = CQE_RESP_SEND},
	[OPC_SEND_IMM] = {.number = OPC_SEND_IMM,
		.exec = exec_send,
		.respond = respond_send,
		.qp_types = MESSAGES,
		.head_ds = 1,
		.kind = MESSAGE_SEND_MORE,
		.recv = CQE_RESP_SEND_IMM},
	[OPC_TSO] = {.exec = exec_tso, .qp_types = RAW, .head_ds = 2},
	[OPC_READ] = {.number = OPC_READ,
		.exec = exec_read,
		.respond = respond_read,
		.qp_types = RELIABLE,
		.head_ds = 2,
		.kind = MESSAGE_READ,
		.access = ACC_LOCAL_WRITE,
		.remote_access = ACC_REMOTE_READ},
	[OPC_ATOMIC_CS] = {.number = OPC_ATOMIC_CS,
		.exec = exec_atomic,
		.respond = respond_compare_swap,
		.qp_types = RELIABLE,
		.head_ds = 3,
		.kind = MESSAGE_ATOMIC,
		.access = ACC_LOCAL_WRITE,
		.remote_access = ACC_REMOTE_ATOMIC},
	[OPC_ATOMIC_FA] = {.number = OPC_ATOMIC_FA,
		.exec = exec_atomic,
		.respond = respond_fetch_add,
		.qp_types = RELIABLE,
		.head_ds = 3,
		.kind = MESSAGE_ATOMIC,
		.access = ACC_LOCAL_WRITE,
		.remote_access = ACC_REMOTE_ATOMIC},
	[OPC_SET_PSV] = {.exec = exec_set_psv,
		.qp_types = RELIABLE,
		.head_ds = PSV_UNIT + 1,
		.local = true},
	[OPC_UMR] = {.exec = exec_umr,
		.qp_types = CONNECTED,
		.head_ds = UMR_LAYOUT_UNIT,
		.local = true},
	[OPC_MMO] = {.exec = exec_mmo, .qp_types = RELIABLE, .head_ds = 1, .local = true},
};
