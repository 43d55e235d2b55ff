/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RDMA netlink: the answers that rdma(8) and libibverbs' discovery expect of the kernel's ib_core.
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

/* The largest datagram of an answer, in bytes. Programs read into a buffer of at least a page. */
#define NETLINK_DATAGRAM_MAX 3584

struct nldev_command;

/* The program's end of one netlink socket. The caller serializes the calls on one peer. */
struct netlink_peer {
	uint32_t port;        /* nl_pid of the program's socket */
	bool cap_ack;         /* NETLINK_CAP_ACK: an error does not repeat the request */
	const char *counters; /* the file with the ports' counters; NULL: no file */
	/* Queues one datagram for the program. False: there is no room now. */
	bool (*queue)(struct netlink_peer *peer, const void *datagram, size_t len);

	/* The dump in progress. */
	const struct nldev_command *dump; /* NULL: none */
	uint16_t type;                    /* nlmsg_type of its request */
	uint32_t seq;
	int64_t dev_index, port_index; /* -1: the request has none */
	uint32_t next;                 /* the first item not yet sent */
	bool dumped;                   /* only the end of the dump is not yet sent */
	int result;                    /* of the dump: 0 or -errno */
};

/*
 * Answers a datagram of requests. A message with a wrong length ends the datagram without an
 * answer, as in the kernel.
 */
void netlink_request(struct netlink_peer *peer, const void *datagram, size_t len);
/*
 * Queues more of the dump in progress, if there is one. Call it after the program has read a
 * datagram.
 */
void netlink_continue(struct netlink_peer *peer);

#endif
