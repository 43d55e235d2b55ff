/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the frames that raw queue pairs send into a file for packet analysers. */
#ifndef SOFTHCA_CAPTURE_H
#define SOFTHCA_CAPTURE_H

#include <stddef.h>
#include <stdint.h>

struct softhca_config;

/*
 * Appends a frame without FCS to the file cfg->capture. Does nothing if this path is empty. Any
 * lane may call it.
 */
void capture_frame(const struct softhca_config *cfg, const uint8_t *frame, size_t len);

#endif
