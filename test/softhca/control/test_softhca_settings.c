/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The settings: the default, the smallest and the largest value of each setting, and the message
 * for other values. Expected values: the table in doc/softhca-settings.md.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "check.h"
#include "config.h"
#include "settings.h"

extern char **environ;

static char err[1024];

static int
load(struct softhca_config *cfg)
{
	memset(err, 0, sizeof(err));
	return settings_load(cfg, err, sizeof(err));
}

/* Loads the settings with one environment variable set. */
static int
load_with(struct softhca_config *cfg, const char *name, const char *value)
{
	int rc;

	memset(cfg, 0x5a, sizeof(*cfg));
	CHECK_EQ(setenv(name, value, 1), 0);
	rc = load(cfg);
	CHECK_EQ(unsetenv(name), 0);
	return rc;
}

static int
load_file(struct softhca_config *cfg, const char *text)
{
	char path[64];
	int fd = memfd_create("settings", MFD_CLOEXEC), rc;

	CHECK(fd >= 0);
	CHECK_EQ(write(fd, text, strlen(text)), strlen(text));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	rc = load_with(cfg, "SOFTHCA_CONFIG", path);
	close(fd);
	return rc;
}

struct row {
	const char *name; /* without the prefix SOFTHCA_ */
	size_t at, width; /* offset and size of the field */
	uint64_t min, max, def;
	bool power_of_two, or_zero;
	const char *takes; /* the text that the message must contain */
};

#define FIELD(f) offsetof(struct softhca_config, f), sizeof(((struct softhca_config *)0)->f)

static const struct row rows[] = {
	{"PART_ID", FIELD(part_id), 0x1011, 0xffff, 41692, .takes = "a number from 4113 to 65535"},
	{"DEVICES", FIELD(devices), 1, 8, 1, .takes = "a number from 1 to 8"},
	{"PORTS", FIELD(ports), 1, 2, 1, .takes = "a number from 1 to 2"},
	{"FUNCTIONS", FIELD(functions), 1, 8, 1, .takes = "a number from 1 to 8"},
	{"LAG", FIELD(lag), 0, 1, 0, .takes = "0 or 1"},
	{"THREADS", FIELD(threads), 0, 16, 1, .takes = "a number from 0 to 16"},
	{"FORCE", FIELD(force), 0, 1, 0, .takes = "0 or 1"},
	{"STRICT_DOORBELLS", FIELD(strict_doorbells), 0, 1, 1, .takes = "0 or 1"},
	{"ETH_INLINE", FIELD(eth_inline), 0, 1, 0, .takes = "0 or 1"},
	{"MMO_QP", FIELD(mmo_qp), 0, 1, 1, .takes = "0 or 1"},
	{"DEVX", FIELD(devx), 0, 1, 1, .takes = "0 or 1"},
	{"DC", FIELD(dc), 0, 1, 1, .takes = "0 or 1"},
	{"SIGNATURES", FIELD(signatures), 0, 1, 1, .takes = "0 or 1"},
	{"SIG_PIPELINING", FIELD(sig_pipelining), 0, 1, 1, .takes = "0 or 1"},
	{"DM_ZEROED", FIELD(dm_zeroed), 0, 1, 1, .takes = "0 or 1"},
	{"BF_REG_SIZE", FIELD(bf_reg_size), 128, 512, 512, true, true,
		"0 (off) or a power of two from 128 to 512"},
	{"MAX_MEMCPY", FIELD(max_memcpy), 64, 2147483648, 2097152, true, true,
		"0 (off) or a power of two from 64 to 2147483648"},
	{"MAX_MR_SIZE", FIELD(max_mr_size), 4096, UINT64_MAX, UINT64_MAX,
		.takes = "a number from 4096 to 18446744073709551615"},
	{"MAX_QP", FIELD(max_qp), 1, 131072, 16384, .takes = "a number from 1 to 131072"},
	{"MAX_SRQ", FIELD(max_srq), 1, 131072, 16384, .takes = "a number from 1 to 131072"},
	{"MAX_CQ", FIELD(max_cq), 1, 131072, 16384, .takes = "a number from 1 to 131072"},
	{"MAX_MR", FIELD(max_mr), 1, 1048576, 131072, .takes = "a number from 1 to 1048576"},
	{"MAX_PD", FIELD(max_pd), 1, 65536, 16384, .takes = "a number from 1 to 65536"},
	{"MAX_AH", FIELD(max_ah), 1, 1048576, 65536, .takes = "a number from 1 to 1048576"},
	{"MAX_CQE", FIELD(max_cqe), 1, 4194303, 131071, .takes = "a number from 1 to 4194303"},
	{"MAX_QP_WR", FIELD(max_qp_wr), 4, 32768, 32768, true, false,
		"a power of two from 4 to 32768"},
	{"MAX_SGE", FIELD(max_sge), 1, 30, 30, .takes = "a number from 1 to 30"},
	{"SIG_STOP", FIELD(sig_stop), 0, UINT32_MAX, 0, .takes = "a number from 0 to 4294967295"},
	{"DOORBELL_NS", FIELD(doorbell_ns), 0, 1000000000, 0,
		.takes = "a number from 0 to 1000000000"},
	{"LATENCY_NS", FIELD(latency_ns), 0, 1000000000, 0,
		.takes = "a number from 0 to 1000000000"},
	{"ROUND_TRIP_NS", FIELD(round_trip_ns), 0, 1000000000, 0,
		.takes = "a number from 0 to 1000000000"},
	{"BANDWIDTH_MBPS", FIELD(bandwidth_mbps), 0, 10000000, 0,
		.takes = "a number from 0 to 10000000"},
	{"MAX_RD_ATOMIC", FIELD(max_rd_atomic), 1, 16, 16, true, false,
		"a power of two from 1 to 16"},
	{"MMO_FROM", FIELD(mmo_from), 0, 8, 0, .takes = "a number from 0 to 8"},
	{"ODP", FIELD(odp), 0, 1, 1, .takes = "0 or 1"},
	{"LOG_FAULTS", FIELD(log_faults), 0, 1, 0, .takes = "0 or 1"},
	{"MEMIC_TEST_AND_SET", FIELD(memic_test_and_set), 1, 255, 1,
		.takes = "a number from 1 to 255"},
	{"WIRE_USERS", FIELD(wire_users), 0, 1, 0, .takes = "0 or 1"},
	{"RETRY_MAX_MS", FIELD(retry_max_ms), 0, 86400000, 0,
		.takes = "a number from 0 to 86400000"},
	{"REORDER", FIELD(reorder), 0, UINT32_MAX, 0, .takes = "a number from 0 to 4294967295"},
};

#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

static uint64_t
value_of(const struct softhca_config *cfg, const struct row *row)
{
	uint64_t v = 0;

	memcpy(&v, (const char *)cfg + row->at, row->width); /* the machine is little-endian */
	return v;
}

static void
expect_taken(const struct row *row, uint64_t value, const char *format)
{
	struct softhca_config cfg;
	char name[64], text[32];

	snprintf(name, sizeof(name), "SOFTHCA_%s", row->name);
	snprintf(text, sizeof(text), format, (unsigned long long)value);
	CHECK_EQ(load_with(&cfg, name, text), 0, row->name);
	CHECK_EQ(value_of(&cfg, row), value, row->name);
}

static void
expect_refused(const struct row *row, const char *text)
{
	struct softhca_config cfg;
	char name[64], key[64], want[256];
	size_t i = 0;

	snprintf(name, sizeof(name), "SOFTHCA_%s", row->name);
	for (; row->name[i] != '\0'; i++)
		key[i] = row->name[i] == '_' ? '_' : (char)(row->name[i] | 0x20);
	key[i] = '\0';
	snprintf(want, sizeof(want), "environment: %s = \"%s\" is not allowed; it takes %s", key,
		text, row->takes);
	CHECK_EQ(load_with(&cfg, name, text), -EINVAL, row->name);
	CHECK(strcmp(err, want) == 0, "%s", err);
	CHECK_EQ(*(unsigned char *)&cfg, 0x5a); /* the failed call has loaded nothing */
}

static void
check_limits(const struct row *row)
{
	struct softhca_config cfg;
	char text[32];

	CHECK_EQ(load(&cfg), 0);
	CHECK_EQ(value_of(&cfg, row), row->def, row->name);
	expect_taken(row, row->min, "%llu");
	expect_taken(row, row->max, "0x%llx");
	if (row->or_zero)
		expect_taken(row, 0, "%llu");
	if (row->min > (row->or_zero ? 1 : 0)) {
		snprintf(text, sizeof(text), "%llu", (unsigned long long)row->min - 1);
		expect_refused(row, text);
		/*
		 * Half of the smallest value is also a power of two: it must be refused
		 * because it is too small.
		 */
		if (row->min > 1) {
			snprintf(text, sizeof(text), "%llu", (unsigned long long)row->min / 2);
			expect_refused(row, text);
		}
	}
	if (row->max != UINT64_MAX) {
		snprintf(text, sizeof(text), "%llu",
			(unsigned long long)row->max * (row->power_of_two ? 2 : 1) +
				!row->power_of_two);
		expect_refused(row, text);
	}
	if (row->power_of_two) {
		snprintf(text, sizeof(text), "%llu", (unsigned long long)row->max - 1);
		expect_refused(row, text);
	}
	expect_refused(row, "");
	expect_refused(row, "x");
	expect_refused(row, "1x");
	expect_refused(row, "-1");
	expect_refused(row, " 1");
	expect_refused(row, "18446744073709551616");
}

static void
case_limits(void)
{
	for (size_t i = 0; i < N_ROWS; i++)
		check_limits(&rows[i]);
}

/* All messages together may have as many bytes as one message. */
static void
case_wire(void)
{
	static const struct row message = {"WIRE_MESSAGE", FIELD(wire_message), 65536, 2147483648,
		67108864, .takes = "a number from 65536 to 2147483648"};
	static const struct row bytes = {"WIRE_BYTES", FIELD(wire_bytes), 65536, 1099511627776,
		268435456, .takes = "a number from 65536 to 1099511627776"};
	struct softhca_config cfg;

	CHECK_EQ(load(&cfg), 0);
	CHECK_EQ(value_of(&cfg, &bytes), bytes.def);
	CHECK_EQ(setenv("SOFTHCA_WIRE_BYTES", "1099511627776", 1), 0);
	check_limits(&message);
	CHECK_EQ(unsetenv("SOFTHCA_WIRE_BYTES"), 0);
	CHECK_EQ(load_with(&cfg, "SOFTHCA_WIRE_BYTES", "67108863"), -EINVAL);
	CHECK(strcmp(err, "wire_bytes = 67108863 must be at least wire_message = 67108864") == 0,
		"%s", err);
	CHECK_EQ(load_with(&cfg, "SOFTHCA_WIRE_BYTES", "67108864"), 0);
	CHECK_EQ(setenv("SOFTHCA_WIRE_MESSAGE", "65536", 1), 0);
	check_limits(&bytes);
	CHECK_EQ(unsetenv("SOFTHCA_WIRE_MESSAGE"), 0);
}

/* ---- words, versions and paths */

static void
case_words(void)
{
	static const struct row layer = {.name = "LINK_LAYER",
		.takes = "\"ethernet\" or \"infiniband\""};
	static const struct row crypto = {.name = "CRYPTO",
		.takes = "\"off\", \"plaintext\", \"plaintext_single\" or \"wrapped\""};
	static const struct row cross = {.name = "CROSS_VHCA",
		.takes = "\"off\", \"direct\" or \"any\""};
	static const struct row wire = {.name = "WIRE", .takes = "\"off\", \"on\" or \"loop\""};
	struct softhca_config cfg;

	CHECK_EQ(load(&cfg), 0);
	CHECK_EQ(cfg.link_layer, 2); /* IBV_LINK_LAYER_ETHERNET */
	CHECK_EQ(cfg.crypto, SOFTHCA_CRYPTO_OFF);
	CHECK_EQ(load_with(&cfg, "SOFTHCA_LINK_LAYER", "infiniband"), 0);
	CHECK_EQ(cfg.link_layer, 1); /* IBV_LINK_LAYER_INFINIBAND */
	CHECK_EQ(load_with(&cfg, "SOFTHCA_LINK_LAYER", "ethernet"), 0);
	CHECK_EQ(cfg.link_layer, 2);
	CHECK_EQ(load_with(&cfg, "SOFTHCA_CRYPTO", "plaintext"), 0);
	CHECK_EQ(cfg.crypto, SOFTHCA_CRYPTO_PLAINTEXT);
	CHECK_EQ(load_with(&cfg, "SOFTHCA_CRYPTO", "plaintext_single"), 0);
	CHECK_EQ(cfg.crypto, SOFTHCA_CRYPTO_PLAINTEXT_SINGLE);
	CHECK_EQ(load_with(&cfg, "SOFTHCA_CRYPTO", "off"), 0);
	CHECK_EQ(cfg.crypto, SOFTHCA_CRYPTO_OFF);
	CHECK_EQ(cfg.cross_vhca, SOFTHCA_CROSS_VHCA_ANY);
	CHECK_EQ(load_with(&cfg, "SOFTHCA_CROSS_VHCA", "off"), 0);
	CHECK_EQ(cfg.cross_vhca, SOFTHCA_CROSS_VHCA_OFF);
	CHECK_EQ(load_with(&cfg, "SOFTHCA_CROSS_VHCA", "direct"), 0);
	CHECK_EQ(cfg.cross_vhca, SOFTHCA_CROSS_VHCA_DIRECT);
	CHECK_EQ(load_with(&cfg, "SOFTHCA_CROSS_VHCA", "any"), 0);
	CHECK_EQ(cfg.cross_vhca, SOFTHCA_CROSS_VHCA_ANY);
	expect_refused(&cross, "on");
	CHECK_EQ(cfg.wire, SOFTHCA_WIRE_ON);
	CHECK_EQ(load_with(&cfg, "SOFTHCA_WIRE", "off"), 0);
	CHECK_EQ(cfg.wire, SOFTHCA_WIRE_OFF);
	CHECK_EQ(load_with(&cfg, "SOFTHCA_WIRE", "loop"), 0);
	CHECK_EQ(cfg.wire, SOFTHCA_WIRE_LOOP);
	CHECK_EQ(load_with(&cfg, "SOFTHCA_WIRE", "on"), 0);
	CHECK_EQ(cfg.wire, SOFTHCA_WIRE_ON);
	expect_refused(&wire, "1");
	expect_refused(&wire, "");
	expect_refused(&layer, "Ethernet");
	expect_refused(&layer, "");
	expect_refused(&crypto, "on");
	expect_refused(&crypto, "plaintext_");
}

/*
 * By default only BlueField-2 and later must have DMA MMO, because it is documented only for them.
 * A setting must enable it for every part.
 */
static void
case_memcpy_of_the_part(void)
{
	static const struct {
		const char *part;
		uint64_t max_memcpy;
	} parts[] = {{"4129", 0}, {"0xa2d2", 0}, {"0xa2d6", 2 << 20}, {"0xa2dc", 2 << 20}};
	struct softhca_config cfg;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		CHECK_EQ(load_with(&cfg, "SOFTHCA_PART_ID", parts[i].part), 0);
		CHECK_EQ(cfg.max_memcpy, parts[i].max_memcpy, parts[i].part);
	}
	CHECK_EQ(setenv("SOFTHCA_PART_ID", "4129", 1), 0);
	CHECK_EQ(load_with(&cfg, "SOFTHCA_MAX_MEMCPY", "4096"), 0);
	CHECK_EQ(cfg.max_memcpy, 4096);
	CHECK_EQ(unsetenv("SOFTHCA_PART_ID"), 0);
}

static void
case_version(void)
{
	static const struct row row = {.name = "FW_VER",
		.takes = "MAJOR.MINOR.SUB, three numbers up to 65535"};
	struct softhca_config cfg;

	CHECK_EQ(load(&cfg), 0);
	CHECK(cfg.fw_major == 32 && cfg.fw_minor == 47 && cfg.fw_sub == 1088);
	CHECK_EQ(load_with(&cfg, "SOFTHCA_FW_VER", "65535.0.65535"), 0);
	CHECK(cfg.fw_major == 65535 && cfg.fw_minor == 0 && cfg.fw_sub == 65535);
	CHECK_EQ(load_with(&cfg, "SOFTHCA_FW_VER", "1.65535.3"), 0);
	CHECK(cfg.fw_major == 1 && cfg.fw_minor == 65535 && cfg.fw_sub == 3);
	expect_refused(&row, "65536.1.1");
	expect_refused(&row, "1.65536.1");
	expect_refused(&row, "1.1.65536");
	expect_refused(&row, "1.1.1.1");
	expect_refused(&row, "1.1");
	expect_refused(&row, "1.1.");
}

static void
case_path(void)
{
	static const struct row row = {.name = "CAPTURE", .takes = "a path of up to 255 bytes"};
	struct softhca_config cfg;
	char path[257];

	CHECK_EQ(load(&cfg), 0);
	CHECK_EQ(cfg.capture[0], '\0');
	memset(path, 'p', sizeof(path));
	path[255] = '\0';
	CHECK_EQ(load_with(&cfg, "SOFTHCA_CAPTURE", path), 0);
	CHECK(strcmp(cfg.capture, path) == 0);
	path[255] = 'p';
	path[256] = '\0';
	CHECK_EQ(load_with(&cfg, "SOFTHCA_CAPTURE", path), -EINVAL);
	CHECK(strstr(err, row.takes) != NULL, "%s", err);
	CHECK_EQ(load_with(&cfg, "SOFTHCA_LIKE", path), -EINVAL);
	CHECK(strstr(err, row.takes) != NULL, "%s", err);
}

/*
 * The address in the setting must be that of port 1 of mlx5_0. The other ports must get the next
 * addresses.
 */
static void
case_gid_ipv4(void)
{
	static const struct row row = {.name = "GID_IPV4",
		.takes = "an IPv4 address, as 192.0.2.1"};
	static const char *const refused[] = {"", "0.0.0.0", "192.0.2", "192.0.2.256", "::1",
		"192.0.2.1 "};
	struct softhca_config cfg;

	CHECK_EQ(load(&cfg), 0);
	CHECK_EQ(cfg.gid_ipv4, 0);
	CHECK_EQ(load_with(&cfg, "SOFTHCA_GID_IPV4", "192.0.2.254"), 0);
	CHECK_EQ(cfg.gid_ipv4, 0xc00002fe);
	CHECK_EQ(cfg.port_ipv4[0][0], 0xc00002fe);
	CHECK_EQ(load_file(&cfg, "gid_ipv4 = 192.0.2.254\ndevices = 2\nports = 2\n"), 0);
	for (unsigned int i = 0; i < 4; i++)
		CHECK_EQ(cfg.port_ipv4[i / 2][i % 2], 0xc00002fe + i);
	/* An adapter's addresses do not depend on how many ports the adapters have. */
	CHECK_EQ(load_file(&cfg, "gid_ipv4 = 192.0.2.254\ndevices = 2\n"), 0);
	CHECK_EQ(cfg.port_ipv4[0][0], 0xc00002fe);
	CHECK_EQ(cfg.port_ipv4[1][0], 0xc0000300);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		expect_refused(&row, refused[i]);
}

/* Secrets must have the right length. No message contains a secret. */
static void
case_secrets(void)
{
	static const struct {
		const char *name, *takes;
		size_t lens[2];
	} secrets[] = {
		{"SOFTHCA_CRYPTO_KEK", "32 or 64 hexadecimal digits", {32, 64}},
		{"SOFTHCA_CRYPTO_CREDENTIAL", "80 hexadecimal digits", {80, 80}},
	};
	struct softhca_config cfg;
	char text[96];

	for (unsigned int i = 0; i < 2; i++) {
		for (size_t len = 0; len < sizeof(text); len++) {
			bool good = len == secrets[i].lens[0] || len == secrets[i].lens[1];

			memset(text, 'b', len);
			text[len] = '\0';
			CHECK_EQ(load_with(&cfg, secrets[i].name, text), good ? 0 : -EINVAL);
			CHECK(good || (strstr(err, secrets[i].takes) != NULL &&
					      strstr(err, "bbb") == NULL),
				"%s", err);
		}
		memset(text, '7', 32);
		text[31] = 'g';
		text[32] = '\0';
		CHECK_EQ(load_with(&cfg, secrets[i].name, text), -EINVAL);
	}
	CHECK_EQ(load_with(&cfg, "SOFTHCA_CRYPTO", "wrapped"), -EINVAL);
	CHECK(strstr(err, "crypto = wrapped needs crypto_kek and crypto_credential") != NULL, "%s",
		err);
	/* If only one of the two secrets is given, the call fails. */
	for (unsigned int i = 0; i < 2; i++) {
		memset(text, 'b', secrets[i].lens[0]);
		text[secrets[i].lens[0]] = '\0';
		CHECK_EQ(setenv(secrets[i].name, text, 1), 0);
		CHECK_EQ(load_with(&cfg, "SOFTHCA_CRYPTO", "wrapped"), -EINVAL);
		CHECK(strstr(err, "crypto = wrapped needs") != NULL, "%s", err);
		CHECK_EQ(unsetenv(secrets[i].name), 0);
	}
}

/* The size must be whole pages, up to the adapter's maximum. */
static void
case_device_memory(void)
{
	static const struct row row = {.name = "MAX_DM",
		FIELD(max_dm),
		.takes = "a multiple of 4096 up to 262144"};

	struct softhca_config cfg;

	CHECK_EQ(load(&cfg), 0);
	CHECK_EQ(cfg.max_dm, 262144);
	expect_taken(&row, 0, "%llu");
	expect_taken(&row, 131072, "%llu");
	expect_taken(&row, 262144, "%llu");
	expect_refused(&row, "266240");
	expect_refused(&row, "6144");
	expect_refused(&row, "all");
}

/* ---- card profiles */

/*
 * Writes the card profile to a file, and names this file in the settings. config: the text of the
 * file of settings, or NULL.
 */
static int
load_like(struct softhca_config *cfg, const char *text, const char *config)
{
	char path[64];
	int fd = memfd_create("card_profile", MFD_CLOEXEC), rc;

	CHECK(fd >= 0);
	CHECK_EQ(write(fd, text, strlen(text)), strlen(text));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	CHECK_EQ(setenv("SOFTHCA_LIKE", path, 1), 0);
	rc = config != NULL ? load_file(cfg, config) : load(cfg);
	CHECK_EQ(unsetenv("SOFTHCA_LIKE"), 0);
	close(fd);
	return rc;
}

/*
 * Which features a card has depends on its part and firmware. Sources: DOCA 3.1 General Support,
 * and for MMO also UCX and DPDK.
 */
static void
case_cards(void)
{
	static const struct {
		const char *name;
		uint32_t part, major, mmo, mmo_qp, dm, dc, signatures;
	} cards[] = {
		{"connectx-4-lx", 4117, 14, 0, 1, 0, 0, 0},
		{"connectx-5", 4119, 16, 0, 1, 131072, 1, 1},
		{"connectx-6-dx", 4125, 22, 0, 1, 131072, 1, 1},
		{"connectx-7", 4129, 28, 0, 1, 262144, 1, 1},
		{"bluefield-2", 41686, 24, 2097152, 0, 262144, 1, 1},
		{"bluefield-3", 41692, 32, 2097152, 1, 262144, 1, 1},
	};
	struct softhca_config cfg;

	for (size_t i = 0; i < sizeof(cards) / sizeof(cards[0]); i++) {
		CHECK_EQ(load_with(&cfg, "SOFTHCA_LIKE", cards[i].name), 0, cards[i].name);
		CHECK(strcmp(cfg.like, cards[i].name) == 0);
		CHECK_EQ(cfg.part_id, cards[i].part);
		CHECK_EQ(cfg.fw_major, cards[i].major);
		CHECK_EQ(cfg.max_memcpy, cards[i].mmo);
		CHECK_EQ(cfg.mmo_qp, cards[i].mmo_qp);
		CHECK_EQ(cfg.max_dm, cards[i].dm);
		CHECK_EQ(cfg.dc, cards[i].dc);
		CHECK_EQ(cfg.signatures, cards[i].signatures);
		CHECK_EQ(cfg.crypto, SOFTHCA_CRYPTO_OFF);
		CHECK(err[0] == '\0', "%s", err);
	}
	CHECK_EQ(load_with(&cfg, "SOFTHCA_LIKE", "connectx-3"), -EINVAL);
	CHECK(strncmp(err, "like = \"connectx-3\": ", 21) == 0, "%s", err);
	CHECK(strstr(err, " bluefield-3") != NULL && strstr(err, " connectx-4-lx") != NULL, "%s",
		err);
	CHECK_EQ(load_with(&cfg, "SOFTHCA_LIKE", "./connectx-7"), -EINVAL);
	CHECK(strcmp(err, "like = \"./connectx-7\": No such file or directory") == 0, "%s", err);
}

/*
 * A card profile may have the settings that doc/softhca-settings.md lists for it; all other
 * settings are refused.
 */
static void
of_a_card_or_not(void)
{
	static const char *const card[] = {"part_id = 4129", "fw_ver = 1.2.3",
		"link_layer = ethernet", "ports = 2", "bf_reg_size = 256", "max_memcpy = 64",
		"mmo_qp = 0", "odp = 0", "devx = 0", "dc = 0", "signatures = 0",
		"sig_pipelining = 0", "max_dm = 4096", "dm_zeroed = 0", "max_mr_size = 4096",
		"max_qp_wr = 16", "max_sge = 2", "crypto = plaintext", "eth_inline = 1",
		"max_rd_atomic = 2", "cross_vhca = direct"};
	static const char *const no_card[] = {"devices = 2", "functions = 2", "lag = 1",
		"threads = 2", "force = 1", "strict_doorbells = 0", "mmo_from = 1", "max_qp = 2",
		"max_cq = 2", "max_srq = 2", "max_mr = 2", "max_pd = 2", "max_ah = 2",
		"max_cqe = 2", "netdev = lo", "gid_ipv4 = 192.0.2.1", "log_faults = 1",
		"crypto_kek = 0", "crypto_credential = 0", "memic_test_and_set = 2", "reorder = 1",
		"sig_stop = 1", "doorbell_ns = 1", "latency_ns = 1", "round_trip_ns = 1",
		"bandwidth_mbps = 1"};
	struct softhca_config cfg;

	for (size_t i = 0; i < sizeof(card) / sizeof(card[0]); i++)
		CHECK_EQ(load_like(&cfg, card[i], NULL), 0, card[i]);
	for (size_t i = 0; i < sizeof(no_card) / sizeof(no_card[0]); i++) {
		CHECK_EQ(load_like(&cfg, no_card[i], NULL), -EINVAL, no_card[i]);
		CHECK(strstr(err, " is no setting of a card") != NULL, "%s", err);
	}
}

static void
case_card_profile(void)
{
	struct softhca_config cfg;

	/*
	 * The file of settings and the environment have precedence over the profile, wherever they
	 * name it.
	 */
	CHECK_EQ(load_like(&cfg, "# a card\npart_id = 4129\nmax_sge = 4\nodp = 0\n",
			 "max_sge = 7\n"),
		0);
	CHECK_EQ(cfg.part_id, 4129);
	CHECK_EQ(cfg.max_sge, 7);
	CHECK_EQ(cfg.odp, 0);
	CHECK_EQ(cfg.max_memcpy, 0); /* the default for this part */
	CHECK_EQ(setenv("SOFTHCA_DC", "0", 1), 0);
	CHECK_EQ(load_file(&cfg, "like = bluefield-2\npart_id = 41692\n"), 0);
	CHECK_EQ(unsetenv("SOFTHCA_DC"), 0);
	CHECK_EQ(cfg.part_id, 41692);
	CHECK_EQ(cfg.fw_major, 24);
	CHECK_EQ(cfg.dc, 0);
	/* The message names the line with the error. */
	CHECK_EQ(load_like(&cfg, "part_id = 4129\nmax_qps = 4\n", NULL), -EINVAL);
	CHECK(strstr(err, ":2: unknown setting \"max_qps\"; known are: part_id ") != NULL, "%s",
		err);
	CHECK_EQ(load_like(&cfg, "\n\ndc = 2\n", NULL), -EINVAL);
	CHECK(strstr(err, ":3: dc = \"2\" is not allowed; it takes 0 or 1") != NULL, "%s", err);
	/*
	 * A profile may contain settings of the card only: other settings could write files or name
	 * another profile.
	 */
	CHECK_EQ(load_like(&cfg, "capture = /tmp/x\n", NULL), -EINVAL);
	CHECK(strstr(err, ":1: capture is no setting of a card") != NULL, "%s", err);
	CHECK_EQ(load_like(&cfg, "like = bluefield-2\n", NULL), -EINVAL);
	CHECK(strstr(err, ":1: like is no setting of a card") != NULL, "%s", err);
	of_a_card_or_not();
	/*
	 * crypto = wrapped in a profile needs the user's secrets, and has no effect without them.
	 */
	CHECK_EQ(load_like(&cfg, "crypto = wrapped\n", NULL), 0);
	CHECK_EQ(cfg.crypto, SOFTHCA_CRYPTO_OFF);
	CHECK(strcmp(err, "crypto = wrapped without crypto_kek") == 0, "%s", err);
}

/*
 * Reports in the form that usertools/hw.sh and hw_probe write, with fields in any order and with
 * unknown fields.
 */
static void
case_report(void)
{
	/* The form of hw.sh. */
	static const char probes[] =
		"{\"device\": {\"part\": 4129, \"fw\": \"28.43.1014\", \"emulated\": false},\n"
		"\"card_profile\": {\"max_sge\": 8},\n"
		"\"probes\": [{\"id\": \"dm-zeroed\", \"answer\": \"otherwise\"}]}";

	static const char hw_sh[] =
		"{\"stages\": [\"main job: done\"],\n \"probes\":\n"
		"{\"answers\": [\n"
		" {\"id\": \"comm-est-rc\", \"answer\": \"otherwise\", \"seen\": \"a \\\"b\\\" \\u00e4\"},\n"
		" {\"seen\": \"\", \"answer\": \"otherwise\", \"id\": \"dm-zeroed\"},\n"
		" {\"id\": \"armed-unseen\", \"answer\": \"as assumed\", \"seen\": \"\"}\n"
		"], \"card_profile\": {\"max_dm\": 8192, \"dc\": 0, \"link_layer\": \"infiniband\", \"wings\": 2,\n"
		" \"max_sge\": 99, \"capture\": \"/tmp/x\"},\n"
		"\"device\": {\"part\": 4125, \"fw\": \"22.36.1010\"}}, \"more\": [1.5e-3, true, [], {}, null]}\n";
	struct softhca_config cfg;

	CHECK_EQ(load_like(&cfg, probes, NULL), 0);
	CHECK_EQ(cfg.part_id, 4129);
	CHECK_EQ(cfg.max_sge, 8);
	CHECK_EQ(cfg.dm_zeroed, 0);
	CHECK_EQ(load_like(&cfg, hw_sh, NULL), 0);
	CHECK_EQ(cfg.part_id, 4125);
	CHECK_EQ(cfg.fw_major, 22);
	CHECK_EQ(cfg.fw_sub, 1010);
	CHECK_EQ(cfg.max_dm, 8192);
	CHECK_EQ(cfg.dc, 0);
	CHECK_EQ(cfg.link_layer, SOFTHCA_LINK_INFINIBAND);
	CHECK_EQ(cfg.dm_zeroed, 0);
	CHECK_EQ(cfg.max_sge, 30);
	CHECK_EQ(cfg.capture[0], '\0');
	CHECK(strcmp(err, "comm-est-rc, wings, max_sge, capture") == 0, "%s", err);
}

/* A report that is not JSON by RFC 8259 must be refused, and the message must name the line. */
static void
case_wrong_reports(void)
{
	static const struct {
		const char *text, *says;
	} wrong[] = {
		{"{\"stages\": []}", ": no report of usertools/hw.sh or hw_probe"},
		{"{\"device\": {\"part\": 4129}", ": line 1: a comma is missing"},
		{"{\n\"device\": {\"part\": 4129}}\n\n x", ": line 4: something follows the end"},
		{"{\"a\": \"\n\"}", ": line 1: a string does not end"},
		{"{\"a\": \"b", ": line 1: a string does not end"},
		{"{\"a\": \"\\x\"}", ": line 1: an unknown escape in a string"},
		{"{\"a\": \"\\", ": line 1: an unknown escape in a string"},
		{"{\"a\" 1}", ": line 1: a colon is missing"},
		{"{a: 1}", ": line 1: a name in quotation marks is missing"},
		{"{\"a\": }", ": line 1: a value is missing or is not JSON"},
		{"{\"a\": yes}", ": line 1: a value is missing or is not JSON"},
		{"{\"a\": [1 2]}", ": line 1: a comma is missing"},
		{"{\"a\": 1,", ": line 1: a name in quotation marks is missing"},
	};
	struct softhca_config cfg;
	char deep[3000] = "{\"a\":";

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		CHECK_EQ(load_like(&cfg, wrong[i].text, NULL), -EINVAL, wrong[i].text);
		CHECK(strstr(err, wrong[i].says) != NULL, "%s: %s", wrong[i].text, err);
	}
	memset(deep + 5, '[', sizeof(deep) - 6);
	CHECK_EQ(load_like(&cfg, deep, NULL), -EINVAL);
	CHECK(strstr(err, ": line 1: too many levels") != NULL, "%s", err);
	memset(deep + 2, 'a', sizeof(deep) - 3);
	CHECK_EQ(load_like(&cfg, deep, NULL), -EINVAL);
	CHECK(strstr(err, ": line 1: a string does not end") != NULL, "%s", err);
}

/* Names of network interfaces of this machine: every network namespace has `lo`. */
static void
case_netdev(void)
{
	static const struct row row = {.name = "NETDEV",
		.takes = "the name of a network interface of this machine, or several with commas"};
	static const char *const refused[] = {"", "lo,", ",lo", "lo,,lo", "lo,softhca-none", " lo",
		"lo ", ".", "..", "../lo", "abcdefghijklmnop", "abcdefghijklmnopqrstuvwxyz"};
	struct softhca_config cfg, again;

	CHECK_EQ(load(&cfg), 0);
	CHECK_EQ(cfg.netdev[0], '\0');
	CHECK_EQ(load_with(&cfg, "SOFTHCA_NETDEV", "lo"), 0);
	CHECK(strcmp(cfg.netdev, "lo") == 0);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		expect_refused(&row, refused[i]);
	/* There must be exactly one name for each port. */
	CHECK_EQ(setenv("SOFTHCA_DEVICES", "2", 1), 0);
	CHECK_EQ(load_with(&cfg, "SOFTHCA_NETDEV", "lo,lo"), 0);
	CHECK_EQ(load_with(&cfg, "SOFTHCA_NETDEV", "lo,lo,lo"), -EINVAL);
	CHECK(strcmp(err, "netdev = \"lo,lo,lo\" has 3 names, and there are 2 ports "
			  "(devices = 2, ports = 1)") == 0,
		"%s", err);
	CHECK_EQ(setenv("SOFTHCA_PORTS", "2", 1), 0);
	CHECK_EQ(load_with(&cfg, "SOFTHCA_NETDEV", "lo,lo,lo,lo"), 0);
	CHECK_EQ(unsetenv("SOFTHCA_DEVICES"), 0);
	CHECK_EQ(unsetenv("SOFTHCA_PORTS"), 0);
	CHECK_EQ(setenv("SOFTHCA_LINK_LAYER", "infiniband", 1), 0);
	CHECK_EQ(load_with(&cfg, "SOFTHCA_NETDEV", "lo"), -EINVAL);
	CHECK(strstr(err, "needs link_layer = ethernet") != NULL, "%s", err);
	CHECK_EQ(unsetenv("SOFTHCA_LINK_LAYER"), 0);
	/*
	 * Equal settings must give equal bytes, whatever the structure contained before, because
	 * trees compare these bytes.
	 */
	CHECK_EQ(load_with(&cfg, "SOFTHCA_NETDEV", "lo"), 0);
	CHECK_EQ(setenv("SOFTHCA_NETDEV", "lo", 1), 0);
	CHECK_EQ(load_file(&again, "devices = 2\nnetdev = lo,lo\ndevices = 1\n"), 0);
	CHECK_EQ(unsetenv("SOFTHCA_NETDEV"), 0);
	CHECK(memcmp(&cfg, &again, sizeof(cfg)) == 0);
}

static void
case_unknown(void)
{
	struct softhca_config cfg;
	char name[128] = "SOFTHCA_MAX_QPS";

	CHECK_EQ(load_with(&cfg, name, "1"), -EINVAL);
	CHECK(strncmp(err, "environment: unknown setting \"max_qps\"; known are: capture part_id ",
		      67) == 0,
		"%s", err);
	CHECK(strstr(err, " max_rd_atomic") != NULL);
	/*
	 * Variables of the library that are not settings, and names that only begin like a setting.
	 */
	CHECK_EQ(load_with(&cfg, "SOFTHCA_FAULTS", "no setting"), 0);
	CHECK_EQ(load_with(&cfg, "SOFTHCA_FAULTS_", ""), -EINVAL);
	CHECK_EQ(load_with(&cfg, "SOFTHCA_CONFIGS", ""), -EINVAL);
	CHECK_EQ(load_with(&cfg, "SOFTHC", "1"), 0);
	/* A name that is longer than the name of every setting is unknown. */
	memset(name + 8, 'A', 100);
	CHECK_EQ(load_with(&cfg, name, "1"), -EINVAL);
	/* The message must not be longer than the caller's buffer. */
	memset(err, 0x5a, sizeof(err));
	CHECK_EQ(setenv("SOFTHCA_NONE", "1", 1), 0);
	CHECK_EQ(settings_load(&cfg, err, 60), -EINVAL);
	CHECK_EQ(unsetenv("SOFTHCA_NONE"), 0);
	CHECK_EQ(strlen(err), 59);
	CHECK_EQ(err[60], 0x5a);
}

/* ---- files */

/* With a bond, verbs must report one Ethernet port. */
static void
case_bond(void)
{
	struct softhca_config cfg;

	CHECK_EQ(load_file(&cfg, "lag = 1\n"), 0);
	CHECK_EQ(cfg.lag, 1);
	CHECK_EQ(load_file(&cfg, "lag = 1\nports = 2\n"), -EINVAL);
	CHECK(strstr(err, "lag = 1 needs ports = 1 and link_layer = ethernet") != NULL, "%s", err);
	CHECK_EQ(load_file(&cfg, "lag = 1\nlink_layer = infiniband\n"), -EINVAL);
	CHECK(strstr(err, "lag = 1 needs ports = 1") != NULL, "%s", err);
	CHECK_EQ(load_file(&cfg, "lag = 0\nports = 2\nlink_layer = infiniband\n"), 0);
}

static void
expect_line_refused(const char *text, unsigned int line, const char *says)
{
	struct softhca_config cfg;
	char where[16];

	CHECK_EQ(load_file(&cfg, text), -EINVAL);
	snprintf(where, sizeof(where), ":%u: ", line);
	CHECK(strstr(err, where) != NULL && strstr(err, says) != NULL, "%s", err);
}

static void
case_files(void)
{
	struct softhca_config cfg;
	char text[1024];

	CHECK_EQ(load_file(&cfg, "# all\n\n \t\n  max_qp =  77 # of them\nports=2\n\tlink_layer = "
				 "infiniband"),
		0);
	CHECK_EQ(cfg.max_qp, 77);
	CHECK_EQ(cfg.ports, 2);
	CHECK_EQ(cfg.link_layer, 1);
	CHECK_EQ(cfg.max_cq, 16384);
	/* The environment must be used before the file. */
	CHECK_EQ(setenv("SOFTHCA_MAX_QP", "78", 1), 0);
	CHECK_EQ(load_file(&cfg, "max_qp = 77\nmax_cq = 79\n"), 0);
	CHECK_EQ(unsetenv("SOFTHCA_MAX_QP"), 0);
	CHECK_EQ(cfg.max_qp, 78);
	CHECK_EQ(cfg.max_cq, 79);
	expect_line_refused("ports = 3\n", 1, "a number from 1 to 2");
	expect_line_refused("ports = 2\n\nmax_qps = 3\nports = 9\n", 3, "unknown setting");
	expect_line_refused("# no\nports\n", 2, "\"ports\" is not \"key = value\"");
	expect_line_refused("Ports = 1\n", 1, "unknown setting \"Ports\"");
	/* A line has at most 510 bytes and its newline. One byte more is too long. */
	memset(text, ' ', sizeof(text));
	memcpy(text, "max_qp = 5", 10);
	strcpy(text + 510, "\nmax_cq = 6\n");
	CHECK_EQ(load_file(&cfg, text), 0);
	CHECK(cfg.max_qp == 5 && cfg.max_cq == 6);
	text[510] = '\0';
	CHECK_EQ(load_file(&cfg, text), 0); /* the last line needs no newline */
	CHECK_EQ(cfg.max_qp, 5);
	strcpy(text + 510, " \nmax_cq = 6\n");
	expect_line_refused(text, 1, "a line longer than 510 bytes");
	CHECK_EQ(load_with(&cfg, "SOFTHCA_CONFIG", "/proc/self/nothing"), -EINVAL);
	CHECK(strcmp(err, "SOFTHCA_CONFIG: /proc/self/nothing: No such file or directory") == 0,
		"%s", err);
	CHECK_EQ(load_with(&cfg, "SOFTHCA_CONFIG", "/proc/self"), -EINVAL);
	CHECK(strcmp(err, "/proc/self: cannot be read") == 0, "%s", err);
}

int
main(int argc, char **argv)
{
	static const struct check_case cases[] = {
		{"each number has its default, its least and its largest value", case_limits},
		{"the longest message fits into the bytes of all messages", case_wire},
		{"link layers and encryption are set by names", case_words},
		{"only BlueField has DMA MMO, unless it is asked for", case_memcpy_of_the_part},
		{"a firmware version is three numbers", case_version},
		{"a path has up to 255 bytes", case_path},
		{"the address of the first port is set, and the others follow it", case_gid_ipv4},
		{"secrets are hexadecimal digits, and are not printed", case_secrets},
		{"network interfaces exist on the machine, and are not more than the ports",
			case_netdev},
		{"an unknown setting is an error that names the known ones", case_unknown},
		{"a file has a setting on each line, and its errors have the line's number",
			case_files},
		{"a bond is one Ethernet port", case_bond},
		{"device memory is whole pages", case_device_memory},
		{"each card of the project is found by its name", case_cards},
		{"a card profile comes before other settings, and has only settings of a card",
			case_card_profile},
		{"a report is used as far as there are settings, and the rest is named",
			case_report},
		{"a wrong report is refused, with its line", case_wrong_reports},
	};

	/* Removes the variables of the test's own environment. */
	for (char **e = environ; e != NULL && *e != NULL;) {
		char name[64];
		size_t n = strcspn(*e, "=");

		if (strncmp(*e, "SOFTHCA_", 8) != 0 || n >= sizeof(name)) {
			e++;
			continue;
		}
		memcpy(name, *e, n);
		name[n] = '\0';
		unsetenv(name);
		e = environ;
	}
	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
