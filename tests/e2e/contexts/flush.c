/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Writes its dictionary to descriptor 3, in two parts, and the names that are in it to standard
 * output. Without a context it prints zeros. */
#include <errno.h>
#include <stdio.h>
#include <pcce.h>

static __attribute__((noinline, noclone)) void ask(void)
{
	char text[PCCE_TEXT_SIZE];

	errno = 77;
	puts(pcce_context_text(pcce_context_id(), text));
	if (errno != 77)
		puts("errno has changed");
}

static __attribute__((noinline, noclone)) void other(void)
{
	ask();
	__asm__ volatile("");
}

int main(void)
{
	ask();
	if (pcce_dictionary_flush(3))
		return 1;
	other();
	ask();
	return pcce_dictionary_flush(3) != 0 || pcce_dictionary_flush(3) != 0;
}
