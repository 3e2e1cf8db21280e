#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# runs beside others
#
# Tests the packaging:
#
#   pkg-config and CMake's find_package
#   the Debian package: lintian, its dependencies, installing, using and removing it
#   the package of the kernel module, which DKMS builds
#
# The packages are installed into a copy of this system that exists in memory only.

. "$(dirname "$0")/../lib.sh"
cd "$scratch" || exit 1
cp "$top/tests/workloads/recursion.c" "$top/tests/workloads/burn.h" .

# ---- pkg-config --------------------------------------------------------------------------

if command -v pkg-config >/dev/null; then
	export PKG_CONFIG_PATH=$out/lib/pkgconfig
	is "pkg-config knows the version" "$(pkg-config --modversion pcce)" "$(cat "$top/VERSION")"
	# shellcheck disable=SC2046
	check "pkg-config: builds a program" $CC -O2 -g $(pkg-config --cflags pcce) recursion.c \
		$(pkg-config --libs pcce) -o with-pc
	check "pkg-config: it is encoded" is_encoded with-pc
	if record self pc.data ./with-pc; then
		recording_is_exact "pkg-config: its contexts are exact" pc.data 50
	else
		not_ok "pkg-config: its contexts are exact" pc.data.err
	fi
else
	skip "pkg-config" "pkg-config is not installed"
fi

# ---- CMake -------------------------------------------------------------------------------

# A program, a shared and a static library, and one target without.
mkdir -p cm
cat >cm/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.15)
project(tiny C)
find_package(Pcce 0.1 REQUIRED)
set(P ${PROJECT})
add_library(util SHARED ${P}/lib/util/work.c ${P}/lib/util/each.c)
add_library(shape STATIC ${P}/lib/shape/tree.c)
target_link_libraries(shape util)
add_executable(tiny ${P}/src/main.c)
target_link_libraries(tiny shape)
pcce_instrument(util shape tiny)
add_executable(plain ${P}/src/main.c)
target_link_libraries(plain shape)
END
configure() { cmake -S cm -B "$@" -DCMAKE_PREFIX_PATH="$out" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
	-DPROJECT="$top/tests/e2e/project"; }
if command -v cmake >/dev/null; then
	if configure cb -DCMAKE_C_COMPILER="$CC" >cm.log 2>&1 &&
		cmake --build cb -j2 >>cm.log 2>&1; then
		ok "CMake: builds"
		check "CMake: the program is encoded" is_encoded cb/tiny
		check "CMake: the shared library is encoded" is_encoded cb/libutil.so
		check "CMake: a target that was not named runs, too" cb/plain 3
		if record self cm.data cb/tiny; then
			recording_is_exact "CMake: its contexts are exact" cm.data 1
		else
			not_ok "CMake: its contexts are exact" cm.data.err
		fi
	else
		not_ok "CMake: builds" cm.log
	fi
	if command -v clang >/dev/null; then
		configure cc -DCMAKE_C_COMPILER=clang >clang.log 2>&1
		is "CMake: another compiler is refused" "$?" 1
		check "... by a sentence that names it" \
			sh -c "tr -s ' \n' ' ' <clang.log | grep -q 'cannot use the C compiler Clang: pcce is a plugin of GCC'"
	else
		skip "CMake: another compiler is refused" "clang is not installed"
	fi
	sed -i 's/Pcce 0.1/Pcce 99/' cm/CMakeLists.txt
	configure c9 >version.log 2>&1
	is "CMake: a later version is not found" "$?" 1
else
	skip "CMake" "cmake is not installed"
fi

# ---- the Debian package ------------------------------------------------------------------

if ! command -v dh >/dev/null || ! command -v lintian >/dev/null; then
	skip "make deb" "debhelper or lintian is not installed"
	done_testing
fi
# Compiling without optimisation takes half the time.
if ! DEB_BUILD_OPTIONS=noopt make -s -C "$top" O="$out" deb >deb.log 2>&1; then
	not_ok "make deb, lintian finds no error" deb.log
	done_testing
fi
ok "make deb, lintian finds no error"
dkms=$(printf %s "$out"/deb/pcce-dkms_*_all.deb)
dpkg-deb -c "$dkms" >dkms.list
check "... and there is a package with the source of the kernel module" \
	grep -q "/usr/src/pcce-$(cat "$top/VERSION")/Kbuild$" dkms.list
is "... with all of it" "$(grep -c "/usr/src/.*/kmod/.*[.][ch]$" dkms.list)" \
	"$(find "$top/kmod" -name "*.[ch]" | wc -l)"
deb=$(tail -n 1 deb.log)
check "the package is where make says" test -s "$deb"
is "its version is ours" "$(dpkg-deb -f "$deb" Version)" "$(cat "$top/VERSION")"
compiler=gcc-$(gcc -dumpversion | cut -d. -f1)
check "it depends on a plugin; that of the compiler called gcc comes first" \
	sh -c "dpkg-deb -f '$deb' Depends | grep -q '^pcce-$compiler (= [^)]*) *[,|]'"
printf '%s\n' "$out"/deb/pcce-gcc-*_amd64.deb | sed -n 's|.*/pcce-\(gcc-[0-9]*\)_.*|\1|p' >with-plugin
is "each compiler with plugin headers has a package" "$(sort -V with-plugin)" \
	"$("$top/scripts/gcc-ok" --all)"
mkdir x
while read -r name; do
	plugin=$out/deb/pcce-${name}_$(cat "$top/VERSION")_amd64.deb
	# The plugin refuses any other build of GCC, so dpkg must do so too.
	gcc=$(dpkg-query -W -f '${Version}' "$name" 2>/dev/null)
	check "the package for $name depends on the GCC that its plugin is for" \
		sh -c "dpkg-deb -f '$plugin' Depends | grep -qF '$name (= $gcc)'"
	is "... and contains that plugin" \
		"$(dpkg-deb -c "$plugin" | sed -n 's|.* \./\(.*\.so\)$|\1|p')" \
		"usr/lib/pcce/$name/pcce_plugin.so"
	dpkg-deb -x "$plugin" x
	cp "$plugin" .
done <with-plugin
dpkg-deb -x "$deb" x
# Finds needed libraries whose packages are not among the dependencies.
dpkg-deb -f "$deb" Depends | tr ',' '\n' | sed -e 's|^ *||' -e 's| .*||' >depends
missing=
for f in x/usr/bin/pcce-record x/usr/bin/pcce-check x/usr/bin/pcce-report x/usr/bin/pcce-encode x/usr/lib/pcce/*.so \
	x/usr/lib/pcce/ld/ld; do
	for lib in $(readelf -d "$f" | sed -n 's|.*NEEDED.*\[\(.*\)\]|\1|p'); do
		dpkg-query -S "*/$lib" 2>/dev/null | sed 's|:.*||' | grep -qxF -f depends ||
			missing="$missing $lib"
	done
done
is "it depends on all libraries it needs" "$missing" ""
check "no file names the build directory" sh -c "! grep -rIl -F '$out' x"

cat >inside.sh <<'END'
set -eu
cd "$1"
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
find /usr /etc -xdev | sort >before
compiler=$3
dpkg -i pcce.deb pcce-gcc-*.deb
test "$(command -v pcce-report)" = /usr/bin/pcce-report
$compiler -O2 -g $(pcce-config --cflags) recursion.c $(pcce-config --ldflags) -o program
readelf -d program | grep -q build && exit 1
$compiler -O2 -g $(pkg-config --cflags pcce) recursion.c $(pkg-config --libs pcce) -o with-pc
PCCE_CC=$compiler pcce-gcc -O2 -g recursion.c -o with-wrapper
pcce-check -q with-wrapper
grep -q "'/usr/bin/pcce-g++'" /usr/share/meson/native/pcce
man -w pcce-g++
pcce-record -b self --verify -F 1000 -o x.data -- ./program
pcce-report -i x.data --stats | tee stats
pcce-report -i x.data >/dev/null
man -w pcce-report
dpkg -i libpcce-decode0.deb libpcce-decode-dev.deb
$compiler $(pkg-config --cflags pcce-decode) /usr/share/doc/libpcce-decode-dev/examples/decode-recording.c $(pkg-config --libs pcce-decode) -o decode
./decode x.data >x.lines
test -s x.lines
man -w libpcce-decode
dpkg -P libpcce-decode-dev libpcce-decode0
bash -c '. /usr/share/bash-completion/completions/pcce-report && complete -p pcce-report'
dpkg -P pcce $(for f in pcce-gcc-*.deb; do echo ${f%%_*}; done)
find /usr /etc -xdev | sort >after
diff before after
END
cp "$deb" pcce.deb
for p in libpcce-decode0 libpcce-decode-dev; do cp "$out/deb/${p}_$(cat "$top/VERSION")_amd64.deb" $p.deb; done
rm -rf x
cp "$dkms" pcce-dkms.deb
cat >outside.sh <<'END'
set -e
mount -t tmpfs none "$1/memory"
mkdir "$1/memory/up" "$1/memory/work" "$1/memory/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/memory/up,workdir=$1/memory/work" "$1/memory/root"
for d in proc sys dev; do mount --rbind /$d "$1/memory/root/$d"; done
mkdir -p "$1/memory/root$1"
mount --bind "$1" "$1/memory/root$1"
: >"$1/mounted"
exec chroot "$1/memory/root" bash "$1/$2" "$@"
END
mkdir memory
# in_copy SCRIPT [ARGUMENT...]: runs the script in a copy of this system, with $scratch, the script
# and the arguments
in_copy() {
	rm -f mounted
	timeout 300 unshare -m bash outside.sh "$scratch" "$@" >install.log 2>&1
}
in_copy inside.sh "$compiler"
status=$?
if [ -e mounted ]; then
	is "it installs, works and leaves nothing behind" "$status" 0
	[ "$status" = 0 ] || sed 's/^/#   /' install.log | tail -n 30
	check "... its recordings agree with the real stack" \
		sh -c "grep -q '^mismatches: 0' stats && grep -q '^undecodable: 0' stats && [ \$(sed -n 's/^verified: //p' stats) -ge 50 ]"
else
	skip "it installs, works and leaves nothing behind" \
		"no mounts here: $(tail -n 1 install.log)"
fi

# ---- the package of the plugin's source ------------------------------------------------------

# It builds the plugin for the GCC that is there, for another one that is installed later, and again
# if the headers of one change, as they do when GCC is updated.
cat >inside-source.sh <<'END'
set -eu
cd "$1"
compiler=$3 other=$4
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive
find /usr /etc -xdev ! -path '*/__pycache__*' | sort >before
dpkg -i pcce.deb pcce-gcc-source.deb >first.log 2>&1 || { cat first.log; exit 1; }
grep -x "pcce: building the plugin for $compiler" first.log
dpkg -S /usr/lib/pcce/$compiler/pcce_plugin.so && exit 1
uses() {
	$1 -O2 -g $(pcce-config --cflags) recursion.c $(pcce-config --ldflags) -o by-$1
	pcce-check -q by-$1
}
uses $compiler
dpkg -i pcce-gcc-source.deb >again.log 2>&1
grep building again.log && exit 1
headers=$($compiler -print-file-name=plugin)/include
echo '#error' >>$headers/gcc-plugin.h
dpkg-trigger --no-await /usr/lib/gcc/x86_64-linux-gnu
dpkg --triggers-only --pending >broken.log 2>&1
grep "^build-plugins: cannot build the plugin for $compiler: .*/var/log/pcce-plugin-$compiler.log" broken.log
test ! -e /usr/lib/pcce/$compiler
sed -i '$d' $headers/gcc-plugin.h
echo '/* another build */' >>$headers/plugin-version.h
/usr/lib/pcce/build-plugins >update.log
grep -x "pcce: building the plugin for $compiler" update.log
uses $compiler
if [ -n "$other" ]; then
	apt-get install -y -qq --no-install-recommends $other g++-${other#gcc-} $other-plugin-dev >apt.log 2>&1 ||
		{ tail apt.log; exit 3; }
	grep "^pcce: building the plugin for $other" apt.log || { tail -n 20 apt.log; exit 1; }
	uses $other
fi
mv $headers/gcc-plugin.h .
dpkg-trigger --no-await /usr/lib/gcc/x86_64-linux-gnu
dpkg --triggers-only --pending >removed.log 2>&1
test ! -e /usr/lib/pcce/$compiler
dpkg -P pcce pcce-gcc-source
test ! -e /usr/lib/pcce
END
# First without a package: one of two builds fails, or there is no space for a plugin.
mkdir -p by/source/scripts by/lib by/tools
sed -e "s|@SOURCE@|$PWD/by/source|; s|@LIBDIR@|$PWD/by/lib|; s|=/var/log/|=$PWD/by/|" \
	"$top/plugin/install/build-plugins.in" >by/build-plugins
echo 1 >by/source/VERSION
printf '#!/bin/sh\nprintf "gcc-91\\ngcc-92\\n"\n' >by/source/scripts/gcc-ok
printf '#!/bin/sh\n%s\n' 'case $* in *GCCS=gcc-91*) echo "no good"; exit 1; esac' \
	'for plugin; do :; done' 'mkdir -p "${plugin%/*}" && echo plugin >"$plugin"' >by/tools/make
printf '#!/bin/sh\n[ ! -e %s/full ] && cp "$4" "$3"\n' "$PWD/by" >by/tools/strip
printf '#!/bin/sh\necho %s/headers\n' "$PWD/by" | tee by/tools/gcc-91 >by/tools/gcc-92
mkdir -p by/headers/include
chmod +x by/source/scripts/gcc-ok by/tools/*
build_plugins() { (umask 077; PATH=$PWD/by/tools:$PATH sh by/build-plugins "$@") >by/out 2>&1; }
build_plugins
is "a plugin that cannot be built: exit status" $? 1
is "... its messages are kept when the next one is built" "$(cat by/pcce-plugin-gcc-91.log)" "no good"
is "... that one is for all users" \
	"$(stat -c %a by/lib/gcc-92 by/lib/gcc-92/pcce_plugin.so | tr '\n' ' ')" "755 644 "
echo 2 >by/source/VERSION
: >by/full
build_plugins
is "... nothing stays of an old plugin if there is no space for the new one" \
	"$(ls by/lib)" ""
rm by/full
build_plugins
printf '#!/bin/sh\nexit 1\n' >by/source/scripts/gcc-ok
build_plugins
check "... plugins stay if it is not known which compilers are there" test -e by/lib/gcc-92
build_plugins --remove
is "... nothing stays when they are removed" "$(ls by/lib by/*.log 2>/dev/null)" "by/lib:"

cp "$(printf %s "$out"/deb/pcce-gcc-source_*_all.deb)" pcce-gcc-source.deb
# Another supported GCC that this system's archive has and that is not installed.
other=
for ((n = 11; n <= 16; n++)); do
	[ -x /usr/bin/gcc-$n ] || ! apt-cache show gcc-$n-plugin-dev >/dev/null 2>&1 || other=gcc-$n
done
name="the source of the plugin is built for each GCC"
in_copy inside-source.sh "$compiler" "$other"
status=$?
if ! [ -e mounted ]; then
	skip "$name" "no mounts here: $(tail -n 1 install.log)"
else
	[ "$status" != 3 ] || skip "$name: for one that is installed later" "apt-get: $(tail -n 1 install.log)"
	[ "$status" = 0 ] || [ "$status" = 3 ] || sed 's/^/#   /' install.log | tail -n 30
	[ "$status" = 3 ] || is "$name" "$status" 0
	[ -n "$other" ] || skip "$name: for one that is installed later" "the archive has no other GCC"
fi

# ---- the package of the kernel module --------------------------------------------------------

# DKMS builds the module for the kernel whose headers are installed.  That kernel need neither run
# nor be installed.
cat >inside-dkms.sh <<'END'
set -eu
cd "$1"
kernel=$3 version=$4
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
depmod "$kernel"
find /usr /etc /var/lib/dkms -xdev ! -path '/var/lib/dkms/mok.*' | sort >before
dpkg -i pcce-dkms.deb
# The package does this by itself for the kernel that runs, or, in a chroot, for all.
dkms status pcce/$version -k "$kernel" | grep -q ': installed' || dkms install pcce/$version -k "$kernel"
dkms status
modinfo -k "$kernel" -F vermagic pcce_sampler | grep "^$kernel "
modinfo -k "$kernel" -F version pcce_sampler | grep -x "$version"
getent group pcce
grep '^KERNEL=="pcce".*GROUP="pcce"' /usr/lib/udev/rules.d/60-pcce.rules
grep '^options pcce_sampler ' /usr/share/doc/pcce-dkms/examples/pcce.conf
# A kernel that is too old is passed over; a failure would stop the installation of that kernel.
cp -r "/lib/modules/$kernel" /lib/modules/5.10.0-9-amd64
dkms build pcce/$version -k 5.10.0-9-amd64 && exit 1
rm -r /lib/modules/5.10.0-9-amd64
dpkg -P pcce-dkms
find /usr /etc /var/lib/dkms -xdev ! -path '/var/lib/dkms/mok.*' | sort >after
diff before after
END
kernel=$(printf '%s\n' /lib/modules/6.*-amd64/build | sort -V | tail -n 1)
kernel=$(basename "$(dirname "$kernel")")
name="DKMS builds the module out of its package, and the package leaves nothing behind"
if ! command -v dkms >/dev/null; then
	skip "$name" "dkms is not installed"
elif ! [ -e "/lib/modules/$kernel/build/Module.symvers" ]; then
	skip "$name" "the headers of no Debian kernel are installed (package linux-headers-amd64)"
else
	in_copy inside-dkms.sh "$kernel" "$(cat "$top/VERSION")"
	status=$?
	if [ -e mounted ]; then
		is "$name" "$status" 0
		[ "$status" = 0 ] || sed 's/^/#   /' install.log | tail -n 30
	else
		skip "$name" "no mounts here: $(tail -n 1 install.log)"
	fi
fi
done_testing
