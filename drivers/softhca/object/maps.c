/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads /proc/self/maps without allocating memory, and without calls that a signal handler must not
 * make.
 */
#include "maps.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "ctx.h"
#include "raw.h"

#define ADAPTER_NAME "/memfd:" CTX_MEMFD_NAME " "

/* A copy of struct procmap_query in linux/fs.h of Linux 6.11. */
struct map_query {
	uint64_t size; /* size of this struct */
	uint64_t flags;
	uint64_t at;
	/* first field of the kernel's answer; the answer has no addresses of buffers */
	uint64_t from, to;
	uint64_t rights;
	uint64_t page_size;
	uint64_t offset;
	uint64_t ino;
	uint32_t dev_major, dev_minor;
	uint32_t name_size; /* in: length of the buffer; out: length of the name, or 0 */
	uint32_t build_id_size;
	uint64_t name;
	uint64_t build_id;
};
#define MAP_QUERY   _IOWR('f', 17, struct map_query)
#define MAP_READS   0x1U
#define MAP_WRITES  0x2U
#define MAP_OR_NEXT 0x10U
_Static_assert(sizeof(struct map_query) == 104, "as the kernel has it");

/* ---------------------------------------------------------------- all mappings */

bool
maps_open(struct maps *m)
{
	m->fd = raw_open("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
	m->at = m->n = 0;
	return m->fd >= 0;
}

/*
 * This file makes the system calls itself, because close(2) and read(2) of the C library have
 * cancellation points.
 */
void
maps_close(struct maps *m)
{
	(void)syscall(SYS_close, m->fd);
}

static bool
fill(struct maps *m)
{
	long n;

	do
		n = syscall(SYS_read, m->fd, m->buf, sizeof(m->buf));
	while (n < 0 && errno == EINTR);
	m->at = 0;
	m->n = n > 0 ? (size_t)n : 0;
	return n > 0;
}

/* Reads the beginning of the next line into a string. Returns false at the end of the file. */
static bool
next_line(struct maps *m, char text[MAPS_PREFIX])
{
	size_t len = 0;
	char c;

	do {
		if (m->at == m->n && !fill(m))
			return false;
		c = m->buf[m->at++];
		if (len < MAPS_PREFIX - 1 && c != '\n')
			text[len++] = c;
	} while (c != '\n');
	text[len] = '\0';
	return true;
}

/* Reads a number, and skips the character after it. */
static uint64_t
number(const char **text, unsigned int base)
{
	static const char digits[] = "0123456789abcdef";
	uint64_t value = 0;

	for (; **text != '\0'; ++*text) {
		const char *digit = memchr(digits, **text, base);

		if (digit == NULL) {
			++*text;
			break;
		}
		value = value * base + (uint64_t)(digit - digits);
	}
	return value;
}

/* A line is: FROM-TO rwxp OFFSET MAJOR:MINOR INODE      PATH */
bool
maps_next(struct maps *m, struct mapping_line *line)
{
	unsigned int dev_major, dev_minor;
	char text[MAPS_PREFIX];
	const char *at = text;

	if (!next_line(m, text))
		return false;
	line->from = number(&at, 16);
	line->to = number(&at, 16);
	line->can_read = *at == 'r';
	line->can_write = *at != '\0' && at[1] == 'w';
	at += strcspn(at, " ");
	at += *at == ' ';
	line->offset = number(&at, 16);
	dev_major = (unsigned int)number(&at, 16);
	dev_minor = (unsigned int)number(&at, 16);
	line->dev = makedev(dev_major, dev_minor);
	line->ino = number(&at, 10);
	line->of_adapter = strstr(at, " " ADAPTER_NAME) != NULL;
	return true;
}

/* ---------------------------------------------------------------- one mapping */

bool
maps_find(struct maps *m, uintptr_t at, struct mapping_line *line)
{
	char name[MAPS_PREFIX] = "";
	struct map_query q = {.size = sizeof(q),
		.flags = MAP_OR_NEXT,
		.at = at,
		.name_size = sizeof(name),
		.name = (uintptr_t)name};

	if (raw_ioctl(m->fd, MAP_QUERY, &q) == 0) {
		*line = (struct mapping_line){.from = q.from,
			.to = q.to,
			.can_read = (q.rights & MAP_READS) != 0,
			.can_write = (q.rights & MAP_WRITES) != 0,
			.of_adapter = strncmp(name, ADAPTER_NAME, strlen(ADAPTER_NAME)) == 0,
			.offset = q.offset,
			.dev = makedev(q.dev_major, q.dev_minor),
			.ino = q.ino};
		return true;
	}
	/*
	 * ENOENT means that there is no mapping. Any other error means that the kernel lacks
	 * PROCMAP_QUERY, or that the name is longer than the buffer. Then all lines are read
	 * instead.
	 */
	if (errno == ENOENT)
		return false;
	while (maps_next(m, line))
		if (line->to > at)
			return true;
	return false;
}
