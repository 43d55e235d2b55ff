/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The completion queue's data path (peek, advance, publish), and the only fence for reading.
 *
 *     device writes CQE n, its owner bit last
 *          |
 *     hwq_cq_peek      if entry ci is written, decode it into a record
 *     hwq_cq_advance   ci + 1; the device does not see it yet
 *     hwq_cq_publish   tell the device, once a burst: these entries may be written again
 *
 * hwq_cq_poll() does all three for a burst. hwq_sq_ring() publishes too: the device must see free
 * CQEs before it sees the WQEs that need them.
 *
 * A WQE that fails or is flushed makes a CQE even if it is unsignalled. So hwq_qp_create() refuses
 * a QP whose WQEs could overrun the CQ.
 *
 * Thread: only the owner of the CQ's domain calls the functions of this file.
 */
#ifndef HWQ_CQ_H
#define HWQ_CQ_H

#include <stdbool.h>

#include "hwq_api.h"
#include "hwq_atomic.h"
#include "hwq_cqe.h"
#include "hwq_wire.h"

struct ibv_cq;
struct hwq_channel;
struct hwq_domain;

/** A completion queue. Only hwq writes this struct. */
struct hwq_cq {
	const uint8_t *next; /**< address of entry ci, the next entry to read */
	const uint8_t *end;  /**< end of the last entry */
	uint8_t *buf;        /**< address of the ring: entries of 64 bytes */
	__be32 *dbrec;       /**< [0] consumer index, [1] arm word */
	uint32_t ci;         /**< free-running index of the next entry */
	uint32_t published;  /**< the consumer index that the device knows */
	uint32_t mask;       /**< entries - 1 */
	uint32_t log_n;      /**< log2 of entries */
	/** value of the owner bit once the device has written the next entry */
	uint8_t lap;

	/* Fields for events: hwq_event.h. */
	uint32_t arm_sn; /**< number of events taken so far */
	uint8_t *uar;    /**< doorbell register that arms CQs; several CQs share it */

	/* Fields of the control path. */
	HWQ_ON_LINE void *user; /**< pointer that hwq_cq_set_user() stored */
	uint32_t n_cqe;         /**< number of entries */
	/** number of entries that the queues on this CQ may need at once */
	uint32_t reserved;
	uint32_t cqn;                /**< number of the CQ */
	struct ibv_cq *cq;           /**< the verbs object */
	struct hwq_channel *channel; /**< channel of its events; NULL: no events */
	struct hwq_domain *domain;   /**< domain of the CQ; NULL: the caller's own CQ (hwq_obj.h) */
};

static_assert(offsetof(struct hwq_cq, user) == HWQ_LINE_LEN,
	"what the owner writes is one cache line");

/**
 * Sets the consumer index, and the fields that depend on it.
 * @param cq The CQ.
 * @param ci The consumer index, free-running.
 */
static inline void
hwq_cq_seek(struct hwq_cq *cq, uint32_t ci)
{
	cq->ci = ci;
	cq->next = cq->buf + (size_t)(ci & cq->mask) * sizeof(struct mlx5_cqe64);
	cq->lap = (ci >> cq->log_n) & MLX5_CQE_OWNER_MASK;
}

/**
 * Starts an empty CQ over memory that the caller provides. hwq_cq_create() and hwq_obj_cq() call
 * it.
 * @param cq Written.
 * @param buf n_cqe entries of 64 bytes, with the invalid opcode that libmlx5 writes. The caller
 *   owns the memory.
 * @param n_cqe Number of entries, a power of two.
 * @param dbrec The doorbell record: two words, which the caller owns.
 */
static inline void
hwq_cq_init(struct hwq_cq *cq, void *buf, uint32_t n_cqe, __be32 *dbrec)
{
	cq->buf = (uint8_t *)buf;
	cq->end = cq->buf + (size_t)n_cqe * sizeof(struct mlx5_cqe64);
	cq->dbrec = dbrec;
	cq->n_cqe = n_cqe;
	cq->mask = n_cqe - 1;
	cq->log_n = (uint32_t)__builtin_ctz(n_cqe);
	cq->published = 0;
	hwq_cq_seek(cq, 0);
}

/**
 * Orders the read of an entry's owner bit before the reads of the entry and of its message's data.
 * The device writes the owner bit last. Without this fence, the CPU could read an old CQE or old
 * data.
 */
static inline void
hwq_fence_owner_before_cqe(void)
{
#if defined(__x86_64__)
	/* The CPU does not reorder loads from write-back memory. */
	__asm__ volatile("" ::: "memory");
#elif defined(__aarch64__)
	__asm__ volatile("dmb oshld" ::: "memory");
#else
	__sync_synchronize();
#endif
}

static inline const struct mlx5_cqe64 *
hwq_cq_entry(const struct hwq_cq *cq, uint32_t index)
{
	return (const struct mlx5_cqe64 *)(cq->buf +
					   (size_t)(index & cq->mask) * sizeof(struct mlx5_cqe64));
}

/*
 * Returns the opcode, format, solicited and owner bits of an entry. They are read before all other
 * bytes of the entry.
 */
static inline uint8_t
hwq_cqe_op_own(const uint8_t *entry)
{
	const uint8_t *op_own = entry + offsetof(struct mlx5_cqe64, op_own);

	return hwq_load_acquire(op_own);
}

/**
 * Tests a byte that was read at hwq_cq_watched(). For a caller that waits until the device writes
 * the byte, by rte_power_monitor() or UMWAIT.
 * @param op_own The byte.
 * @param lap cq->lap when hwq_cq_watched() was called.
 * @return True if the completion is written.
 */
static inline bool
hwq_op_own_is_ours(uint8_t op_own, uint8_t lap)
{
	/* libmlx5 writes the invalid opcode into entries before the device uses them. */
	return (op_own & MLX5_CQE_OWNER_MASK) == lap && op_own >> 4 != MLX5_CQE_INVALID;
}

/**
 * Returns the address at which a caller can wait for the next completion.
 * @param cq The CQ.
 * @return The address of the next completion's last byte, which the device writes last.
 */
static inline const uint8_t *
hwq_cq_watched(const struct hwq_cq *cq)
{
	return cq->next + offsetof(struct mlx5_cqe64, op_own);
}

/**
 * Tells whether the device has written an entry in the entry's current lap.
 * @param cq The CQ.
 * @param index The entry's index, free-running.
 * @return True if the entry is written.
 */
static inline bool
hwq_cq_is_ours(const struct hwq_cq *cq, uint32_t index)
{
	uint8_t op_own = hwq_cqe_op_own((const uint8_t *)hwq_cq_entry(cq, index));
	uint8_t lap = (index >> cq->log_n) & MLX5_CQE_OWNER_MASK;

	return hwq_op_own_is_ours(op_own, lap);
}

/**
 * Tells whether the next completion is written, so that hwq_cq_peek() would return it.
 * @param cq The CQ.
 * @return True if the completion is written.
 */
static inline bool
hwq_cq_has_next(const struct hwq_cq *cq)
{
	return hwq_op_own_is_ours(hwq_cqe_op_own(cq->next), cq->lap);
}

/**
 * Decodes the next completion without consuming it; hwq_cq_advance() consumes it.
 * @param cq The CQ.
 * @param out The completion; not written if there is none.
 * @return True if there is a completion.
 */
static inline bool
hwq_cq_peek(const struct hwq_cq *cq, struct hwq_cqe *out)
{
	if (!hwq_cq_has_next(cq))
		return false;
	hwq_fence_owner_before_cqe();
	hwq_cqe_decode((const struct mlx5_cqe64 *)cq->next, out);
	return true;
}

/* As hwq_cq_publish(), for a caller who knows that the index has changed. */
static inline void
hwq_cq_publish_ci(struct hwq_cq *cq)
{
	cq->published = cq->ci;
	/* Release: entries are read before the device may write them again. */
	hwq_store_release(&cq->dbrec[HWQ_CQ_DBR_CI], htobe32(cq->ci & HWQ_CQ_CI_MASK));
}

/* Consumes the entry at `next`, which must be cq->next. */
static inline void
hwq_cq_pass(struct hwq_cq *cq, const uint8_t *next)
{
	next += sizeof(struct mlx5_cqe64);
	if (__builtin_expect(next == cq->end, 0)) {
		next = cq->buf;
		cq->lap ^= MLX5_CQE_OWNER_MASK;
	}
	cq->next = next;
	cq->ci++;
}

/**
 * Consumes the next completion if it is a good completion of a send queue's WQE, and decodes only
 * its wqe_counter. The device sees the free entry after hwq_cq_publish().
 * @param cq The CQ.
 * @param wqe_counter Written if the result is true: the index at which the WQE starts.
 * @return False if there is no completion yet, or if it is of another kind: then call
 *   hwq_cq_peek().
 */
static inline bool
hwq_cq_take_good(struct hwq_cq *cq, uint16_t *wqe_counter)
{
	const uint8_t *next = cq->next;

	/*
	 * A good completion has opcode 0 (REQ), and the owner bit of the current lap. All other
	 * bits are ignored.
	 */
	static_assert(MLX5_CQE_REQ == 0, "a good completion has no opcode bits");
	if ((hwq_cqe_op_own(next) & (0xf0 | MLX5_CQE_OWNER_MASK)) != cq->lap)
		return false;
	hwq_fence_owner_before_cqe();
	*wqe_counter = be16toh(((const struct mlx5_cqe64 *)next)->wqe_counter);
	hwq_cq_pass(cq, next);
	return true;
}

/**
 * Consumes the entry that hwq_cq_peek() decoded. The device sees the free entry after
 * hwq_cq_publish().
 * @param cq The CQ.
 */
static inline void
hwq_cq_advance(struct hwq_cq *cq)
{
	hwq_cq_pass(cq, cq->next);
}

/**
 * Writes the consumer index to the doorbell record, if it moved since the last call. The device may
 * then write the consumed entries again. Call it once a burst.
 * @param cq The CQ.
 */
static inline void
hwq_cq_publish(struct hwq_cq *cq)
{
	if (cq->ci != cq->published)
		hwq_cq_publish_ci(cq);
}

/**
 * Consumes completions, oldest first, and publishes the consumer index. For each completion of a
 * send queue, the caller then frees the WQE by hwq_sq_complete().
 * @param cq The CQ.
 * @param out Room for n completions.
 * @param n Largest number of completions.
 * @return Number of completions in out; 0: there is no completion yet.
 */
static inline unsigned int
hwq_cq_poll(struct hwq_cq *cq, struct hwq_cqe *out, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n && hwq_cq_peek(cq, &out[i]); i++)
		hwq_cq_advance(cq);
	hwq_cq_publish(cq);
	return i;
}

/**
 * Stores a pointer of the caller with the CQ, for the thread that takes events (hwq_async.h).
 * @param cq The CQ.
 * @param user Any pointer; NULL at first.
 */
static inline void
hwq_cq_set_user(struct hwq_cq *cq, void *user)
{
	hwq_store_release(&cq->user, user);
}

/**
 * Returns the pointer that hwq_cq_set_user() stored last. Any thread may call this function while
 * the CQ exists.
 * @param cq The CQ.
 * @return The pointer.
 */
static inline void *
hwq_cq_user(struct hwq_cq *cq)
{
	return hwq_load_acquire(&cq->user);
}

/**
 * Creates a CQ of 64-byte entries, without events (hwq_cq_create_on() creates a CQ with events).
 *
 * @param domain
 *   The domain, whose owner thread will own the new object.
 * @param n_cqe Entries that the CQ must hold at once, at least 1; rounded up to a power of two.
 *   Give the sum of hwq_qp_cqe_needed() of its QPs.
 * @param cq
 *   The CQ, owned by the domain's thread; written on success only. Destroy it before the domain.
 * @return
 *   0 on success, otherwise:
 * @retval -EINVAL
 *   n_cqe is 0 or more than caps.max_cqe.
 * @retval -ENOMEM
 *   There is not enough memory.
 * @retval -errno
 *   The error of mlx5dv_create_cq(3).
 */
HWQ_API int hwq_cq_create(struct hwq_domain *domain, uint32_t n_cqe, struct hwq_cq **cq);

/**
 * Destroys a CQ. Completions that are still in the CQ are lost.
 *
 * @param cq
 *   The CQ.
 * @return
 *   0 on success, otherwise:
 * @retval -EBUSY
 *   QPs or SRQs use it: destroy them first. Nothing was destroyed.
 * @retval -EINVAL
 *   It is the caller's own CQ: call hwq_obj_cq_release().
 * @retval -errno
 *   The error of ibv_destroy_cq(3): the CQ still exists.
 */
HWQ_API int hwq_cq_destroy(struct hwq_cq *cq);

#endif
