/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Opens, writes, verifies and renames one output. After a failure, removes it.
 */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_common.h>

#include "quote.h"
#include "report.h"

/*
 * The temporary name is not the output's name with a suffix, because the output's name may already
 * have 255 bytes, the most that a name can have.
 */
#define TEMP_NAME ".testgantry-XXXXXX"
/* bytes compared at a time: two buffers of this length fit into a CPU's L2 cache */
#define COMPARE_LEN (128u << 10)

atomic_bool outputs_unfinished;

/* ------------------------------------------------------------------ folders */

static int
remember_made(struct file_set *set, const char *path)
{
	char **grown;

	if (set->n_made == set->made_capacity) {
		set->made_capacity = set->made_capacity != 0 ? 2 * set->made_capacity : 16;
		grown = realloc(set->made, set->made_capacity * sizeof(*grown));
		if (grown == NULL)
			return -1;
		set->made = grown;
	}
	set->made[set->n_made] = strdup(path);
	if (set->made[set->n_made] == NULL)
		return -1;
	set->n_made++;
	return 0;
}

static int
make_folder(struct file_set *set, const char *path)
{
	if (mkdir(path, 0777) == 0) {
		if (remember_made(set, path) == 0)
			return 0;
		rmdir(path);
		errno = ENOMEM;
	} else if (errno == EEXIST) {
		return 0; /* if `path` is no folder, opening a file in it fails with ENOTDIR */
	}
	error_print("cannot make the folder %s: %s", quote_name(path), strerror(errno));
	return -1;
}

/* Creates every missing folder above path. */
static int
make_folders_above(struct file_set *set, const char *path)
{
	char folder[PATH_MAX];
	char *slash;

	snprintf(folder, sizeof(folder), "%s", path);
	slash = strrchr(folder, '/');
	*slash = '\0';
	if (folder[0] == '\0' || access(folder, F_OK) == 0)
		return 0;
	for (slash = strchr(folder + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (access(folder, F_OK) != 0 && make_folder(set, folder) != 0)
			return -1;
		*slash = '/';
	}
	return make_folder(set, folder);
}

/* ------------------------------------------------------------------ open */

static const char *
write_remedy(int error)
{
	switch (error) {
	case ENOSPC:
	case EDQUOT:
		return ": free some space, or choose another --out";
	case EFBIG:
		return ": see ulimit -f";
	default:
		return "";
	}
}

/* Prints the error that errno has. */
static void
report_write_error(const struct file *f)
{
	error_print("cannot write %s: %s%s", quote_name(f->output), strerror(errno),
		write_remedy(errno));
}

static void
skip(struct file_set *set, struct file *f)
{
	error_begin("cannot read %s: %s\n", quote_name(f->input), strerror(errno));
	set->n_unreadable++;
	f->size = 0;
	f->skipped = true;
}

static int
open_input(struct file_set *set, struct file *f)
{
	struct stat st;

	f->in_fd = open(f->input, O_RDONLY | O_CLOEXEC);
	if (f->in_fd < 0 && set->skip_unreadable) {
		skip(set, f);
		return 0;
	}
	if (f->in_fd < 0 || fstat(f->in_fd, &st) != 0) {
		error_print("cannot read %s: %s", quote_name(f->input), strerror(errno));
		return -1;
	}
	f->size = st.st_size;
	f->permissions = st.st_mode;
	posix_fadvise(f->in_fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	return 0;
}

static int
create_temp(struct file *f)
{
	char folder[PATH_MAX];

	snprintf(folder, sizeof(folder), "%s", f->output);
	if (asprintf(&f->temp, "%s/" TEMP_NAME, dirname(folder)) < 0) {
		f->temp = NULL;
		error_print("out of memory");
		return -1;
	}
	f->out_fd = mkostemp(f->temp, O_CLOEXEC);
	if (f->out_fd >= 0)
		return 0;
	error_print("cannot write in the folder of %s: %s", quote_name(f->output), strerror(errno));
	free(f->temp);
	f->temp = NULL;
	return -1;
}

int
output_open_input(struct file_set *set, struct file *f)
{
	f->read = 0;
	f->data_end = 0;
	f->written = 0;
	f->verifying = 0;
	f->verified = 0;
	return open_input(set, f);
}

int
output_create(struct file_set *set, struct file *f)
{
	outputs_unfinished = true;
	if (make_folders_above(set, f->output) != 0 || create_temp(f) != 0)
		return -1;
	if (ftruncate(f->out_fd, (off_t)f->size) == 0)
		return 0;
	report_write_error(f);
	return -1;
}

int
output_open(struct file_set *set, struct file *f)
{
	if (output_open_input(set, f) != 0)
		return -1;
	return f->skipped ? 0 : output_create(set, f);
}

/* ------------------------------------------------------------------ move */

/* If the file system does not report holes, all bytes are data. */
uint64_t
output_pass_hole(struct file *f)
{
	off_t data, hole;
	uint64_t len;

	if (f->read < f->data_end || f->read == f->size)
		return 0;
	data = lseek(f->in_fd, (off_t)f->read, SEEK_DATA);
	if (data < 0)
		data = errno == ENXIO ? (off_t)f->size : (off_t)f->read;
	hole = lseek(f->in_fd, data, SEEK_HOLE);
	/*
	 * The file may have changed since it was opened. Reading and verifying detect such a
	 * change.
	 */
	f->data_end = hole > data ? RTE_MIN((uint64_t)hole, f->size) : f->size;
	len = RTE_MIN((uint64_t)data, f->size) - f->read;
	f->read += len;
	f->written += len;
	return len;
}

/*
 * Reads len bytes, or fewer at the end of the file. Returns the number of bytes, or -1 with errno.
 */
static ssize_t
read_fully(int fd, void *buffer, size_t len, uint64_t offset)
{
	size_t have = 0;
	ssize_t n;

	while (have < len) {
		n = pread(fd, (char *)buffer + have, len - have, offset + have);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		have += n;
	}
	return have;
}

int
output_read(const struct file *f, void *buffer, size_t len, uint64_t offset)
{
	ssize_t n = read_fully(f->in_fd, buffer, len, offset);

	if (n < 0) {
		error_print("cannot read %s: %s", quote_name(f->input), strerror(errno));
		return -1;
	}
	if ((size_t)n < len) {
		error_print(
			"%s became shorter while it was read: run again when no program writes it",
			quote_name(f->input));
		return -1;
	}
	return 0;
}

int
output_write(const struct file *f, const void *buffer, size_t len, uint64_t offset)
{
	const char *from = buffer;
	ssize_t n;

	while (len > 0) {
		n = pwrite(f->out_fd, from, len, offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			report_write_error(f);
			return -1;
		}
		from += n;
		len -= n;
		offset += n;
	}
	return 0;
}

/* ------------------------------------------------------------------ verify */

/*
 * Prints the first byte that differs. offset: position of the first byte of `in` in the file. At
 * least one byte differs.
 */
static int
report_difference(const struct file *f, const uint8_t *in, const uint8_t *out, uint64_t offset)
{
	while (*in == *out) {
		in++;
		out++;
		offset++;
	}
	error_print("%s differs from %s at byte %" PRIu64 ": it is 0x%02x and should be 0x%02x",
		quote_name(f->output), quote_name(f->input), offset, *out, *in);
	return -1;
}

/*
 * If both files must end after the compared bytes, len is one more than the number of bytes left.
 */
static int
compare(const struct file *f, uint64_t offset, size_t len)
{
	uint8_t in[COMPARE_LEN + 1], out[COMPARE_LEN + 1];
	ssize_t n_in = read_fully(f->in_fd, in, len, offset);
	ssize_t n_out = read_fully(f->out_fd, out, len, offset);
	ssize_t n = n_in < n_out ? n_in : n_out;

	if (n < 0) {
		error_print("cannot read back %s: %s", quote_name(n_in < 0 ? f->input : f->output),
			strerror(errno));
		return -1;
	}
	if (memcmp(in, out, n) != 0)
		return report_difference(f, in, out, offset);
	if (n_in == n_out && offset + n == RTE_MIN(offset + len, f->size))
		return 0;
	error_print("%s is %s than %s: if someone writes the input, run again when nobody does",
		quote_name(f->output), n_out < n_in ? "shorter" : "longer", quote_name(f->input));
	return -1;
}

int
output_verify(const struct file *f, uint64_t offset, uint64_t len)
{
	uint64_t end = offset + len;
	uint64_t n;

	if (f->skipped)
		return 0;
	do {
		n = RTE_MIN(end - offset, (uint64_t)COMPARE_LEN);
		if (compare(f, offset, offset + n == f->size ? n + 1 : n) != 0)
			return -1;
		offset += n;
	} while (offset < end);
	return 0;
}

/* ------------------------------------------------------------------ publish, remove */

static void
close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/*
 * Returns the permission bits of the input that the umask allows, without set-user-ID and
 * set-group-ID.
 */
static mode_t
output_mode(const struct file *f)
{
	mode_t mask = umask(0);

	umask(mask);
	return f->permissions & 0777 & ~mask;
}

int
output_publish(struct file *f)
{
	int fd = f->out_fd;

	if (f->skipped)
		return 0;
	fchmod(fd, output_mode(f)); /* a file system may have no permission bits: ignore errors */
	close_fd(&f->in_fd);
	f->out_fd = -1;
	if (close(fd) != 0) {
		report_write_error(f);
		return -1;
	}
	if (rename(f->temp, f->output) != 0) {
		error_print("cannot give %s its name: %s", quote_name(f->output), strerror(errno));
		return -1;
	}
	free(f->temp);
	f->temp = NULL;
	return 0;
}

void
outputs_discard(struct file_set *set)
{
	struct file *f;

	for (size_t i = 0; i < set->n; i++) {
		f = &set->file[i];
		close_fd(&f->in_fd);
		close_fd(&f->out_fd);
		if (f->temp != NULL)
			unlink(f->temp);
		free(f->temp);
		f->temp = NULL;
	}
	while (set->n_made > 0) {
		/* fails if the folder contains a finished output */
		rmdir(set->made[--set->n_made]);
		free(set->made[set->n_made]);
	}
	outputs_unfinished = false;
}
