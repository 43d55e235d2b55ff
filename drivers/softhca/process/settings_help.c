/* SPDX-License-Identifier: BSD-3-Clause */
/* The meaning of each setting, and the list of all settings as text. */
#include <stdio.h>
#include <string.h>

#include "settings.h"
#include "softhca.h"

#define COLUMNS 78 /* of a line of text, without "# " */

/*
 * The meaning of each setting, in groups. A row without a key begins a group, and has its title. A
 * title of documentation is in quotes.
 */
static const struct {
	const char *key, *means;
} help[] = {
	{NULL, "The card"},
	{"like", "The card profile, a file with the features and limits of a card. A name "
		 "without a slash and without a dot is a profile of this project. See \"Card "
		 "profiles\"."},
	{"part_id", "PCI device id; 41692 is BlueField-3, 4129 ConnectX-7. libmlx5 uses the "
		    "device only if it knows this id."},
	{"fw_ver", "The firmware version that the device reports."},
	{"link_layer", "ethernet: RoCE v2, and also GIDs of RoCE v1. infiniband: InfiniBand with "
		       "LIDs."},
	{"bf_reg_size", "Bytes of a BlueFlame register; 0: no BlueFlame pages, as on a machine "
			"without write combining."},
	{"max_memcpy", "The most bytes that one work request copies by DMA MMO (memcpy); 0: no DMA "
		       "MMO. DMA MMO is documented only for BlueField-2 (0xa2d6) and later, so the "
		       "default is 0 if part_id is below 0xa2d6."},
	{"mmo_qp", "1: a queue pair must ask for DMA MMO when it is created or modified, as on "
		   "BlueField-3; 0: each reliable queue pair has DMA MMO, as on BlueField-2 "
		   "(commit f66898ebd0 of DPDK)."},
	{"mmo_from", "Index of the first adapter that has DMA MMO; adapters with a lower index "
		     "have none."},
	{"odp", "0: no memory on demand (ODP)."},
	{"devx", "0: no DEVX. A context that asks for DEVX is refused (EINVAL), and so are "
		 "firmware commands (EPROTONOSUPPORT). Without DEVX, libmlx5 has no DMA MMO, "
		 "no signatures and no encryption."},
	{"dc", "0: no DC transport: the creation of its queue pairs is refused "
	       "(EOPNOTSUPP)."},
	{"signatures", "0: no block signatures: the adapter does not report the capabilities of "
		       "signatures, and refuses PSVs and keys with signatures."},
	{"sig_pipelining",
		"0: no queue pair stops at a wrong signature. Then the adapter does not "
		"report that a queue pair can change from SQD to RTS, and libmlx5 refuses "
		"SIG_PIPELINING."},
	{"max_dm", "Bytes of device memory; 0: none."},
	{"dm_zeroed", "1: new device memory is zeroed; 0: it is filled with the byte 0x5a. The "
		      "probe dm-zeroed asks a card whether it zeroes device memory: see \"What is "
		      "assumed\"."},
	{"eth_inline",
		"1: raw frames need their first 18 bytes inline in the WQE, and libmlx5 puts "
		"them there."},
	{"cross_vhca",
		"The keys that other functions of the card may use: see \"Keys of other functions\". "
		"direct: keys over DEVX user memory; any: also indirect keys; off: none, and the "
		"capability bits are 0."},
	{"max_rd_atomic",
		"The most RDMA reads and atomics that a queue pair has in flight, in each "
		"direction."},
	{"memic_test_and_set",
		"The value that test-and-set writes to a byte of device memory. Tests of "
		"rdma-core 51 and older expect 255."},
	{NULL, "Adapters, ports and threads"},
	{"devices", "Number of adapters. Their names are mlx5_0, mlx5_1, ..."},
	{"functions",
		"This number of consecutive adapters are functions of one card: see \"Keys of other "
		"functions\". With devices = 4 and functions = 2 there are two cards."},
	{"ports", "Number of ports of each adapter."},
	{"lag", "1: the port represents two bonded ports: see \"Link aggregation\". This "
		"needs ports = 1 and link_layer = ethernet."},
	{"threads", "Number of device threads of each adapter; 0: the adapter has no thread, "
		    "and runs only when the program calls softhca_pump()."},
	{"force", "1: the adapter is emulated even if the machine has an mlx5 device. The "
		  "program then does not see the real device."},
	{"strict_doorbells",
		"1: a queue that is alone on its UAR page runs only work requests that a "
		"doorbell announced."},
	{"netdev", "The network interfaces that belong to the ports: see \"Network interfaces\"."},
	{"gid_ipv4", "The IPv4 address in the GIDs of port 1 of mlx5_0. Port 2 has the next "
		     "address. Each further adapter takes the next two addresses, even if the "
		     "adapters have one port. If no address is given: see \"Port and GIDs\"."},
	{"capture", "Path of a pcap file. The adapter writes into it the frames that raw queue "
		    "pairs send."},
	{"log_faults",
		"1: a line on stderr each time a fault is applied. See \"Faults on demand\"."},
	{NULL, "Limits of objects"},
	{"max_mr_size", "The most bytes of one memory region."},
	{"max_qp",
		"The largest number of queue pairs. The same limit holds for work queues, and for "
		"indirection tables."},
	{"max_cq", "The largest number of completion queues."},
	{"max_srq", "The largest number of shared receive queues."},
	{"max_mr", "The largest number of memory regions."},
	{"max_pd", "The largest number of protection domains."},
	{"max_ah", "The largest number of address handles."},
	{"max_cqe", "The largest number of entries of one completion queue."},
	{"max_qp_wr",
		"The largest number of WQEBBs of a send queue, and of entries of a receive queue."},
	{"max_sge", "The largest number of segments of a work request."},
	{NULL, "AES-XTS settings"},
	{"crypto", "Whether the adapter encrypts by AES-XTS, and the form in which programs "
		   "pass DEKs: in plaintext, or wrapped. With plaintext_single, DEKs are in "
		   "plaintext, and a key encrypts at most one data unit, as on ConnectX-6 Dx. "
		   "See \"Signatures and encryption\"."},
	{"crypto_kek", "For crypto = wrapped: the import KEK, with the id 0, which wraps DEKs and "
		       "credentials."},
	{"crypto_credential",
		"For crypto = wrapped: the credential, with the id 0, that a login must "
		"present."},
	{NULL, "Delays and order"},
	{"reorder", "Seed for the order in which bytes move; 0: the order of posting. See \"Order "
		    "on demand\"."},
	{"sig_stop", "The place where a queue with SIG_PIPELINING stops after a wrong signature. "
		     "0: right after the work request with the wrong signature. Any other number "
		     "is a seed that chooses one of the possible places. See \"Where a queue "
		     "stops\"."},
	{"doorbell_ns", "Time in ns between a doorbell and the adapter's first look at the work "
			"requests that the doorbell announces. See \"Timing on demand\"."},
	{"latency_ns", "Time in ns that each work request takes in its queue. See \"Timing on "
		       "demand\"."},
	{"round_trip_ns", "Time in ns of the round trip to the peer. See \"Timing on demand\"."},
	{"bandwidth_mbps", "Bandwidth of a port in Mbit/s; 0: no limit. See \"Timing on demand\"."},
	{"retry_max_ms",
		"The longest time in ms of all retries to a peer that is absent or not ready; "
		"0: timeout and retry_cnt alone limit this time. With this setting, a program "
		"with a long timeout reports a dead peer sooner."},
	{NULL, "Messages between processes"},
	{"cm_retry_ms",
		"Time in ms after which the connection manager reports UNREACHABLE, if a listener does "
		"not answer. In this time it sends a request 16 times."},
	{"wire", "on: messages reach queue pairs of other processes. off: messages reach only "
		 "queue pairs of this process, and the process opens no socket. loop: messages "
		 "between queue pairs of this process also go through sockets, for tests."},
	{"wire_users", "1: processes of other users may also be peers."},
	{"wire_message",
		"The most bytes of a message between two processes, if the message passes a "
		"key with signatures or encryption."},
	{"wire_bytes", "The most bytes that an adapter holds at a time, of messages that pass keys "
		       "with signatures or encryption. Further messages wait. Use at least the "
		       "value of wire_message."},
};

#define N_HELP (sizeof(help) / sizeof(help[0]))

/* Prints a text as lines of comment. */
static void
print_comment(FILE *to, const char *text)
{
	while (*text != '\0') {
		size_t len = strlen(text);

		if (len > COLUMNS)
			for (len = COLUMNS; len > 1 && text[len] != ' ';)
				len--;
		fprintf(to, "# %.*s\n", (int)len, text);
		text += len;
		text += strspn(text, " ");
	}
}

static void
print_setting(FILE *to, const struct setting_facts *facts, const char *means)
{
	fputc('\n', to);
	print_comment(to, means);
	fprintf(to, "# Allowed: %s.\n%s#%s =%s%s\n", facts->allowed,
		facts->of_card ? "# A card profile may have this setting.\n" : "", facts->key,
		facts->def[0] == '\0' ? "" : " ", facts->def);
}

static bool
has_help(const char *key)
{
	for (size_t i = 0; i < N_HELP; i++)
		if (help[i].key != NULL && strcmp(help[i].key, key) == 0)
			return true;
	return false;
}

void
softhca_settings_print(FILE *to)
{
	struct setting_facts facts;

	print_comment(to,
		"The settings of softhca, with their defaults. A setting is a line \"name = value\" of "
		"the file whose path is in SOFTHCA_CONFIG, or an environment variable, whose name is "
		"SOFTHCA_ and the setting's name in capitals.");
	for (size_t i = 0; i < N_HELP; i++) {
		if (help[i].key == NULL) {
			fprintf(to, "\n## %s\n", help[i].means);
			continue;
		}
		for (unsigned int n = 0; settings_facts(n, &facts); n++)
			if (strcmp(facts.key, help[i].key) == 0)
				print_setting(to, &facts, help[i].means);
	}
	/* A setting without a row above is printed nevertheless. The test check_docs reports it. */
	for (unsigned int n = 0; settings_facts(n, &facts); n++)
		if (!has_help(facts.key))
			print_setting(to, &facts,
				"(settings_help.c does not explain this setting)");
}
