/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Checks the options of two processes, connects the processes, and runs the mode.
 */
#include "pair.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>

#include "device.h"
#include "lcores.h"
#include "pair_address.h"
#include "pair_files.h"
#include "pair_hello.h"
#include "pair_lane.h"
#include "pair_rdma.h"
#include "pair_state.h"
#include "pair_target.h"
#include "report.h"
#include "sig_flow.h"

#define CHUNK_MAX ((UINT64_C(1) << 30) - PAIR_CHUNK_LEN) /* a chunk is one message */

/* ------------------------------------------------------------------ options */

static int
check_options(const struct app *app)
{
	const struct options *o = &app->opt;
	const bool sig = o->mode == MODE_SIG;

	if (o->listen[0] != '\0' && o->connect[0] != '\0')
		error_print("--listen and --connect: one process has --listen, and the other one "
			    "--connect");
	else if (o->interactive)
		error_print("--%s: the prompt moves files in one process: leave out -i",
			o->listen[0] != '\0' ? "listen" : "connect");
	else if (o->mode == MODE_COPY)
		error_print("--mode copy: a copy stays in one process: use --mode write, read or "
			    "send");
	else if (!sig && o->chunk_len > CHUNK_MAX)
		error_print("--chunk: between two processes at most %" PRIu64 " bytes are possible",
			CHUNK_MAX);
	else if (o->listen[0] != '\0' && app->n_inputs != 0)
		error_print("--listen: this process gets the %s of the other process: name the "
			    "files after --connect",
			sig ? "blocks" : "files");
	else if (o->connect[0] != '\0' && o->out[0] != '\0')
		error_print("--out: %s: leave it out here",
			sig ? "--mode sig writes no files"
			    : "the process with --listen writes the files");
	else
		return 0;
	return -1;
}

int
pair_prepare(struct app *app)
{
	struct options *o = &app->opt;
	struct address address;

	if (check_options(app) != 0)
		return -1;
	if (o->rdma_cm ? rdma_check(o) != 0
		       : address_parse(o->listen[0] != '\0' ? "listen" : "connect",
				 o->listen[0] != '\0' ? o->listen : o->connect, &address) != 0)
		return -1;
	if (o->connect[0] != '\0') {
		if (job_plan_inputs(app, NULL) != 0)
			return -1;
		app->set.skip_unreadable = false; /* the other process knows the list of files */
		return o->mode == MODE_SIG ? 0 : files_check_same(&app->set);
	}
	if (o->mode == MODE_SIG)
		return 0;
	if (o->out[0] == '\0') {
		error_print("no output folder: --out DIR; testgantry -h explains");
		return -1;
	}
	return files_plan(&app->set, NULL, 0, o->out, false, false);
}

unsigned int
pair_lcores(const struct options *o)
{
	return RTE_MAX(o->nb_cores, 1u) + 1;
}

/* ------------------------------------------------------------------ run */

/* Connects a socket to the other process. Returns the stream, or NULL. */
static struct stream *
socket_meet(const struct pair *p)
{
	const struct options *o = p->opt;
	struct stream *stream;
	struct address address;
	int listener, fd;

	if (address_parse(p->connects ? "connect" : "listen", p->connects ? o->connect : o->listen,
		    &address) != 0)
		return NULL;
	if (p->connects) {
		fd = address_connect(&address, o->give_up);
	} else {
		listener = address_bind(&address);
		if (listener < 0)
			return NULL;
		fd = address_accept(listener, &address, o->give_up);
		address_close(listener, &address);
	}
	if (fd < 0)
		return NULL;
	stream = stream_of_socket(fd);
	if (stream == NULL)
		error_print("out of memory");
	return stream;
}

/* Connects to the other process. Returns 0 or -1. */
static int
find_partner(struct pair *p)
{
	struct stream *stream = p->opt->rdma_cm ? rdma_meet(p->opt) : socket_meet(p);

	return stream == NULL ? -1 : talk_create(stream, p->opt->give_up, &p->talk);
}

static void
say_partner(const struct pair *p, unsigned int n_lanes)
{
	static const char *const how[] = {[MODE_WRITE] = "RDMA write to the other process",
		[MODE_READ] = "RDMA read by the other process",
		[MODE_SEND] = "messages to the other process"};
	struct gantry_info info;

	gantry_info_get(p->engine, &info);
	printf("device %s, %u worker lcore%s, %s: %s\n", info.device, n_lanes,
		n_lanes == 1 ? "" : "s",
		p->opt->load.transport == GANTRY_TRANSPORT_DC ? "DC" : "RC",
		p->connects ? how[p->opt->mode] : "files come from the other process");
	fflush(stdout);
}

/*
 * Sends and compares the settings that must be equal. In mode sig the number of lanes is not
 * compared, because mode sig has one lane.
 */
static int
greet(const struct pair *p, unsigned int n_lanes)
{
	char mine[HELLO_LEN];
	size_t len = options_both_print(p->opt, mine, sizeof(mine));

	if (p->opt->mode != MODE_SIG)
		snprintf(mine + len, sizeof(mine) - len, "nb-cores %u\n", n_lanes);
	return hello(p->talk, mine);
}

static int
run(struct pair *p)
{
	unsigned int n_lanes;

	if (lcores_workers(p->opt->nb_cores, &n_lanes) != 0 ||
		(p->opt->mode != MODE_SIG &&
			device_open(p->opt, (struct gantry_conf){0}, &p->engine) != 0) ||
		find_partner(p) != 0 || greet(p, n_lanes) != 0)
		return -1;
	if (p->opt->mode != MODE_SIG) {
		say_partner(p, n_lanes);
		return pair_files(p, n_lanes);
	}
	return p->connects ? sig_run(p->opt, &p->app->set, p) : pair_target(p);
}

int
pair_run(struct app *app)
{
	struct pair p = {
		.app = app,
		.opt = &app->opt,
		.connects = app->opt.connect[0] != '\0',
	};
	int rc;

	error_keep(&p.error);
	rc = run(&p);
	if (rc != 0 && p.talk != NULL)
		pair_fail(&p);
	if (p.engine != NULL && gantry_destroy(p.engine) != 0) {
		error_print("the engine was still in use when it was closed");
		rc = -1;
	}
	error_keep(NULL);
	if (p.talk != NULL)
		talk_end(p.talk);
	if (rc != 0 && p.error == NULL && stop_signal != 0)
		job_say_stopped(
			p.talk != NULL ? "the other process has been told" : "nothing was moved");
	else if (rc != 0)
		error_print("%s", p.error != NULL ? p.error : PAIR_UNSAID);
	if (rc != 0 && stop_signal != 0)
		rc = JOB_STOPPED;
	free(p.error);
	return rc;
}
