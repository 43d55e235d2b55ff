/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses of peers. */
#ifndef HWQ_ADDR_H
#define HWQ_ADDR_H

#include "hwq_qp.h"

struct ibv_ah_attr;

/*
 * Checks that a peer can be reached from the port. @return 0, or -errno after a log line. what: the
 * attempted action, for the log line.
 */
int hwq_addr_check(const struct hwq_dev_port *port, const struct hwq_addr *remote,
	const char *what);
/* Writes the address of a queue pair at the port, without QPN and PSN. */
void hwq_addr_of_port(const struct hwq_dev_port *port, const struct hwq_path *path,
	const struct hwq_dev_caps *caps, struct hwq_addr *addr);
/* Fills the attributes of an address handle for the path from the port to a peer. */
void hwq_addr_to_ah(const struct hwq_dev_port *port, const struct hwq_addr *remote,
	struct ibv_ah_attr *ah);

#endif
