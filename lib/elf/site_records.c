/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reads and checks the site records.
 *
 * A linker may keep the block of a function that it dropped (discarded groups). Such a block has
 * the address 0 and is skipped. A linker may fold identical functions. Then their blocks have one
 * start address, and the first block is kept if they agree.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "elf/site_records.h"

struct pcce_site_record site_records_site(const struct site_block *b, uint32_t i)
{
	struct pcce_site_record r;

	memcpy(&r, b->sites + (size_t)i * sizeof(r), sizeof(r));
	return r;
}

static int refuse_block(struct error *why, size_t at, const char *what)
{
	return error_set(
		why, -EINVAL,
		"has damaged site records: the block at offset %zu %s; build the file again", at,
		what);
}

static int check_block_sites(const struct site_block *b, size_t at, struct error *why)
{
	for (uint32_t i = 0; i < b->head.n_sites; i++) {
		struct pcce_site_record r = site_records_site(b, i);

		bool ordered =
			r.flags & PCCE_SITE_LANDING || (uint64_t)r.before + r.before_len <= r.after;

		if (!ordered || r.before > b->head.length ||
		    (uint64_t)r.after + r.after_len > b->head.length)
			return refuse_block(why, at, "has a site outside its function");
		if ((r.flags & (PCCE_SITE_RESTORE | PCCE_SITE_LANDING) &&
		     (r.before_len || r.after_len)) ||
		    (r.flags & PCCE_SITE_NORETURN && !(r.flags & PCCE_SITE_TAIL) && r.after_len))
			return refuse_block(why, at, "has a slot where there can be none");
	}
	return 0;
}

static int read_block(const struct elf_module *m, const uint8_t *data, size_t size, size_t at,
		      struct site_block *b, struct error *why)
{
	size_t sites, name_at;

	if (size - at < sizeof(b->head))
		return refuse_block(why, at, "is cut off");
	memcpy(&b->head, data + at, sizeof(b->head));
	if ((b->head.magic & 0xffffffffffffull) != PCCE_BLOCK_MAGIC)
		return refuse_block(why, at, "does not begin like one");
	if (b->head.magic >> 48 != PCCE_BLOCK_VERSION)
		return error_set(why, -EINVAL,
				 "has site records of version %u, but this is version %u; compile "
				 "it with the plugin of this installation",
				 (unsigned int)(b->head.magic >> 48), PCCE_BLOCK_VERSION);
	sites = (size_t)b->head.n_sites * sizeof(struct pcce_site_record);
	name_at = sizeof(b->head) + sites;
	if (b->head.size % 8 || b->head.size > size - at || name_at >= b->head.size ||
	    !memchr(data + at + name_at, 0, b->head.size - name_at))
		return refuse_block(why, at, "has an impossible size");
	b->sites = data + at + sizeof(b->head);
	b->name = (const char *)data + at + name_at;
	if (!b->head.start)
		return 0;
	const struct elf_segment *segment = elf_module_segment(m, b->head.start);

	if (!segment || !segment->executable || !elf_module_at(m, b->head.start, b->head.length))
		return refuse_block(why, at, "lies outside the code");
	if (b->head.entry_len && (uint64_t)b->head.entry + b->head.entry_len > b->head.length)
		return refuse_block(why, at, "has an entry slot outside its function");
	if (b->head.flags & PCCE_BLOCK_GATE &&
	    (b->head.n_sites != 2 || b->head.length < PCCE_GATE_SIZE))
		return refuse_block(why, at, "is not that of a gate");
	return check_block_sites(b, at, why);
}

static int read_blocks(const struct elf_module *m, const struct elf_section *section,
		       struct site_records *out, struct error *why)
{
	const uint8_t *data = elf_module_contents(m, section);

	if (!data)
		return error_set(why, -EINVAL,
				 "is cut off: its site records lie beyond its end; link it again");
	for (size_t at = 0; at + 8 <= section->size;) {
		struct site_block b;
		uint64_t word;
		int err;

		memcpy(&word, data + at, sizeof(word));
		if (!word) {
			at += 8;
			continue;
		}
		err = read_block(m, data, section->size, at, &b, why);
		if (err)
			return err;
		at += b.head.size;
		/* A function without code cannot be entered: its callers run into the next one. */
		if (!b.head.start || !b.head.length)
			continue;
		if (array_grow(&out->blocks, out->n_blocks, sizeof(*out->blocks)))
			return error_memory(why);
		out->blocks[out->n_blocks++] = b;
	}
	return 0;
}

/* Orders blocks by address, and blocks at one address by their order in the file. */
COMPARE_BY2(compare_blocks, struct site_block, head.start, sites);

static bool blocks_agree(const struct site_block *a, const struct site_block *b)
{
	if (a->head.length != b->head.length || a->head.n_sites != b->head.n_sites)
		return false;
	for (uint32_t i = 0; i < a->head.n_sites; i++) {
		struct pcce_site_record x = site_records_site(a, i), y = site_records_site(b, i);

		if (x.before != y.before || x.after != y.after || x.before_len != y.before_len ||
		    x.after_len != y.after_len || x.flags != y.flags)
			return false;
	}
	return true;
}

static int order_blocks(struct site_records *r, struct error *why)
{
	size_t n = 0;

	if (r->n_blocks)
		qsort(r->blocks, r->n_blocks, sizeof(*r->blocks), compare_blocks);
	for (size_t i = 0; i < r->n_blocks; i++) {
		const struct site_block *last = n ? &r->blocks[n - 1] : NULL;

		if (last && last->head.start == r->blocks[i].head.start) {
			if (!blocks_agree(last, &r->blocks[i]))
				return error_set(why, -EINVAL,
						 "has contradictory site records: '%s' and '%s' "
						 "have one address, but not the same sites; build "
						 "the file again",
						 last->name, r->blocks[i].name);
			continue;
		}
		if (last && last->head.start + last->head.length > r->blocks[i].head.start)
			return error_set(why, -EINVAL,
					 "has damaged site records: '%s' and '%s' overlap; build "
					 "the file again",
					 last->name, r->blocks[i].name);
		r->blocks[n++] = r->blocks[i];
	}
	r->n_blocks = n;
	return 0;
}

COMPARE_BY1(compare_helpers, struct pcce_table_helper, addr);

static int read_helpers(const struct elf_module *m, const struct elf_section *section,
			struct site_records *out, struct error *why)
{
	const uint8_t *data = elf_module_contents(m, section);
	size_t n = section->size / sizeof(*out->helpers);

	if (!data || section->size % sizeof(*out->helpers))
		return error_set(why, -EINVAL, "has damaged descriptions of the runtime's helpers");
	if (!n)
		return 0;
	out->helpers = malloc(n * sizeof(*out->helpers));
	if (!out->helpers)
		return error_memory(why);
	memcpy(out->helpers, data, n * sizeof(*out->helpers));
	out->n_helpers = n;
	qsort(out->helpers, n, sizeof(*out->helpers), compare_helpers);
	for (size_t i = 0; i < n; i++) {
		const struct pcce_table_helper *h = &out->helpers[i];

		if (h->state > PCCE_HELPER_LAST || !elf_module_at(m, h->addr, h->length) ||
		    (i && h->addr < h[-1].addr + h[-1].length))
			return error_set(why, -EINVAL,
					 "has damaged descriptions of the runtime's helpers");
	}
	return 0;
}

static bool is_in_runtime(const struct pcce_helper_entries *e, uint64_t vaddr, uint64_t length)
{
	return vaddr >= e->text && vaddr <= e->text_end && length <= e->text_end - vaddr;
}

static int read_runtime_entries(const struct elf_module *m, const struct elf_section *section,
				struct site_records *out, struct error *why)
{
	const uint8_t *data = elf_module_contents(m, section);
	struct pcce_helper_entries *e = &out->entries;

	if (data && section->size >= 2 * sizeof(*e))
		return error_set(why, -EINVAL,
				 "contains the pcce runtime twice; give `pcce-config --ldflags` to "
				 "one link only");
	if (!data || section->size < sizeof(*e))
		return error_set(why, -EINVAL, "has a damaged description of the runtime");
	memcpy(e, data, sizeof(*e));
	if (e->magic != PCCE_ENTRIES_MAGIC)
		return error_set(why, -EINVAL,
				 "contains another version of the runtime; link it with the flags "
				 "of this installation");
	if (e->text_end < e->text || !elf_module_at(m, e->text, e->text_end - e->text) ||
	    !is_in_runtime(e, e->push, 1) || !is_in_runtime(e, e->pop, 1) ||
	    !is_in_runtime(e, e->push_slow, 1) || !is_in_runtime(e, e->pop_slow, 1) ||
	    !is_in_runtime(e, e->tls_insn, 7) || !is_in_runtime(e, e->leaf, 1))
		return error_set(why, -EINVAL,
				 "has lost parts of the runtime; link it with the flags of "
				 "`pcce-config --ldflags`, which keep them from --gc-sections");
	out->has_entries = true;
	return 0;
}

int site_records_read(const struct elf_module *m, struct site_records *out, struct error *why)
{
	const struct elf_section *s;
	int err = 0;

	memset(out, 0, sizeof(*out));
	for (s = NULL; !err && (s = elf_module_section(m, PCCE_SITES_SECTION, s));)
		err = read_blocks(m, s, out, why);
	if (!err)
		err = order_blocks(out, why);
	s = elf_module_section(m, PCCE_ENTRIES_SECTION, NULL);
	if (!err && s && s->size)
		err = read_runtime_entries(m, s, out, why);
	s = elf_module_section(m, PCCE_HELPERS_SECTION, NULL);
	if (!err && s)
		err = read_helpers(m, s, out, why);
	if (err)
		site_records_free(out);
	return err;
}

void site_records_free(struct site_records *r)
{
	free(r->blocks);
	free(r->helpers);
	memset(r, 0, sizeof(*r));
}
