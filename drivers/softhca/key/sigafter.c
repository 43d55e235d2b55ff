/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffers and errors of three kinds of keys: with signatures of blocks, with signatures of
 * transactions, and with encryption.
 */
#include "sigafter.h"

bool
sig_alloc(struct key_use *use, struct sig_after *a)
{
	/* The buffer includes room for a last signature that the request has left out. */
	a->wire = key_use_alloc(use, a->wire_len + SIG_MAX_LEN);
	if (a->bytes == NULL)
		a->bytes = key_use_alloc(use, a->memory_len);
	return a->wire != NULL && a->bytes != NULL;
}

void
sig_append(struct sig_after **list, struct sig_after *a)
{
	while (*list != NULL)
		list = &(*list)->next;
	a->next = NULL;
	*list = a;
}

bool
sig_defer(struct key_use *use, struct sig_after *a, struct sg *sg)
{
	if (!sig_alloc(use, a))
		return false;
	a->at = sg->len;
	sig_append(&use->after, a);
	return sg_push(use, sg, a->wire, a->wire_len);
}

uint64_t
sig_arrived(const struct sig_after *a, uint64_t moved)
{
	uint64_t wire = moved > a->at ? moved - a->at : 0;

	return wire < a->wire_len ? wire : a->wire_len;
}

void
sig_tell(struct key_use *use, const struct sig_after *a, bool memory, const struct sig_error *error)
{
	const struct key *key = a->key;
	struct softhca_mkey *mkey = key->mkey;
	bool seen = !key->sig_expected;
	const struct key_sig_error what = {.error = *error,
		.key = mkey->index << 8 | key->variant,
		.peer = a->peer,
		.memory = memory};

	use->user->sig_error(use, &what,
		atomic_compare_exchange_strong(&mkey->sig_told, &seen, key->sig_expected));
}
