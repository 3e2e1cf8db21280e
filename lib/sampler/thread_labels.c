/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See thread_labels.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <pcce/labels.h>
#include "base/array.h"
#include "base/clock.h"
#include "base/uthash.h"
#include "sampler/process_keys.h"
#include "sampler/thread_labels.h"

/* A process that publishes a key later is asked again. */
#define ASK_AGAIN_NS 100000000

struct process {
	pid_t pid;
	uint64_t asked; /* when, ns */
	struct process_keys keys;
	UT_hash_handle hh;
};

struct thread_labels {
	struct label_sets *sets;
	struct process *by_pid;
};

struct label {
	const char *key, *value;
	uint32_t key_length, length;
};

/* What one record says. */
struct parsed {
	struct label labels[PCCE_LABELS_BYTES / 2];
	uint32_t n;
	char text[16384]; /* keys that the process has published may be long */
};

struct thread_labels *thread_labels_new(void)
{
	struct thread_labels *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->sets = label_sets_new();
	if (t->sets)
		return t;
	free(t);
	return NULL;
}

static void forget_keys(struct thread_labels *t, struct process *p)
{
	HASH_DEL(t->by_pid, p);
	process_keys_free(&p->keys);
	free(p);
}

void thread_labels_free(struct thread_labels *t)
{
	struct process *p, *next;

	if (!t)
		return;
	HASH_ITER (hh, t->by_pid, p, next)
		forget_keys(t, p);
	label_sets_free(t->sets);
	free(t);
}

static struct process *labeled_process(const struct thread_labels *t, pid_t pid)
{
	struct process *p;

	HASH_FIND(hh, t->by_pid, &pid, sizeof(pid), p);
	return p;
}

void thread_labels_exec(struct thread_labels *t, pid_t pid)
{
	struct process *p = labeled_process(t, pid);

	if (p)
		forget_keys(t, p);
}

const struct label_set *thread_labels_get(const struct thread_labels *t, uint64_t number)
{
	return label_sets_get(t->sets, number);
}

/* Returns the name of a key that the process has published; NULL: it is not known. */
static const char *published_name(struct thread_labels *t, pid_t pid, uint8_t index)
{
	struct process *p = labeled_process(t, pid);
	uint64_t now;

	if (!p) {
		p = calloc(1, sizeof(*p));
		if (!p)
			return NULL;
		p->pid = pid;
		if (!hash_add(t->by_pid, pid, p))
			return NULL;
	}
	now = clock_ns(CLOCK_MONOTONIC);
	if (!p->keys.names[index] && (!p->asked || now - p->asked > ASK_AGAIN_NS)) {
		p->asked = now;
		process_keys_read(&p->keys, pid);
	}
	return p->keys.names[index];
}

/* An attribute of a record. */
struct attribute {
	uint8_t index, length;
	const char *value;
};

static bool take_attribute(const uint8_t **at, const uint8_t *end, struct attribute *a)
{
	if (end - *at < 2 || end - *at < 2 + (*at)[1])
		return false;
	*a = (struct attribute){(*at)[0], (*at)[1], (const char *)*at + 2};
	*at += 2 + a->length;
	return true;
}

/* Sets a label; the last one of a key counts. Text ends at a NUL. */
static void set_parsed(struct parsed *to, const char *key, size_t key_length, const char *value,
		       size_t length)
{
	struct label new = {key, value, (uint32_t)strnlen(key, key_length),
			    (uint32_t)strnlen(value, length)};
	uint32_t i;

	for (i = 0; i < to->n; i++)
		if (to->labels[i].key_length == new.key_length &&
		    !memcmp(to->labels[i].key, key, new.key_length))
			break;
	to->labels[i] = new;
	to->n += i == to->n;
}

static void parse_attributes(struct thread_labels *t, pid_t pid, const uint8_t *at,
			     const uint8_t *end, struct parsed *to)
{
	struct attribute names[PROCESS_KEYS_MAX] = {0}, a;

	to->n = 0;
	while (take_attribute(&at, end, &a)) {
		struct attribute own = names[a.index];
		const char *published;

		if (a.index == PCCE_LABELS_NAME && a.length) {
			names[(uint8_t)*a.value] =
				(struct attribute){.length = a.length - 1, .value = a.value + 1};
			continue;
		}
		if (own.value) {
			set_parsed(to, own.value, own.length, a.value, a.length);
			continue;
		}
		published = published_name(t, pid, a.index);
		if (published)
			set_parsed(to, published, strlen(published), a.value, a.length);
	}
}

static int compare_labels(const void *a, const void *b)
{
	const struct label *x = a, *y = b;
	uint32_t n = x->key_length < y->key_length ? x->key_length : y->key_length;
	int c = memcmp(x->key, y->key, n);

	return c ? c : (x->key_length > y->key_length) - (x->key_length < y->key_length);
}

static char *put_label_text(char *to, const char *text, size_t length)
{
	memcpy(to, text, length);
	to[length] = 0;
	return to + length + 1;
}

/* Returns the number of bytes. */
static size_t write_labels(struct parsed *p)
{
	char *at = p->text;

	qsort(p->labels, p->n, sizeof(*p->labels), compare_labels);
	for (uint32_t i = 0; i < p->n; i++) {
		const struct label *l = &p->labels[i];
		size_t room = sizeof(p->text) - (size_t)(at - p->text);

		if (l->key_length + l->length + 2ul > room)
			break;
		at = put_label_text(at, l->key, l->key_length);
		at = put_label_text(at, l->value, l->length);
	}
	return (size_t)(at - p->text);
}

static uint32_t count_strings(const char *text, size_t bytes)
{
	uint32_t n = 0;

	for (size_t i = 0; i < bytes; i++)
		n += !text[i];
	return n;
}

static bool has_any(const uint8_t *bytes, size_t n)
{
	while (n && !*bytes) {
		bytes++;
		n--;
	}
	return n;
}

const struct label_set *thread_labels_of(struct thread_labels *t, pid_t pid, const uint64_t *words,
					 size_t n)
{
	const struct pcce_labels_record *head = (const struct pcce_labels_record *)words;
	const uint8_t *attributes = (const uint8_t *)(head + 1);
	struct label_set_content content = {0};
	struct parsed parsed;

	if (n * 8 < sizeof(*head) || head->bytes > n * 8 - sizeof(*head) ||
	    (head->valid != PCCE_LABELS_VALID && head->valid != PCCE_LABELS_CUT))
		return NULL;
	parse_attributes(t, pid, attributes, attributes + head->bytes, &parsed);
	content.bytes = (uint32_t)write_labels(&parsed);
	content.n = count_strings(parsed.text, content.bytes) / 2;
	content.flags = head->valid == PCCE_LABELS_CUT || content.n != parsed.n
				? PCCE_LABELS_INCOMPLETE
				: 0;
	memcpy(content.trace, head->trace, sizeof(content.trace));
	memcpy(content.span, head->span, sizeof(content.span));
	if (!content.n && !content.flags && !has_any(content.trace, sizeof(content.trace)))
		return NULL;
	return label_sets_find(t->sets, &content, parsed.text);
}
