/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traps the use of a page of shared memory in one of its mappings, by userfaultfd(2).
 *
 * A thread that uses a trapped page waits in the kernel until the page is opened. Only uses by the
 * program's own instructions are trapped (UFFD_USER_MODE_ONLY). This needs no privilege.
 */
#ifndef SOFTHCA_UFFD_H
#define SOFTHCA_UFFD_H

#include <stdbool.h>

#define TRAP_PAGE 4096

enum trap_kind {
	TRAP_STORES, /* a store waits while the page is write-protected */
	TRAP_LOADS   /* each use waits while the mapping's page table lacks the page */
};

/*
 * Returns a descriptor. Returns -1 if the kernel or a sandbox refuses, under valgrind, or if Linux
 * is older than 5.19.
 */
int uffd_open(void);
/*
 * Traps a page in a mapping of a memfd. The page is open until it is closed. Returns 0 or -errno.
 */
int uffd_trap(int fd, void *page, enum trap_kind kind);
/* Opens the page and ends its trap. The program may have unmapped the page. */
void uffd_untrap(int fd, void *page);

/*
 * Protects a page of kind TRAP_STORES. When this returns, each earlier store is visible, and each
 * later store is trapped. Returns 0, -ENOENT if the mapping does not exist any more, or another
 * -errno.
 */
int uffd_protect(int fd, void *page);
/*
 * Open a page of kind TRAP_STORES or TRAP_LOADS: waiting threads continue. Return the values of
 * uffd_protect().
 */
int uffd_unprotect(int fd, void *page);
int uffd_map(int fd, void *page);

/*
 * Returns the next page that a thread waits for, or NULL if no thread waits now. *failed: waiting
 * threads can no longer be found.
 */
void *uffd_next(int fd, bool *failed);

#endif
