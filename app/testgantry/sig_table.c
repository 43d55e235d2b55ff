/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Prints the table of --mode sig.
 */
#include "sig_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_common.h>

#include "report.h"

int
sum_add(struct samples *samples, uint64_t ns)
{
	uint64_t *grown;

	if (samples->n == samples->capacity) {
		samples->capacity = samples->capacity != 0 ? 2 * samples->capacity : 4096;
		grown = realloc(samples->ns, samples->capacity * sizeof(*grown));
		if (grown == NULL) {
			error_print("out of memory for latencies");
			return -1;
		}
		samples->ns = grown;
	}
	samples->ns[samples->n++] = ns;
	return 0;
}

void
sum_free(struct sig_sum *sum)
{
	for (int m = GANTRY_TXN_PIPELINED; m <= GANTRY_TXN_WAIT; m++)
		for (int kind = 0; kind < N_KINDS; kind++)
			free(sum->tally[m].samples[kind].ns);
}

static int
by_ns(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void
print_counts(const struct sig_sum *s, const char *name, size_t offset)
{
	printf("  %-34s", name);
	for (int m = GANTRY_TXN_PIPELINED; m <= GANTRY_TXN_WAIT; m++)
		printf(" %14" PRIu64, *(const uint64_t *)((const char *)&s->tally[m] + offset));
	putchar('\n');
}

static void
print_latencies(const struct sig_sum *s, enum kind kind, const char *name)
{
	static const struct {
		const char *name;
		unsigned int percent;
	} rows[] = {{"median, us", 50}, {"99 %, us", 99}};
	const struct samples *samples;

	print_counts(s, name, offsetof(struct tally, samples[kind].n));
	for (size_t i = 0; i < RTE_DIM(rows); i++) {
		printf("    %-32s", rows[i].name);
		for (int m = GANTRY_TXN_PIPELINED; m <= GANTRY_TXN_WAIT; m++) {
			samples = &s->tally[m].samples[kind];
			if (samples->n == 0)
				printf(" %14s", "-");
			else
				printf(" %14.1f",
					samples->ns[samples->n * rows[i].percent / 100] / 1e3);
		}
		putchar('\n');
	}
}

static void
print_found(const struct sig_sum *s, enum place place, const char *name)
{
	size_t at = offsetof(struct tally, found) + place * sizeof(struct found);
	char row[3][40];

	snprintf(row[0], sizeof(row[0]), "corrupted %s", name);
	snprintf(row[1], sizeof(row[1]), "  detected %s", name);
	snprintf(row[2], sizeof(row[2]), "  missed %s", name);
	print_counts(s, row[0], at + offsetof(struct found, corrupted));
	print_counts(s, row[1], at + offsetof(struct found, detected));
	print_counts(s, row[2], at + offsetof(struct found, missed));
}

static void
print_rates(const struct sig_sum *s)
{
	const struct tally *t;
	uint64_t n;

	printf("  %-34s", "transactions a second");
	for (int m = GANTRY_TXN_PIPELINED; m <= GANTRY_TXN_WAIT; m++) {
		t = &s->tally[m];
		n = 0;
		for (int kind = 0; kind < N_KINDS; kind++)
			n += t->samples[kind].n;
		printf(" %14.0f", t->ns != 0 ? n * 1e9 / t->ns : 0);
	}
	putchar('\n');
}

void
sum_print(const struct options *o, struct sig_sum *s)
{
	for (int m = GANTRY_TXN_PIPELINED; m <= GANTRY_TXN_WAIT; m++)
		for (int kind = 0; kind < N_KINDS; kind++)
			if (s->tally[m].samples[kind].n != 0)
				qsort(s->tally[m].samples[kind].ns, s->tally[m].samples[kind].n,
					sizeof(uint64_t), by_ns);
	printf("%" PRIu64 " blocks of %u bytes; on the disk: %s, %" PRIu64
	       " corrupted; on the wire: %s, %" PRIu64 " corrupted (seed %u)\n"
	       "up to %" PRIu64 " blocks in a transaction, %u transactions in flight\n",
		s->n_blocks, o->block_size, options_kind_name(o->guard), s->corrupted[DISK],
		options_kind_name(o->wire), s->corrupted[WIRE], o->seed,
		o->chunk_len / o->block_size, o->depth);
	if (o->encrypt != ENCRYPT_NONE)
		printf("encrypted on the disk by AES-256-XTS: %s; keys, one after the other: %" PRIu64
		       "\n",
			o->encrypt == ENCRYPT_DATA ? "data" : "data with their signatures",
			s->n_keys);
	printf("  %-34s %14s %14s\n", "counts of transactions", "pipelined", "waiting");
	print_latencies(s, STORE_GOOD, "stored, good response");
	print_latencies(s, STORE_BAD, "stored, bad response");
	print_latencies(s, FETCH_GOOD, "fetched, good response");
	print_latencies(s, FETCH_BAD, "fetched, bad response");
	print_rates(s);
	print_counts(s, "transactions opened", offsetof(struct tally, opened));
	print_counts(s, "  done", offsetof(struct tally, done));
	print_counts(s, "stops of the send queue", offsetof(struct tally, stops));
	print_counts(s, "good responses cancelled", offsetof(struct tally, cancelled));
	print_found(s, DISK, "on the disk");
	print_found(s, WIRE, "on the wire");
	print_counts(s, "false alarms", offsetof(struct tally, false_alarms));
	print_counts(s, "good response, wrong bytes", offsetof(struct tally, wrong));
}
