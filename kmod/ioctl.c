// SPDX-License-Identifier: GPL-2.0
/*
 * Translates requests: from user space's structs, of any version, to the session's functions and
 * back.
 *
 * A request number carries the size of its struct. The other parts (type, number, direction)
 * identify the request. The size is the caller's, and may differ from the kernel's. See
 * pcce/kmod.h.
 */
#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/fs.h>
#include <linux/ioctl.h>
#include <linux/uaccess.h>

#include "ioctl.h"
#include "session.h"

/* The request number without the size of its struct. */
#define KIND(request) ((request) & ~_IOC(0, 0, 0, _IOC_SIZEMASK))

/* Bytes of the largest struct that a caller may pass. */
#define STRUCT_MAX PAGE_SIZE

static int take_struct(void *to, size_t ours, size_t first, const void __user *from, size_t theirs)
{
	if (theirs < first)
		return -EINVAL;
	if (theirs > STRUCT_MAX)
		return -E2BIG;
	return copy_struct_from_user(to, ours, from, theirs);
}

/* Copies what the caller's struct has room for; fields that only the caller knows become 0. */
static int give_struct(void __user *to, size_t theirs, size_t first, const void *from, size_t ours)
{
	size_t both = min(theirs, ours);

	if (theirs < first)
		return -EINVAL;
	if (theirs > STRUCT_MAX)
		return -E2BIG;
	if (copy_to_user(to, from, both) || clear_user(to + both, theirs - both))
		return -EFAULT;
	return 0;
}

static int request_info(void __user *argument, size_t size)
{
	struct pcce_kmod_info i = {
		.version = PCCE_KMOD_VERSION,
		.page_version = PCCE_PAGE_VERSION,
		.sample_size = sizeof(struct pcce_sample),
		.record_max = PCCE_KMOD_RECORD_MAX,
		.flags = PCCE_KMOD_FLAGS,
		.max_frequency = READ_ONCE(pcce_max_frequency),
		.n_cpus = nr_cpu_ids,
		.privileged = perfmon_capable(),
	};

	return give_struct(argument, size, PCCE_KMOD_INFO_VER0, &i, sizeof(i));
}

static int request_setup(struct pcce_session *s, void __user *argument, size_t size)
{
	struct pcce_kmod_setup config;
	int err = take_struct(&config, sizeof(config), PCCE_KMOD_SETUP_VER0, argument, size);

	if (!err)
		err = pcce_session_setup(s, &config);
	/* If copying fails the session is set up all the same; the caller has passed a wrong
	 * pointer. */
	return err ? err
		   : give_struct(argument, size, PCCE_KMOD_SETUP_VER0, &config, sizeof(config));
}

static int request_places(struct pcce_session *s, const void __user *argument, size_t size)
{
	struct pcce_kmod_places p;
	int err = take_struct(&p, sizeof(p), PCCE_KMOD_PLACES_VER0, argument, size);

	return err ? err : pcce_session_places(s, &p);
}

static int request_attach(struct pcce_session *s, const void __user *argument, size_t size)
{
	struct pcce_kmod_attach a;
	int err = take_struct(&a, sizeof(a), PCCE_KMOD_ATTACH_VER0, argument, size);

	return err ? err : pcce_session_attach(s, &a);
}

static int request_stats(struct pcce_session *s, void __user *argument, size_t size)
{
	struct pcce_kmod_stats st = {};
	int err = pcce_session_stats(s, &st);

	return err ? err : give_struct(argument, size, PCCE_KMOD_STATS_VER0, &st, sizeof(st));
}

long pcce_ioctl(struct file *file, unsigned int request, unsigned long argument)
{
	struct pcce_session *s = file->private_data;
	void __user *pointer = (void __user *)argument;
	size_t size = _IOC_SIZE(request);

	switch (KIND(request)) {
	case KIND(PCCE_KMOD_IOC_INFO):
		return request_info(pointer, size);
	case KIND(PCCE_KMOD_IOC_SETUP):
		return request_setup(s, pointer, size);
	case KIND(PCCE_KMOD_IOC_PLACES):
		return request_places(s, pointer, size);
	case KIND(PCCE_KMOD_IOC_START):
		return size || argument ? -EINVAL : pcce_session_start(s);
	case KIND(PCCE_KMOD_IOC_STOP):
		return size || argument ? -EINVAL : pcce_session_stop(s);
	case KIND(PCCE_KMOD_IOC_ATTACH):
		return request_attach(s, pointer, size);
	case KIND(PCCE_KMOD_IOC_STATS):
		return request_stats(s, pointer, size);
	default:
		return -ENOTTY;
	}
}
