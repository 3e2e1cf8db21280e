// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Lets the calls of libraries be counted, inside the program. pcce-record makes the dynamic
 * linker's _dl_debug_state() jump to modules(). The linker calls that function for debuggers: when
 * it has mapped libraries, and when it has removed some. It holds its lock meanwhile. No code of
 * new libraries has run yet but IFUNC resolvers, and a preloaded malloc() that the linker calls.
 *
 * So nobody executes the code that changes here. pcce-record says how it changes (counting.h). If
 * it does not answer, or has ended, the libraries are not counted.
 *
 * A closed library leaves sites in the nodes of contexts. No other library may come to their
 * addresses. So the place of its code is reserved for the rest of the process.
 *
 * Under a seccomp filter of the program, this code makes no system calls but futex(), getpid() and
 * mmap(): pcce-record gives no answer then.
 *
 * This code precedes the engine, so addresses in it are none of the engine's.
 */
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include "count/memory.h"
#include "base/syscall.h"

#define RT_CONSISTENT 0
#define AT_FDCWD (-100)
#define O_RDWR_CLOEXEC 02000002
#define WAIT_NS 100000000
#define WAITS 600	     /* a recorder that is stopped may answer later */
#define INTERRUPTIONS 100000 /* of one request */
#define TRIES 64	     /* requests in a row */
#define PAGE 4096ULL

/* Results in place of the number of a module. */
#define FAILED UINT32_MAX
#define AGAIN (UINT32_MAX - 1) /* another thread has mapped memory where the stubs should be */

/* As in <link.h>. */
struct link_map {
	uint64_t base;
	const char *name;
	uint64_t dynamic;
	struct link_map *next;
};

struct r_debug {
	int version;
	struct link_map *map;
	uint64_t function;
	int state;
};

extern struct pcce_count_config config __attribute__((visibility("hidden")));

static struct pcce_count_area *shared_area(void)
{
	return (struct pcce_count_area *)config.area;
}

static struct pcce_count_modules *known_modules(void)
{
	return (struct pcce_count_modules *)config.modules;
}

/* Maps memory at this very place. */
static int map_at(uint64_t at, uint64_t size, int prot)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
	void *result = raw_mmap((void *)at, size, prot, flags, -1, 0);

	if (result == (void *)at)
		return 1;
	/* Older kernels take the address as a hint. */
	if (!raw_failed(result))
		raw_syscall2(SYS_munmap, result, size);
	return 0;
}

/* ---- asking ---------------------------------------------------------------------- */

static struct pcce_count_request *take_request(void)
{
	for (uint32_t i = 0; i < PCCE_COUNT_REQUESTS; i++) {
		struct pcce_count_request *r = &shared_area()->request[i];
		uint32_t free = PCCE_COUNT_FREE;

		if (__atomic_compare_exchange_n(&r->state, &free, PCCE_COUNT_TAKEN, 0,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return r;
	}
	return NULL;
}

/* Does anybody answer? */
static int is_heard(void)
{
	uint32_t word = __atomic_load_n(&shared_area()->answers, __ATOMIC_ACQUIRE);

	return word && !(word & PCCE_COUNT_DIED) && !known_modules()->mute;
}

static int is_answered(const struct pcce_count_request *r)
{
	return __atomic_load_n(&r->state, __ATOMIC_ACQUIRE) == PCCE_COUNT_ANSWERED;
}

/* Returns whether there is an answer. Signals may interrupt the waiting. */
static int ask_recorder(struct pcce_count_request *r)
{
	const int64_t pause[2] = {0, WAIT_NS};
	struct pcce_count_area *a = shared_area();
	uint32_t waits = 0, interrupted = 0;

	r->pid = (uint32_t)raw_syscall0(SYS_getpid);
	r->area = config.area;
	r->loads = known_modules()->loads;
	__atomic_store_n(&r->state, PCCE_COUNT_ASKED, __ATOMIC_RELEASE);
	__atomic_add_fetch(&a->asked, 1, __ATOMIC_SEQ_CST);
	raw_syscall3(SYS_futex, &a->asked, FUTEX_WAKE, 1);
	while (!is_answered(r) && is_heard() && waits < WAITS && interrupted < INTERRUPTIONS) {
		if (raw_syscall4(SYS_futex, &r->state, FUTEX_WAIT, PCCE_COUNT_ASKED, pause) ==
		    -EINTR)
			interrupted++;
		else
			waits++;
	}
	known_modules()->mute = !is_answered(r);
	return !known_modules()->mute;
}

/* ---- changing code --------------------------------------------------------------- */

static int are_unchanged(const struct pcce_count_change *c, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < c[i].n; k++)
			if (((const uint8_t *)c[i].address)[k] != c[i].before[k])
				return 0;
	return 1;
}

static int write_memory(long fd, uint64_t address, const void *bytes, uint64_t n)
{
	return raw_syscall4(SYS_pwrite64, fd, bytes, n, address) == (long)n;
}

/* Maps memory for the stubs, and fills it. */
static uint32_t map_stubs(long fd, const struct pcce_count_code *c)
{
	long burst = 0;

	if (!map_at(c->map, c->map_size, PROT_READ | PROT_EXEC))
		return AGAIN;
	/* The size 0 makes a second mapping of shared memory. */
	if (c->burst)
		burst = raw_syscall5(SYS_mremap, config.area, 0, PAGE,
				     MREMAP_MAYMOVE | MREMAP_FIXED, c->burst);
	if (burst == (long)c->burst && write_memory(fd, c->map, c + 1, c->bytes))
		return 0;
	raw_syscall2(SYS_munmap, c->map, c->map_size);
	return FAILED;
}

/* The module that has been at this place and is closed, if it was the same; else a new one. NULL:
 * the place belongs to another one, or there are too many. */
static struct pcce_count_module *find_module(const struct pcce_count_code *c)
{
	struct pcce_count_modules *m = known_modules();

	for (uint32_t i = 0; i < m->n_modules; i++) {
		struct pcce_count_module *at = &m->module[i];

		if (at->text >= c->text_end || at->text_end <= c->text)
			continue;
		return at->first == c->first && at->text == c->text && at->state != PCCE_COUNT_OPEN
			       ? at
			       : NULL;
	}
	return m->n_modules < PCCE_COUNT_MODULES ? &m->module[m->n_modules] : NULL;
}

/* Makes all changes, or none. */
static int make_changes(long fd, const struct pcce_count_change *c, uint32_t n)
{
	uint32_t done = 0;

	while (done < n && write_memory(fd, c[done].address, c[done].after, c[done].n))
		done++;
	if (done == n)
		return 1;
	/* What has no memory for the new code has memory for the old one. */
	while (done-- > 0)
		write_memory(fd, c[done].address, c[done].before, c[done].n);
	return 0;
}

/* Returns 1 + the index of the module, AGAIN or FAILED. */
static uint32_t count_library(long fd, struct pcce_count_code *c)
{
	const struct pcce_count_change *changes =
		(const struct pcce_count_change *)((const char *)(c + 1) + c->bytes);
	struct pcce_count_modules *all = known_modules();
	struct pcce_count_module *m = find_module(c);
	uint32_t result;

	/* Nobody may trust the library's file, or the place. */
	if (!m || !are_unchanged(changes, c->n_changes))
		c->loose = 1;
	if (fd < 0 || c->loose)
		return FAILED;
	result = m->text_end == c->text_end ? 0 : map_stubs(fd, c);
	if (result)
		return result;
	*m = (struct pcce_count_module){
		.text = c->text,
		.text_end = c->text_end,
		.got = c->got,
		.stubs = c->stubs,
		.first = c->first,
		.n_places = c->n_places,
		.code = (uint64_t)c - config.area,
		.state = PCCE_COUNT_OPEN,
	};
	if (m == &all->module[all->n_modules])
		__atomic_store_n(&all->n_modules, all->n_modules + 1, __ATOMIC_RELEASE);
	if (make_changes(fd, changes, c->n_changes))
		return (uint32_t)(m - all->module) + 1;
	m->text_end = m->text;
	return FAILED;
}

/* ---- closed libraries ------------------------------------------------------------ */

/* Another thread may have mapped memory there meanwhile. Then the rest is reserved. */
static void reserve_place(struct pcce_count_module *m)
{
	uint64_t start = m->text & -PAGE, end = (m->text_end + PAGE - 1) & -PAGE;

	m->state = map_at(start, end - start, PROT_NONE) ? PCCE_COUNT_RESERVED : PCCE_COUNT_CLOSED;
	for (; m->state == PCCE_COUNT_CLOSED && start < end; start += PAGE)
		map_at(start, PAGE, PROT_NONE);
}

static void reserve_places(void)
{
	struct pcce_count_modules *m = known_modules();

	for (uint32_t i = 0; i < m->n_modules; i++)
		if (m->module[i].state == PCCE_COUNT_CLOSED)
			reserve_place(&m->module[i]);
}

/* A library was loaded. If another one has been at its place, nobody can tell their sites apart. */
static void mark_loose(const struct link_map *map, uint32_t module)
{
	struct pcce_count_modules *all = known_modules();

	for (uint32_t i = 0; i < all->n_modules; i++) {
		const struct pcce_count_module *m = &all->module[i];

		if (m->state == PCCE_COUNT_CLOSED && i + 1 != module && map->base < m->text_end &&
		    map->dynamic >= m->text)
			((struct pcce_count_code *)(config.area + m->code))->loose = 1;
	}
}

/* ---- the list of libraries ------------------------------------------------------- */

/* The hint is where the list had it the last time. */
static struct pcce_count_known *find_known(const struct link_map *map, uint32_t hint)
{
	struct pcce_count_modules *m = known_modules();

	for (uint32_t i = 0; i < m->n_known; i++) {
		struct pcce_count_known *k = &m->known[(hint + i) % m->n_known];

		if (k->base == map->base && k->dynamic == map->dynamic)
			return k;
	}
	return NULL;
}

static void remember_library(const struct link_map *map, uint32_t module)
{
	struct pcce_count_modules *m = known_modules();

	mark_loose(map, module);
	if (m->n_known == PCCE_COUNT_MODULES)
		return;
	m->known[m->n_known] = (struct pcce_count_known){map->base, map->dynamic, module, 1};
	m->n_known++;
}

/* Changes the libraries from map on that are not known, as the request has them. */
static void take_answer(const struct pcce_count_request *r, const struct link_map *map, int last)
{
	static const char path[] = "/proc/thread-self/mem";
	long fd = raw_syscall4(SYS_openat, AT_FDCWD, path, O_RDWR_CLOEXEC, 0);

	__atomic_store_n(&known_modules()->loads, r->loads, __ATOMIC_SEQ_CST);
	publish_loads(config.memory, shared_area(), r->loads);
	for (uint32_t i = 0; i < r->n && map; map = map->next) {
		uint32_t module = 0;

		if (find_known(map, i))
			continue;
		if (r->base[i])
			module = count_library(
				fd, (struct pcce_count_code *)(config.area + r->base[i]));
		i++;
		if (module == AGAIN && !last)
			continue;
		if (module == AGAIN || module == FAILED) {
			__atomic_add_fetch(&shared_area()->unwritten, 1, __ATOMIC_RELAXED);
			module = 0;
		}
		remember_library(map, module);
	}
	if (fd >= 0)
		raw_syscall1(SYS_close, fd);
}

/* Asks about the libraries from map on that are not known. last: not again. Returns whether there
 * may be more. */
static int count_new(const struct link_map *map, int last)
{
	struct pcce_count_request *r = is_heard() ? take_request() : NULL;
	uint32_t n = 0, hint = 0;

	for (const struct link_map *m = map; m && r && n < PCCE_COUNT_BASES; m = m->next)
		if (!find_known(m, hint++))
			r->base[n++] = m->base;
	if (r)
		r->n = n;
	if (r && n && ask_recorder(r)) {
		take_answer(r, map, last);
		__atomic_store_n(&r->state, PCCE_COUNT_FREE, __ATOMIC_RELEASE);
		return 1;
	}
	if (r && !n) {
		__atomic_store_n(&r->state, PCCE_COUNT_FREE, __ATOMIC_RELEASE);
		return 0;
	}
	for (; map; map = map->next) {
		if (find_known(map, 0))
			continue;
		remember_library(map, 0);
		__atomic_add_fetch(&shared_area()->unheard, 1, __ATOMIC_RELAXED);
	}
	return 0;
}

/* Forgets libraries that are not in the list any more. */
static void close_unseen(void)
{
	struct pcce_count_modules *m = known_modules();

	for (uint32_t i = m->n_known; i-- > 0;) {
		const struct pcce_count_known *k = &m->known[i];

		if (k->seen)
			continue;
		if (k->module)
			reserve_place(&m->module[k->module - 1]);
		m->known[i] = m->known[--m->n_known];
	}
}

void modules(void)
{
	const struct r_debug *debug = (const struct r_debug *)config.debug;
	struct pcce_count_modules *m = known_modules();
	/* The first one is the program. */
	const struct link_map *first = debug->map ? debug->map->next : NULL;
	uint32_t hint = 0;
	int any = 0;

	/* Also before libraries are mapped. */
	reserve_places();
	if (debug->state != RT_CONSISTENT)
		return;
	for (uint32_t i = 0; i < m->n_known; i++)
		m->known[i].seen = 0;
	for (const struct link_map *map = first; map; map = map->next) {
		struct pcce_count_known *k = find_known(map, hint++);

		if (k)
			k->seen = 1;
		else
			any = 1;
	}
	close_unseen();
	for (int i = 0; any && i < TRIES && m->n_known < PCCE_COUNT_MODULES; i++)
		any = count_new(first, i >= TRIES / 2);
}
