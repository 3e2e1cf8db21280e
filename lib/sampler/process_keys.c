/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Finds the mapping OTEL_CTX of a process, and reads the protobuf message that it names: of
 * ProcessContext the field attributes (2), whose element "threadlocal.attribute_key_map" is an
 * array of strings. Everything there may be wrong: each step checks what it reads.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "sampler/process_keys.h"

#define PAYLOAD_MAX (64u << 10)
#define KEY_MAP "threadlocal.attribute_key_map"

struct context_header {
	char signature[8];
	uint32_t version, payload_size;
	uint64_t published_at, payload;
};

/* ---- protobuf -------------------------------------------------------------------- */

struct bytes {
	const uint8_t *at, *end;
};

static bool take_varint(struct bytes *b, uint64_t *value)
{
	*value = 0;
	for (unsigned int shift = 0; shift < 64 && b->at < b->end; shift += 7) {
		uint8_t byte = *b->at++;

		*value |= (uint64_t)(byte & 127) << shift;
		if (!(byte & 128))
			return true;
	}
	return false;
}

/* Takes the next field. Only those with a length have content. Returns its number; 0: there is
 * none. */
static uint64_t take_field(struct bytes *b, struct bytes *content)
{
	uint64_t tag, n;

	*content = (struct bytes){0};
	if (!take_varint(b, &tag))
		return 0;
	switch (tag & 7) {
	case 0:
		return take_varint(b, &n) ? tag >> 3 : 0;
	case 1:
		n = 8;
		break;
	case 5:
		n = 4;
		break;
	case 2:
		if (take_varint(b, &n))
			break;
		return 0;
	default:
		return 0;
	}
	if (n > (uint64_t)(b->end - b->at))
		return 0;
	if ((tag & 7) == 2)
		*content = (struct bytes){b->at, b->at + n};
	b->at += n;
	return tag >> 3;
}

/* Finds the first field of a number. */
static bool find_field(struct bytes in, uint64_t number, struct bytes *content)
{
	uint64_t n;

	while ((n = take_field(&in, content)))
		if (n == number && content->at)
			return true;
	return false;
}

static void take_names(struct process_keys *k, struct bytes array)
{
	struct bytes value, text;
	size_t i = 0;
	uint64_t n;

	while (i < PROCESS_KEYS_MAX && (n = take_field(&array, &value))) {
		if (n != 1)
			continue;
		if (!k->names[i] && find_field(value, 1, &text))
			k->names[i] = strndup((const char *)text.at, (size_t)(text.end - text.at));
		i++;
	}
}

static void take_context(struct process_keys *k, struct bytes context)
{
	struct bytes attribute, key, value, array;
	uint64_t n;

	while ((n = take_field(&context, &attribute)))
		if (n == 2 && find_field(attribute, 1, &key) &&
		    (size_t)(key.end - key.at) == strlen(KEY_MAP) &&
		    !memcmp(key.at, KEY_MAP, strlen(KEY_MAP)) && find_field(attribute, 2, &value) &&
		    find_field(value, 5, &array))
			take_names(k, array);
}

/* ---- the process ----------------------------------------------------------------- */

static bool read_at(int mem, uint64_t from, void *to, size_t size)
{
	return pread(mem, to, size, (off_t)from) == (ssize_t)size;
}

/* The process may be changing its context: then it is read again with the next unknown key. */
static void read_context(struct process_keys *k, int mem, uint64_t at)
{
	struct context_header before, after;
	uint8_t *payload;

	if (!read_at(mem, at, &before, sizeof(before)) || memcmp(before.signature, "OTEL_CTX", 8) ||
	    !before.version || before.version > 2 || !before.published_at ||
	    before.payload_size > PAYLOAD_MAX)
		return;
	payload = malloc(before.payload_size + 1);
	if (payload && read_at(mem, before.payload, payload, before.payload_size) &&
	    read_at(mem, at, &after, sizeof(after)) && after.published_at == before.published_at)
		take_context(k, (struct bytes){payload, payload + before.payload_size});
	free(payload);
}

static bool is_context(const char *line)
{
	return strstr(line, "[anon_shmem:OTEL_CTX]") || strstr(line, "[anon:OTEL_CTX]") ||
	       strstr(line, "/memfd:OTEL_CTX");
}

void process_keys_read(struct process_keys *k, pid_t pid)
{
	char path[64], *line = NULL;
	size_t size = 0;
	FILE *maps;
	int mem;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	mem = open(path, O_RDONLY | O_CLOEXEC);
	while (maps && mem >= 0 && getline(&line, &size, maps) > 0)
		if (is_context(line))
			read_context(k, mem, strtoull(line, NULL, 16));
	free(line);
	if (maps)
		fclose(maps);
	if (mem >= 0)
		close(mem);
}

void process_keys_free(struct process_keys *k)
{
	for (size_t i = 0; i < PROCESS_KEYS_MAX; i++)
		free(k->names[i]);
}
