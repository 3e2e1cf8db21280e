/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Prints one line for each command: its share, its processes, and how much of it has a context. */
#include <errno.h>
#include <stdlib.h>
#include "base/array.h"
#include "base/text.h"
#include "format/format.h"
#include "format/frame_text.h"

/* Sums of one process, then of all processes of a command. */
struct command {
	uint32_t name, pid;
	uint64_t samples, weight;
	uint64_t exact; /* samples with an exact context */
	uint64_t processes;
};

COMPARE_BY2(compare_processes, struct command, name, pid);

static int compare_commands(const void *a, const void *b)
{
	const struct command *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* Adds up neighbours that have the same name. Returns their number. */
static size_t join_commands(struct command *c, size_t n)
{
	size_t commands = 0;
	uint32_t last = 0;

	for (size_t i = 0; i < n; i++) {
		struct command one = c[i], *to = commands ? &c[commands - 1] : NULL;

		if (!one.samples)
			continue;
		if (!to || to->name != one.name) {
			to = &c[commands++];
			*to = (struct command){.name = one.name, .pid = one.pid};
			last = 0;
		}
		to->samples += one.samples;
		to->weight += one.weight;
		to->exact += one.exact;
		to->processes += one.pid != last;
		last = one.pid;
	}
	return commands;
}

int format_commands(const struct profile *p, const struct format_options *o, FILE *out)
{
	size_t n = threads_count(p->threads);
	struct command *commands = calloc(n + 1, sizeof(*commands));
	uint64_t all = p->tree.nodes[0].total;
	char buffer[1024];

	if (!commands)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct thread *t = threads_get(p->threads, (uint32_t)i);

		commands[i] = (struct command){.name = t->process, .pid = t->pid};
	}
	for (size_t i = 0; i < profile_samples(p); i++) {
		struct profile_sample s = profile_sample(p, i);

		commands[s.thread].samples += s.samples;
		commands[s.thread].weight += s.weight;
		commands[s.thread].exact += s.status == DECODE_EXACT ? s.samples : 0;
	}
	qsort(commands, n, sizeof(*commands), compare_processes);
	n = join_commands(commands, n);
	qsort(commands, n, sizeof(*commands), compare_commands);
	fputs("  total   samples     exact  processes  command\n", out);
	for (size_t i = 0; i < n; i++) {
		const struct command *c = &commands[i];
		const char *name = symbol_table_string(p->names, c->name);

		if (text_percent(c->weight, all) < o->min_percent)
			continue;
		frame_text_percent(o->colors, 6, 2, text_percent(c->weight, all), out);
		fprintf(out, "  %8llu  %8llu  %9llu  %s\n", (unsigned long long)c->samples,
			(unsigned long long)c->exact, (unsigned long long)c->processes,
			*name ? text_clean(name, buffer, sizeof(buffer)) : "[unknown]");
	}
	free(commands);
	return 0;
}
