/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Functions of the library that gates_main.cc and gates_over.cc use. */
#ifndef GATES_H
#define GATES_H

#include <csetjmp>

struct gate_pair {
	long i;
	double d;
};
struct gate_block {
	long word[6];
};
typedef unsigned int gate_callback(unsigned int);

extern "C" {
unsigned int gate_leaf(unsigned int n);
unsigned int gate_step(unsigned int n);
unsigned int gate_alias(unsigned int n);
unsigned int gate_tail(unsigned int n);
unsigned int gate_even(unsigned int n);
unsigned int gate_odd(unsigned int n);
unsigned int gate_depth(unsigned int n);
unsigned int gate_call(gate_callback *callback, unsigned int n);
unsigned int gate_call_tail(gate_callback *callback, unsigned int n);
unsigned int gate_many(long a, long b, long c, long d, long e, long f, long g, long h);
unsigned int gate_many_tail(long a, long b, long c, long d, long e, long f, long g, long h);
unsigned int gate_value(struct gate_block b, long n, long c, long d, long e, long f, long g);
unsigned int gate_catch_value(struct gate_block b, long n);
unsigned int gate_sum(unsigned int n, ...);
struct gate_pair gate_pairs(long a, long b, long c, long d, long e, long f, double g, double h,
			    double i, double j, double k, double l, double m, double n);
long double gate_long(long double x);
struct gate_block gate_blocks(long n);
void gate_throw(unsigned int n);
unsigned int gate_catch(unsigned int n);
void gate_jump(jmp_buf *to, int n) __attribute__((noreturn));
unsigned int gate_land(unsigned int n);
unsigned int gate_kind(unsigned int n);
unsigned int gate_protected(unsigned int n) __attribute__((visibility("protected")));
gate_callback *gate_address(unsigned int n);
unsigned int gate_all(unsigned int n, gate_callback *callback);
}

#endif
