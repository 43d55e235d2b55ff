/* SPDX-License-Identifier: BSD-3-Clause */
/* One emulated adapter, as both halves see it. */
#ifndef SOFTHCA_DEV_H
#define SOFTHCA_DEV_H

#include <sys/stat.h>

#include "config.h"
#include "hca.h"

struct softhca_lanes; /* lane.c's own: everything the data half keeps for one adapter */

/*
 * The control half creates the adapters when the library is loaded, and calls softhca_lanes_init()
 * before the first object of an adapter is created. The lanes then run until the process ends.
 * A child of fork() gets adapters with lanes == NULL: what the parent's lanes held is abandoned
 * (their threads and locks did not survive), and the next open calls softhca_lanes_init() again.
 */
/* What a port answers to: filled by the control half from caps.c, for those who send to it. */
struct softhca_port {
	uint8_t gid[4][16];
	uint8_t gid_is_v2[4]; /* RoCE v2: the network header on the wire is IP */
	unsigned int n_gids;
	uint16_t lid;
	uint8_t mac[6];
};

struct softhca_dev {
	const struct softhca_config *cfg;
	struct softhca_port port[SOFTHCA_MAX_PORTS]; /* port 1 first */
	unsigned int index; /* mlx5_<index> */
	struct softhca_lanes *lanes;
};

/* The adapters of this process, n of them: what softhca_pump() goes through. */
struct softhca_dev *softhca_devices(unsigned int *n);

/* fstat(2) without the shim: for code that holds a lock which the shim takes. */
int softhca_fstat(int fd, struct stat *st);

/* One line on stderr, "softhca: ...". For errors and state changes; never on a data path. */
void softhca_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
