/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends the records of a message to another process: asker_send.h. */
#include "asker_send.h"

#include <errno.h>
#include <stdlib.h>

#include "log.h"
#include "move.h"
#include "wire_adapter.h"

#define RECORDS_A_VISIT 16

bool
asker_is_converted(const struct run *run, const struct message *m)
{
	return m->payload != NULL && m->payload->len != 0 &&
	       (run->use.converts || (m->payload->rare & ACC_CIPHERED) != 0);
}

static unsigned int
too_long(const struct run *run, uint64_t len, struct answer *answer)
{
	static atomic_bool said;

	if (!atomic_exchange(&said, true))
		softhca_log("wire: a message of %llu bytes to another process passes through a key "
			    "with a signature or encryption: the setting wire_message allows %llu "
			    "bytes",
			(unsigned long long)len,
			(unsigned long long)run->lanes->dev->cfg->wire_message);
	answer->vendor = VEN_LENGTH;
	return SYN_LOC_LEN;
}

/* Moves the data to new memory. This move converts the data. */
static unsigned int
convert(struct run *run, const struct sg *data, struct ask *ask, struct answer *answer)
{
	struct sg whole;

	ask->whole = malloc(data->len);
	run->use.vendor = VEN_KEY_PIECES;
	if (ask->whole != NULL) {
		sg_set(&whole, ask->whole, data->len);
		if (key_use_move(&run->use, &whole, data) == SG_MOVED)
			return SYN_OK;
	}
	free(ask->whole);
	ask->whole = NULL;
	answer->vendor = run->use.vendor;
	return SYN_LOC_PROT;
}

unsigned int
asker_convert(struct run *run, const struct message *m, struct ask *ask, struct answer *answer)
{
	if (!asker_is_converted(run, m))
		return SYN_OK;
	if (m->payload->len > run->lanes->dev->cfg->wire_message)
		return too_long(run, m->payload->len, answer);
	return m->op->kind == MESSAGE_READ ? SYN_OK : convert(run, m->payload, ask, answer);
}

/* Copies `len` bytes of the data. Returns NULL if memory is missing. */
static uint8_t *
copy_part(struct run *run, const struct sg *data, uint64_t off, uint64_t len)
{
	uint8_t *copy = malloc(len);
	struct sg to;

	if (copy == NULL)
		return NULL;
	sg_set(&to, copy, len);
	if (move_part(&run->use, &to, 0, data, off, len) == SG_MOVED)
		return copy;
	free(copy);
	return NULL;
}

/*
 * Lists the pieces of `len` bytes of the data. Returns their number, or 0 if sendmsg(2) cannot read
 * these pieces, or if there are more than SG_MAX.
 */
static unsigned int
list_pieces(struct iovec *iov, const struct sg *data, uint64_t off, uint64_t len)
{
	struct sg_place at = sg_find(data, off);
	struct sg part;

	if (sg_take(data, &at, len, &part) != len || part.rare != 0)
		return 0;
	for (unsigned int i = 0; i < part.n; i++) {
		if (part.v[i].p == SINK)
			return 0;
		iov[i] = (struct iovec){part.v[i].p, part.v[i].len};
	}
	return part.n;
}

/* The number of data bytes of the next record. Records of a message have about equal lengths. */
static uint64_t
next_len(const struct ask *ask)
{
	const uint64_t left = ask->to_send - ask->sent;
	const uint64_t records = (left + RECORD_DATA - 1) / RECORD_DATA;

	return records <= 1 ? left : (left + records - 1) / records;
}

/* Sends the record whose head is iov[0], with the next `len` bytes of the data. */
static int
send_part(struct run *run, struct ask *ask, struct iovec *iov, const struct sg *data, uint64_t len)
{
	const bool more = ask->sent + len < ask->to_send;
	const unsigned int n = len != 0 ? list_pieces(&iov[1], data, ask->sent, len) : 0;
	uint8_t *copy;
	int err = -EFAULT;

	if (n != 0 || len == 0)
		err = link_send(ask->link, ask->life, ask_name(ask), iov, 1 + n, more);
	if (err != -EFAULT)
		return err;
	/* Many pieces, memory on demand, or pages that the program has unmapped. */
	copy = copy_part(run, data, ask->sent, len);
	if (copy == NULL)
		return -EFAULT;
	iov[1] = (struct iovec){copy, len};
	err = link_send(ask->link, ask->life, ask_name(ask), iov, 2, more);
	free(copy);
	return err;
}

static int
send_record(struct run *run, struct ask *ask, const struct sg *data)
{
	const uint64_t len = next_len(ask);
	struct record head = ask->request.head;
	struct iovec iov[1 + SG_MAX];
	int err;

	head.kind = RECORD_MORE;
	head.off = ask->sent;
	iov[0] = ask->sent == 0 ? (struct iovec){&ask->request, sizeof(ask->request)}
				: (struct iovec){&head, sizeof(head)};
	err = send_part(run, ask, iov, data, len);
	if (err == 0) {
		ask->sent += len;
		ask->is_sent = ask->sent == ask->to_send;
		ask->since = 0;
		run->work++;
		/* makes the next turns read the connection's answers */
		turn_slot()->wire_turns = 0;
	}
	return err;
}

int
asker_send_records(struct run *run, struct ask *ask, const struct sg *payload)
{
	const struct sg *data = payload;
	struct sg whole;
	int err = 0;

	if (ask->whole != NULL && ask->to_send != 0) {
		sg_set(&whole, ask->whole, ask->to_send);
		data = &whole;
	}
	if (ask->to_send > RUN_LONG_COPY)
		run_drop_cq(run);
	for (unsigned int n = 0; err == 0 && !ask->is_sent; n++)
		err = n < RECORDS_A_VISIT ? send_record(run, ask, data) : -EAGAIN;
	return err;
}
