/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * See usdt.h. <sys/sdt.h> leaves a note for each place of a probe:
 *
 *	struct { u32 name_size, size, type; char owner[8] = "stapsdt"; }
 *	u64 address, base, semaphore;
 *	char provider[], name[], arguments[];
 *
 * The addresses are those before a prelinker moved the file. It moved the section .stapsdt.base as
 * well, whose former address is `base`.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/module.h"
#include "probe/usdt.h"

#define OWNER "stapsdt"
#define NOTE_TYPE 3
#define NOTES_MAX (16u << 20) /* bytes */

struct note_addresses {
	uint64_t address, base, semaphore;
};

static uint64_t padded(uint64_t size)
{
	return (size + 3) & ~(uint64_t)3;
}

static bool parse_note(const uint8_t *data, size_t size, uint64_t base, struct usdt_probe *p)
{
	struct note_addresses a;

	if (size < sizeof(a))
		return false;
	memcpy(&a, data, sizeof(a));
	p->provider = elf_string(data, size, sizeof(a));
	p->name = p->provider ? elf_string(data, size, sizeof(a) + strlen(p->provider) + 1) : NULL;
	if (!p->name)
		return false;
	p->address = a.address + (base ? base - a.base : 0);
	p->semaphore = a.semaphore ? a.semaphore + (base ? base - a.base : 0) : 0;
	return true;
}

size_t usdt_parse(const void *notes, size_t size, uint64_t base, usdt_found *found, void *ctx)
{
	const uint8_t *data = notes;
	size_t n = 0, at = 0;
	Elf64_Nhdr head;

	while (size - at >= sizeof(head)) {
		uint64_t body, end;
		struct usdt_probe p;

		memcpy(&head, data + at, sizeof(head));
		body = at + sizeof(head) + padded(head.n_namesz);
		end = body + padded(head.n_descsz);
		if (body > size || head.n_descsz > size - body)
			break;
		if (head.n_type == NOTE_TYPE && head.n_namesz == sizeof(OWNER) &&
		    !memcmp(data + at + sizeof(head), OWNER, sizeof(OWNER)) &&
		    parse_note(data + body, head.n_descsz, base, &p)) {
			found(ctx, &p);
			n++;
		}
		at = end < size ? (size_t)end : size;
	}
	return n;
}

static int read_probe_notes(int fd, const struct elf_module *m, usdt_found *found, void *ctx,
			    struct error *why)
{
	const struct elf_section *s = elf_module_section(m, ".note.stapsdt", NULL),
				 *base = elf_module_section(m, ".stapsdt.base", NULL);
	size_t n;
	void *notes;

	if (!s || s->type == SHT_NOBITS || s->size > NOTES_MAX)
		return 0;
	notes = elf_section_read(fd, s, why);
	if (!notes)
		return error_set(why, -EINVAL, "has USDT probes that cannot be read");
	n = usdt_parse(notes, s->size, base ? base->addr : 0, found, ctx);
	free(notes);
	return n < INT_MAX ? (int)n : INT_MAX;
}

int usdt_read(const char *path, usdt_found *found, void *ctx, struct error *why)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), r;
	struct elf_module m;

	if (fd < 0)
		return error_set(why, -errno, "cannot be opened: %s", strerror(errno));
	r = elf_module_open_fd(fd, &m, why);
	if (!r) {
		r = read_probe_notes(fd, &m, found, ctx, why);
		elf_module_close(&m);
	}
	close(fd);
	return r;
}
