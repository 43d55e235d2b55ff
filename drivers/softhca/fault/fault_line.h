/* SPDX-License-Identifier: BSD-3-Clause */
/* One fault, read from a line. doc/softhca-reference.md, "Faults on demand", has the grammar. */
#ifndef SOFTHCA_FAULT_LINE_H
#define SOFTHCA_FAULT_LINE_H

#include "fault.h"

#define FAULT_LINE_LEN 256
#define FAULT_ERR_LEN  2048

struct fault {
	enum fault_kind kind;
	uint64_t op;    /* the first operation to strike, counted from 1; 0: at once */
	uint64_t times; /* how many operations to strike */
	uint64_t qp;    /* 0: any */
	uint64_t syndrome, vendor, ms, port, device, error;
	uint64_t opcode; /* of firmware commands; 0: any */
	int call;        /* FAULT_REFUSE: index of the name of the refused calls */
	uint64_t seen;
	bool of_file;
	char text[FAULT_LINE_LEN]; /* the line, without blanks around it */
};

struct fault_parser {
	struct fault fault;
	unsigned int given;
	char err[FAULT_ERR_LEN]; /* what is wrong with the line, and what is allowed */
};

/*
 * Reads a line. 1: p->fault is set; 0: the line is empty or a comment; -EINVAL: p->err says what is
 * wrong.
 */
int fault_parse(struct fault_parser *p, const char *text);
/*
 * Checks that the adapter and the port of a line exist. -EINVAL: they do not, and p->err says so.
 * n_devices 0: the process has no adapter, and nothing is checked.
 */
int fault_check_place(struct fault_parser *p, unsigned int n_devices, unsigned int n_ports);
/* True if the fault refuses this call. */
bool fault_is_of_call(const struct fault *f, const struct fault_call *call);
/* True if the call destroys an object. Such calls succeed on a dead device, too. */
bool fault_call_ends(const struct fault_call *call);

#endif
