/* SPDX-License-Identifier: BSD-3-Clause */
/* Delivers completion events and async events to the files that the program reads. */
#include "event.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rdma/ib_user_verbs.h>

#include "fork_lock.h"
#include "hca.h"
#include "log.h"
#include "raw.h"

/*
 * The size of the socket's buffer for unread records, which need about 750 bytes each. The kernel
 * may grant less.
 */
#define SOCKET_BYTES (4 << 20)

struct event_file {
	/*
	 * Protects the records in the socket: while event_source_fini() takes records out, no other
	 * thread writes a record.
	 */
	pthread_mutex_t lock;
	_Atomic uint32_t refs;
	int fd; /* device's end of the socket */
	dev_t dev;
	ino_t ino;     /* inode of the program's end */
	ino_t own_ino; /* inode of the device's end */
	/* last known descriptor of the program's end; the program may duplicate or close it */
	int program_fd;
	enum event_kind kind;
	struct event_file *next;
};

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static struct event_file
	*all; /* event files of this process; in a child of fork(2), those of the parent */

union event_desc {
	struct ib_uverbs_comp_event_desc comp;
	struct ib_uverbs_async_event_desc async;
};

static size_t
record_len(const struct event_file *file)
{
	return file->kind == EVENT_ASYNC ? sizeof(struct ib_uverbs_async_event_desc)
					 : sizeof(struct ib_uverbs_comp_event_desc);
}

static uint64_t
record_element(const struct event_file *file, const union event_desc *desc)
{
	return file->kind == EVENT_ASYNC ? desc->async.element : desc->comp.cq_handle;
}

int
event_file_create(enum event_kind kind, struct event_file **out, int *fd)
{
	struct event_file *file = calloc(1, sizeof(*file));
	int pair[2], rc, room = SOCKET_BYTES;
	struct stat st, own;

	if (file == NULL)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
		rc = -errno;
		free(file);
		return rc;
	}
	if (raw_fstat(pair[1], &st) != 0 || raw_fstat(pair[0], &own) != 0) {
		rc = -errno;
		close(pair[0]);
		close(pair[1]);
		free(file);
		return rc;
	}
	if (raw_setsockopt(pair[0], SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)) != 0)
		(void)raw_setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	pthread_mutex_init(&file->lock, NULL);
	atomic_init(&file->refs, 1);
	file->fd = pair[0];
	file->dev = st.st_dev;
	file->ino = st.st_ino;
	file->own_ino = own.st_ino;
	file->program_fd = pair[1];
	file->kind = kind;
	fork_lock(&all_lock);
	file->next = all;
	all = file;
	fork_unlock(&all_lock);
	*out = file;
	*fd = pair[1];
	return 0;
}

struct event_file *
event_file_get(struct event_file *file)
{
	if (file != NULL)
		atomic_fetch_add(&file->refs, 1);
	return file;
}

static void
unlist(struct event_file *file)
{
	struct event_file **link = &all;

	fork_lock(&all_lock);
	while (*link != file)
		link = &(*link)->next;
	*link = file->next;
	fork_unlock(&all_lock);
}

void
event_file_put(struct event_file *file)
{
	if (file == NULL || atomic_fetch_sub(&file->refs, 1) != 1)
		return;
	unlist(file);
	close(file->fd);
	pthread_mutex_destroy(&file->lock);
	free(file);
}

void
event_file_abandon(struct event_file *file)
{
	close(file->fd);
	file->fd = -1;
}

bool
event_file_is_closed(const struct event_file *file)
{
	struct pollfd end = {.fd = file->fd};

	return poll(&end, 1, 0) == 1 && (end.revents & POLLHUP) != 0;
}

bool
event_file_is(const struct event_file *file, enum event_kind kind)
{
	return file->kind == kind;
}

bool
event_file_is_inode(const struct event_file *file, dev_t dev, ino_t ino)
{
	return file->dev == dev && file->ino == ino;
}

/* The names are those that ib_uverbs and mlx5_ib give to such files (UVERBS_TYPE_ALLOC_FD). */
const char *
event_file_name(dev_t dev, ino_t ino)
{
	static const char *const names[] = {[EVENT_COMP] = "[infinibandevent]",
		[EVENT_ASYNC] = "[infinibandevent]",
		[EVENT_DEVX] = "[devx_async_event]",
		[EVENT_COOKIES] = "[devx_async_event]",
		[EVENT_ANSWERS] = "[devx_async_cmd]"};
	const struct event_file *file;
	const char *name = NULL;

	fork_lock(&all_lock);
	for (file = all; file != NULL && name == NULL; file = file->next)
		if (file->dev == dev && (file->ino == ino || file->own_ino == ino))
			name = names[file->kind];
	fork_unlock(&all_lock);
	return name;
}

void
event_files_fork_prepare(void)
{
	fork_lock(&all_lock);
}

void
event_files_fork_done(void)
{
	fork_unlock(&all_lock);
}

/*
 * Writes bytes to the socket. MSG_NOSIGNAL: a program that has closed its end gets no SIGPIPE.
 * Returns 0 or -errno.
 */
static int
put_bytes(struct event_file *file, const void *bytes, size_t len)
{
	ssize_t n;

	do
		n = raw_send(file->fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

static bool
put_event(struct event_file *file, const void *bytes, size_t len)
{
	int rc = put_bytes(file, bytes, len);

	if (rc == -EAGAIN)
		softhca_log("an event is lost: the program leaves too many events unread");
	return rc == 0;
}

/* The caller holds file->lock. */
static bool
put_record(struct event_file *file, const union event_desc *desc)
{
	return put_event(file, desc, record_len(file));
}

int
event_file_answer(struct event_file *file, const void *record, size_t len)
{
	return put_bytes(file, record, len);
}

/* ---- subscriptions */

static void
notify(const struct event_subscription *s)
{
	static const uint64_t one = 1;

	if (s->file != NULL)
		(void)put_event(s->file, s->record, s->len);
	else
		while (raw_write(s->eventfd, &one, sizeof(one)) < 0 && errno == EINTR)
			;
}

void
event_source_tell(struct event_source *src, uint32_t type)
{
	if (atomic_load_explicit(&src->subscriptions, memory_order_relaxed) == NULL)
		return;
	spin_lock(&src->lock);
	for (struct event_subscription *s = atomic_load(&src->subscriptions); s != NULL;
		s = s->next)
		if (s->type == type)
			notify(s);
	spin_unlock(&src->lock);
}

int
event_source_subscribe(struct event_source *src, const struct event_subscription *what)
{
	struct event_subscription *s = malloc(sizeof(*s));

	if (s == NULL)
		return -ENOMEM;
	*s = *what;
	(void)event_file_get(s->file);
	spin_lock(&src->lock);
	s->next = atomic_load(&src->subscriptions);
	atomic_store(&src->subscriptions, s);
	spin_unlock(&src->lock);
	return 0;
}

static void
unsubscribe_all(struct event_source *src)
{
	struct event_subscription *s = atomic_exchange(&src->subscriptions, NULL);

	while (s != NULL) {
		struct event_subscription *next = s->next;

		event_file_put(s->file);
		if (s->eventfd >= 0)
			close(s->eventfd);
		free(s);
		s = next;
	}
}

/* ---- events of the lanes */

static void
deliver(struct event_file *file, const union event_desc *desc, _Atomic uint32_t *sent)
{
	if (file == NULL)
		return;
	pthread_mutex_lock(&file->lock);
	if (put_record(file, desc))
		atomic_fetch_add(sent, 1);
	pthread_mutex_unlock(&file->lock);
}

void
softhca_event_cq_comp(void *event)
{
	struct event_source *src = event;

	deliver(src->comp, &(union event_desc){.comp.cq_handle = src->element}, &src->comp_sent);
	event_source_tell(src, DEVX_EVENT_COMP);
}

static void
deliver_async(struct event_source *src, uint32_t type)
{
	/* DEVX event types, indexed by enum ibv_event_type. */
	static const uint8_t of_devx[] = {DEVX_EVENT_CQ_ERROR, DEVX_EVENT_WQ_CATAS,
		DEVX_EVENT_WQ_INVALID, DEVX_EVENT_WQ_ACCESS, DEVX_EVENT_COMM_EST,
		DEVX_EVENT_SQ_DRAINED, [14] = DEVX_EVENT_SRQ_CATAS, [15] = DEVX_EVENT_SRQ_LIMIT,
		[16] = DEVX_EVENT_LAST_WQE};
	union event_desc desc = {.async = {.element = src->element, .event_type = type}};

	deliver(src->async, &desc, &src->async_sent);
	if (type < sizeof(of_devx) && of_devx[type] != 0)
		event_source_tell(src, of_devx[type]);
}

void
event_file_post(struct event_file *file, uint64_t element, uint32_t type)
{
	union event_desc desc = {.async = {.element = element, .event_type = type}};

	pthread_mutex_lock(&file->lock);
	(void)put_record(file, &desc);
	pthread_mutex_unlock(&file->lock);
}

void
softhca_event_cq_async(void *event, uint32_t type)
{
	deliver_async(event, type);
}

void
softhca_event_qp_async(void *event, uint32_t type)
{
	deliver_async(event, type);
}

void
softhca_event_dct_key(void *event)
{
	event_source_tell(event, DEVX_EVENT_DCT_KEY);
}

/* ---- the program's end */

/* Descriptors are below this number, unless the administrator raises fs.nr_open: proc(5). */
#define MAX_FDS (1 << 20)

/* A descriptor of the program's end, by which records are taken out of the socket. */
struct program_end {
	int fd;
	bool is_copy;
};

static void
end_release(const struct program_end *end)
{
	if (end->is_copy)
		close(end->fd);
}

/*
 * Fills *end and returns true if fd is the program's end. *end has a duplicate of fd, which is made
 * before the check, because the program may replace fd after the check. If no descriptor is free,
 * *end has fd itself: a program does not close a channel to which a CQ is attached
 * (ibv_destroy_comp_channel(3)), nor a context that has objects (ibv_close_device(3)).
 */
static bool
end_take(const struct event_file *file, int fd, struct program_end *end)
{
	const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	struct stat st;

	if (copy < 0 && errno == EBADF)
		return false;
	end->is_copy = copy >= 0;
	end->fd = end->is_copy ? copy : fd;
	if (raw_fstat(end->fd, &st) == 0 && event_file_is_inode(file, st.st_dev, st.st_ino))
		return true;
	end_release(end);
	return false;
}

/* As end_take(), for all descriptors of the process. */
static bool
end_search(struct event_file *file, struct program_end *end)
{
	DIR *fds = raw_open_fds();
	bool found = false;
	int fd = -1;

	/* If no descriptor is free, fds is NULL, and all numbers are tried. */
	while (!found && (fd = fds != NULL ? raw_next_fd(fds) : fd + 1) >= 0 && fd < MAX_FDS)
		found = end_take(file, fd, end);
	if (fds != NULL)
		closedir(fds);
	if (found)
		file->program_fd = fd;
	return found;
}

/* True if the socket has records that the program can still read. */
static bool
has_unread(const struct event_file *file)
{
	int unread = 0;

	return raw_ioctl(file->fd, SIOCOUTQ, &unread) == 0 && unread != 0 &&
	       !event_file_is_closed(file);
}

/*
 * Finds the program's end: first tries its last known descriptor, then all descriptors of the
 * process. Returns false if the process has none.
 */
static bool
end_find(struct event_file *file, struct program_end *end)
{
	if (end_take(file, file->program_fd, end) || end_search(file, end))
		return true;
	if (has_unread(file))
		softhca_log("the events of a destroyed object cannot be removed: this process has "
			    "closed the channel, and another process has it open. "
			    "ibv_destroy_cq(3) and ibv_destroy_qp(3) may wait for ever. Close a "
			    "channel only by ibv_destroy_comp_channel(3)");
	return false;
}

/*
 * Takes all unread records out of the socket, drops those of the element, and puts the other
 * records back in order. Returns the number of dropped records. A thread that reads meanwhile gets
 * a record before it is taken out or after it is put back, so each record is read once or dropped
 * once.
 */
static uint32_t
drop_unread(struct event_file *file, uint64_t element)
{
	union event_desc *kept = NULL, desc;
	uint32_t n_kept = 0, room = 0, dropped = 0;
	struct program_end end;

	if (!end_find(file, &end))
		return 0;
	while (raw_recv(end.fd, &desc, record_len(file), MSG_DONTWAIT) ==
		(ssize_t)record_len(file)) {
		if (record_element(file, &desc) == element) {
			dropped++;
			continue;
		}
		if (n_kept == room) {
			void *grown = realloc(kept, (room + 64) * sizeof(*kept));

			if (grown == NULL) {
				softhca_log("an event is lost: out of memory");
				continue;
			}
			kept = grown;
			room += 64;
		}
		kept[n_kept++] = desc;
	}
	for (uint32_t i = 0; i < n_kept; i++)
		(void)put_record(file, &kept[i]);
	free(kept);
	end_release(&end);
	return dropped;
}

static uint32_t
detach(struct event_file *file, uint64_t element, const _Atomic uint32_t *sent)
{
	uint32_t n_read;

	if (file == NULL)
		return 0;
	pthread_mutex_lock(&file->lock);
	n_read = atomic_load(sent);
	if (n_read != 0)
		n_read -= drop_unread(file, element);
	pthread_mutex_unlock(&file->lock);
	event_file_put(file);
	return n_read;
}

void
event_source_fini(struct event_source *src, uint32_t *comp_read, uint32_t *async_read)
{
	*comp_read = detach(src->comp, src->element, &src->comp_sent);
	*async_read = detach(src->async, src->element, &src->async_sent);
	src->comp = NULL;
	src->async = NULL;
	unsubscribe_all(src);
}
