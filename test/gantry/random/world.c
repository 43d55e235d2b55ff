/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory and layouts that descriptors name: they are created and removed during the run. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "gantry_engine.h"
#include "random.h"

/*
 * The arena of a queue: its regions, then memory that is in no region, then the offsets of device
 * memory.
 */
#define HOME_LEN      (UINT64_C(192) << 10)
#define GUEST_LEN     (UINT64_C(32) << 10)
#define READ_ONLY_LEN (UINT64_C(16) << 10)
#define HOST_LEN      (UINT64_C(256) << 10)
#define DEVICE_PLACE  (HOST_LEN + 8192)
#define RECV_ALL      ((2 * RTE_DIM(run.link) + MAX_SIDES) * RECV_SLOTS * RECV_LEN)

static const struct model_layout shapes[MODEL_LAYOUTS] = {
	{.n = 3, .rounds = 1, .len = 67, .block = {{0, 40, 0}, {100, 7, 0}, {60, 20, 0}}},
	{.n = 2, .rounds = 90, .len = 1080, .block = {{0, 8, 24}, {16, 4, 28}}},
	{.n = 1, .rounds = 33, .len = 33 * 64, .block = {{0, 64, 36}}},
};

/* ------------------------------------------------------------------ memory */

/*
 * Maps memory between two gaps, at the same address in every run. So an address that the test has
 * changed hits the same memory in every run. The sanitizers allow these addresses, and programs are
 * loaded at higher addresses.
 */
static void *
map(unsigned int i, uint64_t len)
{
	void *want = (void *)(UINT64_C(0x551000000000) + i * (UINT64_C(16) << 20));
	void *p = mmap(want, len, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	CHECK(p == want, "%p", p);
	return p;
}

/* Registers a region. It exists when the call has returned. */
static int
come(struct side *s, unsigned int i, unsigned int flags)
{
	struct model_region *r = &s->model.region[i];
	int ret = gantry_mem_register(run.g, (void *)(uintptr_t)r->addr, r->len, flags, &s->mem[i]);

	if (ret != 0)
		return ret;
	r->there = true;
	r->read_only = (flags & GANTRY_MEM_READ_ONLY) != 0;
	r->remote = (flags & GANTRY_MEM_REMOTE_WRITE) != 0;
	r->remote_key = gantry_mem_remote_key(s->mem[i]);
	r->remote_addr = gantry_mem_remote_addr(s->mem[i], (void *)(uintptr_t)r->addr);
	side_changed(s);
	return 0;
}

/*
 * Removes a region, if needed in several calls. After the first call, new descriptors do not find
 * the region. When `going` is false, no descriptor can use the region any more.
 */
static void
go(struct side *s, unsigned int i)
{
	int ret;

	s->model.region[i].there = false;
	side_changed(s);
	ret = gantry_mem_unregister(s->mem[i], 0);
	CHECK(ret == 0 || ret == -ETIMEDOUT || run.hazards.refuse, "gantry_mem_unregister: %d",
		ret);
	run.refused_calls += ret != 0 && ret != -ETIMEDOUT;
	s->going[i] = ret != 0;
	if (ret != 0)
		return;
	s->mem[i] = NULL;
	if (i == DEVICE)
		s->model.device = NULL;
}

static void
guest_come(struct side *s)
{
	int ret = come(s, GUEST, chance(4) == 0 ? GANTRY_MEM_READ_ONLY : 0);

	CHECK(ret == 0 || run.hazards.refuse, "gantry_mem_register: %d", ret);
	run.refused_calls += ret != 0;
}

/*
 * Allocates device memory, at any address. Nothing may be in flight, because a descriptor could
 * name that address by chance.
 */
static void
device_come(struct side *s)
{
	struct model_region *r = &s->model.region[DEVICE];
	void *at;
	int ret;

	/* The device may have no device memory. */
	if (run.g->info.max_dm_len == 0)
		return;
	ret = gantry_mem_alloc_dm(run.g, r->len, GANTRY_MEM_REMOTE_ATOMIC, &s->mem[DEVICE], &at);
	CHECK(ret == 0 || run.hazards.refuse, "gantry_mem_alloc_dm: %d", ret);
	run.refused_calls += ret != 0;
	if (ret != 0)
		return;
	model_new_device(&s->model, at);
	r->there = r->remote = true;
	r->remote_key = gantry_mem_remote_key(s->mem[DEVICE]);
	r->remote_addr = gantry_mem_remote_addr(s->mem[DEVICE], at);
	side_changed(s);
}

static void
arena_open(struct side *s)
{
	struct model *m = &s->model;

	m->host_len = HOST_LEN;
	m->len = DEVICE_PLACE + DEVICE_LEN;
	m->mem = map(s->n, HOST_LEN);
	m->byte = calloc(m->len, sizeof(*m->byte));
	m->layout = run.layout;
	env_fill(m->mem, HOST_LEN, s->rng);
	model_adopt(m);
	m->region[HOME].addr = (uintptr_t)m->mem;
	m->region[HOME].len = HOME_LEN;
	m->region[GUEST].addr = m->region[HOME].addr + HOME_LEN;
	m->region[GUEST].len = GUEST_LEN;
	m->region[READ_ONLY].addr = m->region[GUEST].addr + GUEST_LEN;
	m->region[READ_ONLY].len = READ_ONLY_LEN;
	m->region[DEVICE].addr = (uintptr_t)m->mem + DEVICE_PLACE;
	m->region[DEVICE].len = DEVICE_LEN;
	CHECK_EQ(come(s, HOME,
			 GANTRY_MEM_REMOTE_WRITE | GANTRY_MEM_REMOTE_READ |
				 GANTRY_MEM_REMOTE_ATOMIC),
		0);
	CHECK_EQ(come(s, GUEST, 0), 0);
	CHECK_EQ(come(s, READ_ONLY, GANTRY_MEM_READ_ONLY), 0);
	device_come(s);
}

static void
arena_close(struct side *s)
{
	unsigned int i;

	for (i = 0; i < MODEL_REGIONS; i++)
		if (s->mem[i] != NULL)
			CHECK_EQ(gantry_mem_unregister(s->mem[i], 0), 0);
	munmap(s->model.mem, HOST_LEN);
	free(s->model.byte);
}

/* ------------------------------------------------------------------ layouts */

static void
all_changed(void)
{
	unsigned int i;

	for (i = 0; i < run.n_sides; i++)
		side_changed(&run.side[i]);
}

static void
layout_come(unsigned int i)
{
	struct model_layout *l = &run.layout[i];
	const struct gantry_layout_conf conf = {shapes[i].block, shapes[i].n, shapes[i].rounds};

	*l = shapes[i];
	CHECK_EQ(gantry_layout_create(run.g, &conf, &l->id), 0);
	l->there = true;
	all_changed();
}

/* True if a descriptor in flight names a layout. */
static bool
layouts_in_flight(void)
{
	unsigned int i;
	uint64_t k;

	for (i = 0; i < run.n_sides; i++)
		for (k = run.side[i].settled; k < run.side[i].made; k++)
			if (run.side[i].record[k % HISTORY].desc.layout != 0)
				return true;
	return false;
}

/*
 * While a descriptor in flight names a layout, no layout is created. The new layout may get the id
 * of a destroyed layout that the descriptor names, and then the test would not know which layout
 * the descriptor uses.
 */
static void
layout_change(unsigned int i)
{
	struct model_layout *l = &run.layout[i];

	if (!l->there) {
		if (!layouts_in_flight())
			layout_come(i);
		return;
	}
	l->there = false;
	all_changed();
	CHECK_EQ(gantry_layout_destroy(run.g, l->id), 0);
}

/* ------------------------------------------------------------------ carriers */

/*
 * Sets new random rules about the carriers of copies. The rules name only carriers that the engine
 * has.
 */
static void
policy_change(struct side *s)
{
	struct gantry_policy p = {.n = chance(5)};
	uint32_t i;

	for (i = 0; i < p.n; i++) {
		p.rule[i].max_len = UINT64_C(1) << chance(18);
		p.rule[i].max_in_flight = 1u << chance(10);
		do
			p.rule[i].carrier = chance(GANTRY_CARRIER_MAX);
		while ((s->model.carriers & 1u << p.rule[i].carrier) == 0);
	}
	CHECK_EQ(gantry_policy_set(s->q, &p), 0);
}

/* ------------------------------------------------------------------ all */

void
world_open(void)
{
	unsigned int i;

	run.recv_range = (struct model_range){(uintptr_t)map(run.n_sides, RECV_ALL), RECV_ALL};
	CHECK_EQ(gantry_mem_register(run.g, (void *)run.recv_range.addr, RECV_ALL, 0,
			 &run.recv_mem),
		0);
	for (i = 0; i < run.n_sides; i++)
		arena_open(&run.side[i]);
	eal_open();
	for (i = 0; i < MODEL_LAYOUTS; i++)
		layout_come(i);
}

void
world_close(void)
{
	unsigned int i;

	eal_close();
	for (i = 0; i < run.n_sides; i++)
		arena_close(&run.side[i]);
	for (i = 0; i < MODEL_LAYOUTS; i++)
		CHECK_EQ(gantry_layout_destroy(run.g, run.layout[i].id), 0);
	CHECK_EQ(gantry_mem_unregister(run.recv_mem, 0), 0);
	munmap((void *)run.recv_range.addr, RECV_ALL);
}

void
world_change(void)
{
	struct side *s = &run.side[chance(run.n_sides)];

	switch (chance(13)) {
	case 10:
	case 11:
		eal_change(s);
		break;
	case 9:
		dc_change();
		break;
	case 12: /* world_mend() allocates or registers it again */
		if (s->mem[DEVICE] != NULL && !s->going[DEVICE])
			go(s, DEVICE);
		break;
	case 8:
		policy_change(s);
		break;
	case 0:
	case 1:
		if (s->mem[GUEST] == NULL)
			guest_come(s);
		else if (!s->going[GUEST])
			go(s, GUEST);
		break;
	case 2:
		layout_change(chance(MODEL_LAYOUTS));
		break;
	case 3:
		link_change(&run.link[chance(run.n_links)]);
		break;
	case 4:
		if (s->w == NULL)
			gantry_rest(s->q);
		break;
	case 5:
		if (s->w != NULL && !s->stopped) {
			CHECK_EQ(gantry_worker_stop(s->w), 0);
			s->stopped = true;
			if (chance(2))
				side_use_stopped(s, chance(2));
		}
		break;
	default:
		side_cancel(s);
		break;
	}
}

void
world_retry(void)
{
	unsigned int i, k;

	for (i = 0; i < run.n_sides; i++) {
		struct side *s = &run.side[i];

		for (k = 0; k < MODEL_REGIONS; k++)
			if (s->going[k])
				go(s, k);
		if (s->stopped && chance(4) == 0) {
			CHECK_EQ(gantry_worker_start(s->w), 0);
			s->stopped = false;
		}
	}
}

/* True if device memory is being freed, and posted receives delay this. */
static bool
device_goes(void)
{
	unsigned int i;

	for (i = 0; i < run.n_sides; i++)
		if (run.side[i].going[DEVICE])
			return true;
	return false;
}

/*
 * Returns whether a connection must be closed and opened again. After a receive whose completion is
 * lost, messages and receives do not match. With threads, an event or a late completion may still
 * be on its way to a connection that seems to work.
 */
static bool
needs_mending(const struct link *l)
{
	bool late = !run.pumped && (run.hazards.recv || run.hazards.peer != 0);

	return l->hurt || run.hazards.lost || late || device_goes();
}

void
world_mend(void)
{
	unsigned int i;

	eal_mend();
	dc_close(device_goes());
	dc_open();
	for (i = 0; i < MODEL_LAYOUTS; i++)
		if (!run.layout[i].there)
			layout_come(i);
	for (i = 0; i < run.n_links; i++) {
		struct link *l = &run.link[i];

		if (!needs_mending(l))
			continue;
		link_close(l);
		if (!l->end[0].open && !l->end[1].open)
			link_open(l);
	}
	for (i = 0; i < run.n_sides; i++) {
		if (run.side[i].going[DEVICE])
			go(&run.side[i], DEVICE);
		if (run.side[i].mem[DEVICE] == NULL)
			device_come(&run.side[i]);
	}
}
