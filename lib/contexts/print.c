/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Prints frames of libpcce-decode. */
#include <inttypes.h>
#include "base/text.h"
#include "contexts/print.h"

static void print_one_frame(size_t i, const struct pcce_decode_frame *f, bool one_line, FILE *out)
{
	char buffer[4096];

	if (one_line)
		fputs(i ? " < " : "", out);
	else
		fprintf(out, "    #%-3zu ", i);
	fputs(text_clean(f->function, buffer, sizeof(buffer)), out);
	if (*f->file) {
		const char *file =
			text_clean(one_line ? text_base(f->file) : f->file, buffer, sizeof(buffer));

		fprintf(out, one_line ? " (%s:%" PRIu32 ")" : " at %s:%" PRIu32, file, f->line);
	}
	if (f->inlined && !one_line)
		fputs(" (inlined)", out);
	if (f->kind == PCCE_DECODE_TAIL && !one_line)
		fputs(" (left by a tail call)", out);
	if (f->repeat)
		fprintf(out, " x %" PRIu32, f->repeat + 1);
	if (f->repeat && f->span > 1)
		fprintf(out, " with the %" PRIu32 " above", f->span - 1);
	if (!one_line)
		fputc('\n', out);
}

void context_print(const struct pcce_decode_context *c, bool one_line, FILE *out)
{
	struct pcce_decode_frame f;

	for (size_t i = 0; !pcce_decode_context_frame(c, i, &f, sizeof(f)); i++)
		print_one_frame(i, &f, one_line, out);
}
