/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reads copies of labels, as samplers bring them: whole ones, and what a program could write. */
#include <stdlib.h>
#include <string.h>
#include <pcce/labels.h>
#include "sampler/thread_labels.h"
#include "tests/unit/tap.h"

#define NOBODY 0x7fffffff /* a process that does not exist */

static struct thread_labels *all;

union copy {
	uint64_t words[PCCE_LABELS_BYTES / 8];
	struct pcce_labels_record head;
	uint8_t bytes[PCCE_LABELS_BYTES];
};

static void append(union copy *c, uint8_t index, const char *value, uint8_t length)
{
	uint8_t *at = c->bytes + sizeof(c->head) + c->head.bytes;

	at[0] = index;
	at[1] = length;
	memcpy(at + 2, value, length);
	c->head.bytes = (uint16_t)(c->head.bytes + 2 + length);
}

static union copy make(void)
{
	union copy c = {.words = {0}};

	c.head.valid = PCCE_LABELS_VALID;
	append(&c, PCCE_LABELS_NAME, "\1tenant", 7);
	append(&c, 1, "a", 1);
	append(&c, PCCE_LABELS_NAME, "\2route", 6);
	append(&c, 2, "/slow", 5);
	return c;
}

static const struct label_set *read_copy(const union copy *c)
{
	return thread_labels_of(all, NOBODY, c->words, (sizeof(c->head) + c->head.bytes + 7u) / 8);
}

static bool has(const struct label_set *s, const char *key, const char *value)
{
	const char *is = label_set_value(s, key);

	return value ? is && !strcmp(is, value) : !is;
}

static void reads_labels(void)
{
	union copy c = make();
	const struct label_set *s = read_copy(&c);

	tap_ok(s && s->content.n == 2 && has(s, "tenant", "a") && has(s, "route", "/slow") &&
		       has(s, "span", NULL),
	       "labels are read", " ");
	tap_ok(s == read_copy(&c), "equal labels are one set", " ");
	tap_ok(has(s, "trace_id", NULL), "without a trace there is no id", " ");
	append(&c, 1, "b", 1);
	tap_ok(has(read_copy(&c), "tenant", "b"), "the last value of a key counts", " ");
	append(&c, 77, "c", 1);
	tap_ok(has(read_copy(&c), "tenant", "b") && read_copy(&c)->content.n == 2,
	       "a key without a name is left out", " ");
	memset(c.head.trace, 0xab, sizeof(c.head.trace));
	tap_ok(has(read_copy(&c), "trace_id", "abababababababababababababababab"),
	       "the id of the trace is a label", " ");
	c.head.valid = PCCE_LABELS_CUT;
	tap_ok(read_copy(&c)->content.flags == PCCE_LABELS_INCOMPLETE, "a cut copy is marked", " ");
}

static void refuses_others(void)
{
	union copy c = make();

	c.head.valid = 0;
	tap_ok(!read_copy(&c), "a record that is not valid says nothing", " ");
	c.head.valid = 7;
	tap_ok(!read_copy(&c), "... whatever its value", " ");
	c = make();
	c.head.bytes = 65535;
	tap_ok(!thread_labels_of(all, NOBODY, c.words, 5), "more bytes than there are", " ");
	tap_ok(!thread_labels_of(all, NOBODY, c.words, 3), "less than a record", " ");
	c = (union copy){.words = {0}};
	c.head.valid = PCCE_LABELS_VALID;
	tap_ok(!read_copy(&c), "a record without labels and ids says nothing", " ");
	c = make();
	c.head.bytes--;
	tap_ok(has(read_copy(&c), "route", NULL) && has(read_copy(&c), "tenant", "a"),
	       "an attribute that is cut off is left out", " ");
	append(&c, PCCE_LABELS_NAME, "", 0);
	append(&c, PCCE_LABELS_NAME, "\3", 1);
	append(&c, 3, "x\0y", 3);
	tap_ok(read_copy(&c) != NULL, "empty names and zeros do no harm", " ");
}

/* All bytes are random, and some of the numbers likely. */
static void survives_anything(void)
{
	unsigned int found = 0;
	union copy c;

	srandom(1);
	for (int i = 0; i < 100000; i++) {
		for (size_t k = 0; k < sizeof(c); k++)
			c.bytes[k] = (uint8_t)(random() % 3 ? random() % 8 : random());
		c.head.valid = 1;
		c.head.bytes = (uint16_t)(random() % PCCE_LABELS_MORE);
		for (int k = 0; k < 20; k++)
			c.bytes[28 + random() % PCCE_LABELS_MORE] = PCCE_LABELS_NAME;
		memset(c.head.trace, 0, 24);
		found += read_copy(&c) != NULL;
	}
	tap_ok(found > 1000, "random bytes do no harm", "%u sets", found);
}

int main(void)
{
	all = thread_labels_new();
	reads_labels();
	refuses_others();
	survives_anything();
	thread_labels_free(all);
	return tap_done();
}
