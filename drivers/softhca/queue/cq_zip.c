/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compressed completions (mlx5dv_create_cq(3), MLX5DV_CQ_INIT_ATTR_MASK_COMPRESSED_CQE).
 *
 * n completions that differ only in the fields of a mini CQE take n entries of the ring:
 *
 *   entry 0        the title: the common fields; its byte count is n
 *   entry 1        mini CQEs 0 to 7
 *   entry 8 * i    mini CQEs 8 * i to 8 * i + 7, for i from 1 on
 *   other entries  unchanged: the program writes their owner bits
 *
 * Linux (mlx5e_decompress_cqes_start() of the mlx5 driver) and DPDK (mlx5_rx_poll_len() of the mlx5
 * driver) read this layout. Completions wait while a lane holds their CQ. If several completions
 * wait, they are compressed; a single completion is written uncompressed.
 */
#include "cq_zip.h"

#include <stdlib.h>
#include <string.h>

#include "cqe.h"

#define MINI_LEN 8 /* bytes of one mini CQE */
#define MINIS    8 /* number of mini CQEs in one entry */

/*
 * The fields of a mini CQE. The first 4 bytes are the index and opcode of a send WQE. For a receive
 * they are a hash or checksum, which is 0 here.
 */
enum wire_mini_cqe {
	MINI_WQE_COUNTER = 0, /* 16 bits */
	MINI_WQE_OPCODE = 2,
	MINI_BYTE_CNT = 4
};

struct cq_zip {
	struct cqe title; /* first of the waiting completions */
	uint32_t n;
	struct mini {
		uint32_t byte_cnt;
		uint16_t wqe_counter;
		uint8_t wqe_opcode;
	} mini[CQ_ZIP_MAX];
};

struct cq_zip *
cq_zip_new(void)
{
	return calloc(1, sizeof(struct cq_zip));
}

/*
 * True if the completion may be a title. A completion with an error may not: its opcode is greater
 * than CQE_RESP_SEND_INV.
 */
static bool
may_be_title(const struct cqe *cqe)
{
	return !cqe->solicited && cqe->opcode <= CQE_RESP_SEND_INV;
}

/*
 * True if the completion differs from the title only in the fields of a mini CQE. The program takes
 * all other fields from the title, and computes the indices of receives from the title's index. The
 * uidx is always equal, because a QP has only one uidx.
 */
static bool
follows(const struct cq_zip *zip, const struct cqe *cqe)
{
	const struct cqe *t = &zip->title;
	bool qp = t->opcode == CQE_REQ ? (t->opcode_qpn & 0xffffff) == (cqe->opcode_qpn & 0xffffff)
				       : t->opcode_qpn == cqe->opcode_qpn;

	return may_be_title(cqe) && qp && cqe->opcode == t->opcode && cqe->imm == t->imm &&
	       cqe->flags_rqpn == t->flags_rqpn && cqe->slid == t->slid &&
	       (t->opcode == CQE_REQ ||
		       (uint16_t)cqe->wqe_counter == (uint16_t)(t->wqe_counter + zip->n));
}

static void
write_minis(struct softhca_cq *cq, uint32_t first)
{
	const struct cq_zip *zip = cq->zip;

	for (uint32_t i = 0; i < zip->n; i++) {
		uint32_t entry = i < MINIS ? 1 : i - i % MINIS;
		uint8_t *p = cqe_at(cq, first + entry) + i % MINIS * MINI_LEN;

		memset(p, 0, MINI_LEN);
		if (zip->title.opcode == CQE_REQ) {
			put_be16(p + MINI_WQE_COUNTER, zip->mini[i].wqe_counter);
			p[MINI_WQE_OPCODE] = zip->mini[i].wqe_opcode;
		}
		put_be32(p + MINI_BYTE_CNT, zip->mini[i].byte_cnt);
	}
}

void
cq_zip_flush(struct softhca_cq *cq)
{
	struct cq_zip *zip = cq->zip;
	uint32_t n = zip->n, first = cq->pi - n;

	if (n == 0)
		return;
	if (n == 1) {
		cqe_write(cq, first, &zip->title, 0);
	} else {
		write_minis(cq, first);
		zip->title.byte_cnt = n;
		cqe_write(cq, first, &zip->title, CQE_COMPRESSED);
	}
	zip->n = 0;
	cq_event_push(cq, n, false);
}

bool
cq_zip_add(struct softhca_cq *cq, const struct cqe *cqe)
{
	struct cq_zip *zip = cq->zip;

	if (zip->n != 0 && !follows(zip, cqe))
		cq_zip_flush(cq);
	if (zip->n == 0 && !may_be_title(cqe))
		return false;
	if (zip->n == 0) {
		cq_take_due_arm(cq);
		zip->title = *cqe;
	}
	zip->mini[zip->n++] = (struct mini){.byte_cnt = cqe->byte_cnt,
		.wqe_counter = (uint16_t)cqe->wqe_counter,
		.wqe_opcode = (uint8_t)(cqe->opcode_qpn >> 24)};
	cq->pi++;
	if (zip->n == CQ_ZIP_MAX || zip->n == cq->n)
		cq_zip_flush(cq);
	return true;
}
