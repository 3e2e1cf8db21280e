/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The page of the interactive view that shows source code. */
#ifndef PCCE_VIEW_SOURCE_PAGE_H
#define PCCE_VIEW_SOURCE_PAGE_H

#include "view/state.h"

/* Shows the source of what is under the cursor, until the user leaves it. 0 or -ENOMEM. */
int view_show_source(struct view *v);

#endif
