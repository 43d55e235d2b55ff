/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Creates, writes, verifies and publishes the files of another process.
 */
#include "pair_sink.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "quote.h"

void
sink_init(struct sink *s, struct file_set *set, struct talk *t)
{
	*s = (struct sink){.set = set, .talk = t};
	pthread_mutex_init(&s->lock, NULL);
}

/* Adds the file of a TALK_FILE. */
static int
hear_name(struct sink *s, const char *out, const struct talk_frame *f)
{
	struct pair_file file;
	char name[PATH_MAX];
	size_t len = f->len - sizeof(file);

	if (f->len <= sizeof(file) || len >= sizeof(name) ||
		memchr(f->data + sizeof(file), '\0', len) != NULL) {
		error_print("the other process has sent a name of %u bytes, which is refused",
			f->len);
		return -1;
	}
	memcpy(&file, f->data, sizeof(file));
	memcpy(name, f->data + sizeof(file), len);
	name[len] = '\0';
	return files_add(s->set, out, name, file.size, file.permissions);
}

int
sink_hear_names(struct sink *s, const char *out)
{
	struct talk_frame f;

	do {
		if (talk_wait_any(s->talk, &f) != 0)
			return -1;
		if (f.type == TALK_FILE && hear_name(s, out, &f) != 0)
			return -1;
	} while (f.type == TALK_FILE);
	if (talk_check(&f, TALK_READY, 0) != 0 || files_check(s->set) != 0)
		return -1;
	s->heard = calloc(s->set->n + 1, sizeof(*s->heard));
	if (s->heard != NULL)
		return 0;
	error_print("out of memory for %zu files", s->set->n);
	return -1;
}

/* ------------------------------------------------------------------ chunks */

/*
 * Creates the output, if it does not exist yet. A file that has its final name gets no more bytes.
 * The caller has locked the sink.
 */
static int
create(struct sink *s, struct file *f)
{
	if (f->temp != NULL)
		return 0;
	if (f < s->set->file + s->n_verified) {
		error_print("the other process has sent bytes of %s after its digest",
			quote_name(f->output));
		return -1;
	}
	return output_create(s->set, f);
}

int
sink_write(struct sink *s, const struct pair_chunk *c, const void *bytes)
{
	struct file *f = c->file < s->set->n ? &s->set->file[c->file] : NULL;
	int rc;

	if (f == NULL || c->offset > f->size || c->len > f->size - c->offset) {
		error_print("the other process has sent %u bytes for offset %" PRIu64
			    " of file number %u, which has no such bytes",
			c->len, c->offset, c->file);
		return -1;
	}
	pthread_mutex_lock(&s->lock);
	rc = create(s, f);
	pthread_mutex_unlock(&s->lock);
	if (rc != 0 || output_write(f, bytes, c->len, c->offset) != 0)
		return -1;
	pthread_mutex_lock(&s->lock);
	f->written += c->len;
	s->bytes_moved += c->len;
	pthread_mutex_unlock(&s->lock);
	return 0;
}

/* ------------------------------------------------------------------ digests */

int
sink_digest(struct sink *s, const struct talk_frame *f)
{
	struct pair_digest d;

	if (talk_check(f, TALK_DIGEST, sizeof(d)) != 0)
		return -1;
	memcpy(&d, f->data, sizeof(d));
	if (d.file != s->n_heard || d.file >= s->set->n) {
		error_print("the other process has sent the digest of file number %u, which was "
			    "not due",
			d.file);
		return -1;
	}
	s->heard[s->n_heard++] = d;
	return 0;
}

/* Returns true if all chunks of the next file are written. Creates a file that has no chunk. */
static int
is_written(struct sink *s, struct file *f, bool *written)
{
	int rc = 0;

	pthread_mutex_lock(&s->lock);
	*written = f->written == s->heard[s->n_verified].data_len;
	if (*written)
		rc = create(s, f);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

static int
publish(struct sink *s, struct file *f, const uint8_t *digest)
{
	struct pair_digest verified = s->heard[s->n_verified];
	int rc;

	if (memcmp(digest, verified.digest, DIGEST_LEN) != 0) {
		error_print("%s differs from the file in the other process: its SHA-256 is another "
			    "one; if a program writes that file, run again when no program does",
			quote_name(f->output));
		return -1;
	}
	memcpy(verified.digest, digest, DIGEST_LEN);
	pthread_mutex_lock(&s->lock);
	rc = output_publish(f);
	s->n_verified += rc == 0;
	pthread_mutex_unlock(&s->lock);
	if (rc != 0)
		return -1;
	return talk_say(s->talk, TALK_VERIFIED, &verified, sizeof(verified));
}

int
sink_step(struct sink *s)
{
	struct file *f = &s->set->file[s->n_verified];
	uint8_t digest[DIGEST_LEN];
	bool written;
	int rc;

	if (s->n_verified == s->n_heard)
		return 0;
	if (is_written(s, f, &written) != 0)
		return -1;
	if (!written)
		return 0;
	rc = digest_piece(&s->digest, f->out_fd, f->size, f->output, digest);
	if (rc != 1)
		return rc == 0 ? 1 : -1;
	return publish(s, f, digest) == 0 ? 1 : -1;
}

bool
sink_is_done(const struct sink *s)
{
	return s->n_verified == s->set->n;
}

void
sink_progress(struct sink *s, struct progress *p)
{
	pthread_mutex_lock(&s->lock);
	*p = (struct progress){
		.verb = "received",
		.bytes_moved = s->bytes_moved,
		.bytes_total = s->set->bytes,
		.files_verified = s->n_verified,
		.files_total = s->set->n,
	};
	pthread_mutex_unlock(&s->lock);
}

void
sink_fini(struct sink *s)
{
	digest_drop(&s->digest);
	free(s->heard);
	pthread_mutex_destroy(&s->lock);
}
