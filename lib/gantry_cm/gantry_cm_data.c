/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes and reads private data of rdma_cm's messages. */
#include "gantry_cm_data.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define MAGIC   'g'
#define VERSION 1
#define CUT     20 /* zeros that a request leaves out */

/* The bytes before all others. */
struct head {
	uint8_t magic;
	uint8_t version;
	uint8_t len;
	uint8_t cut_at;
};

#define SHORT_LEN (sizeof(struct gantry_addr) - CUT)

static_assert(sizeof(struct head) + SHORT_LEN + GANTRY_CM_REQUEST_LEN == GANTRY_CM_REQ_LEN,
	"a request is full");
static_assert(sizeof(struct head) + sizeof(struct gantry_addr) + GANTRY_CM_ANSWER_LEN ==
		      GANTRY_CM_REP_LEN,
	"an answer is full");
static_assert(sizeof(struct head) + GANTRY_CM_REASON_LEN == GANTRY_CM_REJ_LEN,
	"a rejection is full");

/* Returns true if the message has this length at least, and was written by this version. */
static bool
take_head(const void *bytes, size_t len, size_t least, uint32_t most_data, struct head *h)
{
	if (bytes == NULL || len < least)
		return false;
	memcpy(h, bytes, sizeof(*h));
	return h->magic == MAGIC && h->version == VERSION && h->len <= most_data;
}

/* Returns the position of the first run of CUT zeros, or -1. */
static int
find_zeros(const uint8_t *bytes, size_t len)
{
	size_t run = 0;

	for (size_t i = 0; i < len; i++) {
		run = bytes[i] == 0 ? run + 1 : 0;
		if (run == CUT)
			return (int)(i + 1 - CUT);
	}
	return -1;
}

int
gantry_cm_request_pack(const struct gantry_cm_says *says, uint8_t bytes[GANTRY_CM_REQ_LEN])
{
	const uint8_t *addr = says->addr.bytes;
	int at = find_zeros(addr, sizeof(says->addr));
	struct head h = {MAGIC, VERSION, says->len, at};
	uint8_t *to = bytes + sizeof(h);

	if (at < 0)
		return -EMSGSIZE;
	memset(bytes, 0, GANTRY_CM_REQ_LEN);
	memcpy(bytes, &h, sizeof(h));
	memcpy(to, addr, at);
	memcpy(to + at, addr + at + CUT, SHORT_LEN - at);
	memcpy(to + SHORT_LEN, says->data, says->len);
	return 0;
}

int
gantry_cm_request_unpack(const void *bytes, size_t len, struct gantry_cm_says *says)
{
	const uint8_t *from = bytes;
	struct head h;

	if (!take_head(bytes, len, GANTRY_CM_REQ_LEN, GANTRY_CM_REQUEST_LEN, &h) ||
		h.cut_at > SHORT_LEN)
		return -EPROTO;
	from += sizeof(h);
	*says = (struct gantry_cm_says){.len = h.len};
	memcpy(says->addr.bytes, from, h.cut_at);
	memcpy(says->addr.bytes + h.cut_at + CUT, from + h.cut_at, SHORT_LEN - h.cut_at);
	memcpy(says->data, from + SHORT_LEN, h.len);
	return 0;
}

void
gantry_cm_answer_pack(const struct gantry_cm_says *says, uint8_t bytes[GANTRY_CM_REP_LEN])
{
	const struct head h = {MAGIC, VERSION, says->len, 0};

	memset(bytes, 0, GANTRY_CM_REP_LEN);
	memcpy(bytes, &h, sizeof(h));
	memcpy(bytes + sizeof(h), &says->addr, sizeof(says->addr));
	memcpy(bytes + sizeof(h) + sizeof(says->addr), says->data, says->len);
}

int
gantry_cm_answer_unpack(const void *bytes, size_t len, struct gantry_cm_says *says)
{
	const uint8_t *from = bytes;
	struct head h;

	if (!take_head(bytes, len, GANTRY_CM_REP_LEN, GANTRY_CM_ANSWER_LEN, &h))
		return -EPROTO;
	from += sizeof(h);
	*says = (struct gantry_cm_says){.len = h.len};
	memcpy(&says->addr, from, sizeof(says->addr));
	memcpy(says->data, from + sizeof(says->addr), h.len);
	return 0;
}

void
gantry_cm_reject_pack(const char *reason, uint8_t bytes[GANTRY_CM_REJ_LEN])
{
	const size_t len = reason != NULL ? strnlen(reason, GANTRY_CM_REASON_LEN) : 0;
	const struct head h = {MAGIC, VERSION, len, 0};

	memset(bytes, 0, GANTRY_CM_REJ_LEN);
	memcpy(bytes, &h, sizeof(h));
	if (len != 0)
		memcpy(bytes + sizeof(h), reason, len);
}

size_t
gantry_cm_reject_unpack(const void *bytes, size_t len, char text[GANTRY_CM_REASON_LEN + 1])
{
	const uint8_t *from = bytes;
	struct head h;

	text[0] = '\0';
	if (!take_head(bytes, len, sizeof(h), GANTRY_CM_REASON_LEN, &h) || len < sizeof(h) + h.len)
		return 0;
	for (size_t i = 0; i < h.len; i++)
		text[i] = from[sizeof(h) + i] >= ' ' && from[sizeof(h) + i] < 0x7f
				  ? (char)from[sizeof(h) + i]
				  : '?';
	text[h.len] = '\0';
	return h.len;
}
