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
#
# -mgeneral-regs-only only for files whose code runs inside a push.  No stack protector, since code
# runs before a thread is set up.  No PLT: a function that is bound when it is first called takes
# more than a KiB of the caller's stack, which may be small.  Functions are not split into hot, cold
# and start-up sections, so the code stays in one piece.

USERLIB_DIR := userlib
USERLIB_OBJ := $(O)/obj/userlib

# C files of every executable's runtime.
USERLIB_C := segments restore_far stack_state stack_switch page thread_page registry origin \
	interpose_thread main_exit interpose_signal interpose_handler interpose_sysv \
	interpose_prctl interpose_fork interpose_clone confined redirect unknown self_sampler \
	self_state self_signal self_altstack self_source self_sample self_modules self_ring \
	local_libc linker_object context_capture context_id context_modules context_set \
	context_test context_words dictionary crash crash_stack quiet_write
# Assembly files of every executable's runtime, in front of the C files.
USERLIB_S := pushpop leaf_entry signal_entry sampling_entry syscall_stub vfork clone \
	thread_body main_stub
# Code that runs inside a push, or between two steps of a change of the encoding stack.
USERLIB_GENERAL_REGS := segments restore_far unknown stack_state stack_switch interpose_jump \
	contexts contexts-static site

# Code that runs seldom is compiled for size, since all of it is in every program.  self_modules is
# not: GCC would call memcmp there instead of comparing in place.
USERLIB_SIZE := page thread_page registry origin interpose_thread main_exit interpose_signal \
	interpose_handler interpose_sysv interpose_prctl interpose_fork interpose_clone \
	interpose_timer redirect confined self_sampler self_state self_altstack self_source \
	context_set dictionary crash crash_stack quiet_write

USERLIB_CFLAGS := -std=gnu11 -D_GNU_SOURCE -O2 -g -fPIC -fvisibility=hidden \
	-fno-stack-protector -fcf-protection -fno-reorder-functions \
	-fno-reorder-blocks-and-partition -fno-exceptions -fasynchronous-unwind-tables \
	-fno-lto -fno-plt -U_FORTIFY_SOURCE
USERLIB_ASFLAGS := -fPIC -fcf-protection -g

USERLIB_ARCHIVES := $(LIBDIR)/libpcce.a $(LIBDIR)/libpcce_before.a $(LIBDIR)/libpcce_jump.a \
	$(LIBDIR)/libpcce_context.a $(LIBDIR)/libpcce_landing.a $(LIBDIR)/libpcce_dso.a
USERLIB_TARGETS := $(USERLIB_ARCHIVES) $(LIBDIR)/libpcce.so.0 $(LIBDIR)/libpcce.so \
	$(LIBDIR)/libpcce.exports $(LIBDIR)/libpcce-verify.so

$(USERLIB_GENERAL_REGS:%=$(USERLIB_OBJ)/%.o): USERLIB_CFLAGS += -mgeneral-regs-only
$(USERLIB_OBJ)/restore_far.o: USERLIB_CFLAGS += -fno-toplevel-reorder
$(USERLIB_SIZE:%=$(USERLIB_OBJ)/%.o): USERLIB_CFLAGS += -Os
# Its loops must not become calls of the function that they implement.
$(USERLIB_OBJ)/local_libc.o $(USERLIB_OBJ)/own_next.o: \
	USERLIB_CFLAGS += -fno-builtin -fno-tree-loop-distribute-patterns

$(USERLIB_OBJ)/%.o: $(USERLIB_DIR)/%.c $(O)/obj/.flags
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(USERLIB_CFLAGS) $(WARN) -Iinclude $(DEPFLAGS) -c -o $@ $<

# For static executables.
$(USERLIB_OBJ)/%-static.o: $(USERLIB_DIR)/%.c $(O)/obj/.flags
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(USERLIB_CFLAGS) $(WARN) -DPCCE_STATIC -Iinclude $(DEPFLAGS) -c -o $@ $<

$(USERLIB_OBJ)/%.o: $(USERLIB_DIR)/%.S $(O)/obj/.flags
	@mkdir -p $(@D)
	$(call say,AS,$@)
	$(Q)$(CC) $(USERLIB_ASFLAGS) $(DEPFLAGS) -c -o $@ $<

# For executables, which define the page themselves (page_offset.h).
$(USERLIB_OBJ)/%-exec.o: $(USERLIB_DIR)/%.S $(O)/obj/.flags
	@mkdir -p $(@D)
	$(call say,AS,$@)
	$(Q)$(CC) $(USERLIB_ASFLAGS) -DPCCE_EXEC $(DEPFLAGS) -c -o $@ $<

# What each archive's object holds.  text_end is last: the runtime's code ends there.
userlib_objects = $(1:%=$(USERLIB_OBJ)/%.o)
USERLIB_EXEC := $(call userlib_objects,$(USERLIB_S:%=%-exec) $(USERLIB_C) encoding_note \
	text_end)
USERLIB_DSO := $(call userlib_objects,pushpop leaf_entry segments restore_far unknown \
	encoding_note text_end)
USERLIB_JUMP := $(call userlib_objects,jump_stubs-exec interpose_jump context_stubs-exec \
	contexts landing_stubs-exec landing landing_pending site interpose_timer own_next)
USERLIB_CONTEXT := $(call userlib_objects,context_stubs-exec contexts-static site)
USERLIB_LANDING := $(call userlib_objects,landing_stubs-exec landing-static landing_pending site)
USERLIB_LINK := $(call userlib_objects,$(USERLIB_S) adopt_page jump_stubs interpose_jump \
	context_stubs contexts landing_stubs landing landing_pending site interpose_timer \
	$(USERLIB_C) text_end)

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

$(LIBDIR)/libpcce-verify.so: $(USERLIB_DIR)/verify.c $(USERLIB_OBJ)/linker_object.o \
		$(O)/obj/.flags
	@mkdir -p $(@D) $(USERLIB_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(USERLIB_CFLAGS) $(WARN) -Iinclude -MMD -MP -MF $(USERLIB_OBJ)/verify.d -shared \
		-Wl,-soname,libpcce-verify.so -Wl,-z,defs,-z,now -o $@ $(filter %.c %.o,$^) \
		-Wl,--push-state,--no-as-needed -lgcc_s -lunwind -lc -Wl,--pop-state

# The counting engine of pcce-record --count: no part of the runtime, but bytes that pcce-record
# contains.  It is moved to any address, so it must not need relocation.
COUNT_CFLAGS := $(filter-out -fasynchronous-unwind-tables -fcf-protection,$(USERLIB_CFLAGS)) \
	-mgeneral-regs-only -ffreestanding -fcf-protection=none -fno-asynchronous-unwind-tables \
	-fno-builtin -fno-tree-loop-distribute-patterns -fomit-frame-pointer -ffixed-r11 -ffixed-rbp

COUNT_OBJ := $(addprefix $(USERLIB_OBJ)/,count_adaptive.o count_head.o count_engine.o \
	count_fast.o count_hot.o count_lossy.o count_modules.o count_stack.o)
$(COUNT_OBJ): USERLIB_CFLAGS := $(COUNT_CFLAGS)
$(USERLIB_OBJ)/count_engine.elf: $(COUNT_OBJ) $(USERLIB_DIR)/count_engine.lds
	$(call say,LD,$@)
	$(Q)$(CC) -nostdlib -static -Wl,--build-id=none \
		-Wl,-T,$(USERLIB_DIR)/count_engine.lds -Wl,-z,noexecstack -o $@ $(COUNT_OBJ)

$(O)/obj/count_engine.bin: $(USERLIB_OBJ)/count_engine.elf
	$(Q)objcopy -O binary $< $@

-include $(wildcard $(USERLIB_OBJ)/*.d)
