/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Handles SIGBUS by mapping zeros over a guarded mapping. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "sampler/bus_guard.h"

static struct bus_guard *guards;
static struct sigaction action_before;

static void on_bus_error(int sig, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr;
	int saved_errno = errno;

	(void)context;
	for (struct bus_guard *g = guards; g; g = g->next)
		if (at - (uintptr_t)g->start < g->size &&
		    mmap(g->start, g->size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
			 0) != MAP_FAILED) {
			g->hit = 1;
			errno = saved_errno;
			return;
		}
	sigaction(sig, &action_before, NULL); /* the access is repeated */
}

struct bus_guard *bus_guard_add(void *start, size_t size)
{
	struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
	struct bus_guard *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	if (!guards)
		sigaction(SIGBUS, &action, &action_before);
	g->start = start;
	g->size = size;
	g->next = guards;
	guards = g;
	return g;
}

void bus_guard_remove(struct bus_guard *guard)
{
	for (struct bus_guard **p = &guards; *p; p = &(*p)->next)
		if (*p == guard) {
			*p = guard->next;
			break;
		}
	free(guard);
	if (!guards)
		sigaction(SIGBUS, &action_before, NULL);
}
