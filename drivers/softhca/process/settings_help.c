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
	{"like", "A card profile: the features and limits of a card. A name without a slash or "
		 "dot is a profile of this project. See \"Card profiles\"."},
	{"part_id", "PCI device id; 41692 is BlueField-3, 4129 ConnectX-7. libmlx5 uses the "
		    "device only if it knows this id."},
	{"fw_ver", "The firmware version in the answers of queries."},
	{"link_layer", "RoCE v2 (and v1 GIDs), or InfiniBand with LIDs."},
	{"bf_reg_size", "Bytes of a BlueFlame register; 0: no BlueFlame pages, as on a machine "
			"without write combining."},
	{"max_memcpy", "Bytes of one DMA MMO memcpy; 0: no MMO. DMA MMO is documented only for "
		       "BlueField-2 (0xa2d6) and later, so the default is 0 if part_id is below "
		       "0xa2d6."},
	{"mmo_qp", "1: a queue pair must ask for DMA MMO when it is created or modified, as on "
		   "BlueField-3; 0: each reliable queue pair has DMA MMO, as on BlueField-2 "
		   "(DPDK f66898ebd0)."},
	{"mmo_from", "Index of the first adapter that has DMA MMO; adapters with a lower index "
		     "have none."},
	{"odp", "0: no memory on demand (ODP)."},
	{"devx", "0: no DEVX. A context that asks for DEVX is refused (EINVAL), and so are "
		 "firmware commands (EPROTONOSUPPORT). Then libmlx5 has no MMO, no signatures "
		 "and no encryption."},
	{"dc", "0: no DC: its queue pairs are refused (EOPNOTSUPP)."},
	{"signatures",
		"0: no block signatures: the adapter does not report these capabilities, and "
		"refuses PSVs and keys with signatures."},
	{"sig_pipelining",
		"0: no queue pairs that stop at a wrong signature: the kernel does not offer "
		"SQD to RTS (libmlx5 then refuses SIG_PIPELINING)."},
	{"max_dm", "Bytes of device memory; 0: none."},
	{"dm_zeroed", "0: new device memory is filled with 0x5a. The probe dm-zeroed asks a card: "
		      "see \"What is assumed\"."},
	{"eth_inline",
		"1: raw frames need their first 18 bytes inline in the WQE, and libmlx5 puts "
		"them there."},
	{"cross_vhca",
		"The keys that other functions of the card may use: see \"Keys of other functions\". "
		"direct: keys over DEVX user memory; any: also indirect keys; off: none, and the "
		"capability bits are 0."},
	{"max_rd_atomic", "RDMA reads and atomics in flight, each direction."},
	{"memic_test_and_set",
		"The value that test-and-set writes to a byte of device memory. Tests of "
		"rdma-core 51 and older expect 255."},
	{NULL, "Adapters, ports and threads"},
	{"devices", "Adapters: mlx5_0, mlx5_1, ..."},
	{"functions",
		"This number of consecutive adapters are functions of one card: see \"Keys of other "
		"functions\". With devices = 4 and functions = 2 there are two cards."},
	{"ports", "Ports of each adapter."},
	{"lag", "1: the port represents two bonded ports: see \"Link aggregation\". This "
		"needs ports = 1 and link_layer = ethernet."},
	{"threads", "Number of device threads of each adapter; 0: only softhca_pump() runs the "
		    "adapter."},
	{"force", "1: the adapter exists also if there is a real mlx5 device."},
	{"strict_doorbells",
		"1: a queue that is alone on its UAR page runs only work requests that a "
		"doorbell announced."},
	{"netdev", "The network interfaces to which the ports are tied: see \"Network "
		   "interfaces\"."},
	{"gid_ipv4", "The address in the GIDs of port 1 of mlx5_0. Port 2 has the next address. "
		     "Every further adapter has the next two addresses, also if adapters have one "
		     "port. None: see \"Port and GIDs\"."},
	{"capture", "Pcap file for the frames that raw queue pairs send."},
	{"log_faults",
		"1: a line on stderr each time a fault is applied. See \"Faults on demand\"."},
	{NULL, "Limits of objects"},
	{"max_mr_size", "Bytes of one memory region."},
	{"max_qp", "Queue pairs. Also the number of work queues, and of indirection tables."},
	{"max_cq", "Completion queues."},
	{"max_srq", "Shared receive queues."},
	{"max_mr", "Memory regions."},
	{"max_pd", "Protection domains."},
	{"max_ah", "Address handles."},
	{"max_cqe", "Entries of one completion queue."},
	{"max_qp_wr", "WQEBBs of a send queue, entries of a receive queue."},
	{"max_sge", "Segments of a work request."},
	{NULL, "AES-XTS settings"},
	{"crypto", "AES-XTS: see \"Signatures and encryption\". plaintext and wrapped are the "
		   "forms in which programs pass DEKs. With plaintext_single DEKs are plaintext, "
		   "and a key encrypts at most one data unit, as on ConnectX-6 Dx."},
	{"crypto_kek", "For crypto = wrapped: the import KEK, with the id 0, which wraps DEKs and "
		       "credentials."},
	{"crypto_credential",
		"For crypto = wrapped: the credential, with the id 0, that a login must "
		"present."},
	{NULL, "Delays and order"},
	{"reorder", "Seed for the order in which bytes move; 0: the order of posting. See \"Order "
		    "on demand\"."},
	{"sig_stop", "Seed for the choice of the work request before which a queue with "
		     "SIG_PIPELINING stops after a wrong signature; 0: the queue stops right after "
		     "the work request with the wrong signature. See \"Where a queue stops\"."},
	{"doorbell_ns", "Time in ns between a doorbell and the adapter's first look at the work "
			"requests that the doorbell announces. See \"Timing on demand\"."},
	{"latency_ns", "Time in ns that each work request takes in its queue. See \"Timing on "
		       "demand\"."},
	{"round_trip_ns", "Time in ns of the round trip to the peer. See \"Timing on demand\"."},
	{"bandwidth_mbps", "Mbit/s of the port; 0: no limit. See \"Timing on demand\"."},
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
	{"wire_message", "Bytes of the longest message between two processes through a key with "
			 "signatures or encryption."},
	{"wire_bytes", "Bytes that an adapter holds at a time, of messages through keys with "
		       "signatures or encryption; further messages wait. At least wire_message."},
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
