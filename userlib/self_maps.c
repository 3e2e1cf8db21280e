// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Reads where executable memory is from /proc/self/maps, and puts what is new into the ring.
 *
 * It reads the file with raw system calls at these times: at the start; after dlclose(), since
 * another library may get the same place; and in the signal handler, when a sample shows an address
 * that no known mapping holds. The last one is how a dlopen() is noticed. dlopen() itself is not
 * interposed, since it looks at its caller to find the right search path. dl_iterate_phdr() cannot
 * be used in a signal handler, because the interrupted code may hold its lock. So the runtime makes
 * no further system call in a program that loads nothing after it has entered a seccomp filter.
 *
 * There are two tables. Readers use the one that `current` names. The one scan at a time writes the
 * other; other scans give up. A reader that is overtaken by two scans may see a mix. Its only
 * effect is one scan more, or one later.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include "self.h"
#include "syscall.h"

#define MAPS_MAX 4096
#define MAPS_PAUSE 10000000 /* ns between two scans by signal handlers */

struct range {
	uint64_t start, end;
	uint64_t identity; /* hash of the file and the place in it */
};

struct range_table {
	unsigned int n;
	struct range range[MAPS_MAX];
};

struct scan {
	struct range_table *old, *new;
	struct ring *ring;
	uint64_t now;
	uint32_t pid;
	bool all;
	char line[PATH_MAX + 256];
	unsigned int length;
	bool overlong;
	char buffer[4096];
};

static struct range_table *tables; /* two */
static struct scan *scratch;
static unsigned int current;
static bool scanning;
static uint64_t last_scan;

static bool range_holds(const struct range *r, uint64_t address)
{
	return address >= r->start && address < r->end;
}

static const struct range *find_range(const struct range_table *t, uint64_t address)
{
	unsigned int low = 0, high = __atomic_load_n(&t->n, __ATOMIC_RELAXED);

	while (low < high) {
		unsigned int middle = (low + high) / 2;

		if (range_holds(&t->range[middle], address))
			return &t->range[middle];
		if (t->range[middle].start > address)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

static const struct range_table *current_table(void)
{
	return &tables[__atomic_load_n(&current, __ATOMIC_ACQUIRE)];
}

/* True also if the table was too small, so that the handler does not scan again and again. */
bool maps_know(uint64_t address)
{
	const struct range_table *t;

	if (!tables)
		return true;
	t = current_table();
	return find_range(t, address) || t->n == MAPS_MAX;
}

bool maps_know_sites(const struct pcce_entry *entries, unsigned int n)
{
	const struct range_table *t;
	const struct range *last = NULL;

	if (!tables)
		return true;
	t = current_table();
	for (unsigned int i = 0; i < n; i++) {
		uint64_t site = entries[i].site & PCCE_SITE_MASK,
			 kind = entries[i].site >> PCCE_SITE_BITS;

		/* These hold no address, except the ip of a signal and an ext that is an
		 * address. */
		if (kind > PCCE_COUNT_SIGNAL &&
		    !((kind == PCCE_COUNT_LEAF || kind == PCCE_COUNT_ORIGIN) && site >> 32))
			continue;
		if (last && range_holds(last, site))
			continue;
		last = find_range(t, site);
		if (!last)
			return t->n == MAPS_MAX;
	}
	return true;
}

static const char *parse_hex_digits(const char *p, uint64_t *value)
{
	*value = 0;
	for (;; p++) {
		if (*p >= '0' && *p <= '9')
			*value = *value << 4 | (uint64_t)(*p - '0');
		else if (*p >= 'a' && *p <= 'f')
			*value = *value << 4 | (uint64_t)(*p - 'a' + 10);
		else
			return p;
	}
}

static void emit_range(struct scan *scan, const struct range *r, uint64_t pgoff, const char *path,
		       size_t path_size)
{
	struct pcce_self_map *map =
		ring_reserve(scan->ring, sizeof(*map) + path_size, PCCE_SELF_MAP);

	if (!map) {
		__atomic_add_fetch(&scan->ring->head->lost, 1, __ATOMIC_RELAXED);
		return;
	}
	map->time = scan->now;
	map->start = r->start;
	map->length = r->end - r->start;
	map->pgoff = pgoff;
	map->pid = scan->pid;
	map->path_size = (uint32_t)path_size;
	map->pad = 0;
	memcpy(map + 1, path, path_size);
	ring_commit(scan->ring, map);
}

/* START-END PERMS PGOFF DEVICE INODE   PATH */
static void take_line(struct scan *scan)
{
	const char *p = scan->line, *path;
	const struct range *known;
	struct range r = {.identity = 0xcbf29ce484222325};
	uint64_t pgoff;

	scan->line[scan->length] = 0;
	p = parse_hex_digits(p, &r.start);
	if (*p++ != '-')
		return;
	p = parse_hex_digits(p, &r.end);
	if (p[0] != ' ' || strlen(p) < 7 || p[3] != 'x')
		return;
	p = parse_hex_digits(p + 6, &pgoff);
	for (const char *c = p; *c; c++)
		r.identity = (r.identity ^ (unsigned char)*c) * 0x100000001b3;
	r.identity = (r.identity ^ pgoff) * 0x100000001b3;
	path = strchr(p, '/');
	if (scan->new->n == MAPS_MAX)
		return;
	known = scan->all ? NULL : find_range(scan->old, r.start);
	if (path && !scan->overlong &&
	    (!known || known->start != r.start || known->end != r.end ||
	     known->identity != r.identity))
		emit_range(scan, &r, pgoff, path, scan->length - (size_t)(path - scan->line) + 1);
	scan->new->range[scan->new->n++] = r;
}

static void take_bytes(struct scan *scan, long n)
{
	for (long i = 0; i < n; i++) {
		if (scan->buffer[i] == '\n') {
			take_line(scan);
			scan->length = 0;
			scan->overlong = false;
		} else if (scan->length < sizeof(scan->line) - 1) {
			scan->line[scan->length++] = scan->buffer[i];
		} else {
			scan->overlong = true;
		}
	}
}

static bool allocate_tables(void)
{
	char *p;

	if (tables)
		return true;
	p = raw_mmap(NULL, 2 * sizeof(*tables) + sizeof(*scratch), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (raw_failed(p))
		return false;
	scratch = (struct scan *)(p + 2 * sizeof(*tables));
	__atomic_store_n(&tables, (struct range_table *)p, __ATOMIC_RELEASE);
	return true;
}

/*
 * Puts all (or all new) executable mappings of files into the ring. A mapping may have come at any
 * time since the previous scan; its time is that of that scan. False if the file cannot be read.
 */
bool maps_scan(struct ring *ring, uint64_t now, uint32_t pid, enum maps_mode mode)
{
	uint64_t before = __atomic_load_n(&last_scan, __ATOMIC_RELAXED);
	long fd = 0, n;

	if (mode == MAPS_IN_HANDLER && now - before < MAPS_PAUSE)
		return true;
	if (__atomic_test_and_set(&scanning, __ATOMIC_ACQUIRE))
		return true;
	if (!allocate_tables())
		goto out;
	fd = raw_syscall4(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		goto out;
	scratch->old = &tables[current];
	scratch->new = &tables[!current];
	scratch->new->n = 0;
	scratch->ring = ring;
	scratch->now = mode == MAPS_ALL || before == 0 ? now : before;
	scratch->pid = pid;
	scratch->all = mode == MAPS_ALL;
	scratch->length = 0;
	scratch->overlong = false;
	while ((n = raw_syscall3(SYS_read, fd, scratch->buffer, sizeof(scratch->buffer))) > 0 ||
	       n == -EINTR)
		take_bytes(scratch, n);
	raw_syscall1(SYS_close, fd);
	__atomic_store_n(&current, !current, __ATOMIC_RELEASE);
	__atomic_store_n(&last_scan, now, __ATOMIC_RELAXED);
out:
	__atomic_clear(&scanning, __ATOMIC_RELEASE);
	return fd >= 0;
}

void maps_after_fork(void)
{
	__atomic_clear(&scanning, __ATOMIC_RELEASE);
}
