/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Functions of a library that call the program in place of a return. */
void inner(int rounds);
void by_pointer(int rounds);

void leave(int rounds)
{
	inner(rounds + 1);
}

static __attribute__((noinline)) void leave_later(int rounds)
{
	by_pointer(rounds + 1);
}

void pass_on(int rounds)
{
	leave_later(rounds);
}
