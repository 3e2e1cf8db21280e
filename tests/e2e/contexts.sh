#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Programs that ask for their own contexts (pcce.h): names, copies and dictionaries.  The programs
# know their chains of calls, and everything is compared with these.

. "$(dirname "$0")/../lib.sh"
cd "$scratch" || exit 1
command -v pkg-config >/dev/null || skip_all "pkg-config is not installed"
export PKG_CONFIG_PATH=$out/lib/pkgconfig
cp "$top"/tests/e2e/contexts/* .

# build NAME SOURCES-AND-FLAGS...
build() {
	local name=$1
	shift
	# shellcheck disable=SC2046
	$CC -g -I"$top/userlib" $(pkg-config --cflags pcce) "$@" $(pkg-config --libs pcce) -pthread \
		-o "$name" >"$name.log" 2>&1
}

# ---- names and chains belong together ----------------------------------------------------

# walk NAME COUNT [FLAGS...]
walk() {
	local name=$1 count=$2
	shift 2
	if ! build walks "$@" walks.c; then
		not_ok "$name: is built" walks.log
	elif timeout 200 ./walks "$count" walks.out >walks.txt 2>walks.err; then
		ok "$name: names and chains belong to each other"
		echo "#   $count names: $(cat walks.txt)"
	else
		not_ok "$name: names and chains belong to each other" "$(head -n 12 walks.err)"
	fi
}

for flags in -O0 -O3 "-O2 -static" "-O2 -static-pie" "-O2 -no-pie -fno-pie" "-O2 -fPIC" "-O2 -flto"; do
	# shellcheck disable=SC2086
	walk "$flags" 100000 $flags
done
walk "-O2" 1000000 -O2
sort walks.out >first
./walks 100000 walks.out >walks.txt
sort walks.out >second
check "names are equal in two runs" sh -c "grep -Fxqf first second && ! grep -Fxvf first second | grep -q ."
mkdir elsewhere
strip -o elsewhere/other walks
elsewhere/other 100000 walks.out >walks.txt
sort walks.out >third
check "... and of a stripped copy in another place" cmp second third

# What is compared is not only the program.
if build library.so -O2 -fPIC -shared library.c && build lib -O2 -DWITH_LIBRARY walks.c ./library.so; then
	check "with a library: names and chains belong to each other" ./lib 100000 lib.out
	sort lib.out >first
	./lib 100000 lib.out >walks.txt
	check "... and are equal in two runs" sh -c "sort lib.out | cmp - first"
	check "... calls of the library are among them" grep -q ' from_library:' first
else
	not_ok "with a library: is built" library.so.log lib.log
fi

# Another encoding of the same code gives other numbers, so it must give other names.
if record self walks.data ./walks 1000000 && pcce-encode -o recoded -p walks.data walks 2>recoded.log; then
	./recoded 100000 recoded.out >walks.txt
	is "another encoding has other names" "$(cut -d ' ' -f 1 recoded.out | grep -Fxf - <(cut -d ' ' -f 1 second))" ""
	is "... for the same chains" "$(cut -d ' ' -f 2- recoded.out | sort | cmp - <(cut -d ' ' -f 2- second | sort) 2>&1)" ""
else
	not_ok "another encoding has other names" recoded.log walks.data.err
fi

# ---- programs without contexts ------------------------------------------------------------

none="pcce:00000000000000000000000000000000"
# shellcheck disable=SC2086
if $CC -O2 -Wall -Wextra -Werror -I"$top/userlib" -I"$top/include" flush.c -o plain 2>plain.log; then
	is "without the runtime there is no context" "$(./plain 3>plain.dictionary | sort -u)" $none
	is "... and no dictionary" "$(cat plain.dictionary)" ""
else
	not_ok "a program without the runtime is built" plain.log
fi
if PCCE_ENCODE=off build unencoded -O2 flush.c; then
	is "in a program that is not encoded there is no context" "$(./unencoded 3>plain.dictionary | sort -u)" $none
else
	not_ok "a program that is not encoded is built" unencoded.log
fi
printf '%s\n' '#include <pcce.h>' 'pcce_id f() { return pcce_context_id(); }' >header.cc
check "the header is C++11" $CXX -std=c++11 -Wall -Wextra -Werror -fsyntax-only -I"$top/userlib" \
	-I"$top/include" header.cc

# ---- dictionaries --------------------------------------------------------------------------

# has_all DICTIONARY NAMES: each name has one line
has_all() {
	sed -n 's/^pcce1 c \([0-9a-f]*\) .*/pcce:\1/p' "$1" | sort | cmp - <(sort -u "$2")
}

if build flush -O2 flush.c; then
	./flush 3>flushed >flush.names
	check "a flush writes the contexts that were named" has_all flushed flush.names
	is "three calls of one function have three names" "$(sort -u flush.names | grep -c '^pcce:')" 3
	PCCE_DICTIONARY=by-itself ./flush 3>/dev/null >flush.names
	check "with PCCE_DICTIONARY the runtime writes the same" cmp <(sort flushed) <(sort by-itself)
	is "without room for the file, the program goes on" \
		"$(PCCE_DICTIONARY=/dev/full ./flush 3>/dev/null | cmp - flush.names 2>&1)" ""
else
	not_ok "flush.c is built" flush.log
fi
PCCE_DICTIONARY=$scratch/walks.dictionary ./walks 100000 walks.out >walks.txt
cut -d ' ' -f 1 walks.out >walks.names
check "a program with threads writes each context once" has_all walks.dictionary walks.names
is "... and each line has a parent" \
	"$(awk '$2 == "s" { seen[$3] = 1 } $2 != "m" && $4 != "-" { want[$4] = 1 } END { for (w in want) if (!(w in seen)) print w }' walks.dictionary)" ""
done_testing
