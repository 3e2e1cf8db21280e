# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
# Builds Python without what work.py does not use.  As in Debian, modules in C are parts of the
# interpreter.

build_python() { # CONFIGURE-OPTION...
	./configure "$@" --without-ensurepip --without-doc-strings OPT="-DNDEBUG -fwrapv" \
		CC="$CC" CFLAGS="$flags_c" LDFLAGS="$flags_ld"
	cat >Modules/Setup.local <<-END
		*static*
		_bisect _bisectmodule.c
		_datetime _datetimemodule.c
		_heapq _heapqmodule.c
		_json _json.c
		_pickle _pickle.c
		_random _randommodule.c
		_sha512 sha512module.c
		_struct _struct.c
		array arraymodule.c
		binascii binascii.c
		math mathmodule.c
	END
	make -j2 python pybuilddir.txt
}
