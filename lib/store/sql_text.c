/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See sql_text.h. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "store/sql_text.h"

void sql_format(struct bytes *sql, const char *format, ...)
{
	char *text;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0) {
		sql->failed = true;
		return;
	}
	bytes_put(sql, text, (size_t)n);
	free(text);
}

void sql_keys(struct bytes *sql, const void *keys, size_t n, size_t stride)
{
	const char *at = keys;

	for (size_t i = 0; i < n; i++, at += stride) {
		sql_format(sql, "%stoFixedString(unhex('", i ? ", " : "(");
		for (size_t j = 0; j < STORE_KEY_SIZE; j++)
			sql_format(sql, "%02x", ((const struct store_key *)at)->bytes[j]);
		sql_format(sql, "'), %d)", STORE_KEY_SIZE);
	}
	sql_format(sql, ")");
}

int sql_ask(struct engine *e, struct bytes *sql, struct bytes *reply, struct cursor *rows,
	    struct error *why)
{
	int r;

	sql_format(sql, " FORMAT RowBinary");
	bytes_put_u8(sql, 0);
	r = sql->failed ? error_memory(why) : engine_ask(e, (const char *)sql->data, reply, why);
	bytes_free(sql);
	*rows = (struct cursor){.at = reply->data, .end = reply->data + reply->n};
	return r;
}
