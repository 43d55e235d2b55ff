/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lcore's ends of a worker's rings. No other thread reads or writes at these ends, so two
 * indices are enough. Elements are read and written in the ring's memory, without a copy. A part is
 * a number of elements that follow each other in memory, so it ends at the latest at the end of the
 * ring's memory.
 *
 *     reading                                         writing
 *       gantry_ring_tail()         the filled end       gantry_ring_room()       free places
 *       gantry_ring_part_filled()  what can be read     gantry_ring_part_free()  where to write
 *       gantry_ring_consume()      n were read          gantry_ring_produce()    n were written
 *
 * The calls of rte_ring_peek_zc.h do the same, but need more instructions: 409 instead of 356 for a
 * turn of one copy, and 453 instead of 396 for a turn of one write (bench_gantry, GCC 12). Each of
 * those calls checks the kind of synchronization, and moves a head first.
 */
#ifndef GANTRY_RING_END_H
#define GANTRY_RING_END_H

#include <stdint.h>

#include <rte_common.h>
#include <rte_ring.h>

/* Elements of a ring that follow each other in memory. */
struct gantry_ring_part {
	void *at;
	uint32_t n;
};

/*
 * Returns the elements from a free-running index on: at most n, and none behind the end of the
 * ring's memory.
 */
static __rte_always_inline struct gantry_ring_part
gantry_ring_part(struct rte_ring *r, uint32_t elem_len, uint32_t index, uint32_t n)
{
	uint32_t first = index & r->mask;

	return (struct gantry_ring_part){
		.at = (uint8_t *)&r[1] + (size_t)first * elem_len,
		.n = RTE_MIN(n, r->size - first),
	};
}

/*
 * Returns the index behind the last element that producers have written. All kinds of producers
 * keep this index in prod.tail.
 */
static __rte_always_inline uint32_t
gantry_ring_tail(const struct rte_ring *r)
{
	/* Pairs with the release of producers in rte_ring: the elements are complete. */
	return __atomic_load_n(&r->prod.tail, __ATOMIC_ACQUIRE);
}

/* Returns the filled elements up to `tail`, at most n. tail: a result of gantry_ring_tail(). */
static __rte_always_inline struct gantry_ring_part
gantry_ring_part_filled(struct rte_ring *r, uint32_t elem_len, uint32_t tail, uint32_t n)
{
	uint32_t from = r->cons.tail;

	return gantry_ring_part(r, elem_len, from, RTE_MIN(n, tail - from));
}

/* Gives the first n filled elements back to the producers. */
static __rte_always_inline void
gantry_ring_consume(struct rte_ring *r, uint32_t n)
{
	uint32_t to = r->cons.tail + n;

	r->cons.head = to;
	/* Pairs with the acquire of producers: they may overwrite these elements now. */
	__atomic_store_n(&r->cons.tail, to, __ATOMIC_RELEASE);
}

/* Returns the number of free elements. */
static __rte_always_inline uint32_t
gantry_ring_room(struct rte_ring *r)
{
	/*
	 * Pairs with the release of the consumer in rte_ring: the consumer has read these elements.
	 */
	return r->capacity + __atomic_load_n(&r->cons.tail, __ATOMIC_ACQUIRE) - r->prod.tail;
}

/*
 * Returns the first n free elements, or fewer if the end of the ring's memory comes before. The
 * caller knows that at least n elements are free.
 */
static __rte_always_inline struct gantry_ring_part
gantry_ring_part_free(struct rte_ring *r, uint32_t elem_len, uint32_t n)
{
	return gantry_ring_part(r, elem_len, r->prod.tail, n);
}

/* Hands the first n written elements to the consumer. */
static __rte_always_inline void
gantry_ring_produce(struct rte_ring *r, uint32_t n)
{
	uint32_t to = r->prod.tail + n;

	r->prod.head = to;
	/* Pairs with the acquire of the consumer: the elements are complete. */
	__atomic_store_n(&r->prod.tail, to, __ATOMIC_RELEASE);
}

#endif
