/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The settings of the emulated adapter (doc/softhca-settings.md). They are read once and do not
 * change after that.
 */
#ifndef SOFTHCA_CONFIG_H
#define SOFTHCA_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOFTHCA_MAX_DEVICES 8
#define SOFTHCA_MAX_PORTS   2
#define SOFTHCA_LAG_PORTS   2 /* number of ports of a bond */
#define SOFTHCA_MAX_THREADS 16

enum softhca_link_layer {
	SOFTHCA_LINK_INFINIBAND = 1,
	SOFTHCA_LINK_ETHERNET = 2
};

#define SOFTHCA_KEK_MAX        32 /* maximum of bytes of a KEK: AES-256 */
#define SOFTHCA_CREDENTIAL_LEN 40

/* The kinds of encryption with AES-XTS. */
enum softhca_crypto {
	SOFTHCA_CRYPTO_OFF,
	SOFTHCA_CRYPTO_PLAINTEXT, /* programs send DEKs in plaintext */
	/* as PLAINTEXT, but a key encrypts at most one data unit */
	SOFTHCA_CRYPTO_PLAINTEXT_SINGLE,
	SOFTHCA_CRYPTO_WRAPPED /* programs send DEKs wrapped, after a login */
};

/* The keys that other functions of the card may use. */
enum softhca_cross_vhca {
	SOFTHCA_CROSS_VHCA_OFF,    /* none: the capability bits are 0 */
	SOFTHCA_CROSS_VHCA_DIRECT, /* keys over DEVX user memory */
	SOFTHCA_CROSS_VHCA_ANY     /* also indirect keys */
};

/* Whether messages reach queue pairs of other processes. */
enum softhca_wire {
	SOFTHCA_WIRE_OFF,
	SOFTHCA_WIRE_ON,
	/* for tests: as ON, but messages within a process also go through a socket */
	SOFTHCA_WIRE_LOOP
};

struct softhca_config {
	char like[256];   /* card profile: process/card_profile.h; empty: no profile */
	uint32_t part_id; /* PCI device id */
	uint32_t fw_major, fw_minor, fw_sub;
	uint32_t link_layer; /* enum softhca_link_layer, with the numbers of verbs */
	uint32_t devices, ports;
	/* this number of consecutive adapters are functions of one card */
	uint32_t functions;
	uint32_t cross_vhca; /* enum softhca_cross_vhca */
	uint32_t lag;        /* 1: the port represents two bonded ports */
	/* number of device threads of each adapter; 0: only softhca_pump() runs the adapter */
	uint32_t threads;
	/* 1: the adapter exists also if there is a real mlx5 device, and this device is hidden. */
	uint32_t force;
	/* 1: a queue that is alone on its UAR page runs only WQEs that a doorbell announced. */
	uint32_t strict_doorbells;
	uint32_t bf_reg_size; /* bytes of a BlueFlame register; 0: no BlueFlame */
	uint32_t odp;         /* 1: on-demand paging */
	/*
	 * Features of the card: DEVX, DC, block signatures, and queues that stop at a wrong
	 * signature. 0: the card lacks the feature.
	 */
	uint32_t devx, dc, signatures, sig_pipelining;
	uint32_t max_dm;    /* bytes of device memory, in whole pages; 0: no device memory */
	uint32_t dm_zeroed; /* 0: new device memory is not zeroed */
	/*
	 * 1: only queue pairs that request DMA MMO may use it; 0: each reliable queue pair may use
	 * it
	 */
	uint32_t mmo_qp;
	uint64_t max_memcpy; /* maximum of bytes of one DMA MMO memcpy, a power of two; 0: no MMO */
	/* index of the first adapter with MMO; adapters before it have no MMO */
	uint32_t mmo_from;
	uint64_t max_mr_size; /* bytes */
	uint32_t max_srq;
	uint32_t max_qp, max_cq, max_mr, max_pd, max_ah;
	uint32_t max_cqe;   /* maximum of entries of one CQ */
	uint32_t max_qp_wr; /* maximum of WQEBBs of a send queue, and of WQEs of a receive queue */
	uint32_t max_sge;
	uint32_t crypto; /* enum softhca_crypto */
	/*
	 * Hexadecimal digits, for CRYPTO_WRAPPED: the KEK that wraps DEKs and credentials, and the
	 * credential.
	 */
	char crypto_kek[2 * SOFTHCA_KEK_MAX + 1];
	char crypto_credential[2 * SOFTHCA_CREDENTIAL_LEN + 1];
	uint32_t eth_inline; /* 1: raw frames must have their MAC headers inline */
	/* Names of network interfaces, one for each port: netdev.h. Empty: no interface. */
	char netdev[256];
	uint32_t gid_ipv4; /* IPv4 address of the first port; 0: not set */
	/* The IPv4 address in the GIDs of each port of each adapter, in host order. */
	uint32_t port_ipv4[SOFTHCA_MAX_DEVICES][SOFTHCA_MAX_PORTS];
	char capture[256];           /* path of the file for raw frames; empty: no file */
	uint32_t memic_test_and_set; /* value to which test-and-set sets a byte of device memory */
	/* maximum of RDMA reads and atomics in flight, in each direction */
	uint32_t max_rd_atomic;
	/* The timing model: timing.c. If all are 0, it is off. */
	uint32_t doorbell_ns, latency_ns, round_trip_ns, bandwidth_mbps;
	/*
	 * Seed that chooses before which WQE a send queue stops after a wrong signature:
	 * exec/sq_sigstop.h; 0: the queue stops right after the WQE whose signature was wrong.
	 */
	uint32_t sig_stop;
	uint32_t log_faults; /* 1: log each fault when it is applied */
	/*
	 * seed for the order in which bytes move: exec/order.h; 0: bytes move in the order of
	 * posting
	 */
	uint32_t reorder;
	uint32_t wire;       /* enum softhca_wire */
	uint32_t wire_users; /* 1: processes of other users are also peers */
	/*
	 * Limits for messages between two processes through a key with signatures or encryption.
	 * wire_message: most bytes of one message. wire_bytes: most bytes of all such messages of
	 * an adapter, at least wire_message.
	 */
	uint64_t wire_message, wire_bytes;
	/* maximum of ms for all retries to an absent peer; 0: as timeout and retry_cnt say */
	uint32_t retry_max_ms;
	/* ms until the connection manager gives up a request that nobody answers */
	uint32_t cm_retry_ms;
};

#endif
