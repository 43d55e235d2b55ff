/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fuzzer of the adapter's ioctl interface. Stock libibverbs and libmlx5 make their calls as
 * usual. Each of these calls is the template of malformed calls, which are made before and after
 * it, so that each method and each write command gets valid handles and mostly valid data. The
 * adapter must not crash or hang, and
 *
 *  - an attribute points to memory in a box, and nothing around that memory may be written;
 *  - pointers inside structures lead into an arena, or to unmapped addresses;
 *  - a call that fails returns an errno of the ABI.
 *
 * usage: fuzz_ioctl [ROUNDS [SEED]]     usertools/fuzz.sh has the long form
 *
 * SOFTHCA_THREADS is 0 in this program, unless it is set. If the adapter has threads, they run
 * while the calls are made.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/rdma_user_ioctl.h>

#include "softhca.h"

#include "check.h"
#include "fuzz_calls.h"

#define MAX_ATTRS 64
#define ARENA_LEN (1u << 20)
#define BOX_LEN   (1u << 18)
#define BOX_BYTE  0xb6
#define BOX_EDGE  64 /* number of bytes before and after an attribute, which must not change */

static uint8_t *arena, *box;
static size_t box_used;
static struct {
	size_t at, len;
} boxes[MAX_ATTRS];
static unsigned int n_boxes;
static unsigned long n_calls, n_taken, n_methods;
static bool fuzzing; /* while true, each call of libibverbs is used as a template */

struct call {
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr attrs[MAX_ATTRS];
};

/*
 * All libraries of the process use this function instead of libc's, so the adapter's random numbers
 * are the same in each run. (Weak: so check_rooms does not count it as a function of this project.)
 */
__attribute__((weak, visibility("default"))) ssize_t
getrandom(void *p, size_t len, unsigned int flags)
{
	static uint64_t state = 1;

	for (size_t i = 0; i < len; i++)
		((uint8_t *)p)[i] = (uint8_t)check_random(&state);
	return (ssize_t)len;
}

/* ---- pointers */

static bool
is_pointer(uint64_t v)
{
	return v >= 0x10000 && v >> 47 == 0 && v >> 32 != 0;
}

static bool
is_of_arena(uint64_t v)
{
	return v >= (uintptr_t)arena && v < (uintptr_t)arena + ARENA_LEN;
}

static uint64_t
wild_pointer(void)
{
	switch (rnd(12)) {
	case 0:
		return 0;
	case 1:
		/* An address in the page before the arena, which cannot be accessed. */
		return (uintptr_t)arena - FUZZ_PAGE + rnd(FUZZ_PAGE);
	case 2:
		/*
		 * An address at which data cross into the page after the arena, which cannot be
		 * accessed.
		 */
		return (uintptr_t)arena + ARENA_LEN - rnd(64);
	case 3:
		return UINT64_C(0x8000000000000000) + rnd(1 << 20);
	default:
		return (uintptr_t)arena + rnd(ARENA_LEN / FUZZ_PAGE) * FUZZ_PAGE;
	}
}

/*
 * Replaces pointers to memory of this program: if the adapter wrote to such memory, this program
 * would fail by its own fault.
 */
static void
tame_pointers(uint8_t *p, size_t len)
{
	for (size_t at = 0; at + 8 <= len; at += 4) {
		uint64_t word;

		memcpy(&word, p + at, 8);
		if (!is_pointer(word) || is_of_arena(word))
			continue;
		word = wild_pointer();
		memcpy(p + at, &word, 8);
	}
}

/* ---- boxes: the memory of one attribute each */

static void
box_reset(void)
{
	n_boxes = 0;
	box_used = 0;
	memset(box, BOX_BYTE, BOX_EDGE);
}

static uint8_t *
box_take(size_t len)
{
	size_t at = box_used + BOX_EDGE, end = at + (len + 7) / 8 * 8 + BOX_EDGE;

	if (end > BOX_LEN)
		FUZZ_DIE("a call with %zu bytes of attributes", end);
	boxes[n_boxes].at = at;
	boxes[n_boxes++].len = len;
	memset(box + at, 0, len);
	memset(box + at + len, BOX_BYTE, end - at - len);
	box_used = end - BOX_EDGE;
	return box + at;
}

/* Ends the program if a byte of the boxes changed that does not belong to an attribute. */
static void
box_check(const struct ib_uverbs_ioctl_hdr *hdr)
{
	size_t at = 0;

	for (unsigned int i = 0; i <= n_boxes; i++) {
		size_t until = i < n_boxes ? boxes[i].at : box_used + BOX_EDGE;

		for (; at < until; at++)
			if (box[at] != BOX_BYTE)
				FUZZ_DIE("object 0x%x, method 0x%x: written outside of its "
					 "attributes",
					hdr->object_id, hdr->method_id);
		if (i < n_boxes)
			at += boxes[i].len;
	}
}

/* ---- one malformed call */

static bool
is_drivers(const struct call *c)
{
	return (c->hdr.object_id & UVERBS_ID_NS_MASK) != 0;
}

/* Changes the length, the number or the flags of an attribute. */
static void
mutate_frame(struct ib_uverbs_attr *a)
{
	switch (rnd(6)) {
	case 0:
		a->len = (uint16_t)rnd(600);
		break;
	case 1:
		a->len = (uint16_t)(a->len + (one_in(2) ? 1 : -1) * (int)(1 + rnd(8)));
		if (a->len > 4096)
			a->len = 0;
		break;
	case 2:
		a->attr_id ^= (uint16_t)(1u << rnd(13));
		break;
	case 3:
		a->flags ^= (uint16_t)(1u << rnd(16));
		break;
	case 4:
		a->attr_data.reserved = (uint16_t)rnd(3);
		break;
	default:
		a->len = 0;
	}
}

/*
 * Gives an attribute a box of its own, with the attribute's bytes or for its answer. A value in the
 * attribute itself is copied there, changed or unchanged.
 */
static void
fill_attr(const struct call *c, const struct ib_uverbs_attr *from, struct ib_uverbs_attr *to,
	bool change)
{
	bool points = from->len > 8 || is_pointer(from->data);
	uint8_t *p;

	if (to->len <= 8 && !points) {
		if (change)
			mutate_field((uint8_t *)&to->data, 8);
		tame_pointers((uint8_t *)&to->data, 8);
		return;
	}
	p = box_take(to->len);
	if (points)
		memcpy(p, (const void *)(uintptr_t)from->data,
			to->len < from->len ? to->len : from->len);
	/* A firmware command has no pointers and is big endian. */
	if (is_drivers(c) && points) {
		for (unsigned int n = change ? 1 + (unsigned int)rnd(3) : 0; n != 0; n--)
			mutate_field_be(p, to->len);
	} else {
		for (unsigned int n = change ? 1 + (unsigned int)rnd(3) : 0; n != 0; n--)
			mutate_field(p, to->len);
		tame_pointers(p, to->len);
	}
	to->data = (uintptr_t)p;
	if (one_in(100))
		to->data = wild_pointer();
}

static void
mutate_shape(struct call *c)
{
	uint16_t n = c->hdr.num_attrs;

	switch (rnd(12)) {
	case 0:
		n -= n > 0;
		break;
	case 1:
		if (n > 1)
			c->attrs[rnd(n)] = c->attrs[rnd(n)];
		break;
	case 2:
		c->hdr.method_id ^= (uint16_t)(1u << rnd(13));
		break;
	case 3:
		c->hdr.object_id = (uint16_t)rnd(20) | (uint16_t)(rnd(2) << 12);
		break;
	case 4:
		c->hdr.driver_id = (uint32_t)rnd(30);
		break;
	case 5:
		c->hdr.reserved1 = rnd(2);
		break;
	default:
		break;
	}
	c->hdr.num_attrs = n;
	c->hdr.length = (uint16_t)(sizeof(c->hdr) + n * sizeof(c->attrs[0]));
	if (one_in(50))
		c->hdr.length = (uint16_t)rnd(65536);
	if (one_in(50))
		c->hdr.num_attrs = (uint16_t)rnd(65536);
}

/* Ends the program if the ABI does not have this errno for a refusal. */
static void
check_errno(const struct ib_uverbs_ioctl_hdr *hdr, int err)
{
	static const int known[] = {EPROTONOSUPPORT, EINVAL, EFAULT, ENOENT, EBADF, EOPNOTSUPP,
		ENOSPC, EBUSY, ENODATA, EREMOTEIO, ENETUNREACH, EMFILE, ENOMEM, EIO, ENOTTY, ENOSYS,
		EPERM, ERANGE, EEXIST, EMSGSIZE, EAGAIN};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i] == err)
			return;
	FUZZ_DIE("object 0x%x, method 0x%x: ended with errno %d (%s)", hdr->object_id,
		hdr->method_id, err, strerror(err));
}

static int
real_ioctl(int fd, unsigned long request, void *arg)
{
	static int (*next)(int, unsigned long, ...);

	if (next == NULL)
		next = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
	return next(fd, request, arg);
}

static void
malformed(int fd, const struct ib_uverbs_ioctl_hdr *hdr)
{
	/*
	 * The call ends at the last byte of the arena: reading beyond the call hits a page that
	 * cannot be read.
	 */
	struct call *c = (struct call *)(void *)(arena + ARENA_LEN - sizeof(*c));
	uint16_t n = hdr->num_attrs, changed = n == 0 ? 0 : (uint16_t)rnd(n);
	/*
	 * 0: changes the header of the call; 1: changes the header of one attribute; otherwise:
	 * changes the contents of attributes.
	 */
	unsigned int what = (unsigned int)rnd(8);

	box_reset();
	memset(c, 0, sizeof(*c));
	memcpy(c, hdr, sizeof(*hdr) + n * sizeof(hdr->attrs[0]));
	if (what == 1 && n != 0)
		mutate_frame(&c->attrs[changed]);
	for (uint16_t i = 0; i < n; i++)
		fill_attr(c, &hdr->attrs[i], &c->attrs[i], what > 1 && (i == changed || one_in(8)));
	if (what == 0)
		mutate_shape(c);
	n_calls++;
	if (real_ioctl(fd, RDMA_VERBS_IOCTL, c) == 0)
		n_taken++;
	else
		check_errno(hdr, errno);
	box_check(hdr);
	if (one_in(8))
		softhca_pump();
}

/* Replaces ioctl(2) of libc, so that libibverbs calls this function. */
__attribute__((visibility("default"))) int
ioctl(int fd, unsigned long request, ...)
{
	struct ib_uverbs_ioctl_hdr *hdr;
	bool opens, is_template;
	va_list ap;
	int ret, err;

	va_start(ap, request);
	hdr = va_arg(ap, void *);
	va_end(ap);
	is_template = fuzzing && request == RDMA_VERBS_IOCTL && hdr->num_attrs <= MAX_ATTRS / 2;
	/*
	 * GET_CONTEXT succeeds only once on a file. If a malformed GET_CONTEXT succeeded, the
	 * template's own call would fail: so no malformed call precedes it.
	 */
	opens = is_template && hdr->object_id == UVERBS_OBJECT_DEVICE &&
		hdr->method_id == UVERBS_METHOD_GET_CONTEXT;
	for (unsigned int i = 0; is_template && !opens && i < 12; i++)
		malformed(fd, hdr);
	ret = real_ioctl(fd, request, hdr);
	err = errno;
	for (unsigned int i = 0; is_template && i < 12; i++)
		malformed(fd, hdr);
	n_methods += is_template;
	errno = err;
	return ret;
}

static void
fuzz_round(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx;

	fuzzing = true;
	ctx = mlx5dv_open_device(list[0],
		&(struct mlx5dv_context_attr){.flags = MLX5DV_CONTEXT_FLAGS_DEVX});
	if (ctx != NULL) {
		calls_of_verbs(ctx);
		calls_of_devx(ctx);
	}
	fuzzing = false;
	if (ctx != NULL)
		ibv_close_device(ctx);
	ibv_free_device_list(list);
	fuzz_check_guards();
}

int
main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : 3;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;

	fuzz_fix_addresses(argv);
	/*
	 * Settings are read when the library is loaded, so the program sets the variable and
	 * executes itself again.
	 */
	if (getenv("SOFTHCA_THREADS") == NULL) {
		setenv("SOFTHCA_THREADS", "0", 1);
		execv("/proc/self/exe", argv);
		FUZZ_DIE("starting again: %s", strerror(errno));
	}
	if (!softhca_active()) {
		printf("skipped: the emulated adapter is not active in this process\n");
		return 77;
	}
	fuzz_begin(seed, 600);
	arena = fuzz_guarded(ARENA_LEN);
	box = fuzz_guarded(BOX_LEN);
	for (unsigned long i = 0; i < rounds; i++)
		fuzz_round();
	printf("%lu templates, %lu malformed calls, %lu of them good; %lu queues and %lu aliases by "
	       "changed commands\n",
		n_methods, n_calls, n_taken, fuzz_devx_queues, fuzz_devx_aliases);
	/* If all calls were refused, the fuzzer has tested nothing: this is a failure. */
	return n_calls >= 1000 * rounds && n_taken != 0 && fuzz_devx_queues != 0 &&
			       fuzz_devx_aliases != 0
		       ? EXIT_SUCCESS
		       : EXIT_FAILURE;
}
