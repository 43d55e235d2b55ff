/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The dmadev driver on the emulated adapter, used only through DPDK's calls. The test computes the
 * expected bytes with its own memcpy(3).
 */
#include <dirent.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <rte_bus_vdev.h>
#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_dmadev_pmd.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>
#include <rte_malloc.h>
#include <rte_memory.h>

#include <softhca.h>

#include "gantry_env.h"
#include "rte_pmd_dma_mlx5.h"

#define NAME     "dma_mlx5_0"
#define BUF_LEN  65536
#define PAGE_LEN ((size_t)4096)

static uint8_t *src, *dst; /* buffers of BUF_LEN bytes each, in EAL's heap */
static bool has_odp;       /* the adapter supports memory on demand */
static bool has_mmo;       /* the adapter supports DMA MMO */
static char *log_text;
static size_t log_len;

/* ------------------------------------------------------------------ helpers */

static void
log_begin(void)
{
	FILE *f = open_memstream(&log_text, &log_len);

	CHECK(f != NULL);
	rte_openlog_stream(f);
}

/*
 * Ends the log that log_begin() began, and checks that it contains these words. NULL: checks no
 * words.
 */
static void
log_end(const char *words)
{
	FILE *f = rte_log_get_stream();

	rte_openlog_stream(NULL);
	fclose(f);
	CHECK(words == NULL || strstr(log_text, words) != NULL, "the log: %s", log_text);
	free(log_text);
}

/* Returns how often the log contains these words. */
static unsigned int
count_logged(const char *words)
{
	unsigned int n = 0;
	const char *at;

	for (at = log_text; (at = strstr(at, words)) != NULL; at += strlen(words))
		n++;
	return n;
}

static int16_t
plug(const char *name, const char *args)
{
	CHECK_EQ(rte_vdev_init(name, args), 0);
	return rte_dma_get_dev_id_by_name(name);
}

static void
unplug(const char *name)
{
	CHECK_EQ(rte_vdev_uninit(name), 0);
	CHECK(rte_dma_get_dev_id_by_name(name) < 0);
}

static struct rte_device *
device_of(const char *name)
{
	struct rte_dev_iterator it;
	struct rte_device *dev;

	RTE_DEV_FOREACH(dev, "bus=vdev", &it)
	if (strcmp(rte_dev_name(dev), name) == 0)
		return dev;
	return NULL;
}

static void
begin_with(int16_t id, uint16_t n_vchans, uint16_t nb_desc)
{
	const struct rte_dma_conf conf = {.nb_vchans = n_vchans};
	const struct rte_dma_vchan_conf vchan = {.direction = RTE_DMA_DIR_MEM_TO_MEM,
		.nb_desc = nb_desc};
	uint16_t i;

	CHECK_EQ(rte_dma_configure(id, &conf), 0);
	for (i = 0; i < n_vchans; i++)
		CHECK_EQ(rte_dma_vchan_setup(id, i, &vchan), 0);
	CHECK_EQ(rte_dma_start(id), 0);
}

static int16_t
begin(uint16_t n_vchans, uint16_t nb_desc)
{
	int16_t id = plug(NAME, NULL);

	begin_with(id, n_vchans, nb_desc);
	return id;
}

static void
end(int16_t id)
{
	CHECK_EQ(rte_dma_stop(id), 0);
	unplug(NAME);
}

/* Collects n statuses. */
static void
collect(int16_t id, uint16_t vchan, enum rte_dma_status_code *status, unsigned int n)
{
	unsigned int got = 0;
	uint16_t last;

	while (got < n) {
		uint16_t k = rte_dma_completed_status(id, vchan, n - got, &last, status + got);

		if (k == 0)
			sched_yield();
		got += k;
	}
	CHECK_EQ(rte_dma_completed_status(id, vchan, 1, &last, status + n), 0);
}

/* Waits until the device is idle. */
static void
settle(int16_t id, uint16_t vchan)
{
	enum rte_dma_vchan_status status;

	do {
		CHECK_EQ(rte_dma_vchan_status(id, vchan, &status), 0);
		if (status == RTE_DMA_VCHAN_ACTIVE)
			sched_yield();
	} while (status == RTE_DMA_VCHAN_ACTIVE);
	CHECK_EQ(status, RTE_DMA_VCHAN_IDLE);
}

/* Returns the number after these words in the device's dump. */
static uint64_t
dumped(int16_t id, const char *words)
{
	char text[2048] = "", *at;
	FILE *f = fmemopen(text, sizeof(text) - 1, "w");

	CHECK(f != NULL);
	CHECK_EQ(rte_dma_dump(id, f), 0);
	fclose(f);
	at = strstr(text, words);
	CHECK(at != NULL, "%s", text);
	return strtoull(at + strlen(words), NULL, 10);
}

/*
 * The expected status of a copy that the adapter completes with syndrome 0x04. If RDMA carried the
 * copy, the syndrome says that the source was refused.
 */
static enum rte_dma_status_code
refused_copy(void)
{
	return has_mmo ? RTE_DMA_STATUS_INVALID_ADDR : RTE_DMA_STATUS_INVALID_SRC_ADDR;
}

static void
fresh_bytes(uint64_t seed)
{
	env_fill(src, BUF_LEN, seed);
	memset(dst, ENV_UNTOUCHED, BUF_LEN);
}

/* ------------------------------------------------------------------ what the device reports */

static void
it_says_what_it_can(void)
{
	int16_t id = plug(NAME, "max_desc=100");
	struct rte_dma_vchan_conf conf = {.direction = RTE_DMA_DIR_MEM_TO_MEM, .nb_desc = 101};
	const struct rte_dma_conf one = {.nb_vchans = 1};
	struct rte_dma_info info;

	CHECK_EQ(rte_dma_info_get(id, &info), 0);
	CHECK_EQ(info.dev_capa, RTE_DMA_CAPA_MEM_TO_MEM | RTE_DMA_CAPA_HANDLES_ERRORS |
					RTE_DMA_CAPA_OPS_COPY | RTE_DMA_CAPA_OPS_COPY_SG |
					RTE_DMA_CAPA_OPS_FILL | (has_odp ? RTE_DMA_CAPA_SVA : 0));
	/* Limits that doc/dmadev.md promises. */
	CHECK_EQ(info.max_vchans, 16);
	CHECK_EQ(info.max_sges, 32);
	CHECK_EQ(info.min_desc, 2);
	CHECK_EQ(info.max_desc, 100);
	CHECK(strcmp(info.dev_name, NAME) == 0);
	CHECK_EQ(rte_dma_configure(id, &one), 0);
	/* Starting fails, because no channel is set up yet. */
	CHECK_EQ(rte_dma_start(id), -EINVAL);
	CHECK_EQ(rte_dma_vchan_setup(id, 0, &conf), -EINVAL);
	conf.nb_desc = 1;
	CHECK_EQ(rte_dma_vchan_setup(id, 0, &conf), -EINVAL);
	conf.nb_desc = 100;
	CHECK_EQ(rte_dma_vchan_setup(id, 0, &conf), 0);
	unplug(NAME);
	/*
	 * Without the argument max_desc, the maximum is that of the adapter, up to the engine's
	 * limit.
	 */
	id = plug(NAME, NULL);
	CHECK_EQ(rte_dma_info_get(id, &info), 0);
	CHECK_EQ(info.max_desc, 16384);
	unplug(NAME);
}

#define DIGITS "123456789012345"

static void
wrong_arguments_are_refused_by_name(void)
{
	static const struct {
		const char *args, *words;
	} bad[] = {
		{"max_desc=1", "max_desc=1: it must be a number from 2 to 16384"},
		{"max_desc=16385", "max_desc=16385: it must be a number from 2 to 16384"},
		{"max_desc=12x", "max_desc=12x: it must be a number"},
		{"max_desc=-5", "max_desc=-5: it must be a number"},
		{"max_desc", "max_desc=: it must be a number"},
		{"mode=fast", "mode=fast: it must be auto, mmo or rdma"},
		{"max_desc=4294967298", "max_desc=4294967298: it must be a number"},
		{"mode=", "mode=: it must be auto, mmo or rdma"},
		{"device=", "device=: it must name a device"},
		{"device=" DIGITS DIGITS DIGITS DIGITS "1234", "no device has so long a name"},
		{"device=mlx5_99", "there is no such mlx5 device"},
		{"device=0000:03:00.0", "no mlx5 device has the PCI address 0000:03:00.0"},
		{"device=03:00.0", "no mlx5 device has the PCI address 03:00.0"},
		{"mode=rdma,colour=red", "colour=red: there is no such argument: device="},
	};
	unsigned int i;

	for (i = 0; i < RTE_DIM(bad); i++) {
		log_begin();
		CHECK(rte_vdev_init(NAME, bad[i].args) < 0, "%s", bad[i].args);
		log_end(bad[i].words);
		CHECK(rte_dma_get_dev_id_by_name(NAME) < 0);
	}
	plug(NAME, "device=mlx5_0,max_desc=2,mode=rdma");
	unplug(NAME);
	log_begin();
	CHECK_EQ(rte_vdev_init(NAME, "mode=mmo") == 0, has_mmo);
	log_end(has_mmo ? NULL : "no device that may be used has DMA MMO: use mode=auto or rdma");
	if (has_mmo)
		unplug(NAME);
}

static void
a_device_is_named_by_its_pci_address(void)
{
	char *folder = realpath("/sys/class/infiniband/mlx5_1/device", NULL);
	char args[64], text[2048] = "";
	int16_t id;
	FILE *f;

	CHECK(folder != NULL);
	snprintf(args, sizeof(args), "device=%s,max_desc=64", strrchr(folder, '/') + 1);
	id = plug(NAME, args);
	f = fmemopen(text, sizeof(text) - 1, "w");
	CHECK(f != NULL);
	CHECK_EQ(rte_dma_dump(id, f), 0);
	fclose(f);
	CHECK(strstr(text, "device: mlx5_1\n") != NULL, "%s: %s", args, text);
	unplug(NAME);
	free(folder);
}

static bool is_secondary;

enum rte_proc_type_t __real_rte_eal_process_type(void);
enum rte_proc_type_t __wrap_rte_eal_process_type(void);

enum rte_proc_type_t
__wrap_rte_eal_process_type(void)
{
	return is_secondary ? RTE_PROC_SECONDARY : __real_rte_eal_process_type();
}

static void
a_secondary_process_has_no_device_and_one_line(void)
{
	uint8_t *page = env_map(PAGE_LEN);
	struct rte_device *dev;

	CHECK_EQ(rte_extmem_register(page, PAGE_LEN, NULL, 1, PAGE_LEN), 0);
	is_secondary = true;
	log_begin();
	CHECK_EQ(rte_vdev_init(NAME, NULL), 0);
	CHECK(rte_dma_get_dev_id_by_name(NAME) < 0);
	dev = device_of(NAME);
	CHECK(dev != NULL);
	CHECK(rte_dev_dma_map(dev, page, 0, PAGE_LEN) < 0 && rte_errno == ENODEV);
	CHECK(rte_dev_dma_unmap(dev, page, 0, PAGE_LEN) < 0 && rte_errno == ENODEV);
	CHECK_EQ(rte_vdev_uninit(NAME), 0);
	is_secondary = false;
	fflush(rte_log_get_stream());
	CHECK_EQ(count_logged("\n"), 1);
	log_end("dma_mlx5_0 is the primary process's alone");
	CHECK_EQ(rte_extmem_unregister(page, PAGE_LEN), 0);
	env_unmap(page, PAGE_LEN);
}

/* ------------------------------------------------------------------ operations */

/* Random bursts of copies on each of several channels: every byte must arrive at its place. */
static void
copies_move_the_right_bytes_on_each_channel(void)
{
	enum {
		N_VCHANS = 3,
		BURST = 32,
		ROUNDS = 20,
		PART = BUF_LEN / (N_VCHANS * BURST)
	};
	enum rte_dma_status_code status[BURST + 1];
	int16_t id = begin(N_VCHANS, 64);
	uint8_t *want = malloc(BUF_LEN);
	uint64_t seed = 1;
	unsigned int round, vchan, i;

	CHECK(want != NULL);
	for (round = 0; round < ROUNDS; round++) {
		fresh_bytes(round);
		memcpy(want, dst, BUF_LEN);
		for (i = 0; i < BURST; i++) {
			for (vchan = 0; vchan < N_VCHANS; vchan++) {
				uint32_t at = (i * N_VCHANS + vchan) * PART;
				uint32_t skip = check_random(&seed) % 64;
				uint32_t len = 1 + check_random(&seed) % (PART - 64);
				uint32_t from = check_random(&seed) % (BUF_LEN - PART);

				memcpy(want + at + skip, src + from, len);
				CHECK_EQ(rte_dma_copy(id, vchan, (uintptr_t)src + from,
						 (uintptr_t)dst + at + skip, len, 0),
					round * BURST + i);
			}
		}
		for (vchan = 0; vchan < N_VCHANS; vchan++)
			CHECK_EQ(rte_dma_submit(id, vchan), 0);
		for (vchan = 0; vchan < N_VCHANS; vchan++) {
			collect(id, vchan, status, BURST);
			for (i = 0; i < BURST; i++)
				CHECK_EQ(status[i], RTE_DMA_STATUS_SUCCESSFUL);
		}
		CHECK(memcmp(dst, want, BUF_LEN) == 0);
	}
	free(want);
	end(id);
}

static void
nothing_moves_before_it_is_submitted_and_then_by_one_doorbell(void)
{
	enum {
		N = 20
	};
	int16_t id = begin(1, 64);
	uint64_t doorbells = dumped(id, "doorbells ");
	struct rte_dma_stats stats;
	unsigned int i, n = 0;
	uint16_t last = 5;
	bool error = true;

	fresh_bytes(2);
	for (i = 0; i < N; i++)
		CHECK_EQ(rte_dma_copy(id, 0, (uintptr_t)src + i * 100, (uintptr_t)dst + i * 100,
				 100, 0),
			i);
	for (i = 0; i < 1000; i++)
		CHECK_EQ(rte_dma_completed(id, 0, N, &last, &error), 0);
	CHECK(last == UINT16_MAX && !error);
	settle(id, 0);
	CHECK_EQ(rte_dma_stats_get(id, 0, &stats), 0);
	CHECK(stats.submitted == 0 && dst[0] == ENV_UNTOUCHED);
	CHECK_EQ(rte_dma_submit(id, 0), 0);
	while (n < N)
		n += rte_dma_completed(id, 0, N, &last, &error);
	CHECK(last == N - 1 && !error);
	CHECK(memcmp(src, dst, N * 100) == 0);
	CHECK_EQ(dumped(id, "doorbells "), doorbells + 1);
	/* No operation is staged, so no doorbell is rung. */
	CHECK_EQ(rte_dma_submit(id, 0), 0);
	CHECK_EQ(dumped(id, "doorbells "), doorbells + 1);
	end(id);
}

static void
ids_go_on_from_0_after_65535(void)
{
	enum {
		BURST = 128,
		N = 65536 + 3 * BURST
	};
	int16_t id = begin(1, BURST);
	unsigned int i, k, n;
	uint16_t last;

	for (i = 0; i < N; i += BURST) {
		for (k = 0; k < BURST; k++)
			CHECK_EQ(rte_dma_copy(id, 0, (uintptr_t)src, (uintptr_t)dst + 8 * k, 8,
					 k == BURST - 1 ? RTE_DMA_OP_FLAG_SUBMIT : 0),
				(i + k) % 65536);
		for (n = 0; n < BURST;) {
			k = rte_dma_completed(id, 0, BURST, &last, NULL);
			n += k;
			CHECK_EQ(last, (i + n - 1) % 65536);
			if (k == 0)
				sched_yield();
		}
	}
	CHECK_EQ(rte_dma_burst_capacity(id, 0), BURST);
	end(id);
}

/*
 * Copies the bytes of the list's entries to `out`, one entry after the other. Returns their number.
 */
static uint32_t
gather(uint8_t *out, const struct rte_dma_sge *list, unsigned int n)
{
	uint32_t len = 0;
	unsigned int i;

	for (i = 0; i < n; i++) {
		memcpy(out + len, (void *)(uintptr_t)list[i].addr, list[i].length);
		len += list[i].length;
	}
	return len;
}

/*
 * Draws lengths, some of them 0, that add up to len. Each piece lies in its own part of the memory.
 */
static void
draw_list(struct rte_dma_sge *list, unsigned int n, uint8_t *base, uint32_t len, uint64_t *seed)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		uint32_t part = i == n - 1 ? len : check_random(seed) % 3 * len / 4;

		list[i] = (struct rte_dma_sge){.addr = (uintptr_t)base + i * 2000, .length = part};
		len -= part;
	}
}

static void
lists_of_every_length_are_copied(void)
{
	enum {
		LEN = 1999,
		STEP = 3
	};
	struct rte_dma_sge *from, *to;
	enum rte_dma_status_code status[2];
	int16_t id = begin(1, 32);
	struct rte_dma_info info;
	uint8_t a[LEN], b[LEN];
	unsigned int n, m, max;
	uint64_t seed = 3;

	CHECK_EQ(rte_dma_info_get(id, &info), 0);
	max = info.max_sges;
	CHECK(max * 2000 <= BUF_LEN);
	from = calloc(max + 1, sizeof(*from));
	to = calloc(max + 1, sizeof(*to));
	CHECK(from != NULL && to != NULL);
	for (n = 1; n <= max; n += STEP) {
		for (m = 1; m <= max; m += STEP) {
			struct rte_dma_sge kept[64];

			fresh_bytes(n * 100 + m);
			draw_list(from, n, src, LEN, &seed);
			draw_list(to, m, dst, LEN, &seed);
			memcpy(kept, to, m * sizeof(*to));
			gather(a, from, n);
			CHECK(rte_dma_copy_sg(id, 0, from, to, n, m, RTE_DMA_OP_FLAG_SUBMIT) >= 0);
			/* After the call has returned, the caller may change the lists. */
			memset(from, 0xff, n * sizeof(*from));
			memset(to, 0xff, m * sizeof(*to));
			collect(id, 0, status, 1);
			CHECK_EQ(status[0], RTE_DMA_STATUS_SUCCESSFUL);
			CHECK_EQ(gather(b, kept, m), LEN);
			CHECK(memcmp(a, b, LEN) == 0);
		}
	}
	draw_list(from, 2, src, 100, &seed);
	draw_list(to, 2, dst, 99, &seed);
	CHECK_EQ(rte_dma_copy_sg(id, 0, from, to, 0, 2, 0), -EINVAL);
	CHECK_EQ(rte_dma_copy_sg(id, 0, from, to, 2, 0, 0), -EINVAL);
	CHECK_EQ(rte_dma_copy_sg(id, 0, from, to, max + 1, 2, 0), -EINVAL);
	CHECK_EQ(rte_dma_copy_sg(id, 0, from, to, 2, max + 1, 0), -EINVAL);
	CHECK(rte_dma_copy_sg(id, 0, from, to, 2, 2, RTE_DMA_OP_FLAG_SUBMIT) >= 0);
	collect(id, 0, status, 1);
	CHECK_EQ(status[0], RTE_DMA_STATUS_INVALID_LENGTH);
	free(from);
	free(to);
	end(id);
}

static void
each_copy_of_a_burst_has_lists_of_its_own(void)
{
	enum {
		N = 32,
		PART = BUF_LEN / N,
		HALF = PART / 2
	};
	enum rte_dma_status_code status[N + 1];
	int16_t id = begin(1, N);
	unsigned int i;

	fresh_bytes(4);
	for (i = 0; i < N; i++) {
		uint64_t from = (uintptr_t)src + i * PART, to = (uintptr_t)dst + i * PART;
		/* Copying list a to list b swaps the two halves. */
		struct rte_dma_sge a[] = {{from, HALF}, {from + HALF, HALF}};
		struct rte_dma_sge b[] = {{to + HALF, HALF}, {to, HALF}};

		CHECK_EQ(rte_dma_copy_sg(id, 0, a, b, 2, 2, 0), i);
	}
	rte_dma_submit(id, 0);
	collect(id, 0, status, N);
	for (i = 0; i < 2 * N; i++)
		CHECK(memcmp(dst + i * HALF, src + (i ^ 1) * HALF, HALF) == 0);
	end(id);
}

/*
 * The first copy is delayed, so later copies wait. The second copy fails, so later copies are
 * executed again, and the engine reads their lists once more.
 */
static void
copies_that_wait_keep_their_lists_submit_after_submit(void)
{
	enum {
		N = 32,
		PART = BUF_LEN / N,
		HALF = PART / 2
	};
	enum rte_dma_status_code status[N + 3];
	int16_t id = begin(1, 64);
	unsigned int i;

	fresh_bytes(5);
	CHECK_EQ(softhca_fault("late ms=20"), 0);
	CHECK_EQ(softhca_fault("complete syndrome=0x4"), 0);
	for (i = 0; i < 2; i++)
		CHECK_EQ(rte_dma_copy(id, 0, (uintptr_t)src, (uintptr_t)dst, 1,
				 RTE_DMA_OP_FLAG_SUBMIT),
			i);
	for (i = 0; i < N; i++) {
		uint64_t from = (uintptr_t)src + i * PART, to = (uintptr_t)dst + i * PART;
		/* Copying list a to list b swaps the two halves. */
		struct rte_dma_sge a[] = {{from, HALF}, {from + HALF, HALF}};
		struct rte_dma_sge b[] = {{to + HALF, HALF}, {to, HALF}};

		CHECK_EQ(rte_dma_copy_sg(id, 0, a, b, 2, 2, RTE_DMA_OP_FLAG_SUBMIT), i + 2);
	}
	collect(id, 0, status, N + 2);
	CHECK_EQ(softhca_faults_left(), 0);
	for (i = 0; i < N + 2; i++)
		CHECK_EQ(status[i], i == 1 ? refused_copy() : RTE_DMA_STATUS_SUCCESSFUL);
	for (i = 0; i < 2 * N; i++)
		CHECK(memcmp(dst + i * HALF, src + (i ^ 1) * HALF, HALF) == 0);
	end(id);
}

/*
 * Executes a copy, a copy of lists or a fill of LEN bytes. Returns the number of WQEs that it
 * needed.
 */
static uint64_t
wqes_of(int16_t id, unsigned int op, uint64_t flags)
{
	enum {
		LEN = 3000
	};
	struct rte_dma_sge from[] = {{(uintptr_t)src, 1000}, {(uintptr_t)src + 1000, 2000}};
	struct rte_dma_sge to = {(uintptr_t)dst, LEN};
	uint64_t before = dumped(id, "WQEs ");
	enum rte_dma_status_code status[2];
	struct rte_dma_stats stats;

	env_fill(src, LEN, op);
	if (op == 2)
		memset(src, 7, LEN);
	memset(dst, ENV_UNTOUCHED, LEN);
	CHECK_EQ(rte_dma_stats_reset(id, 0), 0);
	if (op == 0)
		CHECK(rte_dma_copy(id, 0, (uintptr_t)src, (uintptr_t)dst, LEN, flags) >= 0);
	else if (op == 1)
		CHECK(rte_dma_copy_sg(id, 0, from, &to, 2, 1, flags) >= 0);
	else
		CHECK(rte_dma_fill(id, 0, UINT64_C(0x0707070707070707), (uintptr_t)dst, LEN,
			      flags) >= 0);
	CHECK_EQ(rte_dma_stats_get(id, 0, &stats), 0);
	CHECK_EQ(stats.submitted, 0);
	CHECK_EQ(rte_dma_submit(id, 0), 0);
	collect(id, 0, status, 1);
	CHECK_EQ(status[0], RTE_DMA_STATUS_SUCCESSFUL);
	CHECK(env_is_moved(src, dst, LEN));
	return dumped(id, "WQEs ") - before;
}

static void
the_flag_llc_has_no_effect(void)
{
	int16_t id = begin(1, 1024);
	unsigned int op;

	for (op = 0; op < 3; op++) {
		/* The first operation prepares buffers, so its WQEs are not counted. */
		wqes_of(id, op, 0);
		CHECK_EQ(wqes_of(id, op, RTE_DMA_OP_FLAG_LLC), wqes_of(id, op, 0));
	}
	end(id);
}

static void
fills_repeat_their_pattern(void)
{
	static const uint8_t pattern[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	static const uint32_t len[] = {1, 7, 8, 9, 64, 89, 4096, 50001};
	enum rte_dma_status_code status[2];
	int16_t id = begin(1, 32);
	uint64_t word;
	unsigned int i, k;

	memcpy(&word, pattern, sizeof(word));
	for (i = 0; i < RTE_DIM(len); i++) {
		fresh_bytes(0);
		CHECK(rte_dma_fill(id, 0, word, (uintptr_t)dst + 1, len[i],
			      RTE_DMA_OP_FLAG_SUBMIT) >= 0);
		collect(id, 0, status, 1);
		CHECK_EQ(status[0], RTE_DMA_STATUS_SUCCESSFUL);
		for (k = 0; k < len[i]; k++)
			CHECK_EQ(dst[1 + k], pattern[k % 8]);
		CHECK(dst[0] == ENV_UNTOUCHED && dst[1 + len[i]] == ENV_UNTOUCHED);
		/*
		 * A copy after the fill must succeed: its fields must not keep values of the fill.
		 */
		CHECK(rte_dma_copy(id, 0, (uintptr_t)src, (uintptr_t)dst, 64,
			      RTE_DMA_OP_FLAG_SUBMIT) >= 0);
		collect(id, 0, status, 1);
		CHECK_EQ(status[0], RTE_DMA_STATUS_SUCCESSFUL);
	}
	end(id);
}

/*
 * The source of each copy is the destination of the previous copy. With fences, the last
 * destination must have the bytes of the first source.
 */
static void
a_fenced_copy_sees_what_was_before_it(void)
{
	enum {
		N = 30,
		LEN = 2000
	};
	enum rte_dma_status_code status[N + 1];
	int16_t id = begin(1, 64);
	unsigned int i;

	fresh_bytes(7);
	memcpy(dst, src, LEN);
	for (i = 1; i <= N; i++)
		CHECK(rte_dma_copy(id, 0, (uintptr_t)dst + (i - 1) * LEN, (uintptr_t)dst + i * LEN,
			      LEN, RTE_DMA_OP_FLAG_FENCE) >= 0);
	rte_dma_submit(id, 0);
	collect(id, 0, status, N);
	CHECK(memcmp(dst + N * LEN, src, LEN) == 0);
	end(id);
}

/* ------------------------------------------------------------------ full, errors */

static void
a_full_channel_says_so_and_recovers(void)
{
	int16_t id = begin(1, 5);
	uint16_t room = rte_dma_burst_capacity(id, 0), i;
	enum rte_dma_status_code status[17];

	/* The depth is rounded up to a power of two. */
	CHECK_EQ(room, 8);
	for (i = 0; i < room; i++) {
		CHECK_EQ(rte_dma_burst_capacity(id, 0), room - i);
		CHECK_EQ(rte_dma_copy(id, 0, (uintptr_t)src, (uintptr_t)dst + i * 64, 64, 0), i);
	}
	CHECK_EQ(rte_dma_copy(id, 0, (uintptr_t)src, (uintptr_t)dst, 64, 0), -ENOSPC);
	CHECK_EQ(rte_dma_fill(id, 0, 0, (uintptr_t)dst, 64, 0), -ENOSPC);
	CHECK_EQ(rte_dma_burst_capacity(id, 0), 0);
	rte_dma_submit(id, 0);
	CHECK_EQ(rte_dma_copy(id, 0, (uintptr_t)src, (uintptr_t)dst, 64, 0), -ENOSPC);
	collect(id, 0, status, room);
	CHECK_EQ(rte_dma_burst_capacity(id, 0), room);
	CHECK_EQ(rte_dma_copy(id, 0, (uintptr_t)src, (uintptr_t)dst, 64, 0), room);
	end(id);
}

/*
 * Makes [at, at + len) inaccessible. munmap(2) is not used: another thread (of a sanitizer or the
 * adapter) could then get this memory by mmap(2).
 */
static void
forbid(void *at, size_t len)
{
	CHECK(mmap(at, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at);
}

/*
 * Of 16 copies, copy 3 names address 0, copy 5 names memory that cannot be read, copy 9 has length
 * 0, and copy 15 has the same source and destination.
 */
static void
enqueue_with_errors(int16_t id)
{
	static uint8_t *unknown;
	unsigned int i;

	if (unknown == NULL) {
		unknown = env_map(PAGE_LEN);
		forbid(unknown, PAGE_LEN);
	}
	fresh_bytes(11);
	for (i = 0; i < 16; i++)
		CHECK(rte_dma_copy(id, 0,
			      i == 3   ? 0
			      : i == 5 ? (uintptr_t)unknown
				       : (uintptr_t)src + i * 64,
			      i == 15 ? (uintptr_t)src + i * 64 + 1 : (uintptr_t)dst + i * 64,
			      i == 9 ? 0 : 64, 0) >= 0);
	CHECK_EQ(rte_dma_submit(id, 0), 0);
}

static const enum rte_dma_status_code with_errors[16] = {
	[3] = RTE_DMA_STATUS_INVALID_SRC_ADDR,
	[5] = RTE_DMA_STATUS_INVALID_SRC_ADDR,
	[9] = RTE_DMA_STATUS_INVALID_LENGTH,
	[15] = RTE_DMA_STATUS_INVALID_ADDR,
};

/* All other copies have moved their bytes. */
static void
check_bytes_with_errors(void)
{
	unsigned int i;

	for (i = 0; i < 16; i++)
		CHECK_EQ(env_is_moved(src + i * 64, dst + i * 64, 64), with_errors[i] == 0);
}

static void
an_error_is_told_by_its_status_and_harms_no_other(void)
{
	enum rte_dma_status_code status[17];
	int16_t id = begin(1, 32);
	struct rte_dma_stats stats;
	unsigned int i;

	enqueue_with_errors(id);
	collect(id, 0, status, 16);
	for (i = 0; i < 16; i++)
		CHECK_EQ(status[i], with_errors[i]);
	check_bytes_with_errors();
	CHECK_EQ(rte_dma_stats_get(id, RTE_DMA_ALL_VCHAN, &stats), 0);
	CHECK(stats.submitted == 16 && stats.completed == 16 && stats.errors == 4);
	CHECK_EQ(rte_dma_stats_reset(id, 0), 0);
	CHECK_EQ(rte_dma_stats_get(id, 0, &stats), 0);
	CHECK(stats.submitted == 0 && stats.completed == 0 && stats.errors == 0);
	end(id);
}

/* held: rte_dma_vchan_status() was called before, so the device holds the completions. */
static void
completed_stops_in_front_of_an_error(bool held)
{
	/* number of good completions before each error */
	static const uint16_t good[] = {3, 1, 3, 5};
	enum rte_dma_status_code status;
	int16_t id = begin(1, 32);
	unsigned int i, n, k;
	uint16_t last, next = 0;
	bool error;

	enqueue_with_errors(id);
	if (held)
		settle(id, 0);
	for (i = 0; i < RTE_DIM(good); i++) {
		n = 0;
		do {
			k = rte_dma_completed(id, 0, 7, &last, &error);
			n += k;
			CHECK_EQ(last, (uint16_t)(next + n - 1));
			if (k == 0)
				sched_yield();
		} while (!error);
		CHECK_EQ(n, good[i]);
		next += n;
		/* Further calls return the same result. */
		for (k = 0; k < 3; k++)
			CHECK(rte_dma_completed(id, 0, 7, &last, &error) == 0 && error &&
				last == (uint16_t)(next - 1));
		CHECK_EQ(rte_dma_completed_status(id, 0, 1, &last, &status), 1);
		CHECK_EQ(status, with_errors[next]);
		CHECK_EQ(last, next++);
	}
	CHECK_EQ(next, 16);
	CHECK_EQ(rte_dma_completed(id, 0, 7, &last, &error), 0);
	CHECK(!error && last == 15);
	check_bytes_with_errors();
	end(id);
}

static void
completed_stops_in_front_of_each_error(void)
{
	completed_stops_in_front_of_an_error(false);
	completed_stops_in_front_of_an_error(true);
}

/*
 * Each call asks only for completions that are good. The first completion that was not asked for is
 * a failed one: no call may report this error.
 */
static void
completed_does_not_speak_of_an_error_behind_what_was_asked_for(void)
{
	unsigned int held, step, n;
	uint16_t last;
	bool error;

	for (held = 0; held < 2; held++) {
		for (step = 1; step <= 3; step += 2) {
			int16_t id = begin(1, 32);

			enqueue_with_errors(id);
			if (held)
				settle(id, 0);
			for (n = 0; n < 3;) {
				uint16_t k =
					rte_dma_completed(id, 0, step - n % step, &last, &error);

				CHECK(!error);
				n += k;
				if (k == 0)
					sched_yield();
			}
			CHECK(n == 3 && last == 2);
			end(id);
		}
	}
}

static void
each_channel_counts_its_own_operations(void)
{
	enum rte_dma_status_code status[17];
	int16_t id = begin(3, 32);
	struct rte_dma_stats stats;
	unsigned int i;

	enqueue_with_errors(id);
	/* settle() calls rte_dma_vchan_status(): from now on the device holds the completions. */
	settle(id, 0);
	collect(id, 0, status, 16);
	for (i = 0; i < 5; i++)
		CHECK(rte_dma_copy(id, 2, (uintptr_t)src, (uintptr_t)dst + i * 64, i == 1 ? 0 : 64,
			      0) >= 0);
	CHECK_EQ(rte_dma_submit(id, 2), 0);
	CHECK_EQ(rte_dma_stats_get(id, 2, &stats), 0);
	CHECK(stats.submitted == 5 && stats.completed == 0 && stats.errors == 0);
	collect(id, 2, status, 5);
	CHECK_EQ(rte_dma_stats_get(id, 2, &stats), 0);
	CHECK(stats.submitted == 5 && stats.completed == 5 && stats.errors == 1);
	CHECK_EQ(rte_dma_stats_get(id, 1, &stats), 0);
	CHECK(stats.submitted == 0 && stats.completed == 0 && stats.errors == 0);
	CHECK_EQ(rte_dma_stats_get(id, RTE_DMA_ALL_VCHAN, &stats), 0);
	CHECK(stats.submitted == 21 && stats.completed == 21 && stats.errors == 5);
	CHECK_EQ(rte_dma_stats_reset(id, 2), 0);
	CHECK_EQ(rte_dma_stats_get(id, 2, &stats), 0);
	CHECK(stats.submitted == 0 && stats.completed == 0 && stats.errors == 0);
	CHECK_EQ(rte_dma_stats_get(id, 0, &stats), 0);
	CHECK(stats.submitted == 16 && stats.completed == 16 && stats.errors == 4);
	/* Two channels have counters that are not 0. */
	CHECK(rte_dma_copy(id, 2, (uintptr_t)src, (uintptr_t)dst, 64, RTE_DMA_OP_FLAG_SUBMIT) >= 0);
	collect(id, 2, status, 1);
	CHECK_EQ(rte_dma_stats_reset(id, RTE_DMA_ALL_VCHAN), 0);
	CHECK_EQ(rte_dma_stats_get(id, RTE_DMA_ALL_VCHAN, &stats), 0);
	CHECK(stats.submitted == 0 && stats.completed == 0 && stats.errors == 0);
	end(id);
}

/* Operations on the lost adapter fail; operations on the other adapter's device continue. */
static void
a_channel_of_a_lost_adapter_has_halted(void)
{
	enum rte_dma_status_code status[9];
	enum rte_dma_vchan_status state = RTE_DMA_VCHAN_ACTIVE;
	int16_t id = begin(1, 16), lost = plug("dma_mlx5_lost", "device=mlx5_1");
	char text[2048] = "";
	unsigned int i;
	FILE *f;

	begin_with(lost, 2, 16);
	CHECK_EQ(softhca_fault("device_fatal device=1 op=3"), 0);
	for (i = 0; i < 8; i++)
		CHECK_EQ(rte_dma_copy(lost, 0, (uintptr_t)src + i * 64, (uintptr_t)dst + i * 64, 64,
				 RTE_DMA_OP_FLAG_SUBMIT),
			i);
	while (state == RTE_DMA_VCHAN_ACTIVE)
		CHECK_EQ(rte_dma_vchan_status(lost, 0, &state), 0);
	CHECK_EQ(state, RTE_DMA_VCHAN_HALTED_ERROR);
	/* The other channel of the lost device was idle, but must be halted too. */
	CHECK_EQ(rte_dma_vchan_status(lost, 1, &state), 0);
	CHECK_EQ(state, RTE_DMA_VCHAN_HALTED_ERROR);
	collect(lost, 0, status, 8);
	for (i = 0; i < 8; i++)
		CHECK_EQ(status[i],
			i < 2 ? RTE_DMA_STATUS_SUCCESSFUL : RTE_DMA_STATUS_ERROR_UNKNOWN);
	CHECK_EQ(rte_dma_vchan_status(lost, 0, &state), 0);
	CHECK_EQ(state, RTE_DMA_VCHAN_HALTED_ERROR);
	f = fmemopen(text, sizeof(text) - 1, "w");
	CHECK(f != NULL);
	CHECK_EQ(rte_dma_dump(lost, f), 0);
	fclose(f);
	CHECK(strstr(text, "device: mlx5_1 (it has failed)") != NULL, "%s", text);
	settle(id, 0);
	CHECK_EQ(rte_dma_copy(id, 0, (uintptr_t)src, (uintptr_t)dst, 64, RTE_DMA_OP_FLAG_SUBMIT),
		0);
	collect(id, 0, status, 1);
	CHECK_EQ(status[0], RTE_DMA_STATUS_SUCCESSFUL);
	CHECK_EQ(rte_dma_stop(lost), 0);
	unplug("dma_mlx5_lost");
	softhca_faults_clear();
	end(id);
}

static void
a_copy_that_fails_in_the_device_is_the_only_one(void)
{
	enum {
		N = 24
	};
	enum rte_dma_status_code status[N + 1];
	int16_t id = begin(1, 32);
	unsigned int round, i, bad;

	for (round = 0; round < 5; round++) {
		fresh_bytes(20 + round);
		CHECK_EQ(softhca_fault("complete op=5 syndrome=0x4"), 0);
		for (i = 0; i < N; i++)
			CHECK(rte_dma_copy(id, 0, (uintptr_t)src + i * 64, (uintptr_t)dst + i * 64,
				      64, i == 12 ? RTE_DMA_OP_FLAG_FENCE : 0) >= 0);
		CHECK_EQ(rte_dma_submit(id, 0), 0);
		collect(id, 0, status, N);
		for (i = 0, bad = 0; i < N; i++) {
			if (status[i] == RTE_DMA_STATUS_SUCCESSFUL) {
				CHECK(memcmp(src + i * 64, dst + i * 64, 64) == 0);
				continue;
			}
			CHECK_EQ(status[i], refused_copy());
			bad++;
		}
		CHECK_EQ(bad, 1);
		CHECK_EQ(softhca_faults_left(), 0);
	}
	CHECK_EQ(dumped(id, "recoveries "), 5);
	end(id);
}

/* Returns the sum of the numbers that follow these words in the log. */
static unsigned int
sum_logged(const char *words)
{
	unsigned int sum = 0;
	const char *at = log_text;

	while ((at = strstr(at, words)) != NULL) {
		at += strlen(words);
		sum += strtoul(at, NULL, 10);
	}
	return sum;
}

/*
 * For each kind of failure, the log must get at most four lines a second, and one line that says
 * how many lines were left out.
 */
static void
a_flood_of_failures_makes_few_lines_which_count_the_others(void)
{
	enum {
		N = 1000,
		KINDS = 3,
		A_SECOND = 5
	};
	uint8_t *forbidden = env_map(PAGE_LEN);
	enum rte_dma_status_code status[2];
	uint64_t begun = rte_get_timer_cycles();
	unsigned int i, seconds, lines;
	int16_t id;
	FILE *f;

	forbid(forbidden, PAGE_LEN);
	log_begin();
	id = begin(1, 16);
	CHECK_EQ(softhca_fault("complete syndrome=0x4 times=500"), 0);
	for (i = 0; i < N; i++) {
		/*
		 * The copies of the second half fail without a fault: their memory is not mapped
		 * (memory on demand) or not registered.
		 */
		CHECK(rte_dma_copy(id, 0, (uintptr_t)src,
			      i < N / 2 ? (uintptr_t)dst : (uintptr_t)forbidden, 64,
			      RTE_DMA_OP_FLAG_SUBMIT) >= 0);
		collect(id, 0, status, 1);
		CHECK(status[0] != RTE_DMA_STATUS_SUCCESSFUL);
	}
	CHECK_EQ(softhca_faults_left(), 0);
	end(id);
	f = rte_log_get_stream();
	CHECK_EQ(fflush(f), 0);
	seconds = (rte_get_timer_cycles() - begun) / rte_get_timer_hz() + 1;
	lines = count_logged("\n");
	printf("%u failures in %u s: %u lines\n", N, seconds, lines);
	CHECK_EQ(count_logged("(syndrome 0x") +
			 sum_logged("about failed WQEs that were left out: "),
		has_odp ? N : N / 2);
	CHECK_EQ(count_logged("is set up again") +
			 sum_logged("about repaired connections that were left out: "),
		has_odp ? N : N / 2);
	CHECK(count_logged("gantry: ") <= KINDS * A_SECOND * (seconds + 1), "%s", log_text);
	log_end(NULL);
	env_unmap(forbidden, PAGE_LEN);
}

/* ------------------------------------------------------------------ start, stop, plug */

static void
stopping_waits_for_what_was_submitted_and_forgets_the_rest(void)
{
	enum {
		N = 200,
		LEN = 200
	};
	enum rte_dma_status_code status[2];
	struct rte_dma_stats stats;
	int16_t id = begin(2, 256);
	unsigned int round, i;

	for (round = 0; round < 3; round++) {
		fresh_bytes(30 + round);
		for (i = 0; i < N; i++)
			CHECK_EQ(rte_dma_copy(id, 1, (uintptr_t)src + i * LEN,
					 (uintptr_t)dst + i * LEN, LEN,
					 i == N - 1 ? RTE_DMA_OP_FLAG_SUBMIT : 0),
				i);
		/* These operations are staged, but not submitted. */
		CHECK_EQ(rte_dma_fill(id, 1, round, (uintptr_t)dst + N * LEN, LEN, 0), N);
		CHECK_EQ(rte_dma_stop(id), 0);
		CHECK(memcmp(src, dst, N * LEN) == 0);
		CHECK_EQ(rte_dma_copy(id, 1, (uintptr_t)src, (uintptr_t)dst, LEN, 0), -ENOSPC);
		CHECK_EQ(rte_dma_start(id), 0);
		CHECK_EQ(rte_dma_burst_capacity(id, 1), 256);
		CHECK_EQ(rte_dma_completed_status(id, 1, 1, NULL, status), 0);
		CHECK_EQ(dst[N * LEN], ENV_UNTOUCHED);
	}
	CHECK_EQ(rte_dma_stats_get(id, RTE_DMA_ALL_VCHAN, &stats), 0);
	CHECK(stats.submitted == 3 * N && stats.completed == 3 * N && stats.errors == 0);
	CHECK_EQ(rte_dma_copy(id, 1, (uintptr_t)src, (uintptr_t)dst, LEN, RTE_DMA_OP_FLAG_SUBMIT),
		0);
	collect(id, 1, status, 1);
	/* Configures new channels. */
	CHECK_EQ(rte_dma_stop(id), 0);
	begin_with(id, 1, 16);
	CHECK_EQ(rte_dma_burst_capacity(id, 0), 16);
	end(id);
}

static void
a_device_that_works_can_be_unplugged_and_plugged_again(void)
{
	unsigned int round, i;

	for (round = 0; round < 3; round++) {
		int16_t id = begin(1, 128), other = plug("dma_mlx5_other", "mode=rdma");

		CHECK_EQ(dumped(other, "copies by: loopback RDMA write"), 0);
		fresh_bytes(round);
		for (i = 0; i < 100; i++)
			CHECK(rte_dma_copy(id, 0, (uintptr_t)src + i * 64, (uintptr_t)dst + i * 64,
				      64, RTE_DMA_OP_FLAG_SUBMIT) >= 0);
		unplug(NAME);
		CHECK(memcmp(src, dst, 100 * 64) == 0);
		/* Removes a device that the application has already closed. */
		CHECK_EQ(rte_dma_close(other), 0);
		unplug("dma_mlx5_other");
	}
}

/* ------------------------------------------------------------------ memory, threads */

static enum rte_dma_status_code
copy_status(int16_t id, const void *from, void *to)
{
	enum rte_dma_status_code status[2];

	CHECK(rte_dma_copy(id, 0, (uintptr_t)from, (uintptr_t)to, PAGE_LEN,
		      RTE_DMA_OP_FLAG_SUBMIT) >= 0);
	collect(id, 0, status, 1);
	return status[0];
}

/*
 * The expected status of a copy from memory that was never registered. unannounced_dst(): of a copy
 * to such memory.
 */
static enum rte_dma_status_code
unannounced_src(void)
{
	return has_odp ? RTE_DMA_STATUS_SUCCESSFUL : RTE_DMA_STATUS_INVALID_SRC_ADDR;
}

static enum rte_dma_status_code
unannounced_dst(void)
{
	return has_odp ? RTE_DMA_STATUS_SUCCESSFUL : RTE_DMA_STATUS_INVALID_DST_ADDR;
}

static void
memory_is_the_device_s_from_map_to_unmap(void)
{
	int16_t id = begin(1, 16);
	struct rte_device *dev = device_of(NAME);
	uint8_t *page = env_map(2 * PAGE_LEN);

	CHECK(dev != NULL);
	env_fill(page, PAGE_LEN, 40);
	CHECK_EQ(rte_extmem_register(page, 2 * PAGE_LEN, NULL, 2, PAGE_LEN), 0);
	CHECK_EQ(copy_status(id, page, dst), unannounced_src());
	/* Any IOVA is accepted, because operations name virtual addresses. */
	CHECK_EQ(rte_dev_dma_map(dev, page, 0x1000, 2 * PAGE_LEN), 0);
	CHECK_EQ(copy_status(id, page, dst), RTE_DMA_STATUS_SUCCESSFUL);
	CHECK(memcmp(page, dst, PAGE_LEN) == 0);
	CHECK(rte_dev_dma_map(dev, page, 0, 2 * PAGE_LEN) < 0 && rte_errno == EEXIST);
	CHECK(rte_dev_dma_unmap(dev, page, 0, PAGE_LEN) < 0 && rte_errno == ENOENT);
	CHECK_EQ(rte_dev_dma_unmap(dev, page, 0, 2 * PAGE_LEN), 0);
	CHECK_EQ(copy_status(id, page, dst), unannounced_src());
	/*
	 * EAL's memory is always registered, so copies from it work after the unmap. Maps that
	 * still exist end with the device.
	 */
	CHECK_EQ(rte_dev_dma_map(dev, src, 0, PAGE_LEN), 0);
	CHECK_EQ(rte_dev_dma_unmap(dev, src, 0, PAGE_LEN), 0);
	CHECK_EQ(copy_status(id, src, dst), RTE_DMA_STATUS_SUCCESSFUL);
	CHECK_EQ(rte_dev_dma_map(dev, page, 0, PAGE_LEN), 0);
	CHECK_EQ(rte_dev_dma_map(dev, page + PAGE_LEN, 0, PAGE_LEN), 0);
	end(id);
	CHECK_EQ(rte_extmem_unregister(page, 2 * PAGE_LEN), 0);
	env_unmap(page, 2 * PAGE_LEN);
}

/*
 * Copies of any length and alignment between EAL's memory and memory that malloc(3) and mmap(2)
 * returned after the device was started.
 */
static void
memory_that_nobody_announced_is_copied_if_the_adapter_can(void)
{
	enum {
		ROUNDS = 60,
		KINDS = 4,
	};
	int16_t id = begin(1, 64);
	uint8_t *mapped = env_map(2 * BUF_LEN), *heap = malloc(2 * BUF_LEN);
	uint8_t *from[KINDS] = {src, heap, mapped, src};
	uint8_t *to[KINDS] = {dst, heap + BUF_LEN, mapped + BUF_LEN, dst};
	enum rte_dma_status_code status[4];
	uint64_t seed = 50;
	unsigned int i;

	CHECK(heap != NULL);
	for (i = 0; i < ROUNDS; i++) {
		uint32_t len = 1 + check_random(&seed) % (BUF_LEN - 128);
		uint8_t *a = from[i % KINDS] + check_random(&seed) % 64;
		uint8_t *b = to[i / KINDS % KINDS] + check_random(&seed) % 64;
		struct rte_dma_sge in[2] = {{(uintptr_t)a, len / 2},
			{(uintptr_t)a + len / 2, len - len / 2}};
		struct rte_dma_sge out = {(uintptr_t)b, len};
		enum rte_dma_status_code want = i % KINDS % 3 != 0 ? unannounced_src()
						: i / KINDS % KINDS % 3 != 0
							? unannounced_dst()
							: RTE_DMA_STATUS_SUCCESSFUL;

		env_fill(a, len, i);
		memset(b, ENV_UNTOUCHED, len);
		CHECK(rte_dma_copy(id, 0, (uintptr_t)a, (uintptr_t)b, len,
			      RTE_DMA_OP_FLAG_SUBMIT) >= 0);
		collect(id, 0, status, 1);
		CHECK_EQ(status[0], want);
		CHECK(want != RTE_DMA_STATUS_SUCCESSFUL || env_is_moved(a, b, len));
		memset(b, ENV_UNTOUCHED, len);
		CHECK(rte_dma_copy_sg(id, 0, in, &out, 2, 1, RTE_DMA_OP_FLAG_SUBMIT) >= 0);
		collect(id, 0, status, 1);
		CHECK_EQ(status[0], want);
		CHECK(want != RTE_DMA_STATUS_SUCCESSFUL || env_is_moved(a, b, len));
	}
	CHECK(rte_dma_fill(id, 0, UINT64_C(0x0101010101010101), (uintptr_t)heap, 1000,
		      RTE_DMA_OP_FLAG_SUBMIT) >= 0);
	memset(mapped, 1, 1000);
	collect(id, 0, status, 1);
	CHECK_EQ(status[0], unannounced_dst());
	CHECK_EQ(memcmp(heap, mapped, 1000) == 0, has_odp);
	end(id);
	free(heap);
	env_unmap(mapped, 2 * BUF_LEN);
}

/*
 * Of 24 copies, every fourth copy names memory that is unmapped or read-only, or that ends in such
 * memory. Only these copies may fail.
 */
static void
memory_that_is_gone_fails_alone(void)
{
	enum {
		N = 24,
		LEN = 512
	};
	enum rte_dma_status_code status[N + 1];
	int16_t id = begin(1, 32);
	uint8_t *page = env_map(4 * PAGE_LEN), *good = malloc(N * LEN);
	unsigned int round, i;

	CHECK(good != NULL);
	for (round = 0; round < 6; round++) {
		/* Page 0 is mapped, page 1 is not, page 2 is read-only. */
		uint8_t *bad[] = {page + PAGE_LEN, page + PAGE_LEN - LEN / 2, page + 2 * PAGE_LEN};

		forbid(page + PAGE_LEN, PAGE_LEN);
		CHECK_EQ(mprotect(page + 2 * PAGE_LEN, PAGE_LEN, PROT_READ), 0);
		fresh_bytes(60 + round);
		memset(good, ENV_UNTOUCHED, N * LEN);
		for (i = 0; i < N; i++) {
			/* All other copies write to EAL's memory or to memory of malloc(3). */
			uint8_t *to = i % 4 == 3 ? bad[(i / 4 + round) % 3]
				      : i % 2    ? good + i * LEN
						 : dst + i * LEN;

			CHECK(rte_dma_copy(id, 0, (uintptr_t)src + i * LEN, (uintptr_t)to, LEN,
				      0) >= 0);
		}
		CHECK_EQ(rte_dma_submit(id, 0), 0);
		collect(id, 0, status, N);
		for (i = 0; i < N; i++) {
			uint8_t *to = i % 2 ? good + i * LEN : dst + i * LEN;

			CHECK_EQ(status[i], i % 4 == 3 ? RTE_DMA_STATUS_INVALID_DST_ADDR
					    : i % 2    ? unannounced_dst()
						       : RTE_DMA_STATUS_SUCCESSFUL);
			CHECK_EQ(env_is_moved(src + i * LEN, to, LEN),
				status[i] == RTE_DMA_STATUS_SUCCESSFUL);
		}
		/* Maps the page again. */
		CHECK(mmap(page + PAGE_LEN, 2 * PAGE_LEN, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page + PAGE_LEN);
		CHECK_EQ(copy_status(id, src, page + PAGE_LEN), unannounced_dst());
		CHECK_EQ(memcmp(src, page + PAGE_LEN, PAGE_LEN) == 0, has_odp);
	}
	end(id);
	free(good);
	env_unmap(page, 4 * PAGE_LEN);
}

static _Atomic bool is_done;

static void *
look(void *arg)
{
	int16_t id = *(int16_t *)arg;
	struct rte_dma_stats stats;
	uint64_t before = 0;

	while (!is_done) {
		CHECK_EQ(rte_dma_stats_get(id, 0, &stats), 0);
		CHECK(stats.completed >= before && stats.completed <= stats.submitted);
		before = stats.completed;
		dumped(id, "CQEs ");
		sched_yield();
	}
	return NULL;
}

static void
others_may_look_while_it_works(void)
{
	enum rte_dma_status_code status[33];
	int16_t id = begin(1, 64);
	unsigned int round, i;
	pthread_t thread;

	is_done = false;
	CHECK_EQ(pthread_create(&thread, NULL, look, &id), 0);
	for (round = 0; round < 100; round++) {
		for (i = 0; i < 32; i++)
			rte_dma_copy(id, 0, (uintptr_t)src + i * 64, (uintptr_t)dst + i * 64, 64,
				0);
		rte_dma_submit(id, 0);
		collect(id, 0, status, 32);
	}
	is_done = true;
	CHECK_EQ(pthread_join(thread, NULL), 0);
	end(id);
}

/*
 * ------------------------------------------------------------------ several devices, restarts,
 * reports
 */

/*
 * Stages copies of 64 bytes, each with its own source and destination. Returns the number of bytes
 * of all copies.
 */
static uint32_t
stage_copies(int16_t id, uint16_t vchan, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		CHECK(rte_dma_copy(id, vchan, (uintptr_t)src + i * 64, (uintptr_t)dst + i * 64, 64,
			      0) >= 0);
	return n * 64;
}

/*
 * So many copies fail, one after the other, that the engine does not execute the last flushed
 * copies again. These flushed copies must get the status "not attempted", and must be counted as
 * errors.
 */
static void
what_was_not_attempted_is_an_error_too(void)
{
	enum {
		N = 128,
		FAIL = 101
	};
	enum rte_dma_status_code status[N + 1];
	unsigned int i, failed = 0, not_attempted = 0;
	int16_t id = begin(1, N);
	struct rte_dma_stats stats;

	CHECK_EQ(softhca_fault("complete syndrome=0x4 times=101"), 0);
	stage_copies(id, 0, N);
	CHECK_EQ(rte_dma_submit(id, 0), 0);
	collect(id, 0, status, N);
	CHECK_EQ(softhca_faults_left(), 0);
	for (i = 0; i < N; i++) {
		failed += status[i] == refused_copy();
		not_attempted += status[i] == RTE_DMA_STATUS_NOT_ATTEMPTED;
	}
	CHECK_EQ(failed, FAIL);
	CHECK(not_attempted > 0);
	CHECK_EQ(rte_dma_stats_get(id, 0, &stats), 0);
	CHECK(stats.submitted == N && stats.completed == N);
	CHECK_EQ(stats.errors, failed + not_attempted);
	end(id);
}

/*
 * Checks each field of the dump, for two channels. The second channel is stopped before its
 * operations are collected.
 */
static void
the_dump_tells_of_each_channel_and_errors_are_counted_when_it_stops(void)
{
	const struct rte_dma_conf conf = {.nb_vchans = 2};
	enum rte_dma_status_code status[6];
	char text[2048] = "", want[256];
	int16_t id = begin(2, 32);
	struct rte_dma_stats stats;
	FILE *f;

	CHECK_EQ(softhca_fault("complete syndrome=0x4"), 0);
	stage_copies(id, 0, 5);
	CHECK_EQ(rte_dma_submit(id, 0), 0);
	collect(id, 0, status, 5);
	enqueue_with_errors(id);
	CHECK_EQ(rte_dma_stats_get(id, 0, &stats), 0);
	CHECK(stats.submitted == 21 && stats.completed == 5 && stats.errors == 1);
	f = fmemopen(text, sizeof(text) - 1, "w");
	CHECK(f != NULL);
	CHECK_EQ(rte_dma_dump(id, f), 0);
	fclose(f);
	CHECK(strstr(text, "vchan 0: 32 operations at most, submitted 21, completed 5, failed 1\n"),
		"%s", text);
	CHECK(strstr(text, "vchan 1: 32 operations at most, submitted 0, completed 0, failed 0\n"),
		"%s", text);
	snprintf(want, sizeof(want), "device: mlx5_0\n    copies by: %s\n",
		has_mmo ? "DMA MMO" : "loopback RDMA write");
	CHECK(strstr(text, want) != NULL, "%s", text);
	CHECK_EQ(rte_dma_stop(id), 0);
	CHECK_EQ(rte_dma_stats_get(id, 0, &stats), 0);
	CHECK(stats.submitted == 21 && stats.completed == 21 && stats.errors == 5);
	/* The counters of new channels begin with 0. */
	CHECK_EQ(rte_dma_configure(id, &conf), 0);
	CHECK_EQ(rte_dma_stats_get(id, RTE_DMA_ALL_VCHAN, &stats), 0);
	CHECK(stats.submitted == 0 && stats.completed == 0 && stats.errors == 0);
	unplug(NAME);
}

static void
each_of_several_channels_must_be_set_up(void)
{
	const struct rte_dma_vchan_conf vchan = {.direction = RTE_DMA_DIR_MEM_TO_MEM,
		.nb_desc = 16};
	const struct rte_dma_conf conf = {.nb_vchans = 3};
	int16_t id = plug(NAME, NULL);
	enum rte_dma_vchan_status state;

	CHECK_EQ(rte_dma_configure(id, &conf), 0);
	CHECK_EQ(rte_dma_vchan_setup(id, 0, &vchan), 0);
	CHECK_EQ(rte_dma_vchan_setup(id, 1, &vchan), 0);
	CHECK_EQ(rte_dma_vchan_status(id, 2, &state), -EINVAL);
	log_begin();
	CHECK_EQ(rte_dma_start(id), -EINVAL);
	log_end("dma_mlx5_0: virtual channel 2 is not set up: call rte_dma_vchan_setup()");
	CHECK_EQ(rte_dma_vchan_setup(id, 2, &vchan), 0);
	CHECK_EQ(rte_dma_start(id), 0);
	CHECK_EQ(rte_dma_burst_capacity(id, 2), 16);
	end(id);
}

/* rte_dma_stop() must wait for the queue of each channel, and must drop staged operations. */
static void
stopping_stops_every_channel(void)
{
	enum {
		N = 3,
		LEN = 1000
	};
	int16_t id = begin(N, 16);
	unsigned int i;

	fresh_bytes(70);
	CHECK_EQ(softhca_fault("late ms=20 times=3"), 0);
	for (i = 0; i < N; i++) {
		CHECK_EQ(rte_dma_copy(id, i, (uintptr_t)src + i * LEN, (uintptr_t)dst + i * LEN,
				 LEN, RTE_DMA_OP_FLAG_SUBMIT),
			0);
		CHECK_EQ(rte_dma_copy(id, i, (uintptr_t)src, (uintptr_t)dst + N * LEN, LEN, 0), 1);
	}
	CHECK_EQ(rte_dma_stop(id), 0);
	CHECK(memcmp(src, dst, N * LEN) == 0 && dst[N * LEN] == ENV_UNTOUCHED);
	for (i = 0; i < N; i++)
		CHECK_EQ(rte_dma_copy(id, i, (uintptr_t)src, (uintptr_t)dst, 1, 0), -ENOSPC);
	CHECK_EQ(rte_dma_start(id), 0);
	for (i = 0; i < N; i++)
		CHECK_EQ(rte_dma_burst_capacity(id, i), 16);
	softhca_faults_clear();
	end(id);
}

/*
 * A copy of lists or a fill also needs a free entry in the channel. If the channel is full of
 * staged, submitted or held operations, it must be refused.
 */
static void
a_full_channel_takes_nothing_of_any_kind(void)
{
	struct rte_dma_sge from = {(uintptr_t)src, 8}, to = {(uintptr_t)dst, 8};
	int16_t id = begin(1, 4);
	enum rte_dma_status_code status[5];
	unsigned int round;

	stage_copies(id, 0, 4);
	for (round = 0; round < 3; round++) {
		CHECK_EQ(rte_dma_copy_sg(id, 0, &from, &to, 1, 1, 0), -ENOSPC);
		CHECK_EQ(rte_dma_copy_sg(id, 0, &from, &to, 1, 1, RTE_DMA_OP_FLAG_SUBMIT), -ENOSPC);
		CHECK_EQ(rte_dma_fill(id, 0, 0, to.addr, 8, RTE_DMA_OP_FLAG_SUBMIT), -ENOSPC);
		CHECK_EQ(rte_dma_copy(id, 0, from.addr, to.addr, 8, RTE_DMA_OP_FLAG_SUBMIT),
			-ENOSPC);
		CHECK_EQ(rte_dma_burst_capacity(id, 0), 0);
		if (round == 0)
			CHECK_EQ(rte_dma_submit(id, 0), 0);
		else
			settle(id, 0);
	}
	collect(id, 0, status, 4);
	end(id);
}

/*
 * Returns true if the adapter seems to have moved the bytes. ThreadSanitizer must not report this
 * read as a race.
 */
__attribute__((no_sanitize("thread"))) static bool
are_written(unsigned int len)
{
	const volatile uint8_t *to = dst;
	unsigned int i;

	for (i = 0; i < len && to[i] == src[i]; i++)
		;
	return i == len;
}

/*
 * The device holds completions that rte_dma_vchan_status() has collected. They must be returned
 * before later completions. A call must never return more completions than it was asked for.
 */
static void
what_is_held_and_what_comes_behind_it_is_handed_out_in_order(void)
{
	enum {
		HELD = 5,
		N = 12
	};
	enum rte_dma_status_code status[N];
	int16_t id = begin(1, 16);
	unsigned int round, n;
	uint16_t last, k;
	bool error;

	for (round = 0; round < 40; round++) {
		stage_copies(id, 0, HELD);
		CHECK_EQ(rte_dma_submit(id, 0), 0);
		settle(id, 0);
		memset(dst, ENV_UNTOUCHED, BUF_LEN);
		stage_copies(id, 0, N - HELD);
		CHECK_EQ(rte_dma_submit(id, 0), 0);
		while (!are_written((N - HELD) * 64))
			sched_yield();
		for (n = 0; n < N; n += k) {
			k = round % 2 ? rte_dma_completed(id, 0, 4, &last, &error)
				      : rte_dma_completed_status(id, 0, 4, &last, status);
			CHECK(k <= 4);
			if (n < 4)
				CHECK_EQ(k, 4);
			CHECK_EQ(last, (uint16_t)(round * N + n + k - 1));
			if (k == 0)
				sched_yield();
		}
		CHECK_EQ(n, N);
	}
	end(id);
}

static unsigned int
open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	CHECK(dir != NULL);
	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n;
}

static size_t
eal_memory(void)
{
	struct rte_malloc_socket_stats stats;

	CHECK_EQ(rte_malloc_get_socket_stats(rte_socket_id_by_idx(0), &stats), 0);
	return stats.heap_allocsz_bytes;
}

/* Enqueues a copy from a list of two buffers to another list of two buffers. */
static int
copy_two(int16_t id, uint64_t flags)
{
	struct rte_dma_sge from[] = {{(uintptr_t)src, 100}, {(uintptr_t)src + 100, 200}};
	struct rte_dma_sge to = {(uintptr_t)dst, 300};

	return rte_dma_copy_sg(id, 0, from, &to, 2, 1, flags);
}

/* Two lists of 32 entries of 16 bytes for each operation. */
#define LISTS_LEN (2 * 32 * 16)

static void
memory_for_lists_is_taken_by_the_first_copy_of_a_list(void)
{
	enum {
		DEPTH = 1024
	};
	enum rte_dma_status_code status[5];
	size_t none = eal_memory(), before, after;
	int16_t id = begin(2, DEPTH);
	unsigned int i;

	before = eal_memory();
	fresh_bytes(90);
	stage_copies(id, 0, 4);
	CHECK_EQ(rte_dma_submit(id, 0), 0);
	collect(id, 0, status, 4);
	CHECK_EQ(eal_memory(), before);
	for (i = 0; i < 3; i++) {
		CHECK(copy_two(id, RTE_DMA_OP_FLAG_SUBMIT) >= 0);
		collect(id, 0, status, 1);
		CHECK_EQ(status[0], RTE_DMA_STATUS_SUCCESSFUL);
		after = eal_memory();
		CHECK(after - before >= DEPTH * LISTS_LEN &&
				after - before < DEPTH * LISTS_LEN + 1024,
			"%zu bytes", after - before);
	}
	CHECK(memcmp(src, dst, 300) == 0);
	printf("a channel of %u: %zu bytes, and %zu for lists\n", DEPTH, (before - none) / 2,
		after - before);
	end(id);
}

/*
 * EAL has no memory for lists: copies of lists are refused. All other operations continue, and no
 * operation is lost.
 */
static void
without_memory_for_lists_a_copy_of_a_list_is_refused(void)
{
	enum {
		DEPTH = 16384,
		STEP = 1 << 20
	};
	enum rte_dma_status_code status[5];
	int16_t id = begin(1, DEPTH);
	uint8_t *taken[1024];
	unsigned int n = 0, i;

	while (n < RTE_DIM(taken) && (taken[n] = rte_malloc(NULL, STEP, 0)) != NULL)
		n++;
	CHECK(n != 0 && n != RTE_DIM(taken));
	log_begin();
	for (i = 0; i < 3; i++) {
		CHECK_EQ(copy_two(id, 0), -ENOMEM);
		CHECK_EQ(rte_dma_burst_capacity(id, 0), DEPTH);
	}
	fflush(rte_log_get_stream());
	CHECK_EQ(count_logged("EAL has no 16777216 bytes for lists of copies"), 1);
	CHECK_EQ(count_logged("\n"), 1);
	fresh_bytes(91);
	stage_copies(id, 0, 2);
	CHECK_EQ(copy_two(id, 0), -ENOMEM);
	stage_copies(id, 0, 2);
	CHECK_EQ(rte_dma_submit(id, 0), 0);
	collect(id, 0, status, 4);
	for (i = 0; i < 4; i++)
		CHECK_EQ(status[i], RTE_DMA_STATUS_SUCCESSFUL);
	while (n != 0)
		rte_free(taken[--n]);
	/* The driver requests the memory again after the next start. */
	CHECK_EQ(copy_two(id, 0), -ENOMEM);
	CHECK_EQ(rte_dma_stop(id), 0);
	CHECK_EQ(rte_dma_start(id), 0);
	CHECK_EQ(copy_two(id, RTE_DMA_OP_FLAG_SUBMIT), 0);
	collect(id, 0, status, 1);
	CHECK_EQ(status[0], RTE_DMA_STATUS_SUCCESSFUL);
	CHECK(memcmp(src, dst, 300) == 0);
	log_end(NULL);
	end(id);
}

/*
 * A device's resources are freed when it is removed, when it gets new channels, and when plugging
 * it fails.
 */
static void
again_and_again_it_takes_no_more_memory_and_files(void)
{
	const struct rte_dma_vchan_conf vchan = {.direction = RTE_DMA_DIR_MEM_TO_MEM,
		.nb_desc = 64};
	unsigned int round, files = 0;
	size_t memory = 0, at_work = 0;
	enum rte_dma_status_code status[5];
	int16_t id;

	for (round = 0; round < 4; round++) {
		id = begin(3, 64);
		if (round == 1)
			at_work = eal_memory();
		stage_copies(id, 2, 4);
		CHECK_EQ(rte_dma_submit(id, 2), 0);
		collect(id, 2, status, 4);
		CHECK_EQ(rte_dma_stop(id), 0);
		CHECK_EQ(rte_dma_vchan_setup(id, 1, &vchan), 0);
		CHECK_EQ(rte_dma_vchan_setup(id, 1, &vchan), 0);
		begin_with(id, 3, 64);
		/*
		 * EAL does not leave free blocks of only a few bytes, so an allocated block may be
		 * slightly longer than requested.
		 */
		if (round == 1)
			CHECK(eal_memory() - at_work + 1024 < 2048);
		end(id);
		/* Plugging fails, because the name is used by another device. */
		CHECK(rte_dma_pmd_allocate(NAME, 0, 64) != NULL);
		log_begin();
		CHECK(rte_vdev_init(NAME, NULL) < 0);
		log_end(NULL);
		CHECK_EQ(rte_dma_pmd_release(NAME), 0);
		if (round == 0) {
			files = open_files();
			memory = eal_memory();
		}
	}
	CHECK_EQ(open_files(), files);
	CHECK_EQ(eal_memory(), memory);
}

/*
 * Two maps of equal length. The first map cannot be removed (ETIMEDOUT) until the application has
 * collected the status of the copy that uses this map.
 */
static void
each_of_several_maps_ends_alone_and_not_before_its_operations(void)
{
	int16_t id = begin(1, 16);
	struct rte_device *dev = device_of(NAME);
	uint8_t *page = env_map(3 * PAGE_LEN);
	enum rte_dma_status_code status[2];

	CHECK(dev != NULL);
	env_fill(page, 3 * PAGE_LEN, 41);
	CHECK_EQ(rte_extmem_register(page, 3 * PAGE_LEN, NULL, 3, PAGE_LEN), 0);
	CHECK_EQ(rte_dev_dma_map(dev, page, 0, PAGE_LEN), 0);
	CHECK_EQ(rte_dev_dma_map(dev, page + PAGE_LEN, 0, PAGE_LEN), 0);
	CHECK(rte_dev_dma_unmap(dev, page + 2 * PAGE_LEN, 0, PAGE_LEN) < 0 && rte_errno == ENOENT);
	CHECK(rte_dma_copy(id, 0, (uintptr_t)page, (uintptr_t)dst, PAGE_LEN,
		      RTE_DMA_OP_FLAG_SUBMIT) >= 0);
	log_begin();
	CHECK(rte_dev_dma_unmap(dev, page, 0, PAGE_LEN) < 0 && rte_errno == ETIMEDOUT);
	log_end("are still mapped: Connection timed out: collect the completions of all "
		"operations; then call again");
	collect(id, 0, status, 1);
	CHECK_EQ(status[0], RTE_DMA_STATUS_SUCCESSFUL);
	CHECK_EQ(rte_dev_dma_unmap(dev, page, 0, PAGE_LEN), 0);
	CHECK(rte_dev_dma_unmap(dev, page, 0, PAGE_LEN) < 0 && rte_errno == ENOENT);
	CHECK_EQ(copy_status(id, page, dst), unannounced_src());
	CHECK_EQ(copy_status(id, page + PAGE_LEN, dst), RTE_DMA_STATUS_SUCCESSFUL);
	CHECK(memcmp(page + PAGE_LEN, dst, PAGE_LEN) == 0);
	CHECK_EQ(rte_dev_dma_unmap(dev, page + PAGE_LEN, 0, PAGE_LEN), 0);
	end(id);
	CHECK_EQ(rte_extmem_unregister(page, 3 * PAGE_LEN), 0);
	env_unmap(page, 3 * PAGE_LEN);
}

/*
 * A copy of lists reads the bytes that the previous copy writes, and a fill overwrites these bytes.
 * So both must wait for their fences.
 */
static void
fences_of_lists_and_fills_wait_too(void)
{
	enum {
		LEN = 8192
	};
	struct rte_dma_sge from = {(uintptr_t)dst, LEN}, to = {(uintptr_t)dst + LEN, LEN};
	enum rte_dma_status_code status[3];
	int16_t id = begin(1, 64);
	unsigned int round;

	for (round = 0; round < 40; round++) {
		fresh_bytes(80 + round);
		CHECK(rte_dma_copy(id, 0, (uintptr_t)src, (uintptr_t)dst, LEN, 0) >= 0);
		if (round % 2)
			CHECK(rte_dma_copy_sg(id, 0, &from, &to, 1, 1, RTE_DMA_OP_FLAG_FENCE) >= 0);
		else
			CHECK(rte_dma_fill(id, 0, 0, (uintptr_t)dst, LEN, RTE_DMA_OP_FLAG_FENCE) >=
				0);
		CHECK_EQ(rte_dma_submit(id, 0), 0);
		collect(id, 0, status, 2);
		if (round % 2 == 0)
			memset(src, 0, LEN);
		CHECK(memcmp(src, round % 2 ? dst + LEN : dst, LEN) == 0);
	}
	end(id);
}

/* ------------------------------------------------------------------ another function */

static enum rte_dma_status_code
copy_and_wait(int16_t id, const void *from, void *to, uint32_t len)
{
	enum rte_dma_status_code status[2];

	CHECK(rte_dma_copy(id, 0, (uintptr_t)from, (uintptr_t)to, len, RTE_DMA_OP_FLAG_SUBMIT) >=
		0);
	collect(id, 0, status, 1);
	return status[0];
}

static void
memory_of_another_function_is_copied(void)
{
	const struct gantry_conf conf = {.device = "mlx5_1"};
	int16_t id = plug(NAME, NULL);
	struct gantry_mem_record record, reading;
	struct gantry_mem *mem;
	struct gantry *owner;
	uint8_t *theirs;
	void *at, *only;

	CHECK_EQ(gantry_create(&conf, &owner), 0);
	theirs = env_mem(owner, BUF_LEN, 0, &mem);
	CHECK_EQ(gantry_mem_export(mem, 0, &record), 0);
	CHECK_EQ(gantry_mem_export(mem, GANTRY_MEM_READ_ONLY, &reading), 0);
	log_begin();
	CHECK_EQ(rte_pmd_dma_mlx5_import(-1, &record, &at), -ENODEV);
	log_end("there is no DMA device -1");
	record.crc ^= 1;
	log_begin();
	CHECK_EQ(rte_pmd_dma_mlx5_import(id, &record, &at), -EBADMSG);
	log_end("damaged");
	record.crc ^= 1;
	CHECK_EQ(rte_pmd_dma_mlx5_import(id, &record, &at), 0);
	CHECK_EQ(rte_pmd_dma_mlx5_import(id, &reading, &only), 0);
	begin_with(id, 1, 64);
	env_fill(theirs, BUF_LEN, 7);
	CHECK_EQ(copy_and_wait(id, at, dst, BUF_LEN), RTE_DMA_STATUS_SUCCESSFUL);
	CHECK(env_is_filled(dst, BUF_LEN, 7));
	env_fill(src, BUF_LEN, 8);
	CHECK_EQ(copy_and_wait(id, src, (uint8_t *)at + 100, 5000), RTE_DMA_STATUS_SUCCESSFUL);
	CHECK(memcmp(theirs + 100, src, 5000) == 0);
	CHECK_EQ(copy_and_wait(id, only, dst, 64), RTE_DMA_STATUS_SUCCESSFUL);
	CHECK(copy_and_wait(id, src, only, 64) != RTE_DMA_STATUS_SUCCESSFUL);
	CHECK_EQ(rte_pmd_dma_mlx5_unimport(id, at), 0);
	log_begin();
	CHECK_EQ(rte_pmd_dma_mlx5_unimport(id, at), -ENOENT);
	log_end("no import begins at");
	/* The other import ends with the device. */
	CHECK_EQ(rte_dma_stop(id), 0);
	unplug(NAME);
	CHECK_EQ(gantry_mem_unregister(mem, 0), 0);
	CHECK_EQ(gantry_destroy(owner), 0);
	env_unmap(theirs, BUF_LEN);
}

static const struct check_case cases[] = {
	{"memory of another function of the card is copied", memory_of_another_function_is_copied},
	{"a device reports its capabilities", it_says_what_it_can},
	{"wrong arguments are refused, and the message names them",
		wrong_arguments_are_refused_by_name},
	{"a device is named by its PCI address", a_device_is_named_by_its_pci_address},
	{"a secondary process has no device, and writes one line",
		a_secondary_process_has_no_device_and_one_line},
	{"copies move the right bytes on each channel",
		copies_move_the_right_bytes_on_each_channel},
	{"nothing moves before submit, which rings one doorbell",
		nothing_moves_before_it_is_submitted_and_then_by_one_doorbell},
	{"the id after 65535 is 0", ids_go_on_from_0_after_65535},
	{"lists of every length are copied", lists_of_every_length_are_copied},
	{"each copy of a burst has its own lists", each_copy_of_a_burst_has_lists_of_its_own},
	{"copies that wait keep their lists, submit after submit",
		copies_that_wait_keep_their_lists_submit_after_submit},
	{"the flag LLC has no effect", the_flag_llc_has_no_effect},
	{"fills repeat their pattern", fills_repeat_their_pattern},
	{"a fenced copy sees the results of earlier operations",
		a_fenced_copy_sees_what_was_before_it},
	{"a full channel returns an error, and recovers", a_full_channel_says_so_and_recovers},
	{"an error has its status, and does not affect other operations",
		an_error_is_told_by_its_status_and_harms_no_other},
	{"completed stops before each error", completed_stops_in_front_of_each_error},
	{"completed reports no error after the last operation that was asked for",
		completed_does_not_speak_of_an_error_behind_what_was_asked_for},
	{"each channel counts its own operations", each_channel_counts_its_own_operations},
	{"a channel of a lost adapter has halted", a_channel_of_a_lost_adapter_has_halted},
	{"only the copy that fails in the device has an error",
		a_copy_that_fails_in_the_device_is_the_only_one},
	{"many failures write few lines, which count the failures left out",
		a_flood_of_failures_makes_few_lines_which_count_the_others},
	{"stopping waits for submitted operations, and drops the others",
		stopping_waits_for_what_was_submitted_and_forgets_the_rest},
	{"a working device can be unplugged, and plugged again",
		a_device_that_works_can_be_unplugged_and_plugged_again},
	{"the device can use memory from map to unmap", memory_is_the_device_s_from_map_to_unmap},
	{"memory that was not mapped is copied, if the adapter can do this",
		memory_that_nobody_announced_is_copied_if_the_adapter_can},
	{"only the operation whose memory was removed fails", memory_that_is_gone_fails_alone},
	{"other threads may read a device's state while it works", others_may_look_while_it_works},
	{"an operation that was not attempted is an error too",
		what_was_not_attempted_is_an_error_too},
	{"the dump shows each channel, and errors are counted when it stops",
		the_dump_tells_of_each_channel_and_errors_are_counted_when_it_stops},
	{"each of several channels must be set up", each_of_several_channels_must_be_set_up},
	{"stopping stops every channel", stopping_stops_every_channel},
	{"a full channel accepts no operation of any kind",
		a_full_channel_takes_nothing_of_any_kind},
	{"an operation that is held back and operations after it complete in order",
		what_is_held_and_what_comes_behind_it_is_handed_out_in_order},
	{"repeated use of a device needs no more memory and files",
		again_and_again_it_takes_no_more_memory_and_files},
	{"the first copy of a list allocates the memory for lists",
		memory_for_lists_is_taken_by_the_first_copy_of_a_list},
	{"without memory for lists a copy of a list is refused",
		without_memory_for_lists_a_copy_of_a_list_is_refused},
	{"each of several maps ends by itself, after its operations",
		each_of_several_maps_ends_alone_and_not_before_its_operations},
	{"fences of lists and fills wait too", fences_of_lists_and_fills_wait_too},
};

int
main(int argc, char **argv)
{
	env_init(0);
	src = rte_malloc(NULL, BUF_LEN, PAGE_LEN);
	dst = rte_malloc(NULL, BUF_LEN, PAGE_LEN);
	CHECK(src != NULL && dst != NULL);
	has_odp = getenv("SOFTHCA_ODP") == NULL;
	has_mmo = getenv("SOFTHCA_MAX_MEMCPY") == NULL || getenv("SOFTHCA_MAX_MEMCPY")[0] != '0';
	env_run(cases, RTE_DIM(cases), argc, argv);
	CHECK_EQ(softhca_violations(), 0);
	CHECK_EQ(rte_eal_cleanup(), 0);
	return 0;
}
