// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Allocates, and then writes rubbish to the ledger and the counters of its ring: random words, of
 * which a part are small or 0. Exits without running anything else.
 *
 *   rubbish SEED
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEDGER 192 /* in the header */
#define COUNTERS_SIZE (65536ul * 96)

static void *volatile kept;

static unsigned long next_word(unsigned long *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state % 3 == 0 ? *state % 5 : *state;
}

int main(int argc, char **argv)
{
	unsigned long state = argc > 1 ? strtoul(argv[1], NULL, 10) * 77777 + 1 : 1, from, to;
	unsigned long first = 0, last = 0;
	char line[4096];
	FILE *maps;

	for (int i = 0; i < 100; i++)
		kept = malloc(10);
	maps = fopen("/proc/self/maps", "re");
	while (maps && fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "/ring-") || sscanf(line, "%lx-%lx", &from, &to) != 2)
			continue;
		first = first ? first : from;
		last = to;
	}
	if (!first)
		return 1;
	for (unsigned long *p = (unsigned long *)(first + LEDGER);
	     p < (unsigned long *)(first + 256);)
		*p++ = next_word(&state);
	for (unsigned long *p = (unsigned long *)(last - COUNTERS_SIZE); p < (unsigned long *)last;)
		*p++ = next_word(&state);
	_exit(0);
}
