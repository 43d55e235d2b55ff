/* SPDX-License-Identifier: BSD-3-Clause */
/* The fields of a queue pair's context in firmware commands, as bit offsets in the context. */
#ifndef SOFTHCA_DEVX_QPC_H
#define SOFTHCA_DEVX_QPC_H

enum devx_qpc {
	QPC_AT = 0xc0, /* offset of the context, in every command that has a context */
	QPC_LEN = 0x740,
	QPC_STATE = 0,       /* 4 bits */
	QPC_LAG_PORT = 0x04, /* 4 bits: lag_tx_port_affinity */
	QPC_ST = 0x08,       /* 8 bits: enum devx_service */
	QPC_DRAIN_SIGERR = 0x25,
	QPC_PD = 0x28,             /* 24 bits */
	QPC_MTU = 0x40,            /* 3 bits */
	QPC_LOG_RQ_SIZE = 0x49,    /* 4 bits */
	QPC_LOG_RQ_STRIDE = 0x4d,  /* 3 bits: stride in units of 16 bytes */
	QPC_NO_SQ = 0x50,          /* 1 bit */
	QPC_LOG_SQ_SIZE = 0x51,    /* 4 bits: size in units of 64 bytes */
	QPC_COUNTER_SET = 0x60,    /* 8 bits */
	QPC_UAR_PAGE = 0x68,       /* 24 bits */
	QPC_SEND_DBR_MODE = 0x80,  /* 2 bits: enum devx_dbr_mode */
	QPC_USER_INDEX = 0x88,     /* 24 bits */
	QPC_REMOTE_QPN = 0xa8,     /* 24 bits */
	QPC_PATH = 0xc0,           /* primary path: enum devx_ads */
	QPC_LOG_SRA_MAX = 0x388,   /* 3 bits */
	QPC_RETRY_COUNT = 0x38d,   /* 3 bits */
	QPC_RNR_RETRY = 0x390,     /* 3 bits */
	QPC_NEXT_SEND_PSN = 0x3c8, /* 24 bits */
	QPC_LOG_STREAMS = 0x3e3,   /* 5 bits: number of concurrent streams of a DCI */
	QPC_CQN_SND = 0x3e8,       /* 24 bits */
	QPC_LOG_ERRORED = 0x403,   /* 5 bits: limit for the number of streams in error */
	QPC_LOG_RRA_MAX = 0x488,   /* 3 bits */
	QPC_RRE = 0x490,
	QPC_RWE = 0x491,
	QPC_RAE = 0x492,
	QPC_MIN_RNR = 0x4a3,      /* 5 bits */
	QPC_NEXT_RCV_PSN = 0x4a8, /* 24 bits */
	QPC_CQN_RCV = 0x4e8,      /* 24 bits */
	QPC_DBR_ADDR = 0x500,     /* 64 bits */
	QPC_QKEY = 0x540,         /* 32 bits */
	QPC_RQ_TYPE = 0x565,      /* 3 bits: enum devx_rq_type */
	QPC_SRQN = 0x568,         /* 24 bits */
	QPC_HW_SQ_WQEBB = 0x5a0,  /* 16 bits */
	QPC_DBR_UMEM_ID = 0x720   /* 32 bits */
};

enum devx_service {
	QPC_ST_RC = 0,
	QPC_ST_UC = 1,
	QPC_ST_UD = 2,
	QPC_ST_XRC = 3,
	QPC_ST_DCI = 5
};

/* How the program announces the send counter to the device. */
enum devx_dbr_mode {
	QPC_DBR_RECORD = 0,  /* in the doorbell record */
	QPC_DBR_NONE_EXT = 1 /* only by the doorbell */
};

enum devx_rq_type {
	QPC_RQ_REGULAR = 0,
	QPC_RQ_SRQ = 1,
	QPC_RQ_ZERO = 3 /* no receive queue */
};

/* Bit offsets in an address path. */
enum devx_ads {
	ADS_LOOPBACK = 0x00,    /* 1 bit */
	ADS_PKEY_INDEX = 0x10,  /* 16 bits */
	ADS_GRH = 0x28,         /* 1 bit */
	ADS_RLID = 0x30,        /* 16 bits */
	ADS_ACK_TIMEOUT = 0x40, /* 5 bits */
	ADS_SGID_INDEX = 0x48,  /* 8 bits */
	ADS_HOP_LIMIT = 0x58,   /* 8 bits */
	ADS_TCLASS = 0x64,      /* 8 bits */
	ADS_RGID = 0x80,        /* 128 bits */
	ADS_UDP_SPORT = 0x110,  /* 16 bits */
	ADS_SL = 0x124,         /* 4 bits */
	ADS_PORT = 0x128,       /* 8 bits */
	ADS_RMAC = 0x130        /* 48 bits */
};

#endif
