/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Prints messages of the command that records. */
#ifndef PCCE_RECORD_SAY_H
#define PCCE_RECORD_SAY_H

#include "base/message.h"

extern const char *say_as; /* the command's name: pcce-record, unless it is set */

/* say(FORMAT, ...): prints "pcce-record: TEXT". */
#define say(...) message(say_as, __VA_ARGS__)

#endif
