# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
lib%.a: $(OBJS)
	$(AR) rcs $@ $(OBJS)
