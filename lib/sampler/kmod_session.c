/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Implements the session of the kernel module with ioctl() and mmap(). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <pcce/labels.h>
#include <pcce/sample.h>
#include "sampler/kmod_session.h"
#include "sampler/stack_blocks.h"

struct kmod_session {
	int fd;
	struct pcce_kmod_info info;
	struct pcce_kmod_setup config;
	struct pcce_kmod_reader *readers;
	const uint8_t *rest; /* writers and data, which follow them */
	size_t rest_bytes;
	struct stack_blocks *stacks; /* COPY_STACKS */
};

static int session_request(const struct kmod_session *k, unsigned long number, void *argument)
{
	return ioctl(k->fd, number, argument) ? -errno : 0;
}

static int explain_open(int err, struct error *why)
{
	switch (err) {
	case -ENOENT:
	case -ENXIO:
	case -ENODEV:
		return error_set(why, -ENODEV,
				 "the kernel module pcce_sampler is not loaded; load it with "
				 "modprobe pcce_sampler or insmod pcce_sampler.ko");
	case -EACCES:
	case -EPERM:
		return error_set(why, err,
				 "cannot open " PCCE_KMOD_DEVICE
				 ": %s; record as a user with access to it",
				 strerror(-err));
	default:
		return error_set(why, err, "cannot open " PCCE_KMOD_DEVICE ": %s", strerror(-err));
	}
}

int kmod_session_open(struct kmod_session **out, struct error *why)
{
	struct kmod_session *k = calloc(1, sizeof(*k));
	int err;

	if (!k)
		return error_set(why, -ENOMEM, "out of memory");
	k->fd = open(PCCE_KMOD_DEVICE, O_RDWR | O_CLOEXEC);
	if (k->fd < 0) {
		err = explain_open(-errno, why);
		goto fail;
	}
	err = session_request(k, PCCE_KMOD_IOC_INFO, &k->info);
	if (err) {
		error_set(why, 0,
			  "cannot use " PCCE_KMOD_DEVICE ": it does not belong to pcce_sampler: %s",
			  strerror(-err));
		goto fail;
	}
	if (k->info.version != PCCE_KMOD_VERSION || k->info.page_version != PCCE_PAGE_VERSION ||
	    k->info.sample_size != sizeof(struct pcce_sample) ||
	    k->info.record_max != PCCE_KMOD_RECORD_MAX) {
		error_set(why, 0,
			  "the loaded module pcce_sampler has interface version %u, not %u; load "
			  "the module of this version of pcce",
			  k->info.version, PCCE_KMOD_VERSION);
		err = -EPROTONOSUPPORT;
		goto fail;
	}
	*out = k;
	return 0;
fail:
	kmod_session_close(k);
	return err;
}

void kmod_session_close(struct kmod_session *k)
{
	if (!k)
		return;
	if (k->readers)
		munmap(k->readers, k->config.reader_bytes);
	if (k->rest)
		munmap((void *)(uintptr_t)k->rest, k->rest_bytes);
	if (k->fd >= 0)
		close(k->fd);
	stack_blocks_free(k->stacks);
	free(k);
}

const struct pcce_kmod_info *kmod_session_info(const struct kmod_session *k)
{
	return &k->info;
}

int kmod_session_fd(const struct kmod_session *k)
{
	return k->fd;
}

int kmod_session_setup(struct kmod_session *k, struct pcce_kmod_setup *config)
{
	int err = session_request(k, PCCE_KMOD_IOC_SETUP, config);
	void *readers, *rest;

	if (err)
		return err;
	k->config = *config;
	k->rest_bytes =
		config->data_offset + config->n_rings * config->data_stride - config->writer_offset;
	readers = mmap(NULL, config->reader_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, k->fd,
		       (off_t)config->reader_offset);
	if (readers == MAP_FAILED)
		return -errno;
	k->readers = readers;
	rest = mmap(NULL, k->rest_bytes, PROT_READ, MAP_SHARED, k->fd,
		    (off_t)config->writer_offset);
	if (rest == MAP_FAILED)
		return -errno;
	k->rest = rest;
	if (config->flags & PCCE_KMOD_COPY_STACKS) {
		k->stacks = stack_blocks_new(config->n_rings);
		if (!k->stacks)
			return -ENOMEM;
	}
	return 0;
}

int kmod_session_places(struct kmod_session *k, const int64_t *offsets, uint32_t n)
{
	struct pcce_kmod_places p = {.n = n};
	uint32_t i;

	for (i = 0; i < n && i < PCCE_KMOD_OFFSETS; i++)
		p.offsets[i] = offsets[i];
	return session_request(k, PCCE_KMOD_IOC_PLACES, &p);
}

int kmod_session_start(struct kmod_session *k)
{
	return session_request(k, PCCE_KMOD_IOC_START, NULL);
}

int kmod_session_attach(struct kmod_session *k, int pid, uint32_t flags)
{
	struct pcce_kmod_attach a = {.pid = pid, .flags = flags};

	return session_request(k, PCCE_KMOD_IOC_ATTACH, &a);
}

int kmod_session_stop(struct kmod_session *k)
{
	return session_request(k, PCCE_KMOD_IOC_STOP, NULL);
}

int kmod_session_stats(struct kmod_session *k, struct pcce_kmod_stats *stats)
{
	return session_request(k, PCCE_KMOD_IOC_STATS, stats);
}

void kmod_session_shorten(struct kmod_session *k, uint64_t bytes)
{
	for (uint32_t i = 0; i < k->config.n_rings; i++)
		__atomic_store_n(&k->readers[i].stack_bytes, bytes, __ATOMIC_RELAXED);
}

uint64_t kmod_session_copied(const struct kmod_session *k)
{
	return k->stacks ? stack_blocks_copied(k->stacks) : 0;
}

static const struct pcce_kmod_writer *ring_writer(const struct kmod_session *k, uint32_t ring)
{
	return (const struct pcce_kmod_writer *)k->rest + ring;
}

static const uint8_t *ring_data(const struct kmod_session *k, uint32_t ring)
{
	return k->rest - k->config.writer_offset + k->config.data_offset +
	       ring * k->config.data_stride;
}

/* Delivers the record at `at`. Returns its size, or 0 if it is malformed. */
static size_t deliver_record(const struct kmod_session *k, uint32_t ring, const uint8_t *at,
			     kmod_session_sink *sink, void *ctx, int *err)
{
	const struct pcce_kmod_record *record = (const struct pcce_kmod_record *)at;
	const struct pcce_sample *sample = (const struct pcce_sample *)(record + 1);
	uint32_t stack_max = k->stacks ? PCCE_KMOD_STACK_MAX : 0;
	size_t size = record->size, frames, labels;
	const uint64_t *kernel;

	if (size < sizeof(*record) ||
	    size > PCCE_KMOD_RECORD_MAX + stack_max + PCCE_KMOD_KERNEL_STACK_MAX +
			    PCCE_LABELS_BYTES ||
	    size % 8)
		return 0;
	if (record->type != PCCE_KMOD_SAMPLE)
		return size;
	if (size < sizeof(*record) + sizeof(*sample) ||
	    !pcce_sample_counts_are_possible(sample, stack_max / sizeof(uint64_t)))
		return 0;
	labels = PCCE_SAMPLE_LABELS(sample->flags);
	frames = sample->flags & PCCE_SAMPLE_KERNEL_STACK ? sample->kip : 0;
	if (frames > PCCE_KERNEL_FRAMES || (!frames && sample->flags & PCCE_SAMPLE_KERNEL_STACK) ||
	    size != sizeof(*record) + pcce_sample_size(sample) +
			    (frames + labels) * sizeof(*kernel))
		return 0;
	kernel = (const uint64_t *)(at + size) - frames - labels;
	if (sample->flags & PCCE_SAMPLE_COPY && k->stacks)
		*err = stack_blocks_complete(k->stacks, ring, sample, &sample);
	if (!*err)
		*err = sink(ctx, sample, pcce_sample_size(sample), kernel);
	return size;
}

static int read_kmod_ring(struct kmod_session *k, uint32_t ring, kmod_session_sink *sink, void *ctx)
{
	/* Pairs with the kernel's release: the records up to head are complete. */
	uint64_t head = __atomic_load_n(&ring_writer(k, ring)->head, __ATOMIC_ACQUIRE);
	uint64_t tail = k->readers[ring].tail, bytes = k->config.ring_bytes;
	int err = 0;

	while (tail < head && !err) {
		uint64_t at = tail & (bytes - 1);
		size_t size = deliver_record(k, ring, ring_data(k, ring) + at, sink, ctx, &err);

		if (!size) {
			tail = head;
			err = -EPROTO;
			break;
		}
		tail = at + size >= bytes ? tail - at + bytes : tail + size;
	}
	/* Pairs with the kernel's acquire: everything before tail has been read. */
	__atomic_store_n(&k->readers[ring].tail, tail, __ATOMIC_RELEASE);
	return err;
}

int kmod_session_read(struct kmod_session *k, kmod_session_sink *sink, void *ctx)
{
	uint32_t ring;
	int err = 0;

	for (ring = 0; ring < k->config.n_rings && !err; ring++)
		err = read_kmod_ring(k, ring, sink, ctx);
	return err;
}
