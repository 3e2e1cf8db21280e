# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Installs pcce, and makes packages of it.  Included by the top Makefile.
#
#   PREFIX              where it will run (default: /usr/local)
#   DESTDIR             where it is put now, in front of PREFIX; for packages
#   SODIR               where libpcce-decode.so.0 is installed
#   PKGCONFIG_DIR, BASH_COMPLETIONS, ZSH_COMPLETIONS  where other programs look for our files

DESTDIR          ?=
BASH_COMPLETIONS ?= $(PREFIX)/share/bash-completion/completions
ZSH_COMPLETIONS  ?= $(PREFIX)/share/zsh/site-functions
SODIR            ?= $(PREFIX)/lib
PKGCONFIG_DIR    ?= $(SODIR)/pkgconfig

I_BIN   := $(DESTDIR)$(PREFIX)/bin
I_LIB   := $(DESTDIR)$(PREFIX)/lib/pcce
I_INC   := $(DESTDIR)$(PREFIX)/include/pcce
I_MAN   := $(DESTDIR)$(PREFIX)/share/man
I_CMAKE := $(DESTDIR)$(PREFIX)/lib/cmake/Pcce
I_MESON := $(DESTDIR)$(PREFIX)/share/meson/native
I_BASH  := $(DESTDIR)$(BASH_COMPLETIONS)
I_ZSH   := $(DESTDIR)$(ZSH_COMPLETIONS)
I_UNIT  := $(DESTDIR)$(PREFIX)/lib/systemd/system
I_SHARE := $(DESTDIR)$(PREFIX)/share/pcce
I_SO    := $(DESTDIR)$(SODIR)
I_PC    := $(DESTDIR)$(PKGCONFIG_DIR)

MAN            := $(wildcard docs/man/*.[1-8])
COMPLETED      := $(sort $(notdir $(filter-out %/pcce-gcc,$(CMDS)) $(SCRIPTS)))
PUBLIC_HEADERS := userlib/pcce.h $(addprefix include/pcce/,abi.h assert.h decode.h)

# man_path PAGE: where it is installed
man_path = $(I_MAN)/man$(subst .,,$(suffix $(1)))/$(notdir $(1))
# The footer of an installed page has the version.
with_version = sed '/^\.TH/s/"pcce"/"pcce $(VERSION)"/'
# installed_in FILE: the file with the words of installed files in place of @WORD@
installed_in = $(call subst_in,$(PREFIX)/lib/pcce,$(PREFIX)/bin,$(PREFIX)/include,$(SODIR)) $(1)

.PHONY: install install-dkms install-plugin-source uninstall deb apt dist

install: all                                    ## install under PREFIX (staged: DESTDIR)
	$(call say,INSTALL,$(DESTDIR)$(PREFIX))
	$(Q)$(INSTALL) -d $(I_BIN) $(I_LIB)/ld $(I_INC) $(I_SO) $(I_PC) $(I_CMAKE) \
		$(I_MESON) $(I_BASH) $(I_ZSH) $(I_UNIT) $(I_SHARE)
	$(Q)$(INSTALL) -m 755 $(CMDS) $(I_BIN)
	$(Q)cp -a $(CMD_LINKS) $(I_BIN)
	$(Q)$(INSTALL) -m 644 $(DISPATCH) $(I_LIB)
	$(Q)rm -rf $(I_LIB)/gcc-*
	$(Q)set -e; $(foreach n,$(GCC_MAJORS),$(INSTALL) -D -m 644 \
		$(LIBDIR)/gcc-$(n)/pcce_plugin.so $(I_LIB)/gcc-$(n)/pcce_plugin.so;) :
	$(Q)cp -a $(USERLIB_TARGETS) $(I_LIB)
	$(Q)cp -a $(LDS) $(I_LIB)/ld
	$(Q)$(INSTALL) -m 644 $(DECODE_SO) $(I_SO)
	$(Q)ln -sf $(notdir $(DECODE_SO)) $(I_SO)/libpcce-decode.so
	$(Q)$(INSTALL) -m 644 $(PUBLIC_HEADERS) $(I_INC)
	$(Q)set -e; $(foreach f,$(SPECS_IN),\
		$(call installed_in,$(f)) > $(I_LIB)/$(notdir $(f:.in=));) :
	$(Q)set -e; $(foreach f,$(BIN_IN),\
		$(call installed_in,$(f)) > $(I_BIN)/$(notdir $(f:.in=)); \
		chmod 755 $(I_BIN)/$(notdir $(f:.in=));) :
	$(Q)set -e; $(foreach f,$(PC_IN),$(call installed_in,$(f)) > $(I_PC)/$(notdir $(f:.in=));) :
	$(Q)set -e; $(foreach f,$(MAN),$(INSTALL) -d $(dir $(call man_path,$(f))); \
		$(with_version) $(f) > $(call man_path,$(f));) :
	$(Q)$(foreach f,$(CMD_LINKS),ln -sf pcce-gcc.1 $(call man_path,$(f).1);)
	$(Q)$(INSTALL) -m 644 $(filter %.cmake,$(FLAGS_FOR)) $(I_CMAKE)
	$(Q)$(call installed_in,tools/pcce.meson.in) > $(I_MESON)/pcce
	$(Q)$(call installed_in,tools/daemon/pcced.service.in) > $(I_UNIT)/pcced.service
	$(Q)$(INSTALL) -m 644 tools/daemon/pcced.toml $(I_SHARE)
	$(Q)$(INSTALL) -m 644 tools/completions/_pcce $(I_ZSH)
	$(Q)$(INSTALL) -m 644 tools/completions/pcce.bash $(I_BASH)/$(firstword $(COMPLETED))
	$(Q)$(foreach c,$(wordlist 2,99,$(COMPLETED)),\
		ln -sf $(firstword $(COMPLETED)) $(I_BASH)/$(c);)

uninstall:                                      ## remove what install put there
	$(call say,REMOVE,$(DESTDIR)$(PREFIX))
	$(Q)rm -f $(addprefix $(I_BIN)/,$(notdir $(CMDS) $(CMD_LINKS) $(SCRIPTS)))
	$(Q)rm -rf $(I_LIB) $(I_CMAKE) $(I_INC) $(I_SHARE)
	$(Q)rm -f $(I_UNIT)/pcced.service
	$(Q)rm -f $(I_SO)/libpcce-decode.so $(I_SO)/$(notdir $(DECODE_SO))
	$(Q)rm -f $(addprefix $(I_PC)/,$(notdir $(PC_IN:.in=))) $(I_ZSH)/_pcce \
		$(I_MESON)/pcce $(addprefix $(I_BASH)/,$(COMPLETED))
	$(Q)rm -f $(foreach f,$(MAN) $(CMD_LINKS:=.1),$(call man_path,$(f)))

# The source of the kernel module, where DKMS looks for it.
DKMS_DIR = $(DESTDIR)/usr/src/pcce-$(VERSION)
install-dkms:                                   ## the kernel module's source, for DKMS
	$(call say,INSTALL,$(DKMS_DIR))
	$(Q)$(INSTALL) -d $(DKMS_DIR)/kmod $(DKMS_DIR)/include/pcce
	$(Q)$(INSTALL) -m 644 Kbuild VERSION COPYING $(DKMS_DIR)
	$(Q)$(INSTALL) -m 644 $(wildcard kmod/*.[ch]) $(DKMS_DIR)/kmod
	$(Q)$(INSTALL) -m 644 \
		$(addprefix include/pcce/,abi.h assert.h kmod.h labels.h page_reader.h \
			stack_blocks.h) \
		$(DKMS_DIR)/include/pcce
	$(Q)$(call subst_in,,) kmod/install/dkms.conf.in > $(DKMS_DIR)/dkms.conf

# The source of the plugin, and what builds it for each GCC.
PLUGIN_DIR = $(DESTDIR)/usr/src/pcce-plugin-$(VERSION)
install-plugin-source:                          ## the plugin's source, built for each GCC
	$(call say,INSTALL,$(PLUGIN_DIR))
	$(Q)$(INSTALL) -d $(addprefix $(PLUGIN_DIR)/,plugin scripts include/pcce) $(I_LIB)
	$(Q)$(INSTALL) -m 644 VERSION COPYING plugin/install/Makefile $(PLUGIN_DIR)
	$(Q)$(INSTALL) -m 644 $(wildcard plugin/*.[ch]) plugin/build.mk $(PLUGIN_DIR)/plugin
	$(Q)$(INSTALL) -m 755 scripts/gcc-ok $(PLUGIN_DIR)/scripts
	$(Q)$(INSTALL) -m 644 $(addprefix include/pcce/,abi.h assert.h sites.h) \
		$(PLUGIN_DIR)/include/pcce
	$(Q)sed -e 's|@SOURCE@|$(PLUGIN_DIR:$(DESTDIR)%=%)|' -e 's|@LIBDIR@|$(PREFIX)/lib/pcce|' \
		plugin/install/build-plugins.in > $(I_LIB)/build-plugins
	$(Q)chmod 755 $(I_LIB)/build-plugins

deb:                                            ## Debian packages in $(O)/deb, checked by lintian
	$(Q)scripts/deb

apt: deb                                        ## ... in a repository, signed by APT_KEY
	$(Q)APT_KEY='$(APT_KEY)' scripts/apt-repository

dist:                                           ## the source of this commit, as an archive
	$(Q)mkdir -p $(O)
	$(Q)git archive --prefix=pcce-$(VERSION)/ HEAD | xz -9 > $(O)/pcce-$(VERSION).tar.xz.tmp
	$(Q)mv $(O)/pcce-$(VERSION).tar.xz.tmp $(O)/pcce-$(VERSION).tar.xz
	@echo $(O)/pcce-$(VERSION).tar.xz
