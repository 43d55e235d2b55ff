/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations on device memory, which a load or a store of the program executes:
 * mlx5dv_dm_map_op_addr(3), through stock libmlx5.
 *
 * rdma-core's tests/test_mlx5_dm_ops.py has the numbers of the operations and their effects; the
 * README of nvidia-net/device-memory-operations has the byte order. Each instruction also runs on
 * plain memory, which shows its effect on registers and flags.
 */
#include <cpuid.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "softhca_pair.h"

#define PAGE      4096
#define INCREMENT 0
#define TEST_SET  1
#define CX8       0x1023

/* Device memory, and the mapped addresses of its operations. */
struct rig {
	struct ibv_context *ctx;
	struct ibv_dm *dm;
	uint8_t *memory, *increment, *test_set;
};

static uint8_t *
memory_of(struct ibv_dm *dm)
{
	struct mlx5dv_dm out = {0};
	struct mlx5dv_obj obj = {.dm = {dm, &out}};

	CHECK_EQ(mlx5dv_init_obj(&obj, MLX5DV_OBJ_DM), 0);
	return out.buf;
}

static struct rig
rig_init(size_t len)
{
	struct rig r = {.ctx = pair_open(0)};

	r.dm = ibv_alloc_dm(r.ctx, &(struct ibv_alloc_dm_attr){.length = len});
	CHECK(r.dm != NULL);
	r.memory = memory_of(r.dm);
	r.increment = mlx5dv_dm_map_op_addr(r.dm, INCREMENT);
	r.test_set = mlx5dv_dm_map_op_addr(r.dm, TEST_SET);
	CHECK(r.increment != NULL && r.test_set != NULL);
	return r;
}

static void
rig_fini(const struct rig *r, size_t len)
{
	CHECK_EQ(munmap(r->increment, len), 0);
	CHECK_EQ(munmap(r->test_set, len), 0);
	CHECK_EQ(ibv_free_dm(r->dm), 0);
	CHECK_EQ(ibv_close_device(r->ctx), 0);
}

/* ---------------------------------------------------------------- what the adapter reports */

static void
case_capability(void)
{
	uint32_t in[4] = {htobe32(0x100u << 16), htobe32(0xf << 1 | 1)}; /* QUERY_HCA_CAP */
	uint8_t out[16 + 4096] = {0};
	struct ibv_context *ctx = pair_open(0);

	CHECK_EQ(mlx5dv_devx_general_cmd(ctx, in, sizeof(in), out, sizeof(out)), 0);
	CHECK_EQ(out[80] << 24 | out[81] << 16 | out[82] << 8 | out[83], 3);
	CHECK_EQ(out[20], 0xf); /* sizes of an increment in bytes: 1, 2, 4, 8 */
	CHECK_EQ(out[22], 0x1);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/* ---------------------------------------------------------------- increments */

static bool
is_host_order(void)
{
	const char *part = getenv("SOFTHCA_PART_ID");

	return part != NULL && strtoul(part, NULL, 0) == CX8;
}

/* Returns the number that the adapter reads from `size` bytes. */
static uint64_t
number_at(const uint8_t *at, unsigned int size)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < size; i++)
		value |= (uint64_t)at[i] << 8 * (is_host_order() ? i : size - 1 - i);
	return value;
}

static void
put_number(uint8_t *at, unsigned int size, uint64_t value)
{
	for (unsigned int i = 0; i < size; i++)
		at[i] = (uint8_t)(value >> 8 * (is_host_order() ? i : size - 1 - i));
}

/* Makes one store of `size` bytes. */
static void
store(uint8_t *at, unsigned int size, const uint8_t *bytes)
{
	union {
		uint8_t u8;
		uint16_t u16;
		uint32_t u32;
		uint64_t u64;
	} v = {0};

	memcpy(&v, bytes, size);
	if (size == 1)
		*(volatile uint8_t *)at = v.u8;
	else if (size == 2)
		*(volatile uint16_t *)(void *)at = v.u16;
	else if (size == 4)
		*(volatile uint32_t *)(void *)at = v.u32;
	else
		*(volatile uint64_t *)(void *)at = v.u64;
}

/*
 * Adds b to a in the last bytes of a word, which is between two other words, and returns the sum.
 */
static uint64_t
add(const struct rig *r, size_t at, unsigned int size, uint64_t a, uint64_t b)
{
	uint8_t operand[8];

	memset(r->memory, 0x77, PAGE);
	put_number(r->memory + at, size, a);
	put_number(operand, size, b);
	store(r->increment + at, size, operand);
	for (size_t i = 0; i < PAGE; i++)
		if (i < at || i >= at + size)
			CHECK_EQ(r->memory[i], 0x77);
	return number_at(r->memory + at, size);
}

static void
case_increments(void)
{
	struct rig r = rig_init(2 * PAGE);

	for (unsigned int size = 1; size <= 8; size *= 2) {
		const uint64_t max = UINT64_MAX >> (64 - 8 * size);

		for (size_t at = 0; at < PAGE; at += at < 16 ? size : PAGE / 2 - 16) {
			CHECK_EQ(add(&r, at, size, 0, 1), 1);
			CHECK_EQ(add(&r, at, size, max >> 1, 1), (max >> 1) + 1);
			CHECK_EQ(add(&r, at, size, 0xff, 1), (max == 0xff ? 0 : 0x100));
			CHECK_EQ(add(&r, at, size, max, 3), 2);
			CHECK_EQ(add(&r, at, size, max & 0x123456789abcdef0,
					 max & 0x0f0e0d0c0b0a0907),
				(0x123456789abcdef0 + 0x0f0e0d0c0b0a0907) & max);
		}
	}
	/* The second page must also have operations. */
	memset(r.memory, 0, 2 * PAGE);
	*(volatile uint8_t *)(r.increment + PAGE + 5) = 9;
	CHECK_EQ(r.memory[PAGE + 5], 9);
	CHECK_EQ(r.memory[5], 0);
	rig_fini(&r, 2 * PAGE);
}

/* ---------------------------------------------------------------- instructions */

struct registers {
	uint64_t rax, rsi, r9, flags;
};

/*
 * Defines a function that runs one instruction. The instruction accesses the address in rdi, or an
 * address that it computes from rdi and rcx; rcx is 4. The stack pointer is moved, because compiled
 * functions may keep data below it.
 */
#define FORM(name, text)                                                                           \
	static void name(const void *at, struct registers *r)                                      \
	{                                                                                          \
		uint64_t index = 4;                                                                \
                                                                                                   \
		__asm__ volatile("lea -128(%%rsp), %%rsp\n\t"                                      \
				 "push 24(%%rbx)\n\tpopfq\n\t"                                     \
				 "mov (%%rbx), %%rax\n\tmov 8(%%rbx), %%rsi\n\t"                   \
				 "mov 16(%%rbx), %%r9\n\t" text "\n\t"                             \
				 "mov %%rax, (%%rbx)\n\tmov %%rsi, 8(%%rbx)\n\t"                   \
				 "mov %%r9, 16(%%rbx)\n\t"                                         \
				 "pushfq\n\tpop 24(%%rbx)\n\t"                                     \
				 "lea 128(%%rsp), %%rsp"                                           \
				 : "+c"(index)                                                     \
				 : "D"(at), "b"(r)                                                 \
				 : "rax", "rsi", "r9", "cc", "memory");                            \
		CHECK_EQ(index, 4);                                                                \
	}

FORM(load_movzbl, "movzbl (%%rdi), %%eax")
FORM(load_movzbw, "movzbw (%%rdi), %%ax")
FORM(load_movzbq, "movzbq (%%rdi), %%rax")
FORM(load_movzb_r9, "movzbl (%%rdi), %%r9d")
FORM(load_movzb_esi, "movzbl (%%rdi), %%esi")
FORM(load_movsbl, "movsbl (%%rdi), %%eax")
FORM(load_movsbw, "movsbw (%%rdi), %%ax")
FORM(load_movsbq, "movsbq (%%rdi), %%rax")
FORM(load_al, "movb (%%rdi), %%al")
FORM(load_ah, "movb (%%rdi), %%ah")
FORM(load_sil, "movb (%%rdi), %%sil")
FORM(load_r9b, "movb (%%rdi), %%r9b")
FORM(load_index, "movzbl -4(%%rdi,%%rcx), %%r9d")
FORM(load_disp32,
	"lea -0x12345(%%rdi), %%rdi\n\tmovzbl 0x12345(%%rdi), %%eax\n\tlea 0x12345(%%rdi), %%rdi")
FORM(load_no_base, "lea 16(%%rdi), %%rdi\n\tmovsbl -16(,%%rdi), %%eax\n\tlea -16(%%rdi), %%rdi")
FORM(cmp_imm, "cmpb $0x7f, (%%rdi)")
FORM(cmp_reg, "cmpb %%al, (%%rdi)")
FORM(cmp_high, "cmpb %%ah, (%%rdi)")
FORM(cmp_with, "cmpb (%%rdi), %%al")
FORM(test_imm, "testb $0x81, (%%rdi)")
FORM(test_reg, "testb %%r9b, (%%rdi)")

FORM(store_al, "movb %%al, (%%rdi)")
FORM(store_ah, "movb %%ah, (%%rdi)")
FORM(store_sil, "movb %%sil, (%%rdi)")
FORM(store_r9b, "movb %%r9b, (%%rdi)")
FORM(store_imm8, "movb $0x5a, (%%rdi)")
FORM(store_ax, "movw %%ax, (%%rdi)")
FORM(store_imm16, "movw $0x8001, (%%rdi)")
FORM(store_eax, "movl %%eax, (%%rdi)")
FORM(store_imm32, "movl $0x80000003, (%%rdi)")
FORM(store_rax, "movq %%rax, (%%rdi)")
FORM(store_r9, "movq %%r9, (%%rdi)")
FORM(store_imm64, "movq $-5, (%%rdi)")
FORM(store_index, "movq %%r9, -4(%%rdi,%%rcx)")
FORM(store_imm_disp, "lea -99(%%rdi), %%rdi\n\tmovl $0x1234567, 99(%%rdi)\n\tlea 99(%%rdi), %%rdi")
FORM(store_movbew, "movbe %%ax, (%%rdi)")
FORM(store_movbel, "movbe %%eax, (%%rdi)")
FORM(store_movbeq, "movbe %%r9, (%%rdi)")

typedef void form_fn(const void *at, struct registers *r);

static const struct registers begin[] = {
	{0x1122334455667788, 0x99aabbccddeeff00, 0xfedcba9876543210, 0x202},
	{0xffffffffffff7f81, 0x8000000000000001, 0x0123456789abcd80, 0xad7},
};

#define N_BEGIN (sizeof(begin) / sizeof(begin[0]))
#define AF      0x10 /* test(1) leaves this flag undefined */

static void
expect_same(size_t form, const struct registers *r, const struct registers *plain, uint64_t ignored)
{
	CHECK(r->rax == plain->rax, "form %zu: %#lx", form, r->rax);
	CHECK(r->rsi == plain->rsi, "form %zu: %#lx", form, r->rsi);
	CHECK(r->r9 == plain->r9, "form %zu: %#lx", form, r->r9);
	CHECK(((r->flags ^ plain->flags) & ~ignored) == 0, "form %zu: %#lx", form, r->flags);
}

static void
case_loads(void)
{
	static form_fn *const forms[] = {load_movzbl, load_movzbw, load_movzbq, load_movzb_r9,
		load_movzb_esi, load_movsbl, load_movsbw, load_movsbq, load_al, load_ah, load_sil,
		load_r9b, load_index, load_disp32, load_no_base, cmp_imm, cmp_reg, cmp_high,
		cmp_with, test_imm, test_reg};
	static const uint8_t values[] = {0, 1, 0x10, 0x7e, 0x7f, 0x80, 0x81, 0x88, 0xfe, 0xff};
	const char *setting = getenv("SOFTHCA_MEMIC_TEST_AND_SET");
	const int left = setting != NULL ? atoi(setting) : 1;
	struct rig r = rig_init(64);

	for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++)
		for (size_t v = 0; v < sizeof(values) * N_BEGIN; v++) {
			struct registers plain = begin[v % N_BEGIN], ours = plain;
			uint8_t byte = values[v / N_BEGIN];

			r.memory[7] = byte;
			forms[f](&byte, &plain);
			forms[f](r.test_set + 7, &ours);
			expect_same(f, &ours, &plain,
				forms[f] == test_imm || forms[f] == test_reg ? AF : 0);
			CHECK_EQ(r.memory[7], left);
		}
	rig_fini(&r, 64);
}

/* A store to a word that is 0 must set it to the number that the store adds. */
static void
case_stores(void)
{
	static form_fn *const forms[] = {store_al, store_ah, store_sil, store_r9b, store_imm8,
		store_ax, store_imm16, store_eax, store_imm32, store_rax, store_r9, store_imm64,
		store_index, store_imm_disp, store_movbew, store_movbel, store_movbeq};
	const size_t n = sizeof(forms) / sizeof(forms[0]);
	unsigned int eax, ebx, ecx = 0, edx;
	struct rig r = rig_init(64);
	uint8_t bytes[16];

	(void)__get_cpuid(1, &eax, &ebx, &ecx, &edx);
	for (size_t f = 0; f < ((ecx & bit_MOVBE) != 0 ? n : n - 3); f++)
		for (size_t v = 0; v < N_BEGIN; v++) {
			struct registers plain = begin[v], ours = plain;

			memset(bytes, 0, sizeof(bytes));
			memset(r.memory, 0, sizeof(bytes));
			forms[f](bytes, &plain);
			forms[f](r.increment, &ours);
			expect_same(f, &ours, &plain, 0);
			CHECK(memcmp(r.memory, bytes, sizeof(bytes)) == 0, "form %zu", f);
		}
	rig_fini(&r, 64);
}

/* ---------------------------------------------------------------- threads and processes */

#define N_THREADS 4
#define ROUNDS    100

static struct rig shared;
static uint64_t guarded; /* protected by the byte at offset 64, with test-and-set */

/*
 * TSan does not know that such a load is an operation that orders later accesses, so it must not
 * check this function.
 */
static void
add_one(uint64_t one)
{
	__asm__ volatile("movq %0, (%1)" : : "r"(one), "r"(shared.increment) : "memory");
}

static uint8_t
take(void)
{
	uint32_t was;

	__asm__ volatile("movzbl (%1), %0" : "=r"(was) : "r"(shared.test_set + 64) : "memory");
	return (uint8_t)was;
}

static void *
count(void *arg)
{
	uint64_t one, was;

	(void)arg;
	put_number((uint8_t *)&one, 8, 1);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		add_one(one);
		while (take() != 0)
			sched_yield();
		was = __atomic_load_n(&guarded, __ATOMIC_RELAXED);
		__atomic_store_n(&guarded, was + 1, __ATOMIC_RELAXED);
		__atomic_store_n(shared.memory + 64, 0, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void
case_threads(void)
{
	pthread_t threads[N_THREADS];

	shared = rig_init(128);
	guarded = 0;
	for (unsigned int i = 0; i < N_THREADS; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, count, NULL), 0);
	for (unsigned int i = 0; i < N_THREADS; i++)
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
	CHECK_EQ(number_at(shared.memory, 8), N_THREADS * ROUNDS);
	CHECK_EQ(guarded, N_THREADS * ROUNDS);
	rig_fini(&shared, 128);
}

/*
 * A child of fork() shares device memory. The program may move mappings. A system call with the
 * address of an operation must fail.
 */
static void
case_mappings(void)
{
	struct rig r = rig_init(2 * PAGE);
	int status, fd = memfd_create("some", 0);
	uint8_t *place, *moved;
	pid_t child = fork();

	CHECK(child >= 0);
	if (child == 0) {
		*(volatile uint8_t *)r.increment = 5;
		_exit(r.memory[0] == 5 ? 0 : 1);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	CHECK_EQ(r.memory[0], 5);
	*(volatile uint8_t *)r.increment = 2;
	CHECK_EQ(r.memory[0], 7);
	place = mmap(NULL, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(place != MAP_FAILED);
	moved = mremap(r.increment, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, place);
	CHECK(moved == place);
	*(volatile uint8_t *)(moved + PAGE) = 3;
	CHECK_EQ(r.memory[PAGE], 3);
	errno = 0;
	CHECK_EQ(write(fd, moved, 1), -1);
	CHECK_EQ(errno, EFAULT);
	/* Each call makes another mapping of the memory. */
	r.increment = mlx5dv_dm_map_op_addr(r.dm, INCREMENT);
	CHECK(r.increment != NULL && r.increment != moved);
	*(volatile uint8_t *)(r.increment + PAGE) = 3;
	CHECK_EQ(r.memory[PAGE], 6);
	CHECK_EQ(munmap(moved, 2 * PAGE), 0);
	close(fd);
	rig_fini(&r, 2 * PAGE);
}

/*
 * The memory must not be allocated again before its last mapping is removed, as in mlx5_ib's dm.c.
 */
static void
case_lifetime(void)
{
	struct ibv_device_attr_ex attr;
	struct ibv_alloc_dm_attr all = {0};
	struct rig r = rig_init(PAGE);
	struct ibv_dm *dm;

	CHECK_EQ(ibv_query_device_ex(r.ctx, NULL, &attr), 0);
	all.length = attr.max_dm_size;
	CHECK_EQ(munmap(r.increment, PAGE), 0);
	CHECK_EQ(ibv_free_dm(r.dm), 0);
	CHECK(ibv_alloc_dm(r.ctx, &all) == NULL);
	CHECK_EQ(munmap(r.test_set, PAGE), 0);
	dm = ibv_alloc_dm(r.ctx, &all);
	CHECK(dm != NULL);
	CHECK_EQ(ibv_free_dm(dm), 0);
	CHECK_EQ(ibv_close_device(r.ctx), 0);
}

/* ---------------------------------------------------------------- what is refused */

static void
store_to_test_set(const struct rig *r)
{
	*(volatile uint8_t *)r->test_set = 1;
}

static void
load_four(const struct rig *r)
{
	(void)*(volatile uint32_t *)(void *)r->test_set;
}

static void
load_increment(const struct rig *r)
{
	(void)*(volatile uint8_t *)r->increment;
}

static void
store_misaligned(const struct rig *r)
{
	__asm__ volatile("movw %w0, (%1)" : : "r"(1), "r"(r->increment + 1) : "memory");
}

static void
store_vector(const struct rig *r)
{
	__asm__ volatile("movups %%xmm0, (%0)" : : "r"(r->increment) : "memory");
}

static void
read_and_write(const struct rig *r)
{
	__asm__ volatile("incb (%0)" : : "r"(r->increment) : "memory", "cc");
}

/*
 * Accesses a file of the program that is shorter than its mapping, at the offset at which the
 * adapter's mapping has increments.
 */
static void
touch_own_file(const struct rig *r)
{
	int fd = memfd_create("short", 0);
	uint8_t *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0x10800000);

	(void)r;
	CHECK(at != MAP_FAILED);
	*(volatile uint8_t *)at = 1;
}

static struct rlimit files; /* limits of the process at the start of the test */

static void
add_without_descriptor(const struct rig *r)
{
	int next = dup(STDERR_FILENO);
	struct rlimit few;

	CHECK(close(next) == 0);
	few = (struct rlimit){.rlim_cur = (rlim_t)next, .rlim_max = files.rlim_max};
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
	*(volatile uint8_t *)r->increment = 1;
}

static void
send_signal(const struct rig *r)
{
	(void)r;
	CHECK_EQ(raise(SIGBUS), 0);
}

static void
leave(int sig)
{
	(void)setrlimit(RLIMIT_NOFILE, &files); /* ASan opens a file in _exit() */
	_exit(sig == SIGBUS ? 33 : 34);
}

/* Runs the function in a child with its own signal handler, and expects this line, or no line. */
static void
expect_bus_error(void (*run)(const struct rig *r), const char *reason)
{
	int err = memfd_create("stderr", 0), status;
	char text[8192] = "";
	pid_t child = fork();

	CHECK(err >= 0 && child >= 0);
	if (child == 0) {
		struct rig r;

		CHECK_EQ(dup2(err, STDERR_FILENO), STDERR_FILENO);
		CHECK_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
		CHECK(signal(SIGBUS, leave) != SIG_ERR);
		r = rig_init(64);
		run(&r);
		_exit(35);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(pread(err, text, sizeof(text) - 1, 0) >= 0);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 33, "%s", text);
	if (reason != NULL)
		CHECK(strstr(text, reason) != NULL, "%s", text);
	else
		CHECK(strstr(text, "device memory") == NULL, "%s", text);
	close(err);
}

static void
case_refusals(void)
{
	expect_bus_error(store_to_test_set, "test-and-set is a load of one byte");
	expect_bus_error(load_four, "its instruction is not emulated");
	expect_bus_error(load_increment, "an increment is one store");
	expect_bus_error(store_misaligned, "at a multiple of its length");
	expect_bus_error(store_vector, "its instruction is not emulated");
	expect_bus_error(read_and_write, "its instruction is not emulated");
	expect_bus_error(add_without_descriptor, "/proc/self/maps");
	expect_bus_error(touch_own_file, NULL);
	expect_bus_error(send_signal, NULL);
}

int
main(int argc, char **argv)
{
	static const struct check_case cases[] = {
		/*
		 * This case must be the first, because it forks before this process opens the
		 * adapter.
		 */
		{"other accesses end in the program's own handler, with a line that says why",
			case_refusals},
		{"the capability page names the operations and their sizes", case_capability},
		{"an increment adds the stored number, and changes no other byte", case_increments},
		{"a load returns what the processor would read, and leaves the value of the setting",
			case_loads},
		{"a store of every kind adds what it stores", case_stores},
		{"threads lose no increment, and test-and-set is a lock", case_threads},
		{"operations work in a child, and after the mapping was moved", case_mappings},
		{"memory is not given out again while an operation is mapped", case_lifetime},
	};

	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
