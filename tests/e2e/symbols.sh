#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Tests names of uninstrumented functions: a library's, by its symbol table or by separate debug
# information (found by build id, when recording or when reporting), and the kernel's.

. "$(dirname "$0")/../lib.sh"
cd "$scratch" || exit 1
export HOME=$scratch/home
unset XDG_CACHE_HOME DEBUGINFOD_CACHE_PATH

cat >library.c <<'END'
static int __attribute__((noinline)) hidden(int n)
{
	volatile int x = 0;

	for (int i = 0; i < n; i++)
		x += i;
	return x;
}

int __attribute__((noinline)) shown(int n)
{
	volatile int x = 0;

	for (int i = 0; i < n; i++)
		x += i;
	return x;
}

int work(int n)
{
	return hidden(n) + shown(n) + 1;
}
END
cat >program.c <<'END'
int work(int n);

int main(void)
{
	int sum = 0;

	for (int i = 0; i < 100; i++)
		sum += work(1000000);
	return sum & 1;
}
END
# shellcheck disable=SC2046
$CC -O2 -g -fPIC -shared -Wl,--build-id -o libwork.so library.c &&
	objcopy --only-keep-debug libwork.so work.debug && strip libwork.so &&
	$CC -O2 -g $(pcce-config --cflags) program.c $(pcce-config --ldflags) -L. \
		-lwork -Wl,-rpath,"$scratch" -o program 2>build.log || {
	not_ok "build the program" build.log
	done_testing
}
id=$(readelf -n libwork.so | sed -n 's/.*Build ID: //p')
mkdir -p "home/.cache/debuginfod_client/$id" elsewhere/wrong

# leaves DATA: the functions of the library in which samples were taken
leaves() {
	pcce-report -q -i "$1" --format=flat --call-sites=none |
		awk 'NR > 1 && $3 > 0 && /libwork/ { print $4 }' | sort -u | tr '\n' ' '
}

if ! record self plain.data ./program; then
	not_ok "record" plain.data.err
	done_testing
fi
is "without debug information: what the dynamic symbol table knows" \
	"$(leaves plain.data)" "[libwork.so] shown "
cp work.debug "home/.cache/debuginfod_client/$id/debuginfo"
is "a recording gets names when debug information appears later" \
	"$(leaves plain.data)" "hidden shown "
check "... and lines" \
	sh -c "pcce-report -q -i plain.data --by=line --format=flat | grep -q 'hidden  library.c:[5-7] '"
check "... and calls of the library are where they were" \
	sh -c "pcce-report -q -i plain.data --under=main | grep -q 'hidden  program.c:8 '"
record self known.data ./program
rm -r home
is "a recording has names when debug information was there" "$(leaves known.data)" "hidden shown "
is "debuginfod's folder can be elsewhere" "$(
	mkdir -p elsewhere/"$id" && cp work.debug elsewhere/"$id"/debuginfo
	DEBUGINFOD_CACHE_PATH=$PWD/elsewhere leaves plain.data
)" "hidden shown "
$CC -O2 -g -DOTHER -fPIC -shared -Wl,--build-id -o other.so library.c -Wl,-soname,other &&
	objcopy --only-keep-debug other.so elsewhere/"$id"/debuginfo
is "debug information of another build is not taken" \
	"$(DEBUGINFOD_CACHE_PATH=$PWD/elsewhere leaves plain.data)" "[libwork.so] shown "

# A stripped program names its debug file (.gnu_debuglink). The file is beside it, in .debug, or
# below /usr/lib/debug.
for id in sha1 none; do
	rm -rf linked
	mkdir -p linked/.debug
	# shellcheck disable=SC2046
	$CC -O2 -g -fno-inline $(pcce-config --cflags) program.c $(pcce-config --ldflags) \
		-Wl,--build-id=$id -L. -lwork -Wl,-rpath,"$scratch" -o linked/program &&
		objcopy --only-keep-debug linked/program linked/program.debug &&
		strip linked/program &&
		(cd linked && objcopy --add-gnu-debuglink=program.debug program) ||
		not_ok "build a stripped program"
	has_lines() { pcce-report -q -i "$1" --under=main --stdio | grep -q '  program.c:8'; }
	record self beside.data ./linked/program
	check "build id $id: the debug file is beside the program" has_lines beside.data
	mv linked/program.debug linked/.debug/
	record self below.data ./linked/program
	check "  it is in .debug" has_lines below.data
	mv linked/.debug/program.debug kept.debug
	record self later.data ./linked/program
	pcce-report -q -i later.data --stdio >later.log
	is "  it is not there: no line without a file" "$(grep -c ' line [0-9]' later.log)" 0
	# Of another build, a pipe that nobody writes to, a directory.
	$CC -O2 -g -Wl,--build-id=$id program.c -L. -lwork -o other &&
		objcopy --only-keep-debug other linked/program.debug
	mkfifo linked/.debug/program.debug
	record self other.data ./linked/program
	check "  one of another build is not taken" eval '! has_lines other.data'
	rm linked/program.debug linked/.debug/program.debug
	cp kept.debug linked/program.debug
	[ $id = none ] || check "  it appears after recording" has_lines later.data
done

# Stubs of a library's PLT have no symbols.  Each kind that the linker makes is tested.
cat >stub.c <<'END'
#ifdef INNER
namespace n {
__attribute__((visibility("default"))) void tiny(int) {}
}
#else
namespace n {
void tiny(int);
}
extern "C" int work(int n);
int work(int n)
{
	for (int i = 0; i < n * 4; i++)
		n::tiny(i);
	return n;
}
#endif
END
for kind in "-fcf-protection=none -Wl,-z,lazy" "-fcf-protection=none -Wl,-z,now" \
	"-fcf-protection -Wl,-z,ibtplt -Wl,-z,lazy" "-fcf-protection -Wl,-z,ibtplt -Wl,-z,now"; do
	mkdir -p stubs
	# shellcheck disable=SC2086 # lists of flags
	if $CXX -x c++ -O1 -DINNER -fPIC -shared stub.c -o stubs/libtiny.so &&
		$CXX -x c++ -O1 -fPIC -shared $kind stub.c -o stubs/libwork.so \
			-Lstubs -ltiny -Wl,-rpath,"$scratch/stubs" && strip stubs/libwork.so &&
		LD_LIBRARY_PATH=$scratch/stubs frequency=4000 record self stubs.data ./program; then
		# A sample may be in the library's first instructions, which have no name.
		is "stubs ($kind) are called as what they lead to" \
			"$(leaves stubs.data | sed 's/^\[libwork\.so\] //')" "n::tiny@plt work "
	else
		not_ok "stubs ($kind)" stubs.data.err
	fi
done

# One function has many names. Reports show the one that people call it by, without its version.
cat >names.c <<'END'
#define BUSY for (volatile int x = 0; x < n; x++)
#define NAME(name, of) __attribute__((alias(#of))) int name(int n)
#define VERSION(name, of, version) \
	NAME(name, of);            \
	__asm__(".symver " #name ", " version)

int __attribute__((noinline)) __plain(int n)
{
	BUSY;
	return n;
}
__attribute__((weak)) NAME(plain, __plain);
NAME(plain_64, __plain);

int __attribute__((noinline)) release(int n)
{
	BUSY;
	return n + 1;
}
VERSION(first, release, "crelease@V1");
VERSION(second, release, "a_release@V1");

int __attribute__((noinline)) current_impl(int n)
{
	BUSY;
	return n + 2;
}
VERSION(third, current_impl, "current@@V2");
VERSION(fourth, current_impl, "a_current@V1");

int work(int n)
{
	return __plain(n) + release(n) + current_impl(n);
}
END
printf 'V1 { global: plain; plain_64; __plain; release; work; local: *; };\nV2 { } V1;\n' >names.map
mkdir -p names
if $CC -O1 -fPIC -shared -Wl,--version-script=names.map,-Bsymbolic names.c -o names/libwork.so \
	2>build.log; then
	for kind in symtab dynsym; do
		[ $kind = symtab ] || strip names/libwork.so
		LD_LIBRARY_PATH=$scratch/names record self names.data ./program
		is "aliases and versions, by .$kind" \
			"$(leaves names.data | sed 's/^\[libwork\.so\] //')" "current plain release "
	done
else
	not_ok "aliases and versions" build.log
fi

# objcopy renames functions of an object, or of a program. A function has one name all the same, and
# selections and other modules know it by this one.
cat >renamed.c <<'END'
static volatile int sum;

int __attribute__((noinline)) leaf(int n)
{
	for (int i = 0; i < n; i++)
		sum += i;
	return sum;
}

int jumps(int n)
{
	for (int i = 0; i < n; i++)
		sum += i;
	return leaf(n);
}
END
cat >caller.c <<'END'
int NAME(int n);

int main(void)
{
	int sum = 0;

	for (int i = 0; i < 200; i++)
		sum += NAME(300000);
	return sum & 1;
}
END
rename=(--redefine-sym leaf=new_leaf --redefine-sym jumps=new_jumps)
# shellcheck disable=SC2046
$CC -O2 -g -fPIC $(pcce-config --cflags) -c renamed.c -o renamed.o &&
	$CC -O2 -g $(pcce-config --cflags) -DNAME=new_jumps -c caller.c -o caller.o &&
	$CC -O2 -g $(pcce-config --cflags) -DNAME=jumps -c caller.c -o old.o &&
	objcopy "${rename[@]}" renamed.o new.o &&
	$CC $(pcce-config --ldflags) caller.o new.o -o renamed &&
	$CC $(pcce-config --ldflags) old.o renamed.o -o late &&
	objcopy "${rename[@]}" late &&
	$CC -shared $(pcce-config --ldflags) new.o -o libnew.so &&
	$CC $(pcce-config --ldflags) caller.o -L. -lnew -Wl,-rpath,"$scratch" -o shared 2>build.log ||
	not_ok "build renamed functions" build.log
for program in renamed late shared; do
	prefix=new_
	[ $program != late ] || prefix=
	record self renamed.data ./$program
	is "$program: one function has one name" \
		"$(pcce-report -q -i renamed.data --format=folded 2>/dev/null |
			grep '^main;' | sed 's/ [0-9]*$//' | grep -v plt | sort -u | tr '\n' ' ')" \
		"main;${prefix}jumps main;${prefix}jumps;${prefix}leaf "
done
record_options="--only=new_leaf" record self only.data ./renamed
check "--only knows it by this name, too" [ "$(stat_of only.data samples)" -gt 5 ]

# Debug information that the library cannot read is not lost without a word.
if objcopy --compress-debug-sections=zstd program compressed 2>/dev/null; then
	record self zstd.data ./compressed
	check "debug information compressed with zstd: lines, or a warning" \
		sh -c "pcce-report -q -i zstd.data --under=main | grep -q 'program.c:8' ||
			grep 'warning: .*/compressed: its debug information is compressed' zstd.data.err"
else
	skip "debug information compressed with zstd" "objcopy cannot compress with zstd"
fi

# A symbolic link is written through: /dev/stdout is one, and may lead to a file.
ln -s linked.data link.data
timeout 300 pcce-record -q -b self -F 1000 -o link.data -- ./program >/dev/null 2>&1
check "a symbolic link is written through, and stays" \
	sh -c "test -L link.data && pcce-report -q -i linked.data --under=main | grep -q 'shown  program.c:8 '"

# The output is no regular file.  The recorder cannot read back what it wrote, and leaves symbols
# out.
timeout 300 pcce-record -q -b self -F 1000 -o /dev/stdout -- ./program 2>pipe.err | cat >pipe.data
check "a recording that went through a pipe gets names when it is read" \
	sh -c "pcce-report -q -i pipe.data --under=main | grep -q 'shown  program.c:8 '"

if ! has_bpf; then
	skip "names of kernel functions" "$bpf_reason"
elif ! grep -q '^0*[1-9a-f]' /proc/kallsyms; then
	skip "names of kernel functions" "/proc/kallsyms hides addresses"
else
	cat >reader.c <<'END'
#include <fcntl.h>
#include <unistd.h>

int main(void)
{
	char buffer[4096];
	int fd = open("/proc/self/exe", O_RDONLY), n = 0;

	for (int i = 0; i < 2000000; i++)
		n += pread(fd, buffer, sizeof(buffer), 0);
	return n & 1;
}
END
	# shellcheck disable=SC2046
	$CC -O2 -g $(pcce-config --cflags) reader.c $(pcce-config --ldflags) -o reader
	record bpf kernel.data ./reader
	pcce-report -q -i kernel.data --format=flat >kernel.flat 2>&1
	# The kernel's function with the most samples: which one it is depends on the processor.
	name=$(awk '$5 == "([kernel])" && $4 ~ /^[a-z_]/ { print $4; exit }' kernel.flat)
	check "names of kernel functions" \
		sh -c "grep -q '^[0-9a-f]* [tTwW] $name\$' /proc/kallsyms || { cat kernel.data.err kernel.flat; exit 1; }"
	# Since glibc 2.41, one function makes all system calls at which a thread can be cancelled.
	pcce-report -q -i kernel.data --focus="$name" --format=folded >kernel.folded 2>&1
	check "... under what called the kernel" \
		sh -c "grep -Eq '^main;.*(pread|__internal_syscall_cancel).*;$name ' kernel.folded || { cat kernel.folded; exit 1; }"
fi

# ---- short names of C++ functions ---------------------------------------------------------

cat >short.cc <<'END'
#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>
#define NOINLINE __attribute__((noinline))
namespace {
template <class K, class V> struct Store {
	std::map<K, V> all;
	NOINLINE void put(K k, V v) { all[k] += v; }
	NOINLINE V get(K k) const { return all.at(k); }
	NOINLINE V get(K k) { return all.at(k) + V(); }
};
template <class K, class V> NOINLINE void fill(Store<K, V> &s, std::function<K(int)> key)
{
	for (int i = 0; i < 500; i++)
		s.put(key(i), i);
	for (int i = 0; i < 500; i++)
		s.put(key(i), s.get(key(i)) + const_cast<const Store<K, V> &>(s).get(key(i)));
}
NOINLINE void order(std::vector<int> v) { std::sort(v.begin(), v.end(), [](int a, int b) { return a < b; }); }
NOINLINE void order(std::vector<double> v) { std::sort(v.begin(), v.end(), [](double a, double b) { return a > b; }); }
}
int main()
{
	for (int i = 0; i < 1500; i++) {
		Store<int, long> a;
		Store<std::string, double> b;
		fill<int, long>(a, [](int n) { return n; });
		fill<std::string, double>(b, [](int n) { return std::to_string(n); });
		std::vector<int> v;
		for (int n = 0; n < 2000; n++)
			v.push_back(n * 7919 % 1000);
		order(v);
		order(std::vector<double>(v.begin(), v.end()));
	}
}
END
# names [OPTION...]: those of the report, without their modules
names() {
	pcce-report -q -i short.data --format=flat --by=function "$@" |
		sed '1d; s/^ *[0-9.]*% *[0-9.]*% *[0-9]*  //; s/  ([^()]*)$//'
}
# shellcheck disable=SC2046 # a list of flags
if $CXX -O1 -g $(pcce-config --cflags) short.cc $(pcce-config --ldflags) -o short &&
	pcce-record -q -b self -o short.data ./short; then
	names | sort -u >short.list
	names --full-names | sort -u >full.list
	is "each function has another short name" "$(wc -l <short.list)" "$(wc -l <full.list)"
	check "no short name has more than 120 characters" bash -c '! grep -E ".{121}" short.list'
	check "full names have" grep -q -E ".{121}" full.list
	check "instances are told apart" grep -q '::Store<int>::put' short.list
	while read -r name; do
		pcce-report -q -i short.data --format=flat --under="$name" >/dev/null || echo "$name"
	done < <(grep -v '[][*?]' short.list) >missed
	is "--under takes each name of the list" "$(cat missed)" ""
	while read -r name; do
		pcce-report -q -i short.data --format=flat \
			--focus="^$(sed 's/[][\\^$.*+?(){}|/]/\\&/g' <<<"$name")\$" >/dev/null || echo "$name"
	done <short.list >missed
	is "--focus finds each name of the list" "$(cat missed)" ""
	names --demangle=full | sort -u >got
	check "--demangle does not shorten" cmp got full.list
	pcce-report -q -i short.data --format=folded >folded.1
	pcce-report -q -i short.data --format=folded --full-names >folded.2
	check "formats for programs have full names" cmp folded.1 folded.2
	check "and they are long" grep -q 'std::allocator<' folded.1
	pcce-record -q -b self --only='(anonymous namespace)::Store<int>::put' -o short.data ./short
	is "pcce-record --only takes a short name" \
		"$(names | grep -o '::Store<.*::put\|::Store::put' | sort -u)" "::Store::put"
	pcce-record -q -b self --only='(anonymous namespace)::Store::put' -o short.data ./short
	is "and one that stands for several functions" \
		"$(names | grep -c '::Store<.*::put')" 2
else
	not_ok "a program with long names"
fi
done_testing
