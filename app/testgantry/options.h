/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The settings that the command line and the prompt give.
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

#define ADDRESS_LEN 320 /**< bytes of the longest address of another process, and a null byte */

enum mode {
	MODE_COPY,
	MODE_WRITE,
	MODE_READ,
	MODE_SEND, /**< only between two processes: see pair.h */
	MODE_SIG,  /**< moves no files: see sig_flow.h */
};

/** The parts of the disk that are encrypted. */
enum encrypt {
	ENCRYPT_NONE,
	ENCRYPT_DATA, /**< the data; signatures are computed from the ciphertext */
	ENCRYPT_ALL,  /**< data and signature; signatures are computed from the plaintext */
};

struct options {
	enum mode mode;
	enum gantry_copy_path copy_path;
	char device[64];    /**< name of the device; empty: the first device */
	char out[PATH_MAX]; /**< output folder; empty: not given */
	bool parents;
	bool skip_unreadable;
	char policy[PATH_MAX]; /**< policy file to read; empty: none */
	/** policy file to write, instead of moving files; empty: none */
	char measure_policy[PATH_MAX];
	/** another function of the device's card, to share memory with; empty: none */
	char export[64];
	uint64_t chunk_len;    /**< bytes that one descriptor moves */
	uint32_t depth;        /**< chunks in flight for each worker */
	uint32_t ring_size;    /**< entries of a worker's rings; 0: the engine's default */
	uint32_t burst;        /**< descriptors per call that enqueues to a worker */
	enum gantry_idle idle; /**< behaviour of workers that have no work */
	/** number of copies whose latency is measured, instead of moving files; 0: none */
	uint32_t wake_up;
	uint32_t nb_cores;          /**< worker lcores to use; 0: all */
	uint32_t block_size;        /**< mode sig: bytes of data in a block */
	enum gantry_sig_kind guard; /**< mode sig: kind of signatures on the disk */
	enum gantry_sig_kind wire;  /**< mode sig: kind of signatures on the wire */
	enum encrypt encrypt;       /**< mode sig: what is encrypted on the disk */
	uint32_t corrupt;           /**< mode sig: percent of the blocks to corrupt */
	uint32_t seed;              /**< mode sig: decides which blocks are corrupted, and how */
	uint32_t stats_period;      /**< seconds between two tables; 0: one table, at the end */
	char listen[ADDRESS_LEN];   /**< address at which to wait for another process; or empty */
	char connect[ADDRESS_LEN];  /**< address of another process; or empty */
	bool rdma_cm;               /**< the two processes meet by rdma_cm */
	uint32_t give_up;           /**< seconds to wait for a silent process */
	struct load_conf load;      /**< settings of --load */
	bool interactive;
	char cmdline_file
		/** file with lines that the prompt runs before typed lines; empty: none */
		[PATH_MAX];
	bool help;
	bool version;   /**< "--version" was given */
	bool load_help; /**< "--load help" was given */
	bool pair_help; /**< "--listen help" or "--connect help" was given */
	char **inputs;  /**< paths of the inputs; they point into argv */
	int n_inputs;
};

void options_default(struct options *o);

/** Returns true if files or blocks move between this process and another process. */
static inline bool
options_pair(const struct options *o)
{
	return o->listen[0] != '\0' || o->connect[0] != '\0';
}

/** Parses the app's arguments; argv[0] is skipped. Returns 0, or -1 with the error printed. */
int options_parse(struct options *o, int argc, char **argv);

/**
 * Sets one setting of a job by its name, as "--NAME VALUE" does. "parents" takes the value "on" or
 * "off".
 * @return 0, or -1 with the error printed.
 */
int options_set(struct options *o, const char *name, const char *value);

/** Returns the name of the prompt's setting number i, or NULL if there are fewer settings. */
const char *options_setting(size_t i);

/**
 * Returns the values that the setting accepts, ending with NULL. Returns NULL if any value is
 * allowed, or if there is no such setting.
 */
const char *const *options_choices(const char *name);

/** Returns true if the setting's value is a path. */
bool options_is_path(const char *name);

/** Returns true if arg is an option of testgantry, not of EAL, such as "--out" or "--out=DIR". */
bool options_is_ours(const char *arg);

/**
 * Writes the settings that must be equal in both processes, one line for each: "NAME VALUE\n".
 * Returns the length of the text.
 */
size_t options_both_print(const struct options *o, char *text, size_t size);

/** Returns the name of an idle mode, as in --idle. */
const char *options_idle_name(enum gantry_idle idle);

/** Returns the name of a kind of signature, as in --guard and --wire. */
const char *options_kind_name(enum gantry_sig_kind kind);

/**
 * Writes the settings of a load that differ from the default and belong to its figures, as "fence
 * 8, by mmo".
 */
void options_told(const struct options *o, char *text, size_t size);

void options_help(FILE *f);

/** Prints the help of --load. */
void options_load_help(FILE *f);

/** Prints the help of --listen and --connect. */
void options_pair_help(FILE *f);

/** Prints every setting, one line for each. */
void options_show(FILE *f, const struct options *o);

#endif
