/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A DC target: any number of initiators send to it, and their messages take its receives.
 *
 * A target has a shared receive queue (SRQ). Messages of different initiators arrive at the same
 * time, so the entries of the SRQ complete in any order. gantry_target_poll() tells which entries
 * have completed.
 *
 * The control thread creates and destroys targets; the owner makes all other calls.
 */
#ifndef GANTRY_TARGET_H
#define GANTRY_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include <hwq_dct.h>
#include <hwq_srq.h>

/* The receive that is posted in an entry of the SRQ. */
struct gantry_target_entry {
	uint64_t cookie; /* cookie of the receive */
	bool posted;
	bool old; /* the receive was posted before gantry_target_mark() */
};

struct gantry_target {
	struct hwq_srq *srq;
	struct hwq_cq *cq; /* CQ of receives only */
	struct hwq_dct *dct;
	uint64_t key; /* DC key: an initiator without this key gets no answer */
	uint32_t n_old;
	struct gantry_target_entry *entry; /* entries by their index in the SRQ */
};

/*
 * Creates a target for `depth` receives at once; `depth` may be 0. Returns 0, or logs the reason
 * and returns a negative errno. After an error *out is NULL, or a target with objects that the
 * device did not destroy. In the second case the caller calls gantry_target_destroy().
 */
int gantry_target_create(struct hwq_domain *domain, const struct hwq_path *path, uint32_t depth,
	int socket, struct gantry_target **out);

/*
 * Destroys the target. When its DCT is destroyed, the device no longer writes to receives. Returns
 * 0 or the device's error. After an error, the pointers to objects that still exist are not NULL,
 * and the caller calls this function again.
 */
int gantry_target_destroy(struct gantry_target *t);

/*
 * Posts a receive with the memory *sge, whose length may be 0. The caller has checked that fewer
 * than `depth` receives are posted.
 */
void gantry_target_post(struct gantry_target *t, uint64_t cookie, const struct hwq_sge *sge);

/* Tells the device about all posted receives. */
void gantry_target_ring(struct gantry_target *t);

/* Takes at most n completions, and the cookies of their receives. Returns how many were taken. */
unsigned int gantry_target_poll(struct gantry_target *t, struct hwq_cqe *cqe, uint64_t *cookie,
	unsigned int n);

/*
 * Takes back a posted receive, to which the device no longer writes. *at is 0 in the first call;
 * the caller passes it unchanged to each later call. Returns false if no receive is posted.
 */
bool gantry_target_take_back(struct gantry_target *t, uint32_t *at, uint64_t *cookie);

/*
 * Marks the receives that are posted now. gantry_target::n_old is the number of marked receives
 * that have not completed yet.
 */
void gantry_target_mark(struct gantry_target *t);

#endif
