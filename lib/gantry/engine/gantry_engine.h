/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An engine: one device, the table of its registered memory, and lists of the objects created on
 * it.
 */
#ifndef GANTRY_ENGINE_H
#define GANTRY_ENGINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include <hwq_alias.h>
#include <hwq_dev.h>
#include <rte_thread.h>

#include "gantry.h"
#include "gantry_dek.h"
#include "gantry_failures.h"
#include "gantry_log_rate.h"
#include "gantry_region.h"
#include "gantry_shelf.h"

STAILQ_HEAD(gantry_mem_list, gantry_mem);

/* The thread that reads the device's events (gantry_event.h). */
struct gantry_event_thread {
	bool running;
	int stop_fd; /* if this descriptor is readable, the thread has to end */
	rte_thread_t thread;
	struct gantry_log_rate lines; /* limit for lines about events of QPs and CQs */
};

/*
 * An engine. If no comment says anything else, a field is used by the control thread. `regions` has
 * rules of its own (gantry_region.h).
 */
struct gantry {
	struct hwq_dev *dev;
	enum hwq_export_kind export_kind; /* keys that other functions of the card may use */
	struct gantry_region_dir regions;
	struct gantry_shelf layouts;  /* objects of struct gantry_layout; any thread reads */
	struct gantry_shelf profiles; /* objects of struct gantry_profile; any thread reads */
	struct gantry_deks deks;
	struct gantry_mem_list pools;    /* registrations of mempools */
	struct gantry_mem_list given_up; /* registrations that failed and could not be ended at
					  * once */
	struct gantry_mem *eal;          /* the registration of EAL's memory, or NULL */
	/* Used under the lock of `regions`. */
	uint32_t n_mems;    /* number of registrations that have not ended */
	uint32_t n_regions; /* number of regions in the table */
	uint64_t mem_len;   /* bytes of all regions in the table */
	/* The process that created the engine; a child of fork(2) cannot use it. */
	pid_t pid;
	struct gantry_info info;
	bool ports_in_turn; /* each queue takes the next active port */
	uint8_t last_port;  /* the port of the last queue */
	/* Checked; the policy of queues whose configuration has none. */
	struct gantry_policy policy;
	struct gantry_path path; /* checked; the path of connections whose own settings are 0 */
	uint64_t max_msg_len;    /* bytes that one WQE moves to or from a peer */
	/* Queues whose creation failed, and whose objects the device then refused to destroy. */
	TAILQ_HEAD(, gantry_queue) unmade;
	uint32_t running; /* number of workers that run */
	struct gantry_event_thread event;
	/* Written by the event thread. */
	atomic_bool device_lost;         /* the device has failed and can be used no more */
	_Atomic(uint32_t) ports_down;    /* bit n: port n + 1 has no link */
	struct gantry_failures failures; /* written by owners of queues */
	/* Other threads may read the fields below under the lock of gantry_seen.h. */
	TAILQ_HEAD(, gantry_queue) queues;
	uint32_t id; /* number of the engine in the process */
	bool seen;
	TAILQ_ENTRY(gantry) next;
	TAILQ_HEAD(, gantry_worker) workers;
};

#endif
