/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* An instrumented library, or the program that calls it (with -DPROGRAM). */
#ifdef PROGRAM
void library_crash(int depth);

int main(void)
{
	library_crash(5);
	return 0;
}
#else
static __attribute__((noinline, noclone)) int fall(int depth)
{
	if (depth == 0)
		*(volatile int *)8 = 1;
	return fall(depth - 1) * 2 + depth;
}

void library_crash(int depth)
{
	*(volatile int *)&depth = fall(depth);
}
#endif
