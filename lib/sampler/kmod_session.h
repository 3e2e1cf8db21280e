/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Controls one session of the kernel module: opens /dev/pcce as include/pcce/kmod.h specifies, and
 * maps its rings. */
#ifndef PCCE_SAMPLER_KMOD_SESSION_H
#define PCCE_SAMPLER_KMOD_SESSION_H

#include <stddef.h>
#include <stdint.h>
#include <pcce/kmod.h>
#include "base/error.h"

struct kmod_session;

/* Opens the device and checks the version of the module. 0, or -errno with the reason in why;
 * -ENODEV: not loaded. */
int kmod_session_open(struct kmod_session **out, struct error *why);
void kmod_session_close(struct kmod_session *k);
const struct pcce_kmod_info *kmod_session_info(const struct kmod_session *k);
int kmod_session_fd(const struct kmod_session *k);

/* Sets up the session and maps the rings. The kernel fills config. 0 or the kernel's -errno. */
int kmod_session_setup(struct kmod_session *k, struct pcce_kmod_setup *config);
int kmod_session_places(struct kmod_session *k, const int64_t *offsets, uint32_t n);
int kmod_session_start(struct kmod_session *k);
/* Adds a process; flags: PCCE_KMOD_ATTACH_*. */
int kmod_session_attach(struct kmod_session *k, int pid, uint32_t flags);
int kmod_session_stop(struct kmod_session *k);
int kmod_session_stats(struct kmod_session *k, struct pcce_kmod_stats *stats);

/* From now on, samples need only this number of bytes of their stacks. */
void kmod_session_shorten(struct kmod_session *k, uint64_t bytes);
/* Returns the bytes that brought stacks and registers, since the beginning. */
uint64_t kmod_session_copied(const struct kmod_session *k);

/* Receives a sample of `size` bytes. A stack is complete (abi.h). kernel: with
 * PCCE_SAMPLE_KERNEL_STACK, its frames of the kernel. A result other than 0 ends the reading. */
typedef int kmod_session_sink(void *ctx, const struct pcce_sample *sample, size_t size,
			      const uint64_t *kernel);

/* Reads all records of the rings. 0, or the sink's result; -EPROTO, -EBADMSG: a record is
 * malformed. */
int kmod_session_read(struct kmod_session *k, kmod_session_sink *sink, void *ctx);

#endif
