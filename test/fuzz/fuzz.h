/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the adapter's fuzzers share: random numbers from a seed, mutations, and guarded memory that
 * detects reads and writes outside it.
 *
 *   PROT_NONE page | slack, must not change | the memory, up to its last byte | PROT_NONE page
 *
 * Secret memory is filled with one byte value. A run of that value in any other memory shows that
 * the adapter read memory that it must not read.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FUZZ_PAGE   4096u
#define FUZZ_SECRET 0xd7

#define FUZZ_DIE(...) fuzz_die(__FILE__, __LINE__, __VA_ARGS__)

void fuzz_die(const char *file, int line, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 3, 4)));

/*
 * If addresses are randomised, starts the program again without that: addresses are part of the
 * fuzzing. Call it first. If the system does not permit it, addresses stay random.
 */
void fuzz_fix_addresses(char **argv);
/* Sets the seed of all random numbers. If the program hangs, it is ended after so many seconds. */
void fuzz_begin(uint64_t seed, unsigned int seconds);

uint64_t rnd(uint64_t n);
static inline bool
one_in(unsigned int n)
{
	return rnd(n) == 0;
}
/* A number that is likely to show a bug: at the edge of a range, or random. */
uint64_t rnd_word(void);
void rnd_bytes(uint8_t *p, size_t len);

/* Changes one field of a structure, in host order or in big endian, to an unexpected value. */
void mutate_field(uint8_t *p, size_t len);
void mutate_field_be(uint8_t *p, size_t len);

/* Returns len zeroed bytes of guarded memory. fuzz_free() checks the slack and frees it. */
uint8_t *fuzz_guarded(size_t len);
void fuzz_free(uint8_t *p);
/* true: from now on the memory must not change. false: it may change again. */
void fuzz_freeze(uint8_t *p, bool frozen);
/*
 * Checks the slack of all guarded memory, and all frozen memory. The program ends if one changed.
 */
void fuzz_check_guards(void);

void fuzz_fill_secret(uint8_t *p, size_t len);
bool fuzz_has_secret(const uint8_t *p, size_t len);

#endif
