/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See stack_pointers.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <pcce/sample.h>
#include "base/array.h"
#include "filter/stack_pointers.h"

struct stack_pointers {
	struct stream stream;
	const struct record_modules *modules;
	struct address_spaces *spaces;
	char *copy; /* of a sample that changes */
	size_t capacity;
};

static struct stack_pointers *stage(struct stream *s)
{
	return (struct stack_pointers *)s;
}

static int stack_pointers_process(struct stream *s, const struct pcce_rec_process *rec,
				  const char *comm)
{
	return address_spaces_add_process(stage(s)->spaces, rec)
		       ? -ENOMEM
		       : stream_pass(s->next, process, rec, comm);
}

static int stack_pointers_map(struct stream *s, const struct pcce_rec_map *rec, uint64_t pgoff,
			      const char *path)
{
	return address_spaces_add_map(stage(s)->spaces, rec)
		       ? -ENOMEM
		       : stream_pass(s->next, map, rec, pgoff, path);
}

static int change(struct stack_pointers *t, struct stream_event *e)
{
	size_t bytes = pcce_sample_size(e->sample);
	const struct decode_space *as;
	uint64_t layout;

	as = address_spaces_now(t->spaces, e->sample->pid, &layout);
	if (!as)
		return -ENOMEM;
	if (!decode_has_base(as, e->sample))
		return 0;
	if (array_reserve(&t->copy, &t->capacity, bytes, 1))
		return -ENOMEM;
	memcpy(t->copy, e->sample, bytes);
	e->sample = (const struct pcce_sample *)t->copy;
	decode_take_stack_pointer(as, (struct pcce_sample *)t->copy);
	return 0;
}

static int stack_pointers_event(struct stream *s, struct stream_event *e)
{
	int r = record_modules_hybrid(stage(s)->modules) ? change(stage(s), e) : 0;

	return r ? r : stream_pass(s->next, event, e);
}

static int stack_pointers_ended(struct stream *s, uint32_t pid, uint32_t tid, bool process)
{
	if (process)
		address_spaces_end(stage(s)->spaces, pid);
	return stream_pass(s->next, ended, pid, tid, process);
}

static int stack_pointers_window(struct stream *s)
{
	address_spaces_sweep(stage(s)->spaces);
	return stream_pass(s->next, window);
}

static void stack_pointers_free(struct stream *s)
{
	address_spaces_free(stage(s)->spaces);
	free(stage(s)->copy);
	free(s);
}

struct stream *stack_pointers_new(const struct record_modules *m)
{
	static const struct stream_ops ops = {
		.process = stack_pointers_process,
		.map = stack_pointers_map,
		.event = stack_pointers_event,
		.ended = stack_pointers_ended,
		.window = stack_pointers_window,
		.free = stack_pointers_free,
	};
	struct stack_pointers *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->stream.ops = &ops;
	t->modules = m;
	t->spaces = record_modules_spaces(m);
	if (t->spaces)
		return &t->stream;
	free(t);
	return NULL;
}
