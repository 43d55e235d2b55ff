/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds card profiles, and reads reports of cards. */
#include "card_profile.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "raw.h"

#define FOLDER       "card-profiles"
#define SUFFIX       ".conf"
#define REPORT_BYTES (1u << 20)

/* ---- the folder of profiles */

/*
 * Writes the path of the folder. `way` is its path relative to the library's folder; it is "" in a
 * build directory. Returns false if the library's path is unknown.
 */
static bool
folder_from_lib(const char *way, char *path, size_t len)
{
	const char *slash;
	Dl_info info;

	if (dladdr(SOFTHCA_DATADIR, &info) == 0 || info.dli_fname == NULL)
		return false;
	slash = strrchr(info.dli_fname, '/');
	return slash != NULL && snprintf(path, len, "%.*s/%s" FOLDER, (int)(slash - info.dli_fname),
					info.dli_fname, way) < (int)len;
}

static DIR *
open_folder(char *path, size_t len)
{
	static const char *const ways[] = {"", SOFTHCA_DATADIR_FROM_LIB "/"};

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		DIR *dir = folder_from_lib(ways[i], path, len) ? raw_opendir(path) : NULL;

		if (dir != NULL)
			return dir;
	}
	/* The library is linked statically into the program, so the installed folder is used. */
	snprintf(path, len, "%s", SOFTHCA_DATADIR "/" FOLDER);
	return raw_opendir(path);
}

/* Writes an error text that lists the names of all profiles. */
static void
unknown_name(const char *name, DIR *dir, const char *folder, char *err, size_t err_len)
{
	int n = snprintf(err, err_len,
		"like = \"%s\": %s has no such card profile (a path has a slash or a dot); known are:",
		name, folder);
	const struct dirent *entry;

	while (dir != NULL && (entry = readdir(dir)) != NULL && n > 0 && (size_t)n < err_len) {
		size_t len = strlen(entry->d_name), suffix = strlen(SUFFIX);

		if (len > suffix && strcmp(entry->d_name + len - suffix, SUFFIX) == 0)
			n += snprintf(err + n, err_len - n, " %.*s", (int)(len - suffix),
				entry->d_name);
	}
}

FILE *
card_profile_open(const char *name, char path[CARD_PROFILE_PATH_MAX], char *err, size_t err_len)
{
	char folder[CARD_PROFILE_PATH_MAX - 256];
	FILE *f = NULL;
	DIR *dir;

	if (strpbrk(name, "/.") != NULL) {
		snprintf(path, CARD_PROFILE_PATH_MAX, "%s", name);
		f = raw_fopen(path);
		if (f == NULL)
			snprintf(err, err_len, "like = \"%s\": %s", name, strerror(errno));
		return f;
	}
	dir = open_folder(folder, sizeof(folder));
	if (strlen(name) < 200) {
		snprintf(path, CARD_PROFILE_PATH_MAX, "%s/%s" SUFFIX, folder, name);
		f = raw_fopen(path);
	}
	if (f == NULL)
		unknown_name(name, dir, folder, err, err_len);
	if (dir != NULL)
		closedir(dir);
	return f;
}

/* ---- reports */

bool
card_profile_is_report(FILE *f)
{
	int c;

	do
		c = fgetc(f);
	while (c != EOF && isspace(c));
	rewind(f);
	return c == '{';
}

/* State while a report is read. The name and the answer of a probe are two values, in any order. */
struct report {
	card_profile_setting_fn fn;
	const void *arg;
	bool has_part;
	char id[64], answer[32];
};

/* True if the last names of the path are these names. */
static bool
ends_in(const char *path, const char *names)
{
	size_t n = strlen(path), len = strlen(names);

	return n >= len && strcmp(path + n - len, names) == 0 &&
	       (n == len || path[n - len - 1] == '.');
}

/*
 * Returns the name of a setting in the object `card_profile`, or NULL if the path is not in this
 * object.
 */
static const char *
setting_of(const char *path)
{
	static const char object[] = "card_profile.";
	const char *found = strstr(path, object);

	if (found == NULL || (found != path && found[-1] != '.'))
		return NULL;
	return found + strlen(object);
}

/*
 * Stores the answer of a probe, if the answer differs from softhca's and lib/gantry depends on it:
 * doc/softhca-reference.md.
 */
static void
take_answer(struct report *r)
{
	static const struct {
		const char *id, *key, *value;
	} known[] = {
		{"dm-zeroed", "dm_zeroed", "0"},
	};

	if (strcmp(r->answer, "otherwise") != 0)
		return;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(known[i].id, r->id) == 0) {
			r->fn(r->arg, known[i].key, known[i].value);
			return;
		}
	r->fn(r->arg, r->id, NULL);
}

static void
take_value(void *arg, const char *path, const char *text)
{
	struct report *r = arg;
	const char *key = setting_of(path);

	if (key != NULL) {
		r->fn(r->arg, key, text);
	} else if (ends_in(path, "device.part")) {
		r->has_part = true;
		r->fn(r->arg, "part_id", text);
	} else if (ends_in(path, "device.fw")) {
		r->fn(r->arg, "fw_ver", text);
	} else if (ends_in(path, "answers.id") || ends_in(path, "probes.id")) {
		snprintf(r->id, sizeof(r->id), "%s", text);
	} else if (ends_in(path, "answers.answer") || ends_in(path, "probes.answer")) {
		snprintf(r->answer, sizeof(r->answer), "%s", text);
	}
	if (r->id[0] != '\0' && r->answer[0] != '\0') {
		take_answer(r);
		r->id[0] = r->answer[0] = '\0';
	}
}

int
card_profile_read_report(const char *path, FILE *f, card_profile_setting_fn fn, const void *arg,
	char *err, size_t err_len)
{
	struct report report = {.fn = fn, .arg = arg};
	char *text = calloc(1, REPORT_BYTES + 1), what[96];
	size_t len;
	int rc;

	if (text == NULL) {
		snprintf(err, err_len, "%s: %s", path, strerror(ENOMEM));
		return -EINVAL;
	}
	len = fread(text, 1, REPORT_BYTES, f);
	if (ferror(f) || len == REPORT_BYTES || strlen(text) != len) {
		snprintf(err, err_len, "%s: cannot be read, is longer than %u bytes, or is no text",
			path, REPORT_BYTES - 1);
		rc = -EINVAL;
	} else {
		rc = json_read(text, take_value, &report, what, sizeof(what));
		if (rc != 0)
			snprintf(err, err_len, "%s: %s", path, what);
	}
	if (rc == 0 && !report.has_part) {
		snprintf(err, err_len,
			"%s: no report of usertools/hw.sh or hw_probe: device.part is missing",
			path);
		rc = -EINVAL;
	}
	free(text);
	return rc;
}
