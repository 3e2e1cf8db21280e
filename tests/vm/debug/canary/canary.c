// SPDX-License-Identifier: GPL-2.0
/*
 * Makes mistakes, one of each kind that the debug kernel must find, so that the kernel's silence
 * about pcce_sampler means something.  Loading this module fails on purpose.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/vmalloc.h>

static char *mistake = "";
module_param(mistake, charp, 0);

static DEFINE_MUTEX(first);
static DEFINE_MUTEX(second);
static DEFINE_SPINLOCK(held);
static int __rcu *shared;

static void leak(void)
{
	/* Several, because an address in a register or on a stack hides one. */
	int i;

	for (i = 0; i < 20; i++) {
		char *forgotten = kzalloc(100, GFP_KERNEL);

		OPTIMIZER_HIDE_VAR(forgotten);
	}
}

static void sleep_in_atomic(void)
{
	spin_lock(&held);
	might_sleep();
	spin_unlock(&held);
}

static void order_of_locks(void)
{
	mutex_lock(&first);
	mutex_lock(&second);
	mutex_unlock(&second);
	mutex_unlock(&first);
	mutex_lock(&second);
	mutex_lock(&first);
	mutex_unlock(&first);
	mutex_unlock(&second);
}

static void shift(void)
{
	volatile int by = 40;
	volatile unsigned int value = 1;

	value = value << by;
}

static void use_after_free(void)
{
	volatile char *p = kzalloc(100, GFP_KERNEL);

	if (!p)
		return;
	kfree((void *)p);
	p[10] = 1;
}

static void beyond_vmalloc(void)
{
	volatile char *p = vmalloc(PAGE_SIZE - 8);

	if (!p)
		return;
	p[PAGE_SIZE - 8] = 1;
	vfree((void *)p);
}

static void rcu_unlocked(void)
{
	if (rcu_dereference(shared))
		pr_info("there is none\n");
}

static void unstable_cpu(void)
{
	if (smp_processor_id() >= nr_cpu_ids)
		pr_info("there is none\n");
}

static int __init canary_init(void)
{
	if (!strcmp(mistake, "leak"))
		leak();
	else if (!strcmp(mistake, "sleep"))
		sleep_in_atomic();
	else if (!strcmp(mistake, "locks"))
		order_of_locks();
	else if (!strcmp(mistake, "shift"))
		shift();
	else if (!strcmp(mistake, "rcu"))
		rcu_unlocked();
	else if (!strcmp(mistake, "cpu"))
		unstable_cpu();
	else if (!strcmp(mistake, "vmalloc"))
		beyond_vmalloc();
	else if (!strcmp(mistake, "memory"))
		use_after_free();
	return -EINVAL;
}

module_init(canary_init);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Makes mistakes");
