/* SPDX-License-Identifier: BSD-3-Clause */
/* For tests of the data half: what a function writes to standard error. */
#ifndef LOGGED_BY_H
#define LOGGED_BY_H

#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

/* Stores the text that `run` writes to standard error, as a string. Returns its length. */
static inline size_t
logged_by(void (*run)(void), char *text, size_t len)
{
	int log = memfd_create("log", MFD_CLOEXEC), saved = dup(STDERR_FILENO);
	ssize_t n;

	CHECK(log >= 0 && saved >= 0 && dup2(log, STDERR_FILENO) == STDERR_FILENO);
	run();
	CHECK(dup2(saved, STDERR_FILENO) == STDERR_FILENO);
	n = pread(log, text, len - 1, 0);
	CHECK(n >= 0);
	text[n] = '\0';
	close(log);
	close(saved);
	return (size_t)n;
}

#endif
