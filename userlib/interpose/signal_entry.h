/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Defines the size of the table of signal handlers, for signal_entry.S and handler.c. */
#ifndef PCCE_USERLIB_SIGNAL_ENTRY_H
#define PCCE_USERLIB_SIGNAL_ENTRY_H

#define SIGNAL_HANDLERS 65 /* NSIG */

/* In the first instruction of the entry. */
#define SIGNAL_ENTRY_MARK 0x67697370

#endif
