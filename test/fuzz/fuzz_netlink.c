/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Malformed RDMA netlink requests: random requests, and correct requests with random bytes changed.
 * Every answer must be well-formed and complete.
 *
 * usage: fuzz_netlink REQUESTS SEED
 */
#include <infiniband/verbs.h>

#include "softhca_nl.h"

#define N_REGIONS 300 /* more regions than one datagram holds */

static uint64_t seed;

static uint64_t
below(uint64_t n)
{
	return check_random(&seed) % n;
}

/* Creates objects of each kind, so that answers are not empty. */
static void
make_objects(void)
{
	static uint8_t buf[4096];
	int n;
	struct ibv_device **list = ibv_get_device_list(&n);
	struct ibv_context *ctx = list != NULL && n > 0 ? ibv_open_device(list[0]) : NULL;
	struct ibv_srq_init_attr srq_init = {.attr = {.max_wr = 15, .max_sge = 1}};
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 4, .max_send_sge = 1}};
	struct ibv_pd *pd;

	CHECK(ctx != NULL);
	pd = ibv_alloc_pd(ctx);
	CHECK(pd != NULL);
	init.send_cq = init.recv_cq = ibv_create_cq(ctx, 15, NULL, NULL, 0);
	init.srq = ibv_create_srq(pd, &srq_init);
	CHECK(init.send_cq != NULL && init.srq != NULL);
	for (unsigned int i = 0; i < 3; i++)
		CHECK(ibv_create_qp(pd, &init) != NULL);
	for (unsigned int i = 0; i < N_REGIONS; i++)
		CHECK(ibv_reg_mr(pd, buf, sizeof(buf), 0) != NULL);
}

/* Writes one request, which may be correct. */
static void
add_request(struct nl_request *all)
{
	struct nl_request r;

	nl_begin(&r, (unsigned int)below(32),
		below(2) == 0 ? NLM_F_DUMP : (unsigned int)below(0x800), (uint32_t)below(1000));
	if (below(8) != 0)
		nl_add_u32(&r, RDMA_NLDEV_ATTR_DEV_INDEX, (uint32_t)below(10) / 9);
	for (uint64_t n = below(4); n > 0; n--)
		nl_add_u32(&r, (unsigned int)below(RDMA_NLDEV_ATTR_MAX + 2), (uint32_t)below(3));
	if (below(2) == 0)
		for (uint64_t n = below(4); n > 0; n--)
			r.bytes[below(r.len)] = (uint8_t)below(256);
	if (all->len + r.len > sizeof(all->bytes))
		return;
	memcpy(all->bytes + all->len, r.bytes, r.len);
	all->len += r.len;
}

/* Reads some of the answers, or all of them if `whole` is true. */
static void
read_answers(int fd, bool whole)
{
	struct nl_answer a;
	unsigned int datagrams = 0;

	while ((whole || below(4) != 0) && nl_recv(fd, &a)) {
		CHECK(++datagrams < 10000);
		for (const struct nlmsghdr *m; (m = nl_next(&a)) != NULL;)
			if (m->nlmsg_type >= NLMSG_MIN_TYPE)
				(void)nl_attr(m, 0); /* checks the lengths of all attributes */
	}
}

int
main(int argc, char **argv)
{
	unsigned long requests = argc == 3 ? strtoul(argv[1], NULL, 0) : 0;
	int fd, room = 0;

	if (requests == 0) {
		fputs("usage: fuzz_netlink REQUESTS SEED\n", stderr);
		return 2;
	}
	seed = strtoull(argv[2], NULL, 0);
	make_objects();
	fd = nl_open();
	/* With a small buffer, a dump stops before its end. */
	CHECK_EQ(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)), 0);
	for (unsigned long i = 0; i < requests; i++) {
		struct nl_request all = {.len = 0};

		for (uint64_t n = 1 + below(3); n > 0; n--)
			add_request(&all);
		if (below(8) == 0)
			all.len = below(all.len + 1);
		nl_send(fd, &all);
		read_answers(fd, below(3) == 0);
	}
	read_answers(fd, true);
	close(fd);
	printf("%lu datagrams\n", requests);
	return check_failures == 0 ? 0 : 1;
}
