/* SPDX-License-Identifier: BSD-3-Clause */
/* Helpers for tests of faults on demand: they arm faults by calls and by the control file. */
#ifndef SOFTHCA_FAULTS_H
#define SOFTHCA_FAULTS_H

#include <fcntl.h>

#include "softhca_pair.h"

static const char *fault_file;

static inline void
fault(const char *line)
{
	CHECK_EQ(softhca_fault(line), 0);
}

static inline void
faults_write(const char *text)
{
	char tmp[256];
	FILE *f;

	snprintf(tmp, sizeof(tmp), "%s.new", fault_file);
	f = fopen(tmp, "w");
	CHECK(f != NULL);
	fputs(text, f);
	fclose(f);
	CHECK_EQ(rename(tmp, fault_file), 0);
}

/* Waits until n faults are armed: the adapter reads the control file every 10 ms. */
static inline void
faults_await(unsigned int n)
{
	uint64_t end_ms = pair_now_ms() + CHECK_PATIENCE_MS;

	while (softhca_faults_left() != n) {
		CHECK(pair_now_ms() < end_ms);
		softhca_pump();
		usleep(1000);
	}
}

/*
 * Posts a work request with this opcode, which moves the first 64 bytes of the client's memory to
 * the server.
 */
static inline void
faults_post(struct pair *p, uint64_t id, enum ibv_wr_opcode opcode)
{
	struct ibv_sge sge = {(uintptr_t)p->client.buf, 64, p->client.mr->lkey};
	struct ibv_send_wr wr = {.wr_id = id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {(uintptr_t)p->server.buf, p->server.mr->rkey}};
	struct ibv_send_wr *bad;

	pair_publish(&p->client);
	CHECK_EQ(ibv_post_send(p->client.qp, &wr, &bad), 0);
}

static inline void
faults_expect(struct pair_end *e, uint64_t id, enum ibv_wc_status status)
{
	struct ibv_wc wc = pair_wait(e);

	CHECK_EQ(wc.wr_id, id);
	CHECK_EQ(wc.status, status);
}

#define FAULTS_FOLDER "/tmp/"

/*
 * As check_main(), with a control file. The file's name is relative to the program's first working
 * directory.
 */
static inline int
faults_main(const struct check_case *cases, size_t n, int argc, char **argv)
{
	static char path[256] = FAULTS_FOLDER "softhca-faults.XXXXXX";
	int rc;

	/*
	 * The library reads the variable SOFTHCA_FAULTS when it is loaded. So the program sets the
	 * variable and executes itself again.
	 */
	if (getenv("SOFTHCA_FAULTS") == NULL) {
		int fd = mkstemp(path);

		CHECK(fd >= 0);
		close(fd);
		setenv("SOFTHCA_FAULTS", path + strlen(FAULTS_FOLDER), 1);
		CHECK_EQ(chdir(FAULTS_FOLDER), 0);
		execv("/proc/self/exe", argv);
		CHECK(!"execv");
	}
	CHECK_EQ(chdir("/"), 0);
	snprintf(path, sizeof(path), FAULTS_FOLDER "%s", getenv("SOFTHCA_FAULTS"));
	fault_file = path;
	/*
	 * A case may execute the program once more, in another working directory. So the path is
	 * made absolute here.
	 */
	setenv("SOFTHCA_FAULTS", path, 1);
	rc = check_main(cases, n, argc, argv);
	unlink(fault_file);
	return rc;
}

#endif
