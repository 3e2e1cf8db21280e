#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Tests scripts/setup, which knows names of packages, and scripts/fetch-source, which unpacks source
# packages, on a mirror in a folder.

. "$(dirname "$0")/../lib.sh"
cd "$scratch" || exit 1

# ---- names of packages ----------------------------------------------------------------------

for id in debian ubuntu fedora; do
	printf 'ID=%s\n' $id >os-release
	for demo in "" --demo; do
		GCCS="gcc-13 gcc-14" SETUP_OS_RELEASE=$PWD/os-release \
			"$top/scripts/setup" --list $demo >"$id$demo" 2>&1
	done
	check "$id: a name appears once" [ -z "$(sort $id | uniq -d)" ]
	check "$id: no name is a placeholder" sh -c "! grep '[^A-Za-z0-9+.-]' $id"
	check "$id: the demo needs less than the tests" \
		[ "$(wc -l <"$id--demo")" -lt "$(wc -l <$id)" ]
done
check "Debian: headers of each compiler" \
	sh -c 'grep -qx gcc-13-plugin-dev debian && grep -qx gcc-14-plugin-dev debian'
check "Fedora: its own names" sh -c 'grep -qx gcc-plugin-devel fedora && ! grep -v dpkg-dev fedora | grep -e -dev$'
check "Ubuntu: its own names" sh -c 'grep -qx linux-headers-generic ubuntu && grep -qx gcc-14-plugin-dev ubuntu'
for map in ubuntu fedora; do
	is "$map: each translated name is one of packages.txt" "$(
		sed -e 's/#.*//' "$top/scripts/packages-$map.txt" | awk 'NF { print $1 }' |
			grep -vxFf <(sed 's/#.*//' "$top/scripts/packages.txt" | tr -d ' \t')
	)" ""
done

# ---- source packages ------------------------------------------------------------------------

# A mirror lists versions 1, 2 and 3 of a package.  It lacks the source of 3 and the .dsc of 2.
mirror=$scratch/mirror
pool=$mirror/pool
mkdir -p "$pool" "$mirror/dists/stable/main/source" etc/{sources.list.d,apt.conf.d,preferences.d} home
sums() { # FILE...
	local f
	for f in "$@"; do
		echo " $(sha256sum <"$pool/$f" | cut -d' ' -f1) $(stat -c %s "$pool/$f") $f"
	done
}
for v in 1 2 3; do
	mkdir -p "small-$v/debian/source"
	echo "$v" >"small-$v/version"
	tar -czf "$pool/small_$v.tar.gz" "small-$v"
	cat >"$pool/small_$v.dsc" <<-END
		Format: 3.0 (native)
		Source: small
		Binary: small
		Architecture: any
		Version: $v
		Maintainer: Nobody <nobody@example.org>
		Checksums-Sha256:
		$(sums small_$v.tar.gz)
		Files:
		 $(md5sum <"$pool/small_$v.tar.gz" | cut -d' ' -f1) $(stat -c %s "$pool/small_$v.tar.gz") small_$v.tar.gz
	END
	cat >>"$mirror/dists/stable/main/source/Sources" <<-END
		Package: small
		Binary: small
		Version: $v
		Maintainer: Nobody <nobody@example.org>
		Architecture: any
		Format: 3.0 (native)
		Directory: pool
		Checksums-Sha256:
		$(sums small_$v.dsc small_$v.tar.gz)

	END
done
rm "$pool/small_3.tar.gz" "$pool/small_2.dsc"
(cd "$mirror/dists/stable" && {
	echo "Suite: stable"
	echo "Codename: stable"
	echo "Components: main"
	echo "Architectures: amd64"
	echo "SHA256:"
	echo " $(sha256sum <main/source/Sources | cut -d' ' -f1) $(stat -c %s main/source/Sources) main/source/Sources"
} >Release)
echo "deb [trusted=yes] copy:$mirror stable main" >etc/sources.list
echo "Dir::Etc \"$PWD/etc\";" >apt.conf
check "a source package of which the mirror lacks the newest versions" \
	env APT_CONFIG="$PWD/apt.conf" XDG_CACHE_HOME="$PWD/home" \
	"$top/scripts/fetch-source" small "$PWD/small"
is "... is the newest version that is complete" "$(cat small/version)" 1
rm -r small
check "... and then comes from the cache" \
	env APT_CONFIG="$PWD/apt.conf" XDG_CACHE_HOME="$PWD/home" PATH="$PATH" \
	sh -c "mv '$mirror' gone && '$top/scripts/fetch-source' small small && test -e small/version"
done_testing
