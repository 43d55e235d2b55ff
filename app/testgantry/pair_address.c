/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Parses addresses, and makes the connection of two processes.
 */
#include "pair_address.h"

#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "job.h"
#include "quote.h"
#include "report.h"

#define UNIX_PREFIX "unix:"
#define AGAIN_MS    50 /* milliseconds between two tries to connect */

/* ------------------------------------------------------------------ parsing */

static int
parse_path(const char *option, const char *path, struct address *a)
{
	struct sockaddr_un *sun = (struct sockaddr_un *)&a->sockaddr;
	size_t len = strlen(path);

	if (len == 0 || len >= sizeof(sun->sun_path)) {
		error_print("--%s: a path of %zu bytes is refused: give one of 1 to %zu bytes",
			option, len, sizeof(sun->sun_path) - 1);
		return -1;
	}
	sun->sun_family = AF_UNIX;
	memcpy(sun->sun_path, path, len + 1);
	a->len = sizeof(*sun);
	return 0;
}

int
address_split(const char *option, const char *text, char host[ADDRESS_LEN], char port[ADDRESS_LEN])
{
	const char *colon = strrchr(text, ':');
	size_t len;

	if (colon == NULL || colon[1] == '\0') {
		error_print("--%s: %s is no address: give HOST:PORT, or the path of a Unix socket "
			    "with a slash",
			option, quote_value(text));
		return -1;
	}
	len = colon - text;
	if (len >= 2 && text[0] == '[' && text[len - 1] == ']') {
		text++;
		len -= 2;
	}
	snprintf(host, ADDRESS_LEN, "%.*s", (int)len, text);
	snprintf(port, ADDRESS_LEN, "%s", colon + 1);
	return 0;
}

/* Returns true if the port is a number above 65535, of which getaddrinfo(3) takes the low bits. */
static bool
is_too_large(const char *port)
{
	char *end;
	const unsigned long number = strtoul(port, &end, 10);

	return isdigit(port[0]) && *end == '\0' && number > UINT16_MAX;
}

static int
parse_host(const char *option, const char *text, struct address *a)
{
	const struct addrinfo hints = {
		.ai_flags = strcmp(option, "listen") == 0 ? AI_PASSIVE : 0,
		.ai_socktype = SOCK_STREAM,
	};
	char host[ADDRESS_LEN], port[ADDRESS_LEN];
	struct addrinfo *found;
	int rc;

	if (address_split(option, text, host, port) != 0)
		return -1;
	if (is_too_large(port)) {
		error_print("--%s: there is no port %s: give one of at most %u", option,
			quote_value(port), UINT16_MAX);
		return -1;
	}
	rc = getaddrinfo(host[0] != '\0' ? host : NULL, port, &hints, &found);
	if (rc != 0) {
		error_print("--%s: there is no address %s, port %s: %s", option, quote_value(host),
			quote_value(port), gai_strerror(rc));
		return -1;
	}
	memcpy(&a->sockaddr, found->ai_addr, found->ai_addrlen);
	a->len = found->ai_addrlen;
	freeaddrinfo(found);
	return 0;
}

bool
address_is_path(const char *text)
{
	return strncmp(text, UNIX_PREFIX, strlen(UNIX_PREFIX)) == 0 || strchr(text, '/') != NULL;
}

int
address_parse(const char *option, const char *text, struct address *a)
{
	const size_t prefix = strlen(UNIX_PREFIX);

	*a = (struct address){0};
	snprintf(a->text, sizeof(a->text), "%s", text);
	if (strncmp(text, UNIX_PREFIX, prefix) == 0)
		return parse_path(option, text + prefix, a);
	return address_is_path(text) ? parse_path(option, text, a) : parse_host(option, text, a);
}

/* Returns the path of a Unix socket, or NULL for TCP. */
static const char *
path_of(const struct address *a)
{
	return a->sockaddr.ss_family == AF_UNIX
		       ? ((const struct sockaddr_un *)&a->sockaddr)->sun_path
		       : NULL;
}

/* ------------------------------------------------------------------ listening */

/* Returns true if the address is the file of a socket to which no process listens any more. */
static bool
is_left_over(const struct address *a)
{
	struct stat st;
	int fd;
	bool refused;

	if (path_of(a) == NULL || lstat(path_of(a), &st) != 0 || !S_ISSOCK(st.st_mode))
		return false;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	refused = fd >= 0 && connect(fd, (const struct sockaddr *)&a->sockaddr, a->len) != 0 &&
		  errno == ECONNREFUSED;
	if (fd >= 0)
		close(fd);
	return refused;
}

/* Replaces port 0 in the text by the port that the kernel has chosen. */
static void
show_port(int fd, struct address *a)
{
	struct sockaddr_in6 bound = {0};
	socklen_t len = sizeof(bound);
	char *colon = strrchr(a->text, ':');

	if (path_of(a) != NULL || strcmp(colon, ":0") != 0 ||
		getsockname(fd, (struct sockaddr *)&bound, &len) != 0)
		return;
	/* sin_port and sin6_port have the same offset */
	sprintf(colon, ":%u", ntohs(bound.sin6_port));
}

int
address_bind(struct address *a)
{
	const int on = 1;
	int fd = socket(a->sockaddr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0), rc;

	if (fd >= 0) {
		if (path_of(a) == NULL)
			setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		rc = bind(fd, (const struct sockaddr *)&a->sockaddr, a->len);
		if (rc != 0 && errno == EADDRINUSE && is_left_over(a)) {
			unlink(path_of(a));
			rc = bind(fd, (const struct sockaddr *)&a->sockaddr, a->len);
		}
		if (rc == 0) {
			show_port(fd, a);
			return fd;
		}
	}
	error_print("--listen: cannot use the address %s: %s; choose another one",
		quote_name(a->text), strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Small messages are sent at once, and are never held back for more bytes. */
static int
prepare(int fd)
{
	const int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* not for a Unix socket */
	return fd;
}

/* Returns true if the other end of a connection has sent a byte. */
static bool
has_spoken(int fd, uint32_t give_up_s)
{
	const uint64_t end_ns = now_ns() + give_up_s * NSEC_PER_S;
	struct pollfd in = {.fd = fd, .events = POLLIN};
	char byte;

	while (stop_signal == 0 && now_ns() < end_ns)
		if (poll(&in, 1, AGAIN_MS) > 0)
			return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
	return false;
}

int
address_accept(int listener, const struct address *a, uint32_t give_up_s)
{
	struct pollfd in = {.fd = listener, .events = POLLIN};
	int fd = -1;

	if (listen(listener, 1) == 0) {
		printf("waiting for another process: testgantry --connect %s\n",
			quote_name(a->text));
		fflush(stdout);
		while (fd < 0 && stop_signal == 0) {
			if (poll(&in, 1, AGAIN_MS) > 0)
				fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
			if (fd < 0 || has_spoken(fd, give_up_s))
				continue;
			close(fd);
			fd = -1;
		}
	}
	if (fd >= 0)
		return prepare(fd);
	if (stop_signal == 0)
		error_print("cannot listen at %s: %s", quote_name(a->text), strerror(errno));
	return -1;
}

void
address_close(int listener, const struct address *a)
{
	close(listener);
	if (path_of(a) != NULL)
		unlink(path_of(a));
}

/* ------------------------------------------------------------------ connecting */

int
address_connect(const struct address *a, uint32_t give_up_s)
{
	const uint64_t end_ns = now_ns() + give_up_s * NSEC_PER_S;
	const struct timeval longest = {.tv_sec = give_up_s};
	bool said = false;
	int fd, error;

	do {
		fd = socket(a->sockaddr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		/* Also limits how long connect(2) waits for a machine that does not answer. */
		if (fd >= 0 && give_up_s != 0)
			setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof(longest));
		if (fd >= 0 && connect(fd, (const struct sockaddr *)&a->sockaddr, a->len) == 0)
			return prepare(fd);
		error = errno == EINPROGRESS ? ETIMEDOUT : errno;
		if (fd >= 0)
			close(fd);
		if (error != ECONNREFUSED && error != ENOENT)
			break;
		if (!said)
			printf("no process listens at %s yet; trying for %u s\n",
				quote_name(a->text), give_up_s);
		said = true;
		fflush(stdout);
		usleep(AGAIN_MS * 1000);
	} while (stop_signal == 0 && now_ns() < end_ns);
	if (stop_signal == 0)
		error_print("--connect: no process answers at %s: %s; start testgantry --listen "
			    "there first",
			quote_name(a->text), strerror(error));
	return -1;
}
