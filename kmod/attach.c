// SPDX-License-Identifier: GPL-2.0
/*
 * Creates and releases the perf events of a session.
 *
 * A session on a CPU, or on all of them, has one event for each CPU that is on line (see
 * hotplug.c). A session on a task has one event, which is not inherited. A session on a process has
 * one for each of its threads; threads and processes that these create inherit it.
 *
 * Threads are created while their siblings are given events. A thread whose creator has an event
 * inherits it, and must not get another one. A thread that was created just before must get one.
 * The kernel decides at one moment of clone(), but the thread appears in the list of threads later.
 *
 * So the module gives an event to each thread in the list. Then it looks for another event of this
 * session in the same context (struct perf_event_context: a task's events). If there is one, the
 * thread had inherited it; the module releases the new one, with all that was inherited from it
 * meanwhile. What an event counts is not a sample before the event is accepted. If the thread has
 * ended by then, nobody can tell, and the module releases the event as well. The next round finds
 * the threads that have inherited it. The scheduler may exchange the contexts of two tasks that
 * have equal ones, but only as a whole.
 *
 * The module repeats this until no thread was without an event, twice, with a pause between. A
 * thread in the middle of clone() in the first round is in the list in the second one. A scheduler
 * or a hypervisor can take a CPU away for longer than the pause, and then clone() takes longer,
 * too. ATTACH finds such a thread later.
 *
 * An event is kept until the session stops even if its thread ends, since other tasks may have
 * inherited it.
 *
 * A task that does an exec of a set-uid program loses its events. ATTACH with AGAIN gives it new
 * ones: then a thread is given an event even if it once had one, unless it still has it.
 *
 * Events count from their creation on, except with ON_EXEC. The session's flag `active` holds
 * samples back until all events exist.
 */
#include <linux/cpumask.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "compat.h"
#include "hotplug.h"
#include "session.h"

#define LOOK_AGAIN_MS 5
#define SPARE_THREADS 16 /* may begin between counting threads and listing them */

static struct pcce_watched *new_watched(struct pcce_session *s)
{
	struct pcce_watched *w = kzalloc(sizeof(*w), GFP_KERNEL_ACCOUNT);

	if (w)
		w->session = s;
	return w;
}

static void release_watched(struct pcce_watched *w)
{
	if (w->event)
		perf_event_release_kernel(w->event);
	put_pid(w->pid);
	/* A handler may be reading it. */
	kfree_rcu(w, rcu);
}

/* Takes over w, and stores it under index: a CPU's number, or the address of a thread's struct pid,
 * of which w has a reference. On error releases w. */
static int accept_event(struct pcce_session *s, struct pcce_watched *w, unsigned long index)
{
	int err;

	w->older = xa_load(&s->events, index);
	err = xa_err(xa_store(&s->events, index, w, GFP_KERNEL_ACCOUNT));
	if (err) {
		release_watched(w);
		return err;
	}
	if (w->event)
		s->n_events++;
	WRITE_ONCE(w->accepted, true);
	return 0;
}

static int attach_cpu(struct pcce_session *s, int cpu)
{
	struct pcce_watched *w = new_watched(s);
	struct perf_event *event;

	if (!w)
		return -ENOMEM;
	event = perf_event_create_kernel_counter(&s->attr, cpu, NULL, pcce_on_event, w);
	if (IS_ERR(event)) {
		release_watched(w);
		return PTR_ERR(event);
	}
	w->event = event;
	return accept_event(s, w, cpu);
}

int pcce_attach_cpu_again(struct pcce_session *s, unsigned int cpu)
{
	struct pcce_watched *w = xa_erase(&s->events, cpu);

	if (w) {
		s->n_events--;
		release_watched(w);
	}
	return attach_cpu(s, cpu);
}

static int attach_system(struct pcce_session *s)
{
	int cpu, err, any = 0;

	/* Without the lock of CPU hotplug, since the creation of an event may take it. */
	for_each_online_cpu (cpu) {
		err = attach_cpu(s, cpu);
		if (err && err != -ENODEV) /* it has just gone offline */
			return err;
		any |= !err;
	}
	return any ? 0 : -ENODEV;
}

enum company { ALONE, ANOTHER, GONE };

/* Does the task of this event have another one of the session? GONE: the task has ended. */
static enum company find_company(const struct pcce_session *s, struct perf_event *event)
{
	struct perf_event_context *ctx = event->ctx;
	bool own = false, another = false;
	struct perf_event *other;

	/* Under this lock the context's list of events does not change, and no event in it has been
	 * released. */
	mutex_lock(&ctx->mutex);
	list_for_each_entry (other, &ctx->event_list, event_entry) {
		const struct pcce_watched *w = other->overflow_handler_context;

		if (other == event)
			own = true;
		else if (other->overflow_handler == pcce_on_event && w->session == s)
			another = true;
	}
	mutex_unlock(&ctx->mutex);
	return !own ? GONE : another ? ANOTHER : ALONE;
}

static int check_task(struct task_struct *task)
{
	struct rw_semaphore *lock = &task->signal->exec_update_lock;
	int err = down_read_killable(lock);

	if (err)
		return err;
	err = task->flags & PF_KTHREAD ? -EINVAL : pcce_may_sample_task(task);
	up_read(lock);
	/* A task that ends loses its memory first, and with it what tells its rights. */
	return err == -EPERM && task->flags & PF_EXITING ? -ESRCH : err;
}

/*
 * The creation of an event may read paths, and take locks of file systems and of tracing. So
 * exec_update_lock is not held then: others take it while they hold such locks.
 *
 * An exec may therefore change the task's rights between the check and the creation. Hence the
 * second check. Until the caller accepts the event it takes no samples. If an exec changes the
 * rights after the second check, the kernel removes the event.
 */
static int create_event(struct pcce_watched *w, struct perf_event_attr *attr,
			struct task_struct *task)
{
	struct perf_event *event;
	int err = check_task(task);

	if (err)
		return err;
	event = perf_event_create_kernel_counter(attr, -1, task, pcce_on_event, w);
	if (IS_ERR(event))
		return PTR_ERR(event);
	w->event = event;
	return check_task(task);
}

/* Returns 1: another round is needed; 0: the thread already has an event, or has ended; or
 * -errno. */
static int attach_thread(struct pcce_session *s, struct perf_event_attr *attr, struct pid *pid,
			 bool again)
{
	unsigned long index = (unsigned long)pid;
	bool known = xa_load(&s->events, index);
	enum company company = ALONE;
	struct task_struct *task;
	struct pcce_watched *w;
	int err;

	if (known && !again)
		return 0;
	task = get_pid_task(pid, PIDTYPE_PID);
	if (!task)
		return 0;
	w = new_watched(s);
	err = w ? create_event(w, attr, task) : -ENOMEM;
	put_task_struct(task);
	if (err) {
		if (w)
			release_watched(w);
		return err == -ESRCH ? 0 : err;
	}
	w->pid = get_pid(pid);
	if (attr->inherit)
		company = find_company(s, w->event);
	if (company == GONE || (company == ANOTHER && known)) {
		release_watched(w);
		return company == GONE;
	}
	if (company == ANOTHER) {
		/* The record stays, and says that the thread is known. */
		perf_event_release_kernel(w->event);
		w->event = NULL;
	}
	err = accept_event(s, w, index);
	return err ? err : company == ALONE;
}

static int attach_task(struct pcce_session *s)
{
	int err = attach_thread(s, &s->attr, s->target, false);

	if (err < 0)
		return err;
	return s->n_events ? 0 : -ESRCH;
}

/* Returns 1 if there were threads without an event, 0 if not, or -errno. */
static int attach_threads(struct pcce_session *s, struct perf_event_attr *attr, struct pid *process,
			  bool again)
{
	int i, n = 0, room, fresh = 0, err = 0;
	struct task_struct *leader, *t;
	struct pid **pids;

	leader = get_pid_task(process, PIDTYPE_TGID);
	if (!leader)
		return -ESRCH;
	room = get_nr_threads(leader) + SPARE_THREADS;
	pids = kvmalloc_array(room, sizeof(*pids), GFP_KERNEL_ACCOUNT);
	if (!pids) {
		put_task_struct(leader);
		return -ENOMEM;
	}
	rcu_read_lock();
	for_each_thread (leader, t) {
		if (n < room)
			pids[n++] = get_pid(task_pid(t));
		else
			fresh = 1; /* at least one; the next round finds it */
	}
	rcu_read_unlock();
	put_task_struct(leader);
	for (i = 0; i < n; i++) {
		if (err >= 0 && pids[i])
			err = attach_thread(s, attr, pids[i], again);
		if (err > 0)
			fresh = 1;
		put_pid(pids[i]);
	}
	kvfree(pids);
	return err < 0 ? err : fresh;
}

static int attach_process(struct pcce_session *s, struct perf_event_attr *attr, struct pid *process,
			  bool again)
{
	int quiet = 0, fresh;

	/* A command that waits for its exec has one thread, and creates no others. */
	if (attr->enable_on_exec)
		quiet = 1;
	for (;;) {
		fresh = attach_threads(s, attr, process, again);
		if (fresh < 0)
			return fresh;
		quiet = fresh ? quiet : quiet + 1;
		if (quiet >= 2)
			return s->n_events ? 0 : -ESRCH;
		if (!fresh)
			schedule_timeout_killable(msecs_to_jiffies(LOOK_AGAIN_MS));
		if (fatal_signal_pending(current))
			return -EINTR;
	}
}

int pcce_attach(struct pcce_session *s)
{
	int err;

	switch (s->config.scope) {
	case PCCE_KMOD_TASK:
		return attach_task(s);
	case PCCE_KMOD_PROCESS:
		return attach_process(s, &s->attr, s->target, false);
	default:
		err = pcce_hotplug_begin(s);
		if (err)
			return err;
		return s->config.scope == PCCE_KMOD_CPU ? attach_cpu(s, s->config.cpu)
							: attach_system(s);
	}
}

int pcce_attach_more(struct pcce_session *s, struct pid *process, bool again)
{
	struct perf_event_attr attr = s->attr;

	attr.disabled = 0;
	attr.enable_on_exec = 0;
	return attach_process(s, &attr, process, again);
}

void pcce_detach(struct pcce_session *s)
{
	struct pcce_watched *w, *older;
	unsigned long index;

	pcce_hotplug_end(s);
	/* With an event, the kernel releases those that tasks have inherited from it. */
	xa_for_each (&s->events, index, w)
		for (; w; w = older) {
			older = w->older;
			release_watched(w);
		}
	xa_destroy(&s->events);
	s->n_events = 0;
	/*
	 * An interrupt has removed an event from its CPU, perhaps in the middle of a handler that
	 * runs in a task. That handler ends later, and it runs with preemption disabled.
	 */
	synchronize_rcu();
}
