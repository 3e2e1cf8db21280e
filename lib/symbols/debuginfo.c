/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Searches two layouts for separate debug information:
 *
 *   /usr/lib/debug/.build-id/ab/cdef....debug       packages of debug information
 *   CACHE/abcdef.../debuginfo                       files that clients of debuginfod (gdb, perf,
 *   CACHE/abcdef.../source#usr#src#x.c              valgrind, debuginfod-find) have fetched
 *   .../NAME, .../.debug/NAME, /usr/lib/debug/.../NAME   beside a file that has NAME as its link
 *
 * CACHE is as in debuginfod_find_debuginfo(3): $DEBUGINFOD_CACHE_PATH, else
 * $XDG_CACHE_HOME/debuginfod_client, else ~/.cache/debuginfod_client. Older versions used
 * ~/.debuginfod_client_cache.
 *
 * A file that a link leads to may be of another build, or made by another user. Its build id must
 * be the same, or, if one of them has none, its checksum must be that of the link.
 */
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <libdeflate.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols/debuginfo.h"

#define ID_MAX 32

bool debuginfo_same_build_id(Elf *elf, const uint8_t *id, size_t size)
{
	const void *have;
	ssize_t n = dwelf_elf_gnu_build_id(elf, &have);

	return n > 0 && (size_t)n == size && !memcmp(have, id, size);
}

static void build_id_to_hex(const uint8_t *id, size_t size, char hex[2 * ID_MAX + 1])
{
	hex[0] = 0;
	for (size_t i = 0; i < size; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
}

static int open_debug_file(const char *path, const uint8_t *id, size_t size, Elf **elf)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	elf_version(EV_CURRENT);
	*elf = elf_begin(fd, ELF_C_READ, NULL);
	if (*elf && debuginfo_same_build_id(*elf, id, size))
		return fd;
	if (*elf)
		elf_end(*elf);
	close(fd);
	return -1;
}

/* The checksum of a whole file, as of .gnu_debuglink. */
static bool has_checksum(int fd, GElf_Word wanted)
{
	uint32_t crc = 0;
	uint8_t buffer[1 << 16];
	ssize_t n;

	for (off_t at = 0; (n = pread(fd, buffer, sizeof(buffer), at)) > 0; at += n)
		crc = libdeflate_crc32(crc, buffer, (size_t)n);
	return !n && crc == wanted;
}

static bool is_linked(Elf *elf, Elf *debug, int debug_fd, GElf_Word checksum)
{
	const void *id, *other;
	ssize_t size = dwelf_elf_gnu_build_id(elf, &id);

	if (size > 0 && dwelf_elf_gnu_build_id(debug, &other) > 0)
		return debuginfo_same_build_id(debug, id, (size_t)size);
	return has_checksum(debug_fd, checksum);
}

static int open_linked_file(const char *path, Elf *elf, GElf_Word checksum, Elf **debug)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return -1;
	*debug = !fstat(fd, &st) && S_ISREG(st.st_mode) ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
	if (*debug && elf_kind(*debug) == ELF_K_ELF && is_linked(elf, *debug, fd, checksum))
		return fd;
	if (*debug)
		elf_end(*debug);
	close(fd);
	return -1;
}

int debuginfo_open_link(int fd, Elf *elf, Elf **debug)
{
	static const char *const places[][2] = {{"", ""}, {"", ".debug/"}, {"/usr/lib/debug", ""}};
	char link[32], file[PATH_MAX], path[2 * PATH_MAX];
	GElf_Word checksum;
	const char *name = dwelf_elf_gnu_debuglink(elf, &checksum);
	ssize_t n;
	int found = -1;

	if (!name || !*name || strchr(name, '/'))
		return -1;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, file, sizeof(file) - 1);
	if (n <= 0 || *file != '/')
		return -1;
	file[n] = 0;
	strrchr(file, '/')[1] = 0;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && found < 0; i++)
		if (snprintf(path, sizeof(path), "%s%s%s%s", places[i][0], file, places[i][1],
			     name) < (int)sizeof(path))
			found = open_linked_file(path, elf, checksum, debug);
	return found;
}

char *debuginfo_cache(unsigned int i)
{
	static const struct {
		const char *variable, *folder;
	} places[] = {
		{"DEBUGINFOD_CACHE_PATH", ""},
		{"XDG_CACHE_HOME", "/debuginfod_client"},
		{"HOME", "/.cache/debuginfod_client"},
		{"HOME", "/.debuginfod_client_cache"},
	};
	const char *value = getenv(places[i].variable);
	char *path;

	if (!value || !*value || asprintf(&path, "%s%s", value, places[i].folder) < 0)
		return NULL;
	return path;
}

int debuginfo_open(const uint8_t *id, size_t size, Elf **elf)
{
	char hex[2 * ID_MAX + 1], path[4096];
	int fd;

	if (size < 2 || size > ID_MAX)
		return -1;
	build_id_to_hex(id, size, hex);
	snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%.2s/%s.debug", hex, hex + 2);
	fd = open_debug_file(path, id, size, elf);
	for (unsigned int i = 0; i < DEBUGINFO_CACHES && fd < 0; i++) {
		char *dir = debuginfo_cache(i);

		if (!dir)
			continue;
		snprintf(path, sizeof(path), "%s/%s/debuginfo", dir, hex);
		free(dir);
		fd = open_debug_file(path, id, size, elf);
	}
	return fd;
}

char *debuginfo_source(const uint8_t *id, size_t size, const char *path)
{
	char hex[2 * ID_MAX + 1], *found = NULL;

	if (size < 2 || size > ID_MAX)
		return NULL;
	build_id_to_hex(id, size, hex);
	for (unsigned int i = 0; i < DEBUGINFO_CACHES && !found; i++) {
		char *dir = debuginfo_cache(i), *name;

		if (!dir)
			continue;
		if (asprintf(&name, "%s/%s/source%s", dir, hex, path) < 0)
			name = NULL;
		/* The cache keeps a path as one name. */
		for (char *c = name ? name + strlen(dir) + strlen(hex) + 2 : NULL; c && *c; c++)
			if (*c == '/')
				*c = '#';
		if (name && !access(name, R_OK))
			found = name;
		else
			free(name);
		free(dir);
	}
	return found;
}
