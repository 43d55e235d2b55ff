/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns, and waiting for their end. Each slot has an epoch, a counter that is odd while a turn runs
 * in the slot.
 */
#include "turns.h"

#include <sched.h>
#include <time.h>

#include "dev.h"
#include "devices.h"
#include "lanes.h"

/*
 * A signal handler reads this variable (key/gone.c). In other TLS models, a thread's first access
 * may allocate memory, which a signal handler must not do.
 */
static _Thread_local struct lane_slot *current __attribute__((tls_model("initial-exec")));
static _Thread_local unsigned int hint; /* index of the slot that this thread claimed last */

struct lane_slot *
turn_slot(void)
{
	return current;
}

bool
turn_is_running(void)
{
	return current != NULL && (atomic_load_explicit(&current->epoch, memory_order_relaxed) & 1);
}

void
turn_begin(struct lane_slot *slot)
{
	/*
	 * This is a full barrier. If softhca_quiesce() does not see a turn, that turn cannot find
	 * an object that was unpublished before softhca_quiesce().
	 */
	atomic_fetch_add_explicit(&slot->epoch, 1, memory_order_seq_cst);
	current = slot;
}

/*
 * Claims the slot for the calling thread by making its epoch odd. Returns false if a turn runs in
 * it.
 */
static bool
slot_claim(struct lane_slot *slot)
{
	unsigned int epoch = atomic_load_explicit(&slot->epoch, memory_order_relaxed);

	return !(epoch & 1) && atomic_compare_exchange_strong(&slot->epoch, &epoch, epoch + 1);
}

struct lane_slot *
turn_claim(struct softhca_lanes *lanes)
{
	const unsigned int n = LANE_SLOTS - SOFTHCA_MAX_THREADS;

	for (unsigned int tries = 1;; tries++) {
		struct lane_slot *slot = &lanes->slots[SOFTHCA_MAX_THREADS + hint % n];

		if (slot_claim(slot)) {
			current = slot;
			return slot;
		}
		hint++;
		if (tries % n == 0)
			sched_yield();
	}
}

void
turn_end(struct lane_slot *slot)
{
	atomic_fetch_add_explicit(&slot->epoch, 1, memory_order_release);
}

static void
slot_wait(struct lane_slot *slot)
{
	unsigned int epoch = atomic_load_explicit(&slot->epoch, memory_order_seq_cst);

	for (unsigned int n = 0; epoch & 1; n++) {
		if (n < 256)
			sched_yield();
		else
			nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
		if (atomic_load_explicit(&slot->epoch, memory_order_acquire) != epoch)
			return;
	}
}

/* Returns slot i, counted over all adapters, or NULL if the adapter has no lanes. */
static struct lane_slot *
slot_of(unsigned int i)
{
	unsigned int n;
	struct softhca_dev *devs = softhca_devices(&n);
	struct softhca_lanes *lanes = i / LANE_SLOTS < n ? dev_lanes(&devs[i / LANE_SLOTS]) : NULL;

	return lanes == NULL ? NULL : &lanes->slots[i % LANE_SLOTS];
}

void
softhca_quiesce(void)
{
	unsigned int n;

	softhca_devices(&n);
	for (unsigned int i = 0; i < n * LANE_SLOTS; i++) {
		struct lane_slot *slot = slot_of(i);

		if (slot != NULL)
			slot_wait(slot);
	}
}

void
turns_note(struct turns_seen *seen, const struct lane_slot *own)
{
	unsigned int n;

	softhca_devices(&n);
	seen->n = n * LANE_SLOTS;
	for (unsigned int i = 0; i < seen->n; i++) {
		struct lane_slot *slot = slot_of(i);
		unsigned int epoch = 0;

		if (slot != NULL && slot != own)
			epoch = atomic_load_explicit(&slot->epoch, memory_order_seq_cst);
		seen->epoch[i] = epoch & 1 ? epoch : 0;
	}
}

bool
turns_are_over(const struct turns_seen *seen)
{
	for (unsigned int i = 0; i < seen->n; i++) {
		struct lane_slot *slot = seen->epoch[i] != 0 ? slot_of(i) : NULL;

		if (slot != NULL &&
			atomic_load_explicit(&slot->epoch, memory_order_acquire) == seen->epoch[i])
			return false;
	}
	return true;
}
