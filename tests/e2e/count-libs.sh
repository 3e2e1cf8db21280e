#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# runs beside others
# seconds: 300
#
# pcce-record --count of instrumented shared libraries: linked, opened, closed and preloaded.  The
# program and its libraries count their own calls by context (tests/e2e/count/libs).  Their counts
# must be those of the recording.

. "$(dirname "$0")/../lib.sh"
. "$top/tests/e2e/count/lib.sh"
cd "$scratch" || exit 1
sources=$here/libs
runtime=$(pcce-config --libdir)/libpcce.so.0
# Frames of code that is not instrumented, and of gates.
others='@plt$|^(dlopen|dlclose|table_through|raise|longjmp|\[unknown\]|\[signal\]|\[uninstrumented.*)$'
# Functions of main.cc.
of_main='^(main|part_.*|use|open_plugin|back|back_into|raise_one|on_signal|thread|jump_once)$'

# compile DIRECTORY FLAGS LINKER-FLAGS: builds all but the program
compile() {
	local dir=$1 all="$2 -g -fPIC -shared -I$sources" cflags ldflags now=$3 v
	cflags=$(pcce-config --cflags) ldflags=$(pcce-config --ldflags)
	mkdir -p "$dir" &&
		$CC $all "$sources/table.c" -o "$dir/libtable.so" &&
		$CXX $all $cflags "$sources/linked.cc" $now "$dir/libtable.so" $ldflags \
			-o "$dir/liblinked.so" || return
	for v in one two three; do
		$CXX $all $cflags -DVARIANT=$v "$sources/plugin.cc" $now "$dir/liblinked.so" \
			"$dir/libtable.so" $ldflags -o "$dir/$v.so" || return
	done
	$CXX $all $cflags "$sources/over.cc" "$dir/libtable.so" $ldflags -o "$dir/over.so"
}

# program OUTPUT DIRECTORY CFLAGS LDFLAGS
program() {
	$CXX $3 -g -I"$sources" "$sources/main.cc" "$2/liblinked.so" "$2/libtable.so" -pthread $4 \
		-o "$1"
}

# contexts PATTERN: adds up "CONTEXT COUNT" by context, without frames that fit the pattern
contexts() {
	awk -v drop="$1" '
		{
			n = $NF
			sub(/ [0-9]+$/, "")
			k = split($0, frames, ";")
			path = ""
			for (i = 1; i <= k; i++) {
				sub(/\(.*\)$/, "", frames[i])
				if (frames[i] !~ drop) path = path ";" frames[i]
			}
			count[path] += n
		}
		END { for (path in count) print count[path], path }' | sort
}

# agrees NAME DATA: the recording has the counts that the program has printed in DATA.out
agrees() {
	awk '{ print $2, $1 }' "$2.out" | contexts '^$' >"$2.wanted"
	pcce-report -q -i "$2" --format=folded --no-inline 2>/dev/null | contexts "$others" >"$2.got"
	if [ -s "$2.wanted" ] && cmp -s "$2.got" "$2.wanted"; then
		ok "$1: $(wc -l <"$2.wanted") contexts have their true counts"
	else
		diff "$2.got" "$2.wanted" | cut -c1-200 | head -n 20 >difference
		not_ok "$1: contexts have their true counts" difference "$2.err"
	fi
	check "$1: nothing is said" bash -c "! grep -v ': [0-9,]* calls\| samples of' '$2.err'"
}

# part_agrees NAME OPTIONS DIRECTORY PART
part_agrees() {
	local name="$4, $1" dir=$3
	record_counts "$4.data" "$2" "$dir/main" "$4" "$dir/one.so" "$dir/two.so" "$dir/three.so"
	is "$name: status" "$(cat "$4.data.status")" 0
	agrees "$name" "$4.data"
	is "$name: what was due is taken" "$(stat_of "$4.data" due)" "$(stat_of "$4.data" taken)"
}

# Functions remain what they are in the source.
whole="-fno-inline -fno-ipa-cp -fno-ipa-sra -fno-partial-inlining -fno-reorder-blocks-and-partition"
parts="linked open elsewhere throw jump threads fork signals"
pflags="-O1 $(pcce-config --cflags)"
check "builds" compile bound -O1 -Wl,-z,now
check "the program builds" program bound/main bound "$pflags" "$(pcce-config --ldflags)"
for part in $parts; do
	part_agrees "exact" "" bound "$part"
done
# There are enough counters.
for part in open threads fork throw; do
	part_agrees "hcct" "--engine=hcct --hot=0.001,0.0001" bound "$part"
done
part_agrees "lossy" "--engine=lossy --hot=0.0001,0.00001" bound linked
part_agrees "lossy" "--engine=lossy --hot=0.0001,0.00001" bound fork

check "builds with lazy binding" compile lazy "-O2 $whole" -Wl,-z,lazy
check "its program builds" program lazy/main lazy "-O2 $whole -fno-pie -no-pie $(pcce-config --cflags)" \
	"$(pcce-config --ldflags)"
for part in linked open throw threads; do
	part_agrees "lazy binding" "" lazy "$part"
done

# Another module defines a function of the linked library.
for part in linked open; do
	LD_PRELOAD=$PWD/bound/over.so part_agrees "preload" "" bound "$part"
	check "$part, preload: the function was replaced" grep -q 'linked_helper;over_static' \
		"$part.data.wanted"
done

# ---- other ways to count -----------------------------------------------------------------

record_counts empty.data --engine=empty bound/main open bound/one.so bound/two.so
is "the empty engine: status" "$(cat empty.data.status)" 0
is "the empty engine counts nothing" "$(stat_of empty.data taken)" 0

# All contexts are true, with no more calls.
for options in --burst=30us/60us --burst=30us/60us,adaptive; do
	record_counts burst.data "$options" bound/main threads bound/one.so bound/two.so
	is "$options: status" "$(cat burst.data.status)" 0
	awk '{ print $2, $1 }' burst.data.out | contexts '^$' >burst.wanted
	pcce-report -q -i burst.data --format=folded --no-inline | contexts "$others" >burst.got
	check "$options: there are $(wc -l <burst.got) contexts" [ -s burst.got ]
	is "$options: contexts are true ones" "$(awk -v all="${options%adaptive}" '
		NR == FNR { n[$2] = $1; next }
		!($2 in n) || (all !~ /,$/ && $1 > n[$2])' burst.wanted burst.got | head -n 3)" ""
done

record_counts beside.data "-b self -F 5000" bound/main threads bound/one.so bound/two.so
agrees "samples beside" beside.data
is "samples beside: all are exact" \
	"$(pcce-report -q -i beside.data --event=1 --stats | sed -n 's/^undecodable: //p')" 0

# The rest is marked. A library whose file has changed cannot be decoded.
cp bound/one.so gone.so
cat >removing.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
static unsigned int back(unsigned int n)
{
	return n;
}
int main(int argc, char **argv)
{
	void *handle = argc > 2 ? dlopen(argv[1], argv[2][0] == 'd' ? RTLD_NOW | RTLD_DEEPBIND
								    : RTLD_NOW)
				: NULL;
	unsigned int (*work)(unsigned int, unsigned int (*)(unsigned int));
	unsigned int i;

	if (!handle)
		return 1;
	*(void **)&work = dlsym(handle, "plugin_work");
	for (i = 0; i < 5; i++)
		work(1, back);
	return argv[2][0] == 'r' && unlink(argv[1]);
}
END
# shellcheck disable=SC2046
check "a program that removes its library: builds" $CC -O1 $(pcce-config --cflags) removing.c \
	-Wl,--no-as-needed bound/liblinked.so bound/libtable.so $(pcce-config --ldflags) -o removing
record_counts gone.data "" ./removing "$PWD/gone.so" remove
is "a removed library: status" "$(cat gone.data.status)" 0
pcce-report -q -i gone.data --format=folded | grep -v undecodable >gone.folded
is "a removed library: no context leads through it" "$(grep -c 'one_\|plugin' gone.folded)" 0
check "a removed library: others have their contexts" grep -q '^linked_begin.*linked_helper' gone.folded
check "a removed library: $(stat_of gone.data undecodable) calls are marked" \
	[ "$(stat_of gone.data undecodable)" -ge 50 ]
is "a removed library: no call is missing" "$(stat_of gone.data taken)" \
	"$(awk '{ n += $1 } END { print n + 1 + 7 * 5 }' gone.data.out)"

# A library that the dynamic linker gives a thread page of its own uses the program's.
record_counts deep.data "" ./removing "$PWD/bound/one.so" deep
is "RTLD_DEEPBIND: status" "$(cat deep.data.status)" 0
is "RTLD_DEEPBIND: no call is lost" "$(stat_of deep.data lost)" 0
is "RTLD_DEEPBIND: no call is missing" "$(stat_of deep.data taken)" \
	"$(awk '{ n += $1 } END { print n + 1 + 7 * 5 }' deep.data.out)"

# ---- signals at any instruction ----------------------------------------------------------

# Also in the stubs of the library, and in the engine.
echo 'int library_main(void); int main(void) { return library_main(); }' >interrupted.c
# shellcheck disable=SC2046
check "signals at any instruction: builds" bash -c "$CC -O1 -g -fPIC -shared -I'$top/include' \
	-I'$top/userlib' -I'$workloads' -I'$here' -Dmain=library_main '$here/interrupted.c' \
	$(pcce-config --cflags) $(pcce-config --ldflags) -o libinterrupted.so &&
	$CC -O1 $(pcce-config --cflags) interrupted.c ./libinterrupted.so $(pcce-config --ldflags) \
	-o interrupted"
record_counts interrupted.data "" ./interrupted
is "signals at any instruction: status" "$(cat interrupted.data.status)" 0
pcce-report -q -i interrupted.data --format=folded --no-inline | awk '
	{ n = $NF; sub(/ [0-9]+$/, ""); k = split($0, frames, ";"); count[frames[k]] += n }
	END { for (f in count) if (f != "library_main") print f, count[f] }' | sort >interrupted.got
is "signals at any instruction: each function has its calls" "$(cat interrupted.got)" \
	"$(sort interrupted.data.out)"
check "signals at any instruction: $(stat_of interrupted.data undecodable) calls are marked" \
	[ "$(stat_of interrupted.data undecodable)" -le \
	$(($(stat_of interrupted.data taken) / 200)) ]

# ---- a program that is not instrumented ----------------------------------------------------

check "a plain program builds" program plain bound -O1 ""
pcce-record --count ./plain linked bound/one.so >refusal 2>&1
is "a plain program is refused" "$? $(grep -c 'set LD_PRELOAD to libpcce.so.0' refusal)" "1 1"
for part in $parts; do
	LD_PRELOAD=$runtime record_counts plain.data "" ./plain "$part" bound/one.so bound/two.so \
		bound/three.so
	is "plain program, $part: status" "$(cat plain.data.status)" 0
	awk -v drop="$of_main" '{ k = split($2, f, ";"); if (f[k] !~ drop) print $2, $1 }' \
		plain.data.out | contexts "$of_main" >plain.wanted
	pcce-report -q -i plain.data --format=folded --no-inline | contexts "$others" >plain.got
	diff plain.got plain.wanted | cut -c1-200 | head -n 20 >difference
	check "plain program, $part: $(wc -l <plain.wanted) contexts have their true counts" \
		[ -s plain.wanted -a ! -s difference ]
done
LD_PRELOAD=/nowhere/libpcce.so.0 record_counts plain.data "" ./plain jump bound/one.so
is "without the runtime before the C library, nothing is counted" \
	"$(stat_of plain.data taken)" 0
check "without it: the user is told" grep -q "is loaded after the C library" plain.data.err

# ---- the recorder ends -------------------------------------------------------------------

cat >waits.c <<'END'
#include <dlfcn.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char c;

	if (read(0, &c, 1) != 1 || argc < 2)
		return 1;
	return !dlopen(argv[1], RTLD_NOW) || write(3, "opened", 6) != 6;
}
END
# shellcheck disable=SC2046
check "a program that waits: builds" $CC -O1 $(pcce-config --cflags) waits.c \
	$(pcce-config --ldflags) -o waits
mkfifo input
pcce-record --count -o killed.data -- ./waits bound/one.so <input 3>opened 2>/dev/null &
recorder=$!
exec 4>input
for _ in $(seq 600); do
	[ "$(pgrep -c -P $recorder waits)" = 1 ] && break
	sleep 0.1
done
{ kill -KILL $recorder && wait $recorder; } 2>/dev/null
echo >&4
for _ in $(seq 600); do
	[ -s opened ] && break
	sleep 0.1
done
is "a program whose recorder was killed opens its library" "$(cat opened)" "opened"

done_testing
