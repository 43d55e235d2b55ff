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
 * Each function writes a text that ends with 0 into the caller's buffer of text_len bytes. The
 * function returns how many characters the whole text has, without the 0, as snprintf(3) does. If
 * the result is text_len or more, the text was cut. The functions have no errors. Fields have the
 * names of infiniband/mlx5dv.h.
 *
 * Threads: only the owner thread of a queue calls the functions that take the queue. Any thread may
 * call the functions that take bytes or a record.
 */
#ifndef HWQ_DUMP_H
#define HWQ_DUMP_H

#include "hwq_cq.h"
#include "hwq_sq.h"

struct hwq_qp;

/**
 * Decodes a WQE of an RC or UC queue: one line for the control segment, one line for each segment
 * after it.
 *
 * @param wqe
 *   The WQE.
 * @param wqe_len
 *   Bytes that may be read, even if the DS of the WQE is larger.
 * @param text
 *   The caller's buffer; written.
 * @param text_len
 *   Bytes of the buffer.
 * @return
 *   Length of the whole text.
 */
HWQ_API size_t hwq_dump_wqe(const void *wqe, size_t wqe_len, char *text, size_t text_len);

/**
 * Decodes a WQE as hwq_dump_wqe() does, for a queue of any transport: WQEs of UD, XRC, DC and raw
 * packets have more segments than those of RC.
 *
 * @param transport
 *   The transport of the queue.
 * @param wqe
 *   The WQE.
 * @param wqe_len
 *   Bytes that may be read, even if the DS of the WQE is larger.
 * @param text
 *   The caller's buffer; written.
 * @param text_len
 *   Bytes of the buffer.
 * @return
 *   Length of the whole text.
 */
HWQ_API size_t hwq_dump_wqe_as(enum hwq_transport transport, const void *wqe, size_t wqe_len,
	char *text, size_t text_len);

/**
 * Decodes a WQE in a send queue. Only the owner thread may call this function.
 *
 * @param sq
 *   The send queue.
 * @param wqe_counter
 *   The index at which the WQE starts: hwq_cqe.wqe_counter of its completion.
 * @param text
 *   The caller's buffer; written.
 * @param text_len
 *   Bytes of the buffer.
 * @return
 *   Length of the whole text.
 */
HWQ_API size_t hwq_dump_sq_wqe(const struct hwq_sq *sq, uint16_t wqe_counter, char *text,
	size_t text_len);

/**
 * Decodes the 64 bytes of a CQE, on one line.
 *
 * @param cqe
 *   The CQE.
 * @param text
 *   The caller's buffer; written.
 * @param text_len
 *   Bytes of the buffer.
 * @return
 *   Length of the whole text.
 */
HWQ_API size_t hwq_dump_cqe(const void *cqe, char *text, size_t text_len);

/**
 * Decodes a record that hwq_cq_peek() wrote, on one line.
 *
 * @param cqe
 *   The record.
 * @param text
 *   The caller's buffer; written.
 * @param text_len
 *   Bytes of the buffer.
 * @return
 *   Length of the whole text.
 */
HWQ_API size_t hwq_dump_record(const struct hwq_cqe *cqe, char *text, size_t text_len);

/**
 * Decodes a completion and its work request: the WQE in the send queue, or the memory of the posted
 * receive. Only the owner thread may call this function, before hwq_sq_complete() or
 * hwq_rq_complete() frees the WQE.
 *
 * @param cqe
 *   The completion.
 * @param qp
 *   The QP of the completion.
 * @param text
 *   The caller's buffer; written.
 * @param text_len
 *   Bytes of the buffer.
 * @return
 *   Length of the whole text.
 */
HWQ_API size_t hwq_dump_completion(const struct hwq_cqe *cqe, const struct hwq_qp *qp, char *text,
	size_t text_len);

#endif
