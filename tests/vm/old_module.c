/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Preloaded into pcce-record, makes the loaded module look older: with OLD=flags it does not know
 * COPY_STACKS and COPY_ALL, with OLD=version its interface has version 0.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <pcce/kmod.h>

int ioctl(int fd, unsigned long request, ...)
{
	const char *old = getenv("OLD");
	struct pcce_kmod_info *info;
	void *argument;
	va_list args;
	int result;

	va_start(args, request);
	argument = va_arg(args, void *);
	va_end(args);
	result = (int)syscall(SYS_ioctl, fd, request, argument);
	if (result || request != PCCE_KMOD_IOC_INFO || !old)
		return result;
	info = argument;
	if (!strcmp(old, "version"))
		info->version = 0;
	else
		info->flags &= ~(__u64)(PCCE_KMOD_COPY_STACKS | PCCE_KMOD_COPY_ALL);
	return 0;
}
