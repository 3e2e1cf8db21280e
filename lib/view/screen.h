/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Controls the terminal of the interactive view with curses. It knows nothing about the contents.
 */
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

/* Returns 0, or -ENOTTY if the terminal cannot show the view. */
int screen_open(bool colors);
void screen_close(void);
int screen_height(void);
int screen_width(void);

/* Writes text from column x to column `end` and returns the column after it. The text is UTF-8. On
 * a terminal without UTF-8, lines and marks become ASCII. */
int screen_put(int y, int x, int end, enum screen_look look, const char *text);
/* Returns the number of columns that a text takes. */
int screen_columns(const char *text);
/* Clears the rest of a line. */
void screen_rest(int y, int x, enum screen_look look);
/* Marks a line as the current one. */
void screen_mark(int y);

/* Shows what was written, and waits for the next key: a character, one of curses' KEY_*, or a
 * SCREEN_*. */
int screen_key(void);
#define SCREEN_CTRL(letter) ((letter)&0x1f)
#define SCREEN_ESCAPE 27

/* While the user does nothing, idle() is called again and again. It waits for a moment, and returns
 * whether there is something new to show. Signals that end the view end only the view then. */
void screen_set_idle(int (*idle)(void *ctx), void *ctx);
/* As screen_key(), which returns SCREEN_TICK if there is something new. */
int screen_key_or_tick(void);
#define SCREEN_TICK 0x110000 /* behind all characters */

/* Lets the user edit text, with its initial contents, in the last line. False: cancelled. */
bool screen_ask(const char *prompt, char *text, size_t size);

#endif
