/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages whose data need several records. server.h describes how their data move. The fields
 * `part`, `request` and `moved` of struct served have the message.
 */
#ifndef SOFTHCA_SERVER_LONG_H
#define SOFTHCA_SERVER_LONG_H

#include <stdbool.h>
#include <stdint.h>

struct record_request;
struct served;
struct softhca_lanes;

/*
 * Handles the request, which has the first len bytes of the data. Returns false if the caller must
 * try again later.
 */
bool long_first(struct softhca_lanes *lanes, struct served *s, const struct record_request *r,
	uint64_t len);
/* Handles the next len bytes of the data. */
void long_data(struct softhca_lanes *lanes, struct served *s, const uint8_t *data, uint64_t len);
/* Puts the next data of a read (s->part is PART_READ) into s->out. */
void long_read(struct softhca_lanes *lanes, struct served *s);

#endif
