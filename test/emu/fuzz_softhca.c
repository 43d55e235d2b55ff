/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fuzzer of the adapter's two fronts. Nothing may crash, hang, or touch memory that is not
 * registered.
 *
 *  - The ioctl front: stock libibverbs does its work, and every call it makes is the template of
 *    malformed ones, made before and after it: so each method that libibverbs knows is met with live
 *    handles. Their pointers lead into an arena, or to where nothing is.
 *  - The decoder of WQEs: queues are filled with bytes that are nearly right. What is registered lies
 *    between pages that cannot be touched; what is registered for reading must stay as it was.
 *
 * usage: fuzz_softhca [ROUNDS [SEED]]     usertools/fuzz.sh has the long form
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/rdma_user_ioctl.h>

#include "hwq_emu.h"
#include "hwq_rq.h"

#define MAX_ATTRS 64
#define ARENA_LEN (1u << 20)
#define PAGE      4096u

static uint64_t seed;
static uint8_t *arena; /* mapped, and between pages that are not */
static unsigned long n_calls, n_taken, n_wqes, n_good;

static uint64_t
rnd(uint64_t n)
{
	return check_random(&seed) % n;
}

/* Memory of len bytes (whole pages) between pages that cannot be touched. */
static uint8_t *
guarded(size_t len)
{
	uint8_t *p = mmap(NULL, len + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || mprotect(p + PAGE, len, PROT_READ | PROT_WRITE) != 0)
		EMU_DIE("no memory");
	return p + PAGE;
}

/* ---- the ioctl front */

static bool fuzzing; /* calls are templates */

static int
real_ioctl(int fd, unsigned long request, void *arg)
{
	static int (*next)(int, unsigned long, ...);

	if (next == NULL)
		next = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
	return next(fd, request, arg);
}

static bool
is_pointer(uint64_t v)
{
	return v >= 0x10000 && v >> 47 == 0 && v >> 32 != 0;
}

static uint64_t
wild_pointer(void)
{
	switch (rnd(8)) {
	case 0:
		return 0;
	case 1:
		return (uintptr_t)arena - PAGE + rnd(PAGE); /* cannot be touched */
	case 2:
		return (uintptr_t)arena + ARENA_LEN - rnd(64); /* runs into what cannot */
	case 3:
		return UINT64_C(0x8000000000000000) + rnd(1 << 20);
	default:
		return (uintptr_t)arena + rnd(ARENA_LEN / PAGE) * PAGE;
	}
}

static uint64_t
likely_word(void)
{
	switch (rnd(7)) {
	case 0:
		return rnd(16);
	case 1:
		return UINT64_C(1) << rnd(64);
	case 2:
		return (UINT64_C(1) << rnd(64)) - 1;
	case 3:
		return rnd(16) << 32 | rnd(16);
	case 4:
		return wild_pointer();
	default:
		return check_random(&seed);
	}
}

/* A copy of what a call points to, in the arena: no pointer in it leads to memory in use. */
static uint64_t
mutated_bytes(const void *from, uint32_t len)
{
	uint8_t *to = arena + rnd(ARENA_LEN - 65536 - 8) / 8 * 8;

	memcpy(to, from, len);
	for (uint32_t at = 0; at + 8 <= len; at += 8) {
		uint64_t word;

		memcpy(&word, to + at, 8);
		if (is_pointer(word))
			word = wild_pointer();
		else if (rnd(12) == 0)
			word = likely_word();
		else if (rnd(24) == 0)
			word ^= UINT64_C(1) << rnd(64);
		/* A flipped bit makes no pointer to memory in use: that would be the program's fault. */
		if (is_pointer(word) &&
			(word < (uintptr_t)arena || word >= (uintptr_t)arena + ARENA_LEN))
			word = wild_pointer();
		memcpy(to + at, &word, 8);
	}
	return (uintptr_t)to;
}

/* A descriptor, or anything else: never a pointer out of the arena. */
static uint64_t
mutated_inline(uint64_t word)
{
	if (is_pointer(word))
		return wild_pointer();
	word = rnd(6) == 0 ? likely_word() : word;
	return is_pointer(word) ? wild_pointer() : word;
}

struct call {
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr attrs[MAX_ATTRS];
};

static void
mutate_attr(struct ib_uverbs_attr *attr)
{
	if (attr->len > 8)
		attr->data = mutated_bytes((void *)(uintptr_t)attr->data, attr->len);
	else
		attr->data = mutated_inline(attr->data);
	switch (rnd(30)) {
	case 0:
		attr->len = (uint16_t)rnd(300);
		break;
	case 1:
		attr->attr_id ^= (uint16_t)(1u << rnd(13));
		break;
	case 2:
		attr->flags ^= (uint16_t)(1u << rnd(16));
		break;
	case 3:
		attr->attr_data.reserved = (uint16_t)rnd(3);
		break;
	default:
		break;
	}
	/* Bytes that are now to be read from somewhere: from the arena. */
	if (attr->len > 8 &&
		(attr->data < (uintptr_t)arena || attr->data >= (uintptr_t)arena + ARENA_LEN))
		attr->data = wild_pointer();
}

static void
mutate_shape(struct call *c)
{
	uint16_t n = c->hdr.num_attrs;

	switch (rnd(20)) {
	case 0:
		if (n > 0)
			n--;
		break;
	case 1:
		if (n > 0 && n < MAX_ATTRS) {
			c->attrs[n] = c->attrs[rnd(n)];
			n++;
		}
		break;
	case 2:
		if (n > 1)
			c->attrs[rnd(n)] = c->attrs[rnd(n)];
		break;
	case 3:
		c->hdr.method_id ^= (uint16_t)(1u << rnd(13));
		break;
	case 4:
		c->hdr.object_id = (uint16_t)rnd(20) | (uint16_t)(rnd(2) << 12);
		break;
	case 5:
		c->hdr.driver_id = (uint32_t)rnd(30);
		break;
	default:
		break;
	}
	c->hdr.num_attrs = n;
	c->hdr.length = (uint16_t)(sizeof(c->hdr) + n * sizeof(c->attrs[0]));
	if (rnd(50) == 0)
		c->hdr.length = (uint16_t)rnd(65536);
	if (rnd(100) == 0)
		c->hdr.num_attrs = (uint16_t)rnd(65536);
}

/* An errno that the ABI has for a refusal: anything else would be a fault of the front. */
static void
check_errno(int err)
{
	static const int known[] = {EPROTONOSUPPORT, EINVAL, EFAULT, ENOENT, EBADF, EOPNOTSUPP,
		ENOSPC, EBUSY, ENODATA, EREMOTEIO, ENETUNREACH, EMFILE, ENOMEM, EIO, ENOTTY, ENOSYS,
		EPERM, ERANGE, EEXIST, EMSGSIZE};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i] == err)
			return;
	EMU_DIE("a call ended with errno %d (%s)", err, strerror(err));
}

static void
malformed(int fd, const struct ib_uverbs_ioctl_hdr *hdr)
{
	/* What the front reads may run into pages that cannot be read. */
	struct call *c = (struct call *)(void *)(arena + ARENA_LEN - sizeof(*c));

	memcpy(c, hdr, sizeof(*hdr) + hdr->num_attrs * sizeof(hdr->attrs[0]));
	for (uint16_t i = 0; i < hdr->num_attrs; i++)
		if (rnd(2) == 0 || c->attrs[i].len > 8 || is_pointer(c->attrs[i].data))
			mutate_attr(&c->attrs[i]);
	mutate_shape(c);
	n_calls++;
	if (real_ioctl(fd, RDMA_VERBS_IOCTL, c) == 0)
		n_taken++;
	else
		check_errno(errno);
	if (rnd(8) == 0)
		softhca_pump();
}

/* Interposed: libibverbs calls this one. */
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
	/* Taken once only: a malformed one that is good enough would take its place. */
	opens = is_template && hdr->object_id == UVERBS_OBJECT_DEVICE;
	for (unsigned int i = 0; is_template && !opens && i < 8; i++)
		malformed(fd, hdr);
	ret = real_ioctl(fd, request, hdr);
	err = errno;
	for (unsigned int i = 0; is_template && i < 8; i++)
		malformed(fd, hdr);
	errno = err;
	return ret;
}

/* Everything a program does with an adapter; whatever fails is left out. */
static void
use_objects(struct ibv_context *ctx)
{
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_td *td = ibv_alloc_td(ctx, &(struct ibv_td_init_attr){0});
	struct ibv_comp_channel *channel = ibv_create_comp_channel(ctx);
	struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, channel, 0);
	struct ibv_cq_ex *cqx =
		ibv_create_cq_ex(ctx, &(struct ibv_cq_init_attr_ex){.cqe = 16,
					      .wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP});
	struct ibv_mr *mr = NULL;
	struct ibv_mw *mw = NULL;
	struct ibv_srq *srq = NULL;
	struct ibv_port_attr port;
	struct ibv_device_attr_ex dev;
	struct ibv_gid_entry gids[8];
	uint8_t *mem = guarded(PAGE);

	ibv_query_port(ctx, 1, &port);
	ibv_query_device_ex(ctx, NULL, &dev);
	ibv_query_gid_table(ctx, gids, 8, 0);
	if (pd != NULL) {
		mr = ibv_reg_mr(pd, mem, PAGE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
		mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
		srq = ibv_create_srq(pd, &(struct ibv_srq_init_attr){.attr = {8, 1, 0}});
	}
	if (mr != NULL)
		ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE);
	for (unsigned int type = IBV_QPT_RC; pd != NULL && cq != NULL && type <= IBV_QPT_UD;
		type++) {
		struct ibv_qp_init_attr init = {.send_cq = cq,
			.recv_cq = cq,
			.cap = {8, 8, 2, 2, 64},
			.qp_type = (enum ibv_qp_type)type};
		struct ibv_qp *qp = ibv_create_qp(pd, &init);
		struct ibv_ah *ah;
		struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
			.port_num = 1,
			.qkey = 7,
			.path_mtu = IBV_MTU_1024,
			.ah_attr = {.is_global = 1, .port_num = 1, .grh = {.hop_limit = 1}}};

		if (qp == NULL)
			continue;
		ibv_modify_qp(qp, &attr,
			IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				(type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
		attr.qp_state = IBV_QPS_RTR;
		attr.dest_qp_num = qp->qp_num;
		ibv_query_gid(ctx, 1, 0, &attr.ah_attr.grh.dgid);
		ibv_modify_qp(qp, &attr,
			type == IBV_QPT_UD
				? IBV_QP_STATE
				: IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					  IBV_QP_RQ_PSN |
					  (type == IBV_QPT_RC ? IBV_QP_MAX_DEST_RD_ATOMIC |
									IBV_QP_MIN_RNR_TIMER
							      : 0));
		ibv_query_qp(qp, &attr, IBV_QP_STATE, &init);
		ah = ibv_create_ah(pd, &attr.ah_attr);
		if (ah != NULL)
			ibv_destroy_ah(ah);
		ibv_destroy_qp(qp);
	}
	if (srq != NULL)
		ibv_destroy_srq(srq);
	if (mw != NULL)
		ibv_dealloc_mw(mw);
	if (mr != NULL)
		ibv_dereg_mr(mr);
	if (cqx != NULL)
		ibv_destroy_cq(ibv_cq_ex_to_cq(cqx));
	if (cq != NULL)
		ibv_destroy_cq(cq);
	if (channel != NULL)
		ibv_destroy_comp_channel(channel);
	if (td != NULL)
		ibv_dealloc_td(td);
	if (pd != NULL)
		ibv_dealloc_pd(pd);
}

/* Firmware commands and their objects; the bytes of a command are the fuzzer's to choose. */
static void
use_devx(struct ibv_context *ctx)
{
	uint8_t in[64] = {0}, out[512] = {0};
	uint8_t *mem = guarded(4 * PAGE);
	struct mlx5dv_devx_umem *umem = mlx5dv_devx_umem_reg(ctx, mem, 4 * PAGE, 7);
	struct mlx5dv_devx_uar *uar = mlx5dv_devx_alloc_uar(ctx, MLX5DV_UAR_ALLOC_TYPE_BF);
	static const uint16_t commands[] = {0x100, 0x200, 0x400, 0x500, 0x50b, 0x50e, 0xa00};

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		struct mlx5dv_devx_obj *obj;

		in[0] = (uint8_t)(commands[i] >> 8);
		in[1] = (uint8_t)commands[i];
		in[7] = (uint8_t)rnd(4);
		mlx5dv_devx_general_cmd(ctx, in, sizeof(in), out, sizeof(out));
		obj = mlx5dv_devx_obj_create(ctx, in, sizeof(in), out, sizeof(out));
		if (obj != NULL)
			mlx5dv_devx_obj_destroy(obj);
	}
	if (uar != NULL)
		mlx5dv_devx_free_uar(uar);
	if (umem != NULL)
		mlx5dv_devx_umem_dereg(umem);
}

static void
fuzz_calls(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx;

	fuzzing = true;
	ctx = mlx5dv_open_device(list[0],
		&(struct mlx5dv_context_attr){.flags = MLX5DV_CONTEXT_FLAGS_DEVX});
	if (ctx != NULL) {
		use_objects(ctx);
		use_devx(ctx);
	}
	fuzzing = false;
	if (ctx != NULL)
		ibv_close_device(ctx);
	ibv_free_device_list(list);
}

/* ---- the decoder of WQEs */

struct target {
	struct twin twin;
	struct hwq_mr rw, ro;
	uint8_t *rw_mem, *ro_mem, *none; /* read and written, read only, not registered */
	uint8_t ro_copy[PAGE], none_copy[PAGE];
};

static void
random_bytes(uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		p[i] = (uint8_t)rnd(256);
}

static void
target_open(struct target *t, struct hwq_dev *dev)
{
	struct hwq_qp_conf conf = {.sq_wr = 32,
		.max_inline = 128,
		.max_sge = 4,
		.rq_wr = 16,
		.mmo = true};
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

	t->rw_mem = guarded(PAGE);
	t->ro_mem = guarded(PAGE);
	t->none = guarded(PAGE);
	random_bytes(t->ro_mem, PAGE);
	random_bytes(t->none, PAGE);
	memcpy(t->ro_copy, t->ro_mem, PAGE);
	memcpy(t->none_copy, t->none, PAGE);
	if (hwq_mr_register(dev, t->rw_mem, PAGE, (unsigned int)access, &t->rw) != 0 ||
		hwq_mr_register(dev, t->ro_mem, PAGE, IBV_ACCESS_REMOTE_READ, &t->ro) != 0)
		EMU_DIE("registering");
	twin_create(dev, &conf, &t->twin);
	twin_connect_self(&t->twin);
}

static bool tame; /* this WQE is nearly right: it shall get far */

static uint32_t
some_key(const struct target *t)
{
	if (tame && rnd(16) != 0)
		return t->rw.lkey;
	switch (rnd(8)) {
	case 0:
		return t->ro.lkey;
	case 1:
		return t->rw.lkey ^ 1u << rnd(32);
	case 2:
		return rnd(2) == 0 ? 0x100 : 0x200;
	default:
		return t->rw.lkey;
	}
}

static uint64_t
some_address(const struct target *t)
{
	const uint8_t *bases[] = {t->rw_mem, t->rw_mem, t->rw_mem, t->ro_mem, t->none, arena};
	uint64_t base = (uintptr_t)bases[rnd(6)];

	if (tame && rnd(16) != 0)
		return (uintptr_t)t->rw_mem + rnd(PAGE);
	switch (rnd(6)) {
	case 0:
		return base + PAGE - rnd(80);
	case 1:
		return base - rnd(80);
	case 2:
		return likely_word();
	default:
		return base + rnd(PAGE);
	}
}

static uint32_t
some_len(void)
{
	if (tame && rnd(16) != 0)
		return 1 + (uint32_t)rnd(100);
	switch (rnd(6)) {
	case 0:
		return PAGE - (uint32_t)rnd(3);
	case 1:
		return (uint32_t)check_random(&seed);
	case 2:
		return 0x80000000u | (uint32_t)rnd(300);
	default:
		return (uint32_t)rnd(200);
	}
}

/* One 16-byte segment, as something would have it; remote: as the second of a WQE with a peer. */
static void
some_segment(const struct target *t, uint8_t *p, bool remote)
{
	uint64_t addr = htobe64(some_address(t));
	uint32_t key = htobe32(some_key(t)), len = htobe32(some_len());

	switch (tame ? remote : rnd(5)) {
	case 4:
		random_bytes(p, 16);
		break;
	case 1:
		memset(p, 0, 16);
		memcpy(p, &addr, 8);
		memcpy(p + 8, &key, 4);
		break;
	default:
		memcpy(p, &len, 4);
		memcpy(p + 4, &key, 4);
		memcpy(p + 8, &addr, 8);
	}
}

static void
some_wqe(const struct target *t)
{
	static const uint8_t opcodes[] = {0x00, 0x01, 0x08, 0x09, 0x0a, 0x0b, 0x10, 0x11, 0x12,
		0x14, 0x15, 0x1b, 0x20, 0x25, 0x2f};
	struct hwq_sq *sq = &t->twin.qp->sq;
	unsigned int ds = !tame && rnd(5) == 0 ? (unsigned int)rnd(64) : 1 + (unsigned int)rnd(8);
	uint8_t opcode = !tame && rnd(5) == 0 ? (uint8_t)rnd(256) : opcodes[rnd(sizeof(opcodes))];
	unsigned int bb;
	uint8_t opmod = opcode == 0x2f && rnd(8) != 0 ? 1 : (uint8_t)(rnd(6) == 0 ? rnd(256) : 0);
	struct mlx5_wqe_ctrl_seg ctrl = {0};

	if (tame && rnd(16) != 0)
		ds = opcode == 0x2f || opcode == 0x11 || opcode == 0x12 ? 4
									: 3 + (unsigned int)rnd(4);
	bb = ds == 0 ? 1 : hwq_ds_to_bb(ds);
	if (bb > hwq_sq_free_bb(sq))
		return;
	/* The ring wraps where it will: the device must, too. */
	for (unsigned int i = 1; i < 4 * bb; i++)
		some_segment(t, sq->buf + ((size_t)sq->pi * 64 + 16 * i) % ((sq->mask + 1u) * 64u),
			i == 1 && opcode >= 0x08 && opcode <= 0x15 && (opcode & ~1u) != 0x0a);
	mlx5dv_set_ctrl_seg(&ctrl, sq->pi, opcode, opmod, t->twin.qp->qpn,
		(uint8_t)(rnd(3) == 0 ? rnd(256) : 8), (uint8_t)ds, 0, (uint32_t)rnd(1u << 31));
	if (!tame && rnd(20) == 0)
		random_bytes((uint8_t *)&ctrl + rnd(12), 4);
	memcpy(hwq_sq_at(sq, sq->pi), &ctrl, 16);
	if (opcode == 0x2f && rnd(4) != 0) { /* one that gets past its own checks */
		uint8_t *wqe = hwq_sq_at(sq, sq->pi);

		memcpy(wqe + 16 + 4, &sq->mmo_lkey, 4);
		memcpy(wqe + 16 + 8, &sq->mmo_addr, 8);
		memcpy(wqe + 48, wqe + 32, 4);
	}
	hwq_sq_commit(sq, bb);
	n_wqes++;
}

static void
some_receives(const struct target *t)
{
	struct hwq_rq *rq = &t->twin.qp->rq;
	unsigned int n = (unsigned int)rnd(4);

	for (; n != 0 && (uint16_t)(rq->pi - rq->ci) < rq->mask; n--) {
		for (uint32_t at = 0; at < rq->stride; at += 16)
			some_segment(t, rq->buf + (size_t)(rq->pi & rq->mask) * rq->stride + at,
				false);
		rq->pi++;
	}
	atomic_store_explicit(&rq->dbrec[MLX5_RCV_DBR], htobe32(rq->pi), memory_order_release);
}

static void
check_untouched(const struct target *t)
{
	if (memcmp(t->ro_mem, t->ro_copy, PAGE) != 0)
		EMU_DIE("memory that is registered for reading was written");
	if (memcmp(t->none, t->none_copy, PAGE) != 0)
		EMU_DIE("memory that is not registered was written");
}

static void
fuzz_wqes(struct target *t, unsigned int bursts)
{
	struct hwq_sq *sq = &t->twin.qp->sq;

	for (unsigned int b = 0; b < bursts; b++) {
		struct hwq_cqe cqes[32];
		unsigned int turns = 0;

		tame = rnd(2) != 0;
		some_receives(t);
		for (unsigned int n = 1 + (unsigned int)rnd(4); n != 0; n--) {
			tame = rnd(4) != 0;
			some_wqe(t);
		}
		if (hwq_sq_pending_bb(sq) != 0)
			hwq_sq_ring(sq);
		while (softhca_pump() != 0)
			if (++turns > 10000)
				EMU_DIE("the adapter does not come to rest");
		for (unsigned int n; (n = hwq_cq_poll(t->twin.cq, cqes, 32)) != 0;)
			while (n-- != 0)
				n_good += cqes[n].syndrome == 0;
		check_untouched(t);
		/* In error, or waiting for a receive: start again. */
		if (hwq_qp_state(t->twin.qp) != IBV_QPS_RTS || rnd(8) == 0) {
			if (hwq_qp_reset(t->twin.qp) != 0)
				EMU_DIE("reset");
			twin_connect_self(&t->twin);
		}
	}
}

static void
target_close(struct target *t)
{
	twin_destroy(&t->twin);
	hwq_mr_deregister(&t->rw);
	hwq_mr_deregister(&t->ro);
}

/* ---- */

/* Log lines of refused work are not what is looked for here. */
static void
quiet(const char *line)
{
}

int
main(int argc, char **argv)
{
	unsigned int rounds = argc > 1 ? (unsigned int)strtoul(argv[1], NULL, 0) : 3;
	struct hwq_dev *dev;
	static struct target target;

	emu_setting(argv, "SOFTHCA_THREADS", "0");
	seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	arena = guarded(ARENA_LEN);
	hwq_log_set(quiet);
	printf("seed %llu\n", (unsigned long long)seed);
	fflush(stdout);
	alarm(300); /* a hang ends the program */
	dev = emu_open();
	target_open(&target, dev);
	for (unsigned int i = 0; i < rounds; i++) {
		fuzz_wqes(&target, 4000);
		fuzz_calls();
	}
	target_close(&target);
	hwq_dev_close(dev);
	printf("%lu malformed calls, %lu of them good; %lu WQEs, %lu completed well\n", n_calls,
		n_taken, n_wqes, n_good);
	return n_calls > 100 * rounds && n_wqes > 1000 * rounds && n_good > 0 ? EXIT_SUCCESS
									      : EXIT_FAILURE;
}
