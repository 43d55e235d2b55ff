/* SPDX-License-Identifier: BSD-3-Clause */
/* Shows ids to `rdma res show cm_id`. As in the kernel, an id is shown once it has a port. */
#ifndef SOFTHCA_CM_SHOW_H
#define SOFTHCA_CM_SHOW_H

#include "id.h"

/* The id has a port now. */
void show_take(struct cm_id *id);
/* The id has changed. */
void show_state(struct cm_id *id);
void show_give(struct cm_id *id);

#endif
