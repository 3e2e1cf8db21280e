# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
#
# Makes root file systems of Debian's releases, for suites that have sourced tests/lib.sh.
# tests/distros/enter runs commands in them.

here=$top/tests/distros
cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/pcce/distros
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}

# Skips the suite where no root file system can be made.
need_roots() {
	[ "$(id -u)" = 0 ] || skip_all "only root can make and enter root file systems"
	command -v mmdebstrap >/dev/null || skip_all "mmdebstrap is missing; run scripts/setup"
	unshare --mount --pid --fork true 2>"$scratch/unshare.err" ||
		skip_all "cannot make namespaces: $(head -n 1 "$scratch/unshare.err")"
}

# make_root RELEASE PACKAGE...: sets root to a system with these packages, which it makes if need be
make_root() {
	local release=$1 list log sum
	shift
	list=$(printf '%s\n' "$@" | sort -u | paste -sd,)
	sum=$(printf '%s' "$mirror $list" | sha256sum | cut -c 1-12)
	root=$cache/$release-$sum
	log=$out/tests/distros/$release-$sum.log
	mkdir -p "$cache" "$out/tests/distros"
	exec 7>"$root.lock"
	flock 7
	if ! [ -d "$root" ]; then
		rm -rf "$root.tmp"
		if mmdebstrap --mode=root --variant=minbase --include="$list" "$release" "$root.tmp" \
			"deb [check-valid-until=no] $mirror $release main" \
			"deb-src [check-valid-until=no] $mirror $release main" >"$log" 2>&1 7>&-; then
			mv "$root.tmp" "$root"
		else
			rm -rf "$root.tmp"
		fi
	fi
	exec 7>&-
	if [ -d "$root" ]; then
		ok "$release: the system is there"
	else
		not_ok "$release: mmdebstrap makes the system" "$log"
		return 1
	fi
}

# Prints the names of packages for these compilers: those of make check, or with --demo fewer.
packages() { # "GCC..." [--demo]
	GCCS=$1 SETUP_OS_RELEASE=$here/os-release "$top/scripts/setup" --list ${2-}
}
