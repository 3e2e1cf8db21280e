/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Calls functions, then writes random words to the memory that the counting shares with the
 * recorder, and ends at once.
 *
 *   vandal SEED
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <pcce/counting.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile unsigned int sink;

static NOINLINE void down(unsigned int depth, unsigned int state)
{
	if (depth && state & 1)
		down(depth - 1, state >> 1);
	if (depth && state & 2)
		down(depth - 1, state >> 2);
	if (depth)
		down(depth - 1, state * 5 + 3);
	sink++;
}

static char *find_area(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512], *found = NULL;

	while (maps && !found && fgets(line, sizeof(line), maps))
		if (strstr(line, "/memfd:pcce-count") && strstr(line, "rw-s 00000000"))
			found = (char *)strtoul(line, NULL, 16);
	return found;
}

int main(int argc, char **argv)
{
	uint64_t random = argc > 1 ? strtoul(argv[1], NULL, 10) * 2 + 1 : 1;
	uint64_t begin = sizeof(struct pcce_count_area) / PCCE_COUNT_BLOCK * PCCE_COUNT_BLOCK;
	uint64_t one_of = random % 7 + 2, n;
	struct pcce_count_area *area = (struct pcce_count_area *)find_area();
	uint64_t *words;
	long status = area ? 0 : 1;

	down(9, 0x5a5aa5);
	n = area ? (area->used - begin) / 8 : 0;
	words = area ? (uint64_t *)((char *)area + begin) : NULL;
	for (uint64_t i = 0; i < n; i++) {
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		if (random >> 33 & ((1u << one_of) - 1))
			continue;
		switch (random >> 60) {
		case 0:
			words[i] = ~0ULL;
			break;
		case 1:
			words[i] = random;
			break;
		case 2:
			words[i] = random >> 40;
			break;
		case 3:
			words[i] = 0;
			break;
		default:
			words[i] = words[(random >> 20) % n];
		}
	}
	/* Nothing else is counted. */
	__asm__ volatile("syscall" : : "a"((long)SYS_exit_group), "D"(status) : "memory");
	return 1;
}
