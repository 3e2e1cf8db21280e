// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Keeps the labels of threads in the record that OpenTelemetry has specified for them
 * (pcce/labels.h), so other tools read them, too.
 *
 * This file defines otel_thread_ctx_v1. In an executable, the definition is weak: that of an SDK in
 * the program comes first. The executable exports it, so the references of an SDK in a library,
 * also of one that dlopen() loads, are bound to it. So there is one variable, whose address the
 * thread page has. The variable belongs to whoever has set it: a record of an SDK is not touched.
 *
 * A thread has two records, which it uses in turn. A change writes the one that is not in use, and
 * then stores its address in the variable. So a sampler finds a whole record at any time. A signal
 * handler that interrupts a change cannot make one itself (busy).
 *
 * The memory is mapped when a thread first sets a label, and goes with the thread.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <pcce/labels.h>
#include "base/confined.h"
#include "base/local_libc.h"
#include "base/syscall.h"
#include "labels/labels.h"
#include "stack/page.h"

/* The model is global-dynamic, so libpcce.so.0 can be loaded whatever another library has. In an
 * executable, the linker replaces it. */
__attribute__((visibility("default"))) __thread struct pcce_labels_record *otel_thread_ctx_v1;

#define NEAR 65536 /* static TLS is around the thread pointer */

#define KEYS 254
#define KEY_MAX 63    /* bytes */
#define VALUE_MAX 255 /* a length has one byte */

union record {
	struct pcce_labels_record head;
	unsigned char bytes[PCCE_LABELS_BYTES];
};

struct thread_labels {
	union record records[2]; /* the one that the variable does not name is free */
	uint32_t busy;
};

/* The names of the process's keys, by index. They are added, and never changed. */
struct key {
	uint32_t ready; /* 0: free; 1: being filled */
	char name[KEY_MAX + 1];
};

static struct key *keys;

static bool is_same(const char *a, const char *b, size_t length)
{
	while (length && *a == *b) {
		a++;
		b++;
		length--;
	}
	return !length;
}

#define COMPILER_BARRIER() __asm__ volatile("" : : : "memory")

void labels_thread_begin(void)
{
	intptr_t distance = (char *)&otel_thread_ctx_v1 - (char *)&pcce_page;

	/* A variable in dynamic TLS may vanish with its library. */
	if (distance > -NEAR && distance < NEAR)
		pcce_page.labels = (uint64_t)(uintptr_t)&otel_thread_ctx_v1;
}

static bool is_own(const struct thread_labels *l, const struct pcce_labels_record *record)
{
	return l && (record == &l->records[0].head || record == &l->records[1].head);
}

void labels_thread_end(struct pcce_thread *t)
{
	struct pcce_page *page = t->page;
	struct pcce_labels_record **variable =
		(struct pcce_labels_record **)(uintptr_t)page->labels;
	struct thread_labels *l = t->labels;

	page->labels = 0;
	if (!l)
		return;
	if (variable && is_own(l, *variable))
		*variable = NULL;
	COMPILER_BARRIER();
	t->labels = NULL;
	raw_syscall2(SYS_munmap, l, sizeof(*l));
}

/* ---- changes --------------------------------------------------------------------- */

static void *map_memory(size_t bytes)
{
	void *p = is_confined(CONFINED_NO_MMAP) ? MAP_FAILED
						: raw_mmap(NULL, bytes, PROT_READ | PROT_WRITE,
							   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return raw_failed(p) ? NULL : p;
}

/* Returns the memory of the thread's labels, or NULL. */
static struct thread_labels *memory_of(struct pcce_thread *t)
{
	struct thread_labels *l;

	if (t->labels)
		return t->labels;
	l = map_memory(sizeof(*l));
	/* A signal handler may have done the same meanwhile. */
	if (l && !__sync_bool_compare_and_swap(&t->labels, NULL, l))
		raw_syscall2(SYS_munmap, l, sizeof(*l));
	return t->labels;
}

/* A change of the calling thread's labels. */
struct change {
	struct thread_labels *labels;
	struct pcce_labels_record **variable;
	const union record *from; /* NULL: there are no labels */
	union record *to;
	unsigned int size; /* of *to */
};

/* Finds the calling thread's record; NULL: it has none. 0 or -errno. */
static int find_own_record(const struct pcce_labels_record **record)
{
	const struct pcce_thread *t = pcce_thread_self();

	if (!t->listed || !pcce_page.labels)
		return -ESRCH;
	*record = *(struct pcce_labels_record *const *)(uintptr_t)pcce_page.labels;
	return *record && !is_own(t->labels, *record) ? -EBUSY : 0;
}

/* 0, or -errno: then nothing has happened. */
static int begin_change(struct change *c)
{
	const struct pcce_labels_record *record;
	int r = find_own_record(&record);

	if (r)
		return r;
	c->variable = (struct pcce_labels_record **)(uintptr_t)pcce_page.labels;
	c->labels = memory_of(pcce_thread_self());
	if (!c->labels)
		return -ENOMEM;
	if (c->labels->busy)
		return -EAGAIN;
	c->labels->busy = 1;
	COMPILER_BARRIER();
	c->from = (const union record *)*c->variable;
	c->to = &c->labels->records[c->from == &c->labels->records[0]];
	c->to->head = c->from ? c->from->head : (struct pcce_labels_record){0};
	c->size = sizeof(c->to->head);
	return 0;
}

static bool says_anything(const struct pcce_labels_record *record)
{
	unsigned int any = record->bytes;

	for (unsigned int i = 0; i < sizeof(record->trace); i++)
		any |= record->trace[i];
	return any;
}

/* Makes the new record the thread's; error: gives it up. Returns error. */
static int end_change(struct change *c, int error)
{
	if (!error) {
		c->to->head.bytes = (uint16_t)(c->size - sizeof(c->to->head));
		c->to->head.valid = PCCE_LABELS_VALID;
		COMPILER_BARRIER();
		*c->variable = says_anything(&c->to->head) ? &c->to->head : NULL;
	}
	COMPILER_BARRIER();
	c->labels->busy = 0;
	return error;
}

/* ---- keys ------------------------------------------------------------------------ */

/* Returns the index of a key, which may be new; -1: there are too many, or there is no memory. */
static int index_of_key(const char *name, size_t length)
{
	struct key *all = __atomic_load_n(&keys, __ATOMIC_ACQUIRE), *none = NULL;

	if (!all) {
		all = map_memory(KEYS * sizeof(*all));
		if (!all)
			return -1;
		if (!__atomic_compare_exchange_n(&keys, &none, all, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_ACQUIRE)) {
			raw_syscall2(SYS_munmap, all, KEYS * sizeof(*all));
			all = none;
		}
	}
	for (int i = 0; i < KEYS; i++) {
		uint32_t ready = __atomic_load_n(&all[i].ready, __ATOMIC_ACQUIRE);

		/* One that is being filled may get this name, too. Then the key has two indices. */
		if (ready == 2 && is_same(all[i].name, name, length + 1))
			return i;
		if (!ready && __atomic_compare_exchange_n(&all[i].ready, &ready, 1, false,
							  __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
			memcpy(all[i].name, name, length);
			__atomic_store_n(&all[i].ready, 2, __ATOMIC_RELEASE);
			return i;
		}
	}
	return -1;
}

/* ---- attributes: for each label its name, and then its value --------------------- */

/* A label in a record of this runtime. */
struct label {
	const unsigned char *at;
	const char *key;
	unsigned int index, key_length, size; /* bytes of both attributes */
};

/* Returns whether there is one at an offset. */
static bool label_at(const union record *r, unsigned int offset, struct label *out)
{
	const unsigned char *at = r->bytes + offset;

	if (offset >= sizeof(r->head) + r->head.bytes)
		return false;
	*out = (struct label){
		.at = at,
		.key = (const char *)at + 3,
		.index = at[2],
		.key_length = at[1] - 1u,
		.size = 2u + at[1] + 2u + at[2 + at[1] + 1],
	};
	return true;
}

static bool has_room_for(const struct change *c, size_t bytes)
{
	return c->size + bytes <= sizeof(*c->to);
}

static void append_label(struct change *c, unsigned int index, const char *key, size_t key_length,
			 const char *value, size_t length)
{
	unsigned char *at = c->to->bytes + c->size;

	*at++ = PCCE_LABELS_NAME;
	*at++ = (unsigned char)(1 + key_length);
	*at++ = (unsigned char)index;
	memcpy(at, key, key_length);
	at += key_length;
	*at++ = (unsigned char)index;
	*at++ = (unsigned char)length;
	memcpy(at, value, length);
	c->size += (unsigned int)(5 + key_length + length);
}

/* Copies all labels but that of a key. Returns the key's index, or -1. */
static int copy_others(struct change *c, const char *key, size_t key_length)
{
	struct label l;
	int index = -1;

	for (unsigned int at = sizeof(c->to->head); c->from && label_at(c->from, at, &l);
	     at += l.size) {
		if (l.key_length == key_length && is_same(l.key, key, key_length)) {
			index = (int)l.index;
			continue;
		}
		memcpy(c->to->bytes + c->size, l.at, l.size);
		c->size += l.size;
	}
	return index;
}

static int change_label(struct change *c, const char *key, size_t key_length, const char *value)
{
	size_t length = value ? strlen(value) : 0;
	int index = copy_others(c, key, key_length);

	if (!value)
		return 0;
	if (length > VALUE_MAX || !has_room_for(c, 5 + key_length + length))
		return -E2BIG;
	if (index < 0)
		index = index_of_key(key, key_length);
	if (index < 0)
		return -ENOSPC;
	append_label(c, (unsigned int)index, key, key_length, value, length);
	return 0;
}

int pcce_label_change(const char *key, const char *value)
{
	size_t length = strlen(key);
	struct change c;
	int r;

	if (!length || length > KEY_MAX)
		return -EINVAL;
	r = begin_change(&c);
	return r ? r : end_change(&c, change_label(&c, key, length, value));
}

static void copy_all(struct change *c, const union record *from)
{
	if (!from)
		return;
	memcpy(&c->to->head + 1, &from->head + 1, from->head.bytes);
	c->size += from->head.bytes;
}

int pcce_trace_change(const unsigned char *trace, const unsigned char *span)
{
	struct change c;
	int r = begin_change(&c);

	if (r)
		return r;
	memset(c.to->head.trace, 0, 24);
	c.to->head.trace_flags = 0;
	if (trace && span) {
		memcpy(c.to->head.trace, trace, sizeof(c.to->head.trace));
		memcpy(c.to->head.span, span, sizeof(c.to->head.span));
	}
	copy_all(&c, c.from);
	return end_change(&c, 0);
}

/* ---- copies ---------------------------------------------------------------------- */

/* What `valid` of a copy says. */
#define COPY_EMPTY 0
#define COPY_UNKNOWN 3 /* the labels were not the runtime's, or were being changed */

_Static_assert(sizeof(struct pcce_labels) == sizeof(union record), "a copy holds a record");

int pcce_labels_copy(struct pcce_labels *to)
{
	const struct pcce_labels_record *record = NULL;
	union record *copy = (union record *)to;
	int r = find_own_record(&record);

	copy->head = (struct pcce_labels_record){.valid = r ? COPY_UNKNOWN : COPY_EMPTY};
	if (!r && record)
		memcpy(copy, record, sizeof(*record) + record->bytes);
	return r;
}

int pcce_labels_restore(const struct pcce_labels *from)
{
	const union record *copy = (const union record *)from;
	struct change c;
	int r;

	if (copy->head.valid == COPY_UNKNOWN)
		return 0;
	if (copy->head.bytes > PCCE_LABELS_MORE)
		return -EINVAL;
	r = begin_change(&c);
	if (r)
		return r;
	c.to->head = copy->head;
	copy_all(&c, copy);
	return end_change(&c, 0);
}

/* ---- samples --------------------------------------------------------------------- */

static int read_directly(void *to, __u64 from, __u64 bytes)
{
	memcpy(to, (const void *)(uintptr_t)from, bytes);
	return 1;
}

/* Nobody knows whether the memory of an SDK is there. The kernel does. */
static int read_safely(void *to, __u64 from, __u64 bytes)
{
	struct iovec local = {to, bytes}, remote = {(void *)(uintptr_t)from, bytes};

	return raw_syscall6(SYS_process_vm_readv, raw_syscall0(SYS_getpid), (long)&local, 1,
			    (long)&remote, 1, 0) == (long)bytes;
}

uint32_t labels_copy(const struct pcce_thread *t, void *to)
{
	const struct pcce_labels_record *record;

	if (!pcce_page.labels)
		return 0;
	record = *(struct pcce_labels_record *const *)(uintptr_t)pcce_page.labels;
	if (!record)
		return 0;
	if (is_own(t->labels, record))
		return (uint32_t)pcce_copy_labels_record(to, (uintptr_t)record, read_directly);
	return is_confined(CONFINED)
		       ? 0
		       : (uint32_t)pcce_copy_labels_record(to, (uintptr_t)record, read_safely);
}
