/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that functions of a card share. The engine `a` owns mlx5_0 and the engine `b` mlx5_1: two
 * functions of one card. The engine `c` owns mlx5_2, a function of another card.
 */
#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include <rte_common.h>
#include <rte_mempool.h>
#include <rte_pause.h>

#include <softhca.h>

#include "gantry_engine.h"
#include "gantry_env.h"

#define LEN    (5u << 20) /* bytes of the memory of each engine; more than two MMO WQEs of 2 MiB */
#define READ   GANTRY_MEM_READ_ONLY
#define RECORD sizeof(struct gantry_mem_record)

static struct gantry *a, *b, *c;
static uint8_t *a_buf, *b_buf;
static struct gantry_mem *a_mem, *b_mem;

static uint64_t rnd = 88172645463325252u;

static uint64_t
draw(uint64_t n)
{
	rnd ^= rnd << 13;
	rnd ^= rnd >> 7;
	rnd ^= rnd << 17;
	return rnd % n;
}

static bool
setting_is(const char *name, const char *value)
{
	const char *now = getenv(name);

	return now != NULL && strcmp(now, value) == 0;
}

/* Exports memory of one engine and imports it by another. Returns the importer's address. */
static uint8_t *
share(struct gantry_mem *mem, struct gantry *to, struct gantry_mem **imported)
{
	struct gantry_mem_record record;
	void *at;

	CHECK_EQ(gantry_mem_export(mem, 0, &record), 0);
	CHECK_EQ(gantry_mem_import(to, &record, 0, imported, &at), 0);
	return at;
}

static void
unregister(struct gantry_mem *mem)
{
	CHECK_EQ(gantry_mem_unregister(mem, 0), 0);
}

/* ------------------------------------------------------------------ records */

/* CRC-32C bit by bit: the reflected polynomial 0x1edc6f41 (RFC 3720, section 12.1). */
static uint32_t
crc32c(const uint8_t *p, size_t len)
{
	uint32_t crc = UINT32_MAX;

	while (len-- != 0) {
		crc ^= *p++;
		for (unsigned int i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

/* Writes a new CRC into a record that was changed. */
static struct gantry_mem_record
mended(struct gantry_mem_record record)
{
	record.crc = 0;
	record.crc = htobe32(crc32c((const uint8_t *)&record, RECORD));
	return record;
}

static void
a_record_has_what_an_importer_needs(void)
{
	struct gantry_mem_record one, two, changed;

	CHECK_EQ(crc32c((const uint8_t *)"123456789", 9), 0xe3069283); /* RFC 3720's polynomial */
	CHECK_EQ(gantry_mem_export(a_mem, 0, &one), 0);
	CHECK_EQ(gantry_mem_export(a_mem, READ, &two), 0);
	CHECK(memcmp(one.magic, "gantryMR", 8) == 0);
	CHECK_EQ(be32toh(one.version), 1);
	CHECK_EQ(be64toh(one.addr), (uintptr_t)a_buf);
	CHECK_EQ(be64toh(one.len), LEN);
	CHECK_EQ(be16toh(one.rights), GANTRY_RECORD_WRITE);
	CHECK_EQ(be16toh(two.rights), 0);
	CHECK_EQ(one.vhca_id, htobe16(hwq_dev_caps(a->dev)->vhca_id));
	CHECK(hwq_dev_caps(a->dev)->vhca_id != hwq_dev_caps(b->dev)->vhca_id);
	CHECK(one.key != two.key);
	CHECK(memcmp(one.access_key, two.access_key, 32) != 0);
	changed = mended(one);
	CHECK_EQ(changed.crc, one.crc);
}

static void
each_flipped_bit_of_a_record_is_refused(void)
{
	struct gantry_mem_record record;
	struct gantry_mem *mem;
	void *at;

	CHECK_EQ(gantry_mem_export(a_mem, 0, &record), 0);
	for (size_t bit = 0; bit < RECORD * 8; bit++) {
		((uint8_t *)&record)[bit / 8] ^= 1 << bit % 8;
		CHECK_EQ(gantry_mem_import(b, &record, 0, &mem, &at), -EBADMSG);
		((uint8_t *)&record)[bit / 8] ^= 1 << bit % 8;
	}
	/* Random records, and records with random bytes behind the magic number. */
	for (unsigned int i = 0; i < 2000; i++) {
		struct gantry_mem_record random = record;

		for (size_t at_byte = i % 2 * 8; at_byte < RECORD; at_byte++)
			((uint8_t *)&random)[at_byte] = (uint8_t)draw(256);
		CHECK_EQ(gantry_mem_import(b, &random, 0, &mem, &at), -EBADMSG);
	}
	CHECK_EQ(gantry_mem_import(b, &record, 0, &mem, &at), 0);
	unregister(mem);
}

/* Records with a right CRC and wrong facts: each kind has its errno. */
static void
wrong_facts_of_a_record_are_refused(void)
{
	struct gantry_mem_record good, r;
	struct gantry_mem *mem, *ended;
	uint8_t *memory;
	void *at;

	CHECK_EQ(gantry_mem_export(a_mem, 0, &good), 0);
	for (unsigned int i = 0; i < 32; i += 5) {
		r = good;
		r.access_key[i] ^= 0x10;
		r = mended(r);
		CHECK_EQ(gantry_mem_import(b, &r, 0, &mem, &at), -EACCES, "wrong access key");
	}
	r = good;
	r.vhca_id = htobe16(0x7ff);
	r = mended(r);
	CHECK_EQ(gantry_mem_import(b, &r, 0, &mem, &at), -EACCES, "no such function");
	r = good;
	r.vhca_id = htobe16(hwq_dev_caps(b->dev)->vhca_id);
	r = mended(r);
	CHECK_EQ(gantry_mem_import(b, &r, 0, &mem, &at), -EACCES, "another function");
	r = good;
	r.key = htobe32(be32toh(good.key) + 0x100 * 7777);
	r = mended(r);
	CHECK_EQ(gantry_mem_import(b, &r, 0, &mem, &at), -EACCES, "no such key");
	/* A key that was never allowed. */
	r = good;
	r.key = htobe32(gantry_mem_remote_key(a_mem));
	r = mended(r);
	CHECK_EQ(gantry_mem_import(b, &r, 0, &mem, &at), -EACCES, "a key of ibv_reg_mr()");
	CHECK_EQ(gantry_mem_import(c, &good, 0, &mem, &at), -EXDEV);
	r = good;
	r.version = htobe32(2);
	r = mended(r);
	CHECK_EQ(gantry_mem_import(b, &r, 0, &mem, &at), -EPROTONOSUPPORT);
	/* Facts that no owner writes. */
	r = good;
	r.len = 0;
	r = mended(r);
	CHECK_EQ(gantry_mem_import(b, &r, 0, &mem, &at), -EBADMSG);
	r = good;
	r.len = htobe64(UINT64_MAX - (uintptr_t)a_buf);
	r = mended(r);
	CHECK_EQ(gantry_mem_import(b, &r, 0, &mem, &at), -ENOMEM, "too long to reserve");
	r = good;
	r.len = htobe64(UINT64_MAX);
	r = mended(r);
	CHECK_EQ(gantry_mem_import(b, &r, 0, &mem, &at), -EBADMSG, "beyond the last address");
	r = good;
	r.reserved[47] = 1;
	r = mended(r);
	CHECK_EQ(gantry_mem_import(b, &r, 0, &mem, &at), -EBADMSG);
	/* Rights and flags. */
	CHECK_EQ(gantry_mem_import(b, &good, GANTRY_MEM_RELAXED, &mem, &at), -EINVAL);
	CHECK_EQ(gantry_mem_export(a_mem, READ, &r), 0);
	CHECK_EQ(gantry_mem_import(b, &r, 0, &mem, &at), -EPERM);
	CHECK_EQ(gantry_mem_import(b, &r, READ, &mem, &at), 0);
	unregister(mem);
	/* The owner is gone before the import. */
	memory = env_mem(a, 8192, 0, &ended);
	CHECK_EQ(gantry_mem_export(ended, 0, &r), 0);
	unregister(ended);
	CHECK_EQ(gantry_mem_import(b, &r, 0, &mem, &at), -EACCES);
	env_unmap(memory, 8192);
	/* A record that lies about the length: the owner's key still has its own bounds. */
	memory = env_mem(a, 8192, 0, &ended);
	memset(memory, 7, 8192);
	CHECK_EQ(gantry_mem_export(ended, 0, &r), 0);
	r.len = htobe64(3 * 4096);
	r = mended(r);
	CHECK_EQ(gantry_mem_import(b, &r, 0, &mem, &at), 0);
	{
		struct gantry_queue *q = env_queue(b, 8);

		CHECK_EQ(env_do_one(q, env_copy(at, b_buf, 8192)), GANTRY_OK);
		CHECK_EQ(env_do_one(q, env_copy((uint8_t *)at + 1, b_buf, 8192)),
			GANTRY_LOCAL_ERROR);
		env_queue_done(q);
	}
	unregister(mem);
	unregister(ended);
	env_unmap(memory, 8192);
}

static void
kinds_of_memory_that_cannot_be_exported(void)
{
	struct rte_mempool *pool = rte_mempool_create("export", 31, 2048, 0, 0, NULL, NULL, NULL,
		NULL, SOCKET_ID_ANY, 0);
	struct gantry_mem_record record;
	struct gantry_mem *mem, *again;
	uint8_t *memory;
	void *dm, *at;

	CHECK_EQ(gantry_mem_export(a_mem, GANTRY_MEM_REMOTE_READ, &record), -EINVAL);
	memory = env_mem(a, 4096, READ, &mem);
	CHECK_EQ(gantry_mem_export(mem, 0, &record), -EPERM);
	CHECK_EQ(gantry_mem_export(mem, READ, &record), 0);
	unregister(mem);
	env_unmap(memory, 4096);
	memory = env_mem(a, 4096, GANTRY_MEM_RELAXED, &mem);
	CHECK_EQ(gantry_mem_export(mem, 0, &record), -EMEDIUMTYPE);
	unregister(mem);
	env_unmap(memory, 4096);
	CHECK_EQ(gantry_mem_alloc_dm(a, 4096, 0, &mem, &dm), 0);
	CHECK_EQ(gantry_mem_export(mem, 0, &record), -EMEDIUMTYPE);
	unregister(mem);
	CHECK_EQ(gantry_mem_register_any(a, &mem), 0);
	CHECK_EQ(gantry_mem_export(mem, 0, &record), -EMEDIUMTYPE);
	unregister(mem);
	CHECK_EQ(gantry_mem_register_eal(a, 0, &mem), 0);
	CHECK_EQ(gantry_mem_export(mem, 0, &record), -EMEDIUMTYPE);
	unregister(mem);
	/* A mempool of one region can be exported. */
	CHECK(pool != NULL);
	CHECK_EQ(gantry_mem_register_mempool(a, pool, 0, &mem), 0);
	CHECK_EQ(gantry_mem_export(mem, 0, &record), 0);
	unregister(mem);
	rte_mempool_free(pool);
	/* Imported memory has only one owner. */
	CHECK_EQ(gantry_mem_export(a_mem, 0, &record), 0);
	CHECK_EQ(gantry_mem_import(b, &record, 0, &mem, &at), 0);
	CHECK_EQ(gantry_mem_export(mem, 0, &record), -EREMOTE);
	CHECK_EQ(gantry_mem_import(b, &record, 0, &again, &dm), 0);
	CHECK(at != dm);
	unregister(mem);
	unregister(again);
}

/* A device whose card shares no keys, and one that exports none. */
static void
the_device_may_lack_it(void)
{
	struct gantry_mem_record record;
	struct gantry_mem *mem;
	void *at;

	CHECK_EQ(a->info.shares, 0);
	CHECK_EQ(gantry_mem_export(a_mem, 0, &record), -EOPNOTSUPP);
	memset(&record, 0, sizeof(record));
	CHECK_EQ(gantry_mem_import(b, &record, 0, &mem, &at), -EBADMSG);
	memcpy(record.magic, "gantryMR", 8);
	record.version = htobe32(1);
	record.addr = record.len = htobe64(4096);
	record.key = htobe32(0x4200);
	record = mended(record);
	CHECK_EQ(gantry_mem_import(b, &record, 0, &mem, &at), -EOPNOTSUPP);
}

/* ------------------------------------------------------------------ bytes */

/*
 * Random copies between own memory and one or two imports, compared with memcpy() on copies of the
 * memory. So bytes beside a destination are compared, too.
 */
static void
bytes_are_those_of_memcpy(void)
{
	struct gantry_queue *q = env_queue(b, 64);
	struct gantry_mem *one_mem, *two_mem, *second;
	uint8_t *other = env_mem(a, LEN, 0, &second);
	uint8_t *one = share(a_mem, b, &one_mem), *two = share(second, b, &two_mem);
	/* Where `b` sees a memory, where the bytes really are, and what they must be. */
	struct {
		uint8_t *seen, *real, *want;
	} m[3] = {{b_buf, b_buf, malloc(LEN)}, {one, a_buf, malloc(LEN)},
		{two, other, malloc(LEN)}};
	const uint64_t most = b->info.max_copy_len;
	const bool by_rdma = (b->info.carriers & 1u << GANTRY_CARRIER_RDMA) != 0;

	CHECK(one != a_buf && two != other);
	for (unsigned int i = 0; i < 3; i++) {
		env_fill(m[i].real, LEN, i + 1);
		memcpy(m[i].want, m[i].real, LEN);
	}
	for (unsigned int i = 0; i < 300; i++) {
		const uint64_t edge[] = {1, most - 1, most, most + 1, 2 * most + 77,
			draw(3 * most) + 1};
		uint64_t len =
			i % 2 ? draw(i % 4 == 1 ? 200 : 9000) + 1 : edge[draw(RTE_DIM(edge))];
		const unsigned int s = (unsigned int)draw(3),
				   d = (s + 1 + (unsigned int)draw(2)) % 3;
		struct gantry_desc desc;
		uint64_t from, to;

		/* Copies of 64 bytes each make very many WQEs. */
		len = RTE_MIN(RTE_MAX(len, 1u), RTE_MIN((uint64_t)LEN, 4000 * most));
		from = draw(LEN - len + 1);
		to = draw(LEN - len + 1);
		desc = env_copy(m[s].seen + from, m[d].seen + to, len);
		if (by_rdma && i % 3 == 0)
			desc.flags = GANTRY_DESC_BY_RDMA;
		CHECK_EQ(env_do_one(q, desc), GANTRY_OK);
		memcpy(m[d].want + to, m[s].want + from, len);
		if (i % 10 == 9 || len > 100000)
			CHECK(memcmp(m[d].real, m[d].want, LEN) == 0, "copy %u", i);
	}
	for (unsigned int i = 0; i < 3; i++) {
		CHECK(memcmp(m[i].real, m[i].want, LEN) == 0);
		free(m[i].want);
	}
	CHECK_EQ(env_stats(q).recoveries, 0);
	unregister(one_mem);
	unregister(two_mem);
	unregister(second);
	env_unmap(other, LEN);
	env_queue_done(q);
}

static struct gantry_desc
to_peer(uint8_t op, const void *src, uint64_t dst, uint64_t len, uint16_t peer, uint32_t key)
{
	struct gantry_desc d = env_copy(src, NULL, len);

	d.op = op;
	d.dst = dst;
	d.peer = peer;
	d.remote_key = key;
	return d;
}

/* Every operation that may use imported memory. */
static void
each_operation_reaches_it(void)
{
	struct gantry_queue *q = env_queue(b, 64);
	struct gantry_mem *mem, *peer_mem;
	uint8_t *at = share(a_mem, b, &mem), *peer = env_mem(b, 65536, ENV_REMOTE, &peer_mem);
	const uint32_t key = gantry_mem_remote_key(peer_mem);
	const struct gantry_block blocks[] = {{.offset = 0, .len = 100},
		{.offset = 300, .len = 50}};
	const struct gantry_layout_conf conf = {.block = blocks, .n = 2};
	struct gantry_sge from[2], to[3];
	struct gantry_desc d;
	uint16_t pa, pb, layout;

	env_connect(q, &pa, q, &pb);
	env_fill(a_buf, 65536, 21);
	env_fill(b_buf, 65536, 22);

	/* WRITE from it, and READ into it. The bytes of short messages are not in the WQE. */
	CHECK_EQ(env_do_one(q, to_peer(GANTRY_OP_WRITE, at + 5, (uintptr_t)peer, 40, pa, key)),
		GANTRY_OK);
	CHECK(memcmp(peer, a_buf + 5, 40) == 0);
	CHECK_EQ(env_do_one(q, to_peer(GANTRY_OP_WRITE, at + 5, (uintptr_t)peer, 40000, pa, key)),
		GANTRY_OK);
	CHECK(memcmp(peer, a_buf + 5, 40000) == 0);
	env_fill(peer, 65536, 23);
	d = to_peer(GANTRY_OP_READ, peer + 9, (uintptr_t)at + 700, 30000, pa, key);
	CHECK_EQ(env_do_one(q, d), GANTRY_OK);
	CHECK(memcmp(a_buf + 700, peer + 9, 30000) == 0);

	/* FILL. */
	memset(a_buf, 0, 4096);
	d = (struct gantry_desc){.op = GANTRY_OP_FILL, .dst = (uintptr_t)at + 3, .len = 2001};
	d.arg[0] = UINT64_C(0x0807060504030201);
	CHECK_EQ(env_do_one(q, d), GANTRY_OK);
	for (unsigned int i = 0; i < 2001; i++)
		CHECK_EQ(a_buf[3 + i], 1 + i % 8);
	CHECK(a_buf[2] == 0 && a_buf[2004] == 0);

	/* COPY_SG from own and imported memory to imported and own memory. */
	env_fill(a_buf, 65536, 24);
	from[0] = (struct gantry_sge){(uintptr_t)b_buf, 1000};
	from[1] = (struct gantry_sge){(uintptr_t)at + 50000, 500};
	to[0] = (struct gantry_sge){(uintptr_t)at, 300};
	to[1] = (struct gantry_sge){(uintptr_t)b_buf + 2000, 1000};
	to[2] = (struct gantry_sge){(uintptr_t)at + 400, 200};
	d = env_copy(from, to, 1500);
	d.op = GANTRY_OP_COPY_SG;
	d.arg[0] = 2 | UINT64_C(3) << 32;
	CHECK_EQ(env_do_one(q, d), GANTRY_OK);
	CHECK(memcmp(a_buf, b_buf, 300) == 0);
	CHECK(memcmp(b_buf + 2000, b_buf + 300, 700) == 0);
	CHECK(memcmp(b_buf + 2700, a_buf + 50000, 300) == 0);
	CHECK(memcmp(a_buf + 400, a_buf + 50300, 200) == 0);

	/* GATHER from own blocks to it, and SCATTER from it to own blocks. */
	CHECK_EQ(gantry_layout_create(b, &conf, &layout), 0);
	d = env_copy(b_buf, at + 1000, 150);
	d.op = GANTRY_OP_GATHER;
	d.layout = layout;
	CHECK_EQ(env_do_one(q, d), GANTRY_OK);
	CHECK(memcmp(a_buf + 1000, b_buf, 100) == 0 && memcmp(a_buf + 1100, b_buf + 300, 50) == 0);
	d = env_copy(at + 20000, b_buf + 8000, 150);
	d.op = GANTRY_OP_SCATTER;
	d.layout = layout;
	CHECK_EQ(env_do_one(q, d), GANTRY_OK);
	CHECK(memcmp(b_buf + 8000, a_buf + 20000, 100) == 0);
	CHECK(memcmp(b_buf + 8300, a_buf + 20100, 50) == 0);

	/* A layout over it is refused. */
	d = env_copy(at, b_buf, 150);
	d.op = GANTRY_OP_GATHER;
	d.layout = layout;
	CHECK_EQ(env_do_one(q, d), GANTRY_NOT_REGISTERED);
	CHECK_EQ(gantry_layout_destroy(b, layout), 0);
	unregister(mem);
	env_queue_done(q);
	unregister(peer_mem);
	env_unmap(peer, 65536);
}

static void
messages_carry_it(void)
{
	struct gantry_queue *q = env_queue(b, 64);
	const struct gantry_peer_conf conf = {.recv_depth = 8};
	struct gantry_addr addr_a, addr_b;
	struct gantry_recv recv = {.cookie = 5, .addr = (uintptr_t)b_buf, .len = 5000};
	struct gantry_recv_comp got;
	struct gantry_desc d;
	struct gantry_mem *mem;
	uint8_t *at = share(a_mem, b, &mem);
	uint16_t pa, pb;

	CHECK_EQ(gantry_peer_open(q, &conf, &pa, &addr_a), 0);
	CHECK_EQ(gantry_peer_open(q, &conf, &pb, &addr_b), 0);
	CHECK_EQ(gantry_peer_connect(q, pa, &addr_b), 0);
	CHECK_EQ(gantry_peer_connect(q, pb, &addr_a), 0);
	env_fill(a_buf, 65536, 31);
	CHECK_EQ(gantry_recv_post(q, pb, &recv, 1), 1);
	d = env_copy(at + 11, NULL, 4321);
	d.op = GANTRY_OP_SEND;
	d.peer = pa;
	CHECK_EQ(env_do_one(q, d), GANTRY_OK);
	while (gantry_recv_poll(q, &got, 1) == 0)
		env_pump();
	CHECK(got.status == GANTRY_OK && got.len == 4321);
	CHECK(memcmp(b_buf, a_buf + 11, 4321) == 0);
	/* A receive into it is refused. */
	recv.addr = (uintptr_t)at;
	CHECK_EQ(gantry_recv_post(q, pb, &recv, 1), 1);
	while (gantry_recv_poll(q, &got, 1) == 0)
		env_pump();
	CHECK_EQ(got.status, GANTRY_NOT_REGISTERED);
	CHECK_EQ(gantry_peer_close(q, pa), 0);
	CHECK_EQ(gantry_peer_close(q, pb), 0);
	env_queue_done(q);
	unregister(mem);
}

static void
bounds_and_rights_are_kept(void)
{
	struct gantry_queue *q = env_queue(b, 8);
	struct gantry_mem_record record;
	struct gantry_mem *mem, *reading;
	uint8_t *at = share(a_mem, b, &mem);
	struct gantry_desc d;
	void *only;

	CHECK_EQ(env_do_one(q, env_copy(at, b_buf, 64)), GANTRY_OK);
	CHECK_EQ(env_do_one(q, env_copy(at + LEN - 64, b_buf, 64)), GANTRY_OK);
	CHECK_EQ(env_do_one(q, env_copy(at + LEN - 63, b_buf, 64)), GANTRY_NOT_REGISTERED);
	CHECK_EQ(env_do_one(q, env_copy(at - 1, b_buf, 64)), GANTRY_NOT_REGISTERED);
	CHECK_EQ(env_do_one(q, env_copy(b_buf, at + LEN - 1, 2)), GANTRY_NOT_REGISTERED);
	CHECK_EQ(env_do_one(q, env_copy(at, at + 50, 100)), GANTRY_OVERLAP);
	/* The CPU reaches it never. */
	d = env_copy(at, b_buf, 64);
	d.flags = GANTRY_DESC_BY_CPU;
	CHECK_EQ(env_do_one(q, d), GANTRY_BAD_CARRIER);
	d = env_copy(b_buf, at, 64);
	d.flags = GANTRY_DESC_BY_CPU;
	CHECK_EQ(env_do_one(q, d), GANTRY_BAD_CARRIER);
	/* Read only. */
	CHECK_EQ(gantry_mem_export(a_mem, READ, &record), 0);
	CHECK_EQ(gantry_mem_import(b, &record, READ, &reading, &only), 0);
	CHECK_EQ(env_do_one(q, env_copy(only, b_buf, 64)), GANTRY_OK);
	CHECK_EQ(env_do_one(q, env_copy(b_buf, only, 64)), GANTRY_READ_ONLY);
	unregister(reading);
	CHECK_EQ(env_do_one(q, env_copy(only, b_buf, 64)), GANTRY_NOT_REGISTERED);
	unregister(mem);
	CHECK_EQ(env_do_one(q, env_copy(at, b_buf, 64)), GANTRY_NOT_REGISTERED);
	CHECK_EQ(env_stats(q).recoveries, 0);
	env_queue_done(q);
	/* A record that allows more than the owner's key: the owner's key decides. */
	q = env_queue(b, 8);
	CHECK_EQ(gantry_mem_export(a_mem, READ, &record), 0);
	record.rights = htobe16(GANTRY_RECORD_WRITE);
	record = mended(record);
	memset(a_buf, 0x77, 64);
	memset(b_buf, 0x88, 64);
	CHECK_EQ(gantry_mem_import(b, &record, 0, &mem, &only), 0);
	CHECK(env_do_one(q, env_copy(b_buf, only, 64)) != GANTRY_OK);
	CHECK(a_buf[0] == 0x77 && a_buf[63] == 0x77);
	unregister(mem);
	env_queue_done(q);
}

/* A policy that chooses the CPU is ignored for imported memory. */
static void
a_policy_cannot_choose_the_cpu(void)
{
	const struct gantry_policy policy = {.n = 1,
		.rule = {{.max_len = UINT64_MAX,
			.max_in_flight = UINT32_MAX,
			.carrier = GANTRY_CARRIER_CPU}}};
	struct gantry_queue *q = env_queue(b, 8);
	struct gantry_mem *mem;
	uint8_t *at = share(a_mem, b, &mem);
	struct gantry_sge from[1], to[1];
	struct gantry_desc d;

	CHECK_EQ(gantry_policy_set(q, &policy), 0);
	env_fill(a_buf, 8192, 41);
	CHECK_EQ(env_do_one(q, env_copy(at, b_buf, 5000)), GANTRY_OK);
	CHECK(memcmp(a_buf, b_buf, 5000) == 0);
	CHECK_EQ(env_do_one(q, env_copy(b_buf, at + 6000, 700)), GANTRY_OK);
	CHECK(memcmp(a_buf + 6000, b_buf, 700) == 0);
	CHECK_EQ(env_stats(q).copies[GANTRY_CARRIER_CPU], 0);
	from[0] = (struct gantry_sge){(uintptr_t)at, 900};
	to[0] = (struct gantry_sge){(uintptr_t)b_buf + 9000, 900};
	d = env_copy(from, to, 900);
	d.op = GANTRY_OP_COPY_SG;
	d.arg[0] = 1 | UINT64_C(1) << 32;
	CHECK_EQ(env_do_one(q, d), GANTRY_OK);
	CHECK(memcmp(a_buf, b_buf + 9000, 900) == 0);
	CHECK_EQ(env_do_one(q, env_copy(b_buf, b_buf + 20000, 5000)), GANTRY_OK);
	CHECK_EQ(env_stats(q).copies[GANTRY_CARRIER_CPU], 1);
	env_queue_done(q);
	unregister(mem);
}

/* ------------------------------------------------------------------ the end */

/* The reserved addresses are not mapped for use, and are free after the import has ended. */
static void
its_addresses_are_reserved(void)
{
	struct gantry_mem *mem;
	uint8_t *at = share(a_mem, b, &mem);
	uint8_t *page = (uint8_t *)RTE_ALIGN_FLOOR((uintptr_t)at, 4096);
	char line[256];

	CHECK_EQ((uintptr_t)at % 4096, (uintptr_t)a_buf % 4096);
	env_smaps(at, "Rss:", line, sizeof(line));
	CHECK(strstr(line, " 0 kB") != NULL, "%s", line);
	CHECK_EQ(mmap(page, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
			 0) == MAP_FAILED,
		true);
	unregister(mem);
	CHECK_EQ(mmap(page, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
			 0) == page,
		true);
	munmap(page, 4096);
}

struct busy {
	struct gantry_queue *q;
	uint8_t *from, *to;
	atomic_bool stop;
	atomic_ulong n_good, n_bad;
	unsigned long submitted, completed;
};

/* Submits copies by an import all the time. Each must complete once, good or with an error. */
static void *
copy_always(void *arg)
{
	struct busy *w = arg;
	struct gantry_comp comp[16];
	uint64_t next = 0;

	while (!atomic_load(&w->stop) || w->completed != w->submitted) {
		uint16_t n;

		if (!atomic_load(&w->stop) && w->submitted - w->completed < 16) {
			struct gantry_desc d = env_copy(w->from, w->to, 65536);

			d.cookie = w->submitted;
			w->submitted += gantry_submit(w->q, &d, 1);
		}
		n = env_poll(w->q, comp, 16);
		for (uint16_t i = 0; i < n; i++) {
			CHECK_EQ(comp[i].cookie, next++);
			if (comp[i].status == GANTRY_OK) {
				atomic_fetch_add(&w->n_good, 1);
				continue;
			}
			/*
			 * In RDMA mode an alias is a remote key. The descriptors behind a failed
			 * one are flushed.
			 */
			CHECK(comp[i].status == GANTRY_LOCAL_ERROR ||
					comp[i].status == GANTRY_REMOTE_ACCESS ||
					comp[i].status == GANTRY_FLUSHED,
				"%u", comp[i].status);
			if (comp[i].status == GANTRY_FLUSHED)
				continue;
			CHECK(comp[i].syndrome != 0);
			atomic_fetch_add(&w->n_bad, 1);
		}
		w->completed += n;
	}
	return NULL;
}

static void
wait_for(atomic_ulong *n, unsigned long more)
{
	const uint64_t end = env_patience();
	const unsigned long before = atomic_load(n);

	while (atomic_load(n) < before + more) {
		CHECK(rte_get_timer_cycles() < end);
		env_pump();
		sched_yield();
	}
}

/*
 * The owner ends its registration while an importer copies: to it, and from it in odd rounds. When
 * the call has returned 0, the owner's bytes stay.
 */
static void
the_owner_ends_it_while_copies_run(void)
{
	const unsigned int rounds = env_is_pumped() ? 4 : 16;

	for (unsigned int round = 0; round < rounds; round++) {
		struct busy w = {.q = env_queue(b, 64)};
		struct gantry_mem *owned, *mem;
		uint8_t *memory = env_mem(a, 65536, 0, &owned), *at = share(owned, b, &mem);
		unsigned long good;
		pthread_t thread;

		w.from = round % 2 ? at : b_buf;
		w.to = round % 2 ? b_buf : at;
		memset(b_buf, 0x55, 65536);
		CHECK_EQ(pthread_create(&thread, NULL, copy_always, &w), 0);
		wait_for(&w.n_good, 20);
		unregister(owned);
		memset(memory + 65536 - 256, 0x66, 256);
		memset(memory, 0x67, 256);
		wait_for(&w.n_bad, 20);
		for (unsigned int i = 0; i < 256; i++)
			CHECK(memory[i] == 0x67 && memory[65536 - 256 + i] == 0x66);
		/* Other memory goes on, by the same queue. */
		good = atomic_load(&w.n_good);
		atomic_store(&w.stop, true);
		CHECK_EQ(pthread_join(thread, NULL), 0);
		CHECK_EQ(w.submitted, w.completed);
		CHECK_EQ(good, atomic_load(&w.n_good));
		CHECK_EQ(env_do_one(w.q, env_copy(b_buf, b_buf + 100000, 1000)), GANTRY_OK);
		CHECK(env_stats(w.q).recoveries > 0);
		unregister(mem);
		env_queue_done(w.q);
		env_unmap(memory, 65536);
	}
}

/* The importer ends its registration first, while descriptors are in flight. */
static void
the_importer_ends_it_first(void)
{
	struct gantry_queue *q = env_queue(b, 8);
	struct gantry_comp comp;
	struct gantry_desc d;
	struct gantry_mem *mem;
	uint8_t *at = share(a_mem, b, &mem);

	d = env_copy(at, b_buf, 4096);
	CHECK_EQ(gantry_submit(q, &d, 1), 1);
	if (env_is_pumped())
		CHECK_EQ(gantry_mem_unregister(mem, 0), -ETIMEDOUT);
	env_collect(q, &comp, 1);
	CHECK_EQ(comp.status, GANTRY_OK);
	gantry_rest(q);
	unregister(mem);
	CHECK_EQ(env_do_one(q, d), GANTRY_NOT_REGISTERED);
	env_queue_done(q);
}

/*
 * The owner's device fails while an importer copies: to the owner's memory, and from it in odd
 * rounds. When the owner has unregistered the memory, its bytes stay, and its engine can end.
 */
static void
the_owners_device_is_lost_while_copies_run(void)
{
	const struct gantry_conf conf = {.device = "mlx5_3"};
	struct gantry_mem *own;
	uint8_t *local = env_mem(c, 2 * 65536, 0, &own);

	for (unsigned int round = 0; round < 4; round++) {
		struct busy w = {.q = env_queue(c, 64)};
		struct gantry_mem *mem, *owned;
		struct gantry *lost;
		uint8_t *memory, *at;
		unsigned long good;
		pthread_t thread;

		CHECK_EQ(gantry_create(&conf, &lost), 0);
		memory = env_mem(lost, 65536, 0, &owned);
		at = share(owned, c, &mem);
		w.from = round % 2 ? at : local;
		w.to = round % 2 ? local : at;
		memset(local, 0x55, 65536);
		CHECK_EQ(pthread_create(&thread, NULL, copy_always, &w), 0);
		wait_for(&w.n_good, 20);
		CHECK_EQ(softhca_fault("device_fatal device=3"), 0);
		/* Either the loss alone ends the copies, or the owner unregisters at once. */
		if (round >= 2)
			wait_for(&w.n_bad, 20);
		unregister(owned);
		memset(memory, 0x67, 65536);
		wait_for(&w.n_bad, 20);
		good = atomic_load(&w.n_good);
		wait_for(&w.n_bad, 20);
		for (unsigned int i = 0; i < 65536; i++)
			CHECK_EQ(memory[i], 0x67);
		atomic_store(&w.stop, true);
		CHECK_EQ(pthread_join(thread, NULL), 0);
		CHECK_EQ(w.submitted, w.completed);
		CHECK_EQ(good, atomic_load(&w.n_good));
		/* Other memory goes on, by the same queue. */
		CHECK_EQ(env_do_one(w.q, env_copy(local, local + 65536, 4096)), GANTRY_OK);
		CHECK(env_stats(w.q).recoveries > 0);
		unregister(mem);
		env_queue_done(w.q);
		softhca_faults_clear();
		CHECK_EQ(gantry_destroy(lost), 0);
		env_unmap(memory, 65536);
	}
	unregister(own);
	env_unmap(local, 2 * 65536);
}

/* ------------------------------------------------------------------ random owners and importers */

#define N_REGIONS 5
#define N_IMPORTS 8
#define SLICE     8192

/*
 * A model: a region has the number of its registration, and an import remembers that number. An
 * import reaches its memory exactly if the region with that number is registered.
 */
static struct {
	struct {
		struct gantry_mem *mem;
		uint8_t *at;
		unsigned long born; /* 0: not registered */
		struct gantry_mem_record record;
		bool has_record;
		unsigned long record_of; /* the registration of the record */
	} region[N_REGIONS];
	struct {
		struct gantry_mem *mem; /* NULL: no import */
		uint8_t *at;
		unsigned int from;
		unsigned long born;
	} import[N_IMPORTS];
	unsigned long n_born, n_good, n_bad;
} model;

static void
step_region(unsigned int r)
{
	if (model.region[r].born != 0) {
		unregister(model.region[r].mem);
		model.region[r].born = 0;
		return;
	}
	CHECK_EQ(gantry_mem_register(a, model.region[r].at, SLICE, 0, &model.region[r].mem), 0);
	model.region[r].born = ++model.n_born;
}

static void
step_export(unsigned int r)
{
	if (model.region[r].born == 0)
		return;
	CHECK_EQ(gantry_mem_export(model.region[r].mem, 0, &model.region[r].record), 0);
	model.region[r].has_record = true;
	model.region[r].record_of = model.region[r].born;
}

static void
step_import(unsigned int i, unsigned int r)
{
	const bool good =
		model.region[r].born != 0 && model.region[r].born == model.region[r].record_of;
	void *at;
	int ret;

	if (model.import[i].mem != NULL) {
		unregister(model.import[i].mem);
		model.import[i].mem = NULL;
		return;
	}
	if (!model.region[r].has_record)
		return;
	ret = gantry_mem_import(b, &model.region[r].record, 0, &model.import[i].mem, &at);
	CHECK_EQ(ret, good ? 0 : -EACCES);
	if (ret != 0)
		return;
	model.import[i].at = at;
	model.import[i].from = r;
	model.import[i].born = model.region[r].record_of;
}

static void
step_copy(struct gantry_queue *q, unsigned int i)
{
	const unsigned int r = model.import[i].from;
	const bool good = model.region[r].born == model.import[i].born;
	const uint64_t off = draw(SLICE - 1), len = 1 + draw(SLICE - off);
	uint8_t before[SLICE];
	enum gantry_status status;

	if (model.import[i].mem == NULL)
		return;
	env_fill(b_buf, SLICE, draw(1000) + 1);
	memcpy(before, model.region[r].at, SLICE);
	status = env_do_one(q, env_copy(b_buf, model.import[i].at + off, len));
	if (good)
		memcpy(before + off, b_buf, len);
	CHECK_EQ(status == GANTRY_OK, good);
	CHECK(memcmp(before, model.region[r].at, SLICE) == 0);
	*(good ? &model.n_good : &model.n_bad) += 1;
}

static void
random_owners_and_importers(void)
{
	struct gantry_queue *q = env_queue(b, 8);

	for (unsigned int r = 0; r < N_REGIONS; r++)
		model.region[r].at = env_map(SLICE);
	for (unsigned int step = 0; step < 2500; step++) {
		const unsigned int r = (unsigned int)draw(N_REGIONS);
		const unsigned int i = (unsigned int)draw(N_IMPORTS);

		switch (draw(10)) {
		case 0:
			step_region(r);
			break;
		case 1:
			step_export(r);
			break;
		case 2:
		case 3:
			step_import(i, r);
			break;
		default:
			step_copy(q, i);
		}
	}
	CHECK(model.n_good > 100 && model.n_bad > 100, "%lu, %lu", model.n_good, model.n_bad);
	for (unsigned int i = 0; i < N_IMPORTS; i++)
		if (model.import[i].mem != NULL)
			unregister(model.import[i].mem);
	for (unsigned int r = 0; r < N_REGIONS; r++) {
		if (model.region[r].born != 0)
			unregister(model.region[r].mem);
		env_unmap(model.region[r].at, SLICE);
	}
	env_queue_done(q);
}

static const struct check_case cases[] = {
	{"a record has what an importer needs", a_record_has_what_an_importer_needs},
	{"each flipped bit of a record is refused", each_flipped_bit_of_a_record_is_refused},
	{"wrong facts of a record are refused", wrong_facts_of_a_record_are_refused},
	{"kinds of memory that cannot be exported", kinds_of_memory_that_cannot_be_exported},
	{"bytes are those of memcpy()", bytes_are_those_of_memcpy},
	{"each operation reaches it", each_operation_reaches_it},
	{"messages carry it", messages_carry_it},
	{"bounds and rights are kept", bounds_and_rights_are_kept},
	{"a policy cannot choose the CPU", a_policy_cannot_choose_the_cpu},
	{"its addresses are reserved", its_addresses_are_reserved},
	{"the owner ends it while copies run", the_owner_ends_it_while_copies_run},
	{"the importer ends it first", the_importer_ends_it_first},
	{"the owner's device is lost while copies run", the_owners_device_is_lost_while_copies_run},
	{"random owners and importers", random_owners_and_importers},
};
static const struct check_case off_cases[] = {
	{"the device may lack it", the_device_may_lack_it},
};

int
main(int argc, char **argv)
{
	struct gantry_conf conf = {.rdma_copies = true};
	struct gantry_mem *mem;
	int ret;

	env_init(0);
	conf.device = "mlx5_0";
	CHECK_EQ(gantry_create(&conf, &a), 0);
	conf.device = "mlx5_1";
	CHECK_EQ(gantry_create(&conf, &b), 0);
	conf.device = "mlx5_2";
	CHECK_EQ(gantry_create(&conf, &c), 0);
	a_buf = env_mem(a, LEN, 0, &a_mem);
	b_buf = env_mem(b, LEN, 0, &b_mem);
	if (setting_is("SOFTHCA_CROSS_VHCA", "off")) {
		env_run(off_cases, RTE_DIM(off_cases), argc, argv);
	} else {
		CHECK_EQ(a->info.shares, GANTRY_SHARE_EXPORT | GANTRY_SHARE_IMPORT);
		CHECK_EQ(a->export_kind, setting_is("SOFTHCA_CROSS_VHCA", "direct")
						 ? HWQ_EXPORT_DIRECT
						 : HWQ_EXPORT_KSM);
		env_run(cases, RTE_DIM(cases), argc, argv);
	}
	unregister(b_mem);
	CHECK_EQ(gantry_destroy(b), 0);
	CHECK_EQ(gantry_destroy(c), 0);
	mem = a_mem;
	ret = env_done(a, &mem, 1);
	env_unmap(a_buf, LEN);
	env_unmap(b_buf, LEN);
	return ret;
}
