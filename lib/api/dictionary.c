/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Decodes contexts that programs have named.
 *
 * The elements of a context say where code is in its module, and nothing of run-time addresses. So
 * each module gets a range of addresses of its own here, and the decoder works as for a captured
 * context of a process that has its modules there.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <pcce/abi.h>
#include <pcce/sites.h>
#include "api/dictionary.h"
#include "api/process.h"
#include "base/array.h"
#include "base/text.h"
#include "elf/encoding_note.h"
#include "elf/encoding_table.h"
#include "elf/module.h"

#define MODULES_MAX 2047
#define NOWHERE 2 /* an address in no module */

/* A file that was read, up to its last complete line. */
struct read_file {
	char *path;
	uint64_t done;
};

struct found_module {
	char *file; /* NULL: not found */
	bool tried;
	struct error why;
};

struct pcce_decode_dictionary {
	struct dictionary_lines lines;
	struct pcce_decode_process *process;
	struct read_file *files;
	size_t n_files;
	char **folders;
	size_t n_folders;
	struct found_module *found; /* of each module; n_found of them */
	size_t n_found;
	struct pcce_entry *entries;
	size_t n_entries, entries_capacity;
};

int pcce_decode_dictionary_new(uint64_t flags, struct pcce_decode_dictionary **dictionary,
			       struct pcce_decode_error *why)
{
	struct pcce_decode_dictionary *d = calloc(1, sizeof(*d));
	struct error reason = {0};
	int r = d ? pcce_decode_process_new(flags, &d->process, why)
		  : api_error(why, &reason, error_memory(&reason));

	if (r) {
		free(d);
		d = NULL;
	}
	*dictionary = d;
	return r;
}

void pcce_decode_dictionary_free(struct pcce_decode_dictionary *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->n_files; i++)
		free(d->files[i].path);
	for (size_t i = 0; i < d->n_folders; i++)
		free(d->folders[i]);
	for (size_t i = 0; i < d->n_found; i++)
		free(d->found[i].file);
	free(d->files);
	free(d->folders);
	free(d->found);
	free(d->entries);
	dictionary_lines_free(&d->lines);
	pcce_decode_process_free(d->process);
	free(d);
}

/* ---- reading --------------------------------------------------------------------- */

static struct read_file *file_of_path(struct pcce_decode_dictionary *d, const char *path)
{
	for (size_t i = 0; i < d->n_files; i++)
		if (!strcmp(d->files[i].path, path))
			return &d->files[i];
	if (array_grow(&d->files, d->n_files, sizeof(*d->files)))
		return NULL;
	d->files[d->n_files] = (struct read_file){.path = strdup(path)};
	return d->files[d->n_files].path ? &d->files[d->n_files++] : NULL;
}

static int read_dictionary_lines(struct pcce_decode_dictionary *d, FILE *stream,
				 struct read_file *file)
{
	char *line = NULL;
	size_t size = 0;
	ssize_t n;
	int r = 0;

	while (!r && (n = getline(&line, &size, stream)) > 0 && line[n - 1] == '\n') {
		file->done += (uint64_t)n;
		r = dictionary_lines_add(&d->lines, line, (size_t)n - 1);
	}
	free(line);
	return r;
}

static int read_dictionary(struct pcce_decode_dictionary *d, const char *path, struct error *why)
{
	struct read_file *file = file_of_path(d, path);
	uint64_t damaged = d->lines.damaged;
	FILE *stream;
	int r = 0;

	if (!file)
		return error_memory(why);
	stream = fopen(path, "re");
	if (!stream)
		return error_set(why, -errno, "cannot open the dictionary %s: %s", path,
				 strerror(errno));
	/* A pipe is read once. */
	if (file->done && fseeko(stream, (off_t)file->done, SEEK_SET))
		r = error_set(why, -errno, "cannot read the dictionary %s again: %s", path,
			      strerror(errno));
	if (!r && read_dictionary_lines(d, stream, file))
		r = error_memory(why);
	if (!r && ferror(stream))
		r = error_set(why, -EIO, "cannot read the dictionary %s", path);
	fclose(stream);
	damaged = d->lines.damaged - damaged;
	return r ? r : damaged < INT32_MAX ? (int)damaged : INT32_MAX;
}

int pcce_decode_dictionary_read(struct pcce_decode_dictionary *d, const char *path,
				struct pcce_decode_error *why)
{
	struct error reason = {0};
	int r = read_dictionary(d, path, &reason);

	return r < 0 ? api_error(why, &reason, r) : r;
}

/* ---- modules --------------------------------------------------------------------- */

int pcce_decode_dictionary_search(struct pcce_decode_dictionary *d, const char *folder,
				  struct pcce_decode_error *why)
{
	struct error reason = {0};
	char *copy = strdup(folder);

	if (!copy || array_grow(&d->folders, d->n_folders, sizeof(*d->folders))) {
		free(copy);
		return api_error(why, &reason, error_memory(&reason));
	}
	d->folders[d->n_folders++] = copy;
	/* What was not found may be there. */
	for (size_t i = 0; i < d->n_found; i++)
		d->found[i].tried = d->found[i].file != NULL;
	return 0;
}

static uint64_t base_of(size_t module)
{
	return (uint64_t)(module + 1) << DICTIONARY_RANGE_BITS;
}

static bool has_encoding(const struct dictionary_module *m)
{
	static const uint8_t none[sizeof(m->encoding)];

	return memcmp(m->encoding, none, sizeof(none)) != 0;
}

/* The table of an open file, if it is the module's; NULL: it has another one. */
static void *read_table_of(int fd, const struct elf_module *file, const struct dictionary_module *m,
			   size_t *size)
{
	const struct elf_section *s = elf_module_table(file);
	struct error why;
	uint8_t hash[sizeof(m->encoding)];
	void *table = s ? elf_section_read(fd, s, &why) : NULL;

	if (!table)
		return NULL;
	*size = s->size;
	encoding_note_hash(table, s->size, hash);
	if (memcmp(hash, m->encoding, sizeof(hash)) == 0)
		return table;
	free(table);
	return NULL;
}

/* Adds the executable segments to the process. */
static int add_segments(struct pcce_decode_dictionary *d, size_t module, const char *path,
			const struct elf_module *file, const void *table, size_t table_size)
{
	int r = 0;

	for (size_t i = 0; i < file->n_segments && r >= 0; i++) {
		const struct elf_segment *s = &file->segments[i];
		struct pcce_decode_module m = {
			.path = path,
			.start = base_of(module) + s->vaddr,
			.end = base_of(module) + s->vaddr + s->memory_size,
			.offset = s->offset,
			.vaddr = s->vaddr,
			.table = table,
			.table_size = table_size,
		};

		if (s->executable && s->memory_size &&
		    s->vaddr + s->memory_size < 1ULL << DICTIONARY_RANGE_BITS)
			r = pcce_decode_process_add(d->process, &m, sizeof(m), NULL);
	}
	return r < 0 ? r : 0;
}

/* The table of the module; NULL: the file has another one, or none. A module that is not encoded
 * has none, or if its code is instrumented, one that says so. */
static void *make_table_of(int fd, const struct elf_module *file, const struct dictionary_module *m,
			   size_t *size)
{
	if (has_encoding(m))
		return read_table_of(fd, file, m, size);
	return elf_module_section(file, PCCE_SITES_SECTION, NULL) ? encoding_table_missing(size)
								  : NULL;
}

/* 0 if the file is the module. *stale: it is another build, or another encoding. */
static int try_file(struct pcce_decode_dictionary *d, size_t module, const char *path, bool *stale)
{
	const struct dictionary_module *m = &d->lines.modules[module];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), r;
	struct elf_module file;
	struct error why;
	size_t size = 0;
	void *table = NULL;

	if (fd < 0)
		return -errno;
	r = elf_module_open_fd(fd, &file, &why);
	if (!r) {
		if (m->build_id_size && (m->build_id_size != file.build_id_size ||
					 memcmp(m->build_id, file.build_id, m->build_id_size)))
			r = -ESTALE;
		if (!r) {
			table = make_table_of(fd, &file, m, &size);
			r = table || !has_encoding(m) ? 0 : -ESTALE;
		}
		if (!r)
			r = add_segments(d, module, path, &file, table, size);
		free(table);
		elf_module_close(&file);
	}
	close(fd);
	*stale |= r == -ESTALE;
	return r;
}

/* Reads the name of the debug file that a file has (.gnu_debuglink). */
static bool read_debug_link(const char *path, char *name, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	const struct elf_section *s;
	struct elf_module file;
	char *link = NULL;
	bool found = false;

	if (fd < 0)
		return false;
	if (!elf_module_open_fd(fd, &file, NULL)) {
		s = elf_module_section(&file, ".gnu_debuglink", NULL);
		link = s ? elf_section_read(fd, s, NULL) : NULL;
		found = link && memchr(link, 0, s->size) && *link && !strchr(link, '/') &&
			snprintf(name, size, "%s", link) < (int)size;
		free(link);
		elf_module_close(&file);
	}
	close(fd);
	return found;
}

/* The file, or the debug file that it names: beside it, in .debug beside it, or in the same folder
 * below /usr/lib/debug. path: the one that is the module. */
static int try_linked(struct pcce_decode_dictionary *d, size_t module, char *path, size_t size,
		      bool *stale)
{
	static const char *const places[][2] = {{"", ""}, {"", ".debug/"}, {"/usr/lib/debug", ""}};
	char name[256], folder[4096];
	int r = try_file(d, module, path, stale);

	if (r != -ESTALE || !read_debug_link(path, name, sizeof(name)))
		return r;
	snprintf(folder, sizeof(folder), "%.*s", (int)(text_base(path) - path), path);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places) && r; i++)
		if (snprintf(path, size, "%s%s%s%s", places[i][0], folder, places[i][1], name) <
		    (int)size)
			r = try_file(d, module, path, stale);
	return r;
}

static int try_folder(struct pcce_decode_dictionary *d, size_t module, const char *folder,
		      char *path, size_t size, bool *stale)
{
	static const char *const forms[] = {"%s/.build-id/%.2s/%s", "%s/.build-id/%.2s/%s.debug",
					    "%s/%.2s%s/executable", "%s/%.2s%s/debuginfo"};
	const struct dictionary_module *m = &d->lines.modules[module];
	char hex[2 * PCCE_BUILD_ID_MAX + 1] = "";
	int r = -ENOENT;

	for (uint32_t i = 0; i < m->build_id_size; i++)
		snprintf(hex + 2 * i, 3, "%02x", m->build_id[i]);
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms) && *hex && r; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		if (snprintf(path, size, forms[i], folder, hex, hex + 2) < (int)size)
			r = try_file(d, module, path, stale);
#pragma GCC diagnostic pop
	}
	if (r && snprintf(path, size, "%s/%s", folder, text_base(m->path)) < (int)size)
		r = try_linked(d, module, path, size, stale);
	return r;
}

static int locate_module(struct pcce_decode_dictionary *d, size_t module)
{
	const struct dictionary_module *m = &d->lines.modules[module];
	struct found_module *f = &d->found[module];
	bool stale = false;
	char path[4096];
	int r = -ENOENT;

	if (!m->path) { /* its line may follow */
		error_set(&f->why, -ENXIO,
			  "cannot decode a context: the dictionary does not say "
			  "which file it is in");
		return 0;
	}
	f->tried = true;
	for (size_t i = d->n_folders; i && r; i--)
		r = try_folder(d, module, d->folders[i - 1], path, sizeof(path), &stale);
	if (r && snprintf(path, sizeof(path), "%s", m->path) < (int)sizeof(path))
		r = try_linked(d, module, path, sizeof(path), &stale);
	if (r)
		r = try_folder(d, module, "/usr/lib/debug", path, sizeof(path), &stale);
	if (!r) {
		f->file = strdup(path);
		return f->file ? 0 : -ENOMEM;
	}
	if (r == -ENOMEM)
		return r;
	if (stale)
		error_set(&f->why, -ENXIO,
			  "cannot decode contexts in %s: the file has been built or encoded again, "
			  "or its table was stripped; name a folder with the file that ran, or its "
			  "debug file",
			  m->path);
	else
		error_set(&f->why, -ENXIO,
			  "cannot decode contexts in %s: the file is not there; name a folder that "
			  "has it",
			  m->path);
	return 0;
}

static int locate_modules(struct pcce_decode_dictionary *d)
{
	struct found_module *more;
	int r = 0;

	if (d->n_found < d->lines.n_modules) {
		more = reallocarray(d->found, d->lines.n_modules, sizeof(*more));
		if (!more)
			return -ENOMEM;
		memset(more + d->n_found, 0, (d->lines.n_modules - d->n_found) * sizeof(*more));
		d->found = more;
		d->n_found = d->lines.n_modules;
	}
	for (size_t i = 0; i < d->n_found && i < MODULES_MAX && !r; i++)
		if (!d->found[i].tried)
			r = locate_module(d, i);
	return r;
}

/* ---- decoding -------------------------------------------------------------------- */

/* The address of a word here. The bits above an address stay. */
static uint64_t place_word(uint64_t value, uint32_t module)
{
	if (module == DICTIONARY_NUMBER)
		return value;
	if (module == DICTIONARY_UNKNOWN || module > MODULES_MAX)
		return NOWHERE;
	return (value & ~PCCE_SITE_MASK) |
	       (((value & PCCE_SITE_MASK) + base_of(module - 1)) & PCCE_SITE_MASK);
}

static int add_dictionary_entry(struct pcce_decode_dictionary *d,
				const struct dictionary_element *e)
{
	if (array_grow_from(&d->entries, d->n_entries, &d->entries_capacity, 256,
			    sizeof(*d->entries)))
		return -ENOMEM;
	d->entries[d->n_entries++] = (struct pcce_entry){
		.id = place_word(e->first, e->first_module),
		.site = (place_word(e->second, e->second_module) & PCCE_SITE_MASK) |
			(uint64_t)e->kind << PCCE_SITE_BITS,
	};
	return 0;
}

/* The elements of one list. */
static int take_elements(struct pcce_decode_dictionary *d, const struct dictionary_list *l,
			 struct pcce_decode_state *s)
{
	int r = 0;

	for (size_t i = 0; i < l->n && !r; i++) {
		const struct dictionary_element *e = &d->lines.elements[l->first + i];

		switch (e->kind) {
		case PCCE_ELEMENT_GAP:
			s->missing = PCCE_SEGMENT_ENTRIES;
			break;
		case PCCE_ELEMENT_CALL:
			s->id = e->first;
			s->ext = place_word(e->second, e->second_module);
			break;
		case PCCE_ELEMENT_CODE:
			s->ip = place_word(e->second, e->second_module);
			break;
		default:
			r = add_dictionary_entry(d, e);
			break;
		}
	}
	return r;
}

/* All lists from the outermost to this one. A list that is missing is a gap. */
static int take_lists(struct pcce_decode_dictionary *d, const struct dictionary_list *context,
		      struct pcce_decode_state *s)
{
	const struct dictionary_list **chain = NULL, *l = context;
	size_t n = 0, capacity = 0;
	int r = 0;

	d->n_entries = 0;
	while (l && !r) {
		r = array_grow_from(&chain, n, &capacity, 16, sizeof(*chain));
		if (r)
			break;
		chain[n++] = l;
		if (!l->has_parent)
			break;
		l = n > d->lines.n_lists ? NULL
					 : dictionary_lines_find(&d->lines, false, l->parent);
		if (!l)
			s->missing = PCCE_SEGMENT_ENTRIES;
	}
	while (n && !r)
		r = take_elements(d, chain[--n], s);
	free(chain);
	s->entries = d->entries;
	s->n_entries = d->n_entries;
	return r;
}

/* Modules that are encoded are needed. Of others only names are missing then. */
static const struct error *missing_module(const struct pcce_decode_dictionary *d,
					  const struct dictionary_list *context)
{
	for (const struct dictionary_list *l = context; l;
	     l = l->has_parent ? dictionary_lines_find((struct dictionary_lines *)&d->lines, false,
						       l->parent)
			       : NULL)
		for (size_t i = 0; i < 2 * l->n; i++) {
			const struct dictionary_element *e = &d->lines.elements[l->first + i / 2];
			uint32_t module = i % 2 ? e->second_module : e->first_module;

			if (module != DICTIONARY_NUMBER && module <= d->n_found &&
			    !d->found[module - 1].file &&
			    (!d->lines.modules[module - 1].path ||
			     has_encoding(&d->lines.modules[module - 1])))
				return &d->found[module - 1].why;
		}
	return NULL;
}

static void drop_innermost(struct pcce_decode_context *c)
{
	memmove(c->frames, c->frames + 1, --c->n * sizeof(*c->frames));
}

/* The function in pcce.h that was inlined where the program asked. */
static bool is_asking(const struct pcce_decode_frame *f)
{
	return f->inlined && !strcmp(f->function, "pcce_context_id");
}

/* Says of each frame where it is in its module, and drops what asked for the context. */
static void finish_frames(struct pcce_decode_dictionary *d, struct pcce_decode_context *c,
			  bool call)
{
	if (call && c->n && c->frames[0].kind == PCCE_DECODE_CODE) {
		drop_innermost(c);
		if (c->decoded.depth)
			c->decoded.depth--;
		while (c->n && is_asking(&c->frames[0]))
			drop_innermost(c);
	}
	for (size_t i = 0; i < c->n; i++) {
		struct pcce_decode_frame *f = &c->frames[i];
		size_t module = (size_t)(f->address >> DICTIONARY_RANGE_BITS) - 1;

		if (f->address && module < d->lines.n_modules && d->lines.modules[module].path) {
			f->module = d->lines.modules[module].path;
			f->build_id = d->lines.modules[module].build_id;
			f->build_id_size = d->lines.modules[module].build_id_size;
		}
		f->address = 0;
	}
}

int pcce_decode_dictionary_context(struct pcce_decode_dictionary *d, const uint8_t id[16],
				   const struct pcce_decode_context **context,
				   struct pcce_decode_error *why)
{
	struct pcce_decode_state s = {.ip = NOWHERE};
	const struct dictionary_list *l;
	const struct error *missing;
	struct pcce_name name;
	struct error reason = {0};
	int r;

	*context = NULL;
	memcpy(&name, id, sizeof(name));
	l = dictionary_lines_find(&d->lines, true, name);
	if (!l)
		return api_error(why, &reason,
				 error_set(&reason, -ENOENT,
					   "cannot decode a context: the dictionary does not have "
					   "its name"));
	if (locate_modules(d) || take_lists(d, l, &s))
		return api_error(why, &reason, error_memory(&reason));
	missing = missing_module(d, l);
	if (missing)
		return api_error(why, missing, -ENXIO);
	r = pcce_decode_process_state(d->process, &s, sizeof(s), context, why);
	if (!r)
		finish_frames(d, process_context(d->process), s.ip == NOWHERE);
	return r;
}

/* ---- for the tools --------------------------------------------------------------- */

const struct dictionary_lines *dictionary_content(const struct pcce_decode_dictionary *d)
{
	return &d->lines;
}

size_t dictionary_module_of(const struct pcce_decode_dictionary *d, const struct decode_frame *f)
{
	size_t module = (size_t)(f->address >> DICTIONARY_RANGE_BITS) - 1;

	return f->address && module < d->n_found ? module : SIZE_MAX;
}

const char *dictionary_module_file(const struct pcce_decode_dictionary *d, size_t module)
{
	return module < d->n_found ? d->found[module].file : NULL;
}

struct symbol_table *dictionary_names(struct pcce_decode_dictionary *d)
{
	return process_context(d->process)->names;
}
