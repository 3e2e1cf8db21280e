# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
#
# Builds the BPF program with each clang that is installed.  Source it after tests/lib.sh.

# bpf_clangs: prints the names: clang if it has no other name, and clang-14 and later
bpf_clangs() {
	local clang major
	for clang in clang $(compgen -c clang- | grep -x 'clang-[0-9]*' | sort -uV); do
		command -v "$clang" >/dev/null || continue # one of several
		major=$("$clang" -dumpversion 2>/dev/null | cut -d. -f1)
		[ "${major:-0}" -ge 14 ] || continue
		[ "$clang" != clang ] || ! command -v "clang-$major" >/dev/null || continue # one of several
		echo "$clang"
	done
}

# bpf_loader CLANG: makes load-CLANG in the current directory, load.c with the BPF program of that
# clang.  The build treats warnings as errors.
bpf_loader() {
	env -u MAKEFLAGS -u MAKELEVEL make -s -C "$top" O="$scratch/bpf-$1" CLANG="$1" \
		WERROR=-Werror "$scratch/bpf-$1/obj/sampler.skel.h" &&
		$CC -O2 -g -D_GNU_SOURCE= -Wall -Wextra -Werror -I"$top/include" -I"$top/lib" \
			-I"$top" -I"$top/tests/vm" -I"$scratch/bpf-$1/obj" "$top/tests/bpf/load.c" \
			"$top/tests/vm/guest.c" "$top/lib/sampler/bpf_load.c" "${sanitize[@]}" \
			"$out/obj/libpcce-tools.a" "${tool_libraries[@]}" -o "load-$1"
}

# bpf_stacks OBJDUMP OBJECT: prints the bytes of stack that each function uses, the most first
bpf_stacks() {
	"$1" -d --no-show-raw-insn "$2" | awk '
	function note(n,    i, hex) {
		for (i = 3; n ~ /^0x/ && i <= length(n); i++)
			hex = hex * 16 + index("0123456789abcdef", substr(n, i, 1)) - 1
		n = n ~ /^0x/ ? hex : n + 0
		if (n > most[name])
			most[name] = n
	}
	/^[0-9a-f]+ <[^>]*>:$/ { # also labels in functions
		gsub(/[<>:]/, "", $2)
		if ($2 !~ /^LBB/)
			name = $2
	}
	match($0, /\(r10 - [0-9a-fx]+\)/) { note(substr($0, RSTART + 7, RLENGTH - 8)) }
	/ = r10$/ { base = $(NF - 2) }
	base && $0 ~ base " \\+= -" { sub(/.* -/, ""); note($0); base = "" }
	END { for (name in most) print most[name], name }' | sort -rn
}
