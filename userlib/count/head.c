// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The head of the counting engines: struct pcce_count_head. */
#include <pcce/counting.h>

__asm__("	.pushsection .head, \"a\", @progbits\n"
	"	.quad 0x544e554f43434350, count, empty, count_hot, count_burst, count_hot_burst, "
	"count_lossy, count_lossy_burst, count_adaptive, config, engine_end, "
	"engine_begin, modules, count_late, latency_begin, latency_end, latency_jump\n"
	"	.popsection\n");
