# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Tests and fuzzers.  Included by the top Makefile.  docs/testing.md describes the tests.

UNIT_SRC    := $(wildcard tests/unit/test_*.c)
# What unit tests share: files in tests/unit that are no tests themselves.
UNIT_COMMON := $(filter-out $(UNIT_SRC),$(wildcard tests/unit/*.c))
ORACLE_SRC  := $(wildcard tests/oracle/*.c)
DAMAGE_SRC  := $(wildcard tests/oracle/damage/*.c)
GENERATE_SRC := tests/oracle/generate/generate.c
COUNTED_SRC := $(wildcard tests/oracle/counted/*.c) $(filter-out %/step.c,$(ORACLE_SRC))

UNITS   := $(UNIT_SRC:tests/unit/%.c=$(O)/tests/unit/%)
# pcce-record with what RESTORE=1 adds, for tests.
RESTORING := $(O)/tests/pcce-record
ORACLES := $(addprefix $(O)/tests/oracle/,step damage counted generate)

.PHONY: units oracle check check-vm check-vm-debug check-distros check-archive \
	check-install check-verify \
	check-fast check-long check-oracle check-suites fuzz fuzzers

units: $(UNITS) $(RESTORING)                    ## unit test programs
oracle: $(ORACLES)                              ## the single-stepper

$(O)/tests/unit/%: $(O)/obj/tests/unit/%.o $(UNIT_COMMON:%.c=$(O)/obj/%.o) $(TOOLLIB)
	$(link_tool)

$(RESTORING): $(O)/obj/restore/tools/pcce-record.o $(O)/obj/tools/sample_options.o $(TOOLLIB)
	$(link_tool)

$(O)/tests/oracle/step: $(ORACLE_SRC:%.c=$(O)/obj/%.o) $(TOOLLIB)
	$(link_tool)

$(O)/tests/oracle/damage: $(DAMAGE_SRC:%.c=$(O)/obj/%.o) $(TOOLLIB)
	$(link_tool)

$(O)/tests/oracle/counted: $(COUNTED_SRC:%.c=$(O)/obj/%.o) $(TOOLLIB)
	$(link_tool)

$(O)/tests/oracle/generate: $(GENERATE_SRC:%.c=$(O)/obj/%.o)
	$(link_tool)

# ---- tests ---------------------------------------------------------------------------------

# set_up_and_make LISTS,TARGETS: installs packages, then makes. What make needs may only be there
# after scripts/setup, so it is called again.
define set_up_and_make
	$(Q)scripts/setup $(1)
	$(Q)+$(MAKE) --no-print-directory $(2)
endef

check:                                          ## set up, build, run tests (SUITES="WORD...": some)
	$(call set_up_and_make,,all units oracle)
	$(Q)tests/run $(SUITES)

check-fast:                                     ## the first stage of the tests: a minute
	$(Q)+$(MAKE) --no-print-directory all units
	$(Q)tests/run --fast

check-long:                                     ## more random cases and workloads in some suites
	$(call set_up_and_make,,all units oracle)
	$(Q)PCCE_TEST_LONG=1 tests/run unit vm e2e/count e2e/only hostile/threads

check-distros:                                  ## ... in Debian 12, 13 and sid (DISTROS="WORD...")
	$(Q)scripts/setup
	$(Q)tests/run --distros $(DISTROS)

check-archive:                                  ## rebuild a part of Debian (N=packages; hours)
	$(Q)scripts/setup
	$(Q)tests/archive/run.sh $(N)

check-vm:                                       ## the kernel module in an emulated machine
	$(call set_up_and_make,,all $(RESTORING))
	$(Q)tests/run vm

check-vm-debug:                                 ## ... with KASAN, lockdep, kmemleak (an hour)
	$(call set_up_and_make,,all)
	$(Q)tests/run --vm-debug

check-install:                                  ## the Debian package on a clean machine
	$(Q)scripts/setup
	$(Q)O=$(O) tests/clean-install.sh

check-verify:                                   ## real programs against the real stack, full count
	$(call set_up_and_make,,all)
	$(Q)tests/run --verify

check-oracle:                                   ## every workload, one instruction at a time (hours)
	$(call set_up_and_make,,all oracle)
	$(Q)tests/run --oracle

check-suites:                                   ## real programs' own test suites (hours)
	$(call set_up_and_make,tests/suites/packages.txt,all)
	$(Q)tests/run --suites

# ---- fuzzers -------------------------------------------------------------------------------

# tests/fuzz/fuzz_NAME.c holds LLVMFuzzerTestOneInput. Each runs for FUZZ_SECONDS and begins with
# tests/fuzz/corpus/NAME and what seeds.sh makes. Findings are left in $(O)/fuzz/NAME.
FUZZ_SECONDS ?= 60
FUZZ_SRC     := $(wildcard tests/fuzz/fuzz_*.c)
FUZZERS      := $(FUZZ_SRC:tests/fuzz/%.c=$(O)/fuzz/%)
FUZZ_FLAGS   := -std=gnu11 -D_GNU_SOURCE= -Wall -O1 -g -fsanitize=fuzzer-no-link,address,undefined \
	-fno-sanitize-recover=undefined

fuzzers: $(FUZZERS)

fuzz: $(FUZZERS) all                            ## fuzz the readers, FUZZ_SECONDS=60 each
	$(Q)set -e; bash tests/fuzz/seeds.sh $(O)/fuzz/seeds; for f in $(FUZZERS); do \
		n=$${f##*/fuzz_}; mkdir -p $(O)/fuzz/$$n; seeds=; \
		for d in tests/fuzz/corpus/$$n $(O)/fuzz/seeds/$$n; do \
			[ ! -d $$d ] || seeds="$$seeds $$d"; \
		done; \
		echo "  FUZZ     $$n ($(FUZZ_SECONDS) s)"; \
		$$f -max_total_time=$(FUZZ_SECONDS) -artifact_prefix=$(O)/fuzz/$$n/ \
			-print_final_stats=1 $(O)/fuzz/$$n $$seeds > $(O)/fuzz/$$n.log 2>&1 || \
			{ tail -n 30 $(O)/fuzz/$$n.log; exit 1; }; \
		sed -n 's/^stat::/    /p' $(O)/fuzz/$$n.log; \
	done

$(O)/obj/fuzz/%.o: %.c $(O)/obj/.flags | $(SKELS) $(PROTOS)
	$(call say,CLANG,$<)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(FUZZ_FLAGS) $(CPPFLAGS_ALL) $(DEPFLAGS) -c $< -o $@

# What fuzzers use of lib/.
$(O)/obj/fuzz/libpcce-tools.a: $(patsubst %.c,$(O)/obj/fuzz/%.o,$(wildcard $(patsubst %,lib/%/*.c, \
		api base decode diff elf encode filter hot merge numbering store stream symbols \
		tree)))
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(O)/fuzz/%: $(O)/obj/fuzz/tests/fuzz/%.o $(O)/obj/fuzz/libpcce-tools.a
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(FUZZ_FLAGS) -fsanitize=fuzzer -o $@ $^ $(LIBS_TOOLS)
