/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Makes pages for the tests in browsers, from trees that no available recording would give.  The
 * page goes to the standard output.
 *
 *   make_page contexts N     N different contexts of 5,000 functions, 1,000,000 samples, 8 threads
 *   make_page deep N         one chain of N frames, and calls on its way
 *   make_page names          difficult names: long, with markup, with letters of all kinds
 *   make_page threads        three threads that run one after the other, one created by another
 *   make_page events        time on CPUs, waits and page faults of two threads in four seconds
 *   make_page compare        two recordings compared
 *   make_page one            one frame, one sample
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "html/page.h"
#include "symbols/short_names.h"

static struct symbol_table *names;
static struct cct tree;

static void check(int r)
{
	if (!r)
		return;
	fprintf(stderr, "make_page: %s\n", strerror(-r));
	exit(1);
}

static uint64_t next_random(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

static uint32_t child(uint32_t parent, const char *name, const char *file, uint32_t line)
{
	struct cct_key key = {
		.kind = DECODE_FRAME_CALL,
		.module = UINT32_MAX,
		.func = PCCE_NONE,
		.name = symbol_table_intern(names, name),
		.file = symbol_table_intern(names, file),
		.line = line,
	};

	return cct_child(&tree, parent, &key);
}

static void add(uint32_t node, uint64_t weight)
{
	tree.nodes[node].self += weight;
	tree.nodes[node].samples += weight;
}

/* ---- many contexts ---------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
	const struct html_sample *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

/* Each function calls a few others, so that contexts share outer frames as in a real program. */
static void contexts(struct html_page *page, size_t n)
{
	enum { FUNCTIONS = 5000, THREADS = 8, SAMPLES = 1000000 };
	static const char *const parts[] = {"parse",  "eval", "read", "write", "find",
					    "insert", "hash", "copy", "open",  "step"};
	static struct html_thread threads[THREADS];
	static struct html_sample samples[SAMPLES];
	uint32_t *leaves = calloc(n, sizeof(*leaves));
	uint64_t x = 88172645463325252ULL;
	size_t found = 0, tries = 0;

	if (!leaves)
		check(-ENOMEM);
	while (found < n && tries++ < n * 20) {
		uint32_t node = 0, func = 0;
		size_t depth = 6 + next_random(&x) % 12 + next_random(&x) % 12, before = tree.n;

		for (size_t d = 0; d < depth; d++) {
			uint64_t site = next_random(&x) % 100;
			char name[80], file[40];

			site = site < 60 ? 0 : site < 85 ? 1 : site < 95 ? 2 : 3 + site % 3;
			func = d ? (func * 31 + site * 977 + 17) % FUNCTIONS : 0;
			snprintf(name, sizeof(name), "%s_%s_%u", parts[func % 10],
				 parts[func / 10 % 10], func);
			snprintf(file, sizeof(file), "/src/project/module%u/file%u.c", func % 12,
				 func % 200);
			node = child(node, name, file, 100 + site);
		}
		if (tree.n == before)
			continue;
		leaves[found++] = node;
	}
	for (size_t i = 0; i < SAMPLES; i++) {
		/* Chooses some leaves far more often than others. */
		uint64_t r = next_random(&x), which = (r % found) * ((r >> 32) % 1000 + 1) / 1000;

		samples[i] = (struct html_sample){.time = i / THREADS * 100000 + r % 50000,
						  .node = leaves[which],
						  .weight = 1};
		add(leaves[which], 1);
	}
	for (uint32_t t = 0; t < THREADS; t++) {
		threads[t] = (struct html_thread){.pid = 100,
						  .tid = 100 + t,
						  .name = "worker",
						  .first = (uint64_t)SAMPLES / THREADS * t,
						  .last = (uint64_t)SAMPLES / THREADS * (t + 1)};
		for (uint64_t i = threads[t].first; i < threads[t].last; i++)
			samples[i].time = (i - threads[t].first) * 100000 + samples[i].time % 50000;
		qsort(samples + threads[t].first, SAMPLES / THREADS, sizeof(*samples), by_time);
	}
	fprintf(stderr, "%zu contexts, %zu nodes\n", found, tree.n);
	page->samples = samples;
	page->n_samples = SAMPLES;
	page->threads = threads;
	page->n_threads = THREADS;
	free(leaves);
}

/* ---- special cases ----------------------------------------------------------------- */

static void deep(size_t n)
{
	uint32_t node = child(0, "main", "/src/main.c", 1);

	for (size_t d = 2; d <= n; d++) {
		node = child(node, d % 3 ? d % 3 == 1 ? "walk_left" : "walk_right" : "visit",
			     "/src/walk.c", d % 7 + 1);
		if (d % 100 == 0)
			add(child(node, "touch", "/src/walk.c", 40), 3);
	}
	add(node, 100);
}

static void odd_names(void)
{
	static const char *const odd[] = {
		"</script><script>document.title='broken'</script>",
		"<img src=x onerror=\"document.title='broken'\">",
		"@DATA@",
		"операция::表<ключ>(\"naïve\")",
		"bad \xff\xfe bytes\n\tand control \x01 characters",
		"operator<<(std::ostream&, point const&)",
		"list<int>::size() const",
		"list<char>::size() const",
		"std::map<int, int>::operator->() const",
		"(anonymous namespace)::helper(int)",
		"void f<&ns::operator< >(int)",
		"__proto__",
		"constructor",
		"toString",
	};
	char *longest = NULL;
	size_t size;
	FILE *out = open_memstream(&longest, &size);
	uint32_t top = child(0, "main", "/src/main.c", 1);

	if (!out)
		check(-ENOMEM);
	fputs("ns::", out);
	for (int i = 0; i < 200; i++)
		fputs("template_class<int, ", out);
	fputs("char", out);
	for (int i = 0; i < 200; i++)
		fputc('>', out);
	fputs("::method(unsigned long, std::basic_string<char> const&)", out);
	if (fclose(out))
		check(-ENOMEM);
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		add(child(top, odd[i], i ? "/src/<b>odd</b> & \"file\".c" : "", i), 10);
	add(child(top, longest, "/src/long.cc", 7), 200);
	free(longest);
}

static struct html_sample thread_samples[300];
static struct html_thread three[3];

/* The main thread in wait() during the first second, then one thread after the other in work(); the
 * last was created in start_threads(). */
static void threads(struct html_page *page)
{
	uint32_t top = child(0, "main", "/src/main.c", 1),
		 start = child(top, "start_threads", "/src/main.c", 5);
	static char created[] = "main → start_threads  main.c:5";
	uint32_t work =
		child(child(0, "thread_start", "/src/thread.c", 2), "work", "/src/thread.c", 11);
	uint32_t wait = child(start, "wait", "/src/main.c", 9);
	uint32_t nodes[] = {wait, work, work};

	for (size_t i = 0; i < 300; i++) {
		thread_samples[i] = (struct html_sample){
			.time = i * 10000000, .node = nodes[i / 100], .weight = 1};
		add(nodes[i / 100], 1);
	}
	for (uint32_t t = 0; t < 3; t++)
		three[t] = (struct html_thread){.pid = 200,
						.tid = 200 + t,
						.name = t ? "pool" : "main",
						.first = t * 100,
						.last = t * 100 + 100,
						.origin = t == 2 ? created : NULL};
	page->samples = thread_samples;
	page->n_samples = 300;
	page->threads = three;
	page->n_threads = 3;
}

static uint32_t kernel(uint32_t parent, const char *name)
{
	struct cct_key key = {
		.kind = DECODE_FRAME_FOREIGN,
		.flags = CCT_KERNEL,
		.module = UINT32_MAX,
		.func = PCCE_NONE,
		.name = symbol_table_intern(names, name),
	};

	return cct_child(&tree, parent, &key);
}

enum { ON_CPU, OFF_CPU, FAULTS, EVENTS };

static struct html_event three_events[EVENTS] = {
	[ON_CPU] = {.name = "cpu-clock", .scale = 10000000},
	[OFF_CPU] = {.name = "off-cpu", .scale = 10000000},
	[FAULTS] = {.name = "page-faults"},
};
static struct html_sample event_samples[300];
static uint64_t event_weights[16 * EVENTS];

static void sample(struct html_page *page, uint32_t event, uint32_t node, double time,
		   uint32_t weight)
{
	event_samples[page->n_samples++] = (struct html_sample){
		.time = time * 1e9, .event = event, .node = node, .weight = weight};
	event_weights[node * EVENTS + event] += weight;
	three_events[event].samples++;
	three_events[event].weight += weight;
	if (event == ON_CPU)
		add(node, weight);
}

/*
 * The main thread computes for a second, waits two seconds for a futex, has no CPU for half a
 * second, and computes for half a second more. The other one waits one second for I/O, and its
 * second wait has not ended after four seconds. The main thread has 40 page faults at 0.5 s.
 */
static void events(struct html_page *page)
{
	uint32_t top = child(0, "main", "/src/main.c", 1),
		 compute = child(top, "compute", "/src/main.c", 5),
		 lock = child(top, "lock", "/src/main.c", 7),
		 futex = kernel(lock, "[waiting: futex]"), runnable = kernel(lock, "[runnable]"),
		 worker = child(0, "worker", "/src/main.c", 20),
		 io = kernel(worker, "[waiting: I/O]"), poll = kernel(worker, "[waiting]");

	for (int i = 0; i < 100; i++)
		sample(page, ON_CPU, compute, i * 0.01, 1);
	for (int i = 0; i < 50; i++)
		sample(page, ON_CPU, compute, 3.505 + i * 0.01, 1);
	sample(page, OFF_CPU, futex, 3.5, 200);
	sample(page, OFF_CPU, runnable, 3.500001, 50);
	for (int i = 0; i < 40; i++)
		sample(page, FAULTS, compute, 0.5 + i * 1e-5, 1);
	three[0] = (struct html_thread){
		.pid = 300, .tid = 300, .name = "main", .last = page->n_samples};
	sample(page, OFF_CPU, io, 1, 100);
	sample(page, OFF_CPU, poll, 4, 300);
	three[1] = (struct html_thread){.pid = 300,
					.tid = 301,
					.name = "worker",
					.first = three[0].last,
					.last = page->n_samples};
	page->samples = event_samples;
	page->threads = three;
	page->n_threads = 2;
	page->events = three_events;
	page->n_events = EVENTS;
	page->self = event_weights;
	json_object_set_new(page->facts, "samples", json_integer(page->n_samples));
}

static uint64_t before_weights[16];

/* grows: 100 of 1000 before, 400 of 1000 now; shrinks: 500, 200; steady: 300, 295; gone: 100, 0;
 * fresh: 0, 105 */
static void compare(struct html_page *page)
{
	static const struct {
		const char *name;
		uint64_t before, after;
	} cases[] = {{"grows", 100, 400},
		     {"shrinks", 500, 200},
		     {"steady", 300, 295},
		     {"gone", 100, 0},
		     {"fresh", 0, 105}};
	uint32_t top = child(0, "main", "/src/main.c", 1);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t node = child(top, cases[i].name, "/src/main.c", 10 + i);

		add(node, cases[i].after);
		before_weights[node] = cases[i].before;
	}
	page->before = before_weights;
	json_object_set_new(page->facts, "before", json_string("old.data"));
	json_object_set_new(page->facts, "after", json_string("new.data"));
}

/* As lib/profile does for a recording. */
static void shorten_all(void)
{
	uint32_t n = cct_key_count(&tree), *all = malloc(n * sizeof(*all) + 1);

	if (!all)
		check(-ENOMEM);
	for (uint32_t i = 0; i < n; i++)
		all[i] = cct_key(&tree, i)->name;
	check(short_names_choose(names, all, n));
	free(all);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	size_t n = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	struct html_page page = {.title = "made for tests", .tree = &tree, .facts = json_object()};

	names = symbol_table_new(SYMBOL_NAMES_FULL);
	if (!names || !page.facts)
		check(-ENOMEM);
	check(cct_init(&tree));
	check(symbol_table_finish(names));
	page.names = names;
	if (!strcmp(what, "contexts"))
		contexts(&page, n ? n : 100000);
	else if (!strcmp(what, "deep"))
		deep(n ? n : 5000);
	else if (!strcmp(what, "names"))
		odd_names();
	else if (!strcmp(what, "threads"))
		threads(&page);
	else if (!strcmp(what, "events"))
		events(&page);
	else if (!strcmp(what, "compare"))
		compare(&page);
	else if (!strcmp(what, "one"))
		add(child(0, "main", "", 0), 1);
	else {
		fprintf(stderr,
			"usage: make_page contexts|deep|names|threads|events|compare|one [N]\n");
		return 2;
	}
	check(cct_finish(&tree, names));
	shorten_all();
	check(html_page_write(&page, stdout));
	json_decref(page.facts);
	cct_free(&tree);
	symbol_table_free(names);
	return ferror(stdout) || fflush(stdout);
}
