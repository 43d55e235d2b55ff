/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An MPI program of one process that sends to itself, puts into its own window, and gets from this
 * window. It compares every byte, and guard bytes before and after each buffer.
 * usertools/openmpi.sh builds and runs it.
 */
#include <mpi.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LEN  ((size_t)4 << 20)
#define GUARD    4096
#define FILLER   0xa5
#define IN_ORDER 8 /* number of messages in flight at once */

static unsigned int errors;

struct buffer {
	uint8_t *all; /* guard bytes, MAX_LEN bytes, guard bytes */
	uint8_t *data;
};

static struct buffer
buffer_new(void)
{
	struct buffer b = {.all = malloc(MAX_LEN + 2 * GUARD)};

	if (b.all == NULL) {
		fprintf(stderr, "mpi_self: no memory\n");
		exit(2);
	}
	b.data = b.all + GUARD;
	return b;
}

/* Returns byte i of message `seed`. */
static uint8_t
pattern(unsigned int seed, size_t i)
{
	uint32_t x = (uint32_t)i * 2654435761u + seed * 40503u;

	return (uint8_t)(x >> 24 ^ x >> 11);
}

static void
fill(uint8_t *p, size_t len, unsigned int seed)
{
	for (size_t i = 0; i < len; i++)
		p[i] = pattern(seed, i);
}

/* Clears the buffer before a message. */
static void
clear(struct buffer *b, size_t len)
{
	memset(b->all, FILLER, len + 2 * GUARD);
}

static void
report(const char *what, size_t len, const char *reason)
{
	if (errors++ < 20)
		fprintf(stderr, "mpi_self: %s, %zu bytes: %s\n", what, len, reason);
}

static bool
is_filler(const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (p[i] != FILLER)
			return false;
	return true;
}

/* Checks that the buffer holds message `seed`, and that the guard bytes are unchanged. */
static void
expect_message(const struct buffer *b, size_t len, unsigned int seed, const char *what)
{
	for (size_t i = 0; i < len; i++)
		if (b->data[i] != pattern(seed, i)) {
			report(what, len, "wrong data");
			return;
		}
	if (!is_filler(b->all, GUARD) || !is_filler(b->data + len, GUARD))
		report(what, len, "bytes beside the message were written");
}

static void
expect_status(MPI_Status *status, size_t len, int tag, const char *what)
{
	int count;

	MPI_Get_count(status, MPI_BYTE, &count);
	if (count != (int)len || status->MPI_TAG != tag || status->MPI_SOURCE != 0)
		report(what, len, "the receive's status is wrong");
}

/* The receive is posted before the message. */
static void
test_expected(struct buffer *src, struct buffer *dst, size_t len, unsigned int seed)
{
	MPI_Request request;
	MPI_Status status;

	fill(src->data, len, seed);
	clear(dst, len);
	MPI_Irecv(dst->data, (int)MAX_LEN, MPI_BYTE, 0, 7, MPI_COMM_WORLD, &request);
	MPI_Ssend(src->data, (int)len, MPI_BYTE, 0, 7, MPI_COMM_WORLD);
	MPI_Wait(&request, &status);
	expect_status(&status, len, 7, "an expected message");
	expect_message(dst, len, seed, "an expected message");
}

/* The message is sent before the receive. */
static void
test_unexpected(struct buffer *src, struct buffer *dst, size_t len, unsigned int seed)
{
	MPI_Request request;
	MPI_Status status;

	fill(src->data, len, seed);
	clear(dst, len);
	MPI_Isend(src->data, (int)len, MPI_BYTE, 0, 9, MPI_COMM_WORLD, &request);
	MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
	expect_status(&status, len, 9, "a probed message");
	MPI_Recv(dst->data, (int)len, MPI_BYTE, 0, 9, MPI_COMM_WORLD, &status);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	expect_status(&status, len, 9, "an unexpected message");
	expect_message(dst, len, seed, "an unexpected message");
}

/* Several messages are in flight, and are received in the opposite order by their tags. */
static void
test_many(struct buffer *src, struct buffer *dst, size_t len)
{
	const size_t part = len / IN_ORDER;
	MPI_Request send[IN_ORDER], recv[IN_ORDER];

	fill(src->data, part * IN_ORDER, 99);
	clear(dst, len);
	for (int i = 0; i < IN_ORDER; i++)
		MPI_Isend(src->data + part * i, (int)part, MPI_BYTE, 0, 100 + i, MPI_COMM_WORLD,
			&send[i]);
	for (int i = IN_ORDER; i-- > 0;)
		MPI_Irecv(dst->data + part * i, (int)part, MPI_BYTE, 0, 100 + i, MPI_COMM_WORLD,
			&recv[i]);
	MPI_Waitall(IN_ORDER, recv, MPI_STATUSES_IGNORE);
	MPI_Waitall(IN_ORDER, send, MPI_STATUSES_IGNORE);
	expect_message(dst, part * IN_ORDER, 99, "messages in flight");
}

/* Sends and receives every second block of 64 bytes. */
static void
test_strided(struct buffer *src, struct buffer *dst, size_t len)
{
	const size_t n = len / 128;
	MPI_Datatype type;
	bool right = true;

	fill(src->data, n * 128, 5);
	clear(dst, len);
	MPI_Type_vector((int)n, 64, 128, MPI_BYTE, &type);
	MPI_Type_commit(&type);
	MPI_Sendrecv(src->data, 1, type, 0, 1, dst->data, 1, type, 0, 1, MPI_COMM_WORLD,
		MPI_STATUS_IGNORE);
	MPI_Type_free(&type);
	for (size_t i = 0; i < n; i++)
		right = right && memcmp(dst->data + i * 128, src->data + i * 128, 64) == 0 &&
			is_filler(dst->data + i * 128 + 64, 64);
	if (!right)
		report("a strided message", len, "wrong data");
}

/* Put and get at an odd offset of the window. */
static void
test_window(struct buffer *src, struct buffer *dst, MPI_Win win, const uint8_t *window, size_t len,
	unsigned int seed)
{
	const size_t at = len < MAX_LEN ? 1 : 0;

	fill(src->data, len, seed);
	MPI_Put(src->data, (int)len, MPI_BYTE, 0, (MPI_Aint)at, (int)len, MPI_BYTE, win);
	MPI_Win_flush(0, win);
	if (memcmp(window + at, src->data, len) != 0)
		report("a put", len, "wrong data");
	clear(dst, len);
	MPI_Get(dst->data, (int)len, MPI_BYTE, 0, (MPI_Aint)at, (int)len, MPI_BYTE, win);
	MPI_Win_flush(0, win);
	expect_message(dst, len, seed, "a get");
}

static void
expect_number(const char *what, int64_t got, int64_t want)
{
	if (got != want) {
		errors++;
		fprintf(stderr, "mpi_self: %s: %" PRId64 "; %" PRId64 " expected\n", what, got,
			want);
	}
}

static void
test_atomics(MPI_Win win, int64_t *window)
{
	int64_t one = 1, old = -1, want = 100, value = 7;

	window[0] = 0;
	window[1] = 41;
	MPI_Win_sync(win);
	for (int64_t i = 0; i < 100; i++) {
		MPI_Fetch_and_op(&one, &old, MPI_INT64_T, 0, 0, MPI_SUM, win);
		MPI_Win_flush(0, win);
		expect_number("the value before a fetch-and-add", old, i);
	}
	MPI_Win_sync(win);
	expect_number("the sum", window[0], 100);
	MPI_Compare_and_swap(&value, &want, &old, MPI_INT64_T, 0, 0, win);
	MPI_Win_flush(0, win);
	expect_number("the value before a compare-and-swap", old, 100);
	MPI_Compare_and_swap(&one, &want, &old, MPI_INT64_T, 0, 0, win);
	MPI_Win_flush(0, win);
	expect_number("the value before a compare-and-swap that fails", old, 7);
	MPI_Accumulate(&one, 1, MPI_INT64_T, 0, 8, 1, MPI_INT64_T, MPI_SUM, win);
	MPI_Win_flush(0, win);
	MPI_Win_sync(win);
	expect_number("the value that was swapped in", window[0], 7);
	expect_number("the value that was added to", window[1], 42);
}

int
main(int argc, char **argv)
{
	struct buffer src, dst;
	unsigned int tests = 0;
	uint8_t *window;
	MPI_Win win;
	int size;

	MPI_Init(&argc, &argv);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (size != 1) {
		fprintf(stderr,
			"mpi_self: run it with -np 1: it sends to itself; mpi_ranks is for several processes\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	src = buffer_new();
	dst = buffer_new();
	MPI_Win_allocate((MPI_Aint)MAX_LEN, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window, &win);
	MPI_Win_lock_all(0, win);
	for (size_t power = 1; power <= MAX_LEN; power *= 2)
		for (size_t len = power == 1 ? 1 : power - 1; len <= power + 1; len++) {
			if (len > MAX_LEN)
				break;
			test_expected(&src, &dst, len, 2 * tests);
			test_unexpected(&src, &dst, len, 2 * tests + 1);
			test_window(&src, &dst, win, window, len, 2 * tests);
			tests++;
		}
	for (size_t len = 1024; len <= MAX_LEN; len *= 8) {
		test_many(&src, &dst, len);
		test_strided(&src, &dst, len);
	}
	test_atomics(win, (int64_t *)(void *)window);
	MPI_Win_unlock_all(win);
	MPI_Win_free(&win);
	MPI_Finalize();
	free(src.all);
	free(dst.all);
	printf("mpi_self: %u sizes from 1 to %zu bytes, %u errors\n", tests, MAX_LEN, errors);
	return errors == 0 ? 0 : 1;
}
