#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# runs beside others
#
# Runs each command of docs/tutorial.md, in its order, and compares what they print with what the
# tutorial says of it.  Debian's source comes from scripts/fetch-source.

. "$(dirname "$0")/../lib.sh"
cd "$scratch" || exit 1

if ! command -v dpkg-source >/dev/null; then
	skip_all "dpkg-source is not installed"
fi
mkdir bin
cat >bin/apt-get <<END
#!/bin/sh
PATH=$PATH exec "$top/scripts/fetch-source" "\$2" "\$2-source"
END
chmod +x bin/apt-get
export PATH=$scratch/bin:$PATH TERM=dumb PCCE_CC=$CC
unset CFLAGS LDFLAGS MAKEFLAGS MFLAGS

# A command begins with $.  The lines of a here-document follow it.
awk '/^    \$ / {
		command = substr($0, 7)
		if (command ~ /<<.END.$/)
			while ((getline line) > 0 && line !~ /^ *END$/)
				command = command "\n" substr(line, 7)
		if (command ~ /<</)
			command = command "\nEND"
		printf "%s%c", command, 0
	}' "$top/docs/tutorial.md" >commands
n=0
while IFS= read -r -d '' command; do
	n=$((n + 1))
	case $command in
	cd\ *)
		# shellcheck disable=SC2086
		cd ${command#cd } || exit 1
		ok "$command"
		continue
		;;
	esac
	if timeout 300 bash -c "$command" >"$scratch/out.$n" 2>"$scratch/err.$n" </dev/null; then
		ok "${command%%$'\n'*}"
	else
		not_ok "${command%%$'\n'*}" "$scratch/out.$n" "$scratch/err.$n"
		done_testing
	fi
	# The last one of each kind.
	cp "$scratch/out.$n" "$scratch/out.$(echo "${command%%$'\n'*}" | tr -c 'a-z:\n' - | tr -s -)"
done <"$scratch/commands"
check "all commands were found" [ "$n" -ge 16 ]
cd "$scratch" || exit 1
check "the program is encoded" grep -q '^./mawk: instrumented and encoded' out.pcce-check-mawk
check "the tree has what the tutorial says of it" \
	grep -qE '^ +[5-9][0-9]\.[0-9]% .* ├─ .*execute.c:804  \(not instrumented\)$' \
	out.pcce-report-i-slow-data-stdio-no-kernel
value() { sed -n "s/^$1: //p" out.pcce-report-i-slow-data-stats; }
# The dynamic linker may have a sample.
check "all samples are exact" [ $(($(value exact) + $(value outside))) = "$(value samples)" ]
check "the strings take the memory" grep -qE '^ +100\.0% +8\.4 GiB  new_STRING0' \
	out.pcce-report-i-malloc-data-stdio-format-callees
check "most of the time is saved" grep -qE '^time: .* now: -9[0-9]\.[0-9]%$' \
	out.pcce-diff-slow-data-fast-data
check "the page has the source" grep -q 'id="data">' mawk-source/slow.html
done_testing
