#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# runs beside others
#
# Tests one installation with several compilers: each GCC that is installed here with its plugin
# headers builds a program, objects of different compilers are linked into one program, and a
# compiler without a plugin gets one sentence.  So does clang, when it compiles and when it links.
# Also tests the list GCCS of the makefile, and that an installed tree works where it is moved.

. "$(dirname "$0")/../lib.sh"
cd "$scratch" || exit 1
frequency=2000
unset GCCS

range=$(sed -n 's/^GCC_\(FIRST\|LAST\) *:= *//p' "$top/plugin/build.mk")
first=${range%%$'\n'*} last=${range##*$'\n'}
mapfile -t compilers < <("$top/scripts/gcc-ok" --all)
if [ ${#compilers[@]} = 0 ]; then
	not_ok "a compiler has its plugin headers" "scripts/gcc-ok --all lists none"
	done_testing
fi

# ---- the makefile ------------------------------------------------------------------------

# Only plugins are built again, in a build directory of their own.
own=$scratch/own
make_own() { make -s -j"$(nproc)" -C "$top" O="$own" plugin "$@" >make.log 2>&1; }
plugins_in() { (cd "$1" && printf '%s\n' gcc-*/pcce_plugin.so | sed 's|/.*||' | sort -V); }

make_own GCCS=all || {
	not_ok "make GCCS=all builds" make.log
	done_testing
}
is "make GCCS=all builds a plugin for each compiler" "$(plugins_in "$own/lib/pcce")" \
	"$(printf '%s\n' "${compilers[@]}")"
rm "$own"/lib/pcce/gcc-*/pcce_plugin.so
make_own CC="${compilers[0]}"
is "... and make without GCCS keeps all of them up to date" "$(plugins_in "$own/lib/pcce")" \
	"$(printf '%s\n' "${compilers[@]}")"
cp -r "$own/lib/pcce" built

# A compiler cache hashes the file that -fplugin= names.  ccache hashes its content if told to.
export CCACHE_DIR=$scratch/ccache CCACHE_COMPILERCHECK=content
echo 'int f(int); int g(int n) { return f(n) + f(n + 1); }' >cached.c
cached() { # prints how many hits ccache had
	ccache -z >/dev/null && ccache "${compilers[0]}" -O2 -fplugin="$own/lib/pcce/pcce_plugin.so" \
		-c cached.c -o cached.o && ccache --print-stats |
		awk '/^(direct|preprocessed)_cache_hit/ { n += $2 } END { print n }'
}
if [ -n "$(type -P ccache)" ]; then
	is "ccache: first a miss" "$(cached)" 0
	make_own CC="${compilers[0]}"
	is "ccache: a hit after make has done nothing" "$(cached)" 1
	for compiler in "${compilers[@]}"; do
		printf X >>"$own/lib/pcce/$compiler/pcce_plugin.so"
		make_own CC="${compilers[0]}"
		is "ccache: a miss after the plugin of $compiler has changed" "$(cached)" 0
	done
else
	skip "objects of an earlier plugin" "ccache is not installed"
fi
make_own GCCS="${compilers[0]}"
is "make GCCS=${compilers[0]} leaves only that one" "$(plugins_in "$own/lib/pcce")" "${compilers[0]}"
make_own -n CC="env ${compilers[0]}" CXX="env g++"
check "CC may have several words" grep -q 'env g++ .*-c plugin/plugin.c' make.log

# refuses NAME SENTENCE GCCS: the makefile prints that sentence only
refuses() {
	if make_own GCCS="$3"; then
		not_ok "$1" "make succeeded"
	else
		is "$1" "$(grep -v '^make' make.log)" "$2"
	fi
}
refuses "a compiler that cannot be run is named" \
	"pcce: cannot run the compiler 'gcc-none'; run scripts/setup, or name one with CC=" gcc-none
for version in $((first - 1)) $((last + 1)); do
	printf '#!/bin/sh\necho %s\n' $version >fake-$version
	chmod +x fake-$version
	refuses "GCC $version is refused" "pcce: cannot build the plugin for $scratch/fake-$version: \
it is GCC $version, and the plugin needs GCC $first to $last; name another compiler with CC=gcc-12" \
		"$scratch/fake-$version"
done
printf '#!/bin/sh\necho %s\n' "$last" >headless
chmod +x headless
refuses "missing plugin headers are named" "pcce: cannot find the plugin headers of \
$scratch/headless; install them: apt-get install gcc-$last-plugin-dev" "$scratch/headless"
if command -v clang >/dev/null; then
	refuses "the plugin is not built for clang" "pcce: cannot build the plugin for clang: it is \
clang, and the plugin is for GCC; name a GCC with CC=gcc" clang
else
	skip "the plugin is not built for clang" "clang is not installed"
fi
is "scripts/setup wants the headers for each compiler of GCCS" \
	"$(GCCS="${compilers[*]} gcc-$last" "$top/scripts/setup" --list |
		sed -n 's/^\(gcc-[0-9]*\)-plugin-dev$/\1/p' | sort -Vu)" \
	"$(printf '%s\n' "${compilers[@]}" "gcc-$last" | sort -Vu)"

# ---- an installed tree, with all plugins -------------------------------------------------

prefix=$scratch/usr
make -s -C "$top" O="$out" install DESTDIR="$scratch/stage" PREFIX="$prefix" >install.log 2>&1 || {
	not_ok "make install" install.log
	done_testing
}
is "make install installs each plugin of the build" "$(plugins_in "stage$prefix/lib/pcce")" \
	"$(plugins_in "$out/lib/pcce")"
mv "stage$prefix" "$prefix"
lib=$prefix/lib/pcce
rm -r "$lib"/gcc-*
cp -r built/gcc-* built/pcce_plugin.so "$lib"
PATH=$prefix/bin:$PATH
hash -r
cflags=$(pcce-config --cflags)
ldflags=$(pcce-config --ldflags)
case $cflags in *"$prefix"*) ok "the flags name installed files" ;; *) not_ok "the flags name installed files" "$cflags" ;; esac

project=$top/tests/e2e/project
mapfile -t sources < <(cd "$project" && find src lib -name '*.c' | sort)
want=$(mkdir plain && cd plain && "${compilers[0]}" -I"$project/include" "${sources[@]/#/$project/}" \
	-o project -lm && ./project)

# links NAME COMPILER: links the objects to a program that works
links() {
	if ! "$2" ./*.o $ldflags -o project -lm >link.log 2>&1; then
		not_ok "$1: links" link.log
		return
	fi
	check "$1: encoded" is_encoded project
	is "$1: output" "$(./project)" "$want"
	if record self data ./project; then
		recording_is_exact "$1: all samples exact" data 30
	else
		not_ok "$1: recorded" data.err
	fi
}
mkdir mixed
cd mixed || exit 1
for compiler in "${compilers[@]}"; do
	for options in -O2 "-O2 -flto"; do
		rm -f ./*.o
		# shellcheck disable=SC2086
		if "$compiler" $options -I"$project/include" $cflags -c "${sources[@]/#/$project/}" >cc.log 2>&1; then
			links "$compiler $options" "$compiler"
		else
			not_ok "$compiler $options: compiles" cc.log
		fi
	done
done
if [ ${#compilers[@]} -gt 1 ]; then
	# Each object is from the next compiler in turn.
	rm -f ./*.o
	for i in "${!sources[@]}"; do
		"${compilers[$((i % ${#compilers[@]}))]}" -O2 -I"$project/include" $cflags \
			-c "$project/${sources[$i]}" >>cc.log 2>&1
	done
	is "objects of several compilers" "$(readelf -p .comment ./*.o | grep -c 'GCC:')" "${#sources[@]}"
	is "... are of all these" "$(readelf -p .comment ./*.o | grep 'GCC:' | sort -u | wc -l)" \
		"$((${#sources[@]} < ${#compilers[@]} ? ${#sources[@]} : ${#compilers[@]}))"
	for compiler in "${compilers[0]}" "${compilers[-1]}"; do
		links "objects of several compilers, linked by $compiler" "$compiler"
	done
else
	skip "objects of several compilers" "only ${compilers[0]} is installed with its plugin headers"
fi
cd ..

# ---- compilers without a plugin ----------------------------------------------------------

echo 'int main(void) { return 0; }' >empty.c
compiler=${compilers[0]}
version=$("$compiler" -dumpfullversion)
major=${version%%.*}
# plugins_are LIST: only these plugins are installed (any other compiler's file will do)
plugins_are() {
	rm -rf "$lib"/gcc-*
	local n
	for n; do
		mkdir "$lib/gcc-$n"
		cp "built/$compiler/pcce_plugin.so" "$lib/gcc-$n"
	done
}
# says NAME SENTENCE COMMAND...: fails, writes no output, and says only this
says() {
	local name=$1 sentence=$2
	shift 2
	rm -f empty.o
	if "$@" >log 2>&1; then
		not_ok "$name" "$* succeeded"
	elif [ -e empty.o ]; then
		not_ok "$name" "$* left an output"
	else
		is "$name" "$(grep -v '^compilation terminated' log)" "$sentence"
	fi
}
remedy="install the package pcce-gcc-$major or pcce-gcc-source, or build pcce with 'make GCCS=all'"
others=()
for ((n = first; n <= last; n++)); do [ $n = "$major" ] || others+=("$n"); done
for count in 0 1 2 3; do
	plugins_are "${others[@]:0:$count}"
	case $count in
	0) list="no compiler" ;;
	1) list="GCC ${others[0]}" ;;
	2) list="GCC ${others[0]} and ${others[1]}" ;;
	3) list="GCC ${others[0]}, ${others[1]} and ${others[2]}" ;;
	esac
	says "$count other plugins: $compiler gets one sentence" \
		"cc1: fatal error: cannot use GCC $version: $lib has plugins for $list; $remedy" \
		"$compiler" $cflags -c empty.c
done
"$compiler" -O2 -flto -c empty.c -o lto.o
"$compiler" -flto lto.o $ldflags -o lto >log 2>&1
check "... also when it links with -flto" \
	grep -qF "lto1: fatal error: cannot use GCC $version: $lib has plugins for" log
plugins_are "$major"
: >"$lib/gcc-$major/pcce_plugin.so"
"$compiler" $cflags -c empty.c >log 2>&1
check "a plugin that cannot be loaded is named" grep -qF \
	"cannot load the plugin into GCC $version: $lib/gcc-$major/pcce_plugin.so: file too short; build pcce" log
if [ ${#compilers[@]} -gt 1 ]; then
	cp "built/${compilers[-1]}/pcce_plugin.so" "$lib/gcc-$major/pcce_plugin.so"
	"$compiler" $cflags -c empty.c >log 2>&1
	check "a plugin for another build of GCC is refused" \
		grep -Eq "cannot load (the plugin into|pcce_plugin in) GCC $version: " log
else
	skip "a plugin for another build of GCC is refused" \
		"only $compiler is installed with its plugin headers"
fi

# A stand-in for compilers that are not installed here, and for tools of clang.
cat >host.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	const char *gcc[5] = {argc > 2 ? argv[2] : ""};
	void *plugin = dlopen(argv[1], RTLD_LAZY | RTLD_GLOBAL);
	if (!plugin)
		return puts(dlerror()), 2;
	int (*init)(void *, const char **) = (int (*)(void *, const char **))dlsym(plugin, "plugin_init");
	return argc > 2 ? init(argv, gcc) : 0;
}
END
"$compiler" host.c -o host -ldl
mkdir as
plugins_are "$major"
for v in $((first - 1)).5.0 $((last + 1)).1.0; do
	says "GCC $v is refused" "pcce: error: cannot use GCC $v: pcce supports GCC $first to $last; \
use one of these ($lib has plugins for GCC $major)" ./host "$lib/pcce_plugin.so" $v
done

# ---- clang -------------------------------------------------------------------------------

compile_error="pcce: error: cannot compile with clang: pcce is a plugin of GCC; use GCC ($lib has \
plugins for GCC $major), or leave out the flags of pcce-config"
link_error="pcce-ld: cannot link with clang: the linker flags of pcce-config are for GCC; link with \
gcc or g++, or leave out these flags"
for name in clang clang++ clang-99 clang++-99.1; do
	cp host as/$name
	says "a program called $name gets one sentence" "$compile_error" "as/$name" "$lib/pcce_plugin.so"
done
for name in clangd clang-tidy clang-format-99 gcc; do
	cp host as/$name
	check "a program called $name goes on" "as/$name" "$lib/pcce_plugin.so"
done

# with_clang NAME SENTENCE COMMAND...: fails with this sentence once, and without talk of symbols
with_clang() {
	local name=$1 sentence=$2
	shift 2
	rm -f program empty.o
	if "$@" >log 2>&1 || [ -e program ] || [ -e empty.o ]; then
		not_ok "$name" "$* succeeded, or left an output" log
	elif [ "$(grep -cxF "$sentence" log)" != 1 ]; then
		not_ok "$name" "wanted once: $sentence" log
	else
		is "$name" "$(grep -iE 'undefined|unable to load|crash|stack dump' log)" ""
	fi
}
found=
for clang in clang $(seq -f clang-%g 13 30); do
	command -v $clang >/dev/null || continue # one of several
	found=1
	$clang -c empty.c -o plain.o
	with_clang "$clang compiles" "$compile_error" $clang -O2 $cflags -c empty.c
	with_clang "$clang preprocesses" "$compile_error" $clang $cflags -E empty.c
	with_clang "$clang compiles and links" "$compile_error" $clang $cflags empty.c $ldflags -o program
	with_clang "$clang links" "$link_error" $clang plain.o $ldflags -o program
	with_clang "$clang links a shared library" "$link_error" $clang -shared plain.o $ldflags -o program
done
[ -n "$found" ] || skip "clang gets one sentence" "clang is not installed"
"$compiler" $cflags -c empty.c -o empty.o
mv empty.o plain.o
if command -v clang >/dev/null; then
	with_clang "clang links an object of GCC" "$link_error" clang plain.o $ldflags -o program
	check "a program of GCC takes in an object of clang" \
		sh -c "clang -c empty.c -o plain.o && $compiler plain.o $ldflags -o program && ./program"
else
	skip "clang and objects of GCC" "clang is not installed"
fi

make -s -C "$top" O="$out" uninstall PREFIX="$prefix" >log 2>&1
is "make uninstall removes all plugins" "$(find "$prefix" ! -type d)" ""
done_testing
