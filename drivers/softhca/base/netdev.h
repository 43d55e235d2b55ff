/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The network interfaces to which the ports are tied: the setting `netdev`. They belong to the
 * machine; the adapter sends no packets through them.
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
 * Returns the index of an interface in the network namespace of the calling thread (netdevice(7),
 * SIOCGIFINDEX), or 0 if no interface has this name. Any thread may call it; errno does not change.
 */
uint32_t netdev_find(const char *name);
/* Returns the number of names in the value of the setting, or 0 if the value is not allowed. */
unsigned int netdev_count(const char *list);
/*
 * Copies the n-th name of a list, or the last name if the list is shorter. Returns false if the
 * name is too long or empty.
 */
bool netdev_name_in(const char *list, unsigned int n, char name[NETDEV_NAME_MAX]);
/*
 * Writes the IPv4 addresses of interfaces that are up, in host order, at most `max` addresses.
 * Loopback interfaces are left out: netdevice(7). Returns the number of addresses. Any thread may
 * call it; errno does not change.
 */
unsigned int netdev_addresses(uint32_t *addresses, unsigned int max);
/* Returns the first IPv4 address of an interface, or 0 if the interface has no address. */
uint32_t netdev_address(const char *name);
/*
 * Returns the index of a port's interface, and writes the interface's name. Ports are counted from
 * 1. Returns 0 with an empty name if the port is not tied to an interface, or if the machine no
 * longer has the interface. Any thread may call it.
 */
uint32_t netdev_of(const struct softhca_dev *dev, uint32_t port, char name[NETDEV_NAME_MAX]);

#endif
