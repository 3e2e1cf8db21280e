/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See stack_unwinder.h. */
#include <stdlib.h>
#include <string.h>
#include <pcce/sample.h>
#include "decode/restored.h"
#include "filter/stack_unwinder.h"
#include "unwind/cfi_unwind.h"

static struct cfi *cfi_of(struct stack_unwinder *u, const struct record_module *m)
{
	size_t n = record_modules_count(u->modules);

	if (m->index >= u->n_cfi) {
		struct cfi **cfi = reallocarray(u->cfi, n, sizeof(struct cfi *));
		bool *tried = reallocarray(u->cfi_tried, n, sizeof(bool));

		if (cfi)
			u->cfi = cfi;
		if (tried)
			u->cfi_tried = tried;
		if (!cfi || !tried)
			return NULL;
		for (; u->n_cfi < n; u->n_cfi++) {
			u->cfi[u->n_cfi] = NULL;
			u->cfi_tried[u->n_cfi] = false;
		}
	}
	if (!u->cfi_tried[m->index] && (m->elf || m->vdso))
		u->cfi[m->index] = cfi_open(m->vdso ? -1 : m->fd);
	u->cfi_tried[m->index] = true;
	return u->cfi[m->index];
}

void stack_unwinder_begin(struct stack_unwinder *u, const struct decode_space *as,
			  const struct pcce_sample *s, struct unwind_state *state)
{
	const uint64_t *copy = pcce_sample_stack(s);

	*state = (struct unwind_state){.pc = s->ip, .sp = s->sp, .inner = true};
	memcpy(state->reg, copy, sizeof(state->reg));
	state->known = (1u << UNWIND_REGISTERS) - 1;
	u->as = as;
	u->words = copy + PCCE_COPY_REGISTERS;
	u->n_words = s->n_stack - PCCE_COPY_REGISTERS;
	u->sp = s->sp;
	u->beyond = 0;
}

void stack_unwinder_free(struct stack_unwinder *u)
{
	for (size_t i = 0; i < u->n_cfi; i++)
		cfi_close(u->cfi[i]);
	free(u->cfi);
	free(u->cfi_tried);
}

bool stack_unwinder_read(void *ctx, uint64_t address, uint64_t *word)
{
	struct stack_unwinder *u = ctx;
	uint64_t offset = address - u->sp;

	if (offset % 8)
		return false;
	if (offset / 8 >= u->n_words) {
		if (offset / 8 < PCCE_COPY_WORDS && offset / 8 >= u->beyond)
			u->beyond = offset / 8 + 1;
		return false;
	}
	*word = u->words[offset / 8];
	return true;
}

bool stack_unwinder_stop(void *ctx, uint64_t ret)
{
	const struct stack_unwinder *u = ctx;
	bool helper;

	return restored_is_instrumented(u->as, ret - 1, &helper);
}

const struct cfi_row *stack_unwinder_rules(struct stack_unwinder *u,
					   const struct unwind_state *state, uint64_t *vaddr)
{
	uint64_t pc = state->pc - !state->inner;
	const struct decode_module *m = u->as->find(u->as, pc);
	struct cfi *cfi = m ? cfi_of(u, record_modules_get(u->modules, m->module)) : NULL;

	*vaddr = m ? decode_link_time(m, pc) : 0;
	return cfi ? cfi_at(cfi, *vaddr) : NULL;
}

enum unwind_step stack_unwinder_step(void *ctx, const struct unwind_state *state,
				     struct unwind_frame *f)
{
	uint64_t vaddr;
	const struct cfi_row *row = stack_unwinder_rules(ctx, state, &vaddr);

	return row ? cfi_unwind(row, stack_unwinder_read, ctx, state, f) : UNWIND_STEP_FAILED;
}

_Static_assert(PCCE_COPY_REGISTERS == UNWIND_REGISTERS, "the sampler copies other registers");
