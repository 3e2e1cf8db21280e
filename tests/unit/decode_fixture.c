/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pcce/sites.h>
#include "tests/unit/decode_fixture.h"
#include "tests/unit/table_builder.h"

static const struct decode_module *find(const struct decode_space *as, uint64_t address)
{
	const struct fixture *f = (const struct fixture *)as;

	for (size_t i = 0; i < 3; i++)
		if (address >= f->maps[i].start && address < f->maps[i].end)
			return &f->maps[i];
	return NULL;
}

static const struct decode_module *main_module(const struct decode_space *as)
{
	return &((const struct fixture *)as)->maps[0];
}

static const struct decode_module *mapping(const struct decode_space *as, size_t number)
{
	return number < 3 ? &((const struct fixture *)as)->maps[number] : NULL;
}

static void add_helpers(struct table_builder *b)
{
	tb_helper(b, PUSH_BEFORE, 16, PCCE_HELPER_NOTHING);
	tb_helper(b, PUSH_CLAIMED, 16, PCCE_HELPER_CLAIMED);
	tb_helper(b, PUSH_DONE, 16, PCCE_HELPER_PUSHED);
	tb_helper(b, POP_BEFORE, 16, PCCE_HELPER_PUSHED);
	tb_helper(b, POP_DONE, 16, PCCE_HELPER_NOTHING);
	tb_helper(b, RESTORING, 16, PCCE_HELPER_RESTORING);
	tb_helper(b, JUMPING, 16, PCCE_HELPER_JUMPING);
	tb_helper(b, LANDING, 16, PCCE_HELPER_LANDING);
	tb_helper(b, LANDED, 16, PCCE_HELPER_LANDED);
}

static void open_or_die(const void *data, size_t size, struct encoding_table *t)
{
	struct error why = {0};

	if (encoding_table_open(data, size, t, &why)) {
		fprintf(stderr, "the fixture's table %s\n", why.text);
		exit(1);
	}
}

static void *build_exe(size_t *size)
{
	static const struct {
		const char *name;
		uint32_t flags;
	} funcs[] = {
		[F_MAIN] = {"main", PCCE_FUNC_ROOT},
		[F_A] = {"a", 0},
		[F_B] = {"b", 0},
		[F_C] = {"c", 0},
		[F_REC] = {"rec", PCCE_FUNC_ROOT},
		[F_WORK] = {"work", PCCE_FUNC_ROOT},
		[F_T1] = {"t1", PCCE_FUNC_ROOT},
		[F_T2] = {"t2", PCCE_FUNC_ROOT},
		[F_CB] = {"cb", PCCE_FUNC_ROOT},
		[F_OUT] = {"out", PCCE_FUNC_ROOT | PCCE_FUNC_TAIL_OUT},
		[F_LEAF] = {"leaf", 0},
		[F_G1] = {"g1", PCCE_FUNC_ROOT},
		[F_G2] = {"g2", 0},
		[F_G3] = {"g3", 0},
		[F_G4] = {"g4", PCCE_FUNC_ROOT},
		[F_BARE] = {"bare", 0},
	};
	static struct table_builder b;

	tb_init(&b);
	for (uint32_t i = 0; i <= F_LEAF; i++)
		tb_func(&b, 0x1000 * (i + 1), 0x800, funcs[i].name, funcs[i].flags);
	for (uint32_t i = F_G1; i <= F_BARE; i++)
		tb_func(&b, 0xb800 + 0x800 * (i - F_G1), 0x800, funcs[i].name, funcs[i].flags);
	tb_site(&b, 0x1010, F_MAIN, PCCE_KIND_NONE, F_A);
	tb_site(&b, 0x1040, F_MAIN, PCCE_KIND_NONE, F_B);
	tb_site(&b, 0x1080, F_MAIN, PCCE_KIND_PUSH, PCCE_NONE);
	tb_site(&b, 0x2010, F_A, PCCE_KIND_NONE, F_C);
	tb_site(&b, 0x3010, F_B, PCCE_KIND_ADD, F_C);
	tb_site(&b, 0x4010, F_C, PCCE_KIND_EXT, PCCE_NONE);
	tb_site(&b, 0x4050, F_C, PCCE_KIND_PUSH, F_REC);
	tb_site(&b, 0x4090, F_C, PCCE_KIND_PUSH, PCCE_NONE);
	tb_site(&b, 0x40d0, F_C, PCCE_KIND_NONE, F_T1);
	tb_site(&b, 0x4110, F_C, PCCE_KIND_PUSH, F_OUT);
	tb_site(&b, 0x4150, F_C, PCCE_KIND_PUSH, PCCE_NONE);
	tb_site(&b, 0x4190, F_C, PCCE_KIND_ADD, F_LEAF);
	tb_site(&b, 0x41c0, F_C, PCCE_KIND_RESTORE, PCCE_NONE);
	tb_site(&b, 0x4200, F_C, PCCE_KIND_EXT, PCCE_NONE);
	tb_site(&b, 0x4240, F_C, PCCE_KIND_EXT, F_BARE);
	tb_site(&b, 0x5010, F_REC, PCCE_KIND_PUSH, F_REC);
	/* From the end of that slot: what a pop names in r11. */
	tb_site(&b, 0x502f, F_REC, PCCE_KIND_RESTORE, PCCE_NONE);
	tb_indirect(&b, 0x5050, F_REC);
	tb_site(&b, 0x50f0, F_REC, PCCE_KIND_RESTORE, PCCE_NONE);
	tb_site(&b, 0x6010, F_WORK, PCCE_KIND_ADD, F_C);
	tb_site(&b, 0x7010, F_T1, PCCE_KIND_TAIL, F_T2);
	tb_site(&b, 0xa010, F_CB, PCCE_KIND_PUSH, F_REC);
	tb_site(&b, 0xa050, F_CB, PCCE_KIND_PUSH, F_T1);
	tb_site(&b, 0xa090, F_CB, PCCE_KIND_PUSH, F_G1);
	tb_site(&b, 0xa0d0, F_CB, PCCE_KIND_PUSH, PCCE_NONE);
	tb_site(&b, 0xb010, F_LEAF, PCCE_KIND_PUSH, PCCE_NONE);
	b.sites[S_MAIN_QSORT].callee_name = b.sites[S_C_QSORT].callee_name = tb_string(&b, "qsort");
	b.sites[S_C_SETJMP].flags = PCCE_SITE_RETURNS_TWICE;
	b.sites[S_C_LIB].callee_name = tb_string(&b, "lib_entry");
	b.sites[S_CB_NAMED].callee_name = tb_string(&b, "g1");
	b.sites[S_LEAF_THROW].callee_name = tb_string(&b, "__cxa_throw");
	b.sites[S_LEAF_THROW].flags = PCCE_SITE_THROWS;
	b.sites[S_C_EXT].callee_name = tb_string(&b, "strlen");
	/* The other restore sites are reached from several landing pads. */
	b.sites[S_REC_REC].flags = b.sites[S_C_QSORT].flags = PCCE_SITE_HAS_PAD | PCCE_SITE_LANDS;
	b.sites[S_C_LIB].flags = PCCE_SITE_HAS_PAD;
	tb_landing(&b, S_REC_REC, S_REC_PAD);
	tb_landing(&b, S_REC_PAD, S_REC_PAD);
	tb_edge(&b, F_A, S_MAIN_A, 0, 0);
	tb_edge(&b, F_B, S_MAIN_B, 0, 0);
	tb_edge(&b, F_C, S_A_C, 0, 0);
	tb_edge(&b, F_C, S_B_C, 1, 0);
	tb_edge(&b, F_C, S_WORK_C, 2, 0);
	tb_edge(&b, F_LEAF, S_C_LEAF, 1ULL << 32, 0);
	tb_edge(&b, F_T1, S_C_T1, 1, 0);
	tb_edge(&b, F_T2, S_C_T1, 1, 1);
	tb_tail(&b, F_T1, F_T2);
	tb_tail(&b, F_G1, F_G2);
	tb_tail(&b, F_G1, F_G3);
	tb_tail(&b, F_G2, F_G4);
	tb_tail(&b, F_G3, F_G4);
	add_helpers(&b);
	return tb_build(&b, PCCE_TABLE_EXEC, size);
}

static void *build_lib(size_t *size)
{
	static struct table_builder b;

	tb_init(&b);
	tb_func(&b, 0x1000, 0x800, "lib_entry", PCCE_FUNC_ROOT);
	tb_func(&b, 0x2000, 0x800, "lib_tail", PCCE_FUNC_ROOT);
	tb_func(&b, 0x3000, 0x800, "lib_inner", 0);
	tb_site(&b, 0x2010, L_TAIL, PCCE_KIND_ADD, L_INNER);
	tb_indirect(&b, 0x3010, L_INNER);
	tb_site(&b, 0x3110, L_INNER, PCCE_KIND_EXT, PCCE_NONE);
	tb_edge(&b, L_INNER, LS_TAIL_INNER, 7, 0);
	tb_tail(&b, L_ENTRY, L_TAIL);
	add_helpers(&b);
	return tb_build(&b, 0, size);
}

void fixture_init(struct fixture *f)
{
	size_t size;

	memset(f, 0, sizeof(*f));
	f->as.find = find;
	f->as.main_module = main_module;
	f->as.mapping = mapping;
	f->exe_data = build_exe(&size);
	open_or_die(f->exe_data, size, &f->exe);
	f->lib_data = build_lib(&size);
	open_or_die(f->lib_data, size, &f->lib);
	f->maps[0] = (struct decode_module){
		EXE_BASE + 0x1000, EXE_BASE + MODULE_BYTES, 0x1000, 0, true, &f->exe};
	f->maps[1] =
		(struct decode_module){LIB_BASE, LIB_BASE + MODULE_BYTES, 0, 1, false, &f->lib};
	f->maps[2] = (struct decode_module){LIBC_BASE, LIBC_BASE + MODULE_BYTES, 0, 2, false, NULL};
}

void fixture_free(struct fixture *f)
{
	encoding_table_close(&f->exe);
	encoding_table_close(&f->lib);
	free(f->exe_data);
	free(f->lib_data);
}

/* ---- contexts as text ------------------------------------------------------------ */

struct fixture fx;
char text[1 << 20];

size_t append(char *to, size_t size, size_t at, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(to + at, size - at, format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= size - at)
		abort();
	return (size_t)n;
}

const struct encoding_table *table_of(uint32_t module)
{
	return module == 0 ? &fx.exe : module == 1 ? &fx.lib : NULL;
}

const char *render(const struct decode_context *ctx)
{
	static const char *const modules[] = {"exe", "lib", "libc"};
	size_t at = 0;

	text[0] = 0;
	for (size_t i = 0; i < ctx->n && at < sizeof(text) - 128; i++) {
		const struct decode_frame *f = &ctx->frames[i];
		const struct encoding_table *t = table_of(f->module);

		if (i)
			text[at++] = ' ';
		switch (f->kind) {
		case DECODE_FRAME_CALL:
		case DECODE_FRAME_TAIL:
			at += append(text, sizeof(text), at, "%s%s",
				     encoding_table_string(t, t->funcs[f->func].name),
				     f->kind == DECODE_FRAME_TAIL ? "~" : "");
			break;
		case DECODE_FRAME_FOREIGN:
			at += append(text, sizeof(text), at, "[%s]",
				     f->module < 3 ? modules[f->module] : "");
			break;
		case DECODE_FRAME_GAP:
			at += append(text, sizeof(text), at, "?");
			break;
		case DECODE_FRAME_SIGNAL:
			at += append(text, sizeof(text), at, "!");
			break;
		case DECODE_FRAME_ORIGIN:
			at += append(text, sizeof(text), at, "@");
			break;
		}
		if (f->repeat)
			at += append(text, sizeof(text), at, "*%u/%u", f->repeat + 1, f->span);
	}
	return text;
}

/* ---- samples --------------------------------------------------------------------- */

struct pcce_sample sample;
struct pcce_entry entries[FIXTURE_ENTRIES];

void begin(uint64_t ip, uint64_t id)
{
	sample = (struct pcce_sample){.ip = ip, .id = id, .weight = 1};
}

const struct pcce_table_site *exe_site(uint32_t site)
{
	return &fx.exe.sites[site];
}

void push(uint64_t id, uint64_t address, uint64_t count)
{
	entries[sample.n_entries++] = (struct pcce_entry){id, address | count << PCCE_SITE_BITS};
}

void push_exe(uint64_t id, uint32_t site, uint64_t count)
{
	push(id, exe(exe_site(site)->key), count);
}
