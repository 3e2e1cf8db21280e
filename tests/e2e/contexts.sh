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

# ---- names and chains belong together ----------------------------------------------------

# walk NAME COUNT [FLAGS...]
walk() {
	local name=$1 count=$2
	shift 2
	if ! build_with_api walks "$@" walks.c; then
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
if build_with_api library.so -O2 -fPIC -shared library.c && build_with_api lib -O2 -DWITH_LIBRARY walks.c ./library.so; then
	check "with a library: names and chains belong to each other" ./lib 100000 lib.out
	sort lib.out >first
	./lib 100000 lib.out >walks.txt
	check "... and are equal in two runs" sh -c "sort lib.out | cmp - first"
	check "... calls of the library are among them" grep -q ' from_library:' first
else
	not_ok "with a library: is built" library.so.log lib.log
fi

# Keys: pcce_stack_id().
for flags in -O0 -O2 "-O3 -fno-inline" "-O2 -static" "-O2 -no-pie -fno-pie"; do
	# shellcheck disable=SC2086
	walk "keys, $flags" 100000 -DKEYS $flags
done
cp walks.out keys.out
./walks 200000 keys.again >walks.txt
is "keys are equal in two runs" \
	"$(sort keys.out | cmp - <(sort keys.again) 2>&1)" ""
if [ -e library.so ] && build_with_api lib -O2 -DKEYS -DWITH_LIBRARY walks.c ./library.so; then
	check "keys, with a library: keys and chains belong to each other" ./lib 100000 lib.out
	check "... calls of the library are among them" grep -q ' from_library:' lib.out
else
	not_ok "keys, with a library: is built" lib.log
fi
build_with_api walks -O2 walks.c || not_ok "is built again" walks.log

# Another library at the same place has other contexts. Its code is as long, and has other numbers.
cat >pass.c <<'END'
static volatile int sink;
__attribute__((noinline, noclone)) static void through(void (*f)(void)) { f(); sink += NUMBER; }
void pass(void (*f)(void)) { through(f); sink++; }
END
if build_with_api pass1.so -O2 -DNUMBER=1 -fPIC -shared pass.c && build_with_api pass2.so -O2 -DNUMBER=2 -fPIC -shared pass.c &&
	build_with_api reload -O2 reload.c -ldl && ./reload ./pass1.so ./pass2.so ./pass1.so >reload.out 2>&1; then
	is "keys: the libraries are loaded at one place" "$(cut -d ' ' -f 1 reload.out | sort -u | wc -l)" 1
	is "... and have keys of their own" "$(cut -d ' ' -f 2- reload.out | sort -u | wc -l)" 2
	is "... each time" "$(sed -n 1p reload.out)" "$(sed -n 3p reload.out)"
	is "... for each call" "$(cut -d ' ' -f 2- reload.out | tr ' ' '\n' | sort -u | wc -l)" 4
else
	not_ok "reload.c is built and runs" pass1.so.log pass2.so.log reload.log reload.out
fi

# Another encoding of the same code gives other numbers, so it must give other names.
if record self walks.data ./walks 1000000 && pcce-encode -o recoded -p walks.data walks 2>recoded.log; then
	./recoded 100000 recoded.out >walks.txt
	is "another encoding has other names" "$(cut -d ' ' -f 1 recoded.out | grep -Fxf - <(cut -d ' ' -f 1 second))" ""
	is "... for the same chains" "$(cut -d ' ' -f 2- recoded.out | sort | cmp - <(cut -d ' ' -f 2- second | sort) 2>&1)" ""
else
	not_ok "another encoding has other names" recoded.log walks.data.err
fi

# A name does not depend on what the thread did before.
if build_with_api repeats -O2 -pthread repeats.c; then
	PCCE_DICTIONARY=$scratch/repeats.dictionary ./repeats >repeats.names
	is "a recursion has one name, whatever the thread did before" \
		"$(sort repeats.names | uniq -c | awk '{ print $1 }')" 6
	is "... and 101 calls" "$(head -n 1 repeats.names | pcce-decode -d repeats.dictionary |
		awk '$2 == "hop" { n += / x [0-9]*$/ ? $NF : 1 } END { print n }')" 101
else
	not_ok "repeats.c is built" repeats.log
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
if PCCE_ENCODE=off build_with_api unencoded -O2 flush.c; then
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

if build_with_api flush -O2 flush.c; then
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
if build_with_api limited -O2 limited.c; then
	for kind in default ignore handle pending; do
		n=$([ $kind = pending ] && echo 1 || echo 0)
		is "a limit of file sizes sends no signal: $kind" \
			"$(PCCE_DICTIONARY=limited.dictionary PCCE_DEBUG=1 ./limited $kind 2>limited.err)" \
			"pending $n, handled $n, mask as before"
	done
	is "... and the dictionary could not be written" "$(stat -c %s limited.dictionary)" 0
else
	not_ok "limited.c is built" limited.log
fi
PCCE_DICTIONARY=$scratch/walks.dictionary ./walks 100000 walks.out >walks.txt
cut -d ' ' -f 1 walks.out >walks.names
check "a program with threads writes each context once" has_all walks.dictionary walks.names
is "... and each line has a parent" \
	"$(awk '$2 == "s" { seen[$3] = 1 } $2 != "m" && $4 != "-" { want[$4] = 1 } END { for (w in want) if (!(w in seen)) print w }' walks.dictionary)" ""

# ---- decoding ----------------------------------------------------------------------------

export LD_LIBRARY_PATH=$out/lib
# shellcheck disable=SC2046
if ! $CC -O2 -g -Wall -Wextra -Werror $(pkg-config --cflags pcce-decode) lookup.c \
	$(pkg-config --libs pcce-decode) -o lookup 2>lookup.log; then
	not_ok "lookup.c is built" lookup.log
fi
# decodes NAME PROGRAM: each of its names, without and with debug information
decodes() {
	rm -f dictionary
	PCCE_DICTIONARY=$scratch/dictionary ./"$2" 200000 chains >walks.txt
	check "$1: all contexts are those that the program knows" sh -c "./lookup dictionary <chains"
	pcce-decode -d dictionary <chains >decoded 2>decoded.err
	expand decoded >expanded
	cut -d ' ' -f 1- chains | cmp -s - expanded &&
		ok "$1: pcce-decode prints the same, with the lines of all calls" ||
		not_ok "$1: pcce-decode prints the same, with the lines of all calls" \
			"$(diff chains expanded | cut -c 1-300 | head -n 4)" decoded.err
}
# Writes repetitions out, and leaves out frames of other files.
expand() {
	awk '
	function flush(   i) {
		if (name == "") return
		printf "%s", name
		for (i = 0; i < n; i++) if (frame[i] != "") printf " %s", frame[i]
		print ""
	}
	/^pcce:/ { flush(); name = $1; n = 0; next }
	{
		frame[n++] = $4 ~ /\/walks\.c:/ ? $2 substr($4, match($4, /:[0-9]*$/)) : ""
		times = match($0, / x [0-9]+/) ? substr($0, RSTART + 3, RLENGTH - 3) : 1
		span = match($0, / with the [0-9]+/) ? substr($0, RSTART + 10, RLENGTH - 10) + 1 : 1
		for (; times > 1; times--)
			for (i = 0; i < span; i++) { frame[n] = frame[n - span]; n++ }
	}
	END { flush() }' "$1"
}
for flags in -O0 -O2 "-O2 -static" "-O3 -no-pie -fno-pie"; do
	# shellcheck disable=SC2086
	if build_with_api walks $flags walks.c; then decodes "$flags" walks; else not_ok "$flags: is built" walks.log; fi
done
build_with_api lib -O2 -DWITH_LIBRARY walks.c ./library.so
decodes "with a library" lib

build_with_api walks -O2 walks.c
rm -f dictionary
PCCE_DICTIONARY=dictionary ./walks 20000 chains >walks.txt
head -n 1 chains | cut -d ' ' -f 1 >one
{
	echo "before [$(cat one)] after"
	echo "pcce: nothing pcce:0123"
	echo "$none, and an unknown one: pcce:00112233445566778899aabbccddeeff"
	printf 'without a newline'
} >log
pcce-decode -d dictionary <log >annotated 2>annotated.err
is "lines of the log stay as they are" "$(grep -v '^    ' annotated)" "$(cat log)"
is "the context follows its line" "$(sed -n 2p annotated | sed 's|/[^ ]*/||')" \
	"    #0   $(head -n 1 chains | cut -d ' ' -f 2 | sed 's/:/ at walks.c:/')"
is "what has no context says so" "$(grep -A 2 unknown annotated | sed -n 2,3p)" \
	"    [no context]"$'\n'"    [not in the dictionary]"
is "a name that is not known is one sentence" "$(cat annotated.err)" \
	"pcce-decode: cannot decode a context: the dictionary does not have its name"
is "a name is replaced" "$(pcce-decode -r -d dictionary <one | cut -d ' ' -f 1-2)" \
	"$(head -n 1 chains | cut -d ' ' -f 2 | sed 's/\(.*\):\(.*\)/\1 (walks.c:\2)/')"
is "PCCE_DICTIONARY names the dictionary" "$(PCCE_DICTIONARY=dictionary pcce-decode <one | wc -l)" \
	"$(pcce-decode -d dictionary <one | wc -l)"

# Other places of the program, and other programs.
pcce-decode -d dictionary <chains >wanted
mkdir -p moved/.build-id
mv walks moved/walks
pcce-decode -d dictionary <one >gone 2>gone.err
is "without the program, one sentence says so" "$(grep -c 'cannot decode contexts in .*/walks: the file is not there' gone.err)" 1
check "... and the log is copied" grep -q "$(cat one)" gone
check "a folder with the program is enough" sh -c "pcce-decode -d dictionary -s moved <chains | cmp - wanted"
id=$(readelf -n moved/walks | sed -n 's/.*Build ID: //p')
mkdir -p "moved/.build-id/${id:0:2}" "cache/$id"
cp moved/walks "cache/$id/executable"
mv moved/walks "moved/.build-id/${id:0:2}/${id:2}"
check "... also by build id" sh -c "pcce-decode -d dictionary -s moved <chains | cmp - wanted"
check "... also in a cache of debuginfod" sh -c \
	"DEBUGINFOD_CACHE_PATH=$scratch/cache pcce-decode -d dictionary <chains | cmp - wanted"
build_with_api walks -O1 walks.c
pcce-decode -d dictionary <one >gone 2>gone.err
is "a program that was built again is refused" "$(grep -c 'has been built or encoded again' gone.err)" 1
cp "cache/$id/executable" walks
if pcce-record -q --count -o again.data ./walks 4000 >again.out 2>again.err &&
	pcce-encode -p again.data walks 2>recoded.log; then
	pcce-decode -d dictionary <one >gone 2>gone.err
	is "... and one that was encoded again" "$(grep -c 'has been built or encoded again' gone.err)" 1
else
	not_ok "... and one that was encoded again" recoded.log again.err
fi
cp "cache/$id/executable" walks

# Damaged dictionaries: the rest is decoded, and nothing wrong.
n=$(wc -l <dictionary)
sed -e '$s/.....$//' dictionary >shortened
pcce-decode -d shortened <chains >got 2>got.err
check "a dictionary that was cut off: the rest is decoded" sh -c "[ \$(grep -c '#0 ' got) -ge $(($(wc -l <chains) - 1)) ]"
sed -e 's/^\(pcce1 c [0-9a-f]* - \)1,/\12,/' dictionary >changed
pcce-decode -d changed <chains >got 2>got.err
check "changed lines are counted" grep -q 'lines are damaged, and are ignored' got.err
is "... and not decoded" "$(expand got | grep -vFxf chains | awk 'NF > 1' | head -n 1)" ""
grep -v '^pcce1 s' dictionary >roots
pcce-decode -d roots <chains >got 2>got.err
check "without the segments below, a context ends in a gap" grep -q '\[truncated\]' got
echo "pcce1 nonsense" >bad
pcce-decode -d bad <one >got 2>got.err
check "a file that is no dictionary" grep -q '1 lines are damaged' got.err
pcce-decode -d missing <one >got 2>got.err
is "a missing dictionary is an error" $? 1
check "... that names it" grep -q '^pcce-decode: cannot open the dictionary missing: No such file' got.err
sort dictionary dictionary | shuf --random-source=dictionary >mixed
check "the order of lines does not matter" sh -c "pcce-decode -d mixed <chains | cmp - wanted"

# A log that grows together with its dictionary.
mkfifo pipe
: >growing
pcce-decode -d growing <pipe >follow.out 2>follow.err &
exec 5>pipe
cp dictionary growing.new
cat growing.new >>growing
cat one >&5
for ((i = 0; i < 100; i++)); do
	grep -q '#0 ' follow.out && break
	sleep 0.1
done
check "a context that comes later is found" grep -q '#0 ' follow.out
exec 5>&-
wait

if command -v valgrind >/dev/null && [ ${#sanitize[@]} = 0 ]; then
	check "no errors and leaks" valgrind -q --leak-check=full --error-exitcode=9 pcce-decode -d changed <log
else
	skip "no errors and leaks" "valgrind is not installed, or the build has sanitizers"
fi
head -n 500 chains | cut -d ' ' -f 1 | grep -Fxf <(awk 'length($0) < 400 { print $1 }' chains) >short
awk '{ line[NR] = $0 } END { for (i = 0; i < 1000000; i++) print line[i % NR + 1] }' short >million
begin=$(date +%s%N)
pcce-decode -r -d dictionary <million >million.out
echo "#   a million names in $((($(date +%s%N) - begin) / 1000000)) ms"
is "a million names are decoded" "$(wc -l <million.out) $(grep -c pcce: million.out)" "1000000 0"
done_testing
