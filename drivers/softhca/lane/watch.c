/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The watcher: a thread that wakes the adapters of this process.
 *
 * The watcher waits for two events: the program uses a page that a sleeping adapter has closed
 * (mappings.h), or the file of faults changes. The watcher starts when the first page is watched.
 *
 * The first thread of an adapter also waits for such uses while it sleeps (idle.c). Each of these
 * threads has its own epoll, with EPOLLEXCLUSIVE: the kernel wakes the first waiting epoll in the
 * order in which the epolls were added. The watcher's epoll is the last, so the watcher runs only
 * while the first threads are awake. It is needed then: the first threads may have long work to do,
 * and the program must not wait until this work ends.
 *
 * If the kernel or a sandbox refuses a call that the watcher needs, the watcher does not start.
 * Then device threads sleep only for a short time.
 */
#include <pthread.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "device_thread.h"
#include "devices.h"
#include "fault.h"
#include "fork_lock.h"
#include "hca.h"
#include "lanes.h"
#include "mappings.h"
#include "uar.h"
#include "uffd.h"
#include "wire_adapter.h"

static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static bool tried; /* start() has been called once; protected by start_lock */

static int uffd, watcher_fd = -1; /* protected by start_lock */

static int
epoll_add(int epoll, int fd, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.fd = fd};

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

static void *
watcher_main(void *arg)
{
	const int epoll = (int)(intptr_t)arg, file = fault_file_watch();
	struct epoll_event event;

	if (file >= 0 && epoll_add(epoll, file, EPOLLIN) != 0)
		(void)fault_file_event();
	for (;;) {
		if (epoll_wait(epoll, &event, 1, -1) != 1)
			continue;
		/* Closing a descriptor removes it from its epolls. */
		if (event.data.fd == file)
			(void)fault_file_event();
		else
			(void)mappings_open_all();
	}
	return NULL;
}

/* Starts the watcher. The caller holds start_lock. */
static void
start(void)
{
	pthread_t thread;

	tried = true;
	uffd = uffd_open();
	if (uffd < 0)
		return;
	watcher_fd = epoll_create1(EPOLL_CLOEXEC);
	if (watcher_fd < 0 || epoll_add(watcher_fd, uffd, EPOLLIN | EPOLLEXCLUSIVE) != 0 ||
		device_thread(&thread, "softhca-watch", watcher_main,
			(void *)(intptr_t)watcher_fd) != 0) {
		if (watcher_fd >= 0)
			close(watcher_fd);
		watcher_fd = -1;
		close(uffd);
		return;
	}
	pthread_detach(thread);
	mappings_begin(uffd);
}

/* Lets the adapter's first thread sleep until a page is used. The caller holds start_lock. */
static void
let_sleep(struct softhca_lanes *lanes)
{
	const int sleep_fd = epoll_create1(EPOLL_CLOEXEC);
	const int call_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (sleep_fd < 0 || call_fd < 0 || epoll_add(sleep_fd, call_fd, EPOLLIN) != 0 ||
		(lanes->wire != NULL && epoll_add(sleep_fd, lanes->wire->poll_fd, EPOLLIN) != 0) ||
		epoll_add(sleep_fd, uffd, EPOLLIN | EPOLLEXCLUSIVE) != 0) {
		/*
		 * Without its own epoll, the first thread sleeps as all other threads do, and the
		 * watcher wakes it.
		 */
		if (sleep_fd >= 0)
			close(sleep_fd);
		if (call_fd >= 0)
			close(call_fd);
		return;
	}
	atomic_store(&lanes->call_fd, call_fd);
	atomic_store(&lanes->sleep_fd, sleep_fd);
	/*
	 * Makes the watcher's epoll the last again. EPOLL_CTL_ADD also reports uses from before
	 * this call.
	 */
	if (epoll_ctl(watcher_fd, EPOLL_CTL_DEL, uffd, NULL) == 0)
		(void)epoll_add(watcher_fd, uffd, EPOLLIN | EPOLLEXCLUSIVE);
}

/*
 * Adds a mapping to the watched mappings. Without device threads this is not needed, because no
 * thread sleeps.
 */
static void
watch(struct mapping m)
{
	if (m.lanes == NULL || m.lanes->n_threads == 0)
		return;
	fork_lock(&start_lock);
	if (!tried)
		start();
	if (watcher_fd >= 0 && atomic_load(&m.lanes->sleep_fd) < 0)
		let_sleep(m.lanes);
	fork_unlock(&start_lock);
	mappings_add(&m);
}

void
softhca_watch_uar(struct softhca_uar *uar, void *at)
{
	watch((struct mapping){.at = at,
		.page = uar->page,
		.lanes = dev_lanes(uar->dev),
		.uar = uar});
}

void
softhca_watch_clock(struct softhca_dev *dev, void *page, void *at)
{
	watch((struct mapping){.at = at, .page = page, .lanes = dev_lanes(dev)});
}

void
softhca_unwatch(const void *page)
{
	mappings_drop(page);
}

void
softhca_watch_moved(void *from, void *to, size_t len)
{
	mappings_move(from, to, len);
}

/* ---- fork(2) */

void
softhca_watch_fork_prepare(void)
{
	fork_lock(&start_lock);
	mappings_fork_prepare();
	wire_fork_prepare();
}

void
softhca_watch_fork_parent(void)
{
	wire_fork_done();
	mappings_fork_parent();
	fork_unlock(&start_lock);
}

void
softhca_watch_fork_child(void)
{
	unsigned int n;
	struct softhca_dev *devs = softhca_devices(&n);

	mappings_fork_child();
	for (unsigned int i = 0; i < n; i++) {
		struct softhca_lanes *lanes = dev_lanes(&devs[i]);

		if (lanes != NULL && lanes->wire != NULL)
			wire_fork_child(lanes->wire);
		if (lanes != NULL && atomic_load(&lanes->sleep_fd) >= 0) {
			close(atomic_load(&lanes->sleep_fd));
			close(atomic_load(&lanes->call_fd));
		}
	}
	wire_fork_done();
	if (watcher_fd >= 0)
		close(watcher_fd);
	watcher_fd = -1;
	tried = false;
	fork_unlock(&start_lock);
}
