/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See function_paths.h. */
#include "profile/function_paths.h"

static int frame_function(void *ctx, uint32_t node, uint32_t next, uint32_t *frame)
{
	const struct functions *f = ctx;

	(void)next;
	*frame = f->of_node[node];
	return 0;
}

static uint32_t remark_function(void *ctx, const char *text)
{
	return functions_remark(ctx, text);
}

void function_paths_init(struct unrolled_path *p, const struct cct *t, struct functions *f)
{
	static const struct unrolled_path_kind kind = {frame_function, remark_function, false};

	unrolled_path_init(p, t, &kind, f);
}
