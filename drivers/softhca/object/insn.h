/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The instruction of the program at which a signal handler was called: the load or store that it
 * makes is carried out in the handler, in place of the processor.
 *
 *   insn_decode()  ->  the memory is stored to, or loaded from  ->  insn_finish()
 *
 * The instructions that compilers make of one volatile access: mov, movzx, movsx, movbe, cmp and
 * test, of x86-64.
 */
#ifndef SOFTHCA_INSN_H
#define SOFTHCA_INSN_H

#include <stdbool.h>
#include <stdint.h>

enum insn_kind {
	INSN_STORE,
	INSN_LOAD,         /* into a register, with zeros before it if the register is longer */
	INSN_LOAD_SIGNED,  /* with its sign before it */
	INSN_COMPARE,      /* memory - value: flags */
	INSN_COMPARE_WITH, /* value - memory: flags */
	INSN_TEST          /* memory & value: flags */
};

struct insn {
	enum insn_kind kind;
	unsigned int len;   /* bytes of the instruction */
	unsigned int size;  /* bytes of memory */
	unsigned int reg;   /* the register's number */
	bool high_byte;     /* AH, CH, DH or BH is meant */
	unsigned int width; /* of a load: bytes of the register that change */
	uint64_t value;     /* of a store, or what the memory is compared with */
};

#define INSN_MAX_LEN 15

/* Whether this machine's instructions are known. */
bool insn_is_possible(void);
/* context: ucontext_t of the handler. False: an instruction that is not known. */
bool insn_decode(void *context, struct insn *insn);
/*
 * The instruction is done: the thread goes on behind it. `loaded` is what a load, of one byte, has
 * found. Loads of more bytes are not known.
 */
void insn_finish(void *context, const struct insn *insn, uint8_t loaded);

#endif
