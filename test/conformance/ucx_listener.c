/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client and a server of UCX that connect by an address and a port (ucp_listener, ucp_ep_create()
 * with UCP_EP_PARAMS_FIELD_SOCK_ADDR), as programs do that use UCX without MPI. The client sends
 * messages of several lengths, and the server sends each message back, with each byte inverted. The
 * client compares every byte.
 *
 * usage: ucx_listener server ADDRESS PORT
 *        ucx_listener client ADDRESS PORT
 * UCX_SOCKADDR_TLS_PRIORITY=rdmacm selects rdma_cm, and UCX_TLS the transport of the messages.
 */
#include <ucp/api/ucp.h>

#include <arpa/inet.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LEN ((size_t)1 << 20)
#define ROUNDS  4

/* UCX 1.13 sends the longer messages by reads or writes of the peer's memory. */
static const size_t lengths[] = {0, 1, 8, 1000, 8192, 65537, MAX_LEN};

#define N_LENGTHS (sizeof(lengths) / sizeof(lengths[0]))

static ucp_context_h context;
static ucp_worker_h worker;
static bool lost; /* the peer has closed the connection, or it failed */

static void __attribute__((noreturn)) fail(const char *what, ucs_status_t status)
{
	fprintf(stderr, "ucx_listener: %s: %s\n", what, ucs_status_string(status));
	exit(1);
}

static void
check(const char *what, ucs_status_t status)
{
	if (status != UCS_OK)
		fail(what, status);
}

static void
progress(void)
{
	if (ucp_worker_progress(worker) == 0)
		sched_yield();
}

static void
on_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
	(void)arg;
	(void)ep;
	if (status != UCS_ERR_CONNECTION_RESET)
		fprintf(stderr, "ucx_listener: the connection failed: %s\n",
			ucs_status_string(status));
	lost = true;
}

/* Waits for an operation. Returns its status. */
static ucs_status_t
wait_for(ucs_status_ptr_t request)
{
	ucs_status_t status;

	if (request == NULL)
		return UCS_OK;
	if (UCS_PTR_IS_ERR(request))
		return UCS_PTR_STATUS(request);
	while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS)
		progress();
	ucp_request_free(request);
	return status;
}

static uint8_t
pattern(size_t round, size_t i)
{
	uint32_t x = ((uint32_t)i * 2654435761u + (uint32_t)round * 40503u) * 2246822519u;

	return (uint8_t)(x >> 24 ^ x >> 11);
}

static void
send_message(ucp_ep_h ep, const uint8_t *p, size_t len, uint64_t tag)
{
	const ucp_request_param_t none = {.op_attr_mask = 0};

	check("a send", wait_for(ucp_tag_send_nbx(ep, p, len, tag, &none)));
}

static void
receive_message(uint8_t *p, size_t len, uint64_t tag)
{
	const ucp_request_param_t none = {.op_attr_mask = 0};

	check("a receive", wait_for(ucp_tag_recv_nbx(worker, p, len, tag, ~(uint64_t)0, &none)));
}

static void
close_ep(ucp_ep_h ep)
{
	const ucp_request_param_t gently = {.op_attr_mask = 0};

	(void)wait_for(ucp_ep_close_nbx(ep, &gently));
}

static void
set_up(void)
{
	const ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES,
		.features = UCP_FEATURE_TAG};
	const ucp_worker_params_t worker_params = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
		.thread_mode = UCS_THREAD_MODE_SINGLE};
	ucp_config_t *config;

	check("ucp_config_read", ucp_config_read(NULL, NULL, &config));
	check("ucp_init", ucp_init(&params, config, &context));
	ucp_config_release(config);
	check("ucp_worker_create", ucp_worker_create(context, &worker_params, &worker));
}

/* ---------------------------------------------------------------- server */

static void
on_request(ucp_conn_request_h request, void *arg)
{
	*(ucp_conn_request_h *)arg = request;
}

static void
serve(const ucs_sock_addr_t *address)
{
	uint8_t *p = malloc(MAX_LEN);
	ucp_conn_request_h request = NULL;
	const ucp_listener_params_t params = {
		.field_mask =
			UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER,
		.sockaddr = *address,
		.conn_handler = {.cb = on_request, .arg = &request},
	};
	ucp_ep_params_t ep_params = {
		.field_mask = UCP_EP_PARAM_FIELD_CONN_REQUEST |
			      UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER,
		.err_mode = UCP_ERR_HANDLING_MODE_PEER,
		.err_handler = {.cb = on_error},
	};
	ucp_listener_h listener;
	ucp_ep_h ep;

	if (p == NULL)
		fail("malloc", UCS_ERR_NO_MEMORY);
	check("ucp_listener_create", ucp_listener_create(worker, &params, &listener));
	while (request == NULL)
		progress();
	ep_params.conn_request = request;
	check("ucp_ep_create", ucp_ep_create(worker, &ep_params, &ep));
	for (size_t round = 0; round < ROUNDS * N_LENGTHS; round++) {
		const size_t len = lengths[round % N_LENGTHS];

		receive_message(p, len, round);
		for (size_t i = 0; i < len; i++)
			p[i] = (uint8_t)~p[i];
		send_message(ep, p, len, round);
	}
	while (!lost)
		progress();
	close_ep(ep);
	ucp_listener_destroy(listener);
	free(p);
	printf("ucx_listener: server: %zu messages sent back\n", ROUNDS * N_LENGTHS);
}

/* ---------------------------------------------------------------- client */

static void
ask(const ucs_sock_addr_t *address)
{
	uint8_t *p = malloc(MAX_LEN), *back = malloc(MAX_LEN);
	const ucp_ep_params_t params = {
		.field_mask = UCP_EP_PARAM_FIELD_FLAGS | UCP_EP_PARAM_FIELD_SOCK_ADDR |
			      UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER,
		.flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER,
		.sockaddr = *address,
		.err_mode = UCP_ERR_HANDLING_MODE_PEER,
		.err_handler = {.cb = on_error},
	};
	size_t compared = 0, wrong = 0;
	ucp_ep_h ep;

	if (p == NULL || back == NULL)
		fail("malloc", UCS_ERR_NO_MEMORY);
	check("ucp_ep_create", ucp_ep_create(worker, &params, &ep));
	for (size_t round = 0; round < ROUNDS * N_LENGTHS; round++) {
		const size_t len = lengths[round % N_LENGTHS];

		for (size_t i = 0; i < len; i++)
			p[i] = pattern(round, i);
		memset(back, 0, len);
		send_message(ep, p, len, round);
		receive_message(back, len, round);
		for (size_t i = 0; i < len; i++)
			wrong += (back[i] ^ pattern(round, i)) != 0xff;
		compared += len;
	}
	if (lost)
		fail("the connection", UCS_ERR_CONNECTION_RESET);
	close_ep(ep);
	free(p);
	free(back);
	printf("ucx_listener: client: %zu bytes compared, %zu wrong\n", compared, wrong);
	if (wrong > 0)
		exit(1);
}

int
main(int argc, char **argv)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	const ucs_sock_addr_t address = {.addr = (const struct sockaddr *)&in,
		.addrlen = sizeof(in)};

	if (argc != 4 || (strcmp(argv[1], "server") != 0 && strcmp(argv[1], "client") != 0) ||
		inet_pton(AF_INET, argv[2], &in.sin_addr) != 1) {
		fprintf(stderr, "usage: ucx_listener server|client ADDRESS PORT\n");
		return 2;
	}
	in.sin_port = htons((uint16_t)strtoul(argv[3], NULL, 10));
	set_up();
	if (strcmp(argv[1], "server") == 0)
		serve(&address);
	else
		ask(&address);
	ucp_worker_destroy(worker);
	ucp_cleanup(context);
	return 0;
}
