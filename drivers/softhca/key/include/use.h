/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The use of keys by one WQE. The lane that runs the WQE has a struct key_use and passes it to each
 * call of this folder. The struct has the values that the rules of keys need, and gets the results
 * of the rules. Only one thread uses it.
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
	uint32_t key; /* number and variant of the key through which the data passed */
	/*
	 * True: the key is the responder's, and the responder's CQ gets the error. False: the same
	 * for the requester.
	 */
	bool peer;
	bool memory; /* true: the signature was in the memory domain; false: in the wire domain */
};

struct key_use;
struct sg;

/* The functions that keys call in the lane that runs the WQE. Such calls are rare. */
struct key_user {
	/*
	 * Called when a signature was wrong. tell: true if the program has acknowledged all earlier
	 * errors of this key.
	 */
	void (*sig_error)(struct key_use *use, const struct key_sig_error *error, bool tell);
	/*
	 * Called before a wait for memory on demand, which may be long. Releases the locks that
	 * other threads need.
	 */
	void (*may_wait)(struct key_use *use);
	/*
	 * Lets the bytes move later, at some time before the WQE completes. Returns false if the
	 * caller must move them now. The function always returns false for memory on demand, for
	 * data that must be converted, and for memory of key_use_alloc().
	 */
	bool (*move_later)(struct key_use *use, const struct sg *dst, const struct sg *src);
};

struct key_use {
	const struct key_user *user;
	struct spill *spill;       /* memory of the running WQE: key_use_alloc() */
	struct sig_after *after;   /* conversions that wait for their data, in order */
	struct sig_after *before;  /* data that wait for the cipher until they move */
	struct psv_passed *passed; /* values of PSVs, stored if the WQE succeeds: psv.h */
	enum wire_vendor vendor;   /* reason of the failure that is being reported */
	bool receiving;            /* the keys belong to a receive WQE */
	/* a key with a signature or encryption converts data of the running WQE */
	bool converts;
	uint32_t peer_qpn; /* QPN of the responder, if a remote right is used */
};

/* Allocates memory that is freed at the end of the WQE. Returns NULL if memory is short. */
void *key_use_alloc(struct key_use *use, size_t len);
/*
 * Call this at the end of the WQE: stores the new values of the WQE's PSVs, unless key_use_undo()
 * has dropped the values, and frees the memory of key_use_alloc().
 */
void key_use_free(struct key_use *use);

/* Call this when the WQE has failed or will be retried: the WQE's PSVs keep their old values. */
static inline void
key_use_undo(struct key_use *use)
{
	use->passed = NULL;
}

#endif
