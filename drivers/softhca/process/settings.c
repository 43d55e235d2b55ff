/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the settings of the emulated adapter. A wrong setting is an error. */
#include "settings.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "card_profile.h"
#include "netdev.h"
#include "number.h"
#include "raw.h"

#define ENV_PREFIX      "SOFTHCA_"
#define CONFIG_VARIABLE "SOFTHCA_CONFIG"
/* Two environment variables that are no settings: fault.c and tree.c read them. */
#define FAULTS_VARIABLE "SOFTHCA_FAULTS"
#define TREE_VARIABLE   "SOFTHCA_TREE"
#define LINE_LEN        512

extern char **environ;

enum setting_kind {
	KIND_NUMBER,
	KIND_POWER_OF_TWO,
	KIND_PAGES,
	KIND_SWITCH,
	KIND_LINK_LAYER,
	KIND_CRYPTO,
	KIND_WIRE,
	KIND_CROSS_VHCA,
	KIND_HEX,
	KIND_FIRMWARE,
	KIND_NETDEV,
	KIND_IPV4,
	KIND_PATH
};

struct setting {
	const char *key;
	enum setting_kind kind;
	uint16_t offset;
	uint16_t width; /* bytes of the member */
	uint64_t min, max, def;
	bool or_zero; /* 0 is also allowed: it switches the feature off */
	bool of_card; /* a card profile may have this setting */
};

/*
 * The default of max_memcpy depends on the part: UCX (gga_mlx5.c) and DOCA's log say 2 MiB for
 * BlueField. No other card is known to have MMO.
 */
#define OF_THE_PART     UINT64_MAX
#define BLUEFIELD_2     0xa2d6 /* BlueField has this part number or a higher one */
#define BLUEFIELD_3     0xa2dc
#define MEMCPY_OF_CARDS (UINT64_C(2) << 20)
#define MAX_DM          (256 << 10) /* the value of DM_LEN in object/include/dm.h */
#define PAGE            4096

#define FIELD(f) offsetof(struct softhca_config, f), sizeof(((struct softhca_config *)0)->f)

/* The settings. settings_help.c explains them. */
static const struct setting settings[] = {
	{"capture", KIND_PATH, FIELD(capture)},
	{"part_id", KIND_NUMBER, FIELD(part_id), 0x1011, 0xffff, BLUEFIELD_3, .of_card = true},
	{"fw_ver", KIND_FIRMWARE, FIELD(fw_major), .of_card = true},
	{"link_layer", KIND_LINK_LAYER, FIELD(link_layer), 0, 0, SOFTHCA_LINK_ETHERNET,
		.of_card = true},
	{"devices", KIND_NUMBER, FIELD(devices), 1, SOFTHCA_MAX_DEVICES, 1},
	{"ports", KIND_NUMBER, FIELD(ports), 1, SOFTHCA_MAX_PORTS, 1, .of_card = true},
	{"functions", KIND_NUMBER, FIELD(functions), 1, SOFTHCA_MAX_DEVICES, 1},
	{"cross_vhca", KIND_CROSS_VHCA, FIELD(cross_vhca), 0, 0, SOFTHCA_CROSS_VHCA_ANY,
		.of_card = true},
	{"lag", KIND_SWITCH, FIELD(lag), 0, 1, 0},
	{"threads", KIND_NUMBER, FIELD(threads), 0, SOFTHCA_MAX_THREADS, 1},
	{"force", KIND_SWITCH, FIELD(force), 0, 1, 0},
	{"strict_doorbells", KIND_SWITCH, FIELD(strict_doorbells), 0, 1, 1},
	{"bf_reg_size", KIND_POWER_OF_TWO, FIELD(bf_reg_size), 128, 512, 512, true, true},
	{"max_memcpy", KIND_POWER_OF_TWO, FIELD(max_memcpy), 64, UINT64_C(1) << 31, OF_THE_PART,
		true, true},
	{"mmo_qp", KIND_SWITCH, FIELD(mmo_qp), 0, 1, 1, .of_card = true},
	{"mmo_from", KIND_NUMBER, FIELD(mmo_from), 0, SOFTHCA_MAX_DEVICES, 0},
	{"odp", KIND_SWITCH, FIELD(odp), 0, 1, 1, .of_card = true},
	{"devx", KIND_SWITCH, FIELD(devx), 0, 1, 1, .of_card = true},
	{"dc", KIND_SWITCH, FIELD(dc), 0, 1, 1, .of_card = true},
	{"signatures", KIND_SWITCH, FIELD(signatures), 0, 1, 1, .of_card = true},
	{"sig_pipelining", KIND_SWITCH, FIELD(sig_pipelining), 0, 1, 1, .of_card = true},
	{"max_dm", KIND_PAGES, FIELD(max_dm), 0, MAX_DM, MAX_DM, .of_card = true},
	{"dm_zeroed", KIND_SWITCH, FIELD(dm_zeroed), 0, 1, 1, .of_card = true},
	{"max_mr_size", KIND_NUMBER, FIELD(max_mr_size), 4096, UINT64_MAX, UINT64_MAX,
		.of_card = true},
	{"max_qp", KIND_NUMBER, FIELD(max_qp), 1, 1 << 17, 1 << 14},
	{"max_srq", KIND_NUMBER, FIELD(max_srq), 1, 1 << 17, 1 << 14},
	{"max_cq", KIND_NUMBER, FIELD(max_cq), 1, 1 << 17, 1 << 14},
	{"max_mr", KIND_NUMBER, FIELD(max_mr), 1, 1 << 20, 1 << 17},
	{"max_pd", KIND_NUMBER, FIELD(max_pd), 1, 1 << 16, 1 << 14},
	{"max_ah", KIND_NUMBER, FIELD(max_ah), 1, 1 << 20, 1 << 16},
	{"max_cqe", KIND_NUMBER, FIELD(max_cqe), 1, (1 << 22) - 1, (1 << 17) - 1},
	{"max_qp_wr", KIND_POWER_OF_TWO, FIELD(max_qp_wr), 4, 1 << 15, 1 << 15, .of_card = true},
	{"max_sge", KIND_NUMBER, FIELD(max_sge), 1, 30, 30, .of_card = true},
	{"crypto", KIND_CRYPTO, FIELD(crypto), 0, 0, SOFTHCA_CRYPTO_OFF, .of_card = true},
	/* For these two settings, the number of digits is exactly `min` or exactly `max`. */
	{"crypto_kek", KIND_HEX, FIELD(crypto_kek), SOFTHCA_KEK_MAX, 2 * SOFTHCA_KEK_MAX},
	{"crypto_credential", KIND_HEX, FIELD(crypto_credential), 2 * SOFTHCA_CREDENTIAL_LEN,
		2 * SOFTHCA_CREDENTIAL_LEN},
	{"eth_inline", KIND_SWITCH, FIELD(eth_inline), 0, 1, 0, .of_card = true},
	{"memic_test_and_set", KIND_NUMBER, FIELD(memic_test_and_set), 1, 255, 1},
	{"doorbell_ns", KIND_NUMBER, FIELD(doorbell_ns), 0, 1000000000, 0},
	{"latency_ns", KIND_NUMBER, FIELD(latency_ns), 0, 1000000000, 0},
	{"round_trip_ns", KIND_NUMBER, FIELD(round_trip_ns), 0, 1000000000, 0},
	{"bandwidth_mbps", KIND_NUMBER, FIELD(bandwidth_mbps), 0, 10000000, 0},
	{"log_faults", KIND_SWITCH, FIELD(log_faults), 0, 1, 0},
	{"sig_stop", KIND_NUMBER, FIELD(sig_stop), 0, UINT32_MAX, 0},
	{"reorder", KIND_NUMBER, FIELD(reorder), 0, UINT32_MAX, 0},
	{"max_rd_atomic", KIND_POWER_OF_TWO, FIELD(max_rd_atomic), 1, 16, 16, .of_card = true},
	{"wire", KIND_WIRE, FIELD(wire), 0, 0, SOFTHCA_WIRE_ON},
	{"wire_users", KIND_SWITCH, FIELD(wire_users), 0, 1, 0},
	{"wire_message", KIND_NUMBER, FIELD(wire_message), 65536, UINT64_C(1) << 31, 64 << 20},
	{"wire_bytes", KIND_NUMBER, FIELD(wire_bytes), 65536, UINT64_C(1) << 40, 256 << 20},
	{"cm_retry_ms", KIND_NUMBER, FIELD(cm_retry_ms), 1, 86400000, 68719},
	{"retry_max_ms", KIND_NUMBER, FIELD(retry_max_ms), 0, 86400000, 0},
	{"netdev", KIND_NETDEV, FIELD(netdev)},
	{"gid_ipv4", KIND_IPV4, FIELD(gid_ipv4)},
	{"like", KIND_PATH, FIELD(like)},
};

#define N_SETTINGS (sizeof(settings) / sizeof(settings[0]))

/* Where the functions of this file write the settings and the error text. */
struct reading {
	struct softhca_config *cfg;
	char *err;
	size_t err_len;
	bool of_card; /* only settings of a card are allowed */
};

static void
set_field(struct softhca_config *cfg, const struct setting *s, uint64_t value)
{
	if (s->width == sizeof(uint64_t))
		memcpy((char *)cfg + s->offset, &value, sizeof(value));
	else
		memcpy((char *)cfg + s->offset, &(uint32_t){value}, sizeof(uint32_t));
}

/* Returns the allowed values of a setting in words, for an error text. */
static const char *
allowed(const struct setting *s, char *buf, size_t len)
{
	const char *zero = s->or_zero ? "0 (off) or " : "";
	char more[32] = "";

	switch (s->kind) {
	case KIND_NUMBER:
		snprintf(buf, len, "%sa number from %llu to %llu", zero, (unsigned long long)s->min,
			(unsigned long long)s->max);
		break;
	case KIND_POWER_OF_TWO:
		snprintf(buf, len, "%sa power of two from %llu to %llu", zero,
			(unsigned long long)s->min, (unsigned long long)s->max);
		break;
	case KIND_PAGES:
		snprintf(buf, len, "a multiple of %u up to %llu", PAGE, (unsigned long long)s->max);
		break;
	case KIND_SWITCH:
		snprintf(buf, len, "0 or 1");
		break;
	case KIND_LINK_LAYER:
		snprintf(buf, len, "\"ethernet\" or \"infiniband\"");
		break;
	case KIND_CRYPTO:
		snprintf(buf, len, "\"off\", \"plaintext\", \"plaintext_single\" or \"wrapped\"");
		break;
	case KIND_WIRE:
		snprintf(buf, len, "\"off\", \"on\" or \"loop\"");
		break;
	case KIND_CROSS_VHCA:
		snprintf(buf, len, "\"off\", \"direct\" or \"any\"");
		break;
	case KIND_HEX:
		if (s->min != s->max)
			snprintf(more, sizeof(more), "%llu or ", (unsigned long long)s->min);
		snprintf(buf, len, "%s%llu hexadecimal digits", more, (unsigned long long)s->max);
		break;
	case KIND_PATH:
		snprintf(buf, len, "a path of up to %u bytes", s->width - 1u);
		break;
	case KIND_NETDEV:
		snprintf(buf, len,
			"the name of a network interface of this machine, or several with commas");
		break;
	case KIND_IPV4:
		snprintf(buf, len, "an IPv4 address, as 192.0.2.1");
		break;
	case KIND_FIRMWARE:
		snprintf(buf, len, "MAJOR.MINOR.SUB, three numbers up to 65535");
		break;
	}
	return buf;
}

/* Writes all bytes of the member, so that equal settings have equal bytes. */
static bool
set_text(struct softhca_config *cfg, const struct setting *s, const char *text)
{
	if (strlen(text) >= s->width)
		return false;
	strncpy((char *)cfg + s->offset, text, s->width);
	return true;
}

static bool
parse_firmware(struct softhca_config *cfg, const char *text)
{
	unsigned int part[3];
	int used = 0;

	if (sscanf(text, "%5u.%5u.%5u%n", &part[0], &part[1], &part[2], &used) != 3 ||
		text[used] != '\0' || part[0] > 65535 || part[1] > 65535 || part[2] > 65535)
		return false;
	cfg->fw_major = part[0];
	cfg->fw_minor = part[1];
	cfg->fw_sub = part[2];
	return true;
}

static const char *const crypto_words[] = {[SOFTHCA_CRYPTO_OFF] = "off",
	[SOFTHCA_CRYPTO_PLAINTEXT] = "plaintext",
	[SOFTHCA_CRYPTO_PLAINTEXT_SINGLE] = "plaintext_single",
	[SOFTHCA_CRYPTO_WRAPPED] = "wrapped",
	NULL};
static const char *const wire_words[] =
	{[SOFTHCA_WIRE_OFF] = "off", [SOFTHCA_WIRE_ON] = "on", [SOFTHCA_WIRE_LOOP] = "loop", NULL};

static const char *const cross_vhca_words[] = {[SOFTHCA_CROSS_VHCA_OFF] = "off",
	[SOFTHCA_CROSS_VHCA_DIRECT] = "direct",
	[SOFTHCA_CROSS_VHCA_ANY] = "any",
	NULL};

static bool
parse_word(const char *const *words, const char *text, uint64_t *value)
{
	for (*value = 0; words[*value] != NULL; ++*value)
		if (strcmp(text, words[*value]) == 0)
			return true;
	return false;
}

static bool
parse_hex(struct softhca_config *cfg, const struct setting *s, const char *text)
{
	size_t n = strspn(text, "0123456789abcdefABCDEF");

	return text[n] == '\0' && (n == s->min || n == s->max) && set_text(cfg, s, text);
}

static bool
parse_value(struct softhca_config *cfg, const struct setting *s, const char *text)
{
	struct in_addr ipv4;
	uint64_t value;

	switch (s->kind) {
	case KIND_FIRMWARE:
		return parse_firmware(cfg, text);
	case KIND_NETDEV:
		if (netdev_count(text) == 0)
			return false;
		return set_text(cfg, s, text);
	case KIND_IPV4:
		if (inet_pton(AF_INET, text, &ipv4) != 1 || ipv4.s_addr == 0)
			return false;
		value = ntohl(ipv4.s_addr);
		break;
	case KIND_PATH:
		return set_text(cfg, s, text);
	case KIND_HEX:
		return parse_hex(cfg, s, text);
	case KIND_LINK_LAYER:
		if (strcmp(text, "ethernet") == 0)
			value = SOFTHCA_LINK_ETHERNET;
		else if (strcmp(text, "infiniband") == 0)
			value = SOFTHCA_LINK_INFINIBAND;
		else
			return false;
		break;
	case KIND_CRYPTO:
		if (!parse_word(crypto_words, text, &value))
			return false;
		break;
	case KIND_WIRE:
		if (!parse_word(wire_words, text, &value))
			return false;
		break;
	case KIND_CROSS_VHCA:
		if (!parse_word(cross_vhca_words, text, &value))
			return false;
		break;
	default:
		if (!number_parse(text, &value))
			return false;
		if (s->or_zero && value == 0)
			break;
		if (value < s->min || value > s->max)
			return false;
		if (s->kind == KIND_POWER_OF_TWO && (value & (value - 1)) != 0)
			return false;
		if (s->kind == KIND_PAGES && value % PAGE != 0)
			return false;
	}
	set_field(cfg, s, value);
	return true;
}

static int
unknown_key(const struct reading *r, const char *where, const char *key)
{
	int n = snprintf(r->err, r->err_len, "%s: unknown setting \"%s\"; known are:", where, key);

	for (size_t i = 0; i < N_SETTINGS && n > 0 && (size_t)n < r->err_len; i++)
		if (settings[i].of_card || !r->of_card)
			n += snprintf(r->err + n, r->err_len - n, " %s", settings[i].key);
	return -EINVAL;
}

static int
apply(const struct reading *r, const char *where, const char *key, const char *text)
{
	char what[128];

	for (size_t i = 0; i < N_SETTINGS; i++) {
		const struct setting *s = &settings[i];

		if (strcmp(s->key, key) != 0)
			continue;
		if (r->of_card && !s->of_card) {
			snprintf(r->err, r->err_len,
				"%s: %s is no setting of a card, so a card profile must not have it",
				where, key);
			return -EINVAL;
		}
		if (parse_value(r->cfg, s, text))
			return 0;
		/* A secret value is not printed. */
		snprintf(r->err, r->err_len, "%s: %s = \"%s\" is not allowed; it takes %s", where,
			key, s->kind == KIND_HEX ? "..." : text, allowed(s, what, sizeof(what)));
		return -EINVAL;
	}
	return unknown_key(r, where, key);
}

/* Removes blanks from the start and the end of a text, in place. */
static char *
trim(char *text)
{
	char *end;

	while (isspace((unsigned char)*text))
		text++;
	end = text + strlen(text);
	while (end > text && isspace((unsigned char)end[-1]))
		end--;
	*end = '\0';
	return text;
}

static int
apply_line(const struct reading *r, const char *where, char *line)
{
	char *hash = strchr(line, '#');
	char *eq;

	if (hash != NULL)
		*hash = '\0';
	line = trim(line);
	if (*line == '\0')
		return 0;
	eq = strchr(line, '=');
	if (eq == NULL) {
		snprintf(r->err, r->err_len, "%s: \"%s\" is not \"key = value\"", where, line);
		return -EINVAL;
	}
	*eq = '\0';
	return apply(r, where, trim(line), trim(eq + 1));
}

static int
load_lines(const struct reading *r, const char *path, FILE *f)
{
	char line[LINE_LEN], where[LINE_LEN];
	int rc = 0;

	for (unsigned int n = 1; rc == 0 && fgets(line, sizeof(line), f) != NULL; n++) {
		snprintf(where, sizeof(where), "%s:%u", path, n);
		if (strchr(line, '\n') == NULL && !feof(f)) {
			snprintf(r->err, r->err_len, "%s: a line longer than %d bytes", where,
				LINE_LEN - 2);
			return -EINVAL;
		}
		rc = apply_line(r, where, line);
	}
	if (rc == 0 && ferror(f)) {
		snprintf(r->err, r->err_len, "%s: cannot be read", path);
		rc = -EINVAL;
	}
	return rc;
}

static int
load_file(const struct reading *r, const char *path)
{
	FILE *f = raw_fopen(path);
	int rc;

	if (f == NULL) {
		snprintf(r->err, r->err_len, CONFIG_VARIABLE ": %s: %s", path, strerror(errno));
		return -EINVAL;
	}
	rc = load_lines(r, path, f);
	fclose(f);
	return rc;
}

/* Reads all variables SOFTHCA_*, so that a misspelt variable is an error. */
static int
load_environment(const struct reading *r)
{
	char key[64];

	for (char **e = environ; e != NULL && *e != NULL; e++) {
		const char *name = *e + strlen(ENV_PREFIX), *eq = strchr(*e, '=');
		size_t n = 0;
		int rc;

		if (strncmp(*e, ENV_PREFIX, strlen(ENV_PREFIX)) != 0 || eq == NULL ||
			strncmp(*e, CONFIG_VARIABLE "=", strlen(CONFIG_VARIABLE) + 1) == 0 ||
			strncmp(*e, FAULTS_VARIABLE "=", strlen(FAULTS_VARIABLE) + 1) == 0 ||
			strncmp(*e, TREE_VARIABLE "=", strlen(TREE_VARIABLE) + 1) == 0)
			continue;
		for (; name + n < eq && n < sizeof(key) - 1; n++)
			key[n] = tolower((unsigned char)name[n]);
		key[n] = '\0';
		rc = apply(r, "environment", key, eq + 1);
		if (rc != 0)
			return rc;
	}
	return 0;
}

/*
 * Finds addresses for the ports. If the setting netdev names interfaces, found[i] is the address of
 * interface i. Otherwise the addresses are those of the machine's interfaces that are up, as many
 * as exist. 0: there is no address for this port.
 */
static void
find_addresses(const struct softhca_config *cfg, uint32_t *found, unsigned int n)
{
	char name[NETDEV_NAME_MAX];

	memset(found, 0, n * sizeof(*found));
	if (cfg->netdev[0] == '\0') {
		(void)netdev_addresses(found, n);
		return;
	}
	for (unsigned int i = 0; i < netdev_count(cfg->netdev); i++)
		if (netdev_name_in(cfg->netdev, i, name))
			found[i] = netdev_address(name);
}

/*
 * Sets the IPv4 addresses in the GIDs. UCX checks that the machine has a route to these addresses.
 * So the addresses of the machine are used, unless the setting gid_ipv4 gives other addresses. If
 * the machine has too few addresses, 198.51.100.11 (RFC 5737) and the following addresses are used.
 */
static void
set_addresses(struct softhca_config *cfg)
{
	const uint32_t of_documentation = 0xc633640b;
	const unsigned int n = cfg->devices * cfg->ports;
	uint32_t found[SOFTHCA_MAX_DEVICES * SOFTHCA_MAX_PORTS] = {0};

	if (cfg->link_layer != SOFTHCA_LINK_ETHERNET)
		return;
	if (cfg->gid_ipv4 == 0)
		find_addresses(cfg, found, n);
	for (unsigned int i = 0; i < n; i++) {
		const unsigned int dev = i / cfg->ports, port = i % cfg->ports;
		const uint32_t first = cfg->gid_ipv4 != 0 ? cfg->gid_ipv4 : of_documentation;

		cfg->port_ipv4[dev][port] =
			found[i] != 0 ? found[i] : first + dev * SOFTHCA_MAX_PORTS + port;
	}
}

/* This function and the three functions after it check settings that depend on each other. */
static int
check_netdev(const struct softhca_config *cfg, char *err, size_t err_len)
{
	unsigned int n = cfg->netdev[0] != '\0' ? netdev_count(cfg->netdev) : 0;
	unsigned int ports = cfg->devices * cfg->ports;

	if (n > 0 && cfg->link_layer != SOFTHCA_LINK_ETHERNET) {
		snprintf(err, err_len,
			"netdev = \"%s\" needs link_layer = ethernet; ports of InfiniBand are "
			"tied to no network interface",
			cfg->netdev);
		return -EINVAL;
	}
	if (n > ports) {
		snprintf(err, err_len,
			"netdev = \"%s\" has %u names, and there are %u ports (devices = %u, ports = %u)",
			cfg->netdev, n, ports, cfg->devices, cfg->ports);
		return -EINVAL;
	}
	return 0;
}

static int
check_lag(const struct softhca_config *cfg, char *err, size_t err_len)
{
	if (cfg->lag == 0 || (cfg->ports == 1 && cfg->link_layer == SOFTHCA_LINK_ETHERNET))
		return 0;
	snprintf(err, err_len,
		"lag = 1 needs ports = 1 and link_layer = ethernet: verbs see a bond as one port");
	return -EINVAL;
}

static int
check_crypto(const struct softhca_config *cfg, char *err, size_t err_len)
{
	if (cfg->crypto != SOFTHCA_CRYPTO_WRAPPED ||
		(cfg->crypto_kek[0] != '\0' && cfg->crypto_credential[0] != '\0'))
		return 0;
	snprintf(err, err_len,
		"crypto = wrapped needs crypto_kek and crypto_credential: the key that wraps "
		"DEKs, and the credential of logins");
	return -EINVAL;
}

/*
 * Checks that wire_bytes is at least wire_message. Otherwise the longest message would wait for
 * ever.
 */
static int
check_wire(const struct softhca_config *cfg, char *err, size_t err_len)
{
	if (cfg->wire_bytes >= cfg->wire_message)
		return 0;
	snprintf(err, err_len, "wire_bytes = %llu must be at least wire_message = %llu",
		(unsigned long long)cfg->wire_bytes, (unsigned long long)cfg->wire_message);
	return -EINVAL;
}

static void
set_defaults(struct softhca_config *cfg)
{
	*cfg = (struct softhca_config){.fw_major = 32, .fw_minor = 47, .fw_sub = 1088};
	for (size_t i = 0; i < N_SETTINGS; i++)
		if (settings[i].kind != KIND_FIRMWARE && settings[i].kind != KIND_NETDEV &&
			settings[i].kind != KIND_PATH && settings[i].kind != KIND_HEX)
			set_field(cfg, &settings[i], settings[i].def);
}

/* Loads the settings of the user: the file and the variables. */
static int
load_own(const struct reading *r)
{
	const char *path = getenv(CONFIG_VARIABLE);
	int rc = path != NULL ? load_file(r, path) : 0;

	return rc != 0 ? rc : load_environment(r);
}

/* ---- card profiles */

/*
 * Reads a value of a report (card_profile.h) into its setting. If no setting can express the value,
 * adds its name to r->err, and reading continues.
 */
static void
take_reported(const void *arg, const char *key, const char *text)
{
	const struct reading *r = arg;
	char err[64];
	const struct reading quiet = {r->cfg, err, sizeof(err), true};
	size_t used = strlen(r->err);

	if (text != NULL && apply(&quiet, "", key, text) == 0)
		return;
	snprintf(r->err + used, r->err_len - used, "%s%s", used == 0 ? "" : ", ", key);
}

/*
 * Loads a card profile. On success, r->err has the names of the facts of a report that no setting
 * can express.
 */
static int
load_card_profile(const struct reading *r, const char *name)
{
	char path[CARD_PROFILE_PATH_MAX];
	FILE *f = card_profile_open(name, path, r->err, r->err_len);
	int rc;

	if (f == NULL)
		return -EINVAL;
	r->err[0] = '\0';
	if (card_profile_is_report(f))
		rc = card_profile_read_report(path, f, take_reported, r, r->err, r->err_len);
	else
		rc = load_lines(r, path, f);
	fclose(f);
	return rc;
}

/*
 * Loads all settings. The card profile is read first, and the settings of the user replace its
 * values. note: names of the facts of a report that no setting can express.
 */
static int
load_all(const struct reading *r, char *note, size_t note_len)
{
	const struct reading profile = {r->cfg, note, note_len, true};
	char name[sizeof(r->cfg->like)];
	bool wrapped;
	int rc;

	set_defaults(r->cfg);
	rc = load_own(r);
	if (rc != 0 || r->cfg->like[0] == '\0')
		return rc;
	memcpy(name, r->cfg->like, sizeof(name));
	set_defaults(r->cfg);
	rc = load_card_profile(&profile, name);
	if (rc != 0) {
		snprintf(r->err, r->err_len, "%s", note);
		return rc;
	}
	wrapped = r->cfg->crypto == SOFTHCA_CRYPTO_WRAPPED;
	rc = load_own(r);
	/*
	 * A card profile has no KEK. If the user's settings also have no KEK, encryption is
	 * switched off.
	 */
	if (rc == 0 && wrapped && r->cfg->crypto_kek[0] == '\0') {
		r->cfg->crypto = SOFTHCA_CRYPTO_OFF;
		take_reported(&profile, "crypto = wrapped without crypto_kek", NULL);
	}
	return rc;
}

int
settings_load(struct softhca_config *cfg, char *err, size_t err_len)
{
	struct softhca_config tmp;
	const struct reading r = {&tmp, err, err_len, false};
	char note[LINE_LEN] = "";
	int rc = load_all(&r, note, sizeof(note));

	if (rc == 0)
		rc = check_netdev(&tmp, err, err_len);
	if (rc == 0)
		rc = check_lag(&tmp, err, err_len);
	if (rc == 0)
		rc = check_crypto(&tmp, err, err_len);
	if (rc == 0)
		rc = check_wire(&tmp, err, err_len);
	if (rc != 0)
		return rc;
	if (tmp.max_memcpy == OF_THE_PART)
		tmp.max_memcpy = tmp.part_id >= BLUEFIELD_2 ? MEMCPY_OF_CARDS : 0;
	set_addresses(&tmp);
	*cfg = tmp;
	snprintf(err, err_len, "%s", note);
	return 0;
}

/* Writes the default of a setting. It is empty if the setting has none. */
static void
print_default(const struct setting *s, char *text, size_t len)
{
	struct softhca_config cfg;

	text[0] = '\0';
	set_defaults(&cfg);
	switch (s->kind) {
	case KIND_FIRMWARE:
		snprintf(text, len, "%u.%u.%u", cfg.fw_major, cfg.fw_minor, cfg.fw_sub);
		break;
	case KIND_LINK_LAYER:
		snprintf(text, len, "%s",
			s->def == SOFTHCA_LINK_ETHERNET ? "ethernet" : "infiniband");
		break;
	case KIND_CRYPTO:
		snprintf(text, len, "%s", crypto_words[s->def]);
		break;
	case KIND_WIRE:
		snprintf(text, len, "%s", wire_words[s->def]);
		break;
	case KIND_CROSS_VHCA:
		snprintf(text, len, "%s", cross_vhca_words[s->def]);
		break;
	case KIND_PATH:
	case KIND_NETDEV:
	case KIND_IPV4:
	case KIND_HEX:
		break;
	default:
		snprintf(text, len, "%llu",
			(unsigned long long)(s->def == OF_THE_PART && s->kind == KIND_POWER_OF_TWO
						     ? MEMCPY_OF_CARDS
						     : s->def));
	}
}

bool
settings_facts(unsigned int n, struct setting_facts *facts)
{
	if (n >= N_SETTINGS)
		return false;
	facts->key = settings[n].key;
	facts->of_card = settings[n].of_card;
	print_default(&settings[n], facts->def, sizeof(facts->def));
	allowed(&settings[n], facts->allowed, sizeof(facts->allowed));
	return true;
}
