/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses the port and the GID of a device, or of one of its queue pairs. */
#ifndef HWQ_PORT_H
#define HWQ_PORT_H

#include "hwq_dev.h"
#include "hwq_path.h"

/*
 * Chooses the device's port and GID, and stores the port's limits. @return 0, or -errno after a log
 * line.
 */
int hwq_port_choose(struct hwq_dev *dev);
/*
 * Writes to *out the port and the GID of a path. @return 0; -EINVAL if the device cannot have such
 * a path; or -errno of a query. After an error, a log line names the setting.
 */
int hwq_port_of_path(struct hwq_dev *dev, const struct hwq_path *path, struct hwq_dev_port *out);

/* Returns how long a sender waits for a receive of this QP, in the IB encoding. */
static inline uint8_t
hwq_path_min_rnr_timer(const struct hwq_path *path)
{
	return (path->mask & HWQ_PATH_MIN_RNR_TIMER) != 0 ? path->min_rnr_timer : 12;
}

#endif
