/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Twins: one work request is posted through stock libmlx5 and through hwq. Both must write equal
 * bytes to the send queue, or return the same error.
 *
 * A program gives lists of builders, and functions that draw their arguments. The harness draws,
 * posts, compares and counts. The program itself posts hwq's half of the work, by hwq_twin_post.h.
 *
 *     twin_begin(argc, argv, 20000);    device, memory, seed: [--device NAME] [CASES [SEED]]
 *     twin_wild(pairs, n, post);        until each builder of each type had CASES
 *     return twin_end(pairs, n);        prints the combinations that were drawn; fails if a legal
 *                                       one was never drawn
 *
 * Each WQE is read from its ring by its start and DS. If libmlx5 wraps the WQE around the ring's
 * end, its parts are joined. The NOPs that fill the end of hwq's ring are skipped, and checked
 * separately. wqe_index, QPN and the memcpy's opaque key and address differ: each is compared with
 * its own queue, then blanked. A builder's function names() does this for further such fields. All
 * other bytes up to DS must be equal. libmlx5 does not write some bytes, such as imm of SET_PSV,
 * and aborted work leaves old bytes in its ring. So libmlx5's ring is cleared before each
 * comparison, as far as the work can reach. hwq's ring is filled with 0xa5, because hwq writes each
 * byte.
 *
 * With --device the program uses the device of that name, which may be a real device. A real device
 * runs without pumping; pairs that it does not support are left out, with a message; and with few
 * cases, not every combination must be drawn. Without --device, the emulated adapter is pumped.
 *
 * "Wild": both QPs are in ERR, so that work with any address, key and length can be posted. All
 * this work is flushed.
 */
#ifndef HWQ_TWIN_H
#define HWQ_TWIN_H

#include <limits.h>

#include "hwq_emu.h"
#include "hwq_wr.h"

#define TWIN_MEM_LEN (256u * 1024)
#define TWIN_RAW_LEN 1024 /* length of the longest WQE */
#define TWIN_SETTERS 32   /* most setters of one builder */
#define TWIN_BODY    8192 /* most bytes that a builder draws */
#define TWIN_TYPES   6    /* enum hwq_qp_type */
/* number of the IBV_SEND_* flags that a work request may have: see twin_flag_bits */
#define TWIN_FLAGS 5
#define TWIN_ALL   (1u << TWIN_FLAGS)

/* The flags of RDMA, SEND and most other builders. */
#define TWIN_RDMA_FLAGS (IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED)

/* Result of twin_builder.direct if there is no such builder. */
#define TWIN_HAS_NOT INT_MIN

struct twin_pair;
struct twin_builder;

/* One work request with drawn arguments. */
struct twin_work {
	const struct twin_builder *builder;
	unsigned int setter;   /* index into builder->setters */
	unsigned int flags;    /* IBV_SEND_* */
	unsigned int max_wqes; /* most WQEs of the work request: 1 unless draw() sets it */
	unsigned int
		/* number of its WQEs, one after the other: 1 unless hwq's poster sets it */
		n_wqes;
	_Alignas(64) uint8_t body[TWIN_BODY]; /* arguments that the builder drew */
};

/* The arguments that the builder drew: struct x *x = TWIN_OWN(w, struct x). */
#define TWIN_OWN(w, type)                                                                          \
	({                                                                                         \
		static_assert(sizeof(type) <= TWIN_BODY, "too large for a work request");          \
		(type *)(uintptr_t)(w)->body;                                                      \
	})

/* Builders of the harness (hwq_twin_ops.c). */
enum twin_common {
	TWIN_OF_PROGRAM, /* not a builder of the harness: twin_hwq_own() posts the work */
	TWIN_NOP,
	TWIN_RAW_WQE,
	TWIN_MEMCPY,
	TWIN_LOCAL_INV
};

struct twin_builder {
	const char *name;
	unsigned int types; /* 1u << HWQ_QP_* for each type that has the builder */
	uint64_t send_ops;  /* IBV_QP_EX_WITH_* that a QP must be created with */
	/* MLX5DV_QP_EX_WITH_* that a QP must be created with; for memcpy, conf.mmo */
	uint64_t mlx5_ops;
	const char *const
		/* names of the setters, or of sets of setters, ending with NULL; "-": no setter */
		*setters;
	unsigned int flags; /* IBV_SEND_* flags that the builder allows */
	enum twin_common common;
	unsigned int code; /* for use by the program */
	/*
	 * Draws the builder's arguments, for w->setter and w->flags. Sometimes draws arguments that
	 * must be refused.
	 */
	void (*draw)(struct twin_pair *p, struct twin_work *w);
	/* Calls libmlx5's builder and setters. ibv_wr_complete() returns their error. */
	void (*stock)(struct twin_pair *p, const struct twin_work *w);
	/*
	 * Posts by hwq_wqe.h or hwq_burst.h; NULL if these files have no such builder. Returns the
	 * builder's result, or TWIN_HAS_NOT for a code without a builder.
	 */
	int (*direct)(struct twin_pair *p, const struct twin_work *w);
	/*
	 * NULL, or a function for the fields of WQE `nth` of the work request that must differ: it
	 * compares each field, in both rings, with its own queue or object, and blanks it.
	 */
	void (*names)(struct twin_pair *p, const struct twin_work *w, unsigned int nth,
		uint8_t *theirs, uint8_t *ours);
};

/* A pair of QPs. The program sets the fields of the upper half. */
struct twin_pair {
	const char *name;
	struct hwq_qp_conf conf;
	const struct twin_builder *const
		/* list that ends with NULL; builders that conf does not allow are not drawn */
		*builders;
	unsigned int batch_max; /* most work requests in a batch; 0 means 4 */
	bool all_direct;        /* hwq posts no work of the pair in batches */
	void *own;              /* objects that the program needs for the pair */

	struct stock stock;
	struct twin twin;
	bool wild;
	/* the device does not support such QPs, or this user may not create them */
	bool absent;
	const void *last; /* wr_id of libmlx5's last work request; NULL: it has completed */
	/*
	 * HWQ_WQE_AFTER_UMR if libmlx5 sets the small fence in the next WQE; then work without a
	 * batch must set it too.
	 */
	unsigned int left;
	/*
	 * set by twin_builder::direct: NOPs that fill the ring's end may come only before the
	 * first WQE of the work request
	 */
	bool in_one_piece;
	/*
	 * key of libmlx5's opaque buffer, read from the first memcpy; it is the same for all QPs of
	 * the PD
	 */
	uint32_t stock_opaque_lkey;
	uint64_t stock_opaque_addr;
};

struct twin_totals {
	unsigned long cases, refused, split, fills, batches, aborted, small_fences, direct;
	/*
	 * Number of batches that hwq posted, and of those for which the compiler had the transport
	 * as a constant.
	 */
	unsigned long posted, folded;
};

/*
 * Posts n work requests through hwq in one batch. Returns the result of hwq_wr_complete(), or 0 if
 * the batch is aborted. See hwq_twin_post.h.
 */
typedef int twin_post_fn(struct twin_pair *p, const struct twin_work *w, unsigned int n,
	bool abort);

extern const char *twin_device; /* --device; NULL: the emulated adapter, which is pumped */
extern struct hwq_dev *twin_dev;
extern struct hwq_mr twin_mr; /* the region of twin_mem, with all access rights */
extern uint8_t *twin_mem;     /* memory of TWIN_MEM_LEN bytes */
extern struct twin_totals twin_totals;
extern unsigned long twin_cases; /* least number of cases of each builder and type */

/* Opens the device and sets the variables above. Arguments: [--device NAME] [CASES [SEED]]. */
void twin_begin(int argc, char **argv, unsigned long cases);
/*
 * Creates both QPs of each pair, and moves them to RTS, or to ERR with an index past the ring's
 * first laps.
 */
void twin_open(struct twin_pair *pairs, unsigned int n, bool wild);
void twin_close(struct twin_pair *pairs, unsigned int n);
/* Posts drawn work to open pairs, until each builder has had its cases or a check has failed. */
void twin_run(struct twin_pair *pairs, unsigned int n, twin_post_fn *post);
/* Calls twin_open() with `wild` true, twin_run() and twin_close(). */
void twin_wild(struct twin_pair *pairs, unsigned int n, twin_post_fn *post);
/*
 * Prints the counts, checks that every legal combination was drawn, and closes. Returns the exit
 * code. Without pairs, prints no counts.
 */
int twin_end(const struct twin_pair *pairs, unsigned int n);

/* twin_draw() returns a random number from 0 to n - 1, twin_random() returns 64 random bits. */
uint64_t twin_draw(uint64_t n);
uint64_t twin_random(void);
/* Returns true in one of n draws. */
bool twin_one_in(unsigned int n);
/* Converts IBV_SEND_* flags to hwq's flags. */
unsigned int twin_hwq_flags(unsigned int flags);
/* Returns the flags for work without a batch, including the fence that libmlx5 sets by itself. */
unsigned int twin_direct_flags(const struct twin_pair *p, const struct twin_work *w);
/* Return the big-endian word at p. */
uint32_t twin_get32(const uint8_t *p);
uint64_t twin_get64(const uint8_t *p);

/* ---- for programs that post themselves */

/*
 * Draws a work request of any builder that the pair supports. may() limits the builders; NULL: all
 * builders.
 */
void twin_draw_work(struct twin_pair *p, struct twin_work *w,
	bool (*may)(const struct twin_pair *p, const struct twin_builder *builder));
/*
 * Clears libmlx5's ring, and fills hwq's ring with 0xa5, as far as max_wqes WQEs of the longest
 * kind reach.
 */
void twin_prepare(struct twin_pair *p, unsigned int max_wqes);
/*
 * Compares the next WQEs of both rings, which are those of w. Moves *from to the end of hwq's WQEs.
 */
bool twin_compare(struct twin_pair *p, const struct twin_work *w, uint16_t *from);
void twin_count(const struct twin_pair *p, const struct twin_work *w);
/* Calls libmlx5's start and builders of a batch, without complete. */
void twin_stock_batch(struct twin_pair *p, const struct twin_work *w, unsigned int n);
/*
 * For a loop that waits for a completion: pumps the adapter. *end: time in ns until which the loop
 * waits; if it is 0, sets it. Returns false when this time has come, which even a slow machine does
 * not reach.
 */
bool twin_patience(uint64_t *end);
/*
 * Takes every completion of both queues. The status of each must be `status`, an enum
 * ibv_wc_status.
 */
void twin_drain(struct twin_pair *p, unsigned int status);
/* Resets one QP of the pair, after an error, and connects it to itself again. */
void twin_stock_restart(struct twin_pair *p);
void twin_hwq_restart(struct twin_pair *p);
/*
 * Returns the enum ibv_wc_status that libmlx5 gives for a CQE's syndrome (mlx5_handle_error_cqe()),
 * or -1 if the syndrome is above 0x16.
 */
int twin_status(uint8_t syndrome);

/* ---- data: the arguments of data setters for RDMA, SEND and atomics (hwq_twin_data.c) */

enum twin_setter {
	TWIN_SGE,
	TWIN_SGE_LIST,
	TWIN_INLINE,
	TWIN_INLINE_LIST,
	TWIN_DATA_SETTERS
};

#define TWIN_MAX_SGE 30
#define TWIN_MAX_BUF 8

struct twin_data {
	unsigned int n;
	struct ibv_sge sge[TWIN_MAX_SGE + 2];
	struct ibv_data_buf buf[TWIN_MAX_BUF];
	const uint8_t *bytes; /* inline data: the bytes to which buf points */
	size_t len;
};

extern const char *const twin_data_setters[]; /* all four data setters */
/* the first two data setters, which use no inline data */
extern const char *const twin_memory_setters[];
extern const char *const twin_no_setter[]; /* no setter */

/*
 * Draws any address, key and length if the pair is wild; otherwise memory in the first half of
 * twin_mem.
 */
void twin_draw_sge(const struct twin_pair *p, struct ibv_sge *sge);
void twin_draw_data(const struct twin_pair *p, enum twin_setter setter, struct twin_data *d);
void twin_stock_data(struct twin_pair *p, enum twin_setter setter, const struct twin_data *d);
/* Converts the lists to hwq's types. */
void twin_hwq_lists(const struct twin_data *d, struct hwq_sge *sge, struct hwq_buf *buf);

/* ---- operations that several QP types have (hwq_twin_ops.c) */

/* Operations that take data: twin_builder.code. */
enum twin_code {
	TWIN_SEND,
	TWIN_SEND_IMM,
	TWIN_SEND_INV,
	TWIN_WRITE,
	TWIN_WRITE_IMM,
	TWIN_READ,
	TWIN_CMP_SWP,
	TWIN_FETCH_ADD,
};

/* The drawn arguments of builders. */
struct twin_args {
	uint32_t rkey, imm; /* imm: immediate data, or the key to invalidate */
	uint64_t raddr, operand[2];
};

/* Draws any values if the pair is wild; otherwise addresses in the second half of twin_mem. */
void twin_draw_args(const struct twin_pair *p, struct twin_args *a);
/* Calls only the builder; setters follow. */
void twin_stock_op(struct twin_pair *p, enum twin_code code, const struct twin_args *a);

/* Builders without setters, for every type that has them. */
extern const struct twin_builder twin_nop, twin_raw_wqe, twin_memcpy, twin_local_inv;

/* Arguments that twin_memcpy draws. */
struct twin_copy {
	struct ibv_sge src;
	uint32_t dst_lkey;
	uint64_t dst, len;
};

/* Arguments that twin_local_inv draws. */
struct twin_inv {
	uint32_t rkey;
};

/*
 * Copies the raw WQE that twin_raw_wqe drew, of TWIN_RAW_LEN bytes, to `wqe`, with the given QPN.
 * Returns `wqe`.
 */
const void *twin_raw_for(const struct twin_work *w, uint32_t qpn, uint8_t *wqe);

#endif
