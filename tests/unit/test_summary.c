/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tests lib/merge/summary.c, the merge of what recordings with --hot say of contexts, on random
 * streams. Each stream is split into files of different epsilon. A file says of a context what a
 * recorder would, in one part or in two. After the merge, and after another merge of the result
 * with itself, all bounds must hold.
 */
#include <errno.h>
#include <string.h>
#include "hot/misra_gries.h"
#include "merge/summary.h"
#include "stream/stack_store.h"
#include "tests/unit/tap.h"

#define STREAMS 100000
#define CONTEXTS 24
#define FILES 4

struct said { /* of a context, by a file */
	bool kept;
	uint64_t samples, weight, error;
};

struct file {
	struct recording_hot hot;
	struct said of[CONTEXTS];
};

static uint64_t state = 0x9e3779b97f4a7c15;

static void key_of(uint64_t context, uint64_t key[2])
{
	key[0] = context * 0x9e3779b97f4a7c15ULL;
	key[1] = context % 3 + 1;
}

static int add_file(struct summary *s, const struct file *f)
{
	int r = 0;

	summary_begin(s, &f->hot);
	for (uint64_t i = 0; i < CONTEXTS; i++) {
		struct said said = f->of[i];
		uint64_t key[2];

		key_of(i, key);
		if (!said.kept)
			continue;
		if (said.samples > 1 && said.weight > 1 && tap_random(&state) % 2) {
			r |= summary_add(s, key, 1, 1, 0);
			said.samples--;
			said.weight--;
		}
		r |= summary_add(s, key, said.samples, said.weight, said.error);
	}
	return r ? r : summary_end(s);
}

/* Writes the result as a file. */
static void take_result(struct summary *s, struct file *f, const struct file *files, size_t n)
{
	struct summary_totals t;

	*f = (struct file){0};
	summary_finish(s, &t);
	f->hot = t.hot;
	for (uint64_t i = 0; i < CONTEXTS; i++) {
		uint64_t key[2], weight = 0, samples = 0;
		bool any = false;

		key_of(i, key);
		for (size_t k = 0; k < n; k++) {
			any |= files[k].of[i].kept;
			weight += files[k].of[i].weight;
			samples += files[k].of[i].samples;
		}
		if (!any || !summary_judge(s, key, &f->of[i].error))
			continue;
		f->of[i].kept = true;
		f->of[i].weight = weight;
		f->of[i].samples = samples;
		t.kept_weight -= weight;
		t.kept_samples -= samples;
	}
	/* All kept records were found, and no other ones. */
	if (t.kept_weight || t.kept_samples)
		f->hot.weight = 0;
}

static const char *judge_file(const struct file *f, const uint64_t *truth, uint64_t n)
{
	size_t kept = 0;

	if (f->hot.weight != n)
		return "N";
	if (f->hot.offset > f->hot.epsilon * n)
		return "the offset is above epsilon N";
	for (size_t i = 0; i < CONTEXTS; i++) {
		const struct said *said = &f->of[i];

		kept += said->kept;
		if (!said->kept && truth[i] > f->hot.offset)
			return "a context above the offset is missing";
		if (!said->kept)
			continue;
		if (said->error > f->hot.offset)
			return "an error is above the offset";
		if (truth[i] < said->weight || truth[i] > said->weight + said->error)
			return "a weight is out of its bounds";
	}
	return kept <= 2 * f->hot.counters ? NULL : "too many are kept";
}

/* Makes a file from a stream, and adds the stream to the truth. */
static void record_stream(struct file *f, uint64_t *truth, uint64_t *n)
{
	uint32_t k = 1 + tap_random(&state) % 6, events = 1 + tap_random(&state) % 60,
		 few = 1 + tap_random(&state) % CONTEXTS;
	struct misra_gries m;

	*f = (struct file){.hot = {.epsilon = 1.0 / (k + 0.5)}};
	f->hot.phi = f->hot.epsilon * 1.2;
	misra_gries_init(&m, f->hot.epsilon);
	for (uint32_t i = 0; i < events; i++) {
		uint64_t c = tap_random(&state) % few,
			 weight = 1 + (tap_random(&state) >> (tap_random(&state) % 32));

		misra_gries_add(&m, c, weight);
		truth[c] += weight;
		*n += weight;
	}
	f->hot.weight = m.total;
	f->hot.samples = events;
	f->hot.offset = m.offset;
	f->hot.counters = m.k;
	for (size_t i = 0; i < m.n; i++) {
		uint64_t c = m.of[i].item;

		f->of[c] = (struct said){true, 1, misra_gries_low(&m, c), m.of[i].error};
		f->of[c].samples += f->of[c].weight > 1;
	}
	misra_gries_free(&m);
}

static const char *try_streams(void)
{
	static struct file files[FILES], both[2];
	struct summary *s = summary_new(), *twice = summary_new();
	size_t n_files = 1 + tap_random(&state) % FILES;
	uint64_t truth[CONTEXTS] = {0}, n = 0;
	const char *wrong = NULL;
	int r = 0;

	for (size_t i = 0; i < n_files; i++) {
		record_stream(&files[i], truth, &n);
		r |= add_file(s, &files[i]);
	}
	take_result(s, &both[0], files, n_files);
	wrong = r ? "a merge failed" : judge_file(&both[0], truth, n);
	if (!wrong) {
		both[1] = both[0];
		r = add_file(twice, &both[0]) | add_file(twice, &both[1]);
		for (size_t i = 0; i < CONTEXTS; i++)
			truth[i] *= 2;
		take_result(twice, &files[0], both, 2);
		wrong = r ? "the second merge failed" : judge_file(&files[0], truth, 2 * n);
	}
	summary_free(s);
	summary_free(twice);
	return wrong;
}

static void test_merges(void)
{
	const char *wrong = NULL;
	uint64_t streams = 0;

	for (; streams < STREAMS && !wrong; streams++)
		wrong = try_streams();
	tap_ok(!wrong, "100,000 random sets of files: all bounds hold", "set %llu: %s",
	       (unsigned long long)streams, wrong);
}

static void test_refusals(void)
{
	static const uint64_t key[2] = {1, 2};
	const struct recording_hot hot = {
		.phi = 0.5, .epsilon = 0.4, .weight = 100, .samples = 100, .offset = 10};
	struct recording_hot more = hot;
	struct summary *s = summary_new();

	summary_begin(s, &hot);
	summary_add(s, key, 1, 50, 11);
	tap_ok(summary_end(s) == -EINVAL, "an error above the offset is refused", "it is not");
	summary_free(s);
	s = summary_new();
	more.weight = UINT64_MAX - 1;
	summary_begin(s, &more);
	summary_add(s, key, 1, 50, 1);
	tap_ok(!summary_end(s), "a large N is taken", "it is not");
	summary_begin(s, &hot);
	tap_ok(summary_end(s) == -EOVERFLOW, "two that do not fit into 64 bits are refused",
	       "they are not");
	summary_free(s);
}

/* ---- encoding stacks ------------------------------------------------------------- */

static const struct stack_node *push(struct stack_store *all, const struct stack_node *below,
				     uint64_t id)
{
	struct pcce_entry entries[PCCE_SEGMENT_ENTRIES] = {{.id = id}};

	return stack_store_intern(all, below, entries);
}

static void test_sweep(void)
{
	struct stack_store *all = stack_store_new();
	const struct stack_node *kept, *bottom = push(all, NULL, 1);
	struct {
		struct pcce_sample sample;
		struct pcce_segment segment;
	} s = {.sample = {.pid = 1, .tid = 1, .n_segments = 1, .n_below = 1, .below = 7},
	       .segment = {.generation = 7}};
	const struct stack_node *below = NULL, *same;

	kept = push(all, bottom, 2);
	push(all, kept, 3);
	push(all, push(all, NULL, 4), 5);
	stack_store_take(all, &s.sample, &below);
	tap_ok(stack_store_count(all) == 6, "six segments are known", "%zu are",
	       stack_store_count(all));
	for (int i = 0; i < 2; i++) {
		stack_store_keep(kept);
		stack_store_sweep(all);
	}
	tap_ok(stack_store_count(all) == 3 && push(all, push(all, NULL, 1), 2) == kept,
	       "a kept stack remains, and that of a thread", "%zu segments",
	       stack_store_count(all));
	s.sample.n_segments = 0;
	stack_store_take(all, &s.sample, &same);
	tap_ok(same == below, "the thread's next sample finds it", "it does not");
	stack_store_sweep(all);
	tap_ok(stack_store_count(all) == 1, "then only the thread's remains", "%zu do",
	       stack_store_count(all));
	stack_store_free(all);
}

int main(void)
{
	test_refusals();
	test_sweep();
	test_merges();
	return tap_done();
}
