/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include "base/error.h"

int error_set(struct error *f, int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(f->text, sizeof(f->text), format, args);
	va_end(args);
	return code;
}

int error_memory(struct error *f)
{
	return error_set(f, -ENOMEM, "out of memory");
}
