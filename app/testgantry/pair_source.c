/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Opens files, returns their chunks in order, and closes each file when the other process has
 * verified it.
 */
#include "pair_source.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>

#include "output.h"
#include "quote.h"

#define OPEN_MAX_FILES 64 /* most files that are open at once */

static_assert(sizeof(struct pair_file) == 16 && sizeof(struct pair_digest) == 48,
	"two processes agree on the bytes");

int
source_init(struct source *s, struct file_set *set, struct talk *t, uint64_t chunk_len)
{
	*s = (struct source){
		.set = set,
		.talk = t,
		.chunk_len = chunk_len,
		.sent = calloc(set->n, sizeof(*s->sent)),
	};
	pthread_mutex_init(&s->lock, NULL);
	if (s->sent != NULL)
		return 0;
	error_print("out of memory for %zu files", set->n);
	return -1;
}

int
source_say_names(struct source *s)
{
	struct {
		struct pair_file file;
		char name[PATH_MAX];
	} content;
	size_t len;

	for (size_t i = 0; i < s->set->n; i++) {
		const struct file *f = &s->set->file[i];

		content.file = (struct pair_file){f->size, f->permissions, 0};
		len = strlen(files_name(f));
		memcpy(content.name, files_name(f), len);
		if (talk_say(s->talk, TALK_FILE, &content, sizeof(content.file) + len) != 0)
			return -1;
	}
	return talk_say(s->talk, TALK_READY, NULL, 0);
}

/* ------------------------------------------------------------------ chunks */

static int
open_next(struct source *s, struct file **file)
{
	struct file *f = &s->set->file[s->n_opened++];
	uint64_t size = f->size;

	if (output_open_input(s->set, f) != 0)
		return -1;
	*file = f;
	if (f->size == size)
		return 0;
	error_print("%s had %" PRIu64 " bytes and has %" PRIu64
		    " now: run again when no program writes it",
		quote_name(f->input), size, f->size);
	return -1;
}

/*
 * Finds the file to read from. *file is NULL if all files are read, or if too many files are open.
 * Returns 0 or -1. The caller has locked the source.
 */
static int
file_to_read(struct source *s, struct file **file)
{
	struct file *last = s->n_opened > 0 ? &s->set->file[s->n_opened - 1] : NULL;

	while (last == NULL || last->read == last->size) {
		*file = NULL;
		if (s->n_opened == s->set->n || s->n_opened - s->n_verified == OPEN_MAX_FILES)
			return 0;
		if (open_next(s, &last) != 0)
			return -1;
		s->bytes_in_holes += output_pass_hole(last);
	}
	*file = last;
	return 0;
}

int
source_next(struct source *s, struct pair_chunk *c, const struct file **file)
{
	struct file *f;
	int rc;

	pthread_mutex_lock(&s->lock);
	rc = file_to_read(s, &f);
	if (rc == 0 && f != NULL) {
		c->file = f - s->set->file;
		c->offset = f->read;
		c->len = RTE_MIN(s->chunk_len, f->data_end - f->read);
		f->read += c->len;
		s->bytes_in_holes += output_pass_hole(f);
		*file = f;
		rc = 1;
	}
	pthread_mutex_unlock(&s->lock);
	return rc;
}

void
source_count(struct source *s, uint64_t len)
{
	pthread_mutex_lock(&s->lock);
	s->bytes_moved += len;
	pthread_mutex_unlock(&s->lock);
}

/* ------------------------------------------------------------------ digests */

/* Returns true if source_next() has returned all chunks of the file. */
static bool
is_read(struct source *s, const struct file *f)
{
	bool read;

	pthread_mutex_lock(&s->lock);
	read = f < &s->set->file[s->n_opened] && f->read == f->size;
	pthread_mutex_unlock(&s->lock);
	return read;
}

int
source_step(struct source *s)
{
	struct pair_digest *sent = &s->sent[s->n_digested];
	const struct file *f = &s->set->file[s->n_digested];
	int rc;

	if (s->n_digested == s->set->n || !is_read(s, f))
		return 0;
	rc = digest_piece(&s->digest, f->in_fd, f->size, f->input, sent->digest);
	if (rc != 1)
		return rc == 0 ? 1 : -1;
	if (lseek(f->in_fd, 0, SEEK_END) != (off_t)f->size) {
		error_print("%s became longer while it was read: run again when no program writes "
			    "it",
			quote_name(f->input));
		return -1;
	}
	sent->file = s->n_digested++;
	/* This process writes no output, so f->written counts only the bytes in holes. */
	sent->data_len = f->size - f->written;
	return talk_say(s->talk, TALK_DIGEST, sent, sizeof(*sent)) == 0 ? 1 : -1;
}

int
source_verified(struct source *s, const struct talk_frame *frame)
{
	struct pair_digest d;
	struct file *f;

	if (talk_check(frame, TALK_VERIFIED, sizeof(d)) != 0)
		return -1;
	memcpy(&d, frame->data, sizeof(d));
	if (d.file >= s->n_digested || d.file != s->n_verified) {
		error_print("the other process has verified the file number %u, which was not due",
			d.file);
		return -1;
	}
	f = &s->set->file[d.file];
	if (memcmp(d.digest, s->sent[d.file].digest, DIGEST_LEN) != 0) {
		error_print("%s has another SHA-256 in the other process", quote_name(f->input));
		return -1;
	}
	close(f->in_fd);
	f->in_fd = -1;
	pthread_mutex_lock(&s->lock);
	s->n_verified++;
	pthread_mutex_unlock(&s->lock);
	return 0;
}

bool
source_is_done(struct source *s)
{
	return s->n_verified == s->set->n;
}

void
source_progress(struct source *s, struct progress *p)
{
	uint64_t total;

	pthread_mutex_lock(&s->lock);
	total = s->set->bytes - s->bytes_in_holes;
	*p = (struct progress){
		.verb = "sent",
		/* The last answers may come after the other process has verified all files. */
		.bytes_moved = source_is_done(s) ? total : s->bytes_moved,
		.bytes_total = total,
		.bytes_in_holes = s->bytes_in_holes,
		.files_verified = s->n_verified,
		.files_total = s->set->n,
	};
	pthread_mutex_unlock(&s->lock);
}

void
source_fini(struct source *s)
{
	digest_drop(&s->digest);
	free(s->sent);
	pthread_mutex_destroy(&s->lock);
}
