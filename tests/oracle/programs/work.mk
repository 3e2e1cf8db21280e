# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# For the single-stepper: functions, recursion of $(call), pattern rules, and recipes that are run.
reverse = $(if $(1),$(call reverse,$(wordlist 2,$(words $(1)),$(1))) $(firstword $(1)))
digits := 0 1 2 3 4 5 6 7 8 9
two := $(foreach a,$(digits),$(foreach b,1 2 3,$(a)$(b)))
map = $(foreach x,$(2),$(call $(1),$(x)))
swap = $(patsubst %.c,%.o,$(subst 1,one,$(addsuffix .c,$(1))))
names := $(call map,swap,$(two))
picked := $(sort $(filter %one%.o,$(names)) $(filter-out %2%,$(names)))
now := $(shell echo shell)

all: a.o b.o phony
	@echo $(words $(picked)) $(lastword $(picked)) $(call reverse,$(digits)) $(now)

define rule
obj_$(1): base_$(1)
	$$(eval done += $(1))
endef
$(foreach n,$(two),$(eval $(call rule,$(n))))
base_%: ;
%.o: ; @echo making $@
.PHONY: all phony
phony: $(two:%=obj_%) ; @echo $(words $(done)) | cat
