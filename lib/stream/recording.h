/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reads a recording (include/pcce/datafile.h) in two passes.
 *
 * recording_open() reads all records.  It keeps what every user needs: the info record, the address
 * spaces, the encoding tables and the sums.  It is the source of a stream, for what its user needs
 * beyond.  Mappings and tables may follow the samples that need them, so a second pass,
 * recording_samples(), hands out the samples.  The user can repeat that pass.
 */
#ifndef PCCE_STREAM_RECORDING_H
#define PCCE_STREAM_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <pcce/datafile.h>
#include "base/error.h"
#include "base/temp_file.h"
#include "elf/encoding_table.h"
#include "stream/address_space.h"
#include "stream/kernel_stacks.h"
#include "stream/label_sets.h"
#include "stream/reader.h"
#include "stream/stack_store.h"

struct recording_module {
	char *path;
	void *data; /* its encoding table, `size` bytes; NULL: it has none */
	size_t size;
	struct encoding_table table; /* of data */
};

struct recording_due {
	bool known; /* all who write about it knew it */
	uint64_t due, merged, kernel;
};

/* What a recording says of the samples of an event that it does not have. */
struct recording_account {
	uint64_t lost[PCCE_LOSS_MAX + 1]; /* samples, by enum pcce_loss; [0]: other reasons */
	struct recording_due due;
	bool any_due; /* there is a record of it */
};

/* Adds what is in another account. */
void recording_account_add(struct recording_account *to, const struct recording_account *from);

/* A recording has an account for each event that pcce-record can number, and one for all others. */
#define RECORDING_ACCOUNTS DATAFILE_EVENTS

static inline uint32_t recording_account_of(uint32_t event)
{
	return event < RECORDING_ACCOUNTS ? event : RECORDING_ACCOUNTS - 1;
}

/* One of both is 0; both are: nobody knows. */
struct recording_rate {
	uint64_t frequency, period;
};

/* What a summary in bounded memory says (struct pcce_rec_hot). */
struct recording_hot {
	double phi, epsilon; /* phi 0: the recording is no summary, and all counts are exact */
	uint64_t samples, weight, offset, counters;
	uint64_t unkept; /* weight of what is attributed to no context */
	bool per_thread; /* PCCE_HOT_PER_THREAD */
};

/* Which samples were left out (struct pcce_rec_only). */
struct recording_only {
	char *expression; /* NULL: none */
	uint64_t unknown, left_out, left_out_weight;
};

struct recording {
	struct pcce_rec_info info; /* without strings; size 0 if the file ends after its header */
	char *sampler, *event, *command, *host, *kernel; /* of the info record; "" without one */
	struct recording_module *modules;		 /* by number */
	size_t n_modules;
	struct address_spaces *spaces;
	struct kernel_stacks *kernel_stacks;
	struct label_sets *label_sets;
	struct recording_account accounts[RECORDING_ACCOUNTS];
	struct recording_rate rates[RECORDING_ACCOUNTS];
	struct recording_hot hot;
	struct recording_only only;
	uint64_t frames_unwound, frames_reused, stack_bytes;
	uint64_t unknown; /* records of unknown types */
	uint64_t cut_off; /* bytes of the record that the file's end cuts off */
	bool complete;	  /* there is an end record */

	/* Private: where the bytes are. */
	char *name;	    /* in messages */
	const char *path;   /* NULL: in memory */
	const void *memory; /* `size` bytes */
	size_t size;
	struct temp_file spool;
};

/*
 * to: gets everything, also the samples (without `below`), but not the tables and the end. NULL:
 * nobody needs it. An error of the stream ends the pass; it may have a sentence in why. progress:
 * what progress() shows, or NULL.
 *
 * 0, or -errno with a whole sentence in why.  Copies a file that cannot be read twice (a pipe) to a
 * temporary one.  Memory must be aligned to 8, and stay valid as long as the recording.
 */
int recording_open(const char *path, const char *progress, struct stream *to,
		   struct recording **out, struct error *why);
int recording_open_memory(const void *memory, size_t size, const char *name, struct stream *to,
			  struct recording **out, struct error *why);
void recording_close(struct recording *r);
/* Opens a reader at the beginning of the recording, for users that ask for one record after the
 * other.  The caller closes it before the recording. 0, or -errno with a whole sentence in why. */
int recording_reader(const struct recording *r, struct datafile_reader **out, struct error *why);
/* After the last sample: removes the temporary copy. */
void recording_end_samples(struct recording *r);

/* The encoding table of a module; NULL: it has none. */
const struct encoding_table *recording_table(const struct recording *r, uint32_t module);

/* Sees one sample, or several equal ones that were aggregated. Returns 0, or -errno, which ends
 * the pass. */
typedef int recording_sample_visitor(void *ctx, const struct stream_event *s);

/* As datafile_sample(), with the kernel's stack. */
bool recording_event(const struct recording *r, const struct pcce_record *rec,
		     struct stream_event *e);

/* Returns the labels that a PCCE_REC_LABELED record names. */
const struct label_set *recording_labels(const struct recording *r, const struct pcce_record *rec);

/* Hands out all samples in the order of the file. stacks gets their stacks; NULL: no event knows
 * what is below. progress: what progress() shows, or NULL. 0, or -errno with a whole sentence in
 * why. */
int recording_samples(const struct recording *r, const char *progress, struct stack_store *stacks,
		      recording_sample_visitor *each, void *ctx, struct error *why);

#endif
