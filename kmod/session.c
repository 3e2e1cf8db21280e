// SPDX-License-Identifier: GPL-2.0
/* Implements a session's life, from open to close; see session.h. */
#include <linux/capability.h>
#include <linux/log2.h>
#include <linux/moduleparam.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "hotplug.h"
#include "ring.h"
#include "session.h"

unsigned long pcce_max_frequency = 100000;
module_param_named(max_frequency, pcce_max_frequency, ulong, 0644);
MODULE_PARM_DESC(max_frequency,
		 "Limit the sampling frequency of a session to this many Hz (default: 100000)");

struct pcce_session *pcce_session_new(void)
{
	struct pcce_session *s = kzalloc(sizeof(*s), GFP_KERNEL_ACCOUNT);

	if (!s)
		return NULL;
	mutex_init(&s->lock);
	init_waitqueue_head(&s->wait);
	xa_init(&s->events);
	pcce_hotplug_prepare(s);
	return s;
}

static bool sizes_are_valid(const struct pcce_kmod_setup *c)
{
	return is_power_of_2(c->ring_bytes) && c->ring_bytes >= PCCE_KMOD_RING_MIN &&
	       c->ring_bytes <= PCCE_KMOD_RING_MAX && c->watermark <= c->ring_bytes;
}

/* Rejects what perf_event_open() would reject, and perf_event_create_kernel_counter() accepts. */
static int check_event(const struct pcce_kmod_setup *c)
{
	if (c->type == PERF_TYPE_BREAKPOINT)
		return -EOPNOTSUPP;
	/* These events never occur. */
	if (c->type == PERF_TYPE_SOFTWARE &&
	    (c->config == PERF_COUNT_SW_DUMMY || c->config == PERF_COUNT_SW_BPF_OUTPUT))
		return -EINVAL;
	if (!c->rate || c->rate & (1ULL << 63))
		return -EINVAL;
	if (c->flags & PCCE_KMOD_FREQUENCY && c->rate > READ_ONCE(pcce_max_frequency))
		return -EINVAL;
	return 0;
}

static int check_setup(const struct pcce_kmod_setup *c)
{
	bool task = c->scope == PCCE_KMOD_TASK || c->scope == PCCE_KMOD_PROCESS;

	if (c->flags & ~PCCE_KMOD_FLAGS || c->reserved0 || c->reserved1)
		return -EINVAL;
	if (!task && c->scope != PCCE_KMOD_CPU && c->scope != PCCE_KMOD_SYSTEM)
		return -EINVAL;
	if (task ? c->pid < 0 : c->pid)
		return -EINVAL;
	if (c->scope == PCCE_KMOD_CPU ? c->cpu < 0 || c->cpu >= nr_cpu_ids || !cpu_possible(c->cpu)
				      : c->cpu != -1)
		return -EINVAL;
	if (!task && c->flags & PCCE_KMOD_ON_EXEC)
		return -EINVAL;
	if (c->flags & PCCE_KMOD_COPY_ALL && !(c->flags & PCCE_KMOD_COPY_STACKS))
		return -EINVAL;
	/* The kernel sets these. */
	if (c->n_rings || c->reader_offset || c->reader_bytes || c->writer_offset ||
	    c->writer_bytes || c->data_offset || c->data_stride)
		return -EINVAL;
	return sizes_are_valid(c) ? check_event(c) : -EINVAL;
}

static void set_up_attr(struct pcce_session *s)
{
	const struct pcce_kmod_setup *c = &s->config;

	s->attr = (struct perf_event_attr){
		.type = c->type,
		.size = sizeof(s->attr),
		.config = c->config,
		.config1 = c->config1,
		.config2 = c->config2,
		.sample_period = c->rate, /* or sample_freq, in the same place */
		.freq = !!(c->flags & PCCE_KMOD_FREQUENCY),
		.inherit = c->scope == PCCE_KMOD_PROCESS,
		.exclude_kernel = !!(c->flags & PCCE_KMOD_EXCLUDE_KERNEL),
		.exclude_hv = 1,
		.exclude_guest = 1,
		.disabled = !!(c->flags & PCCE_KMOD_ON_EXEC),
		.enable_on_exec = !!(c->flags & PCCE_KMOD_ON_EXEC),
	};
}

static int find_target(struct pcce_session *s)
{
	enum pid_type type = s->config.scope == PCCE_KMOD_TASK ? PIDTYPE_PID : PIDTYPE_TGID;
	struct task_struct *task;

	if (s->config.scope != PCCE_KMOD_TASK && s->config.scope != PCCE_KMOD_PROCESS)
		return 0;
	s->target = s->config.pid ? find_get_pid(s->config.pid) : get_task_pid(current, type);
	rcu_read_lock();
	task = pid_task(s->target, type);
	rcu_read_unlock();
	if (task)
		return 0;
	put_pid(s->target);
	s->target = NULL;
	return -ESRCH;
}

/* Sets the session up, and writes to config what user space has to know. */
int pcce_session_setup(struct pcce_session *s, struct pcce_kmod_setup *config)
{
	struct pcce_kmod_setup c = *config;
	int err;

	if (!c.ring_bytes)
		c.ring_bytes = PCCE_KMOD_RING_DEFAULT;
	if (!c.watermark)
		c.watermark = c.ring_bytes / 4;
	err = check_setup(&c);
	if (!err)
		err = pcce_may_sample(&c);
	if (err)
		return err;
	if (mutex_lock_killable(&s->lock))
		return -EINTR;
	if (s->state != PCCE_NEW) {
		err = -EBUSY;
		goto out;
	}
	s->config = c;
	err = find_target(s);
	if (err)
		goto out;
	err = pcce_rings_make(s);
	if (err) {
		put_pid(s->target);
		s->target = NULL;
		goto out;
	}
	set_up_attr(s);
	s->ns = get_pid_ns(task_active_pid_ns(current));
	s->state = PCCE_READY;
	*config = s->config;
out:
	mutex_unlock(&s->lock);
	return err;
}

int pcce_session_start(struct pcce_session *s)
{
	int err;

	if (mutex_lock_killable(&s->lock))
		return -EINTR;
	if (s->state != PCCE_READY) {
		err = s->state == PCCE_NEW ? -ENXIO : -EBUSY;
		goto out;
	}
	/* Check again: the file may have been passed to another process. */
	err = pcce_may_sample(&s->config);
	if (err)
		goto out;
	WRITE_ONCE(s->privileged, perfmon_capable());
	/* Events that begin at an exec need not wait for others. */
	WRITE_ONCE(s->active, !!(s->config.flags & PCCE_KMOD_ON_EXEC));
	err = pcce_attach(s);
	if (err) {
		WRITE_ONCE(s->active, false);
		pcce_detach(s);
		goto out;
	}
	WRITE_ONCE(s->active, true);
	s->state = PCCE_RUNNING;
out:
	mutex_unlock(&s->lock);
	return err;
}

int pcce_session_attach(struct pcce_session *s, const struct pcce_kmod_attach *attach)
{
	struct task_struct *task;
	struct pid *pid;
	int err;

	if (attach->pid <= 0 || attach->flags & ~PCCE_KMOD_ATTACH_AGAIN)
		return -EINVAL;
	if (mutex_lock_killable(&s->lock))
		return -EINTR;
	err = -ENXIO;
	if (s->state != PCCE_RUNNING)
		goto out;
	err = -EINVAL;
	if (s->config.scope != PCCE_KMOD_PROCESS)
		goto out;
	/* As in START. */
	err = pcce_may_sample(&s->config);
	if (err)
		goto out;
	if (!perfmon_capable())
		WRITE_ONCE(s->privileged, false);
	err = -ESRCH;
	pid = find_get_pid(attach->pid);
	rcu_read_lock();
	task = pid_task(pid, PIDTYPE_TGID);
	rcu_read_unlock();
	if (task)
		err = pcce_attach_more(s, pid, attach->flags & PCCE_KMOD_ATTACH_AGAIN);
	put_pid(pid);
out:
	mutex_unlock(&s->lock);
	return err;
}

static void stop_session(struct pcce_session *s)
{
	WRITE_ONCE(s->active, false);
	pcce_detach(s);
	s->state = PCCE_READY;
}

int pcce_session_stop(struct pcce_session *s)
{
	int err = 0;

	if (mutex_lock_killable(&s->lock))
		return -EINTR;
	if (s->state == PCCE_RUNNING)
		stop_session(s);
	else if (s->state == PCCE_NEW)
		err = -ENXIO;
	mutex_unlock(&s->lock);
	return err;
}

int pcce_session_stats(struct pcce_session *s, struct pcce_kmod_stats *stats)
{
	unsigned int cpu;
	int i;

	if (mutex_lock_killable(&s->lock))
		return -EINTR;
	stats->events = s->n_events;
	if (s->cpus)
		for_each_possible_cpu (cpu) {
			const struct pcce_cpu *c = per_cpu_ptr(s->cpus, cpu);

			stats->samples += READ_ONCE(c->samples);
			stats->throttled += READ_ONCE(c->throttled);
			stats->no_user += READ_ONCE(c->no_user);
			stats->late += READ_ONCE(c->late);
			for (i = 0; i < PCCE_KMOD_DROP_REASONS; i++)
				stats->dropped[i] += READ_ONCE(c->dropped[i]);
			stats->dropped[PCCE_KMOD_DROP_HOTPLUG] += pcce_hotplug_lost(s, c);
		}
	mutex_unlock(&s->lock);
	return 0;
}

int pcce_session_places(struct pcce_session *s, const struct pcce_kmod_places *places)
{
	u32 i;

	if (places->reserved || places->n > PCCE_KMOD_OFFSETS)
		return -EINVAL;
	for (i = 0; i < PCCE_KMOD_OFFSETS; i++)
		if (places->offsets[i] % PCCE_PAGE_ALIGN || (i >= places->n && places->offsets[i]))
			return -EINVAL;
	if (mutex_lock_killable(&s->lock))
		return -EINTR;
	for (i = 0; i < places->n; i++)
		WRITE_ONCE(s->offsets[i], places->offsets[i]);
	/* Pairs with the acquire in page.c. */
	smp_store_release(&s->n_offsets, places->n);
	mutex_unlock(&s->lock);
	return 0;
}

/* Nobody else has the file open any more. */
void pcce_session_free(struct pcce_session *s)
{
	mutex_lock(&s->lock);
	if (s->state == PCCE_RUNNING)
		stop_session(s);
	mutex_unlock(&s->lock);
	pcce_hotplug_sync(s);
	pcce_rings_free(s);
	put_pid(s->target);
	if (s->ns)
		put_pid_ns(s->ns);
	kfree(s);
}
