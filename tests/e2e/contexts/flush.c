/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Writes its dictionary to descriptor 3, in two parts, and the names that are in it to standard
 * output. Without a context it prints zeros. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <pcce.h>

static __attribute__((noinline, noclone)) void ask(void)
{
	char text[PCCE_TEXT_SIZE];

	struct pcce_id id, none = {{0}};

	errno = 77;
	id = pcce_context_id();
	if (!pcce_stack_id() != !memcmp(&id, &none, sizeof(id)))
		puts("a key is 0 and the name is not, or the reverse");
	if (errno != 77)
		puts("errno has changed");
	puts(pcce_context_text(id, text));
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
