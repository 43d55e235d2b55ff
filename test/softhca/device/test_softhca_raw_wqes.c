/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hand-made WQEs on a raw packet QP: the rules of the Ethernet segment, the headers for which the
 * adapter writes checksums, the frames that can be segmented (TSO), and the operations that are
 * refused. Frames are checked when the adapter sends them, against RFC 791, 1071, 8200 and 9293.
 */
#include <linux/if_ether.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "check.h"
#include "capture.h"
#include "rfc1071.h"
#include "softhca.h"
#include "softhca_rig.h"
#include "virtual_clock.h"
#include "wire.h"

#define ALWAYS    MLX5_WQE_CTRL_CQ_UPDATE
#define QP_OP     MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR
#define TOO_LONG  MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR
#define L3        MLX5_ETH_WQE_L3_CSUM
#define L4        MLX5_ETH_WQE_L4_CSUM
#define MAX_FRAME 9216
#define MIN_FRAME 60
#define IP_AT     14
#define TCP_AT    34 /* after an IPv4 header without options */
#define TCP6_AT   54
#define TCP_HDR   54 /* length of the Ethernet, IPv4 and TCP headers */

/* The frames that were sent since rig_open(): their number, their bytes, and the last frame. */
static struct {
	unsigned int n;
	size_t bytes, len;
	uint8_t last[MAX_FRAME];
} left;

void __wrap_capture_frame(const struct softhca_config *cfg, const uint8_t *frame, size_t len);

void
__wrap_capture_frame(const struct softhca_config *cfg, const uint8_t *frame, size_t len)
{
	(void)cfg;
	CHECK(len <= MAX_FRAME, "a frame of %zu bytes", len);
	if (len > MAX_FRAME)
		return;
	left.n++;
	left.bytes += len;
	left.len = len;
	memcpy(left.last, frame, len);
}

static void
set16(uint8_t *p, unsigned int v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static void
rig_open_at(struct rig *r, uint32_t mbps)
{
	const struct rig_opts o = {.no_connect = true,
		.type = SOFTHCA_QP_RAW,
		.bandwidth_mbps = mbps};

	rig_init(r, &o);
	rig_take(&r->a, K_RAW, (struct softhca_qp_attr){.port = 1});
	for (unsigned int i = 0; i < RIG_BUF; i++)
		r->a.buf[i] = (uint8_t)(i * 3 + i / 256);
	memset(&left, 0, sizeof(left));
}

static void
rig_open(struct rig *r)
{
	rig_open_at(r, 0);
}

/* Returns a WQE with this inline header. The WQE's size depends on the header. */
static struct rig_wqe
eth_wqe(uint8_t opcode, uint16_t mss, uint8_t flags, const void *header, uint16_t len)
{
	struct rig_wqe w = rig_wqe(opcode, ALWAYS);
	uint8_t *eth = w.bytes + 16;

	eth[4] = flags;
	set16(eth + 6, mss);
	set16(eth + 12, len);
	memcpy(eth + 14, header, len);
	w.ds = 2 + (len > 2 ? (len - 2 + 15u) / 16 : 0);
	return w;
}

/*
 * Checks that there is exactly one completion, and that no frame is sent if the completion has an
 * error. Returns the check of the adapter that refused the WQE (enum wire_vendor).
 */
static unsigned int
expect(struct rig *r, const struct rig_wqe *w, uint8_t syndrome, const char *what)
{
	const struct mlx5_cqe64 *cqe;

	rig_post(&r->a, w);
	rig_run(r);
	cqe = rig_poll(&r->a);
	CHECK(cqe != NULL, "%s: no completion", what);
	if (cqe == NULL)
		return 0;
	CHECK_EQ(cqe->op_own >> 4, syndrome == 0 ? MLX5_CQE_REQ : MLX5_CQE_REQ_ERR, what);
	if (syndrome == 0)
		return 0;
	CHECK_EQ(rig_err(cqe)->syndrome, syndrome, what);
	CHECK_EQ(left.n, 0, what);
	if (syndrome == TOO_LONG)
		CHECK_EQ(rig_check, VEN_LENGTH, what);
	if (syndrome == QP_OP && (w->opcode == MLX5_OPCODE_SEND || w->opcode == MLX5_OPCODE_TSO))
		CHECK_EQ(rig_check, VEN_SEGMENT, what);
	return rig_check;
}

/* Executes the WQE on a new QP, with `len` bytes of memory after the inline header. */
static void
expect_alone(struct rig_wqe w, uint32_t len, uint8_t syndrome, const char *what)
{
	struct rig r;

	rig_open(&r);
	if (len != 0)
		rig_sge(&w, rig_va(r.a.buf), r.a.key, len);
	expect(&r, &w, syndrome, what);
	rig_fini(&r);
}

/* ---- headers */

/* If a checksum is right, the sum over the bytes is all ones (RFC 1071, section 1). */
static bool
l4_is_right(const uint8_t *frame, bool v6, size_t l4_len)
{
	const uint8_t *ip = frame + IP_AT;
	unsigned int proto = v6 ? ip[6] : ip[9];
	unsigned int sum = sum16(proto + (unsigned int)l4_len, ip + (v6 ? 8 : 12), v6 ? 32 : 8);

	return sum16(sum, frame + (v6 ? TCP6_AT : TCP_AT), l4_len) == 0xffff;
}

/*
 * Writes three headers: an Ethernet header, an IPv4 header, and 20 bytes of the given protocol.
 * Their checksums are wrong.
 */
static void
ipv4_header(uint8_t h[TCP_HDR], uint8_t proto, unsigned int total)
{
	memset(h, 0x11, TCP_HDR);
	set16(h + 12, ETH_P_IP);
	h[IP_AT] = 0x45;
	set16(h + IP_AT + 2, total);
	set16(h + IP_AT + 6, 0x4000); /* "don't fragment" */
	h[IP_AT + 9] = proto;
	h[TCP_AT + 12] = 5 << 4; /* length of the TCP header: 20 bytes */
}

static void
ipv6_header(uint8_t h[TCP_HDR + 20], unsigned int payload)
{
	memset(h, 0x22, TCP_HDR + 20);
	set16(h + 12, ETH_P_IPV6);
	h[IP_AT] = 0x60;
	set16(h + IP_AT + 4, payload);
	h[IP_AT + 6] = IPPROTO_TCP;
	h[TCP6_AT + 12] = 5 << 4;
}

/* ---- the inline header */

/*
 * The inline header must end inside its WQE: the Ethernet segment contains 2 bytes of the header,
 * and each further 16 bytes of the WQE contain 16.
 */
static void
case_header_end(void)
{
	static const uint8_t opcodes[] = {MLX5_OPCODE_SEND, MLX5_OPCODE_TSO};
	uint8_t h[TCP_HDR];

	ipv4_header(h, IPPROTO_TCP, 40);
	for (unsigned int i = 0; i < 2; i++) {
		struct rig_wqe w = eth_wqe(opcodes[i], 100, 0, h, TCP_HDR);

		expect_alone(w, 0, 0, "a header to the WQE's end");
		w.ds--;
		expect_alone(w, 0, QP_OP, "a header that runs beyond its WQE");
		w = eth_wqe(opcodes[i], 100, 0, h, TCP_HDR);
		set16(w.bytes + 16 + 12, 0xffff);
		expect_alone(w, 0, QP_OP, "the longest header");
	}
	expect_alone(eth_wqe(MLX5_OPCODE_SEND, 0, 0, h, 18), 0, 0, "18 bytes");
	{
		struct rig_wqe w = eth_wqe(MLX5_OPCODE_SEND, 0, 0, h, 18);

		set16(w.bytes + 16 + 12, 19);
		expect_alone(w, 0, QP_OP, "19 bytes where 18 have room");
	}
}

/*
 * The longest header must be sent whole: a WQE has 63 units of 16 bytes, of which the control
 * segment is the first.
 */
static void
case_header_longest(void)
{
	enum {
		LONGEST = 61 * 16 + 2
	};
	uint8_t h[LONGEST];
	struct rig r;
	struct rig_wqe w;

	for (unsigned int i = 0; i < LONGEST; i++)
		h[i] = (uint8_t)(i * 7);
	w = eth_wqe(MLX5_OPCODE_SEND, 0, 0, h, LONGEST);
	rig_open(&r);
	expect(&r, &w, 0, "the longest header");
	CHECK_EQ(left.len, LONGEST, "its length");
	check_bytes(left.last, h, LONGEST, "the longest header");
	rig_fini(&r);
}

/* ---- lengths */

/* A frame must have at least its Ethernet header, and must not be longer than the port allows. */
static void
case_frame_lengths(void)
{
	uint8_t h[TCP_HDR];

	ipv4_header(h, IPPROTO_TCP, 40);
	expect_alone(eth_wqe(MLX5_OPCODE_SEND, 0, 0, h, 14), 0, 0, "14 bytes");
	CHECK_EQ(left.len, MIN_FRAME, "padded");
	expect_alone(eth_wqe(MLX5_OPCODE_SEND, 0, 0, h, 13), 0, TOO_LONG, "13 bytes");
	expect_alone(eth_wqe(MLX5_OPCODE_SEND, 0, 0, h, 2), 12, 0, "2 and 12 bytes");
	expect_alone(eth_wqe(MLX5_OPCODE_SEND, 0, 0, h, 2), 11, TOO_LONG, "2 and 11 bytes");
	expect_alone(eth_wqe(MLX5_OPCODE_SEND, 0, 0, h, 18), MAX_FRAME - 18, 0, "the longest");
	CHECK_EQ(left.len, MAX_FRAME, "whole");
	expect_alone(eth_wqe(MLX5_OPCODE_SEND, 0, 0, h, 18), MAX_FRAME - 17, TOO_LONG, "longer");
	expect_alone(eth_wqe(MLX5_OPCODE_SEND, 0, 0, h, 18), RIG_BUF, TOO_LONG, "64 KiB");
}

/*
 * TSO requests that exceed a limit must be refused: the limit of each frame, and the limit of the
 * whole request, which is 256 KiB (max_tso).
 */
static void
case_tso_lengths(void)
{
	struct rig_wqe w;
	uint8_t h[TCP_HDR];

	ipv4_header(h, IPPROTO_TCP, 0);
	expect_alone(eth_wqe(MLX5_OPCODE_TSO, MAX_FRAME - TCP_HDR, 0, h, TCP_HDR), RIG_BUF, 0,
		"the longest frames");
	CHECK_EQ(left.n, (RIG_BUF + MAX_FRAME - TCP_HDR - 1) / (MAX_FRAME - TCP_HDR), "frames");
	w = eth_wqe(MLX5_OPCODE_TSO, MAX_FRAME - TCP_HDR + 1, 0, h, TCP_HDR);
	expect_alone(w, 10, TOO_LONG, "a longer MSS");
	expect_alone(eth_wqe(MLX5_OPCODE_TSO, 0xffff, 0, h, TCP_HDR), 10, TOO_LONG, "the longest");
	for (unsigned int more = 0; more <= 1; more++) {
		struct rig r;

		rig_open(&r);
		w = eth_wqe(MLX5_OPCODE_TSO, 1000, 0, h, TCP_HDR);
		for (unsigned int i = 0; i < 4; i++)
			rig_sge(&w, rig_va(r.a.buf), r.a.key, RIG_BUF);
		if (more != 0)
			rig_sge(&w, rig_va(r.a.buf), r.a.key, more);
		expect(&r, &w, more != 0 ? TOO_LONG : 0, "256 KiB");
		if (more == 0) {
			CHECK_EQ(left.n, 263, "frames of 256 KiB");
			CHECK_EQ(left.bytes, 4 * RIG_BUF + 263 * TCP_HDR, "bytes");
			check_bytes(left.last + TCP_HDR, r.a.buf + RIG_BUF - 144, 144, "the last");
		}
		rig_fini(&r);
	}
}

/* ---- memory after the header */

/*
 * The keys of a frame's memory must be checked as those of any other message. Data of the null key
 * must be zeros.
 */
static void
case_memory(void)
{
	static const uint8_t opcodes[] = {MLX5_OPCODE_SEND, MLX5_OPCODE_TSO};
	uint8_t h[TCP_HDR], zeros[100] = {0};

	ipv4_header(h, IPPROTO_TCP, 140);
	for (unsigned int i = 0; i < 2; i++) {
		struct rig_wqe w = eth_wqe(opcodes[i], 1000, 0, h, TCP_HDR);
		struct rig r;

		rig_open(&r);
		rig_sge(&w, rig_va(r.a.buf), r.a.key ^ 0x100, 100);
		expect(&r, &w, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR, "a key that names nothing");
		rig_fini(&r);
		rig_open(&r);
		w = eth_wqe(opcodes[i], 1000, 0, h, TCP_HDR);
		rig_sge(&w, rig_va(r.a.buf) + RIG_BUF - 99, r.a.key, 100);
		expect(&r, &w, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR, "one byte too many");
		rig_fini(&r);
		rig_open(&r);
		w = eth_wqe(opcodes[i], 1000, 0, h, TCP_HDR);
		rig_sge(&w, rig_va(r.a.buf), r.a.key, 8);
		rig_sge(&w, 0, SOFTHCA_DUMP_FILL_KEY, 92);
		expect(&r, &w, 0, "the null key");
		CHECK_EQ(left.len, TCP_HDR + 100, "its length");
		check_bytes(left.last + TCP_HDR, r.a.buf, 8, "the memory");
		check_bytes(left.last + TCP_HDR + 8, zeros, 92, "the zeros");
		rig_fini(&r);
	}
}

/*
 * ---- TSO: frames with only Ethernet, IP and TCP headers, which the adapter cuts into segments of
 * a given size
 */

static void
expect_no_tso(const uint8_t h[TCP_HDR], uint16_t mss, const char *what)
{
	expect_alone(eth_wqe(MLX5_OPCODE_TSO, mss, 0, h, TCP_HDR), 200, QP_OP, what);
}

static void
case_tso_headers(void)
{
	static const struct {
		unsigned int at;
		uint8_t value;
		const char *what;
	} wrong[] = {
		{IP_AT + 9, IPPROTO_UDP, "UDP that looks like TCP"},
		{IP_AT + 9, IPPROTO_ICMP, "ICMP"},
		{12, 0x88, "a type that is not IP"},
		{12, 0x81, "a VLAN tag and an unknown type behind it"},
		{IP_AT, 0x65, "version 6 where the type says 4"},
		{IP_AT, 0x44, "an IP header of 16 bytes"},
		{IP_AT, 0x4f, "an IP header longer than the frame"},
		{IP_AT, 0x46, "IP options where the TCP header would be"},
		{IP_AT + 6, 0x20, "a first fragment"},
		{IP_AT + 7, 0x01, "a later fragment"},
		{TCP_AT + 12, 4 << 4, "a TCP header of 16 bytes"},
		{TCP_AT + 12, 6 << 4, "a TCP header longer than the frame"},
	};
	uint8_t h[TCP_HDR];

	ipv4_header(h, IPPROTO_TCP, 0);
	expect_alone(eth_wqe(MLX5_OPCODE_TSO, 100, 0, h, TCP_HDR), 200, 0, "a good header");
	CHECK_EQ(left.n, 2, "frames");
	expect_no_tso(h, 0, "an MSS of 0");
	for (unsigned int i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		ipv4_header(h, IPPROTO_TCP, 0);
		h[wrong[i].at] = wrong[i].value;
		expect_no_tso(h, 100, wrong[i].what);
	}
	for (uint16_t len = 0; len < TCP_HDR; len++) {
		ipv4_header(h, IPPROTO_TCP, 0);
		expect_alone(eth_wqe(MLX5_OPCODE_TSO, 100, 0, h, len), 200, QP_OP, "a cut header");
	}
	for (unsigned int i = 0; i < TCP_HDR; i += 2)
		set16(h + i, ETH_P_8021Q);
	expect_no_tso(h, 100, "VLAN tags to the end");
}

/* ---- checksums */

/* Sends a frame of the header and 46 bytes, with both checksum flags or with the given `flags`. */
static void
send_frame(const uint8_t *h, uint16_t len, uint8_t flags)
{
	expect_alone(eth_wqe(MLX5_OPCODE_SEND, 0, flags, h, len), 46, 0, "a frame");
	CHECK_EQ(left.n, 1, "frames");
}

/*
 * Checks that the frame was sent unchanged: it has no header for which the adapter writes a
 * checksum.
 */
static void
expect_as_it_was(const uint8_t *h, uint16_t len, const char *what)
{
	send_frame(h, len, L3 | L4);
	check_bytes(left.last, h, len, what);
}

static void
case_no_checksums(void)
{
	static const struct {
		unsigned int at;
		uint8_t value;
		const char *what;
	} wrong[] = {
		{12, 0x88, "a type that is not IP"},
		{IP_AT, 0x65, "version 6 where the type says 4"},
		{IP_AT, 0x44, "an IP header of 16 bytes"},
	};
	uint8_t h[TCP_HDR + 20];

	for (unsigned int i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		ipv4_header(h, IPPROTO_TCP, 86);
		h[wrong[i].at] = wrong[i].value;
		expect_as_it_was(h, TCP_HDR, wrong[i].what);
	}
	ipv6_header(h, 66);
	h[IP_AT] = 0x40;
	expect_as_it_was(h, TCP_HDR + 20, "version 4 where the type says 6");
	/* The IP header claims 60 bytes, but the frame ends after 56 of them. */
	ipv4_header(h, IPPROTO_TCP, 56);
	h[IP_AT] = 0x4f;
	expect_alone(eth_wqe(MLX5_OPCODE_SEND, 0, L3 | L4, h, TCP_HDR), 16, 0, "a short frame");
	check_bytes(left.last, h, TCP_HDR, "an IP header that is cut off");
	/* VLAN tags up to the end of the header, without a further EtherType. */
	for (unsigned int i = 0; i < TCP_HDR; i += 2)
		set16(h + i, ETH_P_8021Q);
	expect_alone(eth_wqe(MLX5_OPCODE_SEND, 0, L3 | L4, h, TCP_HDR), 0, 0, "tags");
	check_bytes(left.last, h, TCP_HDR, "VLAN tags to the end");
}

/* A frame whose TCP or UDP header is not complete must get no TCP or UDP checksum. */
static void
case_short_headers(void)
{
	static const struct {
		uint8_t proto;
		unsigned int len;
	} protos[] = {{IPPROTO_TCP, 20}, {IPPROTO_UDP, 8}};
	uint8_t h[TCP_HDR];

	for (unsigned int i = 0; i < 2; i++) {
		for (unsigned int len = 0; len <= protos[i].len; len++) {
			const uint16_t all = (uint16_t)(TCP_AT + len);

			ipv4_header(h, protos[i].proto, 20 + len);
			expect_alone(eth_wqe(MLX5_OPCODE_SEND, 0, L4, h, all), 0, 0, "a frame");
			if (len < protos[i].len)
				check_bytes(left.last, h, all, "a header in part");
			else
				CHECK(l4_is_right(left.last, false, len), "a header");
		}
	}
}

/*
 * IEEE 802.1ad: a frame may have two tags, and the outer tag has another EtherType. Such a frame
 * must get its checksums.
 */
static void
case_two_tags(void)
{
	uint8_t h[TCP_HDR], tagged[TCP_HDR + 8];

	ipv4_header(h, IPPROTO_TCP, 86);
	memcpy(tagged, h, 12);
	memset(tagged + 12, 0, 8);
	set16(tagged + 12, ETH_P_8021AD);
	set16(tagged + 16, ETH_P_8021Q);
	memcpy(tagged + 20, h + 12, TCP_HDR - 12);
	send_frame(tagged, sizeof(tagged), L3 | L4);
	memmove(left.last + 12, left.last + 20, TCP_HDR + 46 - 12);
	CHECK_EQ(sum16(0, left.last + IP_AT, 20), 0xffff, "the IP checksum");
	CHECK(l4_is_right(left.last, false, 66), "the TCP checksum");
}

/* Only the checksums whose flags are set may be written. IPv6 has no header checksum. */
static void
case_flags(void)
{
	for (unsigned int flags = 0; flags < 4; flags++) {
		bool l3 = (flags & 1) != 0, l4 = (flags & 2) != 0;
		uint8_t cs = (uint8_t)((l3 ? L3 : 0) | (l4 ? L4 : 0)), h[TCP_HDR + 20];

		ipv4_header(h, IPPROTO_TCP, 86);
		send_frame(h, TCP_HDR, cs);
		CHECK_EQ(sum16(0, left.last + IP_AT, 20) == 0xffff, l3, "the IP checksum");
		CHECK_EQ(l4_is_right(left.last, false, 66), l4, "the TCP checksum");
		ipv4_header(h, IPPROTO_UDP, 86);
		send_frame(h, TCP_HDR, cs);
		CHECK_EQ(l4_is_right(left.last, false, 66), l4, "the UDP checksum");
		ipv6_header(h, 66);
		send_frame(h, TCP_HDR + 20, cs);
		CHECK_EQ(l4_is_right(left.last, true, 66), l4, "the TCP checksum over IPv6");
		check_bytes(left.last, h, TCP6_AT, "the IPv6 header");
	}
}

/*
 * A TCP checksum must cover the length that the IP header gives, or the rest of the frame if that
 * length is impossible.
 */
static void
case_ip_lengths(void)
{
	static const struct {
		unsigned int total, l4;
	} lens[] = {{86, 66}, {60, 40}, {40, 20}, {0, 66}, {19, 66}, {87, 66}, {65535, 66}};
	uint8_t h[TCP_HDR];

	for (unsigned int i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		ipv4_header(h, IPPROTO_TCP, lens[i].total);
		send_frame(h, TCP_HDR, L3 | L4);
		CHECK(l4_is_right(left.last, false, lens[i].l4), "a frame whose IP says %u bytes",
			lens[i].total);
	}
	/* The checksum field is after the end of the packet: nothing is written to it. */
	for (unsigned int total = 20; total < 40; total++) {
		ipv4_header(h, IPPROTO_TCP, total);
		send_frame(h, TCP_HDR, L3 | L4);
		check_bytes(left.last + TCP_AT, h + TCP_AT, 20, "the bytes behind a short packet");
	}
	for (unsigned int total = 20; total < 28; total++) {
		ipv4_header(h, IPPROTO_UDP, total);
		send_frame(h, TCP_HDR, L3 | L4);
		check_bytes(left.last + TCP_AT, h + TCP_AT, 20, "the bytes behind a short packet");
	}
}

/* In a fragment, and in packets of other protocols, only the IP checksum may be written. */
static void
case_only_ip(void)
{
	static const struct {
		unsigned int at;
		uint8_t value;
	} ways[] = {{IP_AT + 6, 0x20}, {IP_AT + 7, 0x01}, {IP_AT + 9, IPPROTO_ICMP}};
	uint8_t h[TCP_HDR];

	for (unsigned int i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		ipv4_header(h, IPPROTO_TCP, 86);
		h[ways[i].at] = ways[i].value;
		send_frame(h, TCP_HDR, L3 | L4);
		CHECK(sum16(0, left.last + IP_AT, 20) == 0xffff, "way %u: the IP checksum", i);
		check_bytes(left.last + TCP_AT, h + TCP_AT, 20, "the bytes behind the IP header");
	}
}

/* ---- operations */

/*
 * A raw packet QP executes SEND, TSO and NOP. All other opcodes are refused, even with a valid
 * frame.
 */
static void
case_opcodes(void)
{
	static const uint8_t others[] = {MLX5_OPCODE_SEND_IMM, MLX5_OPCODE_SEND_INVAL,
		MLX5_OPCODE_RDMA_WRITE, MLX5_OPCODE_RDMA_WRITE_IMM, MLX5_OPCODE_RDMA_READ,
		MLX5_OPCODE_ATOMIC_CS, MLX5_OPCODE_ATOMIC_FA, MLX5_OPCODE_UMR, MLX5_OPCODE_SET_PSV,
		MLX5_OPCODE_MMO};
	unsigned int why = 0;
	uint8_t h[TCP_HDR];

	ipv4_header(h, IPPROTO_TCP, 40);
	expect_alone(eth_wqe(MLX5_OPCODE_SEND, 0, 0, h, TCP_HDR), 46, 0, "SEND");
	expect_alone(eth_wqe(MLX5_OPCODE_TSO, 20, 0, h, TCP_HDR), 46, 0, "TSO");
	expect_alone(rig_wqe(MLX5_OPCODE_NOP, ALWAYS), 0, 0, "NOP");
	for (unsigned int i = 0; i < sizeof(others); i++) {
		struct rig_wqe w = eth_wqe(others[i], 20, 0, h, TCP_HDR);
		unsigned int check;
		struct rig r;

		rig_open(&r);
		rig_sge(&w, rig_va(r.a.buf), r.a.key, 46);
		check = expect(&r, &w, QP_OP, "another operation");
		CHECK(why == 0 || check == why, "opcode 0x%x: check 0x%x, not 0x%x", others[i],
			check, why);
		why = check;
		rig_fini(&r);
	}
}

/* ---- the timing model: 80 Mbit/s are 10 bytes a microsecond (doc/softhca-faults.md) */

static void
expect_bytes(struct rig_wqe w, uint32_t bytes, const char *what)
{
	struct rig r;

	rig_open_at(&r, 80);
	rig_sge(&w, rig_va(r.a.buf), r.a.key, 150);
	rig_inline(&w, r.a.buf, 20);
	rig_sge(&w, rig_va(r.a.buf), r.a.key, 30);
	rig_post(&r.a, &w);
	rig_run(&r);
	clock_ns += bytes * 100 - 1;
	rig_run(&r);
	CHECK(rig_poll(&r.a) == NULL, "%s: too early", what);
	clock_ns++;
	rig_run(&r);
	CHECK(rig_poll(&r.a) != NULL, "%s: too late", what);
	CHECK_EQ(left.bytes, bytes, what);
	rig_fini(&r);
}

static void
case_time(void)
{
	uint8_t h[TCP_HDR];

	ipv4_header(h, IPPROTO_TCP, 240);
	expect_bytes(eth_wqe(MLX5_OPCODE_SEND, 0, 0, h, TCP_HDR), TCP_HDR + 200, "a frame");
	expect_bytes(eth_wqe(MLX5_OPCODE_SEND, 7, 0, h, 18), 218, "a frame with an MSS");
	expect_bytes(eth_wqe(MLX5_OPCODE_SEND, 0, 0, h, 2), 202, "a frame with a short header");
	expect_bytes(eth_wqe(MLX5_OPCODE_SEND, 0, 0, h, 0), 200, "a frame without a header");
	expect_bytes(eth_wqe(MLX5_OPCODE_TSO, 100, 0, h, TCP_HDR), 2 * TCP_HDR + 200, "two frames");
	expect_bytes(eth_wqe(MLX5_OPCODE_TSO, 95, 0, h, TCP_HDR), 3 * TCP_HDR + 200,
		"three frames");
	expect_bytes(eth_wqe(MLX5_OPCODE_TSO, 201, 0, h, TCP_HDR), TCP_HDR + 200, "one frame");
}

int
main(void)
{
	RUN("an inline header ends in its WQE", case_header_end());
	RUN("the longest header is sent whole", case_header_longest());
	RUN("a frame has an Ethernet header, and is not longer than the port allows",
		case_frame_lengths());
	RUN("frames that are cut have limits too", case_tso_lengths());
	RUN("the keys of the memory after a header are checked", case_memory());
	RUN("only frames with a TCP header can be cut", case_tso_headers());
	RUN("a frame that has no checksums does not change", case_no_checksums());
	RUN("a TCP or UDP header that is cut off gets no checksum", case_short_headers());
	RUN("a frame with two tags gets checksums", case_two_tags());
	RUN("only the checksums that are asked for are written", case_flags());
	RUN("a TCP checksum covers the length of the IP header, if that is possible",
		case_ip_lengths());
	RUN("fragments and other protocols get only the IP checksum", case_only_ip());
	RUN("other operations are refused on a raw packet QP", case_opcodes());
	RUN("a frame takes the time of its bytes on the port", case_time());
	return check_failures != 0;
}
