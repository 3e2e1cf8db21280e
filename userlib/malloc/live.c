// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Knows which allocations are live: a hash table from addresses to counters and sizes.
 *
 * An entry has 12 bytes: a key of 8, and the lower half of the size. The key is address / 8 (44
 * bits) and the counter (16 bits). An allocation of 4 GiB or more has a second entry for the upper
 * half, whose key has a bit more. Ten entries are a bucket. An entry that finds its bucket full
 * goes to the next one with room, and all buckets that it passes count it. So a search ends at a
 * bucket that nothing has passed, and a removal leaves nothing behind. 15 of 16 places are in use
 * before the table grows, by an eighth: a live allocation takes 13.7 to 15.4 bytes.
 *
 * The table has SHARDS parts, by hash, with a lock each. The thread that holds a lock does not call
 * anything that waits for others. A signal handler that interrupts it, and allocates or frees,
 * would wait for itself, so this is left out and counted. If a lock is not released for a second or
 * more, its thread has left by a jump or is gone: then nothing is followed any more.
 *
 * If allocations are sampled, most frees are of allocations that are not in the table. A filter of
 * 65,536 counts, by hash, tells that of nearly all of them.
 */
#include <sys/mman.h>
#include <time.h>
#include "base/confined.h"
#include "base/syscall.h"
#include "malloc/live.h"

#define SHARDS 16
#define ENTRIES 10
#define BUCKETS_STEP 32 /* a page */
#define FILTER 65536
#define FULL 255 /* a count of the filter that stays */

#define KEY_BITS 44
#define KEY_ADDRESS ((1ULL << KEY_BITS) - 1)
#define KEY_UPPER (1ULL << 60) /* the entry has the upper half of a size */
#define KEY_MORE (1ULL << 61)  /* there is such an entry, too */
#define KEY_USED (1ULL << 62)
#define KEY_WHERE (KEY_USED | KEY_UPPER | KEY_ADDRESS)

#define SPINS 200
#define WAIT_NS 50000
#define WAITS 20000 /* at least a second */

struct bucket {
	uint64_t keys[ENTRIES];
	uint32_t sizes[ENTRIES];
	uint32_t n;
	uint32_t passed; /* entries that did not find room here, or more */
};

static struct shard {
	struct bucket *buckets;
	uint64_t n; /* buckets */
	uint64_t used;
	uint32_t lock;
} __attribute__((aligned(64))) shards[SHARDS];

static uint8_t *filter;
static bool is_on;
static __thread bool holds_lock __attribute__((tls_model("initial-exec")));

/* ---- locks ------------------------------------------------------------------------ */

void live_lose(struct pcce_allocation_sums of)
{
	__atomic_add_fetch(&of.ring->ledger.unfollowed, 1, __ATOMIC_RELAXED);
}

__attribute__((noinline)) static bool try_lock(uint32_t *lock)
{
	for (int spin = 0; spin < SPINS; spin++) {
		if (!__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE))
			return true;
		for (int i = 0; i < 10 && __atomic_load_n(lock, __ATOMIC_RELAXED); i++)
			__builtin_ia32_pause();
	}
	return false;
}

bool live_lock(struct pcce_allocation_sums of, uint32_t *lock)
{
	const struct timespec pause = {.tv_nsec = WAIT_NS};

	if (holds_lock)
		return false;
	holds_lock = true;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	for (int i = 0; i < WAITS; i++) {
		if (try_lock(lock))
			return true;
		if (!is_confined(CONFINED))
			raw_syscall2(SYS_nanosleep, &pause, NULL);
	}
	is_on = false;
	__atomic_or_fetch(&of.ring->flags, PCCE_SELF_LIVE_UNKNOWN, __ATOMIC_RELAXED);
	holds_lock = false;
	return false;
}

void live_unlock(uint32_t *lock)
{
	__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	holds_lock = false;
}

/* ---- the table -------------------------------------------------------------------- */

static uint64_t hash_of(uint64_t key)
{
	uint64_t h = (key & KEY_ADDRESS) * 0x9e3779b97f4a7c15ULL;

	return (h ^ h >> 32) * 0x9e3779b97f4a7c15ULL;
}

static struct shard *shard_of(uint64_t hash)
{
	return &shards[hash >> 60];
}

static uint8_t *count_of(uint64_t hash)
{
	return &filter[hash >> 48];
}

/* The order of hashes, whatever the size. */
static uint64_t home_of(const struct shard *s, uint64_t hash)
{
	return (hash >> 28 & 0xffffffff) * s->n >> 32;
}

static uint64_t bucket_after(const struct shard *s, uint64_t at)
{
	return at + 1 < s->n ? at + 1 : 0;
}

/* Whether a key has room for an address. */
static bool address_fits(const void *p)
{
	return ((uintptr_t)p & 7) == 0 && (uintptr_t)p >> (KEY_BITS + 3) == 0;
}

static uint64_t key_of_address(const void *p)
{
	return KEY_USED | (uint64_t)(uintptr_t)p >> 3;
}

/* There is a place. */
__attribute__((noinline)) static void put_entry(struct shard *s, uint64_t key, uint32_t size)
{
	for (uint64_t at = home_of(s, hash_of(key));; at = bucket_after(s, at)) {
		struct bucket *b = &s->buckets[at];

		if (b->n < ENTRIES) {
			b->keys[b->n] = key;
			b->sizes[b->n++] = size;
			s->used++;
			return;
		}
		b->passed++;
	}
}

/* Gives the memory another size, at another address. Returns false if there is no room. */
static bool remap_shard(struct shard *s, uint64_t n)
{
	uint64_t size = n * sizeof(*s->buckets);
	void *p = s->n ? (void *)raw_syscall4(SYS_mremap, s->buckets, s->n * sizeof(*s->buckets),
					      size, MREMAP_MAYMOVE)
		       : raw_mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				  -1, 0);

	if (raw_failed(p))
		return false;
	s->buckets = p;
	s->n = n;
	return true;
}

/* Takes each bucket out and puts it back, from the last to the first: entries go up, or stay. If
 * they pass a bucket that is yet to be taken out, its count stays too large, which costs only time.
 * Returns false if there is no room, and the table is as before. */
__attribute__((noinline, cold)) static bool grow_shard(struct shard *s)
{
	uint64_t before = s->n;

	if (is_confined(CONFINED) ||
	    !remap_shard(s, ((before + before / 8) / BUCKETS_STEP + 1) * BUCKETS_STEP))
		return false;
	for (uint64_t at = 0; at < before; at++)
		s->buckets[at].passed = 0;
	for (uint64_t at = before; at-- > 0;) {
		struct bucket b = s->buckets[at];

		s->buckets[at].n = 0;
		s->used -= b.n;
		for (uint32_t i = 0; i < b.n; i++)
			put_entry(s, b.keys[i], b.sizes[i]);
	}
	return true;
}

/* Makes sure that there are two places. A full table would make searches long. */
static bool has_room(struct shard *s)
{
	uint64_t places = s->n * ENTRIES;

	return s->used + 2 <= places - places / 16 || grow_shard(s);
}

/* Takes an entry out. Returns its key, and adds its size to *bytes. 0: there is none. */
__attribute__((noinline)) static uint64_t take_entry(struct shard *s, uint64_t where,
						     uint64_t *bytes, int shift)
{
	uint64_t home = home_of(s, hash_of(where)), at = home, key;

	for (uint64_t n = 0; n < s->n; n++) {
		struct bucket *b = &s->buckets[at];

		for (uint32_t i = 0; i < b->n; i++) {
			key = b->keys[i];
			if ((key & KEY_WHERE) != where)
				continue;
			*bytes |= (uint64_t)b->sizes[i] << shift;
			b->keys[i] = b->keys[--b->n];
			b->sizes[i] = b->sizes[b->n];
			s->used--;
			for (; home != at; home = bucket_after(s, home))
				s->buckets[home].passed--;
			return key;
		}
		if (!b->passed)
			return 0;
		at = bucket_after(s, at);
	}
	return 0;
}

static void put_allocation_at(struct shard *s, const void *p, struct allocation a)
{
	uint64_t key = key_of_address(p) | (uint64_t)(uint16_t)(a.counter - 1) << KEY_BITS;
	uint32_t upper = (uint32_t)(a.bytes >> 32);

	put_entry(s, upper ? key | KEY_MORE : key, (uint32_t)a.bytes);
	if (upper)
		put_entry(s, key | KEY_UPPER, upper);
}

static struct allocation take_allocation_at(struct shard *s, const void *p)
{
	struct allocation a = {0};
	uint64_t key = take_entry(s, key_of_address(p), &a.bytes, 0);

	if (key)
		a.counter = 1 + (uint16_t)(key >> KEY_BITS);
	if (key & KEY_MORE)
		take_entry(s, key_of_address(p) | KEY_UPPER, &a.bytes, 32);
	return a;
}

/* ---- allocations ------------------------------------------------------------------ */

/* Adds 1 or -1 to a count of the filter, whose shard is locked. */
static void change_filter(uint64_t hash, int by)
{
	uint8_t *count = filter ? count_of(hash) : NULL;

	if (count && *count != FULL)
		__atomic_store_n(count, (uint8_t)(*count + by), __ATOMIC_RELAXED);
}

bool live_add(struct pcce_allocation_sums to, const void *p, struct allocation a)
{
	uint64_t hash = hash_of(key_of_address(p));
	struct shard *s = shard_of(hash);
	bool done = false;

	if (is_on && address_fits(p) && live_lock(to, &s->lock)) {
		done = has_room(s);
		if (done) {
			put_allocation_at(s, p, a);
			change_filter(hash, 1);
		}
		live_unlock(&s->lock);
	}
	if (!done)
		live_lose(to);
	return done;
}

struct allocation live_remove(struct pcce_allocation_sums from, const void *p)
{
	struct allocation a = {0};
	uint64_t hash = hash_of(key_of_address(p));
	struct shard *s = shard_of(hash);

	if (!is_on || !address_fits(p) ||
	    (filter && !__atomic_load_n(count_of(hash), __ATOMIC_RELAXED)))
		return a;
	if (!live_lock(from, &s->lock)) {
		live_lose(from);
		return a;
	}
	a = take_allocation_at(s, p);
	if (a.counter)
		change_filter(hash, -1);
	live_unlock(&s->lock);
	return a;
}

void live_begin(bool sampled)
{
	is_on = true;
	if (!sampled)
		return;
	filter = raw_mmap(NULL, FILTER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (raw_failed(filter))
		filter = NULL;
}

int live_after_fork(void)
{
	for (int i = 0; i < SHARDS; i++) {
		struct shard *s = &shards[i];

		/* Another thread may have been changing it. Now it is zeros. */
		if (s->n && raw_syscall3(SYS_madvise, s->buckets, s->n * sizeof(*s->buckets),
					 MADV_DONTNEED) < 0)
			s->n = 0;
		s->used = 0;
		s->lock = 0;
	}
	if (filter && raw_syscall3(SYS_madvise, filter, FILTER, MADV_DONTNEED) < 0)
		filter = NULL;
	return holds_lock;
}
