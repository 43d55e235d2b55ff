/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A WQE or CQE as text: what a failed completion prints.
 */
#ifndef HWQ_DUMP_H
#define HWQ_DUMP_H

#include "hwq_cq.h"
#include "hwq_sq.h"

struct hwq_qp;

/**
 * Decodes the WQE at @p wqe: one line for the control segment, one for each segment after it. Reads
 * no more than wqe_len bytes, whatever the WQE's DS says.
 * @return characters the whole text has, as snprintf(3); text holds what fits, ended by 0.
 */
HWQ_API size_t hwq_dump_wqe(const void *wqe, size_t wqe_len, char *text, size_t text_len);

/** Decodes a WQE of a queue of any transport. UD, XRC, DC and raw packets have more segments. */
HWQ_API size_t hwq_dump_wqe_as(enum hwq_transport transport, const void *wqe, size_t wqe_len,
	char *text, size_t text_len);

/** The WQE of @p sq that starts at wqe_counter: what a CQE names. Owner thread. */
HWQ_API size_t hwq_dump_sq_wqe(const struct hwq_sq *sq, uint16_t wqe_counter, char *text,
	size_t text_len);

/** Decodes the 64 bytes of a CQE, on one line. @return as hwq_dump_wqe(). */
HWQ_API size_t hwq_dump_cqe(const void *cqe, char *text, size_t text_len);

/** Decodes a record that hwq_cq_peek() wrote, on one line. @return as hwq_dump_wqe(). */
HWQ_API size_t hwq_dump_record(const struct hwq_cqe *cqe, char *text, size_t text_len);

/**
 * A completion of @p qp and the work request it tells of: the WQE in the send queue, or the memory that
 * was posted to receive into. What a failed completion prints. Owner thread, before the WQE is freed.
 */
HWQ_API size_t hwq_dump_completion(const struct hwq_cqe *cqe, const struct hwq_qp *qp, char *text,
	size_t text_len);

#endif
