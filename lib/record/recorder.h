/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Declares the state of pcce-record, which record.c and sink.c share. */
#ifndef PCCE_RECORD_RECORDER_H
#define PCCE_RECORD_RECORDER_H

#include "base/child.h"
#include "base/output_file.h"
#include "record/disk_room.h"
#include "filter/hot.h"
#include "stream/modules.h"
#include "filter/only.h"
#include "record/record.h"
#include "filter/restorer.h"
#include "record/running.h"
#include "stream/writer.h"
#include "sampler/sampler.h"

#define RECORDER_EVENTS 2

/* An event of the recording. With --count and samples beside it, the calls are the first one. */
struct recorded_event {
	struct recorder *r;
	uint32_t number;
	uint64_t samples, lost, outside;
	uint64_t lost_reasons[PCCE_LOSS_MAX + 1]; /* of lost, by enum pcce_loss */
	uint64_t threads;			  /* at least as many as there were */
	struct sampler_due due;
};

struct recorder {
	const struct record_options *options;
	const struct sampler_ops *ops;
	struct sampler *sampler;
	struct child command;
	bool command_runs;
	int status; /* of the command, from wait(2); -1: unknown */
	int pidfd;
	struct output_file output;
	struct disk_room room; /* in the file */
	struct datafile_writer *writer;
	struct record_modules *modules;
	struct restorer *restorer; /* NULL: frames are not restored */
	struct hot_recorder *hot;  /* NULL: all samples are kept */
	struct only *only;	   /* NULL: no samples are left out */
	uint64_t copied;	   /* bytes of stacks that samples had */
	uint32_t need;		   /* words of stacks that samples need; 0: not known */
	struct recorded_event events[RECORDER_EVENTS];
	uint32_t n_events;
	const char *program;			 /* the command's file; NULL: not known */
	const struct record_module *main_module; /* of the recorded command or process */
	pid_t main_pid;
	struct running running;
	uint64_t image;		    /* running_image() of the command that is counted */
	pid_t traced;		    /* the first process that a debugger was attached to; 0: none */
	struct pcce_sample *marked; /* a copy of a sample, with PCCE_SAMPLE_TRACED */
	size_t marked_size;
	bool any_instrumented, privileged, shared_runtime, executed;
	uint64_t progress_due, traced_due;
	bool progress_shown;
};

/* ---- sink.c ---- */

/* Looks whether a debugger is attached to a process, whose samples are marked from then on. */
void recorder_look(struct recorder *r, pid_t pid);

/* Makes a sink for each event (sampler/sampler.h). */
void recorder_sinks(struct recorder *r, struct sampler_sink to[RECORDER_EVENTS]);

/* After the sampler has stopped: writes how many samples of each event were due. 0 or -errno. */
int recorder_write_due(struct recorder *r);

#endif
