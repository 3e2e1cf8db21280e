// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * step [OPTION...] PROGRAM [ARGUMENT...]
 *
 * Runs a program one instruction at a time.  After each instruction it compares the context that
 * the decoder makes of the thread page with the true chain of calls.
 *
 * Everything is stepped: instrumented code, the C library, the dynamic linker, all threads, forked
 * children, and instrumented programs that they exec.  Only the code before the entry point of an
 * instrumented executable runs freely.  The executable's constructor announces its page, so samples
 * from that code are "outside".  --from-start steps that code too.
 *
 *   step.c     the loop: ptrace, threads, signals; exec, fork, clone
 *   insn.c     classifies an instruction
 *   chain.c    the witness; chain.h defines what the truth is
 *   sample.c   takes the sample that a sampler would take at this moment
 *   check.c    decodes the sample and compares it; walk.c, report.c
 *   counts.c   with --counts, how often functions were entered in each context
 *   space.c    mappings and encoding tables
 *   capture.c  with --capture, lets the program ask for its context; captured.c, names.c
 *
 * Exit status: 0 if all samples agreed, 1 if one did not, 2 if the program could not be run.
 * Results go to standard error or to -o FILE.  The program's status is one of them.
 */
#define _GNU_SOURCE
#include <argp.h>
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <uthash.h>
#include "tests/oracle/capture.h"
#include "tests/oracle/check.h"
#include "tests/oracle/counts.h"

#define INSN_CACHE (1u << 15)

struct process {
	pid_t pid;
	unsigned int threads;
	struct space space;
	bool captures; /* it has the handler of CAPTURE_SIGNAL */
	struct {
		uint64_t ip, generation;
		enum insn insn;
	} * insns;
};

struct thread {
	pid_t tid;
	struct process *process;
	struct chain chain;
	struct user_regs_struct regs; /* before the instruction that is being executed */
	enum insn insn;		      /* its kind */
	uint64_t sent;		      /* see sample_take() */
	bool running;		      /* regs are known */
	bool signalled;		      /* a signal was passed on with the last step */
	bool expects_parent;	      /* it has stopped before its parent's event told of it */
	UT_hash_handle hh;
};

static struct thread *threads;
static struct checker checker;
static struct capture capture;
static uint64_t capture_period;
static enum captured_mistake mistake;
static const char *preload;
static uint64_t limit = UINT64_MAX, restoring_max = UINT64_MAX, steps, n_threads, n_signals;
static bool from_start, no_checks;
static FILE *counts;
static int exit_status = -1;
static struct {
	int signal;
	uint64_t period, since;
} send;
static FILE *out;

static void die(const char *what)
{
	fprintf(stderr, "step: %s: %s\n", what, strerror(errno));
	exit(2);
}

static void *zalloc(size_t size)
{
	void *p = calloc(1, size);

	if (!p)
		die("no memory left");
	return p;
}

/* ---- processes and threads ------------------------------------------------------------- */

static struct thread *find_thread(pid_t tid)
{
	struct thread *t;

	HASH_FIND_INT(threads, &tid, t);
	return t;
}

static struct process *new_process(pid_t pid)
{
	struct process *p = zalloc(sizeof(*p));

	p->pid = pid;
	p->insns = zalloc(INSN_CACHE * sizeof(*p->insns));
	return p;
}

static struct thread *new_thread(pid_t tid, struct process *p)
{
	struct thread *t = zalloc(sizeof(*t));

	t->tid = tid;
	t->process = p;
	if (p)
		p->threads++;
	HASH_ADD_INT(threads, tid, t);
	n_threads++;
	return t;
}

static void leave_process(struct process *p)
{
	if (!p || --p->threads)
		return;
	space_free(&p->space);
	free(p->insns);
	free(p);
}

static void forget(struct thread *t)
{
	HASH_DEL(threads, t);
	chain_free(&t->chain);
	leave_process(t->process);
	free(t);
}

static void detach(struct thread *t)
{
	ptrace(PTRACE_DETACH, t->tid, 0, 0);
	forget(t);
}

static struct moment moment_of(const struct user_regs_struct *regs)
{
	return (struct moment){regs->rip, regs->rsp, regs->r11};
}

/* ---- signals of our own ----------------------------------------------------------------- */

/* Sets of signals. */
static void read_signals(pid_t tid, unsigned long long *blocked, unsigned long long *caught)
{
	char path[64], *line = NULL;
	size_t capacity = 0;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	in = fopen(path, "re");
	while (in && getline(&line, &capacity, in) > 0) {
		sscanf(line, "SigBlk: %llx", blocked);
		sscanf(line, "SigCgt: %llx", caught);
	}
	free(line);
	if (in)
		fclose(in);
}

static bool is_caught(pid_t tid, int signal)
{
	unsigned long long blocked = ~0ULL, caught = 0;

	read_signals(tid, &blocked, &caught);
	return caught & ~blocked & 1ULL << (signal - 1);
}

/* --signal: at every Nth instruction outside of handlers. */
static void send_signal(struct thread *t)
{
	if (!send.signal || t->chain.n_signals || ++send.since < send.period ||
	    !is_caught(t->tid, send.signal))
		return;
	send.since = 0;
	syscall(SYS_tgkill, t->process->pid, t->tid, send.signal);
}

/* ---- captures -------------------------------------------------------------------------- */

static void look_for_handler(struct thread *t)
{
	unsigned long long blocked = 0, caught = 0;

	read_signals(t->tid, &blocked, &caught);
	t->process->captures = caught & 1ULL << (CAPTURE_SIGNAL - 1);
}

/* ---- one instruction ----------------------------------------------------------------------- */

static enum insn insn_at(struct process *p, uint64_t ip)
{
	size_t i = (ip ^ ip >> 15) % INSN_CACHE;
	const struct decode_module *m = p->space.as.find(&p->space.as, ip);
	uint8_t code[INSN_MAX];
	size_t n;

	/* Code that is not in a file may change at any time, such as that on a stack. */
	if (p->insns[i].ip != ip || p->insns[i].generation != p->space.generation || !m ||
	    *space_file(m->module)->path != '/') {
		n = memory_read(p->pid, ip, code, sizeof(code));
		p->insns[i].ip = ip;
		p->insns[i].generation = p->space.generation;
		p->insns[i].insn = insn_classify(code, n);
	}
	return p->insns[i].insn;
}

static bool changes_code(const struct space *s, const struct user_regs_struct *before)
{
	switch (before->rax) {
	case SYS_mmap:
		return before->rdx & PROT_EXEC ||
		       (before->r10 & MAP_FIXED && space_overlaps(s, before->rdi, before->rsi));
	case SYS_mprotect:
	case SYS_pkey_mprotect:
		return before->rdx & PROT_EXEC || space_overlaps(s, before->rdi, before->rsi);
	case SYS_munmap:
	case SYS_mremap:
		return space_overlaps(s, before->rdi, before->rsi);
	default:
		return false;
	}
}

static void resume(struct thread *t, int signal)
{
	t->insn = insn_at(t->process, t->regs.rip);
	t->running = true;
	t->signalled = signal != 0;
	if (ptrace(PTRACE_SINGLESTEP, t->tid, 0, signal) && errno != ESRCH)
		die("cannot step");
}

static enum outcome take_and_check(struct thread *t)
{
	static struct sample sample;

	if (no_checks)
		return OUTCOME_OUTSIDE;
	sample_take(&sample, &t->process->space, t->tid, &t->regs, &t->sent);
	return check(&checker, &t->chain, &t->process->space, &sample);
}

/* The kernel has built a signal frame: rdx is the third argument of a handler, whatever its type.
 */
static void on_handler(struct thread *t, const struct user_regs_struct *now)
{
	ucontext_t uc;
	uint64_t lo = 0, hi = 0;

	n_signals++;
	if (memory_read(t->process->pid, now->rdx, &uc, offsetof(ucontext_t, uc_mcontext)) &&
	    uc.uc_stack.ss_size && now->rsp - (uint64_t)uc.uc_stack.ss_sp < uc.uc_stack.ss_size &&
	    t->regs.rsp - (uint64_t)uc.uc_stack.ss_sp >= uc.uc_stack.ss_size) {
		lo = (uint64_t)uc.uc_stack.ss_sp;
		hi = lo + uc.uc_stack.ss_size;
	}
	chain_signal(&t->chain, &t->process->space, moment_of(&t->regs), moment_of(now), lo, hi);
}

/* Takes a sample and perhaps a capture.  Returns false if the thread is gone. */
static bool compare(struct thread *t, bool handler, int *status)
{
	struct capture_thread now = {.tid = t->tid,
				     .chain = &t->chain,
				     .space = &t->process->space,
				     .regs = &t->regs,
				     .handles = t->process->captures,
				     .with_frame = handler};

	now.sampled = take_and_check(t);
	return capture_now_and_then(&capture, &now, status);
}

/* The thread has executed an instruction, or is at a handler's first one.  Returns false if it is
 * gone since; *status is then what waitpid() said. */
static bool on_step(struct thread *t, bool handler, int *status)
{
	struct user_regs_struct now;
	struct space *s = &t->process->space;

	if (ptrace(PTRACE_GETREGS, t->tid, 0, &now))
		return true;
	if (!t->running) {
		t->regs = now;
	} else if (handler && t->signalled) {
		on_handler(t, &now);
		if (counts)
			counts_step(&t->chain, s, t->insn, true, t->regs.rip, now.rip);
		t->regs = now;
	} else {
		if (t->insn == INSN_SYSCALL && t->regs.rax == SYS_rt_sigreturn) {
			chain_sigreturn(&t->chain, s, moment_of(&now));
		} else {
			if (t->insn == INSN_SYSCALL && changes_code(s, &t->regs))
				space_read(s, t->process->pid);
			if (t->insn == INSN_SYSCALL && capture_period &&
			    t->regs.rax == SYS_rt_sigaction && t->regs.rdi == CAPTURE_SIGNAL)
				look_for_handler(t);
			chain_step(&t->chain, s, t->insn, moment_of(&t->regs), moment_of(&now));
			if (counts)
				counts_step(&t->chain, s, t->insn, false, t->regs.rip, now.rip);
		}
		t->regs = now;
		steps++;
	}
	if (!compare(t, handler, status))
		return false;
	send_signal(t);
	resume(t, 0);
	return true;
}

/* ---- events ---------------------------------------------------------------------------- */

static uint64_t process_entry(pid_t pid)
{
	uint64_t auxv[2] = {0, 0};
	char path[64];
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid);
	in = fopen(path, "re");
	while (in && fread(auxv, sizeof(auxv), 1, in) == 1 && auxv[0] != AT_ENTRY)
		;
	if (in)
		fclose(in);
	return auxv[0] == AT_ENTRY ? auxv[1] : 0;
}

/* Lets an executable that announces a page run up to its entry point. */
static bool run_to_entry(struct thread *t)
{
	uint64_t entry = process_entry(t->tid), trap;
	struct user_regs_struct regs;
	int status;
	long word;

	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, t->tid, entry, 0);
	if (!entry || errno)
		return false;
	trap = ((uint64_t)word & ~0xffULL) | 0xcc;
	ptrace(PTRACE_POKETEXT, t->tid, entry, trap);
	do {
		if (ptrace(PTRACE_CONT, t->tid, 0, 0) ||
		    waitpid(t->tid, &status, __WALL) != t->tid || !WIFSTOPPED(status))
			return false;
	} while (WSTOPSIG(status) != SIGTRAP);
	ptrace(PTRACE_POKETEXT, t->tid, entry, word);
	ptrace(PTRACE_GETREGS, t->tid, 0, &regs);
	regs.rip = entry;
	ptrace(PTRACE_SETREGS, t->tid, 0, &regs);
	return space_read(&t->process->space, t->process->pid);
}

static void begin(struct thread *t)
{
	if (ptrace(PTRACE_GETREGS, t->tid, 0, &t->regs))
		return;
	if (!t->process->space.n)
		space_read(&t->process->space, t->process->pid);
	chain_free(&t->chain);
	chain_begin(&t->chain, &t->process->space, moment_of(&t->regs));
	if (capture_period)
		look_for_handler(t);
	resume(t, 0);
}

static void on_exec(struct thread *t, bool first)
{
	struct thread *other, *next;
	struct process *p = t->process;

	HASH_ITER (hh, threads, other, next)
		if (other != t && other->process == p)
			forget(other);
	if (p->threads > 1) {
		p->threads--;
		p = t->process = new_process(t->tid);
		p->threads = 1;
	}
	if (!space_read(&p->space, t->tid) || (!first && !space_instrumented(&p->space))) {
		detach(t);
		return;
	}
	if (p->space.main && !from_start && !run_to_entry(t)) {
		fprintf(stderr, "step: the program did not reach its entry point\n");
		exit(2);
	}
	begin(t);
}

static pid_t process_of(pid_t tid)
{
	char path[64], *line = NULL;
	size_t capacity = 0;
	pid_t pid = tid;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	in = fopen(path, "re");
	while (in && getline(&line, &capacity, in) > 0)
		if (sscanf(line, "Tgid: %d", &pid) == 1)
			break;
	free(line);
	if (in)
		fclose(in);
	return pid;
}

/* A thread or a process was born; it may have stopped already. */
static void on_child(struct thread *parent, pid_t tid)
{
	struct thread *t = find_thread(tid);
	struct user_regs_struct regs;
	pid_t pid;
	bool known = t != NULL;

	if (!known) {
		int status;

		if (waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status))
			return;
		t = new_thread(tid, NULL);
	}
	pid = process_of(tid);
	if (pid == parent->process->pid) {
		t->process = parent->process;
	} else {
		t->process = new_process(pid);
		t->process->captures = parent->process->captures;
		space_read(&t->process->space, pid);
	}
	t->process->threads++;
	if (ptrace(PTRACE_GETREGS, tid, 0, &regs))
		return;
	if (regs.fs_base == parent->regs.fs_base) {
		chain_copy(&t->chain, &parent->chain);
		chain_other_stack(&t->chain, &t->process->space, moment_of(&regs));
		t->regs = regs;
		take_and_check(t);
		resume(t, 0);
	} else {
		begin(t);
	}
}

static void on_event(struct thread *t, int event)
{
	unsigned long message = 0;

	ptrace(PTRACE_GETEVENTMSG, t->tid, 0, &message);
	switch (event) {
	case PTRACE_EVENT_EXEC:
		on_exec(t, false);
		return;
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
	case PTRACE_EVENT_CLONE:
		on_child(t, (pid_t)message);
		break;
	default:
		break;
	}
	if (ptrace(PTRACE_SINGLESTEP, t->tid, 0, 0) && errno != ESRCH)
		die("cannot step");
}

/* Another signal than that of a step. */
static void on_signal(struct thread *t, int signal)
{
	siginfo_t info;
	bool stopped = ptrace(PTRACE_GETSIGINFO, t->tid, 0, &info) && errno == EINVAL;

	/* In a group stop there is nothing to pass on. A system call that it has interrupted may
	 * have been set back to be done again. */
	ptrace(PTRACE_GETREGS, t->tid, 0, &t->regs);
	resume(t, stopped ? 0 : signal);
}

static void on_stop(pid_t tid, int status, pid_t first)
{
	struct thread *t = find_thread(tid);
	int signal = WSTOPSIG(status), event = status >> 16;
	siginfo_t info;

	if (!WIFSTOPPED(status)) {
		if (tid == first)
			exit_status = status;
		if (t)
			forget(t);
		return;
	}
	if (!t) {
		/* Its parent will tell. */
		new_thread(tid, NULL);
		return;
	}
	if (!t->process)
		return;
	if (event) {
		on_event(t, event);
		return;
	}
	if (signal == SIGTRAP && !ptrace(PTRACE_GETSIGINFO, tid, 0, &info)) {
		/* The kernel says SIGTRAP when it has built the frame of a handler. */
		if (info.si_code == TRAP_TRACE || info.si_code == TRAP_BRKPT ||
		    info.si_code == SIGTRAP) {
			if (!on_step(t, info.si_code == SIGTRAP, &status))
				on_stop(tid, status, first);
			return;
		}
	}
	on_signal(t, signal);
}

/* ---- the whole -------------------------------------------------------------------------- */

static pid_t launch(char **argv)
{
	pid_t pid = fork();

	if (pid < 0)
		die("cannot fork");
	if (pid == 0) {
		personality(ADDR_NO_RANDOMIZE);
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		if (preload)
			setenv("LD_PRELOAD", preload, 1);
		execvp(argv[0], argv);
		fprintf(stderr, "step: cannot run %s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	return pid;
}

/* Pins tracer and program, which take turns, to one processor.  Each finds the other's words in the
 * cache, and no interrupt between processors has to wake it. */
static void stay_here(void)
{
	int cpu = sched_getcpu();
	cpu_set_t set;

	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void run(char **argv)
{
	struct thread *t, *next;
	pid_t pid, first;
	int status;

	first = launch(argv);
	if (waitpid(first, &status, 0) != first || !WIFSTOPPED(status))
		die("cannot start the program");
	if (ptrace(PTRACE_SETOPTIONS, first, 0,
		   PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
			   PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC))
		die("cannot trace the program");
	ptrace(PTRACE_CONT, first, 0, 0);
	if (waitpid(first, &status, 0) != first)
		die("cannot trace the program");
	if (!WIFSTOPPED(status) || status >> 16 != PTRACE_EVENT_EXEC)
		exit(2);
	on_exec(new_thread(first, new_process(first)), true);
	while (threads && steps < limit) {
		pid = waitpid(-1, &status, __WALL);
		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0)
			break;
		on_stop(pid, status, first);
	}
	HASH_ITER (hh, threads, t, next)
		kill(t->tid, SIGKILL);
}

static void print_results(void)
{
	fprintf(out, "instructions: %" PRIu64 "\n", steps);
	check_print(&checker, "");
	capture_print(&capture);
	fprintf(out, "threads: %" PRIu64 "\nsignals: %" PRIu64 "\n", n_threads, n_signals);
	if (exit_status < 0)
		fprintf(out, "status: not ended, stopped at the limit\n");
	else if (WIFSIGNALED(exit_status))
		fprintf(out, "status: signal %d\n", WTERMSIG(exit_status));
	else
		fprintf(out, "status: %d\n", WEXITSTATUS(exit_status));
}

static char *results;

/* NAME,N */
static bool parse_signal(char *arg)
{
	char *comma = strchr(arg, ','), *end;

	if (!comma)
		return false;
	*comma = 0;
	send.period = strtoull(comma + 1, &end, 10);
	for (int i = 1; i < NSIG; i++)
		if (sigabbrev_np(i) && !strcmp(sigabbrev_np(i), arg))
			send.signal = i;
	return end != comma + 1 && !*end && send.period && send.signal;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	char *end;

	switch (key) {
	case 'n':
	case 'r':
		errno = 0;
		*(key == 'n' ? &limit : &restoring_max) = strtoull(arg, &end, 10);
		if (errno || *end || end == arg)
			argp_error(state, "'%s' is not a number of instructions", arg);
		return 0;
	case 'g':
		if (!parse_signal(arg))
			argp_error(state, "--signal wants NAME,N, for example ALRM,97");
		return 0;
	case 'c':
		capture_period = strtoull(arg, &end, 10);
		if (*end || end == arg || !capture_period)
			argp_error(state, "--capture wants a number of instructions");
		return 0;
	case 'm':
		mistake = !strcmp(arg, "name")	  ? MISTAKE_NAME
			  : !strcmp(arg, "id")	  ? MISTAKE_ID
			  : !strcmp(arg, "entry") ? MISTAKE_ENTRY
						  : MISTAKE_NONE;
		if (!mistake)
			argp_error(state, "--mistake wants name, id or entry");
		return 0;
	case 'p':
		preload = arg;
		return 0;
	case 's':
		from_start = true;
		return 0;
	case 'C':
		counts = fopen(arg, "we");
		if (!counts)
			die(arg);
		no_checks = true;
		return 0;
	case 'o':
		results = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option options[] = {
	{"limit", 'n', "N", 0, "Kill the program after N instructions", 0},
	{"output", 'o', "FILE", 0, "Write the results to FILE", 0},
	{"restoring", 'r', "N", 0,
	 "More than N states in the making that cannot be decoded are a failure", 0},
	{"signal", 'g', "NAME,N", 0,
	 "Send the program a signal that it catches after every N instructions", 0},
	{"capture", 'c', "N", 0,
	 "Let the program ask for its context at every Nth instruction, on average", 0},
	{"mistake", 'm', "WHAT", 0,
	 "Change some of the captures before they are compared: name, id or entry", 0},
	{"preload", 'p', "FILE", 0, "Run the program with this library in LD_PRELOAD", 0},
	{"counts", 'C', "FILE", 0,
	 "Compare nothing, but write to FILE how often functions were entered in each context", 0},
	{"from-start", 's', NULL, 0, "Also step what comes before the entry point", 0},
	{0},
};

int main(int argc, char **argv)
{
	static const struct argp argp = {
		options,
		parse,
		"PROGRAM [ARGUMENT...]",
		"Compare the decoded context with the true one after each instruction.",
		0,
		0,
		0};
	int first;

	if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, &first, NULL))
		return 2;
	out = results ? fopen(results, "we") : stderr;
	if (!out)
		die(results);
	check_init(&checker, out);
	checker.restoring_max = restoring_max;
	capture_init(&capture, out, capture_period);
	capture.captured.mistake = mistake;
	if (!restoring_max)
		checker.allowed &=
			~(1ULL << DECODE_REASON_RESTORING); /* and so it is reported in full */
	stay_here();
	run(argv + first);
	print_results();
	if (counts) {
		counts_write(counts);
		if (fclose(counts))
			die("cannot write the counts");
	}
	if (fclose(out))
		die("cannot write the results");
	return !no_checks && (check_failed(&checker) || capture_failed(&capture));
}
