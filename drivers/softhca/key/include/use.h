/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One WQE's use of keys. Whoever runs a WQE keeps a struct key_use and passes it to every call of
 * this room: it tells what the rules for keys need to know, and takes what they report. Only one
 * thread uses it.
 */
#ifndef SOFTHCA_KEY_USE_H
#define SOFTHCA_KEY_USE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sig.h"
#include "wire.h"

/* A signature that did not match. */
struct key_sig_error {
	struct sig_error error;
	uint32_t key; /* number and variant of the key that data went through */
	bool peer;    /* the key is the responder's: its CQ tells, else the requester's does */
	bool memory;  /* found in the key's memory; else on the wire */
};

struct key_use;
struct sg;

/* What keys ask of whoever runs the WQE. Called rarely. */
struct key_user {
	/* A signature was wrong. tell: the program has not been told of an error of this key. */
	void (*sig_error)(struct key_use *use, const struct key_sig_error *error, bool tell);
	/* Memory on demand may take long to come: locks that others wait for are let go. */
	void (*may_wait)(struct key_use *use);
	/*
	 * Moves the bytes at any time before the WQE completes. False: it does not, so move them
	 * now. It leaves alone memory on demand, data to be converted and memory of
	 * key_use_alloc().
	 */
	bool (*move_later)(struct key_use *use, const struct sg *dst, const struct sg *src);
};

struct key_use {
	const struct key_user *user;
	struct spill *spill;      /* memory of the WQE that runs: key_use_alloc() */
	struct sig_after *after;  /* conversions that wait for the data to arrive, in their order */
	struct sig_after *before; /* data that wait for the cipher until they are moved */
	struct psv_passed *passed; /* what the PSVs become if the WQE succeeds: psv.h */
	enum wire_vendor vendor;   /* of the failure being reported */
	bool receiving;            /* keys are those of a receive WQE */
	uint32_t peer_qpn;         /* the responder's QP, where a remote right is used */
};

/* Memory for as long as the WQE runs, or NULL. */
void *key_use_alloc(struct key_use *use, size_t len);
/* The WQE is over: its PSVs go on, and what key_use_alloc() gave is freed. */
void key_use_free(struct key_use *use);

/* The WQE has failed, or will be tried again: its PSVs stay as they were before it. */
static inline void
key_use_undo(struct key_use *use)
{
	use->passed = NULL;
}

#endif
