/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Linked last into the runtime's one relocatable object: its code ends here. */
#include <cet.h>
	.text
	.globl __pcce_runtime_text_end
	.hidden __pcce_runtime_text_end
__pcce_runtime_text_end:
	.section .note.GNU-stack, "", @progbits
