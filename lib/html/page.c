/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Writes a page that shows a calling context tree in a browser, without outside resources. The
 * source of the page is in lib/html/page. The build joins its parts to one file, in which the word
 * "@DATA@" marks the place of the data. pcce-report and pcce-diff fill struct html_page.
 * lib/html/page/data.js reads the data.
 *
 * The data
 * --------
 * The data are base64 of a zlib stream. It contains the length of the head (4 bytes, little
 * endian), the head (JSON), and the columns one after another.
 *
 *   head.version   1
 *   head.title     the subject of the page: a command line
 *   head.facts     facts about the recording, see below
 *   head.full_names  whether the page shows names in full at first
 *   head.modules   [name, ...]
 *   head.threads   [{pid, tid, name, samples, origin}, ...]: samples: their number in the
 *                  columns, or [number of each event]; origin: the creation context as text, if it
 *                  is known
 *   head.events    [{name, bytes, scale, samples, weight}, ...] if there are several. bytes:
 *                  whether weights are bytes; scale: ns of one unit of weight, if it is time
 *   head.tick      ns of one unit of the column sample.time
 *   head.columns   [[name, number of values, bytes], ...] in their order; a reader skips unknown
 *                  names
 *
 * A column is a sequence of unsigned LEB128 numbers. The exceptions are "strings" and "text":
 * UTF-8, each string followed by a newline. String 0 is empty.
 *
 *   node.up        nodes in preorder, children heaviest first: the number of levels from a child
 *                  of the node before up to this node. Node 0 is the root.
 *   node.frame     number of its frame
 *   node.self      its self weight. With several events: that of each, one after the other
 *   node.before    (only in a comparison) its self weight in the older recording
 *   node.entries   most entries on the encoding stack in a sample of this node
 *   repeat.node, repeat.least, repeat.most, repeat.span
 *                  nodes that repeat in a row (difference from the node before in this column);
 *                  the least and the greatest number of further repetitions; the number of nodes
 *                  in a repetition
 *   frame.name     string
 *   frame.short    string: the name in short form; 0: the same
 *   frame.file     string: file of the call
 *   frame.line     0: unknown
 *   frame.module   number + 1; 0: none
 *   frame.flags    1 inlined, 2 left by a tail call, 4 uninstrumented, 8 kernel, 16 missing frames,
 *                  32 signal, 64 nodes that are left out of the page, 128 start of a thread,
 *                  65536 uninstrumented, its place is known by unwinding; between:
 *                  enum html_call << 8
 *   sample.time    by thread, then by event, then by time: ticks since the sample before. The
 *                  first sample of an event in a thread counts from the first sample of all.
 *   sample.node    node in which the sample was taken
 *   sample.weight  (absent if all are 1)
 *
 * With the text of source files, there are also:
 *
 *   sample.place   number of the place in which the sample was taken
 *   place.file, place.line
 *                  string, and 0: unknown
 *   source.file    string: a file
 *   source.lines   the number of its lines. They follow one another in the column "text", as
 *                  strings do.
 *
 * Facts
 * -----
 * All facts are optional:
 *   event, command, sampler, host, kernel, frequency, wall_time (ms since 1970)
 *   samples, exact, truncated, undecodable, outside, lost, reasons {name: count}, complete
 *   unique_contexts, max_depth, max_encoding_stack, bytes_per_sample
 *   only, left_out: the expression of --only, and the number of other samples
 *   verify {verified, mismatches, unverifiable}
 *   depths, entries: [[from, to, samples], ...]: sizes of contexts and encoding stacks
 *   hidden         number of nodes that are left out of the page
 *   thinned        n, if the columns have only every nth sample; weights make up for the others
 *   before, after  names of the two compared recordings
 *   was            facts about the older recording; all others are about the newer one
 *
 * Comparison
 * ----------
 * With html_page.before the page shows differences. The width of a frame is its share in the newer
 * recording, in the older one, or the mean. The colour is the change of this share: red for more,
 * blue for less. The two weights give the significance of a change (the two-proportion z-test; see
 * delta() in lib/html/page/model.js). So weights should be numbers of samples.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/uthash.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "html/histogram.h"
#include "html/page.h"
#include "html/deflate_base64.h"

extern const char html_page_text[];
extern const char html_page_text_end[];

asm(".pushsection .rodata\n"
    "html_page_text:\n"
    ".incbin \"page.html\"\n"
    "html_page_text_end:\n"
    ".byte 0\n"
    ".popsection\n");

#define MARK "@DATA@"
#define TICK 1000
#define WHOLE \
	(1ULL << 50) /* what the weight of an event is in page_weight() if there are several */

enum {
	FLAG_INLINED = 1,
	FLAG_TAIL = 2,
	FLAG_FOREIGN = 4,
	FLAG_KERNEL = 8,
	FLAG_GAP = 16,
	FLAG_SIGNAL = 32,
	FLAG_LEFT_OUT = 64,
	FLAG_ORIGIN = 128,
	FLAG_CALL_SHIFT = 8,
	FLAG_RESTORED = 1 << 16,
};

enum column_number {
	NODE_UP,
	NODE_FRAME,
	NODE_SELF,
	NODE_BEFORE,
	NODE_ENTRIES,
	REPEAT_NODE,
	REPEAT_LEAST,
	REPEAT_MOST,
	REPEAT_SPAN,
	FRAME_NAME,
	FRAME_SHORT,
	FRAME_FILE,
	FRAME_LINE,
	FRAME_MODULE,
	FRAME_FLAGS,
	SAMPLE_TIME,
	SAMPLE_NODE,
	SAMPLE_WEIGHT,
	SAMPLE_PLACE,
	PLACE_FILE,
	PLACE_LINE,
	SOURCE_FILE,
	SOURCE_LINES,
	TEXT,
	STRINGS,
	COLUMNS
};

static const char *const column_names[COLUMNS] = {
	[NODE_UP] = "node.up",		 [NODE_FRAME] = "node.frame",
	[NODE_SELF] = "node.self",	 [NODE_BEFORE] = "node.before",
	[NODE_ENTRIES] = "node.entries", [REPEAT_NODE] = "repeat.node",
	[REPEAT_LEAST] = "repeat.least", [REPEAT_MOST] = "repeat.most",
	[REPEAT_SPAN] = "repeat.span",	 [FRAME_NAME] = "frame.name",
	[FRAME_SHORT] = "frame.short",	 [FRAME_FILE] = "frame.file",
	[FRAME_LINE] = "frame.line",	 [FRAME_MODULE] = "frame.module",
	[FRAME_FLAGS] = "frame.flags",	 [SAMPLE_TIME] = "sample.time",
	[SAMPLE_NODE] = "sample.node",	 [SAMPLE_WEIGHT] = "sample.weight",
	[SAMPLE_PLACE] = "sample.place", [PLACE_FILE] = "place.file",
	[PLACE_LINE] = "place.line",	 [SOURCE_FILE] = "source.file",
	[SOURCE_LINES] = "source.lines", [TEXT] = "text",
	[STRINGS] = "strings",
};

struct column {
	unsigned char *bytes;
	size_t n, capacity;
	uint64_t values;
};

struct frame_key {
	uint32_t name, file, line, module,
		flags; /* no padding, because keys are compared as bytes */
};

struct frame_slot {
	struct frame_key key;
	uint32_t number;
	UT_hash_handle hh;
};

struct writer {
	const struct html_page *page;
	struct column columns[COLUMNS];
	struct frame_slot *frames;
	uint32_t *string_numbers; /* by number in the symbol table; 0: not used yet */
	size_t n_string_numbers;
	uint32_t *short_numbers; /* the same of short forms */
	size_t n_short_numbers;
	uint32_t n_frames, n_strings, n_nodes, last_repeat;
	uint32_t *map; /* node of the tree -> node of the page */
	uint64_t hidden;
	bool no_memory;
};

/* ---- columns --------------------------------------------------------------------- */

static void put_column_bytes(struct writer *w, struct column *c, const void *data, size_t size)
{
	if (array_reserve(&c->bytes, &c->capacity, c->n + size, 1)) {
		w->no_memory = true;
		return;
	}
	if (size)
		memcpy(c->bytes + c->n, data, size);
	c->n += size;
}

static void put_value(struct writer *w, enum column_number column, uint64_t value)
{
	unsigned char bytes[10];
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[n++] = value | 0x80;
	bytes[n++] = value;
	put_column_bytes(w, &w->columns[column], bytes, n);
	w->columns[column].values++;
}

static void put_text_line(struct writer *w, enum column_number column, const char *text)
{
	put_column_bytes(w, &w->columns[column], text, strlen(text));
	put_column_bytes(w, &w->columns[column], "\n", 1);
	w->columns[column].values++;
}

static void put_page_string(struct writer *w, const char *text)
{
	char buffer[4096];

	put_text_line(w, STRINGS, text_clean(text, buffer, sizeof(buffer)));
}

static uint32_t number_page_string(struct writer *w, uint32_t string, const char *text,
				   uint32_t **numbers, size_t *n)
{
	if (!string)
		return 0;
	if (array_reach(numbers, n, string, 1024, sizeof(uint32_t))) {
		w->no_memory = true;
		return 0;
	}
	if (!(*numbers)[string]) {
		put_page_string(w, text);
		(*numbers)[string] = ++w->n_strings;
	}
	return (*numbers)[string];
}

/* Returns the number of a string in the page. Numbers follow the order in which frames use the
 * strings. */
static uint32_t page_string_number(struct writer *w, uint32_t string)
{
	return number_page_string(w, string, symbol_table_string(w->page->names, string),
				  &w->string_numbers, &w->n_string_numbers);
}

static uint32_t page_short_number(struct writer *w, uint32_t string)
{
	const char *text = symbol_table_short(w->page->names, string);

	if (text == symbol_table_string(w->page->names, string))
		return 0;
	return number_page_string(w, string, text, &w->short_numbers, &w->n_short_numbers);
}

/* ---- frames ---------------------------------------------------------------------- */

static uint32_t page_frame_number(struct writer *w, const struct frame_key *key)
{
	struct frame_slot *slot;

	HASH_FIND(hh, w->frames, key, sizeof(*key), slot);
	if (slot)
		return slot->number;
	slot = calloc(1, sizeof(*slot));
	if (!slot) {
		w->no_memory = true;
		return 0;
	}
	slot->key = *key;
	slot->number = w->n_frames++;
	HASH_ADD(hh, w->frames, key, sizeof(slot->key), slot);
	if (!hash_added(slot)) {
		free(slot);
		w->no_memory = true;
		return 0;
	}
	put_value(w, FRAME_NAME, page_string_number(w, key->name));
	put_value(w, FRAME_SHORT, page_short_number(w, key->name));
	put_value(w, FRAME_FILE, page_string_number(w, key->file));
	put_value(w, FRAME_LINE, key->line);
	put_value(w, FRAME_MODULE, (uint32_t)(key->module + 1));
	put_value(w, FRAME_FLAGS, key->flags);
	return slot->number;
}

static uint32_t frame_flags(const struct html_page *page, uint32_t node)
{
	const struct cct_key *key = page->tree->nodes[node].key;
	uint32_t flags = key->flags & CCT_INLINED ? FLAG_INLINED : 0;

	switch (key->kind) {
	case DECODE_FRAME_TAIL:
		flags |= FLAG_TAIL;
		break;
	case DECODE_FRAME_FOREIGN:
		flags |= key->flags & CCT_KERNEL ? FLAG_FOREIGN | FLAG_KERNEL : FLAG_FOREIGN;
		flags |= key->flags & CCT_RESTORED ? FLAG_RESTORED : 0;
		break;
	case DECODE_FRAME_GAP:
		flags |= FLAG_GAP;
		break;
	case DECODE_FRAME_SIGNAL:
		flags |= FLAG_SIGNAL;
		break;
	case DECODE_FRAME_ORIGIN:
		flags |= FLAG_ORIGIN;
		break;
	default:
		break;
	}
	if (page->calls)
		flags |= (uint32_t)page->calls[node] << FLAG_CALL_SHIFT;
	return flags;
}

/* ---- nodes that are left out ----------------------------------------------------- */

struct left_out {
	uint64_t before, nodes;
	uint64_t total; /* of the first event */
	uint32_t entries;
	uint32_t number; /* its node in the page */
};

struct choice {
	uint32_t *depth;	/* UINT32_MAX: left out */
	uint64_t *totals;	/* NULL with one event; else by node, then by event */
	uint64_t *others;	/* the same: those of its children that are left out */
	uint64_t *total_before; /* NULL without before */
	uint32_t *entries;	/* maximum of the node and the nodes below; NULL without entries */
	struct left_out *left_out; /* by node: its children that are left out */
};

/* With several events, returns the greatest share of one. */
static uint64_t page_weight(const struct html_page *page, const struct choice *c, uint32_t node)
{
	double most = 0;

	if (!c->totals)
		return page->tree->nodes[node].total +
		       (c->total_before ? c->total_before[node] : 0);
	for (size_t e = 0; e < page->n_events; e++) {
		double whole = c->totals[e], part = c->totals[node * page->n_events + e];

		if (whole > 0 && part / whole > most)
			most = part / whole;
	}
	return (uint64_t)(most * WHOLE);
}

/* Returns the least total with which at most max_nodes remain. */
static uint64_t least_weight(const struct html_page *page, const struct choice *c)
{
	size_t counts[HISTOGRAM_BUCKETS] = {0}, n = 0;
	uint64_t given = page->least * (c->totals ? WHOLE : page->tree->nodes[0].total);

	if (!page->max_nodes || page->tree->n <= page->max_nodes)
		return given;
	for (uint32_t i = 0; i < page->tree->n; i++)
		counts[histogram_bucket_of(page_weight(page, c, i))]++;
	for (unsigned int b = HISTOGRAM_BUCKETS; b-- > 0;) {
		n += counts[b];
		if (n > page->max_nodes) {
			uint64_t least = b + 1 < HISTOGRAM_BUCKETS ? histogram_bucket_least(b + 1)
								   : UINT64_MAX;

			return least > given ? least : given;
		}
	}
	return given;
}

/* Sums up the weights of several events. 0 or -ENOMEM. */
static int sum_events(const struct html_page *page, struct choice *c)
{
	size_t events = page->n_events, n = page->tree->n;

	c->totals = malloc(n * events * sizeof(*c->totals));
	c->others = calloc(n * events, sizeof(*c->others));
	if (!c->totals || !c->others)
		return -ENOMEM;
	memcpy(c->totals, page->self, n * events * sizeof(*c->totals));
	for (size_t i = n; i-- > 1;)
		for (size_t e = 0; e < events; e++)
			c->totals[page->tree->nodes[i].parent * events + e] +=
				c->totals[i * events + e];
	return 0;
}

static void leave_out_node(const struct html_page *page, struct choice *c, uint32_t node)
{
	uint32_t parent = page->tree->nodes[node].parent;
	struct left_out *l = &c->left_out[parent];

	c->depth[node] = UINT32_MAX;
	l->nodes++;
	l->total += page->tree->nodes[node].total;
	l->before += c->total_before ? c->total_before[node] : 0;
	for (size_t e = 0; c->totals && e < page->n_events; e++)
		c->others[parent * page->n_events + e] += c->totals[node * page->n_events + e];
	if (c->entries && c->entries[node] > l->entries)
		l->entries = c->entries[node];
}

static int choose_nodes(struct writer *w, struct choice *c)
{
	const struct html_page *page = w->page;
	const struct cct *t = page->tree;
	uint64_t least;

	c->depth = calloc(t->n, sizeof(*c->depth));
	c->left_out = calloc(t->n, sizeof(*c->left_out));
	if (page->before) {
		c->total_before = malloc(t->n * sizeof(*c->total_before));
		if (!c->total_before)
			return -ENOMEM;
		memcpy(c->total_before, page->before, t->n * sizeof(*c->total_before));
		for (size_t i = t->n; i-- > 1;)
			c->total_before[t->nodes[i].parent] += c->total_before[i];
	}
	if (page->entries) {
		c->entries = malloc(t->n * sizeof(*c->entries));
		if (!c->entries)
			return -ENOMEM;
		memcpy(c->entries, page->entries, t->n * sizeof(*c->entries));
		for (size_t i = t->n; i-- > 1;)
			if (c->entries[i] > c->entries[t->nodes[i].parent])
				c->entries[t->nodes[i].parent] = c->entries[i];
	}
	if (!c->depth || !c->left_out || (page->n_events && sum_events(page, c)))
		return -ENOMEM;
	least = least_weight(page, c);
	for (size_t i = 1; i < t->n; i++) {
		uint32_t parent = t->nodes[i].parent, depth = c->depth[parent];

		c->depth[i] = depth == UINT32_MAX ? UINT32_MAX : depth + 1;
		if (depth == UINT32_MAX) {
			w->hidden++;
		} else if (page_weight(page, c, i) < least ||
			   (page->max_depth && depth + 1 > page->max_depth)) {
			leave_out_node(page, c, i);
			w->hidden++;
		}
	}
	return 0;
}

static void free_choice(struct choice *c)
{
	free(c->depth);
	free(c->totals);
	free(c->others);
	free(c->total_before);
	free(c->entries);
	free(c->left_out);
}

/* ---- nodes ----------------------------------------------------------------------- */

/* self: by event */
static uint32_t put_page_node(struct writer *w, uint32_t up, const struct frame_key *key,
			      const uint64_t *self, uint64_t before, uint32_t entries)
{
	put_value(w, NODE_UP, up);
	put_value(w, NODE_FRAME, page_frame_number(w, key));
	put_value(w, NODE_SELF, self[0]);
	for (size_t e = 1; e < w->page->n_events; e++)
		put_value(w, NODE_SELF, self[e]);
	if (w->page->before)
		put_value(w, NODE_BEFORE, before);
	if (w->page->entries)
		put_value(w, NODE_ENTRIES, entries);
	return w->n_nodes++;
}

static void put_tree_node(struct writer *w, uint32_t node, uint32_t up)
{
	const struct html_page *page = w->page;
	const struct cct_node *n = &page->tree->nodes[node];
	struct frame_key key = {
		.name = n->key->name,
		.file = n->key->file,
		.line = n->key->line,
		.module = n->key->module,
		.flags = frame_flags(page, node),
	};

	w->map[node] = put_page_node(
		w, up, &key, page->n_events ? page->self + node * page->n_events : &n->self,
		page->before ? page->before[node] : 0, page->entries ? page->entries[node] : 0);
	if (n->repeat_max) {
		put_value(w, REPEAT_NODE, w->map[node] - w->last_repeat);
		put_value(w, REPEAT_LEAST, n->repeat_min);
		put_value(w, REPEAT_MOST, n->repeat_max);
		put_value(w, REPEAT_SPAN, n->key->span);
		w->last_repeat = w->map[node];
	}
}

/* Returns this node or the next sibling that is in the page; 0: none. */
static uint32_t next_shown_node(const struct cct *t, const struct choice *c, uint32_t node)
{
	while (node && c->depth[node] == UINT32_MAX)
		node = t->nodes[node].next;
	return node;
}

static void put_page_nodes(struct writer *w, struct choice *c)
{
	static const struct frame_key rest = {.module = UINT32_MAX, .flags = FLAG_LEFT_OUT};
	const struct cct *t = w->page->tree;
	uint32_t node = 0, up = 0;

	for (;;) {
		uint32_t next;

		put_tree_node(w, node, up);
		up = 0;
		next = next_shown_node(t, c, t->nodes[node].child);
		while (!next) {
			struct left_out *l = &c->left_out[node];

			if (l->nodes) {
				const uint64_t *others =
					c->others ? c->others + node * w->page->n_events : NULL;

				l->number = put_page_node(w, up, &rest, others ? others : &l->total,
							  l->before, l->entries);
				up = 1;
			}
			if (!node)
				return;
			up++;
			next = next_shown_node(t, c, t->nodes[node].next);
			node = t->nodes[node].parent;
		}
		node = next;
	}
}

static int put_page_tree(struct writer *w)
{
	const struct cct *t = w->page->tree;
	struct choice c = {0};
	int r = choose_nodes(w, &c);

	w->map = malloc(t->n * sizeof(*w->map));
	if (r || !w->map) {
		free_choice(&c);
		return -ENOMEM;
	}
	put_page_nodes(w, &c);
	for (size_t i = 1; i < t->n; i++) {
		uint32_t parent = t->nodes[i].parent;

		if (c.depth[i] == UINT32_MAX)
			w->map[i] = c.depth[parent] == UINT32_MAX ? w->map[parent]
								  : c.left_out[parent].number;
	}
	free_choice(&c);
	return 0;
}

/* ---- samples and threads --------------------------------------------------------- */

static void put_page_samples(struct writer *w)
{
	const struct html_page *page = w->page;
	uint64_t first = UINT64_MAX;
	bool weights = false;

	for (size_t i = 0; i < page->n_samples; i++) {
		first = page->samples[i].time < first ? page->samples[i].time : first;
		weights |= page->samples[i].weight != 1;
	}
	for (size_t t = 0; t < page->n_threads; t++) {
		uint64_t last = 0;
		uint32_t event = 0;

		for (size_t i = page->threads[t].first; i < page->threads[t].last; i++) {
			const struct html_sample *s = &page->samples[i];
			uint64_t tick = (s->time - first) / TICK;

			if (s->event != event)
				last = 0;
			event = s->event;
			put_value(w, SAMPLE_TIME, tick - last);
			put_value(w, SAMPLE_NODE, w->map[s->node]);
			if (weights)
				put_value(w, SAMPLE_WEIGHT, s->weight);
			if (page->n_places)
				put_value(w, SAMPLE_PLACE, s->place);
			last = tick;
		}
	}
}

static void put_page_sources(struct writer *w)
{
	const struct html_page *page = w->page;

	for (size_t i = 0; i < page->n_places; i++) {
		put_value(w, PLACE_FILE, page_string_number(w, page->places[i].file));
		put_value(w, PLACE_LINE, page->places[i].line);
	}
	for (size_t i = 0; i < page->n_sources; i++) {
		const struct html_source *s = &page->sources[i];
		char line[SOURCE_LINE_MAX];

		put_value(w, SOURCE_FILE, page_string_number(w, s->file));
		put_value(w, SOURCE_LINES, s->text.n);
		for (size_t k = 0; k < s->text.n; k++)
			put_text_line(w, TEXT, source_file_line(&s->text, k, line, sizeof(line)));
	}
}

static json_t *events_array(const struct writer *w)
{
	json_t *list = json_array();
	int r = 0;

	for (size_t i = 0; i < w->page->n_events; i++) {
		const struct html_event *e = &w->page->events[i];

		r |= json_array_append_new(
			list, json_pack("{sosbsIsIsI}", "name", json_clean_string(e->name), "bytes",
					e->bytes, "scale", (json_int_t)e->scale, "samples",
					(json_int_t)e->samples, "weight", (json_int_t)e->weight));
	}
	if (!r)
		return list;
	json_decref(list);
	return NULL;
}

/* Returns the number of a thread's samples, or a list of those of each event. */
static json_t *samples_of_thread(const struct writer *w, const struct html_thread *t)
{
	json_t *list;
	int r = 0;

	if (!w->page->n_events)
		return json_integer(t->last - t->first);
	list = json_array();
	for (uint64_t i = t->first, e = 0; e < w->page->n_events; e++) {
		uint64_t first = i;

		while (i < t->last && w->page->samples[i].event == e)
			i++;
		r |= json_array_append_new(list, json_integer(i - first));
	}
	if (!r)
		return list;
	json_decref(list);
	return NULL;
}

static json_t *threads_array(const struct writer *w)
{
	json_t *list = json_array();
	int r = list ? 0 : -1;

	for (size_t i = 0; i < w->page->n_threads && !r; i++) {
		const struct html_thread *t = &w->page->threads[i];
		json_t *o = json_object();

		r |= json_object_set_new(o, "pid", json_integer(t->pid));
		r |= json_object_set_new(o, "tid", json_integer(t->tid));
		r |= json_object_set_new(o, "samples", samples_of_thread(w, t));
		if (t->name)
			r |= json_object_set_new(o, "name", json_clean_string(t->name));
		if (t->origin && *t->origin)
			r |= json_object_set_new(o, "origin", json_clean_string(t->origin));
		r |= json_array_append_new(list, o);
	}
	if (r) {
		json_decref(list);
		return NULL;
	}
	return list;
}

static json_t *head_object(const struct writer *w)
{
	json_t *head = json_object(), *modules = json_array(), *columns = json_array();
	int r = 0;

	for (uint32_t i = 0; i < symbol_table_modules(w->page->names); i++)
		r |= json_array_append_new(modules,
					   json_clean_string(symbol_table_base(w->page->names, i)));
	for (int i = 0; i < COLUMNS; i++) {
		const struct column *c = &w->columns[i];

		if (c->values)
			r |= json_array_append_new(columns, json_pack("[sII]", column_names[i],
								      (json_int_t)c->values,
								      (json_int_t)c->n));
	}
	if (w->hidden)
		r |= json_object_set_new(w->page->facts, "hidden", json_integer(w->hidden));
	r |= json_object_set_new(head, "version", json_integer(1));
	r |= json_object_set_new(head, "title", json_clean_string(w->page->title));
	r |= json_object_set(head, "facts", w->page->facts);
	r |= json_object_set_new(head, "full_names",
				 json_boolean(symbol_table_shows_full(w->page->names)));
	r |= json_object_set_new(head, "modules", modules);
	r |= json_object_set_new(head, "threads", threads_array(w));
	if (w->page->n_events)
		r |= json_object_set_new(head, "events", events_array(w));
	r |= json_object_set_new(head, "tick", json_integer(TICK));
	r |= json_object_set_new(head, "columns", columns);
	if (r) {
		json_decref(head);
		return NULL;
	}
	return head;
}

/* ---- the whole ------------------------------------------------------------------- */

static int write_data(const struct writer *w, FILE *out)
{
	json_t *head = head_object(w);
	char *json = head ? json_dumps(head, JSON_COMPACT) : NULL;
	struct deflate_base64 s;
	int r = -ENOMEM;

	json_decref(head);
	if (json && !deflate_base64_begin(&s, out)) {
		size_t n = strlen(json);
		unsigned char length[4] = {n, n >> 8, n >> 16, n >> 24};

		deflate_base64_put(&s, length, sizeof(length));
		deflate_base64_put(&s, json, n);
		for (int i = 0; i < COLUMNS; i++)
			deflate_base64_put(&s, w->columns[i].bytes, w->columns[i].n);
		deflate_base64_end(&s);
		r = 0;
	}
	free(json);
	return r;
}

int html_page_write(const struct html_page *page, FILE *out)
{
	const char *mark = strstr(html_page_text, MARK);
	struct writer w = {.page = page};
	int r;

	put_page_string(&w, "");
	r = put_page_tree(&w);
	if (!r) {
		put_page_samples(&w);
		put_page_sources(&w);
	}
	if (w.no_memory)
		r = -ENOMEM;
	if (!r) {
		fwrite(html_page_text, 1, mark - html_page_text, out);
		r = write_data(&w, out);
		mark += strlen(MARK);
		fwrite(mark, 1, html_page_text_end - mark, out);
	}
	hash_free(w.frames, free);
	for (int i = 0; i < COLUMNS; i++)
		free(w.columns[i].bytes);
	free(w.string_numbers);
	free(w.short_numbers);
	free(w.map);
	return r;
}
