/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program's mappings of pages whose use the adapter must notice: UAR pages, which the program
 * writes, and clock pages, which the program reads. The pages are open while the adapter is awake.
 * Before the adapter sleeps, it closes the pages. The first use of a closed page wakes the adapter.
 *
 * The process has one list. The list's lock is taken after all locks of the control half.
 */
#ifndef SOFTHCA_MAPPINGS_H
#define SOFTHCA_MAPPINGS_H

#include <stdbool.h>

struct softhca_lanes;
struct softhca_uar;

struct mapping {
	void *at;                    /* address at which the program has mapped the page */
	void *page;                  /* device's mapping of the same page */
	struct softhca_lanes *lanes; /* lanes of the page's adapter */
	struct softhca_uar *uar;     /* NULL for a clock page */
};

/* Sets the descriptor of uffd_open(). With -1 there are no traps, and the list stays empty. */
void mappings_begin(int uffd);
/*
 * Adds a mapping. A listed mapping with the same address is replaced, because the program has
 * unmapped it.
 */
void mappings_add(const struct mapping *mapping);
/* Removes all mappings of the page from the list. */
void mappings_drop(const void *page);
/* Call this when the program has moved memory by mremap(2). */
void mappings_move(void *from, void *to, unsigned long len);
/*
 * Closes all pages of the adapter. Returns false if a page waits for a doorbell, or if a page
 * cannot be closed now.
 */
bool mappings_close(struct softhca_lanes *lanes);
/*
 * Opens all pages that threads wait for now, and wakes the adapters of these pages. Returns false
 * if traps have ended. Several threads may call it at the same time.
 */
bool mappings_open_all(void);

/* Call these around fork(2). The child has an empty list and no traps. */
void mappings_fork_prepare(void);
void mappings_fork_parent(void);
void mappings_fork_child(void);

#endif
