/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See choose_frames.h. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "elf/module.h"
#include "record/choose_frames.h"
#include "record/say.h"
#include "symbols/table_file.h"

/* Is this an ELF file without an encoding table, or a script, which another program runs? */
static bool is_plain(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct table_file file = {.state = TABLE_FOUND};
	struct elf_module elf;
	char start[2] = "";
	bool script;

	if (fd < 0)
		return false;
	script = pread(fd, start, 2, 0) == 2 && start[0] == '#' && start[1] == '!';
	if (!script && !elf_module_open_fd(fd, &elf, NULL)) {
		table_file_find(fd, &elf, &file);
		table_file_close(&file);
		elf_module_close(&elf);
	}
	close(fd);
	return script || file.state == TABLE_NONE;
}

enum sampler_copy choose_frames(const struct record_options *o, const char *program,
				const struct targets *targets)
{
	char running[32];
	bool plain = o->system || (program && is_plain(program));

	/* These know only the frames of instrumented code, and waits have no copies of stacks. */
	if (o->count || o->hot || o->only || o->verify || (o->waits && o->n_events == 1))
		return SAMPLER_COPY_NONE;
	for (size_t i = 0; i < targets->n && !plain; i++) {
		snprintf(running, sizeof(running), "/proc/%d/exe", (int)targets->pids[i]);
		plain = is_plain(running);
	}
	return plain ? SAMPLER_COPY_OUTSIDE : SAMPLER_COPY_NONE;
}

void choose_frames_for(const struct sampler_ops *ops, const char *program, bool quiet,
		       struct sampler_config *config)
{
	if (ops == &sampler_self)
		config->copy = SAMPLER_COPY_NONE;
	if (config->copy && !quiet)
		say("%s was not built with pcce: whole stacks are unwound instead "
		    "(--frames=outside); --frames=none leaves that out",
		    program ? program : "the process");
}
