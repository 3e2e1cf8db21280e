/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Prints messages of pcce-record. */
#ifndef PCCE_RECORD_SAY_H
#define PCCE_RECORD_SAY_H

#include "base/message.h"

/* say(FORMAT, ...): prints "pcce-record: TEXT". */
#define say(...) message("pcce-record", __VA_ARGS__)

#endif
