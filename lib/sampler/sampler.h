/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The one interface behind which all samplers stand: kmod, bpf, self.  record.c drives it; a
 * sampler never writes the file itself.
 *
 * Not thread-safe: one thread makes all calls, and sink functions are called only
 * from within poll() and stop().
 */
#ifndef PCCE_SAMPLER_SAMPLER_H
#define PCCE_SAMPLER_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <pcce/abi.h>
#include <pcce/datafile.h>
#include "base/error.h"

struct sampler_config {
	uint64_t frequency; /* Hz; 0: use period */
	uint64_t period;
	const char
		*event; /* as -e gives it, e.g. "cpu-clock", "page-faults", "sched:sched_switch" */
	pid_t target;	/* with -p: the running process; else 0 */
	const char *
		program; /* the command's file, if there is a command and it was found; else NULL */
	bool verify;
	bool aggregate; /* count equal samples where they are taken */
};

/* What a sampler delivers.  All pointers are valid during the call only.  Every
 * function returns 0, or -errno when the recording must end (disk full). */
struct sampler_sink {
	void *ctx;
	/* With its entries, segments and stack behind it: sample.h */
	int (*sample)(void *ctx, const struct pcce_sample *s);
	int (*process)(void *ctx, uint64_t time, pid_t pid, pid_t ppid, uint32_t flags,
		       const char *comm);
	int (*thread)(void *ctx, uint64_t time, pid_t pid, pid_t tid, const char *comm);
	/* executable mapping of a file; pgoff: file offset of start */
	int (*map)(void *ctx, uint64_t time, pid_t pid, uint64_t start, uint64_t length,
		   uint64_t pgoff, const char *path);
	int (*lost)(void *ctx, uint64_t time, uint32_t reason, uint64_t count);
};

struct sampler;

struct sampler_ops {
	const char *name;
	/* Can it work here, now, for this configuration? 0, or -errno with one sentence in why. */
	int (*probe)(const struct sampler_config *config, struct error *why);
	/* The command's process, stopped before its exec (pid), or config->target. env: for a
	 * command, the sampler may setenv() what the command must inherit; that happens in prepare,
	 * before fork. */
	int (*prepare)(const struct sampler_config *config, struct sampler **out,
		       struct error *why);
	int (*start)(struct sampler *s, pid_t pid, struct error *why);
	/* Deliver what has come; wait at most timeout_ms for more. 0, or -errno. */
	int (*poll)(struct sampler *s, const struct sampler_sink *sink, int timeout_ms);
	/* Stop sampling, deliver the rest. */
	int (*stop)(struct sampler *s, const struct sampler_sink *sink);
	void (*destroy)(struct sampler *s);
};

extern const struct sampler_ops sampler_kmod;
extern const struct sampler_ops sampler_bpf;
extern const struct sampler_ops sampler_self;

#endif
