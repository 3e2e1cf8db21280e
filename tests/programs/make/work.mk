# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Nested functions, recursive calls, pattern rules and a long chain of prerequisites that
# are up to date or have empty recipes.

reverse = $(if $(1),$(call reverse,$(wordlist 2,$(words $(1)),$(1))) $(firstword $(1)))
digits := 0 1 2 3 4 5 6 7 8 9
two := $(foreach a,$(digits),$(foreach b,$(digits),$(a)$(b)))
three := $(foreach a,$(digits),$(foreach b,$(two),$(a)$(b)))
map = $(foreach x,$(2),$(call $(1),$(x)))
swap = $(patsubst %.c,%.o,$(subst 1,one,$(addsuffix .c,$(1))))
twice = $(call swap,$(call map,swap,$(1)))

lists := $(foreach i,$(three),$(words $(call reverse,$(wordlist 1,9$(i),$(two)))))
names := $(call map,twice,$(three) $(three) $(three) $(three) $(three) $(three) $(three) $(three) $(three) $(three))
picked := $(sort $(filter %one%.o,$(names)) $(filter-out %5%,$(names)))
$(foreach n,$(three),$(eval objects_$(n) := $$(foreach d,$$(digits),obj_$(n)_$$(d).o)))

objects := $(foreach n,$(three),$(objects_$(n)))

all: $(objects)
	@echo $(words $(picked)) $(words $(lists)) $(words $(objects)) $(lastword $(picked)) $(call reverse,$(digits))

define rule
$(1): base_$(2) $(filter %$(lastword $(subst _, ,$(1))),$(wordlist 1,3,$(objects_$(2):%.o=%.p)))
	$$(eval done += $(2))
endef
$(foreach n,$(three),$(foreach o,$(objects_$(n)),$(eval $(call rule,$(o),$(n)))))

base_%: ;
%.p: ;
.PHONY: all
