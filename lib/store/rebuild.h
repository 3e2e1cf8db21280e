/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Makes a recording of what a database has: the opposite of sql_put.c. What comes from a database
 * can be wrong in any way, so everything is checked here, or by the readers of recordings.
 *
 * Add events, modules and symbols first, then samples. Addresses are in a range of each module's
 * own, as in recordings of pcce-merge.
 */
#ifndef PCCE_STORE_REBUILD_H
#define PCCE_STORE_REBUILD_H

#include <stdint.h>
#include <stdio.h>
#include "base/error.h"
#include "store/module_id.h"
#include "store/packed.h"
#include "stream/recording.h"

struct rebuild;

struct rebuild *rebuild_new(void); /* NULL: no memory */
void rebuild_free(struct rebuild *b);

/* Of the whole recording. Strings are copied. */
struct rebuild_info {
	const char *sampler, *command, *host, *kernel;
	uint64_t start; /* ns since 1970 */
	uint32_t flags;
	uint64_t unwound, reused, copied;
};

int rebuild_set_info(struct rebuild *b, const struct rebuild_info *info);

/* The event that comes first in recordings of calls and samples (PCCE_INFO_CALLS). */
#define CALLS "calls"

/* Adds an event, unless its name is none; they are numbered from 0 on. 0; -ENOMEM; -E2BIG: there
 * are too many; -EEXIST: it is there with another rate. */
int rebuild_add_event(struct rebuild *b, const char *name, const struct recording_rate *rate,
		      const struct recording_account *account);
/* Adds a module, unless its facts do not have this identity, or mean nothing, or it is there. 0;
 * -ENOMEM; -E2BIG. */
int rebuild_add_module(struct rebuild *b, const struct store_key *id, const struct module_facts *m);
/* Adds the frames of an address: see docs/fleet.md. Bytes that mean nothing are left out. */
int rebuild_add_symbol(struct rebuild *b, const struct store_key *module, uint64_t address,
		       const void *frames, size_t size);

struct rebuild_sample {
	const char *process, *thread, *event;
	uint64_t samples, weight, time; /* time: ns since 1970 */
};

/* context: NULL: it is missing in the database, or is not what its key says. The samples are then
 * lost (PCCE_LOSS_SHAPE). */
int rebuild_add_sample(struct rebuild *b, const struct rebuild_sample *s,
		       const struct unpacked *context);

/* Samples without a context, and modules that contexts name and nobody has added. */
struct rebuild_missing {
	uint64_t contexts, modules;
};
struct rebuild_missing rebuild_missing(const struct rebuild *b);

/* Returns the recording as a temporary file, at its beginning. NULL: why has a whole sentence. */
FILE *rebuild_write(const struct rebuild *b, struct error *why);

#endif
