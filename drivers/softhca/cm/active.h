/* SPDX-License-Identifier: BSD-3-Clause */
/* The asking end of a connection: machine.h. */
#ifndef SOFTHCA_CM_ACTIVE_H
#define SOFTHCA_CM_ACTIVE_H

#include "machine.h"

/* Messages for an id. */
void active_mra(struct cm_id *id, const struct cm_message *m);
void active_rep(struct cm_id *id, const struct cm_message *m);
void active_sidr_rep(struct cm_id *id, const struct cm_message *m);
/* The id's time has come, while it waits for an answer to its request. */
void active_waited(struct cm_id *id);
/* The link was lost while the id waited for an answer to its request. */
void active_lost(struct cm_id *id);
/* The program is ready for the connection: sends RTU. Returns 0, or -EINVAL in a wrong state. */
int active_ready(struct cm_id *id);

#endif
