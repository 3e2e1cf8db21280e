" Edits a third of the text, then computes.
set nomore
60000,$delete
%s/\v<(\w+)e (\w+)>/\2 \1/ge
g/tion\|[aeiou]\{3\}/normal! Aend
%s/\v(\a+)\s+\zs\1//e
sort /\d\+$/ r
v/[ab].*[cd]/delete
function! Fib(n)
  return a:n < 2 ? a:n : Fib(a:n - 1) + Fib(a:n - 2)
endfunction
let words = {}
for line in getline(1, 8000)
  for word in split(line)
    let words[word] = get(words, word, 0) + 1
  endfor
endfor
call append(0, map(sort(items(words), {a, b -> b[1] - a[1]})[:50], {i, v -> v[0] . ' ' . v[1]}))
call append(0, 'fib ' . Fib(19))
write! out.txt
qall!
