/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A name is the symbol at the frame's address if there is one, else that of the encoding table. */
#include <stdio.h>
#include <string.h>
#include "api/frame_names.h"

uint64_t frame_names_vaddr(const struct symbol_table *names, const struct decode_space *as,
			   const struct decode_frame *f)
{
	const struct decode_module *m;

	if (f->site != PCCE_NONE) {
		const struct pcce_table_site *s =
			&symbol_table_table(names, f->module)->sites[f->site];

		return s->key + s->restore_len;
	}
	m = f->address ? as->find(as, f->address) : NULL;
	return m ? decode_link_time(m, f->address) : 0;
}

uint32_t frame_names_extra(const struct decode_context *ctx, size_t i)
{
	const struct decode_frame *f = &ctx->frames[i];

	/* The one that ends an undecodable context is its outermost. */
	if (f->kind == DECODE_FRAME_GAP && i + 1 == ctx->n && ctx->status == DECODE_UNDECODABLE)
		return 1 + ctx->reason;
	if (f->kind != DECODE_FRAME_FOREIGN || f->address)
		return 0;
	if (f->counting)
		return FRAME_NAMES_COUNTING;
	if (i + 1 == ctx->n)
		return FRAME_NAMES_OUTERMOST;
	return f[1].site != PCCE_NONE ? 2 + f[1].site : 1;
}

size_t frame_names_chain(const struct symbol_table *names, uint32_t module, uint64_t vaddr,
			 const struct symbol_table_entry **chain)
{
	*chain = NULL;
	return module == UINT32_MAX || !vaddr ? 0 : symbol_table_at(names, module, vaddr, chain);
}

uint32_t frame_names_site_line(const struct symbol_table *names, uint32_t module, uint64_t vaddr)
{
	const struct encoding_table *t = symbol_table_table(names, module);
	uint32_t site = t && vaddr ? encoding_table_site_around(t, vaddr) : PCCE_NONE;

	return site == PCCE_NONE ? 0 : t->sites[site].line;
}

/* ---- names ----------------------------------------------------------------------- */

static uint32_t bracketed(struct symbol_table *names, const char *text)
{
	char buffer[512];

	snprintf(buffer, sizeof(buffer), "[%s]", text);
	return symbol_table_intern(names, buffer);
}

/* What is called by name, for a frame without an address. */
static uint32_t called_name(struct symbol_table *names, const struct frame_names_key *key)
{
	const struct encoding_table *t = symbol_table_table(names, key->outer_module);
	char text[256];
	char *at;

	if (key->extra == FRAME_NAMES_OUTERMOST)
		return symbol_table_intern(names, FRAME_NAMES_CALLER);
	if (key->extra == FRAME_NAMES_COUNTING)
		return symbol_table_intern(names, FRAME_NAMES_COUNTING_CODE);
	if (!t || key->extra < 2 || !t->sites[key->extra - 2].callee_name)
		return symbol_table_intern(names, "[foreign]");
	snprintf(text, sizeof(text), "%s",
		 encoding_table_string(t, t->sites[key->extra - 2].callee_name));
	at = strchr(text, '@');
	if (at && at != text)
		*at = 0;
	return symbol_table_demangled(names, text);
}

static uint32_t foreign_name(struct symbol_table *names, const struct frame_names_key *key)
{
	const struct symbol_table_entry *chain;
	size_t n = frame_names_chain(names, key->module, key->vaddr, &chain);
	const char *base = symbol_table_base(names, key->module);

	if (n && chain[n - 1].function)
		return chain[n - 1].function;
	return bracketed(names, *base ? base : "unknown");
}

static uint32_t gap_name(struct symbol_table *names, const struct frame_names_key *key)
{
	char text[256];

	if (!key->extra)
		return symbol_table_intern(names, "[truncated]");
	snprintf(text, sizeof(text), "[undecodable: %s]", decode_reason_name(key->extra - 1));
	return symbol_table_intern(names, text);
}

uint32_t frame_names_get(struct symbol_table *names, const struct frame_names_key *key)
{
	const struct symbol_table_entry *chain;
	size_t n;

	switch (key->kind) {
	case DECODE_FRAME_CALL:
		n = frame_names_chain(names, key->module, key->vaddr, &chain);
		if (n && chain[n - 1].function)
			return chain[n - 1].function;
		return symbol_table_function(names, key->module, key->func);
	case DECODE_FRAME_TAIL:
		return symbol_table_function(names, key->module, key->func);
	case DECODE_FRAME_FOREIGN:
		return key->extra ? called_name(names, key) : foreign_name(names, key);
	case DECODE_FRAME_SIGNAL:
		return symbol_table_intern(names, "[signal]");
	case DECODE_FRAME_ORIGIN:
		return symbol_table_intern(names, "[thread]");
	default:
		return gap_name(names, key);
	}
}

uint32_t frame_names_kernel(struct symbol_table *names, uint32_t kernel, uint64_t kip, bool *known)
{
	const struct symbol_table_entry *chain;

	*known = frame_names_chain(names, kernel, kip, &chain);
	return *known ? chain->function : symbol_table_intern(names, PCCE_MODULE_KERNEL);
}

/* What functions of the kernel say about the reason for a wait. */
static const struct {
	const char *part; /* of a name */
	const char *name;
} wait_names[] = {
	{"page_fault", "[waiting: page fault]"},
	{"nanosleep", "[waiting: sleep]"},
	{"futex", "[waiting: futex]"},
	{"mutex_lock", "[waiting: lock in the kernel]"},
	{"rwsem_down", "[waiting: lock in the kernel]"},
};

static const char *name_of_wait(struct symbol_table *names, uint32_t kernel, const uint64_t *frames,
				size_t n)
{
	const struct symbol_table_entry *chain;

	for (size_t k = 0; k < sizeof(wait_names) / sizeof(wait_names[0]); k++)
		for (size_t i = 0; i + 1 < n; i++)
			if (frame_names_chain(names, kernel, frames[i], &chain) &&
			    strstr(symbol_table_string(names, chain->function), wait_names[k].part))
				return wait_names[k].name;
	return "[waiting]";
}

uint32_t frame_names_wait(struct symbol_table *names, uint32_t kernel, const uint64_t *frames,
			  size_t n)
{
	static const char *const reasons[PCCE_WAITS] = {
		[PCCE_WAIT_IO] = "[waiting: I/O]",
		[PCCE_WAIT_STOPPED] = "[stopped]",
		[PCCE_WAIT_PREEMPTED] = "[preempted]",
		[PCCE_WAIT_RUNNABLE] = "[runnable]",
	};
	const char *name = reasons[frames[n - 1] % PCCE_WAITS];

	return symbol_table_intern(names, name ? name : name_of_wait(names, kernel, frames, n));
}
