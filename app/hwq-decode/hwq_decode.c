/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command hwq-decode: prints a hex dump of WQEs or CQEs as text, with the functions of
 * hwq_dump.h.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hwq_dump.h>

#include "hex_dump.h"

#define TEXT_LEN 65536

static const char help[] =
	"usage: hwq-decode [OPTION...] wqe|cqe [FILE]\n"
	"\n"
	"Reads a hex dump from FILE or from standard input, and prints it as text: each WQE of a\n"
	"part of a send queue, or each CQE of a part of a completion queue.\n"
	"\n"
	"A dump is one of these:\n"
	"  xxd, xxd -p           not xxd -e\n"
	"  hexdump -C, hexdump\n"
	"  od -t x1, x2, x4, x8  with any -A. od and hexdump print groups of several bytes as\n"
	"                        numbers of a little-endian machine: for od --endian=big, and for dumps\n"
	"                        of a big-endian machine, add --endian big; for od -A n, --endian little\n"
	"  pairs of hex digits in the order of memory, with or without blanks between them;\n"
	"                        an offset, or a name and a colon, may come first\n"
	"Without a colon, a line begins with an offset if its first group has 4 to 8 digits and the\n"
	"second group has another number of digits. After such a line, each line must begin with one.\n"
	"A '*' repeats the previous line. '0x' is ignored, and so is a comment from '#' to the\n"
	"end of a line. A WQE has the length of its control segment, rounded up to 64 bytes. A CQE\n"
	"has 64 bytes.\n"
	"\n"
	"  -e, --endian ORDER  the order of bytes in a group: big, as in memory; or little\n"
	"  -t, --transport T  the transport of the queue pair, which a WQE does not contain: rc\n"
	"                     (for uc, too; the default), ud, xrc, dc, raw\n"
	"  -h, --help         prints this text\n"
	"  --version          prints the version\n"
	"\n"
	"Exit status: 0: everything was printed; 1: the input is not such a dump; 2: wrong usage.\n"
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

static int
wrong_usage(const char *what, const char *which)
{
	fprintf(stderr, "hwq-decode: %s%s; see hwq-decode --help\n", what, which);
	return 2;
}

/*
 * Prints each WQE, and continues at the next WQEBB of the ring. The last WQE may end with its last
 * segment, before the end of its WQEBB.
 */
static int
print_wqes(const struct bytes *b, enum hwq_transport transport, char *text)
{
	size_t at = 0;

	while (at < b->len) {
		size_t left = b->len - at, ds, len;

		if (left < HWQ_DS_LEN) {
			fprintf(stderr,
				"hwq-decode: only %zu bytes from byte %zu on: the control segment of a WQE has 16\n",
				left, at);
			return 1;
		}
		ds = b->at[at + 7] & HWQ_DS_MAX;
		len = ds == 0 ? HWQ_BB_LEN : (size_t)hwq_ds_to_bb((unsigned int)ds) * HWQ_BB_LEN;
		if (ds * HWQ_DS_LEN > left) {
			fprintf(stderr,
				"hwq-decode: the WQE at byte %zu has %zu bytes, and %zu are "
				"given: dump the whole WQE\n",
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
			"hwq-decode: %zu bytes: a CQE has 64. Of a 128-byte CQE, give the second half\n",
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
decode(const char *kind, const char *path, enum hwq_transport transport, enum group_order order)
{
	FILE *f = path == NULL ? stdin : fopen(path, "r");
	char *text = malloc(TEXT_LEN);
	struct bytes b = {0};
	int ret = 1;

	if (f == NULL)
		fprintf(stderr, "hwq-decode: %s: %s\n", path, strerror(errno));
	else if (text == NULL)
		fprintf(stderr, "hwq-decode: no memory\n");
	else if (hex_dump_read(f, order, &b))
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
		{"endian", required_argument, NULL, 'e'}, {"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'}, {0}};
	enum group_order order = GROUP_BY_FORMAT;
	enum hwq_transport transport = HWQ_TRANSPORT_NONE;
	const size_t n = sizeof(transports) / sizeof(transports[0]);
	size_t i;
	int c;

	while ((c = getopt_long(argc, argv, "t:e:h", options, NULL)) != -1) {
		if (c == 'h') {
			fputs(help, stdout);
			return 0;
		}
		if (c == 'V') {
			puts("hwq-decode " VERSION);
			return 0;
		}
		if (c == 'e') {
			if (strcmp(optarg, "big") != 0 && strcmp(optarg, "little") != 0)
				return wrong_usage("--endian is big or little, not ", optarg);
			order = optarg[0] == 'b' ? GROUP_AS_IN_MEMORY : GROUP_LITTLE_ENDIAN;
			continue;
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
		return wrong_usage("give wqe or cqe, and at most one file", "");
	if (strcmp(argv[optind], "wqe") != 0 && strcmp(argv[optind], "cqe") != 0)
		return wrong_usage("neither wqe nor cqe: ", argv[optind]);
	return decode(argv[optind], argv[optind + 1], transport, order);
}
