/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Encodes the image of one module: reads its records, refuses what cannot be encoded, runs the
 * steps of pipeline.c, and checks the result.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "elf/encoding_table.h"
#include "encode/encode.h"
#include "encode/pipeline.h"
#include "encode/unpatch.h"

struct state {
	struct elf_module module;
	struct site_records records;
	uint8_t *undone; /* the image without its former encoding, if it is encoded again */
};

static int read_existing_table(const struct elf_module *m, struct encode_output *out, bool *found,
			       struct error *why)
{
	const struct elf_section *s = elf_module_section(m, PCCE_TABLE_SECTION, NULL);
	const uint8_t *data;
	struct error reason = {0};
	struct encoding_table t;
	int err;

	*found = s != NULL;
	if (!s)
		return 0;
	data = elf_module_contents(m, s);
	if (!data)
		return error_set(
			why, -EINVAL,
			"is cut off: its encoding table lies beyond its end; link it again");
	out->table = malloc(s->size + 1);
	if (!out->table)
		return error_memory(why);
	memcpy(out->table, data, s->size);
	out->table_size = s->size;
	err = encoding_table_open(out->table, s->size, &t, &reason);
	if (err)
		return error_set(why, err, "has an encoding table that %s; link the file again",
				 reason.text);
	encoding_table_close(&t);
	return 0;
}

/* Has the module code beside that of the runtime? Without a symbol table it may have some. */
static bool has_own_functions(const struct state *s)
{
	const struct elf_section *symbols = elf_module_section(&s->module, ".symtab", NULL);
	const uint8_t *data = symbols ? elf_module_contents(&s->module, symbols) : NULL;
	const struct pcce_helper_entries *runtime = &s->records.entries;

	for (uint64_t i = 0; data && i < symbols->size / sizeof(Elf64_Sym); i++) {
		Elf64_Sym sym;

		memcpy(&sym, data + i * sizeof(sym), sizeof(sym));
		if (ELF64_ST_TYPE(sym.st_info) == STT_FUNC && sym.st_shndx != SHN_UNDEF &&
		    sym.st_size &&
		    (sym.st_value < runtime->text || sym.st_value >= runtime->text_end))
			return true;
	}
	return !data;
}

static int check_completeness(const struct state *s, struct error *why)
{
	if (!s->records.has_entries)
		return error_set(why, -EINVAL,
				 "is instrumented, but was linked without the pcce runtime; add "
				 "`pcce-config --ldflags` to the link");
	if (!s->records.n_blocks)
		return error_set(why, -EINVAL,
				 "has the pcce runtime, but no site records; compile it with "
				 "`pcce-config --cflags`, give these flags to a link with -flto "
				 "too, and do not use --gc-sections with gold");
	return 0;
}

static int run_steps(const struct state *s, const struct encode_options *options,
		     struct encode_output *out, struct error *why)
{
	struct pipeline p = {.module = &s->module,
			     .records = &s->records,
			     .counts = options->counts,
			     .is_hybrid = options->hybrid,
			     .fixed_entries = options->fixed_entries,
			     .ext_fits = patch_ext_fits};
	int err = pipeline_run(&p, PIPELINE_IMAGE, why);

	if (!err) {
		*out = (struct encode_output){.image = p.image,
					      .size = p.size,
					      .table = p.table,
					      .table_size = p.table_size};
		p.image = NULL;
		p.table = NULL;
	}
	pipeline_free(&p);
	return err;
}

/* Checks the result as its readers will see it. */
static int check_result(const struct encode_output *e, struct error *why)
{
	const struct elf_section *s;
	const uint8_t *data;
	struct elf_module m;
	struct error reason = {0};
	struct encoding_table t;
	int err = elf_module_open(e->image, e->size, &m, why);

	if (err)
		return err;
	s = elf_module_section(&m, PCCE_TABLE_SECTION, NULL);
	data = s ? elf_module_contents(&m, s) : NULL;
	if (!data || s->size != e->table_size || memcmp(data, e->table, s->size))
		err = error_set(why, -EINVAL, "has damaged section headers");
	elf_module_close(&m);
	if (err)
		return err;
	err = encoding_table_open(e->table, e->table_size, &t, &reason);

	if (err)
		return error_set(why, err,
				 "would get an encoding table that %s; build the file again, and "
				 "report a defect if that does not help",
				 reason.text);
	encoding_table_close(&t);
	return 0;
}

static int encode_module(struct state *s, const struct encode_options *options,
			 struct encode_output *out, struct error *why)
{
	int err = site_records_read(&s->module, &s->records, why);

	if (err)
		return err;
	if (!s->records.n_blocks && (!s->records.has_entries || !has_own_functions(s))) {
		out->result = ENCODE_NOT_FOR_US;
		return 0;
	}
	err = check_completeness(s, why);
	if (!err)
		err = run_steps(s, options, out, why);
	if (!err)
		err = check_result(out, why);
	out->result = ENCODE_DONE;
	return err;
}

/* Opens the module as it was before it was encoded. */
static int open_unpatched(struct state *s, const uint8_t *image, size_t size, struct error *why)
{
	int err;

	elf_module_close(&s->module);
	s->undone = malloc(size + 1);
	if (!s->undone)
		return error_memory(why);
	memcpy(s->undone, image, size);
	err = unpatch(s->undone, size, why);
	return err ? err : elf_module_open(s->undone, size, &s->module, why);
}

int encode_image(const uint8_t *image, size_t size, const struct encode_options *options,
		 struct encode_output *out, struct error *why)
{
	static const struct encode_options none;
	struct state s = {};
	bool found = false;
	int err;

	options = options ? options : &none;
	memset(out, 0, sizeof(*out));
	err = elf_module_open(image, size, &s.module, why);
	if (!err)
		err = read_existing_table(&s.module, out, &found, why);
	if (!err && found && (options->counts || options->hybrid || options->fixed_entries)) {
		encode_output_free(out);
		found = false;
		err = open_unpatched(&s, image, size, why);
	}
	if (!err && found)
		out->result = ENCODE_ALREADY;
	else if (!err)
		err = encode_module(&s, options, out, why);
	site_records_free(&s.records);
	elf_module_close(&s.module);
	free(s.undone);
	if (err)
		encode_output_free(out);
	if (err == -ENOMEM)
		error_set(why, err, "needs more memory than is available");
	return err;
}

bool encode_hides_runtime(const struct encode_output *e)
{
	const struct pcce_table *head = e->table;

	return head && head->flags & PCCE_TABLE_HIDDEN;
}

void encode_output_free(struct encode_output *e)
{
	free(e->image);
	free(e->table);
	memset(e, 0, sizeof(*e));
}
