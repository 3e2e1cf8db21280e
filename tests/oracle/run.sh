#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# runs beside others
#
# Runs programs one instruction at a time with tests/oracle/step.  After each instruction step
# compares the decoded context with the true chain of calls.  Damaged programs show that it finds
# mistakes.
#
#   run.sh              each workload once, up to 50,000 instructions; a part of a real program;
#                       6 random programs; the damaged programs
#   run.sh --full       each workload at each optimisation level, PIE and not; at least 20 million
#                       instructions of real programs; 300 random programs; the damaged programs
#   run.sh [--full] WORD...     only runs whose name has one of the words ("captured": those below)
#   run.sh --full --jobs=A-B    only the runs with these numbers, counted from 0 (B may be
#                               missing), to spread the long form over days or machines
#
# In some runs the program also asks for its context at random instructions (step --capture), with
# programs/capture_handler.c.  The long form compares at least a million contexts and a million
# names in these runs.
#
# Workloads are compiled with -DPCCE_STEPPED, which makes their loops short
# (tests/workloads/burn.h). The word "step:" in their headers gives options for step.  The results
# of each run stay in $out/tests/oracle/results.
#
# A run passes if step compared something, found no mismatch, and found only marks of states in the
# making.  The program must end with status 0.  Real programs may be stopped before their end.

. "$(dirname "$0")/../lib.sh"

here=$top/tests/oracle
step=$out/tests/oracle/step
damage=$out/tests/oracle/damage
generate=$out/tests/oracle/generate
results=$out/tests/oracle/results
programs=$out/programs
least_real=20000000
least_captured=1000000
limit=3000000 # instructions of a workload, which few reach
captured_limit=3000000 ends=0
hybrid=-fplugin-arg-pcce_plugin-hybrid # as a flag: the program gets hybrid encoding

# ---- one run -----------------------------------------------------------------------------

words_of() { # SOURCE KEY
	sed -n "s/^ \* $2: *//p" "$1"
}

number() { # RESULTS KEY
	sed -n "s/^$2: *\([0-9]*\).*/\1/p" "$1"
}

summary() { # RESULTS
	local r
	echo "$(number "$1" instructions) instructions, $(number "$1" exact) exact$(
		for r in truncated $(sed -n 's/^\(undecodable_[a-z_]*\): .*/\1/p' "$1"); do
			[ "$(number "$1" "$r")" = 0 ] ||
				echo -n ", $(number "$1" "$r") ${r#undecodable_}"
		done
	)"
	if [ -n "$(number "$1" captures)" ]; then
		echo "#   $(number "$1" captured_samples) captured contexts, $(
			number "$1" captured_exact) exact; $(number "$1" names) names, $(
			number "$1" names_distinct) distinct; $(number "$1" names_unfilled) of claimed entries"
	fi
}

# stepped NAME [STEP-OPTION...] PROGRAM [ARGUMENT...]: prints a result for collect()
stepped() {
	local name=$1 file status
	shift
	file=$results/${name//[^a-zA-Z0-9_=.+-]/_}
	timeout -k 5 3000 "$step" -o "$file" "$@" >"$scratch/stdout" 2>"$scratch/stderr" </dev/null
	status=$?
	if [ $status = 0 ] && grep -q "^status: \(${may_end:-0}\)$" "$file"; then
		echo "ok $name: $(summary "$file")"
	else
		echo "not ok $name: step ended with $status"
		echo "$*"
		head -n 60 "$file"
		tail -n 20 "$file" | grep -v ': 0$'
		tail -n 5 "$scratch/stderr"
	fi
}

build_workload() { # SOURCE FLAGS OUTPUT
	local compiler=$CC flags
	case $1 in *.cc) compiler=$CXX ;; esac
	flags=$(words_of "$1" flags | sed 's/-O[0-9s]//g')
	# shellcheck disable=SC2046,SC2086 # lists of flags
	$compiler $flags -DPCCE_STEPPED -I"$top/include" -I"$top/userlib" \
		-g $(pcce-config --cflags) $2 "$1" $(pcce-config --ldflags) -o "$3" || return
	case $2 in *"$hybrid"*) pcce-encode --hybrid "$3" ;; esac
}

job_workload() { # SOURCE FLAGS
	local name
	name=$(basename "${1%.*}")
	if build_workload "$1" "$2" "$scratch/$name" 2>"$scratch/log"; then
		# shellcheck disable=SC2046 # a list of options
		stepped "$name $2" --limit=$limit $(words_of "$1" step) "$scratch/$name"
	else
		echo "not ok $name $2: builds"
		cat "$scratch/log"
	fi
}

# ---- captures ----------------------------------------------------------------------------

# How often the program asks, on average.
period() {
	if [ $full = 1 ]; then echo 2; else echo 10; fi
}

capture_handler() { # OUTPUT FLAGS...
	local to=$1
	shift
	# shellcheck disable=SC2046 # a list of flags
	$CC -O2 -g -fPIC -I"$top" -I"$top/include" $(pcce-config --cflags) \
		"$here/programs/capture_handler.c" "$@" -o "$to"
}

job_captured() { # SOURCE FLAGS
	local name source=$1 flags=$2 own
	name=$(basename "${source%.*}")
	own=$(words_of "$source" step)
	# shellcheck disable=SC2086 # a list of options
	built "captured $name $flags" '
		capture_handler "$scratch/handler.o" -c
		build_workload "$source" "$flags $scratch/handler.o" "$scratch/program"' &&
		may_end=$ends stepped "captured $name $flags" --limit=$captured_limit \
			--capture="$(period)" $own "$scratch/program"
}

job_captured_shlib() { # FLAGS
	local w=$top/tests/workloads flags
	flags="$1 -DPCCE_STEPPED -g $(pcce-config --cflags)"
	built "captured shlib $1" '
		capture_handler "$scratch/handler.o" -c
		$CC $flags -fPIC -shared "$w/shlib.c" $(pcce-config --ldflags) -o "$scratch/libshlib.so"
		cp "$scratch/libshlib.so" "$scratch/libopened.so"
		$CC $flags "$w/shlib_main.c" "$scratch/handler.o" $(pcce-config --ldflags) -L"$scratch" -lshlib -Wl,-rpath,"$scratch" -ldl -o "$scratch/shlib_main"' &&
		may_end=$ends stepped "captured shlib $1" --limit=$captured_limit \
			--capture="$(period)" "$scratch/shlib_main" "$scratch/libopened.so"
}

# step changes some of the results, and must find that.
job_captured_mistake() { # MISTAKE KEY
	local name="captured with a wrong $1" file=$results/captured-mistake-$1 status
	built "$name" '
		capture_handler "$scratch/handler.o" -c
		build_workload "$top/tests/workloads/recursion.c" "-O2 $scratch/handler.o" "$scratch/program"' ||
		return
	"$step" -o "$file" --limit=20000 --capture=5 --mistake="$1" "$scratch/program" \
		>/dev/null 2>&1 </dev/null
	status=$?
	if [ $status = 1 ] && [ "$(number "$file" mismatches)" = 0 ] &&
		[ "$(number "$file" captured_exact)" -gt 0 ] && grep -q "^\($2\): [1-9]" "$file"; then
		echo "ok $name is seen: $(grep "^\($2\): [1-9]" "$file" | head -n 1)"
	else
		echo "not ok $name is seen (step ended with $status)"
		tail -n 40 "$file"
	fi
}

# A program, a library it is linked with and one that it opens, calling each other.
job_shlib() { # FLAGS
	local w=$top/tests/workloads dir=$scratch flags
	flags="$1 -DPCCE_STEPPED -g $(pcce-config --cflags)"
	# shellcheck disable=SC2046,SC2086
	if $CC $flags -fPIC -shared "$w/shlib.c" $(pcce-config --ldflags) -o "$dir/libshlib.so" \
		2>"$dir/log" &&
		cp "$dir/libshlib.so" "$dir/libopened.so" &&
		$CC $flags "$w/shlib_main.c" $(pcce-config --ldflags) -L"$dir" \
			-lshlib -Wl,-rpath,"$dir" -ldl -o "$dir/shlib_main" 2>"$dir/log"; then
		stepped "shlib $1" --limit=$limit "$dir/shlib_main" "$dir/libopened.so"
	else
		echo "not ok shlib $1: builds"
		cat "$dir/log"
	fi
}

# The library is instrumented, the program is not. The linker finds symbols for 160,000 instructions
# before the first that is compared.
job_library() { # FLAGS
	local w=$top/tests/workloads dir=$scratch
	# shellcheck disable=SC2046,SC2086
	if $CC $1 -DPCCE_STEPPED -g $(pcce-config --cflags) -fPIC -shared "$w/shlib.c" \
		$(pcce-config --ldflags) -o "$dir/libshlib.so" 2>"$dir/log" &&
		cp "$dir/libshlib.so" "$dir/libopened.so" &&
		$CC $1 -DPCCE_STEPPED -g "$w/shlib_main.c" -L"$dir" -lshlib -Wl,-rpath,"$dir" \
			-ldl -o "$dir/main" 2>"$dir/log"; then
		stepped "library only $1" --limit=$((limit + 250000)) "$dir/main" "$dir/libopened.so"
	else
		echo "not ok library only $1: builds"
		cat "$dir/log"
	fi
}

# built NAME COMMAND: prints the result and fails if the program cannot be built
built() {
	local name=$1
	shift
	if ! (set -e; eval "$*") >"$scratch/log" 2>&1; then
		echo "not ok $name: builds"
		cat "$scratch/log"
		return 1
	fi
}

# A library that is closed and opened again at another address.
job_reopen() { # FLAGS
	local w=$top/tests/workloads flags
	flags="$1 -DPCCE_STEPPED -g $(pcce-config --cflags)"
	built "reopen $1" '
		$CC $flags -fPIC -shared "$w/module.c" $(pcce-config --ldflags) -o "$scratch/module.so"
		$CC $flags "$w/module_reopen.c" $(pcce-config --ldflags) -Wl,--export-dynamic-symbol=module_hook -ldl -o "$scratch/reopen"' &&
		stepped "reopen $1" --limit=$limit "$scratch/reopen" "$scratch/module.so"
}

# An instrumented malloc that replaces the C library's, in a program with slots and one without.
job_preload() { # FLAGS
	local w=$top/tests/workloads plain=$1 flags
	flags="$1 -DPCCE_STEPPED -g $(pcce-config --cflags)"
	built "preload $1" '
		$CC $flags -fPIC -shared -fno-builtin "$w/preload_malloc.c" $(pcce-config --ldflags) -o "$scratch/malloc.so"
		$CC $flags -fno-builtin -pthread "$w/preload_main.c" $(pcce-config --ldflags) -o "$scratch/with"' &&
		stepped "preload $1" --limit=$limit --preload="$scratch/malloc.so" "$scratch/with"
}

job_preload_plain() { # FLAGS
	local w=$top/tests/workloads plain=$1 flags
	flags="$1 -DPCCE_STEPPED -g $(pcce-config --cflags)"
	built "preload, program without slots $1" '
		$CC $flags -fPIC -shared -fno-builtin "$w/preload_malloc.c" $(pcce-config --ldflags) -o "$scratch/malloc.so"
		$CC $plain -DPCCE_STEPPED -fno-builtin -pthread "$w/preload_main.c" -o "$scratch/without"' &&
		stepped "preload, program without slots $1" --limit=$((limit + 250000)) \
			--preload="$scratch/malloc.so" "$scratch/without"
}

# The first access to a thread-local block calls malloc, which is instrumented.  -mtls-dialect=gnu2
# asks for TLS descriptors.
job_tls() { # FLAGS
	local w=$top/tests/workloads flags
	flags="$1 -DPCCE_STEPPED -g $(pcce-config --cflags)"
	built "tls $1" '
		$CC $flags -fPIC -shared -fno-builtin "$w/preload_malloc.c" $(pcce-config --ldflags) -o "$scratch/malloc.so"
		$CC $flags -fPIC -shared "$w/module_tls.c" $(pcce-config --ldflags) -o "$scratch/module.so"
		$CC $flags -fPIE -pie -pthread "$w/module_tls_main.c" $(pcce-config --ldflags) -ldl -o "$scratch/tls"' &&
		stepped "tls $1" --limit=$limit --preload="$scratch/malloc.so" "$scratch/tls" \
			"$scratch/module.so"
}

# A library whose exported functions call each other. OVER is what comes in between: nothing, or a
# library with or without slots, which is loaded before it, or opened while the program runs.
# PROGRAM: with or without slots.
job_gates() { # OVER PROGRAM FLAGS LIBRARY-FLAGS
	local w=$top/tests/workloads over=$1 program=$2 plain flags argv=() options=()
	plain="$3 -g -DPCCE_STEPPED"
	flags="$plain $(pcce-config --cflags)"
	case $over in
	with | late) options=("$flags" "$(pcce-config --ldflags)") ;;
	*) options=("$plain" "") ;;
	esac
	built "gates $*" '
		$CXX $flags -fPIC -shared "$w/gates_lib.cc" $(pcce-config --ldflags) '"$4"' -o "$scratch/libgates.so"
		$CXX ${options[0]} -fPIC -shared "$w/gates_over.cc" ${options[1]} -ldl -o "$scratch/over.so"
		case $program in
		slots) $CXX $flags "$w/gates_main.cc" $(pcce-config --ldflags) -L"$scratch" -lgates -Wl,-rpath,"$scratch" -ldl -pthread -o "$scratch/main" ;;
		*) $CXX $plain "$w/gates_main.cc" -L"$scratch" -lgates -Wl,-rpath,"$scratch" -ldl -pthread -o "$scratch/main" ;;
		esac' || return
	options=()
	case $over in
	with | without) options=(--preload="$scratch/over.so") ;;
	late) argv=("$scratch/over.so") ;;
	esac
	# Some of them need many instructions before the first of the program.
	stepped "gates $*" --limit=3000000 "${options[@]}" "$scratch/main" "${argv[@]}"
}

# A program that imports a C++20 module.
job_modules() { # FLAGS
	local w=$top/tests/workloads flags
	flags="$1 -std=c++20 -fmodules-ts -DPCCE_STEPPED -g $(pcce-config --cflags)"
	cd "$scratch" || return # the compiled interface goes to the current directory
	built "modules $1" '
		$CXX $flags -c "$w/module_shapes.cc" -o shapes.o
		$CXX $flags "$w/module_import.cc" shapes.o $(pcce-config --ldflags) -o modules' &&
		stepped "modules $1" --limit=$limit "$scratch/modules"
}

# Exceptions that land in a library without slots, or in such a part of a static program.
job_foreign() { # WORKLOAD FLAGS
	local w=$top/tests/workloads plain=$2 flags
	flags="$2 -DPCCE_STEPPED -g $(words_of "$w/$1.cc" flags) $(pcce-config --cflags)"
	built "$1 $2" '
		$CXX $plain -fPIC -shared "$w/foreign_eh_lib.cc" -o "$scratch/libforeign.so"
		$CXX $flags "$w/'"$1"'.cc" $(pcce-config --ldflags) -L"$scratch" -lforeign -Wl,-rpath,"$scratch" -o "$scratch/eh"' &&
		stepped "$1 $2" --limit=$limit "$scratch/eh"
}

job_foreign_static() { # FLAGS LIMIT
	local w=$top/tests/workloads plain=$1 flags
	flags="$1 -DPCCE_STEPPED -g $(pcce-config --cflags)"
	built "foreign_eh $1" '
		$CXX $plain -c "$w/foreign_eh_lib.cc" -o "$scratch/foreign.o"
		$CXX $flags "$w/foreign_eh.cc" "$scratch/foreign.o" $(pcce-config --ldflags) -o "$scratch/eh"' &&
		stepped "foreign_eh $1" --limit="$2" "$scratch/eh"
}

# A program whose calls through pointers have values by their types.
job_types() { # PROGRAM FLAGS [STEP-OPTION...] ARGUMENTS
	local program=$1 flags=$2 name="types $*" n language=c
	shift 2
	[[ $program = *.c ]] || language=c++
	flags="$flags -fno-devirtualize-speculatively -g $(pcce-config --cflags)"
	built "$name" '
		$CXX -x $language $flags "$here/programs/$program" -x none $(pcce-config --ldflags) -o "$scratch/types"' || return
	n=$(pcce-encode --dump=json "$scratch/types" | sed -n 's/^ "calls_of_types": \([0-9]*\),$/\1/p')
	if [ "${n:-0}" -lt 6 ]; then
		echo "not ok $name: has calls of types (${n:-none})"
		return
	fi
	# shellcheck disable=SC2086 # the last argument is a list
	stepped "$name" --limit=$((2 * limit)) "${@:1:$#-1}" "$scratch/types" ${!#}
}

# A program with guards by a recording of itself (or by initial values, with - as the arguments), or
# with -shared a library that has nearly all of it. KEY is that of the dump which counts the guards;
# there must be LEAST.
with_guards() { # PROGRAM MORE-FLAGS KEY LEAST RECORDED-ARGUMENTS FLAGS [STEP-OPTION...] ARGUMENTS
	local source=$1 more=$2 key=$3 least=$4 recorded=$5 flags=$6 program=${1%.*} language=c n
	local name="$program ${*:6}" guarded=$scratch/$program
	shift 6
	[[ $source = *.c ]] || language=c++
	flags="$flags $more -g $(pcce-config --cflags)"
	if [[ $flags = *-shared* ]]; then
		guarded=$scratch/lib$program.so
		built "$name" '
			$CXX -x $language $flags -Dmain=run_it "$here/programs/$source" -x none $(pcce-config --ldflags) -o "$guarded"
			echo "int run_it(int, char **); int main(int n, char **v) { return run_it(n, v); }" >"$scratch/main"
			$CXX -x $language ${flags/-shared/} "$scratch/main" -x none $(pcce-config --ldflags) -L"$scratch" -l$program -Wl,-rpath,"$scratch" -o "$scratch/$program"' || return
	else
		built "$name" '
			$CXX -x $language $flags "$here/programs/$source" -x none $(pcce-config --ldflags) -o "$guarded"' || return
	fi
	[ "$recorded" = - ] || built "$name" '
		pcce-record -q -b self -F 2000 -o "$scratch/data" -- "$scratch/$program" $recorded
		pcce-encode -p "$scratch/data" "$guarded"' || return
	n=$(pcce-encode --dump=json "$guarded" | sed -n "s/^ \"$key\": \([0-9]*\),$/\1/p")
	if [ "${n:-0}" -lt "$least" ]; then
		echo "not ok $name: has $key (${n:-none})"
		return
	fi
	# shellcheck disable=SC2086 # the last argument is a list
	stepped "$name" --limit=$((2 * limit)) "${@:1:$#-1}" "$scratch/$program" ${!#}
}

# It then calls the expected functions, or others. GCC 16 would guard some of the calls itself.
job_guards() { # FLAGS [STEP-OPTION...] ARGUMENTS
	with_guards guards.cc -fno-devirtualize-speculatively guards 8 1000000 "$@"
}

# Its tail calls through pointers have the guards.
job_tails() { # FLAGS [STEP-OPTION...] ARGUMENTS
	with_guards tails.c -foptimize-sibling-calls guards_of_tail_calls 4 "500000 same" "$@"
}

# The same without a recording.
job_initial() { # FLAGS [STEP-OPTION...] ARGUMENTS
	with_guards tails.c -foptimize-sibling-calls guards_of_tail_calls 1 - "$@"
}

# pick NAME WORD...: sets a variable to one of the words (splitmix64).  The same seed in `picked`
# picks the same words.
pick() {
	local name=$1 z
	shift
	picked=$((picked + 0x9e3779b97f4a7c15))
	z=$(((picked ^ (picked >> 30 & 0x3ffffffff)) * 0xbf58476d1ce4e5b9))
	z=$(((z ^ (z >> 27 & 0x1fffffffff)) * 0x94d049bb133111eb))
	shift $(((z >> 33 & 0x7fffffff) % $#))
	eval "$name=\$1"
}

# A random program, and its library, compiled and linked in random ways.
job_random() { # SEED
	local level kind more link signal data language picked=$1 name compiler=$CC options=()
	pick level -O1 -O2 -O2 -O3 -Os -O0
	pick kind "-fPIE -pie" "-fno-pie -no-pie" "-fPIC -pie"
	pick more "" "" "" "" -fcf-protection -fno-plt -ffunction-sections -flto -mno-red-zone \
		-fno-omit-frame-pointer -fno-inline -fstack-protector-all \
		-fno-optimize-sibling-calls -fno-semantic-interposition
	pick link "" "" "" -Wl,-z,now -Wl,-z,lazy -Wl,-Bsymbolic-functions
	pick language c c c++
	pick signal "" --signal=USR1,97
	pick data "" "" counts hybrid breakpoints
	name=$(tr -s ' ' <<<"random $1 $language $level $kind $more $link $signal $data")
	[ $language = c ] || compiler=$CXX
	# shellcheck disable=SC2034 # for built()
	local flags="$level $more -w -g $(pcce-config --cflags)"
	[ "$data" != hybrid ] || flags="$flags $hybrid"
	# shellcheck disable=SC2016
	built "$name" '
		"$generate" '"$1"' "$scratch" $language
		cd "$scratch"
		$compiler -x $language $flags -fPIC -shared lib.c -x none $link $(pcce-config --ldflags) -o librandom.so
		$compiler -x $language $flags $kind main.c other.c -x none $link $(pcce-config --ldflags) -L. -lrandom -Wl,-rpath,"$scratch" -o random
		case $data in
		counts) pcce-record -q --count -o data -- ./random 200 && pcce-encode -p data random ;;
		hybrid) pcce-encode --hybrid random ;;
		breakpoints) pcce-encode --breakpoints librandom.so && pcce-encode --breakpoints random ;;
		esac' || return
	[ -z "$signal" ] || options=("$signal")
	may_end="0\|not ended.*" stepped "$name" --limit=$((limit < 300000 ? limit : 300000)) "${options[@]}" "$scratch/random" 20
}

# Real programs, as tests/programs builds them. The command may use $prog and $here.
job_program() { # NAME LIMIT COMMAND [STEP-OPTION...]
	local name=$1 n=$2 prog argv
	if ! bash "$top/tests/programs/$name.sh" --build >"$scratch/log" 2>&1; then
		echo "not ok $name: builds"
		tail -n 20 "$scratch/log"
		return
	fi
	prog=$programs/$name-pcce/$(sed -n 's/^elf=//p' "$top/tests/programs/$name.sh")
	cp -r "$here/programs" "$scratch/in"
	head -n 120 "$programs/inputs/text" >"$scratch/in/text" 2>/dev/null
	cd "$scratch/in" || return
	eval "argv=($3)"
	may_end="0\|not ended.*" stepped "program $name" --limit="$n" "${@:4}" "${argv[@]}"
}

job_captured_program() { # NAME LIMIT COMMAND
	# shellcheck disable=SC2016
	built "captured $1" 'capture_handler "$scratch/handler.so" -shared $(pcce-config --ldflags)' &&
		job_program "$@" --preload="$scratch/handler.so" --capture=10 |
		sed '1s/^\(ok\|not ok\) program/\1 captured program/'
}

# A mistake must be found, and the same program without it must pass.
job_damaged() { # KIND FUNCTION WORKLOAD PATTERN [FLAGS]
	local name="damaged: $1 in $2 of $3${5:+ $5}" file=$results/damaged-$1-$2-$3 n=60000 status
	if ! build_workload "$top/tests/workloads/$3" "-O2 ${5-}" "$scratch/good" 2>"$scratch/log" ||
		! "$damage" "$1" "$2" "$scratch/good" "$scratch/bad" 2>"$scratch/log"; then
		echo "not ok $name: builds"
		cat "$scratch/log"
		return
	fi
	# In the short form the workload's run shows that.
	[ $full = 0 ] || "$step" -o "$file.good" --limit="$n" "$scratch/good" \
		>/dev/null 2>"$scratch/log" </dev/null || {
		echo "not ok $name: passes before it"
		tail -n 30 "$file.good"
		return
	}
	timeout 600 "$step" -o "$file" --limit="$n" "$scratch/bad" \
		>/dev/null 2>"$scratch/log" </dev/null
	status=$?
	if [ $status = 1 ] && [ "$(number "$file" exact)" -gt 0 ] && grep -q "$4" "$file"; then
		echo "ok $name is seen: $(grep "$4" "$file" | head -n 1)"
	else
		echo "not ok $name is seen (step ended with $status)"
		tail -n 25 "$file"
	fi
}

# A system call that would make a task with the same page, and is refused: while it is under way,
# contexts are marked, and for no other reason than these.
job_refused() {
	local file=$results/refused
	# shellcheck disable=SC2046 # a list of flags
	built refused '$CC -O2 -g $(pcce-config --cflags) "$top/tests/hostile/tasks.c" \
		$(pcce-config --ldflags) -pthread -o "$scratch/tasks"' || return
	timeout 600 "$step" -o "$file" --limit=100000 "$scratch/tasks" refused 1 1 \
		>/dev/null 2>"$scratch/log" </dev/null
	if [ "$(number "$file" mismatches)" = 0 ] && [ "$(number "$file" undecodable_shared_page)" -gt 0 ] &&
		! grep '^undecodable_' "$file" | grep -Ev 'shared_page|restoring|: 0$'; then
		echo "ok a refused task: $(summary "$file")"
	else
		echo "not ok a refused task"
		tail -n 25 "$file" | grep -v ': 0$'
	fi
}

if [ "${1-}" = --job ]; then
	full=$2
	shift 2
	[ $full = 1 ] || limit=50000 captured_limit=30000 ends="0\|not ended.*"
	may_end=$ends
	file=$1
	shift
	function=job_$1
	shift
	"$function" "$@" >"$file.part" 2>&1
	mv "$file.part" "$file"
	exit 0
fi

# ---- what is to be run -----------------------------------------------------------------------

full=0
if [ "${1-}" = --full ]; then
	full=1
	shift
fi
first=0 last=
case ${1-} in
--jobs=*-*)
	first=${1#--jobs=} last=${1##*-}
	first=${first%%-*}
	shift
	;;
esac
wanted=("$@")
jobs=()

add() { # FUNCTION ARGUMENT...
	local word text="$*"
	for word in "${wanted[@]-}"; do
		case $text in *"$word"*)
			jobs+=("$(printf '%q ' "$@")")
			return
			;;
		esac
	done
}

# Adds the job in the long form only.
long() { # FUNCTION ARGUMENT...
	[ $full = 0 ] || add "$@"
}

since() { # GCC-VERSION FUNCTION ARGUMENT...: adds the job if the compiler is new enough
	local n=${#jobs[@]} version=$1
	shift
	add "$@"
	if ! gcc_is "$version" && [ ${#jobs[@]} -gt "$n" ]; then
		unset "jobs[$n]"
		skip "$(basename "$2") ${*:3}" "needs GCC $version"
	fi
}

if [ $full = 1 ]; then
	levels="-O0 -O1 -O2 -O3 -Os" kinds="-pie -no-pie"
else
	levels=-O2 kinds=-pie
fi
for source in "$top"/tests/workloads/*.c "$top"/tests/workloads/*.cc; do
	case $(basename "$source") in shlib* | module* | foreign* | preload* | gates*) continue ;; esac
	version=$(gcc_for "$source")
	: "${version:=0}"
	for level in $levels; do
		for kind in $kinds; do
			case " $(words_of "$source" flags) " in *" -static "*) [ "$kind" = -pie ] &&
				kind=-static ;; esac
			case $kind in
			-pie) since "$version" workload "$source" "$level -fPIE -pie" ;;
			-static) since "$version" workload "$source" "$level" ;;
			-no-pie) since "$version" workload "$source" "$level -fno-pie -no-pie" ;;
			esac
		done
		case $full$(basename "$source") in
		1* | 0callbacks.c | 0odd.c | 0recursion.c | 0setjmp.c | 0tailcalls.c | 0threads.c | 0depths.c | \
			0exceptions_more.cc | 0coroutines.cc | 0signals.c)
			since "$version" workload "$source" "$level $hybrid"
			;;
		esac
	done
done
for level in $levels; do
	add shlib "$level"
	add library "$level"
	add reopen "$level"
	add preload "$level"
	add preload_plain "$level"
	add modules "$level"
	add tls "$level -mtls-dialect=gnu"
	add tls "$level -mtls-dialect=gnu2"
	for kind in $kinds "-fPIC -shared"; do
		case $kind in -pie | *-shared) ;; *) kind="-fno-pie $kind" ;; esac
		long guards "$level $kind" 40
		add guards "$level $kind" "40 other"
		add guards "$level $kind" --signal=USR1,97 40
	done
	for kind in $kinds; do
		case $kind in -pie) ;; *) kind="-fno-pie $kind" ;; esac
		long types types.c "$level $kind" 40
		add types types.c "$level $kind -fcf-protection" --signal=USR1,97 40
		long types guards.cc "$level $kind -DLOOPS" 40
		add types guards.cc "$level $kind -DLOOPS" --signal=USR1,97 "40 other"
	done
	for kind in $kinds "-fPIC -shared"; do
		[ "$level" != -O0 ] || continue
		case $kind in -pie | *-shared) ;; *) kind="-fno-pie $kind" ;; esac
		long tails "$level $kind" 20
		add tails "$level $kind -fcf-protection" --signal=USR1,97 20
		add initial "$level $kind" --signal=USR1,97 20
	done
	add foreign foreign_eh "$level"
	add foreign foreign_lost "$level"
	long gates nothing slots "$level" -Wl,-z,lazy
	long gates without slots "$level" -Wl,-z,lazy
	long gates with slots "$level" -Wl,-z,lazy
	add gates late slots "$level" -Wl,-z,lazy
	long gates with plain "$level" -Wl,-z,lazy
	add gates without slots "$level" -Wl,-z,now
	add gates with slots "$level -fno-plt" -Wl,-z,lazy
done
# What decides how a library calls its own functions.
if [ $full = 1 ]; then
	for over in nothing with without; do
		[ $over = with ] || add gates $over slots "-O2 -fno-plt" -Wl,-z,lazy
		add gates $over slots "-O2 -fno-semantic-interposition" -Wl,-z,lazy
		add gates $over slots -O2 -Wl,-Bsymbolic
		add gates $over slots -O2 -Wl,-Bsymbolic-functions
		add gates $over plain -O2 -Wl,-z,now
		add gates $over slots "-O2 -fcf-protection=full -ffunction-sections -Wl,--gc-sections" -Wl,-z,lazy
		add gates $over slots "-O2 -flto" -Wl,-z,lazy
	done
fi
if [ $full = 1 ]; then
	# Looking up the first frame takes a static program 12 million instructions.
	for flags in -static "-static-libgcc -static-libstdc++"; do
		add foreign_static "-O2 -fPIE $flags" 20000000
	done
fi

# Ways to compile that change what a call looks like, or what surrounds it.
of="cxx.cc exceptions_more.cc odd.c split.c tailcalls.c"
for source in $of; do
	for flags in -flto '-fPIE -static-pie' -fcf-protection=full '-fno-plt -fPIE -pie' \
		'-fPIC -pie' -fnon-call-exceptions \
		'-mno-red-zone -mavx2' -fno-omit-frame-pointer; do
		[ $full = 1 ] || [ "$source$flags" = odd.c-flto ] ||
			[ "$source$flags" = "odd.c-fPIE -static-pie" ] || continue
		add workload "$top/tests/workloads/$source" "-O2 $flags"
	done
done

# A jump arrives at an endbr64, and no record tells of it.
add workload "$top/tests/workloads/longjmp.c" "-O2 -static -fcf-protection=full"

# What newer versions of GCC have brought: checks that duplicate branches and returns, scrubbed
# stacks, inline string functions, passes close to the end.  The short form has one workload each.
while read -r version source flags; do
	[ $full = 0 ] || source="$of coroutines.cc"
	for s in $source; do
		# GCC 14 ends with an internal error there, without pcce, too.
		case $s$flags in coroutines.cc*-finstrument-functions*) continue ;; esac
		since "$version" workload "$top/tests/workloads/$s" "-O2 $flags"
	done
done <<'END'
12 split.c -fharden-compares -fharden-conditional-branches
13 split.c -finstrument-functions-once -funreachable-traps
14 exceptions_more.cc -fharden-control-flow-redundancy -fhardcfr-check-noreturn-calls=always
14 exceptions_more.cc -fhardened
14 cxx.cc -fstrub=all
14 odd.c -ftrampoline-impl=heap -fzero-call-used-regs=all
14 odd.c -ffold-mem-offsets -finline-stringops
15 cxx.cc -flate-combine-instructions -fext-dce -favoid-store-forwarding
15 split.c -flto -fipa-reorder-for-locality
16 indirect.c -fspeculatively-call-stored-functions -fdep-fusion -ffuse-ops-with-volatile-access
END

# Random programs: the same ones each time, since a test that has failed must fail again.
for ((seed = 1; seed <= (full ? 300 : 6); seed++)); do add random $seed; done

add refused

add damaged window dispatch indirect.c '^mismatches: [1-9]'
add damaged value twice indirect.c '^mismatches: [1-9]'
add damaged restore attempt setjmp.c '^mismatches: [1-9]'
add damaged window again indirect.c '^undecodable_no_edge: [1-9]'
add damaged value a mutual.c '^undecodable_wrong_callee: [1-9]'
add damaged restore _ZL7attemptjPj exceptions.cc '^mismatches: [1-9]'
add damaged depth shared depths.c '^undecodable_no_edge: [1-9]' $hybrid

if [ $full = 1 ]; then
	for source in "$top"/tests/workloads/*.c "$top"/tests/workloads/*.cc; do
		case $(basename "$source") in shlib* | module* | foreign* | preload* | gates*) continue ;; esac
		version=$(gcc_for "$source")
		kind="-fPIE -pie"
		case " $(words_of "$source" flags) " in *" -static "*) kind= ;; esac
		for level in -O0 -O2 -O3; do
			since "${version:-0}" captured "$source" "$level $kind"
		done
	done
	add captured "$top/tests/workloads/recursion.c" "-O2 -fno-pie -no-pie"
	add captured_shlib -O0
	add captured_program lua 3000000 '"$prog" script.lua'
	add captured_program sqlite 2000000 '"$prog" -batch :memory: ".read query.sql"'
else
	for source in recursion.c signals.c longjmp.c exceptions.cc threads.c; do
		add captured "$top/tests/workloads/$source" "-O2 -fPIE -pie"
	done
	since 11 captured "$top/tests/workloads/coroutines.cc" "-O2 -fPIE -pie"
fi
add captured_shlib -O2
add captured_mistake name names_wrong
add captured_mistake id "captured_mismatches\|captured_undecodable_no_edge"
add captured_mistake entry "captured_mismatches\|captured_undecodable_unknown_site"

if [ $full = 1 ]; then
	add program lua 20000000 '"$prog" script.lua'
	add program sqlite 20000000 '"$prog" -batch :memory: ".read query.sql"'
	add program grep 20000000 '"$prog" -E -n "(([a-z]+)e )+.* \2[a-z]* .*[0-4]$" text'
	add program make 20000000 '"$prog" -s -r -f work.mk'
	add program jsoncpp 20000000 '"$prog"'
else
	add program lua 200000 '"$prog" script.lua'
fi

# ---- run, and tell -----------------------------------------------------------------------------

mkdir -p "$results"
rm -f "$results"/*
at_once=$(nproc)
[ "$at_once" -le 4 ] || at_once=4
mkdir "$scratch/jobs"
all_jobs=${#jobs[@]}
for i in "${!jobs[@]}"; do
	[ "$i" -ge "$first" ] && [ "$i" -le "${last:-$i}" ] || unset "jobs[$i]"
done
echo "# ${#jobs[@]} of $all_jobs runs"
for i in "${!jobs[@]}"; do
	echo "bash $(printf '%q' "$0") --job $full $scratch/jobs/$i ${jobs[$i]}"
done | xargs -d '\n' -P "$at_once" --process-slot-var=SLOT -I{} \
	bash -c 'taskset -c $((SLOT % $(nproc))) {}'

real=0 all=0 contexts=0 names=0
for i in "${!jobs[@]}"; do
	if [ ! -e "$scratch/jobs/$i" ]; then
		not_ok "${jobs[$i]}" "came to no end"
		continue
	fi
	read -r line <"$scratch/jobs/$i"
	case $line in
	'ok '*)
		ok "${line#ok }"
		tail -n +2 "$scratch/jobs/$i"
		;;
	*) not_ok "${line#not ok }" "$(tail -n +2 "$scratch/jobs/$i" | head -n 100)" ;;
	esac
	n=$(sed -n '1s/.*: \([0-9]*\) instructions.*/\1/p' "$scratch/jobs/$i")
	all=$((all + ${n:-0}))
	case $line in 'ok program '*) real=$((real + n)) ;; esac
	read -r n more < <(sed -n 's/^#   \([0-9]*\) captured.*; \([0-9]*\) names,.*/\1 \2/p' \
		"$scratch/jobs/$i")
	contexts=$((contexts + ${n:-0})) names=$((names + ${more:-0}))
done
echo "# $all instructions in all, $real of them of real programs"
echo "# $contexts captured contexts, $names names"
if [ $full = 1 ] && [ ${#jobs[@]} = "$all_jobs" ] && [ ${#wanted[@]} = 0 ]; then
	check "$real instructions of real programs, at least $least_real" [ $real -ge $least_real ]
	check "$contexts captured contexts, at least $least_captured" \
		[ $contexts -ge $least_captured ]
	check "$names names, at least $least_captured" [ $names -ge $least_captured ]
fi
done_testing
