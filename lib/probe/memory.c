/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See memory.h. */
#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/hw_breakpoint.h>

#include "base/similar.h"
#include "elf/module.h"
#include "probe/memory.h"
#include "symbols/elf_symbols.h"

#define PREFIX "mem:"
#define LENGTH_MAX 8 /* bytes that the processor can watch */

bool memory_event_is(const char *name)
{
	return !strncmp(name, PREFIX, strlen(PREFIX));
}

/* ---- variables -------------------------------------------------------------------- */

struct variable_search {
	const char *name;
	uint64_t address, size;
	char near[256];
};

static bool is_variable(void *ctx, const char *name, const GElf_Sym *symbol)
{
	struct variable_search *s = ctx;

	if (GELF_ST_TYPE(symbol->st_info) != STT_OBJECT || !symbol->st_size)
		return false;
	if (strcmp(name, s->name) != 0) {
		similar_add(s->near, sizeof(s->near), s->name, name);
		return false;
	}
	s->address = symbol->st_value;
	s->size = symbol->st_size;
	return true;
}

static int find_variable(const char *name, const char *program, struct variable_search *s,
			 struct error *why)
{
	int fd;
	bool found;

	if (!program)
		return error_set(why, -EINVAL,
				 "there is no program with a variable %s; give its address", name);
	fd = open(program, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return error_set(why, -errno, "cannot open %s: %s", program, strerror(errno));
	s->name = name;
	found = elf_symbols_search_all(fd, is_variable, s);
	close(fd);
	return found ? 0
		     : error_set(why, -ENOENT, "%s has no variable %s%s%s%s", program, name,
				 *s->near ? "; did you mean " : "", s->near, *s->near ? "?" : "");
}

/* ---- names ------------------------------------------------------------------------ */

/* Reads the part of the name behind the last colon. */
static uint32_t read_access(const char *text)
{
	uint32_t type = 0;

	for (; *text; text++) {
		uint32_t bit = *text == 'r'   ? HW_BREAKPOINT_R
			       : *text == 'w' ? HW_BREAKPOINT_W
			       : *text == 'x' ? HW_BREAKPOINT_X
					      : 0;

		if (!bit || type & bit)
			return 0;
		type |= bit;
	}
	return type == HW_BREAKPOINT_W || type == HW_BREAKPOINT_RW || type == HW_BREAKPOINT_X ? type
											      : 0;
}

/* Returns the largest length that the processor can watch, of at most `size` bytes. */
static uint64_t watched_length(uint64_t size)
{
	uint64_t length = LENGTH_MAX;

	while (length > size)
		length /= 2;
	return length;
}

static int set_breakpoint(struct perf_event_attr *attr, uint64_t address, uint64_t length,
			  uint32_t type, struct error *why)
{
	/* The kernel wants this length for instructions. */
	if (type == HW_BREAKPOINT_X)
		length = sizeof(long);
	if (length != 1 && length != 2 && length != 4 && length != 8)
		return error_set(why, -EINVAL, "the processor watches 1, 2, 4 or 8 bytes");
	if (type != HW_BREAKPOINT_X && address % length)
		return error_set(why, -EINVAL,
				 "the address must be a multiple of its length, %u bytes; use "
				 "a smaller /LENGTH",
				 (unsigned int)length);
	attr->type = PERF_TYPE_BREAKPOINT;
	attr->bp_type = type;
	attr->bp_addr = address;
	attr->bp_len = length;
	return 0;
}

static int parse_memory(char *where, const char *program, struct perf_event_attr *attr, bool *moves,
			struct error *why)
{
	struct variable_search s = {.size = sizeof(int)};
	char *colon = strchr(where, ':'), *slash = strchr(where, '/'), *end;
	uint32_t type = colon ? read_access(colon + 1) : HW_BREAKPOINT_RW;
	uint64_t length = 0;
	int err;

	if (colon)
		*colon = 0;
	if (slash && (!colon || slash < colon)) {
		*slash = 0;
		length = strtoull(slash + 1, &end, 0);
		if (!isdigit((unsigned char)slash[1]) || *end)
			type = 0;
	}
	if (!*where || !type)
		return error_set(why, -EINVAL,
				 "the name must be mem:ADDRESS or mem:VARIABLE, then perhaps "
				 "/LENGTH, and :w, :rw or :x");
	errno = 0;
	s.address = strtoull(where, &end, 0);
	*moves = !isdigit((unsigned char)*where);
	if (!*moves && (*end || errno))
		return error_set(why, -EINVAL, "%s is no address", where);
	err = *moves ? find_variable(where, program, &s, why) : 0;
	return err ? err
		   : set_breakpoint(attr, s.address, length ? length : watched_length(s.size), type,
				    why);
}

int memory_event_find(const char *name, const char *program, struct perf_event_attr *attr,
		      bool *moves, struct error *why)
{
	char *where = strdup(name + strlen(PREFIX));
	int err = where ? parse_memory(where, program, attr, moves, why) : error_memory(why);

	free(where);
	return err;
}

/* The kernel tells a process where the first instruction of its program is. */
int memory_event_bias(pid_t pid, const char *program, uint64_t *bias)
{
	int fd = open(program, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), err;
	Elf64_auxv_t entry;
	uint64_t first;
	struct elf_module m;
	char path[64];
	FILE *f;

	if (fd < 0)
		return -errno;
	err = elf_module_open_fd(fd, &m, NULL);
	close(fd);
	if (err)
		return err;
	first = m.entry;
	elf_module_close(&m);
	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid);
	f = fopen(path, "re");
	err = f ? -ENOENT : -errno;
	while (f && err && fread(&entry, sizeof(entry), 1, f) == 1) {
		if (entry.a_type != AT_ENTRY)
			continue;
		*bias = entry.a_un.a_val - first;
		err = 0;
	}
	if (f)
		fclose(f);
	return err;
}
