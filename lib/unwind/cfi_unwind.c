/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Applies unwind rules to a state. Expressions are evaluated by a small stack machine. It knows the
 * operations that compilers, linkers and the C library use in unwind information; a frame with any
 * other one fails.
 */
#include <dwarf.h>
#include "unwind/cfi_unwind.h"

#define MACHINE_DEPTH 16

static const uint8_t numbers[UNWIND_REGISTERS] = CFI_UNWIND_REGISTERS;

struct machine {
	unwind_read *read;
	void *ctx;
	const struct unwind_state *state;
	uint64_t stack[MACHINE_DEPTH];
	unsigned int n;
};

int cfi_unwind_register(uint32_t number)
{
	for (int i = 0; i < UNWIND_REGISTERS; i++)
		if (numbers[i] == number)
			return i;
	return -1;
}

static bool register_value(const struct unwind_state *s, uint32_t number, uint64_t *value)
{
	int i = cfi_unwind_register(number);

	if (number == CFI_SP || number == CFI_PC) {
		*value = number == CFI_SP ? s->sp : s->pc;
		return true;
	}
	if (i < 0 || !(s->known >> i & 1))
		return false;
	*value = s->reg[i];
	return true;
}

/* ---- expressions ------------------------------------------------------------------- */

static bool push(struct machine *m, uint64_t value)
{
	if (m->n == MACHINE_DEPTH)
		return false;
	m->stack[m->n++] = value;
	return true;
}

static bool push_register(struct machine *m, uint32_t number, uint64_t offset)
{
	uint64_t value;

	return register_value(m->state, number, &value) && push(m, value + offset);
}

static bool binary(struct machine *m, uint8_t atom)
{
	uint64_t b, *a;

	if (m->n < 2)
		return false;
	b = m->stack[--m->n];
	a = &m->stack[m->n - 1];
	switch (atom) {
	case DW_OP_plus:
		*a += b;
		return true;
	case DW_OP_minus:
		*a -= b;
		return true;
	case DW_OP_mul:
		*a *= b;
		return true;
	case DW_OP_and:
		*a &= b;
		return true;
	case DW_OP_or:
		*a |= b;
		return true;
	case DW_OP_shl:
		*a = b < 64 ? *a << b : 0;
		return true;
	case DW_OP_shr:
		*a = b < 64 ? *a >> b : 0;
		return true;
	case DW_OP_ge:
		*a = (int64_t)*a >= (int64_t)b;
		return true;
	case DW_OP_gt:
		*a = (int64_t)*a > (int64_t)b;
		return true;
	case DW_OP_le:
		*a = (int64_t)*a <= (int64_t)b;
		return true;
	case DW_OP_lt:
		*a = (int64_t)*a < (int64_t)b;
		return true;
	case DW_OP_eq:
		*a = *a == b;
		return true;
	case DW_OP_ne:
		*a = *a != b;
		return true;
	default:
		return false;
	}
}

static bool run_operation(struct machine *m, const Dwarf_Op *op, uint64_t cfa)
{
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
		return push_register(m, op->atom - DW_OP_breg0, op->number);
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
		return push(m, op->atom - DW_OP_lit0);
	switch (op->atom) {
	case DW_OP_call_frame_cfa:
		return push(m, cfa);
	case DW_OP_bregx:
		return push_register(m, (uint32_t)op->number, op->number2);
	case DW_OP_const1u:
	case DW_OP_const1s:
	case DW_OP_const2u:
	case DW_OP_const2s:
	case DW_OP_const4u:
	case DW_OP_const4s:
	case DW_OP_const8u:
	case DW_OP_const8s:
	case DW_OP_constu:
	case DW_OP_consts:
		return push(m, op->number);
	case DW_OP_plus_uconst:
		return push(m, op->number) && binary(m, DW_OP_plus);
	case DW_OP_dup:
		return m->n && push(m, m->stack[m->n - 1]);
	case DW_OP_drop:
		return m->n && m->n--;
	case DW_OP_deref:
		return m->n && m->read(m->ctx, m->stack[m->n - 1], &m->stack[m->n - 1]);
	case DW_OP_nop:
		return true;
	default:
		return binary(m, op->atom);
	}
}

/* No branches: each operation runs once. */
static bool evaluate(unwind_read *read, void *ctx, const struct unwind_state *state,
		     const struct cfi_rule *r, uint64_t cfa, uint64_t *value)
{
	struct machine m = {.read = read, .ctx = ctx, .state = state};

	for (size_t i = 0; i < r->n_ops; i++)
		if (!run_operation(&m, &r->ops[i], cfa))
			return false;
	if (!m.n)
		return false;
	*value = m.stack[m.n - 1];
	return true;
}

/* ---- rules ------------------------------------------------------------------------- */

static bool end_of_frame(const struct cfi_row *row, unwind_read *read, void *ctx,
			 const struct unwind_state *state, uint64_t *cfa)
{
	if (row->cfa.how == CFI_EXPRESSION)
		return evaluate(read, ctx, state, &row->cfa, 0, cfa);
	if (row->cfa.how != CFI_IS || !register_value(state, row->cfa.reg, cfa))
		return false;
	*cfa += (uint64_t)row->cfa.offset;
	return true;
}

/* Finds where in memory the caller's register is. */
static bool rule_place(const struct cfi_rule *r, unwind_read *read, void *ctx,
		       const struct unwind_state *state, uint64_t cfa, uint64_t *place)
{
	if (r->how == CFI_EXPRESSION)
		return evaluate(read, ctx, state, r, cfa, place);
	*place = cfa + (uint64_t)r->offset;
	return r->how == CFI_AT;
}

enum unwind_step cfi_unwind(const struct cfi_row *row, unwind_read *read, void *ctx,
			    const struct unwind_state *state, struct unwind_frame *f)
{
	uint64_t cfa, place;

	if (row->rule[CFI_PC].how == CFI_UNDEFINED)
		return UNWIND_STEP_END;
	*f = (struct unwind_frame){.interrupted = row->signal};
	if (!end_of_frame(row, read, ctx, state, &cfa) ||
	    !rule_place(&row->rule[CFI_PC], read, ctx, state, cfa, &f->at) ||
	    !read(ctx, f->at, &f->ret))
		return UNWIND_STEP_FAILED;
	if (row->rule[CFI_SP].how == CFI_IS)
		f->sp = cfa + (uint64_t)row->rule[CFI_SP].offset;
	else if (!rule_place(&row->rule[CFI_SP], read, ctx, state, cfa, &place) ||
		 !read(ctx, place, &f->sp))
		return UNWIND_STEP_FAILED;
	for (int i = 0; i < UNWIND_REGISTERS; i++) {
		const struct cfi_rule *r = &row->rule[numbers[i]];

		if (r->how == CFI_SAME)
			continue;
		if (!rule_place(r, read, ctx, state, cfa, &f->saved[i])) {
			f->saved[i] = 0;
			f->lost |= 1u << i;
		}
	}
	/* Where a stack ends, the unwind information says so. A 0 is no return address: the frame
	 * is a wrong one, as in the last instructions of a throw. */
	return f->ret ? UNWIND_STEP_FRAME : UNWIND_STEP_FAILED;
}
