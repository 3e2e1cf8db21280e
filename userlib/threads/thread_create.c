// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Interposes pthread_create() and thrd_create(), so that the new thread announces its page before
 * the program's start routine.
 *
 * Finding the real pthread_create(). In a dynamic program dlsym(RTLD_NEXT) finds it. A static
 * program may contain dlsym(), but it finds nothing there. In a static program the C library
 * defines pthread_create as a weak name for __pthread_create. So the interposed one replaces it
 * without conflict, and __pthread_create is still there if its archive member is linked. Both are
 * weak references, since neither exists everywhere. A weak reference does not pull a member out of
 * an archive, but mq_notify() does: its member needs __pthread_create in libc.a, and in libc.so it
 * is a name like any other.
 *
 * A sanitizer's pthread_create() has a second name, which also finds it where it is linked
 * statically (-static-libasan).
 *
 * The creator's context goes to the new thread with its arguments (origin.c).
 *
 * What it is given is not from malloc(). A new thread that calls free() gets an arena, and each
 * arena reserves 64 MiB. It is mapped, since helgrind and drd would find races in memory that
 * threads hand on. Where the program's seccomp filter refuses that, a small pool is enough.
 *
 * Stacks. A thread's TLS is on its stack, and the page takes almost 1 KB of it. pthread_create()
 * refuses stacks that TLS would fill, and a stack that was just large enough is then too small. So
 * a size that the program chose is increased. A stack that the program provides stays as it is; it
 * may have 16 KiB. So nothing here puts much on a new thread's stack.
 */
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <threads.h>
#include "base/confined.h"
#include "internal.h"
#include "interpose/next.h"
#include "threads/origin.h"
#include "interpose/own.h"
#include "base/syscall.h"

/* Only to link __pthread_create. */
extern int mq_notify();
__attribute__((used)) static int (*const wanted)() = mq_notify;

/* The page, and what the start of a thread and a sampler's signal handler need. */
#define STACK_EXTRA 8192

#define POOL 16
#define POOL_ENTRIES 32

typedef int create_fn(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

create_fn pcce_own_pthread_create __attribute__((visibility("hidden")));
PUBLIC_NAME(pthread_create, pthread_create);

extern create_fn __pthread_create __attribute__((weak));
extern create_fn __interceptor_pthread_create __attribute__((weak));

/* ThreadSanitizer's record of calls, in which the caller would be missing where a thread was
 * created. */
extern void __tsan_func_entry(void *caller) __attribute__((weak, visibility("default")));
extern void __tsan_func_exit(void) __attribute__((weak, visibility("default")));

/* What pthread_cleanup_push() and pthread_cleanup_pop() of <pthread.h> call. The references are
 * strong, so that a static program has the functions. */
extern void __pthread_register_cancel(__pthread_unwind_buf_t *);
extern void __pthread_unregister_cancel(__pthread_unwind_buf_t *);
extern void __pthread_unwind_next(__pthread_unwind_buf_t *) __attribute__((noreturn));
extern int __sigsetjmp();

/* thread_body.S */
struct thread_unwind {
	int (*real_setjmp)();
	void (*add)(__pthread_unwind_buf_t *);
	void (*remove)(__pthread_unwind_buf_t *);
	void (*next)(__pthread_unwind_buf_t *) __attribute__((noreturn));
};
_Static_assert(sizeof(__pthread_unwind_buf_t) == 104, "as thread_body.S has it");
extern void *__pcce_thread_body(void *(*routine)(void *), void *arg,
				const struct thread_unwind *libc)
	__attribute__((visibility("hidden")));

struct start {
	union {
		void *(*posix)(void *);
		int (*c11)(void *);
	} routine;
	bool c11;
	bool masks_signal; /* inherited, as a mask is */
	void *arg;
	size_t mapped; /* bytes; 0: it is in the pool */
	struct origin origin;
	struct pcce_entry entries[]; /* of the origin */
};

static struct pooled {
	/* First, so that both have the same address. */
	_Alignas(16) unsigned char start[sizeof(struct start) +
					 POOL_ENTRIES * sizeof(struct pcce_entry)];
	bool used;
} pool[POOL];

static struct start *take_start(uint32_t entries)
{
	size_t size = sizeof(struct start) + entries * sizeof(struct pcce_entry);
	struct start *s;

	if (!is_confined(CONFINED_NO_MMAP)) {
		s = raw_mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);
		if (raw_failed(s))
			return NULL;
		s->mapped = size;
		return s;
	}
	for (int i = 0; entries <= POOL_ENTRIES && i < POOL; i++)
		if (!__atomic_exchange_n(&pool[i].used, true, __ATOMIC_ACQUIRE))
			return (struct start *)pool[i].start;
	return NULL;
}

static void release_start(struct start *s)
{
	if (s->mapped)
		raw_syscall2(SYS_munmap, s, s->mapped);
	else
		__atomic_store_n(&((struct pooled *)s)->used, false, __ATOMIC_RELEASE);
}

static create_fn *real_create(void)
{
	static void *found;
	create_fn *known = __pthread_create;

	/* If the public name is another's, that one has called this. */
	if (__interceptor_pthread_create && pthread_create == pcce_own_pthread_create)
		known = __interceptor_pthread_create;
	return (create_fn *)next_function(&found, (void *)known, "pthread_create", NULL);
}

/* The routine in the form that __pcce_thread_body() calls. */
static void *run_c11(void *p)
{
	const struct start *start = p;

	return (void *)(intptr_t)start->routine.c11(start->arg);
}

/* Finds libc's setjmp, and not the one of jump_stubs.S, which a static program does not have. */
typedef int setjmp_fn();
static setjmp_fn *real_setjmp(void)
{
	static void *found;

	return (setjmp_fn *)next_function(&found, NULL, "__sigsetjmp", (void *)__sigsetjmp);
}

static void *start_thread(void *p)
{
	struct thread_unwind libc = {
		.real_setjmp = real_setjmp(),
		.add = __pthread_register_cancel,
		.remove = __pthread_unregister_cancel,
		.next = __pthread_unwind_next,
	};
	struct start start = *(struct start *)p;
	int saved_errno = errno;

	if (pcce_active)
		origin_enter(&start.origin);
	release_start(p);
	pcce_thread_self()->masks_signal = start.masks_signal;
	pcce_thread_begin();
	errno = saved_errno;
	if (start.c11)
		return __pcce_thread_body(run_c11, &start, &libc);
	return __pcce_thread_body(start.routine.posix, start.arg, &libc);
}

/* Returns *copy, which is attr with a larger stack, or attr itself if there is nothing to enlarge.
 * The copy shares what attr points to, and must not be destroyed. */
static const pthread_attr_t *larger_stack(const pthread_attr_t *attr, pthread_attr_t *copy)
{
	void *stack;
	size_t size;

	if (!attr || pthread_attr_getstack(attr, &stack, &size) != 0)
		return attr;
	/* If the program gave no stack, glibc gives NULL minus size. */
	if ((uintptr_t)stack + size != 0)
		return attr;
	*copy = *attr;
	if (pthread_attr_setstacksize(copy, size + STACK_EXTRA) != 0)
		return attr;
	return copy;
}

static int create_thread(pthread_t *thread, const pthread_attr_t *attr, const struct start *start,
			 void *caller)
{
	create_fn *real = real_create();
	pthread_attr_t copy;
	uint32_t room = pcce_active ? origin_room() : 0;
	struct start *passed;
	int ret;

	if (!real)
		return EAGAIN;
	/* Before threads look for it: a race detector cannot know that it does no harm if they find
	 * it together. */
	real_setjmp();
	main_exit_prepare();
	passed = take_start(room);
	if (!passed)
		return EAGAIN;
	passed->routine = start->routine;
	passed->c11 = start->c11;
	passed->arg = start->arg;
	passed->masks_signal = pcce_thread_self()->masks_signal;
	if (pcce_active)
		origin_take(&passed->origin, passed->entries, room);
	if (__tsan_func_entry)
		__tsan_func_entry(caller);
	ret = real(thread, larger_stack(attr, &copy), start_thread, passed);
	if (__tsan_func_exit)
		__tsan_func_exit();
	if (ret != 0)
		release_start(passed);
	return ret;
}

int pcce_own_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*routine)(void *),
			    void *arg)
{
	struct start start = {.routine.posix = routine, .arg = arg};
	int saved_errno = errno;
	int ret;

	if (!pcce_runtime_init()) {
		create_fn *real = real_create();

		return real ? real(thread, attr, routine, arg) : EAGAIN;
	}
	ret = create_thread(thread, attr, &start, __builtin_return_address(0));
	errno = saved_errno;
	return ret;
}

/* glibc's C11 threads are POSIX threads whose int result is widened; thrd_join() and thrd_exit()
 * rely on that. */
int pcce_own_thrd_create(thrd_t *thread, thrd_start_t routine, void *arg)
{
	struct start start = {.routine.c11 = routine, .c11 = true, .arg = arg};
	int saved_errno = errno;
	int ret;

	pcce_runtime_init();
	ret = create_thread(thread, NULL, &start, __builtin_return_address(0));
	errno = saved_errno;
	switch (ret) {
	case 0:
		return thrd_success;
	case ENOMEM:
		return thrd_nomem;
	default:
		return thrd_error;
	}
}

PUBLIC_NAME(thrd_create, thrd_create);
