/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A target that carries out random transactions with an initiator, and who judges them.
 *
 *   target queue: transactions        WRITE, READ        initiator queue: memory, receives
 *     slot: local bytes         <-------------------->     slot: remote bytes
 *                                good or bad response      link: messages
 *
 * The two queues have engines of their own. A slot is one transaction from its drawing until its completion and its response have come. Both its sides lie in
 * memory of their own: bytes that come in, bytes that must arrive, and bytes between them that nobody may touch.
 */
#ifndef TXN_PLAY_H
#define TXN_PLAY_H

#include "gantry_env.h"
#include "model.h"
#include "txn_xts.h"

#define N_SLOTS     48
#define N_LINKS     3
#define N_REGIONS   5 /* N_SLOTS is a multiple of one less */
#define N_PROFILES  32
#define N_DEKS      6
#define MAX_DATA    33280 /* bytes: 65 blocks of 512, 64 of 520 */
#define MAX_LIN     (MAX_DATA + MAX_DATA / 512 * REF_MAX_LEN)
#define MAX_PIECES  16
#define MAX_EXTENTS (2 * MAX_DATA / 512)
#define MAX_GAP     48
#define AREA_LEN    (MAX_LIN + (MAX_PIECES + 2) * MAX_GAP + 3 * sizeof(struct message))
#define RECV_DEPTH  32
#define MESSAGE_LEN 64
#define UNTOUCHED   0x5a

/* A response. The rest of its bytes depends on the number. */
struct message {
	uint64_t number; /* of the transaction */
	uint64_t good;   /* 1 or 0 */
	uint8_t more[MESSAGE_LEN - 16];
};

/* Bytes of one domain, in the pieces that a transaction gives them. */
struct side {
	uint8_t *area; /* AREA_LEN bytes, registered */
	uint8_t image
		[AREA_LEN]; /* what the area must be; of a side that bytes go to, before they come */
	uint32_t used;      /* bytes of the area */
	uint32_t n;         /* extents, in the order of the domain's bytes */
	struct {
		uint32_t at, len;
	} extent[MAX_EXTENTS];
};

/* A connection from the target to the initiator. */
struct link {
	uint16_t target, initiator; /* peers */
	enum gantry_txn_mode mode;
	uint32_t max_inline; /* bytes of a response that is not registered */
	bool closing;        /* its receives come back */
	bool hurt;           /* it failed: it takes nothing before it has been opened anew */
	struct message *message;
	unsigned int n_posted; /* receives whose completion has not come */
	uint64_t last;         /* the last cookie that completed */
};

struct slot {
	bool busy, completed;
	bool cancelled;
	bool absent;       /* memory that it uses has not been registered since it was drawn */
	bool is_copy;      /* a COPY: local bytes go to the remote ones */
	struct link *link; /* NULL: of the target alone */
	uint64_t number;   /* its cookie */
	struct gantry_txn txn, before;
	struct gantry_sge data[MAX_PIECES];
	struct gantry_txn_part part[MAX_PIECES];
	struct message good, bad; /* if they are not registered */
	struct model model;
	bool encrypts;
	struct gantry_crypto crypto; /* of its profile */
	struct xts xts;
	struct gantry_sig_error error; /* that must be found */
	uint32_t may;                  /* bits of statuses that refuse it, perhaps */
	uint8_t must;                  /* the status that refuses it; 0: none */
	uint64_t data_len;
	uint8_t came[MAX_LIN], arrives[MAX_LIN];
	struct side local, remote;
	unsigned int n_good, n_bad; /* responses that have arrived */
	uint8_t status;
};

/* Memory of some slots, registered in the target's engine: local bytes; the last one is the remote bytes of all. */
struct region {
	struct gantry_mem *mem; /* NULL: not registered */
	bool going;             /* it is being unregistered */
};

struct profile {
	struct gantry_profile_conf conf;
	uint16_t id; /* 0: there is none */
};

struct dek {
	struct xts xts;
	uint32_t id; /* 0: there is none */
	bool going;  /* it is retired, and open transactions keep it */
};

struct play {
	uint64_t rng, seed;
	bool pumped;
	uint32_t kinds;          /* gantry_info::sig_kinds */
	bool crypto;             /* some transactions encrypt */
	struct gantry *g, *home; /* the target's and the initiator's */
	struct gantry_queue *target, *initiator;
	struct gantry_worker *worker; /* of the target; NULL: it is inline */
	bool unordered;
	struct region region[N_REGIONS];
	struct gantry_mem *remote, *inbox; /* of the initiator's engine */
	struct link link[N_LINKS];
	struct slot slot[N_SLOTS];
	struct profile profile[N_PROFILES];
	struct dek dek[N_DEKS];
	struct message *messages;
	/* Drawn and not accepted yet. */
	struct gantry_desc wait[N_SLOTS];
	unsigned int n_wait;
	uint64_t last; /* cookie that completed: of a queue in order, or of no link */
	uint64_t made, settled;
	unsigned int refusals; /* that were armed in this round */
	bool hard;             /* connections may fail */
	bool fatal;            /* the device may be lost */
	bool lost;             /* it is */
	bool own_hurt; /* a round of this life was hard: the target's connection to itself may be lost since */
	bool own_lost; /* one of the target to itself has failed for good */
	/* What happened. */
	uint64_t by_status[GANTRY_STATUS_MAX], good, bad, right, wrong, copies, lives, rounds,
		faults, heals, kept, cancelled, losses, deks, deks_kept;
	uint64_t met[2][2][GANTRY_SIG_KIND_MAX]; /* by op and verdict and the kind that came in */
	uint64_t encrypted[2][2][2]; /* by op and verdict, and whether what came in was encrypted */
};

extern struct play play;

static inline uint64_t
chance(uint64_t n)
{
	return check_random(&play.rng) % n;
}

__attribute__((noreturn, format(printf, 2, 3))) void slot_fail(const struct slot *s,
	const char *format, ...);

/* draw.c: a transaction, its buffers, what comes in and what must arrive. force_right: nothing is wrong. */
void draw_profiles(void);
void draw_change_profile(void);
bool draw_slot(struct link *link, bool force_right);

/* secret.c: DEKs, and what is encrypted. */
void secret_open(void);
void secret_close(void);
/* One is retired, perhaps, while transactions name it, and another one comes. */
void secret_change(void);
/* All are there again. Nothing is in flight. */
void secret_mend(void);
/* What a profile with these signatures encrypts; it may be nothing. Without signatures, it is something. */
struct gantry_crypto secret_crypto(const struct gantry_profile_conf *conf);
/* A DEK and a tweak for a slot, whose profile encrypts. */
void secret_draw(struct slot *s, const struct gantry_crypto *crypto);
/* The `data` bytes of data that come in, as they lie in the domain that they come from: s->came. */
void secret_lay(struct slot *s, uint8_t *data);
/* True: what comes in is encrypted; else what is passed on. Of a slot that encrypts. */
bool secret_comes_encrypted(const struct slot *s);
/* model_run() from s->came to s->arrives, with encryption. */
struct gantry_sig_error secret_run(struct slot *s);

/* memory.c: the memory of slots and messages. */
void memory_open(void);
void memory_close(void);
/* Some of it goes, perhaps, while transactions use it, or comes back. */
void memory_change(void);
/* All of it is there again. Nothing is in flight. */
void memory_mend(void);
/* A slot that was just drawn. */
void memory_note_absent(struct slot *s);

/* Lays bytes of the domain into the image. */
static inline void
side_overlay(struct side *s, const uint8_t *bytes)
{
	uint32_t i;

	for (i = 0; i < s->n; i++) {
		memcpy(s->image + s->extent[i].at, bytes, s->extent[i].len);
		bytes += s->extent[i].len;
	}
}

/* judge.c: what comes back. */
void judge_completion(const struct gantry_comp *comp);
void judge_message(struct link *l, const struct gantry_recv_comp *comp);
void judge_release(struct slot *s);
/* The slots of a link that is closed: no response comes any more. */
void judge_link_closed(struct link *l);

#endif
