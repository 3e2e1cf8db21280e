// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Builds trees that begin at functions instead of the program's start: the callers of one function
 * or of all functions (the nearest first), and the callees of one function. A tree is built for one
 * selection of weights.
 *
 * A group is a set of nodes of the recording's tree, each with the part of its weight that counts
 * here. The children of a group are the callers of its nodes, by function.
 */

/* An inverted tree does not follow callers that are lighter than this part of the whole. */
const FINEST = 1 / 5000;

function groupBy(tree, nodes, weights, before) {
	const groups = new Map();
	for (let k = 0; k < nodes.length; k++) {
		const i = nodes[k],
			f = funcOf(tree, i);
		let g = groups.get(f);
		if (!g)
			groups.set(
				f,
				(g = {
					func: f,
					nodes: [],
					weights: [],
					before: before ? [] : null,
					total: 0,
					totalBefore: 0,
				})
			);
		g.nodes.push(i);
		g.weights.push(weights[k]);
		g.total += weights[k];
		if (before) {
			g.before.push(before[k]);
			g.totalBefore += before[k];
		}
	}
	return [...groups.values()].sort(
		(a, b) => b.total + b.totalBefore - a.total - a.totalBefore || a.func - b.func
	);
}

/* Returns the callers of a group's nodes, as groups. Nodes without a caller add nothing. */
function callersOf(tree, group) {
	const sum = new Map(),
		sumBefore = new Map();
	for (let k = 0; k < group.nodes.length; k++) {
		const up = tree.parent[group.nodes[k]];
		if (up <= 0) continue;
		sum.set(up, (sum.get(up) || 0) + group.weights[k]);
		if (group.before) sumBefore.set(up, (sumBefore.get(up) || 0) + group.before[k]);
	}
	const nodes = [...sum.keys()];
	return groupBy(
		tree,
		nodes,
		nodes.map(i => sum.get(i)),
		group.before && nodes.map(i => sumBefore.get(i))
	);
}

/* Returns all functions in which samples were taken: the roots of the bottom-up tree. */
function leafGroups(tree) {
	const nodes = [],
		weights = [],
		before = tree.before ? [] : null;
	for (let i = 1; i < tree.n; i++) {
		if (!tree.self[i] && !(before && tree.before[i])) continue;
		nodes.push(i);
		weights.push(tree.self[i]);
		if (before) before.push(tree.before[i]);
	}
	return groupBy(tree, nodes, weights, before);
}

/* Builds a tree from groups: the roots, then callersOf() repeatedly, as long as the weight matters.
 */
function growInverted(tree, roots, total, totalBefore) {
	const parent = [-1],
		depth = [0],
		frame = [0],
		self = [total],
		before = tree.before ? [totalBefore] : null;
	const least = (total + totalBefore) * FINEST,
		todo = [];
	const push = (groups, under) => {
		for (let k = groups.length - 1; k >= 0; k--)
			if (
				groups[k].total + groups[k].totalBefore > least ||
				(under === 0 && groups.length < 100)
			)
				todo.push([groups[k], under]);
	};
	push(roots, 0);
	while (todo.length) {
		const [g, under] = todo.pop(),
			i = parent.length;
		parent.push(under);
		depth.push(depth[under] + 1);
		frame.push(tree.frame[g.nodes[0]]);
		self.push(g.total);
		self[under] -= g.total;
		if (before) {
			before.push(g.totalBefore);
			before[under] -= g.totalBefore;
		}
		push(callersOf(tree, g), i);
	}
	const made = makeTree(
		tree.profile,
		Int32Array.from(parent),
		Int32Array.from(depth),
		Uint32Array.from(frame),
		Float64Array.from(self),
		before && Float64Array.from(before)
	);
	made.inverted = true;
	return made;
}

const invertAll = tree =>
	growInverted(
		tree,
		leafGroups(tree),
		tree.total[0],
		tree.totalBefore ? tree.totalBefore[0] : 0
	);
const partOf = (tree, part) => Object.assign(part, { whole: wholeOf(tree) });

/* Builds the tree of callers of one function. */
function invertAt(tree, nodes) {
	const weights = nodes.map(i => tree.total[i]),
		before = tree.before && nodes.map(i => tree.totalBefore[i]);
	const roots = groupBy(tree, nodes, weights, before);
	const sum = list => (list ? list.reduce((a, b) => a + b, 0) : 0);
	return partOf(tree, growInverted(tree, roots, sum(weights), sum(before)));
}

/* Builds the merged tree of callees of the function at these nodes. */
function calleesAt(tree, nodes) {
	const parent = [-1],
		frame = [0],
		origin = new Map();
	let at = 1;
	for (const top of nodes) {
		for (let i = top; i < tree.end[top]; i++, at++) {
			origin.set(i, at);
			parent.push(i === top ? 0 : origin.get(tree.parent[i]));
			frame.push(tree.frame[i]);
		}
	}
	const self = new Float64Array(at),
		before = tree.before ? new Float64Array(at) : null,
		depth = new Int32Array(at);
	at = 1;
	for (const top of nodes) {
		for (let i = top; i < tree.end[top]; i++, at++) {
			self[at] = tree.self[i];
			if (before) before[at] = tree.before[i];
			depth[at] = depth[parent[at]] + 1;
		}
	}
	return partOf(
		tree,
		mergeCalls(
			makeTree(
				tree.profile,
				Int32Array.from(parent),
				depth,
				Uint32Array.from(frame),
				self,
				before
			),
			false
		)
	);
}
