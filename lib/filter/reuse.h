/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Declares the restorer's way that reuses the frames of a thread's last sample (lib/restore).
 *
 * A recorder that was built without RESTORE=1 does not refer to this variable, so nothing of it is
 * linked.
 */
#ifndef PCCE_FILTER_REUSE_H
#define PCCE_FILTER_REUSE_H

#include "filter/restorer.h"

extern const struct reuse_ops reuse_frames;

#endif
