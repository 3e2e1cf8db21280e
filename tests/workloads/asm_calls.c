/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Calls from inline assembly: through a pointer, by name, twice in one statement, in a loop inside
 * the assembly, in a function that is a leaf to the compiler and has locals below the stack
 * pointer, in an inlined function, and recursively.
 *
 * flags: -O2 -fno-omit-frame-pointer
 * expect: (^|;)main;by_pointer;work;burn( |;)
 * expect: (^|;)main;by_name;asm_calls_named;work;burn( |;)
 * expect: (^|;)main;twice;asm_calls_named;work;burn( |;)
 * expect: (^|;)main;twice;asm_calls_other;burn( |;)
 * expect: (^|;)main;in_leaf;work;burn( |;)
 * expect: (^|;)main;outer;(inlined;)?asm_calls_other;burn( |;)
 * expect: (^|;)main;usual;asm_calls_other;burn( |;)
 * expect: (^|;)main;down;down;down;down;burn( |;)
 * min-depth: 10
 */
#include "burn.h"

/* All registers that a function may change, except those that a statement uses.  rbx keeps the
 * stack pointer. */
#define CHANGED                                                                                   \
	"memory", "cc", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "xmm0", "xmm1",     \
		"xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", \
		"xmm12", "xmm13", "xmm14", "xmm15"
#define ENTER "mov %%rsp, %%rbx\n\tlea -128(%%rsp), %%rsp\n\tand $-16, %%rsp\n\t"
#define LEAVE "\n\tmov %%rbx, %%rsp"

static NOINLINE int work(int x)
{
	burn(100);
	return x * 3 + 1;
}

int named(int x) __asm__("asm_calls_named");
NOINLINE __attribute__((used)) int named(int x)
{
	int y = work(x);

	burn(30);
	return y + 1;
}

/* Only assembly refers to it. */
static __attribute__((used)) int other(int x) __asm__("asm_calls_other");
static NOINLINE __attribute__((used)) int other(int x)
{
	burn(80);
	return x ^ 5;
}

static NOINLINE int by_pointer(int (*f)(int), int x)
{
	int result;

	burn(1);
	__asm__ volatile(ENTER "call *%1" LEAVE : "=a"(result), "+&r"(f), "+D"(x) : : CHANGED);
	return result + burnt % 2;
}

static NOINLINE int by_name(int x)
{
	int result;

	burn(1);
	__asm__ volatile(ENTER "callq asm_calls_named" LEAVE : "=a"(result), "+D"(x) : : CHANGED);
	return result;
}

static NOINLINE int twice(int x)
{
	int result, n = 3;

	/* calls the one n times, then the other */
	__asm__ volatile(ENTER "1: call asm_calls_named; dec %2; jnz 1b; mov %%eax, %%edi\n\tcall "
			       "asm_calls_other" LEAVE
			 : "=a"(result), "+D"(x), "+&r"(n)
			 :
			 : CHANGED, "r12", "r13", "r14");
	return result;
}

static NOINLINE unsigned int in_leaf(int x)
{
	volatile unsigned int local[24];
	int (*f)(int) = work;
	unsigned int sum = 0;
	int result;

	for (unsigned int i = 0; i < 24; i++)
		local[i] = (unsigned int)x * i;
	__asm__ volatile(ENTER "call *%1" LEAVE : "=a"(result), "+&r"(f), "+D"(x) : : CHANGED);
	for (unsigned int i = 0; i < 24; i++)
		sum = sum * 5 + local[i];
	return sum + (unsigned int)result;
}

static inline __attribute__((always_inline)) int inlined(int x)
{
	int result;

	__asm__ volatile(ENTER "call asm_calls_other" LEAVE : "=a"(result), "+D"(x) : : CHANGED);
	return result;
}

static NOINLINE int outer(int x)
{
	burn(1);
	return inlined(x) + inlined(x + 1);
}

/* The same function, called in the usual way. */
static NOINLINE int usual(int x)
{
	burn(1);
	return other(x) + 1;
}

static NOINLINE int down(int n)
{
	int (*f)(int) = down;
	int result;

	burn(20);
	if (!n)
		return 1;
	n--;
	__asm__ volatile(ENTER "call *%1" LEAVE : "=a"(result), "+&r"(f), "+D"(n) : : CHANGED);
	return result + (int)(burnt & 1);
}

int main(void)
{
	unsigned int state = 7, sum = 0;

	for (int i = 0; i < ROUNDS(400000, 3); i++) {
		int x = (int)(next_random(&state) % 1000);

		sum = sum * 31 + (unsigned int)(by_pointer(work, x) > 0);
		sum = sum * 31 + (unsigned int)by_name(x);
		sum = sum * 31 + (unsigned int)twice(x);
		sum = sum * 31 + in_leaf(x);
		sum = sum * 31 + (unsigned int)outer(x);
		sum = sum * 31 + (unsigned int)usual(x);
		sum = sum * 31 + (unsigned int)(down(10) > 0);
	}
	printf("%u\n", sum);
	return 0;
}
