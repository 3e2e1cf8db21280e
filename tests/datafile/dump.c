/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dump [--page] FILE
 *
 * Reads a recording to its end and prints its contents as `name: value` lines.  If the recording is
 * damaged, prints the reader's sentence to stderr and exits with status 1.
 *
 * --page also checks that every sample with a page holds what page_program.c writes into its page,
 * and prints how many do not.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "stream/reader.h"
#include <pcce/sample.h>

struct totals {
	uint64_t records[32], outside, kernel, truncated, fault, wrong, close, lost, unexplained,
		late, backwards, last_time, deepest, inside, segments;
	int exit_status;
	uint64_t period, last_of[65536]; /* by thread */
};

/* page_program.c: ids count up from 100, id is 4242, ext is 7. */
static bool wrong_page(const struct pcce_rec_sample *rec)
{
	const struct pcce_sample *s = &rec->sample;
	const struct pcce_entry *e = pcce_sample_entries(s);
	const struct pcce_segment *below = pcce_sample_segments(s);
	uint64_t want = 100;
	uint32_t i, j;

	if (s->id != 4242 || s->ext != 7)
		return true;
	/* Each segment comes once, and in order. */
	for (i = 0; i < s->n_segments; i++)
		for (j = 0; j < PCCE_SEGMENT_ENTRIES; j++)
			if (below[i].entry[j].id !=
				    100 + below[i].index * PCCE_SEGMENT_ENTRIES + j ||
			    below[i].base.id + !!below[i].index !=
				    below[i].generation - !below[i].index)
				return true;
	want += s->n_below * PCCE_SEGMENT_ENTRIES;
	for (i = 0; i < s->n_entries; i++)
		if (e[i].id != want + i)
			return true;
	return s->n_below && s->below != s->n_below;
}

static void take_sample(struct totals *t, const struct pcce_rec_sample *rec)
{
	uint32_t flags = rec->sample.flags;
	uint64_t *last, total;

	t->kernel += !!(flags & PCCE_SAMPLE_KERNEL);
	t->truncated += !!(flags & PCCE_SAMPLE_TRUNCATED);
	t->fault += !!(flags & PCCE_SAMPLE_READ_FAULT);
	if (rec->sample.time < t->last_time)
		t->backwards++;
	t->last_time = rec->sample.time;
	/* A thread that is sampled by two events has samples that follow each other closely. */
	last = &t->last_of[rec->sample.tid % 65536];
	t->close += *last && rec->sample.time - *last < t->period / 2;
	*last = rec->sample.time;
	if (flags & PCCE_SAMPLE_OUTSIDE) {
		t->outside++;
		return;
	}
	t->inside++;
	t->wrong += wrong_page(rec);
	total = (uint64_t)rec->sample.n_below * PCCE_SEGMENT_ENTRIES + rec->sample.n_entries;
	if (total > t->deepest)
		t->deepest = total;
	t->segments += rec->sample.n_segments;
}

/* The test does not demand that timers are on time. */
static void take_lost(struct totals *t, const struct pcce_rec_lost *rec)
{
	if (rec->reason == PCCE_LOSS_UNEXPLAINED)
		t->unexplained += rec->count;
	else if (rec->reason == PCCE_LOSS_LATE)
		t->late += rec->count;
	else
		t->lost += rec->count;
}

static void take(struct totals *t, const struct pcce_record *rec, bool list)
{
	t->records[rec->type]++;
	switch (rec->type) {
	case PCCE_REC_INFO:
		if (((const struct pcce_rec_info *)rec)->frequency)
			t->period = 1000000000 / ((const struct pcce_rec_info *)rec)->frequency;
		break;
	case PCCE_REC_SAMPLE:
		take_sample(t, (const struct pcce_rec_sample *)rec);
		break;
	case PCCE_REC_LOST:
		take_lost(t, (const struct pcce_rec_lost *)rec);
		break;
	case PCCE_REC_END:
		t->exit_status = ((const struct pcce_rec_end *)rec)->exit_status;
		break;
	case PCCE_REC_MODULE:
		if (list)
			printf("module: %s\n", datafile_string(rec, 0));
		break;
	case PCCE_REC_PROCESS:
		if (list)
			printf("process: %s\n", datafile_string(rec, 0));
		break;
	case PCCE_REC_SYMBOL:
		if (list)
			printf("symbol: %s %s:%" PRIu32 "\n", datafile_string(rec, 0),
			       datafile_string(rec, 1),
			       ((const struct pcce_rec_symbol *)rec)->line);
		break;
	}
}

int main(int argc, char **argv)
{
	bool page = argc > 2 && !strcmp(argv[1], "--page"),
	     list = argc > 2 && !strcmp(argv[1], "--list");
	const struct pcce_record *rec;
	static struct totals t = {.exit_status = -1};
	struct datafile_reader *r;
	struct error why;
	int got;

	if (argc < 2) {
		fputs("usage: dump [--page|--list] FILE\n", stderr);
		return 2;
	}
	if (datafile_open(argv[argc - 1], &r, &why)) {
		fprintf(stderr, "%s\n", why.text);
		return 1;
	}
	while ((got = datafile_next(r, &rec)) > 0)
		take(&t, rec, list);
	if (got < 0) {
		fprintf(stderr, "%s\n", datafile_error(r));
		datafile_close(r);
		return 1;
	}
	printf("samples: %" PRIu64 "\noutside: %" PRIu64 "\ninside: %" PRIu64 "\nkernel: %" PRIu64
	       "\ntruncated: %" PRIu64 "\nfault: %" PRIu64 "\nlost: %" PRIu64
	       "\nunexplained: %" PRIu64 "\nlate: %" PRIu64 "\nbackwards: %" PRIu64
	       "\ndeepest: %" PRIu64 "\nclose: %" PRIu64 "\nsegments: %" PRIu64 "\n",
	       t.records[PCCE_REC_SAMPLE], t.outside, t.inside, t.kernel, t.truncated, t.fault,
	       t.lost, t.unexplained, t.late, t.backwards, t.deepest, t.close, t.segments);
	printf("processes: %" PRIu64 "\nthreads: %" PRIu64 "\nmodules: %" PRIu64
	       "\ntables: %" PRIu64 "\nmaps: %" PRIu64 "\nsymbols: %" PRIu64 "\n",
	       t.records[PCCE_REC_PROCESS], t.records[PCCE_REC_THREAD], t.records[PCCE_REC_MODULE],
	       t.records[PCCE_REC_TABLE], t.records[PCCE_REC_MAP], t.records[PCCE_REC_SYMBOL]);
	printf("exit: %d\ncomplete: %d\ndropped: %" PRIu64 "\nunknown: %" PRIu64 "\n",
	       t.exit_status, datafile_complete(r), datafile_dropped(r), datafile_unknown(r));
	if (page)
		printf("wrong: %" PRIu64 "\n", t.wrong);
	datafile_close(r);
	return 0;
}
