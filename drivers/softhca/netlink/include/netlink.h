/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RDMA netlink: the answers that rdma(8) and libibverbs' discovery expect from the kernel's
 * ib_core.
 *
 *   datagram of requests --> netlink_request() --> peer->queue(), for each datagram of the answer
 *                            netlink_continue() -> the rest of a dump, when there is room again
 *
 * Sources: netlink(7), uapi linux/netlink.h and rdma/rdma_netlink.h, and the kernel's
 * drivers/infiniband/core/{netlink,nldev}.c for the attributes of each answer.
 */
#ifndef SOFTHCA_NETLINK_H
#define SOFTHCA_NETLINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The maximum length of a datagram of an answer, in bytes. Programs read into a buffer of at least
 * a page.
 */
#define NETLINK_DATAGRAM_MAX 3584

struct nldev_command;

/* A netlink socket of the program. The caller serializes the calls on one peer. */
struct netlink_peer {
	uint32_t port;        /* nl_pid of the program's socket */
	bool cap_ack;         /* NETLINK_CAP_ACK: an error does not repeat its request */
	const char *counters; /* path of the file with the ports' counters, or NULL */
	/* Queues one datagram for the program. Returns false if the socket is full. */
	bool (*queue)(struct netlink_peer *peer, const void *datagram, size_t len);

	/* State of the dump in progress. */
	const struct nldev_command *dump; /* command of the dump, or NULL if there is no dump */
	uint16_t type;                    /* nlmsg_type of the request */
	uint32_t seq;
	int64_t dev_index, port_index; /* -1: the request has no such index */
	uint32_t next;                 /* number of the first item that was not sent yet */
	/* all items were sent; only the end of the dump was not sent yet */
	bool dumped;
	int result; /* result of the dump: 0 or -errno */
};

/*
 * Answers a datagram of requests. If a message has a wrong length, this message and those after it
 * get no answer, as in the kernel.
 */
void netlink_request(struct netlink_peer *peer, const void *datagram, size_t len);
/*
 * Queues more datagrams of the dump in progress, if there is a dump. Call this after the program
 * has read a datagram.
 */
void netlink_continue(struct netlink_peer *peer);

#endif
