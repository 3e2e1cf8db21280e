/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tests that samples which are left out keep no segments from later ones (stream/stack_store.h).
 * Simulated threads push and pop segments at random. A sampler sends each segment once, and at most
 * some with one sample. A part of the samples is left out. A reader of the others must know the
 * same stacks as a reader of all. A reader of one window must know them, too. Samples of the kernel
 * module name segments by their content.
 */
#include <stdlib.h>
#include <string.h>
#include <pcce/sample.h>
#include "stream/stack_store.h"
#include "tests/unit/tap.h"

#define THREADS 3
#define DEEPEST 1500
#define STEPS 30000
#define SENT_MAX 400 /* with one sample; less than PCCE_SAMPLE_SEGMENTS */

static struct simulated {
	struct pcce_segment segment[DEEPEST];
	uint32_t n;
	uint64_t sent; /* generation */
	uint64_t generation;
} threads[THREADS];

static uint64_t seed = 3, kept, left_out, longest;

static uint32_t any(uint32_t n)
{
	return tap_random(&seed) % n;
}

static void push_segment(struct simulated *t)
{
	struct pcce_segment *s = &t->segment[t->n];

	t->generation += THREADS;
	*s = (struct pcce_segment){.generation = t->generation + (uint64_t)(t - threads),
				   .index = t->n};
	s->base.id = t->n ? t->segment[t->n - 1].generation : 0;
	/* Some contents are equal. */
	for (int i = 0; i < PCCE_SEGMENT_ENTRIES; i++)
		s->entry[i].id = any(3) ? 1 : any(1000);
	t->n++;
}

static void change_stack(struct simulated *t)
{
	uint32_t n = any(20) ? any(3) : any(DEEPEST);
	bool up = any(2);

	for (; n && up && t->n < DEEPEST; n--)
		push_segment(t);
	for (; n && !up && t->n; n--)
		t->n--;
}

/* Fills in the sample of a thread, with the segments that were not sent. */
static void take_sample(struct simulated *t, struct pcce_sample *s, uint32_t flags)
{
	struct pcce_segment *to = (struct pcce_segment *)(s + 1);
	uint32_t first = t->n;

	*s = (struct pcce_sample){
		.pid = 1, .tid = (uint32_t)(t - threads), .n_below = t->n, .flags = flags};
	if (!t->n)
		return;
	s->below = t->segment[t->n - 1].generation;
	while (first && t->segment[first - 1].generation > t->sent)
		first--;
	for (; first < t->n && s->n_segments < SENT_MAX; first++) {
		to[s->n_segments++] = t->segment[first];
		t->sent = t->segment[first].generation;
	}
}

/* In windows, each reader knows the samples of one window only, and a thread ends with it. */
static void begin_window(struct stack_store *all, struct stack_store **some)
{
	stack_store_end_thread(all, 1, 0);
	stack_store_begin_window(all);
	threads[0].n = 0;
	threads[0].sent = threads[0].generation;
	stack_store_free(*some);
	*some = stack_store_new();
}

static void run(uint32_t flags, bool windows, const char *name)
{
	size_t size = sizeof(struct pcce_sample) + SENT_MAX * sizeof(struct pcce_segment);
	struct stack_store *all = stack_store_new(), *some = stack_store_new();
	struct pcce_sample *s = malloc(size);
	uint64_t wrong = 0, impossible = 0, unknown = 0;
	int err = all && some && s ? 0 : 1;

	memset(threads, 0, sizeof(threads));
	kept = left_out = longest = 0;
	printf("# %s\n", name);
	for (int i = 0; i < STEPS && !err; i++) {
		struct simulated *t = &threads[any(THREADS)];
		const struct stack_node *below, *other;
		const struct pcce_sample *out;

		if (windows && i % 500 == 0)
			begin_window(all, &some);
		change_stack(t);
		take_sample(t, s, flags);
		err = stack_store_take(all, s, &below);
		if (err || any(5)) {
			left_out++;
			continue;
		}
		kept++;
		err = stack_store_complete(all, s, &out);
		err = err ? err : stack_store_take(some, out, &other);
		if (err)
			break;
		longest = out->n_segments > longest ? out->n_segments : longest;
		impossible += !pcce_sample_counts_agree(out, PCCE_AREA_SEGMENTS, 0);
		unknown += !below && s->n_below;
		wrong += stack_store_hash(below) != stack_store_hash(other);
		if (i % 1000 == 0) {
			stack_store_sweep(all);
			stack_store_sweep(some);
		}
	}
	tap_ok(!err, "there is memory", "error %d", err);
	tap_ok(kept > 5000 && left_out > 5000 && longest > PCCE_SAMPLE_SEGMENTS && unknown,
	       "there are samples of each kind", "%llu, %llu, %llu, %llu", (unsigned long long)kept,
	       (unsigned long long)left_out, (unsigned long long)longest,
	       (unsigned long long)unknown);
	tap_ok(!wrong, "samples that are kept have their stacks", "%llu have not",
	       (unsigned long long)wrong);
	tap_ok(!impossible, "their counts are possible", "%llu are not",
	       (unsigned long long)impossible);
	stack_store_free(all);
	stack_store_free(some);
	free(s);
}

int main(void)
{
	run(0, false, "segments have generations");
	run(PCCE_SAMPLE_BY_CONTENT, false, "segments have names");
	run(0, true, "windows");
	run(PCCE_SAMPLE_BY_CONTENT, true, "windows, and segments have names");
	return tap_done();
}
