/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A process of libpcce-decode: the inside. */
#ifndef PCCE_API_PROCESS_H
#define PCCE_API_PROCESS_H

#include "api/context.h"

/* The context that was decoded last. */
struct pcce_decode_context *process_context(struct pcce_decode_process *p);

#endif
