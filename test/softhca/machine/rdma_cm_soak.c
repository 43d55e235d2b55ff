/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many connections by /dev/infiniband/rdma_cm, whose processes are killed at random. Workers
 * connect to a server and end their connections in all ways: they disconnect, destroy the id, close
 * the file, exit, or are killed. The server is killed, too, and another takes its port. At the end
 * no descriptor, id, event, thread or name of a socket may be left.
 *
 * usage: rdma_cm_soak [CONNECTIONS [SEED]]     for example 10000
 */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "softhca_cm.h"

#define ADDRESS    "198.51.100.11" /* the setting gid_ipv4: it needs no network interface */
#define PORT       7471
#define N_WORKERS  4
#define SERVER_UID 1

/* What all processes share. */
static struct shared {
	atomic_uint n_connected; /* connections that the workers have made */
	atomic_uint n_accepted;
	atomic_uint n_servers;
	atomic_bool stop; /* the server checks what is left, and exits */
} * shared;

static uint64_t seed;

static unsigned int
below(unsigned int n)
{
	return (unsigned int)(check_random(&seed) % n);
}

/* ---- a worker */

/* Waits for one of the events that can follow, and returns it. */
static uint32_t
next_event(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct rdma_ucm_event_resp e;

	CHECK_EQ(poll(&p, 1, CHECK_PATIENCE_MS), 1, "an event waits");
	CHECK_EQ(cm_get(fd, &e), 0);
	return e.event;
}

/* The process dies at some step of a connection. */
static void
may_die(void)
{
	if (below(400) == 0)
		raise(SIGKILL);
}

/* Makes a connection and ends it in some way. Returns false if there was no connection. */
static bool
connect_once(int *fd)
{
	const uint32_t id = cm_resolved(*fd, 1, RDMA_PS_TCP, ADDRESS, PORT);
	const unsigned int way = below(5);
	uint32_t event;

	CHECK_EQ(cm_connect(*fd, id, cm_param(below(1 << 24), (uint8_t)below(57))), 0);
	may_die();
	if (way == 4) {
		/* It gives up at once. */
		CHECK(cm_destroy(*fd, id) >= 2);
		return false;
	}
	event = next_event(*fd);
	if (event != CONNECT_RESPONSE) {
		/* No server listens now, or it was killed. */
		CHECK(event == REJECTED || event == UNREACHABLE, "event %u", event);
		CHECK(cm_destroy(*fd, id) >= 3);
		return false;
	}
	may_die();
	if (cm_ready(*fd, id) != 0) {
		CHECK_EQ(next_event(*fd), REJECTED, "the server was killed");
	} else if (way == 0) {
		may_die();
		/* The server answers, or it was killed: then the connection has ended, too. */
		CHECK_EQ(cm_disconnect(*fd, id), 0);
		CHECK_EQ(next_event(*fd), DISCONNECTED);
	}
	may_die();
	if (way == 3) {
		close(*fd);
		*fd = cm_open_file(0);
	} else {
		CHECK(cm_destroy(*fd, id) >= 3);
	}
	return true;
}

static void
work(uint64_t own_seed, unsigned int n)
{
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	seed = own_seed;
	fd = cm_open_file(0);
	while (atomic_load(&shared->n_connected) < n)
		if (connect_once(&fd))
			atomic_fetch_add(&shared->n_connected, 1);
	_exit(check_failures != 0);
}

/* ---- the server */

static void
take_event(int fd)
{
	struct rdma_ucm_event_resp e;

	if (cm_get(fd, &e) != 0)
		return;
	switch (e.event) {
	case CONNECT_REQUEST:
		if (cm_accept(fd, e.id, SERVER_UID, cm_param(e.id, 0)) == 0)
			atomic_fetch_add(&shared->n_accepted, 1);
		else
			CHECK(cm_destroy(fd, e.id) >= 0); /* it was withdrawn */
		break;
	case ESTABLISHED:
		break;
	case REJECTED:
	case UNREACHABLE:
		CHECK(cm_destroy(fd, e.id) >= 1);
		break;
	case DISCONNECTED:
		CHECK_EQ(cm_disconnect(fd, e.id), 0);
		CHECK(cm_destroy(fd, e.id) >= 1);
		break;
	default:
		CHECK(false, "event %u", e.event);
	}
}

/*
 * True if nothing is left but the listener, whose handle is 0: handles are the lowest free numbers.
 */
static bool
is_clean(int fd, unsigned int n_fds, unsigned int n_threads)
{
	uint32_t id;

	while (cm_is_readable(fd))
		take_event(fd);
	id = cm_create(fd, 7, RDMA_PS_TCP);
	CHECK_EQ(cm_destroy(fd, id), 0);
	return id == 1 && cm_count_entries("/proc/self/fd") == n_fds &&
	       cm_count_entries("/proc/self/task") == n_threads;
}

static void
serve(void)
{
	unsigned int n_fds, n_threads;
	uint32_t listener;
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fd = cm_open_file(O_NONBLOCK);
	listener = cm_create(fd, 7, RDMA_PS_TCP);
	/* The port of a killed server is free at once. */
	CHECK_EQ(cm_bind(fd, listener, ADDRESS, PORT), 0);
	/* Workers may connect as soon as the server listens. */
	n_fds = cm_count_entries("/proc/self/fd");
	n_threads = cm_count_entries("/proc/self/task");
	CHECK_EQ(cm_listen(fd, listener, 64), 0);
	atomic_fetch_add(&shared->n_servers, 1);
	while (!atomic_load(&shared->stop)) {
		struct pollfd p = {.fd = fd, .events = POLLIN};

		if (poll(&p, 1, 10) == 1)
			take_event(fd);
	}
	CHECK_EQ(listener, 0);
	/* The thread of the device may still have to end connections of dead processes. */
	for (unsigned int ms = 0; !is_clean(fd, n_fds, n_threads); ms++) {
		CHECK(ms < CHECK_PATIENCE_MS,
			"left: %u descriptors of %u, %u threads of %u, or ids",
			cm_count_entries("/proc/self/fd"), n_fds,
			cm_count_entries("/proc/self/task"), n_threads);
		usleep(1000);
	}
	fflush(NULL);
	_exit(check_failures != 0);
}

/* ---- the parent */

static pid_t
start_server(void)
{
	const unsigned int n = atomic_load(&shared->n_servers);
	const pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0)
		serve();
	while (atomic_load(&shared->n_servers) == n) {
		int status;

		CHECK(waitpid(pid, &status, WNOHANG) == 0, "the server has ended");
		usleep(100);
	}
	return pid;
}

static pid_t
start_worker(unsigned int n)
{
	const uint64_t own_seed = check_random(&seed);
	const pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0)
		work(own_seed, n);
	return pid;
}

static unsigned int n_killed;

/* True if the process has died. It must not have ended by a failed check. */
static bool
has_died(pid_t pid, int how)
{
	int status;

	if (waitpid(pid, &status, how) != pid)
		return false;
	CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) || status == 0, "status %#x",
		status);
	n_killed += WIFSIGNALED(status);
	return true;
}

static void
end(pid_t pid)
{
	kill(pid, SIGKILL);
	CHECK(has_died(pid, 0));
}

/* Counts the names of the connection manager's sockets in this network namespace. */
static unsigned int
count_names(void)
{
	FILE *f = fopen("/proc/self/net/unix", "r");
	unsigned int n = 0;
	char line[512];

	CHECK(f != NULL);
	while (fgets(line, sizeof(line), f) != NULL)
		n += strstr(line, "@softhca/cm/") != NULL;
	fclose(f);
	return n;
}

int
main(int argc, char **argv)
{
	const unsigned int n = argc > 1 ? (unsigned int)strtoul(argv[1], NULL, 0) : 10000;
	/* Other processes' names are in other namespaces, if this process may make one. */
	const bool alone = unshare(CLONE_NEWNET) == 0;
	pid_t workers[N_WORKERS], server;
	int status;

	seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	printf("%u connections, seed %llu\n", n, (unsigned long long)seed);
	fflush(stdout);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		0);
	CHECK(shared != MAP_FAILED);
	server = start_server();
	for (unsigned int i = 0; i < N_WORKERS; i++)
		workers[i] = start_worker(n);
	while (atomic_load(&shared->n_connected) < n) {
		usleep(1000);
		for (unsigned int i = 0; i < N_WORKERS; i++)
			if (has_died(workers[i], WNOHANG))
				workers[i] = start_worker(n);
		if (below(300) == 0) {
			end(workers[0]);
			workers[0] = start_worker(n);
			end(server);
			server = start_server();
		}
	}
	for (unsigned int i = 0; i < N_WORKERS; i++)
		end(workers[i]);
	atomic_store(&shared->stop, true);
	CHECK_EQ(waitpid(server, &status, 0), server);
	CHECK_EQ(status, 0, "status of the server");
	if (alone)
		CHECK_EQ(count_names(), 0, "names");
	printf("%u connected, %u accepted, %u processes killed\n",
		atomic_load(&shared->n_connected), atomic_load(&shared->n_accepted), n_killed);
	CHECK(atomic_load(&shared->n_accepted) >= n);
	CHECK(n_killed > 0);
	return check_failures != 0;
}
