/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See record_check.h. */
#include <string.h>
#include <pcce/duration.h>
#include <pcce/sample.h>
#include "stream/record_check.h"

#define SMALL_MAX (1u << 20)	 /* records that hold only fields and strings */
#define INFO_MAX (4u << 20)	 /* a command line may be long */
#define STACK_MAX 65536u	 /* return addresses in one sample */
#define MOST_COUNTERS (1u << 30) /* of a summary */
/* An aggregated sample brings all segments that it needs. */
#define SUM_MAX                                                        \
	((uint32_t)(sizeof(struct pcce_rec_sum) +                      \
		    PCCE_SEGMENT_ENTRIES * sizeof(struct pcce_entry) + \
		    PCCE_AREA_SEGMENTS * sizeof(struct pcce_segment) + \
		    STACK_MAX * sizeof(uint64_t)))

static const struct record_shape shapes[] = {
	[PCCE_REC_INFO] = {"info", sizeof(struct pcce_rec_info), INFO_MAX, 5},
	[PCCE_REC_PROCESS] = {"process", sizeof(struct pcce_rec_process), SMALL_MAX, 1},
	[PCCE_REC_THREAD] = {"thread", sizeof(struct pcce_rec_thread), SMALL_MAX, 1},
	[PCCE_REC_MODULE] = {"module", sizeof(struct pcce_rec_module), SMALL_MAX, 1},
	[PCCE_REC_MAP] = {"map", sizeof(struct pcce_rec_map), sizeof(struct pcce_rec_map), 0},
	[PCCE_REC_TABLE] = {"table", sizeof(struct pcce_rec_table), PCCE_RECORD_MAX, 0},
	[PCCE_REC_SAMPLE] = {"sample", sizeof(struct pcce_rec_sample),
			     sizeof(struct pcce_rec_sample) +
				     PCCE_SEGMENT_ENTRIES * sizeof(struct pcce_entry) +
				     PCCE_SAMPLE_SEGMENTS * sizeof(struct pcce_segment) +
				     STACK_MAX * 8,
			     0},
	[PCCE_REC_KERNEL_STACK] = {"kernel stack", sizeof(struct pcce_rec_kernel_stack),
				   sizeof(struct pcce_rec_kernel_stack) + PCCE_KERNEL_FRAMES * 8,
				   0},
	[PCCE_REC_WAIT] = {"wait", sizeof(struct pcce_rec_wait), sizeof(struct pcce_rec_wait), 0},
	[PCCE_REC_LABELS] = {"labels", sizeof(struct pcce_rec_labels), SMALL_MAX, 0},
	[PCCE_REC_LABELED] = {"label", sizeof(struct pcce_rec_labeled),
			      sizeof(struct pcce_rec_labeled), 0},
	[PCCE_REC_PACKED] = {"packed", sizeof(struct pcce_rec_packed), PCCE_RECORD_MAX, 0},
	[PCCE_REC_DURATIONS] = {"durations", sizeof(struct pcce_rec_durations),
				sizeof(struct pcce_rec_durations) +
					PCCE_DURATION_BUCKETS * sizeof(struct pcce_duration_count),
				0},
	[PCCE_REC_LOST] = {"loss", sizeof(struct pcce_rec_lost), sizeof(struct pcce_rec_lost), 0},
	[PCCE_REC_SYMBOL] = {"symbol", sizeof(struct pcce_rec_symbol), SMALL_MAX, 2},
	[PCCE_REC_END] = {"end", sizeof(struct pcce_rec_end), sizeof(struct pcce_rec_end), 0},
	[PCCE_REC_DUE] = {"due", sizeof(struct pcce_rec_due), sizeof(struct pcce_rec_due), 0},
	[PCCE_REC_FRAMES] = {"frames", sizeof(struct pcce_rec_frames),
			     sizeof(struct pcce_rec_frames), 0},
	[PCCE_REC_SUM] = {"sum", sizeof(struct pcce_rec_sum), SUM_MAX, 0},
	[PCCE_REC_HOT] = {"summary", sizeof(struct pcce_rec_hot), sizeof(struct pcce_rec_hot), 0},
	[PCCE_REC_EVENT] = {"event", sizeof(struct pcce_rec_event), sizeof(struct pcce_rec_event),
			    0},
	[PCCE_REC_ONLY] = {"only", sizeof(struct pcce_rec_only), SMALL_MAX, 1},
	[PCCE_REC_CONTEXT] = {"context", sizeof(struct pcce_rec_context),
			      SUM_MAX + sizeof(struct pcce_rec_context) -
				      sizeof(struct pcce_rec_sum),
			      0},
};

const struct record_shape *record_shape(uint32_t type)
{
	if (type >= sizeof(shapes) / sizeof(shapes[0]) || !shapes[type].name)
		return NULL;
	return &shapes[type];
}

bool record_check_size(uint32_t type, uint64_t size)
{
	const struct record_shape *shape = record_shape(type);

	return size >= sizeof(struct pcce_record) && size <= PCCE_RECORD_MAX && size % 8 == 0 &&
	       (!shape || (size >= shape->fixed && size <= shape->max));
}

static const char *check_strings(const struct record_shape *shape, const struct pcce_record *rec)
{
	const char *s = (const char *)rec + shape->fixed;
	const char *end = (const char *)rec + rec->size;
	unsigned int i;

	for (i = 0; i < shape->n_strings; i++) {
		const char *nul = memchr(s, 0, (size_t)(end - s));

		if (!nul)
			return "has a string without an end";
		s = nul + 1;
	}
	if (end - s >= 8)
		return "is larger than its strings";
	while (s < end)
		if (*s++)
			return "has no zeros after its strings";
	return NULL;
}

/* Checks what SAMPLE, SUM and CONTEXT records have in common. */
static const char *check_kernel(const struct record_check *c, const struct pcce_sample *s)
{
	return s->flags & PCCE_SAMPLE_KERNEL_STACK && s->kip >= c->n_kernel_stacks
		       ? "names a kernel stack that does not exist"
		       : NULL;
}

static const char *check_sample(const struct record_check *c, const struct pcce_record *rec)
{
	const struct pcce_sample *s = &((const struct pcce_rec_sample *)rec)->sample;

	if (!pcce_sample_counts_are_possible(s, STACK_MAX))
		return "has counts that no sample can have";
	if (rec->size != sizeof(struct pcce_rec_sample) - sizeof(*s) + pcce_sample_size(s))
		return "has another size than its counts say";
	return check_kernel(c, s);
}

static const char *check_sum(const struct record_check *c, const struct pcce_record *rec)
{
	const struct pcce_rec_sum *sum = (const struct pcce_rec_sum *)rec;

	if (!sum->samples)
		return "counts no samples";
	if (!pcce_sample_counts_agree(&sum->sample, PCCE_AREA_SEGMENTS,
				      sum->sample.flags & PCCE_SAMPLE_FRAMES ? STACK_MAX : 0))
		return "has counts that no sample can have";
	if (rec->size != sizeof(*sum) - sizeof(sum->sample) + pcce_sample_size(&sum->sample))
		return "has another size than its counts say";
	return check_kernel(c, &sum->sample);
}

static const char *check_context(const struct record_check *check, const struct pcce_record *rec)
{
	const struct pcce_rec_context *c = (const struct pcce_rec_context *)rec;
	uint64_t high;

	if (!c->samples)
		return "counts no samples";
	if (__builtin_add_overflow(c->weight, c->error, &high))
		return "has an impossible error";
	if (!pcce_sample_counts_agree(&c->sample, PCCE_AREA_SEGMENTS, 0))
		return "has counts that no sample can have";
	if (rec->size != sizeof(*c) - sizeof(c->sample) + pcce_sample_size(&c->sample))
		return "has another size than its counts say";
	return check_kernel(check, &c->sample);
}

static const char *check_kernel_stack(const struct record_check *c, const struct pcce_record *rec)
{
	const struct pcce_rec_kernel_stack *k = (const struct pcce_rec_kernel_stack *)rec;

	if (k->number != c->n_kernel_stacks)
		return "is out of order";
	return k->n && rec->size == sizeof(*k) + k->n * 8ULL ? NULL
							     : "has another size than its "
							       "number of frames says";
}

static const char *check_labels(const struct record_check *c, const struct pcce_record *rec)
{
	const struct pcce_rec_labels *l = (const struct pcce_rec_labels *)rec;
	const char *text = (const char *)(l + 1);
	uint64_t strings = 0;

	if (l->number != c->n_label_sets)
		return "is out of order";
	if (rec->size != sizeof(*l) + ((l->bytes + 7ULL) & ~7ULL))
		return "has another size than its number of bytes says";
	for (uint32_t i = 0; i < l->bytes; i++)
		strings += !text[i];
	return strings != 2ULL * l->n || (l->bytes && text[l->bytes - 1])
		       ? "has another number of strings than it says"
		       : NULL;
}

static const char *check_durations(const struct pcce_record *rec)
{
	const struct pcce_durations *d = &((const struct pcce_rec_durations *)rec)->durations;
	const struct pcce_duration_count *of = (const struct pcce_duration_count *)(d + 1);
	uint64_t ended = 0;

	if (rec->size != sizeof(struct pcce_rec_durations) + d->n * (uint64_t)sizeof(*of))
		return "has another size than its number of buckets says";
	for (uint32_t i = 0; i < d->n; i++) {
		if (of[i].bucket >= PCCE_DURATION_BUCKETS ||
		    (i && of[i].bucket <= of[i - 1].bucket) ||
		    __builtin_add_overflow(ended, of[i].count, &ended))
			return "has impossible buckets";
	}
	return ended == d->ended && d->min <= d->max ? NULL : "does not add up";
}

static double double_of(uint64_t bits)
{
	double d;

	memcpy(&d, &bits, sizeof(d));
	return d;
}

static const char *check_summary(struct record_check *c, const struct pcce_record *rec)
{
	const struct pcce_rec_hot *h = (const struct pcce_rec_hot *)rec;
	double phi = double_of(h->phi), epsilon = double_of(h->epsilon);

	if (c->summary)
		return "is the second one";
	if (!(phi > 0 && phi <= 1 && epsilon > 0 && epsilon < phi))
		return "has impossible parameters";
	if (h->flags & ~PCCE_HOT_PER_THREAD)
		return "has flags that this version does not know";
	if (!h->counters || h->counters > MOST_COUNTERS || h->offset > h->weight / h->counters)
		return "has an impossible bound";
	return NULL;
}

static const char *check_record(struct record_check *c, const struct record_shape *shape,
				const struct pcce_record *rec)
{
	uint32_t module = PCCE_MODULE_NONE;
	const struct pcce_rec_module *m;
	const struct pcce_rec_map *map;

	if (!c->records && rec->type != PCCE_REC_INFO)
		return "comes before the info record";
	switch (rec->type) {
	case PCCE_REC_INFO:
		if (c->records)
			return "is not the first";
		break;
	case PCCE_REC_MODULE:
		m = (const struct pcce_rec_module *)rec;
		if (m->module != c->n_modules)
			return "is out of order";
		if (m->build_id_size > sizeof(m->build_id))
			return "has an impossible build id size";
		break;
	case PCCE_REC_MAP:
		map = (const struct pcce_rec_map *)rec;
		if (map->start + map->length < map->start)
			return "reaches beyond the address space";
		module = map->module;
		break;
	case PCCE_REC_TABLE:
		module = ((const struct pcce_rec_table *)rec)->module;
		if (module == PCCE_MODULE_NONE)
			return "belongs to no module";
		break;
	case PCCE_REC_WAIT:
		return ((const struct pcce_rec_wait *)rec)->wait.end > PCCE_ENDED_MAX
			       ? "ends in an unknown way"
			       : NULL;
	case PCCE_REC_DURATIONS:
		return check_durations(rec);
	case PCCE_REC_SAMPLE:
		return check_sample(c, rec);
	case PCCE_REC_SUM:
		return check_sum(c, rec);
	case PCCE_REC_CONTEXT:
		return check_context(c, rec);
	case PCCE_REC_KERNEL_STACK:
		return check_kernel_stack(c, rec);
	case PCCE_REC_LABELS:
		return check_labels(c, rec);
	case PCCE_REC_LABELED:
		return ((const struct pcce_rec_labeled *)rec)->number >= c->n_label_sets
			       ? "names labels that do not exist"
			       : NULL;
	case PCCE_REC_HOT:
		return check_summary(c, rec);
	case PCCE_REC_SYMBOL:
		module = ((const struct pcce_rec_symbol *)rec)->module;
		if (module == PCCE_MODULE_NONE)
			return "belongs to no module";
		break;
	}
	if (module != PCCE_MODULE_NONE && module >= c->n_modules)
		return "names a module that does not exist";
	return shape->n_strings ? check_strings(shape, rec) : NULL;
}

const char *record_check(struct record_check *c, const struct pcce_record *rec)
{
	const struct record_shape *shape = record_shape(rec->type);
	const char *what = shape ? check_record(c, shape, rec) : NULL;

	if (what)
		return what;
	c->records++;
	c->n_modules += rec->type == PCCE_REC_MODULE;
	c->n_kernel_stacks += rec->type == PCCE_REC_KERNEL_STACK;
	c->n_label_sets += rec->type == PCCE_REC_LABELS;
	c->summary |= rec->type == PCCE_REC_HOT;
	c->complete |= rec->type == PCCE_REC_END;
	return NULL;
}
