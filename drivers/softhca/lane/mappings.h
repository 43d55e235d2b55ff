/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program's mappings of pages that the adapter has to notice: UAR pages, which the program
 * stores to, and clock pages, which it reads. While the adapter is awake they are open. Before it
 * sleeps it closes them, and the first use of a closed page wakes it.
 *
 * One list for the process. Its lock is taken after all locks of the control half.
 */
#ifndef SOFTHCA_MAPPINGS_H
#define SOFTHCA_MAPPINGS_H

#include <stdbool.h>

struct softhca_lanes;
struct softhca_uar;

struct mapping {
	void *at;                    /* where the program has mapped the page */
	void *page;                  /* the device's own mapping of it */
	struct softhca_lanes *lanes; /* of its adapter */
	struct softhca_uar *uar;     /* NULL: a clock page */
};

/* Sets the descriptor of uffd_open(); -1: there are no traps, and the list is empty. */
void mappings_begin(int uffd);
/* Adds a mapping. It replaces one at the same address, which the program has unmapped. */
void mappings_add(const struct mapping *mapping);
/* Forgets all mappings of that page. */
void mappings_drop(const void *page);
/* The program has moved memory (mremap(2)). */
void mappings_move(void *from, void *to, unsigned long len);
/* Closes all pages of the adapter. False: one waits for a doorbell, or cannot be closed now. */
bool mappings_close(struct softhca_lanes *lanes);
/*
 * Opens all pages that threads wait for now, and wakes their adapters. False: nothing is trapped
 * any more. More than one thread may call it.
 */
bool mappings_open_all(void);

/* fork(2). The child's list is empty, and it has no traps. */
void mappings_fork_prepare(void);
void mappings_fork_parent(void);
void mappings_fork_child(void);

#endif
