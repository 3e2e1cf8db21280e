/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Selections: what options' texts mean; and what becomes of contexts, against the same
 * done the simple way, on contexts that are written out frame by frame.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "tests/unit/tap.h"
#include "tree/bottom_up.h"
#include "tree/flat_profile.h"
#include "tree/selection.h"
#include "tree/select_tree.h"

/* ---- what texts mean --------------------------------------------------------------- */

static bool times(const char *text, uint64_t at)
{
	struct selection s = {0};
	struct error why;
	bool passes = !select_add_range(&s.times, text, &why) &&
		      select_time(&s.times, 1000 + at, 1000, 1000 + 10000000000);

	selection_free(&s);
	return passes;
}

static bool under(const char *text, const char *name)
{
	struct selection s = {0};
	struct error why;
	bool passes = !select_add_words(&s.under, text, &why) && select_function(&s, name);

	selection_free(&s);
	return passes;
}

static void test_texts(void)
{
	static const char *const bad_ranges[] = {"",	 "1",	  "1,2,3", "2,1",  "x,",
						 "-1,2", "1,2%%", "101%,", "1,2x", "1 ,2"};
	static const char *const bad_numbers[] = {"",	 ",",		"1,",	"x", "-1",
						  "1;2", "99999999999", "1,,2", " 1"};
	struct selection s = {0};
	struct error why = {0};
	size_t bad = 0;

	tap_ok(times("1,2", 1500000000) && !times("1,2", 999999999) && !times("1,2", 2000000001),
	       "seconds", " ");
	tap_ok(times("1500ms,", 1500000000) && times("1500ms,", 10000000000) &&
		       !times("1500ms,", 1400000000),
	       "an open end", " ");
	tap_ok(times(",10%", 1000000000) && !times(",10%", 1000000001), "percentages", " ");
	tap_ok(times("1us,0.002ms", 1500) && times("1e3ns,2000ns", 1500), "small units", " ");
	tap_ok(times("50%,7s", 6000000000) && !times("50%,7s", 8000000000),
	       "percentages with times", " ");
	for (size_t i = 0; i < sizeof(bad_ranges) / sizeof(bad_ranges[0]); i++)
		if (select_add_range(&s.times, bad_ranges[i], &why) == -EINVAL && *why.text)
			bad++;
	tap_ok(bad == sizeof(bad_ranges) / sizeof(bad_ranges[0]), "ranges that are none",
	       "%zu refused, %s", bad, why.text);
	bad = 0;
	for (size_t i = 0; i < sizeof(bad_numbers) / sizeof(bad_numbers[0]); i++)
		bad += select_add_numbers(&s.pids, bad_numbers[i], &why) == -EINVAL;
	tap_ok(bad == sizeof(bad_numbers) / sizeof(bad_numbers[0]), "numbers that are none",
	       "%zu refused", bad);
	selection_free(&s);
	tap_ok(!select_add_numbers(&s.pids, "12,13", &why) &&
		       !select_add_numbers(&s.pids, "14", &why) && select_number(&s.pids, 14) &&
		       select_number(&s.pids, 12) && !select_number(&s.pids, 1) &&
		       select_number(&s.tids, 1),
	       "numbers", " ");
	tap_ok(select_add_pattern(&s.focus, "a(b", &why) == -EINVAL && strstr(why.text, "a(b"),
	       "an expression that is none", "%s", why.text);
	tap_ok(!select_add_pattern(&s.focus, "^a|b$", &why) && select_pattern(&s.focus, "ax") &&
		       select_pattern(&s.focus, "xb") && !select_pattern(&s.focus, "bax") &&
		       !select_pattern(&s.ignore, "ax"),
	       "expressions", " ");
	selection_free(&s);
	tap_ok(under("eval", "eval") && !under("eval", "evaluate") && under("e,f", "f") &&
		       under("ev*", "eval"),
	       "names of functions", " ");
	tap_ok(under("ns::f", "ns::f(int, char)") &&
		       under("ns::f(int, char)", "ns::f(int, char)") &&
		       !under("ns::f(int)", "ns::f(int, char)") &&
		       under("a,f(int, char)", "f(int, char)"),
	       "names with parameters", " ");
	tap_ok(under("C::operator()", "C::operator()(int)") &&
		       under("(anonymous namespace)::f",
			     "(anonymous namespace)::f(void (*)(int))") &&
		       under("C::g", "C::g(int) const") && under("f<int, int>", "f<int, int>"),
	       "names with brackets", " ");
	tap_ok(!under("", "x") && !under("a,,b", "a"), "empty names are refused", " ");
}

/* ---- contexts ---------------------------------------------------------------------- */

#define FUNCTIONS 4
#define MAX_FRAMES 512

static struct symbol_table *names;
static uint32_t name[FUNCTIONS];
static uint64_t state = 4711;

struct chain { /* frames, outermost first, written out */
	uint8_t f[MAX_FRAMES];
	uint8_t line[MAX_FRAMES]; /* where the frame calls the next one, or is */
	size_t n;
};

static uint32_t random_below(uint32_t n)
{
	return tap_random(&state) % n;
}

static uint32_t add_node(struct cct *t, uint32_t parent, uint8_t function, uint8_t line,
			 uint32_t repeat, uint32_t span)
{
	struct cct_key key = {
		.kind = DECODE_FRAME_CALL,
		.module = 0,
		.func = function,
		.name = name[function],
		.file = parent ? name[0] : 0,
		.line = parent ? line : 0,
		.call = line,
		.repeat = repeat,
		.span = repeat ? span : 0,
	};

	return cct_child(t, parent, &key);
}

/* A random context, in the tree with repetitions and written out. A line of 0: none. */
static uint32_t random_context(struct cct *t, struct chain *chain)
{
	uint32_t node = 0, items = 1 + random_below(4);
	uint8_t line = 0;

	chain->n = 0;
	while (items--) {
		uint32_t span = random_below(3), repeat = span ? 1 + random_below(3) : 0;
		uint8_t functions[3], lines[3];

		for (uint32_t i = 0; i < span; i++) {
			functions[i] = random_below(FUNCTIONS);
			lines[i] = random_below(3);
		}
		/* Between two repetitions there is what is before the first. */
		if (span)
			lines[span - 1] = line;
		for (uint32_t i = 0; i < span; i++) {
			node = add_node(t, node, functions[i], line, i ? 0 : repeat, span);
			line = lines[i];
		}
		for (uint32_t k = 0; span && k <= repeat; k++)
			for (uint32_t i = 0; i < span; i++) {
				chain->f[chain->n] = functions[i];
				chain->line[chain->n++] = lines[i];
			}
		node = add_node(t, node, chain->f[chain->n] = random_below(FUNCTIONS), line, 0, 0);
		line = chain->line[chain->n++] = random_below(3);
	}
	return node;
}

/* Writes a node's context out; lines: of the frames themselves. */
static void write_out(const struct cct *t, uint32_t node, bool lines, struct chain *to)
{
	uint32_t path[MAX_FRAMES];
	size_t n = 0;

	to->n = 0;
	for (; node; node = t->nodes[node].parent)
		path[n++] = node;
	for (size_t i = n; i > 0;) {
		const struct cct_key *head = t->nodes[path[i - 1]].key;
		size_t span = head->repeat ? head->span : 1;

		for (uint32_t k = 0; k <= head->repeat; k++)
			for (size_t j = 0; j < span; j++) {
				const struct cct_key *key = t->nodes[path[i - 1 - j]].key;

				to->f[to->n] = key->func;
				to->line[to->n++] = lines ? key->line : 0;
			}
		i -= span;
	}
}

static void cut_simply(struct chain *c, uint8_t function)
{
	size_t from = 0;

	while (from < c->n && c->f[from] != function)
		from++;
	c->n -= from;
	memmove(c->f, c->f + from, c->n);
	memmove(c->line, c->line + from, c->n);
}

static void fold_simply(struct chain *c, enum select_recursion how)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++) {
		size_t at = n;

		while (at > 0 && c->f[at - 1] != c->f[i] && how == SELECT_RECURSION_ALL)
			at--;
		if (at > 0 && c->f[at - 1] == c->f[i])
			n = at;
		else
			c->f[n++] = c->f[i];
		c->line[n - 1] = c->line[i];
	}
	c->n = n;
}

static const char *show(const struct chain *c)
{
	static char text[4][8 * MAX_FRAMES];
	static int which;
	char *to = text[which = (which + 1) % 4];
	size_t at = 0;

	*to = 0;
	for (size_t i = 0; i < c->n; i++)
		at += (size_t)snprintf(to + at, sizeof(text[0]) - at, "%c%u ", 'a' + c->f[i],
				       c->line[i]);
	return to;
}

static bool same(const struct chain *a, const struct chain *b)
{
	return a->n == b->n && !memcmp(a->f, b->f, a->n) && !memcmp(a->line, b->line, a->n);
}

#define CONTEXTS 64

/* Some contexts in one tree, selected, and the same done simply. */
static bool test_contexts(const struct selection *s)
{
	static struct chain chains[CONTEXTS];
	struct tree_leaf leaves[CONTEXTS];
	struct chain got, *want;
	uint8_t *keep;
	struct cct all, selected;
	bool good = true;
	uint64_t weight = 0;

	cct_init(&all);
	for (size_t i = 0; i < CONTEXTS; i++) {
		uint32_t node = random_context(&all, &chains[i]);

		leaves[i] = (struct tree_leaf){.base = node, .node = node, .file = name[0]};
		leaves[i].line = chains[i].line[chains[i].n - 1];
	}
	keep = malloc(all.n);
	select_contexts(&all, names, s, keep);
	for (size_t i = 0; i < CONTEXTS; i++) {
		if (!keep[leaves[i].base])
			continue;
		leaves[i].samples = 1;
		leaves[i].weight = i + 1;
		weight += i + 1;
	}
	select_tree(&all, names, s, leaves, CONTEXTS, &selected);
	cct_finish(&selected, names);
	for (size_t i = 0; i < CONTEXTS && good; i++) {
		char before[8 * MAX_FRAMES];

		want = &chains[i];
		snprintf(before, sizeof(before), "%s", show(want));
		if (s->under.n)
			cut_simply(want, 0);
		if (s->recursion)
			fold_simply(want, s->recursion);
		if (s->by != SELECT_BY_LINE)
			memset(want->line, 0, sizeof(want->line));
		if (!want->n != !leaves[i].samples) {
			good = false;
			break;
		}
		if (!want->n)
			continue;
		write_out(&selected, leaves[i].node, s->by == SELECT_BY_LINE, &got);
		good = same(want, &got);
		if (!good)
			printf("# from   %s\n# wanted %s\n# got    %s\n", before, show(want),
			       show(&got));
	}
	good = good && selected.nodes[0].total == weight;
	free(keep);
	cct_free(&all);
	cct_free(&selected);
	return good;
}

static void test_many(const char *what, const char *function, enum select_by by,
		      enum select_recursion recursion)
{
	struct selection s = {.by = by, .recursion = recursion};
	struct error why;
	bool good = true;

	if (function)
		select_add_words(&s.under, function, &why);
	for (int i = 0; i < 400 && good; i++)
		good = test_contexts(&s);
	tap_ok(good, what, " ");
	selection_free(&s);
}

/* ---- lists and bottom-up trees -------------------------------------------------------- */

/* Of a tree of contexts without repetitions. */
static bool test_sums(void)
{
	static const struct cct_sort_order order;
	static struct chain chains[CONTEXTS];
	uint64_t weights[CONTEXTS], all = 0, total = 0;
	struct bottom_up c;
	struct flat_profile flat;
	struct cct t;
	bool good = true;

	cct_init(&t);
	for (size_t i = 0; i < CONTEXTS; i++) {
		uint32_t node = 0;

		chains[i].n = 1 + random_below(6);
		for (size_t k = 0; k < chains[i].n; k++)
			node = add_node(&t, node, chains[i].f[k] = random_below(FUNCTIONS), 0, 0,
					0);
		t.nodes[node].self += weights[i] = 1 + random_below(10);
		t.nodes[node].samples++;
		all += weights[i];
	}
	cct_finish(&t, names);
	flat_profile_build(&t, false, &flat);
	for (size_t r = 0; r < flat.n; r++) {
		uint64_t self = 0, with = 0;

		for (size_t i = 0; i < CONTEXTS; i++) {
			const struct chain *x = &chains[i];

			if (name[x->f[x->n - 1]] == flat.rows[r].name)
				self += weights[i];
			for (size_t k = 0; k < x->n; k++) {
				if (name[x->f[k]] == flat.rows[r].name) {
					with += weights[i];
					break;
				}
			}
		}
		good = good && self == flat.rows[r].self && with == flat.rows[r].total;
	}
	good = good && !bottom_up_begin(&c, &t, names, false, &order);
	for (uint32_t i = 1; good && i < c.tree.n; i++)
		bottom_up_expand(&c, i);
	for (uint32_t i = 1; good && i < c.tree.n; i++) {
		const struct cct_node *n = &c.tree.nodes[i];
		uint64_t sum = 0;

		/* All contexts that end in the path from here to the top. */
		for (size_t k = 0; k < CONTEXTS; k++) {
			uint8_t path[8];
			size_t length = 0;

			for (uint32_t up = i; up; up = c.tree.nodes[up].parent)
				path[length++] = c.tree.nodes[up].key->func;
			if (length <= chains[k].n &&
			    !memcmp(chains[k].f + chains[k].n - length, path, length))
				sum += weights[k];
		}
		good = sum == n->total;
		if (!n->parent)
			total += n->total;
	}
	good = good && total == all;
	bottom_up_free(&c);
	flat_profile_free(&flat);
	cct_free(&t);
	return good;
}

int main(void)
{
	bool good = true;

	names = symbol_table_new(SYMBOL_NAMES_FULL);
	for (int i = 0; i < FUNCTIONS; i++)
		name[i] = symbol_table_intern(names, (char[]){'a' + i, 0});
	test_texts();
	test_many("contexts as they are", NULL, SELECT_BY_FUNCTION, SELECT_RECURSION_KEEP);
	test_many("under a function", "a", SELECT_BY_FUNCTION, SELECT_RECURSION_KEEP);
	test_many("direct recursion folded", NULL, SELECT_BY_FUNCTION, SELECT_RECURSION_DIRECT);
	test_many("all recursion folded", NULL, SELECT_BY_FUNCTION, SELECT_RECURSION_ALL);
	test_many("under a function, direct recursion folded", "a", SELECT_BY_FUNCTION,
		  SELECT_RECURSION_DIRECT);
	test_many("by line", NULL, SELECT_BY_LINE, SELECT_RECURSION_KEEP);
	for (int i = 0; i < 200 && good; i++)
		good = test_sums();
	tap_ok(good, "lists and bottom-up trees add up", " ");
	symbol_table_free(names);
	return tap_done();
}
