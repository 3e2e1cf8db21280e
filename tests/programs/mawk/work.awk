# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Word counts, regular expressions, user functions with recursion, string functions.

function fib(n) {
	return n < 2 ? n : fib(n - 1) + fib(n - 2)
}

function spell(word, i) {
	return i > length(word) ? "" : spell(word, i + 1) substr(word, i, 1)
}

{
	for (i = 1; i < NF; i++)
		count[$i]++
	if ($0 ~ /(ea|ti|no)+[a-z]*l /)
		matched++
	if (NR % 20 == 0)
		long = spell($1 $2 $3, 1)
	changed += gsub(/[aeiou]t/, "<&>")
	n = split($0, part, /[<>]/)
	parts += n
}

END {
	for (w in count)
		if (count[w] > most || (count[w] == most && w < best)) {
			most = count[w]
			best = w
		}
	printf "%d %d %d %s %d %s %d\n", matched, changed, parts, best, most, long, fib(29)
}
