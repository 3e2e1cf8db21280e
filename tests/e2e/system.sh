#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# seconds: 900
#
# Records several processes, and the whole system (-p, -a, -u, -C, -G, --duration).  The programs
# (tests/e2e/system/work.c) have known contexts.  What else runs on the machine is not looked at.

. "$(dirname "$0")/../lib.sh"
sources_in system

refused() { # NAME TEXT OPTION...: pcce-record refuses these options with a sentence that has TEXT
	local name=$1 text=$2
	shift 2
	timeout 60 pcce-record -o refused.data "$@" >log 2>&1
	is "$name: status" $? "${refused_status-64}"
	if grep -qF -- "$text" log; then ok "$name"; else not_ok "$name" log; fi
}

refused "-a with -p" "cannot use -p with -a" -a -p 1
refused "-a with --count" "cannot use --count with -a" -a --count -- true
refused "-u with --verify" "cannot use --verify with -a" -u 0 --verify -- true
refused "a user that is not there" "no user has this name" -u "no such user" -- true
refused "a CPU that is not there" "must be numbers of CPUs" -C 100000 -- true
refused "half a range of CPUs" "must be numbers of CPUs" -C 0- -- true
refused "an empty word in a list" "cannot use -p" -p 1,,2
refused "a unit that is not there" "cannot use --duration=3h" --duration=3h -- true
refused_status=1
refused "no process has the name" "no process has this command name" -p no-such-command
refused "no process has the number" "no such process" -p 99999999
refused "the sampler self" "it samples only the program that it starts" -a -b self -- true
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chmod 755 "$scratch" && mkdir -m 777 open
	# shellcheck disable=SC2086
	for capabilities in "bpf perfmon:CAP_BPF and CAP_PERFMON" "perfmon:CAP_PERFMON" "bpf:CAP_BPF" \
		"sys_ptrace:CAP_SYS_PTRACE"; do
		drop=-sys_admin
		[ "${capabilities%%:*}" != sys_ptrace ] || drop=
		for c in ${capabilities%%:*}; do drop=$drop${drop:+,}-$c; done
		timeout 60 setpriv --bounding-set="$drop" pcce-record -o refused.data -a -- true >log 2>&1
		case $(cat log) in
		*"${capabilities#*:}"*) ok "without ${capabilities#*:}" ;;
		*) not_ok "without ${capabilities#*:}" log ;;
		esac
	done
else
	skip "without capabilities" "needs root and setpriv"
fi
if ! has_bpf; then
	skip "recordings" "pcce-record cannot use BPF: $bpf_reason"
	done_testing
fi

$CC $cflags "$w/work.c" $ldflags -o work && $CC -O2 -g "$w/work.c" -o sys-plain || exit 1
for name in sys-before sys-after sys-daemon sys-short sys-nap sys-nobody sys-root sys-left \
	sys-right sys-first sys-second sys-third sys-orphan sys-inside; do
	cp work "$name"
done
spun="main;outer;inner;spin"

commands_in() { # DATA: the names of our programs that have samples
	pcce-report -q -i "$1" --format=commands --min-percent=0 |
		sed -n 's/^ *[0-9.]*%  *[0-9]*  *[0-9]*  *[0-9]*  \(sys-.*\)/\1/p' | sort | paste -sd' '
}

of() { # DATA COMMAND NAME: one value of --stats of a command
	pcce-report -q -i "$1" --pid="$2" --stats | sed -n "s/^$3: *//p"
}

# exact_in NAME DATA COMMAND MINIMUM: all samples of the command in instrumented threads are exact.
# There are at least MINIMUM, nearly all in the known context, and each has an innermost function in
# it.
exact_in() {
	local name=$1 data=$2 command=$3 least=$4 exact contexts
	exact=$(of "$data" "$command" exact)
	if [ "${exact:-0}" -lt "$least" ] || [ "$(of "$data" "$command" undecodable)" != 0 ] ||
		[ $((exact + $(of "$data" "$command" outside))) != "$(of "$data" "$command" samples)" ]; then
		pcce-report -q -i "$data" --pid="$command" --stats >log 2>&1
		not_ok "$name: at least $least samples, all exact" log "$(commands_in "$data")"
		return
	fi
	ok "$name: at least $least samples, all exact"
	echo "#   $exact exact samples"
	# Frames of the C library and the loader are below these, and alone before main().
	contexts=$(pcce-report -q -i "$data" --pid="$command" --format=folded --no-kernel --no-inline |
		sed 's/ [0-9]*$//' | grep -v '^\[thread without pcce\]' | awk -F ';' '
		{
			context = other = ""
			for (i = 1; i <= NF; i++)
				if ($i ~ /^(main|outer|inner|nap|spin)$/)
					context = context (context == "" ? "" : ";") other $i
				else
					other = "? "
			if (context != "") print context
		}' | sort -u | grep -Evx "main|main;outer|main;outer;(inner|nap)|$spun")
	is "$name: contexts" "$contexts" ""
}

losses_add_up() { # NAME DATA
	if samples_add_up "$2"; then ok "$1: losses add up"; else not_ok "$1: losses add up" "$2.stats"; fi
}

# ---- several processes ---------------------------------------------------------------

: >pids
for name in sys-first sys-second sys-third; do
	./$name 1000000 &
	echo $! >>pids
done
mapfile -t pid <pids
timeout 300 pcce-record -b bpf -F 2000 -o two.data -p "${pid[0]}" -p "${pid[1]}" 2>log &
recorder=$!
wait_for_cpu "${pid[0]}" 500 && wait_for_cpu "${pid[1]}" 500
kill -INT $recorder
wait $recorder
is "two processes: status" $? 0
is "two processes: only these" "$(commands_in two.data)" "sys-first sys-second"
exact_in "two processes, the first" two.data "${pid[0]}" 100
exact_in "two processes, the second" two.data sys-second 100
losses_add_up "two processes" two.data
./sys-second 1000000 &
fourth=$!
timeout 300 pcce-record -b bpf -F 2000 -o named.data -p "sys-second,${pid[0]}" 2>log &
recorder=$!
wait_for_cpu "$fourth" 500
kill -INT $recorder
wait $recorder
is "by name: all of this name" "$(pcce-report -q -i named.data --pid=sys-second --format=threads |
	awk 'NR > 1 { print $3 }' | sort -n | paste -sd' ')" \
	"$(printf '%s\n' "${pid[1]}" "$fourth" | sort -n | paste -sd' ')"
kill "${pid[@]}" "$fourth"
wait "${pid[@]}" "$fourth" 2>/dev/null

./sys-first 1500 &
first=$!
./sys-second 2500 &
timeout 300 pcce-record -b bpf -F 2000 -o ended.data -p "$first" -p $! 2>log
is "processes that end: status" $? 0
is "processes that end: until the last has ended" "$(commands_in ended.data)" "sys-first sys-second"
wait

./sys-orphan 2000 orphan go &
timeout 300 pcce-record -b bpf -F 2000 -o orphan.data -p $! 2>log
wait
# The orphan began before the recording, so it is not recorded.
check "a child from before: no warning of it" eval '! grep -q "still run" log'
: >go
(
	sleep 1
	exec ./sys-orphan 2000 orphan gone
) &
timeout 300 pcce-record -b bpf -F 2000 -o orphan.data -p $! 2>log
wait
if grep -q "processes that still run after the program's end: 1" log; then
	ok "a child that outlives the process is counted"
else
	not_ok "a child that outlives the process is counted" log
fi
: >gone
rm -f daemon.done
timeout 300 pcce-record -b bpf -F 2000 -o daemon.data -- ./sys-daemon 3000 daemon daemon.done 2>log
if grep -q "processes that still run after the program's end: 1" log; then
	ok "a daemon that outlives the command is counted"
else
	not_ok "a daemon that outlives the command is counted" log
fi
for ((i = 0; i < 3000; i++)); do
	[ ! -e daemon.done ] || break
	sleep 0.1
done

# ---- the whole system ----------------------------------------------------------------

cat >script <<'END'
rm -f daemon.done
./sys-after 800
./sys-daemon 800 daemon daemon.done
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do ./sys-short 30; done
./sys-plain 500
i=0
while [ ! -e daemon.done ] && [ $i -lt 3000 ]; do sleep 0.1; i=$((i + 1)); done
exit 7
END
./sys-before 1000000 &
before=$!
timeout 300 pcce-record -a -F 1000 -o all.data -- sh script 2>log
is "the system: the command's status" $? 7
is "the system: the commands" "$(commands_in all.data)" \
	"sys-after sys-before sys-daemon sys-plain sys-short"
exact_in "the system, running before" all.data sys-before 300
exact_in "the system, started after" all.data sys-after 300
exact_in "the system, a daemon that forks twice" all.data sys-daemon 300
exact_in "the system, short-lived" all.data sys-short 200
losses_add_up "the system" all.data
is "the system: all short-lived processes" "$(pcce-report -q -i all.data --format=commands \
	--pid=sys-short | awk '$5 == "sys-short" { print $4 }')" 20
check "not instrumented: whole stacks" eval \
	'pcce-report -q -i all.data --pid=sys-plain --format=folded --no-kernel |
		grep "^\[thread without pcce\];_start;.*;main;.*spin [0-9]" >log'
is "the idle thread has no samples" "$(pcce-report -q -i all.data --pid=0 --stats 2>&1 |
	sed -n 's/^samples: //p')" "$(pcce-report -q -i all.data --pid=4294967295 --stats 2>&1 |
		sed -n 's/^samples: //p')"
for format in $(formats); do
	check "the system: $format can be written" pcce-report -q -i all.data --format="$format" -o out
done

timeout 300 pcce-record -a -F 1000 --duration=1500ms -o time.data 2>log
is "for a time: status" $? 0
exact_in "for a time" time.data sys-before 50
timeout 300 pcce-record -a -F 1000 --frames=none -o none.data -- ./sys-after 300 2>log
exact_in "without stacks" none.data sys-after 100
timeout 300 pcce-record -a -F 1000 --only='inner << main' -o only.data -- ./sys-after 500 2>log
is "--only: commands with the context" "$(commands_in only.data)" "sys-after sys-before"
timeout 300 pcce-record -a -F 1000 --hot -o hot.data -- ./sys-after 500 2>log
check "--hot: the context is found" eval 'pcce-report -q -i hot.data --format=folded |
	grep "^$spun [0-9]" >log'
timeout 300 pcce-record -a -e off-cpu -c 1000000 -o off.data -- ./sys-nap 1000 nap 2>log
exact_in "off-cpu" off.data sys-nap 1
check "off-cpu: the nap is one of the contexts" eval 'pcce-report -q -i off.data --pid=sys-nap \
	--format=folded | grep "^main;outer;nap;" >log'
timeout 300 pcce-record -a -e page-faults -c 1 -o faults.data -- ./sys-short 10 2>log
check "page-faults: of the command" [ "$(of faults.data sys-short samples)" -gt 10 ]

# What a program is called elsewhere is not where it is.  If it has ended when the recorder sees it,
# its name is that of another program here.
if unshare -m true 2>/dev/null; then
	timeout 300 pcce-record -a -F 1000 -o inside.data -- unshare -m sh -c \
		'mkdir -p there && mount -t tmpfs none there && mv sys-inside there && there/sys-inside 500' \
		2>log
	exact_in "another mount namespace" inside.data sys-inside 100
	sed "s/inner/other/g; s/spin/wrong/g" "$w/work.c" >other.c
	$CC $cflags other.c $ldflags -o sys-decoy || exit 1
	mkdir -p mine && cp work mine/sys-decoy
	timeout 300 pcce-record -a -F 1000 --duration=20 -o decoy.data 2>log &
	recorder=$!
	wait_for_samples decoy.data 0
	sleep 1
	pkill -STOP -P $recorder
	unshare -m sh -c 'mount --bind mine/sys-decoy sys-decoy && ./sys-decoy 300'
	pkill -CONT -P $recorder
	sleep 1
	kill -INT $recorder
	wait $recorder
	check "a name of another file here: the program is seen" \
		[ "$(of decoy.data sys-decoy samples)" -gt 50 ]
	is "... and nothing wrong of it" "$(pcce-report -q -i decoy.data --format=folded \
		--pid=sys-decoy | grep -c -e other -e wrong)" 0
else
	skip "another mount namespace" "unshare -m does not work here"
fi

# ---- limits of the system ------------------------------------------------------------

if command -v setpriv >/dev/null && setpriv --reuid=65534 --clear-groups true 2>/dev/null; then
	timeout 300 pcce-record -u 65534 -F 1000 -o user.data -- sh -c \
		'./sys-root 300 & setpriv --reuid=65534 --clear-groups ./sys-nobody 500; wait' 2>log
	is "-u: only this user" "$(commands_in user.data)" sys-nobody
	exact_in "-u" user.data sys-nobody 100
	losses_add_up "-u" user.data
else
	skip "-u" "setpriv cannot change the user here"
fi
if [ "$(nproc)" -gt 1 ] && taskset -c 0 true 2>/dev/null && taskset -c 1 true 2>/dev/null; then
	timeout 300 pcce-record -C 1 -F 1000 -o cpu.data -- sh -c \
		'taskset -c 0 ./sys-left 300 & taskset -c 1 ./sys-right 500; wait' 2>log
	exact_in "-C" cpu.data sys-right 100
	# It begins wherever the shell was.
	check "-C: few samples of another CPU's" [ "$(of cpu.data sys-left exact)" -le 5 ]
	kill -STOP $before
	refused_status=1 refused "-C with waits" "cannot limit the event off-cpu to CPUs" \
		-C 0 -e off-cpu -- true
	kill -CONT $before
else
	skip "-C" "two CPUs are needed"
fi
kill $before
wait $before 2>/dev/null
cgroups=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
group=pcce-test.$$
if [ -n "$cgroups" ] && mkdir "$cgroups/$group" 2>/dev/null; then
	mkdir "$cgroups/$group/below"
	timeout 300 pcce-record -G $group -F 1000 -o group.data -- sh -c \
		"./sys-root 300 & echo \$\$ >$cgroups/$group/below/cgroup.procs; ./sys-nobody 500; wait" 2>log
	is "-G: only this cgroup" "$(commands_in group.data)" sys-nobody
	exact_in "-G" group.data sys-nobody 100
	refused_status=64 refused "-G: no cgroup" "name a directory below" -G no-such-group -- true
	rmdir "$cgroups/$group/below" "$cgroups/$group"
else
	skip "-G" "no cgroup of version 2 can be made here"
fi
done_testing
