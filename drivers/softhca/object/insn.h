/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decodes the instruction at which a signal handler was called, and completes its load or store in
 * the handler, instead of the processor.
 *
 *   insn_decode()  ->  load from the memory, or store to it  ->  insn_finish()
 *
 * The decoder knows the instructions of x86-64 that compilers generate for one volatile access:
 * mov, movzx, movsx, movbe, cmp and test.
 */
#ifndef SOFTHCA_INSN_H
#define SOFTHCA_INSN_H

#include <stdbool.h>
#include <stdint.h>

enum insn_kind {
	INSN_STORE,
	INSN_LOAD,         /* load into a register, zero-extended */
	INSN_LOAD_SIGNED,  /* load into a register, sign-extended */
	INSN_COMPARE,      /* flags of memory - value */
	INSN_COMPARE_WITH, /* flags of value - memory */
	INSN_TEST          /* flags of memory & value */
};

struct insn {
	enum insn_kind kind;
	unsigned int len;   /* bytes of the instruction */
	unsigned int size;  /* bytes of the memory operand */
	unsigned int reg;   /* the register's number */
	bool high_byte;     /* the register is AH, CH, DH or BH */
	unsigned int width; /* for a load: bytes of the register that are written */
	uint64_t value;     /* for a store: the stored value; for a comparison: the other operand */
};

#define INSN_MAX_LEN 15

/* True if instructions of this machine can be decoded. */
bool insn_is_possible(void);
/*
 * Decodes the instruction. context: the ucontext_t of the handler. Returns false if the instruction
 * is unknown.
 */
bool insn_decode(void *context, struct insn *insn);
/*
 * Ends the emulation of the instruction: the thread continues with the next instruction. loaded:
 * the byte that a load gives to the program. Only loads of one byte are decoded.
 */
void insn_finish(void *context, const struct insn *insn, uint8_t loaded);

#endif
