/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Reads blocks, and computes the signatures and the ciphertext that the device must write.
 */
#include "sig_round.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>

#include "quote.h"
#include "report.h"
#include "sig_guard.h"
#include "sig_phase.h"
#include "sig_xts.h"

/*
 * Reads the rest of the present file, but at most `room` bytes. Returns the number of bytes, or -1.
 */
static int64_t
read_file(struct sig_reader *r, uint8_t *to, size_t room)
{
	const struct file *f = &r->set->file[r->file];
	int fd = open(f->input, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : 1;
	size_t len = 0;

	while (n > 0 && len < room) {
		n = pread(fd, to + len, room - len, r->offset + len);
		if (n > 0)
			len += n;
	}
	if (n < 0)
		error_print("cannot read %s: %s", quote_name(f->input), strerror(errno));
	if (fd >= 0)
		close(fd);
	r->offset += len;
	if (n == 0) {
		r->file++;
		r->offset = 0;
	}
	return n < 0 ? -1 : (int64_t)len;
}

/*
 * Appends the wire's signature to each block. Blocks move to higher addresses, so the last block
 * moves first.
 */
static void
sign_source(const struct options *o, const struct sig_round *round)
{
	const uint32_t len = o->block_size, sig = sig_len(o->wire);
	uint8_t *to;

	for (uint32_t i = round->n_blocks; sig != 0 && i-- > 0;) {
		to = round->source + (size_t)i * (len + sig);
		memmove(to, round->source + (size_t)i * len, len);
		sig_write(o->wire, to, len, round->first_block + i, to + len);
	}
}

void
round_reset(struct sig_round *round)
{
	round->len = 0;
	round->is_read = false;
	round->n_expected = 0;
}

/* Marks the round as read. */
static void
end_read(struct sig_reader *r, struct sig_round *round)
{
	round->is_read = true;
	round->n_blocks = round->len / r->opt->block_size;
	round->first_block = r->n_blocks;
	round->bytes = r->bytes;
	round->files = r->file;
	r->n_blocks += round->n_blocks;
	sign_source(r->opt, round);
}

int
round_read(struct sig_reader *r, struct sig_round *round, size_t most)
{
	const uint32_t block_size = r->opt->block_size;
	const size_t stop = RTE_MIN(RTE_ALIGN_CEIL(round->len + most, block_size), SIG_ROUND_LEN);
	size_t end;
	int64_t len;

	while (r->file < r->set->n && round->len < stop) {
		len = read_file(r, round->source + round->len, stop - round->len);
		if (len < 0)
			return -1;
		r->bytes += len;
		/* The last block of a file is padded with zeros. */
		end = RTE_ALIGN_CEIL(round->len + len, block_size);
		memset(round->source + round->len + len, 0, end - round->len - len);
		round->len = end;
	}
	if (r->file == r->set->n || round->len == SIG_ROUND_LEN)
		end_read(r, round);
	return 0;
}

int
round_expect(const struct options *o, struct sig_round *round, const struct sig_key *key,
	uint32_t n)
{
	const uint32_t data_len = o->block_size, len = data_len + sig_len(o->guard);
	const uint32_t source_len = data_len + sig_len(o->wire), begin = round->n_expected;
	const uint32_t first = round->first_block + begin;
	const uint8_t *source = round->source + (size_t)begin * source_len;
	uint8_t *disk = round->disk + (size_t)begin * len, *block;

	n = RTE_MIN(n, round->n_blocks - begin);
	round->n_expected = begin + n;
	for (uint32_t i = 0; i < n; i++)
		memcpy(disk + (size_t)i * len, source + (size_t)i * source_len, data_len);
	if (o->encrypt == ENCRYPT_DATA &&
		xts_crypt(true, key->bytes, first, disk, n, data_len, len) != 0)
		return -1;
	for (uint32_t i = 0; i < n; i++) {
		block = disk + (size_t)i * len;
		sig_write(o->guard, block, data_len, first + i, block + data_len);
	}
	return o->encrypt != ENCRYPT_ALL ? 0
					 : xts_crypt(true, key->bytes, first, disk, n, len, len);
}

void
round_measure(const struct options *o, const struct sig_round *round, uint8_t *to,
	struct sig_passes *passes)
{
	const uint32_t len = o->block_size;
	const uint32_t kinds = (o->guard != GANTRY_SIG_NONE) + (o->wire != GANTRY_SIG_NONE);
	const size_t all = (size_t)round->n_blocks * len;
	uint64_t begin = now_ns(), copied, computed, end;

	memcpy(to, round->source, all);
	copied = now_ns();
	for (size_t at = 0; at < kinds * all; at += len)
		sig_compute_crc(round->source + at % all, len);
	computed = now_ns();
	if (memcmp(to, round->source, all) != 0)
		error_print("the CPU's own copy differs from its source");
	end = now_ns();
	passes->copy += copied - begin;
	passes->crc += computed - copied;
	passes->compare += end - computed;
}
