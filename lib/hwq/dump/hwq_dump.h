/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A WQE or CQE as text, for a log line about a failed completion.
 *
 *     if (cqe.syndrome != 0) {
 *         hwq_dump_completion(&cqe, qp, text, sizeof(text));    before hwq_sq_complete()
 *         puts(text);
 *     }
 *
 * All functions write text that ends with 0 into the caller's buffer of text_len bytes. They return how
 * many characters the whole text has, without the 0, as snprintf(3) does. If that is text_len or more,
 * the text was cut. They have no errors. Fields have the names of infiniband/mlx5dv.h.
 *
 * Threads: those that take a queue are for its owner thread. The others read what they are given only,
 * and may be called by any thread.
 */
#ifndef HWQ_DUMP_H
#define HWQ_DUMP_H

#include "hwq_cq.h"
#include "hwq_sq.h"

struct hwq_qp;

/**
 * Decodes the WQE at @p wqe, of an RC or UC queue: one line for the control segment, one for each segment
 * after it.
 * @param wqe_len bytes that may be read, whatever length the WQE itself says.
 * @return length of the whole text.
 */
HWQ_API size_t hwq_dump_wqe(const void *wqe, size_t wqe_len, char *text, size_t text_len);

/** Decodes a WQE as hwq_dump_wqe() does, of a queue of any transport: WQEs of UD, XRC, DC and raw packets
 *  have more segments. @return length of the whole text. */
HWQ_API size_t hwq_dump_wqe_as(enum hwq_transport transport, const void *wqe, size_t wqe_len,
	char *text, size_t text_len);

/** Decodes the WQE of @p sq that starts at wqe_counter, which is hwq_cqe.wqe_counter of its completion.
 *  Owner thread only. @return length of the whole text. */
HWQ_API size_t hwq_dump_sq_wqe(const struct hwq_sq *sq, uint16_t wqe_counter, char *text,
	size_t text_len);

/** Decodes the 64 bytes of a CQE, on one line. @return length of the whole text. */
HWQ_API size_t hwq_dump_cqe(const void *cqe, char *text, size_t text_len);

/** Decodes a record that hwq_cq_peek() wrote, on one line. @return length of the whole text. */
HWQ_API size_t hwq_dump_record(const struct hwq_cqe *cqe, char *text, size_t text_len);

/**
 * Decodes a completion of @p qp and its work request: the WQE in the send queue, or the memory that was
 * posted to receive into. Owner thread only, before hwq_sq_complete() or hwq_rq_complete() frees the
 * WQE. @return length of the whole text.
 */
HWQ_API size_t hwq_dump_completion(const struct hwq_cqe *cqe, const struct hwq_qp *qp, char *text,
	size_t text_len);

#endif
