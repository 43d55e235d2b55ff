/* SPDX-License-Identifier: BSD-3-Clause */
/* One fault as a line says it: the grammar of doc/softhca.md, "Faults on demand". */
#ifndef SOFTHCA_FAULT_LINE_H
#define SOFTHCA_FAULT_LINE_H

#include "fault.h"

#define FAULT_LINE_LEN 256

struct fault {
	enum fault_kind kind;
	uint64_t op;    /* the first operation that it hits, from 1; 0: at once */
	uint64_t times; /* how many it hits */
	uint64_t qp;    /* 0: any */
	uint64_t syndrome, vendor, ms, port, device, error;
	uint64_t opcode; /* of firmware commands; 0: any */
	int call;        /* FAULT_REFUSE: which name */
	uint64_t seen;
	bool of_file;
};

struct fault_parser {
	struct fault fault;
	unsigned int given;
	char err[2048]; /* what is wrong, and what is right */
};

/* 1: a fault; 0: an empty line or a comment; -EINVAL: err says what is wrong. */
int fault_parse(struct fault_parser *p, const char *text);
/* Whether that is a call of the fault's name; and whether calls of the name end an object. */
bool fault_is_of_call(const struct fault *f, const struct fault_call *call);
/* Calls that end an object: they go on where the device is dead. */
bool fault_call_ends(const struct fault_call *call);

#endif
