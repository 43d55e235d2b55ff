/* SPDX-License-Identifier: BSD-3-Clause */
/* Assumptions about keys with block signatures. ISA-L computes the expected guards. */
#include "probe_work.h"
#include "softhca_signature.h"

#define BLOCK  512
#define BLOCKS 4
#define TAG    0x1000 /* reference tag of the first block, for T10-DIF */

/* Two QPs, and a key with signatures over the memory of one of the two ends. */
struct signed_pair {
	struct pair p;
	struct pair_end *owner;
	struct mlx5dv_mkey *mkey;
	struct signature sig;
	struct signature_domain domain;
	uint8_t data[BLOCKS * BLOCK];
};

static uint32_t
unit(const struct signed_pair *s)
{
	return BLOCK + signature_len(s->sig.kind);
}

/* Configures the key to cover its owner's memory. If sig is NULL, the signatures do not change. */
static void
configure(struct signed_pair *s, const struct mlx5dv_sig_block_attr *sig)
{
	const struct ibv_sge v = {(uintptr_t)s->owner->buf, BLOCKS * unit(s), s->owner->mr->lkey};

	signature_post_key(s->owner, s->mkey, PAIR_ALL, 1, &v, sig);
	CHECK_EQ(pair_wait(s->owner).status, IBV_WC_SUCCESS);
}

/*
 * Opens a key with signatures on the wire or in memory. With `server`, the key belongs to the
 * server.
 */
static void
open_signed(struct signed_pair *s, enum signature_kind kind, bool wire, bool server,
	const struct pair_opts *opts)
{
	struct mlx5dv_sig_block_attr sig = {.check_mask = 0xff};

	pair_init(&s->p, opts != NULL ? opts : &(struct pair_opts){.keys = true});
	s->owner = server ? &s->p.server : &s->p.client;
	s->mkey = signature_create_key(s->p.pd);
	s->sig = (struct signature){.kind = kind, .ones = true, .app = 0xabcd, .ref = TAG};
	signature_domain(&s->domain, &s->sig, MLX5DV_BLOCK_SIZE_512, 0);
	if (wire)
		sig.wire = &s->domain.d;
	else
		sig.mem = &s->domain.d;
	signature_paint(&s->p, s->data, sizeof(s->data));
	configure(s, &sig);
}

/* The client writes from its key to the server's memory. */
static void
post_from_key(struct signed_pair *s, uint64_t at, uint32_t len)
{
	struct pair_end *e = &s->p.client;

	pair_publish(e);
	ibv_wr_start(e->qpx);
	e->qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(e->qpx, s->p.server.mr->rkey, (uintptr_t)s->p.server.buf);
	ibv_wr_set_sge(e->qpx, s->mkey->lkey, at, len);
	CHECK_EQ(ibv_wr_complete(e->qpx), 0);
}

static enum ibv_wc_status
write_from_key(struct signed_pair *s, uint64_t at, uint32_t len)
{
	post_from_key(s, at, len);
	return pair_wait(&s->p.client).status;
}

/* ---- errors */

/* Opcodes of CQEs. In mlx5dv.h, rdma-core before 39 has no name for the second opcode. */
#define CQE_OF_REQUEST 0
#define CQE_OF_SIG_ERR 12

static uint8_t
cqe_opcode(const struct pair_end *e, uint32_t index)
{
	const uint32_t slot = index & (e->n_cqe - 1);

	return __atomic_load_n(e->cqes + (size_t)slot * e->cqe_len + 63, __ATOMIC_ACQUIRE) >> 4;
}

/* Opens a key over the client's memory, in which the signature of block `wrong` is wrong. */
static void
open_wrong(struct signed_pair *s, uint32_t wrong, const struct pair_opts *opts)
{
	open_signed(s, CRC32C, false, false, opts);
	signature_lay(&s->sig, s->data, BLOCK, BLOCKS, s->p.client.buf);
	s->p.client.buf[wrong * unit(s) + BLOCK] ^= 1;
}

/*
 * Waits for the client's CQE of this kind. Returns the CQE's opcode, or MLX5_CQE_INVALID if there
 * is none.
 */
static uint8_t
wait_opcode(struct signed_pair *s, uint32_t index)
{
	uint64_t end = pair_now_ms() + PROBE_PATIENCE_MS;
	uint8_t opcode;

	do {
		pair_run();
		opcode = cqe_opcode(&s->p.client, index);
	} while (opcode == MLX5_CQE_INVALID && pair_now_ms() < end);
	return opcode;
}

static void
sig_err_first(struct probe_answer *a)
{
	struct signed_pair s;
	uint8_t first, second;

	open_wrong(&s, 0, NULL);
	post_from_key(&s, 0, BLOCKS * BLOCK);
	first = wait_opcode(&s, s.p.client.polled);
	second = wait_opcode(&s, s.p.client.polled + 1);
	probe_saw(a, first == CQE_OF_SIG_ERR && second == CQE_OF_REQUEST,
		"the first completion has opcode %u, the second one %u (15: none came)", first,
		second);
}

static void
sig_err_offset(struct probe_answer *a)
{
	struct signed_pair s;
	struct mlx5dv_mkey_err err;

	open_wrong(&s, 1, NULL);
	write_from_key(&s, 0, BLOCKS * BLOCK);
	err = signature_key_error(s.mkey);
	CHECK_EQ(err.err_type, MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD);
	probe_saw(a, err.err.sig.offset == unit(&s), "the error of the second block is at %llu",
		(unsigned long long)err.err.sig.offset);
}

/* The client writes through a key of the server. The signature of the first block is wrong. */
static void
write_wrong(struct signed_pair *s, const struct pair_opts *opts)
{
	struct pair_end *e = &s->p.client;

	open_signed(s, CRC32C, true, true, opts);
	signature_lay(&s->sig, s->data, BLOCK, BLOCKS, e->buf);
	e->buf[BLOCK] ^= 1;
	pair_publish(e);
	ibv_wr_start(e->qpx);
	e->qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(e->qpx, s->mkey->rkey, 0);
	ibv_wr_set_sge(e->qpx, e->mr->lkey, (uintptr_t)e->buf, BLOCKS * unit(s));
	CHECK_EQ(ibv_wr_complete(e->qpx), 0);
	CHECK_EQ(pair_wait(e).status, IBV_WC_SUCCESS);
}

static void
sig_err_responder(struct probe_answer *a)
{
	struct signed_pair s;
	enum ibv_qp_state state;
	struct ibv_wc wc;
	bool came;

	write_wrong(&s,
		&(struct pair_opts){.keys = true, .dv_flags = MLX5DV_QP_CREATE_SIG_PIPELINING});
	probe_post_write(&s.p.server, s.p.client.mr->rkey, (uintptr_t)s.p.client.buf);
	/* Polling also consumes the SIG_ERR completion. */
	came = pair_try_wait(&s.p.server, &wc, PROBE_PATIENCE_MS);
	CHECK_EQ(signature_key_error(s.mkey).err_type, MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD);
	state = pair_state(s.p.server.qp);
	probe_saw(a, came && wc.status == IBV_WC_SUCCESS && state == IBV_QPS_RTS,
		"the next work request %s, state %d", came ? "completes" : "waits", state);
}

/*
 * Polls both CQs until the key has an error. Returns the CQ whose polling made libmlx5 set the
 * error: 's' for the send CQ, 'r' for the receive CQ; '-' if the key gets no error.
 */
static char
cq_of_error(struct signed_pair *s)
{
	struct ibv_cq *cqs[2] = {s->owner->cq, s->owner->recv_cq};
	uint64_t end = pair_now_ms() + PROBE_PATIENCE_MS;
	struct ibv_wc wc;

	do {
		pair_run();
		for (int i = 0; i < 2; i++) {
			CHECK(ibv_poll_cq(cqs[i], 1, &wc) >= 0);
			if (signature_key_error(s->mkey).err_type != MLX5DV_MKEY_NO_ERR)
				return "sr"[i];
		}
	} while (pair_now_ms() < end);
	return '-';
}

static void
sig_err_cq(struct probe_answer *a)
{
	static const struct pair_opts opts = {.keys = true, .two_cqs = true};
	struct signed_pair requester, responder;
	char first, second;

	open_wrong(&requester, 0, &opts);
	post_from_key(&requester, 0, BLOCKS * BLOCK);
	first = cq_of_error(&requester);
	write_wrong(&responder, &opts);
	second = cq_of_error(&responder);
	probe_saw(a, first == 's' && second == 'r',
		"the requester's is in its CQ '%c', the responder's in its CQ '%c' (s: of sends, r: of "
		"receives, -: none came)",
		first, second);
}

/* ---- lengths */

/* Sends `len` bytes from a key with signatures on the wire, and compares the bytes that arrive. */
static void
sends_wire(struct probe_answer *a, uint32_t less)
{
	struct signed_pair s;
	uint8_t want[BLOCKS * (BLOCK + SIGNATURE_MAX_LEN)];
	enum ibv_wc_status status;
	uint32_t len;

	open_signed(&s, CRC32C, true, false, NULL);
	len = BLOCKS * unit(&s) - less;
	memset(want, 0x22, sizeof(want)); /* the value that signature_paint() writes */
	signature_lay(&s.sig, s.data, BLOCK, BLOCKS, want);
	memset(want + len, 0x22, less);
	memcpy(s.p.client.buf, s.data, sizeof(s.data));
	status = write_from_key(&s, 0, len);
	probe_saw(a,
		status == IBV_WC_SUCCESS &&
			memcmp(s.p.server.buf, want, BLOCKS * (size_t)unit(&s)) == 0,
		"%s, %s", ibv_wc_status_str(status),
		memcmp(s.p.server.buf, want, len) == 0 ? "with the bytes of the wire"
						       : "with other bytes");
}

static void
sig_wire_length(struct probe_answer *a)
{
	sends_wire(a, 0);
}

static void
sig_wire_last(struct probe_answer *a)
{
	sends_wire(a, 4); /* length of a CRC32C */
}

/* ---- reference tags */

/* Returns the reference tag of the first block that arrived. */
static uint32_t
tag_there(const struct signed_pair *s)
{
	uint32_t tag;

	memcpy(&tag, s->p.server.buf + BLOCK + 4, sizeof(tag));
	return be32toh(tag);
}

static void
saw_tags(struct probe_answer *a, uint32_t first, uint32_t second)
{
	probe_saw(a, first == TAG && second == TAG + 1,
		"the tag that was configured plus %d, plus %d", (int)(first - TAG),
		(int)(second - TAG));
}

/*
 * Writes block 2 first and then block 0, to see whether a tag depends on the block's offset in the
 * key.
 */
static void
sig_tag_runs(struct probe_answer *a)
{
	struct signed_pair s;
	uint32_t first;

	open_signed(&s, DIF_CRC, true, false, NULL);
	CHECK_EQ(write_from_key(&s, 2 * (uint64_t)unit(&s), unit(&s)), IBV_WC_SUCCESS);
	first = tag_there(&s);
	CHECK_EQ(write_from_key(&s, 0, unit(&s)), IBV_WC_SUCCESS);
	saw_tags(a, first, tag_there(&s));
}

static void
sig_tag_no_psv(struct probe_answer *a)
{
	struct signed_pair s;
	uint32_t first;

	open_signed(&s, DIF_CRC, true, false, NULL);
	CHECK_EQ(write_from_key(&s, 0, unit(&s)), IBV_WC_SUCCESS);
	first = tag_there(&s);
	configure(&s, NULL);
	CHECK_EQ(write_from_key(&s, 0, unit(&s)), IBV_WC_SUCCESS);
	saw_tags(a, first, tag_there(&s));
}

/*
 * A SEND of one block is retried until a receive is posted. The tag of a write after this SEND
 * shows whether retries count.
 */
static void
sig_tag_retried(struct probe_answer *a)
{
	struct signed_pair s;
	struct pair_end *e = &s.p.client;
	uint32_t first;

	open_signed(&s, DIF_CRC, true, false, NULL);
	pair_publish(e);
	ibv_wr_start(e->qpx);
	e->qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(e->qpx);
	ibv_wr_set_sge(e->qpx, s.mkey->lkey, 0, unit(&s));
	CHECK_EQ(ibv_wr_complete(e->qpx), 0);
	for (int i = 0; i < 20; i++) {
		pair_run();
		usleep(1000);
	}
	pair_post_recv(&s.p.server, 0, 0, unit(&s));
	CHECK_EQ(pair_wait(e).status, IBV_WC_SUCCESS);
	CHECK_EQ(pair_wait(&s.p.server).status, IBV_WC_SUCCESS);
	first = tag_there(&s);
	CHECK_EQ(write_from_key(&s, 0, unit(&s)), IBV_WC_SUCCESS);
	saw_tags(a, first, tag_there(&s));
}

/* ---- CRCs */

/* Sends one block from a key with that CRC on the wire. */
static void
crc(struct probe_answer *a, enum signature_kind kind)
{
	struct signed_pair s;
	uint8_t want[SIGNATURE_MAX_LEN];
	const uint8_t *got;

	open_signed(&s, kind, true, false, NULL);
	memcpy(s.p.client.buf, s.data, sizeof(s.data));
	signature_write(&s.sig, s.data, BLOCK, 0, want);
	CHECK_EQ(write_from_key(&s, 0, unit(&s)), IBV_WC_SUCCESS);
	got = s.p.server.buf + BLOCK;
	probe_saw(a, memcmp(got, want, signature_len(kind)) == 0,
		"%02x%02x%02x%02x... in place of %02x%02x%02x%02x...", got[0], got[1], got[2],
		got[3], want[0], want[1], want[2], want[3]);
}

static void
sig_crc32(struct probe_answer *a)
{
	crc(a, CRC32);
}

static void
sig_crc32c(struct probe_answer *a)
{
	crc(a, CRC32C);
}

static void
sig_crc64(struct probe_answer *a)
{
	crc(a, CRC64);
}

const struct probe probe_signatures[] = {
	{"sig-err-first",
		"A SIG_ERR completion comes before the completion of the work request that used "
		"the key.",
		"By this order Gantry finds the transaction that has a wrong signature. On a "
		"device with another order, it may report GANTRY_OK for such a transaction: run "
		"no transactions there.",
		sig_err_first},
	{"sig-err-cq",
		"A requester's SIG_ERR completion goes to its send CQ, a responder's to its "
		"receive CQ.",
		"Gantry looks for wrong signatures only in the CQ of sends: it would miss those "
		"that a device writes to the CQ of receives.",
		sig_err_cq},
	{"sig-err-offset",
		"The offset of a SIG_ERR completion counts blocks with their signatures.",
		"The place of a wrong signature that a transaction reports is wrong; the status is right.",
		sig_err_offset},
	{"sig-err-responder",
		"A signature error at the responder does not stop the responder's send queue.",
		"The send queue of a peer that is only read or written may stop, and must be resumed by its owner.",
		sig_err_responder},
	{"sig-wire-length",
		"If a WQE uses a key with signatures, its addresses and lengths count bytes on the "
		"wire, also in a local data segment.",
		"Transactions with signatures on the wire move too many or too few bytes, or fail; those without are not affected.",
		sig_wire_length},
	{"sig-wire-last",
		"A message may leave out the wire's last signature, which is then neither sent nor "
		"checked.",
		"Gantry's transactions move whole blocks with their signatures; a program that leaves the last signature out fails.",
		sig_wire_last},
	{"sig-tag-runs",
		"The program configures a key with a reference tag of T10-DIF. The first block "
		"that then moves through the key has this tag.",
		"Gantry configures a key for each transaction and begins at its address 0; a program that goes on in a key meets other reference tags.",
		sig_tag_runs},
	{"sig-tag-retried", "A retried request does not advance the reference tag.",
		"A transaction whose packets are sent again may report a wrong reference tag, or write one.",
		sig_tag_retried},
	{"sig-tag-no-psv",
		"If a key is configured again without new signature attributes, the reference tags "
		"continue where they were.",
		"Gantry sets the tag anew for each transaction; a program that configures without signature attributes meets another tag.",
		sig_tag_no_psv},
	{"sig-tag-bsf",
		"The device takes the reference tag from SET_PSV, and ignores the tag in the BSF.",
		"Nothing depends on it, as libmlx5 and Gantry write the same tag to both places.",
		NULL, "libmlx5 writes the same tag into both."},
	{"sig-crc32", "The bytes of CRC32 are little endian, and the CRC is inverted at the end.",
		"CRC32 signatures of this device do not match those that software computes; what one writes, the other finds wrong.",
		sig_crc32},
	{"sig-crc32c", "The bytes of CRC32C are little endian, and the CRC is inverted at the end.",
		"CRC32C signatures of this device do not match those that software computes; what one writes, the other finds wrong.",
		sig_crc32c},
	{"sig-crc64", "CRC64_XP10 is CRC-64/NVME, in little endian bytes.",
		"CRC64 signatures of this device do not match those that software computes; what one writes, the other finds wrong.",
		sig_crc64},
	{NULL},
};
