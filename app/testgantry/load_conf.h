/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What a load is, and the points of a sweep.
 */
#ifndef TESTGANTRY_LOAD_CONF_H
#define TESTGANTRY_LOAD_CONF_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "load_op.h"

/** What a list may be given of. The first ones change slowest in a sweep. */
enum load_axis {
	AXIS_CORES,
	AXIS_PEERS,
	AXIS_REGIONS,
	AXIS_SGE,
	AXIS_LAYOUTS,
	AXIS_DEPTH,
	AXIS_BURST,
	AXIS_RATE,
	AXIS_SIZE,
	LOAD_AXES,
};

#define LOAD_PERCENTS_MAX 8 /**< percentiles of a latency */

/** The percentiles that are shown. */
struct load_percents {
	uint32_t n;
	double value[LOAD_PERCENTS_MAX]; /**< above 0, at most 100 */
};

#define LOAD_LIST_MAX 64 /**< values of a list */

/** The values that an axis takes one after the other. */
struct load_list {
	uint32_t n; /**< 0: the one of the option's field */
	uint64_t value[LOAD_LIST_MAX];
};

/** How descriptors reach a queue. */
enum load_via {
	LOAD_VIA_RING,   /**< the main lcore enqueues to workers */
	LOAD_VIA_INLINE, /**< each worker lcore submits to a queue of its own */
};

/** In which order the operations of a mix come. */
enum load_order {
	LOAD_ORDER_RANDOM,
	LOAD_ORDER_EVEN, /**< each spread evenly: of two with equal weights, in turn */
};

/** The settings of --load that no other mode has. */
struct load_conf {
	struct load_mix mix;
	enum load_via via;
	uint64_t size;
	uint32_t peers;
	uint32_t regions;
	uint32_t sge;     /**< pieces of sg, gather and scatter */
	uint32_t layouts; /**< places that layouts lie in, in turn */
	enum gantry_carrier
		by;     /**< of copy, fill and sg; GANTRY_CARRIER_USUAL: the policy decides */
	uint32_t fence; /**< each so many operations one has a fence; 0: none */
	enum load_order order;
	bool unordered;                  /**< of gantry_queue_conf */
	enum gantry_transport transport; /**< of connections without transactions */
	uint32_t max_inline; /**< bytes that the CPU copies into WQEs; 0: as the engine does */
	uint32_t patterns;   /**< of fills, in turn */
	bool mixed_regions;  /**< regions of different lengths */
	uint64_t total_ops;  /**< 0: --duration alone decides */
	uint32_t duration;   /**< seconds; 0: not given */
	uint64_t rate;       /**< operations a second, of all lanes together; 0: as many as fit */
	struct load_percents percents;
	char csv[PATH_MAX], json[PATH_MAX]; /**< files to write; empty: none */
	bool verify;
	struct load_list list[LOAD_AXES];
};

/** One measurement: a value of each axis. */
struct load_point {
	uint64_t value[LOAD_AXES];
};

struct options;

/** The most worker lcores that a measurement asks for; 1 if it takes all that there are. */
uint32_t load_cores(const struct options *o);

/**
 * Reads percentiles: "50,99,99.9". name: of the option, for messages. 0, or -1 with the error
 * printed.
 * @param percents written on success only.
 */
int load_percents_parse(const char *name, const char *text, struct load_percents *percents);

/**
 * Looks whether the operations can have each size, and what else they need. 0, or -1 with the error
 * printed.
 */
int load_check(const struct options *o);

/** The operations of the mix use this setting. */
bool load_uses(const struct options *o, enum load_axis axis);

/** How many measurements the lists ask for. */
uint64_t load_points(const struct options *o);

/** The measurement of this number. */
void load_point_get(const struct options *o, uint64_t number, struct load_point *p);

#endif
