/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Helpers of the engine's tests: EAL, memory with known bytes, and polling with a time limit.
 *
 * A check that fails ends the program.
 */
#ifndef GANTRY_ENV_H
#define GANTRY_ENV_H

#include <string.h>

#include <gantry.h>

#include "check.h"

/*
 * Starts EAL with lcores 0 to n_workers on two CPUs, or on one CPU if there is only one. Exits with
 * 1 if EAL does not start.
 */
void env_init(unsigned int n_workers);
/*
 * The same, but EAL also answers on its telemetry socket, in rte_eal_get_runtime_dir(). prefix is
 * EAL's --file-prefix, or NULL for one that only this process uses.
 */
void env_init_with_telemetry(unsigned int n_workers, const char *prefix);
/*
 * Calls gantry_before_eal(), which must succeed. Call it before env_init(). Without it, DPDK's mlx4
 * plug-in calls ibv_fork_init(3); then libibverbs before rdma-core 51 reads /proc/self/smaps at
 * each registration and each removal, which takes milliseconds and grows with the mappings, and
 * children of fork(2) do not have the memory.
 */
void env_refuse_fork_init(void);
/*
 * Lets the calling thread run on any CPU: EAL has bound the thread that called rte_eal_init() to
 * one CPU.
 */
void env_unbind(void);
/* What only some devices have. */
enum env_need {
	ENV_MMO,
	ENV_MMO_OF_2_GIB,
	ENV_LAYOUTS,
	ENV_DC,
	ENV_DEVICE_MEMORY,
	ENV_SIGNATURES
};
/*
 * For one case: returns true if the device lacks it. The case then returns, and the program ends
 * with CHECK_SKIP.
 */
bool env_lacks(const struct gantry *g, enum env_need need);
/* For all cases of a program: exits at once with CHECK_SKIP if the device lacks it. */
void env_need(const struct gantry *g, enum env_need need);
/* Runs the cases whose name contains argv[1], or all. */
void env_run(const struct check_case *cases, unsigned int n, int argc, char **argv);

/*
 * Ends the registrations, the engine and EAL; each call must succeed. Returns the exit code: 0, or
 * CHECK_SKIP.
 */
int env_done(struct gantry *g, struct gantry_mem *const *mem, unsigned int n);

/* The time at which a test that waits for something gives up (rte_get_timer_cycles()). */
uint64_t env_patience(void);
/* The CPU time of this thread. */
uint64_t env_cpu_ns(void);
/*
 * For the mapping that contains `at`, copies the line of /proc/self/smaps that begins with `field`,
 * which includes the colon (proc_pid_smaps(5)).
 */
void env_smaps(const void *at, const char *field, char *line, size_t len);

/* Page-aligned memory between two pages that cannot be accessed. */
void *env_map(size_t len);
void env_unmap(void *p, size_t len);

/* The flags of memory that peers may read and write. */
#define ENV_REMOTE (GANTRY_MEM_REMOTE_WRITE | GANTRY_MEM_REMOTE_READ)
/* Memory of env_map(), registered with these GANTRY_MEM_* flags. */
uint8_t *env_mem(struct gantry *g, size_t len, unsigned int flags, struct gantry_mem **mem);
/*
 * Checks that a registration of [p, p + len) fails with -err, and that the log then contains these
 * words.
 */
void env_refused(struct gantry *g, void *p, size_t len, int err, const char *words);
/*
 * Deregisters the key. The engine does not know this, so operations that use the memory fail in
 * hardware. Call env_mend() before gantry_mem_unregister(): it gives the memory a key that can be
 * released.
 */
void env_break(struct gantry_mem *mem);
void env_mend(struct gantry_mem *mem);

/*
 * Writes bytes that depend on the seed and the offset, or compares them. The pattern does not
 * repeat, so misplaced bytes are seen.
 */
void env_fill(void *p, size_t len, uint64_t seed);
bool env_is_filled(const void *p, size_t len, uint64_t seed);

/* Each byte of a destination before a copy. */
#define ENV_UNTOUCHED 0x11
/*
 * Returns true if dst has the bytes of src, or false if all its bytes are ENV_UNTOUCHED. If neither
 * is so, the check fails.
 */
bool env_is_moved(const void *src, const void *dst, size_t len);

/*
 * True if the adapter has no thread. It then works only in env_pump() and in functions that call
 * env_pump().
 */
bool env_is_pumped(void);
/* Runs the adapter for one turn, if it has no thread. */
void env_pump(void);
/*
 * Calls gantry_poll(). If the adapter has no thread, runs it for one turn first. If nothing has
 * completed, yields the CPU: other threads may need it.
 */
uint16_t env_poll(struct gantry_queue *q, struct gantry_comp *comp, uint16_t n);
/* Calls gantry_dequeue_burst(), and yields in the same way. */
unsigned int env_dequeue(struct gantry_worker *w, struct gantry_comp *comp, unsigned int n);
/* Submits all n descriptors and collects all completions, in order. */
void env_do(struct gantry_queue *q, const struct gantry_desc *desc, struct gantry_comp *comp,
	unsigned int n);
/* Submits one descriptor and returns its status. */
enum gantry_status env_do_one(struct gantry_queue *q, struct gantry_desc desc);
/* Creates a queue. env_queue_done() destroys it when nothing is in flight. */
struct gantry_queue *env_queue(struct gantry *g, uint32_t depth);
void env_queue_done(struct gantry_queue *q);

/* Collects n completions. */
void env_collect(struct gantry_queue *q, struct gantry_comp *comp, unsigned int n);

struct gantry_stats env_stats(const struct gantry_queue *q);

/* Opens a connection between two queues, or from a queue to itself. */
void env_connect(struct gantry_queue *a, uint16_t *pa, struct gantry_queue *b, uint16_t *pb);

struct rte_ring;

/* Waits until a running lcore has put something into a ring. */
void env_wait_ring(const struct rte_ring *r);

static inline struct gantry_desc
env_copy(const void *src, void *dst, uint64_t len)
{
	return (struct gantry_desc){
		.op = GANTRY_OP_COPY,
		.src = (uintptr_t)src,
		.dst = (uintptr_t)dst,
		.len = len,
	};
}

static inline struct gantry_desc
env_changed(struct gantry_desc d, size_t offset, uint64_t value, size_t len)
{
	memcpy((uint8_t *)&d + offset, &value, len);
	return d;
}

/* The descriptor d with another value in a field. */
#define WITH(d, field, value)                                                                      \
	env_changed((d), offsetof(struct gantry_desc, field), (value),                             \
		sizeof(((struct gantry_desc *)0)->field))

#endif
