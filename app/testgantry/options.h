/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The settings, from the command line and from the prompt.
 */
#ifndef TESTGANTRY_OPTIONS_H
#define TESTGANTRY_OPTIONS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "gantry.h"
#include "load_conf.h"

enum mode {
	MODE_COPY,
	MODE_WRITE,
	MODE_READ,
	MODE_SIG, /**< moves no files: sig_flow.h */
};

/** What of a block on the disk is encrypted. */
enum encrypt {
	ENCRYPT_NONE,
	ENCRYPT_DATA, /**< the data: signatures are over the ciphertext */
	ENCRYPT_ALL,  /**< data and signature, which is over the plaintext */
};

struct options {
	enum mode mode;
	enum gantry_copy_path copy_path;
	char device[64];    /**< empty: the first one */
	char out[PATH_MAX]; /**< empty: not given */
	bool parents;
	bool skip_unreadable;
	char policy[PATH_MAX];         /**< file to read; empty: none */
	char measure_policy[PATH_MAX]; /**< file to write instead of moving files; empty: none */
	uint64_t chunk_len;            /**< bytes that one descriptor moves */
	uint32_t depth;                /**< chunks in flight for each worker */
	uint32_t ring_size;            /**< 0: the engine's default */
	uint32_t burst;                /**< descriptors handed to a worker at a time */
	enum gantry_idle idle;         /**< what workers do without work */
	uint32_t wake_up;              /**< copies to measure instead of moving files; 0: none */
	uint32_t nb_cores;             /**< worker lcores to use; 0: all */
	uint32_t block_size;           /**< of mode sig: bytes */
	enum gantry_sig_kind guard;    /**< of mode sig: of the disk's signatures */
	enum gantry_sig_kind wire;     /**< of mode sig: of those on the wire */
	enum encrypt encrypt;          /**< of mode sig: on the disk */
	uint32_t corrupt;              /**< of mode sig: percent of the blocks */
	uint32_t seed;                 /**< of mode sig: which blocks are corrupted, and how */
	uint32_t stats_period;         /**< seconds; 0: no table before the end */
	struct load_conf load;         /**< of --load */
	bool interactive;
	char cmdline_file
		[PATH_MAX]; /**< lines for the prompt before those that are typed; empty: none */
	bool help;
	bool load_help; /**< of --load help */
	char **inputs;  /**< points into argv */
	int n_inputs;
};

void options_default(struct options *o);

/** Reads the app's arguments; argv[0] is skipped. 0, or -1 with the error printed. */
int options_parse(struct options *o, int argc, char **argv);

/**
 * Sets one setting of a job by its name, as "--NAME VALUE" would, or "parents" to "on" or "off".
 * @return 0, or -1 with the error printed.
 */
int options_set(struct options *o, const char *name, const char *value);

/** The settings that the prompt has: the name of number i; NULL behind the last one. */
const char *options_setting(size_t i);

/** The values of such a setting, NULL behind them; NULL: any, or there is no such setting. */
const char *const *options_choices(const char *name);

/** True if its value is a path. */
bool options_is_path(const char *name);

/** True if arg is an option of testgantry, not of EAL, such as "--out" or "--out=DIR". */
bool options_is_ours(const char *arg);

/** The name that --idle has for it. */
const char *options_idle_name(enum gantry_idle idle);

/** The name that --guard and --wire have for it. */
const char *options_kind_name(enum gantry_sig_kind kind);

/**
 * Writes the settings of a load that are told with its figures, "fence 8, by mmo": those that are
 * not the default.
 */
void options_told(const struct options *o, char *text, size_t size);

void options_help(FILE *f);

/** The page of --load. */
void options_load_help(FILE *f);

/** Prints every setting, one a line. */
void options_show(FILE *f, const struct options *o);

#endif
