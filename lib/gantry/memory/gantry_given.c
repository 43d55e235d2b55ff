/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys that other functions of the card may use, in the list of their registration. */
#include "gantry_given.h"

#include <errno.h>

#include "gantry_alloc.h"

struct gantry_given {
	struct hwq_export key;
	SLIST_ENTRY(gantry_given) next;
};

int
gantry_given_add(struct gantry_given_list *list, const struct hwq_mr *mr, enum hwq_export_kind kind,
	unsigned int access, const uint8_t access_key[HWQ_ACCESS_KEY_LEN], uint32_t *key)
{
	struct gantry_given *given = gantry_alloc_libc(sizeof(*given));
	int ret;

	if (given == NULL)
		return -ENOMEM;
	ret = hwq_export_init(mr, kind, access, &given->key);
	if (ret != 0) {
		gantry_free_libc(given);
		return ret;
	}
	SLIST_INSERT_HEAD(list, given, next);
	ret = hwq_export_allow(&given->key, access_key);
	if (ret == 0) {
		*key = given->key.key;
	} else if (hwq_export_fini(&given->key) == 0) {
		SLIST_REMOVE_HEAD(list, next);
		gantry_free_libc(given);
	}
	return ret;
}

int
gantry_given_end(struct gantry_given_list *list)
{
	while (!SLIST_EMPTY(list)) {
		struct gantry_given *given = SLIST_FIRST(list);
		int ret = hwq_export_fini(&given->key);

		if (ret != 0)
			return ret;
		SLIST_REMOVE_HEAD(list, next);
		gantry_free_libc(given);
	}
	return 0;
}
