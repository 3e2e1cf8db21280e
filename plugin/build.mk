# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Builds the GCC plugin, once for each compiler of GCCS.  The top Makefile includes this file.
#
#   $(LIBDIR)/pcce_plugin.so          from plugin/dispatch/dispatch.c: loads one of the others
#   $(LIBDIR)/gcc-N/pcce_plugin.so    from plugin/*.c, for the GCC whose major version is N
#
# GCCS on the command line is the whole list, and other plugins are removed from the build.  Without
# it, the list is CC and the compilers whose plugins the build already has.  So an installation
# after `make GCCS=all` has all of them, and a plain `make` keeps all of them up to date.

# The range of supported versions.  scripts/gcc-ok reads it here.
GCC_FIRST := 11
GCC_LAST  := 16

PLUGIN_OBJ := $(O)/obj/plugin
EMPTY      :=
SPACE      := $(EMPTY) $(EMPTY)
ifeq ($(origin GCCS),undefined)
GCCS  := $(subst $(SPACE),^,$(CC))
KNOWN := $(shell cat $(PLUGIN_OBJ)/gcc-*/compiler 2>/dev/null)
else
override GCCS := $(if $(filter all,$(GCCS)),$(shell scripts/gcc-ok --all),$(GCCS))
endif
# Words MAJOR|COMPILER|C++ COMPILER|DIRECTORY OF HEADERS, one for each major version.
GCC_WORDS  := $(shell CC='$(CC)' CXX='$(CXX)' scripts/gcc-ok --describe $(GCCS) $(KNOWN))
word_of     = $(word $(1),$(subst |, ,$(2)))
GCC_MAJORS := $(foreach w,$(GCC_WORDS),$(call word_of,1,$(w)))

DISPATCH   := $(LIBDIR)/pcce_plugin.so
PLUGINS    := $(GCC_MAJORS:%=$(LIBDIR)/gcc-%/pcce_plugin.so)
PLUGIN_SRC := $(wildcard plugin/*.c)

PLUGIN_RANGE   := -DPCCE_GCC_FIRST=$(GCC_FIRST) -DPCCE_GCC_LAST=$(GCC_LAST)
PLUGIN_FLAGS   := -std=gnu++17 $(WARN) -O2 -g -fPIC -fno-rtti -fno-exceptions $(PLUGIN_RANGE)
DISPATCH_FLAGS := -std=gnu11 $(WARN) -O2 -g -fPIC -fvisibility=hidden $(PLUGIN_RANGE)

.PHONY: plugin gcc-ok

plugin: gcc-ok $(DISPATCH) $(PLUGINS)           ## the GCC plugin, for each compiler of GCCS

gcc-ok:
	@scripts/gcc-ok $(GCCS)
	@for d in $(LIBDIR)/gcc-* $(PLUGIN_OBJ)/gcc-*; do \
		case ' $(GCC_MAJORS) ' in *" $${d##*/gcc-} "*) ;; *) rm -rf "$$d";; esac; done

# plugin_rules MAJOR,COMPILER,C++ COMPILER,DIRECTORY OF HEADERS
define plugin_rules
$(PLUGIN_OBJ)/gcc-$(1)/%.o: plugin/%.c $(PLUGIN_OBJ)/gcc-$(1)/flags | gcc-ok
	$$(call say,CXX,$$@)
	$$(Q)$(subst ^, ,$(3)) $$(PLUGIN_FLAGS) -isystem $(4) $$(CPPFLAGS_ALL) $$(DEPFLAGS) \
		-x c++ -c $$< -o $$@

$(PLUGIN_OBJ)/gcc-$(1)/flags: FORCE | gcc-ok
	@mkdir -p $$(@D)
	@echo '$(2)' > $$(@D)/compiler
	@echo '$(3) $(4)' '$$(subst ','\'',$$(PLUGIN_FLAGS) $$(CPPFLAGS_ALL))' \
		"$$$$($(subst ^, ,$(2)) -dumpfullversion)" \
		"$$$$(cksum < $(4)/plugin-version.h)" > $$@.tmp
	@cmp -s $$@.tmp $$@ || mv $$@.tmp $$@

$(LIBDIR)/gcc-$(1)/pcce_plugin.so: $(PLUGIN_SRC:plugin/%.c=$(PLUGIN_OBJ)/gcc-$(1)/%.o)
	$$(call say,LINK,$$@)
	@mkdir -p $$(@D)
	$$(Q)$(subst ^, ,$(3)) -shared -o $$@.tmp $$^ && mv -f $$@.tmp $$@
endef
$(foreach w,$(GCC_WORDS),$(eval $(call plugin_rules,$(call word_of,1,$(w)),$(call \
	word_of,2,$(w)),$(call word_of,3,$(w)),$(call word_of,4,$(w)))))

# What pcce-gcc and pcce-g++ run: CC and CXX if they have a plugin, or else the first pair that has.
CC_MAJOR    := $(call word_of,1,$(shell CC='$(CC)' scripts/gcc-ok --describe $(subst \
	$(SPACE),^,$(CC))))
FIRST_GCC   := $(if $(filter $(CC_MAJOR),$(GCC_MAJORS)),,$(firstword $(GCC_WORDS)))
DEFAULT_CC  := $(if $(FIRST_GCC),$(subst ^, ,$(call word_of,2,$(FIRST_GCC))),$(CC))
DEFAULT_CXX := $(if $(FIRST_GCC),$(subst ^, ,$(call word_of,3,$(FIRST_GCC))),$(CXX))

# A compiler cache knows only the file of -fplugin= or the wrapper of the compiler, so both contain
# a hash of all plugins.
PLUGINS_HASH = -DPCCE_PLUGINS_HASH="\"$$(cat $(sort $(PLUGINS)) | sha256sum)\""

$(O)/obj/tools/pcce-gcc.o: $(PLUGINS) plugin/build.mk
$(O)/obj/tools/pcce-gcc.o: private CPPFLAGS_ALL += $(PLUGINS_HASH) \
	-DPCCE_DEFAULT_CC='"$(DEFAULT_CC)"' -DPCCE_DEFAULT_CXX='"$(DEFAULT_CXX)"'

$(PLUGIN_OBJ)/dispatch.o: plugin/dispatch/dispatch.c $(PLUGINS) plugin/build.mk $(O)/obj/.flags
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(DISPATCH_FLAGS) $(PLUGINS_HASH) -c $< -o $@

$(DISPATCH): $(PLUGIN_OBJ)/dispatch.o
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -shared -Wl,-z,relro,-z,now -o $@.tmp $^ -ldl && mv -f $@.tmp $@
