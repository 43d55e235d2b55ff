/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decodes the instruction at which a signal handler was called, and completes its load or store in
 * the handler, in place of the processor.
 *
 *   insn_decode()  ->  load from the memory, or store to it  ->  insn_finish()
 *
 * It knows the instructions of x86-64 that compilers generate for one volatile access: mov, movzx,
 * movsx, movbe, cmp and test.
 */
#ifndef SOFTHCA_INSN_H
#define SOFTHCA_INSN_H

#include <stdbool.h>
#include <stdint.h>

enum insn_kind {
	INSN_STORE,
	INSN_LOAD,         /* into a register, zero-extended */
	INSN_LOAD_SIGNED,  /* sign-extended */
	INSN_COMPARE,      /* memory - value: flags */
	INSN_COMPARE_WITH, /* value - memory: flags */
	INSN_TEST          /* memory & value: flags */
};

struct insn {
	enum insn_kind kind;
	unsigned int len;   /* bytes of the instruction */
	unsigned int size;  /* bytes of memory */
	unsigned int reg;   /* the register's number */
	bool high_byte;     /* the register is AH, CH, DH or BH */
	unsigned int width; /* of a load: bytes of the register that are written */
	uint64_t value;     /* of a store: the value stored; of a comparison: the other operand */
};

#define INSN_MAX_LEN 15

/* True if instructions of this machine can be decoded. */
bool insn_is_possible(void);
/* context: ucontext_t of the handler. False: the instruction is unknown. */
bool insn_decode(void *context, struct insn *insn);
/*
 * Ends the instruction: the thread continues after it. loaded: the result of a load of one byte.
 * Longer loads are unknown.
 */
void insn_finish(void *context, const struct insn *insn, uint8_t loaded);

#endif
