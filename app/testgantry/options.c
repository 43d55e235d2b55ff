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
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "lcores.h"
#include "quote.h"
#include "report.h"

#define CHUNK_MAX (UINT64_C(1) << 30)
#define DEPTH_MAX 16384 /* largest depth of a gantry queue */
#define RING_MAX  (1u << 20)
#define BURST_MAX 256 /* largest burst of a gantry worker */
#define WAKE_MAX  1000000
/*
 * largest number of peers of a lane; the lane's queue has as many connections from the previous
 * lane
 */
#define PEERS_MAX   2000
#define REGIONS_MAX 1000000
#define LAYOUTS_MAX 65536
#define FENCE_MAX   65536
#define INLINE_MAX  512
#define RATE_MAX    1000000000
#define OPS_MAX     1000000000000
#define GIVE_UP_MAX 86400

static const char *const mode_names[] = {"copy", "write", "read", "send", "sig", NULL};
static const char *const path_names[] = {"auto", "mmo", "rdma", NULL};
static const char *const idle_names[] = {"spin", "sleep", "monitor", NULL};
static const char *const block_names[] = {"512", "4096", NULL};
static const char *const kind_names[] = {"none", "crc", "csum", "crc32", "crc32c", "crc64", NULL};
static const char *const encrypt_names[] = {"none", "data", "all", NULL};
static const char *const via_names[] = {"ring", "inline", NULL};
static const char *const order_names[] = {"random", "even", NULL};
static const char *const by_names[] = {"policy", "cpu", "mmo", "rdma", NULL};
static const char *const transport_names[] = {"rc", "dc", NULL};
static const char *const switch_names[] = {"off", "on", NULL};

static_assert(GANTRY_COPY_AUTO == 0 && GANTRY_COPY_MMO == 1 && GANTRY_COPY_RDMA == 2,
	"path_names is in the order of enum gantry_copy_path");
static_assert(GANTRY_IDLE_SPIN == 0 && GANTRY_IDLE_SLEEP == 1 && GANTRY_IDLE_MONITOR == 2,
	"idle_names is in the order of enum gantry_idle");
static_assert(GANTRY_SIG_T10DIF_CRC == 1 && GANTRY_SIG_T10DIF_CSUM == 2 && GANTRY_SIG_CRC32 == 3 &&
		      GANTRY_SIG_CRC32C == 4 && GANTRY_SIG_CRC64_XP10 == 5,
	"kind_names is in the order of enum gantry_sig_kind");
static_assert(LOAD_ORDER_RANDOM == 0 && LOAD_ORDER_EVEN == 1,
	"order_names is in the order of enum load_order");
static_assert(GANTRY_CARRIER_USUAL == 0 && GANTRY_CARRIER_CPU == 1 && GANTRY_CARRIER_MMO == 2 &&
		      GANTRY_CARRIER_RDMA == 3,
	"by_names is in the order of enum gantry_carrier");
static_assert(GANTRY_TRANSPORT_RC == 0 && GANTRY_TRANSPORT_DC == 1,
	"transport_names is in the order of enum gantry_transport");
static_assert(ENCRYPT_NONE == 0 && ENCRYPT_DATA == 1 && ENCRYPT_ALL == 2,
	"encrypt_names is in the order of enum encrypt");

/* ------------------------------------------------------------------ the table */

enum form {
	FORM_TEXT,
	FORM_FOLDER, /* a text; slashes at its end are removed */
	FORM_NUMBER,
	FORM_POWER, /* a number: 0, or a power of two that is at least 2 */
	FORM_BYTES, /* a number, optionally followed by K, M or G */
	FORM_CHOICE,
	FORM_SIZE,    /* one of several names; the field stores the number */
	FORM_MIX,     /* a mix of operations */
	FORM_ADDRESS, /* a text; "help" prints a page */
	FORM_PERCENTS,
};

/* The modes that use a setting, as bits. */
enum use {
	USE_FILES = 1, /* all modes except sig, in one process */
	USE_SIG = 2,   /* mode sig */
	USE_LOAD = 4,  /* --load */
	USE_PAIR = 8,  /* all modes except sig, between two processes */
	USE_ALL = USE_FILES | USE_SIG | USE_LOAD | USE_PAIR,
};

#define FIELD(f) offsetof(struct options, f), sizeof(((struct options *)0)->f)
/* With --load, the setting takes a list of values, and is this axis of a sweep. */
#define LIST(axis) .list = 1 + (axis)

static const struct setting {
	const char *name;
	enum form form;
	size_t offset, size; /* position of the field in struct options */
	enum use use;
	/*
	 * For a text: the kind of text that the user gives. For a number: the unit that it counts,
	 * and the meaning of 0 if 0 is allowed.
	 */
	const char *what;
	uint64_t min, max;
	const char *const *choices;
	/* text that the prompt shows for 0 or an empty text; NULL: the value itself */
	const char *empty;
	bool flag; /* the command-line option has no argument; it means "on" */
	/* 1 + the enum load_axis on which a list of values is run; 0: the option takes no list */
	uint8_t list;
	bool told; /* printed with a load's figures, unless the value is the default */
	bool both; /* between two processes: the value must be equal in both */
} settings[] = {
	{"mode", FORM_CHOICE, FIELD(mode), USE_FILES | USE_SIG | USE_PAIR, .choices = mode_names,
		.both = true},
	{"out", FORM_FOLDER, FIELD(out), USE_FILES | USE_SIG | USE_PAIR, "a folder",
		.empty = "(not set)"},
	{"chunk", FORM_BYTES, FIELD(chunk_len), USE_FILES | USE_SIG | USE_PAIR,
		"K, M or G may follow it", 1, CHUNK_MAX, .both = true},
	{"depth", FORM_NUMBER, FIELD(depth), USE_ALL, "chunks in flight", 1, DEPTH_MAX,
		LIST(AXIS_DEPTH), .both = true},
	{"burst", FORM_NUMBER, FIELD(burst), USE_FILES | USE_LOAD | USE_PAIR,
		"descriptors in one call", 1, BURST_MAX, LIST(AXIS_BURST)},
	{"ring-size", FORM_POWER, FIELD(ring_size), USE_FILES | USE_LOAD,
		"a power of two from 2 on, or 0, the engine's default", .max = RING_MAX,
		.empty = "(the engine's default)"},
	{"copy-path", FORM_CHOICE, FIELD(copy_path), USE_FILES | USE_LOAD, .choices = path_names},
	{"policy", FORM_TEXT, FIELD(policy), USE_FILES | USE_LOAD, "a file to read",
		.empty = "(none)"},
	{"device", FORM_TEXT, FIELD(device), USE_ALL,
		"a name that ibv_devices lists, or a PCI address", .empty = "(the first)"},
	{"idle", FORM_CHOICE, FIELD(idle), USE_FILES | USE_LOAD | USE_PAIR, .choices = idle_names},
	{"nb-cores", FORM_NUMBER, FIELD(nb_cores), USE_FILES | USE_LOAD | USE_PAIR,
		"worker lcores, 0 for all", 0, UINT16_MAX, .empty = "(all)", LIST(AXIS_CORES)},
	{"stats-period", FORM_NUMBER, FIELD(stats_period), USE_FILES,
		"seconds, 0 for one table at the end", 0, 86400},
	{"parents", FORM_CHOICE, FIELD(parents), USE_FILES | USE_PAIR, .choices = switch_names,
		.flag = true},
	{"skip-unreadable", FORM_CHOICE, FIELD(skip_unreadable), USE_FILES | USE_SIG | USE_PAIR,
		.choices = switch_names, .flag = true},
	/*
	 * The prompt does not have the settings from here on, because the prompt only moves files.
	 */
	{"cmdline-file", FORM_TEXT, FIELD(cmdline_file), USE_FILES, "a file to read"},
	{"measure-policy", FORM_TEXT, FIELD(measure_policy), USE_FILES, "a file to write"},
	{"export", FORM_TEXT, FIELD(export), USE_FILES, "another function of the device's card"},
	{"block", FORM_SIZE, FIELD(block_size), USE_SIG | USE_LOAD, .choices = block_names,
		.both = true},
	{"guard", FORM_CHOICE, FIELD(guard), USE_SIG | USE_LOAD, .choices = kind_names,
		.both = true},
	{"wire", FORM_CHOICE, FIELD(wire), USE_SIG, .choices = kind_names, .both = true},
	{"encrypt", FORM_CHOICE, FIELD(encrypt), USE_SIG, .choices = encrypt_names, .both = true},
	{"corrupt", FORM_NUMBER, FIELD(corrupt), USE_SIG, "percent of the blocks", 0, 100,
		.both = true},
	{"seed", FORM_NUMBER, FIELD(seed), USE_SIG | USE_LOAD, "the seed of the random choices", 0,
		UINT32_MAX, .both = true},
	{"wake-up", FORM_NUMBER, FIELD(wake_up), USE_FILES, "copies, 0 for none", 0, WAKE_MAX},
	{"listen", FORM_ADDRESS, FIELD(listen), USE_PAIR | USE_SIG, "HOST:PORT, or a path"},
	{"connect", FORM_ADDRESS, FIELD(connect), USE_PAIR | USE_SIG, "HOST:PORT, or a path"},
	{"rdma-cm", FORM_CHOICE, FIELD(rdma_cm), USE_PAIR | USE_SIG, .choices = switch_names,
		.flag = true},
	{"give-up", FORM_NUMBER, FIELD(give_up), USE_PAIR | USE_SIG, "seconds", 1, GIVE_UP_MAX},
	{"load", FORM_MIX, FIELD(load.mix), USE_LOAD},
	{"via", FORM_CHOICE, FIELD(load.via), USE_LOAD | USE_PAIR, .choices = via_names},
	{"size", FORM_BYTES, FIELD(load.size), USE_LOAD, "K, M or G may follow it", 1, CHUNK_MAX,
		LIST(AXIS_SIZE)},
	{"peers", FORM_NUMBER, FIELD(load.peers), USE_LOAD, "connections of each lcore", 1,
		PEERS_MAX, LIST(AXIS_PEERS)},
	{"regions", FORM_NUMBER, FIELD(load.regions), USE_LOAD, "registered regions of each lcore",
		1, REGIONS_MAX, LIST(AXIS_REGIONS)},
	{"sge", FORM_NUMBER, FIELD(load.sge), USE_LOAD, "pieces of an operation", 1, GANTRY_SGE_MAX,
		LIST(AXIS_SGE)},
	{"layouts", FORM_NUMBER, FIELD(load.layouts), USE_LOAD, "places that layouts use in turn",
		1, LAYOUTS_MAX, LIST(AXIS_LAYOUTS)},
	{"order", FORM_CHOICE, FIELD(load.order), USE_LOAD, .choices = order_names, .told = true},
	{"fence", FORM_NUMBER, FIELD(load.fence), USE_LOAD,
		"every N-th operation has a fence, 0 for none", 0, FENCE_MAX, .told = true},
	{"by", FORM_CHOICE, FIELD(load.by), USE_LOAD, .choices = by_names, .told = true},
	{"patterns", FORM_NUMBER, FIELD(load.patterns), USE_LOAD, "patterns that fills use in turn",
		1, LAYOUTS_MAX, .told = true},
	{"transport", FORM_CHOICE, FIELD(load.transport), USE_LOAD | USE_PAIR,
		.choices = transport_names, .told = true, .both = true},
	{"max-inline", FORM_NUMBER, FIELD(load.max_inline), USE_LOAD,
		"bytes of a message that the CPU copies into its WQE, 0 for the engine's default",
		0, INLINE_MAX, .told = true},
	{"unordered", FORM_CHOICE, FIELD(load.unordered), USE_LOAD, .choices = switch_names,
		.told = true},
	{"mixed-regions", FORM_CHOICE, FIELD(load.mixed_regions), USE_LOAD, .choices = switch_names,
		.told = true},
	{"rate", FORM_NUMBER, FIELD(load.rate), USE_LOAD, "operations a second, 0 for no limit", 0,
		RATE_MAX, LIST(AXIS_RATE)},
	{"percentiles", FORM_PERCENTS, FIELD(load.percents), USE_LOAD},
	{"csv", FORM_TEXT, FIELD(load.csv), USE_LOAD, "a file to write"},
	{"json", FORM_TEXT, FIELD(load.json), USE_LOAD, "a file to write"},
	{"total-ops", FORM_NUMBER, FIELD(load.total_ops), USE_LOAD, "operations", 1, OPS_MAX},
	{"duration", FORM_NUMBER, FIELD(load.duration), USE_LOAD, "seconds", 1, 86400},
	{"verify", FORM_CHOICE, FIELD(load.verify), USE_LOAD, .choices = switch_names},
};

#define N_SETTINGS   (sizeof(settings) / sizeof(settings[0]))
#define N_FOR_PROMPT 14 /* number of settings, from the first of the table */

/* ------------------------------------------------------------------ values */

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a number begins with its low bytes");

/* Returns the value of a field that is a bool, an enum or a number. */
static uint64_t
get_number(const struct setting *s, const struct options *o)
{
	uint64_t number = 0;

	memcpy(&number, (const char *)o + s->offset, s->size);
	return number;
}

/*
 * Parses a number, which may be followed by a letter of `units`. The first letter multiplies by
 * 1024, and each next letter by 1024 times more.
 */
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

static bool
number_fits(const struct setting *s, const char *value, uint64_t *number)
{
	return parse_number(value, s->form == FORM_BYTES ? "KMG" : "", number) == 0 &&
	       *number >= s->min && *number <= s->max;
}

static int
refuse_number(const struct setting *s, const char *value)
{
	const bool bytes = s->form == FORM_BYTES;

	error_print("--%s: %s is refused: give a number%s from %" PRIu64 " to %" PRIu64 "%s %s%s",
		s->name, quote_value(value), bytes ? " of bytes" : "", s->min, s->max,
		bytes ? ";" : ":", s->what,
		s->list != 0 ? "; with --load also a list, 16,64,256, or a range that "
			       "doubles, 16-256"
			     : "");
	return -1;
}

/* Adds the values of "NUMBER" or "NUMBER-NUMBER" to the list. Modifies the text. */
static int
add_values(const struct setting *s, char *text, struct load_list *list)
{
	char *dash = strchr(text, '-');
	uint64_t value, last;

	if (dash != NULL)
		*dash = '\0';
	if (!number_fits(s, text, &value) || (dash != NULL && !number_fits(s, dash + 1, &last)) ||
		(dash != NULL && (value == 0 || value > last)))
		return -1;
	for (last = dash != NULL ? last : value; value <= last; value *= 2) {
		if (list->n == LOAD_LIST_MAX)
			return -1;
		list->value[list->n++] = value;
		if (value == 0)
			break;
	}
	return 0;
}

/* Parses a list of numbers and ranges. The option's field gets the first number. */
static int
set_list(const struct setting *s, const char *value, struct options *o)
{
	struct load_list list = {0};
	char *text = strdup(value), *at = text, *part;
	int rc = text == NULL ? -1 : 0;

	while (rc == 0 && (part = strsep(&at, ",")) != NULL)
		rc = add_values(s, part, &list);
	free(text);
	if (rc != 0)
		return refuse_number(s, value);
	memcpy((char *)o + s->offset, &list.value[0], s->size);
	o->load.list[s->list - 1] = list;
	return 0;
}

static int
set_number(const struct setting *s, const char *value, void *field)
{
	uint64_t number;

	if (!number_fits(s, value, &number))
		return refuse_number(s, value);
	if (s->form == FORM_POWER && ((number & (number - 1)) != 0 || number == 1)) {
		error_print("--%s: %s is refused: give %s", s->name, quote_value(value), s->what);
		return -1;
	}
	memcpy(field, &number, s->size);
	return 0;
}

static int
set_choice(const struct setting *s, const char *value, void *field)
{
	const char *const *choices = s->choices;
	uint64_t number;

	for (size_t i = 0; choices[i] != NULL; i++) {
		if (strcmp(value, choices[i]) != 0)
			continue;
		number = s->form == FORM_SIZE ? strtoull(value, NULL, 10) : i;
		memcpy(field, &number, s->size);
		return 0;
	}
	error_begin("--%s: %s is none of", s->name, quote_value(value));
	for (size_t i = 0; choices[i] != NULL; i++)
		fprintf(stderr, "%s %s", i == 0 ? "" : ",", choices[i]);
	fprintf(stderr, ": give one of them\n");
	return -1;
}

static int
set_text(const struct setting *s, const char *value, char *text)
{
	size_t len = strlen(value);

	if (len == 0) {
		error_print("--%s: the value is empty: give %s", s->name, s->what);
		return -1;
	}
	if (len >= s->size) {
		error_print("--%s: the value has %zu bytes, and at most %zu are possible: give %s",
			s->name, len, s->size - 1, s->what);
		return -1;
	}
	while (s->form == FORM_FOLDER && len > 1 && value[len - 1] == '/')
		len--;
	memcpy(text, value, len);
	text[len] = '\0';
	return 0;
}

static int
set(const struct setting *s, const char *value, struct options *o)
{
	void *field = (char *)o + s->offset;

	switch (s->form) {
	case FORM_ADDRESS:
		o->pair_help |= strcmp(value, "help") == 0;
		/* fall through */
	case FORM_TEXT:
	case FORM_FOLDER:
		return set_text(s, value, field);
	case FORM_CHOICE:
	case FORM_SIZE:
		return set_choice(s, value, field);
	case FORM_MIX:
		o->load_help = strcmp(value, "help") == 0;
		return o->load_help ? 0 : load_mix_parse(s->name, value, field);
	case FORM_PERCENTS:
		return load_percents_parse(s->name, value, field);
	default:
		return s->list != 0 ? set_list(s, value, o) : set_number(s, value, field);
	}
}

static void
show(FILE *f, const struct setting *s, const struct options *o)
{
	const char *text = (const char *)o + s->offset;
	const bool is_text = s->form == FORM_TEXT || s->form == FORM_FOLDER;
	const uint64_t number = is_text ? text[0] != '\0' : get_number(s, o);

	fprintf(f, "%-12s  ", s->name);
	if (number == 0 && s->empty != NULL)
		fprintf(f, "%s\n", s->empty);
	else if (is_text)
		fprintf(f, "%s\n", quote_name(text));
	else if (s->form == FORM_CHOICE)
		fprintf(f, "%s\n", s->choices[number]);
	else
		fprintf(f, "%" PRIu64 "\n", number);
}

/* Refuses a list of values without --load. Returns 0, or -1 with the error printed. */
static int
refuse_list(const struct setting *s, struct options *o)
{
	if (s->list == 0 || o->load.list[s->list - 1].n <= 1)
		return 0;
	error_print("--%s: only --load takes a list: give one number", s->name);
	return -1;
}

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
		.give_up = 10,
		.load = {.size = 64,
			.peers = 1,
			.regions = 1,
			.sge = 4,
			.layouts = 1,
			.patterns = 1,
			.percents = {3, {50, 99, 99.9}},
			.verify = true},
	};
}

/* Returns the prompt's setting with this name, or NULL if there is none. */
static const struct setting *
find_setting(const char *name)
{
	for (size_t i = 0; i < N_FOR_PROMPT; i++)
		if (strcmp(name, settings[i].name) == 0)
			return &settings[i];
	return NULL;
}

const char *
options_setting(size_t i)
{
	return i < N_FOR_PROMPT ? settings[i].name : NULL;
}

const char *const *
options_choices(const char *name)
{
	const struct setting *s = find_setting(name);

	return s != NULL ? s->choices : NULL;
}

bool
options_is_path(const char *name)
{
	const struct setting *s = find_setting(name);

	return s != NULL && s->size == PATH_MAX;
}

int
options_set(struct options *o, const char *name, const char *value)
{
	const struct setting *s = find_setting(name);

	if (s != NULL)
		return set(s, value, o) == 0 ? refuse_list(s, o) : -1;
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

#define OPT_VERSION 999
#define OPT_SETTING 1000 /* plus the index in settings[] */

static void
fill_long_options(struct option *longs)
{
	for (size_t i = 0; i < N_SETTINGS; i++)
		longs[i] = (struct option){settings[i].name,
			settings[i].flag ? no_argument : required_argument, NULL, OPT_SETTING + i};
	longs[N_SETTINGS] = (struct option){"interactive", no_argument, NULL, 'i'};
	longs[N_SETTINGS + 1] = (struct option){"help", no_argument, NULL, 'h'};
	longs[N_SETTINGS + 2] = (struct option){"version", no_argument, NULL, OPT_VERSION};
	longs[N_SETTINGS + 3] = (struct option){0};
}

/*
 * Returns true if getopt_long() has refused an option because it takes no value, as in
 * "--interactive=yes".
 */
static bool
has_value_too_many(void)
{
	return optopt == 'i' || optopt == 'h' || optopt >= OPT_VERSION;
}

/*
 * Returns true if several options start with the characters of arg. getopt_long() accepts an
 * abbreviation if only one option starts with it.
 */
static bool
is_ambiguous(const char *arg)
{
	static const char *const others[] = {"interactive", "help", "version"};
	size_t len = strcspn(arg, "=");
	unsigned int n = 0;

	if (strncmp(arg, "--", 2) != 0)
		return false;
	for (size_t i = 0; i < N_SETTINGS; i++)
		n += strncmp(settings[i].name, arg + 2, len - 2) == 0;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		n += strncmp(others[i], arg + 2, len - 2) == 0;
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
		error_print(
			"%s: several options begin like this: write more of it; testgantry -h lists "
			"them",
			quote_name(arg));
	else
		error_print("unknown option %s: EAL's options go before '--', the app's after "
			    "it; testgantry -h explains",
			quote_value(arg));
	return -1;
}

/* Returns the argument that getopt_long() has refused. */
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

/* Returns the bit of the settings that are used. */
static enum use
use_of(const struct options *o)
{
	return o->load.mix.sum != 0  ? USE_LOAD
	       : o->mode == MODE_SIG ? USE_SIG
	       : options_pair(o)     ? USE_PAIR
				     : USE_FILES;
}

/*
 * Checks that the mode uses the given settings. Bit n of `given` is set if the command line has
 * settings[n]. Returns 0, or -1 with the error printed.
 */
static int
check_use(struct options *o, uint64_t given)
{
	const bool load = o->load.mix.sum != 0;
	const enum use use = use_of(o);

	static_assert(N_SETTINGS <= 64, "given has a bit for each");
	for (size_t i = 0; i < N_SETTINGS; i++) {
		if ((given & UINT64_C(1) << i) == 0)
			continue;
		if (settings[i].use == USE_LOAD && !load) {
			error_print("--%s: it has an effect only with --load: leave it out, or add "
				    "--load; --load help explains",
				settings[i].name);
			return -1;
		}
		if (settings[i].use == (USE_LOAD | USE_PAIR) && (settings[i].use & use) == 0) {
			error_print("--%s: it has an effect only with --load, or when files move "
				    "between two processes: leave it out",
				settings[i].name);
			return -1;
		}
		if ((settings[i].use & use) == 0) {
			error_print("--%s: --%s%s does not use it: leave it out", settings[i].name,
				load ? "load" : "mode ", load ? "" : mode_names[o->mode]);
			return -1;
		}
		if (!load && refuse_list(&settings[i], o) != 0)
			return -1;
	}
	return 0;
}

int
options_parse(struct options *o, int argc, char **argv)
{
	struct option longs[N_SETTINGS + 4];
	const struct setting *s;
	uint64_t given = 0;
	int opt;

	fill_long_options(longs);
	opterr = 0;
	optind = 1;
	while ((opt = getopt_long(argc, argv, ":hi", longs, NULL)) != -1) {
		if (opt == 'h')
			o->help = true;
		else if (opt == OPT_VERSION)
			o->version = true;
		else if (opt == 'i')
			o->interactive = true;
		else if (opt >= OPT_SETTING) {
			s = &settings[opt - OPT_SETTING];
			given |= UINT64_C(1) << (opt - OPT_SETTING);
			if (set(s, s->flag ? "on" : optarg, o) != 0)
				return -1;
		} else
			return report_refused(opt, culprit(argv));
	}
	o->inputs = argv + optind;
	o->n_inputs = argc - optind;
	optind = 1; /* restart getopt_long(), because EAL calls it after this function */
	static_assert(offsetof(struct options, mode) == 0, "settings[0] is the mode");
	if (options_pair(o) && (given & 1) == 0)
		o->mode = MODE_WRITE;
	if (o->help || o->version || o->load_help || o->pair_help)
		return 0;
	if (o->rdma_cm && !options_pair(o)) {
		error_print(
			"--rdma-cm: it has an effect only between two processes: add --listen or "
			"--connect, or leave it out");
		return -1;
	}
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
options_told(const struct options *o, char *text, size_t size)
{
	struct options usual;
	uint64_t number;
	size_t len = 0;

	options_default(&usual);
	text[0] = '\0';
	for (size_t i = 0; i < N_SETTINGS && len < size; i++) {
		/* Settings that are not marked as `told` are not printed. */
		if (!settings[i].told)
			continue;
		number = get_number(&settings[i], o);
		if (number == get_number(&settings[i], &usual))
			continue;
		len += snprintf(text + len, size - len, "%s%s ", len > 0 ? ", " : "",
			settings[i].name);
		if (len < size && settings[i].form == FORM_CHOICE)
			len += snprintf(text + len, size - len, "%s", settings[i].choices[number]);
		else if (len < size)
			len += snprintf(text + len, size - len, "%" PRIu64, number);
	}
}

size_t
options_both_print(const struct options *o, char *text, size_t size)
{
	const enum use use = use_of(o);
	uint64_t number;
	size_t len = 0;

	for (size_t i = 0; i < N_SETTINGS && len < size; i++) {
		if (!settings[i].both || (settings[i].use & use) == 0)
			continue;
		number = get_number(&settings[i], o);
		if (settings[i].form == FORM_CHOICE)
			len += snprintf(text + len, size - len, "%s %s\n", settings[i].name,
				settings[i].choices[number]);
		else
			len += snprintf(text + len, size - len, "%s %" PRIu64 "\n",
				settings[i].name, number);
	}
	return len;
}

void
options_help(FILE *f)
{
	struct options o;

	options_default(&o);
	fprintf(f,
		"usage: testgantry [EAL OPTIONS --] [OPTIONS] --out DIR FILE...\n"
		"       testgantry [EAL OPTIONS --] -i [OPTIONS] [FILE...]\n"
		"       testgantry [EAL OPTIONS --] --load OP[=WEIGHT],... [OPTIONS]: --load help explains\n"
		"       testgantry ... --listen ADDRESS, --connect ADDRESS: two processes: --listen help explains\n"
		"\n"
		"Moves files through the engine into a folder. Then it reads every output and its input back, and\n"
		"compares them. Each worker lcore drives one hardware queue; other threads read and write\n"
		"files. If FILE is a folder, all regular files below it are moved.\n"
		"\n"
		"  --out DIR            folder of the outputs; it is created if it does not exist\n"
		"  --parents            keep the whole path of each input below DIR; see Names\n"
		"  --skip-unreadable    leave out files and folders that cannot be read; they are printed and\n"
		"                       counted. Without this option, such a file stops the job before it starts\n"
		"  --mode MODE          copy: copies from source to destination buffers (default)\n"
		"                       write, read: RDMA to or from the memory of a peer. The peer of worker i is\n"
		"                       worker i+1; that of the last worker is the first one\n"
		"                       sig: moves no files; see Signatures\n"
		"  --copy-path PATH     how copies are made: mmo (the device's DMA engine), rdma (loopback\n"
		"                       RDMA), or auto (default): mmo if the device has it\n"
		"  --policy FILE        rules that choose the carrier of each copy: CPU, mmo or rdma\n"
		"  --measure-policy FILE  move no files: measure such rules on this machine, and write them\n"
		"  --export NAME        move no files: copy to and from memory of this other function of the card\n"
		"  --device NAME        verbs device, or its PCI address (03:00.0); default: the first mlx5 device\n"
		"  --chunk BYTES        bytes that one descriptor moves, default %" PRIu64
		"K; suffixes K, M, G\n"
		"  --depth N            chunks in flight for each worker, default %u; its memory is 2 x depth x "
		"chunk\n"
		"  --burst N            descriptors that one call enqueues, and that a worker takes at a "
		"time,\n"
		"                       1 to %u, default %u\n"
		"  --ring-size N        elements of each ring of a worker, a power of two; default: the engine's\n"
		"  --idle MODE          what a worker does when it has no work: sleep (default) waits for an\n"
		"                       interrupt or a descriptor; spin polls, for an lcore that has a CPU\n"
		"                       to itself; monitor makes the CPU wait for a write to memory, if it\n"
		"                       has such an instruction\n"
		"  --nb-cores N         use only N worker lcores; default: all that EAL has\n"
		"  --stats-period SEC   print the table every SEC seconds, and at the end\n"
		"  --wake-up N          move no files: print the latency of N copies for each MODE of --idle\n"
		"  -i, --interactive    a prompt (start, stop, help, ...); --cmdline-file FILE: lines to run first\n"
		"  -h, --help           print this text; --version: print the version\n",
		o.chunk_len >> 10, o.depth, BURST_MAX, o.burst);
	fprintf(f,
		"\n"
		"Names: as with cp, a/b/FILE becomes DIR/FILE, and the files of a/b/FOLDER become\n"
		"  DIR/FOLDER/... Two inputs that would become the same output are refused:\n"
		"  use --parents. An output is written under a temporary name, and renamed when it has\n"
		"  been verified; only then a file of that name is replaced. Symbolic links that are\n"
		"  inputs are followed. Symbolic links in folders are skipped and counted, and so are\n"
		"  devices, sockets and pipes. Holes of sparse files are kept.\n"
		"\n"
		"Signatures: testgantry --mode sig [OPTIONS] FILE...: the first worker lcore stores blocks of files\n"
		"  on a disk in memory of the second one, and fetches them. The device generates, checks and converts\n"
		"  signatures. --guard KIND: on the disk, default crc; --wire KIND: on the wire, default none. KIND:\n"
		"  none, crc, csum (both T10-DIF), crc32, crc32c, crc64. --encrypt data|all: encrypt the disk's data,\n"
		"  or data and signatures. --corrupt PERCENT of the blocks, default 1: exactly these must be refused.\n"
		"  --block 512|4096 (default), --seed N, --chunk: bytes of a transaction, --depth: transactions in\n"
		"  flight. Prints latencies with and without pipelining.\n"
		"\n"
		"Exit status: 0: every byte of every file that was not skipped is equal, and every response is\n"
		"  right; 1: not so; 129, 130, 143: stopped by SIGHUP, SIGINT, SIGTERM. Then verified outputs stay,\n"
		"  unfinished ones are removed. A second signal ends testgantry at once, even if the device hangs.\n"
		"  With -i: 1 if a line was refused, or if a job failed or was stopped.\n"
		"\n"
		"EAL OPTIONS come before '--'; without '--', all arguments are testgantry's. A main and\n"
		"  at least one worker lcore are needed; --mode sig needs two. Without -l or --lcores, each CPU is\n"
		"  an lcore; if there are too few, testgantry adds more by --lcores. If no huge pages are\n"
		"  free, or no hugetlbfs is mounted, it adds --no-huge -m 512. It adds --no-pci unless -a, -b\n"
		"  or --no-pci is given, because it reaches the device through verbs. EAL's options: testgantry -h --\n"
		"  usertools/gantry-top shows the engine's state by --telemetry, EAL's default.\n"
		"\n"
		"examples:\n"
		"  testgantry --out /tmp/out /usr/bin\n"
		"  testgantry %s -- --mode write --chunk 1M --out /tmp/out a.iso b.iso\n"
		"  testgantry --no-huge -m 512 -- --parents --out out */data.bin\n"
		"  testgantry -i --out /tmp/out /usr/share/doc\n",
		lcores_option(3));
}

void
options_pair_help(FILE *f)
{
	struct options o;

	options_default(&o);
	fprintf(f,
		"usage: testgantry [EAL OPTIONS --] --listen ADDRESS [OPTIONS] --out DIR\n"
		"       testgantry [EAL OPTIONS --] --connect ADDRESS [OPTIONS] FILE...\n"
		"       testgantry [EAL OPTIONS --] --listen ADDRESS --mode sig [OPTIONS]\n"
		"       testgantry [EAL OPTIONS --] --connect ADDRESS --mode sig [OPTIONS] FILE...\n"
		"\n"
		"Moves files from the process with --connect into the folder DIR of the process with --listen.\n"
		"The bytes of the files go by RDMA between the two processes. A socket exchanges names, addresses,\n"
		"keys and options. Both processes compute the SHA-256 of each file from their own file, and compare.\n"
		"\n"
		"  --listen ADDRESS     wait for one process, and write its files below DIR. Whoever reaches the\n"
		"                       address may do so: choose an address that only you can reach\n"
		"  --connect ADDRESS    connect to that process; tries again while no process listens\n"
		"  ADDRESS              HOST:PORT (TCP), or the path of a Unix socket: unix:PATH, or a path with a\n"
		"                       slash. With port 0, --listen prints the port that it has\n"
		"  --rdma-cm            meet by rdma_cm instead of by a socket. ADDRESS is HOST:PORT, with an\n"
		"                       address of the adapter. Names, addresses, keys and options then also go\n"
		"                       by RDMA. Give it to both processes\n"
		"  --give-up SEC        seconds after which a process that is silent counts as dead; it is also the\n"
		"                       deadline of the queues, default %u\n"
		"\n"
		"Both processes need equal values of these options:\n"
		"  --mode MODE          write (default): the process with the files writes them to the memory of\n"
		"                       the other process; read: the other process reads them; send: messages\n"
		"                       sig: see below\n"
		"  --transport rc|dc    transport of the connections, default rc\n"
		"  --chunk BYTES        bytes of a file that one message moves, default %" PRIu64
		"K\n"
		"  --depth N            chunks in flight for each worker, default %u\n"
		"  --nb-cores N         worker lcores; default: all that EAL has. Each has a connection of its own\n"
		"\n"
		"Each process has its own value of these options; testgantry -h explains them:\n"
		"  --via WAY            ring (default): the main lcore enqueues to the workers; inline: each\n"
		"                       worker lcore submits to its own queue\n"
		"  --burst, --idle, --device; with the files also --parents, --skip-unreadable\n"
		"\n"
		"Mode sig: the process with --connect stores blocks of the files on a disk in memory of the process\n"
		"  with --listen, and fetches them, as testgantry -h explains under Signatures. --block, --guard,\n"
		"  --wire, --encrypt, --corrupt, --seed, --chunk and --depth are equal in both processes. Each\n"
		"  process checks what arrives in its own memory.\n"
		"\n"
		"EAL OPTIONS: testgantry adds --no-shconf, or --in-memory with huge pages, so that both processes\n"
		"  may run on one machine. It does not do so if --file-prefix is given.\n"
		"\n"
		"If one process ends, is killed or is silent, the other one says so, and exits with status 1.\n"
		"\n"
		"examples, each on a terminal of its own:\n"
		"  testgantry --listen /tmp/gantry.sock --out /tmp/out\n"
		"  testgantry --connect /tmp/gantry.sock /usr/bin\n"
		"\n"
		"  testgantry --listen 127.0.0.1:7400 --mode sig --guard crc\n"
		"  testgantry --connect 127.0.0.1:7400 --mode sig --guard crc a.iso\n"
		"\n"
		"  testgantry --rdma-cm --listen :7471 --out /tmp/out\n"
		"  testgantry --rdma-cm --connect 127.0.0.1:7471 /usr/bin\n",
		o.give_up, o.chunk_len >> 10, o.depth);
}

void
options_load_help(FILE *f)
{
	struct options o;

	options_default(&o);
	fprintf(f,
		"usage: testgantry [EAL OPTIONS --] --load OP[=WEIGHT],... [OPTIONS]\n"
		"\n"
		"Measures operations of the engine without files, as fast as possible or at a given rate. Each\n"
		"worker lcore has its own queue and memory. The peer of worker i is worker i+1; that of the last\n"
		"worker is the first one.\n"
		"\n"
		"OP:\n");
	load_ops_print(f);
	fprintf(f,
		"\n"
		"  --load OP=WEIGHT,...  a mix: with copy=3,write=1, three of four are copies. The order\n"
		"                       is random, by --seed N (default %u), the numbers are exact\n"
		"  --size BYTES         of each operation, default %" PRIu64 "; suffixes K, M, G\n"
		"  --depth N            most operations in flight for each worker, default %u\n"
		"  --burst N            operations that one call submits, default %u\n"
		"  --nb-cores N         worker lcores; default: all that EAL has\n"
		"  --peers N            connections of each worker, used in turn, default %u\n"
		"  --regions N          registered regions of each worker, used in random order, default %u\n"
		"  --sge N              pieces of sg, gather and scatter, default %u; of layouts at most 51\n"
		"  --layouts N          places that gather and scatter use their layout for, in turn, default %u:\n"
		"                       a queue keeps 16 of them ready\n"
		"  --patterns N         patterns that fill uses in turn, default %u: a queue keeps 32 patterns,\n"
		"                       4 of them for fills of more than 4 KiB\n"
		"  --order ORDER        order of a mix: random (default); or even: each operation is evenly spread,\n"
		"                       as in copy, write, copy, write\n"
		"  --fence N            every N-th operation waits for all earlier ones; default 0: none does\n"
		"  --by CARRIER         carrier of copy, fill and sg: cpu, mmo, rdma; policy (default): --policy\n"
		"  --transport rc|dc    transport of connections, default rc; dc: all share one initiator\n"
		"  --max-inline BYTES   most bytes of a write or message that the CPU copies into the WQE;\n"
		"                       default: the engine's\n"
		"  --unordered off|on   on: completions keep only the order within each connection; default off\n"
		"  --mixed-regions off|on  on: the longest region is 8 times the shortest; default off\n"
		"  --block BYTES, --guard KIND  for txn: blocks of 512 or 4096 (default) bytes of data, and their\n"
		"                       signatures: crc (default), csum (both T10-DIF), crc32, crc32c, crc64\n"
		"  --duration SEC       time of a measurement, default 2; --total-ops N: operations of all workers.\n"
		"                       With both, the first that is reached ends it\n"
		"  --rate N             an open loop: N operations a second, all workers together, are due at equal\n"
		"                       intervals. A latency begins when the operation is due, even if it is\n"
		"                       submitted later. Default: a closed loop: a completion allows the next one\n"
		"  --percentiles P,...  percentiles of latencies to print, default 50,99,99.9\n"
		"  --via WAY            ring (default): the main lcore enqueues to the workers; inline: each\n"
		"                       worker lcore submits to its own queue\n"
		"  --csv FILE, --json FILE  the figures for other programs; usertools/plot.py draws the CSV of\n"
		"                       a sweep\n"
		"  --verify off|on      on (default): at the end each operation runs once more in each place\n"
		"                       of the memory, and every byte is compared\n"
		"  --ring-size, --idle, --copy-path, --policy, --device: testgantry -h explains\n"
		"\n"
		"For size, rate, depth, burst, nb-cores, peers, regions, sge and layouts you may give a list, as\n"
		"64,1K,64K, or a range that doubles, as 64-64K: each combination is measured.\n"
		"\n"
		"examples:\n"
		"  testgantry --load copy --size 64-64K\n"
		"  testgantry --load write=7,read=3 --depth 1-64 --peers 4 --duration 5\n"
		"  testgantry %s -- --load copy --via inline --nb-cores 1,2 --total-ops 1000000\n",
		o.seed, o.load.size, o.depth, o.burst, o.load.peers, o.load.regions, o.load.sge,
		o.load.layouts, o.load.patterns, lcores_option(3));
}

void
options_show(FILE *f, const struct options *o)
{
	for (size_t i = 0; i < N_FOR_PROMPT; i++)
		show(f, &settings[i], o);
}
