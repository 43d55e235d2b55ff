/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The settings of a load, and the points of a sweep.
 */
#ifndef TESTGANTRY_LOAD_CONF_H
#define TESTGANTRY_LOAD_CONF_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "load_op.h"

/** Settings that accept a list of values. In a sweep, the first setting changes slowest. */
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

#define LOAD_PERCENTS_MAX 8 /**< largest number of percentiles of a latency */

/** The percentiles to print. */
struct load_percents {
	uint32_t n;
	double value[LOAD_PERCENTS_MAX]; /**< each above 0 and at most 100 */
};

#define LOAD_LIST_MAX 64 /**< largest number of values in a list */

/** The values of a setting, one for each point. */
struct load_list {
	uint32_t n; /**< 0: no list; the option's field has the value */
	uint64_t value[LOAD_LIST_MAX];
};

/** The way in which descriptors reach a queue. */
enum load_via {
	LOAD_VIA_RING,   /**< the main lcore enqueues to workers */
	LOAD_VIA_INLINE, /**< each worker lcore submits to its own queue */
};

/** The order of a mix's operations. */
enum load_order {
	LOAD_ORDER_RANDOM,
	/** each operation is spread evenly; two operations with equal weights alternate */
	LOAD_ORDER_EVEN,
};

/** The settings that only --load has. */
struct load_conf {
	struct load_mix mix;
	enum load_via via;
	uint64_t size;
	uint32_t peers;
	uint32_t regions;
	uint32_t sge; /**< number of pieces of sg, gather and scatter */
	/** number of base addresses that operations with a layout use, one after the other */
	uint32_t layouts;
	enum gantry_carrier
		/** carrier of copy, fill and sg; GANTRY_CARRIER_USUAL: the policy decides */
		by;
	uint32_t fence; /**< every fence-th operation has a fence; 0: none has */
	enum load_order order;
	bool unordered;                  /**< gantry_queue_conf.unordered */
	enum gantry_transport transport; /**< transport of connections without transactions */
	/** maximum of bytes that the CPU copies into a WQE; 0: the engine's default */
	uint32_t max_inline;
	uint32_t patterns;  /**< number of patterns that fills use, one after the other */
	bool mixed_regions; /**< regions of different lengths */
	uint64_t total_ops; /**< number of operations; 0: --duration alone ends the measurement */
	uint32_t duration;  /**< seconds; 0: not given */
	uint64_t rate;      /**< operations a second, all lanes together; 0: without limit */
	struct load_percents percents;
	char csv[PATH_MAX], json[PATH_MAX]; /**< paths of the files to write; empty: no file */
	bool verify;
	struct load_list list[LOAD_AXES];
};

/** One measurement: one value of each setting with a list. */
struct load_point {
	uint64_t value[LOAD_AXES];
};

struct options;

/** The largest number of worker lcores that a measurement needs; 1 if it uses all lcores. */
uint32_t load_cores(const struct options *o);

/**
 * Parses percentiles: "50,99,99.9". name: the option's name, for messages. Returns 0, or -1 with
 * the error printed.
 * @param percents Written on success only.
 */
int load_percents_parse(const char *name, const char *text, struct load_percents *percents);

/**
 * Checks that the operations can have each size, and that all other settings suit them. Returns 0,
 * or -1 with the error printed.
 */
int load_check(const struct options *o);

/** Returns true if an operation of the mix uses this setting. */
bool load_uses(const struct options *o, enum load_axis axis);

/** Returns the number of measurements that the lists define. */
uint64_t load_points(const struct options *o);

/** Writes the settings of measurement `number` to the point. */
void load_point_get(const struct options *o, uint64_t number, struct load_point *p);

#endif
