/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the emulated adapter's tests: the first failure ends the program, with its place. */
#ifndef SOFTHCA_CHECK_H
#define SOFTHCA_CHECK_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SKIP 77

#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: not so: %s (errno %d, %s)\n", __FILE__, __LINE__,  \
				#cond, errno, strerror(errno));                                    \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

#define CHECK_EQ(a, b)                                                                             \
	do {                                                                                       \
		long long a_ = (long long)(a), b_ = (long long)(b);                                \
		if (a_ != b_) {                                                                    \
			fprintf(stderr, "%s:%d: %s is %lld, %s is %lld\n", __FILE__, __LINE__, #a, \
				a_, #b, b_);                                                       \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

struct check_case {
	const char *sentence;
	void (*run)(void);
};

/* Runs every case, or those whose sentence contains argv[1]: at least one must. */
static inline int
check_main(const struct check_case *cases, size_t n, int argc, char **argv)
{
	unsigned int ran = 0;

	for (size_t i = 0; i < n; i++) {
		if (argc > 1 && strstr(cases[i].sentence, argv[1]) == NULL)
			continue;
		printf("%s ... ", cases[i].sentence);
		fflush(stdout);
		cases[i].run();
		printf("ok\n");
		ran++;
	}
	return ran > 0 ? 0 : 1;
}

#endif
