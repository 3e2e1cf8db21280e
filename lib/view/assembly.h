/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Declares the assembly page of the interactive view. */
#ifndef PCCE_VIEW_ASSEMBLY_H
#define PCCE_VIEW_ASSEMBLY_H

#include "view/state.h"

/* A row of the page: an instruction, slots between two of them, a line of the source or the name of
 * a function. */
struct view_instruction {
	uint64_t self;	/* VIEW_NO_NUMBER: it has no samples, or can have none */
	uint64_t vaddr; /* 0: no instruction */
	char *text;
	enum screen_look look;
};

/* Shows the code of the function under the cursor until the user leaves it. 0 or -ENOMEM. */
int view_show_assembly(struct view *v);

#endif
