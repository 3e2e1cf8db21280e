# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Builds the runtime library.  The top Makefile includes this file, and sets O, LIBDIR, CC, AR and
# the flags.
#
#   libpcce.a          For executables of any kind: static, PIE or not.  It is one relocatable
#                      object, so its code is one range of addresses, and all of it is linked or
#                      nothing.  All names except those of libpcce.map are local in it, so they
#                      cannot clash with the program's.  An executable must be linked with
#                          -u __pcce_push LIBDIR/libpcce.a
#                      before the C library.  Unless it is static, it must also export the names
#                      in libpcce.exports (--export-dynamic-symbol=NAME or a dynamic list).
#                      Shared libraries then use its page, also those that dlopen() loads.
#   libpcce_before.a   Takes the place of libpcce.a in executables that contain a sanitizer.  The
#                      functions that sanitizers replace, too, are not weak.
#   libpcce_jump.a     setjmp, longjmp, getcontext and their kin, for executables that are not
#                      static.  Linked with -u __pcce_jump.
#   libpcce_context.a  getcontext and its kin, for static executables.  Linked if the program uses
#                      one of them.
#   libpcce_landing.a  Exceptions that land in uninstrumented code, for static executables.
#                      Linked with -u __wrap__Unwind_SetIP --wrap=_Unwind_SetIP.  Dynamic
#                      executables have this part in libpcce_jump.a.
#   libpcce_dso.a      Push and pop for one shared library, which must be linked with
#                          -u __pcce_push LIBDIR/libpcce_dso.a -lpcce
#   libpcce.so.0       The same runtime for shared libraries whose executable has none.  It stays
#                      idle if the executable has one.
#   libpcce-verify.so  The unwinder of pcce-record --verify.
#   libpcce-malloc.so  malloc() and its kin for pcce-record -e malloc.
#
# -mgeneral-regs-only only for files whose code runs inside a push.  No stack protector, since code
# runs before a thread is set up.  No PLT: a function that is bound when it is first called takes
# more than a KiB of the caller's stack, which may be small.  Functions are not split into hot, cold
# and start-up sections, so the code stays in one piece.

USERLIB_DIR := userlib
USERLIB_OBJ := $(O)/obj/userlib

# C files of every executable's runtime.
USERLIB_C := stack/segments stack/restore_far stack/stack_state stack/stack_switch stack/page \
	threads/thread_page threads/registry threads/origin threads/thread_create \
	threads/main_exit interpose/signal_mask interpose/handler interpose/sysv_signal \
	interpose/prctl interpose/fork interpose/clone base/confined interpose/redirect \
	stack/unknown self/sampler self/state self/signal self/altstack self/source \
	self/sample self/allocation self/modules self/ring base/local_libc base/linker_object \
	contexts/capture contexts/context_id contexts/stack_id contexts/modules contexts/set \
	contexts/on_context contexts/words contexts/dictionary contexts/crash \
	contexts/crash_stack base/quiet_write labels/labels
# Assembly files of every executable's runtime, in front of the C files.
USERLIB_S := stack/pushpop stack/leaf_entry interpose/signal_entry self/sampling_entry \
	interpose/syscall_stub interpose/vfork_stub interpose/clone_stub threads/thread_body \
	threads/main_stub
# Code that runs inside a push, or between two steps of a change of the encoding stack.
USERLIB_GENERAL_REGS := stack/segments stack/restore_far stack/unknown stack/stack_state \
	stack/stack_switch interpose/jump interpose/ucontext interpose/ucontext-static \
	interpose/site

# Code that runs often is compiled for speed.  All other code is compiled for size, since it is in
# every program.  For the same reason, debug information has only functions and lines (-g1).
USERLIB_FAST := stack/segments stack/restore_far stack/stack_state stack/stack_switch \
	interpose/jump contexts/capture contexts/context_id contexts/stack_id contexts/on_context \
	contexts/words labels/labels self/ring self/sample self/allocation self/verify

USERLIB_CFLAGS := -std=gnu11 -D_GNU_SOURCE -Os -g1 -fPIC -fvisibility=hidden \
	-fno-stack-protector -fcf-protection -fno-reorder-functions \
	-fno-reorder-blocks-and-partition -fno-exceptions -fasynchronous-unwind-tables \
	-fno-lto -fno-plt -U_FORTIFY_SOURCE -Iinclude -I$(USERLIB_DIR)
USERLIB_ASFLAGS := -fPIC -fcf-protection -g -I$(USERLIB_DIR)

# A change of them rebuilds all objects.
USERLIB_FLAGS := $(O)/obj/.flags $(USERLIB_DIR)/build.mk

USERLIB_ARCHIVES := $(LIBDIR)/libpcce.a $(LIBDIR)/libpcce_before.a $(LIBDIR)/libpcce_jump.a \
	$(LIBDIR)/libpcce_context.a $(LIBDIR)/libpcce_landing.a $(LIBDIR)/libpcce_dso.a
USERLIB_TARGETS := $(USERLIB_ARCHIVES) $(LIBDIR)/libpcce.so.0 $(LIBDIR)/libpcce.so \
	$(LIBDIR)/libpcce.exports $(LIBDIR)/libpcce-verify.so $(LIBDIR)/libpcce-malloc.so

$(USERLIB_GENERAL_REGS:%=$(USERLIB_OBJ)/%.o): USERLIB_CFLAGS += -mgeneral-regs-only
$(USERLIB_OBJ)/stack/restore_far.o: USERLIB_CFLAGS += -fno-toplevel-reorder
$(USERLIB_FAST:%=$(USERLIB_OBJ)/%.o): USERLIB_CFLAGS += -O2
# Its loops must not become calls of the function that they implement.
$(USERLIB_OBJ)/base/local_libc.o $(USERLIB_OBJ)/interpose/own_next.o: \
	USERLIB_CFLAGS += -fno-builtin -fno-tree-loop-distribute-patterns

$(USERLIB_OBJ)/%.o: $(USERLIB_DIR)/%.c $(USERLIB_FLAGS)
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(USERLIB_CFLAGS) $(WARN) $(DEPFLAGS) -c -o $@ $<

# For static executables.
$(USERLIB_OBJ)/%-static.o: $(USERLIB_DIR)/%.c $(USERLIB_FLAGS)
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(USERLIB_CFLAGS) $(WARN) -DPCCE_STATIC $(DEPFLAGS) -c -o $@ $<

$(USERLIB_OBJ)/%.o: $(USERLIB_DIR)/%.S $(USERLIB_FLAGS)
	@mkdir -p $(@D)
	$(call say,AS,$@)
	$(Q)$(CC) $(USERLIB_ASFLAGS) $(DEPFLAGS) -c -o $@ $<

# For executables, which define the page themselves (page_offset.h).
$(USERLIB_OBJ)/%-exec.o: $(USERLIB_DIR)/%.S $(USERLIB_FLAGS)
	@mkdir -p $(@D)
	$(call say,AS,$@)
	$(Q)$(CC) $(USERLIB_ASFLAGS) -DPCCE_EXEC $(DEPFLAGS) -c -o $@ $<

# What each archive's object holds.  stack/text_end is last: the runtime's code ends there.
userlib_objects = $(1:%=$(USERLIB_OBJ)/%.o)
USERLIB_EXEC := $(call userlib_objects,$(USERLIB_S:%=%-exec) $(USERLIB_C) stack/encoding_note \
	stack/text_end)
USERLIB_DSO := $(call userlib_objects,stack/pushpop stack/leaf_entry stack/segments \
	stack/restore_far stack/unknown stack/encoding_note stack/text_end)
USERLIB_JUMP := $(call userlib_objects,interpose/jump_stubs-exec interpose/jump \
	interpose/ucontext_stubs-exec interpose/ucontext interpose/landing_stubs-exec \
	interpose/landing interpose/landing_pending interpose/site interpose/timer \
	interpose/own_next)
USERLIB_CONTEXT := $(call userlib_objects,interpose/ucontext_stubs-exec \
	interpose/ucontext-static interpose/site)
USERLIB_LANDING := $(call userlib_objects,interpose/landing_stubs-exec \
	interpose/landing-static interpose/landing_pending interpose/site)
USERLIB_LINK := $(call userlib_objects,$(USERLIB_S) stack/adopt_page interpose/jump_stubs \
	interpose/jump interpose/ucontext_stubs interpose/ucontext interpose/landing_stubs \
	interpose/landing interpose/landing_pending interpose/site interpose/timer \
	$(USERLIB_C) stack/text_end)

# Names that stay global: the other archives, slots and the linker wrapper use them.
USERLIB_KEEP := $(addprefix --keep-global-symbol=,__pcce_push __pcce_restore __pcce_segment_room \
	__pcce_segment_return __pcce_segment_lost __pcce_stack_keep __pcce_stack_load \
	__pcce_stack_empty __pcce_stack_free_area pcce_active __pcce_signal_entry \
	pcce_after_raw_fork pcce_thread_begin pcce_runtime_init self_count_unseen \
	__pcce_unknown_left) \
	--wildcard --keep-global-symbol='pcce_own_*'
USERLIB_KEEP_EXPORTS := --keep-global-symbols=$(USERLIB_DIR)/libpcce.exports

# A program may define these itself.
USERLIB_REPLACED := $(filter-out pcce_%,$(file <$(USERLIB_DIR)/libpcce.exports))
USERLIB_SANITIZED := pthread_create sigaction signal sigaltstack sigprocmask pthread_sigmask prctl \
	vfork

$(USERLIB_OBJ)/pcce.o $(USERLIB_OBJ)/pcce_before.o: $(USERLIB_EXEC)
$(USERLIB_OBJ)/pcce.o $(USERLIB_OBJ)/pcce_before.o: \
	USERLIB_GLOBAL := $(USERLIB_KEEP) $(USERLIB_KEEP_EXPORTS)
$(USERLIB_OBJ)/pcce_before.o: USERLIB_STRONG := $(USERLIB_SANITIZED)
$(USERLIB_OBJ)/pcce_dso.o: $(USERLIB_DSO)
$(USERLIB_OBJ)/pcce_dso.o: USERLIB_GLOBAL := --keep-global-symbol=__pcce_push \
	--keep-global-symbol=__pcce_restore
$(USERLIB_OBJ)/pcce_jump.o: $(USERLIB_JUMP)
$(USERLIB_OBJ)/pcce_jump.o: USERLIB_GLOBAL := --keep-global-symbol=__pcce_jump \
	--keep-global-symbol=__wrap_dlsym \
	$(USERLIB_KEEP_EXPORTS)
$(USERLIB_OBJ)/pcce_context.o: $(USERLIB_CONTEXT)
$(USERLIB_OBJ)/pcce_context.o: USERLIB_GLOBAL := $(USERLIB_KEEP_EXPORTS)
$(USERLIB_OBJ)/pcce_landing.o: $(USERLIB_LANDING)
$(USERLIB_OBJ)/pcce_landing.o: USERLIB_GLOBAL := --keep-global-symbol=__wrap__Unwind_SetIP

USERLIB_RELOCATABLE := $(USERLIB_ARCHIVES:$(LIBDIR)/lib%.a=$(USERLIB_OBJ)/%.o)
$(USERLIB_RELOCATABLE): $(USERLIB_DIR)/libpcce.exports $(USERLIB_DIR)/build.mk
	$(call say,LD -r,$@)
	$(Q)$(CC) -nostdlib -r -o $@ $(filter %.o,$^)
	$(Q)objcopy $(USERLIB_GLOBAL) \
		$(addprefix --weaken-symbol=,$(filter-out $(USERLIB_STRONG),$(USERLIB_REPLACED))) $@

$(USERLIB_ARCHIVES): $(LIBDIR)/lib%.a: $(USERLIB_OBJ)/%.o
	@mkdir -p $(@D)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcsD $@ $<

$(LIBDIR)/libpcce.so.0: $(USERLIB_LINK) $(USERLIB_DIR)/libpcce.map
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -shared -Wl,-soname,libpcce.so.0 \
		-Wl,--version-script=$(USERLIB_DIR)/libpcce.map -Wl,-z,relro,-z,now \
		-Wl,-z,defs -Wl,-z,nodelete -o $@ $(USERLIB_LINK)

$(LIBDIR)/libpcce.so: $(LIBDIR)/libpcce.so.0
	$(Q)ln -sf libpcce.so.0 $@

$(LIBDIR)/libpcce.exports: $(USERLIB_DIR)/libpcce.exports
	@mkdir -p $(@D)
	$(Q)cp $< $@

$(LIBDIR)/libpcce-verify.so: $(call userlib_objects,self/verify base/linker_object)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -shared -Wl,-soname,libpcce-verify.so -Wl,-z,defs,-z,now -o $@ $^ \
		-Wl,--push-state,--no-as-needed -lgcc_s -lunwind -lc -Wl,--pop-state

# Its functions are the program's, so their return addresses count.
$(USERLIB_OBJ)/malloc/hooks.o: USERLIB_CFLAGS += -O2 -fno-optimize-sibling-calls -fno-builtin
$(USERLIB_OBJ)/malloc/live.o $(USERLIB_OBJ)/malloc/ledger.o: USERLIB_CFLAGS += -O2

$(LIBDIR)/libpcce-malloc.so: $(call userlib_objects,malloc/hooks malloc/poisson malloc/live \
		malloc/ledger)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -shared -Wl,-soname,libpcce-malloc.so -Wl,-z,now -o $@ $^

# The counting engine of pcce-record --count: no part of the runtime, but bytes that pcce-record
# contains.  It is moved to any address, so it must not need relocation.
COUNT_CFLAGS := $(filter-out -fasynchronous-unwind-tables -fcf-protection,$(USERLIB_CFLAGS)) \
	-O2 -mgeneral-regs-only -ffreestanding -fcf-protection=none \
	-fno-asynchronous-unwind-tables -fno-builtin -fno-tree-loop-distribute-patterns \
	-fomit-frame-pointer -ffixed-r11 -ffixed-rbp

COUNT_OBJ := $(addprefix $(USERLIB_OBJ)/count/,adaptive.o head.o engine.o fast.o hot.o latency.o \
	latency_entry.o lossy.o \
	modules.o stack.o)
$(COUNT_OBJ): USERLIB_CFLAGS := $(COUNT_CFLAGS)
$(USERLIB_OBJ)/count/engine.elf: $(COUNT_OBJ) $(USERLIB_DIR)/count/engine.lds
	$(call say,LD,$@)
	$(Q)$(CC) -nostdlib -static -Wl,--build-id=none \
		-Wl,-T,$(USERLIB_DIR)/count/engine.lds -Wl,-z,noexecstack -o $@ $(COUNT_OBJ)

$(O)/obj/count_engine.bin: $(USERLIB_OBJ)/count/engine.elf
	$(Q)objcopy -O binary $< $@

-include $(wildcard $(USERLIB_OBJ)/*/*.d)
