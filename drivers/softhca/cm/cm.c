/* SPDX-License-Identifier: BSD-3-Clause */
/* Open files of /dev/infiniband/rdma_cm, and the commands that programs write to them. */
#include "cm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>

#include "carrier.h"
#include "copy.h"
#include "file.h"
#include "loop.h"
#include "machine.h"
#include "ports.h"
#include "show.h"
#include "ucma.h"

atomic_bool cm_opened;

/* ---------------------------------------------------------------- open and close */

/* A file_closed_fn. */
static void
closed(struct cm_file *file)
{
	for (struct cm_id *id = id_next(0), *next; id != NULL; id = next) {
		const uint32_t after = id->handle + 1;

		/* This may also end ids after it: new connections of a listener. */
		if (id->file == file)
			machine_destroy(id, -1);
		next = id_next(after);
	}
}

int
cm_open(int flags)
{
	int rc;

	loop_lock();
	machine_init(&carrier);
	ports_init(carrier_accept);
	rc = loop_start(machine_fire);
	if (rc == 0) {
		carrier_start();
		rc = file_open(flags, closed);
	}
	if (rc >= 0)
		atomic_store_explicit(&cm_opened, true, memory_order_relaxed);
	loop_unlock();
	return rc;
}

bool
cm_is_file(dev_t dev, ino_t ino)
{
	return cm_is_used() && file_is(dev, ino);
}

/* ---------------------------------------------------------------- commands */

/*
 * Reads a command. The kernel reads the command's whole struct, also beyond what the program has
 * announced. Here such a command is refused.
 */
static int
read_command(const void *buf, size_t len, struct rdma_ucm_cmd_hdr *head, union ucma_in *in)
{
	const struct ucma_command *command;
	size_t n;

	if (len < sizeof(*head))
		return -EINVAL;
	if (copy_in(head, (uintptr_t)buf, sizeof(*head)) != 0)
		return -EFAULT;
	command = ucma_find(head->cmd);
	if (command == NULL || head->in + sizeof(*head) > len)
		return -EINVAL;
	if (command->error != 0)
		return command->error;
	if (head->out < command->out_min)
		return -ENOSPC;
	if (head->in < command->in_min)
		return -EINVAL;
	memset(in, 0, sizeof(*in));
	n = head->in < sizeof(*in) ? head->in : sizeof(*in);
	return copy_in(in, (uintptr_t)buf + sizeof(*head), n);
}

static int
run(int fd, const void *buf, size_t len)
{
	struct ucma_call call = {.fd = fd};
	struct rdma_ucm_cmd_hdr head;
	bool dead;
	int err;

	err = read_command(buf, len, &head, &call.in);
	if (err != 0)
		return err;
	if (head.cmd == RDMA_USER_CM_CMD_GET_EVENT)
		return ucma_get_event(fd, &call.in.get_event, head.out);
	call.out_len = head.out;
	loop_lock();
	call.file = file_of(fd, &dead);
	if (call.file == NULL)
		err = dead ? -EIO : -EBADF;
	else
		err = ucma_find(head.cmd)->run(&call);
	loop_unlock();
	return err;
}

/* Commands are short, so a longer write is not looked at. */
#define MAX_COMMAND (sizeof(struct rdma_ucm_cmd_hdr) + UINT16_MAX)

bool
cm_write(int fd, const void *buf, size_t len, ssize_t *result)
{
	struct cm_file *file;
	bool dead;
	int err;

	if (len > MAX_COMMAND || !file_may_be(fd))
		return false;
	loop_lock();
	file = file_of(fd, &dead);
	loop_unlock();
	if (file == NULL && !dead)
		return false;
	err = file == NULL ? -EIO : run(fd, buf, len);
	*result = err == 0 ? (ssize_t)len : err;
	return true;
}

/* ---------------------------------------------------------------- setuid(2) */

void
cm_user_changed(void)
{
	if (!cm_is_used())
		return;
	loop_lock();
	ports_user_changed();
	loop_unlock();
}

/* ---------------------------------------------------------------- fork(2) */

void
cm_fork_prepare(void)
{
	loop_fork_prepare();
}

void
cm_fork_parent(void)
{
	loop_fork_parent();
}

void
cm_fork_child(void)
{
	carrier_fork_child();
	ports_fork_child();
	id_fork_child();
	loop_fork_child();
	/* Needs free descriptors, so it comes after the functions that close some. */
	file_fork_child();
}
