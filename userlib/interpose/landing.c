// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Handles exceptions that land in uninstrumented code: in a catch or a clean-up of a library.
 *
 * Instrumented code restores its state at its landing pads (__pcce_restore). Other code has no such
 * call, and the entries of the functions that the exception has left would stay. A personality
 * routine, of any language, names the address where a frame is entered by _Unwind_SetIP, which this
 * file interposes:
 *
 *  1. A landing pad of instrumented code begins with PCCE_LANDING_MARK. In programs without other
 *     landing pads this comparison is all that happens.
 *  2. Otherwise the stack is walked. An entry belongs to the frame that continues after the call
 *     that the entry names. From the innermost frame outwards, the frames inside of the landing one
 *     remove their entries. The frame of the entry that is then on top must be the landing one or
 *     outside of it; otherwise the walk has misunderstood something.
 *  3. If frames of instrumented code are left, the unwinder is given a stub (landing_stubs.S) to
 *     enter, with all registers as the landing pad expects them. The stub drops the entries, and
 *     jumps to the landing pad. Meanwhile ext is PCCE_EXT_CHANGING, so a sample is marked.
 *  4. What cannot be established is not guessed. The state becomes PCCE_ID_LOST, as after an
 *     unknown change of stacks (ucontext.c).
 *
 * The price is a walk as long as the unwinder's. A stub and its record are in use from step 3 to
 * the jump; a signal handler uses another stub meanwhile.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unwind.h>
#include "internal.h"
#include "interpose/landing.h"
#include "interpose/next.h"
#include "interpose/own.h"
#include "stack/segment_moves.h"
#include "stack/unknown.h"

#define HIDDEN __attribute__((visibility("hidden")))

/* landing_stubs.S */
extern HIDDEN const char __pcce_landing_stubs[];
extern HIDDEN void __pcce_signal_entry(int sig, void *info, void *context);

/* The functions of one unwinder, which agree on the layout of struct _Unwind_Context. */
struct unwinder {
	void (*set_ip)(struct _Unwind_Context *, _Unwind_Ptr);
	_Unwind_Ptr (*get_ip)(struct _Unwind_Context *);
	_Unwind_Ptr (*region_start)(struct _Unwind_Context *);
	_Unwind_Word (*get_cfa)(struct _Unwind_Context *);
	_Unwind_Reason_Code (*backtrace)(_Unwind_Trace_Fn, void *);
};

/* ---- the unwinder that was called ------------------------------------------------------- */

#ifdef PCCE_STATIC
extern void __real__Unwind_SetIP(struct _Unwind_Context *frame, _Unwind_Ptr ip);

static bool find_unwinder(struct unwinder *u, const void *caller)
{
	(void)caller;
	*u = (struct unwinder){__real__Unwind_SetIP, _Unwind_GetIP, _Unwind_GetRegionStart,
			       _Unwind_GetCFA, _Unwind_Backtrace};
	return true;
}
#else
extern void *dlopen(const char *, int) __attribute__((weak));
extern int dlclose(void *) __attribute__((weak));
extern int dladdr(const void *, Dl_info *) __attribute__((weak));

/* Returns a handle of the object with this address. The object stays loaded, since its code is
 * running. */
static void *find_object(const void *address)
{
	Dl_info info;
	void *handle;

	if (!dladdr || !dlopen || !dlclose || !dladdr(address, &info) || !info.dli_fname)
		return NULL;
	handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (handle)
		dlclose(handle);
	return handle;
}

static bool find_unwinder_in(struct unwinder *u, void *object)
{
	u->set_ip = real_dlsym(object, "_Unwind_SetIP");
	u->get_ip = real_dlsym(object, "_Unwind_GetIP");
	u->region_start = real_dlsym(object, "_Unwind_GetRegionStart");
	u->get_cfa = real_dlsym(object, "_Unwind_GetCFA");
	u->backtrace = real_dlsym(object, "_Unwind_Backtrace");
	return u->set_ip;
}

/*
 * Finds what the caller would call without the runtime: the next one of the global scope, or, in a
 * library with a local scope, the first one there.
 */
static bool find_unwinder(struct unwinder *u, const void *caller)
{
	static struct unwinder next;
	static uint32_t state; /* of next */
	uint32_t expected = 0;
	void *object;

	if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == 2) {
		*u = next;
		return true;
	}
	if (find_unwinder_in(u, RTLD_NEXT)) {
		if (__atomic_compare_exchange_n(&state, &expected, 1, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED)) {
			next = *u;
			__atomic_store_n(&state, 2, __ATOMIC_RELEASE);
		}
		return true;
	}
	object = find_object(caller);
	return object && find_unwinder_in(u, object);
}
#endif

/* ---- calls ------------------------------------------------------------------------------- */

/* Returns the bytes of a ModRM operand with what follows it. */
static unsigned int modrm_length(const unsigned char *modrm)
{
	unsigned int mod = *modrm >> 6, rm = *modrm & 7, length = 1;

	if (mod == 3)
		return length;
	if (rm == 4) {
		length++;
		if (mod == 0 && (modrm[1] & 7) == 5)
			length += 4;
	} else if (mod == 0 && rm == 5) {
		length += 4;
	}
	return length + (mod == 1 ? 1 : mod == 2 ? 4 : 0);
}

/* The compiler would call memcmp(), which sanitizers replace. */
static bool begins_with(const unsigned char *code, const unsigned char *bytes, size_t n)
{
	while (n && *code == *bytes) {
		code++;
		bytes++;
		n--;
	}
	return !n;
}

/* Returns where the call of a site returns to; 0 if the call is not a single instruction. */
static uint64_t call_return(uint64_t site)
{
	static const unsigned char restore[] = {0x4c, 0x8b, 0x5c, 0x24, 0x80,
						0x4c, 0x8b, 0x54, 0x24, 0x88};
	const unsigned char *p = (const unsigned char *)site;

	if (!site)
		return 0;
	if (begins_with(p, restore,
			sizeof(restore))) /* see PCCE_SITE_SPILL_REGS in docs/slots.md */
		p += sizeof(restore);
	while (*p == 0x67 || *p == 0xf2 || *p == 0x3e || *p >> 4 == 4)
		p++;
	if (*p == 0xe8)
		return (uint64_t)p + 5;
	if (*p == 0xff && (p[1] >> 3 & 7) == 2)
		return (uint64_t)p + 1 + modrm_length(p + 1);
	return 0;
}

/* ---- the encoding stack, from the top ------------------------------------------------------ */

struct cursor {
	uint32_t number, left; /* segment, and entries of it that are left */
	/* The entry that is on top then; its count excludes what the walk has removed. */
	struct pcce_entry top;
	uint64_t returns; /* where its call returns to; 0: not known */
	bool empty, special, unknown;
};

static bool read_entry(uint32_t number, uint32_t index, struct pcce_entry *out)
{
	uint64_t position;

	/* A handler in between may have moved what the other half holds. */
	do {
		const volatile struct pcce_entry *e;
		const struct pcce_segment *s;

		position = *position_word();
		if (number == segment_number(position) ||
		    (number + 1 == segment_number(position) &&
		     held_kind(position) == PCCE_PLACE_KEPT)) {
			e = (const volatile struct pcce_entry *)page_half(start_of_half(number)) +
			    1;
		} else {
			s = stored_segment(number);
			if (!s || !s->generation)
				return false;
			e = s->entry;
		}
		out->id = e[index].id;
		out->site = e[index].site;
	} while (position != *position_word());
	return true;
}

static void find_top(struct cursor *c)
{
	c->returns = 0;
	c->special = false;
	for (;;) {
		while (!c->left && c->number) {
			c->number--;
			c->left = PCCE_SEGMENT_ENTRIES;
		}
		if (!c->left) {
			c->empty = true;
			return;
		}
		if (!read_entry(c->number, c->left - 1, &c->top)) {
			c->unknown = true;
			return;
		}
		if (c->top.site >> PCCE_SITE_BITS == PCCE_COUNT_ORIGIN2) {
			/* The thread's own stack begins here. */
			c->number++;
			c->left = 0;
			c->empty = true;
			return;
		}
		if (c->top.site >> PCCE_SITE_BITS != PCCE_COUNT_FILL)
			break;
		c->left--;
	}
	if (c->top.site >> PCCE_SITE_BITS > PCCE_COUNT_MAX) {
		c->special = true;
	} else {
		c->returns = call_return(c->top.site & PCCE_SITE_MASK);
		c->unknown = !c->returns;
	}
}

static void take_call(struct cursor *c)
{
	if (c->top.site >> PCCE_SITE_BITS) {
		c->top.site -= 1ULL << PCCE_SITE_BITS;
		return;
	}
	c->left--;
	find_top(c);
}

static bool begin_cursor(struct cursor *c)
{
	uint64_t position = *position_word();
	uint32_t used = (uint32_t)position & PCCE_OFF_USED;

	*c = (struct cursor){
		.number = segment_number(position),
		.left = used / sizeof(struct pcce_entry),
	};
	if (used > PCCE_OFF_FULL)
		return false;
	find_top(c);
	return true;
}

/* ---- the walk ------------------------------------------------------------------------------ */

struct walk {
	const struct unwinder *unwinder;
	uint64_t cfa, ip; /* of the frame that is entered */
	struct cursor stack;
	uint64_t ext_returns; /* 0: ext names nothing, or its call is already left */
	bool landed, gone, certain;
};

/* Does the entry that is on top belong to this frame? */
static bool owns_top(const struct walk *w, struct _Unwind_Context *frame, uint64_t ip)
{
	if (w->ext_returns)
		return ip == w->ext_returns;
	if (w->stack.special)
		return w->stack.top.site >> PCCE_SITE_BITS == PCCE_COUNT_SIGNAL2 &&
		       w->unwinder->region_start(frame) == (uint64_t)__pcce_signal_entry;
	return ip == w->stack.returns;
}

static _Unwind_Reason_Code visit_frame(struct _Unwind_Context *frame, void *arg)
{
	struct walk *w = arg;
	uint64_t ip = w->unwinder->get_ip(frame);

	if (!w->landed && ip == w->ip && w->unwinder->get_cfa(frame) == w->cfa)
		w->landed = true;
	if (w->stack.unknown)
		return _URC_NORMAL_STOP;
	if (w->landed) {
		w->certain = (w->stack.empty && !w->ext_returns) || owns_top(w, frame, ip);
		return w->certain ? _URC_NORMAL_STOP : _URC_NO_REASON;
	}
	if (!owns_top(w, frame, ip))
		return _URC_NO_REASON;
	w->gone = true;
	if (w->ext_returns)
		w->ext_returns = 0;
	else if (w->stack.special)
		/* A signal handler is left: what it interrupted is unknown. */
		return _URC_NORMAL_STOP;
	else
		take_call(&w->stack);
	return _URC_NO_REASON;
}

static bool walk_stack(struct walk *w)
{
	uint64_t ext = pcce_page.ext;

	if (ext == PCCE_EXT_CHANGING || !w->unwinder->backtrace || !w->unwinder->region_start)
		return false;
	if (ext) {
		w->ext_returns = call_return(__pcce_site_address(ext));
		if (!w->ext_returns)
			return false;
	}
	if (!begin_cursor(&w->stack))
		return false;
	w->unwinder->backtrace(visit_frame, w);
	return w->certain;
}

/* ---- landing --------------------------------------------------------------------------------- */

static bool is_marked(uint64_t pad)
{
	static const unsigned char mark[] = {PCCE_LANDING_MARK},
				   endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	const unsigned char *p = (const unsigned char *)pad;

	if (begins_with(p, endbr64, sizeof(endbr64)))
		p += sizeof(endbr64);
	return begins_with(p, mark, sizeof(mark));
}

/* Returns what to enter instead of the landing pad. */
static uint64_t lead_landing(const struct unwinder *u, struct _Unwind_Context *frame, uint64_t pad)
{
	struct walk w = {.unwinder = u};
	struct landing *l;

	if (!pcce_active || is_marked(pad) || page_stays_shared())
		return pad;
	if (u->get_ip && u->get_cfa) {
		w.cfa = u->get_cfa(frame);
		w.ip = u->get_ip(frame);
		if (walk_stack(&w)) {
			if (!w.gone)
				return pad;
			l = __pcce_landing_claim();
			if (l) {
				l->pad = pad;
				l->call = w.ip;
				l->position = word_of(
					start_of_half(w.stack.number) +
						w.stack.left * (uint32_t)sizeof(struct pcce_entry),
					w.stack.number, 0);
				l->word = w.stack.top.site;
				*(volatile __u64 *)&pcce_page.ext = PCCE_EXT_CHANGING;
				return (uint64_t)__pcce_landing_stubs +
				       (uint64_t)(l - __pcce_landings) * LANDING_STUB;
			}
		}
	}
	__pcce_segment_lost();
	return pad;
}

#ifdef PCCE_STATIC
__attribute__((visibility("default"))) void __wrap__Unwind_SetIP(struct _Unwind_Context *frame,
								 _Unwind_Ptr ip);
__attribute__((visibility("default"))) void __wrap__Unwind_SetIP(struct _Unwind_Context *frame,
								 _Unwind_Ptr ip)
#else
void pcce_own__Unwind_SetIP(struct _Unwind_Context *frame, _Unwind_Ptr ip)
#endif
{
	int saved_errno = errno;
	struct unwinder u;

	if (find_unwinder(&u, __builtin_return_address(0)))
		u.set_ip(frame, lead_landing(&u, frame, ip));
	errno = saved_errno;
}

#ifndef PCCE_STATIC
PUBLIC_NAME(_Unwind_SetIP, _Unwind_SetIP);
#endif
