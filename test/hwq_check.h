/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the hwq tests: each failure is one line, a case goes on, the program's exit tells. */
#ifndef HWQ_CHECK_H
#define HWQ_CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define CHECK_SKIP 77

/* One for the program, however many files it is made of. */
__attribute__((weak)) unsigned int check_failures;

/* After this many lines, more of the same helps nobody. */
#define CHECK_LINES_MAX 40

#define CHECK(cond, ...)                                                                           \
	do {                                                                                       \
		if (!(cond) && check_failures++ < CHECK_LINES_MAX) {                               \
			fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #cond);                 \
			fprintf(stderr, __VA_ARGS__);                                              \
			fputc('\n', stderr);                                                       \
		}                                                                                  \
	} while (0)

#define CHECK_EQ(got, want, what)                                                                  \
	do {                                                                                       \
		long long got_ = (long long)(got), want_ = (long long)(want);                      \
		CHECK(got_ == want_, "%s is %lld (0x%llx), not %lld (0x%llx)", (what), got_,       \
			(unsigned long long)got_, want_, (unsigned long long)want_);               \
	} while (0)

static inline void
check_hex(FILE *f, const char *name, const uint8_t *p, size_t len)
{
	size_t i;

	fprintf(f, "  %s", name);
	for (i = 0; i < len; i++)
		fprintf(f, "%s%02x", i % 16 == 0 ? "\n    " : i % 4 == 0 ? " " : "", p[i]);
	fputc('\n', f);
}

static inline bool
check_bytes(const void *got, const void *want, size_t len, const char *what)
{
	if (memcmp(got, want, len) == 0)
		return true;
	if (check_failures++ < CHECK_LINES_MAX) {
		fprintf(stderr, "%s: bytes differ\n", what);
		check_hex(stderr, "got", (const uint8_t *)got, len);
		check_hex(stderr, "want", (const uint8_t *)want, len);
	}
	return false;
}

/* Runs one case: its name is a sentence. */
#define RUN(sentence, call)                                                                        \
	do {                                                                                       \
		unsigned int before_ = check_failures;                                             \
		call;                                                                              \
		printf("%s: %s\n", check_failures == before_ ? "ok" : "FAILED", sentence);         \
		fflush(stdout);                                                                    \
	} while (0)

/* splitmix64: the same numbers everywhere for the same seed. */
static inline uint64_t
check_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

#endif
