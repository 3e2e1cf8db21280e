#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Describes a C compiler of one pass, with recursive descent and many small functions.

. "$(dirname "$0")/lib.sh"

name=tcc
package=tcc
elf=tcc
input="source"
command='"$prog" -c -o out.o "$inputs/source.c" && cksum <out.o'

# Prints 60,000 C functions that call each other and need no header.
source() {
	awk 'BEGIN {
		s = 7
		print "struct pair { int a; long b; struct pair *next; };"
		for (f = 0; f < 60000; f++) {
			s = (s * 16807) % 2147483647
			printf "static int f%d(int x, struct pair *p)\n{\n", f
			printf "\tint i, sum = %d;\n\n", s % 1000
			printf "\tfor (i = 0; i < (x & %d); i++) {\n", s % 31
			printf "\t\tsum += (i * %d ^ (sum >> %d)) - p->a;\n", s % 97, s % 13
			printf "\t\tif (sum %% %d == %d && p->next)\n", 3 + s % 11, s % 3
			printf "\t\t\tp = p->next, sum -= (int)(p->b << 2);\n"
			printf "\t\telse switch (sum & 3) {\n\t\tcase 0: sum++; break;\n"
			printf "\t\tcase %d: sum = -sum; break;\n", 1 + s % 3
			printf "\t\tdefault: p->a = sum ? i : x;\n\t\t}\n\t}\n"
			if (f > 10) {
				printf "\treturn sum + f%d(x - 1, p)", f - 1 - s % 10
				printf " * (f%d(i, p->next) + 0x%x);\n}\n\n", f - 1 - s % 7, s
			} else
				print "\treturn sum;\n}\n"
		}
		print "int entry(int x, struct pair *p) { return f59999(x, p); }"
	}'
}
input_source() { make_once source.c source; }

build() {
	./configure --cc="$CC" --extra-cflags="$flags_c" --extra-ldflags="$flags_ld"
	make -j2 tcc CFLAGS="$flags_c" LDFLAGS="$flags_ld"
}

program_main "$@"
