/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocks of QP numbers, which processes claim by names of sockets. The expected names and addresses
 * are written here by hand.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "logged_by.h"
#include "names.h"
#include "raw.h"

#define LAST_BLOCK 4094u /* block 4095 has number 0xffffff, which means multicast */

/* ---- a bind(2) that records the names, and fails with `bind_error` if `bind_error` is not 0 */

static int bind_error;
static unsigned int n_bound, first_bound;
static uint8_t bound[4096];

int __wrap_raw_bind(int fd, const struct sockaddr *addr, socklen_t len);
int __real_raw_bind(int fd, const struct sockaddr *addr, socklen_t len);

int
__wrap_raw_bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	const struct sockaddr_un *un = (const void *)addr;
	char text[64];
	unsigned int block = 0;

	CHECK_EQ(un->sun_family, AF_UNIX);
	CHECK_EQ(un->sun_path[0], 0);
	CHECK_EQ(sscanf(un->sun_path + 1, "softhca/qpn/%u", &block), 1);
	snprintf(text, sizeof(text), "softhca/qpn/%u", block);
	CHECK_EQ(len, offsetof(struct sockaddr_un, sun_path) + 1 + strlen(text));
	CHECK(block < 4096);
	if (n_bound++ == 0)
		first_bound = block;
	bound[block]++;
	if (bind_error == 0)
		return __real_raw_bind(fd, addr, len);
	errno = bind_error;
	return -1;
}

static void
bind_fails(int error)
{
	bind_error = error;
	n_bound = 0;
	memset(bound, 0, sizeof(bound));
}

static uint32_t
claim(int *fd)
{
	uint32_t block = 0;

	CHECK_EQ(names_claim(&block, fd), 0);
	CHECK(block >= 1 && block <= LAST_BLOCK);
	return block << 12;
}

static int
connect_to(uint32_t number)
{
	int fd = -1;

	CHECK_EQ(names_connect(number, &fd), 0);
	return fd;
}

static void
check_is_free(uint32_t number)
{
	struct ucred owner;
	int fd = -1;

	CHECK(!names_is_held(number));
	CHECK_EQ(names_connect(number, &fd), -ECONNREFUSED);
	CHECK_EQ(fd, -1);
	CHECK_EQ(names_owner(number, &owner), -ECONNREFUSED);
}

/* ---- cases */

static void
case_claim(void)
{
	int fd, other;
	uint32_t number = claim(&fd), second = claim(&other);
	struct ucred owner = {0};

	CHECK(number != second);
	CHECK(names_is_held(number) && names_is_held(number + 4095));
	CHECK_EQ(names_owner(number + 77, &owner), 0);
	CHECK_EQ(owner.pid, getpid());
	CHECK_EQ(owner.uid, geteuid());
	CHECK_EQ(owner.gid, getegid());
	close(fd);
	check_is_free(number);
	check_is_free(number + 4095);
	CHECK(names_is_held(second));
	close(other);
	check_is_free(second);
}

static void
case_connect(void)
{
	static const char text[] = "one record";
	char got[64];
	int fd, from, at, type = 0;
	uint32_t number = claim(&fd);
	socklen_t len = sizeof(type);

	CHECK_EQ(accept4(fd, NULL, NULL, 0), -1);
	CHECK_EQ(errno, EAGAIN);
	from = connect_to(number + 4095);
	at = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	CHECK(at >= 0);
	CHECK_EQ(getsockopt(from, SOL_SOCKET, SO_TYPE, &type, &len), 0);
	CHECK_EQ(type, SOCK_SEQPACKET);
	CHECK((fcntl(from, F_GETFL) & O_NONBLOCK) != 0 && (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
	CHECK((fcntl(from, F_GETFD) & FD_CLOEXEC) != 0 && (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
	CHECK_EQ(send(from, text, sizeof(text), 0), (ssize_t)sizeof(text));
	CHECK_EQ(recv(at, got, sizeof(got), 0), (ssize_t)sizeof(text));
	CHECK(memcmp(got, text, sizeof(text)) == 0);
	/* The connection outlives the name. */
	close(fd);
	CHECK_EQ(send(at, text, sizeof(text), 0), (ssize_t)sizeof(text));
	CHECK_EQ(recv(from, got, sizeof(got), 0), (ssize_t)sizeof(text));
	close(at);
	close(from);
}

/*
 * If a process does not accept its connections, further peers must get EAGAIN: they try again
 * later.
 */
static void
case_backlog_is_full(void)
{
	int fd, peers[100], more = -1;
	uint32_t number = claim(&fd);
	struct ucred owner;

	for (unsigned int i = 0; i < 100; i++)
		peers[i] = connect_to(number);
	for (unsigned int i = 0; i < 100; i++)
		close(peers[i]);
	close(fd);
	number = claim(&fd);
	CHECK_EQ(listen(fd, 2), 0); /* room for 3 connections */
	for (unsigned int i = 0; i < 3; i++)
		peers[i] = connect_to(number);
	CHECK_EQ(names_connect(number, &more), -EAGAIN);
	CHECK_EQ(names_owner(number, &owner), -EAGAIN);
	CHECK_EQ(more, -1);
	CHECK(names_is_held(number));
	for (unsigned int i = 0; i < 3; i++)
		close(peers[i]);
	close(fd);
}

/* The search for a free block must begin at a random block. */
static void
case_random(void)
{
	unsigned int differ = 0, first = 0;

	for (unsigned int i = 0; i < 20; i++) {
		int fd;

		bind_fails(0);
		(void)claim(&fd);
		close(fd);
		if (i == 0)
			first = first_bound;
		differ += first_bound != first;
	}
	CHECK(differ != 0);
}

static void
claim_in_vain(void)
{
	uint32_t block = 99;
	int fd = -1;

	CHECK_EQ(names_claim(&block, &fd), bind_error == EADDRINUSE ? -ENOMEM : -bind_error);
	CHECK_EQ(block, 99);
	CHECK_EQ(fd, -1);
}

/* Each block must be tried once, and a line must be logged at the first failure only. */
static void
case_no_block_is_left(void)
{
	char text[1024];
	int before = dup(0), after;

	close(before);
	bind_fails(EADDRINUSE);
	(void)logged_by(claim_in_vain, text, sizeof(text));
	CHECK(strstr(text, "softhca: no QP number is left") == text, "%s", text);
	CHECK_EQ(n_bound, LAST_BLOCK);
	for (unsigned int block = 0; block < 4096; block++)
		CHECK_EQ(bound[block], block >= 1 && block <= LAST_BLOCK);
	(void)logged_by(claim_in_vain, text, sizeof(text));
	CHECK_EQ(text[0], 0);
	/* Another error ends the search. */
	bind_fails(EPERM);
	(void)logged_by(claim_in_vain, text, sizeof(text));
	CHECK(strstr(text, "softhca: cannot claim QP numbers") == text, "%s", text);
	CHECK_EQ(n_bound, 1);
	bind_fails(0);
	after = dup(0);
	CHECK_EQ(after, before); /* no descriptor is left open */
	close(after);
}

static uint32_t held;

static void
without_descriptors(void)
{
	uint32_t block;
	int fd = -1;
	struct ucred owner;

	CHECK_EQ(names_claim(&block, &fd), -EMFILE);
	CHECK_EQ(names_connect(held, &fd), -EMFILE);
	CHECK_EQ(names_owner(held, &owner), -EMFILE);
	CHECK_EQ(fd, -1);
}

static void
case_no_descriptor_is_left(void)
{
	struct rlimit was, low;
	char text[1024];
	int fd, log;

	held = claim(&fd);
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &was), 0);
	log = memfd_create("log", MFD_CLOEXEC);
	CHECK(log >= 0);
	low = (struct rlimit){.rlim_cur = (rlim_t)log + 1, .rlim_max = was.rlim_max};
	close(log);
	low.rlim_cur += 1; /* logged_by() opens two */
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
	(void)logged_by(without_descriptors, text, sizeof(text));
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &was), 0);
	CHECK(strstr(text, "softhca: too few file descriptors") == text, "%s", text);
	CHECK(strstr(text, "ulimit -n") != NULL, "%s", text);
	CHECK(strchr(text, '\n') == text + strlen(text) - 1, "%s", text); /* one line */
	close(fd);
}

/* When a process is killed, its block must become free: the kernel closes its socket. */
static void
case_death(void)
{
	int to_parent[2], status;
	uint32_t number = 0;
	struct ucred owner;
	pid_t child;

	CHECK_EQ(pipe(to_parent), 0);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		int fd;

		number = claim(&fd);
		CHECK_EQ(write(to_parent[1], &number, sizeof(number)), sizeof(number));
		pause();
		_exit(1);
	}
	CHECK_EQ(read(to_parent[0], &number, sizeof(number)), sizeof(number));
	CHECK(names_is_held(number));
	CHECK_EQ(names_owner(number, &owner), 0);
	CHECK_EQ(owner.pid, child);
	CHECK_EQ(kill(child, SIGKILL), 0);
	CHECK_EQ(waitpid(child, &status, 0), child);
	check_is_free(number);
	close(to_parent[0]);
	close(to_parent[1]);
}

static const struct check_case cases[] = {
	{"a claimed block is this process's, from its first number to its last", case_claim},
	{"a process is reached by any of its numbers", case_connect},
	{"a process with too many unaccepted connections is asked again later",
		case_backlog_is_full},
	{"blocks are claimed at random places", case_random},
	{"all blocks but the first and the last are tried; then one line", case_no_block_is_left},
	{"too few descriptors are an error and one line", case_no_descriptor_is_left},
	{"a dead process has no block", case_death},
};

int
main(int argc, char **argv)
{
	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
