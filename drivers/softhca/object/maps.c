/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads /proc/self/maps without memory of its own, and without a libc call that a signal may not make. */
#include "maps.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "ctx.h"
#include "raw.h"

#define ADAPTER_NAME " /memfd:" CTX_MEMFD_NAME " "

bool
maps_open(struct maps *m)
{
	m->fd = raw_open("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
	m->at = m->n = 0;
	return m->fd >= 0;
}

/* close(2) and read(2) without cancellation points. */
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

/* The beginning of the next line, as a string. False: the end of the file. */
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

/* A number in that base, and the character that ends it. */
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

/* FROM-TO rwxp OFFSET MAJOR:MINOR INODE      PATH */
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
	line->of_adapter = strstr(at, ADAPTER_NAME) != NULL;
	return true;
}
