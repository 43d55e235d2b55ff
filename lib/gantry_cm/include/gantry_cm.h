/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Connects peers by rdma_cm(7): the program gives an IP address and a port, and gets a connected
 * peer of a queue. This is libgantry_cm, a library of its own; it uses librdmacm.
 *
 *     process that listens                       process that connects
 *     gantry_cm_listen(":7471")
 *                                                gantry_cm_connect("192.0.2.2", "7471", queue)
 *     gantry_cm_request_get        <-- REQ ---       opens a peer
 *     gantry_cm_accept(queue)
 *         opens and connects a peer --- REP -->      connects its peer
 *     gantry_cm_poll: CONNECTED    <-- RTU ---   gantry_cm_poll: CONNECTED
 *
 *           descriptors to the peers, by gantry_submit() or gantry_enqueue_burst()
 *
 *     gantry_cm_poll: DISCONNECTED <-- DREQ --   gantry_cm_disconnect, or the process has died
 *     gantry_cm_close                            gantry_cm_close
 *
 * gantry_peers.h leaves it to the program how the address of a peer gets to the other process. Here
 * it is private data of rdma_cm's messages. The queue pair is the engine's own: all of
 * gantry_peers.h holds for the peer. rdma_cm carries the addresses, and tells each end when the
 * other end has disconnected or died. doc/gantry-cm.md explains the choices.
 *
 * ## One connection for each peer
 * A struct gantry_cm_conn is one connection of rdma_cm, and one RC peer of one queue. An engine
 * with several workers makes one connection for each worker's queue, all to the same address and
 * port. The data of a request (gantry_cm_conf::data) tell the listening program which of its queues
 * to use.
 *
 * ## Threads
 * - A call that is given a queue, gantry_cm_poll() and gantry_cm_close() make gantry_peer_ calls
 *   for the queue. So the thread that makes them is the one that gantry_peer_open() names: the
 *   owner thread; for a worker's queue the control thread, also while the worker runs.
 * - One thread at a time uses a listener and its requests, and one thread at a time uses a
 *   connection. Different threads may use different objects at the same time.
 * - The library has no thread of its own. Nothing happens without a call.
 *
 * In a child of fork(2) each call returns -ECHILD, and changes nothing.
 *
 * ## Errors
 * Functions return 0 or a negative errno. When a call or a connection fails, one line of the log
 * (type lib.gantry_cm) says which rule was broken, and what to do.
 *
 * ## Stability
 * All functions are experimental: GANTRY_EXPERIMENTAL of gantry_api.h.
 */
#ifndef GANTRY_CM_H
#define GANTRY_CM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "gantry_api.h"
#include "gantry_peers.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gantry_queue;
/** An address and a port at which requests arrive. */
struct gantry_cm_listener;
/** A request of another process for a connection, which is not answered yet. */
struct gantry_cm_request;
/** A connection, and its peer. */
struct gantry_cm_conn;

#define GANTRY_CM_REQUEST_LEN 8   /**< most bytes of the program's data in a request */
#define GANTRY_CM_ANSWER_LEN  128 /**< most bytes of the program's data in an answer */
#define GANTRY_CM_REASON_LEN  144 /**< most bytes of the reason of a rejection */

/** What a connection does. */
enum gantry_cm_state {
	GANTRY_CM_CONNECTING = 0, /**< the two ends exchange addresses */
	GANTRY_CM_CONNECTED,      /**< descriptors may be sent to the peer */
	/**
	 * The other end has disconnected, or its process has ended, or this end has disconnected.
	 * Completions and receives that are still there can be taken.
	 */
	GANTRY_CM_DISCONNECTED,
};

/** Settings of a listener. */
struct gantry_cm_listen_conf {
	/**
	 * The most requests that wait for gantry_cm_request_get(). Further requests are not
	 * answered, and the connecting ends ask again. 0: 128
	 */
	uint32_t backlog;
	uint32_t zero;        /**< must be 0 */
	uint64_t reserved[4]; /**< must be 0 */
};

/** Settings of a connection. */
struct gantry_cm_conf {
	/**
	 * Settings of the peer, read during the call; NULL: defaults. The transport is RC. If
	 * gantry_path::port is 0, the peer uses the port of the device to which the IP address
	 * belongs. If GANTRY_PATH_GID_INDEX is not set, it uses the GID of that address
	 */
	const struct gantry_peer_conf *peer;
	/**
	 * Bytes for the program at the other end, read during the call: an address and a key of
	 * memory, or the number of a queue. NULL if data_len is 0
	 */
	const void *data;
	/**
	 * Bytes at `data`: for gantry_cm_connect() at most GANTRY_CM_REQUEST_LEN, for
	 * gantry_cm_accept() at most GANTRY_CM_ANSWER_LEN
	 */
	uint32_t data_len;
	/**
	 * Milliseconds after which a connection that is not connected fails with -ETIMEDOUT.
	 * 0: 10000
	 */
	uint32_t timeout_ms;
	/**
	 * gantry_cm_connect(): while nobody listens at the address, try again until timeout_ms have
	 * passed. Otherwise the connection fails with -ECONNREFUSED at once
	 */
	bool wait_for_listener;
	uint8_t zero[7]; /**< must be 0 */
	/**
	 * Called when the peer is open, before the other end can send: post receives here. It is
	 * called once, by gantry_cm_accept() or by gantry_cm_poll(). It must not close the
	 * connection. NULL: not called
	 */
	void (*opened)(void *arg, struct gantry_queue *q, uint16_t peer);
	void *arg;            /**< for `opened` */
	uint64_t reserved[4]; /**< must be 0 */
};

/** The properties of a request. */
struct gantry_cm_request_info {
	struct sockaddr_storage from; /**< IP address and port of the end that connects */
	struct sockaddr_storage to;   /**< IP address and port to which it connects */
	/** Name of the device to which `to` belongs; valid until the request is answered. */
	const char *device;
	uint32_t data_len;                   /**< bytes in `data` */
	uint32_t zero;                       /**< always 0 */
	uint8_t data[GANTRY_CM_REQUEST_LEN]; /**< gantry_cm_conf::data of the other end */
	uint64_t reserved[4];                /**< always 0 */
};

/** The properties of a connection. */
struct gantry_cm_info {
	enum gantry_cm_state state; /**< the state, as gantry_cm_poll() returned it last */
	/** The error with which the connection failed, as gantry_cm_poll() returns it; or 0. */
	int error;
	/** Number of the peer, for gantry_desc::peer. Valid if has_peer is true. */
	uint16_t peer;
	bool has_peer;   /**< the peer is open */
	uint8_t zero[1]; /**< always 0 */
	uint32_t qp_num; /**< number of the peer's queue pair; 0 if has_peer is false */
	struct sockaddr_storage
		local; /**< IP address and port of this end; zeros if not known yet */
	struct sockaddr_storage remote; /**< IP address and port of the other end */
	uint32_t data_len;              /**< bytes in `data` */
	/** gantry_cm_conf::data of the other end; known when the state is GANTRY_CM_CONNECTED. */
	uint8_t data[GANTRY_CM_ANSWER_LEN];
	uint8_t zero2[4];     /**< always 0 */
	uint64_t reserved[4]; /**< always 0 */
};

/* ------------------------------------------------------------------ the process that listens */

/**
 * Listens for requests. Any thread.
 *
 * @param host
 *   An IPv4 or IPv6 address of this machine, or a name that getaddrinfo(3) finds. NULL: all
 *   addresses.
 * @param port
 *   A port number, or the name of a service. "0": a free port, which gantry_cm_listener_port()
 *   tells.
 * @param conf
 *   Settings, read during the call; NULL: defaults.
 * @param l
 *   The listener; written on success only. gantry_cm_listener_close() frees it.
 * @return
 *   0 on success. Otherwise a line of the log says more:
 * @retval -EINVAL
 *   port is NULL; or reserved bytes are not 0.
 * @retval -EADDRNOTAVAIL
 *   There is no such host or port; or the address belongs to no RDMA device of this machine; or
 *   another program listens at this port of all addresses.
 * @retval -EADDRINUSE
 *   Another program listens there.
 * @retval -ENODEV
 *   This machine has no rdma_cm: load the kernel module rdma_ucm.
 * @retval -ENOMEM
 *   There is not enough memory.
 * @retval -errno
 *   The call of librdmacm that failed.
 */
GANTRY_EXPERIMENTAL GANTRY_API int gantry_cm_listen(const char *host, const char *port,
	const struct gantry_cm_listen_conf *conf, struct gantry_cm_listener **l);

/**
 * Returns the port of a listener. Any thread.
 *
 * @param l
 *   The listener.
 * @return
 *   The port, in the byte order of the machine.
 */
GANTRY_EXPERIMENTAL GANTRY_API uint16_t gantry_cm_listener_port(const struct gantry_cm_listener *l);

/**
 * Returns a file descriptor for poll(2) and epoll(7): it is readable if gantry_cm_request_get() may
 * find a request. The library reads it and closes it. Any thread.
 *
 * @param l
 *   The listener.
 * @return
 *   The file descriptor.
 */
GANTRY_EXPERIMENTAL GANTRY_API int gantry_cm_listener_fd(const struct gantry_cm_listener *l);

/**
 * Takes the next request. The thread of the listener.
 *
 * A request that does not come from this library is rejected, and a line of the log says so.
 *
 * @param l
 *   The listener.
 * @param timeout_ms
 *   Milliseconds to wait for a request; 0: do not wait; -1: without limit.
 * @param r
 *   The request; written on success only. Answer it by gantry_cm_accept() or gantry_cm_reject(),
 *   which free it.
 * @return
 *   0 on success, otherwise:
 * @retval -EAGAIN
 *   No request has come in this time, or a signal handler has run.
 * @retval -ENODEV
 *   The device was removed: close the listener.
 * @retval -ECHILD
 *   A child of fork(2) calls.
 * @retval -errno
 *   The call of librdmacm that failed. A line of the log says more.
 */
GANTRY_EXPERIMENTAL GANTRY_API int gantry_cm_request_get(struct gantry_cm_listener *l,
	int timeout_ms, struct gantry_cm_request **r);

/**
 * Copies the properties of a request. The thread of the listener.
 *
 * @param r
 *   The request.
 * @param info
 *   Is written as a whole.
 */
GANTRY_EXPERIMENTAL GANTRY_API void gantry_cm_request_info_get(const struct gantry_cm_request *r,
	struct gantry_cm_request_info *info);

/**
 * Accepts a request: opens a peer, connects it to the other end, and answers. The thread that
 * gantry_peer_open() names, which is also the thread of the listener.
 *
 * The connection is CONNECTED when gantry_cm_poll() says so. The peer is open when this call
 * returns; descriptors to it before the connection is CONNECTED may fail.
 *
 * @param r
 *   The request. It is freed on success only: after an error call again, or reject the request.
 * @param q
 *   The queue that gets the peer. Its engine has opened the device
 *   gantry_cm_request_info::device.
 * @param conf
 *   Settings, read during the call; NULL: defaults.
 * @param conn
 *   The connection; written on success only. gantry_cm_close() frees it.
 * @return
 *   0 on success. Otherwise a line of the log says more:
 * @retval -EINVAL
 *   data_len is too large; reserved bytes are not 0; or an error of gantry_peer_open().
 * @retval -EOPNOTSUPP
 *   The transport is not RC; or an error of gantry_peer_open().
 * @retval -EXDEV
 *   The address belongs to another device than that of the engine.
 * @retval -EPROTONOSUPPORT
 *   The other end has another version of Gantry, or another link layer.
 * @retval -ECONNRESET
 *   The other end no longer waits for the answer.
 * @retval -ENOMEM
 *   There is not enough memory.
 * @retval -ECHILD
 *   A child of fork(2) calls.
 * @retval -errno
 *   An error of gantry_peer_open() or gantry_peer_connect(), or the call of librdmacm that failed.
 */
GANTRY_EXPERIMENTAL GANTRY_API int gantry_cm_accept(struct gantry_cm_request *r,
	struct gantry_queue *q, const struct gantry_cm_conf *conf, struct gantry_cm_conn **conn);

/**
 * Rejects a request, and frees it. The thread of the listener.
 *
 * The connection of the other end fails with -ECONNREFUSED, and the log of its process has the
 * reason.
 *
 * @param r
 *   The request.
 * @param reason
 *   A text for the log of the other process, of which at most GANTRY_CM_REASON_LEN bytes are sent;
 *   NULL: none.
 * @return
 *   0 on success, otherwise:
 * @retval -ECHILD
 *   A child of fork(2) calls. The request is not freed.
 */
GANTRY_EXPERIMENTAL GANTRY_API int gantry_cm_reject(struct gantry_cm_request *r,
	const char *reason);

/**
 * Ends a listener, and frees it. The thread of the listener.
 *
 * Requests that were not taken are rejected. Connections that it has accepted stay.
 *
 * @param l
 *   The listener.
 * @return
 *   0 on success, otherwise:
 * @retval -EBUSY
 *   A request is not answered: accept or reject it.
 * @retval -ECHILD
 *   A child of fork(2) calls.
 */
GANTRY_EXPERIMENTAL GANTRY_API int gantry_cm_listener_close(struct gantry_cm_listener *l);

/* ------------------------------------------------------------------ the process that connects */

/**
 * Begins to connect a new peer of a queue to a process that listens. The thread that
 * gantry_peer_open() names.
 *
 * The call returns before the connection is made, except that it waits for getaddrinfo(3) if host
 * is a name. Call gantry_cm_poll() until the state is GANTRY_CM_CONNECTED.
 *
 * @param host
 *   The IPv4 or IPv6 address of the listener, or a name that getaddrinfo(3) finds. NULL: this
 *   machine.
 * @param port
 *   The port of the listener: a number, or the name of a service.
 * @param q
 *   The queue that gets the peer. Its engine has opened the device by which the address is reached.
 * @param conf
 *   Settings, read during the call; NULL: defaults.
 * @param conn
 *   The connection; written on success only. gantry_cm_close() frees it.
 * @return
 *   0 on success. Otherwise a line of the log says more:
 * @retval -EINVAL
 *   port is NULL; data_len is too large; or reserved bytes are not 0.
 * @retval -EOPNOTSUPP
 *   The transport is not RC.
 * @retval -EADDRNOTAVAIL
 *   There is no such host or port.
 * @retval -ENODEV
 *   This machine has no rdma_cm: load the kernel module rdma_ucm.
 * @retval -ENOMEM
 *   There is not enough memory.
 * @retval -errno
 *   The call of librdmacm that failed.
 */
GANTRY_EXPERIMENTAL GANTRY_API int gantry_cm_connect(const char *host, const char *port,
	struct gantry_queue *q, const struct gantry_cm_conf *conf, struct gantry_cm_conn **conn);

/* ------------------------------------------------------------------ both processes */

/**
 * Handles what has happened to a connection, and returns its state. The thread that
 * gantry_peer_open() names.
 *
 * While the state is GANTRY_CM_CONNECTING, call this function at least once a second even if
 * gantry_cm_fd() is not readable: timeouts are noticed here.
 *
 * A peer of a connection that becomes DISCONNECTED is not closed: operations to it that are in
 * flight complete with a status. If the other process has died, this takes the retries of the
 * connection (gantry_path::timeout, gantry_path::retries); gantry_cancel() ends them earlier.
 *
 * @param conn
 *   The connection.
 * @param timeout_ms
 *   Milliseconds to wait until the state differs from the state that the last call returned; 0: do
 *   not wait; -1: without limit. A signal handler ends the wait.
 * @return
 *   The state (enum gantry_cm_state). Or the error with which the connection has failed before it
 *   was CONNECTED; each further call returns the same error. A line of the log says more:
 * @retval -ECONNREFUSED
 *   Nobody listens at the address, or the listener has rejected the request.
 * @retval -EADDRNOTAVAIL
 *   The address belongs to no RDMA device, or is not reached by one.
 * @retval -EHOSTUNREACH
 *   There is no route to the address.
 * @retval -ETIMEDOUT
 *   The other end has not answered in gantry_cm_conf::timeout_ms, or in the time that rdma_cm
 *   waits.
 * @retval -ECONNRESET
 *   The other end has ended the connection before it was CONNECTED.
 * @retval -EXDEV
 *   The address belongs to another device than that of the engine.
 * @retval -EPROTO
 *   The other end is not a program with this library, or has another version of it.
 * @retval -EPROTONOSUPPORT
 *   The other end has another version of Gantry, or another link layer.
 * @retval -EMSGSIZE
 *   The address of the peer has more bytes than a request of rdma_cm has room for.
 * @retval -ENODEV
 *   The device was removed.
 * @retval -ECHILD
 *   A child of fork(2) calls.
 * @retval -errno
 *   An error of gantry_peer_open() or gantry_peer_connect(), or the call of librdmacm that failed.
 */
GANTRY_EXPERIMENTAL GANTRY_API int gantry_cm_poll(struct gantry_cm_conn *conn, int timeout_ms);

/**
 * Returns a file descriptor for poll(2) and epoll(7): it is readable if gantry_cm_poll() has
 * something to handle. The library reads it and closes it. Any thread.
 *
 * @param conn
 *   The connection.
 * @return
 *   The file descriptor. It stays the same until gantry_cm_close().
 */
GANTRY_EXPERIMENTAL GANTRY_API int gantry_cm_fd(const struct gantry_cm_conn *conn);

/**
 * Copies the properties of a connection. The thread of the connection.
 *
 * @param conn
 *   The connection.
 * @param info
 *   Is written as a whole.
 */
GANTRY_EXPERIMENTAL GANTRY_API void gantry_cm_info_get(const struct gantry_cm_conn *conn,
	struct gantry_cm_info *info);

/**
 * Tells the other end that this end is done. The thread of the connection.
 *
 * Both ends become DISCONNECTED: gantry_cm_poll(). The peer stays open until gantry_cm_close(), so
 * that completions can be taken. Make this call when the completions of all descriptors to the peer
 * are there, and nothing more is expected of the other end.
 *
 * @param conn
 *   The connection. If it is not CONNECTED, nothing happens.
 * @return
 *   0 on success, otherwise:
 * @retval -ECHILD
 *   A child of fork(2) calls.
 * @retval -errno
 *   The call of librdmacm that failed. A line of the log says more.
 */
GANTRY_EXPERIMENTAL GANTRY_API int gantry_cm_disconnect(struct gantry_cm_conn *conn);

/**
 * Disconnects if it is connected, closes the peer, and frees the connection. The thread that
 * gantry_peer_open() names. Call it also for a connection that has failed, and before the queue is
 * destroyed.
 *
 * @param conn
 *   The connection.
 * @return
 *   0 on success, otherwise:
 * @retval -EBUSY
 *   Descriptors to the peer are in flight: take completions, then call again. The connection is
 *   DISCONNECTED.
 * @retval -ECHILD
 *   A child of fork(2) calls.
 * @retval -errno
 *   An error of gantry_peer_close(): call again.
 */
GANTRY_EXPERIMENTAL GANTRY_API int gantry_cm_close(struct gantry_cm_conn *conn);

#ifdef __cplusplus
}
#endif
#endif
