/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A target that carries out random transactions with an initiator, and who judges them.
 *
 *   target queue: transactions        WRITE, READ        initiator queue: memory, receives
 *     slot: local bytes         <-------------------->     slot: remote bytes
 *                                good or bad response      link: messages
 *
 * The two queues have engines of their own. A slot is one transaction from its drawing until its
 * completion and its response have come. Both its sides lie in memory of their own: bytes that come
 * in, bytes that must arrive, and bytes between them that nobody may touch.
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
#define MAX_DATA    33280 /* bytes of data: 65 blocks of 512, or 64 of 520 */
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
	uint64_t number; /* the number of its transaction */
	uint64_t good;   /* 1 or 0 */
	uint8_t more[MESSAGE_LEN - 16];
};

/* Bytes of one domain, in the pieces that a transaction gives them. */
struct side {
	uint8_t *area; /* AREA_LEN bytes, registered */
	uint8_t image
		/*
		 * the content that the area must have; for the destination, before the bytes arrive
		 */
		[AREA_LEN];
	uint32_t used; /* bytes of the area */
	uint32_t n;    /* extents, in the order of the domain's bytes */
	struct {
		uint32_t at, len;
	} extent[MAX_EXTENTS];
};

/* A connection from the target to the initiator. */
struct link {
	uint16_t target, initiator; /* peers */
	enum gantry_txn_mode mode;
	uint32_t max_inline; /* the longest response that needs no registered memory */
	bool closing;        /* its receives come back */
	bool hurt;           /* it failed: it accepts nothing until it has been opened again */
	struct message *message;
	unsigned int n_posted; /* receives whose completion has not come */
	uint64_t last;         /* the last cookie that completed */
};

struct slot {
	bool busy, completed;
	bool cancelled;
	/* memory that it uses was not registered at some time since it was drawn */
	bool absent;
	bool is_copy;      /* a COPY: its local bytes go to its remote bytes */
	struct link *link; /* NULL: the target's connection to itself */
	uint64_t number;   /* its cookie */
	struct gantry_txn txn, before;
	struct gantry_sge data[MAX_PIECES];
	struct gantry_txn_part part[MAX_PIECES];
	struct message good, bad; /* if they are not registered */
	struct model model;
	bool encrypts;
	struct gantry_crypto crypto; /* from its profile */
	struct xts xts;
	struct gantry_sig_error error; /* the error that must be found */
	uint32_t may;                  /* bits of statuses with which it may be refused */
	uint8_t must;                  /* the status with which it must be refused; 0: none */
	uint64_t data_len;
	uint8_t came[MAX_LIN], arrives[MAX_LIN];
	struct side local, remote;
	unsigned int n_good, n_bad; /* responses that have arrived */
	uint8_t status;
};

/*
 * Memory of some slots, registered in the target's engine: their local bytes. The last region has
 * the remote bytes of all slots.
 */
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
	bool going;  /* it is being retired, and open transactions delay that */
};

struct play {
	uint64_t rng, seed;
	bool pumped;
	uint32_t kinds;          /* gantry_info::sig_kinds */
	bool crypto;             /* some transactions encrypt */
	struct gantry *g, *home; /* the target's and the initiator's */
	struct gantry_queue *target, *initiator;
	struct gantry_worker *worker; /* of the target; NULL: its queue is inline */
	bool unordered;
	struct region region[N_REGIONS];
	struct gantry_mem *remote, *inbox; /* in the initiator's engine */
	struct link link[N_LINKS];
	struct slot slot[N_SLOTS];
	struct profile profile[N_PROFILES];
	struct dek dek[N_DEKS];
	struct message *messages;
	/* Drawn and not accepted yet. */
	struct gantry_desc wait[N_SLOTS];
	unsigned int n_wait;
	uint64_t last; /* the last cookie that completed, in an ordered queue or without a link */
	uint64_t made, settled;
	unsigned int refusals; /* number of refusals that were armed in this round */
	bool hard;             /* connections may fail */
	bool fatal;            /* the device may be lost */
	bool lost;             /* the device is lost */
	/*
	 * a round of this life was hard: the target's connection to itself may have been lost since
	 */
	bool own_hurt;
	bool own_lost; /* a connection of the target to itself has failed for good */
	/* Statistics. */
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

/*
 * draw.c: a transaction, its buffers, the bytes that come in and those that must arrive. With
 * force_right, nothing is wrong.
 */
void draw_profiles(void);
void draw_change_profile(void);
bool draw_slot(struct link *link, bool force_right);

/* secret.c: DEKs and encryption. */
void secret_open(void);
void secret_close(void);
/* May retire a DEK, while transactions name it, and add another one. */
void secret_change(void);
/* Adds all DEKs again, while nothing is in flight. */
void secret_mend(void);
/*
 * Draws the encryption of a profile with these signatures. It may be none; a profile without
 * signatures always encrypts.
 */
struct gantry_crypto secret_crypto(const struct gantry_profile_conf *conf);
/* Draws a DEK and a tweak for a slot whose profile encrypts. */
void secret_draw(struct slot *s, const struct gantry_crypto *crypto);
/* Writes the incoming data to s->came, in the form of the domain from which they come. */
void secret_lay(struct slot *s, uint8_t *data);
/*
 * For a slot that encrypts: true if the incoming bytes are encrypted, false if those that it passes
 * on are.
 */
bool secret_comes_encrypted(const struct slot *s);
/* model_run() from s->came to s->arrives, with encryption. */
struct gantry_sig_error secret_run(struct slot *s);

/* memory.c: the memory of slots and messages. */
void memory_open(void);
void memory_close(void);
/* May remove some memory, while transactions use it, or register it again. */
void memory_change(void);
/* Registers all of it again, while nothing is in flight. */
void memory_mend(void);
/* Called for a slot that was just drawn. */
void memory_note_absent(struct slot *s);

/* Copies the bytes of the domain into the image. */
static inline void
side_overlay(struct side *s, const uint8_t *bytes)
{
	uint32_t i;

	for (i = 0; i < s->n; i++) {
		memcpy(s->image + s->extent[i].at, bytes, s->extent[i].len);
		bytes += s->extent[i].len;
	}
}

/* judge.c: completions and responses. */
void judge_completion(const struct gantry_comp *comp);
void judge_message(struct link *l, const struct gantry_recv_comp *comp);
void judge_release(struct slot *s);
/* Call it when a link is closed: no response comes for its slots any more. */
void judge_link_closed(struct link *l);

#endif
