/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parts of QPs and keys that could not be destroyed. If creating a QP or a key fails half-way, the
 * parts that exist are destroyed again; the device may refuse that. No caller has a handle of such
 * a part, but the part still uses other objects: a QP uses its CQs, its SRQ and its domain; a
 * buffer uses the device. So hwq tries to destroy the parts again before it destroys such an
 * object. Any thread may call the functions of this file.
 */
#ifndef HWQ_LEFT_H
#define HWQ_LEFT_H

struct hwq_dev;
struct hwq_left;
struct hwq_mr;
struct ibv_qp;
struct mlx5dv_devx_obj;
struct mlx5dv_devx_umem;

/* Destroys a QP that is not needed. If the device refuses, stores the QP for hwq_left_destroy(). */
void hwq_left_add(struct hwq_dev *dev, struct ibv_qp *qp);

/*
 * Deregisters mr, which covers buf, and frees buf. If the device refuses, stores both for
 * hwq_left_destroy().
 */
void hwq_left_add_buf(struct hwq_dev *dev, const struct hwq_mr *mr, void *buf);

/*
 * Destroys a key and then the user memory that it covers; each of them may be NULL. If the device
 * refuses, stores what remains for hwq_left_destroy().
 */
void hwq_left_add_key(struct hwq_dev *dev, struct mlx5dv_devx_obj *obj,
	struct mlx5dv_devx_umem *umem);

/* Destroys all stored parts that the device no longer refuses to destroy. */
void hwq_left_destroy(struct hwq_dev *dev);

#endif
