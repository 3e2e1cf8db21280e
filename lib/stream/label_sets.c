/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See label_sets.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "base/array.h"
#include "base/hash_table.h"
#include "stream/label_sets.h"

#define SETS_MAX (1u << 20) /* each trace id makes one, of 150 bytes */

HASH_TABLE_TYPE(label_table, uint32_t);

struct label_sets {
	struct label_set **list;
	size_t n;
	struct label_table by_content; /* index + 1 */
};

struct label_key {
	const struct label_set_content *content;
	const char *text;
};

static uint64_t hash_labels(const struct label_set_content *c, const char *text)
{
	return XXH3_64bits_withSeed(text, c->bytes, XXH3_64bits(c, sizeof(*c)));
}

static bool has_labels(const struct label_set *s, const struct label_key *key)
{
	return !memcmp(&s->content, key->content, sizeof(s->content)) &&
	       !memcmp(s->text, key->text, s->content.bytes);
}

HASH_TABLE_FUNCTIONS(label_table, uint32_t, struct label_key, struct label_sets, *s,
		     hash_labels(&o->list[*s - 1]->content, o->list[*s - 1]->text),
		     has_labels(o->list[*s - 1], key));

struct label_sets *label_sets_new(void)
{
	return calloc(1, sizeof(struct label_sets));
}

void label_sets_free(struct label_sets *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		free(s->list[i]);
	free(s->list);
	label_table_free(&s->by_content);
	free(s);
}

/* Writes an id as hexadecimal digits; "" if it is 0. */
static void write_id(const uint8_t *id, size_t bytes, char *to)
{
	uint8_t any = 0;

	for (size_t i = 0; i < bytes; i++) {
		to[2 * i] = "0123456789abcdef"[id[i] >> 4];
		to[2 * i + 1] = "0123456789abcdef"[id[i] & 15];
		any |= id[i];
	}
	to[any ? 2 * bytes : 0] = 0;
}

static int add_labels(struct label_sets *s, const struct label_set_content *content,
		      const char *text)
{
	struct label_set *new = malloc(sizeof(*new) + content->bytes);

	if (!new || array_grow(&s->list, s->n, sizeof(struct label_set *))) {
		free(new);
		return -ENOMEM;
	}
	new->number = (uint32_t)s->n;
	new->content = *content;
	write_id(content->trace, sizeof(content->trace), new->trace);
	write_id(content->span, sizeof(content->span), new->span);
	memcpy(new->text, text, content->bytes);
	s->list[s->n++] = new;
	return 0;
}

int label_sets_add(struct label_sets *s, const struct pcce_rec_labels *rec)
{
	struct label_set_content content = {.flags = rec->flags, .n = rec->n, .bytes = rec->bytes};

	memcpy(content.trace, rec->trace, sizeof(content.trace));
	memcpy(content.span, rec->span, sizeof(content.span));
	return add_labels(s, &content, (const char *)(rec + 1));
}

static struct label_set_content without_ids(const struct label_set_content *c)
{
	return (struct label_set_content){.flags = c->flags, .n = c->n, .bytes = c->bytes};
}

const struct label_set *label_sets_find(struct label_sets *s,
					const struct label_set_content *content, const char *text)
{
	const struct label_key key = {content, text};
	uint32_t *slot = label_table_slot(&s->by_content, s, hash_labels(content, text), &key);
	struct label_set_content plain;

	if (!slot)
		return NULL;
	if (*slot)
		return s->list[*slot - 1];
	if (s->n >= SETS_MAX) {
		plain = without_ids(content);
		return memcmp(&plain, content, sizeof(plain)) ? label_sets_find(s, &plain, text)
							      : NULL;
	}
	if (add_labels(s, content, text))
		return NULL;
	label_table_fill(&s->by_content, slot, (uint32_t)s->n);
	return s->list[s->n - 1];
}

const struct label_set *label_sets_plain(struct label_sets *s, const struct label_set *of)
{
	const struct label_set_content plain = without_ids(&of->content);

	return plain.n || plain.flags ? label_sets_find(s, &plain, of->text) : NULL;
}

const struct label_set *label_sets_get(const struct label_sets *s, uint64_t number)
{
	return number < s->n ? s->list[number] : NULL;
}

size_t label_sets_count(const struct label_sets *s)
{
	return s->n;
}

const char *label_set_next(const struct label_set *s, const char **key)
{
	const char *end = s->text + s->content.bytes;

	*key = !*key ? s->text : strchr(strchr(*key, 0) + 1, 0) + 1;
	return *key < end ? strchr(*key, 0) + 1 : NULL;
}

const char *label_set_value(const struct label_set *s, const char *key)
{
	const char *at = NULL, *value = NULL;

	while (s && (value = label_set_next(s, &at)) && strcmp(at, key) != 0)
		;
	if (s && !value && *s->trace && !strcmp(key, "trace_id"))
		return s->trace;
	return s && !value && *s->span && !strcmp(key, "span_id") ? s->span : value;
}

int label_sets_write(struct label_sets_written *w, struct datafile_writer *to,
		     const struct label_set *set)
{
	struct pcce_rec_labeled labeled = {0};
	struct pcce_rec_labels rec = {.number = w->n};
	struct iovec text;
	int r = 0;

	if (!set)
		return 0;
	if (array_reach(&w->numbers, &w->capacity, set->number, 256, sizeof(*w->numbers)))
		return -ENOMEM;
	if (!w->numbers[set->number]) {
		rec.n = set->content.n;
		rec.flags = set->content.flags;
		rec.bytes = set->content.bytes;
		memcpy(rec.trace, set->content.trace, sizeof(rec.trace));
		memcpy(rec.span, set->content.span, sizeof(rec.span));
		text.iov_base = (void *)(uintptr_t)set->text;
		text.iov_len = set->content.bytes;
		r = datafile_put(to, PCCE_REC_LABELS, &rec, sizeof(rec), &text, 1);
		if (r)
			return r;
		w->numbers[set->number] = ++w->n;
	}
	labeled.number = w->numbers[set->number] - 1;
	return datafile_put(to, PCCE_REC_LABELED, &labeled, sizeof(labeled), NULL, 0);
}

void label_sets_written_free(struct label_sets_written *w)
{
	free(w->numbers);
}
