/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Counts the points of a sweep, and finds the values of each point.
 */
#include "load_conf.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

#include <rte_common.h>

#include "options.h"
#include "quote.h"
#include "report.h"

#define LOAD_POINTS_MAX 10000u

uint64_t
load_points(const struct options *o)
{
	uint64_t n = 1;

	for (int i = 0; i < LOAD_AXES; i++)
		n *= RTE_MAX(o->load.list[i].n, 1u);
	return n;
}

void
load_point_get(const struct options *o, uint64_t number, struct load_point *p)
{
	const struct load_list *list;

	*p = (struct load_point){{
		[AXIS_CORES] = o->nb_cores,
		[AXIS_PEERS] = o->load.peers,
		[AXIS_REGIONS] = o->load.regions,
		[AXIS_SGE] = o->load.sge,
		[AXIS_LAYOUTS] = o->load.layouts,
		[AXIS_DEPTH] = o->depth,
		[AXIS_BURST] = o->burst,
		[AXIS_RATE] = o->load.rate,
		[AXIS_SIZE] = o->load.size,
	}};
	for (int i = LOAD_AXES; i-- > 0;) {
		list = &o->load.list[i];
		if (list->n == 0)
			continue;
		p->value[i] = list->value[number % list->n];
		number /= list->n;
	}
}

uint32_t
load_cores(const struct options *o)
{
	const struct load_list *list = &o->load.list[AXIS_CORES];
	uint64_t most = RTE_MAX(o->nb_cores, 1u);

	for (uint32_t i = 0; i < list->n; i++)
		most = RTE_MAX(most, list->value[i]);
	return most;
}

/* Checks the settings of one point. Returns 0, or -1 with the error printed. */
static int
check_point(const struct options *o, const struct load_point *p)
{
	const uint64_t size = p->value[AXIS_SIZE], sge = p->value[AXIS_SGE];

	if (load_mix_has(&o->load.mix, load_op_has_pieces) && size < sge) {
		error_print("--size: %" PRIu64 " bytes cannot be divided into --sge %" PRIu64
			    " pieces: give more bytes, or fewer pieces",
			size, sge);
		return -1;
	}
	if (!load_mix_has(&o->load.mix, load_op_is_txn))
		return 0;
	if (size % o->block_size != 0) {
		error_print("--size: a txn has whole blocks, but %" PRIu64
			    " bytes are not: give a multiple of --block %u",
			size, o->block_size);
		return -1;
	}
	if (size > GANTRY_TXN_MAX_LEN) {
		error_print("--size: a txn has at most %" PRIu64 " bytes", GANTRY_TXN_MAX_LEN);
		return -1;
	}
	return 0;
}

/*
 * Refuses settings that no operation of the mix uses, because such a setting would have no effect.
 * Returns 0, or -1 with the error printed.
 */
static int
check_used(const struct options *o)
{
	const struct {
		const char *option;
		bool given;
		bool (*is)(const struct load_op *op);
		const char *by;
	} rules[] = {
		{"by", o->load.by != GANTRY_CARRIER_USUAL, load_op_has_carrier, "copy, fill or sg"},
		{"patterns", o->load.patterns != 1, load_op_is_fill, "fill"},
		{"transport", o->load.transport != GANTRY_TRANSPORT_RC, load_op_has_connection,
			"an operation that goes to a peer"},
		{"max-inline", o->load.max_inline != 0, load_op_has_message,
			"write, write-imm, send or txn"},
	};

	for (size_t i = 0; i < RTE_DIM(rules); i++) {
		if (!rules[i].given || load_mix_has(&o->load.mix, rules[i].is))
			continue;
		error_print("--%s: no operation of this --load uses it: leave it out, or add %s",
			rules[i].option, rules[i].by);
		return -1;
	}
	return 0;
}

int
load_check(const struct options *o)
{
	const uint64_t n = load_points(o);
	struct load_point p;

	if (n > LOAD_POINTS_MAX) {
		error_print("the lists ask for %" PRIu64 " measurements: at most %u are possible",
			n, LOAD_POINTS_MAX);
		return -1;
	}
	if (load_mix_has(&o->load.mix, load_op_is_txn) && o->guard == GANTRY_SIG_NONE) {
		error_print("--guard: a txn checks signatures: give a kind other than none");
		return -1;
	}
	if (load_mix_has(&o->load.mix, load_op_is_txn) &&
		o->load.transport == GANTRY_TRANSPORT_DC) {
		error_print(
			"--transport dc: a txn needs a connection of its own: use rc, or leave txn out");
		return -1;
	}
	if (check_used(o) != 0)
		return -1;
	for (uint64_t i = 0; i < n; i++) {
		load_point_get(o, i, &p);
		if (check_point(o, &p) != 0)
			return -1;
	}
	return 0;
}

int
load_percents_parse(const char *name, const char *text, struct load_percents *percents)
{
	struct load_percents parsed = {0};
	const char *at = text;
	double value;
	char *end;

	do {
		value = isdigit((unsigned char)*at) ? strtod(at, &end) : 0;
		if (!(value > 0 && value <= 100) || (*end != ',' && *end != '\0') ||
			parsed.n == LOAD_PERCENTS_MAX) {
			error_print("--%s: %s is refused: give up to %u numbers above 0 and up to "
				    "100, as in 50,99,99.9",
				name, quote_value(text), LOAD_PERCENTS_MAX);
			return -1;
		}
		parsed.value[parsed.n++] = value;
		at = end + 1;
	} while (*end == ',');
	*percents = parsed;
	return 0;
}

bool
load_uses(const struct options *o, enum load_axis axis)
{
	switch (axis) {
	case AXIS_PEERS:
		return load_mix_has(&o->load.mix, load_op_has_peer);
	case AXIS_RATE:
		return o->load.rate != 0;
	case AXIS_SGE:
		return load_mix_has(&o->load.mix, load_op_has_pieces);
	case AXIS_LAYOUTS:
		return load_mix_has(&o->load.mix, load_op_has_layout);
	default:
		return true;
	}
}
