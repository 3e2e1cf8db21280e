/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Records a program: the command line of pcce-record. lib/record does the work. */
#include <argp.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/expression.h"
#include "base/help_list.h"
#include "base/message.h"
#include "base/neighbour.h"
#include "count/bursts.h"
#include "hot/parameters.h"
#include "record/record.h"
#include "record/system_limits.h"
#include "filter/reuse.h"
#include "sampler/event_list.h"
#include "sampler/perf_event.h"
#include "tools/sample_options.h"

#ifndef PCCE_VERSION
#define PCCE_VERSION "unknown"
#endif

const char *argp_program_version = "pcce-record " PCCE_VERSION;

#define EVENT "cpu-clock"
#define SAMPLER "auto"

enum {
	OPT_VERIFY = 256,
	OPT_SIGNAL,
	OPT_FRAMES,
	OPT_HOT,
	OPT_COUNT,
	OPT_ENGINE,
	OPT_BURST,
	OPT_LATENCY,
	OPT_ONLY,
	OPT_PER_THREAD,
	OPT_SHOW,
	OPT_DURATION,
	OPT_SWITCH_OUTPUT,
	OPT_CALL_GRAPH,
	OPT_OFF_CPU,
	OPT_WALL
};

static struct sampler_system whole_system;

static struct event_list sampled_events; /* those of -e */
static struct {
	uint64_t frequency, period; /* of events that have none of their own */
} rate;
static bool show;

static const struct argp_option options[] = {
	{"frequency", 'F', "HZ", 0,
	 "Take HZ samples per second and thread (default: 999; of rare events: all)", 0},
	{0, 'c', "N", 0, "Take a sample every N events, instead of -F (for the clocks: every N ns)",
	 0},
	{"count", OPT_COUNT, "calls|N", OPTION_ARG_OPTIONAL,
	 "calls (default): count every call of an instrumented function by its context "
	 "(experimental); take samples beside that only with -F, -c, -e or -b; N: the same as -c N",
	 0},
	{"engine", OPT_ENGINE, "NAME", 0,
	 "Count with cct (default: the exact calling context tree), hcct (only hot contexts, in "
	 "bounded memory: the default with --hot), lossy (the same by Lossy Counting, to compare) "
	 "or empty (count nothing, to measure the price) (--count)",
	 0},
	{"burst", OPT_BURST, "LENGTH/INTERVAL[,adaptive[=RATIO]]", OPTION_ARG_OPTIONAL,
	 "Count only in bursts of LENGTH, one each INTERVAL (default: 2ms/20ms); adaptive: of "
	 "bursts that begin in one context, count only a share of RATIO (default: 0.1), with more "
	 "weight (--count)",
	 0},
	{"latency", OPT_LATENCY, "FUNCTION,...", 0,
	 "Time every execution of these functions of the program, by its context; pcce-report "
	 "--format=latency shows the percentiles",
	 0},
	{"event", 'e', "EVENT,...", 0,
	 "Sample on these events of those below (default: cpu-clock), or tracepoints as "
	 "SYSTEM:NAME; :u or :k: only user code or the kernel; /freq=HZ/ or /period=N/: how often; "
	 "-e can be repeated",
	 0},
	{"off-cpu", OPT_OFF_CPU, NULL, 0,
	 "Sample the time that threads wait or have no CPU: the same as -e off-cpu (bpf)", 0},
	{"wall", OPT_WALL, NULL, 0,
	 "Sample all time of threads, on CPUs and off them: the same as -e cpu-clock,off-cpu (bpf)",
	 0},
	{"sampler", 'b', "NAME", 0,
	 "Sample with one of the samplers below, or auto (default: the best that works)", 0},
	{"output", 'o', "FILE", 0,
	 "Write to FILE (default: pcce.data); keep an existing file as FILE.old", 0},
	{"pid", 'p', "PID|NAME,...", 0,
	 "Record running processes, by number or by the name of their command, their threads and "
	 "new children; -p can be repeated",
	 0},
	{"all-cpus", 'a', 0, 0,
	 "Record all processes: while COMMAND runs, for the time of --duration, or until an "
	 "interrupt comes (bpf)",
	 0},
	{"cpu", 'C', "CPU[-CPU],...", 0, "Like -a, but only on these CPUs (bpf)", 0},
	{"uid", 'u', "USER", 0, "Like -a, but only threads of this user, a name or a number (bpf)",
	 0},
	{"cgroup", 'G', "CGROUP", 0,
	 "Like -a, but only threads in this cgroup of version 2 and in those below it (bpf)", 0},
	{"duration", OPT_DURATION, "TIME", 0,
	 "End the recording after this time, in seconds or with a unit (ms, s, m); the program "
	 "continues",
	 0},
	{"switch-output", OPT_SWITCH_OUTPUT, "TIME|SIZE", 0,
	 "Begin another file after each TIME (10, 500ms, 1m), or when SIZE (100M) is reached, "
	 "without "
	 "a gap; each file is a recording, FILE.TIME",
	 0},
	{"verify", OPT_VERIFY, 0, 0,
	 "Also unwind the stack at each sample, for pcce-report --stats to compare (self)", 0},
	{"hot", OPT_HOT, "PHI[,EPSILON]", OPTION_ARG_OPTIONAL,
	 "Keep only hot contexts, in bounded memory: all with a share of at least PHI (default: "
	 "0.0001); counts err by at most EPSILON (default: PHI / 5) of all samples",
	 0},
	{"per-thread", OPT_PER_THREAD, 0, 0,
	 "With --hot: count a context in each thread for itself", 0},
	{"only", OPT_ONLY, "EXPRESSION", 0,
	 "Keep only samples in whose contexts these functions call each other, callees first: 'f' "
	 "(in f or in what it calls), 'f < g' (callee f, caller g), 'f << g' (g calls f, perhaps "
	 "through others) or 'f <<< g' (also in threads that were created below g)",
	 0},
	{"frames", OPT_FRAMES, "WHICH", 0,
	 "foreign: also unwind the frames of uninstrumented code between a sample and its "
	 "instrumented caller; outside: whole stacks of threads that are not instrumented (bpf); "
	 "all: both; none (default: outside for a program that was not built with pcce)",
	 0},
	{"signal", OPT_SIGNAL, "SIG", 0,
	 "Sample with signal SIG, which the program must not need (default: WINCH) (self)", 0},
	{"show", OPT_SHOW, 0, 0,
	 "Show the recording with pcce-report when it is complete, as pcce run does", 0},
	{"quiet", 'q', 0, 0, "Print only warnings and errors", 0},
	{"verbose", 'v', 0, 0, "Print more details", 0},
	/* Habits from perf. */
	{0, 'g', 0, OPTION_HIDDEN, NULL, 0},
	{"call-graph", OPT_CALL_GRAPH, "HOW", OPTION_HIDDEN, NULL, 0},
	{0},
};

static const char doc[] =
	"Record the calling contexts of a program that was built with pcce.\v"
	"Runs COMMAND, attaches to running processes, or records the whole system, until they end "
	"or "
	"an interrupt comes. The exit "
	"status is that of the command (128 + N if signal N ended it), 127 if it was not found, "
	"126 if it could not be run, 64 if the command line is wrong, and 1 if recording "
	"failed.\n\n"
	"pcce-report shows the result.";

/* Returns the number of a signal: a number, or a name with or without SIG. */
static int signal_number(const char *arg)
{
	const char *name = strncmp(arg, "SIG", 3) ? arg : arg + 3;
	char *end;
	long n;

	for (int sig = 1; sig < NSIG; sig++)
		if (sigabbrev_np(sig) && !strcmp(sigabbrev_np(sig), name))
			return sig;
	if (!strncmp(name, "RTMIN", 5) || !strncmp(name, "RTMAX", 5)) {
		n = strtol(name + 5, &end, 10);
		return *end ? 0 : (int)n + (name[3] == 'I' ? SIGRTMIN : SIGRTMAX);
	}
	n = strtol(arg, &end, 10);
	return *end || end == arg || n < 0 || n >= NSIG ? 0 : (int)n;
}

/* Programs rely on what the kernel does with the signals that are refused. */
static int option_signal(struct argp_state *state, const char *arg)
{
	static const int refused[] = {SIGKILL, SIGSTOP, SIGCONT, SIGSEGV, SIGBUS, SIGILL,
				      SIGFPE,  SIGTRAP, SIGABRT, SIGSYS,  SIGCHLD};
	int sig = signal_number(arg);
	bool good = sig > 0 && sig <= SIGRTMAX && (sig < 32 || sig >= SIGRTMIN);

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		good = good && sig != refused[i];
	if (!good)
		argp_error(state,
			   "cannot use --signal=%s: it must be a signal that a program can do "
			   "without, for example WINCH, URG, USR2 or RTMIN+5",
			   arg);
	return sig;
}

/* Reads a time. 0: it is none. */
static uint64_t time_in_ns(const char *arg)
{
	char *end;
	double seconds = strtod(arg, &end);

	if (!strcmp(end, "ms"))
		seconds /= 1000;
	else if (!strcmp(end, "m"))
		seconds *= 60;
	else if (*end && strcmp(end, "s") != 0)
		end = (char *)(uintptr_t)arg;
	return end == arg || !(seconds >= 0.001 && seconds <= 1e9) ? 0 : (uint64_t)(seconds * 1e9);
}

static uint64_t option_duration(struct argp_state *state, const char *arg)
{
	uint64_t ns = time_in_ns(arg);

	if (!ns)
		message_usage(state,
			      "cannot use --duration=%s: it must be a number of seconds, for "
			      "example 10 or 0.5, or a number with ms, s or m",
			      arg);
	return ns;
}

static struct record_windows option_switch_output(struct argp_state *state, const char *arg)
{
	static const char units[] = "KMG";
	struct record_windows w = {.each = true};
	char *end;
	uint64_t size = strtoull(arg, &end, 10);
	const char *unit = *end ? strchr(units, *end) : NULL;

	if (unit && !end[1] && *arg >= '0' && *arg <= '9' && size && size < 1 << 30)
		w.bytes = size << 10 * (unit - units + 1);
	else
		w.ns = time_in_ns(arg);
	if (!w.ns && !w.bytes)
		message_usage(state,
			      "cannot use --switch-output=%s: it must be a time, for example 10, "
			      "500ms or 1m, or a size, for example 500K or 100M",
			      arg);
	return w;
}

static enum sampler_copy option_frames(struct argp_state *state, const char *arg)
{
	static const char *const names[] = {[SAMPLER_COPY_NONE] = "none",
					    [SAMPLER_COPY_PAGE] = "foreign",
					    [SAMPLER_COPY_OUTSIDE] = "outside",
					    [SAMPLER_COPY_ALL] = "all"};

	for (int i = SAMPLER_COPY_NONE; i <= SAMPLER_COPY_ALL; i++)
		if (!strcmp(arg, names[i]))
			return (enum sampler_copy)i;
	argp_error(state, "cannot use --frames=%s: it must be none, foreign, outside or all", arg);
	return SAMPLER_COPY_NONE;
}

static struct hot_parameters *default_hot(void)
{
	static struct hot_parameters p = {HOT_PHI, HOT_PHI / HOT_PHI_PER_EPSILON, false};

	return &p;
}

static const struct hot_parameters *option_hot(struct argp_state *state, const char *arg)
{
	struct hot_parameters *p = default_hot();
	struct error why;

	if (arg && hot_parameters_parse(arg, p, &why))
		message_usage(state, "cannot use --hot: %s", why.text);
	return p;
}

static const struct count_bursts *option_burst(struct argp_state *state, const char *arg)
{
	static struct count_bursts bursts;
	struct error why;

	if (count_bursts_parse(arg ? arg : COUNT_BURSTS, &bursts, &why))
		message_usage(state, "cannot use --burst: %s", why.text);
	return &bursts;
}

static const struct expression *option_only(struct argp_state *state, const char *arg)
{
	static struct expression e;
	struct error why;

	expression_free(&e);
	if (expression_parse(arg, &e, &why))
		message_usage(state, "%s", why.text);
	return &e;
}

/* Does the engine of --count find hot contexts? */
static bool finds_hot(const char *engine)
{
	return !strcmp(engine, "hcct") || !strcmp(engine, "lossy");
}

/* Refuses what cannot be done with -a, and those options that mean -a. */
static void check_system_options(struct argp_state *state, const struct record_options *o)
{
	if (o->n_targets)
		message_usage(state, "cannot use -p with -a, -C, -u or -G: leave out one of them");
	if (o->count)
		message_usage(state, "cannot use --count with -a, -C, -u or -G: a program is "
				     "counted from its first instruction on; name a command");
	if (o->signal || o->verify)
		message_usage(state,
			      "cannot use --%s with -a, -C, -u or -G: it is for the sampler self; "
			      "leave out one of them",
			      o->signal ? "signal" : "verify");
}

/* Refuses options that contradict each other. */
static void check_record_options(struct argp_state *state, const struct record_options *o)
{
	const char *one = o->count ? "count" : o->hot ? "hot" : o->only ? "only" : NULL;

	if (o->system)
		check_system_options(state, o);
	if (rate.frequency && rate.period)
		message_usage(state, "cannot use -F with -c: leave out one of them");
	if (o->signal && o->n_targets)
		message_usage(state,
			      "cannot use --signal with -p: it is for the sampler self; leave "
			      "out one of them");
	if (o->signal && strcmp(o->sampler, SAMPLER) && strcmp(o->sampler, "self"))
		message_usage(state,
			      "cannot use --signal with -b %s: it is for the sampler self; leave "
			      "out one of them",
			      o->sampler);
	if (o->engine && !o->count)
		message_usage(state, "cannot use --engine without --count; add --count");
	if (o->bursts && !o->count)
		message_usage(state, "cannot use --burst without --count; add --count");
	if (o->bursts && o->engine && !strcmp(o->engine, "empty"))
		message_usage(state, "cannot use --burst with --engine=empty: leave out one of "
				     "them");
	if (o->bursts && o->bursts->every && (o->hot || (o->engine && strcmp(o->engine, "cct"))))
		message_usage(state, "cannot use adaptive bursts with --hot or another engine than "
				     "cct: leave out adaptive");
	if (o->latency && (o->engine || o->bursts || o->hot))
		message_usage(state, "cannot use --latency with --%s: leave out one of them",
			      o->engine	  ? "engine"
			      : o->bursts ? "burst"
					  : "hot");
	if (o->count && o->n_targets)
		message_usage(state, "cannot use --count with -p: a program is counted from its "
				     "first instruction on; name a command");
	if (o->count && o->only)
		message_usage(state, "cannot use --count with --only: leave out one of them");
	if (o->count && o->duration)
		message_usage(state,
			      "cannot use --count with --duration: calls are counted until the "
			      "program ends; leave out one of them");
	if (o->count && o->frames)
		message_usage(state, "cannot use --count with --frames: leave out one of them");
	if (o->count && o->sampled && (o->hot || (o->engine && finds_hot(o->engine))))
		message_usage(state,
			      "cannot take samples beside the hot contexts of --count: a summary "
			      "has one event; leave out --hot and --engine, or -F, -c, -e, -b and "
			      "--signal");
	if (o->count && o->hot && o->engine && !finds_hot(o->engine))
		message_usage(state,
			      "cannot use --hot with --engine=%s: leave out one of them, or use "
			      "--engine=hcct",
			      o->engine);
	if (sampled_events.n > 1 && one)
		message_usage(state,
			      "cannot record several events with --%s, which knows only one: name "
			      "one event with -e, or leave out --%s",
			      one, one);
	if (o->windows.each && (o->count || o->hot))
		message_usage(state,
			      "cannot use --switch-output with --%s, which counts until the end: "
			      "leave out one of them",
			      one);
	if (o->windows.each && show)
		message_usage(state,
			      "cannot use --show with --switch-output: there is more than one "
			      "recording; leave out one of them");
	if (o->frames && o->verify)
		message_usage(state, "cannot use --frames with --verify: leave out one of them");
	if (default_hot()->per_thread && !o->hot && !(o->engine && finds_hot(o->engine)))
		message_usage(state, "cannot use --per-thread without --hot: all other recordings "
				     "keep threads apart; leave it out");
	if (o->hot && (o->verify || o->frames))
		message_usage(state, "cannot use --hot with --%s: leave out one of them",
			      o->verify ? "verify" : "frames");
}

static error_t parse_record_option(int key, char *arg, struct argp_state *state)
{
	static int (*const limits[])(struct sampler_system *, const char *, struct error *) = {
		system_limits_cpus, system_limits_user, system_limits_cgroup};
	struct record_options *o = state->input;
	struct error why;

	o->sampled |= key == 'F' || key == 'c' || key == 'e' || key == 'b' || key == OPT_SIGNAL ||
		      key == OPT_VERIFY;
	switch (key) {
	case 'F':
		rate.frequency = sample_option_number(state, "frequency", arg, EVENT_FREQUENCY_MAX);
		break;
	case 'c':
		rate.period = sample_option_number(state, "count", arg, EVENT_PERIOD_MAX);
		break;
	case OPT_COUNT:
		if (!arg || !strcmp(arg, "calls"))
			o->count = true;
		else
			rate.period = sample_option_number(state, "count", arg, EVENT_PERIOD_MAX);
		o->sampled |= rate.period != 0;
		break;
	case OPT_ENGINE:
		if (strcmp(arg, "cct") && !finds_hot(arg) && strcmp(arg, "empty"))
			message_usage(
				state,
				"cannot use --engine=%s: it must be cct, hcct, lossy or empty",
				arg);
		o->engine = arg;
		break;
	case OPT_BURST:
		o->bursts = option_burst(state, arg);
		break;
	case OPT_LATENCY:
		o->latency = arg;
		o->count = true;
		break;
	case OPT_OFF_CPU:
	case OPT_WALL:
		arg = key == OPT_WALL ? "cpu-clock,off-cpu" : "off-cpu";
		/* fallthrough */
	case 'e':
		if (event_list_add(&sampled_events, arg, &why))
			message_usage(state, "%s", why.text);
		break;
	case 'b':
		o->sampler = arg;
		break;
	case 'o':
		if (!strcmp(arg, "-"))
			message_usage(state,
				      "cannot write the recording to standard output: the command "
				      "writes there; name a file with -o");
		o->output = arg;
		break;
	case 'p':
		sample_option_target(state, o, arg);
		break;
	case 'a':
		o->system = &whole_system;
		break;
	case 'C':
	case 'u':
	case 'G':
		if (limits[key == 'C' ? 0 : key == 'u' ? 1 : 2](&whole_system, arg, &why))
			message_usage(state, "%s", why.text);
		o->system = &whole_system;
		break;
	case OPT_VERIFY:
		o->verify = true;
		break;
	case OPT_HOT:
		o->hot = option_hot(state, arg);
		break;
	case OPT_PER_THREAD:
		default_hot()->per_thread = true;
		break;
	case OPT_ONLY:
		o->only = option_only(state, arg);
		o->only_text = arg;
		break;
	case OPT_FRAMES:
		o->frames = option_frames(state, arg);
		o->choose_frames = false;
		break;
	case OPT_SIGNAL:
		o->signal = option_signal(state, arg);
		break;
	case OPT_DURATION:
		o->duration = option_duration(state, arg);
		break;
	case OPT_SWITCH_OUTPUT:
		o->windows = option_switch_output(state, arg);
		break;
	case OPT_SHOW:
		show = true;
		break;
	case 'q':
		o->quiet = true;
		break;
	case 'v':
		o->verbose = true;
		break;
	case 'g':
	case OPT_CALL_GRAPH:
		message_usage(state,
			      "cannot use %s: every sample has its whole calling context; leave it "
			      "out",
			      key == 'g' ? "-g" : "--call-graph");
		break;
	case ARGP_KEY_ARGS:
		o->command = state->argv + state->next;
		break;
	case ARGP_KEY_END:
		if (!sampled_events.n && event_list_add(&sampled_events, EVENT, &why))
			message_usage(state, "%s", why.text);
		if (o->n_targets && o->command)
			message_usage(state,
				      "cannot record both a command and a process; leave out "
				      "the command or -p");
		if (!o->n_targets && !o->system && !o->command)
			message_usage(state,
				      "cannot record: no command is given; name a command or a "
				      "process (-p PID), or use -a for the whole system");
		check_record_options(state, o);
		if (!*o->output)
			message_usage(state, "cannot write the recording: the name of the file is "
					     "empty; name a file with -o");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static void print_record_lists(FILE *out)
{
	fputs("Samplers:\n", out);
	for (size_t i = 0; samplers[i]; i++)
		fprintf(out, "  %-4s  %s\n", samplers[i]->name, samplers[i]->what);
	fputs("\nEvents:\n", out);
	perf_event_print_names(out);
}

static char *filter_record_help(int key, const char *text, void *input)
{
	(void)input;
	return help_list(key, text, print_record_lists);
}

/* Only a regular file can be read again. */
static void show_recording(const struct record_options *o)
{
	char *argv[] = {"pcce report", "-i", (char *)(uintptr_t)o->output, o->quiet ? "-q" : NULL,
			NULL};
	struct stat st;

	if (!stat(o->output, &st) && S_ISREG(st.st_mode)) {
		signal(SIGTERM, SIG_DFL);
		neighbour_run("pcce-report", argv);
	}
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		options,
		parse_record_option,
		"-- COMMAND [ARGUMENT...]\n-p PID\n-a [-- COMMAND [ARGUMENT...]]",
		doc,
		NULL,
		filter_record_help,
		NULL};
	struct record_options o = {.sampler = SAMPLER,
				   .output = "pcce.data",
#ifdef PCCE_RESTORE
				   .reuse = &reuse_frames,
#endif
				   .choose_frames = true};
	bool complete;
	int status;

	/* In order: the options of the command belong to the command. */
	if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &o))
		return 1;
	if (o.count) {
		if (!o.engine)
			o.engine = o.hot ? "hcct" : "cct";
		if (finds_hot(o.engine) && !o.hot)
			o.hot = default_hot();
		o.counted = o.latency	      ? "calls with durations"
			    : !o.bursts	      ? "calls"
			    : o.bursts->every ? "calls in adaptive bursts"
					      : "calls in bursts";
	}
	o.sampled = o.sampled && o.count;
	event_list_set_rates(&sampled_events, rate.frequency,
			     o.count && !o.sampled ? 1 : rate.period);
	/* Verify mode has no counters, and the other two know only one event. */
	if (!o.verify && !o.hot && !o.only)
		event_list_complete(&sampled_events);
	o.events = sampled_events.of;
	o.n_events = sampled_events.n;
	for (uint32_t i = 0; i < o.n_events; i++)
		o.waits |= perf_event_is_waits(o.events[i].name);
	status = record_run(&o, &complete);
	if (show && complete)
		show_recording(&o);
	return status;
}
