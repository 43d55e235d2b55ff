/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides, when the library is loaded, whether this process has emulated adapters, and creates
 * them.
 */
#include "init.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "caps.h"
#include "dev.h"
#include "devices.h"
#include "fault.h"
#include "fork.h"
#include "log.h"
#include "object_table.h"
#include "settings.h"
#include "shim_users.h"
#include "softhca.h"
#include "sysfs.h"
#include "tree.h"

static struct softhca_config config;
static struct softhca_dev devices[SOFTHCA_MAX_DEVICES];
static unsigned int first_uverbs;
static _Atomic bool active, announced;
/*
 * The names of the facts in a report (card_profile.h) that no setting can express; empty if there
 * are none.
 */
static char not_taken[1024];
static int n_faults; /* number of faults that the file in SOFTHCA_FAULTS lists at the start */

bool
softhca_active(void)
{
	return atomic_load_explicit(&active, memory_order_acquire);
}

static void
announce(void)
{
	const uint32_t ipv4 = config.port_ipv4[0][0];
	char gid[32] = "", faults[48] = "";

	if (ipv4 != 0)
		snprintf(gid, sizeof(gid), ", GID %u.%u.%u.%u", ipv4 >> 24, ipv4 >> 16 & 255,
			ipv4 >> 8 & 255, ipv4 & 255);
	if (n_faults != 0)
		snprintf(faults, sizeof(faults), "; SOFTHCA_FAULTS lists %d fault%s", n_faults,
			n_faults == 1 ? "" : "s");
	softhca_log("no mlx5 device here, emulating %u (mlx5_0, part %u%s%s)", config.devices,
		config.part_id, gid, faults);
	if (not_taken[0] != '\0')
		softhca_log("the card profile %s also has what no setting can express: %s",
			config.like, not_taken);
}

struct softhca_dev *
softhca_device_by_uverbs(unsigned int uverbs)
{
	if (uverbs < first_uverbs || uverbs - first_uverbs >= config.devices)
		return NULL;
	/*
	 * The line is logged only in programs that look for devices, because the library is also
	 * preloaded into shells and other programs.
	 */
	if (!atomic_exchange(&announced, true))
		announce();
	return &devices[uverbs - first_uverbs];
}

unsigned int
softhca_uverbs_of(const struct softhca_dev *dev)
{
	return dev->uverbs;
}

static void
fill_port(struct softhca_dev *dev, unsigned int number)
{
	struct softhca_port *port = &dev->port[number - 1];
	struct ib_uverbs_query_port_resp_ex resp;
	struct ib_uverbs_gid_entry gid;

	if (caps_query_port(dev, number, &resp) == 0)
		port->lid = (uint16_t)resp.legacy_resp.lid;
	while (port->n_gids < 4 && caps_gid(dev, number, port->n_gids, &gid) == 0) {
		memcpy(port->gid[port->n_gids], gid.gid, sizeof(port->gid[0]));
		port->gid_is_v2[port->n_gids] = gid.gid_type == CAPS_GID_ROCE_V2;
		port->n_gids++;
	}
	/* The Ethernet address is a part of the link-local GID: RFC 4291, appendix A. */
	port->mac[0] = port->gid[0][8] ^ 2;
	memcpy(port->mac + 1, port->gid[0] + 9, 2);
	memcpy(port->mac + 3, port->gid[0] + 13, 3);
}

static void
stay_down(void)
{
	softhca_log("the adapter does not come up until this is corrected");
	config.devices = 0;
}

static void __attribute__((constructor)) bring_up(void)
{
	const char *root = tree_find_root();
	char err[sizeof(not_taken)], fault_err[FAULT_FILE_ERR_LEN], name[64];

	if (settings_load(&config, err, sizeof(err)) != 0) {
		softhca_log("%s", err);
		stay_down();
		return;
	}
	memcpy(not_taken, err, sizeof(not_taken));
	if (sysfs_find_mlx5(root, name, sizeof(name)) && config.force == 0) {
		config.devices = 0;
		return;
	}
	for (unsigned int i = 0; i < config.devices; i++) {
		devices[i] = (struct softhca_dev){.cfg = &config, .index = i};
		for (unsigned int port = 1; port <= config.ports; port++)
			fill_port(&devices[i], port);
	}
	softhca_devices_set(devices, config.devices);
	/*
	 * The file of faults is checked after the list of adapters was made, because the file may
	 * refer to adapters and ports.
	 */
	n_faults = fault_file_check(fault_err);
	if (n_faults < 0) {
		softhca_log("SOFTHCA_FAULTS: %s", fault_err);
		softhca_devices_set(devices, 0);
		stay_down();
		return;
	}
	first_uverbs = sysfs_next_uverbs(root);
	tree_init(&config, root, first_uverbs);
	for (unsigned int i = 0; i < config.devices; i++)
		devices[i].uverbs = first_uverbs + i;
	object_table_init();
	users_init();
	(void)fork_init();
	atomic_store_explicit(&active, true, memory_order_release);
}

/* Removes the files, but not the memory: threads of the program may still use the adapters. */
static void __attribute__((destructor)) take_down(void)
{
	if (softhca_active())
		tree_remove();
}
