/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Fuzzes the reader of .tree files. What it accepts must be a tree: all callers come first, and the
 * counts sum up. */
#include <stdlib.h>
#include "diff/tree_file.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_tree(const struct cct *t)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < t->n; i++) {
		if (i && t->nodes[i].parent >= i)
			abort();
		sum += t->nodes[i].self + t->nodes[i].samples;
	}
	if (t->n == 1 && sum)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FILE *in = size ? fmemopen((void *)data, size, "r") : NULL;
	struct error why = {0};
	struct cct tree;
	uint64_t n = 0;
	int r;

	if (!in)
		return 0;
	if (cct_init(&tree)) {
		fclose(in);
		return 0;
	}
	r = tree_file_read(in, &tree, false, &n, &why);
	if (r && !*why.text)
		abort();
	if (r)
		fuzz_refused(why.text);
	else
		check_tree(&tree);
	/* The same file again, as the second one of a comparison. */
	rewind(in);
	(void)tree_file_read(in, &tree, true, &n, &why);
	fclose(in);
	cct_free(&tree);
	return 0;
}
