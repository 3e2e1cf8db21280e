/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Sets the message and the search pattern of the interactive view. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "view/state.h"

void view_say(struct view *v, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(v->message, sizeof(v->message), format, args);
	va_end(args);
}

void view_set_search(struct view *v, const char *text)
{
	bool capitals = strpbrk(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != NULL;
	struct error why;
	int r;

	if (v->share.searching)
		regfree(&v->share.search);
	v->share.searching = false;
	if (!*text)
		return;
	r = regcomp(&v->share.search, text, REG_EXTENDED | REG_NOSUB | (capitals ? 0 : REG_ICASE));
	v->share.searching = !r;
	if (r) {
		regerror(r, &v->share.search, why.text, sizeof(why.text));
		view_say(v, "%s: %s", text, why.text);
	}
}
