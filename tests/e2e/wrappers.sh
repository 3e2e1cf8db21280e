#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# runs beside others
#
# Tests the compiler wrappers pcce-gcc and pcce-g++: which flags they add, that their answers are
# the compiler's, and small projects with make, CMake, meson, and autoconf with libtool, to which
# only the compiler's name is given.  Also through ccache and distcc, and under the compiler's name.

. "$(dirname "$0")/../lib.sh"
frequency=2000
cd "$scratch" || exit 1
real=$(type -P "${CC%% *}")
compiler=${real##*/}
export PCCE_CC=$CC PCCE_CXX=$CXX
cflags=$(pcce-config --cflags)
project=$top/tests/e2e/project
unset CFLAGS CXXFLAGS LDFLAGS
cp "$top/tests/workloads/recursion.c" "$top/tests/workloads/burn.h" .
echo 'int f(int n) { return n ? f(n - 1) + n : 0; }' >f.c
echo 'int broken(' >broken.c

# ---- flags -------------------------------------------------------------------------------

# adds NAME COMPILE LINK ARGUMENT...: which flags of pcce the compiler gets: 1 or 0 of each
printf '#!/bin/sh\nprintf "%%s\\n" "$@" >"%s/got"\n' "$scratch" >show
chmod +x show
adds() {
	local name=$1 want="$2 $3"
	shift 3
	PCCE_CC=$scratch/show pcce-gcc "$@"
	is "flags: $name" "$(grep -cxF -e "$cflags" got) $(grep -c -e '^-specs=.*/pcce.specs$' got)" "$want"
	is "... and the arguments as they were" "$(tail -n $# got)" "$(printf '%s\n' "$@")"
}
adds "compile" 1 0 -c f.c
adds "assembly" 1 0 -O2 -S f.c -o -
adds "link" 1 1 f.o -o f
adds "compile and link" 1 1 -O2 f.c
adds "shared library" 1 1 -shared f.o -o libf.so
adds "-r" 1 1 -r f.o -o r.o
adds "static, -flto" 1 1 -static -flto f.o
adds "libraries only" 1 1 -shared -lf
adds "a library behind -Wl" 1 1 -shared -Wl,--whole-archive,libf.a -o libf.so
adds "-Xlinker -E is no preprocessing" 1 1 -Xlinker -E f.c
adds "a program called -c" 1 1 -o -c f.c
adds "standard input" 1 0 -x c -c -
adds "preprocessing" 0 0 -E f.c
adds "preprocessing before -c" 0 0 -E -c f.c
adds "dependencies" 0 0 -MM f.c
adds "dependencies beside an object" 1 0 -MMD -MF f.d -c f.c
adds "syntax" 0 0 -fsyntax-only f.c
adds "-m32, which the plugin refuses" 0 0 -m32 -c f.c
adds "-m32 -m64" 1 0 -m32 -m64 -c f.c
adds "a question with a file" 0 0 -print-file-name=libc.so f.c
adds "no file" 0 0 -v -O2 -o f
adds "quotes, spaces and backslashes" 1 0 '-DA="b c"' '-D\x' '' -c f.c
echo '-O2 -c f.c' >compile.rsp
echo '"-O2" -E' >preprocess.rsp
adds "a response file" 1 0 @compile.rsp
adds "a response file that preprocesses" 0 0 @preprocess.rsp f.c
adds "a response file that is missing" 1 1 @none.rsp

# ---- answers -----------------------------------------------------------------------------

# answers ARGUMENT...: output, messages and status are the compiler's
answers() {
	local want got
	$CC "$@" </dev/null >want.out 2>want.err
	want=$?
	pcce-gcc "$@" </dev/null >got.out 2>got.err
	got=$?
	# Names of temporary files differ.
	sed -i 's|/tmp/cc[A-Za-z0-9]*||g' want.err got.err
	is "the compiler's answer: ${*:-nothing}" "$got $(cat got.out got.err)" "$want $(cat want.out want.err)"
}
for question in --version -v -V -qversion -dumpversion -dumpfullversion -dumpmachine -dumpspecs \
	-print-prog-name=ld -print-search-dirs -print-multi-os-directory -print-file-name=plugin --help \
	--target-help "-Q --help=optimizers" "" "-E -dM -" "-xc -E -v -" -Wl,--version -Wl,-v "-E f.c" \
	"-M f.c" "-c none.c" "-c broken.c" "-fsyntax-only broken.c" --no-such-option; do
	# shellcheck disable=SC2086 # several arguments
	answers $question
done
refused() { # NAME WORDS COMMAND...: one sentence, and status 127
	local name=$1 words=$2
	shift 2
	"$@" >log 2>&1
	is "$name" "$? $(cat log)" "127 pcce-gcc: $words"
}
none="there is no other program of this name; install it, or name a compiler with"
PCCE_CC=no-such-gcc refused "a compiler that is missing" "cannot run 'no-such-gcc': $none PCCE_CC" \
	pcce-gcc -c f.c
PCCE_CXX=no-such-g++ refused "a C++ compiler that is missing" \
	"cannot run 'no-such-g++': $none PCCE_CXX" pcce-g++ -c f.c
PCCE_CC=pcce-gcc refused "the wrapper as its own compiler" "cannot run 'pcce-gcc': $none PCCE_CC" \
	timeout 20 pcce-gcc -c f.c
PCCE_CC=$out/bin/pcce-g++ refused "... by its path" "cannot run '$out/bin/pcce-g++': $none PCCE_CC" \
	timeout 20 pcce-gcc -c f.c
PCCE_CC=./f.c refused "a compiler that cannot be executed" \
	"cannot run './f.c': Permission denied; name a compiler with PCCE_CC" pcce-gcc -c f.c
check "without PATH" env -u PATH PCCE_CC="$compiler" "$out/bin/pcce-gcc" f.c -shared -o libf.so
check "... encoded" is_encoded libf.so
if command -v aarch64-linux-gnu-gcc >/dev/null; then
	PCCE_CC=aarch64-linux-gnu-gcc pcce-gcc -c f.c >log 2>&1
	check "a compiler for another processor gets a sentence" grep -Eq \
		"cannot (use|load the plugin into) GCC [0-9.]*: (it compiles for another processor|.*plugins for)" log
else
	skip "a compiler for another processor gets a sentence" "gcc-aarch64-linux-gnu is not installed"
fi

# ---- builds ------------------------------------------------------------------------------

want=$(mkdir plain && cd plain && "$real" "$project"/src/*.c "$project"/lib/*/*.c -I"$project/lib/util" \
	-I"$project/lib/shape" -o project && ./project)

# works NAME FILE [COMMAND...]: it is encoded, prints what it should, and all contexts are exact
works() {
	local name=$1 file=$2
	shift 2
	[ $# != 0 ] || set -- "$file"
	check "$name: encoded" is_encoded "$file"
	is "$name: output" "$("$@" 2>&1)" "$want"
	if record self data "$@"; then
		recording_is_exact "$name: all contexts exact" data 30
		pcce-report -i data --format=folded >folded 2>&1
		check "$name: chain of calls" grep -Eq '(^|;)main;(.*;)?one;(.*;)?shape_tree;' folded
	else
		not_ok "$name: recorded" data.err
	fi
}
# by_make NAME [ARGUMENT...]: the project, with these arguments of make
by_make() {
	local name=$1
	shift
	rm -rf p
	cp -r "$project" p
	if make -s -j2 -C p "$@" >make.log 2>&1; then
		is "$name: make is silent" "$(grep -v warning: make.log)" ""
		works "$name" p/project
	else
		not_ok "$name: builds" make.log
	fi
}
by_make "make" CC=pcce-gcc
by_make "static" CC=pcce-gcc LDFLAGS=-static
by_make "-flto" CC=pcce-gcc CFLAGS="-O2 -g -flto" AR=pcce-gcc-ar
by_make "the flags twice" CC=pcce-gcc CFLAGS="-O2 $cflags" LDFLAGS="$(pcce-config --ldflags)"
PCCE_CC="" by_make "the compiler of the build" CC=pcce-gcc
PCCE_CC="env $CC" by_make "a compiler of two words" CC=pcce-gcc

# Under the compiler's own name, in a folder that PATH names first, and by a link to another one.
mkdir -p as
ln -s "$out/bin/pcce-gcc" "as/$compiler"
ln -s "$out/bin/pcce-gcc" as/pcce-other
ln -s "$real" as/other
PCCE_CC="" PATH=$PWD/as:$PATH by_make "as $compiler" CC="$compiler" CFLAGS="-O2 -g -flto" AR=gcc-ar
PCCE_CC="" PATH=$PWD/as:$PATH by_make "as pcce-other" CC=pcce-other

if command -v cmake >/dev/null; then
	if CC=pcce-gcc cmake -S "$top/tests/e2e/cmake" -B cm >cm.log 2>&1 &&
		cmake --build cm -j2 >>cm.log 2>&1; then
		check "CMake: knows GCC" grep -q 'C compiler identification is GNU' cm.log
		check "CMake: the shared library is encoded" is_encoded cm/libutil.so
		works "CMake" cm/tiny
	else
		not_ok "CMake: builds" cm.log
	fi
	if cmake -S "$top/tests/e2e/cmake" -B ci \
		-DCMAKE_TOOLCHAIN_FILE="$out/lib/cmake/Pcce/PcceToolchain.cmake" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
		-DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON >cm.log 2>&1 &&
		cmake --build ci -j2 >>cm.log 2>&1; then
		works "CMake, toolchain file, interprocedural" ci/tiny
	else
		not_ok "CMake, toolchain file, interprocedural: builds" cm.log
	fi
else
	skip "CMake" "cmake is not installed"
fi

# Debian's flags, for packages that choose the compiler by themselves (pcce-config(1)).
if command -v dpkg-buildflags >/dev/null; then
	rm -rf p
	cp -r "$project" p
	if eval "make -s -C p CC=$CC $(DEB_CFLAGS_APPEND=$cflags DEB_LDFLAGS_APPEND=$(pcce-config --ldflags) \
		dpkg-buildflags --export=cmdline)" >make.log 2>&1; then
		works "dpkg-buildflags" p/project
	else
		not_ok "dpkg-buildflags: builds" make.log
	fi
else
	skip "dpkg-buildflags" "dpkg-dev is not installed"
fi

if command -v meson >/dev/null && command -v ninja >/dev/null; then
	mkdir me
	cp -r "$project" me/project
	cat >me/meson.build <<'END'
project('tiny', 'c', 'cpp', default_options: 'buildtype=debugoptimized')
include = include_directories('project/lib/util', 'project/lib/shape')
util = shared_library('util', 'project/lib/util/work.c', 'project/lib/util/each.c',
	include_directories: include)
shape = static_library('shape', 'project/lib/shape/tree.c', include_directories: include,
	link_with: util)
executable('tiny', 'project/src/main.c', include_directories: include, link_with: shape)
END
	# by_meson NAME ARGUMENT...
	by_meson() {
		local name="meson, $1"
		shift
		rm -rf mb
		if meson setup mb me "$@" >me.log 2>&1 && ninja -C mb >>me.log 2>&1; then
			check "$name: knows GCC" grep -q 'C compiler for the host machine: .*pcce-gcc (gcc' me.log
			works "$name" mb/tiny
		else
			not_ok "$name: builds" me.log
		fi
	}
	CC=pcce-gcc CXX=pcce-g++ by_meson "CC" -Db_lto=true
	XDG_DATA_DIRS=$out/share by_meson "native file" --native-file pcce
else
	skip "meson" "meson or ninja is not installed"
fi

if command -v autoreconf >/dev/null && command -v libtoolize >/dev/null; then
	cp -r "$top/tests/e2e/libtool" lt
	cp -r "$project" lt/project
	mkdir -p lt/aux
	if (cd lt && autoreconf -fi && ./configure CC=pcce-gcc CXX=pcce-g++ &&
		make -j2) >lt.log 2>&1; then
		check "libtool: configure knows GCC" grep -q 'supports GNU C... yes\|using the GNU C compiler... yes' lt.log
		check "libtool: the shared library is encoded" is_encoded lt/.libs/libutil.so
		check "libtool: the shared library of C++ is encoded" is_encoded lt/.libs/libeach.so
		works "libtool" lt/.libs/tiny env LD_LIBRARY_PATH=lt/.libs lt/.libs/tiny
	else
		not_ok "libtool: builds" lt.log
	fi
else
	skip "libtool" "autoconf or libtool is not installed"
fi

# ---- ccache and distcc -------------------------------------------------------------------

# instrumented FILE: the object has site records
instrumented() { readelf -SW "$1" 2>/dev/null | grep -q ' \.pcce_sites'; }
# caches NAME COMMAND...: the second compilation is a hit, with an instrumented object
caches() {
	local name=$1 i
	shift
	rm -rf "$CCACHE_DIR"
	for i in 1 2; do
		rm -f f.o
		"$@" -O2 -c f.c -o f.o >log 2>&1 || not_ok "$name: compiles" log
	done
	is "$name: the second one is a hit" "$(hits)" 1
	check "$name: instrumented" instrumented f.o
}
hits() { ccache --print-stats | awk '/^(direct|preprocessed)_cache_hit/ { n += $2 } END { print n }'; }
export CCACHE_DIR=$scratch/ccache
if [ -n "$(type -P ccache)" ]; then
	mkdir masked
	ln -s "$(type -P ccache)" masked/pcce-gcc
	ln -s "$(type -P ccache)" "masked/$compiler"
	caches "ccache pcce-gcc" ccache pcce-gcc
	PATH=$PWD/masked:$PATH caches "ccache as pcce-gcc" pcce-gcc
	PCCE_CC="ccache $CC" caches "pcce-gcc runs ccache" pcce-gcc
	# Each of them finds the other one under the compiler's name.
	for path in as:masked masked:as; do
		PCCE_CC="" PATH=$PWD/${path%:*}:$PWD/${path#*:}:$PATH \
			caches "both as $compiler, $path" timeout 60 "$compiler"
	done
	PATH=$PWD/masked:$PATH by_make "make through ccache" CC="ccache pcce-gcc"

	# An update of a plugin changes the wrapper, which ccache takes for the compiler.
	check "the wrapper has the hash of all plugins" grep -qF \
		"$(cat "$out"/lib/pcce/gcc-*/pcce_plugin.so | sha256sum)" "$out/bin/pcce-gcc"
	mkdir -p own/bin
	cp "$out/bin/pcce-gcc" own/bin
	ln -s "$out/lib" own/lib
	CCACHE_COMPILERCHECK=content caches "ccache by content" ccache own/bin/pcce-gcc
	printf X >>own/bin/pcce-gcc
	ccache -z >/dev/null
	CCACHE_COMPILERCHECK=content ccache own/bin/pcce-gcc -O2 -c f.c -o f.o
	is "ccache: a miss after the wrapper has changed" "$(hits)" 0
else
	skip "ccache" "ccache is not installed"
fi

if command -v distcc >/dev/null && command -v distccd >/dev/null; then
	# A server on this machine that runs pcce-gcc.  The client may not compile by itself.
	mkdir distcc
	port=$((20000 + RANDOM % 10000))
	TMPDIR=/tmp distccd --daemon --no-detach --port "$port" --listen 127.0.0.1 --allow 127.0.0.1 \
		--jobs 2 --enable-tcp-insecure --log-stderr --log-level info 2>distccd.log &
	daemon=$!
	for ((i = 0; i < 50; i++)); do
		rm -f f.o
		# The client would not ask again within a minute after the server was not ready.
		DISTCC_DIR=$PWD/distcc DISTCC_FALLBACK=0 DISTCC_BACKOFF_PERIOD=0 \
			DISTCC_HOSTS=127.0.0.1:$port distcc "$out/bin/pcce-gcc" -O2 -c f.c -o f.o >log 2>&1 && break
		sleep 0.2
	done
	kill $daemon
	if grep -q 'COMPILE_OK.*f\.c' distccd.log; then
		ok "distcc: compiles on the server"
	else
		not_ok "distcc: compiles on the server" log distccd.log
	fi
	check "distcc: instrumented" instrumented f.o
else
	skip "distcc" "distcc is not installed"
fi
done_testing
