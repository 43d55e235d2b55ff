/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DEVX channels: events to which a program subscribes (mlx5dv_devx_subscribe_devx_event(3)),
 * delivered with their data, with a cookie only, or by an eventfd; and answers of commands
 * (mlx5dv_devx_obj_query_async(3)).
 *
 * Expected numbers are those of the kernel's mlx5_ifc.h (MLX5_EVENT_TYPE_*) and device.h (struct
 * mlx5_eqe), and of the objects' own commands.
 */
#include <fcntl.h>
#include <sys/eventfd.h>

#include <rdma/mlx5_user_ioctl_verbs.h>

#include "softhca_devx_side.h"

#define COOKIE 0x1122334455667788ull
#define EQE    8 /* offset of the EQE in a record, after the cookie */

enum {
	COMP = 0x00,
	COMM_EST = 0x02,
	CQ_ERROR = 0x04,
	WQ_CATAS = 0x05,
	PORT = 0x09,
	LAST_WQE = 0x13
};

struct record {
	uint8_t bytes[128];
	ssize_t len;
};

static struct mlx5dv_devx_event_channel *
channel(struct ibv_context *ctx, bool omit_data)
{
	struct mlx5dv_devx_event_channel *c = mlx5dv_devx_create_event_channel(ctx,
		omit_data ? MLX5DV_DEVX_CREATE_EVENT_CHANNEL_FLAGS_OMIT_EV_DATA : 0);

	CHECK(c != NULL);
	CHECK_EQ(fcntl(c->fd, F_SETFL, O_NONBLOCK), 0);
	return c;
}

/* Reads the next record. len < 0: there is no record. */
static struct record
next(struct mlx5dv_devx_event_channel *c, unsigned int ms)
{
	struct record r;
	uint64_t end = pair_now_ms() + ms;

	for (;;) {
		r.len = mlx5dv_devx_get_event(c, (void *)r.bytes, sizeof(r.bytes));
		if (r.len >= 0 || pair_now_ms() >= end)
			break;
		CHECK_EQ(errno, EAGAIN);
		pair_run();
	}
	return r;
}

static struct record
get(struct mlx5dv_devx_event_channel *c)
{
	struct record r = next(c, 10000);
	uint64_t cookie;

	CHECK(r.len >= 8);
	memcpy(&cookie, r.bytes, 8);
	CHECK_EQ(cookie, COOKIE);
	return r;
}

static void
expect_none(struct mlx5dv_devx_event_channel *c)
{
	CHECK(next(c, pair_is_pumped() ? 1 : 20).len < 0);
}

static void
subscribe(struct mlx5dv_devx_event_channel *c, struct mlx5dv_devx_obj *obj, uint16_t type)
{
	CHECK_EQ(mlx5dv_devx_subscribe_devx_event(c, obj, sizeof(type), &type, COOKIE), 0);
}

/* Checks the whole EQE: its type, and one more field. */
static void
expect_eqe(const struct record *r, uint8_t type, unsigned int at, uint32_t value)
{
	uint8_t want[EQE + 64] = {0};
	uint64_t cookie = COOKIE;

	memcpy(want, &cookie, 8);
	want[EQE + 1] = type;
	devx_put(want, (EQE + at) * 8, 32, value);
	if (type == CQ_ERROR)
		want[EQE + 43] = 1; /* overrun */
	CHECK_EQ(r->len, sizeof(want));
	CHECK(check_bytes(r->bytes, want, sizeof(want), "the entry"));
}

/* Waits for one event at the eventfd. */
static void
await_count(int fd)
{
	uint64_t end = pair_now_ms() + CHECK_PATIENCE_MS, count = 0;

	while (read(fd, &count, sizeof(count)) < 0) {
		CHECK(pair_now_ms() < end);
		pair_run();
	}
	CHECK_EQ(count, 1);
}

/* Two connected sides. The CQ of the second side has CQE_N entries. */
static void
open_sides(struct side *a, struct side *b)
{
	side_init(a);
	side_init(b);
	side_connect(a, b->qpn);
	side_connect(b, a->qpn);
}

/* ---------------------------------------------------------------- completions and errors */

/*
 * Arms the CQ for the next completion, as libmlx5 does: first the second word of the doorbell
 * record, then the doorbell.
 */
static void
arm(struct side *s, uint32_t sn)
{
	uint32_t word = sn << 28 | (s->cq_ci & 0xffffff);
	uint64_t bell = htobe64((uint64_t)word << 32 | s->cqn);

	store_be32(s, DB_AT + 4, word);
	__atomic_store_n((uint64_t *)((uint8_t *)s->uar->base_addr + 0x20), bell, __ATOMIC_RELEASE);
}

static void
case_completions(void)
{
	static struct side a, b;
	struct mlx5dv_devx_event_channel *with, *without;
	struct record r;

	open_sides(&a, &b);
	with = channel(b.ctx, false);
	without = channel(b.ctx, true);
	subscribe(with, b.cq, COMP);
	subscribe(without, b.cq, COMP);
	for (uint16_t i = 0; i < 3; i++) {
		arm(&b, i);
		expect_none(with);
		post_recv(&b, i);
		post_send(&a, 1);
		r = get(with);
		expect_eqe(&r, COMP, 56, b.cqn);
		r = get(without);
		CHECK_EQ(r.len, 8);
		(void)poll_one(&a);
		(void)poll_one(&b);
		/* Each arming gives one event. */
		post_recv(&b, (uint16_t)(i + 1));
		expect_none(with);
		expect_none(without);
	}
	mlx5dv_devx_destroy_event_channel(with);
	/* The other channel still gets events. */
	arm(&b, 3);
	post_send(&a, 1);
	CHECK_EQ(get(without).len, 8);
	mlx5dv_devx_destroy_event_channel(without);
	side_fini(&a);
	side_fini(&b);
}

/* A QP fails when the adapter serves it for the first time after the CQ's error. */
static void
await_error(struct side *s)
{
	uint64_t end = pair_now_ms() + CHECK_PATIENCE_MS;
	uint8_t out[MOD_IN];

	for (;;) {
		side_query(s->qp, s->qpn, out);
		if (devx_get(out, 0xc0, 4) == 6)
			return;
		CHECK(pair_now_ms() < end);
		pair_run();
	}
}

/*
 * More completions than the CQ has entries: the error is reported with data, by cookie and by
 * eventfd. The QPs that use the CQ fail.
 */
static void
case_errors(void)
{
	static struct side a, b;
	struct mlx5dv_devx_event_channel *with, *without;
	const uint16_t of_qp[] = {WQ_CATAS, COMM_EST};
	int fd = eventfd(0, EFD_NONBLOCK);
	struct record r;

	CHECK(fd >= 0);
	open_sides(&a, &b);
	with = channel(b.ctx, false);
	without = channel(b.ctx, true);
	subscribe(with, b.cq, CQ_ERROR);
	subscribe(without, b.cq, CQ_ERROR);
	CHECK_EQ(mlx5dv_devx_subscribe_devx_event_fd(without, fd, b.cq, CQ_ERROR), 0);
	for (uint16_t i = 0; i <= CQE_N; i++) {
		post_recv(&b, i);
		post_send(&a, 1);
		(void)poll_one(&a);
		if (i == CQE_N - 1)
			expect_none(with);
	}
	r = get(with);
	expect_eqe(&r, CQ_ERROR, 32, b.cqn);
	CHECK_EQ(get(without).len, 8);
	await_count(fd);
	CHECK_EQ(close(fd), 0);
	await_error(&b);
	/*
	 * Subscribes to several types in one call. The QP failed before the subscription, so there
	 * is no event.
	 */
	CHECK_EQ(mlx5dv_devx_subscribe_devx_event(with, b.qp, sizeof(of_qp), (uint16_t *)of_qp,
			 COOKIE),
		0);
	expect_none(with);
	mlx5dv_devx_destroy_event_channel(with);
	mlx5dv_devx_destroy_event_channel(without);
	side_fini(&a);
	side_fini(&b);
}

/* The QP that uses the failed CQ must report its own failure by an event. */
static void
case_queue_pair(void)
{
	static struct side a, b;
	struct mlx5dv_devx_event_channel *c;
	struct record r;

	open_sides(&a, &b);
	c = channel(b.ctx, false);
	subscribe(c, b.qp, WQ_CATAS);
	subscribe(c, b.qp, LAST_WQE); /* no event comes: the QP has no SRQ */
	for (uint16_t i = 0; i <= CQE_N; i++) {
		post_recv(&b, i);
		post_send(&a, 1);
		(void)poll_one(&a);
	}
	r = get(c);
	expect_eqe(&r, WQ_CATAS, 56, b.qpn);
	expect_none(c);
	mlx5dv_devx_destroy_event_channel(c);
	side_fini(&a);
	side_fini(&b);
}

/*
 * Subscriptions without an object must get events of both ports of the adapter, in all three forms.
 */
static void
case_port(void)
{
	struct mlx5dv_devx_event_channel *with, *without;
	int fd = eventfd(0, EFD_NONBLOCK);
	char line[40];
	uint64_t count;
	struct record r;
	struct side s;

	CHECK(fd >= 0);
	side_init(&s);
	with = channel(s.ctx, false);
	without = channel(s.ctx, true);
	subscribe(with, NULL, PORT);
	subscribe(without, NULL, PORT);
	CHECK_EQ(mlx5dv_devx_subscribe_devx_event_fd(without, fd, NULL, PORT), 0);
	for (unsigned int port = 1; port <= 2; port++) {
		for (unsigned int up = 0; up < 2; up++) {
			/*
			 * The test brings the port up after all channels have reported that it is
			 * down, however slow the machine is.
			 */
			snprintf(line, sizeof(line), "port_%s port=%u", up ? "up" : "down", port);
			CHECK_EQ(softhca_fault(line), 0);
			r = get(with);
			CHECK_EQ(r.len, EQE + 64);
			CHECK_EQ(r.bytes[EQE + 1], PORT);
			/* state of the port: active or down */
			CHECK_EQ(r.bytes[EQE + 3], up ? 4 : 1);
			CHECK_EQ(r.bytes[EQE + 40], port << 4);
			CHECK_EQ(get(without).len, 8);
			await_count(fd);
		}
	}
	expect_none(with);
	expect_none(without);
	CHECK(read(fd, &count, sizeof(count)) < 0 && errno == EAGAIN);
	CHECK_EQ(close(fd), 0);
	mlx5dv_devx_destroy_event_channel(with);
	mlx5dv_devx_destroy_event_channel(without);
	side_fini(&s);
}

/*
 * A subscription must end when its object is destroyed. It must still be possible to read the
 * unread records. The channel may exist longer than the object.
 */
static void
case_ends(void)
{
	static struct side a, b;
	struct mlx5dv_devx_event_channel *c;
	struct ibv_context *ctx;

	open_sides(&a, &b);
	c = channel(b.ctx, true);
	subscribe(c, b.cq, COMP);
	arm(&b, 0);
	post_recv(&b, 0);
	post_send(&a, 1);
	(void)poll_one(&a);
	(void)poll_one(&b);
	ctx = b.ctx;
	CHECK_EQ(mlx5dv_devx_obj_destroy(b.qp), 0);
	CHECK_EQ(mlx5dv_devx_obj_destroy(b.cq), 0);
	CHECK_EQ(get(c).len, 8);
	expect_none(c);
	mlx5dv_devx_destroy_event_channel(c);
	CHECK_EQ(mlx5dv_devx_umem_dereg(b.umem), 0);
	CHECK_EQ(mlx5dv_devx_umem_dereg(b.read_only), 0);
	mlx5dv_devx_free_uar(b.uar);
	CHECK_EQ(ibv_dereg_mr(b.mr), 0);
	CHECK_EQ(ibv_dealloc_pd(b.pd), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
	munmap(b.mem, MEM_LEN);
	side_fini(&a);
}

static void
case_refused(void)
{
	struct mlx5dv_devx_event_channel *c;
	uint16_t types[17] = {0};
	int fds[2], event = eventfd(0, 0);
	struct side s;

	CHECK(event >= 0 && pipe(fds) == 0);
	side_init(&s);
	CHECK(mlx5dv_devx_create_event_channel(s.ctx, 2) == NULL && errno == EINVAL);
	c = channel(s.ctx, false);
	/*
	 * Refused: events for no object, events for an object of another kind, a list with an odd
	 * number of bytes, and a list that is too long.
	 */
	for (uint16_t type = 0; type < 0x40; type++) {
		/* The rule of is_legacy_obj_event_num() of mlx5_ib. */
		bool known = type <= 0x05 || type == 0x07 || (type >= 0x10 && type <= 0x14) ||
			     type == 0x18 || type == 0x1c || type == 0x1d;

		CHECK_EQ(mlx5dv_devx_subscribe_devx_event(c, s.cq, 2, &type, 0),
			known ? 0 : EINVAL);
		CHECK_EQ(mlx5dv_devx_subscribe_devx_event(c, NULL, 2, &type, 0),
			type == PORT ? 0 : EINVAL);
	}
	CHECK_EQ(mlx5dv_devx_subscribe_devx_event(c, s.cq, 3, types, 0), EINVAL);
	CHECK_EQ(mlx5dv_devx_subscribe_devx_event(c, s.cq, 32, types, 0), 0);
	CHECK_EQ(mlx5dv_devx_subscribe_devx_event(c, s.cq, 34, types, 0), EINVAL);
	/*
	 * Refused: a file descriptor that is not an eventfd, and a number that is not a file
	 * descriptor.
	 */
	CHECK_EQ(mlx5dv_devx_subscribe_devx_event_fd(c, fds[1], s.cq, COMP), EINVAL);
	CHECK_EQ(mlx5dv_devx_subscribe_devx_event_fd(c, 12345, s.cq, COMP), EBADF);
	CHECK_EQ(mlx5dv_devx_subscribe_devx_event_fd(c, event, s.cq, COMP), 0);
	CHECK(close(fds[0]) == 0 && close(fds[1]) == 0 && close(event) == 0);
	mlx5dv_devx_destroy_event_channel(c);
	side_fini(&s);
}

/* ---------------------------------------------------------------- answers */

static void
case_answers(void)
{
	uint8_t in[HDR] = {0}, want[MOD_IN] = {0}, got[8 + 4096];
	struct mlx5dv_devx_async_cmd_hdr *hdr = (void *)got;
	struct mlx5dv_devx_cmd_comp *comp;
	struct side s;

	side_init(&s);
	comp = mlx5dv_devx_create_cmd_comp(s.ctx);
	CHECK(comp != NULL);
	devx_put_query_qp(in, s.qpn);
	CHECK_EQ(mlx5dv_devx_obj_query(s.qp, in, HDR, want, sizeof(want)), 0);
	/*
	 * Two answers wait to be read. A buffer that is too short gets the first part of an answer;
	 * a longer buffer ends with zeros.
	 */
	CHECK_EQ(mlx5dv_devx_obj_query_async(s.qp, in, HDR, sizeof(want), 100, comp), 0);
	CHECK_EQ(mlx5dv_devx_obj_query_async(s.qp, in, HDR, HDR, 101, comp), 0);
	CHECK_EQ(mlx5dv_devx_obj_query_async(s.qp, in, HDR, 4096, 102, comp), 0);
	CHECK_EQ(mlx5dv_devx_get_async_cmd_comp(comp, hdr, sizeof(got)), 0);
	CHECK_EQ(hdr->wr_id, 100);
	CHECK(check_bytes(hdr->out_data, want, sizeof(want), "the answer"));
	CHECK_EQ(read(comp->fd, got, sizeof(got)), 8 + HDR);
	CHECK_EQ(hdr->wr_id, 101);
	CHECK_EQ(memcmp(hdr->out_data, want, HDR), 0);
	memset(got, 0xff, sizeof(got));
	CHECK_EQ(read(comp->fd, got, sizeof(got)), 8 + 4096);
	CHECK_EQ(hdr->wr_id, 102);
	CHECK_EQ(memcmp(hdr->out_data, want, sizeof(want)), 0);
	for (size_t i = sizeof(want); i < 4096; i++)
		CHECK_EQ(hdr->out_data[i], 0);
	/*
	 * A command that is not a query, and a query with another object's number: no answer comes.
	 */
	devx_put(in, 0x48, 24, s.qpn + 1);
	CHECK_EQ(mlx5dv_devx_obj_query_async(s.qp, in, HDR, HDR, 1, comp), EINVAL);
	devx_put(in, 0, 16, 0x507);
	CHECK_EQ(mlx5dv_devx_obj_query_async(s.qp, in, HDR, HDR, 1, comp), EINVAL);
	CHECK_EQ(fcntl(comp->fd, F_SETFL, O_NONBLOCK), 0);
	CHECK(read(comp->fd, got, sizeof(got)) < 0 && errno == EAGAIN);
	mlx5dv_devx_destroy_cmd_comp(comp);
	side_fini(&s);
}

/* A query is refused if the channel has no space for its answer. No waiting answer is lost. */
static void
case_many_answers(void)
{
	struct mlx5dv_devx_cmd_comp *comp;
	uint8_t in[HDR] = {0};
	static uint8_t got[8 + 60000];
	uint64_t n = 0, wr_id;
	struct side s;

	side_init(&s);
	comp = mlx5dv_devx_create_cmd_comp(s.ctx);
	CHECK(comp != NULL);
	CHECK_EQ(fcntl(comp->fd, F_SETFL, O_NONBLOCK), 0);
	devx_put_query_qp(in, s.qpn);
	while (mlx5dv_devx_obj_query_async(s.qp, in, HDR, 60000, n, comp) == 0)
		CHECK(++n < 10000);
	CHECK_EQ(errno, EAGAIN);
	CHECK(n != 0);
	for (uint64_t i = 0; i < n; i++) {
		CHECK_EQ(read(comp->fd, got, sizeof(got)), sizeof(got));
		memcpy(&wr_id, got, 8);
		CHECK_EQ(wr_id, i);
	}
	CHECK_EQ(mlx5dv_devx_obj_query_async(s.qp, in, HDR, 60000, n, comp), 0);
	mlx5dv_devx_destroy_cmd_comp(comp);
	side_fini(&s);
}

static const struct check_case cases[] = {
	{"a program gets events of completions", case_completions},
	{"a program gets the event of a CQ's error, in three ways", case_errors},
	{"a program gets the event of a queue pair's error", case_queue_pair},
	{"a program gets events of both ports, in three ways", case_port},
	{"a subscription ends with its object", case_ends},
	{"an impossible subscription is refused", case_refused},
	{"the answer of a query arrives in a channel", case_answers},
	{"a channel has room for a limited number of answers", case_many_answers},
};

int
main(int argc, char **argv)
{
	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
