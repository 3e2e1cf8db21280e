/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The interactive view of a recording. */
#ifndef PCCE_VIEW_VIEW_H
#define PCCE_VIEW_VIEW_H

#include "tools/report_options.h"

/*
 * Until the user leaves. The profile was loaded with options.again and lines. 0; -ENOTTY: there is
 * no terminal that could do it, and nothing was shown; -ENOMEM.
 */
int view_run(struct profile *p, const struct report_options *o, bool colors);

#endif
