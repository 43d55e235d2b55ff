/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions for the adapter's fuzzers: random numbers from a seed, mutations, and guarded memory,
 * which detects reads and writes outside its bounds.
 *
 *   PROT_NONE page | slack, must not change | the memory, up to its last byte | PROT_NONE page
 *
 * Secret memory is filled with one byte value. If several bytes with this value follow each other
 * in other memory, the adapter has read memory that it must not read.
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
 * If addresses are randomised, executes the program again without randomised addresses, because
 * addresses are part of the fuzzing. Call it first. If the system does not permit this, addresses
 * stay random.
 */
void fuzz_fix_addresses(char **argv);
/*
 * Sets the seed of all random numbers. If the program hangs, it is killed after this number of
 * seconds.
 */
void fuzz_begin(uint64_t seed, unsigned int seconds);

uint64_t rnd(uint64_t n);
static inline bool
one_in(unsigned int n)
{
	return rnd(n) == 0;
}
/* Returns a number that is likely to show a bug: at the limit of a range, or random. */
uint64_t rnd_word(void);
void rnd_bytes(uint8_t *p, size_t len);

/* Changes one field of a structure to an unexpected value, in host byte order or in big endian. */
void mutate_field(uint8_t *p, size_t len);
void mutate_field_be(uint8_t *p, size_t len);

/*
 * Returns len bytes of guarded memory, all zero. fuzz_free() checks the slack and frees the memory.
 */
uint8_t *fuzz_guarded(size_t len);
void fuzz_free(uint8_t *p);
/* With `frozen`, the memory must not change from now on; without `frozen`, it may change again. */
void fuzz_freeze(uint8_t *p, bool frozen);
/*
 * Checks the slack of all guarded memory, and all frozen memory. If any byte has changed, the
 * program ends.
 */
void fuzz_check_guards(void);

void fuzz_fill_secret(uint8_t *p, size_t len);
bool fuzz_has_secret(const uint8_t *p, size_t len);

#endif
