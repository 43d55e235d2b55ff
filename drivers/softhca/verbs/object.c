/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts, and the objects in them: handles, who uses whom, and ends in the right order. */
#include "object.h"

#include "caps.h"
#include "devices.h"
#include "dm.h"
#include "log.h"
#include "raw.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <rdma/mlx5-abi.h>

#define MAX_PDN (1 << 16)
/* The memfd's name, and how /proc/pid/maps has it. */
#define DEVICE_NAME    "softhca"
#define DEVICE_MAPPING "/memfd:" DEVICE_NAME " "

/* Lock order: list_lock (the contexts and their refs), a context's lock, count_lock. */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct softhca_ctx *contexts;
static pthread_mutex_t count_lock = PTHREAD_MUTEX_INITIALIZER; /* guards the three below */
static uint32_t counts[SOFTHCA_MAX_DEVICES][OBJ_N_TYPES];
static uint8_t pdn_used[SOFTHCA_MAX_DEVICES][MAX_PDN / 8];
static uint32_t pdn_next[SOFTHCA_MAX_DEVICES];

/* ---------------------------------------------------------------- events of the adapter */

static void
post_to_files(struct softhca_ctx *ctx, uint32_t type, uint32_t port)
{
	for (uint32_t i = 0; i < ctx->n_files; i++)
		if (event_file_is_async(ctx->files[i]))
			event_file_post(ctx->files[i], port, type);
}

bool
softhca_event_device(struct softhca_dev *dev, uint32_t type, uint32_t port)
{
	struct softhca_ctx *end = contexts, *ctx;

	if (pthread_mutex_trylock(&list_lock) != 0)
		return false;
	/* All of their locks, or none: an event goes to every context once. */
	for (end = contexts; end != NULL; end = end->next)
		if (pthread_mutex_trylock(&end->lock) != 0)
			break;
	for (ctx = contexts; ctx != end; ctx = ctx->next) {
		if (end == NULL && ctx->dev == dev && !ctx->dead)
			post_to_files(ctx, type, port);
		pthread_mutex_unlock(&ctx->lock);
	}
	pthread_mutex_unlock(&list_lock);
	return end == NULL;
}

/* ---------------------------------------------------------------- small things */

static bool
bit_get(const uint8_t *map, uint32_t i)
{
	return (map[i / 8] >> (i % 8)) & 1;
}

static void
bit_set(uint8_t *map, uint32_t i, bool on)
{
	if (on)
		map[i / 8] |= 1U << (i % 8);
	else
		map[i / 8] &= ~(1U << (i % 8));
}

/* Numbers are handed out in turn, so that one just given back is not met again at once. */
int
pdn_take(struct softhca_dev *dev)
{
	uint32_t i = dev->index, pdn = 0;

	pthread_mutex_lock(&count_lock);
	for (uint32_t n = 0; n < MAX_PDN; n++) {
		uint32_t candidate = pdn_next[i]++ % MAX_PDN;

		if (candidate == 0 || bit_get(pdn_used[i], candidate))
			continue;
		bit_set(pdn_used[i], candidate, true);
		pdn = candidate;
		break;
	}
	pthread_mutex_unlock(&count_lock);
	return pdn != 0 ? (int)pdn : -ENOSPC;
}

void
pdn_give(struct softhca_dev *dev, uint32_t pdn)
{
	pthread_mutex_lock(&count_lock);
	bit_set(pdn_used[dev->index], pdn, false);
	pthread_mutex_unlock(&count_lock);
}

static uint32_t
limit_of(const struct softhca_config *cfg, enum object_type type)
{
	switch (type) {
	case OBJ_PD:
		return cfg->max_pd;
	case OBJ_MR:
		return cfg->max_mr;
	case OBJ_MW:
	case OBJ_DEVX_MKEY:
	case OBJ_DEVX_PSV:
		return cfg->max_mr;
	case OBJ_CQ:
	case OBJ_DEVX_CQ:
		return cfg->max_cq;
	case OBJ_QP:
	case OBJ_DEVX_QP:
	case OBJ_WQ:
	case OBJ_WQ_TABLE:
		return cfg->max_qp;
	case OBJ_AH:
		return cfg->max_ah;
	case OBJ_SRQ:
		return cfg->max_srq;
	case OBJ_DEVX_DEK:
		return 1U << CAPS_LOG_MAX_DEKS;
	case OBJ_DEVX_QPNS:
		return (cfg->max_qp >> CAPS_LOG_RESERVED_QPNS) + 1;
	default:
		return UINT32_MAX; /* UARs are bounded by the pages of a context */
	}
}

static bool
count_up(struct softhca_dev *dev, enum object_type type)
{
	bool ok;

	pthread_mutex_lock(&count_lock);
	ok = counts[dev->index][type] < limit_of(dev->cfg, type);
	if (ok)
		counts[dev->index][type]++;
	pthread_mutex_unlock(&count_lock);
	return ok;
}

static void
count_down(struct softhca_dev *dev, enum object_type type)
{
	pthread_mutex_lock(&count_lock);
	counts[dev->index][type]--;
	pthread_mutex_unlock(&count_lock);
}

/*
 * The kernel pins what it is given, and fails with EFAULT where that cannot be. Here the mappings
 * of the process are looked at: proc(5), /proc/pid/maps, which is sorted by address. Pages of a device
 * cannot be pinned: neither can ours.
 */
bool
memory_is_mapped(uint64_t addr, uint64_t len, bool writable)
{
	FILE *f = fopen("/proc/self/maps", "re");
	uint64_t at = addr;
	char line[512];
	bool line_start = true;

	if (f == NULL)
		return false;
	while (at - addr < len && fgets(line, sizeof(line), f) != NULL) {
		unsigned long from, to;
		char read_flag, write_flag;
		bool whole = line_start;

		line_start = strchr(line, '\n') != NULL; /* a long path comes in pieces */
		if (!whole ||
			sscanf(line, "%lx-%lx %c%c", &from, &to, &read_flag, &write_flag) != 4 ||
			to <= at)
			continue;
		if (from > at || read_flag != 'r' || (writable && write_flag != 'w') ||
			strstr(line, DEVICE_MAPPING) != NULL)
			break;
		at = to;
	}
	fclose(f);
	return at - addr >= len;
}

/* ---------------------------------------------------------------- objects */

static int
take_handle(struct softhca_ctx *ctx, uint32_t *handle)
{
	uint32_t n = ctx->n_objects == 0 ? 64 : ctx->n_objects * 2;
	struct object **grown;

	for (uint32_t i = 1; i < ctx->n_objects; i++) {
		uint32_t h = 1 + (ctx->next_handle + i - 1) % (ctx->n_objects - 1);

		if (ctx->objects[h] != NULL)
			continue;
		ctx->next_handle = h;
		*handle = h;
		return 0;
	}
	grown = realloc(ctx->objects, n * sizeof(*grown));
	if (grown == NULL)
		return -ENOMEM;
	memset(grown + ctx->n_objects, 0, (n - ctx->n_objects) * sizeof(*grown));
	ctx->objects = grown;
	*handle = ctx->n_objects == 0 ? 1 : ctx->n_objects;
	ctx->next_handle = *handle;
	ctx->n_objects = n;
	return 0;
}

int
object_create(struct softhca_ctx *ctx, enum object_type type, size_t size, void *out)
{
	struct object *obj = calloc(1, size);
	int rc;

	if (obj == NULL)
		return -ENOMEM;
	rc = take_handle(ctx, &obj->handle);
	if (rc == 0 && !count_up(ctx->dev, type))
		rc = -ENOSPC;
	if (rc != 0) {
		free(obj);
		return rc;
	}
	obj->type = type;
	ctx->objects[obj->handle] = obj;
	*(struct object **)out = obj;
	return 0;
}

void *
object_find(struct softhca_ctx *ctx, enum object_type type, uint32_t handle)
{
	struct object *obj = handle < ctx->n_objects ? ctx->objects[handle] : NULL;

	return obj != NULL && (obj->type == type || type == OBJ_ANY) ? obj : NULL;
}

void
object_forget(struct softhca_ctx *ctx, struct object *obj)
{
	ctx->objects[obj->handle] = NULL;
	count_down(ctx->dev, obj->type);
	free(obj);
}

static int
destroy_uar(struct softhca_ctx *ctx, struct object_uar *uar)
{
	int rc = softhca_uar_destroy(uar->uar);

	if (rc == 0)
		ctx_give_page(ctx, uar->page_id);
	return rc;
}

static int
destroy_mr(struct object_mr *mr)
{
	int rc = softhca_mkey_destroy(mr->mkey);

	if (rc != 0)
		return rc;
	object_unuse(&mr->pd->obj);
	if (mr->dm != NULL)
		object_unuse(&mr->dm->obj);
	return 0;
}

static int
destroy_dm(struct softhca_ctx *ctx, struct object_dm *dm)
{
	/* In a child of fork(): the parent has it still. */
	if (dm->owner != getpid())
		return -EIO;
	dm_give(ctx, dm->first_page, dm_pages(dm->len));
	return 0;
}

static int
destroy_cq(struct object_cq *cq, struct object_events *events)
{
	int rc = softhca_cq_destroy(cq->cq);

	if (rc != 0)
		return rc;
	event_source_fini(&cq->event, &events->comp_read, &events->async_read);
	object_unuse(&cq->uar->obj);
	return 0;
}

static void
qp_unuse_all(struct object_qp *qp)
{
	if (qp->pd != NULL)
		object_unuse(&qp->pd->obj);
	if (qp->send_cq != NULL)
		object_unuse(&qp->send_cq->obj);
	if (qp->recv_cq != NULL)
		object_unuse(&qp->recv_cq->obj);
	if (qp->srq != NULL)
		object_unuse(&qp->srq->obj);
	if (qp->xrcd != NULL)
		object_unuse(&qp->xrcd->obj);
	if (qp->uar != NULL)
		object_unuse(&qp->uar->obj);
}

static int
destroy_qp(struct object_qp *qp, struct object_events *events)
{
	int rc = softhca_qp_destroy(qp->qp);

	if (rc != 0)
		return rc;
	event_source_fini(&qp->event, &events->comp_read, &events->async_read);
	qp_unuse_all(qp);
	return 0;
}

static int
destroy_srq(struct object_srq *srq, struct object_events *events)
{
	int rc = softhca_srq_destroy(srq->srq);

	if (rc != 0)
		return rc;
	event_source_fini(&srq->event, &events->comp_read, &events->async_read);
	object_unuse(&srq->pd->obj);
	if (srq->cq != NULL)
		object_unuse(&srq->cq->obj);
	if (srq->xrcd != NULL)
		object_unuse(&srq->xrcd->obj);
	return 0;
}

static void
destroy_wq(struct object_wq *wq, struct object_events *events)
{
	softhca_wq_destroy(wq->wq);
	event_source_fini(&wq->event, &events->comp_read, &events->async_read);
	object_unuse(&wq->pd->obj);
	object_unuse(&wq->cq->obj);
}

static void
destroy_wq_table(struct object_wq_table *table)
{
	for (uint32_t i = 0; i < table->n; i++)
		object_unuse(&table->wqs[i]->obj);
}

static int
destroy_devx_cq(struct object_devx_cq *cq, struct object_events *events)
{
	int rc = destroy_cq(&cq->cq, events);

	if (rc != 0)
		return rc;
	object_unuse(&cq->buf->obj);
	object_unuse(&cq->dbr->obj);
	return 0;
}

static int
destroy_devx_qp(struct object_devx_qp *qp, struct object_events *events)
{
	int rc = destroy_qp(&qp->qp, events);

	if (rc != 0)
		return rc;
	object_unuse(&qp->buf->obj);
	object_unuse(&qp->dbr->obj);
	return 0;
}

int
object_destroy(struct softhca_ctx *ctx, struct object *obj, struct object_events *events)
{
	struct object_events unread = {0};
	int rc = 0;

	if (obj->users != 0)
		return -EBUSY;
	if (events == NULL)
		events = &unread;
	switch (obj->type) {
	case OBJ_PD:
		pdn_give(ctx->dev, ((struct object_pd *)obj)->pdn);
		break;
	case OBJ_UAR:
		rc = destroy_uar(ctx, (struct object_uar *)obj);
		break;
	case OBJ_MR:
	case OBJ_MW:
	case OBJ_DEVX_MKEY:
		rc = destroy_mr((struct object_mr *)obj);
		break;
	case OBJ_DEVX_PSV:
		rc = softhca_psv_destroy(((struct object_psv *)obj)->psv);
		object_unuse(&((struct object_psv *)obj)->pd->obj);
		break;
	case OBJ_DEVX_DEK:
		rc = softhca_dek_destroy(((struct object_dek *)obj)->dek);
		object_unuse(&((struct object_dek *)obj)->pd->obj);
		break;
	case OBJ_CQ:
		rc = destroy_cq((struct object_cq *)obj, events);
		break;
	case OBJ_QP:
		rc = destroy_qp((struct object_qp *)obj, events);
		break;
	case OBJ_SRQ:
		rc = destroy_srq((struct object_srq *)obj, events);
		break;
	case OBJ_XRCD:
		xrc_domain_put(((struct object_xrcd *)obj)->domain);
		break;
	case OBJ_AH:
		object_unuse(&((struct object_ah *)obj)->pd->obj);
		break;
	case OBJ_DM:
		rc = destroy_dm(ctx, (struct object_dm *)obj);
		break;
	case OBJ_WQ:
		destroy_wq((struct object_wq *)obj, events);
		break;
	case OBJ_WQ_TABLE:
		destroy_wq_table((struct object_wq_table *)obj);
		break;
	case OBJ_UMEM:
		break;
	case OBJ_DEVX_QPNS:
		softhca_qpn_release(ctx->dev, 1U << CAPS_LOG_RESERVED_QPNS,
			((struct object_qpns *)obj)->first);
		break;
	case OBJ_DEVX_CQ:
		rc = destroy_devx_cq((struct object_devx_cq *)obj, events);
		break;
	case OBJ_DEVX_QP:
		rc = destroy_devx_qp((struct object_devx_qp *)obj, events);
		break;
	default:
		rc = -EINVAL;
		break;
	}
	if (rc == 0)
		object_forget(ctx, obj);
	return rc;
}

/* ---------------------------------------------------------------- what else a context holds */

int
ctx_add_file(struct softhca_ctx *ctx, bool is_async, int *fd)
{
	struct event_file **grown = realloc(ctx->files, (ctx->n_files + 1) * sizeof(*grown));
	int rc;

	if (grown == NULL)
		return -ENOMEM;
	ctx->files = grown;
	rc = event_file_create(is_async, &grown[ctx->n_files], fd);
	if (rc == 0)
		ctx->n_files++;
	return rc;
}

struct event_file *
ctx_find_file(struct softhca_ctx *ctx, int fd, bool is_async)
{
	struct stat st;

	if (raw_fstat(fd, &st) != 0)
		return NULL;
	for (uint32_t i = 0; i < ctx->n_files; i++)
		if (event_file_is_async(ctx->files[i]) == is_async &&
			event_file_is_inode(ctx->files[i], st.st_dev, st.st_ino))
			return ctx->files[i];
	return NULL;
}

struct object_uar *
ctx_find_uar(struct softhca_ctx *ctx, uint32_t page_id)
{
	for (uint32_t i = 1; i < ctx->n_objects; i++) {
		struct object_uar *uar = object_find(ctx, OBJ_UAR, i);

		if (uar != NULL && uar->page_id == page_id)
			return uar;
	}
	return NULL;
}

struct object_pd *
ctx_find_pdn(struct softhca_ctx *ctx, uint32_t pdn)
{
	for (uint32_t i = 1; i < ctx->n_objects; i++) {
		struct object_pd *pd = object_find(ctx, OBJ_PD, i);

		if (pd != NULL && pd->pdn == pdn)
			return pd;
	}
	return NULL;
}

int
ctx_take_page(struct softhca_ctx *ctx)
{
	for (uint32_t i = 1; i < CTX_MAX_UARS; i++) {
		if (bit_get(ctx->uar_used, i))
			continue;
		bit_set(ctx->uar_used, i, true);
		memset(ctx->bar + i * CTX_PAGE, 0, CTX_PAGE);
		return i;
	}
	return -ENOSPC;
}

void
ctx_give_page(struct softhca_ctx *ctx, uint32_t page_id)
{
	bit_set(ctx->uar_used, page_id, false);
}

/* ---------------------------------------------------------------- contexts */

/* Everything goes, users before what they use. What the data half holds on to is logged. */
static void
ctx_free(struct softhca_ctx *ctx)
{
	static const enum object_type order[] = {OBJ_DEVX_QPNS, OBJ_DEVX_QP, OBJ_QP, OBJ_WQ_TABLE,
		OBJ_WQ, OBJ_SRQ, OBJ_XRCD, OBJ_AH, OBJ_MW, OBJ_DEVX_MKEY, OBJ_DEVX_PSV,
		OBJ_DEVX_DEK, OBJ_MR, OBJ_DM, OBJ_DEVX_CQ, OBJ_CQ, OBJ_UMEM, OBJ_UAR, OBJ_PD};

	for (size_t t = 0; t < sizeof(order) / sizeof(order[0]); t++) {
		for (uint32_t i = 1; i < ctx->n_objects; i++) {
			struct object *obj = object_find(ctx, order[t], i);

			if (obj != NULL && object_destroy(ctx, obj, NULL) != 0)
				softhca_log("handle %u of a closed context is still busy", i);
		}
	}
	for (uint32_t i = 0; i < ctx->n_files; i++)
		event_file_put(ctx->files[i]);
	if (softhca_clock_remove(ctx->dev, ctx->clock) == 0)
		munmap(ctx->clock, CTX_PAGE);
	munmap(ctx->bar, CTX_BAR_LEN);
	dm_detach(ctx);
	pthread_mutex_destroy(&ctx->lock);
	free(ctx->files);
	free(ctx->objects);
	free(ctx);
}

static bool
ctx_has_inode(const struct softhca_ctx *ctx, dev_t dev, ino_t ino)
{
	if (ctx->st_dev == dev && ctx->st_ino == ino)
		return true;
	for (uint32_t i = 0; i < ctx->n_files; i++)
		if (event_file_is_async(ctx->files[i]) &&
			event_file_is_inode(ctx->files[i], dev, ino))
			return true;
	return false;
}

/*
 * Nobody tells us of a close(2). So a context is over when no descriptor of this process is its
 * character device or one of its async files any more: looked for when the next one is opened.
 * Takes those contexts off the list, and returns them. With list_lock held.
 */
static struct softhca_ctx *
unlink_closed(void)
{
	struct softhca_ctx **link = &contexts, *ctx, *closed = NULL;
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	if (dir == NULL)
		return NULL; /* out of descriptors: later, then */
	for (ctx = contexts; ctx != NULL; ctx = ctx->next)
		ctx->seen = ctx->refs != 0;
	while ((entry = readdir(dir)) != NULL) {
		struct stat st;

		if (entry->d_name[0] == '.' || raw_fstat(atoi(entry->d_name), &st) != 0)
			continue;
		for (ctx = contexts; ctx != NULL; ctx = ctx->next)
			ctx->seen |= ctx_has_inode(ctx, st.st_dev, st.st_ino);
	}
	closedir(dir);
	while ((ctx = *link) != NULL) {
		if (ctx->seen) {
			link = &ctx->next;
			continue;
		}
		*link = ctx->next;
		ctx->next = closed;
		closed = ctx;
	}
	return closed;
}

/*
 * The page by which libmlx5 turns timestamps into wall-clock time (mlx5dv_get_clock_info(3)). The
 * adapter's clock counts nanoseconds of CLOCK_MONOTONIC, so one pair of readings is enough for good.
 */
static bool
write_clock_info(int fd)
{
	struct mlx5_ib_clock_info info = {.mult = 1, .mask = UINT64_MAX / 2};
	struct timespec wall, device;

	clock_gettime(CLOCK_REALTIME, &wall);
	clock_gettime(CLOCK_MONOTONIC, &device);
	info.nsec = wall.tv_sec * UINT64_C(1000000000) + wall.tv_nsec;
	info.cycles = device.tv_sec * UINT64_C(1000000000) + device.tv_nsec;
	info.overflow_period = info.mask / 2;
	return pwrite(fd, &info, sizeof(info), CTX_CLOCK_INFO_OFFSET) == sizeof(info);
}

static struct softhca_ctx *
ctx_alloc(struct softhca_dev *dev, int fd)
{
	struct softhca_ctx *ctx = calloc(1, sizeof(*ctx));
	struct stat st;

	if (ctx == NULL)
		return NULL;
	if (ftruncate(fd, CTX_UAR_OFFSET + CTX_BAR_LEN) != 0 || !write_clock_info(fd) ||
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0 ||
		raw_fstat(fd, &st) != 0)
		goto fail;
	ctx->bar = mmap(NULL, CTX_BAR_LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
		CTX_UAR_OFFSET);
	if (ctx->bar == MAP_FAILED)
		goto fail;
	ctx->clock =
		mmap(NULL, CTX_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, CTX_CORE_CLOCK_OFFSET);
	if (ctx->clock == MAP_FAILED)
		goto unmap_bar;
	if (softhca_clock_add(dev, ctx->clock) != 0)
		goto unmap_clock;
	ctx->dev = dev;
	ctx->st_dev = st.st_dev;
	ctx->st_ino = st.st_ino;
	if (dm_attach(ctx, fd) != 0)
		goto remove_clock;
	pthread_mutex_init(&ctx->lock, NULL);
	return ctx;
remove_clock:
	(void)softhca_clock_remove(dev, ctx->clock);
unmap_clock:
	munmap(ctx->clock, CTX_PAGE);
unmap_bar:
	munmap(ctx->bar, CTX_BAR_LEN);
fail:
	free(ctx);
	return NULL;
}

int
ctx_open(struct softhca_dev *dev, int flags)
{
	unsigned int mfd_flags = MFD_ALLOW_SEALING | ((flags & O_CLOEXEC) != 0 ? MFD_CLOEXEC : 0);
	struct softhca_ctx *ctx = NULL, *closed, *next;
	int fd, rc = 0;

	pthread_mutex_lock(&list_lock);
	closed = unlink_closed();
	if (dev->lanes == NULL)
		rc = softhca_lanes_init(dev);
	fd = rc == 0 ? memfd_create(DEVICE_NAME, mfd_flags) : -1;
	if (fd >= 0)
		ctx = ctx_alloc(dev, fd);
	if (ctx != NULL) {
		ctx->next = contexts;
		contexts = ctx;
	} else if (rc == 0) {
		rc = errno == 0 ? -ENOMEM : -errno;
	}
	pthread_mutex_unlock(&list_lock);
	for (; closed != NULL; closed = next) {
		next = closed->next;
		if (closed->dead) {
			munmap(closed->dm, DM_LEN);
			free(closed);
		} else {
			ctx_free(closed);
		}
	}
	if (rc != 0 && fd >= 0)
		close(fd);
	return rc != 0 ? rc : fd;
}

static struct softhca_ctx *
find_inode(dev_t dev, ino_t ino)
{
	struct softhca_ctx *ctx = contexts;

	while (ctx != NULL && (ctx->st_dev != dev || ctx->st_ino != ino))
		ctx = ctx->next;
	return ctx;
}

struct softhca_ctx *
ctx_get(int fd)
{
	struct softhca_ctx *ctx;
	struct stat st;

	if (raw_fstat(fd, &st) != 0)
		return NULL;
	pthread_mutex_lock(&list_lock);
	ctx = find_inode(st.st_dev, st.st_ino);
	if (ctx != NULL)
		ctx->refs++;
	pthread_mutex_unlock(&list_lock);
	return ctx;
}

void
ctx_put(struct softhca_ctx *ctx)
{
	pthread_mutex_lock(&list_lock);
	ctx->refs--;
	pthread_mutex_unlock(&list_lock);
}

struct softhca_dev *
ctx_find_dev(dev_t st_dev, ino_t st_ino)
{
	struct softhca_dev *dev;
	struct softhca_ctx *ctx;

	pthread_mutex_lock(&list_lock);
	ctx = find_inode(st_dev, st_ino);
	dev = ctx != NULL ? ctx->dev : NULL;
	pthread_mutex_unlock(&list_lock);
	return dev;
}

/* ---------------------------------------------------------------- fork(2) */

void
ctx_fork_prepare(void)
{
	pthread_mutex_lock(&list_lock);
	for (struct softhca_ctx *ctx = contexts; ctx != NULL; ctx = ctx->next)
		pthread_mutex_lock(&ctx->lock);
	pthread_mutex_lock(&count_lock);
}

void
ctx_fork_parent(void)
{
	pthread_mutex_unlock(&count_lock);
	for (struct softhca_ctx *ctx = contexts; ctx != NULL; ctx = ctx->next)
		pthread_mutex_unlock(&ctx->lock);
	pthread_mutex_unlock(&list_lock);
}

/*
 * The lanes did not survive, and their locks may be held for ever: what they had is abandoned.
 * The contexts stay known, so that a call on one gets EIO, as after a device's removal.
 */
void
ctx_fork_child(void)
{
	struct softhca_dev *devs;
	unsigned int n;

	devs = softhca_devices(&n);
	for (unsigned int i = 0; i < n; i++)
		devs[i].lanes = NULL;
	memset(counts, 0, sizeof(counts));
	memset(pdn_used, 0, sizeof(pdn_used));
	dm_fork_child();
	for (struct softhca_ctx *ctx = contexts; ctx != NULL; ctx = ctx->next) {
		if (!ctx->dead) {
			for (uint32_t i = 0; i < ctx->n_files; i++)
				event_file_abandon(ctx->files[i]);
			munmap(ctx->clock, CTX_PAGE);
			munmap(ctx->bar, CTX_BAR_LEN);
		}
		ctx->dead = true;
		ctx->refs = 0;
	}
	ctx_fork_parent();
}
