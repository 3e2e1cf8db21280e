/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Processes and their mappings over time. */
#include "tests/unit/tap.h"
#include "stream/address_space.h"

static struct address_spaces *s;

static const struct encoding_table *no_table(void *ctx, uint32_t module)
{
	(void)ctx;
	(void)module;
	return NULL;
}

static void process(uint64_t time, uint32_t pid, uint32_t ppid, uint32_t flags)
{
	struct pcce_rec_process rec = {.time = time, .pid = pid, .ppid = ppid, .flags = flags};

	address_spaces_add_process(s, &rec);
}

static void map(uint64_t time, uint32_t pid, uint64_t start, uint64_t length, uint64_t vaddr,
		uint32_t module)
{
	struct pcce_rec_map rec = {.time = time,
				   .pid = pid,
				   .start = start,
				   .length = length,
				   .vaddr = vaddr,
				   .module = module};

	address_spaces_add_map(s, &rec);
}

/* The module at an address; -1: none. */
static int module_at(uint32_t pid, uint64_t time, uint64_t address, uint64_t *vaddr)
{
	const struct decode_space *as = address_spaces_get(s, address_spaces_at(s, pid, time));
	const struct decode_module *m = as->find(as, address);

	if (m && vaddr)
		*vaddr = address - m->start + m->vaddr;
	return m ? (int)m->module : -1;
}

static void at(const char *name, uint32_t pid, uint64_t time, uint64_t address, int want)
{
	int got = module_at(pid, time, address, NULL);

	tap_ok(got == want, name, "wanted %d, got %d", want, got);
}

/* Of present spaces. */
static int module_now(uint32_t pid, uint64_t address, uint64_t *layout)
{
	const struct decode_space *as = address_spaces_now(s, pid, layout);
	const struct decode_module *m = as ? as->find(as, address) : NULL;

	return m ? (int)m->module : -1;
}

static void test_present(void)
{
	uint64_t layout, other;

	s = address_spaces_new(no_table, NULL, true);
	process(100, 1, 0, 0);
	map(100, 1, 0x1000, 0x3000, 0, 0);
	tap_ok(module_now(1, 0x1000, &layout) == 0 && module_now(1, 0x1000, &other) == 0 &&
		       layout == other,
	       "present: a mapping", "it is not so");
	map(110, 1, 0x1000, 0x3000, 0, 0);
	process(120, 2, 1, PCCE_PROCESS_FORK);
	map(130, 1, 0x2000, 0x1000, 0, 4);
	tap_ok(module_now(1, 0x1fff, &other) == 0 && module_now(1, 0x2000, &other) == 4 &&
		       module_now(1, 0x3000, &other) == 0 && layout != other,
	       "present: mapped over the middle", "it is not so");
	tap_ok(module_now(2, 0x2000, &layout) == 0, "present: not in a child from before",
	       "it is not so");
	process(140, 2, 2, PCCE_PROCESS_FORK);
	tap_ok(module_now(2, 0x2000, &layout) == 0, "present: forked by its own number",
	       "it is not so");
	process(150, 2, 1, PCCE_PROCESS_EXEC);
	tap_ok(module_now(2, 0x2000, &layout) == -1, "present: nothing after exec", "it is not so");
	address_spaces_free(s);
}

int main(void)
{
	uint64_t vaddr = 0;

	s = address_spaces_new(no_table, NULL, false);
	/* Not in order of time, as several CPUs deliver them. */
	map(500, 1, 0x9000, 0x1000, 0, 3); /* dlopen */
	process(100, 1, 0, 0);
	map(100, 1, 0x1000, 0x2000, 0x400, 0);
	map(110, 1, 0x5000, 0x1000, 0, 1);
	process(200, 2, 1, PCCE_PROCESS_FORK);
	map(600, 1, 0x5000, 0x1000, 0, PCCE_MODULE_NONE); /* dlclose */
	process(300, 2, 1, PCCE_PROCESS_EXEC);
	map(301, 2, 0x1000, 0x1000, 0, 7);
	map(700, 1, 0x1800, 0x400, 0, 8); /* over the middle of a mapping */
	process(800, 4, 1, PCCE_PROCESS_FORK);
	map(900, 3, 0x1000, 0x1000, 0, 9);     /* a process of which nothing else is known */
	process(950, 2, 1, PCCE_PROCESS_FORK); /* the number is used again */
	tap_ok(!address_spaces_finish(s), "replay", "no memory");

	at("mapped", 1, 150, 0x1000, 0);
	at("its last byte", 1, 150, 0x2fff, 0);
	at("behind it", 1, 150, 0x3000, -1);
	tap_ok(module_at(1, 150, 0x1234, &vaddr) == 0 && vaddr == 0x634, "link-time address",
	       "%#llx", (unsigned long long)vaddr);
	at("a sample from before the record of its mapping", 1, 50, 0x1000, 0);
	at("a library, before its record", 1, 120, 0x9000, 3);
	at("before dlclose", 1, 599, 0x5000, 1);
	at("after dlclose", 1, 600, 0x5000, -1);
	at("a forked child has its parent's mappings", 2, 250, 0x5000, 1);
	at("after exec they are gone", 2, 310, 0x5000, -1);
	at("after exec", 2, 310, 0x1000, 7);
	at("before exec, the same address", 2, 299, 0x1000, 0);
	at("the parent's dlopen is not the child's", 2, 299, 0x9000, -1);
	at("mapped over, before", 1, 699, 0x1800, 0);
	at("mapped over, in the middle", 1, 700, 0x1800, 8);
	at("mapped over, in front", 1, 700, 0x17ff, 0);
	tap_ok(module_at(1, 700, 0x1c00, &vaddr) == 0 && vaddr == 0x1000, "mapped over, behind",
	       "%#llx", (unsigned long long)vaddr);
	at("a child forked after that", 4, 850, 0x1800, 8);
	at("nothing known but a mapping", 3, 1, 0x1000, 9);
	at("an unknown process", 77, 100, 0x1000, -1);
	at("a number that is used again", 2, 960, 0x1000, 0);
	tap_ok(address_spaces_at(s, 1, 750) == address_spaces_at(s, 4, 850),
	       "equal layouts are one space", "%u %u", address_spaces_at(s, 1, 750),
	       address_spaces_at(s, 4, 850));
	tap_ok(address_spaces_at(s, 1, 150) != address_spaces_at(s, 1, 750),
	       "different layouts are not", "%u", address_spaces_at(s, 1, 150));
	address_spaces_free(s);
	test_present();
	return tap_done();
}
