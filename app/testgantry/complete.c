/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Finds the candidates that complete the last word of a line.
 */
#include "complete.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "options.h"

#define BLANKS " \t"

/*
 * Adds the text to the list if it begins with the typed characters and is not in the list yet.
 * Otherwise frees the text. NULL is ignored.
 */
static void
add(struct candidates *found, const char *typed, char *text)
{
	bool fits =
		text != NULL && found->n < COMPLETE_MAX && strncmp(text, typed, strlen(typed)) == 0;

	for (size_t i = 0; fits && i < found->n; i++)
		fits = strcmp(found->text[i], text) != 0;
	if (fits)
		found->text[found->n++] = text;
	else
		free(text);
}

/* Adds files and folders whose paths begin with the typed characters. */
static void
add_paths(struct candidates *found, const char *typed)
{
	const char *slash = strrchr(typed, '/');
	const int folder_len = slash != NULL ? (int)(slash - typed + 1) : 0;
	const struct dirent *e;
	struct stat st;
	char *folder = NULL, *path;
	DIR *dir;

	if (asprintf(&folder, "%.*s", folder_len, typed) < 0)
		return;
	dir = opendir(folder_len > 0 ? folder : ".");
	free(folder);
	while (dir != NULL && (e = readdir(dir)) != NULL) {
		/* Names that begin with a dot are shown only if a dot is typed. */
		if (e->d_name[0] == '.' &&
			(typed[folder_len] != '.' || strcmp(e->d_name, ".") == 0 ||
				strcmp(e->d_name, "..") == 0))
			continue;
		if (asprintf(&path, "%.*s%s/", folder_len, typed, e->d_name) < 0)
			continue;
		/* not a folder: opening the path with a slash at its end fails */
		if (stat(path, &st) != 0)
			path[strlen(path) - 1] = '\0';
		add(found, typed, path);
	}
	if (dir != NULL)
		closedir(dir);
}

/* Adds the words that may follow "set". */
static void
add_settings(struct candidates *found, const char *typed)
{
	size_t name_len = strcspn(typed, BLANKS);
	const char *value = typed + name_len + strspn(typed + name_len, BLANKS);
	const char *const *choices;
	const char *name;
	char text[64];

	found->typed = strlen(value == typed + name_len ? typed : value);
	if (value == typed + name_len) {
		found->blank = true;
		for (size_t i = 0; (name = options_setting(i)) != NULL; i++)
			add(found, typed, strdup(name));
		return;
	}
	snprintf(text, sizeof(text), "%.*s", (int)name_len, typed);
	choices = options_choices(text);
	for (; choices != NULL && *choices != NULL; choices++)
		add(found, value, strdup(*choices));
	if (options_is_path(text))
		add_paths(found, value);
}

/* Adds the words that may follow all words of a command. */
static void
add_argument(struct candidates *found, const struct complete_command *c, const char *typed)
{
	found->typed = strlen(typed);
	if (c->takes == NULL)
		return;
	if (strcmp(c->words, "set") == 0)
		add_settings(found, typed);
	else
		add_paths(found, typed);
}

/*
 * If the line has all words of the command, adds candidates for the command's argument. Otherwise
 * adds the next word of the command.
 */
static void
add_command(struct candidates *found, const struct complete_command *c, const char *line)
{
	const char *word = c->words;
	size_t len, typed;

	for (; *word != '\0'; word += len + (word[len] == ' ')) {
		len = strcspn(word, " ");
		typed = strcspn(line, BLANKS);
		if (line[typed] == '\0') { /* the line ends within this word */
			found->typed = typed;
			found->blank = true;
			add(found, line, strndup(word, len));
			return;
		}
		if (typed != len || memcmp(line, word, len) != 0)
			return;
		line += typed + strspn(line + typed, BLANKS);
	}
	add_argument(found, c, line);
}

void
complete_find(const char *line, const struct complete_command *commands, size_t n,
	struct candidates *found)
{
	*found = (struct candidates){0};
	line += strspn(line, BLANKS);
	for (size_t i = 0; i < n; i++)
		add_command(found, &commands[i], line);
}

void
complete_free(struct candidates *found)
{
	for (size_t i = 0; i < found->n; i++)
		free(found->text[i]);
	*found = (struct candidates){0};
}

size_t
complete_common(const struct candidates *found)
{
	size_t len = found->n > 0 ? strlen(found->text[0]) : 0;

	for (size_t i = 1; i < found->n; i++)
		while (strncmp(found->text[0], found->text[i], len) != 0)
			len--;
	return len;
}
