" SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
" Another input than bench/programs/vim/work.vim, for profiles: macros, marks, registers, undo,
" formatting, dictionaries and sorting.
set nomore
20000,$delete
set textwidth=60 autoindent
let @q = "0wdwA done\<Esc>j"
normal! gg
normal! 800@q
1,400normal! gqq
%substitute/\(\w\+\)\s\(\w\+\)$/\=submatch(2) . '-' . strlen(submatch(1))/e
global/^\w\{5}\s/move 0
undo
redo
2000,2400join
1,3000>
1,3000retab!
vglobal/[0-9]\+/copy $
normal! gg"aY"bdap"bP
%sort u
function! Count(lines)
  let seen = {}
  for line in a:lines
    let key = tolower(matchstr(line, '\a\+\d*'))
    if !has_key(seen, key)
      let seen[key] = []
    endif
    call add(seen[key], len(line))
  endfor
  return seen
endfunction
let seen = Count(getline(1, 4000))
let sums = map(copy(seen), {k, v -> eval(join(v, '+'))})
call append('$', map(sort(keys(sums)), {i, k -> printf("%s %d %s", k, g:sums[k], string(g:seen[k][:2]))}))
let i = 0
while i < 3000
  call cursor(i + 1, 1)
  call search('\<\(th\|in\)\w*', 'W')
  if getline('.') =~# '^\s*[aeiou]'
    execute 'normal! g~w'
  elseif i % 7 == 0
    call setline('.', split(getline('.'), '\zs')[:40] ->join(''))
  endif
  let i += 1
endwhile
write! out.txt
qall!
