/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Writes the format of pprof: the protocol buffers of pprof.proto, compressed with gzip. `go tool
 * pprof` and many other tools read it.
 *
 * A sample is one context at one instruction in one thread. It has a value for each event that is
 * shown, of which one is not 0, and before them the number of samples. Each event of allocations
 * has its number before its bytes, as pprof knows them.
 *
 * Addresses are link-time addresses. They lie in mappings that begin at the link address of a
 * module's code. So they are equal in all runs of a program, and profiles can be compared. The file
 * contains all functions and lines. pprof needs the programs for disassembly only.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/text.h"
#include "pprof.pb-c.h"
#include "format/format.h"
#include "base/gzip.h"
#include "profile/location_stacks.h"
#include "format/string_index.h"

#define PPROF_SAMPLE_FIELD 2 /* field number of Pprof.sample */

struct sink {
	struct gzip_out *gzip;
	bool failed; /* no memory */
};

/* One packed message. */
struct packed {
	uint8_t *bytes;
	size_t size, capacity;
};

struct writer {
	const struct profile *p;
	struct sink sink;
	struct string_index strings;
	struct locations locations;
	struct unrolled_path stacks;
	struct {
		struct format_unit unit;
		char name[256];
	} values_of[RECORDING_ACCOUNTS]; /* n_values: one for each event that is shown */
	bool counts;			 /* each event has its own number of samples */
	uint32_t n_values, value_of_event[RECORDING_ACCOUNTS];
	uint32_t key_thread, key_tid, key_pid, key_process, key_base, key_origin,
		base; /* base: not 0 in the older profile of a difference */
	uint32_t first_string, first_location, first_function,
		first_mapping; /* numbers of entries that the file already has */
	struct packed *labels; /* labels of samples, by thread; bytes is NULL: not made yet */
	struct packed set;     /* those that the thread had set */
	uint32_t set_index;    /* 1 + of which set; 0: not made yet */
	struct packed stack, values,
		one;	      /* stack and values of the last sample; one: any other message */
	uint32_t instruction; /* the instruction of `stack` */
	uint64_t *ids;	      /* location ids of a sample */
	size_t ids_capacity;
};

/* Packs a message as a whole. The library can also pack it piece by piece, but this takes several
 * times as long. */
static void pprof_pack(struct writer *w, const ProtobufCMessage *message, struct packed *to)
{
	to->size = protobuf_c_message_get_packed_size(message);
	if (array_reserve(&to->bytes, &to->capacity, to->size + 1, 1)) {
		to->size = 0;
		w->sink.failed = true;
		return;
	}
	protobuf_c_message_pack(message, to->bytes);
}

static void pprof_put(struct writer *w, const Pprof *piece)
{
	pprof_pack(w, &piece->base, &w->one);
	gzip_out_put(w->sink.gzip, w->one.bytes, w->one.size);
}

/* Writes one message that consists of parts. The concatenation of packed parts is the packed
 * message, so parts that several samples share are packed only once. */
static void pprof_put_parts(struct writer *w, unsigned int field, const struct packed *const *parts,
			    size_t n)
{
	uint8_t head[16];
	size_t size = 0, at = 0;

	for (size_t i = 0; i < n; i++)
		size += parts[i]->size;
	head[at++] = field << 3 | 2;
	for (; size >= 0x80; size >>= 7)
		head[at++] = 0x80 | (size & 0x7f);
	head[at++] = size;
	gzip_out_put(w->sink.gzip, head, at);
	for (size_t i = 0; i < n; i++)
		gzip_out_put(w->sink.gzip, parts[i]->bytes, parts[i]->size);
}

/* Returns the number of a symbol table's string in the file's table. -1: no memory. */
static int64_t pprof_string(struct writer *w, uint32_t s)
{
	int64_t number = string_index_number(&w->strings, s);

	return number > 0 ? w->first_string + number : number;
}

static int64_t pprof_text(struct writer *w, const char *s)
{
	return pprof_string(w, symbol_table_intern(w->p->names, s));
}

/* ---- samples --------------------------------------------------------------------- */

static int pack_labels(struct writer *w, uint32_t thread)
{
	const struct thread *t = threads_get(w->p->threads, thread);
	PprofLabel labels[6] = {PPROF_LABEL__INIT, PPROF_LABEL__INIT, PPROF_LABEL__INIT,
				PPROF_LABEL__INIT, PPROF_LABEL__INIT, PPROF_LABEL__INIT};
	PprofLabel *label[6];
	PprofSample sample = PPROF_SAMPLE__INIT;
	int64_t name = pprof_string(w, t->name), process = pprof_string(w, t->process), origin;
	char *created = format_origin(w->p, t);
	size_t n = 0;

	origin = created ? pprof_text(w, created) : -1;
	free(created);
	if (name < 0 || process < 0 || origin < 0)
		return -ENOMEM;
	if (origin) {
		labels[n].key = w->key_origin;
		labels[n++].str = origin;
	}
	if (name) {
		labels[n].key = w->key_thread;
		labels[n++].str = name;
	}
	if (process) {
		labels[n].key = w->key_process;
		labels[n++].str = process;
	}
	labels[n].key = w->key_tid;
	labels[n++].num = t->tid;
	labels[n].key = w->key_pid;
	labels[n++].num = t->pid;
	if (w->base) {
		labels[n].key = w->key_base;
		labels[n++].str = w->base;
	}
	for (size_t i = 0; i < n; i++)
		label[i] = &labels[i];
	sample.n_label = n;
	sample.label = label;
	pprof_pack(w, &sample.base, &w->labels[thread]);
	return 0;
}

/* Packs the labels that a thread had set itself. index: of their set, or 0. */
static int pack_label_set(struct writer *w, uint32_t index)
{
	const struct label_set *set = profile_labels(w->p, index);
	PprofSample sample = PPROF_SAMPLE__INIT;
	size_t n = set ? set->content.n : 0;
	PprofLabel *labels = calloc(n + 1, sizeof(*labels));
	PprofLabel **label = calloc(n + 1, sizeof(*label));
	const char *key = NULL, *value;
	int r = labels && label ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !r && (value = label_set_next(set, &key)); i++) {
		int64_t k = pprof_text(w, key), v = pprof_text(w, value);

		pprof_label__init(&labels[i]);
		labels[i].key = k;
		labels[i].str = v;
		label[i] = &labels[i];
		sample.n_label = i + 1;
		r = k < 0 || v < 0 ? -ENOMEM : 0;
	}
	sample.label = label;
	if (!r)
		pprof_pack(w, &sample.base, &w->set);
	w->set_index = 1 + index;
	free(labels);
	free(label);
	return r;
}

static int pack_stack(struct writer *w, const struct profile_cell *cell)
{
	PprofSample sample = PPROF_SAMPLE__INIT;

	if (location_stacks_get(&w->stacks, cell->node, cell->place))
		return -ENOMEM;
	if (array_reserve(&w->ids, &w->ids_capacity, w->stacks.n, sizeof(*w->ids)))
		return -ENOMEM;
	for (size_t i = 0; i < w->stacks.n; i++)
		w->ids[i] = w->first_location + w->stacks.frames[w->stacks.n - 1 - i] + 1;
	sample.n_location_id = w->stacks.n;
	sample.location_id = w->ids;
	pprof_pack(w, &sample.base, &w->stack);
	w->instruction = cell->instruction;
	return 0;
}

/* Where the values of an event are. */
static uint32_t place_of_samples(const struct writer *w, uint32_t value)
{
	return w->counts ? 2 * value : 0;
}

static uint32_t place_of_weight(const struct writer *w, uint32_t value)
{
	return w->counts ? 2 * value + 1 : value + 1;
}

static int pprof_put_sample(void *ctx, const struct profile_cell *cell)
{
	struct writer *w = ctx;
	int64_t sign = w->base ? -1 : 1;
	int64_t value[2 * RECORDING_ACCOUNTS] = {0};
	uint32_t i = w->value_of_event[cell->event];
	const struct packed *const parts[] = {&w->stack, &w->values, &w->labels[cell->thread],
					      &w->set};
	PprofSample sample = PPROF_SAMPLE__INIT;

	if (!w->labels[cell->thread].bytes && pack_labels(w, cell->thread))
		return -ENOMEM;
	if (w->set_index != 1 + cell->labels && pack_label_set(w, cell->labels))
		return -ENOMEM;
	if ((!w->stack.bytes || w->instruction != cell->instruction) && pack_stack(w, cell))
		return -ENOMEM;
	value[place_of_samples(w, i)] = sign * (int64_t)cell->samples;
	value[place_of_weight(w, i)] = sign * (int64_t)(cell->weight * w->values_of[i].unit.scale);
	sample.n_value = place_of_weight(w, w->n_values - 1) + 1;
	sample.value = value;
	pprof_pack(w, &sample.base, &w->values);
	if (w->sink.failed)
		return -ENOMEM;
	pprof_put_parts(w, PPROF_SAMPLE_FIELD, parts, 4);
	return 0;
}

/* ---- tables ---------------------------------------------------------------------- */

static int pprof_put_mappings(struct writer *w)
{
	const struct symbol_table *names = w->p->names;

	for (uint32_t i = 0; i < symbol_table_modules(names); i++) {
		PprofMapping mapping = PPROF_MAPPING__INIT, *one = &mapping;
		const struct encoding_table *t = symbol_table_table(names, i);
		uint64_t low = 0, high = 0, base = t ? t->head->base : 0;
		char id[SYMBOL_TABLE_BUILD_ID];
		Pprof piece = PPROF__INIT;

		symbol_table_code(names, i, &low, &high);
		mapping.id = w->first_mapping + i + 1;
		mapping.memory_start = low;
		mapping.memory_limit = high;
		/* The usual offset of code in the file. The recording does not contain the real
		 * one. */
		mapping.file_offset = low >= base ? low - base : 0;
		mapping.filename = pprof_text(w, symbol_table_path(names, i));
		mapping.build_id = pprof_text(w, symbol_table_build_id_text(names, i, id));
		mapping.has_functions = mapping.has_filenames = true;
		mapping.has_line_numbers = mapping.has_inline_frames = true;
		if (mapping.filename < 0 || mapping.build_id < 0)
			return -ENOMEM;
		piece.n_mapping = 1;
		piece.mapping = &one;
		pprof_put(w, &piece);
	}
	return 0;
}

static int pprof_put_locations(struct writer *w)
{
	const struct locations *l = &w->locations;
	size_t capacity = 0;
	PprofLine *lines = NULL, **line = NULL;
	int r = 0;

	for (size_t i = 0; i < l->n && !r; i++) {
		PprofLocation location = PPROF_LOCATION__INIT, *one = &location;
		const struct location *from = &l->list[i];
		Pprof piece = PPROF__INIT;

		if (from->n > capacity) {
			capacity = from->n * 2;
			free(lines);
			free(line);
			lines = malloc(capacity * sizeof(*lines));
			line = malloc(capacity * sizeof(*line));
			if (!lines || !line) {
				r = -ENOMEM;
				break;
			}
		}
		for (uint32_t k = 0; k < from->n; k++) {
			pprof_line__init(&lines[k]);
			lines[k].function_id =
				w->first_function + l->lines[from->first + k].function + 1;
			lines[k].line = l->lines[from->first + k].line;
			line[k] = &lines[k];
		}
		location.id = w->first_location + i + 1;
		location.mapping_id = from->place.module == UINT32_MAX
					      ? 0
					      : w->first_mapping + from->place.module + 1;
		location.address = from->place.vaddr;
		location.n_line = from->n;
		location.line = line;
		piece.n_location = 1;
		piece.location = &one;
		pprof_put(w, &piece);
	}
	free(lines);
	free(line);
	return r;
}

static int pprof_put_functions(struct writer *w)
{
	for (size_t i = 0; i < w->locations.n_functions; i++) {
		const struct location_function *f = &w->locations.functions[i];
		PprofFunction function = PPROF_FUNCTION__INIT, *one = &function;
		Pprof piece = PPROF__INIT;

		function.id = w->first_function + i + 1;
		function.name = pprof_string(w, f->name);
		function.system_name = pprof_text(w, locations_system_name(&w->locations, i));
		function.filename = pprof_string(w, f->file);
		if (function.name < 0 || function.system_name < 0 || function.filename < 0)
			return -ENOMEM;
		piece.n_function = 1;
		piece.function = &one;
		pprof_put(w, &piece);
	}
	return 0;
}

static void pprof_put_string(struct writer *w, const char *s)
{
	char buffer[4096];
	char *clean = (char *)text_clean(s, buffer, sizeof(buffer));
	Pprof piece = PPROF__INIT;

	piece.n_string_table = 1;
	piece.string_table = &clean;
	pprof_put(w, &piece);
}

static int pprof_put_head(struct writer *w)
{
	const struct profile *p = w->p;
	const struct format_unit *first = &w->values_of[0].unit;
	PprofType list[2 * RECORDING_ACCOUNTS], *types[2 * RECORDING_ACCOUNTS], period;
	uint32_t n = place_of_weight(w, w->n_values - 1) + 1;
	Pprof piece = PPROF__INIT;
	int64_t comments[3];
	char facts[256], only[1024];

	for (uint32_t i = 0; i < w->n_values; i++) {
		const struct format_unit *unit = &w->values_of[i].unit;
		PprofType *count = &list[place_of_samples(w, i)],
			  *weight = &list[place_of_weight(w, i)];

		if (!i || w->counts) {
			pprof_type__init(count);
			count->type = pprof_text(w, unit->samples);
			count->unit = pprof_text(w, "count");
		}
		pprof_type__init(weight);
		weight->type = pprof_text(w, unit->type);
		weight->unit = pprof_text(w, unit->unit);
	}
	for (uint32_t i = 0; i < n; i++) {
		types[i] = &list[i];
		if (list[i].type < 0 || list[i].unit < 0)
			return -ENOMEM;
	}
	period = list[1];
	snprintf(facts, sizeof(facts),
		 "pcce: %llu of %llu samples exact, %llu truncated, %llu undecodable, %llu "
		 "outside, %llu lost",
		 (unsigned long long)p->stats.exact, (unsigned long long)p->stats.samples,
		 (unsigned long long)p->stats.truncated, (unsigned long long)p->stats.undecodable,
		 (unsigned long long)p->stats.outside, (unsigned long long)p->stats.lost);
	comments[0] = pprof_text(w, p->command);
	comments[1] = pprof_text(w, facts);
	comments[2] = pprof_text(w, format_only(p, only, sizeof(only)));
	if (comments[0] < 0 || comments[1] < 0 || comments[2] < 0)
		return -ENOMEM;
	piece.n_sample_type = n;
	piece.sample_type = types;
	piece.default_sample_type = list[1].type;
	piece.time_nanos = p->wall_time;
	piece.duration_nanos = p->last > p->first ? p->last - p->first : 0;
	piece.period_type = &period;
	piece.period = p->period && !first->clock ? p->period : first->scale;
	piece.n_comment = *only ? 3 : 2;
	piece.comment = comments;
	pprof_put(w, &piece);
	return 0;
}

static int pprof_put_body(struct writer *w, bool head)
{
	int64_t thread = pprof_text(w, "thread"), tid = pprof_text(w, "tid"),
		pid = pprof_text(w, "pid"), process = pprof_text(w, "process"),
		origin = pprof_text(w, "origin");
	int64_t base = head ? 0 : pprof_text(w, "pprof::base"),
		truth = head ? 0 : pprof_text(w, "true");
	int r;

	if (thread < 0 || tid < 0 || pid < 0 || process < 0 || origin < 0 || base < 0 || truth < 0)
		return -ENOMEM;
	w->key_thread = thread;
	w->key_origin = origin;
	w->key_tid = tid;
	w->key_pid = pid;
	w->key_process = process;
	w->key_base = base;
	w->base = truth;
	r = head ? pprof_put_head(w) : 0;
	r = r ? r : profile_cells(w->p, pprof_put_sample, w);
	r = r ? r : pprof_put_mappings(w);
	r = r ? r : pprof_put_locations(w);
	r = r ? r : pprof_put_functions(w);
	if (head)
		pprof_put_string(w, "");
	for (size_t i = 1; i <= w->strings.n && !r; i++)
		pprof_put_string(w, symbol_table_string(w->p->names, w->strings.list[i]));
	return r;
}

static void choose_values(struct writer *w)
{
	const struct profile *p = w->p;

	for (uint32_t i = 0; i < p->n_events; i++) {
		char *name = w->values_of[w->n_values].name;

		if (!profile_event_facts(p, i).shown)
			continue;
		w->value_of_event[i] = w->n_values;
		profile_event(p, i, name, sizeof(w->values_of[0].name));
		w->values_of[w->n_values++].unit = format_event_unit(p, i, name);
	}
	if (w->n_values <= 1) {
		w->n_values = 1;
		w->values_of[0].unit = format_unit(p);
	}
	w->counts = w->values_of[0].unit.bytes;
}

/* after: the profile that the file already contains; NULL: none. */
static int pprof_put_profile(struct writer *w, const struct profile *p, const struct writer *after)
{
	int r = locations_new(p, &w->locations);

	w->p = p;
	w->labels = calloc(threads_count(p->threads) + 1, sizeof(*w->labels));
	if (!w->labels)
		r = -ENOMEM;
	choose_values(w);
	location_stacks_init(&w->stacks, p, &w->locations);
	if (after) {
		w->first_string = after->strings.n;
		w->first_location = after->locations.n;
		w->first_function = after->locations.n_functions;
		w->first_mapping = symbol_table_modules(after->p->names);
	}
	r = r ? r : pprof_put_body(w, !after);
	return !r && w->sink.failed ? -ENOMEM : r;
}

static void free_writer(struct writer *w)
{
	unrolled_path_free(&w->stacks);
	locations_free(&w->locations);
	string_index_free(&w->strings);
	free(w->ids);
	for (size_t i = 0; w->labels && i < threads_count(w->p->threads); i++)
		free(w->labels[i].bytes);
	free(w->labels);
	free(w->stack.bytes);
	free(w->set.bytes);
	free(w->values.bytes);
	free(w->one.bytes);
}

int format_pprof_difference(const struct profile *now, const struct profile *before, FILE *out)
{
	struct gzip_out *gzip = gzip_out_new(out);
	struct writer first = {.sink = {.gzip = gzip}};
	struct writer second = {.sink = {.gzip = gzip}};
	int r = gzip ? pprof_put_profile(&first, now, NULL) : -ENOMEM, end;

	if (!r && before)
		r = pprof_put_profile(&second, before, &first);
	free_writer(&first);
	free_writer(&second);
	end = gzip ? gzip_out_end(gzip) : 0;
	return r ? r : end;
}

int format_pprof(const struct profile *p, const struct format_options *o, FILE *out)
{
	(void)o;
	return format_pprof_difference(p, NULL, out);
}
