/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data that two processes of testgantry exchange over a socket, not by RDMA: frames, the
 * settings that must be equal, addresses, and the names of files. One end is the code under test.
 * The test writes the bytes of the other end by hand.
 */
#include <netinet/in.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "check.h"
#include "files.h"
#include "pair_address.h"
#include "pair_hello.h"
#include "pair_talk.h"
#include "report.h"

#define GIVE_UP_S 1

/* The signal handler of the program writes this variable. No signal comes here. */
atomic_int stop_signal, n_signals;

static char *error;

static void
setup(void)
{
	free(error);
	error = NULL;
	error_keep(&error);
}

/* Checks that the first error since setup() has this text. */
static void
check_error(const char *part)
{
	CHECK(error != NULL && strstr(error, part) != NULL, "the error is \"%s\", without \"%s\"",
		error != NULL ? error : "", part);
	setup();
}

/* A talk, and the socket of its other end. */
static struct talk *
start(int *fd)
{
	struct talk *t;
	int fds[2];

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	CHECK_EQ(talk_create(stream_of_socket(fds[0]), GIVE_UP_S, &t), 0);
	*fd = fds[1];
	setup();
	return t;
}

static void
put(int fd, const void *bytes, size_t len)
{
	CHECK_EQ(write(fd, bytes, len), (ssize_t)len);
}

/* Writes a header by hand: 4 letters, version, type, length. */
static void
put_header(int fd, const char *magic, uint8_t version, uint8_t type, uint32_t len)
{
	uint8_t h[12] = {0, 0, 0, 0, version, 0, type, 0, (uint8_t)len, (uint8_t)(len >> 8),
		(uint8_t)(len >> 16), (uint8_t)(len >> 24)};

	memcpy(h, magic, 4);
	put(fd, h, sizeof(h));
}

/* ------------------------------------------------------------------ frames */

static void
a_frame_has_the_bytes_that_the_header_describes(void)
{
	const uint8_t want[] = {'G', 'T', 'R', 'Y', 1, 0, TALK_LANE, 0, 3, 0, 0, 0, 'a', 'b', 'c'};
	uint8_t got[sizeof(want) + 1];
	int fd;
	struct talk *t = start(&fd);

	CHECK_EQ(talk_say(t, TALK_LANE, "abc", 3), 0);
	CHECK_EQ(read(fd, got, sizeof(got)), sizeof(want));
	CHECK(memcmp(got, want, sizeof(want)) == 0);
	talk_end(t);
	close(fd);
}

static void
frames_come_in_order_however_their_bytes_are_cut(void)
{
	static const uint8_t bytes[] = {'G', 'T', 'R', 'Y', 1, 0, TALK_PING, 0, 0, 0, 0, 0, 'G',
		'T', 'R', 'Y', 1, 0, TALK_FILE, 0, 2, 0, 0, 0, 'x', 'y', 'G', 'T', 'R', 'Y', 1, 0,
		TALK_READY, 0, 0, 0, 0, 0};
	struct talk_frame f;
	size_t cut, at;
	int fd, n;
	struct talk *t;

	for (cut = 1; cut <= sizeof(bytes); cut++) {
		enum talk_type got[3] = {0};
		size_t n_got = 0;

		t = start(&fd);
		for (at = 0; at < sizeof(bytes); at += cut) {
			put(fd, bytes + at, cut < sizeof(bytes) - at ? cut : sizeof(bytes) - at);
			while ((n = talk_look(t, &f)) == 1 && n_got < 3) {
				got[n_got++] = f.type;
				CHECK(f.type != TALK_FILE ||
					(f.len == 2 && memcmp(f.data, "xy", 2) == 0));
			}
			CHECK_EQ(n, 0);
		}
		CHECK_EQ(n_got, 2, "pings are not reported");
		CHECK_EQ(got[0], TALK_FILE);
		CHECK_EQ(got[1], TALK_READY);
		talk_end(t);
		close(fd);
	}
}

static void
what_is_no_frame_is_refused_by_a_sentence(void)
{
	static const struct {
		const char *magic;
		uint8_t version, type;
		uint32_t len;
		const char *says;
	} rows[] = {
		{"HTTP", 1, TALK_HELLO, 0, "does not talk as testgantry does"},
		{"GTRY", 2, TALK_HELLO, 0,
			"has version 2 of the exchange, this process has version 1"},
		{"GTRY", 1, TALK_HELLO, TALK_MAX + 1, "does not talk as testgantry does"},
		{"GTRY", 1, TALK_READY, 0, "a frame of type 5 and 0 bytes, which was not expected"},
	};
	struct talk_frame f;
	size_t i;
	int fd;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct talk *t = start(&fd);

		put_header(fd, rows[i].magic, rows[i].version, rows[i].type, rows[i].len);
		CHECK_EQ(talk_wait(t, TALK_HELLO, SIZE_MAX, &f), -1);
		check_error(rows[i].says);
		talk_end(t);
		close(fd);
	}
}

static void
a_frame_of_another_length_is_refused(void)
{
	struct talk_frame f;
	int fd;
	struct talk *t = start(&fd);

	put_header(fd, "GTRY", 1, TALK_LANE, 2);
	put(fd, "ab", 2);
	CHECK_EQ(talk_wait(t, TALK_LANE, 80, &f), -1);
	check_error("a frame of type 4 and 2 bytes");
	talk_end(t);
	close(fd);
}

static void
a_process_that_is_gone_is_told(void)
{
	struct talk_frame f;
	int fd;
	struct talk *t = start(&fd);

	/* the other process dies in the middle of a frame */
	put_header(fd, "GTRY", 1, TALK_HELLO, 5);
	close(fd);
	CHECK_EQ(talk_wait(t, TALK_HELLO, 5, &f), -1);
	check_error("has ended, and has not said why");
	talk_end(t);
}

static void
the_reason_of_the_other_process_is_printed_also_if_it_has_ended_meanwhile(void)
{
	struct talk_frame f;
	int fd;
	struct talk *t = start(&fd);

	put_header(fd, "GTRY", 1, TALK_ERROR, 9);
	put(fd, "disk full", 9);
	CHECK_EQ(talk_wait(t, TALK_HELLO, 0, &f), -1);
	check_error("the other process has stopped: disk full");
	talk_end(t);
	close(fd);

	t = start(&fd);
	put_header(fd, "GTRY", 1, TALK_READY, 0);
	put_header(fd, "GTRY", 1, TALK_ERROR, 9);
	put(fd, "disk full", 9);
	close(fd);
	CHECK_EQ(talk_say(t, TALK_READY, NULL, 0), -1);
	check_error("the other process has stopped: disk full");
	talk_end(t);
}

static void
this_process_says_once_why_it_ends(void)
{
	uint8_t got[64];
	int fd;
	struct talk *t = start(&fd);

	talk_fail(t, "no space");
	talk_fail(t, "something else");
	talk_end(t);
	CHECK_EQ(read(fd, got, sizeof(got)), 12 + 8);
	CHECK_EQ(got[6], TALK_ERROR);
	CHECK(memcmp(got + 12, "no space", 8) == 0);
	CHECK(error == NULL);
	close(fd);
}

static void
a_silent_process_is_given_up_and_one_that_pings_is_not(void)
{
	const uint64_t begin = now_ns();
	struct talk_frame f;
	uint8_t got[12];
	int fd, n;
	struct talk *t = start(&fd);

	/* For twice the time after which a silent process counts as dead, only pings come. */
	while (now_ns() - begin < 2 * GIVE_UP_S * NSEC_PER_S) {
		put_header(fd, "GTRY", 1, TALK_PING, 0);
		CHECK_EQ(talk_look(t, &f), 0);
		usleep(10000);
	}
	/* Meanwhile this process must have sent a ping. */
	CHECK_EQ(read(fd, got, sizeof(got)), sizeof(got));
	CHECK_EQ(got[6], TALK_PING);
	while ((n = talk_look(t, &f)) == 0)
		usleep(10000);
	CHECK_EQ(n, -1);
	check_error("has been silent for 1 s: it is stopped or hangs; --give-up SEC waits longer");
	talk_end(t);
	close(fd);
}

/* ------------------------------------------------------------------ settings */

static void
settings_that_differ_are_refused_by_their_option_and_both_values(void)
{
	static const struct {
		const char *mine, *theirs, *says;
	} rows[] = {
		{"mode write\nchunk 4096\n", "mode write\nchunk 4096\n", NULL},
		{"mode write\nchunk 4096\n", "chunk 4096\nmode write\n", NULL},
		{"mode write\nchunk 4096\n", "mode write\nchunk 40960\n",
			"--chunk: the other process has 40960, and this process has 4096: give both "
			"the same"},
		{"mode write\nchunk 4096\n", "mode read\nchunk 1\n",
			"--mode: the other process has read, and this process has write: give"},
		{"mode write\nnb-cores 2\n", "mode write\n",
			"--nb-cores: the other process has no value, and this process has 2"},
		{"mode read\n", "mode send\n", "--mode: the other process has send, and"},
		{"mode write\n", "mode writer\n", "--mode: the other process has writer, and"},
		{"mode write\n", "", "--mode: the other process has no value, and"},
	};
	size_t i;
	int fd;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct talk *t = start(&fd);

		put_header(fd, "GTRY", 1, TALK_HELLO, strlen(rows[i].theirs));
		put(fd, rows[i].theirs, strlen(rows[i].theirs));
		CHECK_EQ(hello(t, rows[i].mine), rows[i].says == NULL ? 0 : -1);
		if (rows[i].says != NULL)
			check_error(rows[i].says);
		talk_end(t);
		close(fd);
	}
}

/* ------------------------------------------------------------------ addresses */

static void
addresses_are_read_as_users_write_them(void)
{
	static const struct {
		const char *text;
		sa_family_t family; /* 0: the address is refused */
		const char *is;     /* the path of the socket, or the text of the error */
		uint16_t port;
	} rows[] = {
		{"127.0.0.1:7400", AF_INET, NULL, 7400},
		{"[::1]:7400", AF_INET6, NULL, 7400},
		{"unix:sock", AF_UNIX, "sock", 0},
		{"unix:/tmp/a:b", AF_UNIX, "/tmp/a:b", 0},
		{"./sock", AF_UNIX, "./sock", 0},
		{"/tmp/x:7400", AF_UNIX, "/tmp/x:7400", 0},
		{"unix:", 0, "a path of 0 bytes is refused", 0},
		{"7400", 0, "'7400' is no address: give HOST:PORT, or the path", 0},
		{"127.0.0.1:", 0, "is no address", 0},
		{"127.0.0.1:port", 0, "there is no address '127.0.0.1', port 'port'", 0},
		{"/tmp/0123456789012345678901234567890123456789012345678901234567890123456789"
		 "01234567890123456789012345678901234567890",
			0, "give one of 1 to 107 bytes", 0},
	};
	struct address a;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		setup();
		CHECK_EQ(address_parse("connect", rows[i].text, &a), rows[i].family != 0 ? 0 : -1,
			rows[i].text);
		if (rows[i].family == 0) {
			check_error(rows[i].is);
			continue;
		}
		CHECK_EQ(a.sockaddr.ss_family, rows[i].family, rows[i].text);
		if (rows[i].family == AF_UNIX)
			CHECK(strcmp(((struct sockaddr_un *)&a.sockaddr)->sun_path, rows[i].is) ==
				0);
		else
			CHECK_EQ(ntohs(((struct sockaddr_in *)&a.sockaddr)->sin_port),
				rows[i].port);
	}
}

/* A Unix socket in a folder of its own. */
static void
socket_in(char *dir, struct address *a)
{
	char path[64];

	CHECK(mkdtemp(dir) != NULL);
	snprintf(path, sizeof(path), "unix:%s/s", dir);
	CHECK_EQ(address_parse("listen", path, a), 0);
}

static void
a_socket_file_is_replaced_if_its_process_has_ended_and_removed_at_the_end(void)
{
	char dir[] = "/tmp/test-pair.XXXXXX";
	struct address a;
	int first, second, fd;

	setup();
	socket_in(dir, &a);
	first = address_bind(&a);
	CHECK(first >= 0);
	CHECK_EQ(address_connect(&a, 0), -1);
	check_error("no process answers at unix:/tmp/test-pair.");
	CHECK_EQ(listen(first, 1), 0);
	CHECK_EQ(address_bind(&a), -1);
	check_error("Address already in use; choose another one");
	fd = address_connect(&a, 0);
	CHECK(fd >= 0);
	close(fd);
	close(first); /* the file stays, as when a process is killed */
	second = address_bind(&a);
	CHECK(second >= 0);
	address_close(second, &a);
	CHECK_EQ(rmdir(dir), 0, "the folder is empty");
}

static void
another_file_is_never_replaced(void)
{
	char dir[] = "/tmp/test-pair.XXXXXX";
	struct address a;
	FILE *f;

	setup();
	socket_in(dir, &a);
	f = fopen(((struct sockaddr_un *)&a.sockaddr)->sun_path, "w");
	CHECK(f != NULL && fputs("mine", f) >= 0 && fclose(f) == 0);
	CHECK_EQ(address_bind(&a), -1);
	check_error("Address already in use");
	CHECK_EQ(unlink(((struct sockaddr_un *)&a.sockaddr)->sun_path), 0);
	rmdir(dir);
}

static void
port_0_becomes_the_port_that_the_kernel_has_chosen(void)
{
	struct sockaddr_in bound;
	socklen_t len = sizeof(bound);
	struct address a;
	char want[32];
	int fd;

	setup();
	CHECK_EQ(address_parse("listen", "127.0.0.1:0", &a), 0);
	fd = address_bind(&a);
	CHECK(fd >= 0);
	CHECK_EQ(getsockname(fd, (struct sockaddr *)&bound, &len), 0);
	snprintf(want, sizeof(want), "127.0.0.1:%u", ntohs(bound.sin_port));
	CHECK(strcmp(a.text, want) == 0, "%s", a.text);
	address_close(fd, &a);
}

/* ------------------------------------------------------------------ names */

static void
a_name_cannot_lead_out_of_the_output_folder(void)
{
	static const struct {
		const char *name;
		bool good;
	} rows[] = {
		{"a", true},
		{"a/b", true},
		{"...", true},
		{".a/b..", true},
		{"", false},
		{"/a", false},
		{"..", false},
		{"../a", false},
		{"a/../b", false},
		{"a/..", false},
		{"a/./b", false},
		{"a//b", false},
		{"a/", false},
	};
	struct file_set set = {0};
	size_t i, n = 0;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		setup();
		CHECK_EQ(files_add(&set, "out", rows[i].name, 7, 0640), rows[i].good ? 0 : -1,
			rows[i].name);
		if (!rows[i].good) {
			check_error("must stay below the output folder");
			continue;
		}
		n++;
		CHECK(strncmp(set.file[n - 1].output, "out/", 4) == 0 &&
			strcmp(set.file[n - 1].output + 4, rows[i].name) == 0);
		CHECK_EQ(set.file[n - 1].size, 7);
		CHECK_EQ(set.file[n - 1].permissions, 0640);
	}
	CHECK_EQ(set.n, n);
	setup();
	CHECK_EQ(files_check(&set), 0);
	CHECK_EQ(files_add(&set, "out", "a/b", 1, 0), 0);
	CHECK_EQ(files_check(&set), -1);
	check_error("would both become out/a/b");
	files_free(&set);
}

static const struct check_case cases[] = {
	{"a frame has the bytes that the header describes",
		a_frame_has_the_bytes_that_the_header_describes},
	{"frames come in order, however their bytes are cut",
		frames_come_in_order_however_their_bytes_are_cut},
	{"what is no frame is refused by a sentence", what_is_no_frame_is_refused_by_a_sentence},
	{"a frame of another length is refused", a_frame_of_another_length_is_refused},
	{"a process that is gone is told", a_process_that_is_gone_is_told},
	{"the reason of the other process is printed, also if it has ended meanwhile",
		the_reason_of_the_other_process_is_printed_also_if_it_has_ended_meanwhile},
	{"this process says once why it ends", this_process_says_once_why_it_ends},
	{"a silent process is given up, and one that pings is not",
		a_silent_process_is_given_up_and_one_that_pings_is_not},
	{"settings that differ are refused by their option and both values",
		settings_that_differ_are_refused_by_their_option_and_both_values},
	{"addresses are read as users write them", addresses_are_read_as_users_write_them},
	{"a socket file is replaced if its process has ended, and removed at the end",
		a_socket_file_is_replaced_if_its_process_has_ended_and_removed_at_the_end},
	{"another file is never replaced", another_file_is_never_replaced},
	{"port 0 becomes the port that the kernel has chosen",
		port_0_becomes_the_port_that_the_kernel_has_chosen},
	{"a name cannot lead out of the output folder",
		a_name_cannot_lead_out_of_the_output_folder},
};

int
main(int argc, char **argv)
{
	int rc = check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);

	free(error);
	return rc;
}
