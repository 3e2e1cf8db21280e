/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * generate_huge FILE SAMPLES CONTEXTS [SEED]
 *
 * Makes a recording of the size that the tools must still handle, without running anything.
 *
 * The program is a layered call graph.  Each of the WIDE functions of a layer calls three of the
 * next layer.  Those of the last layer call the root again through a pointer.  A context is a few
 * runs through the layers, so contexts share their outer frames as those of real programs do.
 * Every context is sampled at four instructions, by four threads.  With another SEED the same
 * contexts have other weights.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pcce/sites.h>
#include "tests/unit/table_builder.h"
#include "stream/writer.h"

#define BASE 0x555555554000ULL
#define PID 100
#define WIDE 6
#define LAYERS 7
#define RUNS 3	    /* through the layers */
#define IN_LAST 729 /* contexts of a function of the last layer: 3 to the power of LAYERS - 1 */

static struct table_builder b;
static struct datafile_writer *w;
static uint32_t push_site[WIDE];

static void check(int r)
{
	if (!r)
		return;
	fprintf(stderr, "generate_huge: %s\n", strerror(-r));
	exit(1);
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 31) * 0x9e3779b97f4a7c15ULL;
	x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9ULL;
	return x ^ x >> 32;
}

static uint64_t address_of(uint32_t layer, uint32_t i)
{
	return 0x1000 * (uint64_t)(1 + layer * WIDE + i);
}

/* Function 0 is the root; the layers follow in order. */
static void build_program(void)
{
	char name[32];

	tb_init(&b);
	tb_func(&b, address_of(0, 0), 0x800, "root", PCCE_FUNC_ROOT);
	for (uint32_t l = 1; l <= LAYERS; l++) {
		for (uint32_t i = 0; i < WIDE; i++) {
			snprintf(name, sizeof(name), "layer%u_%u", l, i);
			tb_func(&b, address_of(l, i), 0x800, name, 0);
		}
	}
	for (uint32_t i = 0; i < WIDE; i++)
		tb_edge(&b, 1 + i,
			tb_site(&b, address_of(0, 0) + 0x10 + i * 0x40, 0, PCCE_KIND_NONE, 1 + i),
			0, 0);
	for (uint32_t l = 1; l < LAYERS; l++) {
		uint64_t contexts = 1;

		for (uint32_t k = 1; k < l; k++)
			contexts *= 3;
		for (uint32_t i = 0; i < WIDE; i++) {
			for (uint32_t k = 0; k < 3; k++) {
				uint32_t to = 1 + l * WIDE + (i + k) % WIDE;
				uint32_t site = tb_site(&b, address_of(l, i) + 0x10 + k * 0x40,
							1 + (l - 1) * WIDE + i, PCCE_KIND_NONE, to);

				tb_edge(&b, to, site, k * contexts, 0);
			}
		}
	}
	for (uint32_t i = 0; i < WIDE; i++)
		push_site[i] =
			tb_indirect(&b, address_of(LAYERS, i) + 0x100, 1 + (LAYERS - 1) * WIDE + i);
}

static void put_strings(uint32_t type, const void *fixed, size_t size, const char *const *strings,
			int n)
{
	check(datafile_put_strings(w, type, fixed, size, strings, n));
}

static void put_start(void)
{
	struct pcce_rec_info info = {
		.start_time = 1000, .wall_time = 1700000000000000000, .frequency = 10000};
	struct pcce_rec_process process = {.time = 1000, .pid = PID};
	struct pcce_rec_module module = {.module = 0, .build_id_size = 20};
	struct pcce_rec_map map = {.time = 1000, .start = BASE, .length = 0x100000, .pid = PID};
	struct pcce_rec_table table = {.module = 0};
	const char *words[] = {"bpf", "cpu-clock", "huge", "host", "6.1.0"};
	const char *name[] = {"huge"}, *path[] = {"/usr/bin/huge"};
	size_t size;
	void *data = tb_build(&b, PCCE_TABLE_EXEC, &size);
	struct iovec part = {data, size};

	memset(module.build_id, 0xab, 20);
	put_strings(PCCE_REC_INFO, &info, sizeof(info), words, 5);
	put_strings(PCCE_REC_PROCESS, &process, sizeof(process), name, 1);
	for (uint32_t i = 0; i < 4; i++) {
		struct pcce_rec_thread thread = {.time = 1000, .pid = PID, .tid = PID + i};
		char worker[16];
		const char *comm[] = {worker};

		snprintf(worker, sizeof(worker), "worker%u", i);
		put_strings(PCCE_REC_THREAD, &thread, sizeof(thread), comm, 1);
	}
	put_strings(PCCE_REC_MODULE, &module, sizeof(module), path, 1);
	check(datafile_put(w, PCCE_REC_MAP, &map, sizeof(map), NULL, 0));
	check(datafile_put(w, PCCE_REC_TABLE, &table, sizeof(table), &part, 1));
	free(data);
}

static void put_sample(uint64_t time, uint64_t context, uint64_t random)
{
	struct pcce_rec_sample s = {
		.sample = {.time = time, .pid = PID, .tid = PID + (random >> 8 & 3), .weight = 1}};
	struct pcce_entry entries[RUNS - 1];
	struct iovec part = {entries, sizeof(entries)};

	/* Each run takes one of a hundred ways, of all possible ones. */
	for (uint32_t run = RUNS; run-- > 0;) {
		uint64_t way = mix(context % 100 + 1000 * (run + 1));
		uint32_t last = way % WIDE;
		uint64_t id = way / WIDE % IN_LAST;

		context /= 100;
		if (run < RUNS - 1) {
			entries[run] = (struct pcce_entry){id, BASE + b.sites[push_site[last]].key};
		} else {
			s.sample.id = id;
			s.sample.ip =
				BASE + address_of(LAYERS, last) + 0x200 + (random >> 10 & 3) * 4;
		}
	}
	s.sample.n_entries = RUNS - 1;
	s.sample.r11 = random;
	check(datafile_put(w, PCCE_REC_SAMPLE, &s, sizeof(s), &part, 1));
}

static void put_symbols(void)
{
	for (uint32_t l = 1; l <= LAYERS; l++) {
		for (uint32_t i = 0; i < WIDE; i++) {
			for (uint32_t k = 0; k < (l < LAYERS ? 3 : 5); k++) {
				struct pcce_rec_symbol s = {.line = 100 * l + 10 * i + k};
				char name[32];
				const char *strings[] = {name, "/src/huge/layers.c"};

				s.symbol = address_of(l, i);
				if (l < LAYERS)
					s.vaddr = b.sites[WIDE + ((l - 1) * WIDE + i) * 3 + k].key;
				else
					s.vaddr = k ? address_of(l, i) + 0x200 + (k - 1) * 4
						    : b.sites[push_site[i]].key;
				snprintf(name, sizeof(name), "layer%u_%u", l, i);
				put_strings(PCCE_REC_SYMBOL, &s, sizeof(s), strings, 2);
			}
		}
	}
}

int main(int argc, char **argv)
{
	uint64_t samples, contexts, seed, x = 88172645463325252ULL;
	struct pcce_rec_end end = {0};
	int fd;

	if (argc < 4) {
		fprintf(stderr, "usage: generate_huge FILE SAMPLES CONTEXTS [SEED]\n");
		return 2;
	}
	samples = strtoull(argv[2], NULL, 10);
	contexts = strtoull(argv[3], NULL, 10);
	seed = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
	if (!contexts || contexts > 1000000) {
		fprintf(stderr, "generate_huge: there are 1 to 1000000 contexts\n");
		return 2;
	}
	fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0666);
	if (fd < 0)
		check(-errno);
	build_program();
	check(datafile_writer_new(fd, argv[1], &w));
	put_start();
	for (uint64_t i = 0; i < samples; i++) {
		x = mix(x + i + seed);
		/* Each context once, then the smaller of two random ones: some are frequent. */
		uint64_t a = x % contexts, c = (x >> 32) % contexts;

		put_sample(2000 + i * 25000, i < contexts ? i : a < c ? a : c, x);
	}
	put_symbols();
	end.time = 2000 + samples * 25000;
	end.samples = samples;
	check(datafile_put(w, PCCE_REC_END, &end, sizeof(end), NULL, 0));
	check(datafile_writer_close(w));
	return 0;
}
