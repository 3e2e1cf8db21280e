/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Declares what the test programs that run in the guest share: results, requests, and something to
 * sample. */
#ifndef PCCE_VM_GUEST_H
#define PCCE_VM_GUEST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>
#include <pcce/kmod.h>

/* Prints a line of TAP without a number. */
void result(bool good, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* got and wanted: results of a system call, -errno if it failed. */
void expect(const char *name, long got, long wanted);

/* Writes text to a file of the kernel; if the kernel refuses it, a test fails. */
void write_to(const char *file, const char *text);

int device(void); /* an open /dev/pcce, or the program ends */
long request(int fd, unsigned long number, void *argument);

/* cpu-clock at 1,000 Hz on the caller's process; the smallest rings. */
struct pcce_kmod_setup usual_setup(void);

/* The config of an event, "system/name". */
uint64_t tracepoint(const char *name);

/* Keeps a CPU busy for that long. */
void burn_ms(unsigned int ms);

/*
 * Returns the milliseconds that a test has run.  The time between two calls counts as step_ms at
 * most.  The emulator may have been stopped for minutes in between, while the guest's clock
 * continues.
 */
struct watch {
	struct timespec last;
	int64_t step_ms;
	uint64_t ms;
};
struct watch watch_new(unsigned int step_ms);
uint64_t watch_ms(struct watch *w);

#endif
