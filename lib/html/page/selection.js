// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Derives from the state the tree that the views show, the weights of its nodes, and the functions
 * that match the search.
 */

/* All weights of the older recording in a comparison. */
let fullBefore;
/* By function, 1 if its name matches. null: no search. */
let matched = null;
/* The tree that is not inverted. */
let current = null;
const trees = new Map();

/* Returns the tree that views show: with calls merged or separate, recursion folded or not,
 * inverted or not. */
function shownTree(inverted) {
	const key = `${state.lines} ${state.fold}`;
	let tree = p.tree;
	if (!state.lines || state.fold) {
		tree = trees.get(key);
		if (!tree) trees.set(key, (tree = mergeCalls(p.tree, state.fold)));
		else if (tree.stale) refresh(tree);
		tree.stale = false;
	}
	if (!inverted) return tree;
	let turned = trees.get('inverted ' + key);
	if (!turned) trees.set('inverted ' + key, (turned = invertAll(tree)));
	return turned;
}

function weigh() {
	let self =
			state.threads || state.range
				? weightsOf(p, state.threads, state.range)
				: p.chosen.self,
		before = fullBefore;
	if (state.only && matched) {
		self = keepMatches(p.tree, self, matched);
		if (before) before = keepMatches(p.tree, before, matched);
	}
	if (self === p.tree.self && before === p.tree.before) return;
	p.tree.self = self;
	p.tree.before = before;
	sumUp(p.tree);
	for (const [key, tree] of trees)
		if (key.startsWith('inverted')) trees.delete(key);
		else tree.stale = true;
}

function searchFor(query) {
	const field = $('search');
	field.removeAttribute('aria-invalid');
	matched = null;
	if (!query) return;
	/* A name that was copied is found, although it may be no regular expression. */
	const named = Uint8Array.from(p.funcs, (f, i) =>
		i && (f.full === query || f.short === query) ? 1 : 0
	);
	try {
		/* The search ignores case unless the expression has a capital letter, as in less
		 * and ripgrep. */
		const pattern = new RegExp(
			query,
			/[A-Z]/.test(query.replace(/\\[A-Z]/g, '')) ? '' : 'i'
		);
		matched = Uint8Array.from(p.funcs, (f, i) =>
			named[i] || (i && (pattern.test(f.full) || pattern.test(f.short))) ? 1 : 0
		);
	} catch (e) {
		if (named.some(Boolean)) matched = named;
		else field.setAttribute('aria-invalid', 'true');
	}
}

/* The sum of each array of weights that sumOf() has seen. */
const sums_ = new Map();
const sumOf = weights => {
	if (!sums_.has(weights))
		sums_.set(
			weights,
			weights.reduce((a, b) => a + b, 0)
		);
	return sums_.get(weights);
};

/* Returns the threads in which the samples below a node were taken. */
function threadsOf(tree, i) {
	const base = tree.source || tree,
		out = [];
	if (base !== p.tree || (p.threads.length < 2 && !p.threads.some(t => t.origin))) return out;
	const end = tree.end[i],
		inside = tree.map
			? k => tree.map[k] >= i && tree.map[k] < end
			: k => k >= i && k < end;
	const weights = new Float64Array(p.threads.length);
	eachSample(p, p.series, state.threads, state.range, (k, weight, thread) => {
		if (inside(p.series.node[k])) weights[thread] += weight;
	});
	p.threads.forEach(({ label, origin }, t) => {
		if (weights[t]) out.push({ label, weight: weights[t], origin });
	});
	return out.sort((x, y) => y.weight - x.weight);
}
