/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks of ephemeral numbers of ports. */
#include "blocks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "log.h"
#include "port_name.h"
#include "raw.h"

struct block {
	struct block *next;
	uint16_t ps, first;
	int fd; /* has the name of the block */
	uint64_t used;
};

_Static_assert(PORT_BLOCK == 64, "a bit for each number");

static struct block *blocks;
static uint32_t turn; /* where the search in a block begins: numbers are not reused at once */

/*
 * The blocks that lie wholly within the range of ephemeral ports: ip(7),
 * /proc/sys/net/ipv4/ip_local_port_range. The kernel's rdma_cm uses this range, too.
 */
static void
range(uint32_t *first, uint32_t *end)
{
	FILE *f = raw_fopen("/proc/sys/net/ipv4/ip_local_port_range");
	unsigned int low = 0, high = 0;

	if (f == NULL || fscanf(f, "%u %u", &low, &high) != 2 || low > high || high > UINT16_MAX) {
		low = 32768;
		high = 60999;
	}
	if (f != NULL)
		fclose(f);
	*first = (low + PORT_BLOCK - 1) / PORT_BLOCK;
	*end = (high + 1) / PORT_BLOCK;
	if (*first == 0)
		*first = 1; /* port 0 means any port */
}

/* Logs once that no block is free. */
static void
say_none(uint32_t n)
{
	static bool said;

	if (!said)
		softhca_log("rdma_cm: no port is free: other processes have all %u blocks of %u "
			    "ports: choose a port for rdma_bind_addr(3), or extend the range in "
			    "/proc/sys/net/ipv4/ip_local_port_range (ip(7))",
			n, PORT_BLOCK);
	said = true;
}

static int
claim_block(uint16_t ps)
{
	struct block *block = malloc(sizeof(*block));
	uint32_t first, end, seed = 0, n;
	int err = -EADDRNOTAVAIL;

	if (block == NULL)
		return -ENOMEM;
	range(&first, &end);
	n = end > first ? end - first : 0;
	(void)!getrandom(&seed, sizeof(seed), GRND_NONBLOCK);
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t at = first + (seed % n + i) % n;

		err = port_name_claim(ps, NAME_BLOCK, at, &block->fd);
		if (err == 0) {
			block->ps = ps;
			block->first = (uint16_t)(at * PORT_BLOCK);
			block->used = 0;
			block->next = blocks;
			blocks = block;
			return 0;
		}
		if (err != -EADDRINUSE)
			break;
	}
	free(block);
	if (err != -EADDRINUSE && err != -EADDRNOTAVAIL)
		return err;
	say_none(n);
	return -EADDRNOTAVAIL;
}

static bool
take(struct block *block, bool (*fits)(uint16_t, uint16_t, void *), void *arg, uint16_t *number)
{
	turn++;
	for (uint32_t i = 0; i < PORT_BLOCK; i++) {
		const uint32_t bit = (turn + i) % PORT_BLOCK;
		const uint16_t at = (uint16_t)(block->first + bit);

		if ((block->used >> bit & 1) != 0 || !fits(block->ps, at, arg))
			continue;
		block->used |= UINT64_C(1) << bit;
		*number = at;
		return true;
	}
	return false;
}

int
blocks_take(uint16_t ps, bool (*fits)(uint16_t, uint16_t, void *), void *arg, uint16_t *number)
{
	int err = 0;

	for (struct block *b = blocks; b != NULL; b = b->next)
		if (b->ps == ps && take(b, fits, arg, number))
			return 0;
	while (err == 0) {
		err = claim_block(ps);
		if (err == 0 && take(blocks, fits, arg, number))
			return 0;
	}
	return err;
}

void
blocks_give(uint16_t ps, uint16_t number)
{
	for (struct block *b = blocks; b != NULL; b = b->next)
		if (b->ps == ps && number / PORT_BLOCK == b->first / PORT_BLOCK)
			b->used &= ~(UINT64_C(1) << number % PORT_BLOCK);
}

void
blocks_fork_child(void)
{
	for (struct block *b = blocks; b != NULL; b = b->next)
		raw_close(b->fd);
	blocks = NULL;
}
