/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Packs the context of a sample so that it means the same everywhere: on all machines, in all
 * processes, after every reboot. Two contexts are equal if their packed bytes are, and the key of a
 * context is a hash of these.
 *
 * An address is a link-time address in a module that the packed context names by its identity. The
 * main executable comes first, since short addresses of sites are in it. A
 * function of the kernel has its name, since kernels are loaded at random addresses.
 *
 * docs/fleet.md specifies the bytes.
 */
#ifndef PCCE_STORE_PACKED_H
#define PCCE_STORE_PACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "decode/context.h"
#include "store/bytes.h"
#include "stream/stream.h"

/* Bytes of an identity of a module and of the key of a context: the first ones of a SHA-256. */
#define STORE_KEY_SIZE 16

struct store_key {
	uint8_t bytes[STORE_KEY_SIZE];
};

void store_hash(const struct bytes *of, struct store_key *key);

#define PACKED_VERSION 1

struct packed_head {
	uint32_t version, flags; /* flags: of the sample */
	uint32_t n_modules, n_entries, n_segments, n_stack, n_kernel;
	uint32_t n_below; /* at least n_segments: outer segments can be missing */
	uint64_t ip, r11, id, ext;
};

/* Addresses of module i of the list are from PACKED_PLACE(i) on, less origin. */
struct packed_module {
	struct store_key id;
	uint64_t origin;
};

#define PACKED_DISTANCE (1ULL << 34)
#define PACKED_ORIGIN (1ULL << 32)
#define PACKED_PLACE(i) ((1ULL << 40) + (i)*PACKED_DISTANCE)
#define PACKED_MODULES 1024u /* that one context may name */

struct packer {
	const struct store_key *ids; /* of the modules, by the recording's numbers */
	/* The name of a function of the kernel, or a reason for a wait as a number. */
	const char *(*kernel_name)(void *ctx, uint64_t address);
	void *ctx;
	/* Private: of the context that is being packed. */
	const struct decode_space *as;
	uint32_t numbers[PACKED_MODULES]; /* of the recording's modules */
	struct packed_module modules[PACKED_MODULES];
	uint32_t n_modules, last;
	bool too_many;
};

/* Replaces *out by the context of an event that has `below` and `kernel`. as: of its process. 0,
 * -ENOMEM, or -E2BIG: it names too many modules. */
int pack_context(struct packer *k, const struct decode_space *as, const struct stream_event *of,
		 struct bytes *out);

/* A packed context, as it lies in memory: pointers may be unaligned. */
struct unpacked {
	struct packed_head head;
	const uint8_t *modules, *entries, *segments, *stack;
	struct cursor kernel; /* n_kernel strings */
};

/* false: the bytes are no packed context. */
bool unpack_context(const void *data, size_t size, struct unpacked *out);

#endif
