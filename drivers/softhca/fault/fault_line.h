/* SPDX-License-Identifier: BSD-3-Clause */
/* A fault, read from a line. doc/softhca-faults.md has the grammar. */
#ifndef SOFTHCA_FAULT_LINE_H
#define SOFTHCA_FAULT_LINE_H

#include "fault.h"

#define FAULT_LINE_LEN 256
#define FAULT_ERR_LEN  2048

struct fault {
	enum fault_kind kind;
	/* number of the first operation to which the fault applies, counted from 1; 0: at once */
	uint64_t op;
	uint64_t times; /* number of operations to which the fault applies */
	uint64_t qp;    /* number of the QP; 0: any QP */
	uint64_t syndrome, vendor, ms, port, device, error;
	uint64_t opcode; /* opcode of the firmware command; 0: any command */
	int call;        /* for FAULT_REFUSE: index of the name of the refused calls */
	uint64_t seen;
	bool of_file;
	char text[FAULT_LINE_LEN]; /* the line, without blanks at its start and end */
};

struct fault_parser {
	struct fault fault;
	unsigned int given;
	char err[FAULT_ERR_LEN]; /* the error in the line, and what is allowed */
};

/*
 * Reads a line. Returns 1 if p->fault is set, 0 if the line is empty or a comment, or -EINVAL if
 * the line is wrong: then p->err is the reason.
 */
int fault_parse(struct fault_parser *p, const char *text);
/*
 * Checks that the adapter and the port in a line exist. Returns 0, or -EINVAL with the reason in
 * p->err. If n_devices is 0, the process has no adapter, and the line is not checked.
 */
int fault_check_place(struct fault_parser *p, unsigned int n_devices, unsigned int n_ports);
/* True if the fault refuses this call. */
bool fault_is_of_call(const struct fault *f, const struct fault_call *call);
/* True if the call destroys an object. Such calls succeed also on a dead device. */
bool fault_call_ends(const struct fault_call *call);

#endif
