/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Declares what the test programs use of page.c, which replaces the runtime. */
#ifndef TEST_PAGE_H
#define TEST_PAGE_H

#ifdef __cplusplus
extern "C" {
#endif

/* Writes known values into this thread's page. */
void page_set(unsigned long id, unsigned int off);
/* Changes id, off, and the top entry's count, as a callee does that never returns. */
void page_damage(void);
/* Ends the program unless the page is as page_set(id, off) left it. */
void page_expect(unsigned long id, unsigned int off, const char *where);
extern unsigned long page_restores;

#ifdef __cplusplus
}
#endif

#endif
