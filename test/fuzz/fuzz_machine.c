/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The environment of the adapter's data half: replacements for the control half, and a clock,
 * random numbers and a wire that are the same in each run with the same seed.
 */
#include <string.h>
#include <sys/types.h>
#include <time.h>

#include "capture.h"
#include "devices.h"
#include "fuzz_world.h"
#include "log.h"

/* ---- replacements for the control half */

struct softhca_dev fuzz_dev;
static struct softhca_config cfg;
unsigned long fuzz_frames;

/* Drops log lines about refused work requests. */
void
softhca_log(const char *fmt, ...)
{
}

void
softhca_event_cq_comp(void *event)
{
}

void
softhca_event_cq_async(void *event, uint32_t type)
{
}

void
softhca_event_qp_async(void *event, uint32_t type)
{
}

void
softhca_event_dct_key(void *event)
{
}

static bool
send_event(struct softhca_dev *dev, uint32_t type, uint32_t port)
{
	return true;
}

/*
 * The linker uses these functions instead of the machine's clock and random numbers, so that each
 * run with the same seed is the same.
 */
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);
ssize_t __wrap_getrandom(void *p, size_t len, unsigned int flags);

static uint64_t now = 1000000000; /* ns */

int
__wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	now += 500;
	ts->tv_sec = (time_t)(now / 1000000000);
	ts->tv_nsec = (long)(now % 1000000000);
	return 0;
}

void
world_pass(uint64_t ns)
{
	now += ns;
}

ssize_t
__wrap_getrandom(void *p, size_t len, unsigned int flags)
{
	rnd_bytes(p, len);
	return (ssize_t)len;
}

/* The linker uses this function instead of the function for the capture file. */
void __wrap_capture_frame(const struct softhca_config *c, const uint8_t *frame, size_t len);

void
__wrap_capture_frame(const struct softhca_config *c, const uint8_t *frame, size_t len)
{
	if (len < 60 || len > 9216)
		FUZZ_DIE("a frame of %zu bytes", len);
	if (fuzz_has_secret(frame, len))
		FUZZ_DIE("a frame carries bytes that its WQE did not point to");
	fuzz_frames++;
}

void
world_init(enum softhca_wire wire)
{
	static const uint8_t gid[16] = {0xfe, 0x80, [8] = 2, 0, 0, 0xff, 0xfe, 0, 0, 1};

	cfg.strict_doorbells = 1;
	cfg.bf_reg_size = 512;
	cfg.max_memcpy = 8192;
	cfg.ports = 1;
	cfg.mmo_qp = 1;
	cfg.crypto = SOFTHCA_CRYPTO_PLAINTEXT;
	cfg.max_rd_atomic = 16;
	cfg.wire = wire;
	cfg.wire_message = FUZZ_WIRE_MESSAGE;
	cfg.wire_bytes = FUZZ_WIRE_BYTES;
	cfg.link_layer = SOFTHCA_LINK_ETHERNET;
	fuzz_dev.cfg = &cfg;
	fuzz_dev.port[0].n_gids = 1;
	memcpy(fuzz_dev.port[0].gid[0], gid, sizeof(gid));
	softhca_devices_set(&fuzz_dev, 1);
	fuzz_dev.send_event = send_event;
	FUZZ_MUST(softhca_lanes_init(&fuzz_dev));
}

void
world_fini(void)
{
	softhca_lanes_fini(&fuzz_dev);
}
