/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include "base/error.h"

int fail_set(struct fail *f, int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(f->text, sizeof(f->text), format, args);
	va_end(args);
	return code;
}

int fail_memory(struct fail *f)
{
	return fail_set(f, -ENOMEM, "out of memory");
}
