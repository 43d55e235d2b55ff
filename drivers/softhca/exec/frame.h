/* SPDX-License-Identifier: BSD-3-Clause */
/* The IP, TCP and UDP headers of Ethernet frames. */
#ifndef SOFTHCA_FRAME_H
#define SOFTHCA_FRAME_H

#include <stdbool.h>
#include <stdint.h>

enum {
	PROTO_TCP = 6,
	PROTO_UDP = 17
};

/*
 * Offsets of a frame's headers. l3 is 0 if there is no IP header; proto is 0 if there is neither
 * TCP nor UDP.
 */
struct layers {
	unsigned int l3, l4, proto;
	bool v6;
};

struct layers frame_layers(const uint8_t *p, unsigned int len);
/* Writes the IPv4 header's checksum; does nothing if there is no IPv4 header. */
void frame_put_l3_checksum(uint8_t *p, const struct layers *at);
/*
 * Writes the checksum of TCP or UDP into a frame of len bytes. The checksum covers the bytes that
 * the IP header counts. Does nothing if the IP header counts too few bytes for a TCP or UDP header.
 */
void frame_put_l4_checksum(uint8_t *p, unsigned int len, const struct layers *at);

#endif
