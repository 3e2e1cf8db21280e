/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Parses a line, and computes its name again: a line that was cut off or changed has another
 * one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "api/dictionary_lines.h"
#include "base/array.h"

struct cursor {
	const char *at, *end;
	uint32_t module; /* of the last address, + 1; 0: none */
	bool bad;
};

static bool accept(struct cursor *c, char wanted)
{
	if (c->at == c->end || *c->at != wanted)
		return false;
	c->at++;
	return true;
}

static void expect(struct cursor *c, char wanted)
{
	c->bad |= !accept(c, wanted);
}

static int digit_of(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static uint64_t take_hex(struct cursor *c)
{
	uint64_t value = 0;
	int n = 0;

	for (; c->at < c->end && digit_of(*c->at) >= 0; c->at++, n++)
		value = value << 4 | (uint64_t)digit_of(*c->at);
	c->bad |= n < 1 || n > 16;
	return value;
}

/* Returns how many bytes there were, at most max. */
static uint32_t take_bytes(struct cursor *c, uint8_t *bytes, uint32_t max)
{
	uint32_t n = 0;

	for (; n < max && c->end - c->at >= 2 && digit_of(c->at[0]) >= 0 && digit_of(c->at[1]) >= 0;
	     c->at += 2)
		bytes[n++] = (uint8_t)(digit_of(c->at[0]) << 4 | digit_of(c->at[1]));
	return n;
}

static struct pcce_name take_name(struct cursor *c)
{
	struct pcce_name name = {0, 0};

	c->bad |= take_bytes(c, (uint8_t *)&name, sizeof(name)) != sizeof(name);
	return name;
}

/* ---- modules --------------------------------------------------------------------- */

/* Returns the index + 1 of the module with this name. It may have no line yet. 0: no memory. */
static uint32_t find_named_module(struct dictionary_lines *d, uint64_t a)
{
	for (size_t i = d->n_modules; i; i--)
		if (d->modules[i - 1].name.a == a)
			return (uint32_t)i;
	if (array_grow(&d->modules, d->n_modules, sizeof(*d->modules)))
		return 0;
	d->modules[d->n_modules++] = (struct dictionary_module){.name.a = a};
	return (uint32_t)d->n_modules;
}

static int add_module_line(struct dictionary_lines *d, struct cursor *c)
{
	struct dictionary_module m = {0};
	uint32_t module;

	if (!accept(c, '-')) {
		m.build_id_size = take_bytes(c, m.build_id, sizeof(m.build_id));
		c->bad |= !m.build_id_size;
	}
	expect(c, ' ');
	c->bad |= take_bytes(c, m.encoding, sizeof(m.encoding)) != sizeof(m.encoding);
	expect(c, ' ');
	if (c->bad || c->at == c->end)
		return -EINVAL;
	m.name = pcce_name_of_module(m.build_id, m.build_id_size, m.encoding);
	module = find_named_module(d, m.name.a);
	if (!module)
		return -ENOMEM;
	if (d->modules[module - 1].path)
		return 0;
	m.path = strndup(c->at, (size_t)(c->end - c->at));
	if (!m.path)
		return -ENOMEM;
	d->modules[module - 1] = m;
	return 0;
}

/* ---- lists ----------------------------------------------------------------------- */

static uint64_t take_word(struct dictionary_lines *d, struct cursor *c, uint32_t *module)
{
	*module = DICTIONARY_NUMBER;
	if (accept(c, '?')) {
		*module = DICTIONARY_UNKNOWN;
	} else if (accept(c, '@')) {
		c->module = find_named_module(d, take_hex(c));
		*module = c->module;
		c->bad |= !c->module;
		expect(c, '+');
	} else if (accept(c, '+')) {
		*module = c->module;
		c->bad |= !c->module;
	}
	return take_hex(c);
}

static uint64_t hash_of_word(const struct dictionary_lines *d, uint64_t value, uint32_t module)
{
	if (module == DICTIONARY_NUMBER)
		return value;
	return value ^
	       (module == DICTIONARY_UNKNOWN ? PCCE_NAME_UNKNOWN : d->modules[module - 1].name.a);
}

static int add_element(struct dictionary_lines *d, struct cursor *c, struct pcce_name *h)
{
	struct dictionary_element e = {0};

	e.first = take_word(d, c, &e.first_module);
	expect(c, ',');
	e.second = take_word(d, c, &e.second_module);
	expect(c, ',');
	e.kind = (uint32_t)take_hex(c);
	if (c->bad)
		return -EINVAL;
	*h = pcce_name_step(*h, hash_of_word(d, e.first, e.first_module),
			    hash_of_word(d, e.second, e.second_module), e.kind);
	if (array_grow_from(&d->elements, d->n_elements, &d->elements_capacity, 1024, sizeof(e)))
		return -ENOMEM;
	d->elements[d->n_elements++] = e;
	return 0;
}

static bool same_name(struct pcce_name a, struct pcce_name b)
{
	return a.a == b.a && a.b == b.b;
}

static int add_list_line(struct dictionary_lines *d, struct cursor *c, bool context)
{
	struct dictionary_list l = {.first = d->n_elements, .context = context};
	struct pcce_name h = PCCE_NAME_SEED;
	struct id_map_entry *e;
	uint64_t words[ID_MAP_WORDS] = {0};
	int r = 0;

	l.name = take_name(c);
	expect(c, ' ');
	l.has_parent = !accept(c, '-');
	if (l.has_parent)
		h = l.parent = take_name(c);
	while (!r && !c->bad && accept(c, ' '))
		r = add_element(d, c, &h);
	if (context)
		h = pcce_name_end(h);
	if (!r && (c->bad || c->at != c->end || !same_name(h, l.name)))
		r = -EINVAL;
	if (r)
		return r;
	l.n = d->n_elements - l.first;
	words[0] = l.name.a;
	words[1] = l.name.b;
	words[2] = context;
	e = id_map_find(&d->by_name, words);
	if (!e)
		return -ENOMEM;
	if (e->number)
		return -EEXIST;
	if (array_grow_from(&d->lists, d->n_lists, &d->lists_capacity, 256, sizeof(l)))
		return -ENOMEM;
	id_map_fill(&d->by_name, e, words, (uint32_t)d->n_lists);
	d->lists[d->n_lists++] = l;
	return 0;
}

/* A crash report has its dictionary in the same file. */
static bool is_report(const char *line, size_t length)
{
	static const char head[] = "pcce-crash: ";

	return length >= sizeof(head) - 1 && !memcmp(line, head, sizeof(head) - 1);
}

int dictionary_lines_add(struct dictionary_lines *d, const char *line, size_t length)
{
	static const char head[] = "pcce1 ";
	struct cursor c = {.at = line + sizeof(head) - 1, .end = line + length};
	size_t n_elements = d->n_elements;
	int r = -EINVAL;

	if (length > sizeof(head) && !memcmp(line, head, sizeof(head) - 1) && c.at[1] == ' ') {
		char what = *c.at;

		c.at += 2;
		if (what == 'm')
			r = add_module_line(d, &c);
		else if (what == 's' || what == 'c')
			r = add_list_line(d, &c, what == 'c');
	}
	if (r)
		d->n_elements = n_elements;
	if (r == -EINVAL && !is_report(line, length))
		d->damaged++;
	return r == -ENOMEM ? r : 0;
}

const struct dictionary_list *dictionary_lines_find(struct dictionary_lines *d, bool context,
						    struct pcce_name name)
{
	const uint64_t words[ID_MAP_WORDS] = {name.a, name.b, context};
	const struct id_map_entry *e = id_map_find(&d->by_name, words);

	return e && e->number ? &d->lists[e->number - 1] : NULL;
}

void dictionary_lines_free(struct dictionary_lines *d)
{
	for (size_t i = 0; i < d->n_modules; i++)
		free(d->modules[i].path);
	free(d->modules);
	free(d->lists);
	free(d->elements);
	id_map_free(&d->by_name);
}
