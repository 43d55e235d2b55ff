/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A DC target: what any number of initiators reaches, and the receives that their messages take.
 *
 * It has a shared receive queue (SRQ). Messages of different initiators arrive side by side, so its entries
 * complete in any order: gantry_target_poll() tells which ones.
 *
 * The control thread creates and destroys; all other calls are the owner's.
 */
#ifndef GANTRY_TARGET_H
#define GANTRY_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include <hwq_dct.h>
#include <hwq_srq.h>

/* What is posted in an entry of the SRQ. */
struct gantry_target_entry {
	uint64_t cookie; /* of the receive */
	bool posted;
	bool old; /* it was posted when gantry_target_mark() was called */
};

struct gantry_target {
	struct hwq_srq *srq;
	struct hwq_cq *cq; /* of receives alone */
	struct hwq_dct *dct;
	uint64_t key; /* DC key: who does not know it gets no answer */
	uint32_t n_old;
	struct gantry_target_entry *entry; /* by index in the SRQ */
};

/*
 * A target that takes `depth` receives at once, 0: none. 0; or a negative errno, which the log has: *out is
 * NULL, or what the device did not take back, for gantry_target_destroy().
 */
int gantry_target_create(struct hwq_domain *domain, const struct hwq_path *path, uint32_t depth,
	int socket, struct gantry_target **out);

/*
 * Ends the target: when its DCT is gone, the device writes to no receive any more. 0; or what the device
 * said: what is left is not NULL, call again.
 */
int gantry_target_destroy(struct gantry_target *t);

/* Posts a receive of the memory sge[0..n), n is 0 or 1. There is room: the caller counts. */
void gantry_target_post(struct gantry_target *t, uint64_t cookie, const struct hwq_sge *sge,
	unsigned int n);

/* Tells the device of all that was posted. */
void gantry_target_ring(struct gantry_target *t);

/* Takes completions, and the cookies of their receives. Returns how many, at most n. */
unsigned int gantry_target_poll(struct gantry_target *t, struct hwq_cqe *cqe, uint64_t *cookie,
	unsigned int n);

/*
 * Takes a posted receive back: the device writes to it no more. *at is 0 in the first call, and then as the last
 * call left it. False: there is none.
 */
bool gantry_target_take_back(struct gantry_target *t, uint32_t *at, uint64_t *cookie);

/* Notes what is posted; gantry_target::n_old counts how much of that has not completed. */
void gantry_target_mark(struct gantry_target *t);

#endif
