/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Implements record/summary.h. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "elf/module.h"
#include "record/format_number.h"
#include "stream/modules.h"
#include "filter/accounts.h"
#include "probe/event.h"
#include "record/record.h"
#include "record/say.h"
#include "record/summary.h"
#include "sampler/perf_event.h"

#define EVENT_TEXT (sizeof(((struct sampler_event *)0)->name) + 8)
#include <pcce/datafile.h>

/* Whether the program has a table; TABLE_FOUND also if its file cannot be read. */
static enum table_state state_of_program(const char *path)
{
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
	struct table_file file = {.state = TABLE_FOUND};
	struct elf_module elf;

	if (fd < 0)
		return file.state;
	if (!elf_module_open_fd(fd, &elf, NULL)) {
		table_file_find(fd, &elf, &file);
		table_file_close(&file);
		elf_module_close(&elf);
	}
	close(fd);
	return file.state;
}

/* Then the runtime comes before the C library, and sees where exceptions and jumps of the program
 * end. Nobody knows that of a program that was running already. */
static bool is_runtime_preloaded(const struct record_summary *s)
{
	return s->options->command && child_preloads_runtime();
}

/* Returns "EVENT: ", or nothing if the recording has only one. */
static const char *name_of_event(const struct record_summary *s, char *buffer, size_t size)
{
	*buffer = 0;
	if (s->options->n_events > 1 && (s->derived || !perf_event_is_allocations(s->event->name)))
		snprintf(buffer, size, "%s: ", s->event->name);
	return buffer;
}

/* Says why a recording has no contexts, or few. */
static void warn_of_silence(const struct record_summary *s)
{
	enum table_state state = state_of_program(s->program);
	const char *why = s->why_nothing;
	char part[32], all[32], event[EVENT_TEXT];

	format_count(part, sizeof(part), s->account->outside);
	format_count(all, sizeof(all), s->account->samples);
	if (!s->account->samples && s->privileged)
		return; /* that is why */
	if (!s->account->samples && !strcmp(s->event->name, PERF_EVENT_HOLDER))
		return; /* the waits had other ends */
	if (!s->account->samples && !s->options->system && !s->main_module && !s->whole_stacks &&
	    state != TABLE_FOUND)
		say("warning: no samples: %s %s%s%s%s", s->program, table_state_text(state),
		    table_state_remedy(state), why ? "; " : "", why ? why : "");
	else if (!s->account->samples && why)
		say("warning: no samples: %s", why);
	else if (!s->account->samples && perf_event_is_waits(s->event->name))
		say("warning: no samples: the program waited too little; use a %s",
		    s->event->frequency ? "higher -F" : "smaller -c");
	else if (!s->account->samples)
		say("warning: no samples: the program %s the event %s%s",
		    perf_event_is_allocations(s->event->name)
			    ? "allocated too little, or made none of"
			    : "used too little CPU time, or none of",
		    s->event->name, s->event->frequency ? "; use a higher -F" : "");
	else if (s->account->outside > s->account->samples / 2 && !s->whole_stacks &&
		 !(s->main_module && !s->main_module->instrumented))
		say("warning: %s%s of %s samples are outside of instrumented threads: they have no "
		    "contexts; pcce-report --format=flat lists where they are",
		    name_of_event(s, event, sizeof(event)), part, all);
}

/* Says why no context fits the expression of --only. True: nothing else can be the reason. */
static bool warn_of_expression(const struct record_summary *s)
{
	if (!s->account->samples && s->account->left_out)
		say("warning: no samples: none of their contexts matches --only: %s", s->no_match);
	else if (*s->no_match)
		say("warning: no context can match --only: %s", s->no_match);
	return *s->no_match || s->account->left_out;
}

/* Returns what gives fewer samples of the event. Each hit of a probe is one. */
static const char *fewer_samples(const struct sampler_event *event)
{
	if (probe_event_is(event->name))
		return "; probe what is called less often";
	return event->period ? "; use a larger -c" : "; use a lower -F";
}

/* Returns what helps if another BPF program was running. The sampler kmod takes one event of perf
 * in one process. */
static const char *without_bpf(const struct record_summary *s)
{
	if (s->options->n_events > 1)
		return "record one event at a time";
	if (s->options->system || s->options->n_targets > 1 || probe_event_is(s->event->name) ||
	    perf_event_is_waits(s->event->name))
		return "end other tools that use BPF";
	return "use -b kmod";
}

/* other: what helps besides fewer samples; NULL: the text says what helps instead. */
static void warn_of(const struct record_summary *s, uint64_t count, uint64_t limit,
		    const char *text, const char *other)
{
	char n[32], event[EVENT_TEXT];

	if (count <= limit)
		return;
	format_count(n, sizeof(n), count);
	say("warning: %s%s samples %s%s%s", name_of_event(s, event, sizeof(event)), n, text,
	    other ? fewer_samples(s->event) : "", other ? other : "");
}

static void warn_of_losses(const struct record_summary *s)
{
	const uint64_t *lost = s->account->lost_reasons, few = s->account->due.due / 100;
	char nested[128];

	warn_of(s, lost[PCCE_LOSS_THROTTLE], 0, "were lost: the kernel throttled the event",
		", or raise kernel.perf_event_max_sample_rate");
	snprintf(nested, sizeof(nested),
		 "were lost: a BPF program was running on that CPU already; %s", without_bpf(s));
	warn_of(s, lost[PCCE_LOSS_NESTED], 0, nested, NULL);
	warn_of(s, lost[PCCE_LOSS_RING] + lost[PCCE_LOSS_SHAPE], 0,
		"were lost: the machine was too busy", "");
	warn_of(s, lost[PCCE_LOSS_DISK], 0,
		"were lost: the disk is nearly full, and calls need the rest", "");
	warn_of(s, lost[PCCE_LOSS_CROWD], 0,
		"were lost, one for each wait: more threads waited than can be followed at a time",
		NULL);
	warn_of(s, lost[PCCE_LOSS_LATE], few,
		"were lost: the clock was late, since the machine or its host was busy", "");
	warn_of(s, lost[PCCE_LOSS_BLOCKED], few,
		"were lost: their threads ended, and blocked the signal; use -b bpf as root", NULL);
	warn_of(s, lost[PCCE_LOSS_UNEXPLAINED], few,
		!strcmp(s->sampler, "bpf")
			? "were lost: threads sleep often, the clock was late, or another BPF "
			  "program was running on that CPU"
			: "were lost: threads sleep often, or the clock was late",
		!strcmp(s->sampler, "bpf") ? ", or -b kmod" : "");
	/* Each wait is one sample, however long it is. */
	if (!perf_event_is_waits(s->event->name))
		warn_of(s, s->account->due.merged, s->account->samples / 10,
			"merged into others, which have their weights: they came too fast", "");
}

/* What is live in contexts is not exact. */
static void warn_of_unfollowed(const struct record_summary *s)
{
	char n[32], event[EVENT_TEXT];

	format_count(n, sizeof(n), s->account->lost_reasons[PCCE_LOSS_UNFOLLOWED]);
	if (s->account->lost_reasons[PCCE_LOSS_UNFOLLOWED])
		say("warning: %s%s allocations or frees were not followed: there were too many "
		    "contexts, memory was short, or signal handlers made them",
		    name_of_event(s, event, sizeof(event)), n);
}

static void print_count_summary(const struct record_summary *s)
{
	char n[32], size[32], to[PATH_MAX + 64] = "";

	format_count(n, sizeof(n), s->account->lost);
	if (s->account->lost)
		say("warning: %s calls were not counted: there was not enough memory, or the "
		    "program's state was lost",
		    n);
	if (!s->account->samples && !(s->options->engine && !strcmp(s->options->engine, "empty")))
		say("warning: no calls were counted: the program entered no instrumented "
		    "function%s",
		    s->options->bursts ? " in a burst; use longer or more frequent ones" : "");
	if (s->options->quiet)
		return;
	format_count(n, sizeof(n), s->account->samples);
	format_bytes(size, sizeof(size), s->bytes);
	if (s->last)
		snprintf(to, sizeof(to), ", %s to %s", size, s->options->output);
	if (s->account->due.skipped)
		say("%llu bursts of threads were skipped, and others count for them",
		    (unsigned long long)s->account->due.skipped);
	if (s->options->bursts)
		say("%s calls in %llu bursts, %.1f%% of the time%s", n,
		    (unsigned long long)s->account->due.bursts,
		    s->account->due.ns
			    ? 100.0 * (double)s->account->due.burst_ns / (double)s->account->due.ns
			    : 0,
		    to);
	else
		say("%s calls%s", n, to);
}

void record_print_summary(const struct record_summary *s)
{
	char n[32], size[32], due[32] = "", left_out[64] = "", event[EVENT_TEXT],
			      to[PATH_MAX + 64] = "";

	if (s->calls) {
		print_count_summary(s);
		return;
	}
	if (s->derived) {
		warn_of_unfollowed(s);
		return;
	}
	if (!warn_of_expression(s))
		warn_of_silence(s);
	/* modules.c has already warned of other programs without a usable table. */
	if (s->first && s->main_module && !s->main_module->instrumented &&
	    !(s->whole_stacks && !s->shared_runtime) &&
	    (s->main_module->state == TABLE_NONE || s->shared_runtime))
		say("warning: %s %s: samples in it have no contexts%s%s%s", s->main_module->path,
		    table_state_text(s->main_module->state),
		    table_state_remedy(s->main_module->state),
		    s->any_instrumented ? "; other programs or libraries that ran have them" : "",
		    s->shared_runtime && !is_runtime_preloaded(s)
			    ? "; they are wrong after an exception or longjmp() that ends in it; "
			      "set LD_PRELOAD=libpcce.so.0 if there are such"
			    : "");
	warn_of_losses(s);
	if (s->options->quiet)
		return;
	format_count(n, sizeof(n), s->account->samples);
	format_bytes(size, sizeof(size), s->bytes);
	if (s->account->due.known)
		format_count(due, sizeof(due), s->account->due.due);
	if (s->options->only) {
		char text[32];

		format_count(text, sizeof(text), s->account->left_out);
		snprintf(left_out, sizeof(left_out), ", %s left out", text);
	}
	if (s->last && s->windows)
		snprintf(to, sizeof(to), ", %s to %u file%s %s.* (%s)", size, s->windows,
			 s->windows == 1 ? "" : "s", s->options->output, s->sampler);
	else if (s->last)
		snprintf(to, sizeof(to), ", %s to %s (%s)", size, s->options->output, s->sampler);
	say("%s%s samples%s%s%s%s", name_of_event(s, event, sizeof(event)), n,
	    s->account->due.known ? " of " : "", due, left_out, to);
}
