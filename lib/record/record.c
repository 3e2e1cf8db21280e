/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Runs pcce-record after its options are known. record_run() does these steps:
 *
 *   1. choose a sampler, and create the output;
 *   2. fork the command, which waits;
 *   3. start the sampler on the command, the processes of -p or the whole system, and release the
 *      command;
 *   4. poll until the command or the processes end, or a signal arrives;
 *   5. stop the sampler;
 *   6. write the symbols (write_symbols.c) and the end record.
 *
 * The sampler delivers to the chain of chain.c, which writes records. If a step fails, the records
 * written so far stay readable, and the command continues unharmed.
 *
 * A terminal sends SIGINT to the command, too. If somebody sent the signal to the recorder alone,
 * the recorder passes it on. It then records for another moment, to include the command's end.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <pcce/sample.h>
#include "base/array.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/output_file.h"
#include "base/privilege.h"
#include "filter/only.h"
#include "filter/windows.h"
#include "hot/parameters.h"
#include "record/chain.h"
#include "record/choose_frames.h"
#include "record/choose_sampler.h"
#include "record/format_number.h"
#include "record/running.h"
#include "record/say.h"
#include "record/summary.h"
#include "record/targets.h"
#include "record/window_files.h"
#include "record/write_info.h"
#include "record/write_symbols.h"
#include "sampler/perf_event.h"

#define POLL_MS 100
#define LOOKS 64		 /* processes that are asked for their tracer at each poll */
#define GRACE_NS 500000000ULL	 /* between a signal and the end of the recording */
#define PROGRESS_NS 200000000ULL /* between two progress lines */
/* A killed recorder loses what has come since the last flush. Records that are flushed together are
 * packed together, so fewer of them take more bytes each. */
#define FLUSH_NS 500000000ULL

struct recorder {
	struct stream watch; /* the stage that sees which programs run */
	const struct record_options *options;
	const struct sampler_config *config;
	struct active_sampler active;
	struct child command;
	bool command_runs;
	int status;		/* of the command, from wait(2); -1: unknown */
	struct targets targets; /* of -p */
	struct output_file output;
	struct window_files files; /* of --switch-output */
	struct datafile_writer *writer;
	struct record_modules *modules;
	struct chain chain;
	const char *program;			 /* the command's file; NULL: not known */
	const struct record_module *main_module; /* of the recorded command or process */
	pid_t main_pid;
	struct running running;
	uint64_t image;		    /* running_image() of the command that is counted */
	pid_t traced;		    /* the first process that a debugger was attached to; 0: none */
	struct pcce_sample *marked; /* a copy of a sample, with PCCE_SAMPLE_TRACED */
	size_t marked_size;
	bool any_instrumented, privileged, shared_runtime, executed, complete;
	uint64_t progress_due, traced_due, flush_due;
	uint64_t end;	     /* when the recording shall end; UINT64_MAX: with the program */
	uint64_t deadline;   /* after a signal; 0: none came */
	uint64_t window_end; /* when the next file shall begin */
	size_t watched;	     /* counts the processes that watch_tracers() has looked at */
	bool progress_shown;
};

static volatile sig_atomic_t stop_signal, stop_sent;
static bool be_quiet, be_verbose;

static void warn(const char *text)
{
	say("warning: %s", text);
}

static void note(const char *text)
{
	if (be_verbose)
		say("%s", text);
}

/* ---- the beginning -------------------------------------------------------------- */

static void note_stop_signal(int sig, siginfo_t *info, void *context)
{
	(void)context;
	stop_signal = sig;
	stop_sent = info->si_code <=
		    0; /* a process sent it to us; the terminal sends to the whole group */
}

static void note_child(int sig)
{
	(void)sig; /* the signal only interrupts waiting calls */
}

/* A system call fails instead. Not by SIG_IGN, which the command would inherit. */
static void survive_signal(int signal)
{
	struct sigaction catch = {.sa_handler = note_child}, old;

	if (!sigaction(signal, NULL, &old) && old.sa_handler == SIG_DFL)
		sigaction(signal, &catch, NULL);
}

static void catch_stop_signals(struct recorder *r)
{
	struct sigaction stop = {.sa_sigaction = note_stop_signal, .sa_flags = SA_SIGINFO};
	struct sigaction child = {.sa_handler = note_child, .sa_flags = SA_NOCLDSTOP};

	/* SIGINT ends a recording, even if a shell started the recorder with SIGINT ignored (a
	 * background job in a script). The command gets the old handlers back (base/child.c). */
	sigaction(SIGINT, &stop, &r->command.old_int);
	sigaction(SIGTERM, &stop, &r->command.old_term);
	sigaction(SIGCHLD, &child, NULL);
	survive_signal(SIGPIPE);
	survive_signal(SIGXFSZ);
}

/* Modules, events and rings need descriptors. The command gets the old limit back
 * (base/child.c). */
static void raise_file_limit(struct rlimit *old)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, old))
		return;
	limit = (struct rlimit){old->rlim_max, old->rlim_max};
	setrlimit(RLIMIT_NOFILE, &limit);
}

static void warn_privileged(struct recorder *r, const char *program)
{
	const char *privilege =
		r->active.ops == &sampler_self && program ? privilege_of_program(program) : NULL;

	if (!privilege)
		return;
	r->privileged = true;
	say("warning: %s %s: the self sampler cannot sample it; use -b bpf as root", program,
	    privilege);
}

static int cannot_run(const char *name, int err)
{
	say("cannot run %s: %s", name, strerror(-err));
	return err == -ENOENT ? 127 : 126;
}

/* Forks the command, or finds the process, and starts the sampler. 0, or the exit status. */
static int begin_recording(struct recorder *r, const struct sampler_config *config)
{
	struct error why = {0};
	int err;

	if (r->active.ops->prepare(config, &r->active.sampler, &why)) {
		if (config->engine)
			say("cannot count calls: %s", why.text);
		else
			say("cannot prepare the %s sampler: %s", r->active.ops->name, why.text);
		return 1;
	}
	if (r->targets.n) {
		r->main_pid = r->targets.pids[0];
	} else if (r->options->command) {
		err = child_fork(&r->command, r->options->command);
		if (err) {
			say("cannot create a process: %s", strerror(-err));
			return 1;
		}
		r->main_pid = r->command.pid;
	}
	if (r->active.ops->start(r->active.sampler, r->command.pid, &why)) {
		say("cannot start the %s sampler: %s", r->active.ops->name, why.text);
		if (r->options->command)
			child_cancel(&r->command);
		return 1;
	}
	if (!r->options->command)
		return 0;
	err = child_release(&r->command);
	if (err)
		return cannot_run(r->options->command[0], err);
	/* The program has not begun, so it can be ended. */
	if (r->active.ops->released && r->active.ops->released(r->active.sampler, &why)) {
		say(config->engine ? "cannot count calls: %s" : "cannot record: %s", why.text);
		kill(r->command.pid, SIGKILL);
		while (waitpid(r->command.pid, NULL, 0) < 0 && errno == EINTR)
			;
		return 1;
	}
	r->command_runs = true;
	return 0;
}

/* ---- the chain ------------------------------------------------------------------ */

static bool note_traced(struct recorder *r, pid_t pid, bool traced, bool first)
{
	if (first && !r->traced)
		r->traced = pid;
	return traced;
}

/* Looks whether a debugger is attached to a process, whose samples are marked from then on. */
static bool look_for_tracer(struct recorder *r, pid_t pid)
{
	bool first, traced = running_look(&r->running, pid, &first);

	return note_traced(r, pid, traced, first);
}

/* Does the same for a process that has a sample. To ask /proc at each sample costs more than all
 * else, so a sampler that sees tracers is believed if there is none. */
static bool is_traced(struct recorder *r, const struct pcce_sample *s)
{
	bool first, traced;

	if (!r->active.ops->sees_tracers)
		return look_for_tracer(r, (pid_t)s->pid);
	traced = running_sample(&r->running, (pid_t)s->pid, s->flags & PCCE_SAMPLE_TRACED, &first);
	return note_traced(r, (pid_t)s->pid, traced, first);
}

/* Gives an event a copy of its sample, with a mark, if a debugger is or was attached to its
 * process, or without the mark of the sampler. */
static int mark_traced(struct recorder *r, struct stream_event *e)
{
	size_t size = pcce_sample_size(e->sample);
	uint32_t mark = is_traced(r, e->sample) ? PCCE_SAMPLE_TRACED : 0;

	if ((e->sample->flags & PCCE_SAMPLE_TRACED) == mark)
		return 0;
	if (array_reserve(&r->marked, &r->marked_size, size, 1))
		return -ENOMEM;
	memcpy(r->marked, e->sample, size);
	r->marked->flags = (r->marked->flags & ~PCCE_SAMPLE_TRACED) | mark;
	e->sample = r->marked;
	return 0;
}

static int watch_event(struct stream *s, struct stream_event *e)
{
	int err = mark_traced((struct recorder *)s, e);

	return err ? err : stream_pass(s->next, event, e);
}

static int watch_summary_event(struct stream *s, struct stream_event *e)
{
	int err = mark_traced((struct recorder *)s, e);

	return err ? err : stream_pass(s->next, summary_event, e);
}

static int watch_process(struct stream *s, const struct pcce_rec_process *rec, const char *comm)
{
	struct recorder *r = (struct recorder *)s;
	int err;

	look_for_tracer(r, (pid_t)rec->ppid);
	if ((pid_t)rec->pid == r->main_pid)
		r->main_module = NULL;
	err = running_note(&r->running, rec);
	return err ? err : stream_pass(s->next, process, rec, comm);
}

/* Libraries bring the runtime into a program that does not have it. */
static bool is_shared_runtime(const char *path)
{
	static const char name[] = "/libpcce.so.";
	const char *slash = strrchr(path, '/');

	return slash && !strncmp(slash, name, sizeof(name) - 1);
}

static int watch_map(struct stream *s, const struct pcce_rec_map *rec, uint64_t pgoff,
		     const char *path)
{
	struct recorder *r = (struct recorder *)s;
	const struct record_module *module;

	if (rec->module != PCCE_MODULE_NONE) {
		module = record_modules_get(r->modules, rec->module);
		r->any_instrumented |= module->instrumented;
		if (module->instrumented)
			running_note_instrumented(&r->running, (pid_t)rec->pid);
		r->shared_runtime |= is_shared_runtime(path);
		/* Libraries come later. */
		if (module->program && (pid_t)rec->pid == r->main_pid && !r->main_module &&
		    !r->options->system)
			r->main_module = module;
	}
	return stream_pass(s->next, map, rec, pgoff, path);
}

static int build_chain(struct recorder *r, const struct sampler_config *sampler, struct error *why)
{
	const struct record_live *live = r->options->live;
	struct stream *end = live ? live->end(live->ctx, r->modules) : NULL;
	static const struct stream_ops watch = {.process = watch_process,
						.map = watch_map,
						.event = watch_event,
						.summary_event = watch_summary_event};
	const struct chain_config config = {.options = r->options,
					    .sampler = &r->active,
					    .writer = r->writer,
					    .fd = r->output.fd,
					    .modules = r->modules,
					    .frames = {sampler->copy, r->options->reuse},
					    .watch = &r->watch,
					    .end = end};

	if (live && !end)
		return error_memory(why);
	r->watch.ops = &watch;
	return chain_build(&r->chain, &config, why);
}

/* ---- files ---------------------------------------------------------------------- */

/* Without a recording, the writer's records go nowhere. */
static int create_output(struct recorder *r, struct error *why)
{
	const struct record_options *o = r->options;

	if (o->windows.each && window_files_name(&r->files, o->output))
		return error_memory(why);
	if (!o->live)
		return output_file_create(&r->output, o->windows.each ? r->files.part : o->output,
					  OUTPUT_RECORDING, why);
	r->output.held = r->output.directory = -1;
	r->output.fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	return r->output.fd < 0 ? error_set(why, -errno, "%s", strerror(errno)) : 0;
}

/* The recording, whatever is at its path now. Empty if it is no regular file. */
static void recording_path(const struct recorder *r, char path[32])
{
	struct stat st;

	*path = 0;
	if (!fstat(r->output.fd, &st) && S_ISREG(st.st_mode))
		snprintf(path, 32, "/proc/self/fd/%d", r->output.fd);
}

/* Writes the symbols of a recording, whose stream has ended, and its end. */
static int complete_recording(void *recorder)
{
	struct recorder *r = recorder;
	const struct event_told *all = &r->chain.accounts->ended;
	struct recorded_modules modules = {.of = r->modules, .n = record_modules_count(r->modules)};
	struct pcce_rec_end rec = {
		.exit_status = r->status, .samples = all->samples, .lost = all->lost};
	struct error why = {0};
	char path[32];
	int err;

	if (r->chain.windows)
		modules.numbers = windows_modules(r->chain.windows, &modules.n);
	recording_path(r, path);
	if (!*path) {
		note("the output is not a regular file, so it contains no source lines");
	} else if (write_symbols(path, r->writer, &modules, r->files.n > 1 ? note : warn, note,
				 &why)) {
		if (datafile_writer_error(r->writer)[0])
			return -EIO;
		say("warning: the recording contains no source lines: %s", why.text);
	}
	rec.time = clock_ns(CLOCK_MONOTONIC);
	err = datafile_put(r->writer, PCCE_REC_END, &rec, sizeof(rec), NULL, 0);
	return err ? err : datafile_flush(r->writer);
}

static int complete_window(void *recorder)
{
	const struct recorder *r = recorder;
	int err = complete_recording(recorder);

	if (err)
		say("%s", *datafile_writer_error(r->writer) ? datafile_writer_error(r->writer)
							    : strerror(-err));
	return err;
}

/* A window goes on until the one before is complete, so that there are at most two. */
static bool window_is_over(struct recorder *r)
{
	const struct record_windows *w = &r->options->windows;
	uint64_t now;

	if (!w->each || window_files_busy(&r->files))
		return false;
	if (w->bytes && datafile_size(r->writer) >= w->bytes)
		return true;
	now = clock_ns(CLOCK_MONOTONIC);
	if (!w->ns || now < r->window_end)
		return false;
	r->window_end = now < r->window_end + w->ns ? r->window_end + w->ns : now + w->ns;
	return true;
}

/* Begins the next file of a recording in windows. The sampler delivers between two calls of poll()
 * only, so each sample is in one file. */
static int switch_output(struct recorder *r)
{
	struct datafile_writer *writer;
	struct error why = {0};
	int err = stream_pass(r->chain.first, window);

	if (!err)
		err = datafile_flush(r->writer);
	if (err)
		return err;
	window_files_complete(&r->files, complete_window, r);
	r->files.bytes += datafile_size(r->writer);
	err = create_output(r, &why);
	if (!err)
		err = output_file_commit(&r->output);
	if (!err)
		err = datafile_writer_new(r->output.fd, r->files.part, &writer);
	if (err) {
		say("cannot create %s: %s", r->files.part, *why.text ? why.text : strerror(-err));
		return err;
	}
	datafile_writer_close(r->writer);
	r->writer = writer;
	r->flush_due = 0;
	err = windows_switch(r->chain.windows, writer);
	return err ? err : write_info(r->chain.first, r->options, r->config, r->active.ops);
}

/* ---- the loop ------------------------------------------------------------------- */

static void show_progress(struct recorder *r, bool end)
{
	uint64_t now, samples = 0;
	char n[32], size[32];

	if (end) {
		if (r->progress_shown)
			fputs("\r\033[K", stderr);
		r->progress_shown = false;
		return;
	}
	if (be_quiet || !isatty(STDERR_FILENO))
		return;
	now = clock_ns(CLOCK_MONOTONIC);
	if (now < r->progress_due)
		return;
	r->progress_due = now + PROGRESS_NS;
	for (uint32_t i = r->options->sampled ? 1 : 0; i < r->chain.accounts->n; i++)
		samples += r->chain.accounts->of[i].samples;
	format_count(n, sizeof(n), samples);
	format_bytes(size, sizeof(size), datafile_size(r->writer));
	fprintf(stderr, "\rpcce-record: %s samples, %s\033[K", n, size);
	r->progress_shown = true;
}

/* True if the recorded processes, or the command, have ended. */
static bool target_has_ended(struct recorder *r)
{
	if (!r->options->command)
		return r->targets.n && targets_have_ended(&r->targets);
	if (r->command_runs && waitpid(r->command.pid, &r->status, WNOHANG) == r->command.pid)
		r->command_runs = false;
	return !r->command_runs;
}

/* The counting ends when the command executes a program. */
static void watch_image(struct recorder *r)
{
	uint64_t image = r->options->count && r->command_runs ? running_image(r->main_pid) : 0;

	r->executed |= r->image && image && image != r->image;
	r->image = image ? image : r->image;
}

/* Processes without samples are looked at, too, since a debugger can visit one that sleeps. It goes
 * round, a few at a time. */
static void watch_tracers(struct recorder *r)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	unsigned int left = LOOKS;

	if (now < r->traced_due)
		return;
	r->traced_due = now + POLL_MS * 1000000ULL;
	for (size_t i = 0; i < r->running.n && left; i++) {
		const struct seen_process *p = &r->running.seen[r->watched++ % r->running.n];

		if (p->ended || p->traced || !(p->instrumented || r->running.all))
			continue;
		left--;
		look_for_tracer(r, p->pid);
	}
}

static int note_main_process(struct recorder *r)
{
	/* With --count, the sampler finds processes only at the end. */
	const struct pcce_rec_process first = {.time = clock_ns(CLOCK_MONOTONIC),
					       .pid = (uint32_t)r->main_pid};

	r->end = r->options->duration ? first.time + r->options->duration : UINT64_MAX;
	r->window_end = first.time + r->options->windows.ns;
	return r->main_pid ? running_note(&r->running, &first) : 0;
}

static int flush_sometimes(struct recorder *r)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (now < r->flush_due)
		return 0;
	r->flush_due = now + FLUSH_NS;
	return datafile_flush(r->writer);
}

/* Takes what has come, and waits for more, for at most ms. 0; 1: it is over; or -errno. */
static int record_step(void *recorder, int ms)
{
	struct recorder *r = recorder;
	bool over = target_has_ended(r);
	int err;

	watch_image(r);
	watch_tracers(r);
	/* The first flush writes what the file is, before anything can end the recorder. */
	err = flush_sometimes(r);
	if (!err)
		err = r->active.ops->poll(r->active.sampler, r->chain.first, over ? 0 : ms);
	if (err || over)
		return err ? err : 1;
	if (window_is_over(r))
		err = switch_output(r);
	if (err)
		return err;
	if (clock_ns(CLOCK_MONOTONIC) >= r->end)
		return 1;
	if (!stop_signal)
		return 0;
	if (!r->command_runs)
		return 1;
	if (!r->deadline) {
		r->deadline = clock_ns(CLOCK_MONOTONIC) + GRACE_NS;
		if (stop_sent)
			kill(r->command.pid, stop_signal);
	}
	return clock_ns(CLOCK_MONOTONIC) > r->deadline;
}

static int record_loop(struct recorder *r)
{
	const struct record_live *live = r->options->live;
	int step = note_main_process(r);

	if (!step && live)
		return live->run(live->ctx, record_step, r);
	while (!step) {
		step = record_step(r, POLL_MS);
		if (!step)
			show_progress(r, false);
	}
	return step < 0 ? step : 0;
}

/* ---- the end -------------------------------------------------------------------- */

/* Ends the recording, or its last window. */
static int finish_recording(struct recorder *r)
{
	int err = stream_pass(r->chain.first, end);

	if (!err)
		err = datafile_flush(r->writer);
	if (!err)
		err = complete_recording(r);
	return err || !r->options->windows.each ? err : window_files_rename(&r->files);
}

static void warn_of_running(const struct recorder *r)
{
	bool over = r->options->command ? !r->command_runs : targets_have_ended(&r->targets);
	/* Of the whole system, all that was there is still there. */
	size_t n = r->options->system || !over ? 0 : running_count(&r->running, r->main_pid);

	if (r->executed)
		say("warning: the program has executed a program, or itself again: calls after "
		    "that "
		    "are not counted");
	if (r->traced)
		say("warning: a debugger or tracer was attached to process %d: it may have called "
		    "a function there, so the contexts after that are marked",
		    (int)r->traced);
	if (n)
		say("warning: processes that still run after the program's end: %zu; what they do "
		    "from now on is not recorded; let the command wait for them",
		    n);
}

static void print_summary(const struct recorder *r, const struct sampler_config *config)
{
	const struct accounts *all = r->chain.accounts;
	char no_match[PATH_MAX + 512] = "";
	uint64_t kept = 0;

	for (uint32_t i = 0; i < all->n; i++)
		kept += all->of[i].samples;
	if (r->chain.only)
		only_explain(r->chain.only, kept != 0, no_match, sizeof(no_match));
	for (uint32_t i = 0; i < all->n; i++) {
		/* One of the other events that come with allocations. */
		bool derived = i > 0 && !r->options->count &&
			       perf_event_is_allocations(r->options->events[i].name);
		const struct record_summary summary = {
			.options = r->options,
			.account = &all->of[i],
			.no_match = no_match,
			.event = &r->options->events[r->options->count ? 0 : i],
			.calls = r->options->count && i == 0,
			.first = i == 0,
			.last = i + 1 == all->n ||
				perf_event_is_allocations(r->options->events->name),
			.derived = derived,
			.sampler = i && config->beside ? config->beside->name : r->active.ops->name,
			.why_nothing = i == 0 && r->active.ops->why_nothing
					       ? r->active.ops->why_nothing(r->active.sampler)
					       : NULL,
			.bytes = r->files.bytes + datafile_size(r->writer),
			.windows = r->options->windows.each ? r->files.n + 1 : 0,
			.whole_stacks = config->copy & SAMPLER_COPY_OUTSIDE,
			.program = r->program,
			.main_module = r->main_module,
			.any_instrumented = r->any_instrumented,
			.shared_runtime = r->shared_runtime,
			.privileged = r->privileged,
		};

		record_print_summary(&summary);
	}
}

/* Waits for the command's end, or for a second signal. Returns the exit status. */
static int pass_on_status(struct recorder *r)
{
	stop_signal = 0;
	while (r->command_runs) {
		if (waitpid(r->command.pid, &r->status, 0) == r->command.pid)
			r->command_runs = false;
		else if (errno != EINTR || stop_signal)
			break;
	}
	if (r->command_runs)
		return 128 + (stop_signal ? stop_signal : SIGTERM);
	return WIFSIGNALED(r->status) ? 128 + WTERMSIG(r->status) : WEXITSTATUS(r->status);
}

static int run_recorder(struct recorder *r, const struct sampler_config *config)
{
	int status = begin_recording(r, config), err, stop_err;

	if (status)
		return status;
	err = r->options->live ? 0 : output_file_commit(&r->output);
	if (err)
		say("cannot create %s: %s; nothing is recorded", r->options->output,
		    strerror(-err));
	if (!err)
		err = write_info(r->chain.first, r->options, config, r->active.ops);
	if (!err)
		err = record_loop(r);
	stop_err = r->active.ops->stop(r->active.sampler, r->chain.first);
	show_progress(r, true);
	if (!err)
		err = stop_err;
	if (!err && !r->options->live)
		err = finish_recording(r);
	window_files_wait(&r->files);
	if (err && datafile_writer_error(r->writer)[0])
		say("%s", datafile_writer_error(r->writer));
	else if (err < 0)
		say("the recording ended early: %s", strerror(-err));
	else if (!r->options->live)
		print_summary(r, config);
	warn_of_running(r);
	err = err || !r->files.failed ? err : -EIO;
	r->complete = !err && stop_signal != SIGTERM;
	if (!r->options->command)
		return err ? 1 : 0;
	status = pass_on_status(r);
	return err && !status ? 1 : status;
}

int record_run(const struct record_options *o, bool *complete)
{
	/* Most processes of a system have no contexts that a tracer could change. */
	struct recorder r = {.options = o, .status = -1, .running = {.all = !o->system}};
	struct sampler_config config = {
		.events = o->events,
		.n_events = o->n_events,
		.system = o->system,
		.verify = o->verify,
		.turn_ms = o->live ? POLL_MS : 0,
		.signal = o->signal,
		.engine = o->engine,
		.bursts = o->bursts,
		.latency = o->latency,
		.counters = o->count && o->hot ? hot_counters(o->hot->epsilon) : 0,
	};
	char *program = NULL;
	int status = 1, err = 0;
	struct error why;

	r.config = &config;
	*complete = false;
	be_quiet = o->quiet;
	be_verbose = o->verbose;
	if (o->command) {
		program = child_find(o->command[0], &err);
		if (!program)
			return cannot_run(o->command[0], err);
		config.program = program;
	}
	catch_stop_signals(&r);
	raise_file_limit(&r.command.old_files);
	for (size_t i = 0; i < o->n_targets; i++)
		if (targets_add(&r.targets, o->targets[i]))
			goto out;
	config.targets = r.targets.pids;
	config.n_targets = r.targets.n;
	config.copy = o->choose_frames ? choose_frames(o, program, &r.targets) : o->frames;
	err = choose_sampler(o, &config, &r.active);
	if (err)
		goto out;
	if (o->choose_frames && !o->system)
		choose_frames_for(r.active.ops, program, be_quiet, &config);
	r.program = program;
	warn_privileged(&r, program);
	err = create_output(&r, &why);
	if (err) {
		say("cannot create %s: %s", o->windows.each ? r.files.part : o->output, why.text);
		goto out;
	}
	if (!datafile_writer_new(r.output.fd, o->windows.each ? r.files.part : o->output,
				 &r.writer))
		r.modules = record_modules_new(o->live || o->windows.each ? NULL : r.writer, warn);
	if (!r.modules)
		say("out of memory");
	else if (build_chain(&r, &config, &why))
		say("%s", why.text);
	else
		status = run_recorder(&r, &config);
	if (r.active.sampler)
		r.active.ops->destroy(r.active.sampler);
	chain_free(&r.chain);
	output_file_discard(&r.output);
	window_files_free(&r.files);
	running_free(&r.running);
	free(r.marked);
	record_modules_free(r.modules);
	if (r.writer && datafile_writer_close(r.writer) && !status)
		status = 1;
out:
	*complete = r.complete && !r.command_runs;
	targets_free(&r.targets);
	free(program);
	return status;
}
