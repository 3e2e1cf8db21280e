# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# libpcce-decode.so.0: decodes contexts in other programs (include/pcce/decode.h).  Included by the
# top Makefile.
#
# It consists of the same objects as the tools: lib/ is compiled once. Hidden visibility keeps calls
# and data accesses of position-independent code as direct as they are in an executable.

DECODE_OBJ := $(patsubst %.c,$(O)/obj/%.o,$(wildcard \
	$(patsubst %,lib/%/*.c,base elf symbols decode stream api)))
DECODE_A   := $(O)/obj/libpcce-decode.a
DECODE_SO  := $(O)/lib/libpcce-decode.so.0
# Sanitizers leave symbols to the program.
DECODE_LD  := -Wl,-soname,$(notdir $(DECODE_SO)) -Wl,--version-script=lib/api/libpcce-decode.map \
	-Wl,-z,relro,-z,now $(if $(SANFLAGS),,-Wl,-z,defs)

.PHONY: decode
all: decode
decode: $(DECODE_SO) $(DECODE_SO:.0=)            ## the library that decodes, for other programs

$(DECODE_OBJ): private CFLAGS_TOOLS += -fPIC -fvisibility=hidden

$(DECODE_A): $(DECODE_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# Of the archive, only what the functions of decode.h need.
$(DECODE_SO): $(filter $(O)/obj/lib/api/%,$(DECODE_OBJ)) $(DECODE_A) lib/api/libpcce-decode.map
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_TOOLS) $(LDFLAGS) -shared $(DECODE_LD) -o $@.tmp $(filter %.o %.a,$^) \
		-Wl,--as-needed,--exclude-libs,ALL -lelf -lz -ldeflate -liberty && mv -f $@.tmp $@

$(DECODE_SO:.0=): $(DECODE_SO)
	$(Q)ln -sf $(<F) $@
