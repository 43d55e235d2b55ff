/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses. An address is a struct sockaddr_in or a struct sockaddr_in6, in the room of the larger
 * one, as in the ABI (rdma_user_cm.h).
 */
#ifndef SOFTHCA_CM_ADDRESS_H
#define SOFTHCA_CM_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the bytes of an address, or 0 if its family is neither AF_INET nor AF_INET6. */
size_t address_len(const struct sockaddr_in6 *a);
/* The port number, in host byte order. */
uint16_t address_port(const struct sockaddr_in6 *a);
void address_set_port(struct sockaddr_in6 *a, uint16_t port);
bool address_is_any(const struct sockaddr_in6 *a);
/* True if both addresses are equal, without regard to the port number. */
bool address_is_same(const struct sockaddr_in6 *a, const struct sockaddr_in6 *b);
/* Writes the wildcard address or the loopback address of a family. */
void address_any(struct sockaddr_in6 *a, sa_family_t family);
void address_loopback(struct sockaddr_in6 *a, sa_family_t family);
/* The GID of an address: RFC 4291, section 2.5.5.2 for IPv4. */
void address_gid(const struct sockaddr_in6 *a, uint8_t gid[16]);

#endif
