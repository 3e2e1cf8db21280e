#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Tests the kernel's call stacks: recorded by the BPF program, in views, formats, merged recordings
# and summaries, and left out.

. "$(dirname "$0")/../lib.sh"
cd "$scratch" || exit 1
has_bpf || skip_all "the bpf sampler: $bpf_reason"

cat >io.c <<'EOF'
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char buffer[1 << 16];

__attribute__((noinline)) static void read_much(int fd)
{
	for (int i = 0; i < 4000; i++)
		if (pread(fd, buffer, sizeof(buffer), 0) <= 0)
			_exit(1);
	__asm__ volatile("");
}

__attribute__((noinline)) static void fault_much(void)
{
	for (int i = 0; i < 200; i++) {
		char *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		for (int at = 0; at < 1 << 20; at += 4096)
			((volatile char *)p)[at] = 1;
		munmap(p, 1 << 20);
	}
	__asm__ volatile("");
}

int main(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);

	for (int i = 0; i < 4; i++) {
		read_much(fd);
		fault_much();
	}
	return 0;
}
EOF
# shellcheck disable=SC2046 # lists of flags
build() { $CC -g -O2 $(pcce-config --cflags) "$@" $(pcce-config --ldflags); }
check "the program is built" build io.c -o io
pcce-record -q -b bpf -F 2000 -o io.data ./io

# stacks ARGUMENT...: whole contexts with their numbers of samples
stacks() {
	pcce-report -q "$@" --format=folded
}

# The entries of the kernel: system calls, exceptions, and interrupts.
entry='^(entry_SYSCALL_64|asm_|do_syscall_64|common_interrupt|ret_from_|irqentry|error_entry)'

# Each function of the kernel below one of the program comes from an entry.
stacks -i io.data >io.folded
pcce-report -q -i io.data --format=json >io.json
if ! command -v jq >/dev/null; then
	skip "contexts of the kernel begin with an entry" "jq is missing (package jq)"
else
	check "contexts of the kernel begin with an entry" jq -e --arg entry "$entry" '
		(.nodes | map({key: (.id | tostring), value: .kind}) | from_entries) as $kind
		| [.nodes[] | select(.kind == "kernel" and $kind[.parent | tostring] != "kernel")
			| .name]
		| length > 0 and all(test($entry) or . == "[kernel]")' io.json
fi
check "a read has the functions of the file system below it" \
	grep -qE '^main;read_much;[^;]*pread[^;]*;entry_SYSCALL_64[^;]*;.*;vfs_read;' io.folded
check "a page fault is below the function that caused it" \
	grep -qE '^main;fault_much;asm_exc_page_fault;.*;handle_mm_fault' io.folded

total() {
	awk '{ n += $NF } END { print n + 0 }' "$@"
}

pcce-record -q -b bpf -F 2000 -o again.data ./io
stacks -i io.data --no-kernel >plain.folded
is "--no-kernel leaves no function of the kernel" \
	"$(grep -cE 'asm_exc|entry_SYSCALL|vfs_read' plain.folded)" 0
is "... and loses no sample" "$(total plain.folded)" "$(total io.folded)"
check "... which belong to the functions of the program" \
	grep -qE '^main;fault_much [0-9]+$' plain.folded
pcce-diff --no-kernel --format=json io.data again.data >diff.json 2>log
is "pcce-diff --no-kernel compares without them" "$(grep -c vfs_read diff.json)" 0
pcce-diff --all --lines=0 --format=json io.data again.data >diff.json 2>log
check "pcce-diff compares them otherwise" grep -q vfs_read diff.json

is "--focus finds functions of the kernel" \
	"$(stacks -i io.data --focus='^vfs_read$' | grep -vc ';vfs_read')" 0
check "--under, too" grep -qE '^vfs_read' <(stacks -i io.data --under=vfs_read)

pcce-merge -q -o merged.data io.data again.data 2>log || not_ok "merge" log
stacks -i again.data >again.folded
stacks -i merged.data | sort >merged.sum
cat io.folded again.folded | awk '{ n = $NF; sub(/ [0-9]+$/, ""); sum[$0] += n }
	END { for (s in sum) print s, sum[s] }' | sort >wanted.sum
check "a merged recording has the same stacks" cmp merged.sum wanted.sum

pcce-record -q -b bpf -F 2000 --hot -o hot.data ./io
check "a summary has them" grep -qE '^main;fault_much;asm_exc_page_fault;.*;handle_mm_fault' \
	<(stacks -i hot.data)
pcce-merge -q -o hot2.data hot.data hot.data 2>log || not_ok "merge summaries" log
is "two equal summaries have each stack twice" "$(stacks -i hot2.data | sort)" \
	"$(stacks -i hot.data | awk '{ $NF *= 2; print }' | sort)"

pcce-record -q -b bpf -F 2000 --only='read_much << main' -o only.data ./io
check "--only keeps the kernel's part of what it keeps" \
	grep -qE '^main;read_much;.*;vfs_read' <(stacks -i only.data)
is "... and nothing else" "$(stacks -i only.data | grep -vc '^main;read_much')" 0

pcce-record -q -b bpf -F 2000 --frames=all -o frames.data ./io
check "--frames has restored frames and the kernel's" \
	grep -qE '^main;read_much;[^;]*pread[^;]*;entry_SYSCALL_64[^;]*;.*;vfs_read' <(stacks -i frames.data)

pcce-record -q -b bpf -e cpu-clock:u -F 2000 -o user.data ./io
is "an event of user code alone has none" \
	"$(stacks -i user.data | grep -cE 'entry_SYSCALL|asm_exc')" 0
pcce-record -q -b bpf -e syscalls:sys_enter_pread64 -o point.data ./io 2>log
if grep -q pread <(stacks -i point.data 2>/dev/null); then
	check "a tracepoint has the stack at which it lies" \
		grep -qE '^main;read_much;[^;]*pread[^;]*;entry_SYSCALL_64[^;]*;do_syscall_64' \
		<(stacks -i point.data)
else
	skip "a tracepoint" "this kernel has none for system calls"
fi

cat >walk.c <<'EOF'
#include <pcce/decode.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	struct pcce_decode_recording *r;
	const struct pcce_decode_sample *s;
	struct pcce_decode_error why;
	unsigned int most = 0, wrong = 0;

	if (argc != 2 || pcce_decode_recording_open(argv[1], 0, &r, &why))
		return 1;
	while (pcce_decode_recording_next(r, &s, &why) > 0) {
		const struct pcce_decode_context *c = pcce_decode_sample_context(s);
		unsigned int kernel = 0;

		for (size_t i = 0; i < pcce_decode_context_frames(c); i++) {
			struct pcce_decode_frame f;

			pcce_decode_context_frame(c, i, &f, sizeof(f));
			if (f.kind != PCCE_DECODE_KERNEL)
				continue;
			wrong += kernel != i;
			kernel++;
		}
		most = kernel > most ? kernel : most;
	}
	printf("%s %u\n", most > 3 ? "several" : "few", wrong);
	return 0;
}
EOF
build_with_tools walk walk.c
is "libpcce-decode gives them as the innermost frames" "$(./walk io.data)" "several 0"

done_testing
