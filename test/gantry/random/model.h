/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A model of one queue and its memory, written from gantry.h and gantry_desc.h alone.
 *
 *   model_refusals()   which rules of gantry_desc.h a descriptor breaks      model_rules.c
 *   model_remote_ok()  whether the peer will allow it
 *   model_ranges()     which memory it reads and writes                      model_pieces.c
 *   model_read()       the bytes that it moves ...                           model_bytes.c
 *   model_write()      ... and the memory after the descriptor
 *   model_judge()      compares the memory with the model
 *
 * A descriptor that failed may have written some of its bytes. So a byte of the model is a set of
 * values. A later descriptor that reads this byte copies the set. model_judge() compares the memory
 * with the sets; after that, each byte of the model has one value.
 */
#ifndef MODEL_H
#define MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include <gantry.h>

#define MODEL_REGIONS 4
#define MODEL_DEVICE  3 /* the region in device memory */
#define MODEL_LAYOUTS 3
#define MODEL_PEERS   8
/* Pages of EAL. Each page may exist or not. Adjacent pages are one region. */
#define MODEL_EAL_PAGES 3
#define MODEL_BLOCKS    4
#define MODEL_KEYS      16
/* most pieces of a layout that a descriptor names; lists have fewer pieces */
#define MODEL_PIECES 512
/* Length of the longest descriptor that is drawn. */
#define MODEL_LEN_MAX 2621440

#define MODEL_BIT(status) (UINT32_C(1) << (status))

/* The values that a byte may have; n = 0: any value. */
struct model_byte {
	uint8_t n;
	uint8_t value[3];
};

struct model_range {
	uint64_t addr, len;
};

struct model_region {
	uint64_t addr, len;
	bool there, read_only;
	bool remote; /* peers may read it, write it and do atomics on it, with remote_key */
	uint32_t remote_key;
	uint64_t remote_addr; /* the address by which peers name its first byte */
};

struct model_layout {
	bool there;
	uint16_t id;
	uint32_t n, rounds;
	uint64_t len;
	struct gantry_block block[MODEL_BLOCKS];
};

/* Keys that a SEND_INV may name. */
struct model_keys {
	uint32_t rkey[MODEL_KEYS];
	bool valid[MODEL_KEYS]; /* the key has not been invalidated */
};

struct model_peer {
	bool open, connected;
	bool down; /* the model knows that the connection is down */
};

/*
 * One queue and its arena, the only memory that its descriptors write. In the arena, the offsets of
 * device memory follow those of host memory. Descriptors are drawn with addresses in the arena,
 * which are equal in all runs. Device memory may have another address in each run: when a
 * descriptor is submitted, it gets the true addresses of device memory.
 */
struct model {
	uint8_t *mem;
	uint64_t host_len; /* length of mem in bytes */
	/* the address at which device memory is mapped; NULL: there is none */
	const uint8_t *device;
	uint64_t len; /* length of the arena in bytes */
	struct model_byte *byte;
	struct model_region region[MODEL_REGIONS];
	struct model_peer peer[MODEL_PEERS];
	const struct model_layout *layout; /* array of MODEL_LAYOUTS elements */
	uint64_t max_msg_len;
	uint32_t carriers; /* gantry_info::carriers */
	uint64_t eal_addr;
	bool eal_page[MODEL_EAL_PAGES];
	const struct model_keys *keys;
};

/* What the rules of gantry_desc.h say about a descriptor. */
struct model_verdict {
	uint32_t broken; /* statuses of the rules that the descriptor breaks */
	/* statuses that the headers neither demand nor exclude for this descriptor */
	uint32_t maybe;
	/* The memory that the descriptor names is known, even if other fields are wrong. */
	bool named;
};

/*
 * Returns the statuses with which a descriptor may be refused. If `broken` is 0, it may be
 * executed.
 */
struct model_verdict model_refusals(const struct model *m, const struct gantry_desc *d);

#define MODEL_CARRIERS 3 /* number of carriers that a descriptor can name */
/*
 * Makes a copy name the carrier with index i, if there is such a carrier and the engine has it.
 * Other descriptors do not change. To draw a descriptor.
 */
void model_name_carrier(const struct model *m, struct gantry_desc *d, uint64_t i);

/* True if the operation names a peer. */
bool model_is_to_peer(const struct gantry_desc *d);
/* True if the operation uses a receive of the peer. */
bool model_takes_receive(uint8_t op);
/* True if the peer accepts the memory or key that a correct descriptor names at the peer. */
bool model_remote_ok(const struct model *m, const struct gantry_desc *d);
/*
 * Returns 0 if one registered region contains the range and, with `write`, may be written.
 * Otherwise returns the status.
 */
uint32_t model_local(const struct model *m, uint64_t addr, uint64_t len, bool write);
/*
 * Returns the region that peers reach by this key. This region may be removed already. Returns NULL
 * if no region had this key.
 */
const struct model_region *model_remote(const struct model *m, uint32_t key);

/*
 * Returns the layout with this id. If this layout was destroyed, returns the last layout that had
 * the id, because descriptors in flight may still use it. Returns NULL if no layout had the id.
 */
const struct model_layout *model_layout_find(const struct model *m, uint16_t id);
/*
 * Returns the number of pieces of memory that a correct descriptor reads (or, with `to`, writes),
 * and stores the pieces.
 */
unsigned int model_pieces(const struct model *m, const struct gantry_desc *d, bool to,
	struct model_range *piece);
/*
 * The span of the pieces of model_pieces(): from the first byte to the last one; len is 0 if there
 * are no pieces.
 */
struct model_range model_span(const struct model *m, const struct gantry_desc *d, bool to);

/* Sets all bytes of the model that exist to the present values of memory. */
void model_adopt(struct model *m);
/*
 * Call this when device memory was allocated. at: the address of the device memory, whose bytes are
 * all zero.
 */
void model_new_device(struct model *m, const uint8_t *at);
/* The present value of a byte of the arena. */
uint8_t model_now(const struct model *m, uint64_t at);
/* Stores the bytes that a correct descriptor moves. `bytes` has room for len bytes. */
void model_read(const struct model *m, const struct gantry_desc *d, struct model_byte *bytes);
/*
 * Returns true and the word that an atomic will find, if the model knows this word.
 */
bool model_word(const struct model *m, const struct gantry_desc *d, uint64_t *old);
/*
 * Call this when a descriptor has ended. sure: it was executed; otherwise it may have been
 * executed, completely or in part. result: the result of an executed atomic. Returns false if this
 * result is impossible.
 */
bool model_write(struct model *m, const struct gantry_desc *d, bool sure, uint64_t result);
/*
 * Returns true if each byte of memory has one of the values of the model. If not, *at is the offset
 * of the first wrong byte.
 */
bool model_bytes_are(const uint8_t *mem, const struct model_byte *bytes, uint64_t len,
	uint64_t *at);
/*
 * Compares the arena with the model; then the model gets the values of the arena. Result and *at
 * are as for model_bytes_are().
 */
bool model_judge(struct model *m, uint64_t *at);

#endif
