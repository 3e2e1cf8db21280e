/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * replay_only EXPRESSION FROM TO: rewrites a recording as pcce-record --only writes it. The
 * recorder's own code judges the same samples, so that what it keeps can be compared with all of
 * them. The files of the modules must be where they were.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "filter/only.h"
#include "record/write_symbols.h"
#include "stream/reader.h"
#include "stream/writer.h"
#include <pcce/sample.h>

struct replay {
	struct datafile_writer *w;
	struct record_modules *modules;
	struct only *only;
	uint64_t last;
};

static void complain(const char *text)
{
	fprintf(stderr, "%s\n", text);
}

/* As an aggregated sample, since it can have any number of segments. */
static int replay_sample(struct replay *r, const struct pcce_sample *s)
{
	struct pcce_rec_sum sum = {.samples = 1, .weight = s->weight ? s->weight : 1};
	const struct pcce_sample *kept;
	struct iovec rest;
	int err = only_sample(r->only, s, &kept);

	r->last = s->time;
	if (err || !kept)
		return err;
	sum.sample = *kept;
	sum.sample.weight = 0;
	rest = (struct iovec){(void *)(kept + 1), pcce_sample_size(kept) - sizeof(*kept)};
	return datafile_put(r->w, PCCE_REC_SUM, &sum, sizeof(sum), &rest, 1);
}

static int replay_record(struct replay *r, const struct pcce_record *rec)
{
	struct iovec rest = {(void *)(rec + 1), rec->size - sizeof(*rec)};
	const struct record_module *module;
	struct pcce_record head = *rec;
	uint64_t vaddr;
	int err = 0;

	switch (rec->type) {
	case PCCE_REC_MODULE: /* is written with its table; numbers stay the same */
		return record_modules_map(r->modules, 0, 0, 0, 0, datafile_string(rec, 0), &module,
					  &vaddr);
	case PCCE_REC_TABLE:
	case PCCE_REC_SYMBOL:
	case PCCE_REC_DUE:
	case PCCE_REC_END:
		return 0;
	case PCCE_REC_SAMPLE:
		return replay_sample(r, &((const struct pcce_rec_sample *)rec)->sample);
	case PCCE_REC_PROCESS:
		err = only_process(r->only, (const void *)rec);
		break;
	case PCCE_REC_MAP:
		err = only_map(r->only, (const void *)rec);
		break;
	}
	return err ? err : datafile_put(r->w, rec->type, &head, sizeof(head), &rest, 1);
}

int main(int argc, char **argv)
{
	struct pcce_rec_end end = {.exit_status = 0};
	const struct pcce_record *rec;
	struct datafile_reader *reader;
	struct error why = {0};
	struct replay all = {0};
	struct expression e;
	int r, fd;

	if (argc != 4 || expression_parse(argv[1], &e, &why) ||
	    datafile_open(argv[2], &reader, &why)) {
		complain(argc == 4 ? why.text : "usage: replay_only EXPRESSION FROM TO");
		return 2;
	}
	fd = open(argv[3], O_CREAT | O_TRUNC | O_RDWR, 0644);
	if (fd < 0 || datafile_writer_new(fd, argv[3], &all.w))
		return 2;
	all.modules = record_modules_new(all.w, complain);
	all.only = only_new(all.modules, &e, argv[1]);
	while ((r = datafile_next(reader, &rec)) > 0 && !(r = replay_record(&all, rec)))
		;
	r = r ? r : only_write(all.only, all.w, all.last);
	r = r ? r : datafile_flush(all.w);
	r = r ? r : write_symbols(argv[3], all.w, all.modules, complain, complain, &why);
	r = r ? r : datafile_put(all.w, PCCE_REC_END, &end, sizeof(end), NULL, 0);
	if (r)
		complain(*why.text ? why.text : strerror(-r));
	only_free(all.only);
	record_modules_free(all.modules);
	expression_free(&e);
	datafile_close(reader);
	return datafile_writer_close(all.w) || r;
}
