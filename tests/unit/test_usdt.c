/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Parses notes of static probes, whole and damaged ones. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "probe/usdt.h"
#include "tests/unit/tap.h"

struct __attribute__((packed)) note {
	uint32_t name_size, size, type;
	char owner[8];
	uint64_t address, base, semaphore;
	char text[20];
};

#define TEXT "shop\0sale\0 8@%rax"
#define TEXT_SIZE (sizeof(TEXT))

static const struct note good = {
	.name_size = 8,
	.size = 3 * 8 + TEXT_SIZE,
	.type = 3,
	.owner = "stapsdt",
	.address = 0x1234,
	.base = 0x5000,
	.semaphore = 0x9000,
	.text = TEXT,
};

static struct usdt_probe last;
static char names[64];

static void keep(void *ctx, const struct usdt_probe *p)
{
	(void)ctx;
	last = *p;
	snprintf(names, sizeof(names), "%s:%s", p->provider, p->name);
}

/* The notes are at the end of their memory, so that sanitizers see an access beyond it. */
static size_t parse(const void *notes, size_t size, uint64_t base)
{
	char *copy = malloc(size ? size : 1);
	size_t n;

	memcpy(copy, notes, size);
	*names = 0;
	n = usdt_parse(copy, size, base, keep, NULL);
	free(copy);
	return n;
}

static void test_damage(void)
{
	struct note notes[2] = {good, good};
	unsigned int n = 0, refused = 0;

	for (size_t size = 0; size < sizeof(good.text) - 8; size++)
		n += parse(&good, sizeof(good) - sizeof(good.text) + size, 0) != 0;
	tap_ok(n == 0, "notes that are cut off are left out", "%u are not", n);

	notes[0].name_size = 0xffffffff;
	refused += !parse(notes, sizeof(notes), 0);
	notes[0] = good;
	notes[0].size = 0xfffffff0;
	refused += !parse(notes, sizeof(notes), 0);
	notes[0] = good;
	memset(notes[0].text, 'x', sizeof(notes[0].text));
	notes[0].size = 3 * 8 + sizeof(notes[0].text);
	refused += parse(notes, sizeof(notes), 0) == 1;
	notes[0] = good;
	notes[0].size = 8;
	refused += parse(notes, sizeof(notes[0]) - 40, 0) == 0;
	notes[0] = good;
	notes[0].type = 1;
	refused += parse(notes, sizeof(notes), 0) == 1;
	tap_ok(refused == 5, "damaged notes and others are left out", "%u of 5 are", refused);

	srand(1);
	for (int i = 0; i < 20000; i++) {
		unsigned char bytes[2 * sizeof(good)];

		memcpy(bytes, &good, sizeof(good));
		memcpy(bytes + sizeof(good), &good, sizeof(good));
		for (int k = 0; k < 4; k++)
			bytes[(unsigned int)rand() % sizeof(bytes)] = (unsigned char)rand();
		n += parse(bytes, (unsigned int)rand() % (sizeof(bytes) + 1), 0) > 2;
	}
	tap_ok(n == 0, "random damage is survived", "%u have too many probes", n);
}

int main(void)
{
	const struct note two[2] = {good, good};

	tap_ok(parse(&good, sizeof(good), 0) == 1 && !strcmp(names, "shop:sale") &&
		       last.address == 0x1234 && last.semaphore == 0x9000,
	       "a probe", "%s %llx", names, (unsigned long long)last.address);
	tap_ok(parse(&good, sizeof(good), 0x15000) == 1 && last.address == 0x11234 &&
		       last.semaphore == 0x19000,
	       "a file that was moved", "%llx", (unsigned long long)last.address);
	tap_ok(parse(two, sizeof(two), 0) == 2, "a probe at two places", "no");
	test_damage();
	return tap_done();
}
