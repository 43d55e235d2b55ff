/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Walks the inputs, and chooses the path of every output.
 */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "quote.h"
#include "report.h"

/* ------------------------------------------------------------------ paths */

/*
 * Writes the last part of a path to `part`. For "/", "." and "..", which have no name, writes "".
 */
static void
last_part(const char *path, char *part)
{
	char copy[PATH_MAX];
	const char *base;

	snprintf(copy, sizeof(copy), "%s", path);
	base = basename(copy);
	if (strcmp(base, "/") == 0 || strcmp(base, ".") == 0 || strcmp(base, "..") == 0)
		base = "";
	strcpy(part, base);
}

/*
 * Writes the whole path without a leading "/", without "." and without empty parts. Returns -1 if
 * the path has "..".
 */
static int
whole_path(const char *path, char *whole)
{
	char copy[PATH_MAX];
	char *part, *rest;
	size_t len = 0;

	snprintf(copy, sizeof(copy), "%s", path);
	whole[0] = '\0';
	for (part = strtok_r(copy, "/", &rest); part != NULL; part = strtok_r(NULL, "/", &rest)) {
		if (strcmp(part, "..") == 0)
			return -1;
		if (strcmp(part, ".") != 0)
			len += sprintf(whole + len, "%s%s", len != 0 ? "/" : "", part);
	}
	return 0;
}

/* Makes the path of an input's output, relative to the output folder. */
static int
name_below(const char *input, bool parents, char *name)
{
	if (strlen(input) >= PATH_MAX) {
		error_print("an input's path is longer than %d bytes", PATH_MAX - 1);
		return -1;
	}
	if (!parents) {
		last_part(input, name);
		return 0;
	}
	if (whole_path(input, name) == 0)
		return 0;
	error_print("%s: has '..', which --parents cannot keep below the output folder; give the "
		    "path without '..'",
		quote_name(input));
	return -1;
}

/*
 * Makes the absolute path of `path` without symbolic links. The last parts of the path need not
 * exist.
 */
static int
resolve(const char *path, char *resolved)
{
	char head[PATH_MAX], tail[PATH_MAX] = "", grown[PATH_MAX];
	char *slash;

	snprintf(head, sizeof(head), "%s", path);
	while (realpath(head[0] != '\0' ? head : ".", resolved) == NULL) {
		if (errno != ENOENT)
			return -1;
		slash = strrchr(head, '/');
		if (snprintf(grown, sizeof(grown), "/%s%s", slash != NULL ? slash + 1 : head,
			    tail) >= PATH_MAX)
			return -1;
		strcpy(tail, grown);
		if (slash == head)
			head[1] = '\0';
		else
			*(slash != NULL ? slash : head) = '\0';
	}
	if (strcmp(resolved, "/") == 0 && tail[0] != '\0')
		resolved[0] = '\0';
	if (strlen(resolved) + strlen(tail) >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcat(resolved, tail);
	return 0;
}

static bool
is_inside(const char *inner, const char *outer)
{
	size_t len = strlen(outer);

	if (strcmp(outer, "/") == 0)
		return true;
	return strncmp(inner, outer, len) == 0 && (inner[len] == '/' || inner[len] == '\0');
}

/* ------------------------------------------------------------------ the set */

static int
set_add(struct file_set *set, const char *input, const char *output, const struct stat *st)
{
	struct file *grown;
	struct file *f;

	if (set->n == set->capacity) {
		set->capacity = set->capacity != 0 ? 2 * set->capacity : 64;
		grown = realloc(set->file, set->capacity * sizeof(*grown));
		if (grown == NULL)
			goto no_memory;
		set->file = grown;
	}
	f = &set->file[set->n];
	*f = (struct file){
		.input = strdup(input),
		.output = strdup(output),
		.dev = st->st_dev,
		.ino = st->st_ino,
		.size = st->st_size,
		.permissions = st->st_mode,
		.in_fd = -1,
		.out_fd = -1,
	};
	set->n++;
	set->bytes += st->st_size;
	if (f->input != NULL && f->output != NULL)
		return 0;
no_memory:
	error_print("out of memory for the list of files, at %s", quote_name(input));
	return -1;
}

/*
 * Reports a file or folder that cannot be read. The walk continues, so all unreadable files are
 * reported.
 */
static void
note_unreadable(struct file_set *set, const char *path, int error)
{
	error_print("cannot read %s: %s", quote_name(path), strerror(error));
	set->n_unreadable++;
}

static int
add_file(struct file_set *set, const char *input, const char *output, const struct stat *st)
{
	if (faccessat(AT_FDCWD, input, R_OK, AT_EACCESS) != 0) {
		note_unreadable(set, input, errno);
		return 0;
	}
	return set_add(set, input, output, st);
}

/*
 * Handles one entry of a walk. top_len: length of the walked folder's path; below: path of that
 * folder's output.
 */
static int
add_entry(struct file_set *set, const FTSENT *e, size_t top_len, const char *below)
{
	char output[PATH_MAX];

	switch (e->fts_info) {
	case FTS_F:
		if (snprintf(output, sizeof(output), "%s%s", below, e->fts_path + top_len) >=
			PATH_MAX) {
			error_print("%s: its output's path would be longer than %d bytes",
				quote_name(e->fts_path), PATH_MAX - 1);
			return -1;
		}
		return add_file(set, e->fts_accpath, output, e->fts_statp);
	case FTS_SL:
	case FTS_SLNONE:
		set->n_skipped_links++;
		return 0;
	case FTS_DEFAULT:
		set->n_skipped_special++;
		return 0;
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		note_unreadable(set, e->fts_path, e->fts_errno);
		return 0;
	default: /* a folder, which fts(3) returns before and after its entries */
		return 0;
	}
}

static int
by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Adds the files in a folder. below: path of the output of `folder`. */
static int
add_folder(struct file_set *set, const char *folder, const char *below)
{
	size_t len = strlen(folder);
	char top[PATH_MAX];
	char *const tops[] = {top, NULL};
	FTSENT *e;
	FTS *fts;
	int rc = 0;

	/* Remove slashes at the end: fts(3) keeps such slashes in some paths and not in others. */
	while (len > 1 && folder[len - 1] == '/')
		len--;
	memcpy(top, folder, len);
	top[len] = '\0';
	if (strcmp(top, "/") == 0)
		len = 0;
	fts = fts_open(tops, FTS_PHYSICAL | FTS_NOCHDIR | FTS_COMFOLLOW, by_name);
	if (fts == NULL) {
		error_print("cannot read %s: %s", quote_name(folder), strerror(errno));
		return -1;
	}
	while (rc == 0 && (errno = 0, e = fts_read(fts)) != NULL)
		rc = add_entry(set, e, len, below);
	if (rc == 0 && errno != 0) {
		error_print("cannot read %s: %s", quote_name(folder), strerror(errno));
		rc = -1;
	}
	fts_close(fts);
	return rc;
}

/* ------------------------------------------------------------------ planning */

static const char *
kind_name(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFCHR:
		return "a character device";
	case S_IFBLK:
		return "a block device";
	case S_IFIFO:
		return "a pipe";
	case S_IFSOCK:
		return "a socket";
	default:
		return "neither a file nor a folder";
	}
}

static int
check_folder(const char *folder, const char *out)
{
	char folder_resolved[PATH_MAX], out_resolved[PATH_MAX];

	if (realpath(folder, folder_resolved) == NULL || resolve(out, out_resolved) != 0) {
		error_print("cannot resolve %s or %s: %s", quote_name(folder), quote_name(out),
			strerror(errno));
		return -1;
	}
	if (!is_inside(out_resolved, folder_resolved))
		return 0;
	error_print("the output folder %s lies inside the input folder %s; choose an --out outside "
		    "of it",
		quote_name(out), quote_name(folder));
	return -1;
}

static int
plan_input(struct file_set *set, const char *input, const char *out, bool parents)
{
	const char *below = out != NULL ? out : "";
	char name[PATH_MAX], output[PATH_MAX];
	struct stat st;

	if (name_below(input, parents, name) != 0)
		return -1;
	if (stat(input, &st) != 0) {
		set->n_missing += errno == ENOENT || errno == ENOTDIR;
		note_unreadable(set, input, errno);
		return 0;
	}
	if (snprintf(output, sizeof(output), "%s%s%s", below, name[0] != '\0' ? "/" : "", name) >=
		PATH_MAX) {
		error_print("%s: its output's path would be longer than %d bytes",
			quote_name(input), PATH_MAX - 1);
		return -1;
	}
	if (S_ISREG(st.st_mode))
		return add_file(set, input, output, &st);
	if (S_ISDIR(st.st_mode))
		return out == NULL || check_folder(input, out) == 0 ? add_folder(set, input, output)
								    : -1;
	error_print("%s is %s; only regular files and folders are moved", quote_name(input),
		kind_name(st.st_mode));
	return -1;
}

static int
by_output(const void *a, const void *b)
{
	const struct file *const *x = a, *const *y = b;

	return strcmp((*x)->output, (*y)->output);
}

static int
by_inode(const void *a, const void *b)
{
	const struct file *x = *(const struct file *const *)a;
	const struct file *y = *(const struct file *const *)b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	if (x->ino != y->ino)
		return x->ino < y->ino ? -1 : 1;
	return 0;
}

static int
check_same_names(struct file **sorted, size_t n)
{
	qsort(sorted, n, sizeof(*sorted), by_output);
	for (size_t i = 1; i < n; i++) {
		if (strcmp(sorted[i - 1]->output, sorted[i]->output) != 0)
			continue;
		error_print("%s and %s would both become %s; --parents keeps their whole paths "
			    "apart",
			quote_name(sorted[i - 1]->input), quote_name(sorted[i]->input),
			quote_name(sorted[i]->output));
		return -1;
	}
	return 0;
}

/* Refuses an output whose path is an input's path, or whose path exists and is no regular file. */
static int
check_target(const struct file *f, struct file **sorted, size_t n)
{
	const struct file *key;
	struct file target = {0};
	struct file **found;
	struct stat st;

	if (stat(f->output, &st) != 0)
		return 0;
	if (!S_ISREG(st.st_mode)) {
		error_print("%s cannot be the output of %s: it is %s", quote_name(f->output),
			quote_name(f->input),
			S_ISDIR(st.st_mode) ? "a folder" : kind_name(st.st_mode));
		return -1;
	}
	target.dev = st.st_dev;
	target.ino = st.st_ino;
	key = &target;
	found = bsearch(&key, sorted, n, sizeof(*sorted), by_inode);
	if (found == NULL)
		return 0;
	if (strcmp((*found)->input, f->input) == 0)
		error_print("%s is its own output; choose another --out", quote_name(f->input));
	else
		error_print("%s would replace %s, which is an input; choose another --out",
			quote_name(f->input), quote_name((*found)->input));
	return -1;
}

/*
 * Checks that no two outputs have the same path. targets: also calls check_target() for each
 * output.
 */
static int
check_names(const struct file_set *set, bool targets)
{
	struct file **sorted = malloc((set->n + 1) * sizeof(*sorted));
	int rc;

	if (sorted == NULL) {
		error_print("out of memory for the list of files");
		return -1;
	}
	for (size_t i = 0; i < set->n; i++)
		sorted[i] = &set->file[i];
	rc = check_same_names(sorted, set->n);
	qsort(sorted, set->n, sizeof(*sorted), by_inode);
	for (size_t i = 0; targets && rc == 0 && i < set->n; i++)
		rc = check_target(&set->file[i], sorted, set->n);
	free(sorted);
	return rc;
}

/*
 * Checks that the output folder is writable. If the folder does not exist, checks the nearest
 * existing folder above it.
 */
static int
check_out(const char *out)
{
	char path[PATH_MAX];
	struct stat st;

	if (strlen(out) >= PATH_MAX - 32) { /* leave space for temporary names */
		error_print(
			"--out: the path has %zu bytes, and at most %d are possible, as temporary names need some: choose a shorter one",
			strlen(out), PATH_MAX - 33);
		return -1;
	}
	strcpy(path, out);
	while (stat(path, &st) != 0) {
		if (errno != ENOENT || strcmp(path, dirname(strdupa(path))) == 0)
			goto fail;
		strcpy(path, dirname(strdupa(path)));
	}
	if (!S_ISDIR(st.st_mode)) {
		error_print("--out: %s is not a folder: choose another one", quote_name(path));
		return -1;
	}
	if (faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) == 0)
		return 0;
fail:
	error_print("--out: cannot write in %s: %s; choose another folder", quote_name(path),
		strerror(errno));
	return -1;
}

/*
 * Reports unreadable inputs, unless the caller wants to skip them. An input that does not exist is
 * always an error, because its name is probably misspelt.
 */
static int
check_unreadable(const struct file_set *set)
{
	const char *plural = set->n_unreadable == 1 ? "" : "s";

	if (set->n_unreadable == 0 || (set->skip_unreadable && set->n_missing == 0))
		return 0;
	if (set->n_missing != 0)
		error_print(
			"nothing was moved, because of the input%s above: name files and folders "
			"that are there",
			plural);
	else
		error_print("nothing was moved, because of the file%s or folder%s above: make "
			    "%s readable, or leave out what cannot be read by --skip-unreadable",
			plural, plural, set->n_unreadable == 1 ? "it" : "them");
	return -1;
}

int
files_plan(struct file_set *set, char *const *inputs, int n_inputs, const char *out, bool parents,
	bool skip_unreadable)
{
	int rc;

	*set = (struct file_set){.skip_unreadable = skip_unreadable};
	rc = out != NULL ? check_out(out) : 0;
	for (int i = 0; rc == 0 && i < n_inputs; i++)
		rc = plan_input(set, inputs[i], out, parents);
	if (rc == 0)
		rc = check_unreadable(set);
	if (rc == 0 && out != NULL)
		rc = check_names(set, true);
	if (rc != 0)
		files_free(set);
	return rc;
}

/* ------------------------------------------------------------------ two processes */

/* Returns true if the name has a part that is empty, "." or "..". */
static bool
leads_out(const char *name)
{
	size_t len;

	for (;; name += len + 1) {
		len = strcspn(name, "/");
		if (len == 0 || strncmp(name, ".", len) == 0 || strncmp(name, "..", len) == 0)
			return true;
		if (name[len] == '\0')
			return false;
	}
}

int
files_add(struct file_set *set, const char *out, const char *name, uint64_t size,
	mode_t permissions)
{
	const struct stat st = {.st_size = (off_t)size, .st_mode = permissions};
	char output[PATH_MAX];

	if (leads_out(name) || size > INT64_MAX) {
		error_print("the other process has sent the file %s of %" PRIu64
			    " bytes, which is refused: the name must stay below the output folder",
			quote_name(name), size);
		return -1;
	}
	if (snprintf(output, sizeof(output), "%s/%s", out, name) >= PATH_MAX) {
		error_print("%s: its output's path would be longer than %d bytes", quote_name(name),
			PATH_MAX - 1);
		return -1;
	}
	return set_add(set, name, output, &st);
}

int
files_check(const struct file_set *set)
{
	return check_names(set, true);
}

/*
 * There is no output folder here, so f->output begins with a slash, which is no part of the name.
 */
const char *
files_name(const struct file *f)
{
	return f->output + 1;
}

int
files_check_same(const struct file_set *set)
{
	return check_names(set, false);
}

void
files_free(struct file_set *set)
{
	for (size_t i = 0; i < set->n; i++) {
		free(set->file[i].input);
		free(set->file[i].output);
		free(set->file[i].temp);
	}
	for (size_t i = 0; i < set->n_made; i++)
		free(set->made[i]);
	free(set->made);
	free(set->file);
	*set = (struct file_set){0};
}

void
files_end_line(const struct file_set *set)
{
	const char *plural = set->n_unreadable == 1 ? "" : "s";

	if (set->n_unreadable != 0)
		printf("; skipped %zu file%s or folder%s that cannot be read", set->n_unreadable,
			plural, plural);
	putchar('\n');
}

void
files_show(const struct file_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		printf("%12" PRIu64 "  %s -> %s\n", set->file[i].size,
			quote_name(set->file[i].input), quote_name(set->file[i].output));
	printf("%zu file%s, %.1f MB", set->n, set->n == 1 ? "" : "s", set->bytes / 1e6);
	if (set->n_skipped_links != 0)
		printf("; skipped %zu symbolic links", set->n_skipped_links);
	if (set->n_skipped_special != 0)
		printf("; skipped %zu devices, sockets or pipes", set->n_skipped_special);
	files_end_line(set);
}
