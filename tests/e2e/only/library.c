/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Calls back, by a function of its own: see shapes.c. */
static volatile int count;

__attribute__((noipa)) static void library_step(void (*callback)(void))
{
	callback();
	count++;
}

void library_calls(void (*callback)(void))
{
	library_step(callback);
	count++;
}
