// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Keeps the dictionary: what the names of contexts mean, as the lines of include/pcce/dictionary.h.
 *
 * All of it is in one mapping, made when a context is named first. It has a set of the names that
 * are known, and the lines, one after the other. Threads and signal handlers add to both without a
 * lock: whoever puts a name into the set writes its line. A line's head has its size from the
 * moment its place is reserved, so a reader can step over a line that is being written.
 *
 * With PCCE_DICTIONARY=FILE each line is also appended to the file at once, so that nothing is lost
 * when the process is killed. The file is opened each time: programs close descriptors that they do
 * not know. Each context costs that once in the life of the process.
 *
 * If there is no room or no memory, or the program has confined itself, lines are missing. Names
 * are right in any case.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include "base/confined.h"
#include "contexts/dictionary.h"
#include "internal.h"
#include "base/local_libc.h"
#include "base/quiet_write.h"
#include "base/syscall.h"

#define NAMES_MAX (1u << 19) /* places in the set, a power of two */
#define PROBES_MAX 64
#define LINES_SIZE (60u << 20)

struct line_head {
	uint32_t size; /* of the text; 0: reserved just now */
	uint32_t complete;
};

struct dictionary {
	uint64_t names[NAMES_MAX];
	uint64_t used, written; /* bytes of lines */
	char lines[LINES_SIZE];
};

static struct dictionary *dictionary; /* NULL: not mapped yet */
static bool no_memory;
static char file[PATH_MAX]; /* of PCCE_DICTIONARY; "": none */

void dictionary_begin(void)
{
	const char *name = getauxval(AT_SECURE) ? NULL : getenv("PCCE_DICTIONARY");
	size_t n = 0, size = name ? strlen(name) + 1 : 0;
	long length;

	if (size < 2)
		return;
	if (*name != '/') {
		length = raw_syscall2(SYS_getcwd, file, sizeof(file));
		n = length > 0 ? (size_t)length : 1;
		file[n - 1] = '/';
	}
	if (n + size > sizeof(file)) {
		file[0] = 0;
		pcce_debug("the name of the dictionary is too long", 0);
		return;
	}
	memcpy(file + n, name, size);
}

static struct dictionary *map_dictionary(void)
{
	struct dictionary *d, *none = NULL;

	if (no_memory || is_confined(CONFINED))
		return NULL;
	d = raw_mmap(NULL, sizeof(*d), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (raw_failed(d)) {
		no_memory = true;
		pcce_debug("no memory for the dictionary", 0);
		return NULL;
	}
	if (__atomic_compare_exchange_n(&dictionary, &none, d, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return d;
	raw_syscall2(SYS_munmap, d, sizeof(*d));
	return none;
}

bool dictionary_knows(struct pcce_name name)
{
	struct dictionary *d = __atomic_load_n(&dictionary, __ATOMIC_ACQUIRE);
	uint64_t key = (name.a ^ pcce_name_rotate(name.b, 32)) | 1;

	if (!d)
		d = map_dictionary();
	for (uint64_t i = 0; d && i < PROBES_MAX; i++) {
		uint64_t *place = &d->names[(key + i) >> 1 & (NAMES_MAX - 1)];
		uint64_t there = __atomic_load_n(place, __ATOMIC_RELAXED);

		if (there == key)
			return true;
		if (there == 0 && __atomic_compare_exchange_n(place, &there, key, false,
							      __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return false;
		if (there == key)
			return true;
	}
	return true; /* it cannot be added */
}

/* ---- text ------------------------------------------------------------------------ */

/* The text of a line: first only its size is computed, with `to` NULL. */
struct line {
	char *to;
	size_t size;
	const struct named_module *module; /* of the last address */
	struct pcce_name module_name;
};

static void put(struct line *l, char c)
{
	if (l->to)
		l->to[l->size] = c;
	l->size++;
}

static void put_text(struct line *l, const char *text)
{
	while (*text)
		put(l, *text++);
}

static void put_digits(struct line *l, uint64_t value, int digits)
{
	while (digits--)
		put(l, "0123456789abcdef"[value >> 4 * digits & 15]);
}

static void put_number(struct line *l, uint64_t value)
{
	int digits = 1;

	while (digits < 16 && value >> 4 * digits)
		digits++;
	put_digits(l, value, digits);
}

static void put_bytes(struct line *l, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		put_digits(l, bytes[i], 2);
}

static void put_name(struct line *l, struct pcce_name name)
{
	put_bytes(l, (const uint8_t *)&name, sizeof(name));
}

static void put_word(struct line *l, const struct context_word *w)
{
	if (w->module && l->module && l->module_name.a == w->module->name.a) {
		put(l, '+');
	} else if (w->module) {
		put(l, '@');
		put_digits(l, w->module->name.a, 16);
		put(l, '+');
	} else if (w->unknown) {
		put(l, '?');
	}
	if (w->module) {
		l->module = w->module;
		l->module_name = w->module->name;
	}
	put_number(l, w->value);
}

static void put_element(struct line *l, const struct context_element *x)
{
	put(l, ' ');
	put_word(l, &x->first);
	put(l, ',');
	put_word(l, &x->second);
	put(l, ',');
	put_number(l, x->kind);
}

/* Takes the line's next element below `more`. */
static bool line_take(struct namer *n, const struct dictionary_line *what,
		      struct element_list *list, struct context_element *x)
{
	if (element_take(n, list, x))
		return true;
	if (what->what == 's' || !list->calls.site)
		return false;
	*x = context_element_of(n, &list->calls, 1);
	list->calls.site = 0;
	return true;
}

static void put_line(struct line *l, struct namer *n, const struct dictionary_line *what)
{
	const struct context_element gap = {.kind = PCCE_ELEMENT_GAP};
	struct element_list list = what->list;
	struct context_element x;

	put_text(l, "pcce1 ");
	put(l, what->what);
	put(l, ' ');
	put_name(l, what->name);
	put(l, ' ');
	if (what->has_parent)
		put_name(l, what->parent);
	else
		put(l, '-');
	if (what->gap)
		put_element(l, &gap);
	while (line_take(n, what, &list, &x))
		put_element(l, &x);
	for (unsigned int i = 0; i < what->n_more; i++)
		put_element(l, &what->more[i]);
	put(l, '\n');
}

static void put_path(struct line *l, const char *path)
{
	for (; *path; path++)
		put(l, *path == '\n' ? '?' : *path);
}

static void put_module(struct line *l, const struct named_module *m, const char *path)
{
	put_text(l, "pcce1 m ");
	if (m->build_id_size)
		put_bytes(l, m->build_id, m->build_id_size);
	else
		put(l, '-');
	put(l, ' ');
	put_bytes(l, m->encoding, sizeof(m->encoding));
	put(l, ' ');
	put_path(l, path);
	put(l, '\n');
}

/* ---- lines ----------------------------------------------------------------------- */

static uint64_t line_bytes(size_t size)
{
	return sizeof(struct line_head) + ((size + 7) & ~(size_t)7);
}

static struct line_head *reserve_line(size_t size)
{
	struct dictionary *d = dictionary;
	uint64_t at = __atomic_load_n(&d->used, __ATOMIC_RELAXED), need = line_bytes(size);
	struct line_head *head;

	do {
		if (need > LINES_SIZE - at)
			return NULL;
	} while (!__atomic_compare_exchange_n(&d->used, &at, at + need, true, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	head = (struct line_head *)(d->lines + at);
	__atomic_store_n(&head->size, (uint32_t)size, __ATOMIC_RELEASE);
	return head;
}

static void append_to_file(const char *text, size_t size)
{
	long fd;

	if (!file[0] || is_confined(CONFINED))
		return;
	fd = raw_syscall4(SYS_openat, AT_FDCWD, file,
			  O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK |
				  O_NOCTTY,
			  0666);
	if (fd >= 0) {
		quiet_write((int)fd, text, size);
		raw_syscall1(SYS_close, fd);
	} else {
		pcce_debug("cannot append to the dictionary:", fd);
	}
}

static void finish_line(struct line_head *head)
{
	__atomic_store_n(&head->complete, 1, __ATOMIC_RELEASE);
	append_to_file((const char *)(head + 1), head->size);
}

/* The path of a module; what a process cannot find out is "?". */
static const char *path_of(const struct named_module *m, char *buffer, size_t size)
{
	long n;

	if (*m->path)
		return m->path;
	n = is_confined(CONFINED) ? -1
				  : raw_syscall3(SYS_readlink, "/proc/self/exe", buffer, size - 1);
	buffer[n < 0 ? 0 : n] = n < 0 ? '?' : 0;
	if (n < 0)
		buffer[1] = 0;
	return buffer;
}

static void add_module(const struct named_module *m)
{
	char buffer[512];
	const char *path;
	struct line l = {};
	struct line_head *head;

	if (dictionary_knows(m->name))
		return;
	path = path_of(m, buffer, sizeof(buffer));
	put_module(&l, m, path);
	head = reserve_line(l.size);
	if (!head)
		return;
	l = (struct line){.to = (char *)(head + 1)};
	put_module(&l, m, path);
	finish_line(head);
}

static void add_module_of(const struct context_word *w)
{
	if (w->module)
		add_module(w->module);
}

static void add_modules(struct namer *n, const struct dictionary_line *what)
{
	struct element_list list = what->list;
	struct context_element x;

	while (line_take(n, what, &list, &x)) {
		add_module_of(&x.first);
		add_module_of(&x.second);
	}
	for (unsigned int i = 0; i < what->n_more; i++) {
		add_module_of(&what->more[i].first);
		add_module_of(&what->more[i].second);
	}
}

void dictionary_add(struct namer *n, const struct dictionary_line *what)
{
	struct line_head *head;
	struct line l = {};

	add_modules(n, what);
	put_line(&l, n, what);
	head = reserve_line(l.size);
	if (!head)
		return;
	l = (struct line){.to = (char *)(head + 1)};
	put_line(&l, n, what);
	finish_line(head);
}

typedef long write_fn(int fd, const char *text, size_t size);

/* Writes the lines from *at on. 0 or -errno. */
static long write_lines(struct dictionary *d, int fd, uint64_t *at, write_fn *write_text)
{
	uint64_t used = __atomic_load_n(&d->used, __ATOMIC_ACQUIRE);
	long r = 0;

	while (*at < used) {
		const struct line_head *head = (const struct line_head *)(d->lines + *at);
		uint32_t size = __atomic_load_n(&head->size, __ATOMIC_ACQUIRE);

		/* Another thread is writing this line: the next call continues here. */
		if (!size || !__atomic_load_n(&head->complete, __ATOMIC_ACQUIRE))
			break;
		r = write_text(fd, (const char *)(head + 1), size);
		if (r < 0)
			break;
		*at += line_bytes(size);
	}
	return r;
}

int pcce_dictionary_write(int fd)
{
	struct dictionary *d = __atomic_load_n(&dictionary, __ATOMIC_ACQUIRE);
	uint64_t at;
	long r;

	if (!d)
		return 0;
	at = __atomic_load_n(&d->written, __ATOMIC_RELAXED);
	r = write_lines(d, fd, &at, loud_write);
	__atomic_store_n(&d->written, at, __ATOMIC_RELAXED);
	return (int)r;
}

void dictionary_write_from(int fd, uint64_t *at)
{
	struct dictionary *d = __atomic_load_n(&dictionary, __ATOMIC_ACQUIRE);

	if (d)
		write_lines(d, fd, at, quiet_write);
}
