/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Writes OpenTelemetry profiles (opentelemetry.proto.profiles.v1development) as one ProfilesData
 * message in protocol buffers.
 *
 * A sample is one context at one instruction in one thread. Thread and process are attributes of
 * the sample. Addresses are link-time addresses. They lie in mappings that begin at the link
 * address of a module's code, as in pprof.c.
 *
 * The size of a message comes before its contents. So the two large messages, the profile and the
 * dictionary, are first written to temporary files.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/uthash.h"
#include "base/message.h"
#include "base/text.h"
#include "otlp.pb-c.h"
#include "format/format.h"
#include "base/temp_file.h"
#include "profile/location_stacks.h"
#include "format/string_index.h"

/* Field numbers of the messages that this file writes without the library. */
enum { DATA_RESOURCE_PROFILES = 1, DATA_DICTIONARY = 2 };
enum { RESOURCE_RESOURCE = 1, RESOURCE_SCOPES = 2 };
enum { SCOPE_SCOPE = 1, SCOPE_PROFILES = 2 };
enum { PROFILE_SAMPLES = 2 };
enum {
	TABLE_MAPPING = 1,
	TABLE_LOCATION,
	TABLE_FUNCTION,
	TABLE_LINK,
	TABLE_STRING,
	TABLE_ATTRIBUTE,
	TABLE_STACK
};

#define THREAD_ATTRIBUTES 5

/* An attribute in the table. The hash key is its packed bytes. */
struct attribute {
	int32_t number;
	UT_hash_handle hh;
	uint8_t bytes[];
};

struct writer {
	const struct profile *p;
	struct string_index strings;
	struct locations locations;
	struct unrolled_path stacks;
	struct format_unit unit;
	FILE *dictionary, *profile;
	uint8_t *packed;
	size_t capacity;
	struct attribute *attributes;
	int32_t *threads; /* for each thread THREAD_ATTRIBUTES attributes and their number; 0: not
			     made yet */
	int32_t n_attributes, n_stacks;
	int32_t *sample_attributes; /* of the last sample */
	size_t n_sample_attributes, sample_attributes_capacity;
	uint32_t instruction; /* the instruction of the last stack written */
	int32_t *frames;
	size_t frames_capacity;
};

static void put_varint(uint64_t value, FILE *to)
{
	for (; value >= 0x80; value >>= 7)
		putc_unlocked(0x80 | (value & 0x7f), to);
	putc_unlocked(value, to);
}

static void put_field_head(unsigned int field, size_t size, FILE *to)
{
	put_varint(field << 3 | 2, to);
	put_varint(size, to);
}

static size_t field_head_size(size_t size)
{
	size_t n = 2;

	for (; size >= 0x80; size >>= 7)
		n++;
	return n;
}

static void put_field_bytes(unsigned int field, const void *data, size_t size, FILE *to)
{
	put_field_head(field, size, to);
	fwrite(data, 1, size, to);
}

/* Packs a message into w->packed. Returns its size, or SIZE_MAX: no memory. */
static size_t pack_message(struct writer *w, const ProtobufCMessage *message)
{
	size_t size = protobuf_c_message_get_packed_size(message);

	if (array_reserve(&w->packed, &w->capacity, size, 1))
		return SIZE_MAX;
	return protobuf_c_message_pack(message, w->packed);
}

static int put_message(struct writer *w, unsigned int field, const ProtobufCMessage *message,
		       FILE *to)
{
	size_t size = pack_message(w, message);

	if (size == SIZE_MAX)
		return -ENOMEM;
	put_field_bytes(field, w->packed, size, to);
	return 0;
}

static int64_t otlp_string(struct writer *w, uint32_t s)
{
	return string_index_number(&w->strings, s);
}

static int64_t otlp_text(struct writer *w, const char *s)
{
	return otlp_string(w, symbol_table_intern(w->p->names, s));
}

/* ---- attributes ------------------------------------------------------------------ */

/* Returns the number of the attribute in w->packed. 0: no memory. */
static int32_t intern_attribute(struct writer *w, size_t size)
{
	struct attribute *a;

	HASH_FIND(hh, w->attributes, w->packed, size, a);
	if (a)
		return a->number;
	a = malloc(sizeof(*a) + size);
	if (!a)
		return 0;
	memcpy(a->bytes, w->packed, size);
	a->number = ++w->n_attributes;
	HASH_ADD_KEYPTR(hh, w->attributes, a->bytes, size, a);
	if (!hash_added(a)) {
		free(a);
		return 0;
	}
	put_field_bytes(TABLE_ATTRIBUTE, a->bytes, size, w->dictionary);
	return a->number;
}

static void forget_attributes(struct writer *w)
{
	hash_free(w->attributes, free);
}

/* Returns the number of an attribute with the value s, or n if s is NULL. 0: no memory. */
static int32_t make_attribute(struct writer *w, const char *key, const char *s, int64_t n,
			      const char *unit)
{
	OtlpAttribute a = OTLP_ATTRIBUTE__INIT;
	OtlpValue value = OTLP_VALUE__INIT;
	int64_t k = otlp_text(w, key), u = otlp_text(w, unit);
	char buffer[4096];
	size_t size;

	if (s) {
		value.value_case = OTLP_VALUE__VALUE_STRING_VALUE;
		value.string_value = (char *)text_clean(s, buffer, sizeof(buffer));
	} else {
		value.value_case = OTLP_VALUE__VALUE_INT_VALUE;
		value.int_value = n;
	}
	a.key_strindex = k;
	a.unit_strindex = u;
	a.value = &value;
	size = k < 0 || u < 0 ? SIZE_MAX : pack_message(w, &a.base);
	return size == SIZE_MAX ? 0 : intern_attribute(w, size);
}

static int make_thread_attributes(struct writer *w, uint32_t thread)
{
	const struct thread *t = threads_get(w->p->threads, thread);
	int32_t *to = w->threads + (size_t)thread * (THREAD_ATTRIBUTES + 1);
	char *origin = format_origin(w->p, t);
	int32_t n = 0;

	if (!origin)
		return -ENOMEM;
	if (*origin)
		to[n++] = make_attribute(w, "pcce.thread.origin", origin, 0, "");
	free(origin);
	to[n++] = make_attribute(w, "thread.id", NULL, t->tid, "");
	to[n++] = make_attribute(w, "process.pid", NULL, t->pid, "");
	if (t->name)
		to[n++] = make_attribute(w, "thread.name",
					 symbol_table_string(w->p->names, t->name), 0, "");
	if (t->process)
		to[n++] = make_attribute(w, "process.executable.name",
					 symbol_table_string(w->p->names, t->process), 0, "");
	for (int32_t k = 0; k < n; k++)
		if (!to[k])
			return -ENOMEM;
	to[THREAD_ATTRIBUTES] = n;
	return 0;
}

/* ---- samples --------------------------------------------------------------------- */

static int otlp_put_stack(struct writer *w, const struct profile_cell *cell)
{
	OtlpStack stack = OTLP_STACK__INIT;

	if (location_stacks_get(&w->stacks, cell->node, cell->place))
		return -ENOMEM;
	if (array_reserve(&w->frames, &w->frames_capacity, w->stacks.n, sizeof(*w->frames)))
		return -ENOMEM;
	for (size_t i = 0; i < w->stacks.n; i++)
		w->frames[i] = w->stacks.frames[w->stacks.n - 1 - i] + 1;
	stack.n_location_indices = w->stacks.n;
	stack.location_indices = w->frames;
	w->n_stacks++;
	w->instruction = cell->instruction;
	return put_message(w, TABLE_STACK, &stack.base, w->dictionary);
}

/* Sets the attributes of a sample: those of its thread, and the labels that the thread had. */
static int otlp_add_labels(struct writer *w, uint32_t index, const int32_t *attributes)
{
	const struct label_set *set = profile_labels(w->p, index);
	size_t n = (size_t)attributes[THREAD_ATTRIBUTES];
	const char *key = NULL, *value;

	if (array_reserve(&w->sample_attributes, &w->sample_attributes_capacity,
			  n + (set ? set->content.n : 0), sizeof(*attributes)))
		return -ENOMEM;
	memcpy(w->sample_attributes, attributes, n * sizeof(*attributes));
	while (set && (value = label_set_next(set, &key))) {
		int32_t number = make_attribute(w, key, value, 0, "");

		if (!number)
			return -ENOMEM;
		w->sample_attributes[n++] = number;
	}
	w->n_sample_attributes = n;
	return 0;
}

static int otlp_put_sample(void *ctx, const struct profile_cell *cell)
{
	struct writer *w = ctx;
	int32_t *attributes = w->threads + (size_t)cell->thread * (THREAD_ATTRIBUTES + 1);
	int64_t value = cell->weight * w->unit.scale;
	OtlpSample sample = OTLP_SAMPLE__INIT;

	if (!attributes[THREAD_ATTRIBUTES] && make_thread_attributes(w, cell->thread))
		return -ENOMEM;
	if ((!w->n_stacks || w->instruction != cell->instruction) && otlp_put_stack(w, cell))
		return -ENOMEM;
	sample.stack_index = w->n_stacks;
	if (otlp_add_labels(w, cell->labels, attributes))
		return -ENOMEM;
	sample.n_attribute_indices = w->n_sample_attributes;
	sample.attribute_indices = w->sample_attributes;
	sample.n_values = 1;
	sample.values = &value;
	return put_message(w, PROFILE_SAMPLES, &sample.base, w->profile);
}

/* ---- tables ---------------------------------------------------------------------- */

/* Writes the first entry of each table, which is empty. */
static int otlp_put_empty_entries(struct writer *w)
{
	static uint8_t zeros[16];
	OtlpLink link = OTLP_LINK__INIT;

	link.trace_id = (ProtobufCBinaryData){16, zeros};
	link.span_id = (ProtobufCBinaryData){8, zeros};
	for (unsigned int table = TABLE_MAPPING; table <= TABLE_STACK; table++) {
		if (table != TABLE_LINK)
			put_field_bytes(table, zeros, 0, w->dictionary);
		else if (put_message(w, TABLE_LINK, &link.base, w->dictionary))
			return -ENOMEM;
	}
	return 0;
}

static int otlp_put_mappings(struct writer *w)
{
	const struct symbol_table *names = w->p->names;

	for (uint32_t i = 0; i < symbol_table_modules(names); i++) {
		OtlpMapping mapping = OTLP_MAPPING__INIT;
		const struct encoding_table *t = symbol_table_table(names, i);
		uint64_t low = 0, high = 0, base = t ? t->head->base : 0;
		int64_t name = otlp_text(w, symbol_table_path(names, i));
		char id[SYMBOL_TABLE_BUILD_ID];
		int32_t build_id = 0;

		symbol_table_build_id_text(names, i, id);
		if (*id)
			build_id = make_attribute(w, "process.executable.build_id.gnu", id, 0, "");
		symbol_table_code(names, i, &low, &high);
		mapping.memory_start = low;
		mapping.memory_limit = high;
		mapping.file_offset = low >= base ? low - base : 0;
		mapping.filename_strindex = name;
		mapping.n_attribute_indices = *id != 0;
		mapping.attribute_indices = &build_id;
		if (name < 0 || (*id && !build_id) ||
		    put_message(w, TABLE_MAPPING, &mapping.base, w->dictionary))
			return -ENOMEM;
	}
	return 0;
}

static int otlp_put_location(struct writer *w, const struct location *from)
{
	OtlpLine *lines = malloc(from->n * sizeof(*lines) + 1),
		 **line = malloc((from->n + 1) * sizeof(*line));
	OtlpLocation location = OTLP_LOCATION__INIT;
	int r = -ENOMEM;

	if (lines && line) {
		for (uint32_t k = 0; k < from->n; k++) {
			otlp_line__init(&lines[k]);
			lines[k].function_index = w->locations.lines[from->first + k].function + 1;
			lines[k].line = w->locations.lines[from->first + k].line;
			line[k] = &lines[k];
		}
		location.mapping_index =
			from->place.module == UINT32_MAX ? 0 : from->place.module + 1;
		location.address = from->place.vaddr;
		location.n_lines = from->n;
		location.lines = line;
		r = put_message(w, TABLE_LOCATION, &location.base, w->dictionary);
	}
	free(lines);
	free(line);
	return r;
}

static int otlp_put_function(struct writer *w, size_t i)
{
	const struct location_function *f = &w->locations.functions[i];
	int64_t name = otlp_string(w, f->name), file = otlp_string(w, f->file);
	int64_t system_name = otlp_text(w, locations_system_name(&w->locations, i));
	OtlpFunction function = OTLP_FUNCTION__INIT;

	function.name_strindex = name;
	function.system_name_strindex = system_name;
	function.filename_strindex = file;
	return name < 0 || file < 0 || system_name < 0
		       ? -ENOMEM
		       : put_message(w, TABLE_FUNCTION, &function.base, w->dictionary);
}

static int otlp_put_tables(struct writer *w)
{
	int r = otlp_put_mappings(w);

	for (size_t i = 0; i < w->locations.n && !r; i++)
		r = otlp_put_location(w, &w->locations.list[i]);
	for (size_t i = 0; i < w->locations.n_functions && !r; i++)
		r = otlp_put_function(w, i);
	for (size_t i = 1; i <= w->strings.n && !r; i++) {
		char buffer[4096];
		const char *s = text_clean(symbol_table_string(w->p->names, w->strings.list[i]),
					   buffer, sizeof(buffer));

		put_field_bytes(TABLE_STRING, s, strlen(s), w->dictionary);
	}
	return r;
}

/* Writes the whole profile except its samples. */
static int otlp_put_facts(struct writer *w)
{
	const struct profile *p = w->p;
	const struct profile_stats *s = &p->stats;
	int64_t type = otlp_text(w, w->unit.type), unit = otlp_text(w, w->unit.unit);
	OtlpProfile profile = OTLP_PROFILE__INIT;
	OtlpType types = OTLP_TYPE__INIT;
	int32_t facts[] = {
		make_attribute(w, "pcce.samples.exact", NULL, s->exact, "{sample}"),
		make_attribute(w, "pcce.samples.truncated", NULL, s->truncated, "{sample}"),
		make_attribute(w, "pcce.samples.undecodable", NULL, s->undecodable, "{sample}"),
		make_attribute(w, "pcce.samples.outside", NULL, s->outside, "{sample}"),
		make_attribute(w, "pcce.samples.lost", NULL, s->lost, "{sample}"),
	};
	size_t n = sizeof(facts) / sizeof(facts[0]), size;

	for (size_t i = 0; i < n; i++)
		if (!facts[i])
			return -ENOMEM;
	types.type_strindex = type;
	types.unit_strindex = unit;
	profile.sample_type = profile.period_type = &types;
	profile.time_unix_nano = p->wall_time;
	if (p->wall_time && p->first > p->start_time)
		profile.time_unix_nano += p->first - p->start_time;
	profile.duration_nano = p->last > p->first ? p->last - p->first + 1 : 0;
	profile.period = p->period && !w->unit.clock ? p->period : w->unit.scale;
	profile.n_attribute_indices = n;
	profile.attribute_indices = facts;
	size = type < 0 || unit < 0 ? SIZE_MAX : pack_message(w, &profile.base);
	if (size == SIZE_MAX)
		return -ENOMEM;
	fwrite(w->packed, 1, size, w->profile);
	return 0;
}

/* ---- the whole ------------------------------------------------------------------- */

static void set_key_value(OtlpKeyValue *to, OtlpValue *value, const char *key, const char *s,
			  char *buffer, size_t size)
{
	otlp_key_value__init(to);
	otlp_value__init(value);
	to->key = (char *)key;
	to->value = value;
	value->value_case = OTLP_VALUE__VALUE_STRING_VALUE;
	value->string_value = (char *)text_clean(s, buffer, size);
}

/* Writes the command and the host of the recording. */
static int otlp_put_resource(struct writer *w, FILE *to)
{
	OtlpResource resource = OTLP_RESOURCE__INIT;
	OtlpKeyValue pairs[2], *list[2];
	OtlpValue values[2];
	char buffers[2][4096];
	size_t n = 0;

	if (*w->p->command) {
		set_key_value(&pairs[n], &values[n], "process.command_line", w->p->command,
			      buffers[n], sizeof(buffers[n]));
		n++;
	}
	if (*w->p->host) {
		set_key_value(&pairs[n], &values[n], "host.name", w->p->host, buffers[n],
			      sizeof(buffers[n]));
		n++;
	}
	for (size_t i = 0; i < n; i++)
		list[i] = &pairs[i];
	resource.n_attributes = n;
	resource.attributes = list;
	return put_message(w, RESOURCE_RESOURCE, &resource.base, to);
}

/* Copies a temporary file. -errno: it cannot be read. */
static int copy_stream(FILE *from, FILE *to)
{
	static char buffer[1 << 16];
	size_t n;

	rewind(from);
	errno = 0;
	while ((n = fread(buffer, 1, sizeof(buffer), from)))
		fwrite(buffer, 1, n, to);
	return !ferror(from) ? 0 : errno ? -errno : -EIO;
}

/* Returns how much was written, or -errno. */
static long stream_size(FILE *f)
{
	/* An earlier write failed. Its errno is unknown, but most likely the disk is full. */
	if (ferror(f))
		return -ENOSPC;
	return fflush(f) ? -errno : ftell(f);
}

static void report_temporary_failure(int r)
{
	message("pcce-report",
		"cannot write temporary file: %s; set TMPDIR to a directory with free space",
		strerror(-r));
}

static int otlp_put_data(struct writer *w, FILE *out)
{
	long profile = stream_size(w->profile), dictionary = stream_size(w->dictionary);
	OtlpScope scope = OTLP_SCOPE__INIT;
	char *resource = NULL;
	size_t resource_size = 0, scope_size, in_scopes;
	FILE *memory;
	int r;

	if (profile < 0 || dictionary < 0) {
		r = profile < 0 ? (int)profile : (int)dictionary;
		report_temporary_failure(r);
		return r;
	}
	memory = open_memstream(&resource, &resource_size);
	r = memory ? otlp_put_resource(w, memory) : -ENOMEM;
	if (memory && fclose(memory))
		r = -ENOMEM;
	scope.name = "pcce";
	scope.version = PCCE_VERSION;
	scope_size = protobuf_c_message_get_packed_size(&scope.base);
	in_scopes = field_head_size(scope_size) + scope_size + field_head_size(profile) + profile;
	if (!r) {
		put_field_head(DATA_RESOURCE_PROFILES,
			       resource_size + field_head_size(in_scopes) + in_scopes, out);
		fwrite(resource, 1, resource_size, out);
		put_field_head(RESOURCE_SCOPES, in_scopes, out);
		r = put_message(w, SCOPE_SCOPE, &scope.base, out);
		put_field_head(SCOPE_PROFILES, profile, out);
		r = r ? r : copy_stream(w->profile, out);
		put_field_head(DATA_DICTIONARY, dictionary, out);
		r = r ? r : copy_stream(w->dictionary, out);
	}
	free(resource);
	return r;
}

int format_otlp(const struct profile *p, const struct format_options *o, FILE *out)
{
	struct writer w = {.p = p, .unit = format_unit(p)};
	int r = locations_new(p, &w.locations);

	(void)o;
	location_stacks_init(&w.stacks, p, &w.locations);
	w.threads =
		calloc(threads_count(p->threads) + 1, (THREAD_ATTRIBUTES + 1) * sizeof(*w.threads));
	if (!w.threads)
		r = -ENOMEM;
	w.dictionary = temp_file_stream();
	w.profile = w.dictionary ? temp_file_stream() : NULL;
	if (!r && !w.profile) {
		r = -errno;
		report_temporary_failure(r);
	}
	r = r ? r : otlp_put_empty_entries(&w);
	r = r ? r : otlp_put_facts(&w);
	r = r ? r : profile_cells(p, otlp_put_sample, &w);
	r = r ? r : otlp_put_tables(&w);
	r = r ? r : otlp_put_data(&w, out);
	if (w.dictionary)
		fclose(w.dictionary);
	if (w.profile)
		fclose(w.profile);
	unrolled_path_free(&w.stacks);
	locations_free(&w.locations);
	string_index_free(&w.strings);
	forget_attributes(&w);
	free(w.threads);
	free(w.frames);
	free(w.sample_attributes);
	free(w.packed);
	return r;
}
