/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The terminal of the interactive view: what curses does for it, and nothing of what is shown. */
#ifndef PCCE_VIEW_SCREEN_H
#define PCCE_VIEW_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

enum screen_look {
	LOOK_PLAIN,
	LOOK_BAR,
	LOOK_BOLD,
	LOOK_HOT,
	LOOK_WARM,
	LOOK_DIM,
	LOOK_FOUND,
	LOOKS
};

/* 0, or -ENOTTY if there is no terminal that could do it. */
int screen_open(bool colors);
void screen_close(void);
int screen_height(void);
int screen_width(void);

/* Writes text from column x on, up to column `end`; returns the column behind it. The text is
 * UTF-8; on a terminal without, lines and marks become ASCII. */
int screen_put(int y, int x, int end, enum screen_look look, const char *text);
/* How many columns a text takes. */
int screen_columns(const char *text);
/* Blanks the rest of a line. */
void screen_rest(int y, int x, enum screen_look look);
/* Marks a line as the current one. */
void screen_mark(int y);

/* The next key: a character, one of curses' KEY_*, or a SCREEN_*. What was put is shown first. */
int screen_key(void);
#define SCREEN_CTRL(letter) ((letter)&0x1f)
#define SCREEN_ESCAPE 27

/* Lets the user edit text (what is in it first) in the last line. False: given up. */
bool screen_ask(const char *prompt, char *text, size_t size);

#endif
