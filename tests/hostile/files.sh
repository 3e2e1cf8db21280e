#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The attacker owns the directory into which a tool writes, and prepares it: with symbolic links to
# files that must not change, with files that others can read, with pipes that he reads. The user
# may be root. Also: output files of every other kind, and tools that end early.

. "$(dirname "$0")/../lib.sh"

cd "$scratch" || exit 1
umask 022
chmod 755 "$scratch"
nobody=65534

build_generator
./generate small small.data
./generate big big.data 20000

# write_with TOOL FILE: makes the tool write FILE
write_with() {
	case $1 in
	pcce-record) pcce-record -q -b self -o "$2" -- /bin/true ;;
	pcce-merge) pcce-merge -q -o "$2" small.data ;;
	pcce-report) pcce-report -i small.data --format=flat -o "$2" ;;
	pcce-diff) pcce-diff -o "$2" small.data small.data ;;
	esac 2>tool.err
}

# owner_and_mode FILE
owner_and_mode() { stat -c '%u %a %F' "$1"; }
# hidden DIRECTORY: names that only a tool that is interrupted may leave
hidden() { find "$1" -name '.pcce*' -o -name '*.part'; }

me=$(id -u)
for tool in pcce-record pcce-merge pcce-report pcce-diff; do
	case $tool in pcce-record | pcce-merge) mode=600 ;; *) mode=644 ;; esac
	rm -rf d
	mkdir d
	echo precious >precious
	ln -s ../precious d/out.part
	ln -s ../precious d/out.old
	write_with $tool d/out
	is "$tool: a link of an expected name is not written through" \
		"$? $(cat precious) $(owner_and_mode d/out)" "0 precious $me $mode regular file"
	rm -rf d
	mkdir d
	(umask 0 && : >d/out.part)
	write_with $tool d/out
	is "$tool: a file that all can read is not used" "$? $(owner_and_mode d/out)" \
		"0 $me $mode regular file"
	is "$tool: leaves no other file" "$(hidden d | grep -v part$)" ""

	# What the user made himself is used.
	ln -s ../target d/mine
	rm -f target
	write_with $tool d/mine
	is "$tool: the user's own link is followed" "$? $(readlink d/mine) $(test -s target && echo data)" \
		"0 ../target data"
	ln -s loop d/loop
	write_with $tool d/loop
	is "$tool: links in a circle" "$? $(grep -c 'Too many levels' tool.err)" "1 1"
	write_with $tool d
	is "$tool: a directory" "$? $(grep -c 'Is a directory' tool.err)" "1 1"
	mkfifo fifo
	cat fifo >from.fifo &
	write_with $tool fifo
	is "$tool: the user's own pipe" "$?" 0
	wait $!
	check "  has the data" test -s from.fifo
	rm fifo
	write_with $tool /dev/stdout >redirected
	is "$tool: /dev/stdout that is a file" "$? $(test -s redirected && echo data)" "0 data"
	write_with $tool /dev/stdout | cat >redirected
	is "$tool: /dev/stdout that is a pipe" "$(test -s redirected && echo data)" data
	write_with $tool /dev/full
	is "$tool: /dev/full" "$(($? != 0)) $(grep -c 'No space left' tool.err)" "1 1"

	if [ "$me" != 0 ]; then
		skip "$tool: links and pipes of another user" "needs root"
		continue
	fi
	rm -rf d
	mkdir d
	chown $nobody d
	for target in ../precious /dev/null ../new /dev/stdout; do
		ln -sf $target d/out
		chown -h $nobody d/out
		write_with $tool d/out >redirected
		is "$tool: another user's link to $target" \
			"$? $(grep -c 'link of another user' tool.err) $(cat precious; cat redirected)" \
			"1 1 precious"
	done
	check "  makes no file" test ! -e new
	ln -sf out d/first
	write_with $tool d/first
	is "$tool: another user's link behind one's own" "$?" 1
	rm d/out d/first
	mkfifo d/out
	chown $nobody d/out
	write_with $tool d/out
	is "$tool: another user's pipe" "$? $(grep -c 'pipe of another user' tool.err)" "1 1"
	rm d/out
	echo old >d/out
	chmod 666 d/out
	chown $nobody d/out
	ln d/out d/second
	write_with $tool d/out
	is "$tool: another user's file is replaced" \
		"$? $(owner_and_mode d/out) $(cat d/second)" "0 0 $mode regular file old"
done

# ---- older files -------------------------------------------------------------------------------

rm -rf d
mkdir d
write_with pcce-report d/report
chmod 600 d/report
write_with pcce-report d/report
is "a report keeps the mode that its owner gave it" "$? $(owner_and_mode d/report)" \
	"0 $me 600 regular file"
cp d/report report.before
(
	ulimit -f 8
	exec pcce-report -i big.data --format=folded -o d/report
) >tool.err 2>&1
is "a report that is killed leaves the older one" "$? $(ls -A d)" "$((128 + 25)) report"
check "  as it was" cmp d/report report.before
(
	ulimit -f 8
	trap '' XFSZ
	exec pcce-report -i big.data --format=folded -o d/report
) >tool.err 2>&1
is "a report that does not fit leaves the older one" "$? $(ls -A d)" "1 report"
check "  as it was" cmp d/report report.before
pcce-record -q -b self -o d/pcce.data -- /bin/true
cp d/pcce.data older.data
pcce-record -q -b self -o d/pcce.data -- ./none 2>/dev/null
is "a command that cannot run leaves the older recording" "$? $(find d -type f | sort | xargs)" \
	"127 d/pcce.data d/report"
check "  as it was" cmp d/pcce.data older.data
is "a limit of file sizes does not kill the recorder, and not the program" \
	"$( (ulimit -f 0 && pcce-record -q -b self -o d/limited -- /bin/echo program; echo $?) 2>&1 | LC_ALL=C sort)" \
	"$(printf '%s\n' 1 'pcce-record: cannot write d/limited: File too large; the first 0 bytes of the recording are saved' program)"
rm -f d/limited
pcce-record -q -b self -o d/pcce.data -- /bin/true
check "a recording keeps the older one" cmp d/pcce.data.old older.data
(cd d && pcce-record -q -b self -o plain.data -- /bin/sh -c 'mv plain.data moved.data; :>plain.data')
check "a recording that is renamed while it grows is complete" \
	sh -c '! pcce-report -i d/moved.data --stats | grep incomplete'

# ---- file systems ------------------------------------------------------------------------------

cp "$out/bin/pcce-report" ./pcce-report
reports_there() { # NAME COMMAND...: writes small.data's report to d/file
	local name=$1
	shift
	"$@" >tool.err 2>&1
	is "$name" "$? $(cmp d/file report.before 2>&1) $(hidden d)" "0  "
}
report_to_file='./pcce-report -i small.data --format=flat -o d/file'
if [ "$me" = 0 ] && unshare -m true 2>/dev/null; then
	# Without /proc, an unnamed file cannot get a name.
	rm -f d/file
	if [ ${#sanitize[@]} = 0 ]; then
		reports_there "without /proc" \
			unshare -m sh -c "mount -t tmpfs none /proc && $report_to_file"
	else
		skip "without /proc" "LeakSanitizer needs it"
	fi
	: >d/file
	reports_there "a file that is mounted" unshare -m sh -c \
		"touch other && mount --bind other d/file && $report_to_file && umount d/file && cp other d/file"
	: >d/file
	chown $nobody d/file
	reports_there "a directory that the user cannot write to" \
		setpriv --reuid=$nobody --regid=$nobody --clear-groups sh -c "$report_to_file"
	chown 0 d/file
	chmod 666 d/file
	setpriv --reuid=$nobody --regid=$nobody --clear-groups sh -c "$report_to_file" 2>tool.err
	is "  nor is he the file's owner" "$? $(grep -c 'Permission denied' tool.err)" "1 1"
else
	skip "without /proc, mounted files, other users" "needs root and mount namespaces"
fi

done_testing
