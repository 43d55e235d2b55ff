/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that is mapped in every way of mmap(2), as a source and as a destination. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_common.h>

#include <softhca.h>

#include "gantry_env.h"

#define PAGE      4096
#define LEN       (UINT64_C(64) << 10)
#define HUGE      (UINT64_C(2) << 20)
#define ARENA_LEN HUGE

static struct gantry *g;
static uint8_t *src, *dst;
static struct gantry_mem *src_mem, *dst_mem;

/* ------------------------------------------------------------------ kinds of mappings */

enum backing {
	NO_FILE,
	DISK,
	MEMFD,
	HUGE_MEMFD
};

struct kind {
	const char *name;
	enum backing backing;
	int prot, flags;
	uint64_t len;
};

struct mapping {
	const struct kind *kind;
	uint8_t *at;
	int fd; /* -1 if the mapping has no file */
};

/* Maps memory. If it has a file, the file has the bytes of seed 1. */
static struct mapping
map_kind(const struct kind *k)
{
	struct mapping m = {.kind = k, .fd = -1};
	FILE *file;
	uint8_t *bytes;

	if (k->backing == DISK) {
		file = tmpfile();
		CHECK(file != NULL);
		m.fd = dup(fileno(file));
		fclose(file);
	} else if (k->backing != NO_FILE) {
		m.fd = memfd_create("mapping", k->backing == HUGE_MEMFD ? MFD_HUGETLB : 0);
	}
	if (k->backing != NO_FILE) {
		CHECK(m.fd >= 0);
		CHECK_EQ(ftruncate(m.fd, k->len), 0);
		bytes = mmap(NULL, k->len, PROT_READ | PROT_WRITE, MAP_SHARED, m.fd, 0);
		CHECK(bytes != MAP_FAILED);
		env_fill(bytes, k->len, 1);
		CHECK_EQ(munmap(bytes, k->len), 0);
	}
	m.at = mmap(NULL, k->len, k->prot, k->flags | (m.fd < 0 ? MAP_ANONYMOUS : 0), m.fd, 0);
	CHECK(m.at != MAP_FAILED, "%s", k->name);
	return m;
}

static void
unmap_kind(struct mapping *m)
{
	CHECK_EQ(munmap(m->at, m->kind->len), 0);
	if (m->fd >= 0)
		CHECK_EQ(close(m->fd), 0);
}

/* Checks through another mapping that the file has the bytes of this seed. */
static void
check_file(const struct mapping *m, uint64_t seed)
{
	uint8_t *file = mmap(NULL, m->kind->len, PROT_READ, MAP_SHARED, m->fd, 0);

	CHECK(file != MAP_FAILED);
	CHECK(env_is_filled(file, m->kind->len, seed), "%s", m->kind->name);
	CHECK_EQ(munmap(file, m->kind->len), 0);
}

/* ------------------------------------------------------------------ operations on mappings */

/* A queue, and a connection from this queue to itself. */
struct rig {
	struct gantry_queue *q;
	uint16_t peer, other;
};

static struct rig
rig_init(void)
{
	struct rig r = {.q = env_queue(g, 8)};

	env_connect(r.q, &r.peer, r.q, &r.other);
	return r;
}

static void
rig_fini(struct rig *r)
{
	CHECK_EQ(env_stats(r->q).recoveries, 0);
	CHECK_EQ(gantry_peer_close(r->q, r->peer), 0);
	CHECK_EQ(gantry_peer_close(r->q, r->other), 0);
	env_queue_done(r->q);
}

static struct gantry_desc
by_cpu(struct gantry_desc d)
{
	d.flags = GANTRY_DESC_BY_CPU;
	return d;
}

static struct gantry_desc
by_peer(const struct rig *r, struct gantry_desc d, uint16_t op, struct gantry_mem *remote)
{
	d.op = op;
	d.peer = r->peer;
	d.remote_key = gantry_mem_remote_key(remote);
	return d;
}

/* Copies from m by the default carrier and by the CPU, and lets a peer read m. */
static void
check_as_source(struct rig *r, const struct mapping *m, struct gantry_mem *mem, uint64_t seed)
{
	const uint64_t len = m->kind->len;
	const struct gantry_desc d = env_copy(m->at, dst, len);
	const struct gantry_desc ways[] = {d, by_cpu(d), by_peer(r, d, GANTRY_OP_READ, mem)};
	uint32_t i;

	for (i = 0; i < RTE_DIM(ways); i++) {
		memset(dst, 0, len);
		CHECK_EQ(env_do_one(r->q, ways[i]), GANTRY_OK, m->kind->name);
		CHECK(env_is_filled(dst, len, seed), "%s %u", m->kind->name, i);
	}
}

/*
 * Writes all of m by several operations, with different bytes each time. Then the program must see
 * these bytes, and so must the file if the mapping is shared.
 */
static void
check_as_destination(struct rig *r, const struct mapping *m, struct gantry_mem *mem)
{
	const struct gantry_desc d = env_copy(src, m->at, m->kind->len);
	const struct gantry_desc ways[] = {by_cpu(d), by_peer(r, d, GANTRY_OP_WRITE, mem), d};
	uint32_t i;

	for (i = 0; i < RTE_DIM(ways); i++) {
		env_fill(src, m->kind->len, 2 + i);
		CHECK_EQ(env_do_one(r->q, ways[i]), GANTRY_OK, m->kind->name);
		CHECK(env_is_filled(m->at, m->kind->len, 2 + i), "%s %u", m->kind->name, i);
		if (m->fd >= 0)
			check_file(m, (m->kind->flags & MAP_SHARED) != 0 ? 2 + i : 1);
	}
}

static void
use(const struct kind *kinds, uint32_t n)
{
	struct rig r = rig_init();
	struct gantry_mem *mem;
	struct mapping m;
	uint32_t i;

	for (i = 0; i < n; i++) {
		m = map_kind(&kinds[i]);
		CHECK_EQ(gantry_mem_register(g, m.at, kinds[i].len, ENV_REMOTE, &mem), 0,
			kinds[i].name);
		check_as_destination(&r, &m, mem);
		check_as_source(&r, &m, mem, 4);
		CHECK_EQ(gantry_mem_unregister(mem, 0), 0);
		CHECK_EQ(env_do_one(r.q, env_copy(m.at, dst, 8)), GANTRY_NOT_REGISTERED);
		unmap_kind(&m);
	}
	rig_fini(&r);
}

/* ------------------------------------------------------------------ cases */

#define RW (PROT_READ | PROT_WRITE)

static void
every_mapping_is_a_source_and_a_destination(void)
{
	static const struct kind kinds[] = {
		{"private, without a file", NO_FILE, RW, MAP_PRIVATE, LEN},
		{"shared, without a file", NO_FILE, RW, MAP_SHARED, LEN},
		{"shared, of a file", DISK, RW, MAP_SHARED, LEN},
		{"private, of a file", DISK, RW, MAP_PRIVATE, LEN},
		{"shared, of a memfd", MEMFD, RW, MAP_SHARED, LEN},
		{"private, of a memfd", MEMFD, RW, MAP_PRIVATE, LEN},
	};

	use(kinds, RTE_DIM(kinds));
}

static void
what_is_mapped_without_the_right_to_write_is_a_source_alone(void)
{
	static const struct kind kinds[] = {
		{"shared, of a file", DISK, PROT_READ, MAP_SHARED, LEN},
		{"private, of a file", DISK, PROT_READ, MAP_PRIVATE, LEN},
		{"shared, of a memfd", MEMFD, PROT_READ, MAP_SHARED, LEN},
	};
	struct rig r = rig_init();
	struct gantry_desc d;
	struct gantry_mem *mem;
	struct mapping m;
	uint32_t i;

	for (i = 0; i < RTE_DIM(kinds); i++) {
		m = map_kind(&kinds[i]);
		CHECK_EQ(gantry_mem_register(g, m.at, LEN, 0, &mem), -EACCES, kinds[i].name);
		CHECK_EQ(gantry_mem_register(g, m.at, LEN,
				 GANTRY_MEM_READ_ONLY | GANTRY_MEM_REMOTE_READ, &mem),
			0, kinds[i].name);
		check_as_source(&r, &m, mem, 1);
		d = env_copy(src, m.at, LEN);
		CHECK_EQ(env_do_one(r.q, d), GANTRY_READ_ONLY);
		CHECK_EQ(env_do_one(r.q, by_cpu(d)), GANTRY_READ_ONLY);
		CHECK_EQ(env_do_one(r.q, by_peer(&r, d, GANTRY_OP_READ, src_mem)),
			GANTRY_READ_ONLY);
		CHECK(env_is_filled(m.at, LEN, 1));
		CHECK_EQ(gantry_mem_unregister(mem, 0), 0);
		unmap_kind(&m);
	}
	rig_fini(&r);
}

/*
 * Two mappings that cannot be registered: a file that ends before its mapping does, where the
 * kernel finds no page; and writable memory that the kernel does not pin, a shared mapping of a
 * file on a disk (Linux 6.5). The fault `refuse` emulates the second.
 */
static void
a_mapping_that_the_kernel_does_not_pin_is_refused_by_name(void)
{
	static const struct kind kinds[] = {
		{"shared, of a file", DISK, RW, MAP_SHARED, LEN},
		{"shared, of a memfd", MEMFD, RW, MAP_SHARED, LEN},
		{"private, of a memfd", MEMFD, RW, MAP_PRIVATE, LEN},
	};
	struct gantry_mem *mem;
	struct mapping m;
	uint32_t i;

	for (i = 0; i < RTE_DIM(kinds); i++) {
		m = map_kind(&kinds[i]);
		CHECK_EQ(ftruncate(m.fd, LEN - 2 * PAGE + 1), 0);
		env_refused(g, m.at, LEN, EFAULT, "beyond the end of its file");
		CHECK_EQ(gantry_mem_register(g, m.at, LEN - PAGE, 0, &mem), 0);
		CHECK_EQ(gantry_mem_unregister(mem, 0), 0);
		CHECK_EQ(softhca_fault("refuse call=reg_mr errno=14"), 0);
		env_refused(g, m.at, LEN - PAGE, EOPNOTSUPP, "as read-only");
		softhca_faults_clear();
		unmap_kind(&m);
	}
}

/* Returns the KiB of transparent huge pages in the mapping at `at`: proc_pid_smaps(5). */
static unsigned int
transparent_kib(const void *at)
{
	unsigned int kib = 0;
	char line[512];

	env_smaps(at, "AnonHugePages:", line, sizeof(line));
	CHECK_EQ(sscanf(line, "AnonHugePages: %u kB", &kib), 1);
	return kib;
}

/*
 * Registers one huge page, if the kernel provides one. Then the program protects one small page of
 * it, which splits the huge page.
 */
static void
memory_that_asks_for_transparent_huge_pages_is_as_any_other(void)
{
	static const struct kind kind = {"transparent", NO_FILE, RW, MAP_PRIVATE, HUGE};
	struct rig r = rig_init();
	uint8_t *area = mmap(NULL, 2 * HUGE, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct mapping m = {.kind = &kind, .fd = -1};
	struct gantry_mem *mem;

	CHECK(area != MAP_FAILED);
	m.at = RTE_PTR_ALIGN_CEIL(area, HUGE);
	/* EINVAL: this kernel has no transparent huge pages. */
	CHECK(madvise(m.at, HUGE, MADV_HUGEPAGE) == 0 || errno == EINVAL);
	m.at[0] = 1;
	printf("(%u KiB in huge pages) ", transparent_kib(m.at));
	CHECK_EQ(gantry_mem_register(g, m.at, HUGE, ENV_REMOTE, &mem), 0);
	check_as_destination(&r, &m, mem);
	CHECK_EQ(mprotect(m.at + PAGE, PAGE, PROT_READ), 0);
	check_as_source(&r, &m, mem, 4);
	CHECK_EQ(mprotect(m.at + PAGE, PAGE, RW), 0);
	check_as_destination(&r, &m, mem);
	CHECK_EQ(gantry_mem_unregister(mem, 0), 0);
	CHECK_EQ(munmap(area, 2 * HUGE), 0);
	rig_fini(&r);
}

/*
 * Huge pages must work as a source and as a destination. This needs free huge pages: env_init()
 * skips the program if there are none.
 */
static void
huge_pages_are_a_source_and_a_destination(void)
{
	static const struct kind kinds[] = {
		{"huge, private, without a file", NO_FILE, RW, MAP_PRIVATE | MAP_HUGETLB, HUGE},
		{"huge, shared, without a file", NO_FILE, RW, MAP_SHARED | MAP_HUGETLB, HUGE},
		{"huge, shared, of a memfd", HUGE_MEMFD, RW, MAP_SHARED, HUGE},
	};

	use(kinds, RTE_DIM(kinds));
}

static const struct check_case cases[] = {
	{"every mapping is a source and a destination",
		every_mapping_is_a_source_and_a_destination},
	{"memory that is mapped read-only is only a source",
		what_is_mapped_without_the_right_to_write_is_a_source_alone},
	{"a mapping that the kernel does not pin is refused with the reason",
		a_mapping_that_the_kernel_does_not_pin_is_refused_by_name},
	{"memory with transparent huge pages works like any other",
		memory_that_asks_for_transparent_huge_pages_is_as_any_other},
};
static const struct check_case huge_cases[] = {
	{"huge pages are a source and a destination", huge_pages_are_a_source_and_a_destination},
};

int
main(int argc, char **argv)
{
	env_init(0);
	CHECK_EQ(gantry_create(NULL, &g), 0);
	src = env_mem(g, ARENA_LEN, ENV_REMOTE, &src_mem);
	dst = env_mem(g, ARENA_LEN, ENV_REMOTE, &dst_mem);
	if (getenv("TEST_EAL") != NULL)
		env_run(huge_cases, RTE_DIM(huge_cases), argc, argv);
	else
		env_run(cases, RTE_DIM(cases), argc, argv);
	return env_done(g, (struct gantry_mem *const[]){src_mem, dst_mem}, 2);
}
