/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Decodes the contexts of the threads in a core dump. */
#ifndef PCCE_CONTEXTS_CORE_H
#define PCCE_CONTEXTS_CORE_H

#include <pcce/decode.h>
#include "base/error.h"
#include "elf/core_file.h"

struct core_contexts;

/* program: the executable, or NULL: the file that ran. folders: n folders with programs and
 * libraries, searched first. Says on standard error which files cannot be used. NULL with a
 * sentence in why on failures. */
struct core_contexts *core_contexts_new(const struct core_file *core, const char *program,
					char **folders, size_t n, uint64_t flags,
					struct error *why);
void core_contexts_free(struct core_contexts *c);

/*
 * The context of a thread, with symbols; it lives until the next call. *jumped: the program is in
 * no code at all and was not called there; then inner frames may be missing. 0, or -errno with a
 * sentence fragment that continues "thread N ": -ENODATA if the core does not have its page.
 */
int core_contexts_thread(struct core_contexts *c, const struct core_thread *t,
			 const struct pcce_decode_context **context, bool *jumped,
			 struct error *why);

#endif
