/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * EAL memory that grows and shrinks: a few pages of each arena. Real EAL memory cannot be used,
 * because EAL itself writes to it. So the program acts as EAL: it calls the callback that the
 * engine has registered for changes of EAL's memory.
 */
#include <rte_memory.h>

#include "random.h"

#define PAGE UINT64_C(4096)

/* ------------------------------------------------------------------ the program plays EAL */

static rte_mem_event_callback_t callback;
static void *callback_arg;

int __real_rte_mem_event_callback_register(const char *name, rte_mem_event_callback_t clb,
	void *arg);
int __wrap_rte_mem_event_callback_register(const char *name, rte_mem_event_callback_t clb,
	void *arg);

int
__wrap_rte_mem_event_callback_register(const char *name, rte_mem_event_callback_t clb, void *arg)
{
	callback = clb;
	callback_arg = arg;
	return __real_rte_mem_event_callback_register(name, clb, arg);
}

static void
tell(const struct side *s, unsigned int page, bool comes)
{
	const void *addr = (const void *)(uintptr_t)(s->model.eal_addr + page * PAGE);

	replay_call_waits(true);
	callback(comes ? RTE_MEM_EVENT_ALLOC : RTE_MEM_EVENT_FREE, addr, PAGE, callback_arg);
	replay_call_waits(false);
	/*
	 * If the device refuses calls, it may also have refused to register EAL's memory. Then the
	 * engine gets no events of EAL.
	 */
	run.hazards.eal |= run.hazards.refuse;
}

/* ------------------------------------------------------------------ pages */

void
eal_open(void)
{
	unsigned int i;

	CHECK_EQ(gantry_mem_register_eal(run.g, 0, &run.eal), 0);
	for (i = 0; i < run.n_sides; i++) {
		struct model *m = &run.side[i].model;

		m->eal_addr = (uintptr_t)m->mem + EAL_AT;
		tell(&run.side[i], 0, true);
		m->eal_page[0] = true;
	}
}

void
eal_close(void)
{
	CHECK_EQ(gantry_mem_unregister(run.eal, 0), 0);
}

void
eal_change(struct side *s)
{
	unsigned int page = chance(MODEL_EAL_PAGES);

	s->model.eal_page[page] = !s->model.eal_page[page];
	tell(s, page, s->model.eal_page[page]);
	side_changed(s);
}

void
eal_mend(void)
{
	unsigned int i, page;

	if (!run.hazards.eal)
		return;
	for (i = 0; i < run.n_sides; i++) {
		struct side *s = &run.side[i];

		for (page = 0; page < MODEL_EAL_PAGES; page++)
			tell(s, page, false);
		for (page = 0; page < MODEL_EAL_PAGES; page++)
			if (s->model.eal_page[page])
				tell(s, page, true);
	}
}

/* ------------------------------------------------------------------ descriptors */

bool
eal_pick(struct side *s, uint64_t len, uint64_t *addr)
{
	uint64_t all = MODEL_EAL_PAGES * PAGE;

	if (len > all)
		return false;
	*addr = s->model.eal_addr + check_random(&s->rng) % (all - len + 1);
	return true;
}

/* True if the range contains a byte of EAL's pages. */
static bool
has_page(const struct side *s, struct model_range r)
{
	return r.addr < s->model.eal_addr + MODEL_EAL_PAGES * PAGE &&
	       s->model.eal_addr < r.addr + r.len;
}

bool
eal_is_unsure(const struct side *s, const struct record *r)
{
	return run.hazards.eal && (has_page(s, r->read) || has_page(s, r->wrote));
}
