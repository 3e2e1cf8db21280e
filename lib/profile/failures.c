/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Keeps and prints the first samples that do not decode, or whose context differs from the real
 * stack. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "profile/profile_internal.h"
#include <pcce/sample.h>

int profile_keep_failure(struct profile_internals *in, const struct decode_cache_sample *s,
			 uint32_t space, bool mismatch, uint8_t reason)
{
	size_t size = pcce_sample_size(s->sample);
	struct profile_failure *f = &in->failures[in->n_failures];

	if (mismatch ? in->n_mismatches == PROFILE_FAILURES
		     : in->n_failures - in->n_mismatches == PROFILE_FAILURES)
		return 0;
	*f = (struct profile_failure){
		.mismatch = mismatch,
		.reason = reason,
		.space = space,
		.sample = malloc(size),
		.below = s->below,
	};
	if (!f->sample)
		return -ENOMEM;
	memcpy(f->sample, s->sample, size);
	in->n_failures++;
	in->n_mismatches += mismatch;
	return 0;
}

static const char *function_name(const struct profile *p, uint32_t module, uint32_t func,
				 char *buffer, size_t size)
{
	uint32_t name = symbol_table_function(p->names, module, func);

	return text_clean(symbol_table_string(p->names, name), buffer, size);
}

static void print_address(const struct profile *p, const struct decode_space *as, uint64_t address,
			  FILE *out)
{
	const struct decode_module *m = as->find(as, address);
	uint64_t vaddr;
	uint32_t func = PCCE_NONE;
	char buffer[4096];

	fprintf(out, "%#18llx", (unsigned long long)address);
	if (!m) {
		fprintf(out, "  not mapped\n");
		return;
	}
	vaddr = decode_link_time(m, address);
	fprintf(out, "  %s+%#llx",
		text_clean(symbol_table_base(p->names, m->module), buffer, sizeof(buffer)),
		(unsigned long long)vaddr);
	if (m->table)
		func = encoding_table_func_at(m->table, vaddr);
	if (func != PCCE_NONE)
		fprintf(out, "  %s%+lld", function_name(p, m->module, func, buffer, sizeof(buffer)),
			(long long)(vaddr - m->table->funcs[func].addr));
	else if (m->table && encoding_table_helper_at(m->table, vaddr))
		fprintf(out, "  push or pop helper");
	if (func != PCCE_NONE) {
		static const char *const kinds[] = {"none", "add",  "ext",
						    "push", "tail", "restore"};
		uint32_t site = encoding_table_site_around(m->table, vaddr);

		if (site != PCCE_NONE && m->table->sites[site].kind < 6)
			fprintf(out, "  in the slots of %s site %#llx",
				kinds[m->table->sites[site].kind],
				(unsigned long long)m->table->sites[site].key);
	}
	fputc('\n', out);
}

static void print_decoded(const struct profile *p, const struct decode_space *as,
			  const struct decode_context *ctx, FILE *out)
{
	static const char *const kinds[] = {
		[DECODE_FRAME_CALL] = "call",	    [DECODE_FRAME_TAIL] = "tail",
		[DECODE_FRAME_FOREIGN] = "foreign", [DECODE_FRAME_GAP] = "gap",
		[DECODE_FRAME_SIGNAL] = "signal",   [DECODE_FRAME_ORIGIN] = "thread",
	};

	char buffer[4096];

	for (size_t i = 0; i < ctx->n; i++) {
		const struct decode_frame *f = &ctx->frames[i];

		fprintf(out, "    %-7s ", kinds[f->kind]);
		if (f->address)
			print_address(p, as, f->address, out);
		else if (f->func != PCCE_NONE)
			fprintf(out, "%18s  %s\n", "",
				function_name(p, f->module, f->func, buffer, sizeof(buffer)));
		else
			fputc('\n', out);
		if (f->repeat)
			fprintf(out, "            (the last %u frames %u times more)\n", f->span,
				f->repeat);
	}
}

void profile_print_failures(const struct profile *p, FILE *out, size_t max)
{
	size_t mismatches = 0, undecodable = 0;
	struct stack_store_flat flat = {0};
	struct decode_context ctx = {0};

	for (size_t i = 0; i < p->in->n_failures; i++) {
		const struct profile_failure *d = &p->in->failures[i];
		const struct pcce_sample *s = d->sample;
		const struct pcce_entry *entries = pcce_sample_entries(s);
		const struct decode_space *as =
			address_spaces_get(p->in->recording->spaces, d->space);

		if (d->mismatch && mismatches < max)
			fprintf(out, "mismatch %zu:", ++mismatches);
		else if (!d->mismatch && undecodable < max)
			fprintf(out, "undecodable %zu (%s):", ++undecodable,
				decode_reason_name(d->reason));
		else
			continue;
		if (stack_store_flatten(d->below, s, &flat) ||
		    decode_sample(as, s, flat.entries, flat.n, false, false, &ctx))
			break;
		fprintf(out,
			" id %#llx ext %#llx r11 %#llx flags %#x entries %u and %u segments "
			"below\n  ip ",
			(unsigned long long)s->id, (unsigned long long)s->ext,
			(unsigned long long)s->r11, s->flags, s->n_entries, s->n_below);
		print_address(p, as, s->ip, out);
		fprintf(out, "  decoded:\n");
		print_decoded(p, as, &ctx, out);
		fprintf(out, "  entries, newest first:\n");
		for (uint32_t j = s->n_entries; j-- > 0;) {
			fprintf(out, "    id %#llx count %llu site ",
				(unsigned long long)entries[j].id,
				(unsigned long long)(entries[j].site >> PCCE_SITE_BITS));
			print_address(p, as, entries[j].site & PCCE_SITE_MASK, out);
		}
		if (s->flags & PCCE_SAMPLE_STACK)
			fprintf(out, "  real stack%s:\n",
				s->flags & PCCE_SAMPLE_UNWIND_BAD ? " (the unwinder gave up)" : "");
		for (uint32_t j = 0; s->flags & PCCE_SAMPLE_STACK && j < s->n_stack; j++) {
			fprintf(out, "    ");
			print_address(p, as, pcce_sample_stack(s)[j], out);
		}
	}
	decode_context_free(&ctx);
	free(flat.entries);
}
