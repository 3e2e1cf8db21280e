# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# The work of the measured Python: calls, classes, containers, strings, JSON, regular expressions,
# exceptions, generators, and the compiler.  Prints a checksum of each part.

import ast
import binascii
import collections
import functools
import heapq
import io
import json
import math
import pickle
import random
import re
import struct
import tokenize


def checksum(x):
    return binascii.crc32(repr(x).encode())


def calls():
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    @functools.lru_cache(maxsize=None)
    def paths(x, y):
        return 1 if x == 0 or y == 0 else paths(x - 1, y) + paths(x, y - 1)

    def many(first, *rest, key=None, **others):
        return first + len(rest) + len(others)

    total = sum(many(i, *range(i % 5), key=i, other=i) for i in range(8000))
    return fib(17), paths(40, 40), total


class Vector:
    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x = x
        self.y = y

    def __add__(self, other):
        return type(self)(self.x + other.x, self.y + other.y)

    def __eq__(self, other):
        return self.x == other.x and self.y == other.y

    def __hash__(self):
        return hash((self.x, self.y))

    @property
    def length(self):
        return math.hypot(self.x, self.y)


class Named(Vector):
    __slots__ = ()

    def __repr__(self):
        return f"<{self.x:.3f}, {self.y:.3f}>"


def classes():
    places = {}
    at = Named(0, 0)
    for i in range(10000):
        at = at + Named(i % 7 - 3, i % 5 - 2)
        places[at] = places.get(at, 0) + 1
    return len(places), repr(at), sum(v.length for v in places)


def containers():
    numbers = random.Random(1)
    items = [(numbers.randrange(1000), str(numbers.random())) for _ in range(10000)]
    groups = collections.defaultdict(list)
    for key, text in items:
        groups[key].append(text)
    items.sort(key=lambda item: (item[1], item[0]))
    heap = []
    for key, text in items:
        heapq.heappush(heap, key * 31 % 1009)
    least = [heapq.heappop(heap) for _ in range(2000)]
    common = {k for k in groups if len(groups[k]) > 10} & {k * 2 for k in groups}
    return items[:5], sorted(groups)[:5], least[-1], len(common)


def strings():
    words = [f"{chr(97 + i % 26)}{i * 7919 % 1000:03d}" for i in range(12000)]
    text = " ".join(words)
    counts = collections.Counter(w[:2] for w in text.split())
    upper = "".join(w.capitalize() if i % 3 else w.upper() for i, w in enumerate(words))
    return counts.most_common(3), len(upper), text.replace("a1", "x").find("x9"), upper[::997]


def formats():
    rows = [
        {"id": i, "name": f"row {i}", "values": [i / 3, -i, None, i % 2 == 0], "more": {"k": "v"}}
        for i in range(1500)
    ]
    text = json.dumps(rows, indent=1)
    again = json.loads(text)
    copy = pickle.loads(pickle.dumps(again))
    packed = b"".join(struct.pack("<IdB", r["id"], r["values"][0], 7) for r in copy)
    return len(text), again == rows, binascii.crc32(packed)


def expressions():
    lines = [
        f"{i % 24:02d}:{i % 60:02d} user{i % 91}@host{i % 13} GET /p/{i}?q={i * i}"
        for i in range(3000)
    ]
    pattern = re.compile(r"(\d+):(\d+) (\w+)@(\w+) (GET|PUT) (/[^?]*)\?q=(\d+)")
    found = [pattern.match(line).groups() for line in lines]
    changed = re.sub(r"user(\d+)", lambda m: str(int(m.group(1)) + 1), "\n".join(lines))
    return found[-1], len(changed), checksum(changed)


def exceptions():
    def deep(n):
        try:
            if n == 0:
                raise KeyError("bottom")
            return deep(n - 1)
        finally:
            done.append(n)

    done, caught = [], 0
    for i in range(600):
        try:
            deep(i % 12)
        except KeyError as e:
            caught += len(e.args)
    return caught, len(done)


def generators():
    def walk(tree):
        if isinstance(tree, tuple):
            for part in tree:
                yield from walk(part)
        else:
            yield tree

    def tree(depth):
        return depth if depth == 0 else (tree(depth - 1), depth, tree(depth - 1))

    return sum(walk(tree(10))), sum(a * b for a, b in zip(range(20000), range(20000, 0, -1)))


def compiler():
    with open(__file__, encoding="utf-8") as f:
        source = f.read()
    tokens = [t.string for t in tokenize.generate_tokens(io.StringIO(source).readline)]
    names = sorted({n.id for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Name)})
    sizes = [len(compile(source, "work", "exec").co_code) > 0 for _ in range(4)]
    return len(tokens), len(names), sizes


for part in (
    calls,
    classes,
    containers,
    strings,
    formats,
    expressions,
    exceptions,
    generators,
    compiler,
):
    print(part.__name__, checksum([part() for _ in range(5)]))
