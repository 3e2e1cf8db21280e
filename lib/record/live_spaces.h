/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Keeps the address spaces of the recorded processes as they are now, so that samples can be
 * decoded while recording. recording/address_space.h does the same for a recording that is
 * complete.
 */
#ifndef PCCE_RECORD_LIVE_SPACES_H
#define PCCE_RECORD_LIVE_SPACES_H

#include <pcce/datafile.h>
#include "decode/decode.h"
#include "record/modules.h"

struct live_spaces;

/* NULL: no memory. The modules must outlive the spaces. */
struct live_spaces *live_spaces_new(const struct record_modules *m);
void live_spaces_free(struct live_spaces *s);

/* Take records in their order. 0 or -ENOMEM. */
int live_spaces_process(struct live_spaces *s, const struct pcce_rec_process *rec);
int live_spaces_map(struct live_spaces *s, const struct pcce_rec_map *rec);

/* Returns the address space of a process, valid until its next record; NULL: no memory. *layout: a
 * number that no other layout of any process has. */
const struct decode_space *live_spaces_at(struct live_spaces *s, uint32_t pid, uint64_t *layout);

/* Returns the epoch of a process. Another one begins when its addresses change their meanings: when
 * it is created, at exec, and when it maps something over a module. No two have the same epoch,
 * except 0, before the first change. */
uint32_t live_spaces_epoch(struct live_spaces *s, uint32_t pid);

#endif
