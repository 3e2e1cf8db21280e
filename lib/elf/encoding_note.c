/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Finds the note by its section, and checks that it is what the runtime has. */
#include <elf.h>
#include <string.h>
#include <unistd.h>
#include <pcce/dictionary.h>
#include "elf/encoding_note.h"
#define XXH_INLINE_ALL
#include <xxhash.h>

void encoding_note_hash(const void *table, size_t size, uint8_t hash[16])
{
	XXH128_hash_t h = XXH3_128bits(table, size);

	for (int i = 0; i < 8; i++) {
		hash[i] = (uint8_t)(h.low64 >> (8 * i));
		hash[i + 8] = (uint8_t)(h.high64 >> (8 * i));
	}
}

static bool is_encoding_note(const struct pcce_note *note)
{
	return note->name_size == sizeof(PCCE_NOTE_NAME) && note->type == PCCE_NOTE_TYPE &&
	       note->desc_size == sizeof(*note) - offsetof(struct pcce_note, encoding) &&
	       !memcmp(note->name, PCCE_NOTE_NAME, sizeof(PCCE_NOTE_NAME));
}

bool encoding_note_read(int fd, const struct elf_module *m, uint8_t hash[16])
{
	static const uint8_t none[16];
	const struct elf_section *s = elf_module_section(m, PCCE_NOTE_SECTION, NULL);
	struct pcce_note note;

	if (!s || s->type == SHT_NOBITS || s->size < sizeof(note) ||
	    pread(fd, &note, sizeof(note), (off_t)s->offset) != sizeof(note) ||
	    !is_encoding_note(&note))
		return false;
	memcpy(hash, note.encoding, sizeof(note.encoding));
	return memcmp(hash, none, sizeof(none)) != 0;
}

void encoding_note_write(const struct elf_module *m, const void *table, size_t size, uint8_t *image)
{
	const struct elf_section *s = elf_module_section(m, PCCE_NOTE_SECTION, NULL);
	const uint8_t *data = s ? elf_module_contents(m, s) : NULL;
	struct pcce_note note;

	if (!data || s->size < sizeof(note))
		return;
	memcpy(&note, data, sizeof(note));
	if (!is_encoding_note(&note))
		return;
	encoding_note_hash(table, size,
			   image + (data - m->image) + offsetof(struct pcce_note, encoding));
}
