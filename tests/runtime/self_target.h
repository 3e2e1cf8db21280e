/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef TESTS_RUNTIME_SELF_TARGET_H
#define TESTS_RUNTIME_SELF_TARGET_H

#define TARGET_ID(i) (1000ULL + (i))
#define TARGET_SITE(i) (0x123400000000ULL + (i))
#define TARGET_TOP 777ULL
#define TARGET_DEEP 2000

#endif
