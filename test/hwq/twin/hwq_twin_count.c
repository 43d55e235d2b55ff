/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts how often each builder, setter, set of flags and QP type was compared. At the end it
 * checks that none of them was left out.
 */
#include "hwq_twin_count.h"

#define MAX_ROWS 256 /* number of builders times number of their types */

const unsigned int twin_flag_bits[TWIN_FLAGS] = {IBV_SEND_FENCE, IBV_SEND_SIGNALED,
	IBV_SEND_SOLICITED, IBV_SEND_IP_CSUM, IBV_SEND_INLINE};

static const char letters[TWIN_FLAGS] = {'F', 'S', 'O', 'C', 'I'};
static const char *const types[TWIN_TYPES] = {"RC", "UC", "UD", "XRC", "DCI", "RAW"};

static struct row {
	const struct twin_builder *builder;
	enum hwq_qp_type type;
	unsigned long total, cases[TWIN_SETTERS][TWIN_ALL];
} rows[MAX_ROWS];

static unsigned int n_rows;

static struct row *
row_of(const struct twin_builder *b, enum hwq_qp_type type)
{
	unsigned int i;

	for (i = 0; i < n_rows; i++)
		if (rows[i].builder == b && rows[i].type == type)
			return &rows[i];
	if (n_rows == MAX_ROWS)
		EMU_DIE("more than %u builders", MAX_ROWS);
	rows[n_rows] = (struct row){.builder = b, .type = type};
	return &rows[n_rows++];
}

/* Returns the index of a set of IBV_SEND_* flags. */
static unsigned int
flags_index(unsigned int flags)
{
	unsigned int i, index = 0;

	for (i = 0; i < TWIN_FLAGS; i++)
		index |= (flags & twin_flag_bits[i]) != 0 ? 1u << i : 0;
	return index;
}

void
twin_count(const struct twin_pair *p, const struct twin_work *w)
{
	struct row *r = row_of(w->builder, p->conf.type);

	r->cases[w->setter][flags_index(w->flags)]++;
	r->total++;
	twin_totals.cases++;
}

unsigned long
twin_fewest(const struct twin_pair *pairs, unsigned int n)
{
	unsigned long fewest = ~0ul;
	unsigned int i, k;

	for (i = 0; i < n; i++) {
		for (k = 0; pairs[i].builders[k] != NULL; k++) {
			unsigned long total;

			if (!twin_can_post(&pairs[i], pairs[i].builders[k]))
				continue;
			total = row_of(pairs[i].builders[k], pairs[i].conf.type)->total;
			fewest = total < fewest ? total : fewest;
		}
	}
	return fewest;
}

static void
print_flags(unsigned int index)
{
	unsigned int i;

	printf(" %s", index == 0 ? "-" : "");
	for (i = 0; i < TWIN_FLAGS; i++)
		if ((index >> i & 1) != 0)
			putchar(letters[i]);
}

static void
print_row(const struct row *r)
{
	unsigned int s, f;

	printf("  %-4s %-18s %lu\n", types[r->type], r->builder->name, r->total);
	for (s = 0; r->builder->setters[s] != NULL; s++) {
		printf("         %-24s", r->builder->setters[s]);
		for (f = 0; f < TWIN_ALL; f++) {
			if ((f & ~flags_index(r->builder->flags)) != 0)
				continue;
			print_flags(f);
			printf(" %lu", r->cases[s][f]);
		}
		putchar('\n');
	}
}

void
twin_print(void)
{
	unsigned int i;

	printf("cases by QP type and builder, then setter, then flags (F FENCE, S SIGNALED, "
	       "O SOLICITED, C IP_CSUM, I INLINE):\n");
	for (i = 0; i < n_rows; i++)
		print_row(&rows[i]);
	printf("  all %lu; split by libmlx5 %lu, filled by hwq %lu, refused by both %lu, batches "
	       "%lu, aborted %lu, small fences %lu, by hwq_wqe.h and hwq_burst.h %lu\n",
		twin_totals.cases, twin_totals.split, twin_totals.fills, twin_totals.refused,
		twin_totals.batches, twin_totals.aborted, twin_totals.small_fences,
		twin_totals.direct);
	printf("  %lu batches posted by hwq, of which the code knew the transport as a constant: %lu\n",
		twin_totals.posted, twin_totals.folded);
}

/* Checks that every setter was drawn with every set of flags that the builder allows. */
static void
row_coverage(const struct row *r)
{
	unsigned int s, f;

	for (s = 0; r->builder->setters[s] != NULL; s++)
		for (f = 0; f < TWIN_ALL; f++)
			CHECK((f & ~flags_index(r->builder->flags)) != 0 || r->cases[s][f] != 0,
				"%s %s with %s and flags %u was never drawn", types[r->type],
				r->builder->name, r->builder->setters[s], f);
}

void
twin_coverage(const struct twin_pair *pairs, unsigned int n)
{
	unsigned int i, k;

	for (i = 0; i < n; i++)
		for (k = 0; pairs[i].builders[k] != NULL; k++)
			if (twin_can_post(&pairs[i], pairs[i].builders[k]))
				row_of(pairs[i].builders[k], pairs[i].conf.type);
	for (i = 0; i < n_rows; i++)
		row_coverage(&rows[i]);
#ifdef TWIN_FOLDS /* set by meson.build */
	CHECK(twin_totals.folded == twin_totals.posted, "the transport was no constant");
#endif
	CHECK(twin_totals.aborted > 0 && twin_totals.refused > 0,
		"a case that must come up did not");
}
