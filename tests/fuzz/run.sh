#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# runs beside others
#
# Builds the fuzzers and runs them for a moment, with the same inputs each time, to check that they
# still work.  `make fuzz` searches for mistakes.

. "$(dirname "$0")/../lib.sh"

runs=5000

cd "$scratch" || exit 1
echo 'int LLVMFuzzerTestOneInput(const char *data, unsigned long size); int LLVMFuzzerTestOneInput(const char *data, unsigned long size) { return !data && size; }' >empty.c
if ! ${CLANG:-clang} -fsanitize=fuzzer,address,undefined empty.c -o empty 2>log; then
	skip_all "${CLANG:-clang} has no libFuzzer: $(tail -n 1 log)"
fi

if ! make -s -j2 -C "$top" O="$out" fuzzers >log 2>&1; then
	not_ok "the fuzzers are built" log
	done_testing
fi
ok "the fuzzers are built"
check "seeds are made" bash "$top/tests/fuzz/seeds.sh" seeds
for source in "$top"/tests/fuzz/fuzz_*.c; do
	name=$(basename "$source" .c)
	name=${name#fuzz_}
	mkdir -p "$name" "seeds/$name"
	[ ! -d "$top/tests/fuzz/corpus/$name" ] || cp "$top/tests/fuzz/corpus/$name/"* "seeds/$name"
	check "$name: its seeds are accepted" \
		env FUZZ_SEEDS=1 "$out/fuzz/fuzz_$name" -artifact_prefix="$name/" "seeds/$name"/*
	check "$name: its seeds, and $runs inputs made from them" \
		"$out/fuzz/fuzz_$name" -seed=1 -runs=$runs -artifact_prefix="$name/" \
		"$name" "seeds/$name"
done
done_testing
