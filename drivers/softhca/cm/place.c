/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the port of an adapter for which an address stands. */
#include "place.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>

#include "address.h"
#include "dev.h"
#include "devices.h"
#include "netdev.h"
#include "raw.h"

static void
set_place(struct cm_place *place, struct softhca_dev *dev, unsigned int port, unsigned int index)
{
	const struct softhca_port *p = &dev->port[port - 1];

	place->dev = dev;
	place->port = (uint8_t)port;
	place->gid_index = (uint8_t)index;
	memcpy(place->gid, p->gid[index], sizeof(place->gid));
	place->lid = p->lid;
}

/* Returns the index of the last GID of RoCE v2, or 0 if the port has no such GID. */
static unsigned int
default_gid(const struct softhca_port *port)
{
	unsigned int i = port->n_gids;

	while (i-- > 0)
		if (port->gid_is_v2[i])
			return i;
	return 0;
}

/* Sets *index to the GID's index, which is an index of RoCE v2 if the GID has two. */
static bool
has_gid(const struct softhca_port *port, const uint8_t gid[16], unsigned int *index)
{
	bool has = false;

	for (unsigned int i = 0; i < port->n_gids; i++) {
		if (memcmp(port->gid[i], gid, 16) != 0 || (has && !port->gid_is_v2[i]))
			continue;
		*index = i;
		has = true;
	}
	return has;
}

static bool
place_of_gid(const uint8_t gid[16], struct cm_place *place)
{
	unsigned int n, index;
	struct softhca_dev *devs = softhca_devices(&n);

	for (unsigned int i = 0; i < n; i++)
		for (unsigned int port = 1; port <= devs[i].cfg->ports; port++)
			if (has_gid(&devs[i].port[port - 1], gid, &index)) {
				set_place(place, &devs[i], port, index);
				return true;
			}
	return false;
}

/* True if the machine has the address: only then bind(2) takes it (ip(7), ipv6(7)). */
static bool
is_of_machine(const struct sockaddr_in6 *a)
{
	struct sockaddr_in6 any_port = *a;
	const int was = errno, fd = raw_socket(a->sin6_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool is;

	if (fd < 0)
		return false;
	address_set_port(&any_port, 0);
	is = raw_bind(fd, (const struct sockaddr *)&any_port, (socklen_t)address_len(a)) == 0;
	raw_close(fd);
	errno = was;
	return is;
}

/* Writes the name of the interface that has the address. Returns false if there is none. */
static bool
interface_of(const struct sockaddr_in6 *a, char name[NETDEV_NAME_MAX])
{
	struct ifaddrs *all, *at;

	if (getifaddrs(&all) != 0)
		return false;
	for (at = all; at != NULL; at = at->ifa_next) {
		struct sockaddr_in6 of = {0};

		if (at->ifa_addr == NULL || at->ifa_addr->sa_family != a->sin6_family)
			continue;
		memcpy(&of, at->ifa_addr, address_len(a));
		if (address_is_same(&of, a))
			break;
	}
	if (at != NULL) {
		strncpy(name, at->ifa_name, NETDEV_NAME_MAX - 1);
		name[NETDEV_NAME_MAX - 1] = '\0';
	}
	freeifaddrs(all);
	return at != NULL;
}

/* Finds the port that the setting `netdev` ties to the address's interface. */
static bool
place_of_interface(const struct sockaddr_in6 *a, struct cm_place *place)
{
	char of_address[NETDEV_NAME_MAX], of_port[NETDEV_NAME_MAX];
	unsigned int n;
	struct softhca_dev *devs = softhca_devices(&n);

	if (n == 0 || devs[0].cfg->netdev[0] == '\0' || !interface_of(a, of_address))
		return false;
	for (unsigned int i = 0; i < n; i++)
		for (unsigned int port = 1; port <= devs[i].cfg->ports; port++)
			if (netdev_of(&devs[i], port, of_port) != 0 &&
				strcmp(of_port, of_address) == 0) {
				set_place(place, &devs[i], port,
					default_gid(&devs[i].port[port - 1]));
				return true;
			}
	return false;
}

int
address_place(const struct sockaddr_in6 *a, struct cm_place *place)
{
	unsigned int n;
	struct softhca_dev *devs = softhca_devices(&n);
	uint8_t gid[16];

	address_gid(a, gid);
	if (place_of_gid(gid, place))
		return 0;
	if (n == 0 || !is_of_machine(a))
		return -EADDRNOTAVAIL;
	if (!place_of_interface(a, place))
		set_place(place, &devs[0], 1, default_gid(&devs[0].port[0]));
	return 0;
}
