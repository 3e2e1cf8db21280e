/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Shows when samples were taken as a heatmap, in which the user selects a time span. Time goes from
 * the bottom to the top of a column, and then to the next column.
 */
#ifndef PCCE_VIEW_TIME_PAGE_H
#define PCCE_VIEW_TIME_PAGE_H

#include "view/state.h"

/* Lets the user change v->m.span. All selected samples must be from the whole time. *changed: the
 * data must be built again. 0 or -ENOMEM. */
int view_choose_time(struct view *v, bool *changed);

#endif
