/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Draws the main screen of the interactive view, and finds the node or function under the cursor.
 */
#ifndef PCCE_VIEW_DRAW_H
#define PCCE_VIEW_DRAW_H

#include "view/state.h"

void view_draw(struct view *v);
void view_draw_head(const struct view *v);
int view_body_height(void);
/* Returns the name under the cursor, UINT32_MAX: none. */
uint32_t view_current_name(const struct view *v, uint32_t *module);

#endif
