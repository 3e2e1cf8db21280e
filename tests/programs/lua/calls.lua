-- SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
-- A call-intensive script: a recursive-descent parser and evaluator, closures, string
-- operations with callbacks, sorting with a comparison in Lua, coroutines, pcall, and
-- metamethods. Prints a checksum. calls.lua [SCALE]

local scale = tonumber(arg and arg[1]) or 1

local seed = 42
local function random(n)
	seed = (seed * 16807) % 2147483647
	return seed % n
end

-- ---- expressions: made at random, printed, parsed again, evaluated by closures

local function generate(depth)
	if depth == 0 or random(5) == 0 then
		return tostring(random(90) + 1)
	end
	local op = ({"+", "-", "*", "%"})[random(4) + 1]
	return "(" .. generate(depth - 1) .. op .. generate(depth - 1) .. ")"
end

local function parser(text)
	local pos = 1
	local expression

	local function peek()
		return text:sub(pos, pos)
	end

	local function number()
		local s = text:match("^%d+", pos)
		pos = pos + #s
		local n = tonumber(s)
		return function() return n end
	end

	local function primary()
		if peek() == "(" then
			pos = pos + 1
			local e = expression()
			assert(peek() == ")", "no )")
			pos = pos + 1
			return e
		end
		return number()
	end

	local operators = {
		["+"] = function(a, b) return function() return a() + b() end end,
		["-"] = function(a, b) return function() return a() - b() end end,
		["*"] = function(a, b) return function() return (a() * b()) % 1000003 end end,
		["%"] = function(a, b) return function() return a() % (b() + 2000007) end end,
	}

	expression = function()
		local left = primary()
		local make = operators[peek()]
		while make do
			pos = pos + 1
			left = make(left, primary())
			make = operators[peek()]
		end
		return left
	end

	return expression()
end

local function expressions(n)
	local sum = 0
	for i = 1, n do
		local f = parser(generate(8))
		for _ = 1, 8 do
			sum = (sum + f()) % 1000003
		end
	end
	return sum
end

-- ---- strings: gsub with a function, formatting, concatenation

local function strings(n)
	local words = {}
	for i = 1, 200 do
		words[i] = string.format("w%x", random(100000))
	end
	local sum = 0
	for i = 1, n do
		local line = table.concat(words, " ", 1 + i % 50, 100 + i % 100)
		local swapped = line:gsub("(%w)(%w+)", function(a, b)
			return b .. a:upper()
		end)
		sum = (sum * 31 + #swapped + swapped:byte(i % #swapped + 1)) % 1000003
	end
	return sum
end

-- ---- sorting through a comparison in Lua, itself reached through a metamethod

local pair = {}
pair.__index = pair
pair.__lt = function(a, b)
	return a.key < b.key or (a.key == b.key and a.rank < b.rank)
end

local function sorting(n)
	local sum = 0
	for i = 1, n do
		local t = {}
		for j = 1, 300 do
			t[j] = setmetatable({key = random(50), rank = j}, pair)
		end
		table.sort(t)
		table.sort(t, function(a, b) return b < a end)
		sum = (sum * 7 + t[1].rank + t[300].key) % 1000003
	end
	return sum
end

-- ---- recursion across pcall, error and coroutines

local function hanoi(n, from, to, via)
	if n == 0 then
		return 0
	end
	return hanoi(n - 1, from, via, to) + 1 + hanoi(n - 1, via, to, from)
end

local function risky(depth)
	if depth == 0 then
		if random(2) == 0 then
			error({code = 3})
		end
		return 1
	end
	local ok, r = pcall(risky, depth - 1)
	if not ok then
		if random(3) == 0 then
			return r.code
		end
		error(r)
	end
	return r + 1
end

local function walk(depth)
	if depth > 0 then
		walk(depth - 1)
		coroutine.yield(depth)
		walk(depth - 1)
	end
end

local function coroutines(n)
	local sum = 0
	for i = 1, n do
		for v in coroutine.wrap(function() walk(9) end) do
			sum = (sum * 3 + v) % 1000003
		end
		for depth = 1, 12 do
			local ok, r = pcall(risky, depth)
			sum = (sum + (ok and r or 5)) % 1000003
		end
	end
	return sum
end

print("expressions", expressions(6000 * scale))
print("strings", strings(12000 * scale))
print("sorting", sorting(1000 * scale))
print("hanoi", hanoi(21, "a", "b", "c"))
print("coroutines", coroutines(2000 * scale))
