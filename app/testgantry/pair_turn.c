/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Sends chunks from slots, and receives chunks into slots.
 */
#include "pair_turn.h"

#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "output.h"

#define MOST   256 /* most chunks that a turn sends: the greatest --burst */
#define PAGE   4096
#define ANSWER UINT64_MAX /* cookie of the descriptors that send the number of a free slot */
#define WIPED  0xff       /* value of the bytes of a struct pair_chunk that was handled */

enum wait {
	WAIT_DONE = 1,   /* until the slot's descriptor has completed */
	WAIT_ANSWER = 2, /* until the SEND_IMM with the slot's number has come */
};

int
turn_init(struct file_lane *f)
{
	const uint32_t depth = f->lane.depth;

	if (f->source == NULL)
		return 0;
	f->waits = calloc(depth, sizeof(*f->waits));
	f->free_slot = calloc(depth, sizeof(*f->free_slot));
	if (f->waits == NULL || f->free_slot == NULL) {
		error_print("out of memory for %u chunks: lower --depth", depth);
		return -1;
	}
	while (f->n_free < depth) {
		f->free_slot[f->n_free] = depth - 1 - f->n_free;
		f->n_free++;
	}
	return 0;
}

void
turn_fini(struct file_lane *f)
{
	free(f->waits);
	free(f->free_slot);
	free(f->error);
}

/* ------------------------------------------------------------------ a lane that sends */

/* Called when an event has come for which a slot has waited. */
static int
end_wait(struct file_lane *f, uint32_t slot, enum wait what)
{
	if (slot >= f->lane.depth || (f->waits[slot] & what) == 0) {
		error_print("lcore %u: the other process has answered slot %u, which was not due",
			f->lane.lcore_id, slot);
		return -1;
	}
	f->waits[slot] &= ~what;
	if (what == WAIT_ANSWER)
		source_count(f->source, pair_slot_chunk(&f->lane, slot)->len);
	if (f->waits[slot] == 0)
		f->free_slot[f->n_free++] = slot;
	return 0;
}

static int
take_answers(struct file_lane *f)
{
	struct gantry_recv_comp comp;
	int n, any = 0;

	while ((n = pair_recv(&f->lane, &comp)) == 1) {
		any = 1;
		if (pair_expect(&f->lane, 0) != 0 || end_wait(f, comp.imm, WAIT_ANSWER) != 0)
			return -1;
	}
	return n < 0 ? -1 : any;
}

static int
take_done(struct file_lane *f)
{
	struct gantry_comp comp;
	int n, any = 0;

	while ((n = pair_poll(&f->lane, &comp)) == 1) {
		any = 1;
		if (end_wait(f, comp.cookie, WAIT_DONE) != 0)
			return -1;
	}
	return n < 0 ? -1 : any;
}

/* Returns the descriptor that moves or announces the chunk in a slot. */
static struct gantry_desc
descriptor(const struct pair_lane *l, uint32_t slot, uint32_t len)
{
	struct gantry_desc d = {
		.op = GANTRY_OP_SEND,
		.peer = l->peer,
		.cookie = slot,
		.src = (uintptr_t)pair_slot_chunk(l, slot),
		.len = PAIR_CHUNK_LEN,
	};

	if (l->opt->mode != MODE_READ)
		d.len += len;
	if (l->opt->mode != MODE_WRITE)
		return d;
	d.op = GANTRY_OP_WRITE_IMM;
	d.dst = l->far.base + slot * l->slot_len;
	d.remote_key = l->far.remote_key;
	d.imm = slot;
	return d;
}

/* Reads the next chunk into a free slot. Returns 1, 0 if there is no chunk, or -1. */
static int
fill_slot(struct file_lane *f, struct gantry_desc *desc)
{
	const uint32_t slot = f->free_slot[f->n_free - 1];
	struct pair_chunk *c = pair_slot_chunk(&f->lane, slot);
	uint8_t *bytes = pair_slot_bytes(&f->lane, slot);
	const struct file *file;
	int rc = source_next(f->source, c, &file);

	if (rc != 1)
		return rc;
	c->addr = (uintptr_t)bytes;
	c->slot = slot;
	if (output_read(file, bytes, c->len, c->offset) != 0)
		return -1;
	f->n_free--;
	f->waits[slot] = WAIT_DONE | WAIT_ANSWER;
	*desc = descriptor(&f->lane, slot, c->len);
	return 1;
}

static int
send_chunks(struct file_lane *f)
{
	const uint32_t most = RTE_MIN(f->lane.opt->burst, pair_room(&f->lane));
	struct gantry_desc desc[MOST];
	uint32_t n = 0;
	int rc = 1;

	while (n < most && f->n_free > 0 && (rc = fill_slot(f, &desc[n])) == 1)
		n++;
	if (rc < 0 || (n > 0 && pair_submit(&f->lane, desc, n) != 0))
		return -1;
	return n > 0;
}

/* ------------------------------------------------------------------ a lane that receives */

/*
 * Overwrites bytes of a slot, in every page and at both ends. Otherwise a chunk that does not
 * arrive could stay unnoticed, if it has the same bytes as the slot's last chunk.
 */
static void
wipe(const struct pair_lane *l, uint32_t slot, uint32_t len)
{
	uint8_t *bytes = pair_slot_bytes(l, slot);

	for (uint32_t i = 0; i < len; i += PAGE)
		bytes[i] = ~bytes[i];
	bytes[len - 1] = ~bytes[len - 1];
	memset(pair_slot_chunk(l, slot), WIPED, sizeof(struct pair_chunk));
}

/*
 * Copies and checks the struct pair_chunk of a slot, because the other process may write to this
 * memory at any time.
 */
static int
read_slot(const struct pair_lane *l, uint64_t slot, struct pair_chunk *c)
{
	*c = slot < l->depth ? *pair_slot_chunk(l, slot) : (struct pair_chunk){0};
	if (c->len != 0 && c->len <= l->opt->chunk_len)
		return 0;
	error_print("lcore %u: a message has come that is no chunk", l->lcore_id);
	return -1;
}

/* Writes the chunk in a slot to its file, and tells the other process that its slot is free. */
static int
deliver(struct file_lane *f, uint32_t slot, const struct pair_chunk *c)
{
	struct pair_lane *l = &f->lane;
	const struct gantry_desc answer = {
		.op = GANTRY_OP_SEND_IMM,
		.peer = l->peer,
		.cookie = ANSWER,
		.imm = c->slot,
	};

	if (sink_write(f->sink, c, pair_slot_bytes(l, slot)) != 0)
		return -1;
	wipe(l, slot, c->len);
	/* In mode write, arrive() has posted the receive again already. */
	if (l->recv_len != 0 && pair_expect(l, slot) != 0)
		return -1;
	return pair_submit(l, &answer, 1);
}

/* Reads a chunk that the other process has announced. */
static int
read_chunk(struct file_lane *f, uint32_t slot, const struct pair_chunk *c)
{
	const struct gantry_desc read = {
		.op = GANTRY_OP_READ,
		.peer = f->lane.peer,
		.cookie = slot,
		.src = c->addr,
		.dst = (uintptr_t)pair_slot_bytes(&f->lane, slot),
		.len = c->len,
		.remote_key = f->lane.far.remote_key,
	};

	return pair_submit(&f->lane, &read, 1);
}

/* A message has come: the chunk itself, or in mode read its announcement. */
static int
arrive(struct file_lane *f, const struct gantry_recv_comp *comp)
{
	struct pair_lane *l = &f->lane;
	const bool write = l->opt->mode == MODE_WRITE;
	const uint64_t slot = write ? comp->imm : comp->cookie;
	struct pair_chunk c;

	if (write && pair_expect(l, 0) != 0)
		return -1;
	if (read_slot(l, slot, &c) != 0)
		return -1;
	return l->opt->mode == MODE_READ ? read_chunk(f, slot, &c) : deliver(f, slot, &c);
}

static int
receive_chunks(struct file_lane *f)
{
	struct gantry_recv_comp received;
	struct gantry_comp comp;
	struct pair_chunk c;
	int n, any = 0;

	while ((n = pair_poll(&f->lane, &comp)) == 1) {
		any = 1;
		if (comp.cookie == ANSWER)
			continue;
		if (read_slot(&f->lane, comp.cookie, &c) != 0 || deliver(f, comp.cookie, &c) != 0)
			return -1;
	}
	while (n == 0 && pair_room(&f->lane) > 0 && (n = pair_recv(&f->lane, &received)) == 1) {
		any = 1;
		n = arrive(f, &received);
	}
	return n < 0 ? -1 : any;
}

int
turn_make(struct file_lane *f)
{
	int answers, done, sent;

	if (f->sink != NULL)
		return receive_chunks(f);
	answers = take_answers(f);
	done = answers < 0 ? -1 : take_done(f);
	sent = done < 0 ? -1 : send_chunks(f);
	return sent < 0 ? -1 : answers + done + sent > 0;
}
