/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Finds programs that the kernel gives other rights than their caller has. */
#ifndef PCCE_BASE_PRIVILEGE_H
#define PCCE_BASE_PRIVILEGE_H

/*
 * Returns what gives the program in a file other rights than this process has, so that it can be
 * said of the file's name; NULL: nothing does. The kernel sets AT_SECURE in such a program, and
 * gives a traced one no rights.
 */
const char *privilege_of_program(const char *path);

#endif
