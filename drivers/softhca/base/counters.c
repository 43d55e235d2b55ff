/* SPDX-License-Identifier: BSD-3-Clause */
/* The counters of the adapters' ports. */
#include "counters.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "raw.h"

struct port {
	_Atomic uint64_t value[COUNTER_N];
};

struct table {
	struct port port[SOFTHCA_MAX_DEVICES][SOFTHCA_MAX_PORTS];
};

static struct table unshared;
static _Atomic(struct table *) table = &unshared;
/*
 * Locks for carry(), one for each port. Several threads may add to the counters of one port at the
 * same time.
 */
static struct spin carrying[SOFTHCA_MAX_DEVICES][SOFTHCA_MAX_PORTS];

static struct port *
counters_of(const struct softhca_dev *dev, uint32_t port)
{
	struct table *t = atomic_load_explicit(&table, memory_order_acquire);

	return &t->port[dev->index][port == 2];
}

void
counters_add(const struct softhca_dev *dev, uint32_t port, enum counter counter)
{
	atomic_fetch_add_explicit(&counters_of(dev, port)->value[counter], 1, memory_order_relaxed);
}

/*
 * Adds n to a counter of octets or packets. The caller holds the port's lock. Readers take no lock.
 */
static void
carry(struct port *to, enum counter counter, uint64_t n)
{
	_Atomic uint64_t *value = &to->value[counter];

	atomic_store_explicit(value, atomic_load_explicit(value, memory_order_relaxed) + n,
		memory_order_relaxed);
}

void
counters_carry(const struct softhca_dev *dev, uint32_t port, const struct traffic *sent,
	const struct traffic *received, const struct requests *answered)
{
	struct port *to = counters_of(dev, port);
	struct spin *lock = &carrying[dev->index][port == 2];

	spin_lock(lock);
	carry(to, COUNTER_XMIT_DATA, sent->words);
	carry(to, COUNTER_XMIT_PACKETS, sent->packets);
	carry(to, COUNTER_RCV_DATA, received->words);
	carry(to, COUNTER_RCV_PACKETS, received->packets);
	if (answered != NULL) {
		carry(to, COUNTER_RX_WRITES, answered->writes);
		carry(to, COUNTER_RX_READS, answered->reads);
		carry(to, COUNTER_RX_ATOMICS, answered->atomics);
	}
	spin_unlock(lock);
}

/* ---------------------------------------------------------------- the file */

void
counters_share(const char *path)
{
	struct table *none = &unshared, *shared;
	int fd;

	if (atomic_load_explicit(&table, memory_order_acquire) != &unshared)
		return;
	fd = raw_open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0)
		return;
	shared =
		ftruncate(fd, sizeof(*shared)) == 0
			? raw_mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
			: MAP_FAILED;
	close(fd);
	if (shared == MAP_FAILED)
		return;
	/* If another thread has mapped the file first, this thread's mapping is removed. */
	if (!atomic_compare_exchange_strong(&table, &none, shared))
		munmap(shared, sizeof(*shared));
}

void
counters_fork_child(void)
{
	memset(&unshared, 0, sizeof(unshared));
	memset(carrying, 0, sizeof(carrying));
	atomic_store_explicit(&table, &unshared, memory_order_release);
}

/*
 * The kernel's name of each counter: IBTA volume 1, PortCounters and PortCountersExtended;
 * hw/mlx5/counters.c of the kernel.
 */
static const struct {
	const char *name;
	enum counter counter;
} names[] = {
	{"port_xmit_data", COUNTER_XMIT_DATA},
	{"port_rcv_data", COUNTER_RCV_DATA},
	{"port_xmit_packets", COUNTER_XMIT_PACKETS},
	{"port_rcv_packets", COUNTER_RCV_PACKETS},
	/* Every packet counts as unicast, because multicast is not emulated. */
	{"unicast_xmit_packets", COUNTER_XMIT_PACKETS},
	{"unicast_rcv_packets", COUNTER_RCV_PACKETS},
	{"link_downed", COUNTER_LINK_DOWNED},
	{"port_xmit_discards", COUNTER_XMIT_DISCARDS},
	{"rx_write_requests", COUNTER_RX_WRITES},
	{"rx_read_requests", COUNTER_RX_READS},
	{"rx_atomic_requests", COUNTER_RX_ATOMICS},
	{"out_of_buffer", COUNTER_OUT_OF_BUFFER},
	{"rnr_nak_retry_err", COUNTER_RNR_NAKS},
	{"local_ack_timeout_err", COUNTER_ACK_TIMEOUTS},
	{"resp_local_length_error", COUNTER_RESP_LENGTH},
	{"resp_cqe_error", COUNTER_RESP_CQES},
	{"resp_cqe_flush_error", COUNTER_RESP_FLUSHED_CQES},
	{"req_cqe_error", COUNTER_REQ_CQES},
	{"req_cqe_flush_error", COUNTER_REQ_FLUSHED_CQES},
	{"req_remote_invalid_request", COUNTER_REQ_INVALID},
	{"req_remote_access_errors", COUNTER_REQ_ACCESS},
	{"resp_remote_access_errors", COUNTER_RESP_ACCESS},
};

/*
 * The names of mlx5's hw_counters for an Ethernet port: drivers/infiniband/hw/mlx5/counters.c of
 * the kernel.
 */
const char *const counters_hw_names[] = {"rx_write_requests", "rx_read_requests",
	"rx_atomic_requests", "rx_dct_connect", "out_of_buffer", "out_of_sequence",
	"duplicate_request", "rnr_nak_retry_err", "packet_seq_err", "implied_nak_seq_err",
	"local_ack_timeout_err", "resp_local_length_error", "resp_cqe_error", "req_cqe_error",
	"req_remote_invalid_request", "req_remote_access_errors", "resp_remote_access_errors",
	"resp_cqe_flush_error", "req_cqe_flush_error", NULL};

bool
counters_read(const char *path, uint32_t dev, uint32_t port, const char *name, uint64_t *value)
{
	off_t at = (off_t)offsetof(struct table, port[dev][port == 2]);
	bool done = false;
	int fd;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(names[i].name, name) != 0)
			continue;
		fd = raw_open(path, O_RDONLY | O_CLOEXEC, 0);
		if (fd < 0)
			return false;
		at += (off_t)(names[i].counter * sizeof(uint64_t));
		done = pread(fd, value, sizeof(*value), at) == sizeof(*value);
		close(fd);
		break;
	}
	return done;
}
