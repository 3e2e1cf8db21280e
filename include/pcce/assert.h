/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Spells compile-time assertions in one way for C, for the plugin (compiled as C++), for BPF and
 * for the kernel. */
#ifndef PCCE_ASSERT_H
#define PCCE_ASSERT_H

#ifdef __cplusplus
#define PCCE_STATIC_ASSERT(cond, text) static_assert(cond, text)
#else
#define PCCE_STATIC_ASSERT(cond, text) _Static_assert(cond, text)
#endif

#define PCCE_ASSERT_OFFSET(type, field, at)                                \
	PCCE_STATIC_ASSERT(__builtin_offsetof(struct type, field) == (at), \
			   #type "." #field " moved")
#define PCCE_ASSERT_SIZE(type, bytes) \
	PCCE_STATIC_ASSERT(sizeof(struct type) == (bytes), "size of " #type " changed")

#endif
