#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# pcce-encode with profiles of each kind, and a program with far more contexts than ids have room
# for: which calls are cut, and are samples exact, also where the program does something else than
# it did in the profile?

. "$(dirname "$0")/../lib.sh"
cd "$scratch" || exit 1
cflags=$(pcce-config --cflags)
ldflags=$(pcce-config --ldflags)
levels=40

# Each function calls the next one at four places, nearly always at that which the argument names.
# The call at place P of level L is in line 100 * P + L + 100.  There are 4^40 contexts.
{
	echo 'extern int place; extern unsigned random_number; unsigned last(void);'
	for ((l = levels - 1; l >= 0; l--)); do
		next=level_$((l + 1))
		[ $l != $((levels - 1)) ] || next=last
		cat <<-END
			__attribute__((noipa)) unsigned level_$l(void)
			{
				int at = place;
				random_number = random_number * 1103515245 + 12345;
				if (!(random_number >> 16 & 63)) at = random_number >> 24 & 3;
				switch (at) {
		END
		for ((p = 0; p < 4; p++)); do
			printf 'case %d:\n#line %d\n' $p $((100 * p + l + 100))
			echo "{ unsigned r = $next(); __asm__ volatile(\"# $p\" : \"+r\"(r)); return r + 1; }"
		done
		echo '} return 0; }'
	done
} >levels.c
cat >main.c <<'END'
#include <stdio.h>
#include <stdlib.h>
int place;
unsigned random_number = 1;
unsigned level_0(void);
__attribute__((noipa)) void burn(void) { for (int i = 0; i < 1000; i++) __asm__ volatile(""); }
__attribute__((noipa)) unsigned last(void) { burn(); return random_number & 1; }
int main(int argc, char **argv)
{
	unsigned sum = 0;

	place = argc > 1 ? atoi(argv[1]) : 0;
	for (int i = 0; i < 200000; i++) sum += level_0();
	printf("%u\n", sum);
	return 0;
}
END

compile() { # PROGRAM FLAG...
	local program=$1
	shift
	# shellcheck disable=SC2086
	$CC -O2 -g "$@" main.c levels.c -o "$program" >log 2>&1
}

# pushes PROGRAM PLACE: how many calls of the place are pushes
pushes() {
	pcce-encode --dump -v "$1" | awk -v place="$2" '
		/line [0-9]+: push -> (level_|last)/ && match($0, /line [0-9]+/) {
			n += int(substr($0, RSTART + 5, RLENGTH - 5) / 100) == place + 1
		}
		END { print n + 0 }'
}

# A program that was encoded with a profile of place $2 (of none: -1).  At most $3 calls of this
# place may be cut: samples are a matter of chance.
is_exact() { # PROGRAM PLACE [CALLS]
	local place
	check "$1: calls are cut" test "$(pcce-encode --dump "$1" | sed -n 's/^edges cut: //p')" -gt 0
	[ "$2" -lt 0 ] || check "$1: $(pushes "$1" "$2") of the calls that the profile shows are cut" \
		test "$(pushes "$1" "$2")" -le "${3-0}"
	for place in 0 3; do
		pcce-record -q -b self -F 4000 --verify -o "$1.$place" -- "./$1" $place >got 2>err
		check "$1 $place: same output" cmp "want.$place" got
		recording_is_verified "$1 $place: contexts are the real ones" "$1.$place" 40
	done
}

# ---- the kinds -----------------------------------------------------------------------------

# shellcheck disable=SC2086
check "it builds" compile estimates $cflags $ldflags
for place in 0 3; do
	./estimates $place >want.$place
done
is_exact estimates -1

pcce-record -q -b self -F 5000 -o samples.data -- ./estimates 3 >got 2>err
check "encoded with samples" pcce-encode --profile=samples.data -o samples estimates
is_exact samples 3 2

pcce-record -q --count -o counts.data -- ./estimates 3 >got 2>err
check "encoded with counts" pcce-encode --profile=counts.data -o counts estimates
is_exact counts 3

# GCC names the files of a profile by the program.
use_profile() {
	local f
	compile generate -fprofile-generate && ./generate 3 >got || return 1
	for f in generate-*.gcda; do mv "$f" "compiler-${f#generate-}"; done
	# shellcheck disable=SC2086
	compile compiler -fprofile-use $cflags $ldflags
}
check "encoded with a profile of the compiler" use_profile
is_exact compiler 3

# ---- wrong and old profiles ------------------------------------------------------------------

# A profile may be of another encoding of the same build, and of other work.  is_exact() has run
# each program at places 0 and 3, of which the profile has seen one.
pcce-record -q --count -o other.data -- ./counts 0 >got 2>err
cp counts other
check "encoded with a profile of a former encoding" pcce-encode --profile=other.data other
is_exact other 0
pcce-merge -q -o both.data counts.data other.data 2>err
cp other both
check "encoded with joined profiles" pcce-encode --profile=both.data both
is_exact both -1
check "few of both are cut" test $(($(pushes both 0) + $(pushes both 3))) -le 4
check "recordings of each encoding stay readable" test \
	"$(pcce-report -i counts.data --stats | sed -n 's/^undecodable: *//p')" = 0
done_testing
