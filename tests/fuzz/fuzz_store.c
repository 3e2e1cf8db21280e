/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Fuzzes what a database can say of a context: unpacks it, makes a recording with it, and reads
 * that back. The first module that the context names is known.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "store/rebuild.h"
#include "stream/stack_store.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink;

static int use_sample(void *ctx, const struct stream_event *e)
{
	(void)ctx;
	sink += e->samples + stack_store_hash(e->below);
	return 0;
}

/* What was written must be readable. */
static void read_back(FILE *file)
{
	struct stack_store *stacks = stack_store_new();
	struct recording *r;
	struct error why;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(file));
	if (!stacks || recording_open(path, NULL, NULL, &r, &why))
		abort();
	if (recording_samples(r, path, stacks, use_sample, NULL, &why))
		abort();
	recording_close(r);
	stack_store_free(stacks);
}

static void use_context(struct rebuild *b, const void *data, size_t size)
{
	const struct rebuild_sample s = {"program", "thread", "cycles", 1, 2, 3};
	struct unpacked u;
	struct error why;
	FILE *file;

	if (!unpack_context(data, size, &u))
		fuzz_refused("is no packed context");
	else if (rebuild_add_sample(b, &s, &u))
		fuzz_refused("cannot be added");
	file = rebuild_write(b, &why);
	if (!file)
		abort();
	read_back(file);
	fclose(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct module_facts facts = {
		.build = "0123", .path = "program", .low = 0x1000, .high = 0x2000};
	const struct rebuild_info info = {"bpf", "program", "host", "6.1", 1, 0, 0, 0, 0};
	const struct recording_account account = {0};
	const struct recording_rate rate = {.frequency = 99};
	struct rebuild *b = rebuild_new();
	uint8_t *copy = malloc(size + 1);
	struct store_key id;

	if (!b || !copy || module_identify(&facts, &id) || rebuild_set_info(b, &info) ||
	    rebuild_add_event(b, "cycles", &rate, &account) || rebuild_add_module(b, &id, &facts) ||
	    rebuild_add_symbol(b, &id, 0x1234, data, size))
		abort();
	if (size)
		memcpy(copy, data, size);
	if (size >= sizeof(struct packed_head) + sizeof(id))
		memcpy(copy + sizeof(struct packed_head), &id, sizeof(id));
	use_context(b, copy, size);
	rebuild_free(b);
	free(copy);
	return 0;
}
