/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program's mappings of pages whose use the adapter must notice: UAR pages, which the program
 * stores to, and clock pages, which the program reads. The pages are open while the adapter is
 * awake. Before it sleeps, the adapter closes them, and the first use of a closed page wakes it.
 *
 * The process has one list. The list's lock is taken after all locks of the control half.
 */
#ifndef SOFTHCA_MAPPINGS_H
#define SOFTHCA_MAPPINGS_H

#include <stdbool.h>

struct softhca_lanes;
struct softhca_uar;

struct mapping {
	void *at;                    /* where the program has mapped the page */
	void *page;                  /* the device's mapping of the same page */
	struct softhca_lanes *lanes; /* the lanes of its adapter */
	struct softhca_uar *uar;     /* NULL: a clock page */
};

/* Sets the descriptor of uffd_open(). -1: there are no traps, and the list stays empty. */
void mappings_begin(int uffd);
/* Adds a mapping. A mapping listed at the same address is replaced: the program has unmapped it. */
void mappings_add(const struct mapping *mapping);
/* Forgets all mappings of that page. */
void mappings_drop(const void *page);
/* Call when the program has moved memory (mremap(2)). */
void mappings_move(void *from, void *to, unsigned long len);
/* Closes all pages of the adapter. False: a page waits for a doorbell, or cannot be closed now. */
bool mappings_close(struct softhca_lanes *lanes);
/*
 * Opens all pages that threads wait for now, and wakes their adapters. False: traps have ended.
 * Several threads may call it at once.
 */
bool mappings_open_all(void);

/* Call around fork(2). The child has an empty list and no traps. */
void mappings_fork_prepare(void);
void mappings_fork_parent(void);
void mappings_fork_child(void);

#endif
