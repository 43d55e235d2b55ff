/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An MPI program of several processes. Each process sends to each other process: point to point, in
 * collective operations, and by puts, gets and atomics. It compares every received byte, and writes
 * the received bytes to the file OUT.RANK. A script can then compare the files of runs over
 * different networks.
 *
 * With --until-killed, the processes send to each other until one of them is killed.
 *
 * usage: mpi_ranks OUT
 *        mpi_ranks --until-killed
 * usertools/openmpi.sh builds and runs it.
 */
#include <mpi.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_LEN   ((size_t)1 << 20)
#define MAX_RANKS 16
#define FILLER    0xa5
#define TICKETS   200 /* numbers that each process draws by fetch-and-add */
#define TURNS     20  /* times that each process takes the lock */

/* With UCX 1.13 the larger messages are read or written in the peer's memory. */
static const size_t lengths[] = {1, 7, 64, 1023, 4096, 8193, 65537, 262144, MAX_LEN};

#define N_LENGTHS (sizeof(lengths) / sizeof(lengths[0]))

static int me, n_ranks;
static unsigned int errors;
static uint64_t received; /* bytes that were received and compared */
static FILE *out;
static uint8_t *src, *dst; /* a piece of MAX_LEN bytes for each process */

static void *
allocate(size_t len)
{
	void *p = malloc(len);

	if (p == NULL) {
		fprintf(stderr, "mpi_ranks: no memory\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	return p;
}

static void
report(const char *what, size_t len, int from)
{
	if (errors++ < 20)
		fprintf(stderr, "mpi_ranks: %s, %zu bytes, from %d to %d: wrong data\n", what, len,
			from, me);
}

static void
expect_number(const char *what, int64_t got, int64_t want)
{
	if (got != want && errors++ < 20)
		fprintf(stderr, "mpi_ranks: %s at %d: %" PRId64 "; %" PRId64 " expected\n", what,
			me, got, want);
}

/* Returns byte i of message `seed` from one process to another. */
static uint8_t
pattern(unsigned int seed, int from, int to, size_t i)
{
	uint32_t x = (uint32_t)i * 2654435761u + seed * 40503u + (uint32_t)from * 97u +
		     (uint32_t)to * 1009u;

	x *= 2246822519u;
	return (uint8_t)(x >> 24 ^ x >> 11);
}

static void
fill(uint8_t *p, size_t len, unsigned int seed, int from, int to)
{
	for (size_t i = 0; i < len; i++)
		p[i] = pattern(seed, from, to, i);
}

/* Compares a received message with what its sender has sent, and writes it to the file. */
static void
expect(const char *what, const uint8_t *p, size_t len, unsigned int seed, int from, int to)
{
	for (size_t i = 0; i < len; i++)
		if (p[i] != pattern(seed, from, to, i)) {
			report(what, len, from);
			break;
		}
	received += len;
	if (out != NULL && fwrite(p, 1, len, out) != len) {
		perror("mpi_ranks: cannot write the file");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
}

static uint8_t *
piece(uint8_t *buffer, int rank)
{
	return buffer + MAX_LEN * (size_t)rank;
}

/* Sends a message to each process, and receives one from each process. */
static void
test_exchange(size_t len, unsigned int seed)
{
	MPI_Request requests[2 * MAX_RANKS];
	MPI_Status status[2 * MAX_RANKS];
	int count;

	memset(dst, FILLER, MAX_LEN * (size_t)n_ranks);
	for (int r = 0; r < n_ranks; r++) {
		fill(piece(src, r), len, seed, me, r);
		MPI_Irecv(piece(dst, r), (int)MAX_LEN, MPI_BYTE, r, (int)seed, MPI_COMM_WORLD,
			&requests[r]);
	}
	for (int r = 0; r < n_ranks; r++)
		MPI_Isend(piece(src, r), (int)len, MPI_BYTE, r, (int)seed, MPI_COMM_WORLD,
			&requests[n_ranks + r]);
	MPI_Waitall(2 * n_ranks, requests, status);
	for (int r = 0; r < n_ranks; r++) {
		MPI_Get_count(&status[r], MPI_BYTE, &count);
		expect_number("the length of a message", count, (int64_t)len);
		expect("a message", piece(dst, r), len, seed, r, me);
		if (len < MAX_LEN && piece(dst, r)[len] != FILLER)
			report("the byte after a message", len, r);
	}
}

/*
 * Sends around a ring. The receiver knows neither the sender nor the length, and receives the
 * message after it was sent.
 */
static void
test_ring(size_t len, unsigned int seed)
{
	const int next = (me + 1) % n_ranks, previous = (me + n_ranks - 1) % n_ranks;
	MPI_Request request;
	MPI_Status status;
	int count;

	fill(src, len, seed, me, next);
	MPI_Issend(src, (int)len, MPI_BYTE, next, (int)seed, MPI_COMM_WORLD, &request);
	MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
	MPI_Get_count(&status, MPI_BYTE, &count);
	expect_number("the source of a probed message", status.MPI_SOURCE, previous);
	expect_number("the length of a probed message", count, (int64_t)len);
	MPI_Recv(dst, count, MPI_BYTE, previous, (int)seed, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	expect("a message of a ring", dst, len, seed, previous, me);
	MPI_Barrier(MPI_COMM_WORLD);
}

static void
test_all_to_all(size_t len, unsigned int seed)
{
	memset(dst, FILLER, MAX_LEN * (size_t)n_ranks);
	for (int r = 0; r < n_ranks; r++)
		fill(src + len * (size_t)r, len, seed, me, r);
	MPI_Alltoall(src, (int)len, MPI_BYTE, dst, (int)len, MPI_BYTE, MPI_COMM_WORLD);
	for (int r = 0; r < n_ranks; r++)
		expect("MPI_Alltoall", dst + len * (size_t)r, len, seed, r, me);
}

/* Each pair of processes has a length of its own, also none. */
static size_t
length_of(size_t len, int from, int to)
{
	return (len * (size_t)(from + 2 * to)) / (3 * (size_t)n_ranks);
}

static void
test_all_to_all_v(size_t len, unsigned int seed)
{
	int out_counts[MAX_RANKS], in_counts[MAX_RANKS], at[MAX_RANKS];

	for (int r = 0; r < n_ranks; r++) {
		at[r] = r * (int)MAX_LEN;
		out_counts[r] = (int)length_of(len, me, r);
		in_counts[r] = (int)length_of(len, r, me);
		fill(piece(src, r), length_of(len, me, r), seed, me, r);
	}
	memset(dst, FILLER, MAX_LEN * (size_t)n_ranks);
	MPI_Alltoallv(src, out_counts, at, MPI_BYTE, dst, in_counts, at, MPI_BYTE, MPI_COMM_WORLD);
	for (int r = 0; r < n_ranks; r++)
		expect("MPI_Alltoallv", piece(dst, r), length_of(len, r, me), seed, r, me);
}

static void
test_others(size_t len, unsigned int seed)
{
	int64_t *numbers = (int64_t *)(void *)src, *sums = (int64_t *)(void *)dst;
	const size_t n = len / 8;

	for (int root = 0; root < n_ranks; root++) {
		memset(dst, FILLER, len);
		if (me == root)
			fill(dst, len, seed, root, 0);
		MPI_Bcast(dst, (int)len, MPI_BYTE, root, MPI_COMM_WORLD);
		expect("MPI_Bcast", dst, len, seed, root, 0);
	}
	fill(src, len, seed, me, 0);
	MPI_Allgather(src, (int)len, MPI_BYTE, dst, (int)len, MPI_BYTE, MPI_COMM_WORLD);
	for (int r = 0; r < n_ranks; r++)
		expect("MPI_Allgather", dst + len * (size_t)r, len, seed, r, 0);
	for (size_t i = 0; i < n; i++)
		numbers[i] = (int64_t)i * (me + 1);
	MPI_Allreduce(numbers, sums, (int)n, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
	for (size_t i = 0; i < n; i++)
		if (sums[i] != (int64_t)i * n_ranks * (n_ranks + 1) / 2) {
			report("MPI_Allreduce", len, me);
			break;
		}
	received += n * 8;
}

/*
 * Each process puts a message into its piece of each other process's window, and then gets it back.
 */
static void
test_window(MPI_Win win, uint8_t *window, size_t len, unsigned int seed)
{
	const MPI_Aint at = (MPI_Aint)((size_t)me * MAX_LEN) + (len < MAX_LEN ? 1 : 0);

	memset(window, FILLER, MAX_LEN * (size_t)n_ranks);
	MPI_Win_sync(win);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int r = 0; r < n_ranks; r++) {
		fill(piece(src, r), len, seed, me, r);
		MPI_Put(piece(src, r), (int)len, MPI_BYTE, r, at, (int)len, MPI_BYTE, win);
	}
	MPI_Win_flush_all(win);
	memset(dst, FILLER, MAX_LEN * (size_t)n_ranks);
	for (int r = 0; r < n_ranks; r++)
		MPI_Get(piece(dst, r), (int)len, MPI_BYTE, r, at, (int)len, MPI_BYTE, win);
	MPI_Win_flush_all(win);
	for (int r = 0; r < n_ranks; r++)
		expect("a get", piece(dst, r), len, seed, me, r);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_sync(win);
	for (int r = 0; r < n_ranks; r++) {
		const uint8_t *p = piece(window, r) + (len < MAX_LEN ? 1 : 0);

		expect("a put", p, len, seed, r, me);
		if (len < MAX_LEN - 1 && (p[-1] != FILLER || p[len] != FILLER))
			report("the bytes beside a put", len, r);
	}
	MPI_Barrier(MPI_COMM_WORLD);
}

/*
 * All processes draw numbers from one counter: each number is drawn once, and a process's numbers
 * ascend.
 */
static void
test_tickets(MPI_Win win)
{
	int64_t mine[TICKETS], *all = allocate(sizeof(mine) * (size_t)n_ranks);
	const int64_t one = 1;
	bool drawn[TICKETS * MAX_RANKS] = {false};

	for (int i = 0; i < TICKETS; i++) {
		MPI_Fetch_and_op(&one, &mine[i], MPI_INT64_T, 0, 0, MPI_SUM, win);
		MPI_Win_flush(0, win);
		if (i > 0 && mine[i] <= mine[i - 1])
			expect_number("a number that must ascend", mine[i], mine[i - 1] + 1);
	}
	MPI_Allgather(mine, TICKETS, MPI_INT64_T, all, TICKETS, MPI_INT64_T, MPI_COMM_WORLD);
	for (int i = 0; i < TICKETS * n_ranks; i++) {
		const bool good = all[i] >= 0 && all[i] < TICKETS * n_ranks && !drawn[all[i]];

		expect_number("a number is drawn once", good, true);
		if (good)
			drawn[all[i]] = true;
	}
	free(all);
}

/*
 * All processes add to a number by get and put, while they hold a lock that they take by
 * compare-and-swap. Then they add to another number by MPI_Accumulate. The lock and the numbers are
 * in the window of the last process.
 */
static void
test_lock(MPI_Win win)
{
	const int owner = n_ranks - 1;
	const int64_t locked = me + 1, unlocked = 0;
	int64_t old, value;

	for (int i = 0; i < TURNS; i++) {
		do {
			MPI_Compare_and_swap(&locked, &unlocked, &old, MPI_INT64_T, owner, 8, win);
			MPI_Win_flush(owner, win);
		} while (old != unlocked);
		MPI_Get(&value, 1, MPI_INT64_T, owner, 16, 1, MPI_INT64_T, win);
		MPI_Win_flush(owner, win);
		value++;
		MPI_Put(&value, 1, MPI_INT64_T, owner, 16, 1, MPI_INT64_T, win);
		MPI_Win_flush(owner, win);
		MPI_Compare_and_swap(&unlocked, &locked, &old, MPI_INT64_T, owner, 8, win);
		MPI_Win_flush(owner, win);
		expect_number("the lock's holder", old, locked);
	}
	MPI_Accumulate(&locked, 1, MPI_INT64_T, owner, 24, 1, MPI_INT64_T, MPI_SUM, win);
	MPI_Win_flush(owner, win);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Get(&value, 1, MPI_INT64_T, owner, 16, 1, MPI_INT64_T, win);
	MPI_Get(&old, 1, MPI_INT64_T, owner, 24, 1, MPI_INT64_T, win);
	MPI_Win_flush(owner, win);
	expect_number("the number that a lock protects", value, (int64_t)TURNS * n_ranks);
	expect_number("the sum of MPI_Accumulate", old, (int64_t)n_ranks * (n_ranks + 1) / 2);
}

static void
test_one_sided(void)
{
	uint8_t *window;
	MPI_Win win;

	MPI_Win_allocate((MPI_Aint)(MAX_LEN * (size_t)n_ranks), 1, MPI_INFO_NULL, MPI_COMM_WORLD,
		&window, &win);
	MPI_Win_lock_all(0, win);
	for (size_t i = 0; i < N_LENGTHS; i++)
		test_window(win, window, lengths[i], (unsigned int)(5 * N_LENGTHS + i));
	memset(window, 0, 64);
	MPI_Win_sync(win);
	MPI_Barrier(MPI_COMM_WORLD);
	test_tickets(win);
	test_lock(win);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_unlock_all(win);
	MPI_Win_free(&win);
}

static void
test_all(void)
{
	for (size_t i = 0; i < N_LENGTHS; i++) {
		const unsigned int seed = (unsigned int)i;

		test_exchange(lengths[i], seed);
		test_ring(lengths[i], seed + (unsigned int)N_LENGTHS);
		test_all_to_all(lengths[i], seed + 2 * (unsigned int)N_LENGTHS);
		test_all_to_all_v(lengths[i], seed + 3 * (unsigned int)N_LENGTHS);
		test_others(lengths[i], seed + 4 * (unsigned int)N_LENGTHS);
	}
	test_one_sided();
}

int
main(int argc, char **argv)
{
	uint64_t all_received = 0;
	unsigned int all_errors = 0;
	char path[4096];

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
	if (argc != 2 || n_ranks > MAX_RANKS) {
		fprintf(stderr,
			"usage: mpi_ranks OUT | --until-killed, with at most %d processes\n",
			MAX_RANKS);
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	src = allocate(MAX_LEN * (size_t)n_ranks);
	dst = allocate(MAX_LEN * (size_t)n_ranks);
	if (strcmp(argv[1], "--until-killed") == 0)
		for (unsigned int round = 0; errors == 0; round++) {
			test_exchange(lengths[round % N_LENGTHS], round % 30000);
			if (round == N_LENGTHS) {
				printf("mpi_ranks: process %d of rank %d sends\n", (int)getpid(),
					me);
				fflush(stdout);
			}
		}
	else {
		snprintf(path, sizeof(path), "%s.%d", argv[1], me);
		out = fopen(path, "wb");
		if (out == NULL) {
			perror(path);
			MPI_Abort(MPI_COMM_WORLD, 2);
		}
		test_all();
		if (fclose(out) != 0) {
			perror(path);
			MPI_Abort(MPI_COMM_WORLD, 2);
		}
	}
	MPI_Allreduce(&errors, &all_errors, 1, MPI_UNSIGNED, MPI_SUM, MPI_COMM_WORLD);
	MPI_Allreduce(&received, &all_received, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
	MPI_Finalize();
	free(src);
	free(dst);
	if (me == 0)
		printf("mpi_ranks: %d processes, %" PRIu64 " bytes compared, %u errors\n", n_ranks,
			all_received, all_errors);
	return all_errors == 0 ? 0 : 1;
}
