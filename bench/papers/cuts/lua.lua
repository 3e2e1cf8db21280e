-- SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
-- Another input than tests/programs/lua/calls.lua, for profiles: trees, queens, patterns, records,
-- and code that is compiled at run time.

local function tree(depth)
	if depth == 0 then
		return {}
	end
	return {tree(depth - 1), tree(depth - 1)}
end

local function size(t)
	return t[1] and 1 + size(t[1]) + size(t[2]) or 1
end

local function queens(n, row, columns, up, down)
	if row > n then
		return 1
	end
	local found = 0
	for c = 1, n do
		if not (columns[c] or up[row + c] or down[row - c]) then
			columns[c], up[row + c], down[row - c] = true, true, true
			found = found + queens(n, row + 1, columns, up, down)
			columns[c], up[row + c], down[row - c] = nil, nil, nil
		end
	end
	return found
end

local function patterns(n)
	local all, sum = {}, 0
	for i = 1, n do
		all[#all + 1] = ("key%d = %q"):format(i % 97, ("x"):rep(i % 13))
	end
	for key, value in table.concat(all, "\n"):gmatch("(%w+) = \"(%w*)\"") do
		sum = sum + #key * #value
	end
	return sum
end

local function records(n)
	local t = {}
	for i = 1, n do
		t[i] = {name = "n" .. (i * 7919) % n, at = (i * 104729) % n}
	end
	table.sort(t, function(a, b)
		if a.at ~= b.at then
			return a.at < b.at
		end
		return a.name < b.name
	end)
	return t[1].name, select("#", table.unpack(t, 1, 100))
end

local function compiled(n)
	local sum = 0
	for i = 1, n do
		sum = sum + load("local a <const> = " .. i .. "; return function(b) return a % b end")()(7)
	end
	return sum
end

local text = setmetatable({}, {__index = function(_, k) return k .. "!" end,
	__concat = function(a, b) return tostring(a) .. tostring(b) end,
	__tostring = function() return "text" end})
local length = 0
for i = 1, 400000 do
	length = length + #text["k" .. i % 50] + #(text .. i)
end
for _ = 1, 10 do size(tree(16)) end
print("trees", size(tree(16)))
print("queens", queens(9, 1, {}, {}, {}))
print("patterns", patterns(400000))
print("records", records(200000))
print("compiled", compiled(200000))
print("length", length, pcall(error, "x"))
