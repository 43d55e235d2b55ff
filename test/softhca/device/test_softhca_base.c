/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The basic parts of the adapter, each tested without an adapter: object numbers, waiting for
 * turns, freeing of replaced keys, sets of pages, text. A turn is the time in which a thread may
 * use the objects that it has looked up (turns.h).
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "dev.h"
#include "devices.h"
#include "key.h"
#include "lanes.h"
#include "log.h"
#include "logged_by.h"
#include "number.h"
#include "pages.h"
#include "retire.h"
#include "sg.h"
#include "softhca.h"
#include "table.h"
#include "turns.h"
#include "violation.h"

#define PAGE_LEN 4096
#define LAST     0xfffffeu /* the highest number; 0xffffff means multicast */

static struct softhca_dev devs[2];
static int object;

/* ---- tables */

static struct table *
table_create(uint32_t base)
{
	struct table *t = calloc(1, sizeof(*t));

	CHECK(t != NULL);
	table_init(t);
	t->base = base;
	return t;
}

static void
table_destroy(struct table *t)
{
	table_fini(t);
	free(t);
}

static uint32_t
put(struct table *t)
{
	uint32_t number = 0;

	CHECK_EQ(table_put(t, &object, &number), 0);
	CHECK(table_get(t, number) == &object);
	return number;
}

/* A freed number must be used again only after 65536 other numbers. */
static void
case_numbers_come_back_late(void)
{
	struct table *t = table_create(0x1234);

	for (uint32_t lap = 0; lap < 2; lap++) {
		for (uint32_t i = 0; i < 65536; i++) {
			uint32_t number = put(t);

			CHECK_EQ(number, 0x1234 + i);
			table_remove(t, number);
			CHECK(table_get(t, number) == NULL);
		}
	}
	table_destroy(t);
}

/* Numbers in use must be skipped, and numbers must wrap from the highest to the lowest. */
static void
case_numbers_wrap(void)
{
	struct table *t = table_create(LAST - 1);
	uint32_t n[4];

	for (unsigned int i = 0; i < 4; i++)
		n[i] = put(t);
	CHECK_EQ(n[0], LAST - 1);
	CHECK_EQ(n[1], LAST);
	CHECK_EQ(n[2], TABLE_FIRST);
	CHECK_EQ(n[3], TABLE_FIRST + 1);
	table_remove(t, LAST);
	/* After one lap, the free number is allocated, and no number in use is. */
	for (uint32_t i = 4; i < 65536; i++)
		table_remove(t, put(t));
	CHECK_EQ(put(t), LAST);
	CHECK_EQ(put(t), TABLE_FIRST + 2);
	table_destroy(t);
}

static void
case_numbers_start_anywhere(void)
{
	uint32_t first = 0, differ = 0;

	for (unsigned int i = 0; i < 20; i++) {
		struct table *t = calloc(1, sizeof(*t));
		uint32_t number;

		CHECK(t != NULL);
		table_init(t);
		number = put(t);
		CHECK(number >= TABLE_FIRST && number <= LAST);
		if (i == 0)
			first = number;
		differ += number != first;
		table_destroy(t);
	}
	CHECK(differ != 0);
}

/*
 * If more than half of 65536 numbers are in use, twice as many numbers must be allocated before a
 * freed number is used again.
 */
static void
case_window_grows(void)
{
	const uint32_t held = 40000, n = 90000;
	uint8_t *seen = calloc(1, held + n);
	struct table *t = table_create(TABLE_FIRST);

	CHECK(seen != NULL);
	for (uint32_t i = 0; i < held; i++)
		CHECK_EQ(put(t), TABLE_FIRST + i);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t number = put(t);

		CHECK(number - TABLE_FIRST < held + n && !seen[number - TABLE_FIRST]);
		seen[number - TABLE_FIRST] = 1;
		table_remove(t, number);
	}
	table_destroy(t);
	free(seen);
}

/*
 * The window is the range of numbers from which numbers are allocated. It does not grow if half of
 * its numbers are in use. If all its numbers are in use, the allocation fails.
 */
static void
case_window_stays(void)
{
	struct table *t = table_create(TABLE_FIRST);
	uint32_t number;

	for (uint32_t i = 0; i < 32768; i++)
		put(t);
	for (uint32_t i = 0; i < 32768; i++)
		table_remove(t, put(t));
	CHECK_EQ(put(t), TABLE_FIRST + 32768);
	table_destroy(t);
	t = table_create(TABLE_FIRST);
	t->window = 4;
	for (uint32_t i = 0; i < 4; i++) {
		put(t);
		t->used = 0; /* so that the window does not grow */
	}
	CHECK_EQ(table_put(t, &object, &number), -ENOMEM);
	table_destroy(t);
}

static void
case_ranges(void)
{
	struct table *t = table_create(0x1001);
	uint32_t first, one = put(t);

	CHECK_EQ(one, 0x1001);
	/* One of the 16 numbers from 0x1000 on is in use, so the range must begin at 0x1010. */
	CHECK_EQ(table_put_range(t, &object, 16, &first), 0);
	CHECK_EQ(first, 0x1010);
	for (uint32_t i = 0; i < 16; i++)
		CHECK(table_get(t, first + i) == &object);
	CHECK(table_get(t, first - 1) == NULL);
	CHECK(table_get(t, first + 16) == NULL);
	CHECK_EQ(table_put_range(t, &object, 16, &first), 0);
	CHECK_EQ(first, 0x1020);
	CHECK_EQ(t->used, 33);
	for (uint32_t i = 0; i < 16; i++)
		table_remove(t, first + i);
	CHECK_EQ(t->used, 17);
	table_destroy(t);
	/*
	 * A range does not continue at the lowest number after the highest number, and contains
	 * none of the reserved lowest numbers.
	 */
	t = table_create(LAST - 2);
	CHECK_EQ(table_put_range(t, &object, 64, &first), 0);
	CHECK_EQ(first, TABLE_FIRST);
	table_destroy(t);
	t = table_create(LAST);
	CHECK_EQ(table_put_range(t, &object, 1, &first), 0);
	CHECK_EQ(first, LAST);
	table_destroy(t);
}

/* ---- tables of blocks */

/* after a number is freed, this many other numbers are given before it is given again */
#define REST 4096u

/*
 * The blocks that the claim function returns, in this order. After max_claims blocks it returns an
 * error.
 */
static const uint32_t claims[] = {0x345, 1, 4094, 0x346, 2, 3, 4, 5};
static unsigned int n_claimed, max_claims;

static int
claim(void *arg, uint32_t *block)
{
	CHECK(arg == &object);
	if (n_claimed == max_claims)
		return -EMFILE;
	*block = claims[n_claimed++];
	return 0;
}

static struct table *
blocks_create(unsigned int max)
{
	struct table *t = calloc(1, sizeof(*t));

	CHECK(t != NULL);
	n_claimed = 0;
	max_claims = max;
	table_init_blocks(t, claim, &object);
	return t;
}

/* True if the number is in a block that was claimed. */
static bool
is_claimed(uint32_t number)
{
	for (unsigned int i = 0; i < n_claimed; i++)
		if (number >> 12 == claims[i])
			return true;
	return false;
}

/*
 * The first block must be claimed when the first number is needed, and each further block when all
 * numbers are in use.
 */
static void
case_blocks_fill(void)
{
	struct table *t = blocks_create(3);
	uint8_t *seen = calloc(1, 1 << 24);
	uint32_t number = 99;

	CHECK(seen != NULL);
	CHECK_EQ(n_claimed, 0);
	CHECK(table_get(t, 0x345000) == NULL);
	CHECK(!table_has_given(t, 0x345000));
	for (uint32_t i = 0; i < 3 * 4096; i++) {
		number = put(t);
		CHECK_EQ(n_claimed, i / 4096 + 1);
		CHECK(is_claimed(number) && seen[number] == 0);
		seen[number] = 1;
	}
	CHECK_EQ(t->used, 3 * 4096);
	number = 99;
	CHECK_EQ(table_put(t, &object, &number), -EMFILE);
	CHECK_EQ(table_put_range(t, &object, 64, &number), -EMFILE);
	CHECK_EQ(number, 99);
	CHECK_EQ(t->used, 3 * 4096);
	/* After the error, a later claim can succeed. */
	max_claims = 4;
	CHECK_EQ(put(t) >> 12, claims[3]);
	table_destroy(t);
	free(seen);
}

static void
case_blocks_start_anywhere(void)
{
	uint32_t first = 0, differ = 0;

	for (unsigned int i = 0; i < 20; i++) {
		struct table *t = blocks_create(1);
		uint32_t number = put(t);

		if (i == 0)
			first = number;
		differ += number != first;
		CHECK_EQ(put(t), (number & ~0xfffu) | ((number + 1) & 0xfff));
		table_destroy(t);
	}
	CHECK(differ != 0);
}

/*
 * Objects are put into the table and removed at random, with one number or a range of numbers.
 * Before a freed number is given again, at least 4096 other numbers must be given.
 */
static void
case_blocks_rest(void)
{
	static uint32_t held[6000], size[6000], when[1 << 24]; /* when: 1 + the count at removal */
	uint32_t n = 0, count = 0, seed = 12345, again = 0, most = 0;
	struct table *t = blocks_create(8);

	memset(when, 0, sizeof(when));
	for (uint32_t step = 0; step < 200000; step++) {
		/* The number of objects rises and falls. */
		const bool grow = (step / 10000) % 2 == 0;
		uint32_t r = seed = seed * 1664525 + 1013904223, first;

		r >>= 8;
		if (n == 0 || (n < 5000 && r % 8 < (grow ? 5u : 3u))) {
			const uint32_t len = r % 509 == 0 ? 64 : 1;

			if (len == 1)
				first = put(t);
			else
				CHECK_EQ(table_put_range(t, &object, len, &first), 0);
			CHECK_EQ(first % len, 0);
			for (uint32_t i = first; i < first + len; i++) {
				CHECK(is_claimed(i));
				CHECK(table_get(t, i) == &object && table_has_given(t, i));
				CHECK(when[i] == 0 || count + 1 - when[i] >= REST, "%x after %u", i,
					count + 1 - when[i]);
				again += when[i] != 0;
			}
			count += len;
			held[n] = first;
			size[n++] = len;
			most = n > most ? n : most;
		} else {
			const uint32_t which = r / 8 % n;

			for (uint32_t i = held[which]; i < held[which] + size[which]; i++) {
				table_remove(t, i);
				when[i] = count + 1;
				CHECK(table_get(t, i) == NULL && table_has_given(t, i));
			}
			n--;
			held[which] = held[n];
			size[which] = size[n];
		}
	}
	CHECK(again > 50000 && most > 1000, "%u numbers were given again, %u at once", again, most);
	table_destroy(t);
}

/*
 * An object keeps its number for a long time, and is then removed. The table must not give this
 * number again at once, even if it would be the next number of the search.
 */
static void
case_blocks_rest_after_long_use(void)
{
	struct table *t = blocks_create(2);
	uint32_t old = put(t);

	for (uint32_t i = 0; i < 2 * 4096 - 2; i++)
		table_remove(t, put(t));
	/* The old number is the next in order. */
	table_remove(t, old);
	for (uint32_t i = 0; i < REST; i++) {
		uint32_t number = put(t);

		CHECK(number != old);
		table_remove(t, number);
	}
	CHECK_EQ(n_claimed, 2); /* two blocks are enough for ever */
	table_destroy(t);
}

/*
 * If each free number was freed too recently, and no block is left, the error of the claim function
 * must be returned.
 */
static void
case_blocks_without_more(void)
{
	struct table *t = blocks_create(1);
	uint32_t number, first;

	for (uint32_t i = 0; i < 4096; i++)
		table_remove(t, put(t));
	CHECK_EQ(table_put(t, &object, &number), -EMFILE);
	CHECK_EQ(t->used, 0);
	table_destroy(t);
	/* A range needs 64 free numbers in a row. */
	t = blocks_create(2);
	CHECK_EQ(table_put_range(t, &object, 64, &first), 0);
	for (uint32_t i = 64; i < 4096; i++)
		put(t);
	for (uint32_t i = 0; i < 63; i++)
		table_remove(t, first + i);
	for (uint32_t i = 0; i < 4096; i++)
		table_remove(t, put(t));
	CHECK_EQ(n_claimed, 2);
	CHECK_EQ(table_put_range(t, &object, 64, &number), -EMFILE);
	table_destroy(t);
}

static void
case_replace(void)
{
	struct table *t = table_create(0x2000);
	int other, third;
	uint32_t number = put(t);

	CHECK(!table_replace(t, number, &other, &third));
	CHECK(table_get(t, number) == &object);
	CHECK(table_replace(t, number, &object, &other));
	CHECK(table_get(t, number) == &other);
	table_set(t, number, &third);
	CHECK(table_get(t, number) == &third);
	/* Only the low 24 bits of a number count. */
	CHECK(table_get(t, number | 0x5000000) == &third);
	CHECK(!table_leaf_is_absent(t, number));
	CHECK(table_leaf_is_absent(t, 0x100000));
	CHECK(table_get(t, 0x100000) == NULL);
	table_destroy(t);
}

/* ---- turns */

static struct softhca_lanes *
lanes_create(unsigned int i)
{
	struct softhca_lanes *lanes = aligned_alloc(CACHE_LINE, sizeof(*lanes));

	CHECK(lanes != NULL);
	memset(lanes, 0, sizeof(*lanes));
	lanes->dev = &devs[i];
	devs[i].lanes = lanes;
	return lanes;
}

static void
lanes_destroy(unsigned int i)
{
	free(devs[i].lanes);
	devs[i].lanes = NULL;
}

static atomic_bool in_turn, leave, left, waited;

static void *
turn_main(void *arg)
{
	struct lane_slot *slot = turn_claim(arg);

	atomic_store(&in_turn, true);
	while (!atomic_load(&leave))
		sched_yield();
	atomic_store(&left, true);
	turn_end(slot);
	return NULL;
}

static void *
quiesce_main(void *arg)
{
	softhca_quiesce();
	CHECK(atomic_load(&left));
	atomic_store(&waited, true);
	return NULL;
}

/* quiesce() must wait for the turns of all adapters. */
static void
case_quiesce_waits(void)
{
	lanes_create(0);
	lanes_create(1);
	softhca_quiesce();
	for (unsigned int i = 0; i < 2; i++) {
		pthread_t turn, quiesce;

		in_turn = leave = left = waited = false;
		CHECK_EQ(pthread_create(&turn, NULL, turn_main, devs[i].lanes), 0);
		while (!atomic_load(&in_turn))
			sched_yield();
		CHECK_EQ(pthread_create(&quiesce, NULL, quiesce_main, NULL), 0);
		/* A wrong quiesce() would return in this time, before the turn has ended. */
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
		CHECK(!atomic_load(&waited));
		atomic_store(&leave, true);
		CHECK_EQ(pthread_join(turn, NULL), 0);
		CHECK_EQ(pthread_join(quiesce, NULL), 0);
		CHECK(atomic_load(&waited));
	}
	lanes_destroy(0);
	lanes_destroy(1);
}

/*
 * If there are as many threads as slots (not counting the slots of device threads), each thread
 * must get a slot.
 */
static void
case_claims(void)
{
	struct softhca_lanes *lanes = lanes_create(0);
	struct lane_slot *slots[LANE_SLOTS - SOFTHCA_MAX_THREADS];
	const unsigned int n = LANE_SLOTS - SOFTHCA_MAX_THREADS;

	for (unsigned int i = 0; i < n; i++) {
		slots[i] = turn_claim(lanes);
		CHECK(turn_slot() == slots[i]);
		CHECK_EQ(slots[i]->epoch, 1);
		CHECK(slots[i] >= &lanes->slots[SOFTHCA_MAX_THREADS] &&
			slots[i] < &lanes->slots[LANE_SLOTS]);
	}
	for (unsigned int i = 0; i < n; i++) {
		turn_end(slots[i]);
		CHECK_EQ(slots[i]->epoch, 2);
	}
	turn_begin(&lanes->slots[3]);
	CHECK(turn_slot() == &lanes->slots[3]);
	CHECK_EQ(lanes->slots[3].epoch, 1);
	turn_end(&lanes->slots[3]);
	CHECK_EQ(lanes->slots[3].epoch, 2);
	lanes_destroy(0);
}

/* ---- replaced keys */

#define N_KEYS 1000

static struct key *keys[N_KEYS];
static unsigned int n_keys, n_freed;

void __wrap_free(void *p);
void __real_free(void *p);

void
__wrap_free(void *p)
{
	for (unsigned int i = 0; p != NULL && i < n_keys; i++) {
		if (keys[i] == p) {
			keys[i] = NULL;
			n_freed++;
		}
	}
	__real_free(p);
}

static void
replace_keys(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		CHECK(n_keys < N_KEYS);
		keys[n_keys] = calloc(1, sizeof(struct key));
		CHECK(keys[n_keys] != NULL);
		retire_key(keys[n_keys++]);
	}
}

/* Starts a turn of another lane, or ends it. */
static void
toggle(struct lane_slot *slot)
{
	atomic_fetch_add(&slot->epoch, 1);
}

static void
keys_begin(void)
{
	n_keys = n_freed = 0;
	lanes_create(0);
	lanes_create(1);
	turn_begin(&devs[0].lanes->slots[0]);
	CHECK(retire_reserve());
}

static void
keys_end(void)
{
	turn_end(&devs[0].lanes->slots[0]);
	retire_fini(&devs[0].lanes->slots[0]);
	CHECK_EQ(n_freed, n_keys);
	retire_fini(&devs[0].lanes->slots[0]); /* the slot has no keys left to free */
	lanes_destroy(0);
	lanes_destroy(1);
}

/*
 * Keys are freed in batches of 64. A batch must be freed when the next batch is complete, even if
 * the lane that retired the keys is in a long turn.
 */
static void
case_keys_are_freed(void)
{
	keys_begin();
	replace_keys(64);
	CHECK_EQ(n_freed, 0);
	replace_keys(63);
	CHECK_EQ(n_freed, 0);
	replace_keys(1);
	CHECK_EQ(n_freed, 64);
	for (unsigned int i = 0; i < 64; i++)
		CHECK(keys[i] == NULL && keys[64 + i] != NULL);
	CHECK(retire_reserve());
	replace_keys(64);
	CHECK_EQ(n_freed, 128);
	keys_end();
}

/*
 * A turn that was in progress when a batch became complete may use the keys of this batch. So these
 * keys must not be freed before the turn ends.
 */
static void
case_keys_wait_for_turns(void)
{
	for (unsigned int i = 0; i < 2; i++) {
		for (unsigned int s = 1; s < LANE_SLOTS; s += LANE_SLOTS - 2) {
			struct lane_slot *other;

			keys_begin();
			other = &devs[i].lanes->slots[s];
			toggle(other);
			replace_keys(264);
			CHECK_EQ(n_freed, 0);
			toggle(other);
			replace_keys(1);
			CHECK_EQ(n_freed, 64);
			for (unsigned int k = 0; k < 64; k++)
				CHECK(keys[k] == NULL && keys[64 + k] != NULL);
			keys_end();
		}
	}
}

/*
 * A turn that starts after the batch is complete cannot use its keys. The same is true for a turn
 * that ended and started again.
 */
static void
case_keys_do_not_wait_for_later_turns(void)
{
	struct lane_slot *other;

	keys_begin();
	other = &devs[1].lanes->slots[5];
	toggle(other);
	replace_keys(64);
	toggle(other);
	toggle(other);
	replace_keys(64);
	CHECK_EQ(n_freed, 64);
	/* The second turn was in progress when the second batch became complete. */
	replace_keys(100);
	CHECK_EQ(n_freed, 64);
	toggle(other);
	replace_keys(1);
	CHECK_EQ(n_freed, 128);
	keys_end();
}

/* ---- sets of pages */

static void
case_page_sets(void)
{
	struct page_set *_Atomic set = NULL;
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	char pages[130];

	for (unsigned int i = 0; i < 130; i++) {
		CHECK_EQ(page_set_replace(&set, &lock, &pages[i], NULL), 0);
		CHECK_EQ(set->n, i + 1);
		CHECK(set->v[i] == &pages[i] && page_is_marked(set, i));
		if (i % 3 == 0)
			page_mark(set, i, false);
	}
	CHECK_EQ(page_set_replace(&set, &lock, NULL, &pages[63]), 0);
	CHECK_EQ(set->n, 129);
	for (unsigned int i = 0; i < 129; i++) {
		unsigned int page = i < 63 ? i : i + 1;

		CHECK(set->v[i] == &pages[page]);
		CHECK_EQ(page_is_marked(set, i), page % 3 != 0);
	}
	page_mark(set, 0, true);
	CHECK(page_is_marked(set, 0));
	CHECK(!page_is_marked(set, 3));
	free(set);
}

/* ---- numbers in text */

static void
case_numbers(void)
{
	static const struct {
		const char *text;
		uint64_t value;
	} numbers[] = {{"0", 0}, {"1", 1}, {"010", 10}, {"0x10", 16}, {"0xFf", 255},
		{"18446744073709551615", UINT64_MAX}, {"0xffffffffffffffff", UINT64_MAX}};
	static const char *const others[] = {"", " 1", "+1", "-1", "1 ", "1x", "x1", "0x", "0xg",
		"0X10", "18446744073709551616", "0x10000000000000000", "1.5", "a"};
	uint64_t value;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		value = 99;
		CHECK(number_parse(numbers[i].text, &value), "%s", numbers[i].text);
		CHECK(value == numbers[i].value, "%s", numbers[i].text);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		CHECK(!number_parse(others[i], &value), "%s", others[i]);
}

/* ---- log lines */

static char long_text[2000];

static void
log_short(void)
{
	softhca_log("%d and %s", 5, "six");
	softhca_log("seven");
}

static void
log_long(void)
{
	softhca_log("%s", long_text);
}

/* A line must have at most 1023 bytes, including the newline. */
static void
case_log(void)
{
	char text[4096];

	logged_by(log_short, text, sizeof(text));
	CHECK(strcmp(text, "softhca: 5 and six\nsofthca: seven\n") == 0, "%s", text);
	for (size_t len = 1010; len < 1020; len++) {
		size_t n, want = len < 1013 ? len : 1013;

		memset(long_text, 'x', sizeof(long_text));
		long_text[len] = '\0';
		n = logged_by(log_long, text, sizeof(text));
		CHECK_EQ(n, 9 + want + 1);
		CHECK_EQ(text[n - 1], '\n');
		CHECK_EQ(strspn(text + 9, "x"), want);
	}
}

static void
violate_60(void)
{
	for (int i = 0; i < 60; i++)
		violation("%s", "a rule");
}

static void
violate_4(void)
{
	for (int i = 0; i < 4; i++)
		violation("%s", "a rule");
}

static unsigned int
lines_of(void (*run)(void))
{
	char text[4096];
	unsigned int n = 0;

	logged_by(run, text, sizeof(text));
	for (const char *at = text; (at = strstr(at, "softhca: a rule\n")) != NULL; at++)
		n++;
	return n;
}

/*
 * Every violation must be counted. The first 64 violations must be logged, and then number 128,
 * 256, and so on.
 */
static void
case_violations(void)
{
	unsigned long before = softhca_violations();

	CHECK_EQ(before, 0);
	CHECK_EQ(lines_of(violate_60), 60);
	CHECK_EQ(lines_of(violate_4), 4);
	CHECK_EQ(softhca_violations(), 64);
	CHECK_EQ(lines_of(violate_60), 0);
	CHECK_EQ(lines_of(violate_4), 1); /* number 128 is logged */
	CHECK_EQ(lines_of(violate_60), 0);
	CHECK_EQ(lines_of(violate_60), 0);
	CHECK_EQ(lines_of(violate_4), 0);
	CHECK_EQ(lines_of(violate_4), 1); /* number 256 is logged */
	CHECK_EQ(softhca_violations(), 256);
}

/* ---- copies of pieces */

#define COPY_MAX 300

/* Each length and each overlap must give the bytes that memmove(3) gives. */
static void
case_copies(void)
{
	uint8_t is[3 * COPY_MAX], must[3 * COPY_MAX];

	for (size_t len = 0; len <= COPY_MAX; len++)
		for (size_t to = 0; to <= 2 * COPY_MAX - 1; to += to < 20 ? 1 : 7) {
			for (size_t i = 0; i < sizeof(is); i++)
				is[i] = must[i] = (uint8_t)(i * 37 + 11);
			memmove(&must[to], &must[COPY_MAX / 2], len);
			piece_copy(&is[to], &is[COPY_MAX / 2], len);
			CHECK(memcmp(is, must, sizeof(is)) == 0);
		}
}

static uint8_t *pages;
static size_t first_len;
static atomic_uint n_faults;

/* The last bytes of the copy are on the second page. All bytes before this page must be there. */
static void
on_fault(int signal)
{
	(void)signal;
	for (size_t i = 0; i < first_len; i++)
		if (pages[PAGE_LEN - first_len + i] != 0x5a)
			_exit(1);
	atomic_fetch_add(&n_faults, 1);
	mprotect(pages + PAGE_LEN, PAGE_LEN, PROT_READ | PROT_WRITE);
}

/* A program that polls the last byte of a message must then find all other bytes. */
static void
case_last_byte_last(void)
{
	struct sigaction mine = {.sa_handler = on_fault}, old;
	static uint8_t from[70000];
	unsigned int copies = 0;

	memset(from, 0x5a, sizeof(from));
	pages = mmap(NULL, 2 * PAGE_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		0);
	CHECK(pages != MAP_FAILED);
	CHECK_EQ(sigaction(SIGSEGV, &mine, &old), 0);
	for (first_len = 1; first_len < PAGE_LEN; first_len += first_len < 300 ? 1 : 997) {
		memset(pages, 0, 2 * PAGE_LEN);
		mprotect(pages + PAGE_LEN, PAGE_LEN, PROT_NONE);
		piece_copy(pages + PAGE_LEN - first_len, from, first_len + COPY_TAIL);
		CHECK_EQ(atomic_load(&n_faults), ++copies);
	}
	CHECK_EQ(sigaction(SIGSEGV, &old, NULL), 0);
	munmap(pages, 2 * PAGE_LEN);
}

static const struct check_case cases[] = {
	{"a number is used again after 65536 others", case_numbers_come_back_late},
	{"numbers wrap, and those in use are skipped", case_numbers_wrap},
	{"each table starts at its own number", case_numbers_start_anywhere},
	{"with many numbers in use, more are given out before one is used again",
		case_window_grows},
	{"with half of the numbers in use, the window does not grow", case_window_stays},
	{"a range of numbers is free and aligned", case_ranges},
	{"a table claims a block when its numbers are used up", case_blocks_fill},
	{"each block starts at its own number", case_blocks_start_anywhere},
	{"in a table of blocks, a freed number rests for 4096 others", case_blocks_rest},
	{"also a number that was long in use rests", case_blocks_rest_after_long_use},
	{"without another block, a put fails", case_blocks_without_more},
	{"an object is replaced by number", case_replace},
	{"quiesce() waits for the turns of all adapters", case_quiesce_waits},
	{"each turn has its own slot", case_claims},
	{"a piece is copied as by memmove()", case_copies},
	{"the last byte of a piece is stored last", case_last_byte_last},
	{"replaced keys are freed in batches", case_keys_are_freed},
	{"replaced keys wait for the turns that may see them", case_keys_wait_for_turns},
	{"replaced keys do not wait for later turns", case_keys_do_not_wait_for_later_turns},
	{"a changed set of pages keeps order and marks", case_page_sets},
	{"a number is decimal, or hexadecimal after 0x, and nothing else", case_numbers},
	{"a log line is complete, or cut if it is too long", case_log},
	{"violations are counted; the first ones and few of the others are logged",
		case_violations},
};

int
main(int argc, char **argv)
{
	softhca_devices_set(devs, 2);
	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
