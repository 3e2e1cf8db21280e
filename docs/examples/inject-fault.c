/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* inject-fault [SET]: memory is refused in certain contexts only.
 *
 *	pcce-decode --select="get_memory << parse < load" -o faults.set inject-fault
 *	./inject-fault faults.set
 */
#include <pcce/pcce.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct pcce_contexts *faults;

__attribute__((noinline)) static void *get_memory(size_t size)
{
	return pcce_on_context(faults) > 0 ? NULL : malloc(size);
}

__attribute__((noinline)) static char *copy(const char *text)
{
	char *to = get_memory(strlen(text) + 1);

	return to ? strcpy(to, text) : NULL;
}

__attribute__((noinline)) static const char *parse(const char *text)
{
	char *word = copy(text);
	const char *result = word ? "done" : "out of memory";

	free(word);
	return result;
}

__attribute__((noinline)) static void load(void)
{
	printf("load: %s\n", parse("name=value"));
}

__attribute__((noinline)) static void save(void)
{
	printf("save: %s\n", parse("name=value"));
}

int main(int argc, char **argv)
{
	int r = argc > 1 ? pcce_contexts_open(&faults, argv[1]) : 0;

	if (r)
		fprintf(stderr, "cannot open %s: %s\n", argv[1], strerror(-r));
	load();
	save();
	pcce_contexts_close(faults);
	return r != 0;
}
