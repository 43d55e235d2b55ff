/* SPDX-License-Identifier: BSD-3-Clause */
/* The answering end of a connection: machine.h. */
#ifndef SOFTHCA_CM_PASSIVE_H
#define SOFTHCA_CM_PASSIVE_H

#include "machine.h"

/* A request (REQ or SIDR_REQ) has come on the link. */
void passive_request(struct cm_link *link, const struct cm_message *m);
void passive_rtu(struct cm_id *id);
/* The partner has not answered the REP. */
void passive_waited(struct cm_id *id);

#endif
