/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * On-demand paging: keys over memory that need not exist at registration. The pages of this memory
 * may be mapped and unmapped later.
 *
 * A card reports a page fault on a missing page; the kernel then loads the page, or reports that it
 * does not exist. Here only process_vm_readv(2) and process_vm_writev(2) on this process access
 * such memory. These calls load pages as the program's own accesses do. They fail where an access
 * of the program would raise SIGSEGV or SIGBUS. So the program cannot unmap a page between a check
 * and an access. Data pass through a buffer, so it is clear whether the source or the destination
 * has failed.
 */
#include "odp.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "key.h"

#define BOUNCE 16384

/* ---- bytes, copied by the kernel */

static bool
odp_read(void *buf, const void *from, size_t len)
{
	struct iovec here = {buf, len}, there = {(void *)(uintptr_t)from, len};

	if (from == SINK) {
		memset(buf, 0, len);
		return true;
	}
	return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)len;
}

static bool
odp_write(void *to, const void *buf, size_t len)
{
	struct iovec here = {(void *)(uintptr_t)buf, len}, there = {to, len};

	return to == SINK || process_vm_writev(getpid(), &here, 1, &there, 1, 0) == (ssize_t)len;
}

/*
 * True if the page of an address exists and is writable. The test is FUTEX_WAKE_OP (futex(2)): the
 * kernel atomically adds 0 to a word of the page, so no store of the program is lost. No thread
 * waits on `nobody`. A thread that waits on the word in the program's page is woken only if the
 * word is 2047. This does no harm, because futex waiters must expect spurious wakes.
 */
static bool
odp_may_write(uint64_t addr)
{
	static uint32_t nobody;
	const int nothing = FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, 2047);

	return syscall(SYS_futex, &nobody, FUTEX_WAKE_OP_PRIVATE, 0, NULL,
		       (void *)(uintptr_t)(addr & ~UINT64_C(3)), nothing) >= 0;
}

static bool
odp_may_read(uint64_t addr)
{
	char byte;

	return odp_read(&byte, (void *)(uintptr_t)addr, 1);
}

bool
softhca_odp_is_possible(const struct softhca_dev *dev)
{
	static const char readable;
	static char writable[8] __attribute__((aligned(8)));

	return dev->cfg->odp != 0 && odp_may_read((uintptr_t)&readable) &&
	       odp_write(writable, writable, 1) && odp_may_write((uintptr_t)writable);
}

/* ---- work requests */

/* A position in a list of pieces. */
struct cursor {
	const struct sg_piece *v;
	uint64_t off;
};

/*
 * Copies len bytes between the buffer and the list. out: the direction is from the buffer to the
 * list.
 */
static bool
cursor_pass(struct cursor *c, uint8_t *buf, uint64_t len, bool out)
{
	while (len != 0) {
		uint64_t n = c->v->len - c->off < len ? c->v->len - c->off : len;
		void *p = c->v->p == SINK ? SINK : (char *)c->v->p + c->off;

		if (!(out ? odp_write(p, buf, n) : odp_read(buf, p, n)))
			return false;
		buf += n;
		len -= n;
		c->off += n;
		if (c->off == c->v->len)
			*c = (struct cursor){.v = c->v + 1};
	}
	return true;
}

enum sg_end
odp_move(struct key_use *use, const struct sg *dst, const struct sg *src)
{
	struct cursor in = {.v = sg_pieces(src)}, out = {.v = sg_pieces(dst)};
	uint8_t bounce[BOUNCE];

	use->user->may_wait(use);
	use->vendor = VEN_KEY_PAGE;
	for (uint64_t left = src->len, n; left != 0; left -= n) {
		n = left < BOUNCE ? left : BOUNCE;
		if (!cursor_pass(&in, bounce, n, false))
			return SG_NO_SRC;
		if (!cursor_pass(&out, bounce, n, true))
			return SG_NO_DST;
	}
	return SG_MOVED;
}

bool
odp_load(struct key_use *use, const void *p, uint64_t *value)
{
	use->user->may_wait(use);
	use->vendor = VEN_KEY_PAGE;
	return odp_read(value, p, sizeof(*value));
}

bool
odp_store(void *p, uint64_t old, uint64_t value)
{
	/* If the value does not change, nothing is written, but the page must still be writable. */
	return value == old ? p == SINK || odp_may_write((uintptr_t)p)
			    : odp_write(p, &value, sizeof(value));
}

/* ---- keys */

void
odp_begin(struct softhca_dev *dev)
{
	atomic_store(&dev->lanes->odp, true);
	softhca_quiesce();
}

/* Copies the key to *out, because the key itself may be freed after the turn has ended. */
static int
advised_key(struct softhca_dev *dev, uint32_t number, uint32_t pdn, bool write, struct key *out)
{
	struct lane_slot *slot = turn_claim(dev->lanes);
	const struct key *key = table_get(&dev->lanes->keys, number >> 8);
	int rc = 0;

	if (key == NULL || key->variant != (number & 0xff))
		rc = -ENOENT;
	else if (key->kind != SOFTHCA_MKEY_MR)
		rc = -EINVAL;
	else if ((key->access & ACC_ON_DEMAND) == 0)
		rc = -ENOENT;
	else if (key->pdn != pdn || (write && (key->access & ACC_LOCAL_WRITE) == 0))
		rc = -EPERM;
	else
		memcpy(out, key, sizeof(*out));
	turn_end(slot);
	return rc;
}

static int
bring_in(uint64_t addr, uint64_t len, bool write)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), end = addr + len;

	for (uint64_t at = addr & ~(page - 1); at < end; at += page)
		if (!(write ? odp_may_write(at) : odp_may_read(at)))
			return -EFAULT;
	return 0;
}

int
softhca_mkey_advise(struct softhca_dev *dev, uint32_t pdn, const struct softhca_advice *a)
{
	struct key key;
	uint64_t off;
	int rc = advised_key(dev, a->key, pdn, a->write, &key);

	if (rc != 0)
		return rc;
	if (!key_covers(&key, a->va, a->len, &off))
		rc = -EFAULT;
	else if (a->fault)
		rc = bring_in(key.addr + off, a->len, a->write);
	return a->flush ? rc : 0;
}
