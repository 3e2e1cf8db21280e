/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Collects the site records of a function (include/pcce/sites.h), and writes one block for each
 * part of it.
 *
 * slots.c and stale.c add the records. A block is assembler text in an insn at the very end of its
 * part. There the current section is the part's own, whatever -ffunction-sections, COMDAT, LTO or
 * the hot/cold split have made of it:
 *
 *	.set	.Lpcce_s4,function		the part's start
 *	.Lpcce_e4:				its end
 *	.pushsection .pcce_sites,"o?",@progbits,.Lpcce_s4
 *	.balign	8
 *	.quad	magic,.Lpcce_s4,.Lpcce_s4
 *	.long	size,.Lpcce_e4-.Lpcce_s4,n_sites,flags
 *	.long	.Lpcce_n4-.Lpcce_s4,entry_len
 *	.quad	entry_count
 *	.long	type,0
 *	.long	.Lpcce_b7-.Lpcce_s4,.Lpcce_a7-.Lpcce_s4	one record
 *	.byte	before_len,after_len
 *	.value	flags
 *	.long	freq,line,copy,type
 *	...
 *	.long	.Lpcce_b7-.Lpcce_s4,.Lpcce_b9-.Lpcce_s4	its landing pad
 *	...
 *	.string	"function"
 *	.balign	8
 *	.popsection
 *
 * "o" ties the section to the one that holds .Lpcce_s4, "?" makes it a member of that section's
 * group. Each such section costs 128 bytes of headers. So functions that certainly share one code
 * section also share one section of records: they name the first one's label after "o".
 *
 * The start is the function's own symbol under a local name; relocation of a symbol that may be
 * interposed or overridden would go wrong. So the code between the symbol and the first insn, the
 * call of __fentry__ or patchable nops, is inside the part. If gas could misread the name in an
 * expression, the start is the first insn instead.
 */
#include "internal.h"

static struct site *sites;
static unsigned int n_sites, sites_room;
static unsigned int last_label;

/* The label that represents a code section: see above. */
struct shared_section {
	section *code;
	unsigned int label;
};
static struct shared_section *shared;
static unsigned int n_shared;

unsigned int sites_new_label(void)
{
	return ++last_label;
}

void sites_begin(void)
{
	n_sites = 0;
}

void sites_add(const struct site *site)
{
	if (n_sites == sites_room) {
		sites_room = sites_room ? sites_room * 2 : 64;
		sites = XRESIZEVEC(struct site, sites, sites_room);
	}
	sites[n_sites++] = *site;
}

/* Orders pointers, whatever they point to. */
static int compare_pointers(const void *x, const void *y)
{
	return (uintptr_t)x < (uintptr_t)y ? -1 : (uintptr_t)x > (uintptr_t)y;
}

/*
 * Compares the source calls of two sites: the token, the inlined block it came in, and the callee.
 * Equal ones are copies of one source call, made by unrolling or block duplication. The locations
 * themselves can differ: GCC 16 gives copies discriminators of their own.
 */
static int compare_source_calls(const struct site *x, const struct site *y)
{
	location_t x_token = LOCATION_LOCUS(x->location), y_token = LOCATION_LOCUS(y->location);
	int order;

	if (x_token != y_token)
		return x_token < y_token ? -1 : 1;
	order = compare_pointers(LOCATION_BLOCK(x->location), LOCATION_BLOCK(y->location));
	return order ? order : compare_pointers(x->callee, y->callee);
}

static const struct site *sorted_base;

static int compare_for_sort(const void *a, const void *b)
{
	const struct site *x = sorted_base + *(const unsigned int *)a,
			  *y = sorted_base + *(const unsigned int *)b;
	int order = compare_source_calls(x, y);

	return order ? order : compare_pointers(x, y);
}

static bool can_have_copies(const struct site *site)
{
	return LOCATION_LOCUS(site->location) > BUILTINS_LOCATION &&
	       !(site->flags & (PCCE_SITE_RESTORE | PCCE_SITE_TAIL));
}

/* Returns copy[i]: 1 + the index of the first of the copies, 0 if the site has no copies. */
static unsigned int *number_copies(void)
{
	unsigned int *copy = XCNEWVEC(unsigned int, n_sites + 1);
	unsigned int *order = XNEWVEC(unsigned int, n_sites + 1);

	for (unsigned int i = 0; i < n_sites; i++)
		order[i] = i;
	sorted_base = sites;
	qsort(order, n_sites, sizeof(*order), compare_for_sort);
	for (unsigned int i = 1; i < n_sites; i++) {
		const struct site *last = sites + order[i - 1], *site = sites + order[i];

		if (compare_source_calls(last, site) || !can_have_copies(site))
			continue;
		if (!copy[order[i - 1]])
			copy[order[i - 1]] = order[i - 1] + 1;
		copy[order[i]] = copy[order[i - 1]];
	}
	free(order);
	return copy;
}

void sites_grow_printf(struct obstack *text, const char *format, ...)
{
	char line[256];
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	gcc_assert(length >= 0 && (size_t)length < sizeof(line));
	obstack_grow(text, line, length);
}

/* Adds a .string directive with escapes that every version of gas knows. */
static void grow_string(struct obstack *text, const char *string)
{
	obstack_grow(text, "\t.string \"", strlen("\t.string \""));
	for (; *string; string++) {
		unsigned char c = *string;

		if (c == '"' || c == '\\' || c < ' ' || c >= 127)
			sites_grow_printf(text, "\\%03o", c);
		else
			obstack_1grow(text, c);
	}
	obstack_grow(text, "\"\n", 2);
}

/* Returns landing[i]: 1 + the index of the stretch that begins with the site's landing pad, 0 if
 * none can be named. The unwinder's tables need a call and its landing pad in one part of the
 * function. If they are in two parts, no record names that pad. */
static unsigned int *number_landings(function *fun)
{
	unsigned int *landing = XCNEWVEC(unsigned int, n_sites + 1);
	unsigned int *pads =
		XCNEWVEC(unsigned int, (fun->eh ? vec_safe_length(fun->eh->lp_array) : 0) + 1);

	for (unsigned int i = 0; i < n_sites; i++)
		if (sites[i].is_pad && sites[i].pad)
			pads[sites[i].pad] = i + 1;
	for (unsigned int i = 0; i < n_sites; i++) {
		unsigned int *pad = &pads[sites[i].pad];

		if (!(sites[i].flags & PCCE_SITE_RESTORE) && *pad &&
		    sites[*pad - 1].cold != sites[i].cold)
			*pad = 0;
	}
	for (unsigned int i = 0; i < n_sites; i++) {
		unsigned int pad = pads[sites[i].pad];

		if (pad && sites[pad - 1].cold == sites[i].cold)
			landing[i] = pad;
	}
	free(pads);
	return landing;
}

static unsigned int count_records(bool cold, const unsigned int *landing)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < n_sites; i++)
		if (sites[i].cold == cold)
			n += landing[i] ? 2 : 1;
	return n;
}

static void grow_landings(struct obstack *text, unsigned int start, bool cold,
			  const unsigned int *landing)
{
	for (unsigned int i = 0; i < n_sites; i++) {
		if (sites[i].cold != cold || !landing[i])
			continue;
		sites_grow_printf(text, "\t.long .Lpcce_b%u-.Lpcce_s%u,.Lpcce_b%u-.Lpcce_s%u\n",
				  sites[i].label, start, sites[landing[i] - 1].label, start);
		sites_grow_printf(text, "\t.byte 0,0\n\t.value %u\n\t.long 0,0,0,0\n",
				  PCCE_SITE_LANDING | (sites[i].flags & PCCE_SITE_RESTORE));
	}
}

static void grow_records(struct obstack *text, unsigned int start, bool cold,
			 const unsigned int *copy)
{
	for (unsigned int i = 0; i < n_sites; i++) {
		const struct site *site = sites + i;

		if (site->cold != cold)
			continue;
		sites_grow_printf(text, "\t.long .Lpcce_b%u-.Lpcce_s%u,.Lpcce_a%u-.Lpcce_s%u\n",
				  site->label, start, site->label, start);
		sites_grow_printf(text, "\t.byte %u,%u\n\t.value %u\n", site->before_len,
				  site->after_len, site->flags);
		sites_grow_printf(text, "\t.long %u,%u,%u,%u\n", site->freq,
				  LOCATION_LINE(site->location), copy[i], site->type);
	}
}

/* Can the name be used in an expression, in either syntax? */
static bool is_plain_symbol(const char *name)
{
	if (ASSEMBLER_DIALECT == ASM_INTEL || !*name || ISDIGIT(*name))
		return false;
	for (; *name; name++)
		if (!ISALNUM(*name) && *name != '_' && *name != '.' && *name != '$')
			return false;
	return true;
}

/* Blocks in shared sections keep the alignment of those before them, so the size is a constant. */
static unsigned int block_size(unsigned int n, const char *name)
{
	size_t size = sizeof(struct pcce_site_block) + n * sizeof(struct pcce_site_record) +
		      strlen(name) + 1;

	return (size + 7) & ~(size_t)7;
}

unsigned int sites_section(function *fun, unsigned int start)
{
	section *code;

	if (crtl->has_bb_partition || DECL_COMDAT_GROUP(fun->decl))
		return start;
	code = function_section(fun->decl);
	for (unsigned int i = 0; i < n_shared; i++)
		if (shared[i].code == code)
			return shared[i].label;
	shared = XRESIZEVEC(struct shared_section, shared, n_shared + 1);
	shared[n_shared].code = code;
	shared[n_shared++].label = start;
	return start;
}

struct part {
	unsigned int start; /* number of its labels */
	unsigned int main;
	unsigned int entry; /* bytes of the entry slot, with label n */
	bool cold;
	bool by_symbol;
	const char *symbol; /* of the function, for the assembler */
	const char *name;
	unsigned int flags;
	unsigned int *copy, *landing; /* of all sites */
};

void sites_grow_head(struct obstack *text, unsigned int start, unsigned int main,
		     unsigned int section, unsigned int n, unsigned int flags, const char *name)
{
	sites_grow_printf(text,
			  "\t.pushsection " PCCE_SITES_SECTION
			  ",\"o?\",@progbits,.Lpcce_s%u\n\t.balign 8\n",
			  section);
	sites_grow_printf(text, "\t.quad %#llx,.Lpcce_s%u,.Lpcce_s%u\n",
			  (unsigned long long)PCCE_BLOCK_MAGIC |
				  (unsigned long long)PCCE_BLOCK_VERSION << 48,
			  start, main);
	sites_grow_printf(text, "\t.long %u,.Lpcce_e%u-.Lpcce_s%u,%u,%u\n", block_size(n, name),
			  start, start, n, flags);
}

void sites_grow_name(struct obstack *text, const char *name)
{
	grow_string(text, name);
	sites_grow_printf(text, "\t.balign 8\n\t.popsection");
}

static char *block_text(function *fun, const struct part *part)
{
	unsigned int n = count_records(part->cold, part->landing);
	struct obstack text;
	char *result;

	obstack_init(&text);
	if (part->by_symbol) {
		sites_grow_printf(&text, ".set .Lpcce_s%u,", part->start);
		obstack_grow(&text, part->symbol, strlen(part->symbol));
		obstack_1grow(&text, '\n');
	}
	sites_grow_printf(&text, ".Lpcce_e%u:\n", part->start);
	sites_grow_head(&text, part->start, part->main,
			part->cold ? part->start : sites_section(fun, part->start), n, part->flags,
			part->name);
	if (part->entry)
		sites_grow_printf(&text, "\t.long .Lpcce_n%u-.Lpcce_s%u,%u\n", part->start,
				  part->start, part->entry);
	else
		sites_grow_printf(&text, "\t.long 0,0\n");
	sites_grow_printf(&text, "\t.quad %" PRIu64 "\n\t.long %u,0\n",
			  part->cold ? 0 : freq_entry_count(),
			  part->cold ? 0 : types_of_function(fun->decl));
	grow_records(&text, part->start, part->cold, part->copy);
	grow_landings(&text, part->start, part->cold, part->landing);
	sites_grow_name(&text, part->name);
	obstack_1grow(&text, 0);
	result = xstrdup((char *)obstack_finish(&text));
	obstack_free(&text, NULL);
	return result;
}

static void emit_block(function *fun, const struct part *part, rtx_insn *last)
{
	char *text = block_text(fun, part);

	asm_text_after(text, last, UNKNOWN_LOCATION);
	free(text);
}

static void emit_start_label(unsigned int label, rtx_insn *after)
{
	char text[32];

	snprintf(text, sizeof(text), ".Lpcce_s%u:", label);
	asm_text_after(text, after, UNKNOWN_LOCATION);
}

static rtx_insn *find_section_switch(void)
{
	for (rtx_insn *insn = get_insns(); insn; insn = NEXT_INSN(insn))
		if (NOTE_P(insn) && NOTE_KIND(insn) == NOTE_INSN_SWITCH_TEXT_SECTIONS)
			return insn;
	return NULL;
}

rtx_insn *sites_end_of_hot_part(void)
{
	rtx_insn *section_switch = find_section_switch();

	return section_switch ? PREV_INSN(section_switch) : get_last_insn();
}

unsigned int sites_finish(function *fun, unsigned int block_flags)
{
	const char *symbol = XSTR(XEXP(DECL_RTL(fun->decl), 0), 0);
	rtx_insn *section_switch = find_section_switch();
	struct part part;

	memset(&part, 0, sizeof(part));
	part.start = part.main = sites_new_label();
	part.symbol = symbol[0] == '*' ? symbol + 1 : symbol;
	part.name = callee_assembler_name(fun->decl);
	part.by_symbol = is_plain_symbol(part.symbol) && (symbol[0] == '*' || !*user_label_prefix);
	part.flags = block_flags;
	part.copy = number_copies();
	part.landing = number_landings(fun);
	part.entry = entry_length(fun, &part.flags);
	if (part.entry)
		entry_emit(part.start, part.entry);
	if (!part.by_symbol)
		emit_start_label(part.start, get_insns());
	emit_block(fun, &part, sites_end_of_hot_part());
	if (section_switch) {
		part.start = sites_new_label();
		part.by_symbol = false;
		part.cold = true;
		part.entry = 0;
		part.flags |= PCCE_BLOCK_COLD;
		emit_start_label(part.start, section_switch);
		emit_block(fun, &part, get_last_insn());
	}
	free(part.copy);
	free(part.landing);
	return part.main;
}
