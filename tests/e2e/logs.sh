#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The examples of logs (docs/examples/log-*): they are built and run, and pcce-decode finds in their
# logs the functions that wrote them.

. "$(dirname "$0")/../lib.sh"
cd "$scratch" || exit 1
command -v pkg-config >/dev/null || skip_all "pkg-config is not installed"
export PKG_CONFIG_PATH=$out/lib/pkgconfig:${PKG_CONFIG_PATH-}
# As installed: <pcce/pcce.h>.
mkdir -p headers/pcce
cp "$top"/userlib/pcce.h "$top"/include/pcce/*.h headers/pcce
export PCCE_DICTIONARY=$scratch/dictionary

# example NAME LIBRARIES COMPILER FLAGS...
example() {
	local name=$1 libraries=$2
	shift 2
	# shellcheck disable=SC2046,SC2086
	"$@" -g -Wall -Wextra -Iheaders $(pkg-config --cflags pcce) "$top/docs/examples/$name" \
		$(pkg-config --libs pcce) -pthread $libraries -o "${name%.*}" >"$name.log" 2>&1
}

# says NAME LOG FUNCTIONS...: of each name in the log, the functions from the innermost to main
says() {
	local name=$1
	pcce-decode -S -r <"$2" >decoded 2>decoded.err
	shift 2
	is "$name" "$(grep -o '\(\[\|PCCE_CONTEXT=\).*' decoded | sed 's/.*PCCE_CONTEXT=//; s/[][]//g; s/ ([^)]*)//g')" \
		"$(printf '%s\n' "$@")"
	[ ! -s decoded.err ] || not_ok "$name: no messages" decoded.err
}

if example log-printf.c '' $CC -O2 -std=c11 -Werror && ./log-printf >printf.out; then
	says "printf: each line has its context" printf.out \
		"open_file < load < main" "load < main" "open_file < save < main" "save < main"
	is "printf: the line is that of the call" \
		"$(pcce-decode <printf.out | sed -n 's/.*#0 *\(open_file at\) .*:/\1 /p' | head -n 1)" \
		"open_file at $(grep -n 'cannot open' "$top/docs/examples/log-printf.c" | cut -d : -f 1)"
	rm dictionary
	./log-printf >again.out
	check "printf: the next run writes the same log" cmp printf.out again.out
else
	not_ok "printf: the example is built" log-printf.c.log
fi

if example log-syslog.c '' $CC -O2 -std=c11 -Werror && ./log-syslog 2>syslog.out; then
	says "syslog: each message has its context" syslog.out \
		"connect_to < synchronise < main" "synchronise < main"
else
	not_ok "syslog: the example is built" log-syslog.c.log
fi

if ! pkg-config --exists spdlog; then
	skip "spdlog: each message has its context" "libspdlog-dev is not installed"
elif mapfile -td ' ' spdlog < <(pkg-config --cflags spdlog | tr -d '\n') &&
	example log-spdlog.cc "$(pkg-config --libs spdlog)" $CXX -O2 -Werror "${spdlog[@]}" &&
	./log-spdlog >spdlog.out; then
	is "spdlog: the message is there" "$(sed -n '1s/ \[.*//p' spdlog.out)" "warning: first is not here"
	says "spdlog: each message has its context" spdlog.out \
		"cache::drop < cache::clear < main" \
		"cache::clear < main"
else
	not_ok "spdlog: the example is built" log-spdlog.cc.log
fi

# A socket that takes what journald would.
if ! pkg-config --exists libsystemd; then
	skip "journal: an entry has its context" "libsystemd-dev is not installed"
elif ! example log-journal.c -lsystemd $CC -O2 -std=c11 -Werror; then
	not_ok "journal: the example is built" log-journal.c.log
elif ! unshare -m true 2>/dev/null; then
	skip "journal: an entry has its context" "needs a mount namespace"
else
	unshare -m sh -c '
		mount -t tmpfs none /run && mkdir -p /run/systemd/journal || exit 1
		timeout 60 perl -MSocket -e '\''
			socket(S, PF_UNIX, SOCK_DGRAM, 0);
			bind(S, sockaddr_un("/run/systemd/journal/socket")) or die;
			open(F, ">", "/run/ready"); close(F);
			recv(S, $m, 65536, 0); print $m;'\'' >journal.out &
		for i in $(seq 300); do
			[ -e /run/ready ] || sleep 0.2
		done
		./log-journal; wait' >journal.log 2>&1
	check "journal: the message is there" grep -q '^MESSAGE=cannot mount data' journal.out
	says "journal: an entry has its context" journal.out "mount_disk < start < main"
fi

# ---- costs ---------------------------------------------------------------------------------

# Only that a name does not cost what a backtrace does: this machine may be slow.
cat >cost.c <<'END'
#include <execinfo.h>
#include <pcce/pcce.h>
#include <stdio.h>
#include <time.h>

static void name(void)
{
	char text[PCCE_TEXT_SIZE];

	pcce_context_text(pcce_context_id(), text);
	__asm__ volatile("" : : "r"(text) : "memory");
}

static void walk(void)
{
	void *frames[32];
	int n = backtrace(frames, 32);

	__asm__ volatile("" : : "r"(frames), "r"(n) : "memory");
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* Returns the least ns of several times. */
static double cost(void (*f)(void))
{
	double best = 1e9;

	for (int k = 0; k < 20; k++) {
		double begin = now(), ns;

		for (int i = 0; i < 5000; i++)
			f();
		ns = (now() - begin) / 5000;
		best = ns < best ? ns : best;
	}
	return best;
}

/* As deep as programs are. */
__attribute__((noipa)) static int compare(int depth)
{
	double of_name, of_walk;

	if (depth)
		return compare(depth - 1) + 1;
	of_name = cost(name);
	of_walk = cost(walk);
	printf("%.0f ns, a backtrace %.0f ns\n", of_name, of_walk);
	return of_name < of_walk;
}

int main(void)
{
	return compare(16) != 17;
}
END
# shellcheck disable=SC2046
$CC -O2 -Iheaders $(pkg-config --cflags pcce) cost.c $(pkg-config --libs pcce) -o cost 2>cost.log
check "a name and its text take less time than a backtrace" sh -c "./cost >cost.out"
echo "#   $(cat cost.out)"
# A line of 37 MB, with little memory: it becomes several, and each name in it is found.
long_line() {
	yes "pcce:$(printf '%032d' 0)" | head -n 1000000 | tr '\n' ' ' |
		(ulimit -v 500000 && timeout 120 pcce-decode -r) >long.out
}
if [ ${#sanitize[@]} -gt 0 ]; then
	skip "a very long line" "sanitizers need much address space"
else
	check "a very long line is read" long_line
	is "... it becomes several lines, and all names are found" \
		"$(grep -c . long.out) $(grep -o '\[no context\]' long.out | wc -l)" "3 1000000"
fi
# ---- a library that is not encoded, and a table in a debug file ---------------------------

cat >says.h <<'END'
#include <pcce/pcce.h>
#include <stdio.h>
__attribute__((noipa)) static void say(const char *text)
{
	char name[PCCE_TEXT_SIZE];

	printf("%s [%s]\n", text, pcce_context_text(pcce_context_id(), name));
}
END
cat >between.c <<'END'
#include "says.h"
__attribute__((noipa)) static int within(void (*f)(void)) { f(); return 1; }
int between(void (*f)(void)) { say("within"); return within(f) + 1; }
END
cat >split.c <<'END'
#include "says.h"
int between(void (*f)(void));
__attribute__((noipa)) static void called(void) { say("called"); }
int main(void) { called(); return !between(called); }
END
rm -f dictionary
# shellcheck disable=SC2046 # lists of flags
$CC -O1 -g -Iheaders $(pkg-config --cflags pcce) -fPIC -shared between.c -o libbetween.so &&
	$CC -O1 -g -Iheaders $(pkg-config --cflags pcce) split.c $(pkg-config --libs pcce) \
		-L. -lbetween -Wl,-rpath,"$PWD" -o split && ./split >split.out || not_ok "split.c is built"
marked=("say < called < main" "say < [truncated] < main" "say < called < [foreign] < [truncated] < main")
split_says() { # NAME
	pcce-decode -S <split.out >decoded 2>decoded.err
	is "$1" "$(sed -n 's/^ *#[0-9]* *\([^ ]*\).*/\1/p; /pcce:/s/.*/./p' decoded | tr '\n' ' ' |
		sed 's/^\. //; s/ $//; s/ \. /\n/g; s/ / < /g')" "$(printf '%s\n' "${marked[@]}")"
	is "  no messages" "$(cat decoded.err)" ""
}
split_says "functions of a library that is not encoded: gaps"
objcopy --only-keep-debug split split.debug
strip -R .pcce split
objcopy --add-gnu-debuglink=split.debug split
split_says "the table is in the debug file"
mkdir .debug
mv split.debug .debug
split_says "it is in .debug"
rm -r .debug
pcce-decode -S <split.out >decoded 2>decoded.err
check "without it, pcce-decode says so" grep -q 'its table was stripped' decoded.err

done_testing
