/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Counts, names and frees the contents of a profile, which load.c makes. */
#include <stdio.h>
#include <stdlib.h>
#include "decode/restored.h"
#include "decode/verify.h"
#include "profile/profile_internal.h"

const char *profile_event(const struct profile *p, uint32_t event, char *buffer, size_t size)
{
	size_t length;
	const char *name = datafile_event(p->events, event, &length);

	snprintf(buffer, size, "%.*s", (int)length, name);
	return buffer;
}

struct profile_event profile_event_facts(const struct profile *p, uint32_t event)
{
	uint32_t i = recording_account_of(event);

	return (struct profile_event){.samples = p->in->events[i].samples,
				      .weight = p->in->events[i].weight,
				      .rate = p->in->rates[i],
				      .shown = p->in->shown[i]};
}

void profile_count(struct profile_stats *s, const struct profile_instruction *at, uint64_t samples)
{
	s->samples += samples;
	switch ((enum decode_status)at->status) {
	case DECODE_EXACT:
		s->exact += samples;
		break;
	case DECODE_TRUNCATED:
		s->truncated += samples;
		s->reasons[at->reason] += samples;
		break;
	case DECODE_OUTSIDE:
		s->outside += samples;
		break;
	case DECODE_UNKEPT:
		s->unkept += samples;
		break;
	case DECODE_UNDECODABLE:
		s->undecodable += samples;
		s->reasons[at->reason] += samples;
		break;
	}
	s->verified += at->verify == VERIFY_AGREES ? samples : 0;
	s->mismatches += at->verify == VERIFY_MISMATCH ? samples : 0;
	s->unverifiable += at->verify == VERIFY_UNVERIFIABLE ? samples : 0;
	s->restored += at->restored == RESTORED_WHOLE ? samples : 0;
	s->restored_in_part += at->restored == RESTORED_PART ? samples : 0;
	s->not_restored += at->restored == RESTORED_FAILED ? samples : 0;
	s->restored_wrong += at->restored == RESTORED_MISMATCH ? samples : 0;
}

void profile_free(struct profile *p)
{
	struct profile_internals *in;

	if (!p)
		return;
	in = p->in;
	if (in) {
		for (size_t i = 0; i < in->n_failures; i++)
			free(in->failures[i].sample);
		recording_close(in->recording);
		stack_store_free(in->segments);
		cct_free(&in->all);
		profile_forget(in);
	}
	free(in);
	threads_free(p->threads);
	thread_origins_free(p->origins);
	symbol_table_free(p->names);
	sample_streams_free(p->streams);
	cct_free(&p->tree);
	free(p->stream_samples);
	free(p->leaves);
	free(p);
}

const struct label_set *profile_labels(const struct profile *p, uint32_t index)
{
	return index ? label_sets_get(p->in->recording->label_sets, index - 1) : NULL;
}

uint32_t profile_plain_labels(const struct profile *p, uint32_t index)
{
	const struct label_set *set = profile_labels(p, index);

	return set ? label_sets_index(label_sets_plain(p->in->recording->label_sets, set)) : 0;
}
