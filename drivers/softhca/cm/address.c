/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses of IPv4 and IPv6. */
#include "address.h"

#include <arpa/inet.h>
#include <string.h>

static const struct sockaddr_in *
as_ipv4(const struct sockaddr_in6 *a)
{
	return (const struct sockaddr_in *)(const void *)a;
}

size_t
address_len(const struct sockaddr_in6 *a)
{
	switch (a->sin6_family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	default:
		return 0;
	}
}

/* Both structs have the port at the same place. */
_Static_assert(offsetof(struct sockaddr_in, sin_port) == offsetof(struct sockaddr_in6, sin6_port),
	"one place for the port");

uint16_t
address_port(const struct sockaddr_in6 *a)
{
	return ntohs(a->sin6_port);
}

void
address_set_port(struct sockaddr_in6 *a, uint16_t port)
{
	a->sin6_port = htons(port);
}

bool
address_is_any(const struct sockaddr_in6 *a)
{
	return a->sin6_family == AF_INET ? as_ipv4(a)->sin_addr.s_addr == htonl(INADDR_ANY)
					 : IN6_IS_ADDR_UNSPECIFIED(&a->sin6_addr);
}

bool
address_is_same(const struct sockaddr_in6 *a, const struct sockaddr_in6 *b)
{
	if (a->sin6_family != b->sin6_family)
		return false;
	if (a->sin6_family == AF_INET)
		return as_ipv4(a)->sin_addr.s_addr == as_ipv4(b)->sin_addr.s_addr;
	return memcmp(&a->sin6_addr, &b->sin6_addr, sizeof(a->sin6_addr)) == 0;
}

void
address_any(struct sockaddr_in6 *a, sa_family_t family)
{
	memset(a, 0, sizeof(*a));
	a->sin6_family = family;
}

void
address_loopback(struct sockaddr_in6 *a, sa_family_t family)
{
	const struct sockaddr_in ipv4 = {.sin_family = AF_INET,
		.sin_port = a->sin6_port,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct sockaddr_in6 ipv6 = {.sin6_family = AF_INET6,
		.sin6_port = a->sin6_port,
		.sin6_addr = IN6ADDR_LOOPBACK_INIT};

	memset(a, 0, sizeof(*a));
	if (family == AF_INET)
		memcpy(a, &ipv4, sizeof(ipv4));
	else
		*a = ipv6;
}

void
address_gid(const struct sockaddr_in6 *a, uint8_t gid[16])
{
	memset(gid, 0, 16);
	if (a->sin6_family == AF_INET) {
		gid[10] = gid[11] = 0xff;
		memcpy(gid + 12, &as_ipv4(a)->sin_addr, 4);
	} else {
		memcpy(gid, &a->sin6_addr, 16);
	}
}
