/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * replay_hot PHI,EPSILON FROM TO: rewrites a recording as pcce-record --hot writes it. The
 * recorder's own code counts the same samples, so that its summary can be compared with exact
 * counts. The files of the modules must be where they were.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "filter/hot.h"
#include "record/write_symbols.h"
#include "stream/reader.h"
#include "stream/writer.h"
#include <pcce/sample.h>

struct replay {
	struct datafile_writer *w;
	struct record_modules *modules;
	struct hot_recorder *hot;
	uint64_t last;
};

static void complain(const char *text)
{
	fprintf(stderr, "%s\n", text);
}

static int replay_record(struct replay *r, const struct pcce_record *rec)
{
	const struct pcce_sample *s = &((const struct pcce_rec_sample *)rec)->sample;
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
	case PCCE_REC_END:
		return 0;
	case PCCE_REC_SAMPLE:
		r->last = s->time;
		return hot_recorder_sample(r->hot, s);
	case PCCE_REC_PROCESS:
		err = hot_recorder_process(r->hot, (const void *)rec);
		break;
	case PCCE_REC_MAP:
		err = hot_recorder_map(r->hot, (const void *)rec);
		break;
	}
	return err ? err : datafile_put(r->w, rec->type, &head, sizeof(head), &rest, 1);
}

int main(int argc, char **argv)
{
	struct pcce_rec_end end = {.exit_status = 0};
	const struct pcce_record *rec;
	struct datafile_reader *reader;
	struct hot_parameters p = {0};
	struct error why = {0};
	struct replay all = {0};
	int r, fd;

	if (argc < 4 || argc > 5 || hot_parameters_parse(argv[1], &p, &why) ||
	    datafile_open(argv[2], &reader, &why)) {
		complain(*why.text ? why.text
				   : "usage: replay_hot PHI,EPSILON FROM TO [per-thread]");
		return 2;
	}
	p.per_thread = argc == 5;
	fd = open(argv[3], O_CREAT | O_TRUNC | O_RDWR, 0644);
	if (fd < 0 || datafile_writer_new(fd, argv[3], &all.w))
		return 2;
	all.modules = record_modules_new(all.w, complain);
	all.hot = hot_recorder_new(all.modules, &p, false);
	while ((r = datafile_next(reader, &rec)) > 0 && !(r = replay_record(&all, rec)))
		;
	r = r ? r : hot_recorder_write(all.hot, all.w, all.last);
	r = r ? r : datafile_flush(all.w);
	r = r ? r : write_symbols(argv[3], all.w, all.modules, complain, complain, &why);
	r = r ? r : datafile_put(all.w, PCCE_REC_END, &end, sizeof(end), NULL, 0);
	if (r)
		complain(*why.text ? why.text : strerror(-r));
	hot_recorder_free(all.hot);
	record_modules_free(all.modules);
	datafile_close(reader);
	return datafile_writer_close(all.w) || r;
}
