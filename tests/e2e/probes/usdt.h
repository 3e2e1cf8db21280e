/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What <sys/sdt.h> of SystemTap makes of a static probe without arguments: a nop, and a note that
 * says where it is. semaphore: the name of a counter of 16 bits, or 0. */
#ifndef PCCE_TESTS_USDT_H
#define PCCE_TESTS_USDT_H

#define PROBE(provider, name, semaphore)                                  \
	asm volatile("990: nop\n"                                         \
		     ".pushsection .note.stapsdt, \"\", \"note\"\n"       \
		     ".balign 4\n"                                        \
		     ".4byte 992f - 991f, 994f - 993f, 3\n"               \
		     "991: .asciz \"stapsdt\"\n"                          \
		     "992: .balign 4\n"                                   \
		     "993: .8byte 990b, _.stapsdt.base, " #semaphore "\n" \
		     ".asciz \"" #provider "\", \"" #name "\", \"\"\n"    \
		     "994: .balign 4\n"                                   \
		     ".popsection\n"                                      \
		     ".ifndef _.stapsdt.base\n"                           \
		     ".pushsection .stapsdt.base, \"aG\", \"progbits\", " \
		     ".stapsdt.base, comdat\n"                            \
		     ".weak _.stapsdt.base\n"                             \
		     ".hidden _.stapsdt.base\n"                           \
		     "_.stapsdt.base: .space 1\n"                         \
		     ".size _.stapsdt.base, 1\n"                          \
		     ".popsection\n"                                      \
		     ".endif\n")

#endif
