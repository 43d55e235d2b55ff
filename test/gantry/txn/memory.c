/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory that transactions use. The target's memory is registered and removed while they run.
 */
#include <errno.h>

#include <rte_common.h>

#include "play.h"

#define SLOTS_OF_REGION (N_SLOTS / (N_REGIONS - 1))
#define REMOTE          (N_REGIONS - 1)
#define SLOTS_LEN       RTE_ALIGN(N_SLOTS *AREA_LEN, 4096)
#define MESSAGES_LEN    RTE_ALIGN(N_LINKS *RECV_DEPTH * sizeof(struct message), 4096)

/* ------------------------------------------------------------------ regions */

static bool
is_there(const struct region *r)
{
	return r->mem != NULL && !r->going;
}

/* For a transaction without a peer, the engine also looks up the remote bytes. */
static bool
uses(const struct slot *s, unsigned int i)
{
	if (i == REMOTE)
		return s->link == NULL && (s->is_copy || s->txn.n_parts != 0);
	return (unsigned int)(s - play.slot) / SLOTS_OF_REGION == i;
}

void
memory_note_absent(struct slot *s)
{
	unsigned int i;

	for (i = 0; i < N_REGIONS; i++)
		s->absent |= uses(s, i) && !is_there(&play.region[i]);
	if (s->absent)
		s->may |= 1u << GANTRY_NOT_REGISTERED;
}

static void
come(unsigned int i)
{
	uint8_t *from =
		i == REMOTE ? play.slot[0].remote.area : play.slot[i * SLOTS_OF_REGION].local.area;
	unsigned int n = i == REMOTE ? N_SLOTS : SLOTS_OF_REGION, k;

	CHECK_EQ(gantry_mem_register(play.g, from, n * AREA_LEN, ENV_REMOTE, &play.region[i].mem),
		0);
	for (k = 0; k < N_SLOTS; k++)
		play.slot[k].absent &= !uses(&play.slot[k], i);
}

/*
 * Removes a region, if needed in several calls. After the first call, look-ups do not find the
 * region. When `going` is false, no transaction can use the region any more.
 */
static void
go(unsigned int i, unsigned int timeout_ms)
{
	struct region *r = &play.region[i];
	int ret;

	ret = gantry_mem_unregister(r->mem, timeout_ms);
	CHECK(ret == 0 || (ret == -ETIMEDOUT && timeout_ms == 0), "gantry_mem_unregister: %d", ret);
	r->going = ret != 0;
	if (ret == 0)
		r->mem = NULL;
}

static void
begin_to_go(unsigned int i)
{
	unsigned int k;

	for (k = 0; k < N_SLOTS; k++)
		if (play.slot[k].busy && uses(&play.slot[k], i))
			play.slot[k].may |= 1u << GANTRY_NOT_REGISTERED;
	go(i, 0);
	/* Open transactions have delayed the removal. */
	play.kept += play.region[i].going;
}

void
memory_change(void)
{
	unsigned int i;

	for (i = 0; i < N_REGIONS; i++)
		if (play.region[i].going)
			go(i, 0);
	i = chance(N_REGIONS);
	if (play.region[i].mem == NULL && chance(3) == 0)
		come(i);
	else if (is_there(&play.region[i]) && chance(12) == 0)
		begin_to_go(i);
}

void
memory_mend(void)
{
	unsigned int i;

	for (i = 0; i < N_REGIONS; i++) {
		if (play.region[i].going)
			go(i, CHECK_PATIENCE_MS);
		if (play.region[i].mem == NULL)
			come(i);
	}
}

/* ------------------------------------------------------------------ all of it */

void
memory_open(void)
{
	uint8_t *local = env_map(SLOTS_LEN);
	uint8_t *remote = env_mem(play.home, SLOTS_LEN, ENV_REMOTE, &play.remote);
	unsigned int i;

	play.messages = (struct message *)env_mem(play.home, MESSAGES_LEN, 0, &play.inbox);
	for (i = 0; i < N_SLOTS; i++) {
		play.slot[i].busy = false;
		play.slot[i].local.area = local + i * AREA_LEN;
		play.slot[i].remote.area = remote + i * AREA_LEN;
	}
	for (i = 0; i < N_REGIONS; i++)
		come(i);
}

void
memory_close(void)
{
	unsigned int i;

	for (i = 0; i < N_REGIONS; i++)
		if (play.region[i].mem != NULL)
			go(i, CHECK_PATIENCE_MS);
	CHECK_EQ(gantry_mem_unregister(play.remote, CHECK_PATIENCE_MS), 0);
	CHECK_EQ(gantry_mem_unregister(play.inbox, CHECK_PATIENCE_MS), 0);
	env_unmap(play.slot[0].local.area, SLOTS_LEN);
	env_unmap(play.slot[0].remote.area, SLOTS_LEN);
	env_unmap(play.messages, MESSAGES_LEN);
}
