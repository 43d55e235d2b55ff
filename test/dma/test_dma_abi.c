/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the declarations of drivers/dma/mlx5/abi against the installed DPDK. If DPDK's own driver
 * headers are installed, the test is also compiled with them, and both sets of declarations must
 * give the same layouts.
 *
 * A driver registers a device. Each function of the driver stores its own name. The program makes
 * each call that DPDK offers to applications, and checks that the right function was called with
 * the right arguments.
 */
#include <string.h>

#include <bus_vdev_driver.h>
#include <rte_dmadev_pmd.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_memory.h>
#include <rte_version.h>

#include "check.h"
#include "dma_layout.h"

#define NAME      "recorder_0"
#define ARGUMENTS "colour=red"
#define NUMA_NODE 3
#define N_VCHANS  5
#define PAGE_LEN  4096

static const char *called; /* name of the driver's function that was called last */
static struct rte_dma_dev *the_dev;
static void *the_private;
static struct rte_device *the_vdev;

#define NOTE() (called = __func__)

/* Since 25.11, a device can share memory with a device of another process. */
#define HAS_PAIRS (RTE_VERSION >= RTE_VERSION_NUM(25, 11, 0, 0))

/* ------------------------------------------------------------------ the driver */

static void
check_dev(const struct rte_dma_dev *dev)
{
	CHECK(dev == the_dev);
	CHECK(dev->data->dev_private == the_private);
}

static int
dev_info_get(const struct rte_dma_dev *dev, struct rte_dma_info *info, uint32_t info_sz)
{
	NOTE();
	check_dev(dev);
	CHECK_EQ(info_sz, sizeof(*info));
	info->dev_capa = RTE_DMA_CAPA_MEM_TO_MEM | RTE_DMA_CAPA_OPS_COPY;
#if HAS_PAIRS
	info->dev_capa |= RTE_DMA_CAPA_INTER_PROCESS_DOMAIN;
#endif
	info->max_vchans = N_VCHANS;
	info->min_desc = 1;
	info->max_desc = 77;
	return 0;
}

static int
dev_configure(struct rte_dma_dev *dev, const struct rte_dma_conf *conf, uint32_t conf_sz)
{
	NOTE();
	check_dev(dev);
	CHECK_EQ(conf_sz, sizeof(*conf));
	CHECK_EQ(conf->nb_vchans, N_VCHANS);
	return 0;
}

static int
dev_start(struct rte_dma_dev *dev)
{
	NOTE();
	check_dev(dev);
	CHECK_EQ(dev->data->dev_conf.nb_vchans, N_VCHANS);
	CHECK_EQ(dev->data->dev_started, 0);
	return 0;
}

static int
dev_stop(struct rte_dma_dev *dev)
{
	NOTE();
	check_dev(dev);
	CHECK_EQ(dev->data->dev_started, 1);
	return 0;
}

static int
dev_close(struct rte_dma_dev *dev)
{
	NOTE();
	check_dev(dev);
	return 0;
}

static int
vchan_setup(struct rte_dma_dev *dev, uint16_t vchan, const struct rte_dma_vchan_conf *conf,
	uint32_t conf_sz)
{
	NOTE();
	check_dev(dev);
	CHECK_EQ(vchan, 4);
	CHECK_EQ(conf_sz, sizeof(*conf));
	CHECK_EQ(conf->nb_desc, 66);
	return 0;
}

static int
stats_get(const struct rte_dma_dev *dev, uint16_t vchan, struct rte_dma_stats *stats,
	uint32_t stats_sz)
{
	NOTE();
	check_dev(dev);
	CHECK_EQ(vchan, 3);
	CHECK_EQ(stats_sz, sizeof(*stats));
	stats->errors = 9;
	return 0;
}

static int
stats_reset(struct rte_dma_dev *dev, uint16_t vchan)
{
	NOTE();
	check_dev(dev);
	CHECK_EQ(vchan, 2);
	return 0;
}

static int
vchan_status(const struct rte_dma_dev *dev, uint16_t vchan, enum rte_dma_vchan_status *status)
{
	NOTE();
	check_dev(dev);
	CHECK_EQ(vchan, 1);
	*status = RTE_DMA_VCHAN_HALTED_ERROR;
	return 0;
}

static int
dev_dump(const struct rte_dma_dev *dev, FILE *f)
{
	NOTE();
	check_dev(dev);
	fprintf(f, "the dump\n");
	return 0;
}

#if HAS_PAIRS
static rte_uuid_t domain = {1}, token = {2};

static int
pair_create(const struct rte_dma_dev *dev, rte_uuid_t domain_id, rte_uuid_t t, int16_t *group_id,
	rte_dma_access_pair_group_event_cb_t cb)
{
	NOTE();
	check_dev(dev);
	CHECK(domain_id == domain && t == token && cb == NULL);
	*group_id = 3;
	return 0;
}

static int
pair_destroy(const struct rte_dma_dev *dev, int16_t group_id)
{
	NOTE();
	check_dev(dev);
	CHECK_EQ(group_id, 4);
	return 0;
}

static int
pair_join(const struct rte_dma_dev *dev, rte_uuid_t domain_id, rte_uuid_t t, int16_t group_id,
	rte_dma_access_pair_group_event_cb_t cb)
{
	NOTE();
	check_dev(dev);
	CHECK(domain_id == domain && t == token && group_id == 5 && cb == NULL);
	return 0;
}

static int
pair_leave(const struct rte_dma_dev *dev, int16_t group_id)
{
	NOTE();
	check_dev(dev);
	CHECK_EQ(group_id, 6);
	return 0;
}

static int
pair_handler(const struct rte_dma_dev *dev, int16_t group_id, rte_uuid_t domain_id,
	uint16_t *handler)
{
	NOTE();
	check_dev(dev);
	CHECK(group_id == 7 && domain_id == domain);
	*handler = 8;
	return 0;
}
#endif

static const struct rte_dma_dev_ops ops = {
	.dev_info_get = dev_info_get,
	.dev_configure = dev_configure,
	.dev_start = dev_start,
	.dev_stop = dev_stop,
	.dev_close = dev_close,
	.vchan_setup = vchan_setup,
	.stats_get = stats_get,
	.stats_reset = stats_reset,
	.vchan_status = vchan_status,
	.dev_dump = dev_dump,
#if HAS_PAIRS
	.access_pair_group_create = pair_create,
	.access_pair_group_destroy = pair_destroy,
	.access_pair_group_join = pair_join,
	.access_pair_group_leave = pair_leave,
	.access_pair_group_handler_get = pair_handler,
#endif
};

static int
copy(void *dev_private, uint16_t vchan, rte_iova_t src, rte_iova_t dst, uint32_t length,
	uint64_t flags)
{
	NOTE();
	CHECK(dev_private == the_private);
	CHECK(vchan == 1 && src == 2 && dst == 3 && length == 4 && flags == 5);
	return 6;
}

static int
copy_sg(void *dev_private, uint16_t vchan, const struct rte_dma_sge *src,
	const struct rte_dma_sge *dst, uint16_t nb_src, uint16_t nb_dst, uint64_t flags)
{
	NOTE();
	CHECK(dev_private == the_private);
	CHECK(vchan == 1 && src[0].addr == 2 && dst[0].length == 3 && nb_src == 4 && nb_dst == 5);
	return flags;
}

static int
fill(void *dev_private, uint16_t vchan, uint64_t pattern, rte_iova_t dst, uint32_t length,
	uint64_t flags)
{
	NOTE();
	CHECK(dev_private == the_private);
	CHECK(vchan == 1 && pattern == 2 && dst == 3 && length == 4 && flags == 5);
	return 6;
}

static int
submit(void *dev_private, uint16_t vchan)
{
	NOTE();
	CHECK(dev_private == the_private);
	return vchan;
}

static uint16_t
completed(void *dev_private, uint16_t vchan, const uint16_t nb_cpls, uint16_t *last_idx,
	bool *has_error)
{
	NOTE();
	CHECK(dev_private == the_private && vchan == 1);
	*last_idx = 7;
	*has_error = true;
	return nb_cpls;
}

static uint16_t
completed_status(void *dev_private, uint16_t vchan, const uint16_t nb_cpls, uint16_t *last_idx,
	enum rte_dma_status_code *status)
{
	NOTE();
	CHECK(dev_private == the_private && vchan == 1);
	*last_idx = 8;
	*status = RTE_DMA_STATUS_PAGE_FAULT;
	return nb_cpls;
}

static uint16_t
burst_capacity(const void *dev_private, uint16_t vchan)
{
	NOTE();
	CHECK(dev_private == the_private);
	return vchan;
}

static int
probe(struct rte_vdev_device *vdev)
{
	struct rte_dma_dev *dev;

	NOTE();
	the_vdev = &vdev->device;
	CHECK(strcmp(rte_vdev_device_name(vdev), NAME) == 0);
	CHECK(strcmp(rte_vdev_device_args(vdev), ARGUMENTS) == 0);
	dev = rte_dma_pmd_allocate(NAME, SOCKET_ID_ANY, 100);
	CHECK(dev != NULL);
	if (dev == NULL)
		return -1;
	the_dev = dev;
	the_private = dev->data->dev_private;
	CHECK(strcmp(dev->data->dev_name, NAME) == 0);
	CHECK_EQ(dev->data->numa_node, SOCKET_ID_ANY);
	CHECK_EQ(dev->state, RTE_DMA_DEV_REGISTERED);
	vdev->device.numa_node = NUMA_NODE;
	dev->device = &vdev->device;
	dev->dev_ops = &ops;
	dev->fp_obj->dev_private = the_private;
	dev->fp_obj->copy = copy;
	dev->fp_obj->copy_sg = copy_sg;
	dev->fp_obj->fill = fill;
	dev->fp_obj->submit = submit;
	dev->fp_obj->completed = completed;
	dev->fp_obj->completed_status = completed_status;
	dev->fp_obj->burst_capacity = burst_capacity;
	dev->state = RTE_DMA_DEV_READY;
	return 0;
}

static int
remove_dev(struct rte_vdev_device *vdev)
{
	NOTE();
	CHECK(&vdev->device == the_vdev);
	return 0;
}

static int
dma_map(struct rte_vdev_device *vdev, void *addr, uint64_t iova, size_t len)
{
	NOTE();
	CHECK(&vdev->device == the_vdev && addr != NULL && iova == 5 && len == PAGE_LEN);
	return 0;
}

static int
dma_unmap(struct rte_vdev_device *vdev, void *addr, uint64_t iova, size_t len)
{
	NOTE();
	CHECK(&vdev->device == the_vdev && addr != NULL && iova == 6 && len == PAGE_LEN);
	return 0;
}

static struct rte_vdev_driver driver = {
	.probe = probe,
	.remove = remove_dev,
	.dma_map = dma_map,
	.dma_unmap = dma_unmap,
};

RTE_PMD_REGISTER_VDEV(recorder, driver);

/* ------------------------------------------------------------------ the calls */

/* Checks that the call returns `want`, and that DPDK called this function of the driver. */
#define CALLS(call, want, function)                                                                \
	do {                                                                                       \
		called = "none";                                                                   \
		CHECK_EQ(call, want);                                                              \
		CHECK(strcmp(called, #function) == 0, "called: %s", called);                       \
	} while (0)

static void
control_calls(int16_t id)
{
	const struct rte_dma_conf conf = {.nb_vchans = N_VCHANS};
	const struct rte_dma_vchan_conf vchan = {.direction = RTE_DMA_DIR_MEM_TO_MEM,
		.nb_desc = 66};
	enum rte_dma_vchan_status status = RTE_DMA_VCHAN_IDLE;
	struct rte_dma_stats stats;
	struct rte_dma_info info;
	char text[512] = "";
	FILE *f;

	CALLS(rte_dma_info_get(id, &info), 0, dev_info_get);
	CHECK(strcmp(info.dev_name, NAME) == 0);
	CHECK_EQ(info.max_desc, 77);
	CHECK_EQ(info.numa_node, NUMA_NODE);
	CALLS(rte_dma_configure(id, &conf), 0, dev_configure);
	CHECK_EQ(the_dev->data->dev_conf.nb_vchans, N_VCHANS);
	CALLS(rte_dma_vchan_setup(id, 4, &vchan), 0, vchan_setup);
	CALLS(rte_dma_start(id), 0, dev_start);
	CHECK_EQ(the_dev->data->dev_started, 1);
	CALLS(rte_dma_stats_get(id, 3, &stats), 0, stats_get);
	CHECK_EQ(stats.errors, 9);
	CALLS(rte_dma_stats_reset(id, 2), 0, stats_reset);
	CALLS(rte_dma_vchan_status(id, 1, &status), 0, vchan_status);
	CHECK_EQ(status, RTE_DMA_VCHAN_HALTED_ERROR);
	f = fmemopen(text, sizeof(text) - 1, "w");
	CHECK(f != NULL);
	CALLS(rte_dma_dump(id, f), 0, dev_dump);
	fclose(f);
	CHECK(strstr(text, NAME) != NULL && strstr(text, "the dump") != NULL, "%s", text);
}

static void
pair_calls(int16_t id)
{
#if HAS_PAIRS
	uint16_t handler = 0;
	int16_t group = 0;

	CALLS(rte_dma_access_pair_group_create(id, domain, token, &group, NULL), 0, pair_create);
	CHECK_EQ(group, 3);
	CALLS(rte_dma_access_pair_group_destroy(id, 4), 0, pair_destroy);
	CALLS(rte_dma_access_pair_group_join(id, domain, token, 5, NULL), 0, pair_join);
	CALLS(rte_dma_access_pair_group_leave(id, 6), 0, pair_leave);
	CALLS(rte_dma_access_pair_group_handler_get(id, 7, domain, &handler), 0, pair_handler);
	CHECK_EQ(handler, 8);
#endif
}

static void
data_calls(int16_t id)
{
	enum rte_dma_status_code status = RTE_DMA_STATUS_SUCCESSFUL;
	struct rte_dma_sge src = {.addr = 2}, dst = {.length = 3};
	bool error = false;
	uint16_t last;

	CALLS(rte_dma_copy(id, 1, 2, 3, 4, 5), 6, copy);
	CALLS(rte_dma_copy_sg(id, 1, &src, &dst, 4, 5, 6), 6, copy_sg);
	CALLS(rte_dma_fill(id, 1, 2, 3, 4, 5), 6, fill);
	CALLS(rte_dma_submit(id, 1), 1, submit);
	CALLS(rte_dma_completed(id, 1, 2, &last, &error), 2, completed);
	CHECK(last == 7 && error);
	CALLS(rte_dma_completed_status(id, 1, 3, &last, &status), 3, completed_status);
	CHECK(last == 8 && status == RTE_DMA_STATUS_PAGE_FAULT);
	CALLS(rte_dma_burst_capacity(id, 4), 4, burst_capacity);
}

static void
memory_calls(void)
{
	static uint8_t page[PAGE_LEN] __attribute__((aligned(PAGE_LEN)));

	CHECK_EQ(rte_extmem_register(page, PAGE_LEN, NULL, 1, PAGE_LEN), 0);
	CALLS(rte_dev_dma_map(the_vdev, page, 5, PAGE_LEN), 0, dma_map);
	CALLS(rte_dev_dma_unmap(the_vdev, page, 6, PAGE_LEN), 0, dma_unmap);
	CHECK_EQ(rte_extmem_unregister(page, PAGE_LEN), 0);
}

static void
layouts(void)
{
	const struct dma_layout *own = dma_layout_own, *dpdk = dma_layout_dpdk;

	if (own == NULL || dpdk == NULL)
		return;
	for (; own->name != NULL && dpdk->name != NULL; own++, dpdk++) {
		CHECK(strcmp(own->name, dpdk->name) == 0, "%s, %s", own->name, dpdk->name);
		CHECK_EQ(own->offset, dpdk->offset, own->name);
		CHECK_EQ(own->size, dpdk->size, own->name);
	}
	CHECK(own->name == NULL && dpdk->name == NULL);
}

int
main(void)
{
	char *argv[] = {"test", "--no-huge", "--no-shconf", "--no-pci", "--no-telemetry", "-m",
		"16", "-l", "0", NULL};
	int id;

	CHECK(rte_eal_init(RTE_DIM(argv) - 1, argv) >= 0);
	CHECK_EQ(rte_dma_dev_max(2), 0);
	CALLS(rte_vdev_init(NAME, ARGUMENTS), 0, probe);
	if (the_dev == NULL)
		return 1;
	CHECK_EQ(rte_dma_count_avail(), 1);
	id = rte_dma_get_dev_id_by_name(NAME);
	CHECK_EQ(id, 0);
	CHECK(rte_dma_is_valid(id));
	CHECK_EQ(rte_dma_next_dev(0), 0);
	RUN("own declarations have the layouts of DPDK's", layouts());
	RUN("each control call reaches the driver's function for it", control_calls(id));
	RUN("each call for pairs of devices reaches the driver's function for it", pair_calls(id));
	RUN("each call of the data path reaches the driver's function for it", data_calls(id));
	RUN("each call that maps memory reaches the driver's function for it", memory_calls());
	CALLS(rte_dma_stop(id), 0, dev_stop);
	CHECK_EQ(the_dev->data->dev_started, 0);
	CALLS(rte_dma_close(id), 0, dev_close);
	CHECK_EQ(rte_dma_count_avail(), 0);
	CHECK_EQ(rte_dma_pmd_release(NAME), -EINVAL);
	CALLS(rte_vdev_uninit(NAME), 0, remove_dev);
	return check_failures != 0;
}
