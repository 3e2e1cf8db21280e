// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Represents trees as columns, and derives other trees and sums from them.
 *
 * A tree has these columns by node, in preorder: parent, depth, end (of its subtree, exclusive),
 * frame (one frame of the node), self and total, and in a comparison before and totalBefore. In a
 * derived tree, map gives the node of each node of its source. Weights change with the selection of
 * threads, time and matches. The structure does not change.
 */

function makeTree(p, parent, depth, frame, self, before) {
	const n = parent.length,
		end = new Int32Array(n);
	for (let i = n - 1; i >= 0; i--) {
		if (end[i] <= i) end[i] = i + 1;
		if (i && end[parent[i]] < end[i]) end[parent[i]] = end[i];
	}
	const tree = {
		profile: p,
		n,
		parent,
		depth,
		end,
		frame,
		self,
		before,
		total: null,
		totalBefore: null,
		x: null,
		width: null,
	};
	sumUp(tree);
	return tree;
}

function sums(tree, self) {
	const total = Float64Array.from(self),
		{ parent } = tree;
	for (let i = tree.n - 1; i > 0; i--) total[parent[i]] += total[i];
	return total;
}

function sumUp(tree) {
	tree.total = sums(tree, tree.self);
	tree.totalBefore = tree.before ? sums(tree, tree.before) : null;
	tree.x = null;
}

/*
 * Computes the position and the width of each node in units of weight. In a comparison `how`
 * selects the weights: 'after', 'before' or 'both' (both recordings count equally).
 */
function layOut(tree, how) {
	if (tree.x && tree.how === how) return;
	const { n, parent, total, totalBefore } = tree;
	let width = total;
	if (totalBefore && how !== 'after') {
		const a = how === 'both' ? 0.5 / (total[0] || 1) : 0,
			b = (how === 'both' ? 0.5 : 1) / (totalBefore[0] || 1);
		width = total.map((w, i) => w * a + totalBefore[i] * b);
	}
	const x = new Float64Array(n),
		filled = new Float64Array(n);
	for (let i = 1; i < n; i++) {
		const p = parent[i];
		x[i] = x[p] + filled[p];
		filled[p] += width[i];
	}
	tree.x = x;
	tree.width = width;
	tree.how = how;
}

const funcOf = (tree, i) => tree.profile.func[tree.frame[i]];
const flagsOf = (tree, i) => tree.profile.frameFlags[tree.frame[i]] & FLAGS;
const nameOf = (tree, i) => tree.profile.funcs[tree.profile.func[tree.frame[i]]].name;
/* The place where a frame is called: with the whole path, or with its end only. */
const fullPlaceOf = (p, frame) => {
	const file = p.strings[p.frameFile[frame]],
		line = p.frameLine[frame];
	return file ? file + (line ? ':' + line : '') : line ? 'line ' + line : '';
};
const placeOf = (p, frame) => fullPlaceOf(p, frame).split('/').slice(-2).join('/');

/* Whether these differ among functions, or are known of calls. */
const hasModules = p => new Set(p.funcs.map(f => f.module).filter(Boolean)).size > 1;
const hasPlaces = p => p.frameFile.some(Boolean) || p.frameLine.some(Boolean);

/* The recording's tree, if the nodes of this tree contain nodes of it. Null for trees of callers.
 */
const baseOf = tree =>
	tree === tree.profile.tree || tree.source === tree.profile.tree ? tree.profile.tree : null;

/* Returns, by node, the most entries of the encoding stack in all samples of it and its callees,
 * independent of the selection. Null: unknown. */
function stackDepths(tree) {
	const base = baseOf(tree),
		{ entries } = tree.profile;
	if (!base || !entries) return null;
	if (tree.stackDepths) return tree.stackDepths;
	const most = new Uint32Array(tree.n),
		{ map } = tree;
	for (let k = 0; k < base.n; k++) {
		const i = map ? map[k] : k;
		if (entries[k] > most[i]) most[i] = entries[k];
	}
	for (let i = tree.n - 1; i > 0; i--)
		if (most[i] > most[tree.parent[i]]) most[tree.parent[i]] = most[i];
	return (tree.stackDepths = most);
}

/* ---- a change and how sure it is ---- */

/*
 * The change of a share from b of allB to a of allA. z is the statistic of the two-proportion test:
 * without a real change it is beyond ±2 in less than one case in twenty.
 */
function delta(a, b, allA, allB) {
	const pa = allA ? a / allA : 0,
		pb = allB ? b / allB : 0,
		pooled = (a + b) / (allA + allB || 1);
	const error = allA && allB ? Math.sqrt(pooled * (1 - pooled) * (1 / allA + 1 / allB)) : 0;
	return { change: pa - pb, after: pa, before: pb, z: error ? (pa - pb) / error : 0 };
}
/* The weights that are 100%, after and before. For a tree of a part of the profile, they are those
 * of the whole profile. */
const wholeOf = tree => tree.whole || [tree.total[0], tree.totalBefore ? tree.totalBefore[0] : 0];
const deltaOf = (tree, i) => delta(tree.total[i], tree.totalBefore[i], ...wholeOf(tree));

/* ---- merging ---- */

/* Maps pairs (a, b) to numbers with an open-addressing hash table, for millions of pairs. */
class PairTable {
	constructor(expected) {
		let size = 1024;
		while (size < expected * 2) size *= 2;
		this.reset(size);
	}
	reset(size) {
		this.mask = size - 1;
		this.a = new Int32Array(size);
		this.b = new Int32Array(size);
		this.value = new Int32Array(size).fill(-1);
		this.used = 0;
	}
	slot(a, b) {
		let h = Math.imul(a, 0x9e3779b1) ^ Math.imul(b, 0x85ebca6b);
		h ^= h >>> 15;
		for (let s = h & this.mask; ; s = (s + 1) & this.mask)
			if (this.value[s] < 0 || (this.a[s] === a && this.b[s] === b)) return s;
	}
	get(a, b) {
		return this.value[this.slot(a, b)];
	}
	set(a, b, value) {
		if (this.used * 2 > this.mask) {
			const { a: oa, b: ob, value: ov } = this;
			this.reset((this.mask + 1) * 2);
			for (let i = 0; i < ov.length; i++)
				if (ov[i] >= 0) this.set(oa[i], ob[i], ov[i]);
		}
		const s = this.slot(a, b);
		if (this.value[s] < 0) this.used++;
		this.a[s] = a;
		this.b[s] = b;
		this.value[s] = value;
	}
}

/* Computes the preorder of nodes that are in the order of creation, children heaviest first. */
function inPreorder(count, parent, weight) {
	const order = new Int32Array(count),
		number = new Int32Array(count);
	const first = new Int32Array(count).fill(-1),
		next = new Int32Array(count).fill(-1);
	for (let i = count - 1; i > 0; i--) {
		next[i] = first[parent[i]];
		first[parent[i]] = i;
	}
	const siblings = [];
	for (let p = 0; p < count; p++) {
		if (first[p] < 0 || next[first[p]] < 0) continue;
		siblings.length = 0;
		for (let i = first[p]; i >= 0; i = next[i]) siblings.push(i);
		siblings.sort((a, b) => weight[b] - weight[a] || a - b);
		first[p] = siblings[0];
		for (let k = 0; k < siblings.length; k++)
			next[siblings[k]] = k + 1 < siblings.length ? siblings[k + 1] : -1;
	}
	let i = 0,
		at = 0;
	for (;;) {
		number[i] = at;
		order[at++] = i;
		if (first[i] >= 0) {
			i = first[i];
			continue;
		}
		while (i && next[i] < 0) i = parent[i];
		if (!i) break;
		i = next[i];
	}
	return { order, number };
}

/*
 * The next two functions number merged nodes, parents first. They set the merged node of each node
 * (map), the parent of each merged node (up), and one of its nodes (sample). They return the number
 * of merged nodes.
 */
function groupCalls(tree, kinds, map, up, sample) {
	const { n, end, frame } = tree,
		next = new Int32Array(n),
		last = new Int32Array(n);
	/* By kind: the last merged node that had a child of this kind, and the child. */
	const seenUnder = new Int32Array(kinds.length).fill(-1),
		child = new Int32Array(kinds.length);
	const todo = [0];
	let count = 1;
	while (todo.length) {
		const m = todo.pop();
		for (let i = sample[m]; ; i = next[i]) {
			for (let c = i + 1, to = end[i]; c < to; c = end[c]) {
				const k = kinds[frame[c]];
				if (seenUnder[k] !== m) {
					seenUnder[k] = m;
					child[k] = count;
					todo.push(count);
					up[count] = m;
					sample[count++] = c;
				} else next[last[child[k]]] = c;
				last[child[k]] = c;
				map[c] = child[k];
			}
			if (i === last[m]) break;
		}
	}
	return count;
}

function groupFolded(tree, kinds, map, up, sample) {
	const { n, parent, frame, profile: p } = tree,
		known = new PairTable((n / 4) | 0);
	let count = 1;
	for (let i = 1; i < n; i++) {
		const k = kinds[frame[i]],
			func = p.func[frame[i]],
			under = map[parent[i]];
		let same = under;
		while (same > 0 && p.func[frame[sample[same]]] !== func) same = up[same];
		if (same > 0) {
			map[i] = same;
			continue;
		}
		let m = known.get(under, k);
		if (m < 0) {
			m = count++;
			known.set(under, k, m);
			up[m] = under;
			sample[m] = i;
		}
		map[i] = m;
	}
	return count;
}

/*
 * Merges the calls of one function from another, wherever they are in the tree. With fold, a
 * recursive call is merged into the outer node of the same function.
 */
function mergeCalls(tree, fold) {
	const p = tree.profile,
		{ n, frame } = tree,
		map = new Int32Array(n),
		up = new Int32Array(n),
		sample = new Int32Array(n);
	/* The kind of a frame: its function, and whether it was inlined, left by a tail call, and
	 * so on. */
	const kinds = new Int32Array(p.func.length),
		numbers = new Map();
	for (let f = 0; f < kinds.length; f++) {
		const key = p.func[f] * 0x20000 + (p.frameFlags[f] & FLAGS);
		if (!numbers.has(key)) numbers.set(key, numbers.size);
		kinds[f] = numbers.get(key);
	}
	up[0] = -1;
	const count = (fold ? groupFolded : groupCalls)(tree, kinds, map, up, sample),
		weight = new Float64Array(count);
	for (let i = 0; i < n; i++)
		weight[map[i]] += tree.self[i] + (tree.before ? tree.before[i] : 0);
	for (let m = count - 1; m > 0; m--) weight[up[m]] += weight[m];
	/* Nodes for contexts that are left out of the page come last. */
	for (let m = 1; m < count; m++)
		if (p.frameFlags[frame[sample[m]]] & LEFT_OUT) weight[m] = -1;
	const { order, number } = inPreorder(count, up, weight);
	const newParent = new Int32Array(count),
		depth = new Int32Array(count),
		newFrame = new Uint32Array(count);
	newParent[0] = -1;
	for (let at = 0; at < count; at++) {
		const m = order[at];
		if (m) {
			newParent[at] = number[up[m]];
			depth[at] = depth[newParent[at]] + 1;
		}
		newFrame[at] = frame[sample[m]];
	}
	for (let i = 0; i < n; i++) map[i] = number[map[i]];
	const merged = makeTree(
		p,
		newParent,
		depth,
		newFrame,
		gather(tree.self, map, count),
		tree.before && gather(tree.before, map, count)
	);
	merged.map = map;
	merged.source = tree;
	merged.repeatOf = fold ? null : mergeRepeats(tree, map);
	return merged;
}

function mergeRepeats(tree, map) {
	const repeats = new Map(),
		parts = new Map();
	if (!tree.repeatOf || !tree.repeatOf.size) return repeats;
	for (const [i, [least, most, span]] of tree.repeatOf) {
		const r = repeats.get(map[i]) || [Infinity, 0, 0];
		repeats.set(map[i], [
			Math.min(r[0], least),
			Math.max(r[1], most),
			Math.max(r[2], span),
		]);
		parts.set(map[i], (parts.get(map[i]) || 0) + 1);
	}
	/* If some of the merged nodes do not repeat, the least number is 0. */
	const all = new Int32Array(tree.n);
	for (let i = 0; i < tree.n; i++) all[map[i]]++;
	for (const [m, r] of repeats) if (all[m] > parts.get(m)) r[0] = 0;
	return repeats;
}

function gather(weights, map, count) {
	const out = new Float64Array(count);
	for (let i = 0; i < weights.length; i++) out[map[i]] += weights[i];
	return out;
}

/* Takes over changed weights from the source tree. */
function refresh(merged) {
	merged.self = gather(merged.source.self, merged.map, merged.n);
	if (merged.before) merged.before = gather(merged.source.before, merged.map, merged.n);
	sumUp(merged);
}

/* ---- selecting ---- */

/* Returns the self weights of nodes in these threads (null: all) and this time span (null: the
 * whole time). */
function weightsOf(p, threads, range) {
	const self = new Float64Array(p.tree.n),
		{ series } = p,
		{ node } = series;
	eachSample(p, series, threads, range, (i, weight) => {
		self[node[i]] += weight;
	});
	return self;
}

function lowerBound(array, value, from, to) {
	while (from < to) {
		const mid = (from + to) >> 1;
		if (array[mid] < value) from = mid + 1;
		else to = mid;
	}
	return from;
}

/* Leaves out all contexts without a matching function. */
function keepMatches(tree, self, matched) {
	const out = new Float64Array(tree.n);
	for (let i = 0; i < tree.n;) {
		if (!matched[funcOf(tree, i)]) {
			i++;
			continue;
		}
		for (const end = tree.end[i]; i < end; i++) out[i] = self[i];
	}
	return out;
}

/* Returns the weight of contexts with a match, and the number of matching frames. */
function countMatches(tree, matched) {
	let frames = 0,
		weight = 0,
		covered = 0;
	for (let i = 1; i < tree.n; i++) {
		if (
			!matched[funcOf(tree, i)] ||
			!(tree.total[i] || (tree.totalBefore && tree.totalBefore[i]))
		)
			continue;
		frames++;
		if (i >= covered) {
			weight += tree.total[i];
			covered = tree.end[i];
		}
	}
	return { frames, weight };
}

/* ---- functions ---- */

/* Returns, by function, the self weight and the weight of all contexts with the function. Each
 * context counts once. */
function sumFunctions(tree) {
	const p = tree.profile,
		count = p.funcs.length,
		{ n, end, total, totalBefore, self, before } = tree;
	const out = {
		self: new Float64Array(count),
		total: new Float64Array(count),
		calls: new Uint32Array(count),
		selfBefore: before && new Float64Array(count),
		totalBefore: before && new Float64Array(count),
	};
	const covered = new Int32Array(count);
	for (let i = 1; i < n; i++) {
		const f = funcOf(tree, i);
		out.self[f] += self[i];
		if (before) out.selfBefore[f] += before[i];
		if (total[i]) out.calls[f]++;
		if (i < covered[f]) continue;
		covered[f] = end[i];
		out.total[f] += total[i];
		if (before) out.totalBefore[f] += totalBefore[i];
	}
	return out;
}

/* Returns the outermost nodes of a function. */
function nodesOf(tree, func) {
	const nodes = [];
	for (let i = 1; i < tree.n;) {
		if (funcOf(tree, i) !== func) {
			i++;
			continue;
		}
		nodes.push(i);
		i = tree.end[i];
	}
	return nodes;
}
