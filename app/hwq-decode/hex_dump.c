/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Reads hex dumps in two steps. First each line is parsed into an offset and bytes. Then the
 * offsets show which lines a '*' replaces, and whether lines are missing.
 *
 * od and hexdump write offsets of 7 digits, octal, decimal or hexadecimal. A single offset may not
 * show which base it has. So each base is tried until one base fits all lines.
 */
#include "hex_dump.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define OFFSET_MIN   4 /* digits of an offset without a colon */
#define OFFSET_MAX   8
#define UNKNOWN_BASE 7 /* digits of an offset whose base is unknown */

/* One line of a dump. */
struct row {
	unsigned int number; /* line number */
	bool star;           /* the line is a '*': lines equal to the previous one were left out */
	bool has_offset;
	char offset[OFFSET_MAX + 1]; /* digits of the offset */
	/* bytes of the row, in dump.bytes: index of the first byte, and number of bytes */
	size_t begin, len;
	size_t group_len; /* bytes of the row's longest group */
};

struct dump {
	struct bytes bytes; /* bytes of all rows, one row after the other */
	struct row *row;
	size_t n_rows, room;
	bool offsets; /* the lines have offsets without a colon; then every line has an offset */
	enum group_order order;
};

/* ------------------------------------------------------------------ storage */

static bool
no_memory(size_t len)
{
	fprintf(stderr, "hwq-decode: no memory for more than %zu bytes\n", len);
	return false;
}

static bool
add_bytes(struct bytes *b, const uint8_t *from, size_t len)
{
	if (b->room - b->len < len) {
		size_t room = 2 * b->room + len + 4096;
		uint8_t *at = realloc(b->at, room);

		if (at == NULL)
			return no_memory(b->len);
		b->at = at;
		b->room = room;
	}
	memcpy(b->at + b->len, from, len);
	b->len += len;
	return true;
}

static struct row *
add_row(struct dump *d, unsigned int number)
{
	if (d->n_rows == d->room) {
		size_t room = 2 * d->room + 64;
		struct row *row = realloc(d->row, room * sizeof(*row));

		if (row == NULL) {
			no_memory(d->bytes.len);
			return NULL;
		}
		d->row = row;
		d->room = room;
	}
	d->row[d->n_rows] = (struct row){.number = number, .begin = d->bytes.len};
	return &d->row[d->n_rows++];
}

/* ------------------------------------------------------------------ a line */

static int
digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static const char *
skip_blanks(const char *p)
{
	while (isspace((unsigned char)*p))
		p++;
	return p;
}

/* Returns the number of hex digits at p. */
static size_t
count_digits(const char *p)
{
	size_t n = 0;

	while (digit(p[n]) >= 0)
		n++;
	return n;
}

static bool
ends_group(char c)
{
	return c == '\0' || isspace((unsigned char)c);
}

/*
 * Returns the number of digits of the line's offset, or 0 if the line has none. Without a colon, an
 * offset is recognized because its length differs from that of the next group.
 */
static size_t
offset_digits(const struct dump *d, const char *p)
{
	size_t n = count_digits(p), next;

	if (n == 0 || !ends_group(p[n]))
		return 0;
	next = count_digits(skip_blanks(p + n));
	if (d->offsets)
		return n <= OFFSET_MAX ? n : 0;
	return n >= OFFSET_MIN && n <= OFFSET_MAX && next != 0 && next != n ? n : 0;
}

/* The text may lack blanks at its end. */
static bool
is_text_of(const char *text, const uint8_t *bytes, size_t len)
{
	size_t n = strlen(text);

	for (size_t i = 0; i < len; i++)
		if ((i < n ? text[i] : ' ') !=
			(bytes[i] >= ' ' && bytes[i] < 0x7f ? bytes[i] : '.'))
			return false;
	return n <= len;
}

/*
 * Returns true for the text that xxd prints after the bytes: at least two blanks, then the bytes as
 * text. This text may begin with blanks too.
 */
static bool
is_text_behind(const char *blanks, const uint8_t *bytes, size_t len)
{
	size_t n = strspn(blanks, " ");

	for (size_t i = 2; i <= n; i++)
		if (is_text_of(blanks + i, bytes, len))
			return true;
	return false;
}

static bool
wrong_digits(const struct row *r, const char *line, const char *p)
{
	fprintf(stderr,
		"hwq-decode: line %u, column %zu: not a pair of hex digits: give bytes as pairs, "
		"comments after '#', or a dump by xxd, hexdump -C or od -A x -t x1\n",
		r->number, (size_t)(p - line) + 1);
	return false;
}

/* Reads the group of digits at *p, and moves *p to its end. */
static bool
read_group(struct dump *d, struct row *r, const char *line, const char **p)
{
	const bool numbers = r->has_offset && d->offsets;
	size_t n = count_digits(*p), len = n / 2;
	uint8_t byte;
	bool little;

	if (n % 2 != 0 || (!ends_group((*p)[n]) && (*p)[n] != '#'))
		return wrong_digits(r, line, *p + n / 2 * 2);
	if (numbers && len != 1 && len != 2 && len != 4 && len != 8) {
		fprintf(stderr,
			"hwq-decode: line %u: a group has %zu digits, where od and hexdump print 2, 4, "
			"8 or 16 in hexadecimal: use od -A x -t x1, or hexdump -C\n",
			r->number, n);
		return false;
	}
	little = d->order == GROUP_LITTLE_ENDIAN || (d->order == GROUP_BY_FORMAT && numbers);
	for (size_t i = 0; i < len; i++) {
		const char *pair = *p + 2 * (little ? len - 1 - i : i);

		byte = (uint8_t)(digit(pair[0]) << 4 | digit(pair[1]));
		if (!add_bytes(&d->bytes, &byte, 1))
			return false;
	}
	r->len += len;
	r->group_len = len > r->group_len ? len : r->group_len;
	*p += n;
	return true;
}

/*
 * Takes the offset from the line, if it has one, and removes the text that hexdump and od add.
 * Returns the rest of the line.
 */
static const char *
read_offset(struct dump *d, struct row *r, char *line)
{
	/*
	 * Ignore colons in the text that follows the bytes: a comment, or the characters that
	 * hexdump -C and od's z print.
	 */
	const char *colon = line + strcspn(line, ":#|>");
	const char *p = skip_blanks(line);
	size_t n;

	if (*colon == ':') {
		p += p[0] == '0' && (p[1] == 'x' || p[1] == 'X') ? 2 : 0;
		n = count_digits(p);
		r->has_offset = n > 0 && n <= OFFSET_MAX && p + n == colon;
		memcpy(r->offset, p, r->has_offset ? n : 0);
		return colon + 1;
	}
	line[strcspn(line, "|>")] = '\0';
	n = offset_digits(d, p);
	if (n == 0)
		return p;
	d->offsets = r->has_offset = true;
	memcpy(r->offset, p, n);
	return p + n;
}

static bool
read_line(struct dump *d, char *line, unsigned int number)
{
	struct row *r;
	const char *p, *begin;
	bool colon;

	line[strcspn(line, "\r\n")] = '\0';
	p = skip_blanks(line);
	if (*p == '\0' || *p == '#')
		return true;
	r = add_row(d, number);
	if (r == NULL)
		return false;
	if (*p == '*' && *skip_blanks(p + 1) == '\0') {
		r->star = true;
		return true;
	}
	p = read_offset(d, r, line);
	colon = p > line && p[-1] == ':';
	while (*p != '\0') {
		begin = p;
		p = skip_blanks(p);
		if (*p == '\0' || *p == '#')
			break;
		if (colon && r->len != 0 && is_text_behind(begin, d->bytes.at + r->begin, r->len))
			break;
		if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
			p += 2;
		if (!read_group(d, r, line, &p))
			return false;
	}
	return true;
}

/* ------------------------------------------------------------------ all lines */

/* Returns true if the digits are a number of this base. */
static bool
parse_offset(const char *digits, int base, uint64_t *offset)
{
	char *end;

	*offset = strtoull(digits, &end, base);
	return *end == '\0';
}

/* The reason why the rows are not a dump whose offsets have one base. */
struct misfit {
	const struct row *row; /* the row with the error; NULL: no error */
	const char *rule;
	uint64_t due;
};

static struct misfit
misfit(const struct row *r, const char *rule, uint64_t due)
{
	return (struct misfit){r, rule, due};
}

/* Joins the bytes of all rows, with offsets of this base. Returns false if there is no memory. */
static bool
join(const struct dump *d, int base, struct bytes *out, struct misfit *why)
{
	const struct row *before = NULL, *star = NULL;
	uint64_t due = 0, offset = 0;

	*why = (struct misfit){0};
	for (const struct row *r = d->row; r < d->row + d->n_rows; r++) {
		const bool first = before == NULL;

		if (r->star) {
			if (first || before->len == 0 || !before->has_offset)
				*why = misfit(r,
					"a '*' repeats the previous line, which must have an offset",
					0);
			star = r;
			if (why->row != NULL)
				return true;
			continue;
		}
		if (r->has_offset && !parse_offset(r->offset, base, &offset)) {
			*why = misfit(r,
				"its offset has more or fewer digits than those of earlier lines",
				due);
			return true;
		}
		if (star != NULL) {
			if (!r->has_offset || offset <= due || (offset - due) % before->len != 0) {
				*why = misfit(r,
					"the offset after a '*' must be a whole number of lines further",
					due);
				return true;
			}
			for (; due < offset; due += before->len)
				if (!add_bytes(out, d->bytes.at + before->begin, before->len))
					return false;
		} else if (r->has_offset && !first && before->has_offset && offset != due) {
			if (r->len == 0 && offset < due && due - offset < before->group_len) {
				/* the dump has padded the last group: remove the padding */
				out->len -= due - offset;
			} else if (offset > due) {
				*why = misfit(r, "lines before it are missing", due);
				return true;
			} else if (offset != 0) { /* offset 0 is no error: another dump begins */
				*why = misfit(r, "its offset is not where the previous line ends",
					due);
				return true;
			}
		}
		star = NULL;
		if (!add_bytes(out, d->bytes.at + r->begin, r->len))
			return false;
		due = (r->has_offset ? offset : due) + r->len;
		before = r;
	}
	if (star != NULL)
		*why = misfit(star, "after a '*' a line with the next offset must come", due);
	return true;
}

/* The bases that the dump's offsets may have. The default base of the tools comes first. */
static size_t
bases_of(const struct dump *d, const int **bases)
{
	static const int all[] = {16, 8, 10};
	size_t n = 1;

	for (size_t i = 0; i < d->n_rows && d->offsets; i++)
		if (strlen(d->row[i].offset) == UNKNOWN_BASE)
			n = sizeof(all) / sizeof(all[0]);
	*bases = all;
	return n;
}

static bool
same_bytes(const struct bytes *a, const struct bytes *b)
{
	return a->len == b->len && (a->len == 0 || memcmp(a->at, b->at, a->len) == 0);
}

/*
 * Joins the rows, using the base that fits. If two bases fit with different results, this is an
 * error.
 */
static bool
join_all(const struct dump *d, struct bytes *b)
{
	struct misfit first_why = {0}, why;
	const int *bases;
	size_t n = bases_of(d, &bases);
	bool found = false, good = true;

	for (size_t i = 0; good && i < n; i++) {
		struct bytes one = {0};

		good = join(d, bases[i], &one, &why);
		if (i == 0)
			first_why = why;
		if (good && why.row == NULL && !found) {
			*b = one;
			found = true;
			continue;
		}
		if (good && why.row == NULL && !same_bytes(&one, b)) {
			fprintf(stderr,
				"hwq-decode: the lines that '*' repeats depend on the base of the "
				"offsets, and more than one base fits: dump again without '*': od -v, "
				"hexdump -v\n");
			good = false;
		}
		free(one.at);
	}
	if (good && !found) {
		fprintf(stderr, "hwq-decode: line %u: %s", first_why.row->number, first_why.rule);
		if (first_why.row->has_offset)
			fprintf(stderr, ": offset %s, where 0x%" PRIx64 " is due",
				first_why.row->offset, first_why.due);
		fprintf(stderr, "; dump again, with hexdump -v -C or od -v -A x -t x1\n");
	}
	return good && found;
}

bool
hex_dump_read(FILE *f, enum group_order order, struct bytes *b)
{
	struct dump d = {.order = order};
	unsigned int number = 0;
	size_t room = 0;
	char *line = NULL;
	bool good = true;

	while (good && getline(&line, &room, f) > 0)
		good = read_line(&d, line, ++number);
	free(line);
	if (good && ferror(f)) {
		fprintf(stderr, "hwq-decode: cannot read the dump: %s\n", strerror(errno));
		good = false;
	}
	if (good)
		good = join_all(&d, b);
	if (good && b->len == 0) {
		fprintf(stderr, "hwq-decode: no bytes: give a hex dump, such as '00 01 02'\n");
		good = false;
	}
	free(d.bytes.at);
	free(d.row);
	return good;
}
