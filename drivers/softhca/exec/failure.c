/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The vendor syndrome that a card reports when a check fails.
 *
 * "Seen" means that completions of real cards had this syndrome. Sources: bug reports (openucx/ucx,
 * spdk/spdk, NVIDIA/nccl, ofiwg/libfabric, the linux-rdma list), and a fault injection on
 * ConnectX-5 and -6. All other values follow from the table by which NVIDIA's libdpcp
 * (src/dpcp/err_cqe.cpp) decodes vendor syndromes: a base for the kind of access to memory, plus an
 * offset for the reason. doc/softhca-reference.md has the whole list.
 */
#include "failure.h"

/* Bases, one for each kind of memory access, and offsets, one for each reason. */
enum {
	MEMORY_READ = 0x50,  /* memory that a send WQE reads */
	MEMORY_WRITE = 0x30, /* memory that a receive, a read or an atomic writes */
	OF_KEY = 2,          /* offset for a wrong key; seen: 0x52, 0x32 */
	OF_ACCESS = 3,       /* offset for missing rights and wrong bounds; seen: 0x53, 0x33 */
	OF_CRYPTO = 5,
	OF_RESOURCES = 7
};

/*
 * Values that nobody has seen on a card are derived from the table of libdpcp. Assumed:
 * vendor-short-receive, vendor-invalidate, vendor-opcode, vendor-others.
 */
enum {
	VENDOR_RECEIVE_SHORT = 0x2c, /* receive buffer, length */
	VENDOR_WRITE_SHORT = 0x34,   /* written memory, length */
	VENDOR_PAGE = 0x56,          /* seen for receives whose pages the IOMMU refused */
	VENDOR_PSV = 0x59,
	VENDOR_SIGNATURE = 0x5a,
	VENDOR_WQE = 0x68, /* seen for each kind of malformed WQE */
	VENDOR_TOO_LONG = 0x69,
	VENDOR_OPCODE = 0x71,
	VENDOR_UMR = 0x78,           /* seen */
	VENDOR_RETRIES = 0x81,       /* seen */
	VENDOR_RNR = 0x87,           /* seen */
	VENDOR_NAK_ACCESS = 0x88,    /* seen */
	VENDOR_NAK_OPERATION = 0x89, /* seen */
	VENDOR_NAK_INVALID = 0x8a,   /* seen */
	VENDOR_INVALIDATE = 0xcb     /* invalidate, access */
};

/* The vendor syndrome for local memory whose key refuses the access. */
static uint8_t
of_memory(enum wire_vendor why, uint8_t base)
{
	switch (why) {
	case VEN_KEY_ACCESS:
	case VEN_KEY_BOUNDS:
		return base + OF_ACCESS;
	case VEN_KEY_PAGE:
		return VENDOR_PAGE;
	case VEN_KEY_PIECES:
		return base + OF_RESOURCES;
	case VEN_CRYPTO:
	case VEN_DEK:
	case VEN_CRYPTO_UNIT:
		return base + OF_CRYPTO;
	case VEN_SIG_PSV:
		return VENDOR_PSV;
	case VEN_SIG_BLOCK:
		return VENDOR_SIGNATURE;
	default:
		return base + OF_KEY;
	}
}

static uint8_t
vendor(const struct failure *f)
{
	const bool writes = f->receives || f->writes;

	switch (f->syndrome) {
	case SYN_LOC_LEN:
		if (!writes)
			return VENDOR_TOO_LONG;
		return f->receives ? VENDOR_RECEIVE_SHORT : VENDOR_WRITE_SHORT;
	case SYN_QP_OP:
		return f->why == VEN_WQE_OPCODE ? VENDOR_OPCODE : VENDOR_WQE;
	case SYN_LOC_PROT:
		return of_memory(f->why, writes ? MEMORY_WRITE : MEMORY_READ);
	case SYN_FLUSH:
		return VENDOR_FLUSHED;
	case SYN_MW_BIND:
		return VENDOR_UMR;
	case SYN_REM_INV_REQ:
		return f->receives ? VENDOR_INVALIDATE : VENDOR_NAK_INVALID;
	case SYN_REM_ACCESS:
		return VENDOR_NAK_ACCESS;
	case SYN_REM_OP:
		return VENDOR_NAK_OPERATION;
	case SYN_RETRY:
		return VENDOR_RETRIES;
	case SYN_RNR:
		return VENDOR_RNR;
	default:
		return 0; /* no report of a card shows another value */
	}
}

uint8_t
failure_vendor(const struct failure *f)
{
	uint8_t v;

	if (f->why != VEN_NONE && f->why < VEN_CHECKS)
		return (uint8_t)f->why;
	v = vendor(f);
	if (f->why != VEN_NONE)
		failure_log(f, v);
	return v;
}
