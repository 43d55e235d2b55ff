/* SPDX-License-Identifier: BSD-3-Clause */
/* softhca PROGRAM ARGS...: runs an unmodified RDMA program on the emulated adapter. */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
	"usage: softhca [--like CARD] PROGRAM [ARGUMENT]...\n"
	"       softhca --list-settings | --list-faults | --version | --help\n"
	"Runs PROGRAM with an emulated mlx5 adapter, if this machine has none.\n"
	"\n"
	"  softhca ibv_devinfo -v           shows the adapter\n"
	"  SOFTHCA_PORTS=2 softhca ...      changes a setting; SOFTHCA_CONFIG=FILE reads a file of "
	"them\n"
	"  SOFTHCA_FAULTS=FILE softhca ...  causes the faults that FILE lists, such as \"drop op=100\";\n"
	"                                   SOFTHCA_LOG_FAULTS=1 logs each fault that strikes\n"
	"\n"
	"  --like CARD   gives the adapter the features and limits of this card. CARD is connectx-4-lx,\n"
	"                connectx-5, connectx-6-dx, connectx-7, bluefield-2 or bluefield-3; or the path of\n"
	"                a card profile, or of a report.json that usertools/hw.sh has written. A path has\n"
	"                a slash or a dot. SOFTHCA_LIKE=CARD does the same; other settings win over it\n"
	"  --list-settings\n"
	"                prints all settings, with meanings, defaults and allowed values. The output is\n"
	"                a file for SOFTHCA_CONFIG in which every setting is commented out\n"
	"  --list-faults prints the lines that a file for SOFTHCA_FAULTS may have\n"
	"  --version     prints the version\n"
	"  -h, --help    prints this text\n"
	"\n"
	"PROGRAM must be dynamically linked and not set-user-ID. Two programs reach each other as on a\n"
	"machine with one adapter, if both run under softhca in one network namespace.\n";

/*
 * Writes the path of the library to preload. In a build directory the library is beside this
 * program. If both are installed, the library has a fixed path relative to this program. The path
 * configured at build time is tried last.
 */
static int
find_library(char *path, size_t len)
{
	static const char *const ways[] = {"", LIBDIR_FROM_HERE "/"};
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n > 0) {
		self[n] = '\0';
		*strrchr(self, '/') = '\0';
		for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
			if (snprintf(path, len, "%s/%s" LIBRARY, self, ways[i]) < (int)len &&
				access(path, R_OK) == 0)
				return 0;
	}
	snprintf(path, len, "%s/" LIBRARY, LIBDIR);
	return access(path, R_OK);
}

/* Puts the library before all other libraries in LD_PRELOAD. */
static int
preload(const char *library)
{
	const char *others = getenv("LD_PRELOAD");
	char *value = NULL;
	int rc;

	if (others == NULL || *others == '\0')
		return setenv("LD_PRELOAD", library, 1);
	if (asprintf(&value, "%s:%s", library, others) < 0)
		return -1;
	rc = setenv("LD_PRELOAD", value, 1);
	free(value);
	return rc;
}

/*
 * Calls a function of the library that prints a list. The adapter is not used, so settings in the
 * environment do not matter: a wrong setting would only print an error.
 */
static int
list(const char *library, const char *function)
{
	void (*print)(FILE * to);
	void *lib;

	lib = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (lib == NULL) {
		fprintf(stderr, "softhca: %s\n", dlerror());
		return 127;
	}
	*(void **)&print = dlsym(lib, function);
	if (print == NULL) {
		fprintf(stderr, "softhca: %s: install the library of this version\n", dlerror());
		return 127;
	}
	print(stdout);
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	fprintf(stderr, "softhca: the list cannot be written: %s\n", strerror(errno));
	return 1;
}

/*
 * Sets the card profile. Children may have another working directory, so a path is made absolute.
 */
static int
set_card_profile(const char *card)
{
	char path[PATH_MAX];

	if (strpbrk(card, "/.") != NULL) {
		if (realpath(card, path) == NULL)
			return -1;
		card = path;
	}
	return setenv("SOFTHCA_LIKE", card, 1);
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *option, *function;
	} lists[] = {
		{"--list-settings", "softhca_settings_print"},
		{"--list-faults", "softhca_faults_print"},
	};
	const bool like = argc > 1 && strcmp(argv[1], "--like") == 0;
	const char *function = NULL;
	char library[PATH_MAX];
	size_t i;

	if (like && argc < 4) {
		fprintf(stderr,
			"softhca: --like takes a card and a program (softhca -h explains)\n");
		return 2;
	}
	if (like) {
		if (set_card_profile(argv[2]) != 0) {
			fprintf(stderr, "softhca: --like %s: %s\n", argv[2], strerror(errno));
			return 2;
		}
		argc -= 2;
		argv += 2;
	}

	if (argc < 2) {
		fputs(usage, stderr);
		return 2;
	}
	if (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0) {
		fputs(usage, stdout);
		return 0;
	}
	if (strcmp(argv[1], "--version") == 0) {
		puts("softhca " VERSION);
		return 0;
	}
	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		function = strcmp(argv[1], lists[i].option) == 0 ? lists[i].function : function;
	if (argv[1][0] == '-' && function == NULL) {
		fprintf(stderr, "softhca: unknown option %s (softhca -h explains)\n", argv[1]);
		return 2;
	}
	if (find_library(library, sizeof(library)) != 0) {
		fprintf(stderr, "softhca: " LIBRARY " is neither beside this program nor in %s\n",
			LIBDIR);
		return 127;
	}
	if (function != NULL)
		return list(library, function);
	if (preload(library) != 0) {
		fprintf(stderr, "softhca: %s\n", strerror(errno));
		return 127;
	}
	execvp(argv[1], argv + 1);
	fprintf(stderr, "softhca: cannot run %s: %s\n", argv[1], strerror(errno));
	return errno == ENOENT ? 127 : 126;
}
