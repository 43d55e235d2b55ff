/* SPDX-License-Identifier: BSD-3-Clause */
/* GET_EVENT: hands the next event to the program, and waits for it. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "copy.h"
#include "loop.h"
#include "notice.h"
#include "ucma.h"

/*
 * Waits until the descriptor is readable. If it has O_NONBLOCK, does not wait. recv(2) on a socket
 * is restarted after a signal handler with SA_RESTART, as the kernel's GET_EVENT is: signal(7).
 * It is a cancellation point, as write(2) is.
 */
static int
wait_for_byte(int fd)
{
	char byte;
	long rc;
	int was;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &was);
	rc = syscall(SYS_recvfrom, fd, &byte, 1, MSG_PEEK, NULL, NULL);
	pthread_setcanceltype(was, NULL);
	if (rc < 0)
		return -errno;
	return rc > 0 ? 0 : -EIO; /* 0: the parent's file in a child of fork(2) */
}

/* Takes the first event. Returns 0, -EAGAIN if no event waits, or another -errno. */
static int
take(int fd, const struct rdma_ucm_get_event *in, size_t out_len)
{
	struct cm_event *e;
	struct cm_file *file;
	bool dead;
	int err;

	file = file_of(fd, &dead);
	if (file == NULL)
		return dead ? -EIO : -EBADF;
	e = file->first;
	if (e == NULL)
		return -EAGAIN;
	err = copy_out(in->response, &e->resp,
		out_len < sizeof(e->resp) ? out_len : sizeof(e->resp));
	if (err != 0)
		return err;
	(void)file_take_first(file, fd);
	e->id->events_reported++;
	if (e->resp.event == EVENT_CONNECT_REQUEST)
		e->id->backlog++;
	free(e);
	return 0;
}

int
ucma_get_event(int fd, const struct rdma_ucm_get_event *in, size_t out_len)
{
	int err;

	for (;;) {
		loop_lock();
		err = take(fd, in, out_len);
		loop_unlock();
		if (err != -EAGAIN)
			return err;
		err = wait_for_byte(fd);
		if (err != 0)
			return err;
	}
}
