# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Builds pcce: one non-recursive makefile, in parts.  `make help` lists the targets.
#
#   Makefile            the BPF program, the libraries and the tools
#   plugin/build.mk     the plugin, for each compiler
#   userlib/build.mk    the runtime library
#   mk/decode.mk        libpcce-decode.so.0, for other programs
#   mk/install.mk       installation, DKMS, Debian packages
#   mk/check.mk         tests and fuzzers
#   mk/bench.mk         benchmarks
#
#   O=DIR      put all output into DIR (default: build)
#   V=1        show commands
#   DEBUG=1    tools and tests without optimisation
#   SAN=1      tools and unit tests with AddressSanitizer and UBSan
#   RESTORE=1  pcce-record --frames unwinds less, by a patented method: see COPYING
#   WERROR=    do not treat warnings as errors
#   CC=gcc-11  the compiler
#   GCCS=LIST  the compilers that get a plugin, or all: GCCS="gcc-12 gcc-14" (default: CC)
#
# The output looks like an installed tree. Everything in it finds its parts relative to its own
# place, so $(O)/bin/pcce-record works without installation:
#
#   $(O)/bin/pcce*                  from tools/pcce.c, tools/pcce-*.c, tools/pcce-*.in
#   $(O)/lib/pcce/pcce_plugin.so    from plugin/dispatch/, chooses one of gcc-*/
#   $(O)/lib/pcce/gcc-N/pcce_plugin.so    from plugin/*.c, for GCC N
#   $(O)/lib/pcce/libpcce*          from userlib/
#   $(O)/lib/libpcce-decode.so*     from lib/
#   $(O)/lib/pcce/*.{specs,flags}   from tools/*.{specs,flags}.in
#   $(O)/lib/pcce/ld/ld{,.bfd,...}  from tools/pcce-ld.c
#   $(O)/lib/{pkgconfig,cmake}/     from tools/*.pc.in, tools/cmake/
#   $(O)/share/meson/native/pcce    from tools/pcce.meson.in
#   $(O)/kmod/pcce_sampler.ko       from kmod/*.c, Kbuild
#   $(O)/obj/                       objects, libpcce-tools.a (from lib/), sampler.skel.h
#   $(O)/tests/                     unit tests, the single-stepper and its helper
#
# In *.in files these words are replaced: @VERSION@ @CC@ @LIBDIR@ (directory of
# pcce_plugin.so, absolute) @BINDIR@ (directory of pcce-encode, absolute) @INCLUDEDIR@.
# `make install` replaces them again, with the directories under PREFIX.

MAKEFLAGS += --no-builtin-rules --no-builtin-variables
.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:
.DEFAULT_GOAL := all

O       ?= build
# One name for the directory, however it is spelled: dependency files know it by one.
override O := $(patsubst $(CURDIR)/%,%,$(O:/=))
PREFIX  ?= /usr/local
VERSION := $(shell cat VERSION)

ifeq ($(filter-out undefined default,$(origin CC)),)
CC := gcc
endif
ifeq ($(filter-out undefined default,$(origin CXX)),)
CXX := $(subst gcc,g++,$(CC))
endif
ifeq ($(filter-out undefined default,$(origin AR)),)
AR := ar
endif
CLANG        ?= clang
CLANG_FORMAT ?= clang-format
# Debian puts bpftool into /usr/sbin, which is not on every user's PATH.
BPFTOOL      ?= $(firstword $(shell PATH="$$PATH:/usr/sbin:/sbin" command -v bpftool) bpftool)
INSTALL      ?= install
PROTOC       ?= protoc
export CC CXX AR O

V ?= 0
ifeq ($(V),0)
Q   := @
say  = @printf '  %-8s %s\n' $(1) '$(2)'
else
Q   :=
say  = @:
endif

# ---- flags ---------------------------------------------------------------------------------

WERROR   ?= -Werror
WARN     := -Wall -Wextra $(WERROR)
ifeq ($(DEBUG),1)
CFLAGS   ?= -O0 -g3
else
CFLAGS   ?= -O2 -g
endif
ifeq ($(SAN),1)
SANFLAGS := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
endif
CPPFLAGS_ALL := -Iinclude -Ilib -I. -I$(O)/obj -DPCCE_VERSION='"$(VERSION)"' $(CPPFLAGS)
CFLAGS_TOOLS := -std=gnu11 -D_GNU_SOURCE= $(WARN) $(CFLAGS) $(SANFLAGS) -pthread
LIBS_TOOLS   := -Wl,--as-needed -ldw -lelf -lbpf -lz -ldeflate -larchive -lprotobuf-c \
	-ljansson -lcapstone -lcurl -lmd -lurcu-bp -liberty -lncursesw -ltinfo -lm

MULTIARCH  = $(shell $(CC) -print-multiarch 2>/dev/null)
DEPFLAGS   = -MMD -MP -MF $@.d

# ---- what is built -------------------------------------------------------------------------

LIB_SRC    := $(wildcard lib/*/*.c)
PROTO_SRC  := $(wildcard lib/format/*.proto)
CMD_SRC    := $(filter-out tools/pcce-ld.c,$(wildcard tools/pcce.c tools/pcced.c tools/pcce-*.c))
BIN_IN     := $(filter-out %.pc.in,$(wildcard tools/pcce-*.in))
SPECS_IN   := $(wildcard tools/*.specs.in tools/*.flags.in)
PC_IN      := $(wildcard tools/*.pc.in)
CMAKE_SRC  := $(wildcard tools/cmake/*.cmake)
CMAKE_IN   := $(wildcard tools/cmake/*.cmake.in)

LIBDIR     := $(O)/lib/pcce
TOOLLIB    := $(O)/obj/libpcce-tools.a
CMDS       := $(CMD_SRC:tools/%.c=$(O)/bin/%)
CMD_LINKS  := $(addprefix $(O)/bin/pcce-,g++ gcc-ar gcc-ranlib)
SCRIPTS    := $(BIN_IN:tools/%.in=$(O)/bin/%)
SPECS      := $(SPECS_IN:tools/%.in=$(LIBDIR)/%)
LDS        := $(addprefix $(LIBDIR)/ld/,ld ld.bfd ld.gold ld.lld ld.mold)
SKELS      := $(O)/obj/sampler.skel.h
PROTOS     := $(PROTO_SRC:lib/format/%.proto=$(O)/obj/%.pb-c.h)
FLAGS_FOR  := $(PC_IN:tools/%.in=$(O)/lib/pkgconfig/%) \
	$(CMAKE_SRC:tools/cmake/%=$(O)/lib/cmake/Pcce/%) \
	$(CMAKE_IN:tools/cmake/%.in=$(O)/lib/cmake/Pcce/%) $(O)/share/meson/native/pcce

.PHONY: all userlib tools bpf kmod specs ld flags setup demo pictures chdb style \
	clean help FORCE

all: plugin userlib tools bpf specs ld flags    ## build everything (default)
tools: $(CMDS) $(CMD_LINKS) $(SCRIPTS)          ## the commands
bpf: $(SKELS)                                   ## the BPF program and its skeleton
specs: $(SPECS)                                 ## GCC specs, and a file of link flags
ld: $(LDS)                                      ## linker wrappers that encode
flags: $(FLAGS_FOR)                             ## files for pkg-config, CMake and meson

include plugin/build.mk
# Sets USERLIB_TARGETS, files in $(LIBDIR), and gives their rules.
include userlib/build.mk
userlib: $(USERLIB_TARGETS)                     ## the runtime library
include mk/decode.mk

chdb:                                           ## fetch ClickHouse as a library (560 MB)
	$(Q)scripts/fetch-chdb

compile_commands.json: FORCE                    # for clangd, with the flags of each file
	$(Q)$(MAKE) --no-print-directory -nB V=1 all units | scripts/compile-commands >$@

help:                                           ## this list
	@echo 'targets:'
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/\1\t\2/p' Makefile plugin/build.mk mk/*.mk | \
		awk -F'\t' '{ printf "  %-14s %s\n", $$1, $$2 }'
	@echo 'variables:'
	@sed -n '/^# *[A-Z]*=[^ ]* /s/^# */  /p' Makefile
	@echo '  PREFIX=DIR DESTDIR=DIR  for install and uninstall (PREFIX: $(PREFIX))'

# A change of flags, of the compiler or of the version rebuilds what depends on it.
FLAGS_NOW = $(if $(filter 1,$(RESTORE)),RESTORE) $(CC) $(CXX) $(CLANG) $(VERSION) \
	$(CPPFLAGS_ALL) $(CFLAGS_TOOLS) $(LDFLAGS) $(shell $(CC) -dumpfullversion 2>/dev/null)
$(O)/obj/.flags: FORCE
	@mkdir -p $(@D)
	@touch $(O)/.pcce-build
	@printf '%s\n' '$(subst ','\'',$(FLAGS_NOW))' | cmp -s - $@ || \
		printf '%s\n' '$(subst ','\'',$(FLAGS_NOW))' > $@

# ---- in the kernel -------------------------------------------------------------------------

# In a directory of its own, since the kernel's build writes beside the sources.
kmod:                                           ## the kernel module (KDIR=DIR; W=1 C=2: checks)
	$(call say,KMOD,$(O)/kmod/pcce_sampler.ko)
	$(Q)scripts/build-kmod $(O)/kmod $(if $(KDIR),KDIR=$(KDIR)) $(if $(W),W=$(W)) \
		$(if $(C),C=$(C)) V=$(V)

BPF_FLAGS = -target bpf -D__TARGET_ARCH_x86 -O2 -g -Wall $(WERROR) -Iinclude -I. -I$(O)/obj \
	-idirafter /usr/include/$(MULTIARCH)

$(O)/obj/%.bpf.o: bpf/%.bpf.c $(O)/obj/.flags
	$(call say,BPF,$<)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_FLAGS) $(DEPFLAGS) -MT $@ -c $< -o $@.raw
	$(Q)$(BPFTOOL) gen object $@ $@.raw

$(O)/obj/%.skel.h: $(O)/obj/%.bpf.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name $(subst -,_,$*)_bpf > $@

# ---- lib, tools, tests ---------------------------------------------------------------------

# Generated headers come before any object that might include one; after the first build the
# dependency files know exactly which do.
$(O)/obj/%.o: %.c $(O)/obj/.flags | $(SKELS) $(PROTOS)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_TOOLS) $(CPPFLAGS_ALL) $(DEPFLAGS) -c $< -o $@

# Both files come from one call. Not pattern rules: make would remove what they make.
$(PROTOS:.h=.c): $(O)/obj/%.pb-c.c: lib/format/%.proto
	$(call say,PROTOC,$<)
	@mkdir -p $(@D)
	$(Q)$(PROTOC) --proto_path=lib/format --c_out=$(O)/obj $<

$(PROTOS): %.h: %.c
	@test -e $@ || { rm -f $< && $(MAKE) --no-print-directory $<; }

$(O)/obj/%.pb-c.o: $(O)/obj/%.pb-c.c $(O)/obj/.flags
	$(call say,CC,$<)
	$(Q)$(CC) $(CFLAGS_TOOLS) $(CPPFLAGS_ALL) $(DEPFLAGS) -c $< -o $@

# lib/html/page.c takes this file in with .incbin, which -MMD does not see. A line @NAME@ in
# page.html, where NAME is a style sheet or a script, is replaced by that file.
$(O)/obj/lib/html/page.o $(O)/obj/fuzz/lib/html/page.o: $(O)/obj/page.html
$(O)/obj/page.html: $(wildcard lib/html/page/*)
	$(call say,PAGE,$@)
	@mkdir -p $(@D)
	$(Q)awk '!/^@.*\.(css|js)@$$/ { print; next } \
		{ part = "lib/html/page/" substr($$0, 2, length($$0) - 2); \
		  while ((more = (getline line < part)) > 0) print line; \
		  if (more < 0) { print "cannot read " part > "/dev/stderr"; exit 1 } \
		  close(part) }' \
		lib/html/page/page.html > $@

# The same for lib/count/inject.c. userlib/build.mk makes the engine.
$(O)/obj/lib/count/inject.o $(O)/obj/fuzz/lib/count/inject.o: $(O)/obj/count_engine.bin

$(TOOLLIB): $(LIB_SRC:%.c=$(O)/obj/%.o) $(PROTOS:.h=.o)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# Moved into place, so that a running program or a parallel reader never sees half a file.
define link_tool
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_TOOLS) $(LDFLAGS) -o $@.tmp \
		$(filter-out %.a,$^) $(filter %.a,$^) $(LIBS_TOOLS) && mv -f $@.tmp $@
endef

$(O)/bin/pcce-report: $(addprefix $(O)/obj/tools/,report_options.o store_options.o)

$(O)/bin/pcce-pull: $(O)/obj/tools/store_options.o

$(O)/bin/pcce-record $(O)/bin/pcce-top: $(O)/obj/tools/sample_options.o

$(O)/bin/pcce-gcc: $(O)/obj/tools/gcc_args.o

$(CMD_LINKS): $(O)/bin/pcce-gcc
	$(Q)ln -sf pcce-gcc $@

# Only pcce-record refers to what reuses frames, and only in such a build: what does it is in the
# library of the tools, but otherwise nobody takes it from there.
$(O)/obj/restore/tools/pcce-record.o $(if $(filter 1,$(RESTORE)),$(O)/obj/tools/pcce-record.o): \
	private CPPFLAGS_ALL += -DPCCE_RESTORE
$(O)/obj/restore/%.o: %.c $(O)/obj/.flags | $(SKELS) $(PROTOS)
	$(call say,CC,$< (RESTORE=1))
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_TOOLS) $(CPPFLAGS_ALL) $(DEPFLAGS) -c $< -o $@

$(O)/bin/%: $(O)/obj/tools/%.o $(TOOLLIB)
	$(link_tool)

$(LIBDIR)/ld/ld: $(O)/obj/tools/pcce-ld.o $(O)/obj/tools/ld_args.o \
		$(O)/obj/tools/ld_exports.o $(O)/obj/tools/ld_runtime.o $(TOOLLIB)
	$(link_tool)

$(LIBDIR)/ld/ld.%: $(LIBDIR)/ld/ld
	$(Q)ln -sf ld $@

# ---- files made from *.in ------------------------------------------------------------------

# subst_in: DIRECTORY-OF-LIB DIRECTORY-OF-BIN DIRECTORY-OF-HEADERS SODIR
subst_in = sed -e 's|@VERSION@|$(VERSION)|g' -e 's|@CC@|$(CC)|g' -e 's|@LIBDIR@|$(1)|g' \
	-e 's|@BINDIR@|$(2)|g' -e 's|@INCLUDEDIR@|$(3)|g' -e 's|@SODIR@|$(4)|g'
define make_from_in
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)$(call subst_in,$(abspath $(LIBDIR)),$(abspath $(O)/bin),$(abspath include),$(abspath \
		$(O)/lib)) $< > $@.tmp
	$(Q)$(1) mv -f $@.tmp $@
endef

$(O)/bin/%: tools/%.in $(O)/obj/.flags
	$(call make_from_in,chmod +x $@.tmp &&)

$(LIBDIR)/%: tools/%.in $(O)/obj/.flags
	$(call make_from_in)

$(O)/lib/pkgconfig/%.pc: tools/%.pc.in $(O)/obj/.flags
	$(call make_from_in)

$(O)/share/meson/native/%: tools/%.meson.in $(O)/obj/.flags
	$(call make_from_in)

$(O)/lib/cmake/Pcce/%: tools/cmake/%.in $(O)/obj/.flags
	$(call make_from_in)

$(O)/lib/cmake/Pcce/%: tools/cmake/%
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)cp $< $@

# ---- other things --------------------------------------------------------------------------

setup:                                          ## install missing packages (root), or say which
	$(Q)scripts/setup

demo:                                           ## set up, build, profile Lua 5.4, flame graph
	$(Q)scripts/demo.sh

pictures:                                       ## draw the pictures in docs/pictures
	$(Q)scripts/pictures

style:                                          ## clang-format, shellcheck and simple checks
	$(Q)CLANG_FORMAT='$(CLANG_FORMAT)' scripts/style

clean:                                          ## remove all output
	$(Q)if [ -e $(O)/.pcce-build ]; then rm -rf $(O); \
	elif [ -e $(O) ]; then \
		echo "make clean: cannot remove $(O): this makefile did not make it" >&2; exit 1; fi

include mk/install.mk mk/check.mk mk/bench.mk

-include $(wildcard $(addprefix $(O)/obj/,*.d */*.d */*/*.d */*/*/*.d */*/*/*/*.d))
