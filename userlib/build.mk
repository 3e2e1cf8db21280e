# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The runtime library.  Included by the top Makefile, which gives O, LIBDIR, CC, AR and the flags.
#
#   libpcce.a          for executables of any kind (static, PIE or not). One relocatable object, so that its
#                      code is one range of addresses and all of it is there or nothing; all names but
#                      those of libpcce.map are local in it, so they cannot clash with the program's.  An
#                      executable must be linked with
#                          -u __pcce_push LIBDIR/libpcce.a
#                      before the C library, and, unless it is static, must export the names in
#                      libpcce.exports (--export-dynamic-symbol=NAME or a dynamic list), so that shared
#                      libraries, now or by dlopen(), use its page.
#   libpcce_jump.a     for executables that are not static: setjmp, longjmp, getcontext and their kin.  Linked with -u __pcce_jump.
#   libpcce_context.a  getcontext and its kin for static executables: linked if they use one of them.
#   libpcce_landing.a  exceptions that land in uninstrumented code, for static executables.  Linked with -u __wrap__Unwind_SetIP --wrap=_Unwind_SetIP
#                      (dynamic ones have it in libpcce_jump.a).
#   libpcce_dso.a      push and pop for one shared library, which must be linked with
#                          -u __pcce_push LIBDIR/libpcce_dso.a -lpcce
#   libpcce.so.0       the same runtime for shared libraries whose executable has none; idle if it has one.
#   libpcce-verify.so  the unwinder of pcce-record --verify.
#
# -mgeneral-regs-only where code runs inside a push; no stack protector, since code runs before a thread
# is set up; no splitting of functions into hot, cold and start-up sections, so that the code stays in one piece.

USERLIB_DIR := userlib
USERLIB_OBJ := $(O)/obj/userlib
USERLIB_C   := segments restore_far stack_state stack_switch thread_page registry origin interpose_thread main_exit interpose_signal interpose_handler interpose_dl interpose_prctl self_sampler self_ring self_maps
USERLIB_CFLAGS := -std=gnu11 -D_GNU_SOURCE -O2 -g -fPIC -fvisibility=hidden -fno-stack-protector -fcf-protection \
	-fno-reorder-functions -fno-reorder-blocks-and-partition -fno-exceptions -fasynchronous-unwind-tables \
	-fno-lto -U_FORTIFY_SOURCE

USERLIB_TARGETS := $(LIBDIR)/libpcce.a $(LIBDIR)/libpcce_jump.a $(LIBDIR)/libpcce_context.a $(LIBDIR)/libpcce_landing.a $(LIBDIR)/libpcce_dso.a $(LIBDIR)/libpcce.so.0 $(LIBDIR)/libpcce.so \
	$(LIBDIR)/libpcce.exports $(LIBDIR)/libpcce-verify.so

$(USERLIB_OBJ)/%.o: $(USERLIB_DIR)/%.c $(O)/obj/.flags
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(USERLIB_CFLAGS) $(WARN) -Iinclude $(DEPFLAGS) -c -o $@ $<

$(USERLIB_OBJ)/segments.o $(USERLIB_OBJ)/restore_far.o $(USERLIB_OBJ)/stack_state.o $(USERLIB_OBJ)/stack_switch.o $(USERLIB_OBJ)/interpose_jump.o $(USERLIB_OBJ)/contexts.o \
	$(USERLIB_OBJ)/contexts-static.o $(USERLIB_OBJ)/site.o: USERLIB_CFLAGS += -mgeneral-regs-only
$(USERLIB_OBJ)/restore_far.o: USERLIB_CFLAGS += -fno-toplevel-reorder

$(USERLIB_OBJ)/%-static.o: $(USERLIB_DIR)/%.c $(O)/obj/.flags
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(USERLIB_CFLAGS) $(WARN) -DPCCE_STATIC -Iinclude $(DEPFLAGS) -c -o $@ $<

$(USERLIB_OBJ)/%.o: $(USERLIB_DIR)/%.S $(O)/obj/.flags
	@mkdir -p $(@D)
	$(call say,AS,$@)
	$(Q)$(CC) -fPIC -fcf-protection -g $(DEPFLAGS) -c -o $@ $<

USERLIB_KEEP := --keep-global-symbol=__pcce_push --keep-global-symbol=__pcce_restore \
	--keep-global-symbol=__pcce_segment_room --keep-global-symbol=__pcce_segment_return --keep-global-symbol=__pcce_segment_lost \
	--keep-global-symbol=__pcce_stack_keep --keep-global-symbol=__pcce_stack_load --keep-global-symbol=__pcce_stack_empty \
	--keep-global-symbol=__pcce_stack_free_area \
	--keep-global-symbol=pcce_active \
	--keep-global-symbol=__pcce_signal_entry \
	--keep-global-symbols=$(USERLIB_DIR)/libpcce.exports
# For executables, which define the page themselves (page_offset.h).
$(USERLIB_OBJ)/%-exec.o: $(USERLIB_DIR)/%.S $(O)/obj/.flags
	@mkdir -p $(@D)
	$(call say,AS,$@)
	$(Q)$(CC) -fPIC -fcf-protection -g -DPCCE_EXEC $(DEPFLAGS) -c -o $@ $<

USERLIB_LINK := $(USERLIB_OBJ)/pushpop.o $(USERLIB_OBJ)/leaf_entry.o $(USERLIB_OBJ)/signal_entry.o $(USERLIB_OBJ)/vfork.o $(USERLIB_OBJ)/thread_body.o $(USERLIB_OBJ)/main_stub.o $(USERLIB_OBJ)/jump_stubs.o $(USERLIB_OBJ)/interpose_jump.o $(USERLIB_OBJ)/context_stubs.o $(USERLIB_OBJ)/contexts.o $(USERLIB_OBJ)/landing_stubs.o $(USERLIB_OBJ)/landing.o $(USERLIB_OBJ)/site.o $(USERLIB_C:%=$(USERLIB_OBJ)/%.o) $(USERLIB_OBJ)/text_end.o
USERLIB_EXEC := $(USERLIB_OBJ)/pushpop-exec.o $(USERLIB_OBJ)/leaf_entry-exec.o $(USERLIB_OBJ)/signal_entry-exec.o $(USERLIB_OBJ)/vfork-exec.o $(USERLIB_OBJ)/thread_body-exec.o $(USERLIB_OBJ)/main_stub-exec.o $(USERLIB_C:%=$(USERLIB_OBJ)/%.o) $(USERLIB_OBJ)/text_end.o

$(USERLIB_OBJ)/pcce.o: $(USERLIB_EXEC) $(USERLIB_DIR)/libpcce.exports $(USERLIB_DIR)/build.mk
	$(call say,LD -r,$@)
	$(Q)$(CC) -nostdlib -r -o $@ $(USERLIB_EXEC)
	$(Q)objcopy $(USERLIB_KEEP) $@

$(USERLIB_OBJ)/pcce_dso.o: $(USERLIB_OBJ)/pushpop.o $(USERLIB_OBJ)/leaf_entry.o $(USERLIB_OBJ)/segments.o $(USERLIB_OBJ)/restore_far.o $(USERLIB_OBJ)/text_end.o $(USERLIB_DIR)/build.mk
	$(call say,LD -r,$@)
	$(Q)$(CC) -nostdlib -r -o $@ $(filter %.o,$^)
	$(Q)objcopy --keep-global-symbol=__pcce_push --keep-global-symbol=__pcce_restore $@

$(USERLIB_OBJ)/pcce_jump.o: $(USERLIB_OBJ)/jump_stubs-exec.o $(USERLIB_OBJ)/interpose_jump.o $(USERLIB_OBJ)/context_stubs-exec.o $(USERLIB_OBJ)/contexts.o $(USERLIB_OBJ)/landing_stubs-exec.o $(USERLIB_OBJ)/landing.o $(USERLIB_OBJ)/site.o $(USERLIB_DIR)/libpcce.exports $(USERLIB_DIR)/build.mk
	$(call say,LD -r,$@)
	$(Q)$(CC) -nostdlib -r -o $@ $(filter %.o,$^)
	$(Q)objcopy --keep-global-symbol=__pcce_jump --keep-global-symbols=$(USERLIB_DIR)/libpcce.exports $@

$(USERLIB_OBJ)/pcce_context.o: $(USERLIB_OBJ)/context_stubs-exec.o $(USERLIB_OBJ)/contexts-static.o $(USERLIB_OBJ)/site.o $(USERLIB_DIR)/libpcce.exports $(USERLIB_DIR)/build.mk
	$(call say,LD -r,$@)
	$(Q)$(CC) -nostdlib -r -o $@ $(filter %.o,$^)
	$(Q)objcopy --keep-global-symbols=$(USERLIB_DIR)/libpcce.exports $@

$(USERLIB_OBJ)/pcce_landing.o: $(USERLIB_OBJ)/landing_stubs-exec.o $(USERLIB_OBJ)/landing-static.o $(USERLIB_OBJ)/site.o $(USERLIB_DIR)/build.mk
	$(call say,LD -r,$@)
	$(Q)$(CC) -nostdlib -r -o $@ $(filter %.o,$^)
	$(Q)objcopy --keep-global-symbol=__wrap__Unwind_SetIP $@

$(LIBDIR)/libpcce.a: $(USERLIB_OBJ)/pcce.o
$(LIBDIR)/libpcce_dso.a: $(USERLIB_OBJ)/pcce_dso.o
$(LIBDIR)/libpcce_jump.a: $(USERLIB_OBJ)/pcce_jump.o
$(LIBDIR)/libpcce_context.a: $(USERLIB_OBJ)/pcce_context.o
$(LIBDIR)/libpcce_landing.a: $(USERLIB_OBJ)/pcce_landing.o
$(LIBDIR)/libpcce.a $(LIBDIR)/libpcce_dso.a $(LIBDIR)/libpcce_jump.a $(LIBDIR)/libpcce_context.a $(LIBDIR)/libpcce_landing.a:
	@mkdir -p $(@D)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcsD $@ $<

$(LIBDIR)/libpcce.so.0: $(USERLIB_LINK) $(USERLIB_DIR)/libpcce.map
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -shared -Wl,-soname,libpcce.so.0 -Wl,--version-script=$(USERLIB_DIR)/libpcce.map -Wl,-z,relro,-z,now \
		-Wl,-z,defs -Wl,-z,nodelete -o $@ $(USERLIB_LINK)

$(LIBDIR)/libpcce.so: $(LIBDIR)/libpcce.so.0
	$(Q)ln -sf libpcce.so.0 $@

$(LIBDIR)/libpcce.exports: $(USERLIB_DIR)/libpcce.exports
	@mkdir -p $(@D)
	$(Q)cp $< $@

$(LIBDIR)/libpcce-verify.so: $(USERLIB_DIR)/verify.c $(O)/obj/.flags
	@mkdir -p $(@D) $(USERLIB_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(USERLIB_CFLAGS) $(WARN) -Iinclude -MMD -MP -MF $(USERLIB_OBJ)/verify.d -shared -Wl,-soname,libpcce-verify.so \
		-Wl,-z,defs -o $@ $< -lunwind

-include $(wildcard $(USERLIB_OBJ)/*.d)
