/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * See windows.h. A process, a thread and a module are introduced in a window when they have the
 * number of the window.
 *
 * A process that is not introduced changes its state only. Its introduction then writes the present
 * state. In a window, a number can belong to a second process. The first one may have been
 * introduced, and its mappings are not those of the second. Its introduction therefore looks like
 * an exec, which takes all mappings away.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/uthash.h"
#include "filter/windows.h"
#include "stream/event_writer.h"

struct thread {
	uint32_t tid;
	uint64_t window;
	bool ended;
	char *name;
	UT_hash_handle hh;
};

struct process {
	uint32_t pid, ppid;
	uint64_t window;    /* in which it is introduced */
	uint64_t same_from; /* the window in which another process had the number; 0: none */
	bool ended;
	char *name;
	struct thread *threads; /* that have names */
	UT_hash_handle hh;
};

struct module {
	uint32_t number;
	uint64_t window;
};

struct windows {
	struct stream stream; /* next: the writer of the window */
	struct datafile_writer *w;
	const struct record_modules *modules;
	struct address_spaces *spaces;
	struct process *processes, *last;
	struct module *of; /* by number in modules */
	size_t n_of;
	uint32_t *written; /* modules of the window */
	size_t n_written, capacity;
	uint64_t window; /* from 1 */
};

static struct windows *windows_of(struct stream *s)
{
	return (struct windows *)s;
}

/* ---- what is known ---------------------------------------------------------------- */

static void free_thread(struct process *p, struct thread *t)
{
	HASH_DEL(p->threads, t);
	free(t->name);
	free(t);
}

static void free_threads(struct process *p)
{
	struct thread *t, *next;

	HASH_ITER (hh, p->threads, t, next)
		free_thread(p, t);
}

static void free_known_process(struct windows *w, struct process *p)
{
	HASH_DEL(w->processes, p);
	free_threads(p);
	free(p->name);
	free(p);
}

/* Returns the process, which may be a new one. NULL: no memory. */
static struct process *known_process(struct windows *w, uint32_t pid)
{
	struct process *p = w->last;

	if (p && p->pid == pid)
		return p;
	HASH_FIND(hh, w->processes, &pid, sizeof(pid), p);
	if (!p) {
		p = calloc(1, sizeof(*p));
		if (!p)
			return NULL;
		p->pid = pid;
		if (!hash_add(w->processes, pid, p))
			return NULL;
	}
	w->last = p;
	return p;
}

static int set_name(char **name, const char *to)
{
	char *copy = strdup(to);

	free(*name);
	*name = copy;
	return copy ? 0 : -ENOMEM;
}

static struct thread *named_thread(const struct process *p, uint32_t tid)
{
	struct thread *t;

	HASH_FIND(hh, p->threads, &tid, sizeof(tid), t);
	return t;
}

/* ---- introductions ---------------------------------------------------------------- */

/* Writes the module if the window does not have it, and sets *number to its number there. */
static int introduce_module(struct windows *w, uint32_t index, uint32_t *number)
{
	struct module *m;
	int r;

	if (array_reach(&w->of, &w->n_of, index, 64, sizeof(*w->of)))
		return -ENOMEM;
	m = &w->of[index];
	if (m->window != w->window) {
		if (array_grow_from(&w->written, w->n_written, &w->capacity, 64,
				    sizeof(*w->written)))
			return -ENOMEM;
		r = record_modules_write(w->modules, index, (uint32_t)w->n_written, w->w);
		if (r)
			return r;
		*m = (struct module){(uint32_t)w->n_written, w->window};
		w->written[w->n_written++] = index;
	}
	*number = m->number;
	return 0;
}

static int write_map(struct windows *w, const struct pcce_rec_map *rec)
{
	struct pcce_rec_map map = *rec;
	int r = map.module == PCCE_MODULE_NONE ? 0 : introduce_module(w, map.module, &map.module);

	return r ? r : stream_pass(w->stream.next, map, &map, 0, NULL);
}

static int write_maps(struct windows *w, uint32_t pid, uint64_t time)
{
	size_t n;
	const struct decode_module *maps = address_spaces_mappings(w->spaces, pid, &n);
	int r = maps ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !r; i++) {
		const struct pcce_rec_map rec = {.time = time,
						 .start = maps[i].start,
						 .length = maps[i].end - maps[i].start,
						 .vaddr = maps[i].vaddr,
						 .pid = pid,
						 .module = maps[i].module};

		r = write_map(w, &rec);
	}
	return r;
}

static int introduce_process(struct windows *w, struct process *p, uint64_t time)
{
	struct pcce_rec_process rec = {.time = time,
				       .pid = p->pid,
				       .ppid = p->ppid,
				       .flags = p->same_from == w->window ? PCCE_PROCESS_EXEC : 0};
	int r = 0;

	p->window = w->window;
	if (p->name)
		r = stream_pass(w->stream.next, process, &rec, p->name);
	return r ? r : write_maps(w, p->pid, time);
}

static int introduce_thread(struct windows *w, struct process *p, uint32_t tid, uint64_t time)
{
	struct thread *t = named_thread(p, tid);
	const struct pcce_rec_thread rec = {.time = time, .pid = p->pid, .tid = tid};

	if (!t || t->window == w->window)
		return 0;
	t->window = w->window;
	return stream_pass(w->stream.next, thread, &rec, t->name);
}

/* ---- the stream ------------------------------------------------------------------- */

static int windows_process(struct stream *s, const struct pcce_rec_process *rec, const char *comm)
{
	struct windows *w = windows_of(s);
	struct process *p = known_process(w, rec->pid);
	/* Before, samples can have come of a process of which nobody had told. */
	bool another = p && p->name && rec->flags & PCCE_PROCESS_FORK, unknown = p && !p->name;

	if (!p || set_name(&p->name, comm))
		return -ENOMEM;
	free_threads(p);
	p->ended = false;
	if (another && p->window == w->window) {
		p->same_from = w->window;
		p->window = 0;
	} else if (unknown) {
		p->window = 0;
	}
	if (rec->ppid)
		p->ppid = rec->ppid;
	return p->window == w->window ? stream_pass(s->next, process, rec, comm) : 0;
}

static int windows_thread(struct stream *s, const struct pcce_rec_thread *rec, const char *comm)
{
	struct windows *w = windows_of(s);
	struct process *p = known_process(w, rec->pid);
	struct thread *t = p ? named_thread(p, rec->tid) : NULL;

	if (!p)
		return -ENOMEM;
	if (!t) {
		t = calloc(1, sizeof(*t));
		if (!t)
			return -ENOMEM;
		t->tid = rec->tid;
		if (!hash_add(p->threads, tid, t))
			return -ENOMEM;
	}
	t->ended = false;
	if (set_name(&t->name, comm))
		return -ENOMEM;
	return t->window == w->window ? stream_pass(s->next, thread, rec, comm) : 0;
}

static int windows_map(struct stream *s, const struct pcce_rec_map *rec, uint64_t pgoff,
		       const char *path)
{
	struct windows *w = windows_of(s);
	struct process *p = known_process(w, rec->pid);

	(void)pgoff;
	(void)path;
	if (!p)
		return -ENOMEM;
	return p->window == w->window ? write_map(w, rec) : 0;
}

static int windows_event(struct stream *s, struct stream_event *e)
{
	struct windows *w = windows_of(s);
	struct process *p = known_process(w, e->sample->pid);
	int r = p ? 0 : -ENOMEM;

	if (!r && p->window != w->window)
		r = introduce_process(w, p, e->sample->time);
	if (!r)
		r = introduce_thread(w, p, e->sample->tid, e->sample->time);
	return r ? r : stream_pass(s->next, event, e);
}

static int windows_ended(struct stream *s, uint32_t pid, uint32_t tid, bool process)
{
	struct process *p = known_process(windows_of(s), pid);
	struct thread *t = p ? named_thread(p, tid) : NULL;

	if (!p)
		return -ENOMEM;
	p->ended |= process;
	if (t)
		t->ended = true;
	return 0;
}

static void windows_free(struct stream *s)
{
	struct windows *w = windows_of(s);
	struct process *p, *next;

	HASH_ITER (hh, w->processes, p, next)
		free_known_process(w, p);
	free(w->of);
	free(w->written);
	free(w);
}

struct stream *windows_new(struct datafile_writer *writer, const struct record_modules *m,
			   struct address_spaces *spaces)
{
	static const struct stream_ops ops = {
		.process = windows_process,
		.thread = windows_thread,
		.map = windows_map,
		.event = windows_event,
		.ended = windows_ended,
		.free = windows_free,
	};
	struct windows *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	*w = (struct windows){
		.stream.ops = &ops, .w = writer, .modules = m, .spaces = spaces, .window = 1};
	w->stream.next = event_writer_new(writer);
	if (w->stream.next)
		return &w->stream;
	free(w);
	return NULL;
}

/* Forgets what has ended. */
static void forget_ended_processes(struct windows *w)
{
	struct process *p, *next;
	struct thread *t, *next_thread;

	w->last = NULL;
	HASH_ITER (hh, w->processes, p, next) {
		if (p->ended) {
			free_known_process(w, p);
			continue;
		}
		HASH_ITER (hh, p->threads, t, next_thread)
			if (t->ended)
				free_thread(p, t);
	}
}

int windows_switch(struct stream *s, struct datafile_writer *writer)
{
	struct windows *w = windows_of(s);
	struct stream *end = event_writer_new(writer);

	if (!end)
		return -ENOMEM;
	s->next->ops->free(s->next);
	s->next = end;
	w->w = writer;
	w->window++;
	w->n_written = 0;
	forget_ended_processes(w);
	return 0;
}

const uint32_t *windows_modules(const struct stream *s, size_t *n)
{
	const struct windows *w = (const struct windows *)s;

	*n = w->n_written;
	return w->written;
}
