/* SPDX-License-Identifier: BSD-3-Clause */
/* The frames that raw queue pairs send, in a file that packet analysers read. */
#ifndef SOFTHCA_CAPTURE_H
#define SOFTHCA_CAPTURE_H

#include <stddef.h>
#include <stdint.h>

struct softhca_config;

/* Appends a frame without FCS to cfg->capture, or drops it where that is empty. Any lane. */
void capture_frame(const struct softhca_config *cfg, const uint8_t *frame, size_t len);

#endif
