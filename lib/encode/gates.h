/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Leads calls of a library's own exported functions through gates.
 *
 * Such a call goes through a GOT slot, since another module may define the function too. The slot
 * says at run time who is called. So pcce-encode leads the call to the function's gate
 * (plugin/gate.c). The gate compares the slot with the library's own function. If they are equal,
 * it jumps there, and the call has a value like any call inside the module. Its pointer leads
 * there from then on, without a comparison. If they differ, the gate makes an ordinary call, which
 * is a push. A slot that lazy binding has not filled yet differs, too.
 *
 * In the call graph a gate is a function like others: it tail-calls the library's function, and
 * calls something unknown.
 */
#ifndef PCCE_ENCODE_GATES_H
#define PCCE_ENCODE_GATES_H

#include "encode/callgraph.h"

/*
 * Leads the sites to gates in the graph, and drops gates that no site needs. Their parts remain,
 * without a function, till gates_drop_parts(): jumps in there are not calls by unknown code.
 */
int gates_find(struct callgraph *cg, const struct elf_module *m, struct error *why);
void gates_drop_parts(struct callgraph *cg);
/* Leads the sites past gates that need the function's entry slot, as before. Pushes are among them:
 * they gain nothing by a gate. */
void gates_leave_pushes(struct callgraph *cg, const struct elf_module *m,
			const struct numbering *n);
/* Fills the gates, and leads the calls there. */
int gates_patch(const struct callgraph *cg, const struct elf_module *m, uint8_t *image,
		struct error *why);

/*
 * For unpatch.c. gates_restore_call() makes a call or jump to a gate, n bytes at vaddr with the
 * distance at field, lead where it led before; the gate's code must be intact. gates_clear() puts
 * the nops back into a gate.
 */
int gates_restore_call(uint8_t *code, size_t n, uint64_t vaddr, size_t field,
		       const struct site_block *gate, const uint8_t *gate_code, struct error *why);
void gates_clear(uint8_t *image, const struct elf_module *m, const struct site_block *b);

#endif
