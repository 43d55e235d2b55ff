/* SPDX-License-Identifier: BSD-3-Clause */
/* Random numbers, mutations and guarded memory of the fuzzers: see fuzz.h. */
#include "fuzz.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <unistd.h>

#include "check.h"

#define SLACK_BYTE 0x3c
#define SECRET_RUN 12 /* number of equal bytes in a row that random data do not have */

static uint64_t state;

void
fuzz_die(const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, "%s:%d: ", file, line);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	abort();
}

void
fuzz_fix_addresses(char **argv)
{
	int now = personality(0xffffffff); /* reads the current setting */

	if (now == -1 || (now & ADDR_NO_RANDOMIZE) != 0 ||
		personality((unsigned long)now | ADDR_NO_RANDOMIZE) == -1)
		return;
	execv("/proc/self/exe", argv);
	FUZZ_DIE("starting again: %s", strerror(errno));
}

void
fuzz_begin(uint64_t seed, unsigned int seconds)
{
	state = seed;
	printf("seed %llu\n", (unsigned long long)seed);
	fflush(stdout);
	alarm(seconds);
}

/* ---- numbers */

uint64_t
rnd(uint64_t n)
{
	return check_random(&state) % n;
}

uint64_t
rnd_word(void)
{
	switch (rnd(7)) {
	case 0:
		return rnd(16);
	case 1:
		return UINT64_C(1) << rnd(64);
	case 2:
		return (UINT64_C(1) << rnd(64)) - 1;
	case 3:
		return rnd(16) << 32 | rnd(16);
	case 4:
		return rnd(70000);
	case 5:
		return ~rnd(16);
	default:
		return check_random(&state);
	}
}

void
rnd_bytes(uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		p[i] = (uint8_t)rnd(256);
}

/* ---- mutations */

static uint64_t
mutated(uint64_t v)
{
	switch (rnd(6)) {
	case 0:
		return v + 1 + rnd(4);
	case 1:
		return v - 1 - rnd(4);
	case 2:
		return v ^ UINT64_C(1) << rnd(64);
	case 3:
		return v << (1 + rnd(4));
	default:
		return rnd_word();
	}
}

/* The host is little endian, so the field's bytes are the first bytes of v. */
static void
mutate(uint8_t *p, size_t len, bool swap)
{
	size_t size = (size_t)1 << rnd(4);
	uint64_t v = 0;

	if (len == 0)
		return;
	while (size > len)
		size /= 2;
	p += rnd(len / size) * size;
	for (size_t i = 0; i < size; i++)
		v |= (uint64_t)p[swap ? size - 1 - i : i] << (8 * i);
	v = mutated(v);
	for (size_t i = 0; i < size; i++)
		p[swap ? size - 1 - i : i] = (uint8_t)(v >> (8 * i));
}

void
mutate_field(uint8_t *p, size_t len)
{
	mutate(p, len, false);
}

void
mutate_field_be(uint8_t *p, size_t len)
{
	mutate(p, len, true);
}

/* ---- guarded memory */

struct block {
	struct block *next;
	uint8_t *base; /* address of the first inaccessible page */
	uint8_t *mem, *copy;
	size_t len, slack, pages;
	bool frozen;
};

static struct block *blocks;

uint8_t *
fuzz_guarded(size_t len)
{
	size_t pages = (len + FUZZ_PAGE - 1) / FUZZ_PAGE * FUZZ_PAGE;
	struct block *b = calloc(1, sizeof(*b));
	uint8_t *p =
		mmap(NULL, pages + 2 * FUZZ_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (b == NULL || p == MAP_FAILED ||
		mprotect(p + FUZZ_PAGE, pages, PROT_READ | PROT_WRITE) != 0)
		FUZZ_DIE("no memory");
	b->base = p;
	b->pages = pages;
	b->len = len;
	b->slack = pages - len;
	b->mem = p + FUZZ_PAGE + b->slack;
	b->copy = malloc(len);
	if (b->copy == NULL)
		FUZZ_DIE("no memory");
	memset(p + FUZZ_PAGE, SLACK_BYTE, b->slack);
	b->next = blocks;
	blocks = b;
	return b->mem;
}

static struct block *
block_of(const uint8_t *p)
{
	struct block *b = blocks;

	while (b != NULL && b->mem != p)
		b = b->next;
	if (b == NULL)
		FUZZ_DIE("no guarded memory begins there");
	return b;
}

static void
check_block(const struct block *b)
{
	for (size_t i = 0; i < b->slack; i++)
		if (b->base[FUZZ_PAGE + i] != SLACK_BYTE)
			FUZZ_DIE("written: %zu bytes in front of %zu bytes of memory", b->slack - i,
				b->len);
	if (!b->frozen || memcmp(b->mem, b->copy, b->len) == 0)
		return;
	for (size_t i = 0; i < b->len; i++)
		if (b->mem[i] != b->copy[i])
			FUZZ_DIE("written: byte %zu of %zu that must stay as they were", i, b->len);
}

void
fuzz_check_guards(void)
{
	for (const struct block *b = blocks; b != NULL; b = b->next)
		check_block(b);
}

void
fuzz_freeze(uint8_t *p, bool frozen)
{
	struct block *b = block_of(p);

	if (b->frozen && !frozen)
		check_block(b);
	b->frozen = frozen;
	if (frozen)
		memcpy(b->copy, b->mem, b->len);
}

void
fuzz_free(uint8_t *p)
{
	struct block *b = block_of(p), **at = &blocks;

	check_block(b);
	while (*at != b)
		at = &(*at)->next;
	*at = b->next;
	munmap(b->base, b->pages + 2 * FUZZ_PAGE);
	free(b->copy);
	free(b);
}

/* ---- secrets */

void
fuzz_fill_secret(uint8_t *p, size_t len)
{
	memset(p, FUZZ_SECRET, len);
}

bool
fuzz_has_secret(const uint8_t *p, size_t len)
{
	static uint8_t run[SECRET_RUN];

	memset(run, FUZZ_SECRET, sizeof(run));
	return memmem(p, len, run, sizeof(run)) != NULL;
}
