/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * QPs that are left over: their creation failed half-way, and the device refused to destroy them. Nobody has a
 * handle of them, but they hold their CQs, their SRQ and their domain. Whoever destroys one of those tries
 * to destroy the QPs before. Any thread.
 */
#ifndef HWQ_LEFT_H
#define HWQ_LEFT_H

struct hwq_dev;
struct hwq_left;
struct ibv_qp;

/* Destroys a QP that is of no use, or keeps it for hwq_left_destroy(). */
void hwq_left_add(struct hwq_dev *dev, struct ibv_qp *qp);

/* Destroys the QPs that are left over, as far as the device lets it. */
void hwq_left_destroy(struct hwq_dev *dev);

#endif
