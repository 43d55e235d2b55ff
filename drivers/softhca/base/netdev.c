/* SPDX-License-Identifier: BSD-3-Clause */
/* The network interfaces to which the ports are tied. */
#include "netdev.h"

#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "raw.h"

_Static_assert(NETDEV_NAME_MAX == IFNAMSIZ, "a name of the kernel's");

uint32_t
netdev_find(const char *name)
{
	struct ifreq request = {0};
	const int was = errno;
	uint32_t found = 0;
	int fd;

	if (strlen(name) >= sizeof(request.ifr_name))
		return 0;
	strcpy(request.ifr_name, name);
	fd = (int)syscall(SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0) {
		if (raw_ioctl(fd, SIOCGIFINDEX, &request) == 0)
			found = (uint32_t)request.ifr_ifindex;
		close(fd);
	}
	errno = was;
	return found;
}

struct address {
	char name[IFNAMSIZ];
	uint32_t ipv4;
};

#define ADDRESSES_MAX 64

static bool
is_of_network(int fd, const char *name)
{
	struct ifreq request = {0};

	memcpy(request.ifr_name, name, sizeof(request.ifr_name));
	return raw_ioctl(fd, SIOCGIFFLAGS, &request) == 0 &&
	       (request.ifr_flags & (IFF_UP | IFF_LOOPBACK)) == IFF_UP;
}

static unsigned int
list_addresses(struct address list[ADDRESSES_MAX])
{
	struct ifreq found[ADDRESSES_MAX];
	struct ifconf all = {.ifc_len = sizeof(found), .ifc_req = found};
	const int was = errno;
	unsigned int n = 0;
	int fd = (int)syscall(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && raw_ioctl(fd, SIOCGIFCONF, &all) == 0) {
		for (unsigned int i = 0; i < (unsigned int)all.ifc_len / sizeof(found[0]); i++) {
			const struct sockaddr_in *at = (const void *)&found[i].ifr_addr;

			if (!is_of_network(fd, found[i].ifr_name))
				continue;
			memcpy(list[n].name, found[i].ifr_name, IFNAMSIZ);
			list[n++].ipv4 = ntohl(at->sin_addr.s_addr);
		}
	}
	if (fd >= 0)
		close(fd);
	errno = was;
	return n;
}

unsigned int
netdev_addresses(uint32_t *addresses, unsigned int max)
{
	struct address list[ADDRESSES_MAX];
	unsigned int n = list_addresses(list);

	if (n > max)
		n = max;
	for (unsigned int i = 0; i < n; i++)
		addresses[i] = list[i].ipv4;
	return n;
}

uint32_t
netdev_address(const char *name)
{
	struct address list[ADDRESSES_MAX];
	const unsigned int n = list_addresses(list);

	for (unsigned int i = 0; i < n; i++)
		if (strncmp(list[i].name, name, IFNAMSIZ) == 0)
			return list[i].ipv4;
	return 0;
}

bool
netdev_name_in(const char *list, unsigned int n, char name[NETDEV_NAME_MAX])
{
	const char *comma;
	size_t len;

	while (n-- > 0 && (comma = strchr(list, ',')) != NULL)
		list = comma + 1;
	len = strcspn(list, ",");
	if (len == 0 || len >= NETDEV_NAME_MAX)
		return false;
	memcpy(name, list, len);
	name[len] = '\0';
	return true;
}

/*
 * Names with a slash or a comma, and the names "." and "..", need no check: the kernel allows no
 * such names, so no such interface is found.
 */
unsigned int
netdev_count(const char *list)
{
	unsigned int n = 1;

	for (const char *at = list; (at = strchr(at, ',')) != NULL; at++)
		n++;
	for (unsigned int i = 0; i < n; i++) {
		char name[NETDEV_NAME_MAX];

		if (!netdev_name_in(list, i, name) || netdev_find(name) == 0)
			return 0;
	}
	return n;
}

uint32_t
netdev_of(const struct softhca_dev *dev, uint32_t port, char name[NETDEV_NAME_MAX])
{
	const char *list = dev->cfg->netdev;
	uint32_t found = 0;

	name[0] = '\0';
	if (*list != '\0' && netdev_name_in(list, dev->index * dev->cfg->ports + port - 1, name))
		found = netdev_find(name);
	if (found == 0)
		name[0] = '\0';
	return found;
}
