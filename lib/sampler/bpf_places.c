/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See bpf_places.h. */
#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

#include "sampler/bpf_places.h"

#define ADDRESSES_BYTES (PCCE_ADDRESSES * sizeof(struct pcce_address))

static size_t all_places_bytes(int cpus, uint32_t number)
{
	return (size_t)cpus * number * sizeof(struct pcce_place);
}

int bpf_places_map(int places_fd, int addresses_fd, int cpus, uint32_t number,
		   struct places_memory *m)
{
	size_t bytes = all_places_bytes(cpus, number);
	struct pcce_place *places =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, places_fd, 0);
	void *addresses;
	int err;

	if (places == MAP_FAILED)
		return -errno;
	addresses =
		mmap(NULL, ADDRESSES_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, addresses_fd, 0);
	if (addresses == MAP_FAILED) {
		err = -errno;
		munmap(places, bytes);
		return err;
	}
	*m = (struct places_memory){.places = places,
				    .refused = &places->refused,
				    .refused_step = sizeof(*places) / sizeof(places->refused),
				    .addresses = addresses};
	return 0;
}

void bpf_places_unmap(struct places_memory *m, int cpus, uint32_t number)
{
	if (!m->places)
		return;
	munmap((void *)(uintptr_t)m->places, all_places_bytes(cpus, number));
	munmap(m->addresses, ADDRESSES_BYTES);
	*m = (struct places_memory){0};
}
