/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys over a registration that other functions of the card may use. */
#ifndef GANTRY_GIVEN_H
#define GANTRY_GIVEN_H

#include <stdint.h>
#include <sys/queue.h>

#include <hwq_alias.h>

struct gantry_given;
SLIST_HEAD(gantry_given_list, gantry_given);

/*
 * Makes a key over the registration, allows its use by the access key, and adds it to the list.
 * Returns 0 or a negative errno. After an error, gantry_given_end() may have to end the key.
 */
int gantry_given_add(struct gantry_given_list *list, const struct hwq_mr *mr,
	enum hwq_export_kind kind, unsigned int access,
	const uint8_t access_key[HWQ_ACCESS_KEY_LEN], uint32_t *key);
/*
 * Ends all keys of the list. When it has returned 0, no byte moves by them. Returns 0, or the
 * device's error: call again.
 */
int gantry_given_end(struct gantry_given_list *list);

#endif
