# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# The smallest module with a site of most kinds. seeds.sh makes seeds of it.
	.text
	.globl _start
_start: 
	.fill 13, 1, 0x90
.Lc0:	call *g@GOTPCREL(%rip)
.Lr0:	.fill 13, 1, 0x90
	.fill 13, 1, 0x90
	call ext@PLT
.Lr1:	.fill 13, 1, 0x90
	.fill 89, 1, 0x90
	call *%rax
.Lr2:	.fill 58, 1, 0x90
.Lt:	jmp h
.Le0:
g:	.fill 13, 1, 0x90
	call h
.Lr3:	.fill 13, 1, 0x90
.Lp:	ret
.Le1:
h:	ret
.Le2:
rt:	
push: ret
pop: ret
tls:	mov $-4096, %r11
rt_end:
	lea g(%rip), %rax

	.include "site_records.inc"

	.section .pcce_sites,"o",@progbits,.text
	block _start, .Le0, 4
	site 0, .Lr0-_start, 13, 13, 0, 1024, 1
	site .Lr0-_start+13, .Lr1-_start, 13, 13, 2, 1024, 2
	site .Lr1-_start+13, .Lr2-_start, 89, 58, 1, 1024, 3
	site .Lt-_start, .Le0-_start, 0, 0, 16, 1024, 4
	end_block main
	block g, .Le1, 4
	site 0, .Lr3-g, 13, 13, 0x400, 1024, 5
	site .Lp-g, .Le1-g, 0, 0, 0x80, 0, 5
	site 0, .Lp-g, 0, 0, 0x200, 0, 0
	site .Lp-g, .Lp-g, 0, 0, 0x280, 0, 0
	end_block g
	block h, .Le2, 0
	end_block h
	.section .pcce_entries,"",@progbits
	.quad 0x33544e4545434350, push, pop, push, pop, tls, push, rt, rt_end
	.section .pcce_helpers,"",@progbits
	.quad push
	.long 1,0
