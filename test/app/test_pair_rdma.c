/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stream of --rdma-cm between two processes: all bytes come in order, also if both processes
 * send before they receive, and if the sender ends at once.
 */
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gantry_env.h"
#include "pair_rdma.h"
#include "report.h"

#define LEN (3u << 20) /* much more than the messages in flight have room for */

/* The signal handler of the program writes this variable. No signal comes here. */
atomic_int stop_signal, n_signals;

static uint8_t mine[LEN], theirs[LEN];

/* Sends all bytes of `mine`, and receives nothing meanwhile. */
static void
send_all(struct stream *s)
{
	const uint64_t end = now_ns() + CHECK_PATIENCE_NS;
	size_t at = 0;
	ssize_t n;

	while (at < LEN) {
		CHECK(now_ns() < end, "%zu of %u bytes were sent", at, LEN);
		n = s->send(s, mine + at, LEN - at);
		CHECK(n > 0 || (n < 0 && errno == EAGAIN), "send returns %zd", n);
		if (n > 0)
			at += n;
		else
			s->wait(s, true, 20);
	}
}

/* Receives up to LEN bytes. Returns how many came before the end of the stream. */
static size_t
recv_all(struct stream *s)
{
	const uint64_t end = now_ns() + CHECK_PATIENCE_NS;
	size_t at = 0;
	ssize_t n = 1;

	while (at < LEN && n != 0) {
		CHECK(now_ns() < end, "%zu of %u bytes were received", at, LEN);
		n = s->recv(s, theirs + at, LEN - at);
		CHECK(n >= 0 || errno == EAGAIN, "recv returns %zd", n);
		if (n > 0)
			at += n;
		else if (n < 0)
			s->wait(s, false, 20);
	}
	return at;
}

/* Returns true if the stream ends without a further byte. */
static bool
ends(struct stream *s)
{
	const uint64_t end = now_ns() + CHECK_PATIENCE_NS;
	uint8_t byte;
	ssize_t n;

	while ((n = s->recv(s, &byte, 1)) < 0 && errno == EAGAIN && now_ns() < end)
		s->wait(s, false, 20);
	return n == 0;
}

static void
run(bool listens, const char *address)
{
	struct options o = {.give_up = 60};
	struct stream *s;

	env_refuse_fork_init();
	env_init(0);
	snprintf(listens ? o.listen : o.connect, ADDRESS_LEN, "%s", address);
	CHECK_EQ(rdma_check(&o), 0);
	s = rdma_meet(&o);
	CHECK(s != NULL);
	env_fill(mine, LEN, listens);
	/* Both processes send first. */
	send_all(s);
	CHECK_EQ(recv_all(s), LEN);
	CHECK(env_is_filled(theirs, LEN, !listens), "the bytes of both at once");
	/* The listening process sends, and ends the stream at once. */
	if (listens) {
		send_all(s);
		s->close(s);
	} else {
		memset(theirs, 0, LEN);
		CHECK_EQ(recv_all(s), LEN);
		CHECK(env_is_filled(theirs, LEN, !listens), "the last bytes");
		CHECK(ends(s), "the end of the stream");
		CHECK_EQ(s->send(s, mine, 1), -1, "sending to a process that has ended");
		CHECK(errno != EAGAIN);
		s->close(s);
	}
	fflush(NULL);
	_exit(check_failures != 0);
}

/* Returns a port that is probably free: rdma_cm has ports of its own. */
static unsigned int
find_port(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	CHECK(fd >= 0);
	CHECK_EQ(bind(fd, (const struct sockaddr *)&a, sizeof(a)), 0);
	CHECK_EQ(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	close(fd);
	return ntohs(a.sin_port);
}

int
main(void)
{
	char address[ADDRESS_LEN];
	int status, failed = 0;

	snprintf(address, sizeof(address), "127.0.0.1:%u", find_port());
	for (int i = 0; i < 2; i++) {
		fflush(NULL);
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			run(i == 0, address);
		}
	}
	for (int i = 0; i < 2; i++) {
		CHECK(wait(&status) > 0);
		failed |= status;
	}
	printf("%s: all bytes come in order, also if both send first and one ends\n",
		failed ? "FAILED" : "ok");
	return failed != 0;
}
