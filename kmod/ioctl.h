/* SPDX-License-Identifier: GPL-2.0 */
/* Declares the requests of /dev/pcce. */
#ifndef PCCE_IOCTL_H
#define PCCE_IOCTL_H

struct file;

long pcce_ioctl(struct file *file, unsigned int request, unsigned long argument);

#endif
