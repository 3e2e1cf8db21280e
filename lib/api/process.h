/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A process of libpcce-decode: the inside. */
#ifndef PCCE_API_PROCESS_H
#define PCCE_API_PROCESS_H

#include "api/context.h"

/* The context that was decoded last. */
struct pcce_decode_context *process_context(struct pcce_decode_process *p);

/* As pcce_decode_process_page(), with the stack pointer, which hybrid encoding needs. */
struct api_registers {
	uint64_t ip, r11, sp; /* sp 0: not known */
};
int api_process_page(struct pcce_decode_process *p, const struct pcce_page *page,
		     const struct pcce_segment *area, size_t n_area,
		     const struct api_registers *registers,
		     const struct pcce_decode_context **context, struct pcce_decode_error *why);

#endif
