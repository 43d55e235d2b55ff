/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state tables of queue pairs. For each type and each transition they have the attributes that
 * are needed, and those that are allowed.
 *
 * The needed attributes come from the tables of ibv_modify_qp(3) and mlx5dv_create_qp(3), the
 * allowed attributes from the InfiniBand architecture, volume 1, chapter 11.2.5.2, "Modify queue
 * pair". This adapter has neither alternate paths nor resizing.
 */
#include "qp.h"
#include "qp_mask.h"
#include "qp_states.h"

#define N_STATES 7
#define ALLOWED  TRANSITION_ALLOWED

typedef const struct transition state_table[N_STATES][N_STATES];

/*
 * The transitions without attributes: from all states to RESET, and from all states except RESET to
 * ERR.
 */
#define ENDS                                                                                       \
	[QP_RESET][QP_RESET] = {ALLOWED, 0}, [QP_INIT][QP_RESET] = {ALLOWED, 0},                   \
	[QP_RTR][QP_RESET] = {ALLOWED, 0}, [QP_RTS][QP_RESET] = {ALLOWED, 0},                      \
	[QP_SQD][QP_RESET] = {ALLOWED, 0}, [QP_SQE][QP_RESET] = {ALLOWED, 0},                      \
	[QP_ERR][QP_RESET] = {ALLOWED, 0}, [QP_INIT][QP_ERR] = {ALLOWED, 0},                       \
	[QP_RTR][QP_ERR] = {ALLOWED, 0}, [QP_RTS][QP_ERR] = {ALLOWED, 0},                          \
	[QP_SQD][QP_ERR] = {ALLOWED, 0}, [QP_SQE][QP_ERR] = {ALLOWED, 0},                          \
	[QP_ERR][QP_ERR] = {ALLOWED, 0}

#define CONNECTED_INIT (ALLOWED | M_PKEY_INDEX | M_PORT | M_ACCESS)
#define CONNECTED_RTR  (ALLOWED | M_AV | M_PATH_MTU | M_DEST_QPN | M_RQ_PSN)
#define REQUESTER_RTS  (ALLOWED | M_TIMEOUT | M_RETRY_CNT | M_RNR_RETRY | M_SQ_PSN | M_MAX_RD_ATOMIC)
#define FIRMWARE       (SOFTHCA_QP_MMO | SOFTHCA_QP_DRAIN_SIGERR)

/* RC has no state SQE: a send error ends the connection. */
static state_table rc = {
	ENDS,
	[QP_RESET][QP_INIT] = {CONNECTED_INIT, 0},
	[QP_INIT][QP_INIT] = {ALLOWED, M_PKEY_INDEX | M_PORT | M_ACCESS | FIRMWARE},
	[QP_INIT][QP_RTR] = {CONNECTED_RTR | M_MAX_DEST_RD_ATOMIC | M_MIN_RNR_TIMER,
		M_ACCESS | M_PKEY_INDEX},
	[QP_RTR][QP_RTS] = {REQUESTER_RTS, M_CUR_STATE | M_ACCESS | M_MIN_RNR_TIMER},
	[QP_RTS][QP_RTS] = {ALLOWED,
		M_CUR_STATE | M_ACCESS | M_MIN_RNR_TIMER | SOFTHCA_QP_UDP_SPORT},
	[QP_RTS][QP_SQD] = {ALLOWED, M_EN_SQD_NOTIFY},
	[QP_SQD][QP_RTS] = {ALLOWED, M_CUR_STATE | M_ACCESS | M_MIN_RNR_TIMER},
	[QP_SQD][QP_SQD] = {ALLOWED, M_PKEY_INDEX | M_PORT | M_AV | M_TIMEOUT | M_RETRY_CNT |
					     M_RNR_RETRY | M_MAX_RD_ATOMIC | M_MAX_DEST_RD_ATOMIC |
					     M_ACCESS | M_MIN_RNR_TIMER},
};

static state_table uc = {
	ENDS,
	[QP_RESET][QP_INIT] = {CONNECTED_INIT, 0},
	[QP_INIT][QP_INIT] = {ALLOWED, M_PKEY_INDEX | M_PORT | M_ACCESS},
	[QP_INIT][QP_RTR] = {CONNECTED_RTR, M_ACCESS | M_PKEY_INDEX},
	[QP_RTR][QP_RTS] = {ALLOWED | M_SQ_PSN, M_CUR_STATE | M_ACCESS},
	[QP_RTS][QP_RTS] = {ALLOWED, M_CUR_STATE | M_ACCESS | SOFTHCA_QP_UDP_SPORT},
	[QP_RTS][QP_SQD] = {ALLOWED, M_EN_SQD_NOTIFY},
	[QP_SQD][QP_RTS] = {ALLOWED, M_CUR_STATE | M_ACCESS},
	[QP_SQD][QP_SQD] = {ALLOWED, M_AV | M_ACCESS | M_PKEY_INDEX},
	[QP_SQE][QP_RTS] = {ALLOWED, M_CUR_STATE | M_ACCESS},
};

static state_table ud = {
	ENDS,
	[QP_RESET][QP_INIT] = {ALLOWED | M_PKEY_INDEX | M_PORT | M_QKEY, 0},
	[QP_INIT][QP_INIT] = {ALLOWED, M_PKEY_INDEX | M_PORT | M_QKEY},
	[QP_INIT][QP_RTR] = {ALLOWED, M_PKEY_INDEX | M_QKEY},
	[QP_RTR][QP_RTS] = {ALLOWED | M_SQ_PSN, M_CUR_STATE | M_QKEY},
	[QP_RTS][QP_RTS] = {ALLOWED, M_CUR_STATE | M_QKEY},
	[QP_RTS][QP_SQD] = {ALLOWED, M_EN_SQD_NOTIFY},
	[QP_SQD][QP_RTS] = {ALLOWED, M_CUR_STATE | M_QKEY},
	[QP_SQD][QP_SQD] = {ALLOWED, M_PKEY_INDEX | M_QKEY},
	[QP_SQE][QP_RTS] = {ALLOWED, M_CUR_STATE | M_QKEY},
};

static state_table raw = {
	ENDS,
	[QP_RESET][QP_INIT] = {ALLOWED | M_PORT, 0},
	[QP_INIT][QP_INIT] = {ALLOWED, M_PORT},
	[QP_INIT][QP_RTR] = {ALLOWED, 0},
	[QP_RTR][QP_RTS] = {ALLOWED, 0},
	[QP_RTS][QP_RTS] = {ALLOWED, 0},
	[QP_RTS][QP_SQD] = {ALLOWED, 0},
	[QP_SQD][QP_RTS] = {ALLOWED, 0},
};

static state_table xrc_send = {
	ENDS,
	[QP_RESET][QP_INIT] = {CONNECTED_INIT, 0},
	[QP_INIT][QP_INIT] = {ALLOWED, M_PKEY_INDEX | M_PORT | M_ACCESS | FIRMWARE},
	[QP_INIT][QP_RTR] = {CONNECTED_RTR, M_ACCESS | M_PKEY_INDEX},
	[QP_RTR][QP_RTS] = {REQUESTER_RTS, M_CUR_STATE | M_ACCESS},
	[QP_RTS][QP_RTS] = {ALLOWED, M_CUR_STATE | M_ACCESS},
	[QP_RTS][QP_SQD] = {ALLOWED, M_EN_SQD_NOTIFY},
	[QP_SQD][QP_RTS] = {ALLOWED, M_CUR_STATE | M_ACCESS},
	[QP_SQD][QP_SQD] = {ALLOWED, M_PKEY_INDEX | M_PORT | M_AV | M_TIMEOUT | M_RETRY_CNT |
					     M_RNR_RETRY | M_MAX_RD_ATOMIC | M_ACCESS},
};

static state_table xrc_recv = {
	ENDS,
	[QP_RESET][QP_INIT] = {CONNECTED_INIT, 0},
	[QP_INIT][QP_INIT] = {ALLOWED, M_PKEY_INDEX | M_PORT | M_ACCESS},
	[QP_INIT][QP_RTR] = {CONNECTED_RTR | M_MAX_DEST_RD_ATOMIC | M_MIN_RNR_TIMER,
		M_ACCESS | M_PKEY_INDEX},
	[QP_RTR][QP_RTS] = {ALLOWED | M_TIMEOUT | M_SQ_PSN,
		M_CUR_STATE | M_ACCESS | M_MIN_RNR_TIMER},
	[QP_RTS][QP_RTS] = {ALLOWED, M_CUR_STATE | M_ACCESS | M_MIN_RNR_TIMER},
};

/* A DCI is never a responder, so it has no access flags. Each WQE has its own address. */
static state_table dci = {
	ENDS,
	[QP_RESET][QP_INIT] = {ALLOWED | M_PKEY_INDEX | M_PORT, 0},
	[QP_INIT][QP_INIT] = {ALLOWED, M_PKEY_INDEX | M_PORT | FIRMWARE},
	[QP_INIT][QP_RTR] = {ALLOWED | M_PATH_MTU, M_PKEY_INDEX | M_AV},
	[QP_RTR][QP_RTS] = {REQUESTER_RTS, M_MIN_RNR_TIMER},
	[QP_RTS][QP_RTS] = {ALLOWED, M_MIN_RNR_TIMER},
};

/* In the adapter a DCT exists only from RTR on, until it is destroyed. */
static state_table dct = {
	[QP_RESET][QP_INIT] = {CONNECTED_INIT, 0},
	[QP_INIT][QP_RTR] = {ALLOWED | M_MIN_RNR_TIMER | M_AV | M_PATH_MTU, 0},
};

const struct transition *
qp_transition(enum softhca_qp_type type, unsigned int from, unsigned int to)
{
	state_table *table = &rc;

	if (from >= N_STATES || to >= N_STATES)
		return NULL;
	switch (type) {
	case SOFTHCA_QP_RC:
		break;
	case SOFTHCA_QP_UC:
		table = &uc;
		break;
	case SOFTHCA_QP_UD:
		table = &ud;
		break;
	case SOFTHCA_QP_RAW:
		table = &raw;
		break;
	case SOFTHCA_QP_XRC_SEND:
		table = &xrc_send;
		break;
	case SOFTHCA_QP_XRC_RECV:
		table = &xrc_recv;
		break;
	case SOFTHCA_QP_DCI:
		table = &dci;
		break;
	case SOFTHCA_QP_DCT:
		table = &dct;
		break;
	}
	return (*table)[from][to].need == 0 ? NULL : &(*table)[from][to];
}
