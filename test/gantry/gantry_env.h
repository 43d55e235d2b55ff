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
 * Starts EAL with lcores 0 to n_workers on two CPUs, or on one CPU if the process may use only one.
 * Exits with 1 if EAL does not start.
 */
void env_init(unsigned int n_workers);
/*
 * As env_init(), but EAL also answers on its telemetry socket, in rte_eal_get_runtime_dir(). prefix
 * is EAL's --file-prefix, or NULL for a prefix that only this process uses.
 */
void env_init_with_telemetry(unsigned int n_workers, const char *prefix);
/*
 * Calls gantry_before_eal(), which must succeed. Call it before env_init(). Without it, DPDK's mlx4
 * plug-in calls ibv_fork_init(3); then libibverbs before rdma-core 51 reads /proc/self/smaps at
 * each registration and each deregistration. This takes milliseconds, and longer with more
 * mappings. Children of fork(2) then do not have the registered memory.
 */
void env_refuse_fork_init(void);
/*
 * Lets the calling thread run on any CPU: EAL has bound the thread that called rte_eal_init() to
 * one CPU.
 */
void env_unbind(void);
/* Features that only some devices have. */
enum env_need {
	ENV_MMO,
	ENV_MMO_OF_2_GIB,
	ENV_LAYOUTS,
	ENV_DC,
	ENV_DEVICE_MEMORY,
	ENV_SIGNATURES
};
/*
 * Called in a case: returns true if the device lacks the feature. The case then returns, and the
 * program ends with CHECK_SKIP.
 */
bool env_lacks(const struct gantry *g, enum env_need need);
/* For use before the cases: ends the program with CHECK_SKIP if the device lacks the feature. */
void env_need(const struct gantry *g, enum env_need need);
/* Runs the cases whose name contains argv[1], or all cases if there is no argv[1]. */
void env_run(const struct check_case *cases, unsigned int n, int argc, char **argv);

/*
 * Checks what must hold for every queue that has nothing in flight: no word for the result of an
 * atomic, no transaction and no peer number is lost, and the counters agree with each other. Test
 * programs that are linked with --wrap=gantry_queue_destroy make this call for each queue that they
 * destroy, also for the queues of workers.
 */
void env_judge_idle(const struct gantry_queue *q);
/* Checks that the engine has counted its registered regions and their bytes. */
void env_judge_regions(struct gantry *g);
/*
 * Calls env_judge_regions(). Unregisters the memory, destroys the engine and ends EAL; each call
 * must succeed. Returns the exit code: 0, or CHECK_SKIP.
 */
int env_done(struct gantry *g, struct gantry_mem *const *mem, unsigned int n);

/* The time, in cycles of rte_get_timer_cycles(), at which a test stops waiting and fails. */
uint64_t env_patience(void);
/* The CPU time that the calling thread has used. */
uint64_t env_cpu_ns(void);
/*
 * Copies a line of /proc/self/smaps to `line`: of the mapping that contains `at`, the line that
 * begins with `field`. `field` includes the colon (proc_pid_smaps(5)).
 */
void env_smaps(const void *at, const char *field, char *line, size_t len);

/* Page-aligned memory between two pages that cannot be accessed. */
void *env_map(size_t len);
void env_unmap(void *p, size_t len);

/* The flags for memory that peers may read and write. */
#define ENV_REMOTE (GANTRY_MEM_REMOTE_WRITE | GANTRY_MEM_REMOTE_READ)
/* Memory of env_map(), registered with these GANTRY_MEM_* flags. */
uint8_t *env_mem(struct gantry *g, size_t len, unsigned int flags, struct gantry_mem **mem);
/*
 * Checks that a registration of [p, p + len) fails with -err, and that the log then contains the
 * given words.
 */
void env_refused(struct gantry *g, void *p, size_t len, int err, const char *words);
/*
 * Deregisters the memory's key. The engine does not know this, so operations that use the memory
 * fail in hardware. Call env_mend() before gantry_mem_unregister(): env_mend() gives the memory a
 * key that the engine can deregister.
 */
void env_break(struct gantry_mem *mem);
void env_mend(struct gantry_mem *mem);

/*
 * env_fill() writes bytes that depend on the seed and the offset. env_is_filled() compares memory
 * with these bytes. The pattern does not repeat, so env_is_filled() notices bytes at wrong offsets.
 */
void env_fill(void *p, size_t len, uint64_t seed);
bool env_is_filled(const void *p, size_t len, uint64_t seed);

/* The value of each byte of a destination before a copy. */
#define ENV_UNTOUCHED 0x11
/*
 * Returns true if dst has the bytes of src, or false if all its bytes are ENV_UNTOUCHED. In any
 * other case the check fails.
 */
bool env_is_moved(const void *src, const void *dst, size_t len);

/*
 * True if the adapter has no thread. Then the adapter runs only inside env_pump() and functions
 * that call env_pump().
 */
bool env_is_pumped(void);
/* If the adapter has no thread, calls softhca_pump(), which executes WQEs. */
void env_pump(void);
/*
 * Calls env_pump() and gantry_poll(). If nothing has completed, yields the CPU: other threads may
 * need it.
 */
uint16_t env_poll(struct gantry_queue *q, struct gantry_comp *comp, uint16_t n);
/* Calls gantry_dequeue_burst(). Yields the CPU if nothing has completed, as env_poll() does. */
unsigned int env_dequeue(struct gantry_worker *w, struct gantry_comp *comp, unsigned int n);
/* Submits n descriptors and collects n completions, which must come in order. */
void env_do(struct gantry_queue *q, const struct gantry_desc *desc, struct gantry_comp *comp,
	unsigned int n);
/* Submits one descriptor and returns its status. */
enum gantry_status env_do_one(struct gantry_queue *q, struct gantry_desc desc);
/* Creates a queue. env_queue_done() waits until nothing is in flight, then destroys the queue. */
struct gantry_queue *env_queue(struct gantry *g, uint32_t depth);
void env_queue_done(struct gantry_queue *q);

/* Collects n completions. */
void env_collect(struct gantry_queue *q, struct gantry_comp *comp, unsigned int n);

struct gantry_stats env_stats(const struct gantry_queue *q);

/* Opens a connection between two queues, or from a queue to itself. */
void env_connect(struct gantry_queue *a, uint16_t *pa, struct gantry_queue *b, uint16_t *pb);

struct rte_ring;

/* Waits until a running lcore has enqueued something to the ring. */
void env_wait_ring(const struct rte_ring *r);
/* Waits until a running lcore has taken all entries of the ring. */
void env_wait_empty(const struct rte_ring *r);

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

/* A copy of the descriptor d in which `field` has another value. */
#define WITH(d, field, value)                                                                      \
	env_changed((d), offsetof(struct gantry_desc, field), (value),                             \
		sizeof(((struct gantry_desc *)0)->field))

#endif
