/* SPDX-License-Identifier: BSD-3-Clause */
/* Shows ids to `rdma res show cm_id`. */
#include "show.h"

#include <string.h>

#include <rdma/rdma_user_cm.h>

#include "dev.h"
#include "resource.h"

/* enum ibv_qp_type */
#define QPT_RC 2
#define QPT_UD 4

static void
show_address(_Atomic uint32_t to[7], const struct sockaddr_in6 *address)
{
	uint32_t words[7];

	_Static_assert(sizeof(words) == sizeof(*address), "an address is seven words");
	memcpy(words, address, sizeof(words));
	for (unsigned int i = 0; i < 7; i++)
		resource_set(&to[i], words[i]);
}

static void
show(struct cm_id *id)
{
	struct resource *r = id->shown;

	resource_set(&r->kind, id_is_ud(id) ? QPT_UD : QPT_RC);
	resource_set(&r->cm_id.state, id->state);
	resource_set(&r->cm_id.ps, id->ps);
	resource_set(&r->cm_id.port, id->place.port);
	resource_set(&r->cm_id.qpn, id->qpn);
	show_address(r->cm_id.src, &id->src);
	show_address(r->cm_id.dst, &id->dst);
}

void
show_state(struct cm_id *id)
{
	if (id->shown != NULL)
		show(id);
}

void
show_take(struct cm_id *id)
{
	if (id->shown == NULL)
		id->shown = resource_take(id->place.dev->index, RESOURCE_CM_ID);
	if (id->shown == NULL)
		return;
	show(id);
	resource_show(id->shown, RESOURCE_CM_ID);
}

void
show_give(struct cm_id *id)
{
	resource_give(id->shown);
	id->shown = NULL;
}
