// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * counted RECORDING PROGRAM
 *
 * Prints the counts of a recording of `pcce-record --count PROGRAM` in the form in which
 * `step --counts` writes the true ones.  Contexts that do not decode become "[REASON]".
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pcce/decode.h>
#include "tests/oracle/counts.h"

static char *text;
static size_t used, capacity;

static void append(const char *words)
{
	size_t n = strlen(words);

	if (used + n + 1 > capacity) {
		capacity = 2 * (used + n + 1);
		text = realloc(text, capacity);
		if (!text)
			exit(2);
	}
	memcpy(text + used, words, n + 1);
	used += n;
}

static void append_frame(const struct file *program, const struct pcce_decode_frame *f,
			 bool innermost)
{
	char frame[256];
	uint32_t func, site;

	if (f->kind == PCCE_DECODE_SIGNAL) {
		append("[signal];");
	} else if (f->kind == PCCE_DECODE_CALL && strcmp(f->module, program->path)) {
		append("[library];");
	} else if (f->kind == PCCE_DECODE_CALL) {
		func = encoding_table_func_at(&program->table, f->vaddr);
		site = innermost ? PCCE_NONE
				 : encoding_table_site_around(&program->table, f->vaddr);
		counts_frame(frame, sizeof(frame), program, func, site);
		append(frame);
	}
}

static void print_context(const struct file *program, const struct pcce_decode_sample *sample)
{
	const struct pcce_decode_context *c = pcce_decode_sample_context(sample);
	struct pcce_decode_frame f, inner = {0};
	size_t n = pcce_decode_context_frames(c);

	used = 0;
	append("");
	if (pcce_decode_context_status(c) != PCCE_DECODE_EXACT) {
		append("[");
		append(pcce_decode_reason_name(pcce_decode_context_reason(c)));
		append("]");
		n = 0;
	}
	for (size_t i = n; i-- > 0;) {
		pcce_decode_context_frame(c, i, &f, sizeof(f));
		if (i)
			pcce_decode_context_frame(c, i - 1, &inner, sizeof(inner));
		append_frame(program, &f, !i || inner.kind == PCCE_DECODE_SIGNAL);
	}
	printf("%" PRIu64 " %s\n", pcce_decode_sample_weight(sample), text);
}

int main(int argc, char **argv)
{
	struct pcce_decode_recording *recording;
	const struct pcce_decode_sample *sample;
	struct pcce_decode_error why = {0};
	const struct file *program;
	char *path = argc == 3 ? realpath(argv[2], NULL) : NULL;
	int more;

	if (!path) {
		fprintf(stderr, "usage: counted RECORDING PROGRAM\n");
		return 2;
	}
	program = space_open(path);
	if (!program->instrumented ||
	    pcce_decode_recording_open(argv[1], PCCE_DECODE_RAW_NAMES | PCCE_DECODE_EXPANDED,
				       &recording, &why)) {
		fprintf(stderr, "counted: %s\n", why.text);
		return 2;
	}
	while ((more = pcce_decode_recording_next(recording, &sample, &why)) > 0)
		print_context(program, sample);
	printf("%" PRIu64 " [lost]\n", pcce_decode_recording_lost(recording));
	pcce_decode_recording_close(recording);
	free(path);
	return more ? 2 : 0;
}
