/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tests both ends of the protocol of pcce/stack_blocks.h against each other: the part of the
 * samplers in the kernel, built for this machine, and the reader. Simulated threads change their
 * stacks at random between samples, and move between CPUs. Some have stacks at the same addresses,
 * as in forked processes. Each completed sample must have the stack as it was. Some stacks have
 * many parts.
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
#define SAMPLES 100000
#define WORDS 24576u /* of a thread's stack */

struct thread {
	uint64_t base, sp;
	uint32_t tid;
	int cpu;
	uint64_t words[WORDS];
};

static struct thread threads[THREADS];
static struct pcce_stack_table *written[CPUS]; /* the writers' tables */
static uint64_t record[SAMPLER_RECORD_MAX / 8 + PCCE_STACK_PART_WORDS];
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
	uint32_t reach = any(8) ? 40 : any(100) ? 1500 : WORDS;

	t->sp += 8 * (uint64_t)any(reach + reach / 4);
	if (t->sp > end - 8)
		t->sp = end - 8;
	for (uint32_t n = any(reach); n; n--) {
		t->sp -= t->sp > t->base + 64 ? 8 : 0;
		*word_at(t, t->sp) = any(1000);
	}
}

/* What bpf/sampler.bpf.c and kmod/stacks.c do with a sample. readable: bytes from the block with sp
 * on. */
static const struct pcce_sample *write_sample(struct thread *t, uint64_t readable)
{
	struct pcce_sample *s = (struct pcce_sample *)record;
	struct pcce_stack_table *known = written[t->cpu];
	struct pcce_stack_changes *part;
	uint64_t from = t->sp & -(uint64_t)PCCE_STACK_BLOCK, end = from + readable, *registers;

	memset(record, 0xee, sizeof(record));
	*s = (struct pcce_sample){
		.flags = PCCE_SAMPLE_COPY, .tid = t->tid, .sp = t->sp, .n_entries = any(17)};
	registers = (uint64_t *)(uintptr_t)pcce_sample_stack(s);
	for (unsigned int i = 0; i < PCCE_COPY_REGISTERS; i++)
		registers[i] = i;
	part = (struct pcce_stack_changes *)(registers + PCCE_COPY_REGISTERS);
	do {
		uint64_t bytes = end - from < PCCE_STACK_PART ? end - from : PCCE_STACK_PART;

		part->blocks = (uint32_t)(bytes / PCCE_STACK_BLOCK);
		part->group = pcce_stack_group(t->tid);
		memcpy(known->now, word_at(t, from), bytes);
		pcce_stack_send(known, part, from);
		part = (void *)((struct pcce_stack_block *)(part + 1) + part->sent);
		from += bytes;
	} while (from < end);
	s->n_stack = (uint32_t)((uint64_t *)part - registers);
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
	return words <= PCCE_COPY_WORDS &&
	       !memcmp(stack + PCCE_COPY_REGISTERS, word_at(t, t->sp), words * 8);
}

static void test_random(void)
{
	struct stack_blocks *b = stack_blocks_new(CPUS);
	uint64_t wrong = 0, sent = 0, all = 0, lost = 0, large = 0;

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
		readable = readable > PCCE_STACK_BYTES ? PCCE_STACK_BYTES : readable & ~31ull;
		s = write_sample(t, readable);
		sent += s->n_stack * 8;
		all += readable;
		large += readable > 4 * PCCE_STACK_PART;
		if (stack_blocks_complete(b, (uint32_t)t->cpu, s, &whole) ||
		    !is_whole(whole, t, readable))
			wrong++;
	}
	tap_ok(!wrong, "each sample has the stack as it was", "%lu of %d are wrong", wrong,
	       SAMPLES);
	tap_ok(large > SAMPLES / 20, "some have more than four parts", "%lu", large);
	tap_ok(sent < all / 2, "less than half of the stacks was sent", "%lu of %lu bytes", sent,
	       all);
	printf("# %lu samples lost; %lu of %lu bytes sent\n", lost, sent, all);
	for (int i = 0; i < CPUS; i++)
		free(written[i]);
	stack_blocks_free(b);
}

/* How many blocks a sample of the thread sends. */
static uint64_t blocks_sent(struct stack_blocks *b, struct thread *t, uint64_t readable)
{
	const struct pcce_sample *s = write_sample(t, readable), *whole = NULL;
	uint64_t parts = (readable + PCCE_STACK_PART - 1) / PCCE_STACK_PART,
		 n = (s->n_stack * 8 - PCCE_COPY_REGISTERS * 8 -
		      parts * sizeof(struct pcce_stack_changes)) /
		     PCCE_STACK_BLOCK;

	return stack_blocks_complete(b, (uint32_t)t->cpu, s, &whole) ||
			       !is_whole(whole, t, readable)
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
	n = blocks_sent(b, t, PCCE_STACK_PART);
	tap_ok(n == PCCE_STACK_BLOCKS, "the first sample brings all blocks", "%lu", n);
	n = blocks_sent(b, t, PCCE_STACK_PART);
	tap_ok(!n, "the same stack again brings none", "%lu", n);
	*word_at(t, t->sp + 0x800) = 1;
	n = blocks_sent(b, t, PCCE_STACK_PART);
	tap_ok(n == 1, "a word that changed brings one block", "%lu", n);
	t->sp -= 0x100;
	n = blocks_sent(b, t, PCCE_STACK_PART);
	tap_ok(n == 256 / PCCE_STACK_BLOCK, "deeper by 256 bytes, these blocks", "%lu", n);
	/* Its stack has the same addresses and another content. */
	n = blocks_sent(b, other, PCCE_STACK_PART);
	tap_ok(n == 1, "another process brings what differs", "%lu", n);
	/* Different addresses, the same content. */
	other->base += PCCE_STACK_BYTES;
	other->sp += PCCE_STACK_BYTES;
	n = blocks_sent(b, other, PCCE_STACK_PART);
	tap_ok(n == PCCE_STACK_BLOCKS, "a stack elsewhere brings all blocks", "%lu", n);
	other->sp &= -(uint64_t)PCCE_STACK_BLOCK;
	n = blocks_sent(b, other, PCCE_STACK_BYTES);
	tap_ok(n == PCCE_STACK_PLACES - PCCE_STACK_BLOCKS, "a larger need brings what is deeper",
	       "%lu", n);
	*word_at(other, other->sp + PCCE_STACK_BYTES - 8) = 1;
	n = blocks_sent(b, other, PCCE_STACK_BYTES);
	tap_ok(n == 1, "... and then what has changed", "%lu", n);
	free(written[0]);
	stack_blocks_free(b);
}

/* What the reader says of a record that has two parts and is changed. */
static int change_record(void change(struct pcce_sample *s, struct pcce_stack_changes *part))
{
	struct stack_blocks *b = stack_blocks_new(CPUS);
	const struct pcce_sample *whole;
	struct pcce_sample *s;
	int err;

	written[0] = calloc(1, sizeof(*written[0]));
	s = (struct pcce_sample *)(uintptr_t)write_sample(&threads[0], 2ul * PCCE_STACK_PART);
	change(s, (struct pcce_stack_changes *)((uintptr_t)pcce_sample_stack(s) +
						PCCE_COPY_REGISTERS * sizeof(uint64_t)));
	err = stack_blocks_complete(b, 0, s, &whole);
	free(written[0]);
	stack_blocks_free(b);
	return err;
}

static void nothing(struct pcce_sample *s, struct pcce_stack_changes *part)
{
	(void)s;
	(void)part;
}

static void a_word_less(struct pcce_sample *s, struct pcce_stack_changes *part)
{
	(void)part;
	s->n_stack--;
}

static void no_part(struct pcce_sample *s, struct pcce_stack_changes *part)
{
	(void)part;
	s->n_stack = PCCE_COPY_REGISTERS;
}

static void a_block_more(struct pcce_sample *s, struct pcce_stack_changes *part)
{
	(void)s;
	part->blocks++;
}

static void a_part_after_a_short_one(struct pcce_sample *s, struct pcce_stack_changes *part)
{
	(void)s;
	part->blocks--;
}

static void no_such_group(struct pcce_sample *s, struct pcce_stack_changes *part)
{
	(void)s;
	part->group = PCCE_STACK_GROUPS;
}

static void a_bit_less(struct pcce_sample *s, struct pcce_stack_changes *part)
{
	(void)s;
	part->changed[0] &= ~1ull;
}

static void an_unknown_block(struct pcce_sample *s, struct pcce_stack_changes *part)
{
	struct pcce_stack_block *first = (struct pcce_stack_block *)(part + 1);

	a_bit_less(s, part);
	part->sent--;
	memmove(first, first + 1, s->n_stack * 8ul - sizeof(*first));
	s->n_stack -= PCCE_STACK_BLOCK / 8;
}

static void too_many_parts(struct pcce_sample *s, struct pcce_stack_changes *part)
{
	struct pcce_stack_block *first = (struct pcce_stack_block *)(part + 1);
	const struct pcce_stack_changes whole = *part;

	/* The first part, again and again. */
	for (unsigned int i = 0; i < PCCE_STACK_PARTS; i++) {
		part = (void *)(first + PCCE_STACK_BLOCKS);
		*part = whole;
		first = (struct pcce_stack_block *)(part + 1);
	}
	s->n_stack = PCCE_COPY_REGISTERS + (PCCE_STACK_PARTS + 1) * PCCE_STACK_PART_WORDS;
}

static void test_impossible(void)
{
	void (*const changes[])(struct pcce_sample *, struct pcce_stack_changes *) = {
		a_word_less,   no_part,	   a_block_more,     a_part_after_a_short_one,
		no_such_group, a_bit_less, an_unknown_block, too_many_parts};

	int right = change_record(nothing);

	tap_ok(!right, "a record with two parts is taken", "%d", right);
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		int err = change_record(changes[i]);

		tap_ok(err == -EBADMSG, "an impossible record is refused", "%zu: %d", i, err);
	}
}

static void is_end(const char *name, uint64_t end, uint64_t want)
{
	tap_ok(end == want, name, "%#lx, not %#lx", end, want);
}

static void test_end(void)
{
	const uint64_t sp = 0x7ffc00001238, fs = 0x7f0000000740, all = PCCE_STACK_BYTES;

	is_end("the first thread's stack ends at its arguments",
	       pcce_stack_end(sp, sp + 4968, fs, all, 0), sp + 4968);
	is_end("... or where it is not needed", pcce_stack_end(sp, sp + 4968, fs, 512, 0),
	       sp + 512);
	is_end("... but a whole one does not", pcce_stack_end(sp, sp + 4968, fs, 512, 1),
	       sp + 4968);
	is_end("... or at the limit", pcce_stack_end(sp, sp + all + 8, fs, all, 1), sp + all);
	is_end("a thread's ends at its data", pcce_stack_end(fs - 3000, sp, fs, all, 0), fs);
	is_end("... or where it is not needed", pcce_stack_end(fs - 3000, sp, fs, 512, 0),
	       fs - 2488);
	is_end("... but a whole one does not", pcce_stack_end(fs - 3000, sp, fs, 512, 1), fs);
	is_end("an end at sp is none", pcce_stack_end(sp, sp, fs, all, 0), sp + all);
	is_end("a stack elsewhere", pcce_stack_end(0x500000, sp, fs, all, 1), 0x500000 + all);
	is_end("... ends where it is not needed", pcce_stack_end(0x500000, sp, fs, 512, 1),
	       0x500000 + 512);
}

int main(void)
{
	test_end();
	test_random();
	test_changes();
	test_impossible();
	return tap_done();
}
