/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Check macros and the case runner of all test programs.
 *
 * A check that fails prints its file, line and values, and is counted. The program goes on, and its
 * exit code is 1. A program built with -DCHECK_STOPS=1 exits at the first failed check, so its
 * checks also protect the lines that follow.
 */
#ifndef CHECK_H
#define CHECK_H

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef CHECK_STOPS
#define CHECK_STOPS 0
#endif

/* Exit code of a test that cannot run here. Its last line of output is the reason. */
#define CHECK_SKIP 77

/* One count for the whole program: the linker merges the copies of all its files. */
__attribute__((weak)) unsigned int check_failures;

/*
 * How long a test waits for an event before it gives up. No machine is that slow. The runner waits
 * longer (test_timeout in test/meson.build).
 */
#ifndef CHECK_PATIENCE_MS
#define CHECK_PATIENCE_MS 120000
#endif
#define CHECK_PATIENCE_NS (CHECK_PATIENCE_MS * UINT64_C(1000000))

/* Failures beyond this number are counted, but not printed. */
#define CHECK_LINES_MAX 40

/* CHECK(condition), or CHECK(condition, "format", values...). The format is a string literal. */
#define CHECK(cond, ...)                                                                           \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			check_failed(__FILE__, __LINE__, #cond, " " __VA_ARGS__);                  \
			CHECK_END();                                                               \
		}                                                                                  \
	} while (0)

/* CHECK_EQ(got, want), or CHECK_EQ(got, want, "what got is"): compares integers. */
#define CHECK_EQ(got, want, ...)                                                                   \
	do {                                                                                       \
		long long got_ = (long long)(got), want_ = (long long)(want);                      \
		if (got_ != want_) {                                                               \
			const char *const what_[] = {#got, ##__VA_ARGS__};                         \
			check_failed_eq(__FILE__, __LINE__,                                        \
				what_[sizeof(what_) / sizeof(what_[0]) - 1], got_, #want, want_);  \
			CHECK_END();                                                               \
		}                                                                                  \
	} while (0)

/* _exit() instead of exit(): other threads may still use what exit() destroys. */
#define CHECK_END()                                                                                \
	do {                                                                                       \
		if (CHECK_STOPS) {                                                                 \
			fflush(NULL);                                                              \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

/* Counts a failure. Returns true if it is to be printed. */
static inline bool
check_count(void)
{
	fflush(stdout);
	return check_failures++ < CHECK_LINES_MAX;
}

__attribute__((cold, format(printf, 4, 5))) static inline void
check_failed(const char *file, int line, const char *cond, const char *format, ...)
{
	int err = errno;
	va_list args;

	if (!check_count())
		return;
	va_start(args, format);
	fprintf(stderr, "%s:%d: not so: %s", file, line, cond);
	if (format[1] != '\0') {
		fputc(':', stderr);
		vfprintf(stderr, format, args);
	}
	fprintf(stderr, " (errno %d, %s)\n", err, strerror(err));
	va_end(args);
}

__attribute__((cold)) static inline void
check_failed_eq(const char *file, int line, const char *what, long long got, const char *expected,
	long long want)
{
	if (check_count())
		fprintf(stderr, "%s:%d: %s is %lld (0x%llx), %s is %lld (0x%llx)\n", file, line,
			what, got, (unsigned long long)got, expected, want,
			(unsigned long long)want);
}

static inline void
check_hex(FILE *f, const char *name, const uint8_t *p, size_t len)
{
	size_t i;

	fprintf(f, "  %s", name);
	for (i = 0; i < len; i++)
		fprintf(f, "%s%02x", i % 16 == 0 ? "\n    " : i % 4 == 0 ? " " : "", p[i]);
	fputc('\n', f);
}

/*
 * Compares bytes. If they differ, prints both and counts a failure. Returns true if they are equal.
 */
static inline bool
check_bytes(const void *got, const void *want, size_t len, const char *what)
{
	if (memcmp(got, want, len) == 0)
		return true;
	if (check_count()) {
		fprintf(stderr, "%s: bytes differ\n", what);
		check_hex(stderr, "got", (const uint8_t *)got, len);
		check_hex(stderr, "want", (const uint8_t *)want, len);
	}
	return false;
}

/* Runs one case and prints its name, which is a sentence. */
#define RUN(sentence, call)                                                                        \
	do {                                                                                       \
		unsigned int before_ = check_failures;                                             \
		call;                                                                              \
		printf("%s: %s\n", check_failures == before_ ? "ok" : "FAILED", sentence);         \
		fflush(stdout);                                                                    \
	} while (0)

/* Features that the device lacks and cases needed, as text. Empty: no case was skipped. */
__attribute__((weak)) char check_lacking[256];

/*
 * For a case, which must then return. True if the device lacks a feature that the case needs: the
 * case counts as skipped.
 */
static inline bool
check_lacks(bool has, const char *what)
{
	size_t used = strlen(check_lacking);

	if (!has && strstr(check_lacking, what) == NULL)
		snprintf(check_lacking + used, sizeof(check_lacking) - used, "%s%s",
			used == 0 ? "" : ", ", what);
	if (!has)
		printf("(no %s) ", what);
	return !has;
}

struct check_case {
	const char *sentence;
	void (*run)(void);
};

/*
 * Runs every case, or only those whose name contains argv[1]. Returns the program's exit code: 1 if
 * a check failed or no case was run.
 */
static inline int
check_main(const struct check_case *cases, size_t n, int argc, char **argv)
{
	unsigned int ran = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned int before = check_failures;

		if (argc > 1 && strstr(cases[i].sentence, argv[1]) == NULL)
			continue;
		printf("%s ... ", cases[i].sentence);
		fflush(stdout);
		cases[i].run();
		printf("%s\n", check_failures == before ? "ok" : "FAILED");
		ran++;
	}
	return ran > 0 && check_failures == 0 ? 0 : 1;
}

/*
 * Number of the process's open file descriptors plus a constant, for comparison with an earlier
 * count.
 */
static inline unsigned int
check_count_fds(void)
{
	DIR *fds = opendir("/proc/self/fd");
	unsigned int n = 0;

	CHECK(fds != NULL);
	while (fds != NULL && readdir(fds) != NULL)
		n++;
	if (fds != NULL)
		closedir(fds);
	return n;
}

/* splitmix64: one seed gives one sequence of numbers on every machine. */
static inline uint64_t
check_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

#endif
