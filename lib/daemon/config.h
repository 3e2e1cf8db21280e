/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reads the configuration of pcced: lines of KEY = VALUE in a subset of TOML. Values are integers
 * and strings of one line. So each file that is accepted means the same to each reader of TOML.
 */
#ifndef PCCE_DAEMON_CONFIG_H
#define PCCE_DAEMON_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

struct daemon_config {
	char *store;	     /* a folder, or the URL of a store */
	char *service;	     /* NULL: the name of each process */
	char *spool;	     /* the folder of windows that are not sent */
	char *events;	     /* as pcce-record -e has them; NULL: its default */
	char *metrics;	     /* a file; NULL: none */
	uint64_t frequency;  /* Hz */
	uint64_t window;     /* seconds */
	uint64_t spool_size; /* bytes */
	uint64_t memory;     /* bytes that the recorder may have before it is started again */
	uint64_t keep_size;  /* bytes of a folder of recordings; 0: all */
	uint64_t keep_age;   /* seconds of a recording there; 0: for ever */
};

/* Calls mistake() with a whole sentence for each mistake. 0, or how many there are; then nothing
 * needs to be freed. */
unsigned int daemon_config_read(const char *path, struct daemon_config *c,
				void (*mistake)(const char *text));
void daemon_config_free(struct daemon_config *c);
/* Is the store a folder? */
bool daemon_config_has_folder(const struct daemon_config *c);
/* Would the recorder run in the same way? */
bool daemon_config_records_equally(const struct daemon_config *a, const struct daemon_config *b);

#endif
