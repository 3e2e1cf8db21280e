// SPDX-License-Identifier: GPL-2.0
/*
 * Registers /dev/pcce, the only interface of the module pcce_sampler.
 *
 * The module samples the calling contexts that instrumented programs keep in their thread pages.
 * include/pcce/kmod.h specifies the device. The files, in the order of the data:
 *
 *   main.c       the device
 *   ioctl.c      requests
 *   session.c    what an open file samples, from SETUP to close
 *   access.c     who may sample what
 *   attach.c     perf events on tasks and CPUs
 *   hotplug.c    CPUs that go off line and come back
 *   handler.c    the handler of an event: one sample
 *   page.c       reads the interrupted thread's page
 *   segments.c   reads and names the other segments of the encoding stack
 *   reading.h    what these two share
 *   ring.c       the memory that user space maps
 *   compat.h     differences between kernel versions
 *
 * An open file keeps the module loaded, and a mapping keeps the file open. So the module cannot be
 * removed while any part of it is in use.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/poll.h>

#include "hotplug.h"
#include "ioctl.h"
#include "ring.h"
#include "session.h"

static int device_open(struct inode *inode, struct file *file)
{
	struct pcce_session *s = pcce_session_new();

	if (!s)
		return -ENOMEM;
	file->private_data = s;
	return stream_open(inode, file);
}

static int device_release(struct inode *inode, struct file *file)
{
	pcce_session_free(file->private_data);
	return 0;
}

static int device_mmap(struct file *file, struct vm_area_struct *vma)
{
	return pcce_rings_map(file->private_data, vma);
}

static __poll_t device_poll(struct file *file, poll_table *table)
{
	struct pcce_session *s = file->private_data;

	poll_wait(file, &s->wait, table);
	return pcce_rings_ready(s) ? EPOLLIN | EPOLLRDNORM : 0;
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.open = device_open,
	.release = device_release,
	.unlocked_ioctl = pcce_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = device_mmap,
	.poll = device_poll,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "pcce",
	.fops = &operations,
	.mode = 0600,
};

static int __init pcce_init(void)
{
	int err = pcce_hotplug_init();

	if (err) {
		pr_err("cannot follow CPUs that come on line: error %d\n", err);
		return err;
	}
	err = misc_register(&device);
	if (err) {
		pr_err("cannot register the device /dev/%s: error %d; unload the module that has a "
		       "device of this name\n",
		       device.name, err);
		pcce_hotplug_exit();
	}
	return err;
}

static void __exit pcce_exit(void)
{
	misc_deregister(&device);
	pcce_hotplug_exit();
}

module_init(pcce_init);
module_exit(pcce_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Sampler of precise calling contexts");
MODULE_VERSION(PCCE_VERSION);
