/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See config.h. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "base/similar.h"
#include "base/text.h"
#include "daemon/config.h"
#include "sampler/event_list.h"

#define MANY 1000000000000ull

enum kind { TEXT, NUMBER, TIME, SIZE };

static const struct key {
	const char *name;
	enum kind kind;
	size_t at; /* in struct daemon_config */
	uint64_t least, most;
} keys[] = {
	{"store", TEXT, offsetof(struct daemon_config, store), 0, 0},
	{"service", TEXT, offsetof(struct daemon_config, service), 0, 0},
	{"spool", TEXT, offsetof(struct daemon_config, spool), 0, 0},
	{"events", TEXT, offsetof(struct daemon_config, events), 0, 0},
	{"metrics", TEXT, offsetof(struct daemon_config, metrics), 0, 0},
	{"frequency", NUMBER, offsetof(struct daemon_config, frequency), 1, 100000},
	{"window", TIME, offsetof(struct daemon_config, window), 1, 86400},
	{"spool_size", SIZE, offsetof(struct daemon_config, spool_size), 1 << 20, MANY},
	{"memory", SIZE, offsetof(struct daemon_config, memory), 16 << 20, MANY},
	{"keep_size", SIZE, offsetof(struct daemon_config, keep_size), 1 << 20, MANY},
	{"keep_age", TIME, offsetof(struct daemon_config, keep_age), 60, MANY},
};

#define KEYS (sizeof(keys) / sizeof(keys[0]))

struct reading {
	const char *path;
	void (*mistake)(const char *text);
	unsigned int line, mistakes;
	bool seen[KEYS];
	struct daemon_config *c;
};

static void add_mistake(struct reading *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void add_mistake(struct reading *r, const char *format, ...)
{
	char reason[1024], text[2048];
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	if (r->line)
		snprintf(text, sizeof(text), "cannot use line %u of %s: %s", r->line, r->path,
			 reason);
	else
		snprintf(text, sizeof(text), "cannot use %s: %s", r->path, reason);
	r->mistake(text);
	r->mistakes++;
}

/* ---- TOML ------------------------------------------------------------------------- */

static char *skip_space(char *at)
{
	return at + strspn(at, " \t");
}

/* True if nothing but a comment follows. */
static bool is_end(char *at)
{
	at = skip_space(at);
	return !*at || *at == '#';
}

/* Ends a string in place, and returns what follows it. NULL: it is none of those that are known. */
static char *read_string(char *at)
{
	char quote = *at, *to = at;

	for (at++; *at && *at != quote; at++) {
		if (quote == '"' && *at == '\\') {
			if (!*++at || !strchr("\"\\", *at))
				return NULL;
		}
		*to++ = *at;
	}
	if (!*at)
		return NULL;
	*to = 0;
	return at + 1;
}

static bool is_bare(int c)
{
	return isalnum(c) || c == '_' || c == '-';
}

/* Reads a number with a unit, of those in `units`, whose factors are in factors. */
static bool read_amount(const char *text, const char *units, const uint64_t *factors, uint64_t *out)
{
	char *end;
	unsigned long long n = strtoull(text, &end, 10);
	const char *unit = *end ? strchr(units, *end) : NULL;

	if (!isdigit((unsigned char)*text) || !unit || end[1] || n > MANY)
		return false;
	return !__builtin_mul_overflow(n, factors[unit - units], out);
}

static void set_number(struct reading *r, const struct key *k, uint64_t n)
{
	if (n < k->least || n > k->most)
		add_mistake(r, "%s is too %s", k->name, n < k->least ? "small" : "large");
	else
		*(uint64_t *)((char *)r->c + k->at) = n;
}

static void set_text(struct reading *r, const struct key *k, const char *text)
{
	static const uint64_t seconds[] = {1, 60, 3600, 86400, 604800};
	static const uint64_t bytes[] = {1 << 10, 1 << 20, 1 << 30, 1ull << 40};
	char **to = (char **)((char *)r->c + k->at);
	uint64_t n;

	switch (k->kind) {
	case TEXT:
		free(*to);
		*to = *text ? strdup(text) : NULL;
		if (!*to)
			add_mistake(r, "%s is empty", k->name);
		break;
	case NUMBER:
		add_mistake(r, "%s must be a number without quotes", k->name);
		break;
	case TIME:
		if (read_amount(text, "smhdw", seconds, &n))
			set_number(r, k, n);
		else
			add_mistake(r, "%s must be a time, for example \"60s\", \"2h\" or \"30d\"",
				    k->name);
		break;
	case SIZE:
		if (read_amount(text, "KMGT", bytes, &n))
			set_number(r, k, n);
		else
			add_mistake(r, "%s must be a size, for example \"256M\" or \"10G\"",
				    k->name);
		break;
	}
}

static void read_value(struct reading *r, const struct key *k, char *at)
{
	char *end;
	unsigned long long n;

	if (*at == '"' || *at == '\'') {
		end = at[1] == at[0] && at[2] == at[0] ? NULL : read_string(at);
		if (!end || !is_end(end))
			add_mistake(r,
				    "%s has a string that does not end, or that pcced does not "
				    "read",
				    k->name);
		else
			set_text(r, k, at);
		return;
	}
	n = strtoull(at, &end, 10);
	if (!isdigit((unsigned char)*at) || !is_end(end) || (*at == '0' && end != at + 1))
		add_mistake(r, "the value of %s must be a string in quotes%s", k->name,
			    k->kind == NUMBER ? ", or a number" : "");
	else if (k->kind != NUMBER)
		add_mistake(r, "%s must be a string in quotes", k->name);
	else
		set_number(r, k, n);
}

static void read_key(struct reading *r, char *name, char *value)
{
	char similar[256] = "";

	for (size_t i = 0; i < KEYS; i++) {
		if (!strcmp(name, keys[i].name)) {
			if (r->seen[i])
				add_mistake(r, "%s is given twice", name);
			r->seen[i] = true;
			read_value(r, &keys[i], value);
			return;
		}
		similar_add(similar, sizeof(similar), name, keys[i].name);
	}
	add_mistake(r, "there is no setting %s%s%s%s", name, *similar ? "; did you mean " : "",
		    similar, *similar ? "?" : "");
}

static void read_config_line(struct reading *r, char *line)
{
	char *name = skip_space(line), *end = name, *at;

	line[strcspn(line, "\r\n")] = 0;
	if (is_end(line))
		return;
	while (is_bare((unsigned char)*end))
		end++;
	at = skip_space(end);
	if (end == name || *at != '=') {
		add_mistake(r, "it must be KEY = VALUE");
		return;
	}
	*end = 0;
	read_key(r, name, skip_space(at + 1));
}

/* ---- the whole -------------------------------------------------------------------- */

bool daemon_config_has_folder(const struct daemon_config *c)
{
	return !strstr(c->store, "://") && strncmp(c->store, "chdb:", 5) != 0;
}

/* pcce-push knows the rest. */
static void check_store(struct reading *r)
{
	const struct daemon_config *c = r->c;
	const char *host = strstr(c->store, "://");

	if (host && strncmp(c->store, "clickhouse://", 13) &&
	    strncmp(c->store, "clickhouses://", 14))
		add_mistake(r,
			    "there is no such store as %s; use a folder, clickhouse://HOST or "
			    "clickhouses://HOST",
			    c->store);
	else if (host && strchr(host, '@'))
		add_mistake(r, "store has a user or a password, which the list of processes would "
			       "show; set CLICKHOUSE_USER and CLICKHOUSE_PASSWORD in the "
			       "environment");
	else if ((c->keep_size || c->keep_age) && !daemon_config_has_folder(c))
		add_mistake(r, "keep_size and keep_age are for a store that is a folder; in "
			       "ClickHouse, set a TTL");
}

static void check_folder(struct reading *r, const char *key, const char *path)
{
	struct stat st;

	if (stat(path, &st))
		add_mistake(r, "the folder of %s, %s, cannot be used: %s; create it", key, path,
			    strerror(errno));
	else if (!S_ISDIR(st.st_mode))
		add_mistake(r, "%s of %s is no folder", path, key);
	else if (access(path, W_OK | X_OK))
		add_mistake(r, "the folder of %s, %s, cannot be written: %s", key, path,
			    strerror(errno));
}

static void check_config(struct reading *r)
{
	const struct daemon_config *c = r->c;
	struct event_list events = {0};
	struct error why = {0};
	char *folder;

	r->line = 0;
	if (!c->store)
		add_mistake(r, "store is missing: it says where recordings go");
	else
		check_store(r);
	if (c->events && event_list_add(&events, c->events, &why))
		add_mistake(r, "%s", why.text);
	check_folder(r, "spool", c->spool);
	if (c->metrics) {
		folder = strndup(c->metrics, (size_t)(text_base(c->metrics) - c->metrics));
		check_folder(r, "metrics", folder && *folder ? folder : ".");
		free(folder);
	}
}

unsigned int daemon_config_read(const char *path, struct daemon_config *c,
				void (*mistake)(const char *text))
{
	struct reading r = {.path = path, .mistake = mistake, .c = c};
	char *line = NULL;
	size_t capacity = 0;
	FILE *f = fopen(path, "re");

	*c = (struct daemon_config){.spool = strdup("/var/lib/pcced"),
				    .frequency = 19,
				    .window = 60,
				    .spool_size = 256 << 20,
				    .memory = 32 << 20};
	if (!f) {
		add_mistake(&r, "%s", strerror(errno));
	} else {
		while (getline(&line, &capacity, f) > 0) {
			r.line++;
			read_config_line(&r, line);
		}
		if (ferror(f))
			add_mistake(&r, "%s", strerror(errno));
		fclose(f);
		free(line);
		check_config(&r);
	}
	if (r.mistakes)
		daemon_config_free(c);
	return r.mistakes;
}

void daemon_config_free(struct daemon_config *c)
{
	free(c->store);
	free(c->service);
	free(c->spool);
	free(c->events);
	free(c->metrics);
	*c = (struct daemon_config){0};
}

bool daemon_config_records_equally(const struct daemon_config *a, const struct daemon_config *b)
{
	return a->frequency == b->frequency && a->window == b->window &&
	       !strcmp(a->events ? a->events : "", b->events ? b->events : "");
}
