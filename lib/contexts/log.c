/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Replaces names of contexts in lines of text.
 *
 * The text of a context is made once, so a name that comes again costs a search for "pcce:" and a
 * look-up. Symbols are read for a whole dictionary at once, since opening debug information is what
 * takes long.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/array.h"
#include "base/id_map.h"
#include "base/message.h"
#include "contexts/log.h"
#include "contexts/print.h"
#include "contexts/symbols.h"

#define TOKEN "pcce:"
#define TOKEN_LENGTH (sizeof(TOKEN) - 1 + 32)

struct context_text {
	char *text;
	size_t length;
	bool known;
};

struct context_log {
	struct pcce_decode_dictionary *d;
	char **dictionaries;
	off_t *sizes; /* of the dictionaries when they were read */
	size_t n_dictionaries;
	size_t symbols; /* lists whose contexts have symbols */
	bool replace;
	struct id_map by_id; /* of texts */
	struct context_text *texts;
	size_t n_texts, texts_capacity;
	struct pcce_decode_error last; /* a problem is printed once in a row */
};

/* ---- dictionaries ---------------------------------------------------------------- */

static void complain(struct context_log *l, const struct pcce_decode_error *why)
{
	if (strcmp(l->last.text, why->text) != 0)
		message(NULL, "%s", why->text);
	l->last = *why;
}

/* Reads what is new. False: nothing is, or it cannot be read. */
static bool read_again(struct context_log *l, bool first, struct error *why)
{
	bool new = false;

	for (size_t i = 0; i < l->n_dictionaries; i++) {
		struct pcce_decode_error text;
		struct stat st;
		int damaged;

		if (!first && (stat(l->dictionaries[i], &st) || st.st_size == l->sizes[i]))
			continue;
		damaged = pcce_decode_dictionary_read(l->d, l->dictionaries[i], &text);
		if (damaged < 0) {
			error_set(why, damaged, "%s", text.text);
			return false;
		}
		if (damaged)
			message(NULL,
				"%s: %d lines are damaged, and are ignored; contexts that need "
				"them "
				"are incomplete",
				l->dictionaries[i], damaged);
		l->sizes[i] = stat(l->dictionaries[i], &st) ? 0 : st.st_size;
		new = true;
	}
	if (new &&contexts_add_symbols(l->d, l->symbols)) {
		error_memory(why);
		return false;
	}
	l->symbols = dictionary_content(l->d)->n_lists;
	return new;
}

struct context_log *context_log_new(struct pcce_decode_dictionary *d, char **dictionaries, size_t n,
				    bool replace, struct error *why)
{
	struct context_log *l = calloc(1, sizeof(*l));

	if (l)
		l->sizes = calloc(n + 1, sizeof(*l->sizes));
	if (!l || !l->sizes) {
		free(l);
		error_memory(why);
		return NULL;
	}
	l->d = d;
	l->dictionaries = dictionaries;
	l->n_dictionaries = n;
	l->replace = replace;
	if (n && !read_again(l, true, why)) {
		context_log_free(l);
		return NULL;
	}
	return l;
}

void context_log_free(struct context_log *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n_texts; i++)
		free(l->texts[i].text);
	free(l->texts);
	free(l->sizes);
	id_map_free(&l->by_id);
	free(l);
}

/* ---- texts ----------------------------------------------------------------------- */

static bool is_zero(const uint8_t id[16])
{
	static const uint8_t none[16];

	return memcmp(id, none, sizeof(none)) == 0;
}

/* 0 or -ENOMEM. */
static int make_context_text(struct context_log *l, const uint8_t id[16], struct context_text *t)
{
	const struct pcce_decode_context *c = NULL;
	struct pcce_decode_error why = {""};
	FILE *out = open_memstream(&t->text, &t->length);
	int r;

	if (!out)
		return -ENOMEM;
	r = is_zero(id) ? 0 : pcce_decode_dictionary_context(l->d, id, &c, &why);
	t->known = !r;
	if (c)
		context_print(c, l->replace, out);
	else
		fprintf(out, l->replace ? "[%s]" : "    [%s]\n",
			!r	       ? "no context"
			: r == -ENOENT ? "not in the dictionary"
				       : "not decoded");
	if (r && r != -ENOMEM)
		complain(l, &why);
	return fclose(out) || r == -ENOMEM ? -ENOMEM : 0;
}

static int text_of(struct context_log *l, const uint8_t id[16], const struct context_text **text)
{
	uint64_t words[ID_MAP_WORDS] = {0};
	struct id_map_entry *e;
	struct context_text t = {0};
	struct error why;
	int r;

	memcpy(words, id, 16);
	e = id_map_find(&l->by_id, words);
	if (!e)
		return -ENOMEM;
	if (e->number) {
		*text = &l->texts[e->number - 1];
		if ((*text)->known || !read_again(l, false, &why))
			return 0;
		free(l->texts[e->number - 1].text);
		return make_context_text(l, id, &l->texts[e->number - 1]);
	}
	if (array_grow_from(&l->texts, l->n_texts, &l->texts_capacity, 64, sizeof(t)))
		return -ENOMEM;
	r = make_context_text(l, id, &t);
	if (!r && !t.known && read_again(l, false, &why)) {
		free(t.text);
		r = make_context_text(l, id, &t);
	}
	if (r) {
		free(t.text);
		return r;
	}
	id_map_fill(&l->by_id, e, words, (uint32_t)l->n_texts);
	l->texts[l->n_texts] = t;
	*text = &l->texts[l->n_texts++];
	return 0;
}

/* ---- lines ----------------------------------------------------------------------- */

static int hex_value(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool parse_token(const char *at, const char *end, uint8_t id[16])
{
	if ((size_t)(end - at) < TOKEN_LENGTH)
		return false;
	at += sizeof(TOKEN) - 1;
	for (int i = 0; i < 16; i++, at += 2) {
		int high = hex_value(at[0]), low = hex_value(at[1]);

		if (high < 0 || low < 0)
			return false;
		id[i] = (uint8_t)(high << 4 | low);
	}
	return at == end || hex_value(*at) < 0;
}

int context_log_line(struct context_log *l, const char *line, size_t length, FILE *out)
{
	const char *end = line + length, *at = line, *written = line, *from = NULL;
	const struct context_text *text;
	uint8_t id[16];
	int r = 0;

	while (!r && (at = memmem(at, (size_t)(end - at), TOKEN, sizeof(TOKEN) - 1))) {
		if (!parse_token(at, end, id)) {
			at += sizeof(TOKEN) - 1;
			continue;
		}
		if (!from)
			from = at;
		if (l->replace) {
			r = text_of(l, id, &text);
			if (r)
				break;
			fwrite(written, 1, (size_t)(at - written), out);
			fwrite(text->text, 1, text->length, out);
			written = at + TOKEN_LENGTH;
		}
		at += TOKEN_LENGTH;
	}
	fwrite(written, 1, (size_t)(end - written), out);
	putc('\n', out);
	for (at = from; !r && !l->replace && at &&
			(at = memmem(at, (size_t)(end - at), TOKEN, sizeof(TOKEN) - 1));
	     at += sizeof(TOKEN) - 1) {
		if (!parse_token(at, end, id))
			continue;
		r = text_of(l, id, &text);
		if (r)
			break;
		fwrite(text->text, 1, text->length, out);
	}
	return r;
}
