/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Implements privilege.h.
 *
 * File capabilities give root nothing that it does not have. A file system that is mounted with
 * nosuid gives nothing either, which is not looked at: then a program is refused without need.
 */
#include <stddef.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "base/privilege.h"

const char *privilege_of_program(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return NULL;
	if ((st.st_mode & S_ISUID && st.st_uid != geteuid()) ||
	    (st.st_mode & S_ISGID && st.st_gid != getegid()))
		return "is set-uid or set-gid";
	if (geteuid() && getxattr(path, "security.capability", NULL, 0) > 0)
		return "has file capabilities";
	return NULL;
}
