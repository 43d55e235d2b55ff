/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints a device's capabilities, under names that a reader knows, and the parts of Gantry that
 * need each capability. If a capability has no bit, the program tries it: it creates and destroys a
 * queue pair or a key. It sends no data.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include "hwq_dev.h"
#include "hwq_domain.h"
#include "hwq_mkey.h"
#include "hwq_qp.h"

#include "probe_child.h"
#include "probe_device.h"

static const char help[] =
	"usage: hw_caps [--device NAME] [--json] [--rehearse]\n"
	"\n"
	"Prints what an mlx5 device has, and what Gantry needs of it. It makes and ends queue pairs and keys of\n"
	"its own, and sends nothing.\n"
	"\n"
	"  --device NAME  the device, as ibv_devices prints it; else the first mlx5 device\n"
	"  --json         as JSON, without addresses and names\n"
	"  --rehearse     asks the emulated adapter, if the machine has no mlx5 device\n"
	"\n"
	"Exit code: 0 the device has what Gantry needs; 3 it does not; 1 there is no device that can be asked;\n"
	"2 wrong arguments.\n";

#define VALUE_MAX 160

/* The open device, and a protection domain on it. */
static struct hwq_dev *dev;
static struct hwq_domain *domain;

/* Appends words. All but the first are preceded by a comma. */
static void
add(char *value, const char *word)
{
	size_t len = strlen(value);

	snprintf(value + len, VALUE_MAX - len, "%s%s", len == 0 ? "" : ", ", word);
}

__attribute__((format(printf, 2, 3))) static bool
there(char *value, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(value, VALUE_MAX, format, args);
	va_end(args);
	return true;
}

/* ---- what the device reports */

/* Returns true if open_device() has opened the device. */
static bool
opens(char *value)
{
	(void)value;
	return dev != NULL;
}

static bool
has_devx(char *value)
{
	(void)value;
	return dev->caps.devx;
}

static bool
has_rdma(char *value)
{
	return there(value, "messages of up to %" PRIu32 " bytes, %" PRIu32 " reads at once",
		dev->caps.max_msg_len, dev->caps.max_rd_atomic);
}

static bool
has_limits(char *value)
{
	return there(value,
		"%" PRIu32 " WQEs of 64 bytes in a send queue, %" PRIu32
		" entries in a CQ, %" PRIu32 " pieces of memory in a work request",
		dev->caps.max_qp_wr, dev->caps.max_cqe, dev->caps.max_sge);
}

static bool
has_port(char *value)
{
	bool ethernet = dev->port.link_layer == IBV_LINK_LAYER_ETHERNET;

	if (ethernet && !dev->port.has_gid)
		return false;
	return there(value, "%s, MTU %d, %u port%s", ethernet ? "Ethernet" : "InfiniBand",
		128 << dev->port.active_mtu, dev->caps.n_ports, dev->caps.n_ports == 1 ? "" : "s");
}

static bool
has_mmo(char *value)
{
	return dev->caps.max_memcpy_len != 0 &&
	       there(value, "up to %" PRIu64 " bytes a work request", dev->caps.max_memcpy_len);
}

static bool
has_device_memory(char *value)
{
	return dev->caps.max_dm_len != 0 && there(value, "%" PRIu64 " bytes", dev->caps.max_dm_len);
}

static bool
has_any_memory(char *value)
{
	(void)value;
	return dev->caps.any_memory;
}

static bool
has_atomics(char *value)
{
	(void)value;
	return dev->caps.atomics;
}

static bool
has_signatures(char *value)
{
	static const char *const crcs[] = {"CRC32", "CRC32C", "CRC64"};
	static const char *const sizes[] = {"512", "520", "4048", "4096", "4160"};
	const struct hwq_dev_caps *c = &dev->caps;

	if ((c->sig_t10dif_bg & MLX5DV_SIG_T10DIF_BG_CAP_CRC) != 0)
		add(value, "T10-DIF CRC");
	if ((c->sig_t10dif_bg & MLX5DV_SIG_T10DIF_BG_CAP_CSUM) != 0)
		add(value, "T10-DIF checksum");
	for (unsigned int i = 0; i < 3; i++)
		if ((c->sig_crc_type >> i & 1) != 0)
			add(value, crcs[i]);
	for (unsigned int i = 0; i < 5; i++)
		if ((c->sig_block_size >> i & 1) != 0)
			add(value, sizes[i]);
	return c->sig_block_prot != 0;
}

static bool
has_encryption(char *value)
{
	const struct hwq_dev_caps *c = &dev->caps;
	bool many = (c->crypto_engines & MLX5DV_CRYPTO_ENGINES_CAP_AES_XTS_MULTI_BLOCK) != 0;

	if (!many && (c->crypto_engines & MLX5DV_CRYPTO_ENGINES_CAP_AES_XTS_SINGLE_BLOCK) == 0)
		return false;
	return there(value, "%s, DEKs %s%s",
		many ? "many data units a message" : "one data unit a message",
		c->crypto_wrapped != 0 ? "wrapped, after a login" : "in plaintext",
		c->crypto_failed_selftests != 0 ? "; its self-tests failed" : "");
}

static bool
has_plain_deks(char *value)
{
	char unused[VALUE_MAX] = "";

	(void)value;
	return has_encryption(unused) && dev->caps.crypto_wrapped == 0;
}

/* ---- what is found out by trying */

static bool
makes_qp(char *value, const struct hwq_qp_conf *conf)
{
	struct hwq_cq *cq;
	struct hwq_qp *qp;
	int ret = hwq_cq_create(domain, hwq_qp_cqe_needed(conf), &cq);

	if (ret == 0) {
		ret = hwq_qp_create(domain, cq, conf, &qp);
		if (ret == 0)
			hwq_qp_destroy(qp);
		hwq_cq_destroy(cq);
	}
	return ret == 0 ? true : (there(value, "%s", strerror(-ret)), false);
}

static bool
makes_rc(char *value)
{
	return makes_qp(value, &(struct hwq_qp_conf){.sq_wr = 16});
}

static bool
makes_dci(char *value)
{
	return makes_qp(value, &(struct hwq_qp_conf){.type = HWQ_QP_DCI, .sq_wr = 16});
}

static bool
makes_pipelining(char *value)
{
	if (dev->caps.sig_block_prot == 0)
		return there(value, "the device has no signatures"), false;
	return makes_qp(value, &(struct hwq_qp_conf){.sq_wr = 16, .sig_pipelining = true});
}

static bool
makes_key(char *value)
{
	const struct hwq_mkey_conf conf = {.n = 1, .max_entries = 4};
	struct hwq_mkey_pool *pool;
	int ret = hwq_mkey_pool_create(domain, &conf, &pool);

	if (ret != 0)
		return there(value, "%s", strerror(-ret)), false;
	hwq_mkey_pool_destroy(pool);
	return true;
}

/* ---- the table */

static const struct row {
	const char *id, *name, *use;
	bool needed; /* no part of Gantry works without this capability */
	bool (*ask)(char *value);
} rows[] = {
	{"opens", "Access to the device", "everything", true, opens},
	{"devx", "Firmware commands by user programs (DEVX)",
		"indirect keys, signatures, encryption", false, has_devx},
	{"rc", "Reliable connections (RC)", "all work: copies, peers, transactions", true,
		makes_rc},
	{"rdma", "RDMA read, write and send", "peers; copies, where there is no DMA MMO", true,
		has_rdma},
	{"port", "An address on a port", "connections, those of a queue to itself too", true,
		has_port},
	{"limits", "Lengths of queues", "how much is in flight at once", true, has_limits},
	{"mmo", "DMA MMO (copies inside the device)",
		"copies; without it they go by RDMA to itself", false, has_mmo},
	{"keys", "Indirect keys laid out by UMR", "layouts, lists of pieces, transactions", false,
		makes_key},
	{"signatures", "Block signatures", "transactions with T10-DIF or CRCs", false,
		has_signatures},
	{"pipelining", "Signature pipelining (SQD)", "transactions whose response does not wait",
		false, makes_pipelining},
	{"encryption", "AES-XTS", "transactions that encrypt", false, has_encryption},
	{"plain-deks", "DEKs in plaintext", "keys that come without a login", false,
		has_plain_deks},
	{"dc", "Dynamic connections (DC)", "DC peers and DC targets", false, makes_dci},
	{"atomics", "Atomics of 8 bytes", "compare and swap, fetch and add", false, has_atomics},
	{"device-memory", "Device memory", "gantry_mem_alloc_dm()", false, has_device_memory},
	{"on-demand", "All memory on demand (implicit ODP)", "gantry_mem_register_any()", false,
		has_any_memory},
};

static void
print_row(const struct row *r, bool has, const char *value, bool json, bool first)
{
	if (json)
		printf("%s\n    {\"id\": \"%s\", \"name\": \"%s\", \"has\": %s, \"value\": \"%s\", \"use\": \"%s\", "
		       "\"needed\": %s}",
			first ? "" : ",", r->id, r->name, has ? "true" : "false", value, r->use,
			r->needed ? "true" : "false");
	else
		printf("  %-3s  %-36s %s\n       for %s%s\n", has ? "yes" : "no", r->name, value,
			r->use, !has && r->needed ? ". Gantry does not run without it" : "");
}

/*
 * Returns true if a queue pair must request DMA MMO: dma_mmo_qp of QUERY_HCA_CAP (rdma-core,
 * mlx5_ifc.h).
 */
static bool
asks_for_mmo(void)
{
	uint8_t in[16] = {0x01, 0x00, [7] = 0x01}, out[16 + 0x1000] = {0};

	return mlx5dv_devx_general_cmd(dev->ctx, in, sizeof(in), out, sizeof(out)) == 0 &&
	       (out[16 + 0x748 / 8] & 0x80) != 0;
}

/*
 * Prints the device's capabilities as settings of the emulated adapter (doc/softhca-settings.md).
 * These settings are the card profile of this device.
 */
static void
print_card_profile(void)
{
	char unused[VALUE_MAX] = "";
	const struct hwq_dev_caps *c;
	bool many;

	printf("\n  ],\n  \"card_profile\": {");
	if (dev != NULL) {
		c = &dev->caps;
		many = (c->crypto_engines & MLX5DV_CRYPTO_ENGINES_CAP_AES_XTS_MULTI_BLOCK) != 0;
		printf("\"devx\": %d, \"max_memcpy\": %" PRIu64
		       ", \"mmo_qp\": %d, \"max_dm\": %" PRIu64 ", \"odp\": %d,\n"
		       "    \"dc\": %d, \"signatures\": %d, \"sig_pipelining\": %d, \"crypto\": \"%s\",\n"
		       "    \"link_layer\": \"%s\", \"ports\": %u, \"max_qp_wr\": %" PRIu32
		       ", \"max_sge\": %" PRIu32 ", \"max_rd_atomic\": %" PRIu32,
			has_devx(unused), c->max_memcpy_len,
			c->max_memcpy_len == 0 || asks_for_mmo(), c->max_dm_len & ~UINT64_C(4095),
			c->any_memory, makes_dci(unused), c->sig_block_prot != 0,
			makes_pipelining(unused),
			!has_encryption(unused)  ? "off"
			: c->crypto_wrapped != 0 ? "wrapped"
			: many                   ? "plaintext"
						 : "plaintext_single",
			dev->port.link_layer == IBV_LINK_LAYER_ETHERNET ? "ethernet" : "infiniband",
			c->n_ports, c->max_qp_wr, c->max_sge, c->max_rd_atomic);
	}
	printf("}}\n");
}

static bool
print_all(bool json)
{
	bool all = true;

	for (const struct row *r = rows; r < rows + sizeof(rows) / sizeof(rows[0]); r++) {
		char value[VALUE_MAX] = "";
		bool has = (dev != NULL || r->ask == opens) && r->ask(value);

		print_row(r, has, value, json, r == rows);
		all = all && (has || !r->needed);
	}
	return all;
}

/*
 * Drops the lines of hwq's log: they say why a call was refused, and the table already shows this.
 */
static void
no_log(const char *text)
{
	(void)text;
}

/* If the device cannot be opened, dev stays NULL, and every capability is reported as missing. */
static void
open_device(const char *name)
{
	int ret = hwq_dev_open(name, &dev);

	if (ret == 0) {
		ret = hwq_domain_create(dev, &domain);
		if (ret != 0) {
			hwq_dev_close(dev);
			dev = NULL;
		}
	}
	if (ret != 0)
		fprintf(stderr,
			"hw_caps: the device does not open for Gantry: %s. The lines above say why. May this user open\n"
			"/dev/infiniband/uverbs*, and use DEVX (CAP_NET_RAW; the firmware's option UCTX_EN)?\n",
			strerror(-ret));
}

int
main(int argc, char **argv)
{
	static const struct option known[] = {{"device", required_argument, NULL, 'd'},
		{"json", no_argument, NULL, 'j'}, {"rehearse", no_argument, NULL, 'r'},
		{"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
	struct probe_device *device = probe_share(sizeof(*device));
	bool json = false, rehearse = false, all;
	const char *name = NULL;
	int c;

	while ((c = getopt_long(argc, argv, "h", known, NULL)) != -1) {
		switch (c) {
		case 'd':
			name = optarg;
			break;
		case 'j':
			json = true;
			break;
		case 'r':
			rehearse = true;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			return 2; /* getopt_long() has printed the error */
		}
	}
	if (optind != argc) {
		fprintf(stderr, "hw_caps: unexpected argument: %s. See hw_caps --help\n",
			argv[optind]);
		return 2;
	}
	if (!probe_device_choose(device, name, rehearse))
		return 1;
	open_device(device->name);
	hwq_log_set(no_log);
	if (json)
		printf("{\"device\": {\"part\": %u, \"fw\": \"%s\", \"emulated\": %s},\n  \"capabilities\": [",
			device->part, device->fw, device->emulated ? "true" : "false");
	else
		printf("%s, part %u, firmware %s\n", device->name, device->part, device->fw);
	all = print_all(json);
	if (json)
		print_card_profile();
	if (dev != NULL) {
		hwq_domain_destroy(domain);
		hwq_dev_close(dev);
	}
	return all ? 0 : 3;
}
