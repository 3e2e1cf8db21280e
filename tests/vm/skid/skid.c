// SPDX-License-Identifier: GPL-2.0
/*
 * Acts as a counter of the processor that interrupts late. harmless.c samples its events.
 *
 * The emulated processor has no counters. An event of this one occurs each time that its task gets
 * the CPU. The task is in the kernel then, whether the event counts there or not.
 */
#include <linux/module.h>
#include <linux/perf_event.h>

static struct pmu skid;

static int skid_init_event(struct perf_event *event)
{
	return event->attr.type == skid.type ? 0 : -ENOENT;
}

static void skid_start(struct perf_event *event, int flags)
{
	struct perf_sample_data data;
	struct pt_regs regs = {};

	event->hw.state = 0;
	perf_fetch_caller_regs(&regs);
	perf_sample_data_init(&data, 0, 1);
	/* perf_event_overflow() is not exported. */
	event->overflow_handler(event, &data, &regs);
}

static void skid_stop(struct perf_event *event, int flags)
{
	event->hw.state = PERF_HES_STOPPED;
}

static int skid_add(struct perf_event *event, int flags)
{
	event->hw.state = PERF_HES_STOPPED;
	if (flags & PERF_EF_START)
		skid_start(event, 0);
	return 0;
}

static void skid_del(struct perf_event *event, int flags)
{
	skid_stop(event, 0);
}

static void skid_read(struct perf_event *event)
{
}

static struct pmu skid = {
	.module = THIS_MODULE,
	.task_ctx_nr = perf_sw_context,
	.event_init = skid_init_event,
	.add = skid_add,
	.del = skid_del,
	.start = skid_start,
	.stop = skid_stop,
	.read = skid_read,
};

static int __init skid_init(void)
{
	return perf_pmu_register(&skid, "skid", -1);
}

static void __exit skid_exit(void)
{
	perf_pmu_unregister(&skid);
}

module_init(skid_init);
module_exit(skid_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Interrupts late, for tests of pcce_sampler");
