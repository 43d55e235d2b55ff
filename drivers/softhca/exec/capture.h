/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the frames that raw queue pairs send into a file for packet analysers. */
#ifndef SOFTHCA_CAPTURE_H
#define SOFTHCA_CAPTURE_H

#include <stddef.h>
#include <stdint.h>

struct softhca_config;

/* Appends a frame without FCS to cfg->capture. An empty path: does nothing. Any lane. */
void capture_frame(const struct softhca_config *cfg, const uint8_t *frame, size_t len);

#endif
