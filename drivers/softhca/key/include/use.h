/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One WQE's use of keys. The lane that runs a WQE has a struct key_use and passes it to every call
 * of this folder. It has what the rules of keys need to know, and takes what they report. Only one
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
	/* the key is the responder's, and its CQ gets the error; else the requester's */
	bool peer;
	bool memory; /* found in the key's memory; false: on the wire */
};

struct key_use;
struct sg;

/* The functions that keys call in the lane that runs the WQE. They are called rarely. */
struct key_user {
	/* A signature was wrong. tell: the program has no unacknowledged error of this key. */
	void (*sig_error)(struct key_use *use, const struct key_sig_error *error, bool tell);
	/*
	 * Called before a wait for memory on demand, which may be long: releases locks that other
	 * threads need.
	 */
	void (*may_wait)(struct key_use *use);
	/*
	 * Moves the bytes at some time before the WQE completes. False: move them now. Never takes
	 * memory on demand, data that must be converted, or memory of key_use_alloc().
	 */
	bool (*move_later)(struct key_use *use, const struct sg *dst, const struct sg *src);
};

struct key_use {
	const struct key_user *user;
	struct spill *spill;       /* memory of the running WQE: key_use_alloc() */
	struct sig_after *after;   /* conversions that wait for their data, in order */
	struct sig_after *before;  /* data that wait for the cipher until they are moved */
	struct psv_passed *passed; /* the PSVs' values if the WQE succeeds: psv.h */
	enum wire_vendor vendor;   /* of the failure being reported */
	bool receiving;            /* the keys are those of a receive WQE */
	uint32_t peer_qpn;         /* the responder's QP, if a remote right is used */
};

/* Memory for as long as the WQE runs. NULL: none left. */
void *key_use_alloc(struct key_use *use, size_t len);
/*
 * Call at the end of the WQE: stores the new values of its PSVs, unless key_use_undo() has dropped
 * them, and frees the memory of key_use_alloc().
 */
void key_use_free(struct key_use *use);

/* Call when the WQE has failed or will be retried: its PSVs keep their old values. */
static inline void
key_use_undo(struct key_use *use)
{
	use->passed = NULL;
}

#endif
