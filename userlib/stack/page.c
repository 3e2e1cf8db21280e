// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Defines the thread page and the thread's registry record, and writes debug output.
 *
 * The page is initial-exec TLS: every thread has one from its first instruction. Its initial value
 * has the magic number. So samplers also know threads that the runtime never meets: those that a
 * program without instrumentation creates, before or after it loads an instrumented library. The
 * record is in the page, between the two halves, since memory of this kind is scarce.
 *
 * Two runtimes can be in one process: an executable that contains libpcce.a, and libpcce.so.0,
 * which an instrumented shared library asks for.  The executable exports pcce_page, so all modules
 * use the executable's page.  The library then finds that pcce_page is not the page that it
 * defines (page_is_own), and stays idle.  It stays idle too if the executable hides its page.
 */
#include "internal.h"
#include "stack/page.h"
#include "base/quiet_write.h"

__attribute__((visibility("default"), tls_model("initial-exec"),
	       aligned(PCCE_PAGE_ALIGN))) __thread struct pcce_page pcce_page = {
	.magic = PCCE_PAGE_MAGIC,
	.version = PCCE_PAGE_VERSION,
	.size = PCCE_PAGE_SIZE,
	.counted = PCCE_COUNTED_NONE,
	.guard = {{.site = PCCE_MARK_WORD}, {.site = PCCE_MARK_WORD}},
	/* An inline pop on an empty stack goes to __pcce_pop_slow: see pushpop.S. */
	.base = {.site = PCCE_MARK_WORD},
};

/* The page of this module, whatever pcce_page is bound to. The model is global-dynamic: an
 * initial-exec use would take up static TLS, of which dlopen() has far less than a page. */
extern __thread struct pcce_page own_page
	__attribute__((alias("pcce_page"), visibility("hidden"), tls_model("global-dynamic")));

_Static_assert(sizeof(struct pcce_thread) <=
		       PCCE_OFF_HALF - PCCE_OFF_FULL - sizeof(struct pcce_entry),
	       "the record is between the halves of the page");

bool pcce_active;
bool page_debug;

bool page_is_own(void)
{
	return &own_page == &pcce_page;
}

struct pcce_thread *pcce_thread_self(void)
{
	return (struct pcce_thread *)&pcce_page.entry[PCCE_SEGMENT_ENTRIES];
}

void pcce_debug(const char *text, long value)
{
	char line[160], digits[24];
	size_t n = 0, d = sizeof(digits);
	unsigned long rest = value < 0 ? -(unsigned long)value : (unsigned long)value;

	if (!page_debug)
		return;
	for (const char *p = "pcce: "; *p; p++)
		line[n++] = *p;
	for (const char *p = text; *p && n < 120; p++)
		line[n++] = *p;
	do
		digits[--d] = (char)('0' + rest % 10);
	while (rest /= 10);
	if (value < 0)
		digits[--d] = '-';
	line[n++] = ' ';
	while (d < sizeof(digits))
		line[n++] = digits[d++];
	line[n++] = '\n';
	quiet_write(2, line, n);
}
