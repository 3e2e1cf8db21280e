/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reads the BPF program's rings with the lock-free protocol of bpf/sampler.h. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "bpf/sampler.h"
#include <pcce/labels.h>
#include <pcce/sample.h>
#include "sampler/bpf_ring.h"
#include "sampler/event_queue.h"
#include "sampler/stack_blocks.h"

#define ALL_MAX (256ull << 20) /* for the rings of all CPUs, roughly */

struct bpf_ring {
	int cpus, busy;
	uint64_t size; /* size of a segment */
	size_t element;
	struct sampler_control *controls;
	size_t controls_bytes;
	const uint8_t *segments;
	size_t segments_bytes;
	struct stack_blocks *stacks;
};

uint32_t bpf_ring_shift(int cpus)
{
	uint32_t shift = SAMPLER_SEGMENT_SHIFT_MAX;

	while (shift > 18 && ((uint64_t)cpus * SAMPLER_SEGMENTS << shift) > ALL_MAX)
		shift--;
	return shift;
}

uint32_t bpf_ring_element(int cpus)
{
	return ((1u << bpf_ring_shift(cpus)) + (uint32_t)SAMPLER_RECORD_MAX + 7) & ~7u;
}

int bpf_ring_open(int controls_fd, int rings_fd, int cpus, struct bpf_ring **out)
{
	struct bpf_ring *r = calloc(1, sizeof(*r));
	void *controls, *segments;

	if (!r)
		return -ENOMEM;
	r->cpus = cpus;
	r->stacks = stack_blocks_new((uint32_t)cpus);
	if (!r->stacks) {
		free(r);
		return -ENOMEM;
	}
	r->size = 1ull << bpf_ring_shift(cpus);
	r->element = bpf_ring_element(cpus);
	r->controls_bytes = (size_t)cpus * sizeof(*r->controls);
	r->segments_bytes = (size_t)cpus * SAMPLER_SEGMENTS * r->element;
	controls =
		mmap(NULL, r->controls_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, controls_fd, 0);
	segments = mmap(NULL, r->segments_bytes, PROT_READ, MAP_SHARED, rings_fd, 0);
	r->controls = controls == MAP_FAILED ? NULL : controls;
	r->segments = segments == MAP_FAILED ? NULL : segments;
	if (!r->controls || !r->segments) {
		int err = -errno;

		bpf_ring_close(r);
		return err;
	}
	*out = r;
	return 0;
}

void bpf_ring_close(struct bpf_ring *r)
{
	if (!r)
		return;
	if (r->controls)
		munmap(r->controls, r->controls_bytes);
	if (r->segments)
		munmap((void *)(uintptr_t)r->segments, r->segments_bytes);
	stack_blocks_free(r->stacks);
	free(r);
}

/* Checks what the writer never does otherwise. */
static bool is_possible_sample(const struct pcce_sample *s)
{
	return pcce_sample_counts_are_possible(s, PCCE_COPY_REGISTERS + PCCE_STACK_SENT_WORDS) &&
	       (!(s->flags & PCCE_SAMPLE_KERNEL_STACK) ||
		(s->kip && s->kip <= PCCE_KERNEL_FRAMES)) &&
	       PCCE_SAMPLE_LABELS(s->flags) <= PCCE_LABELS_BYTES / 8 &&
	       (!(s->flags & PCCE_SAMPLE_WAIT) || s->kip == sizeof(struct pcce_wait) / 8);
}

static int read_cpu_ring(struct bpf_ring *r, int cpu, bpf_ring_sink *sink, void *ctx)
{
	struct sampler_control *c = &r->controls[cpu];
	uint64_t tail = c->tail, head = __atomic_load_n(&c->head, __ATOMIC_ACQUIRE);
	uint64_t left = __atomic_load_n(&c->left, __ATOMIC_RELAXED);
	int err = 0;

	if (head - tail > r->size / 4)
		r->busy = 1;
	while (tail < head && !err) {
		uint64_t at = tail & (r->size - 1), segment = tail / r->size;
		size_t slot = (size_t)cpu * SAMPLER_SEGMENTS + segment % SAMPLER_SEGMENTS, size;
		const struct pcce_sample *s, *whole = NULL;
		const uint64_t *kernel;

		if (tail == left && at) {
			tail = (segment + 1) * r->size;
			continue;
		}
		s = (const struct pcce_sample *)(r->segments + slot * r->element + at +
						 SAMPLER_SKIP);
		if (!is_possible_sample(s)) {
			tail = head;
			break;
		}
		kernel = (const uint64_t *)((const char *)s + pcce_sample_size(s));
		size = SAMPLER_SKIP + pcce_sample_size(s) +
		       (event_queue_words(s) + PCCE_SAMPLE_LABELS(s->flags)) * sizeof(*kernel);
		if (s->flags & PCCE_SAMPLE_COPY) {
			err = stack_blocks_complete(r->stacks, (uint32_t)cpu, s, &whole);
			s = whole;
		}
		if (!err)
			err = sink(ctx, s, pcce_sample_size(s), kernel);
		tail = at + size >= r->size ? (segment + 1) * r->size : tail + size;
	}
	__atomic_store_n(&c->tail, tail, __ATOMIC_RELEASE);
	if (head & (r->size - 1))
		__atomic_store_n(&c->leave, head / r->size + 1, __ATOMIC_RELAXED);
	return err;
}

int bpf_ring_read(struct bpf_ring *r, bpf_ring_sink *sink, void *ctx)
{
	int cpu, err = 0;

	r->busy = 0;
	for (cpu = 0; cpu < r->cpus && !err; cpu++)
		err = read_cpu_ring(r, cpu, sink, ctx);
	return err;
}

int bpf_ring_busy(const struct bpf_ring *r)
{
	return r->busy;
}

uint64_t bpf_ring_copied(const struct bpf_ring *r)
{
	return stack_blocks_copied(r->stacks);
}

static uint64_t read_counter(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

struct sampler_counts bpf_ring_counts(const struct bpf_ring *r, uint32_t event)
{
	struct sampler_counts sum = {0};

	for (int cpu = 0; cpu < r->cpus; cpu++) {
		const struct sampler_counts *c = &r->controls[cpu].of[event];

		sum.dropped += read_counter((const uint64_t *)&c->dropped);
		sum.throttled += read_counter((const uint64_t *)&c->throttled);
		sum.others += read_counter((const uint64_t *)&c->others);
		sum.late += read_counter((const uint64_t *)&c->late);
		sum.ticks += read_counter((const uint64_t *)&c->ticks);
		sum.crowded += read_counter((const uint64_t *)&c->crowded);
		sum.nested += read_counter((const uint64_t *)&c->nested);
	}
	return sum;
}
