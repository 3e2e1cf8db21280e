-- SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
-- For the single-stepper: a little of everything that calls in both directions between the interpreter and
-- the C library, with errors (longjmp), coroutines, callbacks and finalizers.

local out = {}
local function say(...)
	out[#out + 1] = table.concat({...}, " ")
end

-- recursion, tail calls
local function fib(n)
	if n < 2 then return n end
	return fib(n - 1) + fib(n - 2)
end
local function count(n, sum)
	if n == 0 then return sum end
	return count(n - 1, sum + n)
end
say("fib", fib(13), "count", count(300, 0))

-- callbacks out of C: sort, gsub
local list = {}
for i = 1, 80 do list[i] = (i * 7919) % 1009 end
table.sort(list, function(a, b) return a > b end)
say("sorted", list[1], list[40], list[80])
local text = ("the quick brown fox jumps over the lazy dog "):rep(6)
say("gsub", (text:gsub("%a+", function(w) return w:reverse():upper() end)):sub(1, 40))
for w in text:gmatch("%w+o%w*") do list[#list + 1] = #w end

-- errors, nested; error objects; a handler
local function fails(depth)
	if depth == 0 then error({code = 42}) end
	local ok, e = pcall(fails, depth - 1)
	if depth % 3 == 0 and not ok then error(e, 0) end
	return e
end
for depth = 1, 9 do
	local ok, e = pcall(fails, depth)
	say("pcall", depth, tostring(ok), type(e) == "table" and e.code or tostring(e))
end
say("xpcall", select(2, xpcall(function() local x = nil; return x.y end, function(m) return "handled " .. m end)))
say("depth", select(2, pcall(function() local function f() return 1 + f() end return f() end)):sub(1, 30))

-- coroutines: yields across metamethods, pcall and iterators
local function produce(n)
	return coroutine.wrap(function()
		for i = 1, n do
			local ok = pcall(function() coroutine.yield(i) if i % 4 == 0 then error("four") end end)
			if not ok then coroutine.yield(-i) end
		end
	end)
end
local sum = 0
for v in produce(24) do sum = sum + v end
say("coroutines", sum)
local meta = {__index = function(t, k) return k .. coroutine.yield(k) end, __call = function(self, a) return a * 2 end}
local co = coroutine.create(function() local t = setmetatable({}, meta) return t.one .. t.two .. t(21) end)
say("meta", select(2, coroutine.resume(co)), select(2, coroutine.resume(co, "!")), select(2, coroutine.resume(co, "?")))

-- load: the compiler, and its errors
local source = {}
for i = 1, 30 do source[i] = ("local v%d = %d; if v%d > 3 then v%d = v%d .. 'x' end"):format(i, i, i, i, i) end
say("load", type(load(table.concat(source, "\n"))), select(2, load("x = = 1")))
say("dump", #string.dump(load("return function(a) return a + 1 end")) > 20 and "dumped")

-- garbage: finalizers, weak tables
local finalized = 0
for i = 1, 60 do setmetatable({}, {__gc = function() finalized = finalized + 1 end}) end
collectgarbage()
local weak = setmetatable({}, {__mode = "k"})
for i = 1, 50 do weak[{}] = {i} end
collectgarbage("step", 100)
collectgarbage()
say("finalized", finalized, next(weak) == nil and "empty")
say("format", ("%5.2f|%-6s|%x|%q"):format(3.14159, "ab", 255, "a\nb"), math.floor(2.7), #os.date("%Y"))
say("utf8", utf8.len("äöü"), utf8.char(8364))
print(table.concat(out, "\n"))
