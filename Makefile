# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# pcce: one non-recursive Makefile for everything.  `make help` lists the targets.
#
#   O=DIR      put all output into DIR (default: build)
#   V=1        show commands
#   DEBUG=1    tools and tests without optimisation
#   SAN=1      tools and unit tests with AddressSanitizer and UBSan
#   WERROR=    do not treat warnings as errors
#   CC=gcc-11  the compiler; the plugin is built for exactly this one
#
# Output looks like an installed tree, and everything in it finds its parts relative
# to its own place, so that $(O)/bin/pcce-record works without installation:
#
#   $(O)/bin/pcce-*                 from tools/pcce-*.c, tools/pcce-*.in
#   $(O)/lib/pcce/pcce_plugin.so    from plugin/*.c
#   $(O)/lib/pcce/libpcce*          from userlib/ (rules: userlib/build.mk)
#   $(O)/lib/pcce/*.specs           from tools/*.specs.in, tools/*.specs
#   $(O)/lib/pcce/ld/ld{,.bfd,...}  from tools/pcce-ld.c
#   $(O)/lib/{pkgconfig,cmake}/    from tools/pcce.pc.in, tools/cmake/
#   $(O)/kmod/pcce_sampler.ko        from kmod/*.c, Kbuild
#   $(O)/obj/                       objects, libpcce-tools.a, sampler.skel.h
#   $(O)/tests/unit/                from tests/unit/test_*.c
#   $(O)/tests/oracle/              step from tests/oracle/*.c, damage from tests/oracle/damage/*.c
#
# In *.in files these words are replaced: @VERSION@ @CC@ @LIBDIR@ (directory of
# pcce_plugin.so, absolute) @BINDIR@ (directory of pcce-encode, absolute) @INCLUDEDIR@; `make
# install` replaces them once more, with the directories under PREFIX.

MAKEFLAGS += --no-builtin-rules --no-builtin-variables
.DELETE_ON_ERROR:
.SUFFIXES:
.DEFAULT_GOAL := all

O       ?= build
# However it is spelled, it is one directory, and dependency files know it by one name.
override O := $(patsubst $(CURDIR)/%,%,$(O:/=))
PREFIX  ?= /usr/local
# Where other programs look for what we give them.
BASH_COMPLETIONS ?= $(PREFIX)/share/bash-completion/completions
ZSH_COMPLETIONS  ?= $(PREFIX)/share/zsh/site-functions
PKGCONFIG_DIR    ?= $(PREFIX)/lib/pkgconfig
DESTDIR ?=
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
PROTOC_C     ?= protoc-c
export CC CXX AR O

V ?= 0
ifeq ($(V),0)
Q   := @
say  = @printf '  %-8s %s\n' $(1) '$(2)'
else
Q   :=
say  = @:
endif

# ---- flags ---------------------------------------------------------------------

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
CFLAGS_TOOLS := -std=gnu11 $(WARN) $(CFLAGS) $(SANFLAGS) -pthread
LIBS_TOOLS   := -Wl,--as-needed -ldw -lelf -lbpf -lz -ldeflate -lprotobuf-c -ljansson -lurcu-bp -liberty -lncursesw -ltinfo -lm

GCC_MAJOR  = $(firstword $(subst ., ,$(shell $(CC) -dumpversion 2>/dev/null)))
PLUGIN_DIR = $(shell $(CC) -print-file-name=plugin 2>/dev/null)
MULTIARCH  = $(shell $(CC) -print-multiarch 2>/dev/null)
DEPFLAGS   = -MMD -MP -MF $@.d

# ---- what is there -------------------------------------------------------------

PLUGIN_SRC  := $(wildcard plugin/*.c)
LIB_SRC     := $(wildcard lib/*/*.c)
CMD_SRC     := $(filter-out tools/pcce-ld.c,$(wildcard tools/pcce-*.c))
LD_SRC      := $(wildcard tools/pcce-ld.c)
BIN_IN      := $(wildcard tools/pcce-*.in)
BIN_SH      := $(wildcard tools/pcce-*.sh)
SPECS_IN    := $(wildcard tools/*.specs.in)
SPECS_RAW   := $(wildcard tools/*.specs)
BPF_SRC     := $(wildcard bpf/*.bpf.c)
PROTO_SRC   := $(wildcard lib/format/*.proto)
UNIT_SRC    := $(wildcard tests/unit/test_*.c)
# what unit tests share: tests/unit/NAME.c that is not a test itself
UNIT_COMMON := $(filter-out $(UNIT_SRC),$(wildcard tests/unit/*.c))
ORACLE_SRC  := $(wildcard tests/oracle/*.c)
DAMAGE_SRC  := $(wildcard tests/oracle/damage/*.c)
MAN         := $(wildcard docs/man/*.[1-8])
# files that find what they need relative to their own place, and that are templates
CMAKE_SRC   := $(wildcard tools/cmake/*.cmake)
CMAKE_IN    := $(wildcard tools/cmake/*.cmake.in)

LIBDIR  := $(O)/lib/pcce
PLUGIN  := $(if $(PLUGIN_SRC),$(LIBDIR)/pcce_plugin.so)
TOOLLIB := $(if $(LIB_SRC),$(O)/obj/libpcce-tools.a)
CMDS    := $(CMD_SRC:tools/%.c=$(O)/bin/%)
SCRIPTS := $(BIN_IN:tools/%.in=$(O)/bin/%) $(BIN_SH:tools/%.sh=$(O)/bin/%)
SPECS   := $(SPECS_IN:tools/%.in=$(LIBDIR)/%) $(SPECS_RAW:tools/%=$(LIBDIR)/%)
LDS     := $(if $(LD_SRC),$(addprefix $(LIBDIR)/ld/,ld ld.bfd ld.gold ld.lld ld.mold))
SKELS   := $(BPF_SRC:bpf/%.bpf.c=$(O)/obj/%.skel.h)
PROTOS  := $(PROTO_SRC:lib/format/%.proto=$(O)/obj/%.pb-c.h)
UNITS   := $(UNIT_SRC:tests/unit/%.c=$(O)/tests/unit/%)
ORACLES := $(if $(ORACLE_SRC),$(O)/tests/oracle/step) $(if $(DAMAGE_SRC),$(O)/tests/oracle/damage)
FLAGS_FOR := $(O)/lib/pkgconfig/pcce.pc $(CMAKE_SRC:tools/cmake/%=$(O)/lib/cmake/Pcce/%) \
	$(CMAKE_IN:tools/cmake/%.in=$(O)/lib/cmake/Pcce/%)

# userlib/build.mk sets USERLIB_TARGETS (files in $(LIBDIR)) and gives their rules. It may use
# O LIBDIR Q say CC AR WARN CFLAGS CPPFLAGS_ALL DEPFLAGS, and $(O)/obj/.flags to depend on.
USERLIB_TARGETS :=
-include userlib/build.mk

# ---- targets -------------------------------------------------------------------

.PHONY: all plugin userlib tools bpf kmod specs ld flags deb units oracle check check-verify check-oracle check-suites check-vm check-vm-debug check-install demo pictures \
	install install-dkms uninstall clean style bench fuzz setup help gcc-ok FORCE

all: plugin userlib tools bpf specs ld flags    ## build everything (default)
plugin: $(PLUGIN)                               ## the GCC plugin
userlib: $(USERLIB_TARGETS)                     ## the runtime library
tools: $(CMDS) $(SCRIPTS)                       ## pcce-encode, pcce-record, pcce-report, pcce-merge, pcce-diff, pcce-config
bpf: $(SKELS)                                   ## BPF programs and their skeletons
specs: $(SPECS)                                 ## GCC specs files
ld: $(LDS)                                      ## linker wrappers that encode
flags: $(FLAGS_FOR)                            ## for pkg-config and CMake
units: $(UNITS)                                 ## unit test programs
oracle: $(ORACLES)                              ## the single-stepper

help:                                           ## this list
	@echo 'targets:'
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/\1\t\2/p' $(firstword $(MAKEFILE_LIST)) | \
		awk -F'\t' '{ printf "  %-14s %s\n", $$1, $$2 }'
	@echo 'variables:'
	@sed -n '/^# *[A-Z]*=[^ ]* /s/^# */  /p' $(firstword $(MAKEFILE_LIST))
	@echo '  PREFIX=DIR DESTDIR=DIR  for install and uninstall (PREFIX: $(PREFIX))'

# A change of flags, of the compiler or of the version rebuilds what depends on it.
FLAGS_NOW = $(CC) $(CXX) $(VERSION) $(CPPFLAGS_ALL) $(CFLAGS_TOOLS) $(LDFLAGS) $(shell $(CC) -dumpfullversion 2>/dev/null)
$(O)/obj/.flags: FORCE
	@mkdir -p $(@D)
	@touch $(O)/.pcce-build
	@printf '%s\n' '$(subst ','\'',$(FLAGS_NOW))' | cmp -s - $@ || printf '%s\n' '$(subst ','\'',$(FLAGS_NOW))' > $@

# ---- plugin --------------------------------------------------------------------

gcc-ok:
	@case '$(GCC_MAJOR)' in \
	11|12) ;; \
	'') echo "pcce: cannot run the compiler '$(CC)'; run scripts/setup, or name one with CC=" >&2; exit 1;; \
	*) echo "pcce: $(CC) is GCC $(GCC_MAJOR); the plugin supports GCC 11 and 12 only; name one with CC=gcc-12" >&2; exit 1;; \
	esac
	@test -f '$(PLUGIN_DIR)/include/gcc-plugin.h' || { \
		echo "pcce: the plugin headers of $(CC) are missing; install them: apt-get install gcc-$(GCC_MAJOR)-plugin-dev" >&2; exit 1; }

PLUGIN_FLAGS = -std=gnu++17 $(WARN) -O2 -g -fPIC -fno-rtti -fno-exceptions -isystem $(PLUGIN_DIR)/include $(CPPFLAGS_ALL)

$(O)/obj/plugin/%.o: plugin/%.c $(O)/obj/.flags | gcc-ok
	$(call say,CXX,$<)
	@mkdir -p $(@D)
	$(Q)$(CXX) $(PLUGIN_FLAGS) $(DEPFLAGS) -x c++ -c $< -o $@

$(LIBDIR)/pcce_plugin.so: $(PLUGIN_SRC:%.c=$(O)/obj/%.o)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CXX) -shared -o $@.tmp $^ && mv -f $@.tmp $@

# ---- kernel module --------------------------------------------------------------

# In a directory of its own, since the kernel's build writes beside the sources.
kmod:                                           ## the kernel module; KDIR=DIR: for which kernel; W=1 C=2: more checks
	$(call say,KMOD,$(O)/kmod/pcce_sampler.ko)
	$(Q)scripts/build-kmod $(O)/kmod $(if $(KDIR),KDIR=$(KDIR)) $(if $(W),W=$(W)) $(if $(C),C=$(C)) V=$(V)

# ---- BPF -----------------------------------------------------------------------

BPF_FLAGS = -target bpf -D__TARGET_ARCH_x86 -O2 -g -Wall $(WERROR) -Iinclude -I. -I$(O)/obj \
	    -idirafter /usr/include/$(MULTIARCH)

$(O)/obj/%.bpf.o: bpf/%.bpf.c $(O)/obj/.flags
	$(call say,BPF,$<)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_FLAGS) $(DEPFLAGS) -c $< -o $@.raw
	$(Q)$(BPFTOOL) gen object $@ $@.raw

$(O)/obj/%.skel.h: $(O)/obj/%.bpf.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name $(subst -,_,$*)_bpf > $@

.SECONDARY: $(BPF_SRC:bpf/%.bpf.c=$(O)/obj/%.bpf.o)

# ---- protocol buffers ------------------------------------------------------------

# Both files come from one call. Not pattern rules: make would remove what they make.
$(PROTOS:.h=.c): $(O)/obj/%.pb-c.c: lib/format/%.proto
	$(call say,PROTOC,$<)
	@mkdir -p $(@D)
	$(Q)$(PROTOC_C) --proto_path=lib/format --c_out=$(O)/obj $<

$(PROTOS): %.h: %.c
	@test -e $@ || { rm -f $< && $(MAKE) --no-print-directory $<; }

$(O)/obj/%.pb-c.o: $(O)/obj/%.pb-c.c $(O)/obj/.flags
	$(call say,CC,$<)
	$(Q)$(CC) $(CFLAGS_TOOLS) $(CPPFLAGS_ALL) $(DEPFLAGS) -c $< -o $@

# ---- tools ---------------------------------------------------------------------

# Skeletons and generated headers come before any object that might include one; after the first build the
# dependency files know exactly which.
$(O)/obj/lib/%.o: lib/%.c $(O)/obj/.flags | $(SKELS) $(PROTOS)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_TOOLS) $(CPPFLAGS_ALL) $(DEPFLAGS) -c $< -o $@

$(O)/obj/tools/%.o: tools/%.c $(O)/obj/.flags
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_TOOLS) $(CPPFLAGS_ALL) $(DEPFLAGS) -c $< -o $@

$(O)/obj/tests/%.o: tests/%.c $(O)/obj/.flags | $(SKELS)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_TOOLS) -Itests/unit $(CPPFLAGS_ALL) $(DEPFLAGS) -c $< -o $@

# html/page.c takes this file in with .incbin, which -MMD does not see. A line @NAME@ in page.html, where NAME is
# a style sheet or a script, stands for that file.
$(O)/obj/lib/html/page.o $(O)/obj/fuzz/lib/html/page.o: $(O)/obj/page.html
$(O)/obj/page.html: $(wildcard lib/html/page/*)
	$(call say,PAGE,$@)
	@mkdir -p $(@D)
	$(Q)awk '!/^@.*\.(css|js)@$$/ { print; next } \
		{ part = "lib/html/page/" substr($$0, 2, length($$0) - 2); \
		  while ((more = (getline line < part)) > 0) print line; \
		  if (more < 0) { print part ": cannot be read" > "/dev/stderr"; exit 1 } close(part) }' lib/html/page/page.html > $@

$(O)/obj/libpcce-tools.a: $(LIB_SRC:%.c=$(O)/obj/%.o) $(PROTO_SRC:lib/format/%.proto=$(O)/obj/%.pb-c.o)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# Moved into place, so that a running program or a parallel reader never sees half a file.
define link_tool
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_TOOLS) $(LDFLAGS) -o $@.tmp $^ $(LIBS_TOOLS) && mv -f $@.tmp $@
endef

$(O)/bin/pcce-report: $(O)/obj/tools/report_options.o

$(O)/bin/%: $(O)/obj/tools/%.o $(TOOLLIB)
	$(link_tool)

$(LIBDIR)/ld/ld: $(O)/obj/tools/pcce-ld.o $(O)/obj/tools/ld_args.o $(TOOLLIB)
	$(link_tool)

$(LIBDIR)/ld/ld.%: $(LIBDIR)/ld/ld
	$(Q)ln -sf ld $@

$(O)/tests/unit/%: $(O)/obj/tests/unit/%.o $(UNIT_COMMON:%.c=$(O)/obj/%.o) $(TOOLLIB)
	$(link_tool)

$(O)/tests/oracle/step: $(ORACLE_SRC:%.c=$(O)/obj/%.o) $(TOOLLIB)
	$(link_tool)

$(O)/tests/oracle/damage: $(DAMAGE_SRC:%.c=$(O)/obj/%.o) $(TOOLLIB)
	$(link_tool)

.SECONDARY: $(CMD_SRC:%.c=$(O)/obj/%.o) $(LD_SRC:%.c=$(O)/obj/%.o) $(UNIT_SRC:%.c=$(O)/obj/%.o) \
	$(UNIT_COMMON:%.c=$(O)/obj/%.o)

# ---- files made from *.in --------------------------------------------------------

# subst DIRECTORY-OF-LIB DIRECTORY-OF-BIN DIRECTORY-OF-HEADERS
subst_in = sed -e 's|@VERSION@|$(VERSION)|g' -e 's|@CC@|$(CC)|g' -e 's|@LIBDIR@|$(1)|g' -e 's|@BINDIR@|$(2)|g' -e 's|@INCLUDEDIR@|$(3)|g'

$(O)/bin/%: tools/%.in $(O)/obj/.flags
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)$(call subst_in,$(abspath $(LIBDIR)),$(abspath $(O)/bin)) $< > $@.tmp && chmod +x $@.tmp && mv -f $@.tmp $@

$(O)/bin/%: tools/%.sh $(O)/obj/.flags
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)$(call subst_in,$(abspath $(LIBDIR)),$(abspath $(O)/bin)) $< > $@.tmp && chmod +x $@.tmp && mv -f $@.tmp $@

$(LIBDIR)/%.specs: tools/%.specs.in $(O)/obj/.flags
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)$(call subst_in,$(abspath $(LIBDIR)),$(abspath $(O)/bin)) $< > $@

$(LIBDIR)/%.specs: tools/%.specs
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)cp $< $@

$(O)/lib/pkgconfig/%.pc: tools/%.pc.in $(O)/obj/.flags
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)$(call subst_in,$(abspath $(LIBDIR)),,$(abspath include)) $< > $@

$(O)/lib/cmake/Pcce/%: tools/cmake/%.in $(O)/obj/.flags
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)$(subst_in) $< > $@

$(O)/lib/cmake/Pcce/%: tools/cmake/%
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)cp $< $@

# ---- install ---------------------------------------------------------------------

I_BIN := $(DESTDIR)$(PREFIX)/bin
I_LIB := $(DESTDIR)$(PREFIX)/lib/pcce
I_INC := $(DESTDIR)$(PREFIX)/include/pcce
I_MAN := $(DESTDIR)$(PREFIX)/share/man
I_CMAKE := $(DESTDIR)$(PREFIX)/lib/cmake/Pcce
COMPLETED := $(sort $(notdir $(CMDS) $(SCRIPTS)))
PUBLIC_HEADERS := $(wildcard userlib/pcce.h include/pcce/abi.h include/pcce/assert.h)

install: all                                    ## install under PREFIX (staged: DESTDIR)
	$(call say,INSTALL,$(DESTDIR)$(PREFIX))
	$(Q)$(INSTALL) -d $(I_BIN) $(I_LIB)/ld
	$(Q)$(if $(CMDS),$(INSTALL) -m 755 $(CMDS) $(I_BIN))
	$(Q)$(if $(PLUGIN),$(INSTALL) -m 644 $(PLUGIN) $(I_LIB))
	$(Q)$(if $(USERLIB_TARGETS),cp -a $(USERLIB_TARGETS) $(I_LIB))
	$(Q)$(if $(LDS),cp -a $(LDS) $(I_LIB)/ld)
	$(Q)$(if $(SPECS_RAW),$(INSTALL) -m 644 $(SPECS_RAW) $(I_LIB))
	$(Q)set -e; $(foreach f,$(SPECS_IN),\
		$(call subst_in,$(PREFIX)/lib/pcce,$(PREFIX)/bin) $(f) > $(I_LIB)/$(notdir $(f:.in=));) :
	$(Q)set -e; $(foreach f,$(BIN_IN) $(BIN_SH),\
		$(call subst_in,$(PREFIX)/lib/pcce,$(PREFIX)/bin) $(f) > $(I_BIN)/$(basename $(notdir $(f))); \
		chmod 755 $(I_BIN)/$(basename $(notdir $(f)));) :
	$(Q)$(if $(PUBLIC_HEADERS),$(INSTALL) -d $(I_INC) && $(INSTALL) -m 644 $(PUBLIC_HEADERS) $(I_INC))
	$(Q)set -e; $(foreach f,$(MAN),d=$(I_MAN)/man$(subst .,,$(suffix $(f)))/$(notdir $(f)); $(INSTALL) -d $$(dirname $$d); $(call subst_in,,) $(f) > $$d;) :
	$(Q)$(INSTALL) -d $(DESTDIR)$(PKGCONFIG_DIR) $(I_CMAKE) $(DESTDIR)$(BASH_COMPLETIONS) $(DESTDIR)$(ZSH_COMPLETIONS)
	$(Q)$(call subst_in,$(PREFIX)/lib/pcce,,$(PREFIX)/include) tools/pcce.pc.in > $(DESTDIR)$(PKGCONFIG_DIR)/pcce.pc
	$(Q)$(INSTALL) -m 644 $(filter %.cmake,$(FLAGS_FOR)) $(I_CMAKE)
	$(Q)$(INSTALL) -m 644 tools/completions/_pcce $(DESTDIR)$(ZSH_COMPLETIONS)
	$(Q)$(INSTALL) -m 644 tools/completions/pcce.bash $(DESTDIR)$(BASH_COMPLETIONS)/$(firstword $(COMPLETED))
	$(Q)$(foreach c,$(wordlist 2,99,$(COMPLETED)),ln -sf $(firstword $(COMPLETED)) $(DESTDIR)$(BASH_COMPLETIONS)/$(c);)

# The source of the kernel module, where DKMS looks for it.
DKMS_DIR = $(DESTDIR)/usr/src/pcce-$(VERSION)
install-dkms:                                   ## the kernel module's source, for DKMS
	$(call say,INSTALL,$(DKMS_DIR))
	$(Q)$(INSTALL) -d $(DKMS_DIR)/kmod $(DKMS_DIR)/include/pcce
	$(Q)$(INSTALL) -m 644 Kbuild VERSION COPYING $(DKMS_DIR)
	$(Q)$(INSTALL) -m 644 $(wildcard kmod/*.[ch]) $(DKMS_DIR)/kmod
	$(Q)$(INSTALL) -m 644 include/pcce/abi.h include/pcce/assert.h include/pcce/kmod.h $(DKMS_DIR)/include/pcce
	$(Q)$(call subst_in,,) kmod/install/dkms.conf.in > $(DKMS_DIR)/dkms.conf

uninstall:                                      ## remove what install put there
	$(call say,REMOVE,$(DESTDIR)$(PREFIX))
	$(Q)rm -f $(addprefix $(I_BIN)/,$(notdir $(CMDS) $(SCRIPTS)))
	$(Q)rm -rf $(I_LIB) $(I_CMAKE)
	$(Q)rm -f $(DESTDIR)$(PKGCONFIG_DIR)/pcce.pc $(DESTDIR)$(ZSH_COMPLETIONS)/_pcce \
		$(addprefix $(DESTDIR)$(BASH_COMPLETIONS)/,$(COMPLETED))
	$(Q)$(if $(PUBLIC_HEADERS),rm -rf $(I_INC))
	$(Q)rm -f $(foreach f,$(MAN),$(I_MAN)/man$(subst .,,$(suffix $(f)))/$(notdir $(f)))

deb:                                            ## Debian packages in $(O)/deb; lintian must find no error
	$(Q)scripts/deb

# ---- running things ----------------------------------------------------------------

setup:                                          ## install missing Debian packages (root), or say which
	$(Q)scripts/setup

# What these two need may only be there after scripts/setup, so they make again.
check:                                          ## set up, build, run all tests
	$(Q)scripts/setup
	$(Q)+$(MAKE) --no-print-directory all units oracle
	$(Q)tests/run

check-vm:                                       ## the kernel module in an emulated machine
	$(Q)scripts/setup
	$(Q)+$(MAKE) --no-print-directory all
	$(Q)tests/run vm

check-vm-debug:                                 ## ... in a kernel with KASAN, lockdep, kmemleak (an hour or more)
	$(Q)scripts/setup
	$(Q)+$(MAKE) --no-print-directory all
	$(Q)tests/run --vm-debug

check-install:                                  ## the Debian package on a clean machine, from Debian's mirror
	$(Q)scripts/setup
	$(Q)O=$(O) tests/clean-install.sh

check-verify:                                   ## every real program against the real stack, full count
	$(Q)scripts/setup
	$(Q)+$(MAKE) --no-print-directory all
	$(Q)tests/run --verify

check-oracle:                                   ## every workload and real programs, one instruction at a time
	$(Q)scripts/setup
	$(Q)+$(MAKE) --no-print-directory all oracle
	$(Q)tests/run --oracle

check-suites:                                   ## the test suites of real programs, without and with pcce (hours)
	$(Q)scripts/setup tests/suites/packages.txt
	$(Q)+$(MAKE) --no-print-directory all
	$(Q)tests/run --suites

demo:                                           ## set up, build, profile Lua 5.4, write a flame graph
	$(Q)scripts/demo.sh

pictures:                                       ## README.md's pictures, of the demo's recording
	$(Q)scripts/pictures

# As with check: what is needed may only be there after scripts/setup.
BENCH_PARTS := bench-paper bench-scale bench-overhead bench-sample bench-tools
bench:                                          ## measure everything (takes hours; see bench/README.md)
	$(Q)scripts/setup bench/packages.txt
	$(Q)+$(MAKE) --no-print-directory all bench-programs
	$(Q)bench/run

bench-paper:                                    ## the paper's tables, by exhaustive counting
bench-scale:                                    ## encoding: time, memory, ids, against program size
bench-overhead:                                 ## real programs: instrumentation, samplers, peers
bench-sample:                                   ## one sample: cost, size, completeness
bench-tools:                                    ## time of the tools

$(BENCH_PARTS):
	$(Q)scripts/setup bench/packages.txt
	$(Q)+$(MAKE) --no-print-directory all bench-programs
	$(Q)bench/run $(@:bench-%=%)

style:                                          ## clang-format and simple checks
	$(Q)CLANG_FORMAT='$(CLANG_FORMAT)' scripts/style

clean:                                          ## remove all output
	$(Q)if [ -e $(O)/.pcce-build ]; then rm -rf $(O); \
	elif [ -e $(O) ]; then echo "make clean: $(O) was not made by this Makefile; left alone" >&2; exit 1; fi

# ---- fuzzing -------------------------------------------------------------------------

# tests/fuzz/fuzz_NAME.c holds LLVMFuzzerTestOneInput. Runs each for FUZZ_SECONDS, beginning with
# tests/fuzz/corpus/NAME where there is one; findings are left in $(O)/fuzz/NAME.
FUZZ_SECONDS ?= 60
FUZZ_SRC  := $(wildcard tests/fuzz/fuzz_*.c)
FUZZERS   := $(FUZZ_SRC:tests/fuzz/%.c=$(O)/fuzz/%)
FUZZ_FLAGS := -std=gnu11 -Wall -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined

.PHONY: fuzzers
fuzzers: $(FUZZERS)

fuzz: $(FUZZERS)                                ## fuzz the readers, FUZZ_SECONDS=60 each
	$(Q)set -e; for f in $(FUZZERS); do \
		n=$${f##*/fuzz_}; mkdir -p $(O)/fuzz/$$n; seeds=; \
		if [ -d tests/fuzz/corpus/$$n ]; then seeds=tests/fuzz/corpus/$$n; fi; \
		echo "  FUZZ     $$n ($(FUZZ_SECONDS) s)"; \
		$$f -max_total_time=$(FUZZ_SECONDS) -artifact_prefix=$(O)/fuzz/$$n/ -print_final_stats=1 $(O)/fuzz/$$n $$seeds \
			> $(O)/fuzz/$$n.log 2>&1 || { tail -n 30 $(O)/fuzz/$$n.log; exit 1; }; \
		sed -n 's/^stat::/    /p' $(O)/fuzz/$$n.log; \
	done

$(O)/obj/fuzz/%.o: %.c $(O)/obj/.flags | $(SKELS) $(PROTOS)
	$(call say,CLANG,$<)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(FUZZ_FLAGS) $(CPPFLAGS_ALL) $(DEPFLAGS) -c $< -o $@

$(O)/obj/fuzz/libpcce-tools.a: $(LIB_SRC:%.c=$(O)/obj/fuzz/%.o) $(PROTO_SRC:lib/format/%.proto=$(O)/obj/%.pb-c.o)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(O)/fuzz/%: $(O)/obj/fuzz/tests/fuzz/%.o $(O)/obj/fuzz/libpcce-tools.a
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(FUZZ_FLAGS) -fsanitize=fuzzer -o $@ $^ $(LIBS_TOOLS)

.SECONDARY: $(LIB_SRC:%.c=$(O)/obj/fuzz/%.o) $(FUZZ_SRC:%.c=$(O)/obj/fuzz/%.o)

# ---- measuring -----------------------------------------------------------------------

# What the scripts in bench/ need beside themselves. scripts/setup with bench/packages.txt installs the rest.
BENCH_TOOLS := $(O)/bench/contexts $(O)/bench/count_patch $(O)/bench/count.o $(O)/bench/graph

.PHONY: bench-programs $(BENCH_PARTS)
bench-programs: $(BENCH_TOOLS)

$(O)/obj/bench/%.o: bench/%.c $(O)/obj/.flags | $(SKELS)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_TOOLS) $(CPPFLAGS_ALL) $(DEPFLAGS) -c $< -o $@

$(O)/bench/contexts: $(patsubst %,$(O)/obj/bench/paper/%.o,contexts static lines replay program) $(TOOLLIB)
	$(link_tool)

$(O)/bench/graph: $(O)/obj/bench/scale/graph.o $(TOOLLIB)
	$(link_tool)

$(O)/bench/count_patch: $(patsubst %,$(O)/obj/bench/paper/%.o,count_patch program) $(TOOLLIB)
	$(link_tool)

# Linked into programs that are counted.
$(O)/bench/count.o: bench/paper/count.c bench/paper/count_entry.S bench/paper/count.h $(O)/obj/.flags
	$(call say,CC,$<)
	@mkdir -p $(@D) $(O)/obj/bench/paper
	$(Q)$(CC) -std=gnu11 $(WARN) -O2 -g -fPIC -mgeneral-regs-only -ftls-model=initial-exec -fno-stack-protector -U_FORTIFY_SOURCE -c -o $(O)/obj/bench/paper/count.o bench/paper/count.c
	$(Q)$(CC) -fPIC -g -c -o $(O)/obj/bench/paper/count_entry.o bench/paper/count_entry.S
	$(Q)ld -r -o $@ $(O)/obj/bench/paper/count.o $(O)/obj/bench/paper/count_entry.o

.SECONDARY: $(patsubst bench/%.c,$(O)/obj/bench/%.o,$(wildcard bench/*.c bench/*/*.c))

# ---- header dependencies -------------------------------------------------------------

-include $(wildcard $(O)/obj/*.d $(O)/obj/*/*.d $(O)/obj/*/*/*.d $(O)/obj/*/*/*/*.d $(O)/obj/*/*/*/*/*.d)
