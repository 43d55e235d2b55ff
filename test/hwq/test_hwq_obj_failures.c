/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Channels, shared receive queues, and a caller's own objects: each verbs call and each allocation
 * of the functions that create them fails once, in separate runs. Expected: the caller gets the
 * error, no object is left, no count of CQ entries or users changes, and an object that could not
 * be destroyed can be destroyed later. Also tested: objects of a form that hwq does not support.
 * The linker wraps the calls (ld(1), --wrap), so this program links hwq statically.
 */
#include "hwq_cancel.h"
#include "hwq_event.h"
#include "hwq_failing.h"
#include "hwq_left.h"
#include "hwq_obj.h"
#include "hwq_verbs_channel.h"
#include "hwq_verbs_obj.h"
#include "hwq_verbs_srq.h"
#include "hwq_wr.h"

static bool say_compressed, say_signs, say_inlines;

FAILING_CALL(hwq_verbs_channel_create, 1,
	(struct ibv_context * ctx, struct ibv_comp_channel **channel), (ctx, channel))
FAILING_CALL(hwq_verbs_channel_destroy, -1, (struct ibv_comp_channel * channel), (channel))
FAILING_CALL(hwq_verbs_srq_create, 1,
	(struct ibv_context * ctx, struct ibv_srq_init_attr_ex *attr, struct ibv_srq **srq),
	(ctx, attr, srq))
FAILING_CALL(hwq_verbs_srq_destroy, -1, (struct ibv_srq * srq), (srq))

/* If not NULL, changes the description of an SRQ that libmlx5 returns. */
static void (*change_srq)(struct mlx5dv_srq *view);

int __real_hwq_verbs_srq_take(struct ibv_srq *srq, struct mlx5dv_srq *view);
int __wrap_hwq_verbs_srq_take(struct ibv_srq *srq, struct mlx5dv_srq *view);
int
__wrap_hwq_verbs_srq_take(struct ibv_srq *srq, struct mlx5dv_srq *view)
{
	int ret = fails() ? REFUSAL : __real_hwq_verbs_srq_take(srq, view);

	if (ret == 0 && change_srq != NULL)
		change_srq(view);
	return ret;
}

FAILING_CALL(hwq_verbs_qp_query, 0, (struct ibv_qp * qp, struct ibv_qp_attr *attr, int mask),
	(qp, attr, mask))
FAILING_CALL(hwq_verbs_rwq_take, 0, (struct ibv_wq * wq, struct mlx5dv_rwq *view), (wq, view))
FAILING_CALL(hwq_verbs_dm_take, 0, (struct ibv_dm * dm, struct mlx5dv_dm *view), (dm, view))

int __real_hwq_verbs_qp_query_hw(struct ibv_qp *qp, struct hwq_qp_hw *hw);
int __wrap_hwq_verbs_qp_query_hw(struct ibv_qp *qp, struct hwq_qp_hw *hw);

int
__wrap_hwq_verbs_qp_query_hw(struct ibv_qp *qp, struct hwq_qp_hw *hw)
{
	int ret = fails() ? REFUSAL : __real_hwq_verbs_qp_query_hw(qp, hw);

	hw->signs = say_signs;
	hw->inlines = say_inlines;
	return ret;
}

int __real_hwq_verbs_cq_query_hw(struct ibv_cq *cq, uint32_t cqn, bool *compressed);
int __wrap_hwq_verbs_cq_query_hw(struct ibv_cq *cq, uint32_t cqn, bool *compressed);

int
__wrap_hwq_verbs_cq_query_hw(struct ibv_cq *cq, uint32_t cqn, bool *compressed)
{
	int ret = fails() ? REFUSAL : __real_hwq_verbs_cq_query_hw(cq, cqn, compressed);

	*compressed = say_compressed;
	return ret;
}

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

/*
 * The function has default visibility, because the linker also uses it for the sanitizers'
 * libraries.
 */
__attribute__((visibility("default"))) void *
__wrap_calloc(size_t n, size_t size)
{
	return fails_by(-ENOMEM) ? NULL : __real_calloc(n, size);
}

/* ------------------------------------------------------------------ objects of hwq */

static struct hwq_dev *dev;
static struct hwq_domain *domain;

/* A channel, an SRQ, and two QPs: one QP receives from the SRQ, the other has a receive queue. */
struct channel_and_srq {
	struct hwq_channel *channel;
	struct hwq_cq *cq;
	struct hwq_srq *srq;
	struct hwq_qp *qp;
	struct hwq_cq *other_cq;
	struct hwq_qp *other; /* the QP that has a receive queue */
};

static int
channel_and_srq_up(struct channel_and_srq *r)
{
	const struct hwq_srq_conf srq_conf = {.n_wr = 8, .max_sge = 2};
	struct hwq_qp_conf conf = {.sq_wr = 4}, other = {.sq_wr = 4, .rq_wr = 4, .rq_sge = 2};
	int ret;

	ret = hwq_channel_create(dev, &r->channel);
	if (ret == 0)
		ret = hwq_cq_create_on(domain, 64, r->channel, &r->cq);
	if (ret == 0)
		ret = hwq_srq_create(dev, &srq_conf, &r->srq);
	conf.srq = r->srq;
	if (ret == 0)
		ret = hwq_qp_create(domain, r->cq, &conf, &r->qp);
	if (ret == 0)
		ret = hwq_cq_create(domain, 64, &r->other_cq);
	if (ret == 0)
		ret = hwq_qp_create(domain, r->other_cq, &other, &r->other);
	return ret;
}

/* Destroys what exists. A refused step is tried a second time. */
static int
channel_and_srq_down(struct channel_and_srq *r)
{
	int first = 0;

	FAILING_DESTROY(&first, r->other != NULL, hwq_qp_destroy(r->other));
	FAILING_DESTROY(&first, r->qp != NULL, hwq_qp_destroy(r->qp));
	if (r->srq != NULL)
		CHECK_EQ(r->srq->refs, 0, "QPs of the SRQ");
	if (r->cq != NULL)
		CHECK_EQ(r->cq->reserved, 0, "CQEs reserved");
	FAILING_DESTROY(&first, r->srq != NULL, hwq_srq_destroy(r->srq));
	FAILING_DESTROY(&first, r->other_cq != NULL, hwq_cq_destroy(r->other_cq));
	FAILING_DESTROY(&first, r->cq != NULL, hwq_cq_destroy(r->cq));
	if (r->channel != NULL)
		CHECK_EQ(hwq_count_get(&r->channel->refs), 0, "CQs of the channel");
	FAILING_DESTROY(&first, r->channel != NULL, hwq_channel_destroy(r->channel));
	return first;
}

static void
every_step_of_the_way_up(void)
{
	unsigned int step, n_steps, refs = hwq_count_get(&dev->refs);
	struct channel_and_srq r = {0};

	calls = fail_at = 0;
	CHECK_EQ(channel_and_srq_up(&r), 0, "without a refusal");
	n_steps = calls;
	CHECK_EQ(channel_and_srq_down(&r), 0, "down");
	CHECK(n_steps >= 15, "%u calls", n_steps);
	for (step = 1; step <= n_steps; step++) {
		r = (struct channel_and_srq){0};
		calls = 0;
		fail_at = step;
		CHECK_EQ(channel_and_srq_up(&r), failed_by, "the error of the call that failed");
		fail_at = 0;
		CHECK_EQ(channel_and_srq_down(&r), 0, "down");
		CHECK(live == 0, "%u objects left after call %u of %u failed", live, step, n_steps);
		CHECK_EQ(hwq_count_get(&dev->refs), refs, "users of the device");
	}
	printf("  %u calls and allocations\n", n_steps);
}

static void
every_step_of_the_way_down(void)
{
	unsigned int step, n_steps = 1;
	struct channel_and_srq r;
	int ret;

	for (step = 1; step <= n_steps; step++) {
		r = (struct channel_and_srq){0};
		calls = fail_at = 0;
		CHECK_EQ(channel_and_srq_up(&r), 0, "up");
		calls = 0;
		fail_at = step;
		ret = channel_and_srq_down(&r);
		if (step == 1)
			n_steps = calls - 1; /* one step was called twice */
		CHECK_EQ(ret, REFUSAL, "what destroy says");
		CHECK_EQ(live, 0, "objects left");
	}
	CHECK(n_steps >= 6, "%u calls", n_steps);
}

/* ------------------------------------------------------------------ a caller's own objects */

struct own {
	struct ibv_cq *cq, *wq_cq;
	struct ibv_srq *srq;
	struct ibv_qp *qp, *with_srq;
	struct ibv_wq *wq;
};

static void
own_create(struct own *o)
{
	struct ibv_srq_init_attr srq = {.attr = {.max_wr = 8, .max_sge = 1}};
	struct ibv_qp_init_attr qp = {.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};
	struct ibv_wq_init_attr wq = {.wq_type = IBV_WQT_RQ,
		.max_wr = 8,
		.max_sge = 1,
		.pd = dev->pd};

	o->cq = ibv_create_cq(dev->ctx, 255, NULL, NULL, 0);
	o->wq_cq = ibv_create_cq(dev->ctx, 255, NULL, NULL, 0);
	o->srq = ibv_create_srq(dev->pd, &srq);
	qp.send_cq = qp.recv_cq = o->cq;
	o->qp = ibv_create_qp(dev->pd, &qp);
	qp.srq = o->srq;
	qp.cap.max_recv_wr = qp.cap.max_recv_sge = 0;
	o->with_srq = ibv_create_qp(dev->pd, &qp);
	wq.cq = o->wq_cq;
	o->wq = ibv_create_wq(dev->ctx, &wq);
	if (o->cq == NULL || o->wq_cq == NULL || o->srq == NULL || o->qp == NULL ||
		o->with_srq == NULL || o->wq == NULL)
		EMU_DIE("verbs objects: %s", strerror(errno));
}

static void
own_destroy(struct own *o)
{
	if (ibv_destroy_wq(o->wq) != 0 || ibv_destroy_qp(o->with_srq) != 0 ||
		ibv_destroy_qp(o->qp) != 0 || ibv_destroy_srq(o->srq) != 0 ||
		ibv_destroy_cq(o->cq) != 0 || ibv_destroy_cq(o->wq_cq) != 0)
		EMU_DIE("destroying verbs objects");
}

struct all_taken {
	struct hwq_cq *cq, *wq_cq;
	struct hwq_srq *srq;
	struct hwq_qp *qp, *with_srq;
	struct hwq_obj_rwq *rwq;
};

static int
take_all(const struct own *o, struct all_taken *t)
{
	struct hwq_obj_qp qp = {.qp = o->qp, .max_sge = 1};
	int ret;

	ret = hwq_obj_cq(o->cq, &t->cq);
	if (ret == 0)
		ret = hwq_obj_cq(o->wq_cq, &t->wq_cq);
	if (ret == 0)
		ret = hwq_obj_srq(o->srq, NULL, &t->srq);
	qp.send_cq = qp.recv_cq = t->cq;
	if (ret == 0)
		ret = hwq_obj_qp(&qp, &t->qp);
	qp.qp = o->with_srq;
	qp.srq = t->srq;
	if (ret == 0)
		ret = hwq_obj_qp(&qp, &t->with_srq);
	if (ret == 0)
		ret = hwq_obj_rwq(o->wq, t->wq_cq, &t->rwq);
	return ret;
}

static void
release_all(struct all_taken *t)
{
	if (t->rwq != NULL)
		hwq_obj_rwq_release(t->rwq);
	if (t->with_srq != NULL)
		hwq_obj_qp_release(t->with_srq);
	if (t->qp != NULL)
		hwq_obj_qp_release(t->qp);
	if (t->srq != NULL)
		CHECK_EQ(hwq_obj_srq_release(t->srq), 0, "releasing an SRQ");
	if (t->wq_cq != NULL)
		CHECK_EQ(hwq_obj_cq_release(t->wq_cq), 0, "releasing a CQ");
	if (t->cq != NULL)
		CHECK_EQ(hwq_obj_cq_release(t->cq), 0, "releasing a CQ");
}

static void
every_step_of_taking_over(void)
{
	unsigned int step, n_steps;
	struct all_taken t = {0};
	struct own o;

	own_create(&o);
	calls = fail_at = 0;
	CHECK_EQ(take_all(&o, &t), 0, "without a refusal");
	n_steps = calls;
	release_all(&t);
	for (step = 1; step <= n_steps; step++) {
		t = (struct all_taken){0};
		calls = 0;
		fail_at = step;
		CHECK_EQ(take_all(&o, &t), failed_by, "the error of the call that failed");
		fail_at = 0;
		release_all(&t);
	}
	printf("  %u calls and allocations\n", n_steps);
	CHECK(n_steps >= 18, "%u calls", n_steps);
	own_destroy(&o);
}

static void
what_the_device_says(void)
{
	struct hwq_obj_qp qp = {.max_sge = 1};
	struct hwq_qp *none = NULL;
	struct hwq_cq *cq = NULL;
	struct own o;

	fail_at = 0;
	own_create(&o);
	say_compressed = true;
	CHECK_EQ(hwq_obj_cq(o.cq, &cq), -EOPNOTSUPP, "compressed CQEs");
	CHECK(cq == NULL, "out-pointer");
	say_compressed = false;
	CHECK_EQ(hwq_obj_cq(o.cq, &cq), 0, "a CQ");
	qp.qp = o.qp;
	qp.send_cq = qp.recv_cq = cq;
	say_signs = true;
	CHECK_EQ(hwq_obj_qp(&qp, &none), -EOPNOTSUPP, "signed WQEs");
	say_signs = false;
	say_inlines = true;
	CHECK_EQ(hwq_obj_qp(&qp, &none), -EOPNOTSUPP, "data in CQEs");
	say_inlines = false;
	setenv("MLX5_SRQ_SIGNATURE", "1", 1);
	setenv("MLX5_RWQ_SIGNATURE", "1", 1);
	CHECK_EQ(hwq_obj_srq(o.srq, NULL, &(struct hwq_srq *){NULL}), -EOPNOTSUPP,
		"signed entries");
	CHECK_EQ(hwq_obj_rwq(o.wq, cq, &(struct hwq_obj_rwq *){NULL}), -EOPNOTSUPP,
		"signed entries");
	unsetenv("MLX5_SRQ_SIGNATURE");
	unsetenv("MLX5_RWQ_SIGNATURE");
	CHECK(none == NULL, "out-pointer");
	CHECK_EQ(hwq_obj_cq_release(cq), 0, "releasing");
	own_destroy(&o);
}

/* ------------------------------------------------------------------ cancelling */

/*
 * A SEND is pending in a stopped queue. If a call of the cancellation fails, its error must be
 * returned, and the ring must not change.
 */
static void
every_step_of_cancelling(void)
{
	const struct hwq_qp_conf conf = {.sq_wr = 4};
	uint8_t before[HWQ_BB_LEN];
	struct hwq_wr wr;
	struct twin t;
	unsigned int step;

	fail_at = 0;
	twin_create(dev, &conf, &t);
	twin_connect_self(&t);
	CHECK_EQ(hwq_qp_stop(t.qp), 0, "stop");
	emu_pump();
	hwq_wr_start(&wr, &t.qp->sq);
	wr.wr_id = 3;
	hwq_wr_send(&wr);
	hwq_wr_set_sge(&wr, 1, 2, 3);
	CHECK_EQ(hwq_wr_complete(&wr), 0, "posting");
	memcpy(before, t.qp->sq.buf, sizeof(before));
	for (step = 1; step <= 2; step++) {
		calls = 0;
		fail_at = step;
		CHECK_EQ(hwq_qp_cancel_posted_send_wrs(t.qp, 3), step == 1 ? REFUSAL : -ENOMEM,
			"the error of the call that failed");
		check_bytes(t.qp->sq.buf, before, sizeof(before), "the ring");
	}
	calls = fail_at = 0;
	CHECK_EQ(hwq_qp_cancel_posted_send_wrs(t.qp, 3), 1, "how many");
	CHECK_EQ(calls, 2, "calls and allocations");
	twin_destroy(&t);
}

static void
no_number(struct mlx5dv_srq *view)
{
	view->comp_mask = 0;
}

static void
too_many_entries(struct mlx5dv_srq *view)
{
	view->tail = (1 << 17) - 1;
}

static void
no_power_of_two(struct mlx5dv_srq *view)
{
	view->tail--;
}

static void
no_room_for_a_link(struct mlx5dv_srq *view)
{
	view->stride = 15;
}

static void
room_for_a_link(struct mlx5dv_srq *view)
{
	view->stride = 16;
}

/*
 * An SRQ whose entries have another form must be refused. The link of an entry has 16 bytes, and
 * contains the next entry's index in 16 bits (infiniband/mlx5dv.h).
 */
static void
shapes_of_srqs(void)
{
	static const struct {
		const char *what;
		void (*change)(struct mlx5dv_srq *view);
		int ret;
	} shapes[] = {
		{"without a number", no_number, -EPROTO},
		{"of 2^17 entries", too_many_entries, -EPROTO},
		{"of 2^n - 1 entries", no_power_of_two, -EPROTO},
		{"of entries of 15 bytes", no_room_for_a_link, -EPROTO},
		{"of entries of 16 bytes", room_for_a_link, 0},
	};
	struct ibv_srq_init_attr attr = {.attr = {.max_wr = 15, .max_sge = 1}};
	struct ibv_srq *ibsrq = ibv_create_srq(dev->pd, &attr);
	unsigned int i;

	if (ibsrq == NULL)
		EMU_DIE("an SRQ");
	calls = fail_at = 0;
	for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct hwq_srq *srq = NULL;

		change_srq = shapes[i].change;
		CHECK_EQ(hwq_obj_srq(ibsrq, NULL, &srq), shapes[i].ret, shapes[i].what);
		if (srq != NULL) {
			CHECK_EQ(srq->max_sge, 0, "pieces of memory");
			CHECK_EQ(hwq_obj_srq_release(srq), 0, "release");
		}
	}
	change_srq = NULL;
	if (ibv_destroy_srq(ibsrq) != 0)
		EMU_DIE("destroying");
}

/*
 * Three parts of QPs are left over. Each is tried again, also after the device has refused another
 * one again.
 */
static void
parts_left_over(void)
{
	const unsigned int before = live;
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_UD,
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
	struct ibv_cq *cq = ibv_create_cq(dev->ctx, 4, NULL, NULL, 0);
	unsigned int i;

	CHECK(cq != NULL, "a CQ");
	init.send_cq = init.recv_cq = cq;
	for (i = 0; i < 3; i++) {
		struct ibv_qp *qp = ibv_create_qp(dev->pd, &init);

		CHECK(qp != NULL, "QP %u", i);
		live++;
		calls = 0;
		fail_at = 1;
		hwq_left_add(dev, qp);
	}
	CHECK_EQ(live, before + 3, "QPs that the device did not destroy");
	for (i = 1; i <= 3; i++) {
		calls = 0;
		fail_at = i == 1 ? 1 : 0;
		hwq_left_destroy(dev);
		CHECK_EQ(live, before + (i == 1), "QPs left");
	}
	CHECK_EQ(ibv_destroy_cq(cq), 0, "the CQ");
}

int
main(int argc, char **argv)
{
	(void)argc;
	emu_setting(argv, "SOFTHCA_THREADS", "0");
	dev = emu_open();
	if (hwq_domain_create(dev, &domain) != 0)
		EMU_DIE("a domain");
	hwq_log_set(emu_count_log);
	RUN("a failed create call leaves no object", every_step_of_the_way_up());
	RUN("a failed destroy call can be repeated", every_step_of_the_way_down());
	if (dev->port.link_layer == IBV_LINK_LAYER_ETHERNET)
		RUN("a failed take-over of a caller's object leaves no object",
			every_step_of_taking_over());
	RUN("objects that hwq does not support are refused, as the device reports them",
		what_the_device_says());
	RUN("an SRQ with a layout that hwq does not support is refused", shapes_of_srqs());
	RUN("a refused cancel does not change the ring", every_step_of_cancelling());
	RUN("every part that was left over is tried again", parts_left_over());
	hwq_log_set(NULL);
	if (hwq_domain_destroy(domain) != 0 || hwq_dev_close(dev) != 0)
		EMU_DIE("closing");
	return check_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
