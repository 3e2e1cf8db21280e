/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Records the whole system in windows all the time, and sends each to a store. */
#ifndef PCCE_DAEMON_DAEMON_H
#define PCCE_DAEMON_DAEMON_H

#include "daemon/config.h"

/* Takes over the configuration, which path names. Runs until SIGTERM or SIGINT. Returns the exit
 * status. */
int daemon_run(const char *path, struct daemon_config *c);

#endif
