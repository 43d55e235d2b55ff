/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The address at which two processes meet: HOST:PORT for TCP, or the path of a Unix socket.
 *
 * Functions that return int print the error when they return -1, unless a signal came.
 */
#ifndef TESTGANTRY_PAIR_ADDRESS_H
#define TESTGANTRY_PAIR_ADDRESS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "options.h"

/** Returns true if the text is the path of a Unix socket: "unix:PATH", or a text with a slash. */
bool address_is_path(const char *text);

/**
 * Splits "HOST:PORT" at its last colon, and removes the brackets of an IPv6 address. HOST may be
 * empty. option: the name of the option, for messages. @return 0 or -1.
 */
int address_split(const char *option, const char *text, char host[ADDRESS_LEN],
	char port[ADDRESS_LEN]);

/** A parsed address. */
struct address {
	struct sockaddr_storage sockaddr;
	socklen_t len;
	/** the address as a user writes it; with the port that the kernel has chosen for port 0 */
	char text[ADDRESS_LEN + 8];
};

/**
 * Parses "unix:PATH", a text with a slash (a path), or "HOST:PORT". An IPv6 address is written in
 * brackets. An empty HOST means all addresses of this machine for listening, and this machine for
 * connecting.
 * option: the name of the option, for messages. @return 0 or -1.
 */
int address_parse(const char *option, const char *text, struct address *a);

/**
 * Binds a socket to the address. Until address_accept(), connections are refused. A socket file
 * that an ended process has left is replaced. @return the socket, or -1.
 */
int address_bind(struct address *a);

/**
 * Waits for the first connection whose other end sends a byte. A connection that ends without a
 * byte, or sends no byte for give_up_s seconds, is closed. Some programs connect just to test
 * whether a process listens, as address_bind() does. @return the socket, or -1.
 */
int address_accept(int listener, const struct address *a, uint32_t give_up_s);

/**
 * Connects. Tries again for give_up_s seconds while no process listens. @return the socket, or -1.
 */
int address_connect(const struct address *a, uint32_t give_up_s);

/** Closes a listening socket, and removes its socket file. */
void address_close(int listener, const struct address *a);

#endif
