/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Raw Ethernet frames: SEND, and TSO, which cuts a large TCP segment into frames.
 *
 * There is no wire: a frame is written to the capture file, or dropped. The header of a TSO frame
 * is the WQE's inline header with new values in the fields that differ from frame to frame: IP
 * lengths and identification, TCP sequence number and flags, and the checksums (Linux,
 * Documentation/networking/segmentation-offloads).
 */
#include "capture.h"
#include "carried.h"
#include "frame.h"
#include "key.h"
#include "move.h"
#include "requester.h"

#define MAX_FRAME   9216 /* the port's limit for a frame with its header: a jumbo frame */
#define MIN_FRAME   60   /* shorter frames are padded to this length; the FCS is not counted */
#define MAX_TSO     262144
#define MAX_HEADER  1024
#define MIN_ETH_LEN 14

enum {
	TCP_FIN = 0x01,
	TCP_PSH = 0x08,
	TCP_CWR = 0x80
};

/* ---- the Ethernet segment of the WQE */

struct eth {
	uint8_t cs_flags;
	uint32_t mss;
	unsigned int header_len, units;
	uint8_t header[MAX_HEADER];
};

static bool
read_eth(const struct run *run, const struct wqe *wqe, struct eth *eth)
{
	const uint8_t *seg = wqe_seg(run, wqe, wqe->first);
	uint32_t at = (uint32_t)(seg - run->qp->sq) + ETH_INLINE;

	eth->cs_flags = seg[ETH_CS_FLAGS];
	eth->mss = get_be16(seg + ETH_MSS);
	eth->header_len = get_be16(seg + ETH_INLINE_LEN);
	eth->units = wqe_eth_units(eth->header_len);
	if (wqe->first + eth->units > wqe->ds || eth->header_len > MAX_HEADER)
		return false;
	for (unsigned int i = 0; i < eth->header_len; i++)
		eth->header[i] = run->qp->sq[(at + i) & run->qp->sq_mask];
	return true;
}

/* Copies len bytes of a list, from offset off on. */
static void
copy_part(uint8_t *dst, const struct sg *sg, uint64_t off, uint64_t len)
{
	const struct sg_piece *v = sg_pieces(sg);

	for (unsigned int i = 0; i < sg->n && len != 0; i++) {
		uint64_t n = v[i].len;

		if (off >= n) {
			off -= n;
			continue;
		}
		n = n - off < len ? n - off : len;
		if (v[i].p == SINK)
			memset(dst, 0, n);
		else
			memcpy(dst, (const uint8_t *)v[i].p + off, n);
		dst += n;
		len -= n;
		off = 0;
	}
}

/*
 * Gathers the memory after the inline header. If this memory is on demand or encrypted, its bytes
 * are fetched into a buffer.
 */
static unsigned int
gather_frame(struct run *run, const struct wqe *wqe, const struct eth *eth, struct sg *sg)
{
	unsigned int syn = wqe_gather_at(run, wqe, wqe->first + eth->units, sg);

	if (syn == SYN_OK && (sg->rare & (ACC_ON_DEMAND | ACC_CIPHERED)) != 0 &&
		!key_use_fetch(&run->use, sg))
		return SYN_LOC_PROT;
	return syn;
}

static void
send_frame(struct run *run, uint8_t *frame, unsigned int len)
{
	if (len < MIN_FRAME) {
		memset(frame + len, 0, MIN_FRAME - len);
		len = MIN_FRAME;
	}
	capture_frame(run->qp->dev->cfg, frame, len);
	carried_frame(run, len);
}

unsigned int
exec_raw_send(struct run *run, const struct wqe *wqe)
{
	uint8_t frame[MAX_FRAME];
	struct layers at;
	unsigned int syn, len;
	struct eth eth;
	struct sg sg;

	run->use.vendor = VEN_SEGMENT;
	if (!read_eth(run, wqe, &eth))
		return SYN_QP_OP;
	syn = gather_frame(run, wqe, &eth, &sg);
	if (syn != SYN_OK)
		return syn;
	run->use.vendor = VEN_LENGTH;
	if (eth.header_len + sg.len < MIN_ETH_LEN || eth.header_len + sg.len > MAX_FRAME)
		return SYN_LOC_LEN;
	len = eth.header_len + (unsigned int)sg.len;
	memcpy(frame, eth.header, eth.header_len);
	copy_part(frame + eth.header_len, &sg, 0, sg.len);
	at = frame_layers(frame, len);
	if ((eth.cs_flags & ETH_L4_CSUM) != 0)
		frame_put_l4_checksum(frame, len, &at);
	if ((eth.cs_flags & ETH_L3_CSUM) != 0)
		frame_put_l3_checksum(frame, &at);
	send_frame(run, frame, len);
	return SYN_OK;
}

/* ---- TSO */

/*
 * Writes the header of frame n, which carries seg bytes of data: the inline header with the fields
 * of this frame.
 */
static void
cut_header(uint8_t *frame, const struct eth *eth, const struct layers *at, unsigned int n,
	unsigned int seg, bool last)
{
	uint8_t *ip = frame + at->l3, *tcp = frame + at->l4;

	memcpy(frame, eth->header, eth->header_len);
	if (at->v6) {
		put_be16(ip + 4, eth->header_len - at->l4 + seg);
	} else {
		put_be16(ip + 2, eth->header_len - at->l3 + seg);
		put_be16(ip + 4, get_be16(ip + 4) + n);
	}
	put_be32(tcp + 4, get_be32(tcp + 4) + n * eth->mss);
	if (!last)
		tcp[13] &= (uint8_t) ~(TCP_FIN | TCP_PSH);
	if (n != 0)
		tcp[13] &= (uint8_t)~TCP_CWR;
}

/*
 * True if the inline header consists only of Ethernet, IP and TCP headers. Only then can TSO cut
 * frames. Assumed: tso-header.
 */
static bool
is_tso_header(const struct eth *eth, const struct layers *at)
{
	return eth->mss != 0 && at->proto == PROTO_TCP &&
	       at->l4 + (eth->header[at->l4 + 12] >> 4) * 4u == eth->header_len;
}

unsigned int
exec_tso(struct run *run, const struct wqe *wqe)
{
	uint8_t frame[MAX_FRAME];
	struct layers at;
	unsigned int syn, n = 0;
	uint64_t off = 0;
	struct eth eth;
	struct sg sg;

	run->use.vendor = VEN_SEGMENT;
	if (!read_eth(run, wqe, &eth))
		return SYN_QP_OP;
	at = frame_layers(eth.header, eth.header_len);
	if (!is_tso_header(&eth, &at))
		return SYN_QP_OP;
	syn = gather_frame(run, wqe, &eth, &sg);
	if (syn != SYN_OK)
		return syn;
	run->use.vendor = VEN_LENGTH;
	if (sg.len > MAX_TSO || eth.header_len + eth.mss > MAX_FRAME)
		return SYN_LOC_LEN;
	do {
		unsigned int seg = (unsigned int)(sg.len - off < eth.mss ? sg.len - off : eth.mss);

		cut_header(frame, &eth, &at, n++, seg, off + seg == sg.len);
		copy_part(frame + eth.header_len, &sg, off, seg);
		frame_put_l3_checksum(frame, &at);
		frame_put_l4_checksum(frame, eth.header_len + seg, &at);
		send_frame(run, frame, eth.header_len + seg);
		off += seg;
	} while (off < sg.len);
	return SYN_OK;
}
