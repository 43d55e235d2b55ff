/* SPDX-License-Identifier: BSD-3-Clause */
/* Allocates numbers of protection domains. */
#include "pdn.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "bitmap.h"
#include "fork_lock.h"

#define MAX_PDN (1 << 16)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* no other lock is taken under it */
static uint8_t used[SOFTHCA_MAX_DEVICES][MAX_PDN / 8];
static uint32_t next[SOFTHCA_MAX_DEVICES];

/* Numbers are used in rising order, so that a released number is not reused soon. */
int
pdn_take(struct softhca_dev *dev)
{
	uint32_t i = dev->index, pdn = 0;

	fork_lock(&lock);
	for (uint32_t n = 0; n < MAX_PDN; n++) {
		uint32_t candidate = next[i]++ % MAX_PDN;

		if (candidate == 0 || bitmap_has(used[i], candidate))
			continue;
		bitmap_add(used[i], candidate);
		pdn = candidate;
		break;
	}
	fork_unlock(&lock);
	return pdn != 0 ? (int)pdn : -ENOSPC;
}

void
pdn_give(struct softhca_dev *dev, uint32_t pdn)
{
	fork_lock(&lock);
	bitmap_remove(used[dev->index], pdn);
	fork_unlock(&lock);
}

void
pdn_fork_prepare(void)
{
	fork_lock(&lock);
}

void
pdn_fork_parent(void)
{
	fork_unlock(&lock);
}

void
pdn_fork_child(void)
{
	memset(used, 0, sizeof(used));
	fork_unlock(&lock);
}
