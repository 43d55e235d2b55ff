/* SPDX-License-Identifier: BSD-3-Clause */
/* XRC domains: ibv_open_xrcd(3). */
#include "uverbs_xrcd.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>

#include "call.h"
#include "raw.h"

/*
 * A domain. All opens of one file use the same domain (ibv_open_xrcd(3)). The domain has the file
 * open, so that no other file gets the same inode while the domain exists.
 */
struct xrc_domain {
	struct xrc_domain *next;
	struct softhca_dev *dev;
	uint32_t number, refs;
	int file; /* -1: the domain has no file; its inode is then 0, which no file has */
	dev_t st_dev;
	ino_t st_ino;
};

static pthread_mutex_t domains_lock = PTHREAD_MUTEX_INITIALIZER;
static struct xrc_domain *domains;
static uint32_t last_number;

uint32_t
xrcd_number(const struct object_xrcd *xrcd)
{
	return xrcd->domain->number;
}

static struct xrc_domain *
domain_find(const struct softhca_dev *dev, const struct stat *st)
{
	for (struct xrc_domain *d = domains; d != NULL; d = d->next)
		if (d->dev == dev && d->st_dev == st->st_dev && d->st_ino == st->st_ino)
			return d;
	return NULL;
}

/*
 * Makes a domain. The caller holds domains_lock. fd: the program's descriptor of the file, or -1.
 * st: NULL if there is no file.
 */
static int
domain_new(struct softhca_dev *dev, int fd, const struct stat *st, struct xrc_domain **out)
{
	struct xrc_domain *d = calloc(1, sizeof(*d));
	int rc;

	if (d == NULL)
		return -ENOMEM;
	d->dev = dev;
	d->file = -1;
	if (st != NULL) {
		d->file = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		if (d->file < 0) {
			rc = -errno;
			free(d);
			return rc;
		}
		d->st_dev = st->st_dev;
		d->st_ino = st->st_ino;
	}
	d->number = ++last_number; /* number 0 means no domain */
	d->refs = 1;
	d->next = domains;
	domains = d;
	*out = d;
	return 0;
}

/*
 * Finds or makes the domain of a file. Returns 0 or -errno; EAGAIN and EINVAL mean the same as in
 * ibv_open_xrcd(3).
 */
static int
domain_open(struct softhca_dev *dev, int fd, uint32_t oflags, struct xrc_domain **out)
{
	struct stat st;

	if (fd == -1)
		return domain_new(dev, fd, NULL, out);
	if (raw_fstat(fd, &st) != 0)
		return -EBADF;
	*out = domain_find(dev, &st);
	if (*out != NULL) {
		if ((oflags & O_EXCL) != 0)
			return -EINVAL;
		(*out)->refs++;
		return 0;
	}
	if ((oflags & O_CREAT) == 0)
		return -EAGAIN;
	return domain_new(dev, fd, &st, out);
}

/* Releases one use of the domain. The last release destroys it. */
static void
domain_put(struct xrc_domain *domain)
{
	struct xrc_domain **link = &domains;

	pthread_mutex_lock(&domains_lock);
	if (--domain->refs != 0) {
		pthread_mutex_unlock(&domains_lock);
		return;
	}
	while (*link != domain)
		link = &(*link)->next;
	*link = domain->next;
	pthread_mutex_unlock(&domains_lock);
	if (domain->file >= 0)
		close(domain->file);
	free(domain);
}

static int
open_xrcd(struct uverbs_call *call)
{
	const struct ib_uverbs_open_xrcd *req = call_in(call, UVERBS_ATTR_CORE_IN);
	struct ib_uverbs_open_xrcd_resp resp = {0};
	struct object_xrcd *xrcd;
	int rc;

	if ((req->oflags & ~(uint32_t)(O_CREAT | O_EXCL)) != 0)
		return -EINVAL;
	rc = object_create(call->ctx, &xrcd_class, &xrcd);
	if (rc != 0)
		return rc;
	pthread_mutex_lock(&domains_lock);
	rc = domain_open(call->ctx->dev, (int)req->fd, req->oflags, &xrcd->domain);
	pthread_mutex_unlock(&domains_lock);
	if (rc != 0) {
		object_forget(call->ctx, &xrcd->obj);
		return rc;
	}
	resp.xrcd_handle = xrcd->obj.handle;
	rc = call_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
	if (rc != 0)
		(void)object_destroy(call->ctx, &xrcd->obj, NULL);
	return rc;
}

static int
end(struct softhca_ctx *ctx, struct object *obj, struct object_events *events)
{
	domain_put(((struct object_xrcd *)obj)->domain);
	return 0;
}

static const struct attr_spec close_attrs[] = {
	{UVERBS_ATTR_DESTROY_XRCD_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .cls = &xrcd_class},
};

static const struct uverbs_method methods[] = {
	{UVERBS_OBJECT_XRCD, UVERBS_METHOD_XRCD_DESTROY, false, call_destroy, close_attrs,
		ARRAY_SIZE(close_attrs)},
};
static const struct write_command writes[] = {
	{IB_USER_VERBS_CMD_OPEN_XRCD, sizeof(struct ib_uverbs_open_xrcd),
		sizeof(struct ib_uverbs_open_xrcd_resp), open_xrcd},
};

const struct object_class xrcd_class = {
	.name = "XRC domain",
	.size = sizeof(struct object_xrcd),
	.end = end,
	CLASS_METHODS(methods),
	CLASS_WRITES(writes),
};
