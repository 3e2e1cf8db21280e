// SPDX-License-Identifier: GPL-2.0
/*
 * Follows CPUs that go off line and come back.
 *
 * When a CPU goes off line the kernel takes its perf events away for good. A session on CPUs needs
 * a new event when the CPU comes back. The callback of CPU hotplug cannot create it: it runs under
 * the lock of CPU hotplug, which the creation of an event may take. So it notes the time, and
 * schedules work that creates the event. No program runs on the CPU before the callback returns.
 *
 * Until the new event exists, samples are lost on that CPU. How many is known for clocks and for
 * events with a frequency. Of others one is counted for each time.
 *
 * `back` belongs to whoever exchanges it against 0: the work, the callback of the CPU's next end,
 * or the session's stop.
 */
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/workqueue.h>

#include "hotplug.h"

static enum cpuhp_state hotplug_state;

/* The clocks of two CPUs may differ a little. */
static u64 ns_since(u64 since)
{
	u64 now = ktime_get_mono_fast_ns();

	return now > since ? now - since : 0;
}

/* since: what `back` was */
static void end_gap(struct pcce_cpu *c, u64 since)
{
	if (!since)
		return;
	atomic64_add(ns_since(since), &c->gap_ns);
	atomic64_inc(&c->gaps);
}

static bool is_followed(const struct pcce_session *s, unsigned int cpu)
{
	return per_cpu_ptr(s->cpus, cpu)->writer;
}

static int cpu_comes(unsigned int cpu, struct hlist_node *node)
{
	struct pcce_session *s = hlist_entry(node, struct pcce_session, hotplug);

	if (!is_followed(s, cpu))
		return 0;
	WRITE_ONCE(per_cpu_ptr(s->cpus, cpu)->back, ktime_get_mono_fast_ns());
	schedule_work(&s->revival);
	return 0;
}

static int cpu_goes(unsigned int cpu, struct hlist_node *node)
{
	struct pcce_session *s = hlist_entry(node, struct pcce_session, hotplug);
	struct pcce_cpu *c = per_cpu_ptr(s->cpus, cpu);

	end_gap(c, xchg(&c->back, 0));
	return 0;
}

/* Gives new events to the CPUs that have come back. */
static void revive_cpus(struct work_struct *work)
{
	struct pcce_session *s = container_of(work, struct pcce_session, revival);
	unsigned int cpu;

	mutex_lock(&s->lock);
	for_each_online_cpu (cpu) {
		struct pcce_cpu *c = per_cpu_ptr(s->cpus, cpu);
		u64 since;
		int err;

		if (s->state != PCCE_RUNNING)
			break;
		since = xchg(&c->back, 0);
		if (!since)
			continue;
		err = pcce_attach_cpu_again(s, cpu);
		/* Without an event the gap continues, unless the CPU has gone, or has come once
		 * more. */
		if (err && err != -ENODEV && !cmpxchg(&c->back, 0, since))
			continue;
		end_gap(c, since);
	}
	mutex_unlock(&s->lock);
}

void pcce_hotplug_prepare(struct pcce_session *s)
{
	INIT_WORK(&s->revival, revive_cpus);
}

int pcce_hotplug_begin(struct pcce_session *s)
{
	int err = cpuhp_state_add_instance_nocalls(hotplug_state, &s->hotplug);

	s->follows_cpus = !err;
	return err;
}

void pcce_hotplug_end(struct pcce_session *s)
{
	unsigned int cpu;

	if (!s->follows_cpus)
		return;
	cpuhp_state_remove_instance_nocalls(hotplug_state, &s->hotplug);
	s->follows_cpus = false;
	for_each_possible_cpu (cpu) {
		struct pcce_cpu *c = per_cpu_ptr(s->cpus, cpu);

		end_gap(c, xchg(&c->back, 0));
	}
}

void pcce_hotplug_sync(struct pcce_session *s)
{
	cancel_work_sync(&s->revival);
}

u64 pcce_hotplug_lost(const struct pcce_session *s, const struct pcce_cpu *c)
{
	u64 since = READ_ONCE(c->back), ns = atomic64_read(&c->gap_ns);

	if (since)
		ns += ns_since(since);
	if (s->config.flags & PCCE_KMOD_FREQUENCY)
		return mul_u64_u64_div_u64(ns, s->config.rate, NSEC_PER_SEC);
	if (s->config.type == PERF_TYPE_SOFTWARE && (s->config.config == PERF_COUNT_SW_CPU_CLOCK ||
						     s->config.config == PERF_COUNT_SW_TASK_CLOCK))
		return div64_u64(ns, s->config.rate);
	return atomic64_read(&c->gaps) + !!since;
}

int __init pcce_hotplug_init(void)
{
	int state =
		cpuhp_setup_state_multi(CPUHP_AP_ONLINE_DYN, "pcce:online", cpu_comes, cpu_goes);

	if (state < 0)
		return state;
	hotplug_state = state;
	return 0;
}

void pcce_hotplug_exit(void)
{
	cpuhp_remove_multi_state(hotplug_state);
}
