/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * testgantry moves files through the engine, and verifies every byte. `testgantry -h` lists its
 * options.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_eal.h>

#include "prompt.h"
#include "job.h"
#include "latency.h"
#include "lcores.h"
#include "load.h"
#include "measure.h"
#include "output.h"
#include "pair.h"
#include "share.h"
#include "sig_flow.h"
#include "terminal.h"

#define HUGE_PAGES_DIR "/sys/kernel/mm/hugepages"

/* ------------------------------------------------------------------ arguments of EAL and app */

struct args {
	int argc;
	char **argv;
};

/* Splits arguments at "--". Without "--", all arguments are the app's. */
static void
split_args(int argc, char **argv, struct args *eal, struct args *app)
{
	int end = 1;

	while (end < argc && strcmp(argv[end], "--") != 0)
		end++;
	*eal = (struct args){end < argc ? end : 1, argv};
	*app = end < argc ? (struct args){argc - end, argv + end} : (struct args){argc, argv};
}

static int
check_eal_args(const struct args *eal)
{
	for (int i = 1; i < eal->argc; i++) {
		if (!options_is_ours(eal->argv[i]))
			continue;
		error_print("%s is an option of the app: put it after '--'", eal->argv[i]);
		return -1;
	}
	return 0;
}

/* ------------------------------------------------------------------ EAL */

/*
 * Returns true if the user gave EAL one of these options: "--name", "--name=value", "-n" or
 * "-nvalue".
 */
static bool
has_option(const struct args *eal, const char *const *names)
{
	size_t len;

	for (int i = 1; i < eal->argc; i++) {
		for (const char *const *name = names; *name != NULL; name++) {
			len = strlen(*name);
			if (strncmp(eal->argv[i], *name, len) != 0)
				continue;
			if (len == 2 || eal->argv[i][len] == '\0' || eal->argv[i][len] == '=')
				return true;
		}
	}
	return false;
}

static unsigned long
read_number(const char *dir, const char *name)
{
	unsigned long n = 0;
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), HUGE_PAGES_DIR "/%s/%s", dir, name);
	f = fopen(path, "r");
	if (f == NULL)
		return 0;
	if (fscanf(f, "%lu", &n) != 1)
		n = 0;
	fclose(f);
	return n;
}

static bool
have_free_huge_pages(void)
{
	DIR *dir = opendir(HUGE_PAGES_DIR);
	struct dirent *e;
	bool have = false;

	if (dir == NULL)
		return false;
	while (!have && (e = readdir(dir)) != NULL)
		have = e->d_name[0] != '.' &&
		       (read_number(e->d_name, "free_hugepages") > 0 ||
			       read_number(e->d_name, "nr_overcommit_hugepages") > 0);
	closedir(dir);
	return have;
}

/*
 * Returns true if a hugetlbfs is mounted. EAL needs such a file system for huge pages, unless its
 * options say otherwise.
 */
static bool
have_hugetlbfs(void)
{
	FILE *mounts = setmntent("/proc/mounts", "r");
	const struct mntent *m;
	bool have = false;

	if (mounts == NULL)
		return false;
	while (!have && (m = getmntent(mounts)) != NULL)
		have = strcmp(m->mnt_type, "hugetlbfs") == 0;
	endmntent(mounts);
	return have;
}

/* Returns the number of lcores that the options need, including the main lcore. */
static unsigned int
lcores_needed(const struct options *o)
{
	if (o->measure_policy[0] != '\0' || o->export[0] != '\0')
		return 1;
	if (options_pair(o))
		return pair_lcores(o);
	if (o->mode == MODE_SIG)
		return 3;
	if (o->load.mix.sum != 0)
		return load_cores(o) + 1;
	return RTE_MAX(o->nb_cores, 1u) + 1;
}

/*
 * Builds EAL's arguments: options that testgantry adds, then the user's options. An option that the
 * user gave is not added again, because newer versions of DPDK refuse an option that is given
 * twice. argv has room for eal->argc + 7 pointers.
 */
static int
build_eal_args(const struct args *eal, const struct options *o, unsigned int n_lcores, char **argv)
{
	static const char *const lcores[] = {"-l", "-c", "--lcores", "--coremask", "--corelist",
		NULL};
	static const char *const no_huge[] = {"--no-huge", NULL};
	static const char *const huge[] = {"--huge-dir", "--socket-mem", "--numa-mem",
		"--huge-unlink", "--huge-worker-stack", "--legacy-mem", "--in-memory", NULL};
	static const char *const memory[] = {"-m", "--memory-size", NULL};
	static const char *const pci[] = {"-a", "--allow", "-b", "--block", "--no-pci", NULL};
	static const char *const apart[] = {"--file-prefix", "--no-shconf", "--in-memory", NULL};
	bool asked_no_huge = has_option(eal, no_huge);
	int argc = 0;

	argv[argc++] = eal->argv[0];
	if (!has_option(eal, pci))
		argv[argc++] = (char *)"--no-pci";
	if (!asked_no_huge && !has_option(eal, huge) &&
		!(have_free_huge_pages() && have_hugetlbfs())) {
		printf("no free huge pages, or no hugetlbfs: running with --no-huge -m 512\n");
		fflush(stdout);
		argv[argc++] = (char *)"--no-huge";
		asked_no_huge = true;
	}
	if (asked_no_huge && !has_option(eal, memory)) {
		argv[argc++] = (char *)"-m";
		argv[argc++] = (char *)"512";
	}
	/* Two processes cannot share EAL's files. EAL refuses --in-memory with --no-huge. */
	if (options_pair(o) && !has_option(eal, apart))
		argv[argc++] = (char *)(asked_no_huge ? "--no-shconf" : "--in-memory");
	if (!has_option(eal, lcores) && n_lcores <= RTE_MAX_LCORE &&
		(unsigned int)CPU_COUNT(lcores_cpus()) < n_lcores) {
		argv[argc] = (char *)lcores_option(n_lcores);
		printf("fewer CPUs than lcores are needed: running with %s\n", argv[argc++]);
		fflush(stdout);
	}
	for (int i = 1; i < eal->argc; i++)
		argv[argc++] = eal->argv[i];
	argv[argc] = NULL;
	return argc;
}

/*
 * If EAL refuses an option, it prints all its options. These are about 100 lines, which hide the
 * log line with the reason. So EAL's output is written to a file first, and printed only if EAL
 * accepts its options.
 */
static struct {
	int fd;     /* file that receives the output */
	int stdout; /* duplicate of the standard output's descriptor */
	bool usage;
} held = {-1, -1, false};

static void
release_stdout(void)
{
	char text[4096];
	ssize_t n;

	if (held.stdout < 0)
		return;
	fflush(stdout);
	dup2(held.stdout, STDOUT_FILENO);
	for (off_t at = 0; !held.usage && (n = pread(held.fd, text, sizeof(text), at)) > 0; at += n)
		fwrite(text, 1, n, stdout);
	fflush(stdout);
	close(held.stdout);
	close(held.fd);
	held.stdout = -1;
}

static void
hold_stdout(void)
{
	held.fd = memfd_create("testgantry", MFD_CLOEXEC);
	held.stdout = held.fd < 0 ? -1 : fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	if (held.stdout < 0)
		return;
	atexit(release_stdout); /* for some options EAL prints and then ends the program itself */
	dup2(held.fd, STDOUT_FILENO);
}

static void
note_usage(const char *name)
{
	(void)name;
	held.usage = true;
}

static int
init_eal(int argc, char **argv)
{
	int rc;

	fflush(stdout);
	rte_set_application_usage_hook(note_usage);
	hold_stdout();
	(void)gantry_before_eal();
	rc = rte_eal_init(argc, argv);
	release_stdout();
	return rc;
}

static int
start_eal(const struct args *eal, const struct options *o, unsigned int n_lcores)
{
	char **argv = calloc(eal->argc + 8, sizeof(*argv));
	int argc, rc;

	if (argv == NULL) {
		error_print("out of memory");
		return -1;
	}
	argc = build_eal_args(eal, o, n_lcores, argv);
	rc = init_eal(argc, argv);
	free(argv); /* EAL keeps pointers to the strings, so they stay allocated */
	if (rc >= 0)
		return 0;
	error_print("EAL did not start; its lines above say why.");
	fprintf(stderr,
		"  without huge pages:      add --no-huge -m 512 before '--'\n"
		"  with another DPDK program running:  add --file-prefix NAME\n"
		"  lcores on these CPUs:    %s\n"
		"  EAL's own options:       testgantry -h --\n",
		lcores_option(RTE_MAX(n_lcores, 2u)));
	return -1;
}

/* ------------------------------------------------------------------ signals */

/*
 * The first signal ends the loops of the main lcore. The second signal ends the program as soon as
 * no unfinished output is left, even if the device hangs. The third signal ends the program at
 * once.
 */
static void
on_signal(int number)
{
	int none = 0, n;

	atomic_compare_exchange_strong(&stop_signal, &none, number);
	n = atomic_fetch_add(&n_signals, 1) + 1;
	if (n >= 3 || (n == 2 && !outputs_unfinished)) {
		terminal_end();
		_exit(128 + number);
	}
}

/* SIGPIPE and SIGXFSZ are ignored, so that a failed write returns an errno, which is reported. */
static void
catch_signals(void)
{
	const struct sigaction end = {.sa_handler = on_signal};

	sigaction(SIGINT, &end, NULL);
	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGHUP, &end, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

/* ------------------------------------------------------------------ main */

/* Moves the files. Returns 0, -1 or JOB_STOPPED. */
static int
do_job(struct app *app)
{
	char reason[64];

	if (stop_signal == 0 && job_start(app) == 0)
		job_wait(app);
	if (app->flow != NULL) {
		snprintf(reason, sizeof(reason), "stopped by %s", strsignal(stop_signal));
		job_stop(app, reason);
		return JOB_STOPPED;
	}
	if (app->start_ns == 0 && !app->failed)
		return job_say_stopped("nothing was moved");
	return app->failed ? -1 : 0;
}

/* Serves the prompt. Returns 0, -1 or JOB_STOPPED. */
static int
do_prompt(struct app *app)
{
	char reason[64];

	prompt_run(app);
	if (stop_signal == 0)
		return app->failed ? -1 : 0;
	snprintf(reason, sizeof(reason), "stopped by %s", strsignal(stop_signal));
	job_stop(app, reason);
	return JOB_STOPPED;
}

/* A signal that comes after the requested work has ended does not change the exit status. */
static int
run_app(struct app *app)
{
	int rc;

	if (app->opt.measure_policy[0] != '\0')
		rc = measure_run(&app->opt);
	else if (app->opt.export[0] != '\0')
		rc = share_run(&app->opt);
	else if (app->opt.load.mix.sum != 0)
		rc = load_run(&app->opt);
	else if (app->opt.wake_up != 0)
		rc = latency_run(&app->opt);
	else if (options_pair(&app->opt))
		rc = pair_run(app);
	else if (app->opt.interactive)
		rc = do_prompt(app);
	else if (app->opt.mode == MODE_SIG)
		rc = sig_run(&app->opt, &app->set, NULL);
	else
		rc = do_job(app);
	if (rc == JOB_STOPPED)
		return 128 + stop_signal;
	return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Returns true for "testgantry -h --": EAL then prints its help, and ends the program. */
static bool
wants_eal_help(const struct args *eal)
{
	static const char *const help[] = {"-h", "--help", NULL};

	return has_option(eal, help);
}

/* Returns the option that makes the program measure instead of moving files, or NULL. */
static const char *
measures(const struct options *o)
{
	return o->load.mix.sum != 0           ? "--load"
	       : o->wake_up != 0              ? "--wake-up"
	       : o->measure_policy[0] != '\0' ? "--measure-policy"
	       : o->export[0] != '\0'         ? "--export"
					      : NULL;
}

/* Returns true if the command line asks for a text only: a page of help, or the version. */
static bool
is_text(const struct options *o)
{
	return o->help || o->version || o->load_help || o->pair_help;
}

static void
print_text(const struct options *o)
{
	if (o->help)
		options_help(stdout);
	else if (o->version)
		puts("testgantry " VERSION);
	else if (o->load_help)
		options_load_help(stdout);
	else
		options_pair_help(stdout);
}

static int
prepare(struct app *app, const struct args *args)
{
	options_default(&app->opt);
	if (options_parse(&app->opt, args->argc, args->argv) != 0)
		return -1;
	if (is_text(&app->opt))
		return 0;
	for (int i = 0; i < app->opt.n_inputs; i++)
		if (job_add_input(app, app->opt.inputs[i]) != 0)
			return -1;
	/*
	 * Plan before EAL starts, because EAL prints many lines: errors in the inputs are printed
	 * before them.
	 */
	if (measures(&app->opt) != NULL && (app->opt.interactive || app->opt.n_inputs != 0)) {
		error_print("%s moves no files: leave out -i and the files", measures(&app->opt));
		return -1;
	}
	if (app->opt.cmdline_file[0] != '\0' && !app->opt.interactive) {
		error_print("--cmdline-file: its lines are for the prompt: add -i");
		return -1;
	}
	if (app->opt.export[0] != '\0' &&
		(app->opt.wake_up != 0 || app->opt.measure_policy[0] != '\0' ||
			app->opt.load.mix.sum != 0)) {
		error_print("--export moves no other bytes: give it without --load, --wake-up and "
			    "--measure-policy");
		return -1;
	}
	if (app->opt.wake_up != 0 && app->opt.measure_policy[0] != '\0') {
		error_print("--wake-up and --measure-policy exclude each other: give one of "
			    "them at a time");
		return -1;
	}
	if (app->opt.load.mix.sum != 0)
		return load_check(&app->opt);
	if (measures(&app->opt) != NULL || (app->opt.interactive && !options_pair(&app->opt)))
		return 0;
	if (app->opt.mode == MODE_SIG && sig_check(&app->opt) != 0)
		return -1;
	return options_pair(&app->opt) ? pair_prepare(app) : job_plan(app);
}

int
main(int argc, char **argv)
{
	static struct app app;
	struct args eal_args, app_args;
	int status = EXIT_FAILURE;

	split_args(argc, argv, &eal_args, &app_args);
	if (wants_eal_help(&eal_args))
		return rte_eal_init(eal_args.argc, eal_args.argv) >= 0 ? EXIT_SUCCESS
								       : EXIT_FAILURE;
	if (check_eal_args(&eal_args) != 0 || prepare(&app, &app_args) != 0)
		goto out;
	if (is_text(&app.opt)) {
		print_text(&app.opt);
		status = EXIT_SUCCESS;
		goto out;
	}
	catch_signals();
	if (start_eal(&eal_args, &app.opt, lcores_needed(&app.opt)) != 0)
		goto out;
	status = run_app(&app);
	rte_eal_cleanup();
	if (app.opt.interactive)
		printf("Bye...\n");
out:
	report_free(&app.report);
	files_free(&app.set);
	job_clear_inputs(&app);
	return status;
}
