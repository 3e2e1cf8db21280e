/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Parses the criteria of a selection, and matches samples and names with them. */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "symbols/short_name.h"
#include "tree/selection.h"

static int invalid(struct error *why, const char *text, const char *what)
{
	return error_set(why, -EINVAL, "'%s' %s", text, what);
}

/* ---- parsing --------------------------------------------------------------------- */

static int add_word(struct select_words *to, const char *from, size_t length)
{
	char *word = strndup(from, length);

	if (!word || array_grow(&to->list, to->n, sizeof(*to->list))) {
		free(word);
		return -ENOMEM;
	}
	to->list[to->n++] = word;
	return 0;
}

/* Returns the end of a word: a comma outside of all brackets. f(int, int) and map<int, int> are one
 * word each. */
static const char *word_end(const char *s)
{
	int depth = 0;

	for (; *s; s++) {
		if (*s == '(' || *s == '<' || *s == '[')
			depth++;
		else if ((*s == ')' || *s == '>' || *s == ']') && depth)
			depth--;
		else if (*s == ',' && !depth)
			break;
	}
	return s;
}

int select_add_words(struct select_words *to, const char *text, struct error *why)
{
	for (const char *at = text;; at++) {
		const char *end = word_end(at);

		if (end == at)
			return invalid(why, text, "has an empty name");
		if (add_word(to, at, end - at))
			return -ENOMEM;
		at = end;
		if (!*at)
			return 0;
	}
}

int select_add_numbers(struct select_numbers *to, const char *text, struct error *why)
{
	for (const char *at = text;; at++) {
		unsigned long long n;
		char *end;

		errno = 0;
		n = strtoull(at, &end, 10);
		if (end == at || errno || n > UINT32_MAX || *at < '0' || *at > '9' ||
		    (*end && *end != ','))
			return invalid(why, text, "is not a list of numbers");
		if (array_grow(&to->list, to->n, sizeof(*to->list)))
			return -ENOMEM;
		to->list[to->n++] = n;
		at = end;
		if (!*at)
			return 0;
	}
}

int select_add_processes(struct selection *s, const char *text, struct error *why)
{
	for (const char *at = text;; at++) {
		const char *end = word_end(at);
		int r = 0;

		if (end == at)
			return invalid(why, text, "has an empty name");
		if (strspn(at, "0123456789") < (size_t)(end - at))
			r = add_word(&s->commands, at, end - at);
		else if (array_grow(&s->pids.list, s->pids.n, sizeof(*s->pids.list)))
			r = -ENOMEM;
		else
			s->pids.list[s->pids.n++] = (uint32_t)strtoul(at, NULL, 10);
		if (r)
			return r;
		at = end;
		if (!*at)
			return 0;
	}
}

int select_add_pattern(struct select_patterns *to, const char *text, struct error *why)
{
	char reason[256];
	int r;

	if (array_grow(&to->list, to->n, sizeof(*to->list)))
		return -ENOMEM;
	r = regcomp(&to->list[to->n], text, REG_EXTENDED | REG_NOSUB);
	if (r == REG_ESPACE)
		return -ENOMEM;
	if (r) {
		regerror(r, NULL, reason, sizeof(reason));
		return error_set(why, -EINVAL, "'%s' is not a regular expression: %s", text,
				 reason);
	}
	to->n++;
	return 0;
}

/* Parses one end of a range; false: invalid. */
static bool read_time(const char *text, const char *end, struct select_time *to)
{
	static const struct {
		const char *name;
		double factor;
	} units[] = {{"", 1e9}, {"s", 1e9},  {"ms", 1e6},  {"us", 1e3},
		     {"ns", 1}, {"m", 60e9}, {"h", 3600e9}};
	char *unit;

	if ((*text < '0' || *text > '9') && *text != '.')
		return false;
	to->value = strtod(text, &unit);
	to->share = *unit == '%';
	if (unit > end || !(to->value >= 0 && to->value < 1e15))
		return false;
	if (to->share)
		return unit + 1 == end && to->value <= 100;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strlen(units[i].name) == (size_t)(end - unit) &&
		    !memcmp(units[i].name, unit, end - unit)) {
			to->value *= units[i].factor;
			return true;
		}
	}
	return false;
}

int select_add_range(struct select_ranges *to, const char *text, struct error *why)
{
	struct select_range range = {.from = {true, 0}, .to = {true, 100}};
	const char *comma = strchr(text, ',');

	if (!comma || strchr(comma + 1, ','))
		return invalid(why, text, "is not a range FROM,TO");
	if ((comma != text && !read_time(text, comma, &range.from)) ||
	    (comma[1] && !read_time(comma + 1, comma + strlen(comma), &range.to)))
		return invalid(why, text,
			       "is not a range of times such as 0.5s,2s or 10%,20% or 300ms, "
			       "(until the end)");
	if (range.from.share == range.to.share && range.from.value > range.to.value)
		return invalid(why, text, "ends before it begins");
	if (array_grow(&to->list, to->n, sizeof(*to->list)))
		return -ENOMEM;
	to->list[to->n++] = range;
	return 0;
}

int select_add_label(struct select_labels *to, const char *text, struct error *why)
{
	const char *equals = strchr(text, '='), *end = equals;
	struct select_label new = {0};

	if (equals && equals > text && equals[-1] == '!') {
		new.differs = true;
		end--;
	}
	if (!end || end == text)
		return invalid(why, text, "is not KEY=VALUE or KEY!=VALUE");
	new.key = strndup(text, (size_t)(end - text));
	new.value = strdup(equals + 1);
	if (!new.key || !new.value || array_grow(&to->list, to->n, sizeof(new))) {
		free(new.key);
		free(new.value);
		return -ENOMEM;
	}
	to->list[to->n++] = new;
	return 0;
}

bool select_label_value(const struct select_label *label, const char *value)
{
	bool equal = value && (!strcmp(label->value, value) || !fnmatch(label->value, value, 0));

	return equal != label->differs;
}

void selection_free(struct selection *s)
{
	struct select_words *words[] = {&s->comms, &s->events, &s->commands, &s->under};
	struct select_patterns *patterns[] = {&s->focus, &s->ignore};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		for (size_t j = 0; j < words[i]->n; j++)
			free(words[i]->list[j]);
		free(words[i]->list);
	}
	for (size_t i = 0; i < s->labels.n; i++) {
		free(s->labels.list[i].key);
		free(s->labels.list[i].value);
	}
	free(s->labels.list);
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		for (size_t j = 0; j < patterns[i]->n; j++)
			regfree(&patterns[i]->list[j]);
		free(patterns[i]->list);
	}
	free(s->pids.list);
	free(s->tids.list);
	free(s->times.list);
	*s = (struct selection){0};
}

/* ---- matching -------------------------------------------------------------------- */

bool selection_has_samples(const struct selection *s)
{
	return s->labels.n || s->comms.n || s->events.n || s->commands.n || s->pids.n ||
	       s->tids.n || s->times.n;
}

bool selection_has_contexts(const struct selection *s)
{
	return s->under.n || s->focus.n || s->ignore.n;
}

bool selection_has_frames(const struct selection *s)
{
	return s->by || s->calls || s->recursion || s->suffix || s->hot > 0;
}

bool select_word(const struct select_words *words, const char *text)
{
	for (size_t i = 0; i < words->n; i++)
		if (!fnmatch(words->list[i], text, 0) || !strcmp(words->list[i], text))
			return true;
	return !words->n;
}

bool select_number(const struct select_numbers *numbers, uint32_t n)
{
	for (size_t i = 0; i < numbers->n; i++)
		if (numbers->list[i] == n)
			return true;
	return !numbers->n;
}

bool select_process(const struct selection *s, uint32_t pid, const char *command)
{
	if (!s->pids.n && !s->commands.n)
		return true;
	return (s->pids.n && select_number(&s->pids, pid)) ||
	       (s->commands.n && select_word(&s->commands, command));
}

bool select_pattern(const struct select_patterns *p, const char *text)
{
	for (size_t i = 0; i < p->n; i++)
		if (!regexec(&p->list[i], text, 0, NULL, 0))
			return true;
	return false;
}

/* Returns where the parameters of a C++ function begin: at the bracket that matches the last
 * closing bracket. */
static size_t without_parameters(const char *name)
{
	size_t n = strlen(name), at = n;
	int depth = 0;

	while (at > 0) {
		at--;
		if (name[at] == ')')
			depth++;
		else if (name[at] == '(' && --depth == 0)
			return at;
	}
	return n;
}

bool select_function(const struct selection *s, const char *name)
{
	const struct select_words *words = &s->under;
	size_t length = words->n ? without_parameters(name) : 0;

	for (size_t i = 0; i < words->n; i++) {
		const char *w = words->list[i];

		/* Compare the whole name first: operator* is also a name. */
		if (!strcmp(w, name))
			return true;
		if (s->exact)
			continue;
		if ((strlen(w) == length && !strncmp(w, name, length)) || !fnmatch(w, name, 0) ||
		    short_name_matches(w, name))
			return true;
	}
	return false;
}

static double nanoseconds(const struct select_time *t, uint64_t first, uint64_t last)
{
	return t->share ? (double)(last - first) * t->value / 100 : t->value;
}

bool select_time(const struct select_ranges *ranges, uint64_t time, uint64_t first, uint64_t last)
{
	double at = (double)(time - first);

	for (size_t i = 0; i < ranges->n; i++)
		if (at >= nanoseconds(&ranges->list[i].from, first, last) &&
		    at <= nanoseconds(&ranges->list[i].to, first, last))
			return true;
	return !ranges->n;
}

int select_ranges_within(const struct select_ranges *ranges, double from, double to, uint64_t first,
			 uint64_t last, struct select_ranges *parts)
{
	/* Ranges have their ends, too. */
	struct select_range span = {.from.value = from, .to.value = to - 1};

	*parts = (struct select_ranges){.list = malloc((ranges->n + 1) * sizeof(*parts->list))};
	if (!parts->list)
		return -ENOMEM;
	parts->list[0] = span;
	for (size_t i = 0; i < ranges->n; i++) {
		double a = nanoseconds(&ranges->list[i].from, first, last),
		       b = nanoseconds(&ranges->list[i].to, first, last);

		parts->list[i] = span;
		if (a > parts->list[i].from.value)
			parts->list[i].from.value = a;
		if (b < parts->list[i].to.value)
			parts->list[i].to.value = b;
	}
	parts->n = ranges->n ? ranges->n : 1;
	return 0;
}
