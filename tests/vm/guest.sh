# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=sh
#
# Runs the tests in the guest.  Results are lines of TAP without numbers, and recordings in /out
# that run.sh checks.  Each part is a file in /t/parts.  It finds the module loaded and leaves it
# so.

ok() { echo "ok - $1"; }
not_ok() { # NAME [FILE-OR-TEXT...]
	echo "not ok - $1"
	shift
	for what; do
		if [ -f "$what" ]; then tail -n 20 "$what"; else echo "$what"; fi | sed 's/^/#   /'
	done
}
check() { # NAME COMMAND...
	name=$1
	shift
	if "$@" >check.log 2>&1; then
		ok "$name"
	else
		not_ok "$name" "$* (exit status $?)" check.log
	fi
}
is() { # NAME GOT WANTED
	if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "got:    $2" "wanted: $3"; fi
}
# The emulator's clock is often late: removes the warning of that.
without_late_clock() { grep -v 'samples were lost: .*the clock was late'; }

check "the module loads" insmod /t/pcce_sampler.ko
is "the device is for root only" "$(stat -c '%a %u %g' /dev/pcce)" "600 0 0"

for part in /t/parts/*; do
	echo "# $(basename "$part"), $(cut -d. -f1 /proc/uptime) s"
	# shellcheck disable=SC1090
	. "$part"
done

is "nothing uses the module any more" "$(cat /sys/module/pcce_sampler/refcnt)" 0
check "the module is removed" rmmod pcce_sampler
check "... and the device with it" [ ! -e /dev/pcce ]
echo "# end, $(cut -d. -f1 /proc/uptime) s"
