/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The network interfaces that the ports are tied to: the setting `netdev`. They are the machine's
 * own; the adapter sends nothing through them.
 *
 *   netdev = eth0,eth1      mlx5_0 port 1: eth0      mlx5_0 port 2, and all ports behind it: eth1
 */
#ifndef SOFTHCA_NETDEV_H
#define SOFTHCA_NETDEV_H

#include <stdbool.h>
#include <stdint.h>

#include "dev.h"

#define NETDEV_NAME_MAX 16 /* IFNAMSIZ of linux/if.h: with the 0 at its end */

/*
 * The number of an interface in the network namespace of the calling thread: netdevice(7),
 * SIOCGIFINDEX. 0: there is none of that name. Any thread; errno stays.
 */
uint32_t netdev_find(const char *name);
/* How many names a list has that the setting may have. 0: it may not have it. */
unsigned int netdev_count(const char *list);
/*
 * Copies the name number `n` of a list; behind its end, the last one. False: it is too long, or
 * empty.
 */
bool netdev_name_in(const char *list, unsigned int n, char name[NETDEV_NAME_MAX]);
/*
 * IPv4 addresses of interfaces that are up, in host order, without those of loopback interfaces:
 * netdevice(7). Returns how many there are, `max` at most. Any thread; errno stays.
 */
unsigned int netdev_addresses(uint32_t *addresses, unsigned int max);
/* The first of them that an interface has; 0: it has none. */
uint32_t netdev_address(const char *name);
/*
 * The interface of a port, counted from 1: its name, and its number. 0: the port has none, or the
 * machine has it no more; the name is then empty. Any thread.
 */
uint32_t netdev_of(const struct softhca_dev *dev, uint32_t port, char name[NETDEV_NAME_MAX]);

#endif
