/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The capture file: pcap with nanosecond timestamps (draft-ietf-opsawg-pcap, "File Header" and
 * "Packet Record"), in the byte order of this machine.
 */
#include "capture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "dev.h"
#include "log.h"
#include "raw.h"

#define MAGIC_NS          0xa1b23c4du
#define SNAP_LEN          262144
#define LINKTYPE_ETHERNET 1

struct file_header {
	uint32_t magic;
	uint16_t major, minor;
	uint32_t reserved[2];
	uint32_t snap_len, link_type;
};

struct record_header {
	uint32_t sec, nsec, len, full_len;
};

enum {
	NOT_OPEN = -1,
	OPENING = -2,
	FAILED = -3
};

static atomic_int file = NOT_OPEN;

static int
capture_open(const char *path)
{
	const struct file_header header = {.magic = MAGIC_NS,
		.major = 2,
		.minor = 4,
		.snap_len = SNAP_LEN,
		.link_type = LINKTYPE_ETHERNET};
	int fd = raw_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);

	if (fd >= 0 && raw_write(fd, &header, sizeof(header)) == sizeof(header))
		return fd;
	softhca_log("the capture file %s cannot be written: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return FAILED;
}

/*
 * The first frame of the process opens the file. A process that sends no frame does not change the
 * file.
 */
static int
capture_file(const char *path)
{
	int fd = atomic_load_explicit(&file, memory_order_acquire), expected = NOT_OPEN;

	if (fd == NOT_OPEN && atomic_compare_exchange_strong(&file, &expected, OPENING)) {
		fd = capture_open(path);
		atomic_store_explicit(&file, fd, memory_order_release);
	}
	while (fd == NOT_OPEN || fd == OPENING)
		fd = atomic_load_explicit(&file, memory_order_acquire);
	return fd;
}

void
capture_frame(const struct softhca_config *cfg, const uint8_t *frame, size_t len)
{
	struct record_header header;
	struct iovec parts[2] = {{&header, sizeof(header)}, {(void *)(uintptr_t)frame, len}};
	struct timespec now;
	int fd;

	if (cfg->capture[0] == '\0')
		return;
	fd = capture_file(cfg->capture);
	if (fd < 0)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	header = (struct record_header){.sec = (uint32_t)now.tv_sec,
		.nsec = (uint32_t)now.tv_nsec,
		.len = (uint32_t)len,
		.full_len = (uint32_t)len};
	/*
	 * O_APPEND and one system call for each record keep records from mixing if several lanes
	 * write at once.
	 */
	if (writev(fd, parts, 2) == (ssize_t)(sizeof(header) + len))
		return;
	softhca_log("the capture file %s is cut short: %s", cfg->capture, strerror(errno));
	atomic_store(&file, FAILED);
}
