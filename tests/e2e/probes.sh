#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# pcce-record -e with probes of user code: each hit is a sample, with the exact context. Programs
# know how often they call, and pcce-record --count knows in which contexts.

. "$(dirname "$0")/../lib.sh"
. "$top/tests/e2e/probes/lib.sh"
cd "$scratch" || exit 1
has_bpf || skip_all "the bpf sampler: $bpf_reason"
[ -e /sys/bus/event_source/devices/uprobe/type ] || skip_all "this kernel has no uprobes"
# shellcheck disable=SC2046 # lists of flags
build() { $CC -g -O2 -Wall $(pcce-config --cflags) "$@" $(pcce-config --ldflags) >build.log 2>&1; }
# probe DATA OPTION... -- COMMAND: records it; its output is in DATA.out
probe() {
	local data=$1
	shift
	timeout -k 5 300 pcce-record -b bpf -o "$data" "$@" >"$data.out" 2>"$data.err"
}

# ---- functions, returns, static probes ----------------------------------------------------

calls=uprobe:leaf,uprobe:walk,uretprobe:walk,usdt:calls:always,usdt:calls:watched
for flags in -O2 "-O1 -fcf-protection" "-O2 -no-pie -fno-pie" "-O2 -flto"; do
	# shellcheck disable=SC2086 # a list of flags
	check "the program is built: $flags" build $flags "$top/tests/e2e/probes/calls.c" -pthread -o calls
	check "it is recorded" probe calls.data -e $calls -- ./calls 200
	probes_of_calls calls.data calls.data.out
	check "its calls are counted" pcce-record -q --count -o counted.data -- ./calls 200
	for function in leaf walk; do
		as_counted "$flags" calls calls.data $function counted.data
	done
done

# The kernel executes the instructions of probes elsewhere. A clock finds the thread there.
pcce-record -q --count -o counted.data -- ./calls 3000 >/dev/null
pcce-report -q -i counted.data --format=folded | own_frames calls | sed 's/ [^ ]*$//' |
	awk '{ n = split($0, f, ";"); line = ""
		for (i = 1; i <= n; i++) { line = line (i > 1 ? ";" : "") f[i]; print line } }' | sort -u >known
probe clock.data -e uprobe:leaf,uprobe:walk,uretprobe:other,cpu-clock/freq=5000/ -- ./calls 3000
pcce-report -q -i clock.data --event=cpu-clock --no-kernel --format=folded | grep -E '^(main|thread);' |
	own_frames calls | sed -E 's/ [^ ]*$//; :cut; /(^|;)(main|thread|work|leaf|other|walk|fire|handle)$/b; s/;[^;]*$//; t cut' |
	sort -u >seen
check "if samples are lost, nothing advises what several events cannot use" \
	eval "! grep -q -e '-b kmod' clock.data.err"
check "a clock beside probes has samples" [ "$(value_of clock.data cpu-clock exact)" -ge 20 ]
is "... and no other contexts" "$(comm -13 known seen)" ""
is "... nor code of nobody" "$(pcce-report -q -i clock.data --event=cpu-clock --no-kernel --format=folded |
	grep '^\[unknown\]')" ""

# ---- where and what ------------------------------------------------------------------------

cat >plain.c <<'END'
static volatile int sink;
int plain(int n) { return sink += n; }
int back(int (*f)(int), int n) { return f(n) + 1; }
END
cat >instrumented.c <<'END'
static volatile int sink;
__attribute__((noinline)) int exported(int n) { return sink += n; }
int library(int n) { return exported(n) + exported(n + 1) + 1; }
END
cat >main.c <<'END'
int plain(int n), back(int (*f)(int), int n), library(int n), exported(int n);
static int called(int n) { return plain(n) + 1; }
__attribute__((noinline)) static int direct(int n) { return plain(n) + library(n) + 1; }
int main(void)
{
	int sum = 0;
	for (int i = 0; i < 50; i++)
		sum += direct(i) + back(called, i) + exported(i);
	return sum == 0;
}
END
check "a program with libraries is built" sh -c "$CC -g -O2 -fPIC -shared plain.c -o libplain.so &&
	$CC -g -O2 -fPIC -shared $(pcce-config --cflags) instrumented.c $(pcce-config --ldflags) -o libown.so &&
	$CC -g -O2 $(pcce-config --cflags) main.c -L. -lplain -lown -Wl,-rpath,'\$ORIGIN' \
		$(pcce-config --ldflags) -o libraries"
check "functions of libraries are probed" probe libraries.data \
	-e uprobe:./libplain.so:plain,uprobe:./libown.so:exported,uprobe:called -- ./libraries
is "of a library that is not instrumented" "$(samples_of libraries.data 0 | own_frames libplain.so)" \
	"$(printf '%s\n' '[unknown];[unknown];plain 50' '[unknown];back;[unknown];plain 50')"
hits "of an instrumented library" libraries.data uprobe:./libown.so:exported 150
is "... in their contexts" "$(samples_of libraries.data 1 | sed "s/;exported@plt//" | awk '{ n[$1] += $2 } END { for (c in n) print c, n[c] }' | sort)" \
	"$(printf '%s\n' 'main;direct;library;exported 100' 'main;exported 50')"
is "functions that are called back" "$(samples_of libraries.data uprobe:called)" "main;back;called 50"

check "the whole system is recorded" probe system.data -a -e uprobe:./calls:walk -- ./calls 100
hits "the whole system" system.data uprobe:./calls:walk "$(cut -d' ' -f2 system.data.out)"

cat >wait.c <<'END'
#include <stdio.h>
__attribute__((noinline)) int asked(int c) { return c + !printf("%c", c); }
int main(void)
{
	int c;
	setvbuf(stdout, NULL, _IONBF, 0);
	while ((c = getchar()) != EOF)
		asked(c);
	return 0;
}
END
check "a program that waits is built" build wait.c -o wait
mkfifo in
./wait <in >wait.out &
exec 9>in
probe running.data -e uprobe:asked -p $! 9>&- &
recorder=$!
sent=0
until [ "$(value_of running.data 0 samples)" -ge 200 ] 2>/dev/null || [ $sent -ge 60000 ]; do
	printf "%100s" "" >&9
	sent=$((sent + 100))
	sleep 0.1
done
exec 9>&-
wait $recorder
samples=$(value_of running.data 0 samples)
check "a running process: $samples of at most $sent hits" [ "$samples" -ge 100 -a "$samples" -le $sent ]
is "... in their context" "$(samples_of running.data 0)" "main;asked $samples"

cat >exceptions.cc <<'END'
#include <cstdio>
#include <stdexcept>
namespace shop {
__attribute__((noinline)) void buy(int n) { if (n % 3 == 0) throw std::runtime_error("sold"); printf("."); }
struct shelf { __attribute__((noinline)) void take(int n) { buy(n); printf("-"); } };
}
int main()
{
	shop::shelf s;
	for (int i = 0; i < 30; i++) {
		try { s.take(i); } catch (std::exception &) { printf("!"); }
	}
}
END
# shellcheck disable=SC2046 # lists of flags
check "a program with exceptions is built" $CXX -g -O2 $(pcce-config --cflags) exceptions.cc \
	$(pcce-config --ldflags) -o exceptions
check "functions that exceptions leave are probed" probe exceptions.data \
	-e uprobe:shop::buy,uprobe:shop::shelf::take -- ./exceptions
is "... and the program does the same" "$(cat exceptions.data.out)" "$(./exceptions)"
for event in uprobe:shop::buy uprobe:shop::shelf::take; do
	hits "C++" exceptions.data $event 30
done

# ---- memory --------------------------------------------------------------------------------

for flags in "" "-no-pie -fno-pie"; do
	# shellcheck disable=SC2086 # a list of flags
	check "a program that writes variables is built: $flags" build $flags \
		"$top/tests/e2e/probes/memory.c" -pthread -o memory
	if probe memory.data -e mem:counter:w,mem:hidden,mem:text/8:w -- ./memory; then
		is "who writes a variable" "$(samples_of memory.data mem:counter:w | sort)" \
			"$(printf '%s\n' 'main;add 51' 'main;twice;add 100' 'thread;twice;add 200')"
		is "... another one" "$(samples_of memory.data mem:hidden | sort)" \
			"$(printf '%s\n' 'main;twice 50' 'thread;twice 100')"
		hits "a part of an array" memory.data mem:text/8:w 1
		is "nothing is marked" "$(value_of memory.data mem:counter:w exact)" 351
	elif grep -q "does not support the event" memory.data.err; then
		skip "who writes a variable" "the processor has no breakpoints"
	else
		not_ok "variables are watched" memory.data.err
	fi
done
address=0x$(nm memory | sed -n 's/ B counter$//p')
check "an address is watched" probe memory.data -e "mem:$address/8:w" -- ./memory
# The kernel clears the memory in exec.
is "... and what the program writes is found" "$(value_of memory.data 0 exact)" 351
address=$(pcce-check --probe twice ./memory)
case $address in # without an entry slot, it is that of the symbol
*" 0x"*) address=${address##* } ;;
*) address=0x$(nm memory | sed -n "s/ t twice$//p") ;;
esac
check "an instruction is watched" probe memory.data -e "mem:$address:x" -- ./memory
hits "an instruction" memory.data "mem:$address:x" 150

# ---- random programs -----------------------------------------------------------------------

for seed in 1 2 ${PCCE_TEST_LONG:+3 4 5 6}; do
	rm -rf random
	mkdir random
	check "random program $seed is built" sh -c "'$out/tests/oracle/generate' $seed random c &&
		$CC -w -g -O2 $(pcce-config --cflags) random/*.c $(pcce-config --ldflags) -o program"
	check "... its calls are counted" pcce-record -q --count -o counted.data -- ./program 3
	mapfile -t functions < <(pcce-report -q -i counted.data --format=folded |
		awk '{ w = $NF; sub(/ [^ ]*$/, ""); n = split($0, f, ";"); sum[f[n]] += w }
			END { for (name in sum) if (name ~ /^[a-z]/) print sum[name], name }' | sort -rn | awk 'NR <= 8 { print $2 }')
	check "... and probed: ${functions[*]}" probe random.data \
		"${functions[@]/#/-euprobe:}" -- ./program 3
	for function in "${functions[@]}"; do
		as_counted "random program $seed" program random.data "$function" counted.data
	done
done

# ---- what cannot be -------------------------------------------------------------------------

refused() { # NAME WORDS OPTION...: pcce-record fails, and says so
	local name=$1 words=$2
	shift 2
	pcce-record -o no.data "$@" >refused.out 2>&1 && not_ok "$name" refused.out
	if grep -q -- "$words" refused.out && [ "$(wc -l <refused.out)" = 1 ]; then
		ok "$name"
	else
		not_ok "$name" refused.out
	fi
}
printf '#!/bin/sh\nexec true\n' >script
chmod +x script
strip -R .pcce calls -o stripped 2>/dev/null || objcopy -R .pcce calls stripped
head -c 3000 calls >cut-off
refused "no such function" "calls has no function laef; did you mean leaf?" -e uprobe:laef -- ./calls
refused "no such probe" "has no USDT probe calls:nothing; it has calls:always, calls:watched" \
	-e usdt:calls:nothing -- ./calls
refused "a file without probes" "has no USDT probe a:b; it has none" -e usdt:./libplain.so:a:b -- ./calls
refused "no such file" "./nothing cannot be opened: No such file" -e uprobe:./nothing:f -- ./calls
mkfifo fifo
refused "a pipe" "fifo is not an ELF file" -e uprobe:./fifo:leaf -- ./calls
refused "a script" "script is not an ELF file" -e uprobe:f -- ./script
refused "a file that is cut off" "cut-off has no function leaf" -e uprobe:./cut-off:leaf -- ./calls
refused "a function of libc that is chosen" "name the function that it chooses" \
	-e "uprobe:$(ldd calls | sed -n 's/.* \(\/.*libc.so.6\) .*/\1/p'):strlen" -- ./calls
refused "a file without its encoding table" "its encoding table was stripped" -e uprobe:./stripped:leaf -- ./calls
refused "returns where exceptions may pass" "exceptions handles exceptions.*; use uprobe" \
	-e uretprobe:shop::buy -- ./exceptions
refused "no program" "there is no program; name its file, as uprobe:FILE:f" -a -e uprobe:f
refused "no name" "the name must be usdt:\[FILE:\]PROVIDER:NAME" -e usdt:x -- ./calls
refused "no such variable" "memory has no variable conter; did you mean counter?" -e mem:conter -- ./memory
refused "a wrong length" "the processor watches 1, 2, 4 or 8 bytes" -e mem:counter/3 -- ./memory
refused "reads alone" "the name must be mem:ADDRESS or mem:VARIABLE" -e mem:counter:r -- ./memory
refused "a wrong address" "must be a multiple of its length, 4 bytes" -e mem:0x12345 -- ./memory
refused "a variable in the whole system" "only in one command or process" -a -e mem:counter -- ./memory
refused "a variable beside counted calls" "cannot watch a variable with --count" --count -b bpf \
	-e mem:counter -- ./memory
refused "another sampler" "it supports only the events" -b self -e uprobe:leaf -- ./calls
[ -e /sys/bus/event_source/devices/kprobe/type ] ||
	refused "a kernel without kprobes" "this kernel has no kprobes" -e kprobe:vfs_read -- ./calls

done_testing
