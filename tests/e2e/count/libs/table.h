/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the program and the libraries of count-libs.sh share: they count their own calls, by the
 * names of the functions in the context. table.c, which is not instrumented, keeps the counts.
 */
#ifndef TABLE_H
#define TABLE_H

typedef unsigned int callback(unsigned int n);

#ifdef __cplusplus
extern "C" {
#endif
/* The function is entered, or left, or entered and left. */
void table_enter(const char *name);
void table_leave(void);
void table_leaf(const char *name);
/* For setjmp. */
unsigned int table_depth(void);
void table_jumped(unsigned int depth);
/* Calls it. */
unsigned int table_through(callback *f, unsigned int n);
#ifdef __cplusplus
}

struct Entered {
	__attribute__((always_inline)) explicit Entered(const char *name)
	{
		table_enter(name);
	}
	__attribute__((always_inline)) ~Entered()
	{
		table_leave();
	}
	Entered(const Entered &) = delete;
	Entered &operator=(const Entered &) = delete;
};
#define ENTERED const Entered entered(__func__)
#endif

#define NOINLINE __attribute__((noinline, noclone))

#endif
