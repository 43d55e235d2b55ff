/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A stream of SENDs over a peer that rdma_cm has connected.
 */
#define GANTRY_ALLOW_EXPERIMENTAL /* libgantry_cm */
#include "pair_rdma.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_common.h>

#include "device.h"
#include "gantry_cm.h"
#include "job.h"
#include "pages_map.h"
#include "pair_address.h"
#include "quote.h"
#include "report.h"

#define SLOTS    16u /* messages in flight in each direction */
#define SLOT_LEN 4096u
#define IN_MAX   (16u << 20)         /* most bytes that wait to be read */
#define LOOK_MS  50                  /* milliseconds between two checks for a signal */
#define EVENT_NS (NSEC_PER_S / 1000) /* time between two checks whether the other process lives */

static const char who[] = "testgtry"; /* the data of a request: 8 bytes */

static_assert(sizeof(who) - 1 == GANTRY_CM_REQUEST_LEN, "a request is full");

struct rdma_stream {
	struct stream stream; /* must be the first field */
	const struct options *opt;
	struct gantry *engine;
	struct gantry_queue *q;
	struct gantry_cm_conn *conn;
	struct gantry_mem *mem;
	uint8_t *base; /* SLOTS slots to send, then SLOTS slots to receive */
	uint16_t peer;
	uint32_t n_sent, n_done; /* SENDs that were submitted; that have completed */
	/* Bytes that were received and are not read yet: in[at] to in[len - 1]. */
	uint8_t *in;
	size_t at, len, in_size;
	bool ended; /* the other process has ended, or the connection has failed */
	uint64_t looked_ns;
};

/* ------------------------------------------------------------------ messages */

static uint8_t *
recv_slot(const struct rdma_stream *s, uint32_t slot)
{
	return s->base + (SLOTS + slot) * SLOT_LEN;
}

/* Posts the receive of a slot. */
static void
expect(struct rdma_stream *s, uint32_t slot)
{
	const struct gantry_recv recv = {
		.cookie = slot,
		.addr = (uintptr_t)recv_slot(s, slot),
		.len = SLOT_LEN,
	};

	if (gantry_recv_post(s->q, s->peer, &recv, 1) != 1)
		s->ended = true; /* cannot be: each slot is posted once */
}

/* Takes completions of SENDs. */
static void
take_done(struct rdma_stream *s)
{
	struct gantry_comp comp;

	while (s->n_done != s->n_sent && gantry_poll(s->q, &comp, 1) == 1) {
		s->n_done++;
		s->ended |= comp.status != GANTRY_OK;
	}
}

/* Checks from time to time whether the other process lives. */
static void
look(struct rdma_stream *s, int timeout_ms)
{
	const uint64_t now = now_ns();

	if (timeout_ms == 0 && now - s->looked_ns < EVENT_NS)
		return;
	s->looked_ns = now;
	s->ended |= gantry_cm_poll(s->conn, timeout_ms) != GANTRY_CM_CONNECTED;
}

static ssize_t
rdma_send(struct stream *stream, const void *data, size_t len)
{
	struct rdma_stream *s = (struct rdma_stream *)stream;
	const uint32_t slot = s->n_sent % SLOTS;
	const struct gantry_desc desc = {
		.op = GANTRY_OP_SEND,
		.peer = s->peer,
		.src = (uintptr_t)(s->base + slot * SLOT_LEN),
		.len = RTE_MIN(len, (size_t)SLOT_LEN),
	};

	take_done(s);
	look(s, 0);
	errno = s->ended ? EPIPE : EAGAIN;
	if (s->ended || s->n_sent - s->n_done == SLOTS)
		return -1;
	memcpy((void *)(uintptr_t)desc.src, data, desc.len);
	if (gantry_submit(s->q, &desc, 1) != 1)
		return -1;
	s->n_sent++;
	return desc.len;
}

/* Makes room for a message behind the bytes that are not read. Returns false if there is none. */
static bool
make_room(struct rdma_stream *s)
{
	const size_t size = RTE_MAX(2 * s->in_size, (size_t)4 * SLOT_LEN);
	uint8_t *in;

	if (s->at != 0) {
		memmove(s->in, s->in + s->at, s->len - s->at);
		s->len -= s->at;
		s->at = 0;
	}
	if (s->in_size - s->len >= SLOT_LEN)
		return true;
	if (size > IN_MAX)
		return false;
	in = realloc(s->in, size);
	if (in == NULL)
		return false;
	s->in = in;
	s->in_size = size;
	return true;
}

/*
 * Takes the messages that have come. They are also taken while this process waits to send:
 * otherwise two processes that send at the same time would wait for each other.
 */
static void
take_messages(struct rdma_stream *s)
{
	struct gantry_recv_comp comp;

	while (make_room(s) && gantry_recv_poll(s->q, &comp, 1) == 1) {
		if (comp.status != GANTRY_OK) {
			s->ended = true;
			return;
		}
		memcpy(s->in + s->len, recv_slot(s, comp.cookie), comp.len);
		s->len += comp.len;
		expect(s, comp.cookie);
	}
}

static ssize_t
rdma_recv(struct stream *stream, void *data, size_t len)
{
	struct rdma_stream *s = (struct rdma_stream *)stream;
	const bool ended = s->ended;

	take_done(s);
	take_messages(s);
	if (s->at == s->len) {
		look(s, 0);
		errno = EAGAIN;
		/* A message may have come just before the end: look once more. */
		return ended ? 0 : -1;
	}
	len = RTE_MIN(len, s->len - s->at);
	memcpy(data, s->in + s->at, len);
	s->at += len;
	return len;
}

static void
rdma_wait(struct stream *stream, bool to_send, int timeout_ms)
{
	struct rdma_stream *s = (struct rdma_stream *)stream;
	const uint64_t end = now_ns() + timeout_ms * (NSEC_PER_S / 1000);

	/* The queue has no file descriptor. An event of rdma_cm ends the wait. */
	while (!s->ended && now_ns() < end) {
		take_done(s);
		take_messages(s);
		if (to_send ? s->n_sent - s->n_done < SLOTS : s->at < s->len)
			return;
		look(s, 1);
	}
}

/* ------------------------------------------------------------------ the end */

/* Waits until the SENDs have arrived, so that the other process can read the last bytes. */
static void
settle(struct rdma_stream *s)
{
	const uint64_t end = now_ns() + s->opt->give_up * NSEC_PER_S;

	while (s->n_done != s->n_sent && now_ns() < end) {
		take_done(s);
		if (s->n_done != s->n_sent)
			usleep(100);
	}
}

static void
rdma_close(struct stream *stream)
{
	struct rdma_stream *s = (struct rdma_stream *)stream;
	struct gantry_recv_comp recv;
	bool closed = true;

	if (s->conn != NULL) {
		settle(s);
		closed = gantry_cm_close(s->conn) == 0;
	}
	while (closed && s->q != NULL && gantry_recv_poll(s->q, &recv, 1) == 1)
		;
	closed = closed && (s->q == NULL || gantry_queue_destroy(s->q) == 0);
	/* Otherwise the device may still write to the memory, so it stays. */
	if (closed && (s->mem == NULL || gantry_mem_unregister(s->mem, 1000) == 0)) {
		if (s->base != NULL)
			munmap(s->base, (size_t)2 * SLOTS * SLOT_LEN);
		if (s->engine != NULL)
			gantry_destroy(s->engine);
	}
	free(s->in);
	free(s);
}

/* ------------------------------------------------------------------ meeting */

/* Splits the address of --listen or --connect. Returns 0, or -1 with the error printed. */
static int
split(const struct options *o, char host[ADDRESS_LEN], char port[ADDRESS_LEN])
{
	const bool listens = o->listen[0] != '\0';
	const char *option = listens ? "listen" : "connect";
	const char *text = listens ? o->listen : o->connect;

	if (address_is_path(text)) {
		error_print("--rdma-cm: %s is the path of a socket: give HOST:PORT to --%s",
			quote_value(text), option);
		return -1;
	}
	return address_split(option, text, host, port);
}

int
rdma_check(const struct options *o)
{
	char host[ADDRESS_LEN], port[ADDRESS_LEN];

	return split(o, host, port);
}

static void
opened(void *arg, struct gantry_queue *q, uint16_t peer)
{
	struct rdma_stream *s = arg;

	(void)q;
	s->peer = peer;
	for (uint32_t slot = 0; slot < SLOTS; slot++)
		expect(s, slot);
}

/* Waits until the connection is made. Returns 0, -1 after a signal, or a negative errno. */
static int
wait_connected(struct rdma_stream *s)
{
	int state = GANTRY_CM_CONNECTING;

	while (state == GANTRY_CM_CONNECTING && stop_signal == 0)
		state = gantry_cm_poll(s->conn, LOOK_MS);
	if (state == GANTRY_CM_CONNECTED)
		return 0;
	return state < 0 ? state : -ECONNRESET;
}

/* Closes a connection that was not made, and takes the receives that were posted for it. */
static void
drop(struct rdma_stream *s)
{
	struct gantry_recv_comp recv;

	if (gantry_cm_close(s->conn) == 0)
		s->conn = NULL;
	while (gantry_recv_poll(s->q, &recv, 1) == 1)
		;
}

/* Takes a request if one comes. Returns 0 if it has led to a connection. */
static int
take_request(struct rdma_stream *s, struct gantry_cm_listener *l, const struct gantry_cm_conf *conf)
{
	struct gantry_cm_request_info info;
	struct gantry_cm_request *r;
	int rc = gantry_cm_request_get(l, LOOK_MS, &r);

	if (rc != 0)
		return rc;
	gantry_cm_request_info_get(r, &info);
	if (info.data_len != sizeof(who) - 1 || memcmp(info.data, who, info.data_len) != 0) {
		gantry_cm_reject(r, "a testgantry listens here: connect by testgantry --rdma-cm");
		return -EAGAIN;
	}
	rc = gantry_cm_accept(r, s->q, conf, &s->conn);
	if (rc != 0) {
		gantry_cm_reject(r, strerror(-rc));
		return rc;
	}
	rc = wait_connected(s);
	if (rc != 0)
		drop(s);
	/* Another process may connect. */
	return rc == 0 ? 0 : -EAGAIN;
}

static int
listen_for(struct rdma_stream *s, const char *host, const char *port,
	const struct gantry_cm_conf *conf)
{
	char address[ADDRESS_LEN + 8];
	struct gantry_cm_listener *l;
	int rc = gantry_cm_listen(host, port, NULL, &l);

	if (rc != 0) {
		error_print("--listen: cannot use the address %s with --rdma-cm: %s; the log lines "
			    "above say more",
			quote_name(s->opt->listen), strerror(-rc));
		return -1;
	}
	/* For port 0, the port that the kernel has chosen. */
	snprintf(address, sizeof(address), "%.*s:%u",
		(int)(strrchr(s->opt->listen, ':') - s->opt->listen), s->opt->listen,
		gantry_cm_listener_port(l));
	printf("waiting for another process: testgantry --connect %s --rdma-cm\n",
		quote_name(address));
	fflush(stdout);
	do
		rc = take_request(s, l, conf);
	while (rc == -EAGAIN && stop_signal == 0);
	gantry_cm_listener_close(l);
	if (rc != 0 && stop_signal == 0)
		error_print("cannot accept another process: %s; the log lines above say more",
			strerror(-rc));
	return rc == 0 ? 0 : -1;
}

static int
connect_to(struct rdma_stream *s, const char *host, const char *port, struct gantry_cm_conf *conf)
{
	int rc;

	conf->data = who;
	conf->data_len = sizeof(who) - 1;
	conf->timeout_ms = s->opt->give_up * 1000;
	conf->wait_for_listener = true;
	rc = gantry_cm_connect(host, port, s->q, conf, &s->conn);
	if (rc == 0)
		rc = wait_connected(s);
	if (rc != 0 && stop_signal == 0)
		error_print("--connect: no process answers at %s: %s; start testgantry --rdma-cm "
			    "--listen there first",
			quote_name(s->opt->connect), strerror(-rc));
	return rc == 0 ? 0 : -1;
}

static int
create(struct rdma_stream *s)
{
	const size_t len = (size_t)2 * SLOTS * SLOT_LEN;
	const struct gantry_queue_conf conf = {
		.depth = 2 * SLOTS,
		.max_peers = 1,
		/* The talk itself notices a process that is silent. */
		.deadline_ms = 2 * s->opt->give_up * 1000,
	};
	int rc;

	if (device_open(s->opt, (struct gantry_conf){0}, &s->engine) != 0)
		return -1;
	s->base = pages_map(len);
	rc = s->base == NULL ? -ENOMEM : gantry_mem_register(s->engine, s->base, len, 0, &s->mem);
	if (rc == 0)
		rc = gantry_queue_create(s->engine, &conf, &s->q);
	if (rc == 0)
		return 0;
	error_print("--rdma-cm: cannot create a queue: %s; the log lines above say more",
		strerror(-rc));
	return -1;
}

struct stream *
rdma_meet(const struct options *o)
{
	const struct gantry_peer_conf peer = {.depth = SLOTS, .recv_depth = SLOTS};
	struct rdma_stream *s = calloc(1, sizeof(*s));
	struct gantry_cm_conf conf = {.peer = &peer, .opened = opened, .arg = s};
	char host[ADDRESS_LEN], port[ADDRESS_LEN];
	int rc;

	if (s == NULL) {
		error_print("out of memory");
		return NULL;
	}
	s->stream = (struct stream){rdma_send, rdma_recv, rdma_wait, rdma_close};
	s->opt = o;
	rc = split(o, host, port);
	if (rc == 0)
		rc = create(s);
	if (rc == 0 && o->listen[0] != '\0')
		rc = listen_for(s, host[0] != '\0' ? host : NULL, port, &conf);
	else if (rc == 0)
		rc = connect_to(s, host[0] != '\0' ? host : NULL, port, &conf);
	if (rc == 0)
		return &s->stream;
	rdma_close(&s->stream);
	return NULL;
}
