/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fork(2). The parent continues as before. The child has no threads of the adapter, and locks of
 * the data half may stay locked in the child for ever. So the child abandons the objects of the
 * parent's adapters, and its next open starts with an adapter without objects.
 */
#include "fork.h"

#include <pthread.h>

#include "cm.h"
#include "contexts.h"
#include "counters.h"
#include "dev.h"
#include "devices.h"
#include "dm.h"
#include "dmabuf.h"
#include "event.h"
#include "fork_lock.h"
#include "hca.h"
#include "nl_socket.h"
#include "object.h"
#include "pdn.h"
#include "resource.h"
#include "shim_users.h"
#include "tree.h"

/* After this function, no uverbs call runs, and all locks of the control half are held. */
static void
prepare(void)
{
	nl_sockets_fork_prepare();
	cm_fork_prepare();
	contexts_fork_prepare();
	dmabuf_fork_prepare();
	object_fork_prepare();
	pdn_fork_prepare();
	softhca_watch_fork_prepare();
	tree_fork_prepare();
	event_files_fork_prepare();
	fork_lock_has_all = true;
}

static void
parent(void)
{
	fork_lock_has_all = false;
	event_files_fork_done();
	tree_fork_parent();
	softhca_watch_fork_parent();
	pdn_fork_parent();
	object_fork_parent();
	dmabuf_fork_parent();
	contexts_fork_parent();
	cm_fork_parent();
	nl_sockets_fork_done();
}

static void
child(void)
{
	unsigned int n;
	struct softhca_dev *devs = softhca_devices(&n);

	fork_lock_has_all = false;
	event_files_fork_done();
	softhca_watch_fork_child();
	for (unsigned int i = 0; i < n; i++)
		devs[i].lanes = NULL;
	tree_fork_child();
	pdn_fork_child();
	object_fork_child();
	dmabuf_fork_child();
	dm_fork_child();
	resources_fork_child();
	counters_fork_child();
	contexts_fork_child();
	cm_fork_child();
	nl_sockets_fork_done();
	users_init();
}

int
fork_init(void)
{
	return pthread_atfork(prepare, parent, child);
}
