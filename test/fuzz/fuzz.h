/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the adapter's fuzzers share: numbers from a seed, mutations, and memory that tells who touched
 * it.
 *
 *   PROT_NONE page | slack, must stay | the memory, up to its last byte | PROT_NONE page
 *
 * Secret memory holds one byte over and over. Nothing may carry it anywhere else: a run of it where
 * data arrive is a read of what was not the adapter's to read.
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

/* Everything depends on this one number, which is printed. A hang ends the program. */
void fuzz_begin(uint64_t seed, unsigned int seconds);

uint64_t rnd(uint64_t n);
static inline bool
one_in(unsigned int n)
{
	return rnd(n) == 0;
}
/* A number as bugs like them: at the edge of something, or anything. */
uint64_t rnd_word(void);
void rnd_bytes(uint8_t *p, size_t len);

/* One field of a structure in host order, or big endian, is changed to what may not be expected. */
void mutate_field(uint8_t *p, size_t len);
void mutate_field_be(uint8_t *p, size_t len);

/* Memory of exactly len bytes, zeros. Freed by fuzz_free(), which checks its slack. */
uint8_t *fuzz_guarded(size_t len);
void fuzz_free(uint8_t *p);
/* From now on the memory must stay as it is now; false: it may change again. */
void fuzz_freeze(uint8_t *p, bool frozen);
/* The slack of all guarded memory, and what is frozen: as it was, or the program ends. */
void fuzz_check_guards(void);

void fuzz_fill_secret(uint8_t *p, size_t len);
bool fuzz_has_secret(const uint8_t *p, size_t len);

#endif
