/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reads the source files of a profile for its page. */
#ifndef PCCE_FORMAT_HTML_SOURCES_H
#define PCCE_FORMAT_HTML_SOURCES_H

#include "format/format.h"
#include "html/page.h"

struct html_sources {
	struct html_place *places; /* by index of profile.leaves */
	size_t n_places;
	struct html_source *files; /* the heaviest first */
	size_t n;
};

/* Says on stderr which files cannot be read, or are left out since the page would be too large.
 * 0 or -ENOMEM. The caller frees the result, whatever is returned. */
int html_sources_read(const struct profile *p, const struct format_options *o,
		      struct html_sources *to);
void html_sources_free(struct html_sources *s);

#endif
