/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the id that a command names. */
#include <errno.h>

#include "ucma.h"

int
ucma_id(const struct ucma_call *call, uint32_t handle, struct cm_id **id)
{
	*id = id_of(handle);
	if (*id == NULL)
		return -ENOENT;
	return (*id)->file == call->file ? 0 : -EINVAL;
}

int
ucma_id_at_port(const struct ucma_call *call, uint32_t handle, struct cm_id **id)
{
	int err = ucma_id(call, handle, id);

	return err == 0 && (*id)->place.dev == NULL ? -EINVAL : err;
}
