/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A target that executes random transactions with an initiator, and the checks of these
 * transactions.
 *
 *   target queue: transactions        WRITE, READ        initiator queue: memory, receives
 *     slot: local bytes         <-------------------->     slot: remote bytes
 *                                good or bad response      link: messages
 *
 * Each of the two queues belongs to its own engine. A slot has one transaction, from the time when
 * the transaction is drawn until its completion and its response have arrived. Each of the slot's
 * two sides has its own memory. This memory also has bytes between the pieces of the transaction.
 * These bytes must not change.
 */
#ifndef TXN_PLAY_H
#define TXN_PLAY_H

#include "gantry_env.h"
#include "model.h"
#include "txn_xts.h"

#define N_SLOTS     48
#define N_LINKS     3
#define N_REGIONS   5 /* N_SLOTS is a multiple of N_REGIONS - 1 */
#define N_PROFILES  32
#define N_DEKS      6
#define MAX_DATA    33280 /* 65 blocks of 512 bytes, or 64 of 520 */
#define MAX_LIN     (MAX_DATA + MAX_DATA / 512 * REF_MAX_LEN)
#define MAX_PIECES  16
#define MAX_EXTENTS (2 * MAX_DATA / 512)
#define MAX_GAP     48
#define AREA_LEN    (MAX_LIN + (MAX_PIECES + 2) * MAX_GAP + 3 * sizeof(struct message))
#define RECV_DEPTH  32
#define MESSAGE_LEN 64
#define UNTOUCHED   0x5a

/* A response. The bytes in `more` depend on the number. */
struct message {
	uint64_t number; /* number of the response's transaction */
	uint64_t good;   /* 1: a good response, 0: a bad one */
	uint8_t more[MESSAGE_LEN - 16];
};

/* The memory of one domain: the pieces that the transaction names. */
struct side {
	uint8_t *area; /* AREA_LEN bytes, registered */
	uint8_t image
		/*
		 * the content that the area must have; for the destination, before the bytes arrive
		 */
		[AREA_LEN];
	uint32_t used; /* bytes of the area that are in use */
	uint32_t n;    /* extents, in the order of the domain's bytes */
	struct {
		uint32_t at, len;
	} extent[MAX_EXTENTS];
};

/* A connection from the target to the initiator. */
struct link {
	uint16_t target, initiator; /* peers */
	enum gantry_txn_mode mode;
	uint32_t max_inline; /* length of the longest response that needs no registered memory */
	bool closing;        /* the test closes the link: its receives are flushed */
	bool hurt;           /* the link failed: it accepts nothing until it is opened again */
	struct message *message;
	unsigned int n_posted; /* receives that have not completed */
	uint64_t last;         /* cookie of the last completion */
};

struct slot {
	bool busy, completed;
	bool cancelled;
	/* Memory that the transaction uses was unregistered at some time since it was drawn. */
	bool absent;
	bool is_copy;      /* the descriptor is a COPY from its local bytes to its remote bytes */
	struct link *link; /* NULL: the target's connection to itself */
	uint64_t number;   /* cookie of the descriptor */
	struct gantry_txn txn, before;
	struct gantry_sge data[MAX_PIECES];
	struct gantry_txn_part part[MAX_PIECES];
	struct message good, bad; /* the responses, if they are in memory that is not registered */
	struct model model;
	bool encrypts;
	struct gantry_crypto crypto; /* encryption of its profile */
	struct xts xts;
	struct gantry_sig_error error; /* the error that the engine must report */
	uint32_t may;                  /* mask of statuses with which the engine may refuse it */
	/* status with which the engine must refuse it; 0: the engine must not refuse it */
	uint8_t must;
	uint64_t data_len;
	uint8_t came[MAX_LIN], arrives[MAX_LIN];
	struct side local, remote;
	unsigned int n_good, n_bad; /* numbers of responses that have arrived */
	uint8_t status;
};

/*
 * A region of memory. The first regions have the local bytes of some slots each, and belong to the
 * target's engine. The last region has the remote bytes of all slots.
 */
struct region {
	struct gantry_mem *mem; /* NULL: not registered */
	bool going;             /* the region is being unregistered */
};

struct profile {
	struct gantry_profile_conf conf;
	uint16_t id; /* 0: no profile */
};

struct dek {
	struct xts xts;
	uint32_t id; /* 0: no DEK */
	bool going;  /* the DEK is being retired, and open transactions delay this */
};

struct play {
	uint64_t rng, seed;
	bool pumped;
	uint32_t kinds;          /* gantry_info::sig_kinds */
	bool crypto;             /* some transactions encrypt */
	struct gantry *g, *home; /* the engines of the target and of the initiator */
	struct gantry_queue *target, *initiator;
	struct gantry_worker *worker; /* worker of the target; NULL: the target's queue is inline */
	bool unordered;
	struct region region[N_REGIONS];
	struct gantry_mem *remote, *inbox; /* registered in the initiator's engine */
	struct link link[N_LINKS];
	struct slot slot[N_SLOTS];
	struct profile profile[N_PROFILES];
	struct dek dek[N_DEKS];
	struct message *messages;
	/* Descriptors that were drawn and are not accepted yet. */
	struct gantry_desc wait[N_SLOTS];
	unsigned int n_wait;
	uint64_t last; /* cookie of the last completion, in an ordered queue or without a link */
	uint64_t made, settled;
	unsigned int refusals; /* number of refusals that were armed in this round */
	bool hard;             /* connections may fail */
	bool fatal;            /* the device may be lost */
	bool lost;             /* the device is lost */
	/*
	 * Connections could fail in an earlier round of this life, so the target's connection to
	 * itself may be lost.
	 */
	bool own_hurt;
	bool own_lost; /* the engine has given up a connection of the target to itself */
	/* Counts for the statistics. */
	uint64_t by_status[GANTRY_STATUS_MAX], good, bad, right, wrong, copies, lives, rounds,
		faults, heals, kept, cancelled, losses, deks, deks_kept;
	/* numbers of transactions, by operation, verdict, and kind of the incoming signatures */
	uint64_t met[2][2][GANTRY_SIG_KIND_MAX];
	/*
	 * numbers of transactions, by operation, verdict, and whether the incoming data were
	 * encrypted
	 */
	uint64_t encrypted[2][2][2];
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
 * draw.c: draws a transaction, its buffers, the incoming bytes and the expected bytes. With
 * force_right, the transaction has no error.
 */
void draw_profiles(void);
void draw_change_profile(void);
bool draw_slot(struct link *link, bool force_right);

/* secret.c: DEKs and encryption. */
void secret_open(void);
void secret_close(void);
/* May retire a DEK that transactions name, and add another DEK. */
void secret_change(void);
/* Adds all DEKs again. Call it when nothing is in flight. */
void secret_mend(void);
/*
 * Draws the encryption of a profile with these signatures. A profile with signatures may have no
 * encryption; a profile without signatures always encrypts.
 */
struct gantry_crypto secret_crypto(const struct gantry_profile_conf *conf);
/* Draws a DEK and a tweak for a slot whose profile encrypts. */
void secret_draw(struct slot *s, const struct gantry_crypto *crypto);
/* Writes the incoming data to s->came, in the form of the domain from which they come. */
void secret_lay(struct slot *s, uint8_t *data);
/*
 * For a slot that encrypts: returns true if the incoming bytes are encrypted, false if the outgoing
 * bytes are.
 */
bool secret_comes_encrypted(const struct slot *s);
/* As model_run() from s->came to s->arrives, but with encryption. */
struct gantry_sig_error secret_run(struct slot *s);

/* memory.c: the memory of slots and messages. */
void memory_open(void);
void memory_close(void);
/* May unregister memory that transactions use, or register it again. */
void memory_change(void);
/* Registers all memory again. Call it when nothing is in flight. */
void memory_mend(void);
/* Call it for a slot that was just drawn. */
void memory_note_absent(struct slot *s);

/* Copies the bytes of the domain to the expected content of the area. */
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
/* Call it when a link was closed: no further response arrives for its slots. */
void judge_link_closed(struct link *l);

#endif
