/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See accounts.h. */
#include <errno.h>
#include <stdlib.h>
#include "base/clock.h"
#include "filter/accounts.h"

static struct accounts *accounts_of(struct stream *s)
{
	return (struct accounts *)s;
}

static int account_process(struct stream *s, const struct pcce_rec_process *rec, const char *comm)
{
	accounts_of(s)->threads++;
	return stream_pass(s->next, process, rec, comm);
}

static int account_thread(struct stream *s, const struct pcce_rec_thread *rec, const char *comm)
{
	accounts_of(s)->threads++;
	return stream_pass(s->next, thread, rec, comm);
}

static int account_lost(struct stream *s, const struct pcce_rec_lost *rec)
{
	struct event_account *a = &accounts_of(s)->of[rec->event];

	a->lost += rec->count;
	a->lost_reasons[rec->reason] += rec->count;
	return stream_pass(s->next, lost, rec);
}

/* Counts samples that were not taken. result: why. */
static int account_others(struct stream *s, uint32_t number, uint64_t samples, int result)
{
	struct pcce_rec_lost lost = {.count = samples, .reason = PCCE_LOSS_SHAPE, .event = number};

	if (result == STREAM_LEFT_OUT)
		accounts_of(s)->of[number].left_out += samples;
	if (result != -EBADMSG)
		return result;
	/* What no reader would accept: only a program that has written to its samples makes such a
	 * thing. */
	lost.time = clock_ns(CLOCK_MONOTONIC);
	return account_lost(s, &lost);
}

static int account_event(struct stream *s, struct stream_event *e)
{
	struct event_account *a = &accounts_of(s)->of[e->number];
	uint64_t samples = e->samples;
	bool outside = e->sample->flags & PCCE_SAMPLE_OUTSIDE;
	int r = stream_pass(s->next, event, e);

	if (r)
		return account_others(s, e->number, samples, r);
	a->samples += samples;
	a->outside += outside ? samples : 0;
	return 0;
}

static int account_summary(struct stream *s, uint64_t missing, uint64_t nameless)
{
	accounts_of(s)->of[0].samples += nameless;
	return stream_pass(s->next, summary, missing, nameless);
}

static int account_summary_event(struct stream *s, struct stream_event *e)
{
	accounts_of(s)->of[0].samples += e->weight;
	return stream_pass(s->next, summary_event, e);
}

/* A thread's last, unfinished period is not due; if the sampler cannot tell, each thread may have
 * had one. */
static int write_due(struct accounts *all, uint32_t number, uint64_t now)
{
	struct event_account *a = &all->of[number];
	struct sampler_due *due = &a->due;
	uint64_t found = a->samples + a->left_out + a->lost + due->merged + due->kernel;
	uint64_t rests = due->with_rests ? all->threads : 0;
	struct pcce_rec_lost lost = {.time = now, .reason = PCCE_LOSS_UNEXPLAINED, .event = number};
	struct pcce_rec_due rec = {.time = now,
				   .merged = due->merged,
				   .kernel = due->kernel,
				   .flags = due->known ? 0 : PCCE_DUE_UNKNOWN,
				   .event = number};
	int err = 0;

	if (due->known && due->due > found + rests) {
		lost.count = due->due - found - rests;
		found += lost.count;
		err = account_lost(&all->stream, &lost);
	}
	rec.due = due->due = due->known ? found : 0;
	return err ? err
		   : stream_pass(all->stream.next, record, PCCE_REC_DUE, &rec, sizeof(rec), NULL,
				 0);
}

static int account_end(struct stream *s)
{
	struct accounts *all = accounts_of(s);
	struct sampler_due due[ACCOUNTS] = {0};
	int err = 0;

	if (all->sampler->ops->account)
		all->sampler->ops->account(all->sampler->sampler, due);
	for (uint32_t i = 0; i < all->n && !err; i++) {
		all->of[i].due = due[i];
		err = write_due(all, i, clock_ns(CLOCK_MONOTONIC));
	}
	return err ? err : stream_pass(s->next, end);
}

struct accounts *accounts_new(const struct active_sampler *sampler, uint32_t n)
{
	static const struct stream_ops ops = {
		.process = account_process,
		.thread = account_thread,
		.lost = account_lost,
		.event = account_event,
		.summary = account_summary,
		.summary_event = account_summary_event,
		.end = account_end,
		.free = stream_free,
	};
	struct accounts *all = calloc(1, sizeof(*all));

	if (all) {
		all->stream.ops = &ops;
		all->sampler = sampler;
		all->n = n;
	}
	return all;
}
