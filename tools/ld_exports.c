/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Keeps the runtime's names visible where a link would hide them.
 *
 * Shared libraries use the executable's runtime, so its names must be dynamic symbols. pcce.specs
 * exports them with --export-dynamic-symbol. Two options are stronger:
 *
 *   --version-script  Its "local:" makes a symbol local.  The linker gets a copy of the script that
 *                     names the runtime's names (encode/version_script.h).
 *   --exclude-libs    It hides what comes from archives.  The linker gets the object files that the
 *                     runtime's archives contain instead.
 *
 * mold always gets these object files. It would prefer libc.a's syscall() to a weak one in an
 * archive.
 *
 * The new files exist only in memory. The linker inherits their descriptors, and so nothing is left
 * behind. All their names are of the form /proc/self/fd/N. Only a map and a list of dependencies
 * contain them. In the list they are replaced, since make could not find them.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "encode/encode.h"
#include "encode/version_script.h"
#include "tools/ld_exports.h"

#define EXPORT "--export-dynamic-symbol="
#define AR_MAGIC "!<arch>\n"
#define AR_HEADER 60 /* bytes: a name of 16, ..., at 48 the size in 10 digits */
#define AR_SIZE 48

/* Makes a file of these bytes and returns its name, or NULL. It takes the place of the original. */
static char *add_linker_file(struct ld_exports *e, const char *original, const void *data,
			     size_t size)
{
	int fd;

	if (e->n_files == LD_EXPORTS_FILES)
		return NULL;
	fd = memfd_create("pcce-ld", 0);
	if (fd < 0)
		return NULL;
	for (size_t done = 0; done < size;) {
		ssize_t n = write(fd, (const char *)data + done, size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			close(fd);
			return NULL;
		}
		done += (size_t)n;
	}
	e->files[e->n_files] = fd;
	e->originals[e->n_files] = original;
	snprintf(e->names[e->n_files], sizeof(e->names[0]), "/proc/self/fd/%d", fd);
	return e->names[e->n_files++];
}

/* Finds the names that pcce.specs exports: arguments one after the other. Returns their number. */
static size_t find_exported(const struct ld_args *args, char **names)
{
	size_t n = 0, i = 0;

	while (i < args->n && strcmp(args->all[i], EXPORT "pcce_page") != 0)
		i++;
	for (; i < args->n && !strncmp(args->all[i], EXPORT, strlen(EXPORT)); i++)
		names[n++] = args->all[i] + strlen(EXPORT);
	return n;
}

/* Replaces the version script. True if it did. */
static bool replace_script(const struct ld_args *args, char *const *names, size_t n,
			   struct ld_exports *e)
{
	const char *argument = args->all[args->script];
	const char *equals = argument[0] == '-' ? strchr(argument, '=') : NULL;
	const char *script = equals ? equals + 1 : argument;
	struct error ignored;
	uint8_t *data;
	size_t size;
	char *changed = NULL, *name = NULL;

	if (encode_read_file(script, &data, &size, &ignored))
		return false;
	data[size] = 0; /* there is room */
	if (strlen((char *)data) == size &&
	    !version_script_export((char *)data, names, n, &changed))
		name = add_linker_file(e, script, changed, strlen(changed));
	free(changed);
	free(data);
	if (!name)
		return false;
	snprintf(e->option, sizeof(e->option), "%s%s", equals ? "--version-script=" : "", name);
	e->argv[1 + args->script] = e->option;
	return true;
}

/* Finds the only object file in an archive. */
static const uint8_t *find_member(const uint8_t *archive, size_t size, size_t *length)
{
	const uint8_t *found = NULL;
	size_t at = strlen(AR_MAGIC);

	if (size < at || memcmp(archive, AR_MAGIC, at) != 0)
		return NULL;
	while (at < size && size - at > AR_HEADER) {
		char digits[11] = "";
		size_t n;

		memcpy(digits, archive + at + AR_SIZE, 10);
		n = strtoul(digits, NULL, 10);
		if (n > size - at - AR_HEADER)
			return NULL;
		/* The names of tables begin with a slash. */
		if (archive[at] != '/') {
			if (found)
				return NULL;
			found = archive + at + AR_HEADER;
			*length = n;
		}
		at += AR_HEADER + n + (n & 1);
	}
	return found;
}

/* Returns the name of the object file that an archive contains, or NULL. */
static char *take_object(const char *archive, struct ld_exports *e)
{
	struct error ignored;
	const uint8_t *member;
	uint8_t *data;
	size_t size, length = 0;
	char *name = NULL;

	if (encode_read_file(archive, &data, &size, &ignored))
		return NULL;
	member = find_member(data, size, &length);
	if (member)
		name = add_linker_file(e, archive, member, length);
	free(data);
	return name;
}

static bool is_file_named(const char *argument, const char *name)
{
	const char *slash = argument[0] == '-' ? NULL : strrchr(argument, '/');

	return slash && !strcmp(slash + 1, name);
}

/* Replaces an archive by its object. An object that is named twice would be linked twice. True if
 * it did. */
static bool replace_archive(const struct ld_args *args, const char *archive, struct ld_exports *e)
{
	char *object = NULL;

	for (size_t i = 0; i < args->n; i++) {
		if (!is_file_named(args->all[i], archive))
			continue;
		if (object) {
			e->argv[1 + i] = NULL;
			continue;
		}
		object = take_object(args->all[i], e);
		if (!object)
			return false;
		e->argv[1 + i] = object;
	}
	return object;
}

static void close_gaps(size_t n, struct ld_exports *e)
{
	e->argc = 0;
	for (size_t i = 0; i < n; i++)
		if (e->argv[i])
			e->argv[e->argc++] = e->argv[i];
	e->argv[e->argc] = NULL;
}

int ld_exports_make(const struct ld_args *args, char *linker, bool objects, struct ld_exports *out)
{
	char **names = calloc(args->n + 1, sizeof(*names));
	bool changed = args->changed;
	size_t n;

	*out = (struct ld_exports){.argv = calloc(args->n + 2, sizeof(*out->argv))};
	if (!names || !out->argv) {
		free(names);
		ld_exports_free(out);
		return -ENOMEM;
	}
	n = find_exported(args, names);
	out->argv[0] = linker;
	memcpy(out->argv + 1, args->all, args->n * sizeof(*out->argv));
	if (n && args->has_script)
		changed |= replace_script(args, names, n, out);
	if (objects || (n && args->exclude_libs)) {
		changed |= replace_archive(args, "libpcce.a", out);
		changed |= replace_archive(args, "libpcce_before.a", out);
		changed |= replace_archive(args, "libpcce_jump.a", out);
	}
	if (changed)
		close_gaps(args->n + 1, out);
	else
		ld_exports_free(out);
	free(names);
	return 0;
}

/* Writes a name in the syntax of make. */
static void write_for_make(const char *name, FILE *f)
{
	for (; *name; name++) {
		if (*name == ' ' || *name == '#' || *name == '\\')
			fputc('\\', f);
		if (*name == '$')
			fputc('$', f);
		fputc(*name, f);
	}
}

/* Which of the new files is named at `at`? */
static int find_linker_file(const struct ld_exports *e, const char *at)
{
	for (int i = 0; i < e->n_files; i++) {
		size_t length = strlen(e->names[i]);

		if (!strncmp(at, e->names[i], length) && !(at[length] >= '0' && at[length] <= '9'))
			return i;
	}
	return -1;
}

void ld_exports_fix_list(const struct ld_exports *e, const char *path)
{
	struct error ignored;
	uint8_t *data;
	size_t size;
	FILE *f;

	if (encode_read_file(path, &data, &size, &ignored))
		return;
	data[size] = 0; /* there is room */
	f = strstr((char *)data, "/proc/self/fd/") ? fopen(path, "we") : NULL;
	for (const char *at = (char *)data; f && *at;) {
		int i = find_linker_file(e, at);

		if (i < 0) {
			fputc(*at++, f);
			continue;
		}
		write_for_make(e->originals[i], f);
		at += strlen(e->names[i]);
	}
	if (f)
		fclose(f);
	free(data);
}

void ld_exports_free(struct ld_exports *e)
{
	for (int i = 0; i < e->n_files; i++)
		close(e->files[i]);
	free(e->argv);
	*e = (struct ld_exports){};
}
