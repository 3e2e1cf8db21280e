/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Decides whether a file is instrumented and encoded: the only place that does, for all commands.
 *
 * A table is not allocated, and neither are site records.  strip of binutils keeps both, eu-strip
 * and llvm-strip remove them.  The note of an encoded file is allocated, and has the hash of the
 * table.  So it tells that there was a table, and which one in a debug file is it.  A file that was
 * stripped before it was encoded does not differ from one that is not instrumented.
 */
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <pcce/sites.h>

#include "elf/encoding_note.h"
#include "symbols/debuginfo.h"
#include "symbols/table_file.h"

static bool is_table_of_note(int fd, const struct elf_section *s, const uint8_t wanted[16])
{
	uint8_t hash[16];
	void *table = elf_section_read(fd, s, NULL);

	if (table)
		encoding_note_hash(table, s->size, hash);
	free(table);
	return table && !memcmp(hash, wanted, sizeof(hash));
}

/* Takes the table from a debug file, which it closes if it has no such table. */
static bool take_debug_file(int fd, const uint8_t hash[16], struct table_file *out)
{
	const struct elf_section *s = NULL;
	struct elf_module m;

	if (fd < 0)
		return false;
	if (!elf_module_open_fd(fd, &m, NULL)) {
		s = elf_module_table(&m);
		if (s && is_table_of_note(fd, s, hash))
			*out = (struct table_file){TABLE_FOUND, *s, fd, true};
		out->section.name = PCCE_TABLE_SECTION;
		elf_module_close(&m);
	}
	if (out->state != TABLE_FOUND)
		close(fd);
	return out->state == TABLE_FOUND;
}

static void search_debug_files(int fd, const struct elf_module *m, const uint8_t hash[16],
			       struct table_file *out)
{
	Elf *elf, *debug;
	int found = debuginfo_open(m->build_id, m->build_id_size, &debug);

	if (found >= 0)
		elf_end(debug);
	if (take_debug_file(found, hash, out))
		return;
	elf = elf_begin(fd, ELF_C_READ, NULL);
	found = elf ? debuginfo_open_link(fd, elf, &debug) : -1;
	if (found >= 0)
		elf_end(debug);
	elf_end(elf);
	take_debug_file(found, hash, out);
}

void table_file_find(int fd, const struct elf_module *m, struct table_file *out)
{
	const struct elf_section *s = elf_module_table(m);
	uint8_t hash[16];

	*out = (struct table_file){.fd = fd};
	if (s) {
		out->state = TABLE_FOUND;
		out->section = *s;
	} else if (encoding_note_read(fd, m, hash)) {
		out->state = TABLE_STRIPPED;
		search_debug_files(fd, m, hash, out);
	} else if (elf_module_section(m, PCCE_SITES_SECTION, NULL)) {
		out->state = TABLE_NOT_ENCODED;
	}
}

void table_file_close(struct table_file *f)
{
	if (f->separate)
		close(f->fd);
	f->separate = false;
}

const char *table_state_text(enum table_state state)
{
	static const char *const texts[] = {
		[TABLE_NONE] = "was not built with pcce",
		[TABLE_NOT_ENCODED] = "is instrumented, but not encoded",
		[TABLE_STRIPPED] = "is encoded, but its encoding table was stripped",
		[TABLE_FOUND] = "has an encoding table that cannot be used",
	};

	return texts[state];
}

const char *table_state_remedy(enum table_state state)
{
	static const char *const remedies[] = {
		[TABLE_NONE] = "",
		[TABLE_NOT_ENCODED] =
			"; link it with pcce-gcc or pcce-g++, or with the flags of pcce-config",
		[TABLE_STRIPPED] = "; strip it with --keep-section=.pcce, or keep its debug file "
				   "beside it",
		[TABLE_FOUND] = "",
	};

	return remedies[state];
}
