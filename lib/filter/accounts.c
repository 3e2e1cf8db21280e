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

/* Tells what is new of an event since the last window, and remembers it. A sampler that still runs
 * can count a sample as merged that is on its way, so that a later number is smaller. */
static struct event_told untold_of(struct event_account *a, uint64_t merged, uint64_t kernel)
{
	struct event_told *told = &a->told, new = {.samples = a->samples - told->samples,
						   .left_out = a->left_out - told->left_out,
						   .lost = a->lost - told->lost};

	new.merged = merged > told->merged ? merged - told->merged : 0;
	new.kernel = kernel > told->kernel ? kernel - told->kernel : 0;
	told->samples += new.samples;
	told->left_out += new.left_out;
	told->lost += new.lost;
	told->merged += new.merged;
	told->kernel += new.kernel;
	return new;
}

/* Writes what of an event was due, in the recording or in a window. */
static int write_due(struct accounts *all, uint32_t number, const struct sampler_due *due)
{
	const struct event_told new = untold_of(&all->of[number], due->merged, due->kernel);
	const struct pcce_rec_due rec = {.time = clock_ns(CLOCK_MONOTONIC),
					 .due = due->known ? new.samples + new.left_out + new.lost +
								     new.merged + new.kernel
							   : 0,
					 .merged = new.merged,
					 .kernel = new.kernel,
					 .flags = due->known ? 0 : PCCE_DUE_UNKNOWN,
					 .event = number};

	all->ended.samples += new.samples;
	all->ended.lost += new.lost;
	return stream_pass(all->stream.next, record, PCCE_REC_DUE, &rec, sizeof(rec), NULL, 0);
}

/* Counts what is missing without a reason. A thread's last, unfinished period is not due; if the
 * sampler cannot tell, each thread may have had one. */
static int account_unexplained(struct accounts *all, uint32_t number)
{
	struct event_account *a = &all->of[number];
	struct sampler_due *due = &a->due;
	uint64_t found = a->samples + a->left_out + a->lost + due->merged + due->kernel;
	uint64_t rests = due->with_rests ? all->threads : 0;
	struct pcce_rec_lost lost = {.time = clock_ns(CLOCK_MONOTONIC),
				     .reason = PCCE_LOSS_UNEXPLAINED,
				     .event = number};
	int err = 0;

	if (due->known && due->due > found + rests) {
		lost.count = due->due - found - rests;
		found += lost.count;
		err = account_lost(&all->stream, &lost);
	}
	due->due = due->known ? found : 0;
	return err;
}

static void ask_sampler(const struct accounts *all, struct sampler_due due[ACCOUNTS])
{
	if (all->sampler->ops->account)
		all->sampler->ops->account(all->sampler->sampler, due);
}

static int account_end(struct stream *s)
{
	struct accounts *all = accounts_of(s);
	struct sampler_due due[ACCOUNTS] = {0};
	int err = 0;

	ask_sampler(all, due);
	all->ended = (struct event_told){0};
	for (uint32_t i = 0; i < all->n && !err; i++) {
		all->of[i].due = due[i];
		err = account_unexplained(all, i);
		err = err ? err : write_due(all, i, &due[i]);
	}
	return err ? err : stream_pass(s->next, end);
}

/* What is due and on its way cannot be told from what is missing, before the end. */
static int account_window(struct stream *s)
{
	struct accounts *all = accounts_of(s);
	struct sampler_due due[ACCOUNTS] = {0};
	int err = 0;

	ask_sampler(all, due);
	all->ended = (struct event_told){0};
	for (uint32_t i = 0; i < all->n && !err; i++)
		err = write_due(all, i, &due[i]);
	return err ? err : stream_pass(s->next, window);
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
		.window = account_window,
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
