/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which context has which page of device memory. This program tests only the code for pages: their
 * number, and that a page that the program still maps is not allocated again.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "dm.h"

static const struct softhca_config cfg = {.max_dm = DM_LEN, .dm_zeroed = 1};
static struct softhca_dev dev = {.cfg = &cfg};

/*
 * Makes a context with the fields that this code uses: the file, and its device and inode numbers.
 */
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
	CHECK_EQ(dm_take(&ctx, DM_PAGES + 1), -ENOMEM, "one page too many");
	CHECK_EQ(dm_take(&ctx, UINT32_MAX), -ENOMEM, "2^32 - 1 pages");
	CHECK_EQ(dm_take(&ctx, DM_PAGES), 0, "all pages");
	CHECK_EQ(dm_take(&ctx, 1), -ENOMEM, "one page when none is left");
	dm_give(&ctx, 5, 2);
	CHECK_EQ(dm_take(&ctx, 3), -ENOMEM, "three pages when two are left");
	CHECK_EQ(dm_take(&ctx, 2), 5, "two pages when two are left");
	context_close(&ctx, fd);
}

/*
 * A mapping of this context's file must keep its pages in use. A file with the same inode number on
 * another file system is another file, so its mapping must not count.
 */
static void
case_mapped(void)
{
	struct softhca_ctx ctx;
	void *map;
	int fd;

	context_open(&ctx, &fd);
	map = mmap(NULL, CTX_PAGE, PROT_READ, MAP_SHARED, fd, CTX_DM_OFFSET + 3 * CTX_PAGE);
	CHECK(map != MAP_FAILED, "no mapping");
	CHECK_EQ(dm_take(&ctx, DM_PAGES), -ENOMEM, "all pages, with one mapped");
	CHECK_EQ(dm_take(&ctx, 3), 0, "those before");
	CHECK_EQ(dm_take(&ctx, DM_PAGES - 4), 4, "those behind");
	dm_give(&ctx, 0, 3);
	dm_give(&ctx, 4, DM_PAGES - 4);
	/* Now the file with this inode number is on another file system. */
	ctx.st_dev ^= 1;
	CHECK_EQ(dm_take(&ctx, DM_PAGES), 0,
		"all pages, with a mapping of another file system's file");
	dm_give(&ctx, 0, DM_PAGES);
	ctx.st_dev ^= 1;
	ctx.st_ino ^= 1;
	CHECK_EQ(dm_take(&ctx, DM_PAGES), 0, "all pages, with a mapping of another file");
	dm_give(&ctx, 0, DM_PAGES);
	ctx.st_ino ^= 1;
	munmap(map, CTX_PAGE);
	CHECK_EQ(dm_take(&ctx, DM_PAGES), 0, "all pages, with none mapped");
	context_close(&ctx, fd);
}

/*
 * A context takes and frees pages. When the context ends, the pages that it still has must be
 * freed, and no other pages.
 */
static void
case_owners(void)
{
	struct softhca_ctx a, b;
	int fd_a, fd_b;

	context_open(&a, &fd_a);
	context_open(&b, &fd_b);
	CHECK_EQ(dm_take(&a, 4), 0, "four pages");
	CHECK_EQ(dm_take(&b, 2), 4, "another's two");
	dm_give(&a, 0, 4);
	CHECK_EQ(dm_take(&a, 4), 0, "four again");
	dm_give(&a, 0, 2);
	CHECK_EQ(dm_take(&b, 1), 0, "one of those given");
	CHECK_EQ(dm_take(&a, 1), 1, "the other");
	context_close(&a, fd_a);
	context_open(&a, &fd_a);
	CHECK_EQ(dm_take(&a, 4), 6, "behind the other's");
	CHECK_EQ(dm_take(&a, 3), 1, "where the first had its pages");
	context_close(&a, fd_a);
	context_close(&b, fd_b);
	context_open(&a, &fd_a);
	CHECK_EQ(dm_take(&a, DM_PAGES), 0, "all pages");
	context_close(&a, fd_a);
}

int
main(void)
{
	RUN("all pages can be taken, but not 0 pages and not more than all", case_counts());
	RUN("the end of a context frees its own pages, and no other page", case_owners());
	RUN("a mapping of this context's file keeps its pages in use", case_mapped());
	return check_failures != 0;
}
