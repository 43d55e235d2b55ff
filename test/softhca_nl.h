/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A netlink client: sends one request, and reads answers and their attributes. It uses only the
 * kernel's headers, uapi linux/netlink.h and rdma/rdma_netlink.h.
 */
#ifndef SOFTHCA_NL_H
#define SOFTHCA_NL_H

#include <linux/netlink.h>
#include <sys/socket.h>

#include <rdma/rdma_netlink.h>

#include "check.h"

#define NL_ROOM 8192

/* The request that is being written. */
struct nl_request {
	_Alignas(8) uint8_t bytes[1024];
	size_t len;
};

/* One datagram of an answer, and the position of reading. */
struct nl_answer {
	_Alignas(8) uint8_t bytes[NL_ROOM];
	size_t len, at;
};

static inline int
nl_open(void)
{
	const struct sockaddr_nl any = {.nl_family = AF_NETLINK};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);

	CHECK(fd >= 0);
	CHECK_EQ(bind(fd, (const struct sockaddr *)&any, sizeof(any)), 0);
	return fd;
}

static inline void
nl_begin(struct nl_request *r, unsigned int op, unsigned int flags, uint32_t seq)
{
	const struct nlmsghdr header = {.nlmsg_len = sizeof(header),
		.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, op),
		.nlmsg_flags = NLM_F_REQUEST | flags,
		.nlmsg_seq = seq};

	memset(r, 0, sizeof(*r));
	memcpy(r->bytes, &header, sizeof(header));
	r->len = sizeof(header);
}

static inline void
nl_add(struct nl_request *r, unsigned int type, const void *value, size_t len)
{
	const struct nlattr attr = {.nla_len = NLA_HDRLEN + len, .nla_type = type};
	struct nlmsghdr *header = (struct nlmsghdr *)r->bytes;

	memcpy(r->bytes + r->len, &attr, sizeof(attr));
	memcpy(r->bytes + r->len + NLA_HDRLEN, value, len);
	r->len += NLA_ALIGN(NLA_HDRLEN + len);
	header->nlmsg_len = r->len;
}

static inline void
nl_add_u32(struct nl_request *r, unsigned int type, uint32_t value)
{
	nl_add(r, type, &value, sizeof(value));
}

static inline void
nl_send(int fd, const struct nl_request *r)
{
	CHECK_EQ(send(fd, r->bytes, r->len, 0), r->len);
}

/* Reads the next datagram. False: there is none. */
static inline bool
nl_recv(int fd, struct nl_answer *a)
{
	ssize_t n = recv(fd, a->bytes, sizeof(a->bytes), MSG_DONTWAIT);

	a->at = 0;
	a->len = n < 0 ? 0 : (size_t)n;
	CHECK(n >= 0 || errno == EAGAIN);
	return n >= 0;
}

/* The next message of the datagram, or NULL after the last one. Checks its length. */
static inline const struct nlmsghdr *
nl_next(struct nl_answer *a)
{
	const struct nlmsghdr *header = (const struct nlmsghdr *)(a->bytes + a->at);

	if (a->at == a->len)
		return NULL;
	CHECK(a->len - a->at >= sizeof(*header));
	CHECK(header->nlmsg_len >= sizeof(*header) && header->nlmsg_len <= a->len - a->at);
	a->at += NLMSG_ALIGN(header->nlmsg_len);
	CHECK(a->at <= a->len);
	return header;
}

/* The attribute of this type in [p, p + len), or NULL. Checks the lengths of all attributes. */
static inline const struct nlattr *
nl_find(const void *from, size_t len, unsigned int type)
{
	const struct nlattr *found = NULL;
	const uint8_t *p = (const uint8_t *)from;

	while (len > 0) {
		const struct nlattr *attr = (const struct nlattr *)p;

		CHECK(len >= NLA_HDRLEN && attr->nla_len >= NLA_HDRLEN && attr->nla_len <= len);
		if ((attr->nla_type & NLA_TYPE_MASK) == type)
			found = attr;
		p += NLA_ALIGN(attr->nla_len);
		len -= NLA_ALIGN(attr->nla_len);
	}
	return found;
}

static inline const struct nlattr *
nl_attr(const struct nlmsghdr *header, unsigned int type)
{
	return nl_find((const uint8_t *)header + NLMSG_HDRLEN, header->nlmsg_len - NLMSG_HDRLEN,
		type);
}

static inline uint64_t
nl_number(const struct nlattr *attr, size_t len)
{
	uint64_t value = 0;

	CHECK(attr != NULL);
	CHECK_EQ(attr->nla_len, NLA_HDRLEN + len);
	memcpy(&value, (const uint8_t *)attr + NLA_HDRLEN, len); /* little endian */
	return value;
}

static inline const char *
nl_text(const struct nlattr *attr)
{
	const char *text = (const char *)attr + NLA_HDRLEN;

	CHECK(attr != NULL);
	CHECK_EQ(strlen(text) + 1, attr->nla_len - NLA_HDRLEN);
	return text;
}

/* Sends a request whose answer is one message, and reads the answer. */
static inline const struct nlmsghdr *
nl_ask(int fd, const struct nl_request *r, struct nl_answer *a)
{
	const struct nlmsghdr *sent = (const struct nlmsghdr *)r->bytes, *got;

	nl_send(fd, r);
	CHECK(nl_recv(fd, a));
	got = nl_next(a);
	CHECK(got != NULL && nl_next(a) == NULL);
	CHECK_EQ(got->nlmsg_seq, sent->nlmsg_seq);
	return got;
}

/*
 * As nl_ask(), for a request whose answer is an error. Returns its errno; 0 for an acknowledgement.
 */
static inline int
nl_error(int fd, const struct nl_request *r)
{
	struct nl_answer a;
	const struct nlmsghdr *got = nl_ask(fd, r, &a);
	int error;

	CHECK_EQ(got->nlmsg_type, NLMSG_ERROR);
	memcpy(&error, (const uint8_t *)got + NLMSG_HDRLEN, sizeof(error));
	return -error;
}

#endif
