/* SPDX-License-Identifier: BSD-3-Clause */
/* Registers the engine's log type with EAL. */
#include "gantry_log.h"

RTE_LOG_REGISTER(gantry_logtype, lib.gantry, INFO);
