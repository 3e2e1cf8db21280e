#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Tests `make apt` on a machine that has nothing else (`make check-install`).  mmdebstrap makes such
# a system in a folder and downloads about 100 MB from Debian's mirror.  apt installs pcce there
# from the signed repository.  A program is built, recorded and reported, and the package is
# removed.  `make check` does not run this.  It installs the packages into a copy of this system
# (tests/e2e/packaging.sh).

. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1

for c in mmdebstrap dh lintian apt-ftparchive gpg; do
	command -v "$c" >/dev/null || {
		skip "the packages on a clean machine" "$c is not installed"
		done_testing
		exit
	}
done
# gpg's agent has a socket in this folder, whose path must be short.
GNUPGHOME=$(mktemp -d)
export GNUPGHOME
trap 'gpgconf --kill all; rm -rf "$GNUPGHOME" "$scratch"' EXIT
is "without a key: said" "$(O=$out APT_KEY='' "$top/scripts/apt-repository" 2>&1 | cut -d: -f1,2)" \
	"apt-repository: cannot sign the repository"
is "with a key that is not there: said" \
	"$(O=$out APT_KEY=nobody "$top/scripts/apt-repository" 2>&1 | cut -d\; -f1)" \
	"apt-repository: cannot sign the repository: gpg has no secret key 'nobody'"
gpg --batch --quiet --passphrase '' --quick-gen-key 'test <test@pcce.example>' 2>gpg.log
if ! make -s -C "$top" O="$out" APT_KEY=test@pcce.example apt >apt.log 2>&1; then
	not_ok "make apt" apt.log
	done_testing
	exit 1
fi
is "lintian has nothing to say" "$(cat "$out/deb/lintian.log")" ""
# The packages are for the release on which they were built.
# shellcheck source=/dev/null
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
if ! mmdebstrap --mode=root --variant=minbase "$release" root "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" \
	>mmdebstrap.log 2>&1; then
	skip "the packages on a clean machine" "mmdebstrap: $(tail -n 1 mmdebstrap.log)"
	done_testing
	exit
fi
cp "$top/tests/workloads/recursion.c" "$top/tests/workloads/burn.h" root/root
cp -r "$out/apt" root/root/apt
cp /etc/resolv.conf root/etc
cat >root/root/inside.sh <<'END_OF_INSIDE'
set -eu
export DEBIAN_FRONTEND=noninteractive LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin
cd /root
cp apt/pcce-archive-keyring.gpg /usr/share/keyrings
sed 's|PLACE|file:///root/apt|' apt/pcce.sources >/etc/apt/sources.list.d/pcce.sources
apt-get update -qq
apt-get install -y -qq --no-install-recommends pcce >apt.log 2>&1 || { tail -n 20 apt.log; exit 1; }
pcce-gcc -O2 -g recursion.c -o program
TERM=dumb pcce run ./program >run.log
grep -q main run.log
pcce-record -b self --verify -F 1000 -o x.data -- ./program
pcce-report -i x.data --stats >stats
for format in $(pcce-report --help | sed -n '/^Formats:/,/^$/s/^  \([a-z-]*\) .*/\1/p'); do
	pcce-report -i x.data --format="$format" -o "x.$format"
	test -s "x.$format"
done
packages=$(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' 'pcce*' | sed -n 's/^ii *//p')
dpkg -V $packages
dpkg -P $packages
! ls -d /usr/lib/pcce /usr/share/doc/pcce /usr/bin/pcce* 2>/dev/null
# Nobody can put another package in its place.
printf x >>apt/Packages
rm apt/Packages.gz
rm -r /var/lib/apt/lists
if apt-get update >update.log 2>&1; then
	echo "a changed repository was taken"
	exit 1
fi
grep -q '^E: ' update.log
: >done
END_OF_INSIDE
cat >outside.sh <<'END_OF_OUTSIDE'
set -e
mount -t proc proc root/proc
mount --rbind /dev root/dev
exec chroot root bash /root/inside.sh
END_OF_OUTSIDE
timeout 900 unshare -m bash outside.sh >install.log 2>&1
is "apt installs it, it works and leaves nothing behind, and a changed repository is refused" "$?" 0
test -e root/root/done || sed 's/^/#   /' install.log | tail -n 30
check "its recording agrees with the real stack" \
	sh -c "grep -q '^mismatches: 0' root/root/stats && grep -q '^undecodable: 0' root/root/stats && [ \$(sed -n 's/^verified: //p' root/root/stats) -ge 50 ]"
done_testing
