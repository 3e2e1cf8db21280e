/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A library to open.  Variants have equal code at equal offsets: -DVARIANT=one or two. */
#include "linked.h"

#define JOIN(a, b) a##_##b
#define NAMED(a, b) JOIN(a, b)
#define plugin_step NAMED(VARIANT, step)
#define plugin_leaf NAMED(VARIANT, leaf)
#define plugin_depth NAMED(VARIANT, depth)
#define plugin_begin NAMED(VARIANT, begin)
#define plugin_end NAMED(VARIANT, end)
#define TEXT(a) #a
#define NAME(a) TEXT(a)

static NOINLINE unsigned int plugin_leaf(unsigned int n)
{
	return n / 3;
}

static NOINLINE unsigned int plugin_step(unsigned int n, callback *f)
{
	ENTERED;
	table_leaf(NAME(plugin_leaf));
	return plugin_leaf(n) + f(n);
}

static NOINLINE unsigned int plugin_depth(unsigned int n, callback *f)
{
	ENTERED;
	return n ? plugin_depth(n - 1, f) + 1 : plugin_step(n, f);
}

extern "C" unsigned int plugin_work(unsigned int n, callback *f);
unsigned int plugin_work(unsigned int n, callback *f)
{
	ENTERED;
	return plugin_step(n, f) + plugin_depth(n % 40, f) + linked_all(n % 5, f) +
	       linked_catch(2, f);
}

extern "C" void plugin_jump(jmp_buf *to);
void plugin_jump(jmp_buf *to)
{
	ENTERED;
	linked_jump(to);
}

__attribute__((constructor)) static void plugin_begin()
{
	ENTERED;
	linked_helper(1);
}

__attribute__((destructor)) static void plugin_end()
{
	ENTERED;
	linked_helper(2);
}
