/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See packed.h. */
#include <errno.h>
#include <sha256.h>
#include <stdlib.h>
#include <string.h>
#include <pcce/sample.h>
#include "merge/sums.h"
#include "store/packed.h"
#include "stream/kernel_stacks.h"
#include "stream/move_addresses.h"
#include "stream/stack_store.h"

#define STACK_MOST 65536u

void store_hash(const struct bytes *of, struct store_key *key)
{
	uint8_t digest[SHA256_DIGEST_LENGTH];
	SHA2_CTX sha;

	SHA256Init(&sha);
	SHA256Update(&sha, of->data, of->n);
	SHA256Final(digest, &sha);
	memcpy(key->bytes, digest, sizeof(key->bytes));
}

/* ---- packing --------------------------------------------------------------------- */

/* Returns the place of a module in the list; its first address decides about the origin. */
static uint32_t list_module(struct packer *k, uint32_t module, uint64_t vaddr)
{
	uint64_t floor = vaddr & ~(PACKED_ORIGIN - 1);

	if (k->last < k->n_modules && k->numbers[k->last] == module)
		return k->last;
	for (uint32_t i = 0; i < k->n_modules; i++)
		if (k->numbers[i] == module)
			return k->last = i;
	if (k->n_modules == PACKED_MODULES)
		return UINT32_MAX;
	k->last = k->n_modules++;
	k->numbers[k->last] = module;
	k->modules[k->last] = (struct packed_module){.id = k->ids[module],
						     .origin = floor ? floor - PACKED_ORIGIN : 0};
	return k->last;
}

static uint64_t pack_address(void *ctx, uint64_t address)
{
	struct packer *k = ctx;
	const struct decode_module *m = k->as->find(k->as, address);
	uint64_t offset, vaddr;
	uint32_t i;

	/* The end of a slot can be the end of the module. */
	if (!m)
		m = k->as->find(k->as, address - 1);
	if (!m)
		return 0;
	vaddr = decode_link_time(m, address);
	i = list_module(k, m->module, vaddr);
	if (i == UINT32_MAX) {
		k->too_many = true;
		return 0;
	}
	offset = vaddr - k->modules[i].origin;
	return offset < PACKED_DISTANCE ? PACKED_PLACE(i) + offset : 0;
}

static void put_entries(const struct address_mover *v, const struct pcce_entry *from, uint32_t n,
			struct bytes *out)
{
	for (uint32_t i = 0; i < n; i++) {
		struct pcce_entry e = move_entry(v, from[i]);

		bytes_put(out, &e, sizeof(e));
	}
}

/* Puts the known segments below, the outermost one first. Returns their number. */
static uint32_t put_segments(const struct address_mover *v, const struct stack_node *below,
			     struct bytes *out)
{
	uint64_t n = below ? stack_store_depth(below) : 0, left = n;
	const struct stack_node **chain = calloc(n + 1, sizeof(const struct stack_node *));

	if (!chain) {
		out->failed = true;
		return 0;
	}
	for (const struct stack_node *node = below; node && left; node = stack_store_below(node))
		chain[--left] = node;
	for (uint64_t i = left; i < n; i++)
		put_entries(v, stack_store_entries(chain[i]), PCCE_SEGMENT_ENTRIES, out);
	free(chain);
	return (uint32_t)(n - left);
}

static uint32_t put_kernel(const struct packer *p, const struct stream_event *of, struct bytes *out)
{
	const uint64_t *frames;
	size_t n = kernel_stacks_of(of, &frames);

	for (size_t i = 0; i < n; i++)
		bytes_put_text(out, p->kernel_name(p->ctx, frames[i]));
	return (uint32_t)n;
}

int pack_context(struct packer *k, const struct decode_space *as, const struct stream_event *of,
		 struct bytes *out)
{
	const struct pcce_sample *s = of->sample;
	const struct address_mover v = {pack_address, k};
	const struct decode_module *main = as->main_module(as);
	struct packed_head head;
	struct bytes rest = {0};
	int r;

	k->as = as;
	k->n_modules = 0;
	k->too_many = false;
	if (main)
		list_module(k, main->module, main->vaddr);
	head = (struct packed_head){
		.version = PACKED_VERSION,
		.flags = s->flags,
		.n_entries = s->n_entries,
		.n_stack = s->n_stack,
		.n_below = s->n_below,
		.ip = pack_address(k, s->ip),
		.r11 = s->r11 ? pack_address(k, s->r11) : 0,
		.id = s->id,
		.ext = move_ext(&v, s->ext),
	};
	put_entries(&v, pcce_sample_entries(s), s->n_entries, &rest);
	head.n_segments = put_segments(&v, of->below, &rest);
	/* Return addresses can end a module. In no module they become 1, as in a merge. */
	for (uint32_t i = 0; i < s->n_stack; i++)
		bytes_put_u64(&rest, pack_address(k, pcce_sample_stack(s)[i] - 1) + 1);
	head.n_kernel = put_kernel(k, of, &rest);
	head.n_modules = k->n_modules;
	out->n = 0;
	bytes_put(out, &head, sizeof(head));
	bytes_put(out, k->modules, k->n_modules * sizeof(*k->modules));
	bytes_put(out, rest.data, rest.n);
	r = k->too_many ? -E2BIG : rest.failed || out->failed ? -ENOMEM : 0;
	bytes_free(&rest);
	return r;
}

/* ---- unpacking ------------------------------------------------------------------- */

bool unpack_context(const void *data, size_t size, struct unpacked *out)
{
	struct cursor c = {.at = data, .end = (const uint8_t *)data + size};
	const void *head = cursor_get(&c, sizeof(out->head));
	size_t n;

	if (!head)
		return false;
	memcpy(&out->head, head, sizeof(out->head));
	if (out->head.version != PACKED_VERSION || out->head.n_modules > PACKED_MODULES ||
	    out->head.n_entries > PCCE_SEGMENT_ENTRIES ||
	    out->head.n_segments > out->head.n_below || out->head.flags & ~MERGED_SAMPLE_FLAGS ||
	    out->head.n_stack > (out->head.flags & PCCE_SAMPLE_FRAMES ? STACK_MOST : 0) ||
	    out->head.n_below > PCCE_AREA_SEGMENTS || out->head.n_kernel > PCCE_KERNEL_FRAMES)
		return false;
	out->modules = cursor_get(&c, out->head.n_modules * sizeof(struct packed_module));
	out->entries = cursor_get(&c, out->head.n_entries * sizeof(struct pcce_entry));
	out->segments = cursor_get(&c, (size_t)out->head.n_segments * PCCE_SEGMENT_ENTRIES *
					       sizeof(struct pcce_entry));
	out->stack = cursor_get(&c, (size_t)out->head.n_stack * sizeof(uint64_t));
	out->kernel = c;
	for (uint32_t i = 0; i < out->head.n_kernel; i++)
		cursor_string(&c, &n);
	return !c.bad && c.at == c.end;
}
