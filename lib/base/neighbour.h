/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Runs other commands of pcce: those in the folder of the running program, whatever PATH says. So
 * the commands of one build or installation find each other. */
#ifndef PCCE_BASE_NEIGHBOUR_H
#define PCCE_BASE_NEIGHBOUR_H

/* Becomes the command. argv[0] is the name that its messages and its help use. Returns after a
 * message if this fails. */
void neighbour_exec(const char *name, char **argv);

/* Runs the command and waits for its end. It is ended when the caller is. Returns its exit status,
 * or -1 if it has none. */
int neighbour_run(const char *name, char **argv);

#endif
