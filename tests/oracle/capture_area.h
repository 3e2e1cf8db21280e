/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Defines what step --capture shares with the handler in the program that it runs
 * (programs/capture_handler.c).
 *
 * The handler executes int3 after each of its two calls.  Then %rdi has the address of the area and
 * %esi the number of calls.
 */
#ifndef ORACLE_CAPTURE_AREA_H
#define ORACLE_CAPTURE_AREA_H

#include "userlib/pcce.h"

#define CAPTURE_SIGNAL 57 /* no workload uses it */
#define CAPTURE_ENTRIES 16384

struct capture_area {
	struct pcce_id name;
	__u64 result; /* of pcce_capture() */
	struct pcce_context context;
	struct pcce_entry entries[CAPTURE_ENTRIES];
};

#endif
