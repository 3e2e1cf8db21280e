/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * libpcce-decode: turns context ids back into chains of calls.  Profilers, agents and crash
 * handlers use it in one of three ways:
 *
 *   - A recording of pcce-record is opened and its samples are read, one after the other.
 *   - The modules of a process are described, and contexts that the caller has captured are
 *     decoded.
 *   - A dictionary is read, and contexts are decoded that programs have named.
 *
 * libpcce-decode(3) describes each function and has examples; pkg-config knows the flags under the
 * name pcce-decode.
 *
 * Errors: a function that can fail returns 0 (or a count, where it says so), or -errno.  It then
 * writes one English sentence to *why, which belongs to the caller and may be NULL.  A state that
 * does not decode is no error: the context says so, with a reason.
 *
 * Memory: handles are made and freed in pairs (open and close, new and free).  All strings, samples
 * and contexts that a handle gives belong to the handle.  Strings live as long as their handle.
 * Samples, contexts and build ids live until the next call that takes the same handle as an
 * argument that is not const.  Strings are never NULL; "" means that nothing is known.
 *
 * Threads and signals: the library has no global state.  Different handles may be used in different
 * threads at the same time, one handle only in one thread at a time.  No function is
 * async-signal-safe, since all allocate memory: a crash handler copies the thread's state (abi.h
 * says what that is), and another process or a later moment decodes it.  The library prints nothing
 * and never ends the process.
 *
 * Compatibility: handles are opaque.  A struct that may grow at its end is passed with its size:
 * the library reads or writes no more than the caller's header knows, and takes what is missing as
 * 0.  All other values have their own functions, to which new ones can be added.  Callers must
 * expect kinds, statuses and reasons that are not listed here.
 */
#ifndef PCCE_DECODE_H
#define PCCE_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* What a thread's state consists of: <pcce/abi.h>, which only users of captured contexts need. */
struct pcce_entry;
struct pcce_segment;
struct pcce_page;
struct pcce_sample;

/* Why a function failed. This struct never grows. */
struct pcce_decode_error {
	char text[1024]; /* NUL-terminated, without a newline */
};

/* ---- contexts ------------------------------------------------------------------------------ */

/* How contexts are written: bits of `flags` where a handle is made. */
#define PCCE_DECODE_RAW_NAMES UINT64_C(1)    /* C++ names as the linker knows them */
#define PCCE_DECODE_SIMPLE_NAMES UINT64_C(2) /* C++ names without parameters */
#define PCCE_DECODE_INLINED UINT64_C(4)	     /* inlined functions are frames, where known */
#define PCCE_DECODE_EXPANDED UINT64_C(8)     /* write repetitions out; see `repeat` below */
#define PCCE_DECODE_ORIGINS UINT64_C(16)     /* go on where the thread was created */

enum pcce_decode_status {
	PCCE_DECODE_EXACT = 0,
	/* exact, but frames are missing at each PCCE_DECODE_GAP; or see the reason */
	PCCE_DECODE_TRUNCATED = 1,
	PCCE_DECODE_OUTSIDE = 2,     /* the thread has no thread page: only its ip is known */
	PCCE_DECODE_UNDECODABLE = 3, /* there is a reason; inner frames that are given are right */
	/* samples of contexts that a recording with --hot does not keep: no frames */
	PCCE_DECODE_UNKEPT = 4
};

enum pcce_decode_kind {
	PCCE_DECODE_CALL = 0,	/* a function of instrumented code */
	PCCE_DECODE_TAIL = 1,	/* one that a tail call has left: its addresses are unknown */
	PCCE_DECODE_CODE = 2,	/* uninstrumented code: one frame, however many calls that is; but
				   see `restored` */
	PCCE_DECODE_GAP = 3,	/* frames are missing here */
	PCCE_DECODE_SIGNAL = 4, /* a signal arrived: the next outer frame is what it interrupted */
	PCCE_DECODE_THREAD =
		5, /* a thread began: the next outer frame, in another one, created it */
	PCCE_DECODE_KERNEL = 6 /* a function of the kernel; only such frames are further inside */
};

enum pcce_decode_reason {
	PCCE_DECODE_REASON_NONE = 0,
	PCCE_DECODE_REASON_READ_FAULT = 1,   /* the thread page could not be read, or is damaged */
	PCCE_DECODE_REASON_LOST_ID = 2,	     /* the program could not keep the id */
	PCCE_DECODE_REASON_NO_EDGE = 3,	     /* no call leads to the function with this id */
	PCCE_DECODE_REASON_NOT_ROOT = 4,     /* no context can begin in the function */
	PCCE_DECODE_REASON_UNKNOWN_SITE = 5, /* an entry, or ext, names no call */
	PCCE_DECODE_REASON_WRONG_CALLEE = 6, /* a call leads to another function */
	PCCE_DECODE_REASON_STALE_EXT = 7,    /* ext does not fit ip */
	PCCE_DECODE_REASON_RESTORING = 8,    /* the runtime was restoring the state */
	/* truncated: calls of a module that is instrumented and not encoded may be missing */
	PCCE_DECODE_REASON_NOT_ENCODED = 9,
	PCCE_DECODE_REASON_SHARED_PAGE = 10, /* another task used the thread page, too */
	PCCE_DECODE_REASON_REDIRECTED = 11,  /* a signal handler has changed where to continue */
	/* truncated: a debugger may have made the thread call a function, so all may be wrong */
	PCCE_DECODE_REASON_TRACED = 12,
	/* a signal interrupted code with hybrid encoding, so its callers are not known */
	PCCE_DECODE_REASON_INTERRUPTED = 13
};

/* One frame. May grow at its end. */
struct pcce_decode_frame {
	uint32_t kind;	      /* enum pcce_decode_kind */
	uint32_t inlined;     /* 1: inlined into the next outer frame, with which it shares its
				 addresses; else 0 */
	const char *function; /* or a description in brackets, such as "[libc.so.6]" */
	const char *module;   /* path of the ELF file */
	const uint8_t *build_id;
	uint64_t build_id_size; /* bytes; 0 if the module has none or it is not known */
	/* Run-time: the call instruction from which the next inner frame was reached; of the
	 * innermost frame the instruction pointer. 0: unknown. */
	uint64_t address;
	uint64_t vaddr; /* the same as a link-time address of the module; 0: unknown */
	const char *file;
	uint32_t line; /* of that instruction; 0: unknown. It may be known without the file */
	/* This frame and the span - 1 frames before it occur repeat + 1 times in a row. 0 on all
	 * frames but the outermost of such a group. */
	uint32_t repeat;
	uint32_t span;
	/* 1: one call of uninstrumented code, found by unwinding (pcce-record --frames), with all
	 * calls up to the next outer frame; else 0. */
	uint32_t restored;
};

/* A calling context. */
struct pcce_decode_context;

uint32_t pcce_decode_context_status(const struct pcce_decode_context *context);
/* Why a context is undecodable: enum pcce_decode_reason; else 0. */
uint32_t pcce_decode_context_reason(const struct pcce_decode_context *context);
/* Frames that pcce_decode_context_frame() gives. */
size_t pcce_decode_context_frames(const struct pcce_decode_context *context);
/* Calls, with all repetitions counted and without inlined functions. */
uint64_t pcce_decode_context_depth(const struct pcce_decode_context *context);
/* Frame `index`; 0 is the innermost. size: sizeof(*frame). -ERANGE: it has no such frame; -EINVAL:
 * size is too small for the first version of the struct. */
int pcce_decode_context_frame(const struct pcce_decode_context *context, size_t index,
			      struct pcce_decode_frame *frame, size_t size);

/* Words such as "exact" and "no_edge"; "unknown" for values that this library does not know. Static
 * strings. */
const char *pcce_decode_status_name(uint32_t status);
const char *pcce_decode_reason_name(uint32_t reason);
const char *pcce_decode_kind_name(uint32_t kind);

/* ---- recordings ---------------------------------------------------------------------------- */

struct pcce_decode_recording;

/*
 * Opens a recording and reads all of it but the samples.  The file must stay unchanged until it is
 * closed; a pipe is copied to a temporary file.  With _memory, data must be aligned to 8 and stay
 * valid.  0, or -errno: -EINVAL if it is not a recording, is damaged, or flags has unknown bits.
 */
int pcce_decode_recording_open(const char *path, uint64_t flags,
			       struct pcce_decode_recording **recording,
			       struct pcce_decode_error *why);
int pcce_decode_recording_open_memory(const void *data, size_t size, uint64_t flags,
				      struct pcce_decode_recording **recording,
				      struct pcce_decode_error *why);
void pcce_decode_recording_close(struct pcce_decode_recording *recording); /* or NULL */

/* What the recording says about itself. */
const char *pcce_decode_recording_command(const struct pcce_decode_recording *recording);
const char *pcce_decode_recording_host(const struct pcce_decode_recording *recording);
const char *pcce_decode_recording_sampler(const struct pcce_decode_recording *recording);
/* Nanoseconds since 1970 at time 0 of the samples' clock. */
int64_t pcce_decode_recording_epoch(const struct pcce_decode_recording *recording);
/* Samples a second that were asked for, or 0 and the events from one sample to the next. */
uint64_t pcce_decode_recording_frequency(const struct pcce_decode_recording *recording);
uint64_t pcce_decode_recording_period(const struct pcce_decode_recording *recording);
/* Samples that are lost, as far as they were counted. */
uint64_t pcce_decode_recording_lost(const struct pcce_decode_recording *recording);
/* The recording has its end: false after a crash of the recorder or on a full disk. */
bool pcce_decode_recording_is_complete(const struct pcce_decode_recording *recording);

/* A sample, or several equal ones that were counted together. */
struct pcce_decode_sample;

/* The next sample, decoded: 1; 0 after the last one; or -errno. Samples of one thread come in the
 * order of time. */
int pcce_decode_recording_next(struct pcce_decode_recording *recording,
			       const struct pcce_decode_sample **sample,
			       struct pcce_decode_error *why);

const struct pcce_decode_context *
pcce_decode_sample_context(const struct pcce_decode_sample *sample);
/* Nanoseconds of CLOCK_MONOTONIC on the recorded machine; of several samples, that of the first. */
uint64_t pcce_decode_sample_time(const struct pcce_decode_sample *sample);
/* Numbers as the recorder saw them; of samples of several threads, tid is 0. */
uint32_t pcce_decode_sample_pid(const struct pcce_decode_sample *sample);
uint32_t pcce_decode_sample_tid(const struct pcce_decode_sample *sample);
uint32_t pcce_decode_sample_cpu(const struct pcce_decode_sample *sample);
/* The name that the thread had at that time. */
const char *pcce_decode_sample_thread(const struct pcce_decode_sample *sample);
const char *pcce_decode_sample_event(const struct pcce_decode_sample *sample);
/* The number of samples, at least 1, and the number of events that these samples represent. */
uint64_t pcce_decode_sample_count(const struct pcce_decode_sample *sample);
uint64_t pcce_decode_sample_weight(const struct pcce_decode_sample *sample);

/* ---- captured contexts --------------------------------------------------------------------- */

/* The modules of one process. */
struct pcce_decode_process;

int pcce_decode_process_new(uint64_t flags, struct pcce_decode_process **process,
			    struct pcce_decode_error *why);
void pcce_decode_process_free(struct pcce_decode_process *process); /* or NULL */

/* Executable memory of a module. May grow at its end. */
struct pcce_decode_module {
	const char *path;    /* of the ELF file; it is read only without a table */
	uint64_t start, end; /* run-time addresses [start, end) */
	uint64_t offset;     /* without a table: where start is in the file, in bytes, as in
				/proc/PID/maps */
	uint64_t vaddr;	     /* with a table: link-time address of start */
	const void *table;   /* contents of the section .pcce, which are copied; or NULL */
	uint64_t table_size; /* bytes */
};

/*
 * Adds executable memory.  size: sizeof(*module).  A module with several executable segments is
 * added once for each.  Modules that are not instrumented are worth adding too: their frames are
 * then called by their file.  1 if the module is instrumented, 0 if not, or -errno: -EEXIST if some
 * of the memory is taken, -EINVAL for a damaged table, and what open(2) returns.
 */
int pcce_decode_process_add(struct pcce_decode_process *process,
			    const struct pcce_decode_module *module, size_t size,
			    struct pcce_decode_error *why);
/* Forgets the modules' memory that lies in [start, end), wholly or in part, as after dlclose(). */
void pcce_decode_process_remove(struct pcce_decode_process *process, uint64_t start, uint64_t end);

/* The state of a thread at one instruction; struct pcce_page in abi.h has the meaning. May grow at
 * its end. */
struct pcce_decode_state {
	uint64_t ip;			  /* instruction pointer */
	uint64_t r11;			  /* needed while ip is in a push or pop helper; else any */
	uint64_t id;			  /* context id */
	uint64_t ext;			  /* field ext of the page */
	const struct pcce_entry *entries; /* of the encoding stack, oldest first */
	uint64_t n_entries;
	uint64_t missing; /* entries below these that are not known, at most 2^34 with these */
};

/* These three functions decode one context, which lives until the next call with this process. 0,
 * or -errno. size: sizeof(*state). */
int pcce_decode_process_state(struct pcce_decode_process *process,
			      const struct pcce_decode_state *state, size_t size,
			      const struct pcce_decode_context **context,
			      struct pcce_decode_error *why);
/*
 * A copy of a thread page, with the registers of the thread.  area: a copy of the first n_area
 * segments at PCCE_AREA_ADDRESS(page->area), in which older entries are, or NULL.  Of them
 * (page->place >> PCCE_PLACE_SHIFT) are in use, at most PCCE_AREA_CAPACITY(page->area).  What is
 * missing there is marked as a gap.
 */
int pcce_decode_process_page(struct pcce_decode_process *process, const struct pcce_page *page,
			     const struct pcce_segment *area, size_t n_area, uint64_t ip,
			     uint64_t r11, const struct pcce_decode_context **context,
			     struct pcce_decode_error *why);
/*
 * A sample as a sampler delivers it, with what follows it: size bytes in all.  Segments are
 * remembered for later samples: give the samples of each thread in the order of time.
 */
int pcce_decode_process_sample(struct pcce_decode_process *process,
			       const struct pcce_sample *sample, size_t size,
			       const struct pcce_decode_context **context,
			       struct pcce_decode_error *why);

/* ---- named contexts ------------------------------------------------------------------------ */

/* What the names of contexts mean that programs ask for (pcce_context_id in pcce.h). */
struct pcce_decode_dictionary;

int pcce_decode_dictionary_new(uint64_t flags, struct pcce_decode_dictionary **dictionary,
			       struct pcce_decode_error *why);
void pcce_decode_dictionary_free(struct pcce_decode_dictionary *dictionary); /* or NULL */
/*
 * Reads a dictionary.  If it was read before, only what has been appended since is read.  Returns
 * the number of damaged lines, which are ignored, or -errno.
 */
int pcce_decode_dictionary_read(struct pcce_decode_dictionary *dictionary, const char *path,
				struct pcce_decode_error *why);
/*
 * Adds a folder with programs and libraries, or their debug files: under their own names, by build
 * id as in /usr/lib/debug, or as in a cache of debuginfod.  The last folder is searched first, and
 * then the places that the dictionary names.  0 or -ENOMEM.
 */
int pcce_decode_dictionary_search(struct pcce_decode_dictionary *dictionary, const char *folder,
				  struct pcce_decode_error *why);
/*
 * Decodes the context that has this name.  It lives until the next call with this dictionary.
 * Run-time addresses of its frames are 0.  0, or -errno: -ENOENT if the dictionary does not have
 * the name, -ENXIO if a module is not found.
 */
int pcce_decode_dictionary_context(struct pcce_decode_dictionary *dictionary, const uint8_t id[16],
				   const struct pcce_decode_context **context,
				   struct pcce_decode_error *why);

/* ---- sets of contexts ---------------------------------------------------------------------- */

/*
 * Computes the set of all contexts with a chain of functions, for pcce_contexts_open() of pcce.h.
 *
 * The expression names functions, innermost first: `f < g` if f must be called by g, `f << g` if
 * other calls may be between them.  The chain can be anywhere in a context.  It has at most 7
 * functions.  A star in a name matches any text.  C++ names can be given without parameters.
 *
 * files: the encoded program and libraries whose functions are meant.  *set: memory with *size
 * bytes, to be written to a file; free it with pcce_decode_select_free().  0, or -errno: -ENOENT if
 * a function or a file is not found, -EINVAL if the expression is wrong or a file is not encoded.
 */
int pcce_decode_select(const char *expression, const char *const *files, size_t n_files, void **set,
		       size_t *size, struct pcce_decode_error *why);
void pcce_decode_select_free(void *set); /* or NULL */

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
