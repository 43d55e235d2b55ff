/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is left over: a QP's creation failed half-way, and the device refused to take a part of it
 * back. Nobody has a handle of that part. A QP holds its CQs, its SRQ and its domain, a buffer the
 * device. Whoever ends one of those tries to end the parts before. Any thread.
 */
#ifndef HWQ_LEFT_H
#define HWQ_LEFT_H

struct hwq_dev;
struct hwq_left;
struct hwq_mr;
struct ibv_qp;

/* Destroys a QP that is of no use, or keeps it for hwq_left_destroy(). */
void hwq_left_add(struct hwq_dev *dev, struct ibv_qp *qp);

/* Deregisters mr, which is of buf, and frees buf; or keeps both for hwq_left_destroy(). */
void hwq_left_add_buf(struct hwq_dev *dev, const struct hwq_mr *mr, void *buf);

/* Ends what is left over, as far as the device lets it. */
void hwq_left_destroy(struct hwq_dev *dev);

#endif
