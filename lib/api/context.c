/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Makes the frames of libpcce-decode from those of the decoder: adds names, places and inlined
 * functions. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "api/context.h"
#include "stream/kernel_stacks.h"
#include "base/array.h"
#include "decode/decode.h"
#include "decode/restored.h"
#include "api/frame_names.h"
#include <pcce/sample.h>

#define KNOWN_FLAGS                                                               \
	(PCCE_DECODE_RAW_NAMES | PCCE_DECODE_SIMPLE_NAMES | PCCE_DECODE_INLINED | \
	 PCCE_DECODE_EXPANDED | PCCE_DECODE_ORIGINS)
#define FRAME_SIZE_MIN 80 /* of the first version */

/* The public numbers never change; those of the decoder are the same. */
_Static_assert((int)PCCE_DECODE_EXACT == DECODE_EXACT &&
		       (int)PCCE_DECODE_TRUNCATED == DECODE_TRUNCATED &&
		       (int)PCCE_DECODE_OUTSIDE == DECODE_OUTSIDE &&
		       (int)PCCE_DECODE_UNDECODABLE == DECODE_UNDECODABLE &&
		       (int)PCCE_DECODE_UNKEPT == DECODE_UNKEPT,
	       "enum pcce_decode_status");
_Static_assert((int)PCCE_DECODE_CALL == DECODE_FRAME_CALL &&
		       (int)PCCE_DECODE_TAIL == DECODE_FRAME_TAIL &&
		       (int)PCCE_DECODE_CODE == DECODE_FRAME_FOREIGN &&
		       (int)PCCE_DECODE_GAP == DECODE_FRAME_GAP &&
		       (int)PCCE_DECODE_SIGNAL == DECODE_FRAME_SIGNAL &&
		       (int)PCCE_DECODE_THREAD == DECODE_FRAME_ORIGIN,
	       "enum pcce_decode_kind");
_Static_assert((int)PCCE_DECODE_REASON_READ_FAULT == DECODE_REASON_READ_FAULT &&
		       (int)PCCE_DECODE_REASON_LOST_ID == DECODE_REASON_LOST_ID &&
		       (int)PCCE_DECODE_REASON_NO_EDGE == DECODE_REASON_NO_EDGE &&
		       (int)PCCE_DECODE_REASON_NOT_ROOT == DECODE_REASON_NOT_ROOT &&
		       (int)PCCE_DECODE_REASON_UNKNOWN_SITE == DECODE_REASON_UNKNOWN_SITE &&
		       (int)PCCE_DECODE_REASON_WRONG_CALLEE == DECODE_REASON_WRONG_CALLEE &&
		       (int)PCCE_DECODE_REASON_STALE_EXT == DECODE_REASON_STALE_EXT &&
		       (int)PCCE_DECODE_REASON_RESTORING == DECODE_REASON_RESTORING &&
		       (int)PCCE_DECODE_REASON_NOT_ENCODED == DECODE_REASON_NOT_ENCODED &&
		       (int)PCCE_DECODE_REASON_SHARED_PAGE == DECODE_REASON_SHARED_PAGE &&
		       (int)PCCE_DECODE_REASON_REDIRECTED == DECODE_REASON_REDIRECTED &&
		       (int)PCCE_DECODE_REASON_TRACED == DECODE_REASON_TRACED &&
		       (int)PCCE_DECODE_REASON_INTERRUPTED == DECODE_REASON_INTERRUPTED &&
		       DECODE_REASON_COUNT == PCCE_DECODE_REASON_INTERRUPTED + 1,
	       "enum pcce_decode_reason");
_Static_assert(sizeof(struct pcce_decode_frame) == FRAME_SIZE_MIN, "struct pcce_decode_frame");
_Static_assert(sizeof(((struct pcce_decode_error *)0)->text) == sizeof(((struct error *)0)->text),
	       "struct pcce_decode_error");

int api_error(struct pcce_decode_error *to, const struct error *from, int r)
{
	if (to)
		memcpy(to->text, from->text, sizeof(to->text));
	return r;
}

int api_context_new(struct pcce_decode_context *c, uint64_t flags, struct error *why)
{
	*c = (struct pcce_decode_context){
		.kernel = UINT32_MAX,
		.inlined = flags & PCCE_DECODE_INLINED,
		.expanded = flags & PCCE_DECODE_EXPANDED,
		.origins = flags & PCCE_DECODE_ORIGINS,
	};
	if (flags & ~KNOWN_FLAGS)
		return error_set(why, -EINVAL,
				 "cannot use the flags %#llx: this library does not know them; "
				 "use a newer one",
				 (unsigned long long)(flags & ~KNOWN_FLAGS));
	c->names = symbol_table_new(flags & PCCE_DECODE_RAW_NAMES      ? SYMBOL_NAMES_RAW
				    : flags & PCCE_DECODE_SIMPLE_NAMES ? SYMBOL_NAMES_SIMPLE
								       : SYMBOL_NAMES_FULL);
	return c->names ? 0 : error_memory(why);
}

void api_context_free(struct pcce_decode_context *c)
{
	decode_context_free(&c->decoded);
	symbol_table_free(c->names);
	free(c->frames);
}

/* ---- frames ---------------------------------------------------------------------- */

/* A string of the names; UINT32_MAX means that there was no memory for it. */
static int add_api_frame(struct pcce_decode_context *c, const struct pcce_decode_frame *f,
			 uint32_t function, uint32_t file)
{
	struct pcce_decode_frame *to;

	if (function == UINT32_MAX)
		return -ENOMEM;
	if (array_grow_from(&c->frames, c->n, &c->capacity, 256, sizeof(*c->frames)))
		return -ENOMEM;
	to = &c->frames[c->n++];
	*to = *f;
	to->function = symbol_table_string(c->names, function);
	to->file = symbol_table_string(c->names, file);
	return 0;
}

static struct pcce_decode_frame frame_of(const struct pcce_decode_context *c, uint32_t module)
{
	struct pcce_decode_frame frame = {.module = symbol_table_path(c->names, module)};

	frame.build_id_size = symbol_table_build_id(c->names, module, &frame.build_id);
	return frame;
}

/* Frames, among those that were made, of the last n that were decoded: inlined ones come first. */
static uint32_t count_made(const struct pcce_decode_context *c, uint32_t n)
{
	size_t i = c->n;

	while (i && (n || c->frames[i - 1].inlined))
		n -= !c->frames[--i].inlined;
	return (uint32_t)(c->n - i);
}

static int add_decoded(struct pcce_decode_context *c, const struct decode_space *as, size_t i)
{
	const struct decode_context *decoded = &c->decoded;
	const struct decode_frame *f = &decoded->frames[i];
	bool outer = i + 1 < decoded->n && f[1].kind == DECODE_FRAME_CALL && f[1].site != PCCE_NONE;
	struct frame_names_key key = {
		.vaddr = frame_names_vaddr(c->names, as, f),
		.kind = f->kind,
		.module = f->module,
		.func = f->func,
		.outer_module = outer ? f[1].module : UINT32_MAX,
		.extra = frame_names_extra(decoded, i),
	};
	struct pcce_decode_frame frame = frame_of(c, f->module), *last;
	const struct symbol_table_entry *chain;
	size_t n = frame_names_chain(c->names, f->module, key.vaddr, &chain), k = n ? n - 1 : 0;
	uint32_t line =
		f->site == PCCE_NONE ? 0 : frame_names_site_line(c->names, f->module, key.vaddr);

	frame.kind = f->kind;
	frame.restored = f->restored;
	frame.address = f->address;
	frame.vaddr = key.vaddr;
	if (c->inlined && f->kind == DECODE_FRAME_CALL)
		k = 0;
	for (; k + 1 < n; k++) {
		frame.inlined = 1;
		frame.line = chain[k].line ? chain[k].line : line;
		line = 0;
		if (add_api_frame(c, &frame, chain[k].function, chain[k].file))
			return -ENOMEM;
	}
	frame.inlined = 0;
	frame.line = n && chain[k].line ? chain[k].line : line;
	if (add_api_frame(c, &frame, frame_names_get(c->names, &key), n ? chain[k].file : 0))
		return -ENOMEM;
	last = &c->frames[c->n - 1];
	if (f->repeat) {
		last->repeat = f->repeat;
		last->span = count_made(c, f->span);
	}
	return 0;
}

static int add_kernel_frame(struct pcce_decode_context *c, uint64_t kip)
{
	struct pcce_decode_frame frame = frame_of(c, c->kernel);
	bool known;
	uint32_t name = frame_names_kernel(c->names, c->kernel, kip, &known);

	frame.kind = PCCE_DECODE_KERNEL;
	frame.address = frame.vaddr = kip;
	return add_api_frame(c, &frame, name, 0);
}

/* What the thread waits for. */
static int add_wait_frame(struct pcce_decode_context *c, uint32_t name)
{
	struct pcce_decode_frame frame = frame_of(c, UINT32_MAX);

	frame.kind = PCCE_DECODE_KERNEL;
	return add_api_frame(c, &frame, name, 0);
}

/* The innermost frames of a sample that was taken in the kernel. */
static int add_kernel(struct pcce_decode_context *c, const struct stream_event *of)
{
	const uint64_t *frames;
	size_t n = kernel_stacks_of(of, &frames);
	int r = n ? 0 : add_kernel_frame(c, 0);

	for (size_t i = 0; i < n && !r; i++)
		r = i + 1 == n && frames[i] < PCCE_WAITS
			    ? add_wait_frame(c, frame_names_wait(c->names, c->kernel, frames, n))
			    : add_kernel_frame(c, frames[i]);
	return r;
}

int api_context_decode(struct pcce_decode_context *c, const struct decode_space *as,
		       const struct stream_event *of, const struct pcce_entry *entries, uint32_t n)
{
	const struct pcce_sample *s = of->sample;
	int r = decode_sample(as, s, entries, n, c->expanded, c->origins, &c->decoded);
	enum restored_result restored;

	if (!r && s->flags & PCCE_SAMPLE_FRAMES)
		r = restored_add(as, s, pcce_sample_stack(s), &c->decoded, &restored);
	c->n = 0;
	if (!r && s->flags & PCCE_SAMPLE_KERNEL)
		r = add_kernel(c, of);
	for (size_t i = 0; i < c->decoded.n && !r; i++)
		r = add_decoded(c, as, i);
	if (!r && c->decoded.status == DECODE_OUTSIDE) {
		struct pcce_decode_frame gap = frame_of(c, UINT32_MAX);

		gap.kind = PCCE_DECODE_GAP;
		r = add_api_frame(c, &gap, symbol_table_intern(c->names, FRAME_NAMES_NO_PAGE), 0);
	}
	return r;
}

/* ---- questions ------------------------------------------------------------------- */

uint32_t pcce_decode_context_status(const struct pcce_decode_context *c)
{
	return c->decoded.status;
}

uint32_t pcce_decode_context_reason(const struct pcce_decode_context *c)
{
	return c->decoded.reason;
}

size_t pcce_decode_context_frames(const struct pcce_decode_context *c)
{
	return c->n;
}

uint64_t pcce_decode_context_depth(const struct pcce_decode_context *c)
{
	return c->decoded.depth;
}

int pcce_decode_context_frame(const struct pcce_decode_context *c, size_t i,
			      struct pcce_decode_frame *frame, size_t size)
{
	if (size < FRAME_SIZE_MIN)
		return -EINVAL;
	if (i >= c->n)
		return -ERANGE;
	if (size > sizeof(*frame)) {
		memset((char *)frame + sizeof(*frame), 0, size - sizeof(*frame));
		size = sizeof(*frame);
	}
	memcpy(frame, &c->frames[i], size);
	return 0;
}

const char *pcce_decode_status_name(uint32_t status)
{
	static const char *const names[] = {"exact", "truncated", "outside", "undecodable"};

	return status < sizeof(names) / sizeof(*names) ? names[status] : "unknown";
}

const char *pcce_decode_reason_name(uint32_t reason)
{
	return decode_reason_name((enum decode_reason)reason);
}

const char *pcce_decode_kind_name(uint32_t kind)
{
	static const char *const names[] = {
		"call", "tail call", "uninstrumented code", "gap", "signal", "thread", "kernel"};

	return kind < sizeof(names) / sizeof(*names) ? names[kind] : "unknown";
}
