/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DPDK's vhost library copies packets with the driver, in its asynchronous data path. There are two
 * processes:
 *
 *   front end, a child: a port of net_virtio_user    back end, this one: vhost, two DMA devices
 *       sends packets                 -->  FROM_GUEST copies them out of the front end's memory
 *       compares, in order            <--  TO_GUEST copies them back into it
 *
 * Vhost does not map the front end's memory to a DMA device; it maps memory only to VFIO devices.
 * So if the devices have no memory on demand (SVA), the program registers the memory, and maps it
 * to both devices.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>

#include <bus_vdev_driver.h>
#include <rte_dev.h>
#include <rte_dmadev.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_memory.h>
#include <rte_vhost.h>
#include <rte_vhost_async.h>

#include <softhca.h>

#include "gantry_env.h"

#define N_PACKETS 3000
#define MIN_LEN   60
#define MAX_LEN   1514
#define BURST     32
#define WINDOW    128 /* largest number of packets in flight */
#define N_DESC    1024
#define PAGE_LEN  4096
#define FRONT_END "front end" /* argv[0] of the child */

/* The queues of a virtio network device. Each queue has its own DMA device. */
enum {
	TO_GUEST,
	FROM_GUEST,
	N_QUEUES
};

static const char *const dma_name[N_QUEUES] = {"dma_mlx5_0", "dma_mlx5_1"};

/* ------------------------------------------------------------------ the front end */

static uint16_t
packet_len(unsigned int i)
{
	uint64_t seed = i;

	return MIN_LEN + check_random(&seed) % (MAX_LEN - MIN_LEN + 1);
}

static uint16_t
send_packets(uint16_t port, struct rte_mempool *pool, unsigned int first, unsigned int n)
{
	struct rte_mbuf *packet[BURST];
	unsigned int i;
	uint16_t sent;

	CHECK_EQ(rte_pktmbuf_alloc_bulk(pool, packet, n), 0);
	for (i = 0; i < n; i++)
		env_fill(rte_pktmbuf_append(packet[i], packet_len(first + i)),
			packet_len(first + i), first + i);
	sent = rte_eth_tx_burst(port, 0, packet, n);
	rte_pktmbuf_free_bulk(packet + sent, n - sent);
	return sent;
}

static uint16_t
receive_packets(uint16_t port, unsigned int first)
{
	struct rte_mbuf *packet[BURST];
	uint16_t i, n = rte_eth_rx_burst(port, 0, packet, BURST);

	for (i = 0; i < n; i++) {
		CHECK_EQ(packet[i]->nb_segs, 1);
		CHECK_EQ(packet[i]->pkt_len, packet_len(first + i));
		CHECK(env_is_filled(rte_pktmbuf_mtod(packet[i], void *), packet[i]->pkt_len,
			first + i));
	}
	rte_pktmbuf_free_bulk(packet, n);
	return n;
}

/* args: arguments of the port, including the path of the socket. */
static int
front_end(char *args)
{
	char lcores[32];
	char *argv[] = {FRONT_END, "--no-huge", "--no-shconf", "--no-pci", "--no-telemetry", "-m",
		"64", lcores, "--vdev", args, NULL};
	const struct rte_eth_conf conf = {0};
	struct rte_mempool *pool;
	unsigned int sent = 0, got = 0;
	uint16_t port;

	snprintf(lcores, sizeof(lcores), "--lcores=0@%d", sched_getcpu());
	CHECK(rte_eal_init(RTE_DIM(argv) - 1, argv) >= 0);
	env_unbind();
	CHECK_EQ(rte_eth_dev_get_port_by_name("net_virtio_user0", &port), 0);
	pool = rte_pktmbuf_pool_create("packets", 4096, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
	CHECK(pool != NULL);
	CHECK_EQ(rte_eth_dev_configure(port, 1, 1, &conf), 0);
	CHECK_EQ(rte_eth_rx_queue_setup(port, 0, 256, 0, NULL, pool), 0);
	CHECK_EQ(rte_eth_tx_queue_setup(port, 0, 256, 0, NULL), 0);
	CHECK_EQ(rte_eth_dev_start(port), 0);
	while (got < N_PACKETS) {
		if (sent < N_PACKETS && sent - got < WINDOW - BURST)
			sent += send_packets(port, pool, sent, RTE_MIN(BURST, N_PACKETS - sent));
		got += receive_packets(port, got);
		sched_yield();
	}
	CHECK_EQ(rte_eth_dev_stop(port), 0);
	CHECK_EQ(rte_eth_dev_close(port), 0);
	CHECK_EQ(rte_eal_cleanup(), 0);
	return 0;
}

/* ------------------------------------------------------------------ the back end */

/*
 * Vhost's thread sets the current guest. The main loop calls vhost for this guest, and runs the
 * adapter.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int guest = -1; /* protected by the lock */

static char socket_path[64];
static struct rte_mempool *copies;
static int16_t dma[N_QUEUES];
static bool has_sva; /* the DMA devices can use all memory of the process */

static struct rte_device *
find_device(const char *name)
{
	struct rte_device *dev, *found = NULL;
	struct rte_dev_iterator iterator;
	char text[64];

	snprintf(text, sizeof(text), "bus=vdev,name=%s", name);
	RTE_DEV_FOREACH(dev, text, &iterator)
	found = dev;
	CHECK(found != NULL);
	return found;
}

/* Maps the front end's memory to both devices, or unmaps it. */
static void
know_memory(int vid, bool known)
{
	struct rte_vhost_memory *memory;
	unsigned int i, k;

	if (has_sva)
		return;
	CHECK_EQ(rte_vhost_get_mem_table(vid, &memory), 0);
	for (i = 0; i < memory->nregions; i++) {
		void *at = memory->regions[i].mmap_addr;
		size_t len = memory->regions[i].mmap_size;

		if (known)
			CHECK_EQ(rte_extmem_register(at, len, NULL, 0, PAGE_LEN), 0);
		for (k = 0; k < N_QUEUES; k++)
			CHECK_EQ((known ? rte_dev_dma_map
					: rte_dev_dma_unmap)(find_device(dma_name[k]), at,
					 (uintptr_t)at, len),
				0);
		if (!known)
			CHECK_EQ(rte_extmem_unregister(at, len), 0);
	}
	free(memory);
}

static int
new_guest(int vid)
{
	pthread_mutex_lock(&lock);
	know_memory(vid, true);
	CHECK_EQ(rte_vhost_async_channel_register(vid, TO_GUEST), 0);
	CHECK_EQ(rte_vhost_async_channel_register(vid, FROM_GUEST), 0);
	guest = vid;
	pthread_mutex_unlock(&lock);
	return 0;
}

static void
guest_is_gone(int vid)
{
	pthread_mutex_lock(&lock);
	CHECK_EQ(vid, guest);
	CHECK_EQ(rte_vhost_async_channel_unregister(vid, TO_GUEST), 0);
	CHECK_EQ(rte_vhost_async_channel_unregister(vid, FROM_GUEST), 0);
	know_memory(vid, false);
	guest = -1;
	pthread_mutex_unlock(&lock);
}

/*
 * Receives packets of the guest, and sends them back. The guest always has a free receive, because
 * fewer packets are in flight than it has receives.
 */
static void
echo(void)
{
	struct rte_mbuf *packet[BURST];
	int in_flight;
	uint16_t n;

	n = rte_vhost_async_try_dequeue_burst(guest, FROM_GUEST, copies, packet, BURST, &in_flight,
		dma[FROM_GUEST], 0);
	CHECK_EQ(rte_vhost_submit_enqueue_burst(guest, TO_GUEST, packet, n, dma[TO_GUEST], 0), n);
	n = rte_vhost_poll_enqueue_completed(guest, TO_GUEST, packet, BURST, dma[TO_GUEST], 0);
	rte_pktmbuf_free_bulk(packet, n);
}

static bool
echo_if_there_is_a_guest(void)
{
	bool there;

	pthread_mutex_lock(&lock);
	there = guest >= 0;
	if (there)
		echo();
	env_pump();
	pthread_mutex_unlock(&lock);
	sched_yield();
	return there;
}

static int16_t
open_dma(const char *name)
{
	const struct rte_dma_conf conf = {.nb_vchans = 1};
	const struct rte_dma_vchan_conf vchan = {
		.direction = RTE_DMA_DIR_MEM_TO_MEM,
		.nb_desc = N_DESC,
	};
	struct rte_dma_info info;
	int16_t id;

	CHECK_EQ(rte_vdev_init(name, NULL), 0);
	id = rte_dma_get_dev_id_by_name(name);
	CHECK(id >= 0);
	CHECK_EQ(rte_dma_info_get(id, &info), 0);
	has_sva = (info.dev_capa & RTE_DMA_CAPA_SVA) != 0;
	CHECK_EQ(rte_dma_configure(id, &conf), 0);
	CHECK_EQ(rte_dma_vchan_setup(id, 0, &vchan), 0);
	CHECK_EQ(rte_dma_start(id), 0);
	CHECK_EQ(rte_vhost_async_dma_configure(id, 0), 0);
	return id;
}

/* Checks that the DMA devices copied each packet once in each direction. */
static void
check_copies(void)
{
	struct rte_dma_stats stats;
	unsigned int i;

	for (i = 0; i < N_QUEUES; i++) {
		CHECK_EQ(rte_dma_stats_get(dma[i], 0, &stats), 0);
		CHECK_EQ(stats.completed, N_PACKETS);
		CHECK_EQ(stats.errors, 0);
		CHECK_EQ(rte_dma_stats_reset(dma[i], 0), 0);
	}
}

/* Serves one guest with queues of this kind, from its start to its end. */
static void
serve(const char *queue)
{
	char args[128];
	int status;
	pid_t pid;

	snprintf(args, sizeof(args), "net_virtio_user0,path=%s,queues=1,%s", socket_path, queue);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		execl("/proc/self/exe", FRONT_END, args, NULL);
		_exit(1);
	}
	while (waitpid(pid, &status, WNOHANG) == 0)
		echo_if_there_is_a_guest();
	while (echo_if_there_is_a_guest())
		;
	CHECK_EQ(status, 0, "the front end's status");
	check_copies();
}

static void
packets_of_split_queues(void)
{
	serve("packed_vq=0");
}

static void
packets_of_packed_queues(void)
{
	serve("packed_vq=1");
}

static const struct check_case cases[] = {
	{"packets of split queues are copied by the devices", packets_of_split_queues},
	{"packets of packed queues are copied by the devices", packets_of_packed_queues},
};

int
main(int argc, char **argv)
{
	static const struct rte_vhost_device_ops ops = {
		.new_device = new_guest,
		.destroy_device = guest_is_gone,
	};
	char folder[] = "/tmp/gantry-vhost-XXXXXX";
	unsigned int i;

	if (strcmp(argv[0], FRONT_END) == 0)
		return front_end(argv[1]);
	env_init(0);
	copies = rte_pktmbuf_pool_create("copies", 4096, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
	CHECK(copies != NULL);
	for (i = 0; i < N_QUEUES; i++)
		dma[i] = open_dma(dma_name[i]);
	printf("the devices %s memory on demand\n", has_sva ? "have" : "have no");
	CHECK(mkdtemp(folder) != NULL);
	snprintf(socket_path, sizeof(socket_path), "%s/socket", folder);
	CHECK_EQ(rte_vhost_driver_register(socket_path, RTE_VHOST_USER_ASYNC_COPY), 0);
	CHECK_EQ(rte_vhost_driver_callback_register(socket_path, &ops), 0);
	CHECK_EQ(rte_vhost_driver_start(socket_path), 0);
	env_run(cases, RTE_DIM(cases), argc, argv);
	CHECK_EQ(rte_vhost_driver_unregister(socket_path), 0);
	CHECK_EQ(rmdir(folder), 0);
	for (i = 0; i < N_QUEUES; i++) {
		CHECK_EQ(rte_dma_stop(dma[i]), 0);
		CHECK_EQ(rte_vdev_uninit(dma_name[i]), 0);
	}
	CHECK_EQ(softhca_violations(), 0);
	CHECK_EQ(rte_eal_cleanup(), 0);
	return 0;
}
