/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds netlink messages, and parses requests. */
#include "nl_message.h"

#include <errno.h>
#include <string.h>

#define ALIGNED(len) (((len) + 3) & ~(size_t)3)

/* ---------------------------------------------------------------- building */

/* Reserves len bytes, filled with zeros. Returns NULL if the datagram has no room. */
static void *
take(struct datagram *d, size_t len)
{
	void *p = d->bytes + d->len;

	if (d->full || ALIGNED(len) > sizeof(d->bytes) - d->len) {
		d->full = true;
		return NULL;
	}
	memset(p, 0, ALIGNED(len));
	d->len += ALIGNED(len);
	return p;
}

size_t
message_begin(struct datagram *d, const struct reply *reply)
{
	const size_t begin = d->len;
	struct nlmsghdr *header = take(d, sizeof(*header));

	if (header != NULL)
		*header = (struct nlmsghdr){.nlmsg_type = reply->type,
			.nlmsg_flags = reply->flags,
			.nlmsg_seq = reply->seq,
			.nlmsg_pid = reply->port};
	return begin;
}

void
message_end(struct datagram *d, size_t begin)
{
	const uint32_t len = (uint32_t)(d->len - begin);

	if (!d->full)
		memcpy(d->bytes + begin + offsetof(struct nlmsghdr, nlmsg_len), &len, sizeof(len));
}

void
message_cancel(struct datagram *d, size_t begin)
{
	d->len = begin;
	d->full = false;
}

void
put_bytes(struct datagram *d, const void *data, size_t len)
{
	void *p = take(d, len);

	if (p != NULL)
		memcpy(p, data, len);
}

static void
put(struct datagram *d, uint16_t type, const void *value, size_t len)
{
	const struct nlattr attr = {.nla_len = (uint16_t)(NLA_HDRLEN + len), .nla_type = type};
	uint8_t *p = take(d, attr.nla_len);

	if (p == NULL)
		return;
	memcpy(p, &attr, sizeof(attr));
	if (len != 0)
		memcpy(p + NLA_HDRLEN, value, len);
}

void
put_u8(struct datagram *d, uint16_t type, uint8_t value)
{
	put(d, type, &value, sizeof(value));
}

void
put_u32(struct datagram *d, uint16_t type, uint32_t value)
{
	put(d, type, &value, sizeof(value));
}

void
put_u64(struct datagram *d, uint16_t type, uint64_t value)
{
	put(d, type, &value, sizeof(value));
}

void
put_data(struct datagram *d, uint16_t type, const void *data, size_t len)
{
	put(d, type, data, len);
}

void
put_string(struct datagram *d, uint16_t type, const char *value)
{
	put(d, type, value, strlen(value) + 1);
}

size_t
nest_begin(struct datagram *d, uint16_t type)
{
	const size_t begin = d->len;

	put(d, type, NULL, 0);
	return begin;
}

void
nest_end(struct datagram *d, size_t begin)
{
	const uint16_t len = (uint16_t)(d->len - begin);

	if (!d->full)
		memcpy(d->bytes + begin + offsetof(struct nlattr, nla_len), &len, sizeof(len));
}

/* ---------------------------------------------------------------- requests */

enum kind {
	ANY,
	U32,
	STRING
};

/* The types of those attributes that are read from requests. */
static const uint8_t kinds[RDMA_NLDEV_ATTR_MAX] = {
	[RDMA_NLDEV_ATTR_DEV_INDEX] = U32,
	[RDMA_NLDEV_ATTR_PORT_INDEX] = U32,
	[RDMA_NLDEV_ATTR_CHARDEV_TYPE] = STRING,
	[RDMA_NLDEV_ATTR_RES_LQPN] = U32,
	[RDMA_NLDEV_ATTR_RES_PDN] = U32,
	[RDMA_NLDEV_ATTR_RES_CQN] = U32,
	[RDMA_NLDEV_ATTR_RES_MRN] = U32,
	[RDMA_NLDEV_ATTR_RES_CM_IDN] = U32,
	[RDMA_NLDEV_ATTR_RES_CTXN] = U32,
	[RDMA_NLDEV_ATTR_RES_SRQN] = U32,
	[RDMA_NLDEV_ATTR_STAT_RES] = U32,
};

static bool
is_valid(const struct nlattr *attr, enum kind kind)
{
	const uint8_t *value = (const uint8_t *)attr + NLA_HDRLEN;
	const size_t len = attr->nla_len - NLA_HDRLEN;

	switch (kind) {
	case U32:
		return len >= sizeof(uint32_t);
	case STRING:
		return memchr(value, '\0', len) != NULL;
	default:
		return true;
	}
}

int
attributes_parse(const struct nlmsghdr *request, struct attributes *attrs)
{
	const uint8_t *p = (const uint8_t *)request + NLMSG_HDRLEN;
	size_t left = request->nlmsg_len - NLMSG_HDRLEN;

	memset(attrs, 0, sizeof(*attrs));
	while (left >= NLA_HDRLEN) {
		const struct nlattr *attr = (const struct nlattr *)p;
		const unsigned int type = attr->nla_type & NLA_TYPE_MASK;
		const size_t step = ALIGNED(attr->nla_len);

		if (attr->nla_len < NLA_HDRLEN || attr->nla_len > left)
			return -EINVAL;
		if (type < RDMA_NLDEV_ATTR_MAX) {
			if (!is_valid(attr, kinds[type]))
				return -EINVAL;
			attrs->of[type] = attr;
		}
		p += step < left ? step : left;
		left -= step < left ? step : left;
	}
	return left == 0 ? 0 : -EINVAL;
}

int64_t
attribute_u32(const struct attributes *attrs, unsigned int type)
{
	uint32_t value;

	if (attrs->of[type] == NULL)
		return -1;
	memcpy(&value, (const uint8_t *)attrs->of[type] + NLA_HDRLEN, sizeof(value));
	return value;
}

const char *
attribute_string(const struct attributes *attrs, unsigned int type)
{
	const struct nlattr *attr = attrs->of[type];

	return attr != NULL ? (const char *)attr + NLA_HDRLEN : NULL;
}
