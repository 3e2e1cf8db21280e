/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Names the calling contexts of samples by 128 bits of hash, while recording. The samples of one
 * context have one key, whatever the process, the thread and the addresses of its modules.
 *
 * A context is what the decoder finds: functions, the call in each of them, and in the kernel the
 * functions there. Of the innermost frame only the function matters. Undecodable samples have a
 * context, too: the frames that were found, and the reason.
 *
 * The key of a very deep context depends on its complete lower segments instead of their frames.
 * So a sample never takes much time. Such contexts of two processes have different keys.
 */
#ifndef PCCE_FILTER_CONTEXT_KEYS_H
#define PCCE_FILTER_CONTEXT_KEYS_H

#include "decode/decode.h"
#include "stream/modules.h"
#include "stream/stack_store.h"
#include "stream/stream.h"

struct context_keys;

/* NULL: no memory. The modules must outlive it. */
struct context_keys *context_keys_new(const struct record_modules *m);
void context_keys_free(struct context_keys *k);

/* Finds the key of a sample, whose stack is known (e->below). layout: the same number only for the
 * same address space (address_space.h). 0 or -ENOMEM. */
int context_keys_find(struct context_keys *k, const struct decode_space *as, uint64_t layout,
		      const struct stream_event *e, uint64_t key[2]);

/* Makes a key that of the sample's thread. begin: when the recording began; other recordings may
 * have another thread of the same number. */
void context_keys_add_thread(uint64_t key[2], const struct pcce_sample *s, uint64_t begin);

#endif
