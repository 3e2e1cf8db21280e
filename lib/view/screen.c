/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Implements the terminal of the interactive view with curses. */
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>
#include <wctype.h>
#include <curses.h>

#include "base/text.h"
#include "view/screen.h"

static volatile sig_atomic_t signalled;

static struct {
	SCREEN *screen;
	bool utf8;
	attr_t looks[LOOKS];
	int (*idle)(void *ctx); /* NULL: nothing is done while the user does nothing */
	void *ctx;
} state;

static void make_looks(bool colors)
{
	static const attr_t plain[LOOKS] = {
		[LOOK_BAR] = A_REVERSE,
		[LOOK_BOLD] = A_BOLD,
		[LOOK_HOT] = A_BOLD,
		[LOOK_DIM] = A_DIM,
		[LOOK_FOUND] = A_UNDERLINE | A_BOLD,
	};

	memcpy(state.looks, plain, sizeof(plain));
	if (!colors || !has_colors())
		return;
	start_color();
	use_default_colors();
	init_pair(LOOK_HOT, COLOR_RED, -1);
	init_pair(LOOK_WARM, COLOR_GREEN, -1);
	init_pair(LOOK_FOUND, COLOR_YELLOW, -1);
	init_pair(LOOK_BAR, COLOR_WHITE, COLOR_BLUE);
	state.looks[LOOK_HOT] = COLOR_PAIR(LOOK_HOT) | A_BOLD;
	state.looks[LOOK_WARM] = COLOR_PAIR(LOOK_WARM);
	state.looks[LOOK_FOUND] = COLOR_PAIR(LOOK_FOUND) | A_BOLD;
	state.looks[LOOK_BAR] = COLOR_PAIR(LOOK_BAR) | A_BOLD;
}

/*
 * Handles a request to end. The first one makes screen_key() return ERR, so the program restores
 * the terminal and ends. The second one can arrive during a long computation. It restores the
 * terminal here, as curses' own handler does.
 */
static void on_end_signal(int number)
{
	if (!signalled) {
		signalled = number;
		return;
	}
	endwin();
	signal(number, SIG_DFL);
	raise(number);
}

static void catch_end_signals(bool on)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = on ? on_end_signal : SIG_DFL};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaction(numbers[i], &action, NULL);
}

int screen_open(bool colors)
{
	const char *term = getenv("TERM");

	if (!term || !*term || !strcmp(term, "dumb") || !isatty(STDIN_FILENO) ||
	    !isatty(STDOUT_FILENO))
		return -ENOTTY;
	setlocale(LC_CTYPE, "");
	state.utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	state.screen = newterm(NULL, stdout, stdin);
	if (!state.screen)
		return -ENOTTY;
	catch_end_signals(true);
	set_escdelay(25);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	curs_set(0);
	make_looks(colors);
	return 0;
}

void screen_close(void)
{
	if (!state.screen)
		return;
	endwin();
	delscreen(state.screen);
	state.screen = NULL;
	catch_end_signals(false);
	if (signalled && !state.idle)
		raise(signalled);
	state.idle = NULL;
}

int screen_height(void)
{
	return LINES;
}

int screen_width(void)
{
	return COLS;
}

/* Reads one character of valid UTF-8. */
static wchar_t next_character(const unsigned char **s)
{
	uint32_t c = *(*s)++;
	int more = c < 0xc0 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;

	if (more)
		c &= 0x3f >> more;
	while (more-- && **s)
		c = c << 6 | (*(*s)++ & 0x3f);
	return (wchar_t)c;
}

static wchar_t as_ascii(wchar_t c)
{
	static const struct {
		wchar_t from, to;
	} table[] = {
		{L'│', L'|'}, {L'├', L'|'}, {L'└', L'`'}, {L'─', L'-'}, {L'▸', L'+'},
		{L'▾', L'-'}, {L'×', L'x'}, {L'–', L'-'}, {L'…', L'.'}, {L'·', L'.'},
		{L'░', L'.'}, {L'▒', L':'}, {L'▓', L'*'}, {L'█', L'#'},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].from == c)
			return table[i].to;
	return c < 0x80 ? c : L'?';
}

/* Reads the next character of a text, and replaces it if it cannot or must not be shown. */
static wchar_t next_shown(const unsigned char **s, int *width)
{
	bool good;
	size_t n = text_character((const char *)*s, &good);
	wchar_t c;

	if (!good) {
		*s += n;
		*width = 1;
		return L'?';
	}
	c = next_character(s);
	if (!state.utf8)
		c = as_ascii(c);
	*width = wcwidth(c);
	if (*width >= 0)
		return c;
	*width = 1;
	return L'?';
}

int screen_put(int y, int x, int end, enum screen_look look, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	attrset(state.looks[look]);
	while (*s && x < end && y < LINES) {
		int width;
		wchar_t c = next_shown(&s, &width);

		if (x + width > end)
			break;
		mvaddnwstr(y, x, &c, 1);
		x += width;
	}
	attrset(A_NORMAL);
	return x;
}

int screen_columns(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	int columns = 0, width;

	while (*s) {
		next_shown(&s, &width);
		columns += width;
	}
	return columns;
}

void screen_rest(int y, int x, enum screen_look look)
{
	attrset(state.looks[look]);
	for (; x < COLS; x++)
		mvaddch(y, x, ' ');
	attrset(A_NORMAL);
}

void screen_mark(int y)
{
	mvchgat(y, 0, -1, A_REVERSE, 0, NULL);
}

void screen_set_idle(int (*idle)(void *ctx), void *ctx)
{
	state.idle = idle;
	state.ctx = ctx;
	timeout(0);
}

static bool is_closed(void)
{
	struct pollfd p = {.fd = STDIN_FILENO};

	return signalled || (poll(&p, 1, 0) > 0 && p.revents & (POLLHUP | POLLERR | POLLNVAL));
}

/* As get_wch(), which does not wait if there is something to do meanwhile. */
static int wait_character(wint_t *c, bool ticks)
{
	int kind = signalled ? ERR : get_wch(c);

	while (kind == ERR && state.idle && !is_closed()) {
		if (state.idle(state.ctx) && ticks) {
			*c = SCREEN_TICK;
			return OK;
		}
		kind = get_wch(c);
	}
	return kind;
}

static int wait_key(bool ticks)
{
	wint_t c;

	if (signalled)
		return ERR;
	refresh();
	if (!state.idle)
		return getch();
	return wait_character(&c, ticks) == ERR ? ERR : (int)c;
}

int screen_key(void)
{
	return wait_key(false);
}

int screen_key_or_tick(void)
{
	return wait_key(true);
}

/* ---- one line of text ------------------------------------------------------------ */

static void draw_line(const char *prompt, const wchar_t *text, size_t n)
{
	int x = screen_put(LINES - 1, 0, COLS, LOOK_BOLD, prompt), room;
	size_t from = 0;

	screen_rest(LINES - 1, x, LOOK_PLAIN);
	room = COLS - x - 1;
	while (from < n && wcswidth(text + from, n - from) > room)
		from++;
	mvaddnwstr(LINES - 1, x, text + from, (int)(n - from));
	curs_set(1);
}

bool screen_ask(const char *prompt, char *text, size_t size)
{
	wchar_t line[512];
	const size_t max = sizeof(line) / sizeof(line[0]) - 1;
	size_t n = mbstowcs(line, text, max);
	bool done = false, good = false;

	if (n == (size_t)-1)
		n = 0;
	while (!done) {
		wint_t c;
		int kind;

		draw_line(prompt, line, n);
		refresh();
		kind = wait_character(&c, false);
		if (kind == ERR || (kind == OK && (c == SCREEN_ESCAPE || c == SCREEN_CTRL('g')))) {
			done = true;
		} else if ((kind == OK && (c == '\r' || c == '\n')) ||
			   (kind == KEY_CODE_YES && c == KEY_ENTER)) {
			done = good = true;
		} else if ((kind == KEY_CODE_YES && c == KEY_BACKSPACE) ||
			   (kind == OK && (c == 127 || c == '\b'))) {
			/* Backspace in an empty line cancels, as in less. */
			if (!n)
				done = true;
			else
				n--;
		} else if (kind == OK && c == SCREEN_CTRL('u')) {
			n = 0;
		} else if (kind == OK && iswprint(c) && n < max) {
			line[n++] = (wchar_t)c;
		}
	}
	curs_set(0);
	line[n] = 0;
	return good && wcstombs(text, line, size - 1) != (size_t)-1 && ((text[size - 1] = 0), true);
}
