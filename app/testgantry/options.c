/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Parses and prints the settings. One table serves the command line and the prompt's "set".
 */
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lcores.h"
#include "quote.h"
#include "report.h"

#define CHUNK_MAX (UINT64_C(1) << 30)
#define DEPTH_MAX 16384 /* of a gantry queue */
#define RING_MAX  (1u << 20)
#define BURST_MAX 256 /* of a gantry worker */
#define WAKE_MAX  1000000

static const char *const mode_names[] = {"copy", "write", "read", "sig", NULL};
static const char *const path_names[] = {"auto", "mmo", "rdma", NULL};
static const char *const idle_names[] = {"spin", "sleep", "monitor", NULL};
static const char *const block_names[] = {"512", "4096", NULL};
static const char *const kind_names[] = {"none", "crc", "csum", "crc32", "crc32c", "crc64", NULL};
static const char *const encrypt_names[] = {"none", "data", "all", NULL};
static const char *const switch_names[] = {"off", "on", NULL};

/* ------------------------------------------------------------------ values */

static int
parse_choice(const char *name, const char *value, const char *const *choices)
{
	for (int i = 0; choices[i] != NULL; i++)
		if (strcmp(value, choices[i]) == 0)
			return i;
	error_begin("--%s: %s is none of", name, quote_value(value));
	for (int i = 0; choices[i] != NULL; i++)
		fprintf(stderr, "%s %s", i == 0 ? "" : ",", choices[i]);
	fprintf(stderr, ": give one of them\n");
	return -1;
}

/* A number. Behind it may stand one of units, each 1024 times the one before, the first 1024. */
static int
parse_number(const char *value, const char *units, uint64_t *size)
{
	unsigned int shift = 0;
	const char *unit;
	char *end;

	if (!isdigit((unsigned char)value[0]))
		return -1;
	errno = 0;
	*size = strtoull(value, &end, 10);
	if (errno != 0)
		return -1;
	if (*end != '\0') {
		unit = strchr(units, toupper((unsigned char)*end));
		if (unit == NULL || end[1] != '\0')
			return -1;
		shift = 10 * (unit - units + 1);
	}
	if (*size > (UINT64_MAX >> shift))
		return -1;
	*size <<= shift;
	return 0;
}

static int
parse_bytes(const char *name, const char *value, uint64_t min, uint64_t max, uint64_t *bytes)
{
	uint64_t parsed;

	if (parse_number(value, "KMG", &parsed) == 0 && parsed >= min && parsed <= max) {
		*bytes = parsed;
		return 0;
	}
	error_print("--%s: %s is refused: give a number of bytes from %" PRIu64 " to %" PRIu64
		    "; K, M or G may follow it",
		name, quote_value(value), min, max);
	return -1;
}

/* of: what the number counts; what 0 means, if it is possible. */
static int
parse_u32(const char *name, const char *value, uint32_t min, uint32_t max, const char *of,
	uint32_t *number)
{
	uint64_t parsed;

	if (parse_number(value, "", &parsed) == 0 && parsed >= min && parsed <= max) {
		*number = parsed;
		return 0;
	}
	error_print("--%s: %s is refused: give a number from %u to %u: %s", name,
		quote_value(value), min, max, of);
	return -1;
}

/* what: what the value is. */
static int
parse_text(const char *name, const char *value, const char *what, char *text, size_t size)
{
	if (value[0] == '\0') {
		error_print("--%s: the value is empty: give %s", name, what);
		return -1;
	}
	if (strlen(value) >= size) {
		error_print("--%s: the value has %zu bytes, and at most %zu are possible: give %s",
			name, strlen(value), size - 1, what);
		return -1;
	}
	strcpy(text, value);
	return 0;
}

/* ------------------------------------------------------------------ settings */

static int
set_mode(struct options *o, const char *name, const char *value)
{
	int mode = parse_choice(name, value, mode_names);

	if (mode < 0)
		return -1;
	o->mode = mode;
	return 0;
}

static int
set_copy_path(struct options *o, const char *name, const char *value)
{
	static_assert(GANTRY_COPY_AUTO == 0 && GANTRY_COPY_MMO == 1 && GANTRY_COPY_RDMA == 2,
		"path_names is in the order of enum gantry_copy_path");
	int path = parse_choice(name, value, path_names);

	if (path < 0)
		return -1;
	o->copy_path = path;
	return 0;
}

static int
set_out(struct options *o, const char *name, const char *value)
{
	size_t len;

	if (parse_text(name, value, "a folder", o->out, sizeof(o->out)) != 0)
		return -1;
	len = strlen(o->out);
	while (len > 1 && o->out[len - 1] == '/')
		o->out[--len] = '\0';
	return 0;
}

static int
set_device(struct options *o, const char *name, const char *value)
{
	return parse_text(name, value, "a name that ibv_devices lists", o->device,
		sizeof(o->device));
}

static int
set_policy(struct options *o, const char *name, const char *value)
{
	return parse_text(name, value, "a file to read", o->policy, sizeof(o->policy));
}

static int
set_measure_policy(struct options *o, const char *name, const char *value)
{
	return parse_text(name, value, "a file to write", o->measure_policy,
		sizeof(o->measure_policy));
}

static int
set_chunk(struct options *o, const char *name, const char *value)
{
	return parse_bytes(name, value, 1, CHUNK_MAX, &o->chunk_len);
}

static int
set_depth(struct options *o, const char *name, const char *value)
{
	return parse_u32(name, value, 1, DEPTH_MAX, "chunks in flight", &o->depth);
}

static int
set_ring_size(struct options *o, const char *name, const char *value)
{
	uint32_t size;

	static const char rule[] = "a power of two from 2 on, or 0, the engine's default";

	if (parse_u32(name, value, 0, RING_MAX, rule, &size) != 0)
		return -1;
	if ((size & (size - 1)) != 0 || size == 1) {
		error_print("--%s: %s is refused: give %s", name, quote_value(value), rule);
		return -1;
	}
	o->ring_size = size;
	return 0;
}

static int
set_burst(struct options *o, const char *name, const char *value)
{
	return parse_u32(name, value, 1, BURST_MAX, "descriptors at a time", &o->burst);
}

static int
set_idle(struct options *o, const char *name, const char *value)
{
	static_assert(GANTRY_IDLE_SPIN == 0 && GANTRY_IDLE_SLEEP == 1 && GANTRY_IDLE_MONITOR == 2,
		"idle_names is in the order of enum gantry_idle");
	int idle = parse_choice(name, value, idle_names);

	if (idle < 0)
		return -1;
	o->idle = idle;
	return 0;
}

static int
set_wake_up(struct options *o, const char *name, const char *value)
{
	return parse_u32(name, value, 0, WAKE_MAX, "copies, 0 for none", &o->wake_up);
}

static int
set_nb_cores(struct options *o, const char *name, const char *value)
{
	return parse_u32(name, value, 0, UINT16_MAX, "worker lcores, 0 for all", &o->nb_cores);
}

static int
set_block(struct options *o, const char *name, const char *value)
{
	int size = parse_choice(name, value, block_names);

	if (size < 0)
		return -1;
	o->block_size = size == 0 ? 512 : 4096;
	return 0;
}

static int
parse_kind(const char *name, const char *value, enum gantry_sig_kind *kind)
{
	static_assert(GANTRY_SIG_T10DIF_CRC == 1 && GANTRY_SIG_T10DIF_CSUM == 2 &&
			      GANTRY_SIG_CRC32 == 3 && GANTRY_SIG_CRC32C == 4 &&
			      GANTRY_SIG_CRC64_XP10 == 5,
		"kind_names is in the order of enum gantry_sig_kind");
	int parsed = parse_choice(name, value, kind_names);

	if (parsed < 0)
		return -1;
	*kind = parsed;
	return 0;
}

static int
set_guard(struct options *o, const char *name, const char *value)
{
	return parse_kind(name, value, &o->guard);
}

static int
set_wire(struct options *o, const char *name, const char *value)
{
	return parse_kind(name, value, &o->wire);
}

static int
set_encrypt(struct options *o, const char *name, const char *value)
{
	static_assert(ENCRYPT_NONE == 0 && ENCRYPT_DATA == 1 && ENCRYPT_ALL == 2,
		"encrypt_names is in the order of enum encrypt");
	int encrypt = parse_choice(name, value, encrypt_names);

	if (encrypt < 0)
		return -1;
	o->encrypt = encrypt;
	return 0;
}

static int
set_corrupt(struct options *o, const char *name, const char *value)
{
	return parse_u32(name, value, 0, 100, "percent of the blocks", &o->corrupt);
}

static int
set_seed(struct options *o, const char *name, const char *value)
{
	return parse_u32(name, value, 0, UINT32_MAX, "other blocks are corrupted by each",
		&o->seed);
}

static int
set_stats_period(struct options *o, const char *name, const char *value)
{
	return parse_u32(name, value, 0, 86400, "seconds, 0 for a table at the end alone",
		&o->stats_period);
}

static int
parse_switch(const char *name, const char *value, bool *on)
{
	int choice = parse_choice(name, value, switch_names);

	if (choice < 0)
		return -1;
	*on = choice;
	return 0;
}

static int
set_parents(struct options *o, const char *name, const char *value)
{
	return parse_switch(name, value, &o->parents);
}

static int
set_skip_unreadable(struct options *o, const char *name, const char *value)
{
	return parse_switch(name, value, &o->skip_unreadable);
}

enum use {
	USE_ALL,
	USE_FILES, /* all modes but sig */
	USE_SIG,   /* mode sig */
};

static const struct setting {
	const char *name;
	int (*set)(struct options *o, const char *name, const char *value);
	bool flag; /* on the command line it has no value, and means "on" */
	enum use use;
} settings[] = {
	{"mode", set_mode},
	{"out", set_out},
	{"chunk", set_chunk},
	{"depth", set_depth},
	{"burst", set_burst, .use = USE_FILES},
	{"ring-size", set_ring_size, .use = USE_FILES},
	{"copy-path", set_copy_path, .use = USE_FILES},
	{"policy", set_policy, .use = USE_FILES},
	{"device", set_device},
	{"idle", set_idle, .use = USE_FILES},
	{"nb-cores", set_nb_cores, .use = USE_FILES},
	{"stats-period", set_stats_period, .use = USE_FILES},
	{"parents", set_parents, .flag = true, .use = USE_FILES},
	{"skip-unreadable", set_skip_unreadable, .flag = true},
	/* The prompt does not have these: it moves files. */
	{"measure-policy", set_measure_policy, .use = USE_FILES},
	{"block", set_block, .use = USE_SIG},
	{"guard", set_guard, .use = USE_SIG},
	{"wire", set_wire, .use = USE_SIG},
	{"encrypt", set_encrypt, .use = USE_SIG},
	{"corrupt", set_corrupt, .use = USE_SIG},
	{"seed", set_seed, .use = USE_SIG},
	{"wake-up", set_wake_up, .use = USE_FILES},
};

#define N_SETTINGS   (sizeof(settings) / sizeof(settings[0]))
#define N_FOR_PROMPT (N_SETTINGS - 8)

void
options_default(struct options *o)
{
	*o = (struct options){
		.chunk_len = 256 << 10,
		.depth = 32,
		.burst = 8,
		.idle = GANTRY_IDLE_SLEEP,
		.block_size = 4096,
		.guard = GANTRY_SIG_T10DIF_CRC,
		.corrupt = 1,
		.seed = 1,
	};
}

int
options_set(struct options *o, const char *name, const char *value)
{
	for (size_t i = 0; i < N_FOR_PROMPT; i++)
		if (strcmp(name, settings[i].name) == 0)
			return settings[i].set(o, name, value);
	error_begin("there is no setting %s: give one of", quote_value(name));
	for (size_t i = 0; i < N_FOR_PROMPT; i++)
		fprintf(stderr, "%s %s", i == 0 ? "" : ",", settings[i].name);
	fputc('\n', stderr);
	return -1;
}

bool
options_is_ours(const char *arg)
{
	const char *name = arg + 2;
	size_t len;

	if (strncmp(arg, "--", 2) != 0)
		return false;
	len = strcspn(name, "=");
	for (size_t i = 0; i < N_SETTINGS; i++)
		if (strlen(settings[i].name) == len && strncmp(name, settings[i].name, len) == 0)
			return true;
	return strcmp(name, "interactive") == 0;
}

/* ------------------------------------------------------------------ command line */

#define OPT_SETTING 1000 /* + index in settings[] */

static void
fill_long_options(struct option *longs)
{
	for (size_t i = 0; i < N_SETTINGS; i++)
		longs[i] = (struct option){settings[i].name,
			settings[i].flag ? no_argument : required_argument, NULL, OPT_SETTING + i};
	longs[N_SETTINGS] = (struct option){"interactive", no_argument, NULL, 'i'};
	longs[N_SETTINGS + 1] = (struct option){"help", no_argument, NULL, 'h'};
	longs[N_SETTINGS + 2] = (struct option){0};
}

/* getopt_long() has refused a value, as in "--interactive=yes". */
static bool
has_value_too_many(void)
{
	return optopt == 'i' || optopt == 'h' || optopt >= OPT_SETTING;
}

/* getopt_long() takes the beginning of an option for the option, if only one begins so. */
static bool
is_ambiguous(const char *arg)
{
	size_t len = strcspn(arg, "=");
	unsigned int n = 0;

	if (strncmp(arg, "--", 2) != 0)
		return false;
	for (size_t i = 0; i < N_SETTINGS; i++)
		n += strncmp(settings[i].name, arg + 2, len - 2) == 0;
	return n > 1;
}

static int
report_refused(int opt, const char *arg)
{
	if (opt == ':')
		error_print("%s needs a value; testgantry -h explains", quote_name(arg));
	else if (has_value_too_many())
		error_print("%s: this option takes no value; testgantry -h explains",
			quote_name(arg));
	else if (is_ambiguous(arg))
		error_print("%s: several options begin so: write more of it; testgantry -h lists "
			    "them",
			quote_name(arg));
	else
		error_print("unknown option %s: EAL's options go before '--', the app's after "
			    "it; testgantry -h explains",
			quote_value(arg));
	return -1;
}

/* The argument that getopt_long() has refused. */
static const char *
culprit(char **argv)
{
	static char text[3] = "-?";

	if (optopt > 0 && optopt < 256 && !has_value_too_many()) {
		text[1] = optopt;
		return text;
	}
	return argv[optind - 1];
}

/* given: bit n, the command line has settings[n]. 0, or -1 with the error printed. */
static int
check_use(const struct options *o, uint32_t given)
{
	const bool sig = o->mode == MODE_SIG;

	static_assert(N_SETTINGS <= 32, "given has a bit for each");
	for (size_t i = 0; i < N_SETTINGS; i++) {
		if ((given & UINT32_C(1) << i) == 0 ||
			settings[i].use != (sig ? USE_FILES : USE_SIG))
			continue;
		error_print("--%s: --mode %s does not use it: leave it out", settings[i].name,
			mode_names[o->mode]);
		return -1;
	}
	return 0;
}

int
options_parse(struct options *o, int argc, char **argv)
{
	struct option longs[N_SETTINGS + 3];
	const struct setting *s;
	uint32_t given = 0;
	int opt;

	fill_long_options(longs);
	opterr = 0;
	optind = 1;
	while ((opt = getopt_long(argc, argv, ":hi", longs, NULL)) != -1) {
		if (opt == 'h')
			o->help = true;
		else if (opt == 'i')
			o->interactive = true;
		else if (opt >= OPT_SETTING) {
			s = &settings[opt - OPT_SETTING];
			given |= UINT32_C(1) << (opt - OPT_SETTING);
			if (s->set(o, s->name, s->flag ? "on" : optarg) != 0)
				return -1;
		} else
			return report_refused(opt, culprit(argv));
	}
	o->inputs = argv + optind;
	o->n_inputs = argc - optind;
	optind = 1; /* EAL calls getopt_long() after this */
	return check_use(o, given);
}

/* ------------------------------------------------------------------ text */

const char *
options_idle_name(enum gantry_idle idle)
{
	return idle_names[idle];
}

const char *
options_kind_name(enum gantry_sig_kind kind)
{
	return kind_names[kind];
}

void
options_help(FILE *f)
{
	struct options o;

	options_default(&o);
	fprintf(f,
		"usage: testgantry [EAL OPTIONS --] [OPTIONS] --out DIR FILE...\n"
		"       testgantry [EAL OPTIONS --] -i [OPTIONS] [FILE...]\n"
		"\n"
		"Moves files through the engine into a folder. Reads every output and its input back, and\n"
		"compares them, by threads of its own; each worker lcore drives one hardware queue. Of a\n"
		"folder, all regular files below it are moved.\n"
		"\n"
		"  --out DIR            folder of the outputs; made if it is missing\n"
		"  --parents            keep the whole path of each input below DIR: see Names\n"
		"  --skip-unreadable    leave out files and folders that cannot be read; they are named and\n"
		"                       counted. Without it, nothing is moved if there is one\n"
		"  --mode MODE          copy: copies from source to destination buffers (default)\n"
		"                       write, read: RDMA to or from the memory of a peer: worker i's is\n"
		"                       worker i+1, the last one's is the first, which may be itself\n"
		"                       sig: moves no files: see Signatures\n"
		"  --copy-path PATH     the way of copies: mmo (the device's DMA engine), rdma (loopback\n"
		"                       RDMA), or auto (default): mmo where the device has it\n"
		"  --policy FILE        rules about who carries copies: CPU, mmo or rdma\n"
		"  --measure-policy FILE  move no files: measure such rules on this machine, write them\n"
		"  --device NAME        verbs device; default: the first mlx5 device\n"
		"  --chunk BYTES        bytes that one descriptor moves, default %" PRIu64
		"K; suffixes K, M, G\n"
		"  --depth N            chunks in flight for each worker, default %u. A worker "
		"takes\n"
		"                       2 x depth x chunk bytes of memory, however long files "
		"are.\n"
		"  --burst N            descriptors handed to a worker, and taken by it, at a "
		"time, 1 to %u,\n"
		"                       default %u\n"
		"  --ring-size N        elements of each ring of a worker, a power of two; default: the engine's\n"
		"  --idle MODE          what a worker does without work: sleep (default) waits for an\n"
		"                       interrupt or a descriptor; spin polls, which is for an lcore that\n"
		"                       has a CPU to itself; monitor lets the CPU wait for a write to\n"
		"                       memory, where it can\n"
		"  --nb-cores N         use only N worker lcores; default: all that EAL has\n"
		"  --stats-period SEC   print the table every SEC seconds, and at the end\n"
		"  --wake-up N          move no files: copy 64 bytes N times, each time after a pause, and\n"
		"                       print for each MODE of --idle how long it took\n"
		"  -i, --interactive    a prompt: start, stop, show, set, help, ...\n"
		"  -h, --help           this page\n",
		o.chunk_len >> 10, o.depth, BURST_MAX, o.burst);
	fprintf(f,
		"\n"
		"Names: as with cp, FILE becomes DIR/FILE's last part, and a folder becomes\n"
		"  DIR/FOLDER's last part/... Two inputs that would become the same output are refused:\n"
		"  use --parents. An output is written under a temporary name and renamed when it has\n"
		"  been verified; a file of that name is replaced only then. Symbolic links that are\n"
		"  named are followed; those found in folders are skipped and counted, as are devices,\n"
		"  sockets and pipes. Holes of sparse files are kept.\n"
		"\n"
		"Signatures: testgantry --mode sig [OPTIONS] FILE...: the first worker lcore stores blocks of files\n"
		"  on a disk in memory of the second, and fetches them. The device generates, checks and converts\n"
		"  signatures: --guard KIND on the disk, --wire KIND on the wire: none, crc, csum (both T10-DIF),\n"
		"  crc32, crc32c, crc64; default crc, none. --encrypt data|all: the disk's data, or signatures too.\n"
		"  --corrupt PERCENT (1) of the blocks must be refused, no other; prints latencies with pipelining\n"
		"  and without. --block 512|4096 (default), --seed N, --chunk bytes of a transaction, --depth of them\n"
		"\n"
		"Exit status: 0 every byte of every file that was not skipped is equal, every answer right; 1 not\n"
		"  so; 129, 130, 143 stopped by SIGHUP, SIGINT, SIGTERM. Verified outputs stay, unfinished ones are\n"
		"  removed. A second signal ends it at once, whatever the device does. With -i: 1 if a line was\n"
		"  refused, or a job failed or was stopped.\n"
		"\n"
		"EAL OPTIONS stand before '--'; without '--', every argument is testgantry's. A main and\n"
		"  at least one worker lcore are needed, for --mode sig two. Without -l or --lcores, each CPU is\n"
		"  an lcore; if these are too few, testgantry adds more by --lcores. If no huge pages are\n"
		"  free, or no hugetlbfs is mounted, it adds --no-huge -m 512. It adds --no-pci unless -a, -b\n"
		"  or --no-pci is given, because it reaches the device through verbs. All options of EAL:\n"
		"  testgantry -h --\n"
		"  --telemetry, EAL's default, lets usertools/gantry-top and dpdk-telemetry.py show what\n"
		"  the engine does; --no-telemetry keeps them out.\n"
		"\n"
		"examples:\n"
		"  testgantry --out /tmp/out /usr/bin\n"
		"  testgantry %s -- --mode write --chunk 1M --out /tmp/out a.iso b.iso\n"
		"  testgantry --no-huge -m 512 -- --parents --out out */data.bin\n"
		"  testgantry -i --out /tmp/out /usr/share/doc\n",
		lcores_option(3));
}

void
options_show(FILE *f, const struct options *o)
{
	fprintf(f, "mode          %s\n", mode_names[o->mode]);
	fprintf(f, "out           %s\n", o->out[0] != '\0' ? quote_name(o->out) : "(not set)");
	fprintf(f, "chunk         %" PRIu64 "\n", o->chunk_len);
	fprintf(f, "depth         %u\n", o->depth);
	fprintf(f, "burst         %u\n", o->burst);
	if (o->ring_size != 0)
		fprintf(f, "ring-size     %u\n", o->ring_size);
	else
		fprintf(f, "ring-size     (the engine's default)\n");
	fprintf(f, "copy-path     %s\n", path_names[o->copy_path]);
	fprintf(f, "policy        %s\n", o->policy[0] != '\0' ? quote_name(o->policy) : "(none)");
	fprintf(f, "device        %s\n",
		o->device[0] != '\0' ? quote_name(o->device) : "(the first)");
	fprintf(f, "idle          %s\n", idle_names[o->idle]);
	if (o->nb_cores != 0)
		fprintf(f, "nb-cores      %u\n", o->nb_cores);
	else
		fprintf(f, "nb-cores      (all)\n");
	fprintf(f, "stats-period  %u\n", o->stats_period);
	fprintf(f, "parents       %s\n", o->parents ? "on" : "off");
	fprintf(f, "skip-unreadable  %s\n", o->skip_unreadable ? "on" : "off");
}
