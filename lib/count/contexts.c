/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Makes aggregated samples of counters: see contexts.h.
 *
 * The 16 newest entries of a stack at most are the sample's entries. Below them are complete
 * segments, whose names are the numbers of their last nodes. A segment is sent with the first
 * sample that has it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <pcce/datafile.h>
#include "base/array.h"
#include "count/contexts.h"

struct reader {
	const struct count_source *source;
	uint64_t units; /* in use */
	uint8_t *sent;	/* by number of unit: what became of the segment that ends there */
	/* By number of a process: nobody knows which libraries it had. */
	uint8_t unknown[PCCE_COUNT_THREADS];
	struct pcce_sample *out; /* the next sample, with room for its entries and segments: */
	size_t capacity;	 /* bytes */
	/* The durations of the next sample. */
	struct {
		struct pcce_durations all;
		struct pcce_duration_count of[PCCE_DURATION_BUCKETS];
	} durations;
};

enum { NOT_SENT, SENT, BROKEN }; /* of reader.sent */

static const void *unit_at(const struct reader *r, uint64_t number)
{
	return (const char *)r->source->area + number * PCCE_COUNT_UNIT;
}

static const struct pcce_count_node *node(const struct reader *r, uint32_t number)
{
	if (number == PCCE_COUNT_ROOT)
		return &r->source->area->root;
	return number < r->units && number >= sizeof(struct pcce_count_area) / PCCE_COUNT_UNIT
		       ? unit_at(r, number)
		       : NULL;
}

/* The number of the first unit of a block. */
static uint64_t block_unit(uint64_t block)
{
	return block * PCCE_COUNT_BLOCK / PCCE_COUNT_UNIT;
}

/* How many blocks belong together, this one being the first. */
static uint64_t blocks_of(const struct pcce_count_block *b)
{
	uint32_t used = b->used;

	return b->kind == PCCE_COUNT_CODE && used ? used : 1;
}

static uint64_t entry_site(uint64_t site)
{
	if (site >> PCCE_SITE_BITS > PCCE_COUNT_MAX)
		return site ^ PCCE_COUNT_UNTRUSTED;
	return site & ~PCCE_COUNT_UNTRUSTED;
}

/* A node's entry. Where a signal has interrupted the counting, the program was at the place. */
static struct pcce_entry entry_of(const struct reader *r, const struct pcce_count_node *n)
{
	const struct count_source *s = r->source;
	const struct pcce_count_config *c = s->config;
	struct pcce_entry e = {n->id, entry_site(n->site)};
	uint64_t address = e.site & PCCE_SITE_MASK, place = 0;

	if (e.site >> PCCE_SITE_BITS != PCCE_COUNT_SIGNAL)
		return e;
	if (!count_places_in_stub(s->places, address, &place) &&
	    (address < c->code || address >= c->stubs))
		return e;
	if (place)
		e.site = PCCE_COUNT_SIGNAL << PCCE_SITE_BITS | place;
	else
		e.id = PCCE_ID_LOST;
	return e;
}

/* Writes the entries of the n newest nodes. Returns the number of the node below, or 0. */
static uint32_t copy_entries(const struct reader *r, uint32_t number, uint32_t n,
			     struct pcce_entry *to)
{
	while (n-- > 0) {
		const struct pcce_count_node *at = node(r, number);
		/* A process that still runs can change it. */
		uint32_t parent = at ? __atomic_load_n(&at->parent, __ATOMIC_RELAXED) : 0;
		const struct pcce_count_node *below = at ? node(r, parent) : NULL;

		if (!below || below->depth + 1 != at->depth)
			return 0;
		to[n] = entry_of(r, at);
		number = parent;
	}
	return number;
}

static struct pcce_entry *out_entries(const struct reader *r)
{
	return (struct pcce_entry *)(r->out + 1);
}

/* The segments of the sample in the buffer, which has n entries. */
static struct pcce_segment *out_segments(const struct reader *r, uint32_t n)
{
	return (struct pcce_segment *)(out_entries(r) + n);
}

static int reserve_segments(struct reader *r, uint32_t n)
{
	return array_reserve(&r->out, &r->capacity,
			     sizeof(*r->out) + PCCE_SEGMENT_ENTRIES * sizeof(struct pcce_entry) +
				     n * sizeof(struct pcce_segment),
			     1);
}

static void reverse_segments(struct pcce_segment *all, uint32_t n)
{
	for (uint32_t i = 0; i < n / 2; i++) {
		struct pcce_segment first = all[i];

		all[i] = all[n - 1 - i];
		all[n - 1 - i] = first;
	}
}

/* Adds the segment that ends with a node, and those below it, unless they are sent. n: entries of
 * the sample; index: of the segment. Returns their number; -EINVAL: they make no sense; or
 * -ENOMEM. */
static int64_t copy_unsent(struct reader *r, uint32_t number, uint32_t n, uint32_t index)
{
	uint32_t found = 0;
	bool whole;

	while (number && number != PCCE_COUNT_ROOT && r->sent[number] == NOT_SENT &&
	       found < PCCE_AREA_SEGMENTS) {
		struct pcce_segment *s;

		if (reserve_segments(r, found + 1))
			return -ENOMEM;
		s = &out_segments(r, n)[found];
		s->generation = number;
		s->index = index - found++;
		number = copy_entries(r, number, PCCE_SEGMENT_ENTRIES, s->entry);
		s->base.id = number == PCCE_COUNT_ROOT ? 0 : number;
		s->base.site = PCCE_MARK_WORD;
	}
	whole = number == PCCE_COUNT_ROOT || (number && r->sent[number] == SENT);
	for (uint32_t i = 0; i < found; i++)
		r->sent[out_segments(r, n)[i].generation] = whole ? SENT : BROKEN;
	reverse_segments(out_segments(r, n), found);
	return whole ? (int64_t)found : -EINVAL;
}

/* Makes the sample's stack from its newest node: 0, -EINVAL: it makes no sense, or -ENOMEM. */
static int take_stack(struct reader *r, uint32_t number)
{
	const struct pcce_count_node *top = node(r, number);
	uint32_t depth = top ? top->depth : 0,
		 n = depth ? (depth - 1) % PCCE_SEGMENT_ENTRIES + 1 : 0, below = number;
	int64_t segments = 0;

	*r->out = (struct pcce_sample){0};
	if (!top || (!depth && number != PCCE_COUNT_ROOT) ||
	    depth > PCCE_AREA_SEGMENTS * PCCE_SEGMENT_ENTRIES)
		return -EINVAL;
	if (n)
		below = copy_entries(r, number, n, out_entries(r));
	if (n && below)
		segments = copy_unsent(r, below, n, (depth - 1) / PCCE_SEGMENT_ENTRIES - 1);
	if (!below || segments < 0)
		return segments < 0 ? (int)segments : -EINVAL;
	r->out->n_entries = n;
	r->out->n_segments = (uint32_t)segments;
	r->out->n_below = n ? (depth - 1) / PCCE_SEGMENT_ENTRIES : 0;
	r->out->below = below == PCCE_COUNT_ROOT ? 0 : below;
	return 0;
}

static uint32_t process_number(const struct count_source *s, uint32_t thread)
{
	return s->area->thread[thread % PCCE_COUNT_THREADS].process % PCCE_COUNT_THREADS;
}

/* The process of a thread. */
static pid_t process_of_thread(const struct count_source *s, uint32_t thread)
{
	uint32_t process = process_number(s, thread);
	uint32_t tid = s->area->thread[process].tid;

	return !process || !tid ? s->pid : (pid_t)tid;
}

/* Are the addresses in a thread's contexts those of the process's libraries? */
static bool has_known_modules(const struct reader *r, uint32_t thread, size_t module)
{
	return !r->unknown[process_number(r->source, thread)] &&
	       count_libraries_is_certain(r->source->libraries, module);
}

/* Returns 0, -EINVAL if the counter makes no sense, or what the sink returns. */
static int send_counter(struct reader *r, const struct pcce_count_hot_counter *hot, uint32_t thread,
			bool timed, const struct count_sink *sink, struct count_totals *totals)
{
	const struct pcce_count_counter *c = &hot->counter;
	const struct count_source *source = r->source;
	uint32_t tid = source->area->thread[thread].tid;
	size_t module = 0;
	uint64_t ip = count_places_address(source->places, c->place, &module);
	bool known = has_known_modules(r, thread, module);
	struct pcce_sample *s;
	int err = ip ? take_stack(r, c->node) : -EINVAL;

	if (err == -ENOMEM || !ip)
		return err;
	if (err) {
		totals->unknown += c->count;
		known = false;
	}
	s = r->out;
	s->time = source->time;
	s->pid = (uint32_t)process_of_thread(source, thread);
	s->tid = tid ? tid : (uint32_t)source->pid;
	s->ip = ip;
	s->id = known ? c->id : PCCE_ID_LOST;
	s->ext = known ? c->ext : 0;
	s->flags = PCCE_SAMPLE_COUNTED | PCCE_SAMPLE_BY_CONTENT | PCCE_SAMPLE_IP_MIXED;
	s->sp = c->count - hot->others;
	return sink->sample(sink->ctx, s, c->count, hot->error, timed ? &r->durations.all : NULL);
}

/* Can the numbers of a counter be true? missing: the largest error that is possible. */
static bool counter_makes_sense(const struct reader *r, const struct pcce_count_hot_counter *c,
				uint64_t missing)
{
	size_t module;

	return c->others < c->counter.count && c->error <= missing &&
	       (c->error <= c->others || r->source->config->lossy) &&
	       count_places_address(r->source->places, c->counter.place, &module);
}

/* Sends a copy of a counter, and adds it to the totals. 0, or what ends the reading. */
static int count_counter(struct reader *r, const struct pcce_count_hot_counter *c, uint64_t missing,
			 uint32_t thread, bool timed, const struct count_sink *sink,
			 struct count_totals *totals)
{
	uint64_t count = c->counter.count;

	if (!c->counter.place || !count)
		return 0;
	if (!counter_makes_sense(r, c, missing)) {
		totals->damaged += count;
		return 0;
	}
	totals->counters++;
	totals->calls += count;
	return send_counter(r, c, thread, timed, sink, totals);
}

/* Copies the durations of a counter. Processes may still run. */
static void read_durations(struct reader *r, const struct pcce_count_timed_counter *c)
{
	struct pcce_durations *to = &r->durations.all;

	*to = (struct pcce_durations){
		.sum = c->sum, .min = c->min, .max = c->max, .no_end = c->no_end, .left = c->left};
	for (uint32_t i = 0; i < PCCE_DURATION_GROUPS; i++) {
		const uint64_t *counts = c->buckets[i] && c->buckets[i] + 4ULL <= r->units
						 ? unit_at(r, c->buckets[i])
						 : NULL;

		for (uint32_t k = 0; counts && k < PCCE_DURATION_GROUP; k++) {
			const struct pcce_duration_count count = {
				.bucket = i * PCCE_DURATION_GROUP + k, .count = counts[k]};

			if (!count.count || to->ended + count.count < to->ended)
				continue;
			to->ended += count.count;
			r->durations.of[to->n++] = count;
		}
	}
	if (!to->ended || to->min > to->max)
		to->sum = to->min = to->max = 0;
}

static int send_block(struct reader *r, const struct pcce_count_block *b,
		      const struct count_sink *sink, struct count_totals *totals)
{
	const uint32_t kind = b->kind, size = pcce_count_unit_size(kind);
	const bool timed = kind == PCCE_COUNT_TIMED_COUNTERS;
	uint32_t most = PCCE_COUNT_BLOCK / size - 1, used = b->used < most ? b->used : most;
	int err = 0;

	if ((kind != PCCE_COUNT_COUNTERS && !timed) || b->thread >= PCCE_COUNT_THREADS)
		return 0;
	for (uint32_t i = 0; !err && i < used; i++) {
		const char *c = (const char *)b + (i + 1) * (size_t)size;
		/* Processes may still run. */
		const struct pcce_count_hot_counter copy = {
			.counter = *(const struct pcce_count_counter *)c};

		if (timed)
			read_durations(r, (const struct pcce_count_timed_counter *)c);
		err = count_counter(r, &copy, 0, b->thread, timed, sink, totals);
	}
	return err;
}

/* ---- counters that are used again ------------------------------------------------ */

#define HOT_OF_BLOCK (PCCE_COUNT_BLOCK / sizeof(struct pcce_count_hot_counter) - 1)

/* Counters of a thread: blocks that are sorted by thread, and then as they were given out. */
struct hot_block {
	uint32_t thread;
	uint32_t number; /* in the area */
};

COMPARE_BY2(compare_hot_blocks, struct hot_block, thread, number);

/* Copies the counters of blocks, since processes may still run. Returns their number. */
static size_t copy_counters(const struct reader *r, const struct hot_block *blocks, size_t n,
			    struct pcce_count_hot_counter *to)
{
	size_t done = 0;

	for (size_t i = 0; i < n; i++) {
		const struct pcce_count_block *b = unit_at(r, block_unit(blocks[i].number));
		uint32_t used = b->used < HOT_OF_BLOCK ? b->used : HOT_OF_BLOCK;

		memcpy(to + done, (const struct pcce_count_hot_counter *)b + 1, used * sizeof(*to));
		done += used;
	}
	return done;
}

/* The most that its context has, or had when it lost the counter. */
static uint64_t most_of_counter(const struct pcce_count_hot_counter *c)
{
	return c->counter.count - c->others + c->error;
}

/*
 * The most that any context has without a counter. If contexts have lost counters, those with the
 * fewest calls are not worth a record: this is raised to what they have. It stays within epsilon N.
 */
static uint64_t most_missing(const struct pcce_count_hot_counter *c, size_t n, uint64_t epsilon_n)
{
	uint64_t missing = 0, least = UINT64_MAX;

	for (size_t i = 0; i < n; i++) {
		uint64_t most = most_of_counter(&c[i]);
		uint64_t had = c[i].counter.place ? c[i].error : most;

		if (had > missing)
			missing = had;
		if (c[i].counter.place && most < least)
			least = most;
	}
	if (missing && least > missing && least < UINT64_MAX)
		missing = least;
	/* Only damaged counters have more. */
	return missing < epsilon_n ? missing : epsilon_n;
}

static int send_copied(struct reader *r, struct pcce_count_hot_counter *c, size_t n,
		       uint32_t thread, const struct count_sink *sink, struct count_totals *totals)
{
	uint64_t calls = 0, nameless = 0, missing;
	int err;

	for (size_t i = 0; i < n; i++)
		calls += c[i].counter.count;
	missing = most_missing(c, n, calls / r->source->config->counters);
	/* All calls are part of N, or the bound would not fit it. */
	for (size_t i = 0; i < n; i++) {
		if (c[i].counter.place && !counter_makes_sense(r, &c[i], missing)) {
			totals->unknown += c[i].counter.count;
			c[i].counter.place = 0;
		}
		nameless += c[i].counter.place ? 0 : c[i].counter.count;
	}
	err = sink->begin(sink->ctx, missing, nameless);
	totals->calls += nameless;
	for (size_t i = 0; i < n && !err; i++)
		err = count_counter(r, &c[i], missing, thread, false, sink, totals);
	return err;
}

static int send_thread(struct reader *r, const struct hot_block *blocks, size_t n,
		       const struct count_sink *sink, struct count_totals *totals)
{
	struct pcce_count_hot_counter *c = calloc(n, HOT_OF_BLOCK * sizeof(*c));
	int err =
		c ? send_copied(r, c, copy_counters(r, blocks, n, c), blocks->thread, sink, totals)
		  : -ENOMEM;

	free(c);
	return err;
}

static int send_threads(struct reader *r, struct hot_block *blocks, size_t n,
			const struct count_sink *sink, struct count_totals *totals)
{
	int err = 0;

	if (n)
		qsort(blocks, n, sizeof(*blocks), compare_hot_blocks);
	for (size_t i = 0, end; i < n && !err; i = end) {
		for (end = i + 1; end < n && blocks[end].thread == blocks[i].thread;)
			end++;
		err = send_thread(r, &blocks[i], end - i, sink, totals);
	}
	return err;
}

static int send_hot(struct reader *r, uint64_t first, uint64_t end, const struct count_sink *sink,
		    struct count_totals *totals)
{
	struct hot_block *blocks;
	size_t n = 0;
	int err;

	if (end <= first)
		return 0;
	blocks = malloc((end - first) * sizeof(*blocks));
	if (!blocks)
		return -ENOMEM;
	for (uint64_t i = first; i < end; i += blocks_of(unit_at(r, block_unit(i)))) {
		const struct pcce_count_block *b = unit_at(r, block_unit(i));

		if (b->kind == PCCE_COUNT_HOT_COUNTERS && b->thread < PCCE_COUNT_THREADS)
			blocks[n++] = (struct hot_block){b->thread, (uint32_t)i};
	}
	err = send_threads(r, blocks, n, sink, totals);
	free(blocks);
	return err;
}

/* ---- the area -------------------------------------------------------------------- */

/* A process in the area. */
struct counted_process {
	pid_t pid;
	uint32_t number, loads;
};

COMPARE_BY2(compare_processes, struct counted_process, pid, number);

/* Sends n processes with one pid: the kernel may have given it again. */
static int send_pid(struct reader *r, const struct counted_process *p, size_t n,
		    const struct count_sink *sink)
{
	bool differ = false;

	for (size_t i = 1; i < n; i++)
		differ |= p[i].loads != p->loads;
	for (size_t i = 0; i < n && differ; i++)
		r->unknown[p[i].number] = 1;
	return sink->process(sink->ctx, p->pid, differ ? 0 : p->loads);
}

static size_t find_processes(const struct count_source *s, struct counted_process *to)
{
	uint32_t n = s->area->n_threads;
	size_t found = 0;

	for (uint32_t i = 0; i < PCCE_COUNT_THREADS && (i < n || !i); i++)
		if (s->area->thread[i].process == i)
			to[found++] = (struct counted_process){process_of_thread(s, i), i,
							       s->area->thread[i].loads};
	return found;
}

static int send_processes(struct reader *r, const struct count_sink *sink,
			  struct count_totals *totals)
{
	const struct count_source *s = r->source;
	struct counted_process *all = calloc(PCCE_COUNT_THREADS, sizeof(*all));
	size_t n = all ? find_processes(s, all) : 0;
	int err = all ? 0 : -ENOMEM;

	if (n)
		qsort(all, n, sizeof(*all), compare_processes);
	/* Nobody knows the process of the threads that share the last number. */
	if (s->area->n_threads > PCCE_COUNT_THREADS && s->libraries)
		r->unknown[process_number(s, PCCE_COUNT_THREADS - 1)] = 1;
	for (size_t i = 0, end; i < n && !err; i = end) {
		for (end = i + 1; end < n && all[end].pid == all[i].pid;)
			end++;
		totals->processes++;
		err = send_pid(r, &all[i], end - i, sink);
	}
	free(all);
	return err;
}

int count_read(const struct count_source *s, const struct count_sink *sink,
	       struct count_totals *totals)
{
	uint64_t used = s->area->used < s->size ? s->area->used : s->size, at;
	struct reader *r = calloc(1, sizeof(*r));
	int err;

	memset(totals, 0, sizeof(*totals));
	if (!r)
		return -ENOMEM;
	r->source = s;
	r->units = used / PCCE_COUNT_UNIT;
	r->sent = calloc(r->units + 1, 1);
	err = r->sent ? reserve_segments(r, 0) : -ENOMEM;
	err = err ? err : send_processes(r, sink, totals);
	at = (sizeof(*s->area) + PCCE_COUNT_BLOCK - 1) / PCCE_COUNT_BLOCK;
	if (!err && s->config->counters)
		err = send_hot(r, at, used / PCCE_COUNT_BLOCK, sink, totals);
	for (; !err && !s->config->counters && at < used / PCCE_COUNT_BLOCK;
	     at += blocks_of(unit_at(r, block_unit(at))))
		err = send_block(r, unit_at(r, block_unit(at)), sink, totals);
	free(r->sent);
	free(r->out);
	free(r);
	return err;
}
