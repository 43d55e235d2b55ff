/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who has which page of device memory, asked of that part of the adapter alone: how many there are to
 * take, and that what the program has mapped is not given again, where it is this context's file.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "dm.h"

static struct softhca_dev dev;

/* A context as far as this part looks: its file, and which file that is. */
static void
context_open(struct softhca_ctx *ctx, int *fd)
{
	struct stat st;

	memset(ctx, 0, sizeof(*ctx));
	ctx->dev = &dev;
	*fd = memfd_create("context", MFD_CLOEXEC);
	CHECK(*fd >= 0 && ftruncate(*fd, CTX_DM_OFFSET + DM_LEN) == 0, "no file");
	CHECK(fstat(*fd, &st) == 0, "no file");
	ctx->st_dev = st.st_dev;
	ctx->st_ino = st.st_ino;
	CHECK_EQ(dm_attach(ctx, *fd), 0, "attach");
}

static void
context_close(struct softhca_ctx *ctx, int fd)
{
	dm_detach(ctx);
	close(fd);
}

static void
case_counts(void)
{
	struct softhca_ctx ctx;
	int fd;

	context_open(&ctx, &fd);
	CHECK_EQ(dm_take(&ctx, 0), -ENOMEM, "no pages");
	CHECK_EQ(dm_take(&ctx, DM_PAGES + 1), -ENOMEM, "a page too many");
	CHECK_EQ(dm_take(&ctx, UINT32_MAX), -ENOMEM, "2^32 - 1 pages");
	CHECK_EQ(dm_take(&ctx, DM_PAGES), 0, "all pages");
	CHECK_EQ(dm_take(&ctx, 1), -ENOMEM, "a page of none");
	dm_give(&ctx, 5, 2);
	CHECK_EQ(dm_take(&ctx, 3), -ENOMEM, "three of two");
	CHECK_EQ(dm_take(&ctx, 2), 5, "two of two");
	context_close(&ctx, fd);
}

/* Inode numbers are a file system's own: the same number on another one is another file. */
static void
case_mapped(void)
{
	struct softhca_ctx ctx;
	void *map;
	int fd;

	context_open(&ctx, &fd);
	map = mmap(NULL, CTX_PAGE, PROT_READ, MAP_SHARED, fd, CTX_DM_OFFSET + 3 * CTX_PAGE);
	CHECK(map != MAP_FAILED, "no mapping");
	CHECK_EQ(dm_take(&ctx, DM_PAGES), -ENOMEM, "all, with one mapped");
	CHECK_EQ(dm_take(&ctx, 3), 0, "those before");
	CHECK_EQ(dm_take(&ctx, DM_PAGES - 4), 4, "those behind");
	dm_give(&ctx, 0, 3);
	dm_give(&ctx, 4, DM_PAGES - 4);
	/* So far the file system it is on; now another. */
	ctx.st_dev ^= 1;
	CHECK_EQ(dm_take(&ctx, DM_PAGES), 0, "all, with another's mapped");
	dm_give(&ctx, 0, DM_PAGES);
	ctx.st_dev ^= 1;
	ctx.st_ino ^= 1;
	CHECK_EQ(dm_take(&ctx, DM_PAGES), 0, "all, with another file's mapped");
	dm_give(&ctx, 0, DM_PAGES);
	ctx.st_ino ^= 1;
	munmap(map, CTX_PAGE);
	CHECK_EQ(dm_take(&ctx, DM_PAGES), 0, "all, with none mapped");
	context_close(&ctx, fd);
}

int
main(void)
{
	RUN("there are so many pages, and none and more are not taken", case_counts());
	RUN("a mapping holds its pages, in this context's file alone", case_mapped());
	return check_failures != 0;
}
