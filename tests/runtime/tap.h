/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef TESTS_RUNTIME_TAP_H
#define TESTS_RUNTIME_TAP_H

#include <stdbool.h>

void ok(bool good, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int done_testing(void);

#endif
