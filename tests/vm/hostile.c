/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * hostile [MS [HZ]]
 *
 * Runs programs that do whatever they can with their thread page while they are sampled at a high
 * rate.  Another thread writes anything into the page, and maps, protects and releases the memory
 * that the page names.  The module's output must be well formed.  It must have only what was in the
 * page, or where the page said that its segments are.
 *
 * Nothing is instrumented.  The page is made by hand.  Each kind of memory is filled with different
 * words, so that the origin of a sample's words can be told.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "begin_session.h"
#include "guest.h"
#include "sampler/kmod_session.h"
#include <pcce/sample.h>

#define OF_PAGE 0x7100000000000000ULL	/* words of the page's entries */
#define OF_AREA 0x7200000000000000ULL	/* ... of the memory that area names */
#define FORBIDDEN 0x7300000000000000ULL /* ... of what lies beside both */
#define KIND 0xff00000000000000ULL
#define AREA_LOG 8
#define AREA_BYTES ((1 << AREA_LOG) * sizeof(struct pcce_segment))
/*
 * The kernel does not copy a page in one step.  The area that it finds may mix some bytes of an
 * address with some of the previous one.  All addresses that are written are therefore multiples of
 * 8.  The area is on a multiple of 16 MB, far from all else, so that any such mixture is in it or
 * nowhere.
 */
#define AREA ((unsigned char *)0x100000000000)
/* All that a page can name.  The memory after it exists, but must not be read. */
#define RESERVED_BYTES ((PCCE_AREA_SEGMENTS + 1) * sizeof(struct pcce_segment) + 8192)

/* Threads have a page as if they were instrumented, directly below the thread pointer. */
static __thread struct {
	unsigned char before[4096];
	struct pcce_page page;
	unsigned char after[4096 - sizeof(struct pcce_page)];
} mine __attribute__((aligned(4096), tls_model("initial-exec")));

static struct pcce_page *victim;
static unsigned char *area;
static volatile bool enough;
static uint64_t rate = 20000; /* Hz */

static void fill(void *at, size_t bytes, uint64_t word)
{
	uint64_t *p = at;

	for (size_t i = 0; i < bytes / 8; i++)
		p[i] = word | i;
}

static void make_area(void)
{
	struct pcce_segment *s = (struct pcce_segment *)area;

	fill(area, AREA_BYTES, OF_AREA);
	for (size_t i = 0; i < AREA_BYTES / sizeof(*s); i++) {
		s[i].generation = 1000 + i;
		s[i].base.id = i ? 999 + i : 0;
		s[i].index = i;
	}
}

static void make_page(struct pcce_page *p)
{
	fill(p, sizeof(*p), OF_PAGE);
	p->magic = PCCE_PAGE_MAGIC;
	p->version = PCCE_PAGE_VERSION;
	p->size = PCCE_PAGE_SIZE;
	p->id = p->ext = 0;
	p->off = 32;
	p->place = 0;
	p->area = 0;
	p->base = (struct pcce_entry){0, PCCE_MARK_WORD};
}

/* ---- what is delivered ----------------------------------------------------------- */

struct verdict {
	unsigned int samples, with_page, with_segments, faults, malformed, strange;
	uint64_t strange_word; /* the last one */
};

/* Small numbers are generations and indexes of the area, if the page names an area a little off.  0
 * is memory that has just been mapped. */
static bool is_allowed(uint64_t word)
{
	return (word & KIND) == OF_PAGE || (word & KIND) == OF_AREA || word >> 40 == 0 ||
	       word == PCCE_MARK_WORD;
}

static void judge_word(struct verdict *v, uint64_t word)
{
	if (is_allowed(word))
		return;
	v->strange++;
	v->strange_word = word;
}

static int judge(void *ctx, const struct pcce_sample *s, size_t size, const uint64_t *kernel)
{
	struct verdict *v = ctx;
	const struct pcce_entry *e = pcce_sample_entries(s);
	const struct pcce_segment *g = pcce_sample_segments(s);
	uint32_t i, k;

	v->samples++;
	for (i = 0; s->flags & PCCE_SAMPLE_KERNEL_STACK && i < s->kip; i++)
		v->malformed += !(kernel[i] >> 63);
	v->faults += !!(s->flags & PCCE_SAMPLE_READ_FAULT);
	v->malformed += size != pcce_sample_size(s) || s->n_entries > PCCE_SEGMENT_ENTRIES ||
			s->n_segments > PCCE_SAMPLE_SEGMENTS || s->n_segments > s->n_below;
	if (s->flags & PCCE_SAMPLE_OUTSIDE)
		return 0;
	v->with_page += !(s->flags & PCCE_SAMPLE_READ_FAULT);
	v->with_segments += s->n_segments > 0;
	for (i = 0; i < s->n_entries; i++)
		judge_word(v, e[i].id);
	for (i = 0; i < s->n_segments; i++)
		for (k = 0; k < PCCE_SEGMENT_ENTRIES; k++)
			judge_word(v, g[i].entry[k].id);
	return 0;
}

/* ---- the attacks ----------------------------------------------------------------- */

static void *victim_thread(void *arg)
{
	fill(mine.before, sizeof(mine.before), FORBIDDEN);
	fill(mine.after, sizeof(mine.after), FORBIDDEN);
	make_page(&mine.page);
	__atomic_store_n(&victim, &mine.page, __ATOMIC_RELEASE);
	(void)arg;
	while (!enough)
		for (volatile int i = 0; i < 1000; i++)
			;
	return NULL;
}

static uint64_t random_word(void)
{
	static uint64_t state = 0x123456789abcdefULL;

	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

static uint64_t random_pointer(void)
{
	switch (random_word() % 8) {
	case 0:
		return 0;
	case 1:
		return 0xffff888000000000ULL; /* where the kernel sees all memory */
	case 2:
		return 0xffffffff81000000ULL; /* the kernel's text */
	case 3:
		return 0xffffffffff600000ULL; /* vsyscall */
	case 4:
		return 0x7ffffffffff8ULL - random_word() % 1024 * 8; /* the last of user space */
	case 5:
		return random_word() & ~7ULL;
	case 6:
		return 0x0000800000000000ULL - 8; /* between */
	default:
		return (uint64_t)(uintptr_t)area + (random_word() % 64) * 8;
	}
}

static void lie(struct pcce_page *p)
{
	static const uint32_t offs[] = {0,   16,  256,	272,	    512,	528,	    768,
					784, 896, 1024, 0x7ffffff0, 0xfffffff0, 0x80000000, 511};
	uint64_t r = random_word();

	switch (r % 12) {
	case 0:
		p->off = offs[(r >> 8) % (sizeof(offs) / sizeof(offs[0]))];
		break;
	case 1:
		p->off = (uint32_t)(r >> 32);
		break;
	case 2:
		p->place = (uint32_t)(r >> 32);
		break;
	case 3:
		p->place = (uint32_t)(r >> 32) % 1024;
		break;
	case 4:
		p->area = random_pointer();
		break;
	case 5:
		p->base.id = random_word();
		break;
	case 6:
		p->base.id = 1000 + (r >> 8) % 300;
		break;
	case 7:
		p->magic = r >> 63 ? 0 : PCCE_PAGE_MAGIC;
		break;
	case 8:
		p->version = (uint16_t)(r >> 60 ? PCCE_PAGE_VERSION : r >> 8);
		break;
	case 9:
		p->position = r;
		break;
	default: /* what is right, so that much of it is read */
		p->magic = PCCE_PAGE_MAGIC;
		p->version = PCCE_PAGE_VERSION;
		p->off = (uint32_t)(r >> 8) % (PCCE_SEGMENT_ENTRIES + 1) * 16;
		p->place = (2 + (r >> 20) % 250) << PCCE_PLACE_SHIFT | (r >> 40) % 3;
		p->area = (uint64_t)(uintptr_t)area | AREA_LOG;
		p->base.id = ((struct pcce_segment *)area)[(p->place >> PCCE_PLACE_SHIFT) - 1]
				     .generation;
		break;
	}
}

/* New generations, so that nothing read before counts.  They stay small numbers for is_allowed(),
 * also after hours. */
static void renew(void)
{
	struct pcce_segment *s = (struct pcce_segment *)area;

	for (size_t i = 0; i < AREA_BYTES / sizeof(*s); i++) {
		s[i].generation += 1000;
		s[i].base.id = i ? s[i - 1].generation : 0;
	}
}

static void attack_fields(unsigned int round)
{
	((struct pcce_segment *)area)->entry[0].id = OF_AREA | (uint64_t)round << 20;
	if (round % 4 == 0)
		renew();
	for (int i = 0; i < 50; i++)
		lie(victim);
}

static void honest(void)
{
	victim->magic = PCCE_PAGE_MAGIC;
	victim->version = PCCE_PAGE_VERSION;
	victim->off = PCCE_OFF_FULL;
	victim->place = 200u << PCCE_PLACE_SHIFT;
	victim->base.id = ((struct pcce_segment *)area)[199].generation;
	victim->area = (uint64_t)(uintptr_t)area | AREA_LOG;
}

static void attack_memory(unsigned int round)
{
	void *p = area;

	honest();
	switch (round % 6) {
	case 0:
		munmap(p, AREA_BYTES);
		p = mmap(p, AREA_BYTES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		make_area();
		break;
	case 1:
		madvise(p, AREA_BYTES, MADV_DONTNEED);
		make_area();
		break;
	case 2:
		mprotect(p, AREA_BYTES, PROT_NONE);
		mprotect(p, AREA_BYTES, PROT_READ | PROT_WRITE);
		break;
	case 3: /* in the middle of a segment */
		mprotect((char *)p + 4096 * 5, 4096, PROT_NONE);
		mprotect((char *)p + 4096 * 5, 4096, PROT_READ | PROT_WRITE);
		break;
	case 4:
		madvise(victim, 4096, MADV_DONTNEED);
		make_page(victim);
		break;
	case 5:
		mprotect(victim, 4096, PROT_NONE);
		mprotect(victim, 4096, PROT_READ | PROT_WRITE);
		break;
	}
	((struct pcce_segment *)area)->entry[0].id =
		OF_AREA | (uint64_t)round << 20; /* another stack from the bottom on */
	renew();
	honest();
	for (volatile int i = 0; i < 20000; i++)
		;
}

static struct kmod_session *start(uint32_t flags)
{
	int64_t offset = (int64_t)((char *)&mine.page - (char *)__builtin_thread_pointer());
	struct pcce_kmod_setup c = usual_setup();

	c.rate = rate;
	c.flags |= flags;
	c.ring_bytes = 4 << 20;
	return begin_session(&c, &offset);
}

static void run(const char *name, void (*attack)(unsigned int round), uint32_t flags,
		unsigned int ms)
{
	struct verdict v = {0};
	struct kmod_session *k;
	struct watch watch;
	unsigned int round = 0;
	pthread_t t;
	long err = 0;

	enough = false;
	victim = NULL;
	area = mmap(AREA - 4096, RESERVED_BYTES, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	if (area == MAP_FAILED) {
		result(false, "%s: memory at %p: %s", name, (void *)AREA, strerror(errno));
		return;
	}
	mprotect(area, 4096 + AREA_BYTES, PROT_READ | PROT_WRITE);
	fill(area, 4096 + AREA_BYTES, FORBIDDEN);
	area += 4096;
	make_area();
	k = start(flags);
	pthread_create(&t, NULL, victim_thread, NULL);
	while (!__atomic_load_n(&victim, __ATOMIC_ACQUIRE))
		sched_yield();
	watch = watch_new(1000);
	do {
		attack(round++);
		if (round % 16 == 0 && !err)
			err = kmod_session_read(k, judge, &v);
	} while (watch_ms(&watch) < ms);
	enough = true;
	pthread_join(t, NULL);
	kmod_session_stop(k);
	if (!err)
		err = kmod_session_read(k, judge, &v);
	kmod_session_close(k);
	munmap(area - 4096, RESERVED_BYTES);
	result(!err && !v.malformed && !v.strange && v.with_page && v.with_segments,
	       "%s: well formed, and nothing else is read (%u samples, %u with a page, %u with "
	       "segments, %u faults)",
	       name, v.samples, v.with_page, v.with_segments, v.faults);
	if (err || v.malformed || v.strange)
		printf("#   error %ld, %u malformed, %u strange words (%#llx), %u rounds\n", err,
		       v.malformed, v.strange, (unsigned long long)v.strange_word, round);
}

/* ---- processes that come and go --------------------------------------------------- */

static void *short_thread(void *arg)
{
	make_page(&mine.page);
	mine.page.place = 5u << PCCE_PLACE_SHIFT;
	mine.page.area = (uint64_t)(uintptr_t)arg;
	for (volatile int i = 0; i < 2000; i++)
		;
	return NULL;
}

/* Runs processes that fork, exec and are killed, under sessions that open and close. */
static void churn(unsigned int ms)
{
	struct watch watch = watch_new(1000);
	unsigned int sessions = 0, processes = 0;

	do {
		struct kmod_session *k =
			start(sessions % 2 ? PCCE_KMOD_COPY_STACKS : PCCE_KMOD_KERNEL_STACKS);

		for (int i = 0; i < 4; i++) {
			pid_t pid = fork();

			if (pid == 0) {
				pthread_t t;

				pthread_create(&t, NULL, short_thread, &mine);
				if (i == 1)
					execl("/bin/true", "true", NULL);
				if (i == 2)
					kill(getpid(), SIGKILL);
				if (i == 3)
					syscall(SYS_exit, 0); /* this thread only */
				pthread_join(t, NULL);
				_exit(0);
			}
			processes++;
		}
		/* Sometimes before they have ended, sometimes after. */
		if (sessions % 3 == 0)
			kmod_session_close(k);
		while (wait(NULL) > 0)
			;
		if (sessions % 3)
			kmod_session_close(k);
		sessions++;
	} while (watch_ms(&watch) < ms);
	result(sessions > 3, "processes and sessions that come and go (%u, %u)", processes,
	       sessions);
}

int main(int argc, char **argv)
{
	unsigned int ms = argc > 1 ? (unsigned int)atoi(argv[1]) : 1500;

	if (argc > 2)
		rate = strtoull(argv[2], NULL, 0);
	run("any values in the page", attack_fields, 0, ms);
	run("memory that comes and goes", attack_memory, 0, ms);
	run("memory that comes and goes, with stacks", attack_memory,
	    PCCE_KMOD_COPY_STACKS | PCCE_KMOD_COPY_ALL, ms);
	churn(ms);
	return 0;
}
