/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The handler of SIGBUS for the addresses of operations.
 *
 * The handler reads the kernel's list of mappings. From this list it knows the operation of an
 * address, the byte of device memory, and the address at which the adapter has mapped this byte. So
 * the handler takes no lock, and is right after munmap(2), mremap(2) and fork(2), too. The
 * operations themselves are atomic instructions: other threads, processes and RDMA atomics may use
 * the same memory at the same time.
 */
#include "dm_op.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "devices.h"
#include "dm.h"
#include "insn.h"
#include "log.h"
#include "maps.h"
#include "sigchain.h"
#include "valgrind.h"

#define WAY_LEN (dm_offset(1, 0) - dm_offset(0, 0))

_Static_assert(DM_N_WAYS == DM_TEST_AND_SET + 2, "memory, and each operation");

/* ---------------------------------------------------------------- the byte of an address */

static bool
find_mapping(uintptr_t at, struct mapping_line *line)
{
	struct maps maps;
	bool found;

	if (!maps_open(&maps)) {
		softhca_log(
			"SIGBUS at %#llx: /proc/self/maps, which shows operations on device memory, "
			"cannot be opened: errno %d. Is a descriptor free?",
			(unsigned long long)at, errno);
		return false;
	}
	found = maps_find(&maps, at, line) && line->from <= at;
	maps_close(&maps);
	return found && line->of_adapter;
}

/* Returns the address at which the adapter has mapped all device memory of the same file. */
static uint8_t *
find_memory(const struct mapping_line *op)
{
	struct mapping_line line;
	uint8_t *memory = NULL;
	struct maps maps;

	if (!maps_open(&maps))
		return NULL;
	while (memory == NULL && maps_next(&maps, &line))
		if (line.ino == op->ino && line.dev == op->dev && line.offset == CTX_DM_OFFSET &&
			line.to - line.from == DM_LEN && line.can_write)
			memory = (uint8_t *)line.from;
	maps_close(&maps);
	return memory;
}

/* ---------------------------------------------------------------- the operations */

static const struct softhca_config *
config(void)
{
	unsigned int n;

	return softhca_devices(&n)[0].cfg;
}

/* Converts between the host's byte order and the byte order in which the card adds. */
static uint64_t
reorder(uint64_t value, unsigned int size)
{
	enum {
		CONNECTX_8 = 0x1023,
		/*
		 * Part ids from this number on are BlueField cards. BlueField-3 has the byte order
		 * of ConnectX-7.
		 */
		BLUEFIELD = 0xa2d0
	};
	const uint32_t part = config()->part_id;
	const bool is_host_order = part >= CONNECTX_8 && part < BLUEFIELD;

	return is_host_order ? value : __builtin_bswap64(value) >> (64 - 8 * size);
}

/* Adds the operand to `size` bytes of an aligned 8-byte word. */
static void
increment(uint8_t *at, unsigned int size, uint64_t operand)
{
	_Atomic uint64_t *word = (void *)((uintptr_t)at & ~(uintptr_t)7);
	const unsigned int shift = 8 * ((uintptr_t)at & 7);
	const uint64_t mask = UINT64_MAX >> (64 - 8 * size);
	uint64_t old = atomic_load(word), sum;

	do
		sum = reorder(old >> shift & mask, size) + reorder(operand, size);
	while (!atomic_compare_exchange_weak(word, &old,
		(old & ~(mask << shift)) | reorder(sum & mask, size) << shift));
}

static uint8_t
test_and_set(uint8_t *at)
{
	return atomic_exchange((_Atomic uint8_t *)at, (uint8_t)config()->memic_test_and_set);
}

/* ---------------------------------------------------------------- the handler */

static bool
refuse(uintptr_t at, const char *why)
{
	softhca_log(
		"the address %#llx is an operation on device memory: %s. The program gets SIGBUS",
		(unsigned long long)at, why);
	return false;
}

/*
 * Executes the operation and the instruction. Assumed: memic-load, memic-store, memic-test-and-set,
 * memic-increment.
 */
static bool
run(uintptr_t at, enum dm_op op, uint8_t *memory, void *context)
{
	uint8_t loaded = 0;
	struct insn insn;

	if (!insn_decode(context, &insn))
		return refuse(at,
			"its instruction is not emulated: only mov, movbe, and, for one byte, "
			"movzx, movsx, cmp and test are");
	if (op == DM_INCREMENT && (insn.kind != INSN_STORE || at % insn.size != 0))
		return refuse(at, "an increment is one store, at a multiple of its length");
	if (op == DM_TEST_AND_SET && insn.kind == INSN_STORE)
		return refuse(at, "test-and-set is a load of one byte");
	if (op == DM_INCREMENT)
		increment(memory, insn.size, insn.value);
	else
		loaded = test_and_set(memory);
	insn_finish(context, &insn, loaded);
	return true;
}

static bool
mend(const siginfo_t *info, void *context)
{
	const uintptr_t at = (uintptr_t)info->si_addr;
	struct mapping_line line;
	uint64_t offset, in_way;
	uint8_t *memory;

	if (info->si_code != BUS_ADRERR || !find_mapping(at, &line))
		return false;
	offset = line.offset + (at - line.from) - dm_offset(0, 0);
	in_way = offset % WAY_LEN;
	if (offset < WAY_LEN || offset >= DM_N_WAYS * WAY_LEN || in_way >= DM_LEN)
		return false;
	memory = find_memory(&line);
	if (memory == NULL)
		return refuse(at, "the context of this memory is closed");
	return run(at, (enum dm_op)(offset / WAY_LEN - 1), memory + in_way, context);
}

/* ---------------------------------------------------------------- */

/*
 * Operations do not work under valgrind: a handler there does not see the registers of valgrind's
 * simulated processor.
 */
uint32_t
dm_ops(void)
{
	return insn_is_possible() && !in_valgrind() ? 1 << DM_INCREMENT | 1 << DM_TEST_AND_SET : 0;
}

static void
take_signal(void)
{
	sigchain_take(SIGBUS, mend);
}

static void
say_impossible(void)
{
	softhca_log(
		"operations on device memory by loads and stores work on x86-64 only, and not under "
		"valgrind: EOPNOTSUPP");
}

int
dm_op_begin(uint32_t op)
{
	static pthread_once_t taken = PTHREAD_ONCE_INIT, said = PTHREAD_ONCE_INIT;

	if (dm_ops() == 0)
		pthread_once(&said, say_impossible);
	if (op >= 32 || (dm_ops() >> op & 1) == 0)
		return -EOPNOTSUPP;
	pthread_once(&taken, take_signal);
	return 0;
}
