/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Declares the interface of all samplers: kmod, bpf, self. record.c calls it. A sampler is a source
 * of a stream (stream/stream.h). It never writes the file itself.
 *
 * The interface is not thread-safe: one thread makes all calls. A sampler delivers only in poll()
 * and stop().
 *
 * Each sample, each loss and each account has the number of its event: its index in config->events.
 * The sampler bpf can have several events, the others one. sampler_beside numbers the calls 0 and
 * its samples 1.
 */
#ifndef PCCE_SAMPLER_SAMPLER_H
#define PCCE_SAMPLER_SAMPLER_H

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>
#include "base/error.h"
#include "bpf/sampler.h"
#include "stream/stream.h"

struct sampler_event {
	char name[512];	    /* with modifiers: "page-faults", "cycles:u", "sched:sched_switch" */
	uint64_t frequency; /* Hz; 0: use period */
	uint64_t period;
};

/* A recording of the whole system is limited to these threads. */
struct sampler_system {
	const cpu_set_t *cpus; /* those on these CPUs; NULL: on all */
	size_t cpus_size;      /* bytes */
	bool of_user;	       /* those whose real user is `user` */
	uid_t user;
	uint64_t cgroup; /* those in the cgroup of this number, or in one below it; 0: in all */
};

struct sampler_config {
	const struct sampler_event *events; /* n_events, at least one: those of -e */
	uint32_t n_events;
	const pid_t *targets; /* the running processes of -p: n_targets */
	size_t n_targets;
	const struct sampler_system
		*system;     /* record all processes; NULL: the command or targets */
	const char *program; /* the command's file, if it was found; else NULL */
	bool verify;
	enum sampler_copy copy;
	int signal;	    /* of the self sampler; 0: its default */
	const char *engine; /* of --count: "cct", "hcct", "lossy", "empty"; NULL: take samples */
	uint64_t counters;  /* of a thread, with "hcct"; calls of a bucket, with "lossy" */
	const struct count_bursts *bursts; /* of --count; NULL: count all the time */
	const char *latency; /* functions that are timed, with commas; NULL: count all */
	int turn_ms;	     /* between two looks for samples; 0: the default */
	const struct sampler_ops *beside; /* of --count: takes samples, too; NULL: none does */
};

/* What a sampler knows, apart from the samples and losses that it has delivered. */
struct sampler_due {
	bool known;	 /* due */
	bool with_rests; /* due includes the last, unfinished periods of all threads */
	uint64_t due;	 /* samples, by the clock or the counter of the event */
	uint64_t merged; /* samples that are in the weights of others */
	uint64_t kernel; /* samples not taken: the thread was in the kernel */
	/* How many bursts there were, how long they were, and how long the count was; 0 if calls
	 * are not counted in bursts. */
	uint64_t bursts, burst_ns, ns;
	uint64_t skipped; /* adaptive bursts of threads that were skipped */
};

/* Whether what is recorded runs before the recording begins. */
static inline bool sampler_is_running(const struct sampler_config *config)
{
	return config->n_targets || config->system;
}

/* For samplers that can have only one event: refuses others. 0 or -EOPNOTSUPP. */
static inline int sampler_one_event(const struct sampler_config *config, struct error *why)
{
	for (uint32_t i = 0; i < config->n_events; i++)
		if (!strcmp(config->events[i].name, "lock"))
			return error_set(why, -EOPNOTSUPP,
					 "it cannot sample the event lock; use -b bpf as root");
	return config->n_events <= 1
		       ? 0
		       : error_set(why, -EOPNOTSUPP,
				   "it records one event at a time, and -e names %u; use -b bpf as "
				   "root, or record them one after the other",
				   config->n_events);
}

struct sampler;

struct sampler_ops {
	const char *name;
	const char *what;  /* text for --help; NULL: not in the list of samplers */
	bool sees_tracers; /* samples say whether their thread is traced: PCCE_SAMPLE_TRACED */
	/* Checks whether the sampler works on this machine with this configuration. 0, or -errno
	 * with the reason in why. */
	int (*probe)(const struct sampler_config *config, struct error *why);
	/* Prepares the sampler before the fork of a command. It may setenv() what the command must
	 * inherit. */
	int (*prepare)(const struct sampler_config *config, struct sampler **out,
		       struct error *why);
	/* Starts sampling. pid: the command's process, stopped before its exec; 0: there is none.
	 */
	int (*start)(struct sampler *s, pid_t pid, struct error *why);
	/* Optional. The command has been released: its exec has succeeded. */
	int (*released)(struct sampler *s, struct error *why);
	/* Delivers all data, and waits at most timeout_ms for more. 0, or -errno. */
	int (*poll)(struct sampler *s, struct stream *to, int timeout_ms);
	/* Optional. From now on, samples need only this number of words of their stacks, at most
	 * PCCE_COPY_WORDS. Samples that were taken before have others. */
	void (*shorten)(struct sampler *s, uint32_t words);
	/* Optional. About how many bytes stop() will let the recorder write. If it is there, these
	 * have room in the file, and samples of the second event may be refused for that. */
	uint64_t (*rest)(const struct sampler *s);
	/* Stops sampling, and delivers the rest. */
	int (*stop)(struct sampler *s, struct stream *to);
	/* Optional. After stop(): due of each event. Without it, nothing is known. */
	void (*account)(struct sampler *s, struct sampler_due *due);
	/*
	 * Optional. After stop(): the bytes that brought the copies of stacks. Without it, they
	 * were brought as the samples have them.
	 */
	uint64_t (*copied)(const struct sampler *s);
	/* Optional. After stop(), when there is no sample at all: why, as a sentence; or NULL. */
	const char *(*why_nothing)(const struct sampler *s);
	void (*destroy)(struct sampler *s);
};

/* A sampler that was prepared. */
struct active_sampler {
	const struct sampler_ops *ops;
	struct sampler *sampler; /* NULL: not yet */
};

/* Those that -b names, the best first; the last is NULL. */
extern const struct sampler_ops *const samplers[];

extern const struct sampler_ops sampler_kmod;
extern const struct sampler_ops sampler_bpf;
extern const struct sampler_ops sampler_self;
extern const struct sampler_ops sampler_count; /* lib/count: pcce-record --count */
/* That, and config->beside. The calls are the first event, the samples the second. */
extern const struct sampler_ops sampler_beside;

#endif
