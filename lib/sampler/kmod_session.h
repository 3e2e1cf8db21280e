/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* One session of the kernel module: /dev/pcce as include/pcce/kmod.h specifies it, with its rings
 * mapped. */
#ifndef PCCE_SAMPLER_KMOD_SESSION_H
#define PCCE_SAMPLER_KMOD_SESSION_H

#include <stddef.h>
#include <stdint.h>
#include <pcce/kmod.h>
#include "base/error.h"

struct kmod_session;

/* Is the module there, and does it speak our language? 0, or -errno with one sentence in why;
 * -ENODEV: not loaded. */
int kmod_session_open(struct kmod_session **out, struct error *why);
void kmod_session_close(struct kmod_session *k);
const struct pcce_kmod_info *kmod_session_info(const struct kmod_session *k);
int kmod_session_fd(const struct kmod_session *k);

/* Sets it up and maps the rings; config is as the kernel returns it. 0 or -errno, the kernel's. */
int kmod_session_setup(struct kmod_session *k, struct pcce_kmod_setup *config);
int kmod_session_places(struct kmod_session *k, const int64_t *offsets, uint32_t n);
int kmod_session_start(struct kmod_session *k);
/* One more process; flags: PCCE_KMOD_ATTACH_*. */
int kmod_session_attach(struct kmod_session *k, int pid, uint32_t flags);
int kmod_session_stop(struct kmod_session *k);
int kmod_session_stats(struct kmod_session *k, struct pcce_kmod_stats *stats);

/* What to do with a record; size: of the sample with its entries. Another result than 0 ends the
 * reading. */
typedef int kmod_session_sink(void *ctx, const struct pcce_kmod_record *record,
			      const struct pcce_sample *sample, size_t size);

/* All that the rings hold. 0, or what the sink returned; -EPROTO: a record is not well formed. */
int kmod_session_read(struct kmod_session *k, kmod_session_sink *sink, void *ctx);

/* With PCCE_KMOD_AGGREGATE: takes what has been counted up to now; what comes later is not older
 * than *since. 0 or -errno. */
int kmod_session_rotate(struct kmod_session *k, uint64_t *since);
/* ... and this reads what was taken last. As kmod_read. */
int kmod_session_read_counts(struct kmod_session *k, kmod_session_sink *sink, void *ctx);

#endif
