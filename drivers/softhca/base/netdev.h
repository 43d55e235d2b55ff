/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The network interfaces that the ports are tied to: the setting `netdev`. They belong to the
 * machine; the adapter sends nothing through them.
 *
 *   netdev = eth0,eth1      mlx5_0 port 1: eth0      mlx5_0 port 2, and all ports after it: eth1
 */
#ifndef SOFTHCA_NETDEV_H
#define SOFTHCA_NETDEV_H

#include <stdbool.h>
#include <stdint.h>

#include "dev.h"

#define NETDEV_NAME_MAX 16 /* IFNAMSIZ of linux/if.h, which counts the terminating 0 */

/*
 * The index of an interface in the network namespace of the calling thread: netdevice(7),
 * SIOCGIFINDEX. 0: no interface has this name. Any thread; errno is kept.
 */
uint32_t netdev_find(const char *name);
/* The number of names in the value of the setting. 0: the value is not allowed. */
unsigned int netdev_count(const char *list);
/*
 * Copies the n-th name of a list, or the last name if the list is shorter. False: the name is too
 * long or empty.
 */
bool netdev_name_in(const char *list, unsigned int n, char name[NETDEV_NAME_MAX]);
/*
 * Writes the IPv4 addresses of interfaces that are up, in host order, at most `max`; loopback
 * interfaces are left out: netdevice(7). Returns their number. Any thread; errno is kept.
 */
unsigned int netdev_addresses(uint32_t *addresses, unsigned int max);
/* The first IPv4 address of an interface. 0: it has none. */
uint32_t netdev_address(const char *name);
/*
 * The index and the name of a port's interface; ports are counted from 1. 0: the port is tied to
 * none, or the machine no longer has it; name is then empty. Any thread.
 */
uint32_t netdev_of(const struct softhca_dev *dev, uint32_t port, char name[NETDEV_NAME_MAX]);

#endif
