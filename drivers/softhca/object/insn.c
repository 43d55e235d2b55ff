/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decodes loads and stores of x86-64. Source: Intel 64 and IA-32 Architectures Software Developer's
 * Manual, volume 2, chapter 2 and the pages of the instructions.
 */
#include "insn.h"

#include <stddef.h>

#ifdef __x86_64__

#include <ucontext.h>

enum {
	REX_W = 8, /* the operand has 8 bytes */
	REX_R = 4, /* upper bit of reg in ModRM */
	REX_ANY = 0x40
};

/* The immediate operand, which follows ModRM and the displacement. */
enum immediate {
	IMM_NONE,
	IMM_BYTE,
	IMM_WORD /* 2 or 4 bytes, sign-extended */
};

struct form {
	uint32_t opcode;  /* all bytes of the opcode, as a number */
	int8_t extension; /* reg of ModRM, if it is part of the opcode; otherwise -1 */
	enum insn_kind kind;
	/* the memory operand has one byte; otherwise it has the operand size */
	bool is_byte;
	bool swapped;
	enum immediate immediate;
};

static const struct form forms[] = {
	{0x88, -1, INSN_STORE, true, false, IMM_NONE},
	{0x89, -1, INSN_STORE, false, false, IMM_NONE},
	{0xc6, 0, INSN_STORE, true, false, IMM_BYTE},
	{0xc7, 0, INSN_STORE, false, false, IMM_WORD},
	{0x0f38f1, -1, INSN_STORE, false, true, IMM_NONE},
	{0x8a, -1, INSN_LOAD, true, false, IMM_NONE},
	{0x0fb6, -1, INSN_LOAD, true, false, IMM_NONE},
	{0x0fbe, -1, INSN_LOAD_SIGNED, true, false, IMM_NONE},
	{0x38, -1, INSN_COMPARE, true, false, IMM_NONE},
	{0x80, 7, INSN_COMPARE, true, false, IMM_BYTE},
	{0x3a, -1, INSN_COMPARE_WITH, true, false, IMM_NONE},
	{0x84, -1, INSN_TEST, true, false, IMM_NONE},
	{0xf6, 0, INSN_TEST, true, false, IMM_BYTE},
};

/*
 * The instruction's bytes. They are read one at a time, because bytes after the instruction may not
 * be mapped.
 */
struct bytes {
	const uint8_t *at;
	unsigned int n;
};

static uint8_t
next(struct bytes *b)
{
	return b->n < INSN_MAX_LEN ? b->at[b->n++] : 0;
}

static greg_t *
reg_of(ucontext_t *uc, unsigned int number)
{
	/* The registers in the order of their numbers in the encoding. */
	static const uint8_t regs[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
		REG_RSI, REG_RDI, REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14,
		REG_R15};

	return &uc->uc_mcontext.gregs[regs[number]];
}

static uint64_t
low_bytes(uint64_t value, unsigned int size)
{
	return size == 8 ? value : value & ((UINT64_C(1) << 8 * size) - 1);
}

static uint64_t
take_immediate(struct bytes *b, unsigned int size)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < size; i++)
		value |= (uint64_t)next(b) << 8 * i;
	return value;
}

/*
 * Skips the address that follows ModRM: a scale-index-base byte and a displacement. The address is
 * not decoded, because the signal gives it.
 */
static void
skip_address(struct bytes *b, uint8_t modrm)
{
	unsigned int mod = modrm >> 6, base = modrm & 7;

	if (base == 4)
		base = next(b) & 7;
	b->n += mod == 1 ? 1 : mod == 2 || (mod == 0 && base == 5) ? 4 : 0;
}

static uint32_t
take_opcode(struct bytes *b)
{
	uint32_t opcode = next(b);

	if (opcode == 0x0f)
		opcode = opcode << 8 | next(b);
	if (opcode == 0x0f38)
		opcode = opcode << 8 | next(b);
	return opcode;
}

static const struct form *
find_form(uint32_t opcode, unsigned int reg)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (forms[i].opcode == opcode &&
			(forms[i].extension < 0 || (unsigned int)forms[i].extension == reg))
			return &forms[i];
	return NULL;
}

static uint64_t
value_of(ucontext_t *uc, struct bytes *b, const struct form *form, const struct insn *insn)
{
	uint64_t value;

	if (form->immediate == IMM_BYTE)
		return next(b);
	if (form->immediate == IMM_WORD) {
		unsigned int size = insn->size == 2 ? 2 : 4;

		value = take_immediate(b, size);
		if (insn->size == 8)
			value = (uint64_t)(int64_t)(int32_t)value;
		return value;
	}
	value = (uint64_t)*reg_of(uc, insn->reg) >> (insn->high_byte ? 8 : 0);
	if (form->swapped)
		value = __builtin_bswap64(value) >> (64 - 8 * insn->size);
	return low_bytes(value, insn->size);
}

bool
insn_decode(void *context, struct insn *insn)
{
	ucontext_t *uc = context;
	struct bytes b = {.at = (const uint8_t *)uc->uc_mcontext.gregs[REG_RIP]};
	unsigned int operand = 4, rex = 0;
	const struct form *form;
	uint32_t opcode;
	uint8_t modrm;

	if (b.at[0] == 0x66) {
		operand = 2;
		b.n++;
	}
	if ((b.at[b.n] & 0xf0) == REX_ANY)
		rex = next(&b);
	if ((rex & REX_W) != 0)
		operand = 8;
	opcode = take_opcode(&b);
	modrm = next(&b);
	insn->reg = modrm >> 3 & 7;
	form = find_form(opcode, insn->reg);
	if (form == NULL || modrm >> 6 == 3)
		return false;
	skip_address(&b, modrm);
	insn->kind = form->kind;
	insn->size = form->is_byte ? 1 : operand;
	insn->width = opcode == 0x8a ? 1 : operand;
	/* Without a REX prefix, byte registers 4 to 7 are AH, CH, DH and BH. */
	insn->high_byte = rex == 0 && insn->reg >= 4 && form->is_byte && (opcode >> 8 != 0x0f);
	insn->reg = insn->high_byte ? insn->reg - 4 : insn->reg | (rex & REX_R) << 1;
	insn->value = value_of(uc, &b, form, insn);
	insn->len = b.n;
	return b.n <= INSN_MAX_LEN;
}

/* Sets the flags as a subtraction or an AND of bytes does. */
static void
set_flags(ucontext_t *uc, uint8_t a, uint8_t b, bool is_test)
{
	enum {
		CARRY = 1 << 0,
		PARITY = 1 << 2,
		HALF_CARRY = 1 << 4,
		ZERO = 1 << 6,
		SIGN = 1 << 7,
		OVERFLOW_FLAG = 1 << 11
	};
	const uint8_t result = is_test ? a & b : (uint8_t)(a - b);
	greg_t flags = uc->uc_mcontext.gregs[REG_EFL] &
		       ~(greg_t)(CARRY | PARITY | HALF_CARRY | ZERO | SIGN | OVERFLOW_FLAG);

	flags |= __builtin_parity(result) ? 0 : PARITY;
	flags |= result == 0 ? ZERO : 0;
	flags |= (result & 0x80) != 0 ? SIGN : 0;
	if (!is_test) {
		flags |= a < b ? CARRY : 0;
		flags |= ((a ^ b ^ result) & 0x10) != 0 ? HALF_CARRY : 0;
		flags |= ((a ^ b) & (a ^ result) & 0x80) != 0 ? OVERFLOW_FLAG : 0;
	}
	uc->uc_mcontext.gregs[REG_EFL] = flags;
}

/* A write to a 4-byte register zeroes the upper half; a shorter write keeps the other bytes. */
static void
set_reg(ucontext_t *uc, const struct insn *insn, uint64_t value)
{
	const unsigned int shift = insn->high_byte ? 8 : 0;
	const uint64_t mask = low_bytes(UINT64_MAX, insn->width) << shift;
	greg_t *reg = reg_of(uc, insn->reg);

	if (insn->width >= 4)
		*reg = (greg_t)low_bytes(value, insn->width);
	else
		*reg = (greg_t)(((uint64_t)*reg & ~mask) | (value << shift & mask));
}

void
insn_finish(void *context, const struct insn *insn, uint8_t loaded)
{
	ucontext_t *uc = context;

	switch (insn->kind) {
	case INSN_STORE:
		break;
	case INSN_LOAD:
		set_reg(uc, insn, loaded);
		break;
	case INSN_LOAD_SIGNED:
		set_reg(uc, insn, (uint64_t)(int64_t)(int8_t)loaded);
		break;
	case INSN_COMPARE:
	case INSN_TEST:
		set_flags(uc, loaded, (uint8_t)insn->value, insn->kind == INSN_TEST);
		break;
	case INSN_COMPARE_WITH:
		set_flags(uc, (uint8_t)insn->value, loaded, false);
		break;
	}
	uc->uc_mcontext.gregs[REG_RIP] += insn->len;
}

bool
insn_is_possible(void)
{
	return true;
}

#else

bool
insn_is_possible(void)
{
	return false;
}

bool
insn_decode(void *context, struct insn *insn)
{
	(void)context;
	(void)insn;
	return false;
}

void
insn_finish(void *context, const struct insn *insn, uint8_t loaded)
{
	(void)context;
	(void)insn;
	(void)loaded;
}

#endif
