/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Builds netlink messages in a datagram, and parses the attributes of a request.
 *
 *   | nlmsghdr | attr | attr | nest | attr | attr | nlmsghdr | ...
 *
 * The length of each attribute and of each message is a multiple of 4 bytes.
 *
 * If an item does not fit into the datagram, `full` is set, and no more items are written.
 */
#ifndef SOFTHCA_NETLINK_MESSAGE_H
#define SOFTHCA_NETLINK_MESSAGE_H

#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/rdma_netlink.h>

#include "netlink.h"

struct datagram {
	_Alignas(8) uint8_t bytes[NETLINK_DATAGRAM_MAX];
	size_t len;
	bool full;
};

/* Header fields for the messages of an answer. */
struct reply {
	uint16_t type, flags;
	uint32_t seq, port;
};

/* Begins a message. Returns its offset, for message_end() and message_cancel(). */
size_t message_begin(struct datagram *d, const struct reply *reply);
void message_end(struct datagram *d, size_t begin);
/* Removes all bytes from offset `begin` on, and clears `full`. */
void message_cancel(struct datagram *d, size_t begin);

void put_bytes(struct datagram *d, const void *data, size_t len); /* writes no attribute header */
void put_u8(struct datagram *d, uint16_t type, uint8_t value);
void put_u32(struct datagram *d, uint16_t type, uint32_t value);
void put_u64(struct datagram *d, uint16_t type, uint64_t value);
void put_data(struct datagram *d, uint16_t type, const void *data, size_t len);
void put_string(struct datagram *d, uint16_t type, const char *value);
size_t nest_begin(struct datagram *d, uint16_t type);
void nest_end(struct datagram *d, size_t begin);

/* The attributes of a request, indexed by type. Unknown types are ignored. */
struct attributes {
	const struct nlattr *of[RDMA_NLDEV_ATTR_MAX];
};

/* Returns 0, or -EINVAL if an attribute ends beyond the message or is too short for its type. */
int attributes_parse(const struct nlmsghdr *request, struct attributes *attrs);
/* Returns the value, or -1 if the request lacks the attribute. */
int64_t attribute_u32(const struct attributes *attrs, unsigned int type);
/* Returns the text, or NULL if the request lacks the attribute. */
const char *attribute_string(const struct attributes *attrs, unsigned int type);

#endif
