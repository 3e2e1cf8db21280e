/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Declares the source page of the interactive view. */
#ifndef PCCE_VIEW_SOURCE_PAGE_H
#define PCCE_VIEW_SOURCE_PAGE_H

#include "view/state.h"

/* Shows the source code of the row under the cursor until the user leaves it. 0 or -ENOMEM. */
int view_show_source(struct view *v);

#endif
