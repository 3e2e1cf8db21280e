// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Parses a demangled name into pieces, an array in preorder. For `void f<int, A<int> >(int) const`:
 *
 *   RETURN  "void "
 *     TEXT  "void "
 *   TEXT    "f"
 *   LIST    "<int, A<int> >"
 *     ITEM  "int"
 *       TEXT  "int"
 *     ITEM  "A<int>"
 *       TEXT  "A"
 *       LIST  "<int>" ...
 *   PARAMS  "(int) const"
 *     ITEM  "int" ...
 *
 * The text of a name is that of its pieces, without closed folds. RETURN, LIST, PARAMS, TAGS and
 * ITEM are folds, and closed at first.
 *
 * The parser gives up at whatever it does not know. Then the name is one piece of text, so nothing
 * of it is left out.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "symbols/short_name.h"

#define MAX_DEPTH 100 /* of lists in lists */

enum piece_kind { PIECE_TEXT, PIECE_TAGS, PIECE_LIST, PIECE_PARAMS, PIECE_ITEM, PIECE_RETURN };

struct piece {
	enum piece_kind kind;
	bool open;
	uint32_t from, to; /* its bytes of the name */
	uint32_t close;	   /* LIST, PARAMS: the closing bracket */
	uint32_t end;	   /* the piece after the last one inside it */
};

struct short_name {
	const char *full;
	struct piece *pieces;
	size_t n;
	struct short_name_fold *folds;
	size_t n_folds;
};

/* ---- words ------------------------------------------------------------------------- */

static bool starts_with(const char *text, const char *word)
{
	return !strncmp(text, word, strlen(word));
}

static bool is_word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* Returns the length of the word `operator` with its symbol at a place; 0: there is none. Of
 * `operator new` and of conversions it is the word alone (*words). */
static size_t operator_size(const char *name, size_t at, bool *words)
{
	static const char *const symbols[] = {
		"<=>", "<<=", ">>=", "->*", "()", "[]", "<<", ">>", "<=", ">=", "->", "==", "!=",
		"&&",  "||",  "++",  "--",  "+=", "-=", "*=", "/=", "%=", "^=", "&=", "|=", "<",
		">",   "+",   "-",   "*",   "/",  "%",	"^",  "&",  "|",  "~",	"!",  "=",  ",",
	};
	static const char word[] = "operator";
	const size_t n = sizeof(word) - 1;

	*words = false;
	if (!starts_with(name + at, word) || (at && is_word_char(name[at - 1])))
		return 0;
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		size_t size = n + strlen(symbols[i]);

		if (!starts_with(name + at + n, symbols[i]))
			continue;
		/* operator<< <int> */
		return size + (name[at + size] == ' ' && name[at + size + 1] == '<');
	}
	*words = name[at + n] == ' ' || name[at + n] == '"';
	return *words ? n : 0;
}

/* Returns the length of <lambda(int)> or <unnamed struct>, which is a name; 0: another text. */
static size_t gcc_word_size(const char *text)
{
	size_t n;
	int inside = 0;

	if (!starts_with(text, "<lambda(") && !starts_with(text, "<unnamed") &&
	    !starts_with(text, "<anonymous"))
		return 0;
	for (n = 0; text[n] && (inside || text[n] != '>'); n++)
		inside += (text[n] == '(') - (text[n] == ')');
	return text[n] ? n + 1 : 0;
}

/* Returns the length of an ABI tag, or of the inline namespace by which a library has one. */
static size_t tags_size(const char *name, size_t at)
{
	static const char *const words[] = {"__cxx11::", "__1::"};
	size_t n = starts_with(name + at, "[abi:") ? strcspn(name + at, "]") : 0;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (starts_with(name + at, words[i]) && at && name[at - 1] == ':')
			return strlen(words[i]);
	return n && name[at + n] ? n + 1 : 0;
}

/* Whether a '<' here begins template arguments, and is no operator of an expression. */
static bool begins_list(const char *name, size_t at)
{
	return at && (is_word_char(name[at - 1]) || name[at - 1] == ']' || name[at - 1] == '}');
}

/* Returns the length of what can follow parameters: "const", "&&" and so on. */
static size_t qualifiers_size(const char *text)
{
	static const char *const words[] = {" const",	 " volatile", " restrict",
					    " noexcept", " &&",	      " &"};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t size = strlen(words[i]);

		if (!starts_with(text + n, words[i]) || is_word_char(text[n + size]))
			continue;
		n += size;
		i = -1;
	}
	return starts_with(text + n, " requires ") ? strlen(text) : n;
}

/* Returns the length of what the demangler puts before a name: "vtable for ". */
static size_t prefix_size(const char *name)
{
	static const char *const words[] = {" thunk to ", " for ", " to "};
	size_t plain = strspn(name, "abcdefghijklmnopqrstuvwxyzLSTV0123456789#- ");

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const char *at = strstr(name, words[i]);

		if (at && (size_t)(at - name) < plain)
			return at - name + strlen(words[i]);
	}
	return 0;
}

/* ---- parsing ----------------------------------------------------------------------- */

struct parser {
	struct short_name *s;
	const char *name;
	size_t at, text; /* the text from here on is in no piece yet */
	int depth;
	bool no_memory;
};

static bool add_piece(struct parser *p, enum piece_kind kind, size_t from, size_t to)
{
	if (array_grow(&p->s->pieces, p->s->n, sizeof(struct piece))) {
		p->no_memory = true;
		return false;
	}
	p->s->pieces[p->s->n] = (struct piece){.kind = kind,
					       .open = kind == PIECE_TEXT,
					       .from = from,
					       .to = to,
					       .end = p->s->n + 1};
	p->s->n++;
	return true;
}

/* Makes the text before a place a piece. */
static bool end_text(struct parser *p, size_t to)
{
	size_t from = p->text;

	p->text = to;
	return from >= to || add_piece(p, PIECE_TEXT, from, to);
}

static bool parse_list(struct parser *p, enum piece_kind kind);

/* Parses what items and names have in common. *done: this was such a part. False: give up. */
static bool parse_part(struct parser *p, bool *words, bool *done)
{
	const char *here = p->name + p->at;
	bool is_words;
	size_t n = operator_size(p->name, p->at, &is_words);

	*done = true;
	if (n) {
		bool blank = here[n - 1] == ' ';

		p->at += n;
		*words |= is_words;
		return here[n] != '<' || (end_text(p, p->at - blank) && parse_list(p, PIECE_LIST));
	}
	if (starts_with(here, "(anonymous namespace)")) {
		p->at += strlen("(anonymous namespace)");
		return true;
	}
	/* GCC writes so in debug information. */
	n = gcc_word_size(here);
	p->at += n;
	if (n)
		return true;
	if (*here == '<' && begins_list(p->name, p->at))
		return end_text(p, p->at) && parse_list(p, PIECE_LIST);
	n = tags_size(p->name, p->at);
	if (n) {
		if (!end_text(p, p->at) || !add_piece(p, PIECE_TAGS, p->at, p->at + n))
			return false;
		p->at = p->text = p->at + n;
		return true;
	}
	*done = false;
	return true;
}

/* Parses one item of a list, which ends at a comma or at the closing bracket. */
static bool parse_item(struct parser *p, char close)
{
	size_t item = p->s->n, last;
	bool words = false, done;
	int inside = 0;

	p->at += strspn(p->name + p->at, " ");
	p->text = p->at;
	if (!add_piece(p, PIECE_ITEM, p->at, p->at))
		return false;
	for (;;) {
		char c = p->name[p->at];

		if (!c || (!inside && (c == ',' || c == close)))
			break;
		if (!parse_part(p, &words, &done))
			return false;
		if (done)
			continue;
		if (strchr("([{", c))
			inside++;
		else if (strchr(")]}", c) && !inside--)
			return false;
		p->at++;
	}
	last = p->at;
	while (last > p->text && p->name[last - 1] == ' ')
		last--;
	if (!end_text(p, last))
		return false;
	p->s->pieces[item].to = last;
	p->s->pieces[item].end = p->s->n;
	return p->name[p->at] != 0;
}

static bool parse_list(struct parser *p, enum piece_kind kind)
{
	size_t list = p->s->n;
	char close = kind == PIECE_LIST ? '>' : ')';

	if (++p->depth > MAX_DEPTH || !add_piece(p, kind, p->at, p->at))
		return false;
	p->at++;
	if (p->name[p->at] != close) {
		do {
			if (!parse_item(p, close))
				return false;
		} while (p->name[p->at++] == ',');
		p->at--;
	}
	p->s->pieces[list].close = p->at++;
	if (kind == PIECE_PARAMS)
		p->at += qualifiers_size(p->name + p->at);
	p->s->pieces[list].to = p->text = p->at;
	p->s->pieces[list].end = p->s->n;
	p->depth--;
	return true;
}

/* Makes all pieces from the first one on a return type, as a blank follows them. */
static bool end_return_type(struct parser *p, size_t first)
{
	struct piece *r;

	p->at++;
	if (!end_text(p, p->at))
		return false;
	if (p->s->pieces[first].kind != PIECE_RETURN) {
		if (!add_piece(p, PIECE_RETURN, 0, 0))
			return false;
		r = p->s->pieces + first;
		memmove(r + 1, r, (p->s->n - 1 - first) * sizeof(*r));
		*r = (struct piece){.kind = PIECE_RETURN, .from = r[1].from};
		for (size_t i = first + 1; i < p->s->n; i++)
			p->s->pieces[i].end++;
	}
	p->s->pieces[first].to = p->at;
	p->s->pieces[first].end = p->s->n;
	return true;
}

/* Passes over decltype (...). */
static bool skip_decltype(struct parser *p)
{
	int inside = 0;

	do {
		inside += p->name[p->at] == '(';
		inside -= p->name[p->at] == ')';
		if (!p->name[p->at++])
			return false;
	} while (inside);
	return true;
}

static bool follows_decltype(const struct parser *p)
{
	size_t n = p->at - (p->at && p->name[p->at - 1] == ' ');

	return n >= 8 && starts_with(p->name + n - 8, "decltype");
}

static bool parse_parameters(struct parser *p, bool in_braces)
{
	char before = p->at ? p->name[p->at - 1] : ' ';
	const char *after;

	if (!is_word_char(before) && !strchr(">]}()<=+-*/%^&|~!,\"", before))
		return false;
	if (!end_text(p, p->at) || !parse_list(p, PIECE_PARAMS))
		return false;
	after = p->name + p->at;
	return !*after || *after == '@' || starts_with(after, "::") ||
	       starts_with(after, " [clone ") || (in_braces && *after == '#');
}

/* name() [clone .isra.0] becomes name.isra.0, as in C. */
static bool parse_clones(struct parser *p)
{
	static const char clone[] = " [clone ";

	if (!end_text(p, p->at))
		return false;
	while (starts_with(p->name + p->at, clone)) {
		size_t from = p->at + strlen(clone), n = strcspn(p->name + from, "]");

		if (!p->name[from + n] || !add_piece(p, PIECE_TEXT, from, from + n))
			return false;
		p->at = p->text = from + n + 1;
	}
	return true;
}

/* Parses the whole name. False: it has another form. */
static bool parse_name(struct parser *p)
{
	bool words = false, done, has_return = false, has_params = false;
	size_t first;
	int braces = 0;

	p->at = prefix_size(p->name);
	if (!end_text(p, p->at))
		return false;
	first = p->s->n;
	if (!is_word_char(p->name[p->at]) && !strchr("~(<", p->name[p->at]))
		return false;
	while (p->name[p->at]) {
		char c = p->name[p->at];

		if (!parse_part(p, &words, &done))
			return false;
		if (done)
			continue;
		if (c == '(' && follows_decltype(p)) {
			if (!skip_decltype(p))
				return false;
		} else if (c == '(') {
			if (!parse_parameters(p, braces > 0))
				return false;
			has_params = true;
			words &= braces > 0;
		} else if (c == ' ' && starts_with(p->name + p->at, " [clone ")) {
			if (!parse_clones(p))
				return false;
		} else if (c == ' ' && !words && !braces) {
			if (!end_return_type(p, first))
				return false;
			has_return = true;
			has_params = false;
		} else if (is_word_char(c) || strchr(".:~@*&", c) || words ||
			   (braces && strchr(" #", c)) || c == '{' || c == '}') {
			braces += (c == '{') - (c == '}');
			if (braces < 0)
				return false;
			p->at++;
		} else {
			return false;
		}
	}
	return end_text(p, p->at) && !braces && (has_params || !has_return);
}

void short_name_free(struct short_name *s)
{
	if (!s)
		return;
	free(s->pieces);
	free(s->folds);
	free(s);
}

struct short_name *short_name_new(const char *full)
{
	struct short_name *s = calloc(1, sizeof(*s));
	struct parser p = {.s = s, .name = full};
	size_t n = strlen(full);

	if (!s)
		return NULL;
	s->full = full;
	if (n < UINT32_MAX / 2 && parse_name(&p))
		return s;
	s->n = 0;
	if (!p.no_memory && n < UINT32_MAX / 2 && add_piece(&p, PIECE_TEXT, 0, n))
		return s;
	short_name_free(s);
	return NULL;
}

/* ---- text -------------------------------------------------------------------------- */

#define REST "…"

struct printer {
	struct short_name *s;
	FILE *out;
	size_t size; /* of the text so far */
	bool no_memory;
};

static void print_part(struct printer *w, size_t from, size_t to)
{
	fwrite(w->s->full + from, 1, to - from, w->out);
	w->size += to - from;
}

static void print_word(struct printer *w, const char *word)
{
	fputs(word, w->out);
	w->size += strlen(word);
}

static void add_fold(struct printer *w, uint32_t piece, size_t number)
{
	const struct piece *p = &w->s->pieces[piece];
	/* Return types come last, since others tell more. */
	uint64_t place = p->kind == PIECE_RETURN ? UINT32_MAX : w->size;

	if (array_grow(&w->s->folds, w->s->n_folds, sizeof(*w->s->folds))) {
		w->no_memory = true;
		return;
	}
	w->s->folds[w->s->n_folds++] = (struct short_name_fold){
		.place = place << 32 | (uint64_t)p->kind << 28 | (number & 0xfffffff),
		.text = w->s->full + p->from,
		.size = p->to - p->from,
		.piece = piece,
	};
}

static void print_pieces(struct printer *w, uint32_t from, uint32_t to);

static void print_items(struct printer *w, const struct piece *list, uint32_t first)
{
	const struct piece *pieces = w->s->pieces;
	const char *between = "";
	bool rest = false, any = false;
	size_t number = 0;

	for (uint32_t i = first; i < list->end; i = pieces[i].end, number++) {
		if (!pieces[i].open) {
			add_fold(w, i, number);
			rest = true;
			continue;
		}
		print_word(w, between);
		print_word(w, rest ? REST ", " : "");
		print_pieces(w, i + 1, pieces[i].end);
		between = ", ";
		rest = false;
		any = true;
	}
	/* The last template arguments are mostly defaults. */
	if (!rest || (any && list->kind == PIECE_LIST))
		return;
	print_word(w, between);
	print_word(w, REST);
}

static void print_pieces(struct printer *w, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i = w->s->pieces[i].end) {
		const struct piece *p = &w->s->pieces[i];

		if (!p->open) {
			add_fold(w, i, 0);
		} else if (p->kind == PIECE_RETURN) {
			print_pieces(w, i + 1, p->end);
		} else if (p->kind == PIECE_LIST || p->kind == PIECE_PARAMS) {
			/* operator<< <int> */
			if (p->from && w->s->full[p->from - 1] == ' ')
				print_word(w, " ");
			print_part(w, p->from, p->from + 1);
			print_items(w, p, i + 1);
			print_part(w, p->close, p->to);
		} else {
			print_part(w, p->from, p->to);
		}
	}
}

char *short_name_text(struct short_name *s)
{
	char *text = NULL;
	size_t size;
	struct printer w = {.s = s, .out = open_memstream(&text, &size)};

	s->n_folds = 0;
	if (!w.out)
		return NULL;
	print_pieces(&w, 0, s->n);
	if (!fclose(w.out) && !w.no_memory)
		return text;
	free(text);
	return NULL;
}

const struct short_name_fold *short_name_folds(const struct short_name *s, size_t *n)
{
	*n = s->n_folds;
	return s->folds;
}

void short_name_open(struct short_name *s, uint32_t piece)
{
	struct piece *p = &s->pieces[piece];

	p->open = true;
	/* A list of one item shows it. */
	if ((p->kind == PIECE_LIST || p->kind == PIECE_PARAMS) && piece + 1 < p->end &&
	    s->pieces[piece + 1].end == p->end)
		s->pieces[piece + 1].open = true;
}

/* ---- matching ---------------------------------------------------------------------- */

/* Where a comparison is: at a byte of a text, or at another piece. */
struct cursor {
	const struct short_name *s;
	uint32_t piece, end, byte;
};

static struct cursor cursor_at(const struct short_name *s, uint32_t piece, uint32_t end)
{
	return (struct cursor){s, piece, end, piece < s->n ? s->pieces[piece].from : 0};
}

static const struct piece *piece_here(const struct cursor *c)
{
	return c->piece < c->end ? &c->s->pieces[c->piece] : NULL;
}

static void next_piece(struct cursor *c)
{
	*c = cursor_at(c->s, c->s->pieces[c->piece].end, c->end);
}

static bool match_pieces(struct cursor some, struct cursor all);

static bool is_rest(const struct short_name *s, uint32_t item)
{
	const struct piece *p = &s->pieces[item];

	return p->to - p->from == strlen(REST) && !memcmp(s->full + p->from, REST, strlen(REST));
}

/* Compares two lists. REST in the first one represents any number of items. */
static bool match_items(const struct cursor *some, const struct cursor *all)
{
	const struct piece *a = piece_here(some), *b = piece_here(all);
	uint32_t i = some->piece + 1, j = all->piece + 1, rest = 0, from = 0;

	while (j < b->end) {
		if (i < a->end && is_rest(some->s, i)) {
			rest = i = some->s->pieces[i].end;
			from = j;
		} else if (i < a->end &&
			   match_pieces(cursor_at(some->s, i + 1, some->s->pieces[i].end),
					cursor_at(all->s, j + 1, all->s->pieces[j].end))) {
			i = some->s->pieces[i].end;
			j = all->s->pieces[j].end;
		} else if (i == a->end && a->kind == PIECE_LIST && i > some->piece + 1) {
			break;
		} else if (rest) {
			i = rest;
			j = from = all->s->pieces[from].end;
		} else {
			return false;
		}
	}
	while (i < a->end && is_rest(some->s, i))
		i = some->s->pieces[i].end;
	return i == a->end && a->to - a->close == b->to - b->close &&
	       !memcmp(some->s->full + a->close, all->s->full + b->close, a->to - a->close);
}

static bool match_pieces(struct cursor some, struct cursor all)
{
	for (;;) {
		const struct piece *a = piece_here(&some), *b = piece_here(&all);

		if (a && a->kind == PIECE_TEXT && some.byte == a->to) {
			next_piece(&some);
		} else if (b && b->kind == PIECE_TEXT && all.byte == b->to) {
			next_piece(&all);
		} else if (b && b->kind != PIECE_TEXT) {
			if (a && a->kind == b->kind &&
			    (a->kind == PIECE_LIST || a->kind == PIECE_PARAMS)) {
				if (!match_items(&some, &all))
					return false;
				next_piece(&some);
			} else if (a && a->kind == b->kind) {
				if (a->to - a->from != b->to - b->from ||
				    memcmp(some.s->full + a->from, all.s->full + b->from,
					   a->to - a->from))
					return false;
				next_piece(&some);
			}
			next_piece(&all);
		} else if (!a || !b) {
			return !a && !b;
		} else if (a->kind != PIECE_TEXT ||
			   some.s->full[some.byte++] != all.s->full[all.byte++]) {
			return false;
		}
	}
}

bool short_name_matches(const char *text, const char *full)
{
	struct short_name *some = short_name_new(text), *all = short_name_new(full);
	bool match =
		some && all && match_pieces(cursor_at(some, 0, some->n), cursor_at(all, 0, all->n));

	short_name_free(some);
	short_name_free(all);
	return match;
}
