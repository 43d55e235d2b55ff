/* SPDX-License-Identifier: BSD-3-Clause */
/* Logs connections and messages to peers that do not exist. */
#include "elsewhere.h"

#include <arpa/inet.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "devices.h"
#include "hca.h"
#include "lanes.h"
#include "log.h"
#include "names.h"
#include "wire_adapter.h"

#define QPN_MULTICAST 0xffffffu
#define LID_MULTICAST 0xc000 /* lowest multicast LID */

/* The ends of log lines about a number: with the setting wire, and without it. */
static const char no_process[] =
	"no process has. Processes reach each other if they are in one network namespace and the "
	"setting wire is on in both";
static const char not_this_process[] =
	"this process does not have. The setting wire is off, so other processes cannot be reached";
/* The end of log lines about an address. */
static const char advice[] =
	"Processes with the same settings have adapters with the same addresses";

/* Returns true for the first call with this flag, and false for all later calls. */
static bool
first(atomic_bool *said)
{
	return !atomic_load_explicit(said, memory_order_relaxed) && !atomic_exchange(said, true);
}

/* ---------------------------------------------------------------- which peers exist */

enum place {
	PLACE_HERE,
	PLACE_GONE,     /* this process had the peer and has destroyed it */
	PLACE_ELSEWHERE /* this process has never had the peer */
};

static enum place
place_of(uint32_t qpn)
{
	unsigned int n;
	struct softhca_dev *devs = softhca_devices(&n);
	enum place place = PLACE_ELSEWHERE;

	for (unsigned int i = 0; i < n; i++) {
		struct softhca_lanes *lanes = dev_lanes(&devs[i]);

		if (lanes == NULL)
			continue;
		if (table_get(&lanes->qps, qpn) != NULL)
			return PLACE_HERE;
		if (table_has_given(&lanes->qps, qpn))
			place = PLACE_GONE;
	}
	return place;
}

/* True if messages reach queue pairs of other processes. All adapters have the same settings. */
static bool
wire_is_on(void)
{
	unsigned int n;
	const struct softhca_dev *devs = softhca_devices(&n);

	return n != 0 && devs[0].cfg->wire != SOFTHCA_WIRE_OFF;
}

/* True if another process has the number's block, and so perhaps the number. */
static bool
other_process_has(uint32_t qpn)
{
	return wire_is_on() && !wire_is_own(qpn) && names_is_held(qpn);
}

/*
 * The end of the log line about a number that this process has never had. NULL: nothing is to be
 * logged, because another process has the number, or the line was logged before.
 */
static const char *
nobody_has(uint32_t qpn, atomic_bool *said)
{
	/* The first condition also saves the system calls of the second one. */
	if (atomic_load_explicit(said, memory_order_relaxed) || other_process_has(qpn) ||
		!first(said))
		return NULL;
	return wire_is_on() ? no_process : not_this_process;
}

static bool
port_has(const struct softhca_port *port, bool ethernet, const uint8_t dgid[16], uint16_t dlid)
{
	if (!ethernet)
		return dlid == port->lid;
	for (unsigned int i = 0; i < port->n_gids; i++)
		if (memcmp(dgid, port->gid[i], sizeof(port->gid[i])) == 0)
			return true;
	return false;
}

/* True if a port of this process has the address: a GID on Ethernet, otherwise a LID. */
static bool
address_is_here(bool ethernet, const uint8_t dgid[16], uint16_t dlid)
{
	unsigned int n;
	const struct softhca_dev *devs = softhca_devices(&n);

	for (unsigned int i = 0; i < n; i++)
		for (unsigned int p = 0; p < devs[i].cfg->ports; p++)
			if (port_has(&devs[i].port[p], ethernet, dgid, dlid))
				return true;
	return false;
}

static bool
is_ethernet(const struct softhca_dev *dev)
{
	return dev->cfg->link_layer == SOFTHCA_LINK_ETHERNET;
}

/*
 * True for multicast LIDs, and for multicast GIDs of IPv6 and of IPv4 (RFC 4291 2.5.5.2 and 2.7,
 * RFC 1112).
 */
static bool
is_multicast(bool ethernet, const uint8_t gid[16], uint16_t dlid)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	if (!ethernet)
		return dlid >= LID_MULTICAST;
	return gid[0] == 0xff || (memcmp(gid, mapped, sizeof(mapped)) == 0 && gid[12] >> 4 == 0xe);
}

static const char *
print_address(bool ethernet, const uint8_t dgid[16], uint16_t dlid, char *text, size_t len)
{
	char gid[INET6_ADDRSTRLEN];

	if (ethernet)
		snprintf(text, len, "GID %s", inet_ntop(AF_INET6, dgid, gid, sizeof(gid)));
	else
		snprintf(text, len, "LID %u", dlid);
	return text;
}

/* ---------------------------------------------------------------- log lines */

void
elsewhere_note_connection(const struct softhca_qp *qp, const struct softhca_qp_attr *attr)
{
	static atomic_bool said, said_gone;
	const bool ethernet = is_ethernet(qp->dev);
	enum place place = place_of(attr->dest_qpn);
	const char *end;
	char text[64];

	if (place == PLACE_GONE) {
		if (first(&said_gone))
			softhca_log("queue pair 0x%06x is connected to queue pair 0x%06x, which "
				    "this process has destroyed: none of its messages will arrive",
				qp->number, attr->dest_qpn);
	} else if (place == PLACE_ELSEWHERE) {
		end = nobody_has(attr->dest_qpn, &said);
		if (end != NULL)
			softhca_log("queue pair 0x%06x is connected to queue pair 0x%06x, which %s",
				qp->number, attr->dest_qpn, end);
	} else if (!attr->loopback && !address_is_here(ethernet, attr->dgid, attr->dlid)) {
		if (first(&said))
			softhca_log("queue pair 0x%06x is connected to %s, which no adapter of "
				    "this process has. %s",
				qp->number,
				print_address(ethernet, attr->dgid, attr->dlid, text, sizeof(text)),
				advice);
	}
}

void
softhca_note_address(const struct softhca_dev *dev, const uint8_t dgid[16], uint16_t dlid)
{
	static atomic_bool said;
	const bool ethernet = is_ethernet(dev);
	char text[64];

	if (is_multicast(ethernet, dgid, dlid) || address_is_here(ethernet, dgid, dlid) ||
		!first(&said))
		return;
	softhca_log("an address handle is for %s, which no adapter of this process has: messages "
		    "to it will not arrive. %s",
		print_address(ethernet, dgid, dlid, text, sizeof(text)), advice);
}

void
elsewhere_note_message(uint32_t dest_qpn)
{
	static atomic_bool said, said_gone;
	const char *end;

	if (dest_qpn == QPN_MULTICAST)
		return;
	if (place_of(dest_qpn) == PLACE_GONE) {
		if (first(&said_gone))
			softhca_log("a message is for queue pair 0x%06x, which this process has "
				    "destroyed: such messages are lost",
				dest_qpn);
		return;
	}
	end = nobody_has(dest_qpn, &said);
	if (end != NULL)
		softhca_log("messages are lost: one is for queue pair 0x%06x, which %s", dest_qpn,
			end);
}
