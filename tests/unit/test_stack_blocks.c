/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tests both ends of the protocol of pcce/stack_blocks.h against each other: the part of the
 * samplers in the kernel, built for this machine, and the reader. Simulated threads change their
 * stacks at random between samples, and move between CPUs. Some have stacks at the same addresses,
 * as in forked processes. Each completed sample must have the stack as it was.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/sampler.h"
#include <pcce/sample.h>
#include "sampler/stack_blocks.h"
#include "tests/unit/tap.h"

#define CPUS 3
#define THREADS 40
#define SAMPLES 300000
#define WORDS 4096u /* of a thread's stack */

struct thread {
	uint64_t base, sp;
	uint32_t tid;
	int cpu;
	uint64_t words[WORDS];
};

static struct thread threads[THREADS];
static struct pcce_stack_table *written[CPUS]; /* the writers' tables */
static uint64_t record[SAMPLER_RECORD_MAX / 8];
static uint64_t seed = 29;

static uint32_t any(uint32_t n)
{
	return tap_random(&seed) % n;
}

static uint64_t *word_at(struct thread *t, uint64_t address)
{
	return &t->words[(address - t->base) / 8];
}

/* The thread calls and returns, and changes some words; mostly near its stack pointer. */
static void run_thread(struct thread *t)
{
	uint64_t end = t->base + sizeof(t->words);
	uint32_t reach = any(8) ? 40 : 1500;

	t->sp += 8 * (uint64_t)any(reach);
	if (t->sp > end - 8)
		t->sp = end - 8;
	for (uint32_t n = any(reach); n; n--) {
		t->sp -= t->sp > t->base + 64 ? 8 : 0;
		*word_at(t, t->sp) = any(1000);
	}
}

/* What bpf/sampler.bpf.c and kmod/stacks.c do with a sample. */
static const struct pcce_sample *write_sample(struct thread *t, uint64_t readable)
{
	struct pcce_sample *s = (struct pcce_sample *)record;
	struct pcce_stack_table *known = written[t->cpu];
	struct pcce_stack_changes *stack;
	uint64_t first = t->sp & -(uint64_t)PCCE_STACK_BLOCK, *registers;

	memset(record, 0xee, sizeof(record));
	*s = (struct pcce_sample){
		.flags = PCCE_SAMPLE_COPY, .tid = t->tid, .sp = t->sp, .n_entries = any(17)};
	registers = (uint64_t *)(uintptr_t)pcce_sample_stack(s);
	for (unsigned int i = 0; i < PCCE_COPY_REGISTERS; i++)
		registers[i] = i;
	stack = (struct pcce_stack_changes *)(registers + PCCE_COPY_REGISTERS);
	stack->blocks = (uint32_t)(readable / PCCE_STACK_BLOCK);
	stack->group = pcce_stack_group(t->tid);
	for (uint64_t i = 0; i < readable / 8; i++)
		known->now[i * 8 / PCCE_STACK_BLOCK].word[i % (PCCE_STACK_BLOCK / 8)] =
			*word_at(t, first + i * 8);
	pcce_stack_send(known, stack, t->sp);
	s->n_stack = (uint32_t)(PCCE_COPY_REGISTERS +
				(sizeof(*stack) + stack->sent * PCCE_STACK_BLOCK) / 8);
	return s;
}

static bool is_whole(const struct pcce_sample *s, struct thread *t, uint64_t readable)
{
	const uint64_t *stack = pcce_sample_stack(s);
	uint64_t words = readable ? (readable - t->sp % PCCE_STACK_BLOCK) / 8 : 0;

	if (s->sp != t->sp || s->tid != t->tid || s->n_stack != PCCE_COPY_REGISTERS + words)
		return false;
	for (uint64_t i = 0; i < PCCE_COPY_REGISTERS; i++)
		if (stack[i] != i)
			return false;
	return !words || !memcmp(stack + PCCE_COPY_REGISTERS, word_at(t, t->sp), words * 8);
}

static void test_random(void)
{
	struct stack_blocks *b = stack_blocks_new(CPUS);
	uint64_t wrong = 0, sent = 0, all = 0, lost = 0;

	for (int i = 0; i < CPUS; i++)
		written[i] = calloc(1, sizeof(*written[i]));
	for (uint32_t i = 0; i < THREADS; i++) {
		/* Every fourth one has the addresses of the one before. */
		threads[i].base = 0x7000000000 + (uint64_t)(i - (i % 4 == 3)) * 0x100000;
		threads[i].sp = threads[i].base + sizeof(threads[i].words) - 8;
		threads[i].tid = 1000 + i;
	}
	for (uint32_t i = 0; i < SAMPLES; i++) {
		struct thread *t = &threads[any(4) ? any(6) : any(THREADS)];
		uint64_t readable;
		const struct pcce_sample *s, *whole = NULL;

		if (!any(50))
			t->cpu = (int)any(CPUS);
		run_thread(t);
		/* A sample that finds no room: the sampler has not looked at the stack. */
		if (!any(20)) {
			lost++;
			continue;
		}
		readable = t->base + sizeof(t->words) - (t->sp & -(uint64_t)PCCE_STACK_BLOCK);
		readable = readable > PCCE_STACK_BYTES ? PCCE_STACK_BYTES : readable & ~1023ull;
		s = write_sample(t, readable);
		sent += s->n_stack * 8;
		all += readable;
		if (stack_blocks_complete(b, (uint32_t)t->cpu, s, &whole) ||
		    !is_whole(whole, t, readable))
			wrong++;
	}
	tap_ok(!wrong, "each sample has the stack as it was", "%lu of %d are wrong", wrong,
	       SAMPLES);
	tap_ok(sent < all / 2, "less than half of the stacks was sent", "%lu of %lu bytes", sent,
	       all);
	printf("# %lu samples lost; %lu of %lu bytes sent\n", lost, sent, all);
	for (int i = 0; i < CPUS; i++)
		free(written[i]);
	stack_blocks_free(b);
}

/* How many blocks a sample of the thread sends. */
static uint64_t blocks_sent(struct stack_blocks *b, struct thread *t)
{
	const struct pcce_sample *s = write_sample(t, PCCE_STACK_BYTES), *whole = NULL;
	uint64_t n =
		(s->n_stack * 8 - PCCE_COPY_REGISTERS * 8 - sizeof(struct pcce_stack_changes)) /
		PCCE_STACK_BLOCK;

	return stack_blocks_complete(b, (uint32_t)t->cpu, s, &whole) ||
			       !is_whole(whole, t, PCCE_STACK_BYTES)
		       ? UINT64_MAX
		       : n;
}

static void test_changes(void)
{
	struct stack_blocks *b = stack_blocks_new(CPUS);
	struct thread *t = &threads[0], *other = &threads[1];
	uint64_t n;

	written[0] = calloc(1, sizeof(*written[0]));
	*t = (struct thread){.base = 0x7000000000, .sp = 0x7000000000 + 0x1018, .tid = 1};
	for (uint32_t i = 0; i < WORDS; i++)
		t->words[i] = i;
	*other = *t;
	n = blocks_sent(b, t);
	tap_ok(n == PCCE_STACK_BLOCKS, "the first sample brings all blocks", "%lu", n);
	n = blocks_sent(b, t);
	tap_ok(!n, "the same stack again brings none", "%lu", n);
	*word_at(t, t->sp + 0x800) = 1;
	n = blocks_sent(b, t);
	tap_ok(n == 1, "a word that changed brings one block", "%lu", n);
	t->sp -= 0x100;
	n = blocks_sent(b, t);
	tap_ok(n == 256 / PCCE_STACK_BLOCK, "deeper by 256 bytes, these blocks", "%lu", n);
	/* Its stack has the same addresses and another content. */
	n = blocks_sent(b, other);
	tap_ok(n == 1 + 256 / PCCE_STACK_BLOCK, "another process brings what differs", "%lu", n);
	/* Different addresses, the same content. */
	other->base += PCCE_STACK_BYTES;
	other->sp += PCCE_STACK_BYTES;
	n = blocks_sent(b, other);
	tap_ok(n == PCCE_STACK_BLOCKS, "a stack elsewhere brings all blocks", "%lu", n);
	free(written[0]);
	stack_blocks_free(b);
}

static void test_impossible(void)
{
	struct stack_blocks *b = stack_blocks_new(CPUS);
	const struct pcce_sample *whole;
	struct thread *t = &threads[0];
	struct pcce_sample *s;
	struct pcce_stack_changes *stack;
	int errs[5];

	written[0] = calloc(1, sizeof(*written[0]));
	s = (struct pcce_sample *)(uintptr_t)write_sample(t, PCCE_STACK_BYTES);
	stack = (struct pcce_stack_changes *)((uintptr_t)pcce_sample_stack(s) +
					      PCCE_COPY_REGISTERS * sizeof(uint64_t));
	s->n_stack--;
	errs[0] = stack_blocks_complete(b, 0, s, &whole);
	s->n_stack++;
	stack->blocks++;
	errs[1] = stack_blocks_complete(b, 0, s, &whole);
	stack->blocks--;
	stack->group = PCCE_STACK_GROUPS;
	errs[2] = stack_blocks_complete(b, 0, s, &whole);
	stack->group = pcce_stack_group(t->tid);
	stack->changed[0] &= ~1ull;
	errs[3] = stack_blocks_complete(b, 0, s, &whole);
	/* A block that the reader has never seen. */
	stack->sent--;
	s->n_stack -= PCCE_STACK_BLOCK / 8;
	errs[4] = stack_blocks_complete(b, 0, s, &whole);
	for (int i = 0; i < 5; i++)
		tap_ok(errs[i] == -EBADMSG, "an impossible record is refused", "%d: %d", i,
		       errs[i]);
	free(written[0]);
	stack_blocks_free(b);
}

int main(void)
{
	test_random();
	test_changes();
	test_impossible();
	return tap_done();
}
