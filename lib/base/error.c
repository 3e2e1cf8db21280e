/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See error.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include "base/error.h"

int error_set(struct error *why, int code, const char *format, ...)
{
	va_list args;

	if (!why)
		return code;
	va_start(args, format);
	vsnprintf(why->text, sizeof(why->text), format, args);
	va_end(args);
	return code;
}

int error_memory(struct error *why)
{
	return error_set(why, -ENOMEM, "out of memory");
}
