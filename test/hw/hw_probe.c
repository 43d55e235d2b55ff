/* SPDX-License-Identifier: BSD-3-Clause */
/* Asks a device what softhca assumes about cards, one probe after the other, and prints the answers. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"
#include "probe_child.h"
#include "softhca_pair.h"

static const struct {
	const char *title;
	const struct probe *probes;
} groups[] = {
	{"Keys and memory", probe_keys},
	{"Connections", probe_connections},
	{"Receives", probe_receives},
	{"Completion queues", probe_cqs},
	{"Signatures", probe_signatures},
	{"Encryption", probe_encryption},
	{"Raw packets", probe_raw},
	{"Device memory", probe_device_memory},
	{"Work queues", probe_wqs},
	{"Vendor syndromes", probe_vendors},
	{"Control", probe_control},
};

#define N_GROUPS (sizeof(groups) / sizeof(groups[0]))

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
	"  --list         prints what is assumed, and what cannot be asked; asks nothing\n"
	"\n"
	"Exit code: 0 the device was asked, whatever it answered; 1 it was not; 2 wrong arguments.\n";

static int
wrong(const char *what, const char *argument)
{
	fprintf(stderr, "hw_probe: %s%s. See hw_probe --help\n", what, argument);
	return 2;
}

/* Returns -1, or the exit code of a call that ends here. */
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
			return 2; /* getopt_long() has said what is wrong */
		}
	}
	return optind == argc ? -1 : wrong("unexpected argument: ", argv[optind]);
}

static void
list(void)
{
	for (size_t g = 0; g < N_GROUPS; g++) {
		printf("%s\n", groups[g].title);
		for (const struct probe *p = groups[g].probes; p->id != NULL; p++)
			printf("  %s: %s%s%s\n", p->id, p->assumed,
				p->ask == NULL ? " Not asked: " : "",
				p->ask == NULL ? p->not_asked : "");
	}
}

/* ---- the device */

struct device {
	char name[IBV_SYSFS_NAME_MAX], fw[64], error[PROBE_SEEN_MAX];
	uint32_t part;
	bool emulated;
};

/* The device of d->name, or the first one of mlx5. */
static struct ibv_device *
find_device(struct ibv_device **devices, const struct device *d)
{
	for (; devices != NULL && *devices != NULL; devices++)
		if (d->name[0] != '\0' ? strcmp(ibv_get_device_name(*devices), d->name) == 0
				       : mlx5dv_is_supported(*devices))
			return mlx5dv_is_supported(*devices) ? *devices : NULL;
	return NULL;
}

/* In a child: the adapter is emulated in the process that looks for it. */
static void
look_at_device(void *shared)
{
	struct device *d = shared;
	struct ibv_device *device = find_device(ibv_get_device_list(NULL), d);
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	struct ibv_context *ctx;

	d->emulated = softhca_active();
	if (device == NULL) {
		snprintf(d->error, sizeof(d->error),
			"there is no such mlx5 device here. ibv_devices lists the devices");
		return;
	}
	snprintf(d->name, sizeof(d->name), "%s", ibv_get_device_name(device));
	ctx = ibv_open_device(device);
	if (ctx == NULL || ibv_query_device(ctx, &attr) != 0 ||
		ibv_query_port(ctx, 1, &port) != 0) {
		snprintf(d->error, sizeof(d->error),
			"the device does not open: %m. May this user "
			"open /dev/infiniband/uverbs*?");
		return;
	}
	d->part = attr.vendor_part_id;
	snprintf(d->fw, sizeof(d->fw), "%s", attr.fw_ver);
	if (port.state != IBV_PORT_ACTIVE)
		snprintf(d->error, sizeof(d->error),
			"port 1 is %s. Connect it, or name another device by --device",
			ibv_port_state_str(port.state));
}

/* Returns false, and says why, if there is no device that may be asked. */
static bool
choose_device(const struct options *o, struct device *d)
{
	char why[PROBE_SEEN_MAX - 32];

	if (o->device != NULL)
		snprintf(d->name, sizeof(d->name), "%s", o->device);
	if (probe_child(look_at_device, d, why, sizeof(why)) != 0)
		snprintf(d->error, sizeof(d->error), "looking at the device: %s", why);
	if (d->emulated && !o->rehearse)
		snprintf(d->error, sizeof(d->error),
			"this machine has no mlx5 device. --rehearse asks the emulated one");
	if (d->error[0] == '\0')
		return true;
	fprintf(stderr, "hw_probe: %s\n", d->error);
	return false;
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

static const char *
result_text(enum probe_result result)
{
	static const char *const texts[] = {[PROBE_CANNOT] = "cannot be asked here",
		[PROBE_AS_ASSUMED] = "as assumed",
		[PROBE_OTHERWISE] = "otherwise"};

	return texts[result];
}

static void
print_text(const struct job *job)
{
	const char *text = result_text(job->answer.result);

	switch (job->answer.result) {
	case PROBE_CANNOT:
		printf("  %s: %s, because: %s\n", job->probe->id, text, job->answer.seen);
		break;
	case PROBE_OTHERWISE:
		printf("  %s: %s: %s\n    assumed: %s\n", job->probe->id, text, job->answer.seen,
			job->probe->assumed);
		break;
	default:
		printf("  %s: %s\n", job->probe->id, text);
	}
	fflush(stdout);
}

static void
print_json(const struct job *job, bool first)
{
	printf("%s\n    {\"id\": \"%s\", \"answer\": \"%s\", \"seen\": \"", first ? "" : ",",
		job->probe->id, result_text(job->answer.result));
	for (const char *s = job->answer.seen; *s != '\0'; s++) {
		if (*s == '"' || *s == '\\')
			putchar('\\');
		putchar((unsigned char)*s < ' ' ? ' ' : *s);
	}
	printf("\"}");
}

/* Asks the probes that were chosen. Returns how many. */
static unsigned int
ask_all(const struct options *o, struct job *job)
{
	unsigned int n = 0;

	for (size_t g = 0; g < N_GROUPS; g++) {
		if (!o->json && o->only == NULL)
			printf("%s\n", groups[g].title);
		for (const struct probe *p = groups[g].probes; p->id != NULL; p++) {
			if (o->only != NULL && strcmp(o->only, p->id) != 0)
				continue;
			run_probe(p, job);
			if (o->json)
				print_json(job, n == 0);
			else
				print_text(job);
			n++;
		}
	}
	return n;
}

static bool
is_known(const char *id)
{
	for (size_t g = 0; g < N_GROUPS; g++)
		for (const struct probe *p = groups[g].probes; p->id != NULL; p++)
			if (strcmp(id, p->id) == 0)
				return true;
	return false;
}

int
main(int argc, char **argv)
{
	struct options o = {0};
	struct device *device;
	int end = read_options(argc, argv, &o);

	if (end >= 0)
		return end;
	if (o.list) {
		list();
		return 0;
	}
	if (o.only != NULL && !is_known(o.only))
		return wrong("--list does not have the probe ", o.only);
	device = probe_share(sizeof(*device));
	if (!choose_device(&o, device))
		return 1;
	pair_device_name = device->name;
	if (o.json)
		printf("{\"device\": {\"part\": %u, \"fw\": \"%s\"},\n  \"answers\": [",
			device->part, device->fw);
	else
		printf("%s, part %u, firmware %s\n", device->name, device->part, device->fw);
	ask_all(&o, probe_share(sizeof(struct job)));
	if (o.json)
		printf("\n  ]}\n");
	return 0;
}
