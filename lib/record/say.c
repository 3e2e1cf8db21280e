/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Implements record/say.h. */
#include <stdarg.h>
#include <stdio.h>

#include "base/message.h"
#include "record/say.h"

void say(const char *format, ...)
{
	char text[4096];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	message("pcce-record", "%s", text);
}
