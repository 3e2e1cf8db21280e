/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * aggregate FROM TO: rewrites a recording as pcce-record --aggregate writes it, which needs the
 * kernel module. SUM records replace the SAMPLE records, and the recorder's own code writes the
 * modules and the symbols. The files of the modules must be where they were.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "stream/modules.h"
#include "record/write_symbols.h"
#include "stream/reader.h"
#include "stream/writer.h"
#include <pcce/sample.h>

static void complain(const char *text)
{
	fprintf(stderr, "%s\n", text);
}

static int put_sum(struct datafile_writer *w, const struct pcce_sample *s)
{
	struct pcce_rec_sum rec = {.samples = 1, .weight = s->weight ? s->weight : 1, .sample = *s};
	struct iovec rest = {(void *)(s + 1), pcce_sample_size(s) - sizeof(*s)};

	rec.sample.weight = 0;
	rec.sample.sp = 0;
	return datafile_put(w, PCCE_REC_SUM, &rec, sizeof(rec), &rest, 1);
}

static int put_record(struct datafile_writer *w, struct record_modules *modules,
		      const struct pcce_record *rec)
{
	const struct record_module *module;
	struct iovec rest = {(void *)(rec + 1), rec->size - sizeof(*rec)};
	struct pcce_record head = *rec;
	uint64_t vaddr;

	switch (rec->type) {
	case PCCE_REC_MODULE: /* is written with its table; numbers stay the same */
		return record_modules_map(modules, 0, 0, 0, 0, datafile_string(rec, 0), &module,
					  &vaddr);
	case PCCE_REC_TABLE:
	case PCCE_REC_SYMBOL:
	case PCCE_REC_END:
		return 0;
	case PCCE_REC_SAMPLE:
		return put_sum(w, &((const struct pcce_rec_sample *)rec)->sample);
	default:
		return datafile_put(w, rec->type, &head, sizeof(head), &rest, 1);
	}
}

int main(int argc, char **argv)
{
	struct pcce_rec_end end = {.exit_status = 0};
	const struct pcce_record *rec;
	struct record_modules *modules;
	struct datafile_reader *reader;
	struct datafile_writer *w;
	struct error why = {0};
	int r, fd;

	if (argc != 3 || datafile_open(argv[1], &reader, &why)) {
		complain(argc == 3 ? why.text : "usage: aggregate FROM TO");
		return 2;
	}
	fd = open(argv[2], O_CREAT | O_TRUNC | O_RDWR, 0644);
	if (fd < 0 || datafile_writer_new(fd, argv[2], &w))
		return 2;
	modules = record_modules_new(w, complain);
	while ((r = datafile_next(reader, &rec)) > 0 && !(r = put_record(w, modules, rec)))
		;
	r = r ? r : datafile_flush(w);
	r = r ? r : write_symbols(argv[2], w, modules, complain, complain, &why);
	r = r ? r : datafile_put(w, PCCE_REC_END, &end, sizeof(end), NULL, 0);
	if (r)
		complain(why.text);
	record_modules_free(modules);
	datafile_close(reader);
	return datafile_writer_close(w) || r;
}
