/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of objects: one row for each class. The objects of a closed context are destroyed in
 * the order of the rows. If objects of one class refer to objects of another class, the class that
 * refers comes first. ROW(x) stands for the struct object_class x_class, which the file of these
 * objects defines.
 *
 * The last rows have calls, but no objects.
 */
#ifndef SOFTHCA_CLASSES_H
#define SOFTHCA_CLASSES_H

#include "object.h"

#define OBJECT_CLASSES(ROW)                                                                        \
	ROW(devx_av_map)                                                                           \
	ROW(devx_tis)                                                                              \
	ROW(devx_td)                                                                               \
	ROW(devx_q_counter)                                                                        \
	ROW(devx_qpns)                                                                             \
	ROW(devx_dct)                                                                              \
	ROW(devx_qp)                                                                               \
	ROW(qp)                                                                                    \
	ROW(wq_table)                                                                              \
	ROW(wq)                                                                                    \
	ROW(devx_srq)                                                                              \
	ROW(srq)                                                                                   \
	ROW(xrcd)                                                                                  \
	ROW(ah)                                                                                    \
	ROW(devx_alias)                                                                            \
	ROW(mw)                                                                                    \
	ROW(devx_mkey)                                                                             \
	ROW(devx_psv)                                                                              \
	ROW(devx_dek)                                                                              \
	ROW(devx_login)                                                                            \
	ROW(devx_counter)                                                                          \
	ROW(mr)                                                                                    \
	ROW(dmah)                                                                                  \
	ROW(dm)                                                                                    \
	ROW(devx_cq)                                                                               \
	ROW(cq)                                                                                    \
	ROW(umem)                                                                                  \
	ROW(uar)                                                                                   \
	ROW(var)                                                                                   \
	ROW(devx_pd)                                                                               \
	ROW(pd)                                                                                    \
	ROW(device)                                                                                \
	ROW(dmabuf)                                                                                \
	ROW(reg_mr)                                                                                \
	ROW(qp_modify)                                                                             \
	ROW(write)                                                                                 \
	ROW(devx)                                                                                  \
	ROW(devx_event)                                                                            \
	ROW(devx_general)                                                                          \
	ROW(devx_qp_commands)

#define OBJECT_CLASS_DECLARE(name) extern const struct object_class name##_class;
#define OBJECT_CLASS_COUNT(name)   +1
#define OBJECT_N_CLASSES           (0 OBJECT_CLASSES(OBJECT_CLASS_COUNT))

OBJECT_CLASSES(OBJECT_CLASS_DECLARE)

#endif
