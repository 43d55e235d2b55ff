/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Sends and receives frames. Notices when the other process has ended or is silent.
 */
#include "pair_talk.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "job.h"
#include "report.h"

#define PING_NS NSEC_PER_S
#define WAIT_MS 20 /* milliseconds between two checks for a signal */

struct header {
	char magic[4];
	uint16_t version;
	uint16_t type;
	uint32_t len;
};

static_assert(sizeof(struct header) == 12, "the header has no padding");
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "frames have little-endian numbers");

static const char magic[4] = {'G', 'T', 'R', 'Y'};

struct talk {
	struct stream *stream;
	uint32_t give_up_s;
	bool over;          /* the other process has ended, or nothing more can be sent */
	uint64_t heard_ns;  /* time of the last received byte */
	uint64_t looked_ns; /* time when this process last looked for bytes */
	uint64_t said_ns;   /* time of the last sent frame */
	/* received bytes in `in`; bytes of the frame that talk_look() returned last */
	size_t have, taken;
	uint8_t in[sizeof(struct header) + TALK_MAX];
	uint8_t out[sizeof(struct header) + TALK_MAX]; /* the frame that is sent */
};

int
talk_create(struct stream *stream, uint32_t give_up_s, struct talk **talk)
{
	struct talk *t = calloc(1, sizeof(*t));

	if (t == NULL) {
		error_print("out of memory");
		stream->close(stream);
		return -1;
	}
	t->stream = stream;
	t->give_up_s = give_up_s;
	t->heard_ns = t->looked_ns = t->said_ns = now_ns();
	*talk = t;
	return 0;
}

/* Marks the talk as over. Returns -1. */
static int
over(struct talk *t)
{
	t->over = true;
	return -1;
}

static int
refuse_end(struct talk *t)
{
	error_print("the other process has ended, and has not said why: perhaps it was killed; its "
		    "own output may say more");
	return over(t);
}

/* ------------------------------------------------------------------ sending */

static int hear_last(struct talk *t);

static int
send_bytes(struct talk *t, const void *data, size_t len)
{
	const uint64_t end_ns = now_ns() + t->give_up_s * NSEC_PER_S;
	const uint8_t *from = data;
	ssize_t n;

	while (len > 0) {
		n = t->stream->send(t->stream, from, len);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return hear_last(t);
		if (n < 0 && now_ns() > end_ns) {
			error_print("the other process has read nothing for %u s: it is stopped or "
				    "hangs",
				t->give_up_s);
			return over(t);
		}
		if (n < 0)
			t->stream->wait(t->stream, true, WAIT_MS);
		if (n < 0 && n_signals > 1)
			return -1;
		if (n > 0) {
			from += n;
			len -= n;
		}
	}
	t->said_ns = now_ns();
	return 0;
}

int
talk_say(struct talk *t, enum talk_type type, const void *data, size_t len)
{
	struct header h = {.version = TALK_VERSION, .type = type, .len = len};

	memcpy(h.magic, magic, sizeof(magic));
	memcpy(t->out, &h, sizeof(h));
	if (len != 0)
		memcpy(t->out + sizeof(h), data, len);
	return send_bytes(t, t->out, sizeof(h) + len);
}

/* ------------------------------------------------------------------ receiving */

/* Receives what has come. Returns 0 or -1. */
static int
receive(struct talk *t)
{
	const uint64_t now = now_ns();
	ssize_t n;

	/*
	 * This process itself may have been stopped, or had no time to look. Then the other process
	 * gets the whole time again.
	 */
	if (now - t->looked_ns > 2 * PING_NS)
		t->heard_ns = now;
	t->looked_ns = now;
	n = t->stream->recv(t->stream, t->in + t->have, sizeof(t->in) - t->have);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		return refuse_end(t);
	if (n > 0) {
		t->have += n;
		t->heard_ns = now;
	}
	if (now - t->heard_ns <= t->give_up_s * NSEC_PER_S)
		return 0;
	error_print("the other process has been silent for %u s: it is stopped or hangs; --give-up "
		    "SEC waits longer",
		t->give_up_s);
	return over(t);
}

static int
check_header(struct talk *t, const struct header *h)
{
	if (memcmp(h->magic, magic, sizeof(magic)) != 0 || h->len > TALK_MAX) {
		error_print("the other process does not talk as testgantry does: give the address "
			    "of a testgantry --listen to --connect");
		return over(t);
	}
	if (h->version != TALK_VERSION) {
		error_print("the other process has version %u of the exchange, this process has "
			    "version %u: run the same release of testgantry in both",
			h->version, TALK_VERSION);
		return over(t);
	}
	return 0;
}

/* Takes a frame from the received bytes, if one is complete. Returns as talk_look(). */
static int
take(struct talk *t, struct talk_frame *f)
{
	struct header h;

	memmove(t->in, t->in + t->taken, t->have - t->taken);
	t->have -= t->taken;
	t->taken = 0;
	if (t->have < sizeof(h))
		return 0;
	memcpy(&h, t->in, sizeof(h));
	if (check_header(t, &h) != 0)
		return -1;
	if (t->have < sizeof(h) + h.len)
		return 0;
	t->taken = sizeof(h) + h.len;
	*f = (struct talk_frame){h.type, h.len, t->in + sizeof(h)};
	return 1;
}

static int
refuse_error(struct talk *t, const struct talk_frame *f)
{
	error_print("the other process has stopped: %.*s", (int)f->len, (const char *)f->data);
	return over(t);
}

/*
 * Called when the stream takes no more bytes: looks for the other process's reason among the last
 * received bytes.
 */
static int
hear_last(struct talk *t)
{
	struct talk_frame f;
	ssize_t n;
	int rc;

	do {
		rc = take(t, &f);
		if (rc == 1 && f.type == TALK_ERROR)
			return refuse_error(t, &f);
		n = rc == 0 ? t->stream->recv(t->stream, t->in + t->have, sizeof(t->in) - t->have)
			    : 0;
		if (n > 0)
			t->have += n;
	} while (rc == 1 || n > 0);
	return rc < 0 ? -1 : refuse_end(t);
}

int
talk_look(struct talk *t, struct talk_frame *f)
{
	int n;

	if (now_ns() - t->said_ns > PING_NS && talk_say(t, TALK_PING, NULL, 0) != 0)
		return -1;
	do {
		n = take(t, f);
		if (n == 0 && receive(t) != 0)
			return -1;
		if (n == 0)
			n = take(t, f);
	} while (n == 1 && f->type == TALK_PING);
	return n == 1 && f->type == TALK_ERROR ? refuse_error(t, f) : n;
}

int
talk_check(const struct talk_frame *f, enum talk_type type, size_t len)
{
	if (f->type == type && (f->len == len || len == SIZE_MAX))
		return 0;
	error_print("the other process has sent a frame of type %u and %u bytes, which was not "
		    "expected: run the same release of testgantry in both",
		f->type, f->len);
	return -1;
}

int
talk_wait_any(struct talk *t, struct talk_frame *f)
{
	int n;

	while ((n = talk_look(t, f)) == 0 && stop_signal == 0)
		t->stream->wait(t->stream, false, WAIT_MS);
	return n == 1 ? 0 : -1;
}

int
talk_wait(struct talk *t, enum talk_type type, size_t len, struct talk_frame *f)
{
	return talk_wait_any(t, f) == 0 ? talk_check(f, type, len) : -1;
}

void
talk_fail(struct talk *t, const char *error)
{
	char *kept = NULL, **before;

	if (t->over)
		return;
	/*
	 * The caller prints the reason. An error of this call is not printed, because it would only
	 * confuse.
	 */
	before = error_keep(&kept);
	talk_say(t, TALK_ERROR, error, RTE_MIN(strlen(error), (size_t)TALK_MAX));
	error_keep(before);
	free(kept);
	t->over = true;
}

void
talk_end(struct talk *t)
{
	t->stream->close(t->stream);
	free(t);
}
