/* SPDX-License-Identifier: BSD-3-Clause */
/* Which port and GID a device, or one of its queue pairs, uses. */
#ifndef HWQ_PORT_H
#define HWQ_PORT_H

#include "hwq_dev.h"
#include "hwq_path.h"

/*
 * Chooses the device's port and GID, and notes the port's limits. @return 0; or -errno and a log
 * line.
 */
int hwq_port_choose(struct hwq_dev *dev);
/*
 * The port and the GID that a path asks for, in *out. @return 0; -EINVAL the path is not possible
 * on the device; or -errno of a query. A log line names the setting.
 */
int hwq_port_of_path(struct hwq_dev *dev, const struct hwq_path *path, struct hwq_dev_port *out);

/* What a sender waits for a receive here. */
static inline uint8_t
hwq_path_min_rnr_timer(const struct hwq_path *path)
{
	return (path->mask & HWQ_PATH_MIN_RNR_TIMER) != 0 ? path->min_rnr_timer : 12;
}

#endif
