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
#include "count/contexts.h"

struct reader {
	const struct count_source *source;
	uint64_t units; /* in use */
	uint8_t *sent;	/* by number of unit: this node's segment is in the recording */
	/* By number of a process: nobody knows which libraries it had. */
	uint8_t unknown[PCCE_COUNT_THREADS];
	struct {
		struct pcce_sample s;
		uint8_t rest[PCCE_SEGMENT_ENTRIES * sizeof(struct pcce_entry) +
			     PCCE_SAMPLE_SEGMENTS * sizeof(struct pcce_segment)];
	} out;
};

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
		const struct pcce_count_node *below = at ? node(r, at->parent) : NULL;

		if (!below || below->depth + 1 != at->depth)
			return 0;
		to[n] = entry_of(r, at);
		number = at->parent;
	}
	return number;
}

/* Adds the segment that ends with a node, and those below it, unless they are sent. Returns their
 * number, or -1. */
static int64_t copy_unsent(struct reader *r, uint32_t number, struct pcce_segment *to)
{
	uint32_t last[PCCE_SAMPLE_SEGMENTS], n = 0;
	struct pcce_segment segment;

	while (number != PCCE_COUNT_ROOT && !r->sent[number]) {
		if (n == PCCE_SAMPLE_SEGMENTS)
			return -1;
		last[n++] = number;
		number = copy_entries(r, number, PCCE_SEGMENT_ENTRIES, segment.entry);
		if (!number)
			return -1;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct pcce_segment *s = &to[i];
		uint32_t end = last[n - 1 - i];

		number = copy_entries(r, end, PCCE_SEGMENT_ENTRIES, s->entry);
		s->generation = end;
		s->index = node(r, end)->depth / PCCE_SEGMENT_ENTRIES - 1;
		s->base.id = number == PCCE_COUNT_ROOT ? 0 : number;
		s->base.site = PCCE_MARK_WORD;
		r->sent[end] = 1;
	}
	return n;
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
			const struct count_sink *sink)
{
	const struct pcce_count_counter *c = &hot->counter;
	const struct count_source *source = r->source;
	const struct pcce_count_node *top = node(r, c->node);
	struct pcce_sample *s = &r->out.s;
	struct pcce_entry *entries = (struct pcce_entry *)r->out.rest;
	uint32_t tid = source->area->thread[thread].tid, n, below = PCCE_COUNT_ROOT;
	int64_t segments = 0;
	size_t module = 0;
	uint64_t ip = count_places_address(source->places, c->place, &module);
	bool known = has_known_modules(r, thread, module);

	if (!top || !ip)
		return -EINVAL;
	n = top->depth ? (top->depth - 1) % PCCE_SEGMENT_ENTRIES + 1 : 0;
	if (n)
		below = copy_entries(r, c->node, n, entries);
	if (below && n)
		segments = copy_unsent(r, below, (struct pcce_segment *)(entries + n));
	if (!below || segments < 0)
		return -EINVAL;
	*s = (struct pcce_sample){
		.time = source->time,
		.pid = (uint32_t)process_of_thread(source, thread),
		.tid = tid ? tid : (uint32_t)source->pid,
		.ip = ip,
		.id = known ? c->id : PCCE_ID_LOST,
		.ext = known ? c->ext : 0,
		.flags = PCCE_SAMPLE_COUNTED | PCCE_SAMPLE_BY_CONTENT | PCCE_SAMPLE_IP_MIXED,
		.n_entries = n,
		.n_segments = (uint32_t)segments,
		.n_below = top->depth ? (top->depth - 1) / PCCE_SEGMENT_ENTRIES : 0,
		.sp = c->count - hot->others,
		.weight = source->config->counters ? c->count : 0,
		.below = below == PCCE_COUNT_ROOT ? 0 : below,
	};
	return sink->sample(sink->ctx, s, hot->error);
}

/* Sends a copy of a counter, and adds it to the totals. missing: the largest error that is
 * possible. 0, or what ends the reading. */
static int count_counter(struct reader *r, const struct pcce_count_hot_counter *c, uint64_t missing,
			 uint32_t thread, const struct count_sink *sink,
			 struct count_totals *totals)
{
	uint64_t count = c->counter.count;
	int err = -EINVAL;

	if (!c->counter.place || !count)
		return 0;
	if (c->others < count && c->error <= missing)
		err = send_counter(r, c, thread, sink);
	if (err == -EINVAL) {
		totals->damaged += count;
		return 0;
	}
	totals->counters++;
	totals->calls += count;
	return err;
}

static int send_block(struct reader *r, const struct pcce_count_block *b,
		      const struct count_sink *sink, struct count_totals *totals)
{
	const struct pcce_count_counter *c = (const struct pcce_count_counter *)(b + 1);
	uint32_t used = b->used < PCCE_COUNT_UNITS - 1 ? b->used : PCCE_COUNT_UNITS - 1;
	int err = 0;

	if (b->kind != PCCE_COUNT_COUNTERS || b->thread >= PCCE_COUNT_THREADS)
		return 0;
	for (uint32_t i = 0; !err && i < used; i++) {
		/* Processes may still run. */
		const struct pcce_count_hot_counter copy = {.counter = c[i]};

		err = count_counter(r, &copy, 0, b->thread, sink, totals);
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

static int compare_hot_blocks(const void *a, const void *b)
{
	const struct hot_block *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

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
	/* Only damaged counters have more; or a jump has left the first call of a context. */
	return missing < epsilon_n ? missing : epsilon_n;
}

static int send_copied(struct reader *r, const struct pcce_count_hot_counter *c, size_t n,
		       uint32_t thread, const struct count_sink *sink, struct count_totals *totals)
{
	uint64_t calls = 0, nameless = 0, missing;
	int err;

	for (size_t i = 0; i < n; i++) {
		calls += c[i].counter.count;
		nameless += c[i].counter.place ? 0 : c[i].counter.count;
	}
	missing = most_missing(c, n, calls / r->source->config->counters);
	err = sink->begin(sink->ctx, missing, nameless);
	totals->calls += nameless;
	for (size_t i = 0; i < n && !err; i++)
		err = count_counter(r, &c[i], missing, thread, sink, totals);
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

static int compare_processes(const void *a, const void *b)
{
	const struct counted_process *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

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
	/* Of threads that share the last number, nobody knows the process. */
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
	err = r->sent ? send_processes(r, sink, totals) : -ENOMEM;
	at = (sizeof(*s->area) + PCCE_COUNT_BLOCK - 1) / PCCE_COUNT_BLOCK;
	if (!err && s->config->counters)
		err = send_hot(r, at, used / PCCE_COUNT_BLOCK, sink, totals);
	for (; !err && !s->config->counters && at < used / PCCE_COUNT_BLOCK;
	     at += blocks_of(unit_at(r, block_unit(at))))
		err = send_block(r, unit_at(r, block_unit(at)), sink, totals);
	free(r->sent);
	free(r);
	return err;
}
