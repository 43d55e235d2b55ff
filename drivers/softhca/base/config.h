/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The settings of the emulated adapter (doc/softhca-reference.md). They are read once and then stay
 * constant.
 */
#ifndef SOFTHCA_CONFIG_H
#define SOFTHCA_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOFTHCA_MAX_DEVICES 8
#define SOFTHCA_MAX_PORTS   2
#define SOFTHCA_LAG_PORTS   2 /* ports of a bond */
#define SOFTHCA_MAX_THREADS 16

enum softhca_link_layer {
	SOFTHCA_LINK_INFINIBAND = 1,
	SOFTHCA_LINK_ETHERNET = 2
};

#define SOFTHCA_KEK_MAX        32 /* bytes: AES-256 */
#define SOFTHCA_CREDENTIAL_LEN 40

/* Encryption with AES-XTS. */
enum softhca_crypto {
	SOFTHCA_CRYPTO_OFF,
	SOFTHCA_CRYPTO_PLAINTEXT, /* DEKs come in plaintext */
	/* as PLAINTEXT, but a key encrypts at most one data unit */
	SOFTHCA_CRYPTO_PLAINTEXT_SINGLE,
	SOFTHCA_CRYPTO_WRAPPED /* DEKs come wrapped, after a login */
};

struct softhca_config {
	char like[256];   /* the card profile: process/card_profile.h; empty: none */
	uint32_t part_id; /* PCI device id */
	uint32_t fw_major, fw_minor, fw_sub;
	uint32_t link_layer; /* enum softhca_link_layer: the numbers of verbs */
	uint32_t devices, ports;
	uint32_t lag;     /* 1: the port stands for two bonded ports */
	uint32_t threads; /* device threads of each adapter; 0: softhca_pump() only */
	/* 1: come up although there is a real mlx5 device, and hide that device */
	uint32_t force;
	/* 1: a queue on a UAR of its own runs only what a doorbell announced */
	uint32_t strict_doorbells;
	uint32_t bf_reg_size; /* bytes; 0: no BlueFlame */
	uint32_t odp;         /* 1: on-demand paging */
	/*
	 * 0: the card lacks DEVX, DC, block signatures, or queues that stop at a wrong signature.
	 */
	uint32_t devx, dc, signatures, sig_pipelining;
	uint32_t max_dm;     /* bytes of device memory, whole pages; 0: none */
	uint32_t dm_zeroed;  /* 0: new device memory is not zeroed */
	uint32_t mmo_qp;     /* 1: a queue pair must ask for DMA MMO; 0: each reliable one has it */
	uint64_t max_memcpy; /* bytes of one DMA MMO memcpy, a power of two; 0: no MMO */
	uint32_t mmo_from;   /* the first adapter with MMO: adapters before it have none */
	uint64_t max_mr_size; /* bytes */
	uint32_t max_srq;
	uint32_t max_qp, max_cq, max_mr, max_pd, max_ah;
	uint32_t max_cqe;   /* entries of one CQ */
	uint32_t max_qp_wr; /* WQEBBs of a send queue, work requests of a receive queue */
	uint32_t max_sge;
	uint32_t crypto; /* enum softhca_crypto */
	/*
	 * Hexadecimal digits, for CRYPTO_WRAPPED: the key that wraps DEKs and credentials, and the
	 * credential.
	 */
	char crypto_kek[2 * SOFTHCA_KEK_MAX + 1];
	char crypto_credential[2 * SOFTHCA_CREDENTIAL_LEN + 1];
	uint32_t eth_inline; /* 1: raw frames need their MAC headers inline */
	/* names of network interfaces, one for each port: netdev.h; empty: none */
	char netdev[256];
	uint32_t gid_ipv4; /* IPv4 address of the first port; 0: not set */
	/* The IPv4 address in the GIDs of each port of each adapter, in host order. */
	uint32_t port_ipv4[SOFTHCA_MAX_DEVICES][SOFTHCA_MAX_PORTS];
	char capture[256];           /* path of the file for raw frames; empty: none */
	uint32_t memic_test_and_set; /* the byte that test-and-set leaves in device memory */
	uint32_t max_rd_atomic;      /* RDMA reads and atomics in flight, each direction */
	/* The timing model: timing.c. All 0: off. */
	uint32_t doorbell_ns, latency_ns, round_trip_ns, bandwidth_mbps;
	/* seed of the place where a queue stops: exec/sq_sigstop.h; 0: as early as it can */
	uint32_t sig_stop;
	uint32_t log_faults; /* 1: log each fault that strikes */
	uint32_t reorder;    /* seed of the order in which bytes move: exec/order.h; 0: as posted */
};

#endif
