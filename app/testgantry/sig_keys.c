/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Generates DEKs, adds them to the engine and retires them.
 */
#include "sig_keys.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include <rte_common.h>

#include "report.h"
#include "sig_both.h"

#define RETIRE_MS 10 /* milliseconds between two checks whether the phase still runs */

static int
add(struct sig_ends *e, struct sig_key *key)
{
	const struct gantry_dek_conf conf = {.key = key->bytes, .len = sizeof(key->bytes)};
	int rc;

	/* getrandom(2) never returns fewer bytes for such a short buffer. */
	if (getrandom(key->bytes, sizeof(key->bytes), 0) != sizeof(key->bytes)) {
		error_print("the kernel gives no random bytes for a key: %s", strerror(errno));
		return -1;
	}
	rc = gantry_dek_add(e->engine, &conf, &key->id);
	key->there = rc == 0;
	if (rc == 0)
		return 0;
	error_print("the device refused a data encryption key: %s; the log lines above say more",
		strerror(-rc));
	return -1;
}

/* Retires a DEK. Waits until end_ns at most. */
static int
retire(struct sig_ends *e, struct sig_key *key, uint64_t end_ns)
{
	int rc;

	/*
	 * Also checks the phase: if the phase has failed, no thread polls the queue, so the DEK
	 * stays in use.
	 */
	do
		rc = gantry_dek_retire(e->engine, key->id, RETIRE_MS);
	while (rc == -ETIMEDOUT && ends_go_on(e) && now_ns() < end_ns);
	if (rc == 0) {
		explicit_bzero(key, sizeof(*key));
		return 0;
	}
	if (rc != -ETIMEDOUT)
		error_print("the device did not destroy a data encryption key: %s", strerror(-rc));
	else if (ends_go_on(e))
		error_print("a queue still uses a data encryption key, which stays in the device");
	return -1;
}

int
keys_renew(struct sig_ends *e)
{
	struct sig_key *other = &e->key[!e->present_key];

	if (other->there && retire(e, other, now_ns() + SIG_GIVE_UP_S * NSEC_PER_S) != 0)
		return -1;
	return add(e, other);
}

const struct sig_key *
keys_take(struct sig_ends *e)
{
	e->present_key = !e->present_key;
	return &e->key[e->present_key];
}

int
keys_end(struct sig_ends *e)
{
	int rc = 0;

	for (size_t i = 0; i < RTE_DIM(e->key); i++) {
		/*
		 * A queue that could not be destroyed is not polled any more. So do not wait for
		 * its requests.
		 */
		if (e->key[i].there && retire(e, &e->key[i], 0) != 0)
			rc = -1;
		explicit_bzero(e->key[i].bytes, sizeof(e->key[i].bytes));
	}
	return rc;
}
