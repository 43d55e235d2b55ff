/* SPDX-License-Identifier: BSD-3-Clause */
/* Indexes of keys that are not used again: see hwq_index.h. */
#include "hwq_index.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "hwq_dev.h"

#define N_INDEXES (1u << 24)

/* The indexes of one function, a bit for each. It exists until the process ends. */
struct function {
	struct function *next;
	uint64_t sys_image_guid;
	uint16_t vhca_id;
	uint8_t retired[N_INDEXES / 8];
};

static struct function *functions;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The caller has the lock. */
static struct function *
find(const struct hwq_dev *dev)
{
	struct function *f = functions;

	while (f != NULL &&
		(f->sys_image_guid != dev->caps.sys_image_guid || f->vhca_id != dev->caps.vhca_id))
		f = f->next;
	return f;
}

int
hwq_index_prepare(const struct hwq_dev *dev)
{
	struct function *f;

	pthread_mutex_lock(&lock);
	f = find(dev);
	if (f == NULL) {
		f = calloc(1, sizeof(*f));
		if (f != NULL) {
			f->sys_image_guid = dev->caps.sys_image_guid;
			f->vhca_id = dev->caps.vhca_id;
			f->next = functions;
			functions = f;
		}
	}
	pthread_mutex_unlock(&lock);
	return f != NULL ? 0 : -ENOMEM;
}

void
hwq_index_retire(const struct hwq_dev *dev, uint32_t key)
{
	struct function *f;

	pthread_mutex_lock(&lock);
	f = find(dev);
	f->retired[key >> 11] |= (uint8_t)(1 << (key >> 8 & 7));
	pthread_mutex_unlock(&lock);
}

bool
hwq_index_is_retired(const struct hwq_dev *dev, uint32_t key)
{
	const struct function *f;
	bool retired;

	pthread_mutex_lock(&lock);
	f = find(dev);
	retired = f != NULL && (f->retired[key >> 11] >> (key >> 8 & 7) & 1) != 0;
	pthread_mutex_unlock(&lock);
	return retired;
}
