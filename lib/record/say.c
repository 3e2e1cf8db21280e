/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See say.h. */
#include "record/say.h"

const char *say_as = "pcce-record";
