/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See sdk.h. It knows nothing of pcce. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "sdk.h"

struct context {
	uint8_t trace[16], span[8], valid, flags;
	uint16_t bytes;
	uint8_t attributes[612];
};

__attribute__((visibility("default"))) __thread struct context *otel_thread_ctx_v1;

static __thread struct context contexts[2];

#define FENCE() __asm__ volatile("" : : : "memory")

void sdk_attach(const char *route, unsigned char id)
{
	struct context *c = &contexts[otel_thread_ctx_v1 == &contexts[0]];
	size_t length = route ? strlen(route) : 0;

	otel_thread_ctx_v1 = NULL;
	FENCE();
	if (!route)
		return;
	memset(c->trace, id, sizeof(c->trace));
	memset(c->span, id, sizeof(c->span));
	c->attributes[0] = 0;
	c->attributes[1] = (uint8_t)length;
	memcpy(c->attributes + 2, route, length);
	c->attributes[2 + length] = 1;
	c->attributes[3 + length] = 1;
	c->attributes[4 + length] = 't';
	/* Of no key: readers ignore it. */
	c->attributes[5 + length] = 77;
	c->attributes[6 + length] = 1;
	c->attributes[7 + length] = '?';
	c->bytes = (uint16_t)(8 + length);
	c->valid = 1;
	FENCE();
	otel_thread_ctx_v1 = c;
}

void sdk_attach_address(unsigned long address)
{
	otel_thread_ctx_v1 = (struct context *)address;
}

struct header {
	char signature[8];
	uint32_t version, size;
	uint64_t published_at, payload;
};

static uint8_t *put(uint8_t *at, const void *bytes, size_t n)
{
	memcpy(at, bytes, n);
	return at + n;
}

/* A field of protobuf with a length below 128. */
static uint8_t *put_field(uint8_t *at, unsigned int number, const void *bytes, size_t n)
{
	*at++ = (uint8_t)(number << 3 | 2);
	*at++ = (uint8_t)n;
	return put(at, bytes, n);
}

static uint8_t *put_name(uint8_t *at, const char *name)
{
	uint8_t string[64];

	return put_field(at, 1, string,
			 (size_t)(put_field(string, 1, name, strlen(name)) - string));
}

void sdk_start(void)
{
	static const char key[] = "threadlocal.attribute_key_map";
	uint8_t names[100], array[110], attribute[127], *end;
	int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct header *h;

	if (fd < 0 || ftruncate(fd, 4096))
		exit(1);
	h = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	close(fd);
	if (h == MAP_FAILED)
		exit(1);
	end = put_name(put_name(names, "http.route"), "tenant");
	end = put_field(array, 5, names, (size_t)(end - names));
	end = put_field(put_field(attribute, 1, key, strlen(key)), 2, array, (size_t)(end - array));
	end = put_field((uint8_t *)(h + 1), 2, attribute, (size_t)(end - attribute));
	memcpy(h->signature, "OTEL_CTX", 8);
	h->version = 2;
	h->size = (uint32_t)(end - (uint8_t *)(h + 1));
	h->payload = (uint64_t)(h + 1);
	FENCE();
	h->published_at = (uint64_t)time(NULL);
}
