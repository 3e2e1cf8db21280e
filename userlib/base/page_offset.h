/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Defines PAGE_OFFSET for assembly: it loads the offset of pcce_page from %fs.
 *
 * With PCCE_EXEC, for the runtime of an executable that defines the page, the offset is a constant.
 * It must be written as one: ld.bfd does not relax a load from the GOT when the symbol is exported,
 * as the page is. Both forms have 7 bytes; pcce-encode tells them apart at
 * pcce_helper_entries.tls_insn.
 */
#ifndef PCCE_USERLIB_PAGE_OFFSET_H
#define PCCE_USERLIB_PAGE_OFFSET_H

/* clang-format off */
#ifdef PCCE_EXEC
.macro PAGE_OFFSET reg
	movq $pcce_page@tpoff, \reg
.endm
#else
.macro PAGE_OFFSET reg
	movq pcce_page@gottpoff(%rip), \reg
.endm
#endif
/* clang-format on */

#endif
