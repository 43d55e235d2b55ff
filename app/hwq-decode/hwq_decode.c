/* SPDX-License-Identifier: BSD-3-Clause */
/* The command hwq-decode: prints a hex dump of WQEs or CQEs as text, by hwq_dump.h. */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hwq_dump.h>

#define TEXT_LEN 65536

static const char help[] =
	"usage: hwq-decode [OPTION...] wqe|cqe [FILE]\n"
	"\n"
	"Reads a hex dump from FILE or from standard input, and prints it as text: each WQE of a\n"
	"part of a send queue, or each CQE of a part of a completion queue.\n"
	"\n"
	"Bytes are pairs of hex digits in the order of memory, with or without blanks between\n"
	"them. Ignored are an offset with a colon at the start of a line, '0x', and a comment\n"
	"from '#' to the end of a line. A WQE has the length of its control segment, rounded up\n"
	"to 64 bytes. A CQE has 64 bytes.\n"
	"\n"
	"  -t, --transport T  the transport of the queue pair, which a WQE does not contain: rc\n"
	"                     (for uc, too; the default), ud, xrc, dc, raw\n"
	"  -h, --help         prints this text\n"
	"\n"
	"Exit status: 0 if all was printed; 1 if the input is not such a dump; 2 for wrong usage.\n"
	"\n"
	"  echo '00000000 00012301 00000008 00000000' | hwq-decode wqe\n";

static const struct {
	const char *name;
	enum hwq_transport transport;
} transports[] = {
	{"rc", HWQ_TRANSPORT_NONE},
	{"uc", HWQ_TRANSPORT_NONE},
	{"ud", HWQ_TRANSPORT_UD},
	{"xrc", HWQ_TRANSPORT_XRC},
	{"dc", HWQ_TRANSPORT_DC},
	{"raw", HWQ_TRANSPORT_ETH},
};

struct bytes {
	uint8_t *at;
	size_t len, room;
};

static int
wrong_usage(const char *what, const char *which)
{
	fprintf(stderr, "hwq-decode: %s%s; see hwq-decode --help\n", what, which);
	return 2;
}

static bool
add_byte(struct bytes *b, uint8_t byte)
{
	if (b->len == b->room) {
		size_t room = b->room == 0 ? 4096 : 2 * b->room;
		uint8_t *at = realloc(b->at, room);

		if (at == NULL) {
			fprintf(stderr, "hwq-decode: no memory for more than %zu bytes\n", b->len);
			return false;
		}
		b->at = at;
		b->room = room;
	}
	b->at[b->len++] = byte;
	return true;
}

static int
digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool
read_line(const char *line, unsigned int number, struct bytes *b)
{
	const char *colon = strchr(line, ':'), *comment = strchr(line, '#'), *p = line;

	if (colon != NULL && (comment == NULL || colon < comment))
		p = colon + 1;
	while (*p != '\0' && *p != '#') {
		if (isspace((unsigned char)*p)) {
			p++;
		} else if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) {
			p += 2;
		} else if (digit(p[0]) < 0 || digit(p[1]) < 0) {
			fprintf(stderr,
				"hwq-decode: line %u, column %zu: not a pair of hex digits: give "
				"bytes in pairs, comments after '#'\n",
				number, (size_t)(p - line) + 1);
			return false;
		} else {
			if (!add_byte(b, (uint8_t)(digit(p[0]) << 4 | digit(p[1]))))
				return false;
			p += 2;
		}
	}
	return true;
}

static bool
read_dump(FILE *f, struct bytes *b)
{
	unsigned int number = 0;
	size_t room = 0;
	char *line = NULL;
	bool good = true;

	while (good && getline(&line, &room, f) > 0)
		good = read_line(line, ++number, b);
	free(line);
	if (good && ferror(f)) {
		fprintf(stderr, "hwq-decode: cannot read the dump: %s\n", strerror(errno));
		good = false;
	}
	if (good && b->len == 0) {
		fprintf(stderr, "hwq-decode: no bytes: give a hex dump, as '00 01 02'\n");
		good = false;
	}
	return good;
}

/*
 * Prints each WQE and skips the room that it takes in the ring. The last WQE may end with its last
 * segment.
 */
static int
print_wqes(const struct bytes *b, enum hwq_transport transport, char *text)
{
	size_t at = 0;

	while (at < b->len) {
		size_t left = b->len - at, ds, len;

		if (left < HWQ_DS_LEN) {
			fprintf(stderr,
				"hwq-decode: only %zu bytes from byte %zu on: a WQE starts with 16\n",
				left, at);
			return 1;
		}
		ds = b->at[at + 7] & HWQ_DS_MAX;
		len = ds == 0 ? HWQ_BB_LEN : (size_t)hwq_ds_to_bb((unsigned int)ds) * HWQ_BB_LEN;
		if (ds * HWQ_DS_LEN > left) {
			fprintf(stderr,
				"hwq-decode: the WQE at byte %zu has %zu bytes, of which %zu are "
				"given: dump all of it\n",
				at, ds * HWQ_DS_LEN, left);
			return 1;
		}
		hwq_dump_wqe_as(transport, b->at + at, left, text, TEXT_LEN);
		fputs(text, stdout);
		at += len;
	}
	return 0;
}

static int
print_cqes(const struct bytes *b, char *text)
{
	size_t at;

	if (b->len % sizeof(struct mlx5_cqe64) != 0) {
		fprintf(stderr,
			"hwq-decode: %zu bytes: a CQE has 64. Give the second half of 128-byte CQEs\n",
			b->len);
		return 1;
	}
	for (at = 0; at < b->len; at += sizeof(struct mlx5_cqe64)) {
		hwq_dump_cqe(b->at + at, text, TEXT_LEN);
		fputs(text, stdout);
	}
	return 0;
}

static int
decode(const char *kind, const char *path, enum hwq_transport transport)
{
	FILE *f = path == NULL ? stdin : fopen(path, "r");
	char *text = malloc(TEXT_LEN);
	struct bytes b = {0};
	int ret = 1;

	if (f == NULL)
		fprintf(stderr, "hwq-decode: %s: %s\n", path, strerror(errno));
	else if (text == NULL)
		fprintf(stderr, "hwq-decode: no memory\n");
	else if (read_dump(f, &b))
		ret = strcmp(kind, "wqe") == 0 ? print_wqes(&b, transport, text)
					       : print_cqes(&b, text);
	if (f != NULL && f != stdin)
		fclose(f);
	free(text);
	free(b.at);
	return ret;
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {{"transport", required_argument, NULL, 't'},
		{"help", no_argument, NULL, 'h'}, {0}};
	enum hwq_transport transport = HWQ_TRANSPORT_NONE;
	const size_t n = sizeof(transports) / sizeof(transports[0]);
	size_t i;
	int c;

	while ((c = getopt_long(argc, argv, "t:h", options, NULL)) != -1) {
		if (c == 'h') {
			fputs(help, stdout);
			return 0;
		}
		if (c != 't')
			return wrong_usage("wrong option", "");
		for (i = 0; i < n && strcmp(transports[i].name, optarg) != 0; i++)
			;
		if (i == n)
			return wrong_usage("no such transport: ", optarg);
		transport = transports[i].transport;
	}
	if (argc - optind < 1 || argc - optind > 2)
		return wrong_usage("say what it is, wqe or cqe, and at most one file", "");
	if (strcmp(argv[optind], "wqe") != 0 && strcmp(argv[optind], "cqe") != 0)
		return wrong_usage("neither wqe nor cqe: ", argv[optind]);
	return decode(argv[optind], argv[optind + 1], transport);
}
