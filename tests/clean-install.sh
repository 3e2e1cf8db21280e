#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Tests the Debian package on a machine that has nothing else (`make check-install`).  debootstrap
# makes such a system in a folder and downloads about 100 MB from Debian's mirror.  apt installs the
# package there with its dependencies only.  A program is built, recorded and reported, and the
# package is removed.  `make check` does not run this.  It installs the package into a copy of this
# system (tests/e2e/packaging.sh).

. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1

for c in debootstrap dh lintian; do
	command -v "$c" >/dev/null || {
		skip "the package on a clean machine" "$c is not installed"
		done_testing
		exit
	}
done
if ! make -s -C "$top" O="$out" deb >deb.log 2>&1; then
	not_ok "make deb" deb.log
	done_testing
	exit 1
fi
is "lintian has nothing to say" "$(cat "$out/deb/lintian.log")" ""
if ! debootstrap --variant=minbase bookworm root http://deb.debian.org/debian \
	>debootstrap.log 2>&1; then
	skip "the package on a clean machine" "debootstrap: $(tail -n 1 debootstrap.log)"
	done_testing
	exit
fi
# debootstrap takes Debian 12, whose compiler is GCC 12.
cp "$(tail -n 1 deb.log)" root/root/pcce.deb
cp "$out"/deb/pcce-gcc-12_*.deb root/root/pcce-gcc-12.deb
cp "$top/tests/workloads/recursion.c" "$top/tests/workloads/burn.h" root/root
cp /etc/resolv.conf root/etc
cp /etc/apt/sources.list.d/*.sources root/etc/apt/sources.list.d/ 2>/dev/null
cat >root/root/inside.sh <<'END_OF_INSIDE'
set -eu
export DEBIAN_FRONTEND=noninteractive LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin
cd /root
apt-get update -qq
apt-get install -y -qq --no-install-recommends ./pcce.deb ./pcce-gcc-12.deb >apt.log 2>&1 || { tail -n 20 apt.log; exit 1; }
gcc-12 -O2 -g $(pcce-config --cflags) recursion.c $(pcce-config --ldflags) -o program
pcce-record -b self --verify -F 1000 -o x.data -- ./program
pcce-report -i x.data --stats >stats
for format in $(pcce-report --help | sed -n '/^Formats:/,/^$/s/^  \([a-z-]*\) .*/\1/p'); do
	pcce-report -i x.data --format="$format" -o "x.$format"
	test -s "x.$format"
done
dpkg -V pcce pcce-gcc-12
dpkg -P pcce pcce-gcc-12
! ls -d /usr/lib/pcce /usr/share/doc/pcce /usr/bin/pcce* 2>/dev/null
END_OF_INSIDE
cat >outside.sh <<'END_OF_OUTSIDE'
set -e
mount -t proc proc root/proc
mount --rbind /dev root/dev
exec chroot root bash /root/inside.sh
END_OF_OUTSIDE
timeout 900 unshare -m bash outside.sh >install.log 2>&1
is "it installs, works and leaves nothing behind" "$?" 0
grep -q . root/root/stats 2>/dev/null || sed 's/^/#   /' install.log | tail -n 30
check "its recording agrees with the real stack" \
	sh -c "grep -q '^mismatches: 0' root/root/stats && grep -q '^undecodable: 0' root/root/stats && [ \$(sed -n 's/^verified: //p' root/root/stats) -ge 50 ]"
done_testing
