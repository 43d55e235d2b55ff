/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the assumptions of softhca on a device, one probe after the other, and prints the answers.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe_child.h"
#include "probe_list.h"
#include "probe_report.h"
#include "softhca_pair.h"

struct options {
	const char *device, *only;
	bool list, json, rehearse;
};

static const char help[] =
	"usage: hw_probe [--device NAME] [--only ID] [--json] [--rehearse]\n"
	"       hw_probe --list\n"
	"\n"
	"Asks an mlx5 device what the emulated adapter assumes about cards. It needs an active port. It\n"
	"sends from the port to itself, and uses no objects but its own.\n"
	"\n"
	"  --device NAME  the device, as ibv_devices prints it; else the first mlx5 device\n"
	"  --only ID      this probe alone\n"
	"  --json         the answers as JSON, without addresses and names\n"
	"  --rehearse     asks the emulated adapter, if the machine has no mlx5 device\n"
	"  --list         prints what is assumed, what cannot be asked, and what depends on each;\n"
	"                 asks nothing\n"
	"\n"
	"Exit code: 0 the device was asked, whatever it answered; 1 it was not; 2 wrong arguments.\n";

static int
wrong(const char *what, const char *argument)
{
	fprintf(stderr, "hw_probe: %s%s. See hw_probe --help\n", what, argument);
	return 2;
}

/* Reads the options. Returns -1 to continue, or the exit code. */
static int
read_options(int argc, char **argv, struct options *o)
{
	static const struct option known[] = {{"device", required_argument, NULL, 'd'},
		{"only", required_argument, NULL, 'o'}, {"json", no_argument, NULL, 'j'},
		{"rehearse", no_argument, NULL, 'r'}, {"list", no_argument, NULL, 'l'},
		{"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
	int c;

	while ((c = getopt_long(argc, argv, "h", known, NULL)) != -1) {
		switch (c) {
		case 'd':
			o->device = optarg;
			break;
		case 'o':
			o->only = optarg;
			break;
		case 'j':
			o->json = true;
			break;
		case 'r':
			o->rehearse = true;
			break;
		case 'l':
			o->list = true;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			return 2; /* getopt_long() has printed the error */
		}
	}
	return optind == argc ? -1 : wrong("unexpected argument: ", argv[optind]);
}

/* ---- the answers */

struct job {
	const struct probe *probe;
	struct probe_answer answer;
};

static void
ask(void *shared)
{
	struct job *job = shared;

	job->probe->ask(&job->answer);
}

static void
run_probe(const struct probe *probe, struct job *job)
{
	char why[PROBE_SEEN_MAX];

	memset(job, 0, sizeof(*job));
	job->probe = probe;
	if (probe->ask == NULL)
		probe_cannot(&job->answer, "%s", probe->not_asked);
	else if (probe_child(ask, job, why, sizeof(why)) != 0)
		probe_cannot(&job->answer, "%s", why);
}

/* Runs the chosen probes, one after the other. */
static void
ask_all(const struct options *o, struct job *job)
{
	bool first = true;

	for (const struct probe_group *g = probe_groups; g->title != NULL; g++) {
		if (o->only == NULL)
			probe_report_group(g->title, o->json);
		for (const struct probe *p = g->probes; p->id != NULL; p++) {
			if (o->only != NULL && strcmp(o->only, p->id) != 0)
				continue;
			run_probe(p, job);
			probe_report(p, &job->answer, o->json, first);
			first = false;
		}
	}
}

int
main(int argc, char **argv)
{
	struct options o = {0};
	struct probe_device *device;
	int end = read_options(argc, argv, &o);

	if (end >= 0)
		return end;
	if (o.list) {
		probe_list_print();
		return 0;
	}
	if (o.only != NULL && !probe_list_has(o.only))
		return wrong("--list does not have the probe ", o.only);
	device = probe_share(sizeof(*device));
	if (!probe_device_choose(device, o.device, o.rehearse))
		return 1;
	pair_device_name = device->name;
	probe_report_begin(device, o.json);
	ask_all(&o, probe_share(sizeof(struct job)));
	probe_report_end(o.json);
	return 0;
}
