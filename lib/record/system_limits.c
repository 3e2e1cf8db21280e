/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See system_limits.h. */
#include <errno.h>
#include <limits.h>
#include <mntent.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <linux/magic.h>

#include "record/system_limits.h"

static int refuse_cpus(const char *list, struct error *why)
{
	return error_set(why, -EINVAL,
			 "cannot use -C %s: it must be numbers of CPUs from 0 to %ld, for example "
			 "0,2-3",
			 list, sysconf(_SC_NPROCESSORS_CONF) - 1);
}

/* Reads "2" or "2-3". False: it is neither. */
static bool read_range(const char *text, long most, long *first, long *last)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	*first = *last = strtol(text, &end, 10);
	if (*end == '-' && end[1] >= '0' && end[1] <= '9')
		*last = strtol(end + 1, &end, 10);
	return !*end && *first <= *last && *last < most;
}

int system_limits_cpus(struct sampler_system *s, const char *list, struct error *why)
{
	long most = sysconf(_SC_NPROCESSORS_CONF), first = 0, last = 0;
	size_t size = CPU_ALLOC_SIZE((size_t)most);
	cpu_set_t *set = CPU_ALLOC((size_t)most);
	char *copy = strdup(list), *rest = copy, *word;
	int err = 0;

	if (!set || !copy) {
		CPU_FREE(set);
		free(copy);
		return error_memory(why);
	}
	CPU_ZERO_S(size, set);
	while (!err && (word = strsep(&rest, ","))) {
		if (!read_range(word, most, &first, &last))
			err = refuse_cpus(list, why);
		for (long cpu = first; !err && cpu <= last; cpu++)
			CPU_SET_S((size_t)cpu, size, set);
	}
	free(copy);
	if (err) {
		CPU_FREE(set);
		return err;
	}
	s->cpus = set;
	s->cpus_size = size;
	return 0;
}

int system_limits_user(struct sampler_system *s, const char *name, struct error *why)
{
	const struct passwd *known = getpwnam(name);
	unsigned long number;
	char *end;

	number = strtoul(name, &end, 10);
	if (!known && (*name < '0' || *name > '9' || *end || number >= UINT_MAX))
		return error_set(why, -ENOENT,
				 "cannot use -u %s: no user has this name; use a name or a number",
				 name);
	s->of_user = true;
	s->user = known ? known->pw_uid : (uid_t)number;
	return 0;
}

/* Finds where the cgroups of version 2 are mounted. */
static bool find_cgroups(char *root, size_t size)
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	const struct mntent *m;
	bool found = false;

	while (f && !found && (m = getmntent(f))) {
		found = !strcmp(m->mnt_type, "cgroup2");
		if (found)
			snprintf(root, size, "%s", m->mnt_dir);
	}
	if (f)
		endmntent(f);
	return found;
}

int system_limits_cgroup(struct sampler_system *s, const char *path, struct error *why)
{
	char root[PATH_MAX], name[2 * PATH_MAX];
	struct statfs fs;
	struct stat st;

	if (!find_cgroups(root, sizeof(root)))
		return error_set(why, -ENOENT,
				 "cannot use -G %s: no cgroups of version 2 are mounted; mount "
				 "them, for example on /sys/fs/cgroup",
				 path);
	snprintf(name, sizeof(name), "%s", path);
	if (*path != '/' || statfs(name, &fs) || fs.f_type != CGROUP2_SUPER_MAGIC)
		snprintf(name, sizeof(name), "%s/%s", root, path);
	if (statfs(name, &fs) || stat(name, &st))
		return error_set(why, -errno,
				 "cannot use -G %s: %s; name a directory below %s, without that "
				 "path",
				 path, strerror(errno), root);
	if (fs.f_type != CGROUP2_SUPER_MAGIC || !S_ISDIR(st.st_mode))
		return error_set(why, -EINVAL,
				 "cannot use -G %s: it is no cgroup of version 2; name a directory "
				 "below %s",
				 path, root);
	s->cgroup = st.st_ino;
	return 0;
}
