/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Speed of encryption by the emulated adapter, compared with OpenSSL on the same data in the same
 * run: messages of 64 KiB through a key with data units of 4 KiB. One thread posts with lib/hwq,
 * runs the adapter with softhca_pump(), and polls. In both cases each data unit has its own tweak.
 * The program only prints figures; no time makes it fail.
 *
 * usage: bench_crypto
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <openssl/evp.h>

#include "bench_median.h"
#include "hwq_dek.h"
#include "hwq_emu.h"
#include "hwq_wr_mkey.h"

#define BURST    16
#define WALK_LEN (4u << 20)
#define MSG_LEN  (64u << 10)
#define UNIT     4096
#define PAIRS    51

struct bench {
	struct hwq_dev *dev;
	struct twin twin;
	struct hwq_mr mr;
	uint8_t *mem; /* memory of the key, then memory of the peer */
	struct hwq_dek_pool *deks;
	struct hwq_dek *dek;
	struct hwq_mkey_pool *keys;
	struct hwq_mkey *key;
	EVP_CIPHER_CTX *openssl[2]; /* indexed by `encrypt` */
};

static void
expect(bool good, const char *what)
{
	if (!good)
		EMU_DIE("%s failed", what);
}

/* Polls until n operations have completed. */
static void
reap(struct bench *b, unsigned int n)
{
	struct hwq_cqe cqes[BURST];

	while (n != 0) {
		unsigned int got = hwq_cq_poll(b->twin.cq, cqes, n < BURST ? n : BURST);

		for (unsigned int i = 0; i < got; i++) {
			expect(cqes[i].syndrome == 0, "an operation");
			hwq_sq_complete(&b->twin.qp->sq, cqes[i].wqe_counter);
		}
		n -= got;
		if (got == 0)
			softhca_pump();
	}
}

/* ---- one key over the memory */

static void
configure(struct bench *b)
{
	const struct mlx5dv_mkey_conf_attr conf = {0};
	const struct hwq_sge sge = {(uintptr_t)b->mem, WALK_LEN, b->mr.lkey};
	const struct hwq_crypto_attr crypto = {.encrypt_on_tx = true,
		.data_unit_size = MLX5DV_BLOCK_SIZE_4096,
		.dek = b->dek->id};
	struct hwq_wr wr;

	hwq_wr_start(&wr, &b->twin.qp->sq);
	wr.wr_flags = HWQ_WQE_INLINE | HWQ_WQE_SIGNALED;
	hwq_wr_mkey_configure(&wr, b->key, 3, &conf);
	hwq_wr_set_mkey_access_flags(&wr, IBV_ACCESS_LOCAL_WRITE);
	hwq_wr_set_mkey_layout_list(&wr, 1, &sge);
	hwq_wr_set_mkey_crypto(&wr, &crypto);
	expect(hwq_wr_complete(&wr) == 0, "configuring the key");
	reap(b, 1);
}

static void
keys_open(struct bench *b, bool key_256)
{
	const struct hwq_mkey_conf keys = {.n = 1, .max_entries = 4, .flags = HWQ_MKEY_CRYPTO};
	struct hwq_dek_conf dek = {
		.key_size = key_256 ? MLX5DV_CRYPTO_KEY_SIZE_256 : MLX5DV_CRYPTO_KEY_SIZE_128};

	for (unsigned int i = 0; i < 64; i++)
		dek.key[i] = (char)(i * 7 + 1);
	expect(hwq_dek_pool_create(b->twin.domain, 1, &dek, &b->deks) == 0, "making a DEK");
	expect(hwq_mkey_pool_create(b->twin.domain, &keys, &b->keys) == 0, "making a key");
	b->dek = hwq_dek_get(b->deks, 0);
	b->key = hwq_mkey_get(b->keys);
	configure(b);
	for (int encrypt = 0; encrypt < 2; encrypt++) {
		b->openssl[encrypt] = EVP_CIPHER_CTX_new();
		expect(EVP_CipherInit_ex(b->openssl[encrypt],
			       key_256 ? EVP_aes_256_xts() : EVP_aes_128_xts(), NULL,
			       (const uint8_t *)dek.key, NULL, encrypt) == 1,
			"OpenSSL");
	}
}

static void
keys_close(struct bench *b)
{
	for (int encrypt = 0; encrypt < 2; encrypt++)
		EVP_CIPHER_CTX_free(b->openssl[encrypt]);
	hwq_mkey_put(b->key);
	expect(hwq_mkey_pool_destroy(b->keys) == 0, "destroying the key");
	hwq_dek_put(b->dek);
	expect(hwq_dek_pool_destroy(b->deks) == 0, "destroying the DEK");
}

/* ---- both walk over the same memory */

/*
 * Moves data through the key and returns the ns. RDMA writes move data out, which encrypts; RDMA
 * reads move data in, which decrypts.
 */
static double
by_device(struct bench *b, bool encrypt)
{
	struct hwq_sq *sq = &b->twin.qp->sq;
	uint64_t far = (uintptr_t)b->mem + WALK_LEN, start = emu_now_ns();

	for (uint64_t off = 0; off < WALK_LEN;) {
		unsigned int n = 0;

		for (; n < BURST && off < WALK_LEN; n++, off += MSG_LEN)
			expect((encrypt ? hwq_wqe_rdma_write(sq, b->mr.rkey, far + off,
						  b->key->lkey, off, MSG_LEN, HWQ_WQE_SIGNALED)
					: hwq_wqe_rdma_read(sq, b->mr.rkey, far + off, b->key->lkey,
						  off, MSG_LEN, HWQ_WQE_SIGNALED)) > 0,
				"posting");
		hwq_sq_ring(sq);
		softhca_pump();
		reap(b, n);
	}
	return (double)(emu_now_ns() - start);
}

static double
by_openssl(struct bench *b, bool encrypt)
{
	const uint8_t *from = encrypt ? b->mem : b->mem + WALK_LEN;
	uint8_t *to = encrypt ? b->mem + WALK_LEN : b->mem;
	EVP_CIPHER_CTX *ctx = b->openssl[encrypt];
	uint64_t tweak[2] = {0, 0}, start = emu_now_ns();
	int n;

	for (uint64_t off = 0; off < WALK_LEN; off += UNIT) {
		tweak[0] = htole64(off / UNIT);
		expect(EVP_CipherInit_ex(ctx, NULL, NULL, NULL, (uint8_t *)tweak, -1) == 1 &&
				EVP_CipherUpdate(ctx, to + off, &n, from + off, UNIT) == 1,
			"OpenSSL");
	}
	return (double)(emu_now_ns() - start);
}

/* Checks that the adapter's ciphertext equals OpenSSL's, and that both decrypt to the plaintext. */
static void
check(struct bench *b)
{
	uint8_t *far = b->mem + WALK_LEN, *copy = malloc(WALK_LEN);

	expect(copy != NULL, "malloc");
	by_openssl(b, true);
	memcpy(copy, far, WALK_LEN);
	memset(far, 0, WALK_LEN);
	by_device(b, true);
	expect(memcmp(copy, far, WALK_LEN) == 0, "encrypting");
	memcpy(copy, b->mem, WALK_LEN);
	memset(b->mem, 0, WALK_LEN);
	by_device(b, false);
	expect(memcmp(copy, b->mem, WALK_LEN) == 0, "decrypting");
	free(copy);
}

static void
compare(struct bench *b, bool key_256, bool encrypt)
{
	double ratio[PAIRS], device[PAIRS], openssl[PAIRS];

	for (unsigned int i = 0; i < PAIRS; i++) {
		/*
		 * The adapter and OpenSSL are measured in pairs of runs; which of them is first
		 * alternates.
		 */
		if (i % 2 == 0)
			device[i] = by_device(b, encrypt);
		openssl[i] = by_openssl(b, encrypt);
		if (i % 2 != 0)
			device[i] = by_device(b, encrypt);
		ratio[i] = openssl[i] / device[i];
	}
	printf("  AES-%u %-8s %7.2f GB/s   OpenSSL %7.2f GB/s   ratio %5.1f %%\n",
		key_256 ? 256 : 128, encrypt ? "encrypt" : "decrypt",
		WALK_LEN / bench_median(device, PAIRS), WALK_LEN / bench_median(openssl, PAIRS),
		100 * bench_median(ratio, PAIRS));
}

int
main(int argc, char **argv)
{
	const struct hwq_qp_conf conf = {.sq_wr = 4 * BURST, .max_inline = 316};
	struct bench b = {0};

	(void)argc;
	setenv("SOFTHCA_THREADS", "0", 1);
	emu_setting(argv, "SOFTHCA_CRYPTO", "plaintext");
	b.dev = emu_open();
	twin_create(b.dev, &conf, &b.twin);
	twin_connect_self(&b.twin);
	b.mem = mmap(NULL, 2 * WALK_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		0);
	expect(b.mem != MAP_FAILED, "mmap");
	for (uint64_t i = 0; i < 2 * WALK_LEN; i++)
		b.mem[i] = (uint8_t)(i * 13 + i / 100);
	expect(hwq_mr_register(b.dev, b.mem, 2 * WALK_LEN,
		       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
		       &b.mr) == 0,
		"registering");
	printf("messages of %u KiB, data units of %u KiB, over %u MiB, pumped inline (median of %u pairs)\n",
		MSG_LEN >> 10, UNIT >> 10, WALK_LEN >> 20, PAIRS);
	for (unsigned int i = 0; i < 2; i++) {
		keys_open(&b, i == 1);
		check(&b);
		compare(&b, i == 1, true);
		compare(&b, i == 1, false);
		keys_close(&b);
	}
	twin_destroy(&b.twin);
	hwq_mr_deregister(&b.mr);
	munmap(b.mem, 2 * WALK_LEN);
	hwq_dev_close(b.dev);
	return 0;
}
