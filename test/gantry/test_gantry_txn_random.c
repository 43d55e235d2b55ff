/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random transactions between a target and an initiator: WRITE and READ, one part or several, all
 * kinds of signatures, with encryption or without, some with damaged bytes, over connections with
 * pipelined responses and without. Meanwhile the adapter completes late, stops send queues, refuses
 * calls, breaks connections and fails completely. Waiting transactions are cancelled, memory and
 * DEKs are removed, and lcores sleep.
 *
 * The test checks the responses and the memory of initiator and target, with its own signatures
 * (txn/reference.h) and OpenSSL (txn/txn_xts.h). No good response may arrive for bad data, and no
 * bad response for good data. Each transaction must complete once, and must report its error. When
 * a response arrives, all bytes of its transaction must have arrived.
 *
 * usage: test_gantry_txn_random [--transactions N] [SEED]
 */
#include <stdlib.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_log.h>

#include <softhca.h>

#include "gantry_log.h"
#include "gantry_loop.h"
#include "txn/play.h"

struct play play;

/*
 * ------------------------------------------------------------------ a wrapped function of the
 * engine
 */

struct gantry_conn;
bool __real_gantry_txn_stop_has_come(struct gantry_queue *q, struct gantry_conn *c);
bool __wrap_gantry_txn_stop_has_come(struct gantry_queue *q, struct gantry_conn *c);

/*
 * Called instead of the engine's function, after the engine has read the CQ and before it reads the
 * event. At this time the adapter may write a CQE, and the event that the queue has stopped.
 */
bool
__wrap_gantry_txn_stop_has_come(struct gantry_queue *q, struct gantry_conn *c)
{
	if (play.pumped && chance(4) == 0 && softhca_pump() != 0)
		usleep(2000); /* the engine's thread reads the event */
	return __real_gantry_txn_stop_has_come(q, c);
}

/* ------------------------------------------------------------------ connections */

static void
link_post(struct link *l, uint64_t i)
{
	const struct gantry_recv r = {.cookie = i,
		.addr = (uintptr_t)&l->message[i],
		.len = MESSAGE_LEN};

	l->n_posted += gantry_recv_post(play.initiator, l->initiator, &r, 1) == 1;
}

static void
link_open(struct link *l)
{
	/* Short timeouts and few retries: messages are lost only by faults. */
	const struct gantry_path path = {.mask = GANTRY_PATH_TIMEOUT | GANTRY_PATH_RETRIES,
		.timeout = play.pumped ? 4 : 8,
		.retries = 2};
	struct gantry_peer_conf to = {.txn = l->mode, .depth = 32 << chance(5), .path = path};
	const struct gantry_peer_conf from = {.recv_depth = RECV_DEPTH,
		.path = path,
		.txn = chance(4) == 0 ? GANTRY_TXN_WAIT : GANTRY_TXN_NONE};
	struct gantry_addr a, b;
	unsigned int i;

	l->max_inline = (const uint32_t[]){16, 44, MESSAGE_LEN}[chance(3)];
	if (l->max_inline != 44) {
		to.mask = GANTRY_PEER_MAX_INLINE;
		to.max_inline = l->max_inline;
	}
	CHECK_EQ(gantry_peer_open(play.target, &to, &l->target, &a), 0);
	CHECK_EQ(gantry_peer_open(play.initiator, &from, &l->initiator, &b), 0);
	CHECK_EQ(gantry_peer_connect(play.target, l->target, &b), 0);
	CHECK_EQ(gantry_peer_connect(play.initiator, l->initiator, &a), 0);
	l->hurt = l->closing = false;
	l->last = 0;
	for (i = 0; i < RECV_DEPTH; i++)
		link_post(l, i);
	CHECK_EQ(l->n_posted, RECV_DEPTH);
}

static void
take_messages(bool again)
{
	struct gantry_recv_comp comp[16];
	unsigned int n, i, k;

	env_pump();
	n = gantry_recv_poll(play.initiator, comp, RTE_DIM(comp));
	for (i = 0; i < n; i++)
		for (k = 0; k < N_LINKS; k++)
			if (play.link[k].initiator == comp[i].peer) {
				judge_message(&play.link[k], &comp[i]);
				if (again && !play.link[k].hurt)
					link_post(&play.link[k], comp[i].cookie);
			}
}

static bool
link_in_flight(const struct link *l)
{
	unsigned int i;

	for (i = 0; i < N_SLOTS; i++)
		if (play.slot[i].busy && play.slot[i].link == l && !play.slot[i].completed)
			return true;
	return false;
}

/*
 * Call it when nothing is in flight. Responses that were sent have arrived, or will never arrive.
 */
static void
link_close(struct link *l)
{
	l->hurt = l->closing = true;
	CHECK_EQ(gantry_peer_close(play.target, l->target), 0);
	CHECK_EQ(gantry_peer_close(play.initiator, l->initiator), 0);
	while (l->n_posted != 0)
		take_messages(false);
	judge_link_closed(l);
}

/* ------------------------------------------------------------------ a life of an engine */

static void
life_open(void)
{
	static const enum gantry_txn_mode modes[] = {GANTRY_TXN_PIPELINED, GANTRY_TXN_PIPELINED,
		GANTRY_TXN_WAIT};
	const unsigned int kind = (play.seed + play.lives) % 4;
	const bool works = !play.pumped && kind % 2 == 0;
	const struct gantry_worker_conf conf = {
		.queue = {.depth = 2 << chance(7),
			.unordered = chance(2),
			.transactions = 1 + chance(24)},
		.ring_size = 64,
		.idle = kind == 2 ? GANTRY_IDLE_SLEEP : GANTRY_IDLE_SPIN,
	};
	const struct gantry_queue_conf other = {.depth = 16, .transactions = 1};
	struct gantry_info info;
	unsigned int i;

	play.last = play.made;
	play.own_hurt = play.own_lost = play.fatal = play.lost = false;
	play.unordered = conf.queue.unordered;
	CHECK_EQ(gantry_create(NULL, &play.g), 0);
	env_need(play.g, ENV_SIGNATURES);
	CHECK_EQ(gantry_create(NULL, &play.home), 0);
	gantry_info_get(play.g, &info);
	play.kinds = info.sig_kinds;
	/*
	 * If a key is limited to one data unit, or DEKs are wrapped, only test_gantry_crypto tests
	 * encryption.
	 */
	play.crypto = info.crypto == GANTRY_CRYPTO_XTS;
	rte_log_set_level(gantry_logtype, RTE_LOG_EMERG);
	if (works) {
		CHECK_EQ(gantry_worker_create(play.g, 1, &conf, &play.worker), 0);
		play.target = gantry_worker_queue(play.worker);
		CHECK_EQ(gantry_worker_start(play.worker), 0);
	} else {
		play.worker = NULL;
		CHECK_EQ(gantry_queue_create(play.g, &conf.queue, &play.target), 0);
	}
	CHECK_EQ(gantry_queue_create(play.home, &other, &play.initiator), 0);
	memory_open();
	secret_open();
	draw_profiles();
	for (i = 0; i < N_LINKS; i++) {
		play.link[i].mode = modes[i];
		play.link[i].message = play.messages + i * RECV_DEPTH;
		link_open(&play.link[i]);
	}
}

static void
life_close(void)
{
	unsigned int i;

	for (i = 0; i < N_LINKS; i++)
		link_close(&play.link[i]);
	for (i = 0; i < N_PROFILES; i++) {
		if (play.profile[i].id != 0)
			CHECK_EQ(gantry_profile_destroy(play.g, play.profile[i].id), 0);
		play.profile[i].id = 0;
	}
	if (play.worker != NULL) {
		CHECK_EQ(gantry_worker_stop(play.worker), 0);
		CHECK_EQ(gantry_worker_destroy(play.worker), 0);
	} else {
		CHECK_EQ(gantry_queue_destroy(play.target), 0);
	}
	CHECK_EQ(gantry_queue_destroy(play.initiator), 0);
	memory_close();
	secret_close();
	CHECK_EQ(gantry_destroy(play.g), 0);
	CHECK_EQ(gantry_destroy(play.home), 0);
}

/* ------------------------------------------------------------------ faults */

__attribute__((format(printf, 1, 2))) static void
arm(const char *format, ...)
{
	char line[100];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	CHECK_EQ(softhca_fault(line), 0, line);
	play.faults++;
}

/* Faults after which no transaction fails. */
static void
arm_soft(unsigned int op)
{
	switch (chance(4)) {
	case 0:
		arm("late op=%u ms=%u", op, 1 + (unsigned int)chance(3));
		break;
	case 1:
		arm("recv_late op=%u ms=%u", op, 1 + (unsigned int)chance(3));
		break;
	case 2: /* a stop of the send queue without a wrong signature */
		arm("sq_drained op=%u", op);
		break;
	/*
	 * The first calls to resume the stopped queue are refused. After 9 refused calls in a row
	 * the engine gives the queue up.
	 */
	default:
		if (play.refusals++ < 8)
			arm("refuse call=modify_qp errno=16 op=1");
	}
}

static void
arm_hard(unsigned int op)
{
	static const uint8_t syndromes[] = {0x01, 0x02, 0x04, 0x05, 0x06, 0x10, 0x11, 0x12, 0x13,
		0x14, 0x15, 0x16, 0x22};
	const unsigned int syndrome = syndromes[chance(RTE_DIM(syndromes))];

	switch (chance(5)) {
	case 0:
		arm("complete op=%u syndrome=0x%02x", op, syndrome);
		break;
	case 1:
		arm("recv_complete op=%u syndrome=0x%02x", 1 + op % 10, syndrome);
		break;
	case 2:
		arm("qp_fatal op=%u", op);
		break;
	case 3:
		arm("cq_overrun op=%u", op);
		break;
	default: /* after enough refusals the engine gives the connection up */
		arm("refuse call=modify_qp errno=12 op=1 times=%u", 1 + (unsigned int)chance(20));
	}
}

/* ------------------------------------------------------------------ a round */

static void
put(void)
{
	unsigned int n = RTE_MIN(play.n_wait, 1 + (unsigned int)chance(16));

	if (n == 0)
		return;
	n = play.worker != NULL ? gantry_enqueue_burst(play.worker, play.wait, n)
				: gantry_submit(play.target, play.wait, n);
	play.n_wait -= n;
	memmove(play.wait, play.wait + n, play.n_wait * sizeof(play.wait[0]));
}

static unsigned int
take(void)
{
	struct gantry_comp comp[32];
	unsigned int n, i;

	if (play.worker != NULL)
		n = env_dequeue(play.worker, comp, RTE_DIM(comp));
	else if (play.pumped && chance(4) == 0) /* the adapter runs inside the call */
		n = gantry_poll(play.target, comp, RTE_DIM(comp));
	else
		n = env_poll(play.target, comp, RTE_DIM(comp));
	for (i = 0; i < n; i++)
		judge_completion(&comp[i]);
	return n;
}

static void
draw(unsigned int n)
{
	unsigned int i;

	for (; n != 0; n--) {
		i = chance(N_LINKS + 1);
		if (i == N_LINKS)
			draw_slot(NULL, false);
		else if (!play.link[i].hurt)
			draw_slot(&play.link[i], false);
	}
}

/* Cancels a transaction that has no part in hardware. */
static void
cancel(void)
{
	struct slot *s = &play.slot[chance(N_SLOTS)];
	uint32_t n;

	if (play.worker != NULL || !s->busy)
		return;
	n = gantry_cancel(play.target, s->number);
	if (n > (s->completed || s->cancelled ? 0 : 1))
		slot_fail(s, "gantry_cancel() returns %u", n);
	s->cancelled |= n == 1;
	play.cancelled += n;
}

/* Opens failed connections again after their last descriptor has completed. */
static void
heal(bool all)
{
	unsigned int i;

	for (i = 0; i < N_LINKS; i++) {
		struct link *l = &play.link[i];

		if ((!l->hurt && !all) || link_in_flight(l))
			continue;
		/* The armed faults are meant for transactions only. */
		softhca_faults_clear();
		link_close(l);
		link_open(l);
		play.heals++;
	}
}

static bool
slots_busy(void)
{
	unsigned int i;

	for (i = 0; i < N_SLOTS; i++)
		if (play.slot[i].busy)
			return true;
	return false;
}

/* Takes completions and responses until all completions and all expected responses have arrived. */
static void
drain(void)
{
	uint64_t end = env_patience();
	unsigned int i;

	while (play.settled != play.made || (!play.hard && slots_busy())) {
		put();
		if (take() != 0)
			end = env_patience();
		take_messages(true);
		if (rte_get_timer_cycles() < end)
			continue;
		for (i = 0; !play.slot[i].busy; i++)
			;
		slot_fail(&play.slot[i], "nothing comes back any more");
	}
}

/* Checks that each connection executes a correct transaction, as it does without faults. */
static void
probe(void)
{
	unsigned int i;

	play.hard = false;
	for (i = 0; i < N_LINKS; i++)
		while (!draw_slot(&play.link[i], true))
			;
	drain();
}

static void
play_round(void)
{
	const unsigned int turns = 4 + chance(60), faults = chance(3);
	unsigned int i;

	play.rounds++;
	play.refusals = 0;
	play.hard = faults == 2;
	play.own_hurt |= play.hard;
	for (i = 0; i < turns; i++) {
		unsigned int op = 1 + chance(chance(2) ? 10 : 100);

		if (faults != 0 && chance(4) == 0)
			arm_soft(op);
		if (faults == 2 && chance(20) == 0)
			arm_hard(op);
		if (chance(30) == 0)
			draw_change_profile();
		memory_change();
		secret_change();
		draw(chance(16));
		put();
		cancel();
		take();
		take_messages(true);
		if (play.hard && chance(8) == 0)
			heal(false);
	}
	drain();
	softhca_faults_clear();
	if (play.hard)
		heal(true);
	draw_profiles();
	memory_mend();
	secret_mend();
	probe();
	CHECK_EQ(softhca_violations(), 0);
}

/*
 * The device fails while transactions are in flight. All transactions complete, including those
 * that are submitted later.
 */
static void
lose_device(void)
{
	struct gantry_info info;

	play.rounds++;
	play.hard = play.fatal = true;
	arm("device_fatal op=%u", 1 + (unsigned int)chance(60));
	draw(N_SLOTS);
	drain();
	gantry_info_get(play.g, &info);
	play.lost = info.device_lost;
	play.losses += play.lost;
	draw(N_SLOTS);
	drain();
}

static void
play_life(uint64_t goal)
{
	unsigned int rounds = 4 + chance(12);

	play.lives++;
	life_open();
	do {
		alarm(4 * CHECK_PATIENCE_MS / 1000); /* kills the program if a call never returns */
		play_round();
	} while (--rounds != 0 && play.settled < goal && !play.own_lost);
	if (chance(2))
		lose_device();
	life_close();
	softhca_faults_clear();
}

/* ------------------------------------------------------------------ the whole run */

static void
print_counts(void)
{
	unsigned int i;

	for (i = 0; i < GANTRY_STATUS_MAX; i++)
		if (play.by_status[i] != 0)
			printf("%10llu %s\n", (unsigned long long)play.by_status[i],
				gantry_status_name(i));
	printf("%10llu DEKs, %llu of them kept by what was open\n", (unsigned long long)play.deks,
		(unsigned long long)play.deks_kept);
	printf("%10llu good responses\n%10llu bad responses\n%10llu copies\n%10llu faults\n%10llu "
	       "connections opened anew\n%10llu times cancelled\n%10llu times memory was kept by what was "
	       "open\n%10llu devices lost\n%10llu times the lcore slept\n%10llu lives\n%10llu rounds\n%10llu transactions and copies, each "
	       "completed once\n",
		(unsigned long long)play.good, (unsigned long long)play.bad,
		(unsigned long long)play.copies, (unsigned long long)play.faults,
		(unsigned long long)play.heals, (unsigned long long)play.cancelled,
		(unsigned long long)play.kept, (unsigned long long)play.losses,
		(unsigned long long)gantry_loop_sleeps(1), (unsigned long long)play.lives,
		(unsigned long long)play.rounds, (unsigned long long)play.settled);
}

/*
 * Returns true if every possible event of a run has occurred: each kind of incoming signature, with
 * each operation, correct and wrong; the same for incoming encrypted data and for outgoing
 * encrypted data; and each other event.
 */
static bool
is_varied(void)
{
	unsigned int reads, wrong, kind;

	for (reads = 0; reads < 2; reads++)
		for (wrong = 0; wrong < 2; wrong++)
			for (kind = wrong; kind < GANTRY_SIG_KIND_MAX; kind++)
				if (play.met[reads][wrong][kind] == 0 &&
					(kind == 0 || (play.kinds >> kind & 1) != 0))
					return false;
	for (reads = 0; reads < 2; reads++)
		for (wrong = 0; wrong < 2; wrong++)
			for (kind = 0; kind < 2; kind++)
				if (play.crypto && play.encrypted[reads][wrong][kind] == 0)
					return false;
	return play.good > 100 && play.bad > 20 && play.faults > 10 && play.copies > 10 &&
	       play.cancelled > 5 && play.kept > 5 && (!play.crypto || play.deks_kept > 5) &&
	       play.losses != 0 && (play.pumped || gantry_loop_sleeps(1) != 0);
}

/* The default number of transactions, for the suite. */
#ifdef GANTRY_ALLOC_LIBC
#define GOAL 800
#else
#define GOAL 3000
#endif

int
main(int argc, char **argv)
{
	uint64_t goal = GOAL, shown = 0;
	bool told = argc > 2 && strcmp(argv[1], "--transactions") == 0;

	if (told)
		goal = strtoull(argv[2], NULL, 0);
	play.seed = argc > (told ? 3 : 1) ? strtoull(argv[told ? 3 : 1], NULL, 0) : 1;
	play.rng = play.seed;
	play.pumped = env_is_pumped();
	printf("seed %llu, %s\n", (unsigned long long)play.seed,
		play.pumped ? "pumped" : "threads");
	fflush(stdout);
	env_init(play.pumped ? 0 : 1);
	/*
	 * The events of a run also depend on other threads. So a run of the suite continues until
	 * each event has occurred.
	 */
	while (play.settled < goal || (argc == 1 && !is_varied() && play.settled < 20 * goal)) {
		play_life(goal);
		if (told && rte_get_timer_cycles() - shown >= 10 * rte_get_timer_hz()) {
			shown = rte_get_timer_cycles();
			printf("%llu of %llu, %llu lives, %llu faults\n",
				(unsigned long long)play.settled, (unsigned long long)goal,
				(unsigned long long)play.lives, (unsigned long long)play.faults);
			fflush(stdout);
		}
	}
	print_counts();
	if (argc == 1)
		CHECK(is_varied());
	rte_eal_cleanup();
	return 0;
}
