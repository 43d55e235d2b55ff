/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fts(3) for /sys and /dev/infiniband, as on a machine with the adapter.
 *
 * libc walks through the directories of the tree, because libc's own calls are not overridden by
 * this library. The entry that the program gets has names that start with /sys/. Before libc
 * continues, the entry gets libc's names back:
 *
 *   fts_path of an entry      /dev/shm/softhca-abcdefgh/sys/class/infiniband/mlx5_0/fw_ver
 *                             ^ for libc                ^ for the program
 */
/* renames fts_open to fts64_open; this file defines both */
#undef _FILE_OFFSET_BITS
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "next.h"
#include "path.h"
#include "softhca.h"
#include "tree.h"

_Static_assert(sizeof(FTSENT) == sizeof(FTSENT64) && sizeof(FTS) == sizeof(FTS64),
	"on 64-bit machines both are the same");

/* A walk that has a path in the tree. */
struct walk {
	const void *fts;
	FTSENT *shown; /* entry that has the program's names now, or NULL */
	size_t path_cut, accpath_cut;
	struct walk *next;
};

static struct walk *walks;
/* Protects the list. Only one thread uses a walk. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct walk *
find(const void *fts)
{
	struct walk *w;

	(void)pthread_mutex_lock(&lock);
	for (w = walks; w != NULL && w->fts != fts; w = w->next)
		;
	(void)pthread_mutex_unlock(&lock);
	return w;
}

static bool
add(const void *fts)
{
	struct walk *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return false;
	w->fts = fts;
	(void)pthread_mutex_lock(&lock);
	w->next = walks;
	walks = w;
	(void)pthread_mutex_unlock(&lock);
	return true;
}

static void
drop(const void *fts)
{
	struct walk *found = NULL;

	(void)pthread_mutex_lock(&lock);
	for (struct walk **at = &walks; *at != NULL; at = &(*at)->next)
		if ((*at)->fts == fts) {
			found = *at;
			*at = found->next;
			break;
		}
	(void)pthread_mutex_unlock(&lock);
	free(found);
}

/* ---------------------------------------------------------------- names */

static size_t
cut_of(const char *path)
{
	const char *inside = tree_inside(path);

	return inside != NULL ? (size_t)(inside - path) : 0;
}

static void
show(struct walk *w, FTSENT *entry)
{
	w->shown = entry;
	w->path_cut = cut_of(entry->fts_path);
	w->accpath_cut = cut_of(entry->fts_accpath);
	entry->fts_path += w->path_cut;
	entry->fts_pathlen = (unsigned short)(entry->fts_pathlen - w->path_cut);
	entry->fts_accpath += w->accpath_cut;
}

static void
restore(struct walk *w)
{
	FTSENT *entry = w->shown;

	if (entry == NULL)
		return;
	entry->fts_path -= w->path_cut;
	entry->fts_pathlen = (unsigned short)(entry->fts_pathlen + w->path_cut);
	entry->fts_accpath -= w->accpath_cut;
	w->shown = NULL;
}

/* ---------------------------------------------------------------- the beginning of a walk */

static void
free_paths(char **paths)
{
	for (size_t i = 0; paths != NULL && paths[i] != NULL; i++)
		free(paths[i]);
	free(paths);
}

/*
 * Copies the program's paths, and replaces the paths in the tree by the paths of the files. Returns
 * NULL if memory is short.
 */
static char **
real_paths(char *const *paths, bool *moved)
{
	struct path_place place;
	char **real;
	size_t n = 0;

	while (paths[n] != NULL)
		n++;
	real = calloc(n + 1, sizeof(*real));
	for (size_t i = 0; real != NULL && i < n; i++) {
		const char *path = paths[i];

		if (path_find(AT_FDCWD, path, &place) == PATH_TREE)
			tree_need(TREE_ALL_GIDS);
		if (place.kind != PATH_OTHER && !path_is_real(path, &place)) {
			path = place.real;
			*moved = true;
		}
		real[i] = strdup(path);
		if (real[i] == NULL) {
			free_paths(real);
			return NULL;
		}
	}
	return real;
}

/* ---------------------------------------------------------------- the calls */

#define FTS_CALLS(stream, entry, open, read, children, close)                                      \
	SOFTHCA_API stream *open(char *const *paths, int options,                                  \
		int (*compare)(const entry **, const entry **))                                    \
	{                                                                                          \
		bool moved = false;                                                                \
		char **real = real_paths(paths, &moved);                                           \
		stream *fts = NULL;                                                                \
                                                                                                   \
		if (real == NULL)                                                                  \
			errno = ENOMEM;                                                            \
		else                                                                               \
			fts = NEXT(open)(real, options, compare);                                  \
		free_paths(real);                                                                  \
		if (fts != NULL && moved && !add(fts)) {                                           \
			(void)NEXT(close)(fts);                                                    \
			errno = ENOMEM;                                                            \
			fts = NULL;                                                                \
		}                                                                                  \
		return fts;                                                                        \
	}                                                                                          \
                                                                                                   \
	SOFTHCA_API entry *read(stream *fts)                                                       \
	{                                                                                          \
		struct walk *w = find(fts);                                                        \
		entry *at;                                                                         \
                                                                                                   \
		if (w == NULL)                                                                     \
			return NEXT(read)(fts);                                                    \
		restore(w);                                                                        \
		at = NEXT(read)(fts);                                                              \
		if (at != NULL)                                                                    \
			show(w, (FTSENT *)at);                                                     \
		return at;                                                                         \
	}                                                                                          \
                                                                                                   \
	SOFTHCA_API entry *children(stream *fts, int options)                                      \
	{                                                                                          \
		struct walk *w = find(fts);                                                        \
		FTSENT *shown = w != NULL ? w->shown : NULL;                                       \
		entry *first;                                                                      \
                                                                                                   \
		if (shown != NULL)                                                                 \
			restore(w);                                                                \
		first = NEXT(children)(fts, options);                                              \
		if (shown != NULL)                                                                 \
			show(w, shown);                                                            \
		return first;                                                                      \
	}                                                                                          \
                                                                                                   \
	SOFTHCA_API int close(stream *fts)                                                         \
	{                                                                                          \
		drop(fts);                                                                         \
		return NEXT(close)(fts);                                                           \
	}

FTS_CALLS(FTS, FTSENT, fts_open, fts_read, fts_children, fts_close)
FTS_CALLS(FTS64, FTSENT64, fts64_open, fts64_read, fts64_children, fts64_close)
