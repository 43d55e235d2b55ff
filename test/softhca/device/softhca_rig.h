/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two QPs of the emulated adapter, with queues, doorbell records and UAR pages that the test itself
 * writes. The rig has only the adapter's data half: no ioctl(2), libibverbs or libmlx5. The test
 * writes WQEs with the structures of mlx5dv.h, which the adapter does not use.
 */
#ifndef SOFTHCA_RIG_H
#define SOFTHCA_RIG_H

#include <endian.h>
#include <infiniband/mlx5dv.h>

#include "dev.h"
#include "hca.h"
#include "qp_ready.h"

#define RIG_PDN    5
#define RIG_BUF    (1 << 16)
#define RIG_MAX_BB 1024

struct rig_event {
	unsigned int comp, async[32];
};

struct rig_end {
	uint8_t *page; /* the UAR page */
	struct softhca_uar *uar;
	struct softhca_cq *cq;
	struct softhca_qp *qp;
	uint8_t *cq_buf, *sq, *rq, *qp_buf;
	_Atomic uint32_t *cq_db, *qp_db;
	uint32_t n_cqe, cq_ci, sq_bb, rq_n, qpn, uidx, pdn;
	uint32_t cqe_len;
	uint16_t sq_pi, rq_pi;
	unsigned int bf; /* index of the BlueFlame buffer that is used next */
	struct rig_event cq_event, qp_event;
	uint8_t *buf; /* RIG_BUF bytes that are registered */
	struct softhca_mkey *mkey;
	uint32_t key;
};

struct rig_opts {
	uint32_t sq_bb, rq_n, n_cqe, cqe_len, access, threads, lenient, bf_reg_size, bandwidth_mbps;
	bool ignore_overrun, compress, shared_uar, no_connect;
	uint64_t max_memcpy;
	uint32_t pdn_b;            /* PD of end b; 0 means RIG_PDN */
	enum softhca_qp_type type; /* 0: RC; QPs of other types are connected by the caller */
};

struct rig {
	struct softhca_config cfg;
	struct rig_end a, b;
};

/*
 * Creates a device, UAR pages, CQs, QPs in RTS (in RESET with no_connect), and one registered
 * buffer for each end.
 */
void rig_init(struct rig *r, const struct rig_opts *opts);
void rig_fini(struct rig *r);
/* Takes the end's QP from RESET to RTS, with these attributes. */
void rig_take(struct rig_end *e, enum kind kind, struct softhca_qp_attr attr);
/*
 * Takes the end's QP from RESET to RTS, connected to the QP number dest, with this rnr_retry and
 * RNR timer.
 */
void rig_connect(struct rig_end *e, uint32_t dest, uint8_t rnr_retry, uint8_t rnr_timer);
int rig_modify(struct rig_end *e, uint32_t state);

/* A WQE that is being built: at most 16 WQEBBs. */
struct rig_wqe {
	uint8_t bytes[1024];
	uint32_t ds;
	uint8_t opcode, opmod, flags;
	uint32_t imm;
};

struct rig_wqe rig_wqe(uint8_t opcode, uint8_t flags);
void rig_raddr(struct rig_wqe *w, uint64_t va, uint32_t rkey);
void rig_sge(struct rig_wqe *w, uint64_t va, uint32_t lkey, uint32_t len);
void rig_inline(struct rig_wqe *w, const void *p, uint32_t len);
void rig_atomic(struct rig_wqe *w, uint64_t swap_add, uint64_t compare);

/*
 * Writes the WQE into the SQ at the producer index, and returns the WQE's index. Does not write the
 * doorbell record.
 */
uint16_t rig_put(struct rig_end *e, const struct rig_wqe *w);
void rig_record(struct rig_end *e); /* sets the doorbell record to the producer index */
/* Writes the first 8 bytes of WQE idx to the next BlueFlame buffer. */
void rig_bell(struct rig_end *e, uint16_t idx);
void rig_blueflame(struct rig_end *e, uint16_t idx);
/* Calls rig_put(), rig_record() and rig_bell(). */
void rig_post(struct rig_end *e, const struct rig_wqe *w);
void rig_recv(struct rig_end *e, uint64_t va, uint32_t lkey, uint32_t len);
void rig_arm(struct rig_end *e, bool solicited);
uint8_t *rig_sq_at(struct rig_end *e, uint16_t idx);
_Atomic uint64_t *rig_bf_word(struct rig_end *e, unsigned int twin, unsigned int word);

/* Pumps until the device is idle. If the device has threads, waits for a short time. */
void rig_run(struct rig *r);
/* Returns the next CQE, or NULL if there is none. */
const struct mlx5_cqe64 *rig_poll(struct rig_end *e);
/* As rig_poll(), but waits up to `ms` milliseconds while the device runs. */
const struct mlx5_cqe64 *rig_wait(struct rig *r, struct rig_end *e, unsigned int ms);
void rig_sync_ci(struct rig_end *e); /* publishes the consumer index */

/* Returns the address in the form in which a WQE contains it. */
static inline uint64_t
rig_va(const void *p)
{
	return (uintptr_t)p;
}

static inline const struct mlx5_err_cqe *
rig_err(const struct mlx5_cqe64 *cqe)
{
	return (const struct mlx5_err_cqe *)cqe;
}

unsigned long rig_violations(void);
/* The check that failed last, of enum wire_vendor. The log names this check. */
extern unsigned int rig_check;

#endif
