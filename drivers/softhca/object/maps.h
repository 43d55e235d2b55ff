/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mappings of this process, sorted by address, as the kernel lists them in /proc/self/maps
 * (proc(5)).
 *
 *   maps_open()  ->  maps_next() until it returns false  ->  maps_close()
 *   maps_open()  ->  maps_find() for rising addresses  ->  maps_close()
 *
 * Signal handlers may also call these functions.
 */
#ifndef SOFTHCA_MAPS_H
#define SOFTHCA_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* number of bytes of a line that are read: all except the end of a long path */
#define MAPS_PREFIX 128

struct maps {
	int fd;
	size_t at, n;
	char buf[1024];
};

struct mapping_line {
	uintptr_t from, to;
	bool can_read, can_write;
	bool of_adapter; /* the mapping is a part of a context's memfd */
	uint64_t offset; /* offset in the file */
	dev_t dev;
	ino_t ino;
};

/* Returns false with errno set on failure. */
bool maps_open(struct maps *m);
/* Returns false if there are no more mappings. */
bool maps_next(struct maps *m, struct mapping_line *line);
/*
 * Finds the first mapping that ends above `at`. Returns false if there is none. With PROCMAP_QUERY
 * (Linux 6.11) the cost does not depend on the number of mappings.
 */
bool maps_find(struct maps *m, uintptr_t at, struct mapping_line *line);
void maps_close(struct maps *m);

#endif
