/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traps the use of a page of shared memory in one of its mappings, by userfaultfd(2).
 *
 * A thread that uses a trapped page waits in the kernel until the page is opened. Only uses by the
 * program's own instructions are trapped (UFFD_USER_MODE_ONLY); that needs no privilege.
 */
#ifndef SOFTHCA_UFFD_H
#define SOFTHCA_UFFD_H

#include <stdbool.h>

#define TRAP_PAGE 4096

enum trap_kind {
	TRAP_STORES, /* a store waits while the page is protected */
	TRAP_LOADS   /* a use waits while the mapping's page table lacks the page */
};

/* A descriptor, or -1: the kernel, a sandbox or valgrind refuses, or Linux is older than 5.19. */
int uffd_open(void);
/* Traps a page in a mapping of a memfd. 0, or -errno. The page is open until it is closed. */
int uffd_trap(int fd, void *page, enum trap_kind kind);
/* Opens the page and ends its trap. The page may have been unmapped. */
void uffd_untrap(int fd, void *page);

/*
 * Protects a page of TRAP_STORES. When this returns, each earlier store is visible, and each later
 * store is trapped. 0; -ENOENT: the mapping is gone; another -errno.
 */
int uffd_protect(int fd, void *page);
/* Opens a page of TRAP_STORES or TRAP_LOADS: waiting threads go on. 0, or -errno as above. */
int uffd_unprotect(int fd, void *page);
int uffd_map(int fd, void *page);

/*
 * The next page that a thread waits for. NULL: no thread waits now. *failed: faults cannot be read
 * any more.
 */
void *uffd_next(int fd, bool *failed);

#endif
