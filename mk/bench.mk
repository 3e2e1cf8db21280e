# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Benchmarks.  Included by the top Makefile.  bench/README.md describes them.

BENCH_PARTS := bench-paper bench-cuts bench-hot bench-scale bench-large bench-overhead \
	bench-sample bench-restore bench-tools
# What the scripts in bench/ need. scripts/setup with bench/packages.txt installs the rest.
BENCH_TOOLS := $(addprefix $(O)/bench/,contexts cuts implicit count_patch count.o graph slots \
	trees walk without_additions) $(O)/tests/pcce-record

.PHONY: bench bench-programs $(BENCH_PARTS)

bench-programs: $(BENCH_TOOLS)

bench:                                          ## measure everything (takes hours)
	$(call set_up_and_make,bench/packages.txt,all bench-programs)
	$(Q)bench/run

bench-paper:                                    ## the paper's tables, by exhaustive counting
bench-cuts:                                     ## pushes for lack of room, by kind of profile
bench-hot:                                      ## hot contexts: the second paper's evaluation
bench-scale:                                    ## encoding: time, memory, ids, by program size
bench-large:                                    ## large programs and libraries: slots, instructions
bench-overhead:                                 ## real programs: instrumentation, samplers, peers
bench-sample:                                   ## one sample: cost, size, completeness
bench-restore:                                  ## frames of uninstrumented code
bench-tools:                                    ## time of the tools

$(BENCH_PARTS):
	$(call set_up_and_make,bench/packages.txt,all bench-programs)
	$(Q)bench/run $(@:bench-%=%)

bench_objects = $(addprefix $(O)/obj/bench/,$(addsuffix .o,$(1)))

$(O)/bench/contexts: $(call bench_objects,papers/contexts papers/static papers/lines papers/replay \
		papers/program papers/tree) $(TOOLLIB)
	$(link_tool)

$(O)/bench/cuts: $(call bench_objects,papers/cuts papers/program papers/tree) $(TOOLLIB)
	$(link_tool)

$(O)/bench/implicit: $(call bench_objects,papers/implicit papers/hybrid papers/frames \
		papers/program papers/tree) $(TOOLLIB)
	$(link_tool)

$(O)/bench/slots: $(call bench_objects,large/slots papers/program) $(TOOLLIB)
	$(link_tool)

$(O)/bench/trees: $(call bench_objects,papers/hot/trees) $(TOOLLIB)
	$(link_tool)

$(O)/bench/count_patch: $(call bench_objects,papers/count_patch papers/program) $(TOOLLIB)
	$(link_tool)

$(O)/bench/without_additions: $(call bench_objects,papers/without_additions papers/program) \
		$(TOOLLIB)
	$(link_tool)

$(O)/bench/walk: private LIBS_TOOLS += -lunwind
$(O)/bench/walk: $(call bench_objects,restore/walk) $(TOOLLIB)
	$(link_tool)

$(O)/bench/sql: $(call bench_objects,fleet/sql) $(TOOLLIB)
	$(link_tool)

$(O)/bench/graph: $(call bench_objects,scale/graph) $(TOOLLIB)
	$(link_tool)

# Linked into programs that are counted.
COUNT_FLAGS := -std=gnu11 $(WARN) -O2 -g -fPIC -mgeneral-regs-only -ftls-model=initial-exec \
	-fno-stack-protector -U_FORTIFY_SOURCE
$(O)/bench/count.o: bench/papers/count.c bench/papers/count_entry.S bench/papers/count.h \
		$(O)/obj/.flags
	$(call say,CC,$<)
	@mkdir -p $(@D) $(O)/obj/bench/papers
	$(Q)$(CC) $(COUNT_FLAGS) -c -o $(O)/obj/bench/papers/count.o bench/papers/count.c
	$(Q)$(CC) -fPIC -g -c -o $(O)/obj/bench/papers/count_entry.o bench/papers/count_entry.S
	$(Q)ld -r -o $@ $(O)/obj/bench/papers/count.o $(O)/obj/bench/papers/count_entry.o
