/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions that every path of issuing a descriptor uses: the first 8 bytes of a descriptor as one
 * word (the head), and the completion of its slot.
 */
#ifndef GANTRY_SLOT_H
#define GANTRY_SLOT_H

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include <rte_common.h>

#include "gantry_desc.h"

static_assert(offsetof(struct gantry_desc, cookie) == 8,
	"the head is the 8 bytes before the cookie");

/* Returns op, zero, flags, peer and layout of a descriptor as one word. */
static inline uint64_t
gantry_desc_head(const struct gantry_desc *d)
{
	uint64_t head;

	memcpy(&head, d, sizeof(head));
	return head;
}

/* Returns the head of a descriptor that has this op and peer; its flags and layout are 0. */
static inline uint64_t
gantry_desc_head_of(enum gantry_op op, uint16_t peer)
{
	const struct {
		uint8_t op, zero;
		uint16_t flags, peer, layout;
	} d = {.op = op, .peer = peer};
	uint64_t head;

	static_assert(sizeof(d) == sizeof(head) && offsetof(struct gantry_desc, peer) == 4,
		"the struct has the layout of gantry_desc");
	memcpy(&head, &d, sizeof(head));
	return head;
}

/* Returns the bits that these flags have in a head. */
static inline uint64_t
gantry_desc_head_flags(uint16_t flags)
{
	const struct {
		uint8_t op, zero;
		uint16_t flags, peer, layout;
	} d = {.flags = flags};
	uint64_t head;

	memcpy(&head, &d, sizeof(head));
	return head;
}

/*
 * Prepares the completion of a descriptor that succeeds. The function writes whole words, which are
 * four stores. If it wrote single fields, a compiler would make more stores.
 */
static __rte_always_inline void
gantry_slot_prepare(struct gantry_comp *comp, const struct gantry_desc *d, uint8_t op, uint64_t len)
{
	const struct {
		uint8_t status, op, syndromes[2];
		uint32_t zero;
	} word = {.status = GANTRY_OK, .op = op};

	static_assert(sizeof(word) == offsetof(struct gantry_comp, len) -
					      offsetof(struct gantry_comp, status) &&
			      offsetof(struct gantry_comp, op) ==
				      offsetof(struct gantry_comp, status) + 1,
		"the word has the layout of gantry_comp");
	comp->cookie = d->cookie;
	memcpy((uint8_t *)comp + offsetof(struct gantry_comp, status), &word, sizeof(word));
	comp->len = len;
	comp->result = 0;
}

#endif
